"""Many packed classifiers as a few arrays, the form in model files.

A model has hundreds of small classifiers of one type. Saved one by one, each has all of its
parameters and a header for each of its arrays, which together may be larger than the weights. Here,
they become a template with everything that they have in common, and a block of numbers for every
value in which they differ.

Weights of 64 bits are rounded to 32 if this changes probabilities by less than 1e-6. A weight
changes by a factor of 2^-25 on average. Because errors are independent, a score changes by this
factor times the norm of the products of weights and values, and a probability by a quarter of that,
divided by the temperature. The largest weight times the largest norm of a training row therefore
decides.

From a memory map, rounded weights are used as they are; otherwise, they have 64 bits again after
loading. Integers take as few bytes as possible. If small weights were dropped, the others are
stored with one bit for every weight, and are not used from a memory map.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from hiclass._typing import AnyArray

#: Objects of these packages are split into their attributes if they have any; all others are
#: values.
_PACKAGES = ("hiclass", "sklearn")
#: The largest product of a weight and the norm of a row, by temperature: 128 x 2^-27 is below 1e-6.
_LARGEST_SCORE = 128
#: Sparse matrices that are split into arrays, by the name of their format.
_SPARSE = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}

Path = tuple[Any, ...]


def as_blocks(classifiers: list[Any], temperature: float = 1.0) -> list[dict[str, Any]]:
    """Combine similar classifiers.

    Parameters
    ----------
    classifiers : list of Packed
        The classifiers to save.
    temperature : float, default=1.0
        The divisor of their scores.

    Returns
    -------
    list of dict
        Groups of similar ones: their places in the list, a template, and their differences.
    """
    groups: dict[Any, list[int]] = {}
    for place, packed in enumerate(classifiers):
        groups.setdefault(_form(packed), []).append(place)
    return [
        _as_group(places, [classifiers[i] for i in places], temperature)
        for places in groups.values()
    ]


def from_blocks(groups: list[dict[str, Any]]) -> list[Any]:
    """The inverse of :func:`as_blocks`.

    Parameters
    ----------
    groups : list of dict
        The saved groups.

    Returns
    -------
    list of Packed
        In their old order. Their arrays are views of the blocks.
    """
    found: dict[int, Any] = {}
    for group in groups:
        places = group["places"].tolist()
        columns = [_expanded(column) for column in group["columns"]]
        paths = [tuple(column["path"]) for column in group["columns"]]
        mapped = any(_is_mapped(column) for column in group["columns"])
        for place, values in zip(places, zip(*columns, strict=True), strict=True):
            packed = _rebuilt(group["template"], dict(zip(paths, values, strict=True)))
            if mapped:
                vars(packed)["double"] = True
            found[place] = packed
    return [found[place] for place in range(len(found))]


# -- objects -----------------------------------------------------------------------------------


def _parts(value: Any) -> dict[Any, Any] | None:
    """The parts of an object by name; None if it is a value."""
    if type(value) in (list, tuple):
        return dict(enumerate(value))
    ours = type(value).__module__.partition(".")[0] in _PACKAGES
    return vars(value) if ours and hasattr(value, "__dict__") else None


def _form(value: Any) -> Any:
    """What similar objects have in common: the types of all values in them."""
    parts = _parts(value)
    if parts is not None:
        return type(value), *((name, _form(part)) for name, part in parts.items())
    if isinstance(value, np.ndarray) or sp.issparse(value):
        return type(value), value.dtype, value.ndim
    return type(value)


def _values(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All values in an object, and their places."""
    parts = _parts(value)
    if parts is None:
        yield path, value
        return
    for name, part in parts.items():
        yield from _values(part, (*path, name))


def _rebuilt(value: Any, others: dict[Path, Any], path: Path = ()) -> Any:
    """A copy of an object with other values in some places."""
    if path in others:
        return others[path]
    parts = _parts(value)
    if parts is None:
        return value
    parts = {name: _rebuilt(part, others, (*path, name)) for name, part in parts.items()}
    if isinstance(value, list | tuple):
        return type(value)(parts.values())
    copy = object.__new__(type(value))
    vars(copy).update(parts)
    return copy


# -- groups ------------------------------------------------------------------------------------


def _as_group(places: list[int], classifiers: list[Any], temperature: float) -> dict[str, Any]:
    """A template and blocks, in the form that ``_expanded`` reads."""
    columns = []
    for entries in zip(*map(_values, classifiers), strict=True):
        path, values = entries[0][0], [value for _, value in entries]
        dtype = None
        if _are_weights(values, classifiers):
            rounds = _are_single(values) or _can_be_rounded(values, classifiers, temperature)
            dtype = np.dtype(np.float32) if rounds else values[0].dtype
        if dtype is not None or not all(_is_same(values[0], value) for value in values[1:]):
            block = _block(values, dtype, classifiers[0].double)
            if dtype is not None and all(packed.dropped for packed in classifiers):
                block = _without_zeros(block)
            columns.append({"path": list(path), **block})
    taken = {tuple(column["path"]): None for column in columns}
    template = _rebuilt(classifiers[0], taken)
    return {"places": np.array(places), "template": template, "columns": columns}


def _is_same(a: Any, b: Any) -> bool:
    """Whether two values of one type are certainly the same."""
    if isinstance(a, np.ndarray):
        return a.dtype.kind in "biuf" and np.array_equal(a, b)
    return a is b or (isinstance(a, bool | int | float | str) and a == b)


def _are_weights(values: list[Any], classifiers: list[Any]) -> bool:
    """Whether these are matrices of numbers with one column per column of their classifier."""
    if not isinstance(values[0], np.ndarray) and not sp.issparse(values[0]):
        return False
    if values[0].dtype.kind != "f" or values[0].ndim != 2:
        return False
    return all(v.shape[1] == len(p.columns) for v, p in zip(values, classifiers, strict=True))


def _can_be_rounded(values: list[Any], classifiers: list[Any], temperature: float) -> bool:
    """Whether weights of 32 bits give almost the same probabilities."""
    return all(
        _largest(weights) * packed.norm <= _LARGEST_SCORE * temperature
        for weights, packed in zip(values, classifiers, strict=True)
    )


def _are_single(values: list[Any]) -> bool:
    """Whether sparse weights have only 32 significant bits, although their type has 64."""
    if not all(map(sp.issparse, values)):
        return False
    with np.errstate(over="ignore"):
        return all(np.array_equal(v.data, v.data.astype(np.float32)) for v in values)


def _largest(weights: Any) -> float:
    numbers = weights.data if sp.issparse(weights) else weights
    return float(max(numbers.max(initial=0), -numbers.min(initial=0), np.finfo(np.float64).tiny))


def _block(values: list[Any], dtype: Any, double: bool) -> dict[str, Any]:
    """Values of one type as arrays if possible; for weights, with the type in the file."""
    first = values[0]
    if type(first) in _SPARSE.values():
        return {
            "sparse": first.format,
            "entries": _stacked([v.data for v in values], dtype),
            "indices": _stacked([v.indices for v in values]),
            "indptr": _stacked([v.indptr for v in values]),
            "sizes": np.array([v.shape for v in values]),
        }
    if isinstance(first, np.ndarray) and first.dtype.kind in "biuf":
        return _stacked(values, dtype, double)
    if type(first) in (int, float):
        numbers = np.array(values)
        if numbers.dtype.kind in "if":
            return {"scalars": numbers}
    return {"values": values}


def _stacked(arrays: list[AnyArray], stored: Any = None, double: bool = False) -> dict[str, Any]:
    """Arrays of one type, end to end, with their shapes."""
    # The memory order stays, because it determines the speed of products and their last bits.
    order: Literal["C", "F"] = "C" if all(a.flags.c_contiguous for a in arrays) else "F"
    # Rounded one by one: another copy of all weights in 64 bits would double the memory of a model.
    parts = [array.ravel(order) for array in arrays]
    numbers = np.concatenate(parts, dtype=stored, casting="same_kind")
    # Weights of 32 bits whose rows need 64 come from a memory map.
    dtype = np.dtype(np.float64) if stored is not None and double else parts[0].dtype
    if stored is None and dtype.kind in "iu" and len(numbers):
        low, high = np.min_scalar_type(numbers.min()), np.min_scalar_type(numbers.max())
        numbers = numbers.astype(np.promote_types(low, high))
    shapes = np.array([array.shape for array in arrays])
    return {"numbers": numbers, "shapes": shapes, "order": order, "dtype": dtype.str}


def _without_zeros(block: dict[str, Any]) -> dict[str, Any]:
    """The same dense weights: those that are not 0, and their places."""
    if "numbers" not in block:  # sparse
        return block
    filled = block["numbers"] != 0
    return {**block, "numbers": block["numbers"][filled], "filled": np.packbits(filled)}


# -- loading -----------------------------------------------------------------------------------


def _expanded(column: dict[str, Any]) -> list[Any]:
    """The values of a block, one for every classifier."""
    if "entries" in column:
        kind, sizes = _SPARSE[column["sparse"]], map(tuple, column["sizes"].tolist())
        names = ("entries", "indices", "indptr")
        parts = zip(*(_separated(column[name], copy=True) for name in names), strict=True)
        return [kind(part, shape=size) for part, size in zip(parts, sizes, strict=True)]
    if "numbers" in column:
        return _separated(column)
    return column["scalars"].tolist() if "scalars" in column else column["values"]


def _separated(stacked: dict[str, Any], copy: bool = False) -> list[AnyArray]:
    """The arrays that were stacked; with ``copy``, they do not stay in a memory map."""
    numbers, shapes, dtype = stacked["numbers"], stacked["shapes"], np.dtype(stacked["dtype"])
    if copy or not _is_mapped(stacked):
        numbers = numbers.astype(dtype, copy=False)
    numbers = np.asarray(numbers)
    ends = np.cumsum(shapes.prod(axis=1))
    if "filled" in stacked:
        known, numbers = numbers, np.zeros(ends[-1], dtype=dtype)
        numbers[np.unpackbits(stacked["filled"], count=ends[-1]).view(bool)] = known
    return [
        part.reshape(shape, order=stacked["order"])
        for part, shape in zip(np.split(numbers, ends[:-1]), shapes.tolist(), strict=True)
    ]


def _is_mapped(column: dict[str, Any]) -> bool:
    """Whether rounded weights, in a dense block, are in a memory-mapped file."""
    numbers = column.get("numbers")
    if not isinstance(numbers, np.memmap) or "filled" in column:
        return False
    return numbers.dtype.kind == "f" and numbers.dtype.str != column["dtype"]
