"""Training: the optimiser, one step, one epoch, and when to stop."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hiclass._engine.progress import Progress
from hiclass.torch._batches import Batch, Rows, prefetched
from hiclass.torch._layout import Layout
from hiclass.torch._losses import RecursivePenalty, make_loss
from hiclass.torch._network import LastLayer, Shape, Weights, first_layer, hidden_layers

Tensor = Any

#: With more weights than this in the first layer, most of them are left alone by a small batch.
_MANY_WEIGHTS = 1 << 20


@dataclass(frozen=True)
class Settings:
    """How a network is trained, and where; the parameters of the estimator of the same names."""

    learning_rate: float
    penalty: float
    recursive: bool
    dropout: float
    device: Any


class Trainer:
    """A network in training.

    Parameters
    ----------
    shape : Shape
        Its layers.
    layout : TreeLayout or SetLayout
        What its outputs mean.
    weights : dict of tensors
        Its weights, which are changed in place.
    settings : Settings
        How it is trained, and where.
    seed : int
        For what is left out at random.
    """

    def __init__(
        self, shape: Shape, layout: Layout, weights: Weights, settings: Settings, seed: int
    ) -> None:
        self.shape = shape
        self.layout = layout
        self.settings = settings
        self.device = device = settings.device
        self.weights = {name: value.to(device).requires_grad_() for name, value in weights.items()}
        self._loss = make_loss(layout, device, behind_hidden=not shape.is_linear)
        pulls = settings.recursive and settings.penalty > 0
        self._pull = RecursivePenalty(layout, device) if pulls else None
        self._generator = torch.Generator(device).manual_seed(seed)
        # A penalty is on all weights, so that there is nothing to save by leaving some alone.
        self._sparse = (
            device.type == "cpu"
            and settings.penalty == 0
            and not shape.is_linear
            and self.weights["0.weight"].numel() > _MANY_WEIGHTS
        )
        self._optimisers = self._make_optimisers()

    def _make_optimisers(self) -> list[Any]:
        rate, penalty = self.settings.learning_rate, self.settings.penalty
        own = {f"{self.shape.last}.weight"} if self.settings.recursive else set()
        decayed = [w for n, w in self.weights.items() if n.endswith("weight") and n not in own]
        plain = [w for n, w in self.weights.items() if not n.endswith("weight") or n in own]
        if self._sparse:
            sparse = decayed.pop(0)
        groups = [
            {"params": part, "weight_decay": decay}
            for part, decay in ((decayed, penalty), (plain, 0.0))
            if part
        ]
        optimisers: list[Any] = [torch.optim.Adam(groups, rate, fused=True)]
        if self._sparse:
            optimisers.append(torch.optim.SparseAdam([sparse], rate))
        return optimisers

    def copy(self) -> Trainer:
        """A trainer that goes on from here without changing this one."""
        other = copy.copy(self)
        other.weights = {
            name: value.detach().clone().requires_grad_() for name, value in self.weights.items()
        }
        other._optimisers = other._make_optimisers()
        for new, old in zip(other._optimisers, self._optimisers, strict=True):
            new.load_state_dict(copy.deepcopy(old.state_dict()))
        other._generator = torch.Generator(self.device)
        other._generator.set_state(self._generator.get_state())
        return other

    # -- one step ------------------------------------------------------------------------------

    def _drop(self, x: Tensor) -> Tensor:
        keep = 1 - self.settings.dropout
        return x * (torch.empty_like(x).bernoulli_(keep, generator=self._generator) / keep)

    def _losses(self, batch: Batch, *, training: bool) -> Tensor:
        """The loss of every row of a batch, times its weight."""
        half = self.device.type == "cuda"
        mixed = torch.autocast("cuda", torch.bfloat16) if half else nullcontext()
        drop = self._drop if training and self.settings.dropout else None
        with mixed:
            x = first_layer(self.weights, batch.rows, sparse_gradient=self._sparse and training)
            x = hidden_layers(self.weights, self.shape, x, drop)
            losses = self._loss(LastLayer(self.weights, self.shape), x, batch.target)
        return losses if batch.weight is None else losses * batch.weight

    def step(self, batch: Batch, rate: float = 1.0) -> Tensor:
        """Learn a batch; return the sum of its losses, on the device."""
        total = self._losses(batch, training=True).sum()
        objective = total / batch.n_rows
        if self._pull is not None:
            weight = self.weights[f"{self.shape.last}.weight"]
            rows = weight.T if self.shape.is_linear else weight
            objective = objective + self.settings.penalty * self._pull(rows)
        objective.backward()
        for optimiser in self._optimisers:
            for group in optimiser.param_groups:
                group["lr"] = self.settings.learning_rate * rate
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        return total.detach()

    # -- many steps ----------------------------------------------------------------------------

    def epoch(
        self, batches: Iterable[Batch], rate: Callable[[int], float], *, thread: bool = False
    ) -> float:
        """Learn batches, with ``thread`` read in a thread; return the mean loss of their rows."""
        total = torch.zeros((), device=self.device)
        n_rows = 0
        with self._on_device(batches, thread=thread) as ready:
            for i, batch in enumerate(ready):
                total += self.step(batch, rate(i))
                n_rows += batch.n_rows
        # The only place that waits for a GPU.
        loss = float(total) / max(n_rows, 1)
        if not np.isfinite(loss):
            raise ValueError(
                f"The loss is {loss} after an epoch with learning_rate="
                f"{self.settings.learning_rate:.3g}. Use a smaller learning_rate, and scale X."
            )
        return loss

    def validate(self, rows: Rows) -> float:
        """The mean loss of rows, a piece at a time."""
        total = torch.zeros((), device=self.device)
        with torch.no_grad(), self._on_device(rows.pieces(self.shape)) as pieces:
            for piece in pieces:
                total += self._losses(piece, training=False).sum()
        return float(total) / max(len(rows), 1)

    def _on_device(
        self, batches: Iterable[Batch], *, thread: bool = False
    ) -> AbstractContextManager[Iterable[Batch]]:
        """Batches on the device; for a GPU, or with ``thread``, by way of a thread.

        The thread is over where the context ends, also if that is because of an error.
        """
        if thread or self.device.type == "cuda":
            return closing(prefetched(batches, self.device))
        return nullcontext(batches)


@dataclass
class Course:
    """How training goes: the losses so far, and when it is over.

    Attributes
    ----------
    max_epochs : int
        The most epochs.
    patience : int
        Training stops after so many epochs without a loss that is better by ``tol``.
    tol : float
        How much better.
    """

    max_epochs: int
    patience: int
    tol: float

    def __post_init__(self) -> None:
        self.losses: list[float] = []
        self.validation: list[float] = []
        self._best = np.inf
        self._waited = 0
        self._kept: dict[str, Tensor] | None = None

    def run(
        self, trainer: Trainer, epoch: Callable[[int], float], held_out: Rows | None, verbose: bool
    ) -> None:
        """Run epochs until it is over; with rows held out, keep the best weights."""
        with Progress(self.max_epochs, "Training", enabled=verbose) as progress:
            for i in range(self.max_epochs):
                progress.begin(i, self._status, 1)
                self.losses.append(epoch(i))
                if held_out is not None:
                    self.validation.append(trainer.validate(held_out))
                progress.finish(i)
                if self._is_over(trainer, keep=held_out is not None):
                    break
        if self._kept is not None:
            with torch.no_grad():
                for name, value in self._kept.items():
                    trainer.weights[name].copy_(value)

    def _status(self) -> str:
        """What the progress bar shows."""
        if not self.losses:
            return "first epoch"
        held_out = f", validation loss {self.validation[-1]:.4f}" if self.validation else ""
        return f"loss {self.losses[-1]:.4f}{held_out}"

    def _is_over(self, trainer: Trainer, *, keep: bool) -> bool:
        loss = (self.validation or self.losses)[-1]
        if loss < self._best and keep:
            self._kept = {n: w.detach().clone() for n, w in trainer.weights.items()}
        self._waited = 0 if loss < self._best - self.tol else self._waited + 1
        self._best = min(loss, self._best)
        return self._waited >= self.patience
