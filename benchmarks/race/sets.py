"""The sets of the race: features and labels, made once and stored as plain arrays.

A stored set is one .npz file without pickles, which every environment can read: the rows (CSR, or
dense), the label paths as strings with "" where they end, the ending of every training row as an
integer, and the tree. Its leaves are the endings that occur in training. An inner node at which
training rows end has a leaf of its own below it ("stop here"), so that all peers, who know leaves
only, can give every answer.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

BENCHMARKS = Path(__file__).parents[1]
SETS = ("synthetic", "cfpb", "naics", "clinc150", "greengenes")
MORE_SETS = ("anuran", "ImCLEF07A")  # dense: for ../start.py
MORE_TEXT = ("esco",)  # for ../taxonomy.py


@dataclass
class Race:
    """One set, as the contestants see it."""

    X: Any
    X_test: Any
    paths: np.ndarray  # (rows, levels): the labels of the training rows
    leaf: np.ndarray  # (rows,): the ending of each training row, a number in 0..n_leaves-1
    endings: np.ndarray  # (n_leaves, levels): the path of each ending
    parent: np.ndarray  # (n_nodes,): the tree; the root is 0, parents come before their children
    leaf_node: np.ndarray  # (n_leaves,): the node of each ending
    groups: np.ndarray | None = None  # (rows,): training rows that belong together


def build_tree(endings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parent of every node, and the node of every ending."""
    node_of: dict[tuple[str, ...], int] = {(): 0}
    parent = [-1]
    for ending in endings:
        path = tuple(label for label in ending if label)
        for depth in range(1, len(path) + 1):
            if path[:depth] not in node_of:
                node_of[path[:depth]] = len(parent)
                parent.append(node_of[path[: depth - 1]])
    inner = set(parent)
    leaf_node = []
    for ending in endings:
        node = node_of[tuple(label for label in ending if label)]
        if node in inner:
            parent.append(node)
            node = len(parent) - 1
        leaf_node.append(node)
    return np.array(parent), np.array(leaf_node)


def store(
    name: str,
    X: Any,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    to: Path,
    groups: np.ndarray | None = None,
) -> None:
    """Write a set: rows as float64, which is what liblinear computes with."""
    y = y.astype(str)
    endings, leaf = np.unique(y[train], axis=0, return_inverse=True)
    parent, leaf_node = build_tree(endings)
    arrays = {
        "paths": y[train],
        "paths_test": y[test],
        "leaf": leaf.ravel(),
        "endings": endings,
        "parent": parent,
        "leaf_node": leaf_node,
    }
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1]
        arrays |= {"groups": codes[train], "groups_test": codes[test]}
    for key, rows in (("X", train), ("X_test", test)):
        part = X[rows].astype(np.float64)
        if sp.issparse(part):
            part = part.tocsr()
            part.sort_indices()
            arrays |= {f"{key}_data": part.data, f"{key}_shape": np.array(part.shape)}
            arrays |= {f"{key}_indices": part.indices.astype(np.int32)}
            arrays |= {f"{key}_indptr": part.indptr.astype(np.int32)}
        else:
            arrays[key] = part
    to.mkdir(parents=True, exist_ok=True)
    np.savez(to / f"{name}.npz", **arrays)


def load(file: Path) -> Race:
    """Read a stored set, without the answers for the test rows."""
    stored = np.load(file)

    def rows(key: str) -> Any:
        if key in stored:
            return stored[key]
        parts = tuple(stored[f"{key}_{part}"] for part in ("data", "indices", "indptr"))
        return sp.csr_matrix(parts, shape=tuple(stored[f"{key}_shape"]))

    keys = ("paths", "leaf", "endings", "parent", "leaf_node")
    groups = stored.get("groups")
    return Race(rows("X"), rows("X_test"), *(stored[key] for key in keys), groups)


def prepare(name: str, data: Path | None, to: Path, quick: bool) -> Path | None:
    """Make the stored file of a set where it is not there; None without its data."""
    to = to / "quick" if quick else to
    file = to / f"{name}.npz"
    if file.exists():
        return file
    sys.path.insert(0, str(BENCHMARKS))
    if name == "synthetic":
        from engine import sparse_text

        n_train = 2_000 if quick else 20_000
        X, y = sparse_text(n_train + n_train // 2)
        store(name, X, y, np.arange(n_train), np.arange(n_train, len(y)), to)
        return file
    if name == "esco":
        return store_esco(data, to)
    from _decisions_data import load as load_task

    task = None if data is None else load_task(name, data)
    if task is None:
        return None
    train, test = task.train, task.test
    if quick:
        draw = np.random.default_rng(0).permutation
        train, test = draw(train)[:2_000], draw(test)[:2_000]
    store(name, task.X, task.y, train, test, to, task.groups)
    return file


def store_esco(data: Path | None, to: Path) -> Path | None:
    """Names of occupations on four levels of ISCO; seven of ten are for training."""
    source = None if data is None else data / "esco_occupations.parquet"
    if source is None or not source.exists():
        return None
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

    frame = pd.read_parquet(source)
    columns = zip(frame.preferred_label, frame.alt_labels, strict=True)
    names = [[first, *rest] for first, rest in columns]
    levels = [f"isco_level_{level}" for level in range(1, 5)]
    y = np.repeat(frame[levels].to_numpy(dtype=object), [len(some) for some in names], axis=0)
    texts = np.array([name for some in names for name in some], dtype=object)
    rows = np.random.default_rng(0).permutation(len(texts))
    train, test = np.split(rows, [int(0.7 * len(rows))])
    X = TfidfVectorizer(sublinear_tf=True).fit(texts[train]).transform(texts)
    store("esco", X, y, train, test, to)
    return to / "esco.npz"


def describe(file: Path) -> dict[str, int]:
    """The size of a stored set."""
    race, y = load(file), np.load(file)["paths_test"]
    seen = {tuple(path) for path in race.endings}
    return {
        "rows": race.X.shape[0],
        "test_rows": race.X_test.shape[0],
        "features": race.X.shape[1],
        "sparse": bool(sp.issparse(race.X)),
        "leaves": len(race.endings),
        "nodes": len(race.parent) - 1,
        "depth": race.endings.shape[1],
        "unseen_test_rows": sum(tuple(path) not in seen for path in y),
    }
