"""Predictions of fitted networks on their device: rows in, nodes and confidences out.

Rows go through the network in pieces that keep within a memory limit. Decisions stay on the device
until all rows of a call are done, so that the host waits for a GPU once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from hiclass._inference.candidates import Decision
from hiclass._inference.confidence import is_set
from hiclass._inference.decodings import Decoding, Wish
from hiclass._inference.paths import decider_for
from hiclass._typing import FloatArray, IntArray
from hiclass.torch._decisions import ON_DEVICE, PathDecisions, SetDecisions, closed_sets
from hiclass.torch._network import FittedNetwork, joined

Tensor = Any

#: On the CPU, NumPy computes expected F-scores of many rows in about two thirds of the time, up to
#: this many nodes; it needs more time for more nodes and for other decodings.
_MOST_NODES_ON_HOST = 20_000


class NetworkPaths:
    """Decides on paths; see ``_inference.deciders.PathDecider``."""

    def __init__(self, network: FittedNetwork, models: Any) -> None:
        columns = None if network.first is None else (network.first, network.last)
        device = network._on_device()[0]
        self._network = network
        self._on_cpu, self._n_nodes = device.type == "cpu", models.hierarchy.n_nodes
        layout: Any = network.layout
        self._decisions = PathDecisions(models, layout, columns, device)

    def _outputs(self, X: Any, decoding: Decoding | None = None) -> Iterator[Tensor]:
        n_bytes = self._decisions.bytes_per_row(decoding)
        return self._network.outputs(X, self._network.rows_at_once(n_bytes))

    def knows(self, decoding: Decoding) -> bool:
        """Whether it supports a decoding."""
        if decoding not in ON_DEVICE:
            return False
        is_small = self._n_nodes <= _MOST_NODES_ON_HOST
        return not (self._on_cpu and is_small and decoding.needs_f)

    def decide(self, decoding: Decoding, X: Any, wish: Wish) -> Decision:
        """The decision for a chunk of rows, before truncation."""
        with torch.inference_mode():
            pieces = self._outputs(X, decoding)
            first = slice(1 if wish.only_nodes and not is_set(wish.min_confidence) else None)
            found = (self._decisions.decide(decoding, z, wish) for z in pieces)
            parts = ((nodes, confidence[:, first]) for nodes, confidence in found)
            nodes, confidence = joined(parts, X.shape[0])
            return Decision(nodes.cpu().numpy(), _checked(confidence.cpu().numpy()))

    def best_paths(self, X: Any, k: int) -> tuple[IntArray, FloatArray]:
        """The k most probable final classes and their probabilities; node 0 if there are fewer."""
        with torch.inference_mode():
            parts = (self._decisions.best_paths(z, k) for z in self._outputs(X))
            nodes, proba = joined(parts, X.shape[0])
            missing = (0, k - nodes.shape[1])
            nodes, proba = (torch.nn.functional.pad(part, missing) for part in (nodes, proba))
            return nodes.cpu().numpy(), _checked(proba.cpu().numpy())


class NetworkSets:
    """Decides on sets of nodes; see ``_inference.deciders.SetDecider``."""

    def __init__(self, network: FittedNetwork, models: Any) -> None:
        self._n_nodes = models.hierarchy.n_nodes
        self._network = network
        layout: Any = network.layout
        self._decisions = SetDecisions(models, layout, network._on_device()[0])
        self._n_rows = network.rows_at_once(self._decisions.bytes_per_row)

    def sets(self, X: Any, thresholds: FloatArray) -> Any:
        """Closed sets for a chunk of rows: nodes that reach their thresholds."""
        n = n_pairs = 0
        found = torch.empty((2, 0), dtype=torch.int64)
        with torch.inference_mode():
            for z in self._network.outputs(X, self._n_rows):
                row, node = self._decisions.sets(z, thresholds)
                first, n_pairs = n_pairs, n_pairs + len(row)
                if n_pairs > found.shape[1]:  # seldom, for the reason that `joined` has
                    longer = row.new_empty((2, 2 * n_pairs))
                    longer[:, :first] = found[:, :first]
                    found = longer
                found[0, first:n_pairs], found[1, first:n_pairs] = row + n, node
                n += len(z)
            return closed_sets(found[:, :n_pairs], n, self._n_nodes)

    def nodes(self, X: Any, thresholds: FloatArray) -> IntArray:
        """One most specific node for every row of a chunk."""
        with torch.inference_mode():
            pieces = self._network.outputs(X, self._n_rows)
            parts = ((self._decisions.nodes(z, thresholds),) for z in pieces)
            (found,) = joined(parts, X.shape[0])
            return np.asarray(found.cpu().numpy())


def _checked(proba: FloatArray) -> FloatArray:
    """Check that the probabilities along paths, of which there is at least one, are not NaN."""
    if np.isnan(proba[:, :1]).any():
        raise ValueError(
            "The network returned a probability of NaN. Check X for extreme values, or train with "
            "a smaller learning_rate."
        )
    return proba


@decider_for.register
def _of_network(classifier: FittedNetwork, models: Any) -> NetworkPaths | NetworkSets:
    return classifier.kept(models, NetworkSets if models.of_sets else NetworkPaths)
