"""The model that is chosen where classes have texts: what learns from rows, and words beside it."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from hiclass._automatic.choice import settings_of
from hiclass._automatic.objectives import Objective
from hiclass._automatic.proposals import EFFORTS, USUAL_F, USUAL_TEMPERATURE
from hiclass._estimators.class_text import default_encoder
from hiclass._estimators.ensemble import EnsembleClassifier
from hiclass._estimators.flat import FlatClassifier
from hiclass._estimators.local import LocalClassifierPerParentNode
from hiclass._estimators.texted import texted_hierarchy
from hiclass._rows import n_rows_of
from hiclass.hierarchy import Hierarchy

#: A flat classifier over more final classes is left out: its work grows with their number.
_MOST_FLAT = 2000
#: The weights of rows and of words where nothing is measured.
_QUICK = (0.6, 0.4)


def has_words(class_texts: Any, hierarchy: Any, X: Any) -> bool:
    """Whether words of classes are to be used: they were given, or known where rows are texts."""
    if class_texts is not None:
        return True
    known = isinstance(hierarchy, Hierarchy) and hierarchy.has_texts
    if not known or X is None:
        return known
    return getattr(X, "ndim", 1) == 1 and n_rows_of(X) > 0 and isinstance(first_row(X), str)


def first_row(X: Any) -> Any:
    """The first of some rows, whatever holds them."""
    return next(iter(X))


def with_words(
    local_classifier: Any, hierarchy: Hierarchy, decoding: str, quick: bool, common: dict[str, Any]
) -> tuple[EnsembleClassifier, str]:
    """Make an ensemble of a model that learns from rows, and of one that knows words.

    Parameters
    ----------
    local_classifier : estimator or None
        What learns from rows, and takes texts; by default a linear classifier of words and parts
        of words.
    hierarchy : Hierarchy
        The classes, with texts.
    decoding : str
        How paths are chosen.
    quick : bool
        Whether the weights are fixed, and not learned out of fold.
    common : dict
        Parameters of all models.

    Returns
    -------
    model : EnsembleClassifier
        Not fitted.
    says : str
        What it is.
    """
    given = local_classifier is not None
    classifier = local_classifier if given else make_pipeline(default_encoder(), LinearSVC())
    is_flat = len(hierarchy.leaves()) <= _MOST_FLAT
    estimator: Any = FlatClassifier if is_flat else LocalClassifierPerParentNode
    calibrated = {"calibration": "joint", "temperature": USUAL_TEMPERATURE}
    rows = estimator(classifier, **({} if given else calibrated), **common)
    name = type(classifier).__name__ if given else "LinearSVC"
    place = "over all final classes" if is_flat else "per parent node"
    model = EnsembleClassifier(
        [("rows", rows)],
        class_texts=hierarchy,
        decoding=decoding,
        weights=list(_QUICK) if quick else None,
    )
    return model, f"rows: a {name} {place}; class_texts: words of classes"


def fit_words(
    owner: Any, X: Any, y: Any, objective: Objective, sample_weight: Any, groups: Any
) -> None:
    """Fit what learns from rows together with what knows the words of classes."""
    if owner.multi_label or objective.scorer is not None:
        raise ValueError(
            "class_texts is for one path per row, with optimize='path', 'f1' or None. Leave "
            "multi_label and scorers out."
        )
    if owner._threshold != 0.5:
        owner._refuse_threshold()
    tree = texted_hierarchy(owner.hierarchy, owner.class_texts, y)
    owner._check_thresholds(tree)
    effort = EFFORTS[owner.effort]
    common = settings_of(owner, effort).common
    decoding = objective.decodings[0]
    quick = not effort.n_folds
    model, says = with_words(owner.local_classifier, tree, decoding, quick, common)
    model.fit(X, y, sample_weight, groups=groups)
    owner.features_ = owner.scaler_ = None
    owner.scores_ = {}
    owner.choices_ = {
        "features": "texts as they are",
        "effort": owner.effort,
        "why": "a fixed rule: classes have texts",
        "model": says,
        "decoding": decoding,
    }
    owner._adopt(model, decoding)
    owner.expected_f1_ = vars(model).get("expected_f1_", USUAL_F)
