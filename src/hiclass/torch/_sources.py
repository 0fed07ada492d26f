"""Batches of data that may be larger than memory: mapped arrays, Parquet files, Arrow tables.

Rows are shuffled in every epoch: blocks of neighbouring rows are read in random order, and the rows
of several batches are mixed. So reads from disk are long, and batches are mixed nearly as well as
rows in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from hiclass._typing import IntArray
from hiclass.torch._batches import as_array

#: The number of batches that are read and mixed at a time, and the rows of a block.
_MIXED, _BLOCK = 16, 256


class ShuffledBatches(ABC):
    """Batches in another order in every epoch, which depends on the seed and the epoch only."""

    def __init__(self, batch_size: Any, shuffle: bool, random_state: Any) -> None:
        if int(batch_size) < 1:
            raise ValueError(f"batch_size must be at least 1; got {batch_size}.")
        self._size = int(batch_size)
        self._shuffle = shuffle
        self._seed = int(check_random_state(random_state).randint(2**31 - 1))
        self._n_epochs = 0
        self._is_repeatable = not shuffle or isinstance(random_state, int | np.integer)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self._n_epochs += 1
        return self.epoch(self._n_epochs - 1)

    def epoch(self, i: int) -> Iterator[tuple[Any, ...]]:
        """Read the batches of one epoch.

        Parameters
        ----------
        i : int
            The number of the epoch, from 0. Their order depends on it and on ``random_state``.

        Returns
        -------
        iterator of tuple
            ``(X, y)`` or ``(X, y, sample_weight)``.
        """
        return self._read_all(np.random.default_rng([self._seed, i]))

    @abstractmethod
    def _read_all(self, rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        """All batches."""


class ArrayBatches(ShuffledBatches):
    """Batches of arrays, which may be memory-mapped, for ``fit_batches``.

    Parameters
    ----------
    X : ndarray, memmap or CSR matrix of shape (n_samples, n_features)
        The rows. Only a few batches are in memory at a time.
    y : array-like of length n_samples
        Labels or paths, as for ``fit``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    batch_size : int, default=4096
        Rows per batch.
    shuffle : bool, default=True
        Whether to shuffle the rows in every epoch.
    random_state : int, RandomState instance or None, default=None
        Controls the order of the rows. With an int, a training with ``checkpoint_dir`` can be
        continued by another process.

    Examples
    --------
    >>> import numpy as np
    >>> from hiclass.torch import ArrayBatches, HierarchicalSoftmaxClassifier
    >>> X = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32)
    >>> y = np.array([["Up" if b > 0 else "Down", "Right" if a > 0 else "Left"] for a, b in X])
    >>> batches = ArrayBatches(X, y, batch_size=100, random_state=0)
    >>> model = HierarchicalSoftmaxClassifier(random_state=0).fit_batches(batches, classes=y)
    >>> model.predict([[1, 2]]).tolist()
    [['Up', 'Right']]
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        batch_size: int = 4096,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__(batch_size, shuffle, random_state)
        self._X = X.tocsr() if sp.issparse(X) else X
        self._y = _as_objects(y.to_numpy() if hasattr(y, "to_numpy") else as_array(y))
        self._weight = None if sample_weight is None else np.asarray(sample_weight)
        n_rows = int(self._X.shape[0])
        for name, part in (("y", self._y), ("sample_weight", self._weight)):
            if part is not None and len(part) != n_rows:
                raise ValueError(f"X has {n_rows} rows, but {name} has {len(part)}.")

    def _read_all(self, rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        n_rows = int(self._X.shape[0])
        if not self._shuffle:
            for start in range(0, n_rows, self._size):
                yield self._part(slice(start, start + self._size))
            return
        starts = rng.permutation(np.arange(0, n_rows, _BLOCK))
        order = np.concatenate([np.arange(s, min(s + _BLOCK, n_rows)) for s in starts])
        for start in range(0, n_rows, _MIXED * self._size):
            # In the order of the file: what is on a disk is read in runs.
            rows = np.sort(order[start : start + _MIXED * self._size])
            X, *others = self._part(rows)
            mixed = rng.permutation(len(rows))
            for first in range(0, len(rows), self._size):
                some = mixed[first : first + self._size]
                yield X[some], *(part[some] for part in others)

    def _part(self, rows: slice | IntArray) -> tuple[Any, ...]:
        parts = (self._X[rows], self._y[rows])
        return parts if self._weight is None else (*parts, self._weight[rows])


class ArrowBatches(ShuffledBatches):
    """Batches of Parquet files or Arrow tables, for ``fit_batches``. Requires ``pyarrow``.

    Parameters
    ----------
    source : str, path, list of them, pyarrow.Table or pyarrow.dataset.Dataset
        Parquet files, folders of such files, or an opened table or data set.
    labels : str or list of str
        The column of labels, or the columns of the path, from level 1 down.
    features : str or list of str, default=None
        Numeric columns, or one column of lists of equal length, such as embeddings. By default, all
        columns that are neither labels nor weights.
    weight : str, default=None
        The column of sample weights.
    batch_size : int, default=4096
        Rows per batch.
    shuffle : bool, default=True
        Whether to shuffle the rows in every epoch: parts of files are read in random order, and the
        rows of several batches are mixed.
    random_state : int, RandomState instance or None, default=None
        Controls the order of the rows. With an int, a training with ``checkpoint_dir`` can be
        continued by another process.

    Examples
    --------
    >>> import pyarrow
    >>> from hiclass.torch import ArrowBatches, HierarchicalSoftmaxClassifier
    >>> table = pyarrow.table({"size": [1.0, 9.0] * 50, "kind": ["small", "large"] * 50})
    >>> batches = ArrowBatches(table, labels="kind", batch_size=10, random_state=0)
    >>> model = HierarchicalSoftmaxClassifier(random_state=0).fit_batches(batches)
    >>> model.predict([[8.0]]).tolist()
    ['large']
    """

    def __init__(
        self,
        source: Any,
        labels: str | Sequence[str],
        features: str | Sequence[str] | None = None,
        *,
        weight: str | None = None,
        batch_size: int = 4096,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        from pyarrow import dataset

        super().__init__(batch_size, shuffle, random_state)
        self._data = source if isinstance(source, dataset.Dataset) else dataset.dataset(source)
        self._labels = labels
        self._weight = weight
        named = [labels] if isinstance(labels, str) else list(labels)
        named += [] if weight is None else [weight]
        if features is None:
            features = [name for name in self._data.schema.names if name not in named]
        self._features = features
        self._columns = [*named, *([features] if isinstance(features, str) else features)]
        missing = [name for name in self._columns if name not in self._data.schema.names]
        if missing:
            raise ValueError(
                f"There is no column {missing[0]!r}; the columns are "
                f"{', '.join(map(repr, self._data.schema.names))}."
            )

    def _read_all(self, rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        import pyarrow as pa

        wanted = self._size * (_MIXED if self._shuffle else 1)
        waiting: list[Any] = []
        n_waiting = 0
        for batch in self._record_batches(rng):
            waiting.append(batch)
            n_waiting += batch.num_rows
            while n_waiting >= wanted:
                table = pa.Table.from_batches(waiting)
                yield from self._batches(table.slice(0, wanted), rng)
                rest = table.slice(wanted)
                waiting, n_waiting = rest.to_batches(), rest.num_rows
        if n_waiting:
            yield from self._batches(pa.Table.from_batches(waiting), rng)

    def _record_batches(self, rng: np.random.Generator) -> Iterator[Any]:
        parts = list(self._data.get_fragments())
        if self._shuffle:
            parts = [piece for part in parts for piece in _row_groups(part)]
            parts = [parts[i] for i in rng.permutation(len(parts))]
        for part in parts:
            yield from part.to_batches(columns=self._columns, batch_size=self._size)

    def _batches(self, table: Any, rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        if self._shuffle:
            table = table.take(rng.permutation(table.num_rows))
        for start in range(0, table.num_rows, self._size):
            yield self._read(table.slice(start, self._size))

    def _read(self, table: Any) -> tuple[Any, ...]:
        if isinstance(self._features, str):
            X = _as_matrix(table[self._features], self._features)
        else:
            columns = [table[name].to_numpy() for name in self._features]
            X = np.column_stack(columns).astype(np.float32)
        y: Any
        if isinstance(self._labels, str):
            y = _as_objects(table[self._labels].to_pylist())
        else:
            y = _as_objects(zip(*(table[name].to_pylist() for name in self._labels), strict=True))
        if self._weight is None:
            return X, y
        return X, y, table[self._weight].to_numpy()


def _row_groups(fragment: Any) -> list[Any]:
    """The parts of a file; tables in memory have none."""
    split = getattr(fragment, "split_by_row_group", None)
    return [fragment] if split is None else list(split())


def _as_matrix(column: Any, name: str) -> Any:
    """A column of lists of equal length as a matrix."""
    lists = column.combine_chunks()
    lengths = np.unique(lists.value_lengths().to_numpy(zero_copy_only=False))
    if len(lengths) != 1 or lists.null_count:
        raise ValueError(
            f"The lists of the column {name!r} have different lengths, or some are missing; "
            f"features need one length."
        )
    numbers = lists.flatten().to_numpy(zero_copy_only=False)
    return numbers.astype(np.float32).reshape(len(lists), -1)


def _as_objects(items: Any) -> Any:
    """Labels or paths as an array, of one dimension if they are not one already."""
    if isinstance(items, np.ndarray):
        return items
    items = [list(item) if isinstance(item, tuple | list) else item for item in items]
    found = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):  # at once, lists of one length would become columns
        found[i] = item
    return found
