"""The weights of the models of an ensemble, learned from rows that the models have not seen.

The weights minimise the log loss of the true final classes, over the folds that are also used for a
temperature and the F-score (see ``temperatures``).

- A *product* is P(final class) proportional to prod p_i ** w_i. Its loss is convex: it is that of a
  multinomial logistic regression with log p_i as features and one coefficient per model. Weights
  are not negative. Their sum is free and acts as an inverse temperature.
- A *mean* is a mixture. Its weights sum to one and are found by expectation maximisation.

In a product, a probability of exactly zero excludes a final class however small the weight, unless
the weight is zero and the model has no influence at all. The loss is discontinuous there, so
weights are searched with and without each model that excludes true classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from hiclass._inference.paths import final_proba, width_of
from hiclass._rows import chunks_of_rows, one_in, slice_rows, take_rows
from hiclass._state import EnsembleModels
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The largest number of logarithms that are kept; beyond it, rows are sampled.
_MOST_NUMBERS = 20_000_000
#: The probability that the loss assumes for a true class that was excluded.
_RULED_OUT = 1e-6
#: If models are always correct, only this regularisation bounds the exponents.
_LARGEST_EXPONENT = 1000.0
_SMALLEST_EXPONENT = 1e-6
#: Smaller exponents are set to zero.
_NEGLIGIBLE = 1e-4
_MOST_STEPS = 1000
#: The tolerance of the mean log loss of a mixture.
_MIXTURE_GAP = 1e-7


@dataclass(frozen=True)
class LogProba:
    """Probabilities that the models of a product give to rows that they have not seen.

    Attributes
    ----------
    logs : ndarray of shape (n_models, n_rows, n_final)
        Logarithms of probabilities, 0 where ``never`` is true.
    never : ndarray of bool of the same shape, or None
        Where a probability is exactly zero; None if there is no such probability.
    right : ndarray of int of shape (n_rows,)
        The column of the true final class.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    """

    logs: FloatArray
    never: AnyArray | None
    right: IntArray
    weights: FloatArray

    def rules_out_truth(self, model: int) -> bool:
        """Whether a model gives a true class probability zero."""
        if self.never is None:
            return False
        return bool(self.never[model, np.arange(len(self.right)), self.right].any())

    def rules_out(self, model: int) -> bool:
        """Whether a model gives any class probability zero."""
        return self.never is not None and bool(self.never[model].any())


def learn_weights(
    joint: EnsembleModels,
    held_out: list[tuple[EnsembleModels, IntArray]],
    X: Any,
    nodes: IntArray,
    weights: AnyArray,
) -> tuple[float, ...]:
    """Learn the weights of an ensemble from out-of-fold probabilities.

    Parameters
    ----------
    joint : EnsembleModels
        The ensemble, with the weights that are returned if there is nothing to learn from.
    held_out : list of (LocalModels, ndarray of int)
        Ensembles of the same models that were fitted on other rows, and the rows to score.
    X : rows
        All training rows.
    nodes : ndarray of int
        Their most specific nodes.
    weights : ndarray
        Their sample weights.

    Returns
    -------
    tuple of float
        One weight per model.
    """
    by_chunk = _query(joint, held_out, X, nodes, weights)
    if joint.voting == "product":
        parts = [take_logs(*part) for part in by_chunk]
        found = best_exponents(parts) if parts else None
    else:
        true = [(p[:, np.arange(len(right)), right].T, w) for p, right, w in by_chunk]
        found = best_shares(*map(np.concatenate, zip(*true, strict=True))) if true else None
    # Either nothing was learned, or no model is useful.
    return joint.weights if found is None or not found.any() else tuple(found.tolist())


def _query(
    joint: EnsembleModels,
    held_out: list[tuple[EnsembleModels, IntArray]],
    X: Any,
    nodes: IntArray,
    weights: AnyArray,
) -> Iterator[tuple[FloatArray, IntArray, AnyArray]]:
    """Query all models about rows that they have not seen, by chunks of rows.

    Yields probabilities (n_models, n_rows, n_final), the correct columns and the weights of rows.
    """
    n_models = len(joint.members)
    for models, rows in held_out:
        ends = models.options.ends
        if joint.voting == "product":  # which needs all values at once
            rows = one_in(rows, -(-n_models * len(nodes) * len(ends) // _MOST_NUMBERS))
        # A row of a final class that the fold does not have carries no information about the
        # models.
        rows = rows[np.isin(nodes[rows], ends) & (weights[rows] > 0)]
        if not len(rows):
            continue
        X_held = take_rows(X, rows)
        for part in chunks_of_rows(X_held, width_of(models) * n_models):
            chunk, here = slice_rows(X_held, part), rows[part]
            proba = np.stack([final_proba(member, chunk) for member in models.members])
            yield proba, np.searchsorted(ends, nodes[here]), weights[here]


# -- products ----------------------------------------------------------------------------------


def take_logs(proba: FloatArray, right: IntArray, weights: FloatArray) -> LogProba:
    """Take the logarithms of probabilities, and mark those that are zero."""
    never = proba == 0
    if not never.any():
        return LogProba(np.log(proba), None, right, weights)
    return LogProba(np.log(np.where(never, 1.0, proba)), never, right, weights)


def best_exponents(parts: list[LogProba]) -> FloatArray:
    """The weights of a product with the smallest log loss; all zero if no model is useful."""
    chosen = list(range(len(parts[0].logs)))
    harmful = [i for i in chosen if any(part.rules_out_truth(i) for part in parts)]
    loss, weights = _smallest_loss(parts, chosen)
    while len(chosen) > 1:
        fewer = [[i for i in chosen if i != j] for j in chosen if j in harmful]
        # If two models exclude the same classes, removing one of them has no advantage.
        if harmless := [i for i in chosen if i not in harmful]:
            fewer.append(harmless)
        tried = [(*_smallest_loss(parts, models), models) for models in fewer]
        better = min(tried, key=lambda found: found[0], default=(np.inf, weights, chosen))
        if better[0] >= loss:
            break
        loss, weights, chosen = better
    return weights


def _smallest_loss(parts: list[LogProba], chosen: list[int]) -> tuple[float, FloatArray]:
    """The smallest mean log loss of a product of some of the models, and the weights of all."""
    n_models = len(parts[0].logs)
    losses = [_Loss.of(part, chosen) for part in parts]
    total = sum(float(part.weights.sum()) for part in parts)

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        found = [part(weights) for part in losses]
        return sum(v for v, _ in found) / total, np.sum([g for _, g in found], axis=0) / total

    start = np.zeros(n_models)
    start[chosen] = 1 / len(chosen)
    bounds = [(0.0, 0.0)] * n_models
    for i in chosen:
        # A model whose zeros count must have a positive weight.
        has_zeros = any(part.rules_out(i) for part in parts)
        bounds[i] = (_SMALLEST_EXPONENT if has_zeros else 0.0, _LARGEST_EXPONENT)
    options = {"ftol": 1e-13, "gtol": 1e-8}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    # A minimum at the bound is only approached; whether it was reached must not depend on rounding.
    weights = np.where(found.x < _NEGLIGIBLE, [low for low, _ in bounds], found.x)
    # Without any weight, there is no ensemble.
    return loss(weights)[0] if weights.any() else np.inf, weights


@dataclass(frozen=True)
class _Loss:
    """The loss of the probabilities of some rows, and its gradient, for weights of the models."""

    logs: FloatArray
    excluded: AnyArray | None
    right: IntArray
    weights: FloatArray
    constant: float

    @classmethod
    def of(cls, part: LogProba, chosen: list[int]) -> _Loss:
        logs, right, weights = part.logs, part.right, part.weights
        if part.never is None:
            return cls(logs, None, right, weights, 0.0)
        excluded = np.asarray(part.never[chosen].any(axis=0))
        lost = excluded[np.arange(len(right)), right]
        # If nothing is left, all classes are equally probable.
        chance = np.where(excluded.all(axis=1), 1 / logs.shape[2], _RULED_OUT)
        constant = -float(weights[lost] @ np.log(chance[lost]))
        excluded[lost] = False
        return cls(logs, excluded, right, np.where(lost, 0.0, weights), constant)

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        n_models, n_rows, n_final = self.logs.shape
        flat = self.logs.reshape(n_models, -1)
        scores = (weights @ flat).reshape(n_rows, n_final)
        everyone = np.arange(n_rows)
        true = scores[everyone, self.right]
        if self.excluded is not None:
            scores[self.excluded] = -np.inf
        largest = scores.max(axis=1)
        proba = np.exp(scores - largest[:, None])
        sums = proba.sum(axis=1)
        value = float(self.weights @ (np.log(sums) + largest - true))
        # The gradient: the expected logarithms minus those of the true classes.
        proba *= (self.weights / sums)[:, None]
        proba[everyone, self.right] -= self.weights
        return value + self.constant, flat @ proba.ravel()


# -- means -------------------------------------------------------------------------------------


def best_shares(likelihoods: FloatArray, weights: AnyArray) -> FloatArray:
    """The weights of a mean with the smallest log loss; all zero if there are no rows.

    Parameters
    ----------
    likelihoods : ndarray of shape (n_rows, n_models)
        Probabilities of the true final classes.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_models,)
        Weights that sum to one.
    """
    # A row that all models exclude is lost with any weights.
    largest = likelihoods.max(axis=1)
    known = largest > 0
    likelihoods = likelihoods[known] / largest[known, None]
    weights = weights[known] / weights[known].sum()
    shares = np.full(likelihoods.shape[1], 1 / likelihoods.shape[1])
    if not known.any():
        return np.zeros_like(shares)
    for _ in range(_MOST_STEPS):
        gain = (weights / (likelihoods @ shares)) @ likelihoods
        shares *= gain
        # No other weights have a loss that is smaller by more than this.
        if gain.max() - 1 < _MIXTURE_GAP:
            break
    return np.asarray(shares / shares.sum())
