"""Why a local classifier prefers one branch of a node to another, feature by feature.

A branch (*option* in code) is a child of the node, or the node itself for "stop here". In every
strategy, a branch is scored by a class of a local classifier. If the classifier is linear, the
score is a sum over the features, and so is the difference between the scores of two branches. These
terms are the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._estimators.global_ import GlobalClassifier
from hiclass._inference.batches import has_seen_both, known_options
from hiclass._inspect.models import OpenEstimator, fitted_state, open_estimator, strongest
from hiclass._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Feature:
    """One feature that contributed to a decision.

    Attributes
    ----------
    name : str
        Its name.
    value : float or None
        The value of the feature in the row; None for the importances of a forest.
    weight : float
        The weight for the chosen branch minus that for the other branch; for a forest, the
        importance.
    contribution : float or None
        Weight times value, which is the term in the difference of scores; None for a forest.
    """

    name: str
    value: float | None
    weight: float
    contribution: float | None


@dataclass(frozen=True)
class Reason:
    """The contribution of one local classifier to a step.

    Attributes
    ----------
    member : str
        The name of the model in an ensemble; empty for a single model.
    classifier : str
        The type of the local classifier; empty if there was nothing to decide.
    kind : {"linear", "forest", "other", "none"}
        What is available: contributions, global importances, nothing, or no decision.
    note : str
        The meaning of the numbers, in words.
    margin : float or None
        The difference of scores: the sum of all contributions and of the intercepts. Linear
        classifiers only.
    features : list of Feature
        The strongest features first.
    """

    member: str
    classifier: str
    kind: str
    note: str
    margin: float | None
    features: list[Feature]


@dataclass(frozen=True)
class Scorer:
    """The class of a local classifier that scores a branch.

    ``column`` is its number; None for a binary classifier per node, whose whole decision function
    is the score of class 1. A global model multiplies its columns by ``scale``.
    """

    estimator: OpenEstimator
    column: int | None
    scale: float = 1.0

    def line(self) -> tuple[FloatArray, float]:
        """Weights and intercept of the score."""
        weights, intercepts = self.estimator.weights, self.estimator.intercepts
        assert weights is not None
        if self.column is None:
            return weights[1] - weights[0], float(intercepts[1] - intercepts[0])
        return weights[self.column] / self.scale, float(intercepts[self.column]) / self.scale


class ReasonFinder:
    """Finds the reasons of one model with local classifiers for one row.

    Parameters
    ----------
    name : str
        The name of the model in an ensemble; empty for a single model.
    model : hierarchical classifier
        A fitted model with local classifiers.
    X : rows
        The single row.
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
        self.models, self.strategy = fitted_state(model)
        self._opened: dict[int, OpenEstimator] = {}

    def _open(self, owner: int, fitted: Any, n_classes: int) -> OpenEstimator:
        """Open a local classifier once, because widening its weights may be expensive."""
        if owner not in self._opened:
            self._opened[owner] = open_estimator(fitted, n_classes)
        return self._opened[owner]

    # -- which class scores a branch -----------------------------------------------------------

    def _scorers(self, above: int) -> dict[int, Scorer]:
        """What scores each branch of a node; empty if there is nothing to decide."""
        options = [*self.tree.children(above).tolist(), above]
        found = {option: self._scorer(above, option) for option in options}
        return {option: scorer for option, scorer in found.items() if scorer is not None}

    def _scorer(self, above: int, option: int) -> Scorer | None:
        number = ~option if option == above else option  # of gates and global columns
        if isinstance(self.model, GlobalClassifier):
            return self._global_scorers.get(number)
        if self.strategy.is_binary:
            fitted = (self.models.gates if number < 0 else self.models.classifiers).get(option)
            # A classifier that has seen only one of its classes is not queried.
            if fitted is None or not has_seen_both(self.models, number):
                return None
            return Scorer(self._open(number, fitted, 2), None)
        owner = 0 if self.strategy.is_direct else int(self.strategy.owner(self.tree, above))
        if owner not in self.models.classifiers:
            return None
        if self.strategy.is_direct and option != above:
            option = self._likeliest_final(option)
        classes = self.strategy.classes(owner, known_options(self.models), self.tree)
        place = np.flatnonzero(classes == option)
        estimator = self._open(owner, self.models.classifiers[owner], len(classes))
        return Scorer(estimator, int(place[0])) if len(place) else None

    @cached_property
    def _global_scorers(self) -> dict[int, Scorer]:
        """The columns of a global model, by the branches that they score."""
        scorers = {}
        for key, classes in self.model.local_classes_.items():
            estimator = open_estimator(self.model.local_classifiers_[key], len(classes))
            scales = self.model.column_scales_.tolist()
            for column, number in enumerate(classes.tolist()):
                scorers[number] = Scorer(estimator, column, scales[column])
        return scorers

    def _likeliest_final(self, node: int) -> int:
        """The final class that represents a branch of a flat model; -1 if there is none."""
        final = known_options(self.models).ends
        inside = np.flatnonzero((final >= node) & (final < self.tree.subtree_end[node]))
        return int(final[inside[np.argmax(self._final_scores[inside])]]) if len(inside) else -1

    @cached_property
    def _final_scores(self) -> FloatArray:
        """Probabilities of the final classes of a flat model, or its scores if it is linear."""
        final = known_options(self.models).ends
        if self.proba is not None:
            return self.proba[final] - [self.proba[self.tree.children(v)].sum() for v in final]
        estimator = self._open(0, self.models.classifiers[0], len(final))
        if estimator.weights is None:
            return np.zeros(len(final))
        return estimator.weights @ dense_row(estimator.transform(self.X)) + estimator.intercepts

    def final_classes(self) -> tuple[OpenEstimator | None, IntArray]:
        """The single classifier of a flat model, or None, and its final classes."""
        final = known_options(self.models).ends
        fitted = self.models.classifiers.get(0)
        return (None if fitted is None else self._open(0, fitted, len(final))), final

    # -- reasons -------------------------------------------------------------------------------

    def reason(self, above: int, chosen: int, rival: int | None) -> Reason:
        """Why the chosen branch was preferred to its rival."""
        scorers = self._scorers(above)
        if len(scorers) < 2 and not (self.strategy.is_binary and above in scorers):
            note = "nothing to decide: there is only one branch"
            return Reason(self.name, "", "none", note, None, [])
        if rival is None:
            rival = self._best_other(scorers, chosen)
        sides, note = self._sides(scorers, above, chosen, rival)
        estimator = sides[0][1].estimator
        classifier, names = type(estimator.model).__name__, estimator.names(self.names)
        margin, features = None, []
        if estimator.kind == "linear":
            weights, margin, x = self._score(sides)
            terms = weights * x
            features = [
                Feature(names[j], float(x[j]), float(weights[j]), float(terms[j]))
                for j in strongest(terms, self.top).tolist()
            ]
        elif estimator.importances is not None:
            note = "feature importances for the whole local decision, the same for every row"
            features = [
                Feature(names[j], None, float(estimator.importances[j]), None)
                for j in strongest(estimator.importances, self.top).tolist()
            ]
        else:
            note = "has neither weights nor feature importances"
        return Reason(self.name, classifier, estimator.kind, note, margin, features)

    def compare(
        self, above: int, chosen: int, rival: int
    ) -> tuple[FloatArray, OpenEstimator] | None:
        """The weights of the difference of scores of two branches; None if not linear.

        Parameters
        ----------
        above : int
            The node.
        chosen, rival : int
            Two of its branches.

        Returns
        -------
        weights : ndarray of shape (n_features,)
            Positive weights support the chosen branch.
        estimator : OpenEstimator
            The classifier with these features.
        """
        scorers = self._scorers(above)
        if chosen not in scorers and rival not in scorers:
            return None
        sides, _ = self._sides(scorers, above, chosen, rival)
        if any(scorer.estimator.kind != "linear" for _, scorer in sides):
            return None
        lines = [sign * scorer.line()[0] for sign, scorer in sides]
        weights: FloatArray = np.sum(lines, axis=0)
        return weights, sides[0][1].estimator

    def best_other(self, above: int, chosen: int) -> int | None:
        """The other branch with the highest linear score, for models without probabilities."""
        return self._best_other(self._scorers(above), chosen)

    def _best_other(self, scorers: dict[int, Scorer], chosen: int) -> int | None:
        scores = [
            (self._score([(1.0, scorer)])[1], -option)
            for option, scorer in scorers.items()
            if option != chosen and scorer.estimator.kind == "linear"
        ]
        return -max(scores)[1] if scores else None

    def _sides(
        self, scorers: dict[int, Scorer], above: int, chosen: int, rival: int | None
    ) -> tuple[list[tuple[float, Scorer]], str]:
        """The scores to compare, with their signs, and the name of the comparison."""
        scorer = scorers.get(chosen)
        other = None if rival is None else scorers.get(rival)
        if self.strategy.is_binary and chosen == above and scorer is not None:
            # The gate is a separate decision: stop here or continue?
            return [(1.0, scorer)], "against continuing"
        if self.strategy.is_binary and rival == above and other is not None:
            return [(-1.0, other)], "against stopping here"
        if scorer is None:  # an only child, or one without rows in this model
            return [(1.0, next(iter(scorers.values())))], "against its siblings"
        if rival is None or other is None or not _comparable(scorer.estimator, other.estimator):
            return [(1.0, scorer)], "against its siblings"
        name = "stopping here" if rival == above else str(self.tree.labels[rival])
        return [(1.0, scorer), (-1.0, other)], f"against {name}"

    def _score(self, sides: list[tuple[float, Scorer]]) -> tuple[FloatArray, float, FloatArray]:
        """Weights, value and features of a signed sum of scores."""
        x = dense_row(sides[0][1].estimator.transform(self.X))
        lines = [(sign, *scorer.line()) for sign, scorer in sides]
        weights = np.sum([sign * w for sign, w, _ in lines], axis=0)
        return weights, float(weights @ x + sum(sign * b for sign, _, b in lines)), x


def _comparable(a: OpenEstimator, b: OpenEstimator) -> bool:
    """Whether two classes are scored on the same features."""
    return a.model is b.model or (b.kind == "linear" and not a.before and not b.before)


def dense_row(X: Any) -> FloatArray:
    """The single row as an array of numbers."""
    if sp.issparse(X):
        return np.asarray(X.toarray(), dtype=np.float64).ravel()
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    return np.asarray(X, dtype=np.float64).ravel()
