"""What is hard to predict, with classifiers of scikit-learn; ``limits.py --hard`` runs it.

``run_hard`` returns for every step CPU seconds, seconds, and the peak of memory above what was held
when the step began. Steps that begin with "bare" call the same classifiers on the same rows, and
nothing else.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Name, what is built, its size.
HARD = [
    ("10,648 leaves, 4,000 rows, GaussianNB", "unsure", 4_000),
    ("10,648 leaves, 25,000 rows, a constant classifier", "constant", 25_000),
    ("a class with 100,000 children, 500 rows, GaussianNB", "children", 100_000),
    ("30,000 nodes on 10,000 levels, 3 rows, GaussianNB", "levels", 10_000),
    ("512 leaves, 20,000 sparse rows, MultinomialNB per node", "threads", 20_000),
]


class Steps(dict[str, dict[str, float]]):
    """Steps by name, with what they took."""

    def run(self, name: str, step: Callable[[], Any]) -> Any:
        """Run a step and remember what it took."""
        begin = peak = _resident()
        over = threading.Event()

        def watch() -> None:
            nonlocal peak
            while not over.wait(0.002):
                peak = max(peak, _resident())

        watcher = threading.Thread(target=watch)
        watcher.start()
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            result = step()
        finally:
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            over.set()
            watcher.join()
        self[name] = {
            "cpu": round(cpu, 2),
            "wall": round(wall, 2),
            "mib": round((peak - begin) / 2**20),
        }
        return result


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def run_hard(kind: str, size: int) -> dict[str, dict[str, float]]:
    """Run one case."""
    steps = Steps()
    {"unsure": _unsure, "constant": _constant, "children": _children, "levels": _levels,
     "threads": _threads}[kind](size, steps)  # fmt: skip
    return steps


def _tree(width: int) -> Any:
    """The paths of a tree with three levels."""
    from limits import many

    return many(width**3)[1]


def _unsure(n_rows: int, steps: Steps) -> None:
    import numpy as np
    from sklearn.naive_bayes import GaussianNB

    import hiclass

    draw = np.random.default_rng(0)
    y = np.repeat(_tree(22), 2, axis=0)
    model = hiclass.LocalClassifierPerParentNode(GaussianNB())
    model.fit(draw.normal(size=(len(y), 4)), y)
    X = draw.normal(size=(n_rows, 4))
    steps.run("top_down", lambda: model.predict(X))
    model.set_params(decoding="best_path")
    steps.run("best_path", lambda: model.predict(X))
    steps.run("predict_paths, k=5", lambda: model.predict_paths(X, 5))
    steps.run("predict_paths, k=50", lambda: model.predict_paths(X, 50))
    steps.run("predict_node_proba, 1,000 rows", lambda: model.predict_node_proba(X[:1000]))


def _constant(n_rows: int, steps: Steps) -> None:
    import numpy as np
    from sklearn.dummy import DummyClassifier

    import hiclass

    y = _tree(22)
    X = np.zeros((n_rows, 4))
    model = hiclass.LocalClassifierPerParentNode(
        DummyClassifier(strategy="uniform"), decoding="best_path"
    ).fit(X[: len(y)] if n_rows >= len(y) else np.zeros((len(y), 4)), y)
    steps.run("best_path", lambda: model.predict(X))
    steps.run("predict_paths, k=5", lambda: model.predict_paths(X, 5))


def _children(n_children: int, steps: Steps) -> None:
    import numpy as np
    from sklearn.naive_bayes import GaussianNB

    import hiclass

    draw = np.random.default_rng(0)
    y = np.array([["all", f"{i:06d}"] for i in range(n_children)] + [["none", ""]], dtype=object)
    X = draw.normal(size=(len(y), 2))
    local = GaussianNB(var_smoothing=0.1)
    model = hiclass.LocalClassifierPerParentNode(local)
    steps.run("fit", lambda: model.fit(X, y))
    rows = draw.normal(size=(500, 2))
    steps.run("predict", lambda: model.predict(rows))
    bare = model.local_classifiers_["all",]
    at_a_time = range(0, len(rows), 167)
    steps.run(
        "bare predict_proba", lambda: [bare.predict_proba(rows[i : i + 167]) for i in at_a_time]
    )
    steps.run("bare fit", lambda: GaussianNB(var_smoothing=0.1).fit(X[:-1], np.arange(n_children)))


def _levels(n_levels: int, steps: Steps) -> None:
    import numpy as np
    from limits import chain
    from sklearn.naive_bayes import GaussianNB

    import hiclass

    tree = hiclass.Hierarchy.from_edges(chain(n_levels))
    y = tree.labels[tree.leaves()]
    X = np.arange(len(y), dtype=float)[:, None]
    model = hiclass.LocalClassifierPerParentNode(GaussianNB(var_smoothing=0.1), hierarchy=tree)
    steps.run("fit", lambda: model.fit(X, y))
    rows = X[[0, len(X) // 2, -1]]
    steps.run("top_down", lambda: model.predict(rows))
    # The first row passes all levels: as many calls as prediction makes.
    locals_ = list(model.local_classifiers_.values())
    steps.run("bare predict_proba", lambda: [bare.predict_proba(rows) for bare in locals_])
    model.set_params(decoding="best_path")
    steps.run("best_path", lambda: model.predict(rows))
    steps.run("predict_paths, k=5", lambda: model.predict_paths(rows, 5))


def _threads(n_rows: int, steps: Steps) -> None:
    import numpy as np
    import scipy.sparse as sp
    from sklearn.naive_bayes import MultinomialNB

    import hiclass

    y = np.repeat(_tree(8), 20, axis=0)
    X = sp.random(len(y), 2000, 0.01, format="csr", random_state=0)
    model = hiclass.LocalClassifierPerNode(MultinomialNB()).fit(X, y)
    rows = sp.random(n_rows, 2000, 0.01, format="csr", random_state=1)
    for n in (n_rows // 10, n_rows):
        some = rows[:n]
        taken: dict[str, list[dict[str, float]]] = {}
        for _ in range(5):
            for n_jobs in (1, 2):
                model.set_params(n_jobs=n_jobs)
                name = f"{n} rows, n_jobs={n_jobs}"
                steps.run(name, lambda some=some: model.predict(some))
                taken.setdefault(name, []).append(steps[name])
        for name, runs in taken.items():
            steps[name] = min(runs, key=lambda run: run["wall"])
