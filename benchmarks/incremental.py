"""Learning from batches: memory over a long stream, and what streaming costs in quality.

    python benchmarks/incremental.py --memory                         # 5,000,000 generated rows
    python benchmarks/incremental.py --data DATA --sets cfpb naics    # against a batch-fitted model
    python benchmarks/incremental.py --new-class --data DATA          # batches of one class only
    python benchmarks/incremental.py --plot docs/images               # the curves, from the results
    python benchmarks/incremental.py --markdown docs/incremental.md   # the tables, from the results

Results go to ``results/incremental-memory.json``, ``incremental-quality.json`` and
``incremental-new-class.json``.
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from _common import environment, save_svg, table, write_json, write_section
from _decisions_data import Task, load
from sklearn.linear_model import LogisticRegression, SGDClassifier

from hiclass import (
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass.metrics import f1

RESULTS = Path(__file__).parent / "results"
MEMORY, QUALITY, NEW_CLASS = (
    RESULTS / f"incremental-{name}.json" for name in ("memory", "quality", "new-class")
)
LIMIT = 1e9  # bytes
N_FEATURES, N_WORDS, BATCH = 1000, 12, 20_000
FANOUT = (4, 5, 5)

# -- memory ------------------------------------------------------------------------------------


def leaf_paths() -> list[list[str]]:
    """A hundred leaves on three levels."""
    return [
        [f"group {a}", f"family {b}", f"kind {c}"]
        for a in range(FANOUT[0])
        for b in range(FANOUT[1])
        for c in range(FANOUT[2])
    ]


def stream(n_rows: int, seed: int = 0) -> Iterator[tuple[Any, np.ndarray]]:
    """Batches of sparse counts: half of the words of a row belong to its leaf, half to anyone."""
    rng = np.random.default_rng(seed)
    paths = np.array(leaf_paths(), dtype=object)
    own_words = np.random.default_rng(1).integers(0, N_FEATURES, size=(len(paths), 30))
    for start in range(0, n_rows, BATCH):
        n = min(BATCH, n_rows - start)
        leaf = rng.integers(0, len(paths), size=n)
        own = own_words[leaf[:, None], rng.integers(0, 30, size=(n, N_WORDS // 2))]
        words = np.hstack([own, rng.integers(0, N_FEATURES, size=(n, N_WORDS // 2))])
        words = words.astype(np.int32)  # SGDClassifier takes no wider ones
        indptr = np.arange(0, n * N_WORDS + 1, N_WORDS, dtype=np.int32)
        X = sp.csr_array((np.ones(words.size), words.ravel(), indptr), shape=(n, N_FEATURES))
        X.sum_duplicates()
        yield X, paths[leaf]


def measure_memory(n_rows: int) -> dict[str, Any]:
    """Train on the stream and note the resident memory of this process after every batch."""
    import resource

    import psutil

    process, model = psutil.Process(), new_model(alpha=1e-5)
    at_start = process.memory_info().rss
    rows, memory, seen = [], [], 0
    start = time.perf_counter()
    for X, y in stream(n_rows):
        model.partial_fit(X, y, classes=Hierarchy.from_paths(leaf_paths()) if not seen else None)
        seen += X.shape[0]
        rows.append(seen)
        memory.append(process.memory_info().rss)
    seconds = time.perf_counter() - start
    X, y = next(stream(BATCH, seed=7))
    half = len(memory) // 2
    return {
        "rows": n_rows,
        "features": N_FEATURES,
        "batch": BATCH,
        "classes": len(leaf_paths()),
        "child": "SGDClassifier(loss='log_loss')",
        "seconds": round(seconds, 1),
        "rows_per_second": round(n_rows / seconds),
        "hF_of_new_rows": round(f1(y, model.predict(X)), 4),
        "memory_at_start": at_start,
        # In kilobytes on Linux.
        "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "growth_over_second_half": max(memory[half:]) - max(memory[: half or 1]),
        "curve": {"rows": rows, "memory": memory},
    }


# -- quality -----------------------------------------------------------------------------------


def new_model(alpha: float) -> LocalClassifierPerParentNode:
    """All paths of these sets are complete, so no classifier needs a class for "stop here"."""
    child = SGDClassifier(loss="log_loss", alpha=alpha)
    return LocalClassifierPerParentNode(child, leaf_only=True, random_state=0)


def measure_quality(name: str, folder: Path, epochs: int, batch: int, alpha: float) -> Any:
    """Stream the training rows several times; compare with one fit of logistic regression.

    The best of three values of C is chosen on the test rows, in favour of the one fit.
    """
    task = load(name, folder)
    if task is None:
        return None
    X, y = task.X[task.train], task.y[task.train]
    X_test, y_test = task.X[task.test], task.y[task.test]
    whole: dict[str, float] = {}
    for c in (1, 10, 100):
        start = time.process_time()
        child = LogisticRegression(C=c, max_iter=1000)
        fitted = LocalClassifierPerParentNode(child, leaf_only=True).fit(X, y)
        seconds = time.process_time() - start
        whole[str(c)] = round(f1(y_test, fitted.predict(X_test)), 4)
        print(f"{name}: one fit with C={c}, hF {whole[str(c)]}, {seconds:.0f} s")
    target = max(whole.values())
    model, rng = new_model(alpha), np.random.default_rng(0)
    reached, spent = [], []
    start = time.process_time()
    for _ in range(epochs):
        order = rng.permutation(len(y))
        for rows in np.array_split(order, max(len(y) // batch, 1)):
            model.partial_fit(X[rows], y[rows], classes=y)
        spent.append(round(time.process_time() - start, 2))
        reached.append(round(f1(y_test, model.predict(X_test)), 4))
        print(f"{name}: epoch {len(reached)}, hF {reached[-1]} of {target:.4f}")
    return {
        "rows": len(y),
        "test_rows": len(y_test),
        "batch": batch,
        "alpha": alpha,
        "hF_batch_fitted_by_C": whole,
        "hF_by_epoch": reached,
        "seconds_by_epoch": spent,
        "share_of_default": round(reached[-1] / whole["1"], 4),
        "share_of_best": round(reached[-1] / target, 4),
    }


# -- a class that comes alone ------------------------------------------------------------------

STRATEGIES = {
    "per node": LocalClassifierPerNode,
    "per parent node": LocalClassifierPerParentNode,
    "per level": LocalClassifierPerLevel,
    "flat": FlatClassifier,
}
NEW = (
    ("Checking or savings account",),
    ("Payday loan, title loan, or personal loan",),
    ("Mortgage", "Conventional home mortgage"),
)


def measure_new_class(folder: Path, batch: int, alpha: float) -> Any:
    """Hold one class back, then learn batches that hold nothing else, then shuffled ones."""
    task = load("cfpb", folder)
    if task is None:
        return None
    return [
        {"strategy": name, "new": list(new), **new_class_alone(task, cls, new, batch, alpha)}
        for name, cls in STRATEGIES.items()
        for new in NEW
    ]


def new_class_alone(
    task: Task, cls: Any, new: tuple[str, ...], batch: int, alpha: float
) -> dict[str, Any]:
    """One epoch without a class, two batches of it alone, three of all classes: hF after each."""

    def is_new(y: np.ndarray) -> np.ndarray:
        return (y[:, : len(new)] == np.array(new, dtype=object)).all(axis=1)

    X, y, rng = task.X[task.train], task.y[task.train], np.random.default_rng(0)
    X_test, y_test, late = task.X[task.test], task.y[task.test], is_new(task.y[task.test])
    model = cls(SGDClassifier(loss="log_loss", alpha=alpha), leaf_only=True, random_state=0)
    classes = None if cls is LocalClassifierPerNode else Hierarchy.from_paths(y)

    def score() -> dict[str, Any]:
        predicted = model.predict(X_test)
        return {
            "hF_old": round(f1(y_test[~late], predicted[~late]), 4),
            "hF_new": round(f1(y_test[late], predicted[late]), 4),
            "old_as_new": int(is_new(predicted[~late]).sum()),
        }

    old, alone = np.flatnonzero(~is_new(y)), np.flatnonzero(is_new(y))
    for rows in np.array_split(rng.permutation(old), max(len(old) // batch, 1)):
        model.partial_fit(X[rows], y[rows], classes=classes)
    before, after = score(), []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The batch has no rows of classes")
        for rows in np.array_split(rng.permutation(alone), 2):
            model.partial_fit(X[rows], y[rows], classes=classes)
            after.append(score())
    for rows in np.array_split(rng.permutation(len(y)), max(len(y) // batch, 1))[:3]:
        model.partial_fit(X[rows], y[rows], classes=classes)
    found = {
        "rows": len(alone),
        "test_rows_old": int((~late).sum()),
        "before": before,
        "alone": after,
        "mixed": score(),
    }
    print(f"{cls.__name__}, {new[-1]}: {before['hF_old']} -> {after[-1]['hF_old']}")
    return found


def new_class_table() -> str:
    """The result as Markdown."""
    found = json.loads(NEW_CLASS.read_text())["runs"]
    header = (
        "model",
        "new class",
        "its rows",
        "hF of old classes: before",
        "after 1 batch of the new class",
        "after 2",
        "old rows predicted as new",
        "after 3 batches of all classes: old",
        "new",
    )
    rows = [
        (
            run["strategy"],
            run["new"][-1].partition(",")[0],
            f"{run['rows']:,}",
            f"{run['before']['hF_old']:.4f}",
            *(f"{after['hF_old']:.4f}" for after in run["alone"]),
            f"{run['alone'][-1]['old_as_new']} of {run['test_rows_old']:,}",
            f"{run['mixed']['hF_old']:.4f}",
            f"{run['mixed']['hF_new']:.4f}",
        )
        for run in found
    ]
    return table(header, rows)


# -- what is shown -----------------------------------------------------------------------------


def plot(folder: Path) -> None:
    """Draw the memory over the rows, and hF over the epochs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    result = json.loads(MEMORY.read_text())["memory"]
    curve = result["curve"]
    fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
    ax.plot(np.array(curve["rows"]) / 1e6, np.array(curve["memory"]) / 1e6, label="resident memory")
    ax.axhline(LIMIT / 1e6, color="tab:red", linestyle="--", label="1 GB")
    ax.axhline(
        result["memory_at_start"] / 1e6,
        color="tab:gray",
        linestyle=":",
        label="before the first row",
    )
    ax.set(xlabel="million rows learned", ylabel="MB", ylim=(0, 1100), xlim=(0, None))
    ax.legend(loc="center right")
    ax.set_title(f"{result['rows']:,} sparse rows x {result['features']:,} features, in batches")
    save_svg(fig, folder / "incremental_memory.svg")
    sets = json.loads(QUALITY.read_text())["sets"]
    fig, axes = plt.subplots(
        1, len(sets), figsize=(3.9 * len(sets), 3.4), layout="constrained", squeeze=False
    )
    for ax, (name, found) in zip(axes[0], sets.items(), strict=True):
        epochs = np.arange(1, len(found["hF_by_epoch"]) + 1)
        ax.plot(epochs, found["hF_by_epoch"], marker="o", label="streamed SGD")
        whole = found["hF_batch_fitted_by_C"]
        ax.axhline(whole["1"], color="tab:gray", label="logistic regression, one fit, C=1")
        best = max(whole, key=whole.get)
        ax.axhline(whole[best], color="tab:green", label=f"the same with the best C, {best}")
        ax.axhline(0.97 * whole[best], color="tab:green", linestyle=":", label="97 % of it")
        low, high = ax.get_ylim()
        ax.set(title=name, xlabel="epochs", ylabel="hF on test rows", xticks=epochs)
        ax.set_ylim(low - 0.6 * (high - low), high)  # room for the legend
        ax.legend(loc="lower center", fontsize="small")
    save_svg(fig, folder / "incremental_epochs.svg")


def tables() -> str:
    """Both results as one Markdown text."""
    m = json.loads(MEMORY.read_text())["memory"]
    quality = json.loads(QUALITY.read_text())["sets"]
    rows = [
        (
            name,
            f"{q['rows']:,}",
            f"{q['batch']:,}",
            f"{q['hF_batch_fitted_by_C']['1']:.4f}",
            f"{max(q['hF_batch_fitted_by_C'].values()):.4f}",
            f"{q['hF_by_epoch'][0]:.4f}",
            f"{q['hF_by_epoch'][-1]:.4f} after {len(q['hF_by_epoch'])}",
            f"{100 * q['share_of_default']:.1f} %",
            f"{100 * q['share_of_best']:.1f} %",
        )
        for name, q in quality.items()
    ]
    header = (
        "set",
        "rows",
        "batch",
        "fit, C=1",
        "fit, best C",
        "batches, one epoch",
        "more epochs",
        "ratio to C=1",
        "ratio to best C",
    )
    return (
        f"{m['rows']:,} rows x {m['features']:,} features, {m['classes']} leaves, batches of "
        f"{m['batch']:,}: {m['rows_per_second']:,} rows per second, "
        f"{m['memory_at_start'] / 1e6:.0f} MB before the first row, "
        f"{m['peak_memory'] / 1e6:.0f} MB at most, "
        f"{max(m['growth_over_second_half'], 0) / 1e6:.1f} MB more in the second half than in the "
        f"first.\n\n{table(header, rows)}"
    )


def write_page(page: str) -> None:
    """Put the tables of the stored results into a page."""
    write_section(page, "incremental", tables())
    write_section(page, "new_class", new_class_table())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memory", action="store_true", help="train on a generated stream")
    parser.add_argument("--rows", type=int, default=5_000_000, help="how long that stream is")
    parser.add_argument("--new-class", action="store_true", help="learn a class that comes alone")
    parser.add_argument("--data", type=Path, help="folder of the real data")
    parser.add_argument("--sets", nargs="+", default=["cfpb", "naics"])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--alpha", type=float, default=1e-5, help="regularisation of SGD")
    parser.add_argument("--plot", type=Path, help="folder for the pictures")
    parser.add_argument("--markdown", help="page with a section for the tables")
    args = parser.parse_args()
    if args.memory:
        found = {"environment": environment(), "memory": measure_memory(args.rows)}
        shown = {k: v for k, v in found["memory"].items() if k != "curve"}
        print(json.dumps(shown, indent=1))
        write_json(found, str(MEMORY))
    if args.data is not None and args.new_class:
        runs = measure_new_class(args.data, args.batch, args.alpha)
        if runs is not None:
            write_json({"environment": environment(), "runs": runs}, str(NEW_CLASS))
    elif args.data is not None:
        sets = json.loads(QUALITY.read_text())["sets"] if QUALITY.exists() else {}
        for name in args.sets:
            result = measure_quality(name, args.data, args.epochs, args.batch, args.alpha)
            if result is not None:
                sets[name] = result
                write_json({"environment": environment(), "sets": sets}, str(QUALITY))
    if args.plot is not None:
        plot(args.plot)
    if args.markdown is not None:
        write_page(args.markdown)


if __name__ == "__main__":
    main()
