"""Local problems on one and on two workers."""

import matplotlib.pyplot as plt
from _draw import GREY, INK, start

PROBLEMS = [8.0, 5.0, 4.0, 3.5, 2.0, 1.5, 1.2, 1.0, 0.8, 0.6, 0.5, 0.4]
SHADES = ["#1f4e84"] + ["#3b76b8"] * 3 + ["#86b0dc"] * 8
WORDS = ("the root", "the first level", "the rest")


def schedule(n_workers):
    """Hand out problems in order to whoever is free first."""
    free = [0.0] * n_workers
    for cost, shade in zip(PROBLEMS, SHADES, strict=True):
        worker = free.index(min(free))
        yield worker, free[worker], cost, shade
        free[worker] += cost


figure, axes = start(6.4, 4.0, rows=3, gridspec_kw={"height_ratios": (1, 2, 3)})
for ax, n_workers in zip(axes, (1, 2, 3), strict=True):
    end = 0.0
    for worker, begin, cost, shade in schedule(n_workers):
        ax.barh(-worker, cost, left=begin, height=0.72, color=shade, ec="white", lw=1.5)
        end = max(end, begin + cost)
    ax.set_title(f"{n_workers} worker{'s' * (n_workers > 1)}", loc="left", weight="bold", color=INK)
    ax.text(end + 0.4, -(n_workers - 1) / 2, f"{end:g} s", va="center", color=GREY)
    ax.set(xlim=(0, 32), ylim=(-n_workers + 0.45, 0.55))
for row, (shade, words) in enumerate(zip(dict.fromkeys(SHADES), WORDS, strict=True)):
    axes[2].text(14.5, -0.45 - 0.6 * row, "■", size=11, color=shade, va="center")
    axes[2].text(15.4, -0.45 - 0.6 * row, words, size=10, color=GREY, va="center")
plt.show()
