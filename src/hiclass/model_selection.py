"""Folds for hierarchical labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from hiclass._labels import IntArray, check_paths, read_labels
from hiclass._validation import n_rows_of
from hiclass.hierarchy import Hierarchy


def deal_folds(nodes: IntArray, n_splits: int) -> IntArray:
    """Deal rows out to folds in the order of their nodes, so that every subtree is spread."""
    fold = np.empty(len(nodes), dtype=np.intp)
    fold[np.argsort(nodes, kind="stable")] = np.arange(len(nodes)) % n_splits
    return fold


class HierarchicalKFold(BaseCrossValidator):
    """K folds that are stratified at every node of the hierarchy at once.

    Rows are sorted by their place in the hierarchy and dealt out to the folds in turn. As the rows
    of every subtree stand together, every fold gets an equal share, up to one row, of every class
    at every level: a class with two rows or more is in every training set, and the rows of classes
    with fewer rows than folds are spread like those of their parent. It takes every form of labels
    that ``fit`` takes, where an integer ``cv`` makes scikit-learn refuse missing labels and ragged
    lists.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Whether to shuffle the rows of each class first.
    random_state : int, RandomState instance or None, default=None
        Makes the shuffling repeatable. Used only with ``shuffle=True``.

    Examples
    --------
    >>> from hiclass import HierarchicalKFold
    >>> y = [["A", "x"], ["A", "x"], ["A", None], ["B", "y"], ["B", "z"], ["B", "z"]]
    >>> for train, test in HierarchicalKFold(n_splits=2).split(y, y):
    ...     print(train, test)
    [0 3 5] [1 2 4]
    [1 2 4] [0 3 5]
    """

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the training and test rows of every fold.

        Parameters
        ----------
        X : rows
            Only its length matters.
        y : array-like
            Labels in any form that ``fit`` takes.
        groups : object
            Not used, present for scikit-learn's sake.

        Yields
        ------
        train, test : ndarray of int
            Row numbers, ascending.

        Raises
        ------
        ValueError
            If there are fewer rows than folds, or a parameter is wrong.
        """
        if not isinstance(self.n_splits, int | np.integer) or self.n_splits < 2:
            raise ValueError(f"n_splits must be an integer of at least 2; got {self.n_splits!r}.")
        if self.random_state is not None and not self.shuffle:
            raise ValueError(
                f"random_state={self.random_state!r} has no effect without shuffle=True. Set "
                f"shuffle=True, or leave random_state out."
            )
        if y is None:
            raise ValueError("HierarchicalKFold stratifies by y; give the labels.")
        fold = self._folds(X, y)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def _folds(self, X: Any, y: Any) -> IntArray:
        """The fold in which every row is tested."""
        columns = read_labels(y)
        check_paths(columns)
        _, nodes = Hierarchy._from_columns(columns)
        n_rows = n_rows_of(X) if X is not None else len(nodes)
        if n_rows != len(nodes):
            raise ValueError(
                f"X has {n_rows} rows but y has {len(nodes)} (inconsistent numbers of samples)."
            )
        if self.n_splits > n_rows:
            raise ValueError(f"n_splits={self.n_splits} is more than the {n_rows} rows.")
        rows = np.arange(n_rows)
        if self.shuffle:
            rows = check_random_state(self.random_state).permutation(n_rows)
        fold = np.empty(n_rows, dtype=np.intp)
        fold[rows] = deal_folds(nodes[rows], self.n_splits)
        return fold

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object
            Not used, present for scikit-learn's sake.

        Returns
        -------
        int
            The parameter ``n_splits``.
        """
        return self.n_splits
