"""From the outputs of a network to the probabilities of final classes, on any device.

``PathProba`` knows the final classes that a network has outputs for. ``FinalProba`` knows those of
a fitted model, which may be fewer: in a stream those of which there have been rows, and those that
a model was restricted to; or they have other shares. Everything is in double precision: a path is
a product, and final classes must sum to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from hiclass._state import AdaptedModels, RestrictedModels
from hiclass._typing import AnyArray, IntArray
from hiclass.torch._layout import TreeLayout
from hiclass.torch._losses import on_device

Tensor = Any


def doublings(above: IntArray, longest: int) -> Iterator[IntArray]:
    """Where one comes to after 1, 2, 4, ... steps up, until chains of some length are through.

    Sums along chains are made of such steps: ``values += values[step]`` for each of them doubles
    the length that has been summed. Chains end in a place that leads to itself and counts 0.
    """
    done = 1
    while done < longest:
        yield above
        above, done = above[above], 2 * done


def _is_range(index: AnyArray, n: int) -> bool:
    return len(index) == n and bool((index == np.arange(n)).all())


# -- all final classes of a network --------------------------------------------------------------


class PathProba:
    """Probabilities of all final classes that a network has outputs for.

    Groups of siblings of similar sizes go through a softmax together, padded to the widest of them,
    which is less than twice as wide as the others. Logarithms are then summed along paths.
    """

    def __init__(self, layout: TreeLayout, device: Any) -> None:
        self.n_used = len(layout.group)
        self.is_one_softmax = len(layout.group_start) == 2
        if self.is_one_softmax:
            self._final = _as_index(layout.end_output, self.n_used, device)
            self.width = 2 * self.n_used if self._final is not None else self.n_used
            return
        place = np.empty(self.n_used + 1, dtype=np.intp)
        self._parts, n = [], 0
        for index, inside in _by_size(layout.group_start):
            place[index[inside]] = n + np.flatnonzero(inside.reshape(-1))
            n += index.size
            flat = _as_index(index.reshape(-1), self.n_used, device)
            outside = None if inside.all() else on_device(~inside, device)
            self._parts.append((flat, index.shape, outside))
        place[-1] = n  # where chains end
        above = np.full(n + 1, n, dtype=np.intp)
        above[place[:-1]] = place[layout.above]
        longest = int(layout.depth.max(initial=0)) + 1
        self._steps = [on_device(step, device) for step in doublings(above, longest)]
        self._final = on_device(place[layout.end_output], device)
        self.width = 3 * (n + 1)

    def __call__(self, z: Tensor) -> Tensor:
        z = z[:, : self.n_used]
        if self.is_one_softmax:
            return _take(torch.softmax(z, dim=1, dtype=torch.float64), self._final)
        parts = [self._softmax(_take(z, at), shape, out) for at, shape, out in self._parts]
        logs = torch.cat([*parts, parts[0].new_zeros((len(z), 1))], dim=1)
        del parts
        for step in self._steps:
            logs += logs.index_select(1, step)
        return logs.index_select(1, self._final).exp_()

    @staticmethod
    def _softmax(z: Tensor, shape: tuple[int, ...], outside: Tensor | None) -> Tensor:
        z = z.reshape(len(z), *shape)
        if outside is not None:
            z = z.masked_fill(outside, -torch.inf)
        return torch.log_softmax(z, dim=2, dtype=torch.float64).flatten(1)


def _by_size(group_start: IntArray) -> Iterator[tuple[IntArray, AnyArray]]:
    """Groups of similar sizes, padded: their outputs, and which of them are not padding."""
    size = np.diff(group_start)
    kind = np.ceil(np.log2(size)).astype(np.intp)
    for same in np.unique(kind).tolist():
        groups = np.flatnonzero(kind == same)
        place = np.arange(size[groups].max())
        inside = place < size[groups][:, None]
        yield np.where(inside, group_start[groups][:, None] + place, 0), inside


def _as_index(index: IntArray, n: int, device: Any) -> Tensor | None:
    """An index of columns; None where it is all of them in their order."""
    return None if _is_range(index, n) else on_device(index, device)


def _take(values: Tensor, index: Tensor | None) -> Tensor:
    return values if index is None else values.index_select(1, index)


# -- the final classes of a fitted model ---------------------------------------------------------


class FinalProba:
    """Probabilities of the final classes of a fitted model, from the outputs of its network.

    Parameters
    ----------
    models : LocalModels, RestrictedModels or AdaptedModels
        The model.
    layout : TreeLayout
        What the outputs mean.
    columns : tuple of two ndarrays, or None
        Runs of the final classes of the network, as in ``FittedNetwork``; by default all of them.
    device : torch.device
        Where the outputs are.
    """

    def __init__(self, models: Any, layout: TreeLayout, columns: Any, device: Any) -> None:
        self._network = PathProba(layout, device)
        self._steps = list(_steps(models, columns, len(layout.ends), device))
        #: Whether there is one output for each branch of the model.
        self.has_all = not self._steps
        self.width = self._network.width + (2 * len(layout.ends) if self._steps else 0)

    def __call__(self, z: Tensor) -> Tensor:
        proba = self._network(z)
        for step in self._steps:
            proba = step(proba)
        return proba


def _steps(models: Any, columns: Any, n_final: int, device: Any) -> Iterator[Callable[..., Any]]:
    """What becomes of the probabilities of the final classes of the network, one after another."""
    if isinstance(models, RestrictedModels | AdaptedModels):
        yield from _steps(models.base, columns, n_final, device)
        if isinstance(models, AdaptedModels):
            yield _Adapted(models, device)
            return
        place = np.searchsorted(models.base.options.ends, models.options.ends)
        if not _is_range(place, len(models.base.options.ends)):
            yield _Some(on_device(place, device))
    elif columns is not None:
        first, last = columns
        if (last - first > 1).any():
            yield _Merged(first, last, device)
        elif not _is_range(first, n_final):
            yield _Some(on_device(first, device))


class _Some:
    """Some of the final classes, which then sum to one."""

    def __init__(self, place: Tensor) -> None:
        self._place = place

    def __call__(self, proba: Tensor) -> Tensor:
        return _normalised(proba.index_select(1, self._place))


class _Merged:
    """Runs of final classes, each of them as one."""

    def __init__(self, first: IntArray, last: IntArray, device: Any) -> None:
        self._n = len(first)
        owner = np.repeat(np.arange(self._n), last - first)
        runs = [np.arange(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        self._owner = on_device(owner, device)
        self._place = on_device(np.concatenate(runs), device)

    def __call__(self, proba: Tensor) -> Tensor:
        total = proba.new_zeros((len(proba), self._n))
        return _normalised(total.index_add_(1, self._owner, proba.index_select(1, self._place)))


class _Adapted:
    """Other shares of the final classes, as ``paths.direct_final_proba`` has them."""

    def __init__(self, models: AdaptedModels, device: Any) -> None:
        self._weights = on_device(models.log_weights, device)
        self._shares = on_device(models.shares, device).log()

    def __call__(self, proba: Tensor) -> Tensor:
        logs = proba.log().add_(self._weights)
        nothing = (logs == -torch.inf).all(dim=1, keepdim=True)
        return torch.softmax(torch.where(nothing, self._shares, logs), dim=1)


def _normalised(proba: Tensor) -> Tensor:
    """Rows that sum to one; a row of zeros becomes uniform."""
    total = proba.sum(dim=1, keepdim=True)
    return torch.where(total > 0, proba / total, torch.where(total == 0, 1 / proba.shape[1], total))
