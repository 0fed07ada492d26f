"""How well probabilities of classes are calibrated, where predictions are sets: before and after.

    cd benchmarks
    python set_calibration.py --data DATA --output results/set_calibration.json
    python set_calibration.py --markdown ../docs/appendix/gene_functions.md  # its table

Models are fitted on the training rows of the official split (what is learned out of fold is learned
there, too) and measured on the test rows. "error" is the expected calibration error: pairs of row
and class are sorted by probability into 15 bins with equal numbers of pairs, and the mean of the
probabilities in a bin is compared with the share of pairs that are true. "per class" is the mean
over classes of the difference between the mean probability and the share of the rows; the Brier
score is the mean squared error of all pairs, the log loss the mean over rows of the sum over
classes. Pairs with classes that have no training row are left out: their probability is 0.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import gene_function
import numpy as np
from _common import environment, table, write_json, write_section
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from hiclass import FlatClassifier, GlobalClassifier, LocalClassifierPerParentNode

RESULT = Path(__file__).parent / "results" / "set_calibration.json"
SETS = ("cellcycle_FUN", "Enron")
METHODS = (None, "sigmoid", "isotonic")


def models() -> dict[str, Any]:
    """What is measured, by name, without a calibration."""
    return {
        "flat, logistic": FlatClassifier(LogisticRegression(max_iter=1000)),
        "per parent, logistic": LocalClassifierPerParentNode(LogisticRegression(max_iter=1000)),
        "global, forest": GlobalClassifier(n_jobs=2),
        "flat, LinearSVC": FlatClassifier(LinearSVC(C=0.01)),
    }


def measure(proba: Any, truth: Any) -> dict[str, float]:
    """Calibration errors of pairs of row and class."""
    p, t = proba.ravel(), truth.ravel().astype(float)
    order = np.argsort(p, kind="stable")
    parts = np.array_split(order, 15)
    error = sum(len(part) * abs(p[part].mean() - t[part].mean()) for part in parts) / len(p)
    # Without predictions of exactly 0 or 1, which have an infinite loss if wrong.
    q = np.clip(proba, 1e-6, 1 - 1e-6)
    return {
        "error": float(error),
        "per_class": float(np.abs(proba.mean(axis=0) - truth.mean(axis=0)).mean()),
        "brier": float(np.mean((p - t) ** 2)),
        "log_loss": float(-np.where(truth, np.log(q), np.log1p(-q)).sum(axis=1).mean()),
    }


def run_set(name: str, folder: Path) -> list[dict[str, Any]]:
    """All models and calibrations on one set."""
    data = gene_function.load(name, folder)
    if data is None:
        print(f"{name} is not in {folder}: skipped")
        return []
    X, labels, hierarchy, train, exclude = data
    X, y = gene_function.scaled(X, train), hierarchy.indicator(labels)
    known = np.flatnonzero(np.asarray(y[train].sum(axis=0)).ravel() > 0)[1:]
    truth = y[~train].toarray()[:, known]
    rows = []
    for what, model in models().items():
        for method in METHODS:
            if method is None and "SVC" in what:
                continue  # it has no probabilities
            options = {"hierarchy": hierarchy, "multi_label": True, "random_state": 0}
            model.set_params(calibration=method, **options)
            start = time.process_time()
            model.fit(X[train], y[train])
            seconds = round(time.process_time() - start, 1)
            proba = model.predict_node_proba(X[~train])
            aupr = gene_function.area(y[~train], proba, hierarchy, exclude)
            row = {"set": name, "model": what, "calibration": method, "fit_cpu_s": seconds}
            rows.append(row | {"aupr": aupr} | measure(proba[:, known], truth))
            print(rows[-1], flush=True)
    return rows


def page(result: dict[str, Any]) -> str:
    """The table of the results."""
    header = ("set", "model", "calibration", "error", "per class", "Brier", "log loss", "AU(PRC)")
    rows = [
        (
            row["set"],
            row["model"],
            row["calibration"] or "none",
            f"{row['error']:.4f}",
            f"{row['per_class']:.4f}",
            f"{row['brier']:.4f}",
            f"{row['log_loss']:.2f}",
            f"{row['aupr']:.3f}",
        )
        for row in result["rows"]
    ]
    return table(header, rows)


def main() -> None:
    """Measure, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--output")
    parser.add_argument("--markdown", help="a page to write the table of the results into")
    options = parser.parse_args()
    if options.data is not None:
        rows = [row for name in options.sets for row in run_set(name, options.data)]
        write_json({"environment": environment(), "rows": rows}, options.output)
    if options.markdown:
        result = json.loads(RESULT.read_text(encoding="utf-8"))
        write_section(options.markdown, "calibration of sets", page(result))


if __name__ == "__main__":
    main()
