"""The choice of a model for sets of classes: candidates, fits and explanations."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._automatic.choice import describe_parts, settings_of
from hiclass._automatic.objectives import set_measure
from hiclass._automatic.preparation import describe_features
from hiclass._automatic.proposals import EFFORTS, Effort, propose_sets
from hiclass._automatic.set_proposals import SetSettings
from hiclass._automatic.set_selection import (
    SetRows,
    are_better,
    choose_by_rule,
    choose_sets,
    fit_choice,
    not_finite,
)
from hiclass._engine.callbacks import handing_callbacks_on
from hiclass._estimators.sets import rule_of
from hiclass._inference.selections import read_threshold
from hiclass._out_of_fold.folds import check_groups, deal_sets
from hiclass._out_of_fold.temperatures import mean_one
from hiclass._targets.sets import SetTarget
from hiclass.model_selection import read_groups


def fit_sets(
    owner: Any,
    X: Any,
    features: Any,
    y: Any,
    target: SetTarget,
    effort: Effort,
    fit_params: dict[str, Any],
    groups: Any,
) -> None:
    """Choose and fit a model that predicts sets of classes."""
    measure = set_measure(owner.optimize)
    unit = None if groups is None else read_groups(groups, target.n_rows)
    if read_threshold(owner._threshold).is_learned:
        check_groups(unit, {f"threshold={owner._threshold!r}": "set threshold to a number"})
    if owner.local_classifier is not None:
        _fit_sets_given(owner, features, y, effort, fit_params, groups)
        return
    dense = owner.features_._as_dense(target.n_rows) if sp.issparse(features) else None
    if dense is not None:  # a matrix with few columns
        owner.features_, features = dense, dense.transform(X)
        describe_features(owner, features)
    common = settings_of(owner, effort).common
    fold = deal_sets(target, unit) if effort.n_folds else np.zeros(target.n_rows, dtype=int)
    weights = fit_params.get("sample_weight")
    if weights is not None:  # the candidate strengths assume weights of about one
        weights = mean_one(weights)
    rows = SetRows(features, target, fold, weights, unit)
    settings = SetSettings(effort, common)
    rows = _try_flags(owner, X, rows, settings, measure)
    if effort.n_folds:
        choose = partial(choose_sets, rows, settings, EFFORTS[owner.effort].n_folds, measure)
        choice = choose()
        try:
            model = fit_choice(choice, rows, owner)
        except FloatingPointError as error:  # on all rows, though not on those of the folds
            choice = choose({"network": not_finite(error)})
            model = fit_choice(choice, rows, owner)
        owner.choices_["why"] = _reason_of_sets(choice.scores, measure)
    else:
        learn = read_threshold(owner._threshold).is_learned
        choice = choose_by_rule(rows, settings, measure, learn=learn)
        model = fit_choice(choice, rows, owner).set_params(threshold=_usual_threshold(effort))
        owner.choices_["why"] = "a fixed rule: no models were compared"
    describe_parts(owner, choice.parts, choice.weights)
    _adopt(owner, model)
    for name, why in choice.left_out.items():
        owner.choices_[f"no {name}"] = why
    owner.scores_ = choice.scores


def _try_flags(owner: Any, X: Any, rows: SetRows, settings: SetSettings, measure: str) -> SetRows:
    """The rows with indicators of missing numbers, if these improve the model."""
    if sp.issparse(rows.X):
        return rows
    without = owner.features_._without_flags()
    other = without.transform(X)
    if other.shape[1] == rows.X.shape[1]:
        return rows
    plain = replace(rows, X=other)
    if settings.effort.n_folds and are_better(plain, rows.X, settings, measure):
        return rows
    owner.features_ = without
    describe_features(owner, other)
    return plain


def _fit_sets_given(
    owner: Any, features: Any, y: Any, effort: Effort, fit_params: dict[str, Any], groups: Any
) -> None:
    """Fit the given classifier per node."""
    usual = _usual_threshold(effort)
    learn = effort.n_folds or read_threshold(owner._threshold).is_learned
    common = settings_of(owner, effort).common | {
        "hierarchy": owner.hierarchy,
        "multi_label": owner.multi_label,
        "threshold": "tuned" if learn else usual,
    }
    proposal = propose_sets(owner.local_classifier, common)
    model = proposal.model
    with handing_callbacks_on(owner, model, proposal.name):
        model.fit(features, y, **fit_params, groups=groups)
    owner.choices_ |= {
        "why": "a fixed rule: nothing was compared",
        "model": f"{proposal.name}: {proposal.says}",
    }
    owner.scores_ = {}
    _adopt(owner, model.set_params(threshold=usual))


def _adopt(owner: Any, model: Any) -> None:
    """Adopt the predictions of a fitted model, and check that a threshold can be reached."""
    owner._adopt(model, "best_path")
    owner.choices_["decoding"] = f"classes by threshold ({owner._threshold})"
    rule_of(owner)


def _usual_threshold(effort: Effort) -> Any:
    """The default selection of classes, which ``model_`` has, too."""
    return "tuned" if effort.n_folds else 0.5


def _reason_of_sets(scores: dict[str, float], measure: str) -> str:
    """Why models of sets were chosen."""
    *others, last = scores.items()
    rest = ", ".join(f"{name} {score:.3f}" for name, score in others)
    name = {"f1": "F1"}.get(measure, measure.replace("_", " "))
    reached = f"{name} {last[1]:.3f} out of fold"
    return f"{reached} ({rest})" if rest else reached
