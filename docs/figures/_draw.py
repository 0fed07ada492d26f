"""What the figures of the guide share: colours, and small trees.

Figures are narrow, at most 6.4 inches, with letters of 10 points or more, so that they can be read
on a phone. They have no background, and colours for a light page: dark pages turn them round (see
`_static/hiclass.css`).
"""

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

BLUE, ORANGE, GREEN, PURPLE = "#3b76b8", "#e07b39", "#3a9d7a", "#8a63b0"
INK, GREY, PALE = "#26323f", "#69737f", "#e8ebef"
PALE_BLUE, PALE_ORANGE, PALE_GREEN = "#dbe8f6", "#fbe6d8", "#d9f0e7"


def start(width=6.4, height=3.4, columns=1, rows=1, **kwargs):
    """Return a figure and axes without frames."""
    plt.rcParams.update({"font.size": 11, "text.color": INK, "axes.titlesize": 11.5})
    figure, axes = plt.subplots(
        rows, columns, figsize=(width, height), layout="constrained", facecolor="none", **kwargs
    )
    for ax in axes.flat if columns * rows > 1 else [axes]:
        ax.set_axis_off()
    return figure, axes


def box(ax, x, y, text, *, fill=PALE, edge=None, ink=INK, width=None, size=11, **kwargs):
    """Write text into a rounded box around the point (x, y)."""
    style = {"boxstyle": "round,pad=0.35,rounding_size=0.25", "fc": fill, "ec": edge or fill}
    return ax.text(
        x, y, text, ha="center", va="center", size=size, color=ink, bbox=style, zorder=3, **kwargs
    )


def card(ax, x, y, width, height, *, fill="none", edge=GREY, style="-", lw=1.4, pad=0.0):
    """Draw a rounded rectangle with its lower left corner at (x, y)."""
    patch = FancyBboxPatch(
        (x, y),
        width,
        height,
        boxstyle=f"round,pad={pad},rounding_size=0.12",
        fc=fill,
        ec=edge,
        lw=lw,
        ls=style,
        zorder=0.5,
    )
    ax.add_patch(patch)
    return patch


def arrow(ax, start, end, *, color=GREY, lw=1.4, style="-|>", curve=0.0):
    """Draw an arrow between two points."""
    ax.annotate(
        "",
        xy=end,
        xytext=start,
        zorder=2,
        arrowprops={
            "arrowstyle": style,
            "color": color,
            "lw": lw,
            "shrinkA": 0,
            "shrinkB": 0,
            "connectionstyle": f"arc3,rad={curve}",
        },
    )


def edge(ax, start, end, *, color=GREY, lw=1.3, **kwargs):
    """Draw a line between two nodes."""
    ax.plot([start[0], end[0]], [start[1], end[1]], color=color, lw=lw, zorder=1, **kwargs)


# The hierarchy of the paper, drawn from top to bottom.
ANIMALS = {
    "": (3.1, 3.0),
    "Reptile": (1.3, 2.0),
    "Mammal": (4.6, 2.0),
    "Snake": (0.7, 1.0),
    "Lizard": (1.9, 1.0),
    "Cat": (3.9, 1.0),
    "Wolf": (5.3, 1.0),
    "Dog": (5.3, 0.0),
}
ANIMAL_EDGES = [
    ("", "Reptile"),
    ("", "Mammal"),
    ("Reptile", "Snake"),
    ("Reptile", "Lizard"),
    ("Mammal", "Cat"),
    ("Mammal", "Wolf"),
    ("Wolf", "Dog"),
]


def animals(ax, fill=None, *, size=11, leave_out=()):
    """Draw the paper's hierarchy; ``fill`` maps names to (fill, ink)."""
    fill = fill or {}
    for above, below in ANIMAL_EDGES:
        if below not in leave_out:
            edge(ax, ANIMALS[above], ANIMALS[below])
    for name, (x, y) in ANIMALS.items():
        if name not in leave_out:
            color, ink = fill.get(name, (PALE, INK))
            box(ax, x, y, name or "(root)", fill=color, ink=ink, size=size)
    ax.set(xlim=(0, 6.1), ylim=(-0.4, 3.4))
