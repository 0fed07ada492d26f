"""A hierarchy as loss and as last layer of any network of PyTorch.

``HierarchicalLoss`` and ``HierarchicalHead`` are ordinary modules: they can be put on an encoder of
the user's own, be trained with any optimiser, and move between devices with it. What they compute
is what ``HierarchicalSoftmaxClassifier`` computes. Tables that follow from the hierarchy are made
once per device and are not part of a state dict.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from hiclass._targets.paths import as_hierarchy
from hiclass._typing import AnyArray, FloatArray
from hiclass.torch._known import Known
from hiclass.torch._tasks import Answers, Choice, check_choice, task_of

Tensor = Any


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
        check_choice("loss", loss, ("leaf", "conditional"))
        check_choice("reduction", reduction, tuple(_REDUCTIONS))
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
        self._task = task_of(self.hierarchy, layout)
        self._computed = _PerDevice(self._task.loss_on)

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
        return self._task.encode(y, multi_label=self.multi_label)

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
        self._decide_with(self.criterion._task.models(leaf_only=leaf_only), None)

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
        self._answers = _PerDevice(partial(self.criterion._task.answers_on, models, columns))

    def _answers_for(self, outputs: Tensor) -> Answers:
        return self._answers.on(outputs.device)

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
        choice = Choice(decoding, expected_f1, min_confidence)
        return self._answers_for(outputs).predict(outputs, choice, threshold)

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
        choice = Choice(decoding, expected_f1, min_confidence)
        return self._answers_for(outputs).confidence(outputs, choice)

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
        return self._answers_for(outputs).best_paths(outputs, k)

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
            return self._answers_for(outputs).node_proba(outputs)
