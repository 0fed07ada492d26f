"""The most lax threshold that keeps the error of the labelled rows below a limit, with certainty.

Rows are labelled if their confidence reaches the threshold. Thresholds are tested one after the
other, from strict to lax, until the first test fails. In such a fixed sequence, every test has the
full level, and the first true null hypothesis is rejected with at most the allowed risk. For a
fixed threshold, the number of wrong rows is binomial, so the test is exact. Other losses are tested
by betting [1]_.

The walk starts at a number of rows that depends only on the total number of rows and on the limit.
A walk that starts at the first row would often end there by chance, because a single error decides.
With this start, the risk is within its limit if the error, as a function of the threshold, crosses
the limit once; ``benchmarks/automation.py`` measures what happens otherwise.

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

#: The walk starts at up to this many times the rows that are needed if none is wrong ...
_START = 4
#: ... and at no more than this share of the rows, unless more are needed.
_START_SHARE = 0.1
#: Losses that are not errors are tested at this many thresholds.
_N_LOOKS = 100


@dataclass(frozen=True)
class Walk:
    """The result of a walk from strict to lax thresholds.

    Attributes
    ----------
    threshold : float
        The most lax threshold within the limit; infinite if there is none.
    n_answered : int
        The number of rows at or above it; if there is none, that at which the walk started.
    total : float
        The sum of their losses.
    """

    threshold: float
    n_answered: int
    total: float


def rows_needed(limit: float, risk: float) -> int:
    """The number of rows, none of them wrong, that prove an error rate below the limit.

    Parameters
    ----------
    limit : float
        The share of wrong rows that is allowed.
    risk : float
        One minus the certainty.

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
    """Find the most lax threshold within the allowed error, by exact binomial tests.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        The confidence of rows that were not used for anything else.
    wrong : ndarray of bool of shape (n_rows,)
        Whether their label is wrong.
    limit : float
        The share of wrong rows that is allowed among the labelled rows.
    risk : float
        The probability, over the draw of these rows, that the error is larger.

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
    """Find the most lax threshold within the allowed mean loss, by betting.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        The confidence of rows that were not used for anything else.
    loss : ndarray of shape (n_rows,)
        The cost of their labels, from 0 to 1.
    limit : float
        The mean cost that is allowed for the labelled rows.
    risk : float
        The probability, over the draw of these rows, that the mean loss is larger.

    Returns
    -------
    Walk
    """
    # Bets are placed one after the other, and files are often sorted by class. The order depends on
    # the rows: with one order for all, sorted rows would have the same pattern every time.
    seed = zlib.crc32(np.ascontiguousarray(confidence).tobytes())
    shuffled = np.random.default_rng(seed).permutation(len(loss))
    confidence, loss = confidence[shuffled], loss[shuffled]
    order, sizes = _prefixes(confidence, first_size(len(confidence), limit, risk))
    sizes = sizes[:: max(1, len(sizes) // _N_LOOKS)]
    totals = np.cumsum(loss[order])[sizes - 1]
    keeps = np.zeros(len(sizes), dtype=bool)
    for i, size in enumerate(sizes.tolist()):
        # An order that is independent of the losses.
        keeps[i] = bets_against(loss[np.sort(order[:size])], limit, risk)
        if not keeps[i]:
            break
    return _end_of_walk(confidence[order], sizes, totals, keeps)


def _prefixes(confidence: FloatArray, first: int) -> tuple[IntArray, IntArray]:
    """Rows by decreasing confidence, and the number of labelled rows at each threshold."""
    order, sizes = surest_first(confidence)
    return order, sizes[sizes >= first]


def _end_of_walk(ordered: FloatArray, sizes: IntArray, totals: FloatArray, keeps: AnyArray) -> Walk:
    """The last threshold before the first that fails."""
    n_passed = len(keeps) if keeps.all() else int(np.argmin(keeps))
    if n_passed:
        size = int(sizes[n_passed - 1])
        # If all rows may be labelled, so may rows that are less confident than any of them.
        threshold = float(ordered[size - 1]) if size < len(ordered) else 0.0
        return Walk(threshold, size, float(totals[n_passed - 1]))
    started = (int(sizes[0]), float(totals[0])) if len(sizes) else (len(ordered), 0.0)
    return Walk(math.inf, *started)


def bets_against(loss: FloatArray, limit: float, risk: float) -> bool:
    """Whether bets on a mean loss below a limit win enough to exclude a larger mean.

    Parameters
    ----------
    loss : ndarray of shape (n_rows,)
        Losses from 0 to 1, in an order that is independent of them.
    limit : float
        The mean loss that is allowed.
    risk : float
        The largest probability of the same gain if the mean is larger.

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
    # A bet depends only on the preceding rows.
    before = np.concatenate([[0.25], variance[:-1]])
    bet = np.minimum(np.sqrt(2 * math.log(1 / risk) / (n * before)), 0.9 / (1 - limit))
    capital = np.cumsum(np.log1p(bet * (limit - loss)))
    return bool(capital.max() >= math.log(1 / risk))


#: The walks for errors and for losses.
Walker = Callable[[FloatArray, AnyArray, float, float], Walk]
