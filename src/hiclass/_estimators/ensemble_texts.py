"""The fit of an ensemble with class texts.

All models but those by words learn from the rows, and from class texts as additional rows. So they
know all classes, also those without rows. The weight of a model depends on the number of rows of a
class. Weights are learned out of fold, with some classes held out completely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from hiclass._estimators.class_text import ClassTextClassifier, check_words
from hiclass._estimators.texted import encode_texted
from hiclass._estimators.words import TextRows, with_text_rows
from hiclass._out_of_fold.class_texts import with_parameters
from hiclass._out_of_fold.folds import (
    N_FOLDS,
    deal_paths,
    fit_folds,
    hold_out_classes,
    some_classes,
)
from hiclass._out_of_fold.words_and_rows import (
    MEANINGS,
    ROWS,
    WORDS,
    count_equal,
    learn_words_and_rows,
    mixture_of,
    most_lose_all,
    with_class_weights,
)
from hiclass._problems.index import RowCounts, find_options
from hiclass._rows import take_rows
from hiclass._state import EnsembleModels, Options, TextModels
from hiclass._typing import IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.model_selection import read_groups

#: The name of the model that ``class_texts`` adds.
NAME = "class_texts"
#: At most so many class texts become rows, or as many as there are rows; but at least one of each
#: class.
_MOST_TEXTS = 50_000
#: With at least so many rows, only one of three folds is held out: its rows are enough.
_MANY_ROWS = 1000
#: So many rows of so many classes are enough to learn the weights of the models.
_ENOUGH_ROWS, _ENOUGH_CLASSES = 2400, 100


@dataclass(frozen=True)
class TextEnsemble:
    """Models that were fitted together, and what is needed to fit them on a part of the rows.

    Attributes
    ----------
    names : list of str
        The names of the models.
    models : list of estimator
        The fitted models.
    joint : EnsembleModels
        All together.
    rows : TextRows
        Rows and texts.
    held_out : list
        The same models, fitted without some rows, and these rows.
    """

    names: list[str]
    models: list[Any]
    joint: EnsembleModels
    rows: TextRows
    held_out: list[tuple[EnsembleModels, IntArray]]


def has_words(models: list[tuple[str, Any]], class_texts: Any) -> bool:
    """Whether an ensemble uses class texts."""
    return class_texts is not None or any(isinstance(m, ClassTextClassifier) for _, m in models)


def fit_ensemble(
    models: list[tuple[str, Any]],
    class_texts: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    *,
    learn: bool,
    on_all: bool,
    check: Callable[[Hierarchy], None],
) -> TextEnsemble:
    """Fit models on rows and class texts, and learn their weights.

    Parameters
    ----------
    models : list of (str, estimator)
        The models.
    class_texts : mapping, Series, frame, Hierarchy, "labels" or None
        Texts; None if a ``ClassTextClassifier`` among the models has them.
    X, y : rows and labels
        Both None for no rows.
    sample_weight, groups : array-like or None
        Weights and groups of the rows.
    learn : bool
        Whether it is learned how much each model counts.
    on_all : bool
        Whether models that are held out have to know all classes. A few numbers are learned from
        some of the classes as well, for a part of the cost.
    check : callable
        Called with the classes before anything is fitted, to refuse what does not suit them.

    Returns
    -------
    TextEnsemble
    """
    named = _with_words(models, class_texts)
    target = encode_texted(*_classes(named, class_texts), y)
    check(target.hierarchy)
    most = max(_MOST_TEXTS, len(target.nodes))
    rows = with_text_rows(X, target, sample_weight, most, distinct=True)
    if any(_kind_of(model) == WORDS for _, model in named):
        check_words([*target.texts, *rows.X])  # before a model that learns from rows refuses them
    unit = None if groups is None else read_groups(groups, rows.n_rows)
    weighted = sample_weight is not None
    fitted = [_fit(model, rows, weighted, unit, alone=not learn) for _, model in named]
    states = tuple(model._models for model in fitted)
    equal = (1 / len(states),) * len(states)
    joint = EnsembleModels(target.hierarchy, target.options, states, equal)
    found = TextEnsemble([name for name, _ in named], fitted, joint, rows, [])
    return _learn(found, unit, weighted, on_all) if learn else found


def _learn(
    found: TextEnsemble, groups: IntArray | None, weighted: bool, on_all: bool
) -> TextEnsemble:
    """Learn the weights of the models, which depend on the number of rows of a class."""
    rows, nodes, joint = found.rows, found.rows.target.nodes, found.joint
    mixture = mixture_of([_kind_of(model) for model in found.models])
    parameters, same = mixture.start, 0.0
    held_out: list[tuple[EnsembleModels, IntArray]] = []
    if rows.n_rows:
        tree, ends = joint.hierarchy, joint.options.ends
        if not on_all and groups is None:
            ends = some_classes(tree, ends, nodes, _ENOUGH_ROWS, _ENOUGH_CLASSES)
        # In the order of their texts, so that folds do not depend on the order of the rows.
        some = np.flatnonzero(np.isin(nodes, ends)).tolist()
        some.sort(key=lambda i: (rows.X[i], nodes[i], rows.weights[i]))
        here = np.array(some, dtype=np.intp)

        def fit_fold(some: IntArray) -> EnsembleModels:
            return _refit(found.models, rows, joint, here[some], ends, weighted)

        fold = _folds(nodes[here], tree, None if groups is None else groups[here])
        held_out = [(part, here[out]) for part, out in fit_folds(fit_fold, fold)]
        worlds = held_out
        if most_lose_all(nodes[here], fold) and np.isin(rows.nodes[rows.n_rows :], ends).any():
            # Then also learn from all rows, scored by models that were fitted on texts only.
            worlds = [*held_out, (fit_fold(np.empty(0, dtype=np.intp)), here)]
        real, weights = rows.X[: rows.n_rows], rows.weights[: rows.n_rows]
        vectors = [_vectors_of(model) for model in found.models]
        parameters, same, alone = learn_words_and_rows(
            worlds, real, vectors, nodes, weights, mixture, _count_equal(rows, joint, groups)
        )
        for model, own in zip(found.models, alone, strict=True):
            if isinstance(model, ClassTextClassifier):
                model._models = with_parameters(model._models, *own)
    held_out = [
        (with_class_weights(part, mixture, parameters, same, np.delete(nodes, out)), out)
        for part, out in held_out
    ]
    joint = with_class_weights(joint, mixture, parameters, same, nodes)
    return replace(found, joint=joint, held_out=held_out)


def _count_equal(
    rows: TextRows, joint: EnsembleModels, groups: IntArray | None
) -> tuple[float, float]:
    """Count the rows that are equal to a text or to another row, and those of the same class."""
    n, target = rows.n_rows, rows.target
    of_texts = target.text_nodes
    final = np.isin(of_texts, joint.options.ends)
    texts = [text for text, wanted in zip(target.texts, final.tolist(), strict=True) if wanted]
    of_rows = rows.X[:n], target.nodes, rows.weights[:n]
    return count_equal(*of_rows, texts, of_texts[final], groups)


def _folds(nodes: IntArray, hierarchy: Hierarchy, groups: IntArray | None) -> IntArray:
    """The fold of every row. Without groups, some classes are held out completely."""
    fold = deal_paths(nodes, hierarchy, groups)
    if groups is not None:
        return fold
    return hold_out_classes(fold, nodes, N_FOLDS if len(nodes) < _MANY_ROWS else 1)


def _vectors_of(model: Any) -> Any:
    """The vectors of the rows in a model by words, in the order of the rows; otherwise None."""
    if not isinstance(model, ClassTextClassifier):
        return None
    return model._models.rows[np.argsort(model._models.row_numbers)]


def _kind_of(model: Any) -> str:
    """What a model learns from."""
    if not isinstance(model, ClassTextClassifier):
        return ROWS
    return WORDS if model.encoder is None else MEANINGS


def _with_words(models: list[tuple[str, Any]], class_texts: Any) -> list[tuple[str, Any]]:
    """The models, with a ``ClassTextClassifier`` added unless there is one."""
    if has_words(models, None):
        return models
    return [*models, (NAME, ClassTextClassifier())]


def _classes(models: list[tuple[str, Any]], class_texts: Any) -> tuple[Any, Any]:
    """The hierarchy and the texts that were given, to the ensemble or to a model."""
    given = [model.hierarchy for _, model in models if model.hierarchy is not None]
    if class_texts is None:
        words = [model for _, model in models if isinstance(model, ClassTextClassifier)]
        class_texts = next((m.class_texts for m in words if m.class_texts is not None), None)
        given = [m.hierarchy for m in words if m.hierarchy is not None] or given
    return (given[0] if given else None), class_texts


def _fit(
    model: Any, rows: TextRows, weighted: bool, groups: IntArray | None, *, alone: bool
) -> Any:
    """Fit a copy of a model: on rows only if it is a model by words, otherwise on rows and texts.

    The weights of similarities are learned here only if the model is used ``alone``.
    """
    tree, n = rows.target.hierarchy, rows.n_rows
    model = clone(model).set_params(hierarchy=tree)
    params: dict[str, Any] = {}
    if isinstance(model, ClassTextClassifier):
        model.set_params(class_texts=None)
        if not n:
            return model.fit(None, None)
        weights = rows.weights[:n] if weighted else None
        return model._fit(rows.X[:n], rows.y[:n], weights, groups, learn=alone)
    if weighted:
        params["sample_weight"] = rows.weights
    if groups is not None:
        # Every text is a group of its own.
        more = np.arange(len(rows.X) - n) + groups.max(initial=-1) + 1
        params["groups"] = np.concatenate([groups, more])
    return model.fit(rows.X, rows.y, **params)


def _refit(
    fitted: list[Any],
    rows: TextRows,
    joint: EnsembleModels,
    some: IntArray,
    ends: IntArray,
    weighted: bool,
) -> EnsembleModels:
    """Fit copies of all models on some of the rows, and on all texts of some classes."""
    tree = rows.target.hierarchy
    texts = rows.n_rows + np.flatnonzero(np.isin(rows.nodes[rows.n_rows :], ends))
    with_texts = np.concatenate([some, texts])
    # As in models that learn from rows: an inner class whose only rows are texts is final, too.
    counts = RowCounts(tree, np.bincount(rows.nodes[with_texts], minlength=tree.n_nodes))
    options = find_options(counts, leaf_only=False)
    X, y = take_rows(rows.X, with_texts), take_rows(rows.y, with_texts)
    params = {"sample_weight": rows.weights[with_texts]} if weighted else {}
    parts = tuple(
        _without(model._models, some, options)
        if isinstance(model, ClassTextClassifier)
        else model._refit(X, y, tree, params)
        for model in fitted
    )
    return replace(joint, options=options, members=parts)


def _without(models: TextModels, some: IntArray, options: Options) -> TextModels:
    """The model by words, with some of the rows only."""
    keep = np.flatnonzero(np.isin(models.row_numbers, some))
    near = np.isin(models.text_nodes, models.hierarchy._closure[options.ends].indices)
    part = replace(
        models,
        options=options,
        texts=models.texts[near],
        text_nodes=models.text_nodes[near],
        rows=models.rows[keep],
        row_nodes=models.row_nodes[keep],
        row_numbers=models.row_numbers[keep],
    )
    return with_parameters(part, models.parameters)
