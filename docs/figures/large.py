"""How many outputs a row trains, flat and per parent node."""

import matplotlib.pyplot as plt
from _draw import BLUE, GREY, INK, ORANGE, start

figure, ax = start(6.4, 3.4)
ax.set_axis_on()
leaves = [10, 100, 1000, 10_000, 100_000]
flat = leaves
local = [10 * (i + 1) for i in range(5)]  # ten children at every step
ax.loglog(leaves, flat, "o-", color=ORANGE, lw=2.2)
ax.loglog(leaves, local, "o-", color=BLUE, lw=2.2)
ax.text(11_000, 22_000, "flat", color=ORANGE, weight="bold", ha="right", va="bottom", size=11)
ax.text(9_000, 75, "per parent node,\nten children each", color=BLUE, weight="bold", va="bottom")
ax.set_xlabel("leaves of the hierarchy", color=INK)
ax.set_ylabel("outputs that a row trains", color=INK)
ticks = leaves
ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
ax.set_yticks(ticks, [f"{n:,}" for n in ticks])
ax.minorticks_off()
ax.grid(color="#e8ebef")
ax.tick_params(colors=GREY, labelcolor=INK, length=0)
ax.spines[:].set_visible(False)
plt.show()
