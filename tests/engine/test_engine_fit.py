"""The engine: whoever does the work, the model is the same, and nothing is lost or left behind."""

import gc
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import warnings
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import psutil
import pytest
import scipy.sparse as sp
import sklearn
from engine_helpers import N_ROWS, PARENT_ROWS, ROOT_ROWS, end_early, logged, make_data
from fakes import BrokenError, Nested, Unruly
from joblib.externals.loky.process_executor import TerminatedWorkerError
from samples import four_quarters
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_info, threadpool_limits

from hiclass import FlatClassifier, LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._engine import fit as _fit

BACKENDS = ["loky", "threading"]
PROCESSES_START_SLOWLY = 60  # seconds, on a busy machine


def assert_same(model, serial, X):
    """Same predictions, parameters within 1e-9."""
    np.testing.assert_array_equal(model.predict(X), serial.predict(X))
    assert list(model.local_classifiers_) == list(serial.local_classifiers_)
    assert list(model._models.gates) == list(serial._models.gates)
    for mine, other in zip(
        model.local_classifiers_.values(), serial.local_classifiers_.values(), strict=True
    ):
        assert parameters(mine).keys() == parameters(other).keys()
        for name, value in parameters(mine).items():
            np.testing.assert_allclose(value, parameters(other)[name], rtol=0, atol=1e-9)


def engine(backend):
    return nullcontext() if backend is None else joblib.parallel_config(backend=backend)


def parameters(estimator):
    """The fitted numbers of a local classifier, or of the last step of a pipeline."""
    last = getattr(estimator, "steps", [(None, estimator)])[-1][1]
    found = {k: v for k, v in vars(last).items() if k in ("coef_", "intercept_", "theta_", "var_")}
    assert found
    return found


# -- the same model from every engine ----------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "weights", "weights and gates"])
def test_workers_give_the_model_of_the_serial_fit(local_class, backend, kind):
    X, y = make_data()
    weights = np.linspace(1, 2, len(y)) if "weights" in kind else None
    if "gates" in kind:
        y = end_early(y)
    estimator = LogisticRegression(max_iter=30, tol=1e-2) if kind == "sparse" else GaussianNB()
    if kind == "sparse":
        X = sp.csr_matrix(np.where(X > 0.5, X, 0))
    serial = local_class(estimator).fit(X, y, sample_weight=weights)
    with joblib.parallel_config(backend=backend):
        model = local_class(estimator, n_jobs=2).fit(X, y, sample_weight=weights)
    assert_same(model, serial, X)


@pytest.mark.parametrize("backend", [*BACKENDS, "multiprocessing"])
def test_frames_and_documents_travel(backend):
    X, y = make_data()
    frame = pd.DataFrame({"number": X[:, 0], "word": [label[-2:] for label in y[:, 1]]})
    columns = ColumnTransformer(
        [("n", "passthrough", ["number"]), ("w", OneHotEncoder(handle_unknown="ignore"), ["word"])]
    )
    documents = [f"{a} {b}" for a, b in y]
    for rows, estimator in (
        (frame, make_pipeline(columns, LogisticRegression(max_iter=20, tol=0.1))),
        (documents, make_pipeline(HashingVectorizer(n_features=64), SGDClassifier(random_state=0))),
    ):
        serial = LocalClassifierPerParentNode(estimator).fit(rows, y)
        with joblib.parallel_config(backend=backend):
            model = LocalClassifierPerParentNode(estimator, n_jobs=2).fit(rows, y)
        assert_same(model, serial, rows)


@pytest.mark.parametrize("n_jobs", [-1, None, 1, 2])
@pytest.mark.parametrize("estimator", [GaussianNB(), LinearSVC(random_state=0)], ids=["NB", "SVC"])
def test_every_number_of_jobs_gives_the_same_model(n_jobs, estimator):
    X, y = make_data()
    serial = LocalClassifierPerNode(estimator).fit(X, y)
    assert_same(LocalClassifierPerNode(estimator, n_jobs=n_jobs).fit(X, y), serial, X)


def test_a_parallel_fit_inside_a_parallel_search():
    X, y = make_data()
    found = [
        GridSearchCV(
            LocalClassifierPerParentNode(GaussianNB(), n_jobs=inner),
            {"local_classifier__var_smoothing": [1e-9, 1.0]},
            cv=2,
            n_jobs=outer,
        ).fit(X, y)
        for inner, outer in ((None, None), (2, 2))
    ]
    scores = [search.cv_results_["mean_test_score"] for search in found]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert_same(found[1].best_estimator_, found[0].best_estimator_, X)


def test_local_classifiers_from_a_factory_are_fitted_by_workers():
    X, y = make_data()

    def factory(path):
        return LogisticRegression(C=0.1, max_iter=20, tol=0.1) if path else GaussianNB()

    serial = LocalClassifierPerParentNode(factory).fit(X, y)
    model = LocalClassifierPerParentNode(factory, n_jobs=2).fit(X, y)
    assert {type(c) for c in model.local_classifiers_.values()} == {LogisticRegression, GaussianNB}
    assert_same(model, serial, X)


def test_random_states_do_not_depend_on_who_fits(local_class):
    X, y = make_data()
    estimator = SGDClassifier(loss="log_loss")
    serial = local_class(estimator, random_state=3).fit(X, y)
    assert_same(local_class(estimator, random_state=3, n_jobs=2).fit(X, y), serial, X)


# -- what travels ------------------------------------------------------------------------------


def spy(path, work, batch, X, shared):
    """Do the work, and write down what came in and how much goes out."""
    done = work(batch, X, shared)
    arrays = X.data if sp.issparse(X) else X
    seen = {
        "pid": os.getpid(),
        "X": type(arrays).__name__,
        "came": len(pickle.dumps([replace(task, name="") for task in batch])),
        "went": len(pickle.dumps(done)),
        "sizes": [len(task.target) for task in batch],
        "brought": [None if task.X is None else len(task.X) for task in batch],
    }
    with open(path, "a") as file:
        file.write(f"{seen}\n")
    return done


@pytest.fixture
def spied(tmp_path, monkeypatch):
    """A function that returns what the workers wrote down."""
    path = tmp_path / "spied"
    monkeypatch.setattr(_fit, "fit_batch", partial(spy, path, _fit.fit_batch))
    return lambda: [eval(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_arrays_are_mapped_and_never_sent(spied, kind):
    X, y = make_data(n_features=300)
    estimator = GaussianNB()
    if kind == "sparse":
        X, estimator = sp.csr_matrix(X), LogisticRegression(max_iter=3, tol=1.0)
    size = X.data.nbytes
    assert size > 2**20
    LocalClassifierPerParentNode(estimator, n_jobs=2).fit(X, y)
    seen = spied()
    assert {entry["X"] for entry in seen} == {"memmap"}
    assert os.getpid() not in {entry["pid"] for entry in seen}
    assert max(entry["came"] for entry in seen) < size / 20
    assert max(entry["went"] for entry in seen) < size / 20


def test_what_cannot_be_mapped_travels_as_the_rows_of_a_task(spied):
    X, y = make_data()
    LocalClassifierPerParentNode(GaussianNB(), n_jobs=2).fit(pd.DataFrame(X), y)
    seen = spied()
    assert {entry["X"] for entry in seen} == {"NoneType"}
    assert all(entry["brought"] == entry["sizes"] for entry in seen)
    assert sorted(size for entry in seen for size in entry["sizes"]) == [*PARENT_ROWS, ROOT_ROWS]


def test_threads_see_x_itself(spied):
    X, y = make_data()
    with joblib.parallel_config(backend="threading"):
        LocalClassifierPerParentNode(GaussianNB(), n_jobs=2).fit(pd.DataFrame(X), y)
    assert {entry["X"] for entry in spied()} == {"DataFrame"}
    assert {entry["pid"] for entry in spied()} == {os.getpid()}


def test_a_fitted_model_holds_neither_rows_nor_weights():
    X, y = make_data(n_features=300)
    model = LocalClassifierPerParentNode(GaussianNB(), n_jobs=2)
    model.fit(X, y, sample_weight=np.ones(len(y)))
    assert len(pickle.dumps(model)) < X.nbytes / 10


# -- scheduling --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_largest_problem_comes_first(tmp_path, n_jobs):
    X, y = make_data()
    log = str(tmp_path / "log")
    with joblib.parallel_config(backend="threading"):
        LocalClassifierPerParentNode(Unruly(log), n_jobs=n_jobs).fit(X, y)
    sizes = logged(log)
    # Two begin at once, and either may be the first to say so.
    assert ROOT_ROWS in sizes[: n_jobs or 1]
    assert sorted(sizes) == [*PARENT_ROWS, ROOT_ROWS]
    if n_jobs is None:
        assert sizes == sorted(sizes, reverse=True)


def test_small_problems_travel_together_and_large_ones_alone():
    sizes = [1000, 600, 130] + [10] * 200
    tasks = [
        _fit.Task(i, False, None, np.arange(n), np.zeros(n), f"task {i}")
        for i, n in enumerate(sizes)
    ]
    batches = list(_fit._batches(iter(tasks), len(tasks), 1000, 2))
    assert [task.owner for batch in batches for task in batch] == list(range(len(sizes)))
    assert [len(batch) for batch in batches[:3]] == [1, 1, 1]
    assert {len(batch) for batch in batches[3:-1]} == {203 // 16}
    many = list(_fit._batches(iter(tasks * 100), 20_300, 1000, 1))
    assert max(map(len, many)) <= _fit._MOST_TASKS


def test_batches_are_consumed_lazily():
    begun = []

    def tasks():
        for i in range(50):
            begun.append(i)
            yield _fit.Task(i, False, None, None, np.zeros(1000), f"task {i}")

    next(_fit._batches(tasks(), 50, 1000, 2))
    assert begun == [0]


class ThreadWatch(ClassifierMixin, BaseEstimator):
    """Notes how many threads libraries would use while it is fitted."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.threads_ = {pool["num_threads"] for pool in threadpool_info()}
        self.apis_ = {pool["user_api"] for pool in threadpool_info()}
        self.config_ = sklearn.get_config()
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


@pytest.mark.parametrize("estimator", [LinearSVC(), SGDClassifier(max_iter=3, tol=None)])
def test_threads_leave_the_warning_filters_as_they_were(estimator):
    """scikit-learn's own Parallel sets them in every task, and threads get in each other's way."""
    X, y = make_data()
    before = list(warnings.filters)
    with joblib.parallel_config(backend="threading"):
        for _ in range(3):
            LocalClassifierPerNode(estimator, n_jobs=2).fit(X, y)
    assert warnings.filters == before


def test_threads_see_the_settings_of_scikit_learn():
    X, y = make_data()
    with (
        joblib.parallel_config(backend="threading"),
        sklearn.config_context(assume_finite=True),
    ):
        model = LocalClassifierPerParentNode(ThreadWatch(), n_jobs=2).fit(X, y)
    assert all(c.config_["assume_finite"] for c in model.local_classifiers_.values())


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_local_classifiers_get_one_thread_and_yours_come_back(n_jobs):
    X, y = make_data()
    with threadpool_limits(2), joblib.parallel_config(backend="threading"):
        model = LocalClassifierPerParentNode(ThreadWatch(), n_jobs=n_jobs).fit(X, y)
        assert {p["num_threads"] for p in threadpool_info()} == {2}
    assert [c.threads_ for c in model.local_classifiers_.values()] == [{1}] * 5
    assert all({"blas", "openmp"} <= c.apis_ for c in model.local_classifiers_.values())


def test_a_single_problem_has_all_threads():
    X, y = make_data()
    with threadpool_limits(2):
        model = FlatClassifier(ThreadWatch()).fit(X, y)
    assert next(iter(model.local_classifiers_.values())).threads_ == {2}


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_a_local_classifier_that_calls_joblib_gets_no_workers_of_its_own(backend):
    X, y = make_data()
    with joblib.parallel_config(backend=backend):
        model = LocalClassifierPerParentNode(Nested(), n_jobs=2).fit(X, y)
    for estimator in model.local_classifiers_.values():
        assert estimator.backend_ == "SequentialBackend"
        assert estimator.workers_ == {estimator.home_}


def test_a_small_fit_stays_in_this_process(spied, monkeypatch):
    X, y = make_data()
    few = np.arange(200)
    monkeypatch.setattr(_fit, "_A_WHILE", 60)
    model = LocalClassifierPerParentNode(GaussianNB(), n_jobs=2).fit(X[few], y[few])
    with pytest.raises(FileNotFoundError):
        spied()
    assert_same(model, LocalClassifierPerParentNode(GaussianNB()).fit(X[few], y[few]), X)


def test_a_small_fit_that_takes_long_is_shared_after_a_while(spied, monkeypatch):
    X, y = make_data()
    few = np.arange(900)
    monkeypatch.setattr(_fit, "_A_WHILE", 0.0)
    model = LocalClassifierPerParentNode(GaussianNB(), n_jobs=2).fit(X[few], y[few])
    assert sum(len(entry["sizes"]) for entry in spied()) == 4
    assert_same(model, LocalClassifierPerParentNode(GaussianNB()).fit(X[few], y[few]), X)


def test_nothing_to_decide_is_no_work():
    X, y = make_data()
    y[:] = ["all", "the same"]
    model = LocalClassifierPerNode(GaussianNB(), n_jobs=2, verbose=1).fit(X, y)
    assert len(model.local_classifiers_) == 0
    assert model.predict(X[:1]).tolist() == [["all", "the same"]]


# -- predict -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse", "frame"])
def test_parallel_prediction_equals_serial(local_class, kind):
    X, y = make_data()
    y = end_early(y)
    X = {"dense": X, "sparse": sp.csr_matrix(X), "frame": pd.DataFrame(X)}[kind]
    estimator = LogisticRegression(max_iter=10, tol=0.1) if kind == "sparse" else GaussianNB()
    model = local_class(estimator).fit(X, y)
    methods = [
        "predict",
        "predict_confidence",
        "predict_node_proba",
        "predict_proba",
        "predict_paths",
    ]
    serial = [getattr(model, method)(X) for method in methods]
    model.set_params(n_jobs=2)
    for method, expected in zip(methods, serial, strict=True):
        found = getattr(model, method)(X)
        if isinstance(expected, np.ndarray):
            found, expected = [found], [expected]
        for a, b in zip(found, expected, strict=True):
            if a.dtype == object:
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


# -- failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", [None, *BACKENDS])
def test_an_error_keeps_its_type_names_its_node_and_stops_the_rest(tmp_path, backend):
    X, y = make_data()
    log = str(tmp_path / "log")
    estimator = Unruly(log, pause=0.1, fail_at=ROOT_ROWS)
    model = LocalClassifierPerNode(estimator, n_jobs=None if backend is None else 2)
    with (
        engine(backend),
        pytest.raises(BrokenError, match="no such luck") as caught,
    ):
        model.fit(X, y)
    notes = [note for note in caught.value.__notes__ if note.startswith("while fitting")]
    assert len(notes) == 1
    assert re.fullmatch("while fitting the classifier of p[0-3]", notes[0])
    # Four of the sixteen problems have all rows, and come first; the others are cancelled.
    assert len(logged(log)) < 12
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not [name for name in vars(model) if name.endswith("_")]
    time.sleep(0.3)
    assert len(logged(log)) < 12, "others went on"


@pytest.mark.parametrize("backend", [None, *BACKENDS])
def test_an_error_keeps_the_checkpoints(tmp_path, backend):
    X, y = make_data()
    log, directory = str(tmp_path / "log"), tmp_path / "checkpoints"
    estimator = Unruly(log, fail_at=min(PARENT_ROWS), once=str(tmp_path / "once"))
    model = LocalClassifierPerParentNode(
        estimator, n_jobs=None if backend is None else 2, checkpoint_dir=directory
    )
    with engine(backend), pytest.raises(BrokenError):
        model.fit(X, y)
    finished = logged(log)
    kept = len(list(directory.glob("*.hiclass")))
    if backend is None:
        assert kept == 4
    model.fit(X, y)
    again = logged(log)
    assert min(PARENT_ROWS) in again
    assert len(again) <= 5 - kept  # a thread may have finished its problem after we looked
    assert min(PARENT_ROWS) not in finished


def test_a_failed_fit_leaves_an_older_model_unfitted():
    X, y = make_data()
    model = LocalClassifierPerParentNode(Unruly(), n_jobs=2).fit(X, y)
    with pytest.raises(BrokenError):
        model.set_params(local_classifier__fail_at=240).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_killed_worker_gives_a_clear_error_and_the_next_fit_works():
    X, y = make_data()
    model = LocalClassifierPerParentNode(Unruly(kill_at=240), n_jobs=2)
    with pytest.raises(TerminatedWorkerError) as caught:
        model.fit(X, y)
    assert "Use fewer jobs. With checkpoint_dir" in caught.value.__notes__[0]
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    model.set_params(local_classifier__kill_at=None).fit(X, y)
    assert len(model.local_classifiers_) == 5


# A process that a shell starts in the background ignores Ctrl-C, and its children inherit that.
INTERRUPTED = """
import joblib, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from contextlib import nullcontext
from dataclasses import replace
from engine_helpers import make_data
from fakes import Unruly
from hiclass import LocalClassifierPerNode
log, directory, backend = sys.argv[1:]
X, y = make_data()
n_jobs = 1 if backend == "serial" else 2
with nullcontext() if backend == "serial" else joblib.parallel_config(backend=backend):
    estimator = Unruly(log, pause=2.0 if backend == "threading" else 60.0)
    LocalClassifierPerNode(estimator, n_jobs=n_jobs, checkpoint_dir=directory, verbose=1).fit(X, y)
"""


@pytest.mark.parametrize("backend", ["serial", *BACKENDS])
def test_ctrl_c_stops_promptly_and_leaves_no_process(tmp_path, backend):
    log = tmp_path / "log"
    process = psutil.Popen(
        [sys.executable, "-c", INTERRUPTED, log, tmp_path / "checkpoints", backend],
        cwd=Path(__file__).parents[1],
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: log.exists() and log.read_text())
    family = process.children(recursive=True)
    assert bool(family) == (backend == "loky")
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PROCESSES_START_SLOWLY)
    # Threads cannot be interrupted: those under way finish their local problem.
    assert time.monotonic() - start < 20
    assert process.returncode != 0
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert "stopped after" in said
    _, alive = psutil.wait_procs(family, timeout=10)
    assert not alive
    assert not list(tmp_path.glob("checkpoints/*.part"))


def wait_for(condition):
    end = time.monotonic() + PROCESSES_START_SLOWLY
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


def test_an_error_while_results_are_collected_stops_the_workers(monkeypatch):
    """Whatever happens in this process, too: here the second report of progress fails."""
    X, y = make_data()
    calls = iter(range(100))

    def fail(self, key):
        if next(calls) == 1:
            raise io.UnsupportedOperation("no more")

    monkeypatch.setattr("hiclass._engine.progress.Progress.finish", fail)
    model = LocalClassifierPerNode(Unruly(pause=0.05), n_jobs=2, verbose=1)
    with pytest.raises(io.UnsupportedOperation):
        model.fit(X, y)
    gc.collect()
    monkeypatch.undo()
    assert len(model.fit(X, y).local_classifiers_) == 16


def test_the_number_of_rows_of_the_data_is_enough_for_workers():
    assert N_ROWS >= _fit._FEW_ROWS


def test_a_number_of_numpy_is_a_fit_parameter_and_no_rows():
    class Noted(GaussianNB):
        def fit(self, X, y, factor=None):
            """Keep the factor."""
            self.factor_ = factor
            return super().fit(X, y)

    model = LocalClassifierPerParentNode(Noted()).fit(
        [[0.0], [1.0]], ["a", "b"], factor=np.int64(3)
    )
    assert model.local_classifiers_[()].factor_ == 3


class OddError(Exception):
    """Cannot be pickled, not even with the help of tblib, which Dask brings."""

    def __init__(self, a, b):
        super().__init__(f"{a} {b}")

    def __reduce__(self):
        raise TypeError("not this one")


class Failing(GaussianNB):
    """Always fails."""

    def fit(self, X, y):
        raise OddError(1, 2)


def test_an_error_that_cannot_be_sent_keeps_its_message_and_its_node():
    X, y = four_quarters(1200)
    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match="OddError: 1 2") as caught:
            LocalClassifierPerParentNode(Failing(), n_jobs=n_jobs).fit(X, y)
        assert any("while fitting the classifier of" in note for note in caught.value.__notes__)
