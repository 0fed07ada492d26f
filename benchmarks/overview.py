"""The table of the first page, docs/index.md: which model do I need?

    python benchmarks/overview.py

Every figure is read from `benchmarks/results`; nothing is measured here.
`tests/docs/test_docs_how_good.py` fails where a page says something else than the results.
"""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

from _common import table, write_section

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"

#: Data set: what its rows are, classes counted in docs/decisions.md.
SETS = {
    "cfpb": "complaints, text",
    "naics": "industries, text",
    "clinc150": "requests, text",
    "anuran": "frog calls",
    "ImCLEF07A": "X-ray images",
    "greengenes": "gene sequences",
}
GREEDY = "per parent, none, top_down"
FLAT = "flat, none, best_path"
JOINT = "per parent, joint, expected_f1"
SEARCHED = "per parent, temperature, best_path"


def load(name: str) -> dict[str, Any]:
    """Read one file of results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def decisions() -> dict[str, dict[str, Any]]:
    """The results of each data set, with its rows by name."""
    found = {name: load(f"decisions-{name}") for name in SETS}
    for result in found.values():
        result["by_name"] = {row["name"]: row for row in result["rows"]}
    return found


def which() -> str:
    """The table of the first page: what you have, what to use, what was measured."""
    sets = decisions()

    def at(name: str, model: str, key: str = "hF") -> float:
        return sets[name]["by_name"][model][key]

    def gain(model: str, base: str, key: str = "hF") -> list[float]:
        return [100 * (at(name, model, key) - at(name, base, key)) for name in sets]

    joint = gain(JOINT, GREEDY)
    start = load("start")["sets"]["naics"]["models"]
    exact = gain(SEARCHED, GREEDY, "exact")
    large = max(load("bookkeeping_scale")["strategies"]["parent"]["runs"], key=_size)
    genes = {m["model"]: m["aupr"] for m in load("gene_function_cellcycle_FUN")["models"]}
    balanced = fmean(
        row["aupr"]
        for row in load("gene_start")["rows"]
        if (row["set"], row["effort"]) == ("cellcycle_FUN", "balanced")
    )
    paths = [r for r in load("decisions-conformal")["clinc150"] if r["kind"] == "path"]
    promised = next(r for r in paths if r["alpha"] == 0.1 and "re-splits" in r["data"])
    stream = load("incremental-quality")["sets"]["naics"]
    memory = load("incremental-memory")["memory"]
    rows = [
        (
            "a first model",
            "`HierarchicalClassifier()`",
            f"naics: exact match {start['balanced, path']['exact']:.3f}, greedy "
            f"{start['hiclass, greedy SVC']['exact']:.3f}, flat "
            f"{start['flat LinearSVC']['exact']:.3f}",
        ),
        (
            "the highest hierarchical F-score",
            '`HierarchicalClassifier(optimize="f1", effort="best")`',
            f"naics: hF {start['best, f1']['hF']:.3f}, greedy "
            f"{start['hiclass, greedy SVC']['hF']:.3f}, flat {start['flat LinearSVC']['hF']:.3f}",
        ),
        (
            "a single model, greedy",
            "`LocalClassifierPerParentNode()`",
            f"naics: hF {at('naics', GREEDY):.3f} after {at('naics', GREEDY, 'fit_s'):.1f} s; "
            f"flat: {at('naics', FLAT):.3f} after {at('naics', FLAT, 'fit_s'):.1f} s",
        ),
        (
            "a single model with the highest hF",
            '`LocalClassifierPerParentNode(calibration="joint", decoding="expected_f1")`',
            f"{min(joint):+.1f} to {max(joint):+.1f} points of hF over greedy, on six sets; "
            "four fits instead of one",
        ),
        (
            "a single model with the highest exact match",
            '`LocalClassifierPerParentNode(calibration="temperature", decoding="best_path")`',
            f"{min(exact):+.1f} to {max(exact):+.1f} points of exact match over greedy",
        ),
        (
            "a baseline to compare with",
            "`FlatClassifier()`",
            f"better than the greedy model on {_wins(sets)}, worse on the others",
        ),
        (
            "many classes",
            "`LocalClassifierPerParentNode()`, `n_jobs=-1`",
            f"{large['rows']:,} rows, {large['leaves']:,} leaves: {large['fit']:.1f} s of "
            f"bookkeeping in fit, {large['peak_bytes'] / 1e6:.0f} MB",
        ),
        (
            "embeddings, many classes, no GPU",
            "`FlatClassifier(DiscriminantClassifier())`; with PyTorch, compare "
            "`hiclass.torch.HierarchicalSoftmaxClassifier()`",
            _embeddings(),
        ),
        (
            "several labels per row",
            "`HierarchicalClassifier(hierarchy=..., multi_label=True)`",
            f"genes in 499 classes: AU(PRC) {balanced:.3f}; a flat forest: "
            f"{genes['flat-trees']:.3f}; a logistic regression per node: "
            f"{genes['node-logistic']:.3f}",
        ),
        (
            "data larger than memory, new classes later",
            "`partial_fit`, for example with `SGDClassifier`; `LocalClassifierPerNode` learns new "
            "classes",
            f"{memory['rows']:,} rows in {memory['peak_memory'] / 1e6:.0f} MB; naics: "
            f"{stream['share_of_best']:.0%} of the hF of the best `fit`",
        ),
        (
            "at most 10 % wrong rows",
            "`ConformalClassifier(model, alpha=0.1)`",
            f"clinc150: {promised['coverage']:.1%} correct, {promised['depth']:.1f} of 2 levels "
            f"predicted",
        ),
    ]
    return table(("you need", "use", "measured"), rows)


def _embeddings() -> str:
    """The discriminant analysis beside the network: where each is better."""
    sets = load("embeddings")["sets"]
    noisy, texts = sets["tree, 1,000 leaves"], sets["icd10cm"]

    def said(row: dict[str, Any]) -> str:
        return f"{row['exact']:.3f} after {row['fit_s']:.0f} s"

    ours, other = (rows["flat, DiscriminantClassifier"] for rows in (noisy, texts))
    return (
        f"simulated, {ours['rows']:,} x {ours['columns']}, {ours['classes']:,} leaves: exact match "
        f"{said(ours)}, the network {said(noisy['network on the CPU'])}; ICD-10-CM, "
        f"{other['rows']:,} x {other['columns']}, {other['classes']:,} classes: {said(other)}, "
        f"the network {said(texts['network on the CPU'])}"
    )


def _size(run: dict[str, Any]) -> int:
    return run["rows"] * run["leaves"]


def _wins(sets: dict[str, Any]) -> str:
    """The data sets on which the flat model is better than the local one."""
    better = [n for n, r in sets.items() if r["by_name"][FLAT]["hF"] > r["by_name"][GREEDY]["hF"]]
    return " and ".join(better)


if __name__ == "__main__":
    write_section(str(ROOT / "docs" / "index.md"), "which", which())
