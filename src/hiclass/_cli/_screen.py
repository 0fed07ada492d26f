"""Output for people: messages, colours, tables, trees, scores."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import numpy as np

from hiclass import metrics
from hiclass.hierarchy import Hierarchy
from hiclass.hierarchy._rendering import title_of

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_LABEL = 40


def paint(text: str, colour: str, stream: TextIO) -> str:
    """Colour a text if the stream is a terminal with colours (see no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain or not stream.isatty() else f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def write(text: str = "") -> None:
    """Write a line of results."""
    sys.stdout.write(f"{text}\n")


def note(text: str, quiet: bool = False) -> None:
    """Write a message about the progress."""
    if not quiet:
        # Names of columns and files are not trusted.
        sys.stderr.write(f"{paint(one_line(text), 'dim', sys.stderr)}\n")
        sys.stderr.flush()


def warning(text: str, quiet: bool = False) -> None:
    """Write a warning."""
    if not quiet:
        sys.stderr.write(f"{paint('warning:', 'yellow', sys.stderr)} {one_line(text)}\n")
        sys.stderr.flush()


def choice_lines(choices: dict[str, str]) -> list[str]:
    """The choices of a model with their reasons; features are described elsewhere."""
    return [f"  {name}: {why}" for name, why in choices.items() if name != "features"]


def heading(text: str) -> None:
    """Write a heading."""
    write(paint(text, "bold", sys.stdout))


def write_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """Write a table with a dimmed header; the first ``left`` columns are left-aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in [header, *rows]:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(cells).rstrip()
        write(paint(line, "dim", sys.stdout) if row is header else line)


def tree_lines(hierarchy: Hierarchy, counts: Any, depth: int | None) -> list[str]:
    """Draw a hierarchy with the count of every class, down to a level.

    The descendants of a class with several parents are drawn once.
    """
    lines: list[str] = []
    forks, bars = ("└├", " │") if _can_draw() else ("`|", " |")
    dash = "──" if _can_draw() else "--"
    seen: set[int] = set()
    tops = hierarchy.children(0).tolist()
    stack = [(v, 1, "", v != tops[-1]) for v in reversed(tops)]
    while stack:
        node, level, indent, goes_on = stack.pop()
        is_leaf, again = bool(hierarchy.is_leaf[node]), node in seen
        hidden = len(hierarchy.descendants(node)) if depth is not None and level >= depth else 0
        more = f" ({hidden:,} below)" if hidden and not again else ""
        more = " (see above)" if again and not is_leaf else more
        count = paint(f"{int(counts[node]):,}{more}", "dim", sys.stdout)
        name = one_line(f"{hierarchy.labels[node]}{title_of(hierarchy, node)}")
        lines.append(f"{indent}{forks[goes_on]}{dash} {name}  {count}")
        seen.add(node)
        if hidden or again:
            continue
        children, below = hierarchy.children(node).tolist(), f"{indent}{bars[goes_on]}   "
        stack.extend((c, level + 1, below, c != children[-1]) for c in reversed(children))
    return lines


def one_line(label: Any) -> str:
    """A label in one line, without line breaks and control characters."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(label)
    )


def count(number: int, thing: str) -> str:
    """A number of things: 1 row, 2 rows."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def shape_text(hierarchy: Hierarchy) -> str:
    """The numbers of classes, levels and leaves of a hierarchy."""
    return repr(hierarchy).partition(", ")[2].removesuffix(")")


def size_text(n_bytes: int) -> str:
    """The size of a file in a suitable unit: 38 kB, 1.2 MB."""
    return f"{n_bytes / 1e3:,.0f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:,.1f} MB"


def _can_draw() -> bool:
    try:
        "└├│".encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def path_text(labels: Sequence[Any], confidences: Any = None) -> str:
    """A path in one line, with the confidence of every step if given; long labels are shortened."""
    steps = [_shortened(one_line(label)) for label in labels if label is not None and label != ""]
    if confidences is not None:
        marks = [paint(f"{p:.2f}", _colour_of(p), sys.stdout) for p in confidences[: len(steps)]]
        steps = [f"{step} {mark}" for step, mark in zip(steps, marks, strict=True)]
    return " > ".join(steps) if steps else "(no class reaches the threshold)"


def _shortened(label: str) -> str:
    return label if len(label) <= _LABEL else f"{label[: _LABEL - 3].rstrip()}..."


def _colour_of(confidence: float) -> str:
    return "green" if confidence >= 0.8 else "yellow" if confidence >= 0.5 else "red"


def write_scores(y: Any, predicted: Any, target: list[str]) -> None:
    """Write a table with the scores per level, then those over all levels."""
    levels = metrics.level_scores(y, predicted, zero_division=0.0)
    is_label = np.frompyfunc(lambda label: label is not None and label != "", 1, 1)
    reached = is_label(np.asarray(predicted, dtype=object)).astype(bool).sum(axis=1)
    measures = ("accuracy", "precision", "recall", "f1")
    rows = [
        [
            str(level),
            one_line(target[i]),
            f"{int(levels['n_classes'][i]):,}",
            f"{int(levels['support'][i]):,}",
            f"{(reached > i).mean():.0%}",
            *(f"{levels[name][i]:.3f}" for name in measures),
        ]
        for i, level in enumerate(levels["level"])
    ]
    header = ["level", "name", "classes here", "rows", "reached", *measures[:-1], "F1"]
    write_table(header, rows, left=2)
    heading(f"over all levels: {overall_text(y, predicted)}")


def overall_text(y: Any, predicted: Any) -> str:
    """The scores over all levels, in one line."""
    overall = {
        "hierarchical precision": metrics.precision(y, predicted, zero_division=0.0),
        "recall": metrics.recall(y, predicted, zero_division=0.0),
        "F1": metrics.f1(y, predicted, zero_division=0.0),
        "exact match": metrics.exact_match(y, predicted),
    }
    return ", ".join(f"{name} {value:.3f}" for name, value in overall.items())
