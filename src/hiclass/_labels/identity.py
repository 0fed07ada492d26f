"""Group rows by the object that they refer to: faster than by the value of a label.

Labels that were looked up in a list of names, or read by pandas, are a few strings that many rows
share. Equal addresses mean equal labels, and NumPy compares addresses without Python's help.
"""

from __future__ import annotations

import numpy as np

from hiclass._typing import AnyArray, IntArray

#: With fewer rows there is nothing to gain.
_FEWEST_ROWS = 1 << 12
#: Whether rows share objects is seen on one row of 16, and on no more than so many.
_LOOKED_AT = 1 << 12
#: Odd numbers with well-mixed bits, one per hash table.
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


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
    owner = _first_rows(_addresses(column))
    if owner is None:
        return None
    first = np.flatnonzero(owner == np.arange(n))
    place = np.empty(n, dtype=np.intp)
    place[first] = np.arange(len(first))
    return first, place[owner]


def _addresses(column: AnyArray) -> AnyArray:
    """The address of every object."""
    objects = np.ascontiguousarray(column)
    return np.ndarray(len(objects), np.uintp, buffer=objects).astype(np.uint64)


def _first_rows(keys: AnyArray) -> IntArray | None:
    """By row, the first row with the same key; by hash tables, without sorting."""
    n = len(keys)
    bits = n.bit_length() + 1
    found = np.empty(n, dtype=np.intp)
    table = np.empty(1 << bits, dtype=np.intp)  # slots without rows are never read
    rows = np.arange(n)
    for factor in _FACTORS:
        own = keys if len(rows) == n else keys[rows]
        slot = own * np.uint64(factor)
        slot >>= np.uint64(64 - bits)
        table[slot[::-1]] = rows[::-1]  # of several rows the last one assigned counts: the first
        first = table[slot]
        found[rows] = first
        # Another key has the slot: these rows are put into a table again, by another hash.
        rows = rows[keys[first] != own]
        if not len(rows):
            return found
    return None
