"""Models for rows whose class shares differ from those in training; methods of the base class.

``adapted_to`` creates a light copy of a fitted model, as ``restricted_to`` does. Shares are given,
or estimated from rows without labels. The mathematics is in :mod:`hiclass._inference.shares`.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from hiclass._inference.paths import final_proba
from hiclass._inference.shares import (
    MOST_NUMBERS,
    ShareTree,
    adapt,
    estimate,
    given_shares,
    is_number,
    reference_shares,
    smoothed,
    training_shares,
)
from hiclass._rows import n_rows_of, take_rows
from hiclass._state import AdaptedModels
from hiclass._typing import FloatArray
from hiclass._warnings import warn_user


def adapted_to(
    self: Any,
    X: Any = None,
    *,
    prior: Any = None,
    reference: Any = None,
    max_iter: int = 3,
    strength: float = 100.0,
) -> Any:
    """Return a light copy of the fitted model for data with different class shares.

    A model assumes that classes are as frequent in use as in training. If a class is much more
    frequent in use, its probabilities are too low. The copy multiplies the probability of each
    final class by its share in use divided by its share in training, and normalises. The result is
    correct if the probabilities are calibrated and the rows of each class have not changed.

    Parameters
    ----------
    X : rows, default=None
        Unlabelled rows from current use, from which shares are estimated. A few hundred rows reveal
        a large shift; more rows give better estimates. A very large X (more than 20 million
        probabilities of final classes) is subsampled with a fixed seed. Give either ``X`` or
        ``prior``.
    prior : dict or ndarray of shape (n_nodes,), default=None
        The known shares of classes at any level, with labels or path tuples as keys, for example
        ``{"fraud": 0.02}``. The remainder is divided among the other classes in the proportions of
        training. An array has the form of ``prior_``.
    reference : rows, default=None
        Unlabelled rows from the distribution of training that the model was not fitted on. The
        predictions for ``X`` are compared with those for these rows. By default, they are compared
        with the out-of-fold predictions of ``fit``. These are available for models with
        ``calibration="joint"``, for flat and global models with a calibration or
        ``decoding="expected_f1"``, for networks with that decoding, and for ensembles with that
        decoding or ``weights="learned"``.
    max_iter : int, default=3
        The maximum number of iterations. Iterations also stop when the mean log-likelihood of the
        rows increases by less than 1e-6. If the model separates classes poorly, more iterations
        may report shifts that are errors of its probabilities.
    strength : float, default=100.0
        The strength of the regularisation: at every node, the estimated shares are drawn towards
        those of training with the weight of this number of rows. With 0 and ``max_iter=1000``, the
        estimate is the maximum likelihood, which suits very well calibrated models.

    Returns
    -------
    model : same type
        A model that shares the local classifiers. ``prior_`` holds the share of every node and
        ``n_iter_`` the number of iterations. The model can be restricted, saved and adapted again
        (starting from the shares of training), but not updated with ``partial_fit``.

    Raises
    ------
    ValueError
        If both or neither of ``X`` and ``prior`` are given, if a class does not exist, or if the
        shares are not between 0 and 1 or contradict each other.

    Warns
    -----
    UserWarning
        If there are neither reference rows nor out-of-fold predictions. The estimated shares are
        then compared with those of training, which is wrong if probabilities are not calibrated.

    Notes
    -----
    Shares are estimated by expectation maximisation [1]_ with early stopping. They are corrected by
    the mean prediction on held-out rows [2]_ and regularised by a Dirichlet prior at every node, so
    that ``prior_`` is biased towards the shares of training. The prediction of the copy for a row
    does not depend on the other rows of the call.

    References
    ----------
    .. [1] M. Saerens, P. Latinne, C. Decaestecker: Adjusting the outputs of a classifier to new a
       priori probabilities. Neural Computation 14 (2002).
    .. [2] A. Alexandari, A. Kundaje, A. Shrikumar: Maximum likelihood with bias-corrected
       calibration is hard-to-beat at label shift adaptation. ICML (2020).

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode
    >>> X = [[1, 2], [3, 4], [5, 9], [6, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"], ["Plant", "Moss"]]
    >>> model = LocalClassifierPerParentNode().fit(X, y)
    >>> model.predict_proba([[4, 6.5]])[0].round(2)
    array([[0.44, 0.56]])
    >>> forest = model.adapted_to(prior={"Plant": 0.9})
    >>> forest.predict_proba([[4, 6.5]])[0].round(2)
    array([[0.08, 0.92]])
    """
    self._check_fitted()
    if (X is None) == (prior is None):
        raise ValueError(
            "adapted_to requires either X (rows from which class shares are estimated) or prior "
            f"(the shares); got {'neither' if X is None else 'both'}."
        )
    if X is not None:
        # before the models are inspected, because it may move them to a device
        X = self._check_rows(X)
    base = self._models.base if isinstance(self._models, AdaptedModels) else self._models
    training = _known_shares(base, type(self).__name__)
    if prior is not None:
        if reference is not None:
            raise ValueError("reference is only used if shares are estimated from X. Leave it out.")
        adapted = adapt(base, given_shares(base, prior, training), training)
    else:
        how = _check_how(max_iter, strength)
        adapted = _adapt_to_rows(self, base, X, reference, training, **how)
    model = copy.copy(self)
    model.__dict__.pop("guarantee_", None)  # it applies to rows with the shares of calibration
    model._models = adapted
    return model


def _adapt_to_rows(
    self: Any, base: Any, X: Any, reference: Any, training: FloatArray, **how: Any
) -> AdaptedModels:
    """Estimate the shares of classes from rows."""
    final = _final_of_rows(self, base, X)
    if reference is not None:
        counts = _final_of_rows(self, base, self._check_rows(reference)).sum(axis=0)
        expected: FloatArray | None = smoothed(base, counts, training)
    else:
        expected = reference_shares(base, training)
    if expected is None:
        warn_user(
            f"This {type(self).__name__} has no out-of-fold predictions, so the estimated shares "
            "are compared with those of the training rows. This is only valid for calibrated "
            "probabilities. Pass reference=, rows from the distribution of training that the "
            "model was not fitted on, or fit with calibration='joint'."
        )
        expected = training
    found = estimate(base, final, expected, **how)
    shares = training * found.ratios
    return adapt(base, shares / shares.sum(), training, found.n_iter)


def _check_how(max_iter: Any, strength: Any) -> dict[str, Any]:
    if not isinstance(max_iter, int | np.integer) or isinstance(max_iter, bool) or max_iter < 1:
        raise ValueError(f"max_iter must be an integer of at least 1; got {max_iter!r}.")
    if not is_number(strength) or not 0 <= strength < np.inf:
        raise ValueError(f"strength must be a number of rows, 0 or more; got {strength!r}.")
    return {"max_iter": int(max_iter), "strength": float(strength)}


def _final_of_rows(self: Any, models: Any, X: Any) -> FloatArray:
    """The probabilities of final classes for rows, or for a sample of very many rows."""
    n, most = n_rows_of(X), max(1, MOST_NUMBERS // len(models.options.ends))
    if n > most:
        X = take_rows(X, np.sort(np.random.default_rng(0).permutation(n)[:most]))
    parts = self._map(
        lambda chunk: final_proba(models, chunk), X, models.hierarchy.n_nodes, everywhere=True
    )
    return np.concatenate(parts)


def _known_shares(models: Any, name: str) -> FloatArray:
    shares = training_shares(models)
    if shares is None:
        raise ValueError(
            f"The class shares in training are not known, because this {name} was loaded from a "
            "file without them, or all training rows of its classes have weight 0. Fit it again."
        )
    return shares


def prior(self: Any) -> FloatArray:
    """The share of every node among the training rows, or in use after ``adapted_to``.

    Sample weights are taken into account. The share of a node is the sum of those of its children
    and of the rows that end at the node. The root has share 1.
    """
    models = self.__dict__.get("_models")
    if models is None or self._is_about_sets():
        why = "it is not fitted yet" if models is None else "its predictions are sets of classes"
        raise AttributeError(f"This {type(self).__name__} has no prior_: {why}.")
    adapted = isinstance(models, AdaptedModels)
    shares = models.shares if adapted else training_shares(models)
    if shares is None:
        raise AttributeError(
            f"This {type(self).__name__} has no prior_, because it was loaded from a file without "
            "class shares. Fit it again."
        )
    return np.minimum(ShareTree(models).nodes(shares), 1.0)


def n_iter(self: Any) -> int:
    """The number of iterations in which ``adapted_to`` estimated the class shares."""
    models = self.__dict__.get("_models")
    if not isinstance(models, AdaptedModels):
        raise AttributeError(
            f"This {type(self).__name__} has no n_iter_, because it was not created by adapted_to."
        )
    return int(models.n_iter)
