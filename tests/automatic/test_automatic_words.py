"""The estimator to start with, where classes have texts."""

import numpy as np
import pytest
import skops.io
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import hiclass
from hiclass import EnsembleClassifier, HierarchicalClassifier, Hierarchy
from hiclass._automatic import words

TEXTS = {
    ("animal", "cat"): ["cats", "purr meow feline whiskers"],
    ("animal", "dog"): ["dogs", "bark wolf canine fetch"],
    ("plant", "fern"): ["ferns", "frond spore moss green"],
    ("plant", "rose"): ["roses", "thorn petal scent red"],
}
X = ["purr whiskers", "meow feline", "bark fetch", "wolf bark", "spore moss", "green frond"] * 2
Y = [list(path) for path in list(TEXTS)[:3] for _ in range(2)] * 2


def test_class_texts_add_classes_without_rows():
    model = HierarchicalClassifier(class_texts=TEXTS, random_state=0).fit(X, Y)
    assert model.predict(["a petal", "a wolf"])[:, 1].tolist() == ["rose", "dog"]
    assert isinstance(model.model_, EnsembleClassifier)
    assert "words of classes" in model.choices_["model"]
    assert "words of classes" in repr(model)
    np.testing.assert_allclose(model.predict_proba(["moss"])[1].sum(), 1)


def test_no_rows_are_needed():
    model = HierarchicalClassifier(class_texts=TEXTS).fit(None, None)
    assert model.predict(["thorn", "canine"])[:, 1].tolist() == ["rose", "dog"]


def test_a_hierarchy_with_texts_is_enough_where_rows_are_texts():
    tree = Hierarchy.from_paths([list(path) for path in TEXTS], texts=TEXTS)
    model = HierarchicalClassifier(hierarchy=tree).fit(X, Y)
    assert model.predict(["petal"]).tolist() == [["plant", "rose"]]
    assert HierarchicalClassifier(hierarchy=tree).fit().predict(["petal"])[0, 1] == "rose"
    numbers = HierarchicalClassifier(hierarchy=tree).fit(np.arange(12.0)[:, None], Y)
    assert (
        not isinstance(numbers.model_, EnsembleClassifier)
        or "rows" not in numbers.choices_["model"]
    )


@pytest.mark.parametrize("effort", ["quick", "balanced", "best"])
def test_every_effort_and_objective_serves(effort):
    model = HierarchicalClassifier(class_texts=TEXTS, effort=effort, optimize="f1").fit(X, Y)
    assert model.decoding == "expected_f1"
    assert model.predict(["petal"])[0, 0] == "plant"
    assert hasattr(model.model_, "class_weights_") == (effort != "quick")


def test_a_given_classifier_learns_from_rows(monkeypatch):
    given = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model = HierarchicalClassifier(given, class_texts=TEXTS).fit(X, Y)
    assert model.choices_["model"].startswith("rows: a Pipeline over all final classes")
    monkeypatch.setattr(words, "_MOST_FLAT", 1)
    model = HierarchicalClassifier(class_texts=TEXTS).fit(X, Y)
    assert "per parent node" in model.choices_["model"]


def test_what_words_are_not_for_is_an_error():
    with pytest.raises(ValueError, match="one path per row"):
        HierarchicalClassifier(class_texts=TEXTS, multi_label=True).fit(X, Y)
    with pytest.raises(ValueError, match="one path per row"):
        HierarchicalClassifier(class_texts=TEXTS, optimize=lambda e, X, y: 0.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"threshold=0\.3 selects sets of classes"):
        HierarchicalClassifier(class_texts=TEXTS, threshold=0.3).fit(X, Y)


def test_files_and_decisions(tmp_path):
    model = HierarchicalClassifier(class_texts=TEXTS).fit(X, Y)
    skops.io.dump(model, tmp_path / "model.skops")
    again = hiclass.load(tmp_path / "model.skops")
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.hierarchy is None
    assert again.hierarchy_ == model.hierarchy_
    assert set(again.class_texts) == set(TEXTS)
    assert set(model.restricted_to([("plant",)]).predict(X)[:, 0]) == {"plant"}
    steps, inner = model._opened()
    assert steps == []
    assert inner.predict(X).tolist() == model.predict(X).tolist()
