"""Mini-batches: from rows in memory, shuffled, or from an iterator, and how they get to a device.

A batch is prepared while the one before it is learned: in a thread of its own, and, for a GPU, in
pinned memory, from which it is copied while the GPU computes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from hiclass._rows import check_weights
from hiclass._typing import AnyArray, IntArray
from hiclass.torch._layout import Layout
from hiclass.torch._network import Shape, as_tensors

Tensor = Any

#: So many batches of sparse rows are put in order at a time.
_BLOCK = 64
#: So many batches may be ready and waiting.
_AHEAD = 4


@dataclass(frozen=True)
class Batch:
    """Some rows, as tensors.

    Attributes
    ----------
    rows : tuple of tensors
        One dense tensor, or the three arrays of a sparse matrix.
    target : tuple of tensors
        What the loss compares the outputs with. In a tree, a final class per row, or, if a row of
        the batch stands for several, the first of every row and the one after its last.
    weight : tensor or None
        Sample weights.
    n_rows : int
        Number of rows.
    """

    rows: tuple[Tensor, ...]
    target: tuple[Tensor, ...]
    weight: Tensor | None
    n_rows: int

    def _map(self, function: Callable[[Tensor], Tensor]) -> Batch:
        weight = None if self.weight is None else function(self.weight)
        rows, target = (tuple(map(function, part)) for part in (self.rows, self.target))
        return Batch(rows, target, weight, self.n_rows)

    def pinned(self) -> Batch:
        """The same in memory that a GPU can read while the processor goes on."""
        return self._map(lambda tensor: tensor.pin_memory())

    def to(self, device: Any) -> Batch:
        """The same on a device."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=True))


@dataclass(frozen=True)
class Rows:
    """Training rows in memory.

    Attributes
    ----------
    X : ndarray or CSR matrix of float32
        The rows.
    target : ndarray of int, or sparse matrix
        The most specific node of every row; or its set of nodes, a column per output.
    layout : TreeLayout or SetLayout
        What the outputs mean.
    weight : ndarray or None
        Sample weights.
    """

    X: Any
    target: Any
    layout: Layout
    weight: AnyArray | None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def some(self, rows: IntArray) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Rows(self.X[rows], self.target[rows], self.layout, weight)

    def whole(self) -> Batch:
        """All rows as one batch."""
        return self._slice(0, len(self))

    def pieces(self, shape: Shape) -> Iterator[Batch]:
        """All rows in their order, in batches that need little memory on the way through layers."""
        n_entries = self.X.nnz / max(len(self), 1) if sp.issparse(self.X) else self.X.shape[1]
        size = shape.rows_at_once(int(n_entries))
        for first in range(0, len(self), size):
            yield self._slice(first, min(first + size, len(self)))

    def batches(self, order: IntArray, size: int) -> Iterator[Batch]:
        """Batches of so many rows, in an order."""
        for start in range(0, len(order), size * _BLOCK):
            block = self.some(order[start : start + size * _BLOCK])
            for first in range(0, len(block), size):
                yield block._slice(first, min(first + size, len(block)))

    def _slice(self, first: int, last: int) -> Batch:
        target = tuple(map(torch.from_numpy, self.layout.compared(self.target[first:last])))
        weight = None if self.weight is None else torch.from_numpy(self.weight[first:last])
        return Batch(as_tensors(self.X[first:last]), target, weight, last - first)


def make_rows(X: Any, target: Any, layout: Layout, sample_weight: Any) -> Rows:
    """Rows with their encoded labels, as a network with some outputs is trained on them."""
    weights = check_weights(sample_weight, X)
    if weights is not None:
        weights = weights.astype(np.float32)
    return Rows(X, layout.select(target), layout, weights)


def prefetched(batches: Iterable[Batch], device: Any) -> Generator[Batch, None, None]:
    """The same batches on a device, prepared in a thread while earlier ones are learned."""
    rest = iter(batches)

    def prepare() -> Batch | None:
        batch = next(rest, None)
        return batch.pinned() if batch is not None and device.type == "cuda" else batch

    pool = ThreadPoolExecutor(1, "hiclass batches")
    try:
        ready = deque(pool.submit(prepare) for _ in range(_AHEAD))
        while (batch := ready.popleft().result()) is not None:
            ready.append(pool.submit(prepare))
            yield batch.to(device)
    finally:
        pool.shutdown(cancel_futures=True)
