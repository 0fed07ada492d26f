"""The state between two batches: known classes, growth of the tree, fixed settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hiclass._labels.columns import LabelColumns, read_paths, refuse_path_tuples
from hiclass._problems.batches import check_layout, make_layout, renumbered
from hiclass._problems.index import RowCounts, find_options
from hiclass._problems.policies import POLICIES, as_policy, read_policy
from hiclass._state import (
    AdaptedModels,
    BatchModels,
    LabelFormat,
    LocalModels,
    Options,
    RestrictedModels,
    RestrictedSetModels,
    Stream,
)
from hiclass._targets.growth import check_form, first_format, grow, widen_format
from hiclass._targets.paths import (
    as_hierarchy,
    check_n_labels,
    find_nodes,
    nodes_of,
    warn_of_similar_labels,
)
from hiclass._typing import IntArray
from hiclass._warnings import warn_user
from hiclass.hierarchy import Hierarchy


def check_learns(model: Any) -> None:
    """Reject batches for restricted models, and if the expected F-score would be missing."""
    light = {
        RestrictedModels: "restricted to some classes",
        RestrictedSetModels: "restricted to some classes",
        AdaptedModels: "adapted to other shares of classes",
    }.get(type(model.__dict__.get("_models")))
    if light is not None:
        raise ValueError(
            f"A model that is {light} cannot be updated. Call partial_fit of the model that it was "
            f"made from."
        )
    if model._decoding.needs_f and model._f_to_expect() is None:
        raise ValueError(
            f"decoding={model.decoding!r} requires an expected F-score, which partial_fit cannot "
            "estimate. Call fit on some rows before partial_fit, set expected_f1 (for example "
            "0.8), or use another decoding."
        )


def check_stream_parameters(model: Any) -> None:
    if model.threshold != 0.5:
        model._refuse_threshold()
    if model.calibration is not None:
        raise ValueError(
            f"calibration={model.calibration!r} needs all rows at once, but partial_fit gets "
            f"batches. Set calibration=None, or call fit."
        )
    if model.min_coef:
        raise ValueError(
            f"partial_fit keeps all weights; min_coef={model.min_coef!r} is for fit only. Set "
            "min_coef=0 to continue with the weights of the fitted model."
        )
    check_learns(model)
    models = model.__dict__.get("_models")
    if models is not None and not isinstance(models, LocalModels):
        raise ValueError(
            "This model was fitted on sets of classes, but multi_label=False with a tree means one "
            "path per row. Set multi_label=True, or clone the model to start again."
        )
    if models is not None and models.temperature is not None:
        raise ValueError(
            "This model was calibrated by fit, and its temperature would be wrong after more rows. "
            "Call fit with calibration=None before partial_fit."
        )
    if model.checkpoint_dir is not None:
        raise ValueError(
            "checkpoint_dir is for fit only. Set checkpoint_dir=None, and pickle the model between "
            "batches."
        )
    stream = model.__dict__.get("_stream")
    if stream is not None and stream.settings != _stream_settings(model):
        raise ValueError(
            f"{', '.join(_setting_names(model))} must not change after the first batch: "
            f"{stream.settings} then, {_stream_settings(model)} now. Call fit to start again."
        )


def _setting_names(model: Any) -> list[str]:
    return ["leaf_only", *(["binary_policy"] if model._strategy.is_binary else [])]


def _stream_settings(model: Any) -> tuple[Any, ...]:
    return tuple(getattr(model, name) for name in _setting_names(model))


def check_batch(model: Any, columns: LabelColumns, n_rows: int) -> None:
    check_n_labels(columns.n_rows, n_rows)
    if "_format" in model.__dict__:
        check_form(columns, model._format)


def begin(
    model: Any, columns: LabelColumns, classes: Any
) -> tuple[BatchModels, LabelColumns | None]:
    """A model that has not seen any rows, and the paths, if any, of its hierarchy."""
    given = None
    if model.hierarchy is not None or isinstance(classes, Hierarchy):
        hierarchy = as_hierarchy(classes if model.hierarchy is None else model.hierarchy)
    else:
        given = columns if classes is None else read_paths(classes, "classes")
        name = "y" if classes is None else "classes"
        refuse_path_tuples(given, "partial_fit learns one path per row; fit takes them", name)
        hierarchy, _ = Hierarchy._from_columns(given)
        warn_of_similar_labels(hierarchy)
    if not hierarchy.is_tree:
        raise ValueError(
            f"The hierarchy is a DAG: {hierarchy._shared_label()!r} has several parents. Pass it "
            "as a parameter of the estimator, hierarchy=..., not as classes."
        )
    n_own = np.zeros(hierarchy.n_nodes, dtype=np.intp)
    options = find_options(RowCounts(hierarchy, n_own), leaf_only=model.leaf_only)
    models = BatchModels(
        model._strategy.name,
        hierarchy,
        options,
        {},
        {},
        True,
        is_direct=model._strategy.is_direct,
        layout=options,
        n_own=n_own,
        own_weight=np.zeros(hierarchy.n_nodes),
    )
    return models, given


def take_up(
    model: Any, models: BatchModels, columns: LabelColumns, name: str
) -> tuple[BatchModels, IntArray]:
    """Find the node of every row; add new classes if the model can grow."""
    old = models.hierarchy
    nodes, unknown = find_nodes(columns, old)
    if unknown is None:
        return models, nodes
    reason = _cannot_grow(model, old, columns)
    if reason:
        try:
            nodes_of(columns, old, name)
        except ValueError as error:
            raise ValueError(f"{error} {reason}") from None
    hierarchy, moved, nodes = grow(old, columns)
    new = np.ones(hierarchy.n_nodes, dtype=bool)
    new[moved] = False
    warn_of_similar_labels(hierarchy, new)
    n_own = np.zeros(hierarchy.n_nodes, dtype=np.intp)
    n_own[moved] = models.n_own
    own_weight = models.own_weight
    if own_weight is not None:
        own_weight = np.zeros(hierarchy.n_nodes)
        own_weight[moved] = models.own_weight
    models = replace(
        models,
        hierarchy=hierarchy,
        classifiers={int(moved[node]): c for node, c in models.classifiers.items()},
        gates={int(moved[node]): c for node, c in models.gates.items()},
        n_own=n_own,
        own_weight=own_weight,
        expected_own=None,
        one_sided=renumbered(models.one_sided, moved),
        learned=renumbered(models.learned, moved),
    )
    return models, nodes


def _cannot_grow(model: Any, hierarchy: Hierarchy, columns: LabelColumns) -> str:
    """Why a new class is an error, and the remedy; empty if it is not an error."""
    if not model._strategy.is_binary:
        return (
            f"{type(model).__name__} needs all classes in the first batch. Start again and pass "
            "them with classes= in the first call or with hierarchy=, or use "
            "LocalClassifierPerNode, which accepts new classes in later batches."
        )
    if model.hierarchy is not None:
        return "With hierarchy=, the classes are fixed. Add the class there and start again."
    if hierarchy.identity == "label":
        return (
            "A hierarchy whose nodes are identified by label cannot grow. Start again with the new "
            "class in it, or with a hierarchy from Hierarchy.from_paths."
        )
    if columns.ndim == 1 and hierarchy.depth > 1:
        return "A new class requires its whole path. Pass paths instead of single labels."
    return ""


def stream_for(
    model: Any, models: BatchModels, nodes: IntArray, given: LabelColumns | None, declared: bool
) -> Stream:
    """What is known at a batch: the same as before, or more."""
    stream: Stream | None = model.__dict__.get("_stream")
    ends_early = bool((~models.hierarchy.is_leaf[nodes]).any())
    if stream is None:
        stream = _first_stream(model, models, nodes, given, declared)
    elif _outgrown(model, stream, models, nodes):
        stream = replace(stream, layout=_layout(model, models, nodes, stream.complete))
    if model._strategy.is_binary:
        if ends_early and not stream.ended_early and stream.policy != model.binary_policy:
            _warn_of_late_stops(model.binary_policy, stream.policy)
        return replace(stream, ended_early=stream.ended_early or ends_early)
    if not stream.complete:
        check_layout(models.hierarchy, stream.layout, nodes, model.leaf_only)
    return stream


def _first_stream(
    model: Any, models: BatchModels, nodes: IntArray, given: LabelColumns | None, declared: bool
) -> Stream:
    inner = ~models.hierarchy.is_leaf
    after_fit = "_models" in model.__dict__
    # Per node, unannounced classes are added as they come; other strategies must know them now.
    complete = not after_fit and (declared or not model._strategy.is_binary)
    if after_fit and not model._strategy.is_binary:
        layout = models.options
    else:
        layout = _layout(model, models, nodes, complete)
    policy, ended_early = "", False
    if model._strategy.is_binary:
        ends = nodes if given is None else find_nodes(given, models.hierarchy)[0]
        ended_early = bool((inner & (models.n_own > 0)).any() or inner[ends].any())
        read = read_policy(as_policy(model.binary_policy), ends_early=ended_early)
        policy = read.name if read in POLICIES.values() else model.binary_policy
    columns = None
    if model._strategy.columns is not None:
        columns = model._strategy.columns(models.hierarchy, layout)
    return Stream(layout, columns, complete, policy, _stream_settings(model), ended_early)


def _outgrown(model: Any, stream: Stream, models: BatchModels, nodes: IntArray) -> bool:
    """Whether a batch has something that is not in the layout; per node only."""
    if len(stream.layout.can_stop) < models.hierarchy.n_nodes:
        return True
    if stream.complete or model.leaf_only or not model._strategy.is_binary:
        return False
    return bool((~models.hierarchy.is_leaf[nodes] & ~stream.layout.can_stop[nodes]).any())


def _layout(model: Any, models: BatchModels, nodes: IntArray, complete: bool) -> Options:
    """All children; stops at all nodes, at those with stops so far, or at none."""
    stops = np.full(models.hierarchy.n_nodes, complete and not model.leaf_only)
    if not complete and not model.leaf_only:
        stops = models.n_own > 0
        stops[nodes] = True
    return make_layout(models.hierarchy, stops)


def format_for(
    model: Any, models: BatchModels, columns: LabelColumns, given: LabelColumns | None
) -> LabelFormat:
    old: LabelFormat | None = model.__dict__.get("_format")
    if old is None:
        return first_format(columns, given, models.hierarchy)
    same_type = columns.dtype.kind == old.dtype.kind
    fits = len(columns.codes) <= old.n_levels and (
        old.dtype == object or (same_type and np.result_type(columns.dtype, old.dtype) == old.dtype)
    )
    if fits and models.hierarchy is model._models.hierarchy:
        return old
    return widen_format(old, columns, models.hierarchy)


def classes_as_paths(classes: Any, models: BatchModels) -> LabelColumns:
    """Classes as paths to look up; the hierarchy of the model, passed again, adds nothing."""
    if isinstance(classes, Hierarchy):
        known = classes._same_classes(models.hierarchy)
        leaves = classes.leaves()[:1] if known else classes.leaves()
        classes = [list(classes.path(v)) for v in leaves.tolist()]
    return read_paths(classes, "classes")


def _warn_of_late_stops(policy: str, read_as: str) -> None:
    warn_user(
        f"Rows end at inner nodes for the first time. The first batch had no such rows, so "
        f"binary_policy={policy!r} has been read as {read_as!r} from the beginning and remains so. "
        f"To apply the policy literally, start again with classes= that include paths which end at "
        f"inner nodes."
    )
