"""The network against plain PyTorch on one device: training and prediction, in one run.

The floor of a case is a flat softmax over the leaves in plain PyTorch: the same rows, the same
layers, the same batches, mixed precision on a GPU. Copies to the device count. Rows per second are
rows times epochs over the wall time of the whole call; labels are strings.
"""

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from _global_stream import Stream, leaf_names, make_hierarchy

from hiclass.torch import HierarchicalSoftmaxClassifier

WIDTH = 128


def synchronise(device: str) -> None:
    """Wait until a GPU has finished."""
    if device == "cuda":
        torch.cuda.synchronize()


def timed(device: str, function: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """What a function returns, and the seconds that it takes."""
    synchronise(device)
    start = time.perf_counter()
    found = function(*args)
    synchronise(device)
    return found, time.perf_counter() - start


def peak(device: str) -> float | None:
    """The largest memory of the GPU in use since it was last looked at, in GB."""
    if device != "cuda":
        return None
    found = torch.cuda.max_memory_allocated() / 1e9
    torch.cuda.reset_peak_memory_stats()
    return round(found, 2)


def free() -> None:
    """Give back what is no longer used."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def busy_share(
    device: str, function: Callable[..., Any], *args: Any, repeat: int = 1
) -> float | None:
    """The share of the wall time of a whole call in which a GPU computes; copies do not count.

    The median of some calls, each under a profiler, which makes them a little slower.
    """
    if device != "cuda":
        return None
    return round(float(np.median([_busy_once(device, function, *args) for _ in range(repeat)])), 3)


def _busy_once(device: str, function: Callable[..., Any], *args: Any) -> float:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found:
        _, seconds = timed(device, function, *args)
    spans = sorted(
        (e.time_range.start, e.time_range.end)
        for e in found.events()
        if e.device_type == torch.autograd.DeviceType.CUDA and "Mem" not in e.name
    )
    total, until = 0.0, 0.0
    for start, end in spans:
        total += max(end - max(start, until), 0.0)
        until = max(until, end)
    return total / 1e6 / seconds


# -- data ----------------------------------------------------------------------------------------


def tree_paths(branching: int, depth: int) -> np.ndarray:
    """All paths of a regular tree, by names: a leaf per row."""
    leaf = np.arange(branching**depth)
    levels = [leaf // branching ** (depth - 1 - level) for level in range(depth)]
    # A label says its level, so that no two levels share one.
    return np.column_stack(
        [
            np.array([f"{level}.{i}" for i in range(branching ** (level + 1))], dtype=object)[codes]
            for level, codes in enumerate(levels)
        ]
    )


def dense_rows(n: int, n_features: int, n_leaves: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unit length around a centre per leaf, and their leaves."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator(device).manual_seed(0)
    centres = torch.randn(n_leaves, n_features, device=device, generator=generator)
    generator.manual_seed(seed + 1)
    leaf = torch.randint(n_leaves, (n,), device=device, generator=generator)
    X = np.empty((n, n_features), dtype=np.float32)
    for start in range(0, n, 65536):
        own = centres[leaf[start : start + 65536]]
        rows = own + 1.5 * torch.randn(own.shape, device=device, generator=generator)
        X[start : start + 65536] = F.normalize(rows, dim=1).cpu().numpy()
    return X, leaf.cpu().numpy()


# -- floors --------------------------------------------------------------------------------------


class Flat(torch.nn.Module):
    """A flat softmax: rows straight to leaves, or by way of a narrow layer."""

    def __init__(self, n_features: int, n_leaves: int, *, sparse: bool) -> None:
        super().__init__()
        self.first = torch.nn.EmbeddingBag(n_features, WIDTH, mode="sum", include_last_offset=True)
        if not sparse:
            self.first = None
        self.last = torch.nn.Linear(WIDTH if sparse else n_features, n_leaves)

    def forward(self, rows: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Outputs for a dense tensor, or the three arrays of a sparse matrix."""
        if self.first is None:
            return self.last(rows[0])
        indices, offsets, values = rows
        return self.last(self.first(indices, offsets, per_sample_weights=values))


def as_tensors(X: Any) -> tuple[torch.Tensor, ...]:
    """Rows as tensors."""
    parts = (X,) if isinstance(X, np.ndarray) else (X.indices, X.indptr, X.data)
    return tuple(map(torch.from_numpy, parts))


def fit_floor(
    batches: Callable[[int], Iterator[tuple[tuple[torch.Tensor, ...], torch.Tensor]]],
    model: Flat,
    n_epochs: int,
    device: str,
) -> Flat:
    """Train on batches that are on the device already."""
    model.to(device)
    optimiser = torch.optim.Adam(model.parameters(), 0.003, fused=True)
    for epoch in range(n_epochs):
        for rows, leaf in batches(epoch):
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                z = model(rows)
            F.cross_entropy(z.float(), leaf).backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
    return model


def predict_floor(model: Flat, X: Any, device: str, n_rows: int = 16384) -> np.ndarray:
    """The most probable leaf and its probability, in batches; copies included."""
    model.to(device)
    found = []
    with torch.inference_mode():
        for start in range(0, X.shape[0], n_rows):
            rows = tuple(t.to(device) for t in as_tensors(X[start : start + n_rows]))
            found.append(model(rows).softmax(dim=1).max(dim=1).indices)
    return torch.cat(found).cpu().numpy()


# -- cases ---------------------------------------------------------------------------------------


def against(case: str, n: int, ours: float, floor: float, **more: Any) -> dict[str, Any]:
    """A line of the table."""
    line = {"case": case, "rows_per_s": round(n / ours), "floor_rows_per_s": round(n / floor)}
    line |= {"ratio": round(floor / ours, 3), **more}
    print(line, flush=True)
    return line


def stream_case(
    device: str, n: int, batch: int, n_epochs: int, workers: int, repeat: int
) -> dict[str, Any]:
    """Sparse rows that are made while the network learns; the median ratio of some runs counts."""
    stream = Stream(n, batch, workers=workers)

    def batches(epoch: int) -> Iterator[Any]:
        for X, leaf in stream():
            rows = (t.to(device, non_blocking=True) for t in as_tensors(X))
            yield tuple(rows), torch.from_numpy(leaf).to(device, non_blocking=True)

    def floor_fit() -> None:
        model = Flat(stream.n_terms, stream.n_leaves, sparse=True)
        fit_floor(batches, model, n_epochs, device)

    names = leaf_names()

    def with_labels() -> Iterator[Any]:
        for X, leaf in stream():
            yield X, names[leaf]

    def fit(epochs: int, source: Any) -> HierarchicalSoftmaxClassifier:
        model = HierarchicalSoftmaxClassifier(
            hierarchy=make_hierarchy(named=True),
            leaf_only=True,
            device=device,
            max_epochs=epochs,
            patience=1000,
            random_state=0,
        )
        return model.fit_batches(source)

    few = [(X, names[leaf]) for X, leaf in Stream(4 * batch, batch)()]
    fit(1, few)
    synchronise(device)
    seconds = []
    for _ in range(repeat):
        _, floor = timed(device, floor_fit)
        peak(device)
        model, ours = timed(device, fit, n_epochs, with_labels)
        memory = peak(device)
        seconds.append((ours, floor))
    ours, floor = sorted(seconds, key=lambda pair: pair[1] / pair[0])[len(seconds) // 2]
    ratios = [round(floor / ours, 3) for ours, floor in seconds]
    X, leaf = stream.rows(10**9, 2000)
    score = round(float(model.score(X, names[leaf])), 4)
    more = {"peak_gpu_gb": memory, "hF of 2,000 new rows": score, "epochs": n_epochs}
    more["all ratios"] = ratios
    busy = busy_share(device, fit, 2, with_labels)
    name = f"stream, sparse, {stream.n_leaves:,} leaves"
    return against(name, n * n_epochs, ours, floor, busy=busy, **more)


def fit_cases(
    device: str, n: int, branching: int, depth: int, n_epochs: int, n_features: int = 768
) -> list[dict[str, Any]]:
    """Dense rows in memory, labels as strings."""
    n_leaves, batch = branching**depth, 4096
    X, leaf = dense_rows(n, n_features, n_leaves, 0)
    X_test, leaf_test = dense_rows(2000, n_features, n_leaves, 1)
    paths = tree_paths(branching, depth)
    y, y_test = paths[leaf], paths[leaf_test]

    def floor_fit(n_epochs: int) -> Flat:
        rows, target = (torch.from_numpy(part).to(device) for part in (X, leaf))

        def batches(epoch: int) -> Iterator[Any]:
            for some in torch.randperm(n, device=device).split(batch):
                yield (rows[some],), target[some]

        return fit_floor(batches, Flat(n_features, n_leaves, sparse=False), n_epochs, device)

    floor_fit(1)
    flat, floor = timed(device, floor_fit, n_epochs)
    flat_score = float((predict_floor(flat, X_test, device) == leaf_test).mean())
    del flat
    free()
    lines = []
    for loss in ("auto", "conditional", "leaf"):
        model = HierarchicalSoftmaxClassifier(
            loss=loss,
            batch_size=batch,
            max_epochs=n_epochs,
            patience=1000,
            device=device,
            random_state=0,
        )
        model.fit(X[: 8 * batch], y[: 8 * batch])
        peak(device)
        _, ours = timed(device, model.fit, X, y)
        more = {
            "peak_gpu_gb": peak(device),
            "leaf accuracy": round(float((model.predict(X_test) == y_test).all(axis=1).mean()), 4),
            "leaf accuracy of the floor": round(flat_score, 4),
            "epochs": n_epochs,
        }
        busy = busy_share(device, model.fit, X, y, repeat=5) if loss == "auto" else None
        name = f"fit, dense, {n:,} x {n_features}, {n_leaves:,} leaves, loss={loss!r}"
        lines.append(against(name, n * n_epochs, ours, floor, busy=busy, **more))
        free()
    return lines


def default_case(device: str, n: int, branching: int, depth: int) -> dict[str, Any]:
    """All parameters at their defaults: time of the call, and the accuracy on new rows."""
    n_leaves = branching**depth
    X, leaf = dense_rows(n, 768, n_leaves, 0)
    X_test, leaf_test = dense_rows(2000, 768, n_leaves, 1)
    paths = tree_paths(branching, depth)
    model = HierarchicalSoftmaxClassifier(device=device, random_state=0)
    _, seconds = timed(device, model.fit, X, paths[leaf])
    right = (model.predict(X_test) == paths[leaf_test]).all(axis=1).mean()
    line = {
        "case": f"fit with default parameters, dense, {n:,} x 768, {n_leaves:,} leaves",
        "seconds": round(seconds, 2),
        "epochs": model.n_epochs_,
        "leaf accuracy": round(float(right), 4),
    }
    print(line, flush=True)
    return line


def predict_cases(device: str, n: int, branching: int, depth: int, **sizes: Any) -> list[Any]:
    """Predictions of networks with random weights: sparse and dense rows, both losses."""
    n_leaves, n_features = branching**depth, sizes.get("n_features", 768)
    paths = tree_paths(branching, depth)
    lines = []
    X_sparse, _ = Stream(n, n).rows(0, n)
    X_dense, _ = dense_rows(n, n_features, 1000, 0)
    for kind, X in (("sparse", X_sparse), ("dense", X_dense)):
        flat = Flat(X.shape[1], n_leaves, sparse=kind == "sparse")
        # With a million leaves, the outputs of many rows would not fit.
        at_once = min(16384, 2**31 // n_leaves)
        predict_floor(flat, X[: n // 4], device, at_once)
        _, floor = timed(device, predict_floor, flat, X, device, at_once)
        del flat
        free()
        for loss in sizes.get("losses", ("conditional", "leaf")):
            model = untrained(X, paths, loss, device)
            for decoding in sizes.get("decodings", ("top_down",)):
                model.set_params(decoding=decoding)
                model.predict(X[: n // 4])
                peak(device)
                _, ours = timed(device, model.predict, X)
                name = f"predict, {n_leaves:,} leaves, {kind}, loss={loss!r}, {decoding}"
                more = {"peak_gpu_gb": peak(device)}
                lines.append(against(name, n, ours, floor, **more))
            del model
            free()
    return lines


def untrained(X: Any, paths: np.ndarray, loss: str, device: str) -> HierarchicalSoftmaxClassifier:
    """A network after one epoch of one row per leaf."""
    model = HierarchicalSoftmaxClassifier(
        loss=loss,
        max_epochs=1,
        batch_size=min(8192, 2**31 // len(paths)),
        device=device,
        random_state=0,
    )
    return model.fit(X[np.arange(len(paths)) % X.shape[0]], paths)


def run(device: str, workers: int, *, small: bool = False) -> list[dict[str, Any]]:
    """All cases; ``small`` to see that they run."""
    k = 64 if small else 1
    lines = [stream_case(device, 1_000_000 // k, 8192 // k, 5, workers, 1 if small else 7)]
    lines += fit_cases(device, 1_000_000 // k, 10, 2 if small else 4, 5)
    free()
    lines += predict_cases(device, 1_000_000 // k, 10, 2 if small else 4)
    free()
    lines += predict_cases(device, 250_000 // k, 10, 3 if small else 5)
    free()
    millions = {"losses": ("conditional",)}
    lines += predict_cases(device, 50_000 // k, 10, 3 if small else 6, **millions)
    free()
    lines.append(default_case(device, 400_000 // k, 10, 2 if small else 4))
    return lines
