"""Gene functions: several labels per row in trees and in a DAG of 4,125 classes.

    cd benchmarks
    python gene_function.py --data DATA --set cellcycle_FUN --output results/FUN.json
    python gene_function.py --data DATA --set cellcycle_GO --models flat-mean --with-profile
    python gene_function.py --data DATA --imclef --output results/imclef.json
    python gene_function.py --markdown ../docs/appendix/gene_functions.md  # tables from the results

Protocol of the published figures: fitted on train and valid, tested on test, missing values filled
with the mean, features scaled, and the area under the micro-averaged precision-recall curve over
all classes but the root and, in GO, the three ontology roots. The first row is the share of every
class in the training rows, the same for all rows. What has parameters is tuned by three-fold
cross-validation on the training rows; the test rows are looked at once, by the chosen models.
"global-forest" is ``GlobalClassifier`` as it is, with nothing tuned (see also default_forest.py).
Nominal columns become a column of 0 and 1 for each of their values.

Every model runs in a process of its own, whose peak memory is measured. ``--imclef`` is about one
label per row: the hierarchical F-score of every strategy on ImCLEF07A with its given hierarchy.
"""

import argparse
import cProfile
import json
import pstats
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from _common import environment, run_child, table, write_json, write_section
from _gene_children import KernelRidge, LeafForest, MeanOf
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import (
    FlatClassifier,
    GlobalClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    metrics,
)

RESULTS = Path(__file__).parent / "results"
#: Those with a table of all models come first.
PAGES = ("cellcycle_FUN", "cellcycle_GO")
SETS = (*PAGES, "derisi_FUN", "Diatoms", "Enron", "pheno_FUN")
ONTOLOGY_ROOTS = ("GO0003674", "GO0005575", "GO0008150")
PUBLISHED = {
    "cellcycle_FUN": {"CLUS-ENS": 0.227, "C-HMCNN": 0.255},
    "cellcycle_GO": {"CLUS-ENS": 0.387, "C-HMCNN": 0.413},
    "derisi_FUN": {"CLUS-ENS": 0.187, "HMCN-F": 0.193, "C-HMCNN": 0.195, "DHN": 0.198},
    "Diatoms": {"CLUS-ENS": 0.501, "HMCN-F": 0.530, "C-HMCNN": 0.758, "DHN": 0.768},
    "Enron": {"CLUS-ENS": 0.696, "HMCN-F": 0.724, "C-HMCNN": 0.756, "DHN": 0.764},
    "pheno_FUN": {},
}
STRATEGIES = {
    "node": LocalClassifierPerNode,
    "parent": LocalClassifierPerParentNode,
    "level": LocalClassifierPerLevel,
    "flat": FlatClassifier,
}
CHILDREN = ("logistic", "ridge", "trees", "mean")
#: Per node, a kernel machine or a forest for each of 4,000 classes takes too long.
MODELS = [
    "prior",
    "node-logistic",
    "node_less_inclusive-logistic",
    *(f"{s}-{c}" for s in ("parent", "level", "flat") for c in CHILDREN),
    "global-forest",
]


def load(name: str, folder: Path) -> tuple[Any, ...] | None:
    """Features, labels, hierarchy, training rows and the classes that are left out."""
    import pandas as pd

    file = folder / f"{name}.parquet"
    if not file.exists():
        print(f"{name}: {file.name} is not in the data folder; left out")
        return None
    frame = pd.read_parquet(file)
    edges = json.loads((folder / f"{name}.hierarchy.json").read_text())["edges"]
    hierarchy = Hierarchy.from_edges(map(tuple, edges), root="root")
    labels = [list(row) for row in frame["labels"]]
    # Numbers stay as they are; a nominal column becomes a column of 0 and 1 per value.
    features = pd.get_dummies(frame[[c for c in frame if c.startswith("f")]])
    X = features.to_numpy(dtype=float)
    known = set(hierarchy.labels.tolist())
    exclude = [label for label in ONTOLOGY_ROOTS if label in known]
    return X, labels, hierarchy, (frame["split"] != "test").to_numpy(), exclude


# -- models ------------------------------------------------------------------------------------


def make_model(name: str, hierarchy: Hierarchy, params: dict[str, Any]) -> Any:
    """A hierarchical model, unfitted, by its name."""
    strategy, child = name.split("-")
    if strategy == "global":
        options = {"random_state": 0, "n_jobs": 2}
        return GlobalClassifier(hierarchy=hierarchy, multi_label=True, **options)
    strategy, _, policy = strategy.partition("_")
    options = {"binary_policy": policy} if policy else {}
    return STRATEGIES[strategy](
        make_estimator(child, params, n_jobs=1 if strategy == "parent" else 2),
        hierarchy=hierarchy,
        multi_label=True,
        **options,
    )


def scaled(X: Any, train: Any) -> Any:
    """Missing values filled with the mean and features scaled, both learned on training rows."""
    return make_pipeline(SimpleImputer(), StandardScaler()).fit(X[train]).transform(X)


def make_estimator(child: str, params: dict[str, Any], n_jobs: int) -> Any:
    """One of the named children, with the parameters that were chosen."""
    if child == "logistic":
        return LogisticRegression(**params.get("logistic", {}))
    if child == "ridge":
        return KernelRidge(**params.get("ridge", {}))
    if child == "trees":
        return LeafForest(**params.get("trees", {}), n_jobs=n_jobs)
    first, second = (make_estimator(part, params, n_jobs) for part in ("trees", "ridge"))
    return MeanOf(first, second, **params.get("mean", {}))


GRIDS: dict[str, list[dict[str, Any]]] = {
    "logistic": [{"C": c} for c in (0.001, 0.01, 0.1)],
    "ridge": [{"gamma": g, "alpha": a} for g in (0.003, 0.007, 0.015) for a in (1.0, 2.0, 4.0)],
    "trees": [{"n_estimators": 150, "min_samples_leaf": leaf} for leaf in (2, 3, 5)],
    "mean": [{"weight": w} for w in (0.4, 0.5, 0.6, 0.7)],
}
#: More trees than for tuning where there are few forests: they only steady the answer.
N_TREES = {"flat": 1000, "level": 200, "parent": 50}


def tune(child: str, data: tuple[Any, ...]) -> dict[str, Any]:
    """Parameters by cross-validation on training rows.

    With one problem for all classes; for logistic regression, which takes one class at a time
    anyhow, with the small problems per node.
    """
    X, labels, hierarchy, train, exclude = data
    X, y = X[train], hierarchy.indicator([labels[i] for i in np.flatnonzero(train)])
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))

    def answers(kind: str, params: dict[str, Any]) -> np.ndarray:
        proba = np.empty(y.shape, dtype=np.float32)
        name = f"{'node' if kind == 'logistic' else 'flat'}-{kind}"
        for fit, held_out in folds:
            X_fold = scaled(X, fit)
            model = make_model(name, hierarchy, {kind: params}).fit(X_fold[fit], y[fit])
            proba[held_out] = model.predict_node_proba(X_fold[held_out])
        return proba

    def score(proba: np.ndarray) -> float:
        return area(y, proba, hierarchy, exclude)

    found: dict[str, Any] = {}
    parts = {}
    for kind in ("trees", "ridge") if child == "mean" else (child,):
        tried = [(params, answers(kind, params)) for params in GRIDS[kind]]
        scores = [score(proba) for _, proba in tried]
        best = int(np.argmax(scores))
        found[kind], parts[kind] = tried[best]
        for (params, _), value in zip(tried, scores, strict=True):
            print(f"tuning {kind} {params}: {value:.4f}", file=sys.stderr)
    if child == "mean":
        scores = []
        for params in GRIDS["mean"]:
            w = params["weight"]
            scores.append(score(w * parts["trees"] + (1 - w) * parts["ridge"]))
            print(f"tuning mean {params}: {scores[-1]:.4f}", file=sys.stderr)
        found["mean"] = GRIDS["mean"][int(np.argmax(scores))]
    return found


def area(y: Any, proba: Any, hierarchy: Hierarchy, exclude: list[str]) -> float:
    """AU(PRC): one curve for all pairs of row and class."""
    return float(
        metrics.average_precision(y, proba, hierarchy=hierarchy, multi_label=True, exclude=exclude)
    )


# -- one model ---------------------------------------------------------------------------------


def run_model(
    name: str, data: tuple[Any, ...], params: dict[str, Any], scored: bool = True
) -> dict[str, Any]:
    """Fit on the training rows, ask for the test rows, and measure."""
    X, labels, hierarchy, train, exclude = data
    y = hierarchy.indicator(labels)
    test = ~train
    if name == "prior":
        share = np.asarray(y[train].mean(axis=0))
        proba = np.tile(share, (int(test.sum()), 1))
        return {"model": name, "aupr": area(y[test], proba, hierarchy, exclude)}
    if "trees" in params:
        params["trees"] = params["trees"] | {"n_estimators": N_TREES[name.partition("-")[0]]}
    X, model = scaled(X, train), make_model(name, hierarchy, params)
    start = time.perf_counter()
    model.fit(X[train], y[train])
    fitted = time.perf_counter()
    proba = model.predict_node_proba(X[test])
    done = time.perf_counter()
    return {
        "model": name,
        "params": params,
        "aupr": area(y[test], proba, hierarchy, exclude),
        "f1": float(model.score(X[test], y[test])) if scored else None,
        "n_classifiers": len(model.local_classifiers_),
        "fit_s": round(fitted - start, 2),
        "predict_s": round(done - fitted, 2),
    }


def profile(name: str, data: tuple[Any, ...], params: dict[str, Any]) -> dict[str, Any]:
    """Where the time of a model goes, in seconds under the profiler of Python."""
    profiler = cProfile.Profile()
    row = profiler.runcall(run_model, name, data, params, scored=False)
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]

    def seconds(module: str, function: str) -> float:
        found = (v[3] for k, v in stats.items() if k[0].endswith(module) and k[2] == function)
        return round(sum(found), 2)

    row["profile_s"] = {
        "fit": seconds("_estimators/fitting.py", "fit"),
        "fit: local classifiers": seconds("_engine/fit.py", "_fit_one"),
        "predict": seconds("_estimators/base.py", "predict_node_proba"),
        "predict: local classifiers": seconds("_inference/sets.py", "column_proba"),
    }
    return row


def run_all(options: argparse.Namespace, name: str) -> dict[str, Any] | None:
    """Every model of a set, each in its own process; results that are there already are kept."""
    if load(name, Path(options.data)) is None:
        return None
    path = Path(options.output) if options.output else None
    result = json.loads(path.read_text()) if path and path.exists() else {}
    result.setdefault("environment", environment())
    result.setdefault("set", name)
    result.setdefault("published", PUBLISHED[name])
    rows = {row["model"]: row for row in result.get("models", [])}
    chosen = result.setdefault("params", {})
    for model in options.models or MODELS:
        kind = model.partition("-")[2]
        if kind in CHILDREN and kind not in chosen:
            found = child(options, name, "--tune", kind, limit=options.limit)
            if found is None:
                continue
            chosen[kind] = found
            if kind == "mean":  # which tunes its parts on the way
                for part in ("trees", "ridge"):
                    chosen.setdefault(part, {part: found[part]})
        what = "--profile" if options.with_profile and kind else "--one"
        row = child(options, name, what, model, "--params", json.dumps(chosen.get(kind, {})))
        if row is not None:
            rows[model] = row
        result["models"] = [rows[m] for m in MODELS if m in rows]
        write_json(result, options.output)
    return result


def child(options: argparse.Namespace, name: str, *args: str, limit: float = 1800) -> Any:
    """Run one step in its own process."""
    command = [sys.executable, __file__, "--data", options.data, "--set", name, *args]
    done = run_child(command, time_limit=limit)
    if done["stopped"] or "error" in done:
        print(f"{name} {' '.join(args)}: {done['stopped'] or done['error']}")
        return None
    found = json.loads(done["lines"][-1])
    if "model" in found:
        found["peak_gb"] = round(done["peak_bytes"] / 1e9, 2)
    print(json.dumps(found), flush=True)
    return found


def page(result: dict[str, Any]) -> str:
    """The results as a Markdown table."""
    header = (
        "strategy",
        "local classifier",
        "AU(PRC)",
        "classifiers",
        "fit",
        "predict",
        "peak memory",
    )
    rows = []
    for row in result["models"]:
        strategy, _, kind = row["model"].partition("-")
        cells = [strategy.replace("_", ", ", 1), kind, f"{row['aupr']:.3f}"]
        if kind:
            cells.append(str(row["n_classifiers"]))
            cells += [f"{row['fit_s']:.0f} s", f"{row['predict_s']:.0f} s"]
            cells.append(f"{row['peak_gb']:.1f} GB")
        rows.append(cells + [""] * (len(header) - len(cells)))
    rows += [(f"published: {n}", "", f"{v:.3f}", *[""] * 4) for n, v in result["published"].items()]
    return table(header, rows)


# -- ImCLEF07A ---------------------------------------------------------------------------------


def imclef(folder: Path, output: str | None) -> dict[str, Any] | None:
    """Hierarchical F-score of every strategy where the hierarchy is given and labels are 1-D.

    Results that are in the output already are kept.
    """
    from _decisions_data import load as load_paths

    task = load_paths("ImCLEF07A", folder)
    if task is None:
        return None
    edges = json.loads((folder / "ImCLEF07A.hierarchy.json").read_text())["edges"]
    hierarchy = Hierarchy.from_edges(map(tuple, edges), root="root")
    labels = np.array([[label for label in path if label][-1] for path in task.y], dtype=object)
    path = Path(output) if output else None
    result = json.loads(path.read_text()) if path and path.exists() else {}
    result.setdefault("environment", environment())
    result.setdefault("set", "ImCLEF07A")
    rows = result.setdefault("models", [])
    done = {(row["child"], row["strategy"]) for row in rows}
    forest = ExtraTreesClassifier(100, random_state=0, n_jobs=2)
    scaled = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=1000))
    models = {
        (name, strategy): kind(base, hierarchy=hierarchy)
        for name, base in (("extra trees", forest), ("logistic", scaled))
        for strategy, kind in STRATEGIES.items()
    }
    models["extra trees", "global"] = GlobalClassifier(
        ExtraTreesRegressor(100, random_state=0, n_jobs=2), hierarchy=hierarchy
    )
    for name, strategy in [key for key in models if key not in done]:
        start = time.perf_counter()
        model = models[name, strategy]
        model.fit(task.X[task.train], labels[task.train])
        score = model.score(task.X[task.test], labels[task.test])
        exact = float(np.mean(model.predict(task.X[task.test]) == labels[task.test]))
        row = {"strategy": strategy, "child": name, "f1": score, "exact_match": exact}
        rows.append(row | {"seconds": round(time.perf_counter() - start, 1)})
        print(json.dumps(rows[-1]), flush=True)
    return result


def imclef_page(result: dict[str, Any]) -> str:
    """The results as a Markdown table."""
    header = ("local classifier", "strategy", "hF", "hF - flat", "exact match")
    flat = {r["child"]: r["f1"] for r in result["models"] if r["strategy"] == "flat"}
    return table(
        header,
        [
            (
                r["child"],
                r["strategy"],
                f"{r['f1']:.4f}",
                f"{r['f1'] - flat[r['child']]:+.4f}",
                f"{r['exact_match']:.4f}",
            )
            for r in result["models"]
        ],
    )


def write_page(file: str) -> None:
    """Put the tables of the stored results into a page."""
    for name in (*PAGES, "ImCLEF07A"):
        result = json.loads((RESULTS / f"gene_function_{name}.json").read_text())
        write_section(file, name, imclef_page(result) if name == "ImCLEF07A" else page(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder with the data sets")
    parser.add_argument("--set", choices=SETS, default=SETS[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, help="all by default")
    parser.add_argument("--output", help="JSON file; what it holds already is kept")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one step")
    parser.add_argument("--imclef", action="store_true", help="ImCLEF07A with its hierarchy")
    parser.add_argument("--markdown", metavar="PAGE", help="put stored results into a page")
    parser.add_argument("--tune", choices=CHILDREN, help=argparse.SUPPRESS)
    parser.add_argument("--with-profile", action="store_true", help="say where the time goes")
    parser.add_argument("--profile", choices=MODELS, help=argparse.SUPPRESS)
    parser.add_argument("--one", choices=MODELS, help=argparse.SUPPRESS)
    parser.add_argument("--params", default="{}", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.markdown:
        write_page(options.markdown)
    elif options.data is None:
        parser.error("give the folder of the data sets: --data DATA")
    elif options.tune or options.one or options.profile:
        data = load(options.set, Path(options.data))
        assert data is not None
        if options.tune:
            print(json.dumps(tune(options.tune, data)))
        else:
            run = profile if options.profile else run_model
            name = options.profile or options.one
            print(json.dumps(run(name, data, json.loads(options.params))))
    elif options.imclef:
        result = imclef(Path(options.data), options.output)
        if result is not None:
            write_json(result, options.output)
            print(imclef_page(result))
    else:
        result = run_all(options, options.set)
        if result is not None:
            print(page(result))


if __name__ == "__main__":
    main()
