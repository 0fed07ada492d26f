"""``compare_flat``: scores by hand, paired intervals, and the answer in words."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from hiclass import FlatComparison, compare_flat
from hiclass._inspect.flat_comparison import _compare, _count, _paths
from hiclass.hierarchy import Hierarchy


def rows(n, *, related, seed=0):
    """Rows of 16 classes; ``related`` siblings are neighbours, others have a random parent."""
    rng = np.random.default_rng(seed)
    leaf = np.arange(n) % 16
    parent = np.arange(16) // 4 if related else np.arange(16) % 4
    centre = rng.normal(scale=4, size=(4, 6))[np.arange(16) // 4] + rng.normal(size=(16, 6))
    X = centre[leaf] + rng.normal(scale=1.2, size=(n, 6))
    return X, [[f"p{parent[k]}", f"c{k}"] for k in leaf]


def test_counts_are_those_of_the_paths():
    hierarchy = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b"]])
    ancestors = _paths(hierarchy)
    node = {path: hierarchy.find(path) for path in (("a", "x"), ("a", "y"), ("b",), ("a",))}
    true = np.array([node["a", "x"], node["a", "x"], node["b",], node["a", "x"]])
    found = np.array([node["a", "x"], node["a", "y"], node["a", "x"], node["a",]])
    assert _count(ancestors, true, found).tolist() == [[2, 2, 2], [1, 2, 2], [0, 2, 1], [1, 1, 2]]


def test_scores_and_intervals_by_hand():
    flat = np.array([[0, 1, 1]] * 50 + [[1, 1, 1]] * 50)
    better = np.array([[1, 1, 1]] * 100)
    found = _compare({"flat": flat, "local": better, "both": flat}, np.ones(2), None, 3, 0)
    assert found.scores["flat"] == {"exact": 0.5, "f1": 0.5}
    assert found.scores["local"] == {"exact": 1.0, "f1": 1.0}
    middle, low, high = found.differences["local"]["f1"]
    # The standard error of a share of one half of 100 rows is 0.05.
    assert middle == 0.5
    assert low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.015)
    assert high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.015)
    assert found.differences["both"]["f1"] == (0.0, 0.0, 0.0)
    assert found.helps
    assert "The hierarchy helps exact match: the local model gains +50.0 points" in found.verdict


def test_groups_are_resampled_as_a_whole():
    flat = np.array([[0, 1, 1]] * 50 + [[1, 1, 1]] * 50)
    better = np.array([[1, 1, 1]] * 100)
    counts = {"flat": flat, "local": better, "both": better}
    by_row = _compare(counts, np.ones(2), None, 3, 0).differences["local"]["f1"]
    unit = np.repeat(np.arange(4), 25)
    by_group = _compare(counts, np.ones(2), unit, 3, 0).differences["local"]["f1"]
    assert by_group[0] == by_row[0]
    assert by_group[2] - by_group[1] > 3 * (by_row[2] - by_row[1])


def test_a_worse_model_hurts_and_equal_ones_do_not_differ():
    right, wrong = np.array([[1, 1, 1]] * 100), np.array([[0, 1, 1]] * 100)
    worse = _compare({"flat": right, "local": wrong, "both": wrong}, np.ones(2), None, 3, 0)
    assert not worse.helps
    assert "The hierarchy hurts hierarchical F1" in worse.verdict
    same = _compare(dict.fromkeys(("flat", "local", "both"), right), np.ones(2), None, 3, 0)
    assert same.verdict.count("No significant difference") == 2


def test_a_hierarchy_of_the_features_helps_more_than_a_random_one():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    gains = [
        compare_flat(*rows(800, related=related), local_classifier=tree).differences["local"]["f1"]
        for related in (True, False)
    ]
    assert gains[0][1] > max(0, gains[1][2])  # the whole interval above the other one


def test_texts_become_features_in_every_fold():
    words = {"x": "card limit fee", "y": "card cash machine", "z": "house loan rate"}
    y = [["a", "x"], ["a", "y"], ["b", "z"]] * 20
    found = compare_flat([f"{words[path[1]]} {i}" for i, path in enumerate(y)], y)
    assert isinstance(found, FlatComparison)
    assert found.scores["both"] == {"exact": 1.0, "f1": 1.0}
    assert found.n_samples == 60
    assert str(found).splitlines()[0].split() == ["exact", "match", "F1"]


def test_the_same_seed_gives_the_same_result_and_progress_is_reported():
    X, y = rows(160, related=True)
    seen = []
    first = compare_flat(X, y, random_state=3, progress=seen.append)
    assert seen == [1, 2, 3]
    assert compare_flat(X, y, random_state=3).differences == first.differences


def test_paths_that_end_early_count():
    X, y = rows(160, related=True)
    y = [path[:1] if i % 7 == 0 else path for i, path in enumerate(y)]
    assert 0 < compare_flat(X, y).scores["local"]["f1"] < 1


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a", "b"]] * 6, "y has a single final class"),
        (["a", "b"] * 3, "y has one level, so a flat and a local model are the same"),
        ([["a", "b"], ["a", "c"]] * 4, "8"),
    ],
)
def test_what_cannot_be_compared_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        compare_flat(np.zeros((6, 2)), y)
