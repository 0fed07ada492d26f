"""Columns of one kind as features: words, one-hot categories, imputed and scaled numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.extmath import randomized_svd

from hiclass._automatic.cells import Cells, as_dates, as_numbers, as_texts, day_first_of
from hiclass._automatic.dates import PARTS, parts_of
from hiclass._state import Scaling
from hiclass._typing import AnyArray, FloatArray

#: A category with fewer rows is merged with the other rare ones of its column.
_RARE = 2
_SECONDS = "seconds"
#: Texts with fewer words on average have features for parts of words, with this number of letters.
_SHORT_TEXT, _PART = 30, 3
#: Texts with fewer words on average are codes or names, which are reduced to this many numbers.
_ONE_WORD, _DIRECTIONS = 1.5, 30
#: With at least this many words in a column, words of a single row are dropped.
_MANY_WORDS = 100_000

# -- text --------------------------------------------------------------------------------------


def fit_words(cells: Cells, name: Any) -> tuple[list[TfidfVectorizer], Any]:
    """Learn the words of a column of text, and the parts of words if texts are short.

    Parameters
    ----------
    cells : Cells
        The column.
    name : object
        Its name, for messages.

    Returns
    -------
    vectorizers : list of TfidfVectorizer
        Fitted: words and pairs of words; for short texts also parts of words.
    weights : CSR matrix of shape (n_rows, n_features)
        Their weights.

    Raises
    ------
    ValueError
        If there is no word.
    """
    texts = _texts(cells, name)
    lengths = np.array([len(text.split()) for text in texts])
    n_words = lengths.sum()
    rare = 2 if n_words >= _MANY_WORDS else 1
    vectorizers = [TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=rare)]
    words = vectorizers[0].build_analyzer()
    if not any(words(text) for text in texts):
        raise ValueError(
            f"The column {name!r} contains no word of two or more letters. Exclude it with ignore."
        )
    weights = [vectorizers[0].fit_transform(texts)]
    if n_words < _SHORT_TEXT * np.count_nonzero(lengths):
        parts = TfidfVectorizer(
            sublinear_tf=True, analyzer="char_wb", ngram_range=(_PART, _PART), min_df=2
        )
        with contextlib.suppress(ValueError):  # if no part of a word is in two rows
            weights.append(parts.fit_transform(texts))
            vectorizers.append(parts)
    return vectorizers, side_by_side(weights, sparse=True)


def _texts(cells: Cells, name: Any) -> AnyArray:
    if cells.kind in ("numbers", "dates") and not np.isnan(cells.values).all():
        raise ValueError(
            f"The column {name!r} holds {cells.kind} instead of text. Correct it, or convert it to "
            f"texts."
        )
    return as_texts(cells)


def encode_words(vectorizers: list[TfidfVectorizer], cells: Cells, name: Any) -> Any:
    """Weights of words, and of parts of words."""
    texts = _texts(cells, name)
    return side_by_side([v.transform(texts) for v in vectorizers], sparse=True)


def word_names(vectorizers: list[TfidfVectorizer]) -> list[str]:
    """Words, and parts of words with dots where the word continues."""
    words, *parts = (vectorizer.get_feature_names_out().tolist() for vectorizer in vectorizers)
    return [*words, *(_part_name(part) for names in parts for part in names)]


def _part_name(part: str) -> str:
    """A part of a word; blanks mark the beginning and the end of the word."""
    before = "" if part.startswith(" ") else "…"
    after = "" if part.endswith(" ") else "…"
    return f"{before}{part.strip()}{after}"


def are_codes(cells: Cells) -> bool:
    """Whether the texts of a column are single words: codes and names."""
    lengths = np.array([len(text.split()) for text in as_texts(cells)])
    return bool(lengths.sum() < _ONE_WORD * np.count_nonzero(lengths))


def fit_directions(weights: Any) -> tuple[FloatArray, FloatArray]:
    """The main directions of variation of the weights of words, and the weights along them.

    Parameters
    ----------
    weights : CSR matrix of shape (n_rows, n_words)
        Weights of words and parts of words.

    Returns
    -------
    directions : ndarray of shape (n_directions, n_words)
        Of unit length.
    reduced : ndarray of shape (n_rows, n_directions)
        The weights along them.
    """
    n_directions = min(_DIRECTIONS, *weights.shape)
    _, _, directions = randomized_svd(weights, n_directions, random_state=0)
    return directions, np.asarray(weights @ directions.T)


# -- categories --------------------------------------------------------------------------------


def fit_categories(columns: list[Cells]) -> tuple[OneHotEncoder | None, Any]:
    """Learn the categories of some columns, and encode them; None if there are no columns."""
    if not columns:
        return None, None
    encoder = OneHotEncoder(handle_unknown="ignore", min_frequency=_RARE)
    encoder.set_output(transform="default")  # sparse, whatever is configured
    return encoder, encoder.fit_transform(_stack(columns))


def encode_categories(encoder: OneHotEncoder | None, columns: list[Cells]) -> Any:
    """Encode categories; unseen categories have no feature."""
    return None if encoder is None else encoder.transform(_stack(columns))


def _stack(columns: list[Cells]) -> AnyArray:
    return np.column_stack([as_texts(cells) for cells in columns])


def category_names(encoder: OneHotEncoder | None, columns: list[Any]) -> list[str]:
    """Names of the features of categories: ``column=value``, and one for the rare ones."""
    if encoder is None:
        return []
    names = []
    for j, column in enumerate(columns):
        rare = encoder.infrequent_categories_[j]
        rare = set() if rare is None else set(rare.tolist())
        names += [f"{column}={v}" for v in encoder.categories_[j].tolist() if v not in rare]
        names += [f"{column} (rare)"] if rare else []
    return names


# -- numbers and dates -------------------------------------------------------------------------


def numeric_columns(
    cells: dict[Any, Cells], kinds: dict[Any, str], day_first: dict[Any, bool]
) -> Iterator[tuple[Any, str, FloatArray]]:
    """Yield the numbers of columns of numbers and dates: column, part of a date or "", values."""
    for name, kind in kinds.items():
        if kind == "numbers":
            yield name, "", as_numbers(cells[name], name)
        elif kind == "dates":
            seconds = as_dates(cells[name], name, day_first[name])
            for part, values in zip(PARTS, parts_of(seconds).T, strict=True):
                yield name, part, values
            yield name, _SECONDS, seconds


def orders_of_dates(cells: dict[Any, Cells], kinds: dict[Any, str]) -> dict[Any, bool]:
    """Whether the dates of each column begin with the day."""
    return {name: day_first_of(cells[name]) for name, kind in kinds.items() if kind == "dates"}


def select_numeric(
    cells: dict[Any, Cells], kinds: dict[Any, str], day_first: dict[Any, bool]
) -> tuple[list[tuple[Any, str]], list[FloatArray]]:
    """The numbers to learn from: for a date, the parts that vary, and the seconds.

    Parameters
    ----------
    cells : dict
        The cells of all columns.
    kinds : dict
        Their kinds.
    day_first : dict
        Of dates, whether they begin with the day.

    Returns
    -------
    chosen : list of tuple
        Column and part of a date (``""`` for numbers) of each.
    values : list of ndarray
        The numbers.

    Raises
    ------
    ValueError
        If a column holds no number or no date at all.
    """
    chosen, found = [], []
    for name, part, values in numeric_columns(cells, kinds, day_first):
        if np.isnan(values).all():
            what = "date" if part else "number"
            raise ValueError(f"The column {name!r} contains no {what}. Exclude it with ignore.")
        if part in ("", _SECONDS) or np.nanmin(values) < np.nanmax(values):
            chosen.append((name, part))
            found.append(values)
    return chosen, found


def as_block(columns: list[FloatArray], n_rows: int) -> FloatArray:
    """Numbers next to each other, in separate memory."""
    block = np.empty((n_rows, len(columns)))
    for j, values in enumerate(columns):
        block[:, j] = values
    return block


def learn_scaling(block: FloatArray, columns: list[Any], *, scale: bool) -> Scaling:
    """Learn the imputation and the scale of numbers.

    Parameters
    ----------
    block : ndarray of shape (n_rows, n_numbers)
        Numbers, NaN where one is missing.
    columns : list
        The column that each of them is from.
    scale : bool
        Whether they are scaled at all.

    Returns
    -------
    Scaling
    """
    missing = np.isnan(block)
    gaps = np.flatnonzero(missing.any(axis=0))
    fill = np.array(block.mean(axis=0, dtype=np.float64))
    for j in gaps.tolist():
        known = block[~missing[:, j], j]
        fill[j] = np.median(known) if len(known) else 0.0
    # The parts of a date are missing together, so one feature is sufficient.
    first = {columns[j]: j for j in reversed(gaps.tolist())}
    flagged = np.array(sorted(first.values()), dtype=np.intp)
    mean, deviation = np.zeros(0), np.ones(0)
    if scale:
        filled = np.where(missing, fill, block) if len(gaps) else block
        mean, deviation = filled.mean(axis=0), filled.std(axis=0)
        # Values that are constant up to rounding stay constant.
        deviation[deviation <= 1e-12 * np.abs(mean)] = 1.0
    return Scaling(fill, flagged, mean, deviation)


def apply_scaling(scaling: Scaling, block: FloatArray, *, in_place: bool) -> FloatArray:
    """Imputed and scaled numbers, followed by indicators of missing values.

    Parameters
    ----------
    scaling : Scaling
        The learned imputation and scale.
    block : ndarray of shape (n_rows, n_numbers)
        The numbers.
    in_place : bool
        Whether they may be changed.

    Returns
    -------
    ndarray of shape (n_rows, n_numbers + n_flagged)
    """
    missing = np.isnan(block)
    flags = missing[:, scaling.flagged]
    if missing.any():
        block = block if in_place else block.copy()
        np.copyto(block, scaling.fill, where=missing, casting="same_kind")
    if len(scaling.mean):
        block = np.subtract(block, scaling.mean, out=block if in_place else None)
        block /= scaling.scale
    return np.hstack([block, flags.astype(block.dtype)]) if flags.shape[1] else block


def side_by_side(parts: list[Any], *, sparse: bool) -> Any:
    """Blocks of features as one CSR matrix, or as one dense array."""
    if not sparse:
        dense = [part.toarray() if sp.issparse(part) else part for part in parts]
        return dense[0] if len(dense) == 1 else np.hstack(dense)
    parts = [sp.csr_matrix(part) for part in parts]
    return parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")
