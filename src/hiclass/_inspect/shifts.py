"""Two-sample tests for numbers, categories, words and missing values.

All tests are valid for few rows, too. The choice of tests depends on both sets of rows together,
never on their difference, because a test chosen by its result would give too many alarms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from hiclass._automatic.cells import (
    Cells,
    as_dates,
    as_numbers,
    as_texts,
    day_first_of,
    split_columns,
)
from hiclass._automatic.kinds import guess
from hiclass._labels.columns import object_array
from hiclass._typing import AnyArray, FloatArray, IntArray

_KS, HYPERGEOMETRIC, _CHI_SQUARED = "Kolmogorov-Smirnov", "hypergeometric", "chi-squared"
#: Values with a smaller expected count are pooled, because the test requires large samples.
_LEAST_EXPECTED = 5
#: If one of two samples has fewer rows, they are compared exactly, which takes longer for many
#: rows.
_LEAST_ASYMPTOTIC = 50


@dataclass(frozen=True)
class Shift:
    """The comparison of one quantity.

    Attributes
    ----------
    what : str
        The name of the quantity, such as "confidence at level 2".
    then, now : float
        Its mean or share in both sets of rows.
    p_value : float
        The probability of a difference at least as large if nothing has changed.
    test : str, default=""
        The name of the test.
    """

    what: str
    then: float
    now: float
    p_value: float
    test: str = ""


def compare_numbers(what: str, then: FloatArray, now: FloatArray) -> Shift:
    """Two samples of numbers, by their distributions."""
    from scipy.stats import ks_2samp

    # "auto" is exact. For few rows, the asymptotic method gives p-values of 0 instead of 0.1.
    method = "auto" if min(len(then), len(now)) < _LEAST_ASYMPTOTIC else "asymp"
    p_value = float(ks_2samp(then, now, method=method).pvalue)
    return Shift(what, float(then.mean()), float(now.mean()), p_value, _KS)


def compare_values(what: str, counts: IntArray) -> Shift:
    """Two rows of counts of the same values, all together; rare values are pooled.

    The value of ``now`` is the share of rows that would have to change their value.
    """
    from scipy.stats import chi2_contingency

    total, rows = counts.sum(axis=0), counts.sum(axis=1)
    smaller = rows.min() / rows.sum()
    rare = total * smaller < _LEAST_EXPECTED
    if rare.any() and not rare.all() and total[rare].sum() * smaller < _LEAST_EXPECTED:
        # Even together, they are too few: one such row would be an alarm. They are pooled with a
        # common value.
        rare[np.where(rare, total.max() + 1, total).argmin()] = True
    pooled = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    pooled = pooled[:, pooled.sum(axis=0) > 0]
    p_value = float(chi2_contingency(pooled)[1]) if pooled.shape[1] > 1 else 1.0
    shares = counts / counts.sum(axis=1, keepdims=True)
    moved = float(np.abs(shares[0] - shares[1]).sum() / 2)
    return Shift(what, 0.0, moved, p_value, _CHI_SQUARED)


def p_of_shares(counts: IntArray, n: tuple[int, int]) -> FloatArray:
    """P-values of shares: twice the smaller tail of the hypergeometric distribution.

    Parameters
    ----------
    counts : ndarray of shape (2, n_values)
        The numbers of old and of new rows with each value.
    n : tuple of int
        The numbers of all rows.
    """
    from scipy.stats import hypergeom

    total, (n_then, n_now) = counts.sum(axis=0), n
    low = hypergeom.cdf(counts[1], n_then + n_now, total, n_now)
    high = hypergeom.sf(counts[1] - 1, n_then + n_now, total, n_now)
    both: FloatArray = np.minimum(2 * np.minimum(low, high), 1.0)
    return both


def compare_features(then: Any, now: Any, names: list[str] | None) -> tuple[list[Shift], list[str]]:
    """Compare all features that can be compared.

    Parameters
    ----------
    then, now : rows
        Matrices, sparse matrices, frames, lists of rows or of texts.
    names : list of str or None
        Names of the features.

    Returns
    -------
    shifts : list of Shift
        The one that changed most first. It has the p-value of the smallest of all: times their
        number.
    not_compared : list of str
        The columns that were not compared, with the reason.
    """
    not_compared: list[str] = []
    if sp.issparse(then):
        found = list(_presence(then, now, names))
    else:
        found = list(_columns(then, now, names, not_compared))
    if not found:
        return [], not_compared
    found.sort(key=lambda shift: shift.p_value)
    corrected = min(1.0, found[0].p_value * len(found))
    test = f"{found[0].test}, smallest of {len(found):,}"
    return [replace(found[0], p_value=corrected, test=test), *found[1:]], not_compared


def _name(names: list[str] | None, j: int) -> str:
    return f"feature {names[j] if names else j}"


def _presence(then: Any, now: Any, names: list[str] | None) -> Iterator[Shift]:
    """Shares of rows in which a sparse feature is not zero."""
    counts = np.array([np.asarray((X != 0).sum(axis=0)).ravel() for X in (then, now)])
    n = (then.shape[0], now.shape[0])
    shares = [(counts[i] / n[i]).tolist() for i in (0, 1)]
    each = p_of_shares(counts, n).tolist()
    for j, (a, b, p) in enumerate(zip(*shares, each, strict=True)):
        yield Shift(_name(names, j), a, b, p, HYPERGEOMETRIC)


def _columns(
    then: Any, now: Any, names: list[str] | None, not_compared: list[str]
) -> Iterator[Shift]:
    """All columns of two tables, and of matrices of numbers."""
    a, b = split_columns(then), split_columns(now)
    if a is None or b is None:  # numbers only
        matrices = [np.asarray(X, dtype=np.float64) for X in (then, now)]
        for j in range(matrices[0].shape[1]):
            yield from _numbers(_name(names, j), *(X[:, j] for X in matrices))
        return
    places = [{name: j for j, name in enumerate(table.names)} for table in (a, b)]
    for name in dict.fromkeys([*a.names, *b.names]):
        cells = tuple(
            # A dict may lack a name.
            table.read(place[name]) if name in place else Cells(object_array([None] * table.n_rows))
            for table, place in zip((a, b), places, strict=True)
        )
        yield from _cells(name, cells, not_compared, are_texts=a.form == "texts")


def _numbers(what: str, then: FloatArray, now: FloatArray) -> Iterator[Shift]:
    """Numbers, and the share of missing numbers."""
    known = [X[~np.isnan(X)] for X in (then, now)]
    yield from _missing(what, [np.isnan(X) for X in (then, now)])
    if len(known[0]) and len(known[1]):
        yield compare_numbers(what, *known)


def _missing(what: str, missing: list[AnyArray]) -> Iterator[Shift]:
    """The share of missing values, if there are any."""
    n = (len(missing[0]), len(missing[1]))
    counts = np.array([[part.sum()] for part in missing])
    if counts.any():
        a, b = (float(counts[i, 0] / n[i]) for i in (0, 1))
        p_value = float(p_of_shares(counts, n)[0])
        yield Shift(f"{what}, share missing", a, b, p_value, HYPERGEOMETRIC)


def _cells(
    name: Any, cells: tuple[Cells, ...], not_compared: list[str], *, are_texts: bool
) -> Iterator[Shift]:
    """One column of a table, compared by the kind of its cells in both sets together."""
    what, (then, now) = f"feature {name}", cells
    if then.kind == now.kind and then.kind in ("numbers", "dates"):
        yield from _numbers(what, then.values, now.values)
        return
    both = Cells(object_array([*_plain(then), *_plain(now)]))
    kind, reason = ("text", "") if are_texts else guess(name, both)
    n_then = len(then.values)
    if kind in ("numbers", "dates"):
        day_first = day_first_of(both)
        values = as_numbers(both, name) if kind == "numbers" else as_dates(both, name, day_first)
        yield from _numbers(what, values[:n_then], values[n_then:])
        return
    missing = np.array([value is None for value in both.values])
    yield from _missing(what, [missing[:n_then], missing[n_then:]])
    texts = as_texts(both)
    if kind == "text":
        yield from _words(name, texts, n_then)
    elif kind == "categories":
        codes = np.unique(texts[~missing], return_inverse=True)[1]
        n_known = int((~missing[:n_then]).sum())
        counts = [np.bincount(c, minlength=codes.max() + 1) for c in np.split(codes, [n_known])]
        if n_known and n_known < len(codes):
            yield compare_values(f"{what}, share that moved", np.array(counts))
    elif len(set(texts[~missing].tolist())) > 1:
        not_compared.append(f"{name} ({reason})")


def _plain(cells: Cells) -> list[Any]:
    """Cells as objects, with None for missing cells."""
    if cells.values.dtype == object:
        return cells.values.tolist()
    return [None if value != value else value for value in cells.values.tolist()]


def _words(name: Any, texts: AnyArray, n_then: int) -> Iterator[Shift]:
    """The words of texts, except very rare words."""
    try:
        vectorizer = CountVectorizer(binary=True, min_df=_LEAST_EXPECTED)
        there = sp.csr_array(vectorizer.fit_transform(texts.tolist()))
    except ValueError:  # no word occurs in so many of them
        return
    names = [f"{name}: {word}" for word in vectorizer.get_feature_names_out()]
    yield from _presence(there[:n_then], there[n_then:], names)
