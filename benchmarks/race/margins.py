"""How the temperature of our quick recipe was chosen, and which way to read the margins.

    python benchmarks/race/margins.py --envs ENVS --output benchmarks/results/race-margins.json

The quick recipe reads the margins of ``LinearSVC`` as probabilities without learning anything out
of fold: its temperature is given, the same one for all sets. It is the one with the highest mean hF
by three-fold cross-validation on training rows of the sets that race.py has stored in ENVS, over
both calibrations. Test rows have no part in it.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
from sets import SETS, load
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).parents[1]))

from _common import environment, write_json
from _paired import count, f1

from hiclass import HierarchicalKFold, LocalClassifierPerParentNode

TEMPERATURES = (1.0, 0.5, 0.25, 0.125, 0.0625)
CALIBRATIONS = ("temperature", "joint")


def cross_validate(race):
    """hF of the best path by calibration and temperature, pooled over three folds."""
    paths = race.paths.astype(object)
    total = {}
    folds = HierarchicalKFold(3, shuffle=True, random_state=0)
    for train, test in folds.split(race.X, paths):
        model = LocalClassifierPerParentNode(
            LinearSVC(dual=True, tol=0.1, random_state=0),
            calibration="temperature",
            temperature=1.0,
            decoding="best_path",
            n_jobs=2,
        )
        with joblib.parallel_config(backend="threading"):
            model.fit(race.X[train], paths[train])
        fitted = model._models
        for calibration in CALIBRATIONS:
            for temperature in TEMPERATURES:
                # The same classifiers, read otherwise.
                joint = calibration == "joint"
                model._models = replace(fitted, temperature=temperature, joint=joint)
                key = f"{calibration}, {temperature:g}"
                counts = count(paths[test], model.predict(race.X[test])).sum(0)
                total[key] = total.get(key, 0) + counts
    return {key: round(float(f1(counts)), 4) for key, counts in total.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--envs", type=Path, required=True, help="where race.py keeps its files")
    parser.add_argument("--output", required=True, help="where the result goes, as JSON")
    options = parser.parse_args()
    result = {"command": "python benchmarks/race/margins.py --envs ENVS --output FILE"}
    result |= environment() | {"sets": {}}
    for name in SETS:
        file = options.envs / "sets" / f"{name}.npz"
        if file.exists():
            result["sets"][name] = cross_validate(load(file))
            print(name, result["sets"][name], flush=True)
    found = list(result["sets"].values())
    result["mean"] = {k: round(float(np.mean([s[k] for s in found])), 4) for k in found[0]}
    result["chosen"] = max(result["mean"], key=result["mean"].get)
    write_json(result, options.output)
    print(result["mean"], result["chosen"])


if __name__ == "__main__":
    main()
