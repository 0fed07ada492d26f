"""A small DAG of animals, and rows that have one or two of its labels."""

import numpy as np

from hiclass import Hierarchy

EDGES = [
    ("pet", "cat"),
    ("feline", "cat"),
    ("feline", "lion"),
    ("pet", "dog"),
    ("canine", "dog"),
    ("canine", "wolf"),
    ("dog", "pug"),
    ("canine", "dingo"),  # without training rows
]
DAG = Hierarchy.from_edges(EDGES)
NAMES = ["cat", "lion", "dog", "wolf", "pug"]


def zoo(n=60, seed=0):
    """Rows with one or two labels, and a feature for each label."""
    rng = np.random.default_rng(seed)
    y = [sorted(rng.choice(NAMES, size=1 + i % 2, replace=False).tolist()) for i in range(n)]
    X = np.array([[float(name in row) for name in NAMES] for row in y])
    return X + rng.normal(scale=0.1, size=X.shape), y
