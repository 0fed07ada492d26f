"""What the laws of all estimators share: hierarchies, rows, and what coherent means."""

import numpy as np
from hypothesis import strategies as st
from strategies import paths

SEEDS = st.integers(0, 2**32 - 1)
PATHS = paths(min_rows=1, max_rows=20, depth=(1, 6), labels="any", ragged=True)
SHALLOW = paths(min_rows=2, max_rows=20, depth=(1, 4), labels="letters", ragged=True)


def rows_for(y, seed):
    """Random rows, one per path."""
    return np.random.default_rng(seed).normal(size=(len(y), 2))


def is_missing(label):
    return label is None or label == "" or label != label


def typed(path):
    """A path in which 1, True and 1.0 differ, without the missing labels at its end."""
    return tuple((type(label), label) for label in path if not is_missing(label))


def predicted_nodes(model, X):
    """Predictions as lists of nodes, one per level."""
    found = []
    for path in model.predict(X).tolist():
        path = [label for label in path if not is_missing(label)]
        found.append([model.hierarchy_.find(tuple(path[: j + 1])) for j in range(len(path))])
    return found


def nodes_where_rows_end(model, y, leaf_only=False):
    ends = {model.hierarchy_.find(tuple(path)) for path in y}
    return {v for v in ends if not leaf_only or not len(model.hierarchy_.children(v))}


def assert_coherent(model, X, ends):
    proba = model.predict_node_proba(X)
    assert proba.shape == (len(X), model.hierarchy_.n_nodes)
    assert_coherent_proba(model.hierarchy_, proba, ends)


def assert_coherent_proba(hierarchy, proba, ends):
    """Children and stopping sum to their parent, and all final classes to one."""
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba[:, 0], 1, atol=1e-9)
    total = np.zeros(len(proba))
    for node in range(hierarchy.n_nodes):
        stop = proba[:, node] - proba[:, hierarchy.children(node)].sum(axis=1)
        if node in ends:
            assert (stop >= -1e-9).all()
            total += stop
        else:  # children alone sum to their parent
            np.testing.assert_allclose(stop, 0, atol=1e-9)
    np.testing.assert_allclose(total, 1, atol=1e-9)
