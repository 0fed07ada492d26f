"""Iterations and strength of ``adapted_to``, compared on training rows with simulated shares.

A third of the training rows (of anuran whole recordings) is held out from the models. These rows
are used as they are, with other shares of all classes of level 1 (of each, between a tenth and all
rows are kept), and with one class of level 1 that has become frequent (of the others, a tenth is
kept). Every setting gets the mean gain of hF over sets, models and cases, with the most probable
paths.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from _common import table

from hiclass import metrics
from hiclass._inference.paths import final_proba
from hiclass._inference.shares import estimate, reference_shares, training_shares

ITERATIONS = (1, 2, 3, 5, 10)
STRENGTHS = (0, 10, 30, 100, 300, 1000)
DRAWS = 3


def hold_out(task: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two thirds of the training rows, and the rest; groups stay together."""
    rng = np.random.default_rng(0)
    train = task.train
    if task.groups is None:
        order = rng.permutation(len(train))
        third = np.isin(np.arange(len(train)), order[: len(train) // 3])
    else:
        groups = np.unique(task.groups[train])
        third = np.isin(task.groups[train], rng.permutation(groups)[: len(groups) // 3])
    return train[~third], train[third]


def cases(top: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Rows with the shares of training, and with others, by their classes of level 1."""
    rng = np.random.default_rng(0)
    yield "as in training", np.arange(len(top))
    classes, code = np.unique(top.astype(str), return_inverse=True)
    for _ in range(DRAWS):
        part = 10 ** rng.uniform(-1, 0, len(classes))
        yield "other shares", np.flatnonzero(rng.random(len(top)) < part[code])
    for frequent in rng.permutation(len(classes))[:DRAWS]:
        part = np.where(np.arange(len(classes)) == frequent, 1.0, 0.1)
        yield "one frequent class", np.flatnonzero(rng.random(len(top)) < part[code])


def gains(model: Any, X: Any, y: np.ndarray) -> Iterator[dict[str, Any]]:
    """How much hF every setting gains on held-out rows of a fitted model, in all cases."""
    models = model._models
    tree, ends = models.hierarchy, models.options.ends
    final = final_proba(models, X)
    training = training_shares(models)
    reference = reference_shares(models, training)
    paths = np.full((len(ends), y.shape[1]), "", dtype=object)
    for k, node in enumerate(ends.tolist()):
        path = tree.path(node)
        paths[k, : len(path)] = path
    for case, some in cases(y[:, 0]):
        true, here = y[some], final[some]
        before = metrics.f1(true, paths[here.argmax(axis=1)])
        for max_iter in ITERATIONS:
            for strength in STRENGTHS:
                how = {"max_iter": max_iter, "strength": float(strength)}
                ratios = estimate(models, here.copy(), reference, **how).ratios
                after = metrics.f1(true, paths[(here * ratios).argmax(axis=1)])
                yield {"case": case, **how, "gain": after - before}


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean gain of every setting, by case and over all cases, and the best setting."""
    means: dict[str, dict[str, float]] = {}
    for key in sorted({(row["max_iter"], row["strength"]) for row in rows}):
        some = [row for row in rows if (row["max_iter"], row["strength"]) == key]
        by_case = {
            case: np.mean([row["gain"] for row in some if row["case"] == case])
            for case in dict.fromkeys(row["case"] for row in some)
        }
        name = f"{key[0]} {key[1]:g}"
        means[name] = {k: round(100 * float(v), 3) for k, v in by_case.items()}
        means[name]["mean"] = round(100 * float(np.mean(list(by_case.values()))), 3)
    best = max(means, key=lambda name: means[name]["mean"])
    return {"means": means, "best": best}


def show(choice: dict[str, Any]) -> str:
    """Mean gains over all cases in points of hF, iterations by strength."""
    rows = [
        (str(n), *(f"{choice['means'][f'{n} {s}']['mean']:+.2f}" for s in STRENGTHS))
        for n in ITERATIONS
    ]
    return table(("`max_iter`", *(f"`strength={s}`" for s in STRENGTHS)), rows)
