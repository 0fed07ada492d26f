"""Finding classes by words: against a plain search, and fast with many classes."""

import time

import numpy as np
import pytest
from desk_helpers import TREE
from hypothesis import given
from hypothesis import strategies as st

from hiclass import Hierarchy
from hiclass._serving.desk.search import ClassIndex, words_of

INDEX = ClassIndex(TREE)


def found(query, **options):
    return [TREE.path(node) for node in INDEX.find(query, **options)]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("car", [("Loan", "Car"), ("Card",)]),  # a whole word before one that begins so
        ("loan car", [("Loan", "Car")]),
        ("CAR  l", [("Loan", "Car")]),
        ("mortg", [("Loan", "House")]),  # in a text
        ("automobile", [("Loan", "Car")]),
        ("tur", [("Card", "Theft")]),  # without its accent
        ("hous", [("Loan", "House")]),
        ("tud", [("Loan", "Student")]),  # within a word
        ("ud", []),  # too short for that
        ("loan", [("Loan",), ("Loan", "Car")]),  # not all that is below it
        ("car house", []),
        ("", []),
        (" - ", []),
        ("card theft", [("Card", "Theft")]),
    ],
)
def test_what_is_found(query, paths):
    assert found(query) == paths


def test_the_best_ones_are_returned():
    assert found("c", most=1) == [("Card",)] or found("c", most=1) == [("Loan", "Car")]
    assert len(found("c")) == 3


def test_a_long_query_is_shortened():
    assert found("car " * 10_000) == found("car")


@given(
    st.lists(
        st.tuples(st.sampled_from(["ab", "abc", "b c"]), st.text("abc ", min_size=1, max_size=8)),
        min_size=1,
        max_size=12,
    ).map(lambda paths: [(a, b.strip() or "x") for a, b in paths]),
    st.text("abc ", max_size=6),
)
def test_it_finds_what_a_plain_search_finds(paths, query):
    tree = Hierarchy.from_paths(paths)
    wanted = words_of(query)

    def has(word, text):
        return any(own.startswith(word) for own in words_of(text))

    labels = [str(label) for label in tree.labels]
    anywhere = {word: any(has(word, label) for label in labels[1:]) for word in wanted}
    expected = []
    for node in range(1, tree.n_nodes):
        own = [has(word, labels[node]) for word in wanted]
        above = [any(has(word, part) for part in map(str, tree.path(node))) for word in wanted]
        if wanted and all(above) and any(own):
            expected.append(node)
    if all(anywhere.values()):  # otherwise parts within words are looked for
        assert sorted(ClassIndex(tree).find(query, most=1000)) == expected


def test_many_classes_are_searched_at_once():
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnoprstuvwz"))
    words = ["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(5000)]
    paths = [
        (f"{words[i]} {i}", f"{words[j]} {j}", f"{words[rng.integers(5000)]} {words[k]} {k}")
        for i in range(20)
        for j in range(20)
        for k in range(50)
    ]
    index = ClassIndex(Hierarchy.from_paths(paths))
    queries = ["a", "1", "ab", f"{words[3]} {words[7][:2]}", words[9][1:], "zzzz", "a b c"]
    times = []
    for query in queries * 3:
        start = time.perf_counter()
        index.find(query)
        times.append(time.perf_counter() - start)
    assert np.median(times) < 0.05
