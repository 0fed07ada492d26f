"""Cross-validation for hierarchical labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from hiclass._closure import from_entries
from hiclass._labels.columns import (
    LabelColumns,
    check_paths,
    is_hashable,
    is_missing,
    read_labels,
    read_paths,
    refuse_path_tuples,
    split_columns,
)
from hiclass._rows import n_rows_of
from hiclass._targets.paths import as_hierarchy, check_n_labels, nodes_of
from hiclass._targets.sets import encode_in_dag, encode_sets
from hiclass._typing import AnyArray, IntArray
from hiclass.hierarchy import Hierarchy


def deal_folds(nodes: IntArray, n_splits: int) -> IntArray:
    """Assign rows to folds in the order of their nodes, so that every subtree is spread."""
    fold = np.empty(len(nodes), dtype=np.intp)
    fold[np.argsort(nodes, kind="stable")] = np.arange(len(nodes)) % n_splits
    return fold


def deal_units(counts: Any, n_splits: int) -> IntArray:
    """Assign units of rows to folds by a greedy algorithm that spreads every node evenly.

    Parameters
    ----------
    counts : sparse array of shape (n_units, n_nodes)
        Rows of every node in every unit. The root has all rows, so that folds get equal sizes.
    n_splits : int
        Number of folds.

    Returns
    -------
    ndarray of shape (n_units,)
        The fold of every unit.
    """
    counts = sp.csr_array(counts, dtype=np.float64)
    # A node of a single unit cannot be spread and does not affect the order.
    spread = np.bincount(counts.indices, minlength=counts.shape[1]) > 1
    weight = np.zeros(counts.shape[1])
    weight[spread] = 1 / counts.sum(axis=0)[spread]
    order = np.argsort(-(counts.multiply(counts) @ weight**2), kind="stable")
    dealt = np.zeros((counts.shape[1], n_splits))
    fold = np.empty(len(order), dtype=np.intp)
    for unit in order.tolist():
        entries = slice(counts.indptr[unit], counts.indptr[unit + 1])
        nodes, rows = counts.indices[entries], counts.data[entries]
        fold[unit] = np.argmin((weight[nodes] * rows) @ dealt[nodes])
        dealt[nodes, fold[unit]] += rows
    return fold


def count_units(closed: Any, unit: IntArray) -> Any:
    """Rows of every node in every unit.

    Parameters
    ----------
    closed : sparse array of bool of shape (n_rows, n_nodes)
        The nodes of every row, including all ancestors.
    unit : ndarray of int of shape (n_rows,)
        The unit of every row, from 0 on.

    Returns
    -------
    sparse array of shape (n_units, n_nodes)
    """
    shape = (int(unit.max()) + 1, len(unit))
    rows_of = from_entries(unit, np.arange(len(unit)), shape)
    return rows_of.astype(np.int32) @ closed.astype(np.int32)


def hold_out_groups(unit: IntArray, n_rows: int, rng: Any) -> AnyArray:
    """Hold out whole groups in random order, with about a given number of rows.

    Parameters
    ----------
    unit : ndarray of int
        The group of every row, from 0 on.
    n_rows : int
        About how many rows to hold out.
    rng : Generator or RandomState
        Draws the order.

    Returns
    -------
    ndarray of bool
        A mask of the held-out rows.

    Raises
    ------
    ValueError
        If there is one group only.
    """
    size = np.bincount(unit)
    if len(size) < 2:
        raise ValueError(
            "groups has 1 different group, but whole groups are held out, and other groups are "
            "needed to fit the model. Pass rows of at least 2 groups, or omit groups."
        )
    order = rng.permutation(len(size))
    distance = np.abs(np.cumsum(size[order])[:-1] - n_rows)
    return np.isin(unit, order[: 1 + int(np.argmin(distance))])


class HierarchicalKFold(BaseCrossValidator):
    """K-fold cross-validator that stratifies every class at every level of a hierarchy.

    With one label or path per row in a tree, the rows of every class, at every level, are divided
    evenly: the numbers of its rows in two folds differ by at most one. A class with at least two
    rows is therefore in every training set.

    With ``groups``, several labels per row or a DAG, an exact division is not possible. A greedy
    algorithm then assigns groups or rows to folds so that every class is spread as evenly as
    possible. All rows of a group are in the same fold.

    Labels are accepted in every form that ``fit`` accepts, including missing labels and ragged
    lists, for which scikit-learn rejects an integer ``cv``.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Whether to shuffle the rows of each class, or the groups, before splitting.
    random_state : int, RandomState instance or None, default=None
        Controls the shuffling. Only used if ``shuffle`` is True.
    multi_label : bool, default=False
        Whether a row may have several labels, as in the estimators. Otherwise, a list is a path.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of the labels, as in the estimators. By default, it is read from the paths;
        single labels are stratified by label only.

    Examples
    --------
    >>> from hiclass import HierarchicalKFold
    >>> y = [["A", "x"], ["A", "x"], ["A", None], ["B", "y"], ["B", "z"], ["B", "z"]]
    >>> for train, test in HierarchicalKFold(n_splits=2).split(y, y):
    ...     print(train, test)
    [0 3 5] [1 2 4]
    [1 2 4] [0 3 5]

    Rows 0 and 1 come from the same patient, and so do rows 4 and 5:

    >>> patients = ["P", "P", "Q", "R", "S", "S"]
    >>> for train, test in HierarchicalKFold(n_splits=2).split(y, y, groups=patients):
    ...     print(train, test)
    [2 4 5] [0 1 3]
    [0 1 3] [2 4 5]
    """

    #: ``groups`` is requested if metadata routing is enabled, as in scikit-learn's group splitters.
    __metadata_request__split = {"groups": True}  # noqa: RUF012  (read by scikit-learn)

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        multi_label: bool = False,
        hierarchy: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.multi_label = multi_label
        self.hierarchy = hierarchy

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Generate the indices of the training and test rows of every fold.

        Parameters
        ----------
        X : rows
            The rows. Only their number is used.
        y : array-like
            Labels in any form that ``fit`` accepts.
        groups : array-like of shape (n_samples,), default=None
            The group of every row: any value that is not missing. The rows of a group are either
            all training rows or all test rows.

        Yields
        ------
        train, test : ndarray of int
            Row numbers in ascending order.

        Raises
        ------
        ValueError
            If there are fewer rows or groups than folds, a row has no group, or the labels or a
            parameter are invalid.
        """
        if not isinstance(self.n_splits, int | np.integer) or self.n_splits < 2:
            raise ValueError(f"n_splits must be an integer of at least 2; got {self.n_splits!r}.")
        if self.random_state is not None and not self.shuffle:
            raise ValueError(
                f"random_state={self.random_state!r} has no effect without shuffle=True. Set "
                f"shuffle=True, or leave random_state out."
            )
        if y is None:
            raise ValueError("HierarchicalKFold stratifies by y. Pass the labels.")
        fold = self._folds(X, y, groups)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def _folds(self, X: Any, y: Any, groups: Any) -> IntArray:
        """The fold in which every row is tested."""
        classes = _classes_of(y, self.hierarchy, self.multi_label, as_sets=groups is not None)
        n_rows = classes.shape[0]
        if X is not None:
            check_n_labels(n_rows, n_rows_of(X))
        unit = np.arange(n_rows) if groups is None else read_groups(groups, n_rows)
        n_units, things = int(unit.max()) + 1, "rows" if groups is None else "groups"
        if self.n_splits > n_units:
            raise ValueError(
                f"n_splits={self.n_splits} is more than the {n_units} {things}. Use fewer folds."
            )
        order = np.arange(n_units)
        if self.shuffle:
            order = check_random_state(self.random_state).permutation(n_units)
        fold = np.empty(n_units, dtype=np.intp)
        if classes.ndim == 1:
            fold[order] = deal_folds(classes[order], self.n_splits)
        else:
            fold[order] = deal_units(count_units(classes, unit)[order], self.n_splits)
        return fold[unit]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object
            Ignored, present for compatibility with scikit-learn.

        Returns
        -------
        int
            The parameter ``n_splits``.
        """
        return self.n_splits


# -- labels and groups -------------------------------------------------------------------------


def _classes_of(y: Any, hierarchy: Any, multi_label: bool, *, as_sets: bool) -> Any:
    """The node of every row of a tree; in all other cases, closed sets of nodes."""
    if multi_label:
        return encode_sets(y, hierarchy).closed
    if hierarchy is None:
        columns = read_labels(y)
        _check_single(columns)
        graph, nodes = Hierarchy._from_columns(columns)
    else:
        graph = as_hierarchy(hierarchy)
        if not graph.is_tree:
            return encode_in_dag(y, graph).closed
        nodes = nodes_of(read_paths(y), graph)
    return graph._closure[nodes] if as_sets else nodes


def _check_single(columns: LabelColumns) -> None:
    """Reject gaps, and rows that can only be several labels."""
    length = check_paths(columns, allow_empty=True)
    if not length.all():
        raise ValueError(
            f"Row {int(np.argmin(length))} of y has no label at all. Remove such rows, or give "
            "them at least a label of level 1. If rows may have any number of labels, use "
            "HierarchicalKFold(multi_label=True)."
        )
    refuse_path_tuples(columns, "use HierarchicalKFold(multi_label=True)")


def read_groups(groups: Any, n_rows: int) -> IntArray:
    """The group of every row as a number; any value is a group, including 0.5 and the empty string.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Names or numbers of groups.
    n_rows : int
        The number of rows.

    Returns
    -------
    ndarray of int of shape (n_rows,)
        Numbers from 0 on, in the order in which groups come first.

    Raises
    ------
    ValueError, TypeError
        If there is not one group for every row.
    """
    columns, ndim = split_columns(groups, "groups")
    if ndim != 1:
        raise ValueError(
            "groups must hold one group per row, a name or a number; got several columns."
        )
    values = columns[0].tolist() if isinstance(columns[0], np.ndarray) else columns[0]
    if len(values) != n_rows:
        raise ValueError(
            f"groups has {len(values)} entries but y has {n_rows} rows (inconsistent numbers of "
            f"samples)."
        )
    number: dict[Any, int] = {}
    unit = np.empty(n_rows, dtype=np.intp)
    for row, value in enumerate(values):
        if is_missing(value) and not isinstance(value, str | bytes):
            raise ValueError(
                f"Row {row} of groups is missing. Every row needs a group; a row without one needs "
                "a unique value."
            )
        if not is_hashable(value):
            raise TypeError(
                f"Row {row} of groups is {value!r}, a {type(value).__name__}, which cannot be the "
                f"name of a group. Use strings or numbers."
            )
        unit[row] = number.setdefault(value, len(number))
    return unit
