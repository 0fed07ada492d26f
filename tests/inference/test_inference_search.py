"""The search for the best final classes: its memory holds whatever the classifiers say."""

import numpy as np
import pytest
from limits import Unsure, many
from model_helpers import peak_of
from sklearn.dummy import DummyClassifier

from hiclass import LocalClassifierPerLevel, LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._inference.search import search, width_of_search

MODELS = [LocalClassifierPerParentNode, LocalClassifierPerNode, LocalClassifierPerLevel]


def brute_force(model, X, k):
    """The k best leaves from the probabilities of all nodes; ties go to the lowest node."""
    leaves = model.hierarchy_.leaves()
    proba = model.predict_node_proba(X)[:, leaves]
    order = np.argsort(-proba, axis=1, kind="stable")[:, :k]
    return leaves[order], np.take_along_axis(proba, order, axis=1)


@pytest.mark.parametrize("estimator", [DummyClassifier(strategy="uniform"), Unsure()], ids=str)
@pytest.mark.parametrize("model_class", MODELS)
@pytest.mark.parametrize("k", [1, 3, 100])
def test_a_search_that_can_leave_nothing_out_stays_within_the_memory_of_a_chunk(
    model_class, estimator, k
):
    """A leaf of each row takes 8 bytes in every array; a level-wise search held more than ten."""
    X, y = many(2197)
    model = model_class(estimator).fit(X, y)
    rows = np.random.default_rng(0).uniform(0, len(X), size=(400, 1))
    peak, (nodes, proba, _) = peak_of(search, model._models, rows, k)
    if model_class is not LocalClassifierPerLevel and k < 100:
        assert peak < 8 * len(rows) * 2197 / 8  # an eighth of one array of all leaves
    assert peak < 4 * 8 * len(rows) * width_of_search(model._models, k)
    best, expected = brute_force(model, rows, k)
    np.testing.assert_array_equal(nodes, best)
    np.testing.assert_array_equal(proba, expected)


def test_the_best_paths_of_many_rows_need_the_memory_of_the_result_and_a_chunk(limit_chunks):
    limit_chunks(1 << 20, 1)
    X, y = many(1000)
    model = LocalClassifierPerParentNode(Unsure(), decoding="best_path").fit(X, y)
    rows = np.random.default_rng(0).uniform(0, len(X), size=(3000, 1))
    peak, (paths, proba) = peak_of(model.predict_paths, rows, 20)
    assert paths.shape == (3000, 20, 3)
    # Not another copy of the labels (1.4 MB as pointers) and probabilities (0.5 MB).
    assert peak < 1.5 * (1 << 20) + paths.nbytes / 4
    nodes, expected = brute_force(model, rows, 20)
    np.testing.assert_array_equal(proba, expected)
    np.testing.assert_array_equal(paths[..., -1], model.hierarchy_.labels[nodes])
    peak, labels = peak_of(model.predict, rows)
    np.testing.assert_array_equal(labels, paths[:, 0])
    assert peak < 1.5 * (1 << 20)


def test_small_numbers_of_rows_at_a_time_do_not_change_the_search(limit_chunks):
    X, y = many(1000)
    model = LocalClassifierPerParentNode(Unsure(), decoding="best_path").fit(X, y)
    rows = np.random.default_rng(0).uniform(0, len(X), size=(900, 1))
    whole = model.predict_paths(rows, 7), model.predict_confidence(rows)
    limit_chunks(1 << 16, 1)
    parts = model.predict_paths(rows, 7), model.predict_confidence(rows)
    np.testing.assert_array_equal(whole[0][0], parts[0][0])
    np.testing.assert_array_equal(whole[0][1], parts[0][1])
    np.testing.assert_array_equal(whole[1], parts[1])
