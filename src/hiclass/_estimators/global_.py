"""The global approach: one model that learns the whole hierarchy at once.

Its target is the *closed* matrix of the rows: a column per class, with ones for the classes of a
row and all above them. Where paths may end at an inner node, "stop here" is one column more, the
virtual leaf below it. So a global model has one estimator, as a flat one, but another target: not
the leaf of a row, but whether the row is in each node. How its outputs become probabilities is in
:mod:`hiclass._estimators.outputs`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from hiclass._compat import Interval, StrOptions, routing_enabled
from hiclass._engine.fit import FitSettings
from hiclass._engine.local_classifiers import Prototype
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.fitted import LocalClassifiers, local_classifiers
from hiclass._estimators.fitting import (
    FIT_REQUESTS,
    LOCAL_CONSTRAINTS,
    Recipe,
    check_temperature,
    encode_labels,
    fit_models,
    fitting,
    fold_of_rows,
    learn_out_of_fold,
    make_estimators,
    route_params,
)
from hiclass._estimators.forest import FOREST_PARAMS
from hiclass._estimators.outputs import FinalOutputs, NodeOutputs, has_classes
from hiclass._inference.decodings import DECODINGS, Decoding
from hiclass._inference.paths import unrestricted
from hiclass._inference.set_calibrations import SET_CALIBRATIONS
from hiclass._problems.index import LocalProblem
from hiclass._problems.strategies import STRATEGIES
from hiclass._rows import check_weights, check_X, n_rows_of
from hiclass._targets.paths import check_n_labels
from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy


class GlobalClassifier(BaseHierarchicalClassifier):
    """One model of the whole hierarchy: a multi-output estimator that predicts every class.

    The target has a column per class, with ones for the classes of a row and all above them, and
    shallow classes weigh more than deep ones. With a forest of regression trees, as by default,
    these are the predictive clustering trees of Vens et al. (2008): every leaf of a tree holds the
    share of each class in its training rows, and all classes choose the splits together. There is
    no ``partial_fit``.

    Parameters
    ----------
    estimator : estimator, default=None
        A regressor that takes a target of several columns, or a classifier that does and has
        ``predict_proba``. It is copied. Outputs of regressors are clipped to [0, 1]. The default is
        ``ExtraTreesRegressor(100)`` with parameters that ``fit`` chooses and ``forest_params_``
        tells: ``min_samples_leaf=5`` where predictions are sets of classes; a ``max_leaf_nodes``
        that keeps its trees below 2 GB where there are many classes and rows; and
        ``max_features="sqrt"`` where most features have few values, otherwise all features (see
        Notes).
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The classes, a tree or, if a class may have several parents, a DAG; read from ``y`` by
        default. Classes without training rows get probability 0.
    level_weight : float, default=0.75
        A class of level ``l`` weighs ``level_weight ** (l - 1)`` in the squared error of a
        regressor; 1 makes all classes equal. Classifiers have no such weights and need 1.
    decoding : {"best_path", "top_down", "expected_f1"} or callable, default="best_path"
        How a path is chosen: the most probable path; the best child at every step; or the node with
        the best expected hierarchical F-score, which may stop early. A callable takes node
        probabilities and the hierarchy and returns one node per row.
    expected_f1 : float, default=None
        The hierarchical F-score that ``decoding="expected_f1"`` assumes: a class is predicted if
        its probability is above half of it. By default it is learned from three out-of-fold fits.
    min_confidence : float, sequence of float or mapping, default=0.0
        Truncates a path before its first node with a lower probability. A sequence has one number
        per level. A mapping has one number, or one per level, for a class (its path or label) and
        the classes below it, unless they are named themselves.
    leaf_only : bool, default=False
        Whether every path must end at a leaf. A training row that ends at an inner node then counts
        for none of the classes below it.
    calibration : {"temperature", "sigmoid", "isotonic"} or None, default=None
        With ``"temperature"``, the probabilities of all paths are raised to the same power and
        normalised; the power, one by a temperature, is learned from three out-of-fold fits. For
        sets of classes, ``"sigmoid"`` or ``"isotonic"`` corrects the probability of every class, by
        a map that is learned likewise.
    temperature : float, default=None
        The temperature of the calibration, if you know it: nothing is then learned out of fold.
    multi_label : bool, default=False
        Whether a row may have several labels. Then ``y`` holds a list of labels, or of path tuples,
        for every row, or is an indicator; see the page on hierarchies. A prediction is a set of
        classes.
    threshold : float, str or tuple, default=0.5
        Which classes are predicted, with ``multi_label=True`` or if a class has several parents:
        those with at least this probability. Or, learned from three out-of-fold fits, ``"tuned"``:
        the threshold of every class with the best F1; ``"micro_f1"``: one threshold for all with
        the best F1 of all classes together; ``("precision", 0.9)``: the lowest one with which this
        share of the predicted classes is right; ``("cost", 1, 5)``: the cheapest one if a wrong
        class costs 1 and a missed one 5. ``("top", 3)``: the three most probable final classes.
        After a fit with one of them, all of them can be set.
    n_jobs : int, default=None
        Number of trees of the default forest that are fitted, and of chunks of rows that are
        predicted, in parallel, with joblib's meaning. An ``estimator`` has an ``n_jobs`` of its own
        for its ``fit``.
    random_state : int, RandomState instance or None, default=None
        Seeds the estimator if it has a ``random_state``.
    verbose : int, default=0
        With 1, a progress bar on stderr.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The hierarchy of classes.
    classes_ : ndarray, or list of ndarray
        The labels, for paths per level.
    missing_label_ : object
        The value of a missing label in predictions.
    prior_ : ndarray of shape (n_nodes,)
        The share of every node among the training rows, or the share set by ``adapted_to``.
    estimator_ : estimator
        The fitted estimator; missing where there was nothing to decide. What it predicts are
        outputs times ``column_scales_``.
    forest_params_ : dict
        The parameters that were chosen for the default forest: ``max_features``,
        ``max_leaf_nodes``, ``min_samples_leaf``. Only where ``estimator`` is None.
    column_scales_ : ndarray of float
        What the columns of its target are multiplied by: the square roots of their weights.
    local_classifiers_ : mapping
        The same, by the path of the root, ``()``.
    local_classes_ : dict
        The nodes that its columns stand for, by the same key; the complement ``~v`` of a node
        stands for "stop at v".
    temperature_ : float
        The temperature; only with ``calibration="temperature"``.
    expected_f1_ : float
        The out-of-fold hierarchical F-score of ``decoding="expected_f1"``; only if it is learned,
        with that decoding or together with a temperature.
    thresholds_ : ndarray of shape (n_nodes,)
        The threshold of every node with the best F1; only where ``threshold`` is learned.
    threshold_curve_ : ndarray of shape (n_points, 3)
        What one threshold for all classes reaches out of fold: the threshold, the share of the true
        classes that are predicted, and the number of predicted classes for every true one; only
        where ``threshold`` is learned.
    n_features_in_ : int
        Number of features, where X has columns.
    feature_names_in_ : ndarray of str
        Names of the features, where X has names.

    See Also
    --------
    FlatClassifier : One classifier over all leaves.
    LocalClassifierPerParentNode : One multi-class classifier per parent node.

    Notes
    -----
    Columns of the target are multiplied by the square roots of their weights, and outputs divided
    by them, so that a regressor that minimises the squared error over all columns minimises the
    weighted one. In a tree ensemble that decides which splits are chosen, in a neural network what
    the hidden layers learn. An estimator that treats every column by itself, such as ``Ridge`` or
    ``KNeighborsRegressor``, has the same minimum with all weights.

    Trees of the default forest differ by the random thresholds of their splits. A random threshold
    has no effect on a feature of 0 and 1, and hardly any on counts or weights of words that are 0
    in most rows: trees that look at all such features choose the same splits, and a forest of them
    is little more than one tree. So ``max_features`` is "sqrt" where two rows have the same value
    with a probability of at least 0.3, on average over the features that vary, and 1.0, all
    features, elsewhere: with numbers that are better (see the page on global models).

    ``hiclass.load`` reads a model with trees from a skops file, and checks that they are sound.
    ``skops.io.load`` leaves it to you whether to trust them: add ``"sklearn.tree._tree.Tree"`` to
    ``hiclass.TRUSTED_TYPES``.

    References
    ----------
    C. Vens, J. Struyf, L. Schietgat, S. Dzeroski, H. Blockeel: Decision trees for hierarchical
    multi-label classification. Machine Learning 73 (2008).

    Examples
    --------
    >>> from hiclass import GlobalClassifier
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> model = GlobalClassifier(ExtraTreesRegressor(20), random_state=0).fit(X, y)
    >>> model.predict([[5, 9]])
    array([['Plant', 'Fern']], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LOCAL_CONSTRAINTS,
        "estimator": "no_validation",
        "level_weight": [Interval(Real, 0, 1, closed="right")],
        "calibration": [StrOptions({"temperature", *SET_CALIBRATIONS}), None],
        "temperature": [Interval(Real, 0, None, closed="neither"), None],
        "decoding": [StrOptions(set(DECODINGS)), callable, Decoding],
    }
    __metadata_request__fit: ClassVar[dict[str, Any]] = FIT_REQUESTS

    def __init__(
        self,
        estimator: Any = None,
        *,
        hierarchy: Any = None,
        level_weight: float = 0.75,
        decoding: Any = "best_path",
        expected_f1: float | None = None,
        min_confidence: Any = 0.0,
        leaf_only: bool = False,
        calibration: str | None = None,
        temperature: float | None = None,
        multi_label: bool = False,
        threshold: Any = 0.5,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.hierarchy = hierarchy
        self.level_weight = level_weight
        self.decoding = decoding
        self.expected_f1 = expected_f1
        self.min_confidence = min_confidence
        self.leaf_only = leaf_only
        self.calibration = calibration
        self.temperature = temperature
        self.multi_label = multi_label
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fit -----------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> Any:
        """Fit one estimator to the whole hierarchy.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame, list} of n_samples rows
            Whatever the estimator takes.
        y : array-like of shape (n_samples,) or (n_samples, n_levels), frame or list of lists
            One label per row, or one path per row from the top of the hierarchy down. Labels may be
            missing at the end of a path, written as ``""``, ``None``, ``NaN``, ``pandas.NA`` or by
            a shorter list.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, none of them negative, handed to the estimator by keyword; in a
            pipeline, or a search over one, to its last step.
        groups : array-like of shape (n_samples,), default=None
            The group of every row, such as a patient or a recording. What is learned out of fold
            (temperature, expected F-score, thresholds) is learned from folds of whole groups; at
            least three are needed then, and groups play no other role in this estimator. They are
            handed on to an estimator that is a search or whose ``fit`` names them.
        **fit_params : dict
            More keyword arguments for the ``fit`` of the estimator; what has one entry per row is
            sliced. With metadata routing enabled, what the estimator requested.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with fitting(self, X, y):
            self._check_parameters()
            X = check_X(self, X, self._input_tags(), reset=True)
            target = encode_labels(self, y)
            check_n_labels(target.n_rows, n_rows_of(X))
            # Shares of rows with negative weights are no probabilities, and no numbers where they
            # cancel out: trees would fail only when they predict.
            weights = check_weights(sample_weight, X)
            recipe = self._recipe(route_params(self, X, weights, fit_params, groups=groups))
            fold = fold_of_rows(self, target, groups)
            models = fit_models(recipe, X, target)
            fit_fold = partial(fit_models, recipe, X, target)
            weights = recipe.weights_of()
            models, learned = learn_out_of_fold(self, fit_fold, models, X, target, weights, fold)
            self._remember(models, target.format, **learned)
        return self

    def _recipe(self, fit_params: dict[str, Any]) -> Recipe:
        return Recipe(
            type(self).__name__,
            STRATEGIES["global"],
            None,
            self._make_outputs,
            fit_params,
            # There is one fit, in this process: the estimator may have jobs of its own.
            FitSettings(n_jobs=1, verbose=self.verbose),
            self.leaf_only,
            self.calibration,
            None if self.temperature is None else float(self.temperature),
        )

    def _make_outputs(
        self, hierarchy: Hierarchy, final: IntArray | None, of_sets: bool
    ) -> Callable[[LocalProblem], Any]:
        # Without the final classes, as inner classes can be weighed, too.
        make_estimator = make_estimators(self, STRATEGIES["global"], hierarchy, None)

        def make(problem: LocalProblem) -> Any:
            estimator, branches = make_estimator(problem), problem.classes
            by_rows = self.estimator is None
            if of_sets:
                return NodeOutputs(
                    estimator, self.level_weight, hierarchy.levels[branches], by_rows
                )
            source = np.where(branches < 0, ~branches, hierarchy.parent[branches])
            levels = hierarchy.levels[source] + 1
            return FinalOutputs(estimator, self.level_weight, levels, source, branches, by_rows)

        return make

    # -- the estimator -------------------------------------------------------------------------

    def _prototype(self) -> Prototype:
        given = self.estimator
        if given is None:
            given = ExtraTreesRegressor(100, n_jobs=self.n_jobs)
            given = given.set_fit_request(sample_weight=True) if routing_enabled() else given
        return Prototype(
            given,
            "estimator",
            "ExtraTreesRegressor()",
            "a regressor, or a classifier with predict_proba, that takes several outputs",
            may_vary=False,
        )

    def _promises_proba(self) -> bool:
        return True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_temperature(self)
        self._check_capability(*self._prototype().by_depth())

    def _check_capability(self, estimator: Any) -> None:
        """Refuse, before any work, an estimator that could not predict what is wanted."""
        name = type(estimator).__name__
        if not has_classes(estimator):
            if not hasattr(estimator, "predict"):
                raise ValueError(f"{type(self).__name__} needs predict; {name} has no such method.")
            return
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{type(self).__name__} needs probabilities, but {name} has no predict_proba. Use "
                f"another classifier, or a regressor such as ExtraTreesRegressor()."
            )
        if self.level_weight != 1:
            raise ValueError(
                f"level_weight={self.level_weight} weighs classes in the squared error of a "
                f"regressor, but {name} is a classifier. Use level_weight=1, by which all classes "
                f"count the same, or a regressor such as ExtraTreesRegressor()."
            )

    # -- what was fitted -----------------------------------------------------------------------

    @property
    def estimator_(self) -> Any:
        """The fitted estimator."""
        fitted = self.local_classifiers_
        if () not in fitted:
            raise AttributeError(
                f"This {type(self).__name__} has no estimator_: there was nothing to decide."
            )
        return fitted[()]

    @property
    def forest_params_(self) -> dict[str, Any]:
        """The parameters that were chosen for the default forest."""
        if self.estimator is not None:
            raise AttributeError(
                f"This {type(self).__name__} has no forest_params_: its estimator was given, with "
                f"all of its parameters."
            )
        forest = self.estimator_
        return {name: getattr(forest, name) for name in FOREST_PARAMS}

    @property
    def column_scales_(self) -> FloatArray:
        """What the columns of the estimator are multiplied by."""
        _ = self.estimator_  # an error where there is none
        return np.asarray(local_classifiers(self)[()].scales())

    @property
    def local_classifiers_(self) -> LocalClassifiers:
        """The fitted estimator, by the path of the root."""
        outputs = local_classifiers(self)
        fitted = {0: outputs[()].estimator_} if () in outputs else {}
        return LocalClassifiers(fitted, self._models.hierarchy)

    @property
    def local_classes_(self) -> dict[Any, IntArray]:
        """The nodes that the columns of the estimator stand for, by the path of the root.

        The complement ``~v`` of a node stands for "stop at v".
        """
        outputs = local_classifiers(self)
        if () not in outputs:
            return {}
        models = unrestricted(self._models)
        branches = models.classes[0] if models.of_sets else outputs[()].branches
        return {(): branches[outputs[()].varies_]}
