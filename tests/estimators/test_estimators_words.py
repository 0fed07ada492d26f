"""Texts of classes as training rows."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from hiclass import FlatClassifier, Hierarchy, add_class_texts
from hiclass._estimators import words
from hiclass._estimators.words import distinct_texts

TEXTS = {("a",): "above", ("a", "x"): ["one", "two", "three"], ("b",): "bees"}


def test_texts_of_final_classes_follow_the_rows():
    X, y, weights = add_class_texts(["row"], [["a", "x"]], TEXTS, weight=0.5)
    assert X == ["row", "one", "two", "three", "bees"]
    assert y.tolist() == [["a", "x"]] * 4 + [["b", ""]]
    assert weights.tolist() == [1, 0.5, 0.5, 0.5, 0.5]


def test_there_need_be_no_rows():
    X, y, weights = add_class_texts(None, None, TEXTS)
    assert X == ["one", "two", "three", "bees"]
    assert y[-1].tolist() == ["b", ""]
    assert weights.tolist() == [1.0] * 4


def test_weights_of_rows_are_kept_and_texts_have_their_mean():
    weights = add_class_texts(["r", "s"], ["p", "q"], {"q": "Q"}, sample_weight=[1.0, 3.0])[2]
    assert weights.tolist() == [1.0, 3.0, 2.0]


def test_the_first_texts_of_classes_come_first_where_there_are_too_many():
    assert add_class_texts(None, None, TEXTS, max_texts=3)[0] == ["one", "two", "bees"]
    assert add_class_texts(None, None, TEXTS, max_texts=0)[0] == ["one", "bees"]


def test_an_inner_class_with_rows_of_its_own_is_final():
    X, y, _ = add_class_texts(["row"], [["a", ""]], TEXTS)
    assert X == ["row", "above", "one", "two", "three", "bees"]
    assert y[1].tolist() == ["a", ""]


def test_a_pipeline_learns_classes_without_rows():
    tree = Hierarchy.from_paths([["a", "x"], ["b", "y"]], texts={"x": "apples", "y": "pears"})
    X, y, weights = add_class_texts(["an apple"], [["a", "x"]], hierarchy=tree)
    model = FlatClassifier(make_pipeline(TfidfVectorizer(), LinearSVC())).fit(X, y, weights)
    assert model.predict(["pears"]).tolist() == [["b", "y"]]


@pytest.mark.parametrize("most", [-5, 1.5, "3", True])
def test_a_number_of_texts_that_is_none_is_an_error(most):
    with pytest.raises(ValueError, match="max_texts must be a whole number"):
        add_class_texts(None, None, TEXTS, max_texts=most)


@pytest.mark.parametrize("weight", [0, -1, np.inf, np.nan, "1", True])
def test_a_weight_that_is_none_is_an_error(weight):
    with pytest.raises(ValueError, match="weight must be a positive number"):
        add_class_texts(None, None, TEXTS, weight=weight)


def test_rows_without_labels_are_an_error():
    with pytest.raises(ValueError, match="both X and y"):
        add_class_texts(["row"], None, TEXTS)


def test_texts_that_say_nearly_the_same_are_not_distinct():
    texts = [
        "fracture of the left arm, first visit",
        "fracture of the left arm, second visit",
        "burn of a hand",
        "Fracture of the left ARM - first visit",
        "fracture of the left arm, first visit",
        "?!",
    ]
    nodes = np.array([1, 1, 1, 1, 2, 2])
    # The fifth is that of another class; a text without words is like no other one.
    assert distinct_texts(texts, nodes).tolist() == [True, False, True, False, True, True]
    assert distinct_texts(["..", "!"], np.array([1, 1])).all()
    assert distinct_texts([], np.empty(0, dtype=int)).tolist() == []


def test_texts_of_many_and_of_large_classes_are_compared_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    nodes = np.repeat(np.arange(40), rng.integers(1, 9, 40))
    texts = [f"word{rng.integers(3)}" for _ in nodes]
    expected = [
        (t, v) not in zip(texts[:i], nodes[:i], strict=True)
        for i, (t, v) in enumerate(zip(texts, nodes, strict=True))
    ]
    assert distinct_texts(texts, nodes).tolist() == expected
    monkeypatch.setattr(words, "_AT_ONCE", 5)
    assert distinct_texts(texts, nodes).tolist() == expected
    parts = list(words._parts(nodes))
    assert np.concatenate([np.arange(len(nodes))[part] for part in parts]).tolist() == list(
        range(len(nodes))
    )
    assert all(not np.isin(nodes[a], nodes[b]).any() for a, b in pairwise(parts))
    monkeypatch.setattr(words, "_OF_CLASS", 2)
    # What is in another part is not compared: more texts stay, and none that was there is lost.
    assert (distinct_texts(texts, nodes) >= np.array(expected)).all()
    assert max(len(nodes[part]) for part in words._parts(nodes)) <= 5


def test_texts_of_classes_below_all_rows_keep_their_labels():
    texts = {("a", "x", "deep"): "one", ("b", "y"): "two"}
    X, y, _ = add_class_texts(["row"], [["b"]], texts)
    assert X == ["row", "one", "two"]
    assert y.tolist() == [["b", "", ""], ["a", "x", "deep"], ["b", "y", ""]]
    # Labels are not cut off, either.
    y = add_class_texts(["row"], np.array([["b"]]), texts)[1]
    assert y.tolist() == [["b", "", ""], ["a", "x", "deep"], ["b", "y", ""]]
