"""hF against fit time of all libraries, a panel per set."""

import matplotlib.pyplot as plt
from _compare import _race_page, label, legend, scatter

results = _race_page.load_results()
figure, axes = plt.subplots(
    len(results),
    1,
    figsize=(6.8, 4.6 * len(results)),
    layout="constrained",
    facecolor="none",
    dpi=72,
)
drawn = []
for ax, result in zip(axes, results, strict=True):
    ax.set_facecolor("none")
    drawn.append(scatter(ax, _race_page.set_points(result)))
    ax.set_title(result["set"], loc="right", size=12)
    ax.set(xlabel="fit, seconds", ylabel="hF")
    legend(ax, fontsize=9)
for ax, points in zip(axes, drawn, strict=True):
    label(ax, points, size=9)
