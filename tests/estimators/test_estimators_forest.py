"""How the default forest of a global model is chosen by its rows."""

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesRegressor

from hiclass import GlobalClassifier, Hierarchy, metrics
from hiclass._estimators.forest import features_per_split, forest_params, same_value

NAN = np.nan
ONE_ROW = np.zeros((1, 1))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([[0, 0, 1, 1]], 4 / 12),  # of 12 ordered pairs of rows
        ([[0, 0, 0, 1]], 6 / 12),
        ([[1, 2, 3, 4]], 0),
        ([[0, 0, 1, 1], [1, 2, 3, 4]], 2 / 12),
        ([[7, 7, 7, 7], [0, 0, 0, 1]], 6 / 12),  # what never varies does not count
        ([[7, 7, 7, 7]], 0),
        ([[NAN, NAN, 1, 2]], 2 / 12),  # missing values are equal to each other
    ],
)
def test_how_often_two_rows_have_the_same_value(columns, expected):
    X = np.array(columns, dtype=float).T
    assert same_value(X) == pytest.approx(expected)
    assert same_value(sp.csr_array(X)) == pytest.approx(expected)
    assert same_value(pandas.DataFrame(X)) == pytest.approx(expected)
    assert same_value(X.tolist()) == pytest.approx(expected)


def test_scales_and_skewed_distributions_change_nothing():
    X = np.random.default_rng(0).integers(0, 5, size=(200, 4)).astype(float)
    assert same_value(np.exp(3 * X) - 7) == same_value(X)


def test_a_single_row_or_a_single_value_is_no_reason_to_leave_features_out():
    assert features_per_split(ONE_ROW) == 1.0
    assert features_per_split(np.zeros((5, 2))) == 1.0


def test_of_many_rows_and_columns_always_the_same_some_are_looked_at():
    rng = np.random.default_rng(0)
    # Every other column is a flag: a fixed step through the columns might see these only.
    X = rng.normal(size=(3000, 2400)).astype(np.float32)
    X[:, ::2] = X[:, ::2] > 0
    found = same_value(X)
    assert found == same_value(X)
    assert found == pytest.approx(0.25, abs=0.03)


def binary(n_rows=300, n_columns=40):
    return np.random.default_rng(0).integers(0, 2, size=(n_rows, n_columns)).astype(float)


def words():
    """Weights of words: many values, but most rows have none of a word."""
    rng = np.random.default_rng(0)
    return sp.random(300, 40, density=0.1, format="csr", random_state=rng)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (binary(), "sqrt"),
        (binary() * 3 - 1, "sqrt"),  # as StandardScaler leaves them
        (sp.csr_array(binary()), "sqrt"),
        (words(), "sqrt"),
        (np.digitize(np.random.default_rng(0).normal(size=(300, 9)), [-0.4, 0.4]), "sqrt"),
        (np.digitize(np.random.default_rng(0).normal(size=(300, 9)), [-0.7, 0, 0.7]), 1.0),
        (np.random.default_rng(0).normal(size=(300, 9)), 1.0),
        (np.random.default_rng(0).lognormal(0, 2, size=(300, 9)), 1.0),
    ],
    ids=["0/1", "scaled", "sparse", "words", "3 values", "4 values", "normal", "lognormal"],
)
def test_few_values_make_a_split_look_at_some_features_only(X, expected):
    assert features_per_split(X) == expected
    y = np.where(np.arange(300) % 3, "a", "b")
    assert GlobalClassifier().fit(X, y).forest_params_ == {
        "max_features": expected,
        "max_leaf_nodes": None,
        "min_samples_leaf": 1,
    }


def test_most_features_decide_where_they_are_mixed():
    numbers = np.random.default_rng(1).normal(size=(300, 40))
    assert features_per_split(np.hstack([binary(), numbers[:, :15]])) == "sqrt"
    assert features_per_split(np.hstack([binary(), numbers])) == 1.0


def test_trees_differ_on_binary_features():
    """With all features, all trees would split on the same one first."""
    X = binary()
    y = np.where(X[:, 0] + X[:, 1] + X[:, 2] > 1.5, "a", "b")
    roots = [
        {tree.tree_.feature[0] for tree in model.fit(X, y).estimator_.estimators_}
        for model in (GlobalClassifier(ExtraTreesRegressor(30)), GlobalClassifier(random_state=0))
    ]
    assert len(roots[0]) == 1
    assert len(roots[1]) > 3


def test_the_default_forest_is_better_than_the_shares_of_classes_on_binary_features():
    rng = np.random.default_rng(0)
    X = binary(400, 60)
    tree = Hierarchy.from_dict({"a": ["a1", "a2"], "b": ["b1", "b2"]})
    names = np.array(["a1", "a2", "b1", "b2"])
    scores = X[:, :16].reshape(-1, 4, 4).sum(axis=2) + rng.normal(size=(400, 4))
    y = tree.indicator([names[row > 2.5].tolist() for row in scores])
    train, test = np.arange(250), np.arange(250, 400)

    def area(proba):
        return metrics.average_precision(y[test], proba, hierarchy=tree, multi_label=True)

    found = []
    for estimator in (ExtraTreesRegressor(50, min_samples_leaf=5), None):
        model = GlobalClassifier(estimator, hierarchy=tree, multi_label=True, random_state=0)
        found.append(area(model.fit(X[train], y[train]).predict_node_proba(X[test])))
    prior = area(np.tile(np.asarray(y[train].mean(axis=0)), (len(test), 1)))
    assert found[1] > prior + 0.05
    assert found[1] > found[0] + 0.05


def test_parameters_of_a_forest_that_was_given_are_its_own():
    X = binary()
    model = GlobalClassifier(ExtraTreesRegressor(3, max_features=0.5))
    model.fit(X, np.where(X[:, 0] > 0, "a", "b"))
    assert model.estimator_.max_features == 0.5
    with pytest.raises(AttributeError, match="no forest_params_, because its estimator was given"):
        _ = model.forest_params_


def test_where_there_is_nothing_to_decide_there_is_no_forest():
    model = GlobalClassifier().fit(binary(3), ["a", "a", "a"])
    with pytest.raises(AttributeError, match="nothing to decide"):
        _ = model.forest_params_


@pytest.mark.parametrize("shape", [(2500, 4000), (10**6, 300), (50, 10**9), (10**7,)], ids=str)
def test_the_default_forest_has_a_bound_on_its_memory(shape):
    target = np.lib.stride_tricks.as_strided(np.zeros(1), shape, (0,) * len(shape))
    found = forest_params(ONE_ROW, target, 100, sets=True)["max_leaf_nodes"]
    n_columns = shape[1] if len(shape) == 2 else 1
    if shape[1:] == (10**9,):
        assert found == 2  # as small as a tree can be
    else:
        assert 100 * 2 * found * n_columns * 8 <= 2e9 < 100 * 2 * (found + 1) * n_columns * 8


def test_small_forests_grow_as_they_like():
    params = forest_params(ONE_ROW, np.zeros((2500, 400)), 100, sets=True)
    assert params["max_leaf_nodes"] is None
