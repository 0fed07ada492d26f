"""Labels that look like whole paths."""

import pytest

from hiclass._labels.separators import find_separator

PATHS = [("Loan", "Car"), ("Loan", "House"), ("Card", "Theft"), ("Card", "Charge"), ("Loan", "Car")]


@pytest.mark.parametrize("separator", [" > ", " / ", "/", "|", "::", "\\", ">", " | "])
def test_labels_with_shared_beginnings_are_paths(separator):
    labels = [separator.join(path) for path in PATHS]
    assert find_separator(labels) == (separator, f"Loan{separator}Car")


@pytest.mark.parametrize(
    "labels",
    [
        ["cat", "dog", "owl"],
        ["and/or", "yes/no", "in/out", "up/down"],  # nothing in common
        ["a/b", "a/c", "d", "e", "f", "g"],  # few rows
        ["a > b", "a > c"],  # too few to tell
        ["/a/b", "/a/c", "/a/d"],  # an empty beginning
        ["http://a.b/c", "http://a.b/d", "http://a.b/e"],
        [1, 2, 3, 4],
        ["", None],
        ["TCP/IP"] * 5 + ["other", "more"],
    ],
    ids=str,
)
def test_other_labels_are_not(labels):
    assert find_separator(labels) is None


def test_a_label_that_begins_another_one_is_its_parent():
    labels = ["Loans", "Loans/Car", "Cards", "Cards/Debit", "Cards/Credit"]
    assert find_separator(labels) == ("/", "Loans/Car")
