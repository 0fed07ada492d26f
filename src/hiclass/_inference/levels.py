"""Probabilities of nodes as columns per level, the form returned by ``predict_proba``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hiclass._inference.paths import final_proba, node_proba
from hiclass._rows import n_rows_of
from hiclass._state import LabelFormat
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy


def label_proba(
    models: Any, format: LabelFormat, classes: Any
) -> Callable[[Any], list[FloatArray]]:
    """A function that returns the probabilities of labels for a chunk of rows.

    Parameters
    ----------
    models : fitted state
        The models.
    format : LabelFormat
        The format of the labels: one column for 1-D labels, otherwise one per level.
    classes : ndarray, or list of ndarray
        The labels; for paths, per level.
    """
    hierarchy = models.hierarchy
    if format.ndim == 2:
        columns = level_columns(hierarchy, classes)
        return lambda X: level_proba(node_proba(models, X), hierarchy, columns)
    place = {(type(label), label): j for j, label in enumerate(classes.tolist())}
    ends = hierarchy.labels[models.options.ends]
    column = [place[type(label), label] for label in ends.tolist()]

    def single(X: Any) -> list[FloatArray]:
        proba = np.zeros((n_rows_of(X), len(place)))
        proba[:, column] = final_proba(models, X)
        return [proba]

    return single


def level_proba(
    proba: FloatArray, hierarchy: Hierarchy, columns: list[tuple[IntArray, int, bool]]
) -> list[FloatArray]:
    """Probabilities per level, one column per label, as :func:`level_columns` finds them."""
    out = []
    for level, (column, n_labels, may_be_over) in enumerate(columns, start=1):
        nodes = hierarchy.nodes_by_level[level] if len(column) else column
        here = np.zeros((len(proba), n_labels))
        if len(nodes) == n_labels - may_be_over:
            here[:, column] = proba[:, nodes]
        else:  # homonyms are summed
            np.add.at(here.T, column, proba[:, nodes].T)
        if may_be_over:
            here[:, -1] = np.maximum(1 - here[:, :-1].sum(axis=1), 0)
        out.append(here)
    return out


def level_columns(
    hierarchy: Hierarchy, classes: list[AnyArray]
) -> list[tuple[IntArray, int, bool]]:
    """The positions of the nodes of each level among the labels ``classes`` of the level.

    Also the number of labels, and whether the last one stands for a path that has ended.
    """
    out = []
    none = np.empty(0, dtype=np.intp)
    for level, labels in enumerate(classes, start=1):
        nodes = hierarchy.nodes_by_level[level] if level <= hierarchy.depth else none
        column = {(type(label), label): j for j, label in enumerate(labels.tolist())}
        found = [column[type(label), label] for label in hierarchy.labels[nodes]]
        place = np.array(found, dtype=np.intp)
        out.append((place, len(labels), len(set(found)) < len(labels)))
    return out
