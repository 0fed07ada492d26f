"""``HierarchicalClassifier``: the recommended starting point, which chooses among the others.

``fit`` computes features (:mod:`~hiclass._automatic.preparation`), chooses models, out of fold if
this is worthwhile (:mod:`~hiclass._automatic.choice`, and for sets of classes
:mod:`~hiclass._automatic.set_choice`), and fits them on all rows. The result is ``model_``, an
estimator like any other.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array

from hiclass._automatic.batches import batch_model, check_learns_more, learns_batches
from hiclass._automatic.cells import split_columns
from hiclass._automatic.choice import choose, effort_of
from hiclass._automatic.hints import hint_at_labels, hint_at_paths
from hiclass._automatic.objectives import (
    OBJECTIVES,
    check_optimize,
    check_scorer,
    find_objective,
    is_named,
    set_measure,
)
from hiclass._automatic.preparation import fit_features, scale_features, table_features, try_codes
from hiclass._automatic.proposals import EFFORTS, USUAL_F
from hiclass._automatic.selection import Rows, fit_candidate, with_state
from hiclass._automatic.set_choice import fit_sets
from hiclass._automatic.words import fit_words, has_words
from hiclass._compat import Interval, StrOptions, check_is_fitted, offered_if
from hiclass._encoders.encoding import check_texts
from hiclass._engine.local_classifiers import Prototype
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.fitting import encode_labels, fitting, local_prototype
from hiclass._out_of_fold.folds import deal_paths
from hiclass._out_of_fold.temperatures import mean_one
from hiclass._rows import check_weights, n_rows_of, take_rows
from hiclass._targets.paths import check_n_labels
from hiclass.model_selection import read_groups

#: Warnings of the chosen classifiers, which a user cannot avoid.
_NOT_FOR_USERS = (
    "The number of unique classes",
    "lbfgs failed to converge",
    "Liblinear failed",
    "The estimator .* does not support callbacks",
)


class HierarchicalClassifier(BaseHierarchicalClassifier):
    """Automatic hierarchical classifier, the recommended starting point.

    It computes features from texts, tables or matrices, chooses a model and calibrates it. The kind
    of the features and the size of the task determine the candidates: flat models, local models and
    their products. The candidate with the best score on held-out rows is fitted on all rows.
    ``choices_`` explains the choice.

    Parameters
    ----------
    local_classifier : estimator, ByDepth or callable, default=None
        The classifier to use instead of the automatic candidates, in flat models, per parent node,
        or both.
    optimize : {"path", "f1", "average_precision"} or scorer, default=None
        The objective.

        * "path": exact match. Paths are complete unless training rows end early.
        * "f1": the hierarchical F-score. A path stops early if the next label is more likely wrong
          than correct. For sets of classes, the best micro-averaged F1 over all thresholds.
        * "average_precision", for sets of classes only: the micro-averaged area under the
          precision-recall curve.
        * A scorer, ``scorer(estimator, X, y)`` with features as X, or, for single labels, the name
          of a scorer of scikit-learn. It decides between models and decodings.

        By default, "path" for one path per row and "average_precision" for sets of classes.
    effort : {"quick", "balanced", "best"}, default="balanced"
        The effort of the comparison.

        * "quick": one model by fixed rules, without a comparison.
        * "balanced": compares a few models on a third of the rows.
        * "best": compares more and larger models on three folds, at three times the cost of
          "balanced" or more.

        For sets of classes in dense rows, a forest, a kernel ridge regression and, if PyTorch is
        installed, a network are combined with learned weights. "quick" uses the mean of the first
        two, and tunes the regression by its leave-one-out predictions; "best" trains three
        networks. In sparse rows, the regression and a logistic regression per node are combined;
        "quick" uses the regression for up to 6,000 rows, and otherwise the logistic regression.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of classes. By default, it is read from ``y``.
    multi_label : bool, default=False
        Whether a row may have several labels.
    threshold : float, str or tuple, default=None
        For sets of classes, the smallest probability of a predicted class, or any other form that
        :class:`~hiclass.FlatClassifier` accepts, such as "tuned" and ("top", 3). By default,
        "tuned", and 0.5 with ``effort="quick"``. It is read by ``predict``; learned forms can be
        set after ``fit`` if ``thresholds_`` is set.
    min_confidence : float, sequence of float or mapping, default=0.0
        Stops a path before its first node with a lower probability. A sequence holds one value per
        level. A mapping has classes (paths or labels) as keys, and one value, or one value per
        level, for each. An entry applies to a class and its descendants, unless they have their own
        entry.
    class_texts : mapping, Series, frame, Hierarchy or "labels", default=None
        Texts of classes, in any form that :meth:`Hierarchy.with_texts` accepts; X must be texts. A
        ``hierarchy`` with texts has the same effect. Classes without rows can then be predicted,
        and ``fit(None, None)`` works without any rows. See ``EnsembleClassifier``.
    n_jobs : int, default=None
        Number of parallel jobs for fitting local classifiers and for predicting chunks of rows,
        with the same meaning as in joblib.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness. With an integer, the same rows give the same model.
    verbose : int, default=0
        1 shows progress bars on stderr.

    Attributes
    ----------
    model_ : estimator
        The chosen and fitted model, a hierarchical classifier of this library. It takes features,
        not the X of this estimator.
    choices_ : dict of str
        The choices and their reasons in words, by subject. "left out" names columns without
        features.
    scores_ : dict of float
        The out-of-fold score of every candidate. Empty if nothing was compared. Temperatures and
        weights are learned from the same rows, so that these scores are slightly too high.
    features_ : TableFeatures or None
        The transformer that computes features from X. None with ``class_texts``, which uses raw
        texts.
    scaler_ : StandardScaler or None
        The scaler of dense features.
    expected_f1_ : float
        The out-of-fold hierarchical F-score of ``optimize="f1"``, or 0.8 if it was not measured.
        Not set for sets of classes.
    hierarchy_ : Hierarchy
        The hierarchy of classes.
    classes_ : ndarray, or list of ndarray
        The labels. For paths, one array per level.
    missing_label_ : object
        The value of a missing label in predictions.
    thresholds_ : ndarray of shape (n_nodes,)
        The threshold with the best F1 for every node. Only set for sets of classes; with
        ``effort="quick"`` only if ``threshold`` is learned.
    threshold_curve_ : ndarray of shape (n_points, 3)
        Out-of-fold results of common thresholds. The columns are the threshold, the share of the
        true classes that are predicted, and the number of predicted classes per true class. Set
        together with ``thresholds_``.
    n_features_in_ : int
        The number of columns of X. Not set for texts.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has column names.

    See Also
    --------
    LocalClassifierPerParentNode : One multi-class classifier per parent node.
    EnsembleClassifier : Several models as one.
    TableFeatures : The features of tables and texts.

    Notes
    -----
    The choice of candidates depends on the size of the task, not on measured times. The cost of a
    model is estimated as rows times classes times features per row. A flat classifier is omitted if
    it costs more than ten times as much as all local classifiers together.

    Examples
    --------
    >>> from hiclass import HierarchicalClassifier
    >>> X = [
    ...     "my card was charged twice",
    ...     "the card was stolen",
    ...     "the car loan is too high",
    ...     "a loan for my house",
    ...     "card lost in the post",
    ...     "house loan refused",
    ... ]
    >>> y = [
    ...     ["Card", "Charge"],
    ...     ["Card", "Theft"],
    ...     ["Loan", "Car"],
    ...     ["Loan", "House"],
    ...     ["Card", "Theft"],
    ...     ["Loan", "House"],
    ... ]
    >>> model = HierarchicalClassifier(random_state=0).fit(X, y)
    >>> model.predict(["somebody stole the card"]).tolist()
    [['Card', 'Theft']]
    >>> model.choices_["model"]
    'local: a LinearSVC per parent node'
    """

    features_: Any
    scaler_: Any
    choices_: dict[str, str]
    scores_: dict[str, float]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHierarchicalClassifier._parameter_constraints,
        "local_classifier": "no_validation",
        "optimize": [str, callable, None],
        "effort": [StrOptions(set(EFFORTS))],
        "hierarchy": "no_validation",
        "multi_label": ["boolean"],
        "threshold": [*BaseHierarchicalClassifier._parameter_constraints["threshold"], None],
        "class_texts": "no_validation",
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _private: ClassVar[tuple[str, ...]] = (
        *BaseHierarchicalClassifier._private,
        "_measured",
    )
    _decision_parameters: ClassVar[tuple[str, ...]] = (
        *BaseHierarchicalClassifier._decision_parameters,
        "optimize",
    )
    _how_to_get_proba: ClassVar[str] = (
        "Use effort='balanced', which needs only decision_function, or another local classifier."
    )
    #: Groups are requested by default, as in scikit-learn's group splitters.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}

    def __init__(
        self,
        local_classifier: Any = None,
        *,
        optimize: Any = None,
        effort: str = "balanced",
        hierarchy: Any = None,
        multi_label: bool = False,
        threshold: Any = None,
        min_confidence: Any = 0.0,
        class_texts: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.local_classifier = local_classifier
        self.optimize = optimize
        self.effort = effort
        self.hierarchy = hierarchy
        self.multi_label = multi_label
        self.threshold = threshold
        self.min_confidence = min_confidence
        self.class_texts = class_texts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def decoding(self) -> str:
        """How paths are chosen, as determined by ``optimize`` and the chosen model."""
        measured = self.__dict__.get("_measured", "best_path")
        if measured == "top_down" or not is_named(self.optimize):
            return str(measured)
        return OBJECTIVES[self.optimize].decodings[0]

    @property
    def _threshold(self) -> Any:
        """The selection of classes; by default, that of the chosen model."""
        if self.threshold is not None:
            return self.threshold
        return getattr(self.__dict__.get("model_"), "threshold", 0.5)

    @property
    def _given(self) -> Prototype | None:
        """The given classifier, if any."""
        return None if self.local_classifier is None else local_prototype(self)

    # -- fit -------------------------------------------------------------------------------------

    def fit(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, groups: Any = None
    ) -> Any:
        """Compute features, choose a model and fit it.

        Parameters
        ----------
        X : table, list of texts, array or sparse matrix
            The rows: a pandas, polars or pyarrow frame, a list of dicts, texts, or a numeric
            matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_levels), frame or list of lists
            One label per row, or one path per row from level 1 down. Labels at the end of a path
            may be missing: ``""``, ``None``, ``NaN``, ``pandas.NA`` or a shorter list. With
            ``multi_label=True``, lists of labels or an indicator matrix.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows with weight 0 are used for the features only. Where models are
            compared or tuned, only the ratios of the weights matter.
        groups : array-like of shape (n_samples,), default=None
            The group of every row, such as a patient or a recording. Whole groups are held out,
            which requires at least three groups.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with fitting(self, X, y), warnings.catch_warnings():
            for message in _NOT_FOR_USERS if self.local_classifier is None else ():
                warnings.filterwarnings("ignore", message=message)
            self._check_parameters()
            hint_at_labels(X, y)
            wanted = None if self._is_about_sets() else self.optimize
            objective = find_objective(wanted, self.effort)
            if has_words(self.class_texts, self.hierarchy, X):
                fit_words(self, X, y, objective, sample_weight, groups)
                return self
            features = fit_features(self, X)
            sample_weight = check_weights(sample_weight, features)
            target = encode_labels(self, y)
            check_n_labels(target.n_rows, n_rows_of(features))
            unit = None if groups is None else read_groups(groups, target.n_rows)
            # Sets of classes have no fixed form of rows, and their scorers are rejected elsewhere.
            of_paths, weighted = getattr(target.format, "ndim", 1) == 2, sample_weight is not None
            if not (of_paths or target.of_sets or self.hierarchy is not None):
                hint_at_paths(target.hierarchy)
            check_scorer(self.optimize, objective, of_paths=of_paths, weighted=weighted)
            if sample_weight is not None and not sample_weight.all():
                # A class with only such rows would have nothing to learn from.
                kept = np.flatnonzero(sample_weight)
                X, features, y, sample_weight, groups = (
                    None if part is None else take_rows(part, kept)
                    for part in (X, features, y, sample_weight, groups)
                )
                target = encode_labels(self, y)
                unit = None if groups is None else read_groups(groups, target.n_rows)
            effort = effort_of(self, target.n_rows, unit)
            fit_params = {} if sample_weight is None else {"sample_weight": sample_weight}
            if target.of_sets:
                fit_sets(self, X, features, y, target, effort, fit_params, groups)
                return self
            if fit_params and effort.n_folds and self.local_classifier is None:
                # The candidate strengths assume weights of about one.
                fit_params["sample_weight"] = mean_one(sample_weight)
            if groups is not None and self.local_classifier is not None:
                fit_params["groups"] = groups
            fold = np.full(target.n_rows, -1)
            if effort.n_folds:
                fold = deal_paths(target.nodes, target.hierarchy, unit)
                features = try_codes(self, X, features, target.nodes, fold, sample_weight)
            features = scale_features(self, features)
            rows = Rows(features, y, target.nodes, target.hierarchy, fold, fit_params, unit)
            candidate = choose(self, rows, effort, objective)
            model = fit_candidate(candidate, rows, self)
            self._adopt(model, candidate.decoding)
            self.expected_f1_ = model.expected_f1
        return self

    def _check_decision_parameters(self) -> None:
        super()._check_decision_parameters()
        if self._is_about_sets():
            set_measure(self.optimize)
            return
        check_optimize(self.optimize)

    def _check_rows(self, X: Any) -> Any:
        self._check_fitted()
        if self.features_ is None:
            return check_texts(X)
        features = self.features_.transform(X)
        if not self.features_.scale:  # for batches, in which nothing is imputed
            features = check_array(features, accept_sparse="csr", estimator=self, input_name="X")
        return features if self.scaler_ is None else self.scaler_.transform(features)

    def _adopt(self, model: Any, decoding: str) -> None:
        """Adopt the predictions of a fitted model."""
        self.model_ = model
        self._measured = decoding
        self._n_own = vars(model).get("_n_own")
        self._remember(model._models, model._format)
        if "thresholds_" in vars(model):
            self.thresholds_ = model.thresholds_
            self.threshold_curve_ = model.threshold_curve_

    # -- batches -------------------------------------------------------------------------------

    @offered_if(learns_batches)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Update the model with one batch of rows. Requires a ``local_classifier``.

        The model is an uncalibrated ``LocalClassifierPerParentNode``; nothing is compared, whatever
        the ``effort``. X must be a numeric matrix and is used without preprocessing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like
            Their labels.
        classes : array-like of labels or paths, or Hierarchy, default=None
            All classes that will ever occur, for the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The updated estimator.

        Raises
        ------
        ValueError
            If X is a table or texts, or if ``fit`` chose a model without ``partial_fit``.
        """
        self._check_parameters()
        fresh = "model_" not in vars(self)
        if not fresh:
            check_learns_more(self)
        elif split_columns(X) is not None:
            raise ValueError(
                "Batches must be matrices of numbers, because the features of columns and texts "
                "are learned from all rows. Compute features first, for example with "
                "HashingVectorizer."
            )
        features = table_features(scale=False) if fresh else self.features_
        numbers = features.fit_transform(X) if fresh else self._check_rows(X)
        model = batch_model(self) if fresh else self.model_
        model.partial_fit(numbers, y, classes=classes, sample_weight=sample_weight)
        if fresh:
            self.features_, self.scaler_, self.scores_ = features, None, {}
            self.n_features_in_ = features.n_features_in_
            self.choices_ = {"model": "local: one classifier per parent node, learned in batches"}
            model.set_params(threshold=0.5)  # the default, whatever was requested
        self._adopt(model, "best_path" if model._models.has_proba else "top_down")
        self.expected_f1_ = USUAL_F
        return self

    # -- what was chosen -------------------------------------------------------------------------

    def _opened(self) -> tuple[list[Any], Any]:
        """The transformers of X, and the model after them, with the decisions of this estimator."""
        check_is_fitted(self)
        model = with_state(self.model_, self._models)
        wanted: dict[str, Any] = {"min_confidence": self.min_confidence}
        if not self._is_about_sets():
            wanted |= {"decoding": self.decoding, "expected_f1": self._f_to_expect()}
        else:
            wanted |= {"threshold": self._threshold}
        model.set_params(**wanted)
        steps = [step for step in (self.features_, self.scaler_) if step is not None]
        return steps, model

    def _promises_proba(self) -> bool:
        return self._given is None or self._given.promises_proba(self.effort != "quick")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803  # as in scikit-learn
        text = super().__repr__(N_CHAR_MAX=N_CHAR_MAX)
        chosen = vars(self).get("choices_", {}).get("model")
        return text if chosen is None or "model_" not in vars(self) else f"{text}  # {chosen}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.dict = True
        inner = None if self._given is None else self._given.tags()
        if inner is not None:
            for name in ("sparse", "positive_only"):
                setattr(tags.input_tags, name, getattr(inner.input_tags, name))
        return tags
