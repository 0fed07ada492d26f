"""From parameters and rows to a trained network: the plain functions that the estimator calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils import check_random_state

from hiclass._typing import AnyArray, IntArray
from hiclass.model_selection import hold_out_groups
from hiclass.torch._batches import Batch, Rows, batch_weights, cut, make_rows
from hiclass.torch._checkpoint import open_checkpoint
from hiclass.torch._course import AfterStep, Course
from hiclass.torch._feed import Sending, stay_on
from hiclass.torch._inputs import (
    ENOUGH_ROWS,
    Inputs,
    Moments,
    mean_squared_length,
    measure_inputs,
)
from hiclass.torch._known import AnyTarget, Known
from hiclass.torch._layout import Layout, same_layout
from hiclass.torch._network import (
    FittedNetwork,
    Shape,
    as_arrays,
    find_device,
    first_weights,
)
from hiclass.torch._team import ALONE, find_team
from hiclass.torch._train import Place, Settings, Trainer

if TYPE_CHECKING:
    from hiclass.torch._classifier import HierarchicalSoftmaxClassifier as Classifier

#: embedding_dim="auto" for sparse rows: a width for at most this many outputs, and one for more.
_FEW_OUTPUTS, _WIDTHS = 200, (96, 128)
#: max_epochs="auto": enough epochs to see this many rows, within a lower and an upper limit. An
#: embedding needs fewer, hidden layers need more. A stream of unknown length uses the lower limit.
_EPOCHS = {"nothing": (20_000, 6, 100), "embedding": (20_000, 5, 100), "hidden": (100_000, 10, 100)}
#: learning_rate="auto", by the layers between features and outputs.
_RATES = {"nothing": 0.2, "embedding": 0.03, "hidden": 0.003}
#: penalty="auto": a strength that is divided by the number of rows, and, above this number of
#: outputs, in proportion to the number of outputs as well.
_PENALTIES = {"nothing": (0.3, 1), "embedding": (1.5, 200), "hidden": (1.0, 100)}
#: With more final classes than this, one softmax over all of them takes too long.
_MOST_FINAL = 1 << 17
#: batch_size="auto", in partial_fit and without an embedding, and with one.
_BATCH, _BATCH_EMBEDDED = 384, 448
#: The expected number of rows of a stream.
_LIKELY = 1 << 14
#: After this many rows, the steps of partial_fit become smaller.
_SETTLED = 8 << 10
#: After fit, whose steps decrease to zero, partial_fit uses at most this share of the rate.
_AFTER_FIT = 0.1


@dataclass(frozen=True)
class Trained:
    """The result of training.

    Attributes
    ----------
    known : Known
        The classes of the network.
    trainer : Trainer
        The network.
    course : Course
        How training went.
    n_rows : int
        The number of different rows that it has seen.
    n_learned : int
        The number of learned rows that decides the step size of later batches.
    moments : Moments or None
        What is known of the first rows of ``partial_fit``, until there are enough.
    """

    known: Known
    trainer: Trainer
    course: Course
    n_rows: int
    n_learned: int
    moments: Moments | None = None


# -- what follows from the parameters ----------------------------------------------------------


def loss_of(estimator: Classifier, known: Known) -> str:
    """The loss to use."""
    if estimator.loss == "each" and known.options is not None:
        raise ValueError(
            "loss='each' is for sets of classes: with one path per row the probabilities of "
            "siblings sum to one. Use loss='leaf' or 'conditional', or multi_label=True."
        )
    if estimator.loss != "auto":
        return str(estimator.loss)
    if known.options is None or len(known.options.ends) > _MOST_FINAL:
        return "conditional"
    return "leaf"


def layout_of(estimator: Classifier, known: Known) -> Layout:
    """The layout of the outputs of a new network."""
    return known.layout(loss_of(estimator, known), recursive=estimator.recursive)


def shape_of(estimator: Classifier, X: Any, layout: Layout) -> Shape:
    """The layers of a network for some rows."""
    widths: Any = estimator.hidden_layers
    if any(not isinstance(width, Integral) or width < 1 for width in widths):
        raise ValueError(f"hidden_layers must be positive integers (widths); got {widths!r}.")
    hidden = tuple(int(width) for width in widths)
    embedding = estimator.embedding_dim
    if embedding == "auto":
        width = _WIDTHS[layout.n_outputs > _FEW_OUTPUTS]
        embedding = width if sp.issparse(X) and not hidden else None
    return Shape(X.shape[1], int(embedding or 0), hidden, layout.n_outputs)


def _between(shape: Shape) -> str:
    """The kind of layers between features and outputs."""
    return "nothing" if shape.is_linear else "hidden" if shape.hidden else "embedding"


def settings_of(
    estimator: Classifier, shape: Shape, n_rows: int, *, lazy: bool = False
) -> Settings:
    """The settings for training a network with these layers on ``n_rows`` rows."""
    device = find_device(estimator.device)
    rate = estimator.learning_rate
    precision = estimator.precision
    if precision == "auto":
        precision = "bfloat16" if device.type == "cuda" else "float32"
    return Settings(
        float(_RATES[_between(shape)] if rate == "auto" else rate),
        penalty_of(estimator, shape, n_rows),
        estimator.recursive,
        float(estimator.dropout),
        device,
        None if estimator.clip_norm is None else float(estimator.clip_norm),
        precision == "bfloat16",
        lazy,
        find_team(estimator.distributed),
    )


def penalty_of(estimator: Classifier, shape: Shape, n_rows: int) -> float:
    """The penalty for training on ``n_rows`` rows: as given, or by a rule.

    The rule makes it weaker with more rows and, above a number of classes, with more classes.
    """
    if estimator.penalty != "auto":
        return float(estimator.penalty)
    strength, n_outputs = _PENALTIES[_between(shape)]
    return strength / (max(1.0, shape.n_outputs / n_outputs) * max(n_rows, 1))


def rows_to_expect(n_rows: int) -> int:
    """The expected number of rows of a stream that has had ``n_rows`` so far."""
    return max(n_rows, _LIKELY)


def batch_size_of(estimator: Classifier, shape: Shape, n_rows: int) -> int:
    """Rows per step."""
    if estimator.batch_size != "auto":
        return int(estimator.batch_size)
    usual = _BATCH_EMBEDDED if _between(shape) == "embedding" else _BATCH
    few, many = min(max(n_rows // 20, 8), usual), min(n_rows // 256, 4096)
    return max(few, many)


def course_of(estimator: Classifier, shape: Shape, n_rows: int | None = None) -> Course:
    """How long to train; ``n_rows`` is None for a stream."""
    epochs = estimator.max_epochs
    if epochs == "auto":
        seen, fewest, most = _EPOCHS[_between(shape)]
        epochs = fewest if n_rows is None else int(np.clip(-(-seen // n_rows), fewest, most))
    return Course(int(epochs), estimator.patience, estimator.tol)


def automatic(estimator: Classifier, known: Known, shape: Shape) -> tuple[Any, ...]:
    """What "auto" stands for: with other defaults, a checkpoint must not be continued."""
    rules = _RATES, _PENALTIES, _EPOCHS, _BATCH, _BATCH_EMBEDDED, _LIKELY
    return loss_of(estimator, known), shape, *rules


# -- networks in training ----------------------------------------------------------------------


def start(
    estimator: Classifier, shape: Shape, layout: Layout, rows: Rows, seed: int, settings: Settings
) -> Trainer:
    """A new network for rows like these."""
    hidden, inputs = bool(shape.hidden), Inputs()
    size = 1.0
    if estimator.standardize:
        inputs = measure_inputs(rows.X, rows.weight, hidden=hidden)
        size = float(rows.X.shape[1]) if hidden and inputs.mean is not None else 1.0
    else:
        size = mean_squared_length(rows.X, rows.weight)
    weights = first_weights(shape, size, torch.Generator().manual_seed(seed))
    return Trainer(shape, layout, weights, settings.team.share(inputs), settings, seed)


def resume(before: FittedNetwork, inputs: Inputs, settings: Settings, seed: int) -> Trainer:
    """A network with the weights of a fitted one and a new optimiser."""
    weights = {name: torch.tensor(value) for name, value in before.weights.items()}
    weights = inputs.unfold(before.shape, weights)
    return Trainer(before.shape, before.layout, weights, inputs, settings, seed)


def warm(
    estimator: Classifier,
    shape: Shape,
    layout: Layout,
    rows: Rows,
    seed: int,
    settings: Settings,
    before: FittedNetwork,
) -> Trainer:
    """A network with the weights of the previous fit."""
    if before.shape != shape or not same_layout(before.layout, layout):
        raise ValueError(
            "warm_start=True continues with the network of the previous fit, but the classes, the "
            "features or the layers have changed. Use warm_start=False, or pass all classes with "
            "hierarchy= and rows of each of them."
        )
    inputs = Inputs()
    if estimator.standardize:
        inputs = measure_inputs(rows.X, rows.weight, hidden=bool(shape.hidden))
    return resume(before, inputs, settings, seed)


def fit_network(
    estimator: Classifier,
    X: Any,
    target: AnyTarget,
    weights: Any,
    groups: IntArray | None = None,
    before: FittedNetwork | None = None,
    *,
    keep_on_interrupt: bool = False,
    sent: Sending | None = None,
) -> Trained:
    """Train a network on rows in memory, shuffled in every epoch, with decreasing steps.

    ``sent`` holds the rows that are being copied to the device.
    """
    known = Known.seen(target, weights, leaf_only=estimator.leaf_only)
    layout = layout_of(estimator, known)
    shape = shape_of(estimator, X, layout)
    rows, held_out = make_rows(X, target, layout, weights), None
    team = find_team(estimator.distributed)
    what = {
        "weights": weights,
        "groups": groups,
        "before": before and before.weights,
        "automatic": automatic(estimator, known, shape),
    }
    labels = (layout.select(target), known.hierarchy)
    checkpoint = open_checkpoint(estimator, X, labels, what) if team.rank == 0 else None
    state = team.share(None if checkpoint is None else checkpoint.state)
    seed = team.share(draw_seed(estimator)) if state is None else state["more"]
    if estimator.validation_fraction:
        rng = np.random.default_rng(seed)
        rows, held_out = _hold_out(rows, estimator.validation_fraction, groups, rng)
    size = batch_size_of(estimator, shape, len(rows))
    mine, cuts = cut(len(rows), size, team)
    n_steps = len(cuts) - 1

    @lru_cache(2)
    def order(i: int) -> IntArray:
        return np.random.default_rng([seed, i]).permutation(len(rows))[mine]

    order(0)  # while rows are still being copied
    # Rows are measured later: the many threads for that and those for copies slow each other down.
    ahead = None if sent is None else sent.take()
    settings = settings_of(estimator, shape, len(rows))
    if before is None:
        trainer = start(estimator, shape, layout, rows, seed, settings)
    else:
        trainer = warm(estimator, shape, layout, rows, seed, settings, before)
    course = course_of(estimator, shape, len(rows))
    course.keep_on_interrupt = keep_on_interrupt and team.size == 1
    total = n_steps * course.max_epochs
    source = stay_on(rows, trainer.device, trainer.scale, ahead)
    del ahead

    def batches(i: int, n_known: int) -> Iterator[Batch]:
        yield from source.batches(order(i), cuts[n_known:])
        if i + 1 < course.max_epochs:
            order(i + 1)  # while a GPU is still busy with the steps before

    def epoch(i: int, begun: Place, after_step: AfterStep) -> float:
        return trainer.epoch(
            batches(i, begun.n_steps),
            lambda step, _: 1 - (i * n_steps + step) / total if estimator.decay else 1.0,
            resident=source is not rows,
            begun=begun,
            after_step=after_step,
        )

    verbose = estimator.verbose > 0
    course.run(trainer, epoch, held_out, verbose, checkpoint, state, lambda *_: seed)
    n_learned = settled(len(rows) * len(course.losses))
    return Trained(known, trainer, course, len(rows), n_learned)


def fit_fold(
    estimator: Classifier,
    X: Any,
    target: AnyTarget,
    weights: AnyArray | None,
    groups: IntArray | None,
    rows: IntArray,
) -> Any:
    """Train a network on some of the rows, for out-of-fold predictions."""
    weights = None if weights is None else weights[rows]
    if groups is not None:
        groups = np.unique(groups[rows], return_inverse=True)[1]
    trained = fit_network(estimator, X[rows], target.some(rows), weights, groups)
    return as_models(estimator, trained.known, trained.trainer)


def learn_rows(
    estimator: Classifier, known: Known, X: Any, target: AnyTarget, sample_weight: Any
) -> Trained:
    """Learn rows in one pass, with steps that decrease with the number of rows learned before.

    Training continues from a trainer or, after loading a file, from a fitted network. Neither is
    changed: a trained copy is returned.
    """
    trainer, network = vars(estimator).get("_trainer"), estimator._network()
    seed = find_team(estimator.distributed).share(draw_seed(estimator))
    past = vars(estimator).get("_past") or {"n_rows": int(known.n_own.sum()), "n_learned": None}
    n_rows = past["n_rows"] + X.shape[0]
    expected = rows_to_expect(n_rows)
    if trainer is not None:
        trainer = trainer.copy(settings_of(estimator, trainer.shape, expected, lazy=True))
    elif network is not None:
        inputs = Inputs(past.get("mean"), past.get("factor"))
        settings = settings_of(estimator, network.shape, expected, lazy=True)
        trainer = resume(network, inputs, settings, seed)
    else:
        layout = layout_of(estimator, known)
        shape = shape_of(estimator, X, layout)
        rows = make_rows(X, target, layout, sample_weight)
        settings = settings_of(estimator, shape, expected, lazy=True)
        trainer = start(estimator, shape, layout, rows, seed, settings)
    moments = _scaled_again(estimator, trainer, past, X, sample_weight)
    n_before = past["n_learned"]
    if n_before is None:  # after fit, or unknown in an old file
        n_before = 0 if network is None else settled(n_rows)
    data = make_rows(X, target, trainer.layout, sample_weight)
    order = np.random.default_rng(seed).permutation(len(data))
    size = _BATCH if estimator.batch_size == "auto" else int(estimator.batch_size)
    _, cuts = cut(len(data), size, ALONE)

    def rate(step: int, n_step: int) -> float:
        return settling(n_before + step * size) * small_step(n_step)

    loss = trainer.epoch(data.batches(order, cuts), rate)
    course = Course(1, 1, 0.0)
    course.losses.append(loss)
    return Trained(known, trainer, course, n_rows, n_before + len(data), moments)


def _scaled_again(
    estimator: Classifier, trainer: Trainer, past: dict[str, Any], X: Any, sample_weight: Any
) -> Moments | None:
    """Scale features by all rows so far, until there are enough of them to know their spread."""
    before, alone = past.get("moments"), trainer.settings.team.size == 1
    if not (estimator.standardize and alone) or (past["n_rows"] and not before):
        return None
    known = Moments(**before) if before else None
    if known is not None and (known.mean is None) != sp.issparse(X):
        return known
    moments = Moments.of(X, batch_weights(sample_weight, X))
    if known is not None:
        moments = known.plus(moments)
        trainer.rescale(moments.inputs(hidden=bool(trainer.shape.hidden)), known.varies)
    return moments if moments.n_rows < ENOUGH_ROWS else None


def small_step(n_rows: int) -> float:
    """The share of the learning rate for a small step of a stream."""
    return float(min(1.0, n_rows / _BATCH) ** 0.5)


def settling(n_learned: int) -> float:
    """The share of the learning rate in ``partial_fit``, after ``n_learned`` rows."""
    return min(1.0, _SETTLED / max(n_learned, 1))


def settled(n_learned: int) -> int:
    """The number of rows that counts as learned after ``fit``, whose steps decrease to zero."""
    return max(n_learned, round(_SETTLED / _AFTER_FIT))


def as_models(estimator: Classifier, known: Known, trainer: Trainer) -> Any:
    """The fitted models of a trained network."""
    arrays = as_arrays(trainer.fitted_weights())
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
    """Training rows and validation rows."""
    n = max(1, round(fraction * len(rows)))
    if n >= len(rows):
        raise ValueError(
            f"validation_fraction={fraction} holds out all {len(rows)} rows and leaves none to "
            f"train on. Use a smaller value, or 0."
        )
    if groups is not None:
        held_out = hold_out_groups(groups, n, rng)
        return rows.some(np.flatnonzero(~held_out)), rows.some(np.flatnonzero(held_out))
    order = rng.permutation(len(rows))
    return rows.some(np.sort(order[n:])), rows.some(np.sort(order[:n]))
