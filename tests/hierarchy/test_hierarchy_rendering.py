"""A hierarchy as a line, as text, as HTML and as a picture."""

import html

import matplotlib as mpl
import pytest
from hierarchy_helpers import ANIMALS, BalancedHTML

from hiclass import Hierarchy


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (ANIMALS, "Hierarchy(tree, 7 classes, 3 levels, 4 leaves)"),
        (["a"], "Hierarchy(tree, 1 class, 1 level, 1 leaf)"),
    ],
)
def test_repr_is_one_line_of_counts(y, expected):
    assert repr(Hierarchy.from_paths(y)) == expected


def test_repr_of_a_dag(pets):
    assert repr(pets) == "Hierarchy(DAG, 6 classes, 3 levels, 3 leaves)"


def test_str_is_the_tree(animals):
    assert str(animals).split("\n") == [
        "├── Mammal",
        "│   ├── Cat",
        "│   └── Wolf",
        "│       └── Dog",
        "└── Reptile",
        "    ├── Lizard",
        "    └── Snake",
    ]


def test_str_of_a_dag_writes_a_subtree_once():
    h = Hierarchy.from_edges([("a", "c"), ("b", "c"), ("c", "d"), ("b", "d")])
    assert str(h).split("\n") == [
        "├── a",
        "│   └── c",
        "│       └── d",
        "└── b",
        "    ├── c (see above)",
        "    └── d",
    ]


def test_str_of_a_large_hierarchy_ends_with_how_many_are_left_out():
    lines = str(Hierarchy.from_paths(list(range(1000)))).split("\n")
    assert len(lines) == 201
    assert lines[199] == "├── 199"
    assert lines[200] == "... 800 more classes"


def test_str_of_200_classes_leaves_nothing_out():
    lines = str(Hierarchy.from_paths(list(range(200)))).split("\n")
    assert len(lines) == 200
    assert lines[-1] == "└── 199"


def test_html_is_balanced_and_collapsible(animals):
    page = BalancedHTML(animals._repr_html_())
    assert page.counts["details"] == page.counts["summary"] == 3
    assert page.texts == [
        repr(animals), "Mammal ", "(2)", "Cat", "Wolf ", "(1)", "Dog", "Reptile ", "(2)", "Lizard",
        "Snake",
    ]  # fmt: skip


def test_html_escapes_labels():
    evil = "<script>alert('x')</script>&"
    text = Hierarchy.from_paths([[evil, evil]])._repr_html_()
    assert "<script" not in text
    assert text.count(html.escape(evil)) == 2
    assert BalancedHTML(text).texts.count(evil) == 1


def test_html_of_a_dag_opens_a_subtree_once():
    h = Hierarchy.from_edges([("a", "c"), ("b", "c"), ("c", "d")])
    page = BalancedHTML(h._repr_html_())
    assert page.counts["details"] == 3
    assert page.texts.count("d") == 1
    assert page.texts.count("c ") == 1
    assert page.texts.count("c") == 1


@pytest.mark.parametrize("deep", [False, True])
def test_html_of_a_large_hierarchy_is_truncated_and_balanced(deep):
    y = [[i // 50, i] for i in range(5000)] if deep else list(range(5000))
    page = BalancedHTML(Hierarchy.from_paths(y)._repr_html_())
    assert page.texts[-1] == "…"
    shown = [text for text in page.texts[1:-1] if not text.startswith("(")]
    assert len(shown) == 2000


@pytest.fixture
def axes():
    """Axes that need no screen and leave no figure open."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)
    plt.close("all")


def test_draw_names_every_class_and_draws_every_edge(axes, animals):
    ax = animals.draw(axes)
    assert ax is axes
    assert sorted(text.get_text() for text in ax.texts) == sorted(animals.labels[1:])
    assert len(ax.lines) == 7
    dots = ax.collections[0].get_offsets()
    assert dots[:, 0].tolist() == animals.levels.tolist()
    # Leaves in order, one row each; an inner node in the middle of its children.
    assert dots[:, 1].tolist() == [1.5, 0.5, 0.0, 1.0, 1.0, 2.5, 2.0, 3.0]


def test_draw_of_a_dag_makes_its_own_figure(axes, pets):
    ax = pets.draw()
    assert ax is not axes
    assert len(ax.lines) == len(pets.parent_indices)
    ax.figure.canvas.draw()
