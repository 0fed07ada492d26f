"""Write small files of every kind of model, for `test_golden.py` to load from then on.

Run it once when the format of model files changes, from the root of the checkout:

    python tests/golden/write_golden.py

With names of models it writes only those, for a new kind of model:

    python tests/golden/write_golden.py discriminant encoder

The local classifiers are naive Bayes, ridge, linear SVMs, kernel machines and discriminant
analysis, and texts are hashed: their fitted attributes are the same in all versions of scikit-learn
that hiclass supports. What the models predict is kept beside them.
"""

import json
import sys
import warnings
from pathlib import Path
from zipfile import ZIP_DEFLATED

import numpy as np
import scipy.sparse as sp
import skops.io
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from hiclass import (
    ByDepth,
    ClassTextClassifier,
    ConformalClassifier,
    DiscriminantClassifier,
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    HierarchicalClassifier,
    Hierarchy,
    KernelRidgeClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    TextEncoder,
)

FOLDER = Path(__file__).parent
X = np.random.default_rng(0).normal(size=(40, 2)).round(3)
PATHS = np.array([["a", "x"], ["a", "y"], ["b", "z"], ["b", ""]], dtype=object)
Y = PATHS[(X[:, 0] > 0) * 2 + (X[:, 1] > 0)]
SETS = [["x", "z"] if row[1] > 0.5 else ["y"] if row[0] > 0 else ["z"] for row in X]
DAG = Hierarchy.from_edges([("a", "x"), ("a", "y"), ("b", "y"), ("b", "z")])
#: Rows that are texts: the words of a class, and some that all share.
WORDS = {"x": "cat purr", "y": "dog bark", "z": "fern spore", "": "oak trunk"}
TEXTS = [f"{WORDS[path[1]]} {('the', 'a', 'in')[i % 3]} {i % 7}" for i, path in enumerate(Y)]
CLASSES = {("a", "x"): "cats that purr", ("a", "y"): "a dog", ("b",): "oak and fern"}
OF_TEXTS = {"encoder", "class_texts", "class_texts_only", "class_texts_ensemble"}


def rows_of(name):
    """The rows that a model predicts in the test."""
    return TEXTS[:10] if name in OF_TEXTS else X[:10]


def in_batches(model):
    for start in (0, 20):
        model.partial_fit(X[start : start + 20], Y[start : start + 20], classes=PATHS)
    return model


def models():
    """Every kind of fitted model, by name."""
    estimator = GaussianNB()
    yield "node", LocalClassifierPerNode(estimator).fit(X, Y)
    yield "parent", LocalClassifierPerParentNode(estimator, decoding="expected_f1").fit(X, Y)
    yield (
        "parent_calibrated",
        LocalClassifierPerParentNode(estimator, calibration="joint").fit(X, Y),
    )
    yield "level", LocalClassifierPerLevel(estimator, min_confidence=0.5).fit(X, Y)
    yield "flat", FlatClassifier(estimator).fit(X, Y)
    yield "flat_labels", FlatClassifier(estimator).fit(X, (X[:, 0] > 0).astype(int) + 7)
    yield "global", GlobalClassifier(Ridge()).fit(X, Y)
    yield "restricted", LocalClassifierPerParentNode(estimator).fit(X, Y).restricted_to([("a",)])
    yield "adapted", LocalClassifierPerParentNode(estimator).fit(X, Y).adapted_to(prior={"a": 0.9})
    members = [
        ("flat", FlatClassifier(estimator)),
        ("parent", LocalClassifierPerParentNode(estimator)),
    ]
    yield "ensemble", EnsembleClassifier(members, weights="learned").fit(X, Y)
    yield "conformal", ConformalClassifier(FlatClassifier(estimator), random_state=0).fit(X, Y)
    sets = {"multi_label": True, "hierarchy": DAG}
    yield "sets_node", LocalClassifierPerNode(estimator, threshold="tuned", **sets).fit(X, SETS)
    yield "sets_parent", LocalClassifierPerParentNode(estimator, **sets).fit(X, SETS)
    per_parent = LocalClassifierPerParentNode(estimator, **sets).fit(X, SETS)
    for name in ("sigmoid", "isotonic"):
        model = FlatClassifier(estimator, calibration=name, threshold="micro_f1", **sets)
        yield f"sets_{name}", model.fit(X, SETS)
    yield "sets_restricted", per_parent.restricted_to(["b"])
    yield (
        "sets_ensemble",
        EnsembleClassifier(
            [
                ("a", FlatClassifier(estimator, **sets)),
                ("b", LocalClassifierPerLevel(estimator, **sets)),
            ]
        ).fit(X, SETS),
    )
    yield "dag", LocalClassifierPerNode(estimator, hierarchy=DAG).fit(X, [row[0] for row in SETS])
    yield "batches_node", in_batches(LocalClassifierPerNode(estimator))
    yield "batches_level", in_batches(LocalClassifierPerLevel(estimator))
    of_sets = LocalClassifierPerParentNode(estimator, **sets).partial_fit(X[:20], SETS[:20])
    yield "batches_sets", of_sets.partial_fit(X[20:], SETS[20:])
    by_depth = ByDepth(estimator, var_smoothing=[1e-9, 1e-2])
    yield "by_depth", LocalClassifierPerParentNode(by_depth).fit(X, Y)
    # Classifiers of the one column that sparse rows have.
    rows = sp.csr_matrix(X * [1, 0])
    yield "packed", LocalClassifierPerParentNode(LinearSVC(random_state=0)).fit(rows, Y)
    kernel = KernelRidgeClassifier(random_state=0)
    yield "kernel", LocalClassifierPerParentNode(kernel, calibration="joint").fit(X, Y)
    # A kernel machine over all final classes behind features that pass through.
    yield "automatic", HierarchicalClassifier(effort="quick", random_state=0).fit(X, Y)
    yield "discriminant", FlatClassifier(DiscriminantClassifier(random_state=0)).fit(X, Y)
    curved = DiscriminantClassifier(n_landmarks=5, random_state=0)
    yield "discriminant_landmarks", LocalClassifierPerParentNode(curved).fit(X, Y)
    words = HashingVectorizer(n_features=32)
    per_parent = LocalClassifierPerParentNode(LinearSVC(random_state=0))
    yield "encoder", make_pipeline(TextEncoder(words), per_parent).fit(TEXTS, Y)
    tree = Hierarchy.from_paths(PATHS, texts=CLASSES)
    yield "class_texts", ClassTextClassifier(words, hierarchy=tree).fit(TEXTS, Y)
    yield "class_texts_only", ClassTextClassifier(words, hierarchy=tree).fit(None, None)
    of_rows = make_pipeline(words, LinearSVC(random_state=0))
    members = [
        ("rows", FlatClassifier(of_rows, calibration="temperature")),
        ("words", ClassTextClassifier(words)),
    ]
    yield "class_texts_ensemble", EnsembleClassifier(members, class_texts=tree).fit(TEXTS, Y)


def main(names):
    path = FOLDER / "predictions.json"
    predictions = json.loads(path.read_text(encoding="utf-8")) if names else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models():
            if names and name not in names:
                continue
            skops.io.dump(
                model, FOLDER / f"{name}.skops", compression=ZIP_DEFLATED, compresslevel=9
            )
            predictions[name] = model.predict(rows_of(name)).tolist()
    path.write_text(json.dumps(predictions, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
