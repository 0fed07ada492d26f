"""Learning from batches: the law of batches, growing, bad input, and what partial_fit goes with."""

import os
import pickle
import signal
import subprocess
import sys
import warnings

import joblib
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from samples import COUNTED, COUNTS
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimators_partial_fit_n_features,
    check_n_features_in_after_fitting,
)
from strategies import SETTINGS, paths

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    explain,
)
from hiclass._problems.policies import POLICIES
from hiclass.metrics import f1

FIXED = [LocalClassifierPerParentNode, LocalClassifierPerLevel, FlatClassifier]
ESTIMATORS = [LocalClassifierPerNode, *FIXED]
FEWER = settings(SETTINGS, max_examples=25)
SIMPLIFIED = "ignore:No training row ends at an inner node"


def counts_for(y, seed=0):
    """Small counts that have something to do with the labels."""
    rng = np.random.default_rng(seed)
    names = sorted({repr(label) for path in y for label in path})
    table = rng.poisson(2, size=(len(names), 5))
    shift = np.array([sum(table[names.index(repr(label))] for label in path) for path in y])
    return rng.poisson(1, size=(len(y), 5)) + shift


def in_batches(model, X, y, ends, classes=None, weights=None):
    """Learn rows in batches that end at these positions."""
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        weight = None if weights is None else weights[start:end]
        model.partial_fit(X[start:end], y[start:end], classes, sample_weight=weight)
        classes = None
    return model


def assert_same_model(a, b, X):
    assert a.hierarchy_ == b.hierarchy_
    assert repr(a.missing_label_) == repr(b.missing_label_)
    np.testing.assert_allclose(a.predict_node_proba(X), b.predict_node_proba(X), atol=1e-10)
    assert a.predict(X).tolist() == b.predict(X).tolist()
    assert a.predict(X).dtype == b.predict(X).dtype
    for p, q in zip(a.predict_proba(X), b.predict_proba(X), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-10)
    assert repr(a.classes_) == repr(b.classes_)


# -- the law of batches ------------------------------------------------------------------------


@st.composite
def streams(draw, **options):
    """Rows, the order in which they come, and where batches end."""
    y = draw(paths(min_rows=2, max_rows=24, depth=(1, 4), **options))
    order = draw(st.permutations(range(len(y))))
    ends = draw(st.sets(st.integers(1, len(y)), max_size=6)) | {len(y)}
    return y, [y[i] for i in order], order, sorted(ends)


LOCAL_CLASSIFIERS = [MultinomialNB(), BernoulliNB(binarize=2.5), MultinomialNB(fit_prior=False)]


@FEWER
@given(
    streams(),
    st.sampled_from(ESTIMATORS),
    st.sampled_from(LOCAL_CLASSIFIERS),
    st.booleans(),
    st.sampled_from(["paths", "hierarchy", "constructor"]),
    st.booleans(),
)
def test_many_batches_give_the_model_of_one_fit(stream, cls, estimator, leaf_only, how, weighted):
    y, shuffled, order, ends = stream
    X = counts_for(y)
    weights = np.arange(1.0, len(y) + 1) if weighted else None
    tree = Hierarchy.from_paths(y)
    fixed = tree if how == "constructor" else None
    classes = {"paths": y, "hierarchy": tree, "constructor": None}[how]
    once = cls(estimator, leaf_only=leaf_only, hierarchy=fixed).fit(X, y, sample_weight=weights)
    order = list(order)
    often = in_batches(
        cls(estimator, leaf_only=leaf_only, hierarchy=fixed),
        X[order],
        shuffled,
        ends,
        classes,
        None if weights is None else weights[order],
    )
    assert_same_model(often, once, X)


@pytest.mark.filterwarnings(SIMPLIFIED)
@pytest.mark.parametrize("policy", POLICIES)
@FEWER
@given(stream=streams(), leaf_only=st.booleans())
def test_many_batches_give_the_model_of_one_fit_under_every_policy(policy, stream, leaf_only):
    y, shuffled, order, ends = stream
    X = counts_for(y)
    options = {"binary_policy": policy, "leaf_only": leaf_only}
    try:
        once = LocalClassifierPerNode(MultinomialNB(), **options).fit(X, y)
    except ValueError:  # a class without rows under this policy
        reject()
    often = LocalClassifierPerNode(MultinomialNB(), **options)
    assert_same_model(in_batches(often, X[list(order)], shuffled, ends, y), once, X)


@FEWER
@given(streams(), paths(max_rows=6, depth=(1, 4)), st.sampled_from(ESTIMATORS), st.booleans())
def test_classes_without_rows_have_the_probability_that_they_have_after_fit(
    stream, more, cls, leaf_only
):
    y, shuffled, order, ends = stream
    tree = Hierarchy.from_paths([*y, *more])
    # Flat, a row that ends at an inner node without rows below is a class of fit but not of a
    # stream, in which rows below may still come.
    leaf_only &= cls is not FlatClassifier
    X = counts_for(y)
    once = cls(MultinomialNB(), leaf_only=leaf_only, hierarchy=tree).fit(X, y)
    often = in_batches(
        cls(MultinomialNB(), leaf_only=leaf_only), X[list(order)], shuffled, ends, tree
    )
    np.testing.assert_allclose(often.predict_node_proba(X), once.predict_node_proba(X), atol=1e-10)
    without = ~np.isin(np.arange(tree.n_nodes), [tree.find(p[:k]) for p in y for k in range(5)])
    assert (often.predict_node_proba(X)[:, without] == 0).all()


@FEWER
@given(streams(labels="any", ragged=True), st.sampled_from(ESTIMATORS))
def test_labels_of_every_kind_come_back_as_they_were(stream, cls):
    y, shuffled, order, ends = stream
    X = counts_for(y)
    often = in_batches(cls(MultinomialNB()), X[list(order)], shuffled, ends, y)
    once = cls(MultinomialNB()).fit(X, y)
    assert repr(often.predict(X).tolist()) == repr(once.predict(X).tolist())


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_after_every_batch_the_model_is_that_of_fit_on_the_rows_so_far(cls, animals):
    X, y = animals
    order = np.random.default_rng(3).permutation(len(y))
    X, y = abs(X[order]), y[order]
    tree = Hierarchy.from_paths(y)
    model = cls(MultinomialNB())
    for end in range(4, len(y), 4):
        model.partial_fit(X[end - 4 : end], y[end - 4 : end], classes=tree)
        once = cls(MultinomialNB(), hierarchy=tree).fit(X[:end], y[:end])
        np.testing.assert_allclose(model.predict_node_proba(X), once.predict_node_proba(X))
        assert model.predict(X).tolist() == once.predict(X).tolist()


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_sparse_rows_and_frames_are_learned_as_arrays_are(cls, animals):
    X, y = animals
    X = np.round(abs(X))
    expected = cls(MultinomialNB()).fit(X, y).predict_node_proba(X)
    for rows in (sp.csr_array(X), sp.coo_array(X), pandas.DataFrame(X, columns=list("abcdef"))):
        model = cls(MultinomialNB())
        for part in (slice(0, 9), slice(9, 36)):
            some = rows[part] if not sp.issparse(rows) else rows.tocsr()[part]
            model.partial_fit(some, y[part], classes=y)
        np.testing.assert_allclose(model.predict_node_proba(rows), expected)
    assert model.feature_names_in_.tolist() == list("abcdef")


# -- which classifiers a batch touches ---------------------------------------------------------


class CountedUpdates(MultinomialNB):
    """Counts how often it learned, and how many rows of each class."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        super().partial_fit(X, y, classes, sample_weight)
        self.calls_ = getattr(self, "calls_", 0) + 1
        return self


def calls(model):
    gates = getattr(model, "stop_classifiers_", {})
    return {
        **{path: c.calls_ for path, c in model.local_classifiers_.items()},
        **{("stop", *path): c.calls_ for path, c in gates.items()},
    }


def test_only_touched_classifiers_learn_per_parent_node(animals):
    X, y = animals
    model = LocalClassifierPerParentNode(CountedUpdates()).partial_fit(abs(X), y, classes=y)
    assert calls(model) == dict.fromkeys([(), ("Animal",), ("Animal", "Mammal"), ("Plant",)], 1)
    rock = y[:, 0] == "Rock"
    model.partial_fit(abs(X[rock]), y[rock])
    assert calls(model)[()] == 2
    assert sum(calls(model).values()) == 5
    bird = y[:, 1] == "Bird"
    model.partial_fit(abs(X[bird]), y[bird])
    assert calls(model) == {(): 3, ("Animal",): 2, ("Animal", "Mammal"): 1, ("Plant",): 1}


def test_only_touched_classifiers_learn_per_level(animals):
    X, y = animals
    model = LocalClassifierPerLevel(CountedUpdates()).partial_fit(abs(X), y, classes=y)
    rock = y[:, 0] == "Rock"
    model.partial_fit(abs(X[rock]), y[rock])
    assert calls(model) == {1: 2, 2: 1, 3: 1}
    plant = (y[:, 0] == "Plant") & (y[:, 1] == "")
    model.partial_fit(abs(X[plant]), y[plant])  # they stop above level 2
    assert calls(model) == {1: 3, 2: 2, 3: 1}


def test_only_touched_classifiers_learn_per_node(animals):
    X, y = animals
    model = LocalClassifierPerNode(CountedUpdates()).partial_fit(abs(X), y, classes=y)
    before = calls(model)
    assert set(before.values()) == {1}
    assert {name for name in before if "stop" in name} == {
        ("stop", "Animal"), ("stop", "Animal", "Mammal"), ("stop", "Plant")
    }  # fmt: skip
    bird = y[:, 1] == "Bird"
    model.partial_fit(abs(X[bird]), y[bird])
    touched = {name for name, n in calls(model).items() if n == 2}
    assert touched == {
        ("Animal",), ("Plant",), ("Rock",),
        ("Animal", "Bird"), ("Animal", "Mammal"), ("stop", "Animal"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("siblings", {("a",): 5, ("b",): 5, ("a", "x"): 3, ("a", "y"): 3}),
        ("exclusive_siblings", {("a",): 2, ("b",): 2, ("a", "x"): 3, ("a", "y"): 3}),
        ("inclusive", {("a",): 5, ("b",): 5, ("a", "x"): 4, ("a", "y"): 4}),
        ("less_inclusive", {("a",): 5, ("b",): 5, ("a", "x"): 5, ("a", "y"): 5}),
        ("exclusive", {("a",): 5, ("b",): 5, ("a", "x"): 5, ("a", "y"): 5}),
        ("less_exclusive", {("a",): 2, ("b",): 5, ("a", "x"): 5, ("a", "y"): 5}),
    ],
)
def test_rows_of_a_batch_go_where_the_policy_says(policy, expected):
    y = [["a"], ["a", "x"], ["a", "x"], ["a", "y"], ["b"]]
    model = LocalClassifierPerNode(MultinomialNB(), binary_policy=policy)
    model.partial_fit(np.eye(5), y, classes=y)
    seen = {p: int(c.class_count_.sum()) for p, c in model.local_classifiers_.items()}
    assert seen == expected


def test_a_class_that_no_row_of_the_policy_has_reached_gets_what_its_siblings_leave():
    """Of 'a' and 'b' only rows below come, which exclusive_siblings does not show to them."""
    X = 5 * np.eye(6)
    y = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"], ["c"], ["a"]]
    for estimator in (MultinomialNB(), Perceptron()):
        model = LocalClassifierPerNode(estimator, binary_policy="exclusive_siblings")
        model.partial_fit(X[:4], y[:4], classes=[*y, ["b"]])
        assert list(model.local_classifiers_) == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
        assert set(model.predict(X)[:, 0]) == {"a"}  # nothing is known: the first
        for _ in range(2):
            model.partial_fit(X[4:], y[4:])
        assert model.predict(X)[4:, 0].tolist() == ["c", "a"]


# -- batches that lack classes -----------------------------------------------------------------

LACK = "The batch has no rows of classes that local classifiers have learned"
STEPWISE = [
    SGDClassifier(loss="log_loss", alpha=1e-3),
    SGDClassifier(loss="hinge", alpha=1e-3),
    Perceptron(),
]


def blobs(which, seed=0):
    """Rows around five corners, and their paths."""
    paths = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"], ["c", "x"]]
    which = np.asarray(which)
    X = np.random.default_rng(seed).normal(size=(len(which), 5)) + 4 * np.eye(5)[which]
    return X, np.array([paths[i] for i in which.tolist()], dtype=object)


def weights_of(model):
    return {
        **{key: c.coef_.copy() for key, c in model.local_classifiers_.items()},
        **{("stop", *key): c.coef_ for key, c in getattr(model, "stop_classifiers_", {}).items()},
    }


@pytest.mark.parametrize("estimator", STEPWISE, ids=str)
@pytest.mark.parametrize("leaf_only", [True, False])
def test_a_batch_of_one_new_class_leaves_what_is_known_about_the_others(
    estimator_class, estimator, leaf_only
):
    model = estimator_class(estimator, leaf_only=leaf_only, random_state=0)
    everything = blobs(range(5))[1]
    old = np.random.default_rng(0).permutation(np.repeat(range(4), 100))
    fixed = {} if estimator_class is LocalClassifierPerNode else {"classes": everything}
    for number in range(4):
        model.partial_fit(*blobs(old[number::4], number), **fixed)
    X_old, y_old = blobs(old, 9)
    weights, predicted = weights_of(model), model.predict(X_old)
    assert f1(y_old, predicted) > 0.9
    for number in range(2):
        with pytest.warns(UserWarning, match=LACK):
            model.partial_fit(*blobs([4] * 100, number))
    now = weights_of(model)
    for name, coef in weights.items():
        np.testing.assert_array_equal(now[name], coef)
    assert model.predict(X_old).tolist() == predicted.tolist()
    for number in range(4):  # together with the others it is learned
        model.partial_fit(*blobs(np.random.default_rng(number).permutation([*old, *[4] * 100])))
    X, y = blobs(np.repeat(range(5), 50), 10)
    assert model.score(X, y) > 0.9


def test_per_node_the_classifier_of_the_new_class_learns_its_rows():
    model = LocalClassifierPerNode(SGDClassifier(loss="log_loss"), random_state=0)
    old = np.random.default_rng(0).permutation(np.repeat(range(4), 100))
    model.partial_fit(*blobs(old))
    with pytest.warns(UserWarning, match=LACK + r". The classifiers of .*a.* skipped the batch"):
        model.partial_fit(*blobs([4] * 100))
    assert model.local_classifiers_["c"].t_ == 101
    assert model.local_classifiers_["a"].t_ == 401


def test_after_fit_rows_of_one_class_do_not_undo_it(estimator_class):
    old = np.repeat(range(4), 100)
    model = estimator_class(SGDClassifier(loss="log_loss"), random_state=0).fit(*blobs(old))
    weights = weights_of(model)
    with pytest.warns(UserWarning, match=LACK):
        model.partial_fit(*blobs([0] * 100))
    for name, coef in weights.items():
        np.testing.assert_array_equal(weights_of(model)[name], coef)


def test_a_class_that_stops_coming_does_not_stop_the_others_but_is_pointed_out():
    """A third of the rows had the class; the classifier goes on with the two thirds."""
    model = LocalClassifierPerParentNode(SGDClassifier(loss="log_loss"), random_state=0)
    rng = np.random.default_rng(0)
    X, y = np.repeat(4 * np.eye(3), 100, axis=0), np.repeat(["a", "b", "c"], 100)
    order = rng.permutation(300)
    model.partial_fit(X[order], y[order])
    with pytest.warns(
        UserWarning,
        match=LACK
        + r". The classifiers of the root learned the batch and may forget these classes",
    ):
        model.partial_fit(X[:200], y[:200])
    assert model.local_classifiers_[()].t_ == 501


def sgd(estimator_class):
    return estimator_class(SGDClassifier(loss="log_loss"), random_state=0)


def test_a_class_that_becomes_rare_stops_no_classifier(estimator_class):
    model, rng = sgd(estimator_class), np.random.default_rng(0)
    for rare in (0.5, *[0.02] * 4):
        y = np.sort((np.arange(500) < 500 * rare).astype(int))
        model.partial_fit(rng.normal(size=(500, 1)) + 4 * y[:, None], y)  # and warns of nothing
    assert {c.t_ for c in model.local_classifiers_.values()} == {2501}


def test_a_class_that_is_discontinued_stops_no_classifier_for_long(estimator_class):
    """The three others then change places: what was known is wrong."""
    model, rng = sgd(estimator_class), np.random.default_rng(0)
    y = rng.permutation(np.repeat(range(4), [600, 200, 100, 100]))
    model.partial_fit(4 * np.eye(4)[y] + rng.normal(size=(1000, 4)), y)
    y = rng.permutation(np.repeat([1, 2, 3], 300))
    n_warnings = []
    for _ in range(8):
        X = 4 * np.eye(4)[y % 3] + rng.normal(size=(900, 4))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.partial_fit(X, y)
        n_warnings.append(len(caught))
    assert n_warnings[0] == 1
    assert n_warnings[3:] == [0] * 5
    assert (model.predict(X) == y).mean() > 0.9


def test_rows_that_are_not_learned_are_pointed_out_where_every_class_is_rare(estimator_class):
    y = np.random.default_rng(0).permutation(np.repeat(range(30), 10))
    model = sgd(estimator_class).partial_fit(5 * np.eye(31)[y], y, classes=range(31))
    before = model.predict(5 * np.eye(31)).tolist()
    with pytest.warns(UserWarning, match=LACK + r". The classifiers of .* skipped the batch"):
        model.partial_fit(5 * np.eye(31)[[30] * 60], [30] * 60)
    assert model.predict(5 * np.eye(31))[:30].tolist() == before[:30]


def test_of_a_shuffled_stream_every_row_is_learned_also_one_by_one(estimator_class):
    y = np.random.default_rng(0).integers(0, 4, size=200)
    model, X = sgd(estimator_class), 4 * np.eye(4)[y]
    for row in range(200):
        model.partial_fit(X[row : row + 1], y[row : row + 1], classes=range(4))
    assert {c.t_ for c in model.local_classifiers_.values()} == {201}


def test_naive_bayes_counts_so_no_batch_is_left_out(estimator_class):
    X, y = blobs(np.repeat(range(5), 100))
    X = np.round(abs(X))
    order = np.random.default_rng(0).permutation(500)
    sorted_model = in_batches(
        estimator_class(MultinomialNB()), X, y, [100, 200, 300, 400, 500], classes=y
    )
    shuffled = estimator_class(MultinomialNB()).partial_fit(X[order], y[order], classes=y)
    assert_same_model(sorted_model, shuffled, X)


# -- growing -----------------------------------------------------------------------------------


def test_per_node_a_class_that_comes_later_gets_its_node_and_its_classifier():
    model = LocalClassifierPerNode(MultinomialNB())
    model.partial_fit(np.eye(4)[:2], [["b", "x"], ["d", "x"]])
    assert model.predict_node_proba(np.eye(4)).shape == (4, 5)
    assert list(model.local_classifiers_) == [("b",), ("d",)]
    model.partial_fit(np.eye(4)[2:], [["a", "x"], ["b", "c"]])
    assert model.hierarchy_ == Hierarchy.from_paths(
        [["a", "x"], ["b", "c"], ["b", "x"], ["d", "x"]]
    )
    assert model.predict_node_proba(np.eye(4)).shape == (4, model.hierarchy_.n_nodes)
    assert list(model.local_classifiers_) == [("a",), ("b",), ("b", "c"), ("b", "x"), ("d",)]
    assert model.classes_[0].tolist() == ["a", "b", "d"]
    counts = {p: c.class_count_.tolist() for p, c in model.local_classifiers_.items()}
    assert counts[("b",)] == [2, 2]  # from the first batch on
    assert counts[("a",)] == [1, 1]  # from its first row on
    assert counts[("b", "x")] == [1, 0]  # added with its sibling
    assert model.predict(np.eye(4)[2:]).tolist() == [["a", "x"], ["b", "c"]]


def test_a_leaf_that_becomes_an_inner_node_gets_a_gate_and_deeper_paths():
    X = 5 * np.eye(3)
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(X[:2], [["a"], ["b"]])
    assert model.predict(X).shape == (3, 1)
    assert list(model.stop_classifiers_) == []
    model.partial_fit(X[[0, 2, 2]], [["a"], ["a", "x"], ["a", "x"]])
    assert list(model.stop_classifiers_) == [("a",)]
    assert model.stop_classifiers_["a"].class_count_.tolist() == [2, 1]
    assert model.predict(X).tolist() == [["a", ""], ["b", ""], ["a", "x"]]
    proba = model.predict_node_proba(X)
    assert (proba[:, model.hierarchy_.find(("a", "x"))] < proba[:, 1]).all()


@pytest.mark.parametrize("estimator", [MultinomialNB(), Perceptron()])
def test_a_gate_that_has_seen_no_stop_goes_by_how_many_there_were_before_it_was_made(estimator):
    X = 5 * np.eye(3)
    model = LocalClassifierPerNode(estimator).partial_fit(X[[0, 0, 0, 1]], [["a"]] * 3 + [["b"]])
    model.partial_fit(X[2:], [["a", "x"]])
    if hasattr(model, "predict_proba"):
        proba = model.predict_node_proba(X)
        np.testing.assert_allclose(proba[:, 2] / proba[:, 1], 1 / 4)
    assert model.predict(X)[[0, 2]].tolist() == [["a", ""], ["a", ""]]
    model.partial_fit(X[[2] * 3], [["a", "x"]] * 3)
    assert model.predict(X)[[0, 2]].tolist() == [["a", "x"], ["a", "x"]]
    model.partial_fit(X[:1], [["a"]])  # now it knows
    assert model.predict(X)[[0, 2]].tolist() == [["a", ""], ["a", "x"]]


@pytest.mark.parametrize(
    "estimator", [MultinomialNB(), SGDClassifier(loss="log_loss"), Perceptron()]
)
def test_a_class_that_comes_alone_waits_for_rows_of_its_siblings(estimator):
    """Nothing has told it from the others before."""
    X = 5 * np.eye(4)
    model = LocalClassifierPerNode(estimator, random_state=0)
    for _ in range(3):
        model.partial_fit(X[:3], [["a"], ["b"], ["c"]])
    model.partial_fit(X[3:], [["d"]])
    assert model.predict(X)[:3].tolist() == [["a"], ["b"], ["c"]]
    assert model.predict(X)[3].tolist() != ["d"]
    for _ in range(2):
        model.partial_fit(X, [["a"], ["b"], ["c"], ["d"]])
    assert model.predict(X).tolist() == [["a"], ["b"], ["c"], ["d"]]


class Rejects(MultinomialNB):
    """Says no, whatever it has learned."""

    def predict_proba(self, X):
        return np.tile([1.0, 0.0], (len(X), 1))


def test_a_row_that_all_others_reject_goes_to_the_class_that_came_alone():
    model = LocalClassifierPerNode(Rejects()).partial_fit(np.eye(2), [["a"], ["b"]])
    model.partial_fit(np.eye(2), [["c"], ["d"]]).partial_fit(np.eye(2)[:1], [["d"]])
    model.partial_fit(np.eye(2)[:1], [["e"]])
    # All but 'e', which came alone, have seen both sides.
    assert model.predict(np.eye(2)).tolist() == [["e"], ["e"]]


def test_an_only_class_and_a_new_one_share_until_their_classifiers_know_both():
    X = 5 * np.eye(2)
    for estimator in (MultinomialNB(), Perceptron()):
        model = LocalClassifierPerNode(estimator).partial_fit(X[:1], ["a"])
        model.partial_fit(X[1:], ["b"])  # one has seen only negative rows, one only positive ones
        if hasattr(model, "predict_proba"):
            assert model.predict_proba(X).tolist() == [[0.5, 0.5], [0.5, 0.5]]
        assert model.predict(X).tolist() == ["a", "a"]
        model.partial_fit(X[:1], ["a"])
        assert model.predict(X).tolist() == ["a", "b"]


def test_with_leaf_only_a_leaf_that_becomes_an_inner_node_gets_no_gate():
    X = 5 * np.eye(3)
    model = LocalClassifierPerNode(MultinomialNB(), leaf_only=True)
    model.partial_fit(X[:2], [["a"], ["b"]])
    model.partial_fit(X[[0, 2]], [["a"], ["a", "x"]])
    assert list(model.stop_classifiers_) == []
    assert model.predict(X).tolist() == [["a", "x"], ["b", ""], ["a", "x"]]


@pytest.mark.filterwarnings("ignore:Rows end at inner nodes for the first time")
@FEWER
@given(streams())
def test_a_grown_tree_is_that_of_all_rows_and_every_classifier_has_its_own_rows(stream):
    """Every classifier has learned all rows that concern it since it was added."""
    _, y, _, ends = stream
    X = counts_for(y)
    model = in_batches(LocalClassifierPerNode(MultinomialNB()), X, y, ends)
    assert model.hierarchy_ == Hierarchy.from_paths(y)
    batches = [y[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    seen, expected, gates = set(), {}, {}
    stopped = set()
    for batch in batches:
        rows = [tuple(path) for path in batch]
        seen |= {row[:k] for row in rows for k in range(1, len(row) + 1)}
        stopped |= set(rows)
        for parent in {row[:k] for row in rows for k in range(len(row))}:
            children = [p for p in seen if len(p) == len(parent) + 1 and p[:-1] == parent]
            for child in children if len(children) > 1 else ():
                below = [r[: len(child)] for r in rows if len(r) >= len(child)]
                positive = below.count(child)
                negative = sum(r[:-1] == parent for r in below) - positive
                old = expected.get(child, (0, 0))
                expected[child] = (old[0] + negative, old[1] + positive)
        for node in {row[:k] for row in rows for k in range(1, len(row) + 1)}:
            if node in stopped and any(p[: len(node)] == node and p != node for p in seen):
                stops = rows.count(node)
                goes_on = sum(r[: len(node)] == node for r in rows) - stops
                old = gates.get(node, (0, 0))
                gates[node] = (old[0] + goes_on, old[1] + stops)
    found = {p: tuple(c.class_count_) for p, c in model.local_classifiers_.items()}
    assert found == expected
    assert {p: tuple(c.class_count_) for p, c in model.stop_classifiers_.items()} == gates
    proba, tree = model.predict_node_proba(X), model.hierarchy_
    for node in range(tree.n_nodes):
        total = proba[:, tree.children(node)].sum(axis=1)
        assert (total <= proba[:, node] + 1e-9).all()
    assert {tuple(p for p in row if p) for row in model.predict(X).tolist()} <= set(map(tuple, y))


def test_classes_given_later_are_taken_up_per_node_and_refused_elsewhere():
    y = [["a"], ["b"]]
    later = [["a"], ["b"], ["c", "d"]]
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(np.eye(2), y, classes=y)
    assert model.partial_fit(np.eye(2), y, classes=later).hierarchy_ == Hierarchy.from_paths(later)
    assert model.predict_node_proba(np.eye(2))[:, model.hierarchy_.find("d")].tolist() == [0, 0]
    for cls in FIXED:
        model = cls(MultinomialNB()).partial_fit(np.eye(2), y, classes=y)
        model.partial_fit(np.eye(2), y, classes=y)  # the same again is fine
        model.partial_fit(np.eye(2), y, classes=Hierarchy.from_paths(y))
        with pytest.raises(ValueError, match=r"Row 2 of classes, level 1: .* no class 'c'"):
            model.partial_fit(np.eye(2), y, classes=later)
        with pytest.raises(ValueError, match=r"no class 'c'"):
            model.partial_fit(np.eye(2), y, classes=Hierarchy.from_paths(later))


def test_single_labels_grow_in_a_hierarchy_of_one_level():
    X = 5 * np.eye(3)
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(X[:2], [1, 3])
    model.partial_fit(X[1:], [3, 2])
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.predict(X).tolist() == [1, 3, 2]
    assert model.predict(X).dtype.kind == "i"


def test_labels_grow_longer_and_levels_more():
    X = 5 * np.eye(3)
    model = LocalClassifierPerNode(MultinomialNB())
    model.partial_fit(X[:2], np.array([["a"], ["b"]]))
    assert model.predict(X).dtype == "<U1"
    model.partial_fit(X[1:], np.array([["b"], ["crocodile"]]))
    assert model.predict(X).tolist() == [["a"], ["b"], ["crocodile"]]
    assert model.predict(X).dtype == "<U9"
    model.partial_fit(X[2:], np.array([["crocodile", "nile"]], dtype=object))
    assert model.predict(X).shape == (3, 2)
    assert model.predict(X).dtype == object
    assert model.missing_label_ == ""


def test_a_new_class_that_looks_like_its_sibling_is_pointed_out():
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(np.eye(3)[:2], [["Cat"], ["Dog"]])
    with pytest.warns(UserWarning, match=r"'Cat' and 'cat '") as record:
        model.partial_fit(np.eye(3)[2:], [["cat "]])
    assert record[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(np.eye(3)[2:], [["Emu"]])


# -- the policies that read "most specific class" ----------------------------------------------


@pytest.mark.parametrize("policy", ["exclusive", "less_exclusive", "exclusive_siblings"])
def test_a_policy_is_read_once_and_a_surprise_is_pointed_out_once(policy):
    y = [["a", "x"], ["a", "y"], ["b"]]
    model = LocalClassifierPerNode(MultinomialNB(), binary_policy=policy)
    with pytest.warns(UserWarning, match="No training row ends at an inner node"):
        model.partial_fit(np.eye(3), y, classes=Hierarchy.from_paths(y))
    with pytest.warns(UserWarning, match="inner nodes for the first time") as record:
        model.partial_fit(np.eye(3)[:1], [["a"]])
    assert record[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(np.eye(3)[:1], [["a"]])
    assert model.local_classifiers_["a"].class_count_.tolist() == [1, 4]


# -- fit and partial_fit -----------------------------------------------------------------------


def test_fit_after_partial_fit_starts_anew(estimator_class, animals):
    X, y = abs(animals[0]), animals[1]
    model = estimator_class(MultinomialNB()).partial_fit(X[:, :3], np.full(36, "other"))
    model.fit(X, y)
    assert_same_model(model, estimator_class(MultinomialNB()).fit(X, y), X)
    assert "_stream" not in vars(model)
    assert model.n_features_in_ == 6


def test_partial_fit_after_fit_goes_on(estimator_class, animals):
    X, y = abs(animals[0]), animals[1]
    part = np.arange(36) % 2 == 0
    model = estimator_class(MultinomialNB()).fit(X[part], y[part]).partial_fit(X[~part], y[~part])
    assert_same_model(model, estimator_class(MultinomialNB()).fit(X, y), X)


@pytest.mark.parametrize("cls", FIXED)
def test_after_fit_a_class_without_rows_there_is_refused(cls):
    tree = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b"], ["c"]])
    model = cls(MultinomialNB(), hierarchy=tree)
    model.fit(np.eye(4)[:3], [["a", "x"], ["a", "y"], ["b", ""]])
    with pytest.raises(ValueError, match=r"the classifiers were not fitted for the class c\."):
        model.partial_fit(np.eye(4)[2:], [["b"], ["c"]])
    with pytest.raises(ValueError, match=r"Row 0 of y ends at a, where no path has ended before"):
        model.partial_fit(np.eye(4)[:1], [["a"]])
    model.set_params(leaf_only=True).partial_fit(np.eye(4)[:1], [["a"]])


def test_after_fit_the_model_per_node_takes_up_what_is_new():
    tree = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b"], ["c"]])
    model = LocalClassifierPerNode(MultinomialNB(), hierarchy=tree)
    model.fit(np.eye(4)[:3], [["a", "x"], ["a", "y"], ["b", ""]])
    model.partial_fit(np.eye(4)[[2, 3, 3]], [["b"], ["c"], ["a"]])
    assert list(model.local_classifiers_)[-1] == ("c",)
    assert list(model.stop_classifiers_) == [("a",)]
    model = LocalClassifierPerNode(MultinomialNB()).fit(np.eye(3)[:2], [["a"], ["b"]])
    model.partial_fit(np.eye(3)[2:], [["a", "x"]])
    assert model.hierarchy_.n_nodes == 4


# -- bad input ---------------------------------------------------------------------------------


def state(model):
    return pickle.dumps({k: v for k, v in vars(model).items() if k != "local_classifier"})


def test_an_unknown_class_is_named_with_the_remedies_and_changes_nothing(animals):
    X, y = abs(animals[0]), animals[1]
    for cls in FIXED:
        model = cls(MultinomialNB()).partial_fit(X, y)
        before = state(model)
        message = (
            r"Row 1 of y, level 2: The hierarchy has no class 'Birb' below Animal\. The nearest is "
            rf"'Bird'\. {cls.__name__} needs all classes in the first batch.*classes=.*"
            r"hierarchy=.*LocalClassifierPerNode"
        )
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X[:2], [["Rock"], ["Animal", "Birb"]])
        assert state(model) == before
    model = LocalClassifierPerNode(MultinomialNB(), hierarchy=Hierarchy.from_paths(y))
    model.partial_fit(X, y)
    with pytest.raises(
        ValueError, match=r"no class 'Sky'\. With hierarchy=, the classes are fixed"
    ):
        model.partial_fit(X[:1], [["Sky"]])


def test_a_hierarchy_of_labels_does_not_grow():
    edges = Hierarchy.from_edges([("a", "x"), ("a", "y")])
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(np.eye(2), ["x", "y"], edges)
    assert model.predict(np.eye(2)).tolist() == ["x", "y"]
    with pytest.raises(ValueError, match=r"'z'.*identified by label cannot grow"):
        model.partial_fit(np.eye(2)[:1], ["z"])


def test_a_single_label_does_not_grow_a_deeper_tree():
    tree = Hierarchy.from_paths([["a", "x"], ["b", "y"]])
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(np.eye(2), ["x", "y"], tree)
    with pytest.raises(ValueError, match=r"'z'.*requires its whole path"):
        model.partial_fit(np.eye(2)[:1], ["z"])


def test_a_graph_is_given_as_hierarchy_and_not_as_classes(estimator_class):
    graph = Hierarchy.from_edges([("a", "c"), ("b", "c")])
    model = estimator_class(MultinomialNB())
    with pytest.raises(ValueError, match=r"a DAG: 'c' has several parents. Pass it as a parameter"):
        model.partial_fit(np.eye(1), ["c"], classes=graph)
    model = estimator_class(MultinomialNB(), hierarchy=graph).partial_fit(np.eye(1), ["c"])
    assert model.predict(np.eye(1)).tolist() == ["c"]


def bad_batches():
    X = np.eye(3)
    y = [["a", "x"], ["a", "y"], ["b", "x"]]
    return {
        "no rows": (X[:0], [], r"0 sample"),
        "no labels": (X, [], r"y is empty"),
        "fewer labels": (X, y[:2], r"X has 3 rows but y has 2"),
        "other features": (X[:, :2], y, r"X has 2 features, but .* is expecting 3 features"),
        "single labels": (X, ["a", "a", "b"], r"single labels, but .* before this batch had paths"),
        "a gap": (X, [["a", "x"], ["", "x"], ["b", "x"]], r"Row 1 of y .* none at level 1"),
        "a row without label": (X, [["a"], [""], ["b"]], r"Row 1 of y has no label at all"),
        "NaN": (np.full((3, 3), np.nan), y, r"NaN"),
        "weights": (X, y, r"ample_weight|Sample weights"),
        "numbers as labels": (X, [[1], [2], [3]], r"Level 1 of y holds int labels \(1\).*str"),
    }


@pytest.mark.parametrize("name", bad_batches())
def test_a_bad_batch_is_refused_and_leaves_the_model_as_it_was(estimator_class, name):
    X, y, message = bad_batches()[name]
    if name == "numbers as labels" and estimator_class is not LocalClassifierPerNode:
        message = "no class 1"
    model = estimator_class(MultinomialNB())
    good = bad_batches()["other features"][1]
    model.partial_fit(np.eye(3), good, classes=good)
    before, weight = state(model), np.ones(2) if name == "weights" else None
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y, sample_weight=weight)
    assert state(model) == before
    model.partial_fit(np.eye(3), good)


def test_a_bad_first_batch_leaves_nothing_behind(estimator_class):
    model = estimator_class(MultinomialNB())
    before = dict(vars(model))
    with pytest.raises(ValueError, match="Row 0 of y has no label"):
        model.partial_fit(np.eye(2), [[""], ["a"]])
    with pytest.raises(ValueError, match="Negative values in data"):
        model.partial_fit(-np.eye(2), ["a", "b"])
    assert vars(model) == before


class FailsOnTwelve(MultinomialNB):
    """Learns, and then fails where a feature is 12; at 13 somebody presses Ctrl-C."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        super().partial_fit(X, y, classes, sample_weight)
        if (X == 12).any():
            raise RuntimeError("twelve")
        if (X == 13).any():
            raise KeyboardInterrupt
        return self


def test_a_failure_inside_a_local_classifier_undoes_the_whole_batch_and_names_it(
    estimator_class,
):
    y = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]]
    model = estimator_class(FailsOnTwelve()).partial_fit(np.eye(4), y, classes=y)
    before = state(model)
    bad = np.eye(4)
    bad[3, 3] = 12
    with pytest.raises(RuntimeError, match="twelve") as error:
        model.partial_fit(bad, y)
    assert "while fitting the classifier of " in error.value.__notes__[0]
    assert state(model) == before
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(bad + (bad == 12), y)
    assert state(model) == before


@pytest.mark.parametrize(
    "estimator",
    [
        MultinomialNB(), GaussianNB(), SGDClassifier(loss="log_loss", random_state=0),
        MLPClassifier((20,), learning_rate_init=0.05, random_state=0),
    ],
    ids=lambda c: type(c).__name__,
)  # fmt: skip
def test_batches_with_one_class_and_with_one_row_are_fine(estimator_class, estimator, animals):
    X, y = abs(animals[0]), animals[1]
    model = estimator_class(estimator, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=LACK)
        for start in range(0, 36, 6):  # a class each
            model.partial_fit(X[start : start + 6], y[start : start + 6], classes=y)
        assert model.predict(X[:1]).shape == (1, 3)
        for i in np.random.default_rng(0).permutation(36).tolist():
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        proba = model.predict_node_proba(X)
    assert model.score(X, y) > (0.8 if estimator.__class__ is not MLPClassifier else 0.3)
    assert np.isfinite(proba).all()


def test_gaussian_bayes_without_two_rows_of_a_class_is_told_to_learn_more(estimator_class):
    """One row has no variance, so it can only say "not a number": X is not to blame."""
    X, y = [[1.0, 2.0], [3.0, 4.0]], [["a"], ["b"]]
    model = estimator_class(GaussianNB()).partial_fit(X[:1], y[:1], classes=[*y, ["a", "x"]])
    assert model.predict(X).tolist() == [["a", ""], ["a", ""]]
    model.partial_fit(X[1:], y[1:])
    part = r"^GaussianNB returned a probability of NaN, because a class had too few rows"
    with pytest.raises(ValueError, match=part):
        model.predict(X)
    more = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat(X, 20, axis=0)
    model = estimator_class(GaussianNB())
    model.partial_fit(more, np.repeat(y, 20, axis=0), classes=[*y, ["a", "x"]])
    assert model.predict(X).tolist() == [["a", ""], ["b", ""]]


def test_one_class_alone_needs_no_classifier(estimator_class):
    model = estimator_class(MultinomialNB()).partial_fit(np.eye(2), ["a", "a"])
    assert len(model.local_classifiers_) == 0
    assert model.predict(np.eye(2)).tolist() == ["a", "a"]
    assert model.predict_proba(np.eye(2)).tolist() == [[1], [1]]


# -- where it is offered -----------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [None, LogisticRegression(), MLPClassifier(solver="lbfgs")])
def test_without_partial_fit_of_the_local_classifier_there_is_none_and_the_error_says_what_to_use(
    estimator_class, estimator
):
    model = estimator_class(estimator)
    assert not hasattr(model, "partial_fit")
    name = type(estimator).__name__ if estimator is not None else "LogisticRegression"
    message = rf"its local classifier, {name}, has none\. .*SGDClassifier.*MultinomialNB.*fit"
    with pytest.raises(AttributeError, match=message):
        _ = model.partial_fit
    assert hasattr(model.set_params(local_classifier=MultinomialNB()), "partial_fit")


def test_the_method_of_the_class_has_its_signature_and_docstring(estimator_class):
    assert estimator_class.partial_fit.__doc__.startswith("Update the model with one batch of rows")
    model = estimator_class(MultinomialNB())
    estimator_class.partial_fit(model, np.eye(2), ["a", "b"])
    assert model.predict(np.eye(2)).tolist() == ["a", "b"]


def test_wrappers_have_no_partial_fit_but_a_frozen_model_can_be_calibrated(animals):
    X, y = abs(animals[0]), animals[1]
    model = LocalClassifierPerParentNode(MultinomialNB())
    assert not hasattr(EnsembleClassifier([("a", model)]), "partial_fit")
    assert not hasattr(ConformalClassifier(model), "partial_fit")
    model.partial_fit(X[::2], y[::2], classes=y)
    safe = ConformalClassifier(FrozenEstimator(model), alpha=0.1, random_state=0)
    assert safe.fit(X[1::2], y[1::2]).predict(X).shape == y.shape


def test_a_callable_is_called_when_a_classifier_is_made(estimator_class):
    y = [["a", "x"], ["a", "y"], ["b", "x"]]
    keys = []

    def choose(key):
        keys.append(key)
        return MultinomialNB()

    model = estimator_class(choose)
    assert hasattr(model, "partial_fit")
    model.partial_fit(np.eye(3), y, classes=y).partial_fit(np.eye(3), y)
    assert len(keys) == len(set(keys)) + len(getattr(model, "stop_classifiers_", ()))
    same = estimator_class(MultinomialNB()).partial_fit(np.eye(3), y, classes=y)
    same.partial_fit(np.eye(3), y)
    assert_same_model(model, same, np.eye(3))


def test_a_callable_that_makes_a_classifier_without_partial_fit_is_refused(estimator_class):
    model = estimator_class(lambda key: LogisticRegression())
    message = r"LogisticRegression, has none\. .*SGDClassifier.* This is the classifier of "
    with pytest.raises(ValueError, match=message):
        model.partial_fit(np.eye(2), ["a", "b"])


def test_a_local_classifier_with_a_decision_function_only_walks_down_the_tree(
    estimator_class, animals
):
    X, y = animals
    model = estimator_class(Perceptron(random_state=0))
    order = np.random.default_rng(0).permutation(36)
    for _ in range(5):
        for rows in np.split(order, 6):
            model.partial_fit(X[rows], y[rows], classes=y)
    assert model.score(X, y) > 0.95
    assert not hasattr(model, "predict_proba")


class OnlyPredictsBatches:
    """A classifier with nothing but predict: the mean of a class that is nearest."""

    def __init__(self):
        self.sums = None

    def fit(self, X, y):
        raise AssertionError("not used")

    def partial_fit(self, X, y, classes=None):
        if self.sums is None:
            self.sums, self.n = np.zeros((len(classes), X.shape[1])), np.zeros(len(classes))
        np.add.at(self.sums, y, X)
        np.add.at(self.n, y, 1)
        return self

    def predict(self, X):
        means = self.sums / np.maximum(self.n, 1)[:, None]
        return ((X[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)


@pytest.mark.parametrize("cls", [LocalClassifierPerParentNode, FlatClassifier])
def test_an_object_that_has_only_partial_fit_and_predict_will_do(cls, animals):
    X, y = animals
    model = cls(OnlyPredictsBatches())
    for rows in np.split(np.random.default_rng(0).permutation(36), 3):
        model.partial_fit(X[rows], y[rows], classes=y)
    assert model.score(X, y) == 1.0


def test_with_leaf_only_a_flat_model_waits_for_what_is_below():
    """Rows that end at an inner node are left out, which it then never predicts."""
    y = [["a"], ["b", "x"], ["b", "y"]]
    tree = Hierarchy.from_paths([["a", "z"], *y])
    for estimator in (MultinomialNB(), Perceptron()):
        X = 5 * np.eye(3)
        model = FlatClassifier(estimator, leaf_only=True).partial_fit(X, y, classes=tree)
        assert set(model.predict(X)[:, 0]) == {"b"}
        model.partial_fit(X[:1], [["a", "z"]]).partial_fit(X, [["a", "z"], *y[1:]])
        assert model.predict(X).tolist() == [["a", "z"], *y[1:]]


# -- parameters --------------------------------------------------------------------------------


def test_calibration_and_checkpoints_are_refused(estimator_class, animals, tmp_path):
    X, y = abs(animals[0]), animals[1]
    model = estimator_class(MultinomialNB(), calibration="temperature")
    with pytest.raises(ValueError, match=r"calibration='temperature' needs all rows at once"):
        model.partial_fit(X, y)
    model.fit(X, y).set_params(calibration=None)
    with pytest.raises(ValueError, match=r"was calibrated by fit"):
        model.partial_fit(X, y)
    model = estimator_class(MultinomialNB(), checkpoint_dir=tmp_path)
    with pytest.raises(ValueError, match=r"checkpoint_dir is for fit only.* pickle the model"):
        model.partial_fit(X, y)


def test_expected_f1_needs_a_fit_first(estimator_class, animals):
    X, y = abs(animals[0]), animals[1]
    model = estimator_class(MultinomialNB(), decoding="expected_f1")
    with pytest.raises(ValueError, match=r"decoding='expected_f1' .* Call fit on some rows"):
        model.partial_fit(X, y)
    reached = model.fit(X, y).expected_f1_
    assert model.partial_fit(X, y).expected_f1_ == reached
    assert model.predict(X).shape == (36, 3)
    given = estimator_class(MultinomialNB(), decoding="expected_f1", expected_f1=reached)
    np.testing.assert_array_equal(given.partial_fit(X, y).predict(X), given.fit(X, y).predict(X))


def test_what_shapes_the_problems_must_not_change(animals):
    X, y = abs(animals[0]), animals[1]
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(X, y)
    for changed in ({"leaf_only": True}, {"binary_policy": "inclusive"}):
        with pytest.raises(
            ValueError, match=r"leaf_only, binary_policy must not change after the first batch"
        ):
            pickle.loads(pickle.dumps(model)).set_params(**changed).partial_fit(X, y)
    model.set_params(min_confidence=0.5, decoding="best_path", n_jobs=2).partial_fit(X, y)


def test_a_restricted_model_does_not_learn_and_is_not_changed_by_learning(animals):
    X, y = abs(animals[0]), animals[1]
    model = LocalClassifierPerParentNode(MultinomialNB()).partial_fit(X[::2], y[::2], classes=y)
    animal = model.restricted_to(["Animal"])
    before = animal.predict_node_proba(X)
    with pytest.raises(ValueError, match="cannot be updated"):
        animal.partial_fit(X, y)
    model.partial_fit(X, y)
    np.testing.assert_array_equal(animal.predict_node_proba(X), before)
    assert abs(model.restricted_to(["Animal"]).predict_node_proba(X) - before).max() > 1e-6


def test_other_jobs_and_a_progress_bar_change_nothing(estimator_class, animals, capsys):
    X, y = np.tile(abs(animals[0]), (40, 1)), np.tile(animals[1], (40, 1))
    expected = estimator_class(MultinomialNB()).partial_fit(X, y).partial_fit(X, y)
    assert capsys.readouterr().err == ""
    with joblib.parallel_config(backend="threading"):
        model = estimator_class(MultinomialNB(), n_jobs=2, verbose=1)
        model.partial_fit(X, y).partial_fit(X, y)
    assert_same_model(model, expected, X[:36])
    lines = capsys.readouterr().err.splitlines()
    n = len(model.local_classifiers_) + len(getattr(model, "stop_classifiers_", ()))
    assert [line for line in lines if f"{n}/{n}, done in" in line] == lines
    assert lines[0].startswith("Learning a batch [####")
    assert len(lines) == 2


def test_random_state_makes_the_same_model_whatever_the_batches_bring(animals):
    X, y = animals
    estimator = SGDClassifier(loss="log_loss")
    a, b = (LocalClassifierPerNode(estimator, random_state=3) for _ in range(2))
    a.partial_fit(X, y)
    b.partial_fit(X, y)
    np.testing.assert_array_equal(a.predict_node_proba(X), b.predict_node_proba(X))
    seeds = [c.random_state for c in a.local_classifiers_.values()]
    assert len(set(seeds)) == len(seeds)


def test_missing_labels_are_spelled_as_in_the_first_batch_or_the_classes():
    y = [["a", None], ["b", "x"]]
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(np.eye(2), [["b", "x"]] * 2, y)
    assert model.missing_label_ is None
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(np.eye(2), y)
    assert model.missing_label_ is None
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(
        np.eye(2), [["a", ""], ["b", "x"]], y
    )
    assert model.missing_label_ == ""


# -- sample weights and routing ----------------------------------------------------------------


def test_a_local_classifier_whose_partial_fit_takes_no_weights_is_refused_by_name(estimator_class):
    class Plain(MultinomialNB):
        def partial_fit(self, X, y, classes=None):
            return super().partial_fit(X, y, classes)

    model = estimator_class(Plain())
    with pytest.raises(ValueError, match=r"sample_weight was given but Plain.partial_fit does not"):
        model.partial_fit(np.eye(2), ["a", "b"], sample_weight=[1, 2])


def test_routing_hands_weights_to_a_local_classifier_that_requested_them(estimator_class, animals):
    X, y = abs(animals[0]), animals[1]
    weights = np.linspace(0.1, 5, 36)
    plain = estimator_class(MultinomialNB()).partial_fit(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = MultinomialNB().set_partial_fit_request(sample_weight=True)
        routed = estimator_class(estimator).partial_fit(X, y, sample_weight=weights)
        assert_same_model(routed, plain, X)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            estimator_class(MultinomialNB()).partial_fit(X, y, sample_weight=weights)
        chosen = estimator_class(lambda key: estimator).partial_fit(X, y, sample_weight=weights)
        assert_same_model(chosen, plain, X)
        request = estimator_class(estimator).set_partial_fit_request(classes=True)
        assert request.get_metadata_routing()._self_request.partial_fit.requests["classes"]


# -- scikit-learn's checks ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "check",
    [
        check_estimators_partial_fit_n_features,
        check_n_features_in_after_fitting,
        check_dataframe_column_names_consistency,
    ],
    ids=lambda check: check.__name__,
)
def test_passes_the_checks_of_scikit_learn_that_call_partial_fit(estimator_class, check):
    estimator = SGDClassifier(loss="log_loss", random_state=0)
    check(estimator_class.__name__, estimator_class(estimator))


# -- a killed run ------------------------------------------------------------------------------

RUN = """
import os, pickle, sys, time
import numpy as np
from sklearn.linear_model import SGDClassifier
from hiclass import Hierarchy, LocalClassifierPerNode

file, pause = sys.argv[1], float(sys.argv[2])
paths = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"], ["c"]]


def batch(number):
    rng = np.random.default_rng(number)
    which = rng.integers(0, min(len(paths), 3 + number // 4), size=30)
    return rng.normal(size=(30, 6)) + 3 * np.eye(6)[which], [paths[i] for i in which]


if os.path.exists(file):
    with open(file, "rb") as stored:
        model, done = pickle.load(stored)
else:
    model, done = LocalClassifierPerNode(SGDClassifier(loss="log_loss"), random_state=0), 0
for number in range(done, 12):
    model.partial_fit(*batch(number))
    with open(file + ".part", "wb") as stored:
        pickle.dump((model, number + 1), stored)
    os.replace(file + ".part", file)  # whole, or the one before
    print(number, flush=True)
    time.sleep(pause)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_run_continues_from_the_last_pickle_and_ends_with_the_same_model(tmp_path):
    def command(name, pause):
        return [sys.executable, "-W", "error", "-c", RUN, str(tmp_path / name), str(pause)]

    subprocess.run(command("whole", 0), check=True, stdout=subprocess.DEVNULL)
    with subprocess.Popen(command("killed", 60), stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "0\n"
        os.kill(run.pid, signal.SIGKILL)
    assert run.returncode == -signal.SIGKILL
    with subprocess.Popen(command("killed", 0.05), stdout=subprocess.PIPE, text=True) as run:
        lines = [run.stdout.readline() for _ in range(4)]
        os.kill(run.pid, signal.SIGKILL)  # anywhere in the next batch or its pickle
    assert lines[0] == "1\n"
    resumed = subprocess.run(command("killed", 0), check=True, capture_output=True, text=True)
    assert int(resumed.stdout.split()[0]) > 3
    models = []
    for name in ("whole", "killed"):
        with open(tmp_path / name, "rb") as stored:
            models.append(pickle.load(stored)[0])
    X = np.random.default_rng(99).normal(size=(50, 6))
    a, b = models
    assert a.hierarchy_ == b.hierarchy_
    np.testing.assert_array_equal(a.predict_node_proba(X), b.predict_node_proba(X))
    for path, classifier in a.local_classifiers_.items():
        np.testing.assert_array_equal(classifier.coef_, b.local_classifiers_[path].coef_)
        assert classifier.t_ == b.local_classifiers_[path].t_


def test_thresholds_are_for_several_labels_per_row():
    model = LocalClassifierPerNode(MultinomialNB(), threshold=0.3)
    with pytest.raises(ValueError, match="threshold"):
        model.partial_fit([[1.0]], [["a"]])


@pytest.mark.parametrize("kind", [LocalClassifierPerParentNode, LocalClassifierPerLevel])
def test_local_classes_of_a_stream_are_those_that_its_classifiers_know(kind):
    model = kind(MultinomialNB()).partial_fit(COUNTS, COUNTED, classes=[*COUNTED, ["A", "a0"]])
    for key, classes in model.local_classes_.items():
        assert len(classes) == len(model.local_classifiers_[key].classes_)
    found = explain(model, COUNTS[:1]).to_dict()
    assert "inf" not in repr(found)
