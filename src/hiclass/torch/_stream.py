"""Streams: what the labels of batches mean, and training on batches as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from hiclass._estimators.fitting import encode_labels
from hiclass._labels.columns import read_paths
from hiclass._targets.growth import check_form
from hiclass._targets.paths import Target, as_hierarchy, check_n_labels, encode, nodes_of
from hiclass._targets.sets import encode_in_dag, encode_sets
from hiclass.hierarchy import Hierarchy
from hiclass.torch._batches import Batch, Rows, make_rows
from hiclass.torch._fit import course_of, draw_seed, start
from hiclass.torch._known import AnyTarget, Known
from hiclass.torch._train import Course, Trainer

if TYPE_CHECKING:
    from hiclass.torch._classifier import HierarchicalSoftmaxClassifier as Classifier

# -- labels ------------------------------------------------------------------------------------


def read_batch(y: Any, classes: Any, estimator: Classifier) -> tuple[Known, Any]:
    """The classes of the network, and the encoded labels of a batch."""
    known = vars(estimator).get("_known")
    if known is not None:
        return known, encode_next(y, known, estimator._format, estimator, classes)
    target = encode_labels(estimator, y, _announced(y, classes, estimator))
    if not target.of_sets and target.format.ndim == 2:
        # Paths of the first batch may be shorter than those to come.
        n_levels = max(target.format.n_levels, target.hierarchy.depth)
        target = replace(target, format=replace(target.format, n_levels=n_levels))
    return Known.announced(target, leaf_only=estimator.leaf_only), target


def _announced(y: Any, classes: Any, estimator: Classifier) -> Hierarchy:
    """The hierarchy that a stream begins with."""
    if estimator.hierarchy is not None:
        hierarchy = as_hierarchy(estimator.hierarchy)
        _check_classes(classes, hierarchy, estimator)
        return hierarchy
    if isinstance(classes, Hierarchy):
        return classes
    return _encode_classes(classes, None, estimator, y).hierarchy


def encode_next(
    y: Any,
    known: Known,
    format: Any,
    estimator: Classifier,
    classes: Any = None,
    find: Callable[[Any], Any] = lambda y: None,
) -> AnyTarget:
    """Labels of a batch that is not the first: the classes, and how they are written, are known.

    ``find`` may know a faster way to the nodes of some labels.
    """
    try:
        _check_classes(classes, known.hierarchy, estimator)
        target = _encode_known(y, known, format, estimator, find)
    except ValueError as error:
        error.add_note(
            "All classes must be known before the first batch: give them with classes= or "
            "hierarchy=."
        )
        raise
    known.check(target, leaf_only=estimator.leaf_only)
    return target


def _encode_known(
    y: Any, known: Known, format: Any, estimator: Classifier, find: Callable[[Any], Any]
) -> AnyTarget:
    if known.of_sets:
        return (encode_sets if estimator.multi_label else encode_in_dag)(y, known.hierarchy)
    nodes = find(y) if format.ndim == 1 else None
    if nodes is None:
        columns = read_paths(y)
        nodes = nodes_of(columns, known.hierarchy)
        check_form(columns, format)
    return Target(known.hierarchy, nodes, format)


def _check_classes(classes: Any, hierarchy: Hierarchy, estimator: Classifier) -> None:
    """Refuse classes that are announced although others are known already."""
    if not isinstance(classes, Hierarchy):
        if classes is not None:
            _encode_classes(classes, hierarchy, estimator)
    elif classes != hierarchy:
        raise ValueError(
            f"classes is {classes!r}, but the network has the classes of {hierarchy!r}."
        )


def _encode_classes(
    classes: Any, hierarchy: Hierarchy | None, estimator: Classifier, y: Any = None
) -> AnyTarget:
    """Announced classes as nodes; without any, those of the first batch."""
    if estimator.multi_label:
        return encode_sets(y if classes is None else [[c] for c in classes], hierarchy)
    return encode(y if classes is None else classes, hierarchy)


def integer_finder(hierarchy: Hierarchy) -> Callable[[Any], Any]:
    """A function that finds the nodes of integer labels all at once: for streams of many rows.

    It returns None where labels are no array of integers, or one of them is unknown.
    """
    labels = hierarchy.labels[1:].tolist()
    usable = all(type(label) is int and abs(label) < 2**63 for label in labels)
    if not usable or len(set(labels)) < len(labels):
        return lambda y: None
    order = np.argsort(labels)
    ascending = np.array(labels, dtype=np.int64)[order]

    def find(y: Any) -> Any:
        if not (isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind == "i" and len(y)):
            return None
        place = np.minimum(np.searchsorted(ascending, y), len(ascending) - 1)
        return 1 + order[place] if (ascending[place] == y).all() else None

    return find


# -- batches -----------------------------------------------------------------------------------


def open_batches(batches: Any, estimator: Classifier) -> tuple[Any, Callable[[int], Iterator[Any]]]:
    """The first batch, and a function that gives all batches of an epoch."""
    n_epochs = course_of(estimator).max_epochs
    if estimator.validation_fraction:
        raise ValueError(
            "validation_fraction holds out rows of fit, which are all in memory. For batches, "
            "give the rows to stop on with validation=(X, y)."
        )
    if not callable(batches) and iter(batches) is batches and n_epochs > 1:
        raise ValueError(
            f"batches is an iterator, which serves for one epoch, but max_epochs="
            f"{estimator.max_epochs!r} needs {n_epochs}. Give a function that makes a new one "
            f"for every epoch, or set max_epochs=1."
        )

    def epoch(i: int) -> tuple[Any, Iterator[Any]]:
        items = map(read_item, batches() if callable(batches) else batches)
        first = next(items, None)
        if first is None:
            raise ValueError(_empty_epoch(i))
        return first, chain([first], items)

    first, items = epoch(0)
    return first, lambda i: epoch(i)[1] if i else items


def _empty_epoch(i: int) -> str:
    if i == 0:
        return "batches has no batch: there is nothing to learn."
    return (
        f"batches gave nothing in epoch {i + 1}: it serves for {i} epoch{'s' if i > 1 else ''} "
        f"only. Give a function that makes a new iterator in every call, or set max_epochs={i}."
    )


def read_item(item: Any) -> tuple[Any, Any, Any]:
    """Rows, labels and weights of a batch."""
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise ValueError(
            f"A batch is a tuple (X, y) or (X, y, sample_weight); got {type(item).__name__}"
            f"{f' of length {len(item)}' if isinstance(item, tuple | list) else ''}."
        )
    return (*item, None) if len(item) == 2 else tuple(item)


def fit_stream(
    estimator: Classifier,
    known: Known,
    format: Any,
    X: Any,
    items_of: Callable[[int], Iterator[Any]],
    validation: Any,
) -> tuple[Known, Trainer, Course]:
    """Train a network on batches, each one a step, with ever smaller steps.

    ``X`` are the rows of the first batch. Classes count as seen by the batches of the first epoch.
    """
    layout = known.layout(estimator.loss, recursive=estimator.recursive)
    trainer, course = start(estimator, layout, X, draw_seed(estimator)), course_of(estimator)
    find = integer_finder(known.hierarchy)
    seen, n_batches = known, 0

    def read(item: Any) -> tuple[Rows, AnyTarget]:
        X, y, sample_weight = item
        X = estimator._as_rows(X, reset=False)
        target = encode_next(y, known, format, estimator, find=find)
        check_n_labels(target.n_rows, X.shape[0])
        return make_rows(X, target, layout, sample_weight), target

    def batches(i: int) -> Iterator[Batch]:
        nonlocal seen, n_batches
        for item in items_of(i):
            rows, target = read(item)
            if i == 0:
                seen, n_batches = seen.after(target, rows.weight), n_batches + 1
            yield rows.whole()

    def rate(i: int, step: int) -> float:
        # How far an epoch has come is known from the second one on, unless it has more batches
        # than the first one: steps must not become negative.
        done = min(step / n_batches, 1.0) if i else 0.0
        return 1 - (i + done) / course.max_epochs

    def epoch(i: int) -> float:
        return trainer.epoch(batches(i), partial(rate, i), thread=True)

    held_out = None if validation is None else read(read_item(validation))[0]
    course.run(trainer, epoch, held_out, estimator.verbose > 0)
    return seen, trainer, course
