"""The picture of the house: the rooms from the ground up, and who walks through them."""

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

INK, FIT, PREDICT = "#56606b", "#2f7fb5", "#d9731a"

#: From the bottom to the top: rooms side by side, what they do, whether fit and predict enter them.
FLOORS = [
    ("_rows  _state  _closure  …", "X as rows · what model files hold", "fp"),
    ("_labels", "labels as codes", "f"),
    ("hierarchy", "the classes", "f"),
    ("_targets", "labels to nodes, and back", "fp"),
    ("_problems | _linear | _encoders | metrics", "what is learned: strategies, policies", "f"),
    ("_engine", "where it is learned: serial, threads, joblib, Ray", "f"),
    ("_inference", "what a fitted model predicts: probabilities, decodings", "p"),
    ("_out_of_fold", "what is learned from held-out rows", ""),
    ("_estimators", "the public estimators: fit and predict", "fp"),
    ("torch", "the network", ""),
    ("_automatic", "features of tables", ""),
    ("_export   |   _inspect   |   datasets", "files · reasons, reports · data", ""),
    ("_cli", "the command line", ""),
]
WIDTH, HEIGHT = 7.0, 0.42

figure, ax = plt.subplots(figsize=(8.4, 5.4))
figure.patch.set_alpha(0)
for floor, (rooms, text, walks) in enumerate(FLOORS):
    y = floor * HEIGHT
    ax.add_patch(Rectangle((0, y), WIDTH, HEIGHT, facecolor="none", edgecolor=INK, lw=1))
    middle = y + HEIGHT / 2
    ax.text(0.12, middle, rooms, va="center", color=INK, family="monospace", fontweight="bold")
    ax.text(WIDTH - 0.12, middle, text, va="center", ha="right", color=INK, fontsize=9)
    for letter, color, x in (("f", FIT, 0.45), ("p", PREDICT, 0.85)):
        if letter in walks:
            ax.plot(WIDTH + x, middle, "o", color=color, markersize=7)

top = len(FLOORS) * HEIGHT
ax.plot([-0.15, WIDTH / 2, WIDTH + 0.15], [top, top + 0.55, top], color=INK, lw=1)
ax.text(WIDTH / 2, top + 0.2, "from hiclass import …", ha="center", color=INK, fontsize=10)
for name, color, x in (("fit", FIT, 0.45), ("predict", PREDICT, 0.85)):
    ax.text(WIDTH + x, top + 0.08, name, ha="center", va="bottom", rotation=60, color=color)
style = {"arrowstyle": "-|>", "color": INK, "lw": 1.2}
ax.annotate("", xy=(-0.35, 0.1), xytext=(-0.35, top - 0.1), arrowprops=style)
ax.text(-0.5, top / 2, "imports", rotation=90, ha="center", va="center", color=INK, fontsize=9)
ax.set_xlim(-0.7, WIDTH + 1.3)
ax.set_ylim(-0.1, top + 0.75)
ax.axis("off")
figure.tight_layout(pad=0.2)
