"""Draw scores against fit times: ours in one colour, all others in another, with the frontier."""

import json
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from _draw import BLUE, GREY, INK

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "race")]

import _decisions_page  # noqa: E402
import _race_page  # noqa: E402

SHORT = {
    "sklearn-hierarchical-classification": "sklearn-hier.-class.",
    "flat LogisticRegression": "flat logistic",
    "LibMultiLabel 1-vs-rest": "LibMultiLabel 1-vs-rest",
}


def decisions():
    """Return the sets of the comparison of decodings, their recipes, and the best one's name."""
    files = [_decisions_page.result_file(name) for name in _decisions_page.SOURCES]
    return _decisions_page.recipes_of([json.loads(f.read_text()) for f in files if f.exists()])


def scatter(ax, points):
    """Draw the points of a dict of (seconds, score), and their frontier; return what is drawn."""
    points = _race_page.near_best(points)
    x, y = zip(*(points[name] for name in _race_page.frontier(points)), strict=True)
    ax.plot(x, y, color=GREY, lw=1.2, zorder=1)
    ax.set_xscale("log")
    seconds = [p[0] for p in points.values()]
    ax.set_xlim(min(seconds) / 3, max(seconds) * 3)
    scores = [p[1] for p in points.values()]
    room = 0.06 * (max(scores) - min(scores))
    ax.set_ylim(min(scores) - room, max(scores) + 1.5 * room)
    for name, point in points.items():
        ax.scatter(*point, s=34, color=_color(name), zorder=3)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.2)
    return points


def legend(ax, **kwargs):
    """Name the two colours and the line, above the axes."""
    for name, color in (("hiclass", BLUE), ("other libraries", GREY)):
        ax.scatter([], [], s=34, color=color, label=name)
    ax.plot([], [], color=GREY, lw=1.2, label="efficient frontier")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, **kwargs)


def label(ax, points, size=10):
    """Write the names beside their points. Call it last: it needs the final layout.

    A name stands at the right of its point, or else at the left, above or below. If all these
    places are taken, it moves away, and a thin line leads to its point.
    """
    figure = ax.figure
    figure.canvas.draw()
    pixel = figure.dpi / 72
    places = {name: ax.transData.transform(point) for name, point in points.items()}
    line = _along([places[name] for name in _race_page.frontier(points)])
    dots = [_frame(x, y, 8 * pixel, 8 * pixel) for x, y in places.values()]
    styles, frames = {}, {}
    for name, (x, y) in places.items():
        weight = "bold" if name.startswith(_race_page.OURS) else "normal"
        styles[name] = {"size": size, "weight": weight, "color": _color(name, INK), "zorder": 4}
        drawn = ax.text(0, 0, _short(name), **styles[name])
        box = drawn.get_window_extent()
        drawn.remove()
        offsets = _offsets(box.width, box.height, 7 * pixel)
        frames[name] = [_frame(x + dx, y + dy, box.width, box.height) for dx, dy in offsets]
    for name, best in _choose(frames, dots, line, ax.bbox).items():
        left, low, right, high = frames[name][best]
        middle = np.array([(left + right) / 2, (low + high) / 2])
        ax.annotate(
            _short(name),
            points[name],
            xytext=(middle - places[name]) / pixel,
            textcoords="offset points",
            ha="center",
            va="center",
            arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.7} if best >= _N_NEAR else None,
            **styles[name],
        )


def _choose(frames, dots, line, axes, n_trials=60):
    """Choose a place for every name: the best of some trials, in which names move in turn."""
    names = list(frames)
    fixed = {
        name: np.array([_hits(frame, dots, line, axes) for frame in frames[name]])
        + [0.05 * k if k < _N_NEAR else 3 + 0.1 * k for k in range(len(frames[name]))]
        for name in names
    }
    rng = np.random.default_rng(0)
    trials = []
    for _ in range(n_trials):
        chosen = {name: int(rng.integers(_N_NEAR)) for name in names}
        for _ in range(10):
            for name in rng.permutation(names):
                others = [frames[other][chosen[other]] for other in names if other != name]
                crossed = [sum(_overlap(frame, o) for o in others) for frame in frames[name]]
                costs = fixed[name] + 10 * np.array(crossed)
                chosen[name] = int(np.argmin(costs))
        total = sum(fixed[name][place] for name, place in chosen.items())
        total += 5 * sum(
            _overlap(frames[one][chosen[one]], frames[other][chosen[other]])
            for one in names
            for other in names
            if one != other
        )
        trials.append((total, chosen))
    return min(trials, key=lambda trial: trial[0])[1]


#: Places beside a point; at those after them, a line leads to the point.
_N_NEAR = 8


def _short(name):
    return SHORT.get(name, name.removeprefix(_race_page.OURS))


def _offsets(width, height, gap):
    """Where the middle of a name may be, from its point: near first, then further away."""
    wide, tall = width / 2 + gap, height / 2 + 0.8 * gap
    near = [(wide, 0), (-wide, 0), (0, tall), (0, -tall)]
    near += [(side * wide * 0.95, up * tall * 0.8) for up in (1, -1) for side in (1, -1)]
    far = [
        (side * wide * out, up * (tall + height * k))
        for k in (1, 2, 3)
        for up in (1, -1)
        for out in (0.6, 1.0)
        for side in (1, -1)
    ]
    return near + far


def _hits(frame, taken, line, axes):
    """How much a name would cover: names and points count most, then the frontier."""
    left, low, right, high = frame
    covered = sum(_overlap(frame, other) for other in taken)
    on_line = ((line > (left, low)) & (line < (right, high))).all(axis=1).any()
    outside = left < axes.x0 or right > axes.x1 or low < axes.y0 or high > axes.y1
    return 10 * covered + 2 * bool(on_line) + 20 * bool(outside)


def _along(corners):
    """Points on the lines between corners."""
    steps = np.linspace(0, 1, 200)[:, np.newaxis]
    parts = [(1 - steps) * start + steps * end for start, end in pairwise(corners)]
    return np.vstack(parts) if parts else np.empty((0, 2))


def _frame(x, y, width, height):
    return (x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _color(name, other=GREY):
    return BLUE if name.startswith(_race_page.OURS) else other
