"""Add a class: only the local classifiers that it affects are fitted again.

With ``checkpoint_dir``, every finished classifier is stored under a hash of its rows, its target
and its parameters. The next fit reuses those that have not changed.

    python examples/add_a_class.py
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from hiclass import LocalClassifierPerParentNode

PATHS = [
    ("Animal", "Mammal", "Cat"),
    ("Animal", "Mammal", "Dog"),
    ("Animal", "Bird", "Owl"),
    ("Animal", "Bird", "Robin"),
    ("Plant", "Tree", "Oak"),
    ("Plant", "Tree", "Pine"),
    ("Plant", "Flower", "Rose"),
    ("Plant", "Flower", "Tulip"),
]
FOX = ("Animal", "Mammal", "Fox")


def make_rows(paths: list[tuple[str, str, str]], n_rows: int = 40):
    """Return rows of every class; the seed depends on the class, so old rows do not change."""
    X, y = [], []
    for path in paths:
        rng = np.random.default_rng(sum(map(ord, "".join(path))))
        X.append(rng.normal(size=8) * 3 + rng.normal(size=(n_rows, 8)))
        y += [path] * n_rows
    return np.vstack(X), np.array(y, dtype=object)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = LocalClassifierPerParentNode(
            RandomForestClassifier(20), random_state=0, checkpoint_dir=folder
        )

        def fit(paths: list[tuple[str, str, str]]) -> None:
            before = {file.name for file in Path(folder).iterdir()}
            model.fit(*make_rows(paths))
            after = {file.name for file in Path(folder).iterdir()}
            print(f"{len(model.local_classifiers_)} classifiers, {len(after - before)} of them new")

        print("First fit:")
        fit(PATHS)
        print("Second fit, without changes:")
        fit(PATHS)
        print(f"With the new class {' > '.join(FOX)}:")
        fit([*PATHS, FOX])
        # The root, Animal and Mammal have new rows. Bird, Plant, Tree and Flower have not.
        X, y = make_rows([FOX])
        print("Foxes that are recognised:", f"{(model.predict(X) == y).all(axis=1).mean():.0%}")


if __name__ == "__main__":
    main()
