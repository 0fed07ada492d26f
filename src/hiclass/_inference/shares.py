"""Class shares that differ from those in training: given, or estimated from rows.

Let a model know P(c | x) for the shares t(c) of the final classes in training. For other shares
q(c), P'(c | x) is proportional to P(c | x) q(c) / t(c), if the rows of every class have not
changed. If q is unknown, it is estimated from rows without labels by expectation maximisation
(Saerens, Latinne, Decaestecker 2002), with three additions. Without them, predictions for many
small classes become worse even if nothing has shifted:

- The mean probability of a class may differ from its share. Estimates are therefore compared with
  the mean on held-out rows, not with the shares of labels (Alexandari, Kundaje, Shrikumar 2020).
- Most classes have few rows. At every node, the shares of its branches are shrunk towards those of
  held-out rows, as if there were ``strength`` additional rows with these shares: a Dirichlet prior.
  Shares therefore change at the top of the tree, where there are many rows, and deeper only as far
  as there is evidence.
- There are few iterations. If the model hardly separates classes, every iteration increases the
  error of the estimate. If it does separate them, few iterations are sufficient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import xlogy

from hiclass._inference.paths import strategy_of, sum_final
from hiclass._state import AdaptedModels, EnsembleModels, LocalModels, RestrictedModels
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The largest number of probabilities kept to estimate shares; beyond it, fewer rows are used.
MOST_NUMBERS = 20_000_000
#: The iteration stops if the mean log-likelihood of the rows increases by less.
TOLERANCE = 1e-6
#: The number of rows by which the mean on held-out rows is shrunk towards the shares in training.
_REFERENCE_STRENGTH = 10.0
#: The tolerance of sums, for shares that were rounded.
_ROUNDING = 1e-6


# -- the shares of a fitted model ----------------------------------------------------------------


def training_shares(models: Any) -> FloatArray | None:
    """The share of every final class among the training rows; None if unknown."""
    if isinstance(models, EnsembleModels):
        return training_shares(models.members[0])
    if isinstance(models, RestrictedModels):
        return _of_some(models, training_shares(models.base))
    if models.own_weight is None:
        return None
    return _shares_of(models, models.own_weight)


def reference_shares(models: Any, training: FloatArray) -> FloatArray | None:
    """The mean probability of every final class on rows like those in training, if known."""
    if isinstance(models, RestrictedModels):
        base = training_shares(models.base)
        assert base is not None  # ``training`` is derived from it
        return _of_some(models, reference_shares(models.base, base))
    expected = models.expected_own
    if expected is None or not expected[models.options.ends].sum() > 0:
        return None
    return smoothed(models, expected[models.options.ends], training)


def smoothed(models: Any, counts: FloatArray, training: FloatArray) -> FloatArray:
    """Shares from counts of held-out rows, shrunk slightly towards the shares in training."""
    tree = ShareTree(models)
    return tree.drawn(counts, tree.given_source(training), _REFERENCE_STRENGTH)


def _of_some(models: RestrictedModels, shares: FloatArray | None) -> FloatArray | None:
    """The shares of the classes that a model is restricted to."""
    if shares is None:
        return None
    some = shares[np.searchsorted(models.base.options.ends, models.options.ends)]
    return np.asarray(some / some.sum()) if some.sum() > 0 else None


def _shares_of(models: LocalModels, weight: FloatArray) -> FloatArray | None:
    """Shares from the weights of training rows; negative weights count as 0."""
    weight = np.maximum(weight, 0.0)
    ends = models.options.ends
    own = weight[ends]
    if not own.sum() > 0:
        return None
    tree = ShareTree(models)
    shares = np.asarray(own / own.sum())
    if own.sum() == weight.sum() or _only_final(models):
        return shares
    # With leaf_only, rows that end at an inner node train its ancestors: a branch has the share of
    # all rows that take it, and rows that end at its source are distributed like the others.
    inside = _summed_up(models.hierarchy, weight)
    branch = np.where(tree.stops, weight[tree.target], inside[tree.target])
    return tree.multiplied(_divided(branch, tree.total(branch)[tree.source]))


def _only_final(models: Any) -> bool:
    """Whether models learn only from rows that end at a final class, as class-text models do."""
    return not hasattr(models, "strategy") or strategy_of(models).only_final


def _summed_up(hierarchy: Any, weight: FloatArray) -> FloatArray:
    total = weight.copy()
    for nodes in reversed(hierarchy.nodes_by_level[1:]):
        np.add.at(total, hierarchy.parent[nodes], total[nodes])
    return total


# -- shares in a tree ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ShareTree:
    """Shares of final classes as shares of branches, given the node from which they start."""

    models: Any

    @cached_property
    def source(self) -> IntArray:
        """The node from which each branch starts."""
        options = self.models.options
        return np.repeat(np.arange(len(options.indptr) - 1), np.diff(options.indptr))

    @cached_property
    def target(self) -> IntArray:
        """The node to which each branch leads; its source for "stop here"."""
        return np.asarray(self.models.options.indices)

    @cached_property
    def stops(self) -> AnyArray:
        """Which branches are "stop here"."""
        return np.asarray(self.source == self.target)

    @cached_property
    def _column(self) -> IntArray:
        """The column of every final class, by node."""
        column = np.zeros(self.models.hierarchy.n_nodes, dtype=np.intp)
        column[self.models.options.ends] = np.arange(len(self.models.options.ends))
        return column

    @cached_property
    def _by_level(self) -> list[tuple[IntArray, IntArray]]:
        """The branches from each level, separately for children and stops."""
        level = self.models.hierarchy.levels[self.source]
        here = [np.flatnonzero(level == k) for k in range(self.models.hierarchy.depth)]
        return [(at[~self.stops[at]], at[self.stops[at]]) for at in here]

    def nodes(self, shares: FloatArray) -> FloatArray:
        """The share of every node: the sum over the final classes at or below it."""
        return np.asarray(sum_final(self.models, shares[None])[0])

    def branches(self, shares: FloatArray) -> FloatArray:
        """The share of every branch."""
        stopping = shares[self._column[self.target]]
        return np.where(self.stops, stopping, self.nodes(shares)[self.target])

    def total(self, branch: FloatArray) -> FloatArray:
        """The sum over the branches of every node."""
        n = self.models.hierarchy.n_nodes
        return np.asarray(np.bincount(self.source, weights=branch, minlength=n), dtype=np.float64)

    def given_source(self, shares: FloatArray) -> FloatArray:
        """The share of every branch among those of its source."""
        branch = self.branches(shares)
        return _divided(branch, self.total(branch)[self.source])

    def multiplied(self, given: FloatArray) -> FloatArray:
        """Shares of final classes, from the shares of branches given their source."""
        ends = self.models.options.ends
        node = np.zeros(self.models.hierarchy.n_nodes)
        node[0] = 1.0
        shares = np.zeros(len(ends))
        for on, stop in self._by_level:
            node[self.target[on]] = node[self.source[on]] * given[on]
            shares[self._column[self.target[stop]]] = node[self.source[stop]] * given[stop]
        leaf = np.diff(self.models.options.indptr)[ends] == 0
        shares[leaf] = node[ends[leaf]]
        return np.asarray(shares / shares.sum())

    def drawn(self, counts: FloatArray, centre: FloatArray, strength: float) -> FloatArray:
        """Shares from counts, with ``strength`` additional rows like ``centre`` at every node."""
        if not strength:
            return np.asarray(counts / counts.sum())
        branch = self.branches(counts)
        total = self.total(branch)[self.source] + strength
        return self.multiplied((branch + strength * centre) / total)


def _divided(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


# -- given shares ---------------------------------------------------------------------------------


def given_shares(models: Any, prior: Any, training: FloatArray) -> FloatArray:
    """Shares of final classes from shares that a user gives for classes at any level.

    Shares that are not given are proportional to those in training: the rest of a class is divided
    among the final classes at or below it that have no given share, and the rest of the whole among
    all others.
    """
    hierarchy, ends = models.hierarchy, models.options.ends
    given = _read(hierarchy, prior)
    # the given class to which each node belongs
    region = np.zeros(hierarchy.n_nodes, dtype=np.intp)
    is_given = np.zeros(hierarchy.n_nodes, dtype=bool)
    is_given[list(given)] = True
    for nodes in hierarchy.nodes_by_level[1:]:
        region[nodes] = np.where(is_given[nodes], nodes, region[hierarchy.parent[nodes]])
    rest = np.zeros(hierarchy.n_nodes)
    rest[0] = 1.0
    for node, share in given.items():
        rest[node] += share
        rest[region[hierarchy.parent[node]]] -= share
    known = np.bincount(region[ends], weights=training, minlength=hierarchy.n_nodes)
    for node in (0, *given):
        _check_rest(models, node, given, float(rest[node]), float(known[node]))
    rest = np.maximum(rest, 0.0)
    shares = rest[region[ends]] * _divided(training, known[region[ends]])
    return np.asarray(shares / shares.sum())


def _check_rest(models: Any, node: int, given: dict[int, float], rest: float, known: float) -> None:
    """Check that shares do not exceed the whole, and that something can take the rest."""
    hierarchy = models.hierarchy
    name = hierarchy.describe(node) if node else "all classes"
    whole = given[node] if node else 1.0
    if rest < -_ROUNDING:
        below = f"below {name}" if node else "in prior"
        raise ValueError(
            f"The shares {below} sum to {whole - rest:.6g}, which is more than {whole:.6g}, the "
            f"share of {name}. Reduce them."
        )
    if rest <= _ROUNDING or known > 0:
        return
    first, last = np.searchsorted(models.options.ends, [node, hierarchy.subtree_end[node]])
    if first == last:
        raise ValueError(
            f"prior gives {name} a share of {whole:.6g}, but the class has no training rows and is "
            "never predicted. Remove it from prior."
        )
    raise ValueError(
        f"The shares in prior cover all classes{f' below {name}' if node else ''}, but they sum to "
        f"{whole - rest:.6g} instead of {whole:.6g}. Use shares with this sum, or remove one class "
        f"from prior, which then gets the remainder."
    )


def _read(hierarchy: Any, prior: Any) -> dict[int, float]:
    """The shares that a user gives, by node."""
    if isinstance(prior, np.ndarray):
        if prior.shape != (hierarchy.n_nodes,):
            raise ValueError(
                f"As an array, prior has one share per node of hierarchy_, shape "
                f"({hierarchy.n_nodes},), as prior_ has; got shape {prior.shape}. To name some "
                f"classes only, use a dict."
            )
        return {v: _as_share(prior[v], hierarchy.describe(v)) for v in range(1, len(prior))}
    if not isinstance(prior, Mapping):
        raise ValueError(
            f"prior must be a dict from classes, labels or path tuples, to their shares, or an "
            f"array like prior_; got {prior!r}."
        )
    given: dict[int, float] = {}
    for name, share in prior.items():
        node = hierarchy.find(name)
        if not node:
            raise ValueError(f"prior names the root ({name!r}), whose share is always 1.")
        if node in given:
            raise ValueError(f"prior names {hierarchy.describe(node)} twice.")
        given[node] = _as_share(share, hierarchy.describe(node))
    return given


def is_number(value: Any) -> bool:
    """Whether a value is a real number and not a boolean."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _as_share(share: Any, name: str) -> float:
    if not is_number(share) or not 0 <= share <= 1 + _ROUNDING:  # also true for NaN
        raise ValueError(f"The share of {name} in prior must be between 0 and 1; got {share!r}.")
    return float(share)


# -- estimated shares ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """Class shares estimated from rows.

    Attributes
    ----------
    ratios : ndarray of shape (n_final,)
        The ratio of the new and the old share of every final class.
    n_iter : int
        The number of iterations.
    objective : list of float
        After every iteration, the mean log-likelihood of the rows and the prior, which increases.
    """

    ratios: FloatArray
    n_iter: int
    objective: list[float]


def estimate(
    models: Any,
    final: FloatArray,
    reference: FloatArray,
    *,
    strength: float,
    max_iter: int,
) -> Estimate:
    """Estimate the change of class shares by expectation maximisation.

    Parameters
    ----------
    models : fitted models
        The model, whose tree is used.
    final : ndarray of shape (n_rows, n_final)
        The probabilities of final classes for rows without labels. They are overwritten.
    reference : ndarray of shape (n_final,)
        The mean of such probabilities if nothing has changed.
    strength : float
        The weight of ``reference``, as a number of rows at every node.
    max_iter : int
        The maximum number of iterations.

    Returns
    -------
    Estimate
    """
    tree = ShareTree(models)
    centre = tree.given_source(reference)
    likelihood = np.multiply(final, _divided(np.ones(len(reference)), reference), out=final)
    possible = likelihood.any(axis=1)
    if not possible.all():  # rows without a possible class carry no information
        likelihood = likelihood[possible]
    n, shares = max(len(likelihood), 1), reference
    objective: list[float] = []
    for n_iter in range(max_iter + 1):
        each = likelihood @ shares
        value = float(np.log(each).sum())
        if strength:
            value += strength * float(xlogy(centre, tree.given_source(shares)).sum())
        objective.append(value / n)
        if n_iter == max_iter or (n_iter and objective[-1] - objective[-2] < TOLERANCE):
            break
        counts = shares * (likelihood.T @ (1 / each))
        shares = tree.drawn(counts, centre, strength) if len(likelihood) else reference
    return Estimate(_divided(shares, reference), n_iter, objective)


# -- models for other shares ---------------------------------------------------------------------


def adapt(models: Any, shares: FloatArray, training: FloatArray, n_iter: int = 0) -> AdaptedModels:
    """A model for other shares of its final classes."""
    base = models.base if isinstance(models, AdaptedModels) else models
    lost = (training <= 0) & (shares > 0)
    if lost.any():
        name = base.hierarchy.describe(int(base.options.ends[np.argmax(lost)]))
        raise ValueError(
            f"The training rows of {name} have weight 0, so its probabilities cannot be adapted to "
            f"a share of {shares[lost][0]:.6g}. Fit with positive weights for these rows."
        )
    with np.errstate(divide="ignore"):
        log_weights = np.log(_divided(shares, training))
    return AdaptedModels(base.hierarchy, base.options, base, shares, log_weights, n_iter)
