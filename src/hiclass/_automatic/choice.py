"""The choice of a model for one path per row: effort, candidates and explanations.

Each function takes the estimator that is being fitted, and explains its decisions in ``choices_``.
:mod:`~hiclass._automatic.set_choice` does the same for sets of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state

from hiclass._automatic.kernels import tune_kernel
from hiclass._automatic.objectives import Objective
from hiclass._automatic.proposals import (
    EFFORTS,
    FEWEST_ROWS,
    USUAL_F,
    Effort,
    Proposal,
    Proposals,
    Settings,
    propose,
    propose_given,
    size_of,
)
from hiclass._automatic.selection import Candidate, Rows, select
from hiclass._estimators.fitting import ESTIMATED
from hiclass._out_of_fold.folds import N_FOLDS, check_groups, deal_paths
from hiclass._rows import one_in

#: With fewer rows, all folds are held out.
_FEW_ROWS = 3_000
#: The number of rows from which a quick model learns its temperature.
_MOST_FOR_TEMPERATURE = 3_000


def effort_of(owner: Any, n_rows: int, groups: Any) -> Effort:
    """The effort; with too few rows, nothing is measured."""
    effort = EFFORTS[owner.effort]
    owner.choices_["effort"] = owner.effort
    if effort.n_folds and n_rows < FEWEST_ROWS:
        owner.choices_["effort"] = f"quick: {n_rows} rows are too few to measure anything on"
        return EFFORTS["quick"]
    if effort.n_folds:
        check_groups(groups, {"the choice of models": "use effort='quick', which compares nothing"})
    if effort.n_folds and (groups is not None or n_rows < _FEW_ROWS):
        # One fold of a few rows, or of a few groups, is not conclusive.
        return replace(effort, n_folds=N_FOLDS)
    return effort


def settings_of(owner: Any, effort: Effort) -> Settings:
    """The settings of all models; a seed is drawn if ``random_state`` is None."""
    seed = owner.random_state
    if not isinstance(seed, int | np.integer):
        seed = int(check_random_state(seed).randint(2**31 - 1))
    common = {"n_jobs": owner.n_jobs, "random_state": int(seed), "verbose": owner.verbose}
    return Settings(effort, common, int(seed))


def choose(owner: Any, rows: Rows, effort: Effort, objective: Objective) -> Candidate:
    """The candidate to fit on all rows."""
    proposals = _propose(owner, rows, effort)
    chosen = proposals.chosen
    owner.scores_ = {}
    if rows.can_be_held_out(effort.n_folds):
        candidate, owner.scores_ = select(chosen, rows, effort.n_folds, objective)
        owner.choices_["why"] = _reason(candidate, owner.scores_, objective.measure)
    else:
        candidate = _by_rule(chosen[0], rows, objective)
        owner.choices_["why"] = "a fixed rule: nothing was compared"
    describe_parts(owner, candidate.parts, candidate.weights)
    owner.choices_["decoding"] = candidate.decoding
    for name, why in proposals.left_out.items():
        owner.choices_[f"no {name}"] = why
    return candidate


def describe_parts(owner: Any, parts: Sequence[Proposal], weights: Sequence[float]) -> None:
    """Describe the chosen models and their weights."""
    owner.choices_["model"] = "; ".join(f"{part.name}: {part.says}" for part in parts)
    if len(parts) > 1:
        pairs = zip(parts, weights, strict=True)
        owner.choices_["weights"] = ", ".join(f"{part.name} {share:.2f}" for part, share in pairs)


def _propose(owner: Any, rows: Rows, effort: Effort) -> Proposals:
    """The candidates for these rows."""
    size = size_of(rows.X, rows.nodes, rows.hierarchy)
    settings = settings_of(owner, effort)
    if owner.local_classifier is not None:
        owner.choices_["classifier"] = "given"
        return propose_given(owner.local_classifier, size, settings)
    if sp.issparse(rows.X):
        owner.choices_["classifier"] = "linear: the features are sparse"
    else:
        owner.choices_["classifier"] = "kernels and trees: the features are dense"
        if effort.n_folds:
            kernel = tune_kernel(rows.X, rows.nodes, rows.fold, rows.weights, settings.seed)
            settings = replace(settings, kernel=kernel)
    return propose(rows.X, size, settings)


def _by_rule(proposal: Proposal, rows: Rows, objective: Objective) -> Candidate:
    """The first proposal, with a temperature from some of the rows.

    The temperature of kernel machines is learned from a held-out part of the rows. That of linear
    machines on words is learned from all rows, without another fit.
    """
    usual = getattr(proposal.model, "temperature", None)
    too_few = len(rows.nodes) < FEWEST_ROWS or rows.n_groups < N_FOLDS
    f: float | None = USUAL_F
    if usual is not None and not too_few and sp.issparse(rows.X) and rows.groups is None:
        model = clone(proposal.model).set_params(temperature=ESTIMATED)
        proposal, f = replace(proposal, model=model), None
    elif usual is not None and not too_few and not sp.issparse(rows.X):
        step = -(-len(rows.nodes) // _MOST_FOR_TEMPERATURE)
        by_class = np.argsort(rows.nodes, kind="stable")  # so that every class has its share
        some = rows.some(np.sort(one_in(by_class, step)))
        some = replace(some, fold=deal_paths(some.nodes, some.hierarchy, some.groups))
        if some.can_be_held_out(1):
            return select([proposal], some, 1, objective)[0]
    can_score = proposal.model._promises_proba()
    decoding = objective.decodings[0] if can_score else "top_down"
    return Candidate((proposal,), (1.0,), decoding, f)


def _reason(candidate: Candidate, scores: dict[str, float], measure: str) -> str:
    """Why a candidate was chosen."""
    reached = f"{measure} {candidate.score:.3f} out of fold"
    if len(scores) == 1:
        return f"the only candidate; {reached}"
    others = ", ".join(f"{n} {s:.3f}" for n, s in scores.items() if n != candidate.name)
    chance = "; the difference may be chance" if max(scores.values()) > candidate.score else ""
    return f"{reached} ({others}{chance})"
