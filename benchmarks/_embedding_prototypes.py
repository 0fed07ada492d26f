"""Classifiers of embeddings.py that the library does not have: many linear problems share work.

Both learn one path per row that ends at a leaf, and are no more than what a measurement needs.
"""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.linear_model import LogisticRegression

from hiclass import Hierarchy


class SharedRidge:
    """A ridge regression for the children of every node, from Gram matrices that are shared.

    Parameters
    ----------
    one_matrix : bool
        Whether all nodes have the Gram matrix of all rows, which is factorised once; otherwise a
        node has that of its own rows, the sum of those of its children.
    alpha : float
        The penalty, as of ``RidgeClassifier``.
    """

    def __init__(self, *, one_matrix: bool, alpha: float = 1.0) -> None:
        self.one_matrix, self.alpha = one_matrix, alpha

    def fit(self, X: Any, y: Any) -> "SharedRidge":
        """Learn rows."""
        self.tree, nodes = Hierarchy.from_paths(y, return_nodes=True)
        order = np.argsort(nodes, kind="stable")
        # Nodes are in preorder: the rows of a node are a run.
        X, nodes = X[order].astype(np.float64), nodes[order]
        first = np.searchsorted(nodes, np.arange(self.tree.n_nodes))
        last = np.searchsorted(nodes, self.tree.subtree_end)
        total = np.vstack([np.zeros(X.shape[1]), np.cumsum(X, axis=0)])
        self.n, self.sum = last - first, total[last] - total[first]
        self.coef, self.bias = np.zeros_like(self.sum), np.zeros(self.tree.n_nodes)
        if self.one_matrix:
            self._solve(0, X.T @ X, 1 + np.arange(self.tree.n_nodes - 1))
        else:
            self._descend(0, X, first, last)
        return self

    def _descend(self, node: int, X: Any, first: Any, last: Any) -> Any:
        """Solve all nodes from one on; return the Gram matrix of its rows."""
        children = self.tree.children(node)
        inner = [c for c in children.tolist() if not self.tree.is_leaf[c]]
        if len(inner) == len(children):
            gram = sum(self._descend(c, X, first, last) for c in inner)
        else:
            gram = X[first[node] : last[node]].T @ X[first[node] : last[node]]
            for c in inner:
                self._descend(c, X, first, last)
        self._solve(node, gram, children)
        return gram

    def _solve(self, node: int, gram: Any, classes: Any) -> None:
        mean = self.sum[node] / self.n[node]
        centred = gram - self.n[node] * np.outer(mean, mean)
        centred[np.diag_indices_from(centred)] += self.alpha
        # Targets are 1 and -1.
        right = 2 * (self.sum[classes] - self.n[classes, None] * mean)
        coef = cho_solve(cho_factor(centred), right.T).T
        self.coef[classes] = coef
        self.bias[classes] = 2 * self.n[classes] / self.n[node] - 1 - coef @ mean

    def predict(self, X: Any) -> Any:
        """The best child of every node on the way down."""
        scores = X @ self.coef.T + self.bias
        nodes = np.zeros(len(X), dtype=np.intp)
        for _ in range(self.tree.depth):
            for node in np.unique(nodes[~self.tree.is_leaf[nodes]]):
                at, children = np.flatnonzero(nodes == node), self.tree.children(node)
                nodes[at] = children[scores[np.ix_(at, children)].argmax(axis=1)]
        return paths_of(self.tree, nodes)


class WarmLogistic:
    """A logistic regression over all leaves that is learned level by level.

    The weights of a class begin with those of its parent: ``n_steps`` iterations on each level, and
    up to ``max_iter`` on the last one.
    """

    def __init__(self, *, n_steps: int = 20, max_iter: int = 200) -> None:
        self.n_steps, self.max_iter = n_steps, max_iter

    def fit(self, X: Any, y: Any) -> "WarmLogistic":
        """Learn rows."""
        self.tree, nodes = Hierarchy.from_paths(y, return_nodes=True)
        coef, bias = np.zeros((self.tree.n_nodes, X.shape[1])), np.zeros(self.tree.n_nodes)
        paths = self.tree._paths[nodes].copy()
        for level in range(1, paths.shape[1]):  # a path that is over stays at its leaf
            paths[:, level] = np.where(paths[:, level] < 0, paths[:, level - 1], paths[:, level])
        for level in range(paths.shape[1]):
            is_last = level == paths.shape[1] - 1
            model = LogisticRegression(
                C=10, max_iter=self.max_iter if is_last else self.n_steps, warm_start=True
            )
            model.classes_ = np.unique(paths[:, level])
            levels = self.tree.levels[model.classes_]
            above = np.where(levels > level, self.tree.parent[model.classes_], model.classes_)
            model.coef_, model.intercept_ = coef[above], bias[above]
            model.fit(X, paths[:, level])
            coef[model.classes_], bias[model.classes_] = model.coef_, model.intercept_
        self.model = model
        return self

    def predict(self, X: Any) -> Any:
        """The most probable leaf."""
        return paths_of(self.tree, self.model.predict(X))


def paths_of(tree: Hierarchy, nodes: Any) -> Any:
    """The labels on the way to nodes."""
    paths = tree._paths[nodes]
    return np.where(paths < 0, "", tree.labels[paths])
