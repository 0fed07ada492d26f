"""Confidence thresholds: the forms of ``min_confidence``, and the threshold of every node.

A number is the threshold of all classes. A sequence has one threshold per level. A mapping has one
per class, which also applies to its descendants unless they have their own entry. A path stops
before the first node below its threshold, so every label of the path reaches its threshold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

#: One threshold for all nodes, or one for each.
Thresholds = float | FloatArray


def is_set(min_confidence: Any) -> bool:
    """Whether a path can be truncated: whether any threshold is above 0."""
    if isinstance(min_confidence, Mapping):
        return any(is_set(value) for value in min_confidence.values())
    return bool(np.any(np.asarray(min_confidence, dtype=np.float64) > 0))


def check_min_confidence(min_confidence: Any, name: str = "min_confidence") -> None:
    """Check that the value is a number, or numbers per level or class.

    Parameters
    ----------
    min_confidence : object
        The value given by the user.
    name : str, default="min_confidence"
        The parameter, for messages.

    Raises
    ------
    ValueError
        If a threshold is not a number of at least 0.
    """
    if isinstance(min_confidence, Mapping):
        for key, value in min_confidence.items():
            _check_numbers(value, name, f" for {key!r}")
    elif not isinstance(min_confidence, Real):
        _check_numbers(min_confidence, name, "")


def _check_numbers(values: Any, name: str, place: str) -> None:
    each = list(values) if _is_sequence(values) else [values]
    for value in each:
        if not _is_threshold(value):
            never = "; with inf, a class is never predicted" if name == "min_confidence" else ""
            raise ValueError(f"{name} has {value!r}{place}. Use numbers of at least 0{never}.")


def _is_threshold(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return is_number and bool(value >= 0)


def _is_sequence(values: Any) -> bool:
    return isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.ndim == 1)


def thresholds_of(
    min_confidence: Any, hierarchy: Hierarchy, name: str = "min_confidence"
) -> Thresholds:
    """The threshold of every node, or one for all nodes.

    Parameters
    ----------
    min_confidence : float, sequence of float, or mapping of classes
        The value given by the user.
    hierarchy : Hierarchy
        A tree.
    name : str, default="min_confidence"
        The parameter, for messages.

    Returns
    -------
    float or ndarray of shape (n_nodes,)

    Raises
    ------
    ValueError
        If a sequence does not have one number per level, or a class does not exist.
    """
    if isinstance(min_confidence, Real):
        return float(min_confidence)
    if not isinstance(min_confidence, Mapping):
        return _by_level(min_confidence, hierarchy, name)
    thresholds = np.zeros(hierarchy.n_nodes)
    named = [(_node(key, hierarchy, name), value) for key, value in min_confidence.items()]
    # From the top down, so that entries of descendants override those of ancestors.
    for node, value in sorted(named, key=lambda pair: int(hierarchy.levels[pair[0]])):
        below = slice(node, int(hierarchy.subtree_end[node]))
        is_one = isinstance(value, Real)
        thresholds[below] = value if is_one else _by_level(value, hierarchy, name)[below]
    thresholds[0] = 0.0
    return thresholds


def _node(key: Any, hierarchy: Hierarchy, name: str) -> int:
    if isinstance(key, tuple) and not key:
        return 0
    try:
        return hierarchy.find(key)
    except ValueError as error:
        error.add_note(f"while reading {name}, which names {key!r}")
        raise


def _by_level(values: Any, hierarchy: Hierarchy, name: str) -> FloatArray:
    each = np.asarray(values, dtype=np.float64)
    if len(each) != hierarchy.depth:
        raise ValueError(
            f"{name} has {len(each)} numbers, but the hierarchy has {hierarchy.depth} levels. Use "
            "one number per level, starting with level 1."
        )
    by_level: FloatArray = np.concatenate([[0.0], each])[hierarchy.levels]
    return by_level


def along_paths(thresholds: Thresholds, hierarchy: Hierarchy, nodes: IntArray) -> Any:
    """The thresholds of the nodes on the paths to some nodes; arbitrary values after their end."""
    if isinstance(thresholds, float):
        return thresholds
    return thresholds[np.maximum(hierarchy._paths[nodes], 0)]


def for_files(min_confidence: Any) -> Any:
    """The form in model files: a mapping becomes a tuple of pairs, whose classes may be tuples."""
    if isinstance(min_confidence, Mapping):
        return tuple(min_confidence.items()) or 0.0
    return min_confidence


def from_files(stored: Any) -> Any:
    """The inverse of :func:`for_files`."""
    pairs = isinstance(stored, tuple) and stored and isinstance(stored[0], tuple | list)
    return dict(stored) if pairs else stored


def as_json(min_confidence: Any) -> Any:
    """The form in JSON: infinite thresholds become null, classes a list of paths."""
    if isinstance(min_confidence, Mapping):
        return [
            {"class": list(key) if isinstance(key, tuple) else key, "threshold": as_json(value)}
            for key, value in min_confidence.items()
        ]
    if _is_sequence(min_confidence):
        return [as_json(value) for value in min_confidence]
    value = float(min_confidence)
    return None if math.isinf(value) else value


def in_words(min_confidence: Any) -> str:
    """``min_confidence`` for a sentence: the number, or its parts."""
    if isinstance(min_confidence, Mapping):
        return "the threshold of its class"
    if _is_sequence(min_confidence):
        each = ", ".join(f"{float(value):.4g}" for value in min_confidence)
        return f"the threshold of its level ({each})"
    return f"{float(min_confidence):g}"
