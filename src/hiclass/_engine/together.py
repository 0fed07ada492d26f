"""Fits many small local classifiers in one call, where their solver can do that.

A fit on a few dozen rows takes less time than slicing these and calling the solver. So tasks whose
classifier is a ``FastLinearSVC`` are handed to the solver several at a time, with the rows of the
shared X: what happens per problem is compiled, and no other thread waits for it. The result is that
of fitting one after the other, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hiclass._engine.packed import LARGEST_SHARE, without_small_weights
from hiclass._linear.fast_svc import fit_together, fits_together
from hiclass._state import Packed

if TYPE_CHECKING:
    from hiclass._engine.fit import Shared, Task


def joins(X: Any, shared: Shared) -> Callable[[Task], bool]:
    """Which tasks can be fitted with others in one call.

    Parameters
    ----------
    X : rows
        The rows that tasks share; None if they bring their own.
    shared : Shared
        What else they share.

    Returns
    -------
    callable
        ``(task)`` to whether :func:`fit_tasks` can fit it with others.
    """
    if shared.fit_params or shared.checkpoint_dir is not None:
        return lambda task: False
    fits = fits_together(X, shared.norm)
    return lambda task: task.X is None and fits(task.estimator)


def fit_tasks(tasks: list[Task], X: Any, min_coef: float) -> list[Packed] | None:
    """Fit tasks that can be fitted in one call.

    Parameters
    ----------
    tasks : list of Task
        Tasks of those that :func:`joins` names.
    X : CSR matrix
        The rows that they share.
    min_coef : float
        The smallest absolute value of a weight that is kept.

    Returns
    -------
    list of Packed or None
        The fitted estimators. None if one has a class without rows: nothing has happened then.
    """
    n_rows, n_features = X.shape
    columns = fit_together(
        [task.estimator for task in tasks],
        X,
        [np.arange(n_rows) if task.rows is None else task.rows for task in tasks],
        [task.target for task in tasks],
        int(LARGEST_SHARE * n_features),
    )
    if columns is None:
        return None
    every = np.arange(n_features, dtype=np.int32)
    packed = [
        Packed(task.estimator, every if some is None else some, n_features)
        for task, some in zip(tasks, columns, strict=True)
    ]
    return [without_small_weights(p, min_coef) for p in packed] if min_coef else packed
