"""What it gains to adapt a model to other shares of classes, and what it costs without a shift.

    cd benchmarks
    python prior_shift.py --data DATA --output results/prior_shift.json
    python prior_shift.py --data DATA --choose --output results/prior_shift.json   # defaults
    python prior_shift.py --markdown ../docs/appendix/class_frequencies.md   # write the tables

Of the test rows of clinc150, 18 % are out of scope, of its training rows 1 %. naics and cfpb are
split at random, so that nothing has shifted; "shifted" are the same test rows, of whose level-1
classes between a tenth and all rows were kept, drawn once. Shares are estimated from all test rows
without their labels ("rows"), or those of level 1 are given ("true"). Two models learn nothing out
of fold that estimates can be compared with: every tenth training row is held out for them. The
defaults of ``max_iter`` and ``strength`` are compared with others on training rows
(_prior_shift_choice.py).
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _common import environment, table, write_json, write_section
from _decisions_data import load
from _prior_shift_choice import gains, hold_out, summarise
from _prior_shift_choice import show as show_choice
from sklearn.svm import LinearSVC

from hiclass import ByDepth, FlatClassifier, LocalClassifierPerParentNode, metrics

RESULT = Path(__file__).parent / "results" / "prior_shift.json"
TEXTS, SETS = ("clinc150", "naics", "cfpb"), ("ImCLEF07A", "anuran", "greengenes")
#: Numbers of rows that shares are estimated from, each drawn three times.
FEW, DRAWS = (100, 1000), 3


def make_models(child: Any, of_text: bool) -> dict[str, tuple[Any, bool]]:
    """The models, and whether they need rows that are held out for them."""
    if not of_text:
        joint = LocalClassifierPerParentNode(child, calibration="joint", decoding="expected_f1")
        flat = FlatClassifier(child, calibration="temperature")
        return {"local, joint": (joint, False), "flat, temperature": (flat, False)}
    svc = LinearSVC(dual=True, tol=0.1, random_state=0)
    deep = ByDepth(LinearSVC(dual=True, tol=0.5, random_state=0), C=[0.5, 2, 8])
    quick = {"temperature": 0.125, "expected_f1": 0.8}
    joint = {"calibration": "joint", "decoding": "expected_f1"}
    local = LocalClassifierPerParentNode
    return {
        "local, joint": (local(deep, **joint), False),
        "local, quick": (local(deep, **joint, **quick), True),
        "local, temperature": (
            local(svc, calibration="temperature", decoding="best_path"),
            True,
        ),
        "flat, temperature": (FlatClassifier(svc, calibration="temperature"), False),
    }


def scores(model: Any, X: Any, y: np.ndarray) -> dict[str, float]:
    """hF as the model decides, whole paths right and log loss with the most probable path."""
    tree, decoding = model.hierarchy_, model.decoding
    hf = metrics.f1(y, model.predict(X))
    predicted = model.set_params(decoding="best_path").predict(X)
    model.set_params(decoding=decoding)
    proba = model.predict_node_proba(X)
    losses = []
    for i, path in enumerate(y):
        try:
            node = tree.find(tuple(label for label in path if label))
        except ValueError:  # not among the training rows
            continue
        losses.append(proba[i, node] - proba[i, tree.children(node)].sum())
    return {
        "hf": hf,
        "exact": float((predicted == y).all(axis=1).mean()),
        "log_loss": float(-np.log(np.maximum(losses, 1e-15)).mean()),
    }


def kept(y: np.ndarray, rng: Any) -> np.ndarray:
    """Some of the rows: of each level-1 class another part."""
    names, top = np.unique(y[:, 0].astype(str), return_inverse=True)
    part = 10 ** rng.uniform(-1, 0, len(names))
    return np.flatnonzero(rng.random(len(y)) < part[top])


def total_variation(a: np.ndarray, b: np.ndarray) -> float:
    """Half of the sum of differences."""
    return float(np.abs(a - b).sum() / 2)


def run_set(name: str, folder: Path) -> Iterator[dict[str, Any]]:
    """All models on a set, and on a part of its test rows with other shares."""
    task = load(name, folder)
    if task is None:
        return
    X, y = task.X.astype(np.float64), task.y
    cases = {name: task.test}
    if name != "clinc150":
        cases[f"{name}, shifted"] = task.test[kept(y[task.test], np.random.default_rng(0))]
    for kind, (model, holds_out) in make_models(task.child, name in TEXTS).items():
        held = np.arange(len(task.train)) % 10 == 9
        train = task.train[~held] if holds_out else task.train
        reference = X[task.train[held]] if holds_out else None
        model.fit(X[train], y[train])
        for case, test in cases.items():
            yield {"set": case, "model": kind, "n_test": len(test)} | run_model(
                model, X[test], y[test], reference
            )


def run_model(model: Any, X: Any, y: np.ndarray, reference: Any) -> dict[str, Any]:
    """A fitted model before and after it is adapted."""
    top = model.hierarchy_.children(0)
    true = model.adapted_to(prior=level_one(model, y))
    rows = model.adapted_to(X, reference=reference)
    result: dict[str, Any] = {
        "shift": total_variation(model.prior_[top], true.prior_[top]),
        "shift_left": total_variation(rows.prior_[top], true.prior_[top]),
        "n_iter": rows.n_iter_,
        "before": scores(model, X, y),
        "rows": scores(rows, X, y),
        "true": scores(true, X, y),
        "max_iter 1000": scores(model.adapted_to(X, reference=reference, max_iter=1000), X, y),
        "labels": scores(compared_with_labels(model, X), X, y),
    }
    rng = np.random.default_rng(0)
    for n in FEW:
        drawn = [rng.permutation(X.shape[0])[:n] for _ in range(DRAWS)]
        found = [scores(model.adapted_to(X[d], reference=reference), X, y)["hf"] for d in drawn]
        result[f"hf of {n} rows"] = float(np.mean(found))
    return result


def level_one(model: Any, y: np.ndarray) -> dict[Any, float]:
    """The shares of the classes of level 1 among some labels."""
    names, counts = np.unique(y[:, 0].astype(str), return_counts=True)
    tree = model.hierarchy_
    known = {str(tree.labels[v]): tree.path(v) for v in tree.children(0).tolist()}
    seen = {known[n]: c for n, c in zip(names, counts, strict=True) if n in known}
    return {path: seen.get(path, 0) / sum(seen.values()) for path in known.values()}


def compared_with_labels(model: Any, X: Any) -> Any:
    """As it was published in 2002: compared with the shares of labels, and no strength."""
    models = model._models
    model._models = replace(models, expected_own=None)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*out of fold")
        adapted = model.adapted_to(X, strength=0, max_iter=1000)
    model._models = models
    return adapted


# -- the page ----------------------------------------------------------------------------------

HEAD = (
    "set",
    "model",
    "shift",
    "hF",
    "from rows",
    "true shares",
    "exact",
    "from rows",
    "true shares",
    "log loss",
    "from rows",
    "true shares",
)


def show(result: dict[str, Any]) -> str:
    """The table of a result."""
    lines = []
    for row in result["rows"]:
        line = [row["set"], row["model"], f"{100 * row['shift']:.0f} %"]
        for score, digits in (("hf", 4), ("exact", 4), ("log_loss", 2)):
            line += [f"{row[case][score]:.{digits}f}" for case in ("before", "rows", "true")]
        lines.append(line)
    return table(HEAD, lines)


def show_variants(result: dict[str, Any]) -> str:
    """hF of the ways to estimate."""
    head = ("set", "model", "before", "from rows", *(f"{n} rows" for n in FEW))
    lines = [
        [
            row["set"],
            row["model"],
            *(
                f"{value:.4f}"
                for value in (
                    row["before"]["hf"],
                    row["rows"]["hf"],
                    *(row[f"hf of {n} rows"] for n in FEW),
                    row["max_iter 1000"]["hf"],
                    row["labels"]["hf"],
                )
            ),
        ]
        for row in result["rows"]
    ]
    return table((*head, "`max_iter=1000`", "as published in 2002"), lines)


def choose(names: Any, folder: Path) -> dict[str, Any]:
    """The gains of all settings on held-out training rows."""
    rows = []
    for name in names:
        task = load(name, folder)
        if task is None:
            continue
        X, y = task.X.astype(np.float64), task.y
        fitted, held = hold_out(task)
        for kind, (model, needs_rows) in make_models(task.child, name in TEXTS).items():
            if needs_rows:
                continue
            model.fit(X[fitted], y[fitted])
            found = list(gains(model, X[held], y[held]))
            rows += [{"set": name, "model": kind} | row for row in found]
            print(name, kind, summarise(found)["best"], flush=True)
    return summarise(rows)


def write_page(page: str) -> None:
    result = json.loads(RESULT.read_text())
    write_section(page, "prior_shift_choice", show_choice(result["choice"]))
    write_section(page, "prior_shift", show(result))
    write_section(page, "prior_shift_variants", show_variants(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the sets")
    parser.add_argument("--output")
    parser.add_argument("--sets", nargs="*", default=(*TEXTS, *SETS))
    parser.add_argument("--choose", action="store_true", help="try settings on training rows")
    parser.add_argument("--markdown", help="write the tables of the stored results into this page")
    options = parser.parse_args()
    if options.markdown:
        write_page(options.markdown)
        return
    stored = {}
    if options.output and Path(options.output).exists():
        stored = json.loads(Path(options.output).read_text())
    if options.choose:
        choice = choose(options.sets, options.data)
        print(show_choice(choice), choice["best"], choice["means"][choice["best"]], sep="\n")
        if options.output:
            write_json(stored | {"choice": choice}, options.output)
        return
    rows = []
    for name in options.sets:
        for row in run_set(name, options.data):
            rows.append(row)
            print(json.dumps(row), flush=True)
    if options.output:
        write_json(stored | {"rows": rows} | environment(), options.output)


if __name__ == "__main__":
    main()
