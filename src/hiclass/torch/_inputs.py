"""Scaling of features during training, so that one step size suits rows of every scale.

Inside the network dense features have a mean of zero and the same spread, and rows have a mean
squared length of one; before hidden layers, dense features have a spread of one. Sparse rows, which
must stay sparse, are divided by one number. In a fitted network, the scaling is part of the
weights: it takes unscaled rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from hiclass._typing import AnyArray, FloatArray
from hiclass.torch._batches import take_rows
from hiclass.torch._network import Shape, Weights, as_tensors

Tensor = Any

#: Features are measured on at most this many rows, evenly spaced, and of a stream on this many.
_MEASURED, ENOUGH_ROWS = 1 << 14, 1 << 10


@dataclass(frozen=True, eq=False)
class Inputs:
    """How features are scaled: ``(x - mean) * factor``.

    Attributes
    ----------
    mean : ndarray or None
        What is subtracted from every feature; None for nothing.
    factor : ndarray or None
        What features are multiplied by, a number each or one for all; None for nothing.
    """

    mean: FloatArray | None = None
    factor: FloatArray | None = None

    def fold(self, shape: Shape, weights: Weights) -> Weights:
        """Weights for unscaled features, from weights for scaled ones."""
        if self.factor is None:
            return weights
        first = weights["0.weight"].double() * self._column(weights)
        return self._shifted(shape, weights, first, first, -1.0)

    def unfold(self, shape: Shape, weights: Weights) -> Weights:
        """Undo :meth:`fold`."""
        if self.factor is None:
            return weights
        first = weights["0.weight"].double()
        return self._shifted(shape, weights, first / self._column(weights), first, 1.0)

    def _column(self, weights: Weights) -> Tensor:
        factor = np.atleast_1d(np.asarray(self.factor))
        return torch.from_numpy(factor).to(weights["0.weight"].device).unsqueeze(1)

    def _shifted(
        self, shape: Shape, weights: Weights, first: Tensor, folded: Tensor, sign: float
    ) -> Weights:
        """The weights with another first layer; the next bias takes the effect of the means."""
        found = {**weights, "0.weight": first.to(weights["0.weight"].dtype)}
        if self.mean is None:
            return found
        shift = sign * (torch.from_numpy(self.mean).to(first.device) @ folded)
        name = "0.bias"
        if shape.embedding:  # has no bias and no activation: the next layer takes it
            name, shift = "1.bias", weights["1.weight"].double() @ shift
        found[name] = (weights[name].double() + shift).to(weights[name].dtype)
        return found

    def state(self) -> dict[str, Any]:
        """Plain arrays for a file."""
        return {"mean": self.mean, "factor": self.factor}

    def tensors(self) -> dict[str, Tensor]:
        """The same as tensors, for a checkpoint."""
        return {n: None if p is None else torch.tensor(p) for n, p in self.state().items()}

    @staticmethod
    def of_tensors(state: dict[str, Tensor]) -> Inputs:
        """Undo :meth:`tensors`."""
        return Inputs(**{n: None if p is None else p.numpy() for n, p in state.items()})


@dataclass(frozen=True, eq=False)
class Moments:
    """What is known of rows: enough to scale them, and to add further rows.

    Attributes
    ----------
    n_rows : int
        How many rows were measured; those with a weight of zero do not count.
    weight : float
        The sum of their weights.
    mean : ndarray or None
        The mean of every feature; None for sparse rows.
    square : ndarray
        The variance of every feature; for sparse rows the mean squared length of a row.
    """

    n_rows: int
    weight: float
    mean: FloatArray | None
    square: FloatArray

    @staticmethod
    def of(X: Any, weights: AnyArray | None) -> Moments:
        """Measure rows."""
        total = float(X.shape[0] if weights is None else weights.sum())
        n_rows = X.shape[0] if weights is None else int(np.count_nonzero(weights))
        X, share = _some(X, weights)
        if sp.issparse(X):
            return Moments(n_rows, total, None, np.array(share @ _squared_lengths(X)))
        return Moments(n_rows, total, *_moments(X, share))

    def plus(self, other: Moments) -> Moments:
        """Those of both (Chan, Golub and LeVeque 1979)."""
        n_rows, weight = self.n_rows + other.n_rows, self.weight + other.weight
        share = other.weight / weight if weight else 0.0
        square = (1 - share) * self.square + share * other.square
        if self.mean is None or other.mean is None:
            return Moments(n_rows, weight, None, square)
        step = other.mean - self.mean
        square = square + share * (1 - share) * step**2
        return Moments(n_rows, weight, self.mean + share * step, square)

    @property
    def varies(self) -> AnyArray:
        """Whether every feature varies; for sparse rows, whether there is anything but zeros."""
        least = 0.0 if self.mean is None else 1e-6 * np.abs(self.mean)
        return np.sqrt(self.square) > least

    def inputs(self, *, hidden: bool) -> Inputs:
        """How to scale such rows; ``hidden`` is whether there are hidden layers."""
        varies = self.varies
        if self.mean is None:
            return Inputs(factor=np.array(float(self.square) ** -0.5 if varies else 1.0))
        spread = np.sqrt(self.square)
        n_features = max(int(varies.sum()), 1)
        usual = float(np.sqrt(np.mean(self.square[varies]))) if varies.any() else 1.0
        # A feature that has not varied yet counts as one of the usual spread.
        spread = np.where(varies, spread, usual)
        return Inputs(self.mean, 1 / (spread * (1.0 if hidden else n_features**0.5)))


def measure_inputs(X: Any, weights: AnyArray | None, *, hidden: bool) -> Inputs:
    """Measure how to scale rows; rows with a weight of zero do not count.

    Parameters
    ----------
    X : ndarray or CSR matrix
        Rows.
    weights : ndarray or None
        Their weights.
    hidden : bool
        Whether there are hidden layers.
    """
    return Moments.of(X, weights).inputs(hidden=hidden)


def mean_squared_length(X: Any, weights: AnyArray | None) -> float:
    """The mean squared length of rows; those with a weight of zero do not count."""
    X, share = _some(X, weights)
    return float(share @ _squared_lengths(X))


def _some(X: Any, weights: AnyArray | None) -> tuple[Any, FloatArray]:
    """The rows that are measured, and the share of each of them."""
    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    if len(rows) > _MEASURED:
        rows = rows[np.linspace(0, len(rows) - 1, _MEASURED).astype(np.intp)]
    share = np.ones(len(rows)) if weights is None else weights[rows].astype(float)
    if len(rows) < X.shape[0]:
        X = take_rows(X, rows)
    return X, share / max(share.sum(), np.finfo(float).tiny)


def _squared_lengths(X: Any) -> FloatArray:
    if not sp.issparse(X):
        found: FloatArray = np.einsum("ij,ij->i", X, X, dtype=float)
        return found
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(row, X.data.astype(float) ** 2, minlength=X.shape[0]).astype(float)


def _moments(X: AnyArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of every feature, a few rows at a time."""
    n, d = X.shape
    step = max(1, (1 << 20) // max(d, 1))
    parts = [slice(i, i + step) for i in range(0, n, step)]
    # By PyTorch, whose threads share the work.
    rows, weight = as_tensors(X)[0], torch.from_numpy(share)
    mean = torch.zeros(d, dtype=torch.float64)
    square = torch.zeros_like(mean)
    for part in parts:
        mean += weight[part] @ rows[part].double()
    for part in parts:
        square += weight[part] @ (rows[part].double() - mean).square_()
    return mean.numpy(), square.numpy()
