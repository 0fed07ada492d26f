"""``min_confidence``: what it may be, and where paths stop with thresholds per level and class."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from hiclass import (
    ClassTextClassifier,
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    HierarchicalClassifier,
    Hierarchy,
    LocalClassifierPerParentNode,
)
from hiclass._inference.confidence import (
    as_json,
    check_min_confidence,
    in_words,
    is_set,
    thresholds_of,
)
from hiclass.datasets import make_hierarchical_classification

TREE = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b", "x"], ["b", "z"]])
# nodes: 0 root, 1 a, 2 a/x, 3 a/y, 4 b, 5 b/x, 6 b/z


def test_a_number_is_the_threshold_of_all_nodes():
    assert thresholds_of(0.5, TREE) == 0.5
    assert thresholds_of(np.float32(0.5), TREE) == 0.5


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_a_sequence_has_a_threshold_per_level(kind):
    assert thresholds_of(kind([0.3, 0.7]), TREE).tolist() == [0, 0.3, 0.7, 0.7, 0.3, 0.7, 0.7]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({("a",): 0.5}, [0, 0.5, 0.5, 0.5, 0, 0, 0]),
        ({"a": 0.5, ("a", "y"): 0.1}, [0, 0.5, 0.5, 0.1, 0, 0, 0]),
        ({("a", "y"): 0.1, "a": 0.5}, [0, 0.5, 0.5, 0.1, 0, 0, 0]),
        ({(): 0.2, "z": 0.9}, [0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.9]),
        ({(): [0.2, 0.3], "b": [0.5, np.inf]}, [0, 0.2, 0.3, 0.3, 0.5, np.inf, np.inf]),
        ({}, [0] * 7),
    ],
)
def test_a_class_shares_its_threshold_with_what_is_below_and_not_named(given_, expected):
    assert thresholds_of(given_, TREE).tolist() == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0.5], "has 1 numbers, but the hierarchy has 2 levels"),
        ([0.5] * 3, "has 3 numbers, but the hierarchy has 2 levels"),
        ({"a": [0.5]}, "has 1 numbers"),
        ({("c",): 0.5}, "c"),
        ({"x": 0.5}, "x"),  # two classes have this label
    ],
)
def test_what_does_not_fit_the_hierarchy_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        thresholds_of(value, TREE)


class NeverFitted(DummyClassifier):
    """A classifier that must not get as far as being fitted."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("something was fitted before the thresholds were checked")


@pytest.mark.parametrize(
    "model",
    [
        LocalClassifierPerParentNode(NeverFitted()),
        FlatClassifier(NeverFitted()),
        GlobalClassifier(NeverFitted(), level_weight=1),
        EnsembleClassifier([("a", FlatClassifier()), ("b", FlatClassifier(NeverFitted()))]),
        EnsembleClassifier([("a", FlatClassifier(NeverFitted()))], class_texts="labels"),
        HierarchicalClassifier(NeverFitted()),
        HierarchicalClassifier(NeverFitted(), class_texts="labels"),
        ClassTextClassifier(class_texts="labels"),
    ],
)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0.5], "min_confidence has 1 numbers, but the hierarchy has 2 levels"),
        ({("a", "z"): 0.5}, "'z'"),
    ],
)
def test_thresholds_that_do_not_suit_the_classes_are_found_before_anything_is_fitted(
    model, value, message
):
    X = ["one word", "two words", "three words", "four words"] * 5
    y = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "z"]] * 5
    if not isinstance(model, ClassTextClassifier) and getattr(model, "class_texts", None) is None:
        X = np.arange(20.0).reshape(-1, 1)
    model = clone(model).set_params(min_confidence=value)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "hierarchy_")


@pytest.mark.parametrize(
    "value", [[0.5, -0.1], [0.5, "high"], {"a": -1}, {"a": [0.1, np.nan]}, {"a": None}, [True]]
)
def test_what_is_not_a_threshold_is_refused(value):
    with pytest.raises(
        ValueError,
        match=r"min_confidence has .* .* at least 0; with inf",
    ):
        check_min_confidence(value)
    model = LocalClassifierPerParentNode(min_confidence=value)
    with pytest.raises(ValueError, match="min_confidence has"):
        model.fit([[0.0], [1.0]], ["a", "b"])


@pytest.mark.parametrize("value", [0.5, [0.0, 2.0], (1, 0), np.array([0.2]), {"a": np.inf}])
def test_thresholds_are_numbers_of_at_least_0(value):
    check_min_confidence(value)
    assert is_set(value)


def test_thresholds_of_zero_end_no_path():
    assert not any(is_set(value) for value in (0, 0.0, [0, 0], {}, {"a": 0.0, "b": [0, 0]}))


def test_thresholds_as_data_and_in_words():
    assert as_json(0.5) == 0.5
    assert as_json((0.5, np.inf)) == [0.5, None]
    assert as_json({("a", "x"): 0.5, "b": [0, 1]}) == [
        {"class": ["a", "x"], "threshold": 0.5},
        {"class": "b", "threshold": [0.0, 1.0]},
    ]
    assert in_words(0.25) == "0.25"
    assert in_words([0.25, np.inf]) == "the threshold of its level (0.25, inf)"
    assert in_words({"a": 1}) == "the threshold of its class"


@pytest.fixture(scope="module")
def fitted():
    X, y = make_hierarchical_classification(
        300, 5, branching=[2, 3, 2], noise=1.5, random_state=0, return_X_y=True
    )
    parent = LocalClassifierPerParentNode().fit(X[:200], y[:200])
    flat = FlatClassifier().fit(X[:200], y[:200])
    both = EnsembleClassifier([("a", LocalClassifierPerParentNode()), ("b", FlatClassifier())])
    return {"parent": parent, "flat": flat, "both": both.fit(X[:200], y[:200])}, X[200:]


@pytest.mark.parametrize("name", ["parent", "flat", "both"])
@given(
    levels=st.lists(st.sampled_from([0, 0.2, 0.5, 0.8, np.inf]), min_size=3, max_size=3),
    node=st.integers(1, 20),
    own=st.sampled_from([0.0, 0.4, 0.9]),
    decoding=st.sampled_from(["best_path", "expected_f1"]),
)
def test_every_label_reaches_its_threshold_and_the_next_one_does_not(
    fitted, name, levels, node, own, decoding
):
    models, X = fitted
    model = copy.copy(models[name]).set_params(decoding=decoding, expected_f1=0.8)
    tree = model.hierarchy_
    whole, confidence = model.predict(X), model.predict_confidence(X)
    for min_confidence in (levels, {(): levels, tree.path(node): own}):
        model.set_params(min_confidence=min_confidence)
        limit = thresholds_of(min_confidence, tree)
        short, sure = model.predict(X), model.predict_confidence(X)
        for i in range(len(X)):
            path = [label for label in whole[i] if label != ""]
            nodes = [tree.find(tuple(path[: k + 1])) for k in range(len(path))]
            length = next(
                (k for k, v in enumerate(nodes) if confidence[i, k] < limit[v]), len(nodes)
            )
            assert [label for label in short[i] if label != ""] == path[:length]
            np.testing.assert_array_equal(sure[i, :length], confidence[i, :length])
            assert np.isnan(sure[i, length:]).all()
