"""Local problems of single strategies, and training rows as slow, literal sets to compare with."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from strategies import SETTINGS, paths

from hiclass import Hierarchy
from hiclass._labels.columns import read_labels
from hiclass._problems.index import SetIndex, TreeIndex
from hiclass._problems.policies import as_policy
from hiclass._problems.strategies import STRATEGIES
from hiclass._state import Stream
from hiclass._targets.paths import encode
from hiclass._targets.sets import encode_sets

FEWER = settings(SETTINGS, max_examples=40)
#: Nodes: 0 root, 1 a, 2 a/x, 3 a/y, 4 b, 5 c, 6 c/z.
TREE = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b"], ["c", "z"]])
PETS = [("pet", "cat"), ("feline", "cat"), ("feline", "lion"), ("pet", "dog"), ("dog", "pug")]
SAME_WITHOUT_INNER_ROWS = "No training row ends at an inner node, so binary_policy="


def problems_per_node(index, options, policy):
    return STRATEGIES["node"].problems(index, options, as_policy(policy))


def problems_per_parent(index, options):
    return STRATEGIES["parent"].problems(index, options, None)


def problems_per_level(index, options):
    return STRATEGIES["level"].problems(index, options, None)


def problems_flat(index, options):
    return STRATEGIES["flat"].problems(index, options, None)


def count_problems(strategy, options, hierarchy):
    return STRATEGIES[strategy].count(options, hierarchy)


def set_problems(strategy, index, policy=None, *, lenient=False):
    """The problems of rows that are sets of classes, the gates left out."""
    policy = None if policy is None else as_policy(policy)
    problems = STRATEGIES[strategy].set_problems(index, policy, lenient)
    return (problem for problem in problems if not problem.gate)


def set_gates(index):
    problems = STRATEGIES["node"].set_problems(index, as_policy("siblings"), True)
    return (problem for problem in problems if problem.gate)


def count_set_problems(strategy, index):
    return STRATEGIES[strategy].count_sets(index)


def plan(strategy, index, layout, policy=""):
    """What a batch updates."""
    columns = STRATEGIES[strategy].columns
    columns = None if columns is None else columns(index.hierarchy, layout)
    stream = Stream(layout, columns, True, policy, (), True)
    return STRATEGIES[strategy].plan(index, stream)


class Rows:
    """Training rows as Python sets: slow, literal, and independent of the library's index."""

    def __init__(self, hierarchy, nodes):
        self.hierarchy = hierarchy
        self.nodes = list(map(int, nodes))
        self.all = set(range(len(self.nodes)))
        classes = range(hierarchy.n_nodes)
        self.above = [{*hierarchy.ancestors(v).tolist(), v} for v in classes]
        self._own = [{r for r in self.all if self.nodes[r] == c} for c in classes]
        self._sub = [{r for r in self.all if c in self.above[self.nodes[r]]} for c in classes]

    def own(self, c):
        """Rows whose most specific class is c."""
        return self._own[c]

    def sub(self, c):
        """Rows of c or below."""
        return self._sub[c]

    def children(self, v):
        """Children that have training rows."""
        return [c for c in self.hierarchy.children(v).tolist() if self.sub(c)]

    def inner(self):
        return [v for v in range(self.hierarchy.n_nodes) if len(self.hierarchy.children(v))]

    def stops(self, v, leaf_only):
        """Whether a path may stop at an inner node."""
        if v not in self.inner() or not self.own(v):
            return False
        return not leaf_only or self.own(v) == self.sub(v)

    def options(self, v, leaf_only):
        """Branches of a node and the rows that take each."""
        branches = {c: self.sub(c) for c in self.children(v)}
        if self.stops(v, leaf_only):
            branches[v] = self.own(v)
        return branches

    def ends(self, leaf_only):
        """Nodes at which a path may end, and the rows that end there."""
        return {
            v: self.own(v)
            for v in range(self.hierarchy.n_nodes)
            if self.own(v) and (v not in self.inner() or self.stops(v, leaf_only))
        }


def index_and_rows(y, keep=None):
    """The library's index and the slow one of some rows of y, over the hierarchy of all of y."""
    target = encode(y)
    nodes = target.nodes if keep is None else target.nodes[keep]
    return TreeIndex(target.hierarchy, nodes), Rows(target.hierarchy, nodes)


@st.composite
def training_rows(draw, **kwargs):
    """Index of random rows; some classes of the hierarchy may have none."""
    y = draw(paths(max_rows=16, depth=(1, 4), **kwargs))
    size = draw(st.integers(1, len(y)))
    return index_and_rows(y, draw(st.permutations(range(len(y))))[:size])


def sets_of(problem, n_rows):
    """The rows of every class of a problem, after asserting what holds for all problems."""
    rows = np.arange(n_rows) if problem.rows is None else problem.rows
    assert (np.diff(rows) > 0).all()
    assert len(rows) == len(problem.target)
    assert problem.rows is None or len(rows) < n_rows
    assert problem.target.dtype == np.intp
    k = len(problem.classes)
    assert k >= 2
    assert set(problem.target.tolist()) == set(range(k))
    return {int(c): set(rows[problem.target == j].tolist()) for j, c in enumerate(problem.classes)}


def found(problems, rows):
    """Sets of rows by owner and by whether it is a gate."""
    problems = list(problems)
    sets = {(p.owner, p.gate): sets_of(p, len(rows.nodes)) for p in problems}
    assert len(sets) == len(problems)
    return sets


def index_of(y, edges):
    target = encode_sets(y, Hierarchy.from_edges(edges))
    return SetIndex(target.hierarchy, target.closed, target.own)


def rows_of(problem, index):
    return np.arange(index.n_rows) if problem.rows is None else problem.rows


def encoded(y):
    return Hierarchy._from_columns(read_labels(y))
