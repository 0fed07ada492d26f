"""Mean hF against mean fit time of all libraries."""

import matplotlib.pyplot as plt
from _compare import _race_page, label, legend, scatter

figure, ax = plt.subplots(figsize=(6.8, 4.8), layout="constrained", facecolor="none", dpi=72)
ax.set_facecolor("none")
points = scatter(ax, _race_page.mean_points(_race_page.load_results()))
ax.set_xlabel("fit, seconds (geometric mean of five sets)")
ax.set_ylabel("hF (mean of five sets)")
legend(ax)
label(ax, points)
