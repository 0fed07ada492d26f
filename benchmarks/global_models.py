"""One model for the whole hierarchy against local and flat ones: quality, speed, size.

    cd benchmarks
    python global_models.py --data DATA --output results/global_models.json
    python global_models.py --data DATA --genes --output results/global_models_genes.json
    python global_models.py --stream --device cuda --output results/global_models_stream.json
    python global_models.py --floor --device cuda --output results/global_models_floor.json

The first compares, on three sets of texts with the features and splits of decisions.py, the network
of ``hiclass.torch`` with its default parameters and each of its losses to logistic regression per
parent node and flat. Models are fitted in turns, in one process, and the best of some times counts.
Which loss is better is seen on training rows that are held out.
The second is about gene functions, several labels per row, with the protocol of gene_function.py;
what has parameters is tuned on training rows. The third trains on a stream that is made on the fly:
``--rows`` sparse rows with 60 of 50,000 terms and 10,000 leaves in four levels. The fourth measures
training and prediction against plain PyTorch, a flat softmax over the leaves.

``--prepare FOLDER`` writes the features of the texts as NumPy files; with ``--data FOLDER`` they
are read from there, without pandas. ``--page`` puts the tables of result files into a page.
"""

import argparse
import json
import platform
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from _common import environment, interleaved, run_child, table, write_json, write_section
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import hiclass
from hiclass import FlatClassifier, LocalClassifierPerParentNode

TEXTS = ("cfpb", "naics", "clinc150")
GENES = ("cellcycle_FUN", "cellcycle_GO")
BASELINE = "per parent node"


def machine() -> dict[str, Any]:
    """Versions and machine; with little more than NumPy, only what can be told."""
    try:
        found = environment()
    except ImportError:  # psutil is a guest here
        versions = {"python": platform.python_version(), "hiclass": hiclass.__version__}
        found = {"versions": versions, "machine": {"system": platform.system()}}
    for name in ("numpy", "scipy", "scikit-learn", "torch"):
        try:
            found["versions"][name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def command() -> str:
    """How this was called, without paths of the machine."""
    words = ["PYTHON", "global_models.py", *sys.argv[1:]]
    for i, word in enumerate(words[:-1]):
        if word == "--data":
            words[i + 1] = "DATA"
        elif word == "--output":
            words[i + 1] = f"results/{Path(words[i + 1]).name}"
    return shlex.join(words)


# -- texts -------------------------------------------------------------------------------------


def load(name: str, folder: Path) -> dict[str, Any] | None:
    """Features, paths, training and test rows of a set."""
    file = folder / f"{name}.npz"
    if file.exists():
        with np.load(file) as data:
            X = sp.csr_matrix((data["data"], data["indices"], data["indptr"]), data["shape"])
            y = data["y"].astype(object)
            return {"X": X, "y": y, "train": data["train"], "test": data["test"]}
    from _decisions_data import load as load_task

    task = load_task(name, folder)
    if task is None:
        return None
    return {"X": task.X.tocsr(), "y": task.y, "train": task.train, "test": task.test}


def prepare(source: Path, folder: Path) -> None:
    """Write the features of the texts as NumPy files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in TEXTS:
        task = load(name, source)
        if task is None:
            continue
        X = task["X"]
        np.savez_compressed(
            folder / f"{name}.npz",
            data=X.data.astype(np.float32),
            indices=X.indices,
            indptr=X.indptr,
            shape=X.shape,
            y=task["y"].astype(str),
            train=task["train"],
            test=task["test"],
        )


def text_models(device: str, which: list[str] | None, n_jobs: int | None) -> dict[str, Any]:
    """The models of the table, unfitted, by name."""
    from hiclass.torch import HierarchicalSoftmaxClassifier

    regression = LogisticRegression(C=10, max_iter=1000)
    models = {
        "network": HierarchicalSoftmaxClassifier(device=device, random_state=0),
        "network, loss='leaf'": HierarchicalSoftmaxClassifier(
            loss="leaf", device=device, random_state=0
        ),
        "network, loss='leaf', max_epochs=2": HierarchicalSoftmaxClassifier(
            loss="leaf", max_epochs=2, device=device, random_state=0
        ),
        BASELINE: LocalClassifierPerParentNode(regression, decoding="best_path", n_jobs=n_jobs),
        "flat": FlatClassifier(regression),
    }
    if hasattr(hiclass, "GlobalClassifier"):
        models["forest"] = hiclass.GlobalClassifier(random_state=0)
    return {name: model for name, model in models.items() if which is None or name in which}


def run_texts(options: argparse.Namespace, name: str) -> dict[str, Any] | None:
    """All models on one set."""
    task = load(name, Path(options.data))
    if task is None:
        return None
    X, y = task["X"], task["y"]
    train, test = task["train"], task["test"]
    X_train, y_train, X_test = X[train], y[train], X[test]
    models = text_models(options.device, options.models, options.jobs)
    for model in models.values():
        # What a first fit of a kind costs once in a process, imports and the like, counts for none.
        model.fit(X_train[:3000], y_train[:3000])
    fits = {n: (lambda m=m: m.fit(X_train, y_train)) for n, m in models.items()}
    short = {n: f for n, f in fits.items() if n in (BASELINE, *(m for m in models if "net" in m))}
    seconds = interleaved(short, options.repeat)
    rest = interleaved({n: f for n, f in fits.items() if n not in short}, 1)
    rows = []
    for n, model in models.items():
        clocks = seconds if n in short else rest
        start = time.perf_counter()
        score = float(model.score(X_test, y[test]))
        rows.append(
            {
                "model": n,
                "hF": round(score, 4),
                "fit_s": round(min(clocks["wall"][n]), 3),
                "fit_cpu_s": round(min(clocks["cpu"][n]), 3),
                "all_fit_s": [round(s, 3) for s in clocks["wall"][n]],
                "predict_s": round(time.perf_counter() - start, 3),
                "bytes": size_of(model),
            }
        )
        if "network" in n:
            rows[-1]["hF_held_out"] = held_out_score(model, X_train, y_train)
        print(json.dumps({"set": name} | rows[-1]), flush=True)
    shape = {"n_train": len(train), "n_test": len(test), "n_features": X.shape[1]}
    classes = {"n_nodes": next(iter(models.values())).hierarchy_.n_nodes}
    return {
        "set": name,
        **shape,
        **classes,
        "device": options.device,
        "jobs": options.jobs,
        "rows": rows,
    }


def held_out_score(model: Any, X: Any, y: Any) -> float:
    """The hF on a fifth of the training rows, by a model that was fitted on the others."""
    held_out = np.random.default_rng(0).random(len(y)) < 0.2
    model = clone(model).fit(X[~held_out], y[~held_out])
    return round(float(model.score(X[held_out], y[held_out])), 4)


def size_of(model: Any) -> int:
    """Bytes of the file of a model."""
    with tempfile.TemporaryDirectory() as folder:
        (file,) = joblib.dump(model, Path(folder) / "model.joblib")
        return Path(file).stat().st_size


# -- gene functions ----------------------------------------------------------------------------

#: What is tried: two losses, how much is left out, how long; on 4,125 classes less, to save time.
GRIDS = {
    "cellcycle_FUN": [
        {"loss": loss, "hidden_layers": (500,), "dropout": dropout, "max_epochs": epochs}
        for loss in ("conditional", "leaf")
        for dropout in (0.5, 0.7)
        for epochs in (20, 40)
    ],
    "cellcycle_GO": [
        {"loss": loss, "hidden_layers": (500,), "dropout": 0.7, "max_epochs": 20}
        for loss in ("conditional", "leaf")
    ],
}


def gene_network(params: dict[str, Any], hierarchy: Any, device: str) -> Any:
    from hiclass.torch import HierarchicalSoftmaxClassifier

    hidden = tuple(params["hidden_layers"])
    return HierarchicalSoftmaxClassifier(
        hierarchy=hierarchy,
        multi_label=True,
        device=device,
        batch_size=32,
        learning_rate=1e-3,
        random_state=0,
        **(params | {"hidden_layers": hidden}),
    )


def tune_genes(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Parameters by three-fold cross-validation on training rows."""
    import gene_function as genes
    from sklearn.model_selection import KFold

    data = genes.load(name, Path(options.data))
    assert data is not None
    X, labels, hierarchy, train, exclude = data
    X, y = X[train], hierarchy.indicator([labels[i] for i in np.flatnonzero(train)])
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    if name == "cellcycle_GO":
        folds = folds[:1]
    scores = []
    for params in GRIDS[name]:
        found = []
        for fit, held_out in folds:
            X_fold = genes.scaled(X, fit)
            model = gene_network(params, hierarchy, options.device).fit(X_fold[fit], y[fit])
            proba = model.predict_node_proba(X_fold[held_out])
            found.append(genes.area(y[held_out], proba, hierarchy, exclude))
        scores.append(float(np.mean(found)))
        print(f"tuning {params}: {scores[-1]:.4f}", file=sys.stderr, flush=True)
    best = int(np.argmax(scores))
    return {"params": GRIDS[name][best], "cv": round(scores[best], 4)}


def one_gene_model(name: str, model_name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fit on the training rows, ask for the test rows, and measure."""
    import gene_function as genes

    data = genes.load(name, Path(options.data))
    assert data is not None
    X, labels, hierarchy, train, exclude = data
    y = hierarchy.indicator(labels)
    X = genes.scaled(X, train)
    if model_name == "network":
        model = gene_network(json.loads(options.params), hierarchy, options.device)
    else:
        model = hiclass.GlobalClassifier(
            hierarchy=hierarchy, multi_label=True, random_state=0, n_jobs=2
        )
    start = time.perf_counter()
    model.fit(X[train], y[train])
    fitted = time.perf_counter()
    proba = model.predict_node_proba(X[~train])
    return {
        "model": model_name,
        "aupr": round(genes.area(y[~train], proba, hierarchy, exclude), 4),
        "fit_s": round(fitted - start, 1),
        "predict_s": round(time.perf_counter() - fitted, 1),
        "bytes": size_of(model),
    }


def run_genes(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """Every model in a process of its own, whose peak memory is measured."""

    def child(*args: str) -> Any:
        command = [sys.executable, __file__, "--data", options.data, "--device", options.device]
        done = run_child([*command, "--gene-set", name, *args], time_limit=options.limit)
        if done["stopped"] or "error" in done:
            print(f"{name} {' '.join(args)}: {done['stopped'] or done['error']}")
            return None
        return json.loads(done["lines"][-1]) | {"peak_gb": round(done["peak_bytes"] / 1e9, 2)}

    rows = []
    tuned = {"params": json.loads(options.params)} if options.params else child("--tune")
    if tuned is not None:
        row = child("--one", "network", "--params", json.dumps(tuned["params"]))
        if row is not None:
            rows.append(row | {"params": tuned["params"], "cv": tuned.get("cv")})
    if hasattr(hiclass, "GlobalClassifier") and not options.no_forest:
        row = child("--one", "forest")
        if row is not None:
            rows.append(row)
    for row in rows:
        print(json.dumps({"set": name} | row), flush=True)
    return {"set": name, "device": options.device, "rows": rows}


# -- the page ----------------------------------------------------------------------------------


def text_table(result: dict[str, Any]) -> str:
    """A table per set: quality, time and size."""
    parts = []
    for part in result["texts"]:
        rows = {row["model"]: row for row in part["rows"]}
        base = rows.get(BASELINE, {}).get("fit_s")
        held_out = [row["hF_held_out"] for row in part["rows"] if "hF_held_out" in row]
        cells = [
            (
                f"**{row['model']}**"
                if held_out and row.get("hF_held_out") == max(held_out)
                else row["model"],
                f"{row['hF']:.4f}",
                f"{row['hF_held_out']:.4f}" if "hF_held_out" in row else "",
                f"{row['fit_s']:.2f} s",
                f"{base / row['fit_s']:.1f}x" if base else "",
                f"{row['predict_s']:.2f} s",
                f"{row['bytes'] / 1e6:.1f} MB",
            )
            for row in part["rows"]
        ]
        header = ("model", "hF", "held out", "fit", "speed", "predict", "file")
        title = (
            f"**{part['set']}**: {part['n_train']:,} training rows, {part['n_features']:,} "
            f"features, {part['n_nodes'] - 1:,} classes, {part['device']}"
        )
        if part.get("jobs"):
            title += f"; {BASELINE} with n_jobs={part['jobs']}"
        parts.append(f"{title}\n\n{table(header, cells)}")
    return "\n\n".join(parts)


def gene_table(result: dict[str, Any]) -> str:
    """One table for both sets."""
    header = ("set", "model", "AU(PRC)", "fit", "peak memory", "file")
    cells = [
        (
            part["set"],
            row["model"],
            f"{row['aupr']:.3f}",
            f"{row['fit_s']:.0f} s",
            f"{row['peak_gb']:.1f} GB",
            f"{row['bytes'] / 1e6:.1f} MB",
        )
        for part in result["genes"]
        for row in part["rows"]
    ]
    return table(header, cells)


def stream_table(results: list[dict[str, Any]]) -> str:
    """One row per device."""
    header = (
        "device",
        "leaves, loss",
        "rows",
        "rows / s",
        "s / 1,000,000 rows",
        "peak memory",
        "made / s",
    )
    cells = []
    for result in results:
        row = result["stream"]
        threads = f"{row['threads']} thread{'s' if row['threads'] > 1 else ''}"
        # The first results had one loss and one number of leaves.
        loss = row["params"].get("loss", "conditional")
        memory = row["peak_gpu_gb"] or row.get("peak_gb")
        cells.append(
            (
                row["device"] if row["peak_gpu_gb"] else f"{row['device']}, {threads}",
                f"{row.get('n_leaves', 10_000):,}, {loss}",
                f"{row['rows']:,}",
                f"{row['rows_per_s']:,}",
                f"{1e6 / row['rows_per_s']:.1f}",
                f"{memory} GB" if memory else "",
                f"{row['generate_rows_per_s']:,}",
            )
        )
    return table(header, cells)


def floor_table(result: dict[str, Any]) -> str:
    """One row per case that has a floor."""
    header = ("case", "rows / s", "floor", "ratio", "busy", "peak GPU memory")
    cells = [
        (
            row["case"],
            f"{row['rows_per_s']:,}",
            f"{row['floor_rows_per_s']:,}",
            f"{row['ratio']:.2f}",
            f"{row['busy']:.0%}" if row.get("busy") is not None else "",
            f"{row['peak_gpu_gb']} GB" if row["peak_gpu_gb"] else "",
        )
        for row in result["floor"]
        if "ratio" in row
    ]
    return f"{result['device']}, PyTorch {result['environment']['versions']['torch']}:\n\n" + table(
        header, cells
    )


def write_page(page: str, files: Sequence[str | Path]) -> None:
    """Put the tables of result files into the sections of a page."""
    streams = []
    for file in files:
        result = json.loads(Path(file).read_text())
        if "texts" in result:
            gpu = any(part["device"] == "cuda" for part in result["texts"])
            write_section(page, "texts on a GPU" if gpu else "texts", text_table(result))
        elif "floor" in result:
            write_section(page, "floor", floor_table(result))
        elif "genes" in result:
            gpu = any(part["device"] == "cuda" for part in result["genes"])
            write_section(page, "genes on a GPU" if gpu else "genes", gene_table(result))
        else:
            streams.append(result)
    if streams:
        write_section(page, "stream", stream_table(streams))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder with the data sets, or with prepared features")
    parser.add_argument(
        "--output", help="JSON file; sets and models that it holds already are kept"
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--sets", nargs="+", choices=(*TEXTS, *GENES), help="all by default")
    parser.add_argument("--models", nargs="+", help="names of models; all by default")
    parser.add_argument("--repeat", type=int, default=3, help="fits of the models that are timed")
    parser.add_argument("--prepare", help="write the features of the texts to this folder")
    parser.add_argument("--genes", action="store_true", help="gene functions")
    parser.add_argument("--no-forest", action="store_true", help="genes: the network only")
    parser.add_argument("--params", help="genes: parameters of the network as JSON, not tuned")
    parser.add_argument("--limit", type=float, default=1800, help="genes: seconds for one step")
    parser.add_argument("--stream", action="store_true", help="train on a stream of mini-batches")
    parser.add_argument("--rows", type=int, default=1_000_000, help="stream: rows of an epoch")
    parser.add_argument("--batch", type=int, default=8192, help="stream: rows of a batch")
    parser.add_argument("--epochs", type=int, default=2, help="stream: epochs")
    parser.add_argument("--workers", type=int, default=1, help="stream: threads that make batches")
    parser.add_argument("--depth", type=int, default=4, help="stream: levels of ten children each")
    parser.add_argument("--loss", default="auto", help="stream: the loss of the network")
    parser.add_argument("--floor", action="store_true", help="against plain PyTorch")
    parser.add_argument("--small", action="store_true", help="floor: small, to see that it runs")
    parser.add_argument("--jobs", type=int, help="texts: processes of the local classifiers")
    parser.add_argument("--page", help="a page with sections for the tables of --results")
    parser.add_argument("--results", nargs="+", help="with --page, result files")
    parser.add_argument("--gene-set", choices=GENES, help=argparse.SUPPRESS)
    parser.add_argument("--tune", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", choices=("network", "forest"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.page:
        write_page(options.page, options.results)
    elif options.gene_set:
        found = (
            tune_genes(options.gene_set, options)
            if options.tune
            else one_gene_model(options.gene_set, options.one, options)
        )
        print(json.dumps(found))
    elif options.prepare:
        prepare(Path(options.data), Path(options.prepare))
    elif options.stream:
        run_stream(options)
    elif options.floor:
        run_floor(options)
    else:
        run_sets(options)


def run_stream(options: argparse.Namespace) -> None:
    """The stream."""
    import _global_stream as stream

    result: dict[str, Any] = {"environment": machine(), "command": command()}
    sizes = (options.rows, options.batch, options.epochs, options.workers, options.depth)
    result["stream"] = stream.run(options.device, *sizes, loss=options.loss)
    print(json.dumps(result["stream"], indent=1), flush=True)
    write_json(result, options.output)


def run_floor(options: argparse.Namespace) -> None:
    """Training and prediction against plain PyTorch."""
    import _global_gpu as gpu
    import torch

    result: dict[str, Any] = {"environment": machine(), "command": command()}
    result["device"] = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
    result["floor"] = gpu.run(options.device, options.workers, small=options.small)
    write_json(result, options.output)


def run_sets(options: argparse.Namespace) -> None:
    """Sets of texts or of genes; what a result file holds of other sets and models is kept."""
    key, run, names = ("genes", run_genes, GENES) if options.genes else ("texts", run_texts, TEXTS)
    path = Path(options.output) if options.output else None
    result = json.loads(path.read_text()) if path and path.exists() else {}
    result.setdefault("environment", machine())
    for name in options.sets or names:
        found = run(options, name)
        if found is not None:
            old = {part["set"]: part for part in result.get(key, [])}
            kept = {row["model"]: row for row in old.get(name, {}).get("rows", [])}
            kept |= {row["model"]: row | {"command": command()} for row in found["rows"]}
            old[name] = found | {"rows": list(kept.values())}
            result[key] = sorted(old.values(), key=lambda part: names.index(part["set"]))
            write_json(result, options.output)


if __name__ == "__main__":
    main()
