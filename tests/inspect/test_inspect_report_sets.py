"""The report on sets of classes: its numbers by hand and by the metrics, and what it refuses."""

import json
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import (
    FlatClassifier,
    HierarchicalClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    find_label_errors,
    make_report,
    metrics,
)

PETS = {"pet": ["cat", "dog"], "feline": ["cat", "lion"], "canine": ["dog", "wolf"]}
KINDS = [["cat"], ["lion"], ["dog"], ["wolf"], ["cat", "dog"]]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 5, 200)
    places = np.array([[5, 5, 0], [0, 5, 0], [5, 0, 5], [0, 0, 5], [5, 5, 5]], dtype=float)
    X = places[kind] + rng.normal(scale=2.5, size=(200, 3))
    y = np.empty(200, dtype=object)
    y[:] = [KINDS[k] for k in kind]
    return X, y


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    model = LocalClassifierPerParentNode(hierarchy=PETS, multi_label=True, threshold="tuned")
    return model.fit(X[:120], y[:120])


def test_the_numbers_are_those_of_the_metrics(fitted, data):
    X, y = data[0][120:], data[1][120:]
    page = make_report(fitted, X, y, title="Pets").data
    predicted, proba = fitted.predict(X), fitted.predict_node_proba(X)
    options = {"hierarchy": fitted.hierarchy_, "multi_label": True}
    assert page["scores"] == pytest.approx({
        "precision": metrics.precision(y, predicted, **options),
        "recall": metrics.recall(y, predicted, **options),
        "f1": metrics.f1(y, predicted, **options),
        "jaccard": metrics.jaccard(y, predicted, zero_division=0.0, **options),
        "exact": metrics.exact_match(y, predicted, **options),
        "area": metrics.average_precision(y, proba, **options),
        "area_macro": metrics.average_precision(y, proba, average="macro", **options),
        "area_weighted": metrics.average_precision(y, proba, average="weighted", **options),
        "coverage_error": metrics.coverage_error(y, proba, **options),
        "ranking_loss": metrics.ranking_loss(y, proba, **options),
    })  # fmt: skip
    areas = metrics.average_precision(y, proba, per_level=True, **options)
    assert [row["area"] for row in page["levels"]] == pytest.approx(areas.tolist())
    each = metrics.average_precision(y, proba, average=None, **options)
    np.testing.assert_allclose(page["nodes"]["area"][1:], each[1:], atol=6e-5)
    f1 = metrics.f1(y, predicted, average=None, zero_division=0.0, **options)
    nodes = page["nodes"]
    for v in range(1, fitted.hierarchy_.n_nodes):
        total = nodes["support"][v] + nodes["predicted"][v]
        assert 2 * nodes["right"][v] / total == pytest.approx(f1[v])
    assert page["rows"] == 80
    assert page["model"]["local_classifiers"] == ["LogisticRegression"]


def test_shared_classes_are_there_once_with_all_parents(fitted, data):
    page = make_report(fitted, data[0][120:], data[1][120:]).data
    labels = page["nodes"]["label"]
    assert labels.count("cat") == 1
    parents = page["nodes"]["parents"][labels.index("cat")]
    assert {labels[v] for v in parents} == {"pet", "feline"}
    assert page["nodes"]["level"][labels.index("cat")] == 2


def test_what_is_true_together_and_predicted_instead_by_hand():
    # Rows are one-hot; the model learns to tell the four kinds apart and is then asked for others.
    X = np.eye(4).repeat(5, axis=0)
    y = [["cat"]] * 5 + [["lion"]] * 5 + [["dog"]] * 5 + [["cat", "dog"]] * 5
    model = LocalClassifierPerNode(LogisticRegression(C=1e4), hierarchy=PETS, multi_label=True).fit(
        X, y
    )
    rows = np.eye(4)[[0, 0, 1, 2, 3]]
    true = [["cat"], ["lion"], ["lion"], ["dog"], ["cat", "dog"]]
    page = make_report(model, rows, true, sample_weight=[1, 2, 1, 1, 1]).data
    label = page["nodes"]["label"]
    names = [label[v] for v in page["matrix"]["nodes"]]
    together = page["matrix"]["together"]
    assert together[names.index("cat")][names.index("dog")] == 1
    assert together[names.index("lion")][names.index("lion")] == 3
    # The second row, of weight 2, is a lion for which a cat (and a pet) was predicted.
    instead = page["matrix"]["instead"]
    assert instead[names.index("lion")][names.index("cat")] == 2
    assert instead[names.index("lion")][names.index("lion")] == 1
    found = page["confused"][label.index("lion")]
    assert {label[v]: n for v, n in zip(*found, strict=True)} == {"cat": 2, "pet": 2}
    # Classes above and below a class are always there with it, and not listed.
    with_cat = page["together"][label.index("cat")]
    assert {label[v]: n for v, n in zip(*with_cat, strict=True)} == {"canine": 1, "dog": 1}
    assert page["sizes"]["true"][:4] == [0, 5, 1, 0]
    assert page["weight"] == 6


def test_curves_end_at_full_recall_and_classes_are_chosen_by_area(fitted, data):
    page = make_report(fitted, data[0][120:], data[1][120:]).data
    for recall, precision in [page["curve"], *page["curves"].values()]:
        assert recall[-1] == 1
        assert sorted(recall) == recall
        assert all(0 <= p <= 1 for p in precision)
    area = page["nodes"]["area"]
    best, worst = page["chosen"]["best"], page["chosen"]["worst"]
    assert [area[v] for v in best] == sorted((area[v] for v in best), reverse=True)
    assert [area[v] for v in worst] == sorted(area[v] for v in worst)
    support = page["nodes"]["support"]
    assert support[page["chosen"]["frequent"][0]] == max(support[1:])


@pytest.mark.parametrize(
    "model",
    [
        LocalClassifierPerParentNode(hierarchy=PETS, multi_label=True),
        LocalClassifierPerNode(hierarchy=PETS, multi_label=True, binary_policy="inclusive"),
        LocalClassifierPerLevel(KNeighborsClassifier(), hierarchy=PETS, multi_label=True),
        FlatClassifier(LogisticRegression(), hierarchy=PETS, multi_label=True),
        HierarchicalClassifier(hierarchy=PETS, multi_label=True, random_state=0),
        make_pipeline(
            StandardScaler(), LocalClassifierPerParentNode(hierarchy=PETS, multi_label=True)
        ),
    ],
    ids=["parent", "node", "level", "flat", "auto", "pipeline"],
)
def test_every_model_of_sets_has_a_report(model, data):
    X, y = data
    report = make_report(model.fit(X[:120], y[:120]), X[120:], y[120:])
    expected = metrics.f1(y[120:], model.predict(X[120:]), hierarchy=PETS, multi_label=True)
    assert report.data["scores"]["f1"] == pytest.approx(expected)
    assert f"f1={expected:.3f}" in repr(report)
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', report.html, re.S
    )
    assert json.loads(found[1])["of_sets"]


def test_one_label_per_row_in_a_dag(data):
    X, y = data
    labels = np.array([row[0] for row in y])
    model = LocalClassifierPerParentNode(hierarchy=PETS).fit(X, labels)
    page = make_report(model, X, labels).data
    assert page["scores"]["f1"] == pytest.approx(
        metrics.f1(labels, model.predict(X), hierarchy=PETS)
    )
    assert page["sizes"]["true"][1] == 200


def test_paths_that_the_model_does_not_know_are_counted_as_missed(data):
    X, y = data
    paths = [[("animal", label) for label in row] for row in y]
    model = LocalClassifierPerParentNode(multi_label=True).fit(X, paths)
    new = [*paths[:-1], [("animal", "owl"), ("plant",)]]
    page = make_report(model, X, new).data
    label = page["nodes"]["label"]
    assert {label[v] for v in page["unseen"]} == {"owl", "plant"}
    assert page["scores"]["f1"] == pytest.approx(
        metrics.f1(new, model.predict(X), multi_label=True)
    )


def test_indicators_and_rows_of_weight_zero(data):
    X, y = data
    hierarchy = Hierarchy.from_dict(PETS)
    indicator = hierarchy.indicator(y)
    model = LocalClassifierPerParentNode(hierarchy=hierarchy, multi_label=True).fit(X, indicator)
    weight = np.arange(200) % 2
    page = make_report(model, X, indicator, sample_weight=weight).data
    assert page["rows"] == page["weight"] == 100
    half = make_report(model, X[1::2], indicator[1::2]).data
    assert half["scores"] == pytest.approx(page["scores"])


def test_examples_are_rows_with_the_most_mistakes(fitted, data):
    X, y = data[0][120:], data[1][120:]
    texts = [f"row {i}" for i in range(80)]
    page = make_report(fitted, X, y, examples=texts).data
    assert 0 < len(page["examples"]) <= 30
    label = page["nodes"]["label"]
    predicted = fitted.predict(X)
    for found in page["examples"]:
        i = texts.index(found["text"])
        assert {label[v] for v in found["true"]} == set(y[i])
        assert {label[v] for v in found["predicted"]} == set(predicted[i]) != set(y[i])
    assert make_report(fitted, X, y).data["examples"] is None
    with pytest.raises(ValueError, match="examples has 3 entries but X has 80 rows"):
        make_report(fitted, X, y, examples=["a", "b", "c"])


def test_what_is_about_paths_is_refused(fitted, data):
    X, y = data
    tree = LocalClassifierPerParentNode().fit(X, [[row[0]] for row in y])
    errors = find_label_errors(tree, X, [[row[0]] for row in y])
    with pytest.raises(ValueError, match="label_errors requires one path per row"):
        make_report(fitted, X, y, label_errors=errors)
    with pytest.raises(ValueError, match="X has 200 rows but y has 3"):
        make_report(fitted, X, y[:3])
    with pytest.raises(ValueError, match="no class 'owl'"):
        make_report(fitted, X[:1], [["owl"]])


def test_labels_are_only_ever_text(data):
    X, y = data
    evil = "</script><script>window.harm = 1</script>"
    names = {"cat": evil, "dog": "<b>dog</b>", "lion": "lion", "wolf": "wolf"}
    named = [[names[label] for label in row] for row in y]
    model = LocalClassifierPerParentNode(multi_label=True).fit(X, named)
    assert evil not in make_report(model, X, named).html


def test_chosen_classes_have_curves_also_in_a_large_graph():
    rng = np.random.default_rng(0)
    edges = [(f"g{i // 10}", f"c{i}") for i in range(400)]
    y = [[f"c{i}" for i in rng.integers(0, 400, 8)] for _ in range(300)]
    y = [list(dict.fromkeys(row)) for row in y]
    X = rng.normal(size=(300, 4))
    model = FlatClassifier(KNeighborsClassifier(), hierarchy=edges, multi_label=True).fit(X, y)
    page = make_report(model, X, y).data
    assert len(page["curves"]) < 350 < len(page["nodes"]["label"])
    for nodes in page["chosen"].values():
        assert len(nodes) == 12
        assert set(nodes) <= set(page["curves"])


def test_the_model_card_has_the_scores_and_mistakes_of_sets(fitted, data, tmp_path):
    report = make_report(fitted, data[0][120:], data[1][120:], title="Pets")
    report.save(tmp_path / "card.md")
    card = (tmp_path / "card.md").read_text(encoding="utf-8")
    scores, level = report.data["scores"], report.data["levels"][-1]
    names = ("precision", "recall", "f1", "jaccard", "exact", "area")
    assert f"| {' | '.join(f'{scores[name]:.3f}' for name in names)} |" in card
    assert f"| {level['level']} | {level['classes']} | {level['labels']:g} |" in card
    missed, (others, counts) = next(iter(report.data["confused"].items()))
    label = report.data["nodes"]["label"]
    line = rf"\| [^|]*{label[missed]} \| [^|]*{label[others[0]]} \| {counts[0]:g} \|"
    assert re.search(line, card)
    assert "Classes with the lowest recall" in card


def test_a_model_card_of_sets_without_probabilities_or_mistakes():
    X, y = [[0.0], [1.0], [2.0]] * 4, [["a"], ["b"], ["a", "b"]] * 4
    model = FlatClassifier(KNeighborsClassifier(1), multi_label=True).fit(X, y)
    card = make_report(model, X, y).to_markdown()
    assert "No class is predicted instead of another." in card
    assert "## Automation" not in card
