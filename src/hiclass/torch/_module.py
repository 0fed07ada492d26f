"""The network of a fitted classifier as an ordinary module of PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from hiclass._inference.paths import unrestricted
from hiclass.torch._head import HierarchicalHead
from hiclass.torch._network import FittedNetwork, as_arrays

Tensor = Any


class HierarchicalNetwork(nn.Module):
    """A network for rows of features: an encoder, and a head with an output per branch or class.

    Parameters
    ----------
    encoder : torch.nn.Module
        Embedding and hidden layers; nothing for a linear model.
    head : HierarchicalHead
        The last layer, which has the loss and decides.
    """

    def __init__(self, encoder: nn.Module, head: HierarchicalHead) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs.

        Parameters
        ----------
        x : tensor of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        outputs : tensor of shape (n_rows, n_outputs)
            Scores, which the methods of ``head`` take.
        """
        return self.head(self.encoder(x))


def as_module(models: Any, *, multi_label: bool) -> HierarchicalNetwork:
    """The network of fitted models as a new module, with weights of its own."""
    network: FittedNetwork = unrestricted(models).classifiers[0]
    shape = network.shape
    weights = {name: torch.tensor(value) for name, value in as_arrays(network.weights).items()}
    # The first layer has a row per feature, the others have one per output.
    weights["0.weight"] = weights["0.weight"].T.contiguous()
    *inner, last = [_as_linear(weights, str(i)) for i in range(len(shape.widths) + 1)]
    layers: list[nn.Module] = []
    for i, layer in enumerate(inner):
        has_activation = i > 0 or not shape.embedding
        layers += [layer, nn.ReLU()] if has_activation else [layer]
    columns = None if network.first is None else (network.first, network.last)
    head = HierarchicalHead._from_parts(models, network.layout, columns, last)
    head.criterion.multi_label = multi_label
    device = network._on_device()[0]
    return HierarchicalNetwork(nn.Sequential(*layers), head).to(device).eval()


def _as_linear(weights: dict[str, Tensor], name: str) -> nn.Linear:
    weight, bias = weights[f"{name}.weight"], weights.get(f"{name}.bias")
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer
