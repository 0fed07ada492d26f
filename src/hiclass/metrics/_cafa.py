"""Fmax and Smin, the measures of CAFA (the assessment of protein function prediction).

Proteins are rows, terms of the ontology are classes. At a threshold, all classes with at least this
probability are predicted. Fmax and Smin are the best values over all thresholds. Smin weights every
class by its information content: how surprising the class is, given its parents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from hiclass._labels.columns import read_paths
from hiclass._labels.sets import read_sets
from hiclass._targets.paths import as_hierarchy, nodes_of
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.hierarchy._lookup import membership
from hiclass.metrics._pairs import check_weight, divide
from hiclass.metrics._probabilistic import check_proba, columns_of

#: Number of entries (rows x nodes) that are processed together.
_BLOCK = 1 << 20


class CafaCurve(NamedTuple):
    """Result of :func:`cafa_curve`, with one entry per threshold in ascending order.

    Parameters
    ----------
    thresholds : ndarray
        The thresholds. Classes with at least this probability are predicted.
    precision : ndarray
        Mean precision of the rows with a prediction (with information content: a prediction of
        positive weight). NaN if there is no such row.
    recall : ndarray
        Mean recall of all rows.
    f1 : ndarray
        The harmonic mean of precision and recall. Its maximum is Fmax.
    remaining_uncertainty : ndarray
        Mean information content of the true classes of a row that are not predicted.
    misinformation : ndarray
        Mean information content of the predicted classes of a row that are not true.
    semantic_distance : ndarray
        The square root of the sum of the squares of remaining uncertainty and misinformation. Its
        minimum is Smin.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import cafa_curve
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"]])
    >>> curve = cafa_curve([["Cat"]], [[1.0, 0.8, 0.3]], hierarchy=h, thresholds=[0.2, 0.5, 0.9])
    >>> curve.precision, curve.recall
    (array([0.5, 1. , nan]), array([1., 1., 0.]))
    """

    thresholds: FloatArray
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    remaining_uncertainty: FloatArray
    misinformation: FloatArray
    semantic_distance: FloatArray


def information_content(
    y: Any, *, hierarchy: Any, multi_label: bool = False, sample_weight: Any = None
) -> FloatArray:
    """Compute the information content of every class, given its parents, from training labels.

    Also known as information accretion: ``-log2 P(class | all its parents)``, in bits. The
    probability is the share of the class among the rows that belong to all of its parents.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Labels of the training rows, in any form that ``fit`` accepts.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict
        The hierarchy of the classes: ``hierarchy_`` of a fitted estimator.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_nodes,)
        Bits per node, starting with the root. 0 for the root and for classes without rows.

    See Also
    --------
    s_min : The metric that uses it.

    References
    ----------
    W. T. Clark and P. Radivojac: Information-theoretic evaluation of predicted ontological
    annotations. Bioinformatics 29, 2013.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import information_content
    >>> y = [["Animal", "Cat"], ["Animal", "Dog"], ["Animal", "Dog"], ["Plant"]]
    >>> information_content(y, hierarchy=Hierarchy.from_paths(y)).round(3)
    array([0.   , 0.415, 1.585, 0.585, 2.   ])
    """
    tree = as_hierarchy(hierarchy)
    if multi_label:
        closed = membership(read_sets(y, "y"), tree, "y")
    else:
        closed = tree._closure[nodes_of(read_paths(y, "y"), tree, "y")]
    weight = check_weight(sample_weight, closed.shape[0])
    rows = closed.astype(np.float64).tocsc()
    # Rows without labels belong to the root, too.
    own = rows.T @ weight
    own[0] = weight.sum()
    bits = np.zeros(tree.n_nodes)
    for v in range(1, tree.n_nodes):
        parents = tree.parents(v)
        above = own[parents[0]]
        if len(parents) > 1:
            in_all = rows[:, parents].sum(axis=1) == len(parents)
            above = weight[in_all].sum()
        if 0 < own[v] < above:
            bits[v] = math.log2(above / own[v])
    return bits


def cafa_curve(
    y_true: Any,
    node_proba: Any,
    *,
    hierarchy: Any,
    multi_label: bool = False,
    information: Any = None,
    thresholds: Any = None,
    exclude: Iterable[Any] = (),
    sample_weight: Any = None,
) -> CafaCurve:
    """Compute precision, recall and semantic distance at every threshold, as defined by CAFA.

    Rows without a true class are ignored. A class that is less probable than one of its
    descendants gets the probability of that descendant, so that a predicted class always comes
    with its ancestors.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    node_proba : array-like of shape (n_samples, n_nodes)
        Node probabilities as returned by ``predict_node_proba``: one column per node, starting with
        the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict
        The hierarchy that the columns refer to: ``hierarchy_`` of a fitted estimator.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    information : array-like of shape (n_nodes,) or None, default=None
        Weight of every class, as returned by :func:`information_content`. Precision and recall are
        weighted as well. By default, every class has weight 1.
    thresholds : array-like or None, default=None
        Thresholds to evaluate. By default, 0.01 to 1 in steps of 0.01, as in CAFA.
    exclude : iterable of paths or labels, default=()
        Nodes to exclude, each as a path or a unique label, such as the named root of an ontology.
        The unnamed root is always excluded.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    CafaCurve
        One entry per threshold.

    Raises
    ------
    ValueError
        If thresholds or information are invalid, the probabilities do not match the hierarchy, or
        no row has a true class that is not excluded.

    See Also
    --------
    f_max, s_min : The best values over all thresholds.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import cafa_curve
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"]])
    >>> curve = cafa_curve([["Cat"]], [[1.0, 0.8, 0.3]], hierarchy=h, thresholds=[0.2, 0.5, 0.9])
    >>> curve.f1.round(2)
    array([0.67, 1.  , 0.  ])
    """
    tree, truth, proba, weight = check_proba(
        y_true, node_proba, hierarchy, multi_label, sample_weight, True
    )
    content, steps = _check_information(information, tree), _check_thresholds(thresholds)
    columns = columns_of(tree, exclude, truth)
    has_truth = np.diff(truth[:, columns].indptr) > 0
    truth, proba, weight = truth[has_truth], proba[has_truth], weight[has_truth]
    total = np.zeros((5, len(steps)))
    step = max(1, _BLOCK // tree.n_nodes)
    for start in range(0, len(proba), step):
        rows = slice(start, start + step)
        closed = _raise_ancestors(proba[rows], tree)[:, columns]
        true = truth[rows][:, columns].toarray().astype(bool)
        total += _block(closed, true, content[columns], steps, weight[rows])
    answered, precision, recall, missed, wrong = total
    precision = divide(precision, answered, math.nan)
    recall, missed, wrong = (value / weight.sum() for value in (recall, missed, wrong))
    known = np.nan_to_num(precision)
    f1 = divide(2 * known * recall, known + recall, 0.0)
    return CafaCurve(steps, precision, recall, f1, missed, wrong, np.hypot(missed, wrong))


def f_max(
    y_true: Any,
    node_proba: Any,
    *,
    hierarchy: Any,
    multi_label: bool = False,
    information: Any = None,
    thresholds: Any = None,
    exclude: Iterable[Any] = (),
    sample_weight: Any = None,
) -> float:
    """Compute Fmax of CAFA: the best F1 of mean precision and mean recall over all thresholds.

    Precision is averaged over the rows that have a prediction at the threshold, recall over all
    rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts. Rows without a true class are ignored.
    node_proba : array-like of shape (n_samples, n_nodes)
        Node probabilities as returned by ``predict_node_proba``: one column per node, starting with
        the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict
        The hierarchy that the columns refer to: ``hierarchy_`` of a fitted estimator.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    information : array-like of shape (n_nodes,) or None, default=None
        Weight of every class, as returned by :func:`information_content`, for the weighted Fmax.
        By default, every class has weight 1.
    thresholds : array-like or None, default=None
        Thresholds to evaluate. By default, 0.01 to 1 in steps of 0.01, as in CAFA.
    exclude : iterable of paths or labels, default=()
        Nodes to exclude, as in :func:`cafa_curve`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The best F1, between 0 and 1.

    See Also
    --------
    cafa_curve : The values at every threshold.

    References
    ----------
    P. Radivojac et al.: A large-scale evaluation of computational protein function prediction.
    Nature Methods 10, 2013.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import f_max
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"]])
    >>> proba = [[1.0, 0.8, 0.3], [1.0, 0.6, 0.5]]
    >>> round(f_max([["Cat"], ["Dog"]], proba, hierarchy=h), 4)
    0.8571
    """
    curve = cafa_curve(
        y_true,
        node_proba,
        hierarchy=hierarchy,
        multi_label=multi_label,
        information=information,
        thresholds=thresholds,
        exclude=exclude,
        sample_weight=sample_weight,
    )
    return float(curve.f1.max())


def s_min(
    y_true: Any,
    node_proba: Any,
    *,
    hierarchy: Any,
    information: Any,
    multi_label: bool = False,
    thresholds: Any = None,
    exclude: Iterable[Any] = (),
    sample_weight: Any = None,
) -> float:
    """Compute Smin of CAFA: the smallest semantic distance over all thresholds; 0 is best.

    At a threshold, the remaining uncertainty is the information content of the true classes that
    are not predicted. The misinformation is that of the predicted classes that are not true. Both
    are averaged over rows. The semantic distance is the square root of the sum of their squares.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts. Rows without a true class are ignored.
    node_proba : array-like of shape (n_samples, n_nodes)
        Node probabilities as returned by ``predict_node_proba``: one column per node, starting with
        the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict
        The hierarchy that the columns refer to: ``hierarchy_`` of a fitted estimator.
    information : array-like of shape (n_nodes,)
        Weight of every class: the result of :func:`information_content` for the training labels.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    thresholds : array-like or None, default=None
        Thresholds to evaluate. By default, 0.01 to 1 in steps of 0.01, as in CAFA.
    exclude : iterable of paths or labels, default=()
        Nodes to exclude, as in :func:`cafa_curve`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The smallest semantic distance, in bits.

    Raises
    ------
    ValueError
        If ``information`` is missing or does not match the hierarchy, and in the cases of
        :func:`cafa_curve`.

    See Also
    --------
    cafa_curve : The values at every threshold.
    information_content : The weights of the classes.

    References
    ----------
    W. T. Clark and P. Radivojac: Information-theoretic evaluation of predicted ontological
    annotations. Bioinformatics 29, 2013.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import information_content, s_min
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"]])
    >>> bits = information_content([["Cat"], ["Dog"]], hierarchy=h)
    >>> s_min([["Cat"], ["Dog"]], [[1.0, 0.8, 0.3], [1.0, 0.6, 0.5]], hierarchy=h, information=bits)
    0.5
    """
    if information is None:
        raise ValueError(
            "s_min requires information=, the information content of every class. Pass the result "
            "of information_content(y_train, hierarchy=...)."
        )
    curve = cafa_curve(
        y_true,
        node_proba,
        hierarchy=hierarchy,
        multi_label=multi_label,
        information=information,
        thresholds=thresholds,
        exclude=exclude,
        sample_weight=sample_weight,
    )
    return float(curve.semantic_distance.min())


def _block(
    proba: AnyArray, true: AnyArray, content: FloatArray, steps: FloatArray, weight: FloatArray
) -> FloatArray:
    """Sums over some rows: one line per quantity, one column per threshold.

    The quantities are the rows with a prediction, precision, recall, missed and wrong information.
    """
    # A class is predicted at the first `reached` thresholds.
    reached: IntArray = np.searchsorted(steps, proba, side="right")
    n = len(steps) + 1
    cell = reached + n * np.arange(len(proba))[:, None]

    def at_least(entries: AnyArray) -> FloatArray:
        """Per row and threshold, the sum over the classes that are predicted there."""
        values = np.broadcast_to(entries, cell.shape).ravel()
        sums = np.bincount(cell.ravel(), weights=values, minlength=n * len(proba)).reshape(-1, n)
        return np.cumsum(sums[:, :0:-1], axis=1, dtype=np.float64)[:, ::-1]

    hit, predicted = at_least(true * content), at_least(content)
    wrong = at_least(~true * content)
    size = (true * content).sum(axis=1)[:, None]
    precision = np.divide(hit, predicted, out=np.zeros_like(hit), where=predicted > 0)
    recall = np.divide(hit, size, out=np.zeros_like(hit), where=size > 0)
    parts = np.stack([predicted > 0, precision, recall, np.maximum(size - hit, 0), wrong])
    return (weight[:, None] * parts).sum(axis=1)


def _raise_ancestors(proba: AnyArray, hierarchy: Hierarchy) -> AnyArray:
    """Probabilities in which no class is more probable than one above it."""
    closed = proba.copy()
    for v in range(hierarchy.n_nodes - 1, 0, -1):  # parents come before their children
        for parent in hierarchy.parents(v).tolist():
            np.maximum(closed[:, parent], closed[:, v], out=closed[:, parent])
    return closed


def _check_information(information: Any, hierarchy: Hierarchy) -> FloatArray:
    """Weights of the nodes, or ones if none are given."""
    if information is None:
        return np.ones(hierarchy.n_nodes)
    try:
        content = np.asarray(information, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"information must hold one number per node; got {information!r}."
        ) from None
    if content.shape != (hierarchy.n_nodes,):
        raise ValueError(
            f"information has shape {content.shape}; expected ({hierarchy.n_nodes},): one number "
            "per node of the hierarchy, starting with the root, as returned by "
            "information_content."
        )
    bad = ~np.isfinite(content) | (content < 0)
    if bad.any():
        node = int(np.argmax(bad))
        raise ValueError(
            f"information has {content[node]} for node {node} ({hierarchy.describe(node)}); it "
            f"must be finite and not negative."
        )
    return content


def _check_thresholds(thresholds: Any) -> FloatArray:
    """Thresholds in ascending order, or those of CAFA if none are given."""
    if thresholds is None:
        return np.arange(1, 101) / 100
    try:
        steps = np.unique(np.asarray(thresholds, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"thresholds must be numbers; got {thresholds!r}.") from None
    if not len(steps) or not np.isfinite(steps).all():
        raise ValueError(f"thresholds={thresholds!r} must hold at least one number, all finite.")
    return steps
