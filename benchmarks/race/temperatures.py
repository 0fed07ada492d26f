"""Temperatures without folds: given, estimated from training rows, and learned out of fold.

    python benchmarks/race/temperatures.py --envs ENVS

hF of the quick recipe on held-out thirds of the training rows of the sets that race.py and
../taxonomy.py have stored in ENVS, and processor time of its fit. Test rows have no part in it.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from contestants import FAST_TOLERANCE
from sets import MORE_TEXT, SETS, load

sys.path.insert(0, str(Path(__file__).parents[1]))

from _common import environment, table, write_json
from _paired import count, f1

from hiclass import ByDepth, FastLinearSVC, HierarchicalKFold, LocalClassifierPerParentNode

RESULT = Path(__file__).parents[1] / "results" / "race-temperatures.json"
N_FOLDS = 2
WAYS = {
    "0.125, F = 0.8": {"temperature": 0.125, "expected_f1": 0.8},
    "0.177, F = 0.8": {"temperature": 0.177, "expected_f1": 0.8},
    "0.25, F = 0.8": {"temperature": 0.25, "expected_f1": 0.8},
    "estimated, F = 0.8": {"temperature": "estimated", "expected_f1": 0.8},
    "estimated": {"temperature": "estimated"},
    "three folds": {},
}


def measure(race):
    """hF, processor time of fit and what was learned, for every way."""
    paths = race.paths.astype(object)
    folds = list(HierarchicalKFold(3, shuffle=True, random_state=0).split(race.X, paths))
    svm = ByDepth(FastLinearSVC(tol=FAST_TOLERANCE, random_state=0), C=[0.5, 1, 2])
    found = {}
    for name, options in WAYS.items():
        counts, seconds, temperatures = 0, [], []
        for train, test in folds[:N_FOLDS]:
            model = LocalClassifierPerParentNode(
                svm, calibration="joint", decoding="expected_f1", n_jobs=1, **options
            )
            start = time.process_time()
            model.fit(race.X[train], paths[train])
            seconds.append(time.process_time() - start)
            temperatures.append(round(model.temperature_, 4))
            counts = counts + count(paths[test], model.predict(race.X[test])).sum(0)
        found[name] = {
            "hF": round(float(f1(counts)), 4),
            "fit_cpu_s": round(min(seconds), 3),
            "temperatures": temperatures,
        }
    return found


def show(result):
    """A line per set: hF of every way; temperatures and processor time of the learned ones."""
    lines = []
    for name, found in result["sets"].items():
        given = found["0.125, F = 0.8"]["fit_cpu_s"]
        line = [name, *(f"{entry['hF']:.4f}" for entry in found.values())]
        learned = [found[way] for way in ("estimated", "three folds")]
        line += [f"{np.mean(entry['temperatures']):.3f}" for entry in learned]
        line += [f"{entry['fit_cpu_s'] / given:.1f}x" for entry in learned]
        lines.append(line)
    means = [np.mean([s[way]["hF"] for s in result["sets"].values()]) for way in WAYS]
    lines.append(["mean", *(f"{mean:.4f}" for mean in means), "", "", "", ""])
    header = ["set", *(f"T = {way}" if way[0] == "0" else way for way in WAYS)]
    header += ["T, estimated", "T, folds", "fit, estimated", "fit, folds"]
    return table(header, lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--envs", type=Path, required=True, help="where race.py keeps its files")
    parser.add_argument("--output", default=str(RESULT), help="where the result goes, as JSON")
    options = parser.parse_args()
    result = {"command": "python benchmarks/race/temperatures.py --envs ENVS"} | environment()
    result["sets"] = {}
    FastLinearSVC().fit(np.eye(3), [0, 1, 2])  # compiled before it is timed
    for name in (*SETS, *MORE_TEXT):
        file = options.envs / "sets" / f"{name}.npz"
        if file.exists():
            result["sets"][name] = measure(load(file))
            print(name, json.dumps(result["sets"][name]), flush=True)
    write_json(result, options.output)
    print(show(result))


if __name__ == "__main__":
    main()
