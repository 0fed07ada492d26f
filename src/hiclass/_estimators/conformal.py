"""``ConformalClassifier``: guarantees from held-out rows."""

from __future__ import annotations

import itertools
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from hiclass._closure import most_specific
from hiclass._compat import Interval, StrOptions, check_is_fitted, routing_enabled
from hiclass._engine.callbacks import handing_callbacks_on
from hiclass._engine.fit import is_per_row
from hiclass._engine.local_classifiers import with_groups
from hiclass._estimators.base import BaseHierarchicalClassifier, check_parameters
from hiclass._estimators.fitting import fitting
from hiclass._estimators.held_out import NO_PROBA, true_nodes
from hiclass._estimators.sets import are_sets
from hiclass._inference.decodings import Decision, truncate, with_confidence
from hiclass._inference.paths import final_proba, final_to_nodes, sum_final
from hiclass._inference.selections import Rule
from hiclass._inference.sets import set_node_proba
from hiclass._labels.columns import read_labels
from hiclass._labels.sets import read_sets
from hiclass._out_of_fold.risk_control import RISKS, Chunk
from hiclass._rows import as_weights, check_X, chunks_of_rows, n_rows_of, slice_rows, take_rows
from hiclass._targets.paths import check_n_labels
from hiclass._targets.sets import known_sets, write_nodes
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass._warnings import warn_user
from hiclass._wrapping import detached, name_for_fit, named, unwrap
from hiclass.model_selection import hold_out_groups, read_groups


class ConformalClassifier(BaseHierarchicalClassifier):
    """Conformal prediction: predictions that contain the true class with a chosen probability.

    Split conformal prediction on a tree, for rows that are exchangeable with the calibration rows:

    * ``kind="path"``: every path is truncated so that the true class is at or below its last label
      with probability at least ``1 - alpha``.
    * ``kind="set"``: :meth:`predict_set` returns a set of classes that contains the true class with
      probability at least ``1 - alpha``. ``predict`` returns the deepest class that covers the set.

    For models that predict sets of classes (including all ancestors), an error rate is controlled:

    * ``kind="false_negatives"``: on average, at most a share ``alpha`` of the true classes of a row
      is missed (conformal risk control).
    * ``kind="false_discoveries"``: on average, at most a share ``alpha`` of the predicted classes
      of a row is wrong. This holds with probability ``certainty`` over the draw of the calibration
      rows (learn then test).

    ``partial_fit`` is not available; use a frozen model that was fitted in batches.

    Parameters
    ----------
    model : hierarchical classifier, or FrozenEstimator of a fitted one
        The model, or a pipeline or search that ends in one. It is cloned and fitted on a part of
        the rows; the other rows are used for calibration. A frozen model is used as it is, and all
        rows are used for calibration.
    alpha : float, default=0.1
        The error rate that is allowed.
    kind : {"path", "set", "false_negatives", "false_discoveries"}, default="path"
        The kind of guarantee. The last two are for models that predict sets of classes.
    certainty : float, default=None
        The probability with which ``kind="false_discoveries"`` holds, 0.95 by default. The other
        kinds hold on average and do not accept it.
    calibration_size : float, default=0.25
        The share of the rows used for calibration. Ignored with a frozen model.
    random_state : int, RandomState instance or None, default=None
        Controls the random split.

    Attributes
    ----------
    model_ : estimator
        The fitted model, including the pipeline or search around it.
    kind_ : str
        The kind of guarantee for which the threshold was computed.
    threshold_ : float
        The quantile of the scores of the calibration rows. For sets of classes, the smallest
        probability of a predicted class.
    hierarchy_ : Hierarchy
        The hierarchy of classes.
    classes_ : ndarray, or list of ndarray
        The labels. For paths, one array per level.
    missing_label_ : object
        The value of a missing label in predictions.

    See Also
    --------
    tune_confidence : Choose a threshold for a given precision, without a guarantee.
    guarantee_error : Bound the share of wrong labels among the labels that are predicted.

    Notes
    -----
    The score of a row is the probability of the first wrong node on the decoded path, or 0 if the
    path is correct. Let q be the conformal quantile of these scores over the calibration rows. The
    prediction is the deepest node of the path with a probability above q. It is wrong only if the
    score of the new row is above q. An empty path is always correct.

    Examples
    --------
    >>> from hiclass import ConformalClassifier, LocalClassifierPerParentNode
    >>> X = [[i] for i in range(40)]
    >>> y = [["A", "x"] if i < 10 else ["A", "z"] if i < 20 else ["B", "y"] for i in range(40)]
    >>> model = ConformalClassifier(LocalClassifierPerParentNode(), random_state=0).fit(X, y)
    >>> model.predict([[35]])
    array([['B', 'y']], dtype=object)
    """

    _decision_parameters: ClassVar[tuple[str, ...]] = ()
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "model": "no_validation",
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "kind": [StrOptions({"path", "set", *RISKS})],
        "certainty": [Interval(Real, 0, 1, closed="neither"), None],
        "calibration_size": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    #: Groups are requested by default, as in the group splitters of scikit-learn.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}

    def __init__(
        self,
        model: Any,
        alpha: float = 0.1,
        *,
        kind: str = "path",
        certainty: float | None = None,
        calibration_size: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.alpha = alpha
        self.kind = kind
        self.certainty = certainty
        self.calibration_size = calibration_size
        self.random_state = random_state

    def _input_tags(self) -> Any:
        model = self._given()
        # A pipeline or search accepts whatever its own steps accept.
        return model._input_tags() if isinstance(model, BaseHierarchicalClassifier) else None

    @property
    def n_jobs(self) -> int | None:  # type: ignore[override]
        """The number of jobs of the model."""
        return getattr(unwrap(self.model).model, "n_jobs", None)

    def _promises_proba(self) -> bool:
        inside = unwrap(self.model)
        known = isinstance(inside.model, BaseHierarchicalClassifier) and not inside.searched
        return not known or hasattr(inside.model, "predict_node_proba")

    def _given(self) -> Any:
        """The given model, including the pipeline or search around it."""
        return self.model.estimator if isinstance(self.model, FrozenEstimator) else self.model

    def _check_rows(self, X: Any) -> Any:
        """Rows as the inner model sees them."""
        self._check_fitted()
        inside = unwrap(self.model_)
        if not inside.before:
            return super()._check_rows(X)
        X = check_X(self, X, self._input_tags(), reset=False)
        return inside.model._check_rows(inside.transform(X))

    def _decide_inside(self, X: Any) -> Decision:
        """The decisions of the model without the guarantee."""
        inside = unwrap(self.model_)
        decision: Decision = inside.model._decide(inside.transform(X))
        return decision

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> Any:
        """Fit the model on a part of the rows and calibrate on the rest.

        Parameters
        ----------
        X : rows
            As for the model.
        y : array-like
            Labels in any form that the model accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows for the ``fit`` of the model. Calibration ignores them: the
            guarantee holds for equally weighted rows.
        groups : array-like of shape (n_samples,), default=None
            The group of every row, such as a patient or a recording. Whole groups are used for
            calibration, with about ``calibration_size`` of the rows. The groups of the other rows
            are passed to the model if it accepts them. Ignored with a frozen model.
        **fit_params : dict
            Further keyword arguments for the ``fit`` of the model. Arguments with one entry per row
            are split.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        TypeError
            If the model is not a hierarchical classifier of this library.
        ValueError
            If the model has no probabilities, or if no row or group is left to fit it.
        """
        with fitting(self, X, y):
            check_parameters(self, tuple(self._parameter_constraints))
            self._check_model()
            X = check_X(self, X, self._input_tags(), reset=True)
            check_n_labels(self._count_labels(y), n_rows_of(X))
            unit = None if groups is None else read_groups(groups, n_rows_of(X))
            fit_params = self._with_weights(X, sample_weight, fit_params)
            if unit is not None and not isinstance(self.model, FrozenEstimator):
                fit_params = with_groups(self.model, {**fit_params, "groups": groups})
            model, X_held_out, y_held_out = self._fit_model(X, y, unit, fit_params)
            inside = unwrap(model).model
            self._check_kind(inside)
            if not inside._models.has_proba:
                raise ValueError(NO_PROBA)
            self.model_ = model
            self.kind_ = self.kind
            self._remember(inside._models, inside._format)
            if self.kind_ in RISKS:
                self.threshold_ = self._control(X_held_out, y_held_out)
            else:
                self.threshold_ = self._quantile(self._scores(X_held_out, y_held_out))
        return self

    def _count_labels(self, y: Any) -> int:
        """The number of rows that have labels, in whatever form."""
        inside = unwrap(self.model).model
        several = getattr(inside, "multi_label", False)
        return int(read_sets(y).n_rows if several else read_labels(y).n_rows)

    def _check_kind(self, inside: Any) -> None:
        """Reject a kind of guarantee that does not match the predictions of the model."""
        of_sets, name = inside._is_about_sets(), type(self).__name__
        if of_sets and self.kind not in RISKS:
            raise ValueError(
                f"kind={self.kind!r} requires one path per row in a tree, but this "
                f"{type(inside).__name__} predicts sets of classes (multi_label=True, or a DAG). "
                f"Use {name}(kind='false_negatives'), or kind='false_discoveries'."
            )
        # Before it is fitted, a model may not know yet that its hierarchy is a DAG.
        if not of_sets and self.kind in RISKS and "_models" in vars(inside):
            raise ValueError(
                f"kind={self.kind!r} is for sets of classes, but this {type(inside).__name__} "
                "predicts one path per row. Use kind='path', or kind='set'."
            )
        if self.certainty is not None and not (self.kind in RISKS and RISKS[self.kind].certain):
            raise ValueError(
                f"certainty={self.certainty!r} is for kind='false_discoveries'; kind="
                f"{self.kind!r} holds on average. Leave certainty out."
            )

    def _control(self, X: Any, y: Any) -> float:
        """The threshold that keeps the error rate within the limit."""
        X = self._check_rows(X)
        closed, n_unknown = known_sets(y, self.hierarchy_, are_sets(self))
        n, risk = n_rows_of(X), RISKS[self.kind_]
        check_n_labels(closed.shape[0], n)
        # No threshold predicts a class without training rows, so it counts as unknown.
        possible = self._models.populated[1:]
        n_unknown = n_unknown + closed[:, 1:] @ (~possible).astype(np.intp)
        parts = []
        for rows in chunks_of_rows(X, self.hierarchy_.n_nodes):
            proba = set_node_proba(self._models, slice_rows(X, rows))[:, 1:]
            truth = closed[rows].toarray()[:, 1:].astype(bool) & possible
            parts.append(risk.collect(Chunk(proba, truth, n_unknown[rows])))
        allowed = 1 - (0.95 if self.certainty is None else float(self.certainty))
        threshold = risk.choose(np.concatenate(parts), n, float(self.alpha), allowed)
        if np.isneginf(threshold):
            warn_user(
                f"No threshold satisfies alpha={self.alpha} on {n} calibration rows: every set "
                f"will contain all classes. At least {int(np.ceil(1 / self.alpha)) - 1} rows are "
                "needed, and the share of labels that the model was not trained on must be below "
                "alpha. Pass more rows, or use a larger alpha."
            )
        elif risk.certain and np.isinf(threshold):
            warn_user(
                f"{n} calibration rows are not enough to guarantee alpha={self.alpha} with any "
                "threshold: every set will be empty. Pass more rows, or use a larger alpha or a "
                "smaller certainty."
            )
        return threshold

    def _check_decision_parameters(self) -> None:
        """There are none: the calibrated threshold decides."""

    def _own_rule(self) -> Rule:
        """Every class that reaches the threshold; a threshold of 2 predicts nothing."""
        return Rule(np.full(self.hierarchy_.n_nodes, np.clip(self.threshold_, 0.0, 2.0)))

    def _check_model(self) -> None:
        """Reject a model without probabilities of paths."""
        inside = unwrap(self.model).model
        if not isinstance(inside, BaseHierarchicalClassifier):
            raise TypeError(
                f"model must be a hierarchical classifier of this library, or a pipeline or search "
                f"that ends in one; got a {named(self._given())}."
            )
        self._check_kind(inside)
        if not self._promises_proba():
            raise ValueError(NO_PROBA)

    def _with_weights(
        self, X: Any, sample_weight: Any, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        """The keyword arguments for the ``fit`` of the model."""
        if sample_weight is None:
            return fit_params
        # With metadata routing, a pipeline knows which step requests weights.
        name = "sample_weight"
        if not routing_enabled():
            name = name_for_fit(self._given(), name)
        return {**fit_params, name: as_weights(sample_weight, X)}

    def _fit_model(
        self, X: Any, y: Any, groups: IntArray | None, fit_params: dict[str, Any]
    ) -> tuple[Any, Any, Any]:
        """The fitted model, and the rows that it was not fitted on."""
        if isinstance(self.model, FrozenEstimator):
            check_is_fitted(unwrap(self.model).model)
            if fit_params:
                raise ValueError(
                    f"A frozen model is not fitted and does not accept {sorted(fit_params)}."
                )
            # a copy of its current state, because it may be updated later
            return detached(self._given()), X, y
        n_rows = n_rows_of(X)
        train, held_out = self._split(n_rows, groups)
        fit_params = {
            k: take_rows(v, train) if is_per_row(v, n_rows) else v for k, v in fit_params.items()
        }
        model = clone(self._given())
        with handing_callbacks_on(self, model, "model"):
            model.fit(take_rows(X, train), take_rows(y, train), **fit_params)
        return model, take_rows(X, held_out), take_rows(y, held_out)

    def _split(self, n_rows: int, groups: IntArray | None = None) -> tuple[IntArray, IntArray]:
        n_held_out = int(np.ceil(self.calibration_size * n_rows))
        if n_held_out >= n_rows:
            raise ValueError(
                f"calibration_size={self.calibration_size} leaves no row to fit the model on "
                f"(n_samples={n_rows}). Pass more rows, or use a smaller share."
            )
        rng = check_random_state(self.random_state)
        if groups is not None:
            held_out = hold_out_groups(groups, n_held_out, rng)
            return np.flatnonzero(~held_out), np.flatnonzero(held_out)
        order = rng.permutation(n_rows)
        return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])

    def _scores(self, X: Any, y: Any) -> FloatArray:
        """The nonconformity scores of the calibration rows."""
        if self.kind_ == "set":
            X = self._check_rows(X)
            nodes = true_nodes(self, y, n_rows_of(X))
            return np.concatenate(
                [
                    self._set_scores(slice_rows(X, rows), nodes[rows])
                    for rows in chunks_of_rows(X, self.hierarchy_.n_nodes)
                ]
            )
        decision = self._decide_inside(X)
        nodes = true_nodes(self, y, len(decision.nodes))
        path = self.hierarchy_._paths[decision.nodes]
        wrong = (path >= 0) & (path != self.hierarchy_._paths[nodes])
        first = wrong.argmax(axis=1)
        rows = np.arange(len(nodes))
        return np.where(wrong.any(axis=1), decision.confidence[rows, first], 0.0)

    def _set_scores(self, X: Any, nodes: IntArray) -> FloatArray:
        """One minus the probability of the true final class; 1 if the model does not have it."""
        final, ends = final_proba(self._models, X), self._models.options.ends
        column = np.minimum(np.searchsorted(ends, nodes), len(ends) - 1)
        known = ends[column] == nodes
        return 1 - np.where(known, final[np.arange(len(nodes)), column], 0.0)

    def _quantile(self, scores: FloatArray) -> float:
        """The quantile of split conformal prediction; infinite if there are too few rows."""
        n = len(scores)
        # Round whole numbers: (9 + 1) * (1 - 0.7) is 3.0000000000000004.
        rank = int(np.ceil((n + 1) * (1 - self.alpha) - 1e-9))
        if rank <= n:
            return float(np.sort(scores)[rank - 1])
        warn_user(
            f"{n} calibration rows are too few for alpha={self.alpha}: every path will be empty, "
            f"and every set will contain all classes. At least {int(np.ceil(1 / self.alpha)) - 1} "
            f"are needed."
        )
        return float("inf")

    def _may_end(self) -> bool:
        return True

    @property
    def restricted_to(self) -> Any:
        """Not available: the guarantee does not hold for the rows of some classes only."""
        raise AttributeError(
            "ConformalClassifier has no restricted_to: its guarantee is for all classes together. "
            "Restrict the model first, and calibrate it on rows of these classes."
        )

    @property
    def adapted_to(self) -> Any:
        """Not available: the guarantee does not hold for rows with other class shares."""
        raise AttributeError(
            "ConformalClassifier has no adapted_to: its guarantee is for rows like those that it "
            "was calibrated on. Adapt the model first, and calibrate it on rows with these shares."
        )

    def _decide(self, X: Any, *, only_nodes: bool = False) -> Decision:
        self._check_fitted()
        if self.kind_ == "path":
            # Strictly above the threshold.
            above = np.nextafter(self.threshold_, np.inf)
            return truncate(self._decide_inside(X), self.hierarchy_, float(above))
        return Decision.join(self._map_final(X, self._cover))

    def _map_final(self, X: Any, function: Any) -> list[Any]:
        """Call a function with the probabilities of final classes, chunk by chunk of rows."""
        X, width = self._check_rows(X), self.hierarchy_.n_nodes
        return self._map(
            lambda chunk: function(final_proba(self._models, chunk)), X, width, everywhere=True
        )

    def _cover(self, final: FloatArray) -> Decision:
        """Choose the deepest node that covers all likely final classes."""
        nodes = self._covering_node(self._chosen(final))
        if self._excludes_nothing():
            nodes[:] = 0
        return with_confidence(self._models, final_to_nodes(self._models, final), nodes)

    def _excludes_nothing(self) -> bool:
        """Whether a set includes even classes that the model has never seen: their score is 1."""
        return self.threshold_ >= 1

    def _chosen(self, final: FloatArray) -> AnyArray:
        """The final classes of the set: all that are probable enough, and the best one."""
        chosen = 1 - final <= self.threshold_
        chosen[np.arange(len(final)), final.argmax(axis=1)] = True
        return chosen

    def _covering_node(self, chosen: AnyArray) -> IntArray:
        """The deepest node above all final classes of a set."""
        path = self.hierarchy_._paths[self._models.options.ends]
        nodes = np.zeros(len(chosen), dtype=np.intp)
        alive = np.ones(len(chosen), dtype=bool)
        for level in range(path.shape[1]):
            column = path[:, level]
            low = np.where(chosen, column, np.iinfo(np.intp).max).min(axis=1)
            high = np.where(chosen, column, -1).max(axis=1)
            alive &= (low == high) & (high >= 0)
            nodes = np.where(alive, high, nodes)
        return nodes

    def predict_set(self, X: Any) -> list[list[Any]]:
        """Return, for every row, the smallest set of classes that covers the likely final classes.

        Parameters
        ----------
        X : rows
            As in ``fit``.

        Returns
        -------
        list of list
            The classes of every row, as path tuples, or as labels if ``y`` was 1-D. A class
            includes all of its descendants. With ``kind="path"``, the list holds the last class of
            the predicted path. With a controlled error rate, it holds the most specific predicted
            classes; in a DAG with one label per row, there may be any number. An empty list
            excludes nothing: the path is empty, or too many calibration rows belong to classes
            that the model was not trained on.
        """
        self._check_fitted()
        if self.kind_ in RISKS:
            rows = self._map(self._own_sets, self._check_rows(X), self.hierarchy_.n_nodes)
            return [row for chunk in rows for row in chunk]
        if self.kind_ == "path":
            return [[self._name(v)] if v else [] for v in self._decide(X).nodes.tolist()]
        return [row for chunk in self._map_final(X, self._name_sets) for row in chunk]

    def _own_sets(self, X: Any) -> list[list[Any]]:
        """The most specific classes that reach the threshold."""
        closed = self._own_rule().sets(self._models, X)
        specific = most_specific(closed, self.hierarchy_)
        names = write_nodes(specific.indices, self.hierarchy_, self._format).tolist()
        return [names[a:b] for a, b in itertools.pairwise(specific.indptr.tolist())]

    def _name_sets(self, final: FloatArray) -> list[list[Any]]:
        """The smallest sets of classes that represent the likely final classes of each row."""
        if self._excludes_nothing():
            return [[] for _ in final]
        chosen, models = self._chosen(final), self._models
        count = sum_final(models, chosen.astype(np.float64))
        total = sum_final(models, np.ones((1, chosen.shape[1])))
        covers = (count == total) & (total > 0)
        # An inner node that is itself a final class can only be named together with its
        # descendants.
        ends = models.options.ends
        covers[:, ends] |= chosen
        covers[:, 0] = False
        # A class with a single branch is less specific than the class below it.
        covers[:, (np.diff(models.options.indptr) == 1) & ~models.options.can_stop] = False
        for nodes in self.hierarchy_.nodes_by_level[2:]:
            above = self._covered_above(covers, nodes)
            covers[:, nodes] &= ~above
        return [[self._name(int(v)) for v in np.flatnonzero(row)] for row in covers]

    def _covered_above(self, covers: AnyArray, nodes: IntArray) -> AnyArray:
        table = self.hierarchy_._paths[nodes]
        above = np.zeros((len(covers), len(nodes)), dtype=bool)
        for level in range(int(self.hierarchy_.levels[nodes[0]]) - 1):
            above |= covers[:, table[:, level]]
        return above

    def _name(self, node: int) -> Any:
        return (
            self.hierarchy_.path(node) if self._format.ndim == 2 else self.hierarchy_.labels[node]
        )
