"""How many features a split of the default forest looks at: what it chooses, and what is better.

    cd benchmarks
    python default_forest.py --data DATA --output results/default_forest.json
    python default_forest.py --markdown ../docs/appendix/global_forest.md  # tables from the results

``GlobalClassifier()`` looks at all features in every split, or at the square root of their number,
by how often two rows have the same value. The first table has the test rows of five sets, with the
protocol of gene_function.py: the default, and the same forest with the other choice. The second is
what the limit was found by: training rows only, every third held out, 40 trees, also with features
whose values were changed. The area under the precision-recall curve, and for clinc150, which has
one path per row, the hierarchical F-score.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gene_function
import numpy as np
from _common import environment, table, write_json, write_section
from scipy.stats import norm, rankdata
from sklearn.ensemble import ExtraTreesRegressor

from hiclass import GlobalClassifier
from hiclass._estimators.forest import features_per_split, same_value

RESULT = Path(__file__).parent / "results" / "default_forest.json"
SETS = ("cellcycle_FUN", "derisi_FUN", "Diatoms", "Enron", "pheno_FUN")
CHOICES = (1.0, "sqrt")


# -- test rows ---------------------------------------------------------------------------------


def run_set(name: str, folder: Path) -> dict[str, Any] | None:
    """The default forest, and the same with the other choice, on the test rows of a set."""
    data = gene_function.load(name, folder)
    if data is None:
        return None
    X, labels, hierarchy, train, exclude = data
    X, y = gene_function.scaled(X, train), hierarchy.indicator(labels)
    chosen = features_per_split(X[train])
    row: dict[str, Any] = {
        "set": name,
        "n_features": X.shape[1],
        "same_value": same_value(X[train]),
        "chosen": chosen,
        "prior": gene_function.run_model("prior", data, {})["aupr"],
    }
    for features in CHOICES:
        other = ExtraTreesRegressor(100, max_features=features, min_samples_leaf=5, n_jobs=2)
        model = GlobalClassifier(
            None if features == chosen else other,
            hierarchy=hierarchy,
            multi_label=True,
            random_state=0,
            n_jobs=2,
        )
        start = time.perf_counter()
        model.fit(X[train], y[train])
        seconds = round(time.perf_counter() - start, 2)
        assert model.estimator_.max_features == features
        proba = model.predict_node_proba(X[~train])
        aupr = gene_function.area(y[~train], proba, hierarchy, exclude)
        row[str(features)] = {"aupr": aupr, "fit_s": seconds}
    return row


# -- training rows -----------------------------------------------------------------------------


def in_values(X: Any, k: int) -> Any:
    """Every feature in k values that are about equally frequent."""
    places = np.linspace(0, 1, k + 1)[1:-1]
    columns = (np.searchsorted(np.unique(np.quantile(c, places)), c, side="right") for c in X.T)
    return np.column_stack(list(columns)).astype(float)


def variants(name: str, X: Any) -> Iterator[tuple[str, Any]]:
    """The features of a set, and others made of them."""
    yield "as they are", X
    if name not in ("cellcycle_FUN", "derisi_FUN"):
        return
    for k in (2, 3, 4, 8, 16):
        yield f"in {k} values", in_values(X, k)
    if name == "cellcycle_FUN":
        order = np.random.default_rng(1).permutation(X.shape[1])
        for share in (0.25, 0.5, 0.75):
            some = order[: round(share * len(order))]
            mixed = X.copy()
            mixed[:, some] = in_values(X[:, some], 2)
            yield f"{share:.0%} of them in 2 values", mixed
        ranks = (rankdata(X, axis=0) - 0.5) / len(X)
        yield "as log-normal numbers", np.exp(2 * norm.ppf(ranks))


def tune_set(name: str, folder: Path) -> Iterator[dict[str, Any]]:
    """Both choices on held-out training rows, for all variants of the features of a set."""
    data = gene_function.load(name, folder)
    if data is None:
        return
    X, labels, hierarchy, train, exclude = data
    X = gene_function.scaled(X, train)[train]
    y = hierarchy.indicator([labels[i] for i in np.flatnonzero(train)])
    held_out = np.random.default_rng(0).permutation(len(X)) % 3 == 0
    for what, X_changed in variants(name, X):
        row = {"set": name, "features": what, "same_value": same_value(X_changed)}
        for features in CHOICES:
            forest = ExtraTreesRegressor(40, max_features=features, min_samples_leaf=5, n_jobs=2)
            options = {"hierarchy": hierarchy, "multi_label": True, "random_state": 0}
            model = GlobalClassifier(forest, **options).fit(X_changed[~held_out], y[~held_out])
            proba = model.predict_node_proba(X_changed[held_out])
            row[str(features)] = gene_function.area(y[held_out], proba, hierarchy, exclude)
        yield row


def tune_words(folder: Path, n_rows: int = 2400) -> Iterator[dict[str, Any]]:
    """The same for weights of words, with one path per row."""
    from _decisions_data import load

    task = load("clinc150", folder)
    if task is None:
        return
    rows = np.random.default_rng(0).choice(np.flatnonzero(task.train), n_rows, replace=False)
    X, y = task.X[rows], task.y[rows]
    held_out = np.arange(n_rows) % 3 == 0
    row = {"set": "clinc150", "features": "weights of words", "same_value": same_value(X)}
    for features in CHOICES:
        forest = ExtraTreesRegressor(40, max_features=features, n_jobs=2)
        model = GlobalClassifier(forest, random_state=0).fit(X[~held_out], y[~held_out])
        row[str(features)] = model.score(X[held_out], y[held_out])
    yield row


# -- the page ----------------------------------------------------------------------------------


def test_table(result: dict[str, Any]) -> str:
    """The test rows as a Markdown table; what ``GlobalClassifier()`` chooses is bold."""
    known = gene_function.PUBLISHED
    published = sorted({name for row in result["test"] for name in known[row["set"]]})
    header = ("set", "features", "same value", "prior", "all features", "sqrt", *published)
    rows = []
    for row in result["test"]:
        cells = [row["set"], str(row["n_features"]), f"{row['same_value']:.2f}"]
        cells.append(f"{row['prior']:.3f}")
        for features in CHOICES:
            found = row[str(features)]
            mark = "**" if features == row["chosen"] else ""
            cells.append(f"{mark}{found['aupr']:.3f}{mark}, {found['fit_s']:.0f} s")
        names = known[row["set"]]
        rows.append(cells + [f"{names[name]:.3f}" if name in names else "" for name in published])
    return table(header, rows)


def training_table(result: dict[str, Any]) -> str:
    """The held-out training rows as a Markdown table, those with the most equal values first."""
    rows = []
    for row in sorted(result["training"], key=lambda row: -row["same_value"]):
        cells = [row["set"], row["features"], f"{row['same_value']:.2f}"]
        scores = [row[str(features)] for features in CHOICES]
        cells += [f"{score:.3f}" for score in scores]
        rows.append([*cells, f"{scores[1] - scores[0]:+.3f}"])
    header = ("set", "features", "same value", "all features", "sqrt", "sqrt - all")
    return table(header, rows)


def write_page(file: str) -> None:
    """Put the tables of the stored results into a page."""
    result = json.loads(RESULT.read_text())
    write_section(file, "features per split", test_table(result))
    write_section(file, "features per split on training rows", training_table(result))


def run(folder: Path, output: str | None) -> dict[str, Any]:
    """Everything; results that are in the output already are kept."""
    path = Path(output) if output else None
    result = json.loads(path.read_text()) if path and path.exists() else {}
    result.setdefault("environment", environment())
    if "training" not in result:
        found = [row for name in SETS for row in tune_set(name, folder)]
        result["training"] = [*found, *tune_words(folder)]
        write_json(result, output)
    if "test" not in result:
        tested = (run_set(name, folder) for name in SETS)
        result["test"] = [row for row in tested if row is not None]
        write_json(result, output)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder with the data sets")
    parser.add_argument("--output", help="JSON file; what it holds already is kept")
    parser.add_argument("--markdown", metavar="PAGE", help="put stored results into a page")
    options = parser.parse_args()
    if options.markdown:
        write_page(options.markdown)
    elif options.data is None:
        parser.error("give the folder of the data sets: --data DATA")
    else:
        result = run(Path(options.data), options.output)
        print(test_table(result), training_table(result), sep="\n\n")


if __name__ == "__main__":
    main()
