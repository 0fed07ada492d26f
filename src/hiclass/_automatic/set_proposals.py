"""Candidate models for rows that are sets of classes, and their parameters.

For dense rows, there are three kinds of models that make different errors: a forest and a kernel
ridge regression, each for all classes at once, and networks with two hidden layers. For sparse
rows, there are the regression and a logistic regression per node. Parameters that depend on the
task are chosen on held-out rows: the smallest leaves, the width and regularisation of similarities,
and the number of epochs of networks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass._automatic.proposals import Effort, Proposal, propose_sets, ready
from hiclass._compat import routing_enabled
from hiclass._estimators.flat import FlatClassifier
from hiclass._estimators.label_forest import MultiLabelForestClassifier
from hiclass._linear.kernel_ridge import median_squared_distance
from hiclass._linear.label_ridge import MultiLabelKernelRidgeClassifier
from hiclass._out_of_fold.rankings import Ranking
from hiclass._targets.sets import SetTarget
from hiclass._typing import AnyArray, IntArray

#: The smallest numbers of rows of a leaf that are tried.
LEAVES = (2, 3, 5)
_WIDTHS = (0.5, 0.75, 1.0, 1.5, 2.5, 4.0)
_ALPHAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
#: The largest numbers of rows and classes with which similarities are tuned.
_MOST_FITTED, _MOST_HELD_OUT, _MOST_CLASSES = 2_000, 1_000, 500
_MOST_LEFT_OUT = 1_000
#: The widths of hidden layers and the other settings of a network, chosen on held-out training rows
#: of several tasks, on which other values were not better.
_HIDDEN = (1000, 700, 500, 350, 250)
_NETWORK: dict[str, Any] = {
    "dropout": 0.6,
    "learning_rate": 6e-4,
    "penalty": 0.0,
    "loss": "each",
    "decay": False,
}
_MOST_EPOCHS, _USUAL_EPOCHS = 250, 50
#: The number of multiplications of a usual training, by effort.
_NETWORK_WORK = {"balanced": 1.2e12, "best": 4e12}
#: Kernel machines and forests: as for paths.
_MOST_FOR_KERNEL = 200_000


@dataclass(frozen=True)
class SetSettings:
    """The settings of all models.

    Attributes
    ----------
    effort : Effort
        The effort.
    common : dict
        ``n_jobs``, ``random_state`` and ``verbose``.
    """

    effort: Effort
    common: dict[str, Any]

    @property
    def flat(self) -> dict[str, Any]:
        """Parameters of hierarchical models."""
        return {**self.common, "multi_label": True}

    @property
    def seed(self) -> int:
        """For what is tuned."""
        return int(self.common["random_state"] % 2**31)


def propose_forest(settings: SetSettings, n_trees: int, min_samples_leaf: int) -> Proposal:
    """A forest for all classes."""
    forest = MultiLabelForestClassifier(
        n_trees,
        min_samples_leaf=min_samples_leaf,
        n_jobs=settings.common["n_jobs"],
        verbose=settings.common["verbose"],
    )
    says = f"a forest for all classes, with leaves of at least {min_samples_leaf} rows"
    return Proposal("forest", FlatClassifier(ready(forest), **settings.flat), says)


def propose_ridge(settings: SetSettings, params: dict[str, Any]) -> Proposal:
    """A kernel ridge regression for all classes."""
    given = {k: v for k, v in params.items() if k != "scaled"}
    ridge: Any = ready(MultiLabelKernelRidgeClassifier(**given))
    if params.get("scaled", True):
        scaler = StandardScaler().set_output(transform="default")
        if routing_enabled():
            scaler.set_fit_request(sample_weight=False)
        ridge = make_pipeline(scaler, ridge)
    says = "a kernel ridge regression for all classes"
    return Proposal("ridge", FlatClassifier(ridge, **settings.flat), says)


def propose_linear(settings: SetSettings) -> Proposal:
    """A logistic regression per node."""
    return replace(propose_sets(None, settings.flat), name="linear")


def propose_network(
    settings: SetSettings, n_rows: int, n_columns: int, n_nodes: int
) -> Proposal | str:
    """A network for all classes, or the reason why there is none."""
    if find_spec("torch") is None:
        return "PyTorch is not installed"
    per_width = [n_columns * h + h * h + h * n_nodes for h in _HIDDEN]
    most = _NETWORK_WORK[settings.effort.name]
    fits = [
        h
        for h, n_weights in zip(_HIDDEN, per_width, strict=True)
        if h <= max(4 * n_rows, _HIDDEN[-1]) and 3.0 * n_rows * n_weights * _USUAL_EPOCHS <= most
    ]
    if not fits:
        return "too much work for so many rows and classes"
    from hiclass.torch import HierarchicalSoftmaxClassifier

    common = {k: v for k, v in settings.flat.items() if k != "n_jobs"}
    model = HierarchicalSoftmaxClassifier(
        hidden_layers=(fits[0], fits[0]),
        batch_size=int(np.clip(n_rows // 32, 16, 128)),
        max_epochs=_MOST_EPOCHS,
        patience=_MOST_EPOCHS,
        **_NETWORK,
        **common,
    )
    return Proposal("network", model, f"a network with two hidden layers of {fits[0]}")


def kernel_fits(n_rows: int) -> bool:
    """Whether a kernel machine is affordable."""
    return n_rows <= _MOST_FOR_KERNEL


def kernel_is_exact(n_rows: int) -> bool:
    """Whether a kernel machine uses all rows instead of landmarks."""
    return n_rows <= 2 * int(MultiLabelKernelRidgeClassifier().n_landmarks)


def tune_ridge(
    X: Any,
    target: SetTarget,
    measure: str,
    seed: int,
    fold: tuple[IntArray, IntArray] | None = None,
    weights: AnyArray | None = None,
) -> dict[str, Any]:
    """Width, strength and scale of the regression, by scores on held-out rows.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The rows; sparse ones are not scaled.
    target : SetTarget
        Their sets.
    measure : str
        As in ``Ranking``.
    seed : int
        For the choice of rows.
    fold : tuple of ndarray of int, default=None
        Rows to fit on, and rows to measure on; by default every row is left out once.
    weights : ndarray, default=None
        Sample weights of all rows.

    Returns
    -------
    dict
        ``alpha``, ``width`` and ``scaled``.
    """
    rng = np.random.default_rng(seed)
    if fold is None:
        fitted = held_out = _some(np.arange(target.n_rows), _MOST_LEFT_OUT, rng)
    else:
        fitted, held_out = _some(fold[0], _MOST_FITTED, rng), _some(fold[1], _MOST_HELD_OUT, rng)
    measured = None if weights is None else weights[held_out]
    weights = np.ones(target.n_rows) if weights is None else weights
    n_in = np.asarray(target.closed[fitted].sum(axis=0)).reshape(-1)
    n_in[n_in == len(fitted)] = 0
    nodes = np.sort(np.argsort(-n_in, kind="stable")[:_MOST_CLASSES])
    labels = target.closed[fitted][:, nodes].toarray().astype(np.float32)
    share = np.average(labels, axis=0, weights=weights[fitted]).astype(np.float32)
    # A row of weight two counts as two rows, in its error and its similarities.
    root = np.sqrt(weights[fitted]).astype(np.float32)[:, None]
    ranking = Ranking(target.closed[held_out][:, nodes], measured, measure)
    best, params = -np.inf, {"alpha": 1.0, "width": 1.5, "scaled": not sp.issparse(X)}
    if ranking.is_empty or len(fitted) < 2:
        return params
    for scaled in (False,) if sp.issparse(X) else (True, False):
        rows, others = X[fitted], X[held_out]
        if not sp.issparse(X):
            scaler = StandardScaler(with_mean=True, with_std=scaled)
            scaler.set_output(transform="default").fit(rows)
            rows, others = scaler.transform(rows), scaler.transform(others)
        unit = median_squared_distance(rows, weights[fitted], np.random.RandomState(seed))
        near = euclidean_distances(rows, squared=True)
        far = None if fold is None else euclidean_distances(others, rows, squared=True)
        for width in _WIDTHS:
            factor = -(width**2) * unit
            kernel = np.exp(near / factor).astype(np.float32) * root * root.T
            values, vectors = eigh(kernel, driver="evd", overwrite_a=True, check_finite=False)
            values = np.maximum(values, 0)
            turned = vectors.T @ (root * (labels - share))
            squared = np.square(vectors) if far is None else None
            similar = None if far is None else np.exp(far / factor).astype(np.float32)
            similar = None if similar is None else similar @ (root * vectors)
            for alpha in _ALPHAS:
                shrunk = 1 / (values + np.float32(alpha))
                if similar is None:
                    left = vectors @ (turned * shrunk[:, None]) / (squared @ shrunk)[:, None]
                    found = labels - left / root
                else:
                    found = similar @ (turned * shrunk[:, None]) + share
                score = ranking.score(ranking.pairs(found))
                if score > best:
                    best, params = score, {"alpha": alpha, "width": width, "scaled": scaled}
    return params


def _some(rows: IntArray, most: int, rng: Any) -> IntArray:
    return np.sort(rng.choice(rows, most, replace=False)) if len(rows) > most else rows
