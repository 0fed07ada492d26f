"""Class texts: titles, descriptions and synonyms, read from the forms of users and checked.

In a hierarchy, texts are an array with a tuple of strings for every node. Files have all characters
in one array of bytes, which is fast to read for any number of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from hiclass._labels.columns import is_missing, library_of, plain
from hiclass._typing import AnyArray

#: Pairs of a class name and its texts.
Given = tuple[Any, tuple[str, ...]]

#: The text column of a frame; further text columns begin with it and an underscore.
_COLUMN = "text"
#: The largest number of characters of a text in messages.
_SHOWN = 60


def read_texts(hierarchy: Any, texts: Any) -> AnyArray | None:
    """The texts of every node, from the parameter ``texts``; None without texts."""
    if texts is None:
        return None
    found: list[list[str]] = [[] for _ in range(hierarchy.n_nodes)]
    if isinstance(texts, str):
        if texts != "labels":
            raise ValueError(
                f"texts={texts!r} is neither a mapping of classes to texts nor 'labels', which "
                f"stands for the labels themselves."
            )
        found[1:] = [[str(label)] for label in hierarchy.labels[1:].tolist()]
    else:
        for name, several in list_texts(texts):
            node = hierarchy.find(name)
            if not node:
                raise ValueError("The root is not a class and has no texts. Remove () from texts.")
            found[node] += several
    checked = as_texts(tuple(dict.fromkeys(several)) for several in found)
    _refuse_equal_texts(hierarchy, checked)
    return checked if any(found) else None


def as_texts(several: Iterable[tuple[str, ...]]) -> AnyArray:
    """The texts of all nodes as a read-only array."""
    texts = np.fromiter(several, dtype=object)
    texts.flags.writeable = False
    return texts


def list_texts(texts: Any) -> list[Given]:
    """Pairs of a class name and its texts, from a mapping, a Series or a frame."""
    if isinstance(texts, Mapping):
        return [(name, _strings(name, value)) for name, value in texts.items()]
    if library_of(texts) in ("pandas", "polars") and hasattr(texts, "columns"):
        return list(_of_frame(texts))
    if library_of(texts) == "pandas" and hasattr(texts, "items"):
        pairs = ((name, value) for name, value in texts.items() if not is_missing(value))
        return [(name, _strings(name, value)) for name, value in pairs]
    raise TypeError(
        f"texts must be a mapping of labels or paths to texts, a pandas Series, or a frame with a "
        f"column 'text'; got {type(texts).__name__}."
    )


def _of_frame(frame: Any) -> Iterator[Given]:
    """The rows of a frame: some columns identify the class, the others have texts."""
    names = [str(name) for name in frame.columns]
    is_text = [name == _COLUMN or name.startswith(f"{_COLUMN}_") for name in names]
    if not any(is_text) or all(is_text):
        raise ValueError(
            "A frame of texts needs columns that identify the class and a column 'text' (or "
            f"several, 'text_...'); it has {', '.join(map(repr, names))}. Rename its columns."
        )
    columns = [frame[name].to_list() for name in frame.columns]
    labels = [c for c, there in zip(columns, is_text, strict=True) if not there]
    texts = [c for c, there in zip(columns, is_text, strict=True) if there]
    for row, cells in enumerate(zip(*labels, strict=True)):
        path = _path(cells, row)
        name = path if len(labels) > 1 else path[0]
        values = [c[row] for c in texts if not is_missing_cell(c[row])]
        if values:
            yield name, tuple(text for value in values for text in _strings(name, value))


def is_missing_cell(value: Any) -> bool:
    """Whether a cell of a table has no text."""
    return not isinstance(value, list | tuple | np.ndarray) and is_missing(value)


def _path(cells: Iterable[Any], row: int) -> tuple[Any, ...]:
    """The labels of a row of a frame up to the first missing label."""
    labels = [plain(cell) for cell in cells]
    n_labels = next((i for i, label in enumerate(labels) if is_missing(label)), len(labels))
    if not n_labels or not all(map(is_missing, labels[n_labels:])):
        raise ValueError(
            f"Row {row} of the frame of texts names no class: {labels!r} has "
            f"{'a gap' if n_labels else 'no label at level 1'}. Labels may be missing at the end "
            f"of a path only."
        )
    return tuple(labels[:n_labels])


def _strings(name: Any, value: Any) -> tuple[str, ...]:
    """One or several texts of a class, checked."""
    several = [value] if isinstance(value, str) else value
    if isinstance(several, np.ndarray):
        several = several.tolist()
    if not isinstance(several, list | tuple | set | frozenset):
        raise TypeError(
            f"The text of {name!r} is a {type(value).__name__}. Use a string or a list of strings, "
            "or leave the class out."
        )
    if not several:
        raise ValueError(f"The list of texts of {name!r} is empty. Leave the class out instead.")
    for text in several:
        if not isinstance(text, str):
            raise TypeError(
                f"A text of {name!r} is a {type(text).__name__}, not a string: {text!r}."
            )
        if not text.strip():
            raise ValueError(f"A text of {name!r} is empty. Leave it out instead.")
    in_order = sorted(several) if isinstance(several, set | frozenset) else several
    return tuple(map(str, in_order))


def _refuse_equal_texts(hierarchy: Any, texts: AnyArray) -> None:
    """Reject two classes with equal texts whose ancestors have equal texts, too."""
    number: dict[Any, int] = {}
    first: dict[int, int] = {}
    above = [0] * hierarchy.n_nodes
    for node in range(1, hierarchy.n_nodes):
        parents = tuple(sorted({above[p] for p in hierarchy.parents(node).tolist()}))
        own = frozenset(" ".join(text.casefold().split()) for text in texts[node])
        key = (parents, own) if own else parents
        is_above = not own and len(parents) == 1
        above[node] = parents[0] if is_above else number.setdefault(key, len(number) + 1)
        if own and first.setdefault(above[node], node) != node:
            one, two = hierarchy.describe(first[above[node]]), hierarchy.describe(node)
            raise ValueError(
                f"{one} and {two} have the same text, {shorten(texts[node][0])!r}, and so have "
                "their ancestors, so they cannot be told apart. Use another text for one of them, "
                "or for one of its ancestors."
            )


def shorten(text: str, width: int = _SHOWN) -> str:
    """A text on one line, shortened for display."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 3].rstrip()}..."


# -- files -------------------------------------------------------------------------------------


def pack_texts(texts: AnyArray) -> dict[str, AnyArray]:
    """Texts as three arrays: their number per node, their lengths, and all characters."""
    encoded = [text.encode("utf-8", "surrogatepass") for several in texts for text in several]
    return {
        "counts": np.array([len(several) for several in texts], dtype=np.int64),
        "lengths": np.array([len(text) for text in encoded], dtype=np.int64),
        "bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
    }


def unpack_texts(packed: Mapping[str, AnyArray]) -> AnyArray:
    """The texts of every node from :func:`pack_texts`."""
    everything = packed["bytes"].tobytes()
    places = np.concatenate([[0], np.cumsum(packed["lengths"])]).tolist()
    texts = [everything[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(places)]
    bounds = np.concatenate([[0], np.cumsum(packed["counts"])]).tolist()
    return as_texts(tuple(texts[a:b]) for a, b in pairwise(bounds))
