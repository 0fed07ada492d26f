"""From parameters and rows to a trained network: the plain functions that the estimator calls."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils import check_random_state

from hiclass._typing import AnyArray, IntArray
from hiclass.model_selection import hold_out_groups
from hiclass.torch._batches import Rows, make_rows
from hiclass.torch._known import AnyTarget, Known
from hiclass.torch._layout import Layout, same_layout
from hiclass.torch._network import (
    FittedNetwork,
    Shape,
    as_arrays,
    find_device,
    first_weights,
    mean_squared_length,
)
from hiclass.torch._train import Course, Settings, Trainer

if TYPE_CHECKING:
    from hiclass.torch._classifier import HierarchicalSoftmaxClassifier as Classifier

_EMBEDDING = 128
#: Without a number of epochs: enough to see so many rows, and between these. Hidden layers need
#: more.
_SEEN, _EPOCHS = 20_000, (3, 100)
_SEEN_HIDDEN, _EPOCHS_HIDDEN = 100_000, (10, 100)
#: Without a learning rate: by what is between features and outputs.
_RATES = {"nothing": 0.1, "embedding": 0.03, "hidden": 0.003}


# -- what follows from the parameters ----------------------------------------------------------


def shape_of(estimator: Classifier, X: Any, layout: Layout) -> Shape:
    """The layers of a network for some rows."""
    widths: Any = estimator.hidden_layers
    if any(not isinstance(width, Integral) or width < 1 for width in widths):
        raise ValueError(f"hidden_layers must be positive widths, integers; got {widths!r}.")
    hidden = tuple(int(width) for width in widths)
    embedding = estimator.embedding_dim
    if embedding == "auto":
        embedding = _EMBEDDING if sp.issparse(X) and not hidden else None
    return Shape(X.shape[1], int(embedding or 0), hidden, layout.n_outputs)


def settings_of(estimator: Classifier, shape: Shape) -> Settings:
    """How a network with these layers is trained."""
    rate = estimator.learning_rate
    if rate == "auto":
        between = "nothing" if shape.is_linear else "hidden" if shape.hidden else "embedding"
        rate = _RATES[between]
    return Settings(
        float(rate),
        float(estimator.penalty),
        estimator.recursive,
        float(estimator.dropout),
        find_device(estimator.device),
    )


def batch_size_of(estimator: Classifier, n_rows: int) -> int:
    """Rows per step."""
    if estimator.batch_size != "auto":
        return int(estimator.batch_size)
    few, many = min(max(n_rows // 20, 8), 384), min(n_rows // 256, 4096)
    return max(few, many)


def course_of(estimator: Classifier, n_rows: int | None = None) -> Course:
    """How long to train; the number of rows of a stream is not known."""
    epochs = estimator.max_epochs
    if epochs == "auto":
        hidden = len(estimator.hidden_layers) > 0
        seen, bounds = (_SEEN_HIDDEN, _EPOCHS_HIDDEN) if hidden else (_SEEN, _EPOCHS)
        epochs = bounds[0] if n_rows is None else int(np.clip(-(-seen // n_rows), *bounds))
    return Course(int(epochs), estimator.patience, estimator.tol)


# -- networks in training ----------------------------------------------------------------------


def start(
    estimator: Classifier, layout: Layout, X: Any, seed: int, before: FittedNetwork | None = None
) -> Trainer:
    """A network before training, or with the weights of a fitted one."""
    shape = shape_of(estimator, X, layout)
    if before is not None:
        if before.shape != shape or not same_layout(before.layout, layout):
            raise ValueError(
                "warm_start=True goes on with the network of the fit before, but now the classes, "
                "the features or the layers are others. Use warm_start=False, or give all classes "
                "with hierarchy= and rows of each of them."
            )
        return resume(estimator, before, seed)
    settings = settings_of(estimator, shape)
    weights = first_weights(shape, mean_squared_length(X), torch.Generator().manual_seed(seed))
    return Trainer(shape, layout, weights, settings, seed)


def resume(estimator: Classifier, before: FittedNetwork, seed: int) -> Trainer:
    """A network with the weights of a fitted one, and an optimiser without a history."""
    weights = {name: torch.tensor(value) for name, value in before.weights.items()}
    settings = settings_of(estimator, before.shape)
    return Trainer(before.shape, before.layout, weights, settings, seed)


def fit_network(
    estimator: Classifier,
    X: Any,
    target: AnyTarget,
    weights: Any,
    groups: IntArray | None = None,
    before: FittedNetwork | None = None,
) -> tuple[Known, Trainer, Course]:
    """Train a network on rows in memory, in a new order in every epoch, with ever smaller steps."""
    known = Known.seen(target, weights, leaf_only=estimator.leaf_only)
    layout = known.layout(estimator.loss, recursive=estimator.recursive)
    rows, held_out = make_rows(X, target, layout, weights), None
    seed = draw_seed(estimator)
    rng = np.random.default_rng(seed)
    if estimator.validation_fraction:
        rows, held_out = _hold_out(rows, estimator.validation_fraction, groups, rng)
    trainer = start(estimator, layout, rows.X, seed, before)
    course, size = course_of(estimator, len(rows)), batch_size_of(estimator, len(rows))
    n_steps = -(-len(rows) // size)
    total = n_steps * course.max_epochs

    def epoch(i: int) -> float:
        batches = rows.batches(rng.permutation(len(rows)), size)
        return trainer.epoch(batches, lambda step: 1 - (i * n_steps + step) / total)

    course.run(trainer, epoch, held_out, estimator.verbose > 0)
    return known, trainer, course


def fit_fold(
    estimator: Classifier,
    X: Any,
    target: AnyTarget,
    weights: AnyArray | None,
    groups: IntArray | None,
    rows: IntArray,
) -> Any:
    """Train a network on some of the rows, for what is learned out of fold."""
    weights = None if weights is None else weights[rows]
    if groups is not None:
        groups = np.unique(groups[rows], return_inverse=True)[1]
    known, trainer, _ = fit_network(estimator, X[rows], target.some(rows), weights, groups)
    return as_models(estimator, known, trainer)


def learn_rows(
    estimator: Classifier, known: Known, X: Any, target: AnyTarget, sample_weight: Any
) -> tuple[Trainer, float]:
    """Learn rows once, with a constant learning rate.

    What was learned before is a trainer or, where that is lost or the parameters have changed, a
    fitted network. Neither is changed: a trained copy is returned, and the mean loss.
    """
    trainer, network = vars(estimator).get("_trainer"), estimator._network()
    seed = draw_seed(estimator)
    if trainer is not None and trainer.settings == settings_of(estimator, trainer.shape):
        trainer = trainer.copy()
    elif network is not None:
        trainer = resume(estimator, network, seed)
    else:
        trainer = start(
            estimator, known.layout(estimator.loss, recursive=estimator.recursive), X, seed
        )
    data = make_rows(X, target, trainer.layout, sample_weight)
    order = np.random.default_rng(seed).permutation(len(data))
    batches = data.batches(order, batch_size_of(estimator, len(data)))
    return trainer, trainer.epoch(batches, lambda step: 1.0)


def as_models(estimator: Classifier, known: Known, trainer: Trainer) -> Any:
    """What prediction needs of a trained network."""
    arrays = as_arrays(trainer.weights)
    network = FittedNetwork(trainer.shape, trainer.layout, arrays, estimator.device)
    return known.models(network, leaf_only=estimator.leaf_only)


def draw_seed(estimator: Classifier) -> int:
    """A seed for one training."""
    return int(check_random_state(estimator.random_state).randint(2**31 - 1))


def mean_one(weights: AnyArray | None) -> AnyArray | None:
    """Weights with a mean of one, so that only their ratios count."""
    if weights is None:
        return None
    mean = weights.mean()
    if not mean > 0:
        raise ValueError("All sample weights are zero: there is nothing to learn.")
    return (weights / mean).astype(np.float32)


def _hold_out(rows: Rows, fraction: float, groups: IntArray | None, rng: Any) -> tuple[Rows, Rows]:
    """Rows to train on, and rows to stop on."""
    n = max(1, round(fraction * len(rows)))
    if n >= len(rows):
        raise ValueError(
            f"validation_fraction={fraction} holds out all {len(rows)} rows and leaves none to "
            f"train on. Use a smaller one, or 0."
        )
    if groups is not None:
        held_out = hold_out_groups(groups, n, rng)
        return rows.some(np.flatnonzero(~held_out)), rows.some(np.flatnonzero(held_out))
    order = rng.permutation(len(rows))
    return rows.some(np.sort(order[n:])), rows.some(np.sort(order[:n]))
