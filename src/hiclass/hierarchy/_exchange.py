"""Export and import of a hierarchy: edges, networkx graphs, JSON."""

from __future__ import annotations

import json
from typing import Any

from hiclass.hierarchy._lookup import names_of

_FORMAT = "hiclass.Hierarchy"
_JSON_TYPES = (str, int, float, bool)


def list_edges(hierarchy: Any) -> list[tuple[Any, Any]]:
    """All edges as pairs of names: labels, or path tuples in a hierarchy of paths."""
    name = _names(hierarchy)
    return [
        (name[p], name[c])
        for c in range(1, hierarchy.n_nodes)
        for p in hierarchy.parents(c).tolist()
    ]


def write_networkx(hierarchy: Any) -> Any:
    """The classes as a ``networkx.DiGraph``, without the root."""
    import networkx

    graph = networkx.DiGraph()
    name = _names(hierarchy)
    for v in range(1, hierarchy.n_nodes):
        graph.add_node(name[v], label=hierarchy.labels[v], level=int(hierarchy.levels[v]), node=v)
        if hierarchy.texts[v]:
            graph.nodes[name[v]]["texts"] = hierarchy.texts[v]
    graph.add_edges_from((p, c) for p, c in list_edges(hierarchy) if p != name[0])
    return graph


def write_json(hierarchy: Any) -> str:
    """The labels, the parents, how nodes are identified and their texts, as JSON text."""
    for label in hierarchy.labels[1:]:
        if type(label) not in _JSON_TYPES:
            raise TypeError(
                f"The label {label!r} is a {type(label).__name__}, but JSON supports only strings, "
                "numbers and booleans. Use pickle instead."
            )
    data = {
        "format": _FORMAT,
        "version": 1,
        "identity": hierarchy.identity,
        "labels": hierarchy.labels.tolist(),
        "parents": [hierarchy.parents(v).tolist() for v in range(hierarchy.n_nodes)],
    }
    if hierarchy.has_texts:
        data["texts"] = [list(texts) for texts in hierarchy.texts]
    return json.dumps(data, ensure_ascii=False)


def read_json(
    text: str,
) -> tuple[list[Any], list[list[int]], str, list[tuple[str, ...]] | None]:
    """The labels, the children and the texts of every node, and the identity, from JSON text."""
    try:
        data = json.loads(text)
        labels, parents, identity = data["labels"], data["parents"], data["identity"]
        below: list[list[int]] = [[] for _ in labels]
        for v, above in enumerate(parents):
            for p in above:
                below[p].append(v)
        by_path = identity == "path"
        names = {
            (type(label), label, above[0] if by_path else None)
            for label, above in zip(labels[1:], parents[1:], strict=True)
        }
        well_formed = (
            data["format"] == _FORMAT
            and identity in ("path", "label")
            and labels[0] is None
            and len(labels) - 1 == len(names) > 0
            and all(type(label) in _JSON_TYPES for label in labels[1:])
            and all(type(p) is int and p >= 0 for above in parents for p in above)
            and not parents[0]
            and all(len(above) == 1 if by_path else above for above in parents[1:])
            and _are_texts(data.get("texts"), len(labels))
        )
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError("The text is not a hierarchy written by to_json.") from error
    if not well_formed:
        raise ValueError("The text is not a hierarchy written by to_json.")
    texts = data.get("texts")
    return labels, below, identity, None if texts is None else list(map(tuple, texts))


def _are_texts(texts: Any, n_nodes: int) -> bool:
    """Whether texts are a list of strings for every node, none for the root."""
    if texts is None:
        return True
    return (
        len(texts) == n_nodes
        and not texts[0]
        and any(texts)
        and all(type(several) is list for several in texts)
        and all(type(t) is str and bool(t.strip()) for several in texts for t in several)
    )


def _names(hierarchy: Any) -> list[Any]:
    """What identifies a node: its label or its path."""
    return names_of(hierarchy, as_paths=hierarchy.identity == "path")
