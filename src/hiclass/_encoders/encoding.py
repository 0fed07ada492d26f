"""Vectors of texts: every distinct text is encoded once, and the results are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import normalize as to_unit_length

from hiclass._encoders.store import VectorStore
from hiclass._labels.columns import is_missing, library_of
from hiclass._typing import AnyArray, IntArray

#: The methods of encoders, in order of preference.
_METHODS = ("encode", "embed", "transform")
_WANTED = "an object with encode, embed or transform, or a function"
#: The largest number of texts per call.
BATCH_SIZE = 8192
#: The largest number of characters of a text in a message.
_SHOWN = 50


def is_encoder(encoder: Any) -> bool:
    """Whether an object encodes texts: it has a method for this, or is a function."""
    return not isinstance(encoder, type | str | bytes) and (
        callable(encoder) or any(hasattr(encoder, method) for method in _METHODS)
    )


def is_learned(encoder: Any) -> bool:
    """Whether an encoder has to be fitted: a transformer that is not frozen."""
    learns = _method_of(encoder) == "transform" and hasattr(encoder, "fit")
    return learns and not isinstance(encoder, FrozenEstimator)


def fit_encoder(encoder: Any, texts: list[str], y: Any = None) -> Any:
    """Fit a clone of an encoder that can be fitted; other encoders are returned unchanged.

    Parameters
    ----------
    encoder : object
        The encoder.
    texts : list of str
        Texts to learn from.
    y : object, default=None
        The target of a supervised transformer.

    Returns
    -------
    object
        An encoder for :func:`encode_texts`.

    Raises
    ------
    TypeError
        If it is not an encoder.
    """
    if is_learned(encoder):
        return clone(encoder, safe=False).fit(texts, y)
    return encoder


def check_texts(X: Any, name: str = "X") -> list[str]:
    """Read texts, one per row.

    Parameters
    ----------
    X : list, array, Series or frame of one column
        The texts. A missing one (None, NaN) is an empty text.
    name : str, default="X"
        Their name in messages.

    Returns
    -------
    list of str

    Raises
    ------
    TypeError
        If a row is not a text, or X is a single text.
    ValueError
        If there are no rows, or several columns.
    """
    if isinstance(X, str | bytes):
        raise TypeError(f"{name} is a single text. Pass a list of texts, one per row.")
    values = _values(X, name)
    if not values:
        raise ValueError(
            f"{name} is empty: it holds 0 texts (0 sample(s)). Pass at least one text."
        )
    for row, value in enumerate(values):
        if not isinstance(value, str):
            if isinstance(value, bytes) or not is_missing(value):
                raise TypeError(
                    f"Row {row} of {name} is {_short(value)} (of the type {type(value).__name__}), "
                    "not a text. Pass one text per row."
                )
            values[row] = ""
    return values


def _values(X: Any, name: str) -> list[Any]:
    """The rows of a container as a new list; a single column loses its dimension."""
    if isinstance(X, list | tuple):
        return list(X)
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 2 and shape[1] == 1 and not sp.issparse(X):
        library = library_of(X)
        if library == "pandas":
            X = X.iloc[:, 0]
        elif library == "polars":
            X = X.to_series(0)
        else:
            X = X.column(0) if library == "pyarrow" else X[:, 0]
    elif shape is not None and len(shape) != 1:
        raise ValueError(
            f"{name} has the shape {tuple(shape)} instead of one text per row. Select the column "
            f"of texts, for example with a ColumnTransformer."
        )
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(X, method):
            return list(getattr(X, method)())
    raise TypeError(f"{name} is a {type(X).__name__}. Pass a list of texts, one per row.")


def encode_texts(
    encoder: Any,
    texts: list[str],
    *,
    batch_size: int = BATCH_SIZE,
    normalize: bool = False,
    store: VectorStore | None = None,
    width: int | None = None,
) -> Any:
    """Return the vectors of texts.

    Every distinct text goes to the encoder once, in the order of its first row.

    Parameters
    ----------
    encoder : object or function
        With ``encode``, ``embed`` or ``transform`` (fitted), or a function: from a list of texts to
        a matrix with one row for each.
    texts : list of str
        The texts, at least one.
    batch_size : int, default=8192
        How many texts the encoder gets in one call at most. Each call is kept in the store at once.
    normalize : bool, default=False
        Whether vectors are scaled to unit length; a vector of zeros stays one.
    store : VectorStore, default=None
        The store in which vectors are looked up before the encoder is called.
    width : int, default=None
        The length that vectors must have, if it is known.

    Returns
    -------
    ndarray or CSR matrix of shape (n_texts, width)
        Floating point numbers, in the precision that the encoder returns, at least 32 bits.

    Raises
    ------
    TypeError
        If it is not an encoder, or returns something else than numbers.
    ValueError
        If it returns another number of rows than texts, vectors of another width than before, or
        numbers that are not finite; or sparse vectors although there is a store.

    Examples
    --------
    >>> from hiclass._encoders.encoding import encode_texts
    >>> def lengths(texts):
    ...     print(texts)
    ...     return [[len(text), text.count("a")] for text in texts]
    >>> encode_texts(lengths, ["banana", "kiwi", "banana"])
    ['banana', 'kiwi']
    array([[6., 3.],
           [4., 0.],
           [6., 3.]])
    """
    distinct, place = _distinct(texts)
    call = _function_of(encoder)
    if store is None:
        parts = list(_encode_batches(call, distinct, batch_size, width))
        vectors = parts[0] if len(parts) == 1 else _stack(parts)
    else:
        vectors = _encode_stored(call, distinct, batch_size, width, store)
    if len(distinct) < len(texts):
        vectors = vectors[place]
    # A copy, because the encoder may keep the matrix.
    return to_unit_length(vectors) if normalize else vectors


def _distinct(texts: list[str]) -> tuple[list[str], IntArray]:
    """The distinct texts in the order of their first row, and the number of each row's text."""
    number: dict[str, int] = {}
    place = [number.setdefault(text, len(number)) for text in texts]
    return list(number), np.array(place, dtype=np.intp)


def _encode_batches(
    call: Callable[[list[str]], Any], texts: list[str], batch_size: int, width: int | None
) -> Iterator[Any]:
    """Yield the checked vectors of one batch of texts after the other."""
    for start in range(0, len(texts), batch_size):
        batch = texts[start : start + batch_size]
        vectors = _checked(call(batch), batch, width)
        width = vectors.shape[1]
        yield vectors


def _encode_stored(
    call: Callable[[list[str]], Any],
    texts: list[str],
    batch_size: int,
    width: int | None,
    store: VectorStore,
) -> AnyArray:
    """Vectors of distinct texts: those in the store, and new ones, which are stored."""
    known, found = store.read(texts)
    if len(known) == len(texts):
        return found
    new = np.setdiff1d(np.arange(len(texts)), known)
    width = found.shape[1] if len(known) else width
    vectors, start = np.empty((0, 0)), 0
    for part in _encode_batches(call, [texts[i] for i in new], batch_size, width):
        if sp.issparse(part):
            raise ValueError(
                "The encoder returns sparse vectors, which cannot be cached. Leave cache=None."
            )
        if not start:
            vectors = np.empty((len(texts), part.shape[1]), dtype=part.dtype)
            vectors[known] = found if len(known) else 0
        rows = new[start : start + len(part)]
        store.write([texts[i] for i in rows], part)
        vectors[rows] = part
        start += len(part)
    return vectors


def _stack(parts: list[Any]) -> Any:
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)


# -- the encoder -------------------------------------------------------------------------------


def _method_of(encoder: Any) -> str:
    """The name of the method that encodes; ``""`` for a function."""
    if isinstance(encoder, str):
        raise TypeError(
            f"encoder is the text {_short(encoder)}. Load the model and pass the object, for "
            f"example sentence_transformers.SentenceTransformer({encoder!r})."
        )
    if not is_encoder(encoder):
        what = f"the class {encoder.__name__}" if isinstance(encoder, type) else _short(encoder)
        raise TypeError(f"encoder must be {_WANTED}; got {what}.")
    return next((method for method in _METHODS if hasattr(encoder, method)), "")


def _function_of(encoder: Any) -> Callable[[list[str]], Any]:
    """The function that encodes a list of texts."""
    method = _method_of(encoder)
    function: Callable[[list[str]], Any] = getattr(encoder, method) if method else encoder
    return function


# -- results ---------------------------------------------------------------------------------------


def _checked(result: Any, texts: list[str], width: int | None) -> Any:
    """The result of an encoder, as a matrix of numbers with one row for each text."""
    vectors = _as_matrix(result)
    if vectors.ndim != 2:
        raise ValueError(
            f"The encoder returned an array of the shape {vectors.shape} for {len(texts)} text(s). "
            f"It must return a matrix with one vector per text."
        )
    if vectors.shape[0] != len(texts):
        raise ValueError(
            f"The encoder returned {vectors.shape[0]} vector(s) for {len(texts)} text(s). It must "
            f"return one vector per text."
        )
    if width is not None and vectors.shape[1] != width:
        raise ValueError(
            f"The encoder returned vectors of {vectors.shape[1]} numbers, but of {width} numbers "
            f"before. All vectors must have the same length. Was the encoder changed after fit?"
        )
    if not vectors.shape[1]:
        raise ValueError(
            "The encoder returned vectors without numbers (0 feature(s)). It must return vectors "
            "of at least one number."
        )
    vectors = vectors.astype(_precision(vectors.dtype), copy=False)
    _check_finite(vectors, texts)
    return vectors


def _as_matrix(result: Any) -> Any:
    """Convert a result to an array or CSR matrix: arrays, tensors, lists, generators, frames."""
    if sp.issparse(result):
        return sp.csr_matrix(result)
    if isinstance(result, Iterator):
        result = list(result)
    if hasattr(result, "detach"):  # a tensor, possibly on a GPU; NumPy has no bfloat16
        result = result.detach().cpu()
        result = (result.float() if "bfloat16" in str(result.dtype) else result).numpy()
    try:
        return np.asarray(result)
    except ValueError as error:
        raise ValueError(
            "The encoder returned vectors of different lengths. All vectors must have the same "
            "length."
        ) from error


def _precision(dtype: Any) -> Any:
    """The floating point type that holds numbers of a type."""
    if dtype.kind not in "biuf":
        raise TypeError(
            f"The encoder returned values of the type {dtype} instead of numbers. It must return a "
            "matrix of numbers."
        )
    if dtype.kind == "f":
        return np.float32 if dtype.itemsize <= 4 else np.float64
    return np.float32 if dtype.itemsize <= 2 else np.float64


def _check_finite(vectors: Any, texts: list[str]) -> None:
    values = vectors.data if sp.issparse(vectors) else vectors
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    if np.isfinite(values).all():
        return
    dense = vectors.toarray() if sp.issparse(vectors) else vectors
    row = int(np.argmin(np.isfinite(dense).all(axis=1)))
    value = "NaN" if np.isnan(dense[row]).any() else "an infinite number"
    raise ValueError(
        f"The encoder returned {value} for the text {_short(texts[row])}. Remove such texts, or "
        f"correct the encoder."
    )


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
