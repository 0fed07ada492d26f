"""Renderings of a hierarchy: as text, as HTML and as a picture."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from hiclass._typing import AnyArray
from hiclass.hierarchy._texts import shorten

_TEXT_LINES = 200
_HTML_NODES = 2000
#: A picture with more nodes cannot be read and would take minutes.
_DRAWN_NODES = 5000
_LONGEST_NAME = 40
#: Inches.
_LARGEST_PICTURE = 80


def tree_text(hierarchy: Any) -> str:
    """Draw a hierarchy with lines of text; a long one is truncated."""
    lines: list[str] = []
    seen: set[int] = set()
    stack = [(int(v), "", v == hierarchy.children(0)[-1]) for v in hierarchy.children(0)[::-1]]
    while stack and len(lines) < _TEXT_LINES:
        v, indent, last = stack.pop()
        again = v in seen and not hierarchy.is_leaf[v]
        lines.append(
            f"{indent}{'└── ' if last else '├── '}{hierarchy.labels[v]}"
            f"{title_of(hierarchy, v)}{' (see above)' if again else ''}"
        )
        if again:
            continue
        seen.add(v)
        children = hierarchy.children(v).tolist()
        below = indent + ("    " if last else "│   ")
        stack.extend((c, below, c == children[-1]) for c in reversed(children))
    if stack:
        lines.append(f"... {hierarchy.n_nodes - 1 - len(seen)} more classes")
    return "\n".join(lines)


def title_of(hierarchy: Any, v: int) -> str:
    """The first text of a node after a colon, unless it equals the label."""
    texts = hierarchy.texts[v]
    if not texts or texts[0] == str(hierarchy.labels[v]):
        return ""
    return f": {shorten(texts[0])}"


def tree_html(hierarchy: Any) -> str:
    """Write a hierarchy as nested, collapsible HTML; a large one is truncated."""
    parts = [f"<div><strong>{html.escape(repr(hierarchy))}</strong>"]
    seen: set[int] = set()
    stack: list[int | str] = hierarchy.children(0)[::-1].tolist()
    while stack:
        v = stack.pop()
        if isinstance(v, str):
            parts.append(v)
            continue
        if len(seen) >= _HTML_NODES:
            parts.append("<div>&hellip;</div>")
            parts.extend(s for s in reversed(stack) if isinstance(s, str))
            break
        name = html.escape(f"{hierarchy.labels[v]}{title_of(hierarchy, v)}")
        children = hierarchy.children(v)
        if len(children) and v not in seen:
            parts.append(
                f"<details style='margin-left:1em'><summary>{name} "
                f"<small>({len(children)})</small></summary>"
            )
            stack.append("</details>")
            stack.extend(children[::-1].tolist())
        else:
            parts.append(f"<div style='margin-left:2em'>{name}</div>")
        seen.add(v)
    return "".join([*parts, "</div>"])


def draw_tree(hierarchy: Any, ax: Any = None) -> Any:
    """Draw a hierarchy from left to right with matplotlib."""
    import matplotlib.pyplot as plt

    if hierarchy.n_nodes > _DRAWN_NODES:
        raise ValueError(
            f"The hierarchy has {hierarchy.n_nodes - 1} classes, too many for a picture: draw "
            f"supports up to {_DRAWN_NODES - 1}. Draw a part of it, or use make_report, which "
            f"supports zooming."
        )
    height = _heights_on_page(hierarchy)
    n_rows = height.max() + 1
    if ax is None:
        size = (
            min(2.4 * hierarchy.depth + 1.5, _LARGEST_PICTURE),
            min(max(0.28 * n_rows, 1.5), _LARGEST_PICTURE),
        )
        _, ax = plt.subplots(figsize=size, layout="constrained")
    for c in range(1, hierarchy.n_nodes):
        for p in hierarchy.parents(c).tolist():
            x, y = hierarchy.levels[[p, c]], height[[p, c]]
            middle = x.mean()
            ax.plot(
                [x[0], middle, middle, x[1]],
                [y[0], y[0], y[1], y[1]],
                color="0.75",
                lw=0.8,
                zorder=1,
            )
    ax.scatter(hierarchy.levels, height, s=14, color="C0", zorder=2)
    for v in range(1, hierarchy.n_nodes):
        # Labels of leaves are to the right of their dots, those of inner nodes above.
        offset, va = ((5, 0), "center") if hierarchy.is_leaf[v] else ((0, 4), "bottom")
        name = str(hierarchy.labels[v])
        ax.annotate(
            name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}...",
            (hierarchy.levels[v], height[v]),
            xytext=offset,
            textcoords="offset points",
            ha="left" if hierarchy.is_leaf[v] else "center",
            va=va,
            fontsize=8,
        )
    ax.margins(x=0.15)
    ax.invert_yaxis()
    ax.set_axis_off()
    return ax


def _heights_on_page(hierarchy: Any) -> AnyArray:
    """A row for every leaf; an inner node is in the middle of its children."""
    height = np.zeros(hierarchy.n_nodes)
    height[hierarchy.is_leaf] = np.arange(hierarchy.is_leaf.sum())
    for v in range(hierarchy.n_nodes - 1, -1, -1):
        if not hierarchy.is_leaf[v]:
            height[v] = height[hierarchy.children(v)].mean()
    return height
