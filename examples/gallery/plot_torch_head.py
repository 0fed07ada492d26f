"""
A hierarchical head for your own encoder
========================================

``HierarchicalHead`` is a last layer for any PyTorch network: a transformer or an image model that
you fine-tune or, as here, a small convolutional network for images of digits. The head provides the
loss and turns outputs into paths, confidences and the most probable alternatives, on the device of
the outputs.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from hiclass import Hierarchy
from hiclass.metrics import f1
from hiclass.torch import HierarchicalHead

torch.manual_seed(0)
torch.set_num_threads(1)

# %%
# The hierarchy groups digits by shape: with or without a closed loop, then round or straight.

SHAPES = {
    "loop": {"round": "0 6 8 9", "straight": "4"},
    "no loop": {"round": "2 3 5", "straight": "1 7"},
}
path_of = {
    digit: [loop, line, digit]
    for loop, lines in SHAPES.items()
    for line, digits in lines.items()
    for digit in digits.split()
}
tree = Hierarchy.from_paths(list(path_of.values()))
print(tree)

digits = load_digits()
X = torch.tensor(digits.images / 16, dtype=torch.float32).unsqueeze(1)
y = np.array([path_of[str(digit)] for digit in digits.target])
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Any encoder works that returns a vector per image. Encode the labels once; training is then an
# ordinary PyTorch loop.

encoder = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(32 * 4 * 4, 64),
    nn.ReLU(),
)
head = HierarchicalHead(64, tree, loss="conditional")
model = nn.Sequential(encoder, head)
target = head.encode(y_train)
optimiser = torch.optim.Adam(model.parameters(), lr=0.003)
for _ in range(20):
    for rows in torch.randperm(len(X_train)).split(64):
        optimiser.zero_grad()
        loss = head.loss(model(X_train[rows]), target[rows])
        loss.backward()
        optimiser.step()

# %%
# The head turns outputs into paths, with a probability for every level. ``min_confidence``
# truncates uncertain paths.

model.eval()
with torch.no_grad():
    outputs = model(X_test)
paths = head.predict(outputs)
confidence = head.predict_confidence(outputs)
print(f"hierarchical F-score on test rows: {f1(y_test, paths):.3f}")
short = head.predict(outputs, min_confidence=0.95)
print(f"paths truncated at 0.95: {(short[:, 2] == '').mean():.1%}")
others, proba = head.predict_paths(outputs, k=2)

# %%
# The figure shows the six most uncertain images with their two most probable digits, and below them
# the truth.

uncertain = np.argsort(confidence[:, -1])[:6]
figure, axes = plt.subplots(1, 6, figsize=(12, 2.8))
for ax, i in zip(axes, uncertain, strict=True):
    ax.imshow(X_test[i, 0].numpy(), cmap="gray_r")
    lines = [f"{path[-1]} ({p:.2f})" for path, p in zip(others[i], proba[i], strict=True)]
    ax.set_title(" or ".join(lines), fontsize=9)
    ax.set_xlabel(f"{y_test[i, -1]}: {y_test[i, 0]}, {y_test[i, 1]}", fontsize=8)
    ax.set_xticks([])
    ax.set_yticks([])
figure.suptitle("The most uncertain images, and the truth below")
figure.tight_layout()
plt.show()
