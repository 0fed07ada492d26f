"""Threads, processes and what is shared between them: nothing that changes."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from joblib.parallel import get_active_backend
from process_state import global_state
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    LocalClassifierPerParentNode,
)

N_THREADS = 8
METHODS = ("predict", "predict_node_proba", "predict_proba", "predict_confidence", "predict_paths")


def ensemble(estimator=None, **params):
    members = [
        ("flat", FlatClassifier(estimator, **params)),
        ("local", LocalClassifierPerParentNode(estimator, **params)),
    ]
    return EnsembleClassifier(members)


def labels(n):
    y = [["a", "x"], ["a", "y"], ["a"], ["b", "x", "u"], ["b", "x", "v"], ["c"]]
    return [y[i % len(y)] for i in range(n)]


def rows(n, seed=0):
    centre = np.arange(n)[:, None] % 6 == np.arange(6)
    return 3 * centre + np.random.default_rng(seed).normal(size=(n, 6))


def predictions(model, X):
    return {name: getattr(model, name)(X) for name in METHODS}


def assert_same(one, other):
    for name in METHODS:
        for a, b in zip(_parts(one[name]), _parts(other[name]), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


def _parts(prediction):
    return prediction if isinstance(prediction, list | tuple) else [prediction]


# -- threads -----------------------------------------------------------------------------------


def run_in_threads(work, n=N_THREADS):
    """Call a function in threads that all start at once; errors come out."""
    barrier = threading.Barrier(n)

    def begin(i):
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(n) as pool:
        return [future.result() for future in [pool.submit(begin, i) for i in range(n)]]


@pytest.mark.parametrize("fresh", [False, True], ids=["used", "just loaded"])
def test_eight_threads_get_the_predictions_of_one(estimator_class, fresh):
    """Just loaded: what a hierarchy works out on first use is worked out by all at once."""
    X = rows(60)
    model = estimator_class(GaussianNB()).fit(X, labels(60))
    expected = predictions(model, X)
    if fresh:
        model = pickle.loads(pickle.dumps(model))
    for found in run_in_threads(lambda i: predictions(model, X)):
        assert_same(found, expected)


def test_eight_threads_may_predict_while_others_pickle(estimator_class):
    X = rows(60)
    model = estimator_class(GaussianNB()).fit(X, labels(60))
    expected = predictions(model, X)
    model = pickle.loads(pickle.dumps(model))

    def work(i):
        if i % 2:
            return predictions(pickle.loads(pickle.dumps(model)), X)
        return predictions(model, X)

    for found in run_in_threads(work):
        assert_same(found, expected)


@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_threads_may_share_the_rows(container):
    X = container(rows(60))
    model = LocalClassifierPerParentNode(SGDClassifier(loss="log_loss", random_state=0))
    model.fit(X, labels(60))
    expected = predictions(model, X)
    for found in run_in_threads(lambda i: predictions(model, X)):
        assert_same(found, expected)


def test_threads_may_fit_models_of_their_own(estimator_class):
    X, y = rows(60), labels(60)
    expected = predictions(estimator_class(GaussianNB()).fit(X, y), X)
    for found in run_in_threads(lambda i: predictions(estimator_class(GaussianNB()).fit(X, y), X)):
        assert_same(found, expected)


# -- fitted models do not change ---------------------------------------------------------------


def test_no_prediction_changes_a_fitted_model(estimator_class):
    X, y = rows(40), labels(40)
    model = estimator_class(GaussianNB()).fit(X, y)
    before = joblib.hash(model), pickle.dumps(model)
    predictions(model, X)
    model.score(X, y)
    model.predict_log_proba(X)
    model.restricted_to([("a",)]).predict(X)
    assert (joblib.hash(model), pickle.dumps(model)) == before


@pytest.mark.parametrize(
    "model",
    [ensemble(GaussianNB()), ConformalClassifier(FlatClassifier(GaussianNB()), random_state=0)],
    ids=["ensemble", "conformal"],
)
def test_no_prediction_changes_a_model_made_of_models(model):
    X, y = rows(60), labels(60)
    model.fit(X, y)
    before = joblib.hash(model)
    model.predict(X)
    model.predict_node_proba(X)
    for found in run_in_threads(lambda i: model.predict(X)):
        np.testing.assert_array_equal(found, model.predict(X))
    assert joblib.hash(model) == before


def test_the_arrays_of_a_hierarchy_are_read_only():
    model = FlatClassifier(GaussianNB()).fit(rows(12), labels(12))
    model.predict(rows(12))
    arrays = {k: v for k, v in vars(model.hierarchy_).items() if isinstance(v, np.ndarray)}
    assert {"labels", "levels", "ancestor_table"} <= set(arrays)
    assert not any(array.flags.writeable for array in arrays.values())
    with pytest.raises(ValueError, match="read-only"):
        model.hierarchy_.levels[0] = 1


def test_predictions_are_the_callers_to_change(estimator_class):
    """What is handed out is no view of something that the model needs."""
    X = rows(20)
    model = estimator_class(GaussianNB()).fit(X, labels(20))
    expected = pickle.dumps(predictions(model, X))
    for prediction in predictions(model, X).values():
        for part in _parts(prediction):
            part[...] = part.flat[0]
    assert pickle.dumps(predictions(model, X)) == expected


# -- processes ---------------------------------------------------------------------------------


def _predict_in_child(model, X, queue):
    queue.put(predictions(model, X))


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.heavy)])
def test_a_child_process_gives_the_same_predictions(start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {start} here")
    X = rows(40)
    model = LocalClassifierPerParentNode(LogisticRegression()).fit(X, labels(40))
    expected = predictions(model, X)
    context = multiprocessing.get_context(start)
    queue = context.Queue()
    with warnings.catch_warnings():
        # From Python 3.12 on: a process with threads forks, which is what is tried here.
        warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
        process = context.Process(target=_predict_in_child, args=(model, X, queue))
        process.start()
    found = queue.get(timeout=120)
    process.join(timeout=120)
    assert process.exitcode == 0
    for name in METHODS:
        for a, b in zip(_parts(found[name]), _parts(expected[name]), strict=True):
            if np.asarray(b).dtype.kind == "f":
                np.testing.assert_allclose(a, b, rtol=1e-9)
            else:
                np.testing.assert_array_equal(a, b)


SCRIPT = """
import hashlib, pickle, sys
import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.tree import DecisionTreeClassifier
import hiclass
from hiclass import EnsembleClassifier, ConformalClassifier
X = np.random.default_rng(0).normal(size=(60, 4))
names = ["ash", "birch", "cedar", "fir", "oak", "yew"]
y = [[names[i % 2], names[i % 3 + 2], names[i % 5 + 1]][: 1 + i % 7 % 3] for i in range(60)]
classes = [getattr(hiclass, name) for name in sys.argv[1:]]
models = [c(DecisionTreeClassifier(splitter="random"), random_state=7) for c in classes]
models += [c(SGDClassifier(loss="log_loss"), random_state=7, calibration="temperature")
           for c in classes]
models.append(EnsembleClassifier([("a", models[0]), ("b", models[1])]))
models.append(ConformalClassifier(models[0], 0.4, random_state=7))
for model in models:
    model.fit(X, y)
    print(type(model).__name__, hashlib.sha256(model.predict_node_proba(X).tobytes()).hexdigest())
    print(model.predict(X).tolist(), [list(c) for c in model.classes_])
"""


def test_a_fixed_random_state_gives_the_same_model(estimator_class):
    X, y = rows(40), labels(40)
    estimator = SGDClassifier(loss="log_loss", max_iter=5, tol=None)
    one, other, another = (
        estimator_class(estimator, random_state=seed).fit(X, y).predict_node_proba(X)
        for seed in (7, 7, 8)
    )
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, another)


@pytest.mark.heavy
def test_a_fixed_random_state_gives_the_same_model_in_every_process():
    """Whatever the seed of hashes, which changes the order of sets from process to process."""
    names = ["LocalClassifierPerNode", "LocalClassifierPerParentNode", "LocalClassifierPerLevel",
             "FlatClassifier"]  # fmt: skip
    outputs = set()
    for seed in ("0", "1", "random"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *names],
            env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
            check=True,
            capture_output=True,
            text=True,
        )
        outputs.add(done.stdout)
    (output,) = outputs
    assert output.count("\n") == 2 * (2 * len(names) + 2)


# -- no global state ---------------------------------------------------------------------------


def test_fit_and_predict_leave_the_process_as_it_was(estimator_class):
    X, y = rows(60), labels(60)
    before = global_state()
    model = estimator_class(LogisticRegression(), random_state=0, n_jobs=1).fit(X, y)
    predictions(model, X)
    model.score(X, y)
    pickle.loads(pickle.dumps(model))
    after = global_state()
    for name, value in before.items():
        assert after[name] == value, name


def test_prediction_in_threads_leaves_the_process_as_it_was():
    X, y = rows(600), labels(600)
    model = FlatClassifier(GaussianNB(), n_jobs=2).fit(X, y)
    before = global_state()
    model.predict_node_proba(X)
    after = global_state()
    for name in before:
        assert after[name] == before[name], name


class Backend(GaussianNB):
    """Notes which workers joblib would give to it."""

    def predict_proba(self, X):
        seen.append(type(get_active_backend()[0]).__name__)
        return super().predict_proba(X)


seen: list[str] = []


def test_prediction_in_threads_gives_no_workers_to_the_local_classifiers():
    X, y = rows(600), labels(600)
    model = FlatClassifier(Backend(), n_jobs=2).fit(X, y)
    seen.clear()
    model.predict_node_proba(X)
    assert seen == ["SequentialBackend"] * 2


IMPORT = """
import sys
sys.path[:0] = sys.argv[1:]
import logging, joblib, numpy, scipy, sklearn.linear_model, sklearn.calibration, pandas
from process_state import global_state
before = global_state()
for name in [name for name in sys.modules if name.partition(".")[0] == "hiclass"]:
    del sys.modules[name]
import hiclass
after = global_state()
changed = [name for name in before if before[name] != after[name]]
assert not changed, changed
print("nothing changed")
"""


def test_import_has_no_side_effects():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, os.path.dirname(__file__)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "nothing changed\n"
    assert done.stderr == ""


def test_threads_that_predict_leave_the_warning_filters_alone():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    model = FlatClassifier(GaussianNB(), n_jobs=2).fit(X, y)
    before = list(warnings.filters)
    for _ in range(5):
        model.predict(X)
    assert list(warnings.filters) == before
