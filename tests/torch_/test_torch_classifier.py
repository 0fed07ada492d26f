"""The network as an estimator: what it learns and predicts, and what it refuses."""

import doctest
import importlib
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from network_helpers import network
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from zoo import DAG, zoo

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalKFold,
    explain,
    make_report,
)
from hiclass._out_of_fold.rankings import Ranking
from hiclass._targets.sets import encode_sets

pytestmark = pytest.mark.heavy


# -- scikit-learn ------------------------------------------------------------------------------

IN_BATCHES = "rows are learned in random batches: a weight of 2 and two equal rows differ"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": IN_BATCHES,
    "check_sample_weight_equivalence_on_sparse_data": IN_BATCHES,
}
# Fails for some random states only: columns are levels of a path, and the most probable path need
# not have the most probable label of every level.
MAY_FAIL = {"check_classifier_multioutput": "the most probable path is not that of every level"}


def test_passes_the_checks_of_scikit_learn_but_for_the_listed_ones():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = check_estimator(
            network(random_state=None),
            expected_failed_checks=EXPECTED_FAILURES | MAY_FAIL,
            on_fail=None,
            on_skip=None,
        )
    by_status = {status: {} for status in ("passed", "failed", "xfail", "skipped")}
    for result in results:
        by_status[result["status"]][result["check_name"]] = result["exception"]
    assert by_status["failed"] == {}
    assert set(by_status["skipped"]) <= {"check_array_api_input"}
    assert set(by_status["xfail"]) - set(MAY_FAIL) == set(EXPECTED_FAILURES)
    assert {"check_classifiers_train", "check_n_features_in_after_fitting"} <= set(
        by_status["passed"]
    )


def test_the_estimator_stands_directly_on_the_one_base_class():
    from hiclass._estimators.base import BaseHierarchicalClassifier

    assert type(network()).__bases__ == (BaseHierarchicalClassifier,)
    assert type(network()).__module__ == "hiclass.torch._classifier"  # model files name it


def test_works_in_searches_and_pipelines(hard):
    X, y = hard
    folds = HierarchicalKFold(2)
    pipeline = make_pipeline(StandardScaler(), network(max_epochs=5))
    search = GridSearchCV(
        pipeline,
        {"hierarchicalsoftmaxclassifier__loss": ["conditional", "leaf"]},
        cv=folds,
        error_score="raise",
    ).fit(X, y)
    assert search.best_score_ > 0.7
    assert (cross_val_score(network(), X, y, cv=folds) > 0.7).all()


def test_doctests():
    done = doctest.testmod(
        importlib.import_module("hiclass.torch._classifier"),
        optionflags=doctest.NORMALIZE_WHITESPACE,
    )
    assert done.attempted == 11
    assert not done.failed


def test_python_blocks_of_the_page_run_and_print_what_they_say(capsys):
    text = (Path(__file__).parents[2] / "docs" / "global.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks
    namespace = {"__name__": "global.md"}
    for block in blocks:
        exec(compile(block, "global.md", "exec"), namespace)
        promised = [line[2:] for line in block.splitlines() if line.startswith("# ")]
        assert capsys.readouterr().out.splitlines()[: len(promised)] == promised


def test_hiclass_does_not_load_torch_and_says_how_to_get_it():
    code = (
        "import sys, hiclass\n"
        "assert 'torch' not in sys.modules\n"
        "sys.modules['torch'] = None\n"  # as if it were not installed
        "import hiclass.torch\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "hiclass.torch needs PyTorch" in done.stderr
    assert "Install it with: pip install torch\n" in done.stderr


# -- what it learns ----------------------------------------------------------------------------

KINDS = {
    "linear": {"embedding_dim": None},
    "embedding": {"embedding_dim": 8},
    "hidden": {"hidden_layers": (16, 8), "learning_rate": 0.01},
    "embedding and hidden": {"embedding_dim": 8, "hidden_layers": [16], "learning_rate": 0.01},
}


@pytest.mark.parametrize("loss", ["conditional", "leaf"])
@pytest.mark.parametrize(
    ("container", "recursive"), [(np.array, False), (sp.csr_matrix, True), (sp.csc_array, False)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_network_learns_every_path(animals, loss, recursive, kind, container):
    X, y = animals
    model = network(loss=loss, recursive=recursive, **KINDS[kind])
    model.fit(container(X / 8), y)
    assert model.predict(container(X / 8)).tolist() == y.tolist()
    # Weights have a row per feature whatever the rows came in, so the other container will do.
    np.testing.assert_allclose(
        model.predict_node_proba(X / 8), model.predict_node_proba(sp.csr_array(X / 8)), atol=1e-5
    )
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert len(model.loss_curve_) == model.n_epochs_ <= 100


def test_frames_are_read_by_name(animals):
    X, y = animals
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = network().fit(frame, pandas.DataFrame(y))
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.predict(frame).tolist() == y.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("bacdef")])


@pytest.mark.parametrize("kind", ["float64", "float32", "bfloat16", "float8_e4m3fn", "int32"])
def test_tensors_are_rows_of_float32(hard, kind):
    import torch

    X, y = hard
    X = torch.tensor(X * 4).to(getattr(torch, kind))
    expected = X.float().numpy()
    if X.is_floating_point():
        X.requires_grad_()
    for fit in ("fit", "partial_fit"):
        model = getattr(network(max_epochs=2), fit)(X, y)
        same = getattr(network(max_epochs=2), fit)(expected, y)
        np.testing.assert_array_equal(model.predict_node_proba(X), same.predict_node_proba(X))
        assert model.predict(X).tolist() == same.predict(expected).tolist()
        assert model.score(X, y) == same.score(expected, y)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_sparse_tensors_are_refused_and_the_remedy_is_named(hard):
    import torch

    X, y = hard
    model = network(max_epochs=1).fit(X, y)
    for rows in (torch.tensor(X).to_sparse(), torch.tensor(X).to_sparse_csr()):
        for method in (model.predict, lambda X: network().fit(X, y)):
            with pytest.raises(TypeError, match=r"X is a sparse tensor.*scipy\.sparse\.csr_matrix"):
                method(rows)


def test_wide_sparse_rows_are_not_made_dense():
    """Dense, these rows would take 80 GB."""
    rng = np.random.default_rng(0)
    n, width = 20_000, 1_000_000
    kind = rng.integers(4, size=n)
    columns = kind + 4 * rng.integers(width // 4, size=n)
    X = sp.csr_array((np.ones(n), (np.arange(n), columns % 40 + 0)), shape=(n, width))
    y = np.column_stack([kind // 2, kind]).astype(str)
    model = network(embedding_dim=4, max_epochs=1, penalty=0.0).fit(X, y)
    assert model.score(X[:100], y[:100]) == 1.0


def test_an_output_of_a_linear_network_is_a_logistic_regression(hard):
    """The same objective, with the penalty in its place, has the same minimum."""
    from sklearn.linear_model import LogisticRegression

    X, y = hard
    top = y[:, 0]
    # A bias is free, as in logistic regression.
    model = network(
        penalty=1 / (0.5 * len(y)), max_epochs=300, batch_size=len(y), learning_rate=0.05, tol=0.0,
        patience=300, standardize=False,
    )  # fmt: skip
    expected = LogisticRegression(C=0.5, tol=1e-8, max_iter=1000).fit(X, top)
    np.testing.assert_allclose(
        model.fit(X, top).predict_proba(X), expected.predict_proba(X), atol=5e-3
    )


def test_a_recursive_penalty_pulls_children_to_their_parent_and_a_plain_one_to_zero(hard):
    X, y = hard
    many = {"max_epochs": 60, "tol": 0.0, "patience": 60, "batch_size": 96}
    many |= {"loss": "conditional", "standardize": False}

    def sizes(**params):
        """The largest weight, and the largest distance of a weight to that of the parent."""
        fitted = network(**many, **params).fit(X, y)._network()
        layout, weight = fitted.layout, fitted.weights["0.weight"]
        inner = layout.edge_parent >= 0
        distance = weight[:, layout.edge_child[inner]] - weight[:, layout.edge_parent[inner]]
        return abs(weight).max(), abs(distance).max()

    free, plain = sizes(penalty=1e-6), sizes(penalty=1.0)
    recursive = sizes(penalty=1.0, recursive=True)
    assert plain[0] < free[0] / 5
    assert recursive[1] < free[1] / 5
    assert recursive[1] < plain[1] < recursive[0]


def test_the_weights_of_inner_nodes_lie_between_those_of_their_leaves(hard):
    """With loss="leaf", inner nodes have no rows: only the penalty moves them."""
    X, y = hard
    y = np.where(y == "", "more", y)  # all rows end at leaves
    model = network(
        loss="leaf",
        recursive=True,
        penalty=0.3,
        max_epochs=150,
        tol=0.0,
        patience=150,
        batch_size=96,
    ).fit(X, y)
    layout, weight = model._network().layout, model._network().weights["0.weight"]
    assert layout.n_outputs == model.hierarchy_.n_nodes - 1
    assert weight.shape[1] == layout.n_outputs
    inner = len(layout.ends)
    for node in range(inner, layout.n_outputs):
        near = [*layout.edge_child[layout.edge_parent == node], layout.edge_parent[node]]
        near = [weight[:, j] if j >= 0 else np.zeros(len(weight)) for j in near]
        np.testing.assert_allclose(weight[:, node], np.mean(near, axis=0), atol=0.05)


def test_dropout_is_for_training_only_and_repeatable(hard):
    X, y = hard
    params = {"hidden_layers": (32,), "max_epochs": 5}
    dropped, again = (network(dropout=0.5, **params).fit(X, y) for _ in range(2))
    whole = network(**params).fit(X, y)
    proba = dropped.predict_node_proba(X)
    np.testing.assert_array_equal(proba, dropped.predict_node_proba(X))
    np.testing.assert_array_equal(proba, again.predict_node_proba(X))
    assert abs(proba - whole.predict_node_proba(X)).max() > 0.01


@pytest.mark.parametrize("params", [{}, {"hidden_layers": (8,)}], ids=["linear", "hidden"])
def test_an_integer_makes_training_repeatable(hard, params):
    X, y = hard
    one, same = (network(**params).fit(X, y).predict_node_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, same)
    other = network(random_state=1, **params).fit(X, y).predict_node_proba(X)
    assert abs(one - other).max() > 1e-6


# -- one path per row --------------------------------------------------------------------------


def test_decodings_confidence_and_restriction_are_those_of_the_library(hard):
    X, y = hard
    model = network(decoding="expected_f1", max_epochs=5).fit(X, y)
    assert 0.5 < model.expected_f1_ < 1
    known = network(decoding="expected_f1", max_epochs=5, expected_f1=model.expected_f1_)
    np.testing.assert_array_equal(known.fit(X, y).predict(X), model.predict(X))
    assert not hasattr(known, "expected_f1_")
    for decoding in ("expected_f1", "best_path", "top_down"):
        assert model.set_params(decoding=decoding).score(X, y) > 0.7
    sure = model.set_params(min_confidence=0.9).predict_confidence(X)
    assert np.nanmin(sure) >= 0.9
    model.set_params(min_confidence=0.0)
    paths, proba = model.predict_paths(X, k=3)
    assert paths.shape == (len(X), 3, 3)
    assert (np.diff(proba, axis=1) <= 0).all()
    plants = model.restricted_to([("Plant",)])
    assert set(plants.predict(X)[:, 0]) == {"Plant"}
    with pytest.raises(ValueError, match="restricted to some classes cannot be updated"):
        plants.partial_fit(X, y)


def test_other_shares_of_classes_are_those_of_the_library(hard):
    X, y = hard
    weights = np.where(np.array([path[0] for path in y]) == "Plant", 3.0, 1.0)
    model = network(decoding="expected_f1", max_epochs=5).fit(X, y, sample_weight=weights)
    plant = model.hierarchy_.find("Plant")
    is_plant = weights == 3
    share = 3 * is_plant.sum() / weights.sum()
    assert model.prior_[plant] == pytest.approx(share)
    only = model.adapted_to(prior={"Plant": 1})
    assert set(only.predict(X)[:, 0]) == {"Plant"}
    # Rows among which plants are rarer than their weight made them.
    some = model.adapted_to(X[~is_plant], strength=1.0)
    assert some.prior_[plant] < share / 2
    again = pickle.loads(pickle.dumps(some)).set_params(device="cpu")
    np.testing.assert_array_equal(again.predict(X), some.predict(X))
    with pytest.raises(ValueError, match="adapted to other shares of classes cannot be updated"):
        some.partial_fit(X, y)
    stream = network().partial_fit(X, y, sample_weight=weights).partial_fit(X, y)
    n = len(y)
    expected = (3 * is_plant.sum() + is_plant.sum()) / (weights.sum() + n)
    assert stream.prior_[plant] == pytest.approx(expected)
    batches = network().fit_batches([(X, y, weights)], classes=y)
    assert batches.prior_[plant] == pytest.approx(share)


def test_leaf_only_trains_on_what_a_shorter_path_says(hard):
    X, y = hard
    for loss in ("conditional", "leaf"):
        model = network(leaf_only=True, loss=loss).fit(X, y)
        ends = {tuple(label for label in path if label) for path in model.predict(X).tolist()}
        assert ("Plant",) not in ends
        assert ("Plant", "Fern") in ends
        plants = (y[:, 0] == "Plant") & (y[:, 1] == "")
        assert (model.predict(X[plants])[:, 0] == "Plant").mean() > 0.7


def test_in_an_ensemble_and_with_a_guarantee(hard):
    X, y = hard
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    parts = [("flat", FlatClassifier()), ("network", network(max_epochs=3))]
    assert EnsembleClassifier(parts).fit(frame, y).score(frame, y) > 0.7
    sets = ConformalClassifier(network(max_epochs=3), alpha=0.2).fit(X, y)
    assert sets.score(X, y) > 0.5


def test_a_member_of_an_ensemble_learns_out_of_fold_once(hard, monkeypatch):
    from hiclass.torch import _fit

    X, y = hard
    trained = []
    start = _fit.start

    def counted(*args):
        trained.append(args)
        return start(*args)

    monkeypatch.setattr(_fit, "start", counted)
    member = network(max_epochs=2, decoding="expected_f1")
    ensemble = EnsembleClassifier([("network", member)], decoding="expected_f1").fit(X, y)
    # One on all rows and three out of fold by the member, then three by the ensemble.
    assert len(trained) == 1 + 3 + 3
    assert ensemble.expected_f1_ == pytest.approx(ensemble.models_[0].expected_f1_)
    trained.clear()
    EnsembleClassifier([("one", ensemble)], weights="learned").fit(X, y)
    assert len(trained) == 1 + 3 + 3 + 3


def test_explanations_and_reports_show_steps_without_reasons(hard):
    X, y = hard
    model = network(max_epochs=3).fit(X, y)
    assert "Animal" in str(explain(model, X[20]))
    assert "Animal" in make_report(model, X, y).html


def test_a_single_class_is_certain():
    model = network().fit(np.eye(3), [["a", "b"]] * 3)
    assert model.predict(np.eye(3)).tolist() == [["a", "b"]] * 3
    np.testing.assert_array_equal(model.predict_node_proba(np.eye(3)), 1)


# -- sets of classes ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["conditional", "leaf", "each"])
@pytest.mark.parametrize("hidden", [(), (32,)], ids=["linear", "hidden"])
def test_several_labels_in_a_dag(loss, hidden):
    X, y = zoo(80)
    params = {"hidden_layers": hidden, "max_epochs": 150, "learning_rate": 0.03}
    model = network(hierarchy=DAG, multi_label=True, loss=loss, **params).fit(X, y)
    assert model.score(X, y) > 0.98
    proba = model.predict_node_proba(X)
    for node in range(1, DAG.n_nodes):
        assert (proba[:, node] <= proba[:, DAG.parents(node)].min(axis=1) + 1e-9).all()
    assert (proba[:, DAG.find("dingo")] == 0).all()
    assert isinstance(model.predict(X)[0], list)
    recursive = network(
        hierarchy=DAG, multi_label=True, loss=loss, recursive=True, penalty=1e-3, **params
    )
    assert recursive.fit(X, y).score(X, y) > 0.95


def test_every_class_by_itself_is_a_logistic_regression_per_class_made_coherent():
    X, y = zoo(80)
    params = {"max_epochs": 400, "learning_rate": 0.1, "patience": 400, "penalty": 0.01}
    model = network(hierarchy=DAG, multi_label=True, loss="each", standardize=False, **params)
    proba = model.fit(X, y).predict_node_proba(X)
    truth = DAG.indicator(y).toarray()
    expected = np.zeros(proba.shape)
    expected[:, 0] = 1
    for node in range(1, DAG.n_nodes):
        share = truth[:, node].mean()
        if 0 < share < 1:
            # 1 / (C n) is the penalty of a sum over two classes with one weight each.
            logistic = LogisticRegression(C=1 / (0.01 * len(X)), tol=1e-8, max_iter=5000)
            found = logistic.fit(X, truth[:, node]).predict_proba(X)[:, 1]
            expected[:, node] = np.minimum(found, expected[:, DAG.parents(node)].min(axis=1))
    np.testing.assert_allclose(proba, expected, atol=0.01)
    with pytest.raises(ValueError, match="loss='each' is for sets of classes"):
        network(loss="each").fit(X, [row[:1] for row in y])


def test_without_decay_fewer_epochs_are_the_beginning_of_more():
    from hiclass.torch._epochs import find_epochs

    X, y = zoo(80)
    options = {"hierarchy": DAG, "multi_label": True, "loss": "each", "random_state": 0}
    target = encode_sets(y, DAG)
    rows = np.arange(80) % 3 == 0
    fold = np.flatnonzero(~rows), np.flatnonzero(rows)
    ranking = Ranking(target.closed[fold[1]], None, "average_precision")
    model = network(hidden_layers=(16,), decay=False, max_epochs=12, **options)
    X = np.asarray(X, dtype=np.float32)
    found = find_epochs(
        model, X, target, None, fold, lambda proba: ranking.score(ranking.pairs(proba))
    )
    assert 4 <= found.n_epochs <= 12
    assert found.score == ranking.score(ranking.pairs(found.proba))
    again = clone(model).set_params(max_epochs=found.n_epochs, patience=50)
    again.fit(X[fold[0]], target.closed[fold[0]])
    np.testing.assert_allclose(again.predict_node_proba(X[fold[1]]), found.proba, atol=1e-6)


def test_one_label_in_a_dag_and_thresholds_that_are_learned():
    X, y = zoo(80)
    first = [row[0] for row in y]
    model = network(hierarchy=DAG, max_epochs=100, learning_rate=0.1).fit(X, first)
    assert model.score(X, first) > 0.8
    assert model.predict(X).shape == (len(X),)
    tuned = network(hierarchy=DAG, multi_label=True, threshold="tuned").fit(X, y)
    assert tuned.thresholds_.shape == (DAG.n_nodes,)
    assert tuned.score(X, y) > 0.9
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match="y holds paths, but the hierarchy is a DAG"):
        network(hierarchy=DAG).fit(X, [["pet", "cat"]] * len(X))


def test_a_row_without_labels_and_a_single_class_of_sets():
    X = np.array([[0.0], [1.0]] * 20)
    model = network(multi_label=True).fit(X, [[], ["a"]] * 20)
    assert model.predict(X[:2]).tolist() == [[], ["a"]]
    nothing = network(multi_label=True, hierarchy={"a": ["b"]}).fit(X, [[]] * 40)
    assert nothing.predict(X[:2]).tolist() == [[], []]


# -- what it refuses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "hinge"}, "loss"),
        ({"hidden_layers": (0,)}, "hidden_layers must be positive integers"),
        (
            {"hidden_layers": (8.5,)},
            r"hidden_layers must be positive integers \(widths\); got \(8.5,\)",
        ),
        ({"embedding_dim": 0}, "embedding_dim"),
        ({"dropout": 1.0}, "dropout"),
        ({"penalty": -1.0}, "penalty"),
        ({"batch_size": 0}, "batch_size"),
        ({"max_epochs": 0}, "max_epochs"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"leaf_only": True, "min_confidence": 0.5}, "leaf_only=True requires every path"),
        ({"threshold": 0.3}, "threshold=0.3 selects sets"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(hard, params, message):
    model = network(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(*hard)
    assert not hasattr(model, "hierarchy_")


def test_a_loss_that_is_no_number_names_the_learning_rate(hard):
    X, y = hard
    with pytest.raises(ValueError, match=r"after an epoch with learning_rate=1e\+30.*smaller"):
        network(learning_rate=1e30, hidden_layers=(4,)).fit(X, y)


def test_a_clone_is_unfitted_and_equal(hard):
    model = network(hidden_layers=(4, 4), penalty=0.1).fit(*hard)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "hierarchy_")
