"""Decisions: every decoding against brute force, and which classifiers are queried for it."""

import numpy as np
import pytest
from fakes import Linear, Proba, Soft
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from model_helpers import (
    CALIBRATIONS,
    EXAMPLES,
    FOREST,
    KINDS,
    PATHS,
    SEEDS,
    make,
    models_of,
    nodes_where_rows_end,
    probability_of_final,
    rows_for,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from strategies import paths

from hiclass import FlatClassifier, LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._inference.decodings import best_path, best_paths, expected_f1, top_down, truncate
from hiclass._inference.paths import direct_final_proba, node_proba
from hiclass._inference.search import k_best


def nodes_of(model, labels):
    """The node at which every path of labels ends; 0 for an empty one."""
    found = []
    for path in labels.tolist():
        path = tuple(label for label in path if label)
        found.append(model.hierarchy_.find(path) if path else 0)
    return np.array(found)


def on_path(hierarchy, node):
    """The nodes from the first level down to a node."""
    path = hierarchy.path(node)
    return [hierarchy.find(path[: j + 1]) for j in range(len(path))]


# -- the most probable path --------------------------------------------------------------------


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(y=PATHS, seed=SEEDS, leaf_only=st.booleans())
def test_best_path_has_the_largest_probability_of_ending(kind, calibration, y, seed, leaf_only):
    model = make(kind, calibration, leaf_only=leaf_only, decoding="best_path")
    model.fit(rows_for(y, seed), y)
    X = rows_for(y, seed + 1)
    ends = nodes_where_rows_end(model, y, leaf_only)
    final = probability_of_final(model, X, ends)
    chosen = np.searchsorted(ends, nodes_of(model, model.predict(X)))
    found = final[np.arange(len(X)), chosen]
    np.testing.assert_allclose(found, final.max(axis=1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(y=PATHS, seed=SEEDS, leaf_only=st.booleans())
def test_k_paths_are_the_k_largest_final_classes(kind, y, seed, leaf_only):
    model = make(kind, leaf_only=leaf_only).fit(rows_for(y, seed), y)
    X = rows_for(y, seed + 1)
    ends = nodes_where_rows_end(model, y, leaf_only)
    final = probability_of_final(model, X, ends)
    largest = -np.sort(-final, axis=1)
    for k in range(1, len(ends) + 3):
        labels, proba = model.predict_paths(X, k)
        assert labels.shape == (len(X), k, max(map(len, y)))
        n = min(k, len(ends))
        np.testing.assert_allclose(proba[:, :n], largest[:, :n], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(proba[:, n:], 0)
        for i in range(len(X)):
            nodes = nodes_of(model, labels[i])
            assert len(set(nodes[:n])) == n
            own = final[i, np.searchsorted(ends, nodes[:n])]
            np.testing.assert_allclose(own, proba[i, :n], rtol=0, atol=1e-12)
            np.testing.assert_array_equal(nodes[n:], 0)


@given(
    values=arrays(
        float, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.sampled_from([0, 1, 2])
    ),
    k=st.integers(1, 9),
)
def test_the_k_best_columns_are_the_first_of_all_sorted_ones(values, k):
    everything = np.argsort(-values, axis=1, kind="stable")
    np.testing.assert_array_equal(k_best(values, k), everything[:, :k])


WAYS = {"search": lambda models, k: False, "all": lambda models, k: True}


@pytest.mark.parametrize("kind", ["node", "parent", "level"])
@EXAMPLES
@given(y=PATHS, seed=SEEDS, k=st.integers(1, 6))
def test_a_search_finds_what_is_best_of_all(kind, y, seed, k):
    """To the last bit, ties included, whatever the first pass follows."""
    model = make(kind).fit(rows_for(y, seed), y)
    X = rows_for(y, seed + 1).round()  # some rows are alike, and so are some probabilities
    found = []
    for way, followed in (("all", 1), ("search", 1), ("search", 1000)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hiclass._inference.search._wants_all", WAYS[way])
            patch.setattr("hiclass._inference.search._MOST_FOLLOWED", followed)
            found.append(best_paths(model._models, X, k))
    for nodes, proba in found[1:]:
        np.testing.assert_array_equal(nodes, found[0][0])
        np.testing.assert_array_equal(proba, found[0][1])


@EXAMPLES
@given(y=PATHS, seed=SEEDS)
def test_the_confidence_of_the_best_path_is_the_probability_of_its_nodes(y, seed):
    for kind in ("node", "parent", "level"):
        model = make(kind).fit(rows_for(y, seed), y)
        X = rows_for(y, seed + 1)
        decision = best_path(model._models, X)
        proba = node_proba(model._models, X)
        path = model.hierarchy_.ancestor_table[decision.nodes]
        expected = np.where(path >= 0, np.take_along_axis(proba, path, axis=1), np.nan)
        np.testing.assert_array_equal(decision.confidence, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_of_k_paths_is_the_best_path(kind):
    X = rows_for(FOREST, 0)
    model = make(kind, decoding="best_path").fit(X, FOREST)
    labels, _ = model.predict_paths(X, 2)
    np.testing.assert_array_equal(labels[:, 0], model.predict(X))


# Nodes: 1 A, 2 A/x, 3 B, 4 B/u, 5 B/v, 6 C, 7 C/w, 8 C/w/s, 9 C/w/t.
BUSH = [["A", "x"], ["B", "u"], ["B", "v"], ["C", "w", "s"], ["C", "w", "t"]]


@pytest.mark.parametrize("way", WAYS)
def test_ties_go_to_the_lowest_node_even_where_another_was_found_first(way, monkeypatch):
    """A/x is behind B/u for the first sweep, which follows the best node of every level."""
    monkeypatch.setattr("hiclass._inference.search._wants_all", WAYS[way])
    tables = {0: Proba([0.25, 0.5, 0.25]), 3: Proba([0.5, 0.5]), 7: Proba([1, 0])}
    models = models_of("parent", BUSH, tables)
    X = np.zeros((2, 1))
    assert best_path(models, X).nodes.tolist() == [2, 2]
    nodes, proba = best_paths(models, X, 6)
    assert nodes.tolist() == [[2, 4, 5, 8, 9, 0]] * 2
    assert proba.tolist() == [[0.25, 0.25, 0.25, 0.25, 0.0, 0.0]] * 2


def test_ties_of_a_model_that_knows_all_final_classes_go_to_the_lowest_node_too():
    models = models_of("flat", BUSH, {0: Proba([0.125, 0.25, 0.25, 0.125, 0.25])})
    X = np.zeros((2, 1))
    assert best_path(models, X).nodes.tolist() == [4, 4]
    nodes, proba = best_paths(models, X, 6)
    assert nodes.tolist() == [[4, 5, 9, 2, 8, 0]] * 2
    assert proba.tolist() == [[0.25, 0.25, 0.25, 0.125, 0.125, 0.0]] * 2


def test_ties_of_top_down_and_expected_f1_go_to_the_lowest_node():
    tables = {0: Proba([0.25, 0.375, 0.375]), 3: Proba([0.5, 0.5]), 7: Proba([0.5, 0.5])}
    X = np.zeros((2, 1))
    models = models_of("parent", BUSH, tables)
    assert top_down(models, X).nodes.tolist() == [4, 4]
    # B: 0.375 - 0.125; u and v: 0.1875 - 0.125; C/w: twice 0.375 - 0.125; s and t as u and v.
    assert expected_f1(models, X, 0.25, False).nodes.tolist() == [8, 8]
    assert expected_f1(models, X, 0.25, True).nodes.tolist() == [8, 8]
    # What adds exactly nothing is left out: the lower node is the parent.
    assert expected_f1(models, X, 0.375, False).nodes.tolist() == [7, 7]
    # B and C tie, and C/w adds nothing.
    assert expected_f1(models, X, 0.75, False).nodes.tolist() == [3, 3]


def test_a_node_of_a_deeper_level_beats_an_equal_one_with_a_higher_number():
    """A/x comes after B in the search, level by level, and has the lower number."""
    y = [["A", "x"], ["A", "y"], ["B"]]  # 1 A, 2 x, 3 y, 4 B
    tables = {0: Proba([0.5, 0.5]), 1: Proba([0.75, 0.25])}
    models = models_of("parent", y, tables)
    X = np.zeros((1, 1))
    # A: 0.5 - 0.5; x: less; B: the same as A.
    assert expected_f1(models, X, 1.0, False).nodes.tolist() == [1]
    # x: 0.5 - 0.375 + 0.375 - 0.375, A and B the same.
    assert expected_f1(models, X, 0.75, False).nodes.tolist() == [1]
    # Leaves only: x 0.125, B 0.125.
    assert expected_f1(models, X, 0.75, True).nodes.tolist() == [2]


@pytest.mark.parametrize("kind", KINDS)
def test_final_classes_of_probability_zero_are_paths_too(kind):
    """Integers have no missing value: a place that was left empty would hold anything."""
    y = np.array([[1, 11], [1, 12], [2, 21], [2, 22]] * 3)
    X = y[:, 1:].astype(float)
    model = make(kind, estimator=DecisionTreeClassifier(random_state=0)).fit(X, y)
    labels, proba = model.predict_paths(X[:1], 4)
    assert labels.dtype == y.dtype
    assert labels.tolist() == [[[1, 11], [1, 12], [2, 21], [2, 22]]]
    assert proba.tolist() == [[1.0, 0.0, 0.0, 0.0]]
    labels, proba = model.predict_paths(X[:1], 5)
    assert labels.dtype == object
    assert labels[0, 4].tolist() == [None, None]
    assert proba[0, 4] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_k_paths_of_single_labels_have_one_axis_less(kind):
    y = np.array([3, 1, 2] * 4)
    X = rows_for(y, 0)
    model = make(kind).fit(X, y)
    labels, proba = model.predict_paths(X, np.int64(2))
    expected = model.predict_proba(X)
    order = np.argsort(-expected, axis=1)[:, :2]
    np.testing.assert_array_equal(labels, model.classes_[order])
    np.testing.assert_array_equal(proba, np.take_along_axis(expected, order, axis=1))
    assert labels.dtype == y.dtype
    labels, proba = model.predict_paths(X)  # five by default, but there are three
    assert [label is None for label in labels[0].tolist()] == [False, False, False, True, True]
    assert proba.shape == (12, 5)


@pytest.mark.parametrize("k", [0, -1, 1.0, "2", None])
def test_a_number_of_paths_that_is_none_is_refused(k):
    model = make("parent").fit(rows_for(FOREST, 0), FOREST)
    with pytest.raises(ValueError, match="k must be an integer of at least 1; got"):
        model.predict_paths(rows_for(FOREST, 0), k)


# -- which classifiers are queried -----------------------------------------------------------


def test_best_path_does_not_query_the_classifiers_of_improbable_branches():
    # 1 A, 2 x, 3 y, 4 B, 5 u, 6 u/s, 7 u/t, 8 v, 9 C, 10 w, 11 z
    y = [
        ["A", "x"],
        ["A", "y"],
        ["B", "u", "s"],
        ["B", "u", "t"],
        ["B", "v"],
        ["C", "w"],
        ["C", "z"],
    ]
    tables = {
        0: Proba([0.01, 0.98, 0.01]),
        1: Proba([0.5, 0.5]),
        4: Proba([0.9, 0.1]),
        5: Proba([0.8, 0.2]),
        9: Proba([0.5, 0.5]),
    }
    models = models_of("parent", y, tables)
    decision = best_path(models, np.zeros((3, 1)))
    assert decision.nodes.tolist() == [6, 6, 6]
    np.testing.assert_allclose(decision.confidence, [[0.98, 0.98 * 0.9, 0.98 * 0.72]] * 3)
    assert {v: table.calls for v, table in tables.items()} == {0: 1, 1: 0, 4: 1, 5: 1, 9: 0}
    # Two paths are found within B as well; for the fourth, A and C have to be opened.
    nodes, _ = best_paths(models, np.zeros((1, 1)), 2)
    assert nodes.tolist() == [[6, 7]]
    assert tables[1].calls <= 1
    nodes, _ = best_paths(models, np.zeros((1, 1)), 4)
    assert nodes.tolist() == [[6, 7, 8, 2]]


def test_best_path_queries_again_where_a_late_branch_may_be_better():
    tables = {0: Proba([0.3, 0.4, 0.3]), 3: Proba([0.5, 0.5]), 7: Proba([0.9, 0.1])}
    models = models_of("parent", BUSH, tables)
    assert best_path(models, np.zeros((1, 1))).nodes.tolist() == [2]  # 0.3 against 0.2 and 0.27
    assert {v: table.calls for v, table in tables.items()} == {0: 1, 3: 1, 7: 0}
    tables = {0: Proba([0.2, 0.5, 0.3]), 3: Proba([0.5, 0.5]), 7: Proba([0.9, 0.1])}
    models = models_of("parent", BUSH, tables)
    assert best_path(models, np.zeros((1, 1))).nodes.tolist() == [8]  # 0.27
    assert {v: table.calls for v, table in tables.items()} == {0: 1, 3: 1, 7: 1}


def test_expected_f1_does_not_query_below_nodes_that_do_not_pay():
    tables = {0: Proba([0.25, 0.5, 0.25]), 3: Proba([0.75, 0.25]), 7: Proba([0.5, 0.5])}
    models = models_of("parent", BUSH, tables)
    assert expected_f1(models, np.zeros((1, 1)), 0.6, False).nodes.tolist() == [4]
    assert {v: table.calls for v, table in tables.items()} == {0: 1, 3: 1, 7: 0}


class CountedCalls(Soft):
    """Counts the calls of every fitted copy."""

    def predict_proba(self, X):
        self.calls = getattr(self, "calls", 0) + 1
        return super().predict_proba(X)


@pytest.mark.parametrize("kind", ["node", "parent", "level"])
@EXAMPLES
@given(y=paths(min_rows=5, max_rows=20, depth=(2, 4)), seed=SEEDS, k=st.integers(1, 8))
def test_every_classifier_is_queried_at_most_twice_per_chunk(kind, y, seed, k):
    model = make(kind, estimator=CountedCalls()).fit(rows_for(y, seed), y)
    queried = [*model._models.classifiers.values(), *model._models.gates.values()]

    def calls_of(method, *args):
        for classifier in queried:
            classifier.calls = 0
        method(rows_for(y, seed + 1), *args)
        return max((classifier.calls for classifier in queried), default=0)

    assert calls_of(model.predict_node_proba) <= 1
    assert calls_of(model.predict) <= 1
    assert calls_of(model.predict_paths, k) <= 2
    model.set_params(decoding="best_path")
    assert calls_of(model.predict) <= 2


# -- the best expected F-score -----------------------------------------------------------------


def value_of(hierarchy, proba, node, f):
    """The objective, word by word: the sum over the path of P(a) - F / 2."""
    return sum(proba[:, a] - f / 2 for a in on_path(hierarchy, node))


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(y=PATHS, seed=SEEDS, leaf_only=st.booleans(), f=st.none() | st.floats(0.1, 1))
def test_expected_f1_maximises_its_objective(kind, calibration, y, seed, leaf_only, f):
    leaf_only = leaf_only and kind != "ensemble"
    model = make(kind, calibration, leaf_only=leaf_only, decoding="expected_f1")
    model.fit(rows_for(y, seed), y)
    if f is not None:  # whatever fit has learned, the decision is right for it
        model.expected_f1_ = f
    X = rows_for(y, seed + 1)
    proba = model.predict_node_proba(X)
    allowed = range(1, model.hierarchy_.n_nodes)
    if leaf_only:
        allowed = nodes_where_rows_end(model, y, leaf_only)
    values = np.column_stack(
        [value_of(model.hierarchy_, proba, v, model.expected_f1_) for v in allowed]
    )
    chosen = nodes_of(model, model.predict(X))
    found = [list(allowed).index(v) for v in chosen]
    np.testing.assert_allclose(
        values[np.arange(len(X)), found], values.max(axis=1), rtol=0, atol=1e-12
    )


def test_expected_f1_may_end_above_all_ends_and_leaf_only_may_not():
    y = [["A", "x"], ["A", "y"], ["A", "z"], ["B", "w"]]
    tables = {0: Proba([0.9, 0.1]), 1: Proba([0.4, 0.3, 0.3])}
    models = models_of("parent", y, tables)
    X = np.zeros((1, 1))
    assert expected_f1(models, X, 0.9, False).nodes.tolist() == [models.hierarchy.find(("A",))]
    assert expected_f1(models, X, 0.9, True).nodes.tolist() == [models.hierarchy.find(("A", "x"))]


@pytest.mark.parametrize("kind", KINDS)
def test_expected_f1_without_what_fit_learns_says_how_to_get_it(kind):
    X = rows_for(FOREST, 0)
    model = make(kind).fit(X, FOREST)
    assert not hasattr(model, "expected_f1_")
    model.set_params(decoding="expected_f1")
    with pytest.raises(ValueError, match="Fit the model again with decoding"):
        model.predict(X)
    model.fit(X, FOREST)
    assert 0 < model.expected_f1_ <= 1
    assert model.predict(X).shape == (len(X), 3)


@pytest.mark.parametrize("kind", ["node", "parent", "level", "flat"])
def test_a_calibrated_model_can_be_set_to_expected_f1_after_fit(kind):
    X = rows_for(FOREST, 0)
    calibrated = make(kind, "temperature").fit(X, FOREST).set_params(decoding="expected_f1")
    other = make(kind, "temperature", decoding="expected_f1").fit(X, FOREST)
    np.testing.assert_array_equal(calibrated.predict(X), other.predict(X))


# -- confidences, truncation, decisions of one's own -----------------------------------------


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(y=PATHS, seed=SEEDS, min_confidence=st.floats(0.05, 1))
def test_confidence_is_the_node_probability_and_paths_stop_at_the_deepest_sure_node(
    kind, calibration, y, seed, min_confidence
):
    model = make(kind, calibration, decoding="expected_f1").fit(rows_for(y, seed), y)
    X = rows_for(y, seed + 1)
    proba = model.predict_node_proba(X)
    for decoding in ("expected_f1", "best_path", *["top_down"] * (kind != "flat")):
        model.set_params(decoding=decoding, min_confidence=0.0)
        whole, confidence = nodes_of(model, model.predict(X)), model.predict_confidence(X)
        assert confidence.shape == (len(X), max(map(len, y)))
        model.set_params(min_confidence=min_confidence)
        short, sure = nodes_of(model, model.predict(X)), model.predict_confidence(X)
        for i, node in enumerate(whole):
            path = on_path(model.hierarchy_, node)
            own = confidence[i, : len(path)]
            np.testing.assert_allclose(own, proba[i, path], rtol=0, atol=1e-12)
            assert np.isnan(confidence[i, len(path) :]).all()
            assert (np.diff(own) <= 0).all()
            length = int((own >= min_confidence).sum())
            assert short[i] == [0, *path][length]
            np.testing.assert_array_equal(sure[i, :length], own[:length])
            assert np.isnan(sure[i, length:]).all()


def test_truncation_keeps_a_node_with_exactly_the_wanted_probability():
    tables = {0: Proba([0.25, 0.5, 0.25]), 3: Proba([0.5, 0.5]), 7: Proba([0.5, 0.5])}
    models = models_of("parent", BUSH, tables)
    decision = top_down(models, np.zeros((1, 1)))
    for threshold, node in ((0.25, 4), (np.nextafter(0.25, 1), 3), (0.5, 3), (0.51, 0)):
        assert truncate(decision, models.hierarchy, float(threshold)).nodes.tolist() == [node]
    assert truncate(decision, models.hierarchy, 0.0) is decision


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_path_of_integers_comes_as_objects_whatever_the_rows(kind):
    y = np.array([[1, 11], [1, 12], [2, 21]] * 4)
    X = rows_for(y, 0)
    model = make(kind).fit(X, y)
    assert model.predict(X).dtype == y.dtype
    assert model.set_params(min_confidence=1e-9).predict(X).dtype == object
    assert model.set_params(min_confidence=1.0).predict(X[:1]).tolist() == [[None, None]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_callable_decides_from_node_probabilities_and_the_hierarchy(kind):
    X = rows_for(FOREST, 0)
    seen = []

    def decide(proba, hierarchy):
        seen.append((proba, hierarchy))
        return np.where(proba[:, 1] > 0.4, 1, 0)

    model = make(kind, decoding=decide).fit(X, FOREST)
    predicted, confidence = model.predict(X), model.predict_confidence(X)
    proba = model.predict_node_proba(X)
    np.testing.assert_array_equal(seen[0][0], proba)
    assert seen[0][1] is model.hierarchy_
    likely = proba[:, 1] > 0.4
    assert 0 < likely.sum() < len(X)
    np.testing.assert_array_equal(predicted[likely], [["a", "", ""]] * likely.sum())
    np.testing.assert_array_equal(predicted[~likely], [["", "", ""]] * (~likely).sum())
    np.testing.assert_array_equal(confidence[likely, 0], proba[likely, 1])
    assert np.isnan(confidence[~likely]).all()
    assert np.isnan(confidence[:, 1:]).all()
    model.set_params(min_confidence=1.0)
    assert (model.predict(X) == "").all()


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        (lambda n: np.zeros(n - 1, dtype=int), r"shape \(28,\); got shape \(27,\)"),
        (lambda n: np.zeros((n, 1), dtype=int), r"got shape \(28, 1\)"),
        (lambda n: np.zeros(n), "type float64"),
        (lambda n: np.zeros(n, dtype=bool), "type bool"),
        (lambda n: None, r"got shape \(\) and type object"),
        (lambda n: np.full(n, -1), r"a node outside 0 to 8\."),
        (lambda n: np.full(n, 9), r"a node outside 0 to 8\."),
    ],
    ids=["short", "2-D", "float", "bool", "None", "negative", "too large"],
)
def test_a_callable_that_returns_something_else_is_told_so(prediction, message):
    X = rows_for(FOREST, 0)
    model = make("parent", decoding=lambda proba, hierarchy: prediction(len(proba))).fit(X, FOREST)
    assert model.hierarchy_.n_nodes == 9
    with pytest.raises(ValueError, match=message):
        model.predict(X)


def test_a_callable_may_return_a_list_and_the_largest_node():
    X = rows_for(FOREST, 0)
    model = make("flat", decoding=lambda proba, hierarchy: [8] * len(proba)).fit(X, FOREST)
    assert set(map(tuple, model.predict(X))) == {("c", "", "")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_decoding_that_is_set_after_fit_is_as_good_as_one_before(kind):
    X = rows_for(FOREST, 0)
    model = make(kind).fit(X, FOREST)
    for decoding in ("best_path", lambda proba, hierarchy: proba[:, 1:].argmax(axis=1) + 1):
        before = make(kind, decoding=decoding).fit(X, FOREST)
        model.set_params(decoding=decoding)
        np.testing.assert_array_equal(model.predict(X), before.predict(X))


def test_the_decodings_differ_where_they_should():
    """Greedy takes A; its leaves are worse than B; for the F-score, A alone is better still."""
    y = [["A", "x"], ["A", "y"], ["A", "z"], ["B"]]
    tables = {0: Proba([0.6, 0.4]), 1: Proba([0.4, 0.3, 0.3])}
    models = models_of("parent", y, tables)
    X = np.zeros((1, 1))
    find = models.hierarchy.find
    assert top_down(models, X).nodes.tolist() == [find(("A", "x"))]
    assert best_path(models, X).nodes.tolist() == [find(("B",))]
    assert expected_f1(models, X, 0.8, False).nodes.tolist() == [find(("A",))]


def test_models_that_know_all_final_classes_decode_as_those_that_are_searched():
    """The same probabilities, once from tables per parent and once as one flat table."""
    tables = {0: Proba([0.2, 0.5, 0.3]), 3: Proba([0.6, 0.4]), 7: Proba([0.9, 0.1])}
    searched = models_of("parent", BUSH, tables)
    X = np.zeros((2, 1))
    direct = models_of("flat", BUSH, {0: Proba([0.2, 0.3, 0.2, 0.27, 0.03])})
    np.testing.assert_allclose(node_proba(searched, X), node_proba(direct, X))
    decisions = [
        (decode(searched, X), decode(direct, X))
        for decode in (
            top_down,
            best_path,
            lambda m, X: expected_f1(m, X, 0.7, False),
            lambda m, X: expected_f1(m, X, 0.7, True),
        )
    ]
    for one, other in decisions:
        np.testing.assert_array_equal(one.nodes, other.nodes)
        np.testing.assert_allclose(one.confidence, other.confidence)
    assert direct_final_proba(direct, X).shape == (2, 5)


# -- local classifiers without probabilities --------------------------------------------------


@pytest.mark.parametrize("model_class", [LocalClassifierPerNode, LocalClassifierPerParentNode])
@pytest.mark.parametrize(
    "params",
    [
        {"decoding": "best_path"},
        {"decoding": "expected_f1"},
        {"decoding": lambda proba, hierarchy: proba.argmax(axis=1)},
        {"min_confidence": 0.5},
    ],
    ids=["best_path", "expected_f1", "callable", "min_confidence"],
)
def test_decisions_that_need_probabilities_say_so_before_and_after_fit(model_class, params):
    X = rows_for(FOREST, 0)
    name = next(iter(params))
    with pytest.raises(ValueError, match=rf"{name}=.* needs probabilities, but LinearSVC"):
        model_class(LinearSVC(), **params).fit(X, FOREST)
    model = model_class(LinearSVC()).fit(X, FOREST).set_params(**params)
    with pytest.raises(ValueError, match=rf"{name}=.* needs probabilities, which"):
        model.predict(X)


def test_flat_decides_for_the_best_final_class_without_probabilities():
    X = rows_for(FOREST, 0)
    model = FlatClassifier(Linear()).fit(X, FOREST)
    assert not hasattr(model, "predict_proba")
    soft = FlatClassifier(Soft()).fit(X, FOREST)
    np.testing.assert_array_equal(model.predict(X), soft.predict(X))
    model.set_params(min_confidence=0.5)
    with pytest.raises(ValueError, match=r"min_confidence=0.5 needs probabilities"):
        model.predict(X)


def test_a_function_must_return_leaves_where_paths_must_end_at_leaves():
    X, y = [[0.0], [1.0], [2.0]], [["A", "x"], ["A", "z"], ["B", "y"]]
    model = LocalClassifierPerParentNode(leaf_only=True).fit(X, y)
    node = model.hierarchy_.find(("A", "z"))
    model.set_params(decoding=lambda proba, hierarchy: np.full(len(proba), node))
    assert model.predict(X).tolist() == [["A", "z"]] * 3
    inner = model.hierarchy_.find(("A",))
    model.set_params(decoding=lambda proba, hierarchy: np.full(len(proba), inner))
    with pytest.raises(ValueError, match=r"returned A, at which no path of this model may end"):
        model.predict(X)
