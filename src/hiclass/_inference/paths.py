"""From local models to probabilities.

One question is asked of the local classifiers, "given this node, which way on?", in groups of rows:
all nodes of a level at once, so that every classifier is called once per level and chunk. What they
say is *evidence*, an array with a column per option of the node; how it is gathered depends on what
the classifiers of the strategy decide about. ``_link`` turns evidence into P(option | node):

- probabilities are normalised;
- with a temperature T, scores go through a softmax of score / T (a sigmoid for gates);
- classifiers with neither answer with certainty (a one-hot row), which is enough to walk down the
  tree and for nothing else.

A flat model, an ensemble and a restricted model know the probabilities of all endings at once;
those are summed up the tree. So does a *joint* model: it reads the score of an option as odds of
its own, multiplies along every path, and normalises over all endings. Options that must sum to one
at every node would make some child of a wrong branch look likely, whatever the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit, softmax

from hiclass._inference.evidence import (
    choice,
    class_proba,
    logarithms,
    normalised,
    one_hot,
    positive,
    restrict_columns,
    rows_at,
)
from hiclass._problems.index import branches, child_branches
from hiclass._problems.strategies import STRATEGIES, Strategy
from hiclass._rows import n_rows_of, protect
from hiclass._state import EnsembleModels, LocalModels, Options, RestrictedModels
from hiclass._typing import FloatArray, IntArray

Group = tuple[int, IntArray]  # a node and the rows, ascending, that have come to it

#: How much of what others leave goes to a class whose own classifier cannot answer yet.
_HARDLY = 1e-6

#: Final classes are summed with a matrix of all classes above them where it has at most so many
#: entries, else level by level.
_MOST_PLACES = 1 << 23


# -- gathering evidence ------------------------------------------------------------------------


def ask(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    """P(option | node) for nodes of one level and the rows at each of them."""
    evidence = gather_evidence(models, X, groups)
    return [
        _link(models, found, is_gated(models, node))
        for (node, _), found in zip(groups, evidence, strict=True)
    ]


def gather_evidence(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    """What the local classifiers say at nodes of one level: a column per option of the node."""
    strategy = strategy_of(models)
    if strategy.is_binary:
        return _per_class(models, X, groups)
    return (_shared if strategy.shared else _one_by_one)(models, X, groups)


def strategy_of(models: LocalModels) -> Strategy:
    """The strategy that local models were fitted by."""
    return STRATEGIES[models.strategy]


def unrestricted(models: Any) -> Any:
    """The model that a restricted one was made from; any other model as it is."""
    while isinstance(models, RestrictedModels):
        models = models.base
    return models


def shares_classifiers(models: Any) -> bool:
    """Whether one classifier decides at several nodes, one after the other."""
    return not models.is_direct and strategy_of(models).shared


def width_of(models: Any) -> int:
    """The largest number of columns that prediction needs per row."""
    if models.is_direct:
        return int(models.hierarchy.n_nodes)
    strategy, counts = strategy_of(models), np.diff(_known(models).indptr)
    if not strategy.shared:
        return int(counts.max())
    owner = strategy.owner(models.hierarchy, np.arange(len(counts)))
    return int(np.bincount(owner, weights=counts).max())


def _known(models: LocalModels) -> Options:
    """What the classifiers can tell apart: at least the options."""
    return models.options if models.layout is None else models.layout


def is_gated(models: LocalModels, node: int) -> bool:
    """Whether the last column of a node's evidence is the answer of a gate."""
    return strategy_of(models).is_binary and bool(models.options.can_stop[node])


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


def _one_by_one(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    evidence = []
    for node, rows in groups:
        start, stop = models.options.indptr[node : node + 2].tolist()
        estimator = models.classifiers.get(node)
        if estimator is None or stop - start == 1:
            evidence.append(np.zeros((len(rows), stop - start)))
        elif models.layout is None:
            evidence.append(choice(models, estimator, rows_at(X, rows), stop - start))
        else:
            known = branches(models.layout, node)
            answer = choice(models, estimator, rows_at(X, rows), len(known))
            evidence.append(restrict_columns(models, answer, known, branches(models.options, node)))
    return evidence


def _shared(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    """Query a classifier once for all nodes at which it decides, restricted to each of them."""
    strategy = strategy_of(models)
    owners = [int(strategy.owner(models.hierarchy, node)) for node, _ in groups]
    n_options = np.diff(models.options.indptr)
    evidence: list[FloatArray] = [np.empty(0)] * len(groups)
    for owner in dict.fromkeys(owners):
        here = [j for j, other in enumerate(owners) if other == owner]
        several = [groups[j][1] for j in here if n_options[groups[j][0]] > 1]
        rows = np.unique(np.concatenate(several)) if several else np.empty(0, dtype=np.intp)
        answers = _Answers(models, X, owner, rows)
        for j in here:
            evidence[j] = answers.at(*groups[j])
    return evidence


class _Answers:
    """What a classifier that decides at several nodes says about some rows."""

    def __init__(self, models: LocalModels, X: Any, owner: int, rows: IntArray) -> None:
        nodes = strategy_of(models).nodes(models.hierarchy, owner)
        bounds = [0, *np.cumsum(np.diff(_known(models).indptr)[nodes]).tolist()]
        self._models = models
        self._columns = dict(zip(nodes.tolist(), pairwise(bounds), strict=True))
        estimator, k = models.classifiers.get(owner), bounds[-1]
        # Probabilities become scores after they are restricted: small ones among siblings count.
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
            self._found = choice(models, estimator, rows_at(X, rows), k, scored=True)

    def at(self, node: int, rows: IntArray) -> FloatArray:
        """The evidence at a node for some rows."""
        models, (start, stop) = self._models, self._columns[node]
        found = self._found[self._position[rows], start:stop]
        if models.layout is not None:
            known, wanted = branches(models.layout, node), branches(models.options, node)
            found = restrict_columns(models, found, known, wanted)
        return logarithms(found) if self._logged else found


class Queries:
    """Queries about a chunk of rows, node by node in any order.

    A classifier that decides at several nodes is queried about all rows once, and what it says is
    kept.
    """

    def __init__(self, models: LocalModels, X: Any) -> None:
        self.models = models
        self._X = X
        self._answers: dict[int, _Answers] = {}

    def ask(self, node: int, rows: IntArray) -> FloatArray:
        """P(option | node) for some rows."""
        models, strategy = self.models, strategy_of(self.models)
        if not strategy.shared:
            return ask(models, self._X, [(node, rows)])[0]
        owner = int(strategy.owner(models.hierarchy, node))
        if owner not in self._answers:
            everyone = np.arange(n_rows_of(self._X))
            self._answers[owner] = _Answers(models, self._X, owner, everyone)
        return _link(models, self._answers[owner].at(node, rows), False)


def _per_class(models: LocalModels, X: Any, groups: list[Group]) -> list[FloatArray]:
    """Query the binary classifiers of the children, and the gate."""
    evidence, options = [], models.options
    for node, rows in groups:
        start, stop = options.indptr[node : node + 2].tolist()
        children = options.indices[start : stop - options.can_stop[node]].tolist()
        gate = models.gates.get(node) if options.can_stop[node] else None
        found = np.ones((len(rows), stop - start))
        if len(children) > 1 or gate is not None:
            X_here = rows_at(X, rows)
            if len(children) > 1:
                answers = np.array([_can_answer(models, c) for c in children])
                for j in np.flatnonzero(answers).tolist():
                    estimator = models.classifiers[children[j]]
                    found[:, j] = positive(models, estimator, protect(X_here))
                silent = np.flatnonzero(~answers)
                if len(silent):
                    heard = found[:, np.flatnonzero(answers)]
                    found[:, silent] = _left_over(models, heard, children, silent)
            if gate is not None:
                found[:, -1] = (
                    _share_of_stops(models, node)
                    if ~node in models.one_sided
                    else positive(models, gate, protect(X_here))
                )
        evidence.append(found)
    return evidence


def _can_answer(models: LocalModels, child: int) -> bool:
    """Whether the binary classifier of a node has seen rows of both classes: after fit, always."""
    return child in models.classifiers and child not in models.one_sided


def _left_over(
    models: LocalModels, found: FloatArray, children: list[int], silent: IntArray
) -> FloatArray:
    """Evidence for children whose classifiers cannot answer yet: their part of what others leave.

    The others need not have seen rows of these children, and leave much of every row that they are
    not sure of. So only rows that all of them reject go there; scores do not say that.
    """
    if not models.soft:
        return np.full((len(found), len(silent)), -np.inf if found.shape[1] else 0.0)
    end = models.hierarchy.subtree_end
    n_below = np.array([models.n_own[c : end[c]].sum() for c in children])
    left = np.maximum(1 - found.sum(axis=1, keepdims=True), 0)
    return left * (_HARDLY * n_below[silent] / n_below.sum())


def _share_of_stops(models: LocalModels, node: int) -> float:
    """What is known about stopping at a node without asking its gate: how many rows did."""
    below = models.n_own[node : models.hierarchy.subtree_end[node]].sum()
    share = float(models.n_own[node] / below)
    return share if models.soft else share - 0.5


def query_of_everyone(models: LocalModels) -> Callable[[Any], Any] | None:
    """A query of one local classifier about rows, one that all rows pass; None if there is none.

    For models with a classifier per node or per parent node.
    """
    node = 0
    while len(here := branches(models.options, node)) == 1 and here[0] != node:
        node = int(here[0])
    strategy = strategy_of(models)
    if strategy.is_binary:
        for child in child_branches(models.options, node).tolist():
            if _can_answer(models, child):
                return lambda X: positive(models, models.classifiers[child], X)
    elif not strategy.shared and not strategy.is_direct and node in models.classifiers:
        k = len(branches(_known(models), node))
        return lambda X: choice(models, models.classifiers[node], X, k)
    return None


# -- node and ending probabilities -------------------------------------------------------------


def node_proba(models: LocalModels, X: Any) -> FloatArray:
    """Probability of every node for a chunk of rows; the root has 1."""
    if models.is_direct:
        return final_to_nodes(models, direct_final_proba(models, X))
    proba = np.zeros((n_rows_of(X), models.hierarchy.n_nodes))
    proba[:, 0] = 1
    for node, evidence in evidence_everywhere(models, X):
        answer = _link(models, evidence, is_gated(models, node))
        children = child_branches(models.options, node)
        proba[:, children] = answer[:, : len(children)] * proba[:, [node]]
    return proba


def evidence_everywhere(models: LocalModels, X: Any) -> Iterator[tuple[int, FloatArray]]:
    """What the local classifiers say about all rows of a chunk, node by node from the root down."""
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
    """Probability of ending at a node: its own less that of its children."""
    ends = models.options.ends
    out = proba[:, ends]
    for j in np.flatnonzero(models.options.can_stop[ends]).tolist():
        children = child_branches(models.options, int(ends[j]))
        out[:, j] = np.maximum(out[:, j] - proba[:, children].sum(axis=1), 0)
    return out


def final_to_nodes(models: LocalModels, endings: FloatArray) -> FloatArray:
    """Probability of every node: the sum over the endings at or below it."""
    proba = np.minimum(sum_final(models, endings), 1.0)
    # Whatever is above all endings, the root at least, is certain: rounding must not cut it off.
    first, last = models.options.ends[[0, -1]]
    proba[:, : first + 1][:, models.hierarchy.subtree_end[: first + 1] > last] = 1.0
    return proba


def sum_final(models: LocalModels, values: FloatArray) -> FloatArray:
    """For every node the sum of the values of the endings at or below it."""
    hierarchy, ends = models.hierarchy, models.options.ends
    if len(ends) * hierarchy.depth <= _MOST_PLACES:
        path = np.column_stack([np.zeros(len(ends), dtype=np.intp), hierarchy._paths[ends]])
        row, column = np.nonzero(path >= 0)
        shape = (len(ends), hierarchy.n_nodes)
        closure = sp.csr_array((np.ones(len(row)), (row, path[row, column])), shape=shape)
        return values @ closure
    total = np.zeros((hierarchy.n_nodes, len(values)))  # a line per node lies together in memory
    total[ends] = values.T
    for nodes in reversed(hierarchy.nodes_by_level[1:]):
        np.add.at(total, hierarchy.parent[nodes], total[nodes])
    return np.ascontiguousarray(total.T)


@singledispatch
def direct_final_proba(models: Any, X: Any) -> FloatArray:
    """Probabilities of all endings of a model that knows them at once."""
    raise TypeError(f"{type(models).__name__} is not a fitted model of paths.")


@direct_final_proba.register
def _local_endings(models: LocalModels, X: Any) -> FloatArray:
    if models.joint:
        return softmax(_joint_logs(models, X), axis=1)
    return _link(models, evidence_of_final(models, X), False)


def _joint_logs(models: LocalModels, X: Any) -> FloatArray:
    """Logarithms of the probabilities of all endings of a joint model, up to a constant."""
    assert models.temperature is not None  # 1 while one is being looked for
    return joint_scores(models, joint_evidence(models, X), n_rows_of(X), models.temperature)


def joint_evidence(models: LocalModels, X: Any) -> Iterator[tuple[int, FloatArray]]:
    """All log-odds that a joint model is made of, with the nodes at which they were asked for."""
    if strategy_of(models).is_direct:
        return iter([(0, evidence_of_final(models, X))])
    return evidence_everywhere(models, X)


def joint_scores(
    models: LocalModels,
    evidence: Iterable[tuple[int, FloatArray]],
    n: int,
    temperature: float,
) -> FloatArray:
    """Logarithms of the products of odds along the path to every ending, of a joint model."""
    ends, hierarchy = models.options.ends, models.hierarchy
    if strategy_of(models).is_direct:
        ((_, found),) = evidence
        return _log_share(found, False, temperature)
    # A line per node, not a column: the rows of a node lie together in memory.
    score = np.zeros((hierarchy.n_nodes, n))
    for node, found in evidence:
        share = _log_share(found, is_gated(models, node), temperature).T + score[node]
        children = child_branches(models.options, node)
        score[children] = share[: len(children)]
        if models.options.can_stop[node]:  # from here on that of an ending
            score[node] = share[-1]
    return np.ascontiguousarray(score[ends].T)


def _log_share(evidence: FloatArray, gated: bool, temperature: float) -> FloatArray:
    """Logarithms of the shares of rows like these that go each way, each way by itself."""
    if evidence.shape[1] == 1:
        return np.zeros(evidence.shape)
    if gated:
        gate = evidence[:, -1:] / temperature
        on = _log_share(evidence[:, :-1], False, temperature) + log_expit(-gate)
        return np.hstack([on, log_expit(gate)])
    return np.asarray(log_expit(evidence / temperature))


def evidence_of_final(models: LocalModels, X: Any) -> FloatArray:
    """What the classifier of a flat model says: a column per ending."""
    known, ends = _known(models).ends, models.options.ends
    estimator = models.classifiers.get(0)
    if estimator is None or len(ends) == 1:
        return np.zeros((n_rows_of(X), len(ends)))
    return restrict_columns(models, choice(models, estimator, X, len(known)), known, ends)


@direct_final_proba.register
def _ensemble_endings(models: EnsembleModels, X: Any) -> FloatArray:
    """Product or mean of the members' probabilities of endings."""
    product = models.voting == "product"
    total = np.zeros((n_rows_of(X), len(models.options.ends)))
    for member, weight in zip(models.members, models.weights, strict=True):
        if not weight:
            continue
        part = final_proba(member, X)
        if product:  # as logarithms, so that a product of many small numbers does not vanish
            with np.errstate(divide="ignore"):
                np.log(part, out=part)
        total += np.multiply(part, weight, out=part)
    if not product:
        return normalised(total)
    best = np.max(total, axis=1, keepdims=True)
    # Where the members agree on nothing at all, nothing is known.
    return softmax(np.where(np.isfinite(best), total, 0.0), axis=1)


@direct_final_proba.register
def _restricted_endings(models: RestrictedModels, X: Any) -> FloatArray:
    base = models.base
    column = np.searchsorted(base.options.ends, models.options.ends)
    if getattr(
        base, "joint", False
    ):  # as logarithms, so that the best of unlikely endings is still the best
        return softmax(_joint_logs(base, X)[:, column], axis=1)
    return normalised(final_proba(base, X)[:, column])
