"""Group rows by the object that they refer to: faster than by the value of a label.

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
#: So many rows are grouped at a time: what is computed on the way stays in the cache.
_BLOCK = 1 << 16
#: The hash of an address has so many bits.
_BITS = 18
#: An odd number with well-mixed bits (2^64 over the golden ratio).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
#: An address that no object has.
_NOWHERE = 1


def group_by_identity(column: AnyArray) -> tuple[IntArray, IntArray] | None:
    """Group the rows of an array of objects by identity.

    Parameters
    ----------
    column : ndarray of objects
        An object per row.

    Returns
    -------
    tuple or None
        The first row of every distinct object, ascending, and by row the place of its object among
        them. None where rows are few, or few of them share an object.
    """
    n = len(column)
    if n < _FEWEST_ROWS:
        return None
    some = _addresses(column[:: max(16, n // _LOOKED_AT)])
    if len(np.unique(some)) > 0.9 * len(some):
        return None
    groups = _Groups()
    codes = np.empty(n, dtype=np.intp)
    for start in range(0, n, _BLOCK):
        block = slice(start, start + _BLOCK)
        codes[block] = groups.codes(_addresses(column[block]), start)
        if len(groups.first) > n // 4:
            return None
    return np.array(groups.first, dtype=np.intp), codes


def _addresses(column: AnyArray) -> AnyArray:
    """The address of every object."""
    objects = np.ascontiguousarray(column)
    return np.ndarray(len(objects), np.uintp, buffer=objects).astype(np.uint64)


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
