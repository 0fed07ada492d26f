"""Time, memory and files of large taxonomies, as multiples of PECOS, from the stored results."""

import json
import statistics
from pathlib import Path

import matplotlib.pyplot as plt
from _draw import BLUE, GREY, INK, ORANGE, start

# Sphinx runs figures in their folder.
RESULT = Path("../../benchmarks/results/taxonomy.json")
PECOS = "PECOS XLinear"
SHOWN = [  # who, colour, marker, filled
    ("napkinXC PLT", ORANGE, "D", False),
    ("hiclass, quick fast SVC, small weights dropped", BLUE, "o", True),
]
MEASURES = {
    "fit_cpu_s": "fit, CPU time",
    "predict_cpu_s": "predict, CPU time",
    "peak_bytes": "peak memory",
    "size_bytes": "file",
}


def ratio(runs, name, key):
    """The median over the turns of the ratio to PECOS."""
    pairs = zip(runs[name], runs[PECOS], strict=False)
    return statistics.median(ours[key] / theirs[key] for ours, theirs in pairs)


sets = json.loads(RESULT.read_text(encoding="utf-8"))["sets"]
names = [f"{name}\n{found['size']['leaves']:,} leaves" for name, found in sets.items()]
places = range(len(sets))
figure, axes = start(6.4, 6.4, columns=2, rows=2, sharex=True, sharey=True)
for ax, (key, title) in zip(axes.flat, MEASURES.items(), strict=True):
    ax.set_axis_on()
    ax.axvline(1, color=ORANGE, lw=2.2, zorder=2)
    for name, color, marker, filled in SHOWN:
        x = [ratio(found["runs"], name, key) for found in sets.values()]
        face = color if filled else "white"
        ax.plot(x, places, marker, color=color, mfc=face, mew=1.8, ms=8.5, zorder=3)
    ax.set_xscale("log", base=2)
    ax.set_xticks([2.0**k for k in range(-4, 3)], ["1/16", "⅛", "¼", "½", "1", "2", "4"])
    ax.set(xlim=(0.05, 4.6), ylim=(len(sets) - 0.5, -0.5))
    ax.set_yticks(places, names)
    ax.minorticks_off()
    ax.grid(color="#e8ebef")
    ax.set_axisbelow(True)
    ax.set_title(title, loc="left", color=INK, weight="bold")
    ax.tick_params(colors=GREY, labelcolor=INK, length=0, labelsize=10.5)
    ax.spines[:].set_visible(False)
for x, color, text in (
    (0.03, BLUE, "● hiclass"),
    (0.24, ORANGE, "◇ napkinXC"),
    (0.48, ORANGE, "| PECOS = 1; to the left is less"),
):
    figure.text(x, 0.015, text, color=color, size=11, weight="bold")
figure.get_layout_engine().set(rect=(0, 0.06, 1, 0.94))
plt.show()
