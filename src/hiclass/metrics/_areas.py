"""Precision-recall curves of node probabilities, and the areas under them.

Every node is a binary problem. A curve is drawn for one node, or for all pairs of row and node
together. The root is excluded because every row belongs to it. Equal probabilities make one point.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.metrics._pairs import mean
from hiclass.metrics._probabilistic import check_proba, columns_of


class PrecisionRecallCurve(NamedTuple):
    """Result of :func:`precision_recall_curve`, with one entry per distinct probability.

    Parameters
    ----------
    precision : ndarray
        The share of true pairs among the pairs of row and class that reach the threshold.
    recall : ndarray
        The share of the true pairs that reach the threshold. It never decreases.
    thresholds : ndarray
        The distinct probabilities in descending order.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import precision_recall_curve
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"]])
    >>> precision_recall_curve([["Cat"]], [[1.0, 0.8, 0.2]], hierarchy=h).recall
    array([1., 1.])
    """

    precision: FloatArray
    recall: FloatArray
    thresholds: FloatArray


def precision_recall_curve(
    y_true: Any,
    node_proba: Any,
    *,
    hierarchy: Any,
    node: Any = None,
    multi_label: bool = False,
    exclude: Iterable[Any] = (),
    sample_weight: Any = None,
) -> PrecisionRecallCurve:
    """Compute precision and recall at every threshold, for one class or all classes together.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    node_proba : array-like of shape (n_samples, n_nodes)
        Node probabilities as returned by ``predict_node_proba``: one column per node, starting with
        the root. Any other score that ranks the nodes of a row also works.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict
        The hierarchy that the columns refer to: ``hierarchy_`` of a fitted estimator.
    node : path, label or None, default=None
        The class, as a path or a unique label. By default, all pairs of row and class, which
        gives the average curve of Vens et al.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    exclude : iterable of paths or labels, default=()
        Nodes to exclude, each as a path or a unique label. The root is always excluded.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    PrecisionRecallCurve
        Precision, recall and thresholds, starting with the highest threshold.

    Raises
    ------
    ValueError
        If the class is never true, or the probabilities do not match the hierarchy.

    See Also
    --------
    average_precision : The area under the curve.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import precision_recall_curve
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"]])
    >>> proba = [[1.0, 0.8, 0.2], [1.0, 0.9, 0.1], [1.0, 0.3, 0.7]]
    >>> curve = precision_recall_curve([["Cat"], ["Dog"], ["Dog"]], proba, hierarchy=h, node="Dog")
    >>> curve.precision.round(2), curve.recall
    (array([1.  , 0.5 , 0.67]), array([0.5, 0.5, 1. ]))
    """
    tree, truth, proba, weight = check_proba(
        y_true, node_proba, hierarchy, multi_label, sample_weight, False
    )
    columns = columns_of(tree, exclude, truth)
    if node is not None:
        found = tree.find(node)
        if found not in columns:
            raise ValueError(
                f"node={node!r} is the root or excluded; it has no curve. Choose another class."
            )
        columns = np.array([found])
    positive = truth.tocsc()[:, columns].toarray().astype(bool)
    if not positive.any():
        raise ValueError(
            f"{tree.describe(int(columns[0]))} is true in no row, so it has no curve. Choose a "
            "class that occurs in y_true."
        )
    return curve_of(positive, proba[:, columns], weight)


def average_precision(
    y_true: Any,
    node_proba: Any,
    *,
    hierarchy: Any,
    multi_label: bool = False,
    average: str | None = "micro",
    exclude: Iterable[Any] = (),
    interpolate: bool = False,
    per_level: bool = False,
    sample_weight: Any = None,
) -> float | FloatArray:
    """Compute the area under the precision-recall curve of node probabilities, AU(PRC).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    node_proba : array-like of shape (n_samples, n_nodes)
        Node probabilities as returned by ``predict_node_proba``: one column per node, starting with
        the root. Any other score that ranks the nodes of a row also works.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict
        The hierarchy that the columns refer to: ``hierarchy_`` of a fitted estimator.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        "micro": one curve for all pairs of row and node, the average curve of Vens et al.
        "macro": the mean area of the nodes that are true in at least one row. "weighted": the same
        mean, weighted by how often a node is true. None: the area of every node, NaN for a node
        that is never true.
    exclude : iterable of paths or labels, default=()
        Nodes to exclude, each as a path or a unique label. The root is always excluded.
    interpolate : bool, default=False
        Whether to interpolate true and false positives linearly between two points of a curve, as
        Vens et al. do. Otherwise, the area is the sum of precision times the step in recall, as in
        :func:`sklearn.metrics.average_precision_score`.
    per_level : bool, default=False
        Whether to return one area per level, computed from the nodes of that level.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float or ndarray of shape (n_nodes,) or (n_levels,)
        The area. With ``average=None``, one value per node, starting with the root. With
        ``per_level=True``, one value per level, NaN for a level without true nodes.

    Raises
    ------
    ValueError
        If the average is unknown, the probabilities do not match the hierarchy, or all true nodes
        are excluded.

    See Also
    --------
    precision_recall_curve : The curve.

    References
    ----------
    C. Vens, J. Struyf, L. Schietgat, S. Dzeroski and H. Blockeel: Decision trees for hierarchical
    multi-label classification. Machine Learning 73, 2008. J. Davis and M. Goadrich: The
    relationship between precision-recall and ROC curves. ICML 2006.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import average_precision
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"]])
    >>> average_precision([["Cat"], ["Dog"]], [[1.0, 0.8, 0.2], [1.0, 0.4, 0.6]], hierarchy=h)
    1.0
    """
    if average not in ("micro", "macro", "weighted", None):
        raise ValueError(
            f"average={average!r} is unknown. Use 'micro', 'macro', 'weighted' or None."
        )
    if per_level and average is None:
        raise ValueError(
            "average=None gives the area of every node, so there is nothing per level. Use "
            "'micro', 'macro' or 'weighted' with per_level=True."
        )
    tree, truth, proba, weight = check_proba(
        y_true, node_proba, hierarchy, multi_label, sample_weight, False
    )
    columns = columns_of(tree, exclude, truth)
    truth, levels = truth.tocsc(), tree.levels[columns]
    groups = [columns]
    if per_level:
        groups = [columns[levels == level] for level in range(1, tree.depth + 1)]
    if average == "micro":
        areas = np.array([_pooled(truth, proba, weight, nodes, interpolate) for nodes in groups])
        return areas if per_level else float(areas[0])
    area = np.full(tree.n_nodes, np.nan)
    for v in columns.tolist():
        area[v] = _pooled(truth, proba, weight, np.array([v]), interpolate)
    if average is None:
        return area
    by = truth.T @ weight if average == "weighted" else np.ones(tree.n_nodes)
    means = np.array([mean(area[nodes], by[nodes]) for nodes in groups])
    return means if per_level else float(means[0])


def _pooled(
    truth: Any, proba: AnyArray, weight: FloatArray, nodes: IntArray, interpolate: bool
) -> float:
    """Area of the curve of some nodes together; NaN if none of them is ever true."""
    if not np.diff(truth.indptr)[nodes].any():
        return np.nan
    positive = truth[:, nodes].toarray().astype(bool)
    tp, fp, _ = _points(positive, proba[:, nodes], weight)
    return area_of(tp, fp, interpolate)


def curve_of(
    positive: npt.NDArray[np.bool_], scores: AnyArray, weight: FloatArray
) -> PrecisionRecallCurve:
    """The curve of some columns together."""
    tp, fp, thresholds = _points(positive, scores, weight)
    return PrecisionRecallCurve(tp / (tp + fp), tp / tp[-1], thresholds)


def _points(
    positive: npt.NDArray[np.bool_], scores: AnyArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight of true and of false positives at every distinct score, the highest first."""
    flat = scores.ravel()
    order = np.argsort(-flat, kind="stable")
    ranked, hit = flat[order], positive.ravel()[order]
    each = weight[order // scores.shape[1]]
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    tp = np.cumsum(np.where(hit, each, 0.0))[last]
    fp = np.cumsum(np.where(hit, 0.0, each))[last]
    return tp, fp, ranked[last].astype(np.float64, copy=False)


def area_of(tp: FloatArray, fp: FloatArray, interpolate: bool) -> float:
    """Area under the curve through these points, from no positives at all."""
    step = np.diff(tp, prepend=0.0)
    if not interpolate:
        return float((step * (tp / (tp + fp))).sum() / tp[-1])
    rising = step > 0
    step = step[rising]
    tp_before, fp_before = tp[rising] - step, np.append(0.0, fp)[:-1][rising]
    # With x more true positives there are d x more of both kinds; the area of a step is the
    # integral of (tp + x) / (tp + fp + d x).
    before, d = tp_before + fp_before, 1 + (fp[rising] - fp_before) / step
    known = before > 0
    curved = np.zeros(len(step))
    ratio = np.log1p(d[known] * step[known] / before[known])
    curved[known] = (tp_before[known] - before[known] / d[known]) / d[known] * ratio
    return float((step / d + curved).sum() / tp[-1])
