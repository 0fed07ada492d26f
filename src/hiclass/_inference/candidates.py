"""Nodes that rows may reach, with their probabilities, and the decisions based on them.

Few nodes of a large hierarchy matter for a row. A list of candidates has one entry for each such
pair of row and node, so that memory grows with their number and not with rows times nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy


@dataclass(frozen=True)
class Decision:
    """The decisions for a chunk of rows.

    Attributes
    ----------
    nodes : ndarray of shape (n,)
        The node at which each path ends.
    confidence : ndarray of shape (n, depth)
        Probability of the node of the path at each level; NaN after its end.
    """

    nodes: IntArray
    confidence: FloatArray

    @staticmethod
    def join(parts: list[Decision]) -> Decision:
        """The decisions of several chunks as one."""
        if len(parts) == 1:
            return parts[0]
        return Decision(
            np.concatenate([d.nodes for d in parts]), np.concatenate([d.confidence for d in parts])
        )


@dataclass(frozen=True)
class Candidates:
    """Nodes that rows may reach: one entry per row and node."""

    rows: IntArray
    nodes: IntArray
    proba: FloatArray

    def where(self, keep: Any) -> Candidates:
        """A selection of the entries."""
        return Candidates(self.rows[keep], self.nodes[keep], self.proba[keep])

    @staticmethod
    def join(parts: list[Candidates]) -> Candidates:
        """The entries of several parts."""
        return Candidates(
            np.concatenate([p.rows for p in parts] or [np.empty(0, dtype=np.intp)]),
            np.concatenate([p.nodes for p in parts] or [np.empty(0, dtype=np.intp)]),
            np.concatenate([p.proba for p in parts] or [np.empty(0)]),
        )


def path_values(hierarchy: Hierarchy, levels: list[Candidates], n: int, f: float) -> Candidates:
    """Replace P(node) of every candidate by the sum over its path of P(node) - f / 2.

    ``levels`` holds the candidates of each level; they include the ancestors of every candidate.
    """
    keys, values = np.arange(n) * hierarchy.n_nodes, np.zeros(n)
    found = []
    for at in levels:
        above = np.searchsorted(keys, at.rows * hierarchy.n_nodes + hierarchy.parent[at.nodes])
        value = values[above] + at.proba - f / 2
        found.append(Candidates(at.rows, at.nodes, value))
        key = at.rows * hierarchy.n_nodes + at.nodes
        order = np.argsort(key)
        keys, values = key[order], value[order]
    return Candidates.join(found)


def best_values(hierarchy: Hierarchy, levels: list[Candidates], n: int, f: float) -> IntArray:
    """For every row, the candidate with the largest sum over its path of P(node) - f / 2."""
    found = path_values(hierarchy, levels, n, f)
    best, nodes = np.full(n, -np.inf), np.full(n, hierarchy.n_nodes)
    np.maximum.at(best, found.rows, found.proba)
    top = found.where(found.proba == best[found.rows])
    np.minimum.at(nodes, top.rows, top.nodes)
    return np.where(nodes < hierarchy.n_nodes, nodes, 0)


def confidence_along(hierarchy: Hierarchy, nodes: IntArray, levels: list[Candidates]) -> FloatArray:
    """Look up the probabilities along the paths to some nodes, one per row."""
    n_nodes = hierarchy.n_nodes
    everything = Candidates.join(levels)
    if not len(everything.rows):
        return np.full((len(nodes), hierarchy.depth), np.nan)
    key = everything.rows * n_nodes + everything.nodes
    order = np.argsort(key)
    path = hierarchy._paths[nodes]
    wanted = np.arange(len(nodes))[:, None] * n_nodes + np.maximum(path, 0)
    place = np.minimum(np.searchsorted(key, wanted, sorter=order), len(key) - 1)
    return np.where(path >= 0, everything.proba[order[place]], np.nan)
