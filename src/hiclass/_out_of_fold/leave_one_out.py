"""A temperature without folds, from approximate leave-one-out margins of linear SVMs.

A training row has a larger margin than it would have if it had been left out. With the squared
hinge loss, the solution determines the difference. The dual variable of a row is twice ``C`` times
its slack, the amount by which its margin is below one. Without the row, the margin is smaller by
the dual variable times the squared length of the part of the row that other rows do not share.

This length is unknown, but has two bounds. Rows share their mean and, as measured on words, about
half of the rest. And if there are many rows and few columns, a row is explained by the others: the
mean leverage of n rows with p columns is p / n.

Only the classifiers on the true path of a row have seen it. The scores of all other classifiers are
unbiased.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.svm import LinearSVC

from hiclass._engine.linear import many_linear_scores
from hiclass._inference.decodings import explore_proba
from hiclass._inference.evidence import finite
from hiclass._inference.paths import final_to_nodes, strategy_of
from hiclass._linear.fast_svc import FastLinearSVC
from hiclass._out_of_fold.temperatures import FLOOR, fixed_point
from hiclass._rows import n_rows_of, one_in, take_rows
from hiclass._state import LocalModels, Packed
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The number of values, or of rows if that is more, that are used for every temperature.
_NUMBERS, _ROWS, _MOST_NUMBERS = 100_000, 150, 20_000_000
#: The largest tolerance. With 0.5, the slacks of unfinished solutions are far too large.
_COARSEST = 0.1
#: Margins have a scale of one: the binary logarithm of the temperature is between the first two
#: values, and the search starts around the third.
_LOWEST, _HIGHEST, _USUAL = -4, 0, -2


def why_not(estimator: Any) -> str | None:
    """Why margins of left-out rows cannot be estimated for a classifier; None if they can."""
    name = type(estimator).__name__
    if type(estimator) not in (LinearSVC, FastLinearSVC):
        return f"{name} is not a LinearSVC or FastLinearSVC"
    if estimator.loss != "squared_hinge" or getattr(estimator, "penalty", "l2") != "l2":
        return f"{name} has another loss than the squared hinge, or another penalty than l2"
    if estimator.class_weight is not None or getattr(estimator, "multi_class", "ovr") != "ovr":
        return f"{name} has class_weight={estimator.class_weight!r}, or is not one against all"
    if estimator.tol > _COARSEST:
        return f"{name} has tol={estimator.tol:g}, above {_COARSEST}: too far from the solution"
    return None


def estimate_temperature(
    models: LocalModels, X: Any, nodes: IntArray, weights: AnyArray | None, leaf_only: bool = False
) -> tuple[float, float]:
    """The temperature of a joint model of support vector machines, and the F-score it reaches.

    Parameters
    ----------
    models : LocalModels
        The joint model, per parent node or flat, fitted on all rows.
    X : array or CSR matrix
        The training rows.
    nodes : ndarray of int
        Their most specific nodes.
    weights : ndarray or None
        Sample weights.
    leaf_only : bool, default=False
        Whether paths must end at leaves.

    Returns
    -------
    temperature : float
        The temperature with the smallest log loss of the true final classes, from leave-one-out
        margins.
    f : float
        The hierarchical F-score of ``expected_f1`` with these margins.
    """
    ends, width = models.options.ends, int(models.hierarchy.n_nodes)
    rows = np.flatnonzero(np.isin(nodes, ends))
    wanted = min(max(_NUMBERS // width, _ROWS), _MOST_NUMBERS // width)
    rows = one_in(rows, len(rows) // max(wanted, 1))
    every = np.ones(len(nodes)) if weights is None else np.asarray(weights, dtype=np.float64)
    steps = find_steps(models)
    if steps.alone.all() or not every[rows].any():
        return 1.0, 1.0
    # Half of the bits are sufficient for one number and take a fifth of the time.
    margins = unseen_margins(models, steps, X, nodes, rows, every).astype(np.float32)
    right = np.searchsorted(ends, nodes[rows])

    def loss(log_t: int) -> float:
        scores = _final_scores(steps, margins, 2.0**log_t)
        scores -= scores.max(axis=0)
        nll = np.log(np.exp(scores).sum(axis=0)) - scores[right, np.arange(len(right))]
        return float(every[rows] @ nll)

    temperature = 2.0 ** _lowest(loss)
    final = softmax(_final_scores(steps, margins, temperature).T.astype(np.float64), axis=1)
    found: Any = ends[final.argmax(axis=1)]
    if not leaf_only:
        found = explore_proba(models.hierarchy, final_to_nodes(models, final), FLOOR)
    return temperature, fixed_point([(models.hierarchy, found, rows)], nodes, every)


# -- margins -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Steps:
    """All steps down the tree that a classifier decides about, including stops.

    Attributes
    ----------
    start : ndarray of shape (n_nodes + 1,)
        The steps from node ``v`` are ``start[v]`` to ``start[v + 1]``.
    source, target : ndarray of shape (n_steps,)
        The start and end node; the same node if the path stops.
    alone : ndarray of bool
        Whether it is the only step from its node.
    rounds : list of ndarray
        Steps to children, those from higher levels first.
    ends : ndarray of int
        All nodes at which a path may end.
    """

    start: IntArray
    source: IntArray
    target: IntArray
    alone: AnyArray
    rounds: list[IntArray]
    ends: IntArray


def find_steps(models: LocalModels) -> Steps:
    """The steps of a model per parent node; in a flat model, from the root to all final classes."""
    options, n_nodes = models.options, int(models.hierarchy.n_nodes)
    start, target, levels = options.indptr, options.indices, models.hierarchy.levels
    if strategy_of(models).is_direct:
        start = np.where(np.arange(n_nodes + 1) > 0, len(options.ends), 0)
        target, levels = options.ends, np.zeros(n_nodes, dtype=np.intp)
    counts = np.diff(start)
    source = np.repeat(np.arange(n_nodes), counts)
    level = np.where(target == source, -1, levels[source])
    rounds = [np.flatnonzero(level == k) for k in range(int(level.max(initial=-1)) + 1)]
    alone = np.repeat(counts == 1, counts)
    return Steps(start, source, target, alone, rounds, options.ends)


def _final_scores(steps: Steps, margins: AnyArray, temperature: float) -> AnyArray:
    """Logarithms of the products of odds along the paths, one line per final class.

    They equal those of ``joint_scores``, for all nodes at once.
    """
    odds = margins / margins.dtype.type(temperature)
    share = np.minimum(odds, 0) - np.log1p(np.exp(-np.abs(odds)))
    share[steps.alone] = 0
    score = np.zeros((len(steps.start) - 1, margins.shape[1]), dtype=margins.dtype)
    for some in steps.rounds:
        score[steps.target[some]] = share[some] + score[steps.source[some]]
    stops = np.flatnonzero(steps.source == steps.target)
    score[steps.target[stops]] += share[stops]
    return np.asarray(score[steps.ends])


def unseen_margins(
    models: LocalModels,
    steps: Steps,
    X: Any,
    nodes: IntArray,
    rows: IntArray,
    weights: FloatArray,
) -> FloatArray:
    """Leave-one-out margins of all steps for some training rows, one line per step."""
    some = take_rows(X, rows)
    margins = seen_margins(models, steps, some)
    limit, strength = _limits(models, nodes, X.shape[1])
    row, node, taken = _decisions(models, nodes[rows])
    decided = strength[node] > 0
    row, node, taken = row[decided], node[decided], taken[decided]
    gain = np.minimum(
        strength[node] * weights[rows[row]] * _beyond_mean(X, some)[row],
        limit[node],
    )
    # From a decision to the lines of all of its branches.
    counts = np.diff(steps.start)[node]
    line = np.repeat(steps.start[node] - np.cumsum(counts) + counts, counts) + np.arange(
        counts.sum()
    )
    row, gain, taken = (np.repeat(part, counts) for part in (row, gain, taken))
    side = np.where(steps.target[line] == taken, 1.0, -1.0)
    seen = margins[line, row]
    margins[line, row] = seen - side * np.maximum(0.0, 1 - side * seen) * gain
    return margins


def seen_margins(models: LocalModels, steps: Steps, some: Any) -> FloatArray:
    """Margins of all steps without correction, one line per step."""
    margins = np.zeros((len(steps.target), n_rows_of(some)))
    for node, scores in zip(
        models.classifiers, many_linear_scores(models.classifiers.values(), some), strict=True
    ):
        lines = margins[steps.start[node] : steps.start[node + 1]]
        lines[:] = np.stack([-scores, scores]) if scores.ndim == 1 else scores.T
    return finite(margins)


def _limits(models: LocalModels, nodes: IntArray, n_features: int) -> tuple[FloatArray, FloatArray]:
    """For every node, an upper bound of the margin that a row adds per unit of slack, and C.

    Both are zero if there is nothing to decide.
    """
    hierarchy = models.hierarchy
    limit, strength = np.zeros((2, hierarchy.n_nodes))
    ended = np.concatenate([[0], np.cumsum(np.bincount(nodes, minlength=hierarchy.n_nodes))])
    n_below = ended[hierarchy.subtree_end] - ended[:-1]
    for node, fitted in models.classifiers.items():
        packed = isinstance(fitted, Packed)
        n_columns = len(fitted.columns) if packed else n_features
        leverage = min(n_columns / max(n_below[node], 1), 1 - 1e-9)
        limit[node] = leverage / (1 - leverage)
        strength[node] = (fitted.estimator if packed else fitted).C
    return limit, strength


def _decisions(models: LocalModels, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The decisions about rows: row numbers, nodes on their paths, and correct branches."""
    if strategy_of(models).is_direct:
        return np.arange(len(nodes)), np.zeros(len(nodes), dtype=np.intp), nodes
    path = np.column_stack([np.zeros(len(nodes), dtype=np.intp), models.hierarchy._paths[nodes]])
    taken = np.column_stack([path[:, 1:], np.full(len(nodes), -1)])
    row, level = np.nonzero(path >= 0)
    node, taken = path[row, level], taken[row, level]
    return row, node, np.where(taken < 0, node, taken)


def _beyond_mean(X: Any, some: Any) -> FloatArray:
    """The squared distance of some rows from the mean of all rows."""
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    if sp.issparse(some):
        squares = np.asarray(some.multiply(some).sum(axis=1), dtype=np.float64).ravel()
        product = np.asarray(some @ mean).ravel()
    else:
        some = np.asarray(some, dtype=np.float64)
        squares, product = np.einsum("ij,ij->i", some, some), some @ mean
    return np.asarray(np.maximum(squares - 2 * product + mean @ mean, 0.0))


def _lowest(loss: Callable[[int], float]) -> float:
    """The position of the minimum: of a parabola through the three smallest values."""
    found = {k: loss(k) for k in (_USUAL - 1, _USUAL, _USUAL + 1)}
    while True:
        k = min(found, key=found.__getitem__)
        missing = [m for m in (k - 1, k + 1) if _LOWEST <= m <= _HIGHEST and m not in found]
        if not missing:
            break
        found |= {m: loss(m) for m in missing}
    middle = min(max(k, _LOWEST + 1), _HIGHEST - 1)
    before, here, after = (found[middle + step] for step in (-1, 0, 1))
    bend = before - 2 * here + after
    if bend <= 0:
        return float(k)
    return float(middle + np.clip((before - after) / (2 * bend), -1, 1))
