"""Sparse rows whose local classifiers are packed, in all forms that sparse rows come in."""

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from hiclass._inference.paths import unrestricted
from hiclass._state import Packed

N_FEATURES = 600
SVC = LinearSVC(dual=True, tol=0.1, random_state=0)
SGD = SGDClassifier(loss="log_loss", max_iter=20, tol=None, random_state=0)


def make_rows(n_rows=120, seed=0, dtype=np.float64):
    """Rows of 3 x 2 x 2 classes, each with words of its own, and many columns that none has."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack(
        [np.arange(n_rows) // 4 % 3, np.arange(n_rows) // 2 % 2, np.arange(n_rows) % 2]
    )
    X = sp.lil_matrix((n_rows, N_FEATURES), dtype=dtype)
    for row, (a, b, c) in enumerate(codes):
        leaf = 4 * a + 2 * b + c
        for start, size, words in ((5, 20, 3), (30 + 8 * a, 8, 2), (60 + 12 * leaf, 12, 4)):
            columns = start + rng.choice(size, words, replace=False)
            X[row, columns] = 0.1 + rng.random(words)
    y = [[f"a{a}", f"b{b}", f"c{c}"] for a, b, c in codes]
    return X.tocsr(), y


X, Y = make_rows()
NEW, _ = make_rows(40, seed=1)


def end_early(y):
    """Some paths end at an inner node, so that there are gates."""
    return [path[:2] if i % 7 == 0 else path for i, path in enumerate(y)]


def packed_in(model):
    """The packed classifiers of a fitted model."""
    models = unrestricted(model._models)
    members = getattr(models, "members", (models,))
    return [
        fitted
        for member in members
        for fitted in (*member.classifiers.values(), *member.gates.values())
        if isinstance(fitted, Packed)
    ]


def assert_same(model, other, rows=NEW, rtol=0.0, atol=0.0):
    """The same predictions, and probabilities where there are any."""
    np.testing.assert_array_equal(model.predict(rows), other.predict(rows))
    if hasattr(other, "predict_proba"):
        proba, expected = model.predict_node_proba(rows), other.predict_node_proba(rows)
        np.testing.assert_allclose(proba, expected, rtol=rtol, atol=atol)


# -- forms of rows ---------------------------------------------------------------------------------


def with_int64(rows):
    rows = rows.copy()
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def unsorted(rows):
    rows = rows.copy()
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        rows.indices[start:stop] = rows.indices[start:stop][::-1].copy()
        rows.data[start:stop] = rows.data[start:stop][::-1].copy()
    rows.has_sorted_indices = False
    return rows


def with_duplicates(rows):
    indices, data = np.repeat(rows.indices, 2), np.repeat(rows.data / 2, 2)
    return sp.csr_matrix((data, indices, 2 * rows.indptr), shape=rows.shape)


def with_zeros(rows):
    rows = rows.copy()
    rows.data[::5] = 0
    return rows


ROWS = {
    "float32": lambda rows: rows.astype(np.float32),
    "counts": lambda rows: (10 * rows).astype(np.int64),
    "64-bit indices": with_int64,
    "unsorted": unsorted,
    "duplicates": with_duplicates,
    "explicit zeros": with_zeros,
    "array": sp.csr_array,
    "csc": sp.csc_matrix,
    "csc array": sp.csc_array,
    "coo": sp.coo_matrix,
    "coo array": sp.coo_array,
    "bsr": sp.bsr_matrix,
    "lil": sp.lil_matrix,
}
