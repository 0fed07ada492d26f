"""Draw scores against fit times: ours in one colour, all others in another, with the frontier."""

import json
import sys
from pathlib import Path

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


def scatter(ax, points, size=10):
    """Draw the points of a dict of (seconds, score), with their names and the frontier."""
    points = _race_page.near_best(points)
    on = _race_page.frontier(points)
    x, y = zip(*(points[name] for name in on), strict=True)
    ax.plot(x, y, color=GREY, lw=1.2, zorder=1)
    ax.set_xscale("log")
    seconds = [p[0] for p in points.values()]
    ax.set_xlim(min(seconds) / 1.5, max(seconds) * 6)
    scores = [p[1] for p in points.values()]
    ax.set_ylim(min(scores) - 0.008, max(scores) + 0.008)
    for name, (at, score) in points.items():
        ours = name.startswith(_race_page.OURS)
        ax.scatter(at, score, s=34, color=BLUE if ours else GREY, zorder=3)
    _label(ax, points, on, size)
    for ours, color in (("hiclass", BLUE), ("other libraries", GREY)):
        ax.scatter([], [], s=34, color=color, label=ours)
    ax.plot([], [], color=GREY, lw=1.2, label="efficient frontier")
    ax.legend(loc="lower left", frameon=False, fontsize=size)
    ax.set_xlabel("fit, seconds", size=size)
    ax.set_ylabel("hF", size=size)
    ax.tick_params(labelsize=size - 1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.2)


def _label(ax, points, on, size):
    """Write the names at the points, moved up or down as far as needed to stay readable."""
    figure = ax.figure
    figure.canvas.draw()
    places = [ax.transData.transform(point) for point in points.values()]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    step = size * figure.dpi / 72
    for name, point in sorted(points.items(), key=lambda item: (item[0] not in on, -item[1][1])):
        ours = name.startswith(_race_page.OURS)
        x, y = ax.transData.transform(point)
        text = SHORT.get(name, name.removeprefix(_race_page.OURS))
        width = len(text) * 0.55 * step
        # Names of the frontier stand above their points, where the line is not.
        shifts = [0.9, 1.3, -0.9] if name in on else [0, 0.6, -0.6]
        shifts += [side * 0.6 * k for k in range(2, 12) for side in (1, -1)]
        for shift in shifts:
            low = y + (shift - 0.5) * step
            frame = (x + 7, low, x + 7 + width, low + step)
            if not any(_overlap(frame, other) for other in taken):
                break
        taken.append(frame)
        moved = low + 0.5 * step - y
        ax.annotate(
            text,
            point,
            xytext=(7 * 72 / figure.dpi, moved * 72 / figure.dpi),
            textcoords="offset points",
            va="center",
            size=size,
            color=BLUE if ours else INK,
            weight="bold" if ours else "normal",
            zorder=4,
            bbox={"fc": "white", "ec": "none", "pad": 0.4, "alpha": 0.8},
        )


def _overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
