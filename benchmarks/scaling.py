"""How time and memory grow with rows, leaves and depth, beside the published package.

    python benchmarks/scaling.py --published PYTHON --output benchmarks/results/scaling.json
    python benchmarks/scaling.py --quick
    python benchmarks/scaling.py --figure docs/images/scaling.svg    # from the stored result

GaussianNB children on Gaussian clouds around the leaves of a tree (the generator and the worker of
bookkeeping.py), per parent node and per node, one process at a time, every point in a fresh one.
Three curves: rows from 1,000 to a million at 100 leaves, leaves from 10 to 100,000 at 100,000 rows
in four levels, and depth from 1 to 8 at 256 leaves. The package hiclass 5.0.8, in the environment
of the interpreter PYTHON, goes along each curve until a point takes it over two minutes. Seconds
are processor time. A curve that is not asked for stays in the output file as it was, but with
``--quick``, which starts anew. Needs psutil, and matplotlib for the figure. Compare memory between
like environments only: scikit-learn loads pandas where it is installed, which takes 70 MB.
"""

import argparse
import json
from itertools import product
from pathlib import Path

import numpy as np
from _common import environment, save_svg, table, write_json
from bookkeeping import SCALE_BRANCHING, STRATEGIES, run_worker

RESULT = Path(__file__).parent / "results" / "scaling.json"
TIME_LIMIT = 120  # processor seconds of one point, after which its curve ends
WALL_LIMIT = 1200
MEASURES = {"fit": "fit, CPU s", "predict": "predict, CPU s", "peak_bytes": "peak memory, MB"}
CURVES = ["rows", "leaves", "depth"]
DRAWN = ["parent", "node"]  # the strategies
SIDES = {"ours": "hiclass", "published": "hiclass 5.0.8"}

BRANCHING = {10: (5, 2, 1, 1)} | SCALE_BRANCHING
DEPTHS = {  # depth -> children per node of each level, 256 leaves
    1: (256,),
    2: (16, 16),
    3: (8, 8, 4),
    4: (4, 4, 4, 4),
    5: (4, 4, 4, 2, 2),
    6: (4, 4, 2, 2, 2, 2),
    7: (4, 2, 2, 2, 2, 2, 2),
    8: (2, 2, 2, 2, 2, 2, 2, 2),
}


def curves(quick):
    """By curve and value on its axis: the rows, and the children per node of each level."""
    most = 10_000 if quick else 1_000_000
    rows = [n for n in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000) if n <= most]
    few = 3_000 if quick else 100_000
    depths = (1, 2, 4, 8) if quick else DEPTHS
    return {
        "rows": {n: (n, BRANCHING[100]) for n in rows},
        "leaves": {k: (few, b) for k, b in BRANCHING.items() if k <= few},
        "depth": {d: (min(few, 10_000), DEPTHS[d]) for d in depths},
    }


def measure(result, options, save):
    """All points of the curves asked for; what is known is handed to ``save`` at once."""
    pythons = {"ours": None} | ({"published": options.published} if options.published else {})
    for curve, points in curves(options.quick).items():
        for strategy in options.strategies:
            for side, python in pythons.items():
                if curve not in options.curves or side not in options.sides:
                    continue
                found = result["curves"].setdefault(curve, {}).setdefault(strategy, {})
                found[side] = []
                for value, (rows, branching) in points.items():
                    spec = {"strategy": strategy, "rows": rows, "branching": branching}
                    run = run_worker(spec | {"published": python is not None}, python, WALL_LIMIT)
                    found[side].append({curve: value, "n_rows": rows, "branching": branching} | run)
                    name = f"{curve} {value:,}, {STRATEGIES[strategy][0]}, {SIDES[side]}"
                    print(f"{name}: {summary(run)}", flush=True)
                    save()
                    seconds = run.get("fit", 0) + run.get("predict", 0)
                    if "stopped" in run or "error" in run or seconds > TIME_LIMIT:
                        break


def summary(run):
    """What became of one point, in a line."""
    steps = [f"{step} {run[step]:.2f} s" for step in ("fit", "predict") if step in run]
    ended = [f"over the {run['stopped']}"] if "stopped" in run else []
    ended += [run["error"]] if "error" in run else []
    return ", ".join([*steps, *ended, f"{run['peak_bytes'] / 1e6:,.0f} MB"])


def slope(runs, curve, step):
    """Exponent of growth over the three largest points, or None without them."""
    known = [(run[curve], run[step]) for run in runs if "stopped" not in run and run.get(step)]
    if len(known) < 3:
        return None
    x, y = np.log(known[-3:]).T
    return round(float(np.polyfit(x, y, 1)[0]), 2)


def show(result):
    """One line per curve, strategy and side: the largest point, and the slopes."""
    lines = []
    for curve, strategies in result["curves"].items():
        for strategy, sides in strategies.items():
            for side, runs in sides.items():
                done = [run for run in runs if "stopped" not in run and "error" not in run]
                head = (curve, STRATEGIES[strategy][0], SIDES[side])
                stopped = [run for run in runs if run not in done]
                end = f"{done[-1][curve]:,}" if done else "none"
                if stopped:
                    reason = stopped[0].get("stopped") or "error"
                    end += f" (at {stopped[0][curve]:,}: {reason})"
                if not done:
                    lines.append((*head, end, *"-----"))
                    continue
                cells = [f"{done[-1]['fit']:.2f}", f"{done[-1]['predict']:.2f}"]
                cells.append(f"{done[-1]['peak_bytes'] / 1e6:,.0f}")
                slopes = [slope(runs, curve, step) for step in ("fit", "predict")]
                cells += ["-" if s is None else f"{s:.2f}" for s in slopes]
                lines.append((*head, end, *cells))
    header = ("along", "strategy", "library", "largest point", *MEASURES.values())
    text = table((*header, "slope of fit", "slope of predict"), lines)
    known = {line[:3] for line in lines}
    all_lines = product(CURVES, [STRATEGIES[name][0] for name in DRAWN], SIDES.values())
    missing = [f"{a} ({c}, {b})" for a, b, c in all_lines if (a, b, c) not in known]
    return text + (f"\n\nNot measured: {', '.join(missing)}." if missing else "")


def draw(result, file):
    """Three curves by three measures, on logarithmic axes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    colors = {"ours": "#0b6e99", "published": "#c2571a"}
    styles = {"parent": ("-", "o"), "node": ("--", "s")}
    fig, axes = plt.subplots(3, 3, figsize=(11, 9), layout="constrained", sharex="col")
    for column, (curve, strategies) in enumerate(result["curves"].items()):
        for row, (step, title) in enumerate(MEASURES.items()):
            axis = axes[row, column]
            for strategy, sides in strategies.items():
                line, marker = styles[strategy]
                for side, runs in sides.items():
                    known = [r for r in runs if "stopped" not in r and step in r]
                    values = [r[step] / (1e6 if step == "peak_bytes" else 1) for r in known]
                    label = f"{SIDES[side]}, {STRATEGIES[strategy][0]}"
                    growth = slope(runs, curve, step)
                    if step != "peak_bytes" and curve != "depth":
                        label = "-" if growth is None else f"{growth:.2f}"
                    axis.plot(
                        [r[curve] for r in known],
                        values,
                        line,
                        marker=marker,
                        markersize=4,
                        color=colors[side],
                        label=label,
                    )
            axis.set_yscale("log")
            axis.set_xscale("log", base=2 if curve == "depth" else 10)
            if curve == "depth":
                axis.set_xticks(list(DEPTHS), [str(d) for d in DEPTHS], minor=False)
                axis.minorticks_off()
            axis.grid(alpha=0.25)
            axis.spines[["top", "right"]].set_visible(False)
            if column == 0:
                axis.set_ylabel(title)
            if row == 2:
                axis.set_xlabel(curve)
            if step != "peak_bytes" and curve != "depth":
                axis.legend(
                    fontsize=7, framealpha=0.8, edgecolor="none", title="slope", title_fontsize=7
                )
    handles, labels = axes[2, 2].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    save_svg(fig, file)
    plt.close(fig)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--published", metavar="PYTHON", help="interpreter that has hiclass 5.0.8")
    parser.add_argument("--quick", action="store_true", help="10,000 rows at most")
    parser.add_argument("--curves", nargs="+", choices=CURVES, default=CURVES)
    parser.add_argument("--strategies", nargs="+", choices=DRAWN, default=DRAWN)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--output", metavar="FILE", help="where the result goes, or grows, as JSON")
    parser.add_argument("--figure", metavar="FILE", help="draw the stored result")
    options = parser.parse_args()
    if options.figure:
        draw(json.loads(RESULT.read_text()), options.figure)
        return
    if options.output and Path(options.output).exists() and not options.quick:
        result = json.loads(Path(options.output).read_text())
    else:
        command = "python benchmarks/scaling.py --published PYTHON --output FILE"
        result = {"command": command, "time_limit": TIME_LIMIT, "quick": options.quick}
        result |= environment() | {"child": "GaussianNB()", "curves": {}}
    measure(result, options, lambda: write_json(result, options.output))
    print(f"\n{show(result)}")


if __name__ == "__main__":
    main()
