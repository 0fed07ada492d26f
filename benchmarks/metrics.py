"""Time and memory of the metrics.

    python benchmarks/metrics.py --output metrics.json
    python benchmarks/metrics.py --published PYTHON --lca PYTHON

``--published`` names an interpreter that has hiclass 5.0.8 installed: both compute f1 on the same
rows. ``--lca`` names one that has lca-metrics 0.1.0 and networkx installed: both compute LCA-F1 of
the same random pairs. Comparisons whose interpreter is not given are left out. Times are the best
of some repeated runs, on the clock and of the processor, which on a busy machine say different
things; everything here runs in one thread. The memory is what tracemalloc sees at its peak during
one call.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from _common import clean_env, environment, table, write_json

from hiclass import Hierarchy
from hiclass.metrics import f1, lca_f1, lca_precision

PUBLISHED = """
import importlib.metadata, json, sys, time
import numpy as np
from hiclass.metrics import f1

data = np.load(sys.argv[1], allow_pickle=True)
clock, cpu = [], []
for _ in range(int(sys.argv[2])):
    start, cpu_start = time.perf_counter(), time.process_time()
    value = f1(data["y_true"], data["y_pred"])
    clock.append(time.perf_counter() - start)
    cpu.append(time.process_time() - cpu_start)
version = importlib.metadata.version("hiclass")
times = {"first_s": clock[0], "best_s": min(clock), "best_cpu_s": min(cpu)}
print(json.dumps({"version": version, **times, "value": float(value)}))
"""

# lca-metrics 0.1.0 uses names that newer NumPy and networkx have dropped.
LCA = """
import json, sys
import networkx as nx
import numpy as np

np.int = int
nx.Graph.node = property(lambda graph: graph.nodes)
from lca_metrics import fbeta_lca_score

case = json.load(open(sys.argv[1]))
names = sorted({name for edge in case["edges"] for name in edge} - {""})
graph = nx.DiGraph([(child, parent) for parent, child in case["edges"]])

def row(name):
    return np.array([[int(other == name) for other in names]])

print(json.dumps([
    [fbeta_lca_score(row(t), row(p), graph, "", names, beta=beta) for beta in (0, 1)]
    for t, p in case["pairs"]
]))
"""


def ask(python, script, *arguments):
    """Run a script with another interpreter, which must not see this source tree."""
    command = [python, "-W", "ignore", "-c", script, *map(str, arguments)]
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, env=clean_env(), cwd=elsewhere
        )
    return json.loads(done.stdout)


def timed(call, repeats):
    clock, cpu = [], []
    for _ in range(repeats):
        start, cpu_start = time.perf_counter(), time.process_time()
        call()
        clock.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    return {"first_s": clock[0], "best_s": min(clock), "best_cpu_s": min(cpu)}


def paths(n_rows, n_levels, n_children, seed):
    """True and predicted paths of numbers; one label in ten is wrong."""
    rng = np.random.default_rng(seed)
    y_true = rng.integers(0, n_children, (n_rows, n_levels))
    other = rng.integers(0, n_children, (n_rows, n_levels))
    return y_true, np.where(rng.random(y_true.shape) < 0.1, other, y_true)


def as_objects(y):
    """Labels as strings, every one an object of its own, as a file reader makes them."""
    return np.array([[f"class {label}" for label in row] for row in y.tolist()], dtype=object)


def bench_speed(n_rows, repeats):
    y_true, y_pred = paths(n_rows, 4, 10, seed=0)
    integers = timed(lambda: f1(y_true, y_pred), repeats)
    objects = as_objects(y_true), as_objects(y_pred)
    strings = timed(lambda: f1(*objects), repeats)
    millions = n_rows / 1e6
    return {
        "integers": {"rows": n_rows, "levels": 4, "goal_s": 0.5 * millions, **integers},
        "strings": {"rows": n_rows, "levels": 4, "goal_s": 2.5 * millions, **strings},
    }


def bench_published(python, repeats, n_rows=50_000):
    y_true, y_pred = (as_objects(y) for y in paths(n_rows, 3, 10, seed=1))
    # Distinct names at every level: the published package takes homonyms for equal.
    for y in (y_true, y_pred):
        y[:, 1] = y[:, 0] + "/" + y[:, 1]
        y[:, 2] = y[:, 1] + "/" + y[:, 2]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "labels.npz"
        np.savez(file, y_true=y_true, y_pred=y_pred)
        theirs = ask(python, PUBLISHED, file, repeats)
    ours = timed(lambda: f1(y_true, y_pred), repeats)
    return {
        "rows": n_rows,
        "levels": 3,
        "ours": {**ours, "value": f1(y_true, y_pred)},
        "published": theirs,
        "ratio": theirs["best_s"] / ours["best_s"],
        "cpu_ratio": theirs["best_cpu_s"] / ours["best_cpu_s"],
        "goal_ratio": 20,
    }


def bench_lca(python, n_pairs=200):
    """Largest difference from lca-metrics over random pairs of nodes of a random tree."""
    rng = np.random.default_rng(2)
    names = [f"n{i}" for i in range(40)]
    edges = [(names[rng.integers(i)] if i > 3 else "", name) for i, name in enumerate(names)]
    pairs = [[names[i] for i in pair] for pair in rng.integers(0, 40, (n_pairs, 2))]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.json"
        file.write_text(json.dumps({"edges": edges, "pairs": pairs}))
        theirs = ask(python, LCA, file)
    hierarchy = Hierarchy.from_edges([(parent or None, child) for parent, child in edges])
    ours = [
        [metric([t], [p], hierarchy=hierarchy) for metric in (lca_precision, lca_f1)]
        for t, p in pairs
    ]
    return {"pairs": n_pairs, "largest_difference": float(np.abs(np.subtract(ours, theirs)).max())}


def bench_memory():
    """Peak memory per row, for few and for many classes."""
    results = []
    for n_classes in (100, 10_000):
        for n_rows in (100_000, 200_000, 400_000):
            rng = np.random.default_rng(3)
            leaf = rng.integers(0, n_classes, (2, n_rows))
            y_true, y_pred = (np.column_stack([v // 100, v]) for v in leaf)
            peak = {}
            for average in ("micro", "macro"):
                tracemalloc.start()
                f1(y_true, y_pred, average=average)
                peak[average] = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            results.append(
                {
                    "classes": n_classes,
                    "rows": n_rows,
                    "peak_mb": {name: round(p / 1e6, 1) for name, p in peak.items()},
                    "bytes_per_row": {name: round(p / n_rows) for name, p in peak.items()},
                    "rows_x_classes_mb": round(n_rows * n_classes * 8 / 1e6),
                }
            )
    return results


def summary(result):
    rows = [
        (
            f"f1 of {r['rows']:,} rows x {r['levels']} {kind}",
            f"{r['best_s']:.2f} s (processor {r['best_cpu_s']:.2f} s)",
            f"< {r['goal_s']} s",
        )
        for kind, r in result["speed"].items()
    ]
    if "published" in result:
        r = result["published"]
        ours, theirs = r["ours"], r["published"]
        measured = (
            f"{theirs['best_s']:.2f} s / {ours['best_s'] * 1000:.0f} ms = {r['ratio']:.0f}x "
            f"(processor {r['cpu_ratio']:.0f}x)"
        )
        name = f"f1 of {r['rows']:,} rows x {r['levels']}: hiclass {theirs['version']} / ours"
        rows.append((name, measured, f">= {r['goal_ratio']}x"))
    if "lca" in result:
        r = result["lca"]
        name = f"LCA of {r['pairs']} pairs: difference from lca-metrics"
        rows.append((name, f"{r['largest_difference']:.1e}", "0"))
    rows += [
        (
            f"memory of f1, {r['rows']:,} rows, {r['classes']:,} classes",
            f"{r['peak_mb']['micro']} MB",
            f"rows x classes would be {r['rows_x_classes_mb']:,} MB",
        )
        for r in result["memory"]
    ]
    return table(("what", "measured", "goal"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--published", metavar="PYTHON", help="has hiclass 5.0.8")
    parser.add_argument("--lca", metavar="PYTHON", help="has lca-metrics and networkx")
    parser.add_argument("--output", metavar="FILE", help="where to write JSON")
    args = parser.parse_args()

    result = {
        **environment(),
        "speed": bench_speed(args.rows, args.repeats),
        "memory": bench_memory(),
    }
    if args.published:
        result["published"] = bench_published(args.published, args.repeats)
    else:
        print("left out: hiclass 5.0.8 (no --published)", file=sys.stderr)
    if args.lca:
        result["lca"] = bench_lca(args.lca)
    else:
        print("left out: lca-metrics (no --lca)", file=sys.stderr)
    print(summary(result))
    write_json(result, args.output)


if __name__ == "__main__":
    main()
