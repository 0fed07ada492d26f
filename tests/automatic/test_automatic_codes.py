"""Columns of codes: used where their parts tell classes apart, and only there."""

import numpy as np
import pandas as pd
import pytest

from hiclass import HierarchicalClassifier
from hiclass._automatic.codes import are_useful, find_codes


def test_only_columns_with_a_value_per_row_are_codes():
    left_out = {
        "a": "a different value in every row",
        "b": "almost a different value in every row",
        "c": "the same value in every row",
        "d": "an id: a different whole number in every row",
    }
    assert find_codes(left_out) == ["a", "b"]


def rows(n=240):
    rng = np.random.default_rng(0)
    nodes = rng.integers(1, 5, n)
    noise = rng.normal(size=(n, 3))
    return nodes, noise, np.column_stack([noise, nodes]), np.arange(n) % 3


def test_features_have_to_be_better_by_more_than_chance():
    nodes, noise, told, fold = rows()
    weights = np.ones(len(nodes))
    assert are_useful(noise, told, nodes, fold, weights, 0)
    assert not are_useful(told, told, nodes, fold, weights, 0)
    assert not are_useful(told, noise, nodes, fold, weights, 0)


def test_where_nothing_can_be_held_out_codes_are_left_out():
    nodes, noise, told, fold = rows()
    assert not are_useful(noise, told, nodes, np.full_like(fold, -1), np.ones(len(nodes)), 0)


def planes(told, n=200):
    """Rows whose code ends with letters of their class, or says nothing."""
    rng = np.random.default_rng(0)
    paths = [["a", "x"], ["a", "y"], ["b", "z"], ["b", "w"]]
    which = rng.integers(0, 4, n)
    numbers = rng.permutation(np.arange(1000, 1000 + n))
    tails = np.array(["AA", "BB", "CC", "DD"])[which if told else rng.integers(0, 4, n)]
    codes = [f"N{number}{tail}" for number, tail in zip(numbers, tails, strict=True)]
    frame = pd.DataFrame({"code": codes, "size": rng.normal(size=n), "kind": ["p", "q"] * (n // 2)})
    return frame, [paths[k] for k in which]


def test_codes_are_features_where_their_parts_tell_classes_apart():
    frame, y = planes(told=True)
    model = HierarchicalClassifier(random_state=0).fit(frame[:150], y[:150])
    assert model.choices_["codes"] == "parts of code tell classes apart"
    assert model.features_.columns_["code"] == "text"
    assert model.score(frame[150:], y[150:]) > 0.9
    # With weights, rows without weight count for nothing.
    weights = np.where(np.arange(200) < 150, 1.0, 0.0)
    weighted = HierarchicalClassifier(random_state=0).fit(frame, y, sample_weight=weights)
    assert "codes" in weighted.choices_


@pytest.mark.parametrize("effort", ["balanced", "quick"])
def test_mere_ids_and_quick_models_leave_them_out(effort):
    frame, y = planes(told=effort == "quick")
    model = HierarchicalClassifier(effort=effort, random_state=0).fit(frame, y)
    assert "codes" not in model.choices_
    assert "code" in model.features_.left_out_


def test_codes_without_parts_are_left_out():
    frame, y = planes(told=True)
    frame["code"] = [f"{chr(0x4E00 + i)}-" for i in range(len(frame))]
    model = HierarchicalClassifier(random_state=0).fit(frame, y)
    assert "code" in model.features_.left_out_
