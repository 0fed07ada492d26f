"""``MultiLabelForestClassifier``: one forest for rows with several of thousands of classes.

A forest of scikit-learn stores one number per class in every node of every tree: 50 MB per tree for
4,000 classes. Here, trees split on the first principal components of the labels, which contain
almost everything that matters for a split, and leaves store the numbers of their training rows. The
labels are stored once, in sparse form. The prediction is the same as with shares in the leaves: the
mean of the labels of the training rows in the same leaves.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.utils import check_random_state

from hiclass._compat import (
    Interval,
    StrOptions,
    check_is_fitted,
    validate_data,
    validate_parameter_constraints,
)
from hiclass._engine.progress import Progress
from hiclass._estimators.forest import features_per_split
from hiclass._linear.label_ridge import read_indicator
from hiclass._rows import check_weights
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The number of trees that are fitted together. They are reduced before the next ones are fitted.
_AT_ONCE = 10
#: The numbers of feature values, and of pairs of row and tree, that are held while predicting.
_MOST_NUMBERS = 8_000_000


class MultiLabelForestClassifier(ClassifierMixin, BaseEstimator):
    """Extremely randomized trees for rows with several labels.

    All classes share the trees. Memory and time hardly depend on the number of classes, because
    trees split on ``n_components`` combinations of the labels, and leaves store training rows
    instead of one share per class.

    Parameters
    ----------
    n_estimators : int, default=300
        The number of trees.
    min_samples_leaf : int, default=5
        The minimum number of training rows in a leaf.
    max_features : {"auto", "sqrt"} or None, default="auto"
        The number of features considered at a split: "sqrt" for the square root of their number,
        None for all. "auto" uses "sqrt" if two rows have the same value of a feature with
        probability 0.3 or more, on average over the features, otherwise all features (see Notes of
        :class:`GlobalClassifier`).
    n_components : int, default=32
        The number of principal components of the labels on which trees split. If there are no more
        classes than this, trees split on the labels themselves.
    n_jobs : int, default=None
        Number of parallel jobs for fitting trees, with the same meaning as in joblib.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the trees.
    verbose : int, default=0
        1 shows a progress bar on stderr.

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray
        The classes. For an indicator matrix, the array ``[0, 1]`` for every column.
    feature_importances_ : ndarray of shape (n_features,)
        The importance of every feature: its normalised reduction of the variance of the labels.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has column names.

    See Also
    --------
    GlobalClassifier : A hierarchical model with a forest as default.
    sklearn.ensemble.ExtraTreesClassifier : A forest with one share per class in every leaf.

    Notes
    -----
    Missing values (NaN) in dense rows are supported. A model stores four bytes per training row
    and tree, 24 bytes per node of a tree, and the labels of the training rows.

    ``partial_fit`` is not available, because the splits of trees depend on all rows. For batches,
    use for example ``SGDClassifier(loss="log_loss")``.

    Examples
    --------
    >>> from hiclass import FlatClassifier, MultiLabelForestClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
    >>> y = [["cat"], ["cat", "dog"], ["lion"], ["wolf", "lion"]] * 5
    >>> tree = {"feline": ["cat", "lion"], "canine": ["dog", "wolf"]}
    >>> forest = MultiLabelForestClassifier(20, random_state=0)
    >>> model = FlatClassifier(forest, hierarchy=tree, multi_label=True).fit(X, y)
    >>> model.predict([[0, 1], [1, 0]]).tolist()
    [['dog', 'cat'], ['lion']]
    """

    classes_: Any
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_features": [StrOptions({"auto", "sqrt"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        min_samples_leaf: int = 5,
        max_features: str | None = "auto",
        n_components: int = 32,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.n_components = n_components
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultiLabelForestClassifier:
        """Fit the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            The class of every row, or a dense or sparse indicator matrix of 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows with weight 0 are ignored.

        Returns
        -------
        self : MultiLabelForestClassifier
            The fitted model.

        Raises
        ------
        ValueError
            If a parameter is invalid, or y is neither one class per row nor an indicator matrix.
        """
        validate_parameter_constraints(
            self._parameter_constraints,
            self.get_params(deep=False),
            caller_name=type(self).__name__,
        )
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float32,
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
            multi_output=True,
        )
        self.classes_, labels = read_indicator(y)
        weight = check_weights(sample_weight, X)
        if weight is not None:
            weight = weight.astype(np.float64)
            kept = np.flatnonzero(weight > 0)
            X, labels, weight = X[kept], labels[kept], weight[kept]
        rng = check_random_state(self.random_state)
        self._grow(X, self._goal(labels, weight), weight, rng)
        weighted = labels if weight is None else sp.csr_array(labels * weight[:, None])
        # As plain arrays, which files hold without trusted types.
        self._label_data, self._label_columns = weighted.data, weighted.indices.astype(np.int32)
        self._label_starts = weighted.indptr.astype(np.int64)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of every class.

        It is the mean of the labels of the training rows in the same leaves.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probability of every class. For an indicator matrix, the probability of 1 in every
            column.
        """
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            dtype=np.float32,
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
            reset=False,
        )
        n_trees, n_rows = len(self._roots), len(self._label_starts) - 1
        labels = sp.csr_array(
            (self._label_data, self._label_columns, self._label_starts),
            shape=(n_rows, len(self.classes_)),
        )
        proba = np.empty((X.shape[0], labels.shape[1]))
        # The training rows in the same leaves as a row: almost all rows, if leaves are large.
        shared = min(n_rows, int((np.diff(self._starts) ** 2.0).sum() / n_rows))
        size = max(1, _MOST_NUMBERS // max(X.shape[1], 10 * n_trees, labels.shape[1], shared))
        # The row numbers of every leaf.
        ones = np.ones(len(self._rows), dtype=np.float32)
        members = sp.csr_array(
            (ones, self._rows, self._starts), shape=(len(self._starts) - 1, n_rows)
        )
        for part in (members, labels):  # which may come from a file
            part.check_format(full_check=True)
        for first in range(0, X.shape[0], size):
            leaves = self._apply(X[first : first + size])
            places = np.arange(0, leaves.size + 1, n_trees)
            share = 1 / (n_trees * self._sizes[leaves.ravel()])
            found = sp.csr_array(
                (share, leaves.ravel(), places), shape=(len(leaves), members.shape[0])
            )
            proba[first : first + size] = (found @ members @ labels).toarray()
        return np.clip(proba, 0.0, 1.0, out=proba)

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of every row, or an indicator matrix.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The most probable class. For an indicator matrix, 1 if the probability is above 0.5.
        """
        proba = self.predict_proba(X)
        if isinstance(self.classes_, list):
            return (proba > 0.5).astype(np.intp)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    # -- fitting ---------------------------------------------------------------------------------

    def _goal(self, labels: Any, weight: FloatArray | None) -> FloatArray:
        """The target of the trees: the labels, or their first principal components."""
        n_rows, n_classes = labels.shape
        if self.n_components >= min(n_rows, n_classes):
            return np.asarray(labels.toarray(), dtype=np.float64)
        # The mean is not subtracted, because this would make all labels dense. Splits do not depend
        # on it. It needs one additional component.
        n_components = min(self.n_components + 1, n_rows, n_classes)
        weighted = labels if weight is None else sp.csr_array(labels * np.sqrt(weight)[:, None])
        # scikit-learn divides by the variance, which is zero if all rows have the same labels.
        with np.errstate(divide="ignore", invalid="ignore"):
            reduction = TruncatedSVD(n_components, random_state=0).fit(weighted)
        return np.asarray(reduction.transform(labels), dtype=np.float64)

    def _grow(self, X: Any, goal: FloatArray, weight: FloatArray | None, rng: Any) -> None:
        """Fit the trees in groups, and keep what is needed for predictions."""
        max_features = self.max_features
        if max_features == "auto":
            max_features = None if features_per_split(X) == 1.0 else "sqrt"
        goal = goal[:, 0] if goal.shape[1] == 1 else goal
        at_once = max(_AT_ONCE, joblib.effective_n_jobs(self.n_jobs))
        trees, leaves, importances = [], [], np.zeros(X.shape[1])
        with Progress(self.n_estimators, "Growing trees", enabled=self.verbose > 0) as progress:
            for first in range(0, self.n_estimators, at_once):
                n_trees = min(at_once, self.n_estimators - first)
                for k in range(n_trees):
                    progress.begin(first + k, lambda: "a tree for all classes", 1)
                forest = ExtraTreesRegressor(
                    n_trees,
                    min_samples_leaf=self.min_samples_leaf,
                    max_features=max_features,
                    n_jobs=self.n_jobs,
                    random_state=rng,  # one seed per tree, the same for any n_jobs
                ).fit(X, goal, weight)
                leaves.append(forest.apply(X).astype(np.int32))
                trees += [tree.tree_ for tree in forest.estimators_]
                importances += n_trees * forest.feature_importances_
                trees[-n_trees:] = [_thin(tree) for tree in trees[-n_trees:]]
                for k in range(n_trees):
                    progress.finish(first + k)
        total = importances.sum()
        self.feature_importances_ = importances / total if total else importances
        self._keep(trees, np.hstack(leaves), weight)

    def _keep(
        self, trees: list[dict[str, AnyArray]], leaves: IntArray, weight: FloatArray | None
    ) -> None:
        """All trees in a few arrays, with consecutive numbers of nodes."""
        n_nodes = np.array([len(tree["feature"]) for tree in trees])
        self._depth = max(int(tree["depth"]) for tree in trees)
        self._roots = (np.cumsum(n_nodes) - n_nodes).astype(np.int32)
        for name in ("left", "right"):
            parts = [t[name] + root for t, root in zip(trees, self._roots, strict=True)]
            setattr(self, f"_{name}", np.concatenate(parts).astype(np.int32))
        for name in ("feature", "limit", "missing_left"):
            setattr(self, f"_{name}", np.concatenate([tree[name] for tree in trees]))
        nodes = (leaves + self._roots).ravel()
        n_total = int(n_nodes.sum())
        self._rows = (np.argsort(nodes, kind="stable") // leaves.shape[1]).astype(np.int32)
        counts = np.bincount(nodes, minlength=n_total)
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        each = None if weight is None else np.repeat(weight, leaves.shape[1])
        # Inner nodes hold no rows, because no row ends there.
        self._sizes = np.maximum(np.bincount(nodes, each, n_total), np.finfo(float).tiny)

    # -- predicting ------------------------------------------------------------------------------

    def _apply(self, X: Any) -> IntArray:
        """The leaf of every row in every tree."""
        X = X.toarray() if sp.issparse(X) else X
        nodes = np.tile(self._roots, (len(X), 1))
        flat = nodes.ravel()
        rows = np.repeat(np.arange(len(X)), len(self._roots))
        going = np.flatnonzero(self._feature[flat] >= 0)
        for _ in range(self._depth):
            here = flat[going]
            values = X[rows[going], self._feature[here]]
            goes_left = values <= self._limit[here]
            missing = np.isnan(values)
            if missing.any():
                goes_left[missing] = self._missing_left[here[missing]]
            there = np.where(goes_left, self._left[here], self._right[here])
            flat[going] = there
            going = going[self._feature[there] >= 0]
        return flat.reshape(nodes.shape)


def _thin(tree: Any) -> dict[str, AnyArray]:
    """The part of a tree that is needed to find the leaf of a row; leaves have the feature -1."""
    is_leaf = tree.children_left < 0
    return {
        "left": np.where(is_leaf, 0, tree.children_left),
        "right": np.where(is_leaf, 0, tree.children_right),
        "feature": np.where(is_leaf, -1, tree.feature).astype(np.int32),
        "limit": tree.threshold.copy(),
        "missing_left": np.asarray(tree.missing_go_to_left, dtype=bool),
        "depth": np.asarray(tree.max_depth),
    }
