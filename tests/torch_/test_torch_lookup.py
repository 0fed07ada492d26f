"""Labels of streams that came before."""

from dataclasses import replace

import numpy as np
import pytest
from network_helpers import network

from hiclass import Hierarchy

pytestmark = pytest.mark.heavy

TREE = Hierarchy.from_paths([["a", "b"], ["a", "c"], ["d"]])
ALL = np.ones(5, dtype=bool)


def test_paths_are_found_once_they_were_noted():
    from hiclass.torch._lookup import Finder

    finder = Finder(TREE, 2, ALL)
    y = [["a", "b"], ["d"], ["a", ""]]
    nodes = np.array([2, 4, 1])
    assert finder.find(y) is None
    finder.note(y, nodes)
    for same in (y, [tuple(path) for path in y]):
        np.testing.assert_array_equal(finder.find(same), nodes)
    np.testing.assert_array_equal(finder.find(np.array([["a", "b"], ["a", ""]])), [2, 1])
    ragged = np.empty(1, dtype=object)
    ragged[0] = ["a", "b"]
    np.testing.assert_array_equal(finder.find(ragged), [2])
    for other in ([["a", "x"]], [["a"]], ["a"], [], np.empty((0, 2), dtype=object), None):
        assert finder.find(other) is None


def test_only_strings_are_remembered(monkeypatch):
    from hiclass.torch import _lookup

    finder = _lookup.Finder(TREE, 2, ALL)
    finder.note([["a", None], [1, 2]], np.array([1, 2]))
    assert finder.find([["a", None]]) is None
    assert finder.find([[True, 2.0]]) is None
    assert finder.find(np.array([[1, 2]])) is None
    monkeypatch.setattr(_lookup, "_MOST", 0)
    finder.note([["d"]], np.array([4]))
    assert finder.find([["d"]]) is None


def test_single_labels_are_known_from_the_hierarchy():
    from hiclass.torch._lookup import Finder

    labels = Finder(TREE, 1, ALL)
    np.testing.assert_array_equal(labels.find(["d", "b"]), [4, 2])
    np.testing.assert_array_equal(labels.find(np.array(["d"])), [4])
    assert labels.find([["d"]]) is None
    assert labels.find(np.array([4])) is None
    for other in (["x"], ["d", ""], [None], ["d", 1]):
        assert labels.find(other) is None
    twice = Finder(Hierarchy.from_paths([["a", "b"], ["c", "b"], ["d", "e"]]), 1, np.ones(7, bool))
    assert twice.find(["b"]) is None  # which one is not known
    np.testing.assert_array_equal(twice.find(["e", "a"]), [6, 1])
    numbers = Finder(Hierarchy.from_paths([[1, 2], [1, 3]]), 1, np.ones(4, bool))
    np.testing.assert_array_equal(numbers.find(np.array([3, 1])), [3, 1])
    assert numbers.find(["1"]) is None


def test_classes_that_rows_may_not_have_are_not_found():
    from hiclass.torch._lookup import Finder

    allowed = np.array([True, False, True, True, True])
    labels = Finder(TREE, 1, allowed)
    assert labels.find(["b", "a"]) is None
    np.testing.assert_array_equal(labels.find(["b", "c"]), [2, 3])
    paths = Finder(TREE, 2, allowed)
    paths.note([["a", ""], ["a", "b"]], np.array([1, 2]))
    assert paths.find([["a", ""]]) is None
    np.testing.assert_array_equal(paths.find([["a", "b"]]), [2])
    numbers = Finder(Hierarchy.from_paths([[1, 2], [1, 3]]), 1, np.array([1, 0, 1, 1], bool))
    assert numbers.find(np.array([3, 1])) is None
    np.testing.assert_array_equal(numbers.find(np.array([3, 2])), [3, 2])


def test_what_is_allowed_is_what_is_accepted(hard):
    """Of every node, the table tells what the check of a row says."""
    from hiclass._targets.paths import encode
    from hiclass.torch._known import Known

    y = hard[1]
    for leaf_only in (False, True):
        target = encode(y)
        for known in (
            Known.announced(target, leaf_only=leaf_only),
            Known.seen(encode(y[:10], target.hierarchy), leaf_only=leaf_only),
        ):
            allowed = known.allowed(leaf_only=leaf_only)
            for node in range(1, target.hierarchy.n_nodes):
                one = replace(target, nodes=np.array([node]))
                try:
                    known.check(one, leaf_only=leaf_only)
                    accepted = True
                except ValueError:
                    accepted = False
                assert allowed[node] == accepted


def test_a_wrong_path_is_an_error_also_after_right_ones(hard):
    X, y = hard
    paths = [list(path) for path in y]
    wrong = [["Animal", "Fern", ""]]
    parts = [(X, paths), (X, paths), (X[:1], wrong)]
    with pytest.raises(ValueError, match="Fern"):
        network().fit_batches(parts, classes=paths)
    model = network(max_epochs=10).fit_batches(parts[:2], classes=paths)
    expected = network(max_epochs=10).fit_batches([(X, y), (X, y)], classes=y)
    np.testing.assert_array_equal(model.predict_node_proba(X), expected.predict_node_proba(X))


def test_numbers_that_are_not_finite_are_refused_however_many_there_are(hard, monkeypatch):
    from hiclass.torch import _batches

    X, y = hard
    monkeypatch.setattr(_batches, "_MANY", 1)
    X = X.astype(np.float32)
    assert _batches.surely_finite(X)
    assert not _batches.surely_finite(X.astype(float))
    large = np.full_like(X, 3e38)  # their sum is not finite, but they are
    assert not _batches.surely_finite(large)
    assert network(max_epochs=1).fit(X, y).predict(large).shape == y.shape
    for bad in (np.nan, np.inf):
        worse = X.copy()
        worse[5, 2] = bad
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            network().fit(worse, y)
