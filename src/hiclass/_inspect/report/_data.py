"""The numbers of a report, as a plain dict that can be written as JSON.

Everything is a total over rows: no row of the data is in it, unless examples are asked for. Numbers
of nodes are columns with one entry per node, and lists of pairs are three columns, so that 2,000
nodes take a few hundred kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hiclass import metrics
from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

#: The thresholds that the slider can take.
GRID = np.arange(101) / 100
_N_BINS = 10
#: A bin of a reliability curve has so many predictions, and this part of those of its class, or it
#: is joined to its neighbour: a share of a few rows says nothing.
_LEAST_IN_BIN, _LEAST_SHARE = 10, 0.01
#: Entries per node of a list of confusions, and of mistakes that go anywhere: what the page shows.
_MOST_SIBLINGS = 6
_MOST_PLACES = 6
_EXAMPLES_PER_NODE = 3
_EXAMPLE_LENGTH = 240
#: All examples together stay below this, so that the file stays small.
_EXAMPLE_BUDGET = 400_000


class Rows:
    """True and predicted nodes of the rows that count, over one tree.

    Attributes
    ----------
    tree : Hierarchy
        The tree of the model, and what ``y`` adds to it.
    unseen : ndarray of int
        The nodes that the model does not know.
    true, pred : ndarray of int
        Node of every row; 0 for an empty prediction.
    confidence : ndarray of shape (n, depth) or None
        Probability of the predicted node at every level, NaN after the end of the path.
    weight : ndarray
        Weights, all above zero.
    keep : ndarray of bool
        Which of the given rows they are.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        y: Any,
        y_pred: npt.NDArray[Any],
        confidence: FloatArray | None,
        sample_weight: Any,
    ) -> None:
        own, true = Hierarchy.from_paths(y, return_nodes=True)
        if len(true) != len(y_pred):
            raise ValueError(
                f"X has {len(y_pred)} rows but y has {len(true)}. Give one label or path per row."
            )
        single = y_pred.ndim == 1
        if single and hierarchy.depth > 1:
            self.tree, self.unseen = hierarchy, np.empty(0, dtype=np.intp)
            number = _find_labels(hierarchy, own, true)
        else:
            self.tree, self.unseen, number = _join(hierarchy, own)
        weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
        if weight.shape not in ((), true.shape):
            raise ValueError(
                f"sample_weight has shape {weight.shape} but there are {len(true)} rows. "
                f"Give one weight per row."
            )
        weight = np.broadcast_to(weight, true.shape)
        keep = self.keep = weight > 0  # the metrics refuse what is no weight at all
        self.weight = weight[keep]
        self.true = number[true][keep]
        self.pred = self._locate(y_pred[keep], None if confidence is None else confidence[keep])
        self.confidence = None
        if confidence is not None:
            self.confidence = np.full((len(self.true), self.tree.depth), np.nan)
            width = min(self.tree.depth, confidence.shape[1])
            self.confidence[:, :width] = confidence[keep][:, :width]

    def _locate(self, y_pred: npt.NDArray[Any], confidence: FloatArray | None) -> IntArray:
        """Nodes of predictions, of which those without any confidence are empty."""
        nodes = np.zeros(len(y_pred), dtype=np.intp)
        given = np.full(len(y_pred), True) if confidence is None else ~np.isnan(confidence[:, 0])
        if given.any():
            found, inside = Hierarchy.from_paths(y_pred[given], return_nodes=True)
            single = y_pred.ndim == 1
            where = [0] + [
                self.tree.find(found.labels[v] if single else found.path(v))
                for v in range(1, found.n_nodes)
            ]
            nodes[given] = np.array(where)[inside]
        return nodes

    def levels(self) -> Iterator[tuple[IntArray, IntArray, npt.NDArray[np.bool_]]]:
        """Per level the true and the predicted node (-1: over), and whether all above is right."""
        agree = np.ones(len(self.true), dtype=bool)
        for column in self.tree.ancestor_table.T:
            true, pred = column[self.true], column[self.pred]
            yield true, pred, agree
            agree = agree & (true == pred) & (true >= 0)

    def total(self, nodes: IntArray, weight: FloatArray | None = None) -> FloatArray:
        """Total weight per node, one node being given per row."""
        weight = self.weight if weight is None else weight
        return _totals(nodes, weight, self.tree.n_nodes)


def _find_labels(hierarchy: Hierarchy, own: Hierarchy, true: IntArray) -> IntArray:
    """Nodes of single labels. Nobody knows what is above one that the hierarchy does not have."""
    where = np.zeros(own.n_nodes, dtype=np.intp)
    for node, label in enumerate(own.labels[1:].tolist(), start=1):
        try:
            where[node] = hierarchy.find(label)
        except ValueError as error:
            row = int(np.argmax(true == node))
            raise ValueError(
                f"Row {row} of y: {error} A single label must be in the hierarchy of the model, as "
                f"its ancestors are unknown otherwise. Leave the row out, or fit with paths."
            ) from None
    return where


def _join(hierarchy: Hierarchy, own: Hierarchy) -> tuple[Hierarchy, IntArray, IntArray]:
    """The tree of the model and of ``y``, the nodes that are new, and the nodes of ``y`` in it."""
    paths = [own.path(v) for v in range(own.n_nodes)]
    try:
        known = np.array([hierarchy.find(path) for path in paths])
        return hierarchy, np.empty(0, dtype=np.intp), known
    except ValueError:
        old = [hierarchy.path(v) for v in range(1, hierarchy.n_nodes)]
    tree = Hierarchy.from_paths([*old, *paths[1:]])
    seen = np.zeros(tree.n_nodes, dtype=bool)
    seen[[0, *(tree.find(path) for path in old)]] = True
    return tree, np.flatnonzero(~seen), np.array([tree.find(path) for path in paths])


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
    """The measures of every level: those of `metrics.level_scores`, how many rows get there."""
    common: dict[str, Any] = {"hierarchy": hierarchy, "sample_weight": sample_weight}
    scores = metrics.level_scores(y, y_pred, zero_division=0.0, **common)
    errors = np.empty(0)
    if confidence is not None:
        errors = np.asarray(metrics.calibration_error(y, y_pred, confidence, **common))
    reached = rows.tree.levels[rows.pred]
    total = rows.weight.sum()
    table = []
    for i, level in enumerate(scores["level"].tolist()):
        here = reached >= level
        row = {name: column[i].item() for name, column in scores.items()}
        row["reached"] = float(rows.weight[here].sum() / total)
        if rows.confidence is not None:
            p = rows.confidence[:, i]
            row["confidence"] = _mean(p[here], rows.weight[here])
            row["calibration_error"] = float(errors[i]) if i < len(errors) else np.nan
        table.append(row)
    return table


def depths(rows: Rows) -> dict[str, list[float]]:
    """Total weight of the true and of the predicted paths by their length, from 0."""
    return {
        name: np.bincount(
            rows.tree.levels[nodes], weights=rows.weight, minlength=rows.tree.depth + 1
        ).tolist()
        for name, nodes in (("true", rows.true), ("predicted", rows.pred))
    }


def node_columns(rows: Rows) -> dict[str, list[Any]]:
    """Per node its label, its parent and what precision, recall and F1 are made of.

    "support" and "predicted" are the weights of the rows that are, or are said to be, at or below
    the node, "right" of those that are both; "mistakes" of the rows that are right down to the node
    and wrong at the next step; "confidence" is the mean over the rows that are predicted there.
    """
    tree = rows.tree
    columns = {
        name: np.zeros(tree.n_nodes) for name in ("support", "predicted", "right", "mistakes")
    }
    sure = np.zeros(tree.n_nodes)
    for level, (true, pred, agree) in enumerate(rows.levels()):
        is_true, is_pred = true >= 0, pred >= 0
        both = is_true & (true == pred)
        columns["support"] += rows.total(true[is_true], rows.weight[is_true])
        columns["predicted"] += rows.total(pred[is_pred], rows.weight[is_pred])
        columns["right"] += rows.total(true[both], rows.weight[both])
        wrong = agree & (true != pred)
        above = tree.parent[np.where(is_true, true, pred)[wrong]]
        columns["mistakes"] += rows.total(above, rows.weight[wrong])
        if rows.confidence is not None:
            p = rows.confidence[is_pred, level]
            sure += rows.total(pred[is_pred], rows.weight[is_pred] * p)
    for name in ("support", "predicted", "right"):
        columns[name][0] = rows.weight.sum()
    numbers: dict[str, list[Any]] = {name: _short(column) for name, column in columns.items()}
    if rows.confidence is not None:
        with np.errstate(invalid="ignore"):
            mean = sure / columns["predicted"]
        mean[0] = np.nan
        numbers["confidence"] = _short(mean, 4)
    return {
        "label": [str(label) for label in tree.labels.tolist()],
        "parent": tree.parent.tolist(),
        **numbers,
    }


# -- mistakes ----------------------------------------------------------------------------------


def wrong_steps(rows: Rows) -> dict[str, list[Any]]:
    """Pairs of siblings that are mistaken for each other: the first wrong step of every row.

    Where a path ends too early or too late, the parent stands for "ends here". Of every node, the
    most frequent pairs in both directions are kept.
    """
    pairs = []
    for true, pred, agree in rows.levels():
        wrong = agree & (true != pred)
        a, b, weight = true[wrong], pred[wrong], rows.weight[wrong]
        above = rows.tree.parent[np.maximum(a, b)]
        pairs.append((np.where(a < 0, above, a), np.where(b < 0, above, b), weight))
    a, b, weight = _count_pairs(rows.tree, pairs)
    keep = _first_of_each(a, _MOST_SIBLINGS) | _first_of_each(b, _MOST_SIBLINGS)
    return {"true": a[keep].tolist(), "predicted": b[keep].tolist(), "weight": _short(weight[keep])}


def destinations(rows: Rows) -> dict[str, list[Any]]:
    """Where the rows of a node end that are not predicted there."""
    missed = [(true, rows.pred, (true >= 0) & (true != pred)) for true, pred, _ in rows.levels()]
    return _places(rows, missed)


def sources(rows: Rows) -> dict[str, list[Any]]:
    """Where the rows really belong that are predicted at a node by mistake."""
    wrong = [(pred, rows.true, (pred >= 0) & (true != pred)) for true, pred, _ in rows.levels()]
    return _places(rows, wrong)


def _places(rows: Rows, found: list[tuple[IntArray, IntArray, Any]]) -> dict[str, list[Any]]:
    pairs = [(node[keep], end[keep], rows.weight[keep]) for node, end, keep in found]
    node, end, weight = _count_pairs(rows.tree, pairs)
    keep = _first_of_each(node, _MOST_PLACES)
    return {
        "node": node[keep].tolist(),
        "end": end[keep].tolist(),
        "weight": _short(weight[keep]),
    }


def _count_pairs(
    tree: Hierarchy, pairs: list[tuple[IntArray, IntArray, FloatArray]]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Distinct pairs of nodes and their total weight, the heaviest first."""
    a, b, weight = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    key, inverse = np.unique(a * tree.n_nodes + b, return_inverse=True)
    total = _totals(inverse, weight, len(key))
    order = np.argsort(-total, kind="stable")
    first, second = np.divmod(key[order], tree.n_nodes)
    return first, second, total[order]


def _first_of_each(nodes: IntArray, most: int) -> npt.NDArray[np.bool_]:
    """Whether an entry is among the first ones of its node."""
    order = np.argsort(nodes, kind="stable")
    ordered = nodes[order]
    rank = np.empty(len(nodes), dtype=np.intp)
    rank[order] = np.arange(len(nodes)) - np.searchsorted(ordered, ordered)
    return rank < most


# -- confidence --------------------------------------------------------------------------------


def reliability(rows: Rows) -> dict[str, list[Any]]:
    """Per node bins of confidence: mean confidence, part that is right, predictions, weight.

    Bins have equal width, but those with few predictions are joined to their neighbours, whatever
    the predictions weigh. Node 0 has the predicted labels of all levels together.
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
        "confidence": _short(p_sum / w_sum, 3),
        "right": _short(r_sum / w_sum, 3),
        "count": count.tolist(),
        "weight": _short(w_sum),
    }


def _join_bins(node: IntArray, count: IntArray) -> IntArray:
    """Where joined bins start: each takes up the next ones until it has enough predictions.

    What is left at the end of a node is too little for a bin of its own, and joins the last one.
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
    """What is left, and right, per level if only labels of at least a confidence are kept.

    "kept" and "right" have one list per level, with one entry per threshold of ``GRID``; "whole"
    is the weight of the rows whose path stays as it is, "exact" of those that are then fully right,
    "labels" the weight of all true labels.
    """
    assert rows.confidence is not None
    kept, right = [], []
    whole = exact = np.zeros(len(GRID))
    for level, (true, pred, _) in enumerate(rows.levels()):
        here = pred >= 0
        p = rows.confidence[here, level]
        kept.append(_at_least(p, rows.weight[here]))
        good = (true == pred)[here]
        right.append(_at_least(p[good], rows.weight[here][good]))
        last = rows.tree.levels[rows.pred] == level + 1
        whole = whole + _at_least(rows.confidence[last, level], rows.weight[last])
    exact = _exact_at(rows)
    levels = rows.tree.levels[rows.true]
    return {
        "kept": [_short(k) for k in kept],
        "right": [_short(r) for r in right],
        "whole": _short(whole),
        "exact": _short(exact),
        "labels": float((rows.weight * levels).sum()),
    }


def _at_least(p: FloatArray, weight: FloatArray) -> FloatArray:
    """Total weight of the values that are at least each threshold."""
    place = np.searchsorted(GRID, p, side="right") - 1
    return np.cumsum(_totals(np.maximum(place, 0), weight, len(GRID))[::-1])[::-1]


def _exact_at(rows: Rows) -> FloatArray:
    """Weight of the rows whose path, cut at a threshold, is exactly the true one.

    The cut must leave precisely the true path: the last true label is kept and is right, and the
    next predicted one, if any, is cut off.
    """
    assert rows.confidence is not None
    table, levels = rows.tree.ancestor_table, rows.tree.levels
    i = np.arange(len(rows.true))
    last = levels[rows.true] - 1
    right = table[rows.pred, last] == rows.true
    upper = np.where(right, rows.confidence[i, last], np.nan)
    beyond = np.pad(rows.confidence, ((0, 0), (0, 1)), constant_values=np.nan)[i, last + 1]
    lower = np.where(np.isnan(beyond), -1.0, beyond)
    upper, lower, weight = upper[right], lower[right], rows.weight[right]
    is_cut = lower >= 0
    return _at_least(upper, weight) - _at_least(lower[is_cut], weight[is_cut])


# -- examples ----------------------------------------------------------------------------------


def pick_examples(rows: Rows, texts: list[str]) -> dict[str, Any]:
    """A few rows per node that the model gets wrong there: those it is most sure of.

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
        depth = rows.tree.levels[rows.pred]
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
    # Nodes near the top first, where space is short.
    for node in sorted(wanted, key=lambda v: (rows.tree.levels[v], v)):
        for row in wanted[node]:
            if row not in place:
                budget -= len(_shorten(texts[row]).encode("utf-8", "replace"))
                if budget < 0:
                    break
                place[row] = len(place)
            by_node.setdefault(node, []).append(place[row])
    chosen = list(place)
    return {
        "text": [_shorten(texts[row]) for row in chosen],
        "true": rows.true[chosen].tolist(),
        "predicted": rows.pred[chosen].tolist(),
        "confidence": None if rows.confidence is None else _short(sure[chosen], 3),
        "node": by_node,
    }


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _EXAMPLE_LENGTH else f"{text[: _EXAMPLE_LENGTH - 1]}…"


# -- numbers -----------------------------------------------------------------------------------


def _totals(places: IntArray, weight: FloatArray | IntArray, n: int) -> FloatArray:
    """Total weight at each of n places."""
    return np.bincount(places, weights=weight, minlength=n).astype(np.float64, copy=False)


def _mean(values: FloatArray, weight: FloatArray) -> float:
    total = weight.sum()
    return float((values * weight).sum() / total) if total > 0 else np.nan


def _short(values: FloatArray, digits: int = 6) -> list[float | int | None]:
    """Numbers with few digits: whole ones as integers, NaN as None."""
    return [
        None if v != v else int(v) if v == int(v) else v
        for v in np.round(np.asarray(values, dtype=np.float64), digits).tolist()
    ]
