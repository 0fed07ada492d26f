"""Random data with a random hierarchy, for tests and experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.utils import check_random_state

from hiclass.datasets._bunch import check_flags, is_integer, is_number, make_bunch, paths_to_array
from hiclass.hierarchy import Hierarchy

DESCRIPTION = """\
Random points around the centres of random classes. The centre of a class is that of its parents
plus a random step, which gets shorter from level to level: what is near in the hierarchy is near in
space.
"""
# The shares of features that differ between a class and its parent, and that have noise, in sparse
# data.
SPARSE_STEP, SPARSE_NOISE = 0.1, 0.05

Parents = list[list[int]]

#: Larger noise exceeds the range of numbers.
_MAX_NOISE = 1e100


def make_hierarchical_classification(
    n_samples: int = 300,
    n_features: int = 20,
    *,
    branching: int | Sequence[int] = 3,
    depth: int = 3,
    ragged: float = 0.0,
    homonyms: bool = False,
    dag: float = 0.0,
    multi_label: bool = False,
    max_labels: int = 3,
    noise: float = 1.0,
    sparse: bool = False,
    random_state: Any = None,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Any:
    """Generate random data with a hierarchy of classes.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    n_features : int, default=20
        Number of features.
    branching : int or sequence of int, default=3
        Number of children of every inner node. A sequence holds one number per level.
    depth : int, default=3
        Number of levels.
    ragged : float, default=0.0
        Share of the rows that end at an inner node.
    homonyms : bool, default=False
        Whether children of different parents have the same labels.
    dag : float, default=0.0
        Share of the classes below level 1 that get a second parent. If positive, the target is a
        list of labels per row, as with ``multi_label=True``.
    multi_label : bool, default=False
        Whether a row may have several labels.
    max_labels : int, default=3
        The maximum number of labels of a row, with ``multi_label=True``. The minimum is one.
    noise : float, default=1.0
        Standard deviation of the rows around the centre of their class, at most 1e100. The distance
        between a class and its children is about one unit per feature at level 1 and halves with
        every further level.
    sparse : bool, default=False
        Whether ``data`` is a sparse matrix. Most entries are then zero.
    random_state : int, RandomState instance or None, default=None
        Controls the random numbers. An integer gives the same data in every call.
    as_frame : bool, default=False
        Whether to return pandas objects.
    return_X_y : bool, default=False
        Whether to return only ``data`` and ``target``.

    Returns
    -------
    Bunch
        ``data``, ``target`` (an array of paths, filled with ``""``; with ``dag`` or
        ``multi_label``, a list of lists of labels, or of path tuples with ``homonyms``),
        ``hierarchy``, ``feature_names``, ``target_names``, ``frame`` (all columns, with
        ``as_frame=True``) and ``DESCR``. With ``return_X_y=True``, the tuple ``(data, target)``.

    Raises
    ------
    ValueError
        If a parameter is invalid, or two parameters exclude each other.

    Examples
    --------
    >>> from hiclass.datasets import make_hierarchical_classification
    >>> data = make_hierarchical_classification(branching=[2, 3], depth=2, random_state=0)
    >>> data.hierarchy
    Hierarchy(tree, 8 classes, 2 levels, 6 leaves)
    >>> data.data.shape, data.target.shape
    ((300, 20), (300, 2))
    """
    check_flags(homonyms=homonyms, multi_label=multi_label, sparse=sparse)
    widths = _check(n_samples, n_features, branching, depth, ragged, dag, max_labels, noise)
    if dag and homonyms:
        raise ValueError(
            "dag and homonyms cannot be combined, because a class with two parents is identified "
            "by its label. Leave one of them out."
        )
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    parents, labels, paths = _grow(widths, homonyms)
    levels = [len(path) for path in paths]
    if dag:
        _add_parents(parents, levels, dag, rng)
    rows = _draw_rows(n_samples, parents, levels, ragged, max_labels if multi_label else 1, rng)
    centres = _draw_centres(parents, levels, n_features, sparse, rng)
    X = _mean(rows, len(parents)) @ centres
    X = X + float(noise) * _draw_noise(X.shape, sparse, rng)

    several = bool(dag) or multi_label
    if several:
        names: list[Any] = paths if homonyms else labels
        y: Any = [[names[v] for v in nodes] for nodes in rows]
    else:
        y = paths_to_array([paths[v] for [v] in rows], depth)
    return make_bunch(
        X,
        y,
        feature_names=[f"feature_{i}" for i in range(n_features)],
        target_names=["labels"] if several else [f"level_{i}" for i in range(1, depth + 1)],
        description=DESCRIPTION,
        as_frame=as_frame,
        return_X_y=return_X_y,
        hierarchy=_hierarchy(parents, labels, paths, by_label=several and not homonyms),
    )


def _check(
    n_samples: Any,
    n_features: Any,
    branching: Any,
    depth: Any,
    ragged: Any,
    dag: Any,
    max_labels: Any,
    noise: Any,
) -> list[int]:
    """Check the parameters; return the number of children per level."""
    sizes = {"n_samples": n_samples, "n_features": n_features, "depth": depth}
    for name, value in {**sizes, "max_labels": max_labels}.items():
        if not is_integer(value) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")
    for name, value in {"ragged": ragged, "dag": dag}.items():
        if not is_number(value) or not 0 <= value <= 1:
            raise ValueError(f"{name} must be a share from 0 to 1; got {value!r}.")
    # As a Python number: _MAX_NOISE exceeds the range of numpy.float32.
    given = noise.item() if isinstance(noise, np.generic) else noise
    if not is_number(noise) or not 0 <= given <= _MAX_NOISE:
        raise ValueError(f"noise must be a number from 0 to {_MAX_NOISE}; got {noise!r}.")
    is_list = isinstance(branching, Sequence | np.ndarray)
    widths = list(branching) if is_list else [branching] * depth
    if len(widths) != depth or not all(is_integer(w) and w >= 1 for w in widths):
        raise ValueError(
            f"branching must be an integer of at least 1, or {depth} of them, one per level; got "
            f"{branching!r}."
        )
    if depth == 1 and (ragged or dag):
        raise ValueError("ragged and dag require inner nodes. Use a depth of at least 2.")
    return [int(w) for w in widths]


def _grow(widths: list[int], homonyms: bool) -> tuple[Parents, list[str], list[tuple[str, ...]]]:
    """Return parents, label and path of every node, level by level; 0 is the root.

    "2.1" is the first child of "2"; with homonyms, it is "1".
    """
    parents: Parents = [[]]
    labels, paths = [""], [()]  # type: list[str], list[tuple[str, ...]]
    previous = [0]
    for width in widths:
        first = len(parents)
        for parent in previous:
            for number in range(1, width + 1):
                named_alone = homonyms or not parent
                labels.append(str(number) if named_alone else f"{labels[parent]}.{number}")
                paths.append((*paths[parent], labels[-1]))
                parents.append([parent])
        previous = list(range(first, len(parents)))
    return parents, labels, paths


def _add_parents(
    parents: Parents, levels: list[int], share: float, rng: np.random.Generator
) -> None:
    """Give a share of the nodes below level 1 a second parent of the level above."""
    lower = [v for v, level in enumerate(levels) if level > 1]
    for v in rng.permutation(lower)[: round(share * len(lower))].tolist():
        others = [
            p for p, level in enumerate(levels) if level == levels[v] - 1 and p not in parents[v]
        ]
        if others:
            parents[v].append(int(rng.choice(others)))


def _draw_rows(
    n_samples: int,
    parents: Parents,
    levels: list[int],
    ragged: float,
    max_labels: int,
    rng: np.random.Generator,
) -> list[list[int]]:
    """Draw the most specific nodes of every row."""
    level = np.array(levels)
    leaves = np.flatnonzero(level == level.max())
    inner = np.flatnonzero((level > 0) & (level < level.max()))
    early = np.zeros(n_samples, dtype=bool)
    early[rng.permutation(n_samples)[: round(ragged * n_samples)]] = True
    rows = []
    for ends_early in early.tolist():
        pool = inner if ends_early else leaves
        wanted = min(int(rng.integers(1, max_labels + 1)), len(pool))
        drawn = sorted(rng.choice(pool, size=wanted, replace=False).tolist())
        above = set().union(*(_ancestors(parents, v) for v in drawn))
        rows.append([v for v in drawn if v not in above])
    return rows


def _ancestors(parents: Parents, node: int) -> set[int]:
    above: set[int] = set()
    for parent in parents[node]:
        above |= {parent} | _ancestors(parents, parent)
    return above


def _mean(rows: list[list[int]], n_nodes: int) -> Any:
    """Return the matrix that takes the mean over the nodes of every row."""
    counts = np.array([len(nodes) for nodes in rows])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    shape = (len(rows), n_nodes)
    return sp.csr_matrix((np.repeat(1 / counts, counts), np.concatenate(rows), indptr), shape=shape)


def _draw_centres(
    parents: Parents, levels: list[int], n_features: int, sparse: bool, rng: np.random.Generator
) -> Any:
    """Draw the centre of every node: the mean of those of its parents plus a random step."""
    shape = (len(parents), n_features)
    scale = 2 / 2.0 ** np.maximum(levels, 1)
    steps = rng.standard_normal(shape) * scale[:, None]
    if sparse:
        steps *= rng.random(shape) < SPARSE_STEP
    centres = np.zeros(shape)
    for v in range(1, len(parents)):
        centres[v] = centres[parents[v]].mean(axis=0) + steps[v]
    return sp.csr_matrix(centres) if sparse else centres


def _draw_noise(shape: tuple[int, int], sparse: bool, rng: np.random.Generator) -> Any:
    """Draw normal noise for all entries, or for a few of them."""
    if not sparse:
        return rng.standard_normal(shape)
    normal = rng.standard_normal
    return sp.random(*shape, density=SPARSE_NOISE, format="csr", random_state=rng, data_rvs=normal)


def _hierarchy(
    parents: Parents, labels: list[str], paths: list[tuple[str, ...]], by_label: bool
) -> Hierarchy:
    if not by_label:
        return Hierarchy.from_paths([list(path) for path in paths[1:]])
    names = [None, *labels[1:]]
    return Hierarchy.from_edges(
        (names[p], names[v]) for v in range(1, len(parents)) for p in parents[v]
    )
