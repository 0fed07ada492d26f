"""
Word vectors and words together
===============================

An encoder turns a text into a vector, so that texts with similar meanings have similar vectors.
``TextEncoder`` makes any encoder a step of a pipeline: sentence-transformers, model2vec, wordllama,
a scikit-learn pipeline or a function. This example uses wordllama, whose package contains word
vectors (16 MB): ``pip install wordllama``. Are vectors better than words?
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC

from hiclass import LocalClassifierPerParentNode, TextEncoder
from hiclass.datasets import load_icd10cm
from hiclass.metrics import f1

# %%
# The texts are diagnoses of ICD-10-CM, and the classes are its chapters and blocks. Up to 16 terms
# of every block are training rows, and 4,000 others are test rows.

data = load_icd10cm()
rng = np.random.default_rng(0)
order = rng.permutation(len(data.data))
texts = np.array(data.data, dtype=object)[order]
y = data.target[order, :2]
counts = {}
rank = np.empty(len(y), dtype=int)  # how many terms of the same block come before
for i, block in enumerate(y[:, 1]):
    rank[i] = counts.get(block, 0)
    counts[block] = rank[i] + 1
test = np.flatnonzero(rank >= 16)[:4000]
print(len(counts), "blocks, for example", y[test[0]].tolist(), "-", texts[test[0]])

# %%
# Load the encoder. If wordllama is not installed, a scikit-learn pipeline takes its place.

try:
    import wordllama

    # Its own search for the tokenizer would go to the network; it is in the package.
    folder = Path(wordllama.__file__).parent
    encoder = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
except ImportError:
    print("wordllama is not installed: this run uses a scikit-learn pipeline instead.")
    encoder = make_pipeline(TfidfVectorizer(), TruncatedSVD(100, random_state=0))

vectors = TextEncoder(encoder)
X = vectors.fit_transform(texts[test])
print("vectors:", X.shape, X.dtype)

# %%
# With ``cache``, every text is encoded only once: the second call reads the vectors from a file.
# For word vectors this saves little; for a language model it saves most of the time.

if hasattr(encoder, "embed"):
    with tempfile.TemporaryDirectory() as place:
        cached = TextEncoder(encoder, cache=place)
        for call in ("first", "second"):
            start = time.perf_counter()
            cached.fit_transform(texts[test])
            print(f"{call} call: {time.perf_counter() - start:.2f} s")

# %%
# We compare words, vectors, and both (with ``make_union``), by the number of terms per block. Words
# are better than word vectors here, and both together are always best.

words = TfidfVectorizer(sublinear_tf=True)
features = {"words": words, "vectors": vectors, "both": make_union(words, vectors)}
numbers = [2, 4, 8, 16]
scores = {name: [] for name in features}
for number in numbers:
    train = np.flatnonzero(rank < number)
    for name, feature in features.items():
        model = make_pipeline(feature, LocalClassifierPerParentNode(LinearSVC(random_state=0)))
        model.fit(texts[train], y[train])
        scores[name].append(f1(y[test], model.predict(texts[test])))

for name, found in scores.items():
    print(f"{name:8}", " ".join(f"{score:.3f}" for score in found))

# %%
# The figure shows the same scores:

fig, ax = plt.subplots(figsize=(6, 3.6))
for name, found in scores.items():
    ax.plot(numbers, found, "o-", label=name)
ax.set_xscale("log", base=2)
ax.set_xticks(numbers, numbers)
ax.set(xlabel="training rows per block", ylabel="hierarchical F-score")
ax.legend()
fig.tight_layout()
plt.show()
