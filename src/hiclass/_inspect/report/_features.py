"""The strongest features of every node, if its classifier has weights or importances."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._estimators.global_ import GlobalClassifier
from hiclass._inspect.models import (
    OpenEstimator,
    OpenModel,
    fitted_state,
    local_models,
    open_estimator,
    strongest,
)
from hiclass._typing import FloatArray
from hiclass.hierarchy import Hierarchy

#: The numbers of features per node with positive and negative weights, and of a forest. The members
#: of an ensemble share the space, and only the first ones get a part of it.
_MOST_FOR, _MOST_AGAINST, _MOST_IMPORTANT = 7, 4, 10
_MOST_MEMBERS = 3


class FeatureTable:
    """Names and classifiers, sets of (feature, number), and the sets of each node."""

    def __init__(self, n_members: int) -> None:
        self._share = max(n_members, 1)
        self._places: dict[str, int] = {}
        self._kinds: dict[tuple[str, str, str], int] = {}
        self.sets: list[dict[str, Any]] = []
        self.nodes: dict[int, list[int]] = {}

    def add(
        self,
        nodes: list[int],
        member: str,
        estimator: OpenEstimator,
        names: list[str],
        values: FloatArray,
    ) -> None:
        """Keep the strongest values, for the nodes that they decide about."""
        for node in nodes:
            self.nodes.setdefault(node, []).append(len(self.sets))
        if estimator.kind == "linear":
            most_for = strongest(np.maximum(values, 0), -(-_MOST_FOR // self._share))
            most_against = strongest(np.minimum(values, 0), -(-_MOST_AGAINST // self._share))
            chosen = [*most_for.tolist(), *most_against[::-1].tolist()]
        else:
            chosen = strongest(values, _MOST_IMPORTANT).tolist()
        kind = member, estimator.kind, type(estimator.model).__name__
        self.sets.append(
            {
                "by": self._kinds.setdefault(kind, len(self._kinds)),
                "feature": [self._places.setdefault(names[j], len(self._places)) for j in chosen],
                "value": [float(f"{values[j]:.3g}") for j in chosen],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON data."""
        keys = ("member", "kind", "classifier")
        return {
            "names": list(self._places),
            "classifiers": [dict(zip(keys, kind, strict=True)) for kind in self._kinds],
            "sets": self.sets,
            "node": self.nodes,
        }


def collect_features(opened: OpenModel, tree: Hierarchy) -> dict[str, Any]:
    """Find the strongest features of every node.

    Parameters
    ----------
    opened : OpenModel
        The model and the names of its features.
    tree : Hierarchy
        The tree of the report, which holds that of the model.

    Returns
    -------
    dict
        "names" of features; "classifiers" that have them; "sets", each "by" one of these, with
        "feature" numbers and their "value"; "node": for each node the numbers of its sets, one per
        model of an ensemble. The value of a linear classifier is the weight for the node less the
        mean weight for its siblings.
    """
    members = list(local_models(opened.model))[:_MOST_MEMBERS]
    table = FeatureTable(len(members))
    own = opened.model.hierarchy_
    number = [tree.find(own.path(v)) for v in range(own.n_nodes)]
    for member in members:
        model, seen = member.model, member.names_out(opened.names)
        is_global = isinstance(model, GlobalClassifier)
        flat = fitted_state(model)[1].is_direct
        for key, classes in model.local_classes_.items():
            estimator = open_estimator(model.local_classifiers_.stored(key), len(classes))
            names = estimator.names(seen)
            if estimator.weights is not None:
                found = (
                    _of_columns(own, classes, estimator.weights / model.column_scales_[:, None])
                    if is_global
                    else _against_siblings(own, classes, estimator.weights, flat)
                )
                for node, values in found:
                    table.add([number[node]], member.name, estimator, names, values)
                continue
            importances = np.empty(0) if estimator.importances is None else estimator.importances
            decided = classes[classes >= 0] if is_global else _decided(own, classes, flat)
            nodes = [number[node] for node in decided]
            table.add(nodes, member.name, estimator, names, importances)
    return table.to_dict()


def _decided(tree: Hierarchy, classes: Any, flat: bool) -> list[int]:
    """The nodes that a classifier decides about."""
    if classes[0] < 0:
        return [int(classes[1])]
    if flat:
        return [v for v in range(1, tree.n_nodes) if _below(tree, classes, v).any()]
    # The node that stands for "stop here" is a parent of other classes.
    parents = set(tree.parent[classes].tolist()) | {0}
    return [v for v in classes.tolist() if v not in parents]


def _against_siblings(tree: Hierarchy, classes: Any, weights: FloatArray, flat: bool) -> Any:
    """Yield nodes and the weight of each feature for the node minus the mean for its siblings."""
    if classes[0] < 0:
        yield int(classes[1]), weights[1] - weights[0]
        return
    totals: dict[int, tuple[FloatArray, int]] = {}
    for node in _decided(tree, classes, flat):
        parent = int(tree.parent[node])
        if parent not in totals:
            totals[parent] = _total(weights, _below(tree, classes, parent))
        total, n = totals[parent]
        mine, n_mine = _total(weights, _below(tree, classes, node))
        if n > n_mine:  # otherwise an only child, for which there is no decision
            yield node, mine / n_mine - (total - mine) / (n - n_mine)


def _of_columns(tree: Hierarchy, classes: Any, weights: FloatArray) -> Any:
    """Yield the same for a global model, which has one column per node."""
    column = {node: j for j, node in enumerate(classes.tolist()) if node >= 0}
    for node, j in column.items():
        others = [column[v] for v in tree.siblings(node).tolist() if v in column]
        if others:
            yield node, weights[j] - weights[others].mean(axis=0)


def _total(weights: FloatArray, inside: Any) -> tuple[FloatArray, int]:
    """Sum of the weights of some classes, and their number.

    Classes below one node are contiguous, so that no large array has to be copied.
    """
    places = np.flatnonzero(inside)
    return weights[places[0] : places[-1] + 1].sum(axis=0), len(places)


def _below(tree: Hierarchy, classes: Any, node: int) -> Any:
    """Which classes are at or below a node."""
    return (classes >= node) & (classes < tree.subtree_end[node])
