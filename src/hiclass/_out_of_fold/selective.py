"""How lax a threshold may be so that rows above it are rarely wrong, with a chosen certainty.

Rows that are answered are those with at least a certain confidence. Thresholds are tested one after
the other, from strict to lax, and the first that fails ends the walk: a fixed sequence of tests,
each at the full level, of which the first true null hypothesis is rejected with at most the risk
that is allowed. For a threshold that is fixed, the wrong rows among those above it are binomial, so
that their test is exact; losses that are no mere errors are tested by betting [1]_.

The walk starts at a number of rows that depends on the number of all rows and on the limit only. A
walk from the first row on would often end there by chance, where a single error decides. With this
start the risk is as promised if the share of errors, as a function of the threshold, crosses the
limit once; ``benchmarks/automation.py`` has what happens where it does not.

.. [1] Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, 2024.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.metrics._automation import surest_first

#: The walk starts at up to so many times the rows that are needed if none is wrong.
_START = 4
#: ... and at no more than this share of the rows, unless more are needed.
_START_SHARE = 0.1
#: Losses that are not errors are tested at this many thresholds.
_N_LOOKS = 100


@dataclass(frozen=True)
class Walk:
    """Where a walk from strict to lax thresholds has ended.

    Attributes
    ----------
    threshold : float
        The most lax threshold that keeps the limit; infinite if none does.
    n_answered : int
        Rows at or above it; if there is none, those at which the walk started.
    total : float
        The sum of their losses.
    """

    threshold: float
    n_answered: int
    total: float


def rows_needed(limit: float, risk: float) -> int:
    """How many rows, none of them wrong, show that fewer than the limit are wrong.

    Parameters
    ----------
    limit : float
        The share of wrong rows that is allowed.
    risk : float
        One less the certainty.

    Returns
    -------
    int
    """
    return max(1, math.ceil(math.log(risk) / math.log1p(-limit) - 1e-9))


def first_size(n_rows: int, limit: float, risk: float) -> int:
    """The number of rows at which a walk starts."""
    needed = rows_needed(limit, risk)
    return min(_START * needed, max(needed, int(_START_SHARE * n_rows)))


def walk_errors(confidence: FloatArray, wrong: AnyArray, limit: float, risk: float) -> Walk:
    """Find the most lax threshold with at most so many wrong rows, by exact binomial tests.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        The confidence of rows that were not used for anything else.
    wrong : ndarray of bool of shape (n_rows,)
        Whether their label is wrong.
    limit : float
        The share of wrong rows that is allowed among the labelled rows.
    risk : float
        The probability, over the draw of these rows, that more are wrong.

    Returns
    -------
    Walk
    """

    def passes(sizes: IntArray, totals: FloatArray) -> AnyArray:
        keeps: AnyArray = bdtr(totals, sizes, limit) <= risk
        return keeps

    order, sizes = _prefixes(confidence, first_size(len(confidence), limit, risk))
    totals = np.cumsum(wrong[order], dtype=np.float64)[sizes - 1]
    return _end_of_walk(confidence[order], sizes, totals, passes(sizes, totals))


def walk_losses(confidence: FloatArray, loss: FloatArray, limit: float, risk: float) -> Walk:
    """Find the most lax threshold with at most so large a mean loss, by betting.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        The confidence of rows that were not used for anything else.
    loss : ndarray of shape (n_rows,)
        The cost of their labels, from 0 to 1.
    limit : float
        The mean cost that is allowed for the labelled rows.
    risk : float
        The probability, over the draw of these rows, that it is larger.

    Returns
    -------
    Walk
    """
    # Bets are placed one after the other, and files are often sorted by class. Another order for
    # other rows: with one order for all, sorted rows would be in the same pattern every time.
    seed = zlib.crc32(np.ascontiguousarray(confidence).tobytes())
    shuffled = np.random.default_rng(seed).permutation(len(loss))
    confidence, loss = confidence[shuffled], loss[shuffled]
    order, sizes = _prefixes(confidence, first_size(len(confidence), limit, risk))
    sizes = sizes[:: max(1, len(sizes) // _N_LOOKS)]
    totals = np.cumsum(loss[order])[sizes - 1]
    keeps = np.zeros(len(sizes), dtype=bool)
    for i, size in enumerate(sizes.tolist()):
        # In an order that says nothing about the losses.
        keeps[i] = bets_against(loss[np.sort(order[:size])], limit, risk)
        if not keeps[i]:
            break
    return _end_of_walk(confidence[order], sizes, totals, keeps)


def _prefixes(confidence: FloatArray, first: int) -> tuple[IntArray, IntArray]:
    """Rows by decreasing confidence, and how many are labelled at each threshold of the walk."""
    order, sizes = surest_first(confidence)
    return order, sizes[sizes >= first]


def _end_of_walk(ordered: FloatArray, sizes: IntArray, totals: FloatArray, keeps: AnyArray) -> Walk:
    """The last threshold before the first that fails."""
    n_passed = len(keeps) if keeps.all() else int(np.argmin(keeps))
    if n_passed:
        size = int(sizes[n_passed - 1])
        # If all rows may be answered, so may those that are less sure than any of them.
        threshold = float(ordered[size - 1]) if size < len(ordered) else 0.0
        return Walk(threshold, size, float(totals[n_passed - 1]))
    started = (int(sizes[0]), float(totals[0])) if len(sizes) else (len(ordered), 0.0)
    return Walk(math.inf, *started)


def bets_against(loss: FloatArray, limit: float, risk: float) -> bool:
    """Whether bets on a mean loss below a limit win so much that a larger one is ruled out.

    Parameters
    ----------
    loss : ndarray of shape (n_rows,)
        Losses from 0 to 1, in an order that says nothing about them.
    limit : float
        The mean loss that is allowed.
    risk : float
        How probable the same gain may be with a larger mean.

    Returns
    -------
    bool
    """
    n = len(loss)
    if not n:
        return False
    number = np.arange(1, n + 1)
    mean = (0.5 + np.cumsum(loss)) / (number + 1)
    variance = (0.25 + np.cumsum((loss - mean) ** 2)) / (number + 1)
    # A bet knows the rows before it only.
    before = np.concatenate([[0.25], variance[:-1]])
    bet = np.minimum(np.sqrt(2 * math.log(1 / risk) / (n * before)), 0.9 / (1 - limit))
    capital = np.cumsum(np.log1p(bet * (limit - loss)))
    return bool(capital.max() >= math.log(1 / risk))


#: How thresholds are walked for errors and for losses.
Walker = Callable[[FloatArray, AnyArray, float, float], Walk]
