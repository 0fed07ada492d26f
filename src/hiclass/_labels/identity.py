"""Group rows by the objects that they refer to: faster than by the values of labels.

Labels that were looked up in a list of names, or read by pandas, are a few strings that many rows
share. Equal addresses mean equal labels, and NumPy compares addresses without Python's help.
"""

from __future__ import annotations

import numpy as np

from hiclass._typing import AnyArray, IntArray

#: Fewer rows are read faster by value: the table takes a few milliseconds.
_FEWEST_ROWS = 1 << 18
#: Whether rows share objects is seen on one row of 16, and on no more than so many.
_LOOKED_AT = 1 << 12
#: Groups have at least so many rows on average, or reading by value is faster; for rows of one
#: object, and of several.
_FEWEST_EQUAL, _FEWEST_EQUAL_PATHS = 4, 16
#: So many rows are grouped at a time: what is computed on the way stays in the cache.
_BLOCK = 1 << 16
#: The hash of a key has so many bits.
_BITS = 18
#: An odd number with well-mixed bits (2^64 over the golden ratio).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
#: An address that no object has. A row of several with this key differs from all known rows.
_NOWHERE = 1


def group_by_identity(rows: AnyArray) -> tuple[IntArray, IntArray] | None:
    """Group the rows of an array of objects by identity.

    Parameters
    ----------
    rows : ndarray of objects, with one or two axes
        An object per row, or several. Rows are equal if all their objects are the same.

    Returns
    -------
    tuple or None
        The first row of every group, ascending; and, by row, the number of its group. None where
        rows are few, or few of them are equal.
    """
    n = len(rows)
    if n < _FEWEST_ROWS:
        return None
    some = _keys(_addresses(rows[:: max(16, n // _LOOKED_AT)]))
    if len(np.unique(some)) > 0.9 * len(some):
        return None
    groups, n_columns = _Groups(), 1 if rows.ndim == 1 else rows.shape[1]
    most = n // (_FEWEST_EQUAL if n_columns == 1 else _FEWEST_EQUAL_PATHS)
    known = np.zeros((most if n_columns > 1 else 0, n_columns), dtype=np.uint64)
    codes = np.empty(n, dtype=np.intp)
    for start in range(0, n, _BLOCK):
        block = slice(start, start + _BLOCK)
        own, n_known = _addresses(rows[block]), len(groups.first)
        codes[block] = groups.codes(_keys(own), start)
        if len(groups.first) > most:
            return None
        if n_columns > 1:  # different rows may have equal keys
            new = np.array(groups.first[n_known:], dtype=np.intp) - start
            known[n_known : len(groups.first)] = own[new]
            if (known[codes[block]] != own).any():
                return None
    return np.array(groups.first, dtype=np.intp), codes


def _addresses(rows: AnyArray) -> AnyArray:
    """The address of every object, in columns."""
    objects = np.ascontiguousarray(rows if rows.ndim == 2 else rows[:, None])
    return np.ndarray(objects.shape, np.uintp, buffer=objects).astype(np.uint64)


def _keys(addresses: AnyArray) -> AnyArray:
    """A number per row: its address, or a mixture of its addresses."""
    keys = addresses[:, 0]
    for column in addresses.T[1:]:
        keys = keys * _FACTOR + column
    return keys


class _Groups:
    """The distinct keys so far.

    A hash table has one key per slot. Keys that find another one in their slot, and new ones, are
    looked up in a dict.
    """

    def __init__(self) -> None:
        self.first: list[int] = []
        self._number: dict[int, int] = {}
        self._key = np.full(1 << _BITS, _NOWHERE, dtype=np.uint64)
        self._code = np.zeros(1 << _BITS, dtype=np.intp)

    def codes(self, keys: AnyArray, start: int) -> IntArray:
        """The number of every key of a block of rows; keys are numbered as they appear."""
        slot = keys * _FACTOR
        slot >>= np.uint64(64 - _BITS)
        found: IntArray = self._code[slot]
        rest = np.flatnonzero(self._key[slot] != keys)
        if len(rest):
            own, at, inverse = np.unique(keys[rest], return_index=True, return_inverse=True)
            at = rest[at]
            order = np.argsort(at)
            for key, row in zip(own[order].tolist(), (start + at[order]).tolist(), strict=True):
                if key not in self._number:
                    self._number[key] = len(self.first)
                    self.first.append(row)
            number = np.array([self._number[key] for key in own.tolist()], dtype=np.intp)
            found[rest] = number[inverse]
            is_free = self._key[slot[at]] == _NOWHERE
            self._key[slot[at[is_free]]] = own[is_free]
            self._code[slot[at[is_free]]] = number[is_free]
        return found
