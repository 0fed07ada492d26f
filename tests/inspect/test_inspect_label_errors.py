"""Labels that are probably wrong: injected mistakes are found, at their level, with the sibling."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from hiclass import (
    EnsembleClassifier,
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    find_label_errors,
)
from hiclass._inspect.label_errors import mistakes
from hiclass.datasets import make_hierarchical_classification
from hiclass.model_selection import HierarchicalKFold

TREE = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b", "x"], ["b", "z"]])


@pytest.fixture(scope="module")
def data():
    X, y = make_hierarchical_classification(
        400, branching=[3, 3], depth=2, noise=0.6, random_state=0, return_X_y=True
    )
    return X, y


def other(y, i, level, rng):
    """Another path, wrong from a level on, counted from 0."""
    same = (y[:, :level] == y[i, :level]).all(axis=1)
    choices = [tuple(p) for p in y[same & (y[:, level] != y[i, level])]]
    return choices[rng.integers(len(choices))]


@pytest.mark.parametrize("level", [0, 1])
def test_injected_mistakes_come_first_with_their_level_and_the_true_branch(data, level):
    X, y = data
    rng = np.random.default_rng(0)
    bad = rng.permutation(len(y))[:24]
    noisy = y.copy()
    for i in bad:
        noisy[i] = other(y, i, level, rng)
    model = LocalClassifierPerParentNode(LogisticRegression(), calibration="temperature")
    found = find_label_errors(model, X, noisy, cv=3)
    assert len(found) == len(y)
    assert sorted(found.rows.tolist()) == list(range(len(y)))
    assert (np.diff(found.probability) <= 0).all()
    is_bad = np.isin(found.rows, bad)
    assert average_precision_score(is_bad, found.probability) > 0.8
    first = [k for k in range(15) if is_bad[k]]
    assert np.mean(found.level[first] == level + 1) > 0.8
    hits = [found.suggested[k] == tuple(y[found.rows[k], : level + 1]) for k in first]
    assert np.mean(hits) > 0.8
    assert found.given[0] == tuple(noisy[found.rows[0]])
    assert found.shares[level] == found.shares.max()
    assert found.shares.sum() == pytest.approx(24 / 400, abs=0.05)
    assert "of them probably wrong" in repr(found)


def judged(own, paths):
    return SimpleNamespace(hierarchy=TREE, own=np.array(own, dtype=float), paths=np.array(paths))


def test_the_probability_by_hand():
    """With one row the shares settle where they make its label most likely."""
    own = [[0.9, 0.8]] * 8 + [[0.9, 0.1]] * 2  # of the path a > x
    wrong, shares = mistakes(judged(own, [[1, 2]] * 10))
    # One of the four final classes is a sibling; two are below b.
    likely = np.array([[0.05, 0.1]] * 8 + [[0.05, 0.8]] * 2)
    right = np.array([0.8] * 8 + [0.1] * 2)
    posterior = likely * shares / ((1 - shares.sum()) * right + likely @ shares)[:, None]
    np.testing.assert_allclose(wrong, posterior, atol=2e-3)
    np.testing.assert_allclose(posterior.mean(axis=0), shares, atol=2e-3)  # a fixed point
    assert wrong[-1].sum() > 0.5 > wrong[0].sum()
    assert wrong[-1].argmax() == 1


def test_rows_of_classes_without_training_rows_are_judged_above(data):
    X, y = data
    y = y.copy()
    y[0] = [y[0, 0], "alone"]
    y[1] = ["lonely", "alone"]
    found = find_label_errors(LocalClassifierPerParentNode(), X, y, cv=KFold(4))
    place = {row: k for k, row in enumerate(found.rows.tolist())}
    assert found.probability[place[1]] < 0.5  # nothing is known about it
    assert found.level[place[0]] == 1


def with_mistakes(y, n=24):
    """Labels of which some are wrong from the first level on, and which rows these are."""
    rng = np.random.default_rng(0)
    bad, noisy = rng.permutation(len(y))[:n], y.copy()
    for i in bad:
        noisy[i] = other(y, i, 0, rng)
    return noisy, bad


def test_pipelines_and_other_models_find_mistakes(data):
    X, y = data
    noisy, bad = with_mistakes(y)
    for model in (
        make_pipeline(StandardScaler(), FlatClassifier(LogisticRegression())),
        LocalClassifierPerNode(hierarchy=Hierarchy.from_paths(y)),
        LocalClassifierPerParentNode().fit(X, y),
    ):
        found = find_label_errors(model, X, noisy, cv=2)
        assert average_precision_score(np.isin(found.rows, bad), found.probability) > 0.7


def test_rows_may_have_classes_that_the_fitted_model_does_not_know(data):
    X, y = data
    new = y.copy()
    new[:4] = [y[0, 0], "new"]
    fitted = find_label_errors(LocalClassifierPerParentNode().fit(X[4:], y[4:]), X, new, cv=2)
    fresh = find_label_errors(LocalClassifierPerParentNode(), X, new, cv=2)
    np.testing.assert_array_equal(fitted.rows, fresh.rows)
    np.testing.assert_array_equal(fitted.probability, fresh.probability)
    given = LocalClassifierPerParentNode(hierarchy=Hierarchy.from_paths(y))
    with pytest.raises(ValueError, match="The hierarchy has no class 'new' below"):
        find_label_errors(given, X, new, cv=2)


def test_single_labels_may_be_new_to_the_fitted_model(data):
    X, y = data
    new = y[:, 0].copy()
    new[:4] = "new"
    fitted = find_label_errors(FlatClassifier().fit(X[4:], new[4:]), X, new, cv=2)
    fresh = find_label_errors(FlatClassifier(), X, new, cv=2)
    np.testing.assert_array_equal(fitted.rows, fresh.rows)
    np.testing.assert_array_equal(fitted.probability, fresh.probability)


def test_rows_of_a_group_are_held_out_together(data):
    X, y = data
    groups = np.arange(len(y)) // 4
    folds = HierarchicalKFold(2, shuffle=True, random_state=0, hierarchy=Hierarchy.from_paths(y))
    splits = list(folds.split(X, y, groups))
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
    together = SimpleNamespace(split=lambda *_: splits)
    model = LocalClassifierPerParentNode()
    found = find_label_errors(model, X, y, cv=2, groups=groups)
    expected = find_label_errors(model, X, y, cv=together)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.probability, expected.probability)
    apart = find_label_errors(model, X, y, cv=2)
    assert not np.array_equal(found.probability, apart.probability)


@pytest.mark.parametrize("form", [dict, list, Hierarchy])
def test_a_hierarchy_counts_in_every_form_that_models_take(data, form):
    X, y = data
    edges = sorted({(a, b) for a, b in y.tolist()})
    children = {a: [b for above, b in edges if above == a] for a, _ in edges}
    given = {dict: children, list: edges, Hierarchy: Hierarchy.from_dict(children)}[form]
    model = LocalClassifierPerParentNode(hierarchy=given)
    found = find_label_errors(model, X, y[:, 1], cv=np.int64(2))
    assert found.given[0] == tuple(y[found.rows[0]])
    assert found.shares.shape == (2,)


def test_all_models_of_an_ensemble_get_the_hierarchy(data):
    X, y = data
    y = y.copy()
    y[0] = [y[0, 0], "alone"]  # a class that is missing in a fold
    pair = [("a", LocalClassifierPerParentNode()), ("b", FlatClassifier())]
    found = find_label_errors(EnsembleClassifier(pair), X, y, cv=2)
    assert sorted(found.rows.tolist()) == list(range(len(y)))


def test_sets_of_classes_are_refused(data):
    X, y = data
    several = Hierarchy.from_edges([("a", "c"), ("b", "c")])
    for model in (
        LocalClassifierPerNode(multi_label=True),
        LocalClassifierPerNode(hierarchy=several),
        LocalClassifierPerNode(hierarchy=several.to_edges()),
    ):
        with pytest.raises(ValueError, match="requires one path per row in a tree"):
            find_label_errors(model, X, y)


def test_wrong_models_are_refused(data):
    X, y = data
    with pytest.raises(TypeError, match="must be a hierarchical classifier"):
        find_label_errors(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="no probabilities"):
        find_label_errors(LocalClassifierPerParentNode(LinearSVC()), X, y, cv=2)
    with pytest.raises(ValueError, match="rows"):
        find_label_errors(LocalClassifierPerParentNode(), X, y[:-1])
    for cv in ("five", None, 2.5):
        with pytest.raises(TypeError, match="cv must be a number of folds, or a splitter such as"):
            find_label_errors(LocalClassifierPerParentNode(), X, y, cv=cv)
