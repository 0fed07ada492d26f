"""The single estimator of a global model: its outputs as probabilities.

If rows are sets of nodes, the outputs are sufficient (:class:`NodeOutputs`). In a tree with one
path per row, they are converted to probabilities of final classes (:class:`FinalOutputs`): at every
node, the outputs of its branches are normalised. For estimators that average training rows,
including forests, this changes nothing, because the averages are already coherent.
"""

from __future__ import annotations

from typing import Any, ClassVar

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from hiclass._engine.class_weights import keep_columns
from hiclass._engine.local_classifiers import (
    copy_estimator,
    estimator_tags,
    may_name_classes,
    named_for_fit,
)
from hiclass._estimators.forest import forest_params
from hiclass._estimators.set_fitting import takes_sets
from hiclass._inference.sets import column_proba
from hiclass._problems.strategies import column_of
from hiclass._rows import n_rows_of
from hiclass._typing import FloatArray, IntArray


def has_classes(estimator: Any) -> bool:
    """Whether an estimator is a classifier; if this is unknown, whether it has probabilities."""
    tags = estimator_tags(estimator)
    if tags is None or tags.estimator_type is None:
        return hasattr(estimator, "predict_proba")
    return bool(tags.estimator_type == "classifier")


class NodeOutputs(ClassifierMixin, BaseEstimator):
    """A multi-output estimator as probabilities of nodes, which are independent.

    Parameters
    ----------
    estimator : estimator
        A regressor, or a classifier with ``predict_proba``. It is copied.
    level_weight : float
        The weight of a level beside the level above it.
    levels : ndarray of int
        The levels of the columns.
    by_rows : bool, default=False
        Whether the estimator is the default forest, whose parameters are chosen by the rows.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    varies_ : ndarray of bool
        The columns that it was fitted to: those that are not the same in all rows.
    constant_ : ndarray of float
        The values of the others.
    """

    #: Predictions are sets of classes.
    _sets: ClassVar[bool] = True

    def __init__(
        self, estimator: Any, level_weight: float, levels: IntArray, by_rows: bool = False
    ) -> None:
        self.estimator = estimator
        self.level_weight = level_weight
        self.levels = levels
        self.by_rows = by_rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def stands_for(self) -> Any:
        """The estimator that arguments of ``fit`` are for."""
        return self.estimator

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Any:
        """Fit a copy of the estimator to a matrix of 0 and 1; one column may be 1-D."""
        y = np.asarray(y).reshape(len(y), -1)
        self.varies_ = y.min(axis=0) != y.max(axis=0)
        self.constant_ = y[0].astype(np.float64)
        estimator = copy_estimator(self.estimator)
        if self.by_rows:
            estimator.set_params(**forest_params(X, y, estimator.n_estimators, sets=self._sets))
        target = y if self.varies_.all() else y[:, self.varies_]
        if has_classes(estimator):
            target = target.astype(np.intp)
        else:
            target = np.multiply(target, self.scales(), dtype=np.float64)
        tags = estimator_tags(estimator)
        if target.shape[1] == 1 and (tags is None or tags.target_tags.single_output):
            target = target[:, 0]
        if may_name_classes(estimator):
            keep_columns(estimator, np.flatnonzero(self.varies_).tolist(), single=target.ndim == 1)
        try:
            estimator.fit(X, target, **named_for_fit(estimator, fit_params))
        except (TypeError, ValueError) as error:
            if target.ndim == 2 and tags is not None and not takes_sets(estimator):
                error.add_note(_TAKES_ONE.format(type(estimator).__name__))
            raise
        self.estimator_ = estimator
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of a one in every column; for one column, of 0 and 1."""
        proba = self._query(X)
        return np.hstack([1 - proba, proba]) if proba.shape[1] == 1 else proba

    def _query(self, X: Any) -> FloatArray:
        """The probability of a one in every column."""
        k = int(self.varies_.sum())
        # Threads of a forest would sum its trees in any order, which changes the rounding.
        with joblib.parallel_config(backend="sequential"):
            if has_classes(self.estimator_):
                found = column_proba(self.estimator_, X, k)
            else:
                found = _predicted(self.estimator_, X, k) / self.scales()
        if k == len(self.varies_):
            return np.clip(found, 0.0, 1.0)
        proba = np.tile(self.constant_, (len(found), 1))
        proba[:, self.varies_] = np.clip(found, 0.0, 1.0)
        return proba

    def scales(self) -> FloatArray:
        """The factors of the columns: the square roots of their weights."""
        scale = float(self.level_weight) ** ((self.levels[self.varies_] - 1) / 2)
        # Never 0, because outputs are divided by it.
        return np.maximum(scale, np.sqrt(np.finfo(float).tiny))


class FinalOutputs(NodeOutputs):
    """A multi-output estimator as a classifier over the final classes of a tree.

    Parameters
    ----------
    estimator, level_weight, levels
        As in ``NodeOutputs``.
    source : ndarray of int
        The node from which each column starts, in ascending order.
    branches : ndarray of int
        The node that each column leads to; the complement of the source for "stop here".
    by_rows : bool, default=False
        As in ``NodeOutputs``.
    """

    _sets = False

    def __init__(
        self,
        estimator: Any,
        level_weight: float,
        levels: IntArray,
        source: IntArray,
        branches: IntArray,
        by_rows: bool = False,
    ) -> None:
        super().__init__(estimator, level_weight, levels, by_rows)
        self.source = source
        self.branches = branches

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every final class, in the order of their nodes."""
        proba = self._given_source(X)
        nodes = np.where(self.branches < 0, ~self.branches, self.branches)
        column = column_of(self.branches, int(nodes.max()) + 1)
        for level in range(2, int(self.levels.max()) + 1):
            here = np.flatnonzero(self.levels == level)
            proba[:, here] *= proba[:, column[self.source[here]]]
        ends = np.flatnonzero((self.branches < 0) | ~np.isin(nodes, self.source))
        return proba[:, ends[np.argsort(nodes[ends])]]

    def _given_source(self, X: Any) -> FloatArray:
        """The probability of every branch, given the node from which it starts."""
        found = self._query(X)
        starts = np.flatnonzero(np.diff(self.source, prepend=-1))
        counts = np.diff(starts, append=len(self.source))
        total = np.add.reduceat(found, starts, axis=1)
        # If no branch has any evidence, all are equally probable.
        lost = total == 0
        found += np.repeat(lost, counts, axis=1)
        total += lost * counts
        return found / np.repeat(total, counts, axis=1)


_TAKES_ONE = (
    "{0} does not support several outputs, but a global model has one output per class. Use a "
    "multi-output estimator, such as ExtraTreesRegressor(), or wrap it into MultiOutputRegressor "
    "or MultiOutputClassifier of sklearn.multioutput."
)


def _predicted(estimator: Any, X: Any, k: int) -> FloatArray:
    """The predictions of a regressor for k columns."""
    found = np.asarray(estimator.predict(X), dtype=np.float64)
    if found.ndim == 1 and k == 1:
        found = found[:, None]
    if found.shape != (n_rows_of(X), k):
        raise ValueError(
            f"{type(estimator).__name__}.predict returned an array of shape {found.shape}; "
            f"expected {(n_rows_of(X), k)}."
        )
    if not np.isfinite(found).all():
        raise ValueError(
            f"{type(estimator).__name__} returned NaN. Check X for extreme values, or use another "
            f"estimator."
        )
    return found
