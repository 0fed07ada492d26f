"""How batches get to a device.

A thread prepares the next batch while the current one is learned. For a GPU, batches are copied
through reused pinned memory on a separate stream. Rows that fit into the memory of the GPU are
copied there once (:class:`DeviceRows`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle, pairwise
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
import torch

from hiclass._typing import IntArray
from hiclass.torch._batches import Batch, Rows
from hiclass.torch._cuda import streams_of
from hiclass.torch._network import as_tensors
from hiclass.torch._packed import Form, Packed

Tensor = Any
T = TypeVar("T")

#: The number of batches that are prepared ahead.
_AHEAD = 4
#: Rows stay on a device if they take at most this share of its free memory.
_MOST_OF_MEMORY = 0.4
#: They are scaled in pieces of this many bytes.
_PIECE = 1 << 28
#: The number of threads that copy them, and the bytes of a piece. Smaller pieces take longer: each
#: waits for Python's lock several times. More threads slow down the reading of labels.
_N_THREADS, _STAGED = 4, 1 << 24


def prefetched(batches: Iterable[Batch], device: Any) -> Generator[Batch | Packed, None, None]:
    """The same batches on a device, prepared while earlier ones are learned.

    They are read in a thread and, for a GPU, packed and sent in another one.
    """
    if device.type != "cuda":
        with closing(ahead(batches, _AHEAD)) as read:
            yield from (batch if device.type == "cpu" else batch.to(device) for batch in read)
        return
    lane = _CudaLane(device)  # pragma: no cover
    with closing(ahead(lane.sent(batches), _AHEAD)) as moved:  # pragma: no cover
        yield from map(lane.deliver, moved)


def ahead(
    items: Iterable[T], n: int, prepare: Callable[[T], T] = lambda item: item
) -> Generator[T, None, None]:
    """The same items; a thread prepares up to ``n`` of them ahead.

    The thread ends when the generator ends or is closed.
    """
    ready: SimpleQueue[Any] = SimpleQueue()
    # One entry per item that may be prepared; False to stop.
    wanted: SimpleQueue[bool] = SimpleQueue()

    rest = iter(items)  # not in the thread, where an error would block both sides

    def make() -> None:
        try:
            while wanted.get() and (item := next(rest, None)) is not None:
                ready.put(prepare(item))
            ready.put(None)
        except BaseException as error:
            ready.put(_Failure(error))
        finally:
            if isinstance(rest, Generator):
                rest.close()

    for _ in range(n):
        wanted.put(True)
    thread = Thread(target=make, name="hiclass batches")
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, _Failure):
                raise item.error
            wanted.put(True)
            yield item
    finally:
        wanted.put(False)
        thread.join()


@dataclass(frozen=True)
class _Failure:
    """An error in the thread that prepares batches."""

    error: BaseException


class _CudaLane:  # pragma: no cover (needs a GPU: benchmarks/gpu_smoke.py runs it)
    """Copies batches through pinned memory on a separate stream, in parallel with kernels."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._stream = streams_of(device).copying
        self._slots = cycle([_Slot() for _ in range(_AHEAD + 2)])

    def sent(self, batches: Iterable[Batch]) -> Generator[tuple[Packed, Any], None, None]:
        """Batches that are being copied; another thread reads them."""
        with closing(ahead(batches, _AHEAD, Batch.dense)) as read:
            yield from map(self._send, read)

    def _send(self, batch: Batch) -> tuple[Packed, Any]:
        slot = next(self._slots)
        form, pinned = slot.put(batch)
        with torch.cuda.stream(self._stream):
            room = pinned.to(self._device, non_blocking=True)
            slot.copied = self._stream.record_event()
        return Packed(form, room, batch.is_void), slot.copied

    def deliver(self, prepared: tuple[Packed, Any]) -> Packed:
        """A batch whose copy the current stream waits for."""
        moved, copied = prepared
        current = torch.cuda.current_stream(self._device)
        current.wait_event(copied)
        moved.room.record_stream(current)
        return moved


class _Slot:
    """Pinned memory for one batch, or for a piece of rows; ``spare`` more than needed at first."""

    def __init__(self, spare: float = 0.25) -> None:
        self._spare = spare
        self._memory = self._room = torch.empty(0, dtype=torch.uint8)
        self._array = self._room.numpy()
        self.copied: Any = None

    def room(self, n_bytes: int) -> Tensor:
        """``n_bytes`` of pinned memory, once its previous content has been copied."""
        if self.copied is not None:
            self.copied.synchronize()
        if len(self._array) != n_bytes:
            if len(self._memory) < n_bytes:
                # A little more than needed: batches of sparse rows differ in size.
                size = n_bytes + int(self._spare * n_bytes)
                self._memory = torch.empty(size, dtype=torch.uint8, pin_memory=True)
            self._room = self._memory[:n_bytes]
            self._array = self._room.numpy()
        return self._room

    def put(self, batch: Batch) -> tuple[Form, Tensor]:
        """A batch in pinned memory."""
        form = Form.of(batch)
        room = self.room(form.n_bytes)
        form.fill(self._array, batch)
        return form, room


# -- rows that stay on a device ----------------------------------------------------------------


def stay_on(
    rows: Rows, device: Any, scale: Callable[[Tensor], Tensor], ahead: Any = None
) -> Rows | DeviceRows:
    """Rows on the device if they fit into the free memory of a GPU; otherwise unchanged.

    ``scale`` scales dense rows for the network. ``ahead`` are dense rows that are already on the
    device.
    """
    if not rows.layout.is_compact or (ahead is None and not fits(rows.X, device)):
        return rows
    return DeviceRows(rows, device, scale, ahead)


def fits(X: Any, device: Any) -> bool:
    """Whether rows may stay on a device."""
    if device.type != "cuda":
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return _bytes_of(X) <= _MOST_OF_MEMORY * free


class Sending:
    """Copies dense rows to a GPU in the background, if they fit.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Rows.
    device : torch.device
        The target.
    """

    def __init__(self, X: Any, device: Any) -> None:
        self._there: Any = None
        self._parts: list[Any] = []
        self._pool = ThreadPoolExecutor(_N_THREADS, "hiclass rows")
        if not sp.issparse(X) and fits(X, device):
            rows = as_tensors(X)[0]
            self._there = torch.empty(rows.shape, device=device)
            copy = _Staging(device).copy if self._there.is_cuda else _copy
            n = _rows_per_piece(X, _STAGED)
            self._parts = [
                self._pool.submit(copy, rows[i : i + n], self._there[i : i + n])
                for i in range(0, len(rows), n)
            ]

    def __enter__(self) -> Sending:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self.take()

    def take(self) -> Tensor | None:
        """Wait for the rows and return them, once; None if they were not copied.

        Later work on the current stream of the caller waits for the copies.
        """
        there, self._there = self._there, None
        parts, self._parts = self._parts, []
        try:
            for part in parts:
                if not part.cancelled():
                    part.result()
        finally:
            if there is not None and there.is_cuda:  # pragma: no cover
                current = torch.cuda.current_stream(there.device)
                current.wait_stream(streams_of(there.device).copying)
        return there


def _copy(rows: Tensor, there: Tensor) -> None:
    there.copy_(rows)


class _Staging:  # pragma: no cover (needs a GPU: benchmarks/gpu_smoke.py runs it)
    """Copies rows through pinned memory on a separate stream.

    Several threads fill pinned memory while the GPU copies earlier pieces. It must be created in
    the thread that calls ``fit``: in other threads, the current stream is not that of the caller.
    """

    def __init__(self, device: Any) -> None:
        self._stream = streams_of(device).copying
        # Earlier work on the stream of the caller may still use the target memory.
        self._stream.wait_stream(torch.cuda.current_stream(device))
        self._slots: SimpleQueue[_Slot] = SimpleQueue()
        for _ in range(_N_THREADS + 2):
            self._slots.put(_Slot(spare=0.0))

    def copy(self, rows: Tensor, there: Tensor) -> None:
        """Copy a piece; after the call, its rows on the host are no longer needed."""
        slot = self._slots.get()
        try:
            staged = slot.room(4 * rows.numel()).view(torch.float32).view(rows.shape)
            np.copyto(staged.numpy(), rows.numpy())  # in this thread only, not in those of PyTorch
            with torch.cuda.stream(self._stream):
                there.copy_(staged, non_blocking=True)
                # After an error in another piece, nobody waits for this copy.
                there.record_stream(self._stream)
                slot.copied = self._stream.record_event()
        finally:
            self._slots.put(slot)  # also after an error: otherwise, other pieces wait forever


def _rows_per_piece(X: Any, n_bytes: int = _PIECE) -> int:
    return max(1, n_bytes // max(4 * X.shape[1], 1))


def _bytes_of(X: Any) -> int:
    if sp.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


class DeviceRows:
    """Training rows on a device, where batches are gathered.

    Parameters
    ----------
    rows : Rows
        Rows with one final class each.
    device : torch.device
        Where.
    scale : callable
        Scales dense rows for the network: once, not in every epoch.
    ahead : tensor, default=None
        Dense rows that are already there.
    """

    def __init__(
        self, rows: Rows, device: Any, scale: Callable[[Tensor], Tensor], ahead: Any = None
    ) -> None:
        self._n_rows = len(rows)
        self._device = device
        self._is_sparse = sp.issparse(rows.X)
        self._n_entries = np.diff(rows.X.indptr) if self._is_sparse else None
        if self._is_sparse:
            self._X = tuple(part.to(device) for part in as_tensors(rows.X))
        else:
            self._X = (_scaled(rows.X if ahead is None else ahead, device, scale),)
        target = rows.layout.compared(rows.target)
        self._target = tuple(torch.from_numpy(part).to(device) for part in target)
        self._weights = rows.weight
        self._weight = None if rows.weight is None else torch.from_numpy(rows.weight).to(device)

    def __len__(self) -> int:
        return self._n_rows

    def batches(self, order: IntArray, cuts: IntArray) -> Iterator[Batch]:
        """Batches of the rows of an order from each of some places to the next one."""
        index = torch.from_numpy(order).to(self._device)
        # Computed on the host: reading the number of entries from the device would wait for it.
        ends = None if self._n_entries is None else _running_sum(self._n_entries[order])
        for first, last in pairwise(cuts.tolist()):
            some = index[first:last]
            n_entries = 0 if ends is None else int(ends[last] - ends[first])
            weight = None if self._weight is None else self._weight[some]
            is_void = self._weights is not None and not self._weights[order[first:last]].any()
            target = tuple(part[some] for part in self._target)
            yield Batch(
                self._rows(some, n_entries),
                target,
                weight,
                last - first,
                is_void,
                is_scaled=not self._is_sparse,
            )

    def _rows(self, some: Tensor, n_entries: int) -> tuple[Tensor, ...]:
        if len(self._X) == 1:
            return (self._X[0][some],)
        indices, offsets, values = self._X
        start = offsets[some]
        length = offsets[some + 1] - start
        ends = torch.cat([length.new_zeros(1), length.cumsum(0)]).to(offsets.dtype)
        place = torch.arange(n_entries, device=self._device)
        place += torch.repeat_interleave(start - ends[:-1], length, output_size=n_entries)
        return indices[place], ends, values[place]


def _scaled(X: Any, device: Any, scale: Callable[[Tensor], Tensor]) -> Tensor:
    """Dense rows on a device, scaled for the network, in pieces to save memory."""
    n = _rows_per_piece(X)
    found = None
    for start in range(0, len(X), n):
        piece = X[start : start + n]
        piece = scale((as_tensors(piece)[0] if isinstance(piece, np.ndarray) else piece).to(device))
        if found is None:
            found = torch.empty((len(X), X.shape[1]), dtype=piece.dtype, device=device)
        found[start : start + n] = piece
    return found


def _running_sum(counts: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
