"""The laws of the other estimators hold for the network."""

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from law_helpers import (
    PATHS,
    SEEDS,
    SHALLOW,
    assert_coherent,
    is_missing,
    nodes_where_rows_end,
    predicted_nodes,
    rows_for,
    typed,
)
from network_helpers import LOSSES, quick_network
from strategies import hierarchies_with_sets, pad, paths

from hiclass import Hierarchy

pytestmark = pytest.mark.heavy

EXAMPLES = settings(max_examples=12)
#: Scores are float32 before they are probabilities.
ATOL = 1e-5


# -- trees -------------------------------------------------------------------------------------


@EXAMPLES
@given(y=PATHS, seed=SEEDS, leaf_only=st.booleans(), loss=LOSSES)
def test_every_prediction_is_a_path_that_ends_at_an_allowed_end_with_its_types(
    y, seed, leaf_only, loss
):
    model = quick_network(leaf_only=leaf_only, loss=loss).fit(rows_for(y, seed), y)
    ends = nodes_where_rows_end(model, y, leaf_only)
    X = rows_for(y, seed + 1)
    for path in predicted_nodes(model, X):
        assert path[-1] in ends
        for parent, child in zip([0, *path], path, strict=False):
            assert child in model.hierarchy_.children(parent)
    predicted = model.predict(X)
    assert predicted.shape == (len(y), max(map(len, y)))
    if not leaf_only:
        assert {typed(path) for path in predicted.tolist()} <= {typed(path) for path in y}


@EXAMPLES
@given(y=PATHS, loss=LOSSES)
def test_labels_survive_a_model_that_can_tell_all_rows_apart(y, loss):
    order = {path: i for i, path in enumerate(sorted({typed(p) for p in y}, key=repr))}
    X = np.eye(len(order))[[order[typed(path)] for path in y]]
    model = quick_network(loss=loss, max_epochs=200, learning_rate=0.5, penalty=0.0, patience=200)
    predicted = model.fit(X, y).predict(X)
    assert [typed(path) for path in predicted.tolist()] == [typed(path) for path in y]


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS, leaf_only=st.booleans(), loss=LOSSES, sparse=st.booleans())
def test_probabilities_are_coherent_and_levels_sum_to_one(y, seed, leaf_only, loss, sparse):
    X, new = rows_for(y, seed), rows_for(y, seed + 1)
    model = quick_network(leaf_only=leaf_only, loss=loss, recursive=sparse)
    model.fit(sp.csr_array(X) if sparse else X, y)
    assert_coherent(model, new, nodes_where_rows_end(model, y, leaf_only))
    proba, levels = model.predict_node_proba(new), model.predict_proba(new)
    assert len(levels) == len(model.classes_) == max(map(len, y))
    for level, (classes, here) in enumerate(zip(model.classes_, levels, strict=True), start=1):
        np.testing.assert_allclose(here.sum(axis=1), 1, atol=1e-9)
        for label, column in zip(classes.tolist(), here.T, strict=True):
            if not is_missing(label):
                nodes = np.flatnonzero(
                    (model.hierarchy_.levels == level) & (model.hierarchy_.labels == label)
                )
                np.testing.assert_allclose(column, proba[:, nodes].sum(axis=1), atol=1e-9)


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS, loss=LOSSES, min_confidence=st.floats(0, 1))
def test_the_best_path_ends_at_the_most_probable_final_class_and_is_truncated_where_unsure(
    y, seed, loss, min_confidence
):
    X = rows_for(y, seed)
    model = quick_network(loss=loss).fit(X, y)
    proba, children = model.predict_node_proba(X), model.hierarchy_.children
    stop = np.column_stack(
        [proba[:, v] - proba[:, children(v)].sum(axis=1) for v in range(model.hierarchy_.n_nodes)]
    )
    whole, confidence = predicted_nodes(model, X), model.predict_confidence(X)
    for i, path in enumerate(whole):
        assert stop[i, path[-1]] >= stop[i].max() - 1e-9
        np.testing.assert_allclose(confidence[i, : len(path)], proba[i, path], atol=1e-12)
    truncated = predicted_nodes(model.set_params(min_confidence=min_confidence), X)
    for i, path in enumerate(whole):
        assert truncated[i] == path[: int((confidence[i, : len(path)] >= min_confidence).sum())]


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS, loss=LOSSES, sparse=st.booleans())
def test_a_row_gets_the_same_scores_alone_among_others_and_in_another_order(y, seed, loss, sparse):
    X = rows_for(y, seed)
    X = sp.csr_array(X) if sparse else X
    model = quick_network(loss=loss, hidden_layers=(5,)).fit(X, y)
    whole = model.predict_node_proba(X)
    for i in range(0, len(y), 3):
        np.testing.assert_allclose(model.predict_node_proba(X[[i]]), whole[[i]], atol=ATOL)
    order = np.random.default_rng(seed).permutation(len(y))
    np.testing.assert_allclose(model.predict_node_proba(X[order]), whole[order], atol=ATOL)


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS)
def test_the_container_of_the_labels_does_not_matter(y, seed):
    X = rows_for(y, seed)
    expected = quick_network().fit(X, y).predict_node_proba(X)
    padded = np.array(pad(y, ""))
    for same in (padded, padded.astype(object), pandas.DataFrame(pad(y, None)), pad(y, None)):
        np.testing.assert_array_equal(quick_network().fit(X, same).predict_node_proba(X), expected)


@EXAMPLES
@given(
    y=paths(min_rows=2, max_rows=15, depth=(1, 4), labels=("letters", "int"), homonyms=False),
    seed=SEEDS,
)
def test_a_hierarchy_that_is_given_equals_one_that_is_read_from_paths(y, seed):
    X = rows_for(y, seed)
    edges = {pair for path in y for pair in zip([None, *path], path, strict=False)}
    tree = Hierarchy.from_edges(sorted(edges, key=repr))
    expected = quick_network().fit(X, y).predict_node_proba(X)
    for labels in (y, [path[-1] for path in y]):
        model = quick_network(hierarchy=tree).fit(X, labels)
        np.testing.assert_array_equal(model.predict_node_proba(X), expected)


@EXAMPLES
@given(y=SHALLOW, seed=SEEDS, loss=LOSSES)
def test_one_epoch_of_a_stream_of_all_classes_is_one_call_of_partial_fit(y, seed, loss):
    X = rows_for(y, seed)
    params = {"loss": loss, "max_epochs": 1, "batch_size": len(y)}
    stream = quick_network(**params).fit_batches([(X, y)], classes=y)
    called = quick_network(**params).partial_fit(X, y, classes=y)
    np.testing.assert_allclose(
        stream.predict_node_proba(X), called.predict_node_proba(X), atol=1e-4
    )


# -- sets --------------------------------------------------------------------------------------


@EXAMPLES
@given(drawn=hierarchies_with_sets(), loss=LOSSES, threshold=st.sampled_from([0.3, 0.5]))
def test_sets_are_closed_and_probabilities_never_rise(drawn, loss, threshold):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    assume(any(y))
    X = np.random.default_rng(len(y)).normal(size=(len(y), 2))
    model = quick_network(hierarchy=hierarchy, multi_label=True, loss=loss, threshold=threshold)
    proba = model.fit(X, y).predict_node_proba(X)
    for node in range(1, hierarchy.n_nodes):
        assert (proba[:, node] <= proba[:, hierarchy.parents(node)].min(axis=1) + 1e-9).all()
    chosen = np.asarray(hierarchy.indicator(model.predict(X).tolist()).todense())
    expected = (proba >= threshold) & model._models.populated
    expected[:, 0] = chosen[:, 0]
    np.testing.assert_array_equal(chosen.astype(bool), expected)
