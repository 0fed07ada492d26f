"""The loss and the head on any encoder, and the network of a classifier as a module."""

import copy
import doctest
import importlib
import io
import pickle
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from network_helpers import network
from zoo import DAG, zoo

from hiclass import Hierarchy

pytestmark = pytest.mark.heavy

EXAMPLE = Path(__file__).parents[2] / "examples" / "gallery" / "plot_torch_head.py"
PATHS = [["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Fern"]]
TREE = Hierarchy.from_paths(PATHS)


def log_softmax(z):
    z = np.asarray(z, dtype=float)
    return z - np.log(np.exp(z).sum())


def test_doctests():
    done = doctest.testmod(importlib.import_module("hiclass.torch._head"))
    assert done.attempted == 18
    assert not done.failed


# -- the loss ------------------------------------------------------------------------------------


def test_the_loss_of_leaves_is_that_of_all_leaves_below_the_last_known_class():
    import torch

    from hiclass.torch import HierarchicalLoss

    criterion = HierarchicalLoss(TREE, reduction="none")
    assert criterion.n_outputs == 3
    z = [[0.5, -1.0, 2.0], [0.5, -1.0, 2.0]]
    target = criterion.encode([["Animal", "Dog"], ["Animal"]])
    assert target.tolist() == [TREE.find(("Animal", "Dog")), TREE.find(("Animal",))]
    p = log_softmax(z[0])
    expected = [-p[1], -np.log(np.exp(p[0]) + np.exp(p[1]))]
    np.testing.assert_allclose(criterion(torch.tensor(z), target).numpy(), expected, rtol=1e-5)
    # Rows of leaves only, for which the faster way is taken.
    np.testing.assert_allclose(criterion(torch.tensor(z[:1]), target[:1]).item(), -p[1], rtol=1e-5)


def test_the_conditional_loss_is_a_softmax_among_siblings_at_every_node_of_the_path():
    import torch

    from hiclass.torch import HierarchicalLoss

    z = torch.tensor([[1.0, -1.0, 0.3, 0.2, 5.0]] * 3)  # Animal, Plant; Cat, Dog; Fern
    target = [["Animal", "Dog"], ["Animal"], ["Plant", "Fern"]]
    top, animal = log_softmax([1.0, -1.0]), log_softmax([0.3, 0.2])
    expected = [-top[0] - animal[1], -top[0], -top[1]]
    for reduction, value in [("mean", np.mean), ("sum", np.sum), ("none", np.asarray)]:
        criterion = HierarchicalLoss(TREE, "conditional", reduction=reduction)
        found = criterion(z, criterion.encode(target)).numpy()
        np.testing.assert_allclose(found, value(expected), rtol=1e-5)


def test_paths_may_stop_where_that_is_allowed():
    from hiclass.torch import HierarchicalLoss

    assert HierarchicalLoss(TREE, leaf_only=False).n_outputs == 5
    assert HierarchicalLoss(TREE, "conditional", leaf_only=False).n_outputs == 7


def test_several_labels_are_compared_one_class_at_a_time():
    import torch

    from hiclass.torch import HierarchicalLoss

    criterion = HierarchicalLoss(TREE, "conditional", multi_label=True)
    target = criterion.encode([[("Animal", "Cat"), ("Plant",)]])
    assert target.tolist() == [[1, 1, 0, 1, 0]]  # Animal, Cat, Dog, Plant, Fern
    z = torch.tensor([[2.0, -1.0, 0.5, 1.0, 3.0]])
    log = [-np.log1p(np.exp(-s)) for s in (2.0, -1.0, -0.5, 1.0, -3.0)]
    np.testing.assert_allclose(criterion(z, target).item(), -np.sum(log), rtol=1e-5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "softmax"}, "loss must be one of 'leaf', 'conditional'; got 'softmax'"),
        ({"reduction": "max"}, "reduction must be one of 'mean', 'sum', 'none'; got 'max'"),
    ],
    ids=str,
)
def test_a_choice_that_does_not_exist_is_refused(params, message):
    from hiclass.torch import HierarchicalLoss

    with pytest.raises(ValueError, match=message):
        HierarchicalLoss(TREE, **params)


# -- a head on an encoder ------------------------------------------------------------------------


def trained(head, X, y, n_steps=60):
    """An encoder with the head, after some steps."""
    import torch

    torch.manual_seed(0)
    encoder = torch.nn.Sequential(torch.nn.Linear(X.shape[1], head.linear.in_features))
    optimiser = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.05)
    X, target = torch.tensor(X, dtype=torch.float32), head.encode(y)
    for _ in range(n_steps):
        optimiser.zero_grad()
        head.loss(head(encoder(X)), target).backward()
        optimiser.step()
    return encoder


@pytest.mark.parametrize("loss", ["leaf", "conditional"])
def test_a_head_learns_with_any_encoder_and_predicts_paths(loss):
    import torch

    from hiclass.torch import HierarchicalHead

    rng = np.random.default_rng(0)
    y = [PATHS[i % 3] for i in range(60)]
    X = np.eye(3)[np.arange(60) % 3] + 0.1 * rng.normal(size=(60, 3))
    torch.manual_seed(0)
    head = HierarchicalHead(8, TREE, loss)
    encoder = trained(head, X, y)
    outputs = head(encoder(torch.tensor(X, dtype=torch.float32)))
    for decoding in ("best_path", "top_down", "expected_f1"):
        found = head.predict(outputs, decoding=decoding, expected_f1=0.9)
        assert found.tolist() == y
    proba = head.predict_node_proba(outputs).numpy()
    np.testing.assert_allclose(proba[:, 0], 1)
    np.testing.assert_allclose(proba[:, 1] + proba[:, 4], 1)
    confidence = head.predict_confidence(outputs)
    nodes = np.array([[TREE.find(tuple(path[:1])), TREE.find(tuple(path))] for path in y])
    np.testing.assert_allclose(confidence, np.take_along_axis(proba, nodes, axis=1), atol=1e-12)
    between = float(np.sort(confidence[:, 1])[30])
    some = head.predict(outputs, min_confidence=between)
    assert (some[:, 1] != "").sum() == (confidence[:, 1] >= between).sum() < len(y)
    paths, best = head.predict_paths(outputs, k=2)
    assert paths[:, 0].tolist() == y
    assert best.shape == (60, 2)
    assert head.predict_paths(outputs, k=9)[0].shape == (60, 3, 2)


def test_labels_that_are_no_strings_come_back_as_they_are():
    import torch

    from hiclass.torch import HierarchicalHead

    head = HierarchicalHead(2, Hierarchy.from_paths([[1, 11], [1, 12], [2, 21]]))
    found = head.predict(torch.zeros(1, 3), min_confidence=0.5)
    assert found.tolist() == [[1, None]]
    assert repr(head.criterion).startswith("HierarchicalLoss(Hierarchy(tree, 5 classes")


@pytest.mark.parametrize("multi_label", [True, False], ids=["sets", "one label in a DAG"])
def test_a_head_for_sets_of_classes_learns_and_predicts_them(multi_label):
    import torch

    from hiclass.torch import HierarchicalHead

    X, y = zoo(80)
    labels = y if multi_label else [row[0] for row in y]
    torch.manual_seed(0)
    head = HierarchicalHead(8, DAG, "conditional", multi_label=multi_label)
    encoder = trained(head, X, labels, n_steps=200)
    outputs = head(encoder(torch.tensor(X, dtype=torch.float32)))
    proba = head.predict_node_proba(outputs).numpy()
    assert ((proba[:, 1:] >= 0.5) == head.encode(labels).numpy()).mean() > 0.97
    for threshold in (0.5, 0.9):
        chosen = proba >= threshold
        expected = [
            [
                str(DAG.labels[v])
                for v in range(1, DAG.n_nodes)
                if row[v] and not row[DAG.children(v)].any()
            ]
            for row in chosen
        ]
        found = head.predict(outputs, threshold=threshold)
        assert [sorted(row) for row in found] == [sorted(row) for row in expected]
    for method in (head.predict_paths, head.predict_confidence):
        with pytest.raises(ValueError, match="predicts sets of classes, not paths"):
            method(outputs)


def test_an_expected_f_score_must_be_known():
    import torch

    from hiclass.torch import HierarchicalHead

    head = HierarchicalHead(2, TREE)
    with pytest.raises(ValueError, match="requires an expected F-score"):
        head.predict(torch.zeros(1, 3), decoding="expected_f1")


def test_a_head_takes_the_thresholds_that_estimators_take():
    import torch

    from hiclass.torch import HierarchicalHead

    tree = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b", "z"]])
    head, outputs = HierarchicalHead(2, tree), torch.zeros(1, 3)  # a has 2/3, x has 1/3
    for given, found in (
        ([0.6, 0.3], ["a", "x"]),
        ([0.6, 0.4], ["a", ""]),
        ({("a", "x"): 0.4}, ["a", ""]),
        (np.array([0.7, 0.3]), ["", ""]),
        (1, ["", ""]),
    ):
        assert head.predict(outputs, min_confidence=given).tolist() == [found]
        given_at = ~np.isnan(head.predict_confidence(outputs, min_confidence=given)[0])
        assert given_at.tolist() == [label != "" for label in found]
    with pytest.raises(ValueError, match="min_confidence has -1"):
        head.predict(outputs, min_confidence=[-1, 0])
    with pytest.raises(ValueError, match="decoding must be one of 'top_down'"):
        head.predict(outputs, decoding="best")


def predictions_of(head, multi_label):
    methods = [head.predict, head.predict_node_proba]
    return methods if multi_label else [*methods, head.predict_confidence, head.predict_paths]


@pytest.mark.parametrize("loss", ["leaf", "conditional"])
@pytest.mark.parametrize("multi_label", [False, True])
def test_outputs_that_give_no_probabilities_are_refused(loss, multi_label):
    import torch

    from hiclass.torch import HierarchicalHead

    head = HierarchicalHead(2, TREE, loss, multi_label=multi_label)
    for value in (np.nan,) if multi_label else (np.nan, np.inf):
        outputs = torch.zeros(3, head.criterion.n_outputs)
        outputs[1, 0] = value
        for method in predictions_of(head, multi_label):
            with pytest.raises(ValueError, match=rf"of row 1 is {value}, .*smaller learning rate"):
                method(outputs)
    outputs[1, 0] = -np.inf  # excludes a class
    assert not head.predict_node_proba(outputs).isnan().any()
    assert len(head.predict(outputs)) == 3


@pytest.mark.parametrize("multi_label", [False, True])
def test_outputs_of_another_width_are_refused(multi_label):
    import torch

    from hiclass.torch import HierarchicalHead

    head = HierarchicalHead(2, TREE, multi_label=multi_label)
    n = head.criterion.n_outputs
    target = head.encode([[tuple(path)] for path in PATHS] if multi_label else PATHS)
    for shape in ((3, n + 1), (3, n - 1), (n,)):
        message = rf"outputs has the shape {re.escape(str(shape))}, but .*with {n} outputs"
        for method in (*predictions_of(head, multi_label), lambda z: head.loss(z, target)):
            with pytest.raises(ValueError, match=message):
                method(torch.zeros(shape))


@pytest.mark.parametrize("k", [0, -1, 1.5, "2"])
def test_a_number_of_paths_that_is_not_positive_is_refused(k):
    import torch

    from hiclass.torch import HierarchicalHead

    head = HierarchicalHead(2, TREE)
    with pytest.raises(ValueError, match=f"k must be an integer of at least 1; got {k!r}"):
        head.predict_paths(torch.zeros(1, 3), k)


def test_copies_files_and_state_dicts_of_a_head_predict_the_same():
    import torch

    from hiclass.torch import HierarchicalHead

    torch.manual_seed(0)
    head = HierarchicalHead(4, TREE)
    x = torch.randn(5, 4)
    expected = head.predict_node_proba(head(x))
    buffer = io.BytesIO()
    torch.save(head, buffer)
    buffer.seek(0)
    other = HierarchicalHead(4, TREE)
    other.load_state_dict(head.state_dict())
    assert set(head.state_dict()) == {"linear.weight", "linear.bias"}
    for same in (
        copy.deepcopy(head),
        pickle.loads(pickle.dumps(head)),
        torch.load(buffer, weights_only=False),
        other,
    ):
        assert torch.equal(same.predict_node_proba(same(x)), expected)


def test_half_precision_outputs_are_learned_and_decided():
    import torch

    from hiclass.torch import HierarchicalHead

    head = HierarchicalHead(4, TREE, "conditional").bfloat16()
    outputs = head(torch.randn(6, 4).bfloat16())
    loss = head.loss(outputs, head.encode(PATHS * 2))
    loss.backward()
    assert torch.isfinite(head.linear.weight.grad).all()
    assert head.predict(outputs, decoding="top_down").shape == (6, 2)


def test_the_example_of_the_gallery_learns_images_from_scratch(monkeypatch):
    import matplotlib.pyplot as plt
    import torch

    monkeypatch.setattr(plt, "show", plt.close)
    n_threads = torch.get_num_threads()
    try:
        found = runpy.run_path(str(EXAMPLE))
    finally:
        torch.set_num_threads(n_threads)
    assert found["f1"](found["y_test"], found["paths"]) > 0.93


# -- the network of a classifier as a module -------------------------------------------------------

SHAPES = [
    {"embedding_dim": None},
    {"embedding_dim": 4},
    {"embedding_dim": 4, "hidden_layers": (6,)},
    {"hidden_layers": (6, 5)},
]


@pytest.mark.parametrize("params", SHAPES, ids=str)
@pytest.mark.parametrize("loss", ["leaf", "conditional"])
def test_the_module_of_a_classifier_computes_what_it_predicts(hard, params, loss):
    import torch

    X, y = hard
    model = network(loss=loss, max_epochs=3, **params).fit(X, y)
    module = model.module_
    assert isinstance(module, torch.nn.Module)
    outputs = module(torch.tensor(X, dtype=torch.float32))
    proba = module.head.predict_node_proba(outputs).numpy()
    np.testing.assert_allclose(proba, model.predict_node_proba(X), atol=1e-5)
    model.set_params(decoding="top_down")
    found = module.head.predict(outputs, decoding="top_down")
    assert found.tolist() == model.predict(X).tolist()
    # What is learned further is its own.
    loss = module.head.loss(outputs, module.head.encode(y))
    assert loss.item() > 0
    loss.backward()
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(1.0)
    np.testing.assert_allclose(model.predict_node_proba(X), proba, atol=1e-5)


def test_every_access_makes_a_new_module_with_the_fitted_weights(hard):
    import torch

    X, y = hard
    model = network(max_epochs=1).fit(X, y)
    trained, fitted = model.module_, model.module_.state_dict()
    with torch.no_grad():
        for weight in trained.parameters():
            weight.add_(1.0)
    expected = {name: weight + 1.0 for name, weight in fitted.items()}
    model.predict(X)
    for _ in range(6):  # models that share the network, more than are kept ready
        model.restricted_to([("Plant",)]).predict(X)
    again = model.module_
    assert again is not trained
    for name, weight in again.state_dict().items():
        torch.testing.assert_close(weight, fitted[name], rtol=0, atol=0)
    for name, weight in trained.named_parameters():
        torch.testing.assert_close(weight.detach(), expected[name], rtol=0, atol=0)


def test_the_module_of_a_restricted_classifier_and_of_sets_decides_like_it(hard):
    import torch

    X, y = hard
    plants = network(max_epochs=3).fit(X, y).restricted_to([("Plant",)])
    module = plants.module_
    outputs = module(torch.tensor(X, dtype=torch.float32))
    assert module.head.predict(outputs).tolist() == plants.predict(X).tolist()
    X, y = zoo(60)
    model = network(hierarchy=DAG, multi_label=True, max_epochs=30).fit(X, y)
    module = model.module_
    outputs = module(torch.tensor(X, dtype=torch.float32))
    assert module.head.predict(outputs).tolist() == model.predict(X).tolist()
    proba = module.head.predict_node_proba(outputs).numpy()
    np.testing.assert_allclose(proba, model.predict_node_proba(X), atol=1e-5)
    assert module.head.encode(y).shape == outputs.shape


def test_a_module_has_no_outputs_for_classes_without_rows(hard):
    X, y = hard
    model = network(hierarchy=Hierarchy.from_paths([*y.tolist(), ["Fungus"]]), max_epochs=1)
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"Row 0 of y: the network has no output for .*Fungus"):
        model.module_.head.encode([["Fungus"]])


def test_there_is_no_module_before_fit():
    assert not hasattr(network(), "module_")
