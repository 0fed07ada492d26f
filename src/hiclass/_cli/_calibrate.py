"""Calibrates a model on rows that differ from those that it was fitted on.

The temperature that ``fit`` learns comes from folds of the training rows, and is right for rows
like them. Titles of diagnoses are so similar to one another that a fold is nearly as easy as the
rows that were learned: on other wordings such a model is too sure. Here both figures, the
temperature and the F-score that is expected, are learned from rows like those to come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from hiclass import metrics

#: Where the logarithm of the temperature is looked for.
_BOUNDS = (-4.0, 4.0)
#: The F-score depends on itself: paths stop early where a lower one is expected.
_ROUNDS = 3


def learn_temperature(model: Any, X: Any, y: Any) -> float:
    """Find the temperature with the smallest log loss of the steps of true paths.

    Parameters
    ----------
    model : estimator
        Fitted with ``temperature=1.0``.
    X : rows
        Rows that it was not fitted on.
    y : ndarray of shape (n_rows, n_levels)
        Their paths, all to leaves that the model knows.

    Returns
    -------
    float
    """
    steps = _steps(model.hierarchy_, model.predict_node_proba(X), y)

    def loss(log_temperature: float) -> float:
        scale = np.exp(-log_temperature)
        return sum(
            float((logsumexp(scale * logs, axis=1) - scale * logs[range(len(right)), right]).sum())
            for logs, right in steps
        )

    return float(np.exp(minimize_scalar(loss, bounds=_BOUNDS, method="bounded").x))


def _steps(hierarchy: Any, proba: Any, y: Any) -> list[tuple[Any, Any]]:
    """Per inner node the log probabilities of its children on true paths, and the right child."""
    ends = np.array([hierarchy.find(tuple(path)) for path in y.tolist()])
    steps = []
    for column in hierarchy.ancestor_table.T:
        nodes = column[ends]
        for parent in np.unique(hierarchy.parent[nodes]).tolist():
            rows = np.flatnonzero(hierarchy.parent[nodes] == parent)
            children = hierarchy.children(parent)
            chosen = proba[np.ix_(rows, children)]
            logs = np.log(np.maximum(chosen, np.finfo(np.float64).tiny))
            steps.append((logs, np.searchsorted(children, nodes[rows])))
    return steps


def learn_expected_f1(model: Any, X: Any, y: Any) -> float:
    """Find the F-score that ``decoding="expected_f1"`` reaches on some rows, and set it."""
    f = 0.5
    for _ in range(_ROUNDS):
        f = float(metrics.f1(y, model.set_params(expected_f1=f).predict(X), zero_division=0.0))
    model.set_params(expected_f1=f)
    return f
