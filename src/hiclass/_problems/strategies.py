"""The strategies: which local problems there are, and what the classes of their classifiers mean.

A strategy is an object in the table :data:`STRATEGIES`, and the only place that knows its name. It
determines the problems of the training rows, with one path per row (:class:`TreeIndex`) or with
sets of classes (:class:`SetIndex`), the problems that a batch updates, and the branches that the
classifier of an owner decides about. Everything else follows.

The branches of a node (*options* in code) are its children with training rows and, if rows end at
the node, the node itself: "stop here" is an additional option, represented by the number of the
node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from hiclass._labels.columns import plain
from hiclass._problems.batches import (
    Plan,
    level_columns,
    plan_flat,
    plan_per_level,
    plan_per_node,
    plan_per_parent,
)
from hiclass._problems.groups import Groups
from hiclass._problems.index import (
    BatchIndex,
    LocalProblem,
    RowIndex,
    SetIndex,
    TreeIndex,
    all_as_none,
    branches,
    child_branches,
    gate_problem,
    largest_first,
    options_of,
    rows_of_options,
)
from hiclass._problems.policies import Policy, read_policy
from hiclass._state import LevelColumns, Options, Stream
from hiclass._typing import AnyArray, IntArray
from hiclass.hierarchy import Hierarchy

#: The largest total number of rows of all classifiers per node, counting each row once per
#: classifier. At a million rows per second, which no classifier reaches, this would take eleven
#: days.
_MOST_ROWS = 1e12


class Decides(Enum):
    """What the classifiers of a strategy decide about.

    ``CLASS``: whether a row belongs to one class; gates decide where a path stops. ``BRANCHES``:
    which branch a row takes from the nodes of an owner. ``ALL``: to which final class a row
    belongs.
    """

    CLASS = "class"
    BRANCHES = "branches"
    ALL = "all"


# -- one path per row: per parent node, per level, or any other groups of nodes ------------------


def _problems_per_parent(
    index: TreeIndex, options: Options, policy: Policy | None
) -> Iterator[LocalProblem]:
    """One multi-class problem per node with several branches."""
    for node in largest_first(np.flatnonzero(np.diff(options.indptr) > 1), index.n_below):
        rows, target = rows_of_options(index, options, node)
        yield LocalProblem(node, all_as_none(rows, index.n_rows), target, branches(options, node))


def _count_per_parent(options: Options, hierarchy: Hierarchy) -> int:
    return int((np.diff(options.indptr) > 1).sum())


def _problems_per_level(
    index: TreeIndex, options: Options, policy: Policy | None
) -> Iterator[LocalProblem]:
    """One multi-class problem per level, over the options of all nodes of the level above."""
    hierarchy = index.hierarchy
    level_of_row = hierarchy.levels[index.nodes]
    for level, parents in enumerate(hierarchy.nodes_by_level[:-1], start=1):
        classes = options_of(options, parents)
        if len(classes) < 2:
            continue
        here = level_of_row >= level
        if options.can_stop[parents].any():
            here |= (level_of_row == level - 1) & options.can_stop[index.nodes]
        rows = np.flatnonzero(here)
        nodes = index.nodes[rows]
        # A row that ends above this level takes the stop option of its own node.
        taken = hierarchy._at_level(nodes, level)
        taken = np.where(taken < 0, nodes, taken)
        column = np.empty(hierarchy.n_nodes, dtype=np.intp)
        column[classes] = np.arange(len(classes))
        yield LocalProblem(level, all_as_none(rows, index.n_rows), column[taken], classes)


def _count_per_level(options: Options, hierarchy: Hierarchy) -> int:
    per_level = np.bincount(hierarchy.levels, weights=np.diff(options.indptr))
    return int((per_level > 1).sum())


# -- one path per row: all final classes at once --------------------------------------------------


def _problems_flat(
    index: TreeIndex, options: Options, policy: Policy | None
) -> Iterator[LocalProblem]:
    """One multi-class problem over all final classes."""
    if len(options.ends) < 2:
        return
    column = np.full(index.hierarchy.n_nodes, -1, dtype=np.intp)
    column[options.ends] = np.arange(len(options.ends))
    target = column[index.nodes]
    rows = np.flatnonzero(target >= 0)
    yield LocalProblem(0, all_as_none(rows, index.n_rows), target[rows], options.ends)


def _count_flat(options: Options, hierarchy: Hierarchy) -> int:
    return int(len(options.ends) > 1)


def _problems_global(
    index: TreeIndex, options: Options, policy: Policy | None
) -> Iterator[LocalProblem]:
    """One problem with a column per branch: which branches the path of a row takes."""
    if len(options.ends) > 1:
        classes = all_branches(options)
        yield LocalProblem(0, None, branches_taken(index, classes), classes)


def all_branches(options: Options) -> IntArray:
    """The branches of all nodes of a tree, one node after the other.

    A child is represented by its number, "stop here" by the complement ``~v`` of the node itself.
    """
    source = np.repeat(np.arange(len(options.indptr) - 1), np.diff(options.indptr))
    return np.where(source == options.indices, ~options.indices, options.indices)


def column_of(branches: IntArray, n_nodes: int) -> IntArray:
    """The column of every branch, and -1 for other nodes. Complements count from the end."""
    column = np.full(2 * n_nodes, -1)
    column[branches] = np.arange(len(branches))
    return column


def branches_taken(index: BatchIndex, branches: IntArray) -> AnyArray:
    """The closed matrix of the branches that the path of every row takes."""
    column = column_of(branches, index.hierarchy.n_nodes)
    taken = np.zeros((index.n_rows, len(branches)), dtype=bool)
    for on_path in (*index.hierarchy._paths[index.nodes].T, ~index.nodes):
        # After its last node, a path has no nodes, and at a leaf there is no stop.
        rows = np.flatnonzero((on_path != -1) & (column[on_path] >= 0))
        taken[rows, column[on_path[rows]]] = True
    return taken


# -- a binary problem per class ------------------------------------------------------------------


def _problems_per_node(
    index: TreeIndex, options: Options, policy: Policy | None
) -> Iterator[LocalProblem]:
    """One binary problem per node with siblings, and a gate where paths may stop."""
    assert policy is not None
    _check_work(index, options)
    inner = ~index.hierarchy.is_leaf
    policy = read_policy(policy, ends_early=bool(index.n_own[inner].any()))
    for parent in largest_first(np.flatnonzero(inner), index.n_below):
        children = child_branches(options, parent)
        if len(children) > 1:  # an only child is certain
            yield from _binary_problems(index, policy, np.array([parent]), children)
        if options.can_stop[parent] and len(children):
            yield gate_problem(index, parent)


def _binary_problems(
    index: RowIndex, policy: Policy, parents: IntArray, children: IntArray, lenient: bool = False
) -> Iterator[LocalProblem]:
    """The problems of some nodes with the same parents.

    Raises
    ------
    ValueError
        If the policy leaves a class without positive rows or, if siblings are mutually exclusive,
        without negative rows. Not with ``lenient``, for folds and classes without siblings.
    """
    selected = policy.select(index, parents, children)
    for node, (rows, positive) in zip(children.tolist(), selected, strict=True):
        if positive.any() and not positive.all():
            yield LocalProblem(node, rows, positive.astype(np.intp), np.array([-1, node]))
        elif not lenient and (index.exclusive or not positive.any()):
            lacks = "negative" if positive.any() else "positive"
            raise ValueError(
                f"The class {index.hierarchy.describe(node)} has no {lacks} training rows under "
                f"binary_policy={policy.name!r}. Use binary_policy='siblings', which always has "
                f"positive and negative rows."
            )


def _check_work(index: TreeIndex, options: Options) -> None:
    """Reject, before any work, tasks that would never finish: many siblings trained on all rows."""
    n_children = np.diff(options.indptr) - options.can_stop
    # A lower bound: most policies use more rows. An only child needs no classifier.
    rows = np.where(n_children > 1, n_children.astype(float), 0) * index.n_below
    if rows.sum() >= _MOST_ROWS:
        node = int(np.argmax(rows))
        raise ValueError(
            f"One binary classifier per node would need {rows.sum():.1e} rows in total, which "
            f"exceeds the limit of {_MOST_ROWS:.0e}: {index.hierarchy.describe(node)} has "
            f"{n_children[node]} children with {index.n_below[node]} rows. Use "
            f"LocalClassifierPerParentNode, or group the children."
        )


def _count_per_node(options: Options, hierarchy: Hierarchy) -> int:
    n_children = np.diff(options.indptr) - options.can_stop
    gates = options.can_stop & (n_children > 0)
    return int(n_children[n_children > 1].sum() + gates.sum())


# -- sets of classes per row --------------------------------------------------------------------- A
# row may belong to several children of a node, so every class is decided independently: a problem
# over several nodes has one target column per node. Nodes to which no row, or every row of the
# problem, belongs are omitted.


def _sets_per_parent(index: SetIndex, policy: Policy | None, lenient: bool) -> Iterator[Any]:
    """One problem per node: to which of its children the rows of the node belong."""
    inner = np.flatnonzero(~index.hierarchy.is_leaf & (index.n_below > 0))
    for node in largest_first(inner, index.n_below):
        nodes = index.undecided(index.hierarchy.children(node), int(index.n_below[node]))
        if len(nodes):
            rows = all_as_none(index.below(node), index.n_rows)
            yield LocalProblem(node, rows, index.target(rows, nodes), nodes)


def _sets_per_level(index: SetIndex, policy: Policy | None, lenient: bool) -> Iterator[Any]:
    """One problem per level, over all its nodes and all rows."""
    for level, nodes in enumerate(index.hierarchy.nodes_by_level[1:], start=1):
        nodes = index.undecided(nodes, index.n_rows)
        if len(nodes):
            yield LocalProblem(level, None, index.target(None, nodes), nodes)


def _sets_flat(index: SetIndex, policy: Policy | None, lenient: bool) -> Iterator[LocalProblem]:
    """One problem over all nodes and all rows."""
    nodes = index.undecided(np.arange(1, index.hierarchy.n_nodes), index.n_rows)
    if len(nodes):
        yield LocalProblem(0, None, index.target(None, nodes), nodes)


def _sets_per_node(index: SetIndex, policy: Policy | None, lenient: bool) -> Iterator[LocalProblem]:
    """One binary problem per node with positive and negative rows, and the gates."""
    assert policy is not None
    hierarchy, n_below = index.hierarchy, index.n_below
    policy = read_policy(policy, ends_early=bool(index.n_own[~hierarchy.is_leaf].any()))
    for parents, children in families(index):
        others = [hierarchy.children(parent) for parent in parents.tolist()]
        alone = (n_below[np.unique(np.concatenate(others))] > 0).sum() == 1
        yield from _binary_problems(index, policy, parents, children, lenient or bool(alone))
    if policy.inside_parent:
        # Classifiers among siblings do not learn that a row may belong to none of them.
        for node in largest_first(np.flatnonzero(_has_gate(index)), n_below):
            yield gate_problem(index, node)


def families(index: SetIndex) -> list[tuple[IntArray, IntArray]]:
    """Nodes with training rows, grouped by their parents: (parents, nodes) pairs."""
    families: dict[tuple[int, ...], list[int]] = {}
    for node in (1 + np.flatnonzero(index.n_below[1:])).tolist():
        families.setdefault(tuple(index.hierarchy.parents(node).tolist()), []).append(node)
    pairs = [(np.array(parents), np.array(nodes)) for parents, nodes in families.items()]
    return sorted(pairs, key=lambda pair: -int(index.n_below[pair[0]].sum()))


def _has_gate(index: SetIndex) -> AnyArray:
    """The inner nodes at which some rows end and from which some continue."""
    return ~index.hierarchy.is_leaf & (index.n_own > 0) & (index.n_own < index.n_below)


def _count_sets_per_parent(index: SetIndex) -> int:
    hierarchy, n_below = index.hierarchy, index.n_below
    child = np.repeat(np.arange(hierarchy.n_nodes), np.diff(hierarchy.parent_indptr))
    parent = hierarchy.parent_indices
    undecided = (n_below[child] > 0) & (n_below[child] < n_below[parent])
    return len(np.unique(parent[undecided]))


def _count_sets_per_level(index: SetIndex) -> int:
    nodes = index.undecided(np.arange(1, index.hierarchy.n_nodes), index.n_rows)
    return len(np.unique(index.hierarchy.levels[nodes]))


def _count_sets_flat(index: SetIndex) -> int:
    return int(_count_sets_per_level(index) > 0)


def _count_sets_per_node(index: SetIndex) -> int:
    return int((index.n_below[1:] > 0).sum() + _has_gate(index).sum())


# -- the table -----------------------------------------------------------------------------------


def _one_path(hierarchy: Hierarchy, owner: int) -> Any:
    """The path of a node, or its label if it may have several paths."""
    if hierarchy.is_tree or not owner:
        return hierarchy.path(owner)
    return plain(hierarchy.labels[owner])


def _level(hierarchy: Hierarchy, owner: int) -> int:
    return owner


@dataclass(frozen=True)
class Strategy:
    """A rule that splits a hierarchy into local problems.

    Attributes
    ----------
    name : str
        The name stored in fitted models.
    decides : Decides
        What its classifiers decide about.
    problems : callable
        ``(index, options, policy)`` to the local problems of rows with one path each.
    count : callable
        ``(options, hierarchy)`` to their number.
    set_problems : callable
        ``(index, policy, lenient)`` to the local problems of rows that are sets of classes.
    count_sets : callable
        ``(index)`` to an upper bound of their number.
    owner : callable
        ``(hierarchy, nodes)`` to the owner of the classifier that decides there, for one node or an
        array of nodes.
    nodes : callable
        ``(hierarchy, owner)`` to the nodes at which it decides, in the order of its classes.
    shared : bool, default=False
        Whether one classifier decides at several nodes and is queried once for all of them.
    plan : callable, default=None
        ``(index, stream)`` to the problems that a batch updates; None if ``partial_fit`` is not
        available.
    columns : callable, default=None
        ``(hierarchy, layout)`` to the input of ``plan`` that is the same for all batches.
    takes_choices : bool, default=False
        Whether local classifiers that only have ``predict`` are supported.
    only_final : bool, default=False
        Whether it ignores rows that do not end at a final class, with ``leaf_only``.
    describe : callable
        ``(hierarchy, owner)`` to the name of a classifier in messages.
    key : callable
        ``(hierarchy, owner)`` to the argument of a callable ``local_classifier``.
    is_binary : bool
        Whether every classifier decides about one class, so that policies select the rows.
    is_direct : bool
        Whether one classifier decides about all final classes at once.
    """

    name: str
    decides: Decides
    problems: Callable[[TreeIndex, Options, Policy | None], Iterator[LocalProblem]]
    count: Callable[[Options, Hierarchy], int]
    set_problems: Callable[[SetIndex, Policy | None, bool], Iterator[LocalProblem]]
    count_sets: Callable[[SetIndex], int]
    owner: Callable[[Hierarchy, Any], Any] = lambda hierarchy, nodes: nodes
    nodes: Callable[[Hierarchy, int], IntArray] = lambda hierarchy, owner: np.array([owner])
    shared: bool = False
    plan: Callable[[BatchIndex, Stream], Plan] | None = None
    columns: Callable[[Hierarchy, Options], LevelColumns] | None = None
    takes_choices: bool = False
    only_final: bool = False
    describe: Callable[[Hierarchy, int], str] = Hierarchy.describe
    key: Callable[[Hierarchy, int], Any] = _one_path
    is_binary: bool = field(init=False)
    is_direct: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_binary", self.decides is Decides.CLASS)
        object.__setattr__(self, "is_direct", self.decides is Decides.ALL)

    def classes(self, owner: int, options: Options, hierarchy: Hierarchy) -> IntArray:
        """The meaning of the classes of the classifier of an owner, as ``LocalProblem.classes``."""
        if self.is_binary:
            return np.array([-1, owner])
        if self.is_direct:
            return options.ends
        return options_of(options, self.nodes(hierarchy, owner))

    def depth(self, problem: LocalProblem, hierarchy: Hierarchy) -> int:
        """The smallest level of the nodes at which a problem decides; 0 for the root."""
        level = int(hierarchy.levels[self.nodes(hierarchy, problem.owner)].min())
        # The classifier of a node decides at its parent; the gate of a node at the node itself.
        return level - 1 if self.is_binary and not problem.gate else level

    def stops(self, problem: LocalProblem, hierarchy: Hierarchy) -> list[bool]:
        """Which classes of a problem mean "stop here"."""
        if self.decides is not Decides.BRANCHES:
            return [False] * len(problem.classes)
        here = self.nodes(hierarchy, problem.owner)
        return np.isin(problem.classes, here).tolist()


def grouped(
    name: str,
    owner: Callable[[Hierarchy, Any], Any],
    nodes: Callable[[Hierarchy, int], IntArray],
    describe: Callable[[Hierarchy, int], str] = lambda hierarchy, owner: f"group {owner}",
) -> Strategy:
    """Create a strategy that groups nodes: one classifier for all branches of a group.

    ``owner`` and ``nodes`` are those of :class:`Strategy`. No node of a group may be an ancestor of
    another. The strategy supports batches and several labels per row. A callable
    ``local_classifier`` is called with the number of a group.
    """
    groups = Groups(owner, nodes)
    return Strategy(
        name,
        Decides.BRANCHES,
        groups.problems,
        groups.count,
        groups.set_problems,
        groups.count_sets,
        owner=owner,
        nodes=nodes,
        shared=True,
        plan=groups.plan,
        describe=describe,
        key=lambda hierarchy, owner: owner,
    )


#: All strategies, by name.
STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy(
            "node",
            Decides.CLASS,
            _problems_per_node,
            _count_per_node,
            _sets_per_node,
            _count_sets_per_node,
            plan=plan_per_node,
        ),
        Strategy(
            "parent",
            Decides.BRANCHES,
            _problems_per_parent,
            _count_per_parent,
            _sets_per_parent,
            _count_sets_per_parent,
            plan=plan_per_parent,
            takes_choices=True,
        ),
        Strategy(
            "level",
            Decides.BRANCHES,
            _problems_per_level,
            _count_per_level,
            _sets_per_level,
            _count_sets_per_level,
            owner=lambda hierarchy, nodes: hierarchy.levels[nodes] + 1,
            shared=True,
            nodes=lambda hierarchy, owner: hierarchy.nodes_by_level[owner - 1],
            plan=plan_per_level,
            columns=level_columns,
            describe=lambda hierarchy, owner: f"level {owner}",
            key=_level,
        ),
        Strategy(
            "flat",
            Decides.ALL,
            _problems_flat,
            _count_flat,
            _sets_flat,
            _count_sets_flat,
            plan=plan_flat,
            takes_choices=True,
            only_final=True,
            describe=lambda hierarchy, owner: "all leaves",
        ),
        Strategy(
            "global",
            Decides.ALL,
            _problems_global,
            _count_flat,
            _sets_flat,
            _count_sets_flat,
            describe=lambda hierarchy, owner: "all classes",
        ),
    )
}
