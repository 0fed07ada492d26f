"""The numbers of a report, by hand and against hiclass.metrics, and the file around them."""

import json
import os
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    make_report,
    metrics,
)
from hiclass._inspect.report._render import to_html, to_json


class Picked:
    """A classifier per parent node whose probabilities are picked by column 0 of X."""

    def __init__(self, table):
        self.table = table

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X):
        return np.array([self.table[int(row[0])] for row in X])


def by_hand():
    """Five rows below A (x, y) and B, and probabilities that are known: see the tests."""
    top = {0: [0.9, 0.1], 1: [0.9, 0.1], 2: [0.6, 0.4], 3: [0.2, 0.8], 4: [0.7, 0.3]}
    below = {0: [0.8, 0.2], 1: [0.3, 0.7], 2: [0.5, 0.5], 3: [0.5, 0.5], 4: [1.0, 0.0]}
    X = np.arange(5.0)[:, None]
    fit_y = [["A", "x"], ["A", "y"], ["B"], ["B"], ["A", "x"]]
    model = LocalClassifierPerParentNode(lambda path: Picked(below if path else top)).fit(X, fit_y)
    # Predicted: A x 0.72, A y 0.63, A x 0.30, B 0.80, A x 0.70.
    y = [["A", "x"], ["A", "x"], ["A", "y"], ["B"], ["B"]]
    return model, X, y


def mixture(n=400, seed=0):
    """Rows of three levels with paths of different lengths, and a model that makes mistakes."""
    rng = np.random.default_rng(seed)
    paths = [
        ["a", "b", "c"], ["a", "b", "d"], ["a", "e"], ["a", "e", "f"], ["g", "h"], ["g", "i"], ["k"]
    ]  # fmt: skip
    centres = rng.normal(size=(len(paths), 4)) * 1.5
    target = rng.integers(len(paths), size=n)
    X = centres[target] + rng.normal(size=(n, 4))
    y = np.array([[*paths[t], "", ""][:3] for t in target], dtype=object)
    return X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :]


def node_of(data, *path):
    """The number of a node of a report by its path."""
    nodes = data["nodes"]
    (found,) = [
        v
        for v in range(1, len(nodes["label"]))
        if nodes["label"][v] == path[-1]
        and [nodes["label"][a] for a in ancestors(nodes, v)] == list(path[:-1])
    ]
    return found


def ancestors(nodes, v):
    found = []
    while nodes["parent"][v]:
        v = nodes["parent"][v]
        found.insert(0, v)
    return found


def pairs(data, key, first, second):
    return {
        (a, b): w
        for a, b, w in zip(data[key][first], data[key][second], data[key]["weight"], strict=True)
    }


# -- by hand -----------------------------------------------------------------------------------


def test_counts_of_nodes_by_hand():
    model, X, y = by_hand()
    data = make_report(model, X, y).data
    nodes = data["nodes"]
    a, x, v, b = (node_of(data, *p) for p in (("A",), ("A", "x"), ("A", "y"), ("B",)))
    assert [nodes["support"][n] for n in (0, a, x, v, b)] == [5, 3, 2, 1, 2]
    assert [nodes["predicted"][n] for n in (0, a, x, v, b)] == [5, 4, 3, 1, 1]
    assert [nodes["right"][n] for n in (0, a, x, v, b)] == [5, 3, 1, 0, 1]
    assert [nodes["mistakes"][n] for n in (0, a, x, v, b)] == [1, 2, 0, 0, 0]
    assert nodes["confidence"][a] == pytest.approx((0.9 + 0.9 + 0.6 + 0.7) / 4)
    assert nodes["confidence"][x] == pytest.approx((0.72 + 0.3 + 0.7) / 3, abs=1e-4)
    assert nodes["confidence"][0] is None
    assert data["depths"] == {"true": [0, 2, 3], "predicted": [0, 1, 4]}


def test_mistakes_by_hand():
    model, X, y = by_hand()
    data = make_report(model, X, y).data
    a, x, v, b = (node_of(data, *p) for p in (("A",), ("A", "x"), ("A", "y"), ("B",)))
    assert pairs(data, "steps", "true", "predicted") == {(x, v): 1, (v, x): 1, (b, a): 1}
    assert pairs(data, "destinations", "node", "end") == {(x, v): 1, (v, x): 1, (b, x): 1}
    assert pairs(data, "sources", "node", "end") == {
        (v, x): 1, (x, v): 1, (a, b): 1, (x, b): 1
    }  # fmt: skip


def test_thresholds_by_hand():
    model, X, y = by_hand()
    found = make_report(model, X, y).data["thresholds"]
    at = {t: round(100 * t) for t in (0.0, 0.65, 0.7, 0.71)}
    assert [found["kept"][0][i] for i in at.values()] == [5, 4, 4, 3]
    assert [found["kept"][1][i] for i in at.values()] == [4, 2, 2, 1]
    assert [found["right"][0][i] for i in at.values()] == [4, 3, 3, 3]
    assert [found["right"][1][i] for i in at.values()] == [1, 1, 1, 1]
    assert [found["whole"][i] for i in at.values()] == [5, 3, 3, 2]
    assert [found["exact"][i] for i in at.values()] == [2, 2, 2, 2]
    assert found["labels"] == 8


def test_reliability_by_hand():
    model, X, y = by_hand()
    data = make_report(model, X, y).data
    found = data["reliability"]
    x = node_of(data, "A", "x")
    of_x = [i for i, n in enumerate(found["node"]) if n == x]
    bins = [tuple(found[k][i] for k in ("confidence", "right", "count", "weight")) for i in of_x]
    # Three predictions, of 0.3, 0.7 and 0.72, are too few for a curve: they are one dot.
    assert bins == [(0.573, 0.333, 3, 3)]
    of_root = sum(w for n, w in zip(found["node"], found["weight"], strict=True) if n == 0)
    assert of_root == 9  # all labels of all paths


def bins_of(confidences, right, weight=None, keys=("confidence", "right", "count")):
    """The bins of all predictions: by default (confidence, right, count)."""
    table = {i: [p, 1 - p] for i, p in enumerate(confidences)}
    X = np.arange(len(confidences), dtype=float)[:, None]
    model = LocalClassifierPerParentNode(lambda path: Picked(table))
    model.fit(X, ["A", "B"] * (len(X) // 2) + ["A"] * (len(X) % 2))
    y = ["A" if r else "B" for r in right]
    found = make_report(model, X, y, sample_weight=weight).data["reliability"]
    rows = zip(*(found[key] for key in ("node", *keys)), strict=True)
    return [row[1:] for row in rows if row[0] == 0]


def test_bins_with_few_predictions_join_their_neighbours_by_hand():
    # Nine predictions of 0.55 are too few and join the ten of 0.65; the two of 0.95 are what is
    # left, and join the ten of 0.85.
    confidences = [0.55] * 9 + [0.65] * 10 + [0.75] * 10 + [0.85] * 10 + [0.95] * 2
    right = [True] * 9 + [False] * 10 + [True] * 5 + [False] * 5 + [True] * 12
    assert bins_of(confidences, right) == [
        (round((9 * 0.55 + 6.5) / 19, 3), round(9 / 19, 3), 19),
        (0.75, 0.5, 10),
        (round((8.5 + 1.9) / 12, 3), 1, 12),
    ]


def test_bins_with_a_small_part_of_all_predictions_join_their_neighbours():
    # Eleven are enough for a bin by themselves, but not 1 % of 1,200.
    confidences = [0.55] * 11 + [0.75] * 600 + [0.95] * 589
    bins = bins_of(confidences, [True] * 1200)
    assert [count for *_, count in bins] == [611, 589]


def test_bins_are_joined_by_predictions_whatever_they_weigh():
    # Twenty of 0.65, a single one of 0.75 and twenty of 0.85: the single one joins the next.
    confidences = [0.65] * 20 + [0.75] + [0.85] * 20
    right = [True] * 10 + [False] * 10 + [True] * 21
    keys = ("count", "weight", "right")
    for weight in (1 / 41, 1, 100):  # weights that sum to one, none, large ones
        given = np.full(41, float(weight))
        bins = bins_of(confidences, right, given, keys)
        assert [(n, r) for n, _, r in bins] == [(20, 0.5), (21, 1)]
        assert [w for _, w, _ in bins] == pytest.approx([20 * weight, 21 * weight], abs=1e-6)


def test_shares_of_a_bin_are_weighted_and_its_count_is_not():
    weight = [3.0] * 5 + [1.0] * 5 + [0.0] * 2
    bins = bins_of([0.6] * 5 + [0.7] * 5 + [0.9] * 2, [True] * 5 + [False] * 7, weight)
    # Rows without weight are not counted.
    assert bins == [(round((15 * 0.6 + 5 * 0.7) / 20, 3), 0.75, 10)]


# -- against hiclass.metrics -------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_the_metrics(weighted):
    X, y, X_test, y_test = mixture()
    weight = np.random.default_rng(1).integers(0, 4, len(y_test)) if weighted else None
    model = LocalClassifierPerParentNode().fit(X, y)
    data = make_report(model, X_test, y_test, sample_weight=weight).data
    y_pred = model.predict(X_test)
    report = metrics.classification_report(
        y_test, y_pred, sample_weight=weight, output_dict=True, zero_division=0
    )
    overall = report["overall"]
    assert data["scores"] == pytest.approx(
        {
            "precision": overall["precision"],
            "recall": overall["recall"],
            "f1": overall["f1"],
            "exact": overall["exact_match"],
        }
    )
    assert data["weight"] == overall["support"]
    assert [row["f1"] for row in data["levels"]] == [row["f1"] for row in report["levels"]]
    nodes = data["nodes"]
    for row in report["classes"][1:]:
        v = node_of(data, *row["path"])
        assert nodes["support"][v] == row["support"]
        assert nodes["predicted"][v] == row["predicted"]
        assert nodes["mistakes"][v] == row["errors"]
        if row["support"]:
            assert nodes["right"][v] / row["support"] == pytest.approx(row["recall"])
        if row["predicted"]:
            assert nodes["right"][v] / row["predicted"] == pytest.approx(row["precision"])
    wrong = sum(nodes["mistakes"])
    assert (
        wrong
        == sum(data["steps"]["weight"])
        == pytest.approx((1 - overall["exact_match"]) * overall["support"])
    )


def test_calibration_errors_and_confidences_of_levels():
    X, y, X_test, y_test = mixture()
    model = LocalClassifierPerParentNode().fit(X, y)
    levels = make_report(model, X_test, y_test).data["levels"]
    confidence = model.predict_confidence(X_test)
    errors = metrics.calibration_error(y_test, model.predict(X_test), confidence)
    np.testing.assert_allclose([row["calibration_error"] for row in levels], errors)
    np.testing.assert_allclose(
        [row["confidence"] for row in levels], np.nanmean(confidence, axis=0)
    )
    np.testing.assert_allclose(
        [row["reached"] for row in levels], (~np.isnan(confidence)).mean(axis=0)
    )


@pytest.mark.parametrize("threshold", [0.0, 0.33, 0.5, 0.8, 0.99])
def test_thresholds_are_what_min_confidence_gives(threshold):
    X, y, X_test, y_test = mixture()
    model = LocalClassifierPerParentNode().fit(X, y)
    found = make_report(model, X_test, y_test).data["thresholds"]
    i = round(100 * threshold)
    y_pred = model.set_params(min_confidence=threshold).predict(X_test)
    kept, right = (sum(level[i] for level in found[key]) for key in ("kept", "right"))
    assert right / kept == pytest.approx(metrics.precision(y_test, y_pred))
    assert right / found["labels"] == pytest.approx(metrics.recall(y_test, y_pred))
    assert found["exact"][i] / len(y_test) == pytest.approx(metrics.exact_match(y_test, y_pred))
    assert found["kept"][0][i] == (y_pred[:, 0] != "").sum()


def test_a_weight_of_two_is_the_row_twice_and_of_zero_no_row():
    X, y, X_test, y_test = mixture(n=120)
    weight = np.tile([0, 1, 2], 20)
    model = LocalClassifierPerParentNode().fit(X, y)
    weighted = make_report(model, X_test, y_test, sample_weight=weight).data
    rows = np.repeat(np.arange(60), weight)
    repeated = make_report(model, X_test[rows], y_test[rows]).data
    for key in ("depths", "nodes", "steps", "destinations", "sources", "thresholds"):
        assert weighted[key] == repeated[key], key
    # Bins are joined by the number of predictions: the same in total, not one by one.
    for data in (weighted, repeated):
        bins = data["reliability"]
        of_root = [w for v, w in zip(bins["node"], bins["weight"], strict=True) if v == 0]
        assert sum(of_root) == sum(level[0] for level in data["thresholds"]["kept"])
    assert weighted["rows"] == 40
    assert weighted["weight"] == repeated["weight"] == 60


# -- any model, any labels ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        LocalClassifierPerNode,
        LocalClassifierPerParentNode,
        LocalClassifierPerLevel,
        FlatClassifier,
        lambda: EnsembleClassifier(
            [("flat", FlatClassifier()), ("local", LocalClassifierPerNode())]
        ),
        lambda: ConformalClassifier(LocalClassifierPerParentNode(), random_state=0),
    ],
    ids=["node", "parent", "level", "flat", "ensemble", "conformal"],
)
def test_every_model_has_a_report_with_features(make):
    X, y, X_test, y_test = mixture()
    model = make().fit(X, y)
    data = make_report(model, X_test, y_test, feature_names=["w", "x", "y", "z"]).data
    assert data["scores"]["f1"] == pytest.approx(metrics.f1(y_test, model.predict(X_test)))
    sets, names = data["features"]["sets"], data["features"]["names"]
    assert set(names) <= {"w", "x", "y", "z"}
    kinds = [data["features"]["classifiers"][s["by"]] for s in sets]
    assert all(kind["kind"] == "linear" for kind in kinds)
    members = 2 if isinstance(model, EnsembleClassifier) else 1
    decided = node_of(data, "a", "b", "c")
    assert len(data["features"]["node"][decided]) == members
    assert len(data["features"]["node"][node_of(data, "g")]) == members


def test_features_per_parent_are_weights_less_the_mean_of_the_siblings():
    X, y, X_test, y_test = mixture()
    model = LocalClassifierPerParentNode().fit(X, y)
    data = make_report(model, X_test, y_test).data
    weights = model.local_classifiers_[()].coef_
    for j, label in enumerate(["a", "g", "k"]):
        (place,) = data["features"]["node"][node_of(data, label)]
        found = data["features"]["sets"][place]
        expected = weights[j] - np.delete(weights, j, axis=0).mean(axis=0)
        names = [data["features"]["names"][f] for f in found["feature"]]
        for name, value in zip(names, found["value"], strict=True):
            assert value == pytest.approx(expected[int(name[1:])], rel=0.01)
        assert found["value"] == sorted(found["value"], reverse=True)


def test_features_of_an_inner_node_of_a_flat_model_are_means_over_its_final_classes():
    X, y, X_test, y_test = mixture()
    model = FlatClassifier().fit(X, y)
    data = make_report(model, X_test, y_test).data
    weights = model.local_classifiers_[()].coef_
    paths = [model.hierarchy_.path(v) for v in model.local_classes_[()].tolist()]
    inside = np.array([path[0] == "g" for path in paths])
    expected = weights[inside].mean(axis=0) - weights[~inside].mean(axis=0)
    (place,) = data["features"]["node"][node_of(data, "g")]
    found = data["features"]["sets"][place]
    best = int(data["features"]["names"][found["feature"][0]][1:])
    assert best == expected.argmax()
    assert found["value"][0] == pytest.approx(expected.max(), rel=0.01)


def test_forests_share_one_set_of_importances_and_others_say_so():
    X, y, X_test, y_test = mixture()
    forest = FlatClassifier(RandomForestClassifier(5, random_state=0)).fit(X, y)
    features = make_report(forest, X_test, y_test).data["features"]
    (only,) = features["sets"]
    expected = {"member": "", "kind": "forest", "classifier": "RandomForestClassifier"}
    assert features["classifiers"][only["by"]] == expected
    assert {tuple(ids) for ids in features["node"].values()} == {(0,)}
    per_node = LocalClassifierPerNode(RandomForestClassifier(5, random_state=0)).fit(X, y)
    features = make_report(per_node, X_test, y_test).data["features"]
    assert len(features["sets"]) == len(features["node"]) == len(per_node.local_classifiers_)
    near = LocalClassifierPerParentNode(KNeighborsClassifier(3)).fit(X, y)
    features = make_report(near, X_test, y_test).data["features"]
    assert [kind["kind"] for kind in features["classifiers"]] == ["other"]
    assert features["sets"][0]["feature"] == []
    assert features["names"] == []


def test_a_model_without_probabilities_has_a_report_without_confidences():
    X, y, X_test, y_test = mixture()
    report = make_report(LocalClassifierPerParentNode(LinearSVC()).fit(X, y), X_test, y_test)
    assert report.data["thresholds"] is None
    assert report.data["reliability"] is None
    assert "confidence" not in report.data["nodes"]
    assert "confidence" not in report.data["levels"][0]
    assert report.data["nodes"]["support"][0] == len(y_test)


def test_a_restricted_model_has_a_report():
    X, y, X_test, y_test = mixture()
    model = LocalClassifierPerParentNode().fit(X, y).restricted_to(["a"])
    data = make_report(model, X_test, y_test).data
    assert data["nodes"]["predicted"][node_of(data, "a")] == len(y_test)
    assert data["nodes"]["predicted"][node_of(data, "k")] == 0


def test_classes_that_the_model_does_not_know_are_in_the_tree():
    X, y, X_test, y_test = mixture(n=80)
    y_test = y_test.copy()
    y_test[:3] = ["new", "thing", ""]
    y_test[3] = ["a", "b", "other"]
    data = make_report(LocalClassifierPerParentNode().fit(X, y), X_test, y_test).data
    new, thing, other = (
        node_of(data, *path) for path in (("new",), ("new", "thing"), ("a", "b", "other"))
    )
    assert data["unseen"] == sorted([new, thing, other])
    assert [data["nodes"]["support"][v] for v in (new, thing, other)] == [3, 3, 1]
    assert data["nodes"]["predicted"][new] == 0
    assert data["features"]["node"][node_of(data, "a")]


def test_empty_predictions_count_as_no_class():
    X, y, X_test, y_test = mixture(n=80)
    model = LocalClassifierPerParentNode(min_confidence=0.9).fit(X, y)
    data = make_report(model, X_test, y_test).data
    empty = int((model.predict(X_test)[:, 0] == "").sum())
    assert empty > 0
    assert data["depths"]["predicted"][0] == empty
    assert data["levels"][0]["reached"] == pytest.approx(1 - empty / len(y_test))
    model.set_params(min_confidence=1.0)
    assert make_report(model, X_test, y_test).data["depths"]["predicted"][0] == len(y_test)


def test_single_labels_with_a_hierarchy():
    X, y, X_test, y_test = mixture()
    last = np.array([[label for label in path if label][-1] for path in y], dtype=object)
    last_test = np.array([[label for label in path if label][-1] for path in y_test], dtype=object)
    tree = {"a": ["b", "e"], "b": ["c", "d"], "e": ["f"], "g": ["h", "i"], "k": []}
    model = LocalClassifierPerParentNode(hierarchy=tree).fit(X, last)
    data = make_report(model, X_test, last_test).data
    assert data["scores"]["f1"] == pytest.approx(model.score(X_test, last_test))
    assert data["nodes"]["support"][node_of(data, "g")] == (y_test[:, 0] == "g").sum()


def test_single_labels_must_be_in_the_hierarchy_but_need_not_have_been_seen():
    X, _, X_test, _ = mixture(n=80)
    last = np.where(X[:, 0] > 0, "a", np.where(X[:, 1] > 0, "b", "c"))
    model = LocalClassifierPerParentNode(hierarchy={"p": ["a", "b"], "q": ["c", "new"]})
    model.fit(X, last)
    data = make_report(model, X_test[:3], ["new", "q", "a"]).data
    support = dict(zip(data["nodes"]["label"], data["nodes"]["support"], strict=True))
    assert (support["q"], support["new"], support["p"], support["a"]) == (2, 1, 1, 1)
    with pytest.raises(ValueError, match=r"Row 2 of y: .*no class 'zebra'.* must be in the hierar"):
        make_report(model, X_test[:3], ["a", "q", "zebra"])


def test_labels_of_one_level():
    X, _, X_test, _ = mixture()
    target = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)
    model = LocalClassifierPerParentNode().fit(X, target)
    data = make_report(model, X_test, model.predict(X_test)).data
    assert data["scores"]["f1"] == 1.0
    assert data["nodes"]["label"][1:] == ["0", "1", "2", "3"]


def test_pipelines_frames_and_sparse_rows_give_the_same_numbers():
    pd = pytest.importorskip("pandas")
    X, y, X_test, y_test = mixture()
    plain = make_report(LocalClassifierPerParentNode().fit(X, y), X_test, y_test).data
    frames = make_report(
        LocalClassifierPerParentNode().fit(pd.DataFrame(X, columns=list("wxyz")), y),
        pd.DataFrame(X_test, columns=list("wxyz")),
        pd.DataFrame(y_test).replace("", None),
    ).data
    thin = make_report(
        LocalClassifierPerParentNode().fit(sp.csr_array(X), y), sp.csr_array(X_test), y_test
    ).data
    assert plain["nodes"]["right"] == frames["nodes"]["right"] == thin["nodes"]["right"]
    assert set(frames["features"]["names"]) == set("wxyz")
    assert set(plain["features"]["names"]) == {"x0", "x1", "x2", "x3"}


def test_words_are_the_features_of_a_pipeline_of_text():
    docs = ["red cat fur", "red dog fur", "blue fish fin", "blue whale fin"]
    y = [["land", "cat"], ["land", "dog"], ["sea", "fish"], ["sea", "whale"]]
    model = make_pipeline(TfidfVectorizer(), LocalClassifierPerParentNode()).fit(docs, y)
    data = make_report(model, docs, y).data
    (place,) = data["features"]["node"][node_of(data, "sea", "whale")]
    best = data["features"]["sets"][place]["feature"][0]
    assert data["features"]["names"][best] == "whale"
    assert data["model"]["steps"] == ["TfidfVectorizer"]
    assert data["model"]["local_classifiers"] == ["LogisticRegression"]


def test_the_model_is_described():
    X, y, X_test, y_test = mixture()
    model = LocalClassifierPerParentNode(decoding=lambda proba, tree: proba[:, 1:].argmax(1) + 1)
    described = make_report(model.fit(X, y), X_test, y_test).data["model"]
    assert ["decoding", "<lambda>"] in described["parameters"]
    both = EnsembleClassifier([("f", FlatClassifier()), ("l", LocalClassifierPerParentNode())])
    described = make_report(both.fit(X, y), X_test, y_test).data["model"]
    assert described["members"] == ["f: FlatClassifier", "l: LocalClassifierPerParentNode"]
    # Parameters only: "calibration" is an attribute of every model, but not its parameter here.
    assert {name for name, _ in described["parameters"]} <= set(both.get_params(deep=False))


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_what_was_chosen_is_in_the_report_with_the_scores_of_all_candidates(in_pipeline):
    X, y, X_test, y_test = mixture()
    model = HierarchicalClassifier(GaussianNB(), random_state=0)
    if in_pipeline:
        model = make_pipeline(FunctionTransformer(), model)
    model.fit(X, y)
    inner = model[-1] if in_pipeline else model
    found = make_report(model, X_test, y_test).data["choices"]
    assert found["facts"] == [list(pair) for pair in inner.choices_.items()]
    assert found["measure"] == "Exact match"
    assert dict(zip(found["candidates"], found["scores"], strict=True)) == inner.scores_
    name = found["candidates"][found["chosen"]]
    assert all(f"{part}: " in inner.choices_["model"] for part in name.split(" and "))


def test_choices_by_rule_have_no_candidates_and_other_models_no_choices():
    X, y, X_test, y_test = mixture()
    quick = HierarchicalClassifier(GaussianNB(), effort="quick").fit(X, y)
    found = make_report(quick, X_test, y_test).data["choices"]
    assert (found["candidates"], found["scores"], found["chosen"]) == ([], [], None)
    plain = LocalClassifierPerParentNode().fit(X, y)
    assert make_report(plain, X_test, y_test).data["choices"] is None


@pytest.mark.parametrize(
    ("optimize", "measure"), [("f1", "Hierarchical F1"), (lambda m, X, y: m.score(X, y), "Score")]
)
def test_the_scores_of_candidates_are_called_by_what_they_are(optimize, measure):
    X, y, X_test, y_test = mixture()
    model = HierarchicalClassifier(GaussianNB(), optimize=optimize, random_state=0).fit(X, y)
    assert make_report(model, X_test, y_test).data["choices"]["measure"] == measure


# -- examples ----------------------------------------------------------------------------------


def test_no_row_is_in_the_file_unless_it_is_asked_for():
    docs = ["secret cat", "secret dog", "blue fish", "blue whale"]
    y = [["land", "cat"], ["land", "dog"], ["sea", "fish"], ["sea", "whale"]]
    wrong = [["land", "dog"], ["land", "cat"], ["sea", "fish"], ["sea", "whale"]]
    model = make_pipeline(TfidfVectorizer(), LocalClassifierPerParentNode()).fit(docs, y)
    assert "secret cat" not in make_report(model, docs, wrong).html
    report = make_report(model, docs, wrong, examples=docs)
    assert "secret cat" in report.html
    assert "blue fish" not in report.html  # it is right
    examples = report.data["examples"]
    dog = node_of(report.data, "land", "dog")
    (place,) = examples["node"][dog]
    assert examples["text"][place] == "secret cat"
    assert examples["true"][place] == dog


def test_examples_are_the_surest_mistakes_shortened_and_few():
    X, y, X_test, y_test = mixture()
    model = LocalClassifierPerParentNode().fit(X, y)
    texts = [f"row {i} {'long ' * 100}" for i in range(len(y_test))]
    data = make_report(model, X_test, y_test, examples=texts).data
    examples = data["examples"]
    assert max(map(len, examples["text"])) == 240
    assert max(map(len, examples["node"].values())) == 3
    confidence = model.predict_confidence(X_test)
    top = model.predict(X_test)[:, 0] != y_test[:, 0]
    last = np.array([row[~np.isnan(row)][-1] for row in confidence])
    g = node_of(data, "g")
    surest = last[top & (y_test[:, 0] == "g")].max()
    assert examples["confidence"][examples["node"][g][0]] == pytest.approx(surest, abs=1e-3)


def test_examples_stay_within_their_budget(monkeypatch):
    X, y, X_test, y_test = mixture()
    model = LocalClassifierPerParentNode(LinearSVC()).fit(X, y)
    texts = ["x" * 200] * len(y_test)
    monkeypatch.setattr("hiclass._inspect.report._data._EXAMPLE_BUDGET", 900)
    examples = make_report(model, X_test, y_test, examples=texts).data["examples"]
    assert len(examples["text"]) == 4
    assert examples["confidence"] is None


@pytest.mark.parametrize(
    ("examples", "error", "message"),
    [
        (["one"], ValueError, "examples has 1 entries but X has 200 rows"),
        ("text", TypeError, "one text per row"),
        (np.zeros((200, 2)), TypeError, "one text per row"),
    ],
)
def test_bad_examples_are_refused(examples, error, message):
    X, y, X_test, y_test = mixture()
    with pytest.raises(error, match=message):
        make_report(LocalClassifierPerParentNode().fit(X, y), X_test, y_test, examples=examples)


# -- bad input ---------------------------------------------------------------------------------


def test_bad_input_is_refused():
    X, y, X_test, y_test = mixture()
    model = LocalClassifierPerParentNode().fit(X, y)
    with pytest.raises(ValueError, match="X has 200 rows but y has 199"):
        make_report(model, X_test, y_test[:-1])
    with pytest.raises(TypeError, match="title must be a string; got 3"):
        make_report(model, X_test, y_test, title=3)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\)"):
        make_report(model, X_test, y_test, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match=r"sample_weight has -1.0 in row 0"):
        make_report(model, X_test, y_test, sample_weight=[-1.0] + [1.0] * 199)
    gap = y_test.copy()
    gap[0] = ["a", "", "c"]
    with pytest.raises(ValueError, match="Row 0 of y has a label at level 3"):
        make_report(model, X_test, gap)


# -- the page ----------------------------------------------------------------------------------


EVIL = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "a\u2028b & 'c\"",
    "\ud800",
]


def evil_report(**options):
    """A report in which every name is an attack."""
    X = np.eye(4)
    y = [[EVIL[0], EVIL[1]], [EVIL[0], EVIL[2]], [EVIL[3], EVIL[1]], [EVIL[3], EVIL[2]]]
    model = LocalClassifierPerParentNode().fit(X, y)
    wrong = [y[1], y[0], y[3], y[2]]
    return make_report(model, X, wrong, title=EVIL[0], feature_names=EVIL, examples=EVIL, **options)


def test_nothing_in_the_data_can_leave_its_element():
    report = evil_report()
    page = report.html
    assert page.lower().count("<script") == 2
    assert page.lower().count("</script") == 2
    assert "<img" not in page
    assert "\u2028" not in page
    page.encode("utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert json.loads(data) == json.loads(json.dumps(report.data))
    assert "&lt;/script&gt;" in re.search(r"<title>(.*?)</title>", page)[1]


def test_braces_in_labels_are_no_template():
    assert "{{STYLE}}" in json.loads(to_json({"title": "{{STYLE}}"}))["title"]
    model, X, y = by_hand()
    page = to_html({**make_report(model, X, y).data, "title": "{{DATA}}"})
    assert "<h1>{{DATA}}</h1>" in page


def test_numbers_that_json_does_not_have_become_null():
    values = {"a": float("nan"), "b": [float("inf"), 1.5]}
    assert json.loads(to_json(values)) == {"a": None, "b": [None, 1.5]}


def test_the_page_asks_nobody_for_anything():
    model, X, y = by_hand()
    page = make_report(model, X, y).html
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?!#)[a-z/]", page.replace("srcdoc", ""))
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\(|fetch\(|XMLHttp|import\(", page)
    assert "default-src 'none'" in page


def test_two_thousand_classes_take_less_than_two_megabytes():
    """Long names, examples and all, as an ICD catalogue would have."""
    rng = np.random.default_rng(0)
    paths = [
        (f"Chapter {a} of the catalogue", f"Block {a}.{b} of this chapter, with a longer title",
         f"Category {a}.{b}.{c}: a disease of some organ, not elsewhere classified")
        for a in range(12) for b in range(10) for c in range(16)
    ]  # fmt: skip
    target = rng.integers(len(paths), size=6000)
    target[: len(paths)] = np.arange(len(paths))
    X = sp.random(6000, 300, density=0.03, random_state=0, format="csr") + sp.csr_array(
        (np.ones(6000), (np.arange(6000), target % 300)), shape=(6000, 300)
    )
    y = np.array([paths[t] for t in target], dtype=object)
    tree = Hierarchy.from_paths(y)
    assert tree.n_nodes > 2000
    model = LocalClassifierPerParentNode(LogisticRegression(max_iter=20, tol=0.1)).fit(X, y)
    names = [f"feature with number {j}" for j in range(300)]
    # Many rows, nearly all of them wrong: every list of confusions is full.
    rows = np.tile(np.arange(6000), 4)
    wrong = y[rng.permutation(24_000) % 6000]
    report = make_report(
        model, X[rows], wrong, feature_names=names, examples=["word " * 60] * 24_000
    )
    assert len(report.html.encode("utf-8")) < 2_000_000
    assert len(report.data["nodes"]["label"]) == tree.n_nodes


def test_a_notebook_gets_a_frame_of_its_own():
    report = evil_report()
    frame = report._repr_html_()
    assert frame.startswith('<iframe srcdoc="')
    assert frame.count("<") == 2
    assert 'sandbox="allow-scripts"' in frame
    assert repr(report).startswith("Report('</script>")
    assert "f1=0.500" in repr(report)


# -- save --------------------------------------------------------------------------------------


def test_save_writes_utf8_with_the_usual_rights_and_nothing_else(tmp_path):
    report = evil_report()
    path = tmp_path / "réport.html"
    path.write_text("old")
    report.save(path)
    assert path.read_bytes() == report.html.encode("utf-8")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    other = tmp_path / "other"
    other.write_text("")
    assert path.stat().st_mode == other.stat().st_mode
    report.save(str(tmp_path / "again.html"))


def test_a_failed_save_leaves_what_was_there(tmp_path, monkeypatch):
    report = evil_report()
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        report.save(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_save_names_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"The folder '.*nowhere' does not exist"):
        evil_report().save(tmp_path / "nowhere" / "report.html")


def test_save_follows_a_link(tmp_path):
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text("old")
    link.symlink_to(target)
    evil_report().save(link)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
