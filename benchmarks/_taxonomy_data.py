"""Generated text in a large taxonomy: TF-IDF rows whose words tell leaf, middle and top nodes.

Every node of a regular tree has a small vocabulary of its own, drawn from all words, so that nodes
share words by chance. A document of a leaf draws some words from the vocabulary of each node on its
path and the rest from a background whose frequencies have a heavy tail (Zipf). Counts become
TF-IDF and rows have length one. The same seed gives the same rows.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROWS_AT_ONCE = 50_000


@dataclass(frozen=True)
class Size:
    """How large a generated set is.

    ``branching`` has the number of children of every node, per level; ``own`` the words that a
    document draws from each node on its path, from the top to the leaf, and ``background`` those
    that it draws from all words. With the defaults rows have about 37 different words.
    """

    rows: int
    features: int
    branching: tuple[int, ...]
    test_rows: int = 10_000
    vocabulary: int = 36
    own: int = 4
    background: int = 27

    @property
    def n_leaves(self) -> int:
        """How many leaves the tree has."""
        return int(np.prod(self.branching))


#: By name; the first is that of the table in docs/developer, the last the largest that is run.
SIZES = {
    "5k": Size(90_000, 200_000, (17, 17, 17)),
    "20k": Size(200_000, 300_000, (27, 27, 27)),
    "50k": Size(500_000, 400_000, (15, 15, 15, 15)),
    "100k": Size(1_000_000, 500_000, (20, 20, 25, 10)),
}


def tree_of(branching: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The parent of every node, level by level from the root on, and the nodes of each leaf.

    The second array has a row per leaf: the node on each level of its path.
    """
    widths = np.cumprod(branching)
    first = np.concatenate([[1], 1 + np.cumsum(widths)])
    parent = [np.array([-1])]
    above = np.array([0])
    for level, width in enumerate(widths):
        parent.append(np.repeat(above, branching[level]))
        above = first[level] + np.arange(width)
    leaf = np.arange(widths[-1])
    path = np.column_stack(
        [first[level] + leaf // (widths[-1] // width) for level, width in enumerate(widths)]
    )
    return np.concatenate(parent), path


def labels_of(branching: tuple[int, ...]) -> np.ndarray:
    """The path of every leaf as labels: '03', '03.14', '03.14.01'."""
    leaf = np.arange(int(np.prod(branching)))
    columns, below = [], len(leaf)
    for width in branching:
        below //= width
        number = np.char.zfill((leaf // below % width).astype(str), len(str(width - 1)))
        above = np.char.add(columns[-1], ".") if columns else ""
        columns.append(np.char.add(above, number))
    longest = columns[-1].dtype
    return np.column_stack([column.astype(longest) for column in columns])


def make_rows(size: Size, seed: int = 0) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """Draw documents.

    Returns
    -------
    X, X_test : CSR matrices of float64, rows of length one
    leaf, leaf_test : the leaf of every row; every leaf has a training row
    """
    rng = np.random.default_rng(seed)
    parent, path = tree_of(size.branching)
    words = rng.integers(size.features, size=(len(parent), size.vocabulary), dtype=np.int32)
    # Frequencies of words fall with their rank; ranks are spread over the columns.
    rank = np.cumsum(1 / (2.7 + np.arange(size.features)) ** 1.05)
    column_of_rank = rng.permutation(size.features).astype(np.int32)
    n = size.rows + size.test_rows
    leaf = rng.integers(size.n_leaves, size=n)
    leaf[: size.n_leaves] = np.arange(size.n_leaves)
    leaf[: size.rows] = rng.permutation(leaf[: size.rows])
    parts = []
    for start in range(0, n, ROWS_AT_ONCE):
        some = path[leaf[start : start + ROWS_AT_ONCE]]
        drawn = rng.integers(size.vocabulary, size=(*some.shape, size.own))
        own = words[some[:, :, None], drawn].reshape(len(some), -1)
        noise = rng.random((len(some), size.background)) * rank[-1]
        tokens = np.hstack([own, column_of_rank[np.searchsorted(rank, noise)]])
        parts.append(_counts(tokens, size.features))
    counts = sp.vstack(parts, format="csr")
    X = _tf_idf(counts, size.rows)
    return X[: size.rows], X[size.rows :], leaf[: size.rows], leaf[size.rows :]


def _counts(tokens: np.ndarray, n_features: int) -> Any:
    """How often each word occurs in each row, columns sorted."""
    n, length = tokens.shape
    counts = sp.csr_matrix(
        (
            np.ones(tokens.size),
            tokens.ravel().astype(np.int32),
            np.arange(0, tokens.size + 1, length, dtype=np.int32),
        ),
        shape=(n, n_features),
    )
    counts.sum_duplicates()
    return counts


def _tf_idf(counts: Any, n_train: int) -> Any:
    """Counts weighted as by scikit-learn's ``TfidfTransformer``, fitted to the training rows."""
    seen = np.bincount(counts.indices[: counts.indptr[n_train]], minlength=counts.shape[1])
    idf = np.log((1 + n_train) / (1 + seen)) + 1
    data = counts.data * idf[counts.indices]
    length = np.sqrt(np.add.reduceat(data**2, counts.indptr[:-1]))
    data /= np.repeat(length, np.diff(counts.indptr))
    return sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


def store(size: Size, to: Path, seed: int = 0) -> None:
    """Write a set in the form that race/sets.py reads."""
    X, X_test, leaf, leaf_test = make_rows(size, seed)
    parent, path = tree_of(size.branching)
    labels = labels_of(size.branching)
    arrays: dict[str, Any] = {
        "paths": labels[leaf],
        "paths_test": labels[leaf_test],
        "leaf": leaf,
        "endings": labels,
        "parent": parent,
        "leaf_node": path[:, -1],
    }
    for key, rows in (("X", X), ("X_test", X_test)):
        arrays |= {f"{key}_data": rows.data, f"{key}_shape": np.array(rows.shape)}
        arrays |= {f"{key}_indices": rows.indices.astype(np.int32)}
        arrays |= {f"{key}_indptr": rows.indptr.astype(np.int32)}
    to.parent.mkdir(parents=True, exist_ok=True)
    np.savez(to, **arrays)
