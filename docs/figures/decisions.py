"""What the recommended recipe gains on six sets, with intervals."""

import matplotlib.pyplot as plt
from _compare import decisions
from _draw import BLUE, GREEN, GREY, ORANGE

done, recipes, fixed = decisions()
series = {
    "recipe minus flat": (BLUE, lambda r: recipes[r["set"]][fixed]["minus flat"]),
    "recipe minus greedy": (ORANGE, lambda r: recipes[r["set"]][fixed]["minus greedy"]),
    "best path minus greedy, per parent node": (
        GREEN,
        lambda r: r["best_path minus top_down"]["per parent"],
    ),
}
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained", facecolor="none")
ax.set_facecolor("none")
for k, (name, (color, find)) in enumerate(series.items()):
    for row, result in enumerate(done):
        middle, low, high = (100 * value for value in find(result))
        place = row + (k - 1) * 0.22
        ax.plot([low, high], [place, place], color=color, lw=2.2)
        ax.plot(middle, place, "o", color=color, ms=6, label=name if row == 0 else None)
ax.axvline(0, color=GREY, lw=1)
ax.set_yticks(range(len(done)), [result["set"] for result in done])
ax.invert_yaxis()
ax.set_xlabel("difference in hF, in points, with 95 % interval")
ax.spines[["top", "right", "left"]].set_visible(False)
ax.tick_params(left=False)
figure.legend(loc="outside upper left", frameon=False, fontsize=10)
