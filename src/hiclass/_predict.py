"""From local models to node probabilities and decisions.

One question is asked of the models, "given this node, which way on?", in groups of rows: all nodes
of a level at once, so that every model is called once per level and chunk. Its answer is a row of
probabilities over the options of the node (see ``_problems.Options``). How the question is answered
depends on the strategy (``_ASK``); everything else exists once.

Classifiers without ``predict_proba`` answer with certainty (a one-hot row): enough to walk down the
tree, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiclass._labels import AnyArray, IntArray
from hiclass._problems import Options, level_classes
from hiclass._validation import n_rows_of, protect, take_rows
from hiclass.hierarchy import Hierarchy

FloatArray = npt.NDArray[np.float64]
Group = tuple[int, IntArray]  # a node and the rows, ascending, that have come to it


@dataclass(frozen=True)
class LocalModels:
    """Everything that prediction needs.

    Attributes
    ----------
    strategy : {"node", "parent", "level", "flat"}
        Which local problems there were.
    hierarchy : Hierarchy
        The tree.
    options : Options
        How a path can go on from every node.
    classifiers : dict
        Fitted classifiers by node or level.
    gates : dict
        Fitted binary classifiers "stop here?" by node; per node only.
    soft : bool
        Whether all of them have ``predict_proba``.
    """

    strategy: str
    hierarchy: Hierarchy
    options: Options
    classifiers: dict[int, Any]
    gates: dict[int, Any]
    soft: bool

    @property
    def width(self) -> int:
        """The largest number of classes that a call of a local classifier answers for."""
        if self.strategy == "flat":
            return self.hierarchy.n_nodes
        if self.strategy == "level":
            counts = np.diff(self.options.indptr)
            return int(np.bincount(self.hierarchy.levels, weights=counts).max())
        return int(np.diff(self.options.indptr).max())


# -- asking the local classifiers --------------------------------------------------------------


def ask(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    """P(option | node) for some nodes and the rows at each of them."""
    return _ASK[models.strategy](models, X, groups)


def _ask_per_parent(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    answers = []
    for node, rows in groups:
        k = len(models.options.of(node))
        estimator = models.classifiers.get(node)
        if estimator is None:
            answers.append(np.ones((len(rows), k)))
        elif models.soft:
            answers.append(_proba(estimator, _rows(X, rows), k))
        else:
            answers.append(_one_hot(_predict_codes(estimator, _rows(X, rows)), k))
    return answers


def _ask_per_level(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    """Answer from the model of the level, restricted to the options of each node."""
    levels = {int(models.hierarchy.levels[node]) + 1 for node, _ in groups}
    if len(levels) > 1:
        raise ValueError("Groups of one question must stand on one level.")
    level = levels.pop()
    parents = models.hierarchy.nodes_by_level[level - 1]
    counts = np.diff(models.options.indptr)[parents]
    start = dict(zip(parents.tolist(), (np.cumsum(counts) - counts).tolist(), strict=True))
    estimator = models.classifiers.get(level)
    open_rows = [rows for node, rows in groups if len(models.options.of(node)) > 1]
    position = np.empty(n_rows_of(X), dtype=np.intp)
    scores = None
    if estimator is not None and open_rows:
        rows_asked = np.sort(np.concatenate(open_rows))
        position[rows_asked] = np.arange(len(rows_asked))
        X_asked = _rows(X, rows_asked)
        k = int(counts.sum())
        scores = (
            _proba(estimator, X_asked, k)
            if models.soft
            else _decision(estimator, X_asked, k)
        )
    answers = []
    for node, rows in groups:
        k = len(models.options.of(node))
        if scores is None or k < 2:
            answers.append(np.ones((len(rows), k)))
            continue
        local = scores[position[rows], start[node] : start[node] + k]
        answers.append(
            _normalised(local) if models.soft else _one_hot(local.argmax(axis=1), k)
        )
    return answers


def _ask_per_node(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    """Normalise the answers of the siblings; the gate takes its share first."""
    answers = []
    soft = models.soft
    for node, rows in groups:
        children = models.options.children_of(node)
        gate = models.gates.get(node)
        k = len(models.options.of(node))
        if k < 2:
            answers.append(np.ones((len(rows), k)))
            continue
        X_here = _rows(X, rows)
        shares = np.ones((len(rows), len(children)))
        if len(children) > 1:
            for j, child in enumerate(children.tolist()):
                estimator = models.classifiers[child]
                shares[:, j] = _positive(estimator, X_here, soft)
            shares = (
                _normalised(shares) if soft else _one_hot(shares.argmax(axis=1), len(children))
            )
        if gate is not None:
            stop = _positive(gate, X_here, soft)[:, None]
            stop = stop if soft else (stop > 0).astype(float)
            shares = np.hstack([shares * (1 - stop), stop])
        answers.append(shares)
    return answers


_ASK: dict[str, Callable[[LocalModels, Any, list[Group]], list[FloatArray]]] = {
    "parent": _ask_per_parent,
    "level": _ask_per_level,
    "node": _ask_per_node,
}


def _rows(X: Any, rows: IntArray) -> Any:
    """Rows of a chunk, shared by several classifiers; no copy where it is all of them."""
    return X if len(rows) == n_rows_of(X) else protect(take_rows(X, rows))


def _proba(estimator: Any, X: Any, k: int) -> FloatArray:
    proba = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    if proba.shape != (n_rows_of(X), k):
        raise ValueError(
            f"{type(estimator).__name__}.predict_proba returned an array of shape {proba.shape} "
            f"for {n_rows_of(X)} rows and {k} classes."
        )
    return _normalised(proba)


def _positive(estimator: Any, X: Any, soft: bool) -> FloatArray:
    """Answer of a binary classifier: the probability of class 1, or its score."""
    if soft:
        return _proba(estimator, X, 2)[:, 1]
    return np.asarray(estimator.decision_function(X), dtype=np.float64).reshape(-1)


def _decision(estimator: Any, X: Any, k: int) -> FloatArray:
    score = np.asarray(estimator.decision_function(X), dtype=np.float64)
    if k == 2 and score.ndim == 1:
        score = np.column_stack([-score, score])
    if score.shape != (n_rows_of(X), k):
        raise ValueError(
            f"{type(estimator).__name__}.decision_function returned an array of shape "
            f"{score.shape} for {n_rows_of(X)} rows and {k} classes; one column per class is "
            f"needed (for SVC: decision_function_shape='ovr')."
        )
    return score


def _predict_codes(estimator: Any, X: Any) -> IntArray:
    return np.asarray(estimator.predict(X)).reshape(-1).astype(np.intp)


def _normalised(proba: FloatArray) -> FloatArray:
    """Rows that sum to one; a row of zeros becomes uniform."""
    total = proba.sum(axis=1, keepdims=True)
    if not np.isfinite(total).all():
        row = int(np.argmin(np.isfinite(total)))
        raise ValueError(
            f"A local classifier returned a probability that is not a number for row {row} of a "
            f"chunk. Check X for extreme values, or use another local classifier."
        )
    with np.errstate(invalid="ignore"):
        return np.where(total > 0, proba / total, 1 / proba.shape[1])


def _one_hot(codes: IntArray, k: int) -> FloatArray:
    out = np.zeros((len(codes), k))
    out[np.arange(len(codes)), codes] = 1
    return out


# -- node probabilities ------------------------------------------------------------------------


def node_proba(models: LocalModels, X: Any) -> FloatArray:
    """Probability of every node for a chunk of rows; the root has 1."""
    if models.strategy == "flat":
        return ending_proba_flat(models, X) @ _closure(models)
    n = n_rows_of(X)
    everyone = np.arange(n)
    proba = np.zeros((n, models.hierarchy.n_nodes))
    proba[:, 0] = 1
    n_options = np.diff(models.options.indptr)
    for nodes in models.hierarchy.nodes_by_level:
        groups = [(v, everyone) for v in nodes.tolist() if n_options[v]]
        for node in _batches(groups, models.strategy):
            for (v, _), answer in zip(node, ask(models, X, node), strict=True):
                children = models.options.children_of(v)
                proba[:, children] = answer[:, : len(children)] * proba[:, [v]]
    return proba


def _batches(groups: list[Group], strategy: str) -> list[list[Group]]:
    """All nodes of a level share one call per level; otherwise node by node, to save memory."""
    if not groups:
        return []
    return [groups] if strategy == "level" else [[group] for group in groups]


def ending_proba_flat(models: LocalModels, X: Any) -> FloatArray:
    """Probability of every ending of a flat model, in the order of ``options.ends``."""
    k = len(models.options.ends)
    estimator = models.classifiers.get(0)
    if estimator is None:
        return np.ones((n_rows_of(X), k))
    if models.soft:
        return _proba(estimator, X, k)
    return _one_hot(_predict_codes(estimator, X), k)


def _closure(models: LocalModels) -> sp.csr_array:
    """Endings x nodes: whether a node lies on the path to an ending."""
    ends = models.options.ends
    path = np.column_stack(
        [np.zeros(len(ends), dtype=np.intp), models.hierarchy.ancestor_table[ends]]
    )
    row, column = np.nonzero(path >= 0)
    shape = (len(ends), models.hierarchy.n_nodes)
    return sp.csr_array((np.ones(len(row)), (row, path[row, column])), shape=shape)


def ending_proba(models: LocalModels, proba: FloatArray) -> FloatArray:
    """Probability of ending at each of ``options.ends``, from node probabilities."""
    ends = models.options.ends
    out = proba[:, ends]
    for j, v in enumerate(ends.tolist()):
        children = models.options.children_of(v)
        if len(children):
            out[:, j] = np.maximum(out[:, j] - proba[:, children].sum(axis=1), 0)
    return out


# -- decisions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decision:
    """What was decided for a chunk of rows.

    Attributes
    ----------
    nodes : ndarray of shape (n,)
        The node at which each path ends.
    confidence : ndarray of shape (n, depth)
        Probability of the node of the path at each level; NaN below its end.
    """

    nodes: IntArray
    confidence: FloatArray


def top_down(models: LocalModels, X: Any) -> Decision:
    """Walk down the tree and take the best option at every node."""
    n = n_rows_of(X)
    ends_at = np.zeros(n, dtype=np.intp)
    reached = np.ones(n)
    confidence = np.full((n, models.hierarchy.depth), np.nan)
    groups: list[Group] = [(0, np.arange(n))]
    level = 0
    while groups:
        below: list[Group] = []
        for (node, rows), answer in zip(groups, ask(models, X, groups), strict=True):
            best = answer.argmax(axis=1)
            chosen = models.options.of(node)[best]
            goes_on = chosen != node
            reached[rows] *= answer[np.arange(len(rows)), best]
            ends_at[rows] = chosen
            confidence[rows[goes_on], level] = reached[rows[goes_on]]
            below.extend(_split(chosen[goes_on], rows[goes_on], models.options))
        groups, level = below, level + 1
    return Decision(ends_at, confidence)


def _split(chosen: IntArray, rows: IntArray, options: Options) -> list[Group]:
    """Group rows by the node they have come to; leaves are left out."""
    if not len(chosen):
        return []
    order = np.argsort(chosen, kind="stable")
    chosen, rows = chosen[order], rows[order]
    starts = np.flatnonzero(np.concatenate([[True], chosen[1:] != chosen[:-1]]))
    nodes = chosen[starts]
    runs = np.split(rows, starts[1:])
    is_open = options.indptr[nodes + 1] > options.indptr[nodes]
    return [(int(v), r) for v, r, o in zip(nodes, runs, is_open, strict=True) if o]


def decide_from_proba(models: LocalModels, proba: FloatArray, nodes: IntArray) -> Decision:
    """Attach confidences to nodes that were decided from node probabilities."""
    path = models.hierarchy.ancestor_table[nodes]
    confidence = np.take_along_axis(proba, np.maximum(path, 0), axis=1)
    return Decision(nodes, np.where(path >= 0, confidence, np.nan))


def best_path_flat(models: LocalModels, X: Any) -> Decision:
    """The most probable ending of a flat model."""
    endings = ending_proba_flat(models, X)
    nodes = models.options.ends[endings.argmax(axis=1)]
    return decide_from_proba(models, endings @ _closure(models), nodes)


def cut(decision: Decision, hierarchy: Hierarchy, min_confidence: float) -> Decision:
    """End every path after its deepest node with at least this probability."""
    if min_confidence <= 0:
        return decision
    with np.errstate(invalid="ignore"):
        sure = decision.confidence >= min_confidence
    # Probabilities fall along a path, so what is sure comes first.
    length = sure.sum(axis=1)
    path = np.column_stack(
        [np.zeros(len(length), dtype=np.intp), hierarchy.ancestor_table[decision.nodes]]
    )
    return Decision(
        path[np.arange(len(length)), length], np.where(sure, decision.confidence, np.nan)
    )


def level_proba(
    proba: FloatArray, models: LocalModels, classes: list[AnyArray]
) -> list[FloatArray]:
    """Probabilities per level, one column per label of ``classes``; homonyms are summed."""
    hierarchy = models.hierarchy
    first_end = hierarchy.levels[models.options.ends].min()
    out = []
    for level, labels in enumerate(classes, start=1):
        here = np.zeros((len(proba), len(labels)))
        nodes = hierarchy.nodes_by_level[level].tolist() if level <= hierarchy.depth else []
        column = {(type(label), label): j for j, label in enumerate(labels.tolist())}
        for v in nodes:
            label = hierarchy.labels[v]
            here[:, column[type(label), label]] += proba[:, v]
        if level > first_end:  # the last column says that the path is over
            here[:, -1] = np.maximum(1 - here[:, :-1].sum(axis=1), 0)
        out.append(here)
    return out
