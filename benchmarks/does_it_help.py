"""Does the hierarchy help? A flat model, a local one and both, by cross-validation on many sets.

    python benchmarks/does_it_help.py --data DATA              # all sets; writes the result
    python benchmarks/does_it_help.py --data DATA --sets cfpb  # one set; the others stay as stored

Every set is compared twice: with all training rows (at most 10,000), and with 1,000 of them. Test
rows are not used. Rows of a recording (anuran) stay together. Needs psutil, pandas and pyarrow.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "race"))

from _common import environment, table, write_json, write_section  # noqa: E402
from _decisions_page import interval  # noqa: E402
from sets import load, prepare  # noqa: E402
from sklearn.ensemble import ExtraTreesClassifier  # noqa: E402
from sklearn.linear_model import RidgeClassifier  # noqa: E402

from hiclass import compare_flat  # noqa: E402

RESULT = HERE / "results" / "does_it_help.json"
SETS = ("cfpb", "naics", "clinc150", "esco", "greengenes", "anuran", "ImCLEF07A", "synthetic")
MOST, FEW = 10_000, 1_000
#: The classifiers of dense sets, as in decisions.py; sparse ones have the default, a LinearSVC.
CLASSIFIERS = {
    "greengenes": RidgeClassifier(alpha=0.1),
    "anuran": ExtraTreesClassifier(50, min_samples_leaf=2, random_state=0),
    "ImCLEF07A": ExtraTreesClassifier(50, min_samples_leaf=2, random_state=0),
}
WHAT = {
    "cfpb": "complaints, text",
    "naics": "industries, text",
    "clinc150": "requests, text",
    "esco": "occupations, text",
    "greengenes": "gene sequences",
    "anuran": "frog calls",
    "ImCLEF07A": "X-ray images",
    "synthetic": "words, random tree",
}


def measure(name, file, n_rows):
    """Compare on some training rows of a set."""
    race = load(file)
    rows = np.random.default_rng(0).permutation(len(race.paths))[:n_rows]
    X, y = race.X[rows], race.paths[rows].astype(object)
    groups = None if race.groups is None else race.groups[rows]
    start = time.process_time()
    found = compare_flat(X, y, local_classifier=CLASSIFIERS.get(name), groups=groups)
    return {
        "rows": len(rows),
        "classes": len(np.unique(y.astype(str), axis=0)),
        "levels": y.shape[1],
        "scores": found.scores,
        "differences": found.differences,
        "weights": found.weights.round(3).tolist(),
        "cpu_s": round(time.process_time() - start, 1),
    }


def show(result, size):
    """The table of all sets with all rows, or with few."""
    lines = []
    for name in (name for name in SETS if name in result["sets"]):
        run = result["sets"][name][size]
        gains = [interval(run["differences"][model]["f1"]) for model in ("local", "both")]
        per_class = run["rows"] / run["classes"]
        flat = f"{run['scores']['flat']['f1']:.3f}"
        lines.append((f"{name} ({WHAT[name]})", f"{per_class:.0f}", flat, *gains))
    header = ("set", "rows per class", "F1 of flat", "local minus flat", "both minus flat")
    return table(header, lines)


def write_page(page):
    """Put the tables into a page."""
    result = json.loads(RESULT.read_text())
    write_section(page, "help_all", show(result, "all"))
    write_section(page, "help_few", show(result, "few"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder with the data sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--prepared", type=Path, default=Path("build/race/sets"))
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    result = {"command": "python benchmarks/does_it_help.py --data DATA", **environment()}
    result["sets"] = json.loads(RESULT.read_text())["sets"] if RESULT.exists() else {}
    for name in options.sets:
        file = prepare(name, options.data, options.prepared, quick=False)
        if file is None:
            print(f"{name}: no data")
            continue
        result["sets"][name] = {
            "few": measure(name, file, FEW),
            "all": measure(name, file, MOST),
        }
        print(name, json.dumps(result["sets"][name]["all"]["differences"]), flush=True)
        write_json(result, str(options.output))


if __name__ == "__main__":
    main()
