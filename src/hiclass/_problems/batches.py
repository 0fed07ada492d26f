"""Batches of a stream: which classifiers a batch updates, and with which rows.

The policies are those of ``fit``. The difference is what is known at which time. A classifier must
know its classes before there are rows of all of them. So there are two sets of options: the
*layout*, which contains everything that the classifiers can distinguish, and the options proper,
which have had rows. Targets refer to the layout. Predictions choose among the options, so that a
class without rows has probability 0, as after ``fit``.

The work for a batch grows with its rows and their depth, not with the number of nodes. Nodes
without rows in the batch are not visited, except by policies that use every row at every node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._problems.index import (
    BatchIndex,
    LocalProblem,
    RowCounts,
    branches,
    child_branches,
    find_options,
    gate_problem,
    rows_of_options,
)
from hiclass._problems.policies import as_policy
from hiclass._state import LevelColumns, Options, Stream
from hiclass._typing import AnyArray, IntArray
from hiclass._warnings import warn_user
from hiclass.hierarchy import Hierarchy
from hiclass.hierarchy._nodes import gather


def make_layout(hierarchy: Hierarchy, stops: AnyArray) -> Options:
    """All children of every node, and "stop here" at the inner nodes of a mask."""
    wanted = hierarchy.is_leaf | stops
    wanted[0] = False
    return find_options(RowCounts(hierarchy, wanted.astype(np.intp)), leaf_only=False)


def level_columns(hierarchy: Hierarchy, layout: Options) -> LevelColumns:
    """Number the classes of every level: the options of its parents in order."""
    classes = []
    child, stop = np.zeros((2, hierarchy.n_nodes), dtype=np.intp)
    for level, parents in enumerate(hierarchy.nodes_by_level[:-1], start=1):
        here = gather(layout.indptr, layout.indices, parents)
        column = np.arange(len(here))
        goes_on = hierarchy.levels[here] == level
        child[here[goes_on]] = column[goes_on]
        stop[here[~goes_on]] = column[~goes_on]
        classes.append(here)
    return LevelColumns(classes, child, stop)


# -- the problems of a batch -------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """The problems that a batch updates, created one by one."""

    n_problems: int
    problems: Iterator[LocalProblem]


def plan_per_parent(index: BatchIndex, stream: Stream) -> Plan:
    """The nodes with several branches that rows reach."""
    reached, layout = index.reached(), stream.layout
    reached = reached[_lengths(layout.indptr, reached) > 1]
    problems = []
    for node in reached.tolist():
        rows, target = rows_of_options(index, layout, node)
        if len(rows):
            problems.append(LocalProblem(node, rows, target, branches(layout, node)))
    return _as_plan(problems)


def plan_per_level(index: BatchIndex, stream: Stream) -> Plan:
    """The levels that rows reach, or stop just above."""
    hierarchy, nodes, columns = index.hierarchy, index.nodes, stream.columns
    assert columns is not None
    level_of_row = hierarchy.levels[nodes]
    problems = []
    for level, classes in enumerate(columns.classes, start=1):
        stops = (level_of_row == level - 1) & stream.layout.can_stop[nodes]
        rows = np.flatnonzero((level_of_row >= level) | stops)
        if len(rows) and len(classes) > 1:
            at = nodes[rows]
            taken = columns.child[hierarchy._at_level(at, level)]
            target = np.where(level_of_row[rows] >= level, taken, columns.stop[at])
            problems.append(LocalProblem(level, rows, target, classes))
    return _as_plan(problems)


def plan_flat(index: BatchIndex, stream: Stream) -> Plan:
    """The single problem, if rows end at a final class."""
    ends = stream.layout.ends
    place = np.minimum(np.searchsorted(ends, index.nodes), len(ends) - 1)
    rows = np.flatnonzero(ends[place] == index.nodes)
    if len(ends) < 2 or not len(rows):
        return _as_plan([])
    return _as_plan([LocalProblem(0, rows, place[rows], ends)])


def plan_per_node(index: BatchIndex, stream: Stream) -> Plan:
    """The binary problems to which a policy assigns rows of the batch, and their gates."""
    hierarchy, layout, policy = index.hierarchy, stream.layout, as_policy(stream.policy)
    reached = index.reached()
    if not policy.inside_parent:
        parents = np.flatnonzero(~hierarchy.is_leaf)
    else:
        # A row that ends at a node carries no information about its children.
        touched = index.distinct if policy.own else reached[1:]
        parents = np.unique(hierarchy.parent[touched])
    gates = reached[layout.can_stop[reached]]
    n_children = _lengths(hierarchy.child_indptr, parents)
    parents, n_children = parents[n_children > 1], n_children[n_children > 1]

    def problems() -> Iterator[LocalProblem]:
        for parent in parents.tolist():
            children = child_branches(layout, parent)
            selected = policy.select(index, np.array([parent]), children)
            for node, (rows, positive) in zip(children.tolist(), selected, strict=True):
                if len(positive):
                    target = positive.astype(np.intp)
                    yield LocalProblem(node, rows, target, np.array([-1, node]))
        yield from (gate_problem(index, node) for node in gates.tolist())

    return Plan(int(n_children.sum()) + len(gates), problems())


def _lengths(indptr: IntArray, rows: IntArray) -> IntArray:
    return indptr[rows + 1] - indptr[rows]


def _as_plan(problems: list[LocalProblem]) -> Plan:
    return Plan(len(problems), iter(problems))


# -- rows that a batch must not have ---------------------------------------------------------------


def check_layout(hierarchy: Hierarchy, layout: Options, nodes: IntArray, leaf_only: bool) -> None:
    """Reject rows of classes that had no rows in ``fit`` and are unknown to the classifiers."""
    known = np.zeros(hierarchy.n_nodes, dtype=bool)
    known[layout.indices] = True
    remedy = (
        "After fit, partial_fit supports only classes that had rows in fit. Call fit with rows of "
        "this class, or start with partial_fit and classes= instead of fit."
    )
    path = hierarchy._paths[nodes]
    unknown = (path >= 0) & ~known[path]
    if unknown.any():
        row, level = (int(i[0]) for i in np.nonzero(unknown))
        name = hierarchy.describe(int(path[row, level]))
        raise ValueError(
            f"Row {row} of y: the classifiers were not fitted for the class {name}. {remedy}"
        )
    stops = ~hierarchy.is_leaf[nodes] & ~layout.can_stop[nodes]
    if stops.any() and not leaf_only:
        row = int(np.argmax(stops))
        name = hierarchy.describe(int(nodes[row]))
        raise ValueError(f"Row {row} of y ends at {name}, where no path has ended before. {remedy}")


# -- forgetting --------------------------------------------------------------------------------

#: If more rows of the missing classes were expected than this number plus the number of classes in
#: the batch, chance does not explain that they are missing.
_CERTAIN = 10


class Guard:
    """Decides which local classifiers learn a batch, so that none forgets its classes.

    Parameters
    ----------
    learned : dict of ndarray of shape (n_classes,)
        For each classifier (``key_of``), the number of rows learned of each of its classes, as far
        as they count.
    suspects : collection of int
        Classifiers for which chance is known not to explain the missing classes:
        ``lacking_siblings``.

    Attributes
    ----------
    left_out : list of LocalProblem
        The problems of the classifiers that skip the batch.
    forgetting : list of LocalProblem
        The problems of those that learn the batch although classes are missing.
    unknown : list of ndarray of int
        Rows of classes of which a classifier has learned nothing yet, because it skips the batch.
        Such a class must not be predicted.
    """

    def __init__(self, learned: dict[int, AnyArray], suspects: Collection[int] = ()) -> None:
        self.learned = dict(learned)
        self.left_out: list[LocalProblem] = []
        self.forgetting: list[LocalProblem] = []
        self.unknown: list[IntArray] = []
        self._suspects = suspects

    def admits(self, problem: LocalProblem, *, may_forget: bool) -> bool:
        """Whether the classifier of a problem learns its rows; stores the decision."""
        key, counts = key_of(problem), _count(problem)
        learned = self.learned.get(key, np.zeros(len(counts)))
        certain, most = _lack(learned, counts)
        if np.count_nonzero(learned) < 2:  # there is nothing to forget yet
            if np.count_nonzero(counts) > 1:
                # the number of rows of the first class is not a share
                learned = np.zeros(len(counts))
        elif may_forget and (certain or (most and key in self._suspects)):
            (self.left_out if most else self.forgetting).append(problem)
            self.learned[key] = np.where(counts > 0, learned, learned / 4)
            if most:
                unknown = np.flatnonzero(learned[problem.target] == 0)
                self.unknown.append(unknown if problem.rows is None else problem.rows[unknown])
                return False
            learned = self.learned[key]
        self.learned[key] = learned + counts
        return True


def lacking_siblings(plan: Plan, learned: dict[int, AnyArray]) -> set[int]:
    """Binary classifiers of siblings that a batch lacks, even if each of them is rare.

    Parameters
    ----------
    plan : Plan
        The problems of the batch per parent node.
    learned : dict of ndarray
        What the binary classifiers have learned: see ``Guard``.
    """
    found: set[int] = set()
    for problem in plan.problems:
        keys = [~node if node == problem.owner else node for node in problem.classes.tolist()]
        positive = np.array([learned[key][1] if key in learned else 0.0 for key in keys])
        if all(_lack(positive, _count(problem))):
            found.update(keys)
    return found


def _lack(learned: AnyArray, counts: AnyArray) -> tuple[bool, bool]:
    """Whether chance does not explain that rows lack classes, and whether these are most classes.

    Of n shuffled rows with k classes, n - k repeat a class. On average, this is at most n times the
    share of these k classes, so that at most k rows of the other classes were expected.
    """
    n_rows, n_present = counts.sum(), np.count_nonzero(counts)
    n_learned, n_lacking = learned.sum(), learned[counts == 0].sum()
    expected = n_lacking * n_rows / (n_learned + n_rows)
    most = n_lacking > (n_learned / 2 if n_present > 1 else 0)
    return bool(expected >= n_present + _CERTAIN), bool(most)


def _count(problem: LocalProblem) -> AnyArray:
    return np.bincount(problem.target, minlength=len(problem.classes))


def rows_learned(plan: Plan, n_own: IntArray, owners: set[int]) -> dict[int, AnyArray]:
    """What some classifiers have learned from the rows of ``fit``: see ``Guard``.

    Parameters
    ----------
    plan : Plan
        The problems of a batch with one row for every node that had rows, in their order.
    n_own : ndarray of int
        The number of rows of each of these nodes.
    owners : set of int
        The existing classifiers, as ``key_of``.
    """
    learned = {}
    for problem in plan.problems:
        if key_of(problem) in owners:
            weights = n_own if problem.rows is None else n_own[problem.rows]
            learned[key_of(problem)] = np.bincount(
                problem.target, weights, minlength=len(problem.classes)
            )
    return learned


def key_of(problem: LocalProblem) -> int:
    """A unique number for a classifier (a node or a level) or a gate."""
    return ~problem.owner if problem.gate else problem.owner


def renumbered(by_key: dict[int, Any], moved: IntArray) -> dict[int, Any]:
    """The values by node or gate, with the numbers of a tree that has grown."""
    return {int(moved[k]) if k >= 0 else ~int(moved[~k]): v for k, v in by_key.items()}


def learns_by_counting(estimator: Any) -> bool:
    """Whether a classifier learns by counting, so that it does not forget."""
    # imported by the user of such a classifier, not with hiclass
    from sklearn import naive_bayes as nb

    counting = (nb.BernoulliNB, nb.CategoricalNB, nb.ComplementNB, nb.GaussianNB, nb.MultinomialNB)
    return isinstance(estimator, counting)


def warn_of_lack(guard: Guard, describe: Callable[[LocalProblem], str]) -> None:
    """Warn of classifiers that skipped a batch, and of those that learned it and may forget."""
    for problems, what in (
        (guard.left_out, "skipped the batch, because they would forget these classes"),
        (guard.forgetting, "learned the batch and may forget these classes"),
    ):
        if problems:
            names = ", ".join(describe(problem) for problem in problems[:3])
            more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
            warn_user(
                "The batch has no rows of classes that local classifiers have learned. The "
                f"classifiers of {names}{more} {what}. Include rows of all classes so far in every "
                "batch, for example by shuffling the stream."
            )


def note_sides(problem: LocalProblem, is_new: bool, one_sided: dict[int, int]) -> None:
    """Record in ``one_sided`` whether a binary classifier has seen rows of one class only."""
    key = key_of(problem)
    low, high = int(problem.target.min()), int(problem.target.max())
    if is_new and low == high:
        one_sided[key] = low
    elif not low == high == one_sided.get(key):
        one_sided.pop(key, None)
