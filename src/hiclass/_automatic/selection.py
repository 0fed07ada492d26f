"""Which of the candidates to use, alone or combined, by scores on held-out rows.

All candidates are fitted on the same folds. On the held-out rows, each one learns its temperature,
all of them together learn their weights, and every candidate is scored by the objective.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from hiclass._automatic.kernels import by_chance
from hiclass._automatic.known import can_be_known, know, row_numbers
from hiclass._automatic.objectives import Objective
from hiclass._automatic.proposals import USUAL_F, Proposal
from hiclass._engine.callbacks import handing_callbacks_on
from hiclass._estimators.ensemble import EnsembleClassifier
from hiclass._inference.decodings import DECODINGS, Wish
from hiclass._out_of_fold.folds import fit_folds
from hiclass._out_of_fold.temperatures import learn_temperature, reached_f
from hiclass._out_of_fold.weights import learn_weights
from hiclass._rows import chunks_of_rows, slice_rows, take_rows
from hiclass._state import EnsembleModels
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

#: A model with a smaller share of the weights does not justify its fit.
_LEAST_SHARE = 0.03


@dataclass(frozen=True)
class Rows:
    """Training rows, in all forms that are needed here.

    Attributes
    ----------
    X : rows
        Features.
    y : array-like
        Labels as they were given.
    nodes : ndarray of int
        The most specific node of every row.
    hierarchy : Hierarchy
        The classes.
    fold : ndarray of int
        The fold of every row.
    fit_params : dict
        Arguments of ``fit`` with one entry per row: weights, groups.
    groups : ndarray of int, default=None
        The groups of rows that are held out together.
    """

    X: Any
    y: Any
    nodes: IntArray
    hierarchy: Hierarchy
    fold: IntArray
    fit_params: dict[str, Any]
    groups: IntArray | None = None

    def some(self, rows: IntArray) -> Rows:
        """Some of the rows."""
        params = {name: take_rows(v, rows) for name, v in self.fit_params.items()}
        X, y = take_rows(self.X, rows), take_rows(self.y, rows)
        groups = self.groups
        if groups is not None:
            groups = np.unique(groups[rows], return_inverse=True)[1]
        return Rows(X, y, self.nodes[rows], self.hierarchy, self.fold[rows], params, groups)

    def can_be_held_out(self, n_folds: int) -> bool:
        """Whether the first folds have a row: the only rows of inner classes are in none."""
        return bool(((self.fold >= 0) & (self.fold < n_folds)).any())

    @property
    def n_groups(self) -> int:
        """The number of parts that can be held out."""
        return len(self.nodes) if self.groups is None else int(self.groups.max()) + 1

    @property
    def weights(self) -> AnyArray:
        """The weights of the rows, or ones if none were given."""
        given = self.fit_params.get("sample_weight")
        return np.ones(len(self.nodes)) if given is None else np.asarray(given)


@dataclass(frozen=True)
class Candidate:
    """A model, or several with weights, and its score.

    Attributes
    ----------
    parts : tuple of Proposal
        Its parts, including temperatures.
    weights : tuple of float
        Their weights in a product.
    decoding : str
        The decoding.
    expected_f1 : float or None
        The hierarchical F-score that it reaches by deciding for it; NaN where nobody has asked,
        None where the fit on all rows will tell.
    score : float
        The score by the objective.
    expected_own : ndarray of shape (n_nodes,) or None
        The probability of ending at each node, summed over rows held out, where that is known.
    """

    parts: tuple[Proposal, ...]
    weights: tuple[float, ...]
    decoding: str
    expected_f1: float | None = USUAL_F
    score: float = np.nan
    expected_own: FloatArray | None = None

    @property
    def name(self) -> str:
        """The names of its parts."""
        return " and ".join(part.name for part in self.parts)


#: Models fitted on all rows but some, and these rows.
HeldOut = list[tuple[Any, IntArray]]


def select(
    proposals: list[Proposal], rows: Rows, n_folds: int, objective: Objective
) -> tuple[Candidate, dict[str, float]]:
    """Choose among the proposals and their product.

    Parameters
    ----------
    proposals : list of Proposal
        At least one.
    rows : Rows
        The training rows.
    n_folds : int
        The number of folds that are held out.
    objective : Objective
        The objective.

    Returns
    -------
    candidate : Candidate
        The product of those that have some weight in it, unless a single model is better by more
        than chance; of equals the first.
    scores : dict
        The score of every candidate by name.
    """
    held = [_hold_out(proposal, rows, n_folds) for proposal in proposals]
    calibrated = [_calibrate(*pair, rows) for pair in zip(proposals, held, strict=True)]
    if objective.scorer is None:  # which would use X
        calibrated, rows = _predict_once(calibrated, rows)
    tried: list[tuple[list[Proposal], HeldOut, tuple[float, ...]]]
    tried = [([proposal], fitted, (1.0,)) for proposal, fitted in calibrated]
    if len(calibrated) > 1 and (product := _combine(calibrated, rows)) is not None:
        tried.append(product)
    measured = [
        _measure(tuple(parts), weights, fitted, rows, objective) for parts, fitted, weights in tried
    ]
    # The scale of a scorer is unknown.
    n_rows = np.inf if objective.scorer is not None else sum(len(some) for _, some in held[0])
    best = _best(measured, n_rows)
    if best.expected_f1 is not None and np.isnan(best.expected_f1):
        (fitted,) = (fitted for (_, fitted, _), c in zip(tried, measured, strict=True) if c is best)
        best = replace(best, **_reached(fitted, rows))
    return best, {candidate.name: candidate.score for candidate in measured}


def _best(measured: list[Candidate], n_rows: float) -> Candidate:
    """The product, unless a single model is significantly better."""
    best, last = max(measured, key=lambda candidate: candidate.score), measured[-1]
    is_product = len(last.parts) > 1
    return last if is_product and best.score <= last.score + by_chance(n_rows) else best


def _hold_out(proposal: Proposal, rows: Rows, n_folds: int) -> HeldOut:
    """The estimator, fitted without each of the first folds."""

    def fit_fold(some: IntArray) -> Any:
        model, part = clone(proposal.model), rows.some(some)
        model.set_params(hierarchy=rows.hierarchy, **proposal.trial)
        return model.fit(part.X, part.y, **part.fit_params)

    # Rows of the other folds are in every training set.
    fold = np.where(rows.fold < n_folds, rows.fold, -1)
    return list(fit_folds(fit_fold, fold))


def _calibrate(proposal: Proposal, held: HeldOut, rows: Rows) -> tuple[Proposal, HeldOut]:
    """Learn the temperature of a model that has one."""
    if getattr(proposal.model, "temperature", None) is None:
        return proposal, held
    states = [(model._models, some) for model, some in held]
    temperature = learn_temperature(states, rows.X, rows.nodes, rows.weights)
    model = clone(proposal.model).set_params(temperature=temperature)
    known = [
        (with_state(fitted, replace(fitted._models, temperature=temperature)), some)
        for fitted, some in held
    ]
    return replace(proposal, model=model), known


def _predict_once(
    calibrated: list[tuple[Proposal, HeldOut]], rows: Rows
) -> tuple[list[tuple[Proposal, HeldOut]], Rows]:
    """Models with stored predictions for the held-out rows, if these fit into memory.

    Rows are then represented by their numbers.
    """
    all_held = [pair for _, held in calibrated for pair in held]
    if not all(can_be_known(model._models, len(some)) for model, some in all_held):
        return calibrated, rows
    known = [
        (
            proposal,
            [(with_state(model, know(model._models, rows.X, some)), some) for model, some in held],
        )
        for proposal, held in calibrated
    ]
    return known, replace(rows, X=row_numbers(len(rows.nodes)))


def with_state(model: Any, state: Any) -> Any:
    """A light copy of a fitted model with another state."""
    again = copy.copy(model)
    again._models = state
    return again


def _combine(
    calibrated: list[tuple[Proposal, HeldOut]], rows: Rows
) -> tuple[list[Proposal], HeldOut, tuple[float, ...]] | None:
    """The product of all models with a weight in it; None if there is only one."""
    weights = _learn_weights([held for _, held in calibrated], rows)
    least = _LEAST_SHARE * sum(weights)
    kept = [pair for pair, weight in zip(calibrated, weights, strict=True) if weight >= least]
    if len(kept) < 2:
        return None
    if len(kept) < len(calibrated):
        weights = _learn_weights([held for _, held in kept], rows)
    parts = [proposal for proposal, _ in kept]
    joined = [
        (_product(parts, [held[k][0] for _, held in kept], weights), some)
        for k, (_, some) in enumerate(kept[0][1])
    ]
    return parts, joined, weights


def _join(models: list[Any], weights: tuple[float, ...]) -> EnsembleModels:
    first = models[0]._models
    parts = tuple(model._models for model in models)
    return EnsembleModels(first.hierarchy, first.options, parts, weights, "product")


def _learn_weights(held: list[HeldOut], rows: Rows) -> tuple[float, ...]:
    equal = (1 / len(held),) * len(held)
    joined = [
        (_join([model for model, _ in fitted], equal), fitted[0][1])
        for fitted in zip(*held, strict=True)
    ]
    return learn_weights(joined[0][0], joined, rows.X, rows.nodes, rows.weights)


def _product(parts: list[Proposal], models: list[Any], weights: tuple[float, ...]) -> Any:
    """Fitted models as a fitted ensemble."""
    names = [part.name.replace(" ", "_") for part in parts]
    ensemble = EnsembleClassifier(list(zip(names, models, strict=True)))
    for name in ("n_features_in_", "feature_names_in_"):
        if name in vars(models[0]):
            setattr(ensemble, name, getattr(models[0], name))
    ensemble._name_models(models, weights)
    ensemble._remember(_join(models, weights), models[0]._format)
    return ensemble


# -- scores ------------------------------------------------------------------------------------


def _measure(
    parts: tuple[Proposal, ...],
    weights: tuple[float, ...],
    held: HeldOut,
    rows: Rows,
    objective: Objective,
) -> Candidate:
    """The score of a candidate with the best decoding."""
    first = held[0][0]
    reached: dict[str, Any] = {"expected_f1": np.nan}
    decodings = objective.decodings
    if not first._models.has_proba:
        decodings, reached = ("top_down",), {"expected_f1": USUAL_F}
    elif any(DECODINGS[name].needs_f for name in decodings):
        reached = _reached(held, rows)
    f = reached["expected_f1"]
    scores = {name: _score(held, rows, name, f, objective) for name in decodings}
    decoding = max(scores, key=scores.__getitem__)
    return Candidate(parts, weights, decoding, score=scores[decoding], **reached)


def _reached(held: HeldOut, rows: Rows) -> dict[str, Any]:
    """The expected F-score and the expected classes, as parts of a candidate."""
    states = [(model._models, some) for model, some in held]
    f, expected = reached_f(states, rows.X, rows.nodes, rows.weights)
    return {"expected_f1": f, "expected_own": expected}


def _score(held: HeldOut, rows: Rows, decoding: str, f: float, objective: Objective) -> float:
    if objective.scorer is not None:
        found = []
        for model, some in held:
            known = {} if np.isnan(f) else {"expected_f1": f}
            model = copy.copy(model).set_params(decoding=decoding, **known)
            part = rows.some(some)
            given = {k: v for k, v in part.fit_params.items() if k == "sample_weight"}
            found.append(float(objective.scorer(model, part.X, part.y, **given)))
        score = float(np.average(found, weights=[len(some) for _, some in held]))
        return -np.inf if np.isnan(score) else score
    if DECODINGS[decoding].needs_f:
        return f
    right = total = 0.0
    for model, some in held:
        nodes = _decide(model._models, take_rows(rows.X, some), decoding, f)
        weights = rows.weights[some]
        right += float(weights @ (nodes == rows.nodes[some]))
        total += float(weights.sum())
    return right / total if total else 0.0


def _decide(models: Any, X: Any, decoding: str, f: float) -> IntArray:
    """The nodes at which the predicted paths end."""
    rule, wish = DECODINGS[decoding], Wish(f=f, only_nodes=True)
    width = rule.width_for(models, wish)
    return np.concatenate(
        [rule.apply(models, slice_rows(X, part), wish).nodes for part in chunks_of_rows(X, width)]
    )


# -- the end -----------------------------------------------------------------------------------


def fit_candidate(candidate: Candidate, rows: Rows, owner: Any = None) -> Any:
    """Fit a candidate on all rows; the callbacks of the estimator are passed to it."""
    models = []
    for part in candidate.parts:
        model = clone(part.model).set_params(hierarchy=rows.hierarchy)
        with handing_callbacks_on(owner, model, part.name):
            models.append(model.fit(rows.X, rows.y, **rows.fit_params))
    model = (
        models[0]
        if len(models) == 1
        else _product(list(candidate.parts), models, candidate.weights)
    )
    if candidate.expected_own is not None:
        model._models = replace(model._models, expected_own=candidate.expected_own)
    f = model.expected_f1_ if candidate.expected_f1 is None else candidate.expected_f1
    return model.set_params(decoding=candidate.decoding, expected_f1=f)
