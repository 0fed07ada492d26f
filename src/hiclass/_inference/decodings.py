"""From probabilities to decisions: which path is chosen, and where it ends.

Models that are queried node by node are searched, and only the local classifiers that can matter
are queried. Models that know all final classes at once are decoded from an array of node
probabilities. Both give the same decisions. Ties go to the lowest node number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hiclass._inference import joint_search
from hiclass._inference.candidates import Candidates as Candidates
from hiclass._inference.candidates import Decision as Decision
from hiclass._inference.candidates import best_values, confidence_along
from hiclass._inference.confidence import Thresholds, along_paths
from hiclass._inference.joint_search import Found, can_search, settle
from hiclass._inference.paths import (
    Group,
    Queries,
    branch_proba,
    decider_of,
    direct_final_proba,
    final_to_nodes,
    node_proba,
    shares_classifiers,
    width_of,
)
from hiclass._inference.search import k_best_ends, runs, search, width_of_search
from hiclass._problems.index import child_branches
from hiclass._rows import n_rows_of
from hiclass._state import LocalModels, Options
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

# -- the best child at every step --------------------------------------------------------------


def top_down(models: LocalModels, X: Any) -> Decision:
    """Walk down the tree and take the best option at every node."""
    n = n_rows_of(X)
    known = node_proba(models, X) if models.is_direct else None
    ends_at = np.zeros(n, dtype=np.intp)
    reached = np.ones(n)
    confidence = np.full((n, models.hierarchy.depth), np.nan)
    groups: list[Group] = [(0, np.arange(n))]
    level = 0
    while groups:
        below: list[Group] = []
        found = (
            branch_proba(models, X, groups)
            if known is None
            else [_joint(models, known, node, rows) for node, rows in groups]
        )
        for (node, rows), proba in zip(groups, found, strict=True):
            best = proba.argmax(axis=1)
            goes_on: Any = slice(None)
            if models.options.can_stop[node]:
                # "Stop here" comes last but has the lowest number, so it wins a tie.
                last = proba.shape[1] - 1
                best = np.where(proba[:, last] >= proba.max(axis=1), last, best)
                goes_on = best != last
            chosen = models.options.indices[models.options.indptr[node] + best]
            taken = proba[np.arange(len(rows)), best]
            if known is None:
                taken = reached[rows] * taken
            reached[rows] = taken
            ends_at[rows] = chosen
            on = rows[goes_on]
            confidence[on, level] = taken[goes_on]
            below.extend(split(chosen[goes_on], on, models.options))
        groups, level = below, level + 1
    return Decision(ends_at, confidence)


def _joint(models: LocalModels, proba: FloatArray, node: int, rows: IntArray) -> FloatArray:
    """Joint probabilities of the options of a node, from node probabilities."""
    children = child_branches(models.options, node)
    below = proba[np.ix_(rows, children)]
    if not models.options.can_stop[node]:
        return below
    return np.column_stack([below, proba[rows, node] - below.sum(axis=1)])


def split(chosen: IntArray, rows: IntArray, options: Options) -> list[Group]:
    """Group rows by their current node; leaves are omitted."""
    if not len(chosen):
        return []
    order = np.argsort(chosen, kind="stable")
    chosen, rows = chosen[order], rows[order]
    starts = [0, *(np.flatnonzero(chosen[1:] != chosen[:-1]) + 1).tolist(), len(chosen)]
    runs = ((int(chosen[a]), rows[a:b]) for a, b in pairwise(starts))
    return [(node, run) for node, run in runs if options.indptr[node + 1] > options.indptr[node]]


# -- the most probable final classes -----------------------------------------------------------


def best_path(models: LocalModels, X: Any) -> Decision:
    """The most probable final class."""
    if models.is_direct:
        final = direct_final_proba(models, X)
        nodes = models.options.ends[final.argmax(axis=1)]
        return with_confidence(models, final_to_nodes(models, final), nodes)
    nodes, _, along = search(models, X, 1)
    return Decision(nodes[:, 0], along)


def check_n_paths(k: Any) -> int:
    """The number of paths to return per row."""
    if not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be an integer of at least 1; got {k!r}.")
    return int(k)


def best_paths(models: LocalModels, X: Any, k: int) -> tuple[IntArray, FloatArray]:
    """The k most probable final classes and their probabilities; node 0 if there are fewer."""
    if not models.is_direct:
        nodes, proba, _ = search(models, X, k)
        return nodes, proba
    decider = decider_of(models)
    if decider is not None:
        return decider.best_paths(X, k)
    return k_best_ends(direct_final_proba(models, X), models.options.ends, k)


def width_of_best_paths(models: Any, k: int) -> int:
    """The largest number of values per row in each of a few arrays, for the k best paths."""
    if decider_of(models) is not None:
        return k
    # Those of all final classes, and those of all nodes.
    return 2 * width_of(models) + k if models.is_direct else width_of_search(models, k)


# -- the best expected F-score -----------------------------------------------------------------


def expected_f1(models: LocalModels, X: Any, f: float, leaf_only: bool) -> Decision:
    """The node that maximises the sum over its path of P(node) - f / 2."""
    if leaf_only:
        proba = node_proba(models, X)
        return with_confidence(models, proba, _best_leaf(models, proba, f))
    seen = explore(models, X, f / 2)
    nodes = best_values(models.hierarchy, seen, n_rows_of(X), f)
    return Decision(nodes, confidence_along(models.hierarchy, nodes, seen))


def _best_leaf(models: LocalModels, proba: FloatArray, f: float) -> IntArray:
    """The same among leaves only, if a path must continue although this lowers the F-score."""
    hierarchy, ends = models.hierarchy, models.options.ends
    value = proba - f / 2
    value[:, 0] = 0
    for nodes in hierarchy.nodes_by_level[1:]:
        value[:, nodes] += value[:, hierarchy.parent[nodes]]
    return ends[value[:, ends].argmax(axis=1)]


def explore(models: LocalModels, X: Any, floor: float) -> list[Candidates]:
    """All nodes with a probability above a floor, level by level, and the best node of level 1.

    Only nodes above the floor are expanded, because no descendant is more probable than its
    ancestor.
    """
    if models.is_direct:
        return explore_proba(models.hierarchy, node_proba(models, X), floor)
    n = n_rows_of(X)
    here = Candidates(np.arange(n), np.zeros(n, dtype=np.intp), np.ones(n))
    queries = Queries(models, X)
    levels = []
    for level in range(models.hierarchy.depth):
        parts = [
            _above(queries, node, here.where(at), floor, and_best=level == 0)
            for node, at in runs(here.nodes, here.rows)
            if models.options.indptr[node + 1] > models.options.indptr[node]
        ]
        here = Candidates.join(parts)
        levels.append(here)
        here = here.where(here.proba > floor)
    return levels


def _above(
    queries: Queries, node: int, at: Candidates, floor: float, *, and_best: bool
) -> Candidates:
    """The children of a node with a probability above a floor, and optionally the best child."""
    children = child_branches(queries.models.options, node)
    joint = queries.proba(node, at.rows)[:, : len(children)] * at.proba[:, None]
    keep = joint > floor
    if and_best and len(children):
        keep[np.arange(len(keep)), joint.argmax(axis=1)] = True
    i, column = np.nonzero(keep)
    return Candidates(at.rows[i], children[column], joint[i, column])


def width_of_exploring(models: LocalModels, floor: float) -> int:
    """The number of values per row that ``explore`` holds, in units of four."""
    hierarchy = models.hierarchy
    if models.is_direct:
        return 2 * hierarchy.n_nodes
    # The nodes of a level sum to one, so few of them are above the floor. An entry has three
    # values, which are sorted.
    entries = min(hierarchy.n_nodes, int(hierarchy.depth / max(floor, 1e-9)) + 1)
    kept = hierarchy.n_nodes if shares_classifiers(models) else 0
    return width_of(models) + (kept + 12 * entries) // 4 + 1


def explore_proba(hierarchy: Hierarchy, proba: FloatArray, floor: float) -> list[Candidates]:
    """The same for an array of node probabilities."""
    levels = []
    for level, nodes in enumerate(hierarchy.nodes_by_level[1:]):
        here = proba[:, nodes]
        keep = here > floor
        if level == 0:
            keep[np.arange(len(here)), here.argmax(axis=1)] = True
        rows, columns = np.nonzero(keep)
        levels.append(Candidates(rows, nodes[columns], here[rows, columns]))
    return levels


# -- custom decodings, and shared parts ---------------------------------------------------------


def custom(
    models: LocalModels,
    X: Any,
    decide: Callable[[FloatArray, Hierarchy], Any],
) -> Decision:
    """Let a user-defined function choose nodes from node probabilities."""
    proba = node_proba(models, X)
    nodes = np.asarray(decide(proba, models.hierarchy))
    n = len(proba)
    if nodes.shape != (n,) or nodes.dtype.kind not in "iu":
        raise ValueError(
            f"The decoding function must return one node number per row, an integer array of shape "
            f"({n},); got shape {nodes.shape} and type {nodes.dtype}."
        )
    if ((nodes < 0) | (nodes >= models.hierarchy.n_nodes)).any():
        raise ValueError(
            f"The decoding function returned a node outside 0 to {models.hierarchy.n_nodes - 1}. "
            "Return numbers of nodes of the hierarchy."
        )
    return with_confidence(models, proba, nodes.astype(np.intp))


def _check_ends(models: Any, nodes: IntArray) -> None:
    """Reject paths that stop at an inner node if ``leaf_only`` does not allow it."""
    is_end = np.isin(nodes, models.options.ends)
    if not is_end.all():
        name = models.hierarchy.describe(int(nodes[np.argmin(is_end)]))
        raise ValueError(
            f"The decoding function returned {name}, at which no path of this model may end. With "
            f"leaf_only=True, return leaves, or fit with leaf_only=False."
        )


def with_confidence(models: LocalModels, proba: FloatArray, nodes: IntArray) -> Decision:
    """Look up the probabilities along the paths to some nodes."""
    path = models.hierarchy._paths[nodes]
    confidence = np.take_along_axis(proba, np.maximum(path, 0), axis=1)
    return Decision(nodes, np.where(path >= 0, confidence, np.nan))


def _truncates(thresholds: Thresholds) -> bool:
    return bool(np.any(thresholds > 0))


def truncate(decision: Decision, hierarchy: Hierarchy, min_confidence: Thresholds) -> Decision:
    """Truncate every path before its first node with a probability below its threshold."""
    if not _truncates(min_confidence):
        return decision
    with np.errstate(invalid="ignore"):
        sure = decision.confidence >= along_paths(min_confidence, hierarchy, decision.nodes)
    # Probabilities never increase along a path. With one threshold, the sure nodes come first.
    sure = np.logical_and.accumulate(sure, axis=1)
    length = sure.sum(axis=1)
    path = np.column_stack([np.zeros(len(length), dtype=np.intp), hierarchy._paths[decision.nodes]])
    return Decision(
        path[np.arange(len(length)), length], np.where(sure, decision.confidence, np.nan)
    )


# -- the table ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wish:
    """The options of a decision besides the probabilities.

    Attributes
    ----------
    leaf_only : bool
        Whether every path must end at a leaf.
    f : float or None
        The expected F-score, if known.
    min_confidence : float or ndarray of shape (n_nodes,)
        Paths will be truncated before their first node with less than this probability.
    only_nodes : bool
        Whether the probabilities along the path are not needed.
    """

    leaf_only: bool = False
    f: float | None = None
    min_confidence: Thresholds = 0.0
    only_nodes: bool = False


def _always(direct: bool) -> bool:
    return True


@dataclass(frozen=True, repr=False)
class Decoding:
    """A rule that chooses the path of a row.

    Attributes
    ----------
    name : str
        The name that users write.
    decide : callable
        ``(models, X, wish)`` to the :class:`Decision` for a chunk of rows.
    width : callable
        ``(models, wish)`` to the largest number of values per row in each of a few arrays.
    fewest_labels : int or None, default=0
        The smallest number of labels of a path; None if paths are as long as the model allows.
    needs_proba : callable
        ``(models are direct)`` to whether it needs probabilities. By default, it does.
    needs_f : bool, default=False
        Whether it depends on the expected F-score.
    step_by_step : bool, default=False
        Whether it walks down the tree step by step, which a flat model does not support.
    propose : callable or None, default=None
        ``(models, found, wish)`` to the node of every row that follows from a search in a joint
        model, and whether this is proven. None if there is no search.
    only_best : bool, default=False
        Whether it depends only on the best final class.
    """

    name: str
    decide: Callable[[Any, Any, Wish], Decision]
    width: Callable[[Any, Wish], int]
    fewest_labels: int | None = 0
    needs_proba: Callable[[bool], bool] = _always
    needs_f: bool = False
    step_by_step: bool = False
    propose: Callable[[Any, Found, Wish], tuple[IntArray, AnyArray]] | None = None
    only_best: bool = False

    def __repr__(self) -> str:
        return repr(self.name)

    def apply(self, models: Any, X: Any, wish: Wish) -> Decision:
        """Decide, and reject paths that stop early if they are not allowed to."""
        if self.searches(models, wish):
            return self._search(models, X, wish)
        decider = self._decider(models)
        if decider is None:
            decision = self.decide(models, X, wish)
        else:
            decision = decider.decide(self, X, wish)
        if wish.leaf_only and self.fewest_labels is not None:
            _check_ends(models, decision.nodes)
        return decision

    def width_for(self, models: Any, wish: Wish) -> int:
        """The largest number of values per row in each of a few arrays."""
        if self._decider(models) is not None:
            return int(models.hierarchy.depth)
        searches = self.searches(models, wish)
        return joint_search.width_of_search(models) if searches else self.width(models, wish)

    def _decider(self, models: Any) -> Any:
        """The decider that supports this decoding on a device, or None."""
        decider = decider_of(models)
        return decider if decider is not None and decider.knows(self) else None

    def searches(self, models: Any, wish: Wish) -> bool:
        """Whether a joint model is searched instead of computed as a whole."""
        # If a path must continue, the best leaf depends on all leaves.
        forced = wish.leaf_only and self.fewest_labels is not None
        if self.propose is None or forced or not wish.only_nodes:
            return False
        return getattr(models, "joint", False) and can_search(models, self._wants_best(wish))

    def _wants_best(self, wish: Wish) -> bool:
        """Whether to search for the best final class only."""
        return self.only_best and not _truncates(wish.min_confidence)

    def _search(self, models: LocalModels, X: Any, wish: Wish) -> Decision:
        def propose(found: Found) -> tuple[tuple[IntArray, FloatArray], AnyArray]:
            assert self.propose is not None
            nodes, proven = self.propose(models, found, wish)
            confidence = np.full((found.n, models.hierarchy.depth), np.nan)
            if _truncates(wish.min_confidence):
                least = along_paths(wish.min_confidence, models.hierarchy, nodes)
                confidence = confidence_along(models.hierarchy, nodes, found.levels)
                proven &= found.proven(confidence, least)
            return (nodes, confidence), proven

        def compute(rows: Any) -> tuple[IntArray, FloatArray]:
            decision = self.decide(models, rows, wish)
            return decision.nodes, decision.confidence

        width = self.width(models, wish)
        return Decision(*settle(models, X, self._wants_best(wish), propose, compute, width))

    def check(self, wish: Wish) -> None:
        """Check that everything the decoding needs is known, before there are rows to decide on."""
        if self.needs_f:
            known_f(wish)


def known_f(wish: Wish) -> float:
    """The expected F-score, or an error if it is not known."""
    if wish.f is None:
        raise ValueError(
            "decoding='expected_f1' requires an expected F-score, which this model has not "
            "learned. Fit the model again with decoding='expected_f1', or set expected_f1, for "
            "example to 0.8."
        )
    return wish.f


def _decide_expected_f1(models: Any, X: Any, wish: Wish) -> Decision:
    return expected_f1(models, X, known_f(wish), wish.leaf_only)


def _width_of_expected_f1(models: Any, wish: Wish) -> int:
    if wish.leaf_only:
        return _width_of_nodes(models, wish)
    depth = int(models.hierarchy.depth)
    return width_of_exploring(models, (wish.f or 1.0) / 2) + depth


def _width_of_nodes(models: Any, wish: Wish) -> int:
    return int(models.hierarchy.n_nodes)


def _is_direct(direct: bool) -> bool:
    return direct  # for top_down, the best branch is sufficient


def _is_not_direct(direct: bool) -> bool:
    return not direct  # otherwise, the best class is sufficient


def _decide_top_down(models: Any, X: Any, wish: Wish) -> Decision:
    return top_down(models, X)


def _width_of_top_down(models: Any, wish: Wish) -> int:
    return int(width_of(models) + models.hierarchy.depth)


def _propose_top_down(models: Any, found: Found, wish: Wish) -> tuple[IntArray, AnyArray]:
    return joint_search.propose_top_down(found, np.diff(models.options.indptr) > 0)


def _decide_best_path(models: Any, X: Any, wish: Wish) -> Decision:
    return best_path(models, X)


def _width_of_best_path(models: Any, wish: Wish) -> int:
    return int(width_of_best_paths(models, 1) + models.hierarchy.depth)


def _propose_best_path(models: Any, found: Found, wish: Wish) -> tuple[IntArray, AnyArray]:
    return joint_search.propose_best(found)


def _propose_expected_f1(models: Any, found: Found, wish: Wish) -> tuple[IntArray, AnyArray]:
    return joint_search.propose_expected_f1(found, known_f(wish))


#: All decodings, by name.
DECODINGS: dict[str, Decoding] = {
    decoding.name: decoding
    for decoding in (
        Decoding(
            "top_down",
            decide=_decide_top_down,
            width=_width_of_top_down,
            fewest_labels=None,
            needs_proba=_is_direct,
            step_by_step=True,
            propose=_propose_top_down,
        ),
        Decoding(
            "best_path",
            decide=_decide_best_path,
            width=_width_of_best_path,
            fewest_labels=None,
            needs_proba=_is_not_direct,
            propose=_propose_best_path,
            only_best=True,
        ),
        Decoding(
            "expected_f1",
            decide=_decide_expected_f1,
            width=_width_of_expected_f1,
            fewest_labels=1,
            needs_f=True,
            propose=_propose_expected_f1,
        ),
    )
}


def as_decoding(decoding: Any) -> Decoding:
    """Return the decoding for a parameter value: a name, a decoding, or a function of nodes.

    The function takes node probabilities and the hierarchy and returns one node per row.
    """
    if isinstance(decoding, Decoding):
        return decoding
    if callable(decoding):
        return Decoding(
            getattr(decoding, "__name__", "custom"),
            decide=lambda models, X, wish: custom(models, X, decoding),
            width=_width_of_nodes,
        )
    return DECODINGS[decoding]
