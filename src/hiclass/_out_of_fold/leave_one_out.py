"""A temperature without folds: what linear support vector machines would say about unseen rows.

A row of the training set has a larger margin than it would have if it had been left out. With the
squared hinge loss, the solution tells by how much: the dual variable of a row is twice ``C`` times
its slack, the amount by which its margin falls short of one, and the margin without the row is
smaller by the dual variable times the squared length of what the row has and other rows do not.
That length is not known, but it has two limits. Rows share their mean, and of the rest about half,
as measured on words. And where rows are many and columns few, a row is explained by the others:
the mean leverage of n rows with p columns is p / n.

Only the classifiers on the true path of a row have seen it. The scores of all others are honest.
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

#: So many numbers, or so many rows if that is more, are looked at for every temperature.
_NUMBERS, _ROWS, _MOST_NUMBERS = 100_000, 150, 20_000_000
#: The largest tolerance: with 0.5, slacks of unfinished solutions are far too large.
_COARSEST = 0.1
#: Margins have a scale of one: the binary logarithm of the temperature is between these two, and
#: is first looked for around the third.
_LOWEST, _HIGHEST, _USUAL = -4, 0, -2


def why_not(estimator: Any) -> str | None:
    """Why the margins of an unseen row cannot be estimated for a classifier; None if they can."""
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
        That with the smallest log loss of the true final classes, by margins of rows left out.
    f : float
        The hierarchical F-score that ``expected_f1`` reaches with them.
    """
    ends, width = models.options.ends, int(models.hierarchy.n_nodes)
    rows = np.flatnonzero(np.isin(nodes, ends))
    wanted = min(max(_NUMBERS // width, _ROWS), _MOST_NUMBERS // width)
    rows = one_in(rows, len(rows) // max(wanted, 1))
    every = np.ones(len(nodes)) if weights is None else np.asarray(weights, dtype=np.float64)
    steps = find_steps(models)
    if steps.alone.all() or not every[rows].any():
        return 1.0, 1.0
    # Half of the bits are enough for one number, and take a fifth of the time.
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
    """All steps down the tree that a classifier decides about, a line each; stops come among them.

    Attributes
    ----------
    start : ndarray of shape (n_nodes + 1,)
        The steps from node ``v`` are ``start[v]`` to ``start[v + 1]``.
    source, target : ndarray of shape (n_steps,)
        From and to which node; the same where a path stops.
    alone : ndarray of bool
        Whether there is no other step from the same node.
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
    """The steps of a model per parent node; those of a flat one lead from the root to all ends."""
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
    """Logarithms of the products of odds along the paths, a line per final class.

    They are those of ``joint_scores``, for all nodes at once.
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
    """Margins of all steps, a line each, for some training rows as if each had been left out."""
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
    """Margins of all steps as they are, a line each."""
    margins = np.zeros((len(steps.target), n_rows_of(some)))
    for node, scores in zip(
        models.classifiers, many_linear_scores(models.classifiers.values(), some), strict=True
    ):
        lines = margins[steps.start[node] : steps.start[node + 1]]
        lines[:] = np.stack([-scores, scores]) if scores.ndim == 1 else scores.T
    return finite(margins)


def _limits(models: LocalModels, nodes: IntArray, n_features: int) -> tuple[FloatArray, FloatArray]:
    """For every node, the most that a row adds to its margin per unit of slack, and C.

    Both are zero where there is nothing to decide.
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
    """What decides about rows: numbers of rows, nodes on their paths, and the right branches."""
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
    """Where a function of few integers is smallest: of a parabola through the smallest three."""
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
