"""The numbers of a report, as a dict that can be written as JSON.

Everything is a total over rows. No row of the data is included, unless examples are given. Numbers
of nodes are columns with one entry per node, and lists of pairs are three columns, so that 2,000
nodes take a few hundred kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hiclass import metrics
from hiclass._labels.columns import read_labels
from hiclass._targets.paths import nodes_of
from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.hierarchy._texts import shorten as on_one_line
from hiclass.metrics._pairs import Pair, encode_tree, mean, total_by

#: The thresholds of the slider.
GRID = np.arange(101) / 100
_N_BINS = 10
#: The smallest number of predictions in a bin of a reliability curve, and their smallest share of
#: those of the class. Smaller bins are joined with their neighbours, because they mean nothing.
_LEAST_IN_BIN, _LEAST_SHARE = 10, 0.01
#: The numbers of entries per node in the lists of confused siblings and of other confused classes.
_MOST_SIBLINGS = 6
_MOST_PLACES = 6
_EXAMPLES_PER_NODE = 3
#: The largest number of characters of the title of a class.
_TITLE_LENGTH = 120
_EXAMPLE_LENGTH = 240
#: The limit of all examples together, so that the file stays small.
_EXAMPLE_BUDGET = 400_000


@dataclass(frozen=True)
class Rows(Pair):
    """True and predicted nodes of the rows with a positive weight, in one tree.

    Attributes
    ----------
    hierarchy : Hierarchy
        The tree of the model, including additional classes of ``y``.
    true, pred : ndarray of int
        Node of every row; 0 for an empty prediction.
    weight : ndarray
        Weights, all above zero.
    keep : ndarray of bool
        A mask of these rows among the given rows.
    unseen : ndarray of int
        The nodes that the model does not have.
    confidence : ndarray of shape (n, depth) or None
        Probability of the predicted node at every level, NaN after the end of the path.
    """

    unseen: IntArray
    confidence: FloatArray | None

    def levels(self) -> Iterator[tuple[IntArray, IntArray, npt.NDArray[np.bool_]]]:
        """Per level: true and predicted node (-1: ended), and whether all ancestors agree."""
        agree = np.ones(len(self.true), dtype=bool)
        for column in self.hierarchy.ancestor_table.T:
            true, pred = column[self.true], column[self.pred]
            yield true, pred, agree
            agree = agree & (true == pred) & (true >= 0)


def read_rows(
    hierarchy: Hierarchy,
    y: Any,
    y_pred: npt.NDArray[Any],
    confidence: FloatArray | None,
    sample_weight: Any,
) -> Rows:
    """Find the nodes of true and predicted labels in the tree of a model and of ``y``."""
    own, true = Hierarchy.from_paths(y, return_nodes=True)
    if len(true) != len(y_pred):
        raise ValueError(
            f"X has {len(y_pred)} rows but y has {len(true)}. Pass one label or path per row."
        )
    tree, unseen = hierarchy, np.empty(0, dtype=np.intp)
    if y_pred.ndim == 1 and hierarchy.depth > 1:
        _check_known(hierarchy, y)
    else:
        tree, unseen = join_trees(hierarchy, own)
    pair = encode_tree(y, y_pred, tree, sample_weight, "make_report")
    found = None
    if confidence is not None:
        found = np.full((len(pair.true), tree.depth), np.nan)
        width = min(tree.depth, confidence.shape[1])
        found[:, :width] = confidence[pair.keep][:, :width]
    return Rows(**vars(pair), unseen=unseen, confidence=found)


def _check_known(hierarchy: Hierarchy, y: Any) -> None:
    """Reject single labels that are not in the hierarchy, because their ancestors are unknown."""
    try:
        nodes_of(read_labels(y), hierarchy)
    except ValueError as error:
        raise ValueError(
            f"{error} A single label must be in the hierarchy of the model, because its ancestors "
            "are unknown otherwise. Leave the row out, or fit with paths."
        ) from None


def join_trees(hierarchy: Hierarchy, own: Hierarchy) -> tuple[Hierarchy, IntArray]:
    """The tree of the model and of ``y``, and the new nodes."""
    old, paths = ([tree.path(v) for v in range(1, tree.n_nodes)] for tree in (hierarchy, own))
    tree = Hierarchy.from_paths([*old, *paths])
    if hierarchy.has_texts:
        known = zip(old, hierarchy.texts[1:], strict=True)
        tree = tree.with_texts({path: list(several) for path, several in known if several})
    seen = np.zeros(tree.n_nodes, dtype=bool)
    seen[[0, *(tree.find(path) for path in old)]] = True
    return tree, np.flatnonzero(~seen)


# -- scores ------------------------------------------------------------------------------------


def overall(y: Any, y_pred: Any, hierarchy: Any, sample_weight: Any) -> dict[str, float]:
    """The measures over all levels."""
    common: dict[str, Any] = {"hierarchy": hierarchy, "sample_weight": sample_weight}
    return {
        "precision": float(metrics.precision(y, y_pred, zero_division=0.0, **common)),
        "recall": float(metrics.recall(y, y_pred, zero_division=0.0, **common)),
        "f1": float(metrics.f1(y, y_pred, zero_division=0.0, **common)),
        "exact": metrics.exact_match(y, y_pred, **common),
    }


def by_level(
    y: Any, y_pred: Any, confidence: Any, hierarchy: Any, sample_weight: Any, rows: Rows
) -> list[dict[str, Any]]:
    """The measures of every level: those of `metrics.level_scores`, and the rows that reach it."""
    common: dict[str, Any] = {"hierarchy": hierarchy, "sample_weight": sample_weight}
    scores = metrics.level_scores(y, y_pred, zero_division=0.0, **common)
    errors = np.empty(0)
    if confidence is not None:
        errors = np.asarray(metrics.calibration_error(y, y_pred, confidence, **common))
    reached = rows.hierarchy.levels[rows.pred]
    total = rows.weight.sum()
    table = []
    for i, level in enumerate(scores["level"].tolist()):
        here = reached >= level
        row = {name: column[i].item() for name, column in scores.items()}
        row["reached"] = float(rows.weight[here].sum() / total)
        if rows.confidence is not None:
            p = rows.confidence[:, i]
            row["confidence"] = mean(p[here], rows.weight[here])
            row["calibration_error"] = float(errors[i]) if i < len(errors) else np.nan
        table.append(row)
    return table


def depths(rows: Rows) -> dict[str, list[float]]:
    """Total weight of the true and of the predicted paths by their length, starting at 0."""
    return {
        name: np.bincount(
            rows.hierarchy.levels[nodes], weights=rows.weight, minlength=rows.hierarchy.depth + 1
        ).tolist()
        for name, nodes in (("true", rows.true), ("predicted", rows.pred))
    }


def node_columns(rows: Rows) -> dict[str, list[Any]]:
    """Per node: label, title, parent, and the counts for precision, recall and F1.

    "support" and "predicted" are the weights of the rows whose true or predicted path contains the
    node, and "right" of those for which both do. "mistakes" is the weight of the rows that are
    correct down to the node and wrong at the next step. "confidence" is the mean over the rows
    predicted there.
    """
    tree, wrong = rows.hierarchy, rows.true != rows.pred
    right, predicted, support = rows.node_counts()
    mistakes = total_by(rows.meeting_node()[wrong], rows.weight[wrong], tree)
    columns: dict[str, list[Any]] = {
        "label": [str(label) for label in tree.labels.tolist()],
        "parent": tree.parent.tolist(),
        "support": shorten(support),
        "predicted": shorten(predicted),
        "right": shorten(right),
        "mistakes": shorten(mistakes),
    }
    if tree.has_texts:
        columns["text"] = [on_one_line(t[0], _TITLE_LENGTH) if t else None for t in tree.texts]
    if rows.confidence is not None:
        sure = np.zeros(tree.n_nodes)
        for level, (_, pred, _) in enumerate(rows.levels()):
            here = pred >= 0
            sure += total_by(pred[here], (rows.weight * rows.confidence[:, level])[here], tree)
        with np.errstate(invalid="ignore"):
            mean_confidence = sure / predicted
        mean_confidence[0] = np.nan
        columns["confidence"] = shorten(mean_confidence, 4)
    return columns


# -- errors ------------------------------------------------------------------------------------


def wrong_steps(rows: Rows) -> dict[str, list[Any]]:
    """Pairs of confused siblings: the first wrong step of every row.

    If a path ends too early or too late, the parent stands for "ends here". For every node, the
    most frequent pairs in both directions are kept.
    """
    pairs = []
    for true, pred, agree in rows.levels():
        wrong = agree & (true != pred)
        a, b, weight = true[wrong], pred[wrong], rows.weight[wrong]
        above = rows.hierarchy.parent[np.maximum(a, b)]
        pairs.append((np.where(a < 0, above, a), np.where(b < 0, above, b), weight))
    a, b, weight = _count_pairs(rows.hierarchy, pairs)
    keep = _first_of_each(a, _MOST_SIBLINGS) | _first_of_each(b, _MOST_SIBLINGS)
    return {
        "true": a[keep].tolist(),
        "predicted": b[keep].tolist(),
        "weight": shorten(weight[keep]),
    }


def destinations(rows: Rows) -> dict[str, list[Any]]:
    """The predicted nodes of rows of a node that are not predicted there."""
    missed = [(true, rows.pred, (true >= 0) & (true != pred)) for true, pred, _ in rows.levels()]
    return _places(rows, missed)


def sources(rows: Rows) -> dict[str, list[Any]]:
    """The true nodes of rows that are wrongly predicted at a node."""
    wrong = [(pred, rows.true, (pred >= 0) & (true != pred)) for true, pred, _ in rows.levels()]
    return _places(rows, wrong)


def _places(rows: Rows, found: list[tuple[IntArray, IntArray, Any]]) -> dict[str, list[Any]]:
    pairs = [(node[keep], end[keep], rows.weight[keep]) for node, end, keep in found]
    node, end, weight = _count_pairs(rows.hierarchy, pairs)
    keep = _first_of_each(node, _MOST_PLACES)
    return {
        "node": node[keep].tolist(),
        "end": end[keep].tolist(),
        "weight": shorten(weight[keep]),
    }


def _count_pairs(
    tree: Hierarchy, pairs: list[tuple[IntArray, IntArray, FloatArray]]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Distinct pairs of nodes and their total weight, largest first."""
    a, b, weight = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    key, inverse = np.unique(a * tree.n_nodes + b, return_inverse=True)
    total = _totals(inverse, weight, len(key))
    order = np.argsort(-total, kind="stable")
    first, second = np.divmod(key[order], tree.n_nodes)
    return first, second, total[order]


def _first_of_each(nodes: IntArray, most: int) -> npt.NDArray[np.bool_]:
    """Whether an entry is among the first entries of its node."""
    order = np.argsort(nodes, kind="stable")
    ordered = nodes[order]
    rank = np.empty(len(nodes), dtype=np.intp)
    rank[order] = np.arange(len(nodes)) - np.searchsorted(ordered, ordered)
    return rank < most


# -- confidence --------------------------------------------------------------------------------


def reliability(rows: Rows) -> dict[str, list[Any]]:
    """Bins of confidence per node: mean confidence, accuracy, predictions, weight.

    Bins have equal width, but those with few predictions are joined with their neighbours,
    regardless of weights. Node 0 has the predicted labels of all levels together.
    """
    assert rows.confidence is not None
    nodes, bins, sure, right, weights = [], [], [], [], []
    for level, (true, pred, _) in enumerate(rows.levels()):
        here = pred >= 0
        p, w = rows.confidence[here, level], rows.weight[here]
        nodes.append(pred[here])
        bins.append(np.searchsorted(np.linspace(0, 1, _N_BINS + 1)[1:-1], p))
        sure.append(w * p)
        right.append(w * (true == pred)[here])
        weights.append(w)
    node, place = np.concatenate(nodes), np.concatenate(bins)
    # Everything once more for the root.
    key = np.concatenate([node * _N_BINS + place, place])
    distinct, inverse = np.unique(key, return_inverse=True)
    p_sum, r_sum, w_sum = (
        _totals(inverse, np.tile(np.concatenate(part), 2), len(distinct))
        for part in (sure, right, weights)
    )
    count = np.bincount(inverse, minlength=len(distinct))
    node = distinct // _N_BINS
    starts = _join_bins(node, count)
    p_sum, r_sum, w_sum, count = (
        np.add.reduceat(part, starts) for part in (p_sum, r_sum, w_sum, count)
    )
    return {
        "node": node[starts].tolist(),
        "confidence": shorten(p_sum / w_sum, 3),
        "right": shorten(r_sum / w_sum, 3),
        "count": count.tolist(),
        "weight": shorten(w_sum),
    }


def _join_bins(node: IntArray, count: IntArray) -> IntArray:
    """The starts of joined bins: each includes the next ones until it has enough predictions.

    The rest at the end of a node is too small for a separate bin and joins the last one.
    """
    total = _totals(node, count, int(node.max(initial=0)) + 1)
    starts: list[int] = []
    filled, left, before = 0, 0, -1
    for place, (v, n) in enumerate(zip(node.tolist(), count.tolist(), strict=True)):
        least = max(_LEAST_IN_BIN, _LEAST_SHARE * total[v])
        if v != before:
            starts.append(place)
            filled, left = 0, int(total[v])
        elif filled >= least and left >= least:
            starts.append(place)
            filled = 0
        filled, left, before = filled + n, left - n, v
    return np.array(starts, dtype=np.intp)


def thresholds(rows: Rows) -> dict[str, Any]:
    """Per level, the labels that are kept, and are correct, at each threshold of confidence.

    "kept" and "right" have one list per level, with one entry per threshold of ``GRID``. "whole" is
    the weight of the rows whose path is not truncated, "exact" of those that are then completely
    correct, "labels" the weight of all true labels.
    """
    assert rows.confidence is not None
    kept, right, whole = [], [], np.zeros(len(GRID))
    for level, (true, pred, _) in enumerate(rows.levels()):
        here = pred >= 0
        p = rows.confidence[here, level]
        kept.append(_at_least(p, rows.weight[here]))
        good = (true == pred)[here]
        right.append(_at_least(p[good], rows.weight[here][good]))
        last = rows.hierarchy.levels[rows.pred] == level + 1
        whole = whole + _at_least(rows.confidence[last, level], rows.weight[last])
    return {
        "kept": [shorten(k) for k in kept],
        "right": [shorten(r) for r in right],
        "whole": shorten(whole),
        "exact": shorten(_exact_at(rows)),
        "labels": float((rows.weight * rows.hierarchy.levels[rows.true]).sum()),
    }


def _at_least(p: FloatArray, weight: FloatArray) -> FloatArray:
    """Total weight of the values that reach each threshold."""
    place = np.searchsorted(GRID, p, side="right") - 1
    return np.cumsum(_totals(np.maximum(place, 0), weight, len(GRID))[::-1])[::-1]


def _exact_at(rows: Rows) -> FloatArray:
    """Weight of the rows whose path, truncated at a threshold, is exactly the true one.

    Exactly the true path must remain: the last true label is kept and correct, and the next
    predicted label, if any, is not kept.
    """
    assert rows.confidence is not None
    table, levels = rows.hierarchy.ancestor_table, rows.hierarchy.levels
    i = np.arange(len(rows.true))
    last = levels[rows.true] - 1
    right = table[rows.pred, last] == rows.true
    upper = np.where(right, rows.confidence[i, last], np.nan)
    beyond = np.pad(rows.confidence, ((0, 0), (0, 1)), constant_values=np.nan)[i, last + 1]
    lower = np.where(np.isnan(beyond), -1.0, beyond)
    upper, lower, weight = upper[right], lower[right], rows.weight[right]
    goes_on = lower >= 0
    return _at_least(upper, weight) - _at_least(lower[goes_on], weight[goes_on])


# -- examples ----------------------------------------------------------------------------------


def pick_examples(rows: Rows, texts: list[str]) -> dict[str, Any]:
    """A few rows per node that are predicted wrongly with the highest confidence.

    Parameters
    ----------
    rows : Rows
        The rows.
    texts : list of str
        A text per row that counts.

    Returns
    -------
    dict
        "text", "true", "predicted" and "confidence" of the examples, and "node": for each node the
        places of its examples among them.
    """
    sure = np.zeros(len(rows.true))
    if rows.confidence is not None:
        depth = rows.hierarchy.levels[rows.pred]
        found = depth > 0
        sure[found] = rows.confidence[np.flatnonzero(found), depth[found] - 1]
    order = np.argsort(-sure, kind="stable")
    wanted: dict[int, list[int]] = {}
    for true, pred, _ in rows.levels():
        missed = order[(true[order] >= 0) & (true[order] != pred[order])]
        first = missed[_first_of_each(true[missed], _EXAMPLES_PER_NODE)]
        for row in first.tolist():
            wanted.setdefault(int(true[row]), []).append(row)
    place: dict[int, int] = {}
    by_node: dict[int, list[int]] = {}
    budget = _EXAMPLE_BUDGET
    # Nodes near the root first, if space is short.
    for node in sorted(wanted, key=lambda v: (rows.hierarchy.levels[v], v)):
        for row in wanted[node]:
            if row not in place:
                budget -= len(shortened(texts[row]).encode("utf-8", "replace"))
                if budget < 0:
                    break
                place[row] = len(place)
            by_node.setdefault(node, []).append(place[row])
    chosen = list(place)
    return {
        "text": [shortened(texts[row]) for row in chosen],
        "true": rows.true[chosen].tolist(),
        "predicted": rows.pred[chosen].tolist(),
        "confidence": None if rows.confidence is None else shorten(sure[chosen], 3),
        "node": by_node,
    }


def shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _EXAMPLE_LENGTH else f"{text[: _EXAMPLE_LENGTH - 1]}…"


# -- numbers -----------------------------------------------------------------------------------


def _totals(places: IntArray, weight: FloatArray | IntArray, n: int) -> FloatArray:
    """Total weight at each of n positions."""
    return np.bincount(places, weights=weight, minlength=n).astype(np.float64, copy=False)


def shorten(values: FloatArray, digits: int = 6) -> list[float | int | None]:
    """Numbers with few digits: whole ones as integers, NaN as None."""
    return [
        None if v != v else int(v) if v == int(v) else v
        for v in np.round(np.asarray(values, dtype=np.float64), digits).tolist()
    ]
