"""The course of training: epochs, stopping, progress, interrupts and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from hiclass._engine.progress import Progress
from hiclass._warnings import warn_user
from hiclass.torch._batches import Rows
from hiclass.torch._checkpoint import Checkpoint
from hiclass.torch._train import START, Place, Trainer

Tensor = Any
#: Called after a step with a function that returns the progress of the epoch.
AfterStep = Callable[[Callable[[], Place]], None]
#: Seconds between two checkpoints.
_PAUSE = 20.0


@dataclass
class Course:
    """The losses so far, and when to stop.

    Attributes
    ----------
    max_epochs : int
        The most epochs.
    patience : int
        Training stops after this many epochs without an improvement of the loss by ``tol``.
    tol : float
        The smallest improvement that counts.
    keep_on_interrupt : bool
        Whether an interrupt ends training and keeps what was learned.
    """

    max_epochs: int
    patience: int
    tol: float
    keep_on_interrupt: bool = False

    def __post_init__(self) -> None:
        self.losses: list[float] = []
        self.validation: list[float] = []
        self._best = np.inf
        self._waited = 0
        self._kept: dict[str, Tensor] | None = None
        self._has_learned = False
        self._saved = time.monotonic()

    def run(
        self,
        trainer: Trainer,
        epoch: Callable[[int, Place, AfterStep], float],
        held_out: Rows | None,
        verbose: bool,
        checkpoint: Checkpoint | None = None,
        state: dict[str, Any] | None = None,
        remember: Callable[[int, Place], Any] = lambda *_: None,
    ) -> None:
        """Run epochs until training stops; with validation rows, keep the best weights.

        Parameters
        ----------
        trainer : Trainer
            What learns.
        epoch : callable
            Learns the rest of an epoch, given its number and how far it has come; returns the mean
            loss.
        held_out : Rows or None
            Validation rows.
        verbose : bool
            Whether to show progress.
        checkpoint : Checkpoint, default=None
            Where the state of the training is stored. Of several processes only the first has one.
        state : dict, default=None
            A stored state, from which all processes continue.
        remember : callable
            What else has to be stored, given the epoch and its progress.
        """
        begin, place = self._take_up(trainer, state)
        # Several processes have the same losses only after an epoch.
        alone = trainer.settings.team.size == 1
        with Progress(self.max_epochs, "Training", enabled=verbose) as progress:
            try:
                for i in range(begin, self.max_epochs):
                    if self._waited >= self.patience:
                        break
                    progress.begin(i, partial(self._status, lambda: START), 1)

                    def after_step(place: Callable[[], Place], i: int = i) -> None:
                        self._has_learned = True
                        progress.update(i, partial(self._status, place))
                        if checkpoint is not None and alone and self._is_due():
                            self._save(checkpoint, trainer, i, place(), remember)

                    self.losses.append(epoch(i, place, after_step))
                    place = START
                    if held_out is not None:
                        self.validation.append(trainer.validate(held_out))
                    progress.finish(i)
                    self._note(trainer, keep=held_out is not None)
                    if checkpoint is not None and (self._is_due() or self._is_over(i + 1)):
                        self._save(checkpoint, trainer, i + 1, place, remember)
            except KeyboardInterrupt:
                if not (self.keep_on_interrupt and self._has_learned):
                    raise
                warn_user(
                    f"Training was interrupted in epoch {len(self.losses) + 1} of at most "
                    f"{self.max_epochs}. The model keeps the weights that it has at this point."
                )
        if self._kept is not None:
            trainer.set_weights(self._kept)

    def _status(self, place: Callable[[], Place]) -> str:
        """What the progress bar shows."""
        now = place()
        parts = [f"epoch {len(self.losses) + 1}"]
        if now.n_rows:
            parts.append(f"{now.n_rows:,} rows, loss {now.loss:.4f}")
        elif self.losses:
            parts.append(f"loss {self.losses[-1]:.4f}")
        if self.validation:
            parts.append(f"validation loss {self.validation[-1]:.4f}")
        return ", ".join(parts)

    def _note(self, trainer: Trainer, *, keep: bool) -> None:
        loss = (self.validation or self.losses)[-1]
        if loss < self._best and keep:
            self._kept = {n: w.detach().clone() for n, w in trainer.weights.items()}
        self._waited = 0 if loss < self._best - self.tol else self._waited + 1
        self._best = min(loss, self._best)

    def _is_over(self, n_epochs: int) -> bool:
        return n_epochs >= self.max_epochs or self._waited >= self.patience

    # -- checkpoints ---------------------------------------------------------------------------

    def _is_due(self) -> bool:
        return time.monotonic() - self._saved >= _PAUSE

    def _save(
        self,
        checkpoint: Checkpoint,
        trainer: Trainer,
        epoch: int,
        place: Place,
        remember: Callable[[int, Place], Any],
    ) -> None:
        own = (self.losses, self.validation, float(self._best), self._waited, self._kept)
        state = {"course": own, "epoch": epoch, "place": asdict(place)}
        state["more"] = remember(epoch, place)
        checkpoint.save({**state, "trainer": trainer.state()})
        self._saved = time.monotonic()

    def _take_up(self, trainer: Trainer, state: dict[str, Any] | None) -> tuple[int, Place]:
        """Resume from a stored state; return the epoch and its progress."""
        if state is None:
            return 0, START
        self.losses, self.validation, self._best, self._waited, self._kept = state["course"]
        trainer.load(state["trainer"])
        self._has_learned = True
        return state["epoch"], Place(**state["place"])
