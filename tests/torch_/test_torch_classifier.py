"""The network: what it learns, from what, how it is kept, and what it refuses."""

import _thread
import copy
import doctest
import importlib
import pickle
import re
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from zoo import DAG, zoo

from hiclass import (
    TRUSTED_TYPES,
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalKFold,
    Hierarchy,
    explain,
    make_report,
)

pytestmark = pytest.mark.heavy


def network(**params):
    from hiclass.torch import HierarchicalSoftmaxClassifier

    return HierarchicalSoftmaxClassifier(**({"random_state": 0} | params))


@pytest.fixture
def hard(animals):
    """The same classes, but not told apart with certainty; more rows."""
    X, y = animals
    rng = np.random.default_rng(3)
    return np.tile(X / 4, (8, 1)) + rng.normal(size=(8 * len(y), X.shape[1])), np.tile(y, (8, 1))


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
        patience=300,
    )  # fmt: skip
    expected = LogisticRegression(C=0.5, tol=1e-8, max_iter=1000).fit(X, top)
    np.testing.assert_allclose(
        model.fit(X, top).predict_proba(X), expected.predict_proba(X), atol=5e-3
    )


def test_a_recursive_penalty_pulls_children_to_their_parent_and_a_plain_one_to_zero(hard):
    X, y = hard
    many = {"max_epochs": 60, "tol": 0.0, "patience": 60, "batch_size": 96}

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


# -- weights and stopping ----------------------------------------------------------------------


def test_weights_count_and_only_their_ratios_do(hard):
    X, y = hard
    weights = np.where(y[:, 0] == "Animal", 1.0, 0.0)
    model = network().fit(X, y, sample_weight=weights)
    assert (model.predict(X)[:, 0] == "Animal").mean() > 0.95
    assert (network().fit(X, y).predict(X)[:, 0] == "Animal").mean() < 0.8
    ten = network().fit(X, y, sample_weight=10 * weights)
    np.testing.assert_allclose(ten.predict_node_proba(X), model.predict_node_proba(X), atol=1e-4)
    with pytest.raises(ValueError, match="ample weights"):
        network().fit(X, y, sample_weight=0 * weights)


def test_training_stops_early_on_rows_held_out_and_keeps_the_best_weights(hard):
    X, y = hard
    model = network(
        validation_fraction=0.3, max_epochs=200, patience=5, hidden_layers=(64,), penalty=0.0,
        learning_rate=0.03,
    )  # fmt: skip
    model.fit(X, y)
    assert model.n_epochs_ < 200
    assert len(model.validation_curve_) == model.n_epochs_
    best = int(np.argmin(model.validation_curve_))
    assert model.n_epochs_ - 1 - best >= 5
    # As far as that epoch, training went the same way: with the weights of then.
    with pytest.raises(ValueError, match=r"holds out all 1 rows and leaves none"):
        network(validation_fraction=0.5).fit(X[:1], y[:1])


def test_the_best_weights_are_those_of_the_best_epoch(hard):
    from hiclass.torch._fit import start
    from hiclass.torch._train import Course

    X, y = hard
    model = network(validation_fraction=0.3, max_epochs=1, hidden_layers=(8,)).fit(X, y)
    layout = model._network().layout
    trainer = start(model, layout, X.astype(np.float32), 0)
    losses = iter([3.0, 1.0, 2.0, 2.0])
    kept = []

    def epoch(i):
        trainer.weights["0.bias"].data.fill_(float(i))
        return 0.0

    def validate(rows):
        kept.append(trainer.weights["0.bias"].detach().numpy().copy())
        return next(losses)

    trainer.validate = validate
    course = Course(10, 2, 1e-4)
    course.run(trainer, epoch, held_out="rows", verbose=False)
    assert course.validation == [3.0, 1.0, 2.0, 2.0]
    np.testing.assert_array_equal(trainer.weights["0.bias"].detach().numpy(), kept[1])


def test_training_stops_on_its_own_loss_without_rows_held_out(hard):
    X, y = hard
    model = network(max_epochs=50, tol=10.0, patience=2).fit(X, y)
    assert model.n_epochs_ == 3
    assert model.validation_curve_ == []


def test_progress_is_shown_if_asked_for(hard, capsys):
    X, y = hard
    network(max_epochs=2, verbose=1, validation_fraction=0.2).fit(X, y)
    assert "Training [####################] 2/2" in capsys.readouterr().err
    network(max_epochs=2).fit(X, y)
    assert capsys.readouterr().err == ""


def test_warm_start_goes_on_and_refuses_other_classes(hard):
    X, y = hard
    model = network(max_epochs=3, warm_start=True).fit(X, y)
    first = model.loss_curve_
    assert model.fit(X, y).loss_curve_[0] < 0.9 * first[0]
    cold = network(max_epochs=3).fit(X, y)
    assert cold.fit(X, y).loss_curve_ == first
    with pytest.raises(ValueError, match="warm_start=True goes on with the network of the fit"):
        model.fit(X, y[:, :1])
    assert not hasattr(model, "classes_")


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
    with pytest.raises(ValueError, match="restricted to some classes does not learn"):
        plants.partial_fit(X, y)


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


@pytest.mark.parametrize("loss", ["conditional", "leaf"])
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


# -- batches -----------------------------------------------------------------------------------


def parts_of(X, y, n=6):
    return [(X[i::n], y[i::n]) for i in range(n)]


def test_partial_fit_learns_and_knows_the_announced_classes(hard):
    X, y = hard
    model = network()
    for i in range(10):
        for X_part, y_part in parts_of(X, y):
            model.partial_fit(X_part, y_part, classes=y if i == 0 else None)
    assert model.score(X, y) > 0.7
    assert len(model.loss_curve_) == model.n_epochs_ == 60
    given = network(hierarchy=model.hierarchy_).partial_fit(X[:1], y[:1])
    assert given.hierarchy_ == model.hierarchy_
    assert given.predict(X).tolist() == [y[0].tolist()] * len(X)  # all that it has seen
    again = given.partial_fit(X, y)
    assert len({tuple(path) for path in again.predict(X).tolist()}) > 2


def test_partial_fit_learns_a_batch_as_a_whole_or_not_at_all(hard):
    X, y = hard
    model = network().partial_fit(X, y)
    before = model.predict_node_proba(X)
    with pytest.raises(ValueError, match="Unicorn") as error:
        model.partial_fit(X[:1], [["Animal", "Unicorn", ""]])
    assert "give them with classes= or hierarchy=" in error.value.__notes__[-1]
    with pytest.raises(ValueError, match="y holds single labels, but the rows before"):
        network(hierarchy={"a": ["b"]}).partial_fit([[1.0]], [["a", "b"]]).partial_fit(
            [[1.0]], ["b"]
        )
    with pytest.raises(ValueError, match="inconsistent numbers of"):
        model.partial_fit(X[:2], y[:1])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    np.testing.assert_array_equal(model.predict_node_proba(X), before)
    fitted = network().fit(X, y)
    shallow = network(max_epochs=1).fit(X, np.where(y == "Fern", "", y))
    with pytest.raises(ValueError, match="A model that fit has begun knows only classes"):
        network(hierarchy=fitted.hierarchy_).fit(X[:6], y[:6]).partial_fit(X, y)
    assert fitted.partial_fit(X, y).score(X, y) > 0.7
    assert shallow.n_epochs_ == 1


def test_partial_fit_goes_on_where_it_was_and_leaves_copies_alone(hard):
    X, y = hard
    one, two = (network(embedding_dim=8, dropout=0.1) for _ in range(2))
    one.partial_fit(X, y)
    two.partial_fit(X, y)
    light = copy.copy(two)
    before = light.predict_node_proba(X)
    np.testing.assert_array_equal(before, one.predict_node_proba(X))
    one.partial_fit(X, y)
    two.partial_fit(X, y)
    np.testing.assert_array_equal(one.predict_node_proba(X), two.predict_node_proba(X))
    np.testing.assert_array_equal(light.predict_node_proba(X), before)
    fresh = pickle.loads(pickle.dumps(one))  # without the state of the optimiser
    assert "_trainer" not in vars(fresh)
    assert fresh.partial_fit(X, y).loss_curve_[-1] < one.loss_curve_[0]


def test_partial_fit_follows_parameters_that_are_set_between_calls(hard):
    X, y = hard
    model = network().partial_fit(X, y)
    before = model.predict_node_proba(X)
    model.set_params(learning_rate=1e-20).partial_fit(X, y)
    np.testing.assert_allclose(model.predict_node_proba(X), before, atol=1e-12)
    trainer = model._trainer
    assert model.partial_fit(X, y)._trainer.settings == trainer.settings
    assert model._trainer._optimisers[0].state_dict()["state"][0]["step"] > 1  # goes on


def test_partial_fit_refuses_classes_that_come_too_late(hard):
    X, y = hard
    model = network().partial_fit(X, y, classes=y)
    model.partial_fit(X, y, classes=y).partial_fit(X, y, classes=model.hierarchy_)
    for late in ([["Fungus", "", ""]], Hierarchy.from_paths([["Fungus"]])):
        with pytest.raises(ValueError, match=r"Fungus|1 class") as error:
            model.partial_fit(X, y, classes=late)
        assert "before the first batch" in error.value.__notes__[-1]
    with pytest.raises(ValueError, match="no class 'q'"):
        network(hierarchy={"a": ["b"]}).partial_fit([[0.0]], ["b"], classes=["q"])
    with pytest.raises(ValueError, match="unicorn"):
        network(hierarchy=DAG, multi_label=True).partial_fit([[0.0]], [["cat"]], ["unicorn"])


def test_negative_weights_are_refused(hard):
    X, y = hard
    weights = np.where(np.arange(len(X)) == 3, -0.5, 1.0)
    for learn in (network().fit, network().partial_fit):
        with pytest.raises(ValueError, match=r"must not be negative; row 3 has -0\.5"):
            learn(X, y, sample_weight=weights)


def test_partial_fit_of_sets_and_what_it_refuses():
    X, y = zoo(80)
    model = network(hierarchy=DAG, multi_label=True, learning_rate=0.05)
    for _ in range(60):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.predict_node_proba(X)[:, DAG.find("dingo")].max() == 0
    fitted = network(hierarchy=DAG, multi_label=True).fit(X, y)
    with pytest.raises(ValueError, match="no output for the class dingo"):
        fitted.partial_fit(X[:1], [["dingo"]])
    paths = network(multi_label=True).partial_fit(
        X[:2], [[("a", "b")], []], classes=[("a", "b"), ("c",)]
    )
    assert paths.hierarchy_.n_nodes == 4
    with pytest.raises(ValueError, match="threshold='tuned' needs thresholds"):
        network(multi_label=True, threshold="tuned").partial_fit(X, y)
    message = r"decoding='expected_f1' needs the F-score .*, give it \(expected_f1=0.8\)"
    with pytest.raises(ValueError, match=message):
        network(decoding="expected_f1").partial_fit(X, [row[0] for row in y])


def test_leaf_only_in_a_stream_takes_all_final_classes_below_a_path_that_ends_early():
    model = network(leaf_only=True, hierarchy=Hierarchy.from_paths([["a", "b"], ["a", "c"], ["d"]]))
    model.partial_fit([[0.0], [1.0]] * 20, [["a"], ["d"]] * 20)
    assert {tuple(path) for path in model.predict([[0.0], [1.0]]).tolist()} <= {
        ("a", ""),
        ("d", ""),
    }
    np.testing.assert_allclose(model.predict_node_proba([[0.0]])[:, [1, 4]].sum(), 1)


@pytest.mark.parametrize("kind", ["function", "list"])
def test_batches_from_a_stream_are_learned_like_rows_in_memory(hard, kind):
    X, y = hard
    X = sp.csr_matrix(X)
    parts = parts_of(X, y, 20)
    batches = (lambda: iter(parts)) if kind == "function" else parts
    model = network(max_epochs=10, embedding_dim=8).fit_batches(batches, classes=y)
    assert model.score(X, y) > 0.7
    assert model.n_epochs_ == 10
    assert model.hierarchy_ == network().fit(X, y).hierarchy_
    assert model.predict(X[:3]).shape == (3, 3)


def test_a_stream_with_weights_and_validation_rows(hard):
    X, y = hard
    weights = np.where(y[:, 0] == "Animal", 1.0, 0.0)
    parts = [(X[i::9], y[i::9], weights[i::9]) for i in range(9)]
    model = network(max_epochs=100, patience=2, tol=1.0)
    model.fit_batches(parts, classes=Hierarchy.from_paths(y), validation=(X, y))
    assert model.n_epochs_ < 100
    assert len(model.validation_curve_) == model.n_epochs_
    assert (model.predict(X)[:, 0] == "Animal").mean() > 0.85


@pytest.mark.parametrize("kind", [np.int32, object, str])
def test_a_stream_of_single_labels_finds_integers_at_once_and_names_unknown_ones(kind):
    rng = np.random.default_rng(0)
    labels = np.repeat([10, 11, 20], 30)
    X = np.eye(3)[np.searchsorted([10, 11, 20], labels)]
    X = X + rng.normal(scale=0.1, size=X.shape)
    y = labels.astype(kind)
    above, below = (np.array(part).astype(kind).tolist() for part in ([1, 2], [10, 11, 20]))
    tree = Hierarchy.from_dict({above[0]: below[:2], above[1]: below[2:]})
    model = network(hierarchy=tree, max_epochs=20).fit_batches(
        [(X[::2], y[::2]), (X[1::2], y[1::2])]
    )
    assert model.predict(X).tolist() == y.tolist()
    assert {type(label) for label in model.predict(X).tolist()} == {type(y.tolist()[0])}
    unknown = np.array([77]).astype(kind)
    with pytest.raises(ValueError, match="77"):
        network(hierarchy=tree).fit_batches([(X, y), (X[:1], unknown)])


def test_a_stream_of_sets():
    X, y = zoo(80)
    model = network(hierarchy=DAG, multi_label=True, max_epochs=100, learning_rate=0.05, tol=0.0)
    assert model.fit_batches(parts_of(X, y), None).score(X, y) > 0.9


def test_what_goes_wrong_in_the_thread_that_reads_batches_comes_out(hard):
    X, y = hard

    def breaks():
        yield X, y
        raise OSError("the file is gone")

    n_threads = threading.active_count()
    with pytest.raises(OSError, match="the file is gone"):
        network(max_epochs=1).fit_batches(breaks)
    with pytest.raises(ValueError, match="Unicorn"):
        network().fit_batches([(X, y), (X[:1], [["Unicorn", "", ""]]), *[(X, y)] * 20], classes=y)
    with pytest.raises(ValueError, match=r"A batch is a tuple \(X, y\).*got ndarray"):
        network().fit_batches([X])
    with pytest.raises(ValueError, match="got tuple of length 1"):
        network().fit_batches([(X, y), (X,)])
    with pytest.raises(ValueError, match="there is nothing to learn"):
        network().fit_batches([])
    with pytest.raises(ValueError, match="serves for one epoch, but max_epochs='auto' needs 3"):
        network().fit_batches(iter([(X, y)]))
    with pytest.raises(ValueError, match=r"give the rows to stop on with validation=\(X, y\)"):
        network(validation_fraction=0.1).fit_batches([(X, y)])
    assert threading.active_count() == n_threads
    assert network(max_epochs=1).fit_batches(iter([(X, y)])).n_epochs_ == 1


@pytest.fixture
def interruptible():
    """Have interrupts raise, also where the tests run in the background, which ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_the_reader_ends_although_somebody_keeps_the_error(hard):
    n_threads = threading.active_count()

    def interrupted(in_reader):
        yield hard
        if in_reader:
            raise KeyboardInterrupt
        yield hard
        _thread.interrupt_main()  # as Ctrl-C does; steps take long, so it is within one
        for _ in range(200):
            yield hard

    for in_reader in (True, False):
        with pytest.raises(KeyboardInterrupt) as kept:
            network(max_epochs=1, hidden_layers=(1500, 1500)).fit_batches(
                interrupted(in_reader), classes=hard[1]
            )
        assert kept.value.__traceback__ is not None
        assert threading.active_count() == n_threads


def test_steps_never_turn_back_where_later_epochs_have_more_batches(hard):
    X, y = hard
    made = []

    def grows():
        made.append(1)
        return iter([(X, y)] * (2 if len(made) == 1 else 30))

    model = network(max_epochs=3, patience=9).fit_batches(grows)
    assert model.loss_curve_ == sorted(model.loss_curve_, reverse=True)


def test_an_iterator_that_is_used_up_is_no_epoch(hard):
    same = iter([hard] * 3)
    with pytest.raises(ValueError, match="gave nothing in epoch 2: it serves for 1 epoch only"):
        network(max_epochs=3).fit_batches(lambda: same)


def test_a_reader_that_is_left_early_ends():
    from hiclass.torch._batches import prefetched

    import torch  # isort: skip

    class Item:
        def to(self, device):
            return self

    made = []

    def endless():
        while True:
            made.append(Item())
            yield made[-1]

    n_threads = threading.active_count()
    batches = prefetched(endless(), torch.device("cpu"))
    next(batches)
    batches.close()
    assert threading.active_count() == n_threads
    assert len(made) < 20


# -- files, threads and devices ----------------------------------------------------------------


@pytest.mark.parametrize("sets", [False, True], ids=["paths", "sets"])
def test_files_hold_arrays_and_predict_the_same(hard, sets, tmp_path):
    import skops.io

    X, y = hard
    model = network(hidden_layers=(8,))
    if sets:
        X, y = zoo(80)
        model.set_params(hierarchy=DAG, multi_label=True)
    model.fit(X, y)
    expected = model.predict_node_proba(X)
    content = pickle.dumps(model)
    assert b"torch.storage" not in content  # no tensor of PyTorch
    joblib.dump(model, tmp_path / "model")
    data = skops.io.dumps(model)
    assert set(skops.io.get_untrusted_types(data=data)) <= set(TRUSTED_TYPES)
    for back in (
        pickle.loads(content),
        joblib.load(tmp_path / "model"),
        skops.io.loads(data, trusted=list(TRUSTED_TYPES)),
        copy.deepcopy(model),
    ):
        np.testing.assert_array_equal(back.predict_node_proba(X), expected)
        assert all(type(w) is np.ndarray for w in back._network().weights.values())
        assert back.partial_fit(X, y).predict_node_proba(X).shape == expected.shape


def test_weights_in_a_mapped_file_predict_without_a_warning(hard, tmp_path):
    X, y = hard
    model = network(hidden_layers=(64,)).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    np.testing.assert_array_equal(mapped.predict_node_proba(X), model.predict_node_proba(X))


def test_a_model_from_another_device_predicts_here(hard):
    """As if trained on a device that this machine does not have."""
    X, y = hard
    model = network().fit(X, y)
    expected = model.predict_node_proba(X)
    model.device = model._network().device = "xpu:7"
    there = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(there.predict_node_proba(X), expected)


@pytest.mark.parametrize("device", ["xpu:7", "gpu"])
def test_a_device_that_is_not_there_is_an_error_that_names_the_remedy(hard, device):
    with pytest.raises(ValueError, match=rf"device='{device}' cannot be used here.*device='cpu'"):
        network(device=device).fit(*hard)


def test_a_device_that_is_set_after_fit_is_where_predictions_are_computed(hard):
    """The device "meta" computes shapes only: nothing can be copied back from there."""
    import torch

    X, y = hard
    model = network(device="cpu").fit(X, y)
    expected = model.predict_node_proba(X)
    some = model.restricted_to([("Animal",)])
    for fitted in (model, some):
        before = fitted.predict_node_proba(X)
        fitted.set_params(device="meta")
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
            fitted.predict(X)
        fitted.set_params(device="cpu:0")
        np.testing.assert_array_equal(fitted.predict_node_proba(X), before)
        assert fitted._network()._on_device()[0] == torch.device("cpu:0")
        assert clone(fitted).device == "cpu:0"
    np.testing.assert_array_equal(model.predict_node_proba(X), expected)


def test_a_device_that_is_set_after_fit_is_where_partial_fit_computes(hard):
    X, y = hard
    model = network(device="cpu").partial_fit(X, y)
    model.set_params(device="cpu:0").partial_fit(X, y)
    assert str(model._trainer.device) == "cpu:0"
    assert model._network().device == "cpu:0"


@pytest.mark.parametrize(
    ("device", "message"),
    [("xpu:7", r"device='xpu:7' cannot be used here.*device='cpu'"), (3, "'device' parameter")],
)
def test_a_device_that_is_set_after_fit_and_not_there_is_refused(hard, device, message):
    X, y = hard
    model = network().fit(X, y)
    model.set_params(device=device)
    for method in (model.predict, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match=message):
            method(X)
    assert model.set_params(device="cpu").predict(X).shape == y.shape


def test_threads_may_predict_at_the_same_time(hard):
    X, y = hard
    model = pickle.loads(pickle.dumps(network(hidden_layers=(16,)).fit(X, y)))
    predict = joblib.delayed(model.predict_node_proba)
    many = joblib.Parallel(n_jobs=4, backend="threading")(predict(X) for _ in range(16))
    for proba in many:
        np.testing.assert_array_equal(proba, many[0])


def test_predict_in_pieces_gives_the_same_probabilities(hard, monkeypatch):
    X, y = hard
    model = network().fit(X, y)
    whole = model.predict_node_proba(X)
    monkeypatch.setattr("hiclass.torch._network._MOST_NUMBERS", 100)
    np.testing.assert_allclose(model.predict_node_proba(X), whole, atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("sets", [False, True], ids=["paths", "sets"])
@pytest.mark.parametrize("stream", [False, True], ids=["fraction", "stream"])
def test_rows_to_stop_on_are_scored_in_pieces(hard, stream, sets, sparse, monkeypatch):
    from hiclass.torch._train import Trainer

    X, y = hard
    model = network(max_epochs=2, hidden_layers=(8,))
    if sets:
        X, y = zoo(80)
        model.set_params(hierarchy=DAG, multi_label=True)
    n_rows = len(X)
    X = sp.csr_array(X) if sparse else X
    scored = []
    losses = Trainer._losses

    def watched(self, batch, *, training):
        if not training:
            scored.append(batch.n_rows)
        return losses(self, batch, training=training)

    monkeypatch.setattr(Trainer, "_losses", watched)

    def curve():
        scored.clear()
        if not stream:
            model.set_params(validation_fraction=0.5).fit(X, y)
            return model.validation_curve_
        weight = np.linspace(0, 1, n_rows)
        model.fit_batches([(X, y)], classes=None if sets else y, validation=(X, y, weight))
        return model.validation_curve_

    whole = curve()
    n_held_out = n_rows if stream else round(0.5 * n_rows)
    assert scored == [n_held_out] * 2
    widest = max(model._network().shape.n_outputs, 8)
    monkeypatch.setattr("hiclass.torch._network._MOST_NUMBERS", 7 * widest + 1)
    np.testing.assert_allclose(curve(), whole, rtol=1e-5)
    assert max(scored) == 7
    assert sum(scored) == 2 * n_held_out


# -- what it refuses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "hinge"}, "loss"),
        ({"hidden_layers": (0,)}, "hidden_layers must be positive widths"),
        ({"hidden_layers": (8.5,)}, "hidden_layers must be positive widths, integers"),
        ({"embedding_dim": 0}, "embedding_dim"),
        ({"dropout": 1.0}, "dropout"),
        ({"penalty": -1.0}, "penalty"),
        ({"batch_size": 0}, "batch_size"),
        ({"max_epochs": 0}, "max_epochs"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"leaf_only": True, "min_confidence": 0.5}, "leaf_only=True wants every path"),
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
