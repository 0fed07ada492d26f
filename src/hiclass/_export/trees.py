"""Validation of the decision trees in a model file, before any of them predicts.

scikit-learn follows the numbers in a tree without checking them, so a file with invalid numbers
could make ``predict`` read outside its memory. Therefore, skops does not trust trees by default.
Here, they are checked one by one instead: :func:`find_fault` walks through the loaded objects
before any of them is called.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from numbers import Integral
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.tree import BaseDecisionTree

from hiclass._compat import Tree

#: The name of the type that is checked here instead of being trusted.
TREE = "sklearn.tree._tree.Tree"
#: They check X by the number of their own features, and then call their trees without a check.
_FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomTreesEmbedding,
)
#: They have further numbers that are followed without a check.
_NOT_CHECKED = (GradientBoostingClassifier, GradientBoostingRegressor, IsolationForest)
#: Not from the file, and leads everywhere.
_OUTSIDE = (type, ModuleType, FunctionType, BuiltinFunctionType)
#: The number that stands for a missing child.
_NONE = -1


def find_fault(content: Any) -> str | None:
    """Find an invalid decision tree in the content of a file.

    Parameters
    ----------
    content : object
        The loaded objects. None of them is called.

    Returns
    -------
    str or None
        The problem, for a message; None if all trees are valid.
    """
    for thing in _walk(content):
        fault = None
        if isinstance(thing, Tree):
            fault = "it is not part of a decision tree of scikit-learn"
        elif isinstance(thing, _NOT_CHECKED):
            fault = f"it may be part of a {type(thing).__name__}, which hiclass does not check"
        elif isinstance(thing, BaseDecisionTree):
            fault = _fault_of_estimator(thing)
        elif isinstance(thing, _FORESTS):
            fault = _fault_of_forest(thing)
        if fault is not None:
            return fault
    return None


def _walk(content: Any) -> Iterator[Any]:
    """All objects of which an object consists, once each."""
    seen, waiting = {id(content)}, [content]
    while waiting:
        thing = waiting.pop()
        yield thing
        for part in _parts(thing):
            if id(part) not in seen and not isinstance(part, _OUTSIDE):
                seen.add(id(part))
                waiting.append(part)


def _parts(thing: Any) -> Iterable[Any]:
    if isinstance(thing, BaseDecisionTree):
        # Its tree is checked together with it and must not be reachable from elsewhere.
        return [value for name, value in vars(thing).items() if name != "tree_"]
    if isinstance(thing, np.ndarray):  # which do not tell the garbage collector what they hold
        return thing.ravel().tolist() if thing.dtype.hasobject else ()
    return gc.get_referents(thing)


def _fault_of_estimator(estimator: Any) -> str | None:
    if (name := _replaced(estimator)) is not None:
        return f"its {name} was replaced"
    tree = vars(estimator).get("tree_")
    if tree is None:
        return None  # it is not fitted
    if not isinstance(tree, Tree):
        return f"a {type(tree).__name__} is in its place"
    if not _is_number(estimator, tree.n_features):
        return "it reads features that it does not check"
    return _fault_of_tree(tree)


def _fault_of_forest(forest: Any) -> str | None:
    if (name := _replaced(forest)) is not None:
        return f"the {name} of its forest was replaced"
    estimators = vars(forest).get("estimators_", [])
    for estimator in estimators if isinstance(estimators, list) else [estimators]:
        if not isinstance(estimator, BaseDecisionTree):
            return f"a {type(estimator).__name__} is in its place"
        tree = vars(estimator).get("tree_")
        if not isinstance(tree, Tree) or not _is_number(forest, tree.n_features):
            return "it reads features that its forest does not check"
    return None


def _replaced(estimator: Any) -> str | None:
    """A method that is hidden by an attribute of the same name, which a file could create."""
    methods = (n for n in vars(estimator) if callable(getattr(type(estimator), n, None)))
    return next(methods, None)


def _is_number(estimator: Any, n_features: int) -> bool:
    """Whether an estimator checks that rows have this many features."""
    number = vars(estimator).get("n_features_in_")
    return isinstance(number, Integral) and bool(number == n_features)


def _fault_of_tree(tree: Any) -> str | None:
    """What is wrong with the numbers of a tree; each is checked for existence before it is read."""
    n = tree.node_count
    if not 1 <= n == tree.capacity:
        return f"it has {tree.capacity} nodes but claims {n}"
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    inner = np.flatnonzero(left != _NONE)
    leaf = np.flatnonzero(left == _NONE)
    if (right[leaf] != _NONE).any():
        return "a node has one child"
    children = np.concatenate([left[inner], right[inner]])
    if (children <= np.concatenate([inner, inner])).any() or (children >= n).any():
        return "a child comes before its parent, or does not exist"
    if (np.bincount(children, minlength=n)[1:] != 1).any():
        return "a node has no parent, or several"
    if ((feature[inner] < 0) | (feature[inner] >= tree.n_features)).any():
        return "it reads a feature that does not exist"
    if not np.isfinite(tree.value).all():
        return "it predicts numbers that are not finite"
    # Memory for the nodes on the path of a row is allocated by this number.
    if tree.compute_node_depths().max() - 1 > tree.max_depth:
        return "it is deeper than it claims"
    return None
