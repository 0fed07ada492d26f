"""Adam with one divisor per output, for features that all have the same spread.

Adam divides the gradient of every weight by its usual size. That equalises features of different
scales, but where all features have the same scale it only gives those with little information
steps as large as the others: noise is learned sooner. Here all weights of an output share one
divisor, as in Adam-mini (Zhang et al., 2024), so that the gradient keeps its direction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

#: How slowly the means of gradients, and of their squares, change.
_SLOW, _SLOWER = 0.9, 0.999
_TINY = 1e-8


class OutputAdam(torch.optim.Optimizer):
    """Adam whose divisor is the same for all weights of a column.

    Nothing here waits for a device, and its memory is taken at the beginning: a step can be
    recorded. Gradients are overwritten.

    Parameters
    ----------
    groups : iterable of dict
        Parameters, ``params``, and their ``weight_decay``. A matrix has a column per output.
    lr : float or tensor
        The step size.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], lr: Any) -> None:
        super().__init__(groups, {"lr": lr, "weight_decay": 0.0})
        for group in self.param_groups:
            for weight in group["params"]:
                shape = (1, weight.shape[1]) if weight.dim() == 2 else weight.shape
                self.state[weight] = {
                    "n_steps": torch.zeros((), device=weight.device),
                    "mean": torch.zeros_like(weight, requires_grad=False),
                    "square": torch.zeros(shape, device=weight.device),
                }

    @torch.no_grad()
    def step(self) -> None:
        """Change all weights that have a gradient."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._step(weight, **self.state[weight], group=group)

    def _step(self, weight: Any, n_steps: Any, mean: Any, square: Any, group: Any) -> None:
        gradient = weight.grad
        if group["weight_decay"]:
            gradient.add_(weight, alpha=group["weight_decay"])
        n_steps += 1
        mean.lerp_(gradient, 1 - _SLOW)
        gradient.square_()
        own = gradient.mean(dim=0, keepdim=True) if weight.dim() == 2 else gradient
        square.lerp_(own, 1 - _SLOWER)
        # Both means begin with zeros, for which the last factors make up.
        size = (square / (1 - _SLOWER**n_steps)).sqrt_().add_(_TINY)
        weight.addcmul_(mean, group["lr"] / (size * (1 - _SLOW**n_steps)), value=-1)
