"""Discriminant analysis: rows left out in closed form, weights, landmarks, and what is refused."""

import pickle

import numpy as np
import pytest
import skops.io
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.estimator_checks import check_estimator

from hiclass import (
    TRUSTED_TYPES,
    DiscriminantClassifier,
    FlatClassifier,
    LocalClassifierPerParentNode,
)
from hiclass._linear import discriminant
from hiclass._linear.discriminant import LeftOut, _corrected, _scores_without, _sum_up


def clouds(n_classes=5, n=12, d=4, scale=2.0, seed=0):
    """Gaussian classes of unequal size with a common covariance."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d))
    target = np.concatenate([np.full(n - k, k) for k in range(n_classes)])
    X = scale * rng.normal(size=(n_classes, d))[target] + rng.normal(size=(len(target), d)) @ mix
    return X + 3, target


def as_is(X):
    return X


def test_the_centre_of_rows_of_single_precision_is_their_mean():
    X, target = clouds()
    X = (X + 1e4).astype(np.float32)
    sums = _sum_up(X, target, np.ones(len(X)), 5, as_is)
    np.testing.assert_allclose(sums.centre, X.astype(np.float64).mean(axis=0), rtol=1e-10)


@pytest.mark.parametrize("correction", [0.0, 0.5])
@pytest.mark.parametrize("shrinkage", [0.01, 0.3, 1.0])
def test_scores_of_rows_left_out_are_those_of_a_model_without_them(shrinkage, correction):
    X, target = clouds()
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    sums = _sum_up(X, target, weight, 5, as_is)
    rows = np.arange(len(X))
    taken = np.minimum(weight, 1)
    part = LeftOut((X - sums.centre) @ sums.axes, target, weight, taken)
    plain = _scores_without(sums, part, shrinkage)
    found = _corrected(plain, sums, part, shrinkage, correction)
    full = np.linalg.inv(covariance(X, target, weight, sums, shrinkage, 0))
    for i in rows:
        less = weight.copy()
        less[i] -= taken[i]
        inverse = np.linalg.inv(covariance(X, target, less, sums, shrinkage, 1))
        x = X[i] - sums.centre
        for k in range(5):
            count = less[target == k].sum()
            mean = np.average(X[target == k], axis=0, weights=less[target == k]) - sums.centre
            within = (sums.axes * (sums.scatter / sums.freedom())) @ sums.axes.T
            too_long = correction * np.trace(within @ full) / count
            expected = x @ inverse @ mean - (mean @ inverse @ mean - too_long) / 2
            assert found[i, k] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def covariance(X, target, weight, sums, shrinkage, fewer):
    """The shrunk covariance within classes, by its definition."""
    scatter = np.zeros((X.shape[1], X.shape[1]))
    for k in np.unique(target):
        mine = target == k
        away = X[mine] - np.average(X[mine], axis=0, weights=weight[mine])
        scatter += (away.T * weight[mine]) @ away
    within = (1 - shrinkage) * scatter / sums.freedom(fewer)
    return within + shrinkage * sums.spread() * np.eye(X.shape[1])


def test_directions_are_those_of_scikit_learn():
    X, target = clouds()
    model = DiscriminantClassifier(shrinkage=0.2).fit(X, target)
    other = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2).fit(X, target)
    # The covariance of scikit-learn is shrunk by class, and divided by the number of rows.
    sums = _sum_up(X, target, np.ones(len(X)), 5, as_is)
    expected = sums.means @ sums.inverse(0.2)
    np.testing.assert_allclose(model.coef_, model.factor_ * expected)
    ours = (model.coef_ - model.coef_[0]) / model.factor_
    theirs = (other.coef_ - other.coef_[0]) * sums.freedom() / len(X)
    np.testing.assert_allclose(ours, theirs, rtol=0.35, atol=0.02)


def test_classes_far_apart_are_told_apart_with_confidence():
    X, target = clouds(scale=30.0)
    model = DiscriminantClassifier().fit(X, target)
    assert model.score(X, target) == 1
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert proba.max(axis=1).mean() > 0.9


def test_probabilities_are_as_high_as_the_share_of_right_rows():
    X, target = clouds(n_classes=20, n=150, d=8, scale=1.2, seed=3)
    train = np.random.default_rng(0).random(len(X)) < 0.5
    # Columns that say the same twice make a plain discriminant analysis too sure.
    X = np.hstack([X, X + 0.01 * np.random.default_rng(1).normal(size=X.shape)])
    model = DiscriminantClassifier(0.5).fit(X[train], target[train])
    right = model.score(X[~train], target[~train])
    assert model.predict_proba(X[~train]).max(axis=1).mean() == pytest.approx(right, abs=0.05)


@pytest.mark.parametrize("n_landmarks", [0, 10])
def test_a_row_of_weight_two_counts_as_two_rows(n_landmarks):
    X, target = clouds()
    weight = np.where(np.arange(len(X)) % 4 == 0, 2, 1)
    twice = np.repeat(np.arange(len(X)), weight)
    if n_landmarks:  # the same rows are drawn only if there are as many
        weight, twice = np.ones(len(X)), np.arange(len(X))
    one = DiscriminantClassifier(n_landmarks=n_landmarks, random_state=0)
    other = DiscriminantClassifier(n_landmarks=n_landmarks, random_state=0)
    one.fit(X, target, sample_weight=weight)
    other.fit(X[twice], target[twice])
    assert (one.shrinkage_, one.factor_) == (other.shrinkage_, other.factor_)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)


def test_rows_without_weight_are_left_out():
    X, target = clouds()
    weight = (np.arange(len(X)) % 5 > 0).astype(float)
    one = DiscriminantClassifier().fit(X, target, sample_weight=weight)
    other = DiscriminantClassifier().fit(X[weight > 0], target[weight > 0])
    np.testing.assert_allclose(one.coef_, other.coef_)


def test_two_classes_have_one_score():
    X, target = clouds(n_classes=2)
    model = DiscriminantClassifier().fit(X, target)
    scores, proba = model.decision_function(X), model.predict_proba(X)
    assert scores.shape == (len(X),)
    np.testing.assert_allclose(np.log(proba[:, 1] / proba[:, 0]), scores, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), (scores > 0).astype(int))


def test_landmarks_bend_the_borders():
    rng = np.random.default_rng(0)
    angle = rng.random(600) * 6.3
    target = np.arange(600) % 3
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + target)[:, None]
    X += 0.1 * rng.normal(size=X.shape)
    plain = DiscriminantClassifier(random_state=0).fit(X[::2], target[::2])
    bent = DiscriminantClassifier(n_landmarks=50, width=0.5, random_state=0)
    bent.fit(X[::2], target[::2])
    assert plain.score(X[1::2], target[1::2]) < 0.6
    assert bent.score(X[1::2], target[1::2]) > 0.95
    assert bent.landmarks_.shape == (50, 2)
    assert bent.coef_.shape == (3, 50)


def test_more_landmarks_than_rows_are_all_rows():
    X, target = clouds()
    X[1] = X[0]  # equal rows have equal similarities
    model = DiscriminantClassifier(n_landmarks=10_000, random_state=0).fit(X, target)
    assert len(model.landmarks_) == len(X)
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_row_per_class_is_enough():
    X = np.eye(4)
    model = DiscriminantClassifier().fit(X, list("abcd"))
    assert model.predict(X + 0.1).tolist() == list("abcd")
    assert model.factor_ == 1


def test_classes_of_one_row_stand_beside_others():
    X, target = clouds()
    target = target.copy()
    target[0] = 99
    model = DiscriminantClassifier().fit(X, target)
    assert 99 in model.classes_
    assert np.isfinite(model.predict_proba(X)).all()


def test_parts_and_samples_of_rows_left_out_change_little(monkeypatch):
    X, target = clouds(n_classes=6, n=60, scale=6.0)
    whole = DiscriminantClassifier(random_state=0).fit(X, target)
    monkeypatch.setattr(discriminant, "_MOST_SCORES", 50)
    parts = DiscriminantClassifier(random_state=0).fit(X, target)
    np.testing.assert_allclose(parts.coef_, whole.coef_)
    monkeypatch.setattr(discriminant, "_FEWEST_LEFT_OUT", 20)
    some = DiscriminantClassifier(random_state=0).fit(X, target)
    assert (some.predict(X) == whole.predict(X)).mean() > 0.9


def test_rows_of_single_precision_stay_so_and_may_be_far_from_zero():
    X, target = clouds(scale=5.0)
    near = DiscriminantClassifier(0.1).fit(X, target)
    small = DiscriminantClassifier(0.1).fit(X.astype(np.float32), target)
    assert small.coef_.dtype == small.predict_proba(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(small.predict_proba(X), near.predict_proba(X), atol=1e-3)
    far = DiscriminantClassifier(0.1).fit(X + 1e6, target)
    np.testing.assert_allclose(far.predict_proba(X + 1e6), near.predict_proba(X), atol=1e-3)


def test_it_serves_flat_and_per_parent_node_with_temperature_and_in_files(tmp_path):
    X, target = clouds(scale=10.0)
    y = [[f"g{k // 2}", f"c{k}"] for k in target]
    for model in (
        FlatClassifier(DiscriminantClassifier()),
        LocalClassifierPerParentNode(DiscriminantClassifier(), calibration="temperature"),
    ):
        model.fit(X, y)
        assert model.score(X, y) > 0.9
        skops.io.dump(model, tmp_path / "m.skops")
        loaded = skops.io.load(tmp_path / "m.skops", trusted=list(TRUSTED_TYPES))
        for other in (loaded, pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(other.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"shrinkage": 1.5}, "shrinkage"),
        ({"shrinkage": "none"}, "shrinkage"),
        ({"n_landmarks": -1}, "n_landmarks"),
        ({"width": 0}, "width"),
    ],
)
def test_invalid_parameters_are_refused(params, message):
    X, target = clouds()
    with pytest.raises(ValueError, match=message):
        DiscriminantClassifier(**params).fit(X, target)


def test_no_shrinkage_needs_rows_that_differ_in_all_directions():
    X, target = clouds()
    DiscriminantClassifier(0.0).fit(X, target)
    with pytest.raises(ValueError, match=r"shrinkage=0.0 is too small.*'auto'"):
        DiscriminantClassifier(0.0).fit(np.hstack([X, X[:, :1]]), target)


def test_rows_of_one_class_are_refused():
    with pytest.raises(ValueError, match="only one class"):
        DiscriminantClassifier().fit([[0.0], [1.0], [2.0]], [0, 0, 1], sample_weight=[1, 1, 0])


def test_it_passes_the_checks_of_scikit_learn():
    check_estimator(DiscriminantClassifier(), on_skip=None)
    reason = "landmarks are drawn by number: a row of weight 2 and two equal rows differ"
    results = check_estimator(
        DiscriminantClassifier(n_landmarks=7),
        expected_failed_checks={"check_sample_weight_equivalence_on_dense_data": reason},
        on_skip=None,
        on_fail=None,
    )
    assert {r["check_name"] for r in results if r["status"] == "failed"} == set()


@pytest.mark.parametrize("n_landmarks", [0, 20])
def test_predictions_need_the_scores_of_a_few_rows_at_a_time(monkeypatch, n_landmarks):
    """Blocks of rows give what all rows at once give."""
    from hiclass._linear import kernel_ridge

    rng = np.random.default_rng(0)
    target = np.arange(120) % 12
    X = rng.normal(size=(120, 5)) + 3 * rng.normal(size=(12, 5))[target]
    model = DiscriminantClassifier(n_landmarks=n_landmarks, random_state=0).fit(X, target)
    expected = model.predict_proba(X).argmax(axis=1)
    seen, scores = [], model._scores
    monkeypatch.setattr(model, "_scores", lambda X: seen.append(len(X)) or scores(X))
    monkeypatch.setattr(kernel_ridge, "_MOST_NUMBERS", 12 * 50)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert seen == [50, 50, 20]
