"""precision, recall, f1, fbeta: values by hand, a literal implementation, scikit-learn."""

import math
import warnings

import metrics_reference as reference
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score, fbeta_score, precision_score, recall_score

from hiclass import Hierarchy
from hiclass.metrics import f1, fbeta, precision, recall

# Row 1 is right, row 2 goes wrong at level 2, row 3 at level 1, row 4 stops early.
TRUE = [["A", "x"], ["A", "y"], ["B", "x"], ["B", "x"]]
PRED = [["A", "x"], ["A", "x"], ["A", "x"], ["B"]]
# |common| 2 1 0 1 = 4, |predicted| 2 2 2 1 = 7, |true| 2 2 2 2 = 8
ANY_AVERAGE = ["micro", "samples", "macro", "weighted", None]


def test_micro_by_hand():
    assert precision(TRUE, PRED) == 4 / 7
    assert recall(TRUE, PRED) == 4 / 8
    assert f1(TRUE, PRED) == pytest.approx(8 / 15, abs=1e-15)
    assert fbeta(TRUE, PRED, beta=2) == pytest.approx(5 * 4 / (4 * 8 + 7), abs=1e-15)
    assert fbeta(TRUE, PRED, beta=0) == precision(TRUE, PRED)
    assert fbeta(TRUE, PRED, beta=math.inf) == recall(TRUE, PRED)
    assert fbeta(TRUE, PRED, beta=1e200) == recall(TRUE, PRED)


def test_samples_by_hand():
    assert precision(TRUE, PRED, average="samples") == (1 + 1 / 2 + 0 + 1) / 4
    assert recall(TRUE, PRED, average="samples") == (1 + 1 / 2 + 0 + 1 / 2) / 4
    assert f1(TRUE, PRED, average="samples") == pytest.approx((1 + 1 / 2 + 0 + 2 / 3) / 4)


def test_per_node_by_hand():
    # Nodes: root, A, A/x, A/y, B, B/x with
    # common 2 1 0 1 0, predicted 3 3 0 1 0, true 2 1 1 2 2.
    result = precision(TRUE, PRED, average=None, zero_division=0)
    np.testing.assert_allclose(result, [np.nan, 2 / 3, 1 / 3, 0, 1, 0])
    np.testing.assert_allclose(recall(TRUE, PRED, average=None), [np.nan, 1, 1, 0, 1 / 2, 0])
    np.testing.assert_allclose(f1(TRUE, PRED, average=None), [np.nan, 4 / 5, 1 / 2, 0, 2 / 3, 0])


def test_macro_and_weighted_by_hand():
    assert recall(TRUE, PRED, average="macro") == (1 + 1 + 0 + 1 / 2 + 0) / 5
    assert recall(TRUE, PRED, average="weighted") == (2 + 1 + 0 + 1 + 0) / 8
    assert f1(TRUE, PRED, average="macro") == pytest.approx((4 / 5 + 1 / 2 + 2 / 3) / 5)


def test_homonyms_are_different_classes():
    assert f1([["A", "Other"]], [["B", "Other"]]) == 0
    assert f1([["x", "y"]], [["y", "x"]]) == 0


@pytest.mark.parametrize("metric", [precision, recall, f1])
@pytest.mark.parametrize("average", ["micro", "samples", "macro", "weighted"])
def test_the_average_may_be_given_by_position(metric, average):
    options = {"zero_division": 0.0}
    by_name = metric(TRUE, PRED, average=average, **options)
    assert metric(TRUE, PRED, average, **options) == by_name


@pytest.mark.parametrize("average", ["binary", 3, ["micro"], np.array([1, 2])], ids=str)
def test_what_is_no_average_is_refused_with_the_names(average):
    with pytest.raises(ValueError, match=r"is unknown\. Use one of 'micro', 'samples', 'macro', "):
        f1(TRUE, PRED, average)


def test_nodes_of_a_given_hierarchy_that_do_not_occur_are_nan_and_not_averaged():
    h = Hierarchy.from_paths([["A", "x"], ["A", "y"], ["B", "x"], ["C", "z"]])
    per_node = f1(TRUE, PRED, average=None, hierarchy=h)
    assert per_node.shape == (h.n_nodes,)
    assert np.isnan(per_node[[0, h.find("C"), h.find("z")]]).all()
    assert per_node[h.find(("A", "x"))] == 1 / 2
    assert f1(TRUE, PRED, average="macro", hierarchy=h) == f1(TRUE, PRED, average="macro")


def test_labels_of_a_given_tree():
    edges = {"animal": ["cat", "dog"], "plant": ["oak"]}
    # Most specific labels: {animal, cat} against {animal, dog}, {plant, oak} against {plant}.
    assert f1(["cat", "oak"], ["dog", "plant"], hierarchy=edges) == 2 * 2 / (4 + 3)
    assert f1(["cat", "oak"], ["dog", "plant"]) == 0


def test_a_node_with_several_parents_counts_all_its_ancestors():
    edges = [("pet", "cat"), ("feline", "cat"), ("feline", "lion"), ("animal", "feline")]
    # cat: cat, pet, feline, animal; lion: lion, feline, animal; pet: pet.
    y_true, y_pred = ["cat", "lion", "cat"], ["lion", "lion", "pet"]
    assert precision(y_true, y_pred, hierarchy=edges) == (2 + 3 + 1) / (3 + 3 + 1)
    assert recall(y_true, y_pred, hierarchy=edges) == (2 + 3 + 1) / (4 + 3 + 4)
    assert f1(y_true, y_pred, hierarchy=edges, average="samples") == pytest.approx(
        (4 / 7 + 1 + 2 / 5) / 3
    )
    h = Hierarchy.from_edges(edges)
    by_node = dict(zip(h.labels, recall(y_true, y_pred, hierarchy=h, average=None), strict=True))
    assert by_node.pop(None) is not None
    assert by_node == {"animal": 2 / 3, "feline": 2 / 3, "lion": 1, "pet": 1 / 2, "cat": 0}
    weights = [2, 1, 0]
    assert recall(y_true, y_pred, hierarchy=h, sample_weight=weights) == (2 * 2 + 3) / (2 * 4 + 3)
    assert recall(y_true, y_pred, hierarchy=h, sample_weight=weights, average="macro") == (
        pytest.approx((1 + 1 + 1 + 0 + 0) / 5)
    )
    empty = precision(["cat", "lion"], ["", "cat"], hierarchy=h)
    assert empty == 2 / 4


@pytest.mark.parametrize("average", ANY_AVERAGE)
@pytest.mark.parametrize("fill", [0.0, 1.0, np.nan])
@settings(max_examples=20)
@given(rows=reference.labelled_rows(weighted=True), beta=st.sampled_from([0, 0.5, 1, 2, math.inf]))
def test_equals_the_literal_implementation(rows, beta, average, fill):
    y_true, y_pred, weight = reference.as_input(rows)
    result = fbeta(
        y_true, y_pred, beta=beta, average=average, sample_weight=weight, zero_division=fill
    )
    expected = reference.set_score(rows, beta, average, fill)
    if average is None:
        h = Hierarchy.from_paths([[*t] for t, *_ in rows] + [[*p] for _, p, _ in rows if p])
        assert result.shape == (h.n_nodes,)
        result = {h.path(v): result[v] for v in range(1, h.n_nodes)}
        for v in result:
            np.testing.assert_allclose(result[v], expected.get(v, np.nan), rtol=1e-12)
    else:
        assert isinstance(result, float)
        np.testing.assert_allclose(result, expected, rtol=1e-12)


@settings(max_examples=25)
@given(rows=reference.labelled_rows(weighted=True))
def test_a_tree_gives_the_same_by_table_and_by_closure(rows):
    # One more class with two parents makes the same tree a DAG, which takes the other way.
    y_true, y_pred, weight = reference.as_input(rows)
    names = ["/".join(v) for v in sorted(reference.all_nodes(rows)) if v]
    edges = [(name.rpartition("/")[0] or None, name) for name in names]
    both = [*edges, (None, "p"), (None, "q"), ("p", "z"), ("q", "z")]
    true, pred = (["/".join(filter(None, row)) for row in y] for y in (y_true, y_pred))
    for average in ANY_AVERAGE:
        for metric in (precision, recall):
            kwargs = {"average": average, "sample_weight": weight, "zero_division": np.nan}
            expected = metric(y_true, y_pred, **kwargs)
            for graph in (edges, both):
                result = metric(true, pred, hierarchy=graph, **kwargs)
                if average is None:
                    h = Hierarchy.from_edges(graph)
                    result = result[[0, *(h.find(name) for name in names)]]
                np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize("as_paths", [False, True])
def test_one_level_is_accuracy(as_paths):
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.integers(0, 5, (2, 200))
    weight = rng.random(200)
    given = [y[:, None] if as_paths else y for y in (y_true, y_pred)]
    for metric in (precision, recall, f1):
        expected = accuracy_score(y_true, y_pred, sample_weight=weight)
        assert metric(*given, sample_weight=weight) == pytest.approx(expected)


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, np.nan])
def test_one_level_is_scikit_learn_for_every_average(average, zero_division):
    rng = np.random.default_rng(1)
    y_true, y_pred = rng.integers(0, 6, 30), rng.integers(3, 9, 30)
    weight = rng.random(30)
    kwargs = {"average": average, "sample_weight": weight, "zero_division": zero_division}
    for ours, theirs in (
        (precision, precision_score),
        (recall, recall_score),
        (lambda *a, **k: fbeta(*a, beta=0.7, **k), lambda *a, **k: fbeta_score(*a, beta=0.7, **k)),
    ):
        result = ours(y_true, y_pred, **kwargs)
        result = result[1:] if average is None else result
        np.testing.assert_allclose(result, theirs(y_true, y_pred, **kwargs), rtol=1e-12)


@pytest.mark.parametrize(
    ("metric", "average", "message"),
    [
        (precision, "micro", "Precision is ill-defined for the data without predictions"),
        (precision, "samples", r"Precision is ill-defined for 2 row\(s\) without predictions"),
        (precision, "macro", r"Precision is ill-defined for 3 class\(es\) without predictions"),
    ],
)
def test_one_warning_per_call(metric, average, message):
    with pytest.warns(UndefinedMetricWarning, match=message) as caught:
        assert metric([["A", "x"], ["A", "y"]], [["", ""]] * 2, average=average) == 0.0
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_recall_of_classes_that_are_never_true_warns_once():
    with pytest.warns(UndefinedMetricWarning, match="without true labels") as caught:
        assert recall([["A"], ["A"]], [["B"], ["C"]], average="macro") == 0.0
    assert len(caught) == 1


def test_zero_division_says_what_an_undefined_value_is():
    y_true, y_pred = [["A", "x"], ["B", "y"]], [["A", "x"], ["", ""]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert precision(y_true, y_pred, average="samples", zero_division=1) == 1.0
        assert precision(y_true, y_pred, average="samples", zero_division=0) == 0.5
        assert precision(y_true, y_pred, average="samples", zero_division=np.nan) == 1.0
        assert math.isnan(precision(y_true[1:], y_pred[1:], zero_division=np.nan))


@pytest.mark.parametrize(
    "spell",
    [
        lambda y: y,
        lambda y: np.array(y, dtype=object),
        lambda y: [[label for label in path if label] for path in y],
        lambda y: [[label or None for label in path] for path in y],
        lambda y: pd.DataFrame(y).replace("", np.nan),
    ],
    ids=["lists", "array", "ragged", "None", "pandas"],
)
def test_every_form_of_labels_gives_the_same(spell):
    y_true = [["A", "x"], ["A", "y"], ["B", ""]]
    y_pred = [["A", "x"], ["A", ""], ["B", "x"]]
    assert f1(spell(y_true), spell(y_pred)) == 2 * 4 / (5 + 5)


def test_integers_are_labels_as_they_are():
    assert f1(np.array([[1, 10], [2, 20]]), np.array([[1, 10], [2, 21]])) == 0.75
    assert f1(np.array([[1.0, np.nan]]), np.array([[1.0, 3.0]])) == pytest.approx(2 / 3)


@pytest.mark.parametrize("average", ["binary", "Micro", "", 1])
def test_an_unknown_average_is_an_error(average):
    with pytest.raises(ValueError, match=r"average=.* is unknown. Use one of 'micro'"):
        f1(TRUE, PRED, average=average)


@pytest.mark.parametrize("beta", [-1, math.nan, "1", None])
def test_a_bad_beta_is_an_error(beta):
    with pytest.raises(ValueError, match="beta="):
        fbeta(TRUE, PRED, beta=beta)


@pytest.mark.parametrize("zero_division", ["ignore", 2, None, 0.5])
def test_a_bad_zero_division_is_an_error(zero_division):
    with pytest.raises(ValueError, match="zero_division="):
        f1(TRUE, PRED, zero_division=zero_division)
