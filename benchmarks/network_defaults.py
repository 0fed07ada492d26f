"""The defaults of the network beside a small grid: how far they are from its best.

    cd benchmarks
    python network_defaults.py --data DATA --output results/network_defaults.json
    python network_defaults.py --markdown ../docs/appendix/network.md  # the table from the results

Training rows only: a quarter of the training rows of every set is held out, of sets of real rows
three times, and the mean counts. Simulations need no data: leaves of a tree with three levels have
a direction each, drawn at random, so that the tree says nothing about the rows, or the sum of one
draw per level ("tree helps"), and rows of a leaf lie around it. They have a length of one, or are
standardised, stretched column by column, or skewed as amounts of money are. The noisy ones are
those of embeddings.py: columns are correlated, noise has heavy tails, and most rows cannot be told
apart.

The grid: the loss over all leaves with three learning rates and three penalties, the loss of the
siblings with three learning rates, twice and half as many epochs, and a linear model or an
embedding. A file that exists is completed: what it holds already is not run again.

    python network_defaults.py --device cuda --sets "200,000 rows, 4,913 leaves" --output FILE

runs a large simulation, on a GPU; ``--precision bfloat16`` makes it bearable on a CPU, and
``--settings`` runs a part of the grid.

    python network_defaults.py --data DATA --before OTHER/src --output results/network_defaults.json

compares the defaults with those of another checkout on the test rows of the texts and on three
splits of the training rows of the tables: hF, and the processor seconds of a fit in one thread, for
``--seeds`` seeds, by turns, each in a new process.

    python network_defaults.py --data DATA --calls --output results/network_defaults.json

fits half of the training rows of the texts and of ImCLEF07A, calls ``partial_fit`` 20 times with
20 other rows, and scores a quarter of the training rows after every call. Then it learns three
quarters of the training rows of the texts and of ImCLEF07A in one, three and five passes, by
``fit_batches`` and by calls of ``partial_fit`` with 384 rows, and scores the rest.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from _common import table, write_json, write_section
from scipy import stats

RESULT = Path(__file__).parent / "results" / "network_defaults.json"
#: Rows, branches per level, noise, whether the tree helps, and what is done to columns.
SIMULATIONS: dict[str, dict[str, Any]] = {
    "2,000 rows, 8 leaves": {"n": 2_000, "branches": (2, 2, 2), "noise": 0.25, "scale": "standard"},
    "5,000 rows, 1,000 leaves": {"n": 5_000, "branches": (10, 10, 10), "noise": 0.09},
    "20,000 rows, 512 leaves, stretched": {
        "n": 20_000,
        "branches": (8, 8, 8),
        "noise": 0.13,
        "scale": "stretched",
    },
    "20,000 rows, 4,096 leaves": {"n": 20_000, "branches": (16, 16, 16), "noise": 0.08},
    "80,000 rows, 1,728 leaves": {"n": 80_000, "branches": (12, 12, 12), "noise": 0.14},
    "80,000 rows, 1,728 leaves, tree helps": {
        "n": 80_000,
        "branches": (12, 12, 12),
        "noise": 0.09,
        "helps": True,
    },
    "20,000 rows, 512 leaves, skewed": {
        "n": 20_000,
        "branches": (8, 8, 8),
        "noise": 0.09,
        "scale": "skewed",
    },
}
#: Noisy rows: as many, 1,000 rows that nothing uses, columns, branches, whether the tree helps, and
#: the size of the noise.
NOISY: dict[str, tuple[Any, ...]] = {
    "20,000 noisy rows, 100 leaves, tree helps": (20_000, 1_000, 384, (10, 10), True, 8.0),
    "30,000 noisy rows, 1,000 leaves": (30_000, 1_000, 256, (10, 10, 10), False, 4.0),
}
#: Run only if they are named with --sets: for a GPU, or for much time.
LARGE: dict[str, dict[str, Any]] = {
    "200,000 rows, 4,913 leaves": {"n": 200_000, "branches": (17, 17, 17), "noise": 0.14},
    "400,000 rows of 768 numbers, 10,000 leaves": {
        "n": 400_000,
        "branches": (10, 10, 10, 10),
        "noise": 0.12,
        "n_features": 768,
    },
}
TEXTS = ("cfpb", "naics", "clinc150")
TABLES = ("anuran", "ImCLEF07A", "greengenes")


def simulate(
    n: int,
    branches: tuple[int, ...],
    noise: float,
    helps: bool = False,
    scale: str = "unit",
    n_features: int = 96,
) -> tuple[Any, Any]:
    """Rows around the directions of leaves, and their paths."""
    rng = np.random.default_rng(0)
    n_leaves = int(np.prod(branches))
    codes = np.column_stack(np.unravel_index(np.arange(n_leaves), branches))
    centre = rng.normal(size=(n_leaves, n_features))
    if helps:
        for level in range(1, len(branches)):
            prefix = np.ravel_multi_index(codes[:, :level].T, branches[:level])
            centre += rng.normal(size=(int(prefix.max()) + 1, n_features))[prefix]
    centre /= np.linalg.norm(centre, axis=1, keepdims=True)
    leaf = rng.integers(n_leaves, size=n)
    X = centre[leaf] + noise * rng.normal(size=(n, n_features))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if scale in ("standard", "skewed"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        if scale == "skewed":
            X = np.exp(2 * X)
    elif scale == "stretched":
        X = X * np.geomspace(0.01, 100, n_features) + rng.normal(size=n_features)
    return X.astype(np.float32), codes[leaf].astype(str).astype(object)


def load(name: str, folder: Path | None) -> tuple[Any, Any, list[Any]] | None:
    """Features and paths of training rows, and which of them are held out, one or three times."""
    groups = None
    simulation = (SIMULATIONS | LARGE).get(name)
    if simulation is not None:
        X, y = simulate(**simulation)
    elif name in NOISY:
        import embeddings

        X, y, *_ = embeddings.simulate(*NOISY[name])
    elif folder is None:
        return None
    else:
        from _decisions_data import load as load_task

        task = load_task(name, folder)
        if task is None:
            return None
        X, y = task.X[task.train], task.y[task.train]
        groups = None if task.groups is None else task.groups[task.train]
    unit = np.arange(len(y)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    seeds = (1,) if name in SIMULATIONS | LARGE | NOISY else (1, 2, 3)
    return X, y, [(np.random.default_rng(s).random(n_units) < 0.25)[unit] for s in seeds]


def grid(X: Any, y: Any) -> dict[str, dict[str, Any]]:
    """Parameters by name, the defaults first; what the rules give for these rows is the middle."""
    n_rows = X.shape[0]
    n_leaves = len({tuple(path) for path in y.tolist()})
    sparse = sp.issparse(X)
    rate = 0.03 if sparse else 0.2
    penalty = (1.5 / max(1.0, n_leaves / 200) if sparse else 0.3 / n_leaves) / n_rows
    epochs = int(np.clip(-(-20_000 // n_rows), 5 if sparse else 6, 100))
    found: dict[str, dict[str, Any]] = {"defaults": {}}
    for by_rate in (1 / 3, 1, 3):
        for by_penalty in (0.1, 1, 10):
            if (by_rate, by_penalty) != (1, 1):
                name = f"rate x {by_rate:.2g}, penalty x {by_penalty:g}"
                found[name] = {"learning_rate": by_rate * rate, "penalty": by_penalty * penalty}
        name = f"conditional, rate x {by_rate:.2g}"
        found[name] = {"loss": "conditional", "learning_rate": by_rate * rate}
    found["half as many epochs"] = {"max_epochs": max(1, epochs // 2)}
    found["twice as many epochs"] = {"max_epochs": 2 * epochs}
    found["linear" if sparse else "embedding"] = {"embedding_dim": None if sparse else 128}
    return found


def run_set(name: str, options: argparse.Namespace, result: dict[str, Any]) -> None:
    """All parameters of the grid that a result does not have yet."""
    from hiclass.torch import HierarchicalSoftmaxClassifier

    data = load(name, None if options.data is None else Path(options.data))
    if data is None:
        return
    device, precision = options.device, options.precision
    X, y, splits = data
    kind = "sparse" if sp.issparse(X) else "dense"
    n_rows, train = int((~splits[0]).sum()), ~splits[0]
    part = result["sets"].setdefault(
        name, {"n_rows": n_rows, "n_features": X.shape[1], "kind": kind, "hF": {}}
    )
    if part["hF"] and part.get("device", "cpu") != device:
        print(f"{name}: its other settings were run on {part.get('device', 'cpu')}; left out")
        return
    part |= {"device": device, "precision": precision}
    part["n_leaves"] = len({tuple(path) for path in y.tolist()})
    for setting, params in grid(X[train], y[train]).items():
        if setting in part["hF"] or (options.settings and setting not in options.settings):
            continue
        start, scores = time.perf_counter(), []
        for held_out in splits:
            params = {"device": device, "precision": precision, "random_state": 0} | params
            model = HierarchicalSoftmaxClassifier(**params)
            model.fit(X[~held_out], y[~held_out])
            scores.append(model.score(X[held_out], y[held_out]))
        score = float(np.mean(scores))
        part["hF"][setting] = round(score, 4)
        seconds = round(time.perf_counter() - start, 1)
        print(json.dumps({"set": name, "setting": setting, "hF": score, "s": seconds}), flush=True)
        write_json(result, options.output)


# -- the defaults of another checkout ----------------------------------------------------------

#: What is compared: whether by the other checkout, and parameters.
VERSIONS: dict[str, tuple[bool, dict[str, Any]]] = {
    "before": (True, {}),
    "now": (False, {}),
}


def prepare_sets(source: Path, folder: Path) -> None:
    """Write texts, with their test rows, and three splits of the training rows of tables."""
    from global_models import prepare

    prepare(source, folder)
    for name in TABLES:
        data = load(name, source)
        if data is not None:
            X, y, splits = data
            for i, held_out in enumerate(splits):
                parts = {"train": np.flatnonzero(~held_out), "test": np.flatnonzero(held_out)}
                np.savez(folder / f"{name}{i or ''}.npz", X=X, y=y.astype(str), **parts)


def read_set(file: str) -> tuple[Any, Any, Any, Any]:
    """Features, paths, and the rows to learn and to test."""
    with np.load(file) as data:
        if "X" in data:
            X = data["X"]
        else:
            X = sp.csr_matrix((data["data"], data["indices"], data["indptr"]), data["shape"])
        return X, data["y"].astype(object), data["train"], data["test"]


def fit_once(file: str, seed: int, params: dict[str, Any]) -> dict[str, float]:
    """Fit one network in this process; other checkouts are used as well: nothing new is called."""
    from hiclass.torch import HierarchicalSoftmaxClassifier

    X, y, train, test = read_set(file)
    X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    params = {"device": "cpu", "random_state": seed} | params
    # What a first fit costs once in a process does not count.
    HierarchicalSoftmaxClassifier(**params).fit(X_train[:2000], y_train[:2000])
    start = time.process_time()
    model = HierarchicalSoftmaxClassifier(**params).fit(X_train, y_train)
    fitted = time.process_time()
    score = float(model.score(X_test, y_test))
    done = time.process_time()
    return {"hF": score, "fit_s": fitted - start, "predict_s": done - fitted}


def run_before(options: argparse.Namespace, result: dict[str, Any]) -> None:
    """All versions with all seeds, on texts and tables."""
    own = Path(__file__).resolve().parents[1] / "src"

    def child(file: Path, version: str, seed: int) -> dict[str, float]:
        other, params = VERSIONS[version]
        path = str(Path(options.before).resolve() if other else own)
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        command = [sys.executable, __file__, "--one", str(file), str(seed), json.dumps(params)]
        env = {**os.environ, **threads, "PYTHONPATH": path}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.processes) as pool:
        prepare_sets(Path(options.data), Path(folder))
        for name in options.sets or (*TEXTS, *TABLES):
            n_splits = 3 if name in TABLES else 1
            files = [Path(folder) / f"{name}{i or ''}.npz" for i in range(n_splits)]
            if not files[0].exists():
                continue
            jobs = [
                (version, pool.submit(child, files[seed % len(files)], version, seed))
                for seed in range(options.seeds)
                for version in VERSIONS
            ]
            found: dict[str, list[Any]] = {version: [] for version in VERSIONS}
            for version, job in jobs:
                found[version].append({k: round(v, 4) for k, v in job.result().items()})
            result.setdefault("texts", {})[name] = found
            print(json.dumps({"set": name, **found}), flush=True)
            write_json(result, options.output)


# -- calls of partial_fit ----------------------------------------------------------------------


def learn_calls(file: str, seed: int) -> list[float]:
    """The hF of held-out rows after ``fit`` and after each of 20 calls of ``partial_fit``."""
    from hiclass.torch import HierarchicalSoftmaxClassifier

    X, y, train, _ = read_set(file)
    X, y = X[train], y[train]
    order = np.random.default_rng(seed).permutation(len(y))
    fitted, more, held_out = np.split(order, [len(y) // 2, len(y) * 3 // 4])
    known = set(map(tuple, y[fitted]))
    more = np.array([row for row in more if tuple(y[row]) in known])
    model = HierarchicalSoftmaxClassifier(device="cpu", random_state=seed)
    scores = [model.fit(X[fitted], y[fitted]).score(X[held_out], y[held_out])]
    for rows in more[:400].reshape(20, 20):
        model.partial_fit(X[rows], y[rows])
        scores.append(model.score(X[held_out], y[held_out]))
    return [round(float(score), 4) for score in scores]


def learn_passes(file: str, seed: int, n_passes: int) -> dict[str, float]:
    """The hF of held-out rows after passes over the others, by ``fit_batches`` and by calls."""
    from hiclass.torch import HierarchicalSoftmaxClassifier

    X, y, train, _ = read_set(file)
    X, y = X[train], y[train]
    held_out, rest = np.split(np.random.default_rng(seed).permutation(len(y)), [len(y) // 4])
    pieces = np.split(rest, range(384, len(rest), 384))
    batches = [(X[rows], y[rows]) for rows in pieces]
    params = {"device": "cpu", "random_state": seed}
    stream = HierarchicalSoftmaxClassifier(**params, max_epochs=n_passes)
    stream.fit_batches(batches, classes=y)
    calls = HierarchicalSoftmaxClassifier(**params).partial_fit(*batches[0], classes=y)
    for batch in (batches * n_passes)[1:]:
        calls.partial_fit(*batch)
    X, y = X[held_out], y[held_out]
    models = {"fit_batches": stream, "partial_fit": calls}
    return {name: round(float(model.score(X, y)), 4) for name, model in models.items()}


def run_calls(options: argparse.Namespace, result: dict[str, Any]) -> None:
    """All seeds, on texts and a table."""
    with tempfile.TemporaryDirectory() as folder:
        prepare_sets(Path(options.data), Path(folder))
        for name in options.sets or (*TEXTS, "ImCLEF07A"):
            file = f"{folder}/{name}.npz"
            scores = [learn_calls(file, seed) for seed in range(options.seeds)]
            result.setdefault("calls", {})[name] = scores
            write_json(result, options.output)
        for name in options.sets or (*TEXTS, "ImCLEF07A"):
            found = {
                str(n): [learn_passes(f"{folder}/{name}.npz", seed, n) for seed in range(3)]
                for n in (1, 3, 5)
            }
            result.setdefault("passes", {})[name] = found
            write_json(result, options.output)


def show_calls(result: dict[str, Any]) -> str:
    """A row per set: the worst call, and what all calls together change."""
    rows = []
    for name, found in result["calls"].items():
        scores = 100 * np.array(found)
        change = scores[:, -1] - scores[:, 0]
        rows.append(
            (
                name,
                str(len(scores)),
                f"{np.diff(scores, axis=1).min():+.2f}",
                f"{change.mean():+.2f}",
                f"{change.min():+.2f} to {change.max():+.2f}",
            )
        )
    header = ("training rows of", "seeds", "worst call", "20 calls, mean", "20 calls, seeds")
    return table(header, rows)


def show_passes(result: dict[str, Any]) -> str:
    """A row per set and number of passes: both ways, and by how much calls are better."""
    rows = []
    for name, by_passes in result["passes"].items():
        for n, found in by_passes.items():
            stream, calls = ([row[way] for row in found] for way in ("fit_batches", "partial_fit"))
            more = 100 * (np.array(calls) - stream)
            rows.append(
                (
                    name,
                    n,
                    f"{np.mean(stream):.4f}",
                    f"{np.mean(calls):.4f}",
                    f"{more.mean():+.2f}",
                    f"{more.min():+.2f} to {more.max():+.2f}",
                )
            )
    header = ("training rows of", "passes", "fit_batches", "partial_fit", "points more", "splits")
    return table(header, rows)


def show_texts(result: dict[str, Any]) -> str:
    """A row per set of texts and version."""
    rows = []
    for name, found in result["texts"].items():
        before = [row["hF"] for row in found["before"]]
        seconds = np.array([row["fit_s"] for row in found["before"]])
        for version, runs in found.items():
            scores = [row["hF"] for row in runs]
            shown = ""
            if version != "before":
                if name in TABLES:  # seeds share their splits
                    test = stats.ttest_rel(scores, before)
                else:
                    test = stats.ttest_ind(scores, before, equal_var=False)
                low, high = 100 * np.array(test.confidence_interval(0.95))
                difference = 100 * (np.mean(scores) - np.mean(before))
                shown = f"{difference:+.2f} ({low:+.2f} to {high:+.2f})"
            ratio = np.median(np.array([row["fit_s"] for row in runs]) / seconds)
            spread = f"{min(scores):.4f} to {max(scores):.4f}"
            rows.append((name, version, f"{np.mean(scores):.4f}", spread, shown, f"{ratio:.2f}"))
    header = ("set", "defaults", "hF", "seeds", "points more (95 %)", "time to fit")
    return table(header, rows)


def show(result: dict[str, Any]) -> str:
    """A row per set: the defaults, the best of the grid, and by what it is better."""
    header = (
        "set",
        "rows",
        "final classes",
        "kind",
        "defaults",
        "best",
        "best of the grid",
        "less",
    )
    rows = []
    for name, part in result["sets"].items():
        ours = part["hF"]["defaults"]
        setting, best = max(part["hF"].items(), key=lambda pair: pair[1])
        rows.append(
            (
                name,
                f"{part['n_rows']:,}",
                f"{part['n_leaves']:,}",
                part["kind"],
                f"{ours:.3f}",
                f"{best:.3f}",
                setting,
                f"{100 * (best - ours):.1f}",
            )
        )
    return table(header, rows)


def write_page(page: str) -> None:
    """Put the table of the stored results into a page."""
    result = json.loads(RESULT.read_text())
    write_section(page, "network_defaults", show(result))
    write_section(page, "network_texts", show_texts(result))
    write_section(page, "network_calls", show_calls(result))
    write_section(page, "network_passes", show_passes(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder with the data sets; without it, simulations only")
    parser.add_argument("--output", help="JSON file")
    parser.add_argument("--sets", nargs="+", help="by default, all but the large simulations")
    parser.add_argument("--device", default="cpu", help="where the networks of the grid are fitted")
    parser.add_argument("--precision", default="auto", help="the precision of these networks")
    parser.add_argument("--settings", nargs="+", help="only these settings of the grid")
    parser.add_argument("--markdown", help="page that the table is written to")
    parser.add_argument("--before", help="source folder of another checkout to compare with")
    parser.add_argument("--seeds", type=int, default=10, help="before, calls: how many")
    parser.add_argument("--calls", action="store_true", help="calls of partial_fit")
    parser.add_argument("--processes", type=int, default=1, help="before: fits at the same time")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.markdown:
        write_page(options.markdown)
        return
    if options.one:
        file, seed, params = options.one
        print(json.dumps(fit_once(file, int(seed), json.loads(params))))
        return
    from global_models import machine  # not in children, which may use another checkout

    result: dict[str, Any] = {"environment": machine(), "sets": {}}
    if options.output and Path(options.output).exists():
        result = json.loads(Path(options.output).read_text())
    if options.before:
        run_before(options, result)
        print(show_texts(result))
        return
    if options.calls:
        run_calls(options, result)
        print(show_calls(result), show_passes(result), sep="\n\n")
        return
    for name in options.sets or (*TEXTS, *TABLES, *SIMULATIONS, *NOISY):
        run_set(name, options, result)
    print(show(result))


if __name__ == "__main__":
    main()
