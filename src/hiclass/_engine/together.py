"""Fits many small local classifiers in one call, if their solver supports it.

A fit on a few dozen rows takes less time than slicing the rows and calling the solver. Tasks whose
classifier is a ``FastLinearSVC`` are therefore passed to the solver several at a time, with the
rows of the shared X. The work per problem is compiled, and no other thread waits for it. The result
is that of fitting one after the other, to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hiclass._engine.packed import LARGEST_SHARE, without_small_weights
from hiclass._linear.fast_svc import fit_together, fits_together
from hiclass._state import Packed

if TYPE_CHECKING:
    from hiclass._engine.fit import Shared, Task


def fit_tasks(tasks: list[Task], X: Any, shared: Shared) -> list[Packed | None]:
    """Fit the tasks that can be fitted in one call.

    Parameters
    ----------
    tasks : list of Task
        Some tasks.
    X : rows
        The rows that they share; None if they bring their own.
    shared : Shared
        Their common data.

    Returns
    -------
    list of Packed or None
        The fitted estimator of each task; None for one that has to be fitted by itself, with which
        nothing has happened.
    """
    found: list[Packed | None] = [None] * len(tasks)
    if shared.fit_params or shared.checkpoint_dir is not None:
        return found
    fits = fits_together(X, shared.norm)
    chosen = [i for i, task in enumerate(tasks) if task.X is None and fits(task.estimator)]
    if not chosen:
        return found
    n_rows, n_features = X.shape
    estimators = [tasks[i].estimator for i in chosen]
    rows = [np.arange(n_rows) if (r := tasks[i].rows) is None else r for i in chosen]
    targets = [tasks[i].target for i in chosen]
    columns = fit_together(estimators, X, rows, targets, int(LARGEST_SHARE * n_features))
    every = np.arange(n_features, dtype=np.int32)
    for i, estimator, some in zip(chosen, estimators, columns or (), strict=columns is not None):
        packed = Packed(estimator, every if some is None else some, n_features)
        found[i] = without_small_weights(packed, m) if (m := shared.min_coef) else packed
    return found
