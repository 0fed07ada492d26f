"""``KernelRidgeClassifier``: the regression written out with NumPy, with and without landmarks."""

import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import check_estimator

from hiclass import TRUSTED_TYPES, KernelRidgeClassifier, LocalClassifierPerParentNode
from hiclass._linear import kernel_ridge


def make_rows(n_rows=24, n_classes=3, seed=0):
    """Rows around one place per class."""
    rng = np.random.default_rng(seed)
    target = np.arange(n_rows) % n_classes
    places = rng.normal(size=(n_classes, 4))
    return places[target] + rng.normal(scale=0.7, size=(n_rows, 4)), target


def similarities(rows, others, gamma):
    return np.exp(-gamma * ((rows[:, None] - others) ** 2).sum(axis=-1))


def literal_gamma(X, width=1.0):
    """The median of all distances between two rows, of an even number the lower one."""
    i, j = np.triu_indices(len(X), 1)
    squared = np.sort(((X[i] - X[j]) ** 2).sum(axis=1))
    return 1 / (width**2 * squared[(len(squared) - 1) // 2])


# -- the regression ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize(("alpha", "width"), [(0.01, 1.0), (1.0, 0.5), (1e-4, 3.0)])
def test_is_the_regression_on_signs_around_their_mean(n_classes, alpha, width):
    X, target = make_rows(n_classes=n_classes)
    model = KernelRidgeClassifier(alpha=alpha, width=width).fit(X, target)
    assert model.gamma_ == pytest.approx(literal_gamma(X, width), rel=1e-12)
    signs = np.where(target[:, None] == np.arange(n_classes), 1.0, -1.0)
    if n_classes == 2:
        signs = signs[:, 1:]
    mean = signs.mean(axis=0)
    kernel = similarities(X, X, literal_gamma(X, width))
    dual = np.linalg.solve(kernel + alpha * np.eye(len(X)), signs - mean)
    new = np.random.default_rng(9).normal(size=(7, 4))
    expected = similarities(new, X, literal_gamma(X, width)) @ dual + mean
    found = model.decision_function(new)
    assert found.shape == ((7,) if n_classes == 2 else (7, n_classes))
    assert model.dual_coef_.shape == (24, 1 if n_classes == 2 else n_classes)
    np.testing.assert_allclose(found.reshape(7, -1), expected, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, mean)


def test_weights_are_those_of_squared_errors():
    """Minimises the sum of w (f(x) - s)^2 plus alpha |f|^2, of which the gradient is 0."""
    X, target = make_rows()
    weight = np.random.default_rng(1).uniform(0.2, 3, len(X))
    model = KernelRidgeClassifier(alpha=0.05).fit(X, target, weight)
    signs = np.where(target[:, None] == np.arange(3), 1.0, -1.0)
    np.testing.assert_allclose(model.intercept_, weight @ signs / weight.sum())
    kernel = similarities(X, X, model.gamma_)
    error = kernel @ model.dual_coef_ - (signs - model.intercept_)
    gradient = kernel @ (weight[:, None] * error + 0.05 * model.dual_coef_)
    np.testing.assert_allclose(gradient, 0, atol=1e-9)


def test_is_kernel_ridge_of_scikit_learn():
    X, target = make_rows(n_classes=2)
    weight = np.linspace(0.5, 2, len(X))
    model = KernelRidgeClassifier(alpha=0.1).fit(X, target, weight)
    theirs = KernelRidge(alpha=0.1, kernel="rbf", gamma=model.gamma_)
    theirs.fit(X, np.where(target == 1, 1, -1) - model.intercept_, weight)
    np.testing.assert_allclose(
        model.decision_function(X), theirs.predict(X) + model.intercept_, atol=1e-9
    )


def test_rows_that_are_like_no_other_score_the_intercept():
    X, target = make_rows()
    model = KernelRidgeClassifier().fit(X, target)
    np.testing.assert_array_equal(
        model.decision_function(np.full((1, 4), 1e6))[0], model.intercept_
    )


def test_tells_classes_apart_that_no_line_separates():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    model = KernelRidgeClassifier().fit(X, [0, 0, 1, 1])
    assert model.predict(X).tolist() == [0, 0, 1, 1]
    X, y = load_iris(return_X_y=True)
    assert KernelRidgeClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.93


# -- weights -----------------------------------------------------------------------------------


def test_a_row_without_weight_is_as_good_as_removed():
    X, target = make_rows()
    weight = np.ones(len(X))
    weight[[3, 8, 9]] = 0
    model = KernelRidgeClassifier().fit(X, target, weight)
    kept = weight > 0
    other = KernelRidgeClassifier().fit(X[kept], target[kept])
    assert len(model.landmarks_) == 21
    assert model.gamma_ == other.gamma_
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(X), rtol=0, atol=1e-10
    )


def test_a_row_of_weight_two_is_as_good_as_two_rows():
    X, target = make_rows()
    times = np.random.default_rng(3).integers(1, 4, len(X))
    weighted = KernelRidgeClassifier().fit(X, target, times)
    repeated = KernelRidgeClassifier().fit(np.repeat(X, times, axis=0), np.repeat(target, times))
    assert weighted.gamma_ == pytest.approx(repeated.gamma_, rel=1e-12)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-9
    )
    plain = KernelRidgeClassifier().fit(X, target)
    assert abs(plain.decision_function(X) - weighted.decision_function(X)).max() > 1e-3


def test_weights_count_with_landmarks_too():
    X, target = make_rows(60)
    times = np.random.default_rng(3).integers(1, 4, len(X))
    landmarks, intercept = X[:20], np.zeros(3)
    solve = kernel_ridge.solve_by_landmarks
    once = partial(kernel_ridge._signs, target, 3, intercept)
    weighted = solve(X, landmarks, once, times.astype(float), 0.3, 0.1)
    often = partial(kernel_ridge._signs, np.repeat(target, times), 3, intercept)
    repeated = solve(np.repeat(X, times, axis=0), landmarks, often, None, 0.3, 0.1)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


def test_weights_of_one_class_only_are_refused():
    X, target = make_rows(n_classes=2)
    message = r"rows of at least two classes with a positive weight; there is only one class: \[1\]"
    with pytest.raises(ValueError, match=message):
        KernelRidgeClassifier().fit(X, target, target.astype(float))


# -- landmarks ---------------------------------------------------------------------------------


def test_with_a_landmark_for_every_row_it_is_exact():
    X, target = make_rows(40)
    exact = KernelRidgeClassifier(n_landmarks=40).fit(X, target)
    np.testing.assert_array_equal(exact.landmarks_, X)
    goal = partial(kernel_ridge._signs, target, 3, exact.intercept_)
    signs = goal(slice(None))
    for weight in (None, np.linspace(0.5, 2, 40)):
        by_landmarks = kernel_ridge.solve_by_landmarks(X, X, goal, weight, exact.gamma_, 0.01)
        direct = kernel_ridge.solve_exactly(X, signs, weight, exact.gamma_, 0.01)
        kernel = similarities(X, X, exact.gamma_)
        np.testing.assert_allclose(kernel @ by_landmarks, kernel @ direct, atol=1e-5)


def test_landmarks_are_some_of_the_rows_and_solve_the_smaller_regression():
    X, target = make_rows(60)
    model = KernelRidgeClassifier(n_landmarks=15, alpha=0.1, random_state=0).fit(X, target)
    assert model.landmarks_.shape == (15, 4)
    assert {tuple(row) for row in model.landmarks_} <= {tuple(row) for row in X}
    signs = kernel_ridge._signs(target, 3, model.intercept_, slice(None))
    across = similarities(X, model.landmarks_, model.gamma_)
    inner = similarities(model.landmarks_, model.landmarks_, model.gamma_)
    expected = np.linalg.solve(across.T @ across + 0.1 * inner, across.T @ signs)
    np.testing.assert_allclose(across @ model.dual_coef_, across @ expected, atol=1e-5)


def test_many_landmarks_are_nearly_exact():
    X, target = make_rows(200)
    exact = KernelRidgeClassifier(alpha=0.1).fit(X, target)
    near = KernelRidgeClassifier(alpha=0.1, n_landmarks=99, random_state=0).fit(X, target)
    assert len(near.landmarks_) == 99
    assert abs(exact.decision_function(X) - near.decision_function(X)).mean() < 0.02


def test_up_to_twice_as_many_rows_as_landmarks_it_is_exact():
    X, target = make_rows(40)
    for n_landmarks, n_kept in ((40, 40), (20, 40), (19, 19)):
        model = KernelRidgeClassifier(n_landmarks=n_landmarks, random_state=0).fit(X, target)
        assert len(model.landmarks_) == n_kept


@pytest.mark.parametrize("n_landmarks", [15, 60])
def test_rows_in_blocks_give_the_same(monkeypatch, n_landmarks):
    X, target = make_rows(60)
    weight = np.linspace(1, 2, 60)
    make = KernelRidgeClassifier(n_landmarks=n_landmarks, random_state=0)
    whole = clone(make).fit(X, target, weight)
    scores = whole.decision_function(X)
    monkeypatch.setattr(kernel_ridge, "_MOST_NUMBERS", 7 * n_landmarks)  # seven rows at a time
    blocks = clone(make).fit(X, target, weight)
    np.testing.assert_allclose(blocks.dual_coef_, whole.dual_coef_, atol=1e-7)
    np.testing.assert_allclose(whole.decision_function(X), scores, atol=1e-12)
    monkeypatch.setattr(kernel_ridge, "_MOST_NUMBERS", 1)  # one row, at least
    np.testing.assert_allclose(whole.decision_function(X), scores, atol=1e-12)


def test_equal_landmarks_are_no_problem():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 30, axis=0)
    y = np.repeat(["a", "b"], 30)
    model = KernelRidgeClassifier(n_landmarks=10, random_state=0).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()


# -- widths ------------------------------------------------------------------------------------


def test_the_width_is_that_of_different_rows():
    X = np.array([[0.0], [0.0], [0.0], [2.0]])
    assert KernelRidgeClassifier().fit(X, [0, 0, 1, 1]).gamma_ == 1 / 4
    assert KernelRidgeClassifier(width=2).fit(X, [0, 0, 1, 1]).gamma_ == 1 / 16


def test_rows_that_are_all_equal_score_the_shares():
    model = KernelRidgeClassifier(alpha=1e-3).fit(np.ones((4, 2)), ["a", "a", "a", "b"])
    assert model.gamma_ == 1
    np.testing.assert_allclose(model.decision_function([[1.0, 1.0]]), [-0.5], atol=1e-3)
    assert model.predict([[1.0, 1.0]]).tolist() == ["a"]


@pytest.mark.parametrize("row", [[0.32950557, 1.44430658, -1.28740336], [1e8, 1e-8, 3e7]])
def test_equal_rows_are_equal_whatever_rounding_makes_of_their_distances(row):
    model = KernelRidgeClassifier().fit([row] * 50, ["a"] * 30 + ["b"] * 20)
    assert model.gamma_ == 1
    assert model.predict([row]).tolist() == ["a"]


@pytest.mark.parametrize("n_landmarks", [10, 100])
def test_rows_far_from_zero_are_told_apart_as_well(n_landmarks):
    X, target = make_rows(60)
    near, far = (
        KernelRidgeClassifier(n_landmarks=n_landmarks, random_state=0).fit(X + shift, target)
        for shift in (0, 1e7)
    )
    assert far.gamma_ == pytest.approx(near.gamma_, rel=1e-6)
    np.testing.assert_allclose(far.decision_function(X + 1e7), near.decision_function(X), atol=1e-4)


def test_the_width_is_that_of_a_sample_where_there_are_many_rows(monkeypatch):
    X, target = make_rows(200)
    whole = KernelRidgeClassifier(random_state=0).fit(X, target).gamma_
    monkeypatch.setattr(kernel_ridge, "_MOST_FOR_DISTANCE", 50)
    some, again, other = (
        KernelRidgeClassifier(random_state=seed).fit(X, target, np.ones(200)).gamma_
        for seed in (0, 0, 1)
    )
    assert some == again
    assert len({whole, some, other}) == 3
    assert some == pytest.approx(whole, rel=0.3)


# -- the contract ------------------------------------------------------------------------------


def test_classes_are_sorted_and_come_back_as_they_were():
    X, target = make_rows()
    names = np.array(["pear", "apple", "fig"])[target]
    model = KernelRidgeClassifier().fit(X, names)
    assert model.classes_.tolist() == ["apple", "fig", "pear"]
    numbers = KernelRidgeClassifier().fit(X, target)
    np.testing.assert_allclose(
        model.decision_function(X), numbers.decision_function(X)[:, [1, 2, 0]], atol=1e-9
    )
    best = model.decision_function(X).argmax(axis=1)
    assert model.predict(X).tolist() == model.classes_[best].tolist()


def test_of_two_classes_the_second_scores_above_zero():
    X, target = make_rows(n_classes=2)
    model = KernelRidgeClassifier().fit(X, np.array(["no", "yes"])[target])
    scores = model.decision_function(X)
    assert model.predict(X).tolist() == np.where(scores > 0, "yes", "no").tolist()
    turned = KernelRidgeClassifier().fit(X, np.array(["yes", "no"])[target])
    np.testing.assert_allclose(turned.decision_function(X), -scores, atol=1e-10)


def test_the_same_seed_gives_the_same_model():
    X, target = make_rows(60)
    first, again, other = (
        KernelRidgeClassifier(n_landmarks=20, random_state=seed).fit(X, target)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.dual_coef_, again.dual_coef_)
    np.testing.assert_array_equal(first.landmarks_, again.landmarks_)
    assert (first.landmarks_ != other.landmarks_).any()


@pytest.mark.parametrize("n_landmarks", [10, 100])
def test_what_becomes_of_the_rows_after_fit_changes_nothing(n_landmarks):
    X, target = make_rows()
    original, weight = X.copy(), np.ones(len(X))
    model = KernelRidgeClassifier(n_landmarks=n_landmarks, random_state=0).fit(X, target, weight)
    np.testing.assert_array_equal(X, original)
    scores = model.decision_function(original)
    X[:], weight[:] = 0, 0
    np.testing.assert_array_equal(model.decision_function(original), scores)


def test_single_precision_and_lists_are_numbers_too():
    X, target = make_rows()
    expected = KernelRidgeClassifier().fit(X, target).decision_function(X)
    for given in (X.astype(np.float32), X.tolist()):
        model = KernelRidgeClassifier().fit(given, target)
        assert model.landmarks_.dtype == np.float64
        np.testing.assert_allclose(model.decision_function(given), expected, atol=1e-3)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0}, "'alpha' parameter"),
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"width": 0}, "'width' parameter"),
        ({"n_landmarks": 0}, "'n_landmarks' parameter"),
        ({"n_landmarks": 2.5}, "'n_landmarks' parameter"),
        ({"random_state": "a"}, "'random_state' parameter"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        KernelRidgeClassifier(**params).fit(*make_rows())


def test_bad_rows_labels_and_weights_are_refused():
    X, target = make_rows()
    model = KernelRidgeClassifier()
    with pytest.raises(ValueError, match="only one class: \\['a'\\]"):
        model.fit(X, ["a"] * len(X))
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(np.where(X > 1, np.nan, X), target)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        model.fit(sp.csr_matrix(X), target)
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(X, X[:, 0])
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(X, target, -np.ones(len(X)))
    with pytest.raises(NotFittedError):
        KernelRidgeClassifier().predict(X)
    with pytest.raises(ValueError, match="expecting 4 features"):
        KernelRidgeClassifier().fit(X, target).predict(X[:, :2])


def test_equal_rows_with_next_to_no_regularisation_name_alpha():
    X = np.ones((4, 2))
    with pytest.raises(ValueError, match=r"alpha=1e-20 is too small, .* Use a larger alpha"):
        KernelRidgeClassifier(alpha=1e-20).fit(X, [0, 1, 0, 1])


def test_copies_pickles_and_files():
    X, target = make_rows()
    model = KernelRidgeClassifier(alpha=0.1, random_state=0).fit(X, target)
    assert repr(clone(model)) == "KernelRidgeClassifier(alpha=0.1, random_state=0)"
    assert not hasattr(clone(model), "classes_")
    for again in (
        pickle.loads(pickle.dumps(model)),
        skops.io.loads(skops.io.dumps(model), trusted=list(TRUSTED_TYPES)),
    ):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_as_a_local_classifier():
    X, target = make_rows(60, 6)
    y = np.column_stack([target // 3, target])
    model = LocalClassifierPerParentNode(KernelRidgeClassifier(), calibration="joint")
    model.fit(X, y, sample_weight=np.linspace(1, 2, 60))
    assert model.score(X, y) > 0.8
    np.testing.assert_allclose(model.predict_node_proba(X)[:, 0], 1)


def test_passes_the_checks_of_scikit_learn():
    check_estimator(KernelRidgeClassifier(), on_skip=None)
    reason = "landmarks are drawn by number: a row of weight 2 and two equal rows differ"
    listed = {"check_sample_weight_equivalence_on_dense_data": reason}
    results = check_estimator(
        KernelRidgeClassifier(n_landmarks=7),
        expected_failed_checks=listed,
        on_skip=None,
        on_fail=None,
    )
    assert {r["check_name"] for r in results if r["status"] == "failed"} == set()
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(listed)


def test_landmarks_far_from_the_others_are_no_obstacle():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(260, 3)), 1e6 + 1e-3 * rng.normal(size=(40, 3))])
    model = KernelRidgeClassifier(n_landmarks=100, random_state=0).fit(X, np.arange(300) % 3)
    assert np.isfinite(model.decision_function(X)).all()


def test_equal_rows_that_rounding_sets_apart_count_as_equal():
    X = np.repeat([[0.1, 0.7, -1.3]], 41, axis=0)  # the computed distance of some is not zero
    model = KernelRidgeClassifier().fit(X, np.arange(41) % 3)
    assert model.gamma_ == 1.0
    np.testing.assert_allclose(model.decision_function(X[:1]).sum(), -1.0)
