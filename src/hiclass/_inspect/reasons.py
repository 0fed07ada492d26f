"""Why a local classifier prefers one way on from a node to another, feature by feature.

A *way* from a node is one of its children, or the node itself for "stop here". In every strategy
some class of some local classifier speaks for it. If that is linear, its score is a sum over the
features, and so is the difference between the scores of two ways: these terms are the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._estimators.flat import FlatClassifier
from hiclass._estimators.global_ import GlobalClassifier
from hiclass._estimators.local import LocalClassifierPerLevel, LocalClassifierPerNode
from hiclass._inspect.models import OpenEstimator, open_estimator, strongest
from hiclass._typing import FloatArray


@dataclass(frozen=True)
class Feature:
    """One feature that played a role in a decision.

    Attributes
    ----------
    name : str
        Its name.
    value : float or None
        Its value in the row; None for the importances of a forest.
    weight : float
        The weight for what was chosen, less that for what it is compared with; the importance of a
        forest.
    contribution : float or None
        Weight times value: what it adds to the difference of scores; None for a forest.
    """

    name: str
    value: float | None
    weight: float
    contribution: float | None


@dataclass(frozen=True)
class Reason:
    """What one local classifier says about a step.

    Attributes
    ----------
    member : str
        The name of the model in an ensemble; empty where there is one model only.
    classifier : str
        The type of the local classifier; empty where there was nothing to decide.
    kind : {"linear", "forest", "other", "none"}
        What can be shown: contributions, global importances, nothing, or nothing to decide.
    note : str
        What the numbers mean, in words.
    margin : float or None
        The difference of scores: the sum of all contributions and of the intercepts. Linear
        classifiers only.
    features : list of Feature
        The strongest ones first.
    """

    member: str
    classifier: str
    kind: str
    note: str
    margin: float | None
    features: list[Feature]


@dataclass(frozen=True)
class Voice:
    """The class of a local classifier that speaks for a way.

    ``own`` is its number; None for a binary classifier per node, where the whole decision function
    speaks for class 1. ``scale`` is what a global model multiplies its answers with.
    """

    child: OpenEstimator
    own: int | None
    scale: float = 1.0

    def line(self) -> tuple[FloatArray, float]:
        """Weights and intercept of its score."""
        weights, intercepts = self.child.weights, self.child.intercepts
        assert weights is not None
        assert intercepts is not None
        if self.own is None:
            return weights[1] - weights[0], float(intercepts[1] - intercepts[0])
        return weights[self.own] / self.scale, float(intercepts[self.own]) / self.scale


class Advocate:
    """Finds the reasons of one model with local classifiers for one row.

    Parameters
    ----------
    name : str
        The name of the model in an ensemble, or nothing.
    model : hierarchical classifier
        A model with ``local_classifiers_`` and ``local_classes_``.
    X : rows
        The one row.
    proba : ndarray of shape (n_nodes,) or None
        Probabilities of the nodes, for flat models.
    names : list of str or None
        Names of the features.
    top : int
        Number of features to show.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        X: Any,
        proba: FloatArray | None,
        names: list[str] | None,
        top: int,
    ) -> None:
        self.name, self.model, self.X, self.proba = name, model, X, proba
        self.names, self.top = names, top
        self.tree = model.hierarchy_
        self.classes = model.local_classes_
        self.is_flat = isinstance(model, FlatClassifier)
        self.is_global = isinstance(model, GlobalClassifier)
        self.by_level = isinstance(model, LocalClassifierPerLevel)
        self.by_node = isinstance(model, LocalClassifierPerNode)

    # -- who speaks for a way ------------------------------------------------------------------

    def voice(self, above: int, way: int) -> Voice | None:
        """The class that speaks for a way; None where there is nothing to decide."""
        if self.by_node:
            stop = way == above
            source = self.model.stop_classifiers_ if stop else self.model.local_classifiers_
            if (~way if stop else way) in self.model._models.one_sided:
                return None  # it has seen one class only, and is not asked
            key = self._key(way)
            return Voice(open_estimator(source[key], 2), None) if key in source else None
        if self.is_global:
            return self._column(above, way)
        key = self._level(above) if self.by_level else self._key(0 if self.is_flat else above)
        classes = self.classes.get(key)
        if classes is None:
            return None
        place = np.flatnonzero(classes == (self._ending(above, way) if self.is_flat else way))
        if not len(place):
            return None
        return Voice(
            open_estimator(self.model.local_classifiers_[key], len(classes)), int(place[0])
        )

    def _column(self, above: int, way: int) -> Voice | None:
        """The column of a global model that speaks for a way."""
        for key, classes in self.classes.items():
            columns = np.flatnonzero(classes == (~way if way == above else way))
            if len(columns):
                child = open_estimator(self.model.local_classifiers_[key], len(classes))
                scale = float(self.model.column_scales_[columns[0]])
                return Voice(child, int(columns[0]), scale)
        return None

    def _key(self, node: int) -> Any:
        return self.tree.labels[node] if self._named(node) else self.tree.path(node)

    def _named(self, node: int) -> bool:
        return bool(self.tree.identity == "label" and node)

    def _level(self, above: int) -> int:
        return int(self.tree.levels[above]) + 1

    def _ending(self, above: int, way: int) -> int:
        """The ending that stands for a way in a flat model: the likeliest one below it."""
        if way == above:
            return way
        (ends,) = self.classes.values()
        inside = np.flatnonzero((ends >= way) & (ends < self.tree.subtree_end[way]))
        if not len(inside):
            return -1
        return int(ends[inside[np.argmax(self._endings[inside])]])

    @cached_property
    def _endings(self) -> FloatArray:
        """Probabilities of the endings of a flat model, or its scores, where they are linear."""
        ((key, ends),) = self.classes.items()
        if self.proba is not None:
            below = [self.proba[self.tree.children(v)].sum() for v in ends.tolist()]
            return self.proba[ends] - below
        child = open_estimator(self.model.local_classifiers_[key], len(ends))
        if child.weights is None or child.intercepts is None:
            return np.zeros(len(ends))
        return child.weights @ _dense(child.transform(self.X)) + child.intercepts

    # -- reasons -------------------------------------------------------------------------------

    def reason(self, above: int, chosen: int, rival: int | None) -> Reason:
        """Why the chosen way was preferred to its rival."""
        voices = self._voices(above)
        if len(voices) < 2 and not (self.by_node and above in voices):
            return self._say("", "none", "nothing to decide: there is one way on only")
        if rival is None:
            rival = self.best_other(above, chosen)
        sides, note = self._sides(voices, above, chosen, rival)
        child = sides[0][1].child
        classifier = type(child.model).__name__
        if child.kind == "forest":
            note = "importances of the features in the whole decision, the same for every row"
            return self._say(classifier, "forest", note, None, self._important(child))
        if child.kind == "other":
            return self._say(classifier, "other", "shows neither weights nor importances")
        weights, margin, x = self._score(sides)
        terms = weights * x
        names = child.names(self.names)
        features = [
            Feature(names[j], float(x[j]), float(weights[j]), float(terms[j]))
            for j in strongest(terms, self.top).tolist()
        ]
        return self._say(classifier, "linear", note, margin, features)

    def _voices(self, above: int) -> dict[int, Voice]:
        """Who speaks for each way on from a node."""
        ways = [*self.tree.children(above).tolist(), above]
        found = {way: self.voice(above, way) for way in ways}
        return {way: voice for way, voice in found.items() if voice is not None}

    def best_other(self, above: int, chosen: int) -> int | None:
        """The other way with the highest linear score, for models without probabilities."""
        scores = [
            (self._score([(1.0, voice)])[1], -way)
            for way, voice in self._voices(above).items()
            if way != chosen and voice.child.kind == "linear"
        ]
        return -max(scores)[1] if scores else None

    def _sides(
        self, voices: dict[int, Voice], above: int, chosen: int, rival: int | None
    ) -> tuple[list[tuple[float, Voice]], str]:
        """The scores to compare, with their signs, and what the comparison is called."""
        voice = voices.get(chosen)
        other = None if rival is None else voices.get(rival)
        if self.by_node and chosen == above and voice is not None:
            # The gate is a question of its own: stop here, or go on?
            return [(1.0, voice)], "against going on"
        if self.by_node and rival == above and other is not None:
            return [(-1.0, other)], "against stopping here"
        if voice is None:  # an only child, or one that this model has no rows of
            return [(1.0, next(iter(voices.values())))], "against its siblings"
        if rival is None or other is None or not self._comparable(voice, other):
            return [(1.0, voice)], "against its siblings"
        name = "stopping here" if rival == above else str(self.tree.labels[rival])
        return [(1.0, voice), (-1.0, other)], f"against {name}"

    def _comparable(self, a: Voice, b: Voice) -> bool:
        """Whether two classes are scored on the same features."""
        if a.child.model is b.child.model:
            return True
        return b.child.kind == "linear" and not a.child.before and not b.child.before

    def _score(self, sides: list[tuple[float, Voice]]) -> tuple[FloatArray, float, FloatArray]:
        """Weights, value and features of a signed sum of scores."""
        x = _dense(sides[0][1].child.transform(self.X))
        lines = [(sign, *voice.line()) for sign, voice in sides]
        weights = np.sum([sign * w for sign, w, _ in lines], axis=0)
        return weights, float(weights @ x + sum(sign * b for sign, _, b in lines)), x

    def _important(self, child: OpenEstimator) -> list[Feature]:
        assert child.importances is not None
        names = child.names(self.names)
        return [
            Feature(names[j], None, float(child.importances[j]), None)
            for j in strongest(child.importances, self.top).tolist()
        ]

    def _say(
        self,
        classifier: str,
        kind: str,
        note: str,
        margin: float | None = None,
        features: list[Feature] | None = None,
    ) -> Reason:
        return Reason(self.name, classifier, kind, note, margin, features or [])


def _dense(X: Any) -> FloatArray:
    """The one row as an array of numbers."""
    if sp.issparse(X):
        return np.asarray(X.toarray(), dtype=np.float64).ravel()
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    return np.asarray(X, dtype=np.float64).ravel()
