"""Apply functions to chunks of rows, in threads if this is faster.

Every call of a local classifier has a fixed cost that does not depend on the number of rows:
checks, containers, conversions. Every thread pays this cost for its own rows, and Python's lock
makes the threads pay it one after the other. Threads are therefore faster only if the work for the
rows of a call takes longer than the fixed cost, which is measured on the first rows. The
predictions do not depend on the choice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn import get_config

from hiclass._engine.threads import in_thread
from hiclass._inference.batches import has_seen_both
from hiclass._inference.evidence import positive
from hiclass._inference.paths import query, strategy_of, unrestricted
from hiclass._inference.sets import set_query_of_everyone
from hiclass._problems.index import branches, child_branches
from hiclass._rows import chunks_of_rows, map_chunks, n_rows_of, slice_rows
from hiclass._state import LocalModels

#: A search in a joint model visits about this many paths per row.
_N_PATHS = 8
#: Up to this many calls of classifiers per chunk are cheap, whatever they cost.
_FEW_CALLS = 8
#: The share of the rows on which a call is measured, and their minimum number.
_MEASURED, _FEWEST_MEASURED = 1 / 32, 16


def map_in_threads(
    function: Callable[[Any, slice], Any],
    X: Any,
    models: Any,
    width: int,
    n_threads: int,
    *,
    everywhere: bool = False,
) -> list[Any]:
    """Call a function on chunks of rows, in threads unless a sequence of calls is faster.

    Parameters
    ----------
    function : callable
        A function of a chunk and the slice of its rows.
    X : rows
        All rows.
    models : LocalModels or SetModels
        The models that the function queries.
    width : int
        The number of values per row that the function holds in each of a few arrays.
    n_threads : int
        The maximum number of threads, at least two.
    everywhere : bool, default=False
        Whether all classifiers are queried about all rows.

    Returns
    -------
    list
        The results in the order of the rows.
    """
    # Those of this machine, even if the active backend is a cluster.
    n_threads = min(n_threads, cpu_count())
    parts = list(chunks_of_rows(X, width, n_threads))
    if 1 in (n_threads, len(parts)) or not _threads_pay(X, models, width, n_threads, everywhere):
        return map_chunks(function, X, width)
    # Not processes: models may be large, and most classifiers release the GIL here. Not joblib's
    # Parallel, which polls for results every 10 ms, nor that of scikit-learn, which in threads
    # would change the warning filters of the process.
    work = partial(in_thread, get_config(), lambda rows: function(slice_rows(X, rows), rows))
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, parts))


def _threads_pay(X: Any, models: Any, width: int, n_threads: int, everywhere: bool) -> bool:
    """Whether the work for the rows of a call takes longer than its fixed cost times the threads.

    In one thread, all calls take (cost + rows); in several, (cost * threads + rows / threads).
    """
    inner = unrestricted(models)
    while hasattr(inner, "members"):
        inner = unrestricted(inner.members[0])
    # A restricted model and an ensemble compute the probabilities of all final classes.
    everywhere, models = everywhere or inner is not models, inner
    if len(models.classifiers) + len(models.gates) <= _FEW_CALLS:
        return True
    is_set = models.of_sets
    call = set_query_of_everyone(models) if is_set else _query_of_everyone(models)
    if call is None:
        return True
    at_a_time = next(iter(chunks_of_rows(X, width))).stop
    rows_of_call = at_a_time if is_set or everywhere else _rows_of_call(models, at_a_time)
    n_measured = max(_FEWEST_MEASURED, int(n_rows_of(X) * _MEASURED))
    price = _seconds(call, slice_rows(X, slice(0, 1)), 3)
    work = _seconds(call, slice_rows(X, slice(0, n_measured)), 2) - price
    return work * rows_of_call / n_measured > n_threads * price


def _query_of_everyone(models: LocalModels) -> Callable[[Any], Any] | None:
    """A query of one local classifier that all rows reach, or None.

    For models with a classifier per node or per parent node.
    """
    node = 0
    while len(here := branches(models.options, node)) == 1 and here[0] != node:
        node = int(here[0])
    strategy = strategy_of(models)
    if strategy.is_binary:
        for child in child_branches(models.options, node).tolist():
            if child in models.classifiers and has_seen_both(models, child):
                return lambda X: positive(models, models.classifiers[child], X)
    elif not strategy.shared and not strategy.is_direct and node in models.classifiers:
        return lambda X: query(models, node, X, len(here))
    return None


def _rows_of_call(models: LocalModels, n: int) -> float:
    """The approximate number of n rows per local classifier, if every row takes few paths."""
    if strategy_of(models).is_direct:
        return n
    n_paths = _N_PATHS if models.joint else 1
    n_parents = int((np.diff(models.options.indptr) > 1).sum())
    return n * min(1.0, n_paths * models.hierarchy.depth / max(n_parents, 1))


def _seconds(query: Callable[[Any], Any], X: Any, repeat: int) -> float:
    """The shortest time of a query."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        query(X)
        seconds.append(time.perf_counter() - start)
    return min(seconds)
