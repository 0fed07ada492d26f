"""The scikit-learn contract, once for all estimators.

A subclass says which local problems there are (``_local_problems``), what they are called and which
strategy answers at predict time. Everything else is here: parameters, X and y in, labels out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from hiclass import metrics
from hiclass._fit import fit_problems
from hiclass._labels import AnyArray, object_array, plain
from hiclass._predict import (
    Decision,
    FloatArray,
    LocalModels,
    best_path_flat,
    cut,
    ending_proba,
    level_proba,
    node_proba,
    top_down,
)
from hiclass._problems import LocalProblem, Options, RowIndex, find_options
from hiclass._targets import LabelFormat, Target, classes_by_level, decode, distinct_labels, encode
from hiclass._validation import (
    UNUSED,
    Interval,
    MetadataRouter,
    MethodMapping,
    as_weights,
    check_accepts_weights,
    check_child,
    check_is_fitted,
    check_parameters,
    check_X,
    child_tags,
    chunks_of_rows,
    copy_child,
    n_rows_of,
    process_routing,
    routing_enabled,
    set_random_state,
    slice_rows,
)
from hiclass.hierarchy import Hierarchy


def _has_proba(self: BaseHierarchicalClassifier) -> bool:
    """Whether probabilities can be had, before and after fit."""
    models = self.__dict__.get("_models")
    if models is not None:
        soft = models.soft
    else:
        soft = self._is_factory() or hasattr(self._child(), "predict_proba")
    if not soft:
        raise AttributeError(
            f"{type(self).__name__} has no probabilities because its local classifier has no "
            f"predict_proba. Use one that has it, for example by wrapping it into "
            f"sklearn.calibration.CalibratedClassifierCV."
        )
    return True


class BaseHierarchicalClassifier(ClassifierMixin, BaseEstimator):
    """Base of all hierarchical classifiers; not for direct use."""

    _strategy: ClassVar[str]
    _decision_parameters: ClassVar[tuple[str, ...]] = ("decoding", "min_confidence")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "local_classifier": "no_validation",
        "hierarchy": "no_validation",
        "min_confidence": [Interval(Real, 0, 1, closed="both")],
        "leaf_only": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    # fit hands sample weights on to the local classifiers and makes no other use of them.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}

    local_classifier: Any
    hierarchy: Any
    decoding: str
    min_confidence: float
    leaf_only: bool
    random_state: Any
    _models: LocalModels
    _format: LabelFormat

    # -- what a subclass says ------------------------------------------------------------------

    def _local_problems(self, index: RowIndex, options: Options) -> Iterable[LocalProblem]:
        raise NotImplementedError

    def _owner_name(self, problem: LocalProblem, hierarchy: Hierarchy) -> str:
        return hierarchy.describe(problem.owner)

    def _owner_key(self, owner: int, hierarchy: Hierarchy) -> Any:
        """What a callable ``local_classifier`` is given: the path of the node."""
        return hierarchy.path(owner)

    # -- fit -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Fit one local classifier per local problem.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame, list} of n_samples rows
            Whatever the local classifier takes. Rows are sliced and otherwise passed through.
        y : array-like of shape (n_samples,) or (n_samples, n_levels), frame or list of lists
            One label per row, or one path per row from the top of the hierarchy down. Labels may be
            missing at the end of a path, written as ``""``, ``None``, ``NaN``, ``pandas.NA`` or by
            a shorter list.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, handed to every local classifier by keyword.
        **fit_params : dict
            More keyword arguments for the ``fit`` of every local classifier; what has one entry per
            row is sliced. With metadata routing enabled, what the local classifier requested.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._forget()
        try:
            self._fit(X, y, sample_weight, fit_params)
        except BaseException:
            self._forget()
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> None:
        self._check_parameters()
        X = check_X(self, X, self._child_tags(), reset=True)
        target = encode(y, self.hierarchy)
        self._check_target(target, n_rows_of(X))
        params = self._params_of_children(X, sample_weight, fit_params)
        index = RowIndex(target.hierarchy, target.nodes)
        options = find_options(index, leaf_only=self.leaf_only)
        classifiers, gates = fit_problems(
            self._local_problems(index, options),
            X,
            self._child_factory(target.hierarchy),
            lambda problem: self._owner_name(problem, target.hierarchy),
            params,
            getattr(self, "n_jobs", None),
        )
        soft = all(hasattr(c, "predict_proba") for c in (*classifiers.values(), *gates.values()))
        self._models = LocalModels(
            self._strategy, target.hierarchy, options, classifiers, gates, soft
        )
        self._format = target.format
        self.hierarchy_ = target.hierarchy
        self.missing_label_ = target.format.missing
        self.classes_ = self._classes()

    def _forget(self) -> None:
        """Remove everything that fit sets."""
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("__")]:
            delattr(self, name)
        self.__dict__.pop("_models", None)
        self.__dict__.pop("_format", None)

    def _check_parameters(self) -> None:
        check_parameters(self, tuple(self._parameter_constraints))
        self._check_decision_parameters()
        if not self._is_factory():
            self._check_capability(check_child(self._child()))

    def _check_decision_parameters(self) -> None:
        check_parameters(self, self._decision_parameters)
        if self.leaf_only and self.min_confidence > 0:
            raise ValueError(
                f"leaf_only=True wants every path to end at a leaf, but min_confidence="
                f"{self.min_confidence} ends paths earlier. Set one of the two."
            )

    def _check_capability(self, child: Any) -> None:
        """Refuse, before any work, a child that could not answer at predict time."""
        name = type(child).__name__
        if hasattr(child, "predict_proba"):
            return
        remedy = (
            "Use a classifier with predict_proba, for example "
            f"sklearn.calibration.CalibratedClassifierCV({name}())."
        )
        if self.min_confidence > 0:
            raise ValueError(
                f"min_confidence={self.min_confidence} needs probabilities, but {name} has no "
                f"predict_proba. {remedy}"
            )
        scored = self._strategy in ("node", "level")
        if not hasattr(child, "decision_function" if scored else "predict"):
            needs = "predict_proba or decision_function" if scored else "predict"
            raise ValueError(f"{type(self).__name__} needs {needs}; {name} has neither. {remedy}")

    def _check_target(self, target: Target, n_rows: int) -> None:
        if len(target.nodes) != n_rows:
            raise ValueError(
                f"X has {n_rows} rows but y has {len(target.nodes)} (inconsistent numbers of "
                f"samples). Give one label or path per row."
            )
        if not target.hierarchy.is_tree:
            target.hierarchy._require_tree(type(self).__name__)

    # -- children ------------------------------------------------------------------------------

    def _is_factory(self) -> bool:
        """Whether ``local_classifier`` is a callable that makes classifiers."""
        child = self.local_classifier
        return (
            callable(child) and not hasattr(child, "fit") and not isinstance(child, type)
        )

    def _child(self) -> Any:
        # An unfitted forest has a length of 0, so "or" would replace it.
        if self.local_classifier is not None:
            return self.local_classifier
        child = LogisticRegression()
        return child.set_fit_request(sample_weight=True) if routing_enabled() else child

    def _child_tags(self) -> Any:
        return None if self._is_factory() else child_tags(self._child())

    def _child_factory(self, hierarchy: Hierarchy) -> Any:
        """A function that makes the unfitted classifier of a local problem."""
        seed = None
        if self.random_state is not None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)

        def make(problem: LocalProblem) -> Any:
            if self._is_factory():
                key = self._owner_key(problem.owner, hierarchy)
                child = check_child(self.local_classifier(key), f"local_classifier({key!r})")
                self._check_capability(child)
            else:
                child = self._child()
            child = copy_child(child)
            if seed is not None:
                # By name, not by position: a new class leaves the other classifiers as they are.
                name = f"{self._owner_name(problem, hierarchy)!r} {problem.gate}"
                set_random_state(child, zlib.crc32(name.encode(), seed) & 0x7FFFFFFF)
            return child

        return make

    def _params_of_children(
        self, X: Any, sample_weight: Any, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        params = dict(fit_params)
        if sample_weight is not None:
            params["sample_weight"] = as_weights(sample_weight, X)
        if routing_enabled() and not self._is_factory():
            return dict(process_routing(self, "fit", **params).local_classifier.fit)
        if not self._is_factory():
            for name in params:
                check_accepts_weights(self._child(), name)
        return params

    # -- predict -------------------------------------------------------------------------------

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return check_X(self, X, self._child_tags(), reset=False)

    def _chunks(self, X: Any, width: int | None = None) -> Iterator[Any]:
        for rows in chunks_of_rows(X, width or self._models.width):
            yield slice_rows(X, rows)

    def _decide(self, X: Any) -> Decision:
        """Decide on a path for every row, in chunks."""
        X = self._check_rows(X)
        self._check_decision_parameters()
        if self.min_confidence > 0:
            _has_proba(self)
        decide = {"top_down": top_down, "best_path": best_path_flat}[self.decoding]
        done = [
            cut(decide(self._models, chunk), self.hierarchy_, self.min_confidence)
            for chunk in self._chunks(X)
        ]
        return Decision(
            np.concatenate([d.nodes for d in done]), np.concatenate([d.confidence for d in done])
        )

    def _may_end(self) -> bool:
        """Whether a prediction may leave levels out: from parameters and training rows only."""
        ends = self.hierarchy_.levels[self._models.options.ends]
        early = self._format.ndim == 2 and bool(ends.min() < self._format.n_levels)
        return early or self.min_confidence > 0

    def predict(self, X: Any) -> AnyArray:
        """Predict the path, or the label, of every row.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_levels)
            Labels in the form and type of ``y`` in ``fit``; ``missing_label_`` after the end of a
            path.
        """
        decision = self._decide(X)
        return decode(decision.nodes, self.hierarchy_, self._format, may_end=self._may_end())

    @available_if(_has_proba)
    def predict_confidence(self, X: Any) -> FloatArray:
        """Return the probability of every node on the predicted paths.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        confidence : ndarray of shape (n_samples, n_levels)
            The probability of the node that ``predict`` returns at each level; it never rises
            along a path. NaN after the end of a path.
        """
        confidence = self._decide(X).confidence
        padded = np.full((len(confidence), self._format.n_levels), np.nan)
        width = min(padded.shape[1], confidence.shape[1])
        padded[:, :width] = confidence[:, :width]
        return padded

    @available_if(_has_proba)
    def predict_node_proba(self, X: Any) -> FloatArray:
        """Return the probability of every node of the hierarchy.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_nodes)
            One column per node of ``hierarchy_``; 1 for the root. The children of a node, and
            stopping at it, sum to it.
        """
        X = self._check_rows(X)
        width = self.hierarchy_.n_nodes
        return np.concatenate([node_proba(self._models, chunk) for chunk in self._chunks(X, width)])

    @available_if(_has_proba)
    def predict_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Return probabilities per label.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of such arrays
            For 1-D ``y`` one array with the columns ``classes_``; for paths one array per level
            with the columns ``classes_[level]``, the last one for "the path is over" where it may
            be. Classes of one level that have the same label are summed.
        """
        X = self._check_rows(X)
        chunks = [
            self._by_label(node_proba(self._models, chunk))
            for chunk in self._chunks(X, self.hierarchy_.n_nodes)
        ]
        levels = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
        return levels[0] if self._format.ndim == 1 else levels

    @available_if(_has_proba)
    def predict_log_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Return the logarithms of ``predict_proba``.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        log_proba : ndarray, or list of ndarray
            As ``predict_proba``.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(p) for p in proba] if isinstance(proba, list) else np.log(proba)

    def _by_label(self, proba: FloatArray) -> list[FloatArray]:
        if self._format.ndim == 2:
            return level_proba(proba, self._models, self.classes_)
        ends = self.hierarchy_.labels[self._models.options.ends]
        column = {(type(label), label): j for j, label in enumerate(ends.tolist())}
        order = [column[type(label), label] for label in self.classes_.tolist()]
        return [ending_proba(self._models, proba)[:, order]]

    def _classes(self) -> Any:
        hierarchy, ends = self._models.hierarchy, self._models.options.ends
        if self._format.ndim == 2:
            return classes_by_level(hierarchy, self._format, ends)
        labels = object_array(distinct_labels(hierarchy.labels[ends]))
        return labels.astype(self._format.dtype)

    # -- the rest of the contract --------------------------------------------------------------

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the hierarchical F-score (hF) of the predictions.

        Parameters
        ----------
        X : rows
            As in ``fit``.
        y : array-like
            True labels; classes that were not seen in ``fit`` are fine.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            ``hiclass.metrics.f1`` with micro averaging; for labels of one level, the accuracy.
        """
        y_pred = self.predict(X)
        hierarchy = None if self.hierarchy is None else self.hierarchy_
        return float(metrics.f1(y, y_pred, hierarchy=hierarchy, sample_weight=sample_weight))

    @property
    def local_classifiers_(self) -> LocalClassifiers:
        """The fitted local classifiers by path, label or level."""
        if "_models" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} is not fitted yet.")
        return LocalClassifiers(self._models.classifiers, self._models.hierarchy)

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata the local classifier and ``score`` want.

        Returns
        -------
        MetadataRouter
            Encapsulates the routing.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        if not self._is_factory():
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(local_classifier=self._child(), method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        child = self._child_tags()
        if child is None:
            tags.input_tags.sparse = tags.input_tags.allow_nan = True
            return tags
        for name in ("sparse", "allow_nan", "positive_only", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(child.input_tags, name))
        tags.non_deterministic = child.non_deterministic
        if child.classifier_tags is not None:
            tags.classifier_tags.poor_score = child.classifier_tags.poor_score
        return tags


class LocalClassifiers(Mapping[Any, Any]):
    """The local classifiers of a fitted model, looked up by path, label or level.

    Parameters
    ----------
    estimators : dict
        Fitted estimators by node number.
    hierarchy : Hierarchy
        The hierarchy, to find nodes.
    """

    def __init__(self, estimators: dict[int, Any], hierarchy: Hierarchy) -> None:
        self._estimators = estimators
        self._hierarchy = hierarchy

    def __getitem__(self, key: Any) -> Any:
        try:
            node = self._hierarchy.find(key)
        except ValueError as error:
            raise KeyError(str(error)) from None
        if node not in self._estimators:
            raise KeyError(
                f"{self._hierarchy.describe(node)} has no classifier: there was nothing to decide."
            )
        return self._estimators[node]

    def __iter__(self) -> Iterator[Any]:
        return (
            plain(self._hierarchy.labels[node])
            if self._hierarchy.identity == "label" and node
            else self._hierarchy.path(node)
            for node in self._estimators
        )

    def __len__(self) -> int:
        return len(self._estimators)

    def __repr__(self) -> str:
        return f"LocalClassifiers({len(self)} classifiers)"
