"""A small tree and a small DAG, for every test of the room."""

import pytest
from hierarchy_helpers import ANIMALS, PETS

from hiclass import Hierarchy


@pytest.fixture
def animals():
    """A small tree: 1 Mammal {2 Cat, 3 Wolf {4 Dog}}, 5 Reptile {6 Lizard, 7 Snake}."""
    return Hierarchy.from_paths(ANIMALS)


@pytest.fixture
def pets():
    """A small DAG in which a cat is a pet and a feline."""
    return Hierarchy.from_edges(PETS)
