"""Linear classifiers that are fitted on the columns of their rows: the result of a plain fit."""

import pickle
import warnings
from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp
from packed_helpers import unsorted, with_duplicates, with_int64, with_zeros
from sklearn import linear_model
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from hiclass._engine.linear import linear_choice, linear_scores
from hiclass._engine.packed import (
    can_be_packed,
    columns_of,
    dense_narrow,
    fit_packed,
    renumbered,
    shown,
    unpacked,
    widened,
    without_small_weights,
)
from hiclass._rows import select_columns, take_rows
from hiclass._state import Packed

N_FEATURES = 400

EXACT = {
    "svc": LinearSVC(dual=True, tol=0.1, random_state=0),
    "svc, default": LinearSVC(random_state=0),
    "svc, hinge": LinearSVC(loss="hinge", random_state=0, max_iter=20000),
    "svc, without intercept": LinearSVC(fit_intercept=False, dual=True, random_state=0),
    "svc, balanced": LinearSVC(class_weight="balanced", dual=True, random_state=0),
    "svc, crammer_singer": LinearSVC(multi_class="crammer_singer", random_state=0),
    "sgd": SGDClassifier(random_state=0),
    "sgd, log_loss": SGDClassifier(loss="log_loss", random_state=0),
    "sgd, average": SGDClassifier(average=True, random_state=0),
    "sgd, average later": SGDClassifier(average=10_000, random_state=0),
    "sgd, early stopping": SGDClassifier(early_stopping=True, random_state=0),
    "sgd, elasticnet": SGDClassifier(penalty="elasticnet", alpha=1e-3, random_state=0),
    "sgd, adaptive": SGDClassifier(learning_rate="adaptive", eta0=0.1, random_state=0),
    "perceptron": Perceptron(random_state=0),
    "perceptron, l1": Perceptron(penalty="l1", random_state=0, early_stopping=True),
    "logistic, saga": LogisticRegression(solver="saga", random_state=0, max_iter=20),
    "logistic, saga, l1": LogisticRegression(
        solver="saga", l1_ratio=1, C=10, random_state=0, max_iter=20
    ),
    "logistic, sag": LogisticRegression(solver="sag", random_state=0, max_iter=20),
}
CLOSE = {
    "svc, primal": LinearSVC(dual=False, tol=1e-8, random_state=0),
    "logistic": LogisticRegression(tol=1e-8),
    "logistic, newton-cg": LogisticRegression(solver="newton-cg", tol=1e-8),
    "logistic, newton-cholesky": LogisticRegression(solver="newton-cholesky", tol=1e-8),
    "ridge": RidgeClassifier(tol=1e-10),
    "ridge, without intercept": RidgeClassifier(fit_intercept=False, tol=1e-10),
    "ridge, cholesky": RidgeClassifier(solver="cholesky", fit_intercept=False),
    "ridge, lsqr": RidgeClassifier(solver="lsqr", fit_intercept=False, tol=1e-10),
}
if hasattr(linear_model, "PassiveAggressiveClassifier"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        passive = linear_model.PassiveAggressiveClassifier
        EXACT["passive-aggressive"] = passive(random_state=0)
        EXACT["passive-aggressive, average"] = passive(average=True, random_state=0)

pytestmark = pytest.mark.filterwarnings("ignore")


def problem(n_rows=60, n_classes=4, dtype=np.float64, seed=0):
    """Rows with few of the columns, and classes that these tell apart a little."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.choice(np.arange(5, N_FEATURES - 7), 120, replace=False))
    target = np.arange(n_rows) % n_classes
    X = sp.random(n_rows, len(columns), density=0.1, random_state=seed, format="lil")
    X[np.arange(n_rows), target] = 0.5
    wide = sp.csr_matrix((n_rows, N_FEATURES), dtype=dtype).tolil()
    wide[:, columns] = X
    return wide.tocsr(), target


def pack(estimator, X, target, **params):
    """A copy of the estimator that was fitted on its own columns."""
    narrow = clone(estimator)
    packed = fit_packed(narrow, X, lambda rows: narrow.fit(rows, target, **params))
    assert packed is not None
    return packed


def fitted(estimator, X, target, **params):
    """The estimator, packed and widened again, and plain."""
    plain = clone(estimator).fit(X, target, **params)
    return widened(pack(estimator, X, target, **params)), plain


def assert_same(packed, plain, rtol=0.0, atol=0.0):
    """The same fitted attributes, but for the form of the weights."""
    assert vars(packed).keys() == vars(plain).keys()
    for name, value in vars(plain).items():
        mine = vars(packed)[name]
        if name == "coef_":
            assert sp.issparse(mine)
            assert mine.dtype == value.dtype
            assert mine.has_canonical_format
            assert mine.shape == np.atleast_2d(value).shape
            np.testing.assert_allclose(
                mine.toarray(), np.atleast_2d(value), rtol=rtol, atol=atol, err_msg=name
            )
        elif isinstance(value, np.ndarray | float) and name != "n_iter_":
            assert np.shape(mine) == np.shape(value), name
            np.testing.assert_allclose(mine, value, rtol=rtol, atol=atol, err_msg=name)
        elif isinstance(value, int | str | None) and name != "n_iter_":
            assert mine == value, name


def rounding(name):
    """How old versions of BLAS round an average depends on the number of columns."""
    return 1e-12 if "average" in name else 0.0


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", EXACT)
def test_solvers_that_go_by_rows_give_the_same_to_the_last_bit(name, n_classes):
    X, target = problem(n_classes=n_classes)
    assert_same(*fitted(EXACT[name], X, target), rtol=rounding(name))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", CLOSE)
def test_other_solvers_give_the_same_within_their_tolerance(name, n_classes):
    X, target = problem(n_classes=n_classes)
    assert_same(*fitted(CLOSE[name], X, target), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("solver", ["liblinear"])
@pytest.mark.parametrize("dual", [False, True])
def test_liblinear_of_logistic_regression(solver, dual):
    X, target = problem(n_classes=2)
    estimator = LogisticRegression(solver=solver, dual=dual, tol=1e-8, random_state=0)
    same = {"rtol": 0.0} if dual else {"rtol": 1e-4, "atol": 1e-6}
    assert_same(*fitted(estimator, X, target), **same)


@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_a_packed_estimator_predicts_as_a_plain_one(name):
    X, target = problem()
    estimator = {**EXACT, **CLOSE}[name]
    packed, plain = pack(estimator, X, target), clone(estimator).fit(X, target)
    other, _ = problem(seed=1)
    for mine in (packed, widened(packed), pickle.loads(pickle.dumps(packed))):
        scores = mine.decision_function(other)
        np.testing.assert_allclose(scores, plain.decision_function(other), rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(mine.predict(X.toarray()), plain.predict(X))
        np.testing.assert_array_equal(mine.classes_, plain.classes_)
        assert hasattr(mine, "predict_proba") == hasattr(plain, "predict_proba")
        if hasattr(plain, "predict_proba"):
            proba = mine.predict_proba(other)
            np.testing.assert_allclose(proba, plain.predict_proba(other), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n_rows", [N_FEATURES - 1, N_FEATURES, 130, 110])
def test_dual_is_decided_at_full_width(n_rows):
    X, target = problem(n_rows)
    packed, plain = fitted(LinearSVC(tol=0.1, random_state=0), X, target)
    dual = n_rows < N_FEATURES
    assert packed.dual == "auto"
    assert_same(packed, plain, **({} if dual else {"rtol": 1e-6, "atol": 1e-9}))


def test_weights_of_rows_and_classes_count():
    X, target = problem()
    weight = 1.0 + np.arange(len(target)) % 3
    estimator = LinearSVC(dual=True, class_weight={0: 2.0}, random_state=0)
    assert_same(*fitted(estimator, X, target, sample_weight=weight))


def test_targets_of_several_labels():
    X, target = problem()
    several = np.column_stack([target == 0, target % 2]).astype(int)
    assert_same(*fitted(CLOSE["ridge"], X, several), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scaler", [MaxAbsScaler(), StandardScaler(with_mean=False)])
def test_pipelines_whose_steps_act_on_each_column(scaler):
    X, target = problem()
    steps = (scaler, LinearSVC(dual=True, tol=0.1, random_state=0))
    packed, plain = fitted(make_pipeline(*steps), X, target)
    for mine, theirs in zip(packed, plain, strict=True):
        assert_same(mine, theirs)
    assert packed.n_features_in_ == N_FEATURES
    np.testing.assert_array_equal(packed.predict(X), plain.predict(X))
    # Columns that no training row had pass through the scaler as they would.
    new = sp.csr_matrix(np.eye(3, N_FEATURES))
    np.testing.assert_array_equal(
        packed[0].transform(new).toarray(), plain[0].transform(new).toarray()
    )


def test_a_pipeline_with_steps_left_out():
    X, target = problem()
    pipeline = make_pipeline("passthrough", Perceptron(random_state=0))
    packed, plain = fitted(pipeline, X, target)
    assert_same(packed[-1], plain[-1])


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_estimators_inside_a_calibrated_one(ensemble, method):
    X, target = problem(n_rows=80)
    estimator = CalibratedClassifierCV(
        LinearSVC(tol=0.1, random_state=0), ensemble=ensemble, method=method, cv=3
    )
    packed, plain = fitted(estimator, X, target)
    pairs = zip(packed.calibrated_classifiers_, plain.calibrated_classifiers_, strict=True)
    for mine, theirs in pairs:
        assert_same(mine.estimator, theirs.estimator)
    assert packed.n_features_in_ == N_FEATURES
    np.testing.assert_allclose(packed.predict_proba(X), plain.predict_proba(X), rtol=1e-12)


def test_folds_of_which_it_is_not_known_how_they_are_solved_have_all_columns():
    X, target = problem(n_rows=200)
    estimator = CalibratedClassifierCV(LinearSVC(random_state=0), cv=3)
    packed = fit_packed(estimator, X, lambda rows: estimator.fit(rows, target))
    np.testing.assert_array_equal(packed.columns, np.arange(N_FEATURES))
    plain = clone(estimator).fit(X, target)
    np.testing.assert_array_equal(widened(packed).predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize(
    "estimator",
    [
        MultinomialNB(),
        LinearSVC(penalty="l1", dual=False),
        LogisticRegression(solver="liblinear", l1_ratio=1),
        LogisticRegression(warm_start=True),
        SGDClassifier(warm_start=True),
        make_pipeline(Normalizer(), LinearSVC()),
        make_pipeline(TfidfTransformer(), LinearSVC()),
        make_pipeline(StandardScaler(), LinearSVC()),
        make_pipeline(MaxAbsScaler(), MultinomialNB()),
        make_pipeline(LinearSVC(), "passthrough"),
        CalibratedClassifierCV(MultinomialNB()),
        type("Special", (LinearSVC,), {})(),
        object(),
    ],
)
def test_what_cannot_be_packed_is_left_alone(estimator):
    X, _ = problem()
    assert not can_be_packed(estimator)
    assert fit_packed(estimator, X, lambda rows: pytest.fail("it was fitted")) is None


def test_other_rows_are_left_alone():
    X, _ = problem()
    for rows in (X.toarray(), X.tocsc(), [["a"], ["b"]]):
        assert fit_packed(LinearSVC(), rows, lambda rows: pytest.fail("it was fitted")) is None


@pytest.mark.parametrize("name", ["svc, default", "sgd", "logistic"])
def test_all_columns_are_kept_where_most_of_them_occur(name):
    X, target = problem()
    rows = X[:, X.getnnz(axis=0) > 0]
    estimator = (EXACT | CLOSE)[name]
    packed, plain = pack(estimator, rows, target), clone(estimator).fit(rows, target)
    np.testing.assert_array_equal(packed.columns, np.arange(rows.shape[1]))
    assert packed.narrow(rows) is rows
    for wide in (widened(packed), unpacked(packed)):
        np.testing.assert_array_equal(wide.coef_, plain.coef_)
        assert isinstance(wide.coef_, np.ndarray)
    np.testing.assert_array_equal(packed.decision_function(rows), plain.decision_function(rows))


@pytest.mark.parametrize(
    "change",
    [with_int64, with_zeros, with_duplicates, sp.csr_array, lambda X: X.astype(np.float32)],
    ids=["int64", "zeros", "duplicates", "array", "float32"],
)
@pytest.mark.parametrize("name", ["svc", "sgd", "logistic, saga"])
def test_kinds_of_rows(change, name):
    X, target = problem()
    X = change(X)
    # scikit-learn takes 32-bit indices only, which narrow rows have in any case.
    plain_rows = X if change is not with_int64 else problem()[0]
    plain = clone(EXACT[name]).fit(plain_rows, target)
    assert_same(widened(pack(EXACT[name], X, target)), plain)


def test_unsorted_columns_keep_their_order():
    X, target = problem()
    X = unsorted(X)
    before = X.indices.copy()
    columns = columns_of(X)
    narrow = renumbered(X, columns)
    np.testing.assert_array_equal(columns[narrow.indices], before)
    np.testing.assert_array_equal(X.indices, before)
    assert narrow.shape == (len(target), len(columns))
    assert narrow.indices.dtype == narrow.indptr.dtype == np.int32


def test_rows_are_renumbered():
    for seed in range(3):
        X, _ = problem(seed=seed)
        columns = columns_of(X)
        np.testing.assert_array_equal(columns, np.unique(X.indices))
        np.testing.assert_array_equal(renumbered(X, columns).toarray(), X.toarray()[:, columns])


def test_rows_without_entries():
    X = sp.csr_matrix((4, N_FEATURES))
    packed, plain = fitted(LinearSVC(dual=True, random_state=0), X, np.array([0, 1, 0, 1]))
    assert_same(packed, plain)
    assert packed.coef_.nnz == 0


def test_an_error_leaves_parameters_as_they_were():
    X, target = problem()
    X.data[3] = np.nan
    estimator = LinearSVC()
    with pytest.raises(ValueError, match="NaN"):
        fit_packed(estimator, X, lambda rows: estimator.fit(rows, target))
    assert estimator.dual == "auto"


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", ["sgd", "sgd, average", "sgd, average later", "perceptron"])
def test_an_unpacked_estimator_goes_on_learning(name, n_classes):
    X, target = problem(n_classes=n_classes)
    dense = unpacked(pack(EXACT[name], X, target))
    plain = clone(EXACT[name]).fit(X, target)
    new, _ = problem(n_classes=n_classes, seed=1)
    for estimator in (dense, plain):
        estimator.partial_fit(new, target)
    np.testing.assert_allclose(dense.coef_, plain.coef_, rtol=rounding(name))
    np.testing.assert_allclose(dense.intercept_, plain.intercept_, rtol=rounding(name))


def left_out(weights, smallest):
    """Weights with zeros for the small ones."""
    return np.where(np.abs(weights) < smallest, 0, weights)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_small_weights_and_columns_without_weights_are_left_out(n_classes):
    X, target = problem(n_classes=n_classes)
    pipeline = make_pipeline(MaxAbsScaler(), EXACT["svc"])
    packed, plain = pack(pipeline, X, target), clone(pipeline).fit(X, target)
    n_columns = len(packed.columns)
    small = without_small_weights(packed, 0.3)
    left = left_out(plain[-1].coef_, 0.3)
    np.testing.assert_array_equal(small.columns, np.flatnonzero(left.any(axis=0)))
    assert 0 < len(small.columns) < n_columns
    assert small.estimator[0].scale_.shape == small.columns.shape
    np.testing.assert_array_equal(widened(small)[-1].coef_.toarray(), left)
    for rows in (X, X.astype(np.float32), X.toarray()):
        scores = plain[0].transform(rows) @ left.T + plain[-1].intercept_
        expected = scores if n_classes == 4 else scores[:, 0]
        np.testing.assert_allclose(small.decision_function(rows), expected, atol=1e-6)


def test_weights_are_sparse_where_that_is_smaller():
    X, target = problem()
    few, many = (without_small_weights(pack(EXACT["svc"], X, target), s) for s in (0.5, 1e-9))
    assert few.estimator.coef_.format == "csc"
    assert few.double
    assert isinstance(many.estimator.coef_, np.ndarray)
    assert many.estimator.coef_.flags.f_contiguous
    assert not many.double
    assert dense_narrow(many) is many.estimator
    expected = few.estimator.coef_.toarray()
    np.testing.assert_array_equal(dense_narrow(few).coef_, expected)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_classifier_all_of_whose_weights_are_small_keeps_a_column(n_classes):
    X, target = problem(n_classes=n_classes)
    small = without_small_weights(pack(EXACT["sgd, average"], X, target), 1e9)
    assert len(small.columns) == 1
    intercept = small.estimator.intercept_
    expected = np.tile(intercept, (3, 1)) if n_classes == 4 else np.tile(intercept, 3)
    np.testing.assert_array_equal(small.decision_function(X[:3]), expected)


def test_small_weights_inside_calibrated_classifiers_are_left_out():
    X, target = problem()
    model = CalibratedClassifierCV(EXACT["svc"], cv=2)
    packed = pack(model, X, target)
    small = without_small_weights(pickle.loads(pickle.dumps(packed)), 0.3)
    for pair, wide in zip(
        widened(packed).calibrated_classifiers_, widened(small).calibrated_classifiers_, strict=True
    ):
        expected = left_out(pair.estimator.coef_.toarray(), 0.3)
        np.testing.assert_array_equal(wide.estimator.coef_.toarray(), expected)
    np.testing.assert_allclose(small.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("n_rows", [1, 60])  # few entries are searched, many looked up
@pytest.mark.parametrize("change", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, np.asarray])
@pytest.mark.parametrize("columns", [[0, 7, 8, 200, N_FEATURES - 1], [3], range(N_FEATURES)])
def test_columns_are_selected(change, columns, n_rows):
    rows = problem()[0].toarray()[:n_rows]
    if n_rows == 1:
        rows[0, np.flatnonzero(rows)[5:]] = 0
    columns = np.array(columns, dtype=np.int32)
    found = select_columns(change(rows), columns)
    assert found.shape == (n_rows, len(columns))
    found = found.toarray() if sp.issparse(found) else found
    np.testing.assert_array_equal(found, rows[:, columns])


@pytest.mark.parametrize("n_rows", [1, 2, 10, 60])  # few entries, or more than weights
@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_are_those_of_narrow_rows_to_the_last_bit(n_rows, n_classes):
    X, target = problem()
    packed = pack(EXACT["svc"], X, target % n_classes)
    some = np.arange(0, len(packed.columns), 3)
    part = Packed(copy(packed.estimator), packed.columns[some], X.shape[1])
    part.estimator.coef_ = packed.estimator.coef_[:, some]
    part.estimator.n_features_in_ = len(some)
    for fitted in (packed, part):
        expected = fitted.decision_function(X[:n_rows])
        np.testing.assert_array_equal(linear_scores(fitted, X[:n_rows]), expected)
        np.testing.assert_array_equal(linear_choice(fitted, X[:n_rows]), fitted.predict(X[:n_rows]))


def test_what_is_shown_stays_the_same_as_long_as_it_is_in_use():
    X, target = problem()
    packed = pack(EXACT["sgd"], X, target)
    first = shown(packed)
    assert shown(packed) is first
    assert first.coef_.shape == (4, N_FEATURES)
    assert shown(first) is first
    assert unpacked(first) is first


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("rows", [[0], [], [5, 2, 2, 59], range(60), [3] * 70])
def test_a_few_rows_are_taken_as_by_the_index_of_the_matrix(kind, rows):
    X = kind(problem()[0])
    rows = np.array(rows, dtype=np.intp)
    found, expected = take_rows(X, rows), X[rows]
    assert type(found) is type(expected)
    assert found.shape == expected.shape
    for name in ("data", "indices", "indptr"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype
    assert not np.shares_memory(found.data, X.data)
    found.data[:] = 0
    np.testing.assert_array_equal(X.toarray(), problem()[0].toarray())
