"""The network: its weights, its layers, and the predictions of a fitted network.

The first layer takes dense rows, or sparse ones with ``embedding_bag``, so that they are never made
dense: its weights have a row per feature. The next layers, if any, are dense. There is
no module object: weights are a dict of tensors, and the functions here are plain.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F  # noqa: N812

from hiclass._typing import AnyArray, IntArray
from hiclass.torch._layout import Layout, SetLayout, TreeLayout
from hiclass.torch._losses import SetProba, on_device
from hiclass.torch._proba import PathProba

Tensor = Any
Weights = dict[str, Tensor]

#: Outside training, rows go through the layers in pieces of at most this many numbers.
_MOST_NUMBERS = 1 << 24
#: The memory limit of a piece when predicting, in bytes.
_MOST_BYTES, _MOST_BYTES_GPU = 1 << 27, 1 << 32
#: The number of models sharing a network, such as restricted ones, whose deciders are kept.
_N_KEPT = 4
#: From outputs to the probabilities of final classes, or of nodes where rows are sets of classes.
_PROBA: dict[type[Layout], Any] = {TreeLayout: PathProba, SetLayout: SetProba}


@dataclass(frozen=True)
class Shape:
    """The layers of a network.

    Attributes
    ----------
    n_features : int
        Number of features.
    embedding : int
        Width of a layer without an activation that comes first; 0 for none.
    hidden : tuple of int
        Widths of the layers with an activation.
    n_outputs : int
        Number of outputs.
    """

    n_features: int
    embedding: int
    hidden: tuple[int, ...]
    n_outputs: int

    @property
    def widths(self) -> list[int]:
        """The input widths of the layers after the first one."""
        return [*([self.embedding] if self.embedding else []), *self.hidden]

    @property
    def is_linear(self) -> bool:
        """Whether features lead straight to outputs: a convex problem."""
        return not self.widths

    @property
    def last(self) -> str:
        """The name of the last layer."""
        return str(len(self.widths))

    def rows_at_once(self, n_entries: int = 1) -> int:
        """How many rows with ``n_entries`` entries may go through the layers together."""
        return max(1, _MOST_NUMBERS // max(self.n_outputs, *self.widths, n_entries, 1))


def first_weights(shape: Shape, size: float, generator: Any) -> Weights:
    """Weights before training; rows have the mean squared length ``size``."""
    widths = [*shape.widths, shape.n_outputs]
    weights: Weights = {}
    if shape.is_linear:
        weights["0.weight"] = torch.zeros(shape.n_features, shape.n_outputs)
    else:
        # An embedding has the length of its row, a hidden layer keeps the size of each entry.
        scale = (1 / widths[0] if shape.embedding else 2) / max(size, 1e-12)
        weights["0.weight"] = torch.empty(shape.n_features, widths[0])
        weights["0.weight"].normal_(0, scale**0.5, generator=generator)
    if not shape.embedding:
        weights["0.bias"] = torch.zeros(widths[0])
    for i, (before, after) in enumerate(pairwise(widths), start=1):
        weights[f"{i}.weight"] = torch.empty(after, before)
        bound = (6 / before) ** 0.5 if i < len(widths) - 1 else before**-0.5
        weights[f"{i}.weight"].uniform_(-bound, bound, generator=generator)
        weights[f"{i}.bias"] = torch.zeros(after)
    return weights


# -- rows to outputs ---------------------------------------------------------------------------


def as_tensors(X: Any, some: slice | None = None) -> tuple[Tensor, ...]:
    """Rows, all or a slice: one dense tensor, or the three arrays of a sparse matrix."""
    some = some or slice(0, X.shape[0])
    if sp.issparse(X):
        X = X.tocsr()
        starts = X.indptr[some.start : some.stop + 1]
        entries = slice(starts[0], starts[-1])
        # One type for both kinds of indices; the smaller one takes half the time to move.
        kind = np.int64 if entries.stop - entries.start > np.iinfo(np.int32).max else np.int32
        starts = starts - starts[0] if starts[0] else starts
        parts = [(X.indices[entries], kind), (starts, kind), (X.data[entries], np.float32)]
    else:
        parts = [(X[some], np.float32)]
    return tuple(
        torch.from_numpy(np.require(_writable(part), dtype=kind, requirements=["C", "W"]))
        for part, kind in parts
    )


def _writable(array: Any) -> Any:
    """The array marked as writable for PyTorch; nothing is written to it."""
    if not array.flags.writeable:
        array = array.view()
        with suppress(ValueError):  # memory-mapped: it is copied later
            array.flags.writeable = True
    return array


def _sums(
    indices: Tensor, weight: Tensor, offsets: Tensor, values: Tensor, **kwargs: Any
) -> Tensor:
    """The product of a sparse matrix, given by rows, and a dense one."""
    return F.embedding_bag(
        indices,
        weight,
        offsets,
        mode="sum",
        per_sample_weights=values,
        include_last_offset=True,
        **kwargs,
    )


class _CpuSums(torch.autograd.Function):
    """The same on a CPU, where PyTorch takes up to nine times as long for the dense gradient.

    The gradient is the product of the transposed sparse matrix and the gradient of the sums.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, indices: Tensor, offsets: Tensor, values: Tensor) -> Any:
        ctx.save_for_backward(indices, offsets, values)
        ctx.n_features = len(weight)
        return _sums(indices, weight, offsets, values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        indices, offsets, values = (tensor.numpy() for tensor in ctx.saved_tensors)
        shape = len(offsets) - 1, ctx.n_features
        by_column = sp.csr_array((values, indices, offsets), shape=shape).tocsc()
        rows, starts, values = map(
            torch.from_numpy, (by_column.indices, by_column.indptr, by_column.data)
        )
        return _sums(rows, gradient.contiguous(), starts, values), None, None, None


def first_layer(weights: Weights, rows: tuple[Tensor, ...], *, sparse_gradient: bool) -> Tensor:
    """What the first layer makes of rows."""
    weight, bias = weights["0.weight"], weights.get("0.bias")
    if len(rows) == 1:
        return rows[0] @ weight if bias is None else torch.addmm(bias, rows[0], weight)
    indices, offsets, values = rows
    values = values.to(weight.dtype)
    if weight.requires_grad and not sparse_gradient and weight.device.type == "cpu":
        out = _CpuSums.apply(weight, indices, offsets, values)
    else:
        out = _sums(indices, weight, offsets, values, sparse=sparse_gradient)
    if bias is None:
        return out
    # In place where nothing is learned: with many outputs a second array would be large.
    in_place = not out.requires_grad and out.dtype == bias.dtype
    return out.add_(bias) if in_place else out + bias


def hidden_layers(weights: Weights, shape: Shape, x: Tensor, drop: Any = None) -> Tensor:
    """The input of the last layer; ``drop`` applies dropout in training."""
    for i in range(len(shape.widths)):
        if i:
            x = F.linear(x, weights[f"{i}.weight"], weights[f"{i}.bias"])
        if i or not shape.embedding:
            x = F.relu(x)
        if drop is not None:
            x = drop(x)
    return x


class LastLayer:
    """The last layer: all outputs, or, behind a hidden layer, some outputs of each row."""

    def __init__(self, weights: Weights, shape: Shape) -> None:
        self._is_linear = shape.is_linear
        self.weights = weights[f"{shape.last}.weight"], weights[f"{shape.last}.bias"]

    def all(self, x: Tensor) -> Tensor:
        """All outputs."""
        return x if self._is_linear else F.linear(x, *self.weights)

    def some(self, x: Tensor, outputs: Tensor) -> Tensor:
        """Some outputs of every row, by their numbers."""
        weight, bias = self.weights
        some = F.embedding(outputs, weight)
        return torch.bmm(some, x.unsqueeze(2)).squeeze(2) + bias[outputs]


# -- fitted networks ---------------------------------------------------------------------------


@dataclass(eq=False)
class FittedNetwork:
    """A network that predicts: the one local classifier of its model.

    In a file its weights are NumPy arrays, so that it can be read wherever there is PyTorch, with
    or without the device that it was trained on. Predicting changes nothing but a copy of the
    weights on the device, which is made once: several threads may predict at the same time.

    Attributes
    ----------
    shape : Shape
        Its layers.
    layout : TreeLayout or SetLayout
        What its outputs mean.
    weights : dict
        Arrays or tensors by name.
    device : str
        Where to compute: "auto", or a name that PyTorch knows.
    first, last : ndarray of int or None
        Its columns: runs of its final classes or nodes, each from the first on and before the last,
        whose probabilities are summed. By default every one of them.
    """

    shape: Shape
    layout: Layout
    weights: dict[str, Any]
    device: str
    first: IntArray | None = None
    last: IntArray | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: tuple[Any, Weights, Any] | None = None
        self._kept: list[tuple[Any, Any, Any]] = []

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**state, "weights": as_arrays(self.weights)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def _on_device(self) -> tuple[Any, Weights, Any]:
        with self._lock:
            if self._ready is None:
                device = find_device(self.device, or_cpu=True)
                weights = {n: on_device(w, device) for n, w in as_arrays(self.weights).items()}
                proba = _PROBA[type(self.layout)](self.layout, device)
                self._ready = device, weights, proba
            return self._ready

    def kept(self, models: Any, make: Callable[[FittedNetwork, Any], Any]) -> Any:
        """An object for a model with this network, created once."""
        for known, by, made in self._kept:
            if known is models and by is make:
                return made
        made = make(self, models)
        self._kept = [(models, make, made), *self._kept[: _N_KEPT - 1]]
        return made

    def outputs(self, X: Any, n_rows: int) -> Iterator[Tensor]:
        """The outputs of ``n_rows`` rows at a time, on the device."""
        device, weights, _ = self._on_device()
        last = LastLayer(weights, self.shape)
        if not sp.issparse(X):
            X = np.asarray(X)
        for start in range(0, X.shape[0], n_rows):
            some = slice(start, min(start + n_rows, X.shape[0]))
            rows = tuple(part.to(device) for part in as_tensors(X, some))
            x = first_layer(weights, rows, sparse_gradient=False)
            yield last.all(hidden_layers(weights, self.shape, x))

    def rows_at_once(self, bytes_per_row: int) -> int:
        """How many rows may be decided together, given the memory of each beside the layers."""
        per_row = bytes_per_row + 4 * (self.shape.n_features + sum(self.shape.widths))
        return rows_within(per_row, self._on_device()[0])

    def predict_proba(self, X: Any) -> AnyArray:
        """Probabilities of final classes, or of nodes where rows are sets of classes."""
        proba = self._on_device()[2]
        with torch.inference_mode():
            pieces = self.outputs(X, self.shape.rows_at_once())
            (found,) = joined(((proba(z).cpu(),) for z in pieces), X.shape[0])
            found = found.numpy()
        if self.first is not None and self.last is not None:
            some = found[:, self.first]
            for j in np.flatnonzero(self.last - self.first > 1).tolist():
                some[:, j] = found[:, self.first[j] : self.last[j]].sum(axis=1)
            found = some
        if self.layout.of_sets and found.shape[1] == 1:
            return np.hstack([1 - found, found])
        return found


def joined(parts: Iterable[tuple[Tensor, ...]], n_rows: int) -> list[Tensor]:
    """The results of all pieces of ``n_rows`` rows, in one tensor each.

    These are created once. If the small results of every piece were kept, they would lie in the
    memory that a piece has freed, and the next piece would need other memory.
    """
    whole: list[Tensor] = []
    done = 0
    for part in parts:
        whole = whole or [one.new_empty((n_rows, *one.shape[1:])) for one in part]
        for one, piece in zip(whole, part, strict=True):
            one[done : done + len(piece)] = piece
        done += len(part[0])
    return whole


def rows_within(bytes_per_row: int, device: Any) -> int:
    """How many rows fit into the memory limit of a device."""
    budget = _MOST_BYTES if device.type == "cpu" else _MOST_BYTES_GPU
    if device.type == "cuda":
        budget = min(budget, torch.cuda.mem_get_info(device)[0] // 2)
    return max(1, budget // bytes_per_row)


def as_arrays(weights: dict[str, Any]) -> dict[str, AnyArray]:
    """Weights as NumPy arrays, from any device."""
    return {
        name: value if isinstance(value, np.ndarray) else value.detach().cpu().numpy()
        for name, value in weights.items()
    }


def find_device(name: str, *, or_cpu: bool = False) -> Any:
    """The device with a name; "auto" is the GPU, if there is one.

    With ``or_cpu``, the CPU replaces a device that this machine does not have.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        # A device that only computes shapes, such as "meta", has no values to copy back.
        torch.empty(0, device=device).cpu()
    except (AssertionError, ImportError, RuntimeError) as error:
        if or_cpu:
            return torch.device("cpu")
        reason = (str(error).splitlines() or ["not available"])[0].rstrip(".")
        raise ValueError(
            f"device={name!r} cannot be used here: {reason}. Use device='auto', which takes a GPU "
            f"if there is one, or device='cpu'."
        ) from None
    return device
