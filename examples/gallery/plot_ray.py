"""
Fitting on a Ray cluster
========================

The local classifiers of a model are independent, so a cluster can fit them in parallel. hiclass
uses the running Ray cluster, here a small one on this machine. The result does not depend on where
it is fitted.
"""

import time

import joblib
import matplotlib.pyplot as plt
import numpy as np
import ray
from ray.util.joblib import register_ray
from sklearn.ensemble import RandomForestClassifier

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import make_hierarchical_classification

data = make_hierarchical_classification(
    n_samples=6000, branching=[4, 4, 4], noise=0.8, random_state=0
)
X_train, y_train = data.data[:4000], data.target[:4000]
X_test, y_test = data.data[4000:], data.target[4000:]

# %%
# On a real cluster, use ``ray.init(address="auto")``.

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
register_ray()

# %%
# The only change to the program is the line with ``with``. To show the work, we use a classifier
# that records when and in which process it was fitted.


class Noted(RandomForestClassifier):
    """A forest that records when and where it was fitted."""

    def fit(self, X, y, sample_weight=None):
        import os

        start = time.time()
        super().fit(X, y, sample_weight)
        self.work_ = (os.getpid(), start, time.time())
        return self


model = LocalClassifierPerParentNode(Noted(n_estimators=30, random_state=0))
with joblib.parallel_config(backend="ray"):
    model.fit(X_train, y_train)
print(f"hF {model.score(X_test, y_test):.3f} with {len(model.local_classifiers_)} classifiers")

# %%
# The same fit without Ray gives the same model.

alone = LocalClassifierPerParentNode(Noted(n_estimators=30, random_state=0)).fit(X_train, y_train)
print("same predictions:", bool((alone.predict(X_test) == model.predict(X_test)).all()))
ray.shutdown()

# %%
# Every bar is the fit of a local classifier in a worker. Large problems start first, beginning with
# the root. A worker that is still starting up begins later.

work = [(*classifier.work_, path) for path, classifier in model.local_classifiers_.items()]
first = min(start for _, start, _, _ in work)
workers = sorted({worker for worker, *_ in work})
shades = {0: "#1f4e84", 1: "#3b76b8", 2: "#9dbfe2"}
fig, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
for worker, start, end, path in work:
    ax.barh(
        workers.index(worker),
        end - start,
        left=start - first,
        height=0.6,
        color=shades[len(path)],
        ec="white",
        lw=1,
    )
for depth, color in shades.items():
    label = ("the root", "below level 1", "below level 2")[depth]
    ax.bar(np.nan, np.nan, color=color, label=label)
ax.set_yticks(range(len(workers)), [f"worker {i + 1}" for i in range(len(workers))])
ax.set_xlabel("seconds")
fig.legend(frameon=False, ncols=3, loc="outside upper left")
ax.spines[["top", "right", "left"]].set_visible(False)
ax.tick_params(axis="y", length=0)
plt.show()
