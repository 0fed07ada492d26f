"""Every peer side by side: same rows, same features, same tree, one process per contestant.

    python benchmarks/race/race.py --data DATA                       # all sets, all contestants
    python benchmarks/race/race.py --data DATA --sets naics --more   # go on with what is stored
    python benchmarks/race/race.py --data DATA --family pairs        # hiclass beside 5.0.8 only
    python benchmarks/race/race.py --quick --existing                # small, with what exists

Each contestant has a virtual environment of its own under the folder ENVS, made with venv and pip
where it is not there; hiclass itself is always that of this checkout. A call for some contestants
leaves the stored results of the others as they are. Features are computed once and stored; reading
and converting them, imports and, where a library wants a file, writing it are not timed.
Contestants take turns, in every other turn backwards, and each run is a fresh process whose tree is
watched for memory. One that takes longer than the limit, fails, or cannot be installed is reported
as that, and does not run again. Needs psutil and, for the sets in DATA, pandas and pyarrow.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from _common import clean_env, environment, run_child, write_json  # noqa: E402
from contestants import QUICK, RECOMMENDED, all_contestants, pairs, peers  # noqa: E402
from decisions import bootstrap, count, measures  # noqa: E402
from environments import REPOSITORY, InstallError, python_of, versions  # noqa: E402
from sets import SETS, describe, prepare  # noqa: E402

RESULTS = HERE.parent / "results"
FAMILIES = {"peers": peers, "pairs": pairs}
THREADS = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}


def run_once(contestant, python, file, options):
    """One run of one contestant: what it told, and its answers as paths (or None)."""
    with tempfile.TemporaryDirectory() as temp:
        folder = Path(temp) / "model"
        folder.mkdir()
        command = [str(python), str(HERE / "worker.py"), contestant.name, str(file), str(folder)]
        env = clean_env(**getattr(options, "threads", THREADS))
        if contestant.environment == "hiclass":  # which may have been made for another checkout
            env["PYTHONPATH"] = str(REPOSITORY / "src")
        busy = environment()["machine"]["load_at_start"]  # how busy others keep the machine
        # Looking at all processes more often would take a core's sixth away from the contestant.
        child = run_child(command, time_limit=options.time_limit, env=env, poll=0.1)
        run = {"load_at_start": busy, "peak_bytes": child["peak_bytes"]}
        for line in child["lines"]:
            if line.startswith('{"'):  # a library may print other things
                run |= json.loads(line)
        answers = Path(temp) / "model.npy"
        if child["stopped"] and not answers.exists():
            limit = f" of {options.time_limit:.0f} s" if child["stopped"] == "time limit" else ""
            run["failed"] = f"over the {child['stopped']}{limit}"
        elif "error" in child and not answers.exists():
            run["failed"] = child["error"].replace(str(options.envs), "ENVS").replace(temp, "TEMP")
        found = np.load(answers) if answers.exists() else None
    if found is not None and found.ndim == 1:
        found = np.load(file)["endings"][found]
    return run, found


def race(family, file, result, options):
    """Let the contestants of a family take turns on a stored set; the result grows."""
    y = np.load(file)["paths_test"].astype(object)
    answers = options.envs / "answers" / file.parent.name / file.stem
    answers.mkdir(parents=True, exist_ok=True)
    entries = result.setdefault(family, {})
    seen: set[str] = set()  # environments
    absent = []
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
            if "failed" in old or len(old.get("runs", [])) > turn:
                continue
            try:
                python = python_of(contestant.environment, options.envs, make=not options.existing)
            except InstallError as error:
                if not options.existing:
                    entries[contestant.name] = {"failed": f"cannot be installed: {error}"}
                absent += [] if turn else [contestant.name]
                continue
            if contestant.environment not in seen:
                result["environments"][contestant.environment] = versions(python)
                seen.add(contestant.environment)
            run, found = run_once(contestant, python, file, options)
            entry = old | {"tree": contestant.tree, "runs": [*old.get("runs", []), run]}
            if contestant.pair:
                entry["pair"] = contestant.pair
            if found is None:
                entry["failed"] = run.pop("failed")
            else:
                entry |= measures(count(y, found.astype(object)))
                run["hF"] = entry["hF"]  # some are not deterministic
                np.save(answers / f"{contestant.name}.npy", found)
            entries[contestant.name] = entry
            print(f"{file.stem}: {contestant.name}: {summary(entry)}", flush=True)
            save(result, options)
    if absent:
        print(f"{file.stem}: not here, without an environment: {'; '.join(absent)}", flush=True)


def summary(entry):
    if "failed" in entry:
        return f"failed: {entry['failed']}"
    run = entry["runs"][-1]
    times = f"fit {run['fit_s']:.2f} s, predict {run['predict_s']:.2f} s"
    return f"hF {entry['hF']:.4f}, exact {entry['exact']:.4f}, {times}"


def compare(file, result, options):
    """Two of our recipes minus everybody else, by paired resampling of the test rows.

    An interval that is stored already stays only where it still belongs to the two scores.
    """
    y = np.load(file)["paths_test"].astype(object)
    answers = options.envs / "answers" / file.parent.name / file.stem
    entries = {name: entry for name, entry in result["peers"].items() if "hF" in entry}
    counts = {
        f.stem: count(y, np.load(f).astype(object))
        for f in answers.glob("*.npy")
        if f.stem in entries
    }
    # Answers of another race, with other scores, do not count.
    counts = {n: c for n, c in counts.items() if measures(c)["hF"] == entries[n]["hF"]}
    for name, key in ((RECOMMENDED, "recommended_minus"), (QUICK, "quick_minus")):
        for other in entries.keys() - {name}:
            if name in counts and other in counts:
                entries[other][key] = bootstrap(counts[name], counts[other])
            elif name not in entries or not belongs(entries[name], entries[other], key):
                entries[other].pop(key, None)


def belongs(ours, other, key):
    """Whether a stored difference is, but for rounding, that of the two scores."""
    return key in other and abs(ours["hF"] - other["hF"] - other[key][0]) < 1.5e-4


def save(result, options):
    if options.output_folder is not None:
        name = f"race-{result['set']}.json"
        write_json(result, str(options.output_folder / name))


def stored_result(name, options):
    """The result to go on with: where more, or only some contestants, are asked for."""
    if options.quick or options.output_folder is None:
        return None
    some = options.only or options.without or options.family != "all"
    stored = options.output_folder / f"race-{name}.json"
    return json.loads(stored.read_text()) if stored.exists() and (options.more or some) else None


def run_set(name, options):
    file = prepare(name, options.data, options.envs / "sets", options.quick)
    if file is None:
        print(f"{name}: needs --data; left out")
        return
    result = stored_result(name, options)
    if result is None:
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
    named = {"nargs": "+", "metavar": "NAME", "choices": list(all_contestants())}
    parser.add_argument("--only", **named, help="these contestants only")
    parser.add_argument("--without", **named, default=[], help="not these")
    parser.add_argument("--envs", type=Path, default=Path("build/race"), help="environments, cache")
    parser.add_argument("--existing", action="store_true", help="make no environments")
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--more", action="store_true", help="go on with the stored result")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds for one run")
    parser.add_argument("--quick", action="store_true", help="2,000 rows of each set, one turn")
    parser.add_argument("--output-folder", type=Path, help=f"default {RESULTS.name} beside this")
    options = parser.parse_args()
    options.envs = options.envs.resolve()
    if options.quick:
        options.repeat = 1
    elif options.output_folder is None:
        options.output_folder = RESULTS
    for name in options.sets:
        run_set(name, options)


if __name__ == "__main__":
    main()
