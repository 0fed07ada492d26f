"""The columns of a queue, which triage writes and the desk reads.

A path is a JSON list, because a label may contain any separator.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hiclass._inspect.pairs import PairReason
from hiclass._inspect.triage import Triage
from hiclass._typing import AnyArray
from hiclass.hierarchy import Hierarchy

#: The columns with the features that support the first suggestion or the second, with the row of
#: the file, starting at 1, and with the identifiers of the model and the taxonomy.
REASONS, SOURCE, MODEL, TAXONOMY = "reasons", "source_row", "queue_model", "queue_taxonomy"


def suggestion_column(number: int) -> str:
    """The column of a suggested path; numbers start at 1."""
    return f"suggestion_{number}"


def probability_column(number: int) -> str:
    """The column of the probability of a suggestion; numbers start at 1."""
    return f"probability_{number}"


def path_cell(path: Iterable[Any]) -> str:
    """A path as a cell of a table."""
    return json.dumps(list(path), ensure_ascii=False)


def parse_path(cell: Any) -> tuple[Any, ...] | None:
    """The path in a cell; None if the cell does not hold a path."""
    try:
        path = json.loads(cell)
    except (TypeError, ValueError, RecursionError):
        return None
    is_path = isinstance(path, list) and all(type(label) in (str, int) for label in path)
    return tuple(path) if is_path and path else None


def taxonomy_mark(hierarchy: Hierarchy) -> str:
    """A short text that identifies a tree of classes."""
    content = json.dumps(hierarchy.labels.tolist(), ensure_ascii=True).encode()
    parents = json.dumps(hierarchy.parent.tolist()).encode()
    return hashlib.sha256(content + b"\n" + parents).hexdigest()[:16]


def queue_columns(found: Triage, columns: Mapping[str, str], model: str) -> dict[str, AnyArray]:
    """The columns of a queue besides those of its rows.

    Parameters
    ----------
    found : Triage
        The result of ``triage``.
    columns : mapping
        The columns that the model reads, and their kinds.
    model : str
        The mark of the model.

    Returns
    -------
    dict
        Arrays of objects, in the order of ``found.review``.
    """
    n_rows, k = found.suggestions.shape
    tree = found.hierarchy
    cells: dict[str, list[Any]] = {}
    for j in range(k):
        nodes = found.suggestions[:, j].tolist()
        cells[suggestion_column(j + 1)] = [
            path_cell(tree.path(v)) if v > 0 else None for v in nodes
        ]
        cells[probability_column(j + 1)] = [
            round(p, 6) if v > 0 else None
            for v, p in zip(nodes, found.probabilities[:, j].tolist(), strict=True)
        ]
    cells[REASONS] = [_reasons_cell(reason, columns) for reason in found.reasons]
    cells[SOURCE] = (found.review + 1).tolist()
    cells[MODEL], cells[TAXONOMY] = [model] * n_rows, [taxonomy_mark(tree)] * n_rows
    return {name: _objects(values) for name, values in cells.items()}


def _objects(values: list[Any]) -> AnyArray:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _reasons_cell(reason: PairReason | None, columns: Mapping[str, str]) -> str | None:
    if reason is None or not reason.features:
        return None
    features = [
        {"name": name, **_word(name, columns), "weight": round(weight, 3)}
        for name, weight in reason.features
    ]
    content = {"for": reason.first, "against": reason.second, "features": features}
    return json.dumps(content, ensure_ascii=False)


def _word(name: str, columns: Mapping[str, str]) -> dict[str, Any]:
    """The word and the column of a feature, from the name given by the table features."""
    texts = [column for column, kind in columns.items() if kind == "text"]
    column = next((column for column in texts if name.startswith(f"{column}: ")), None)
    if column is not None and len(texts) > 1:
        return {"column": column, "word": name.removeprefix(f"{column}: ")}
    others = [column for column in columns if column not in texts]
    is_other = any(name == c or name.startswith((f"{c}=", f"{c} (")) for c in others)
    return {"column": texts[0] if texts else None, "word": None if is_other else name}
