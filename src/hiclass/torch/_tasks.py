"""The parts of a head that differ between paths and sets of classes, behind one protocol.

A task turns labels into tensors and has the loss of rows; its answers turn outputs into labels. The
task of a head is chosen once, by what its outputs mean: see ``task_of``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
import torch

from hiclass._inference.candidates import Decision
from hiclass._inference.confidence import check_min_confidence, thresholds_of
from hiclass._inference.decodings import DECODINGS, Wish, truncate
from hiclass._state import LabelFormat, LocalModels, SetFormat, SetModels
from hiclass._targets.paths import decode, encode
from hiclass._targets.sets import encode_in_dag, encode_sets, write_sets
from hiclass._typing import AnyArray, FloatArray
from hiclass.hierarchy import Hierarchy
from hiclass.torch._decisions import PathDecisions, SetDecisions, closed_sets
from hiclass.torch._known import Known
from hiclass.torch._layout import Layout, SetLayout, TreeLayout
from hiclass.torch._losses import make_loss, on_device
from hiclass.torch._network import rows_within

Tensor = Any


class Choice(NamedTuple):
    """How a path is chosen; see ``HierarchicalHead.predict``."""

    decoding: str
    expected_f1: float | None
    min_confidence: Any


class Answers(Protocol):
    """The predictions of a head, on one device."""

    def predict(self, outputs: Tensor, choice: Choice, threshold: float) -> AnyArray:
        """Labels."""

    def confidence(self, outputs: Tensor, choice: Choice) -> FloatArray:
        """The probabilities along predicted paths."""

    def best_paths(self, outputs: Tensor, k: int) -> tuple[AnyArray, FloatArray]:
        """The k most probable paths and their probabilities."""

    def node_proba(self, outputs: Tensor) -> Tensor:
        """The probability of every node."""


class Task(Protocol):
    """What a head learns."""

    def encode(self, y: Any, *, multi_label: bool) -> Tensor:
        """Labels as the target of the loss."""

    def loss_on(self, device: Any) -> Any:
        """A function of outputs and encoded labels: the loss of every row."""

    def models(self, *, leaf_only: bool) -> Any:
        """A model of all classes, for decisions."""

    def lacks_proba(self, largest: Tensor) -> Tensor:
        """Whether the probabilities of rows would be NaN, from their largest outputs."""

    def answers_on(self, models: Any, columns: Any, device: Any) -> Answers:
        """The predictions on a device; for columns see ``_decisions.PathDecisions``."""


def task_of(hierarchy: Hierarchy, layout: Layout) -> Task:
    """The task of a network whose outputs have this meaning."""
    return SetTask(hierarchy, layout) if layout.of_sets else PathTask(hierarchy, layout)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


class _AsTheyAre:
    """A last layer whose outputs are given."""

    @staticmethod
    def all(outputs: Tensor) -> Tensor:
        return outputs


def _pieces(outputs: Tensor, bytes_per_row: int) -> Iterator[Tensor]:
    """Pieces of rows that keep within the memory limit."""
    size = rows_within(bytes_per_row, outputs.device)
    return iter(outputs.detach().split(size))


def _join(found: list[Any]) -> tuple[AnyArray, FloatArray]:
    one, other = (torch.cat(part).cpu().numpy() for part in zip(*found, strict=True))
    return one, other


# -- paths ---------------------------------------------------------------------------------------


class PathTask:
    """One path per row, in a tree."""

    def __init__(self, hierarchy: Hierarchy, layout: TreeLayout) -> None:
        self._hierarchy, self._layout = hierarchy, layout

    def encode(self, y: Any, *, multi_label: bool) -> Tensor:
        """The node of every row."""
        nodes = encode(y, self._hierarchy).nodes
        unknown = self._layout.first[nodes] < 0
        if unknown.any():
            row = int(np.argmax(unknown))
            name = self._hierarchy.describe(int(nodes[row]))
            raise ValueError(
                f"Row {row} of y: the network has no output for the class {name}. Remove such "
                f"rows, or create a head for a hierarchy with this class."
            )
        return torch.from_numpy(nodes.astype(np.int64))

    def loss_on(self, device: Any) -> Any:
        """The loss of nodes."""
        return _PathLosses(self._layout, device)

    def models(self, *, leaf_only: bool) -> LocalModels:
        """A model of all paths."""
        tree = self._hierarchy
        options = Known.of_all(tree, sets=False, leaf_only=leaf_only).options
        assert options is not None
        return LocalModels("global", tree, options, {}, {}, soft=True, is_direct=True)

    def lacks_proba(self, largest: Tensor) -> Tensor:
        """Whether all classes are excluded, or an output is infinite or NaN."""
        return ~largest.isfinite()

    def answers_on(self, models: Any, columns: Any, device: Any) -> PathAnswers:
        """The predictions of paths."""
        return PathAnswers(self._hierarchy, PathDecisions(models, self._layout, columns, device))


class _PathLosses:
    """The loss of every row, from nodes."""

    def __init__(self, layout: TreeLayout, device: Any) -> None:
        self._loss = make_loss(layout, device)
        self._first, self._last = (on_device(part, device) for part in (layout.first, layout.last))

    def __call__(self, outputs: Tensor, target: Tensor) -> Tensor:
        first, last = self._first[target], self._last[target]
        # The second one counts only for rows of which it is not known where in a class they are.
        compared = (first, last) if bool((last - first > 1).any()) else (first,)
        return self._loss(_AsTheyAre, outputs, compared)


class PathAnswers:
    """Decides on paths."""

    def __init__(self, hierarchy: Hierarchy, decisions: PathDecisions) -> None:
        self._hierarchy, self._decisions = hierarchy, decisions

    def predict(self, outputs: Tensor, choice: Choice, threshold: float) -> AnyArray:
        """Paths of labels; there is no threshold for them."""
        return self._labels(self._decide(outputs, choice).nodes)

    def confidence(self, outputs: Tensor, choice: Choice) -> FloatArray:
        """The probabilities along predicted paths."""
        return self._decide(outputs, choice).confidence

    def best_paths(self, outputs: Tensor, k: int) -> tuple[AnyArray, FloatArray]:
        """The k most probable paths and their probabilities."""
        pieces = _pieces(outputs, self._decisions.bytes_per_row())
        nodes, proba = _join([self._decisions.best_paths(z, k) for z in pieces])
        return self._labels(nodes), proba

    def node_proba(self, outputs: Tensor) -> Tensor:
        """The probability of every node."""
        return self._decisions.node_proba(outputs)

    def _decide(self, outputs: Tensor, choice: Choice) -> Decision:
        check_choice("decoding", choice.decoding, tuple(DECODINGS))
        check_min_confidence(choice.min_confidence)
        rule = DECODINGS[choice.decoding]
        thresholds = thresholds_of(choice.min_confidence, self._hierarchy)
        wish = Wish(f=choice.expected_f1, min_confidence=thresholds)
        rule.check(wish)
        pieces = _pieces(outputs, self._decisions.bytes_per_row(rule))
        nodes, confidence = _join([self._decisions.decide(rule, z, wish) for z in pieces])
        return truncate(Decision(nodes, confidence), self._hierarchy, thresholds)

    def _labels(self, nodes: AnyArray) -> AnyArray:
        return decode(nodes, self._hierarchy, _format_of(self._hierarchy), may_end=True)


def _format_of(hierarchy: Hierarchy) -> LabelFormat:
    """Paths of labels as they are."""
    strings = all(isinstance(label, str) for label in hierarchy.labels[1:].tolist())
    missing = "" if strings else None
    return LabelFormat(2, hierarchy.depth, np.dtype(object), missing)


# -- sets of classes -----------------------------------------------------------------------------


class SetTask:
    """A set of classes per row."""

    def __init__(self, hierarchy: Hierarchy, layout: SetLayout) -> None:
        self._hierarchy, self._layout = hierarchy, layout

    def encode(self, y: Any, *, multi_label: bool) -> Tensor:
        """A column per output, with ones for the classes of a row and all above them."""
        sets = (encode_sets if multi_label else encode_in_dag)(y, self._hierarchy)
        (target,) = self._layout.compared(self._layout.select(sets))
        return torch.from_numpy(target.toarray())

    def loss_on(self, device: Any) -> Any:
        """The loss of sets."""
        loss = make_loss(self._layout, device)
        return lambda outputs, target: loss(_AsTheyAre, outputs, (target,))

    def models(self, *, leaf_only: bool) -> SetModels:
        """A model of all classes; a set may have any of them."""
        everything = np.ones(self._hierarchy.n_nodes, dtype=bool)
        return SetModels("global", self._hierarchy, {}, {}, everything, self._layout.nodes)

    def lacks_proba(self, largest: Tensor) -> Tensor:
        """Whether an output is NaN."""
        return largest.isnan()

    def answers_on(self, models: Any, columns: Any, device: Any) -> SetAnswers:
        """The predictions of sets."""
        return SetAnswers(self._hierarchy, SetDecisions(models, self._layout, device))


class SetAnswers:
    """Decides on sets of classes."""

    def __init__(self, hierarchy: Hierarchy, decisions: SetDecisions) -> None:
        self._hierarchy, self._decisions = hierarchy, decisions

    def predict(self, outputs: Tensor, choice: Choice, threshold: float) -> AnyArray:
        """The most specific labels of every row; there are no paths to choose."""
        tree = self._hierarchy
        thresholds = np.full(tree.n_nodes, float(threshold))
        sets = [
            closed_sets(self._decisions.sets(z, thresholds), len(z), tree.n_nodes)
            for z in _pieces(outputs, self._decisions.bytes_per_row)
        ]
        format = SetFormat("lists", as_paths=tree.identity == "path")
        return np.asarray(write_sets(sp.csr_array(sp.vstack(sets)), tree, format))

    def confidence(self, outputs: Tensor, choice: Choice) -> FloatArray:
        """Refuse: there are no paths."""
        raise _no_paths()

    def best_paths(self, outputs: Tensor, k: int) -> tuple[AnyArray, FloatArray]:
        """Refuse: there are no paths."""
        raise _no_paths()

    def node_proba(self, outputs: Tensor) -> Tensor:
        """The probability of every node."""
        return self._decisions.node_proba(outputs)


def _no_paths() -> ValueError:
    return ValueError(
        "This head predicts sets of classes, not paths. Use predict and predict_node_proba."
    )
