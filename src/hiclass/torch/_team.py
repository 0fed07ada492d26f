"""Several processes that train one network together, with ``torch.distributed``.

Every process learns its own rows of a step. Gradients are summed, so that all processes have the
same weights. The user creates the process group: hiclass neither starts nor ends one.
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
        """The value of the first process, for all of them."""
        if self.size == 1:
            return what
        box = [what]
        torch.distributed.broadcast_object_list(box, src=0)
        return box[0]


#: A process that trains alone.
ALONE = Team()


def find_team(wanted: bool) -> Team:
    """The processes of the group that the user has started; only this one unless ``wanted``."""
    if not wanted:
        return ALONE
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        raise ValueError(
            "distributed=True needs a process group, but this process has none. Call "
            "torch.distributed.init_process_group first, for example in a script started by "
            "torchrun, or set distributed=False."
        )
    return Team(torch.distributed.get_rank(), torch.distributed.get_world_size())
