"""Class weights: from the labels of a user to the classes of local problems.

A user assigns weights to classes by their labels: ``class_weight={"Cat": 5.0}``. The classes of a
local problem are codes, 0 to k - 1, so every local classifier gets its own dict:

- per parent node, per level and flat, class ``j`` has the weight of its node;
- in a binary problem, including that of a column if rows are sets of nodes, the weight applies to
  the positive rows;
- everything else, including "stop here" and "not this node", has weight 1.

The dict of a local classifier contains all of its classes, because scikit-learn rejects a dict that
lacks a class and has another one without rows, as in a fold. If the target has several columns,
there is a list of such dicts, one per column, from which :func:`keep_columns` selects some.

Other parameters that refer to classes by label or position cannot be translated. They are rejected,
because a local classifier would apply them to other classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from hiclass._engine.local_classifiers import may_name_classes
from hiclass._labels.columns import plain
from hiclass._problems.index import LocalProblem
from hiclass._problems.strategies import Strategy
from hiclass._typing import IntArray
from hiclass._warnings import warn_user
from hiclass.hierarchy import Hierarchy
from hiclass.hierarchy._lookup import nodes_with_label

#: The weights of nodes, by the name of a parameter.
Weights = dict[str, dict[int, float]]

_NAME = "class_weight"
#: Parameters that may refer to classes, and whether a value does.
_PER_CLASS: dict[str, Callable[[Any], bool]] = {
    "priors": lambda value: value is not None,
    "class_prior": lambda value: value is not None,
    "class_weights": lambda value: isinstance(value, Mapping | list | tuple | np.ndarray),
    "sampling_strategy": lambda value: isinstance(value, Mapping | list | tuple),
}
#: A label, not a number of a transformer.
_CONSTANT = ("DummyClassifier", "constant")
#: The parameters of searches that hold candidate values.
_GRIDS = ("param_grid", "param_distributions", "search_spaces")
#: Modules whose classifiers create their own binary problems from the classes.
_BINARY = ("sklearn.multiclass", "sklearn.multioutput")


# -- reading -----------------------------------------------------------------------------------


def read_class_weights(
    estimator: Any, hierarchy: Hierarchy, final: IntArray | None = None
) -> Weights:
    """Read the class weights of an estimator and of everything inside it.

    Parameters
    ----------
    estimator : object
        An unfitted local classifier, for which ``may_name_classes`` holds.
    hierarchy : Hierarchy
        The classes.
    final : ndarray of int, default=None
        The classes that can be weighed, where these are final classes only.

    Returns
    -------
    dict
        Per parameter that is called ``class_weight`` and is a dict, the weights by node.

    Raises
    ------
    ValueError
        If a key is not a class, a weight is not a number from 0 on, or another parameter refers to
        classes in a way that cannot be translated.

    Warns
    -----
    UserWarning
        If an inner class has a weight, but is not a final class.
    """
    params = estimator.get_params(deep=True)
    weights: Weights = {}
    for name, value in params.items():
        prefix, _, last = name.rpartition("__")
        owner = type(params.get(prefix, estimator)).__name__
        if last in _GRIDS:
            _check_grid(owner, last, value)
        elif last == _NAME and isinstance(value, list | tuple):
            raise ValueError(
                f"class_weight of {owner} is a list, but local problems have different targets. "
                "Use a dict with labels of classes as keys."
            )
        elif last == _NAME and isinstance(value, Mapping):
            _check_place(owner, prefix, estimator, params)
            weights[name] = _by_node(owner, value, hierarchy)
            if final is not None:
                _warn_of_inner_classes(weights[name], final, hierarchy)
        elif _refers_to_classes(last, value) or ((owner, last) == _CONSTANT and value is not None):
            raise ValueError(
                f"{last} of {owner} refers to classes, but every local classifier has different "
                f"classes. Leave {last} out, and set class_weight={{label: weight}} if the "
                "classifier supports it, or sample_weight in fit."
            )
    return weights


def _check_grid(owner: str, name: str, grids: Any) -> None:
    """Reject weights that only a search would set, after they could have been translated."""
    for grid in grids if isinstance(grids, list | tuple) else [grids]:
        items = grid.items() if isinstance(grid, Mapping) else ()
        for parameter, values in items:
            last = str(parameter).rpartition("__")[2]
            # A distribution has no values to check.
            tried = values if isinstance(values, list | tuple | np.ndarray) else ()
            if any(_holds_classes(last, value) for value in tried):
                raise ValueError(
                    f"{name} of {owner} sets {parameter!r} to values that refer to classes. Every "
                    f"local classifier has different classes, and labels cannot be translated "
                    f"inside a search. Put the search around the hierarchical model instead; "
                    f"class_weight is then the parameter 'local_classifier__class_weight'."
                )


def _refers_to_classes(name: str, value: Any) -> bool:
    """Whether a value of a parameter refers to classes by their labels or positions."""
    if name == _NAME:
        return isinstance(value, Mapping | list | tuple)
    return name in _PER_CLASS and _PER_CLASS[name](value)


def _holds_classes(name: str, value: Any) -> bool:
    """The same for a value that may be an estimator with parameters."""
    if not hasattr(value, "get_params") or isinstance(value, type):
        return _refers_to_classes(name, value)
    params = value.get_params(deep=True)
    return any(_refers_to_classes(key.rpartition("__")[2], v) for key, v in params.items())


def _check_place(owner: str, prefix: str, estimator: Any, params: dict[str, Any]) -> None:
    """Reject weights inside a classifier that creates binary problems from the classes."""
    parts = prefix.split("__") if prefix else []
    around = [estimator, *(params.get("__".join(parts[:n])) for n in range(1, len(parts)))]
    for outer in around:
        if any(kind.__module__ in _BINARY for kind in type(outer).__mro__):
            name = type(outer).__name__
            raise ValueError(
                f"class_weight of {owner} is a dict, but {name} gives {owner} binary problems with "
                f"the classes 0 and 1, in which labels do not occur. Use {owner} without {name}; "
                f"LocalClassifierPerNode already fits one binary classifier per class."
            )


def _by_node(owner: str, weights: Mapping[Any, Any], hierarchy: Hierarchy) -> dict[int, float]:
    """The weights of nodes; a path has priority over a label, which may have several nodes."""
    by_label: dict[int, float] = {}
    by_path: dict[int, float] = {}
    for key, weight in weights.items():
        if not isinstance(weight, Real) or not isfinite(weight) or weight < 0:
            raise ValueError(
                f"class_weight of {owner} has the weight {weight!r} for {key!r}; weights must be "
                f"finite and not negative."
            )
        if isinstance(key, tuple) and not hierarchy._has_label(key):
            by_path[_find(owner, key, hierarchy)] = float(weight)
            continue
        label = plain(key)
        for node in nodes_with_label(hierarchy, label) or [_find(owner, label, hierarchy)]:
            by_label[node] = float(weight)
    return {**by_label, **by_path}


def _find(owner: str, key: Any, hierarchy: Hierarchy) -> int:
    """The node of a key, or an error that names the estimator with this key."""
    try:
        node = hierarchy.find(key)
    except ValueError as error:
        raise ValueError(
            f"class_weight of {owner} has a weight for {key!r}. "
            f"{error}{_other_type(key, hierarchy)} Keys must be labels or path tuples of classes. "
            f"Classes without rows must be in hierarchy= (in partial_fit, in classes=)."
        ) from None
    if node == 0:
        raise ValueError(
            f"class_weight of {owner} has a weight for {key!r}, the root, which is not a class. "
            f"Leave it out."
        )
    return node


def _other_type(key: Any, hierarchy: Hierarchy) -> str:
    """A hint that a label only has another type, such as 1.0 instead of 1."""
    for kind in (int, float, bool, str):
        try:
            label = kind(key)
        except (TypeError, ValueError, OverflowError):
            continue
        if nodes_with_label(hierarchy, label) and (kind is str or label == key):
            return f" There is {label!r}, of the type {kind.__name__}."
    return ""


def _warn_of_inner_classes(
    by_node: dict[int, float], final: IntArray, hierarchy: Hierarchy
) -> None:
    """Warn of a weight without effect, because no path ends at its class."""
    unused = set(by_node).difference(final.tolist())
    inner = sorted(node for node in unused if not hierarchy.is_leaf[node])
    if inner:
        warn_user(
            f"class_weight has a weight for {hierarchy.describe(inner[0])}, at which no training "
            "row ends. A flat model uses weights of final classes only, so this weight has no "
            "effect. Set weights for the classes below it."
        )


# -- translating -------------------------------------------------------------------------------


def set_class_weights(
    estimator: Any,
    weights: Weights,
    problem: LocalProblem,
    strategy: Strategy,
    hierarchy: Hierarchy,
) -> None:
    """Set the class weights of a local problem.

    Parameters
    ----------
    estimator : object
        The unfitted copy for the problem; its parameters are set.
    weights : dict
        The result of :func:`read_class_weights`.
    problem : LocalProblem
        The problem.
    strategy : Strategy
        The strategy, which defines the problems.
    hierarchy : Hierarchy
        The classes.
    """
    values: dict[str, Any] = {}
    for name, by_node in weights.items():
        found = _of_classes(by_node, problem, strategy, hierarchy)
        if problem.target.ndim == 2:
            values[name] = [{0: 1.0, 1: weight} for weight in found]
        elif len(found) == 1:  # rows are sets of nodes: in this node, or not
            values[name] = {0: 1.0, 1: found[0]}
        else:
            values[name] = dict(enumerate(found))
    estimator.set_params(**values)


def _of_classes(
    by_node: dict[int, float], problem: LocalProblem, strategy: Strategy, hierarchy: Hierarchy
) -> list[float]:
    """The weight of every class of a problem; stopping has weight 1."""
    nodes = problem.classes.tolist()
    if problem.gate:
        return [1.0] * len(nodes)
    stops = strategy.stops(problem, hierarchy)
    return [
        1.0 if stop else by_node.get(node, 1.0) for node, stop in zip(nodes, stops, strict=True)
    ]


# -- some of the columns -----------------------------------------------------------------------


def keep_columns(estimator: Any, columns: list[int], *, single: bool) -> None:
    """Adapt weights per column to a target with only some of the columns.

    Parameters
    ----------
    estimator : object
        An unfitted estimator, as :func:`set_class_weights` left it; its parameters are set.
    columns : list of int
        The columns that the target has.
    single : bool
        Whether the target is one column as a 1-D array.
    """
    if not may_name_classes(estimator):
        return
    values: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=True).items():
        if name.rpartition("__")[2] == _NAME and isinstance(value, list):
            kept = [value[j] for j in columns]
            values[name] = kept[0] if single else kept
    if values:
        estimator.set_params(**values)
