"""Which decoding, which calibration? The decisions of this library on real data.

Every set is split once; the split is in ``decisions_splits.json``. Recipes are compared by
cross-validation on training rows, and only then is anything measured on test rows. What one set
gave is written to ``results/decisions-<set>.json`` as soon as it is known.

    python benchmarks/decisions.py --data DATA                      # all sets that are there
    python benchmarks/decisions.py --data DATA --sets clinc150 naics
    python benchmarks/decisions.py --data DATA --published PYTHON   # one with hiclass 5.0.8
    python benchmarks/decisions.py --data DATA --conformal          # coverage
    python benchmarks/decisions.py --data DATA --joint              # joint, learned weights only
    python benchmarks/decisions.py --data DATA --groups --sets anuran   # folds of groups only
    python benchmarks/decisions.py --markdown docs/appendix/six_sets.md   # tables from the results
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from _common import clean_env, environment, interleaved, run_child, write_json
from _decisions_data import SOURCES, Task, load, make_splits
from _decisions_page import DECODINGS, STRATEGY_NAMES, result_file, write_page
from _paired import bootstrap, count, f1
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.naive_bayes import GaussianNB

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalKFold,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass.metrics import calibration_error

STRATEGIES = dict(
    zip(
        STRATEGY_NAMES,
        (LocalClassifierPerNode, LocalClassifierPerParentNode, LocalClassifierPerLevel),
        strict=True,
    )
)
CLIP = 1e-6  # a probability below it counts as this in the log loss

# -- measures ----------------------------------------------------------------------------------


def measures(counts: np.ndarray) -> dict[str, float]:
    """Rounded hF, hP, hR and exact match."""
    total = counts.sum(axis=0)
    exact = (counts[:, 0] == counts[:, 1]) & (counts[:, 1] == counts[:, 2])
    values = {
        "hF": f1(total),
        "hP": total[0] / max(total[1], 1),
        "hR": total[0] / total[2],
        "exact": exact.mean(),
    }
    return {k: round(float(v), 4) for k, v in values.items()}


def trim(path: Any) -> tuple[Any, ...]:
    """A path without what is missing at its end."""
    return tuple(label for label in path if label != "")


def log_loss(model: Any, X: Any, y: np.ndarray, known: np.ndarray) -> float:
    """Mean of -log P(true ending) over rows whose ending was seen in training."""
    h = model.hierarchy_
    X, y = X[known], y[known]
    found = []
    for start in range(0, len(y), 1000):
        proba = model.predict_node_proba(X[start : start + 1000])
        for row, path in zip(proba, y[start : start + 1000], strict=True):
            node = h.find(trim(path))
            found.append(row[node] - row[h.children(node)].sum())
    return round(float(-np.log(np.clip(found, CLIP, 1)).mean()), 4)


# -- the study of one set ----------------------------------------------------------------------


class _Timed:
    """Notes how long ``fit`` took, also inside an ensemble."""

    def fit(self, X: Any, y: Any, **params: Any) -> Any:
        start = time.process_time()
        super().fit(X, y, **params)  # type: ignore[misc]
        self.seconds = time.process_time() - start
        return self


class TimedFlat(_Timed, FlatClassifier):
    """A flat classifier with a clock."""


class TimedParent(_Timed, LocalClassifierPerParentNode):
    """A classifier per parent node with a clock."""


class TimedEnsemble(_Timed, EnsembleClassifier):
    """An ensemble with a clock."""


def fit_ensemble(task: Task, rows: np.ndarray) -> Any:
    """Flat times per parent node, both calibrated; its members serve on their own, too."""
    members = [
        ("flat", TimedFlat(task.child, calibration="temperature", random_state=0)),
        ("local", TimedParent(task.child, calibration="temperature", random_state=0)),
    ]
    return TimedEnsemble(members, decoding="expected_f1").fit(task.X[rows], task.y[rows])


def candidates(ensemble: Any) -> dict[str, tuple[Any, str]]:
    """The recipes among which cross-validation chooses, all calibrated."""
    flat, local = ensemble.models_
    return {
        "flat, best_path": (flat, "best_path"),
        "flat, expected_f1": (flat, "expected_f1"),
        "per parent, top_down": (local, "top_down"),
        "per parent, best_path": (local, "best_path"),
        "per parent, expected_f1": (local, "expected_f1"),
        "flat x per parent, best_path": (ensemble, "best_path"),
        "flat x per parent, expected_f1": (ensemble, "expected_f1"),
    }


def predict_counts(model: Any, decoding: str, X: Any, y: np.ndarray) -> np.ndarray:
    return count(y, model.set_params(decoding=decoding).predict(X))


def folds_of(task: Task) -> Any:
    """Three folds of the training rows; groups stay together."""
    X, y = task.X[task.train], task.y[task.train]
    if task.groups is None:
        return HierarchicalKFold(3, shuffle=True, random_state=0).split(X, y)
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    return cv.split(X, y[:, -1].astype(str), task.groups[task.train])


def cross_validate(task: Task) -> dict[str, float]:
    """Pooled hF of every recipe over three folds of the training rows."""
    X, y = task.X[task.train], task.y[task.train]
    total: dict[str, Any] = {}
    for train, test in folds_of(task):
        ensemble = fit_ensemble(task, task.train[train])
        for name, (model, decoding) in candidates(ensemble).items():
            counts = predict_counts(model, decoding, X[test], y[test]).sum(0)
            total[name] = total.get(name, 0) + counts
    return {name: round(float(f1(counts)), 4) for name, counts in total.items()}


class Study:
    """All rows of the table of one set."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.X, self.y = task.X[task.test], task.y[task.test]
        seen = {trim(path) for path in task.y[task.train]}
        self.known = np.array([trim(path) in seen for path in self.y])
        self.rows: list[dict[str, Any]] = []
        self.counts: dict[str, np.ndarray] = {}

    def add(self, model: Any, name: str, fit_s: float, decodings: Any = DECODINGS) -> None:
        """Measure a fitted model with some decodings."""
        loss = None
        if hasattr(model, "predict_node_proba"):
            loss = log_loss(model, self.X, self.y, self.known)
        for decoding in decodings:
            start = time.process_time()
            counts = predict_counts(model, decoding, self.X, self.y)
            seconds = time.process_time() - start
            self.note(f"{name}, {decoding}", counts, loss, fit_s, seconds)

    def note(
        self, name: str, counts: np.ndarray, loss: Any, fit_s: float, predict_s: float
    ) -> None:
        self.counts[name] = counts
        row = {"name": name, **measures(counts), "log_loss": loss}
        self.rows.append(row | {"fit_s": round(fit_s, 2), "predict_s": round(predict_s, 3)})
        print(f"{self.task.name}: {self.rows[-1]}", flush=True)

    def most_frequent(self) -> None:
        paths = [trim(p) for p in self.task.y[self.task.train]]
        number: dict[Any, int] = {}
        for path in paths:
            number[path] = number.get(path, 0) + 1
        best = max(number, key=lambda path: number[path])
        y_pred = np.full(self.y.shape, "", dtype=object)
        y_pred[:, : len(best)] = best
        share = [number[trim(p)] / len(paths) for p in self.y[self.known]]
        loss = round(float(-np.log(share).mean()), 4)
        self.note("most frequent path", count(self.y, y_pred), loss, 0.0, 0.0)

    def fit(self, kind: Any, **options: Any) -> tuple[Any, float]:
        start = time.process_time()
        model = kind(self.task.child, random_state=0, **options)
        model.fit(self.task.X[self.task.train], self.task.y[self.task.train])
        return model, time.process_time() - start


def gains(counts: np.ndarray, flat: np.ndarray, greedy: np.ndarray, groups: Any) -> dict[str, Any]:
    """The hF of a recipe, and what it gains over the flat and the greedy model."""
    return {
        "hF": measures(counts)["hF"],
        "minus flat": bootstrap(counts, flat, groups),
        "minus greedy": bootstrap(counts, greedy, groups),
    }


def study(task: Task, save: Callable[[dict[str, Any]], None], quick: bool) -> None:
    """Fit, decode and compare everything on one set."""
    strategies = {k: v for k, v in STRATEGIES.items() if not quick or k == "per parent"}
    found = Study(task)
    result: dict[str, Any] = {
        "set": task.name,
        "child": repr(task.child),
        "n_train": len(task.train),
        "n_test": len(task.test),
        "n_unseen": int((~found.known).sum()),
        "n_features": int(task.X.shape[1]),
        "environment": environment(),
        "clock": "cpu",
        "rows": found.rows,
    }
    found.most_frequent()
    model, seconds = found.fit(FlatClassifier)
    found.add(model, "flat, none", seconds, ["best_path"])
    ensemble = fit_ensemble(task, task.train)
    flat, local = ensemble.models_
    found.add(flat, "flat, temperature", flat.seconds, DECODINGS[1:])
    found.add(local, "per parent, temperature", local.seconds)
    found.add(ensemble, "flat x per parent, temperature", ensemble.seconds, DECODINGS[1:])
    result["temperature"] = {"flat": flat.temperature_, "per parent": local.temperature_}
    learned = {"flat": flat, "per parent": local, "flat x per parent": ensemble}
    result["expected_f1"] = {name: model.expected_f1_ for name, model in learned.items()}
    save(result)
    if task.name == "naics":
        result["cost"] = predict_cost(local, found.X)
    for name, kind in strategies.items():
        model, seconds = found.fit(kind)
        if not hasattr(model, "predict_proba"):
            found.add(model, f"{name}, none", seconds, ["top_down"])
        else:
            found.add(model, f"{name}, none", seconds, DECODINGS[:2])
            model, seconds = found.fit(kind, decoding="expected_f1")
            found.add(model, f"{name}, none", seconds, ["expected_f1"])
        if name != "per parent":
            model, seconds = found.fit(kind, calibration="temperature")
            result["temperature"][name] = model.temperature_
            found.add(model, f"{name}, temperature", seconds)
        save(result)
    groups = None if task.groups is None else task.groups[task.test]
    greedy = found.counts["per parent, none, top_down"]
    flat_counts = found.counts["flat, none, best_path"]
    result["best_path minus top_down"] = {
        name: bootstrap(
            found.counts[f"{name}, temperature, best_path"],
            found.counts[f"{name}, none, top_down"],
            groups,
        )
        for name in strategies
    }
    result["recipes"] = {}
    for name in candidates(ensemble):
        model_name, decoding = name.rsplit(", ", 1)
        counts = found.counts[f"{model_name}, temperature, {decoding}"]
        result["recipes"][name] = gains(counts, flat_counts, greedy, groups)
    save(result)
    for name, value in cross_validate(task).items():
        result["recipes"][name]["cv"] = value
    result["chosen"] = max(result["recipes"], key=lambda n: result["recipes"][n]["cv"])
    save(result)


def fit_joint(task: Task, rows: np.ndarray) -> tuple[Any, Any]:
    """Per parent node with the joint calibration, and the ensemble with learned weights."""
    X, y = task.X[rows], task.y[rows]
    local = TimedParent(task.child, calibration="joint", random_state=0).fit(X, y)
    members = [
        ("flat", FlatClassifier(task.child, calibration="temperature", random_state=0)),
        ("local", TimedParent(task.child, calibration="temperature", random_state=0)),
    ]
    ensemble = TimedEnsemble(members, weights="learned", decoding="expected_f1").fit(X, y)
    return local, ensemble


JOINT, LEARNED = "per parent, joint", "flat x per parent, learned weights"


def study_joint(task: Task, old: dict[str, Any], save: Callable[[dict[str, Any]], None]) -> None:
    """Add the joint calibration and learned weights to the stored result of a set."""
    found = Study(task)
    # For the differences; both are stored already.
    for kind, name, decoding in (
        (FlatClassifier, "flat", "best_path"),
        (LocalClassifierPerParentNode, "per parent", "top_down"),
    ):
        model, seconds = found.fit(kind)
        found.add(model, f"{name}, none", seconds, [decoding])
    flat, greedy = found.counts.values()
    found.rows.clear()
    local, ensemble = fit_joint(task, task.train)
    found.add(local, JOINT, local.seconds)
    found.add(ensemble, LEARNED, ensemble.seconds, DECODINGS[1:])
    total: dict[str, Any] = {}
    for train, test in folds_of(task):
        rows = task.train[test]
        for name, model in zip((JOINT, LEARNED), fit_joint(task, task.train[train]), strict=True):
            for decoding in DECODINGS[1:]:
                counts = predict_counts(model, decoding, task.X[rows], task.y[rows])
                key = f"{name}, {decoding}"
                total[key] = total.get(key, 0) + counts.sum(0)
    groups = None if task.groups is None else task.groups[task.test]
    recipes = {
        name: gains(found.counts[name], flat, greedy, groups) | {"cv": round(float(f1(counts)), 4)}
        for name, counts in total.items()
    }
    new = {row["name"] for row in found.rows}
    kept = [row for row in old["rows"] if row["name"] not in new]
    more = {
        "environment": environment(),
        "temperature": local.temperature_,
        "weights": list(map(float, ensemble.weights_)),
        "recipes": recipes,
    }
    save({"rows": [*kept, *found.rows], "joint": more})


def predict_cost(model: Any, X: Any) -> dict[str, Any]:
    """Processor time of predict by decoding, best of five runs in turns."""
    runs = {d: (lambda d=d: model.set_params(decoding=d).predict(X)) for d in DECODINGS}
    seconds = {name: min(times) for name, times in interleaved(runs, 5)["cpu"].items()}
    return {"seconds": seconds, "ratio": round(seconds["best_path"] / seconds["top_down"], 2)}


# -- the published package, as a black box -----------------------------------------------------

PUBLISHED = """
import sys, time
import numpy as np, scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC
import hiclass
folder, strategy, child = sys.argv[1:]
read = lambda n: sp.load_npz(n + ".npz") if sys.argv[1].endswith("sparse") else np.load(n + ".npy")
X, X_test, y = read(folder + "/X"), read(folder + "/X_test"), np.load(folder + "/y.npy")
model = getattr(hiclass, strategy)(local_classifier=eval(child))
start = time.process_time()
model.fit(X, y)
middle = time.process_time()
y_pred = np.asarray(model.predict(X_test)).astype(str)
end = time.process_time()
np.save(folder + "/y_pred.npy", y_pred)
print(middle - start, end - middle)
"""


def published(task: Task, python: str, limit: float) -> dict[str, Any]:
    """Rows of the published package with the same child and the same features."""
    rows = {}
    with tempfile.TemporaryDirectory(suffix="sparse" if sp.issparse(task.X) else "dense") as temp:
        for name, rows_of in (("X", task.train), ("X_test", task.test)):
            if sp.issparse(task.X):
                sp.save_npz(f"{temp}/{name}.npz", task.X[rows_of])
            else:
                np.save(f"{temp}/{name}.npy", task.X[rows_of])
        np.save(f"{temp}/y.npy", task.y[task.train].astype(str))
        for name, kind in STRATEGIES.items():
            command = [python, "-W", "ignore", "-c", PUBLISHED, temp]
            command += [kind.__name__, repr(task.child)]
            out = run_child(command, time_limit=limit, env=clean_env())
            if out["stopped"] or "error" in out:
                rows[name] = {"failed": out["stopped"] or out["error"]}
            else:
                fit_s, predict_s = (round(float(v), 2) for v in out["lines"][-1].split())
                y_pred = np.load(f"{temp}/y_pred.npy").astype(object)
                counts = count(task.y[task.test], y_pred)
                rows[name] = measures(counts) | {"fit_s": fit_s, "predict_s": predict_s}
            print(f"{task.name}: published, {name}: {rows[name]}", flush=True)
    return rows


# -- coverage ----------------------------------------------------------------------------------


def covered(y_true: np.ndarray, sets: list[list[Any]]) -> np.ndarray:
    """Whether the true class lies at or below one of the classes named; nothing named is all."""
    hit = []
    for path, named in zip(map(trim, y_true), sets, strict=True):
        hit.append(not named or any(path[: len(name)] == name for name in named))
    return np.array(hit)


def coverage(model: Any, calibration: Any, test: Any, alpha: float, kind: str) -> list[float]:
    """Coverage, mean depth of the answer and mean number of classes named."""
    conformal = ConformalClassifier(FrozenEstimator(model), alpha, kind=kind).fit(*calibration)
    X, y = test
    sets = conformal.predict_set(X)
    depth = (conformal.predict(X) != "").sum(axis=1)
    return [covered(y, sets).mean(), depth.mean(), np.mean([len(s) for s in sets])]


def summary(name: str, found: dict[Any, list[list[float]]]) -> list[dict[str, Any]]:
    """Means over repetitions, with the standard error of the coverage."""
    rows = []
    for (alpha, kind), values in found.items():
        cover, depth, size = np.array(values).T
        error = cover.std(ddof=1) / np.sqrt(len(cover)) if len(cover) > 1 else None
        row = {"data": name, "alpha": alpha, "kind": kind, "repetitions": len(cover)}
        row |= {"coverage": round(float(cover.mean()), 4)}
        row |= {"error": None if error is None else round(float(error), 4)}
        row |= {"depth": round(float(depth.mean()), 2), "size": round(float(size.mean()), 2)}
        rows.append(row)
        print(row, flush=True)
    return rows


KINDS = [(alpha, kind) for alpha in (0.1, 0.05) for kind in ("path", "set")]


def simulate(n_repetitions: int = 100) -> list[dict[str, Any]]:
    """New rows every time: 3 x 3 x 2 classes, normal around centres that branch; some end early."""
    found: dict[Any, list[list[float]]] = {key: [] for key in KINDS}
    for seed in range(n_repetitions):
        rng = np.random.default_rng(seed)
        steps = [rng.normal(size=(3, 4)), rng.normal(size=(9, 4)), rng.normal(size=(18, 4))]
        leaf = rng.integers(18, size=1000)
        X = steps[0][leaf // 6] + 0.7 * steps[1][leaf // 2] + 0.5 * steps[2][leaf]
        X += rng.normal(scale=0.6, size=X.shape)
        y = np.column_stack([leaf // 6, leaf // 2, leaf]).astype(str).astype(object)
        y[rng.random(1000) < 0.1, 2] = ""
        model = LocalClassifierPerParentNode(GaussianNB(), decoding="best_path")
        model.fit(X[:400], y[:400])
        held_out, test = (X[400:600], y[400:600]), (X[600:], y[600:])
        for key in KINDS:
            found[key].append(coverage(model, held_out, test, *key))
    return summary("simulation", found)


def resplit(task: Task, train: np.ndarray, held_out: np.ndarray, test: np.ndarray) -> list[Any]:
    """Coverage of one model with random halves of the rows it has not seen, and as they are."""
    model = LocalClassifierPerParentNode(
        task.child, decoding="best_path", calibration="temperature", random_state=0
    ).fit(task.X[train], task.y[train])
    found: dict[Any, list[list[float]]] = {key: [] for key in KINDS}
    pool = np.concatenate([held_out, test])
    part = lambda rows: (task.X[rows], task.y[rows])  # noqa: E731
    for seed in range(50):
        rows = np.random.default_rng(seed).permutation(pool)
        for key in KINDS:
            found[key].append(coverage(model, part(rows[:500]), part(rows[500:1000]), *key))
    out = summary(f"{task.name}, random re-splits", found)
    given = {key: [coverage(model, part(held_out), part(test), *key)] for key in KINDS}
    kind = "official" if task.groups is None else "grouped"
    return out + summary(f"{task.name}, {kind} split", given)


def coverage_of(task: Task) -> list[dict[str, Any]]:
    """Divide the training rows into those to fit on and those to calibrate on."""
    if task.groups is not None:
        names = np.unique(task.groups[task.train])
        held_out = np.isin(task.groups, np.random.default_rng(0).permutation(names)[::3])
    elif "val" in task.official:
        held_out = task.official == "val"
    else:
        held_out = np.random.default_rng(0).random(len(task.y)) < 0.3
    if hasattr(task.child, "n_estimators"):
        # The guarantee holds for any model, so let it be a fast one.
        task = replace(task, child=clone(task.child).set_params(n_estimators=10))
    mask = held_out[task.train]
    return resplit(task, task.train[~mask], task.train[mask], task.test)


# -- groups ------------------------------------------------------------------------------------


def grouped_models(child: Any) -> dict[str, Any]:
    """Models that learn a temperature, an F-score or weights out of fold."""
    flat = FlatClassifier(child, calibration="temperature", random_state=0)
    local = LocalClassifierPerParentNode(child, calibration="temperature", random_state=0)
    both = EnsembleClassifier([("flat", flat), ("local", local)], weights="learned")
    return {"flat": flat, "per parent": local, "flat x per parent, learned weights": both}


def study_groups(task: Task, n_seeds: int = 10) -> dict[str, Any]:
    """What the folds are made of: rows, or whole groups, for the same models."""
    found, out = Study(task), []
    X, y, groups = task.X[task.train], task.y[task.train], task.groups[task.train]
    for name, model in grouped_models(task.child).items():
        for folds, given in (("rows", None), ("groups", groups)):
            fitted = clone(model).set_params(decoding="expected_f1").fit(X, y, groups=given)
            counts = predict_counts(fitted, "expected_f1", found.X, found.y)
            other = found.counts.setdefault(name, counts)
            fitted.set_params(decoding="best_path")
            y_pred, confidence = fitted.predict(found.X), fitted.predict_confidence(found.X)
            error = calibration_error(found.y, y_pred, confidence, average="macro")
            row = {"name": name, "folds": folds, "expected": round(fitted.expected_f1_, 4)}
            row |= {
                "hF": measures(counts)["hF"],
                "best_path": measures(count(found.y, y_pred))["hF"],
            }
            row |= {"log_loss": log_loss(fitted, found.X, found.y, found.known)}
            row |= {"calibration_error": round(float(error), 4)}
            if given is not None:
                row["gain"] = bootstrap(counts, other, task.groups[task.test])
            if name == "per parent":
                fitted = clone(model).set_params(decoding="best_path")
                sets = [
                    ConformalClassifier(fitted, 0.1, random_state=seed)
                    .fit(X, y, groups=given)
                    .predict_set(found.X)
                    for seed in range(n_seeds)
                ]
                hits = np.mean([covered(found.y, named).mean() for named in sets])
                row["coverage"] = round(float(hits), 4)
            out.append(row)
            print(f"{task.name}: {row}", flush=True)
    return {"groups": {"environment": environment(), "seeds": n_seeds, "rows": out}}


# -- the command -------------------------------------------------------------------------------


def update(name: str, found: dict[str, Any]) -> None:
    """Add to what is known about a set."""
    file = result_file(name)
    old = json.loads(file.read_text()) if file.exists() else {}
    write_json(old | found, str(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the sets")
    parser.add_argument("--sets", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--quick", action="store_true", help="not per node and per level")
    parser.add_argument("--published", metavar="PYTHON", help="measure hiclass 5.0.8 only")
    parser.add_argument("--limit", type=float, default=240, help="its seconds per model")
    parser.add_argument("--conformal", action="store_true", help="measure coverage only")
    parser.add_argument("--joint", action="store_true", help="joint and learned weights only")
    parser.add_argument("--groups", action="store_true", help="folds of whole groups only")
    parser.add_argument("--make-splits", action="store_true", help="draw the splits anew")
    parser.add_argument("--markdown", metavar="PAGE", help="write the tables into a page")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.markdown:
        write_page(args.markdown)
        return
    if args.data is None:
        sys.exit("Give the folder with the sets: --data")
    if args.make_splits:
        make_splits(args.data)
        return
    if args.conformal and args.sets == list(SOURCES):
        update("conformal", {"simulation": simulate()})
    for name in args.sets:
        task = load(name, args.data)
        if task is None:
            continue
        if args.conformal:
            if task.groups is not None or task.official is not None:
                update("conformal", {name: coverage_of(task)})
        elif args.groups:
            if task.groups is not None:
                update(name, study_groups(task))
        elif args.joint:
            old = json.loads(result_file(name).read_text())
            study_joint(task, old, lambda result, name=name: update(name, result))
        elif args.published:
            update(name, {"published": published(task, args.published, args.limit)})
        else:
            study(task, lambda result, name=name: update(name, result), args.quick)


if __name__ == "__main__":
    main()
