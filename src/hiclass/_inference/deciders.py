"""Classifiers that decide where their probabilities are, such as a network on a GPU.

A model with one classifier for all classes is usually decoded from the probabilities that it
returns. A classifier whose probabilities are on a device registers a *decider* for its type. It
takes rows and returns nodes and confidences, so that probabilities never leave the device. Its
decisions are those of the functions in ``decodings`` and ``sets``, which are used for everything
that it does not support. It is registered with ``decider_for`` in ``paths``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from hiclass._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from hiclass._inference.candidates import Decision
    from hiclass._inference.decodings import Decoding, Wish


class PathDecider(Protocol):
    """Decides on paths."""

    def knows(self, decoding: Decoding) -> bool:
        """Whether it supports a decoding."""

    def decide(self, decoding: Decoding, X: Any, wish: Wish) -> Decision:
        """The decisions for a chunk of rows, before truncation."""

    def best_paths(self, X: Any, k: int) -> tuple[IntArray, FloatArray]:
        """The k most probable final classes and their probabilities; node 0 if there are fewer."""


class SetDecider(Protocol):
    """Decides on sets of nodes."""

    def sets(self, X: Any, thresholds: FloatArray) -> Any:
        """Closed sets for a chunk of rows: nodes that reach their thresholds."""

    def nodes(self, X: Any, thresholds: FloatArray) -> IntArray:
        """One most specific node for every row of a chunk."""
