"""The numbers of a report about sets of classes: several labels per row, or several parents.

As in ``_data``, everything is a total over rows, and no row of the data is included, unless
examples are given. Numbers of nodes are columns with one entry per node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass import metrics
from hiclass._closure import most_specific
from hiclass._inspect.report._data import join_trees, shorten, shortened
from hiclass._targets.sets import encode_sets
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.metrics._areas import curve_of
from hiclass.metrics._pairs import SetPair, encode

#: The number of classes with a curve and a list of other classes: the most frequent, the best and
#: the worst ones.
_MOST_CURVES, _EXTREMES = 300, 12
#: The number of points of a curve on the page.
_POINTS = 40
#: The numbers of classes of a matrix and of entries of a list.
_MATRIX, _LISTED = 16, 6
#: Classes with fewer true rows are not among the best and the worst.
_FEWEST = 5
_MOST_EXAMPLES = 30


@dataclass(frozen=True)
class SetRows:
    """True and predicted sets of nodes, and the probability of every node.

    Attributes
    ----------
    pair : SetPair
        The sets, without the root.
    proba : ndarray of shape (n_rows, n_nodes) or None
        The probabilities; 0 for nodes that the model does not have.
    unseen : ndarray of int
        The nodes that the model does not have.
    """

    pair: SetPair
    proba: AnyArray | None
    unseen: IntArray


def read_set_rows(
    model: Any, y: Any, y_pred: Any, proba: AnyArray | None, sample_weight: Any
) -> SetRows:
    """Find the sets of nodes of true and predicted labels, in the classes of model and ``y``."""
    tree, options = model.hierarchy_, model._set_options()
    n_true, n_rows = (z.shape[0] if hasattr(z, "shape") else len(z) for z in (y, y_pred))
    if n_true != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {n_true}. Pass one set of labels per row.")
    graph, unseen = tree, np.empty(0, dtype=np.intp)
    if options is not None and options["hierarchy"] is None:
        # Paths, and labels without a hierarchy, may be new.
        graph, unseen = join_trees(tree, encode_sets(y).hierarchy)
        if proba is not None and len(unseen):
            wider = np.zeros((len(proba), graph.n_nodes))
            wider[:, [0, *(graph.find(tree.path(v)) for v in range(1, tree.n_nodes))]] = proba
            proba = wider
    pair = encode(y, y_pred, graph, sample_weight, options is not None)
    if not isinstance(pair, SetPair):  # a tree with one label per row has another page
        raise ValueError("make_report of sets needs sets of classes.")
    return SetRows(pair, None if proba is None else proba[pair.keep], unseen)


def collect_sets(rows: SetRows) -> dict[str, Any]:
    """All numbers of the page that are about the rows."""
    pair, graph = rows.pair, rows.pair.hierarchy
    right, predicted, support = pair.node_counts()
    area = None if rows.proba is None else _areas(rows)
    frequent = np.argsort(-support[1:], kind="stable")[:_MOST_CURVES] + 1
    frequent = frequent[(support + predicted)[frequent] > 0]
    chosen = None if area is None else _chosen(area, support)
    extreme = [v for nodes in (chosen or {}).values() for v in nodes]
    drawn = np.union1d(frequent, np.array(extreme, dtype=np.intp))
    return {
        "scores": _overall(rows, area, support),
        "levels": _levels(rows, area, right, predicted, support),
        "sizes": _sizes(pair),
        "nodes": {
            "label": [None, *(str(label) for label in graph.labels.tolist()[1:])],
            "level": graph.levels.tolist(),
            "parents": [graph.parents(v).tolist() for v in range(graph.n_nodes)],
            "support": shorten(support),
            "predicted": shorten(predicted),
            "right": shorten(right),
            "area": None if area is None else shorten(area, 4),
        },
        "unseen": rows.unseen.tolist(),
        "curve": None if rows.proba is None else _pooled_curve(rows),
        "curves": {} if rows.proba is None else _curves(rows, drawn),
        "chosen": chosen,
        "together": _together(pair, frequent),
        "confused": _confused(pair, frequent),
        "matrix": _matrix(pair, support),
    }


# -- scores ------------------------------------------------------------------------------------


def _areas(rows: SetRows) -> FloatArray:
    """The area of every node; NaN if it is never true."""
    graph = rows.pair.hierarchy
    if not rows.pair.true.nnz:
        return np.full(graph.n_nodes, np.nan)
    found: Any = metrics.average_precision(
        *_closed(rows), average=None, sample_weight=rows.pair.weight, **_options(graph)
    )
    areas: FloatArray = found
    return areas


def _closed(rows: SetRows) -> tuple[Any, Any]:
    """True sets and probabilities, in the form that metrics accept."""
    return rows.pair.true.astype(bool), rows.proba


def _options(graph: Hierarchy) -> dict[str, Any]:
    return {"hierarchy": graph, "multi_label": True}


def _overall(rows: SetRows, area: FloatArray | None, support: FloatArray) -> dict[str, Any]:
    pair, graph = rows.pair, rows.pair.hierarchy
    true, pred = pair.true.astype(bool), pair.pred.astype(bool)
    common = {"sample_weight": pair.weight, **_options(graph)}
    scores: dict[str, Any] = {
        name: metric(true, pred, zero_division=0.0, **common)
        for name, metric in (
            ("precision", metrics.precision),
            ("recall", metrics.recall),
            ("f1", metrics.f1),
            ("jaccard", metrics.jaccard),
        )
    }
    scores["exact"] = metrics.exact_match(true, pred, **common)
    if area is not None and pair.true.nnz:
        known = ~np.isnan(area)
        scores["area"] = metrics.average_precision(*_closed(rows), **common)
        scores["area_macro"] = float(area[known].mean())
        scores["area_weighted"] = float(np.average(area[known], weights=support[known]))
        scores["coverage_error"] = metrics.coverage_error(*_closed(rows), **common)
        scores["ranking_loss"] = metrics.ranking_loss(*_closed(rows), **common)
    return scores


def _levels(
    rows: SetRows,
    area: FloatArray | None,
    right: FloatArray,
    predicted: FloatArray,
    support: FloatArray,
) -> list[dict[str, Any]]:
    """Scores of the classes of every level together, and the area under their curve."""
    graph, pair = rows.pair.hierarchy, rows.pair
    areas: Any = None
    if area is not None and pair.true.nnz:
        areas = metrics.average_precision(
            *_closed(rows), per_level=True, sample_weight=pair.weight, **_options(graph)
        )
    table = []
    for level in range(1, graph.depth + 1):
        nodes = graph.nodes_by_level[level]
        tp, pred, true = (float(counts[nodes].sum()) for counts in (right, predicted, support))
        table.append(
            {
                "level": level,
                "classes": int(((predicted + support)[nodes] > 0).sum()),
                "labels": true,
                "precision": tp / pred if pred else None,
                "recall": tp / true if true else None,
                "f1": 2 * tp / (pred + true) if pred + true else None,
                "area": None if areas is None else float(areas[level - 1]),
            }
        )
    return table


def _sizes(pair: SetPair) -> dict[str, list[float | int | None]]:
    """The numbers of rows with 0, 1, 2, ... (the last: or more) most specific labels."""
    found = {}
    for name, sets in (("true", pair.true), ("predicted", pair.pred)):
        own = most_specific(sets.astype(bool), pair.hierarchy)
        n = np.minimum(np.diff(own.indptr), 9)
        totals = np.bincount(n, weights=pair.weight, minlength=10)
        found[name] = shorten(totals.astype(np.float64, copy=False))
    return found


# -- curves ------------------------------------------------------------------------------------


def _pooled_curve(rows: SetRows) -> list[list[float | int | None]] | None:
    """Recall and precision of all classes together."""
    if not rows.pair.true.nnz or rows.proba is None:
        return None
    return _curve(rows, np.arange(1, rows.pair.hierarchy.n_nodes), 4 * _POINTS)


def _curves(rows: SetRows, nodes: IntArray) -> dict[int, Any]:
    truth = rows.pair.true.tocsc()
    some = [v for v in nodes.tolist() if truth.indptr[v + 1] > truth.indptr[v]]
    return {v: _curve(rows, np.array([v]), _POINTS) for v in some}


def _curve(rows: SetRows, nodes: IntArray, n_points: int) -> list[list[float | int | None]]:
    assert rows.proba is not None
    truth = rows.pair.true.tocsc()[:, nodes].toarray().astype(bool)
    curve = curve_of(truth, rows.proba[:, nodes], rows.pair.weight)
    # Points at about equal distances in recall, and those with the highest recall.
    wanted = np.searchsorted(curve.recall, np.linspace(0, 1, n_points))
    place = np.unique(np.minimum(wanted, len(curve.recall) - 1))
    return [shorten(values[place], 3) for values in (curve.recall, curve.precision)]


def _chosen(area: FloatArray, support: FloatArray) -> dict[str, list[int]]:
    """The best, the worst and the most frequent classes."""
    fair = np.flatnonzero(support >= min(_FEWEST, support[1:].max(initial=0)))
    fair = fair[~np.isnan(area[fair]) & (fair > 0)]
    order = fair[np.argsort(-area[fair], kind="stable")]
    frequent = fair[np.argsort(-support[fair], kind="stable")]
    return {
        "frequent": frequent[:_EXTREMES].tolist(),
        "worst": order[::-1][:_EXTREMES].tolist(),
        "best": order[:_EXTREMES].tolist(),
    }


# -- pairs of classes
# -------------------------------------------------------------------------------


def _together(pair: SetPair, nodes: IntArray) -> dict[int, Any]:
    """For each of some classes, the other classes that are true in the same rows."""
    closure = pair.hierarchy._closure.tocsr()
    some = pair.true.tocsc()[:, nodes]
    counts = (some.multiply(pair.weight[:, None]).T @ some).toarray()
    found: dict[int, Any] = {}
    for i, v in enumerate(nodes.tolist()):
        related = np.isin(nodes, closure[[v]].indices) | closure[nodes][:, [v]].toarray().ravel()
        line = np.where(related, 0.0, counts[i])
        found[v] = _strongest(line, nodes)
    return {v: pairs for v, pairs in found.items() if pairs}


def _confused(pair: SetPair, nodes: IntArray) -> dict[int, Any]:
    """For each of some classes, those that are wrongly predicted in rows where it is missed."""
    missed = (pair.true - pair.true.multiply(pair.pred)).tocsc()[:, nodes]
    wrong = (pair.pred - pair.pred.multiply(pair.true)).tocsc()[:, nodes]
    counts = (missed.multiply(pair.weight[:, None]).T @ wrong).toarray()
    found = {v: _strongest(counts[i], nodes) for i, v in enumerate(nodes.tolist())}
    return {v: pairs for v, pairs in found.items() if pairs}


def _strongest(line: FloatArray, nodes: IntArray) -> list[list[float | int | None]]:
    order = np.argsort(-line, kind="stable")[:_LISTED]
    order = order[line[order] > 0]
    return [nodes[order].tolist(), shorten(line[order])] if len(order) else []


def _matrix(pair: SetPair, support: FloatArray) -> dict[str, Any]:
    """How often frequent leaves are true together, and which are predicted if one is missed."""
    graph = pair.hierarchy
    leaves = np.flatnonzero(graph.is_leaf & (support > 0))
    if len(leaves) < 2:
        leaves = np.flatnonzero(support > 0)
    order = leaves[np.argsort(-support[leaves], kind="stable")[:_MATRIX]]
    nodes = np.sort(order)
    true, pred = pair.true.tocsc()[:, nodes], pair.pred.tocsc()[:, nodes]
    weight = pair.weight[:, None]
    missed, wrong = true - true.multiply(pred), pred - pred.multiply(true)
    both = (true.multiply(weight).T @ true).toarray()
    instead = (missed.multiply(weight).T @ wrong).toarray()
    # On the diagonal: how often the class is found.
    np.fill_diagonal(instead, (true.multiply(pred).multiply(weight)).sum(axis=0))
    return {
        "nodes": nodes.tolist(),
        "together": [shorten(line) for line in both],
        "instead": [shorten(line) for line in instead],
    }


# -- rows --------------------------------------------------------------------------------------


def pick_set_examples(rows: SetRows, texts: list[str]) -> list[dict[str, Any]]:
    """The rows with the most missed and wrong labels, counting the most specific ones only."""
    pair = rows.pair
    missed = pair.true - pair.true.multiply(pair.pred)
    wrong = pair.pred - pair.pred.multiply(pair.true)
    n_wrong = np.asarray(missed.sum(axis=1) + wrong.sum(axis=1)).ravel()
    order = np.argsort(-n_wrong, kind="stable")[:_MOST_EXAMPLES]
    labels = [most_specific(sets.astype(bool), pair.hierarchy) for sets in (pair.true, pair.pred)]
    return [
        {
            "text": shortened(texts[row]),
            "true": labels[0][[row]].indices.tolist(),
            "predicted": labels[1][[row]].indices.tolist(),
        }
        for row in order[n_wrong[order] > 0].tolist()
    ]
