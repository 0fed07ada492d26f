"""Decisions on the device of the outputs: only nodes and confidences are copied back.

``PathDecisions`` turns outputs into paths, ``SetDecisions`` into sets of nodes. Final classes are
numbered in preorder, so that those at or below a node, and those behind a branch, are an interval:
the probability of each is a difference of two running sums. Decisions are those of
``_inference.decodings`` and ``_inference.sets``; ties go to the lowest node.

``ON_DEVICE`` has a function for every decoding of the table ``DECODINGS``. Decodings of users run
on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hiclass._closure import from_entries
from hiclass._inference.confidence import is_set
from hiclass._inference.decodings import DECODINGS, Decoding, Wish, known_f
from hiclass._state import SetModels
from hiclass._typing import FloatArray, IntArray
from hiclass.torch._layout import SetLayout, TreeLayout
from hiclass.torch._losses import SetProba, on_device
from hiclass.torch._proba import FinalProba, doublings

Tensor = Any
#: The node at which each path ends, and the probabilities along it: at least the first one.
Path = tuple[Tensor, Tensor]

#: Sums that differ by less count as equal, since they were added in different order.
_ROUNDING = 1e-12
#: Up to this many best paths are found one after the other, more by sorting.
_ONE_BY_ONE = 16


def first_best(values: Tensor) -> Tensor:
    """The first column of every row that has the largest value."""
    largest = values.amax(dim=1, keepdim=True)
    return (values >= largest - _ROUNDING).to(torch.uint8).argmax(dim=1)


# -- paths ---------------------------------------------------------------------------------------


class PathDecisions:
    """Decisions on one path per row.

    Parameters
    ----------
    models : LocalModels, RestrictedModels or AdaptedModels
        A fitted model with one network for all classes.
    layout : TreeLayout
        What the outputs of the network mean.
    columns : tuple of two ndarrays, or None
        The final classes of the model among those of the network, as in ``FittedNetwork``.
    device : torch.device
        Where the outputs are.

    """

    def __init__(self, models: Any, layout: TreeLayout, columns: Any, device: Any) -> None:
        self.final = FinalProba(models, layout, columns, device)
        self.walk = _Walk(models, device)
        #: Whether the outputs alone show the best branch.
        self.step_by_step = layout.loss == "conditional" and self.final.has_all
        hierarchy, ends = models.hierarchy, models.options.ends
        node = np.arange(hierarchy.n_nodes)
        self._below = _Intervals(
            np.searchsorted(ends, node), np.searchsorted(ends, hierarchy.subtree_end), device
        )
        self.ends = on_device(ends, device)
        self._paths = on_device(np.maximum(hierarchy._paths, 0), device)
        self._on_path = on_device(hierarchy._paths >= 0, device)
        steps = doublings(np.maximum(hierarchy.parent, 0), hierarchy.depth)
        self._up = [on_device(step, device) for step in steps]
        self._n_outputs, self._n_nodes = layout.n_outputs, hierarchy.n_nodes

    def bytes_per_row(self, decoding: Decoding | None = None) -> int:
        """The peak memory per row of a decoding; by default, of any decoding."""
        # The outputs of two pieces may exist at the same time.
        n_bytes = 2 * 4 * self._n_outputs + 64 * self.walk.width
        if decoding is not None and decoding.step_by_step and self.step_by_step:
            return n_bytes
        widest = max(self.final.width, 3 * len(self.ends))
        if decoding is None or decoding.needs_f:  # values of all nodes
            widest = max(widest, len(self.ends) + 4 * self._n_nodes)
        return n_bytes + 8 * widest

    def decide(self, decoding: Decoding, z: Tensor, wish: Wish) -> Path:
        """The node of every row and the probabilities along its path."""
        return ON_DEVICE[decoding](self, z, wish)

    def best_paths(self, z: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k most probable final classes, and their probabilities."""
        proba = self.final(z)
        k = min(k, len(self.ends))
        if k > _ONE_BY_ONE:
            best, place = proba.sort(dim=1, descending=True, stable=True)
            return self.ends[place[:, :k]], best[:, :k]
        places, values = [], []
        for _ in range(k):
            place = proba.argmax(dim=1, keepdim=True)
            values.append(proba.gather(1, place))
            places.append(place)
            proba.scatter_(1, place, -1.0)
        return self.ends[torch.cat(places, dim=1)], torch.cat(values, dim=1)

    def node_proba(self, z: Tensor) -> Tensor:
        """The probability of every node."""
        running = self.final(z).cumsum(dim=1)
        return (self._below.sums(running) / running[:, -1:]).clamp_(0.0, 1.0)

    def node_sums(self, running: Tensor) -> Tensor:
        """The probability of every node, from running sums of those of final classes."""
        return self._below.sums(running)

    def along(self, running: Tensor, nodes: Tensor) -> Tensor:
        """The probabilities along the paths to some nodes, one per row; NaN below them."""
        proba = self._below.sums(running, self._paths[nodes]) / running[:, -1:]
        # Differences of rounded sums; probabilities never rise along a path.
        falling = proba.clamp(0.0, 1.0).cummin(dim=1).values
        return falling.masked_fill(~self._on_path[nodes], torch.nan)

    def path_values(self, proba: Tensor, f: float) -> Tensor:
        """For every node the sum over its path of P(node) - f / 2."""
        value = proba - f / 2
        value[:, 0] = 0
        for step in self._up:
            value += value.index_select(1, step)
        return value


class _Intervals:
    """Intervals of final classes, whose probabilities are sums of theirs."""

    def __init__(self, first: IntArray, last: IntArray, device: Any) -> None:
        # The sum before an interval and the one at its end; 0 before the first final class.
        parts = np.maximum(first - 1, 0), np.maximum(last - 1, 0), first > 0, last > 0
        self._tables = [on_device(part, device) for part in parts]

    def sums(self, running: Tensor, place: Tensor | None = None) -> Tensor:
        """Probabilities of intervals: all of them, some of them, or others for every row."""
        before, at_end, has_before, is_some = (
            table if place is None else table[place] for table in self._tables
        )
        end = _at(running, at_end).mul_(is_some)
        return end.sub_(_at(running, before).mul_(has_before))


class _Walk:
    """From the root down, the best branch at every node, for all rows at once."""

    def __init__(self, models: Any, device: Any) -> None:
        hierarchy, options = models.hierarchy, models.options
        n, size = hierarchy.n_nodes, np.diff(options.indptr)
        source = np.repeat(np.arange(n), size)
        stops = source == options.indices
        # "Stop here" first: it has the lowest number.
        order = np.lexsort([options.indices, ~stops, source])
        target, stops = options.indices[order], stops[order]
        first = np.searchsorted(options.ends, target)
        last = np.searchsorted(options.ends, hierarchy.subtree_end[target])
        goes_to = np.where(stops, n, target)  # after the end there is a node without branches
        self._output, self._target, self._goes_to = (
            on_device(part, device) for part in (order, target, goes_to)
        )
        self._behind = _Intervals(first, np.where(stops, first + 1, last), device)
        self._start = on_device(options.indptr, device)
        self._size = on_device(np.append(size, 0), device)
        widest = (int(size[nodes].max(initial=0)) for nodes in hierarchy.nodes_by_level)
        self._widths = [width for width in widest if width]
        self._depth = hierarchy.depth
        #: The largest number of branches per row.
        self.width = max(self._widths)

    def on_outputs(self, z: Tensor) -> Path:
        """Walk by a softmax among the branches of each node."""

        def logs(place: Tensor, inside: Tensor | None, reached: Tensor) -> Tensor:
            here = _at(z, self._output[place])
            if inside is not None:
                here.masked_fill_(~inside, torch.finfo(here.dtype).min)
            return torch.log_softmax(here, dim=1, dtype=torch.float64) + reached

        nodes, reached = self._down(logs, len(z), 0.0)
        return nodes, reached.exp_()

    def on_sums(self, running: Tensor) -> Path:
        """Walk by running sums of the probabilities of final classes."""

        def joint(place: Tensor, inside: Tensor | None, reached: Tensor) -> Tensor:
            here = self._behind.sums(running, place)
            return here if inside is None else here.masked_fill_(~inside, -1.0)

        nodes, reached = self._down(joint, len(running), 1.0)
        # As in `along`: a running sum that is computed in parallel may fall by a rounding.
        return nodes, reached.div_(running[:, -1:]).clamp_(0.0, 1.0).cummin(dim=1).values

    def _down(self, values: Callable[..., Tensor], n: int, start: float) -> tuple[Tensor, Tensor]:
        device = self._start.device
        at = torch.zeros(n, dtype=torch.int64, device=device)
        ends_at = at
        reached = torch.full((n, 1), start, dtype=torch.float64, device=device)
        along = []
        for level, width in enumerate(self._widths):
            place, inside = torch.arange(width, device=device), None
            if level:  # all rows start at the same node
                inside = place < self._size[at].unsqueeze(1)
                # Places outside are never chosen but where there is nothing to choose.
                place = torch.where(inside, self._start[at].unsqueeze(1) + place, 0)
            value = values(place, inside, reached)
            best = first_best(value).unsqueeze(1)
            chosen = (place[best] if inside is None else place.gather(1, best)).squeeze(1)
            here = self._size[at] > 0
            reached = torch.where(here.unsqueeze(1), value.gather(1, best), reached)
            ends_at = torch.where(here, self._target[chosen], ends_at)
            at = torch.where(here, self._goes_to[chosen], at)
            goes_on = here & (at < len(self._size) - 1)
            along.append(torch.where(goes_on.unsqueeze(1), reached, torch.nan))
        over = torch.full((n, self._depth - len(along)), torch.nan, device=device)
        return ends_at, torch.cat([*along, over], dim=1)


def _at(values: Tensor, place: Tensor) -> Tensor:
    """Columns of values: the same of all rows, or others of every row."""
    return values.index_select(1, place) if place.dim() == 1 else values.gather(1, place)


# -- decodings -----------------------------------------------------------------------------------


def _top_down(decisions: PathDecisions, z: Tensor, wish: Wish) -> Path:
    if decisions.step_by_step:
        return decisions.walk.on_outputs(z)
    return decisions.walk.on_sums(decisions.final(z).cumsum(dim=1))


def _best_path(decisions: PathDecisions, z: Tensor, wish: Wish) -> Path:
    final = decisions.final(z)
    nodes = decisions.ends[final.argmax(dim=1)]
    if wish.only_nodes and not is_set(wish.min_confidence):
        return nodes, final.amax(dim=1, keepdim=True)
    return nodes, decisions.along(final.cumsum(dim=1), nodes)


def _expected_f1(decisions: PathDecisions, z: Tensor, wish: Wish) -> Path:
    running = decisions.final(z).cumsum(dim=1)
    value = decisions.path_values(decisions.node_sums(running), known_f(wish))
    if wish.leaf_only:
        nodes = decisions.ends[first_best(value.index_select(1, decisions.ends))]
    else:
        nodes = 1 + first_best(value[:, 1:])
    return nodes, decisions.along(running, nodes)


#: How each decoding decides on a device.
ON_DEVICE: dict[Decoding, Callable[[PathDecisions, Tensor, Wish], Path]] = {
    DECODINGS["top_down"]: _top_down,
    DECODINGS["best_path"]: _best_path,
    DECODINGS["expected_f1"]: _expected_f1,
}


# -- sets of nodes -------------------------------------------------------------------------------


class SetDecisions:
    """Decisions on sets of nodes.

    Parameters
    ----------
    models : SetModels
        A fitted model with one network for all classes.
    layout : SetLayout
        What the outputs of the network mean.
    device : torch.device
        Where the outputs are.

    Attributes
    ----------
    bytes_per_row : int
        The peak memory per row.
    """

    def __init__(self, models: SetModels, layout: SetLayout, device: Any) -> None:
        self._device, self._nodes = device, layout.nodes
        self._n_nodes = models.hierarchy.n_nodes
        self.proba = SetProba(layout, device)
        self._known = on_device(models.populated[layout.nodes], device)
        self._node = on_device(layout.nodes, device)
        self._ends = on_device(models.ends, device)
        self._above = [on_device(part, device) for part in _ancestors(models, layout)]
        n_pairs = max(len(layout.pair_above), len(layout.edge_parent), layout.n_outputs)
        self.bytes_per_row = 8 * (4 * layout.n_outputs + 2 * n_pairs + 2 * len(models.ends))

    def _margin(self, z: Tensor, thresholds: FloatArray) -> Tensor:
        """By how much each output exceeds its threshold; negative for nodes without rows."""
        least = on_device(thresholds[self._nodes], self._device)
        return (self.proba(z) - least).masked_fill_(~self._known, -1.0)

    def node_proba(self, z: Tensor) -> Tensor:
        """The probability of every node; 0 for nodes without rows."""
        proba = z.new_zeros((len(z), self._n_nodes), dtype=torch.float64)
        proba[:, 0] = 1
        proba[:, self._node] = self.proba(z) * self._known
        return proba

    def sets(self, z: Tensor, thresholds: FloatArray) -> Tensor:
        """The nodes of closed sets, without the root: pairs of a row and a node."""
        margin = self._margin(z, thresholds)
        if (thresholds[1:] != thresholds[1]).any():
            # With one threshold for all, sets are closed by the order of the probabilities alone.
            margin = self.proba.at_most_above(margin)
        row, output = (margin >= 0).nonzero(as_tuple=True)
        return torch.stack([row, self._node[output]])

    def nodes(self, z: Tensor, thresholds: FloatArray) -> Tensor:
        """The final node of every row whose set has the largest sum of what exceeds thresholds."""
        margin = torch.nn.functional.pad(self._margin(z, thresholds), (0, 1))
        value = margin.new_zeros((len(z), len(self._ends)))
        for place in self._above:
            value += margin.index_select(1, place)
        return self._ends[first_best(value)]


def closed_sets(pairs: Tensor, n: int, n_nodes: int) -> Any:
    """Closed sets of n rows from pairs of a row and a node; the root is in every one of them."""
    row, node = pairs.cpu().numpy()
    everyone = np.arange(n)
    row, node = np.append(everyone, row), np.append(np.zeros_like(everyone), node)
    return from_entries(row, node, (n, n_nodes))


def _ancestors(models: SetModels, layout: SetLayout) -> IntArray:
    """For every final node the outputs of it and of all above it, a line each, then padding."""
    output = np.full(models.hierarchy.n_nodes, -1, dtype=np.intp)
    output[layout.nodes] = np.arange(layout.n_outputs)
    end, node = models.hierarchy._closure[models.ends].nonzero()
    end, node = end[node > 0], output[node[node > 0]]
    order = np.argsort(end, kind="stable")
    end, node = end[order], node[order]
    line = np.arange(len(end)) - np.searchsorted(end, end)
    table = np.full((int(line.max(initial=-1)) + 1, len(models.ends)), layout.n_outputs)
    table[line, end] = node
    return table
