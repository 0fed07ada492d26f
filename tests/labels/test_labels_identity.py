"""Rows that share the objects of their labels are grouped by address."""

import numpy as np
import pytest

from hiclass._labels import columns, identity
from hiclass._targets import paths


@pytest.fixture(autouse=True)
def fewer_rows(monkeypatch):
    """Group fewer rows than are worth it."""
    monkeypatch.setattr(identity, "_FEWEST_ROWS", 1 << 12)


def shared(n, n_objects, seed=0):
    names = np.array([f"label {i}" for i in range(n_objects)], dtype=object)
    return names[np.random.default_rng(seed).integers(n_objects, size=n)]


def test_rows_are_grouped_by_the_object_that_they_refer_to():
    a, b = "one label", "another label"
    twin = "".join(["one ", "label"])
    assert twin == a
    assert twin is not a
    column = np.array([b, a, twin, a, b] * 2000, dtype=object)
    first, codes = identity.group_by_identity(column)
    assert first.tolist() == [0, 1, 2]
    assert codes[:5].tolist() == [0, 1, 2, 1, 0]
    assert (codes.reshape(-1, 5) == codes[:5]).all()


def test_rows_of_several_objects_are_equal_if_all_objects_are_the_same():
    a, b, twin = "a label", "b label", "".join(["a ", "label"])
    rows = np.array([[a, b], [b, a], [a, a], [twin, b], [a, b]] * 2000, dtype=object)
    for order in ("C", "F"):
        first, codes = identity.group_by_identity(np.asarray(rows, order=order))
        assert first.tolist() == [0, 1, 2, 3]
        assert codes[:5].tolist() == [0, 1, 2, 3, 0]
        assert (codes.reshape(-1, 5) == codes[:5]).all()


def test_different_rows_with_equal_keys_are_not_grouped(monkeypatch):
    rows = np.column_stack([shared(9000, 4, 1), shared(9000, 5, 2)])
    first, _ = identity.group_by_identity(rows)
    assert len(first) == 20
    monkeypatch.setattr(identity, "_FACTOR", np.uint64(0))  # only the last object counts
    assert identity.group_by_identity(rows) is None


def test_few_rows_and_rows_with_objects_of_their_own_are_not_grouped():
    assert identity.group_by_identity(shared(4095, 3)) is None
    own = np.array([f"label {i % 7}" for i in range(20_000)], dtype=object)
    assert identity.group_by_identity(own) is None


@pytest.mark.parametrize("n_keys", [1, 300, 5000])
@pytest.mark.parametrize("bits", [1, 6, 18])
def test_keys_are_numbered_as_they_appear_also_where_hashes_are_equal(n_keys, bits, monkeypatch):
    monkeypatch.setattr(identity, "_BITS", bits)
    keys = np.random.default_rng(0).integers(n_keys, size=20_000).astype(np.uint64) * np.uint64(16)
    groups = identity._Groups()
    codes = np.concatenate([groups.codes(keys[i : i + 3000], i) for i in range(0, 20_000, 3000)])
    _, first = np.unique(keys, return_index=True)
    assert groups.first == sorted(first.tolist())
    np.testing.assert_array_equal(keys[groups.first][codes], keys)


def test_rows_whose_sample_misleads_are_not_grouped(monkeypatch):
    column = np.array([f"label {i}" for i in range(16_000)], dtype=object)
    column[::16] = "one of sixteen"
    assert identity.group_by_identity(column) is None
    column[: 3 * 4000] = "three of four"
    first, codes = identity.group_by_identity(column)
    assert len(first) < 4000
    assert (column[first][codes] == column).all()


def test_labels_read_the_same_by_identity_and_by_value(monkeypatch):
    y = np.column_stack([shared(9000, 4, 1), shared(9000, 50, 2)])
    y[5:9, 1] = None
    y[3, 1] = ""
    by_identity = columns.read_labels(y)
    monkeypatch.setattr(columns, "group_by_identity", lambda column: None)
    by_value = columns.read_labels(y)
    for a, b in zip(by_identity.codes, by_value.codes, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(by_identity.values, by_value.values, strict=True):
        assert a.tolist() == b.tolist()
    assert by_identity.missing == by_value.missing == ""
    assert by_identity.dtype == by_value.dtype


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("n_levels", [1, 2])
def test_nodes_are_the_same_by_identity_and_by_value(n_levels, given, monkeypatch):
    y = np.column_stack([shared(9000, 4, 1), shared(9000, 50, 2)])
    y[5:9, 1] = None
    y[3, 1] = ""
    y = y if n_levels == 2 else y[:, 0]
    hierarchy = paths.encode(y).hierarchy if given else None
    seen = []
    monkeypatch.setattr(paths, "read_paths", lambda y: seen.append(y) or columns.read_paths(y))
    by_identity = paths.encode(y, hierarchy)
    assert len(seen[-1]) < 250
    monkeypatch.setattr(paths, "group_by_identity", lambda rows: None)
    by_value = paths.encode(y, hierarchy)
    assert len(seen[-1]) == 9000
    np.testing.assert_array_equal(by_identity.nodes, by_value.nodes)
    assert by_identity.hierarchy == by_value.hierarchy
    assert by_identity.format == by_value.format


def test_edges_are_read_once_also_where_a_label_is_unknown():
    y = shared(9000, 4)
    y[8000] = "unknown"
    edges = [("top", f"label {i}") for i in range(4)]
    with pytest.raises(ValueError, match="Row 8000 of y: The hierarchy has no class 'unknown'"):
        paths.encode(y, iter(edges))


def test_a_gap_in_a_path_names_the_row_also_where_rows_are_equal():
    y = np.column_stack([shared(9000, 4, 1), shared(9000, 50, 2)])
    y[8000, 0] = None
    with pytest.raises(ValueError, match="Row 8000 of y has a label at level 2"):
        paths.encode(y)


@pytest.mark.parametrize(
    ("label", "error", "message"),
    [
        (3, ValueError, r"mixes types: row 0 has 'label \d' \(str\), row 8000 has 3 \(int\)"),
        ([1], TypeError, r"has \[1\] in row 8000, a list, which cannot be a label"),
    ],
)
def test_messages_name_the_row_also_where_rows_share_objects(label, error, message):
    y = shared(9000, 4)
    y[8000] = label
    with pytest.raises(error, match=message):
        columns._encode(y, "y", "y")
