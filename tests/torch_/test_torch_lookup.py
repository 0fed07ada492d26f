"""Labels of streams that came before."""

import numpy as np
import pytest
from network_helpers import network

from hiclass import Hierarchy

pytestmark = pytest.mark.heavy

TREE = Hierarchy.from_paths([["a", "b"], ["a", "c"], ["d"]])


def test_paths_are_found_once_they_were_noted():
    from hiclass.torch._lookup import Finder

    finder = Finder(TREE, 2)
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

    finder = _lookup.Finder(TREE, 2)
    finder.note([["a", None], [1, 2]], np.array([1, 2]))
    assert finder.find([["a", None]]) is None
    assert finder.find([[True, 2.0]]) is None
    assert finder.find(np.array([[1, 2]])) is None
    labels = _lookup.Finder(TREE, 1)
    labels.note(np.array(["b", "d"], dtype=object), np.array([2, 4]))
    np.testing.assert_array_equal(labels.find(["d", "b"]), [4, 2])
    np.testing.assert_array_equal(labels.find(np.array(["d"])), [4])
    assert labels.find([["d"]]) is None
    assert labels.find(np.array([4])) is None
    monkeypatch.setattr(_lookup, "_MOST", 2)
    labels.note(["c"], np.array([3]))
    assert labels.find(["c"]) is None


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
