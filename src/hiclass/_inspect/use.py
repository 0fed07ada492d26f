"""Whether rows and predictions have changed since a model was fitted, without labels.

The predictions for old and new rows are compared by two-sample tests that are valid for few rows,
too. The significance level is divided among all tests, so that the probability of an alarm without
a change is at most the chosen one.
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

#: The number of classes, or features, that are shown.
_MOST_SHOWN = 10
#: The number of columns that were not compared and are named.
_MOST_NAMED = 5
#: The comparison about rows that belong to no class.
OUTSIDE = "outside score (how little rows resemble any class)"


@dataclass(frozen=True)
class UseComparison:
    """Result of :func:`compare_use`.

    Parameters
    ----------
    n_then, n_now : int
        The numbers of rows.
    shifts : tuple of Shift
        All tests: confidence, class shares and the share of rows with a label at every level, the
        outside score, and features.
    classes : tuple of Shift
        The classes whose share has changed most, with their own p-values.
    features : tuple of Shift
        The features that have changed most.
    max_false_alarms : float
        The probability of an alarm if nothing has changed.
    guarantee : str
        The consequence for the guarantee of the model. Empty if it has none.
    not_compared : tuple of str
        The columns of a frame that could not be compared, with the reasons.

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
        """Whether there is a significant change."""
        return bool(self.alarms)

    @property
    def alarms(self) -> tuple[Shift, ...]:
        """The significant changes by Holm's procedure, starting with the smallest p-value."""
        ordered = sorted(self.shifts, key=lambda shift: shift.p_value)
        for place, shift in enumerate(ordered):
            if shift.p_value > self.max_false_alarms / (len(ordered) - place):
                return tuple(ordered[:place])
        return tuple(ordered)

    def __str__(self) -> str:
        rows = f"{self.n_then:,} rows then, {self.n_now:,} now"
        lines = [f"No significant change ({rows}). {self.guarantee}".strip()]
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
    """Test without labels whether rows and predictions have changed since a model was fitted.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier with probabilities, or a pipeline or search that ends in
        one.
    X_then : rows
        Rows from the time when the model was fitted, such as the calibration rows. Training rows
        are not suitable, because the model is too confident on them.
    X_now : rows
        Recent rows.
    max_false_alarms : float, default=0.01
        The probability of an alarm if nothing has changed.
    feature_names : sequence of str, default=None
        Names of the features of the classifier. By default, they are taken from the preceding steps
        of the pipeline, or from the frame that the classifier was fitted on.

    Returns
    -------
    UseComparison
        All tests. ``alarm`` is True if something has changed, and ``print`` shows what.

    Raises
    ------
    ValueError
        If there are no rows, or ``max_false_alarms`` is not between 0 and 1.

    See Also
    --------
    outside_score : Score how little a row resembles any class.
    make_report : Show the comparison in a report, with ``use=``.
    guarantee_error : A guarantee that holds as long as nothing changes.

    Notes
    -----
    The following are compared, with Holm's procedure for all tests together:

    * confidences at every level and outside scores, by the Kolmogorov-Smirnov test;
    * the predicted classes of every level, by a chi-squared test with rare classes pooled;
    * the share of rows with a label at every level, by Fisher's exact test;
    * features, by the smallest p-value times the number of features. Numbers and dates are compared
      by the Kolmogorov-Smirnov test, categories by a chi-squared test, and the presence of words,
      sparse features and missing values by a hypergeometric test.

    Columns with a different value in every row, such as ids, are not compared; ``not_compared``
    lists them.

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
        raise ValueError("There are no rows to compare. Pass at least one old and one new row.")
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
        "The guarantee of the model was computed for different rows: do not rely on it. Label some "
        "new rows, and compute a new guarantee."
        if found.alarm
        else "There is no evidence against the guarantee of the model. Small changes, and changes "
        "of the labels alone, cannot be detected."
    )
    return replace(found, guarantee=text)


def _answered(level: int, given: list[FloatArray], n: tuple[int, int]) -> Shift:
    """Shares of rows with a label at a level, by Fisher's exact test."""
    from scipy.stats import fisher_exact

    table = [[len(part), total - len(part)] for part, total in zip(given, n, strict=True)]
    then, now = (len(part) / total for part, total in zip(given, n, strict=True))
    p_value = float(fisher_exact(table)[1])
    what = f"share of rows labelled at level {level}"
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
    """Score how little every row resembles any class of the hierarchy.

    A row that belongs to no class still gets a label, but the probabilities of its classes are less
    concentrated at every level.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier with probabilities, or a pipeline or search that ends in
        one. Calibrated models work best.
    X : rows
        The rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        The mean over levels of the normalised entropy of the class probabilities, from 0 (certainly
        one of the classes) to 1.

    See Also
    --------
    compare_use : Test whether rows have changed.

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
    """The outside scores of transformed rows."""
    tree = model.hierarchy_
    levels = [nodes for nodes in tree.nodes_by_level[1:] if len(nodes) > 1]
    score = np.zeros(n_rows_of(rows))
    for chunk in chunks_of_rows(rows, tree.n_nodes) if len(score) else ():
        proba = model.predict_node_proba(slice_rows(rows, chunk))
        for nodes in levels:
            here = proba[:, nodes]
            score[chunk] -= xlogy(here, here).sum(axis=1) / np.log(len(nodes)) / len(levels)
    return score
