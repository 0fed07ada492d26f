"""Class texts as training rows, for any model that learns from texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from hiclass._encoders.encoding import check_texts
from hiclass._estimators.texted import TextTarget, encode_texted
from hiclass._rows import check_weights
from hiclass._targets.paths import check_n_labels, decode
from hiclass._typing import AnyArray, FloatArray, IntArray

#: Texts of a class with at least this similarity are near duplicates.
_NEAR = 0.6
#: The numbers of texts that are compared at once: of several classes, and of one class.
_AT_ONCE, _OF_CLASS = 256, 2048
#: A character of a word.
_WORD = re.compile(r"\w")


@dataclass(frozen=True)
class TextRows:
    """Rows, and the texts of classes as more rows after them.

    Attributes
    ----------
    X : list of str
        The texts.
    y : ndarray
        Their labels.
    weights : ndarray
        Their weights.
    nodes : ndarray of int
        Their most specific nodes.
    n_rows : int
        How many of them are rows.
    target : TextTarget
        The classes and the labels of the rows.
    """

    X: list[str]
    y: AnyArray
    weights: FloatArray
    nodes: IntArray
    n_rows: int
    target: TextTarget


def add_class_texts(
    X: Any,
    y: Any,
    class_texts: Any = None,
    *,
    hierarchy: Any = None,
    weight: float = 1.0,
    sample_weight: Any = None,
    max_texts: int | None = None,
) -> tuple[list[str], AnyArray, FloatArray]:
    """Add the texts of classes to the training rows, as additional examples.

    Only final classes add rows: classes at which rows end, and classes with a text but without
    descendants that have a text or a row.

    Parameters
    ----------
    X : array-like of str of shape (n_samples,), or None
        Texts; None for no rows.
    y : array-like or None
        Their labels or paths.
    class_texts : mapping, Series, frame, Hierarchy or "labels", default=None
        The texts, in any form that :meth:`Hierarchy.with_texts` accepts. Not needed if the
        hierarchy has texts.
    hierarchy : Hierarchy, dict, edges or networkx.DiGraph, default=None
        The hierarchy of classes. By default, it is read from ``class_texts`` and ``y``.
    weight : float, default=1.0
        The weight of a text relative to a row.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    max_texts : int, default=None
        The maximum number of added texts, but at least one per class. The first texts of the
        classes are preferred. By default, all texts are added.

    Returns
    -------
    X : list of str
        The rows, followed by the texts.
    y : ndarray
        Their labels or paths.
    sample_weight : ndarray
        Their weights.

    Raises
    ------
    ValueError
        If there are no class texts, the weight is not a positive number, or ``max_texts`` is
        neither None nor a whole number of at least 0.

    Examples
    --------
    >>> from hiclass import add_class_texts
    >>> texts = {"Cat": "Cats and other felines", "Dog": ["Dogs", "Wolves"]}
    >>> X, y, weights = add_class_texts(["it meows"], ["Cat"], texts, weight=0.5)
    >>> X
    ['it meows', 'Cats and other felines', 'Dogs', 'Wolves']
    >>> y.tolist(), weights.tolist()
    (['Cat', 'Cat', 'Dog', 'Dog'], [1.0, 0.5, 0.5, 0.5])
    """
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < np.inf:
        raise ValueError(f"weight must be a positive number; got {weight!r}.")
    if not _is_count(max_texts):
        raise ValueError(
            f"max_texts must be a whole number that is not negative, or None to add all texts; "
            f"got {max_texts!r}."
        )
    if (X is None) != (y is None):
        given, missing = ("y", "X") if X is None else ("X", "y")
        raise ValueError(f"{given} is given, but {missing} is None. Give both X and y, or neither.")
    rows = with_text_rows(X, encode_texted(hierarchy, class_texts, y), sample_weight, max_texts)
    weights = rows.weights.copy()
    weights[rows.n_rows :] *= weight
    return rows.X, rows.y, weights


def _is_count(number: Any) -> bool:
    """Whether a number is None, or a whole number that is not negative."""
    if number is None:
        return True
    if isinstance(number, bool) or not isinstance(number, Integral):
        return False
    return int(number) >= 0


def with_text_rows(
    X: Any,
    target: TextTarget,
    sample_weight: Any = None,
    max_texts: int | None = None,
    *,
    distinct: bool = False,
) -> TextRows:
    """Add the texts of final classes to rows, all or those that are ``distinct`` in their class."""
    rows = [] if X is None else check_texts(X)
    check_n_labels(len(target.nodes), len(rows))
    given = check_weights(sample_weight, rows) if rows else None
    texts, nodes = _choose(target, max_texts, distinct)
    mean = 1.0 if given is None else float(given.mean())
    weights = np.ones(len(rows)) if given is None else given
    everything = np.concatenate([target.nodes, nodes])
    labels = decode(everything, target.hierarchy, target.format, may_end=True)
    both = np.concatenate([weights, np.full(len(texts), mean)])
    return TextRows([*rows, *texts], labels, both, everything, len(rows), target)


def _choose(
    target: TextTarget, max_texts: int | None, distinct: bool
) -> tuple[list[str], IntArray]:
    """Texts of final classes and their nodes: the first of all classes, then the second, ..."""
    ends = target.options.ends.tolist()
    of_ends = [(i, v, text) for v in ends for i, text in enumerate(target.hierarchy.texts[v])]
    if distinct:
        classes = np.array([v for _, v, _ in of_ends], dtype=np.intp)
        keep = distinct_texts([text for _, _, text in of_ends], classes)
        of_ends = [found for found, kept in zip(of_ends, keep.tolist(), strict=True) if kept]
    n_classes = sum(i == 0 for i, _, _ in of_ends)
    most = len(of_ends) if max_texts is None else max(max_texts, n_classes)
    chosen = sorted(sorted(of_ends, key=lambda found: found[0])[:most], key=lambda found: found[1])
    return [text for _, _, text in chosen], np.array([v for _, v, _ in chosen], dtype=np.intp)


def distinct_texts(texts: list[str], nodes: IntArray) -> AnyArray:
    """Whether each text differs enough from the earlier texts of its class.

    A model that learns from rows gains nothing from the tenth title that differs from others in one
    common word, but the title costs as much time as any other row.

    Parameters
    ----------
    texts : list of str
        Texts.
    nodes : ndarray of int
        Their classes, ascending.

    Returns
    -------
    ndarray of bool
        False for a text whose TF-IDF vector is similar to that of an earlier text of its class.
    """
    keep = np.ones(len(texts), dtype=bool)
    if len(np.unique(nodes)) == len(texts) or not any(map(_WORD.search, texts)):
        return keep
    encoder = TfidfVectorizer(sublinear_tf=True, dtype=np.float32, token_pattern=r"(?u)\b\w+\b")
    vectors = encoder.fit_transform(texts)
    for part in _parts(nodes):
        near = (vectors[part] @ vectors[part].T).tocoo()
        of_class = nodes[part]
        pairs = (near.data >= _NEAR) & (of_class[near.row] == of_class[near.col])
        pairs &= near.col < near.row
        order = np.lexsort((near.col[pairs], near.row[pairs]))
        later, earlier = near.row[pairs][order].tolist(), near.col[pairs][order].tolist()
        kept = keep[part]  # a view
        for one, other in zip(later, earlier, strict=True):
            if kept[other]:
                kept[one] = False
    return keep


def _parts(nodes: IntArray) -> Iterator[slice]:
    """Texts of whole classes that are compared at once; those of very large classes in parts."""
    bounds = np.append(np.flatnonzero(np.diff(nodes, prepend=-1)), len(nodes)).tolist()
    start = 0
    for begin, end in pairwise(bounds):
        if end - start > _AT_ONCE and begin > start:
            yield slice(start, begin)
            start = begin
        while end - start > _OF_CLASS:
            yield slice(start, start + _OF_CLASS)
            start += _OF_CLASS
    if start < len(nodes):
        yield slice(start, len(nodes))
