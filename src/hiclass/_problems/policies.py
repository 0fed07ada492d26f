"""The policies: which rows train the binary classifier of a class, and as what.

A policy is an object in the table :data:`POLICIES`, and the only place that knows its name. With
``own`` and ``below`` as in :mod:`hiclass._problems.index`, T all rows, and siblings the other
children of any parent:

==================  ==========  ====================================================
policy              positive    negative
==================  ==========  ====================================================
exclusive           own(c)      T without own(c)
less_exclusive      own(c)      T without below(c)
less_inclusive      below(c)    T without below(c)
inclusive           below(c)    T without below(c) and rows that end above c
siblings            below(c)    below(siblings of c)
exclusive_siblings  own(c)      own(siblings of c)
==================  ==========  ====================================================

Positives win over negatives. Where no row ends at an inner node, own(c) reads as below(c).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hiclass._problems.index import RowIndex, all_as_none
from hiclass._typing import AnyArray, IntArray
from hiclass._warnings import warn_user

#: The rows of a problem (None: all rows), and which of them are positive.
RowsAndPositive = tuple[IntArray | None, AnyArray]


class Scope(Enum):
    """The source of the rows of a class.

    ``SIBLINGS``: the children of its parents; its probability is conditional on a parent. ``ALL``:
    all rows, so that every batch updates every class.
    """

    SIBLINGS = "siblings"
    ALL = "all"


@dataclass(frozen=True, repr=False)
class Policy:
    """A rule that chooses the training rows of a class.

    Attributes
    ----------
    name : str
        The name that users write.
    select : callable
        ``(index, parents, children)`` to rows and which of them are positive, for each of some
        nodes that have the same parents.
    scope : Scope
        The source of its rows.
    own : bool
        Whether rows are positive only for their most specific class. A class is then as probable as
        its most probable descendant, and rows below it are not evidence for it.
    complete : str
        The policy that it equals if no row ends at an inner node; by default, itself.
    """

    name: str
    select: Callable[[RowIndex, IntArray, IntArray], Iterator[RowsAndPositive]]
    scope: Scope = Scope.ALL
    own: bool = False
    complete: str = ""

    def __repr__(self) -> str:
        return repr(self.name)

    @property
    def inside_parent(self) -> bool:
        """Whether its classifiers are conditional on a parent of the class."""
        return self.scope is Scope.SIBLINGS


def _exclusive(index: RowIndex, parents: IntArray, children: IntArray) -> Iterator[RowsAndPositive]:
    yield from ((None, positive) for positive in index.members(children, own=True))


def _less_exclusive(
    index: RowIndex, parents: IntArray, children: IntArray
) -> Iterator[RowsAndPositive]:
    pairs = zip(index.members(children), index.members(children, own=True), strict=True)
    for below, own in pairs:
        rows = np.flatnonzero(~below | own)
        yield all_as_none(rows, index.n_rows), own[rows]


def _less_inclusive(
    index: RowIndex, parents: IntArray, children: IntArray
) -> Iterator[RowsAndPositive]:
    yield from ((None, positive) for positive in index.members(children))


def _inclusive(index: RowIndex, parents: IntArray, children: IntArray) -> Iterator[RowsAndPositive]:
    ends_above = np.zeros(index.n_rows, dtype=bool)
    for node in index.hierarchy.ancestors(int(children[0])).tolist():
        ends_above[index.own(node)] = True
    rows = np.flatnonzero(~ends_above)
    yield from _with_rows(index, rows, index.members(children, rows))


def _siblings(index: RowIndex, parents: IntArray, children: IntArray) -> Iterator[RowsAndPositive]:
    rows = index.rows_of_children(parents)
    yield from _with_rows(index, rows, index.members(children, rows))


def _exclusive_siblings(
    index: RowIndex, parents: IntArray, children: IntArray
) -> Iterator[RowsAndPositive]:
    rows = index.rows_of_children(parents, own=True)
    yield from _with_rows(index, rows, index.members(children, rows, own=True))


def _with_rows(
    index: RowIndex, rows: IntArray, masks: Iterator[AnyArray]
) -> Iterator[RowsAndPositive]:
    shared = all_as_none(rows, index.n_rows)
    for positive in masks:
        yield shared, positive


#: All policies, by name.
POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("exclusive", _exclusive, own=True, complete="less_inclusive"),
        Policy("less_exclusive", _less_exclusive, own=True, complete="less_inclusive"),
        Policy("less_inclusive", _less_inclusive),
        Policy("inclusive", _inclusive),
        Policy("siblings", _siblings, Scope.SIBLINGS),
        Policy(
            "exclusive_siblings", _exclusive_siblings, Scope.SIBLINGS, own=True, complete="siblings"
        ),
    )
}


def as_policy(policy: str | Policy | Callable[..., Iterator[RowsAndPositive]]) -> Policy:
    """Return the policy for the parameter ``binary_policy``: a name, a policy, or a function.

    A function may use any rows, so that every batch updates every class.
    """
    if isinstance(policy, Policy):
        return policy
    if callable(policy):
        return Policy(getattr(policy, "__name__", "custom"), policy)
    return POLICIES[policy]


def read_policy(policy: Policy, *, ends_early: bool) -> Policy:
    """Replace own(c) by below(c) if no row ends at an inner node.

    Warns if the policy then equals another policy.
    """
    if ends_early or not policy.complete:
        return policy
    pairs = [f"{p.name!r} equals {p.complete!r}" for p in POLICIES.values() if p.complete]
    warn_user(
        f"No training row ends at an inner node, so binary_policy={policy.name!r} is the same as "
        f"{policy.complete!r}: {', '.join(pairs)}."
    )
    return POLICIES[policy.complete]
