"""The global approach: one model that learns the whole hierarchy at once.

Its target is the *closed* matrix of the rows: one column per class, with ones for the classes of a
row and all of their ancestors. If paths may end at an inner node, "stop here" is an additional
column, the virtual leaf below it. A global model thus has a single estimator, as a flat one, but
another target: not the leaf of a row, but whether the row belongs to each node.
:mod:`hiclass._estimators.outputs` converts its outputs to probabilities.
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
    """One multi-output estimator for the whole hierarchy.

    The target has one column per class, with ones for the classes of a row and their ancestors.
    Shallow classes have a larger weight than deep classes. With the default, a forest of regression
    trees, the model is an ensemble of predictive clustering trees (Vens et al., 2008): every leaf
    of a tree holds the share of each class among its training rows, and all classes determine the
    splits together. ``partial_fit`` is not available.

    Parameters
    ----------
    estimator : estimator, default=None
        A multi-output regressor, or a multi-output classifier with ``predict_proba``. It is cloned.
        Outputs of regressors are clipped to [0, 1]. The default is ``ExtraTreesRegressor(100)``.
        ``fit`` chooses its parameters and stores them in ``forest_params_``:
        ``min_samples_leaf=5`` for sets of classes; ``max_features="sqrt"`` if most features have
        few distinct values, otherwise all features (see Notes); and, for many classes and rows, a
        ``max_leaf_nodes`` that keeps the trees below 2 GB.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of classes, a tree or a DAG. By default, it is read from ``y``. Classes
        without training rows get probability 0.
    level_weight : float, default=0.75
        A class at level ``l`` has the weight ``level_weight ** (l - 1)`` in the squared error of a
        regressor. Classifiers do not support these weights and require 1.
    decoding : {"best_path", "top_down", "expected_f1"} or callable, default="best_path"
        How a path is chosen. "best_path": the most probable path. "top_down": the best child at
        every step. "expected_f1": the node with the best expected hierarchical F-score, so that
        paths may stop early. A callable takes node probabilities and the hierarchy and returns one
        node per row.
    expected_f1 : float, default=None
        The hierarchical F-score that ``decoding="expected_f1"`` assumes. A class is predicted if
        its probability exceeds half of this value. By default, it is estimated from three
        out-of-fold fits.
    min_confidence : float, sequence of float or mapping, default=0.0
        Stops a path before its first node with a lower probability. A sequence holds one value per
        level. A mapping has classes (paths or labels) as keys, and one value, or one value per
        level, for each. An entry applies to a class and its descendants, unless they have their own
        entry.
    leaf_only : bool, default=False
        Whether every path must end at a leaf. A training row that ends at an inner node then
        belongs to none of the classes below it.
    calibration : {"temperature", "sigmoid", "isotonic"} or None, default=None
        How probabilities are calibrated, with parameters learned from three out-of-fold fits.
        ``"temperature"``: the probabilities of all paths are raised to the power ``1 /
        temperature`` and normalised. ``"sigmoid"`` or ``"isotonic"``, for sets of classes only: a
        monotonic function corrects the probability of every class.
    temperature : float, default=None
        A fixed temperature for the calibration, which then needs no out-of-fold fits.
    multi_label : bool, default=False
        Whether a row may have several labels. ``y`` then holds a list of labels or path tuples for
        every row, or is an indicator matrix. The prediction for a row is a set of classes.
    threshold : float, str or tuple, default=0.5
        Which classes are predicted with ``multi_label=True`` or in a DAG.

        * A float: the classes with at least this probability.
        * ``"tuned"``: one threshold per class, the one with the best F1.
        * ``"micro_f1"``: the common threshold with the best micro-averaged F1.
        * ``("precision", 0.9)``: the lowest common threshold at which 90 % of the predicted classes
          are correct.
        * ``("cost", 1, 5)``: the common threshold with the lowest cost, if a wrong class costs 1
          and a missed class costs 5.
        * ``("top", 3)``: the three most probable final classes.

        Thresholds other than a float and "top" are learned from three out-of-fold fits. After such
        a fit, ``set_params`` can switch between all of them. "precision" and "top" require
        ``multi_label=True``.
    n_jobs : int, default=None
        Number of parallel jobs for fitting the default forest and for predicting chunks of rows,
        with the same meaning as in joblib. It is not passed to a given ``estimator``.
    random_state : int, RandomState instance or None, default=None
        Seeds the estimator if it has a ``random_state``.
    verbose : int, default=0
        1 shows a progress bar on stderr.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The hierarchy of classes.
    classes_ : ndarray, or list of ndarray
        The labels. For paths, one array per level.
    missing_label_ : object
        The value of a missing label in predictions.
    prior_ : ndarray of shape (n_nodes,)
        The share of every node among the training rows, or the share set by ``adapted_to``.
    estimator_ : estimator
        The fitted estimator. It predicts outputs multiplied by ``column_scales_``. Not set if there
        was nothing to decide.
    forest_params_ : dict
        The parameters chosen for the default forest: ``max_features``, ``max_leaf_nodes`` and
        ``min_samples_leaf``. Only set if ``estimator`` is None.
    column_scales_ : ndarray of float
        The factors by which the columns of the target are multiplied: the square roots of their
        weights.
    local_classifiers_ : mapping
        The fitted estimator, with the path of the root, ``()``, as key.
    local_classes_ : dict
        The nodes that the columns of the estimator stand for, under the same key. The complement
        ``~v`` of a node stands for "stop at v".
    temperature_ : float
        The temperature. Only set with ``calibration="temperature"``.
    expected_f1_ : float
        The out-of-fold hierarchical F-score of ``decoding="expected_f1"``. Only set if it is
        learned, which happens with that decoding or together with a temperature.
    thresholds_ : ndarray of shape (n_nodes,)
        The threshold with the best F1 for every node. Only set if ``threshold`` is learned.
    threshold_curve_ : ndarray of shape (n_points, 3)
        Out-of-fold results of common thresholds. The columns are the threshold, the share of the
        true classes that are predicted, and the number of predicted classes per true class. Only
        set if ``threshold`` is learned.
    n_features_in_ : int
        The number of features, if X has columns.
    feature_names_in_ : ndarray of str
        Names of the features, if X has column names.

    See Also
    --------
    FlatClassifier : One classifier over all leaves.
    LocalClassifierPerParentNode : One multi-class classifier per parent node.

    Notes
    -----
    The columns of the target are multiplied by the square roots of their weights, and the outputs
    are divided by them. A regressor that minimises the squared error over all columns therefore
    minimises the weighted error. The weights have no effect on estimators that treat every column
    separately, such as ``Ridge`` or ``KNeighborsRegressor``.

    The trees of the default forest differ by the random thresholds of their splits. On features
    with few distinct values, such as binary features or sparse counts, a random threshold has
    little effect, and trees that use all features become almost identical. ``max_features`` is
    therefore "sqrt" if two rows have the same value of a feature with probability 0.3 or more, on
    average over the features that vary. Otherwise, it is 1.0 (all features).

    ``hiclass.load`` reads models with trees from skops files and validates the trees. To use
    ``skops.io.load`` instead, add ``"sklearn.tree._tree.Tree"`` to ``hiclass.TRUSTED_TYPES``.

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
            The rows, in any form that the estimator accepts.
        y : array-like of shape (n_samples,) or (n_samples, n_levels), frame or list of lists
            One label per row, or one path per row from level 1 down. Labels at the end of a path
            may be missing: ``""``, ``None``, ``NaN``, ``pandas.NA`` or a shorter list. With
            ``multi_label=True``, lists of labels or an indicator matrix.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, passed to the estimator by keyword. In a pipeline, or
            a search over one, they are passed to the last step.
        groups : array-like of shape (n_samples,), default=None
            The group of every row, such as a patient or a recording. Temperature, expected F-score
            and thresholds are then learned from folds of whole groups, which requires at least
            three groups. They are also passed to an estimator that is a search or whose ``fit`` has
            a parameter ``groups``.
        **fit_params : dict
            Further keyword arguments for the ``fit`` of the estimator. Arguments with one entry per
            row are sliced. With metadata routing enabled, the metadata that the estimator requests.

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
            # Shares of rows with negative weights are not probabilities, and undefined if they
            # cancel out: trees would fail only during prediction.
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
            # There is one fit, in this process: the estimator may have its own jobs.
            FitSettings(n_jobs=1, verbose=self.verbose),
            self.leaf_only,
            self.calibration,
            None if self.temperature is None else float(self.temperature),
        )

    def _make_outputs(
        self, hierarchy: Hierarchy, final: IntArray | None, of_sets: bool
    ) -> Callable[[LocalProblem], Any]:
        # Without the final classes, because inner classes can have weights, too.
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
        """Reject, before any work, an estimator that cannot predict what is needed."""
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
                f"level_weight={self.level_weight} sets weights in the squared error of a "
                f"regressor, but {name} is a classifier. Use level_weight=1, or a regressor such "
                f"as ExtraTreesRegressor()."
            )

    # -- what was fitted -----------------------------------------------------------------------

    @property
    def estimator_(self) -> Any:
        """The fitted estimator."""
        fitted = self.local_classifiers_
        if () not in fitted:
            raise AttributeError(
                f"This {type(self).__name__} has no estimator_, because there was nothing to "
                "decide."
            )
        return fitted[()]

    @property
    def forest_params_(self) -> dict[str, Any]:
        """The parameters that were chosen for the default forest."""
        if self.estimator is not None:
            raise AttributeError(
                f"This {type(self).__name__} has no forest_params_, because its estimator was "
                f"given."
            )
        forest = self.estimator_
        return {name: getattr(forest, name) for name in FOREST_PARAMS}

    @property
    def column_scales_(self) -> FloatArray:
        """The factors by which the columns of the target are multiplied."""
        _ = self.estimator_  # raises an error if there is none
        return np.asarray(local_classifiers(self)[()].scales())

    @property
    def local_classifiers_(self) -> LocalClassifiers:
        """The fitted estimator, with the path of the root as key."""
        outputs = local_classifiers(self)
        fitted = {0: outputs[()].estimator_} if () in outputs else {}
        return LocalClassifiers(fitted, self._models.hierarchy)

    @property
    def local_classes_(self) -> dict[Any, IntArray]:
        """The nodes that the columns of the estimator stand for, with the path of the root as key.

        The complement ``~v`` of a node stands for "stop at v".
        """
        outputs = local_classifiers(self)
        if () not in outputs:
            return {}
        models = unrestricted(self._models)
        branches = models.classes[0] if models.of_sets else outputs[()].branches
        return {(): branches[outputs[()].varies_]}
