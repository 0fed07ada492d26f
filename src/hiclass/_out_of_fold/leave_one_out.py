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
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.svm import LinearSVC

from hiclass._inference.decodings import explore_proba
from hiclass._inference.paths import final_to_nodes, joint_evidence, joint_scores, strategy_of
from hiclass._linear.fast_svc import FastLinearSVC
from hiclass._out_of_fold.temperatures import FLOOR, fixed_point, log_loss
from hiclass._problems.index import branches
from hiclass._rows import take_rows
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
    rows = rows[:: max(1, len(rows) // max(wanted, 1))]
    every = np.ones(len(nodes)) if weights is None else np.asarray(weights, dtype=np.float64)
    models = replace(models, temperature=1.0)
    evidence = unseen_evidence(models, X, nodes, rows, every)
    if all(found.shape[1] < 2 for _, found in evidence) or not every[rows].any():
        return 1.0, 1.0
    right = np.searchsorted(ends, nodes[rows])

    def scores(temperature: float) -> FloatArray:
        return joint_scores(models, evidence, len(rows), temperature)

    def loss(log_t: int) -> float:
        return log_loss(scores(2.0**log_t), right, every[rows])

    temperature = 2.0 ** _lowest(loss)
    final = softmax(scores(temperature), axis=1)
    found: Any = ends[final.argmax(axis=1)]
    if not leaf_only:
        found = explore_proba(models.hierarchy, final_to_nodes(models, final), FLOOR)
    return temperature, fixed_point([(models.hierarchy, found, rows)], nodes, every)


def unseen_evidence(
    models: LocalModels, X: Any, nodes: IntArray, rows: IntArray, weights: FloatArray
) -> list[tuple[int, FloatArray]]:
    """Margins of some training rows at all nodes, estimated as if each row had been left out."""
    hierarchy, some = models.hierarchy, take_rows(X, rows)
    evidence = list(joint_evidence(models, some))
    beyond = _beyond_mean(X, some)
    ended = np.concatenate([[0], np.cumsum(np.bincount(nodes, minlength=hierarchy.n_nodes))])
    n_below = ended[hierarchy.subtree_end] - ended[:-1]
    is_flat = strategy_of(models).is_direct
    path = np.column_stack([np.zeros(len(rows), dtype=np.intp), hierarchy._paths[nodes[rows]]])
    out = []
    for node, found in evidence:
        level = int(hierarchy.levels[node])
        here = np.flatnonzero(path[:, level] == node)
        if found.shape[1] > 1 and len(here) and node in models.classifiers:
            if is_flat:
                taken, options = nodes[rows], models.options.ends
            else:
                deeper = path[here, level + 1] if level + 1 < path.shape[1] else -1
                taken, options = np.where(deeper < 0, node, deeper), branches(models.options, node)
            side = np.where(taken[:, None] == options, 1.0, -1.0)
            fitted = models.classifiers[node]
            n_columns = len(fitted.columns) if isinstance(fitted, Packed) else X.shape[1]
            svm = fitted.estimator if isinstance(fitted, Packed) else fitted
            leverage = min(n_columns / max(n_below[node], 1), 1 - 1e-9)
            gain = np.minimum(svm.C * weights[rows[here]] * beyond[here], leverage / (1 - leverage))
            slack = np.maximum(0.0, 1 - side * found[here])
            found = found.copy()
            found[here] -= side * slack * gain[:, None]
        out.append((node, found))
    return out


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
