"""From the outputs of a network to losses and to probabilities, for all nodes at once.

Plain functions on tensors; no loop over nodes, only over levels. Logarithms throughout, so that a
product of many small probabilities does not vanish.

With ``loss="conditional"`` only the nodes on the path of a row count for its loss, not the softmax
of any other node. Where these are a small part of all outputs (``PathLoss``), only their groups are
looked at, and behind a hidden layer only their outputs are computed at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch.autograd.function import once_differentiable

from hiclass.torch._layout import Layout, SetLayout, TreeLayout

Tensor = Any  # torch is not installed where types are checked

#: In place of the logarithm of 0, because infinite differences have no gradient.
_NEVER = -1e30
#: Behind a hidden layer, computing one output alone costs this many times its share of all outputs.
_LOOKUP_COST = 24
#: With more outputs than this in a step, memory limits the speed on a CPU.
_LARGE = 1 << 22


def on_device(array: Any, device: Any) -> Tensor:
    """An array as a tensor; PyTorch requires writable arrays, so memory-mapped ones are copied."""
    return torch.from_numpy(np.require(array, requirements="W")).to(device)


@singledispatch
def make_loss(layout: Any, device: Any, *, n_hidden: int = 0, half: bool = False) -> Any:
    """The loss for a layout: an object that takes what the last layer gets and a batch.

    ``n_hidden`` is the width of the layer before the outputs, 0 for none, and ``half`` is whether
    products are computed in bfloat16. ``n_numbers`` of a loss is how many numbers it needs for a
    row: all outputs, or what it gathers.
    """
    on_cpu = n_hidden > 0 and device.type == "cpu"
    if len(layout.group_start) == 2:  # one softmax
        return LeafLoss(layout, in_place=on_cpu and not half)
    paths = PathLoss(layout, device)
    if on_cpu and paths.width * _LOOKUP_COST < layout.n_outputs:
        paths.looks_up, paths.n_numbers = True, paths.width * n_hidden
        return paths
    return paths if paths.width <= 2 * layout.n_outputs else GroupLoss(layout, device)


@make_loss.register
def _of_sets(layout: SetLayout, device: Any, *, n_hidden: int = 0, half: bool = False) -> Any:
    return SetLoss(layout, device)


# -- one final class per row -------------------------------------------------------------------


class PathLoss:
    """Log loss of the true path, over the groups on it only, each padded to the widest."""

    def __init__(self, layout: TreeLayout, device: Any) -> None:
        sizes = np.diff(layout.group_start)
        chain = layout.chains()
        # One more group, an empty one, for paths that are shorter than the longest.
        group = np.where(chain >= 0, layout.group[chain], len(sizes))
        first = np.append(layout.group_start[:-1], 0)[group]
        self._first = on_device(first, device)
        self._size = on_device(np.append(sizes, 0)[group], device)
        self._place = on_device(np.where(chain >= 0, chain - first, 0), device)
        self._counts = on_device(chain >= 0, device)
        self._member = torch.arange(int(sizes.max()), device=device)
        self._last = layout.n_outputs - 1
        self.width = len(self._member) * chain.shape[1]
        self.looks_up, self.n_numbers = False, layout.n_outputs

    def __call__(self, last: Any, hidden: Tensor, target: tuple[Tensor, ...]) -> Tensor:
        output = target[0]
        index = self._first[output].unsqueeze(2) + self._member
        outside = self._member >= self._size[output].unsqueeze(2)
        flat = index.clamp_(max=self._last).flatten(1)
        z = last.some(hidden, flat) if self.looks_up else last.all(hidden).gather(1, flat)
        z = z.float().view(index.shape).masked_fill(outside, _NEVER)
        taken = F.log_softmax(z, dim=2).gather(2, self._place[output].unsqueeze(2)).squeeze(2)
        return -(taken * self._counts[output]).sum(dim=1)


class GroupLoss:
    """The same from a softmax in every group: for groups of very different sizes."""

    def __init__(self, layout: TreeLayout, device: Any) -> None:
        chain = layout.chains()
        self._groups = on_device(layout.group, device), len(layout.group_start) - 1
        self._chain = on_device(np.maximum(chain, 0), device)
        self._counts = on_device(chain >= 0, device)
        self.n_numbers = layout.n_outputs

    def __call__(self, last: Any, hidden: Tensor, target: tuple[Tensor, ...]) -> Tensor:
        log_proba = grouped_log_softmax(last.all(hidden).float(), *self._groups)
        taken = log_proba.gather(1, self._chain[target[0]])
        return -(taken * self._counts[target[0]]).sum(dim=1)


class LeafLoss:
    """Log loss of the final class; of all of them below a node, for a row known that far only."""

    def __init__(self, layout: TreeLayout, *, in_place: bool = False) -> None:
        self._n_final = len(layout.ends)
        self._in_place = in_place
        self.n_numbers = layout.n_outputs

    def __call__(self, last: Any, hidden: Tensor, target: tuple[Tensor, ...]) -> Tensor:
        if self._in_place and len(target) == 1 and len(hidden) * self._n_final > _LARGE:
            weight, bias = last.weights
            parts = weight[: self._n_final], bias[: self._n_final]
            return _LogLossInPlace.apply(hidden, *parts, target[0])
        z = last.all(hidden)
        if z.shape[1] > self._n_final:
            z = z[:, : self._n_final]
        z = z.float()
        if len(target) == 1:
            return F.cross_entropy(z, target[0], reduction="none")
        first, beyond = target
        place = torch.arange(self._n_final, device=z.device)
        outside = (place < first.unsqueeze(1)) | (place >= beyond.unsqueeze(1))
        return z.logsumexp(dim=1) - z.masked_fill(outside, _NEVER).logsumexp(dim=1)


class _LogLossInPlace(torch.autograd.Function):
    """Log loss after a linear layer, in the memory of its outputs: four times less than otherwise.

    It supports a single backward pass.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, target: Tensor) -> Any:
        z = F.linear(x, weight, bias)
        own, top = z.gather(1, target.unsqueeze(1)).squeeze(1), z.amax(dim=1)
        total = z.sub_(top.unsqueeze(1)).exp_().sum(dim=1)
        ctx.save_for_backward(x, weight, target, total)
        ctx.exponentials = z
        return total.log() + (top - own)  # a small loss beside large outputs keeps its digits

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, weight, target, total = ctx.saved_tensors
        z, ctx.exponentials = ctx.exponentials, None
        if z is None:
            raise RuntimeError("The outputs have been overwritten by an earlier backward pass.")
        z.mul_((gradient / total).unsqueeze(1))
        z.scatter_add_(1, target.unsqueeze(1), -gradient.unsqueeze(1))
        return z @ weight, z.T @ x, z.sum(dim=0), None


def grouped_log_softmax(z: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """Logarithm of the softmax within every group of columns, for all groups at once."""
    if n_groups == 1:
        return F.log_softmax(z, dim=1)
    index = group.expand(len(z), -1)
    # The largest of a group, which only keeps numbers small, has no part in the gradient.
    top = z.new_full((len(z), n_groups), _NEVER)
    top = top.scatter_reduce(1, index, z.detach(), "amax")
    shifted = z - top.gather(1, index)
    total = z.new_zeros(top.shape).scatter_add(1, index, shifted.exp())
    return shifted - total.log().gather(1, index)


# -- sets of classes ---------------------------------------------------------------------------


class SetLoss:
    """Binary log loss of the nodes, with the order of the hierarchy built in.

    ``"conditional"``: an output is how probable a node is if all its parents are in the set, and
    counts only there: the log loss of the whole set in a tree. ``"leaf"``: an output stands for its
    node and all nodes above it. A node that is in the set should have a likely node that is in the
    set, too, at or below it; a node that is not should have no likely node at or below it (the loss
    of C-HMCNN, Giunchiglia and Lukasiewicz 2020). ``"each"``: an output is how probable its node
    is, whatever is above and below it; only predictions are made to agree with the hierarchy.
    """

    def __init__(self, layout: SetLayout, device: Any) -> None:
        self._conditional = layout.loss == "conditional"
        self._each = layout.loss == "each"
        self._order = SetProba(layout, device)
        inner = layout.edge_parent >= 0
        gathered = {"leaf": 2 * len(layout.pair_above), "conditional": int(inner.sum())}
        self.n_numbers = max(layout.n_outputs, gathered.get(layout.loss, 0))
        self._child = on_device(layout.edge_child[inner], device)
        self._parent = on_device(layout.edge_parent[inner], device)

    def __call__(self, last: Any, hidden: Tensor, target: tuple[Tensor, ...]) -> Tensor:
        z = last.all(hidden).float()
        truth = target[0]
        if self._each:
            return F.binary_cross_entropy_with_logits(z, truth, reduction="none").sum(dim=1)
        if self._conditional:
            loss = F.binary_cross_entropy_with_logits(z, truth, reduction="none")
            open_ = torch.ones_like(truth)
            index = self._child.expand(len(z), -1)
            open_ = open_.scatter_reduce(1, index, truth[:, self._parent], "amin")
            return (loss * open_).sum(dim=1)
        inside = self._order.largest_below(z.masked_fill(truth == 0, _NEVER))
        outside = self._order.largest_below(z)
        return F.binary_cross_entropy_with_logits(
            torch.where(truth > 0, inside, outside), truth, reduction="none"
        ).sum(dim=1)


class SetProba:
    """Probabilities of all nodes but the root; none exceeds those of its parents."""

    def __init__(self, layout: SetLayout, device: Any) -> None:
        self._conditional = layout.loss == "conditional"
        self._each = layout.loss == "each"
        self._above = on_device(layout.pair_above, device)
        self._below = on_device(layout.pair_below, device)
        inner = layout.edge_parent >= 0
        level = layout.level[layout.edge_child]
        self._levels = []
        for depth in np.unique(level[inner]).tolist():
            here = np.flatnonzero(inner & (level == depth))
            child, place = np.unique(layout.edge_child[here], return_inverse=True)
            parts = (child, place.reshape(-1), layout.edge_parent[here])
            self._levels.append(tuple(on_device(part, device) for part in parts))

    def largest_below(self, z: Tensor) -> Tensor:
        """The largest score at or below every node."""
        index = self._above.expand(len(z), -1)
        return torch.full_like(z, _NEVER).scatter_reduce(1, index, z[:, self._below], "amax")

    def __call__(self, z: Tensor) -> Tensor:
        z = z.double()
        if self._each:
            return self.at_most_above(z.sigmoid())
        if not self._conditional:
            return self.largest_below(z).sigmoid()
        log_proba = F.logsigmoid(z)
        for child, bound in self._bounds(log_proba):
            log_proba[:, child] += bound
        return log_proba.exp()

    def at_most_above(self, values: Tensor) -> Tensor:
        """Values, none of which exceeds one of a node above it; they are changed in place."""
        for child, bound in self._bounds(values):
            values[:, child] = torch.minimum(values[:, child], bound)
        return values

    def _bounds(self, values: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Level by level, nodes and the smallest values of their parents as they are by then."""
        for child, place, parent in self._levels:
            bound = values.new_full((len(values), len(child)), torch.inf)
            index = place.expand(len(values), -1)
            yield child, bound.scatter_reduce(1, index, values[:, parent], "amin")


# -- penalties ---------------------------------------------------------------------------------


class RecursivePenalty:
    """Half the squared distance of the weights of every output to those of its parents.

    The recursive regularisation of Gopal and Yang (2013): classes that are close in the hierarchy
    share what they know. Weights at the top are pulled to zero.
    """

    def __init__(self, layout: Layout, device: Any) -> None:
        top = layout.edge_parent < 0
        self._top = on_device(layout.edge_child[top], device)
        self._child = on_device(layout.edge_child[~top], device)
        self._parent = on_device(layout.edge_parent[~top], device)
        self._top_weight = on_device(layout.edge_weight[top], device)
        self._edge_weight = on_device(layout.edge_weight[~top], device)

    def __call__(self, weight: Tensor) -> Tensor:
        """From weights with a row per output."""
        step = weight[self._child] - weight[self._parent]
        near = (step.square().sum(dim=1) * self._edge_weight).sum()
        return (near + (weight[self._top].square().sum(dim=1) * self._top_weight).sum()) / 2
