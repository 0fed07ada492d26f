"""Threads: where they are used, and that the model does not depend on them."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from engine_helpers import make_data
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC

from hiclass import FlatClassifier, LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._engine import copies as _copies
from hiclass._engine import fit as _fit
from hiclass._engine import liblinear as _liblinear
from hiclass._engine.copies import Copies
from hiclass._engine.liblinear import alone

#: So far from converging that another random number gives other weights.
ROUGH = {"dual": True, "tol": 1e-9, "max_iter": 4, "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore:Liblinear failed to converge")


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """A function that returns the processes in which batches were fitted."""
    path = tmp_path / "workers"
    monkeypatch.setattr(_fit, "fit_batch", partial(note, path, _fit.fit_batch))
    return lambda: {int(line) for line in path.read_text().split()} if path.exists() else set()


def note(path, work, *args):
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\n")
    return work(*args)


@pytest.fixture
def no_copies(monkeypatch):
    """As where the folder for temporary files does not let code be loaded."""
    monkeypatch.setattr(_copies, "copy_of", lambda module: None)
    monkeypatch.setattr(_liblinear, "_modules", Copies(_liblinear.svm_liblinear))


class Own(LinearSVC):
    """A subclass with a fit of its own."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight)


def text(n_rows=1200, n_features=400):
    """Sparse rows with some words for each class; most columns do not occur below the root."""
    rng = np.random.default_rng(0)
    y = np.array([[f"a{i % 4}", f"b{i // 4 % 5}"] for i in range(n_rows)])
    first = np.arange(n_rows) % 20 * 18
    X = sp.lil_matrix((n_rows, n_features))
    for i in range(n_rows):
        X[i, first[i] + rng.integers(0, 40, 8)] = rng.random(8)
    return X.tocsr(), y


def weights(model):
    """All fitted numbers of a model."""
    found = {}
    for path, estimator in model.local_classifiers_.items():
        for i, coef in enumerate(_coefficients(estimator)):
            found[path, i] = coef.toarray() if sp.issparse(coef) else coef
    return found


def _coefficients(estimator):
    if hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    estimator = getattr(estimator, "best_estimator_", estimator)
    if hasattr(estimator, "calibrated_classifiers_"):
        return [pair.estimator.coef_ for pair in estimator.calibrated_classifiers_]
    if hasattr(estimator, "estimators_"):
        return [part.coef_ for part in estimator.estimators_]
    if isinstance(estimator, SVC):
        return [estimator.probA_, estimator.probB_]
    return [estimator.coef_, estimator.intercept_]


def assert_same(one, other):
    mine, theirs = weights(one), weights(other)
    assert mine.keys() == theirs.keys()
    for key, value in theirs.items():
        np.testing.assert_array_equal(mine[key], value, err_msg=str(key))


def differ(one, other):
    mine, theirs = weights(one), weights(other)
    return any(not np.array_equal(mine[key], value) for key, value in theirs.items())


# -- the same model ----------------------------------------------------------------------------


def _large_indices(X):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


SVMS = {
    "quick": (LinearSVC(**ROUGH), None),
    "hinge": (LinearSVC(**ROUGH, loss="hinge", class_weight="balanced"), None),
    "dense": (LinearSVC(**ROUGH), lambda X: X.toarray()),
    "float32": (LinearSVC(**ROUGH), lambda X: X.astype(np.float32)),
    "dense float32": (LinearSVC(**ROUGH), lambda X: X.toarray().astype(np.float32)),
    "int64": (LinearSVC(**ROUGH), _large_indices),
    "crammer_singer": (LinearSVC(**ROUGH, multi_class="crammer_singer"), None),
    "generator": (LinearSVC(**ROUGH | {"random_state": np.random.RandomState(3)}), None),
    "subclass": (Own(**ROUGH), None),
    "calibrated": (CalibratedClassifierCV(LinearSVC(**ROUGH), cv=2), None),
    "calibrated by default": (CalibratedClassifierCV(cv=2), None),
    "pipeline": (make_pipeline(MaxAbsScaler(), LinearSVC(**ROUGH)), None),
    "one by one": (OneVsRestClassifier(LinearSVC(**ROUGH)), None),
    "bag": (BaggingClassifier(LinearSVC(**ROUGH), 2, random_state=0), None),
    "search": (GridSearchCV(LinearSVC(**ROUGH), {"C": [0.1, 1.0]}, cv=2), None),
}


@pytest.mark.parametrize("kind", SVMS)
def test_threads_give_the_model_of_one_to_the_last_bit(kind):
    estimator, convert = SVMS[kind]
    X, y = text()
    X = convert(X) if convert else X
    if kind == "int64":  # more columns than the half of them occur at the root
        X.resize(len(y), 1000)
    one = LocalClassifierPerParentNode(estimator).fit(X, y)
    for n_jobs in (2, 5):
        with joblib.parallel_config(backend="threading"):
            threads = LocalClassifierPerParentNode(estimator, n_jobs=n_jobs).fit(X, y)
        assert_same(threads, one)


def test_both_weights_give_the_model_of_one_thread():
    X, y = text()
    weight = np.linspace(1, 2, len(y))
    estimator = LinearSVC(**ROUGH, class_weight="balanced")
    one = LocalClassifierPerNode(estimator).fit(X, y, sample_weight=weight)
    with joblib.parallel_config(backend="threading"):
        threads = LocalClassifierPerNode(estimator, n_jobs=3).fit(X, y, sample_weight=weight)
    assert_same(threads, one)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(solver="liblinear", dual=True, max_iter=3, random_state=0),
        GridSearchCV(
            LogisticRegression(dual=True, max_iter=3, random_state=0, solver="liblinear"),
            {"C": [0.1, 1.0]},
            cv=2,
        ),
    ],
    ids=["logistic", "search"],
)
def test_other_uses_of_liblinear_give_the_model_of_one_thread(estimator):
    X, y = text()
    one = LocalClassifierPerNode(estimator).fit(X, y)
    with joblib.parallel_config(backend="threading"):
        threads = LocalClassifierPerNode(estimator, n_jobs=3).fit(X, y)
    assert_same(threads, one)


def test_the_numbers_that_are_drawn_matter_here():
    """Otherwise these tests would show nothing."""
    X, y = text()
    models = [
        LocalClassifierPerParentNode(LinearSVC(**ROUGH | {"random_state": seed})).fit(X, y)
        for seed in (0, 1)
    ]
    assert differ(*models)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_other_fits_at_the_same_time_change_nothing(dtype):
    """Fits of ours in threads of the user, and scikit-learn's own where ours are quick."""
    X, y = text()
    X = X.astype(dtype)
    make = partial(LocalClassifierPerParentNode, LinearSVC(**ROUGH))
    expected = make().fit(X, y)
    over = threading.Event()

    def disturb():
        while not over.is_set():
            LinearSVC(**ROUGH).fit(X, y[:, 0])

    with ThreadPoolExecutor(4) as pool:
        noise = pool.submit(disturb) if dtype is np.float64 else None
        try:
            for found in pool.map(lambda n: make(n_jobs=n).fit(X, y), (1, 2, 2, 1, None, 2)):
                assert_same(found, expected)
        finally:
            over.set()
    assert noise is None or noise.exception() is None


def test_repeated_fits_load_no_more_copies():
    X, y = text()
    model = LocalClassifierPerParentNode(LinearSVC(**ROUGH), n_jobs=2)
    model.fit(X, y)
    before = len(_liblinear._modules._free)
    for _ in range(3):
        model.fit(X, y)
    assert len(_liblinear._modules._free) <= max(before, 2)


# -- where they are used -----------------------------------------------------------------------


def test_a_linear_svc_is_fitted_in_threads(workers):
    X, y = text()
    model = LocalClassifierPerParentNode(LinearSVC(**ROUGH), n_jobs=2).fit(X, y)
    assert workers() == {os.getpid()}
    assert_same(model, LocalClassifierPerParentNode(LinearSVC(**ROUGH)).fit(X, y))


def test_so_are_those_of_a_factory(workers):
    X, y = text()

    def factory(path):
        return LinearSVC(**ROUGH) if len(path) < 1 else GaussianNB()

    model = LocalClassifierPerParentNode(factory, n_jobs=2).fit(X.toarray(), y)
    assert workers() == {os.getpid()}
    assert {type(e) for e in model.local_classifiers_.values()} == {LinearSVC, GaussianNB}


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        Own(**ROUGH),
        CalibratedClassifierCV(LinearSVC(**ROUGH), cv=2),
        LinearSVC(**ROUGH, multi_class="crammer_singer"),
    ],
    ids=["other", "subclass", "calibrated", "crammer_singer"],
)
def test_others_are_fitted_in_processes(workers, estimator):
    X, y = make_data()
    LocalClassifierPerParentNode(clone(estimator), n_jobs=2).fit(X, y)
    assert workers()
    assert os.getpid() not in workers()


def test_rows_that_are_converted_for_every_fit_are_fitted_in_processes(workers):
    X, y = text()
    LocalClassifierPerParentNode(LinearSVC(**ROUGH), n_jobs=2).fit(X.astype(np.float32), y)
    assert os.getpid() not in workers()


@pytest.mark.parametrize(
    "settings",
    [{"backend": "loky"}, {"prefer": "processes"}],
    ids=lambda settings: next(iter(settings.values())),
)
def test_processes_that_the_user_asks_for_are_used(workers, settings):
    X, y = text()
    with joblib.parallel_config(**settings):
        model = LocalClassifierPerParentNode(LinearSVC(**ROUGH), n_jobs=2).fit(X, y)
    assert workers()
    assert os.getpid() not in workers()
    assert_same(model, LocalClassifierPerParentNode(LinearSVC(**ROUGH)).fit(X, y))


def test_one_job_has_no_workers(workers):
    X, y = text()
    with joblib.parallel_config(n_jobs=1):
        LocalClassifierPerParentNode(LinearSVC(**ROUGH)).fit(X, y)
    assert workers() == set()


def test_a_number_of_jobs_in_the_settings_of_joblib_is_no_choice_of_a_backend(workers):
    X, y = text()
    with joblib.parallel_config(n_jobs=2):
        LocalClassifierPerParentNode(LinearSVC(**ROUGH)).fit(X, y)
    assert workers() == {os.getpid()}


def test_a_single_problem_starts_no_processes(workers):
    X, y = make_data()
    FlatClassifier(GaussianNB(), n_jobs=2).fit(X, y)
    assert workers() == set()
    with joblib.parallel_config(backend="loky"):
        FlatClassifier(GaussianNB(), n_jobs=2).fit(X, y)
    assert os.getpid() not in workers()


# -- without copies ----------------------------------------------------------------------------


def test_without_copies_a_linear_svc_is_fitted_in_processes(workers, no_copies):
    X, y = text()
    model = LocalClassifierPerParentNode(LinearSVC(**ROUGH), n_jobs=2).fit(X, y)
    assert workers()
    assert os.getpid() not in workers()
    assert_same(model, LocalClassifierPerParentNode(LinearSVC(**ROUGH)).fit(X, y))


def test_without_copies_threads_take_turns(no_copies):
    X, y = text()
    one = LocalClassifierPerParentNode(LinearSVC(**ROUGH)).fit(X, y)
    with joblib.parallel_config(backend="threading"):
        threads = LocalClassifierPerParentNode(LinearSVC(**ROUGH), n_jobs=4).fit(X, y)
    assert_same(threads, one)


# -- the lock ----------------------------------------------------------------------------------


class Wrapper(ClassifierMixin, BaseEstimator):
    """A classifier with anything as a parameter."""

    def __init__(self, inside=None):
        self.inside = inside

    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (LinearSVC(), False),  # takes care of itself
        (Wrapper(LinearSVC()), True),
        (Wrapper({"C": [1], "estimator": [GaussianNB(), LinearSVC()]}), True),
        (Wrapper([("svc", Wrapper(LinearSVC()))]), True),
        (Wrapper(LinearSVC), False),  # a class, not an estimator
        (CalibratedClassifierCV(), True),
        (CalibratedClassifierCV(GaussianNB()), False),
        (LogisticRegression(solver="liblinear"), True),
        (LogisticRegression(), False),
        (GridSearchCV(LogisticRegression(), {"solver": ["lbfgs", "liblinear"]}), True),
        (SVC(), False),
        (SVC(probability=True), True),
        (3, False),  # no estimator at all
    ],
    ids=str,
)
def test_what_draws_from_the_generator_of_the_process_holds_its_lock(estimator, expected):
    assert (alone(estimator) is _liblinear._turn) is expected


def test_an_estimator_that_knows_itself_is_looked_through_once():
    estimator = Wrapper([LinearSVC()])
    estimator.inside.insert(0, estimator)
    assert alone(estimator) is _liblinear._turn
    estimator.inside = [estimator]
    assert alone(estimator) is not _liblinear._turn


class InThreads(ClassifierMixin, BaseEstimator):
    """Fits a model in threads of its own, which are not those of the engine."""

    def __init__(self, inside=None):
        self.inside = inside

    def fit(self, X, y):
        rows = [["a", str(code)] for code in y.tolist()]
        with ThreadPoolExecutor(2) as pool:
            fits = [pool.submit(clone(self.inside).fit, X, rows) for _ in range(2)]
            self.models_ = [one.result(timeout=60) for one in fits]
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.models_[0].predict(X)[:, 1].astype(int)


@pytest.mark.parametrize("inside", [LinearSVC(), LinearSVC(multi_class="crammer_singer")])
def test_threads_of_a_local_classifier_do_not_wait_for_the_engine(inside, monkeypatch):
    monkeypatch.setattr(_liblinear, "_works", None)  # as on the first use in a process
    X = np.random.default_rng(0).normal(size=(1200, 3))
    y = [["a", "x"], ["a", "y"], ["b", "z"], ["b", "w"]] * 300
    local = InThreads(LocalClassifierPerParentNode(inside))
    with joblib.parallel_config("threading"):
        model = LocalClassifierPerParentNode(local, n_jobs=2).fit(X, y)
    assert model.predict(X).shape == (1200, 2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_inside_a_local_classifier_does_not_wait_for_itself(n_jobs):
    X, y = text()
    inner = LocalClassifierPerNode(CalibratedClassifierCV(LinearSVC(**ROUGH), cv=2), n_jobs=2)
    with joblib.parallel_config(backend="threading"):
        model = LocalClassifierPerParentNode(Wrapped(inner), n_jobs=n_jobs).fit(X, y)
    assert len(model.local_classifiers_) == 5


class Wrapped(ClassifierMixin, BaseEstimator):
    """A hierarchical classifier as a local one."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.fitted_ = clone(self.model).fit(X, y)
        self.classes_ = self.fitted_.classes_
        return self

    def predict_proba(self, X):
        return self.fitted_.predict_proba(X)
