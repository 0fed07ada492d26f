"""How our recipes were chosen: the C of their SVMs, and how margins become a path.

    python benchmarks/race/margins.py --envs ENVS --output benchmarks/results/race-margins.json
    python benchmarks/race/margins.py --envs ENVS --recommended --output FILE  # into that file

The quick recipe reads the margins of ``LinearSVC`` as probabilities without learning anything out
of fold: temperature and expected F-score are given, the same ones for all sets. It is the one with
the highest mean hF by three-fold cross-validation on training rows of the sets that race.py has
stored in ENVS, with the tolerance of PECOS. Then the tolerance is made larger, as far as this
costs less than a fifth of a point. Test rows have no part in it.

With ``--recommended``, the same for the recommended recipe: the calibrations of its two models, and
whether C of the local one grows with depth. The result is added to the file, which must exist.
"""

import argparse
import json
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from contestants import QUICK_READING, ByDepth, fit_in_threads, make_recommended
from sets import SETS, load

sys.path.insert(0, str(Path(__file__).parents[1]))

from _common import environment, write_json
from _paired import count, f1

from hiclass import HierarchicalKFold, LocalClassifierPerParentNode

#: By which C grows from level to level, from 0.5 to at most 8; 1: C is 1 everywhere.
FACTORS = (1, 2, 4)
CALIBRATIONS = ("temperature", "joint")
DECODINGS = ("best_path", "expected_f1")
TEMPERATURES = (1.0, 0.5, 0.25, 0.125, 0.0625)
TOLERANCES = (0.1, 0.2, 0.5, 1.0)
COST = 0.002
F = QUICK_READING["expected_f1"]


#: Of the recommended recipe: the factor, and the calibrations of the flat and the local model.
RECIPES = (
    (1, "temperature", "temperature"),
    (4, "temperature", "temperature"),
    (4, "temperature", "joint"),
    (4, "joint", "joint"),
)


def name_of(factor, calibration, decoding, temperature):
    return f"{factor:g}, {calibration}, {decoding}, {temperature:g}"


def folds_of(race):
    paths = race.paths.astype(object)
    folds = HierarchicalKFold(3, shuffle=True, random_state=0)
    return paths, list(folds.split(race.X, paths))


def scores(total):
    return {key: round(float(f1(counts)), 4) for key, counts in total.items()}


def cross_validate(race):
    """hF of every recipe, pooled over three folds."""
    total = {}
    paths, folds = folds_of(race)
    for (train, test), factor in product(folds, FACTORS):
        model = LocalClassifierPerParentNode(
            ByDepth(factor, TOLERANCES[0]),
            calibration="joint",
            temperature=1.0,
            expected_f1=F,
            n_jobs=2,
        )
        fitted = fit_in_threads(model, race.X[train], paths[train])._models
        for calibration, decoding, temperature in product(CALIBRATIONS, DECODINGS, TEMPERATURES):
            # The same classifiers, read otherwise.
            joint = calibration == "joint"
            model._models = replace(fitted, temperature=temperature, joint=joint)
            model.set_params(decoding=decoding)
            counts = count(paths[test], model.predict(race.X[test])).sum(0)
            key = name_of(factor, calibration, decoding, temperature)
            total[key] = total.get(key, 0) + counts
    return scores(total)


def cross_validate_tolerance(race, recipe):
    """hF by tolerance."""
    total = {}
    paths, folds = folds_of(race)
    for (train, test), tol in product(folds, TOLERANCES):
        factor, calibration, decoding, temperature = recipe.split(", ")
        model = LocalClassifierPerParentNode(
            ByDepth(float(factor), tol),
            calibration=calibration,
            temperature=float(temperature),
            decoding=decoding,
            expected_f1=F,
            n_jobs=2,
        )
        fit_in_threads(model, race.X[train], paths[train])
        counts = count(paths[test], model.predict(race.X[test])).sum(0)
        total[f"{tol:g}"] = total.get(f"{tol:g}", 0) + counts
    return scores(total)


def cross_validate_recommended(race):
    """hF by recipe."""
    total = {}
    paths, folds = folds_of(race)
    for (train, test), recipe in product(folds, RECIPES):
        model = make_recommended(not sp.issparse(race.X), *recipe)
        fit_in_threads(model, race.X[train], paths[train])
        counts = count(paths[test], model.predict(race.X[test])).sum(0)
        key = "{:g}, {}, {}".format(*recipe)
        total[key] = total.get(key, 0) + counts
    return scores(total)


def means(sets):
    found = list(sets.values())
    return {key: round(float(np.mean([s[key] for s in found])), 4) for key in found[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--envs", type=Path, required=True, help="where race.py keeps its files")
    parser.add_argument("--output", required=True, help="where the result goes, as JSON")
    parser.add_argument("--recommended", action="store_true", help="the recommended recipe")
    options = parser.parse_args()
    result = {"command": "python benchmarks/race/margins.py --envs ENVS --output FILE"}
    result |= environment() | {"sets": {}}
    files = {name: options.envs / "sets" / f"{name}.npz" for name in SETS}
    races = {name: load(file) for name, file in files.items() if file.exists()}
    if options.recommended:
        result = json.loads(Path(options.output).read_text())
        found = {}
        for name, race in races.items():
            found[name] = cross_validate_recommended(race)
            print(name, found[name], flush=True)
        mean = means(found)
        chosen = max(mean, key=mean.get)
        result["recommended"] = {
            "command": "python benchmarks/race/margins.py --envs ENVS --recommended --output FILE",
            **environment(),
            "sets": found,
            "mean": mean,
            "chosen": chosen,
        }
        write_json(result, options.output)
        return
    for name, race in races.items():
        result["sets"][name] = cross_validate(race)
        print(name, result["sets"][name], flush=True)
    result["mean"] = means(result["sets"])
    result["chosen"] = max(result["mean"], key=result["mean"].get)
    print(result["mean"], result["chosen"])
    by_tol = {name: cross_validate_tolerance(r, result["chosen"]) for name, r in races.items()}
    result["tolerance"] = {"sets": by_tol, "mean": means(by_tol)}
    mean = result["tolerance"]["mean"]
    good = [float(tol) for tol, score in mean.items() if mean["0.1"] - score < COST]
    result["tolerance"]["chosen"] = max(good)
    print(result["tolerance"])
    write_json(result, options.output)


if __name__ == "__main__":
    main()
