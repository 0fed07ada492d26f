"""Hierarchies in files: edges as a table, JSON, or the terms of an OBO ontology."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hiclass._cli._errors import CommandError
from hiclass._cli._tables import read_table
from hiclass.hierarchy import Hierarchy


def read_hierarchy(path: str, encoding: str = "utf-8") -> Hierarchy:
    """Read a hierarchy from a file; its name says how it is written.

    Parameters
    ----------
    path : str
        ``.json``: what :meth:`hiclass.Hierarchy.to_json` writes, or an object of lists, the
        children of every class. ``.obo``: terms with ``is_a``. Otherwise a table with the columns
        ``parent`` and ``child``; an empty parent is the top.
    encoding : str, default="utf-8"
        The encoding of text files.

    Returns
    -------
    Hierarchy

    Raises
    ------
    CommandError
        If the file cannot be read or is no hierarchy.
    """
    suffix = Path(path).suffix.lower()
    try:
        if suffix in (".json", ".obo"):
            text = _read_text(path, encoding)
            return _from_json(text) if suffix == ".json" else Hierarchy.from_edges(_terms(text))
        return Hierarchy.from_edges(_table_edges(path, encoding))
    except (ValueError, TypeError) as error:
        raise CommandError(f"{path}: {error}") from error


def _read_text(path: str, encoding: str) -> str:
    try:
        return Path(path).read_text(encoding=encoding)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}. Check its name.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not {encoding}. Use another --encoding.") from error


def _from_json(text: str) -> Hierarchy:
    content = json.loads(text)
    if isinstance(content, dict) and "labels" in content and "parents" in content:
        return Hierarchy.from_json(text)
    if not isinstance(content, dict) or not all(isinstance(v, list) for v in content.values()):
        raise ValueError(
            "a hierarchy in JSON must be in the format of to_json, or an object with a list of "
            "children for every class."
        )
    return Hierarchy.from_dict(content)


def _table_edges(path: str, encoding: str) -> list[tuple[Any, Any]]:
    table = read_table(path, encoding=encoding)
    if not {"parent", "child"} <= set(table.frame.columns):
        raise ValueError(
            f"a hierarchy needs the columns 'parent' and 'child'; this file has "
            f"{', '.join(map(repr, list(table.frame.columns)[:6]))}. Rename them."
        )
    edges = []
    for row, (parent, child) in enumerate(
        zip(table.column("parent"), table.column("child"), strict=True)
    ):
        if child is None:
            raise CommandError(f"{table.place(row)}: no class in 'child'. Fill it in.")
        edges.append((parent, child))
    return edges


def _terms(text: str) -> list[tuple[str | None, str]]:
    """The edges between the terms of an ontology that are not obsolete."""
    edges: list[tuple[str | None, str]] = []
    for block in text.split("\n[")[1:]:
        kind, _, body = block.partition("]")
        if kind != "Term":
            continue
        name, parents, obsolete = None, [], False
        for line in body.splitlines():
            key, _, value = line.partition(":")
            value = value.split("!")[0].split("{")[0].strip()
            if key == "id":
                name = value
            elif key == "is_a":
                parents.append(value)
            elif key == "is_obsolete":
                obsolete = value == "true"
        if name and not obsolete:
            edges.extend((parent, name) for parent in dict.fromkeys(parents))
            if not parents:
                edges.append((None, name))
    if not edges:
        raise ValueError(
            "no terms were found. An ontology in OBO format must have blocks of [Term]."
        )
    return edges
