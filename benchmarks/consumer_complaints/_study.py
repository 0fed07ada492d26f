"""Shared by the steps of the study: models, grids, and files between the steps."""

import json
import os
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier

import hiclass

HERE = Path(__file__).parent
# What all benchmarks share lies one folder up; every step imports it through this module.
sys.path.insert(0, str(HERE.parent))

# Tables 2 to 4 of the paper. The first value of each list is the default of the library.
GRIDS: dict[str, dict[str, list[Any]]] = {
    "lightgbm": {
        "num_leaves": [31, 62],
        "n_estimators": [100, 200],
        "min_child_samples": [20, 40],
    },
    "logistic_regression": {
        "solver": ["lbfgs", "newton-cg", "liblinear", "sag", "saga"],
        "max_iter": [10_000],
    },
    "random_forest": {
        "n_estimators": [100, 200],
        "criterion": ["gini", "entropy", "log_loss"],
    },
}
LOCAL = {
    "per_node": hiclass.LocalClassifierPerNode,
    "per_parent_node": hiclass.LocalClassifierPerParentNode,
    "per_level": hiclass.LocalClassifierPerLevel,
}
# Whose hyper-parameters a model takes: the ensemble those that its members have on their own.
MEMBERS = {"ensemble": ("flat", "per_parent_node")}


def strategies() -> list[str]:
    """The models of the study; the global one where this version of hiclass has it."""
    names = ["flat", *LOCAL, "ensemble"]
    return [*names, "global"] if hasattr(hiclass, "GlobalClassifier") else names


def tuned_strategies(strategy: str) -> tuple[str, ...]:
    """The strategies whose tuned hyper-parameters a model is made of."""
    return MEMBERS.get(strategy, (strategy,))


def grid_points(base: str, seed: int) -> list[dict[str, Any]]:
    """All combinations of the grid of a classifier: the defaults first, the others shuffled."""
    grid = GRIDS[base]
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    order = np.random.default_rng(seed).permutation(len(points) - 1) + 1
    return [points[0], *(points[i] for i in order)]


def make_base(base: str, params: dict[str, Any], seed: int, threads: int = 1) -> Any:
    """A classifier with the hyper-parameters of a point of its grid."""
    if base == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(**params, random_state=seed, n_jobs=threads, verbose=-1)
    if base == "random_forest":
        return RandomForestClassifier(**params, random_state=seed, n_jobs=threads)
    if base != "logistic_regression":
        raise ValueError(f"base={base!r} is unknown. Use one of {', '.join(GRIDS)}.")
    logistic = LogisticRegression(**params, random_state=seed)
    # scikit-learn 1.8 and later take liblinear for two classes only.
    return OneVsRestClassifier(logistic) if params.get("solver") == "liblinear" else logistic


def make_model(
    strategy: str, base: str, params: Sequence[dict[str, Any]], seed: int, threads: int = 1
) -> Any:
    """A model of the study.

    All get the same number of threads, each where it can use them: the flat and the global model
    inside their one classifier, the local ones for several classifiers at a time.
    """
    if strategy == "flat":
        child = make_base(base, params[0], seed, threads)
        return hiclass.FlatClassifier(child, random_state=seed)
    if strategy in LOCAL:
        child = make_base(base, params[0], seed)
        return LOCAL[strategy](child, random_state=seed, n_jobs=threads)
    if strategy == "ensemble":
        members = [
            (
                name,
                make_model(name, base, [own], seed, threads).set_params(calibration="temperature"),
            )
            for name, own in zip(MEMBERS["ensemble"], params, strict=True)
        ]
        return hiclass.EnsembleClassifier(members, decoding="expected_f1")
    if strategy == "global":
        child = make_base(base, params[0], seed, threads)
        # Only forests take a table of targets as it is. Classifiers know no weights of levels.
        child = child if base == "random_forest" else MultiOutputClassifier(child)
        return hiclass.GlobalClassifier(child, level_weight=1)
    raise ValueError(f"strategy={strategy!r} is unknown. Use one of {', '.join(strategies())}.")


# -- files -------------------------------------------------------------------------------------


def save_features(folder: Path, side: str, X: Any, y: np.ndarray) -> None:
    sp.save_npz(folder / f"X_{side}.npz", X, compressed=False)
    write_json(y.tolist(), folder / f"y_{side}.json")


def load_features(folder: Path, side: str) -> tuple[Any, np.ndarray]:
    y = np.array(read_json(folder / f"y_{side}.json"), dtype=object)
    return sp.load_npz(folder / f"X_{side}.npz"), y


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(value: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# -- processes ---------------------------------------------------------------------------------

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_measured(script: str, argv: Sequence[str] | None, threads: int) -> dict[str, Any]:
    """Run a step with ``--once`` in a process of its own; what it prints, and its peak memory."""
    from _common import run_child

    env = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    options = sys.argv[1:] if argv is None else argv
    command = [sys.executable, "-W", "ignore", script, *options, "--once"]
    child = run_child(command, time_limit=float("inf"), memory_limit=float("inf"), env=env)
    if "error" in child:
        raise RuntimeError(f"{Path(script).name} failed: {child['error']}")
    return json.loads(child["lines"][-1]) | {"peak_bytes": child["peak_bytes"]}


def clocks() -> dict[str, float]:
    """Wall-clock seconds, and processor seconds of this process and all below it."""
    import time

    import psutil

    me = psutil.Process()
    own = me.cpu_times()
    used = own.user + own.system + own.children_user + own.children_system
    for child in me.children(recursive=True):
        times = child.cpu_times()
        used += times.user + times.system
    # The kernel counts in hundredths of a second; alone, this process can be read exactly.
    if not me.children():
        used = time.process_time() + own.children_user + own.children_system
    return {"cpu": used, "wall": time.perf_counter()}


def resident_bytes() -> int:
    import psutil

    return psutil.Process().memory_info().rss
