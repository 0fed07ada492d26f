"""Sets of classes that hold all classes above theirs, and the most specific ones of a set."""

from hierarchy_helpers import names_in
from hypothesis import given
from strategies import SETTINGS, hierarchies_with_sets

from hiclass import Hierarchy
from hiclass._closure import close, most_specific


def above_by_hand(edges, label):
    """A label and all labels above it, step by step."""
    found, todo = set(), [label]
    while todo:
        here = todo.pop()
        found.add(here)
        todo += [p for p, c in edges if c == here and p not in found]
    return found


@SETTINGS
@given(hierarchies_with_sets())
def test_sets_are_closed_upwards_and_nothing_more(drawn):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    closed = hierarchy.indicator(y)
    expected = [set().union(*(above_by_hand(edges, label) for label in row)) for row in y]
    assert names_in(closed, hierarchy) == expected
    assert closed[:, [0]].toarray().all()
    assert (close(closed, hierarchy) != closed).nnz == 0


@SETTINGS
@given(hierarchies_with_sets())
def test_most_specific_nodes_have_no_child_in_the_set_and_span_it(drawn):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    closed = hierarchy.indicator(y)
    own = most_specific(closed, hierarchy)
    for mine, everything in zip(names_in(own, hierarchy), names_in(closed, hierarchy), strict=True):
        assert mine == {a for a in everything if not any((a, b) in edges for b in everything)}
    assert (close(own, hierarchy) != closed).nnz == 0
    assert not own[:, [0]].toarray().any()
