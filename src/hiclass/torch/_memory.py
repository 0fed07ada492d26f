"""Errors about memory: what does not fit, and a remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

#: In the messages of PyTorch about the memory of a CPU; the second one is that of Windows.
_ON_CPU = ("allocate memory", "not enough memory")


@contextmanager
def explaining_lack_of_memory(advice: Callable[[], tuple[str, str]]) -> Iterator[None]:
    """Replace errors about memory by one with advice.

    ``advice`` returns two sentences, what does not fit and a remedy, the first one without a
    period.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not _is_lack_of_memory(error):
            raise
        what, remedy = advice()
        reason = (str(error).splitlines() or ["out of memory"])[0]
        raise MemoryError(f"{what} ({reason}). {remedy}") from error


def _is_lack_of_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return any(words in str(error) for words in _ON_CPU)
