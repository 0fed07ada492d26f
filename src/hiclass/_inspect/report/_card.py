"""The report as a model card: Markdown that a repository or a model registry can show.

It has the numbers that a reader needs before using the model, from the same data as the page. Facts
that only the author knows are left as comments to fill in. Labels are not trusted and are therefore
escaped.
"""

from __future__ import annotations

import json
import re
from typing import Any

#: The numbers of confused classes, and of classes with the lowest recall, that are listed.
_MOST_SHOWN = 10
#: Classes with fewer rows are not listed.
_LEAST_ROWS = 5
#: The shares of wrong labels for which the card shows how much can be automated.
_LIMITS = (0.01, 0.05, 0.1)
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#$])")


def to_markdown(data: dict[str, Any]) -> str:
    """Create a model card from the data of a report.

    Parameters
    ----------
    data : dict
        The data of the report.

    Returns
    -------
    str
        Markdown with a YAML header.
    """
    of_paths, of_sets = [_scores, _classes, _automation, _use], [_set_scores, _set_classes]
    sections = [_header, _details, *(of_sets if data.get("of_sets") else of_paths), _to_fill_in]
    return "\n".join(line for section in sections for line in section(data)) + "\n"


def escape(text: Any) -> str:
    """A text in one line, with Markdown escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _header(data: dict[str, Any]) -> list[str]:
    return [
        "---",
        "library_name: hiclass",
        "tags: [hierarchical-classification]",
        f"model_name: {json.dumps(data['title'])}",
        "---",
        "",
        f"# {escape(data['title'])}",
        "",
    ]


def _details(data: dict[str, Any]) -> list[str]:
    model, nodes = data["model"], data["nodes"]
    parts = [
        ["model", escape(model["name"])],
        ["steps before it", escape(", ".join(model["steps"]))],
        ["made of", escape("; ".join(model["members"]))],
        ["local classifiers", escape(", ".join(model["local_classifiers"]))],
        ["parameters", escape(", ".join(f"{name}={value}" for name, value in model["parameters"]))],
        ["classes", f"{len(nodes['label']) - 1:,} in {len(data['levels'])} levels"],
        ["hiclass", escape(data["version"])],
        ["evaluated on", escape(data["date"])],
    ]
    return ["## Model", "", *_table(["", ""], [row for row in parts if row[1]]), ""]


def _scores(data: dict[str, Any]) -> list[str]:
    scores = data["scores"]
    columns = ["classes", "accuracy", "precision", "recall", "f1"]
    levels = [
        [
            str(level["level"]),
            str(level["n_classes"]),
            *(_share(level[name]) for name in columns[1:]),
        ]
        for level in data["levels"]
    ]
    return [
        "## Evaluation",
        "",
        f"On {data['rows']:,} labelled rows. Hierarchical scores count every class of a path.",
        "",
        *_table(
            ["hierarchical precision", "recall", "F1", "exact match"],
            [[_share(scores[name]) for name in ("precision", "recall", "f1", "exact")]],
        ),
        "",
        *_table(["level", *columns[:-1], "F1"], levels),
        "",
    ]


def _paths(nodes: dict[str, Any]) -> list[str]:
    """The path of every node as text."""
    paths = [""]
    for label, parent in zip(nodes["label"][1:], nodes["parent"][1:], strict=True):
        above = paths[parent]
        paths.append(f"{above} > {label}" if above else str(label))
    return paths


def _classes(data: dict[str, Any]) -> list[str]:
    """The classes that are confused most often, and those with the lowest recall."""
    nodes, steps = data["nodes"], data["steps"]
    paths = _paths(nodes)
    lines = ["## Errors", ""]
    wrong = [
        [escape(paths[a]), escape(paths[b]), f"{weight:,g}"]
        for a, b, weight in zip(steps["true"], steps["predicted"], steps["weight"], strict=True)
        if a > 0 and b > 0
    ][:_MOST_SHOWN]
    if not wrong:
        return [*lines, "No class is confused with another.", ""]
    return [*lines, *_table(["class", "predicted as", "rows"], wrong), "", *_worst(nodes, paths)]


def _worst(nodes: dict[str, Any], paths: list[str]) -> list[str]:
    """The classes with the lowest recall."""
    found = [
        (right / support, path, support)
        for path, support, right in zip(paths, nodes["support"], nodes["right"], strict=True)
        if path and support >= _LEAST_ROWS
    ]
    worst = sorted(found)[:_MOST_SHOWN]
    if not worst:
        return []
    rows = [[escape(path), f"{support:,g}", _share(recall)] for recall, path, support in worst]
    table = _table(["class", "rows", "recall"], rows)
    return ["Classes with the lowest recall:", "", *table, ""]


def _set_scores(data: dict[str, Any]) -> list[str]:
    """The scores of sets: labels instead of paths."""
    names = {"precision": "hierarchical precision", "recall": "recall", "f1": "F1"}
    names |= {"jaccard": "Jaccard", "exact": "exact match", "area": "AU(PRC)"}
    found = {title: data["scores"].get(name) for name, title in names.items()}
    columns = ["precision", "recall", "f1", "area"]
    levels = [
        [
            str(level["level"]),
            str(level["classes"]),
            f"{level['labels']:,g}",
            *(_share(level[name]) for name in columns),
        ]
        for level in data["levels"]
    ]
    return [
        "## Evaluation",
        "",
        f"On {data['rows']:,} labelled rows, which may have several labels. Hierarchical scores "
        f"count every label and the classes above it.",
        "",
        *_table(list(found), [[_share(value) for value in found.values()]]),
        "",
        *_table(["level", "classes", "labels", "precision", "recall", "F1", "AU(PRC)"], levels),
        "",
    ]


def _set_classes(data: dict[str, Any]) -> list[str]:
    """The classes that are confused most often, and those with the lowest recall."""
    nodes = data["nodes"]
    names = [_name(nodes, v) for v in range(len(nodes["label"]))]
    pairs = [
        (-weight, missed, wrong)
        for missed, (others, weights) in data["confused"].items()
        for wrong, weight in zip(others, weights, strict=True)
    ]
    lines = ["## Errors", ""]
    if pairs:
        header = ["missed class", "predicted instead", "rows"]
        rows = [
            [escape(names[missed]), escape(names[wrong]), f"{-weight:,g}"]
            for weight, missed, wrong in sorted(pairs)[:_MOST_SHOWN]
        ]
        lines += [*_table(header, rows), ""]
    else:
        lines += ["No class is predicted instead of another.", ""]
    return [*lines, *_worst(nodes, names)]


def _name(nodes: dict[str, Any], v: int) -> str:
    """The path of a node as text; only its label if there are several paths."""
    if v == 0:
        return ""
    label, above = str(nodes["label"][v]), nodes["parents"][v]
    return f"{_name(nodes, above[0])} > {label}" if above != [0] and len(above) == 1 else label


def _automation(data: dict[str, Any]) -> list[str]:
    """How many rows the model can label without review, and its guarantee."""
    found = data["automation"]
    if found is None:
        return []
    lines = ["## Automation", "", "The share of these rows that the model can label if a given "]
    lines[-1] += "share of its labels may be wrong, at the best threshold for these rows:"
    header = ["level", *(f"{limit:.0%} wrong" for limit in _LIMITS)]
    rows = [
        [str(level["level"]), *(f"{_most(level, limit) / found['rows']:.1%}" for limit in _LIMITS)]
        for level in found["levels"]
    ]
    lines += ["", *_table(header, rows), ""]
    promises = found["promises"]
    if promises is None:
        return [*lines, "The model has no guarantee.", ""]
    what = "wrong" if promises["kind"] == "error" else "mean cost"
    lines += [
        f"The model has a guarantee, from {promises['rows']:,} calibration rows, with a certainty "
        f"of {promises['certainty']:.0%}. Of the rows that it labels at a level:",
        "",
        *_table(
            ["level", "branch", f"{what} at most", "rows labelled"],
            [
                [str(p["level"]), escape(p["branch"]), f"{p['limit']:g}", f"{p['share']:.1%}"]
                for p in promises["table"]
            ],
        ),
        "",
        "It holds for rows from the same source, but not if the data change.",
        "",
    ]
    return lines


def _most(level: dict[str, Any], limit: float) -> int:
    """The largest number of labelled rows with at most this share of wrong labels."""
    steps = zip(level["answered"], level["wrong"], strict=True)
    return max(answered for answered, wrong in steps if wrong <= limit * answered)


def _use(data: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    if data["label_errors"] is not None:
        n = len(data["label_errors"]["table"])
        lines += ["## Labels", "", f"{n:,} rows with probably wrong labels are listed in "]
        lines[-1] += "the report."
        lines.append("")
    if data["use"] is not None:
        use = data["use"]
        changed = [escape(test["what"]) for test in use["tests"][: use["changed"]]]
        rows = f"from {use['then']:,} old rows to {use['now']:,} new rows"
        text = f"Significant changes {rows}: {'; '.join(changed)}."
        lines += ["## Changes", "", text if changed else f"No significant change {rows}."]
        lines.append("")
    return lines


def _to_fill_in(data: dict[str, Any]) -> list[str]:
    return [
        "## Use",
        "",
        "<!-- What is the model for, and what is it not for? Who reviews uncertain predictions? "
        "-->",
        "<!-- Which rows was it fitted on: source, period, labelling, licence? -->",
    ]
