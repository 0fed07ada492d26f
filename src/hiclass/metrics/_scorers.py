"""Scorers: metrics in the form that ``GridSearchCV`` and ``cross_validate`` accept.

Unlike ``sklearn.metrics.make_scorer(f1)``, they compare the labels in the hierarchy of the
estimator if it was given one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from hiclass._wrapping import unwrap, unwrap_fitted
from hiclass.metrics._areas import average_precision
from hiclass.metrics._cafa import f_max
from hiclass.metrics._paths import exact_match
from hiclass.metrics._ranking import coverage_error, ranking_loss
from hiclass.metrics._sets import f1, jaccard, precision, recall


class _Scorer:
    """Scorer for the metric of the same name, computed from predictions; larger is better.

    Pass it as ``scoring`` to ``GridSearchCV``, ``cross_validate`` and similar tools. If the
    estimator was given a hierarchy, labels are compared in that hierarchy.

    Parameters
    ----------
    estimator : estimator
        A fitted model, or a pipeline or search that ends in one.
    X : array-like
        Rows to predict.
    y : array-like
        True labels, in any form that ``fit`` accepts.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from hiclass import HierarchicalKFold, LocalClassifierPerParentNode
    >>> from hiclass.metrics import exact_match_scorer
    >>> X = [[0.0], [1.0], [9.0], [0.1], [1.1], [9.1]]
    >>> y = [["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Oak"]] * 2
    >>> model = LocalClassifierPerParentNode()
    >>> cv = HierarchicalKFold(n_splits=2)
    >>> cross_val_score(model, X, y, scoring=exact_match_scorer, cv=cv).shape
    (2,)
    """

    def __init__(self, metric: Callable[..., Any]) -> None:
        self.metric = metric
        self._weight_request: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score the predictions for ``X`` against ``y``."""
        y_pred, options = estimator.predict(X), _set_options(estimator)
        if options is None:
            options = {"hierarchy": given_hierarchy(estimator)}
        return float(self.metric(y, y_pred, **options, sample_weight=sample_weight))

    def set_score_request(self, *, sample_weight: bool | str | None = None) -> _Scorer:
        """Return a copy that requests weights where scikit-learn's metadata routing is enabled.

        Parameters
        ----------
        sample_weight : bool, str or None, default=None
            Whether to pass ``sample_weight`` on; a str is the name under which it is given.

        Returns
        -------
        scorer
        """
        other = copy.copy(self)
        other._weight_request = sample_weight
        return other

    def get_metadata_routing(self) -> Any:
        """Return the metadata requests of the scorer."""
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="sample_weight", alias=self._weight_request)
        return request

    def __repr__(self) -> str:
        return f"{self.metric.__name__}_scorer"


class _ProbabilityScorer(_Scorer):
    """Scorer for the metric of the same name, computed from node probabilities; larger is better.

    Pass it as ``scoring`` to ``GridSearchCV``, ``cross_validate`` and similar tools. Losses are
    negated. Every true label must be in the fitted hierarchy. If a fold may lack classes, pass the
    hierarchy to the estimator.

    Parameters
    ----------
    estimator : estimator
        A fitted model with ``predict_node_proba``, or a pipeline or search that ends in one.
    X : array-like
        Rows to predict.
    y : array-like
        True labels, in any form that ``fit`` accepts.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Examples
    --------
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from hiclass import LocalClassifierPerParentNode
    >>> from hiclass.metrics import average_precision_scorer
    >>> X = [[0.0], [1.0], [9.0], [0.1], [1.1], [9.1]]
    >>> y = [["cat"], ["cat", "oak"], ["oak"]] * 2
    >>> tree = {"animal": ["cat"], "plant": ["oak"]}
    >>> model = LocalClassifierPerParentNode(hierarchy=tree, multi_label=True)
    >>> cross_val_score(model, X, y, scoring=average_precision_scorer, cv=KFold(2)).shape
    (2,)
    """

    def __init__(self, metric: Callable[..., Any], sign: float = 1.0) -> None:
        super().__init__(metric)
        self.sign = sign

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score the node probabilities for ``X`` against ``y``."""
        found = unwrap_fitted(estimator)
        proba = found.model.predict_node_proba(found.transform(X))
        score = self.metric(
            y,
            proba,
            hierarchy=found.model.hierarchy_,
            multi_label=_set_options(estimator) is not None,
            sample_weight=sample_weight,
        )
        return self.sign * float(score)


def refuse_sets(estimator: Any, name: str) -> None:
    """Reject models that predict several labels per row, for displays and metrics of paths."""
    if _set_options(estimator) is not None:
        raise ValueError(
            f"{name} compares one path per row, but this {type(estimator).__name__} predicts "
            f"several labels per row. Use precision, recall or f1 with multi_label=True."
        )


def _set_options(estimator: Any) -> dict[str, Any] | None:
    """Arguments for a metric that compares sets; None if the estimator predicts one label."""
    options: dict[str, Any] | None
    options = getattr(unwrap(estimator).model, "_set_options", lambda: None)()
    return options


def given_hierarchy(estimator: Any) -> Any:
    """The hierarchy that was passed to a fitted estimator; None if it was read from the labels."""
    estimator = unwrap(estimator).model
    hierarchy = getattr(estimator, "hierarchy_", None)
    given = getattr(estimator, "hierarchy", None) is not None
    # A hierarchy read from the training rows may lack labels of the rows to be scored.
    return hierarchy if given or getattr(hierarchy, "identity", "path") == "label" else None


f1_scorer = _Scorer(f1)
precision_scorer = _Scorer(precision)
recall_scorer = _Scorer(recall)
exact_match_scorer = _Scorer(exact_match)
jaccard_scorer = _Scorer(jaccard)
average_precision_scorer = _ProbabilityScorer(average_precision)
f_max_scorer = _ProbabilityScorer(f_max)
coverage_error_scorer = _ProbabilityScorer(coverage_error, -1.0)
ranking_loss_scorer = _ProbabilityScorer(ranking_loss, -1.0)
