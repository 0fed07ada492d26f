"""Checkpoints: a killed fit continues, and only what changed is fitted again."""

import ctypes
import errno
import os
import pickle
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from engine_helpers import PARENT_ROWS, ROOT_ROWS, end_early, logged, make_data
from fakes import Unruly
from samples import four_quarters
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from hiclass import LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._engine import checkpoints as _checkpoint

ALL = [*PARENT_ROWS, ROOT_ROWS]


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "checkpoints"


@pytest.fixture
def log(tmp_path):
    return str(tmp_path / "log")


@pytest.fixture
def fit(directory, log):
    """Fit with checkpoints; return the sizes of the problems that were really fitted, sorted."""

    def fit(X, y, model=None, weights=None, **params):
        model = LocalClassifierPerParentNode(Unruly(log)) if model is None else model
        model.set_params(checkpoint_dir=directory, **params).fit(X, y, sample_weight=weights)
        return sorted(logged(log))

    return fit


def files(directory):
    return sorted(directory.glob("*.hiclass"))


# -- what is reused ----------------------------------------------------------------------------


def test_the_same_fit_again_fits_nothing(fit, directory):
    X, y = make_data()
    model = LocalClassifierPerParentNode(Unruly(str(directory.parent / "log")))
    assert fit(X, y, model) == ALL
    before = model.predict_node_proba(X)
    assert len(files(directory)) == 5
    assert fit(X, y, model) == []
    np.testing.assert_array_equal(model.predict_node_proba(X), before)
    assert not list(directory.glob(".*"))


@pytest.mark.parametrize("kind", ["X", "weights", "other weights", "y", "parameters", "class"])
def test_other_data_or_parameters_reuse_nothing(fit, log, kind):
    X, y = make_data()
    weights = np.linspace(1, 2, len(y))
    fit(X, y, weights=weights if kind == "other weights" else None)
    if kind == "X":
        X = X + 1e-9
    elif kind == "y":
        y = np.random.default_rng(1).permutation(y)
    model = LocalClassifierPerParentNode(Unruly(log))
    if kind == "parameters":
        model.set_params(local_classifier__pause=1e-9)
    elif kind == "class":
        model.set_params(local_classifier=OtherUnruly(log))
    weights = {"weights": weights, "other weights": weights[::-1]}.get(kind)
    assert fit(X, y, model, weights) == ALL


class OtherUnruly(Unruly):
    pass


@pytest.mark.parametrize("library", ["hiclass", "scikit-learn"])
def test_other_versions_reuse_nothing(fit, monkeypatch, library):
    X, y = make_data()
    fit(X, y)
    versions = _checkpoint._versions() | {library: "0.0"}
    monkeypatch.setattr(_checkpoint, "_versions", lambda: versions)
    assert fit(X, y) == ALL


def test_random_states_are_part_of_the_parameters(directory):
    X, y = make_data()
    for seed, expected in ((0, 5), (0, 5), (1, 10)):
        estimator = LogisticRegression(max_iter=5, tol=1.0)
        LocalClassifierPerParentNode(estimator, random_state=seed, checkpoint_dir=directory).fit(
            X, y
        )
        assert len(files(directory)) == expected


def test_a_new_class_costs_its_parent_and_the_root(fit):
    X, y = make_data()
    fit(X, y)
    more = np.array([["p1", "leaf 99"]] * 20, dtype=object)
    assert fit(np.vstack([X, X[:20] + 5]), np.vstack([y, more])) == [240 + 20, ROOT_ROWS + 20]


def test_a_class_with_another_name_costs_nothing_if_the_order_stays(fit):
    X, y = make_data()
    fit(X, y)
    y[y[:, 1] == "leaf 05", 1] = "leaf 05, renamed"
    assert fit(X, y) == []
    y[y[:, 1] == "leaf 05, renamed", 1] = "zebra"  # the last one now, but it was before, too
    assert fit(X, y) == []
    y[y[:, 1] == "leaf 04", 1] = "zzz"
    assert fit(X, y) == [240]


def test_a_moved_class_costs_both_parents_and_the_root(fit):
    X, y = make_data()
    fit(X, y)
    y[y[:, 1] == "leaf 05", 0] = "p0"  # 90 rows
    assert fit(X, y) == [240 - 90, 150 + 90, ROOT_ROWS]


def test_a_removed_class_costs_its_parent_and_the_root(fit):
    X, y = make_data()
    fit(X, y)
    keep = y[:, 1] != "leaf 05"
    assert fit(X[keep], y[keep]) == [240 - 90, ROOT_ROWS - 90]


def test_the_folds_of_a_calibration_are_kept_too(fit, directory):
    X, y = make_data()
    y = end_early(y)
    model = LocalClassifierPerParentNode(
        Unruly(str(directory.parent / "log")), calibration="temperature"
    )
    first = fit(X, y, model)
    assert len(first) > 5
    assert len(files(directory)) == len(first)
    temperature = model.temperature_
    assert fit(X, y, model) == []
    assert model.temperature_ == temperature


# -- the key -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "fortran", "sparse", "frame", "mixed frame", "list"])
def test_workers_and_this_process_agree_on_the_key(fit, log, kind, tmp_path):
    """In a worker X is a memory map, and its rows have been through pickle."""
    X, y = make_data(n_features=150)
    assert X.nbytes > 2**20
    rows = {
        "dense": lambda: X,
        "fortran": lambda: np.asfortranarray(X),
        "sparse": lambda: sp.csr_matrix(np.where(X > 0.2, X, 0)),
        "frame": lambda: pd.DataFrame(X),
        "mixed frame": lambda: pd.DataFrame({"a": X[:, 0], "b": y[:, 0], "c": X[:, 1] > 0}),
        "list": lambda: [f"{label}" for label in y[:, 1]],
    }[kind]()
    model = LocalClassifierPerParentNode(Blind(log))
    weights = np.linspace(1, 2, len(y))
    assert fit(rows, y, model, weights) == ALL
    with joblib.parallel_config(backend="loky"):
        assert fit(rows, y, model, weights, n_jobs=2) == []
    with joblib.parallel_config(backend="threading"):
        assert fit(rows, y, model, weights, n_jobs=2) == []


class Blind(Unruly):
    """Takes any rows and looks at none."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(np.zeros((len(y), 1)), y, sample_weight)


KEYS = """
import sys
import numpy as np
from engine_helpers import make_data
from fakes import Unruly
from sklearn.pipeline import make_pipeline
from hiclass._engine.checkpoints import checkpoint_key
X, y = make_data()
params = {"sample_weight": X[:, 0], "names": {"b", "a", "c"}, "more": {"x": 1, "y": (2, "z")}}
estimator = make_pipeline("passthrough", Unruly(once={"p", "q", "r"}))
print(checkpoint_key(estimator, X, np.arange(len(y)), params, []))
"""


def test_the_key_does_not_depend_on_process_or_hash_seed():
    keys = [
        subprocess.run(
            [sys.executable, "-c", KEYS],
            cwd=Path(__file__).parents[1],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert keys[0] == keys[1]
    assert len(keys[0].strip()) == 40


# -- interrupted -------------------------------------------------------------------------------

KILLED = """
import sys
from engine_helpers import make_data
from fakes import Unruly
from hiclass import LocalClassifierPerNode
log, directory = sys.argv[1:]
LocalClassifierPerNode(Unruly(log, pause=0.2), checkpoint_dir=directory).fit(*make_data())
"""


def test_a_killed_fit_continues_where_it_stopped(directory, log):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, log, directory], cwd=Path(__file__).parents[1]
    )
    end = time.monotonic() + 60
    while len(files(directory)) < 4:
        assert time.monotonic() < end
        time.sleep(0.02)
    process.kill()
    process.wait()
    kept = len(files(directory))
    assert 4 <= kept < 16
    logged(log)
    X, y = make_data()
    model = LocalClassifierPerNode(Unruly(log, pause=0.2), checkpoint_dir=directory).fit(X, y)
    assert len(logged(log)) == 16 - kept
    np.testing.assert_array_equal(
        model.predict_node_proba(X),
        LocalClassifierPerNode(Unruly()).fit(X, y).predict_node_proba(X),
    )


def test_two_fits_share_a_directory_at_the_same_time(directory, log):
    X, y = make_data()
    models = [
        LocalClassifierPerNode(Unruly(log, pause=0.01), checkpoint_dir=directory) for _ in range(4)
    ]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda model: model.fit(X, y), models))
    assert 16 <= len(logged(log)) <= 64
    assert len(list(directory.iterdir())) == 16
    probabilities = [model.predict_node_proba(X) for model in models]
    for other in probabilities[1:]:
        np.testing.assert_array_equal(other, probabilities[0])


# -- files that cannot be trusted --------------------------------------------------------------


class Bomb:
    """Unpickling this is what must not happen."""

    def __reduce__(self):
        return (pytest.fail, ("a foreign file was unpickled",))


def foreign(content, other):
    return pickle.dumps(Bomb())


def truncated(content, other):
    return content[: len(content) // 2]


def empty(content, other):
    return b""


def flipped(content, other):
    return content[:-20] + bytes([content[-20] ^ 1]) + content[-19:]


def other_key(content, other):
    return other


def bad_header(content, other):
    return content.split(b"\n")[0] + b"\n{not json\n" + pickle.dumps(Bomb())


@pytest.mark.parametrize("damage", [foreign, truncated, empty, flipped, other_key, bad_header])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_file_that_is_not_whole_and_ours_is_replaced(fit, directory, damage, n_jobs):
    X, y = make_data()
    fit(X, y)
    first, second = files(directory)[:2]
    whole = first.read_bytes()
    first.write_bytes(damage(whole, second.read_bytes()))
    with (
        joblib.parallel_config(backend="threading"),
        pytest.warns(UserWarning, match=f"The checkpoint {first.name} cannot be used") as caught,
    ):
        assert len(fit(X, y, n_jobs=n_jobs)) == 1
    assert len(caught) == 1
    assert fit(X, y) == []
    assert first.read_bytes()[: len(_checkpoint._MAGIC)] == _checkpoint._MAGIC


def test_other_files_in_the_directory_are_left_alone(fit, directory):
    X, y = make_data()
    directory.mkdir()
    strangers = [directory / "notes.txt", directory / "x.hiclass", directory / ".old.part"]
    for path in strangers:
        path.write_text("mine")
    fit(X, y)
    assert [path.read_text() for path in strangers] == ["mine"] * 3


def test_a_model_that_does_not_unpickle_any_more_is_fitted_again(fit, directory, monkeypatch):
    X, y = make_data()
    fit(X, y)

    def fail(self, state):
        raise ImportError("gone")

    monkeypatch.setattr(Unruly, "__setstate__", fail)
    with pytest.warns(UserWarning, match=r"cannot be used \(gone\)"):
        assert fit(X, y) == ALL


def test_a_warning_in_a_worker_arrives_here(fit, directory):
    X, y = make_data()
    fit(X, y)
    files(directory)[0].write_bytes(b"")
    with (
        joblib.parallel_config(backend="loky"),
        pytest.warns(UserWarning, match="not a checkpoint of hiclass"),
    ):
        assert len(fit(X, y, n_jobs=2)) == 1


# -- disks that fail ---------------------------------------------------------------------------


def assert_warned_once_and_complete(fit, X, y, match):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert fit(X, y) == ALL
    assert len(caught) == 1
    assert match in str(caught[0].message)
    assert "the fit continues without them" in str(caught[0].message)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_costs_the_checkpoints_and_nothing_else(fit, directory, monkeypatch, step):
    X, y = make_data()

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "some file")

    monkeypatch.setattr(os, step, full)
    assert_warned_once_and_complete(fit, X, y, os.strerror(errno.ENOSPC))
    assert list(directory.iterdir()) == []
    monkeypatch.undo()
    assert fit(X, y) == ALL
    assert fit(X, y) == []


def test_a_really_full_disk(fit, directory, tmp_path):
    X, y = make_data()
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(directory)]
    try:
        mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        # Nothing but root may mount; the test above simulates the same.
        return
    try:
        assert_warned_once_and_complete(fit, X, y, os.strerror(errno.ENOSPC))
        assert not list(directory.glob(".*"))
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def test_a_directory_that_is_a_file(fit, directory):
    X, y = make_data()
    directory.write_text("not a directory")
    assert_warned_once_and_complete(fit, X, y, os.strerror(errno.EEXIST))
    assert directory.read_text() == "not a directory"


def test_ctrl_c_while_a_file_is_written_leaves_nothing_behind(fit, directory, monkeypatch):
    X, y = make_data()

    def interrupt(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit(X, y)
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_local_classifier_that_cannot_be_pickled_is_fitted_without_checkpoints(directory, when):
    X, y = make_data()
    model = LocalClassifierPerParentNode(Unpicklable(when), checkpoint_dir=directory)
    with pytest.warns(UserWarning, match="Unpicklable cannot be pickled") as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert len(model.local_classifiers_) == 5


class Unpicklable(GaussianNB):
    def __init__(self, when):
        super().__init__()
        self.when = when

    def fit(self, X, y):
        if self.when == "after":
            self.function_ = lambda: None
        return super().fit(X, y)

    def __getstate__(self):
        if self.when == "before":
            raise TypeError("not me")
        return super().__getstate__()


class Pointer(GaussianNB):
    """Something that pickle refuses with a ValueError."""

    def fit(self, X, y):
        self.pointer_ = ctypes.pointer(ctypes.c_int(1))
        return super().fit(X, y)


def test_whatever_pickle_raises_a_checkpoint_is_no_reason_to_fail(tmp_path):
    X, y = four_quarters(40)
    with pytest.warns(UserWarning, match="Pointer cannot be pickled"):
        model = LocalClassifierPerParentNode(Pointer(), checkpoint_dir=tmp_path).fit(X, y)
    assert model.score(X, y) > 0.8
    assert list(tmp_path.iterdir()) == []
