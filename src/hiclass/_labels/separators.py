"""Labels that look like whole paths, such as "Loans > Car"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

#: Separators of levels that occur in practice; longer ones before shorter ones.
SEPARATORS = (" > ", " / ", " | ", " :: ", " » ", " → ", "::", ">", "/", "|", "\\")
#: The share of labels that must have a separator and share their first part with another label.
_MOST = 0.5
#: The smallest number of distinct labels for a conclusion.
_FEWEST = 3


def find_separator(labels: Iterable[Any]) -> tuple[str, str] | None:
    """Find what seems to separate levels within labels.

    Most rows have it, no level between two of them is empty, and most of the different labels that
    have it share their first part with another one.

    Parameters
    ----------
    labels : iterable of labels
        The labels of one column, a label per row.

    Returns
    -------
    separator, example : pair of str, or None
        None if the labels do not look like paths.
    """
    counts = Counter(label for label in labels if isinstance(label, str) and label)
    if len(counts) < _FEWEST:
        return None
    n_rows = counts.total()
    for separator in SEPARATORS:
        split = {label: label.split(separator) for label in counts if separator in label}
        if not split or sum(counts[label] for label in split) < _MOST * n_rows:
            continue
        if not all(part.strip() for parts in split.values() for part in parts):
            continue
        firsts = Counter(parts[0].strip() for parts in split.values())
        # A label that is the first part of another one is its parent.
        firsts.update(label.strip() for label in counts if label not in split)
        shared = sum(firsts[parts[0].strip()] > 1 for parts in split.values())
        if shared >= _MOST * len(split) and len(split) > 1:
            return separator, next(iter(split))
    return None
