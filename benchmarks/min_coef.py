"""What dropping small weights saves and costs: files and hF by ``min_coef``.

    python benchmarks/min_coef.py --data DATA
    python benchmarks/min_coef.py --markdown docs/performance.md

The model is "quick SVC" of the race: LinearSVC per parent node with ``C`` by depth and a joint
calibration. Files are pickles, and skops files with ``compression=zipfile.ZIP_DEFLATED``. The file
of PECOS is that of ``results/taxonomy.json``. Results go to ``results/min_coef.json``; those of
sets that are not named by ``--sets`` stay. Needs pandas and pyarrow for the sets in DATA.
"""

import argparse
import json
import pickle
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import skops.io
from _common import environment, table, write_json, write_section
from _taxonomy_data import SIZES, store

sys.path.insert(0, str(Path(__file__).parent / "race"))
from contestants import QUICK_READING, make_estimator
from sets import load, prepare

from hiclass import LocalClassifierPerParentNode

RESULTS = Path(__file__).parent / "results"
RESULT = RESULTS / "min_coef.json"
SIZE = "5k"
SETS = ("naics", "cfpb", "clinc150", SIZE)
VALUES = (0.0, 0.05, 0.1, 0.2)


def measure(file):
    """Files and hF on one set, by value."""
    race, truth = load(file), np.load(file)["paths_test"].astype(object)
    found = {"words": race.X.shape[1], "values": {}}
    for value in VALUES:
        model = LocalClassifierPerParentNode(
            make_estimator("LinearSVC by depth"), min_coef=value, **QUICK_READING
        )
        model.fit(race.X, race.paths.astype(object))
        found["classifiers"] = len(model.local_classifiers_)
        found["values"][str(value)] = {
            "pickle_bytes": len(pickle.dumps(model)),
            "skops_bytes": len(skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)),
            "hF": round(model.score(race.X_test, truth), 4),
        }
    return found


def run(names, data):
    """Some sets; those that are stored stay."""
    result = json.loads(RESULT.read_text()) if RESULT.exists() else {"sets": {}}
    result["environment"] = environment()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if name == SIZE:
                file = Path(folder) / "large.npz"
                store(SIZES[SIZE], file)
            else:
                file = prepare(name, data, Path(folder), quick=False)
            if file is None:
                print(f"{name} is left out: its data are not there.", file=sys.stderr)
                continue
            result["sets"][name] = measure(file)
    result["sets"] = {name: result["sets"][name] for name in SETS if name in result["sets"]}
    return result


def show(result):
    """The table of a page."""
    pecos = json.loads((RESULTS / "taxonomy.json").read_text())["sets"]
    rows = []
    for name, found in result["sets"].items():
        cells = [
            f"{cell['pickle_bytes'] / 1e6:.2f} / {cell['skops_bytes'] / 1e6:.2f}, {cell['hF']:.4f}"
            for cell in found["values"].values()
        ]
        own = min(run["size_bytes"] for run in pecos[name]["runs"]["PECOS XLinear"])
        what = f"{name} ({found['words']:,} words, {found['classifiers']} classifiers)"
        rows.append([what, *cells, f"{own / 1e6:.2f}"])
    first, *others = (f"{value:g}" for value in VALUES)
    header = ["", f"`min_coef={first}`", *others, "PECOS XLinear (drops below 0.1)"]
    return table(header, rows)


def write_page(page):
    """Put the stored table into a page."""
    write_section(page, "min_coef", f"\n{show(json.loads(RESULT.read_text()))}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the real sets")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS)
    parser.add_argument("--markdown", metavar="PAGE", help="put stored results into a page")
    options = parser.parse_args()
    if options.markdown:
        write_page(options.markdown)
        return
    result = run(options.sets, options.data)
    write_json(result, str(RESULT))
    print(show(result))


if __name__ == "__main__":
    main()
