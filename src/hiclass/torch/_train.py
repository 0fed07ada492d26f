"""A network in training: its optimiser, one step, and the steps of an epoch."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from hiclass._typing import AnyArray
from hiclass.torch._batches import Batch, Rows
from hiclass.torch._feed import prefetched
from hiclass.torch._inputs import Inputs
from hiclass.torch._layout import Layout
from hiclass.torch._losses import RecursivePenalty, make_loss, on_device
from hiclass.torch._memory import explaining_lack_of_memory
from hiclass.torch._network import LastLayer, Shape, Weights, first_layer, hidden_layers
from hiclass.torch._packed import Packed, unpacked
from hiclass.torch._replay import Replays, cuda_graphs
from hiclass.torch._team import ALONE, Team

Tensor = Any

#: With more weights than this in the first layer, a small batch changes few of them.
_MANY_WEIGHTS = 1 << 20
#: On a CPU, a step is computed for some rows at a time, so that their outputs are at most this many
#: numbers, or as many as the weights of the last layer.
_MOST_NUMBERS = 1 << 25


class LossError(ValueError, FloatingPointError):
    """A loss that is not finite."""


@dataclass(frozen=True)
class Settings:
    """How a network is trained, and where; the parameters of the estimator of the same names.

    Attributes
    ----------
    learning_rate, penalty, dropout : float
        See the estimator.
    recursive : bool
        Whether the penalty pulls weights towards those of parents.
    device : torch.device
        Where to compute.
    clip_norm : float or None
        The longest gradient.
    half : bool
        Whether products are computed in bfloat16.
    lazy : bool
        Whether the penalty skips weights without a gradient, for streams of small batches.
    team : Team
        The processes that train together.
    """

    learning_rate: float
    penalty: float
    recursive: bool
    dropout: float
    device: Any
    clip_norm: float | None = None
    half: bool = False
    lazy: bool = False
    team: Team = ALONE


@dataclass(frozen=True)
class Place:
    """The progress of an epoch: steps, the sum of losses, and rows."""

    n_steps: int = 0
    total: float = 0.0
    n_rows: int = 0

    @property
    def loss(self) -> float:
        """The mean loss so far."""
        return self.total / max(self.n_rows, 1)


#: The beginning of an epoch.
START = Place()


class Trainer:
    """A network in training.

    Parameters
    ----------
    shape : Shape
        Its layers.
    layout : TreeLayout or SetLayout
        What its outputs mean.
    weights : dict of tensors
        Its weights, which are changed in place, for features inside the network.
    inputs : Inputs
        How features get there.
    settings : Settings
        How it is trained, and where.
    seed : int
        The seed for dropout.
    """

    def __init__(
        self,
        shape: Shape,
        layout: Layout,
        weights: Weights,
        inputs: Inputs,
        settings: Settings,
        seed: int,
    ) -> None:
        self.shape = shape
        self.layout = layout
        self.inputs = inputs
        self._generator = torch.Generator(settings.device).manual_seed(seed + settings.team.rank)
        self._settle(weights, settings)

    def _settle(self, weights: Weights, settings: Settings) -> None:
        """Copy weights to a device, and create losses and optimisers for them."""
        self.settings, self.device = settings, settings.device
        self.weights = {
            name: value.detach().to(self.device, copy=True).requires_grad_()
            for name, value in weights.items()
        }
        self._loss = make_loss(
            self.layout,
            self.device,
            n_hidden=0 if self.shape.is_linear else self.shape.widths[-1],
            half=settings.half,
        )
        self._at_once = self._rows_at_once() if self.device.type == "cpu" else sys.maxsize
        pulls = settings.recursive and settings.penalty > 0
        self._pull = RecursivePenalty(self.layout, self.device) if pulls else None
        self._set_inputs()
        # A penalty changes all weights, so sparse updates would save nothing.
        self._sparse = (
            self.device.type == "cpu"
            and settings.penalty == 0
            and not self.shape.is_linear
            and self.weights["0.weight"].numel() > _MANY_WEIGHTS
        )
        self._optimisers = self._make_optimisers()
        self._rate: float | None = None
        self._forget_steps()

    def _set_inputs(self) -> None:
        self._mean, self._factor = (
            None if part is None else on_device(part.astype(np.float32), self.device)
            for part in (self.inputs.mean, self.inputs.factor)
        )

    def _rows_at_once(self) -> int:
        """How many rows of a step are computed together on a CPU."""
        most = max(_MOST_NUMBERS, self.weights[f"{self.shape.last}.weight"].numel())
        return max(1, most // max(self._loss.n_numbers, 1))

    def _forget_steps(self) -> None:
        """Discard recorded steps, which use tensors that have been replaced."""
        self._replays: Replays | None = None
        if self.device.type == "cuda" and self.settings.team.size == 1:  # pragma: no cover
            self._replays = Replays(cuda_graphs(self._generator))

    def _decayed(self) -> list[str]:
        """The weights that a penalty pulls to zero."""
        own = {f"{self.shape.last}.weight"} if self.settings.recursive else set()
        return [n for n in self.weights if n.endswith("weight") and n not in own]

    def _make_optimisers(self) -> list[Any]:
        rate: Any = self.settings.learning_rate
        on_gpu = self.device.type == "cuda"
        if on_gpu:  # pragma: no cover
            rate = torch.tensor(rate, device=self.device)  # a recorded step reads it there
        decayed = self._decayed()
        sparse = decayed[:1] if self._sparse else []
        groups = [
            ([n for n in decayed if n not in sparse], self.settings.penalty),
            ([n for n in self.weights if n not in decayed], 0.0),
        ]
        parts = [
            {
                "params": [self.weights[n] for n in names],
                "weight_decay": 0.0 if self.settings.lazy else decay,
            }
            for names, decay in groups
            if names
        ]
        optimisers: list[Any] = [torch.optim.Adam(parts, rate, fused=True, capturable=on_gpu)]
        if sparse:
            optimisers.append(torch.optim.SparseAdam([self.weights[n] for n in sparse], rate))
        return optimisers

    def copy(self, settings: Settings | None = None) -> Trainer:
        """A copy that can be trained further, with other settings."""
        other = copy.copy(self)
        other._settle(self.weights, settings or self.settings)
        if other._sparse == self._sparse:
            other._load_optimisers(copy.deepcopy([o.state_dict() for o in self._optimisers]))
        if other.device == self.device:
            other._generator = torch.Generator(self.device)
            other._generator.set_state(self._generator.get_state())
        else:
            seed = self._generator.initial_seed()
            other._generator = torch.Generator(other.device).manual_seed(seed)
        other._forget_steps()  # recorded steps draw from the generator
        return other

    def _load_optimisers(self, states: list[Any]) -> None:
        """Load the state of optimisers, but keep their own parameters."""
        for optimiser, state in zip(self._optimisers, states, strict=True):
            groups = optimiser.state_dict()["param_groups"]
            optimiser.load_state_dict({"state": state["state"], "param_groups": groups})
        self._rate = None
        self._forget_steps()

    def set_penalty(self, penalty: float) -> None:
        """Change the penalty."""
        if penalty == self.settings.penalty:
            return
        before = self._replays
        self._forget_steps()
        if before is not None and self._replays is not None:
            self._replays.expect(before)
        self.settings = replace(self.settings, penalty=penalty)
        for group in self._optimisers[0].param_groups:
            if group["weight_decay"]:
                group["weight_decay"] = penalty

    def state(self) -> dict[str, Any]:
        """The state of the training."""
        return {
            "weights": {name: value.detach() for name, value in self.weights.items()},
            "optimisers": [optimiser.state_dict() for optimiser in self._optimisers],
            "generator": self._generator.get_state(),
            "inputs": self.inputs.tensors(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Load a state."""
        self.inputs = Inputs.of_tensors(state["inputs"])
        self._set_inputs()
        self.set_weights(state["weights"])
        self._load_optimisers(state["optimisers"])
        if self.settings.team.rank == 0:  # the generator of the others drops other outputs
            self._generator.set_state(state["generator"].cpu())

    def rescale(self, inputs: Inputs, varied: AnyArray) -> None:
        """Scale features in another way, without a change of what the network computes.

        ``varied`` is whether features have varied so far. Those that have not were zero inside the
        network, and their weights stay as they are. What the optimiser knows follows the factors,
        not the means.
        """
        before, self.inputs = self.inputs, inputs
        if before.factor is not None and inputs.factor is not None:
            before = replace(before, factor=np.where(varied, before.factor, inputs.factor))
        weights = before.fold(self.shape, {n: w.detach() for n, w in self.weights.items()})
        self.set_weights(inputs.unfold(self.shape, weights))
        if before.factor is not None and inputs.factor is not None:
            ratio = torch.from_numpy(np.atleast_1d(inputs.factor / before.factor)).unsqueeze(1)
            self._rescale_optimisers(ratio.to(self.device, torch.float32))
        self._set_inputs()
        self._forget_steps()

    def _rescale_optimisers(self, ratio: Tensor) -> None:
        """Gradients of the first layer are multiplied by the ratio of features."""
        first = self.weights["0.weight"]
        for optimiser in self._optimisers:
            state = optimiser.state.get(first, {})
            for name, power in (("exp_avg", 1), ("exp_avg_sq", 2)):
                if name in state:
                    state[name] *= ratio**power

    def set_weights(self, weights: Weights) -> None:
        """Set all weights."""
        with torch.no_grad():
            for name, value in weights.items():
                self.weights[name].copy_(value)

    def fitted_weights(self) -> Weights:
        """Weights for features as they are."""
        plain = {name: value.detach() for name, value in self.weights.items()}
        return self.inputs.fold(self.shape, plain)

    # -- one step ------------------------------------------------------------------------------

    def _drop(self, x: Tensor) -> Tensor:
        keep = 1 - self.settings.dropout
        return x * (torch.empty_like(x).bernoulli_(keep, generator=self._generator) / keep)

    def scale(self, x: Tensor) -> Tensor:
        """Dense rows scaled for the network, in the precision of its products."""
        if self._factor is not None:
            x = (x if self._mean is None else x - self._mean) * self._factor
        return x.bfloat16() if self.settings.half else x

    def _first_layer(self, batch: Batch, *, sparse_gradient: bool) -> Tensor:
        """The outputs of the first layer."""
        rows, shift = batch.rows, None
        if self._factor is not None and not batch.is_scaled:
            if len(rows) == 1:
                rows = (self.scale(rows[0]),)
            else:
                indices, offsets, values = rows
                each = self._factor.dim() > 0
                values = values * (self._factor[indices] if each else self._factor)
                rows = indices, offsets, values
                if self._mean is not None:
                    shift = (self._mean * self._factor) @ self.weights["0.weight"]
        x = first_layer(self.weights, rows, sparse_gradient=sparse_gradient)
        return x if shift is None else x - shift

    def _losses(self, batch: Batch, *, training: bool) -> Tensor:
        """The loss of every row of a batch, times its weight."""
        half = torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.half)
        drop = self._drop if training and self.settings.dropout else None
        with half:
            x = self._first_layer(batch, sparse_gradient=self._sparse and training)
            x = hidden_layers(self.weights, self.shape, x, drop)
            losses = self._loss(LastLayer(self.weights, self.shape), x, batch.target)
        return losses if batch.weight is None else losses * batch.weight

    def step(
        self, batch: Batch | Packed | None, rate: float = 1.0, n_rows: int | None = None
    ) -> Tensor:
        """Learn a batch; return the sum of its losses, on the device.

        ``n_rows`` is the number of rows of the step in all processes; this one may have none.
        """
        self._set_rate(self.settings.learning_rate * rate)
        if self._replays is not None and batch is not None:
            total = self._replays.step(batch, self._learn)
            if total is not None:
                return total
        return self._learn(None if batch is None else unpacked(batch), n_rows)

    def _set_rate(self, rate: float) -> None:
        if rate == self._rate:
            return
        self._rate = rate
        groups = [group for optimiser in self._optimisers for group in optimiser.param_groups]
        on_gpu = {id(g["lr"]): g["lr"] for g in groups if not isinstance(g["lr"], float)}
        for tensor in on_gpu.values():  # pragma: no cover (groups share one)
            tensor.fill_(rate)
        if not on_gpu:
            for group in groups:
                group["lr"] = rate

    def _learn(self, batch: Batch | None, n_rows: int | None = None) -> Tensor:
        """Learn a batch with the current learning rate."""
        team, n_rows = self.settings.team, n_rows or (batch.n_rows if batch else 1)
        total = None
        for part in batch.parts(self._at_once) if batch is not None and batch.n_rows else ():
            losses = self._losses(part, training=True).sum()
            (losses / n_rows).backward()
            total = losses.detach() if total is None else total + losses.detach()
        if self._pull is not None:
            weight = self.weights[f"{self.shape.last}.weight"]
            pull = self._pull(weight.T if self.shape.is_linear else weight)
            (self.settings.penalty / team.size * pull).backward()
        self._finish_gradients(team)
        for optimiser in self._optimisers:
            optimiser.step()
        for weight in self.weights.values():
            weight.grad = None
        return torch.zeros((), device=self.device) if total is None else total

    def _finish_gradients(self, team: Team) -> None:
        """Sum the gradients of all processes, clip them, and add the penalty."""
        weights = self.weights
        first = weights["0.weight"]
        if self._sparse and first.grad is not None and not first.grad.is_sparse:
            first.grad = first.grad.to_sparse(1)  # of dense rows
        if team.size > 1:
            for weight in weights.values():
                if weight.grad is None:
                    weight.grad = torch.zeros_like(weight)
                elif weight.grad.is_sparse:
                    weight.grad = weight.grad.to_dense()
            team.add_up(*(weight.grad for weight in weights.values()))
            if self._sparse:
                first.grad = first.grad.to_sparse(1)
        if self.settings.clip_norm is not None:
            _clip([w for w in weights.values() if w.grad is not None], self.settings.clip_norm)
        if self.settings.lazy and self.settings.penalty:
            for name in self._decayed():
                grad, weight = weights[name].grad, weights[name].detach()
                if grad is not None:
                    grad.add_(weight * (grad != 0), alpha=self.settings.penalty)

    # -- many steps ----------------------------------------------------------------------------

    def epoch(
        self,
        batches: Iterable[Batch],
        rate: Callable[[int, int], float],
        *,
        thread: bool = False,
        resident: bool = False,
        begun: Place = START,
        after_step: Callable[[Callable[[], Place]], None] | None = None,
    ) -> float:
        """Learn batches; return the mean loss of the rows of the epoch.

        Parameters
        ----------
        batches : iterable of Batch
            The remaining batches of the epoch.
        rate : callable
            The share of the learning rate, given the number of the step and its rows.
        thread : bool
            Whether batches are prepared in a thread.
        resident : bool
            Whether batches are already on the device.
        begun : Place
            The progress of the epoch before this call.
        after_step : callable, default=None
            Called after every step with a function that returns the progress of the epoch.
        """
        total = torch.zeros((), device=self.device) + begun.total
        n_steps, n_rows = begun.n_steps, begun.n_rows

        def place() -> Place:
            return Place(n_steps, float(total), n_rows)

        with self._on_device(batches, thread=thread, resident=resident) as ready:
            for batch, n_step in self._together(iter(ready)):
                if batch is None or not batch.is_void or self.settings.team.size > 1:
                    with self._explaining_lack_of_memory(batch):
                        total += self.step(batch, rate(n_steps, n_step), n_step)
                n_rows += n_step
                n_steps += 1
                if after_step is not None:
                    after_step(place)
        self.settings.team.add_up(total)
        # Only here does the host wait for a GPU.
        loss = place().loss
        if not np.isfinite(loss):
            raise LossError(
                f"The loss is {loss} after an epoch with learning_rate="
                f"{self.settings.learning_rate:.3g}. Use a smaller learning_rate, and scale X."
            )
        return loss

    def _explaining_lack_of_memory(
        self, batch: Batch | Packed | None
    ) -> AbstractContextManager[None]:
        """Suggest a smaller batch size in errors about memory."""

        def advice() -> tuple[str, str]:
            n_rows = 0 if batch is None else min(batch.n_rows, self._at_once)
            fewer = f"batch_size={n_rows // 2}, or batches of that many rows, or "
            return (
                f"{n_rows:,} rows of a step do not fit into memory together",
                f"Try {fewer if n_rows > 1 else ''}{self._fewer_numbers()}.",
            )

        return explaining_lack_of_memory(advice)

    def _fewer_numbers(self) -> str:
        return "smaller hidden_layers" if self.shape.hidden else "a small embedding_dim"

    def _together(
        self, batches: Iterator[Batch | Packed]
    ) -> Iterator[tuple[Batch | Packed | None, int]]:
        """Batches and the rows of their steps; None where only other processes have a batch."""
        team = self.settings.team
        while True:
            batch = next(batches, None)
            if team.size == 1:
                if batch is None:
                    return
                yield batch, batch.n_rows
                continue
            counts = torch.tensor(
                [0 if batch is None else batch.n_rows, batch is not None], device=self.device
            )
            team.add_up(counts)
            n_rows, n_left = counts.tolist()
            if not n_left:
                return
            yield batch, n_rows

    def validate(self, rows: Rows) -> float:
        """The mean loss of rows, a piece at a time."""
        total = torch.zeros((), device=self.device)
        n_part = min(len(rows), self._at_once)

        def advice() -> tuple[str, str]:
            fewer = f"at most {n_part // 2:,} of them, or " if n_part > 1 else ""
            return (
                f"{n_part:,} of {len(rows):,} validation rows do not fit into memory together",
                f"Try {fewer}{self._fewer_numbers()}.",
            )

        batches = self._on_device(rows.pieces(self.shape))
        with torch.no_grad(), explaining_lack_of_memory(advice), batches as pieces:
            for piece in pieces:
                for part in unpacked(piece).parts(self._at_once):
                    n_part = part.n_rows
                    total += self._losses(part, training=False).sum()
        return float(total) / max(len(rows), 1)

    def _on_device(
        self, batches: Iterable[Batch], *, thread: bool = False, resident: bool = False
    ) -> AbstractContextManager[Iterable[Batch | Packed]]:
        """Batches on the device; for a GPU, or with ``thread``, prepared in a thread.

        The thread ends with the context, also after an error.
        """
        if thread or (self.device.type == "cuda" and not resident):
            return closing(prefetched(batches, self.device))
        return nullcontext(batches)


def _clip(weights: list[Tensor], most: float) -> None:
    """Clip the norm of gradients; PyTorch does not support sparse ones."""
    for weight in weights:
        if weight.grad.is_sparse:
            weight.grad = weight.grad.coalesce()
    parts = [w.grad.values() if w.grad.is_sparse else w.grad for w in weights]
    length = torch.stack([part.norm() for part in parts]).norm()
    share = (most / length.clamp(min=torch.finfo(length.dtype).tiny)).clamp(max=1.0)
    for part in parts:
        part.mul_(share)
