"""Does the hierarchy help? A flat model, a local model and both, cross-validated on the same rows.

All three have the same features, classifier and folds, and differ only in their use of the
hierarchy. The flat and the local model are members of the ensemble, so one fit per fold gives all
three.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from hiclass._automatic.features import TableFeatures
from hiclass._estimators.ensemble import EnsembleClassifier
from hiclass._estimators.flat import FlatClassifier
from hiclass._estimators.local import LocalClassifierPerParentNode
from hiclass._labels.columns import read_labels
from hiclass._rows import n_rows_of, take_rows
from hiclass._targets.paths import check_n_labels, nodes_of
from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.model_selection import HierarchicalKFold, read_groups

#: The models that are compared, in the order of tables.
MODELS = ("flat", "local", "both")
#: Scores by name: numerator and denominator of summed rows to a number.
SCORES: dict[str, str] = {"exact": "exact match", "f1": "hierarchical F1"}
_N_RESAMPLES = 1_000
_MAX_CELLS = 10_000_000
#: Warnings of local classifiers on small folds, which a user cannot avoid.
_NOT_FOR_USERS = ("The number of unique classes", "lbfgs failed to converge", "Liblinear failed")


@dataclass(frozen=True, eq=False)
class FlatComparison:
    """Result of :func:`compare_flat`: scores of a flat model, a local model and both combined.

    Parameters
    ----------
    scores : dict of dict of float
        Out-of-fold scores by model ("flat", "local", "both"), each with "exact" (share of rows
        whose whole path is correct) and "f1" (micro-averaged hierarchical F1).
    differences : dict of dict of tuple
        For "local" and "both", and each score: the difference from the flat model, and the lower
        and upper end of its 95 % interval.
    weights : ndarray of shape (2,)
        Mean weights of the flat and the local model in the combination.
    n_samples : int
        Number of rows.
    n_folds : int
        Number of folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hiclass import compare_flat
    >>> X, species = load_iris(return_X_y=True)
    >>> paths = [["small", "setosa"], ["large", "versicolor"], ["large", "virginica"]]
    >>> found = compare_flat(X, [paths[s] for s in species], cv=3)
    >>> found.helps
    False
    >>> [sorted(found.scores[name]) for name in found.scores]
    [['exact', 'f1'], ['exact', 'f1'], ['exact', 'f1']]
    """

    scores: dict[str, dict[str, float]]
    differences: dict[str, dict[str, tuple[float, float, float]]]
    weights: FloatArray
    n_samples: int
    n_folds: int

    @property
    def helps(self) -> bool:
        """Whether a model with the hierarchy is significantly better by hierarchical F1."""
        return any(found["f1"][1] > 0 for found in self.differences.values())

    @property
    def verdict(self) -> str:
        """The verdict in two sentences, one per score."""
        return " ".join(self._sentence(score) for score in SCORES)

    def _sentence(self, score: str) -> str:
        found = {name: self.differences[name][score] for name in self.differences}
        better = {name: d for name, d in found.items() if d[1] > 0}
        worse = {name: d for name, d in found.items() if d[2] < 0}
        what = SCORES[score]
        if better:
            name = max(better, key=lambda n: better[n][0])
            model = {"local": "the local model", "both": "the combination"}[name]
            return f"The hierarchy helps {what}: {model} gains {_points(better[name])} over flat."
        if len(worse) == len(found):
            name = max(worse, key=lambda n: worse[n][0])
            return (
                f"The hierarchy hurts {what}: even the better model loses {_points(worse[name])}."
            )
        return f"No significant difference in {what} with {self.n_samples:,} rows."

    def __str__(self) -> str:
        lines = [f"{'':8}{'exact match':>13}{'F1':>8}"]
        for name, score in self.scores.items():
            lines.append(f"{name:8}{score['exact']:>13.3f}{score['f1']:>8.3f}")
        for name, found in self.differences.items():
            text = "; ".join(f"{SCORES[key]} {_points(found[key])}" for key in SCORES)
            lines.append(f"{name} minus flat: {text}")
        return "\n".join([*lines, self.verdict])

    def __repr__(self) -> str:
        text = ", ".join(f"{name} F1={score['f1']:.3f}" for name, score in self.scores.items())
        return f"FlatComparison({text})"


def _points(difference: tuple[float, float, float]) -> str:
    """A difference in points, with its interval."""
    middle, low, high = (f"{100 * value:+.1f}" for value in difference)
    return f"{middle} points [{low}, {high}]"


def compare_flat(
    X: Any,
    y: Any,
    *,
    local_classifier: Any = None,
    features: Any = None,
    cv: int = 3,
    groups: Any = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
    progress: Callable[[int], None] | None = None,
) -> FlatComparison:
    """Cross-validate a flat model, a local model and both combined, to see if the hierarchy helps.

    Parameters
    ----------
    X : table, texts or matrix
        The rows, in any form that :class:`TableFeatures` accepts.
    y : array-like
        One path per row.
    local_classifier : estimator, default=None
        The classifier of all three models. By default, a ``LinearSVC`` for sparse features and a
        logistic regression on scaled features for dense features.
    features : transformer, default=None
        The transformer that computes features from X, fitted in every fold. By default,
        ``TableFeatures()``.
    cv : int, default=3
        Number of folds.
    groups : array-like of shape (n_samples,), default=None
        The group of every row. Rows of a group are kept together, in folds and in resamples.
    n_jobs : int, default=None
        Number of parallel jobs for fitting local classifiers, with the same meaning as in joblib.
    random_state : int or None, default=0
        Controls the folds, the classifiers and the resamples.
    progress : callable, default=None
        Called with the number of each fold, starting at 1, before it is fitted.

    Returns
    -------
    FlatComparison
        Scores, paired differences with 95 % intervals, and a verdict in words.

    Raises
    ------
    ValueError
        If X and y have different lengths, or if there is only one final class or one level.

    See Also
    --------
    HierarchicalClassifier : Choose between such models automatically.

    Notes
    -----
    All models are calibrated by a temperature and predict the most probable path. The combination
    is their product with learned weights. Intervals come from 1,000 paired bootstrap resamples of
    the rows, or of the groups. They do not include the variation over training sets.

    Examples
    --------
    >>> import numpy as np
    >>> from hiclass import compare_flat
    >>> leaf = np.arange(120) % 4
    >>> X = np.eye(4)[leaf] + np.random.default_rng(0).normal(scale=0.3, size=(120, 4))
    >>> y = [[["a", "b"][k // 2], "abcd"[k]] for k in leaf]
    >>> found = compare_flat(X, y)
    >>> list(found.scores)
    ['flat', 'local', 'both']
    """
    hierarchy = Hierarchy.from_paths(y)
    nodes = nodes_of(read_labels(y), hierarchy)
    check_n_labels(len(nodes), n_rows_of(X))
    if len(np.unique(nodes)) < 2:
        raise ValueError(
            "y has a single final class, so there is nothing to compare. Pass rows of at least "
            "two classes."
        )
    if max(hierarchy.levels) < 2:
        raise ValueError(
            "y has one level, so a flat and a local model are the same. Pass one column per level."
        )
    unit = None if groups is None else read_groups(groups, len(nodes))
    ancestors = _paths(hierarchy)
    counts = {name: np.zeros((len(nodes), 3), dtype=np.int64) for name in MODELS}
    weights = []
    folds = HierarchicalKFold(cv, shuffle=True, random_state=random_state)
    for number, (train, test) in enumerate(folds.split(X, y, groups), start=1):
        if progress is not None:
            progress(number)
        made = TableFeatures() if features is None else clone(features)
        rows = made.fit_transform(take_rows(X, train))
        model = _make(rows, local_classifier, n_jobs, random_state)
        given = {} if unit is None else {"groups": unit[train]}
        with warnings.catch_warnings():
            for message in _NOT_FOR_USERS:
                warnings.filterwarnings("ignore", message=message)
            model.fit(rows, take_rows(y, train), **given)
        held_out = made.transform(take_rows(X, test))
        weights.append(model.weights_)
        for name, member in _members(model).items():
            found = nodes_of(read_labels(member.predict(held_out)), hierarchy)
            counts[name][test] = _count(ancestors, nodes[test], found)
    return _compare(counts, np.mean(weights, axis=0), unit, cv, random_state)


def _make(X: Any, given: Any, n_jobs: int | None, seed: int | None) -> EnsembleClassifier:
    """The combination of a flat and a local model with the same classifier."""
    if given is not None:
        classifier = given
    elif sp.issparse(X):
        classifier = LinearSVC(dual=True, tol=0.01, max_iter=5000)
    else:
        classifier = make_pipeline(
            StandardScaler().set_output(transform="default"),
            LogisticRegression(max_iter=300, tol=1e-3),
        )
    common: dict[str, Any] = {"calibration": "temperature", "decoding": "best_path"}
    common |= {"n_jobs": n_jobs, "random_state": seed}
    flat = FlatClassifier(clone(classifier), **common)
    local = LocalClassifierPerParentNode(clone(classifier), **common)
    return EnsembleClassifier([("flat", flat), ("local", local)], weights="learned")


def _members(model: EnsembleClassifier) -> dict[str, Any]:
    return {**model.named_models_, "both": model}


def _paths(hierarchy: Hierarchy) -> IntArray:
    """Nodes x levels: the ancestors of every node from level 1 down, itself last, then -1."""
    levels = np.asarray(hierarchy.levels)
    table = np.full((hierarchy.n_nodes, int(levels.max())), -1, dtype=np.intp)
    for node in range(1, hierarchy.n_nodes):
        parent = int(hierarchy.parents(node)[0])
        table[node] = table[parent]
        table[node, levels[node] - 1] = node
    return table


def _count(ancestors: IntArray, true: IntArray, found: IntArray) -> IntArray:
    """Per row: common classes, predicted classes, true classes."""
    a, b = ancestors[true], ancestors[found]
    common = ((a == b) & (a >= 0)).sum(axis=1)
    return np.column_stack([common, (b >= 0).sum(axis=1), (a >= 0).sum(axis=1)])


def _exact(counts: IntArray) -> FloatArray:
    """Per row: whether the whole path is correct, as numerator and denominator."""
    right = (counts[:, 0] == counts[:, 1]) & (counts[:, 1] == counts[:, 2])
    return np.column_stack([right, np.ones(len(right))]).astype(np.float64)


def _f1(counts: IntArray) -> FloatArray:
    """Per row: twice the common classes, and predicted plus true classes."""
    return np.column_stack([2 * counts[:, 0], counts[:, 1] + counts[:, 2]]).astype(np.float64)


def _compare(
    counts: dict[str, IntArray],
    weights: FloatArray,
    unit: IntArray | None,
    n_folds: int,
    seed: int | None,
) -> FlatComparison:
    """Scores and paired differences of the counts."""
    scores: dict[str, dict[str, float]] = {name: {} for name in MODELS}
    differences: dict[str, dict[str, tuple[float, float, float]]] = {"local": {}, "both": {}}
    for score, per_row in (("exact", _exact), ("f1", _f1)):
        parts = {name: per_row(found) for name, found in counts.items()}
        if unit is not None:
            parts = {name: _sum_by(found, unit) for name, found in parts.items()}
        for name, found in parts.items():
            top, bottom = found.sum(axis=0)
            scores[name][score] = float(top / bottom)
        for name in differences:
            differences[name][score] = _interval(parts[name], parts["flat"], seed)
    return FlatComparison(scores, differences, weights, len(counts["flat"]), n_folds)


def _sum_by(values: FloatArray, unit: IntArray) -> FloatArray:
    total = np.zeros((int(unit.max()) + 1, values.shape[1]))
    np.add.at(total, unit, values)
    return total


def _interval(a: FloatArray, b: FloatArray, seed: int | None) -> tuple[float, float, float]:
    """The difference of two ratios of sums, with its 95 % interval over paired resamples."""
    rng, share = np.random.default_rng(seed), np.full(len(a), 1 / len(a))
    differences = []
    # In chunks, because a million rows times a thousand resamples would not fit into memory.
    step = max(_MAX_CELLS // len(a), 1)
    for start in range(0, _N_RESAMPLES, step):
        draws = rng.multinomial(len(a), share, min(step, _N_RESAMPLES - start))
        differences.append(_ratio(draws @ a) - _ratio(draws @ b))
    low, high = np.percentile(np.concatenate(differences), [2.5, 97.5])
    return float(_ratio(a.sum(axis=0)) - _ratio(b.sum(axis=0))), float(low), float(high)


def _ratio(sums: FloatArray) -> FloatArray:
    return sums[..., 0] / sums[..., 1]
