"""Nodes are found by label and by path."""

import re

import numpy as np
import pytest

from hiclass import Hierarchy


@pytest.mark.parametrize(
    "key",
    ["Wolf", np.str_("Wolf"), ("Mammal", "Wolf"), ["Mammal", "Wolf"], np.array(["Mammal", "Wolf"])],
)
def test_a_node_is_found_by_label_and_by_path(animals, key):
    assert animals.find(key) == 3


def test_the_empty_path_is_the_root(animals):
    assert animals.find(()) == 0
    assert animals.find([]) == 0


def test_a_label_of_several_classes_needs_its_path():
    y = [[parent, "Other"] for parent in "ABCDE"]
    h = Hierarchy.from_paths(y)
    expected = (
        "5 classes are called 'Other': A > Other; B > Other; C > Other; D > Other; .... "
        "Use the whole path."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        h.find("Other")
    assert h.path(h.find(("C", "Other"))) == ("C", "Other")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("Wolve", "The hierarchy has no class 'Wolve'. The nearest is 'Wolf'."),
        ("Mamal", "The hierarchy has no class 'Mamal'. The nearest is 'Mammal'."),
        ("WOLF", "The hierarchy has no class 'WOLF'. The nearest is 'Wolf'."),
        ("xyz", "The hierarchy has no class 'xyz'."),
        (("Mammal", "Snake"), "'Snake' below Mammal; 'Snake' is at level 2 (Reptile > Snake)."),
        (("Mammal", "Wolf", "Dig"), "no class 'Dig' below Mammal > Wolf. The nearest is 'Dog'."),
        ("", "The hierarchy has no class ''."),
        (None, "The hierarchy has no class None."),
        (5, "The hierarchy has no class 5."),
    ],
)
def test_an_unknown_name_is_an_error_with_close_matches(animals, key, expected):
    with pytest.raises(ValueError, match=f"{re.escape(expected)}$"):
        animals.find(key)


def test_close_matches_are_different_names():
    h = Hierarchy.from_paths([["a", "Other"], ["b", "Other"], ["b", "Others"]])
    with pytest.raises(ValueError, match=r"The nearest are 'Other', 'Others'\.$"):
        h.find("Othe")
