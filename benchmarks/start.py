"""The estimator to start with, at its three efforts, beside flat and greedy models and peers.

    python benchmarks/start.py --data DATA                     # all sets; writes results/start.json
    python benchmarks/start.py --data DATA --sets cfpb --more  # go on with what is stored
    python benchmarks/start.py --data DATA --part ours         # only our efforts; others are stored
    python benchmarks/start.py --quick --existing              # 2,000 rows, with what is installed

Same rows, features and tree for everyone, one process per run, in the environment of its library
(race/environments.py, race/contestants.py). ``HierarchicalClassifier`` chooses on training rows
only. Differences have intervals over resampled test rows, on anuran over resampled recordings.
Products of matrices have one thread: with two, threads that wait would count as processor time.
Needs psutil and, for the sets in DATA, pandas and pyarrow.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "race"))

from _common import environment, table, write_json  # noqa: E402
from _paired import bootstrap, count, exact, f1, right_paths  # noqa: E402
from contestants import all_contestants, hands, start  # noqa: E402
from decisions import measures  # noqa: E402
from environments import InstallError, python_of  # noqa: E402
from race import run_once  # noqa: E402
from sets import MORE_SETS, describe, prepare  # noqa: E402

RESULT = HERE / "results" / "start.json"
EFFORTS = ("quick", "balanced", "best")
OURS = tuple(c.name for c in start())
TEXT = ("flat LinearSVC", "flat LogisticRegression", "hiclass, greedy SVC")
PEERS = ("hiclass 5.0.8", "PECOS XLinear", "napkinXC PLT", "LibMultiLabel 1-vs-rest")
DENSE = tuple(c.name for c in hands())
#: A plain greedy model with the classifier that the quick effort has, by the kind of rows.
GREEDY = {True: "hiclass, greedy SVC", False: "greedy kernel"}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ALL_SETS = ("cfpb", "naics", "clinc150", "synthetic", "greengenes", *MORE_SETS)


def names_for(size, part):
    """Who is compared on a set: libraries for text everywhere, plain models by the kind of rows."""
    own = TEXT if size["sparse"] else (*DENSE, "hiclass, greedy SVC")
    return {"ours": OURS, "others": (*own, *PEERS), "all": (*OURS, *own, *PEERS)}[part]


def run_set(name, file, result, options):
    """Run everybody once on a set, and compare."""
    stored = np.load(file)
    y = stored["paths_test"].astype(object)
    groups = stored.get("groups_test")
    entry = result["sets"].setdefault(name, {"size": describe(file), "models": {}})
    answers = options.envs / "answers" / "start" / file.parent.name / name
    answers.mkdir(parents=True, exist_ok=True)
    for who in options.only or names_for(entry["size"], options.part):
        contestant = all_contestants()[who]
        if options.more and "hF" in entry["models"].get(who, {}):
            continue
        try:
            python = python_of(contestant.environment, options.envs, make=not options.existing)
        except InstallError as error:
            print(f"{name}: {who}: {error}", flush=True)
            continue
        run, found = run_once(contestant, python, file, options)
        if found is not None:
            run |= measures(count(y, found.astype(object)))
            np.save(answers / f"{who}.npy", found)
        entry["models"][who] = run
        shown = {k: run[k] for k in ("hF", "exact", "fit_cpu_s", "predict_s", "failed") if k in run}
        print(f"{name}: {who}: {shown}", flush=True)
        write_json(result, options.output)
    counts = {
        f.stem: count(y, np.load(f).astype(object))
        for f in answers.glob("*.npy")
        if f.stem in entry["models"]
    }
    # Of efforts that were not run this time, those that are stored stay.
    entry["differences"] = entry.get("differences", {}) | differences(counts, groups)
    write_json(result, options.output)


def differences(counts, groups):
    """Each effort minus everybody else, in hF where it decides for hF, in right paths otherwise."""
    found = {}
    for ours in (who for who in OURS if who in counts):
        for_paths = ours.endswith("path")
        score = exact if for_paths else f1
        read = right_paths if for_paths else (lambda counted: counted)
        found[ours] = {
            other: bootstrap(read(counts[ours]), read(counts[other]), groups, score)
            for other in counts
            if other not in OURS
        }
    return found


# -- the table -----------------------------------------------------------------------------------


def _best(models, names, key):
    """The best of some models, as (score, name)."""
    return max(
        ((models[n][key], n) for n in names if key in models.get(n, {})), default=(np.nan, "")
    )


def overview(result):
    """One row per set: exact match and hF of the three efforts and of what they are compared to."""
    rows = []
    for name, entry in result["sets"].items():
        models = entry["models"]
        flat = [n for n in models if n.startswith("flat")]
        greedy = [n for n in models if n.startswith(("greedy", "hiclass, greedy"))]
        groups = [[f"{e}, {{}}"] for e in EFFORTS]
        cells = []
        for names in (*groups, flat, greedy, *([p] for p in PEERS[:3])):
            by_key = []
            for key, goal in (("exact", "path"), ("hF", "f1")):
                value, _ = _best(models, [n.format(goal) for n in names], key)
                by_key.append("" if np.isnan(value) else f"{value:.3f}")
            cells.append(tuple(by_key))
        rows.append((name, *cells))
    rows.append(("mean", *_means(rows)))
    shown = [(row[0], *_bold(row[1:])) for row in rows]
    head = ("data set", *EFFORTS, "best flat", "best greedy", "5.0.8", "PECOS", "napkinXC")
    return table(head, shown)


def _means(rows):
    means = []
    for column in list(zip(*rows, strict=True))[1:]:
        pairs = [tuple(map(float, cell)) for cell in column if all(cell)]
        full = len(pairs) == len(column)
        mean = np.mean(pairs, axis=0) if full else ()
        means.append(tuple(f"{v:.3f}" for v in mean) or ("", ""))
    return means


def _bold(cells):
    best = [max((cell[k] for cell in cells), default="") for k in (0, 1)]
    return [
        " / ".join(f"**{v}**" if v and v == best[k] else v for k, v in enumerate(cell))
        if any(cell)
        else ""
        for cell in cells
    ]


def claims(result):
    """Which efforts are significantly below something and where, and what was not measured."""
    lost = {effort: _lost(result, effort) for effort in EFFORTS}
    parts = []
    best = [f'`effort="{effort}"`' for effort in EFFORTS if not lost[effort]]
    if best:
        parts.append(
            f"With {' and '.join(best)}, no model and no library is significantly better "
            "on any data set."
        )
    for effort, rows in lost.items():
        if rows:
            n_sets = len(result["sets"])
            text = (
                f'With `effort="{effort}"`, another model is significantly better on {len(rows)} '
                f"of {n_sets} data sets (1 point = 0.01):"
            )
            head = ("data set", "better exact match", "better hF")
            parts += [text, table(head, rows)]
    # A gap in the table is not a result.
    gaps = [
        f"`{effort}` on {name} ({what})"
        for effort in EFFORTS
        for name, entry in result["sets"].items()
        for goal, what in GOALS
        if f"{effort}, {goal}" not in entry.get("differences", {})
    ]
    if gaps:
        parts.append(f"Not measured, because the run took too long: {', '.join(gaps)}.")
    return "\n\n".join(parts)


GOALS = (("path", "exact match"), ("f1", "hF"))


def _lost(result, effort):
    """One row per set on which an effort loses: the significantly better model, for each goal."""
    rows = []
    for name, entry in result["sets"].items():
        cells = []
        for goal, _ in GOALS:
            found = entry.get("differences", {}).get(f"{effort}, {goal}", {})
            worse = [(d[0], other) for other, d in found.items() if d[2] < 0]
            cells.append(f"{min(worse)[1]}: +{-100 * min(worse)[0]:.1f} points" if worse else "-")
        if cells != ["-", "-"]:
            rows.append((name, *cells))
    return rows


def means(result):
    """Means over the sets, one row per model, from the last row of the overview."""
    head, last = (overview(result).splitlines()[k].strip("|").split("|") for k in (0, -1))
    cells = [(name.strip(), *cell.split("/")) for name, cell in zip(head, last, strict=True)]
    rows = [(name, *(value.strip() for value in values)) for name, *values in cells[1:]]
    return table(("model", "exact match", "hF"), rows)


def costs(result):
    """Processor seconds of fit per set and effort, beside greedy models on the same features.

    An effort has been fitted twice, for paths and for hF, with the same work; the smaller counts.
    """
    rows = []
    for name, entry in result["sets"].items():
        models, plain = entry["models"], GREEDY[entry["size"]["sparse"]]
        greedy = models.get(plain, {}).get("fit_cpu_s", np.nan)
        seconds = [
            min(
                (
                    models[f"{effort}, {goal}"]["fit_cpu_s"]
                    for goal in ("path", "f1")
                    if "fit_cpu_s" in models.get(f"{effort}, {goal}", {})
                ),
                default=np.nan,
            )
            for effort in EFFORTS
        ]
        shares = (seconds[0] / greedy, seconds[1] / seconds[2])
        cells = [f"{value:.2f}" if value == value else "" for value in (*seconds, greedy, *shares)]
        rows.append((name, *cells[:3], f"{cells[3]} {plain.split()[-1]}", *cells[4:]))
    head = (*EFFORTS, "greedy, same classifier", "quick / greedy", "balanced / best")
    return table(("data set", *head), rows)


SECTIONS = {
    "start": overview,
    "start_means": means,
    "start_claims": claims,
    "start_costs": costs,
}


def write_page(page):
    """Put those of the tables into a page that it has a place for."""
    from _common import write_section

    result = json.loads(RESULT.read_text())
    text = Path(page).read_text(encoding="utf-8")
    for name, make in SECTIONS.items():
        if f"<!-- {name} -->" in text:
            write_section(page, name, make(result))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the real sets")
    parser.add_argument("--sets", nargs="+", choices=ALL_SETS, default=list(ALL_SETS))
    parser.add_argument("--only", nargs="+", choices=list(all_contestants()), help="these only")
    parser.add_argument("--part", choices=("all", "ours", "others"), default="all")
    parser.add_argument("--envs", type=Path, default=Path("build/race"), help="environments, cache")
    parser.add_argument("--existing", action="store_true", help="make no environments")
    parser.add_argument("--more", action="store_true", help="leave out what is stored")
    parser.add_argument("--quick", action="store_true", help="2,000 rows of each set")
    parser.add_argument("--time-limit", type=float, default=900, help="seconds for one run")
    parser.add_argument("--output", help=f"default {RESULT.name} beside the other results")
    options = parser.parse_args()
    options.envs = options.envs.resolve()
    options.threads = ONE_THREAD
    if options.output is None and not options.quick:
        options.output = str(RESULT)
    result = {"sets": {}} | environment()
    if options.output and Path(options.output).exists():
        result["sets"] = json.loads(Path(options.output).read_text())["sets"]
    for name in options.sets:
        file = prepare(name, options.data, options.envs / "sets", options.quick)
        if file is None:
            print(f"{name}: needs --data; left out")
            continue
        run_set(name, file, result, options)
    print(overview(result), claims(result), costs(result), sep="\n\n")


if __name__ == "__main__":
    main()
