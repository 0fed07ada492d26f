"""Whether a model still sees what it was made for: rows of then against rows of now.

No labels are needed. What the model says about both sets of rows is compared by two-sample tests
that are valid for few rows, too, and the threshold of an alarm is divided among all of them: where
nothing has changed, an alarm is as rare as it was asked to be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from hiclass._estimators.guarantees import guarantee_of
from hiclass._estimators.offers import require_paths
from hiclass._inspect.models import open_model
from hiclass._inspect.shifts import (
    HYPERGEOMETRIC,
    Shift,
    compare_features,
    compare_numbers,
    compare_values,
    p_of_shares,
)
from hiclass._rows import chunks_of_rows, n_rows_of, slice_rows
from hiclass._typing import FloatArray, IntArray
from hiclass._wrapping import unwrap_fitted

#: Classes, or features, that are shown.
_MOST_SHOWN = 10
#: So many columns that were not compared are named.
_MOST_NAMED = 5
#: The comparison that is about rows which belong to no class.
OUTSIDE = "outside score (how little rows look like any class)"


@dataclass(frozen=True)
class UseComparison:
    """What :func:`compare_use` returns.

    Parameters
    ----------
    n_then, n_now : int
        The numbers of rows.
    shifts : tuple of Shift
        Everything that was tested: confidence, shares of classes and share of rows answered at
        every level, the outside score, features.
    classes : tuple of Shift
        The classes whose share has changed most, with their own p-values.
    features : tuple of Shift
        The features that have changed most.
    max_false_alarms : float
        The probability of an alarm if nothing has changed.
    guarantee : str
        What this means for the guarantee of the model; empty if it has none.
    not_compared : tuple of str
        The columns of a frame that could not be compared, each with the reason.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, compare_use
    >>> X = [[float(i % 7), float(i % 3)] for i in range(200)]
    >>> y = [["A", "x"] if a > 3 else ["B", "z"] for a, _ in X]
    >>> model = LocalClassifierPerParentNode().fit(X, y)
    >>> compare_use(model, X[:100], X[100:]).alarm
    False
    """

    n_then: int
    n_now: int
    shifts: tuple[Shift, ...]
    classes: tuple[Shift, ...]
    features: tuple[Shift, ...]
    max_false_alarms: float
    guarantee: str = ""
    not_compared: tuple[str, ...] = ()

    @property
    def alarm(self) -> bool:
        """Whether something has changed by more than chance."""
        return bool(self.alarms)

    @property
    def alarms(self) -> tuple[Shift, ...]:
        """What has changed by more than chance, the clearest first (Holm's procedure)."""
        ordered = sorted(self.shifts, key=lambda shift: shift.p_value)
        for place, shift in enumerate(ordered):
            if shift.p_value > self.max_false_alarms / (len(ordered) - place):
                return tuple(ordered[:place])
        return tuple(ordered)

    def __str__(self) -> str:
        rows = f"{self.n_then:,} rows then, {self.n_now:,} now"
        lines = [f"No change by more than chance ({rows}). {self.guarantee}".strip()]
        if self.alarm:
            lines = [f"{s.what}: {s.then:.4g} then, {s.now:.4g} now" for s in self.alarms]
            lines = [f"Changed ({rows}):", *lines, *([self.guarantee] * bool(self.guarantee))]
        if self.not_compared:
            more = len(self.not_compared) - _MOST_NAMED
            shown = "; ".join(self.not_compared[:_MOST_NAMED])
            lines.append(f"Not compared: {shown}{f'; and {more:,} more' if more > 0 else ''}")
        return "\n".join(lines)


def compare_use(
    model: Any,
    X_then: Any,
    X_now: Any,
    *,
    max_false_alarms: float = 0.01,
    feature_names: Any = None,
) -> UseComparison:
    """Compare what a model sees and says now with what it saw and said then; without labels.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier with probabilities, or a pipeline or search that ends in
        one.
    X_then : rows
        Rows that the model was not fitted on, from the time when it was made: those of calibration
        for example. Rows of ``fit`` would look too well known.
    X_now : rows
        Rows of now.
    max_false_alarms : float, default=0.01
        The probability of an alarm if nothing has changed.
    feature_names : sequence of str, default=None
        Names of the features that the classifier sees. By default those that the steps of a
        pipeline before it give, or those of the frame that it was fitted on.

    Returns
    -------
    UseComparison
        All tests; ``alarm`` says whether something has changed, ``print`` what.

    Raises
    ------
    ValueError
        If there are no rows, or ``max_false_alarms`` is not a probability.

    See Also
    --------
    outside_score : How little a row looks like any class.
    make_report : Shows the comparison, with ``use=`` what this returns.
    guarantee_error : Holds as long as nothing changes.

    Notes
    -----
    Confidences at every level, and the outside score of the rows (:func:`outside_score`), are
    compared by the test of Kolmogorov and Smirnov, the predicted classes of every level by a
    chi-squared test in which rare classes are pooled, the share of rows that is answered at a level
    by Fisher's exact test, and features by the smallest of their own p-values times their number:
    the test of Kolmogorov and Smirnov for numbers and dates, the chi-squared one for categories,
    the hypergeometric one for whether a sparse feature or a word is there, and for the share of
    missing values of every column that has any. Columns in which every row has another value, such
    as ids, are not compared; ``not_compared`` names them. Holm's procedure shares the false alarms
    among all.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, compare_use
    >>> X = [[float(i % 7), float(i % 3)] for i in range(200)]
    >>> y = [["A", "x"] if a > 3 else ["B", "z"] for a, _ in X]
    >>> model = LocalClassifierPerParentNode().fit(X, y)
    >>> compare_use(model, X[:100], [[9.0, b] for _, b in X[100:]]).alarm
    True
    """
    if not (isinstance(max_false_alarms, int | float | np.number) and 0 < max_false_alarms < 1):
        raise ValueError(f"max_false_alarms must be above 0 and below 1; got {max_false_alarms!r}.")
    opened = unwrap_fitted(model)
    require_paths(opened.model, "compare_use")
    rows = [opened.transform(X) for X in (X_then, X_now)]
    n_then, n_now = (n_rows_of(X) for X in rows)
    if not n_then or not n_now:
        raise ValueError("There are no rows to compare. Give some of then and some of now.")
    decisions = [opened.model._decide(X) for X in rows]
    names = open_model(model, feature_names).names
    shifts, classes = [], []
    tree = opened.model.hierarchy_
    for level in range(1, tree.depth + 1):
        confidence = [d.confidence[:, level - 1] for d in decisions]
        given = [c[~np.isnan(c)] for c in confidence]
        shifts.append(_answered(level, given, (n_then, n_now)))
        if all(map(len, given)):
            shifts.append(compare_numbers(f"confidence at level {level}", *given))
        nodes = [tree._at_level(d.nodes, level) for d in decisions]
        of_level, single = _classes(tree, level, *nodes)
        shifts.append(of_level)
        classes += single
    shifts.append(compare_numbers(OUTSIDE, *(_outside(opened.model, X) for X in rows)))
    features, not_compared = compare_features(rows[0], rows[1], names)
    if features:
        smallest = features[0]
        shifts.append(smallest)
    classes.sort(key=lambda shift: shift.p_value)
    found = UseComparison(
        n_then,
        n_now,
        tuple(shifts),
        tuple(classes[:_MOST_SHOWN]),
        tuple(features[:_MOST_SHOWN]),
        max_false_alarms,
        not_compared=tuple(not_compared),
    )
    return _with_guarantee(found, model)


def _with_guarantee(found: UseComparison, model: Any) -> UseComparison:
    if guarantee_of(model) is None:
        return found
    text = (
        "The guarantee of the model was made for other rows: do not rely on it. Label some rows of "
        "now, and make a new one."
        if found.alarm
        else "Nothing speaks against the guarantee of the model; a change that is too small to "
        "see, or of the labels alone, would not show."
    )
    return replace(found, guarantee=text)


def _answered(level: int, given: list[FloatArray], n: tuple[int, int]) -> Shift:
    """Shares of rows with a label at a level, by Fisher's exact test."""
    from scipy.stats import fisher_exact

    table = [[len(part), total - len(part)] for part, total in zip(given, n, strict=True)]
    then, now = (len(part) / total for part, total in zip(given, n, strict=True))
    p_value = float(fisher_exact(table)[1])
    what = f"share of rows answered at level {level}"
    return Shift(what, then, now, p_value, "Fisher's exact")


def _classes(tree: Any, level: int, then: IntArray, now: IntArray) -> tuple[Shift, list[Shift]]:
    """Shares of the predicted classes of a level: all together, and one by one."""
    nodes = np.unique(np.concatenate([then, now]))
    counts = np.array([[(part == v).sum() for v in nodes] for part in (then, now)])
    whole = compare_values(f"classes of level {level}, share that moved", counts)
    shares = counts / counts.sum(axis=1, keepdims=True)
    each = p_of_shares(counts, (len(then), len(now)))
    single = [
        Shift(tree.describe(int(v)), float(a), float(b), float(p), HYPERGEOMETRIC)
        for v, a, b, p in zip(nodes, shares[0], shares[1], each, strict=True)
        if v > 0
    ]
    return whole, single


def outside_score(model: Any, X: Any) -> FloatArray:
    """Score how little every row looks like any class of the hierarchy.

    Rows that belong to no class get a label like all others, but the probabilities of the classes
    are less concentrated, at the first level as well as at the last.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier with probabilities, or a pipeline or search that ends in
        one; calibrated ones are best.
    X : rows
        Rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        From 0, certainly one of the classes, to 1: the mean over the levels of the entropy of the
        classes there, each divided by the largest that is possible.

    See Also
    --------
    compare_use : Whether rows have changed.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, outside_score
    >>> X = [[0.0], [0.1], [1.0], [1.1]] * 5
    >>> y = [["A", "x"], ["A", "x"], ["B", "z"], ["B", "z"]] * 5
    >>> score = outside_score(LocalClassifierPerParentNode().fit(X, y), [[-3.0], [0.55]])
    >>> bool(score[0] < score[1])
    True
    """
    opened = unwrap_fitted(model)
    require_paths(opened.model, "outside_score")
    return _outside(opened.model, opened.transform(X))


def _outside(model: Any, rows: Any) -> FloatArray:
    """The outside scores of rows as the classifier sees them."""
    tree = model.hierarchy_
    levels = [nodes for nodes in tree.nodes_by_level[1:] if len(nodes) > 1]
    score = np.zeros(n_rows_of(rows))
    for chunk in chunks_of_rows(rows, tree.n_nodes) if len(score) else ():
        proba = model.predict_node_proba(slice_rows(rows, chunk))
        for nodes in levels:
            here = proba[:, nodes]
            score[chunk] -= xlogy(here, here).sum(axis=1) / np.log(len(nodes)) / len(levels)
    return score
