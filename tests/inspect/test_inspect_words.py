"""Texts of classes in explanations and reports."""

import json
import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from hiclass import ClassTextClassifier, EnsembleClassifier, FlatClassifier, explain, make_report

TEXTS = {
    ("P",): "Pets",
    ("P", "c"): ["Cats", "small felines that purr"],
    ("P", "d"): ["Dogs", "canines that bark"],
    ("F", "w"): ["Cows", "cattle that give milk"],
}
X = ["it will purr", "a bark", "purr and purr", "they bark", "a feline", "a canine"] * 2
Y = [["P", "c"], ["P", "d"]] * 6


@pytest.fixture(scope="module")
def model():
    return ClassTextClassifier(class_texts=TEXTS).fit(X, Y)


def test_every_step_shows_titles_the_nearest_text_and_words_in_common(model):
    found = explain(model, "cattle and milk", top=3, k=1)
    assert found.path == ("F", "w")
    first, second = found.steps
    assert (first.text, second.text) == (None, "Cows")
    assert first.runners_up[0].text == "Pets"
    (reason,) = first.reasons
    assert reason.kind == "words"
    assert reason.note.startswith("nearest text: 'cattle that give milk' (0.")
    assert "; in the runner-up: " in reason.note
    words = [feature.name for feature in reason.features]
    assert set(words[:2]) == {"cattle", "milk"}
    weights = [feature.weight for feature in reason.features]
    assert weights == sorted(weights, reverse=True)
    text = str(found)
    assert "2. w: Cows" in text
    assert "runner-up: P: Pets" in text
    assert "words of classes, nearest text: 'cattle that give milk'" in text
    page = found._repr_html_()
    assert "w: Cows" in page
    assert json.loads(json.dumps(found.to_dict()))["steps"][1]["text"] == "Cows"


def test_all_shared_words_together_are_the_similarity(model):
    (reason,) = explain(model, "milk of cattle", top=1000).steps[1].reasons
    shown = float(re.search(r"\((0\.\d+)\)", reason.note).group(1))
    assert abs(sum(feature.weight for feature in reason.features) - shown) < 0.006


def test_an_encoder_without_names_shows_texts_only():
    def encode(texts):
        return np.array([[t.count("a") + 1.0, t.count("i"), t.count("l")] for t in texts])

    model = ClassTextClassifier(encode, class_texts=TEXTS).fit(X, Y)
    (reason,) = explain(model, "milk").steps[0].reasons
    assert "nearest text" in reason.note
    assert reason.features == []


def test_a_branch_without_texts_has_none_to_show():
    y = [["P", "c"], ["G", "x"]] * 6
    model = ClassTextClassifier(class_texts={("P", "c"): "Cats purr"}).fit(X, y)
    (reason,) = explain(model, "bark").steps[0].reasons
    assert reason.note == "there are no texts here"


def test_an_ensemble_shows_rows_and_words():
    flat = FlatClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)))
    both = EnsembleClassifier([("rows", flat)], class_texts=TEXTS).fit(X, Y)
    found = explain(both, "it will purr")
    assert [r.member for r in found.steps[0].reasons] == ["rows", "class_texts"]
    assert [r.kind for r in found.steps[0].reasons] == ["linear", "words"]


def test_a_report_shows_titles_of_classes_also_beside_classes_that_are_new(model):
    known = make_report(model, X, Y)
    nodes = known.data["nodes"]
    titles = dict(zip(nodes["label"], nodes["text"], strict=True))
    assert {k: titles[k] for k in "PcdFw"} == {
        "P": "Pets",
        "c": "Cats",
        "d": "Dogs",
        "F": None,
        "w": "Cows",
    }
    new = make_report(model, [*X, "a goat"], [*Y, ["F", "goat"]]).data["nodes"]
    assert dict(zip(new["label"], new["text"], strict=True))["goat"] is None
    flat = FlatClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression())).fit(X, Y)
    assert "text" not in make_report(flat, X, Y).data["nodes"]
