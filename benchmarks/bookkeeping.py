"""What the bookkeeping costs: fit and predict beside a bare loop over the same local problems.

    python benchmarks/bookkeeping.py --output benchmarks/results/bookkeeping.json
    python benchmarks/bookkeeping.py --published PYTHON --output benchmarks/results/bookkeeping.json
    python benchmarks/bookkeeping.py --scale --output benchmarks/results/bookkeeping_scale.json
    python benchmarks/bookkeeping.py --markdown docs/performance.md

The first command times GaussianNB children on 10 x 10 x 10 classes. The bare loop is given the rows
and the target of every local problem, recorded beforehand: it slices X, clones the child and calls
its fit. At predict it calls predict_proba of the same children on the same rows in the same chunks.
With ``--published`` the package hiclass 5.0.8, from the environment of that interpreter, does the
same work in processes of its own. ``--scale`` runs a child that costs nothing on a million rows and
100,000 leaves. ``--markdown`` puts the tables of the stored results into a page. Needs psutil.
"""

import argparse
import cProfile
import io
import json
import pstats
import sys
import time
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
from _common import clean_env, environment, interleaved, run_child, table, write_json, write_section
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

RESULTS = Path(__file__).parent / "results"
STRATEGIES = {
    "node": ("per node", "LocalClassifierPerNode"),
    "parent": ("per parent node", "LocalClassifierPerParentNode"),
    "level": ("per level", "LocalClassifierPerLevel"),
    "flat": ("flat", "FlatClassifier"),
}
STEPS = ("fit", "predict")
LIMIT, LIMIT_PER_NODE_FIT = 1.25, 1.1

ROWS, FEATURES, BRANCHING = 50_000, 8, (10, 10, 10)
SCALE_ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
SCALE_BRANCHING = {  # leaves -> children per node of the levels 0, 1, 2, 3
    100: (5, 5, 2, 2),
    1_000: (5, 5, 5, 8),
    10_000: (10, 10, 10, 10),
    100_000: (20, 20, 25, 10),
}
ROWS_SLOPE_LEAVES = 1_000


# -- data and children -------------------------------------------------------------------------


def make_data(n_rows, branching, seed=0):
    """Gaussian clouds around the leaves of a tree; labels are strings, one column per level."""
    rng = np.random.default_rng(seed)
    n_leaves = int(np.prod(branching))
    leaf = rng.permutation(np.arange(n_rows) % n_leaves)  # every leaf has rows
    X = rng.normal(size=(n_rows, FEATURES))
    y = np.empty((n_rows, len(branching)), dtype=object)
    n_nodes = 1
    for level, k in enumerate(branching):
        n_nodes *= k
        node = leaf // (n_leaves // n_nodes)
        centers = np.random.default_rng(level).normal(size=(n_nodes, FEATURES))
        X += 3.0 / 2**level * centers[node]
        names = np.array([f"level {level + 1} class {i}" for i in range(n_nodes)], dtype=object)
        y[:, level] = names[node]
    return X, y


class Free:
    """A child that costs nothing: its answers are views of a table of random numbers."""

    size = 1 << 22  # no chunk has more numbers than this
    table = np.empty(0)
    n_fits = n_rows = 0

    def fit(self, X, y):
        self.n_classes = int(y.max()) + 1
        self.start = Free.n_fits * 104_729 % self.size  # siblings must not agree
        Free.n_fits += 1
        Free.n_rows += len(y)
        return self

    def predict_proba(self, X):
        n = len(X) * self.n_classes
        return Free.table[self.start : self.start + n].reshape(len(X), self.n_classes)


def make_model(strategy, child, published=False):
    import hiclass

    make = getattr(hiclass, STRATEGIES[strategy][1])
    options = {"n_jobs": 1} if published and strategy != "flat" else {}
    return make(local_classifier=child, **options)


# -- the bare loop -----------------------------------------------------------------------------


def recorded(method, function, X):
    """The calls of a method of the children: child, rows of X (a slice if they are one run), rest.

    Rows are recognised by their first feature. Calls one after the other with the same array, or
    views of it, share their rows, so that the bare loop need not slice twice either.
    """
    original = getattr(GaussianNB, method)
    order = np.argsort(X[:, 0])
    keys = X[order, 0]
    calls, last = [], [None, None, None]

    def spy(child, X_child, *rest):
        place = X_child.shape, X_child.ctypes.data
        if place != last[0]:
            rows = order[np.searchsorted(keys, X_child[:, 0])]
            one_run = rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all()
            # The array is kept, so that no other one takes its place in memory.
            last[:] = place, slice(rows[0], rows[-1] + 1) if one_run else rows, X_child
        calls.append((child, last[1], *rest))
        return original(child, X_child, *rest)

    with mock.patch.object(GaussianNB, method, spy):
        function()
    return calls


def bare_fit(X, child, problems):
    for _, rows, target in problems:
        clone(child).fit(X[rows], target)


def bare_predict(X, calls):
    last = None
    for child, rows in calls:
        if rows is not last:
            X_rows, last = X[rows], rows
        child.predict_proba(X_rows)


def work_of(calls):
    """How many calls with how many rows."""
    sizes = [c[1].stop - c[1].start if isinstance(c[1], slice) else len(c[1]) for c in calls]
    return {"calls": len(sizes), "rows": int(sum(sizes))}


# -- part 1: beside the bare loop --------------------------------------------------------------


def compare(repeat, at_least):
    X, y = make_data(ROWS, BRANCHING)
    X_new, _ = make_data(ROWS, BRANCHING, seed=1)
    result = {"rows": ROWS, "features": FEATURES, "branching": BRANCHING}
    result |= environment() | {"strategies": {}}
    for strategy, (name, _) in STRATEGIES.items():
        print(f"{name} ...", file=sys.stderr)
        model = make_model(strategy, GaussianNB())
        entry = {}
        problems = recorded("fit", lambda model=model: model.fit(X, y), X)
        fit = {
            "ours": lambda model=model: model.fit(X, y),
            "bare": lambda problems=problems: bare_fit(X, GaussianNB(), problems),
        }
        entry["fit"] = work_of(problems) | summary(interleaved(fit, repeat, at_least))
        calls = recorded("predict_proba", lambda model=model: model.predict(X_new), X_new)
        predict = {
            "ours": lambda model=model: model.predict(X_new),
            "bare": lambda calls=calls: bare_predict(X_new, calls),
        }
        entry["predict"] = work_of(calls) | summary(interleaved(predict, repeat, at_least))
        entry["alone"] = run_worker({"strategy": strategy, "rows": ROWS, "branching": BRANCHING})
        result["strategies"][strategy] = entry
    return result


def measure_published(result, python, time_limit):
    """Add the published package, as a black box, to a result."""
    result["published_time_limit"] = time_limit
    for strategy, (name, _) in STRATEGIES.items():
        print(f"{name}, published package ...", file=sys.stderr)
        spec = {"strategy": strategy, "rows": ROWS, "branching": BRANCHING, "published": True}
        result["strategies"][strategy]["published"] = run_worker(spec, python, time_limit)


def summary(times):
    """Best of all runs and their ratio, by clock."""
    result = {}
    for clock, seconds in times.items():
        best = {name: min(values) for name, values in seconds.items()}
        middle = {name: float(np.median(values)) for name, values in seconds.items()}
        result[clock] = {
            "seconds": {name: [round(v, 4) for v in values] for name, values in seconds.items()},
            "best": {name: round(value, 4) for name, value in best.items()},
            "ratio": round(best["ours"] / best["bare"], 3),
            "ratio_of_medians": round(middle["ours"] / middle["bare"], 3),
        }
    return result


# -- workers: one fresh process per measurement ------------------------------------------------


def run_worker(spec, python=None, time_limit=3600):
    """Fit and predict in a process of its own; processor and wall time, and peak memory."""
    command = [python or sys.executable, __file__, "--worker", json.dumps(spec)]
    env = clean_env() if python else None  # in another environment nothing of ours may be found
    child = run_child(command, time_limit=time_limit, env=env)
    result = {"peak_bytes": child["peak_bytes"]}
    for line in child["lines"]:
        if line.startswith("{"):  # a package may print other things
            result |= json.loads(line)
    return result | {k: child[k] for k in ("stopped", "error") if child.get(k)}


def work(spec):
    """The worker: prints one line of JSON per step, so that a killed one has told what it did."""
    X, y = make_data(spec["rows"], spec["branching"])
    X_new, _ = make_data(spec["rows"], spec["branching"], seed=1)
    child = Free() if spec.get("free") else GaussianNB()
    if spec.get("free"):
        Free.table = np.random.default_rng(0).random(2 * Free.size)
    model = make_model(spec["strategy"], child, spec.get("published", False))
    steps = {"fit": lambda: model.fit(X, y), "predict": lambda: model.predict(X_new)}
    for step, function in steps.items():
        profile = cProfile.Profile()
        start, start_cpu = time.perf_counter(), time.process_time()
        if spec.get("profile"):
            profile.runcall(function)
        else:
            function()
        report(f"{step}_wall", round(time.perf_counter() - start, 4))
        report(step, round(time.process_time() - start_cpu, 4))
        if spec.get("profile"):
            text = io.StringIO()
            pstats.Stats(profile, stream=text).strip_dirs().sort_stats("tottime").print_stats(20)
            report(f"{step}_profile", [line.rstrip() for line in text.getvalue().splitlines()])
    if spec.get("free"):
        report("n_problems", Free.n_fits)
        report("problem_rows", Free.n_rows)


def report(key, value):
    print(json.dumps({key: value}), flush=True)


# -- part 2: at scale --------------------------------------------------------------------------


def scale():
    largest = SCALE_ROWS[-1], max(SCALE_BRANCHING)
    points = {(n, ROWS_SLOPE_LEAVES) for n in SCALE_ROWS}
    points |= {(largest[0], k) for k in SCALE_BRANCHING}
    result = {"features": FEATURES, "branching": {str(k): v for k, v in SCALE_BRANCHING.items()}}
    result |= environment() | {"strategies": {}}
    for strategy in ("node", "parent"):
        runs = []
        for rows, leaves in sorted(points):
            print(f"{STRATEGIES[strategy][0]}, {rows:,} rows, {leaves:,} leaves", file=sys.stderr)
            spec = {"strategy": strategy, "rows": rows, "branching": SCALE_BRANCHING[leaves]}
            runs.append({"rows": rows, "leaves": leaves} | run_worker(spec | {"free": True}))
        slopes = {
            step: {
                "rows": slope([r for r in runs if r["leaves"] == ROWS_SLOPE_LEAVES], "rows", step),
                "leaves": slope([r for r in runs if r["rows"] == largest[0]], "leaves", step),
            }
            for step in STEPS
        }
        print(f"{STRATEGIES[strategy][0]}, profile", file=sys.stderr)
        profile = run_worker(spec | {"free": True, "profile": True})
        result["strategies"][strategy] = {"runs": runs, "slopes": slopes, "profile": profile}
    return result


def slope(runs, key, step):
    """Exponent of the time as a power of rows or leaves, by least squares on logarithms."""
    x, seconds = (np.log([run[k] for run in runs]) for k in (key, step))
    return round(float(np.polyfit(x, seconds, 1)[0]), 2)


# -- tables ------------------------------------------------------------------------------------


def show_comparison(result):
    strategies = result["strategies"]
    rows = []
    for (strategy, entry), step in product(strategies.items(), STEPS):
        limit = LIMIT_PER_NODE_FIT if (strategy, step) == ("node", "fit") else LIMIT
        best = entry[step]["wall"]["best"]
        rows.append([STRATEGIES[strategy][0], step, f"{best['ours']:.3f}", f"{best['bare']:.3f}"])
        cpu = entry[step]["cpu"]
        ratios = entry[step]["wall"]["ratio"], cpu["ratio"], cpu["ratio_of_medians"]
        rows[-1] += [*(verdict(ratio, limit) for ratio in ratios), f"{limit:.2f}"]
        rows[-1].append(str(len(cpu["seconds"]["ours"])))
    header = ["strategy", "step", "hiclass, s", "bare loop, s"]
    header += ["ratio", "CPU, best", "CPU, median", "limit", "runs"]
    text = table(header, rows)
    others = [key for key in ("alone", "published") if key in strategies["node"]]
    rows = []
    for strategy, entry in strategies.items():
        rows.append([STRATEGIES[strategy][0]])
        for run in (entry[key] for key in others):
            rows[-1] += [*(seconds(run, step) for step in STEPS), f"{run['peak_bytes'] / 1e6:,.0f}"]
    header = ["fit, CPU s", "predict, CPU s", "peak, MB"]
    header = ["strategy", *header, *(f"5.0.8: {name}" for name in header * (len(others) - 1))]
    return f"{text}\n\n{table(header, rows)}"


def verdict(value, limit):
    return f"{value:.2f}" + (" (over)" if value > limit else "")


def seconds(run, step):
    if step in run:
        return f"{run[step]:.2f}"
    return "over the " + run["stopped"] if "stopped" in run else run.get("error", "not run")


def show_scale(result):
    rows, slopes = [], []
    for strategy, entry in result["strategies"].items():
        name = STRATEGIES[strategy][0]
        for run in entry["runs"]:
            keys = ("rows", "leaves", "n_problems", "problem_rows")
            rows.append([name, *(f"{run[k]:,}" if k in run else "" for k in keys)])
            rows[-1] += [seconds(run, step) for step in STEPS]
            rows[-1].append(f"{run['peak_bytes'] / 1e6:,.0f}")
        for step, by in entry["slopes"].items():
            slopes.append([name, step, f"{by['rows']:.2f}", f"{by['leaves']:.2f}"])
    header = ["strategy", "rows", "leaves", "problems", "rows in problems"]
    header += ["fit, CPU s", "predict, CPU s", "peak, MB"]
    text = table(header, rows)
    return f"{text}\n\n{table(['strategy', 'step', 'slope in rows', 'slope in leaves'], slopes)}"


def show_environment(result):
    versions = ", ".join(f"{k} {v}" for k, v in result["versions"].items())
    m = result["machine"]
    machine = f"{m['processor']}, {m['cpus']} CPUs, {m['memory_gib']} GiB, {m['system']}"
    return f"{versions}; {machine}; load at the start {m['load_at_start']}."


def write_page(page):
    """Put the tables of the stored results into a page."""
    for name, show in (("bookkeeping", show_comparison), ("bookkeeping_scale", show_scale)):
        result = json.loads((RESULTS / f"{name}.json").read_text())
        write_section(page, name, f"\n{show(result)}\n\n{show_environment(result)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=5, help="interleaved runs; the best counts")
    parser.add_argument("--seconds", type=float, default=30, help="more runs until then, per step")
    parser.add_argument("--published", metavar="PYTHON", help="interpreter that has hiclass 5.0.8")
    parser.add_argument("--published-only", action="store_true", help="add it to stored results")
    parser.add_argument("--time-limit", type=float, default=600, help="for each of its runs, in s")
    parser.add_argument("--scale", action="store_true", help="a million rows, 100,000 leaves")
    parser.add_argument("--output", metavar="FILE", help="where the results go, as JSON")
    parser.add_argument("--markdown", metavar="PAGE", help="put stored results into a page")
    parser.add_argument("--worker", metavar="JSON", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(json.loads(arguments.worker))
        return
    if arguments.markdown:
        write_page(arguments.markdown)
        return
    if arguments.scale:
        result, show = scale(), show_scale
    else:
        if arguments.published_only:
            result = json.loads(Path(arguments.output).read_text())
        else:
            result = compare(arguments.repeat, arguments.seconds)
        if arguments.published:
            measure_published(result, arguments.published, arguments.time_limit)
        show = show_comparison
    write_json(result, arguments.output)
    print(f"{show(result)}\n\n{show_environment(result)}")


if __name__ == "__main__":
    main()
