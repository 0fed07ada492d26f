"""Three decodings on one row."""

import matplotlib.pyplot as plt
from _draw import BLUE, GREEN, GREY, ORANGE, PALE, box, edge, start

PLACE = {
    "": (2.5, 3.0),
    "Reptile": (1.1, 2.0),
    "Mammal": (3.9, 2.0),
    "Snake": (0.5, 0.9),
    "Lizard": (1.7, 0.9),
    "Cat": (2.9, 0.9),
    "Dog": (3.9, 0.9),
    "Bat": (4.9, 0.9),
}
PROBABILITY = {
    "": 1,
    "Reptile": 0.4,
    "Mammal": 0.6,
    "Snake": 0.36,
    "Lizard": 0.04,
    "Cat": 0.3,
    "Dog": 0.18,
    "Bat": 0.12,
}
PARENT = {
    "Reptile": "",
    "Mammal": "",
    "Snake": "Reptile",
    "Lizard": "Reptile",
    "Cat": "Mammal",
    "Dog": "Mammal",
    "Bat": "Mammal",
}
CHOICES = {
    "top_down": (BLUE, ["Mammal", "Cat"], "the best child at every step"),
    "best_path": (ORANGE, ["Reptile", "Snake"], "the most probable final class"),
    "expected_f1": (GREEN, ["Mammal"], "stops before uncertain steps"),
}

figure, axes = start(6.4, 7.2, rows=3)
for ax, (name, (color, chosen, words)) in zip(axes, CHOICES.items(), strict=True):
    for below, above in PARENT.items():
        on = below in chosen
        edge(ax, PLACE[above], PLACE[below], color=color if on else "#c9ced4", lw=3 if on else 1.2)
    for node, (x, y) in PLACE.items():
        on = node in chosen
        text = f"{node or '(root)'}  {PROBABILITY[node]:.2f}" if y > 1 else None
        text = text or f"{node}\n{PROBABILITY[node]:.2f}"
        box(ax, x, y, text, fill=color if on else PALE, ink="white" if on else "#5b6673", size=10.5)
    ax.set_title(name, loc="left", family="monospace", weight="bold", color=color)
    ax.text(5.45, 3.33, words, color=GREY, size=10.5, ha="right", va="bottom")
    ax.set(xlim=(0, 5.5), ylim=(0.55, 3.3))
plt.show()
