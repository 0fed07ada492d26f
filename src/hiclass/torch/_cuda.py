"""The streams of a GPU that the network uses in addition to that of the caller.

PyTorch has 32 streams and returns them in turn. A copy on the stream on which a step is recorded
would become part of the recording, so both streams are created together, once.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

import torch

#: One step is recorded at a time.
RECORDING = Lock()


class Streams(NamedTuple):
    """Two different streams of a GPU."""

    copying: Any
    recording: Any


def streams_of(device: Any) -> Streams:  # pragma: no cover (benchmarks/gpu_smoke.py runs it)
    """The streams of a device, the same in every call."""
    return _streams_of(torch.cuda.current_device() if device.index is None else device.index)


@lru_cache
def _streams_of(index: int) -> Streams:  # pragma: no cover
    return Streams(torch.cuda.Stream(index), torch.cuda.Stream(index))
