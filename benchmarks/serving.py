"""What a single row costs: a linear model per parent node with 1,000 leaves.

    python benchmarks/serving.py --output benchmarks/results/serving.json --page docs/persistence.md

A service answers one row at a time, and then what is done once per call counts. The yardstick is
the sum of the children's own ``predict_proba`` calls: for ``predict`` and ``predict_confidence`` of
those on the path of the row, for ``predict_proba``, which needs all of them, of all. All functions
take turns on the same rows, in one thread; medians are given. ONNX Runtime answers the same rows.
"""

import argparse
import cProfile
import gc
import pstats
import statistics
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np
from _common import environment, table, write_json, write_section
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from hiclass import LocalClassifierPerParentNode, to_onnx

BRANCHES = 10
LIMIT = 2.0
#: Parts of a call in the profile, by the names of the functions.
PARTS = {
    "children's predict_proba": "predict_proba",
    "check of X": "check_X",
    "check of parameters": "_check_decision_parameters",
    "nodes to labels": "decode",
}


def fit(n_features: int, rows_per_leaf: int) -> tuple[LocalClassifierPerParentNode, np.ndarray]:
    """A model with three levels of ten classes each, on clouds around random centres."""
    rng = np.random.default_rng(0)
    leaf = np.repeat(np.arange(BRANCHES**3), rows_per_leaf)
    X = rng.normal(size=(BRANCHES**3, n_features))[leaf]
    X += rng.normal(scale=0.5, size=X.shape)
    y = [[f"{i // 100}", f"{i // 10}", f"{i}"] for i in leaf.tolist()]
    return LocalClassifierPerParentNode(LogisticRegression(max_iter=20, tol=0.1)).fit(X, y), X


def functions(model: Any) -> dict[str, Callable[[Any], Any]]:
    """What is timed, as functions of a row."""
    hierarchy, children = model.hierarchy_, model.local_classifiers_
    everyone = list(children.values())
    session = _session(model)
    paths: dict[int, list[Any]] = {}

    def on_path(row: Any) -> None:
        for child in paths[id(row)]:
            child.predict_proba(row)

    def all_children(row: Any) -> None:
        for child in everyone:
            child.predict_proba(row)

    def remember(row: Any) -> None:
        path = tuple(model.predict(row)[0])
        hierarchy.find(path)
        paths[id(row)] = [children[path[:level]] for level in range(len(path))]

    return {
        "remember": remember,
        "children on the path": on_path,
        "predict": model.predict,
        "predict_confidence": model.predict_confidence,
        "all children": all_children,
        "predict_proba": model.predict_proba,
        "ONNX Runtime, all outputs": lambda row: session.run(None, {"X": row}),
        "ONNX Runtime, labels": lambda row: session.run(["labels"], {"X": row}),
    }


def _session(model: Any) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    content = to_onnx(model).SerializeToString()
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def measure(model: Any, rows: list[Any], turns: int) -> dict[str, float]:
    """Median microseconds per row of every function."""
    timed = functions(model)
    remember = timed.pop("remember")
    for row in rows:
        remember(row)
    seconds: dict[str, list[float]] = {name: [] for name in timed}
    gc.collect()
    gc.disable()
    for turn in range(-1, turns):  # the first turn warms up
        # Forwards and backwards: who comes first after another pays for cold caches.
        order = list(timed.items())[:: 1 if turn % 2 else -1]
        for row in rows:
            for name, function in order:
                # What asks all 111 children takes long, and few turns tell enough.
                if turn >= 4 and name in ("all children", "predict_proba"):
                    continue
                start = time.perf_counter()
                function(row)
                if turn >= 0:
                    seconds[name].append(time.perf_counter() - start)
    gc.enable()
    return {name: round(1e6 * statistics.median(s), 1) for name, s in seconds.items()}


def profile(model: Any, rows: list[Any], turns: int) -> dict[str, float]:
    """Shares of the time of ``predict``, with the profiler's own cost in them."""
    profiler = cProfile.Profile()
    with profiler:
        for _ in range(turns):
            for row in rows:
                model.predict(row)
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    spent = dict.fromkeys(("predict", *PARTS.values()), 0.0)
    for (file, _, name), (_, _, _, cumulative, _) in stats.items():
        if name in spent and (name == "predict_proba" or "hiclass" in file):
            spent[name] = max(spent[name], cumulative)
    total = spent["predict"]
    shares = {part: round(spent[name] / total, 3) for part, name in PARTS.items()}
    return shares | {"everything else": round(1 - sum(shares.values()), 3)}


def page(result: dict[str, Any]) -> str:
    """The table of the page."""
    median = result["microseconds"]
    rows = []
    for name, yardstick in (
        ("children on the path", ""),
        ("predict", "children on the path"),
        ("predict_confidence", "children on the path"),
        ("all children", ""),
        ("predict_proba", "all children"),
        ("ONNX Runtime, all outputs", "children on the path"),
        ("ONNX Runtime, labels", "children on the path"),
    ):
        ratio = f"{median[name] / median[yardstick]:.2f} x {yardstick}" if yardstick else ""
        method = f"`{name}`" if name.startswith("predict") else name
        cells = (method, f"{median[name]:,.0f}", ratio)
        rows.append(tuple(cell.replace("children", "local classifiers") for cell in cells))
    return table(("one row", "microseconds", "ratio"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--rows-per-leaf", type=int, default=4)
    parser.add_argument("--rows", type=int, default=20, help="different rows that are timed")
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--output", help="write the result as JSON")
    parser.add_argument("--page", help="put the table into this page")
    options = parser.parse_args()
    with threadpool_limits(limits=1):
        result = environment()
        for name in ("onnx", "onnxruntime", "skl2onnx"):
            result["versions"][name] = metadata.version(name)
        result["command"] = "python benchmarks/serving.py"
        model, X = fit(options.features, options.rows_per_leaf)
        step = max(len(X) // options.rows, 1)
        rows = [X[i : i + 1].copy() for i in range(0, step * options.rows, step)]
        result["leaves"] = int(model.hierarchy_.is_leaf.sum())
        result["children"] = len(model.local_classifiers_)
        result |= {"features": options.features, "rows": len(rows), "turns": options.turns}
        result["onnx_bytes"] = len(to_onnx(model).SerializeToString())
        result["microseconds"] = measure(model, rows, options.turns)
        result["profile_of_predict"] = profile(model, rows, max(options.turns // 4, 1))
    median = result["microseconds"]
    result["ratio"] = {
        name: round(median[name] / median[yardstick], 2)
        for name, yardstick in (
            ("predict", "children on the path"),
            ("predict_confidence", "children on the path"),
            ("predict_proba", "all children"),
        )
    }
    result["limit"] = LIMIT
    text = page(result)
    print(text)
    print("share of the time of predict:", result["profile_of_predict"])
    write_json(result, options.output)
    if options.page:
        write_section(options.page, "latency", text)


if __name__ == "__main__":
    main()
