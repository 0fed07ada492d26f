"""Many local classifiers in one call: the same models as one after the other, to the last bit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from hiclass import FastLinearSVC, LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._engine import fit as engine
from hiclass._engine.fit import Shared, Task
from hiclass._engine.together import fit_tasks
from hiclass._linear import fast_svc
from hiclass._linear.kernel import solve_problems
from hiclass._rows import largest_norm
from hiclass._state import Packed

N_FEATURES = 120


@pytest.fixture
def plain(monkeypatch):
    """The solver as plain Python."""
    monkeypatch.setattr(fast_svc, "compiled", lambda: solve_problems)


def documents(n_rows=90, seed=0):
    """Sparse rows of 2 x 3 x 2 classes; each class has words of its own."""
    draw = np.random.default_rng(seed)
    leaf = np.arange(n_rows) % 12
    y = np.column_stack([leaf // 6, leaf // 2, leaf])
    own = 5 * leaf[:, None] + draw.integers(0, 5, (n_rows, 3))
    other = draw.integers(60, N_FEATURES, (n_rows, 2))
    columns = np.concatenate([own, other], axis=1)
    values = draw.uniform(0.2, 1, columns.shape)
    X = sp.csr_matrix(
        (values.ravel(), columns.ravel(), np.arange(0, columns.size + 1, 5)), (n_rows, N_FEATURES)
    )
    X.sum_duplicates()
    return X, y.astype(str)


def one_by_one(monkeypatch):
    monkeypatch.setattr(engine, "fit_tasks", lambda tasks, X, shared: [None] * len(tasks))


def assert_same(model, other, X):
    assert model.local_classifiers_.keys() == other.local_classifiers_.keys()
    for key, mine in model.local_classifiers_.items():
        theirs = other.local_classifiers_[key]
        assert vars(mine).keys() == vars(theirs).keys()
        assert (mine.coef_ != theirs.coef_).sum() == 0
        assert (mine.coef_.dtype, mine.n_iter_) == (theirs.coef_.dtype, theirs.n_iter_)
        np.testing.assert_array_equal(mine.intercept_, theirs.intercept_)
        np.testing.assert_array_equal(mine.classes_, theirs.classes_)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


def by_path(path):
    """Other parameters, or another classifier, for every node."""
    if len(path) == 1:
        return LinearSVC(dual=True, random_state=0)
    return FastLinearSVC(C=1.0 + len(path), random_state=len(path))


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("strategy", [LocalClassifierPerNode, LocalClassifierPerParentNode])
@pytest.mark.parametrize(
    "estimator",
    [FastLinearSVC(random_state=0), FastLinearSVC(loss="hinge", fit_intercept=False), by_path],
    ids=["default", "hinge", "by path"],
)
@pytest.mark.parametrize("min_coef", [0.0, 0.05])
def test_is_the_model_of_one_after_the_other(strategy, estimator, n_jobs, min_coef, monkeypatch):
    X, y = documents()
    options = {"n_jobs": n_jobs, "random_state": 0, "min_coef": min_coef}
    called = []
    fit = engine.fit_tasks
    monkeypatch.setattr(engine, "fit_tasks", lambda *args: called.append(args) or fit(*args))
    model = strategy(estimator, **options).fit(X, y)
    assert called
    one_by_one(monkeypatch)
    assert_same(model, strategy(estimator, **options).fit(X, y), X)


@pytest.mark.heavy
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_compiled_it_is_the_same_too(n_jobs, monkeypatch):
    pytest.importorskip("numba")
    X, y = documents(2000)
    model = LocalClassifierPerParentNode(FastLinearSVC(), n_jobs=n_jobs, random_state=0).fit(X, y)
    one_by_one(monkeypatch)
    other = LocalClassifierPerParentNode(FastLinearSVC(), random_state=0).fit(X, y)
    assert_same(model, other, X)


# -- which tasks -------------------------------------------------------------------------------


ROWS = np.arange(20)


def task(estimator, target=ROWS % 2, X=None):
    return Task(0, False, estimator, ROWS, target, "a class", X)


def are_fitted(X, *estimators, **changes):
    """Which of them are fitted in one call."""
    tasks = [task(estimator) for estimator in estimators]
    return [found is not None for found in fit_tasks(tasks, X, shared_of(X, **changes))]


def shared_of(X, **changes):
    usual = {"fit_params": {}, "per_row": frozenset(), "checkpoint_dir": None}
    return Shared(**usual | {"norm": largest_norm(X)} | changes)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        FastLinearSVC(solver="liblinear"),
        FastLinearSVC(class_weight="balanced"),
        FastLinearSVC(class_weight={0: 2.0}),
        FastLinearSVC(C=-1),
        FastLinearSVC(random_state=-1),
        FastLinearSVC(tol=1e-4),  # in double precision
        type("Sub", (FastLinearSVC,), {})(),
    ],
    ids=str,
)
def test_other_estimators_are_fitted_alone(estimator):
    X, _ = documents()
    drawn = FastLinearSVC(random_state=np.random.RandomState(0))
    assert are_fitted(X, FastLinearSVC(), estimator, drawn) == [True, False, True]


def read_only(X):
    X.data.flags.writeable = False
    return X


def with_long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def with_duplicates(X):
    parts = (np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr)
    return sp.csr_matrix(parts, shape=X.shape)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.toarray(),
        lambda X: X.tocsc(),
        lambda X: 1000 * X,
        lambda X: X * np.nan,
        lambda X: X.astype(int),
        read_only,
        with_long_indices,
        with_duplicates,
        lambda X: None,
    ],
    ids=["dense", "csc", "long", "nan", "int", "read only", "int64", "duplicates", "none"],
)
def test_unusual_rows_are_fitted_alone(change):
    X = change(documents()[0])
    assert are_fitted(X, FastLinearSVC()) == [False]


@pytest.mark.usefixtures("plain")
def test_weights_checkpoints_and_rows_of_a_task_are_fitted_alone():
    X, _ = documents()
    weights = {"sample_weight": np.ones(X.shape[0])}
    assert are_fitted(X, FastLinearSVC(), fit_params=weights) == [False]
    assert are_fitted(X, FastLinearSVC(), checkpoint_dir="somewhere") == [False]
    assert fit_tasks([task(FastLinearSVC(), X=X)], X, shared_of(X)) == [None]


@pytest.mark.usefixtures("plain")
def test_a_class_without_rows_leaves_everything_to_the_single_fits():
    X, _ = documents()
    good, gap = (task(FastLinearSVC(random_state=0), target) for target in (ROWS % 2, ROWS % 2 * 2))
    assert fit_tasks([good, gap], X, shared_of(X)) == [None, None]
    assert not hasattr(good.estimator, "coef_")
    fitted = engine.fit_batch([good, gap], X, shared_of(X))
    assert [type(done.estimator) for done in fitted] == [Packed, Packed]
    assert fitted[1].estimator.classes_.tolist() == [0, 2]


@pytest.mark.usefixtures("plain")
def test_an_error_names_the_classifier():
    X, y = documents()
    X.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN") as found:
        LocalClassifierPerParentNode(lambda path: FastLinearSVC(random_state=0)).fit(X, y)
    assert any("while fitting the classifier of" in note for note in found.value.__notes__)


@pytest.mark.usefixtures("plain")
def test_all_columns_are_kept_where_most_occur():
    X, y = documents(120)
    model = LocalClassifierPerParentNode(FastLinearSVC(random_state=0)).fit(X, y)
    assert isinstance(model.local_classifiers_[()].coef_, np.ndarray)
    assert sp.issparse(model.local_classifiers_[("0", "0")].coef_)
