"""Hypothesis strategies for random hierarchies, shared by the tests.

``paths`` draws labels of rows: a list of lists, one path per row, that ``fit`` takes as it is::

    @given(paths(min_rows=2, max_rows=30, depth=(1, 6), labels="any", ragged=True))
    def test_something(y): ...

Its arguments:

min_rows, max_rows : int
    Number of rows.
depth : int or (int, int)
    Number of levels, or the bounds between which it is drawn. At least one row reaches it.
labels : str or tuple of str
    The kind of labels, one of ``KINDS``; a tuple of kinds or ``"any"`` (all kinds) draws one of
    them per example; ``"mixed"`` draws one of them per level.
ragged : bool
    Whether paths may end early, so that rows differ in length and may end at inner nodes.
homonyms : bool
    Whether a label may stand under several parents (the default: it does so often). Without, every
    class has its own label, as a hierarchy of labels needs; only ``UNLIMITED_KINDS`` can do that.
width : int
    The largest number of children of a node.

Labels of one level are all of one type, never spell "missing" and never look alike (differ only by
case or surrounding spaces), so that no warning comes up. ``pad`` makes ragged paths rectangular,
``dag_edges`` draws the edges of a directed acyclic graph, ``SETTINGS`` are the settings of all
tests.
"""

import datetime

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

SETTINGS = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

#: Strings that something inside, or a library on the way, could take for something else.
ODD_STRINGS = (
    "::", "/", ">", " > ", "a/b", "a>b", ",", "\x00", "a\x00", "\x00a", "\n", "\t", " ", "nan",
    "None", "<NA>", "NaT", "root", "0", "1", "-1", "True", "1.0", "inf", "\u00e9", "e\u0301",
    "\u4e16", "\U0001f600", "x" * 500, "<b>&amp;", "'\"", "\\", "%s", "{}",
)  # fmt: skip

KINDS = ("letters", "text", "int", "bigint", "float", "bool", "bytes", "date")
UNLIMITED_KINDS = ("letters", "text", "int", "bigint", "float", "bytes", "date")


def label_of_kind(kind):
    """Strategy for a single label of a kind."""
    return {
        "letters": st.sampled_from("abcdefgh"),
        "text": st.sampled_from(ODD_STRINGS) | st.text(min_size=1, max_size=4),
        "int": st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
        "bigint": st.integers(-(2**70), 2**70) | st.sampled_from([-1, 0, 2**63, 2**64 - 1, 2**64]),
        "float": st.integers(-(2**40), 2**40).map(float),
        "bool": st.booleans(),
        "bytes": st.binary(min_size=1, max_size=4),
        "date": st.dates(datetime.date(1990, 1, 1), datetime.date(1999, 12, 31)),
    }[kind]


def look(label):
    """What two labels must not share if they are not to look alike."""
    return label.strip().casefold() if isinstance(label, str) else label


@st.composite
def paths(
    draw,
    min_rows=1,
    max_rows=20,
    depth=(1, 6),
    labels="letters",
    ragged=True,
    homonyms=True,
    width=3,
):
    """Draw the paths of some rows, as a list of lists; see the docstring of the module."""
    low, high = (depth, depth) if isinstance(depth, int) else depth
    n_levels = draw(st.integers(low, high))
    kinds = KINDS if homonyms else UNLIMITED_KINDS
    if labels not in ("any", "mixed"):
        kinds = (labels,) if isinstance(labels, str) else labels
    # A row is first a length and a number whose digits are the numbers of the children.
    row = st.tuples(
        st.integers(1 if ragged else n_levels, n_levels), st.integers(0, width**n_levels - 1)
    )
    drawn = draw(st.lists(row, min_size=min_rows, max_size=max_rows))
    longest = draw(st.integers(0, len(drawn) - 1))
    drawn[longest] = (n_levels, drawn[longest][1])
    rows = [[number // width**j % width for j in range(length)] for length, number in drawn]
    kind = [draw(st.sampled_from(kinds))] * n_levels
    if labels == "mixed":
        kind = [draw(st.sampled_from(kinds)) for _ in range(n_levels)]
    if homonyms:
        pools = [draw(_pool(k, 2 if k == "bool" else width)) for k in kind]
        return [[pools[j][step % len(pools[j])] for j, step in enumerate(row)] for row in rows]
    nodes = sorted({tuple(row[: j + 1]) for row in rows for j in range(len(row))})
    pool = draw(_pool(kind[0], len(nodes)))
    name = dict(zip(nodes, pool, strict=True))
    return [[name[tuple(row[: j + 1])] for j in range(len(row))] for row in rows]


def _pool(kind, size):
    """Strategy for some labels that are all different, and differ to the eye."""
    if size > 5 and kind == "letters":
        return st.permutations([f"c{i}" for i in range(size)])
    return st.lists(label_of_kind(kind), min_size=size, max_size=size, unique_by=look)


def pad(paths, missing):
    """Make ragged paths rectangular: write ``missing`` where a shorter path has no label."""
    width = max(map(len, paths))
    return [[*path, *[missing] * (width - len(path))] for path in paths]


@st.composite
def dag_edges(draw, max_nodes=12):
    """Draw the edges (parent, child) of a directed acyclic graph whose labels are integers."""
    n = draw(st.integers(2, max_nodes))
    names = draw(st.permutations(range(n)))
    pairs = [(names[i], names[j]) for j in range(n) for i in range(j)]
    return draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=2 * n, unique=True))


@st.composite
def hierarchies_with_sets(draw, max_nodes=10, max_rows=14, tree=None, max_labels=3):
    """Draw a DAG, or a tree, of labels, and for some rows the labels of each: (edges, y).

    A row may have no label. Some labels stand above others of the same row.
    """
    edges = draw(dag_edges(max_nodes))
    if tree is None:
        tree = draw(st.booleans())
    if tree:
        edges = list({child: (parent, child) for parent, child in edges}.values())
    labels = sorted({label for edge in edges for label in edge})
    row = st.lists(st.sampled_from(labels), max_size=max_labels, unique=True)
    return edges, draw(st.lists(row, min_size=1, max_size=max_rows))
