"""A stream of batches, and what each of them updates, per node."""

import matplotlib.pyplot as plt
from _draw import BLUE, GREY, INK, ORANGE, PALE, box, edge, start

PLACE = {
    "": (2.4, 2.0),
    "Loans": (1.1, 1.0),
    "Cards": (3.7, 1.0),
    "Car": (0.5, 0.0),
    "House": (1.7, 0.0),
    "Fees": (2.8, 0.0),
    "Limits": (3.7, 0.0),
    "Fraud": (4.6, 0.0),
}
ABOVE = {"Car": "Loans", "House": "Loans", "Fees": "Cards", "Limits": "Cards", "Fraud": "Cards"}
ABOVE |= {"Loans": "", "Cards": ""}
BATCHES = [
    ("batch 1: rows of Loans", {"Loans", "Cards", "Car", "House"}, set(), {"Fraud"}),
    ("batch 2: rows of Cards", {"Loans", "Cards", "Fees", "Limits"}, set(), {"Fraud"}),
    ("batch 3: a new class", {"Loans", "Cards", "Fees", "Limits"}, {"Fraud"}, set()),
]
figure, axes = start(6.4, 6.4, rows=3)
for ax, (title, touched, new, absent) in zip(axes, BATCHES, strict=True):
    for below, above in ABOVE.items():
        if below not in absent:
            edge(ax, PLACE[above], PLACE[below], color="#c9ced4")
    for name, (x, y) in PLACE.items():
        if name in absent:
            continue
        fill, ink = (BLUE, "white") if name in touched else (PALE, GREY)
        if name in new:
            fill, ink = ORANGE, "white"
        box(ax, x, y, name or "(root)", fill=fill, ink=ink)
    ax.set_title(title, loc="left", weight="bold", color=INK)
    ax.set(xlim=(0, 5.1), ylim=(-0.35, 2.35))
for x, color, text in ((0.02, BLUE, "updated"), (0.24, ORANGE, "new"), (0.42, GREY, "unchanged")):
    figure.text(x, 0.012, "■ " + text, color=color, size=11)
figure.get_layout_engine().set(rect=(0, 0.045, 1, 0.955))
plt.show()
