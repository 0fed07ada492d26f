"""Temperature, expected F-score and expected classes, learned from held-out rows.

The whole tree is fitted on a few folds. Every row is then scored along its *true* path by the
classifiers that have not seen it. One temperature for the tree minimises the log loss of the true
paths. A joint model is queried for all final classes instead. From the same folds come the F-score
of the ``expected_f1`` decoding, which that decoding needs, and the mean probabilities of the final
classes, which the estimation of class shares needs (see ``_inference.shares``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from hiclass._inference.candidates import best_values
from hiclass._inference.decodings import (
    best_path,
    explore,
    explore_proba,
    split,
    width_of_best_paths,
    width_of_exploring,
)
from hiclass._inference.paths import (
    direct_final_proba,
    evidence_of_final,
    final_proba,
    final_to_nodes,
    gather_evidence,
    is_gated,
    joint_evidence,
    joint_scores,
    width_of,
)
from hiclass._out_of_fold.folds import fit_folds
from hiclass._problems.index import branches, child_branches
from hiclass._rows import chunks_of_rows, one_in, slice_rows, take_rows
from hiclass._state import LocalModels
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

#: The range of the logarithm of the temperature, relative to that of the spread of the scores.
_LOG_T = (-5.0, 8.0)
_MOST_NUMBERS = 20_000_000
#: The number of values, or of rows if that is more and not far too many, that are used for every
#: temperature.
_JOINT_NUMBERS, _JOINT_ROWS = 1_000_000, 500
#: Less probable classes are not predicted.
FLOOR = 0.05

# Evidence with one number of columns, the true columns, and the weights of the rows.
Block = tuple[FloatArray, IntArray, FloatArray]
FitFold = Callable[[IntArray], Any]


def fit_out_of_fold(
    fit_fold: FitFold,
    X: Any,
    nodes: IntArray,
    fold: IntArray,
    weights: AnyArray | None,
    *,
    calibrate: bool,
    leaf_only: bool = False,
) -> tuple[float | None, float, FloatArray | None]:
    """Learn the temperature if needed, the F-score and expected classes from out-of-fold scores.

    Parameters
    ----------
    fit_fold : callable
        A function that fits the models of the whole tree on some training rows.
    X : rows
        All training rows.
    nodes : ndarray of int
        Their most specific nodes.
    fold : ndarray of int
        Their folds.
    weights : ndarray or None
        Sample weights.
    calibrate : bool
        Whether to learn a temperature.
    leaf_only : bool, default=False
        Whether paths must end at leaves.

    Returns
    -------
    temperature : float or None
    f : float
        The hierarchical F-score of ``expected_f1``.
    expected : ndarray of shape (n_nodes,) or None
        The probability of ending at each node, summed over held-out rows; see :func:`reached_f`.
    """
    held_out = list(fit_folds(fit_fold, fold))
    if not held_out:
        return (1.0 if calibrate else None), 1.0, None
    weights = np.ones(len(nodes)) if weights is None else weights
    temperature = None
    if calibrate:
        temperature = learn_temperature(held_out, X, nodes, weights)
        held_out = [(replace(m, temperature=temperature), rows) for m, rows in held_out]
    return temperature, *reached_f(held_out, X, nodes, weights, leaf_only)


def learn_temperature(
    held_out: list[tuple[Any, IntArray]], X: Any, nodes: IntArray, weights: AnyArray
) -> float:
    """Learn the temperature of models from rows that they have not seen.

    Parameters
    ----------
    held_out : list of (LocalModels, ndarray of int)
        Models that were fitted on other rows, and the rows to score.
    X : rows
        All training rows.
    nodes : ndarray of int
        Their most specific nodes.
    weights : ndarray
        Their sample weights.

    Returns
    -------
    float
        The temperature with the smallest log loss of the true paths.
    """
    # While the temperature is being searched, scores are read as with a temperature.
    held_out = [(replace(models, temperature=1.0), rows) for models, rows in held_out]
    learn = _joint_temperature if held_out[0][0].joint else _path_temperature
    return learn(held_out, X, nodes, weights)


def _path_temperature(
    held_out: list[tuple[Any, IntArray]], X: Any, nodes: IntArray, weights: AnyArray
) -> float:
    """The temperature of models that are queried node by node, from scores on true paths."""
    blocks: dict[int, list[Block]] = defaultdict(list)
    for models, rows in held_out:
        step = -(-len(nodes) * width_of(models) // _MOST_NUMBERS)
        for block in _blocks(models, X, one_in(rows, step), nodes, weights):
            blocks[block[0].shape[1]].append(block)
    return best_temperature(blocks)


def _blocks(
    models: LocalModels, X: Any, rows: IntArray, nodes: IntArray, weights: AnyArray
) -> Iterator[Block]:
    """The evidence along the true paths of some rows."""
    X_held = take_rows(X, rows)
    for part in chunks_of_rows(X_held, width_of(models)):
        here = rows[part]
        chunk = slice_rows(X_held, part)
        if models.is_direct:
            yield from _flat_blocks(models, chunk, nodes[here], weights[here])
        else:
            yield from _path_blocks(models, chunk, nodes[here], weights[here])


def _flat_blocks(
    models: LocalModels, X: Any, nodes: IntArray, weights: AnyArray
) -> Iterator[Block]:
    ends = models.options.ends
    known = np.isin(nodes, ends)
    if len(ends) > 1 and known.any():
        evidence = evidence_of_final(models, X)[known]
        yield evidence, np.searchsorted(ends, nodes[known]), weights[known]


def _path_blocks(
    models: LocalModels, X: Any, nodes: IntArray, weights: AnyArray
) -> Iterator[Block]:
    hierarchy, options = models.hierarchy, models.options
    path = np.column_stack([np.zeros(len(nodes), dtype=np.intp), hierarchy._paths[nodes]])
    known = np.arange(len(nodes))  # rows whose path the fold knows so far
    for level in range(hierarchy.depth):
        groups = split(path[known, level], known, options)
        if not groups:
            return
        going_on = []
        evidence = gather_evidence(models, X, groups)
        for (node, rows), found in zip(groups, evidence, strict=True):
            step = path[rows, level + 1]
            taken = np.where(step < 0, node, step)
            known_branch = np.isin(taken, branches(options, node))
            rows, found, taken = rows[known_branch], found[known_branch], taken[known_branch]
            going_on.append(rows[taken != node])
            yield from _blocks_at(models, node, found, taken, weights[rows])
        known = np.sort(np.concatenate(going_on))


def _blocks_at(
    models: LocalModels, node: int, evidence: FloatArray, taken: IntArray, weights: AnyArray
) -> Iterator[Block]:
    if evidence.shape[1] == 1 or not len(taken):  # there was nothing to decide
        return
    if is_gated(models, node):
        # A sigmoid is a softmax over (0, score).
        gate = np.column_stack([np.zeros(len(taken)), evidence[:, -1]])
        yield gate, (taken == node).astype(np.intp), weights
        on = taken != node
        evidence, taken, weights = evidence[on, :-1], taken[on], weights[on]
        options = child_branches(models.options, node)
    else:
        options = branches(models.options, node)
    if evidence.shape[1] > 1 and len(taken):
        order = np.argsort(options)
        yield evidence, order[np.searchsorted(options[order], taken)], weights


def best_temperature(blocks: dict[int, list[Block]]) -> float:
    """The temperature with the smallest log loss of the true columns."""
    joined = [
        tuple(np.concatenate(x) for x in zip(*parts, strict=True)) for parts in blocks.values()
    ]

    def loss(temperature: float) -> float:
        return sum(
            log_loss(evidence / temperature, right, weights) for evidence, right, weights in joined
        )

    return _smallest(loss, [(evidence, weights) for evidence, _, weights in joined])


def _joint_temperature(
    held_out: list[tuple[Any, IntArray]], X: Any, nodes: IntArray, weights: AnyArray
) -> float:
    """The temperature of joint models: the smallest log loss of the true final classes."""
    parts = []
    for models, rows in held_out:
        rows = _thinned(models, rows, len(nodes))
        rows = rows[np.isin(nodes[rows], models.options.ends)]
        if len(rows):
            evidence = list(joint_evidence(models, take_rows(X, rows)))
            right = np.searchsorted(models.options.ends, nodes[rows])
            parts.append((models, evidence, right, weights[rows]))

    def loss(temperature: float) -> float:
        return sum(
            log_loss(joint_scores(models, evidence, len(right), temperature), right, weights)
            for models, evidence, right, weights in parts
        )

    scored = [(found, w) for _, evidence, _, w in parts for _, found in evidence]
    scored = [(found, w) for found, w in scored if found.shape[1] > 1]
    return _smallest(loss, scored, valleys=True)


def _thinned(models: Any, rows: IntArray, n: int) -> IntArray:
    """A sample of the held-out rows of a fold, for models that compute all final classes."""
    width = int(models.hierarchy.n_nodes)
    wanted = max(_JOINT_NUMBERS // width, _JOINT_ROWS)
    wanted = max(1, min(wanted, _MOST_NUMBERS // width))
    return one_in(rows, n // wanted)


def log_loss(scores: FloatArray, right: IntArray, weights: FloatArray) -> float:
    """The log loss of the correct columns, summed over weighted rows."""
    nll = logsumexp(scores, axis=1) - scores[np.arange(len(right)), right]
    return float(weights @ nll)


def _smallest(
    loss: Callable[[float], float],
    scored: list[tuple[FloatArray, FloatArray]],
    valleys: bool = False,
) -> float:
    """The temperature with the smallest loss, searched around the spread of the evidence.

    If the loss may have several ``valleys``, the whole range is searched first.
    """
    if not scored:
        return 1.0
    spread = sum(float(weights @ np.ptp(evidence, axis=1)) for evidence, weights in scored)
    middle = np.log(spread / sum(weights.sum() for _, weights in scored)) if spread > 0 else 0.0

    def at(log_t: float) -> float:
        return loss(float(np.exp(log_t)))

    low, high = middle + _LOG_T[0], middle + _LOG_T[1]
    if valleys:
        places = np.arange(low, high, 2)
        deepest = places[np.argmin([at(place) for place in places])]
        low, high = max(low, deepest - 2), min(high, deepest + 2)
    found = minimize_scalar(at, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))


def reached_f(
    held_out: list[tuple[Any, IntArray]],
    X: Any,
    nodes: IntArray,
    weights: AnyArray,
    leaf_only: bool = False,
) -> tuple[float, FloatArray | None]:
    """The F-score of the decoding that expects it: a fixed point, found by iteration.

    Among leaves only, the most probable leaf is almost the same, so its F-score is used. Also
    returns the probability of ending at each node, summed over the rows, for models that compute it
    anyway. For others, it is None, because querying all local classifiers would take long.
    """
    parts = []
    first = held_out[0][0]
    expected = np.zeros(first.hierarchy.n_nodes) if first.is_direct else None
    each = mean_one(weights)
    for models, rows in held_out:
        X_held = take_rows(X, rows)
        width = width_of_best_paths(models, 1) if leaf_only else width_of_exploring(models, FLOOR)
        for part in chunks_of_rows(X_held, width):
            chunk = slice_rows(X_held, part)
            found, final = _decoded(models, chunk, leaf_only)
            parts.append((models.hierarchy, found, rows[part]))
            if expected is not None and final is not None:
                expected[models.options.ends] += each[rows[part]] @ final
    return fixed_point(parts, nodes, weights), expected


def fixed_point(
    parts: list[tuple[Hierarchy, Any, IntArray]], nodes: IntArray, weights: AnyArray
) -> float:
    """The F-score of the decoding that expects exactly this F-score, by iteration."""
    f = 1.0
    for _ in range(20):
        before, f = f, _f_of(parts, nodes, weights, f)
        if abs(f - before) < 1e-4:
            break
    else:  # it alternates between a few values
        f = (before + f) / 2
    return max(f, 2 * FLOOR)


def _decoded(models: Any, X: Any, leaf_only: bool) -> tuple[Any, FloatArray | None]:
    """The input for the F-score: candidates, or the best leaves; also final classes."""
    if not models.is_direct:
        found = best_path(models, X).nodes if leaf_only else explore(models, X, FLOOR)
        return found, None
    final = direct_final_proba(models, X)
    if leaf_only:
        return models.options.ends[final.argmax(axis=1)], final
    return explore_proba(models.hierarchy, final_to_nodes(models, final), FLOOR), final


def mean_one(weights: AnyArray) -> FloatArray:
    """Weights scaled to a mean of one, so that their sums are numbers of rows."""
    mean = float(weights.mean())
    return np.asarray(weights / mean if mean > 0 else np.zeros(len(weights)), dtype=np.float64)


def expected_classes(models: Any, X: Any, rows: IntArray, weights: FloatArray) -> FloatArray:
    """The probability of ending at each node, summed over some of the held-out rows of a fold.

    As many rows are used as for a temperature. There is one weight per training row.
    """
    rows = _thinned(models, rows, len(weights))
    expected = np.zeros(models.hierarchy.n_nodes)
    X_held = take_rows(X, rows)
    for part in chunks_of_rows(X_held, models.hierarchy.n_nodes):
        final = final_proba(models, slice_rows(X_held, part))
        expected[models.options.ends] += weights[rows[part]] @ final
    return expected


def _f_of(
    parts: list[tuple[Hierarchy, Any, IntArray]],
    nodes: IntArray,
    weights: AnyArray,
    f: float,
) -> float:
    """The hierarchical F-score of decoding with f, or of given nodes."""
    common = predicted = true = 0.0
    for hierarchy, found, rows in parts:
        chosen = best_values(hierarchy, found, len(rows), f) if isinstance(found, list) else found
        a, b = hierarchy._paths[chosen], hierarchy._paths[nodes[rows]]
        common += float(weights[rows] @ ((a == b) & (a >= 0)).sum(axis=1))
        predicted += float(weights[rows] @ hierarchy.levels[chosen])
        true += float(weights[rows] @ hierarchy.levels[nodes[rows]])
    return float(2 * common / (predicted + true)) if predicted + true else 1.0
