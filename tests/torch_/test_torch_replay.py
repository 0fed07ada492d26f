"""Steps that are recorded once and replayed; on the processor, replaying is computing again."""

import numpy as np
import pytest
import scipy.sparse as sp
from network_helpers import network

pytestmark = pytest.mark.heavy


class Recorder:
    """Records steps by keeping the function; counts them and their replays."""

    def __init__(self):
        self.n_recorded = self.n_replayed = 0

    def __call__(self, step):
        self.n_recorded += 1

        def replay():
            self.n_replayed += 1
            step()

        return replay


@pytest.fixture
def recorder(monkeypatch):
    """Every trainer records its steps."""
    from hiclass.torch import _train
    from hiclass.torch._replay import Replays

    found = Recorder()

    def forget(self):
        self._replays = Replays(found)

    monkeypatch.setattr(_train.Trainer, "_forget_steps", forget)
    return found


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"embedding_dim": 4},
        {"hidden_layers": (6,), "dropout": 0.3},
        {"loss": "conditional", "recursive": True, "penalty": 1e-3},
        {"clip_norm": 0.1},
    ],
    ids=["linear", "embedding", "hidden", "recursive", "clipped"],
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_replayed_steps_learn_the_same(hard, request, params, container, weighted):
    X, y = hard
    X = container(np.where(np.abs(X) > 0.7, X, 0).astype(np.float32))
    weights = np.linspace(0.1, 1, len(y)) if weighted else None
    params = {"max_epochs": 6, "batch_size": 9, **params}
    expected = network(**params).fit(X, y, weights)
    recorder = request.getfixturevalue("recorder")
    found = network(**params).fit(X, y, weights)
    assert recorder.n_replayed > recorder.n_recorded > 0
    np.testing.assert_allclose(
        found.predict_node_proba(X), expected.predict_node_proba(X), atol=1e-5
    )
    np.testing.assert_allclose(found.loss_curve_, expected.loss_curve_, rtol=1e-5)


def test_steps_of_a_stream_are_replayed_until_the_penalty_changes(hard, request):
    """Batches of sparse rows with different numbers of entries share a recorded step."""
    X, y = hard
    rows = sp.csr_matrix(np.where(np.abs(X) > 0.7, X, 0))
    parts = np.array_split(np.arange(len(y)), len(y) // 12)
    stream = [(rows[part], y[part]) for part in parts]
    sizes = {(len(part), rows[part].nnz) for part in parts}
    params = {"max_epochs": 12, "random_state": 0}
    expected = network(**params).fit_batches(stream, classes=y).predict_node_proba(X)
    recorder = request.getfixturevalue("recorder")
    found = network(**params).fit_batches(stream, classes=y).predict_node_proba(X)
    assert 0 < recorder.n_recorded < len(sizes)
    assert recorder.n_replayed > 0
    np.testing.assert_allclose(found, expected, atol=1e-5)


def batch_of(n_rows, n_entries, seed=0):
    import torch

    from hiclass.torch._batches import Batch

    rng = np.random.default_rng(seed)
    offsets = np.sort(rng.integers(n_entries + 1, size=n_rows + 1)).astype(np.int32)
    offsets[0], offsets[-1] = 0, n_entries
    parts = (
        rng.integers(5, size=n_entries).astype(np.int32),
        offsets,
        rng.random(n_entries, dtype=np.float32),
    )
    target = (torch.arange(n_rows),)
    return Batch(tuple(map(torch.from_numpy, parts)), target, None, n_rows)


def dense_of(batch):
    indices, offsets, values = (part.numpy() for part in batch.rows)
    return sp.csr_matrix((values, indices, offsets), (batch.n_rows, 5)).toarray()


def test_sparse_batches_are_filled_up_with_zeros(monkeypatch):
    import torch

    from hiclass.torch import _replay

    monkeypatch.setattr(_replay, "_WAIT", 1)
    learned = []

    def learn(batch):
        learned.append((len(batch.rows[0]), dense_of(batch)))
        return torch.tensor(float(len(learned)))

    replays = _replay.Replays(Recorder())
    # 129 to 144 entries are one form, of 144 entries; 128 entries are another one.
    batches = [batch_of(4, n, seed=n) for n in (140, 144, 129, 130, 128)]
    assert replays.step(batches[0], learn) is None  # the first of its form
    for i, batch in enumerate(batches[1:4]):
        assert float(replays.step(batch, learn)) == i + 1
        n_entries, dense = learned[-1]
        assert n_entries == 144
        np.testing.assert_allclose(dense, dense_of(batch), atol=1e-6)
    assert replays.step(batches[4], learn) is None
    assert replays.step(batch_of(4, 0), learn) is None
    assert float(replays.step(batch_of(4, 0), learn)) == 4  # no entries at all
    assert not learned[-1][1].any()


def test_only_some_forms_have_recorded_steps(monkeypatch):
    import torch

    from hiclass.torch import _replay

    monkeypatch.setattr(_replay, "_WAIT", 0)
    monkeypatch.setattr(_replay, "_MOST_FORMS", 2)
    replays = _replay.Replays(Recorder())
    found = [replays.step(batch_of(n, 20), lambda batch: torch.tensor(1.0)) for n in (2, 3, 4, 3)]
    assert [total is None for total in found] == [False, False, True, False]


def test_without_memory_for_a_recorded_step_training_goes_on():
    import torch

    from hiclass.torch import _replay

    def record(step):
        raise torch.OutOfMemoryError("too large")

    replays = _replay.Replays(record)
    for _ in range(_replay._WAIT + 2):
        assert replays.step(batch_of(2, 20), None) is None
    assert replays._record is None


def test_a_copy_records_with_its_own_generator(hard, monkeypatch):
    """What a recorded step drops is drawn from the generator of its trainer."""
    from hiclass.torch import _train

    X, y = hard
    trainer = network(hidden_layers=(6,), dropout=0.3).partial_fit(X, y)._trainer
    drawn_from = {}

    def forget(self):
        drawn_from[id(self)] = self._generator

    monkeypatch.setattr(_train.Trainer, "_forget_steps", forget)
    other = trainer.copy()
    assert other._generator is not trainer._generator
    assert drawn_from[id(other)] is other._generator


def pack(batch):
    """A batch in one piece, as it comes to a GPU."""
    import torch

    from hiclass.torch._packed import Form, Packed

    form = Form.of(batch)
    room = torch.full((form.n_bytes,), 77, dtype=torch.uint8)  # of a batch before
    form.fill(room.numpy(), batch)
    return Packed(form, room, batch.is_void)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse", "sets", "ranges"])
def test_a_packed_batch_is_the_same_batch(kind, weighted):
    from dataclasses import replace

    import torch

    from hiclass.torch._packed import unpacked

    batch = batch_of(4, 131)
    if kind == "dense":
        batch = replace(batch, rows=(torch.rand(4, 3),))
    elif kind == "sets":
        batch = replace(batch, target=(torch.rand(4, 5),))
    elif kind == "ranges":
        batch = replace(batch, target=(torch.arange(4), torch.arange(4) + 2))
    if weighted:
        batch = replace(batch, weight=torch.rand(4), is_scaled=True)
    packed = pack(batch)
    found = packed.unpacked()
    assert packed.n_rows == found.n_rows == 4
    assert found.is_scaled == batch.is_scaled
    assert unpacked(batch) is batch
    if kind == "dense":
        assert torch.equal(found.rows[0], batch.rows[0])
    else:
        assert len(found.rows[0]) == len(found.rows[2]) == 144
        np.testing.assert_allclose(dense_of(found), dense_of(batch), atol=1e-6)
    assert all(map(torch.equal, found.target, batch.target))
    assert (found.weight is None) if not weighted else torch.equal(found.weight, batch.weight)


def test_packed_batches_are_replayed_as_others_are(monkeypatch):
    import torch

    from hiclass.torch import _replay

    monkeypatch.setattr(_replay, "_WAIT", 1)
    learned = []

    def learn(batch):
        learned.append(dense_of(batch))
        return torch.tensor(float(len(learned)))

    replays = _replay.Replays(Recorder())
    batches = [batch_of(4, n, seed=n) for n in (140, 144, 129, 131)]
    assert replays.step(pack(batches[0]), learn) is None
    for batch in batches[1:]:
        replays.step(pack(batch), learn)
        np.testing.assert_allclose(learned[-1], dense_of(batch), atol=1e-6)
    assert len(learned) == 3
    anew = _replay.Replays(Recorder())
    anew.expect(replays)
    assert anew.step(pack(batches[0]), learn) is not None  # at once


def test_the_learning_rate_is_set_where_it_changes(hard):
    X, y = hard
    trainer = network().partial_fit(X, y)._trainer
    batch = batch_of(4, 20)
    rates = []
    trainer._learn = lambda batch, n_rows: rates.append(
        [group["lr"] for optimiser in trainer._optimisers for group in optimiser.param_groups]
    )
    for rate in (1.0, 1.0, 0.5):
        trainer.step(batch, rate)
    full = trainer.settings.learning_rate
    assert [set(found) for found in rates] == [{full}, {full}, {full / 2}]
