"""Sets of classes: ``HierarchicalClassifier(multi_label=True)`` on any set of the layout.

    cd benchmarks
    python gene_start.py --data DATA --output results/gene_start.json
    python gene_start.py --data DATA --sets Enron --efforts quick balanced best --seeds 0 1 2
    python gene_start.py --markdown ../docs/hierarchies.md          # the table from the results

The protocol is that of gene_function.py: fitted on train and valid, tested on test, the area under
the micro-averaged precision-recall curve over all classes but the root and the ontology roots of
GO. Nothing is set by hand for a set: models, parameters, weights and numbers of epochs are chosen
on training rows by ``fit``. Beside the mixture stand the models that it is made of. Every fit runs
in a process of its own, whose peak memory is measured. What the output holds already is kept.
Without ``--sets``, every set of the folder with a hierarchy file and a column of labels is taken.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from _common import environment, run_child, table, write_json, write_section
from gene_function import PUBLISHED, area, load

from hiclass import HierarchicalClassifier

RESULTS = Path(__file__).parent / "results"
EFFORTS = ("quick", "balanced", "best")


def find_sets(folder: Path) -> list[str]:
    """The names of the sets in a folder."""
    import pandas as pd

    found = []
    for file in sorted(folder.glob("*.hierarchy.json")):
        name = file.name.removesuffix(".hierarchy.json")
        data = folder / f"{name}.parquet"
        if data.exists() and {"labels", "split"} <= set(pd.read_parquet(data).columns):
            found.append(name)
    return found


def run_one(name: str, folder: Path, effort: str, seed: int, n_jobs: int) -> dict[str, Any]:
    """Fit on the training rows, predict the test rows, and measure."""
    data = load(name, folder)
    assert data is not None
    X, labels, hierarchy, train, exclude = data
    y, test = hierarchy.indicator(labels), ~train
    share = np.tile(np.asarray(y[train].mean(axis=0)), (int(test.sum()), 1))
    model = HierarchicalClassifier(
        hierarchy=hierarchy, multi_label=True, effort=effort, random_state=seed, n_jobs=n_jobs
    )
    start = time.perf_counter()
    model.fit(X[train], y[train])
    fitted = time.perf_counter()
    proba = model.predict_node_proba(X[test])
    done = time.perf_counter()
    members = {}
    rows = model._check_rows(X[test])
    for member, fit in getattr(model.model_, "named_models_", {}).items():
        members[member] = area(y[test], fit.predict_node_proba(rows), hierarchy, exclude)
    return {
        "set": name,
        "effort": effort,
        "seed": seed,
        "prior": area(y[test], share, hierarchy, exclude),
        "aupr": area(y[test], proba, hierarchy, exclude),
        "members": members,
        "out_of_fold": model.scores_,
        "f1": float(model.score(X[test], y[test])),
        "choices": model.choices_,
        "fit_s": round(fitted - start, 1),
        "predict_s": round(done - fitted, 1),
    }


def run_all(options: argparse.Namespace) -> dict[str, Any]:
    """Every set, effort and seed."""
    path = Path(options.output) if options.output else None
    result = json.loads(path.read_text()) if path and path.exists() else {}
    result.setdefault("environment", environment())
    rows = result.setdefault("rows", [])
    known = {(row["set"], row["effort"], row["seed"]) for row in rows}
    for name in options.sets or find_sets(Path(options.data)):
        for effort in options.efforts:
            for seed in options.seeds:
                if (name, effort, seed) in known:
                    continue
                command = [sys.executable, __file__, "--data", options.data]
                command += ["--one", name, effort, str(seed), "--n-jobs", str(options.n_jobs)]
                done = run_child(command, time_limit=options.limit)
                if done["stopped"] or "error" in done:
                    print(f"{name} {effort} {seed}: {done['stopped'] or done['error']}")
                    continue
                row = json.loads(done["lines"][-1])
                row["peak_gb"] = round(done["peak_bytes"] / 1e9, 2)
                rows.append(row)
                print(
                    f"{name} {effort} {seed}: {row['aupr']:.4f} in {row['fit_s']:.0f} s", flush=True
                )
                write_json(result, options.output)
    return result


def page(result: dict[str, Any]) -> str:
    """The results as a Markdown table: means over seeds; members are those of the usual effort."""
    rows = result["rows"]
    efforts = [e for e in EFFORTS if any(row["effort"] == e for row in rows)]
    names = sorted({row["set"] for row in rows})
    usual = "balanced" if "balanced" in efforts else efforts[-1]
    most = max(len({row["seed"] for row in rows if row["effort"] == e}) for e in efforts)
    members = sorted({m for row in rows if row["effort"] == usual for m in row["members"]})
    header = (
        "set",
        "prior",
        *members,
        *efforts,
        "best published",
        f"fit ({usual})",
    )
    lines = []
    for name in names:
        here = [row for row in rows if row["set"] == name]
        by_effort = {e: [row for row in here if row["effort"] == e] for e in efforts}
        known = [row["members"] for row in by_effort[usual]]
        cells = [name, f"{here[0]['prior']:.3f}"]
        for m in members:
            values = [k[m] for k in known if m in k]
            cells.append(f"{np.mean(values):.3f}" if values else "")
        for e in efforts:
            values = [row["aupr"] for row in by_effort[e]]
            note = f" ({len(values)} of {most} seeds)" if len(values) < most else ""
            cells.append(f"{np.mean(values):.3f}{note}" if values else "")
        published = PUBLISHED.get(name, {})
        top = max(published, key=published.__getitem__, default=None)
        cells.append(f"{published[top]:.3f} ({top})" if top else "")
        seconds = [row["fit_s"] for row in by_effort[usual]]
        cells.append(f"{np.mean(seconds):.0f} s" if seconds else "")
        lines.append(cells)
    return table(header, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder with the data sets")
    parser.add_argument("--sets", nargs="+", help="all of the folder by default")
    parser.add_argument("--efforts", nargs="+", choices=EFFORTS, default=list(EFFORTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one fit")
    parser.add_argument("--output", help="JSON file; what it holds already is kept")
    parser.add_argument("--markdown", metavar="PAGE", help="put stored results into a page")
    parser.add_argument("--one", nargs=3, metavar=("SET", "EFFORT", "SEED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.markdown:
        result = json.loads((RESULTS / "gene_start.json").read_text())
        write_section(options.markdown, "gene_start", page(result))
    elif options.data is None:
        parser.error("give the folder of the data sets: --data DATA")
    elif options.one:
        name, effort, seed = options.one
        row = run_one(name, Path(options.data), effort, int(seed), options.n_jobs)
        print(json.dumps(row))
    else:
        print(page(run_all(options)))


if __name__ == "__main__":
    main()
