"""Rows to label next, labels that are wrong, and rows that belong to no class, measured.

    python benchmarks/coding.py --data FOLDER [--sets clinc150 ...]

Three parts, each on the training rows of a set (official splits; clinc150's out-of-scope rows are
left out, but for the third part). "review": a model starts with a few labelled rows and has 150
more labelled at a time, in the order of ``choose_for_review`` or at random, until it reaches 95 %
of the hF that all rows give. "errors": a tenth of the labels is made wrong, by a sibling, a cousin
or any other class, and ``find_label_errors`` and the flat methods of cleanlab, if it is installed,
rank all rows from the same probabilities; average precision. "outside": the area under the ROC
curve of ``outside_score`` for out-of-scope test rows, and what such rows do to a guarantee. Writes
results/coding.json.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from _common import environment, table, write_section  # noqa: E402
from _decisions_data import load  # noqa: E402

from hiclass import (  # noqa: E402
    FastLinearSVC,
    HierarchicalKFold,
    Hierarchy,
    LocalClassifierPerParentNode,
    choose_for_review,
    guarantee_error,
    metrics,
    outside_score,
)
from hiclass._inspect import label_errors  # noqa: E402

RESULT = HERE / "results" / "coding.json"
ORDERS = ("random", "uncertainty", "margin", "diverse")
KINDS = ("sibling", "cousin", "random")
N_START, N_STEP, N_POOL, N_SEEDS = 150, 150, 4000, 2


def make_model(hierarchy: Any = None) -> Any:
    child = FastLinearSVC(random_state=0)
    return LocalClassifierPerParentNode(
        child, hierarchy=hierarchy, calibration="temperature", decoding="best_path", random_state=0
    )


# -- which rows to label -----------------------------------------------------------------------


def labels_needed(task: Any, order: str, seed: int, goal: float, pool: np.ndarray) -> int:
    """How many labels reach the goal, at most all."""
    rng = np.random.default_rng(seed)
    pool = rng.permutation(pool)
    labelled, rest = pool[:N_START], pool[N_START:]
    while True:
        model = make_model().fit(task.X[labelled], task.y[labelled])
        score = metrics.f1(task.y[task.test], model.predict(task.X[task.test]))
        if score >= goal or not len(rest):
            return len(labelled)
        if order == "random":
            chosen = np.arange(min(N_STEP, len(rest)))
        else:
            chosen = choose_for_review(model, task.X[rest], N_STEP, by=order)
        labelled = np.concatenate([labelled, rest[chosen]])
        rest = np.delete(rest, chosen)


def review(task: Any) -> dict[str, Any]:
    pool = np.random.default_rng(0).permutation(task.train)[:N_POOL]
    full = make_model().fit(task.X[pool], task.y[pool])
    best = float(metrics.f1(task.y[task.test], full.predict(task.X[task.test])))
    needed = {}
    for order in ORDERS:
        counts = [labels_needed(task, order, seed, 0.95 * best, pool) for seed in range(N_SEEDS)]
        needed[order] = counts
        print(task.name, order, counts, file=sys.stderr, flush=True)
    return {"pool": len(pool), "hF": best, "labels": needed}


# -- wrong labels ------------------------------------------------------------------------------


def inject(tree: Hierarchy, nodes: np.ndarray, kind: str) -> np.ndarray:
    """Make a tenth of the labels wrong, where there is such another class."""
    rng = np.random.default_rng(0)
    found, finals = nodes.copy(), np.unique(nodes)
    for i in rng.permutation(len(nodes))[: len(nodes) // 10]:
        path = [0, *tree.ancestors(nodes[i]).tolist()[1:], int(nodes[i])]
        depth = {"sibling": 2, "cousin": 3}.get(kind, len(path))
        top = path[-min(depth, len(path))]
        inside = (finals >= top) & (finals < tree.subtree_end[top]) & (finals != nodes[i])
        if kind == "cousin" and len(path) > 2:
            inside &= ~((finals >= path[-2]) & (finals < tree.subtree_end[path[-2]]))
        if inside.any():
            found[i] = rng.choice(finals[inside])
    return found


def errors(task: Any) -> dict[str, Any]:
    rows = np.random.default_rng(1).permutation(task.train)[:N_POOL]
    X, y = task.X[rows], task.y[rows]
    tree, nodes = Hierarchy.from_paths(y, return_nodes=True)
    result = {}
    for kind in KINDS:
        noisy = inject(tree, nodes, kind)
        given = np.full(y.shape, "", dtype=object)
        for i, node in enumerate(noisy.tolist()):
            path = tree.path(node)
            given[i, : len(path)] = path
        proba = np.zeros((len(y), tree.n_nodes))
        judged = label_errors._Judged.empty(noisy, tree)
        folds = HierarchicalKFold(5, shuffle=True, random_state=0)
        for train, test in folds.split(X, given):
            model = make_model(tree).fit(X[train], given[train])
            proba[test] = model.predict_node_proba(X[test])
            judged.judge(test, proba[test], label_errors._with_rows(tree, noisy[train]))
        found = label_errors._ranked(judged)
        wrong = noisy != nodes
        scores = {
            "find_label_errors": average_precision_score(wrong[found.rows], found.probability)
        }
        scores |= flat_scores(tree, noisy, proba, wrong)
        result[kind] = {"wrong": float(wrong.mean()), **scores}
        print(task.name, kind, result[kind], file=sys.stderr, flush=True)
    return result


def flat_scores(tree: Any, nodes: np.ndarray, proba: np.ndarray, wrong: np.ndarray) -> dict:
    """The methods of cleanlab on the probabilities of the final classes."""
    try:
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        return {}
    finals, labels = np.unique(nodes, return_inverse=True)
    flat = proba[:, finals] / np.maximum(proba[:, finals].sum(axis=1, keepdims=True), 1e-12)
    return {
        f"cleanlab, {method}": float(
            average_precision_score(wrong, -get_label_quality_scores(labels, flat, method=method))
        )
        for method in ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
    }


# -- rows that belong nowhere ------------------------------------------------------------------


def outside(task: Any) -> dict[str, Any]:
    """Out-of-scope rows of clinc150: those without an intent."""
    known = task.y[:, 1] != ""
    train, test = task.train[known[task.train]], task.test
    train = np.random.default_rng(0).permutation(train)
    fit, calibrate = train[:-4000], train[-4000:]
    model = make_model().fit(task.X[fit], task.y[fit])
    is_outside = ~known[test]
    found = guarantee_error(model, task.X[calibrate], task.y[calibrate], 0.05, levels=2)
    best = 1 - model.predict_paths(task.X[test], k=1)[1][:, 0]
    score = outside_score(model, task.X[test])
    found.apply(model)
    answered = model.predict(task.X[test])
    given = answered[:, 1] != ""
    wrong = (answered != task.y[test]).any(axis=1)
    return {
        "rows": int(is_outside.sum()),
        "auc": float(roc_auc_score(is_outside, score)),
        "auc_of_best_path": float(roc_auc_score(is_outside, best)),
        "answered_inside": float(given[~is_outside].mean()),
        "answered_outside": float(given[is_outside].mean()),
        "error_without": float(wrong[given & ~is_outside].mean()),
        "error_with": float(wrong[given].mean()),
        "share_outside": float(is_outside.mean()),
    }


# -- the page ----------------------------------------------------------------------------------


def review_table(result: dict[str, Any]) -> str:
    rows = []
    for name, of in result["review"].items():
        means = {order: float(np.mean(counts)) for order, counts in of["labels"].items()}
        cells = [f"{means[o]:,.0f} ({means[o] / means['random']:.0%})" for o in ORDERS]
        rows.append([name, f"{of['pool']:,}", f"{of['hF']:.3f}", *cells])
    return table(["set", "all rows", "hF of all", *ORDERS], rows)


def errors_table(result: dict[str, Any]) -> str:
    rows, header = [], None
    for name, kinds in result["errors"].items():
        for kind, of in kinds.items():
            scores = {key: value for key, value in of.items() if key != "wrong"}
            header = ["set", "mistakes", *scores]
            rows.append(
                [name, f"{kind}, {of['wrong']:.1%}", *(f"{v:.3f}" for v in scores.values())]
            )
    return table(header or ["set"], rows)


def outside_text(result: dict[str, Any]) -> str:
    of = result["outside"]
    return "\n".join(
        [
            "- On clinc150, an out-of-scope test row has a higher `outside_score` than an "
            f"in-scope row in {of['auc']:.1%} of all pairs (area under the ROC curve). For 1 minus "
            f"the probability of the best path, this share is {of['auc_of_best_path']:.1%}.",
            "- A guarantee does not hold for kinds of rows that were not in the calibration rows. "
            "In this test, thresholds for at most 5 % wrong intents were chosen on training rows "
            f"of known intents. {of['answered_outside']:.1%} of the {of['rows']:,} out-of-scope "
            "test rows get a label, which is always wrong. If "
            f"{of['share_outside']:.0%} of the rows are out of scope, {of['error_with']:.1%} of "
            f"all labels are wrong. Without such rows, {of['error_without']:.1%} are wrong, "
            "because the official test rows are harder than the training rows.",
        ]
    )


def write_page(page: str) -> None:
    result = json.loads(RESULT.read_text())
    write_section(page, "review", review_table(result))
    write_section(page, "label_errors", errors_table(result))
    write_section(page, "outside", outside_text(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the Parquet files")
    parser.add_argument("--sets", nargs="+", default=["clinc150", "cfpb", "naics"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    result: dict[str, Any] = {**environment(), "review": {}, "errors": {}}
    for name in options.sets:
        task = load(name, options.data)
        if task is None:
            continue
        if name == "clinc150":
            result["outside"] = outside(task)
            print(result["outside"], file=sys.stderr, flush=True)
            known = task.y[:, 1] != ""
            task.train, task.test = task.train[known[task.train]], task.test[known[task.test]]
        for part, measure in (("errors", errors), ("review", review)):
            result[part][name] = measure(task)
            RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(review_table(result), errors_table(result), sep="\n\n")


if __name__ == "__main__":
    main()
