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

from hiclass._inference.decodings import check_n_paths
from hiclass._targets.paths import as_hierarchy
from hiclass._typing import AnyArray, FloatArray
from hiclass.torch._known import Known
from hiclass.torch._tasks import Answers, Choice, check_choice, task_of

Tensor = Any


class _PerDevice:
    """Objects that are created once per device, and excluded from copies and files."""

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
    """Loss of a network whose outputs are the classes of a hierarchy.

    Parameters
    ----------
    hierarchy : Hierarchy, DiGraph, dict or edges
        The classes.
    loss : {"leaf", "conditional"}, default="leaf"
        The loss function. "leaf": one softmax over all final classes. "conditional": a softmax
        among siblings at every inner node. For sets of classes, see
        :class:`HierarchicalSoftmaxClassifier`.
    leaf_only : bool, default=True
        Whether every path must end at a leaf. For a row that ends at an inner node, the class below
        is then treated as unknown. Otherwise, a path may stop at every class.
    multi_label : bool, default=False
        Whether a row may have several labels. A DAG is treated in the same way.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of the rows are combined.

    Attributes
    ----------
    n_outputs : int
        The number of outputs that the network needs.

    See Also
    --------
    HierarchicalHead : A last layer with this loss and methods for prediction.

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
        """Encode labels as the target of the loss.

        Parameters
        ----------
        y : array-like
            One path or label per row. With ``multi_label=True``, a list of labels per row, or an
            indicator matrix.

        Returns
        -------
        target : tensor
            The node of every row. For sets of classes, one column per output, with ones for the
            classes of a row and their ancestors.

        Raises
        ------
        ValueError
            If a class does not exist, or a path ends where it must not end.
        """
        return self._task.encode(y, multi_label=self.multi_label)

    def forward(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Compute the loss.

        Parameters
        ----------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs of the network.
        target : tensor
            The result of :meth:`encode`, or some rows of it, on any device.

        Returns
        -------
        loss : tensor
            The loss. With ``reduction="none"``, one value per row.

        Raises
        ------
        ValueError
            If the number of outputs per row is not ``n_outputs``.
        """
        self._check_shape(outputs)
        losses = self._computed.on(outputs.device)(outputs, target.to(outputs.device))
        return _REDUCTIONS[self.reduction](losses)

    def _check_shape(self, outputs: Tensor) -> None:
        if outputs.dim() == 2 and outputs.shape[1] == self.n_outputs:
            return
        raise ValueError(
            f"outputs has the shape {tuple(outputs.shape)}, but this hierarchy needs (n_rows, "
            f"{self.n_outputs}). Use a last layer with {self.n_outputs} outputs: n_outputs of "
            f"HierarchicalLoss."
        )

    def extra_repr(self) -> str:
        """Return a description for the representation of the module.

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
    """Last layer whose outputs are the classes of a hierarchy, for any encoder.

    Parameters
    ----------
    in_features : int
        The width of the output of the encoder.
    hierarchy : Hierarchy, DiGraph, dict or edges
        The classes.
    loss : {"leaf", "conditional"}, default="leaf"
        The loss function, as in :class:`HierarchicalLoss`.
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
    HierarchicalSoftmaxClassifier : A complete classifier for numeric rows.

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
        self.criterion._check_shape(outputs)
        _check_values(outputs.detach(), self.criterion._task.lacks_proba)
        return self._answers.on(outputs.device)

    @property
    def hierarchy(self) -> Any:
        """The classes."""
        return self.criterion.hierarchy

    def encode(self, y: Any) -> Tensor:
        """Encode labels for the loss; see :meth:`HierarchicalLoss.encode`.

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
            The output of the encoder.

        Returns
        -------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs, which the other methods take.
        """
        return self.linear(x)

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Compute the loss of outputs.

        Parameters
        ----------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs.
        target : tensor
            The result of :meth:`encode` for these rows.

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
        """Predict labels from outputs, on the device of the outputs.

        Parameters
        ----------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs.
        decoding : {"best_path", "top_down", "expected_f1"}, default="best_path"
            How a path is chosen.
        expected_f1 : float, default=None
            The hierarchical F-score that ``decoding="expected_f1"`` assumes.
        min_confidence : float, sequence of float or mapping, default=0.0
            Stops a path before its first node with a lower probability, as in
            :class:`HierarchicalSoftmaxClassifier`.
        threshold : float, default=0.5
            For sets of classes, the smallest probability of a predicted class. The other parameters
            are then ignored.

        Returns
        -------
        y : ndarray of shape (n_rows, depth), or (n_rows,)
            Paths, with ``""`` (or ``None``, if labels are not strings) after the end of a path. For
            sets of classes, a list of the most specific labels per row.
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
            The hierarchical F-score that ``decoding="expected_f1"`` assumes.
        min_confidence : float, sequence of float or mapping, default=0.0
            Stops a path before its first node with a lower probability, as in
            :class:`HierarchicalSoftmaxClassifier`.

        Returns
        -------
        confidence : ndarray of shape (n_rows, depth)
            The probabilities. They never increase along a path and are NaN after its end.
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
            The maximum number of paths.

        Returns
        -------
        paths : ndarray of shape (n_rows, k, depth)
            The paths, starting with the most probable.
        proba : ndarray of shape (n_rows, k)
            The probability that the path of the row ends exactly there.

        Raises
        ------
        ValueError
            If ``k`` is not a positive integer.
        """
        return self._answers_for(outputs).best_paths(outputs, check_n_paths(k))

    def predict_node_proba(self, outputs: Tensor) -> Tensor:
        """Return the probability of every node of the hierarchy.

        Parameters
        ----------
        outputs : tensor of shape (n_rows, n_outputs)
            The outputs.

        Returns
        -------
        proba : tensor of shape (n_rows, n_nodes)
            One column per node of ``hierarchy``, in double precision. The root has probability 1.
        """
        with torch.no_grad():
            return self._answers_for(outputs).node_proba(outputs)


def _check_values(outputs: Tensor, lacks_proba: Callable[[Tensor], Tensor]) -> None:
    """Refuse NaN, and paths if all classes are excluded: an output of -inf excludes a class."""
    largest = outputs.amax(dim=1)
    wrong = lacks_proba(largest)
    if bool(wrong.any()):
        row = int(wrong.int().argmax())
        raise ValueError(
            f"The largest of the outputs of row {row} is {float(largest[row])}, so that its "
            f"probabilities are NaN. Check the rows for extreme values, or train with a smaller "
            f"learning rate."
        )
