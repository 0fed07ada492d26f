"""Why a model by words prefers a branch: its nearest text, and the words in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._inference.class_texts import as_array, as_vectors
from hiclass._inspect.reasons import Feature, Reason
from hiclass.hierarchy._texts import shorten


class WordsFinder:
    """Finds the reasons of a model by words for one row.

    Parameters
    ----------
    name : str
        The name of the model in an ensemble, or nothing.
    model : ClassTextClassifier
        The fitted model.
    X : rows
        The one row.
    top : int
        Number of words to show.
    """

    def __init__(self, name: str, model: Any, X: Any, top: int) -> None:
        self.name, self.top = name, top
        self.tree, self.models = model.hierarchy_, model._models
        self.texts = [text for several in self.tree.texts for text in several]
        self.vector = as_vectors(self.models, X)
        self.near = as_array(self.models.texts @ self.vector.T).ravel()
        self.names = None
        if hasattr(model.encoder_, "get_feature_names_out"):
            self.names = model.encoder_.get_feature_names_out()

    def reason(self, above: int, chosen: int, rival: int | None) -> Reason:
        """Why the chosen branch was preferred: the nearest text in it, and in its rival."""
        found = self._nearest(above, chosen)
        words = "words of classes"
        if found is None:
            return Reason(self.name, words, "none", "there are no texts here", None, [])
        note = f"nearest text: {self._shown(found)}"
        other = None if rival is None else self._nearest(above, rival)
        if other is not None:
            note = f"{note}; in the runner-up: {self._shown(other)}"
        return Reason(self.name, words, "words", note, None, self._shared(found))

    def best_other(self, node: int, chosen: int) -> int | None:
        """Probabilities tell the runner-up of a model by words."""
        return None

    def _nearest(self, above: int, branch: int) -> int | None:
        """The number of the most similar text at or below a branch; of a node itself at a stop."""
        end = branch + 1 if branch == above else self.tree.subtree_end[branch]
        here = np.flatnonzero((self.models.text_nodes >= branch) & (self.models.text_nodes < end))
        return int(here[self.near[here].argmax()]) if len(here) else None

    def _shown(self, text: int) -> str:
        return f"{shorten(self.texts[text])!r} ({self.near[text]:.2f})"

    def _shared(self, text: int) -> list[Feature]:
        """The words that the row and a text have in common, with their parts of the similarity."""
        if self.names is None:
            return []
        parts = as_array(self.vector).ravel() * as_array(self.models.texts[text]).ravel()
        order = np.argsort(-parts, kind="stable")[: self.top]
        return [
            Feature(str(self.names[j]).rpartition("__")[2], None, float(parts[j]), None)
            for j in order.tolist()
            if parts[j] > 0
        ]
