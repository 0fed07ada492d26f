"""Models of every kind, small trees and rows for the tests of probabilities and decisions."""

import tracemalloc

import numpy as np
from fakes import Proba, Soft
from hypothesis import settings
from hypothesis import strategies as st
from strategies import paths

from hiclass import (
    EnsembleClassifier,
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._inference.paths import final_proba, node_proba
from hiclass._problems.index import TreeIndex, find_options
from hiclass._state import EnsembleModels, LocalModels

LOCAL = {
    "node": LocalClassifierPerNode,
    "parent": LocalClassifierPerParentNode,
    "level": LocalClassifierPerLevel,
    "flat": FlatClassifier,
}
KINDS = [*LOCAL, "ensemble", "learned"]
CALIBRATIONS = [None, "temperature", "joint"]
EXAMPLES = settings(max_examples=10)
SEEDS = st.integers(0, 2**32 - 1)
PATHS = paths(min_rows=2, max_rows=12, depth=(1, 3))


def make(kind, calibration=None, *, estimator=None, leaf_only=False, **params):
    """An unfitted model of any kind."""
    estimator = Soft() if estimator is None else estimator
    if kind in LOCAL:
        return LOCAL[kind](estimator, calibration=calibration, leaf_only=leaf_only, **params)
    members = [
        (name, LOCAL[name](estimator, calibration=calibration, leaf_only=leaf_only))
        for name in ("flat", "parent")
    ]
    weights = "learned" if kind == "learned" else None
    return EnsembleClassifier(members, **{"weights": weights, **params})


def rows_for(y, seed):
    return np.random.default_rng(seed).normal(size=(len(y), 2))


def nodes_where_rows_end(model, y, leaf_only=False):
    """Where a path may end, from the labels alone; ascending."""
    ends = {model.hierarchy_.find(tuple(path)) for path in y}
    return sorted(v for v in ends if not leaf_only or not len(model.hierarchy_.children(v)))


def below(hierarchy, node):
    """A node and all below it."""
    return {node, *hierarchy.descendants(node).tolist()}


def probability_of_final(model, X, ends):
    """By the law: a node less its children."""
    proba = model.predict_node_proba(X)
    below = [proba[:, model.hierarchy_.children(v)].sum(axis=1) for v in ends]
    return proba[:, ends] - np.column_stack(below)


def models_of(strategy, y, classifiers, gates=None, *, leaf_only=False, **fields):
    """Fitted models with tables in the place of classifiers."""
    hierarchy = Hierarchy.from_paths(y)
    nodes = np.array([hierarchy.find(tuple(path)) for path in y])
    options = find_options(TreeIndex(hierarchy, nodes), leaf_only=leaf_only)
    fields = {"soft": True, **fields}
    fields["is_direct"] = strategy == "flat" or fields.get("joint", False)
    return LocalModels(strategy, hierarchy, options, classifiers, gates or {}, **fields)


# Nodes: 1 A, 2 A/x, 3 A/y, 4 B, 5 B/z, 6 C. Rows may stop at A and at B.
TREE = [["A"], ["A", "x"], ["A", "y"], ["B"], ["B", "z"], ["C"]]
X2 = np.zeros((2, 1))


def assert_nodes(models, expected):
    """All rows have these node probabilities; those of final classes follow."""
    proba = node_proba(models, X2)
    np.testing.assert_allclose(proba, [expected, expected], rtol=1e-13)
    root, a, x, y, b, z, c = expected
    assert root == 1
    final = [a - x - y, x, y, b - z, z, c]
    np.testing.assert_allclose(final_proba(models, X2), [final, final], atol=1e-15)


def mix(*proba):
    """One in a hundred is shared out evenly before the logarithm."""
    return (np.array(proba) + 0.01 / len(proba)) / 1.01


FOREST = [["a", "x"], ["a", "y", "u"], ["a", "y", "v"], ["a"], ["b", "x"], ["b"], ["c"]] * 4


def blobs(seed, y, spread=1.0):
    """Rows around a place for every distinct path."""
    names = sorted(set(map(tuple, y)))
    places = np.random.default_rng(7).normal(size=(len(names), 2)) * 2
    noise = np.random.default_rng(seed).normal(scale=spread, size=(len(y), 2))
    return places[[names.index(tuple(path)) for path in y]] + noise


def pair(**params):
    """Flat and local, the combination to try first."""
    members = [("flat", FlatClassifier(Soft())), ("local", LocalClassifierPerParentNode(Soft()))]
    return EnsembleClassifier(members, **params)


def joined(*predictions, voting="product", weights=None):
    """Flat members with fixed probabilities, put together."""
    members = tuple(models_of("flat", TREE, {0: Proba(prediction)}) for prediction in predictions)
    return EnsembleModels(
        members[0].hierarchy,
        members[0].options,
        members=members,
        weights=weights or (1.0,) * len(members),
        voting=voting,
    )


def peak_of(function, *args):
    """The largest number of bytes held while a function runs, above its result, and the result."""
    tracemalloc.start()
    try:
        result = function(*args)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - held, result
