"""The stream of global_models.py: sparse rows of 10,000 leaves in four levels, made on the fly."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass import Hierarchy
from hiclass.torch import HierarchicalSoftmaxClassifier

BRANCHING, DEPTH = 10, 4
N_LEAVES = BRANCHING**DEPTH
N_TERMS, PER_ROW = 50_000, 60
#: A row has so many terms of each class on its path; the others are noise.
PER_LEVEL = 8
#: So many terms are typical of a class.
TYPICAL = 50


def leaf_names() -> np.ndarray:
    """The leaves by name."""
    return np.array([f"leaf {i}" for i in range(N_LEAVES)], dtype=object)


def make_hierarchy(*, named: bool = False) -> Hierarchy:
    """Ten classes with ten subclasses each, and so on; leaves are numbered from 0, or have names.

    The other classes are numbered on.
    """
    starts = np.cumsum([0, *(BRANCHING**level for level in range(DEPTH, 0, -1))])
    edges: list[tuple[Any, int]] = []
    for level in range(DEPTH):  # from the leaves up
        for i in range(BRANCHING ** (DEPTH - level)):
            above = None if level == DEPTH - 1 else int(starts[level + 1] + i // BRANCHING)
            edges.append((above, int(starts[level] + i)))
    if named:
        edges = [
            (
                None if above is None else f"class {above}",
                f"{'leaf' if v < N_LEAVES else 'class'} {v}",
            )
            for above, v in edges
        ]
    return Hierarchy.from_edges(edges)


class Stream:
    """Batches of a fixed number of rows; the same in every epoch."""

    def __init__(self, n_rows: int, batch: int, seed: int = 0, workers: int = 1) -> None:
        self.n_rows, self.batch, self.seed, self.workers = n_rows, batch, seed, workers
        self.n_terms, self.n_leaves = N_TERMS, N_LEAVES
        rng = np.random.default_rng(seed)
        self._typical = [
            rng.integers(N_TERMS, size=(BRANCHING**level, TYPICAL), dtype=np.int32)
            for level in range(1, DEPTH + 1)
        ]

    def __call__(self) -> Iterator[tuple[Any, np.ndarray]]:
        starts = range(0, self.n_rows, self.batch)
        sizes = [min(self.batch, self.n_rows - start) for start in starts]
        if self.workers == 1:
            yield from map(self.rows, starts, sizes)
            return
        # NumPy draws numbers without the lock of Python, so threads make batches side by side.
        with ThreadPoolExecutor(self.workers) as pool:
            waiting: deque[Any] = deque()
            for start, size in zip(starts, sizes, strict=True):
                waiting.append(pool.submit(self.rows, start, size))
                if len(waiting) > 2 * self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def rows(self, start: int, n: int) -> tuple[Any, np.ndarray]:
        """The batch that starts at a row."""
        rng = np.random.default_rng([self.seed, start])
        leaf = rng.integers(N_LEAVES, size=n)
        terms = np.empty((n, PER_ROW), dtype=np.int32)
        for level, typical in enumerate(self._typical):
            owner = leaf // BRANCHING ** (DEPTH - 1 - level)
            choice = rng.integers(TYPICAL, size=(n, PER_LEVEL), dtype=np.int32)
            terms[:, level * PER_LEVEL : (level + 1) * PER_LEVEL] = typical[owner[:, None], choice]
        rest = PER_ROW - DEPTH * PER_LEVEL
        # Some terms are frequent, most are rare.
        terms[:, -rest:] = N_TERMS * rng.random((n, rest), dtype=np.float32) ** 2
        values = rng.random(n * PER_ROW, dtype=np.float32)
        values += 0.5
        values /= np.float32(PER_ROW**0.5)
        indptr = np.arange(0, n * PER_ROW + 1, PER_ROW, dtype=np.int32)
        return sp.csr_array((values, terms.ravel(), indptr), shape=(n, N_TERMS)), leaf


class Clock:
    """Batches, and when each epoch began."""

    def __init__(self, stream: Callable[[], Iterator[Any]]) -> None:
        self.stream, self.began = stream, []

    def __call__(self) -> Iterator[Any]:
        self.began.append(time.perf_counter())
        return self.stream()


def run(
    device: str, n_rows: int, batch: int, n_epochs: int, workers: int, **params: Any
) -> dict[str, Any]:
    """Train on the stream; say how fast."""
    import torch

    stream, hierarchy = Stream(n_rows, batch, workers=workers), make_hierarchy()
    alone = Stream(min(n_rows, 64 * batch), batch, workers=workers)
    start = time.perf_counter()
    for _ in alone():
        pass
    generate = alone.n_rows / (time.perf_counter() - start)
    cuda = device == "cuda"
    model = HierarchicalSoftmaxClassifier(
        hierarchy=hierarchy,
        leaf_only=True,
        device=device,
        max_epochs=n_epochs,
        random_state=0,
        **params,
    )
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    clock = Clock(stream)
    model.fit_batches(clock)
    ends = [*clock.began[1:], time.perf_counter()]
    seconds = [b - a for a, b in zip(clock.began, ends, strict=True)]
    X, y = Stream(2000, 2000, seed=0).rows(10**9, 2000)
    start = time.perf_counter()
    score = model.score(X, y)
    return {
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "rows": n_rows,
        "batch": batch,
        "params": params,
        "threads that make batches": workers,
        "n_classes": hierarchy.n_nodes - 1,
        "generate_rows_per_s": round(generate),
        "epoch_s": [round(s, 2) for s in seconds],
        "rows_per_s": round(n_rows / min(seconds)),
        "peak_gpu_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2) if cuda else None,
        "loss": [round(loss, 4) for loss in model.loss_curve_],
        "hF of 2,000 new rows": round(score, 4),
        "predict_s": round(time.perf_counter() - start, 2),
    }


def profile(device: str, batch: int, n_batches: int = 20, **params: Any) -> list[dict[str, Any]]:
    """Where the time of a batch goes: made, checked and encoded, learned."""
    import torch

    from hiclass.torch._batches import make_rows
    from hiclass.torch._stream import encode_next

    stream, hierarchy = Stream(n_batches * batch, batch), make_hierarchy()
    model = HierarchicalSoftmaxClassifier(
        hierarchy=hierarchy, leaf_only=True, device=device, random_state=0, **params
    )
    items = list(stream())
    model.partial_fit(*items[0])
    trainer, known = model._trainer, model._known
    marks = [time.perf_counter()]
    checked = [(model._as_rows(X, reset=False), y) for X, y in items]
    marks.append(time.perf_counter())
    targets = [encode_next(y, known, model._format, model) for _, y in checked]
    marks.append(time.perf_counter())
    batches = [
        make_rows(X, target, trainer.layout, None).whole()
        for (X, _), target in zip(checked, targets, strict=True)
    ]
    if trainer.device.type == "cuda":
        batches = [b.pinned() for b in batches]
    marks.append(time.perf_counter())
    batches = [b.to(trainer.device) for b in batches]
    if trainer.device.type == "cuda":
        torch.cuda.synchronize()
    marks.append(time.perf_counter())
    rows = []
    loss = trainer._loss
    for looks_up in (True, False):
        loss.looks_up = looks_up
        float(sum(trainer.step(b) for b in batches[:2]))
        start = time.perf_counter()
        float(sum(trainer.step(b) for b in batches))  # waits for a GPU
        name = "learn, outputs of the path looked up" if looks_up else "learn, all outputs computed"
        rows.append((name, time.perf_counter() - start))
    names = ("check X", "encode y", "to tensors", "to the device")
    rows += [(name, b - a) for name, (a, b) in zip(names, pairwise(marks), strict=True)]
    return [{"step": name, "rows_per_s": round(n_batches * batch / s)} for name, s in rows]
