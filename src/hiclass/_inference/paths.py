"""From local models to probabilities.

Local classifiers are queried "given this node, which branch?" for groups of rows: all nodes of a
level at once, so that every classifier is called once per level and chunk. The result is
*evidence*, an array with one column per option of the node. How it is gathered depends on what the
classifiers of the strategy decide. ``_link`` converts evidence to P(option | node):

- probabilities are normalised;
- with a temperature T, scores are passed through a softmax of score / T (a sigmoid for gates);
- for classifiers with neither, the best option is certain (a one-hot row), which is sufficient only
  for walking down the tree.

A flat model, an ensemble, a restricted model and an adapted model know the probabilities of all
final classes at once; these are summed up the tree. So does a *joint* model: it interprets the
score of an option as its odds, multiplies along every path, and normalises over all final classes.
If options had to sum to one at every node, some child of a wrong branch would look likely for every
row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch
from itertools import chain, pairwise
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, softmax

from hiclass._inference.evidence import (
    choice,
    class_proba,
    logarithms,
    normalised,
    one_hot,
    positive,
    rows_at,
)
from hiclass._inference.mixing import sum_scores
from hiclass._problems.index import child_branches
from hiclass._problems.strategies import STRATEGIES, Strategy
from hiclass._rows import n_rows_of, protect
from hiclass._state import (
    AdaptedModels,
    EnsembleModels,
    LocalModels,
    Options,
    Packed,
    RestrictedModels,
)
from hiclass._typing import FloatArray, IntArray

Group = tuple[int, IntArray]  # a node and the rows, ascending, that have come to it

#: Final classes are summed with a matrix of all ancestors if it has at most this many entries,
#: otherwise level by level.
_MOST_PLACES = 1 << 23
#: A model that has seen no row of a class cannot exclude it if another model knows its words.
_SMALLEST = 1e-9


# -- what is known about a model ---------------------------------------------------------------


def strategy_of(models: LocalModels) -> Strategy:
    """The strategy of fitted local models."""
    return STRATEGIES[models.strategy]


def unrestricted(models: Any) -> Any:
    """The model from which a restricted or adapted model was derived; other models as they are."""
    while hasattr(models, "base"):
        models = models.base
    return models


@singledispatch
def decider_for(classifier: Any, models: Any) -> Any:
    """A decider for models with one classifier for all classes; None for most classifiers."""
    return None


def decider_of(models: Any) -> Any:
    """The decider of models, including restricted and adapted ones, or None."""
    classifiers = getattr(unrestricted(models), "classifiers", {})
    return decider_for(classifiers[0], models) if 0 in classifiers else None


def holds_packed(models: Any) -> bool:
    """Whether some classifier does not see all columns and therefore cannot check them."""
    models = unrestricted(models)
    if hasattr(models, "members"):
        return any(map(holds_packed, models.members))
    fitted = chain(models.classifiers.values(), models.gates.values())
    return any(isinstance(classifier, Packed) for classifier in fitted)


def shares_classifiers(models: Any) -> bool:
    """Whether one classifier decides at several nodes, one after the other."""
    return not models.is_direct and strategy_of(models).shared


@singledispatch
def width_of(models: Any) -> int:
    """The largest number of columns per row that prediction needs."""
    return width_for(models, models.options) if not models.is_direct else models.hierarchy.n_nodes


def width_for(models: LocalModels, options: Options) -> int:
    """The largest number of columns of a classifier for these options."""
    strategy, counts = strategy_of(models), np.diff(options.indptr)
    if not strategy.shared:
        return int(counts.max())
    owner = strategy.owner(models.hierarchy, np.arange(len(counts)))
    return int(np.bincount(owner, weights=counts).max())


def is_gated(models: LocalModels, node: int) -> bool:
    """Whether the last column of a node's evidence comes from a gate."""
    return strategy_of(models).is_binary and bool(models.options.can_stop[node])


# -- gathering evidence ------------------------------------------------------------------------


def branch_proba(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    """P(option | node) for nodes of one level and the rows at each of them."""
    evidence = gather_evidence(models, X, groups)
    return [
        _link(models, found, is_gated(models, node))
        for (node, _), found in zip(groups, evidence, strict=True)
    ]


def gather_evidence(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    """Evidence at nodes of one level: one column per option of the node."""
    strategy = strategy_of(models)
    if strategy.shared:
        return _shared(models, X, groups)
    gather = binary_evidence if strategy.is_binary else _of_branches
    return [gather(models, X, node, rows) for node, rows in groups]


@singledispatch
def query(models: Any, owner: int, X: Any, k: int, scored: bool = False) -> FloatArray:
    """Evidence of the classifier of an owner, with one column for each of its k options."""
    return choice(models, models.classifiers[owner], X, k, scored)


@singledispatch
def binary_evidence(models: Any, X: Any, node: int, rows: IntArray) -> FloatArray:
    """Evidence of the binary classifiers of the children of a node, and of its gate."""
    options = models.options
    start, stop = options.indptr[node : node + 2].tolist()
    children = options.indices[start : stop - options.can_stop[node]].tolist()
    gate = models.gates.get(node) if options.can_stop[node] else None
    evidence = np.ones((len(rows), stop - start))
    if len(children) < 2 and gate is None:
        return evidence
    X = rows_at(X, rows)
    if len(children) > 1:  # an only child is certain
        for j, child in enumerate(children):
            evidence[:, j] = positive(models, models.classifiers[child], protect(X))
    if gate is not None:
        evidence[:, -1] = positive(models, gate, protect(X))
    return evidence


def _of_branches(models: LocalModels, X: Any, node: int, rows: IntArray) -> FloatArray:
    """Evidence of the classifier that chooses among the branches of a node."""
    start, stop = models.options.indptr[node : node + 2].tolist()
    if stop - start == 1 or node not in models.classifiers:
        return np.zeros((len(rows), stop - start))
    return query(models, node, rows_at(X, rows), stop - start)


def _shared(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    """Query a classifier once for all of its nodes, and restrict the result to each of them."""
    strategy = strategy_of(models)
    owners = [int(strategy.owner(models.hierarchy, node)) for node, _ in groups]
    n_options = np.diff(models.options.indptr)
    evidence: list[FloatArray] = [np.empty(0)] * len(groups)
    for owner in dict.fromkeys(owners):
        here = [j for j, other in enumerate(owners) if other == owner]
        several = [groups[j][1] for j in here if n_options[groups[j][0]] > 1]
        rows = np.unique(np.concatenate(several)) if several else np.empty(0, dtype=np.intp)
        shared = _SharedEvidence(models, X, owner, rows)
        for j in here:
            evidence[j] = shared.at(*groups[j])
    return evidence


class _SharedEvidence:
    """Evidence of a classifier that decides at several nodes, about some rows."""

    def __init__(self, models: LocalModels, X: Any, owner: int, rows: IntArray) -> None:
        nodes = strategy_of(models).nodes(models.hierarchy, owner)
        bounds = [0, *np.cumsum(np.diff(models.options.indptr)[nodes]).tolist()]
        self._columns = dict(zip(nodes.tolist(), pairwise(bounds), strict=True))
        estimator, k = models.classifiers.get(owner), bounds[-1]
        # Restrict probabilities before converting them to scores: small ones matter among siblings.
        self._logged = (
            models.temperature is not None
            and not models.joint
            and not hasattr(estimator, "decision_function")
        )
        self._position = np.zeros(n_rows_of(X), dtype=np.intp)
        if estimator is None or not len(rows):
            self._found = np.zeros((1, k))
            return
        self._position[rows] = np.arange(len(rows))
        if self._logged:
            self._found = class_proba(estimator, rows_at(X, rows), k)
        else:
            self._found = query(models, owner, rows_at(X, rows), k, scored=True)

    def at(self, node: int, rows: IntArray) -> FloatArray:
        """The evidence at a node for some rows."""
        start, stop = self._columns[node]
        found = self._found[self._position[rows], start:stop]
        return logarithms(found) if self._logged else found


class Queries:
    """Queries about a chunk of rows, node by node in any order.

    A classifier that decides at several nodes is queried once for all rows, and its evidence is
    stored.
    """

    def __init__(self, models: LocalModels, X: Any) -> None:
        self.models = models
        self._X = X
        self._shared: dict[int, _SharedEvidence] = {}

    def proba(self, node: int, rows: IntArray) -> FloatArray:
        """P(option | node) for some rows."""
        models, strategy = self.models, strategy_of(self.models)
        if not strategy.shared:
            return branch_proba(models, self._X, [(node, rows)])[0]
        owner = int(strategy.owner(models.hierarchy, node))
        if owner not in self._shared:
            everyone = np.arange(n_rows_of(self._X))
            self._shared[owner] = _SharedEvidence(models, self._X, owner, everyone)
        return _link(models, self._shared[owner].at(node, rows), False)


def _link(models: LocalModels, evidence: FloatArray, gated: bool) -> FloatArray:
    if evidence.shape[1] == 1:
        return np.ones(evidence.shape)
    if gated:
        gate = evidence[:, -1:]
        if models.temperature is not None:
            stop = expit(gate / models.temperature)
        else:
            stop = gate if models.soft else (gate > 0).astype(float)
        return np.hstack([_link(models, evidence[:, :-1], False) * (1 - stop), stop])
    if models.temperature is not None:
        return softmax(evidence / models.temperature, axis=1)
    return normalised(evidence) if models.soft else one_hot(evidence.argmax(axis=1), evidence)


# -- probabilities of nodes and of final classes -----------------------------------------------


@singledispatch
def node_proba(models: Any, X: Any) -> FloatArray:
    """Probability of every node for a chunk of rows, for any fitted model; the root has 1."""
    if models.is_direct:
        return final_to_nodes(models, direct_final_proba(models, X))
    proba = np.zeros((n_rows_of(X), models.hierarchy.n_nodes))
    proba[:, 0] = 1
    for node, evidence in evidence_everywhere(models, X):
        found = _link(models, evidence, is_gated(models, node))
        children = child_branches(models.options, node)
        proba[:, children] = found[:, : len(children)] * proba[:, [node]]
    return proba


def evidence_everywhere(models: LocalModels, X: Any) -> Iterator[tuple[int, FloatArray]]:
    """Evidence of all local classifiers about a chunk of rows, node by node from the root down."""
    everyone = np.arange(n_rows_of(X))
    n_options = np.diff(models.options.indptr)
    for nodes in models.hierarchy.nodes_by_level:
        groups = [(v, everyone) for v in nodes.tolist() if n_options[v]]
        # All nodes of a level share one call per level; otherwise node by node, to save memory.
        batches = [groups] if strategy_of(models).shared else [[group] for group in groups]
        for batch in filter(None, batches):
            for (node, _), evidence in zip(batch, gather_evidence(models, X, batch), strict=True):
                yield node, evidence


def final_proba(models: LocalModels, X: Any) -> FloatArray:
    """Probability of ending at each of ``options.ends``, for a chunk of rows."""
    if models.is_direct:
        return direct_final_proba(models, X)
    return nodes_to_final(models, node_proba(models, X))


def nodes_to_final(models: LocalModels, proba: FloatArray) -> FloatArray:
    """Probability of ending at a node: that of the node minus those of its children."""
    ends = models.options.ends
    out = proba[:, ends]
    for j in np.flatnonzero(models.options.can_stop[ends]).tolist():
        children = child_branches(models.options, int(ends[j]))
        out[:, j] = np.maximum(out[:, j] - proba[:, children].sum(axis=1), 0)
    return out


def final_to_nodes(models: LocalModels, final: FloatArray) -> FloatArray:
    """Probability of every node: the sum over the final classes at or below it."""
    proba = np.minimum(sum_final(models, final), 1.0)
    # Common ancestors of all final classes, at least the root, are certain; the sum may be rounded.
    first, last = models.options.ends[[0, -1]]
    proba[:, : first + 1][:, models.hierarchy.subtree_end[: first + 1] > last] = 1.0
    return proba


def sum_final(models: LocalModels, values: FloatArray) -> FloatArray:
    """For every node the sum of the values of the final classes at or below it."""
    hierarchy, ends = models.hierarchy, models.options.ends
    if hierarchy.n_nodes * hierarchy.depth <= _MOST_PLACES:
        return np.asarray(values @ hierarchy._closure[ends])
    # the values of a node are contiguous in memory
    total = np.zeros((hierarchy.n_nodes, len(values)))
    total[ends] = values.T
    for nodes in reversed(hierarchy.nodes_by_level[1:]):
        np.add.at(total, hierarchy.parent[nodes], total[nodes])
    return np.ascontiguousarray(total.T)


@singledispatch
def direct_final_proba(models: Any, X: Any) -> FloatArray:
    """Probabilities of all final classes of a model that computes them at once."""
    raise TypeError(f"{type(models).__name__} is not a fitted model of paths.")


@direct_final_proba.register
def _of_local_models(models: LocalModels, X: Any) -> FloatArray:
    if models.joint:
        return softmax(_joint_logs(models, X), axis=1)
    return _link(models, evidence_of_final(models, X), False)


def _joint_logs(models: LocalModels, X: Any) -> FloatArray:
    """Logarithms of the probabilities of all final classes of a joint model, up to a constant."""
    assert models.temperature is not None  # 1 while the temperature is being searched
    return joint_scores(models, joint_evidence(models, X), n_rows_of(X), models.temperature)


def joint_evidence(models: LocalModels, X: Any) -> Iterator[tuple[int, FloatArray]]:
    """All log-odds of a joint model, with their nodes."""
    if strategy_of(models).is_direct:
        return iter([(0, evidence_of_final(models, X))])
    return evidence_everywhere(models, X)


def joint_scores(
    models: LocalModels,
    evidence: Iterable[tuple[int, FloatArray]],
    n: int,
    temperature: float,
) -> FloatArray:
    """Logarithms of the products of odds along the path to every final class of a joint model."""
    ends, hierarchy = models.options.ends, models.hierarchy
    if strategy_of(models).is_direct:
        ((_, found),) = evidence
        return _log_share(found, False, temperature)
    # One line per node, not one column, so that the rows of a node are contiguous in memory.
    score = np.zeros((hierarchy.n_nodes, n))
    for node, found in evidence:
        share = _log_share(found, is_gated(models, node), temperature).T + score[node]
        children = child_branches(models.options, node)
        score[children] = share[: len(children)]
        if models.options.can_stop[node]:  # from here on that of a final class
            score[node] = share[-1]
    return np.ascontiguousarray(score[ends].T)


def branch_logs(models: LocalModels, X: Any, node: int, rows: IntArray) -> FloatArray:
    """Logarithms of the shares of the options of a node in a joint model, for some rows."""
    assert models.temperature is not None
    (evidence,) = gather_evidence(models, X, [(node, rows)])
    return _log_share(evidence, is_gated(models, node), models.temperature)


def _log_share(evidence: FloatArray, gated: bool, temperature: float) -> FloatArray:
    """Logarithms of the share of such rows that take each branch, separately for each branch."""
    if evidence.shape[1] == 1:
        return np.zeros(evidence.shape)
    if gated:
        gate = evidence[:, -1:] / temperature
        on = _log_share(evidence[:, :-1], False, temperature) + log_expit(-gate)
        return np.hstack([on, log_expit(gate)])
    return np.asarray(log_expit(evidence / temperature))


def evidence_of_final(models: LocalModels, X: Any) -> FloatArray:
    """Evidence of the classifier of a flat model: one column per final class."""
    n_final = len(models.options.ends)
    if n_final == 1 or 0 not in models.classifiers:
        return np.zeros((n_rows_of(X), n_final))
    return query(models, 0, X, n_final)


@direct_final_proba.register
def _of_ensemble(models: EnsembleModels, X: Any) -> FloatArray:
    """Product or mean of the probabilities of the members."""
    if models.class_weights is not None:
        logs = np.stack([floored_logs(final_proba(member, X)) for member in models.members])
        return softmax(sum_scores(logs, models.class_weights, models.class_bias), axis=1)
    product = models.voting == "product"
    total = np.zeros((n_rows_of(X), len(models.options.ends)))
    for member, weight in zip(models.members, models.weights, strict=True):
        if not weight:
            continue
        part = final_proba(member, X)
        if product:  # as logarithms, so that products of many small numbers do not underflow
            with np.errstate(divide="ignore"):
                np.log(part, out=part)
        total += np.multiply(part, weight, out=part)
    if not product:
        return normalised(total)
    best = np.max(total, axis=1, keepdims=True)
    # If the members exclude all classes together, nothing is known.
    return softmax(np.where(np.isfinite(best), total, 0.0), axis=1)


def floored_logs(proba: FloatArray) -> FloatArray:
    """Logarithms of probabilities, with a floor, so that no class is impossible."""
    return np.log(np.maximum(proba, _SMALLEST))


@direct_final_proba.register
def _of_restricted(models: RestrictedModels, X: Any) -> FloatArray:
    base = models.base
    if getattr(base, "joint", False):
        # As logarithms, so that the best of several unlikely classes is still found.
        return softmax(_final_logs(models, X), axis=1)
    column = np.searchsorted(base.options.ends, models.options.ends)
    return normalised(final_proba(base, X)[:, column])


@direct_final_proba.register
def _of_adapted(models: AdaptedModels, X: Any) -> FloatArray:
    logs = _final_logs(models.base, X)
    logs += models.log_weights
    nothing = np.max(logs, axis=1) == -np.inf
    if nothing.any():  # all possible classes of a row have share 0, so only the shares are known
        with np.errstate(divide="ignore"):
            logs[nothing] = np.log(models.shares)
    return softmax(logs, axis=1)


def _final_logs(models: Any, X: Any) -> FloatArray:
    """Logarithms of the probabilities of final classes, up to a constant per row."""
    if isinstance(models, RestrictedModels):
        column = np.searchsorted(models.base.options.ends, models.options.ends)
        return _final_logs(models.base, X)[:, column]
    if getattr(models, "joint", False):
        return _joint_logs(models, X)
    with np.errstate(divide="ignore"):
        return np.log(final_proba(models, X))
