"""The table of calibrations: how probabilities of classes are corrected for sets of classes.

A calibration is an increasing map of the probability of a class, learned from rows that the model
was not fitted on. Classes with few positive rows share a map. Afterwards, the probability of a
class is limited by those of its ancestors. The rows are counted in bins of the logit of the
probability, so that no array of rows and classes is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression

from hiclass._inference.sets import at_most_parents, set_node_proba
from hiclass._state import CalibratedSetModels
from hiclass._typing import AnyArray, FloatArray, IntArray

#: Larger logits are not distinguished: probabilities below 0.00005.
_END = 10.0
_STEP = 0.25
#: The centres of the bins.
GRID: FloatArray = np.arange(-_END, _END + _STEP, _STEP)
#: Classes with fewer positive, or negative, rows share a map.
_FEW = 10


def _as_logit(proba: FloatArray) -> FloatArray:
    """Logits within the bins."""
    with np.errstate(divide="ignore"):
        return np.clip(logit(proba), -_END, _END)


class Counts:
    """The number of rows, and of positive rows, with each probability.

    Parameters
    ----------
    n_nodes : int
        The number of nodes.

    Attributes
    ----------
    rows, positive : ndarray of shape (n_nodes, n_bins)
        The weight of all rows, and of the rows of the node, in every bin.
    n_positive, n_negative : ndarray of int
        The numbers of rows inside and outside every node.
    """

    def __init__(self, n_nodes: int) -> None:
        self.rows = np.zeros((n_nodes, len(GRID)))
        self.positive = np.zeros_like(self.rows)
        self.n_positive = np.zeros(n_nodes, dtype=np.intp)
        self.n_negative = np.zeros(n_nodes, dtype=np.intp)

    def add(self, proba: FloatArray, truth: AnyArray, weights: FloatArray) -> None:
        """Count rows, given their probabilities, true nodes and weights."""
        bins = np.rint((_as_logit(proba) + _END) / _STEP).astype(np.intp)
        place = (bins + len(GRID) * np.arange(proba.shape[1])).ravel()
        each = np.repeat(weights, proba.shape[1])
        shape, size = self.rows.shape, self.rows.size
        self.rows += np.bincount(place, each, size).reshape(shape)
        self.positive += np.bincount(place, each * truth.ravel(), size).reshape(shape)
        n_positive = truth.sum(axis=0, dtype=np.intp)
        self.n_positive += n_positive
        self.n_negative += len(proba) - n_positive


@dataclass(frozen=True, repr=False)
class SetCalibration:
    """A kind of map.

    Attributes
    ----------
    name : str
        The name that users write.
    learn : callable
        ``(rows, positive, shared)`` to the parameters of a map. ``shared`` are the parameters of
        the map of many classes, towards which those of a single class are shrunk, or None.
    apply : callable
        ``(logits, maps, map_of)`` to probabilities; ``maps[map_of[j]]`` are the parameters of
        column j.
    identity : ndarray
        The parameters of the identity map.
    """

    name: str
    learn: Callable[[FloatArray, FloatArray, FloatArray | None], FloatArray]
    apply: Callable[[FloatArray, FloatArray, IntArray], FloatArray]
    identity: FloatArray

    def __repr__(self) -> str:
        return repr(self.name)


# -- sigmoids ------------------------------------------------------------------------------------


def _learn_sigmoid(rows: FloatArray, positive: FloatArray, shared: FloatArray | None) -> FloatArray:
    """The slope and intercept of the most probable sigmoid of the logit.

    Both are shrunk towards those of the shared map, or of the identity, by normal priors with
    variance 1. A slope that is not positive is replaced by that of the shared map.
    """
    centre = np.array([1.0, 0.0]) if shared is None else shared
    design = np.column_stack([GRID, np.ones_like(GRID)])
    found = centre.copy()
    for _ in range(50):
        p = expit(design @ found)
        gradient = design.T @ (rows * p - positive) + (found - centre)
        hessian = (design.T * (rows * p * (1 - p))) @ design + np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        found = found - step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-8:
            break
    return found if found[0] > 0 else centre


def _apply_sigmoid(z: FloatArray, maps: FloatArray, map_of: IntArray) -> FloatArray:
    slope, intercept = maps[map_of].T
    proba: FloatArray = expit(z * slope + intercept)
    return proba


# -- isotonic maps -------------------------------------------------------------------------------


def _learn_isotonic(
    rows: FloatArray, positive: FloatArray, shared: FloatArray | None
) -> FloatArray:
    """Non-decreasing probabilities at the centres of the bins.

    Every bin has half an additional row, with the probability of the shared map, or of the
    identity.
    """
    centre = expit(GRID) if shared is None else shared
    weight = rows + 0.5
    found: FloatArray = isotonic_regression(
        (positive + 0.5 * centre) / weight, sample_weight=weight, y_min=0.0, y_max=1.0
    )
    return found


def _apply_isotonic(z: FloatArray, maps: FloatArray, map_of: IntArray) -> FloatArray:
    place = (z + _END) / _STEP
    low = np.minimum(place.astype(np.intp), len(GRID) - 2)
    before, after = maps[map_of, low], maps[map_of, low + 1]
    # Exactly equal where the map is level, because thresholds are between different values.
    proba: FloatArray = np.minimum(before + (place - low) * (after - before), after)
    return proba


#: All calibrations of sets, by name.
SET_CALIBRATIONS: dict[str, SetCalibration] = {
    calibration.name: calibration
    for calibration in (
        SetCalibration("sigmoid", _learn_sigmoid, _apply_sigmoid, np.array([1.0, 0.0])),
        SetCalibration("isotonic", _learn_isotonic, _apply_isotonic, expit(GRID)),
    )
}


def learn_maps(calibration: SetCalibration, counts: Counts) -> tuple[FloatArray, IntArray]:
    """Learn the maps of all classes.

    Parameters
    ----------
    calibration : SetCalibration
        The kind of maps.
    counts : Counts
        Rows that the model was not fitted on.

    Returns
    -------
    maps, map_of : ndarray
        The parameters of the different maps, and the map of every node. The first map is the
        identity, for nodes without rows.
    """
    rows, positive = counts.rows, counts.positive
    known = (counts.n_positive > 0) & (counts.n_negative > 0)
    known[0] = False
    often = known & (np.minimum(counts.n_positive, counts.n_negative) >= _FEW)
    maps, map_of = [calibration.identity], np.zeros(len(rows), dtype=np.intp)

    def pooled(nodes: AnyArray) -> FloatArray | None:
        if not nodes.any():
            return None
        return calibration.learn(rows[nodes].sum(axis=0), positive[nodes].sum(axis=0), None)

    shared, of_few = pooled(often), pooled(known & ~often)
    if of_few is not None:
        map_of[known & ~often] = len(maps)
        maps.append(of_few)
    for node in np.flatnonzero(often).tolist():
        map_of[node] = len(maps)
        maps.append(calibration.learn(rows[node], positive[node], shared))
    return np.array(maps), map_of


def calibrated(
    proba: FloatArray, models: Any, method: str, maps: FloatArray, map_of: IntArray
) -> FloatArray:
    """Calibrate probabilities of nodes, and make them coherent: no class exceeds its ancestors."""
    found = SET_CALIBRATIONS[method].apply(_as_logit(proba), maps, map_of)
    found[:, ~models.populated] = 0
    found[:, 0] = 1
    return at_most_parents(found, models)


@set_node_proba.register
def _of_calibrated(models: CalibratedSetModels, X: Any, floor: float = 0.0) -> FloatArray:
    # All classifiers are queried, because a small probability may become a large one.
    raw = set_node_proba(models.base, X)
    return calibrated(raw, models, models.method, models.maps, models.map_of)
