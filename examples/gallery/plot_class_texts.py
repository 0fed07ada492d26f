"""
Classes without rows: the words of ICD-10-CM
============================================

A medical classification has a title for every code. Coders have examples for some codes and none
for others. Here the titles are texts of classes, and inclusion terms are the rows. What is a row
worth where every class has words?
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
# The first chapter. Titles of a category and of all codes below it describe the category.

texts = {}
for title, path in zip(data[kind == "title"], target[kind == "title"], strict=True):
    texts.setdefault(tuple(path), []).append(title)
tree = Hierarchy.from_paths([list(path) for path in texts], texts=texts)
X, y = data[kind != "title"], target[kind != "title"]
print(f"{len(tree.leaves())} categories, {sum(map(len, tree.texts))} titles, {len(X)} terms")

# %%
# Half of the terms are for testing. From the others, a model gets none, or up to so many for each
# category.

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
# Without a single term, titles alone find many categories; terms add the words that titles lack.

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
# Why this category? The nearest title, and the words that it shares with the text.

print(explain(model, "foodborne poisoning by staphylococcus", top=3, k=1))
