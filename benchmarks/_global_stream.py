"""The stream of global_models.py: sparse rows of a regular tree, made on the fly.

Every node has ten children. By default there are four levels: 10,000 leaves.
"""

import resource
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass import Hierarchy
from hiclass.torch import HierarchicalSoftmaxClassifier

BRANCHING, DEPTH = 10, 4
N_TERMS, PER_ROW = 50_000, 60
#: A row has so many terms of each class on its path; the others are noise.
PER_LEVEL = 8
#: So many terms are typical of a class.
TYPICAL = 50


def leaf_names() -> np.ndarray:
    """The leaves by name."""
    return np.array([f"leaf {i}" for i in range(BRANCHING**DEPTH)], dtype=object)


def make_hierarchy(depth: int = DEPTH, *, named: bool = False) -> Hierarchy:
    """Ten classes with ten subclasses each, and so on; leaves are numbered from 0, or have names.

    The other classes are numbered on.
    """
    starts = np.cumsum([0, *(BRANCHING**level for level in range(depth, 0, -1))])
    edges: list[tuple[Any, int]] = []
    for level in range(depth):  # from the leaves up
        for i in range(BRANCHING ** (depth - level)):
            above = None if level == depth - 1 else int(starts[level + 1] + i // BRANCHING)
            edges.append((above, int(starts[level] + i)))
    if named:
        edges = [
            (
                None if above is None else f"class {above}",
                f"{'leaf' if v < BRANCHING**depth else 'class'} {v}",
            )
            for above, v in edges
        ]
    return Hierarchy.from_edges(edges)


class Stream:
    """Batches of a fixed number of rows; the same in every epoch."""

    def __init__(
        self, n_rows: int, batch: int, seed: int = 0, workers: int = 1, depth: int = DEPTH
    ) -> None:
        self.n_rows, self.batch, self.seed, self.workers = n_rows, batch, seed, workers
        self.n_terms, self.n_leaves, self.depth = N_TERMS, BRANCHING**depth, depth
        rng = np.random.default_rng(seed)
        self._typical = [
            rng.integers(N_TERMS, size=(BRANCHING**level, TYPICAL), dtype=np.int32)
            for level in range(1, depth + 1)
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
        leaf = rng.integers(self.n_leaves, size=n)
        terms = np.empty((n, PER_ROW), dtype=np.int32)
        for level, typical in enumerate(self._typical):
            owner = leaf // BRANCHING ** (self.depth - 1 - level)
            choice = rng.integers(TYPICAL, size=(n, PER_LEVEL), dtype=np.int32)
            terms[:, level * PER_LEVEL : (level + 1) * PER_LEVEL] = typical[owner[:, None], choice]
        rest = PER_ROW - self.depth * PER_LEVEL
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
    device: str,
    n_rows: int,
    batch: int,
    n_epochs: int,
    workers: int,
    depth: int = DEPTH,
    **params: Any,
) -> dict[str, Any]:
    """Train on the stream; say how fast."""
    import torch

    stream = Stream(n_rows, batch, workers=workers, depth=depth)
    hierarchy = make_hierarchy(depth)
    alone = Stream(min(n_rows, 64 * batch), batch, workers=workers, depth=depth)
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
    clock, used = Clock(stream), time.process_time()
    model.fit_batches(clock)
    used = time.process_time() - used
    ends = [*clock.began[1:], time.perf_counter()]
    seconds = [b - a for a, b in zip(clock.began, ends, strict=True)]
    X, y = Stream(2000, 2000, depth=depth).rows(10**9, 2000)
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
        "n_leaves": stream.n_leaves,
        "fit_cpu_s": round(used, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        "generate_rows_per_s": round(generate),
        "epoch_s": [round(s, 2) for s in seconds],
        "rows_per_s": round(n_rows / min(seconds)),
        "peak_gpu_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2) if cuda else None,
        "loss": [round(loss, 4) for loss in model.loss_curve_],
        "hF of 2,000 new rows": round(score, 4),
        "predict_s": round(time.perf_counter() - start, 2),
    }
