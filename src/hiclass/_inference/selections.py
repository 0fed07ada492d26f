"""The table of selections: how ``threshold`` selects classes where predictions are sets.

``threshold`` is a number, the name of a selection, or a tuple of a name and its arguments. A
selection chooses classes by the probabilities of a row and by two things that were learned out of
fold: one threshold per class, and a curve of the results of common thresholds. Both are learned
together, so that every selection is available for predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._closure import close, from_entries
from hiclass._inference.sets import best_nodes, closed_by, decide_nodes, decide_sets, set_node_proba
from hiclass._state import AnySetModels
from hiclass._typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class Learned:
    """What was learned out of fold about thresholds.

    Attributes
    ----------
    thresholds : ndarray of shape (n_nodes,)
        The threshold of every class with the best F1.
    curve : ndarray of shape (n_points, 3) or None
        The results of common thresholds, from strict to lax: the threshold, the share of the true
        classes that are predicted, and the number of predicted classes per true class. None in
        files of older versions.
    """

    thresholds: FloatArray
    curve: Any


@dataclass(frozen=True, repr=False)
class Selection:
    """A rule that selects classes.

    Attributes
    ----------
    name : str
        The name that users write.
    usage : str
        An example, with arguments.
    arguments : callable
        Returns what is wrong with the arguments, or nothing.
    thresholds : callable or None
        ``(learned, *arguments)`` to a common threshold, or to one per class.
    n_best : callable or None
        For selections by rank, ``(*arguments)`` to the number of classes.
    by_curve : bool
        Whether it uses the curve of common thresholds.
    only_sets : bool
        Whether it is not available for one label per row.
    """

    name: str
    usage: str
    arguments: Callable[..., str]
    thresholds: Callable[..., float | FloatArray] | None = None
    n_best: Callable[..., int] | None = None
    by_curve: bool = True
    only_sets: bool = False

    def __repr__(self) -> str:
        return self.usage

    @property
    def is_learned(self) -> bool:
        """Whether it requires out-of-fold results."""
        return self.thresholds is not None


# -- the selections ------------------------------------------------------------------------------


def _nothing(*arguments: Any) -> str:
    return "" if not arguments else "it takes no arguments"


def _one_share(*arguments: Any) -> str:
    good = len(arguments) == 1 and _is_number(arguments[0]) and 0 < arguments[0] <= 1
    return "" if good else "it takes one number above 0 and at most 1"


def _two_costs(*arguments: Any) -> str:
    good = len(arguments) == 2 and all(_is_number(a) and 0 <= a < float("inf") for a in arguments)
    good = good and sum(arguments) > 0
    return "" if good else "it takes two numbers, none of them negative and not both 0"


def _one_count(*arguments: Any) -> str:
    good = len(arguments) == 1 and isinstance(arguments[0], int | np.integer)
    good = good and not isinstance(arguments[0], bool) and arguments[0] >= 1
    return "" if good else "it takes one integer of at least 1"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _per_class(learned: Learned) -> FloatArray:
    return learned.thresholds


def _best_micro_f1(learned: Learned) -> float:
    threshold, right, predicted = learned.curve.T
    return float(threshold[np.argmax(2 * right / (predicted + 1))])


def _precise(learned: Learned, precision: float) -> float:
    threshold, reached = smallest_precise(learned.curve, precision)
    if threshold is None:
        raise ValueError(
            f"threshold=('precision', {precision}): no threshold reaches this precision out of "
            f"fold; the best is {reached:.3f}. Use a lower precision, or improve the model."
        )
    return threshold


def smallest_precise(curve: FloatArray, precision: float) -> tuple[float | None, float]:
    """The smallest threshold of a curve with a precision, if any, and the best precision."""
    reached = curve[:, 1] / curve[:, 2]
    # Up to rounding: both numbers were divided by the number of true classes.
    good = np.flatnonzero(reached >= precision - 1e-12)
    return (float(curve[good[-1], 0]) if len(good) else None), float(reached.max())


def _cheapest(learned: Learned, wrong: float, missed: float) -> float:
    threshold, right, predicted = learned.curve.T
    cost = wrong * (predicted - right) + missed * (1 - right)
    best = int(np.argmin(cost))
    # With an infinite threshold, nothing is predicted and every true class is missed.
    return float(threshold[best]) if cost[best] <= missed else float("inf")


#: All selections, by name.
SELECTIONS: dict[str, Selection] = {
    selection.name: selection
    for selection in (
        Selection("tuned", "'tuned'", _nothing, _per_class, by_curve=False),
        Selection("micro_f1", "'micro_f1'", _nothing, _best_micro_f1),
        Selection("precision", "('precision', 0.9)", _one_share, _precise, only_sets=True),
        Selection("cost", "('cost', 1, 5)", _two_costs, _cheapest),
        Selection("top", "('top', 3)", _one_count, n_best=int, only_sets=True),
    )
}

_USAGE = ", ".join(selection.usage for selection in SELECTIONS.values())

# -- parameter values ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """A selection with its arguments; without a selection, a numeric threshold."""

    selection: Selection | None
    arguments: tuple[Any, ...]

    @property
    def is_learned(self) -> bool:
        """Whether it requires out-of-fold results."""
        return self.selection is not None and self.selection.is_learned

    def can_use(self, learned: Learned | None) -> bool:
        """Whether the available out-of-fold results are sufficient."""
        if self.selection is None or not self.selection.is_learned:
            return True
        if learned is None:
            return False
        return learned.curve is not None or not self.selection.by_curve


def read_threshold(threshold: Any) -> Chosen:
    """Return the selection for the parameter ``threshold``.

    Parameters
    ----------
    threshold : float, str or tuple
        A number, a name, or a name and arguments.

    Returns
    -------
    Chosen

    Raises
    ------
    ValueError
        If the selection does not exist, or its arguments are invalid.
    """
    if _is_number(threshold) and 0 < threshold <= 1:
        return Chosen(None, (float(threshold),))
    given = threshold if isinstance(threshold, tuple | list) else (threshold,)
    name = given[0] if given and isinstance(given[0], str) else None
    if name not in SELECTIONS:
        raise ValueError(
            f"threshold must be a number above 0 and at most 1, or one of {_USAGE} (numbers are "
            f"examples); got {threshold!r}."
        )
    selection = SELECTIONS[name]
    fault = selection.arguments(*given[1:])
    if fault:
        raise ValueError(
            f"threshold={threshold!r}: {fault}, for example threshold={selection.usage}."
        )
    return Chosen(selection, tuple(given[1:]))


# -- deciding ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """How classes are selected: by the threshold of every node, or by rank."""

    thresholds: FloatArray
    n_best: int = 0

    def sets(self, models: AnySetModels, X: Any) -> Any:
        """Closed sets for a chunk of rows."""
        if self.n_best:
            return self.sets_from(set_node_proba(models, X), models)
        return decide_sets(models, X, self.thresholds)

    def sets_from(self, proba: FloatArray, models: AnySetModels) -> Any:
        """Closed sets from probabilities of nodes."""
        if not self.n_best:
            return closed_by(proba, self.thresholds, models)
        final = proba[:, models.ends]
        best = np.argsort(-final, axis=1, kind="stable")[:, : self.n_best]
        rows, place = np.nonzero(np.take_along_axis(final, best, axis=1) > 0)
        nodes = models.ends[best[rows, place]]
        return close(from_entries(rows, nodes, proba.shape), models.hierarchy)

    def nodes(self, models: AnySetModels, X: Any) -> IntArray:
        """One node for every row of a chunk."""
        return decide_nodes(models, X, self.thresholds)

    def nodes_from(self, proba: FloatArray, models: AnySetModels) -> IntArray:
        """One node for every row, from probabilities of nodes."""
        return best_nodes(proba, self.thresholds, models)


def make_rule(chosen: Chosen, learned: Learned | None, n_nodes: int) -> Rule:
    """The rule of a selection.

    Parameters
    ----------
    chosen : Chosen
        The selection.
    learned : Learned or None
        Out-of-fold results; required if ``chosen.is_learned``.
    n_nodes : int
        The number of nodes.

    Returns
    -------
    Rule
    """
    selection = chosen.selection
    if selection is None:
        return Rule(np.full(n_nodes, chosen.arguments[0]))
    if selection.n_best is not None:
        return Rule(np.full(n_nodes, 0.5), selection.n_best(*chosen.arguments))
    assert selection.thresholds is not None
    thresholds = selection.thresholds(learned, *chosen.arguments)
    return Rule(np.broadcast_to(np.asarray(thresholds, dtype=np.float64), (n_nodes,)))


# -- learning ------------------------------------------------------------------------------------

#: The largest number of points of a curve.
_MOST_POINTS = 1000


def curve_of(
    proba: Any, truth: Any, weights: FloatArray, least: float, *, whole: bool = False
) -> FloatArray:
    """The results of common thresholds on rows, as ``Learned.curve``.

    Parameters
    ----------
    proba, truth : sparse CSC arrays of shape (n_rows, n_nodes)
        Probabilities of nodes, and the nodes of each row.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    least : float
        The smallest stored probability: the last threshold is halfway to the next smaller one.
    whole : bool, default=False
        Whether to keep all points of a long curve.

    Returns
    -------
    ndarray of shape (n_points, 3)
    """
    p, truth = sp.csc_array(proba)[:, 1:].tocoo(), sp.csc_array(truth)[:, 1:]
    p.eliminate_zeros()
    total = float(truth.sum(axis=1) @ weights)
    if not p.nnz or not total:
        return np.array([[0.5, 0.0, 1.0]])
    right = np.asarray(truth[p.row, p.col]).reshape(-1)
    values, each = p.data, weights[p.row]
    order = np.argsort(-values, kind="stable")
    values = values[order]
    last = np.append(values[1:] != values[:-1], True)  # equal probabilities are processed together
    right, predicted = (
        np.cumsum(x[order])[last] / total for x in (each * right, each.astype(np.float64))
    )
    values = values[last]
    keep = np.arange(len(values)) if whole else _some_of(len(values))
    below = np.append(values[1:], least)
    return np.column_stack([halfway(values, below), right, predicted])[keep]


def halfway(values: Any, below: Any) -> FloatArray:
    """Thresholds that values reach and the next smaller ones do not, however close they are."""
    middle = (values + below) / 2
    return np.where(middle > below, middle, values)


def _some_of(n: int) -> IntArray:
    """All numbers below n, or a selection that is denser where few classes are predicted."""
    if n <= _MOST_POINTS:
        return np.arange(n)
    half = _MOST_POINTS // 2
    points = np.concatenate([np.geomspace(1, n, half) - 1, np.linspace(0, n - 1, half)])
    found: AnyArray = np.unique(points.round().astype(np.intp))
    return found
