"""Laws that hold for every hierarchy, every kind of label and all five estimators."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from estimator_classes import ESTIMATOR_CLASSES
from fakes import Centroids, Nearest, Smooth
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from law_helpers import (
    PATHS,
    SEEDS,
    SHALLOW,
    assert_coherent,
    is_missing,
    nodes_where_rows_end,
    predicted_nodes,
    rows_for,
    typed,
)
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from strategies import pad, paths

from hiclass import (
    FlatClassifier,
    GlobalClassifier,
    HierarchicalClassifier,
    Hierarchy,
    LocalClassifierPerNode,
)

EXAMPLES = settings(max_examples=25)


def global_classifier(estimator, **params):
    """A global model with a regressor instead of a classifier that takes one output."""
    regressors = {
        Centroids: Smooth,
        GaussianNB: Ridge,  # whose predictions contradict each other once they are clipped at 0
        Nearest: lambda: KNeighborsRegressor(1),
        DummyClassifier: DummyRegressor,
        AnyRows: AnyColumns,
    }
    return GlobalClassifier(regressors[type(estimator)](), **params)


@pytest.fixture(
    scope="session",
    params=[*ESTIMATOR_CLASSES, global_classifier],
    ids=lambda c: c.__name__,
)
def estimator_class(request):
    """Each of the five estimators."""
    return request.param


# -- predictions -------------------------------------------------------------------------------


@EXAMPLES
@given(y=PATHS, seed=SEEDS, leaf_only=st.booleans())
def test_every_prediction_is_a_path_of_the_hierarchy_that_ends_at_an_allowed_end(
    estimator_class, y, seed, leaf_only
):
    X = rows_for(y, seed)
    model = estimator_class(Centroids(), leaf_only=leaf_only).fit(X, y)
    ends = nodes_where_rows_end(model, y, leaf_only)
    for path in predicted_nodes(model, rows_for(y, seed + 1)):
        assert path[-1] in ends
        for parent, child in zip([0, *path], path, strict=False):
            assert child in model.hierarchy_.children(parent)


@EXAMPLES
@given(y=PATHS, seed=SEEDS)
def test_predicted_labels_are_labels_of_y_with_their_types(estimator_class, y, seed):
    X = rows_for(y, seed)
    model = estimator_class(GaussianNB()).fit(X, y)
    predicted = model.predict(rows_for(y, seed + 1))
    assert predicted.shape == (len(y), max(map(len, y)))
    assert {typed(path) for path in predicted.tolist()} <= {typed(path) for path in y}
    assert predicted.dtype == model.predict(X[:1]).dtype


@EXAMPLES
@given(y=paths(min_rows=1, max_rows=20, depth=1, labels="any"), seed=SEEDS)
def test_single_labels_come_back_with_their_types(estimator_class, y, seed):
    single = [path[0] for path in y]
    model = estimator_class(Centroids()).fit(rows_for(y, seed), single)
    predicted = model.predict(rows_for(y, seed + 1))
    assert predicted.shape == (len(y),)
    known = {(type(label), label) for label in single}
    assert {(type(label), label) for label in predicted.tolist()} <= known


@EXAMPLES
@given(y=PATHS)
def test_labels_survive_a_model_that_repeats_them(estimator_class, y):
    """Rows are far apart, equal paths at the same place: every path must come back."""
    order = {path: i for i, path in enumerate(sorted({typed(p) for p in y}, key=repr))}
    X = 100.0 * np.eye(len(order))[[order[typed(path)] for path in y]]
    predicted = estimator_class(Nearest()).fit(X, y).predict(X)
    assert [typed(path) for path in predicted.tolist()] == [typed(path) for path in y]


# -- probabilities -----------------------------------------------------------------------------


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS, leaf_only=st.booleans())
@pytest.mark.parametrize("estimator", [Centroids(), GaussianNB()], ids=["Centroids", "GaussianNB"])
def test_children_and_stop_sum_to_their_parent_and_final_classes_to_one(
    estimator_class, estimator, y, seed, leaf_only
):
    X = rows_for(y, seed)
    model = estimator_class(estimator, leaf_only=leaf_only).fit(X, y)
    assert_coherent(model, rows_for(y, seed + 1), nodes_where_rows_end(model, y, leaf_only))


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS)
@pytest.mark.parametrize(
    "policy",
    [
        "exclusive",
        "less_exclusive",
        "less_inclusive",
        "inclusive",
        "siblings",
        "exclusive_siblings",
    ],
)
def test_every_policy_gives_coherent_probabilities_or_says_what_is_missing(policy, y, seed):
    X = rows_for(y, seed)
    model = LocalClassifierPerNode(Centroids(), binary_policy=policy)
    refusal = None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No training row ends at an inner node", UserWarning)
        try:
            model.fit(X, y)
        except ValueError as error:
            refusal = str(error)
    if refusal is not None:
        assert policy not in ("siblings", "inclusive", "less_inclusive")
        assert "Use binary_policy='siblings'" in refusal
        return
    assert_coherent(model, X, nodes_where_rows_end(model, y))


@EXAMPLES
@given(y=PATHS)
def test_with_the_shares_of_the_classes_as_predictions_all_strategies_give_the_shares(
    estimator_class, y
):
    """Worked out without the library: how many rows pass through every node."""
    model = estimator_class(DummyClassifier(strategy="prior")).fit(np.zeros((len(y), 1)), y)
    proba = model.predict_node_proba(np.zeros((1, 1)))[0]
    for node in range(model.hierarchy_.n_nodes):
        path = typed(model.hierarchy_.path(node))
        share = np.mean([typed(row)[: len(path)] == path for row in y])
        assert proba[node] == pytest.approx(share, abs=1e-9)


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS)
def test_labels_per_level_sum_the_nodes_and_each_level_to_one(estimator_class, y, seed):
    X = rows_for(y, seed)
    model = estimator_class(Centroids()).fit(X, y)
    proba, levels = model.predict_node_proba(X), model.predict_proba(X)
    assert len(levels) == len(model.classes_) == max(map(len, y))
    for level, (classes, here) in enumerate(zip(model.classes_, levels, strict=True), start=1):
        np.testing.assert_allclose(here.sum(axis=1), 1, atol=1e-9)
        for label, column in zip(classes.tolist(), here.T, strict=True):
            if not is_missing(label):
                nodes = np.flatnonzero(
                    (model.hierarchy_.levels == level) & (model.hierarchy_.labels == label)
                )
                np.testing.assert_allclose(column, proba[:, nodes].sum(axis=1), atol=1e-9)


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS, leaf_only=st.booleans())
def test_every_step_of_a_prediction_is_the_most_probable_one(estimator_class, y, seed, leaf_only):
    """Top-down: the best child, or stop. Flat and global: the best final class."""
    X = rows_for(y, seed)
    model = estimator_class(Centroids(), leaf_only=leaf_only).fit(X, y)
    proba, children = model.predict_node_proba(X), model.hierarchy_.children
    stop = np.column_stack(
        [proba[:, v] - proba[:, children(v)].sum(axis=1) for v in range(model.hierarchy_.n_nodes)]
    )
    for i, path in enumerate(predicted_nodes(model, X)):
        if estimator_class in (FlatClassifier, global_classifier):
            assert stop[i, path[-1]] >= stop[i].max() - 1e-12
            continue
        for parent, child in zip([0, *path], path, strict=False):
            assert proba[i, child] >= proba[i, children(parent)].max() - 1e-12
            assert proba[i, child] >= stop[i, parent] - 1e-12
        below = children(path[-1])
        if len(below) and not leaf_only:
            assert stop[i, path[-1]] >= proba[i, below].max() - 1e-12


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS, min_confidence=st.floats(0, 1))
def test_confidences_are_node_probabilities_and_a_truncated_path_is_the_sure_part_of_the_whole(
    estimator_class, y, seed, min_confidence
):
    X = rows_for(y, seed)
    model = estimator_class(Centroids()).fit(X, y)
    proba, whole, confidence = (
        model.predict_node_proba(X), predicted_nodes(model, X), model.predict_confidence(X)
    )  # fmt: skip
    for i, path in enumerate(whole):
        np.testing.assert_allclose(confidence[i, : len(path)], proba[i, path], atol=1e-12)
        assert np.isnan(confidence[i, len(path) :]).all()
        assert (np.diff(confidence[i, : len(path)]) <= 1e-12).all()
    model.set_params(min_confidence=min_confidence)
    truncated, sure = predicted_nodes(model, X), model.predict_confidence(X)
    for i, path in enumerate(whole):
        length = int((confidence[i, : len(path)] >= min_confidence).sum())
        assert truncated[i] == path[:length]
        np.testing.assert_array_equal(sure[i, :length], confidence[i, :length])
        assert np.isnan(sure[i, length:]).all()


# -- independence ------------------------------------------------------------------------------


def predictions(model, X):
    return {
        "paths": model.predict(X),
        "nodes": model.predict_node_proba(X),
        "confidence": model.predict_confidence(X),
        **{f"level {i}": p for i, p in enumerate(model.predict_proba(X), start=1)},
    }


def assert_same_predictions(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if name == "paths":
            assert [typed(p) for p in value.tolist()] == [typed(p) for p in other[name].tolist()]
        else:
            np.testing.assert_allclose(value, other[name], atol=1e-12, err_msg=name)


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS)
@pytest.mark.parametrize("estimator", [Centroids(), GaussianNB()], ids=["Centroids", "GaussianNB"])
def test_a_row_gets_the_same_prediction_alone_and_among_others(estimator_class, estimator, y, seed):
    X = rows_for(y, seed)
    model = estimator_class(estimator).fit(X, y)
    whole = predictions(model, X)
    for i in range(0, len(X), 3):
        assert_same_predictions(predictions(model, X[[i]]), {k: v[[i]] for k, v in whole.items()})


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS)
def test_the_order_of_the_rows_to_predict_does_not_matter(estimator_class, y, seed):
    X = rows_for(y, seed)
    model = estimator_class(GaussianNB()).fit(X, y)
    order = np.random.default_rng(seed).permutation(len(X))
    expected = {k: v[order] for k, v in predictions(model, X).items()}
    assert_same_predictions(predictions(model, X[order]), expected)


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS)
def test_the_order_of_the_training_rows_does_not_matter(estimator_class, y, seed):
    X = rows_for(y, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    one = estimator_class(Centroids()).fit(X, y)
    other = estimator_class(Centroids()).fit(X[order], [y[i] for i in order])
    assert one.hierarchy_ == other.hierarchy_
    np.testing.assert_allclose(one.predict_node_proba(X), other.predict_node_proba(X), atol=1e-9)


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS)
def test_the_container_of_the_labels_does_not_matter(estimator_class, y, seed):
    X = rows_for(y, seed)
    expected = predictions(estimator_class(Centroids()).fit(X, y), X)
    padded = np.array(pad(y, ""))
    for same in (padded, padded.astype(object), pandas.DataFrame(pad(y, None)), pad(y, None)):
        assert_same_predictions(predictions(estimator_class(Centroids()).fit(X, same), X), expected)


@EXAMPLES
@given(y=paths(min_rows=2, max_rows=15, depth=(1, 4), labels=("letters", "int"), homonyms=False),
       seed=SEEDS)  # fmt: skip
def test_a_hierarchy_that_is_given_equals_one_that_is_read_from_paths(estimator_class, y, seed):
    X = rows_for(y, seed)
    edges = {pair for path in y for pair in zip([None, *path], path, strict=False)}
    tree = Hierarchy.from_edges(sorted(edges, key=repr))
    read = estimator_class(Centroids()).fit(X, y)
    given_ = estimator_class(Centroids(), hierarchy=tree).fit(X, y)
    single = estimator_class(Centroids(), hierarchy=tree).fit(X, [path[-1] for path in y])
    expected = predictions(read, X)
    assert_same_predictions(predictions(given_, X), expected)
    np.testing.assert_array_equal(single.predict_node_proba(X), expected["nodes"])
    assert single.predict(X).tolist() == [
        [label for label in path if not is_missing(label)][-1]
        for path in expected["paths"].tolist()
    ]


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS)
def test_leaf_only_changes_nothing_where_all_rows_end_at_leaves(estimator_class, y, seed):
    tree = Hierarchy.from_paths(y)
    y = [path for path in y if not len(tree.children(tree.find(tuple(path))))]
    assume(len(y) > 1)
    X = rows_for(y, seed)
    one = predictions(estimator_class(Centroids()).fit(X, y), X)
    assert_same_predictions(
        predictions(estimator_class(Centroids(), leaf_only=True).fit(X, y), X), one
    )


SCRIPT = """
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
import hiclass
X = np.random.default_rng(0).normal(size=(40, 3))
names = ["ash", "birch", "cedar", "fir", "oak", "yew"]
y = [[names[i % 2], names[i % 3 + 2], names[i % 5 + 1]][: 1 + i % 7 % 3] for i in range(40)]
tree = {"wood": names[:3], "ash": names[3:5], "fir": names[5:]}
for name in ("LocalClassifierPerNode", "LocalClassifierPerParentNode", "LocalClassifierPerLevel",
             "FlatClassifier", "GlobalClassifier"):
    model = getattr(hiclass, name)
    estimator = Ridge() if name == "GlobalClassifier" else GaussianNB()
    for labels, hierarchy in ((y, None), ([path[0] for path in y], tree)):
        fitted = model(estimator, hierarchy=hierarchy, random_state=0).fit(X, labels)
        print(name, fitted.predict(X).tolist(), fitted.hierarchy_.labels.tolist())
        print(fitted.predict_node_proba(X).tolist(), [list(c) for c in fitted.classes_])
"""


def test_the_hash_seed_does_not_matter():
    outputs = set()
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert outputs.pop().count("FlatClassifier") == 2


# -- chunks ------------------------------------------------------------------------------------


class AnyRows:
    """Knows every container: the class is in the first feature; remembers how many rows came."""

    calls: list[int] = []  # noqa: RUF012

    def fit(self, X, y):
        self.n_classes = y.max() + 1
        return self

    def predict_proba(self, X):
        if sp.issparse(X):
            X = X.toarray()
        if isinstance(X, pandas.DataFrame):
            X = X.to_numpy()
        values = np.array([len(row) if isinstance(row, str) else row[0] for row in X])
        self.calls.append(len(values))
        proba = 1 / (1 + abs(values[:, None] - np.arange(self.n_classes)))
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


class AnyColumns(AnyRows):
    """The same for many outputs."""

    predict_proba = property(doc="It is no classifier.")

    def fit(self, X, y):
        self.n_classes = y.shape[1]
        return self

    def predict(self, X):
        return AnyRows.predict_proba(self, X)


@pytest.mark.parametrize(
    "container",
    [
        np.array,
        sp.csr_array,
        pandas.DataFrame,
        lambda X: ["x" * int(row[0]) for row in X],
    ],
    ids=["array", "sparse", "pandas", "documents"],
)
def test_chunks_change_nothing(estimator_class, container, limit_chunks):
    values = np.random.default_rng(0).integers(0, 9, size=(300, 2)).astype(float)
    y = [["a", "x"], ["a", "y"], ["a"], ["b", "x", "u"], ["b", "x", "v"], ["c"]] * 50
    X = container(values)
    model = estimator_class(AnyRows()).fit(X, y)
    AnyRows.calls.clear()
    whole = predictions(model, X)
    assert max(AnyRows.calls) == 300
    limit_chunks(1, 64)
    AnyRows.calls.clear()
    pieces = predictions(model, X)
    assert max(AnyRows.calls) < 100
    for name, value in whole.items():
        np.testing.assert_array_equal(pieces[name], value)


# -- the estimator to start with -----------------------------------------------------------------


def automatic(given):
    return HierarchicalClassifier(given, effort="quick", random_state=0)


@EXAMPLES
@given(y=PATHS, seed=SEEDS)
@pytest.mark.parametrize("given_classifier", [None, Centroids()], ids=["chosen", "Centroids"])
def test_what_is_chosen_predicts_paths_of_y_with_coherent_probabilities(given_classifier, y, seed):
    X = rows_for(y, seed)
    model = automatic(given_classifier).fit(X, y)
    new = rows_for(y, seed + 1)
    ends = nodes_where_rows_end(model, y)
    assert_coherent(model, new, ends)
    for path in predicted_nodes(model, new):
        assert path[-1] in ends
    assert {typed(path) for path in model.predict(new).tolist()} <= {typed(path) for path in y}
    np.testing.assert_allclose(
        model.predict_node_proba(new[-1:]), model.predict_node_proba(new)[-1:], atol=1e-9
    )


@EXAMPLES
@given(y=PATHS)
def test_what_is_chosen_repeats_the_labels_of_rows_that_are_far_apart(y):
    order = {path: i for i, path in enumerate(sorted({typed(p) for p in y}, key=repr))}
    X = 100.0 * np.eye(len(order))[[order[typed(path)] for path in y]]
    for rows in (X, sp.csr_matrix(X)):
        predicted = automatic(None).fit(rows, y).predict(rows)
        assert [typed(path) for path in predicted.tolist()] == [typed(path) for path in y]
