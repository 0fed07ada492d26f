"""Training that is stored as it goes on: killed, taken up, damaged, refused."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from network_helpers import network

pytestmark = pytest.mark.heavy


@pytest.fixture
def every_step(monkeypatch):
    monkeypatch.setattr("hiclass.torch._course._PAUSE", 0.0)


class KilledError(Exception):
    pass


def stop_after(monkeypatch, n_steps):
    """Let training fail after so many steps, as if it had been killed."""
    from hiclass.torch._train import Trainer

    step, left = Trainer.step, [n_steps]

    def counted(self, *args):
        left[0] -= 1
        if left[0] < 0:
            raise KilledError
        return step(self, *args)

    monkeypatch.setattr(Trainer, "step", counted)
    return lambda: monkeypatch.setattr(Trainer, "step", step)


PARAMS = {"hidden_layers": (8,), "dropout": 0.2, "max_epochs": 4, "batch_size": 40}


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("n_steps", [1, 7, 8, 9, 20, 31])
@pytest.mark.parametrize("validation", [0.0, 0.2])
def test_a_training_that_was_killed_goes_on_where_it_was(
    hard, tmp_path, monkeypatch, n_steps, validation
):
    X, y = hard
    params = PARAMS | {"validation_fraction": validation}
    expected = network(**params).fit(X, y)
    model = network(**params, checkpoint_dir=tmp_path / "new")
    resume = stop_after(monkeypatch, n_steps)
    if n_steps < sum(-(-round(len(y) * (1 - validation)) // 40) for _ in expected.loss_curve_):
        with pytest.raises(KilledError):
            model.fit(X, y)
    resume()
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict_node_proba(X), expected.predict_node_proba(X))
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-6)
    assert model.validation_curve_ == expected.validation_curve_
    # What is complete is not trained again; other rows and parameters are.
    again = stop_after(monkeypatch, 0)
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict_node_proba(X), expected.predict_node_proba(X))
    model.set_params(verbose=0, device="cpu", decoding="top_down").fit(X, y)
    with pytest.raises(KilledError):
        model.fit(X[1:], y[1:])
    with pytest.raises(KilledError):
        model.set_params(penalty=0.1).fit(X, y)
    again()


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("batches", [False, True])
@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("_WIDTHS", (7, 7)),
        ("_RATES", {"embedding": 0.1}),
        ("_PENALTIES", {"embedding": (9.0, 1)}),
        ("_BATCH", 100),
        ("_MOST_FINAL", 1),
    ],
)
def test_a_training_with_other_defaults_is_not_continued(
    hard, tmp_path, monkeypatch, batches, name, other
):
    from scipy.sparse import csr_matrix

    X, y = hard
    X = csr_matrix(X)

    def fit(**params):
        # Recursive: both losses have the same outputs then.
        model = network(max_epochs=2, recursive=True, **params)
        if batches:
            return model.fit_batches([(X, y)] * 10, classes=y)
        return model.fit(X, y)

    resume = stop_after(monkeypatch, 9)
    with pytest.raises(KilledError):
        fit(checkpoint_dir=tmp_path)
    resume()
    monkeypatch.setattr(f"hiclass.torch._fit.{name}", other)
    model = fit(checkpoint_dir=tmp_path)
    np.testing.assert_array_equal(model.predict_node_proba(X), fit().predict_node_proba(X))


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("n_steps", [3, 6, 8, 13])
def test_a_stream_that_was_killed_goes_on_where_it_was(hard, tmp_path, monkeypatch, n_steps):
    X, y = hard
    parts = [(X[i::6], y[i::6]) for i in range(6)]
    params = {"max_epochs": 3, "random_state": None, "checkpoint_dir": tmp_path}
    resume = stop_after(monkeypatch, n_steps)
    with pytest.raises(KilledError):
        network(**params).fit_batches(parts, classes=y)
    resume()
    learned = []
    stop = stop_after(monkeypatch, 100)
    from hiclass.torch._train import Trainer

    step = Trainer.step
    monkeypatch.setattr(Trainer, "step", lambda *args: learned.append(1) or step(*args))
    model = network(**params).fit_batches(parts, classes=y)
    stop()
    assert len(learned) == 3 * 6 - n_steps
    assert model.n_epochs_ == 3
    assert model.score(X, y) > 0.6
    expected = network(max_epochs=3).fit_batches(parts, classes=y)
    np.testing.assert_array_equal(model._known.n_own, expected._known.n_own)
    np.testing.assert_array_equal(model.prior_, expected.prior_)


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("n_steps", [4, 8, 100])
@pytest.mark.parametrize("what", ["rows", "labels", "weights", "fewer", "more"])
def test_a_stream_of_other_batches_is_not_taken_for_the_stored_one(
    hard, tmp_path, monkeypatch, n_steps, what
):
    """Killed in the first epoch, in the second one, and complete; the first batch is the same."""
    X, y = hard
    ones = np.ones(len(X) // 6)
    parts = [(X[i::6], y[i::6], ones) for i in range(6)]
    other = [list(part) for part in parts]
    if what == "rows":
        other[2][0] = other[2][0] + 1
    elif what == "labels":
        other[2][1] = other[2][1][::-1]
    elif what == "weights":
        other[2][2] = 2 * ones
    else:
        other = other[:3] if what == "fewer" else [*other, other[0]]
    params = {"max_epochs": 3, "checkpoint_dir": tmp_path}
    resume = stop_after(monkeypatch, n_steps)
    try:
        network(**params).fit_batches(parts, classes=y)
    except KilledError:
        assert n_steps < 18
    resume()
    if what == "more" and n_steps < 6:  # all batches so far are the same: it goes on
        model = network(**params).fit_batches([tuple(part) for part in other], classes=y)
        assert model._known.n_own.sum() == 7 * len(ones)
        return
    with pytest.raises(ValueError, match="another checkpoint_dir to start again"):
        network(**params).fit_batches([tuple(part) for part in other], classes=y)
    expected = network(max_epochs=3).fit_batches(parts, classes=y)
    found = network(**params).fit_batches(parts, classes=y)
    np.testing.assert_array_equal(found.predict_node_proba(X), expected.predict_node_proba(X))


@pytest.mark.usefixtures("every_step")
def test_features_are_scaled_as_before_whatever_comes_later(hard, tmp_path, monkeypatch):
    X, y = hard
    parts = [(X[i::6], y[i::6]) for i in range(6)]
    expected = network(max_epochs=1).fit_batches(parts, classes=y)
    resume = stop_after(monkeypatch, 1)
    with pytest.raises(KilledError):
        network(max_epochs=1, checkpoint_dir=tmp_path).fit_batches(parts, classes=y)
    resume()
    others = [parts[0], *((1000 * X, y) for X, y in parts[1:])]  # not learned so far
    model = network(max_epochs=1, checkpoint_dir=tmp_path).fit_batches(others, classes=y)
    for name in ("mean", "factor"):
        np.testing.assert_array_equal(model._past[name], expected._past[name])


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("kind", ["array", "arrow"])
@pytest.mark.parametrize("n_steps", [2, 10, 17])
def test_shuffled_batches_go_on_in_the_order_of_their_epoch(
    hard, tmp_path, monkeypatch, kind, n_steps
):
    import pyarrow as pa

    from hiclass.torch import ArrayBatches, ArrowBatches

    X, y = hard

    def batches(seed=0):
        if kind == "array":
            return ArrayBatches(X, y, batch_size=50, random_state=seed)
        columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
        labels = {f"y{i}": pa.array(y[:, i].astype(str)) for i in range(y.shape[1])}
        table = pa.table(columns | labels)
        return ArrowBatches(table, list(labels), batch_size=50, random_state=seed)

    expected = network(max_epochs=4).fit_batches(batches(), classes=y)
    resume = stop_after(monkeypatch, n_steps)
    with pytest.raises(KilledError):
        network(max_epochs=4, checkpoint_dir=tmp_path).fit_batches(batches(), classes=y)
    resume()
    source = batches()
    next(iter(source))  # what was read from it before does not matter
    found = network(max_epochs=4, checkpoint_dir=tmp_path).fit_batches(source, classes=y)
    np.testing.assert_array_equal(found.predict_node_proba(X), expected.predict_node_proba(X))
    with pytest.warns(UserWarning, match="Set random_state of the batches to an int"):
        network(max_epochs=1, checkpoint_dir=tmp_path).fit_batches(batches(None), classes=y)


CODE = """
import sys, numpy as np
from hiclass.torch import HierarchicalSoftmaxClassifier, _course
_course._PAUSE = 0.0
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 5)).astype(np.float32)
y = [["a" if r[0] > 0 else "b", "c" if r[1] > 0 else "d"] for r in X]
model = HierarchicalSoftmaxClassifier(max_epochs=60, tol=0, patience=99, batch_size=50,
                                      random_state=0, checkpoint_dir=sys.argv[1])
np.save(sys.argv[2], model.fit(X, y).predict_node_proba(X))
"""


def test_kill_at_any_moment(tmp_path):
    def start(folder, result):
        command = [sys.executable, "-c", CODE, str(tmp_path / folder), str(tmp_path / result)]
        return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})

    whole = start("alone", "expected.npy")
    killed = 0
    for pause in (0.02, 0.2):
        process = start("killed", "found.npy")
        while process.poll() is None and not list(tmp_path.glob("killed/*-training")):
            time.sleep(0.005)
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed
    assert start("killed", "found.npy").wait() == 0
    assert whole.wait() == 0
    found, expected = (np.load(tmp_path / f"{name}.npy") for name in ("found", "expected"))
    np.testing.assert_array_equal(found, expected)


def test_damaged_files_and_folders_that_cannot_be_written_are_a_warning(hard, tmp_path):
    X, y = hard
    model = network(max_epochs=2, checkpoint_dir=tmp_path).fit(X, y)
    expected = model.predict_node_proba(X)
    (file,) = tmp_path.glob("*.hiclass-training")
    content = file.read_bytes()
    for damaged in (content[:-1], content[:20], b"", content[:200] + b"x" + content[201:]):
        file.write_bytes(damaged)
        with pytest.warns(UserWarning, match="is damaged, or was written by another version"):
            model.fit(X, y)
        np.testing.assert_array_equal(model.predict_node_proba(X), expected)
        assert file.read_bytes()[:18] == content[:18]
    (tmp_path / "file").write_text("")
    model.set_params(checkpoint_dir=tmp_path / "file" / "below")
    with pytest.warns(UserWarning, match="Checkpoints cannot be written to .*below"):
        model.fit(X, y)


def test_the_state_of_a_generator_does_not_decide_about_a_file(hard, tmp_path):
    X, y = hard
    for _ in range(2):
        generator = np.random.RandomState(3)
        generator.rand(5)
        model = network(max_epochs=1, random_state=generator, checkpoint_dir=tmp_path)
        model.fit(X, y)
    assert len(list(tmp_path.iterdir())) == 1
    assert "checkpoint_dir" in model.get_params()


def test_rows_that_have_no_hash_are_trained_without_a_checkpoint(hard, tmp_path):
    X, y = hard
    model = network(max_epochs=1, checkpoint_dir=tmp_path, decoding="best_path")
    model.hierarchy = None
    model.tol = _Unpicklable(1e-4)
    with pytest.warns(UserWarning, match="cannot be pickled"):
        model.fit(X, y)


class _Unpicklable(float):
    def __reduce__(self):
        raise TypeError("no")
