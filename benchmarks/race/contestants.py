"""The contestants. Each runs in an environment of its own, so its library is imported inside.

A function prepares one contestant on a set, before the clock starts: it imports the library and
brings rows and tree into the form that the library takes. It returns three functions: ``fit()``,
``predict(model)`` and ``save(model, folder)``. A prediction is either a number of an ending per row
or a path of labels per row. Every library that can has two threads, or two jobs, and otherwise its
default settings unless its function, or the list at the end, says why not.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sets import Race

THREADS = 2


class Prepared(NamedTuple):
    """One contestant, ready to start."""

    fit: Callable[[], Any]
    predict: Callable[[Any], np.ndarray]
    save: Callable[[Any, Path], None]


@dataclass(frozen=True)
class Contestant:
    """What the table says about a contestant, and how it is prepared.

    ``tree`` is "given", "own" (the library builds one from the data) or "none". ``pair`` names the
    two sides of a comparison of the same work in hiclass and in the published package.
    """

    name: str
    environment: str
    prepare: Callable[[Race, Path], Prepared]
    tree: str
    pair: str = ""


def pickled(model: Any, folder: Path) -> None:
    # Straight to the file: a copy in memory would count as memory of the contestant.
    with (folder / "model.pickle").open("wb") as file:
        pickle.dump(model, file, protocol=5)


def as_sparse(X: Any, dtype: Any) -> Any:
    return sp.csr_matrix(X, dtype=dtype)


def one_hot(race: Race, dtype: Any) -> Any:
    n = len(race.leaf)
    return sp.csr_matrix(
        (np.ones(n, dtype=dtype), (np.arange(n), race.leaf)), (n, len(race.endings))
    )


# -- scikit-learn ------------------------------------------------------------------------------


def make_estimator(name: str) -> Any:
    """The local classifiers of the race, by name."""
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.svm import LinearSVC

    return {
        "LinearSVC": LinearSVC(random_state=0),
        "quick LinearSVC": LinearSVC(dual=True, tol=0.1, random_state=0),
        "LogisticRegression": LogisticRegression(),
        "LinearSVC by depth": ByDepth(C_FACTOR, TOLERANCE),
        "FastLinearSVC by depth": ByDepth(C_FACTOR, FAST_TOLERANCE, fast=True),
        "MultinomialNB": MultinomialNB(),
        "RidgeClassifier": RidgeClassifier(alpha=0.1),
    }[name]


@dataclass(frozen=True)
class ByDepth:
    """Makes the SVM of a node: the deeper, the fewer rows it has, and the larger C may be."""

    factor: float
    tol: float
    fast: bool = False

    def __call__(self, path: tuple[Any, ...]) -> Any:
        from sklearn.svm import LinearSVC

        strength = min(self.factor ** len(path) / 2, 8.0) if self.factor > 1 else 1.0
        if self.fast:
            from hiclass import FastLinearSVC

            return FastLinearSVC(C=strength, tol=self.tol, random_state=0)
        return LinearSVC(C=strength, dual=True, tol=self.tol, random_state=0)


def most_frequent(race: Race, folder: Path) -> Prepared:
    n_test = race.X_test.shape[0]
    return Prepared(
        lambda: int(np.bincount(race.leaf).argmax()), lambda model: np.full(n_test, model), pickled
    )


def flat(race: Race, folder: Path, child: str) -> Prepared:
    """One classifier for all endings, without a hierarchy."""
    model = make_estimator(child)
    return Prepared(
        lambda: model.fit(race.X, race.leaf), lambda model: model.predict(race.X_test), pickled
    )


# -- hiclass -----------------------------------------------------------------------------------


def local(
    race: Race,
    folder: Path,
    strategy: str,
    child: str,
    n_jobs: int,
    backend: str = "loky",
    threads_per_job: int | None = None,
    **options: Any,
) -> Prepared:
    """A strategy of hiclass, greedy by default; the published package takes the same call."""
    import hiclass

    model = getattr(hiclass, strategy)(make_estimator(child), n_jobs=n_jobs, **options)
    paths = race.paths.astype(object)
    return predicts_paths(race, lambda: fit_on(backend, model, race.X, paths, threads_per_job))


def with_fast_svc(race: Race, folder: Path, **options: Any) -> Prepared:
    """Local classifiers whose solver is compiled: numba and the machine code are loaded before.

    Where the machine code is not in numba's cache yet, it is compiled here.
    """
    from hiclass import FastLinearSVC

    FastLinearSVC(solver="numba").fit(as_sparse(np.eye(3), np.float64), [0, 1, 2])
    return local(race, folder, **options)


def automatic(race: Race, folder: Path, effort: str, optimize: str) -> Prepared:
    """The estimator that chooses by itself; it is told which rows belong together."""
    import contextlib

    from hiclass import HierarchicalClassifier

    if effort != "quick":  # imports are not timed, nor those of PyTorch's first optimiser
        with contextlib.suppress(ImportError):
            import torch

            import hiclass.torch  # noqa: F401

            torch.optim.Adam([torch.zeros(1, requires_grad=True)])
    # One job: starting processes would take longer than some fits, and costs are processor time.
    model = HierarchicalClassifier(effort=effort, optimize=optimize, random_state=0)
    paths = race.paths.astype(object)
    return predicts_paths(race, lambda: model.fit(race.X, paths, groups=race.groups))


def by_hand(race: Race, folder: Path, strategy: str, child: str) -> Prepared:
    """What a knowledgeable user would try on dense rows, in hiclass, without calibration."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    import hiclass

    estimator = {
        "kernel": make_pipeline(StandardScaler(), hiclass.KernelRidgeClassifier(**QUICK_KERNEL)),
        "SVC": make_pipeline(StandardScaler(), SVC(C=10)),
        "forest": ExtraTreesClassifier(200, random_state=0, n_jobs=THREADS),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier()),
    }[child]
    model = getattr(hiclass, strategy)(estimator)
    paths = race.paths.astype(object)
    return predicts_paths(race, lambda: model.fit(race.X, paths))


def predicts_paths(race: Race, fit: Callable[[], Any]) -> Prepared:
    return Prepared(fit, lambda model: np.asarray(model.predict(race.X_test)).astype(str), pickled)


def fit_on(backend: str, model: Any, X: Any, paths: np.ndarray, threads: int | None = None) -> Any:
    """Fit with the workers that joblib's backend has."""
    import joblib

    with joblib.parallel_config(backend=backend, inner_max_num_threads=threads):
        return model.fit(X, paths)


def flat_work(race: Race) -> float:
    """How many times the work of the local classifiers a flat one has: rows times classes."""
    rows = np.bincount(race.leaf_node[race.leaf], minlength=len(race.parent)).astype(float)
    for node in range(len(rows) - 1, 0, -1):  # parents come before their children
        rows[race.parent[node]] += rows[node]
    n_children = np.bincount(race.parent[1:], minlength=len(rows))
    local = (rows * n_children)[n_children > 1].sum()
    return float(race.X.shape[0] * len(race.endings) / local)


def make_recommended(
    dense: bool, factor: float, flat: str, local: str, with_flat: bool = True
) -> Any:
    """Flat and per parent node, both calibrated, weighted, decoded for the expected hF.

    The flat child is that of docs/decisions.md: LinearSVC for text, and for dense features, where
    it takes minutes, ridge regression. ``flat`` and ``local`` are the calibrations; see margins.py.
    Without the flat half where that would be too much work.
    """
    from hiclass import EnsembleClassifier, FlatClassifier, LocalClassifierPerParentNode

    child = make_estimator("RidgeClassifier" if dense else "quick LinearSVC")
    options = {"random_state": 0, "n_jobs": THREADS}
    by_parent = LocalClassifierPerParentNode(ByDepth(factor, 0.1), calibration=local, **options)
    if not with_flat:
        return by_parent.set_params(decoding="expected_f1")
    members = [("flat", FlatClassifier(child, calibration=flat, **options)), ("local", by_parent)]
    return EnsembleClassifier(members, weights="learned", decoding="expected_f1")


def recommended(race: Race, folder: Path) -> Prepared:
    with_flat = flat_work(race) <= MOST_FLAT_WORK
    model = make_recommended(not sp.issparse(race.X), *RECOMMENDED_RECIPE, with_flat)
    paths = race.paths.astype(object)
    return predicts_paths(race, lambda: fit_on("threading", model, race.X, paths))


def global_forest(race: Race, folder: Path) -> Prepared:
    """One forest for the whole hierarchy.

    The default forest looks at all features at every split, which takes over two minutes on all
    sets that were tried; this one draws as many as forests of classification trees do.
    """
    from sklearn.ensemble import ExtraTreesRegressor

    from hiclass import GlobalClassifier

    forest = ExtraTreesRegressor(max_features="sqrt", n_jobs=THREADS)
    model = GlobalClassifier(forest, random_state=0)
    paths = race.paths.astype(object)
    return predicts_paths(race, lambda: model.fit(race.X, paths))


# -- peers -------------------------------------------------------------------------------------


def sklearn_hierarchical(race: Race, folder: Path, child: str) -> Prepared:
    """sklearn-hierarchical-classification, per parent node; one process, it has no jobs.

    One thread, too: its many small matrix products are slower with two on a busy machine.
    """
    from sklearn_hierarchical_classification.classifier import HierarchicalClassifier
    from sklearn_hierarchical_classification.constants import ROOT
    from threadpoolctl import threadpool_limits

    # Nodes by name, the endings by their number, so that the answers are endings.
    ending_of = {int(node): k for k, node in enumerate(race.leaf_node)}
    names = [ROOT if node == 0 else f"node {node}" for node in range(len(race.parent))]
    names = [
        f"{ending_of[node]}" if node in ending_of else names[node] for node in range(len(names))
    ]
    hierarchy: dict[str, list[str]] = {}
    for node, parent in enumerate(race.parent[1:], start=1):
        hierarchy.setdefault(names[parent], []).append(names[node])
    model = HierarchicalClassifier(base_estimator=make_estimator(child), class_hierarchy=hierarchy)
    y = race.leaf.astype(str)

    def fit() -> Any:
        with threadpool_limits(1):
            return model.fit(race.X, y)

    def predict(model: Any) -> np.ndarray:
        with threadpool_limits(1):
            return model.predict(race.X_test).astype(int)

    return Prepared(fit, predict, pickled)


def cluster_chain(race: Race) -> list[Any]:
    """The tree as PECOS wants it: a matrix per level; short paths are drawn out by repetition."""
    paths = []
    for node in race.leaf_node:
        path = [int(node)]
        while race.parent[path[-1]] > 0:
            path.append(int(race.parent[path[-1]]))
        paths.append(path[::-1])
    depth = max(map(len, paths))
    levels = np.array([path + path[-1:] * (depth - len(path)) for path in paths])
    codes = [np.zeros(len(paths), dtype=int)]  # the root
    codes += [np.unique(levels[:, i], return_inverse=True)[1] for i in range(depth - 1)]
    codes.append(np.arange(len(paths)))
    chain = []
    for upper, lower in pairwise(codes):
        pairs = np.unique(np.column_stack([lower, upper]), axis=0)
        ones = np.ones(len(pairs), dtype=np.float32)
        chain.append(sp.csc_matrix((ones, pairs.T), (lower.max() + 1, upper.max() + 1)))
    return chain


def pecos(race: Race, folder: Path) -> Prepared:
    from pecos.utils.cluster_util import ClusterChain
    from pecos.xmc.xlinear.model import XLinearModel

    X, X_test = (as_sparse(rows, np.float32) for rows in (race.X, race.X_test))
    Y = one_hot(race, np.float32).tocsc()
    chain = ClusterChain(cluster_chain(race))

    def predict(model: Any) -> np.ndarray:
        found = model.predict(X_test, only_topk=1, threads=THREADS)
        return np.asarray(found.tocsr().argmax(axis=1)).ravel()

    return Prepared(
        lambda: XLinearModel.train(X, Y, C=chain, threads=THREADS),
        predict,
        lambda model, folder: model.save(str(folder / "model")),
    )


def napkinxc(race: Race, folder: Path, kind: str) -> Prepared:
    """Writes its model while it fits, into the folder."""
    from napkinxc import models

    X, X_test = (as_sparse(rows, np.float32) for rows in (race.X, race.X_test))
    label = dict(zip(race.leaf_node.tolist(), range(len(race.leaf_node)), strict=True))
    tree = [(int(p), node, label.get(node, -1)) for node, p in enumerate(race.parent)]
    model = getattr(models, kind)(
        str(folder / "model"), tree_structure=tree, threads=THREADS, seed=0, verbose=0
    )
    y = race.leaf.tolist()

    def fit() -> Any:
        model.fit(X, y)
        return model

    def predict(model: Any) -> np.ndarray:
        return np.array([found[0] for found in model.predict(X_test, top_k=1)])

    return Prepared(fit, predict, lambda model, folder: None)


def omikuji(race: Race, folder: Path) -> Prepared:
    """Trains from a file of its own format only, so that ``fit`` reads it, too."""
    import omikuji as library

    X, X_test = (as_sparse(rows, np.float64) for rows in (race.X, race.X_test))
    file = folder.parent / f"{folder.name}.txt"
    with file.open("w") as out:
        out.write(f"{X.shape[0]} {X.shape[1]} {len(race.endings)}\n")
        for i, leaf in enumerate(race.leaf):
            row = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip(X.indices[row], X.data[row], strict=True)
            # It refuses a row without features.
            out.write(f"{leaf} " + (" ".join(f"{j}:{v:.6g}" for j, v in pairs) or "0:0") + "\n")
    rows = [
        list(
            zip(
                X_test.indices[X_test.indptr[i] : X_test.indptr[i + 1]].tolist(),
                X_test.data[X_test.indptr[i] : X_test.indptr[i + 1]].tolist(),
                strict=True,
            )
        )
        for i in range(X_test.shape[0])
    ]

    def predict(model: Any) -> np.ndarray:
        answers = (model.predict(row, top_k=1) for row in rows)
        return np.array([found[0][0] if found else 0 for found in answers])

    return Prepared(
        lambda: library.Model.train_on_data(str(file), n_threads=THREADS),
        predict,
        lambda model, folder: model.save(str(folder / "model")),
    )


def libmultilabel(race: Race, folder: Path, tree: bool) -> Prepared:
    from libmultilabel import linear
    from libmultilabel.linear.tree import Node

    X, X_test = (as_sparse(rows, np.float64) for rows in (race.X, race.X_test))
    Y = one_hot(race, np.float64)
    options = f"-s 1 -e 0.1 -m {THREADS} -q" if not tree else f"-s 1 -m {THREADS}"
    if not tree:
        fit = partial(linear.train_1vsrest, Y, X, False, options, False)
    else:
        children: list[list[int]] = [[] for _ in race.parent]
        for node, parent in enumerate(race.parent[1:], start=1):
            children[parent].append(node)
        ending = {int(node): k for k, node in enumerate(race.leaf_node)}
        below: dict[int, list[int]] = {}
        for node in reversed(range(len(race.parent))):
            own = [ending[node]] if node in ending else []
            below[node] = own + [k for child in children[node] for k in below[child]]

        def make(node: int) -> Any:
            # A node above leaves only is a leaf to this library: it holds several labels.
            last = all(child in ending for child in children[node])
            parts = [] if last else [make(child) for child in children[node]]
            return Node(np.array(below[node]), parts)

        fit = lambda: linear.train_tree(Y, X, options, verbose=False, root=make(0))  # noqa: E731

    def predict(model: Any) -> np.ndarray:
        return linear.predict_values(model, X_test).argmax(axis=1)

    return Prepared(fit, predict, pickled)


def fasttext(race: Race, folder: Path, loss: str) -> Prepared:
    """Takes words, not numbers: a row is the names of its features, without their values.

    Its defaults (5 epochs, rate 0.1) are for large sets; these are those of its tutorial.
    """
    import fasttext as library

    X, X_test = (as_sparse(rows, np.float32) for rows in (race.X, race.X_test))

    def words(X: Any, i: int) -> str:
        return " ".join(f"f{j}" for j in X.indices[X.indptr[i] : X.indptr[i + 1]])

    file = folder.parent / f"{folder.name}.txt"
    lines = [f"__label__{leaf} {words(X, i)}\n" for i, leaf in enumerate(race.leaf)]
    file.write_text("".join(lines))
    rows = [words(X_test, i) for i in range(X_test.shape[0])]

    def predict(model: Any) -> np.ndarray:
        answers = model.predict(rows, k=1)[0]
        # A row without any known word has no answer.
        return np.array([int(a[0].removeprefix("__label__")) if len(a) else 0 for a in answers])

    return Prepared(
        lambda: library.train_supervised(
            str(file), loss=loss, thread=THREADS, epoch=25, lr=1.0, minCount=1, verbose=0
        ),
        predict,
        lambda model, folder: model.save_model(str(folder / "model.bin")),
    )


# -- who runs ----------------------------------------------------------------------------------

FAST, QUICK, CALIBRATED = "hiclass, greedy SVC", "hiclass, quick SVC", "hiclass, calibrated SVC"
QUICK_FAST, RECOMMENDED = "hiclass, quick fast SVC", "hiclass, recommended"
QUICK_SMALL = "hiclass, quick fast SVC, small weights dropped"
# All these were chosen by cross-validation: see margins.py.
C_FACTOR, TOLERANCE = 4, 0.5
# The default, not chosen: passes over the rows cost it so little that it need not stop early.
FAST_TOLERANCE = 0.1
RECOMMENDED_RECIPE = (4, "joint", "joint")
# A flat half that is more work than this many local halves is left out. At 24 times the work
# (naics, docs/decisions.md) it adds 0.001 to hF; thousands of classes would take hours.
MOST_FLAT_WORK = 25
QUICK_READING = {
    "calibration": "joint",
    "temperature": 0.125,
    "decoding": "expected_f1",
    "expected_f1": 0.8,
}
# What it learns instead where the solver is precise enough: see temperatures.py.
ESTIMATED_READING = {
    "calibration": "joint",
    "temperature": "estimated",
    "decoding": "expected_f1",
}
# That of the quick effort of HierarchicalClassifier: plain, for its costs.
QUICK_KERNEL = {"n_landmarks": 2000, "random_state": 0}
STRATEGIES = {
    "per parent": "LocalClassifierPerParentNode",
    "per node": "LocalClassifierPerNode",
    "per level": "LocalClassifierPerLevel",
}
# Children of the comparison with the published package, which needs predict_proba per node and
# per level. LinearSVC has none there.
PAIRS = (
    ("per parent", "LinearSVC", 1),
    ("per parent", "LinearSVC", 2),
    ("per parent", "MultinomialNB", 1),
    ("per node", "MultinomialNB", 1),
    ("per node", "MultinomialNB", 2),
    ("per level", "MultinomialNB", 1),
)


def peers() -> list[Contestant]:
    """All that are compared with one another."""
    per_parent = STRATEGIES["per parent"]
    # liblinear releases the lock of the interpreter, so that threads do, and cost nothing to start.
    # The solver and the tolerance are those of PECOS; scikit-learn's tolerance is 0.0001, and it
    # takes the primal solver, which is slower here, where rows outnumber features.
    fast = partial(
        local, strategy=per_parent, child="quick LinearSVC", n_jobs=THREADS, backend="threading"
    )
    by_depth = partial(fast, child="LinearSVC by depth")
    quick = partial(by_depth, **QUICK_READING)
    calibrated = partial(by_depth, decoding="expected_f1", calibration="joint")
    # Two jobs with two threads each would be four, which wait for one another in matrix products.
    greedy = partial(
        local, strategy=per_parent, child="LogisticRegression", n_jobs=THREADS, threads_per_job=1
    )
    # One job: two take it longer on every set (see the pairs).
    published = partial(local, strategy=per_parent, child="LinearSVC", n_jobs=1)
    logistic = "LogisticRegression"
    return [
        Contestant("most frequent path", "hiclass", most_frequent, "none"),
        Contestant("flat LinearSVC", "hiclass", partial(flat, child="LinearSVC"), "none"),
        Contestant("flat LogisticRegression", "hiclass", partial(flat, child=logistic), "none"),
        Contestant(FAST, "hiclass", fast, "given"),
        Contestant(QUICK, "hiclass", quick, "given"),
        Contestant(CALIBRATED, "hiclass", calibrated, "given"),
        Contestant("hiclass, greedy logistic", "hiclass", greedy, "given"),
        Contestant(RECOMMENDED, "hiclass", recommended, "given"),
        Contestant("hiclass, global forest", "hiclass", global_forest, "given"),
        Contestant("hiclass 5.0.8", "published", published, "given"),
        Contestant(
            "sklearn-hierarchical-classification",
            "sklearn-hierarchical",
            partial(sklearn_hierarchical, child=logistic),
            "given",
        ),
        Contestant("PECOS XLinear", "pecos", pecos, "given"),
        Contestant("napkinXC PLT", "napkinxc", partial(napkinxc, kind="PLT"), "given"),
        Contestant("napkinXC HSM", "napkinxc", partial(napkinxc, kind="HSM"), "given"),
        Contestant("omikuji", "omikuji", omikuji, "own"),
        Contestant(
            "LibMultiLabel tree", "libmultilabel", partial(libmultilabel, tree=True), "given"
        ),
        Contestant(
            "LibMultiLabel 1-vs-rest", "libmultilabel", partial(libmultilabel, tree=False), "none"
        ),
        Contestant("fastText hs", "fasttext", partial(fasttext, loss="hs"), "own"),
        Contestant("fastText softmax", "fasttext", partial(fasttext, loss="softmax"), "none"),
    ]


def pairs() -> list[Contestant]:
    """The same work in hiclass and in the published package."""
    found = []
    for strategy, child, n_jobs in PAIRS:
        pair = f"{strategy}, {child}, n_jobs={n_jobs}"
        prepare = partial(local, strategy=STRATEGIES[strategy], child=child, n_jobs=n_jobs)
        for side, environment in (("hiclass", "hiclass"), ("hiclass 5.0.8", "published")):
            name = f"{side}: {pair}"
            found.append(Contestant(name, environment, prepare, "given", pair=pair))
    return found


def variants() -> list[Contestant]:
    """Of the quick recipe, for ../taxonomy.py: another solver, and no small weights."""
    fast = partial(
        with_fast_svc,
        strategy=STRATEGIES["per parent"],
        child="FastLinearSVC by depth",
        n_jobs=THREADS,
        backend="threading",
        **ESTIMATED_READING,
    )
    small = partial(fast, min_coef=0.1)
    return [
        Contestant(name, "hiclass", prepare, "given")
        for name, prepare in ((QUICK_FAST, fast), (QUICK_SMALL, small))
    ]


def start() -> list[Contestant]:
    """The estimator to start with at its three efforts, for whole paths and for hF."""
    return [
        Contestant(
            f"{effort}, {optimize}",
            "hiclass",
            partial(automatic, effort=effort, optimize=optimize),
            "given",
        )
        for effort in ("quick", "balanced", "best")
        for optimize in ("path", "f1")
    ]


def hands() -> list[Contestant]:
    """Plain models on dense rows."""
    sides = {"flat": "FlatClassifier", "greedy": "LocalClassifierPerParentNode"}
    return [
        Contestant(
            f"{side} {child}", "hiclass", partial(by_hand, strategy=strategy, child=child), "given"
        )
        for child in ("SVC", "forest", "logistic", "neighbours", "kernel")
        for side, strategy in sides.items()
        # The flat one is what the quick effort of our own is made of.
        if (side, child) != ("flat", "kernel")
    ]


def all_contestants() -> dict[str, Contestant]:
    return {c.name: c for c in [*peers(), *pairs(), *variants(), *start(), *hands()]}
