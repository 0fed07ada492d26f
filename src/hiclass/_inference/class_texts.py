"""Probabilities of classes from the similarities of a row to the texts and rows of each class.

A row and a final class have five similarities (cosines): to the nearest text or row of the class,
to the mean of its texts, to the mean texts of the classes above it, to the nearest of its rows, and
to the mean of its rows. Their weights depend on the number of rows of the class: see
:func:`factors_of`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.preprocessing import normalize

from hiclass._encoders.encoding import check_texts, encode_texts
from hiclass._inference.mixing import BIAS
from hiclass._inference.paths import direct_final_proba
from hiclass._state import TextModels
from hiclass._typing import FloatArray, IntArray

#: Similarities: nearest text or row, all texts, texts above, nearest row, all rows.
N_SIMILARITIES = 5
#: The similarity of every parameter, for classes with few rows and with many; constants of classes
#: without rows, without texts, and with few rows and many texts; and the similarity to the mean of
#: texts, if there are many.
FEATURE = np.array([0, 1, 2, 0, 1, 2, 3, 4, 3, 4, BIAS, BIAS, BIAS, 1])
#: Default parameters, for the default encoder and for other encoders;
#: ``benchmarks/class_texts.py --defaults`` learns them from training rows of three taxonomies.
OF_WORDS = np.array([10.0, 2.3, 5.5, 8.7, 0.3, 2.9, 0.0, 0.0, 0.0, 5.6, 0.1, 0.0, 0.2, 5.4])
OF_MEANINGS = np.array([15.3, 1.0, 2.4, 12.5, 0.3, 1.6, 0.0, 0.0, 0.0, 3.5, 0.1, 0.0, -0.1, 3.7])
#: The pull to the defaults, as a number of rows. It is strong because held-out rows of small
#: classes have other class shares than new rows. The constant of classes without rows differs
#: between taxonomies, so its pull is weak.
STRENGTH = np.where(np.arange(len(FEATURE)) == 10, 50.0, 1000.0)
#: With so many rows or texts, weights are halfway between those without and with many of them.
_FEW_ROWS = _FEW_TEXTS = 4
#: Vectors with at least this similarity belong to equal texts.
SAME = 0.999
#: So many similarities are held at a time.
_NUMBERS_AT_A_TIME = 1 << 23


def factors_of(n_rows: IntArray, n_texts: IntArray) -> FloatArray:
    """The factor of every parameter, for classes with these numbers of rows and texts.

    Between classes without rows and those with many, weights change as 1 / (1 + n / 4). The mean of
    many texts is less informative than that of a few, because they describe different things. If
    rows are few, the number of texts is a hint at the number of rows that a class will have.
    """
    few = 1 / (1 + n_rows / _FEW_ROWS)
    some = (n_rows > 0).astype(float)
    alike = 2 / (1 + np.maximum(n_texts, 1))
    return np.stack(
        [
            *(few, few * alike, few),
            *(1 - few, (1 - few) * alike, 1 - few),
            *[few * some] * 2,
            *[(1 - few) * some] * 2,
            *(1 - some, (n_texts == 0).astype(float), few * np.log1p(n_texts)),
            1 - 1 / (1 + n_texts / _FEW_TEXTS),
        ]
    )


def as_vectors(models: TextModels, X: Any) -> Any:
    """Rows as vectors of unit length."""
    if are_vectors(X):
        return normalize(X)
    texts = check_texts(X)
    return encode_texts(models.encoder, texts, normalize=True, width=models.texts.shape[1])


def are_vectors(X: Any) -> bool:
    """Whether rows are vectors, and not texts."""
    if sp.issparse(X):
        return True
    return getattr(X, "ndim", 1) == 2 and getattr(getattr(X, "dtype", None), "kind", "O") in "biuf"


class Profiles:
    """The texts and rows that new rows are compared with, prepared once for many chunks."""

    def __init__(self, models: TextModels) -> None:
        hierarchy, ends = models.hierarchy, models.options.ends
        self._texts = _Groups(models.texts, models.text_nodes)
        self._rows = _Groups(models.rows, models.row_nodes)
        self._of_texts = self._texts.columns(ends)
        self._of_rows = self._rows.columns(ends)
        above = _means_above(hierarchy, self._texts.nodes, ends)
        # Most classes are above no other one: to leave them out saves most of the product.
        self._inner = np.flatnonzero(np.diff(above.indptr))
        self._above = above[self._inner]
        self.n_final = len(ends)
        self._width = (
            len(models.text_nodes) + len(models.row_nodes) + 2 * N_SIMILARITIES * len(ends)
        )

    def similarities(self, vectors: Any) -> FloatArray:
        """Similarities of rows and final classes: (n_similarities, n_rows, n_final)."""
        each = self._each(vectors)
        found = np.zeros((N_SIMILARITIES, vectors.shape[0], self.n_final), dtype=each[0].dtype)
        for place, values in zip(found, each, strict=True):
            if values is not None:
                place[:] = values
        return found

    def scores(self, vectors: Any, models: TextModels) -> FloatArray:
        """Sums of similarities times weights, plus the bias of each class."""
        total = np.tile(models.bias, (vectors.shape[0], 1))
        each = self._each(vectors)
        for values, weight in zip(each, models.weights, strict=True):
            if values is not None and weight.any():
                total += values * weight
        if models.same:
            total[each[0] >= SAME] += models.same
        return total

    def _each(self, vectors: Any) -> list[Any]:
        """All similarities; None where every class has 0."""
        nearest, together = self._texts.similarities(vectors)
        nearest_row, all_rows = self._rows.similarities(vectors)
        of_row = _take(nearest_row, self._of_rows)
        of_text = _take(nearest, self._of_texts)
        above = together[:, self._inner] @ self._above if len(self._inner) else None
        return [
            np.maximum(0 if of_text is None else of_text, 0 if of_row is None else of_row),
            _take(together, self._of_texts),
            None if above is None else np.asarray(above),
            of_row,
            _take(all_rows, self._of_rows),
        ]

    def chunks(self, vectors: Any) -> Any:
        """Parts of rows, so that few numbers are held at a time."""
        size = max(1, _NUMBERS_AT_A_TIME // self._width)
        for start in range(0, vectors.shape[0], size):
            yield slice(start, start + size)


def profiles_of(models: TextModels) -> Profiles:
    """The profiles of a model, which are made once; files do not have them."""
    if "_profiles" not in vars(models):
        vars(models)["_profiles"] = Profiles(models)
    profiles: Profiles = vars(models)["_profiles"]
    return profiles


class _Groups:
    """Vectors of some nodes, ordered by node: the nearest of each node, and their mean."""

    def __init__(self, vectors: Any, nodes: IntArray) -> None:
        self.nodes, self._starts = np.unique(nodes, return_index=True)
        self._vectors = vectors.T.tocsr() if sp.issparse(vectors) else np.asarray(vectors).T
        self._means = None
        if len(self.nodes) < len(nodes):
            place = np.searchsorted(self.nodes, nodes)
            ones = np.ones(len(nodes), dtype=vectors.dtype)
            member = sp.csr_matrix((ones, (place, np.arange(len(nodes)))))
            means = normalize(member @ vectors)
            self._means = means.T.tocsr() if sp.issparse(means) else np.asarray(means).T

    def similarities(self, vectors: Any) -> tuple[FloatArray, FloatArray]:
        """Of rows to the nearest vector of every node, and to the mean of its vectors."""
        if not len(self.nodes):
            empty = np.zeros((vectors.shape[0], 0), dtype=vectors.dtype)
            return empty, empty
        each = as_array(vectors @ self._vectors)
        if self._means is None:
            return each, each
        return np.maximum.reduceat(each, self._starts, axis=1), as_array(vectors @ self._means)

    def columns(self, nodes: IntArray) -> IntArray | None:
        """The column of every node, -1 where it has no vectors; None if these are all columns."""
        place = np.searchsorted(self.nodes, nodes)
        known = np.isin(nodes, self.nodes)
        if known.all() and len(nodes) == len(self.nodes):
            return None
        return np.where(known, place, -1)


def _take(values: FloatArray, columns: IntArray | None) -> Any:
    """Some columns, zeros for the column -1; None if there is no other one."""
    if columns is None:
        return values
    if not values.shape[1]:
        return None
    found = values[:, columns]
    found[:, columns < 0] = 0
    return found


def as_array(product: Any) -> FloatArray:
    """A matrix, sparse or not, as an array."""
    return np.asarray(product.toarray() if sp.issparse(product) else product)


def _means_above(hierarchy: Any, nodes: IntArray, ends: IntArray) -> Any:
    """The mean over the nodes above every final class, of those that have texts, as a matrix."""
    above = hierarchy._closure[ends].tocsc()[:, nodes].tocoo()
    strict = nodes[above.col] != ends[above.row]
    rows, columns = above.row[strict], above.col[strict]
    counts = np.bincount(rows, minlength=len(ends))
    data = (1 / counts[rows]).astype(np.float32)
    return sp.csr_matrix((data, (columns, rows)), shape=(len(nodes), len(ends)))


@direct_final_proba.register
def _of_texts(models: TextModels, X: Any) -> FloatArray:
    vectors = as_vectors(models, X)
    profiles = profiles_of(models)
    proba = np.empty((vectors.shape[0], profiles.n_final))
    for part in profiles.chunks(vectors):
        proba[part] = softmax(profiles.scores(vectors[part], models), axis=1)
    return proba
