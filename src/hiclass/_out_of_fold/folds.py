"""The folds for everything that is learned out of fold.

A fold has an equal share of every class. If rows come in groups, it has whole groups, and shares
that are as equal as the groups allow. Otherwise, models would have seen other rows of the same
group, and what is learned would be overconfident for new groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard

import numpy as np

from hiclass._targets.sets import SetTarget
from hiclass._typing import IntArray
from hiclass._warnings import warn_user
from hiclass.hierarchy import Hierarchy
from hiclass.model_selection import count_units, deal_folds, deal_units

N_FOLDS = 3
#: One in this many classes is held out entirely, if class texts are used.
_WHOLE = 8
#: The number of siblings kept together if a few numbers are learned from a part of the classes.
_MOST_SIBLINGS = 32
#: The default description of what is learned from folds, and how to avoid it.
_LEARNED = {"every learned parameter": "set temperature, expected_f1, threshold or weights"}


def fit_folds(
    fit_fold: Callable[[IntArray], Any], fold: IntArray
) -> Iterator[tuple[Any, IntArray]]:
    """Fit models on all folds but one, for one fold after the other.

    Parameters
    ----------
    fit_fold : callable
        A function that fits models on some of the rows.
    fold : ndarray of int
        The fold of every row, from :func:`deal_paths` or :func:`deal_sets`; rows of fold -1 are
        never held out.

    Yields
    ------
    models, rows : object, ndarray of int
        The fitted models, and the rows that they have not seen. Yields nothing if there are too few
        rows for two folds.
    """
    if len(fold) < 2:
        return
    for k in np.unique(fold[fold >= 0]).tolist():
        yield fit_fold(np.flatnonzero(fold != k)), np.flatnonzero(fold == k)


def deal_paths(
    nodes: IntArray, hierarchy: Hierarchy, groups: IntArray | None = None, *, keep_own: bool = False
) -> IntArray:
    """Assign rows with one path each to folds.

    Parameters
    ----------
    nodes : ndarray of int
        The most specific node of every row.
    hierarchy : Hierarchy
        The tree.
    groups : ndarray of int, default=None
        The group of every row, from ``read_groups``; a group is in one fold.
    keep_own : bool, default=False
        Whether every training set must have rows that end at an inner class, if there are any, as
        required by policies that use such rows. Without groups, this is always the case.

    Returns
    -------
    ndarray of int
        The fold of every row; -1 for rows that are in every training set.

    Raises
    ------
    ValueError
        If there are fewer than three groups.
    """
    if not _are_groups(groups):
        fold = deal_folds(nodes, min(N_FOLDS, len(nodes)))
        # The only row that ends at an inner class is never held out: some policies have no problem
        # without it.
        fold[~hierarchy.is_leaf[nodes] & (np.bincount(nodes)[nodes] == 1)] = -1
        return fold
    fold = deal_units(count_units(hierarchy._closure[nodes], groups), N_FOLDS)[groups]
    if keep_own:
        # Whole groups stay: no group may be both fitted and held out.
        alone = _folds_per_class(fold, nodes, hierarchy.n_nodes) == 1
        fold[np.isin(groups, groups[alone[nodes] & ~hierarchy.is_leaf[nodes]])] = -1
    _check_spread(_folds_per_class(fold, nodes, hierarchy.n_nodes))
    return fold


def deal_sets(target: SetTarget, groups: IntArray | None = None) -> IntArray:
    """Assign rows that are sets of classes to folds.

    Parameters
    ----------
    target : SetTarget
        The sets of nodes of all rows.
    groups : ndarray of int, default=None
        The group of every row, from ``read_groups``; a group is in one fold.

    Returns
    -------
    ndarray of int
        The fold of every row.

    Raises
    ------
    ValueError
        If there are fewer groups than folds.
    """
    if not _are_groups(groups):
        return deal_folds(rarest_nodes(target), min(N_FOLDS, target.n_rows))
    fold = deal_units(count_units(target.closed, groups), N_FOLDS)[groups]
    rows, nodes = target.own.nonzero()
    _check_spread(_folds_per_class(fold[rows], nodes, target.hierarchy.n_nodes))
    return fold


def check_groups(groups: IntArray | None, learned: Mapping[str, str] = _LEARNED) -> None:
    """Check that there are at least as many groups as folds.

    Parameters
    ----------
    groups : ndarray of int or None
        The group of every row, from ``read_groups``.
    learned : mapping of str
        What is learned from the folds, and how to avoid it.

    Raises
    ------
    ValueError
        If there are fewer groups than folds. The message names what is learned.
    """
    if groups is None or not learned:
        return
    n_groups = int(groups.max()) + 1
    if n_groups < N_FOLDS:
        raise ValueError(
            f"groups has {n_groups} different {'group' if n_groups == 1 else 'groups'}, but "
            f"{' and '.join(learned)} {'is' if len(learned) == 1 else 'are'} learned from "
            f"{N_FOLDS} folds of whole groups. Pass rows of at least {N_FOLDS} groups, leave "
            f"groups out, or {' and '.join(learned.values())}."
        )


def _are_groups(groups: IntArray | None) -> TypeGuard[IntArray]:
    """Whether some rows belong together; checks that there are enough groups."""
    if groups is None:
        return False
    check_groups(groups)
    return int(groups.max()) + 1 < len(groups)


def _folds_per_class(fold: IntArray, classes: IntArray, n_classes: int) -> IntArray:
    """The number of folds that contain every class, given the folds and classes of rows."""
    pairs = np.unique(classes * (N_FOLDS + 1) + fold + 1)
    return np.bincount(pairs // (N_FOLDS + 1), minlength=n_classes)


def _check_spread(n_folds: IntArray) -> None:
    """Warn if no class is in several folds."""
    if n_folds.max(initial=0) < 2:
        warn_user(
            "With these groups, all rows of a class are in one fold, for every class. Models are "
            "therefore evaluated only on classes that they were not fitted on, and out-of-fold "
            "results are unreliable. Use smaller groups, or omit groups."
        )


def rarest_nodes(target: SetTarget) -> IntArray:
    """The rarest most specific node of every row, by which rows are assigned to folds."""
    own = target.own
    count = np.asarray(own.sum(axis=0))
    nodes = np.zeros(target.n_rows, dtype=np.intp)
    for i, (a, b) in enumerate(zip(own.indptr[:-1], own.indptr[1:], strict=True)):
        if b > a:
            here = own.indices[a:b]
            nodes[i] = here[np.argmin(count[here])]
    return nodes


def hold_out_classes(fold: IntArray, nodes: IntArray, n_folds: int = N_FOLDS) -> IntArray:
    """Assign all rows of some classes to one fold, so that these classes are held out entirely.

    Parameters
    ----------
    fold : ndarray of int
        The fold of every row, from :func:`deal_paths`.
    nodes : ndarray of int
        Their most specific nodes.
    n_folds : int, default=3
        The number of folds that are held out; rows of the others are in every training set.

    Returns
    -------
    ndarray of int
        The folds; every eighth class is in one of them, and every sixteenth if only one is held
        out.
    """
    classes = np.unique(nodes)
    step = _WHOLE if n_folds > 1 else 2 * _WHOLE
    whole = classes[step // 2 :: step]
    place = np.searchsorted(whole, nodes)
    is_whole = np.isin(nodes, whole) & (fold >= 0)
    fold = np.where(is_whole, place % n_folds, fold)
    return np.where(fold < n_folds, fold, -1)


def some_classes(
    hierarchy: Hierarchy, ends: IntArray, nodes: IntArray, n_rows: int, n_classes: int
) -> IntArray:
    """Final classes from all parts of a tree, with enough rows to learn a few numbers.

    Parameters
    ----------
    hierarchy : Hierarchy
        The tree.
    ends : ndarray of int
        Its final classes, in ascending order.
    nodes : ndarray of int
        The most specific node of every row.
    n_rows, n_classes : int
        The numbers of rows and of classes with rows that are sufficient.

    Returns
    -------
    ndarray of int
        Final classes in ascending order; all of them if there are no more than needed.
    """
    own = np.bincount(nodes, minlength=hierarchy.n_nodes)[ends]
    parent = hierarchy.parent[ends]
    order = np.argsort(parent, kind="stable")
    first = np.r_[True, np.diff(parent[order]) != 0]
    begins = np.maximum.accumulate(np.where(first, np.arange(len(ends)), 0))
    first |= (np.arange(len(ends)) - begins) % _MOST_SIBLINGS == 0
    group = np.empty(len(ends), dtype=np.intp)
    group[order] = np.cumsum(first) - 1
    # Steps of the golden ratio are evenly spread for any number of steps.
    turns = np.argsort(np.arange(first.sum()) * ((5**0.5 - 1) / 2) % 1)
    rows = np.cumsum(np.bincount(group, own)[turns])
    classes = np.cumsum(np.bincount(group, own > 0)[turns])
    enough = np.flatnonzero((rows >= n_rows) & (classes >= n_classes))
    return ends[np.isin(group, turns[: enough[0] + 1])] if len(enough) else ends
