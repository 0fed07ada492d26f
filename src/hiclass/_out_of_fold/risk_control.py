"""Thresholds for sets of classes that keep an error rate below a limit, for any model.

They are chosen on rows that the model was not fitted on. Every class whose probability reaches the
threshold is predicted.

- *False negatives*: the share of the true classes of a row that are missed never decreases as the
  threshold increases. Conformal risk control [1]_ therefore applies: with n rows, the largest
  threshold with ``(n * risk + 1) / (n + 1) <= alpha``. For a new, exchangeable row, the expected
  share is at most alpha.
- *False discoveries*: the share of the predicted classes of a row that are wrong is not monotonic
  in the threshold. Thresholds are therefore tested from strict to lax, on a grid that does not
  depend on the rows, until the first test fails: learn then test [2]_ in a fixed sequence, with
  bets (:func:`hiclass._out_of_fold.selective.bets_against`). The expected share is at most alpha
  with the chosen certainty.

.. [1] A. N. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster: Conformal risk control. ICLR
   (2024).
.. [2] A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan, L. Lei: Learn then test. Annals of
   Applied Statistics 19 (2025).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hiclass._out_of_fold.selective import bets_against
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The thresholds that are tested for false discoveries, from strict to lax.
GRID: FloatArray = np.arange(99, 0, -1) / 100


@dataclass(frozen=True)
class Chunk:
    """Calibration rows with their probabilities and true nodes.

    Attributes
    ----------
    proba : ndarray of shape (n_rows, n_nodes)
        Probabilities of nodes, without the root.
    truth : ndarray of bool of the same shape
        The nodes of each row.
    n_unknown : ndarray of int of shape (n_rows,)
        The number of true classes that the model does not have.
    """

    proba: FloatArray
    truth: AnyArray
    n_unknown: IntArray


@dataclass(frozen=True)
class Risk:
    """An error rate that can be kept below a limit.

    Attributes
    ----------
    name : str
        The value of ``kind``.
    collect : callable
        ``(chunk)`` to the part of some rows that is kept: an array, joined along the first axis.
    choose : callable
        ``(collected, n_rows, alpha, risk)`` to the threshold, from the kept parts of all rows.
    certain : bool
        Whether it holds with a chosen certainty; otherwise, it holds on average.
    """

    name: str
    collect: Callable[[Chunk], AnyArray]
    choose: Callable[[AnyArray, int, float, float], float]
    certain: bool


def _true_pairs(chunk: Chunk) -> AnyArray:
    """Probabilities of the true classes, and the inverse of their number in the row."""
    n_true = chunk.truth.sum(axis=1) + chunk.n_unknown
    rows, nodes = np.nonzero(chunk.truth)
    missed = np.flatnonzero(chunk.n_unknown)
    proba = np.concatenate([chunk.proba[rows, nodes], np.full(len(missed), -np.inf)])
    weight = np.concatenate([1 / n_true[rows], chunk.n_unknown[missed] / n_true[missed]])
    return np.column_stack([proba, weight])


def _control_misses(pairs: AnyArray, n_rows: int, alpha: float, risk: float) -> float:
    """The largest threshold whose misses are within the limit; -inf if there is none."""
    allowed = alpha * (n_rows + 1) - 1
    if allowed < -1e-9:
        return -np.inf
    order = np.argsort(pairs[:, 0], kind="stable")
    proba, missed = pairs[order, 0], np.cumsum(pairs[order, 1])
    over = np.flatnonzero(missed > allowed + 1e-9)
    return float(proba[over[0]]) if len(over) else float("inf")


def _discovery_rates(chunk: Chunk) -> AnyArray:
    """The loss of every row at every threshold of the grid."""
    return np.column_stack([_discovery_rate(chunk.proba >= t, chunk) for t in GRID])


def _discovery_rate(predicted: AnyArray, chunk: Chunk) -> FloatArray:
    n_wrong = (predicted & ~chunk.truth).sum(axis=1)
    rate: FloatArray = n_wrong / np.maximum(predicted.sum(axis=1), 1)
    return rate


def _test_discoveries(losses: AnyArray, n_rows: int, alpha: float, risk: float) -> float:
    """The last threshold before the first at which the bets against the limit do not win."""
    # Bets are placed one after the other, and files are often sorted by class.
    shuffled = np.random.default_rng(n_rows).permutation(n_rows)
    threshold = float("inf")
    for column, value in enumerate(GRID.tolist()):
        if not bets_against(losses[shuffled, column], alpha, risk):
            break
        threshold = value
    return threshold


#: All error rates that can be controlled, by name.
RISKS: dict[str, Risk] = {
    risk.name: risk
    for risk in (
        Risk("false_negatives", _true_pairs, _control_misses, certain=False),
        Risk("false_discoveries", _discovery_rates, _test_discoveries, certain=True),
    )
}
