"""Training steps that are recorded once and replayed: one launch per step, not one per kernel.

A GPU is often done with a kernel before Python has launched the next one. As a CUDA graph, all
kernels of a step are launched at once. A recorded step reads its batch from tensors of its own,
into which the next batch is copied: it serves for batches of one form. Batches of sparse rows have
different numbers of entries: they are filled up with entries of zero, which change nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from hiclass.torch._batches import Batch

Tensor = Any
#: Makes of a function that computes on fixed tensors one that does the same again.
Record = Callable[[Callable[[], None]], Callable[[], None]]

#: So many batches of a form are learned one kernel at a time before a step is recorded.
_WAIT = 8
#: So many forms have a recorded step.
_MOST_FORMS = 8


class Replays:
    """Recorded steps, by the form of batches.

    Parameters
    ----------
    record : callable
        What makes a recorded step.
    """

    def __init__(self, record: Record) -> None:
        self._record: Record | None = record
        self._seen: Counter[Any] = Counter()
        self._steps: dict[Any, _Step] = {}

    def step(self, batch: Batch, learn: Callable[[Batch], Tensor]) -> Tensor | None:
        """Learn a batch by a recorded step; None, and nothing learned, if there is none for it.

        ``learn`` learns a batch and returns the sum of its losses, without waiting for the device.
        """
        form, n_entries = _form(batch)
        step = self._steps.get(form)
        if step is None:
            self._seen[form] += 1
            full = len(self._steps) >= _MOST_FORMS
            if self._record is None or self._seen[form] <= _WAIT or full:
                return None
            try:
                step = _Step(batch, n_entries, learn, self._record)
            except torch.OutOfMemoryError:
                # A recorded step has memory of its own, which is not there: go on without one.
                self._record = None
                return None
            self._steps[form] = step
        return step(batch)


class _Step:
    """A recorded step for batches of one form."""

    def __init__(
        self,
        batch: Batch,
        n_entries: int | None,
        learn: Callable[[Batch], Tensor],
        record: Record,
    ) -> None:
        own = batch.map(torch.clone)
        if n_entries is not None:
            indices, offsets, values = own.rows
            rows = indices.new_zeros(n_entries), offsets, values.new_zeros(n_entries)
            own = replace(own, rows=rows)
        self._batch, self._n_entries = own, n_entries
        self._total = torch.zeros((), device=batch.rows[0].device)

        def step() -> None:
            self._total.copy_(learn(own))

        self._replay = record(step)

    def __call__(self, batch: Batch) -> Tensor:
        own = self._batch
        if self._n_entries is None:
            own.rows[0].copy_(batch.rows[0])
        else:
            self._put_entries(batch.rows)
        for here, part in zip(own.target, batch.target, strict=True):
            here.copy_(part)
        if own.weight is not None:
            own.weight.copy_(batch.weight)
        self._replay()
        return self._total

    def _put_entries(self, rows: tuple[Tensor, ...]) -> None:
        """Copy sparse rows; the last one gets entries of zero until all places are taken."""
        for here, part in zip(self._batch.rows, rows, strict=True):
            here[: len(part)].copy_(part)
        _, offsets, values = self._batch.rows
        values[len(rows[2]) :].zero_()
        offsets[-1:].fill_(self._n_entries)


def _form(batch: Batch) -> tuple[Any, int | None]:
    """What two batches share if one recorded step serves for both, and its number of entries."""
    n_entries = None
    if len(batch.rows) > 1:
        # At most an eighth more than there are, so that few forms serve for many batches.
        n = len(batch.rows[0])
        unit = 1 << max(n.bit_length() - 4, 0)
        n_entries = max(-(-n // unit) * unit, 1)
    parts = (*batch.rows, *batch.target, batch.weight)
    kinds = tuple(None if part is None else part.dtype for part in parts)
    shape = n_entries if n_entries is not None else batch.rows[0].shape
    return (batch.n_rows, shape, kinds, batch.is_scaled), n_entries


def cuda_graphs(generator: Any) -> Record:  # pragma: no cover (benchmarks/gpu_smoke.py runs it)
    """Record steps as CUDA graphs, which share their memory: they never run at the same time."""
    pool = torch.cuda.graph_pool_handle()

    def record(step: Callable[[], None]) -> Callable[[], None]:
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(generator)
        # Another thread prepares batches meanwhile, and may allocate memory for that.
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            step()
        return graph.replay

    return record
