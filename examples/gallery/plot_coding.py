"""
How many rows can be automated?
===============================

If a model is uncertain, people code the complaint, occupation or diagnosis. The more errors you
allow, the fewer rows need human review. This example draws that curve, with a guarantee for every
point, and counts how often the suggestions for reviewers contain the correct code.
"""

import matplotlib.pyplot as plt
import numpy as np

from hiclass import LocalClassifierPerParentNode, guarantee_error, triage
from hiclass.datasets import make_hierarchical_classification

X, y = make_hierarchical_classification(
    9000, branching=[4, 3], depth=2, noise=1.2, random_state=0, return_X_y=True
)
train, calibrate, new = slice(0, 2000), slice(2000, 5000), slice(5000, 9000)
model = LocalClassifierPerParentNode(decoding="best_path").fit(X[train], y[train])

# %%
# For every limit, :func:`hiclass.guarantee_error` chooses thresholds on rows that the model has not
# seen, and :func:`hiclass.triage` applies them to new rows.

limits = [0.03, 0.05, 0.08, 0.1, 0.15, 0.2]
shares, errors = [], []
for limit in limits:
    guarantee_error(model, X[calibrate], y[calibrate], limit, levels=2).apply(model)
    found = triage(model, X[new], reasons=False)
    wrong = (found.predicted != y[new]).any(axis=1)
    shares.append(found.sure.mean())
    errors.append(wrong[found.sure].mean() if found.sure.any() else 0.0)

# %%
# Uncertain rows go to human review. For how many of them is the correct code among the
# suggestions?

guarantee_error(model, X[calibrate], y[calibrate], 0.05, levels=2).apply(model)
found = triage(model, X[new], k=5)
truth = np.array([found.hierarchy.find(tuple(path)) for path in y[new][found.review].tolist()])
listed = [(found.suggestions[:, :k] == truth[:, None]).any(axis=1).mean() for k in range(1, 6)]

# %%
# On the left, the errors stay below the limit. On the right, the correct code is nearly always
# among the suggestions.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.plot(limits, shares, "o-", label="rows coded by the model")
left.plot(limits, errors, "s--", label="wrong among them")
left.plot(limits, limits, ":", color="grey", label="errors allowed")
left.set(xlabel="errors allowed", ylabel="share", ylim=(0, 1))
left.legend()
right.bar(range(1, 6), listed, color="tab:orange")
right.set(xlabel="suggestions", ylabel="correct code among them", ylim=(0, 1))
figure.tight_layout()
plt.show()
