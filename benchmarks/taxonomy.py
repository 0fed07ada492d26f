"""Linear models at the size of real taxonomies: time, memory, files and scores beside peers.

    python benchmarks/taxonomy.py --sizes 5k --sets cfpb naics --data DATA --repeat 5
    python benchmarks/taxonomy.py --quick --existing             # small, with what is installed
    python benchmarks/taxonomy.py --scale                        # a million rows, 100,000 leaves

Rows are generated (see ``_taxonomy_data.py``): from 5,000 to 100,000 leaves, in text-like TF-IDF
features. Same rows and same tree for everyone; every run is a fresh process, whose tree is watched
for memory, in the environment of its library (see race/environments.py). Who takes part and with
which settings is defined in race/contestants.py. They take turns, in every other turn backwards.
Reading rows and converting them to the form that a library takes is not timed. Peak memory includes
the interpreter, the imported libraries and the rows. ``--scale`` runs one recipe of ours on more
and more rows and leaves; the largest fit is also killed halfway and resumed from its checkpoints.
Needs psutil.
"""

import argparse
import hashlib
import json
import math
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "race"))

from _common import environment, run_child, write_json  # noqa: E402
from _paired import count, f1  # noqa: E402
from _taxonomy_data import SIZES, Size, store  # noqa: E402
from _taxonomy_page import all_tables, scale_table  # noqa: E402
from contestants import FAST, QUICK_FAST, QUICK_SMALL, all_contestants  # noqa: E402
from environments import InstallError, python_of, versions  # noqa: E402
from race import run_once  # noqa: E402
from sets import MORE_TEXT, SETS, prepare  # noqa: E402
from sets import describe as describe_set  # noqa: E402

RESULT = HERE / "results" / "taxonomy.json"
SCALE_RESULT = HERE / "results" / "taxonomy_scale.json"
PEERS = ("PECOS XLinear", "napkinXC PLT")
QUICK_SIZE = Size(3_000, 5_000, (6, 6, 6), test_rows=1_000)
SCALE_ROWS = (125_000, 250_000, 500_000, 1_000_000)
SCALE_BRANCHING = {  # leaves -> children per node of the levels 0, 1, 2, 3
    12_500: (10, 10, 25, 5),
    25_000: (10, 10, 25, 10),
    50_000: (10, 20, 25, 10),
    100_000: (20, 20, 25, 10),
}
SCALE_FEATURES = 500_000
FEWEST_LEAVES = min(SCALE_BRANCHING)


def stored(name, size, folder):
    """The file of a set, which is made where it is not there."""
    file = folder / f"{name}.npz"
    if not file.exists():
        store(size, file)
    return file


def hierarchical_f1(paths, found):
    """The hF of paths that may be shorter than the true ones."""
    if found.shape[1] < paths.shape[1]:
        missing = np.full((len(found), paths.shape[1] - found.shape[1]), "")
        found = np.hstack([found, missing])
    return float(f1(count(paths, found).sum(0)))


def measure(name, file, size, result, options):
    """Let everyone take turns on one set; the result grows."""
    paths = np.load(file)["paths_test"]
    entries: dict = {}
    result["sets"][name] = {"size": size, "runs": entries}
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


# -- more and more rows and leaves -------------------------------------------------------------


def scale(options):
    """One recipe of ours in processes of its own, and how time and memory grow."""
    points = {(rows, FEWEST_LEAVES) for rows in SCALE_ROWS}
    points |= {(SCALE_ROWS[-1], leaves) for leaves in SCALE_BRANCHING}
    result = {"recipe": options.recipe, "runs": []} | environment()
    if options.go_on:
        result = json.loads(Path(options.output).read_text(encoding="utf-8"))
    known = {(run["rows"], run["leaves"]) for run in result["runs"]}
    for rows, leaves in sorted(points - known):
        run = {"rows": rows, "leaves": leaves} | scale_run(rows, leaves, options)
        result["runs"].append(run)
        print(run, flush=True)
        write_json(result, options.output)
    result["slopes"] = {
        step: {
            "rows": slope(
                [r for r in result["runs"] if r["leaves"] == FEWEST_LEAVES], "rows", step
            ),
            "leaves": slope(
                [r for r in result["runs"] if r["rows"] == SCALE_ROWS[-1]], "leaves", step
            ),
        }
        for step in ("fit_cpu_s", "predict_cpu_s", "peak_bytes")
    }
    result["resumed"] = resume(result["runs"][-1], options)
    write_json(result, options.output)
    print(scale_table(result))


def scale_run(rows, leaves, options, checkpoints="", **stop):
    """One fit, predict and save in a fresh process."""
    size = Size(rows, SCALE_FEATURES, SCALE_BRANCHING[leaves])
    file = stored(f"scale_{rows}_{leaves}", size, options.envs / "taxonomy")
    command = [sys.executable, __file__, "--worker", options.recipe, str(file), checkpoints]
    limits = {"time_limit": options.time_limit, "memory_limit": 20e9}
    child = run_child(command, **limits, poll=0.2, **stop)
    run = {"peak_bytes": child["peak_bytes"]}
    for line in child["lines"]:
        if line.startswith('{"'):
            run |= json.loads(line)
    return run | {key: child[key] for key in ("stopped", "error") if child.get(key)}


def resume(whole, options):
    """Kill the largest fit when half of its classifiers are stored, fit again, compare."""
    children = SCALE_BRANCHING[whole["leaves"]]
    n_classifiers = sum(math.prod(children[:level]) for level in range(len(children)))
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder)
        first = scale_run(
            whole["rows"],
            whole["leaves"],
            options,
            folder,
            until=lambda: len(list(stored.iterdir())) > n_classifiers / 2,
        )
        n_files = len(list(stored.iterdir()))
        second = scale_run(whole["rows"], whole["leaves"], options, folder)
    found = {"stopped": first.get("stopped"), "classifiers": n_classifiers, "checkpoints": n_files}
    return found | {"same": second.get("predictions") == whole["predictions"]} | second


def slope(runs, key, step):
    """Exponent of a measure as a power of rows or leaves, by least squares on logarithms."""
    x, y = (np.log([run[k] for run in runs]) for k in (key, step))
    return round(float(np.polyfit(x, y, 1)[0]), 2)


def work(recipe, file, checkpoints):
    """The worker of ``--scale``."""
    import time

    import joblib
    from sets import load
    from worker import report, timed

    start = time.perf_counter()
    race = load(Path(file))
    race.paths = race.endings.astype(object)[race.leaf]  # the labels are shared, not copied
    settings = {"checkpoint_dir": checkpoints, "verbose": 1} if checkpoints else {}
    prepared = partial(all_contestants()[recipe].prepare, **settings)(race, Path())
    report("before_s", time.perf_counter() - start)
    model = timed("fit", prepared.fit)
    found = timed("predict", prepared.predict, model)
    report("hF", hierarchical_f1(np.load(file)["paths_test"], found))
    report("predictions", hashlib.sha256("\n".join(map("/".join, found)).encode()).hexdigest())
    with tempfile.TemporaryDirectory() as folder:
        model_file = Path(folder) / "model.joblib"
        timed("save", joblib.dump, model, model_file)
        report("size_bytes", model_file.stat().st_size)


def describe(size):
    """What a set is, for the result."""
    return {
        "rows": size.rows,
        "test_rows": size.test_rows,
        "features": size.features,
        "branching": list(size.branching),
        "leaves": size.n_leaves,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=["5k"])
    parser.add_argument(
        "--sets", nargs="*", choices=(*SETS, *MORE_TEXT), default=[], help="sets of the race, too"
    )
    parser.add_argument("--data", type=Path, help="folder with the real sets")
    everyone = [FAST, QUICK_FAST, QUICK_SMALL, *PEERS]
    parser.add_argument("--only", nargs="+", choices=list(all_contestants()), default=everyone)
    parser.add_argument("--envs", type=Path, default=Path("build/race"), help="environments, cache")
    parser.add_argument("--existing", action="store_true", help="make no environments")
    parser.add_argument("--repeat", type=int, default=5, help="turns")
    parser.add_argument("--time-limit", type=float, default=1200, help="seconds for one run")
    parser.add_argument("--quick", action="store_true", help="a small set, one turn")
    parser.add_argument("--scale", action="store_true", help="more and more rows and leaves")
    parser.add_argument("--go-on", action="store_true", help="keep the other runs of --output")
    parser.add_argument("--recipe", choices=list(all_contestants()), default=QUICK_FAST)
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--output", help=f"default {RESULT.name} beside the other results")
    options = parser.parse_args()
    if options.worker:
        work(*options.worker)
        return
    options.envs = options.envs.resolve()
    if options.scale:
        options.output = options.output or str(SCALE_RESULT)
        scale(options)
        return
    sizes = {name: SIZES[name] for name in options.sizes}
    if options.quick:
        sizes, options.repeat = {"quick": QUICK_SIZE}, 1
    elif options.output is None:
        options.output = str(RESULT)
    result = {"sets": {}, "environments": {}} | environment()
    if options.go_on:
        stored_result = json.loads(Path(options.output).read_text(encoding="utf-8"))
        result["sets"] = stored_result["sets"]
    for name in options.sets:
        file = prepare(name, options.data, options.envs / "sets", quick=False)
        if file is None:
            print(f"{name}: no data; see --data", flush=True)
            continue
        measure(name, file, describe_set(file), result, options)
    for name, size in sizes.items():
        file = stored(name, size, options.envs / "taxonomy")
        measure(name, file, describe(size), result, options)
    print(all_tables(result))


if __name__ == "__main__":
    main()
