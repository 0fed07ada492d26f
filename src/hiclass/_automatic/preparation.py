"""From X to the features of the models, and their description.

Each function takes the estimator that is being fitted, sets its ``features_`` and ``scaler_``, and
describes them in its ``choices_``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._automatic.choice import settings_of
from hiclass._automatic.codes import are_useful, find_codes
from hiclass._automatic.features import TableFeatures
from hiclass._automatic.kernels import make_scaler
from hiclass._automatic.proposals import EFFORTS
from hiclass._typing import IntArray

#: Columns that are left out are named, with the reason, up to so many.
_MOST_SHOWN = 10


def fit_features(owner: Any, X: Any) -> Any:
    """Learn and compute the features of X."""
    owner.choices_ = {}
    owner.features_ = table_features()
    features = owner.features_.fit_transform(X)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(owner.features_, name):
            setattr(owner, name, getattr(owner.features_, name))
    owner.scaler_ = None
    describe_features(owner, features)
    return features


def table_features(**params: Any) -> TableFeatures:
    """A transformer that returns arrays, whatever ``transform_output`` is configured."""
    return TableFeatures(**params).set_output(transform="default")


def describe_features(owner: Any, features: Any) -> None:
    """Describe the number of features and their sources."""
    kind = "sparse" if sp.issparse(features) else "dense"
    kinds = sorted(set(owner.features_.columns_.values())) or ["numbers"]
    owner.choices_["features"] = f"{features.shape[1]:,} {kind} features of {', '.join(kinds)}"
    reasons = [f"{name}: {why}" for name, why in owner.features_.left_out_.items()]
    owner.choices_.pop("left out", None)
    if reasons:
        more = len(reasons) - _MOST_SHOWN
        rest = [f"and {more} more columns, in features_.left_out_"] if more > 0 else []
        owner.choices_["left out"] = "; ".join(reasons[:_MOST_SHOWN] + rest)


def try_codes(
    owner: Any, X: Any, features: Any, nodes: IntArray, fold: IntArray, sample_weight: Any
) -> Any:
    """The features, including those of columns of codes if these separate classes."""
    codes = find_codes(owner.features_.left_out_)
    if not codes or sp.issparse(features) or owner.local_classifier is not None:
        return features
    tried = table_features(text=codes)
    try:
        with_codes = tried.fit_transform(X)
    except ValueError:  # codes without two consecutive letters or digits have no parts
        return features
    weights = np.ones(len(nodes)) if sample_weight is None else sample_weight
    seed = settings_of(owner, EFFORTS[owner.effort]).seed
    if not are_useful(features, with_codes, nodes, fold, weights, seed):
        return features
    owner.features_ = tried
    describe_features(owner, with_codes)
    owner.choices_["codes"] = f"parts of {', '.join(map(str, codes))} tell classes apart"
    return with_codes


def scale_features(owner: Any, features: Any) -> Any:
    """Dense features on one scale."""
    if sp.issparse(features) or owner.features_.columns_:  # a table is already scaled
        return features
    tags = None if owner._given is None else owner._given.tags()
    if tags is not None and tags.input_tags.positive_only:
        return features
    owner.scaler_ = make_scaler(features)
    if owner.scaler_ is None:
        return features
    owner.choices_["features"] += ", scaled: their spreads differ"
    return owner.scaler_.transform(features)
