"""The model card: the same numbers as the page, in Markdown that no label can break."""

import json

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from hiclass import (
    LocalClassifierPerParentNode,
    compare_use,
    find_label_errors,
    guarantee_error,
    make_report,
)
from hiclass._inspect.report._card import escape
from hiclass.datasets import make_hierarchical_classification


@pytest.fixture(scope="module")
def data():
    return make_hierarchical_classification(900, branching=2, random_state=0, return_X_y=True)


def cells(card, section):
    """The rows of the tables of a section."""
    text = card.split(f"## {section}\n")[1].split("\n## ")[0]
    return [
        [c.strip() for c in line.strip("|").split(" | ")]
        for line in text.split("\n")
        if "|" in line
    ]


def test_its_numbers_are_those_of_the_report(data):
    X, y = data
    model = LocalClassifierPerParentNode().fit(X[:400], y[:400])
    report = make_report(model, X[700:], y[700:], title="Things")
    card = report.to_markdown()
    scores = report.data["scores"]
    rows = cells(card, "Evaluation")
    expected = [f"{scores[name]:.3f}" for name in ("precision", "recall", "f1", "exact")]
    assert [c.strip() for c in rows[2]] == expected
    predicted = model.predict(X[700:])
    accuracy = [float(row[2]) for row in rows[5:]]
    np.testing.assert_allclose(accuracy, (predicted == y[700:]).mean(axis=0), atol=5e-4)
    mistakes = cells(card, "Errors")
    assert sum(int(row[2]) for row in mistakes[2:12]) <= (predicted != y[700:]).any(axis=1).sum()
    # By hand: the longest run of surest rows of level 1 without a wrong one is all of them.
    assert cells(card, "Automation")[2][1:] == ["100.0%"] * 3
    assert "The model has no guarantee." in card
    assert card.startswith("---\nlibrary_name: hiclass\n")
    assert 'model_name: "Things"' in card


def test_a_guarantee_changes_and_labels_have_their_lines(data):
    X, y = data
    model = LocalClassifierPerParentNode().fit(X[:400], y[:400])
    guarantee_error(model, X[400:700], y[400:700], 0.1, levels=1).apply(model)
    use = compare_use(model, X[400:700], X[700:] + 3)
    errors = find_label_errors(model, X[:200], y[:200], cv=2)
    card = make_report(model, X[700:], y[700:], use=use, label_errors=errors).to_markdown()
    assert "from 300 calibration rows, with a certainty of 95%" in card
    assert "| 1 |  | 0.1 | 100.0% |" in card
    assert "Significant changes from 300 old rows to 200 new rows: " in card
    assert "50 rows with probably wrong labels are listed in the report." in card
    same = compare_use(model, X[400:700], X[400:700])
    card = make_report(model, X[700:], y[700:], use=same).to_markdown()
    assert "No significant change from 300 old rows to 300 new rows." in card


def test_labels_cannot_break_it():
    evil = "a|b\n# x <script>alert(1)</script> `c` [l](http://e) *"
    X = [[float(i)] for i in range(20)]
    y = [[evil] if i < 10 else ["other"] for i in range(20)]
    card = make_report(
        LocalClassifierPerParentNode().fit(X, y), X, y[::-1], title=f"{evil}\n---"
    ).to_markdown()
    assert "<script>" not in card.split("---", 2)[2]
    assert "\n# x" not in card
    header = card.split("\n---\n")[0].split("model_name: ")[1]
    assert json.loads(header) == f"{evil}\n---"
    assert escape("a|b\nc*") == r"a\|b c\*"
    for row in cells(card, "Errors")[2:]:
        assert len(row) == 3


def test_perfect_models_and_those_without_probabilities_have_one_too():
    X, y = [[0.0], [1.0]] * 5, [["A"], ["B"]] * 5
    card = make_report(LocalClassifierPerParentNode(LinearSVC()).fit(X, y), X, y).to_markdown()
    assert "No class is confused with another." in card
    assert "## Automation" not in card


def test_a_name_that_ends_with_md_is_a_card(data, tmp_path):
    X, y = data
    report = make_report(LocalClassifierPerParentNode().fit(X[:100], y[:100]), X[:200], y[:200])
    report.save(tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == report.to_markdown()
    report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == report.html
