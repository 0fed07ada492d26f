"""What models say about test rows, for automation.py: confidence and errors, level by level.

    python _automation_scores.py SET.npz MODEL OUTPUT.npz

In a process of its own, so that a model that is stopped takes nothing with it. The confidence of a
level is that of the label that the model's best path has there; a row is wrong at a level if any
label down to there is.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parent / "race"))
from contestants import make_estimator
from sets import Race, load

#: Neighbours vote with their similarity; ten of them tell about as many confidences as needed.
N_NEIGHBOURS = 10


def make_model(name: str, sparse: bool) -> Any:
    """A model by name; all have the features of the set."""
    from hiclass import FlatClassifier, HierarchicalClassifier

    if name == "hiclass":
        return HierarchicalClassifier(random_state=0)
    if name == "flat":
        child = make_estimator("quick LinearSVC")
        if not sparse:
            child = make_pipeline(StandardScaler(), RidgeClassifier(alpha=0.1))
        return FlatClassifier(child, calibration="temperature", random_state=0)
    metric = "cosine" if sparse else "euclidean"
    neighbours = KNeighborsClassifier(N_NEIGHBOURS, weights="distance", metric=metric)
    child = neighbours if sparse else make_pipeline(StandardScaler(), neighbours)
    return FlatClassifier(child)


def judge(race: Race, y: np.ndarray, predicted: np.ndarray, confidence: np.ndarray) -> dict:
    """Confidence, NaN where there is no label, and errors."""
    answered = predicted != ""
    wrong = np.logical_or.accumulate(predicted != y, axis=1)
    return {"confidence": np.where(answered, confidence, np.nan), "wrong": wrong}


def from_endings(race: Race, y: np.ndarray, endings: np.ndarray, scores: np.ndarray) -> dict:
    """The same from scores of the best endings: those of a branch are added."""
    paths = np.concatenate([race.endings, np.full((1, race.endings.shape[1]), "-")])[endings]
    total = np.maximum(scores.sum(axis=1, keepdims=True), 1e-12)
    predicted = paths[:, 0]
    same = np.logical_and.accumulate(paths == predicted[:, None], axis=2)
    confidence = (same * (scores / total)[:, :, None]).sum(axis=1)
    # Its own score of the path, where there is nothing to add up.
    confidence[:, -1] = np.where(predicted[:, -1] != "", scores[:, 0], np.nan)
    return judge(race, y, predicted, confidence)


def main(file: str, name: str, output: str) -> None:
    warnings.simplefilter("ignore")
    race, y = load(Path(file)), np.load(file)["paths_test"]
    model = make_model(name, sp.issparse(race.X))
    options = {} if race.groups is None else {"groups": race.groups}
    model.fit(race.X, race.paths.astype(object), **options)
    predicted = np.asarray(model.predict(race.X_test)).astype(str)
    found = judge(race, y, predicted, model.predict_confidence(race.X_test))
    np.savez(output, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
