"""Gene functions: a DAG of classes, and several of them per row.

A gene has several functions, and a function may have several parents: a peptidase is a hydrolase
and part of protein breakdown. The genes of this example are generated: their expression under 24
conditions is a noisy sum of patterns, one per function.

    python examples/gene_function.py
"""

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

from hiclass import FlatClassifier, Hierarchy, LocalClassifierPerParentNode
from hiclass.metrics import average_precision, classification_report, f1

IS_A = {
    "binding": ["DNA binding", "ion binding"],
    "catalysis": ["hydrolase", "kinase"],
    "metabolism": ["protein breakdown", "protein modification", "energy"],
    "transport": ["ion transport", "protein transport"],
    "hydrolase": ["peptidase", "ATPase"],
    "protein breakdown": ["peptidase"],
    "protein modification": ["kinase"],
    "energy": ["ATPase"],
    "ion transport": ["ion pump"],
    "ATPase": ["ion pump"],
    "ion binding": ["zinc binding"],
    "nothing known yet": ["moonlighting"],  # a class without rows
}


def make_genes(hierarchy: Hierarchy, n_genes: int = 1500, seed: int = 0):
    """Return the expression of genes and, for each, the list of its functions."""
    rng = np.random.default_rng(seed)
    functions = [v for v in range(1, hierarchy.n_nodes) if "known" not in hierarchy.labels[v]]
    functions = [v for v in functions if hierarchy.labels[v] != "moonlighting"]
    pattern = rng.normal(size=(hierarchy.n_nodes, 24))
    X, y = [], []
    for _ in range(n_genes):
        own = rng.choice(functions, size=rng.integers(1, 4), replace=False)
        everything = {v for o in own for v in (o, *hierarchy.ancestors(o))}
        X.append(pattern[sorted(everything)].sum(axis=0) + rng.normal(scale=1.2, size=24))
        y.append([hierarchy.labels[v] for v in own])
    return np.array(X), y


def main() -> None:
    hierarchy = Hierarchy.from_dict(IS_A)
    print(hierarchy)
    print("Parents of 'ion pump':", [hierarchy.labels[v] for v in hierarchy.parents(
        hierarchy.find("ion pump"))])  # fmt: skip

    X, y = make_genes(hierarchy)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

    forest = ExtraTreesClassifier(100, min_samples_leaf=2, random_state=0, n_jobs=2)
    print("\nmodel                          AU(PRC)   hF at 0.5   hF tuned")
    for kind in (LocalClassifierPerParentNode, FlatClassifier):
        model = kind(forest, hierarchy=hierarchy, multi_label=True, threshold="tuned")
        model.fit(X_train, y_train)
        proba = model.predict_node_proba(X_test)
        area = average_precision(y_test, proba, hierarchy=hierarchy, multi_label=True)
        tuned = model.score(X_test, y_test)
        usual = model.set_params(threshold=0.5).score(X_test, y_test)
        print(f"{kind.__name__:<30} {area:7.3f}   {usual:9.3f}   {tuned:8.3f}")

    model.set_params(threshold="tuned")
    predicted = model.predict(X_test)
    print("\nTrue functions of the first test genes, and the predicted ones:")
    for true, found in list(zip(y_test, predicted, strict=True))[:4]:
        print(f"  {sorted(map(str, true))} -> {sorted(map(str, found))}")
    print(f"\nhF {f1(y_test, predicted, hierarchy=hierarchy, multi_label=True):.3f}")
    print(classification_report(y_test, predicted, hierarchy=hierarchy, multi_label=True))


if __name__ == "__main__":
    main()
