"""Shares of classes that differ from those in training: given, or estimated from rows.

A model that knows P(c | x) for the shares t(c) of the final classes in training has, for other
shares q(c), P'(c | x) proportional to P(c | x) q(c) / t(c), if rows of a class look as they did.

Where q is unknown it is estimated from rows without labels by expectation maximisation (Saerens,
Latinne, Decaestecker 2002), with three additions, without which a hierarchy of many small classes
gets worse where nothing has shifted at all:

- The model may find a class more or less probable on average than it is. Estimates are compared
  with its average on held-out rows, not with the shares of labels (Alexandari, Kundaje, Shrikumar
  2020).
- Of most classes there are few rows. At every node, the shares of its branches are drawn towards
  those of held-out rows, as if there were ``strength`` more rows with these: a Dirichlet prior. So
  shares move at the top of the tree, where there are many rows, and deeper down only as far as
  there is evidence.
- Iterations are few. The error of an estimate is that of the average probabilities of the rows,
  times more with every iteration where the model hardly tells classes apart; where it does, few
  iterations suffice.
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

#: At most so many probabilities of rows are kept to estimate shares; there are fewer rows then.
MOST_NUMBERS = 20_000_000
#: An iteration that raises the mean log-likelihood of the rows by less is the last one.
TOLERANCE = 1e-6
#: The average on held-out rows is drawn towards the shares in training as by so many rows.
_REFERENCE_STRENGTH = 10.0
#: What sums may be off by, for shares that were rounded.
_ROUNDING = 1e-6


# -- what is known of a fitted model -------------------------------------------------------------


def training_shares(models: Any) -> FloatArray | None:
    """The share of every final class among the training rows; None where it is unknown."""
    if isinstance(models, EnsembleModels):
        return training_shares(models.members[0])
    if isinstance(models, RestrictedModels):
        return _of_some(models, training_shares(models.base))
    if models.own_weight is None:
        return None
    return _shares_of(models, models.own_weight)


def reference_shares(models: Any, training: FloatArray) -> FloatArray | None:
    """The average probability of every final class on rows like those in training, if known."""
    if isinstance(models, RestrictedModels):
        base = training_shares(models.base)
        assert base is not None  # training is made of it
        return _of_some(models, reference_shares(models.base, base))
    expected = models.expected_own
    if expected is None or not expected[models.options.ends].sum() > 0:
        return None
    return smoothed(models, expected[models.options.ends], training)


def smoothed(models: Any, counts: FloatArray, training: FloatArray) -> FloatArray:
    """Shares by counts of held-out rows, drawn a little towards the shares in training."""
    tree = ShareTree(models)
    return tree.drawn(counts, tree.given_source(training), _REFERENCE_STRENGTH)


def _of_some(models: RestrictedModels, shares: FloatArray | None) -> FloatArray | None:
    """The shares of the classes that a model is restricted to."""
    if shares is None:
        return None
    some = shares[np.searchsorted(models.base.options.ends, models.options.ends)]
    return np.asarray(some / some.sum()) if some.sum() > 0 else None


def _shares_of(models: LocalModels, weight: FloatArray) -> FloatArray | None:
    """Shares by the weights of training rows; negative weights count as none."""
    weight = np.maximum(weight, 0.0)
    ends = models.options.ends
    own = weight[ends]
    if not own.sum() > 0:
        return None
    tree = ShareTree(models)
    shares = np.asarray(own / own.sum())
    if own.sum() == weight.sum() or _only_final(models):
        return shares
    # With leaf_only, rows that end at an inner node train what is above: a branch has the share of
    # all rows that take it, and those that end at its source go with the others.
    inside = _summed_up(models.hierarchy, weight)
    branch = np.where(tree.stops, weight[tree.target], inside[tree.target])
    return tree.multiplied(_divided(branch, tree.total(branch)[tree.source]))


def _only_final(models: Any) -> bool:
    """Whether models learn only from rows that end at a final class, as those by words do."""
    return not hasattr(models, "strategy") or strategy_of(models).only_final


def _summed_up(hierarchy: Any, weight: FloatArray) -> FloatArray:
    total = weight.copy()
    for nodes in reversed(hierarchy.nodes_by_level[1:]):
        np.add.at(total, hierarchy.parent[nodes], total[nodes])
    return total


# -- shares in a tree ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ShareTree:
    """Shares of final classes as shares of branches, given the node that they lead on from."""

    models: Any

    @cached_property
    def source(self) -> IntArray:
        """The node that each branch leads on from."""
        options = self.models.options
        return np.repeat(np.arange(len(options.indptr) - 1), np.diff(options.indptr))

    @cached_property
    def target(self) -> IntArray:
        """The node that each branch leads to; its source for "stop here"."""
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
        """The branches from each level on, those to children and those that stop."""
        level = self.models.hierarchy.levels[self.source]
        here = [np.flatnonzero(level == k) for k in range(self.models.hierarchy.depth)]
        return [(at[~self.stops[at]], at[self.stops[at]]) for at in here]

    def nodes(self, shares: FloatArray) -> FloatArray:
        """The share of every node: of all final classes at or below it."""
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
        """Shares of final classes, from those of branches given their source."""
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
        """Shares by counts of rows, with ``strength`` more rows like ``centre`` at every node."""
        if not strength:
            return np.asarray(counts / counts.sum())
        branch = self.branches(counts)
        total = self.total(branch)[self.source] + strength
        return self.multiplied((branch + strength * centre) / total)


def _divided(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


# -- shares that are given -----------------------------------------------------------------------


def given_shares(models: Any, prior: Any, training: FloatArray) -> FloatArray:
    """Shares of final classes from those that a user gives, of classes at any level.

    What is not given is in proportion to training: the rest of a class among the final classes at
    or below it that are not given otherwise, and the rest of everything among the others.
    """
    hierarchy, ends = models.hierarchy, models.options.ends
    given = _read(hierarchy, prior)
    region = np.zeros(hierarchy.n_nodes, dtype=np.intp)  # the given class that each node is part of
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
    """Refuse shares that are more than all, or less where nothing is left to have the rest."""
    hierarchy = models.hierarchy
    name = hierarchy.describe(node) if node else "all classes"
    whole = given[node] if node else 1.0
    if rest < -_ROUNDING:
        below = f"below {name}" if node else "in prior"
        raise ValueError(
            f"The shares {below} sum to {whole - rest:.6g}, which is more than {whole:.6g}, the "
            f"share of {name}. Give smaller ones."
        )
    if rest <= _ROUNDING or known > 0:
        return
    first, last = np.searchsorted(models.options.ends, [node, hierarchy.subtree_end[node]])
    if first == last:
        raise ValueError(
            f"prior gives {name} a share of {whole:.6g}, but the model has no training rows of it "
            f"and never predicts it. Leave it out."
        )
    raise ValueError(
        f"The shares of all branches of {name} sum to {whole - rest:.6g} instead of {whole:.6g}. "
        f"Give shares with this sum, or leave one class out, which then gets the remainder."
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
    """Whether a value is a real number, and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _as_share(share: Any, name: str) -> float:
    if not is_number(share) or not 0 <= share <= 1 + _ROUNDING:  # also true for NaN
        raise ValueError(f"The share of {name} in prior must be between 0 and 1; got {share!r}.")
    return float(share)


# -- shares that are estimated -------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """Shares that were estimated from rows.

    Attributes
    ----------
    ratios : ndarray of shape (n_final,)
        By how much the share of every final class has changed.
    n_iter : int
        The number of iterations.
    objective : list of float
        What every iteration raises: the mean log-likelihood of the rows and of the prior.
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
    """Estimate by how much shares have changed, by expectation maximisation.

    Parameters
    ----------
    models : fitted models
        The model, for its tree.
    final : ndarray of shape (n_rows, n_final)
        The probabilities of final classes for rows without labels. They are overwritten.
    reference : ndarray of shape (n_final,)
        The average of such probabilities where nothing has changed.
    strength : float
        As so many rows like ``reference`` at every node.
    max_iter : int
        The largest number of iterations.

    Returns
    -------
    Estimate
    """
    tree = ShareTree(models)
    centre = tree.given_source(reference)
    likelihood = np.multiply(final, _divided(np.ones(len(reference)), reference), out=final)
    possible = likelihood.any(axis=1)
    if not possible.all():  # rows without a possible class say nothing
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
            f"a share of {shares[lost][0]:.6g}. Fit with other sample weights."
        )
    with np.errstate(divide="ignore"):
        log_weights = np.log(_divided(shares, training))
    return AdaptedModels(base.hierarchy, base.options, base, shares, log_weights, n_iter)
