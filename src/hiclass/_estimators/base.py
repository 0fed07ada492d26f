"""The scikit-learn contract of every hierarchical classifier: the single base class.

Estimators implement ``fit``; this module implements what a fitted model does, from X to labels. The
fitted state (:mod:`hiclass._state`) and the format of the labels are stored. Parameters of
decisions, such as ``decoding`` and ``min_confidence``, are read here during prediction, so they can
be changed after ``fit``.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping
from inspect import signature
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from hiclass import metrics
from hiclass._compat import (
    CallbackSupport,
    Interval,
    check_is_fitted,
    offered_if,
    validate_parameter_constraints,
)
from hiclass._engine.local_classifiers import Prototype
from hiclass._estimators.adapting import adapted_to, n_iter, prior
from hiclass._estimators.offers import adapts, has_paths, has_proba
from hiclass._estimators.sets import (
    check_set_parameters,
    predict_set_confidence,
    predict_sets,
    rank_classes,
)
from hiclass._estimators.texted import texts_for_files, texts_from_files
from hiclass._inference.chunks import map_in_threads
from hiclass._inference.confidence import (
    Thresholds,
    check_min_confidence,
    for_files,
    from_files,
    is_set,
    thresholds_of,
)
from hiclass._inference.decodings import (
    DECODINGS,
    Decision,
    Decoding,
    Wish,
    as_decoding,
    best_paths,
    check_n_paths,
    truncate,
    width_of_best_paths,
)
from hiclass._inference.levels import label_proba
from hiclass._inference.paths import holds_packed, node_proba, width_of
from hiclass._inference.restrictions import allowed_nodes, restrict, restrict_sets
from hiclass._rows import check_X, is_as_fitted, map_chunks, n_rows_of
from hiclass._state import AnySetModels, LabelFormat, PathModels, SetFormat
from hiclass._targets.paths import (
    decode,
    hierarchy_for_files,
    label_dtype,
    label_writer,
    path_classes,
)
from hiclass._targets.sets import set_classes
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass._version import as_stamped, read_stamped, reduce_stamped
from hiclass.hierarchy import Hierarchy


def check_parameters(estimator: Any, names: tuple[str, ...]) -> None:
    """Check some parameters of an estimator, which may have been changed after ``fit``."""
    constraints = estimator._parameter_constraints
    known = [k for k in names if k in constraints and hasattr(estimator, k)]
    values = {k: getattr(estimator, k) for k in known}
    validate_parameter_constraints(constraints, values, caller_name=type(estimator).__name__)


class BaseHierarchicalClassifier(CallbackSupport, ClassifierMixin, BaseEstimator):
    """Base class of all hierarchical classifiers; not for direct use."""

    hierarchy: Any
    decoding: Any
    expected_f1: float | None = None
    min_confidence: Any
    threshold: Any = 0.5
    multi_label: bool = False
    leaf_only: bool = False
    calibration: str | None = None
    n_jobs: int | None = None
    hierarchy_: Hierarchy
    classes_: Any
    expected_f1_: float
    thresholds_: FloatArray
    threshold_curve_: FloatArray
    _models: Any  # the fitted state, of hiclass._state
    _format: Any  # LabelFormat, or SetFormat for several labels per row
    #: Other attributes that fit sets, without an underscore at the end.
    _private: ClassVar[tuple[str, ...]] = ("_models", "_format", "_n_own", "_stream")
    #: Names of parameters that fit may learn out of fold, as attributes with an underscore.
    _learned: ClassVar[tuple[str, ...]] = ("expected_f1", "temperature")
    #: Parameters that are read during prediction.
    _decision_parameters: ClassVar[tuple[str, ...]] = (
        "decoding",
        "expected_f1",
        "min_confidence",
        "threshold",
        "leaf_only",
        "n_jobs",
    )
    #: The remedy for local classifiers without probabilities.
    _how_to_get_proba: ClassVar[str] = (
        "Use calibration='temperature', which needs only decision_function, or wrap the classifier "
        "into sklearn.calibration.CalibratedClassifierCV."
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expected_f1": [Interval(Real, 0, 1, closed="right"), None],
        "min_confidence": [
            Interval(Real, 0, 1, closed="both"),
            list,
            tuple,
            np.ndarray,
            Mapping,
        ],
        "threshold": [Interval(Real, 0, 1, closed="right"), str, tuple, list],
    }

    # -- properties of an estimator ------------------------------------------------------------

    def _prototype(self) -> Prototype | None:
        """The estimator that is cloned for every local problem; None if nothing is cloned."""
        return None

    def _promises_proba(self) -> bool:
        """Whether an unfitted model will have probabilities."""
        prototype = self._prototype()
        return prototype is None or prototype.promises_proba(self.calibration is not None)

    def _input_tags(self) -> Any:
        """Tags of the estimator that finally gets X; None if any X is accepted."""
        prototype = self._prototype()
        return None if prototype is None else prototype.tags()

    def _is_about_sets(self) -> bool:
        """Whether predictions are sets of classes: several labels per row, or several parents."""
        models = self.__dict__.get("_models")
        if models is not None:
            return bool(models.of_sets)
        given = getattr(self, "hierarchy", None)
        return self.multi_label or (isinstance(given, Hierarchy) and not given.is_tree)

    @property
    def _threshold(self) -> Any:
        """The value of ``threshold``; overridden by some estimators."""
        return self.threshold

    def _needs_own_rows(self) -> bool:
        """Whether every fold needs rows that end at an inner class, if there are any."""
        return False

    # -- parameters ----------------------------------------------------------------------------

    def set_params(self, **params: Any) -> Any:
        """Set the parameters of this estimator and, with ``__``, of the estimator inside it.

        Parameters
        ----------
        **params : dict
            Parameters, with the names that ``get_params`` returns.

        Returns
        -------
        self : object
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter does not exist.
        """
        prototype = self._prototype()
        if prototype is not None:
            prototype.check_inner_params(params, getattr(self, prototype.parameter), self)
        return super().set_params(**params)

    def _check_parameters(self) -> None:
        check_parameters(self, tuple(self._parameter_constraints))
        self._check_decision_parameters()

    def _check_decision_parameters(self) -> None:
        check_parameters(self, self._decision_parameters)
        if not isinstance(self.min_confidence, Real):
            check_min_confidence(self.min_confidence)
        if self._is_about_sets():
            check_set_parameters(self)
        elif "_models" in self.__dict__ and self._threshold != 0.5:
            self._refuse_threshold()
        if self.leaf_only and self._truncates():
            raise ValueError(
                f"leaf_only=True requires every path to end at a leaf, but "
                f"min_confidence={self.min_confidence} stops paths early. Set only one of the two."
            )

    def _check_thresholds(self, hierarchy: Hierarchy) -> None:
        """Reject thresholds that do not match the classes, before anything is fitted."""
        is_number = isinstance(self.min_confidence, Real)
        if hierarchy.is_tree and not is_number:  # there are none for sets of classes
            thresholds_of(self.min_confidence, hierarchy)

    def _refuse_threshold(self) -> None:
        raise ValueError(
            f"threshold={self.threshold!r} selects sets of classes, but this model predicts one "
            f"path per row. Use min_confidence, or multi_label=True if rows have several labels."
        )

    # -- the fitted state --------------------------------------------------------------------------

    def _remember(
        self, models: PathModels | AnySetModels, format: LabelFormat | SetFormat, **learned: Any
    ) -> None:
        """Set everything that prediction needs, and ``name_`` for everything ``learned``."""
        self.__dict__.pop("guarantee_", None)  # it belongs to another model
        self._models = models
        self._format = format
        self.hierarchy_ = models.hierarchy
        self.missing_label_ = format.missing
        self.classes_ = self._classes()
        for name, value in {"temperature": models.temperature, **learned}.items():
            if value is not None:
                setattr(self, f"{name}_", value)

    def _forget(self) -> None:
        """Remove everything that fit sets."""
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("__")]:
            delattr(self, name)
        for name in self._private:
            self.__dict__.pop(name, None)

    def _refit(
        self, X: Any, y: Any, hierarchy: Hierarchy, fit_params: dict[str, Any]
    ) -> PathModels:
        """Fit a copy of this fitted model on other rows; all that an ensemble needs of a member.

        Parameters
        ----------
        X : rows
            The rows of a fold.
        y : array-like
            Their labels.
        hierarchy : Hierarchy
            All classes: the fold may lack some of them.
        fit_params : dict
            Keyword arguments of ``fit``, for these rows.

        Returns
        -------
        LocalModels
            The fitted models.
        """
        known = {name: vars(self)[f"{name}_"] for name in self._learned if f"{name}_" in vars(self)}
        model = clone(self).set_params(hierarchy=hierarchy, **known)
        with warnings.catch_warnings():
            # The fit on all rows has already warned.
            warnings.filterwarnings("ignore", message="No training row ends at an inner node")
            models: PathModels = model.fit(X, y, **fit_params)._models
        return models

    # -- predict -------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        # scikit-learn's check reads the tags first, which takes long for a single row.
        if "_models" not in self.__dict__:
            check_is_fitted(self)

    def _check_rows(self, X: Any) -> Any:
        self._check_fitted()
        if is_as_fitted(self, X, finite=True):
            return X
        packed = holds_packed(self._models)
        return check_X(self, X, self._input_tags(), reset=False, numbers=packed)

    def _map(
        self, function: Any, X: Any, width: int | None = None, *, everywhere: bool = False
    ) -> list[Any]:
        """Call a function on chunks of rows, in up to ``n_jobs`` threads."""
        width = width or width_of(self._models)
        return self._map_chunks(lambda chunk, _: function(chunk), X, width, everywhere)

    def _map_chunks(self, function: Any, X: Any, width: int, everywhere: bool) -> list[Any]:
        n_threads = effective_n_jobs(self.n_jobs)
        if n_threads == 1:
            return map_chunks(function, X, width)
        return map_in_threads(function, X, self._models, width, n_threads, everywhere=everywhere)

    def _fill(
        self, out: list[AnyArray], function: Any, X: Any, width: int, *, everywhere: bool = False
    ) -> list[AnyArray]:
        """Fill arrays with the results of a function for chunks of rows, to save memory."""

        def fill(chunk: Any, rows: slice) -> None:
            for whole, part in zip(out, function(chunk), strict=True):
                whole[rows] = part

        self._map_chunks(fill, X, width, everywhere)
        return out

    # -- decisions -----------------------------------------------------------------------------

    @property
    def _decoding(self) -> Decoding:
        known = DECODINGS.get(self.decoding) if isinstance(self.decoding, str) else None
        return as_decoding(self.decoding) if known is None else known

    def _wish(self, only_nodes: bool = False) -> Wish:
        return Wish(self.leaf_only, self._f_to_expect(), self._thresholds, only_nodes)

    @property
    def _thresholds(self) -> Thresholds:
        """The thresholds of the nodes, according to ``min_confidence``."""
        if isinstance(self.min_confidence, Real):
            return float(self.min_confidence)
        return thresholds_of(self.min_confidence, self.hierarchy_)

    def _truncates(self) -> bool:
        """Whether ``min_confidence`` has a threshold above 0."""
        if isinstance(self.min_confidence, Real):
            return float(self.min_confidence) > 0
        return is_set(self.min_confidence)

    def _f_to_expect(self) -> float | None:
        """The F-score that ``decoding="expected_f1"`` assumes, given or learned, if any."""
        if self.expected_f1 is not None:
            return float(self.expected_f1)
        return self.__dict__.get("expected_f1_")

    @property
    def _learns_f(self) -> bool:
        """Whether fit must estimate the F-score."""
        return self._decoding.needs_f and self.expected_f1 is None

    def _needs_probabilities(self, direct: bool) -> str:
        """The parameter that needs probabilities of the local classifiers, or ""."""
        if self._truncates():
            return f"min_confidence={self.min_confidence}"
        needed = self._decoding.needs_proba(direct)
        return f"decoding={self.decoding!r}" if needed else ""

    def _may_end(self) -> bool:
        """Whether a predicted path may stop early, given parameters and training rows."""
        fewest = self._decoding.fewest_labels
        if self._truncates() or fewest == 0:
            return True
        if fewest is not None and not self.leaf_only and self._format.ndim == 2:
            return bool(fewest < self._format.n_levels) or self._ends_early()
        return self._ends_early()

    def _ends_early(self) -> bool:
        ends = self.hierarchy_.levels[self._models.options.ends]
        return self._format.ndim == 2 and bool(ends.min() < self._format.n_levels)

    def _decision_of_chunk(self, only_nodes: bool = False) -> Any:
        """A function that decides on a path for every row of a chunk."""
        self._check_decision_parameters()
        models, decoding = self._models, self._decoding
        wish = self._wish(only_nodes)
        needed = self._needs_probabilities(models.is_direct)
        if needed and not models.has_proba:
            raise ValueError(
                f"{needed} needs probabilities, which the local classifiers of this model do not "
                f"have. {self._how_to_get_proba}"
            )
        decoding.check(wish)
        return lambda chunk: truncate(
            decoding.apply(models, chunk, wish), self.hierarchy_, wish.min_confidence
        )

    def _decide(self, X: Any, *, only_nodes: bool = False) -> Decision:
        """Decide on a path for every row, in chunks; with ``only_nodes``, without confidence."""
        X = self._check_rows(X)
        decide, n = self._decision_of_chunk(only_nodes), n_rows_of(X)
        depth = 0 if only_nodes else self.hierarchy_.depth

        def parts(chunk: Any) -> tuple[AnyArray, AnyArray]:
            decision = decide(chunk)
            return decision.nodes, decision.confidence[:, :depth]

        out: list[AnyArray] = [np.empty(n, dtype=np.intp), np.empty((n, depth))]
        wish = self._wish(only_nodes)
        everywhere = self._models.is_direct and not self._decoding.searches(self._models, wish)
        width = self._decoding.width_for(self._models, wish)
        self._fill(out, parts, X, width, everywhere=everywhere)
        return Decision(*out)

    def predict(self, X: Any) -> AnyArray:
        """Predict the path, or the label, of every row.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_levels)
            Labels in the form and type of ``y`` in ``fit``, with ``missing_label_`` after the end
            of a path. With ``multi_label=True``, an array of lists with the most specific labels,
            or an indicator matrix of all classes, sparse or dense like ``y``.
        """
        self._check_fitted()
        if self._is_about_sets():
            return predict_sets(self, X)
        return self._labels_of(self._decide(X, only_nodes=True).nodes)

    def _labels_of(self, nodes: IntArray) -> AnyArray:
        """Nodes in the form of ``y`` in ``fit``."""
        return decode(nodes, self.hierarchy_, self._format, may_end=self._may_end())

    @offered_if(has_proba)
    def predict_confidence(self, X: Any) -> Any:
        """Return the probability of every node on the predicted path, or in the predicted set.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        confidence : ndarray of shape (n_samples, n_levels)
            The probability of the node that ``predict`` returns at each level. It never increases
            along a path and is NaN after its end. For sets of classes, the probability of every
            predicted class in the form of ``predict``: a list for each row, or a matrix with 0 for
            classes that are not predicted. In a DAG with one label per row, an array of shape
            (n_samples,).
        """
        self._check_fitted()
        if self._is_about_sets():
            return predict_set_confidence(self, X)
        return self._by_level(self._decide(X).confidence)

    def _by_level(self, confidence: FloatArray) -> FloatArray:
        """Confidences with one column for each level of ``y`` in ``fit``."""
        padded = np.full((len(confidence), self._format.n_levels), np.nan)
        width = min(padded.shape[1], confidence.shape[1])
        padded[:, :width] = confidence[:, :width]
        return padded

    @offered_if(has_proba)
    def predict_node_proba(self, X: Any) -> FloatArray:
        """Return the probability of every node of the hierarchy.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_nodes)
            One column per node of ``hierarchy_``. The root has probability 1. The probability of a
            node is the sum of those of its children and of stopping at the node. For sets of
            classes, no class is more probable than its ancestors.
        """
        X = self._check_rows(X)
        width = self.hierarchy_.n_nodes
        out = [np.empty((n_rows_of(X), width))]
        self._fill(out, lambda chunk: [node_proba(self._models, chunk)], X, width, everywhere=True)
        return out[0]

    @offered_if(has_paths)
    def predict_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Return the probability of every label, at each level.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of such arrays
            For 1-D ``y``, one array with the columns ``classes_``. For paths, one array per level
            with the columns ``classes_[level]``; if paths may end above the level, the last column
            is the probability that the path has ended. Probabilities of classes of one level with
            the same label are summed.
        """
        X = self._check_rows(X)
        classes = [self.classes_] if self._format.ndim == 1 else self.classes_
        levels = [np.empty((n_rows_of(X), len(labels))) for labels in classes]
        by_label = label_proba(self._models, self._format, self.classes_)
        self._fill(levels, by_label, X, self.hierarchy_.n_nodes, everywhere=True)
        return levels[0] if self._format.ndim == 1 else levels

    @offered_if(has_paths)
    def predict_log_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Return the logarithm of ``predict_proba``.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        log_proba : ndarray, or list of ndarray
            The logarithms, in the form of ``predict_proba``.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(p) for p in proba] if isinstance(proba, list) else np.log(proba)

    def _classes(self) -> Any:
        models, hierarchy = self._models, self._models.hierarchy
        if models.of_sets:
            return set_classes(hierarchy, models.populated, models.ends, self._format)
        return path_classes(hierarchy, self._format, models.options.ends)

    @offered_if(has_proba)
    def predict_paths(self, X: Any, k: int = 5) -> tuple[AnyArray, FloatArray]:
        """Return the ``k`` most probable paths, or labels, of every row.

        Parameters
        ----------
        X : rows
            As in ``fit``.
        k : int, default=5
            Number of paths.

        Returns
        -------
        paths : ndarray of shape (n_samples, k, n_levels), or (n_samples, k) for 1-D ``y``
            The paths, starting with the most probable. If there are fewer than ``k`` paths, the
            rest is filled with missing labels. For sets of classes, an array of shape
            (n_samples, k) with the labels or path tuples of the most probable final classes.
        proba : ndarray of shape (n_samples, k)
            The probability that the path of the row ends exactly there, or 0 if there are fewer
            paths. For sets of classes, the probability that the class is in the set.

        Raises
        ------
        ValueError
            If ``k`` is not a positive integer.
        """
        k = check_n_paths(k)
        self._check_fitted()
        if self._is_about_sets():
            return rank_classes(self, X, k)
        X = self._check_rows(X)
        models = self._models
        may_end = self._ends_early() or k > len(models.options.ends)
        write = label_writer(self.hierarchy_, self._format, may_end=may_end)

        def paths(chunk: Any) -> tuple[AnyArray, FloatArray]:
            nodes, proba = best_paths(models, chunk, k)
            return write(nodes), proba

        shape = (n_rows_of(X), k)
        of_path = () if self._format.ndim == 1 else (self._format.n_levels,)
        labels = np.empty((*shape, *of_path), dtype=label_dtype(self._format, may_end))
        width = width_of_best_paths(models, k)
        out = [labels, proba := np.empty(shape)]
        self._fill(out, paths, X, width, everywhere=models.is_direct)
        return labels, proba

    @offered_if(has_proba)
    def restricted_to(self, classes: Iterable[Any]) -> Any:
        """Return a light copy of the fitted model that predicts only the given classes.

        Parameters
        ----------
        classes : iterable of labels or path tuples
            The possible classes. Each includes its descendants.

        Returns
        -------
        model : same type
            A model that shares the local classifiers. Its probabilities are conditional on the
            given classes; other classes have probability 0. For sets of classes, the probabilities
            of the given classes do not change, and an ancestor gets the largest probability of the
            given classes below it.

        Raises
        ------
        ValueError
            If a class does not exist, or none of the classes has training rows.
        """
        self._check_fitted()
        model = copy.copy(self)
        model.__dict__.pop("guarantee_", None)  # it applies to all classes together
        if self._is_about_sets():
            model._models = restrict_sets(self._models, classes)
        else:
            model._models = restrict(self._models, allowed_nodes(self._models, classes))
        return model

    adapted_to = offered_if(adapts)(adapted_to)
    prior_ = property(prior)
    n_iter_ = property(n_iter)

    # -- the rest of the contract --------------------------------------------------------------

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the hierarchical F-score (hF) of the predictions.

        Parameters
        ----------
        X : rows
            As in ``fit``.
        y : array-like
            True labels. Classes that were not seen in ``fit`` are allowed.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            The micro-averaged :func:`hiclass.metrics.f1`. With a single level, it equals accuracy.
        """
        y_pred = self.predict(X)
        # Single labels need the hierarchy for their ancestors; paths contain them.
        sets = self._set_options()
        if sets is not None:
            return float(metrics.f1(y, y_pred, **sets, sample_weight=sample_weight))
        needed = self._format.ndim == 1 and self.hierarchy_.depth > 1
        hierarchy = self.hierarchy_ if needed else None
        return float(metrics.f1(y, y_pred, hierarchy=hierarchy, sample_weight=sample_weight))

    def _set_options(self) -> dict[str, Any] | None:
        """Arguments for metrics that compare several labels per row; None for one label."""
        if not self._format.of_sets:
            return None
        # Paths, and labels without a hierarchy, may be new: they define their own hierarchy.
        tree = self.hierarchy_
        own = self._format.as_paths or (tree.identity == "path" and tree.depth == 1)
        needed = not own or self._format.kind in ("dense", "sparse")
        return {"hierarchy": tree if needed else None, "multi_label": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = self.multi_label
        inner = self._input_tags()
        if inner is None:
            tags.input_tags.sparse = tags.input_tags.allow_nan = True
            return tags
        for name in ("sparse", "allow_nan", "positive_only", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner.input_tags, name))
        tags.non_deterministic = inner.non_deterministic
        if inner.classifier_tags is not None:
            tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags

    def get_metadata_routing(self) -> Any:
        """Get the metadata routing of this object.

        Returns
        -------
        MetadataRouter or MetadataRequest
            The routing information.
        """
        prototype = self._prototype()
        if prototype is None:
            return super().get_metadata_routing()
        return prototype.routing(self)

    # -- files -----------------------------------------------------------------------------------

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return reduce_stamped(self)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "min_confidence" in state:
            state = {**state, "min_confidence": for_files(state["min_confidence"])}
        if state.get("class_texts") is not None:
            stored = texts_for_files(state["class_texts"], state.get("hierarchy_"))
            state = {**state, "class_texts": stored}
        if state.get("hierarchy") is not None:
            state = {**state, "hierarchy": hierarchy_for_files(state["hierarchy"])}
        return as_stamped(state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Parameters that were added after the file was written get their defaults.
        given = signature(type(self)).parameters.values()
        self.__dict__.update({p.name: p.default for p in given if p.default is not p.empty})
        self.__dict__.update(read_stamped(state, type(self).__name__))
        if "min_confidence" in self.__dict__:
            self.min_confidence = from_files(self.min_confidence)
        known = self.__dict__
        if "class_texts" in known:
            texts = texts_from_files(known["class_texts"], known.get("hierarchy_"))
            known["class_texts"] = texts
