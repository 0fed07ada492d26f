"""
Learning from a stream, with new classes
========================================

With ``partial_fit``, rows do not have to fit into memory, and new classes may appear later. Here
each batch of a stream is first predicted and then learned, so every score is for unseen rows.
Halfway through, a new branch of the hierarchy appears.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import SGDClassifier

from hiclass import LocalClassifierPerNode
from hiclass.datasets import make_hierarchical_classification
from hiclass.metrics import f1

data = make_hierarchical_classification(
    n_samples=8000, n_features=15, branching=[4, 3], depth=2, noise=0.5, random_state=2
)
X, y = data.data, data.target
late = y[:, 0] == "4"  # this branch does not occur in the first half
half = len(X) // 2
keep = ~late | (np.arange(len(X)) >= half)
X, y = X[keep], y[keep]
arrival = int(np.flatnonzero(y[:, 0] == "4")[0])

# %%
# ``LocalClassifierPerNode`` adds new classes as they appear. The local classifier must have
# ``partial_fit``, like ``SGDClassifier``.

model = LocalClassifierPerNode(SGDClassifier(loss="log_loss", alpha=1e-3), random_state=0)
size = 100
seen, score, score_new, classes = [], [], [], []
for start in range(0, len(X), size):
    X_batch, y_batch = X[start : start + size], y[start : start + size]
    if start:
        predicted = model.predict(X_batch)
        new = y_batch[:, 0] == "4"
        seen.append(start)
        score.append(f1(y_batch, predicted))
        score_new.append(f1(y_batch[new], predicted[new]) if new.any() else np.nan)
    model.partial_fit(X_batch, y_batch)
    classes.append(model.hierarchy_.n_nodes - 1)
print(f"{len(classes)} batches; {classes[0]} classes after the first, {classes[-1]} after the last")

# %%
# When the new branch appears, the score drops, because the model does not know its classes yet. It
# recovers after one or two batches.

fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.axvspan(arrival, len(X), color="#fbe6d8", lw=0)
ax.text(arrival + 60, 0.04, "a new branch of four classes", color="#b45a1c")
ax.plot(seen, score, color="#3b76b8", label="all rows of the batch")
ax.plot(seen, score_new, color="#e07b39", label="rows of the new branch")
ax.set(xlabel="rows seen so far", ylabel="hF before learning the batch", ylim=(0, 1.03))
ax.legend(frameon=False, loc="center left")
ax.spines[["top", "right"]].set_visible(False)
ax.margins(x=0)
plt.show()
