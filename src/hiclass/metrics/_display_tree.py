"""The tree of classes, coloured by a score and sized by support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.metrics._display import Display, axes_of
from hiclass.metrics._pairs import divide, encode_tree

#: Trees with more leaves than this are drawn as an icicle.
_MAX_LEAVES = 60
_FONT, _MIN_FONT = 8.0, 5.0


@dataclass(repr=False, eq=False)
class HierarchyDisplay(Display):
    """Hierarchy whose classes are coloured by a score and sized by support.

    Create one with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    hierarchy : Hierarchy
        The tree of classes.
    scores : ndarray of shape (n_nodes,)
        The score of every node, between 0 and 1, or NaN.
    support : ndarray of shape (n_nodes,)
        The weight of the rows of every node.
    score_name : str, default="score"
        The name of the score in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the plot.
    figure_ : matplotlib Figure
        The figure of ``ax_``.

    Examples
    --------
    >>> from hiclass.metrics import HierarchyDisplay
    >>> y_true = [["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Oak"]]
    >>> y_pred = [["Animal", "Cat"], ["Animal", "Cat"], ["Plant", "Oak"]]
    >>> display = HierarchyDisplay.from_predictions(y_true, y_pred)
    >>> display.scores.round(2)
    array([ nan, 1.  , 0.67, 0.  , 1.  , 1.  ])
    """

    hierarchy: Hierarchy
    scores: FloatArray
    support: FloatArray
    score_name: str = "score"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        hierarchy: Any = None,
        score: str = "f1",
        sample_weight: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> HierarchyDisplay:
        """Create and draw the display from predictions.

        Parameters
        ----------
        y_true : array-like
            True labels, in any form that ``fit`` accepts.
        y_pred : array-like
            Predicted labels.
        hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
            The tree of the labels. By default, it is built from the true and predicted paths.
        score : {"f1", "precision", "recall"}, default="f1"
            The score that determines the colour of a class. Classes with 0 / 0 have no colour.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        ax : matplotlib Axes, default=None
            The axes to draw on. By default, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        HierarchyDisplay
            The drawn display.

        Raises
        ------
        ValueError
            If the score is unknown.
        """
        if score not in ("f1", "precision", "recall"):
            raise ValueError(f"score={score!r} is unknown. Use 'f1', 'precision' or 'recall'.")
        pair = encode_tree(y_true, y_pred, hierarchy, sample_weight, cls.__name__)
        tp, pred, true = pair.node_counts()
        divisor = {"f1": (pred + true) / 2, "precision": pred, "recall": true}[score]
        scores = divide(tp, divisor, np.nan)
        scores[0] = np.nan  # every row is in the root
        return cls(pair.hierarchy, scores, true, score).plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, layout: str = "auto", cmap: Any = "RdYlBu"
    ) -> HierarchyDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on. By default, a new figure of suitable size is created.
        layout : {"auto", "tree", "icicle"}, default="auto"
            "tree" draws nodes and edges and labels every class. "icicle" draws a rectangle per
            class next to that of its parent, with a height proportional to its support, and
            labels the classes for which there is room. "auto" uses "tree" for up to 60 leaves.
        cmap : str or Colormap, default="RdYlBu"
            Colours of the scores 0 to 1.

        Returns
        -------
        HierarchyDisplay
            The drawn display.

        Raises
        ------
        ValueError
            If the layout is unknown.
        """
        import matplotlib as mpl

        if layout not in ("auto", "tree", "icicle"):
            raise ValueError(f"layout={layout!r} is unknown. Use 'auto', 'tree' or 'icicle'.")
        tree = self.hierarchy
        if layout == "auto":
            layout = "tree" if tree.is_leaf.sum() <= _MAX_LEAVES else "icicle"
        n, depth = int(tree.is_leaf.sum()), tree.depth
        size_of = {
            "tree": (2.1 * depth + 1.6, max(0.3 * n + 0.6, 2.0)),
            "icicle": (1.6 * depth + 1.6, min(7 + 0.002 * n, 12.0)),
        }
        ax = axes_of(ax, size_of[layout])
        color = mpl.cm.ScalarMappable(mpl.colors.Normalize(0, 1), cmap)
        fill = color.to_rgba(np.nan_to_num(self.scores))
        fill[np.isnan(self.scores)] = (0.85, 0.85, 0.85, 1.0)
        bar = ax.figure.colorbar(color, ax=ax, shrink=0.6, pad=0.02, aspect=25)
        bar.outline.set_visible(False)
        ax.set_axis_off()
        size = "area" if layout == "tree" else "height"
        title = f"colour: {self.score_name}   {size}: support"
        ax.set_title(title, loc="left", fontsize=_FONT + 1, color="0.35")
        (_plot_tree if layout == "tree" else _plot_icicle)(self, ax, fill)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _plot_tree(display: HierarchyDisplay, ax: Any, fill: FloatArray) -> None:
    """Nodes and edges, from left to right."""
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    tree, y = display.hierarchy, _slots(display.hierarchy)
    child = np.arange(1, tree.n_nodes)
    parent = tree.parent[1:]
    x = tree.levels
    middle = x[child] - 0.5
    elbows = _lines(
        [x[parent], middle, middle, x[child]], [y[parent], y[parent], y[child], y[child]]
    )
    ax.add_collection(LineCollection(elbows, color="0.7", lw=0.9, zorder=1))
    # The area of a dot is its support; the smallest dots stay visible.
    size = 16 + 320 * display.support / max(display.support.max(), 1e-300)
    ax.scatter(x[child], y[child], s=size[child], c=fill[child], ec="0.3", lw=0.6, zorder=2)
    for v in child.tolist():
        score = "" if np.isnan(display.scores[v]) else f"  {display.scores[v]:.2f}"
        radius = np.sqrt(size[v] / np.pi) + 3
        leaf = tree.is_leaf[v]
        ax.annotate(
            f"{tree.labels[v]}{score}",
            (x[v], y[v]),
            xytext=(radius, 0) if leaf else (0, radius - 1),
            textcoords="offset points",
            ha="left" if leaf else "center",
            va="center" if leaf else "bottom",
            fontsize=_FONT,
            zorder=3,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )
    ax.set_xlim(-0.1, tree.depth + 0.6)
    ax.set_ylim(y.max() + 0.8, -0.8)


def _plot_icicle(display: HierarchyDisplay, ax: Any, fill: FloatArray) -> None:
    """A rectangle per class, to the right of that of its parent."""
    from matplotlib.collections import PolyCollection

    tree, size = display.hierarchy, display.support
    top = _stack(tree, size)
    nodes = 1 + np.flatnonzero(size[1:] > 0)
    x0, y0 = tree.levels[nodes] - 1.0, top[nodes]
    x1, y1 = x0 + 1, y0 + size[nodes]
    corners = _lines([x0, x1, x1, x0], [y0, y0, y1, y1])
    ax.set_xlim(0, tree.depth)
    ax.set_ylim(size[0], 0)
    ax.figure.draw_without_rendering()  # the size of the axes is known only now
    box = ax.get_window_extent()
    points = 72 / ax.figure.dpi
    column, height = box.width * points / tree.depth, box.height * points * size / size[0]
    # Thin rectangles get thin lines; others would hide their colours.
    line = np.clip(0.12 * height[nodes] - 0.1, 0, 0.6)
    ax.add_collection(PolyCollection(corners, facecolors=fill[nodes], ec="white", lw=line))
    # All labels of a level have the same size, which fits almost all of its classes.
    fonts = [
        np.clip(np.quantile(height[level], 0.1) - 0.5, _MIN_FONT, _FONT + 1)
        for level in tree.nodes_by_level
    ]
    for i, v in enumerate(nodes.tolist()):
        font = fonts[tree.levels[v]]
        room = int((column - 6) / (0.6 * font))
        if height[v] < font or room < 3:
            continue
        name = str(tree.labels[v])
        dark = fill[v][:3] @ (0.299, 0.587, 0.114) < 0.5
        ax.annotate(
            name if len(name) <= room else f"{name[: room - 1]}…",
            (x0[i], (y0[i] + y1[i]) / 2),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=font,
            color="white" if dark else "black",
        )


def _lines(x: list[AnyArray], y: list[AnyArray]) -> list[AnyArray]:
    """Lines through points: each array holds one coordinate of one point of all lines."""
    return list(np.stack([np.column_stack(x), np.column_stack(y)], axis=2))


def _slots(tree: Hierarchy) -> FloatArray:
    """Positions: one slot per leaf; inner nodes are in the middle of their children."""
    slot = np.zeros(tree.n_nodes)
    slot[tree.is_leaf] = np.arange(tree.is_leaf.sum())
    for v in range(tree.n_nodes - 1, -1, -1):
        if not tree.is_leaf[v]:
            children = tree.children(v)
            slot[v] = (slot[children[0]] + slot[children[-1]]) / 2
    return slot


def _stack(tree: Hierarchy, size: FloatArray) -> FloatArray:
    """The start of the rectangle of every node: below those of its preceding siblings."""
    start, free = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    parent: IntArray = tree.parent
    for v in range(1, tree.n_nodes):
        start[v] = free[v] = free[parent[v]]
        free[parent[v]] += size[v]
    return start
