"""How batches get to a device: the thread, and rows that stay there."""

import threading
from contextlib import nullcontext
from queue import SimpleQueue
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from network_helpers import network

pytestmark = pytest.mark.heavy


class _Layout:
    """Nodes are targets; those above 5 stand for two."""

    is_compact = True

    def select(self, target):
        return target

    def compared(self, nodes):
        return (nodes, nodes + 1) if (nodes > 5).any() else (nodes,)


def rows_of(container, weight=None, n_rows=23):
    from hiclass.torch._batches import Rows

    X = np.random.default_rng(0).normal(size=(n_rows, 7)).astype(np.float32)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0
    X[3] = 0
    return Rows(container(X), np.arange(n_rows) % 5, _Layout(), weight)


def as_dense(batch, width=7):
    if len(batch.rows) == 1:
        return batch.rows[0].numpy()
    indices, offsets, values = (part.numpy() for part in batch.rows)
    return sp.csr_matrix((values, indices, offsets), (batch.n_rows, width)).toarray()


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_stay_on_a_device_give_the_same_batches(container, weighted):
    import torch

    from hiclass.torch._batches import cut
    from hiclass.torch._feed import DeviceRows
    from hiclass.torch._team import ALONE

    weight = np.where(np.arange(23) < 8, 0.0, 2.0).astype(np.float32) if weighted else None
    rows = rows_of(container, weight)
    there = DeviceRows(rows, torch.device("cpu"), lambda x: x)
    assert len(there) == 23
    for order in (np.arange(23), np.random.default_rng(0).permutation(23)):
        _, cuts = cut(23, 8, ALONE)
        assert cuts.tolist() == [0, 8, 16, 23]
        pairs = list(zip(rows.batches(order, cuts), there.batches(order, cuts), strict=True))
        assert [b.n_rows for b, _ in pairs] == [8, 8, 7]
        for one, other in pairs:
            np.testing.assert_array_equal(as_dense(one), as_dense(other))
            np.testing.assert_array_equal(one.target[0], other.target[0])
            assert one.is_void == other.is_void
            if weighted:
                np.testing.assert_array_equal(one.weight, other.weight)
    assert any(b.is_void for b in rows.batches(np.arange(23), cuts)) == weighted


def test_training_on_rows_that_stay_is_the_same(hard, monkeypatch):
    from hiclass.torch import _fit
    from hiclass.torch._feed import DeviceRows

    X, y = hard
    weights = np.linspace(0, 1, len(y))
    expected = network(max_epochs=4).fit(X, y, weights).predict_node_proba(X)
    monkeypatch.setattr(_fit, "stay_on", DeviceRows)
    found = network(max_epochs=4).fit(X, y, weights).predict_node_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
def test_rows_that_stay_are_scaled_once(hard, monkeypatch, half):
    """Batches come as the network takes them, in pieces of any size, sent ahead or not."""
    import torch

    from hiclass.torch import _feed
    from hiclass.torch._batches import Rows

    X, y = hard
    X = (X * [1, 10, 100, 0.1, 1, 1] + 5).astype(np.float32)
    model = network(precision="bfloat16" if half else "float32").partial_fit(X, y)
    trainer = model._trainer
    assert trainer.settings.half == half
    rows = Rows(X, np.zeros(len(X), dtype=int), _Layout(), None)
    monkeypatch.setattr(_feed, "_PIECE", 7 * 6 * 4)
    monkeypatch.setattr(_feed, "_STAGED", 5 * 6 * 4)
    monkeypatch.setattr(_feed, "fits", lambda X, device: True)
    cpu = torch.device("cpu")
    with _feed.Sending(X, cpu) as sent:
        there = [
            _feed.DeviceRows(rows, cpu, trainer.scale),
            _feed.DeviceRows(rows, cpu, trainer.scale, sent.take()),
        ]
        assert sent.take() is None  # handed over
    order = np.arange(len(X))[::-1].copy()
    cuts = np.array([0, 10, 30])
    plain = list(rows.batches(order, cuts))
    for source in there:
        for one, other in zip(plain, source.batches(order, cuts), strict=True):
            assert (one.is_scaled, other.is_scaled) == (False, True)
            assert other.rows[0].dtype == (torch.bfloat16 if half else torch.float32)
            torch.testing.assert_close(other.rows[0], trainer.scale(one.rows[0]), rtol=0, atol=0)
            with torch.autocast("cpu", torch.bfloat16, enabled=half), torch.no_grad():
                found, expected = (
                    trainer._first_layer(b, sparse_gradient=False) for b in (other, one)
                )
            torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_rows_are_not_sent_where_they_do_not_stay(hard, monkeypatch):
    import torch

    from hiclass.torch import _feed

    X, y = hard
    X = X.astype(np.float32)
    with _feed.Sending(X, torch.device("cpu")) as sent:
        assert sent.take() is None
    monkeypatch.setattr(_feed, "fits", lambda X, device: True)
    with _feed.Sending(sp.csr_matrix(X), torch.device("cpu")) as sent:
        assert sent.take() is None
    with pytest.raises(KeyError), _feed.Sending(X, torch.device("cpu")) as sent:
        raise KeyError  # nothing is left behind
    assert sent.take() is None
    found = network(max_epochs=3).fit(X, y).predict_node_proba(X)
    monkeypatch.undo()
    expected = network(max_epochs=3).fit(X, y).predict_node_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_rows_wait_for_the_stream_of_the_caller_whose_memory_they_take(monkeypatch):
    """With streams that only remember; benchmarks/gpu_smoke.py has this step on a GPU."""
    import torch

    from hiclass.torch import _feed

    waited, callers = [], object()
    copying = SimpleNamespace(wait_stream=waited.append)
    monkeypatch.setattr(_feed, "streams_of", lambda device: SimpleNamespace(copying=copying))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: callers)
    _feed._Staging(torch.device("cuda"))
    assert waited == [callers]


def test_pinned_memory_that_is_refused_is_an_error_for_every_piece():
    """With more pieces than slots: a slot that is lost would let the last pieces wait forever."""
    import torch

    from hiclass.torch import _feed

    class Refused:
        def room(self, n_bytes):
            raise RuntimeError("no pinned memory")

    staging = object.__new__(_feed._Staging)  # without the stream, which needs a GPU
    staging._slots = SimpleQueue()
    staging._slots.put(Refused())
    for _ in range(3):
        assert not staging._slots.empty()
        with pytest.raises(RuntimeError, match="no pinned memory"):
            staging.copy(torch.zeros(2, 2), torch.zeros(2, 2))


def test_memory_of_rows_is_not_used_again_before_they_are_copied(monkeypatch):
    """Without a GPU, plain memory and a stream that only remembers take their places."""
    import torch

    from hiclass.torch import _feed

    empty, used = torch.empty, []

    class Stream:
        def record_event(self):
            return None

    class There(torch.Tensor):
        def record_stream(self, stream):
            used.append(stream)

    monkeypatch.setattr(
        torch, "empty", lambda *size, pin_memory=False, **more: empty(*size, **more)
    )
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    staging = object.__new__(_feed._Staging)
    staging._stream, staging._slots = Stream(), SimpleQueue()
    staging._slots.put(_feed._Slot())
    rows, there = torch.arange(6.0).view(3, 2), There(np.zeros((3, 2), dtype=np.float32))
    staging.copy(rows, there)
    assert there.tolist() == rows.tolist()
    assert used == [staging._stream]


def test_rows_stay_only_on_a_gpu_and_only_if_they_fit(monkeypatch):
    import torch

    from hiclass.torch import _feed

    monkeypatch.setattr(_feed, "DeviceRows", lambda rows, device, scale, ahead: "there")
    for container, n_bytes in ((np.asarray, 23 * 7 * 4), (sp.csr_matrix, None)):
        rows = rows_of(container)
        if n_bytes is None:
            n_bytes = rows.X.nnz * 8 + 24 * 4
        assert _feed.stay_on(rows, torch.device("cpu"), None) is rows
        for free, expected in ((3 * n_bytes, "there"), (2 * n_bytes, rows)):
            monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, 0))
            assert _feed.stay_on(rows, torch.device("cuda"), None) is expected


def test_steps_are_shared_by_processes_without_a_rest():
    from hiclass.torch._batches import cut
    from hiclass.torch._team import Team

    parts = [cut(23, 5, Team(rank, 3)) for rank in range(3)]
    assert sorted(np.concatenate([mine for mine, _ in parts])) == list(range(23))
    for step in range(5):
        rows = [mine[cuts[step] : cuts[step + 1]] for mine, cuts in parts]
        assert sorted(np.concatenate(rows)) == list(range(5 * step, min(5 * step + 5, 23)))
    assert {len(cuts) for _, cuts in parts} == {6}


def test_pinned_memory_is_used_again(monkeypatch):
    """Without a GPU there is no pinned memory: plain memory takes its place here."""
    import torch

    from hiclass.torch import _feed

    made = []
    empty = torch.empty

    def counted(*size, pin_memory=False, **options):
        made.extend([size] if pin_memory else [])
        return empty(*size, **options)

    monkeypatch.setattr(torch, "empty", counted)
    slot = _feed._Slot()

    class Event:
        waited = 0

        def synchronize(self):
            Event.waited += 1

    for n_rows in (8, 6, 8, 10):
        batch = next(rows_of(sp.csr_matrix, n_rows=n_rows).pieces(_Shape()))
        form, room = slot.put(batch)
        copied = form.view(room)
        np.testing.assert_array_equal(as_dense(copied), as_dense(batch))
        np.testing.assert_array_equal(copied.target[0], batch.target[0])
        slot.copied = Event()
    assert Event.waited == 3
    assert len(made) <= 2  # once, and once more for a larger batch


class _Shape:
    def rows_at_once(self, n_entries):
        return 1000


def test_what_goes_wrong_where_batches_are_prepared_is_raised():
    import torch

    from hiclass.torch._feed import prefetched

    def two():
        yield rows_of(np.asarray).whole()
        raise KeyError("the second one")

    n_threads = threading.active_count()
    batches = prefetched(two(), torch.device("cpu"))
    next(batches)
    with pytest.raises(KeyError, match="the second one"):
        next(batches)
    assert threading.active_count() == n_threads


def test_what_cannot_be_iterated_over_is_an_error_and_no_wait():
    from hiclass.torch._feed import ahead

    class Broken:
        def __iter__(self):
            raise KeyError("no such file")

    with pytest.raises(KeyError, match="no such file"):
        next(ahead(Broken(), 2))


def test_a_device_that_a_copy_goes_to_gets_it_from_a_thread():
    import torch

    from hiclass.torch._feed import prefetched

    batch = rows_of(np.asarray).whole()
    n_threads = threading.active_count()
    found = list(prefetched([batch] * 7, torch.device("cpu")))
    assert len(found) == 7
    np.testing.assert_array_equal(as_dense(found[6]), as_dense(batch))
    assert threading.active_count() == n_threads


def test_sets_are_sparse_until_they_are_learned_or_sent():
    """With 100,000 classes, the dense targets of a few batches would take gigabytes."""
    import torch

    from hiclass.torch._batches import Batch, Rows
    from hiclass.torch._feed import ahead, prefetched

    X, y = np.eye(5, dtype=np.float32), [["a"], ["a", "b"], ["c"], ["b"], ["b", "c"]]
    model = network(multi_label=True, hierarchy={"b": ["a"], "c": []}).partial_fit(X, y)
    layout = model._network().layout
    assert layout.n_outputs == 3
    sets = sp.csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]]) > 0)
    rows = Rows(X, sets, layout, None)
    batch = rows.whole()
    assert sp.issparse(batch.target[0])
    (read,) = prefetched([batch], torch.device("cpu"))
    assert read is batch
    for some in ([batch.dense()], [batch.to("cpu")], list(ahead([batch], 1, Batch.dense))):
        (target,) = some[0].target
        assert target.dtype == torch.float32
        np.testing.assert_array_equal(target.numpy(), sets.toarray())
    parts = list(batch.parts(2))
    assert [part.n_rows for part in parts] == [2, 2, 1]
    assert all(torch.is_tensor(part.target[0]) for part in parts)
    np.testing.assert_array_equal(np.vstack([p.target[0] for p in parts]), sets.toarray())


def test_memory_mapped_rows_are_read_as_they_are(hard, tmp_path):
    X, y = hard
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = network(max_epochs=2).fit(X, y).predict_node_proba(X)
    found = network(max_epochs=2).fit(mapped, y).predict_node_proba(mapped)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_batches_that_need_no_conversion_are_told_from_others():
    from hiclass.torch._batches import is_plain

    plain = sp.csr_array(np.eye(3, 4, dtype=np.float32))
    assert is_plain(plain, 4)
    assert is_plain(sp.csr_matrix(plain), 4)
    bad = plain.copy()
    bad.data[1] = np.nan
    large = plain.copy()
    large.data[:] = 3e38  # finite, but not their sum: looked at more closely elsewhere
    others = [bad, large, plain.astype(float), plain.tocsc(), plain.toarray(), plain[:0]]
    assert not any(is_plain(X, 4) for X in others)
    assert not is_plain(plain, 5)


def test_a_batch_of_the_wrong_width_or_with_nan_is_refused(hard):
    X, y = hard
    rows = sp.csr_matrix(X.astype(np.float32))
    model = network().partial_fit(rows, y)
    assert (model.predict(rows) == model.predict(sp.csr_matrix(X))).all()
    with pytest.raises(ValueError, match="5 features, but"):
        model.partial_fit(rows[:, :5], y)
    rows.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(rows, y)
