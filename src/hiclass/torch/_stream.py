"""Streams: the labels of batches, and training on batches as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from hiclass._estimators.fitting import encode_labels
from hiclass._labels.columns import read_paths
from hiclass._targets.growth import check_form
from hiclass._targets.paths import Target, as_hierarchy, check_n_labels, encode, nodes_of
from hiclass._targets.sets import encode_in_dag, encode_sets
from hiclass._warnings import warn_user
from hiclass.hierarchy import Hierarchy
from hiclass.torch._batches import Batch, Rows, as_array, make_rows
from hiclass.torch._checkpoint import Digests, open_checkpoint
from hiclass.torch._course import AfterStep
from hiclass.torch._fit import (
    Trained,
    automatic,
    course_of,
    draw_seed,
    layout_of,
    penalty_of,
    rows_to_expect,
    settings_of,
    settled,
    shape_of,
    small_step,
    start,
)
from hiclass.torch._inputs import ENOUGH_ROWS
from hiclass.torch._known import AnyTarget, Known
from hiclass.torch._layout import Layout
from hiclass.torch._lookup import Finder
from hiclass.torch._sources import ShuffledBatches
from hiclass.torch._team import Team, find_team
from hiclass.torch._train import Place

if TYPE_CHECKING:
    from hiclass.torch._classifier import HierarchicalSoftmaxClassifier as Classifier

# -- labels ------------------------------------------------------------------------------------


def read_batch(y: Any, classes: Any, estimator: Classifier) -> tuple[Known, Any]:
    """The classes of the network, and the encoded labels of a batch."""
    known = vars(estimator).get("_known")
    if known is not None:
        encode_y = encoder_of(known, estimator._format, estimator, remembers=False)
        return known, encode_next(y, known, encode_y, estimator, classes)
    target: Any = encode_labels(estimator, y, _announced(y, classes, estimator))
    # Paths of the first batch may be shorter than those to come.
    target = replace(target, format=target.format.reaching(target.hierarchy.depth))
    return Known.announced(target, leaf_only=estimator.leaf_only), target


def _announced(y: Any, classes: Any, estimator: Classifier) -> Hierarchy:
    """The hierarchy that a stream begins with."""
    if estimator.hierarchy is not None:
        hierarchy = as_hierarchy(estimator.hierarchy)
        _check_classes(classes, hierarchy, estimator)
        return hierarchy
    if isinstance(classes, Hierarchy):
        return classes
    return _encode_classes(classes, None, estimator, y).hierarchy


def encode_next(
    y: Any,
    known: Known,
    encode_y: Callable[[Any], tuple[AnyTarget, bool]],
    estimator: Classifier,
    classes: Any = None,
) -> AnyTarget:
    """Encode the labels of a later batch, whose classes and form are known.

    ``encode_y`` is from :func:`encoder_of`.
    """
    try:
        _check_classes(classes, known.hierarchy, estimator)
        target, is_checked = encode_y(y)
    except ValueError as error:
        error.add_note(
            "All classes must be known before the first batch: pass them with classes= or "
            "hierarchy=."
        )
        raise
    if not is_checked:
        known.check(target, leaf_only=estimator.leaf_only)
    return target


def encoder_of(
    known: Known, format: Any, estimator: Classifier, *, remembers: bool
) -> Callable[[Any], tuple[AnyTarget, bool]]:
    """A function that encodes the labels of a batch, and tells whether they are already checked.

    With ``remembers``, it keeps the nodes of earlier labels.
    """
    hierarchy = known.hierarchy
    if known.of_sets:
        encode_rows = encode_sets if estimator.multi_label else encode_in_dag
        return lambda y: (encode_rows(y, hierarchy), False)
    allowed = known.allowed(leaf_only=estimator.leaf_only)
    finder = Finder(hierarchy, format.ndim, allowed) if remembers else None
    return partial(_encode_paths, finder, hierarchy, format)


def _encode_paths(
    finder: Finder | None, hierarchy: Hierarchy, format: Any, y: Any
) -> tuple[Target, bool]:
    nodes = None if finder is None else finder.find(y)
    is_found = nodes is not None
    if nodes is None:
        columns = read_paths(y)
        nodes = nodes_of(columns, hierarchy)
        check_form(columns, format)
        if finder is not None:
            finder.note(y, nodes)
    return Target(hierarchy, nodes, format), is_found


def _check_classes(classes: Any, hierarchy: Hierarchy, estimator: Classifier) -> None:
    """Refuse classes that differ from those already known."""
    if not isinstance(classes, Hierarchy):
        if classes is not None:
            _encode_classes(classes, hierarchy, estimator)
    elif not classes._same_classes(hierarchy):
        raise ValueError(
            f"classes is {classes!r}, but the network has the classes of {hierarchy!r}."
        )


def _encode_classes(
    classes: Any, hierarchy: Hierarchy | None, estimator: Classifier, y: Any = None
) -> AnyTarget:
    """Announced classes as nodes; without any, those of the first batch."""
    if estimator.multi_label:
        return encode_sets(y if classes is None else [[c] for c in classes], hierarchy)
    return encode(y if classes is None else classes, hierarchy)


# -- batches -----------------------------------------------------------------------------------


def open_batches(batches: Any, estimator: Classifier) -> tuple[Any, Callable[[int], Iterator[Any]]]:
    """The first batch, and a function that gives all batches of an epoch."""
    if estimator.validation_fraction:
        raise ValueError(
            "validation_fraction holds out rows in fit, which has all rows in memory. For batches, "
            "pass validation rows with validation=(X, y)."
        )
    if not callable(batches) and iter(batches) is batches and estimator.max_epochs != 1:
        raise ValueError(
            f"batches is an iterator, which can be used for one epoch only, but max_epochs is "
            f"{estimator.max_epochs!r}. Pass a function that returns a new iterator for every "
            f"epoch, or set max_epochs=1."
        )

    shuffled = isinstance(batches, ShuffledBatches)
    if shuffled and estimator.checkpoint_dir is not None and not batches._is_repeatable:
        warn_user(
            f"The order of these {type(batches).__name__} is random, so another process cannot "
            f"continue from {estimator.checkpoint_dir}. Set random_state of the batches to an int."
        )

    def epoch(i: int) -> tuple[Any, Iterator[Any]]:
        source = batches.epoch(i) if shuffled else batches() if callable(batches) else batches
        items = map(read_item, source)
        first = next(items, None)
        if first is None:
            raise ValueError(_empty_epoch(i))
        return first, chain([first], items)

    first, items = epoch(0)
    return first, lambda i: epoch(i)[1] if i else items


def _empty_epoch(i: int) -> str:
    if i == 0:
        return "batches is empty: there is nothing to learn."
    return (
        f"batches yielded nothing in epoch {i + 1}: it can be used for {i} epoch"
        f"{'s' if i > 1 else ''} only. Pass a function that returns a new "
        f"iterator in every call, or set max_epochs={i}."
    )


def read_item(item: Any) -> tuple[Any, Any, Any]:
    """Rows, labels and weights of a batch."""
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise ValueError(
            f"A batch is a tuple (X, y) or (X, y, sample_weight); got {type(item).__name__}"
            f"{f' of length {len(item)}' if isinstance(item, tuple | list) else ''}."
        )
    X, y, *weight = map(_as_plain, item)
    return X, y, weight[0] if weight else None


def _as_plain(part: Any) -> Any:
    """Tensors, as a ``DataLoader`` gives them, as arrays or sparse matrices."""
    if not isinstance(part, torch.Tensor) or part.layout is torch.strided:
        return as_array(part)
    part = part.detach().cpu()
    if part.layout is torch.sparse_csr:
        arrays = (part.values(), part.col_indices(), part.crow_indices())
        return sp.csr_matrix(tuple(map(as_array, arrays)), shape=tuple(part.shape))
    part = part.to_sparse_coo().coalesce()
    place = tuple(part.indices().numpy())
    return sp.csr_matrix((as_array(part.values()), place), shape=tuple(part.shape))


class Counts:
    """Counts of the first epoch of a stream: rows per class, batches and rows.

    Parameters
    ----------
    known : Known
        The classes of the network, without rows.
    """

    _ARRAYS = ("n_own", "n_in", "own_weight")

    def __init__(self, known: Known) -> None:
        self._none = self.known = known
        self.n_batches = self.n_rows = 0

    def reset(self) -> None:
        """Begin to count."""
        self.__init__(self._none)  # type: ignore[misc]

    def add(self, target: AnyTarget, rows: Rows) -> None:
        """Count a batch."""
        self.known = self.known.after(target, rows.weight)
        self.n_batches += 1
        self.n_rows += len(rows)

    def add_up(self, team: Team) -> None:
        """Count what all processes have seen."""
        parts = {name: getattr(self.known, name) for name in self._ARRAYS}
        sums = {n: torch.from_numpy(part) for n, part in parts.items() if part is not None}
        n_rows = torch.tensor(self.n_rows)
        team.add_up(*sums.values(), n_rows)
        found: dict[str, Any] = {name: part.numpy() for name, part in sums.items()}
        self.known = replace(self.known, **found)
        self.n_rows, self.n_batches = int(n_rows), team.share(self.n_batches)

    def state(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        parts = {name: getattr(self.known, name) for name in self._ARRAYS}
        tensors = {n: None if p is None else torch.from_numpy(p) for n, p in parts.items()}
        return {"n_batches": self.n_batches, "n_rows": self.n_rows, "known": tensors}

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        parts: dict[str, Any] = {
            n: None if p is None else p.numpy() for n, p in state["known"].items()
        }
        self.known = replace(self._none, **parts)
        self.n_batches, self.n_rows = state["n_batches"], state["n_rows"]


def _enough(
    items: Iterator[Any], read: Callable[[Any], tuple[Rows, AnyTarget]]
) -> Iterator[tuple[Rows, AnyTarget]]:
    """The first batches, with enough rows to measure how features are scaled."""
    n_rows = n_counted = 0
    while n_counted < ENOUGH_ROWS and n_rows < 16 * ENOUGH_ROWS:
        item = next(items, None)
        if item is None:
            return
        yield (batch := read(item))
        weight = batch[0].weight
        n_rows += len(batch[0])
        n_counted += len(batch[0]) if weight is None else int(np.count_nonzero(weight))


def _stacked(parts: list[Rows], layout: Layout) -> Rows:
    """Rows of one kind, sparse or dense, together; without labels."""
    is_sparse = sp.issparse(parts[0].X)
    parts = [part for part in parts if sp.issparse(part.X) == is_sparse]
    if len(parts) == 1:
        return parts[0]
    weights = [np.ones(len(part)) if part.weight is None else part.weight for part in parts]
    X = [part.X for part in parts]
    stacked = sp.vstack(X, format="csr") if is_sparse else np.vstack(X)
    return Rows(stacked, None, layout, np.concatenate(weights))


def fit_stream(
    estimator: Classifier,
    known: Known,
    format: Any,
    first: tuple[Any, Any, Any],
    items_of: Callable[[int], Iterator[Any]],
    validation: Any,
) -> Trained:
    """Train a network on batches, one step each, with decreasing steps.

    ``first`` holds the rows, encoded labels and weights of the first batch. The batches of the
    first epoch decide which classes count as seen.
    """
    X, target, sample_weight = first
    layout = layout_of(estimator, known)
    shape = shape_of(estimator, X, layout)
    what = {
        "weights": sample_weight,
        "validation": validation,
        "automatic": automatic(estimator, known, shape),
    }
    labels = (layout.select(target), known.hierarchy)
    team = find_team(estimator.distributed)
    checkpoint = open_checkpoint(estimator, X, labels, what) if team.rank == 0 else None
    state = team.share(None if checkpoint is None else checkpoint.state)
    seed = team.share(draw_seed(estimator)) if state is None else state["more"]["seed"]
    course = course_of(estimator, shape)
    course.keep_on_interrupt = team.size == 1
    encode_y = encoder_of(known, format, estimator, remembers=True)
    counts, digests = Counts(known), Digests()

    def read(item: Any) -> tuple[Rows, AnyTarget]:
        X, y, sample_weight = item
        X = estimator._as_rows(X, reset=False)
        target = encode_next(y, known, encode_y, estimator)
        check_n_labels(target.n_rows, X.shape[0])
        return make_rows(X, target, layout, sample_weight), target

    items = items_of(0)
    ahead = list(_enough(items, read))
    measured = _stacked([rows for rows, _ in ahead], layout)
    settings = settings_of(estimator, shape, rows_to_expect(0))
    trainer = start(estimator, shape, layout, measured, seed, settings)
    del measured

    def opened() -> Iterator[tuple[Rows, AnyTarget]]:
        while ahead:
            yield ahead.pop(0)
        yield from map(read, items)

    stored = None if state is None or checkpoint is None else state["more"]["digest"]
    if state is not None:
        counts.load(state["more"])
        if stored is not None and state["epoch"]:
            # Later epochs may have another order: the first one is read again.
            for rows, _ in islice(opened(), stored[0] + 1):
                digests.add(rows)
            digests.check(stored, estimator.checkpoint_dir)

    def first_epoch(n_known: int) -> Iterator[Rows]:
        n = 0
        for n, (rows, target) in enumerate(opened(), start=1):
            counts.add(target, rows)
            if checkpoint is not None:
                digests.add(rows)
            if stored is not None and n == n_known:
                digests.check(stored, estimator.checkpoint_dir)
            if n > n_known:
                yield rows
        if stored is not None and n < n_known:
            digests.check(stored, estimator.checkpoint_dir)

    def batches(i: int, n_known: int) -> Iterator[Batch]:
        later = (read(item)[0] for item in islice(items_of(i), n_known, None)) if i else ()
        for rows in later if i else first_epoch(n_known):
            yield rows.whole()

    def rate(i: int, step: int, n_step: int) -> float:
        # The length of an epoch is known from the second one on. A longer epoch must not lead to
        # negative steps.
        done = min(step / counts.n_batches, 1.0) if i else 0.0
        return (1 - (i + done) / course.max_epochs) * small_step(n_step)

    def epoch(i: int, begun: Place, after_step: AfterStep) -> float:
        if i == 0:
            counts.reset()
        else:
            trainer.set_penalty(penalty_of(estimator, shape, counts.n_rows))
        loss = trainer.epoch(
            batches(i, begun.n_steps),
            partial(rate, i),
            thread=True,
            begun=begun,
            after_step=after_step,
        )
        if i == 0:
            counts.add_up(team)
        return loss

    held_out = None if validation is None else read(read_item(validation))[0]
    course.run(
        trainer,
        epoch,
        held_out,
        estimator.verbose > 0,
        checkpoint,
        state,
        lambda i, place: {
            "seed": seed,
            "digest": digests.of(None if i else place.n_steps),
            **counts.state(),
        },
    )
    n_learned = settled(counts.n_rows * len(course.losses))
    return Trained(counts.known, trainer, course, counts.n_rows, n_learned)
