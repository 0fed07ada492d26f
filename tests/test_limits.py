"""Very deep, wide, many and long: it works, or it is refused at once with the limit.

``benchmarks/limits.py`` runs the full sizes; ``docs/appendix/limits.md`` has what they take.
"""

import pickle
import sys
import tracemalloc

import numpy as np
import pytest
from limits import Ruler, chain, deep, long, many, wide

from hiclass import (
    FlatClassifier,
    HierarchicalKFold,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    make_report,
    metrics,
)
from hiclass._rows import chunks_of_rows

N_LEVELS = 1100  # more than Python's limit on recursion


def rows_as_paths(y):
    return [[label for label in path if label] for path in y.tolist()]


def test_recursion_would_be_noticed():
    assert sys.getrecursionlimit() < N_LEVELS


@pytest.mark.parametrize(
    "model_class",
    [pytest.param(LocalClassifierPerParentNode, marks=pytest.mark.heavy), FlatClassifier],
)
def test_a_thousand_levels(model_class):
    X, y = deep(N_LEVELS)
    model = model_class(Ruler()).fit(X, y)
    assert model.hierarchy_.depth == N_LEVELS
    ends = X[::300], y[::300]
    predicted = model.predict(ends[0])
    assert predicted.shape == (len(ends[0]), N_LEVELS)
    if model_class is FlatClassifier:  # it sees all final classes at once
        assert rows_as_paths(predicted) == ends[1]
    proba = model.predict_proba(ends[0])
    assert len(proba) == N_LEVELS
    np.testing.assert_allclose([level.sum(axis=1) for level in proba], 1, atol=1e-9)
    paths, best = model.predict_paths(ends[0][:2], 3)
    assert paths.shape == (2, 3, N_LEVELS)
    assert (best > 0).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(ends[0]), predicted)
    assert 0 < model.score(*ends) <= 1


@pytest.mark.heavy
@pytest.mark.parametrize("model_class", [LocalClassifierPerNode, LocalClassifierPerLevel])
def test_a_thousand_levels_with_many_classifiers(model_class):
    X, y = deep(N_LEVELS)
    model = model_class(Ruler()).fit(X, y)
    assert model.predict(X[:4]).shape == (4, N_LEVELS)
    np.testing.assert_allclose(model.predict_node_proba(X[:4])[:, 0], 1)
    for decoding in ("best_path", "top_down"):
        assert len(model.set_params(decoding=decoding).predict(X[:4])) == 4


def test_paths_are_walked_where_a_table_of_all_of_them_would_be_large(monkeypatch):
    tree = Hierarchy.from_edges(chain(40))
    nodes = np.random.default_rng(0).integers(0, tree.n_nodes, size=(5, 4))
    expected = tree.ancestor_table[nodes]
    monkeypatch.setattr("hiclass.hierarchy._nodes._MOST_TABLE", 0)
    walked = Hierarchy.from_edges(chain(40))._paths[nodes]
    np.testing.assert_array_equal(walked, expected)
    for level in (1, 7, 40):
        np.testing.assert_array_equal(tree._at_level(nodes, level), expected[..., level - 1])
    assert tree._paths[nodes[0, :0]].shape == (0, 40)
    assert tree._at_level(nodes[0], 41).tolist() == [-1] * 4


def test_final_classes_are_summed_level_by_level_where_a_matrix_would_be_large(monkeypatch):
    tree = Hierarchy.from_edges(chain(40))
    y = tree.labels[tree.leaves()]
    X = np.arange(len(y), dtype=float)[:, None]
    model = FlatClassifier(Ruler(), hierarchy=tree).fit(X, y)
    expected = model.predict_node_proba(X)
    monkeypatch.setattr("hiclass._inference.paths._MOST_PLACES", 0)
    np.testing.assert_allclose(model.predict_node_proba(X), expected, rtol=1e-12)


def test_very_many_levels_take_no_table_of_nodes_times_levels():
    """3,000 levels with 8,998 nodes: such a table would have 216 MB."""
    tree = Hierarchy.from_edges(chain(3000))
    leaves = tree.leaves()[::100]
    y = sorted((tree.path(v) for v in leaves.tolist()), key=len)
    X = np.arange(len(y), dtype=float)[:, None]
    tracemalloc.start()
    for model_class in (LocalClassifierPerParentNode, FlatClassifier):
        model = model_class(Ruler(), hierarchy=tree).fit(X, y)
        assert model.predict(X[:3]).shape == (3, len(y[-1]))
        for decoding in ("best_path", "expected_f1"):
            model.set_params(decoding=decoding, expected_f1=0.5)
            assert model.predict_confidence(X[:3]).shape == (3, len(y[-1]))
        model.predict_paths(X[:3], 2)
        model.restricted_to([tuple(y[0][:2])]).predict(X[:3])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_a_hierarchy_of_a_thousand_levels_can_be_shown_written_and_read():
    _, y = deep(N_LEVELS)
    tree = Hierarchy.from_paths(y)
    assert str(tree).count("\n") == 200  # truncated
    assert "step 0" in tree._repr_html_()
    assert Hierarchy.from_json(tree.to_json()) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert len(tree.to_edges()) == tree.n_nodes - 1
    deepest = int(tree.levels.argmax())
    assert len(tree.path(deepest)) == len(tree.ancestors(deepest)) == N_LEVELS
    chain = Hierarchy.from_edges([(i, i + 1) for i in range(N_LEVELS)])
    assert chain.depth == N_LEVELS + 1
    with pytest.raises(ValueError, match="has a cycle: 0 -> 1"):
        Hierarchy.from_edges([*((i, i + 1) for i in range(N_LEVELS)), (N_LEVELS, 0)])


def test_metrics_and_folds_of_a_thousand_levels():
    _, y = deep(N_LEVELS)
    y = y[::200]
    assert metrics.f1(y, y) == 1
    assert 0 < metrics.lca_f1(y, y[::-1]) < 1
    assert len(metrics.level_scores(y, y[::-1], zero_division=0.0)["precision"]) == N_LEVELS
    assert "step 0" in str(metrics.classification_report(y, y, max_rows=5))
    assert len(list(HierarchicalKFold(2).split(y, y))) == 2


def test_a_deep_hierarchy_is_drawn_within_a_page():
    import matplotlib.pyplot as plt

    ax = Hierarchy.from_edges([(i, i + 1) for i in range(60)]).draw()
    assert max(ax.figure.get_size_inches()) <= 80
    plt.close(ax.figure)


def test_too_many_classes_for_a_picture_are_refused_with_the_limit():
    tree = Hierarchy.from_paths([f"{i:05d}" for i in range(5000)])
    with pytest.raises(ValueError, match=r"has 5000 classes, too many .* supports up to 4999"):
        tree.draw()


def test_one_class_with_very_many_children():
    X, y = wide(20_000)
    model = LocalClassifierPerParentNode(Ruler()).fit(X, y)
    some = [0, 7, 19_999, 20_000]
    np.testing.assert_array_equal(model.predict(X[some]), y[some])
    proba = model.predict_proba(X[some])
    assert [level.shape for level in proba] == [(4, 2), (4, 20_001)]
    np.testing.assert_allclose(proba[1].sum(axis=1), 1)
    paths, best = model.predict_paths(X[some], 2)
    assert paths[0, 0].tolist() == y[0].tolist()
    assert (best[:, 0] >= best[:, 1]).all()


@pytest.mark.heavy
@pytest.mark.parametrize(
    "model_class", [LocalClassifierPerParentNode, LocalClassifierPerLevel, FlatClassifier]
)
def test_one_class_with_a_million_children(model_class):
    X, y = wide(1_000_000)
    model = model_class(Ruler()).fit(X, y)
    some = [0, 777_777, 1_000_000]
    np.testing.assert_array_equal(model.predict(X[some]), y[some])
    paths, best = model.predict_paths(X[some], 3)
    np.testing.assert_array_equal(paths[:, 0], y[some])
    assert (best[:, :-1] >= best[:, 1:]).all()
    # Of its two neighbours, which are alike, the first; "none" may be between them.
    assert "child 0777776" in paths[1, 1:, 1].tolist()


@pytest.mark.heavy
def test_one_classifier_per_node_refuses_a_million_children_at_once():
    n = 1_000_000
    X = np.zeros((n, 1))
    y = np.arange(n)
    message = (
        r"need 1\.0e\+12 rows in total, which exceeds the limit of 1e\+12: the root has "
        r"1000000 children with 1000000 rows\. Use LocalClassifierPerParentNode"
    )
    with pytest.raises(ValueError, match=message):
        LocalClassifierPerNode(Ruler()).fit(X, y)


def test_one_classifier_per_node_refuses_from_the_limit_on(monkeypatch):
    monkeypatch.setattr("hiclass._problems.strategies._MOST_ROWS", 100)
    model = LocalClassifierPerNode(Ruler())
    assert len(model.fit(np.arange(9.0)[:, None], np.arange(9)).local_classifiers_) == 9
    with pytest.raises(
        ValueError, match=r"1\.0e\+02 rows in total, .* limit of 1e\+02: the root has 10"
    ):
        model.fit(np.arange(10.0)[:, None], np.arange(10))


def test_chunks_stay_small_with_very_many_classes():
    """A chunk is 256 rows or more, unless these alone are half a gigabyte."""
    X = np.zeros((1000, 2))
    for width, n_jobs, most in ((10, 1, 1000), (10_000, 1, 838), (100_000, 1, 167), (10**6, 1, 16),
                                (10**6, 4, 4), (10**9, 1, 1)):  # fmt: skip
        sizes = [part.stop - part.start for part in chunks_of_rows(X, width, n_jobs)]
        assert sum(sizes) == 1000
        assert max(sizes) == most


def test_prediction_needs_memory_for_a_chunk_and_not_for_all_rows():
    X, y = wide(100_000)
    model = LocalClassifierPerParentNode(Ruler()).fit(X, y)
    rows = X[:600]
    tracemalloc.start()
    model.predict(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * len(rows) * 100_000  # one array of all rows and classes


def test_very_many_distinct_labels():
    X, y = many(8_000)
    model = LocalClassifierPerParentNode(Ruler()).fit(X, y)
    assert model.hierarchy_.n_nodes == 1 + 20 + 400 + 8_000
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.score(X, y) == 1
    tree = model.hierarchy_
    assert tree.path(tree.find(tuple(y[-1]))) == tuple(y[-1])
    assert Hierarchy.from_json(tree.to_json()) == tree


def test_labels_of_ten_thousand_characters(estimator_class):
    X, y = long(10_000)
    model = estimator_class(Ruler()).fit(X, y)
    assert model.predict(X).tolist() == y
    assert model.hierarchy_.find(tuple(y[-1])) == model.hierarchy_.n_nodes - 1
    assert metrics.exact_match(y, model.predict(X)) == 1
    assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == y
    assert str(model.hierarchy_).count("x") == 24 * (10_000 - 4)


def test_an_unknown_label_of_ten_thousand_characters_is_named_at_once():
    """The search for the nearest names compares beginnings only."""
    tree = Hierarchy.from_paths([f"{'x' * 9_996}{i:04d}" for i in range(500)])
    with pytest.raises(ValueError, match=r"The hierarchy has no class 'x+\.\.\. \(10003 char"):
        tree.find("x" * 10_000 + "?")


def test_long_labels_are_drawn_short():
    import matplotlib.pyplot as plt

    ax = Hierarchy.from_paths(long(10_000, 4)[1]).draw()
    ax.figure.canvas.draw()
    assert max(len(text.get_text()) for text in ax.texts) == 40
    plt.close(ax.figure)


@pytest.mark.heavy
def test_a_report_of_long_labels_and_many_levels():
    for X, y in (deep(60), long(1_000)):
        model = FlatClassifier(Ruler()).fit(X, y)
        report = make_report(model, X, y)
        assert report.data["scores"]["exact"] == 1
