"""The parts of a report, as a sketch of its page."""

import matplotlib.pyplot as plt
import numpy as np
from _draw import BLUE, GREY, INK, ORANGE, PALE, card, start
from matplotlib.patches import Rectangle

figure, ax = start(6.4, 4.6)
card(ax, 0.05, 0.05, 9.9, 6.9, fill="white", edge="#c9ced4")
ax.text(0.35, 6.5, "Animals", size=12, weight="bold", color=INK, va="center")

scores = (("0.84", "hF"), ("0.86", "hP"), ("0.82", "hR"), ("62 %", "exact"))
for i, (value, name) in enumerate(scores):
    x = 0.35 + 1.25 * i
    card(ax, x, 5.1, 1.1, 0.95, fill="#f5f6f8", edge="#f5f6f8")
    ax.text(x + 0.55, 5.7, value, ha="center", va="center", weight="bold", size=11)
    ax.text(x + 0.55, 5.32, name, ha="center", va="center", size=10, color=GREY)
ax.text(5.6, 5.55, "1  overview", size=11, color=BLUE, va="center", weight="bold")

rng = np.random.default_rng(3)
colors = plt.get_cmap("RdYlBu")
for x, widths in ((0.35, [2.2, 1.3, 0.55]), (1.75, None), (3.15, None)):
    y = 4.75
    parts = widths if widths else rng.dirichlet(np.ones(6 if x < 2 else 14) * 4) * 4.05
    for height in parts:
        score = rng.beta(5, 1.2) if x < 3 else rng.beta(1.6, 1)
        y -= height
        ax.add_patch(Rectangle((x, y), 1.35, height, fc=colors(score), ec="white", lw=1))
ax.text(0.35, 0.22, "2  hierarchy", size=11, color=BLUE, va="bottom", weight="bold")

card(ax, 5.0, 2.45, 4.6, 2.3, fill="#f5f6f8", edge="#f5f6f8")
ax.text(5.2, 4.42, "Reptilia", weight="bold", size=11, va="center")
for i, (name, share) in enumerate((("Amphibia", 0.6), ("Aves", 0.25), ("Mammalia", 0.1))):
    y = 3.95 - 0.42 * i
    ax.text(5.2, y, name, size=10, va="center")
    ax.add_patch(Rectangle((6.75, y - 0.12), 1.3 * share, 0.24, fc=ORANGE))
line = np.linspace(0, 1, 20)
ax.plot(8.35 + line, 3.0 + 1.2 * line, color=GREY, lw=1, ls="--")
ax.plot(8.35 + line, 3.0 + 1.2 * line**1.6, color=BLUE, lw=2)
ax.text(5.2, 2.68, "3  a class and its errors", size=11, color=BLUE,
        weight="bold", va="center")  # fmt: skip

card(ax, 5.0, 0.75, 4.6, 1.45, fill="#f5f6f8", edge="#f5f6f8")
ax.plot([5.3, 9.3], [1.75, 1.75], color=PALE, lw=5, solid_capstyle="round")
ax.plot([5.3, 7.9], [1.75, 1.75], color=BLUE, lw=5, solid_capstyle="round")
ax.plot(7.9, 1.75, "o", ms=11, mfc="white", mec=BLUE, mew=2)
ax.text(5.2, 1.32, "precision 95 %   labels left 71 %", size=10.5, va="center")
ax.text(5.2, 0.97, "4  confidence", size=11, color=BLUE, weight="bold", va="center")
ax.set(xlim=(0, 10), ylim=(0, 7))
plt.show()
