"""
Classes without rows: the words of ICD-10-CM
============================================

A medical classification has a title for every code, but training rows for some codes only. Here the
titles are class texts, and the inclusion terms are the rows. How good are predictions from titles
alone, and how much do rows add?
"""

import matplotlib.pyplot as plt
import numpy as np

from hiclass import ClassTextClassifier, Hierarchy, explain
from hiclass.datasets import load_icd10cm
from hiclass.metrics import exact_match, f1

codes = load_icd10cm()
chosen = np.char.startswith(codes.target[:, 0].astype(str), "1 ")
data, target, kind = codes.data[chosen], codes.target[chosen], codes.kind[chosen]

# %%
# We use the first chapter. The titles of a category and of all codes below it are its texts.

texts = {}
for title, path in zip(data[kind == "title"], target[kind == "title"], strict=True):
    texts.setdefault(tuple(path), []).append(title)
tree = Hierarchy.from_paths([list(path) for path in texts], texts=texts)
X, y = data[kind != "title"], target[kind != "title"]
print(f"{len(tree.leaves())} categories, {sum(map(len, tree.texts))} titles, {len(X)} terms")

# %%
# Half of the terms are test rows. Of the others, the model gets at most 0, 1, 2 or 4 per category.

order = np.random.default_rng(0).permutation(len(X))
test, rest = order[: len(X) // 2], order[len(X) // 2 :]
number = {}
turn = np.array(
    [number.setdefault(tuple(y[i]), []).append(i) or len(number[tuple(y[i])]) for i in rest]
)
scores = []
for most in (0, 1, 2, 4):
    rows = rest[turn <= most]
    model = ClassTextClassifier(hierarchy=tree)
    model.fit(*((X[rows], y[rows]) if len(rows) else (None, None)))
    found = model.predict(X[test])
    scores.append((exact_match(y[test], found), f1(y[test], found)))
    print(f"up to {most} terms per category: exact {scores[-1][0]:.2f}, hF {scores[-1][1]:.2f}")

# %%
# Titles alone find many categories. Terms add words that the titles do not contain.

fig, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
exact, score = np.array(scores).T
axis.plot(range(4), score, "o-", color="#3b76b8", label="F-score (hF)")
axis.plot(range(4), exact, "o-", color="#8b95a1", label="exact match")
axis.set_xticks(range(4), ["0", "1", "2", "4"])
axis.set_xlabel("terms per category, at most")
axis.set_ylim(0, 1)
axis.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Why this category? ``explain`` shows the most similar title and the words that it shares with the
# row.

print(explain(model, "foodborne poisoning by staphylococcus", top=3, k=1))
