"""Several hierarchical models, combined."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch

from hiclass._compat import (
    BaseComposition,
    MetadataRouter,
    MethodMapping,
    StrOptions,
    process_routing,
    routing_enabled,
)
from hiclass._engine.callbacks import handing_callbacks_on
from hiclass._engine.fit import is_per_row
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.ensemble_texts import fit_ensemble, has_words
from hiclass._estimators.fitting import FIT_REQUESTS, fitting
from hiclass._inference.decodings import DECODINGS, Decoding
from hiclass._inference.selections import make_rule, read_threshold
from hiclass._out_of_fold.folds import N_FOLDS, check_groups, deal_paths, deal_sets, fit_folds
from hiclass._out_of_fold.rankings import (
    Ranking,
    fewer_rows,
    learn_set_weights,
    member_proba,
    mix,
)
from hiclass._out_of_fold.temperatures import expected_classes, mean_one, reached_f
from hiclass._out_of_fold.thresholds import as_scored, tune_thresholds
from hiclass._out_of_fold.weights import learn_weights
from hiclass._rows import as_weights, check_X, n_rows_of, take_rows
from hiclass._state import EnsembleModels, SetEnsembleModels
from hiclass._targets.paths import encode
from hiclass._targets.sets import encode_in_dag, encode_sets
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.model_selection import read_groups

_NO_PROBA = (
    "The model {!r} has no probabilities. Use calibration='temperature' or a local classifier with "
    "predict_proba."
)


class EnsembleClassifier(BaseHierarchicalClassifier, BaseComposition):
    """Combine several hierarchical models by the product or the mean of their probabilities.

    The probabilities of the final classes are combined, normalised and summed up the tree. Start
    with the product of a flat and a local model, which make different errors. ``partial_fit`` is
    not available.

    Parameters
    ----------
    models : list of (str, estimator)
        Names and hierarchical classifiers of this library that have probabilities. They are cloned.
        Their own ``decoding`` and ``min_confidence`` are ignored.
    voting : {"product", "mean"}, default="product"
        How probabilities are combined.
    weights : list of float or "learned", default=None
        One weight per model, scaled to sum to one: exponents of a product, which makes it a
        geometric mean, or factors of a mean. By default, all weights are equal. "learned" chooses
        the weights with the smallest log loss on out-of-fold predictions; those of a product are
        not scaled, so that they also calibrate it. For models that predict sets of classes,
        "learned" chooses the weights with the largest micro-averaged average precision. Learning
        weights fits all models on three folds, shared with ``decoding="expected_f1"``.
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
    threshold : float, str or tuple, default=0.5
        For models that predict sets of classes, the smallest probability of a predicted class, or
        any other form that :class:`LocalClassifierPerNode` accepts, such as "tuned" and
        ``("top", 3)``. The probabilities of each class are combined separately.
    class_texts : mapping, Series, frame, Hierarchy or "labels", default=None
        Texts of classes, in any form that :meth:`Hierarchy.with_texts` accepts; X must be texts.
        Classes with texts but without rows can then be predicted. A :class:`ClassTextClassifier` is
        added to the models unless there is one, and all other models use the texts as additional
        training rows. Unless ``weights`` are numbers, the weight of each model depends on the
        number of rows of a class and of its siblings. It is learned out of fold, with some classes
        held out entirely.

    Attributes
    ----------
    models_ : list of estimator
        The fitted models.
    named_models_ : Bunch
        The fitted models by name.
    weights_ : ndarray of shape (n_models,)
        The weight of every model, given or learned. They sum to one, except for learned weights of
        a product: a sum above one makes the product more confident than a geometric mean, a sum
        below one less confident. With class texts, the mean over the classes.
    class_weights_ : ndarray of shape (n_models, n_final)
        With class texts, the weight of every model for every final class. It is 1 for a
        :class:`ClassTextClassifier`, whose weights of similarities are learned in the ensemble.
    hierarchy_ : Hierarchy
        The hierarchy of classes.
    classes_ : ndarray, or list of ndarray
        The labels. For paths, one array per level.
    missing_label_ : object
        The value of a missing label in predictions.
    prior_ : ndarray of shape (n_nodes,)
        The share of every node among the training rows, or the share set by ``adapted_to``.
    expected_f1_ : float
        The out-of-fold hierarchical F-score of ``decoding="expected_f1"``. Only set if it is
        learned, which happens with that decoding.
    thresholds_ : ndarray of shape (n_nodes,)
        The threshold of every node. Only set for sets of classes, if ``threshold`` is learned.
    n_features_in_ : int
        The number of features, if X has columns.
    feature_names_in_ : ndarray of str
        Names of the features, if X has column names.

    See Also
    --------
    FlatClassifier : One classifier over all leaves.
    LocalClassifierPerParentNode : One multi-class classifier per parent node.

    Examples
    --------
    >>> from hiclass import EnsembleClassifier, FlatClassifier, LocalClassifierPerParentNode
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> model = EnsembleClassifier(
    ...     [("flat", FlatClassifier()), ("local", LocalClassifierPerParentNode())]
    ... )
    >>> model.fit(X, y).predict([[5, 9]])
    array([['Plant', 'Fern']], dtype=object)
    >>> model.weights_
    array([0.5, 0.5])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHierarchicalClassifier._parameter_constraints,
        "models": [list],
        "voting": [StrOptions({"product", "mean"})],
        "weights": ["array-like", StrOptions({"learned"}), None],
        "decoding": [StrOptions(set(DECODINGS)), callable, Decoding],
        "class_texts": "no_validation",
    }

    def __init__(
        self,
        models: list[tuple[str, Any]],
        *,
        voting: str = "product",
        weights: Any = None,
        decoding: Any = "best_path",
        expected_f1: float | None = None,
        min_confidence: Any = 0.0,
        threshold: Any = 0.5,
        class_texts: Any = None,
    ) -> None:
        self.models = models
        self.voting = voting
        self.weights = weights
        self.decoding = decoding
        self.expected_f1 = expected_f1
        self.min_confidence = min_confidence
        self.threshold = threshold
        self.class_texts = class_texts

    @property
    def multi_label(self) -> bool:  # type: ignore[override]
        """Whether a row may have several labels, as set in the models."""
        return any(getattr(model, "multi_label", False) for _, model in self.models)

    @property
    def n_jobs(self) -> int | None:  # type: ignore[override]
        """The ``n_jobs`` of the first model that has this parameter."""
        jobs = (getattr(model, "n_jobs", None) for _, model in self.models)
        return next((n for n in jobs if n is not None), None)

    @property
    def leaf_only(self) -> bool:  # type: ignore[override]
        """Whether every path must end at a leaf, as set in all models."""
        return all(getattr(model, "leaf_only", False) for _, model in self.models)

    def _input_tags(self) -> Any:
        """The tags that all models have in common."""
        members = [m for _, m in self.models if isinstance(m, BaseHierarchicalClassifier)]
        known = [tags for tags in (m._input_tags() for m in members) if tags is not None]
        for tags in known[1:]:
            for name in ("sparse", "allow_nan"):
                both = getattr(known[0].input_tags, name) and getattr(tags.input_tags, name)
                setattr(known[0].input_tags, name, both)
            known[0].non_deterministic |= tags.non_deterministic
        return known[0] if known else None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters, including those of the models.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the models and their parameters.

        Returns
        -------
        dict
            The parameters by name. Those of a model are named ``model__parameter``.
        """
        return self._get_params("models", deep=deep)

    def set_params(self, **params: Any) -> Any:
        """Set the parameters of the ensemble and of its models.

        Parameters
        ----------
        **params : dict
            Parameters of the ensemble; ``model__parameter`` sets a parameter of a model.

        Returns
        -------
        self : object
            The estimator itself.
        """
        self._set_params("models", **params)
        return self

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> Any:
        """Fit all models.

        Parameters
        ----------
        X : rows
            As for the models.
        y : array-like
            Labels in any form that the models accept.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, passed to every model.
        groups : array-like of shape (n_samples,), default=None
            The group of every row, such as a patient or a recording, passed to every model. Weights
            and the expected F-score are also learned from folds of whole groups, which requires at
            least three groups.
        **fit_params : dict
            Further keyword arguments for the ``fit`` of every model.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with fitting(self, X, y):
            self._check_parameters()
            weights = self._check_models()
            if has_words(self.models, self.class_texts):
                return self._fit_with_texts(X, y, sample_weight, groups, fit_params)
            X = check_X(self, X, self._input_tags(), reset=True)
            sample_weight = as_weights(sample_weight, X)
            unit = self._read_groups(groups, n_rows_of(X))
            if groups is not None:
                fit_params = {**fit_params, "groups": groups}
            params = self._params_of_models(sample_weight, fit_params)
            models = []
            for name, model in self.models:
                member = clone(model)
                with handing_callbacks_on(self, member, name):
                    models.append(member.fit(X, y, **params[name]))
                self._check_thresholds(models[0].hierarchy_)  # before the others are fitted
            joint = self._join([model._models for model in models], weights)
            learn = self._learn_sets if joint.of_sets else self._learn_out_of_fold
            joint, learned = learn(X, y, params, models, joint, sample_weight, unit)
            self._name_models(models, joint.weights)
            self._remember(joint, models[0]._format, **learned)
            self._check_decision_parameters()  # which models of sets read differently
        return self

    def _fit_with_texts(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, fit_params: dict[str, Any]
    ) -> Any:
        """Fit models of which some use class texts."""
        self._check_words(fit_params)
        learn = self.weights is None or self._learns_weights
        found = fit_ensemble(
            self.models,
            self.class_texts,
            X,
            y,
            sample_weight,
            groups,
            learn=learn,
            on_all=self._learns_f,
            check=self._check_thresholds,
        )
        joint, f = found.joint, None
        if not learn:
            joint = replace(joint, weights=self._given_weights(len(found.models)))
        if self._learns_f:
            f = 0.5  # if nothing was held out
            if found.held_out:
                n, nodes = found.rows.n_rows, found.rows.target.nodes
                f, expected = reached_f(
                    found.held_out, found.rows.X[:n], nodes, found.rows.weights[:n]
                )
                if expected is not None:
                    # Only some folds may have been held out.
                    expected = expected * n / sum(len(out) for _, out in found.held_out)
                joint = replace(joint, expected_own=expected)
        if joint.class_weights is not None:
            self.class_weights_ = joint.class_weights
            joint = replace(joint, weights=tuple(joint.class_weights.mean(axis=1).tolist()))
        self._name_models(found.models, joint.weights, found.names)
        self._remember(joint, found.rows.target.format, expected_f1=f)
        return self

    def _check_words(self, fit_params: dict[str, Any]) -> None:
        """Reject parameters that conflict with class texts."""
        if self.multi_label:
            raise ValueError(
                "Class texts require models that predict one path per row. Leave out class_texts, "
                "or use models without multi_label=True."
            )
        if self.voting != "product":
            raise ValueError(
                f"Class texts require voting='product'; got voting={self.voting!r}. Leave out "
                f"voting or class_texts."
            )
        if fit_params:
            raise ValueError(
                f"fit takes sample_weight and groups with class texts, but not "
                f"{', '.join(map(repr, fit_params))}: class texts are additional rows. Leave these "
                f"arguments out."
            )

    def _read_groups(self, groups: Any, n_rows: int) -> IntArray | None:
        """The group of every row as a number, checked before any model is fitted."""
        unit = None if groups is None else read_groups(groups, n_rows)
        learned = {}
        if self._learns_weights:
            learned["weights='learned'"] = "set weights to numbers"
        if self._learns_f:
            learned[f"decoding={self.decoding!r}"] = "set expected_f1"
        if read_threshold(self.threshold).is_learned:
            learned[f"threshold={self.threshold!r}"] = "set threshold to a number"
        check_groups(unit, learned)
        return unit

    def _needs_own_rows(self) -> bool:
        """Whether any of the models does."""
        return any(model._needs_own_rows() for _, model in self.models)

    @property
    def _learns_weights(self) -> bool:
        return isinstance(self.weights, str) and self.weights == "learned"

    def _name_models(
        self, models: list[Any], weights: tuple[float, ...], names: list[str] | None = None
    ) -> None:
        self.models_ = models
        self.weights_ = np.array(weights)
        names = names or [name for name, _ in self.models]
        self.named_models_ = Bunch(**dict(zip(names, models, strict=True)))

    def _learn_out_of_fold(
        self,
        X: Any,
        y: Any,
        params: dict[str, dict[str, Any]],
        models: list[Any],
        joint: EnsembleModels,
        sample_weight: AnyArray | None,
        groups: IntArray | None,
    ) -> tuple[EnsembleModels, dict[str, Any]]:
        """Learn the weights and the F-score that results from them, as far as required."""
        if self.threshold != 0.5:  # before any fold is fitted
            self._refuse_threshold()
        if not self._learns_weights and not self._learns_f:
            return joint, {}
        nodes = encode(y, joint.hierarchy).nodes
        row_weights = np.ones(len(nodes)) if sample_weight is None else sample_weight
        fit_fold = partial(self._fit_fold, X, y, params, models, joint)
        own = self._needs_own_rows()
        fold = deal_paths(nodes, joint.hierarchy, groups, keep_own=own)
        held_out = list(fit_folds(fit_fold, fold))
        if self._learns_weights:
            weights = learn_weights(joint, held_out, X, nodes, row_weights)
            joint = replace(joint, weights=weights)
            held_out = [(replace(fitted, weights=weights), rows) for fitted, rows in held_out]
        if not held_out:
            return joint, {"expected_f1": 1.0} if self._learns_f else {}
        if self._learns_f:
            f, expected = reached_f(held_out, X, nodes, row_weights, self.leaf_only)
            return replace(joint, expected_own=expected), {"expected_f1": f}
        each = mean_one(row_weights)
        parts = [expected_classes(fitted, X, rows, each) for fitted, rows in held_out]
        return replace(joint, expected_own=np.sum(parts, axis=0)), {}

    def _learn_sets(
        self,
        X: Any,
        y: Any,
        params: dict[str, dict[str, Any]],
        models: list[Any],
        joint: SetEnsembleModels,
        sample_weight: AnyArray | None,
        groups: IntArray | None,
    ) -> tuple[SetEnsembleModels, dict[str, Any]]:
        """Learn the weights and thresholds of models of sets, as far as required."""
        chosen = read_threshold(self.threshold)
        if not self._learns_weights and not chosen.is_learned:
            return joint, {}
        read = encode_sets if self.multi_label else encode_in_dag
        target = read(y, joint.hierarchy)
        fit_fold = partial(self._fit_fold, X, y, params, models, joint)
        found: list[list[FloatArray]] = [[] for _ in joint.members]
        order = []
        for fitted, rows in fit_folds(fit_fold, deal_sets(target, groups)):
            some = fewer_rows(rows, N_FOLDS * len(found) * joint.hierarchy.n_nodes)
            order.append(some)
            for part, member in zip(found, fitted.members, strict=True):
                part.append(member_proba(member, take_rows(X, some)))
        scored, parts = None, [np.concatenate(part) for part in found if part]
        rows = np.concatenate([*order, np.empty(0, dtype=np.intp)])
        if self._learns_weights and parts:  # a single row cannot be held out
            weights = None if sample_weight is None else sample_weight[rows]
            ranking = Ranking(target.closed[rows], weights, "average_precision")
            pairs = [ranking.pairs(part) for part in parts]
            joint = replace(joint, weights=learn_set_weights(pairs, ranking, self.voting)[0])
        if not chosen.is_learned:
            return joint, {}
        if parts:
            scored = as_scored(mix(parts, joint.weights, self.voting), rows)
        learned = tune_thresholds(scored, target, sample_weight)
        # raises an error if it cannot be reached
        make_rule(chosen, learned, joint.hierarchy.n_nodes)
        return joint, {"thresholds": learned.thresholds, "threshold_curve": learned.curve}

    def _fit_fold(
        self,
        X: Any,
        y: Any,
        params: dict[str, dict[str, Any]],
        models: list[Any],
        joint: Any,
        rows: IntArray,
    ) -> Any:
        """Fit clones of all models on the rows of a fold."""
        n_rows = n_rows_of(X)
        sliced = {
            name: {k: take_rows(v, rows) if is_per_row(v, n_rows) else v for k, v in given.items()}
            for name, given in params.items()
        }
        return self._refit_all(models, take_rows(X, rows), take_rows(y, rows), joint, sliced)

    def _refit_all(
        self,
        models: list[Any],
        X: Any,
        y: Any,
        joint: EnsembleModels,
        params: dict[str, dict[str, Any]],
    ) -> EnsembleModels:
        """Fit clones of all models on these rows, and combine them as in ``joint``."""
        parts = [
            model._refit(X, y, joint.hierarchy, params[name])
            for (name, _), model in zip(self.models, models, strict=True)
        ]
        return self._join(parts, joint.weights)

    def _refit(
        self, X: Any, y: Any, hierarchy: Hierarchy, fit_params: dict[str, Any]
    ) -> EnsembleModels:
        """As for every model; the weights that were learned or given are kept."""
        if has_words(self.models, self.class_texts):
            again = clone(self).set_params(class_texts=hierarchy)
            models: EnsembleModels = again.fit(X, y, **fit_params)._models
            return models
        given = dict(fit_params)
        params = self._params_of_models(given.pop("sample_weight", None), given)
        joint = replace(self._models, hierarchy=hierarchy)
        return self._refit_all(self.models_, X, y, joint, params)

    def _check_models(self) -> tuple[float, ...]:
        """Check the models; return their weights."""
        if not self.models:
            raise ValueError("models is empty. Pass a list of (name, model) pairs.")
        names = [name for name, _ in self.models]
        self._validate_names(names)
        for name, model in self.models:
            if not isinstance(model, BaseHierarchicalClassifier):
                raise TypeError(
                    f"The model {name!r} is a {type(model).__name__}; an ensemble consists of "
                    "hierarchical classifiers of this library, for example FlatClassifier. Put "
                    "transformers before the ensemble, as in make_pipeline(transformer, "
                    "EnsembleClassifier(...)), and a search around it."
                )
            if hasattr(model, "_opened"):
                raise TypeError(
                    f"The model {name!r} is a {type(model).__name__}, which computes its own "
                    "features and already combines models. Use it alone, or pass other models."
                )
            if not hasattr(model, "min_confidence"):
                raise TypeError(
                    f"The model {name!r} is a {type(model).__name__}, whose guarantee would be "
                    f"lost. Put the ensemble into the {type(model).__name__} instead."
                )
            if not hasattr(model, "predict_node_proba"):
                raise ValueError(_NO_PROBA.format(name))
        adds_one = self.class_texts is not None and not has_words(self.models, None)
        return self._given_weights(len(names) + adds_one)

    def _given_weights(self, n_models: int) -> tuple[float, ...]:
        """The given weights, or equal ones, scaled to sum to one."""
        if self.weights is None or self._learns_weights:
            return (1 / n_models,) * n_models
        try:
            weights = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):  # not numbers
            weights = np.empty(0)
        usable = weights.shape == (n_models,) and np.isfinite(weights).all()
        if not usable or weights.min() < 0 or not weights.any():
            raise ValueError(
                f"weights must be {n_models} numbers, one per model, not negative and not all "
                f"zero, None for equal weights, or 'learned'; got {self.weights!r}."
            )
        return tuple((weights / weights.sum()).tolist())

    def _join(self, parts: list[Any], weights: tuple[float, ...]) -> Any:
        """Combine the models, if they are compatible."""
        first, name_of_first = parts[0], self.models[0][0]
        for (name, _), part in zip(self.models, parts, strict=True):
            pair = f"the models {name_of_first!r} and {name!r}"
            if part.of_sets != first.of_sets:
                raise ValueError(
                    f"One of {pair} predicts sets of classes, the other single paths. Use the same "
                    "multi_label and hierarchy for both."
                )
            if not part.has_proba:
                raise ValueError(_NO_PROBA.format(name))
            if not part.hierarchy._same_classes(first.hierarchy):
                raise ValueError(
                    f"T{pair[1:]} have different hierarchies. Pass the same hierarchy= to both, or "
                    "none."
                )
            if not part.of_sets and not np.array_equal(part.options.ends, first.options.ends):
                raise ValueError(
                    f"T{pair[1:]} may end at different nodes. Use the same leaf_only for both."
                )
        combined = tuple(parts), weights, self.voting
        if first.of_sets:
            return SetEnsembleModels(first.hierarchy, first.populated, first.ends, *combined)
        return EnsembleModels(first.hierarchy, first.options, *combined)

    def _params_of_models(
        self, sample_weight: Any, fit_params: dict[str, Any]
    ) -> dict[str, dict[str, Any]]:
        params = dict(fit_params)
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        if routing_enabled():
            routed = process_routing(self, "fit", **params)
            return {name: dict(routed[name].fit) for name, _ in self.models}
        return {name: params for name, _ in self.models}

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of this object.

        Returns
        -------
        MetadataRouter
            The routing information.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for name, model in self.models:
            router.add(**{name: model}, method_mapping=mapping)
        return router

    __metadata_request__fit: ClassVar[dict[str, Any]] = FIT_REQUESTS
