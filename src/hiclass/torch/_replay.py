"""Training steps that are recorded once and replayed: one launch per step, not one per kernel.

A GPU often finishes a kernel before Python has launched the next one. As a CUDA graph, all
kernels of a step are launched at once. A recorded step reads its batch from tensors of its own,
into which the next batch is copied: it can be used for batches of one form (``_packed``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from hiclass.torch._batches import Batch
from hiclass.torch._cuda import RECORDING, streams_of
from hiclass.torch._packed import Form, Packed, empty_room

Tensor = Any
#: Turns a function that computes on fixed tensors into one that repeats it.
Record = Callable[[Callable[[], None]], Callable[[], None]]

#: The number of batches of a form that are learned without recording first.
_WAIT = 8
#: The largest number of recorded steps.
_MOST_FORMS = 8


class Replays:
    """Recorded steps, by the form of batches.

    Parameters
    ----------
    record : callable
        Records a step.
    """

    def __init__(self, record: Record) -> None:
        self._record: Record | None = record
        self._seen: Counter[Form] = Counter()
        self._steps: dict[Form, _Step] = {}

    def expect(self, other: Replays) -> None:
        """Record steps at once for the forms that ``other`` has seen."""
        self._seen.update(other._seen)

    def step(self, batch: Batch | Packed, learn: Callable[[Batch], Tensor]) -> Tensor | None:
        """Learn a batch by a recorded step; None, and nothing learned, if there is none for it.

        ``learn`` learns a batch and returns the sum of its losses, without waiting for the device.
        """
        form = batch.form if isinstance(batch, Packed) else Form.of(batch)
        step = self._steps.get(form)
        if step is None:
            self._seen[form] += 1
            full = len(self._steps) >= _MOST_FORMS
            if self._record is None or self._seen[form] <= _WAIT or full:
                return None
            device = batch.room.device if isinstance(batch, Packed) else batch.rows[0].device
            try:
                step = _Step(form, device, learn, self._record)
            except torch.OutOfMemoryError:
                # There is no memory for a recorded step: continue without one.
                self._record = None
                return None
            self._steps[form] = step
        return step(batch)


class _Step:
    """A recorded step for batches of one form."""

    def __init__(
        self, form: Form, device: Any, learn: Callable[[Batch], Tensor], record: Record
    ) -> None:
        self._form, self._room = form, empty_room(form, device)
        self._batch = form.view(self._room)
        self._total = torch.zeros((), device=device)

        def step() -> None:
            self._total.copy_(learn(self._batch))

        self._replay = record(step)

    def __call__(self, batch: Batch | Packed) -> Tensor:
        if isinstance(batch, Packed):
            self._room.copy_(batch.room)
        else:
            self._form.put(self._batch, batch)
        self._replay()
        return self._total


def cuda_graphs(generator: Any) -> Record:  # pragma: no cover (benchmarks/gpu_smoke.py runs it)
    """Record steps as CUDA graphs, which share their memory: they never run at the same time."""
    pool = torch.cuda.graph_pool_handle()
    stream = streams_of(generator.device).recording

    def record(step: Callable[[], None]) -> Callable[[], None]:
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(generator)
        # Another thread prepares batches at the same time, and may allocate memory.
        recording = torch.cuda.graph(graph, pool, stream, capture_error_mode="thread_local")
        with RECORDING, recording:
            step()
        return graph.replay

    return record
