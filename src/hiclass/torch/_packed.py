"""A batch in one piece of memory: one copy takes it to a device, where its tensors are views.

With one copy per tensor, Python spends its time launching copies while other threads wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import torch

from hiclass._typing import AnyArray
from hiclass.torch._batches import Batch

Tensor = Any
#: Tensors begin at multiples of this many bytes.
_ALIGNED = 16


@dataclass(frozen=True)
class Form:
    """The memory layout of batches.

    Sparse rows are padded with entries of zero, which change nothing, so that many batches have the
    same form.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    parts : tuple
        Type and shape of the tensors of the rows, of the target, and of weights.
    n_row_parts : int
        How many tensors the rows are.
    n_entries : int or None
        The number of entries of sparse rows after padding.
    is_weighted : bool
        Whether the last tensor holds weights.
    is_scaled : bool
        As in a batch.
    """

    n_rows: int
    parts: tuple[tuple[Any, tuple[int, ...]], ...]
    n_row_parts: int
    n_entries: int | None
    is_weighted: bool
    is_scaled: bool

    @staticmethod
    def of(batch: Batch) -> Form:
        """The form of a batch."""
        tensors = _tensors(batch)
        parts = [(tensor.dtype, tuple(tensor.shape)) for tensor in tensors]
        n_row_parts, n_entries = len(batch.rows), None
        if n_row_parts > 1:
            # At most an eighth more than there are.
            n = len(batch.rows[0])
            unit = 1 << max(n.bit_length() - 4, 0)
            n_entries = max(-(-n // unit) * unit, 1)
            parts[0], parts[2] = ((parts[i][0], (n_entries,)) for i in (0, 2))
        weighted = batch.weight is not None
        return Form(batch.n_rows, tuple(parts), n_row_parts, n_entries, weighted, batch.is_scaled)

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """Where each tensor begins, and its size, in bytes."""
        sizes = [prod(shape) * dtype.itemsize for dtype, shape in self.parts]
        padded = [-(-size // _ALIGNED) * _ALIGNED for size in sizes]
        return list(zip(accumulate(padded, initial=0), sizes, strict=False))

    @cached_property
    def n_bytes(self) -> int:
        """The memory of a batch."""
        start, size = self._places[-1]
        return start + size

    def fill(self, room: AnyArray, batch: Batch) -> None:
        """Write a batch of this form to memory on the host."""
        for (start, size), tensor in zip(self._places, _tensors(batch), strict=True):
            own = np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8)
            # In one thread: those of PyTorch would compete with the threads that read batches.
            room[start : start + len(own)] = own
            if len(own) < size:
                room[start + len(own) : start + size] = 0
        if self.n_entries is not None:  # the last row gets the entries of zero
            start, size = self._places[1]
            ends = room[start : start + size].view(batch.rows[1].numpy().dtype)
            ends[-1] = self.n_entries

    def put(self, own: Batch, batch: Batch) -> None:
        """Copy a batch of this form to padded tensors on the same device."""
        for here, part in zip(_tensors(own), _tensors(batch), strict=True):
            (here if here.shape == part.shape else here[: len(part)]).copy_(part)
        if self.n_entries is not None:
            own.rows[2][len(batch.rows[2]) :].zero_()
            own.rows[1][-1:].fill_(self.n_entries)

    def view(self, room: Tensor) -> Batch:
        """The batch as views of its memory."""
        tensors = tuple(
            room[start : start + size].view(dtype).view(shape)
            for (start, size), (dtype, shape) in zip(self._places, self.parts, strict=True)
        )
        last = len(tensors) - self.is_weighted
        weight = tensors[last] if self.is_weighted else None
        rows, target = tensors[: self.n_row_parts], tensors[self.n_row_parts : last]
        return Batch(rows, target, weight, self.n_rows, is_scaled=self.is_scaled)


@dataclass(frozen=True)
class Packed:
    """A batch on a device, in one piece.

    Attributes
    ----------
    form : Form
        How it is laid out.
    room : tensor of bytes
        Its memory.
    is_void : bool
        As in a batch.
    """

    form: Form
    room: Tensor
    is_void: bool

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.form.n_rows

    def unpacked(self) -> Batch:
        """The batch, as views of its memory."""
        return self.form.view(self.room)


def unpacked(batch: Batch | Packed) -> Batch:
    """A batch as tensors."""
    return batch.unpacked() if isinstance(batch, Packed) else batch


def empty_room(form: Form, device: Any) -> Tensor:
    """Memory for a batch whose entries are zero."""
    return torch.zeros(form.n_bytes, dtype=torch.uint8, device=device)


def _tensors(batch: Batch) -> tuple[Tensor, ...]:
    weight = () if batch.weight is None else (batch.weight,)
    return (*batch.rows, *batch.target, *weight)
