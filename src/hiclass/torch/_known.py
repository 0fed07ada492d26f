"""The classes of a network: those with outputs, and those with training rows.

After ``fit`` these are the same. In a stream, a network has outputs for all announced classes, and
predicts those that have had rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hiclass._problems.batches import check_layout, make_layout
from hiclass._problems.index import RowCounts, find_options, weight_by_node
from hiclass._problems.strategies import STRATEGIES
from hiclass._state import LocalModels, Options, SetModels
from hiclass._targets.paths import Target
from hiclass._targets.sets import SetTarget
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.torch._layout import Layout, conditional_layout, leaf_layout, set_layout
from hiclass.torch._network import FittedNetwork

AnyTarget = Target | SetTarget
#: A network is one classifier for all classes.
_STRATEGY = STRATEGIES["global"]


@dataclass(frozen=True)
class Known:
    """The classes of a network.

    Attributes
    ----------
    hierarchy : Hierarchy
        All classes.
    options : Options or None
        The branches of every node; None where rows are sets of classes.
    nodes : ndarray of bool
        Whether the network has an output for a node; used where rows are sets.
    n_own : ndarray of int
        How many rows have had each node as a most specific one.
    n_in : ndarray of int
        How many rows have been in each node, itself or below; used where rows are sets.
    own_weight : ndarray of float or None
        The weight of the rows that end at each node; None where rows are sets, and in older files.
    """

    hierarchy: Hierarchy
    options: Options | None
    nodes: AnyArray
    n_own: IntArray
    n_in: IntArray
    own_weight: FloatArray | None = None

    @staticmethod
    def announced(target: AnyTarget, *, leaf_only: bool) -> Known:
        """All classes of the hierarchy of some rows, before training."""
        return Known.of_all(target.hierarchy, sets=target.of_sets, leaf_only=leaf_only)

    @staticmethod
    def of_all(hierarchy: Hierarchy, *, sets: bool, leaf_only: bool) -> Known:
        """All classes of a hierarchy, before training."""
        n = hierarchy.n_nodes
        options = None if sets else make_layout(hierarchy, np.full(n, not leaf_only))
        none = np.zeros(n, dtype=np.intp)
        own_weight = None if options is None else np.zeros(n)
        return Known(hierarchy, options, np.ones(n, dtype=bool), none, none, own_weight)

    @staticmethod
    def seen(target: AnyTarget, weights: Any = None, *, leaf_only: bool) -> Known:
        """The classes of some rows."""
        known = Known.announced(target, leaf_only=leaf_only).after(target, weights)
        if known.of_sets:
            return replace(known, nodes=known.n_in > 0)
        return replace(known, options=known._populated(leaf_only))

    @property
    def of_sets(self) -> bool:
        """Whether rows are sets of classes."""
        return self.options is None

    def _populated(self, leaf_only: bool) -> Options:
        """The branches that have had rows."""
        return find_options(RowCounts(self.hierarchy, self.n_own), leaf_only=leaf_only)

    def after(self, target: Any, weights: Any = None) -> Known:
        """The same after some more rows."""
        if self.of_sets:
            own, inside = (
                np.asarray(m.sum(axis=0)).reshape(-1) for m in (target.own, target.closed)
            )
            return replace(self, n_own=self.n_own + own, n_in=self.n_in + inside)
        own = np.bincount(target.nodes, minlength=self.hierarchy.n_nodes)
        weight = self.own_weight
        if weight is not None:
            weight = weight + weight_by_node(self.hierarchy, target.nodes, weights)
        return replace(self, n_own=self.n_own + own, own_weight=weight)

    def check(self, target: Any, *, leaf_only: bool) -> None:
        """Refuse rows of classes that the network has no outputs for."""
        if self.options is not None:
            check_layout(self.hierarchy, self.options, target.nodes, leaf_only)
            return
        row, node = target.closed.nonzero()
        unknown = ~self.nodes[node] & (node > 0)
        if unknown.any():
            at = int(np.argmax(unknown))
            raise ValueError(
                f"Row {row[at]} of y: the network has no output for the class "
                f"{self.hierarchy.describe(int(node[at]))}, which had no rows in fit. Call fit "
                f"with such rows, or start again with partial_fit or fit_batches."
            )

    def allowed(self, *, leaf_only: bool) -> AnyArray:
        """By node, whether :meth:`check` accepts rows of it, where rows have one class."""
        assert self.options is not None
        tree, known = self.hierarchy, np.zeros(self.hierarchy.n_nodes, dtype=bool)
        known[self.options.indices] = True
        paths = tree._paths[np.arange(tree.n_nodes)]
        reached = ((paths < 0) | known[paths]).all(axis=1)
        found: AnyArray = reached & (tree.is_leaf | self.options.can_stop | leaf_only)
        return found

    def layout(self, loss: str, *, recursive: bool) -> Layout:
        """What the outputs mean."""
        if self.options is None:
            return set_layout(self.hierarchy, self.nodes, loss)
        if loss == "leaf":
            return leaf_layout(self.hierarchy, self.options, recursive=recursive)
        return conditional_layout(self.hierarchy, self.options)

    def models(self, network: FittedNetwork, *, leaf_only: bool) -> LocalModels | SetModels:
        """The fitted models: a network that predicts the classes with rows."""
        hierarchy = self.hierarchy
        if self.options is None:
            populated = self.n_in > 0
            populated[0] = True
            nodes = 1 + np.flatnonzero(populated[1:])
            first = np.searchsorted(network.layout.nodes, nodes)  # type: ignore[union-attr]
            columns = {0: replace(network, first=first, last=first + 1)} if len(nodes) else {}
            classes = {0: nodes} if len(nodes) else {}
            final = 1 + np.flatnonzero(self.n_own[1:])
            return SetModels(_STRATEGY.name, hierarchy, columns, classes, populated, final)
        options = self._populated(leaf_only)
        # Where all rows of a class end at it, all final classes below it are meant.
        final, all_final = options.ends, self.options.ends
        first = np.searchsorted(all_final, final)
        last = np.searchsorted(all_final, hierarchy.subtree_end[final])
        exact = all_final[np.minimum(first, len(all_final) - 1)] == final
        last = np.where(exact, first + 1, last)
        columns = {0: replace(network, first=first, last=last)}
        return LocalModels(
            _STRATEGY.name,
            hierarchy,
            options,
            columns,
            {},
            soft=True,
            is_direct=True,
            own_weight=self.own_weight,
        )


def on_device(models: Any, device: str) -> Any:
    """The same fitted models, with networks that predict on another device."""
    if hasattr(models, "base"):  # restricted, adapted or calibrated
        return replace(models, base=on_device(models.base, device))
    networks = {
        node: replace(network, device=device) for node, network in models.classifiers.items()
    }
    return replace(models, classifiers=networks)
