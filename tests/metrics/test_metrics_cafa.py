"""Fmax, Smin and information content: by hand, literally, and the curves of cafaeval."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SETTINGS, hierarchies_with_sets

from hiclass import Hierarchy
from hiclass.metrics import cafa_curve, f_max, information_content, s_min

DAG = Hierarchy.from_edges([("pet", "cat"), ("feline", "cat"), ("feline", "lion"), ("pet", "dog")])
OPTIONS = {"hierarchy": DAG, "multi_label": True}


def test_information_content_by_hand():
    y = [["cat"], ["cat"], ["lion", "dog"], ["lion"], ["pet"], ["pet", "feline"], [], []]
    bits = dict(zip(DAG.labels.tolist(), information_content(y, **OPTIONS), strict=True))
    # 5 of 8 rows are pets, 5 felines, 4 both; 2 of these are cats. 2 of 5 felines are lions.
    assert bits[None] == 0
    assert bits["pet"] == bits["feline"] == math.log2(8 / 5)
    assert bits["cat"] == math.log2(4 / 2)
    assert bits["lion"] == math.log2(5 / 2)
    assert bits["dog"] == math.log2(5 / 1)
    doubled = information_content(y, sample_weight=np.full(8, 2.0), **OPTIONS)
    np.testing.assert_allclose(doubled, list(bits.values()))


def test_a_class_without_rows_or_that_is_always_true_has_no_information():
    bits = information_content([["cat"], ["cat"]], **OPTIONS)
    np.testing.assert_array_equal(bits, np.zeros(DAG.n_nodes))


def test_one_label_per_row_is_read_as_everywhere():
    tree = {"animal": ["cat", "dog"], "plant": ["oak"]}
    single = information_content(["cat", "dog", "dog", "oak"], hierarchy=tree)
    sets = information_content([["cat"], ["dog"], ["dog"], ["oak"]], hierarchy=tree,
                               multi_label=True)  # fmt: skip
    np.testing.assert_array_equal(single, sets)


def test_curve_by_hand():
    tree = Hierarchy.from_edges([("a", "x"), ("a", "y")])  # root, a, x, y
    proba = [[1.0, 0.9, 0.8, 0.4], [1.0, 0.6, 0.3, 0.2], [1.0, 0.9, 0.9, 0.9]]
    true, bits = [["x"], ["y"], []], [0.0, 1.0, 2.0, 4.0]
    curve = cafa_curve(true, proba, hierarchy=tree, multi_label=True, information=bits,
                       thresholds=[0.25, 0.5, 0.7, 0.95])  # fmt: skip
    # The third row has no label and is left out. Predicted at the four thresholds:
    # {a x y} {a x}, {a x} {a}, {a x} {}, {} {}.
    np.testing.assert_allclose(curve.precision, [(3 / 7 + 1 / 3) / 2, 1, 1, np.nan])
    np.testing.assert_allclose(curve.recall, [(1 + 1 / 5) / 2, (1 + 1 / 5) / 2, 1 / 2, 0])
    np.testing.assert_allclose(curve.remaining_uncertainty, [4 / 2, 4 / 2, 5 / 2, (3 + 5) / 2])
    np.testing.assert_allclose(curve.misinformation, [(4 + 2) / 2, 0, 0, 0])
    np.testing.assert_allclose(curve.semantic_distance, [math.hypot(2, 3), 2, 2.5, 4])
    np.testing.assert_allclose(curve.f1[1:], [2 * 0.6 / 1.6, 1 / 1.5, 0])
    options = {"hierarchy": tree, "multi_label": True, "information": bits}
    assert f_max(true, proba, **options) == pytest.approx(0.75)
    assert s_min(true, proba, **options) == 2


def test_a_class_is_raised_to_those_below_it():
    proba = np.zeros((1, DAG.n_nodes))
    proba[0, DAG.find("cat")] = 0.7
    assert f_max([["cat"]], proba, **OPTIONS) == 1
    assert proba[0, DAG.find("pet")] == 0


def test_curves_equal_those_of_cafaeval():
    case = json.loads(Path(__file__).with_name("cafaeval.json").read_text())
    dag = Hierarchy.from_edges([tuple(edge) for edge in case["edges"]])
    columns = [case["proba"][label] for label in dag.labels.tolist()[1:]]
    proba = np.column_stack([np.ones(len(case["true"])), *columns])
    options = {"hierarchy": dag, "multi_label": True}
    bits = information_content(case["train"], **options)
    for name, exclude in (("with_root", []), ("without_root", ["T:0000"])):
        expected = case["expected"][name]
        for kind, information in (("plain", None), ("weighted", bits)):
            curve = cafa_curve(
                case["true"],
                proba,
                information=information,
                exclude=exclude,
                thresholds=expected[kind]["thresholds"],
                **options,
            )
            for field, values in expected[kind].items():
                np.testing.assert_allclose(getattr(curve, field), values, atol=2e-12)
        # Their thresholds end below 1 and are sums of steps, which may lie beside the decimals.
        more = {"exclude": exclude, "thresholds": np.arange(0.01, 1, 0.01), **options}
        best = expected["best"]
        true = case["true"]
        assert f_max(true, proba, **more) == pytest.approx(best["f_max"], abs=1e-14)
        found = f_max(true, proba, information=bits, **more)
        assert found == pytest.approx(best["weighted_f_max"], abs=1e-14)
        found = s_min(true, proba, information=bits, **more)
        assert found == pytest.approx(best["s_min"], abs=1e-14)


@st.composite
def coherent_case(draw):
    edges, y = draw(hierarchies_with_sets(max_rows=6).filter(lambda drawn: any(drawn[1])))
    dag = Hierarchy.from_edges(edges)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    proba = rng.integers(0, 6, (len(y), dag.n_nodes)) / 5
    for v in range(1, dag.n_nodes):
        proba[:, v] = np.minimum(proba[:, v], proba[:, dag.parents(v)].min(axis=1))
    return dag, y, proba, rng.integers(1, 4, len(y)).astype(float)


def literal_curve(dag, y, proba, weight, bits, thresholds):
    """Precision, recall, remaining uncertainty and misinformation from sets of nodes."""
    rows = []
    for threshold in thresholds:
        answered = total = precision = recall = missed = wrong = 0.0
        for labels, p, w in zip(y, proba, weight, strict=True):
            true = {u for label in labels for v in [dag.find(label)]
                    for u in [v, *dag.ancestors(v)]} - {0}  # fmt: skip
            if not true:
                continue
            predicted = {v for v in range(1, dag.n_nodes) if p[v] >= threshold}
            size = {
                name: sum(bits[v] for v in nodes)
                for name, nodes in [
                    ("both", true & predicted),
                    ("true", true),
                    ("predicted", predicted),
                    ("missed", true - predicted),
                    ("wrong", predicted - true),
                ]
            }
            total += w
            if size["predicted"] > 0:
                answered += w
                precision += w * size["both"] / size["predicted"]
            if size["true"] > 0:
                recall += w * size["both"] / size["true"]
            missed += w * size["missed"]
            wrong += w * size["wrong"]
        precision = precision / answered if answered else math.nan
        rows.append((precision, recall / total, missed / total, wrong / total))
    return np.array(rows).T


@SETTINGS
@given(coherent_case(), st.booleans())
def test_equals_the_literal_implementation(case, weighted):
    dag, y, proba, weight = case
    options = {"hierarchy": dag, "multi_label": True, "sample_weight": weight}
    bits = np.ones(dag.n_nodes)
    if weighted:
        bits = information_content(y, hierarchy=dag, multi_label=True)
    curve = cafa_curve(y, proba, information=bits if weighted else None, **options)
    np.testing.assert_array_equal(curve.thresholds, [k / 100 for k in range(1, 101)])
    expected = literal_curve(dag, y, proba, weight, bits, curve.thresholds)
    for found, values in zip(
        (curve.precision, curve.recall, curve.remaining_uncertainty, curve.misinformation),
        expected,
        strict=True,
    ):
        np.testing.assert_allclose(found, values, atol=1e-12)
    best = 0.0
    for p, r in zip(*expected[:2], strict=True):
        if p * r > 0:
            best = max(best, 2 * p * r / (p + r))
    assert f_max(y, proba, information=bits, **options) == pytest.approx(best)
    assert s_min(y, proba, information=bits, **options) == pytest.approx(
        min(math.hypot(a, b) for a, b in zip(*expected[2:], strict=True)), abs=1e-12
    )


@SETTINGS
@given(hierarchies_with_sets(max_rows=8))
def test_information_content_equals_the_literal_one(drawn):
    edges, y = drawn
    dag = Hierarchy.from_edges(edges)
    truth = dag.indicator(y).toarray()
    truth[:, 0] = True
    found = information_content(y, hierarchy=dag, multi_label=True)
    for v in range(1, dag.n_nodes):
        above = sum(all(row[p] for p in dag.parents(v)) for row in truth)
        own = sum(row[v] for row in truth)
        assert found[v] == pytest.approx(math.log2(above / own) if own else 0, abs=1e-12)


def test_many_rows_are_looked_at_in_blocks(monkeypatch):
    monkeypatch.setattr("hiclass.metrics._cafa._BLOCK", 1)
    test_curve_by_hand()
    test_curves_equal_those_of_cafaeval()


def test_bad_input_is_refused():
    proba = np.ones((1, DAG.n_nodes))
    for kwargs, message in (
        ({"information": [1.0, 2.0]}, r"information has shape \(2,\); expected \(6,\)"),
        ({"information": ["many"]}, r"information must hold one number per node; got \['many'\]"),
        ({"information": [0, 1, 1, -1, 1, 1]}, r"information has -1.0 for node 3 \(pet\); it must"),
        ({"information": [0, 1, np.inf, 1, 1, 1]}, "information has inf for node 2"),
        ({"thresholds": []}, r"thresholds=\[\] must hold at least one number"),
        ({"thresholds": [np.nan]}, "must hold at least one number, all finite"),
        ({"thresholds": "often"}, "thresholds must be numbers; got 'often'"),
        (
            {"exclude": ["cat", "pet", "feline"]},
            "exclude contains every node that is true in some row",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            cafa_curve([["cat"]], proba, **{**OPTIONS, **kwargs})
    with pytest.raises(ValueError, match="s_min requires information="):
        s_min([["cat"]], proba, information=None, **OPTIONS)
    with pytest.raises(ValueError, match="which is not a probability"):
        f_max([["cat"]], 2 * proba, **OPTIONS)
