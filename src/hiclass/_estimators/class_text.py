"""A classifier that compares rows with class texts. It needs no training rows."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union
from sklearn.preprocessing import normalize

from hiclass._compat import StrOptions
from hiclass._encoders.encoding import check_texts, encode_texts, fit_encoder
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.fitting import LOCAL_CONSTRAINTS, fitting
from hiclass._estimators.texted import (
    TextTarget,
    deep_enough,
    encode_texted,
    options_with_texts,
)
from hiclass._inference.class_texts import (
    OF_MEANINGS,
    OF_WORDS,
    are_vectors,
    as_array,
    as_vectors,
)
from hiclass._inference.decodings import DECODINGS, Decoding
from hiclass._out_of_fold.class_texts import learn_similarities, with_parameters
from hiclass._out_of_fold.folds import deal_paths, hold_out_classes
from hiclass._problems.index import weight_by_node
from hiclass._rows import check_weights, n_rows_of
from hiclass._state import TextModels
from hiclass._targets.paths import check_n_labels
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy._texts import shorten
from hiclass.model_selection import read_groups

#: What the default encoder calls a word.
_WORD = re.compile(r"\w")


class ClassTextClassifier(BaseHierarchicalClassifier):
    """Classify texts by the titles, descriptions and synonyms of classes, with few or no rows.

    A row is compared with the texts of every class, with those of its ancestors and with its
    training rows. The weights of these similarities depend on the number of rows of a class. They
    are learned from held-out rows and held-out classes; without rows, default weights are used.
    Classes without rows can be predicted.

    Parameters
    ----------
    encoder : object, default=None
        The encoder of texts: a transformer of scikit-learn, an object with ``encode`` or ``embed``
        (sentence-transformers, model2vec, wordllama), or a function. By default, TF-IDF weights of
        words and of parts of words. With an encoder, X may also be a matrix of rows that the same
        encoder has encoded.
    hierarchy : Hierarchy, dict, edges or networkx.DiGraph, default=None
        The tree of classes, with or without texts. By default, it is read from ``class_texts`` and
        ``y``.
    class_texts : mapping, Series, frame, Hierarchy or "labels", default=None
        The texts, in any form that :meth:`Hierarchy.with_texts` accepts. Not needed if the
        hierarchy has texts.
    decoding : {"best_path", "top_down", "expected_f1"} or callable, default="best_path"
        How a path is chosen. "best_path": the most probable path. "top_down": the best child at
        every step. "expected_f1": the node with the best expected hierarchical F-score.
    expected_f1 : float, default=None
        The hierarchical F-score that ``decoding="expected_f1"`` assumes. By default, 0.5.
    min_confidence : float, default=0.0
        Stops a path before its first node with a lower probability.
    n_jobs : int, default=None
        Number of threads for predictions.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The hierarchy of classes, with texts.
    classes_ : ndarray, or list of ndarray
        The labels. For paths, one array per level.
    encoder_ : object
        The encoder, fitted if it can be fitted.
    missing_label_ : object
        The value of a missing label in predictions.
    prior_ : ndarray of shape (n_nodes,)
        The share of every node among the training rows.

    See Also
    --------
    EnsembleClassifier : Class texts combined with models that learn from rows.
    Hierarchy.with_texts : Texts of classes.

    Notes
    -----
    A fitted model, also when saved, contains a vector of every training row. With the default
    encoder, these vectors reveal the words of the rows.

    Examples
    --------
    >>> from hiclass import ClassTextClassifier
    >>> texts = {
    ...     ("Animal", "Cat"): ["Cats", "small felines that people keep at home"],
    ...     ("Animal", "Dog"): ["Dogs", "wolves and their relatives"],
    ...     ("Plant", "Fern"): ["Ferns", "plants with fronds and spores"],
    ... }
    >>> model = ClassTextClassifier(class_texts=texts).fit(None, None)
    >>> model.predict(["a relative of the wolf", "spores"])
    array([['Animal', 'Dog'],
           ['Plant', 'Fern']], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHierarchicalClassifier._parameter_constraints,
        "encoder": "no_validation",
        "hierarchy": "no_validation",
        "class_texts": "no_validation",
        "decoding": [StrOptions(set(DECODINGS)), callable, Decoding],
        "n_jobs": LOCAL_CONSTRAINTS["n_jobs"],
    }

    def __init__(
        self,
        encoder: Any = None,
        *,
        hierarchy: Any = None,
        class_texts: Any = None,
        decoding: Any = "best_path",
        expected_f1: float | None = None,
        min_confidence: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        self.encoder = encoder
        self.hierarchy = hierarchy
        self.class_texts = class_texts
        self.decoding = decoding
        self.expected_f1 = expected_f1
        self.min_confidence = min_confidence
        self.n_jobs = n_jobs

    def fit(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, groups: Any = None
    ) -> Any:
        """Encode the class texts and the rows, and learn the weights of similarities.

        Parameters
        ----------
        X : array-like of str of shape (n_samples,), or matrix, default=None
            Texts or, with an encoder, vectors that it has computed before. None for no rows.
        y : array-like, default=None
            Labels or paths of the rows. None for no rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows for learning the weights of similarities.
        groups : array-like of shape (n_samples,), default=None
            The group of every row. Rows of one group are held out together, and no class is held
            out entirely.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, groups)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any = None, *, learn: bool = True
    ) -> Any:
        """As ``fit``, optionally without learning the weights of similarities."""
        with fitting(self):
            self._check_parameters()
            target = encode_texted(self.hierarchy, self.class_texts, y)
            self._check_thresholds(target.hierarchy)
            texts, vectors = self._read_rows(X, y, target)
            of_texts, of_rows = self._fit_encoder(target.texts, texts)
            vectors = of_rows if vectors is None else vectors
            weights = None if vectors is None else check_weights(sample_weight, vectors)
            models = self._compare(target, of_texts, vectors, weights, groups, learn)
            self._remember(models, target.format, expected_f1=0.5)
        return self

    def _read_rows(self, X: Any, y: Any, target: TextTarget) -> tuple[list[str], Any]:
        """The texts of the rows, or their vectors where those were encoded before."""
        if (X is None) != (y is None):
            given, missing = ("y", "X") if X is None else ("X", "y")
            raise ValueError(f"{given} is given, but {missing} is None. Give both, or neither.")
        if X is None:
            return [], None
        check_n_labels(len(target.nodes), n_rows_of(X))
        if are_vectors(X):
            self._check_vectors(X)
            return [], normalize(X)
        return check_texts(X), None

    def _check_vectors(self, X: Any) -> None:
        if self.encoder is None:
            raise TypeError(
                "X holds numbers, but the default encoder compares texts. Give a list of texts, or "
                "pass the encoder that has computed these vectors (encoder=...)."
            )

    def _fit_encoder(self, texts: list[str], rows: list[str]) -> tuple[Any, Any]:
        """Fit the encoder; return the vectors of texts and of rows, None if there are no rows."""
        everything = [*texts, *rows]
        if self.encoder is None:
            check_words(everything)
            self.encoder_ = default_encoder()  # fit_transform reads texts once
            vectors = normalize(self.encoder_.fit_transform(everything))
        else:
            self.encoder_ = fit_encoder(self.encoder, everything)
            vectors = self._encode(everything)
        return vectors[: len(texts)], vectors[len(texts) :] if rows else None

    def _encode(self, texts: list[str], width: int | None = None) -> Any:
        return encode_texts(self.encoder_, texts, normalize=True, width=width)

    def _compare(
        self,
        target: TextTarget,
        of_texts: Any,
        vectors: Any,
        weights: AnyArray | None,
        groups: Any,
        learn: bool,
    ) -> TextModels:
        """Check the widths of vectors, then sort and learn as in ``_ordered``."""
        if vectors is None:
            vectors = of_texts[:0]
        if vectors.shape[1] != of_texts.shape[1]:
            raise ValueError(
                f"X has {vectors.shape[1]} columns, but the encoder returns vectors of "
                f"{of_texts.shape[1]} numbers for class texts. Encode X with the same encoder."
            )
        unit = None if groups is None else read_groups(groups, len(target.nodes))
        return self._ordered(target, of_texts, vectors, weights, unit, learn)

    def _ordered(
        self,
        target: TextTarget,
        texts: Any,
        vectors: Any,
        weights: AnyArray | None,
        groups: IntArray | None,
        learn: bool = True,
    ) -> TextModels:
        """Sort texts and rows by node, and learn the weights of similarities."""
        hierarchy = target.hierarchy
        weight = np.ones(len(target.nodes)) if weights is None else weights
        order = np.lexsort((weight, _place(vectors), target.nodes))
        nodes = target.nodes[order]
        start = OF_WORDS if self.encoder is None else OF_MEANINGS
        models = TextModels(
            hierarchy,
            target.options,
            self.encoder_,
            texts,
            target.text_nodes,
            vectors[order],
            nodes,
            start,
            np.empty(0),
            np.empty(0),
            order,
            weight_by_node(hierarchy, nodes, None) if len(nodes) else None,
        )
        if not len(nodes) or not learn:
            return with_parameters(models, start)
        fold = _folds(nodes, hierarchy, None if groups is None else groups[order])
        return learn_similarities(models, nodes, fold, weight[order], start)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Update the model with more rows. Rows of earlier calls are kept as vectors.

        The encoder of the first call is used, and words that it has not seen are ignored. The
        weights of similarities are learned again from the rows of all calls.

        Parameters
        ----------
        X : array-like of str of shape (n_samples,), or matrix
            As in ``fit``.
        y : array-like
            Labels or paths of the rows. Their classes must be in the hierarchy.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of these rows. Rows of earlier calls then have weight 1.

        Returns
        -------
        self : object
            The updated estimator.
        """
        if "_models" not in vars(self):
            return self.fit(X, y, sample_weight)
        self._check_parameters()
        models = self._models
        batch = encode_texted(models.hierarchy, None, y)
        texts, vectors = self._read_rows(X, y, batch)
        if vectors is None:
            vectors = self._encode(texts, models.texts.shape[1])
        weights = check_weights(sample_weight, vectors)
        before = np.argsort(models.row_numbers)
        nodes = np.concatenate([models.row_nodes[before], batch.nodes])
        if weights is not None:
            weights = np.concatenate([np.ones(len(before)), weights])
        rows = _stack(models.rows[before], vectors)
        options = options_with_texts(models.hierarchy, nodes)
        target = TextTarget(models.hierarchy, options, self._format, nodes)
        models = self._ordered(target, models.texts, rows, weights, None)
        # Classes of this batch may be deeper than those of all earlier rows.
        form = deep_enough(self._format, target.hierarchy, options) if len(before) else batch.format
        self._remember(models, form, expected_f1=0.5)
        return self

    def explain(self, x: str, k: int = 5) -> dict[str, Any]:
        """Explain the predicted class of a text.

        Parameters
        ----------
        x : str
            The text.
        k : int, default=5
            The number of words, texts and rows to return.

        Returns
        -------
        dict
            ``path`` (the labels), ``probability``, ``texts`` (of the class, with similarities,
            starting with the most similar), ``rows`` (numbers of training rows of the class, with
            similarities) and, if the encoder has feature names, ``words`` (shared by the text and
            the class, with their contributions).

        Raises
        ------
        TypeError
            If x is not a text.
        """
        if not isinstance(x, str):
            raise TypeError(f"explain takes one text; got a {type(x).__name__}.")
        decision = self._decide([x])
        node = int(decision.nodes[0])
        models, vector = self._models, as_vectors(self._models, [x])
        numbers = models.row_numbers
        found: dict[str, Any] = {
            "path": self.hierarchy_.path(node),
            "probability": float(np.nanmin(decision.confidence, initial=1.0)),
        }
        texts = [text for several in self.hierarchy_.texts for text in several]
        for name, vectors, nodes, shown in (
            ("texts", models.texts, models.text_nodes, texts),
            ("rows", models.rows, models.row_nodes, numbers.tolist()),
        ):
            here = np.flatnonzero(nodes == node)
            near = as_array(vectors[here] @ vector.T).ravel()
            order = np.argsort(-near, kind="stable")[:k]
            found[name] = [(shown[here[i]], round(float(near[i]), 4)) for i in order]
        if hasattr(self.encoder_, "get_feature_names_out"):
            found["words"] = self._shared_words(vector, node, k)
        return found

    def _shared_words(self, vector: Any, node: int, k: int) -> list[tuple[str, float]]:
        """The words that a text shares with the texts and rows of a class."""
        models = self._models
        of_class = [models.texts[models.text_nodes == node], models.rows[models.row_nodes == node]]
        mean = normalize(as_array(_stack(*of_class).sum(axis=0)).reshape(1, -1)).ravel()
        parts = as_array(vector).ravel() * mean
        names = [
            name.rpartition("__")[2] for name in self.encoder_.get_feature_names_out().tolist()
        ]
        order = [i for i in np.argsort(-parts, kind="stable")[:k].tolist() if parts[i] > 0]
        return [(names[i], round(float(parts[i]), 4)) for i in order]

    # -- predict -------------------------------------------------------------------------------

    def _check_rows(self, X: Any) -> Any:
        self._check_fitted()
        if are_vectors(X):
            self._check_vectors(X)
            return X
        return check_texts(X)

    def _input_tags(self) -> Any:
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.target_tags.required = False
        return tags


def _stack(one: Any, two: Any) -> Any:
    both = [one, two]
    return sp.vstack(both, format="csr") if sp.issparse(one) else np.vstack(both)


def _place(vectors: Any) -> FloatArray:
    """A number of every vector, so that the order of rows depends on what they are."""
    numbers = np.sin(np.arange(1, vectors.shape[1] + 1, dtype=np.float64))
    if sp.issparse(vectors):
        return np.asarray(vectors @ numbers)
    return np.asarray(np.einsum("ij,j->i", vectors, numbers))  # no copy of dense rows


def check_words(texts: list[str]) -> None:
    """Refuse texts that have no word for the default encoder."""
    if not any(map(_WORD.search, texts)):
        raise ValueError(
            f"No text has a letter or a digit, neither a class text nor a row; the first text is "
            f"{shorten(texts[0])!r}. Give texts that have words, or an encoder."
        )


def default_encoder() -> Any:
    """TF-IDF of words and of parts of words."""
    words = TfidfVectorizer(sublinear_tf=True, dtype=np.float32, token_pattern=r"(?u)\b\w+\b")
    parts = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, dtype=np.float32
    )
    return make_union(words, parts)


def _folds(nodes: IntArray, hierarchy: Any, groups: IntArray | None) -> IntArray:
    fold = deal_paths(nodes, hierarchy, groups)
    return hold_out_classes(fold, nodes) if groups is None else fold
