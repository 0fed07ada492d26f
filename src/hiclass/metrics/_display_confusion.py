"""A confusion matrix for every level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.metrics._display import Display, check_levels
from hiclass.metrics._pairs import Pair, encode_tree, total_by

_NORMALIZE = {"true": 1, "pred": 0, "all": None}
#: Matrices up to this size show their numbers.
_MAX_NUMBERS = 15


@dataclass(repr=False, eq=False)
class ConfusionByLevelDisplay(Display):
    """Confusion matrices, one per level.

    Classes are in the order of the hierarchy, and lines separate classes of different parents.
    Entries inside a block are errors among siblings. Entries outside the blocks are errors that
    were made at a higher level.

    Create one with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    matrices : list of ndarray of shape (n_classes, n_classes)
        For every level, the weight of the rows by true class (row) and predicted class (column).
    labels : list of list of str
        For every level, the names of the classes.
    groups : list of ndarray of shape (n_classes,)
        For every level, the parent of every class.
    levels : list of int
        The levels, starting at 1.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One per level.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from hiclass.metrics import ConfusionByLevelDisplay
    >>> y_true = [["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Oak"]]
    >>> y_pred = [["Animal", "Cat"], ["Animal", "Cat"], ["Plant", "Oak"]]
    >>> display = ConfusionByLevelDisplay.from_predictions(y_true, y_pred)
    >>> display.matrices[0]
    array([[1., 0.],
           [0., 1.]])
    """

    matrices: list[FloatArray]
    labels: list[list[str]]
    groups: list[IntArray]
    levels: list[int]

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        hierarchy: Any = None,
        levels: Iterable[int] | None = None,
        normalize: str | None = "true",
        max_classes: int = 30,
        sample_weight: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ConfusionByLevelDisplay:
        """Create and draw the display from predictions.

        Parameters
        ----------
        y_true : array-like
            True labels, in any form that ``fit`` accepts.
        y_pred : array-like
            Predicted labels.
        hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
            The tree of the labels. By default, it is built from the true and predicted paths.
        levels : iterable of int or None, default=None
            The levels to show, starting at 1. By default, all levels.
        normalize : {"true", "pred", "all"} or None, default="true"
            Whether to divide by the total of the true class, the predicted class or all rows.
        max_classes : int, default=30
            The largest number of classes per matrix. A level with more shows the classes with
            the most errors and combines the others.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        ax : matplotlib Axes or array of Axes, default=None
            The axes to draw on. By default, a new figure is created. One Axes is divided between
            the levels.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        ConfusionByLevelDisplay
            The drawn display.
        """
        if normalize not in (*_NORMALIZE, None):
            raise ValueError(
                f"normalize={normalize!r} is unknown. Use 'true', 'pred', 'all' or None."
            )
        if max_classes < 1:
            raise ValueError(f"max_classes={max_classes!r} must be at least 1.")
        pair = encode_tree(y_true, y_pred, hierarchy, sample_weight, cls.__name__)
        levels = check_levels(levels, pair.hierarchy.depth)
        parts = [_confusion(pair, level, max_classes, normalize) for level in levels]
        matrices, labels, groups = (list(part) for part in zip(*parts, strict=True))
        return cls(matrices, labels, groups, levels).plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, cmap: Any = "Blues", values_format: str | None = None
    ) -> ConfusionByLevelDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, default=None
            The axes to draw on. By default, a new figure is created. One Axes is divided between
            the levels.
        cmap : str or Colormap, default="Blues"
            Colours of the matrices.
        values_format : str or None, default=None
            Format of the numbers. Numbers are shown for up to 15 classes.

        Returns
        -------
        ConfusionByLevelDisplay
            The drawn display.
        """
        axes = _axes_for(ax, [len(names) for names in self.labels])
        for one, matrix, names, group, level in zip(
            axes, self.matrices, self.labels, self.groups, self.levels, strict=True
        ):
            one.imshow(matrix, cmap=cmap, vmin=0, interpolation="nearest")
            font = max(3.5, min(9.0, 200 / len(names)))
            short = [f"{name[:23]}…" if len(name) > 24 else name for name in names]
            one.set_xticks(range(len(names)), short, rotation=90, fontsize=font)
            one.set_yticks(range(len(names)), short, fontsize=font)
            one.tick_params(length=0)
            one.set(title=f"Level {level}", xlabel="predicted")
            one.set_anchor("N")
            borders = np.flatnonzero(np.diff(group)) + 0.5
            # If almost every class has its own parent, lines would hide the matrix.
            for place in borders if len(borders) <= len(names) / 2 else ():
                one.axhline(place, color="0.6", lw=0.6)
                one.axvline(place, color="0.6", lw=0.6)
            if len(names) <= _MAX_NUMBERS:
                _write_numbers(one, matrix, values_format, font)
        axes[0].set_ylabel("true")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


def _confusion(
    pair: Pair, level: int, max_classes: int, normalize: str | None
) -> tuple[FloatArray, list[str], IntArray]:
    """Confusion matrix of a level, names of its classes and their parents."""
    tree = pair.hierarchy
    column = np.maximum(tree.ancestor_table[:, level - 1], 0)  # 0: the path has ended
    a, b = column[pair.true], column[pair.pred]
    wrong = pair.weight * (a != b)
    size, mistakes = (total_by(a, w, tree) + total_by(b, w, tree) for w in (pair.weight, wrong))
    nodes = np.flatnonzero(size)
    nodes = np.append(nodes[nodes > 0], nodes[nodes == 0])  # paths that have ended come last
    names = _names(tree, nodes)
    groups = np.where(nodes > 0, tree.parent[nodes], -1)
    place = np.arange(len(nodes))
    if len(nodes) > max_classes:
        keep = np.sort(np.lexsort([-size[nodes], -mistakes[nodes]])[:max_classes])
        place = np.full(len(nodes), max_classes)
        place[keep] = np.arange(max_classes)
        names = [*(names[i] for i in keep), f"({len(nodes) - max_classes} others)"]
        groups = np.append(groups[keep], -2)
    position = np.zeros(tree.n_nodes, dtype=np.intp)
    position[nodes] = place
    n = len(names)
    matrix = np.zeros((n, n))
    np.add.at(matrix, (position[a], position[b]), pair.weight)
    if normalize is not None:
        total = matrix.sum(axis=_NORMALIZE[normalize], keepdims=True)
        matrix = np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)
    return matrix, names, groups


def _names(tree: Hierarchy, nodes: IntArray) -> list[str]:
    """Labels of nodes, preceded by the label of the parent if they are not unique."""
    labels = [str(tree.labels[v]) if v else "(end)" for v in nodes.tolist()]
    times = Counter(labels)
    return [
        f"{tree.labels[tree.parent[v]]} > {label}" if v and times[label] > 1 else label
        for v, label in zip(nodes.tolist(), labels, strict=True)
    ]


def _axes_for(ax: Any, sizes: list[int]) -> AnyArray:
    """One Axes per matrix: the given ones, parts of the given one, or new ones."""
    n = len(sizes)
    if ax is None:
        import matplotlib.pyplot as plt

        # The size of a matrix depends on the number of its classes, within limits.
        widths = [min(max(0.32 * size + 1.6, 2.6), 6.0) for size in sizes]
        figsize = (sum(widths) + 0.4, max(widths) + 0.9)
        _, axes = plt.subplots(
            1, n, figsize=figsize, layout="constrained", width_ratios=widths, squeeze=False
        )
        return axes[0]
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) == 1 and n > 1:
        axes[0].set_axis_off()
        grid = axes[0].get_subplotspec().subgridspec(1, n)
        return np.array([axes[0].figure.add_subplot(cell) for cell in grid], dtype=object)
    if len(axes) != n:
        raise ValueError(
            f"ax holds {len(axes)} Axes for {n} levels. Pass one Axes, or one per level."
        )
    return axes


def _write_numbers(ax: Any, matrix: FloatArray, values_format: str | None, font: float) -> None:
    whole = (matrix == np.floor(matrix)).all() and matrix.max() > 1
    values_format = values_format or (".0f" if whole else ".2f")
    middle = matrix.max() / 2
    for i, j in np.argwhere(matrix > 0).tolist():
        color = "white" if matrix[i, j] > middle else "black"
        text = format(matrix[i, j], values_format)
        ax.text(j, i, text, ha="center", va="center", color=color, fontsize=font * 0.85)
