"""Triage: which rows are sure, what is suggested for the others, in which order and why."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from hiclass import (
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    KernelRidgeClassifier,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    explain,
    triage,
)
from hiclass._inspect import triage as module
from hiclass._inspect.pairs import parting
from hiclass._inspect.queues import parse_path, queue_columns

PATHS = [["A", "a"], ["A", "b"], ["B", "c"], ["B", "d"], ["B", ""], ["C", "e"]]


def make_data(n_rows=240, seed=0):
    rng = np.random.default_rng(seed)
    target = rng.integers(0, len(PATHS), n_rows)
    X = 2 * np.eye(6)[target] + rng.normal(size=(n_rows, 6))
    return X, np.array(PATHS, dtype=object)[target]


X, Y = make_data()
NEW, _ = make_data(80, seed=1)


@pytest.fixture(scope="module")
def model():
    return LocalClassifierPerParentNode(LogisticRegression(), min_confidence=0.7).fit(X, Y)


def whole(model):
    """What the model predicts without thresholds."""
    return LocalClassifierPerParentNode(LogisticRegression()).fit(X, Y).predict(NEW)


def test_sure_rows_are_those_whose_paths_are_not_shortened(model):
    found = triage(model, NEW)
    expected = (model.predict(NEW) == whole(model)).all(axis=1)
    assert 0 < expected.sum() < 80
    np.testing.assert_array_equal(found.sure, expected)
    np.testing.assert_array_equal(found.predicted, model.predict(NEW))
    np.testing.assert_allclose(found.confidence, model.predict_confidence(NEW))
    assert sorted(found.review) == np.flatnonzero(~expected).tolist()
    assert model.min_confidence == 0.7
    assert repr(found) == (
        f"Triage({expected.sum()} of 80 rows are sure, {80 - expected.sum()} for review)"
    )


def test_down_to_a_level_only_that_counts(model):
    found = triage(model, NEW, level=1)
    expected = model.predict_confidence(NEW)[:, 0] >= 0.7
    np.testing.assert_array_equal(found.sure, expected)
    assert found.sure.sum() > triage(model, NEW).sure.sum()
    # Nothing below it, which no threshold need cover.
    np.testing.assert_array_equal(found.predicted[:, 0], model.predict(NEW)[:, 0])
    np.testing.assert_array_equal(found.confidence[:, 0], model.predict_confidence(NEW)[:, 0])
    assert (model.predict(NEW)[:, 1] != "").any()
    assert (found.predicted[:, 1] == "").all()
    assert np.isnan(found.confidence[:, 1]).all()


@pytest.mark.parametrize(
    "estimator",
    [
        LocalClassifierPerNode(LogisticRegression(), decoding="best_path"),
        LocalClassifierPerParentNode(LogisticRegression(), decoding="expected_f1"),
        FlatClassifier(LogisticRegression()),
    ],
    ids=["best_path", "expected_f1", "flat"],
)
@pytest.mark.parametrize("thresholds", [0.6, [0.5, 0.8], {"A": 0.9, "C": 0.2}], ids=str)
def test_one_decision_says_what_predict_says_with_and_without_thresholds(estimator, thresholds):
    model = clone(estimator).fit(X, Y)
    without = model.predict(NEW)
    model.set_params(min_confidence=thresholds)
    found = triage(model, NEW, reasons=False)
    np.testing.assert_array_equal(found.predicted, model.predict(NEW))
    np.testing.assert_allclose(found.confidence, model.predict_confidence(NEW))
    kept = (model.predict(NEW) == without).all(axis=1) & (without[:, 0] != "")
    np.testing.assert_array_equal(found.sure, kept)


def test_the_model_decides_once(model, monkeypatch):
    seen = []
    decide = type(model)._decide

    def counted(self, rows, **options):
        seen.append(len(rows))
        return decide(self, rows, **options)

    monkeypatch.setattr(type(model), "_decide", counted)
    triage(model, NEW)
    assert seen == [80]


def test_suggestions_of_whole_paths_are_the_most_probable_ones(model):
    found = triage(model, NEW, k=3)
    paths, proba = model.predict_paths(NEW[found.review], 3)
    labels = [[tuple(label for label in path if label) for path in row] for row in paths.tolist()]
    assert [[found.hierarchy.path(v) for v in row] for row in found.suggestions] == labels
    np.testing.assert_allclose(found.probabilities, proba)


def test_suggestions_at_a_level_are_different_codes_with_their_sums(model):
    found = triage(model, NEW, level=1, k=5)
    tree = found.hierarchy
    proba = model.predict_node_proba(NEW[found.review])
    tops = tree.children(0)
    order = np.argsort(-proba[:, tops], axis=1, kind="stable")
    np.testing.assert_array_equal(found.suggestions[:, :3], tops[order])
    np.testing.assert_array_equal(found.suggestions[:, 3:], -1)
    np.testing.assert_allclose(
        found.probabilities[:, :3], np.take_along_axis(proba[:, tops], order, axis=1)
    )


def test_a_deep_tree_has_codes_at_the_level_and_endings_above_it():
    paths = [["A", "a", "x"], ["A", "a", "y"], ["A", "", ""], ["B", "b", "z"], ["B", "c", "w"]]
    rng = np.random.default_rng(0)
    target = rng.integers(0, 5, 200)
    rows = np.eye(5)[target] + rng.normal(size=(200, 5)) * 0.7
    model = LocalClassifierPerParentNode(min_confidence=0.8)
    model.fit(rows, np.array(paths, dtype=object)[target])
    found = triage(model, rows, level=2, k=6)
    names = {found.hierarchy.path(v) for row in found.suggestions for v in row if v > 0}
    assert names == {("A", "a"), ("A",), ("B", "b"), ("B", "c")}
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
    at_end = triage(model, rows, level=3)
    np.testing.assert_allclose(at_end.probabilities, triage(model, rows).probabilities)


def test_uncertain_rows_come_first(model):
    first = triage(model, NEW).probabilities[:, 0]
    assert (np.diff(first) >= 0).all()


def test_by_branch_rows_of_one_doubt_follow_each_other(model):
    found = triage(model, NEW, order="branch")
    doubts = [parting(found.hierarchy, a, b)[0] for a, b in found.suggestions[:, :2].tolist()]
    changes = [doubts[0]] + [b for a, b in itertools.pairwise(doubts) if a != b]
    assert len(changes) == len(set(changes))
    sizes = [doubts.count(doubt) for doubt in changes]
    assert sizes == sorted(sizes, reverse=True)
    start = doubts.index(changes[1])
    assert (np.diff(found.probabilities[:start, 0]) >= 0).all()
    assert len(triage(model, NEW, order="branch", k=1).review) == len(found.review)


@pytest.mark.parametrize("level", [None, 1])
def test_by_cost_the_dearest_mistakes_come_first(model, level):
    costs = {"A": 1.0, ("B",): 2.0, ("B", "d"): 50.0}
    found = triage(model, NEW, order="cost", costs=costs, level=level)
    tree = found.hierarchy
    proba = model.predict_node_proba(NEW[found.review])
    of_node = {"A": 1, "a": 1, "b": 1, "B": 2, "c": 2, "d": 50, "C": 1, "e": 1}
    expected = []
    for row, (first, *_) in enumerate(found.suggestions.tolist()):
        total = 0.0
        for node in range(1, tree.n_nodes):
            mass = proba[row, node] - proba[row, tree.children(node)].sum()
            code = node if level is None else tree.find(tree.path(node)[:1])
            total += (code != first) * max(mass, 0) * of_node[tree.labels[node]]
        expected.append(total)
    assert (np.diff(expected) <= 1e-9).all()
    assert max(expected) > min(expected)


def test_identical_rows_follow_each_other(model):
    rows = np.concatenate([NEW, NEW[::-1]])
    for form in (rows, rows.tolist(), sp.csr_array(rows), pd.DataFrame(rows).to_numpy()):
        review = triage(model, form).review.tolist()
        for place in range(0, len(review), 2):
            assert sum(review[place : place + 2]) == 159


def test_frames_of_any_library_have_keys():
    frame = {"a": ["x", "y", "x"], "b": [1, 2, 1]}
    for form in (pd.DataFrame(frame), pl.DataFrame(frame), [{"a": "x"}, {"a": "y"}, {"a": "x"}]):
        keys = module._keys(form)
        assert keys[0] == keys[2] != keys[1]


def test_nothing_for_people(model):
    model = LocalClassifierPerParentNode(min_confidence=1e-9).fit(X, Y)
    found = triage(model, NEW)
    assert found.sure.all()
    assert found.suggestions.shape == (0, 5)
    assert found.reasons == []
    assert queue_columns(found, {}, "m")["suggestion_1"].shape == (0,)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"level": 0}, "level must be an integer from 1 to 2, the depth"),
        ({"level": 3}, "level must be"),
        ({"level": True}, "level must be"),
        ({"k": 0}, "k must be an integer of at least 1; got 0"),
        ({"order": "size"}, "order must be one of uncertain, cost, branch; got 'size'"),
        ({"costs": {"A": 2}}, 'costs are for order="cost"'),
        ({"order": ["cost"]}, "order must be one of"),
        ({"order": "cost", "costs": {"A": -1}}, "The cost of 'A' must be a non-negative number"),
        ({"order": "cost", "costs": {"Z": 1}}, "Z"),
    ],
)
def test_wrong_parameters_are_refused(model, options, match):
    with pytest.raises(ValueError, match=match):
        triage(model, NEW, **options)


def test_costs_that_are_no_mapping_are_refused(model):
    with pytest.raises(
        TypeError, match="costs must be a mapping from classes to costs; got a list"
    ):
        triage(model, NEW, order="cost", costs=[1.0])


def test_a_model_without_probabilities_or_with_whole_paths_only_is_refused(model):
    with pytest.raises(AttributeError, match="has no probabilities"):
        triage(
            LocalClassifierPerParentNode(LinearSVC()).fit(X, Y).set_params(min_confidence=0.5), NEW
        )
    leaves = LocalClassifierPerParentNode(leaf_only=True).fit(X, Y).set_params(min_confidence=0.5)
    with pytest.raises(ValueError, match="leaf_only=True requires every path to end at a leaf"):
        triage(leaves, NEW)


def test_a_model_without_thresholds_is_refused():
    with pytest.raises(ValueError, match="The model has no thresholds, so every row"):
        triage(LocalClassifierPerParentNode().fit(X, Y), NEW)


# -- reasons -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        LocalClassifierPerParentNode(LogisticRegression(), min_confidence=0.7),
        LocalClassifierPerNode(LogisticRegression(), min_confidence=0.7),
        LocalClassifierPerParentNode(LinearSVC(), calibration="temperature", min_confidence=0.7),
    ],
    ids=["parent", "node", "svm"],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_reasons_are_those_of_explain_where_both_compare_the_same(estimator, sparse):
    rows, new = (sp.csr_array(X), sp.csr_array(NEW)) if sparse else (X, NEW)
    model = estimator.fit(rows, Y)
    names = list("uvwxyz")
    found = triage(model, new, feature_names=names)
    plain = model.set_params(min_confidence=0.0)
    compared = 0
    for row, reason, (first, second) in zip(
        found.review, found.reasons, found.suggestions[:, :2].tolist(), strict=True
    ):
        above, one, other = parting(found.hierarchy, first, second)
        steps = explain(plain, new[[row]], feature_names=names, top=6).steps
        step = next((s for s in steps if s.level == found.hierarchy.levels[above] + 1), None)
        label = None if one == above else found.hierarchy.labels[one]
        if step is None or step.label != label or above == other:
            continue
        if found.hierarchy.path(first)[: step.level - 1] != found.hierarchy.path(above):
            continue
        if not step.runners_up or step.runners_up[0].label != found.hierarchy.labels[other]:
            continue
        expected = {f.name: f.contribution for f in step.reasons[0].features}
        assert reason.second == found.hierarchy.labels[other]
        for name, term in reason.features:
            if name in expected:
                assert term == pytest.approx(expected[name])
                compared += 1
        signs = [term > 0 for _, term in reason.features]
        assert signs == sorted(signs, reverse=True)
    assert compared > 20
    model.set_params(min_confidence=0.7)


def test_reasons_are_words_of_the_row():
    texts = ["red apple", "green apple", "red car", "green truck"] * 5
    paths = [["Fruit", "Red"], ["Fruit", "Green"], ["Thing", "Car"], ["Thing", "Truck"]] * 5
    model = make_pipeline(
        TfidfVectorizer(), LocalClassifierPerParentNode(LogisticRegression(), min_confidence=0.9)
    ).fit(texts, paths)
    found = triage(model, ["red pear apple", "red apple car truck"])
    words = {name for name, _ in found.reasons[0].features}
    assert words <= {"red", "apple", "car", "truck"}
    cells = queue_columns(found, {"t": "text"}, "m")
    assert parse_path(cells["suggestion_1"][0]) == found.hierarchy.path(found.suggestions[0, 0])


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (LocalClassifierPerParentNode(RandomForestClassifier(3, random_state=0)), "RandomForest"),
        (FlatClassifier(RandomForestClassifier(3, random_state=0)), "RandomForest"),
        (FlatClassifier(KernelRidgeClassifier(), calibration="temperature"), "KernelRidge"),
        (GlobalClassifier(), "GlobalClassifier"),
    ],
    ids=["forest", "flat forest", "kernel", "global"],
)
def test_what_has_no_weights_has_no_reasons_and_says_so(estimator, name):
    model = estimator.set_params(min_confidence=0.9).fit(X, Y)
    found = triage(model, NEW)
    assert set(found.reasons) == {None}
    assert set(queue_columns(found, {}, "m")["reasons"]) == {None}
    assert found.note.startswith("The rows for review have no reasons, because reasons require")
    assert f"which {name}" in found.note
    assert triage(model, NEW, reasons=False).note == ""


@pytest.mark.parametrize("level", [None, 1])
@pytest.mark.parametrize("sparse", [False, True])
def test_reasons_of_a_flat_model_are_the_terms_between_two_final_classes(level, sparse):
    rows, new = (sp.csr_array(X), sp.csr_array(NEW)) if sparse else (X, NEW)
    model = FlatClassifier(LogisticRegression(), min_confidence=0.9).fit(rows, Y)
    found = triage(model, new, level=level)
    (local,) = model.local_classifiers_.values()
    final = next(iter(model.local_classes_.values()))
    tree = found.hierarchy
    scores = local.decision_function(new)
    assert found.note == ""
    for row, reason, pair in zip(
        found.review, found.reasons, found.suggestions[:, :2].tolist(), strict=True
    ):
        columns = []
        for node in pair:
            below = [
                j
                for j, v in enumerate(final)
                if tree.path(v)[: len(tree.path(node))] == tree.path(node)
            ]
            if level is None:
                below = [j for j in below if final[j] == node]
            columns.append(max(below, key=lambda j: scores[row, j]))
        terms = (local.coef_[columns[0]] - local.coef_[columns[1]]) * NEW[row]
        assert (reason.first, reason.second) == tuple(tree.labels[v] for v in pair)
        assert reason.features
        for feature, term in reason.features:
            assert term == pytest.approx(terms[int(feature[1:])])


def test_the_linear_model_of_an_ensemble_has_the_reasons_wherever_it_stands():
    forest = LocalClassifierPerParentNode(RandomForestClassifier(5, random_state=0))
    linear = FlatClassifier(LogisticRegression())
    model = EnsembleClassifier([("a", forest), ("b", linear)], min_confidence=0.9).fit(X, Y)
    alone = FlatClassifier(LogisticRegression(), min_confidence=0.9).fit(X, Y)
    found = triage(model, NEW)
    assert found.note == ""
    assert all(reason is not None for reason in found.reasons)
    same = triage(alone, NEW)
    both = {
        row: (reason, pair)
        for row, reason, pair in zip(
            same.review, same.reasons, same.suggestions[:, :2].tolist(), strict=True
        )
    }
    compared = 0
    for row, reason, pair in zip(
        found.review, found.reasons, found.suggestions[:, :2].tolist(), strict=True
    ):
        if row in both and both[row][1] == pair:
            assert reason == both[row][0]
            compared += 1
    assert compared > 5


def test_of_an_ensemble_the_first_member_with_weights_gives_reasons():
    members = [
        ("flat", FlatClassifier(LogisticRegression())),
        ("parent", LocalClassifierPerParentNode(LogisticRegression())),
    ]
    model = EnsembleClassifier(members, min_confidence=0.7).fit(X, Y)
    found = triage(model, NEW)
    assert any(reason is not None for reason in found.reasons)
    assert all(reason is None for reason in triage(model, NEW, reasons=False).reasons)


def test_where_paths_part():
    tree = LocalClassifierPerParentNode().fit(X, Y).hierarchy_
    a, b, c, top = (tree.find(path) for path in (("A", "a"), ("A", "b"), ("B", "c"), ("B",)))
    assert parting(tree, a, b) == (tree.find(("A",)), a, b)
    assert parting(tree, a, c) == (0, tree.find(("A",)), top)
    assert parting(tree, c, top) == (top, c, top)


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        ("wheel", {"t": "text"}, ("t", "wheel")),
        ("t: wheel", {"t": "text", "u": "text"}, ("t", "wheel")),
        ("state=BY", {"t": "text", "state": "categories"}, ("t", None)),
        ("amount", {"t": "text", "amount": "numbers"}, ("t", None)),
        ("day (month)", {"t": "text", "day": "dates"}, ("t", None)),
        ("x3", {}, (None, "x3")),
    ],
)
def test_features_are_told_from_words(name, columns, expected):
    from hiclass._inspect.queues import _word

    found = _word(name, columns)
    assert (found["column"], found["word"]) == expected
