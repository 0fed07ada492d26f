"""A linear SVM whose margins are read as odds, and how its one constant was chosen.

    python benchmarks/race/margins.py --envs ENVS --output benchmarks/results/race-margins.json

``SoftSVC`` has probabilities at no cost: a softmax of its margins times a constant. A temperature
learned by ``calibration="temperature"`` is better founded, and costs three more fits. The constant
is the same for all sets: the one with the highest mean hF by three-fold cross-validation on
training rows of the sets that race.py has stored in ENVS. Test rows have no part in it.
"""

import numpy as np
from scipy.special import softmax
from sklearn.svm import LinearSVC

SHARPNESS = (1.0, 2.0, 4.0, 8.0, 16.0)


class SoftSVC(LinearSVC):
    """LinearSVC with ``predict_proba``: a softmax of four times the margins."""

    sharpness = 4.0

    def predict_proba(self, X):
        margins = self.decision_function(X)
        if margins.ndim == 1:
            margins = np.column_stack([-margins, margins])
        return softmax(self.sharpness * margins, axis=1)


def cross_validate(race, decoding):
    """hF by sharpness, pooled over three folds of the training rows."""
    import joblib
    from decisions import count, f1

    from hiclass import HierarchicalKFold, LocalClassifierPerParentNode

    paths = race.paths.astype(object)
    total = dict.fromkeys(SHARPNESS, 0)
    folds = HierarchicalKFold(3, shuffle=True, random_state=0)
    for train, test in folds.split(race.X, paths):
        child = SoftSVC(tol=0.1, random_state=0)
        model = LocalClassifierPerParentNode(child, decoding=decoding, n_jobs=2)
        with joblib.parallel_config(backend="threading"):
            model.fit(race.X[train], paths[train])
        for sharpness in SHARPNESS:
            SoftSVC.sharpness = sharpness
            total[sharpness] += count(paths[test], model.predict(race.X[test])).sum(0)
    return {str(s): round(float(f1(counts)), 4) for s, counts in total.items()}


def main():
    import argparse
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from _common import environment, write_json
    from sets import SETS, load

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--envs", type=Path, required=True, help="where race.py keeps its files")
    parser.add_argument("--output", required=True, help="where the result goes, as JSON")
    options = parser.parse_args()
    result = {"command": "python benchmarks/race/margins.py --envs ENVS --output FILE"}
    result |= environment() | {"sets": {}}
    for name in SETS:
        file = options.envs / "sets" / f"{name}.npz"
        if file.exists():
            result["sets"][name] = cross_validate(load(file), "best_path")
            print(name, result["sets"][name], flush=True)
    found = result["sets"].values()
    result["mean"] = {
        k: round(float(np.mean([s[k] for s in found])), 4) for k in map(str, SHARPNESS)
    }
    result["chosen"] = float(max(result["mean"], key=result["mean"].get))
    write_json(result, options.output)
    print(result["mean"], result["chosen"])


if __name__ == "__main__":
    main()
