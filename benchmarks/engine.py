"""What the engines gain and cost: each backend with two workers beside the serial fit.

    python benchmarks/engine.py --data DATA --output benchmarks/results/engine.json
    python benchmarks/engine.py --data DATA --quick
    python benchmarks/engine.py --markdown docs/parallel.md        # tables from the results

``speed`` fits LinearSVC, LogisticRegression, LightGBM and RandomForest children on TF-IDF of the
naics index (in the folder DATA) and on synthetic rows, each fit in a process of its own whose tree
is watched: memory is the sum of the proportional set sizes (PSS), which count a page that several
processes share once. Times are of the second fit, with warm workers. ``memory`` watches one fit
with an X that is large beside the interpreters. ``bare`` compares LinearSVC on sparse text with a
bare threaded loop over the same local problems. ``small`` is a fit of 200 rows with warm workers.
``checks`` is what it is worth that the engine calls liblinear itself: processor time beside the
same fit with a subclass of LinearSVC, which is copied by ``clone`` and fitted by its own ``fit``.
Needs psutil, pandas, lightgbm, and distributed and ray for their backends.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from importlib import metadata
from itertools import product
from multiprocessing.pool import ThreadPool
from pathlib import Path

import joblib
import numpy as np
import scipy.sparse as sp
from _common import environment, interleaved, table, write_json, write_section
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from hiclass import LocalClassifierPerParentNode
from hiclass._problems.index import TreeIndex, find_options
from hiclass._problems.strategies import STRATEGIES
from hiclass._targets.paths import encode

RESULTS = Path(__file__).parent / "results" / "engine.json"
CHILDREN = ("LinearSVC", "LogisticRegression", "LightGBM", "RandomForest")
BACKENDS = ("serial", "threading", "loky")
CLUSTERS = ("dask", "ray")
LIMIT_BARE, LIMIT_SMALL, LIMIT_MEMORY, LIMIT_CHECKS = 1.25, 1.5, 1.5, 1


# -- data and children -------------------------------------------------------------------------


def tree_labels(n_rows, branching, rng):
    """Random paths through a regular tree, labels as strings."""
    leaf = rng.integers(0, np.prod(branching), n_rows)
    sizes = np.cumprod(branching[::-1])[::-1]
    levels = [leaf // (size // b) for size, b in zip(sizes, branching, strict=True)]
    return leaf, np.stack(levels, axis=1).astype(str).astype(object)


def synthetic(n_rows, n_features=20, branching=(5, 4, 5)):
    """Gaussian clouds around the leaves of a tree."""
    rng = np.random.default_rng(0)
    leaf, y = tree_labels(n_rows, branching, rng)
    centers = rng.normal(scale=2, size=(np.prod(branching), n_features))
    return centers[leaf] + rng.normal(size=(n_rows, n_features)), y


def sparse_text(n_rows, n_words=30_000, branching=(4, 8, 5), length=40):
    """Documents as bags of words, some of which belong to their leaf."""
    rng = np.random.default_rng(0)
    leaf, y = tree_labels(n_rows, branching, rng)
    words = (n_words * rng.random((n_rows, length)) ** 3).astype(int)
    own = rng.random((n_rows, length)) < 0.15
    words[own] = (np.repeat(leaf, length).reshape(n_rows, length) * 40 + words % 40)[own]
    shape = (n_rows, n_words)
    counts = sp.coo_matrix(
        (np.ones(words.size), (np.repeat(np.arange(n_rows), length), words.ravel())), shape
    ).tocsr()
    return counts.multiply(1 / np.sqrt(counts.multiply(counts).sum(axis=1))).tocsr(), y


def naics(data, n_rows):
    """The index of the North American Industry Classification, as TF-IDF of words."""
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

    frame = pd.read_parquet(Path(data) / "naics2022_index.parquet")
    if n_rows:
        frame = frame.sample(n_rows, random_state=0)
    y = frame[["sector", "subsector", "group", "industry", "national"]].fillna("")
    return TfidfVectorizer(sublinear_tf=True).fit_transform(frame["text"]), y.to_numpy(object)


def load(name, options):
    if name == "naics":
        return naics(options.data, options.rows_naics)
    if name == "wide":
        return synthetic(options.rows_wide, n_features=800)
    return synthetic(options.rows)


def make_estimator(name):
    if name == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=10, num_leaves=7, n_jobs=1, verbose=-1)
    if name == "RandomForest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(n_estimators=10, max_depth=12, random_state=0)
    return LinearSVC() if name == "LinearSVC" else LogisticRegression(max_iter=50, tol=1e-2)


# -- one fit in a process of its own -----------------------------------------------------------


@contextmanager
def engine(backend):
    """The backend with two workers, as a user would write it."""
    if backend == "serial":
        yield
        return
    if backend == "dask":
        from distributed import Client, LocalCluster

        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        with cluster, Client(cluster), joblib.parallel_config(backend="dask"):
            yield
        return
    if backend == "ray":
        import ray
        from ray.util.joblib import register_ray

        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        register_ray()
    with joblib.parallel_config(backend=backend):
        yield


def one_fit(name, child, backend, options):
    """Fit twice, or once for the memory of one fit, and print the seconds of the last fit."""
    import warnings

    warnings.simplefilter("ignore")
    X, y = load(name, options)
    model = LocalClassifierPerParentNode(
        make_estimator(child), n_jobs=None if backend == "serial" else 2
    )
    with engine(backend):
        for _ in range(1 if name == "wide" else 2):
            start = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - start
    size = sum(a.nbytes for a in (X.data, X.indices, X.indptr)) if sp.issparse(X) else X.nbytes
    print(json.dumps({"seconds": seconds, "x_bytes": size, "rows": X.shape[0]}))


def watched(name, child, backend, argv):
    """Run one fit and watch the memory of its process tree."""
    import psutil

    command = [sys.executable, __file__, *argv, "--one", name, child, backend]
    # Two BLAS threads in the serial process as well: the engine limits them itself.
    process = psutil.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ.copy()
    )
    peak = 0
    while process.poll() is None:
        total = 0
        for member in [process, *process.children(recursive=True)]:
            try:
                total += member.memory_full_info().pss
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        peak = max(peak, total)
        time.sleep(0.05)
    lines = process.stdout.read().splitlines()
    if process.returncode:
        return {"error": f"exit status {process.returncode}"}
    return json.loads(lines[-1]) | {"peak_bytes": peak}


# -- the four comparisons ----------------------------------------------------------------------


def speed(options, argv, known=()):
    """Each child and backend on each set, one result after the other; not those that are known."""
    for name in ("synthetic", "naics") if options.data else ("synthetic",):
        for child, backend in product(CHILDREN, BACKENDS + CLUSTERS):
            if (name, child, backend) not in known:
                result = watched(name, child, backend, argv)
                found = {"set": name, "child": child, "backend": backend, **result}
                print(json.dumps(found), flush=True)
                yield found


def memory(options, argv):
    """A large X: the peak with two workers beside the serial one."""
    runs = {b: watched("wide", "LogisticRegression", b, argv) for b in ("serial", "loky", "ray")}
    x_bytes, serial = runs["serial"]["x_bytes"], runs["serial"]["peak_bytes"]
    for run in runs.values():
        if "peak_bytes" in run:
            run["times_serial_after_one_x"] = round((run["peak_bytes"] - x_bytes) / serial, 3)
    print(json.dumps(runs), flush=True)
    return runs | {"limit": LIMIT_MEMORY}


def bare(options):
    """LinearSVC on sparse text, beside a bare threaded loop over the same problems."""
    X, y = sparse_text(options.rows_text)
    target = encode(y, None)
    index = TreeIndex(target.hierarchy, target.nodes)
    problems = list(
        STRATEGIES["parent"].problems(index, find_options(index, leaf_only=False), None)
    )

    def fit(problem):
        rows = X if problem.rows is None else X[problem.rows]
        return LinearSVC(random_state=0).fit(rows, problem.target)

    def loop():
        with ThreadPool(2) as pool, threadpool_limits(1):
            pool.map(fit, problems, chunksize=1)

    model = LocalClassifierPerParentNode(LinearSVC(random_state=0))
    runs = {
        "bare loop": loop,
        "n_jobs=2": lambda: model.set_params(n_jobs=2).fit(X, y),
        "serial": lambda: model.set_params(n_jobs=None).fit(X, y),
    }
    return summary(runs, options.repeat, "n_jobs=2", "bare loop", LIMIT_BARE) | {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "leaves": 160,
        "problems": len(problems),
    }


def small(options):
    """200 rows with workers that are warm, beside the serial fit."""
    X, y = synthetic(200, branching=(3, 3, 2))
    model = LocalClassifierPerParentNode(LogisticRegression(max_iter=50, tol=1e-2))
    large = synthetic(2_000)
    model.set_params(n_jobs=2).fit(*large)
    runs = {
        "serial": lambda: model.set_params(n_jobs=None).fit(X, y),
        "n_jobs=2": lambda: model.set_params(n_jobs=2).fit(X, y),
    }
    return summary(runs, 5 * options.repeat, "n_jobs=2", "serial", LIMIT_SMALL) | {"rows": 200}


class CheckedSVC(LinearSVC):
    """LinearSVC with a ``fit`` of its own, which the engine therefore calls."""

    def fit(self, X, y):
        return super().fit(X, y)


def checks(options):
    """LinearSVC as the engine fits it, beside its own fit."""
    sets = {"synthetic text": sparse_text(options.rows_text)}
    if options.data:
        sets["naics"] = naics(options.data, options.rows_naics)
    result = {}
    for name, (X, y) in sets.items():
        models = {
            kind.__name__: LocalClassifierPerParentNode(kind(tol=0.1, random_state=0))
            for kind in (LinearSVC, CheckedSVC)
        }
        runs = {kind: partial(model.fit, X, y) for kind, model in models.items()}
        found = summary(runs, options.repeat, "LinearSVC", "CheckedSVC", LIMIT_CHECKS, "cpu")
        result[name] = found | {"problems": len(models["LinearSVC"].local_classifiers_)}
    return result


def summary(runs, repeat, ours, theirs, limit, clock="wall"):
    """Best times and their ratio."""
    times = interleaved(runs, repeat)[clock]
    best = {name: min(seconds) for name, seconds in times.items()}
    result = {"seconds": best, "ratio": round(best[ours] / best[theirs], 3), "limit": limit}
    print(json.dumps(result), flush=True)
    return result


# -- the page ----------------------------------------------------------------------------------


def write_page(page):
    """Put the tables of the stored result into a page."""
    result = json.loads(RESULTS.read_text())
    runs = {(r["set"], r["child"], r["backend"]): r for r in result["speed"]}
    rows = []
    order = [*BACKENDS, *CLUSTERS]
    in_order = sorted(
        runs, key=lambda k: (k[0] == "naics", CHILDREN.index(k[1]), order.index(k[2]))
    )
    for name, child, backend in in_order:
        run = runs[name, child, backend]
        serial = runs[name, child, "serial"]
        if "error" in run or "error" in serial:
            rows.append((name, child, backend, "failed", "", ""))
            continue
        rows.append(
            (
                name,
                child,
                backend,
                f"{run['seconds']:.1f} s",
                f"{serial['seconds'] / run['seconds']:.2f}x",
                f"{run['peak_bytes'] / 2**20:,.0f} MB",
            )
        )
    header = ("set", "local classifier", "backend", "fit", "speed-up", "peak memory")
    write_section(page, "speed", table(header, rows))
    rows = [
        (name, f"{r['peak_bytes'] / 2**20:,.0f} MB", f"{r['times_serial_after_one_x']:.2f}")
        for name, r in result["memory"].items()
        if isinstance(r, dict) and "peak_bytes" in r
    ]
    write_section(page, "memory", table(("backend", "peak", "(peak - X) / serial peak"), rows))
    bare, small = result["bare"], result["small"]
    text = f"{bare['rows']:,} x {bare['columns']:,} sparse, {bare['leaves']} leaves, LinearSVC"
    rows = [
        (text, "`n_jobs=2` / bare loop over the same problems in two threads", bare),
        ("200 rows, LogisticRegression, warm workers", "`n_jobs=2` / serial", small),
    ]
    for name, r in result["checks"].items():
        text = f"{name}, {r['problems']} classifiers, LinearSVC(tol=0.1)"
        rows.append((text, "serial, processor time / with `clone` and `LinearSVC.fit` for each", r))
    rows = [(a, b, f"{r['ratio']:.2f}", f"{r['limit']:.2f}") for a, b, r in rows]
    write_section(page, "bare", table(("work", "what is compared", "ratio", "goal"), rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder with naics2022_index.parquet")
    parser.add_argument("--memory", action="store_true", help="only that, into a stored result")
    parser.add_argument("--more", action="store_true", help="what a stored result lacks")
    parser.add_argument("--bare", action="store_true", help="only that, into a stored result")
    parser.add_argument("--checks", action="store_true", help="only that, into a stored result")
    parser.add_argument("--quick", action="store_true", help="fewer rows and repetitions")
    parser.add_argument("--output", help="where to write the result")
    parser.add_argument("--markdown", help="a page to put the tables of the stored result into")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    quick = options.quick
    options.rows, options.rows_naics = (10_000, 6_000) if quick else (50_000, None)
    options.rows_wide, options.rows_text = (50_000, 20_000) if quick else (120_000, 20_000)
    options.repeat = 3 if quick else 15
    if options.one:
        return one_fit(*options.one, options)
    if options.markdown:
        return write_page(options.markdown)
    argv = (["--data", options.data] if options.data else []) + ["--quick"] * quick
    if options.memory or options.bare or options.checks:
        result = json.loads(Path(options.output).read_text())
        if options.memory:
            result["memory"] = memory(options, argv)
        if options.bare:
            result["bare"] = bare(options)
        if options.checks:
            result["checks"] = checks(options)
        write_json(result, options.output)
        return None
    if options.more:
        result = json.loads(Path(options.output).read_text())
        known = {(r["set"], r["child"], r["backend"]) for r in result["speed"]}
        for found in speed(options, argv, known):
            result["speed"].append(found)
            write_json(result, options.output)
        return None
    result = environment()
    for library in ("lightgbm", "dask", "ray"):
        result["versions"][library] = metadata.version(library)
    result["quick"] = quick
    result["bare"], result["small"] = bare(options), small(options)
    result["checks"] = checks(options)
    result["memory"], result["speed"] = memory(options, argv), []
    for found in speed(options, argv):
        # What is known is written at once: a run may be stopped.
        result["speed"].append(found)
        write_json(result, options.output)
    return None


if __name__ == "__main__":
    main()
