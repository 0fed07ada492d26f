"""Probabilities of nodes as columns per level, the form that ``predict_proba`` returns."""

from __future__ import annotations

import numpy as np

from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy


def level_proba(
    proba: FloatArray, hierarchy: Hierarchy, columns: list[tuple[IntArray, int, bool]]
) -> list[FloatArray]:
    """Probabilities per level, one column per label, as :func:`level_columns` says."""
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
    """Where the nodes of each level stand among the labels ``classes`` of the level.

    Also the number of labels, and whether the last one says that the path is over.
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
