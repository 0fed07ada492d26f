"""Several processes that train one network together, with ``torch.distributed``.

Every process learns its own rows of a step; their gradients are added, so that all have the same
weights at all times. A process group is the user's: hiclass neither starts nor ends one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

Tensor = Any


@dataclass(frozen=True)
class Team:
    """The processes that train together.

    Attributes
    ----------
    rank : int
        The number of this one, from 0.
    size : int
        How many there are.
    """

    rank: int = 0
    size: int = 1

    def add_up(self, *tensors: Tensor) -> None:
        """Replace tensors by their sums over all processes."""
        if self.size > 1:
            for tensor in tensors:
                torch.distributed.all_reduce(tensor)

    def share(self, what: Any) -> Any:
        """What the first process has, for all of them."""
        if self.size == 1:
            return what
        box = [what]
        torch.distributed.broadcast_object_list(box, src=0)
        return box[0]


#: A process that trains alone.
ALONE = Team()


def find_team(wanted: bool) -> Team:
    """The processes of the group that the user has started; one alone if it is not ``wanted``."""
    if not wanted:
        return ALONE
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        raise ValueError(
            "distributed=True needs a process group, and there is none in this process. Call "
            "torch.distributed.init_process_group first, for example in a script that torchrun "
            "starts, or set distributed=False."
        )
    return Team(torch.distributed.get_rank(), torch.distributed.get_world_size())
