"""Real clusters: Ray and Dask, in this process and started on their own. ``make test-all``."""

import contextlib
import gc
import os
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib
import numpy as np
import pandas as pd
import psutil
import pytest
import scipy.sparse as sp
from engine_helpers import PARENT_ROWS, ROOT_ROWS, end_early, logged, make_data
from fakes import BrokenError, Nested, Unruly
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

import hiclass
from hiclass import LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._state import Packed

pytestmark = [
    pytest.mark.heavy,
    # Ray and Dask leave sockets and pipes to the garbage collector and announce changes of theirs.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
TESTS = Path(__file__).parents[1]
SOURCES = Path(hiclass.__file__).parents[1]
TIME_LIMIT = 180  # seconds until a process must have started, on a busy machine


@pytest.fixture(scope="module")
def ray_cluster():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    register_ray()
    with pytest.MonkeyPatch.context() as patch:
        # For the workers: they import fakes, and the sources that are tested here.
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(SOURCES)]))
        # "local": not one that happens to run on this machine.
        ray.init(
            address="local",
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=100 * 2**20,
        )
    yield ray
    ray.shutdown()
    del ray
    with warnings.catch_warnings():
        # Ray does not wait for the processes that it ends; said here, not at the end of all tests.
        warnings.simplefilter("ignore")
        gc.collect()


@contextmanager
def dask_cluster(processes):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1 + processes,
            threads_per_worker=2 - processes,
            processes=processes,
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def dask_threads():
    with dask_cluster(processes=False) as client:
        yield client


@pytest.fixture(scope="module")
def dask_processes():
    with dask_cluster(processes=True) as client:
        yield client


@pytest.fixture(scope="module", params=["ray_cluster", "dask_threads", "dask_processes"])
def cluster(request):
    """Each kind of cluster, one after the other."""
    return request.param, request.getfixturevalue(request.param)


@pytest.fixture
def backend(cluster):
    """The cluster as joblib's active backend."""
    name, running = cluster
    if name == "ray_cluster":
        with joblib.parallel_config(backend="ray"):
            yield "ray"
    else:
        with running.as_current(), joblib.parallel_config(backend="dask"):
            yield "dask"


def rows_of(kind, X):
    if kind == "sparse":
        return sp.csr_matrix(np.where(X > 0.5, X, 0))
    return pd.DataFrame(X, columns=list("abcdef")) if kind == "frame" else X


def estimator_of(kind):
    if kind == "frame":
        return make_pipeline(StandardScaler(), GaussianNB())
    return LogisticRegression(max_iter=30, tol=1e-2) if kind == "sparse" else GaussianNB()


def assert_same(model, serial, X):
    np.testing.assert_array_equal(model.predict(X), serial.predict(X))
    for mine, other in zip(
        model.local_classifiers_.values(), serial.local_classifiers_.values(), strict=True
    ):
        last, other = (getattr(c, "steps", [(0, c)])[-1][1] for c in (mine, other))
        for name in {"coef_", "intercept_", "theta_", "var_"} & vars(last).keys():
            a, b = getattr(last, name), getattr(other, name)
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def serially(model_class, estimator, X, y, **params):
    with joblib.parallel_config(backend="sequential"):
        return model_class(estimator).fit(X, y, **params)


# -- both --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse", "frame", "documents"])
def test_clusters_give_the_model_of_the_serial_fit(backend, local_class, kind):
    X, y = make_data()
    if kind == "documents":
        from sklearn.feature_extraction.text import HashingVectorizer

        X = [f"{a} {b}" for a, b in y]
        estimator = make_pipeline(
            HashingVectorizer(n_features=32), LogisticRegression(max_iter=5, tol=1)
        )
    else:
        X, estimator = rows_of(kind, X), estimator_of(kind)
    y = end_early(y)
    assert_same(local_class(estimator).fit(X, y), serially(local_class, estimator, X, y), X)


def test_clusters_send_classifiers_back_with_the_columns_of_their_rows(backend):
    X, y = make_data()
    wide = sp.csr_matrix(np.hstack([np.where(X > 0.5, X, 0), np.zeros((len(X), 500))]))
    estimator = SGDClassifier(loss="log_loss", max_iter=5, tol=None, random_state=0)
    model = LocalClassifierPerParentNode(estimator).fit(wide, y)
    assert all(isinstance(c, Packed) for c in model._models.classifiers.values())
    serial = serially(LocalClassifierPerParentNode, estimator, wide, y)
    np.testing.assert_array_equal(model.predict_node_proba(wide), serial.predict_node_proba(wide))


def test_a_local_classifier_that_calls_joblib_gets_no_workers_of_the_cluster(backend):
    X, y = make_data()
    model = LocalClassifierPerParentNode(Nested()).fit(X, y)
    for estimator in model.local_classifiers_.values():
        assert estimator.workers_ == {estimator.home_}


@pytest.mark.parametrize("native", [False, True])
def test_clusters_fit_sets_of_classes(backend, native):
    X, y = make_data()
    hierarchy = {"top": [f"c{i}" for i in range(4)], "other": ["c1", "c2"]}
    sets = [[f"c{i % 4}"] if i % 3 else [f"c{i % 4}", "c2"] for i in range(len(y))]
    estimator = DecisionTreeClassifier(max_depth=3, random_state=0) if native else GaussianNB()
    model = LocalClassifierPerParentNode(estimator, hierarchy=hierarchy, multi_label=True)
    found = clone(model).fit(X, sets).predict_node_proba(X)
    with joblib.parallel_config(backend="sequential"):
        expected = model.fit(X, sets).predict_node_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_clusters_slice_weights(backend):
    X, y = make_data()
    weights = np.linspace(1, 2, len(y))
    model = LocalClassifierPerNode(GaussianNB()).fit(X, y, sample_weight=weights)
    serial = serially(LocalClassifierPerNode, GaussianNB(), X, y, sample_weight=weights)
    assert_same(model, serial, X)


def test_clusters_agree_with_this_process_on_the_key_of_a_checkpoint(backend, tmp_path):
    X, y = make_data(n_features=150)
    log = str(tmp_path / "log")
    model = LocalClassifierPerParentNode(Unruly(log), checkpoint_dir=tmp_path / "checkpoints")
    model.fit(X, y)
    assert sorted(logged(log)) == [*PARENT_ROWS, ROOT_ROWS]
    with joblib.parallel_config(backend="sequential"):
        model.fit(X, y)
    assert logged(log) == []


def test_a_search_on_a_cluster(backend):
    X, y = make_data()
    grid = {"local_classifier__var_smoothing": [1e-9, 1.0]}
    search = GridSearchCV(
        LocalClassifierPerParentNode(GaussianNB(), n_jobs=2), grid, cv=2, n_jobs=2
    )
    search.fit(X, y)
    with joblib.parallel_config(backend="sequential"):
        serial = GridSearchCV(LocalClassifierPerParentNode(GaussianNB()), grid, cv=2).fit(X, y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], serial.cv_results_["mean_test_score"]
    )
    assert_same(search.best_estimator_, serial.best_estimator_, X)


def test_an_error_on_a_cluster_keeps_its_type_and_names_its_node(backend):
    X, y = make_data()
    model = LocalClassifierPerParentNode(Unruly(pause=0.05, fail_at=240), verbose=1)
    with pytest.raises(BrokenError, match="no such luck") as caught:
        model.fit(X, y)
    assert "while fitting the classifier of p1" in caught.value.__notes__
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


# -- Ray ---------------------------------------------------------------------------------------


def test_a_ray_worker_that_is_killed_is_replaced(ray_cluster, tmp_path):
    X, y = make_data()
    once = tmp_path / "once"
    with joblib.parallel_config(backend="ray"):
        model = LocalClassifierPerParentNode(Unruly(kill_at=240, once=str(once))).fit(X, y)
    assert once.exists()
    assert_same(model, serially(LocalClassifierPerParentNode, GaussianNB(), X, y), X)


def test_x_is_put_into_rays_store_once_and_the_cluster_is_left_alone(ray_cluster, monkeypatch):
    X, y = make_data()
    put, stored = ray_cluster.put, []
    monkeypatch.setattr(ray_cluster, "put", lambda value: stored.append(value) or put(value))
    for name in ("init", "shutdown"):
        monkeypatch.setattr(ray_cluster, name, lambda *a, name=name, **k: pytest.fail(name))
    before = ray_cluster.get_runtime_context().get_job_id()
    with joblib.parallel_config(backend="ray"):
        LocalClassifierPerNode(GaussianNB()).fit(X, y)
    assert sum(isinstance(value, np.ndarray) for value in stored) == 1
    assert len(stored) == 2
    monkeypatch.undo()
    assert ray_cluster.is_initialized()
    assert ray_cluster.get_runtime_context().get_job_id() == before


@pytest.mark.parametrize(("n_jobs", "expected"), [(3, 3), (None, 4), (-1, 4)])
def test_n_jobs_limits_what_is_under_way_on_ray(ray_cluster, n_jobs, expected):
    from hiclass._engine.ray import connect

    assert connect(n_jobs) == expected


SCRIPT = """
import os, sys
import joblib
import numpy as np
from engine_helpers import make_data
from fakes import Unruly
from hiclass import LocalClassifierPerParentNode
X, y = make_data()
{before}
with joblib.parallel_config(backend="{backend}"):
    model = LocalClassifierPerParentNode(Unruly(sys.argv[1]), n_jobs=-1).fit(X, y)
{after}
serial = LocalClassifierPerParentNode(Unruly()).fit(X, y)
np.testing.assert_array_equal(model.predict_node_proba(X), serial.predict_node_proba(X))
"""
ON_RAY = "import ray; from ray.util.joblib import register_ray; register_ray()\n"


def run_script(log, backend, before, after, **env):
    script = SCRIPT.format(backend=backend, before=before, after=after)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, log],
        cwd=TESTS,
        env=os.environ | {"PYTHONPATH": str(TESTS)} | env,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(logged(log)) == [*PARENT_ROWS, ROOT_ROWS]


def test_ray_starts_by_itself_where_it_is_not_running(tmp_path):
    pytest.importorskip("ray")
    after = "assert ray.is_initialized()"
    run_script(str(tmp_path / "log"), "ray", ON_RAY, after, RAY_ADDRESS="local")


class Service:
    """A process of its own, with its children, that ends with the block."""

    def __init__(self, *command, said=os.devnull, **env):
        env = os.environ | {"PYTHONPATH": str(TESTS), "PYTHONWARNINGS": "ignore"} | env
        with open(said, "w") as file:
            self.process = psutil.Popen(
                command, cwd=TESTS, env=env, stdout=file, stderr=file, start_new_session=True
            )

    def __enter__(self):
        return self.process

    def __exit__(self, *exc):
        family = [self.process, *self.process.children(recursive=True)]
        # One may end by itself, or with its parent, in the meantime.
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(family, timeout=10)
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()


def test_a_ray_cluster_that_somebody_else_started(tmp_path):
    pytest.importorskip("ray")
    ray = Path(sys.executable).with_name("ray")
    port, log = free_port(), str(tmp_path / "log")
    command = [
        ray, "start", "--head", "--block", f"--port={port}", "--num-cpus=2",
        "--include-dashboard=false", f"--object-store-memory={100 * 2**20}",
        "--disable-usage-stats",
    ]  # fmt: skip
    address = f"127.0.0.1:{port}"
    connect = ON_RAY + f"ray.init(address='{address}', log_to_driver=False)"
    same = "assert ray.is_initialized(); assert len(ray.nodes()) == 1"
    said = tmp_path / "said"
    # In a folder of its own, or a later ray.init() would look for this cluster. Sockets need a
    # short path.
    with (
        TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder,
        Service(*command, said=said, RAY_TMPDIR=folder, RAY_AUTH_MODE="disabled") as service,
    ):
        wait_for(lambda: "Ray runtime started" in said.read_text(), service)
        run_script(log, "ray", connect, same)
        # It is still there, and found by its usual variable, too.
        run_script(log, "ray", ON_RAY, same, RAY_ADDRESS=address)


def free_port():
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def wait_for(condition, *services):
    end = time.monotonic() + TIME_LIMIT
    while not condition():
        assert time.monotonic() < end, "timed out"
        assert all(service.poll() is None for service in services), "a service has ended"
        time.sleep(0.2)


# -- Dask --------------------------------------------------------------------------------------


def test_a_dask_cluster_that_somebody_else_started(tmp_path):
    pytest.importorskip("distributed")
    file, log = tmp_path / "scheduler.json", str(tmp_path / "log")
    dask = Path(sys.executable).with_name("dask")
    at = f"--scheduler-file={file}"
    connect = (
        f"from distributed import Client\nclient = Client(scheduler_file='{file}')\n"
        f"client.wait_for_workers(1, timeout={TIME_LIMIT})"
    )
    with Service(dask, "scheduler", at, "--port=0", "--no-dashboard") as scheduler:
        wait_for(file.exists, scheduler)
        worker = [dask, "worker", at, "--nthreads=1", "--no-dashboard", "--no-nanny"]
        with Service(*worker, f"--local-directory={tmp_path}") as service:
            alive = "assert len(client.scheduler_info()['workers']) == 1; client.close()"
            run_script(log, "dask", connect, alive)
            assert service.poll() is None
        assert scheduler.poll() is None
