"""Run all that the network can do on a GPU, in under three minutes; on the processor without one.

    python benchmarks/gpu_smoke.py
    python benchmarks/gpu_smoke.py --device cpu --rows 400

It is not a measurement: every step asserts what must hold, and says how long it took. The tests of
the library run the same features on the processor.
"""

import argparse
import json
import pickle
import tempfile
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from hiclass.datasets import make_hierarchical_classification
from hiclass.torch import (
    HierarchicalHead,
    HierarchicalLoss,
    HierarchicalSoftmaxClassifier,
    _feed,
    _replay,
)

STEPS: list[Callable[..., None]] = []


def step(function: Callable[..., None]) -> Callable[..., None]:
    """A step of the script."""
    STEPS.append(function)
    return function


class Data:
    """Rows of three levels, some of which end early, and the device to use."""

    def __init__(self, device: str, n_rows: int) -> None:
        made = make_hierarchical_classification(
            n_samples=n_rows, n_features=20, branching=[4, 4, 3], depth=3, random_state=0
        )
        self.device = device
        self.X = made.data.astype(np.float32)
        self.y = made.target.astype(object)
        self.sparse = sp.csr_array(np.where(np.abs(self.X) > 0.5, self.X, 0))
        self.early = self.y.copy()
        self.early[::7, 2] = ""

    def model(self, **params: Any) -> HierarchicalSoftmaxClassifier:
        """A network that learns a little."""
        params = {"max_epochs": 5, "device": self.device, "random_state": 0} | params
        return HierarchicalSoftmaxClassifier(**params)


def on_cpu(model: HierarchicalSoftmaxClassifier) -> HierarchicalSoftmaxClassifier:
    """The same model, from a file, on the processor."""
    return pickle.loads(pickle.dumps(model)).set_params(device="cpu")


@step
def train_every_shape_and_loss(data: Data) -> None:
    """Dense and sparse rows, both losses, linear, embedding and hidden layers, all penalties."""
    shapes = [{"embedding_dim": None}, {"embedding_dim": 16}, {"hidden_layers": (32,)}]
    for X, loss, shape in product((data.X, data.sparse), ("leaf", "conditional"), shapes):
        for more in ({}, {"recursive": True, "penalty": 1e-4}, {"penalty": 0.0, "dropout": 0.1}):
            model = data.model(loss=loss, **shape, **more).fit(X, data.y)
            assert np.isfinite(model.loss_curve_).all()
    assert data.model(max_epochs=20).fit(data.X, data.y).score(data.X, data.y) > 0.7


@step
def decide_as_on_the_processor(data: Data) -> None:
    """Every decoding, truncated paths, restricted and adapted models."""
    for loss, leaf_only in product(("leaf", "conditional"), (False, True)):
        model = data.model(loss=loss, leaf_only=leaf_only, expected_f1=0.8)
        model.fit(data.X, data.early)
        some = [tuple(data.y[i, :2]) for i in range(5)]
        for fitted in (
            model,
            model.restricted_to(some),
            model.adapted_to(data.X, reference=data.X, strength=1.0),
        ):
            host = on_cpu(fitted)
            for decoding in ("top_down", "best_path", "expected_f1"):
                for least in (0.0,) if leaf_only else (0.0, 0.7):
                    for one in (fitted, host):
                        one.set_params(decoding=decoding, min_confidence=least)
                    agree = (fitted.predict(data.X) == host.predict(data.X)).all(axis=1)
                    # Scores of a GPU differ in their last digits: so may a close decision.
                    assert agree.mean() > 0.99
                    close = np.isclose(
                        fitted.predict_confidence(data.X),
                        host.predict_confidence(data.X),
                        atol=1e-3,
                        equal_nan=True,
                    )
                    assert close.all(axis=1)[agree].all()
            paths, proba = fitted.predict_paths(data.X, k=3)
            assert paths.shape == (*proba.shape, 3)
            total = np.sum([p.sum(axis=1) for p in fitted.predict_proba(data.X)[:1]], axis=0)
            np.testing.assert_allclose(total, 1, atol=1e-6)


@step
def decide_on_sets(data: Data) -> None:
    """Several labels per row, with one threshold and with tuned ones."""
    n = min(len(data.X), 600)
    y = [[tuple(data.y[i]), tuple(data.y[(i + 1) % n, :2])] for i in range(n)]
    for loss, threshold in product(("leaf", "conditional"), (0.5, "tuned")):
        model = data.model(loss=loss, multi_label=True, threshold=threshold)
        model.fit(data.X[:n], y)
        host = on_cpu(model).predict(data.X[:n])
        found = model.predict(data.X[:n])
        assert np.mean([set(a) == set(b) for a, b in zip(found, host, strict=True)]) > 0.99


@step
def learn_in_a_stream_of_the_caller(data: Data) -> None:
    """Rows are not sent to memory that a stream of the caller is still going to write to."""
    if data.device != "cuda":
        return
    X = np.arange(4_000_000, dtype=np.float32).reshape(-1, 40)
    expected = data.model(precision="float32").fit(data.X, data.y).loss_curve_
    with torch.cuda.stream(torch.cuda.Stream()):
        used = torch.empty(X.shape, device="cuda")
        torch.cuda._sleep(10**9)
        used.fill_(-1)  # still to come when rows are sent
        place = used.data_ptr()
        del used
        with _feed.Sending(X, torch.device("cuda")) as sent:
            there = sent.take()
        assert there.data_ptr() == place
        np.testing.assert_array_equal(there.cpu().numpy(), X)
        model = data.model(precision="float32").fit(data.X, data.y)
    np.testing.assert_allclose(model.loss_curve_, expected, rtol=0.01)


@step
def learn_batches_and_streams(data: Data) -> None:
    """Batches from a generator, rows that follow, a model that goes on."""
    parts = np.array_split(np.arange(len(data.X)), 8)

    def batches() -> Any:
        return ((data.sparse[part], data.y[part]) for part in parts)

    model = data.model(validation_fraction=0.0)
    model.fit_batches(batches, classes=data.y, validation=(data.sparse[:50], data.y[:50]))
    before = model.score(data.sparse, data.y)
    for part in parts[:3]:
        model.partial_fit(data.sparse[part], data.y[part])
    assert model.score(data.sparse, data.y) > before - 0.05
    model = data.model(warm_start=True).fit(data.X, data.y)
    first = model.loss_curve_[0]
    assert model.fit(data.X, data.y).loss_curve_[0] < first


@step
def train_as_in_pytorch(data: Data) -> None:
    """Validation, precision, clipping, checkpoints."""
    wanted: list[dict[str, Any]] = [
        {"validation_fraction": 0.2},
        {"precision": "float32"},
        {"precision": "bfloat16"},
        {"clip_norm": 1.0},
    ]
    for params in wanted:
        model = data.model(**params).fit(data.X, data.y)
        assert model.predict(data.X[:3]).shape == (3, 3)
    with tempfile.TemporaryDirectory() as folder:
        model = data.model(checkpoint_dir=folder).fit(data.X, data.y)
        again = data.model(checkpoint_dir=folder).fit(data.X, data.y)
        assert (again.predict(data.X) == model.predict(data.X)).mean() > 0.99


@step
def replay_recorded_steps(data: Data) -> None:
    """On a GPU, steps that are replayed learn what steps without a recording learn."""
    shapes: list[dict[str, Any]] = [
        {"embedding_dim": None},
        {"embedding_dim": 16, "loss": "conditional", "recursive": True, "penalty": 1e-4},
        {"hidden_layers": (32,), "clip_norm": 0.5},
    ]
    places = [slice(start, start + 64) for start in range(0, len(data.X) - 63, 64)]
    for X, shape, streamed in product((data.X, data.sparse), shapes, (False, True)):
        curves = []
        for wait in (10**9, _replay._WAIT):
            before, _replay._WAIT = _replay._WAIT, wait
            model = data.model(batch_size=64, precision="float32", **shape)
            try:
                if streamed:  # the penalty changes after the first epoch
                    stream = [(X[place], data.early[place]) for place in places]
                    model.fit_batches(stream, classes=data.early)
                else:
                    model.fit(X, data.early)
            finally:
                _replay._WAIT = before
            curves.append(model.loss_curve_)
        # Sums on a GPU differ in their last digits from one run to the next.
        np.testing.assert_allclose(curves[0], curves[1], rtol=0.01)
    dropped = data.model(batch_size=64, hidden_layers=(32,), dropout=0.5).fit(data.X, data.y)
    assert dropped.loss_curve_[-1] < dropped.loss_curve_[0]


@step
def put_a_head_on_an_encoder(data: Data) -> None:
    """The loss and the head with an encoder, in mixed precision, and the module of a model."""
    device = torch.device(data.device)
    model = data.model().fit(data.X, data.y)
    tree = model.hierarchy_
    torch.manual_seed(0)
    encoder = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU()).to(device)
    for loss in ("leaf", "conditional"):
        head = HierarchicalHead(64, tree, loss).to(device)
        optimiser = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
        X, target = torch.from_numpy(data.X).to(device), head.encode(data.y)
        for _ in range(60):
            optimiser.zero_grad()
            with torch.autocast(device.type, torch.bfloat16):
                outputs = head(encoder(X))
                value = head.loss(outputs, target)
            value.backward()
            optimiser.step()
        right = (head.predict(head(encoder(X))) == data.y).all(axis=1).mean()
        assert right > 0.5
    assert HierarchicalLoss(tree).to(device)(torch.zeros(1, 48, device=device), target[:1]) > 0
    module = model.module_
    outputs = module(torch.from_numpy(data.X).to(next(module.parameters()).device))
    proba = module.head.predict_node_proba(outputs).cpu().numpy()
    np.testing.assert_allclose(proba, model.predict_node_proba(data.X), atol=1e-4)


@step
def keep_within_a_budget(data: Data) -> None:
    """Many classes: 20,000 leaves, and a memory of the GPU that does not grow with the rows."""
    n_leaves = 20_000 if data.device == "cuda" else 500
    y = np.array([[f"a{i % 40}", f"b{i}"] for i in range(n_leaves)], dtype=object)
    X = sp.random_array((n_leaves, 3000), density=0.01, rng=0, dtype=np.float32).tocsr()
    model = data.model(max_epochs=1).fit(X, y)
    for decoding in ("top_down", "best_path"):
        model.set_params(decoding=decoding)
        if data.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        assert model.predict(X).shape == y.shape
        if data.device == "cuda":
            assert torch.cuda.max_memory_allocated() < 6e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", type=int, default=2000)
    options = parser.parse_args()
    data = Data(options.device, options.rows)
    seconds, start = {}, time.perf_counter()
    for function in STEPS:
        before = time.perf_counter()
        function(data)
        seconds[function.__name__] = round(time.perf_counter() - before, 2)
        print(f"{function.__name__}: {seconds[function.__name__]} s", flush=True)
    total = round(time.perf_counter() - start, 1)
    name = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
    print(json.dumps({"device": name, "seconds": total, "steps": seconds}))


if __name__ == "__main__":
    main()
