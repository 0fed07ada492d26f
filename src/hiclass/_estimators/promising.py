"""Thresholds that bound the share of wrong labels among the predicted labels, or their mean cost.

They are chosen on labelled rows that the model was not fitted on. The bound then holds for all rows
from the same distribution, with a chosen certainty (:mod:`hiclass._out_of_fold.selective`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from hiclass._estimators.guarantees import Guarantee, Promise, decoding_of, of_branch
from hiclass._estimators.held_out import HeldOut, decide_held_out
from hiclass._inference.confidence import check_min_confidence, thresholds_of
from hiclass._out_of_fold.selective import (
    Walker,
    bets_against,
    rows_needed,
    walk_errors,
    walk_losses,
)
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass._warnings import warn_user

#: A branch has its own promise if it has at least this many times the rows that are needed.
_ENOUGH = 2


# -- errors ------------------------------------------------------------------------------------


def guarantee_error(
    model: Any,
    X: Any,
    y: Any,
    max_error: float | Iterable[float] = 0.05,
    *,
    certainty: float = 0.95,
    levels: int | Iterable[int] | None = None,
    branch_level: int | None = None,
) -> Guarantee:
    """Choose thresholds that bound the share of wrong labels among the predicted labels.

    Of the rows with a predicted label at a level, at most ``max_error`` have a wrong one. This
    holds for rows from the same distribution as the calibration rows, with probability
    ``certainty`` over the draw of the calibration rows.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one. Its current
        ``min_confidence`` is ignored.
    X : rows
        Calibration rows. They must not have been used to fit the model or to choose its
        parameters.
    y : array-like
        Their true labels. A row counts as wrong at a level if its true path ends above that level.
    max_error : float or sequence of float, default=0.05
        The share of wrong labels that is allowed. A sequence holds one value for each of
        ``levels``.
    certainty : float, default=0.95
        The probability that all promises hold together.
    levels : int, iterable of int or None, default=None
        The levels with a promise, starting at 1. By default, all levels. Labels at other levels are
        predicted as usual, without a promise.
    branch_level : int or None, default=None
        If given, every predicted class of this level that has enough rows gets its own promise, and
        all other classes share one. More promises require more rows.

    Returns
    -------
    Guarantee
        The thresholds and the promises. ``guarantee.apply(model)`` sets the thresholds.

    Raises
    ------
    ValueError
        If no promise is possible. The message states how many rows are needed, or how many of the
        most confident rows are wrong.
    TypeError
        If the model has no ``min_confidence``.

    See Also
    --------
    guarantee_cost : Bound the mean cost of the predicted labels.
    ConformalClassifier : Bound the share of wrong paths among all rows.

    Notes
    -----
    Thresholds are tested from the highest to the lowest, each by an exact binomial test, until the
    first test fails (fixed-sequence testing). With several levels or branches, the risk is divided
    among them (Bonferroni). A deeper level never has a lower threshold, so that a row has a label
    at a level if and only if its confidence there reaches the threshold.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, guarantee_error
    >>> from hiclass.datasets import make_hierarchical_classification
    >>> X, y = make_hierarchical_classification(900, branching=2, random_state=0, return_X_y=True)
    >>> model = LocalClassifierPerParentNode().fit(X[:400], y[:400])
    >>> guarantee = guarantee_error(model, X[400:], y[400:], max_error=0.1, levels=1)
    >>> guarantee.promises[0].reached
    True
    >>> labels = guarantee.apply(model).predict(X[400:])
    """
    held_out = decide_held_out(model, X, y, "guarantee_error")
    asked = _levels(levels, held_out.model.hierarchy_.depth)
    limits = _limits(max_error, asked)
    tree = held_out.model.hierarchy_

    def wrong(level: int) -> FloatArray:
        truth = tree._at_level(held_out.true, level)
        found: FloatArray = tree._at_level(held_out.decision.nodes, level) != truth
        return found

    plan = _Plan(
        "{:.1%} wrong labels".format,
        walk_errors,
        rows_needed,
        _risk(certainty),
        dict(zip(asked, limits, strict=True)),
    )
    return _guarantee("error", certainty, held_out, plan, wrong, 1.0, branch_level)


def _levels(levels: Any, depth: int) -> list[int]:
    if levels is None:
        return list(range(1, depth + 1))
    asked = [levels] if isinstance(levels, Integral) else list(levels)
    for level in asked:
        if not _is_level(level, depth):
            raise ValueError(f"levels has {level!r}. Use numbers from 1 to {depth}.")
    if not asked or len(set(asked)) < len(asked):
        raise ValueError(f"levels={levels!r} must contain at least one level, and no level twice.")
    return sorted(int(level) for level in asked)


def _is_level(level: Any, depth: int) -> bool:
    is_number = isinstance(level, int | np.integer) and not isinstance(level, bool)
    return is_number and 1 <= level <= depth


def _is_between(value: Any, end: float) -> bool:
    return isinstance(value, int | float | np.number) and bool(0 < value < end)


def _limits(max_error: Any, asked: list[int]) -> list[float]:
    is_one = isinstance(max_error, Real | str) or not isinstance(max_error, Iterable)
    each = [max_error] * len(asked) if is_one else list(max_error)
    if len(each) != len(asked):
        raise ValueError(
            f"max_error has {len(each)} numbers for {len(asked)} levels. Use one number, or one "
            "per level."
        )
    for limit in each:
        if not _is_between(limit, 1):
            raise ValueError(f"max_error must be above 0 and below 1; got {limit!r}.")
    return [float(limit) for limit in each]


def _risk(certainty: Any) -> float:
    if not _is_between(certainty, 1):
        raise ValueError(f"certainty must be above 0 and below 1; got {certainty!r}.")
    return 1.0 - float(certainty)


# -- costs -------------------------------------------------------------------------------------


def guarantee_cost(
    model: Any,
    X: Any,
    y: Any,
    max_cost: float,
    *,
    costs: Any,
    certainty: float = 0.95,
    levels: int | Iterable[int] | None = None,
) -> Guarantee:
    """Choose thresholds that bound the mean cost of the predicted labels.

    Like :func:`guarantee_error`, for errors with different costs.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one.
    X : rows
        Calibration rows. They must not have been used to fit the model or to choose its
        parameters.
    y : array-like
        Their true labels.
    max_cost : float
        The mean cost that is allowed for the rows with a predicted label at a level.
    costs : mapping or array-like of shape (n_classes, n_classes)
        A mapping from true classes (paths or labels) to the cost of a wrong label. A class without
        an entry has the cost of its nearest ancestor with one, otherwise 1. Or a matrix with the
        cost of every true class (row) and predicted class (column), for the single level in
        ``levels``, with classes in the order of ``hierarchy_``. If the true class of a row is not
        among them, the row gets the largest cost of the matrix.
    certainty : float, default=0.95
        The probability that all promises hold together.
    levels : int, iterable of int or None, default=None
        The levels with a promise, starting at 1. By default, all levels.

    Returns
    -------
    Guarantee
        The thresholds and the promises. ``guarantee.apply(model)`` sets the thresholds.

    Raises
    ------
    ValueError
        If no promise is possible, or if ``costs`` or ``max_cost`` are invalid.
    TypeError
        If the model has no ``min_confidence``, or ``costs`` is neither a mapping nor numbers.

    See Also
    --------
    guarantee_error : Bound the share of wrong labels.

    Notes
    -----
    Thresholds are tested as in :func:`guarantee_error`, but by a betting test, which only requires
    bounded costs and needs fewer rows if the costs vary less. The promise holds for every order of
    the rows, but a different order may lead to a slightly different threshold.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, guarantee_cost
    >>> from hiclass.datasets import make_hierarchical_classification
    >>> X, y = make_hierarchical_classification(900, branching=2, random_state=0, return_X_y=True)
    >>> model = LocalClassifierPerParentNode().fit(X[:400], y[:400])
    >>> costs = {tuple(y[0, :1]): 3.0}
    >>> found = guarantee_cost(model, X[400:], y[400:], 0.4, costs=costs, levels=1)
    >>> found.promises[0].mean_loss < 0.4
    True
    """
    held_out = decide_held_out(model, X, y, "guarantee_cost")
    asked = _levels(levels, held_out.model.hierarchy_.depth)
    loss, most = _losses(costs, held_out, asked)
    if not _is_between(max_cost, most):
        raise ValueError(
            f"max_cost must be above 0 and below the highest cost, {most:g}; got {max_cost!r}."
        )
    limits = dict.fromkeys(asked, float(max_cost) / most)
    plan = _Plan(
        "costs of {:.3g} on average".format,
        walk_losses,
        _rows_needed_by_betting,
        _risk(certainty),
        limits,
    )
    return _guarantee("cost", certainty, held_out, plan, loss, most, None)


def _losses(costs: Any, held_out: HeldOut, asked: list[int]) -> tuple[Any, float]:
    """A function from levels to relative costs of rows, and the highest cost."""
    tree = held_out.model.hierarchy_
    if isinstance(costs, Mapping):
        check_min_confidence(costs, name="costs")
        each = np.asarray(thresholds_of({(): 1.0, **costs}, tree, name="costs"))
        each[0] = each.max()  # of rows whose true class is unknown
        most = float(each.max())
        if not math.isfinite(most):
            raise ValueError(
                "costs has an infinite cost, which cannot be bounded. Use finite costs."
            )

        def by_class(level: int) -> FloatArray:
            truth, found = (
                tree._at_level(n, level) for n in (held_out.true, held_out.decision.nodes)
            )
            cut = np.where(truth >= 0, truth, held_out.true)
            return np.where(found != truth, each[cut] / most, 0.0)

        return by_class, most
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"costs must be a mapping from classes to costs or a matrix of numbers; got {costs!r}."
        ) from error
    if len(asked) != 1:
        raise ValueError("A matrix of costs is for one level. Name it, for example levels=2.")
    nodes = tree.nodes_by_level[asked[0]]
    if matrix.shape != (len(nodes), len(nodes)):
        raise ValueError(
            f"costs must have the shape {(len(nodes), len(nodes))}, for the {len(nodes)} classes "
            f"of level {asked[0]}; got the shape {matrix.shape}."
        )
    if not ((matrix >= 0) & np.isfinite(matrix)).all():
        raise ValueError("costs must be numbers that are finite and not negative.")
    most = float(matrix.max())

    def by_pair(level: int) -> FloatArray:
        truth, found = (tree._at_level(n, level) for n in (held_out.true, held_out.decision.nodes))
        place = [np.minimum(np.searchsorted(nodes, n), len(nodes) - 1) for n in (truth, found)]
        return np.where(truth >= 0, matrix[place[0], place[1]], most) / most

    return by_pair, most


def _rows_needed_by_betting(limit: float, risk: float) -> int:
    """The number of rows without any loss that prove a mean loss below a limit."""
    n = rows_needed(limit, risk)
    while not bets_against(np.zeros(n), limit, risk):
        n += max(1, n // 20)
    return n


# -- both --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """How thresholds are tested."""

    shown: Any  # formats a mean loss, for messages
    walk: Walker
    needed: Any  # (limit, risk) to the smallest number of rows
    risk: float
    limits: dict[int, float]  # by level


def _guarantee(
    kind: str,
    certainty: float,
    held_out: HeldOut,
    plan: _Plan,
    loss: Any,
    scale: float,
    branch_level: int | None,
) -> Guarantee:
    """Compute all promises, and the resulting thresholds."""
    tree = held_out.model.hierarchy_
    groups = _groups(held_out, plan, branch_level)
    # A group without rows, such as that of all other branches, needs no share of the risk.
    n_groups = sum(bool(member.any()) for member in groups.values())
    n_promises = sum(
        1 if branch_level is None or level < branch_level else n_groups for level in plan.limits
    )
    plan = replace(plan, risk=plan.risk / n_promises)
    everyone = {0: np.ones(len(held_out.true), dtype=bool)}
    strictest = dict.fromkeys(groups, 0.0)  # of the levels so far
    promises: list[Promise] = []
    for level in plan.limits:
        split = branch_level is not None and level >= branch_level
        values = loss(level)
        for node, member in (groups if split else everyone).items():
            # A deeper level is at least as strict as those above it: whether a row is labelled
            # there depends only on its confidence there, as in the tests.
            found = _promise(held_out, plan, level, values, member, strictest[node], scale)
            promises.append(replace(found, branch=tree.path(node)))
            for concerned in [node] if split else groups:
                strictest[concerned] = found.threshold
    _check_any(promises, kind)
    n_rows, decoding = len(held_out.true), decoding_of(held_out.model)
    return Guarantee(kind, float(certainty), n_rows, tree.depth, decoding, tuple(promises))


def _groups(held_out: HeldOut, plan: _Plan, branch_level: int | None) -> dict[int, AnyArray]:
    """The rows of every predicted class that has enough rows; 0 has all other rows."""
    tree, n = held_out.model.hierarchy_, len(held_out.true)
    if branch_level is None:
        return {0: np.ones(n, dtype=bool)}
    last = max(plan.limits)
    if not _is_level(branch_level, last):
        raise ValueError(f"branch_level must be a level from 1 to {last}; got {branch_level!r}.")
    at: IntArray = tree._at_level(held_out.decision.nodes, int(branch_level))
    answered = ~np.isnan(held_out.decision.confidence[:, last - 1])
    nodes, counts = np.unique(at[answered], return_counts=True)
    nodes, counts = nodes[counts.argsort(kind="stable")[::-1]], np.sort(counts)[::-1]
    limit, n_levels = min(plan.limits.values()), len(plan.limits)
    n_own = 0
    for number in range(1, len(nodes) + 1):
        # More branches share the risk, so each of them needs more rows.
        needed = plan.needed(limit, plan.risk / ((number + 1) * n_levels))
        if counts[number - 1] >= _ENOUGH * needed:
            n_own = number
    own = np.sort(nodes[:n_own]).tolist()
    return {0: ~np.isin(at, own), **{node: at == node for node in own}}


def _promise(
    held_out: HeldOut,
    plan: _Plan,
    level: int,
    loss: FloatArray,
    member: AnyArray,
    above: float,
    scale: float,
) -> Promise:
    """The promise about one level of some rows."""
    limit = plan.limits[level]
    confidence = held_out.decision.confidence[:, level - 1]
    rows = member & ~np.isnan(confidence)
    confidence, loss = confidence[rows], loss[rows]
    n_needed = plan.needed(limit, plan.risk)
    promise = Promise(level, (), limit * scale, math.inf, len(loss), 0, 0.0, n_needed)
    if len(loss) < n_needed:
        reason = (
            f"{len(loss):,} calibration rows are too few; at least {n_needed:,} are needed, and "
            f"more if some of them are wrong."
        )
        return replace(promise, reason=reason)
    walk = plan.walk(confidence, loss, limit, plan.risk)
    if math.isinf(walk.threshold):
        reason = (
            f"{plan.shown(scale * walk.total / walk.n_answered)} among the most confident "
            f"{walk.n_answered:,} calibration rows are too close to the limit of "
            f"{limit * scale:g}. Allow a larger value, pass more rows, or improve the model."
        )
        return replace(promise, reason=reason)
    if math.isinf(above):
        return replace(promise, reason="no promise is possible for a level above it.")
    threshold = max(walk.threshold, above)
    answered = confidence >= threshold
    total = float(loss[answered].sum()) * scale
    return replace(promise, threshold=threshold, n_answered=int(answered.sum()), loss=total)


def _check_any(promises: list[Promise], kind: str) -> None:
    """Raise an error if there is no promise, and warn about missing promises."""
    missing = [promise for promise in promises if not promise.reached]
    some = [p for p in missing if p.n_rows] or missing
    each = [f"Level {p.level}{of_branch(p.branch)}: {p.reason}" for p in some]
    if len(missing) == len(promises):
        raise ValueError(f"No threshold guarantees a limit on the {kind}. {' '.join(each)}")
    if any(p.n_rows for p in missing):
        warn_user(f"No label is predicted at levels without a promise. {' '.join(each)}")
