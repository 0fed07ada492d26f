"""How our recipes were chosen: the C of their SVMs, and how margins become a path.

    python benchmarks/race/margins.py --envs ENVS --output benchmarks/results/race-margins.json
    python benchmarks/race/margins.py --envs ENVS --recommended --output FILE  # into that file

The quick recipe reads the margins of ``LinearSVC`` as probabilities without learning anything out
of fold. Here temperature and expected F-score are given, the same ones for all sets; in the recipe
both are estimated from the training rows. ``C``, calibration and decoding are those with the
highest mean hF by three-fold cross-validation on training rows of the sets that race.py has
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
from contestants import ByDepth, fit_on, make_recommended
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
#: The F-score that is expected of every recipe.
F = 0.8

#: Of the recommended recipe: the factor, and the calibrations of the flat and the local model.
RECIPES = (
    (1, "temperature", "temperature"),
    (4, "temperature", "temperature"),
    (4, "temperature", "joint"),
    (4, "joint", "joint"),
)


def name_of(factor, calibration, decoding, temperature):
    return f"{factor:g}, {calibration}, {decoding}, {temperature:g}"


def name_of_recipe(factor, flat, local):
    return f"{factor:g}, {flat}, {local}"


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
        fitted = fit_on("threading", model, race.X[train], paths[train])._models
        for calibration, decoding, temperature in product(CALIBRATIONS, DECODINGS, TEMPERATURES):
            # The same classifiers, read otherwise.
            joint = calibration == "joint"
            model._models = replace(fitted, temperature=temperature, joint=joint)
            model.set_params(decoding=decoding)
            counts = count(paths[test], model.predict(race.X[test])).sum(0)
            key = name_of(factor, calibration, decoding, temperature)
            total[key] = total.get(key, 0) + counts
    return scores(total)


def cross_validate_models(race, models):
    """hF of every model, by its name."""
    total = {}
    paths, folds = folds_of(race)
    for (train, test), (key, model) in product(folds, models.items()):
        fit_on("threading", model, race.X[train], paths[train])
        counts = count(paths[test], model.predict(race.X[test])).sum(0)
        total[key] = total.get(key, 0) + counts
    return scores(total)


def by_tolerance(recipe):
    """Models of the quick recipe, by their tolerance."""
    factor, calibration, decoding, temperature = recipe.split(", ")
    return {
        f"{tol:g}": LocalClassifierPerParentNode(
            ByDepth(float(factor), tol),
            calibration=calibration,
            temperature=float(temperature),
            decoding=decoding,
            expected_f1=F,
            n_jobs=2,
        )
        for tol in TOLERANCES
    }


def recommended_models(race):
    """Models of the recommended recipe, by its variants."""
    dense = not sp.issparse(race.X)
    return {name_of_recipe(*recipe): make_recommended(dense, *recipe) for recipe in RECIPES}


def means(sets):
    found = list(sets.values())
    return {key: round(float(np.mean([s[key] for s in found])), 4) for key in found[0]}


def choose_quick(races):
    """The quick recipe: how margins are read, then the tolerance."""
    sets = {}
    for name, race in races.items():
        sets[name] = cross_validate(race)
        print(name, sets[name], flush=True)
    mean = means(sets)
    chosen = max(mean, key=mean.get)
    print(mean, chosen)
    models = by_tolerance(chosen)
    by_tol = {name: cross_validate_models(race, models) for name, race in races.items()}
    mean_tol = means(by_tol)
    good = [tol for tol in TOLERANCES if mean_tol["0.1"] - mean_tol[f"{tol:g}"] < COST]
    tolerance = {"sets": by_tol, "mean": mean_tol, "chosen": max(good)}
    print(tolerance)
    return {"sets": sets, "mean": mean, "chosen": chosen, "tolerance": tolerance}


def choose_recommended(races):
    sets = {}
    for name, race in races.items():
        sets[name] = cross_validate_models(race, recommended_models(race))
        print(name, sets[name], flush=True)
    mean = means(sets)
    return {"sets": sets, "mean": mean, "chosen": max(mean, key=mean.get)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--envs", type=Path, required=True, help="where race.py keeps its files")
    parser.add_argument("--output", required=True, help="where the result goes, as JSON")
    parser.add_argument("--recommended", action="store_true", help="the recommended recipe")
    options = parser.parse_args()
    files = {name: options.envs / "sets" / f"{name}.npz" for name in SETS}
    races = {name: load(file) for name, file in files.items() if file.exists()}
    command = "python benchmarks/race/margins.py --envs ENVS --output FILE"
    if options.recommended:
        result = json.loads(Path(options.output).read_text())
        about = {"command": command.replace("--output", "--recommended --output")}
        result["recommended"] = about | environment() | choose_recommended(races)
    else:
        result = {"command": command} | environment() | choose_quick(races)
    write_json(result, options.output)


if __name__ == "__main__":
    main()
