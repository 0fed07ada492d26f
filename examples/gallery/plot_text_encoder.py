"""
Word vectors and words together
===============================

An encoder makes a vector of a text, in which texts of similar meaning are near to each other.
``TextEncoder`` puts any of them into a pipeline: sentence-transformers, model2vec, wordllama, a
pipeline of scikit-learn or a function. Here it is wordllama, which brings a table of word vectors
(16 MB) with its package: ``pip install wordllama``.
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
# Texts are terms of the diagnoses in ICD-10-CM, classes its chapters and blocks. Of every block, up
# to 16 terms are there to learn from, and 4,000 others to test.

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
# The encoder. Where wordllama is not installed, words that occur together take its place.

try:
    import wordllama

    # Its own search for the tokenizer would go to the network; it is in the package.
    folder = Path(wordllama.__file__).parent
    encoder = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
except ImportError:
    print("wordllama is not installed: the figures are those of a pipeline of scikit-learn.")
    encoder = make_pipeline(TfidfVectorizer(), TruncatedSVD(100, random_state=0))

vectors = TextEncoder(encoder)
X = vectors.fit_transform(texts[test])
print("vectors:", X.shape, X.dtype)

# %%
# With ``cache``, a text is encoded once for all: the second call reads vectors from a file. For a
# table of words that saves little, for a language model most of the time.

if hasattr(encoder, "embed"):
    with tempfile.TemporaryDirectory() as place:
        cached = TextEncoder(encoder, cache=place)
        for call in ("first", "second"):
            start = time.perf_counter()
            cached.fit_transform(texts[test])
            print(f"{call} call: {time.perf_counter() - start:.2f} s")

# %%
# Words, vectors and both, by the number of terms per block. Words tell more than vectors of words;
# together they are best throughout. A ``make_union`` puts both side by side.

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
# The same as a picture.

fig, ax = plt.subplots(figsize=(6, 3.6))
for name, found in scores.items():
    ax.plot(numbers, found, "o-", label=name)
ax.set_xscale("log", base=2)
ax.set_xticks(numbers, numbers)
ax.set(xlabel="training rows per block", ylabel="hierarchical F-score")
ax.legend()
fig.tight_layout()
plt.show()
