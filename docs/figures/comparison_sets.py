"""hF against fit time of all libraries, a panel per set."""

import matplotlib.pyplot as plt
from _compare import _race_page, scatter

results = _race_page.load_results()
figure, axes = plt.subplots(
    len(results), 1, figsize=(8, 4.6 * len(results)), layout="constrained", facecolor="none"
)
for ax, result in zip(axes, results, strict=True):
    ax.set_facecolor("none")
    scatter(ax, _race_page.set_points(result), size=9)
    ax.set_title(result["set"], loc="left", size=12)
