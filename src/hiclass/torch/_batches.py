"""Mini-batches of rows in memory, in any order; ``_feed`` brings them to a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from hiclass._rows import check_weights
from hiclass._typing import AnyArray, IntArray
from hiclass.torch._layout import Layout
from hiclass.torch._network import Shape, as_tensors
from hiclass.torch._team import Team

Tensor = Any

#: The number of batches that are gathered at a time.
_BLOCK = 64
#: With fewer numbers than this, a fast check saves nothing.
_MANY = 1 << 20


@dataclass(frozen=True)
class Batch:
    """Some rows, as tensors.

    Attributes
    ----------
    rows : tuple of tensors
        One dense tensor, or the three arrays of a sparse matrix.
    target : tuple of tensors or CSR matrices
        The target of the loss. In a tree, a final class per row or, if a row of the batch stands
        for several, the first of every row and the one after its last. Sets of classes are sparse
        until they are learned or sent to a device.
    weight : tensor or None
        Sample weights.
    n_rows : int
        Number of rows.
    is_void : bool
        Whether all weights are zero, so that there is nothing to learn.
    is_scaled : bool
        Whether features are already scaled for the network.
    """

    rows: tuple[Tensor, ...]
    target: tuple[Tensor, ...]
    weight: Tensor | None
    n_rows: int
    is_void: bool = False
    is_scaled: bool = False

    def dense(self) -> Batch:
        """The same without sparse targets."""
        if not any(map(sp.issparse, self.target)):
            return self
        return replace(self, target=tuple(torch.from_numpy(p.toarray()) for p in self.target))

    def map(self, function: Callable[[Tensor], Tensor]) -> Batch:
        """The same with a function of every tensor, one after the other."""
        target = self.dense().target
        rows, target = (tuple(map(function, part)) for part in (self.rows, target))
        weight = None if self.weight is None else function(self.weight)
        return replace(self, rows=rows, target=target, weight=weight)

    def to(self, device: Any) -> Batch:
        """The same on a device."""
        return self.map(lambda tensor: tensor.to(device))

    def parts(self, n_rows: int) -> Iterator[Batch]:
        """The same rows in dense batches of at most ``n_rows``."""
        if self.n_rows <= n_rows:
            yield self.dense()
            return
        for first in range(0, self.n_rows, n_rows):
            last = min(first + n_rows, self.n_rows)
            rows: tuple[Tensor, ...]
            if len(self.rows) == 1:
                rows = (self.rows[0][first:last],)
            else:
                indices, offsets, values = self.rows
                start, end = int(offsets[first]), int(offsets[last])
                rows = indices[start:end], offsets[first : last + 1] - start, values[start:end]
            target = tuple(each[first:last] for each in self.target)
            weight = None if self.weight is None else self.weight[first:last]
            part = replace(self, rows=rows, target=target, weight=weight, n_rows=last - first)
            yield part.dense()


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
        return Rows(take_rows(self.X, rows), self.target[rows], self.layout, weight)

    def whole(self) -> Batch:
        """All rows as one batch."""
        return self._slice(0, len(self))

    def pieces(self, shape: Shape) -> Iterator[Batch]:
        """All rows in order, in batches that need little memory."""
        n_entries = self.X.nnz / max(len(self), 1) if sp.issparse(self.X) else self.X.shape[1]
        size = shape.rows_at_once(int(n_entries))
        for first in range(0, len(self), size):
            yield self._slice(first, min(first + size, len(self)))

    def batches(self, order: IntArray, cuts: IntArray) -> Iterator[Batch]:
        """Batches of rows in a given order, from each cut to the next."""
        for block in range(0, len(cuts) - 1, _BLOCK):
            places = cuts[block : block + _BLOCK + 1]
            rows = self.some(order[places[0] : places[-1]])
            for first, last in pairwise((places - places[0]).tolist()):
                yield rows._slice(first, last)

    def _slice(self, first: int, last: int) -> Batch:
        parts = self.layout.compared(self.target[first:last])
        target = tuple(part if sp.issparse(part) else torch.from_numpy(part) for part in parts)
        weight = None if self.weight is None else self.weight[first:last]
        is_void = weight is not None and not weight.any()
        tensor = None if weight is None else torch.from_numpy(weight)
        rows = as_tensors(self.X, slice(first, last))
        return Batch(rows, target, tensor, last - first, is_void)


def cut(n_rows: int, size: int, team: Team) -> tuple[IntArray, IntArray]:
    """Steps of ``size`` rows, and the part of this process in each of them.

    Returns
    -------
    mine : ndarray of int
        The places of the rows of this process among all rows.
    cuts : ndarray of int
        Where each step begins among these, and the end of the last one.
    """
    place = np.arange(n_rows)
    mine = place if team.size == 1 else place[place % size % team.size == team.rank]
    starts = np.arange(0, n_rows + size, size)
    return mine, np.searchsorted(mine, np.minimum(starts, n_rows))


def take_rows(X: Any, rows: IntArray) -> Any:
    """Some rows of X; dense ones with all threads of PyTorch."""
    if sp.issparse(X) or not X.flags.writeable or X.dtype != np.float32:
        return X[rows]
    return torch.index_select(torch.from_numpy(X), 0, torch.from_numpy(rows)).numpy()


def make_rows(X: Any, target: Any, layout: Layout, sample_weight: Any) -> Rows:
    """Rows with their encoded labels, as a network with some outputs is trained on them."""
    weights = batch_weights(sample_weight, X)
    if weights is not None:
        weights = weights.astype(np.float32)
    return Rows(X, layout.select(target), layout, weights)


def as_array(X: Any) -> Any:
    """A tensor as an array, without its gradient; anything else as it is."""
    if not isinstance(X, torch.Tensor):
        return X
    if X.layout is not torch.strided:
        raise TypeError(
            f"X is a sparse tensor of PyTorch with the layout {X.layout}. Pass a CSR matrix of "
            f"SciPy, scipy.sparse.csr_matrix, or a dense tensor."
        )
    X = X.detach().cpu()
    is_short = X.is_floating_point() and X.dtype.itemsize < 4  # NumPy has no bfloat16
    return (X.float() if is_short else X).numpy()


def forwards(X: Any) -> Any:
    """The same rows without negative strides, which PyTorch does not support."""
    is_reversed = isinstance(X, np.ndarray) and any(step < 0 for step in X.strides)
    return X.copy() if is_reversed else X


def surely_finite(X: Any) -> bool:
    """Whether the sum of many dense rows, computed by all threads, is finite."""
    if (
        type(X) is not np.ndarray
        or X.dtype != np.float32
        or X.size < _MANY
        or not X.flags.writeable
        or min(X.strides) < 0
    ):
        return False
    return bool(torch.isfinite(torch.from_numpy(X).sum()))


def is_plain(X: Any, n_features: int) -> bool:
    """Whether rows need no conversion and are known to be finite, by a sum."""
    if not isinstance(X, sp.csr_matrix | sp.csr_array) or X.ndim != 2 or not X.shape[0]:
        return False
    if X.dtype != np.float32 or X.shape[1] != n_features or X.indices.dtype != np.int32:
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(X.data.sum()))


def batch_weights(sample_weight: Any, X: Any) -> AnyArray | None:
    """Checked weights of a batch, which may all be zero, unlike those of all rows."""
    if np.ndim(sample_weight) == 1 and not np.any(np.asarray(sample_weight)):
        return np.zeros(len(check_weights(np.ones(len(sample_weight)), X)))  # type: ignore[arg-type]
    return check_weights(sample_weight, X)
