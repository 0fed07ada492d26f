"""Scale and width of kernel machines: found out on some of the rows."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from hiclass import KernelRidgeClassifier
from hiclass._automatic import kernels
from hiclass._automatic.kernels import by_chance, make_scaler, tune_kernel

# -- scale -------------------------------------------------------------------------------------


def columns(*spreads):
    """Columns of so much spread, to the last digit."""
    return np.array([[-1.0], [1.0]]) * np.array(spreads)


def test_columns_of_one_scale_stay_as_they_are():
    assert make_scaler(columns(1, 2, 3)) is None
    assert make_scaler(columns(5)) is None


def test_columns_in_units_of_their_own_are_scaled():
    X = columns(1, 1, 1, 100, 100) + 7
    scaler = make_scaler(X)
    assert isinstance(scaler, StandardScaler)
    np.testing.assert_allclose(scaler.transform(X), columns(1, 1, 1, 1, 1))


def test_a_few_columns_that_differ_do_not_count_unless_they_are_far_out():
    """Of a hundred columns five are below the first, and five above the last tenth."""
    assert make_scaler(columns(*[1.0] * 90, *[9.0] * 5, *[1e-6] * 5)) is None
    assert make_scaler(columns(*[1.0] * 99, 1e6)) is not None


def test_columns_without_spread_do_not_count():
    assert make_scaler(np.zeros((4, 3))) is None
    assert make_scaler(columns(1, 0, 0, 0, 2)) is None


def test_numbers_whose_squares_overflow_are_refused_by_column():
    with pytest.raises(ValueError, match=r"Column 1 of X has numbers as large as 1e\+200"):
        make_scaler(columns(1, 1e200))


# -- width -------------------------------------------------------------------------------------


def rings(n_rows=240, seed=0):
    """Two classes that take turns along a line: only a narrow kernel tells them apart."""
    x = np.random.default_rng(seed).uniform(0, 6, size=n_rows)
    return x[:, None], 1 + (np.floor(x * 2) % 2).astype(int)


def tune(X, nodes, fold=None, weights=None, seed=0):
    fold = np.arange(len(X)) % 3 if fold is None else fold
    return tune_kernel(X, nodes, fold, np.ones(len(X)) if weights is None else weights, seed)


def test_a_narrow_kernel_is_found_where_it_is_needed():
    X, nodes = rings()
    assert tune(X, nodes)["width"] == 0.5


def test_values_are_tried_one_after_the_other_and_must_beat_the_default_by_more_than_chance():
    X, nodes = rings(90)
    fold = np.arange(90) % 3

    def share(**params):
        model = KernelRidgeClassifier(**params).fit(X[fold != 0], nodes[fold != 0])
        return np.mean(model.predict(X[fold == 0]) == nodes[fold == 0])

    params, best = {}, share() + by_chance(30)
    for name, value in (("width", 0.5), ("width", 2.0), ("alpha", 0.1), ("alpha", 0.001)):
        tried = params | {name: value}
        if share(**tried) > best:
            params, best = tried, share(**tried)
    assert params
    assert tune(X, nodes, fold) == params


def test_the_default_stays_where_nothing_is_better_by_more_than_chance(monkeypatch):
    """The narrow kernel of the rings is better, but not by as much as that."""
    X, nodes = rings()
    monkeypatch.setattr(kernels, "by_chance", lambda n_rows: 1.0)
    assert tune(X, nodes) == {}


def test_chance_is_a_standard_error_of_models_that_differ_in_a_tenth_of_the_rows():
    assert by_chance(1000) == pytest.approx(0.01)


def test_of_equal_ones_it_is_the_default():
    X = np.array([[0.0], [10.0]] * 15)
    assert tune(X, np.array([1, 2] * 15)) == {}


def test_rows_without_weight_are_neither_fitted_nor_held_out():
    X, nodes = rings()
    wrong = 3 - nodes
    twice, labels = np.vstack([X, X]), np.concatenate([nodes, wrong])
    weights = np.concatenate([np.ones(len(X)), np.zeros(len(X))])
    fold = np.tile(np.arange(len(X)) % 3, 2)
    assert tune(twice, labels, fold, weights) == tune(X, nodes)


@pytest.mark.parametrize(
    ("nodes", "fold"),
    [
        ([1] * 6, [0, 1, 2] * 2),  # one class
        ([1, 2] * 3, [1, 1, 1, 2, 2, 2]),  # nothing is held out
        ([1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 0, 0]),  # what is held out is new
        ([1, 1, 1, 1, 2, 2], [1, 1, 2, 2, 0, 0]),  # one class is left
    ],
)
def test_where_there_is_nothing_to_tell_apart_nothing_is_found(nodes, fold):
    X = np.arange(6.0)[:, None]
    assert tune(X, np.array(nodes), np.array(fold)) == {}


def test_of_many_rows_some_are_drawn_by_the_seed(monkeypatch):
    X, nodes = rings()
    seen = []

    make_share = kernels._make_share

    def watched(X, *others):
        seen.append(X[0])
        return make_share(X, *others)

    monkeypatch.setattr(kernels, "_make_share", watched)
    monkeypatch.setattr(kernels, "_MOST_FITTED", 50)
    monkeypatch.setattr(kernels, "_MOST_HELD_OUT", 20)
    first, again = tune(X, nodes, seed=1), tune(X, nodes, seed=1)
    assert first == again
    assert {len(rows) for rows in seen} == {50}
    np.testing.assert_array_equal(seen[0], seen[-1])
    tune(X, nodes, seed=2)
    assert (seen[0] != seen[-1]).any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_are_those_of_kernel_ridge_classifiers(n_classes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 4)) + 5
    nodes = 1 + (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=90) > 33).astype(int)
    nodes[X[:, 2] > 5.5] = n_classes
    weights = rng.uniform(0.5, 2, size=90)
    parts = [(part[:60], part[60:]) for part in (X, nodes, weights)]
    share = kernels._make_share(*parts, 0)
    for params in ({}, {"width": 0.5}, {"alpha": 0.1}, {"width": 2.0, "alpha": 0.001}):
        model = KernelRidgeClassifier(**params).fit(X[:60], nodes[:60], weights[:60])
        right = model.predict(X[60:]) == nodes[60:]
        assert 0 < right.sum() < 30
        assert share(params) == pytest.approx(np.average(right, weights=weights[60:]))


def test_shares_of_single_precision_are_computed_in_double_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)).astype(np.float32)[rng.integers(0, 40, 400)]  # many are equal
    nodes, weights = rng.integers(1, 4, 400), np.where(np.arange(400) % 9, 0.01, 50.0)
    parts = [(part[:300], part[300:]) for part in (X, nodes, weights)]
    share = kernels._make_share(*parts, 0)
    for params in ({}, {"width": 2.0}, {"width": 2.0, "alpha": 0.001}):
        model = KernelRidgeClassifier(**params).fit(X[:300], nodes[:300], weights[:300])
        right = model.predict(X[300:]) == nodes[300:]
        assert share(params) == pytest.approx(np.average(right, weights=weights[300:]))
