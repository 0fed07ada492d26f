"""Linear models at the size of real taxonomies: time, memory, files and scores beside peers.

    python benchmarks/taxonomy.py --sizes 5k --envs build/race --repeat 5
    python benchmarks/taxonomy.py --quick --existing             # small, with what is installed

Rows are generated (see ``_taxonomy_data.py``): from 5,000 to 100,000 leaves, in text-like TF-IDF
features. Same rows and same tree for everyone; every run is a fresh process, whose tree is watched
for memory, in the environment of its library (see race/environments.py). Who takes part and with
which settings is defined in race/contestants.py. They take turns, in every other turn backwards.
Reading rows and converting them to the form that a library takes is not timed. Peak memory includes
the interpreter, the imported libraries and the rows. Needs psutil.
"""

import argparse
import statistics
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "race"))

from _common import environment, table, write_json  # noqa: E402
from _taxonomy_data import SIZES, Size, store  # noqa: E402
from contestants import FAST, QUICK, all_contestants  # noqa: E402
from environments import InstallError, python_of, versions  # noqa: E402
from race import run_once  # noqa: E402

RESULT = HERE / "results" / "taxonomy.json"
PEERS = ("PECOS XLinear", "napkinXC PLT")
QUICK_SIZE = Size(3_000, 5_000, (6, 6, 6), test_rows=1_000)
COLUMNS = {
    "fit_cpu_s": "fit, CPU s",
    "fit_s": "fit, s",
    "predict_cpu_s": "predict, CPU s",
    "predict_s": "predict, s",
    "peak_bytes": "peak memory, MB",
    "size_bytes": "file, MB",
    "hF": "hF",
}


def stored(name, size, folder):
    """The file of a set, which is made where it is not there."""
    file = folder / f"{name}.npz"
    if not file.exists():
        store(size, file)
    return file


def hierarchical_f1(paths, found):
    """The hF of complete paths: the share of levels that are right."""
    return float((paths == found).mean())


def measure(name, size, result, options):
    """Let everyone take turns on one set; the result grows."""
    file = stored(name, size, options.envs / "taxonomy")
    paths = np.load(file)["paths_test"]
    entries = result["sets"].setdefault(name, {"size": describe(size), "runs": {}})["runs"]
    chosen = [c for c in all_contestants().values() if c.name in options.only]
    for turn in range(options.repeat):
        for contestant in chosen if turn % 2 == 0 else reversed(chosen):
            try:
                python = python_of(contestant.environment, options.envs, make=not options.existing)
            except InstallError as error:
                print(f"{name}: {contestant.name}: not installed: {error}", flush=True)
                continue
            if contestant.environment not in result["environments"]:
                result["environments"][contestant.environment] = versions(python)
            run, found = run_once(contestant, python, file, options)
            if found is not None:
                run["hF"] = round(hierarchical_f1(paths, found), 4)
            entries.setdefault(contestant.name, []).append(run)
            print(f"{name}: {contestant.name}: {run}", flush=True)
            write_json(result, options.output)


def describe(size):
    """What a set is, for the result."""
    return {
        "rows": size.rows,
        "test_rows": size.test_rows,
        "features": size.features,
        "branching": list(size.branching),
        "leaves": size.n_leaves,
    }


def medians(runs):
    """The median of every measure; None where a run failed."""
    if any("failed" in run for run in runs):
        return dict.fromkeys(COLUMNS)
    return {key: statistics.median(run[key] for run in runs) for key in COLUMNS}


def show(result):
    """A table per set, with the medians of all runs."""
    for name, found in result["sets"].items():
        rows = []
        for contestant, runs in found["runs"].items():
            values = medians(runs)
            cells = [shown(key, values[key]) for key in COLUMNS]
            rows.append([contestant, *cells])
        print(f"\n{name}: {found['size']}\n{table(['', *COLUMNS.values()], rows)}")


def shown(key, value):
    """A measure as it stands in the table."""
    if value is None:
        return "failed"
    if key.endswith("_bytes"):
        return f"{value / 1e6:.1f}"
    return f"{value:.4f}" if key == "hF" else f"{value:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["5k"])
    everyone = [FAST, QUICK, *PEERS]
    parser.add_argument("--only", nargs="+", choices=list(all_contestants()), default=everyone)
    parser.add_argument("--envs", type=Path, default=Path("build/race"), help="environments, cache")
    parser.add_argument("--existing", action="store_true", help="make no environments")
    parser.add_argument("--repeat", type=int, default=5, help="turns")
    parser.add_argument("--time-limit", type=float, default=1200, help="seconds for one run")
    parser.add_argument("--quick", action="store_true", help="a small set, one turn")
    parser.add_argument("--output", help=f"default {RESULT.name} beside the other results")
    options = parser.parse_args()
    options.envs = options.envs.resolve()
    sizes = {name: SIZES[name] for name in options.sizes}
    if options.quick:
        sizes, options.repeat = {"quick": QUICK_SIZE}, 1
    elif options.output is None:
        options.output = str(RESULT)
    result = {"sets": {}, "environments": {}} | environment()
    for name, size in sizes.items():
        measure(name, size, result, options)
    show(result)


if __name__ == "__main__":
    main()
