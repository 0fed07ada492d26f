"""A hierarchy as loss and as last layer of any network of PyTorch.

``HierarchicalLoss`` and ``HierarchicalHead`` are ordinary modules: they can be put on an encoder of
the user's own, be trained with any optimiser, and move between devices with it. What they compute
is what ``HierarchicalSoftmaxClassifier`` computes. Tables that follow from the hierarchy are made
once per device and are not part of a state dict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from hiclass._inference.candidates import Decision
from hiclass._inference.confidence import check_min_confidence, thresholds_of
from hiclass._inference.decodings import DECODINGS, Wish, truncate
from hiclass._state import LabelFormat, LocalModels, SetFormat, SetModels
from hiclass._targets.paths import as_hierarchy, decode, encode
from hiclass._targets.sets import encode_in_dag, encode_sets, write_sets
from hiclass._typing import AnyArray, FloatArray
from hiclass.torch._decisions import PathDecisions, SetDecisions, closed_sets
from hiclass.torch._known import Known
from hiclass.torch._losses import make_loss, on_device
from hiclass.torch._network import rows_within

Tensor = Any


class _AsTheyAre:
    """Stands for the last layer where its outputs are there already."""

    @staticmethod
    def all(outputs: Tensor) -> Tensor:
        return outputs


class _PerDevice:
    """Objects that are made once per device, and left out of copies and files."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._made: dict[Any, Any] = {}

    def on(self, device: Any) -> Any:
        if device not in self._made:
            self._made[device] = self._make(device)
        return self._made[device]

    def __getstate__(self) -> dict[str, Any]:
        return {"_make": self._make, "_made": {}}


class _LossTables:
    """The loss of every row, on one device."""

    def __init__(self, layout: Any, device: Any) -> None:
        self._loss = make_loss(layout, device, behind_hidden=False)
        tables = () if layout.of_sets else (layout.first, layout.last)
        self._tables = [on_device(table, device) for table in tables]

    def __call__(self, outputs: Tensor, target: Tensor) -> Tensor:
        compared = [table[target] for table in self._tables] or [target]
        # The second table counts only for rows of which it is not known where in a class they are.
        if len(compared) == 2 and not bool((compared[1] - compared[0] > 1).any()):
            del compared[1]
        return self._loss(_AsTheyAre, outputs, tuple(compared))


class HierarchicalLoss(nn.Module):
    """The loss of a network whose outputs are the classes of a hierarchy.

    Parameters
    ----------
    hierarchy : Hierarchy, DiGraph, dict or edges
        The classes.
    loss : {"leaf", "conditional"}, default="leaf"
        What an output means. "leaf": one softmax over all final classes. "conditional": a softmax
        among siblings at every inner node. For sets of classes as in
        :class:`HierarchicalSoftmaxClassifier`.
    leaf_only : bool, default=True
        Whether a path ends at a leaf; of a row that ends earlier it is then unknown what is below.
        Otherwise a path may stop at every class.
    multi_label : bool, default=False
        Whether a row may have several labels. A hierarchy in which classes have several parents is
        treated alike.
    reduction : {"mean", "sum", "none"}, default="mean"
        What becomes of the losses of rows.

    Attributes
    ----------
    n_outputs : int
        The number of outputs that the network needs.

    See Also
    --------
    HierarchicalHead : A last layer with this loss, which also decides.

    Examples
    --------
    >>> import torch
    >>> from hiclass import Hierarchy
    >>> from hiclass.torch import HierarchicalLoss
    >>> tree = Hierarchy.from_paths([["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Fern"]])
    >>> criterion = HierarchicalLoss(tree)
    >>> target = criterion.encode([["Animal", "Dog"], ["Animal"]])
    >>> criterion(torch.zeros(2, criterion.n_outputs), target)  # (log 3 + log 3/2) / 2
    tensor(0.7520)
    """

    def __init__(
        self,
        hierarchy: Any,
        loss: str = "leaf",
        *,
        leaf_only: bool = True,
        multi_label: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        _check_choice("loss", loss, ("leaf", "conditional"))
        _check_choice("reduction", reduction, tuple(_REDUCTIONS))
        self.hierarchy = as_hierarchy(hierarchy)
        self.multi_label = multi_label
        self.reduction = reduction
        known = Known.of_all(
            self.hierarchy, sets=multi_label or not self.hierarchy.is_tree, leaf_only=leaf_only
        )
        self._set_up(known.layout(loss, recursive=False))

    def _set_up(self, layout: Any) -> None:
        self.layout = layout
        self.n_outputs = int(layout.n_outputs)
        self._computed = _PerDevice(partial(_LossTables, layout))

    def encode(self, y: Any) -> Tensor:
        """Turn labels into what the loss compares outputs with.

        Parameters
        ----------
        y : array-like
            A path or a label per row; with ``multi_label=True`` a list of labels per row, or an
            indicator.

        Returns
        -------
        target : tensor
            The node of every row; where rows are sets of classes, a column per output with ones
            for the classes of a row and all above them.

        Raises
        ------
        ValueError
            If the hierarchy has no such class, or a path may not end there.
        """
        if not self.layout.of_sets:
            nodes = encode(y, self.hierarchy).nodes
            unknown = self.layout.first[nodes] < 0
            if unknown.any():
                row = int(np.argmax(unknown))
                name = self.hierarchy.describe(int(nodes[row]))
                raise ValueError(
                    f"Row {row} of y: the network has no output for the class {name}. Leave such "
                    f"rows out, or make a head for a hierarchy with this class."
                )
            return torch.from_numpy(nodes.astype(np.int64))
        sets = (encode_sets if self.multi_label else encode_in_dag)(y, self.hierarchy)
        return torch.from_numpy(self.layout.compared(self.layout.select(sets))[0])

    def forward(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Compute the loss.

        Parameters
        ----------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs of the network.
        target : tensor
            What :meth:`encode` returns, or some rows of it, on any device.

        Returns
        -------
        loss : tensor
            A number; with ``reduction="none"`` one per row.
        """
        losses = self._computed.on(outputs.device)(outputs, target.to(outputs.device))
        return _REDUCTIONS[self.reduction](losses)

    def extra_repr(self) -> str:
        """Describe the classes and the loss, for the representation of a module.

        Returns
        -------
        str
            One line.
        """
        return f"{self.hierarchy!r}, loss={self.layout.loss!r}, n_outputs={self.n_outputs}"


_REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": torch.mean,
    "sum": torch.sum,
    "none": lambda losses: losses,
}


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


class HierarchicalHead(nn.Module):
    """A last layer whose outputs are the classes of a hierarchy, to be put on any encoder.

    Parameters
    ----------
    in_features : int
        The width of what the encoder returns.
    hierarchy : Hierarchy, DiGraph, dict or edges
        The classes.
    loss : {"leaf", "conditional"}, default="leaf"
        What is learned, as in :class:`HierarchicalLoss`.
    leaf_only : bool, default=True
        Whether every predicted path ends at a leaf.
    multi_label : bool, default=False
        Whether a row may have several labels.

    Attributes
    ----------
    linear : torch.nn.Linear
        The layer.
    criterion : HierarchicalLoss
        The loss.

    See Also
    --------
    HierarchicalSoftmaxClassifier : A whole classifier, for rows that are features already.

    Examples
    --------
    >>> import torch
    >>> from hiclass import Hierarchy
    >>> from hiclass.torch import HierarchicalHead
    >>> tree = Hierarchy.from_paths([["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Fern"]])
    >>> _ = torch.manual_seed(0)
    >>> encoder, head = torch.nn.Linear(2, 8), HierarchicalHead(8, tree)
    >>> X = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> target = head.encode([["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Fern"]])
    >>> optimiser = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.1)
    >>> for _ in range(50):
    ...     optimiser.zero_grad()
    ...     head.loss(head(encoder(X)), target).backward()
    ...     optimiser.step()
    >>> head.predict(head(encoder(X))).tolist()
    [['Animal', 'Cat'], ['Animal', 'Dog'], ['Plant', 'Fern']]
    """

    def __init__(
        self,
        in_features: int,
        hierarchy: Any,
        loss: str = "leaf",
        *,
        leaf_only: bool = True,
        multi_label: bool = False,
    ) -> None:
        super().__init__()
        self.criterion = HierarchicalLoss(
            hierarchy, loss, leaf_only=leaf_only, multi_label=multi_label
        )
        self.linear = nn.Linear(in_features, self.criterion.n_outputs)
        tree, layout = self.criterion.hierarchy, self.criterion.layout
        if layout.of_sets:
            everything = np.ones(tree.n_nodes, dtype=bool)
            models: Any = SetModels("global", tree, {}, {}, everything, layout.nodes)
        else:
            options = Known.of_all(tree, sets=False, leaf_only=leaf_only).options
            assert options is not None
            models = LocalModels("global", tree, options, {}, {}, soft=True, is_direct=True)
        self._decide_with(models, None)

    @classmethod
    def _from_parts(cls, models: Any, layout: Any, columns: Any, linear: nn.Linear) -> Any:
        """A head with the last layer of a fitted network; see ``_decisions.PathDecisions``."""
        criterion = HierarchicalLoss(models.hierarchy, layout.loss)
        criterion._set_up(layout)
        head = cls.__new__(cls)
        nn.Module.__init__(head)
        head.criterion, head.linear = criterion, linear
        head._decide_with(models, columns)
        return head

    def _decide_with(self, models: Any, columns: Any) -> None:
        make = partial(_make_decisions, models, self.criterion.layout, columns)
        self._decisions = _PerDevice(make)

    @property
    def hierarchy(self) -> Any:
        """The classes."""
        return self.criterion.hierarchy

    def encode(self, y: Any) -> Tensor:
        """Turn labels into what the loss takes; see :meth:`HierarchicalLoss.encode`.

        Parameters
        ----------
        y : array-like
            The labels.

        Returns
        -------
        target : tensor
            A line per row.
        """
        return self.criterion.encode(y)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs.

        Parameters
        ----------
        x : tensor of shape (n_rows, in_features)
            What the encoder returns.

        Returns
        -------
        outputs : tensor of shape (n_rows, n_outputs)
            Scores, which the other methods take.
        """
        return self.linear(x)

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Compute the loss of outputs.

        Parameters
        ----------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs.
        target : tensor
            What :meth:`encode` returns for these rows.

        Returns
        -------
        loss : tensor
            Their mean loss.
        """
        return self.criterion(outputs, target)

    # -- deciding --------------------------------------------------------------------------------

    def predict(
        self,
        outputs: Tensor,
        *,
        decoding: str = "best_path",
        expected_f1: float | None = None,
        min_confidence: Any = 0.0,
        threshold: float = 0.5,
    ) -> AnyArray:
        """Predict labels from outputs; computed where the outputs are.

        Parameters
        ----------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs.
        decoding : {"best_path", "top_down", "expected_f1"}, default="best_path"
            How a path is chosen.
        expected_f1 : float, default=None
            The hierarchical F-score that ``decoding="expected_f1"`` goes by.
        min_confidence : float, sequence of float or mapping, default=0.0
            Truncates a path before its first node with less than this probability, as in
            :class:`HierarchicalSoftmaxClassifier`.
        threshold : float, default=0.5
            Where predictions are sets of classes, the probability from which on one is predicted;
            the other parameters are not used then.

        Returns
        -------
        y : ndarray of shape (n_rows, depth), or (n_rows,)
            Paths; ``""``, for labels that are no strings ``None``, after the end of a path. Where
            predictions are sets, a list of the most specific labels of every row.
        """
        if self.criterion.layout.of_sets:
            return self._predict_sets(outputs, threshold)
        nodes = self._decide(outputs, decoding, expected_f1, min_confidence).nodes
        return decode(nodes, self.hierarchy, _format_of(self.hierarchy), may_end=True)

    def predict_confidence(
        self,
        outputs: Tensor,
        *,
        decoding: str = "best_path",
        expected_f1: float | None = None,
        min_confidence: Any = 0.0,
    ) -> FloatArray:
        """Return the probability of every node on the predicted paths.

        Parameters
        ----------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs.
        decoding : {"best_path", "top_down", "expected_f1"}, default="best_path"
            How a path is chosen.
        expected_f1 : float, default=None
            The hierarchical F-score that ``decoding="expected_f1"`` goes by.
        min_confidence : float, sequence of float or mapping, default=0.0
            Truncates a path before its first node with less than this probability, as in
            :class:`HierarchicalSoftmaxClassifier`.

        Returns
        -------
        confidence : ndarray of shape (n_rows, depth)
            It never rises along a path. NaN after the end of a path.
        """
        return self._decide(outputs, decoding, expected_f1, min_confidence).confidence

    def predict_paths(self, outputs: Tensor, k: int = 5) -> tuple[AnyArray, FloatArray]:
        """Return the k most probable paths of every row.

        Parameters
        ----------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs.
        k : int, default=5
            The number of paths; all of them where there are fewer.

        Returns
        -------
        paths : ndarray of shape (n_rows, k, depth)
            Labels, the most probable path first.
        proba : ndarray of shape (n_rows, k)
            The probability that a row ends exactly there.
        """
        decisions = self._path_decisions(outputs)
        found = [decisions.best_paths(z, k) for z in _pieces(outputs, decisions.bytes_per_row())]
        nodes, proba = (torch.cat(part).cpu().numpy() for part in zip(*found, strict=True))
        labels = decode(nodes, self.hierarchy, _format_of(self.hierarchy), may_end=True)
        return labels, proba

    def predict_node_proba(self, outputs: Tensor) -> Tensor:
        """Return the probability of every node of the hierarchy.

        Parameters
        ----------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs.

        Returns
        -------
        proba : tensor of shape (n_rows, n_nodes)
            One column per node of ``hierarchy``, in double precision; 1 for the root.
        """
        with torch.no_grad():
            return self._decisions.on(outputs.device).node_proba(outputs)

    def _path_decisions(self, outputs: Tensor) -> Any:
        if self.criterion.layout.of_sets:
            raise ValueError(
                "Predictions are sets of classes here, not paths. Use predict and "
                "predict_node_proba."
            )
        return self._decisions.on(outputs.device)

    def _decide(
        self, outputs: Tensor, decoding: str, expected_f1: float | None, min_confidence: Any
    ) -> Decision:
        decisions = self._path_decisions(outputs)
        _check_choice("decoding", decoding, tuple(DECODINGS))
        check_min_confidence(min_confidence)
        rule, thresholds = DECODINGS[decoding], thresholds_of(min_confidence, self.hierarchy)
        wish = Wish(f=expected_f1, min_confidence=thresholds)
        rule.check(wish)
        pieces = _pieces(outputs, decisions.bytes_per_row(rule))
        found = [decisions.decide(rule, z, wish) for z in pieces]
        nodes, confidence = (torch.cat(part).cpu().numpy() for part in zip(*found, strict=True))
        return truncate(Decision(nodes, confidence), self.hierarchy, thresholds)

    def _predict_sets(self, outputs: Tensor, threshold: float) -> AnyArray:
        tree = self.hierarchy
        decisions = self._decisions.on(outputs.device)
        thresholds = np.full(tree.n_nodes, float(threshold))
        sets = [
            closed_sets(decisions.sets(z, thresholds), len(z), tree.n_nodes)
            for z in _pieces(outputs, decisions.bytes_per_row)
        ]
        format = SetFormat("lists", as_paths=tree.identity == "path")
        return np.asarray(write_sets(sp.csr_array(sp.vstack(sets)), tree, format))


def _make_decisions(models: Any, layout: Any, columns: Any, device: Any) -> Any:
    if layout.of_sets:
        return SetDecisions(models, layout, device)
    return PathDecisions(models, layout, columns, device)


def _pieces(outputs: Tensor, bytes_per_row: int) -> Iterator[Tensor]:
    """Some rows after the other, so that deciding keeps within a budget of memory."""
    size = rows_within(bytes_per_row, outputs.device)
    return iter(outputs.detach().split(size))


def _format_of(hierarchy: Any) -> LabelFormat:
    """Paths of labels as they are."""
    strings = all(isinstance(label, str) for label in hierarchy.labels[1:].tolist())
    missing = "" if strings else None
    return LabelFormat(2, hierarchy.depth, np.dtype(object), missing)
