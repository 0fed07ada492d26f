"""How probabilities of classes are corrected, where predictions are sets: one table.

A calibration is a rising map from the probability of a class to another one, learned from rows that
the model was not fitted on. Classes with few positive rows share a map. After it, a class is made
no more probable than any class above it.

What is learned from is counted in bins of the logit of the probability, so that no array of rows
and classes is held.
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

#: Logits beyond this are not told apart: probabilities below 0.00005.
_END = 10.0
_STEP = 0.25
#: The middles of the bins.
GRID: FloatArray = np.arange(-_END, _END + _STEP, _STEP)
#: Classes with fewer positive, or negative, rows share a map.
_FEW = 10


def _as_logit(proba: FloatArray) -> FloatArray:
    """Logits within the bins."""
    with np.errstate(divide="ignore"):
        return np.clip(logit(proba), -_END, _END)


class Counts:
    """How many rows, and how many of them in the class, have which probability.

    Parameters
    ----------
    n_nodes : int
        The number of nodes.

    Attributes
    ----------
    rows, positive : ndarray of shape (n_nodes, n_bins)
        The weight of the rows in every bin, and of those in the node.
    n_positive, n_negative : ndarray of int
        How many rows are in every node, and how many are not.
    """

    def __init__(self, n_nodes: int) -> None:
        self.rows = np.zeros((n_nodes, len(GRID)))
        self.positive = np.zeros_like(self.rows)
        self.n_positive = np.zeros(n_nodes, dtype=np.intp)
        self.n_negative = np.zeros(n_nodes, dtype=np.intp)

    def add(self, proba: FloatArray, truth: AnyArray, weights: FloatArray) -> None:
        """Count rows, from their probabilities, true nodes and weights."""
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
    """A kind of maps.

    Attributes
    ----------
    name : str
        What users write.
    learn : callable
        ``(rows, positive, shared)`` to the parameters of a map; ``shared`` are those of the map of
        many classes, which those of a single one are drawn to, or None.
    apply : callable
        ``(logits, maps, map_of)`` to probabilities; ``maps[map_of[j]]`` are the parameters of
        column j.
    identity : ndarray
        The parameters of the map that changes nothing.
    """

    name: str
    learn: Callable[[FloatArray, FloatArray, FloatArray | None], FloatArray]
    apply: Callable[[FloatArray, FloatArray, IntArray], FloatArray]
    identity: FloatArray

    def __repr__(self) -> str:
        return repr(self.name)


# -- sigmoids ------------------------------------------------------------------------------------


def _learn_sigmoid(rows: FloatArray, positive: FloatArray, shared: FloatArray | None) -> FloatArray:
    """The slope and the intercept of the most probable sigmoid of the logit.

    Both are drawn to those of the shared map, or of no change, like by normal distributions with a
    variance of 1. A slope that is not positive is that of the shared map.
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
    """Probabilities at the middles of the bins that never fall.

    Every bin has half a row more, with the probability of the shared map, or of no change.
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
    # So that it is exactly level where the map is: thresholds are between different values.
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
        The parameters of the different maps, and which of them every node has. The first is no
        change, for nodes without rows to learn from.
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
    """Calibrate probabilities of nodes; coherent again: no class exceeds one above it."""
    found = SET_CALIBRATIONS[method].apply(_as_logit(proba), maps, map_of)
    found[:, ~models.populated] = 0
    found[:, 0] = 1
    return at_most_parents(found, models)


@set_node_proba.register
def _of_calibrated(models: CalibratedSetModels, X: Any, floor: float = 0.0) -> FloatArray:
    # All classifiers are queried: a small probability may become a large one.
    raw = set_node_proba(models.base, X)
    return calibrated(raw, models, models.method, models.maps, models.map_of)
