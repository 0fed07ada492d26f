"""How well probabilities of many nodes rank pairs of row and node, and the best mixture.

Mixtures are compared many times, so pairs are not sorted but counted in bins, which are ordered and
have a relative width of about 1 / 512.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hiclass._inference.paths import width_of
from hiclass._inference.sets import set_node_proba
from hiclass._rows import chunks_of_rows, one_in, slice_rows
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The bits of a float32 that are dropped: steps of 1 / 512 of a number.
_DROPPED = 14
_N_BINS = (np.float32(1).view(np.uint32) >> _DROPPED) + 1
#: The first and last step of the search for weights, and the smallest improvement.
_FIRST_STEP, _LAST_STEP, _BETTER = 0.25, 0.05, 1e-4
#: The largest number of pairs of row and node that are compared; beyond it, rows are sampled.
_MOST_PAIRS = 20_000_000
_LEAST = 1e-9
#: The largest number of probabilities of held-out rows that are kept.
_MOST_NUMBERS = 100_000_000


class Ranking:
    """Pairs of row and node, some of which are true, and the measure of their ranking.

    Parameters
    ----------
    truth : sparse array of shape (n_rows, n_nodes)
        The nodes of each row.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    measure : {"average_precision", "f1"}
        The area under the precision-recall curve over all pairs, or the best F1 of a common
        threshold.
    """

    def __init__(self, truth: Any, weights: AnyArray | None, measure: str) -> None:
        n_in = np.asarray(truth.sum(axis=0)).reshape(-1)
        n_rows = truth.shape[0]
        self._nodes = np.flatnonzero((n_in > 0) & (n_in < n_rows))
        step = -(-n_rows * max(len(self._nodes), 1) // _MOST_PAIRS)
        self._rows = one_in(np.arange(n_rows), step)
        some = truth[self._rows][:, self._nodes]
        self._true = np.flatnonzero(some.toarray().ravel())
        self._weights = None
        if weights is not None:
            self._weights = np.repeat(np.asarray(weights)[self._rows], len(self._nodes))
        self._measure: Callable[..., float] = MEASURES[measure]

    @property
    def is_empty(self) -> bool:
        """Whether there are no pairs."""
        return not len(self._true)

    def pairs(self, proba: FloatArray) -> AnyArray:
        """The probabilities of the pairs, in the form that is mixed."""
        some = proba[self._rows] if len(self._rows) < len(proba) else proba
        return np.ascontiguousarray(some[:, self._nodes], dtype=np.float32).ravel()

    def score(self, pairs: AnyArray) -> float:
        """The score of probabilities of pairs."""
        if self.is_empty:
            return 0.0
        place = np.clip(pairs, 0, 1).view(np.uint32) >> _DROPPED
        weights = self._weights
        everything = np.bincount(place, weights, int(_N_BINS))
        true = None if weights is None else weights[self._true]
        positive = np.bincount(place[self._true], true, int(_N_BINS))
        found, predicted = (np.cumsum(part[::-1]) for part in (positive, everything))
        some = predicted > 0
        return self._measure(found[some].astype(float), predicted[some].astype(float))


def _average_precision(found: FloatArray, predicted: FloatArray) -> float:
    total = found[-1]
    return float(np.diff(found, prepend=0) @ (found / predicted) / total) if total else 0.0


def _best_f1(found: FloatArray, predicted: FloatArray) -> float:
    return float((2 * found / (predicted + found[-1])).max())


MEASURES = {"average_precision": _average_precision, "f1": _best_f1}


def learn_set_weights(
    parts: list[AnyArray], ranking: Ranking, voting: str = "mean"
) -> tuple[tuple[float, ...], float]:
    """The weights of models of sets whose mixture has the best ranking.

    Parameters
    ----------
    parts : list of ndarray
        The probabilities that every model gives to pairs that it has not seen, from
        :meth:`Ranking.pairs`.
    ranking : Ranking
        The true pairs, and the measure.
    voting : {"mean", "product"}
        A mean of probabilities, or of their logarithms.

    Returns
    -------
    weights : tuple of float
        Non-negative weights that sum to one. Equal, unless others are better.
    score : float
        The score of the mixture.
    """
    n_models = len(parts)
    if voting == "product":
        parts = [np.log(np.maximum(part, _LEAST)) for part in parts]

    def measure(weights: FloatArray) -> float:
        mixed: Any = sum(np.float32(w) * part for w, part in zip(weights, parts, strict=True) if w)
        return ranking.score(np.exp(mixed) if voting == "product" else mixed)

    weights = np.full(n_models, 1 / n_models)
    best = measure(weights)
    step = _FIRST_STEP
    while n_models > 1 and step >= _LAST_STEP:
        moves = [
            moved
            for i in range(n_models)
            for j in range(n_models)
            if i != j and (moved := _move(weights, i, j, step)) is not None
        ]
        scores = [measure(moved) for moved in moves]
        found = int(np.argmax(scores))
        if scores[found] > best + _BETTER:
            best, weights = scores[found], moves[found]
        else:
            step /= 2
    return tuple(weights.tolist()), best


def _move(weights: FloatArray, source: int, goal: int, step: float) -> FloatArray | None:
    """Weights after moving some weight from one model to another; None if there is none to move."""
    given = min(step, weights[source])
    if given <= 0:
        return None
    moved = weights.copy()
    moved[source] -= given
    moved[goal] += given
    return moved


def mix(parts: list[FloatArray], weights: tuple[float, ...], voting: str) -> FloatArray:
    """Probabilities of several models as one: their mean, or the mean of their logarithms."""
    pairs = [(weight, part) for weight, part in zip(weights, parts, strict=True) if weight]
    if voting == "mean":
        return np.asarray(sum(weight * part for weight, part in pairs))
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(sum(weight * np.log(part) for weight, part in pairs)))


def fewer_rows(rows: IntArray, n_numbers: int) -> IntArray:
    """A sample of the held-out rows, if there would be too many values."""
    return one_in(rows, -(-len(rows) * n_numbers // _MOST_NUMBERS))


def member_proba(models: Any, X: Any) -> FloatArray:
    """Node probabilities of rows, in single precision."""
    parts = [
        set_node_proba(models, slice_rows(X, part)).astype(np.float32)
        for part in chunks_of_rows(X, width_of(models))
    ]
    return np.concatenate(parts)
