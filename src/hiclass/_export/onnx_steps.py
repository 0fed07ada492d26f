"""Transformers as parts of an ONNX graph.

Transformers that only rearrange columns (pipelines, unions, transformers of columns) are split into
their parts here, and a few transformers are written by hand, because their skl2onnx versions differ
from scikit-learn or cannot be loaded: ONNX Runtime imputes with 32 bits only, values of encoders
become integers, and a value equal to the threshold of a Binarizer becomes 1. Between two
transformers, there are 64 bits, as in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
)

from hiclass._automatic.features import TableFeatures
from hiclass._export.onnx_graph import Graph
from hiclass._typing import FloatArray, IntArray
from hiclass._wrapping import unwrap


def parts_of(estimator: Any) -> list[Any]:
    """The steps of an estimator, including nested pipelines, searches and frozen estimators.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier or transformer.

    Returns
    -------
    list of estimator
        Transformers, then what is last; steps that do nothing are left out.
    """
    opened = unwrap(estimator)
    parts = [part for step in opened.before for part in parts_of(step)]
    does_nothing = opened.model is None or isinstance(opened.model, str)
    return parts if does_nothing else [*parts, opened.model]


def transformed(graph: Graph, value: str, transformers: list[Any]) -> str:
    """Rows after some transformers, with 64 bits.

    Parameters
    ----------
    graph : Graph
        The graph that grows.
    value : str
        Name of the rows.
    transformers : list of transformers
        Fitted ones.

    Returns
    -------
    str
        Name of the transformed rows.
    """
    for part in (part for step in transformers for part in parts_of(step)):
        by_hand = _BY_HAND.get(type(part))
        value = (
            graph.convert_transformer(part, value)
            if by_hand is None
            else by_hand(graph, value, part)
        )
    return value


def put_before(graph: Graph, transformers: list[Any], width: int) -> None:
    """Let a graph read its rows after some transformers.

    Parameters
    ----------
    graph : Graph
        The graph that grows.
    transformers : list of transformers
        Fitted ones.
    width : int
        Number of columns that come out of the last one.

    Raises
    ------
    ValueError
        If one cannot be converted.
    """
    try:
        rows = graph.without_it(transformed(graph, graph.with_a_row(), transformers))
    except Exception as error:
        names = " > ".join(type(step).__name__ for step in transformers)
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{names}, before the model, cannot be converted to ONNX ({type(error).__name__}: "
            f"{reason}). Convert the last step of the pipeline, and transform rows in Python."
        ) from error
    graph.continue_with(rows, width)


def _column_transformer(graph: Graph, value: str, step: Any) -> str:
    weights = step.transformer_weights or {}
    blocks = []
    for name, transformer, columns in step.transformers_:
        places = _positions(columns, step)
        if transformer is None or (isinstance(transformer, str) and transformer == "drop"):
            continue
        if len(places):
            block = transformed(graph, graph.pick(value, places), [transformer])
            blocks.append(_weighted(graph, block, weights.get(name)))
    return graph.concat(blocks)


def _positions(columns: Any, step: Any) -> IntArray:
    """The columns that a part of a ColumnTransformer reads, in order: names, masks and slices."""
    names = list(getattr(step, "feature_names_in_", ()))
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        if isinstance(start, str):
            start = names.index(start)
        if isinstance(stop, str):
            stop = names.index(stop) + 1  # the last name is included
        columns = slice(start, stop, columns.step)
    elif isinstance(columns, str):
        columns = [names.index(columns)]
    elif not np.isscalar(columns) and any(isinstance(column, str) for column in columns):
        columns = [names.index(column) for column in columns]
    return np.atleast_1d(np.arange(step.n_features_in_)[columns])


def _feature_union(graph: Graph, value: str, step: Any) -> str:
    weights = step.transformer_weights or {}
    blocks = [
        _weighted(graph, transformed(graph, value, [transformer]), weights.get(name))
        for name, transformer in step.transformer_list
        if not (isinstance(transformer, str) and transformer == "drop")
    ]
    return graph.concat(blocks)


def _weighted(graph: Graph, value: str, weight: float | None) -> str:
    if weight is None:
        return value
    return graph.op("Mul", value, graph.constant(np.array(float(weight))))


def _function(graph: Graph, value: str, step: Any) -> str:
    return value if step.func is None else graph.convert_transformer(step, value)


def _binarizer(graph: Graph, value: str, step: Any) -> str:
    threshold = graph.constant(np.array(float(step.threshold)))
    return graph.cast(graph.op("Greater", value, threshold), np.float64)


def _simple_imputer(graph: Graph, value: str, step: Any) -> str:
    statistics = np.asarray(step.statistics_, dtype=np.float64)
    is_missing = _is_missing(graph, value, step.missing_values)
    filled = graph.op("Where", is_missing, graph.constant(statistics[None, :]), value)
    if not step.keep_empty_features and np.isnan(statistics).any():
        # Columns without a value in fit.
        filled = graph.pick(filled, np.flatnonzero(~np.isnan(statistics)))
    if not step.add_indicator:
        return filled
    flags = graph.cast(graph.pick(is_missing, step.indicator_.features_), np.float64)
    return graph.concat([filled, flags])


def _table_features(graph: Graph, value: str, step: Any) -> str:
    if step._form != "matrix":
        raise ValueError(
            "the features that TableFeatures computes from columns and texts cannot be converted"
        )
    if step._scaling is None:
        return value
    is_missing = graph.op("IsNaN", value)
    filled = graph.op("Where", is_missing, graph.constant(step._scaling.fill[None, :]), value)
    if not len(step._scaling.flagged):
        return filled
    flags = graph.cast(graph.pick(is_missing, step._scaling.flagged), np.float64)
    return graph.concat([filled, flags])


def _is_missing(graph: Graph, value: str, missing: Any) -> str:
    if missing is None or missing != missing:
        return graph.op("IsNaN", value)
    return graph.op("Equal", value, graph.constant(np.array(float(missing))))


# -- encoders ----------------------------------------------------------------------------------


def _one_hot_encoder(graph: Graph, value: str, step: Any) -> str:
    column, categories, _ = _categories(step)
    equal = _equals_category(graph, value, column, categories)
    if step.handle_unknown == "error":
        # Python raises an error for an unseen value; here, everything that depends on it is NaN.
        known = graph.op("MatMul", equal, graph.constant(_by_column(column, np.ones(len(column)))))
        equal = graph.op("Div", equal, graph.pick(known, column))
    if step.drop_idx_ is None:
        return equal
    starts = np.searchsorted(column, np.arange(len(step.categories_)))
    dropped = [start + place for start, place in zip(starts, step.drop_idx_, strict=True)
               if place is not None]  # fmt: skip
    return graph.pick(equal, np.setdiff1d(np.arange(len(column)), dropped))


def _ordinal_encoder(graph: Graph, value: str, step: Any) -> str:
    column, categories, code = _categories(step)
    equal = _equals_category(graph, value, column, categories)
    known = graph.op("MatMul", equal, graph.constant(_by_column(column, np.ones(len(column)))))
    codes = graph.op("MatMul", equal, graph.constant(_by_column(column, code)))
    unknown = np.nan if step.handle_unknown == "error" else float(step.unknown_value)
    is_known = graph.op("Greater", known, graph.constant(np.array(0.0)))
    return graph.op("Where", is_known, codes, graph.constant(np.array(unknown)))


def _categories(step: Any) -> tuple[IntArray, FloatArray, FloatArray]:
    """The categories of all columns: the column of each, its value and its number in it."""
    name = type(step).__name__
    if any(np.asarray(values).dtype.kind not in "biuf" for values in step.categories_):
        raise ValueError(f"{name} encodes values that are not numbers")
    if any(places is not None for places in getattr(step, "infrequent_categories_", [])):
        raise ValueError(f"{name} groups infrequent categories")
    values = np.concatenate([np.asarray(v, dtype=np.float64) for v in step.categories_])
    if np.isnan(values).any():
        raise ValueError(f"{name} has a missing value as a category")
    sizes = [len(v) for v in step.categories_]
    code = np.concatenate([np.arange(size, dtype=np.float64) for size in sizes])
    return np.repeat(np.arange(len(sizes)), sizes), values, code


def _equals_category(graph: Graph, value: str, column: IntArray, categories: FloatArray) -> str:
    """1 if a row has a category, otherwise 0, with one column per category."""
    equal = graph.op("Equal", graph.pick(value, column), graph.constant(categories[None, :]))
    return graph.cast(equal, np.float64)


def _by_column(column: IntArray, code: FloatArray) -> FloatArray:
    """A matrix that sums the codes of the categories of each column."""
    places = np.arange(len(column)), column
    matrix: FloatArray = sp.coo_array((code, places)).toarray()
    return matrix


#: Written by hand, by exact type, because subclasses may differ.
_BY_HAND: dict[type[Any], Callable[[Graph, str, Any], str]] = {
    ColumnTransformer: _column_transformer,
    FeatureUnion: _feature_union,
    FunctionTransformer: _function,
    Binarizer: _binarizer,
    SimpleImputer: _simple_imputer,
    TableFeatures: _table_features,
    OneHotEncoder: _one_hot_encoder,
    OrdinalEncoder: _ordinal_encoder,
}
