"""``HierarchicalClassifier``: the estimator to start with, which chooses among the others.

``fit`` makes features of what is given, asks :mod:`~hiclass._automatic.proposals` which models are
worth a try, finds out of fold which of them serve (:mod:`~hiclass._automatic.selection`), and fits
these on all rows. What it has chosen is ``model_``, an estimator like any other.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state

from hiclass._automatic.cells import split_columns
from hiclass._automatic.codes import are_useful, find_codes
from hiclass._automatic.features import TableFeatures
from hiclass._automatic.hints import hint_at_labels, hint_at_paths
from hiclass._automatic.kernels import make_scaler, tune_kernel
from hiclass._automatic.objectives import (
    OBJECTIVES,
    Objective,
    check_optimize,
    check_scorer,
    find_objective,
    is_named,
    set_measure,
)
from hiclass._automatic.proposals import (
    EFFORTS,
    FEWEST_ROWS,
    USUAL_F,
    Effort,
    Proposal,
    Proposals,
    Settings,
    propose,
    propose_given,
    propose_sets,
    size_of,
)
from hiclass._automatic.selection import (
    Candidate,
    Rows,
    fit_candidate,
    select,
    with_state,
)
from hiclass._automatic.set_proposals import SetSettings
from hiclass._automatic.set_selection import (
    SetRows,
    are_better,
    choose_by_rule,
    choose_sets,
    fit_choice,
    not_finite,
)
from hiclass._automatic.words import has_words, with_words
from hiclass._compat import Interval, StrOptions, check_is_fitted, offered_if
from hiclass._encoders.encoding import check_texts
from hiclass._engine.callbacks import handing_callbacks_on
from hiclass._engine.local_classifiers import Prototype
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.fitting import ESTIMATED, encode_labels, fitting, local_prototype
from hiclass._estimators.incremental import check_learns
from hiclass._estimators.local import LocalClassifierPerParentNode
from hiclass._estimators.texted import texted_hierarchy
from hiclass._inference.selections import make_rule, read_threshold
from hiclass._out_of_fold.folds import N_FOLDS, deal_paths, deal_sets
from hiclass._rows import check_weights, n_rows_of, take_rows
from hiclass._targets.paths import check_n_labels
from hiclass._targets.sets import SetTarget
from hiclass._typing import IntArray
from hiclass.model_selection import read_groups

#: Fewer rows than this are held out on all folds.
_FEW_ROWS = 3_000
#: Rows from which a quick model learns its temperature.
_MOST_FOR_TEMPERATURE = 3_000
#: What the classifiers that are chosen here warn of, and a user can do nothing about.
_NOT_FOR_USERS = (
    "The number of unique classes",
    "lbfgs failed to converge",
    "Liblinear failed",
    "The estimator .* does not support callbacks",
)


def _learns_batches(model: Any) -> None:
    """Say why a model cannot learn batches of rows."""
    given = model._given
    if given is None or not hasattr(given.typical, "partial_fit"):
        raise AttributeError(
            f"HierarchicalClassifier learns batches of rows only with a local_classifier that has "
            f"partial_fit, such as SGDClassifier(loss='log_loss'); got {model.local_classifier!r}."
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
        The choices and their reasons in words, by subject.
    scores_ : dict of float
        The out-of-fold score of every candidate. Empty if nothing was compared.
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
        Number of columns of X. Not set for texts.
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
    #: Groups are requested by default, as by scikit-learn's group splitters.
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
        """How classes are selected; by default as the model that was chosen has it."""
        if self.threshold is not None:
            return self.threshold
        return getattr(self.__dict__.get("model_"), "threshold", 0.5)

    @property
    def _given(self) -> Prototype | None:
        """The classifier to use, if one is given."""
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
            Weights of the rows. Rows with weight 0 are used for the features only.
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
                return self._fit_words(X, y, objective, sample_weight, groups)
            features = self._fit_features(X)
            sample_weight = check_weights(sample_weight, features)
            target = encode_labels(self, y)
            check_n_labels(target.n_rows, n_rows_of(features))
            unit = None if groups is None else read_groups(groups, target.n_rows)
            # Sets of classes have no form of rows, and their scorers are refused elsewhere.
            of_paths, weighted = getattr(target.format, "ndim", 1) == 2, sample_weight is not None
            if not (of_paths or target.of_sets or self.hierarchy is not None):
                hint_at_paths(target.hierarchy)
            check_scorer(self.optimize, objective, of_paths=of_paths, weighted=weighted)
            if sample_weight is not None and not sample_weight.all():
                # A class of such rows only would have nothing to learn from.
                kept = np.flatnonzero(sample_weight)
                X, features, y, sample_weight, groups = (
                    None if part is None else take_rows(part, kept)
                    for part in (X, features, y, sample_weight, groups)
                )
                target = encode_labels(self, y)
                unit = None if groups is None else read_groups(groups, target.n_rows)
            effort = self._effort(target.n_rows, unit)
            fit_params = {} if sample_weight is None else {"sample_weight": sample_weight}
            if target.of_sets:
                self._fit_sets(X, features, y, target, effort, fit_params, groups)
                return self
            if groups is not None and self.local_classifier is not None:
                fit_params["groups"] = groups
            fold = np.full(target.n_rows, -1)
            if effort.n_folds:
                fold = deal_paths(target.nodes, target.hierarchy, unit)
                features = self._try_codes(X, features, target.nodes, fold, sample_weight)
            features = self._scale(features)
            rows = Rows(features, y, target.nodes, target.hierarchy, fold, fit_params, unit)
            proposals = self._propose(rows, effort)
            candidate = self._choose(proposals, rows, effort, objective)
            model = fit_candidate(candidate, rows, self)
            self._adopt(model, candidate.decoding)
            self.expected_f1_ = model.expected_f1
        return self

    def _fit_words(
        self, X: Any, y: Any, objective: Objective, sample_weight: Any, groups: Any
    ) -> Any:
        """Fit what learns from rows together with what knows the words of classes."""
        if self.multi_label or objective.scorer is not None:
            raise ValueError(
                "class_texts is for one path per row, with optimize='path', 'f1' or None. Leave "
                "multi_label and scorers out."
            )
        if self._threshold != 0.5:
            self._refuse_threshold()
        tree = texted_hierarchy(self.hierarchy, self.class_texts, y)
        self._check_thresholds(tree)
        effort = EFFORTS[self.effort]
        common = self._settings(effort).common
        decoding = objective.decodings[0]
        quick = not effort.n_folds
        model, says = with_words(self.local_classifier, tree, decoding, quick, common)
        model.fit(X, y, sample_weight, groups=groups)
        self.features_ = self.scaler_ = None
        self.scores_ = {}
        self.choices_ = {
            "features": "texts as they are",
            "effort": self.effort,
            "why": "a fixed rule: classes have texts",
            "model": says,
            "decoding": decoding,
        }
        self._adopt(model, decoding)
        self.expected_f1_ = vars(model).get("expected_f1_", USUAL_F)
        return self

    def _check_decision_parameters(self) -> None:
        super()._check_decision_parameters()
        if self._is_about_sets():
            set_measure(self.optimize)
            return
        check_optimize(self.optimize)

    def _effort(self, n_rows: int, groups: Any) -> Effort:
        """What may be spent: nothing is measured on too few rows."""
        effort = EFFORTS[self.effort]
        self.choices_["effort"] = self.effort
        if effort.n_folds and n_rows < FEWEST_ROWS:
            self.choices_["effort"] = f"quick: {n_rows} rows are too few to measure anything on"
            return EFFORTS["quick"]
        if effort.n_folds and groups is not None and groups.max() + 1 < N_FOLDS:
            raise ValueError(
                f"groups has {groups.max() + 1} different groups, but models are measured on "
                f"{N_FOLDS} folds of whole groups. Give rows of at least {N_FOLDS} groups, leave "
                f"groups out, or use effort='quick', which compares nothing."
            )
        if effort.n_folds and (groups is not None or n_rows < _FEW_ROWS):
            # One fold of a few rows, or of a few groups, tells little.
            return replace(effort, n_folds=N_FOLDS)
        return effort

    # -- features ------------------------------------------------------------------------------

    def _fit_features(self, X: Any) -> Any:
        """Learn and make features of whatever X is."""
        self.choices_ = {}
        self.features_ = TableFeatures()
        features = self.features_.fit_transform(X)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.features_, name):
                setattr(self, name, getattr(self.features_, name))
        self.scaler_ = None
        self._describe_features(features)
        return features

    def _describe_features(self, features: Any) -> None:
        kind = "sparse" if sp.issparse(features) else "dense"
        kinds = sorted(set(self.features_.columns_.values())) or ["numbers"]
        self.choices_["features"] = f"{features.shape[1]:,} {kind} features of {', '.join(kinds)}"

    def _try_codes(
        self, X: Any, features: Any, nodes: IntArray, fold: IntArray, sample_weight: Any
    ) -> Any:
        """The features, with those of columns of codes where these tell classes apart."""
        codes = find_codes(self.features_.left_out_)
        if not codes or sp.issparse(features) or self.local_classifier is not None:
            return features
        tried = TableFeatures(text=codes)
        try:
            with_codes = tried.fit_transform(X)
        except ValueError:  # codes without two letters or digits in a row have no parts
            return features
        weights = np.ones(len(nodes)) if sample_weight is None else sample_weight
        seed = self._settings(EFFORTS[self.effort]).seed
        if not are_useful(features, with_codes, nodes, fold, weights, seed):
            return features
        self.features_ = tried
        self._describe_features(with_codes)
        self.choices_["codes"] = f"parts of {', '.join(map(str, codes))} tell classes apart"
        return with_codes

    def _scale(self, features: Any) -> Any:
        """Dense features on one scale."""
        if sp.issparse(features) or self.features_.columns_:  # a table is scaled already
            return features
        tags = None if self._given is None else self._given.tags()
        if tags is not None and tags.input_tags.positive_only:
            return features
        self.scaler_ = make_scaler(features)
        if self.scaler_ is None:
            return features
        self.choices_["features"] += ", scaled: their spreads differ"
        return self.scaler_.transform(features)

    def _check_rows(self, X: Any) -> Any:
        self._check_fitted()
        if self.features_ is None:
            return check_texts(X)
        features = self.features_.transform(X)
        if not self.features_.scale:  # of batches, in which nothing is filled in
            features = check_array(features, accept_sparse="csr", estimator=self, input_name="X")
        return features if self.scaler_ is None else self.scaler_.transform(features)

    # -- choosing ------------------------------------------------------------------------------

    def _settings(self, effort: Effort) -> Settings:
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        common = {"n_jobs": self.n_jobs, "random_state": int(seed), "verbose": self.verbose}
        return Settings(effort, common, int(seed))

    def _propose(self, rows: Rows, effort: Effort) -> Proposals:
        size = size_of(rows.X, rows.nodes, rows.hierarchy)
        settings = self._settings(effort)
        if self.local_classifier is not None:
            self.choices_["classifier"] = "given"
            return propose_given(self.local_classifier, size, settings)
        if sp.issparse(rows.X):
            self.choices_["classifier"] = "linear: the features are sparse"
        else:
            self.choices_["classifier"] = "kernels and trees: the features are dense"
            if effort.n_folds:
                kernel = tune_kernel(rows.X, rows.nodes, rows.fold, rows.weights, settings.seed)
                settings = replace(settings, kernel=kernel)
        return propose(rows.X, size, settings)

    def _choose(
        self, proposals: Proposals, rows: Rows, effort: Effort, objective: Objective
    ) -> Candidate:
        chosen = proposals.chosen
        self.scores_ = {}
        if rows.can_be_held_out(effort.n_folds):
            candidate, self.scores_ = select(chosen, rows, effort.n_folds, objective)
            self.choices_["why"] = _reason(candidate, self.scores_)
        else:
            candidate = self._by_rule(chosen[0], rows, objective)
            self.choices_["why"] = "a fixed rule: nothing was compared"
        self.choices_["model"] = "; ".join(f"{p.name}: {p.says}" for p in candidate.parts)
        if len(candidate.parts) > 1:
            shares = ", ".join(
                f"{part.name} {weight:.2f}"
                for part, weight in zip(candidate.parts, candidate.weights, strict=True)
            )
            self.choices_["weights"] = shares
        self.choices_["decoding"] = candidate.decoding
        for name, why in proposals.left_out.items():
            self.choices_[f"no {name}"] = why
        return candidate

    def _by_rule(self, proposal: Proposal, rows: Rows, objective: Objective) -> Candidate:
        """The first proposal; its temperature is that of some of the rows.

        That of kernel machines is learned from a part of the rows, held out; that of linear
        machines on words from all of them, which takes no fit.
        """
        usual = getattr(proposal.model, "temperature", None)
        too_few = len(rows.nodes) < FEWEST_ROWS or rows.n_groups < N_FOLDS
        f: float | None = USUAL_F
        if usual is not None and not too_few and sp.issparse(rows.X) and rows.groups is None:
            model = clone(proposal.model).set_params(temperature=ESTIMATED)
            proposal, f = replace(proposal, model=model), None
        elif usual is not None and not too_few and not sp.issparse(rows.X):
            step = -(-len(rows.nodes) // _MOST_FOR_TEMPERATURE)
            some = rows.some(np.flatnonzero(np.arange(len(rows.nodes)) % step == 0))
            some = replace(some, fold=deal_paths(some.nodes, some.hierarchy, some.groups))
            if some.can_be_held_out(1):
                return select([proposal], some, 1, objective)[0]
        can_score = proposal.model._promises_proba()
        decoding = objective.decodings[0] if can_score else "top_down"
        return Candidate((proposal,), (1.0,), decoding, f)

    def _adopt(self, model: Any, decoding: str) -> None:
        """Predict as a fitted model does from now on."""
        self.model_ = model
        self._measured = decoding
        self._n_own = vars(model).get("_n_own")
        self._remember(model._models, model._format)
        if "thresholds_" in vars(model):
            self.thresholds_ = model.thresholds_
            self.threshold_curve_ = model.threshold_curve_

    # -- several labels --------------------------------------------------------------------------

    def _fit_sets(
        self,
        X: Any,
        features: Any,
        y: Any,
        target: SetTarget,
        effort: Effort,
        fit_params: dict[str, Any],
        groups: Any,
    ) -> None:
        """Choose and fit a model that predicts sets of classes."""
        measure = set_measure(self.optimize)
        if self.local_classifier is not None:
            self._fit_sets_given(features, y, effort, fit_params, groups)
            return
        dense = self.features_._as_dense(target.n_rows) if sp.issparse(features) else None
        if dense is not None:  # a matrix of few columns
            self.features_, features = dense, dense.transform(X)
            self._describe_features(features)
        common = self._settings(effort).common
        unit = None if groups is None else read_groups(groups, target.n_rows)
        fold = deal_sets(target, unit) if effort.n_folds else np.zeros(target.n_rows, dtype=int)
        rows = SetRows(features, target, fold, fit_params.get("sample_weight"), unit)
        settings = SetSettings(effort, common)
        rows = self._try_flags(X, rows, settings, measure)
        if effort.n_folds:
            choose = partial(choose_sets, rows, settings, EFFORTS[self.effort].n_folds, measure)
            choice = choose()
            try:
                model = fit_choice(choice, rows, self)
            except FloatingPointError as error:  # on all rows, though not on those of the folds
                choice = choose({"network": not_finite(error)})
                model = fit_choice(choice, rows, self)
            self.choices_["why"] = _reason_of_sets(choice.scores)
        else:
            learn = read_threshold(self._threshold).is_learned
            choice = choose_by_rule(rows, settings, measure, learn=learn)
            model = fit_choice(choice, rows, self)
            self.choices_["why"] = "a fixed rule: no models were compared"
        if choice.learned is not None:
            # An error, if a target cannot be reached, now rather than when predicting.
            make_rule(read_threshold(self._threshold), choice.learned, target.hierarchy.n_nodes)
        self.choices_["model"] = "; ".join(f"{p.name}: {p.says}" for p in choice.parts)
        if len(choice.parts) > 1:
            pairs = zip(choice.parts, choice.weights, strict=True)
            self.choices_["weights"] = ", ".join(f"{p.name} {w:.2f}" for p, w in pairs)
        self._adopt(model, "best_path")
        self.choices_["decoding"] = f"classes by threshold ({self._threshold})"
        for name, why in choice.left_out.items():
            self.choices_[f"no {name}"] = why
        self.scores_ = choice.scores

    def _try_flags(self, X: Any, rows: SetRows, settings: SetSettings, measure: str) -> SetRows:
        """The rows with features that say whether numbers are missing where these serve."""
        if sp.issparse(rows.X):
            return rows
        without = self.features_._without_flags()
        other = without.transform(X)
        if other.shape[1] == rows.X.shape[1]:
            return rows
        plain = replace(rows, X=other)
        if settings.effort.n_folds and are_better(plain, rows.X, settings, measure):
            return rows
        self.features_ = without
        self._describe_features(other)
        return plain

    def _fit_sets_given(
        self, features: Any, y: Any, effort: Effort, fit_params: dict[str, Any], groups: Any
    ) -> None:
        """Fit the classifier that is given, per node."""
        usual = "tuned" if effort.n_folds else 0.5
        common = self._settings(effort).common | {
            "hierarchy": self.hierarchy,
            "multi_label": self.multi_label,
            "threshold": usual if self.threshold is None else self.threshold,
        }
        proposal = propose_sets(self.local_classifier, common)
        model = proposal.model
        with handing_callbacks_on(self, model, proposal.name):
            model.fit(features, y, **fit_params, groups=groups)
        self.choices_ |= {
            "why": "a fixed rule: nothing was compared",
            "model": f"{proposal.name}: {proposal.says}",
            "decoding": f"classes by threshold ({common['threshold']})",
        }
        self.scores_ = {}
        self._adopt(model, "best_path")

    # -- batches -------------------------------------------------------------------------------

    @offered_if(_learns_batches)
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
            self._check_learns()
        elif split_columns(X) is not None:
            raise ValueError(
                "Batches must be matrices of numbers: what columns and texts hold is learned from "
                "all rows. Make features first, for example with HashingVectorizer."
            )
        features = TableFeatures(scale=False) if fresh else self.features_
        numbers = features.fit_transform(X) if fresh else self._check_rows(X)
        model = self._batch_model() if fresh else self.model_
        model.partial_fit(numbers, y, classes=classes, sample_weight=sample_weight)
        if fresh:
            self.features_, self.scaler_, self.scores_ = features, None, {}
            self.n_features_in_ = features.n_features_in_
            self.choices_ = {"model": "local: one classifier per parent node, learned in batches"}
        self._adopt(model, "best_path" if model._models.has_proba else "top_down")
        self.expected_f1_ = USUAL_F
        return self

    def _check_learns(self) -> None:
        check_learns(self)
        model = self.model_
        if not isinstance(model, LocalClassifierPerParentNode) or model.calibration is not None:
            raise ValueError(
                f"fit has chosen a model that cannot learn more rows "
                f"({self.choices_['model']}). Call fit with all rows, start with partial_fit, or "
                f"use effort='quick'."
            )

    def _batch_model(self) -> Any:
        common = self._settings(EFFORTS["quick"]).common | {"threshold": self._threshold}
        return LocalClassifierPerParentNode(
            self.local_classifier, hierarchy=self.hierarchy, multi_label=self.multi_label, **common
        )

    # -- what was chosen -------------------------------------------------------------------------

    def _opened(self) -> tuple[list[Any], Any]:
        """What X goes through, and the model that takes it, with the decisions of this one."""
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


def _reason(candidate: Candidate, scores: dict[str, float]) -> str:
    """Why a candidate was chosen."""
    if len(scores) == 1:
        return f"the only one that is worth a try; {candidate.score:.3f} out of fold"
    others = ", ".join(f"{n} {s:.3f}" for n, s in scores.items() if n != candidate.name)
    return f"{candidate.score:.3f} out of fold ({others})"


def _reason_of_sets(scores: dict[str, float]) -> str:
    """Why models of sets were chosen."""
    *others, last = scores.items()
    rest = ", ".join(f"{name} {score:.3f}" for name, score in others)
    return f"{last[1]:.3f} out of fold ({rest})" if rest else f"{last[1]:.3f} out of fold"
