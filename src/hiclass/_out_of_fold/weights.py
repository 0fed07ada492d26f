"""The weights of the models of an ensemble, learned from rows that the models have not seen.

The weights are those with the smallest log loss of the true endings, over the same folds from which
a temperature and the F-score are learned (see ``_calibration``).

- A *product* is P(ending) proportional to prod p_i ** w_i. Its loss is convex: it is that of a
  multinomial logistic regression with log p_i as features and one coefficient per model. Weights
  are not negative, and their sum is free: it acts as an inverse temperature.
- A *mean* is a mixture. Its weights sum to one and are found by expectation maximisation.

A probability of exactly zero rules an ending out in a product, however small the weight, unless the
weight is zero and the model has no say at all. So the loss jumps there, and the weights are looked
for with and without a model that rules out true endings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from hiclass._inference.paths import final_proba, width_of
from hiclass._rows import chunks_of_rows, slice_rows, take_rows
from hiclass._state import EnsembleModels
from hiclass._typing import AnyArray, FloatArray, IntArray

#: At most so many logarithms are kept; rows are thinned out beyond it.
_MOST_NUMBERS = 20_000_000
#: What the loss counts for a true ending that was ruled out, as a probability.
_RULED_OUT = 1e-6
#: Where models are always right, only this keeps the exponents from growing for ever.
_LARGEST_EXPONENT = 1000.0
_SMALLEST_SAY = 1e-6
#: A smaller exponent is none.
_NO_SAY = 1e-4
_MOST_STEPS = 1000
#: The mean log loss of a mixture may be this much larger than the smallest one.
_MIXTURE_GAP = 1e-7


@dataclass(frozen=True)
class Answers:
    """What the models of a product say about some rows that they have not seen.

    Attributes
    ----------
    logs : ndarray of shape (n_models, n_rows, n_final)
        Logarithms of probabilities, 0 where ``never`` is true.
    never : ndarray of bool of the same shape, or None
        Where a probability is exactly zero; None if it nowhere is.
    right : ndarray of int of shape (n_rows,)
        The column of the true ending.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    """

    logs: FloatArray
    never: AnyArray | None
    right: IntArray
    weights: FloatArray

    def rules_out_truth(self, model: int) -> bool:
        """Whether a model gives a true ending the probability zero."""
        if self.never is None:
            return False
        return bool(self.never[model, np.arange(len(self.right)), self.right].any())

    def rules_out(self, model: int) -> bool:
        """Whether a model gives any ending the probability zero."""
        return self.never is not None and bool(self.never[model].any())


def learn_weights(
    joint: EnsembleModels,
    held_out: list[tuple[EnsembleModels, IntArray]],
    X: Any,
    nodes: IntArray,
    weights: AnyArray,
) -> tuple[float, ...]:
    """Learn the weights of an ensemble from out-of-fold answers.

    Parameters
    ----------
    joint : EnsembleModels
        The ensemble, with the weights that are returned if there is nothing to learn from.
    held_out : list of (LocalModels, ndarray of int)
        Ensembles of the same models that were fitted on other rows, and the rows to ask about.
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
    asked = _ask(joint, held_out, X, nodes, weights)
    if joint.voting == "product":
        answers = [as_answers(*part) for part in asked]
        found = best_exponents(answers) if answers else None
    else:
        true = [(p[:, np.arange(len(right)), right].T, w) for p, right, w in asked]
        found = best_shares(*map(np.concatenate, zip(*true, strict=True))) if true else None
    # Nothing was learned, or that no model is of any use.
    return joint.weights if found is None or not found.any() else tuple(found.tolist())


def _ask(
    joint: EnsembleModels,
    held_out: list[tuple[EnsembleModels, IntArray]],
    X: Any,
    nodes: IntArray,
    weights: AnyArray,
) -> Iterator[tuple[FloatArray, IntArray, AnyArray]]:
    """Ask all models about rows that they have not seen, by chunks of rows.

    Yields probabilities (n_models, n_rows, n_final), the right columns and the weights of rows.
    """
    n_models = len(joint.members)
    for models, rows in held_out:
        ends = models.options.ends
        if joint.voting == "product":  # which needs all of the numbers at once
            rows = rows[:: max(1, -(-n_models * len(nodes) * len(ends) // _MOST_NUMBERS))]
        # A row whose ending the fold does not know says nothing about the models.
        rows = rows[np.isin(nodes[rows], ends) & (weights[rows] > 0)]
        if not len(rows):
            continue
        X_held = take_rows(X, rows)
        for part in chunks_of_rows(X_held, width_of(models) * n_models):
            chunk, here = slice_rows(X_held, part), rows[part]
            proba = np.stack([final_proba(member, chunk) for member in models.members])
            yield proba, np.searchsorted(ends, nodes[here]), weights[here]


# -- products ----------------------------------------------------------------------------------


def as_answers(proba: FloatArray, right: IntArray, weights: FloatArray) -> Answers:
    """Take the logarithms of probabilities, apart from those that are zero."""
    never = proba == 0
    if not never.any():
        return Answers(np.log(proba), None, right, weights)
    return Answers(np.log(np.where(never, 1.0, proba)), never, right, weights)


def best_exponents(answers: list[Answers]) -> FloatArray:
    """The weights of a product with the smallest log loss; all zero if no model is of any use."""
    chosen = list(range(len(answers[0].logs)))
    harmful = [i for i in chosen if any(part.rules_out_truth(i) for part in answers)]
    loss, weights = _smallest_loss(answers, chosen)
    while len(chosen) > 1:
        fewer = [[i for i in chosen if i != j] for j in chosen if j in harmful]
        tried = [(*_smallest_loss(answers, models), models) for models in fewer]
        better = min(tried, key=lambda found: found[0], default=(np.inf, weights, chosen))
        if better[0] >= loss:
            break
        loss, weights, chosen = better
    return weights


def _smallest_loss(answers: list[Answers], chosen: list[int]) -> tuple[float, FloatArray]:
    """The smallest mean log loss of a product of some of the models, and the weights of all."""
    n_models = len(answers[0].logs)
    parts = [_Loss.of(part, chosen) for part in answers]
    total = sum(float(part.weights.sum()) for part in answers)

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        found = [part(weights) for part in parts]
        return sum(v for v, _ in found) / total, np.sum([g for _, g in found], axis=0) / total

    start = np.zeros(n_models)
    start[chosen] = 1 / len(chosen)
    bounds = [(0.0, 0.0)] * n_models
    for i in chosen:
        # A model whose zeros count must have a say.
        has_zeros = any(part.rules_out(i) for part in answers)
        bounds[i] = (_SMALLEST_SAY if has_zeros else 0.0, _LARGEST_EXPONENT)
    options = {"ftol": 1e-13, "gtol": 1e-8}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    # A minimum at the bound is only neared; whether it was reached must not depend on rounding.
    weights = np.where(found.x < _NO_SAY, [low for low, _ in bounds], found.x)
    # Without any say of a model there is no ensemble.
    return loss(weights)[0] if weights.any() else np.inf, weights


@dataclass(frozen=True)
class _Loss:
    """The loss of the answers about some rows, and its gradient, for weights of the models."""

    logs: FloatArray
    excluded: AnyArray | None
    right: IntArray
    weights: FloatArray
    constant: float

    @classmethod
    def of(cls, answers: Answers, chosen: list[int]) -> _Loss:
        logs, right, weights = answers.logs, answers.right, answers.weights
        if answers.never is None:
            return cls(logs, None, right, weights, 0.0)
        excluded = np.asarray(answers.never[chosen].any(axis=0))
        lost = excluded[np.arange(len(right)), right]
        # Where nothing is left, all endings are equally probable.
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
        # The gradient: the expected logarithms less those of the true endings.
        proba *= (self.weights / sums)[:, None]
        proba[everyone, self.right] -= self.weights
        return value + self.constant, flat @ proba.ravel()


# -- means -------------------------------------------------------------------------------------


def best_shares(likelihoods: FloatArray, weights: AnyArray) -> FloatArray:
    """The weights of a mean with the smallest log loss; all zero if there is no row to learn from.

    Parameters
    ----------
    likelihoods : ndarray of shape (n_rows, n_models)
        Probabilities of the true endings.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_models,)
        Weights that sum to one.
    """
    # A row that all models have ruled out is lost with any weights.
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
        # No weights have a loss that is smaller by more than this.
        if gain.max() - 1 < _MIXTURE_GAP:
            break
    return np.asarray(shares / shares.sum())
