"""Every peer side by side: same rows, same features, same tree, one process per contestant.

    python benchmarks/race/race.py --data DATA                       # all sets, all contestants
    python benchmarks/race/race.py --data DATA --sets naics --more   # go on with what is stored
    python benchmarks/race/race.py --data DATA --family pairs        # hiclass beside 5.0.8 only
    python benchmarks/race/race.py --quick --existing                # small, with what exists

Each contestant has a virtual environment of its own under the folder ENVS, made with venv and pip
where it is not there. Features are computed once and stored; reading and converting them, imports
and, where a library wants a file, writing it are not timed. Contestants take turns, in every other
turn backwards, and each run is a fresh process whose tree is watched for memory. One that takes
more than half a minute runs once; one that takes longer than the limit, fails, or cannot be
installed is reported as that. Needs psutil and, for the sets in DATA, pandas and pyarrow.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from _common import clean_env, environment, run_child, write_json  # noqa: E402
from contestants import RECOMMENDED, SHARP, pairs, peers  # noqa: E402
from decisions import bootstrap, count, measures  # noqa: E402
from environments import InstallError, python_of, versions  # noqa: E402
from sets import SETS, describe, load, prepare  # noqa: E402

RESULTS = HERE.parent / "results"
FAMILIES = {"peers": peers, "pairs": pairs}
ONCE = 30  # one that takes more seconds than this runs once
THREADS = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}


def run_once(contestant, python, file, options):
    """One run of one contestant: what it told, and its answers as paths (or None)."""
    with tempfile.TemporaryDirectory() as temp:
        folder = Path(temp) / "model"
        folder.mkdir()
        command = [str(python), str(HERE / "worker.py"), contestant.name, str(file), str(folder)]
        env = clean_env(**THREADS)
        busy = environment()["machine"]["load_at_start"]  # how busy others keep the machine
        # Looking at all processes more often would take a core's sixth away from the contestant.
        child = run_child(command, time_limit=options.time_limit, env=env, poll=0.1)
        run = {"load_at_start": busy, "peak_bytes": child["peak_bytes"]}
        for line in child["lines"]:
            if line.startswith('{"'):  # a library may print other things
                run |= json.loads(line)
        answers = Path(temp) / "model.npy"
        if child["stopped"] and not answers.exists():
            run["failed"] = f"over the {child['stopped']} of {options.time_limit:.0f} s"
        elif "error" in child and not answers.exists():
            run["failed"] = child["error"].replace(str(options.envs), "ENVS").replace(temp, "TEMP")
        found = np.load(answers) if answers.exists() else None
    if found is not None and found.ndim == 1:
        found = load(file).endings[found]
    return run, found


def race(family, file, result, options):
    """Let the contestants of a family take turns on a stored set; the result grows."""
    y = np.load(file)["paths_test"].astype(object)
    answers = options.envs / "answers" / file.parent.name / file.stem
    answers.mkdir(parents=True, exist_ok=True)
    entries = result.setdefault(family, {})
    chosen = [
        c
        for c in FAMILIES[family]()
        if c.name not in options.without and (not options.only or c.name in options.only)
    ]
    for turn in range(options.repeat):
        for contestant in chosen if turn % 2 == 0 else reversed(chosen):
            old = entries.get(contestant.name, {})
            if not turn and not options.more:
                old = {}
            if "failed" in old or old.get("seconds", 0) > ONCE or len(old.get("runs", [])) > turn:
                continue
            try:
                python = python_of(contestant.environment, options.envs, make=not options.existing)
            except InstallError as error:
                if not options.existing:
                    entries[contestant.name] = {"failed": f"cannot be installed: {error}"}
                continue
            result["environments"].setdefault(contestant.environment, versions(python))
            run, found = run_once(contestant, python, file, options)
            entry = old | {"tree": contestant.tree, "runs": [*old.get("runs", []), run]}
            if contestant.pair:
                entry["pair"] = contestant.pair
            if found is None:
                entry["failed"] = run.pop("failed")
            else:
                entry |= measures(count(y, found.astype(object)))
                entry["seconds"] = round(run["fit_s"] + run["predict_s"], 2)
                np.save(answers / f"{contestant.name}.npy", found)
            entries[contestant.name] = entry
            print(f"{file.stem}: {contestant.name}: {summary(entry)}", flush=True)
            save(result, options)


def summary(entry):
    if "failed" in entry:
        return f"failed: {entry['failed']}"
    run = entry["runs"][-1]
    times = f"fit {run['fit_s']:.2f} s, predict {run['predict_s']:.2f} s"
    return f"hF {entry['hF']:.4f}, exact {entry['exact']:.4f}, {times}"


def compare(file, result, options):
    """Two of our recipes minus everybody else, by paired resampling of the test rows."""
    y = np.load(file)["paths_test"].astype(object)
    answers = options.envs / "answers" / file.parent.name / file.stem
    counts = {
        f.stem: count(y, np.load(f).astype(object))
        for f in answers.glob("*.npy")
        if "hF" in result["peers"].get(f.stem, {})
    }
    for name, key in ((RECOMMENDED, "recommended_minus"), (SHARP, "best_path_minus")):
        if name in counts:
            for other in counts:
                if other != name:
                    result["peers"][other][key] = bootstrap(counts[name], counts[other], None)


def save(result, options):
    if options.output_folder is not None:
        name = f"race-{result['set']}.json"
        write_json(result, str(options.output_folder / name))


def run_set(name, options):
    file = prepare(name, options.data, options.envs / "sets", options.quick)
    if file is None:
        print(f"{name}: needs --data; left out")
        return
    stored = options.output_folder / f"race-{name}.json" if options.output_folder else None
    if stored is not None and stored.exists() and (options.more or options.family != "all"):
        result = json.loads(stored.read_text())
    else:
        result = {"set": name, "size": describe(file), "quick": options.quick} | environment()
        result |= {"command": "python benchmarks/race/race.py --data DATA", "environments": {}}
        result |= {"time_limit": options.time_limit, "peers": {}, "pairs": {}}
    for family in FAMILIES if options.family == "all" else [options.family]:
        race(family, file, result, options)
    compare(file, result, options)
    save(result, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the real sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--family", choices=["all", *FAMILIES], default="all")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these contestants only")
    parser.add_argument("--without", nargs="+", metavar="NAME", default=[], help="not these")
    parser.add_argument("--envs", type=Path, default=Path("build/race"), help="environments, cache")
    parser.add_argument("--existing", action="store_true", help="make no environments")
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--more", action="store_true", help="go on with the stored result")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds for one run")
    parser.add_argument("--quick", action="store_true", help="2,000 rows of each set, one turn")
    parser.add_argument("--output-folder", type=Path, help=f"default {RESULTS.name} beside this")
    parser.add_argument("--clean", action="store_true", help="remove the environments first")
    options = parser.parse_args()
    options.envs = options.envs.resolve()
    if options.clean:
        shutil.rmtree(options.envs, ignore_errors=True)
    if options.quick:
        options.repeat = 1
    elif options.output_folder is None:
        options.output_folder = RESULTS
    for name in options.sets:
        run_set(name, options)


if __name__ == "__main__":
    main()
