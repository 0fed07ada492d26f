"""Combine the labels of two sets of rows: equal labels get equal codes."""

from __future__ import annotations

import numpy as np

from hiclass._labels.columns import LabelColumns, as_values, kind_of, plain, sort_labels
from hiclass._typing import AnyArray, IntArray


def merge_labels(a: LabelColumns, b: LabelColumns, names: tuple[str, str]) -> LabelColumns:
    """Stack two sets of rows over the same levels, so that equal labels get equal codes."""
    n_levels = max(len(a.codes), len(b.codes))
    if a.ndim != b.ndim and n_levels > 1:
        one, other = names if a.ndim == 1 else names[::-1]
        raise ValueError(
            f"{one} holds one label per row but {other} holds paths of {n_levels} levels. Pass "
            "both in the same form."
        )
    codes, values = [], []
    for level in range(n_levels):
        (codes_a, values_a), (codes_b, values_b) = (_level(side, level) for side in (a, b))
        if len(values_a) and len(values_b) and kind_of(values_a) != kind_of(values_b):
            raise ValueError(
                f"Level {level + 1} holds {kind_of(values_a)} labels in {names[0]} "
                f"({plain(values_a[0])!r}) but {kind_of(values_b)} labels in {names[1]} "
                f"({plain(values_b[0])!r}). Use one type within a level."
            )
        union, (map_a, map_b) = _union(values_a, values_b, " and ".join(names))
        codes.append(np.concatenate([map_a[codes_a], map_b[codes_b]]))
        values.append(union)
    return LabelColumns(codes, values, max(a.ndim, b.ndim), a.dtype, a.missing)


def _level(side: LabelColumns, level: int) -> tuple[IntArray, AnyArray]:
    if level < len(side.codes):
        return side.codes[level], side.values[level]
    return np.full(side.n_rows, -1, dtype=np.intp), np.empty(0, dtype=object)


def _union(a: AnyArray, b: AnyArray, names: str) -> tuple[AnyArray, tuple[IntArray, IntArray]]:
    """Union of two sorted arrays, and the positions of their values in it (-1 stays -1)."""
    if len(a) == 0 or len(b) == 0 or (a.dtype == b.dtype and np.array_equal(a, b)):
        union = a if len(a) else b
        places = np.append(np.arange(len(union)), -1)
        return union, (places, places)
    merged = sort_labels(list(set(a.tolist()) | set(b.tolist())), kind_of(a), names)
    place = {value: i for i, value in enumerate(merged)}
    maps = tuple(
        np.array([place[value] for value in side.tolist()] + [-1], dtype=np.intp) for side in (a, b)
    )
    return as_values(merged, kind_of(a)), (maps[0], maps[1])
