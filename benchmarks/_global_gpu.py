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
from _global_stream import Stream

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


def busy_share(function: Callable[[], Any], device: str) -> float | None:
    """The share of the wall time of a call in which a GPU computes; copies do not count."""
    if device != "cuda":
        return None
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found:
        _, seconds = timed(device, function)
    spans = sorted(
        (e.time_range.start, e.time_range.end)
        for e in found.events()
        if e.device_type == torch.autograd.DeviceType.CUDA and "Mem" not in e.name
    )
    total, until = 0.0, 0.0
    for start, end in spans:
        total += max(end - max(start, until), 0.0)
        until = max(until, end)
    return round(total / 1e6 / seconds, 3)


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


def against(case: str, n: int, ours: float, floor: float | None, **more: Any) -> dict[str, Any]:
    """A line of the table."""
    line: dict[str, Any] = {"case": case, "rows_per_s": round(n / ours)}
    if floor is not None:
        line |= {"floor_rows_per_s": round(n / floor), "ratio": round(floor / ours, 3)}
    line |= more
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
        predict_floor(flat, X[: n // 4], device)
        _, floor = timed(device, predict_floor, flat, X, device)
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
        loss=loss, max_epochs=1, batch_size=8192, device=device, random_state=0
    )
    return model.fit(X[np.arange(len(paths)) % X.shape[0]], paths)
