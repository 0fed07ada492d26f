"""Animals: a table of simple facts, written for this library."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from hiclass.datasets._bunch import make_bunch

LEVELS = ("class", "order", "family")
NAMES = ("name", "scientific_name")
CATEGORIES = ("diet", "habitat", "active")
DESCRIPTION = """\
Animals: one species per row, plain facts as features, class / order / family as target.

legs: legs that it stands or walks on; wings, fins, flippers and arms do not count.
wings: number of wings; of ants the workers are meant.
flies, swims: whether it flies; whether it moves in water for its food or lives there.
backbone, hair, feathers, scales, shell, gills, antennae, tail, hooves, horns: whether the adult has
    them. Bristles of whales are no hair, plates on the legs of birds no scales; a shell is that of
    a turtle, a snail, a mussel or a crab; antlers and ossicones are horns.
eggs: whether it lays eggs. milk: whether it feeds its young with milk.
warm_blooded: whether it keeps its whole body warm.
toxic: whether it makes venom or poison, harmless to humans or not.
diet, habitat, active: its main food, where it mostly lives, and when it is active.
length_cm, weight_kg: a typical adult; the length of head and body without the tail in mammals, of
    the whole body elsewhere, of the shell in turtles, snails and mussels, its width in crabs.

The figures are round: they are meant for learning about hierarchies, not about animals.
"""


def load_animals(*, as_frame: bool = False, return_X_y: bool = False) -> Any:
    """Load the animals data set: facts about 287 species with class, order and family.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether to return pandas objects, with diet, habitat and time of activity as strings.
        Otherwise, ``data`` is a numeric array in which these columns are one-hot encoded, as in
        ``"diet=carnivore"``.
    return_X_y : bool, default=False
        Whether to return only ``data`` and ``target``.

    Returns
    -------
    Bunch
        ``data``, ``target`` (paths of three levels), ``feature_names``, ``target_names`` (the names
        of the levels), ``name`` and ``scientific_name`` of every species, ``frame`` (all columns,
        with ``as_frame=True``) and ``DESCR``, which explains the features. With
        ``return_X_y=True``, the tuple ``(data, target)``.

    Examples
    --------
    >>> from hiclass.datasets import load_animals
    >>> animals = load_animals()
    >>> animals.data.shape, animals.target.shape
    ((287, 39), (287, 3))
    >>> print(animals.name[1], *animals.target[1], sep=", ")
    Tiger, Mammalia, Carnivora, Felidae
    """
    text = (files("hiclass.datasets") / "animals.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    facts = [name for name in rows[0] if name not in (*LEVELS, *NAMES)]
    columns = {name: _column(rows, name) for name in facts}
    feature_names, data = (facts, columns) if as_frame else _as_numbers(columns)
    return make_bunch(
        data,
        np.array([[row[level] for level in LEVELS] for row in rows], dtype=object),
        feature_names=feature_names,
        target_names=LEVELS,
        description=DESCRIPTION,
        as_frame=as_frame,
        return_X_y=return_X_y,
        per_row={name: np.array([row[name] for row in rows], dtype=object) for name in NAMES},
    )


def _column(rows: list[dict[str, str]], name: str) -> npt.NDArray[Any]:
    """One fact of all animals: texts, floats or integers."""
    values = [row[name] for row in rows]
    if name in CATEGORIES:
        return np.array(values, dtype=object)
    return np.array(values, dtype=float if name in ("length_cm", "weight_kg") else int)


def _as_numbers(columns: dict[str, npt.NDArray[Any]]) -> tuple[list[str], npt.NDArray[Any]]:
    """Names and values of numeric columns: a category becomes one column per value."""
    names: list[str] = []
    values: list[npt.NDArray[Any]] = []
    for name, column in columns.items():
        if name in CATEGORIES:
            for value in sorted(set(column.tolist())):
                names.append(f"{name}={value}")
                values.append(column == value)
        else:
            names.append(name)
            values.append(column)
    return names, np.column_stack(values).astype(float)
