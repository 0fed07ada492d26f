"""Displays of confidence: how reliable it is, and which errors remain above a threshold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._typing import FloatArray
from hiclass.metrics._automation import AutomationCurve, automation_curves
from hiclass.metrics._confidence import (
    RiskCoverage,
    calibration_bins,
    confidence_by_level,
    risk_coverage,
)
from hiclass.metrics._display import Display, axes_of, check_levels
from hiclass.metrics._pairs import mean


@dataclass(repr=False, eq=False)
class ReliabilityDisplay(Display):
    """Reliability diagram: accuracy against confidence, with one line per level.

    Create one with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    confidence : list of ndarray of shape (n_bins,)
        For every level, the mean confidence of each non-empty bin.
    accuracy : list of ndarray of shape (n_bins,)
        For every level, the accuracy of these bins.
    weight : list of ndarray of shape (n_bins,)
        For every level, the weight of the rows in these bins.
    levels : list of int
        The levels, starting at 1.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the plot.
    figure_ : matplotlib Figure
        The figure of ``ax_``.
    lines_ : list of matplotlib Line2D
        One per level.

    Examples
    --------
    >>> from hiclass.metrics import ReliabilityDisplay
    >>> y_true, y_pred = [["Cat"], ["Dog"], ["Dog"]], [["Cat"], ["Dog"], ["Cat"]]
    >>> display = ReliabilityDisplay.from_predictions(y_true, y_pred, [0.9, 0.6, 0.6])
    >>> display.accuracy
    [array([0.5, 1. ])]
    """

    _of_confidence = True

    confidence: list[FloatArray]
    accuracy: list[FloatArray]
    weight: list[FloatArray]
    levels: list[int]

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        confidence: Any,
        *,
        hierarchy: Any = None,
        levels: Iterable[int] | None = None,
        strategy: str = "uniform",
        n_bins: int = 10,
        sample_weight: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Create and draw the display from predictions.

        Parameters
        ----------
        y_true : array-like
            True labels, in any form that ``fit`` accepts.
        y_pred : array-like
            Predicted labels.
        confidence : array-like of shape (n_samples,) or (n_samples, n_levels)
            Confidence of every predicted label, as returned by ``predict_confidence``.
        hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
            The tree of the labels. By default, it is built from the true and predicted paths.
        levels : iterable of int or None, default=None
            The levels to show, starting at 1. By default, all levels.
        strategy : {"uniform", "quantile"}, default="uniform"
            How rows are grouped into bins, as in :func:`calibration_error`.
        n_bins : int, default=10
            Number of bins.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        ax : matplotlib Axes, default=None
            The axes to draw on. By default, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        ReliabilityDisplay
            The drawn display.
        """
        by_level = [
            calibration_bins(*values, strategy, n_bins)
            for values in confidence_by_level(
                cls.__name__, y_true, y_pred, confidence, hierarchy, sample_weight
            )
        ]
        levels = check_levels(levels, len(by_level))
        levels = [level for level in levels if len(by_level[level - 1][0])]
        p, accuracy, weight = ([by_level[level - 1][i] for level in levels] for i in range(3))
        return cls(p, accuracy, weight, levels).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> ReliabilityDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on. By default, a new figure is created.
        **kwargs : dict
            Passed to ``Axes.plot`` for the lines.

        Returns
        -------
        ReliabilityDisplay
            The drawn display.
        """
        ax = axes_of(ax, (4.6, 4.4))
        ax.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--", zorder=1)
        self.lines_ = []
        for p, accuracy, weight, level in zip(
            self.confidence, self.accuracy, self.weight, self.levels, strict=True
        ):
            error = mean(np.abs(p - accuracy), weight)
            label = f"level {level} (error {error:.3f})"
            (line,) = ax.plot(p, accuracy, **{"label": label, "lw": 1.5, "zorder": 2, **kwargs})
            # The area of a dot is the weight of its bin.
            area = 12 + 110 * weight / weight.sum()
            ax.scatter(p, accuracy, s=area, color=line.get_color(), lw=0, zorder=3)
            self.lines_.append(line)
        ax.set(xlabel="confidence", ylabel="accuracy", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_aspect("equal")
        _finish(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass(repr=False, eq=False)
class RiskCoverageDisplay(Display):
    """Risk-coverage curve: mean loss of the most confident rows against their share.

    Create one with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    curve : RiskCoverage
        The result of :func:`risk_coverage`.
    name : str or None, default=None
        Name of the line in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the plot.
    figure_ : matplotlib Figure
        The figure of ``ax_``.
    line_ : matplotlib Line2D
        The line.

    Examples
    --------
    >>> from hiclass.metrics import RiskCoverageDisplay
    >>> y_true, y_pred = [["Cat"], ["Dog"], ["Dog"]], [["Cat"], ["Dog"], ["Cat"]]
    >>> display = RiskCoverageDisplay.from_predictions(y_true, y_pred, [0.9, 0.7, 0.6])
    >>> display.curve.risk.round(2)
    array([0.  , 0.  , 0.33])
    """

    _of_confidence = True

    curve: RiskCoverage
    name: str | None = None

    @classmethod
    def _defaults(cls, estimator: Any) -> dict[str, Any]:
        return {**super()._defaults(estimator), "name": type(estimator).__name__}

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        confidence: Any,
        *,
        hierarchy: Any = None,
        loss: str = "exact_match",
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> RiskCoverageDisplay:
        """Create and draw the display from predictions.

        Parameters
        ----------
        y_true : array-like
            True labels, in any form that ``fit`` accepts.
        y_pred : array-like
            Predicted labels.
        confidence : array-like of shape (n_samples,) or (n_samples, n_levels)
            Confidence of every predicted label, as returned by ``predict_confidence``.
        hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
            The tree of the labels. By default, it is built from the true and predicted paths.
        loss : {"exact_match", "f1"}, default="exact_match"
            Loss of a row, as in :func:`risk_coverage`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        name : str or None, default=None
            Name of the line in the legend.
        ax : matplotlib Axes, default=None
            The axes to draw on. By default, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        RiskCoverageDisplay
            The drawn display.
        """
        curve = risk_coverage(
            y_true,
            y_pred,
            confidence,
            hierarchy=hierarchy,
            loss=loss,
            sample_weight=sample_weight,
        )
        return cls(curve, name).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> RiskCoverageDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on. By default, a new figure is created.
        **kwargs : dict
            Passed to ``Axes.plot`` for the line.

        Returns
        -------
        RiskCoverageDisplay
            The drawn display.
        """
        ax = axes_of(ax, (5.2, 3.8))
        area = f"area {self.curve.area:.3f}"
        label = area if self.name is None else f"{self.name} ({area})"
        # The risk at a coverage also applies down to the next smaller coverage, as in the area.
        x = np.concatenate([[0.0], self.curve.coverage])
        y = np.concatenate([self.curve.risk[:1], self.curve.risk])
        style = {"label": label, "lw": 1.5, "drawstyle": "steps-pre", **kwargs}
        (self.line_,) = ax.plot(x, y, **style)
        ax.set(xlabel="coverage", ylabel="risk", xlim=(0, 1.01))
        ax.set_ylim(bottom=0)
        _finish(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass(repr=False, eq=False)
class AutomationDisplay(Display):
    """Automation curve: error of the labelled rows against their share, one line per level.

    Create one with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    curves : list of AutomationCurve
        The result of :func:`automation_curve` for each level.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the plot.
    figure_ : matplotlib Figure
        The figure of ``ax_``.
    lines_ : list of matplotlib Line2D
        One per level.
    bands_ : list of matplotlib collections
        The intervals, one per level.

    Examples
    --------
    >>> from hiclass.metrics import AutomationDisplay
    >>> y_true, y_pred = [["Cat"], ["Dog"], ["Dog"]], [["Cat"], ["Dog"], ["Cat"]]
    >>> display = AutomationDisplay.from_predictions(y_true, y_pred, [0.9, 0.7, 0.6])
    >>> display.curves[0].share.round(2)
    array([0.33, 0.67, 1.  ])
    """

    _of_confidence = True

    curves: list[AutomationCurve]

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        confidence: Any,
        *,
        hierarchy: Any = None,
        levels: Iterable[int] | None = None,
        certainty: float = 0.95,
        ax: Any = None,
        **kwargs: Any,
    ) -> AutomationDisplay:
        """Create and draw the display from predictions.

        Parameters
        ----------
        y_true : array-like
            True labels, in any form that ``fit`` accepts.
        y_pred : array-like
            Predicted labels.
        confidence : array-like of shape (n_samples,) or (n_samples, n_levels)
            Confidence of every predicted label, as returned by ``predict_confidence``.
        hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
            The tree of the labels. By default, it is built from the true and predicted paths.
        levels : iterable of int or None, default=None
            The levels to show, starting at 1. By default, all levels.
        certainty : float, default=0.95
            The coverage probability of the intervals. Each holds for one threshold at a time.
        ax : matplotlib Axes, default=None
            The axes to draw on. By default, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        AutomationDisplay
            The drawn display.
        """
        curves = automation_curves(y_true, y_pred, confidence, hierarchy, certainty)
        chosen = [curves[level - 1] for level in check_levels(levels, len(curves))]
        return cls([curve for curve in chosen if len(curve.share)]).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> AutomationDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on. By default, a new figure is created.
        **kwargs : dict
            Passed to ``Axes.plot`` for the lines.

        Returns
        -------
        AutomationDisplay
            The drawn display.
        """
        ax = axes_of(ax, (5.2, 3.8))
        self.lines_, self.bands_ = [], []
        highest = 0.05
        for curve in self.curves:
            style = {"label": f"level {curve.level}", "lw": 1.5, "zorder": 3, **kwargs}
            (line,) = ax.plot(curve.share, curve.error, **style)
            band = ax.fill_between(
                curve.share, curve.lower, curve.upper, color=line.get_color(), alpha=0.18, lw=0
            )
            self.lines_.append(line)
            self.bands_.append(band)
            # The intervals of the few most confident rows are wide and would hide the other lines.
            highest = max(highest, float(curve.upper[-1]), float(curve.error.max()))
        ax.set(xlabel="share of rows labelled", ylabel="share of wrong labels", xlim=(0, 1.01))
        ax.set_ylim(0, min(1.0, 1.1 * highest))
        _finish(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _finish(ax: Any) -> None:
    """Draw a grid behind the lines, and a legend."""
    ax.grid(color="0.92")
    ax.set_axisbelow(True)
    ax.legend(loc="upper left", frameon=False, fontsize=9)
