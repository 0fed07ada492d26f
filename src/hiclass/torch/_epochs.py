"""Find the number of epochs for a network of sets on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hiclass._engine.progress import Progress
from hiclass._inference.sets import set_node_proba
from hiclass._targets.sets import SetTarget
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.torch._batches import cut, make_rows
from hiclass.torch._fit import (
    as_models,
    batch_size_of,
    draw_seed,
    layout_of,
    mean_one,
    settings_of,
    shape_of,
    start,
)
from hiclass.torch._known import Known
from hiclass.torch._team import ALONE

if TYPE_CHECKING:
    from hiclass.torch._classifier import HierarchicalSoftmaxClassifier as Classifier

#: The factor between the numbers of epochs after which held-out rows are scored.
_STEP = 1.25
#: Training stops after this multiple of the best number of epochs, but not before this number.
_PATIENCE, _FEWEST = 1.6, 30


@dataclass(frozen=True)
class Epochs:
    """The result.

    Attributes
    ----------
    n_epochs : int
        The number of epochs with the best score.
    score : float
        That score.
    proba : ndarray of shape (n_held_out, n_nodes)
        The predictions of the network at that point.
    """

    n_epochs: int
    score: float
    proba: FloatArray


def find_epochs(
    estimator: Classifier,
    X: Any,
    target: SetTarget,
    weights: AnyArray | None,
    fold: tuple[IntArray, IntArray],
    score: Callable[[FloatArray], float],
) -> Epochs:
    """Train on some rows and score others from time to time, until the score stops improving.

    The learning rate is constant, so that a network with ``decay=False`` and this number of epochs
    is trained in the same way.

    Parameters
    ----------
    estimator : HierarchicalSoftmaxClassifier
        The network, with ``max_epochs`` as the most.
    X : rows
        All rows.
    target : SetTarget
        Their sets.
    weights : ndarray or None
        Their sample weights.
    fold : tuple of ndarray of int
        Rows to train on, and rows that are held out.
    score : callable
        From node probabilities of the rows held out to a number, the larger the better.

    Returns
    -------
    Epochs
    """
    fitted, held_out = fold
    some, part = target.some(fitted), None if weights is None else mean_one(weights[fitted])
    known = Known.seen(some, part, leaf_only=False)
    layout = layout_of(estimator, known)
    rows = make_rows(X[fitted], some, layout, part)
    seed = draw_seed(estimator)
    shape = shape_of(estimator, rows.X, layout)
    settings = settings_of(estimator, shape, len(rows))
    trainer = start(estimator, shape, layout, rows, seed, settings)
    _, cuts = cut(len(rows), batch_size_of(estimator, shape, len(rows)), ALONE)
    most = int(estimator.max_epochs)
    best = Epochs(0, -np.inf, np.empty(0))
    due = min(4, most)
    with Progress(most, "Finding the number of epochs", enabled=estimator.verbose > 0) as progress:
        for i in range(most):
            progress.begin(i, partial(_status, best), 1)
            order = np.random.default_rng([seed, i]).permutation(len(rows))
            trainer.epoch(rows.batches(order, cuts), lambda *_: 1.0)
            progress.finish(i)
            if i + 1 < due:
                continue
            due = min(most, max(due + 1, round(due * _STEP)))
            proba = set_node_proba(as_models(estimator, known, trainer), X[held_out])
            found = score(proba)
            if found > best.score:
                best = Epochs(i + 1, found, proba)
            if i + 1 >= max(_FEWEST, _PATIENCE * best.n_epochs):
                break
    return best


def _status(best: Epochs) -> str:
    """What the progress bar shows."""
    return f"best {best.score:.4f} after {best.n_epochs}" if best.n_epochs else ""
