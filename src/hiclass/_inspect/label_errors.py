"""Labels that are probably wrong, from the probabilities of models that have not seen the row.

A label may be wrong at any level: correct down to some class, and then one of its other branches
would have been correct. The levels at which labels are wrong, and how often, are learned from all
rows. Each row is either correct, or wrong from one level on. A few steps of expectation
maximisation find the shares with the highest likelihood. The contribution of a row is the
probability of the classes from which such an error would have come.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from hiclass._labels.columns import read_labels
from hiclass._rows import chunks_of_rows, n_rows_of, slice_rows, take_rows
from hiclass._targets.growth import grow
from hiclass._targets.paths import as_hierarchy, check_n_labels, nodes_of
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass._wrapping import unwrap, unwrap_fitted
from hiclass.hierarchy import Hierarchy
from hiclass.model_selection import HierarchicalKFold

_N_STEPS = 50
#: No class is completely impossible: an unexpected label is not certainly wrong.
_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """Result of :func:`find_label_errors`: rows sorted by the probability of a wrong label.

    Parameters
    ----------
    rows : ndarray of int of shape (n_samples,)
        Row numbers, starting with the most suspicious row. The other attributes except ``shares``
        are in this order.
    probability : ndarray of shape (n_samples,)
        The estimated probability that the label is wrong.
    level : ndarray of int of shape (n_samples,)
        The most probable level at which the error starts, starting at 1.
    given : list of tuple
        The given paths.
    suggested : list of tuple
        The suggested paths: the given path above the level, then the most probable sibling.
    confidence : ndarray of shape (n_samples, 2)
        The probability of the given and of the suggested class at the level.
    shares : ndarray of shape (n_levels,)
        The estimated share of rows whose label is wrong from each level on.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, find_label_errors
    >>> X = [[i % 2 + i / 100] for i in range(40)]
    >>> y = [["A", "x"] if i % 2 else ["A", "z"] for i in range(40)]
    >>> y[7] = ["A", "z"]
    >>> found = find_label_errors(LocalClassifierPerParentNode(), X, y)
    >>> int(found.rows[0]), found.suggested[0]
    (7, ('A', 'x'))
    """

    rows: IntArray
    probability: FloatArray
    level: IntArray
    given: list[tuple[Any, ...]]
    suggested: list[tuple[Any, ...]]
    confidence: FloatArray
    shares: FloatArray

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        likely = int((self.probability > 0.5).sum())
        return f"LabelErrors({len(self):,} rows, {likely:,} of them probably wrong)"


def find_label_errors(
    model: Any, X: Any, y: Any, *, cv: Any = 5, groups: Any = None
) -> LabelErrors:
    """Rank rows by the probability that their label is wrong.

    Parameters
    ----------
    model : estimator
        A hierarchical classifier with probabilities, or a pipeline that ends in one, fitted or not.
        It is cloned and fitted on folds. Calibrated models work best.
    X : rows
        The rows.
    y : array-like
        Their labels, some of which may be wrong.
    cv : int or splitter, default=5
        The folds. Every row is scored by a model that was fitted on the other folds.
    groups : array-like of shape (n_samples,), default=None
        The group of every row. Rows of a group are in the same fold.

    Returns
    -------
    LabelErrors
        All rows, starting with the most suspicious.

    Raises
    ------
    TypeError
        If the model is not a hierarchical classifier, or ``cv`` is neither a number nor a splitter.
    ValueError
        If the model has no probabilities of paths, or predicts sets of classes.

    See Also
    --------
    make_report : Show the result in a report, with ``label_errors=``.

    Notes
    -----
    The label of a row with the path v1, v2, ... is wrong from level *l* on with a probability
    proportional to s(l) (P(v(l-1)) - P(v(l))) / n(l), where s(l) is the share of such errors and
    n(l) the number of final classes that the error may have come from. The label is correct with a
    probability proportional to (1 - sum of s) P(v). The shares s are estimated from all rows. If a
    class has no training rows in a fold, its rows are scored down to its parent only.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, find_label_errors
    >>> X = [[i % 2 + i / 100] for i in range(40)]
    >>> y = [["A"] if i % 2 else ["B"] for i in range(40)]
    >>> y[7] = ["B"]
    >>> find_label_errors(LocalClassifierPerParentNode(), X, y).rows[0].item()
    7
    """
    inside = unwrap(model).model
    if not hasattr(type(inside), "predict_paths"):
        raise TypeError(
            f"model must be a hierarchical classifier, or a pipeline that ends in one; got a "
            f"{type(inside).__name__}."
        )
    hierarchy = _hierarchy_of(inside, y)
    nodes = nodes_of(read_labels(y), hierarchy)
    check_n_labels(len(nodes), n_rows_of(X))
    splitter = cv
    if isinstance(cv, Integral):
        splitter = HierarchicalKFold(int(cv), shuffle=True, random_state=0, hierarchy=hierarchy)
    elif isinstance(cv, str) or not hasattr(cv, "split"):
        raise TypeError(
            f"cv must be a number of folds, or a splitter such as HierarchicalKFold(5); got {cv!r}."
        )
    judged = _Judged.empty(nodes, hierarchy)
    for train, test in splitter.split(X, y, groups):
        again = _with_hierarchy(clone(model), hierarchy)
        again.fit(take_rows(X, train), take_rows(y, train))
        opened = unwrap_fitted(again)
        if not hasattr(opened.model, "predict_paths"):
            raise ValueError(
                "The model has no probabilities of paths. Use calibration='temperature' or a local "
                "classifier with predict_proba."
            )
        known = _with_rows(hierarchy, nodes[train])
        rows = opened.transform(take_rows(X, test))
        for chunk in chunks_of_rows(rows, hierarchy.n_nodes):
            proba = opened.model.predict_node_proba(slice_rows(rows, chunk))
            judged.judge(test[chunk], proba, known)
    return _ranked(judged)


def _hierarchy_of(model: Any, y: Any) -> Hierarchy:
    """The tree that a model is given, or the one of its training rows and these labels."""
    fitted = getattr(model, "hierarchy_", None)
    told = getattr(model, "hierarchy", None)
    given = told if fitted is None else fitted
    found = None if given is None else as_hierarchy(given)
    if model.multi_label or (found is not None and not found.is_tree):
        raise ValueError(
            "find_label_errors requires one path per row in a tree, but this "
            f"{type(model).__name__} predicts sets of classes (multi_label=True, or a DAG). For "
            "those, use sklearn.model_selection.cross_val_predict with "
            "method='predict_node_proba', and inspect labels with small probabilities."
        )
    if found is None:
        return Hierarchy.from_paths(y)
    # Clones are fitted on these rows, which may have classes that the training rows lack.
    # A single label is a path only if there is one level.
    columns = read_labels(y)
    are_paths = columns.ndim == 2 or found.depth == 1
    return grow(found, columns)[0] if told is None and are_paths else found


def _with_hierarchy(model: Any, hierarchy: Hierarchy) -> Any:
    """A model with a hierarchy, as for all of its parts, because folds may lack some classes."""
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "hierarchy"]
    return model.set_params(**dict.fromkeys(names, hierarchy))


def _with_rows(hierarchy: Hierarchy, nodes: IntArray) -> AnyArray:
    """The nodes with training rows at or below them."""
    known = np.zeros(hierarchy.n_nodes, dtype=bool)
    paths = hierarchy._paths[np.unique(nodes)]
    known[paths[paths >= 0]] = True
    return known


@dataclass(frozen=True)
class _Judged:
    """The probabilities of given labels, level by level."""

    hierarchy: Hierarchy
    nodes: IntArray
    paths: IntArray  # the given node of every level; -1 after the end
    own: FloatArray  # its probability; NaN if unknown
    sibling: IntArray  # the most probable other child of its parent; -1 if there is none
    rival: FloatArray  # its probability

    @staticmethod
    def empty(nodes: IntArray, hierarchy: Hierarchy) -> _Judged:
        shape = (len(nodes), hierarchy.depth)
        paths = np.asarray(hierarchy._paths[nodes])
        missing = np.full(shape, np.nan)
        return _Judged(hierarchy, nodes, paths, missing, np.full(shape, -1), np.zeros(shape))

    def judge(self, rows: IntArray, proba: FloatArray, known: AnyArray) -> None:
        """Add the probabilities of some rows."""
        for level in range(self.hierarchy.depth):
            given = self.paths[rows, level]
            above = self.paths[rows, level - 1] if level else np.zeros(len(rows), dtype=np.intp)
            here = np.flatnonzero((given >= 0) & known[np.maximum(given, 0)])
            self.own[rows[here], level] = proba[here, given[here]]
            for parent in np.unique(above[here]).tolist():
                at = here[above[here] == parent]
                children = np.asarray(self.hierarchy.children(parent))
                others = proba[np.ix_(at, children)]
                others[children[None, :] == given[at, None]] = -1.0
                best = others.argmax(axis=1)
                value = others[np.arange(len(at)), best]
                self.sibling[rows[at], level] = np.where(value >= 0, children[best], -1)
                self.rival[rows[at], level] = np.maximum(value, 0.0)


def _ranked(judged: _Judged) -> LabelErrors:
    tree = judged.hierarchy
    wrong, shares = mistakes(judged)
    probability = wrong.sum(axis=1)
    rows = np.argsort(-probability, kind="stable")
    level = wrong.argmax(axis=1)
    sibling = judged.sibling[np.arange(len(level)), level]
    confidence = np.column_stack(
        [part[np.arange(len(level)), level] for part in (judged.own, judged.rival)]
    )
    suggested = [
        tree.path(int(node if other < 0 else other))
        for node, other in zip(judged.nodes[rows], sibling[rows], strict=True)
    ]
    given = [tree.path(int(node)) for node in judged.nodes[rows]]
    return LabelErrors(
        rows, probability[rows], level[rows] + 1, given, suggested, confidence[rows], shares
    )


def mistakes(judged: Any) -> tuple[FloatArray, FloatArray]:
    """The probability that each label is wrong from each level on, and the share of such labels.

    Parameters
    ----------
    judged : object
        With the probabilities ``own`` of the given classes by level, and the ``hierarchy``.

    Returns
    -------
    wrong : ndarray of shape (n_rows, n_levels)
    shares : ndarray of shape (n_levels,)
    """
    tree: Hierarchy = judged.hierarchy
    seen = ~np.isnan(judged.own)
    own = np.where(seen, judged.own, 0.0)
    above = np.column_stack([np.ones(len(own)), own[:, :-1]])
    n_final = _n_final(tree)
    count = np.where(seen, n_final[np.maximum(judged.paths, 0)], 0)
    others = np.column_stack([np.full(len(own), n_final[0]), count[:, :-1]]) - count
    possible = seen & (others > 0)
    likely = np.where(possible, np.maximum(above - own, 0.0) / np.maximum(others, 1), 0.0)
    # Down to the last level that can be judged; a row about which nothing is known may be correct.
    last = np.maximum(seen.sum(axis=1) - 1, 0)
    right = np.where(seen.any(axis=1), own[np.arange(len(own)), last], 1.0) + _LEAST
    shares = np.full(own.shape[1], 0.1 / own.shape[1])
    wrong = np.zeros_like(likely)
    for _ in range(_N_STEPS):
        weighted = likely * shares
        total = (1 - shares.sum()) * right + weighted.sum(axis=1)
        wrong = weighted / total[:, None]
        shares = wrong.mean(axis=0)
    return wrong, shares


def _n_final(tree: Hierarchy) -> IntArray:
    """The number of leaves at or below every node."""
    before = np.concatenate([[0], np.cumsum(tree.is_leaf)])
    count: IntArray = before[tree.subtree_end] - before[np.arange(tree.n_nodes)]
    return count
