"""Which models of sets to use, and their weights, by scores on held-out rows.

All models are scored on the same rows. Their probabilities are averaged with the weights that are
best for the objective. The mixture is coherent if its parts are. The thresholds of classes are
learned from the same mixture.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from hiclass._automatic.proposals import FEWEST_ROWS, Proposal
from hiclass._automatic.set_proposals import (
    LEAVES,
    SetSettings,
    kernel_fits,
    kernel_is_exact,
    propose_forest,
    propose_linear,
    propose_network,
    propose_ridge,
    tune_ridge,
)
from hiclass._engine.callbacks import handing_callbacks_on
from hiclass._estimators.ensemble import EnsembleClassifier
from hiclass._inference.selections import Learned
from hiclass._out_of_fold.folds import N_FOLDS, deal_sets
from hiclass._out_of_fold.rankings import (
    Ranking,
    fewer_rows,
    learn_set_weights,
    member_proba,
    mix,
)
from hiclass._out_of_fold.thresholds import as_scored, tune_thresholds
from hiclass._state import SetEnsembleModels
from hiclass._targets.sets import SetTarget
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass._warnings import warn_user

#: A model with a smaller share in the mixture is dropped.
_LEAST_SHARE = 0.03
#: The smallest number of held-out rows for which one fold is sufficient.
_ENOUGH_HELD_OUT = 200
#: The number of trees that is sufficient to compare features.
_TREES_TO_COMPARE = 50


@dataclass(frozen=True)
class SetRows:
    """The rows for which models are chosen.

    Attributes
    ----------
    X : ndarray or CSR matrix
        Features.
    target : SetTarget
        Their sets.
    fold : ndarray of int
        Their folds.
    weights : ndarray or None
        Their sample weights.
    groups : ndarray of int or None
        Their groups.
    """

    X: Any
    target: SetTarget
    fold: IntArray
    weights: AnyArray | None
    groups: IntArray | None = None

    def params(self, rows: IntArray | None = None) -> dict[str, Any]:
        """The arguments of ``fit`` besides rows and labels."""
        if self.weights is None:
            return {}
        return {"sample_weight": self.weights if rows is None else self.weights[rows]}


@dataclass
class SetChoice:
    """The chosen models.

    Attributes
    ----------
    parts : list of Proposal
        The models.
    weights : tuple of float
        Their shares.
    scores : dict of float
        The scores of every model and of the mixture on held-out rows.
    learned : Learned or None
        Thresholds; None where nothing was held out.
    left_out : dict of str
        Models that were not tried, and why.
    """

    parts: list[Proposal]
    weights: tuple[float, ...]
    scores: dict[str, float] = field(default_factory=dict)
    learned: Learned | None = None
    left_out: dict[str, str] = field(default_factory=dict)


def choose_by_rule(
    rows: SetRows, settings: SetSettings, measure: str, *, learn: bool = False
) -> SetChoice:
    """The forest with default parameters and the regression with tuned ones, with equal shares.

    For sparse rows, the regression alone or, if it is not exact, a linear model. Folds are fitted
    only to ``learn`` thresholds.
    """
    is_sparse, parts = sp.issparse(rows.X), []
    if not is_sparse:
        parts.append(propose_forest(settings, settings.effort.n_trees, LEAVES[-1]))
    has_ridge = (kernel_is_exact if is_sparse else kernel_fits)(rows.target.n_rows)
    params = _tune_without_folds(rows, settings, measure) if has_ridge else {}
    if is_sparse and not params:
        parts.append(propose_linear(settings))
    elif has_ridge:
        parts.append(propose_ridge(settings, params))
    choice = SetChoice(parts, (1 / len(parts),) * len(parts))
    if learn:
        choice.learned = _learn_thresholds(choice, rows, settings, measure)
    return choice


def _learn_thresholds(
    choice: SetChoice, rows: SetRows, settings: SetSettings, measure: str
) -> Learned:
    """Thresholds of a mixture that was not scored, from all folds."""
    scored, target = None, rows.target
    if target.n_rows >= N_FOLDS:
        rows = replace(rows, fold=deal_sets(target, rows.groups))
        folds = _make_folds(rows, N_FOLDS)
        held_out = np.concatenate([some for _, some in folds])
        ranking = Ranking(target.closed[held_out], None, measure)
        trial = _Trial(rows, settings, folds, ranking, measure)
        found = [trial._predict(part) for part in choice.parts]
        scored = as_scored(mix(found, choice.weights, "mean"), held_out)
    return tune_thresholds(scored, target, rows.weights)


def _tune_without_folds(rows: SetRows, settings: SetSettings, measure: str) -> dict[str, Any]:
    """Parameters of the regression by leaving out rows or groups of rows."""
    target, groups, fold = rows.target, rows.groups, None
    if target.n_rows < FEWEST_ROWS or (groups is not None and groups.max() + 1 < N_FOLDS):
        return {}
    if groups is not None:
        held_out = deal_sets(target, groups) == 0
        fold = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    return tune_ridge(rows.X, target, measure, settings.seed, fold, rows.weights)


def choose_sets(
    rows: SetRows,
    settings: SetSettings,
    n_folds: int,
    measure: str,
    without: dict[str, str] | None = None,
) -> SetChoice:
    """Score models on held-out rows, and choose their weights.

    Parameters
    ----------
    rows : SetRows
        The training rows.
    settings : SetSettings
        The settings of all models.
    n_folds : int
        The number of folds that are held out.
    measure : {"average_precision", "f1"}
        The objective.
    without : dict of str, default=None
        Models that are not tried, and why: "network", or nothing.

    Returns
    -------
    SetChoice
    """
    folds = _make_folds(rows, n_folds)
    held_out = np.concatenate([some for _, some in folds])
    weights = None if rows.weights is None else rows.weights[held_out]
    ranking = Ranking(rows.target.closed[held_out], weights, measure)
    trial = _Trial(rows, settings, folds, ranking, measure)
    tried = [trial.linear() if sp.issparse(rows.X) else trial.forest()]
    choice = SetChoice([], (), left_out=dict(without or {}))
    if kernel_fits(rows.target.n_rows):
        tried.append(trial.ridge())
    else:
        choice.left_out["ridge"] = "too many rows for a kernel machine"
    if sp.issparse(rows.X):
        choice.left_out |= dict.fromkeys(("forest", "network"), "the features are sparse")
    network = choice.left_out.get("network") or trial.networks()
    if isinstance(network, str):
        choice.left_out["network"] = network
    else:
        tried += network
    choice.scores = {p.name: ranking.score(ranking.pairs(proba)) for p, proba in tried}
    shares, score = learn_set_weights([ranking.pairs(proba) for _, proba in tried], ranking)
    kept = [k for k, share in enumerate(shares) if share >= _LEAST_SHARE]
    total = sum(shares[k] for k in kept)
    choice.parts = [tried[k][0] for k in kept]
    choice.weights = tuple(shares[k] / total for k in kept)
    if len(kept) > 1:
        choice.scores[" and ".join(part.name for part in choice.parts)] = score
    mixed = mix([tried[k][1] for k in kept], choice.weights, "mean")
    choice.learned = tune_thresholds(as_scored(mixed, held_out), rows.target, rows.weights)
    return choice


def are_better(rows: SetRows, other: Any, settings: SetSettings, measure: str) -> bool:
    """Whether a forest ranks better with other features of the rows, on one fold."""
    scores = []
    for X in (rows.X, other):
        fitted, held_out = _make_folds(replace(rows, X=X), 1)[0]
        weights = None if rows.weights is None else rows.weights[held_out]
        ranking = Ranking(rows.target.closed[held_out], weights, measure)
        trial = _Trial(replace(rows, X=X), settings, [(fitted, held_out)], ranking, measure)
        proposal = propose_forest(settings, _TREES_TO_COMPARE, LEAVES[-1])
        scores.append(ranking.score(ranking.pairs(trial._predict(proposal))))
    return scores[1] > scores[0]


def _make_folds(rows: SetRows, n_folds: int) -> list[tuple[IntArray, IntArray]]:
    """Rows to fit, and held-out rows: one fold, if it has enough rows."""
    if (rows.fold == 0).sum() < _ENOUGH_HELD_OUT:
        n_folds = int(rows.fold.max()) + 1
    n_numbers = rows.target.hierarchy.n_nodes * 4 * n_folds
    found = []
    for k in range(n_folds):
        fitted, held_out = np.flatnonzero(rows.fold != k), np.flatnonzero(rows.fold == k)
        if len(held_out) and len(fitted):
            found.append((fitted, fewer_rows(held_out, n_numbers)))
    return found


@dataclass(frozen=True)
class _Trial:
    """Fits models without the held-out rows, and predicts these."""

    rows: SetRows
    settings: SetSettings
    folds: list[tuple[IntArray, IntArray]]
    ranking: Ranking
    measure: str

    def _predict(self, proposal: Proposal) -> FloatArray:
        parts = [self._predict_fold(proposal.model, *fold) for fold in self.folds]
        return np.concatenate(parts)

    def _predict_fold(self, model: Any, fitted: IntArray, held_out: IntArray) -> FloatArray:
        rows = self.rows
        model = clone(model).set_params(hierarchy=rows.target.hierarchy)
        model.fit(rows.X[fitted], rows.target.closed[fitted], **rows.params(fitted))
        return member_proba(model._models, rows.X[held_out])

    def forest(self) -> tuple[Proposal, FloatArray]:
        """The forest with the better leaves, chosen with fewer trees."""
        n_trees = self.settings.effort.n_trees
        tried = [propose_forest(self.settings, min(n_trees, 100), leaf) for leaf in LEAVES]
        found = [self._predict(proposal) for proposal in tried]
        scores = [self.ranking.score(self.ranking.pairs(proba)) for proba in found]
        best = int(np.argmax(scores))
        # More trees only reduce its variance.
        return propose_forest(self.settings, 3 * n_trees, LEAVES[best]), found[best]

    def linear(self) -> tuple[Proposal, FloatArray]:
        """The logistic regressions."""
        proposal = propose_linear(self.settings)
        return proposal, self._predict(proposal)

    def ridge(self) -> tuple[Proposal, FloatArray]:
        """The regression with tuned parameters."""
        rows, seed = self.rows, self.settings.seed
        params = tune_ridge(rows.X, rows.target, self.measure, seed, self.folds[0], rows.weights)
        proposal = propose_ridge(self.settings, params)
        return proposal, self._predict(proposal)

    def networks(self) -> list[tuple[Proposal, FloatArray]] | str:
        """Networks with different seeds; the first one determines the number of epochs."""
        rows = self.rows
        shape = rows.target.n_rows, rows.X.shape[1], rows.target.hierarchy.n_nodes
        first = propose_network(self.settings, *shape)
        if isinstance(first, str):
            return first
        from hiclass.torch._epochs import find_epochs

        model = clone(first.model).set_params(hierarchy=rows.target.hierarchy)
        held_out = self.folds[0][1]
        truth = rows.target.closed[held_out]
        held = None if rows.weights is None else rows.weights[held_out]
        ranking = Ranking(truth, held, self.measure)
        X = np.ascontiguousarray(rows.X, dtype=np.float32)

        def score(proba: FloatArray) -> float:
            return ranking.score(ranking.pairs(proba))

        try:
            found = find_epochs(model, X, rows.target, rows.weights, self.folds[0], score)
            model = clone(first.model).set_params(max_epochs=max(found.n_epochs, 1))
            parts: list[FloatArray] = [found.proba.astype(np.float32)]
            parts += [self._predict_fold(model, *fold) for fold in self.folds[1:]]
        except FloatingPointError as error:
            return not_finite(error)
        says = f"{first.says}, {found.n_epochs} epochs"
        seeds = range(max(self.settings.effort.n_networks, 1))
        base = self.settings.common["random_state"]
        team = [clone(model).set_params(random_state=(base + k) % 2**32) for k in seeds]
        if len(team) > 1:
            says = f"{len(team)} networks, each {says}"
            named = [(f"network_{k + 1}", member) for k, member in enumerate(team)]
            model = EnsembleClassifier(named, voting="mean")
        return [(Proposal("network", model, says), np.concatenate(parts))]


def not_finite(error: Exception) -> str:
    """Why there is no network: a warning, and the reason in a few words."""
    warn_user(
        f"The network was omitted, because it could not be trained on these rows. {error}",
        RuntimeWarning,
    )
    return "its loss was not finite"


def fit_choice(choice: SetChoice, rows: SetRows, owner: Any = None) -> Any:
    """Fit the chosen models on all rows; labels have the form that was given.

    The callbacks of the estimator are passed on. A network whose loss is not finite raises a
    ``FloatingPointError``.
    """
    target = rows.target
    models = []
    for part in choice.parts:
        model = clone(part.model)
        members = [m for _, m in model.models] if hasattr(model, "models") else [model]
        for member in members:
            member.set_params(hierarchy=target.hierarchy)
        with handing_callbacks_on(owner, model, part.name):
            models.append(model.fit(rows.X, target.closed, **rows.params()))
    if len(models) == 1:
        model = models[0]
        joint = model._models
    else:
        named = [(part.name, model) for part, model in zip(choice.parts, models, strict=True)]
        model = EnsembleClassifier(named, voting="mean", weights=list(choice.weights))
        parts = tuple(fitted._models for fitted in models)
        first = parts[0]
        joint = SetEnsembleModels(
            first.hierarchy, first.populated, first.ends, parts, choice.weights, "mean"
        )
        model.n_features_in_ = rows.X.shape[1]
        model._name_models(models, choice.weights)
    learned = {}
    if choice.learned is not None:
        model.set_params(threshold="tuned")
        learned = {
            "thresholds": choice.learned.thresholds,
            "threshold_curve": choice.learned.curve,
        }
    model._remember(joint, target.format, **learned)
    return model
