"""The defaults of the network beside a small grid: how far they are from its best.

    cd benchmarks
    python network_defaults.py --data DATA --output results/network_defaults.json
    python network_defaults.py --markdown ../docs/appendix/network.md  # the table from the results

Training rows only: a quarter of the training rows of every set is held out, of sets of real rows
three times, and the mean counts. Simulations need no data: leaves of a tree with three levels have
a direction each, drawn at random, so that the tree says nothing about the rows, or the sum of one
draw per level ("tree helps"), and rows of a leaf lie around it. They have a length of one, or are
standardised or stretched column by column.

The grid: the loss over all leaves with three learning rates and three penalties, the loss of the
siblings with three learning rates, twice and half as many epochs, and a linear model or an
embedding. A file that exists is completed: what it holds already is not run again. At last the
defaults, and those before them, are compared on the test rows of the texts.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from _common import environment, table, write_json, write_section

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
    if scale == "standard":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    elif scale == "stretched":
        X = X * np.geomspace(0.01, 100, n_features) + rng.normal(size=n_features)
    return X.astype(np.float32), codes[leaf].astype(str).astype(object)


def load(name: str, folder: Path | None) -> tuple[Any, Any, list[Any]] | None:
    """Features and paths of training rows, and which of them are held out, one or three times."""
    groups = None
    if name in SIMULATIONS:
        X, y = simulate(**SIMULATIONS[name])
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
    seeds = (1,) if name in SIMULATIONS else (1, 2, 3)
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


def run_set(name: str, folder: Path | None, result: dict[str, Any], output: str | None) -> None:
    """All parameters of the grid that a result does not have yet."""
    from hiclass.torch import HierarchicalSoftmaxClassifier

    data = load(name, folder)
    if data is None:
        return
    X, y, splits = data
    kind = "sparse" if sp.issparse(X) else "dense"
    n_rows, train = int((~splits[0]).sum()), ~splits[0]
    part = result["sets"].setdefault(
        name, {"n_rows": n_rows, "n_features": X.shape[1], "kind": kind, "hF": {}}
    )
    part["n_leaves"] = len({tuple(path) for path in y.tolist()})
    for setting, params in grid(X[train], y[train]).items():
        if setting in part["hF"]:
            continue
        start, scores = time.perf_counter(), []
        for held_out in splits:
            model = HierarchicalSoftmaxClassifier(random_state=0, device="cpu", **params)
            model.fit(X[~held_out], y[~held_out])
            scores.append(model.score(X[held_out], y[held_out]))
        score = float(np.mean(scores))
        part["hF"][setting] = round(score, 4)
        seconds = round(time.perf_counter() - start, 1)
        print(json.dumps({"set": name, "setting": setting, "hF": score, "s": seconds}), flush=True)
        write_json(result, output)


#: The defaults before the rules.
BEFORE = {
    "loss": "conditional",
    "standardize": False,
    "penalty": 1e-5,
    "learning_rate": 0.03,
    "max_epochs": 3,
}


def run_texts(folder: Path, result: dict[str, Any], output: str | None) -> None:
    """The defaults, and those before them, on the test rows of texts: the mean of three seeds."""
    from _decisions_data import load as load_task

    from hiclass.torch import HierarchicalSoftmaxClassifier

    for name in TEXTS:
        task = load_task(name, folder)
        if task is None or name in result.setdefault("texts", {}):
            continue
        found = {}
        for when, params in (("before", BEFORE), ("now", {})):
            models = [
                HierarchicalSoftmaxClassifier(random_state=seed, device="cpu", **params)
                for seed in range(3)
            ]
            scores = [
                model.fit(task.X[task.train], task.y[task.train]).score(
                    task.X[task.test], task.y[task.test]
                )
                for model in models
            ]
            found[when] = [round(float(score), 4) for score in scores]
        result["texts"][name] = found
        print(json.dumps({"set": name, **found}), flush=True)
        write_json(result, output)


def show_texts(result: dict[str, Any]) -> str:
    """A row per set of texts."""
    rows = [
        (name, *(f"{np.mean(found[when]):.4f}" for when in ("before", "now")))
        for name, found in result["texts"].items()
    ]
    means = [
        np.mean([np.mean(found[when]) for found in result["texts"].values()])
        for when in ("before", "now")
    ]
    rows.append(("mean", *(f"{mean:.4f}" for mean in means)))
    return table(("test rows of", "defaults before", "defaults now"), rows)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder with the data sets; without it, simulations only")
    parser.add_argument("--output", help="JSON file")
    parser.add_argument("--sets", nargs="+", help="all by default")
    parser.add_argument("--markdown", help="page that the table is written to")
    options = parser.parse_args()
    if options.markdown:
        write_page(options.markdown)
        return
    result: dict[str, Any] = {"environment": environment(), "sets": {}}
    if options.output and Path(options.output).exists():
        result = json.loads(Path(options.output).read_text())
    folder = None if options.data is None else Path(options.data)
    for name in options.sets or (*TEXTS, *TABLES, *SIMULATIONS):
        run_set(name, folder, result, options.output)
    if folder is not None:
        run_texts(folder, result, options.output)
    print(show(result))


if __name__ == "__main__":
    main()
