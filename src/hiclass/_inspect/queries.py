"""Functions for pipelines and searches: confidences, paths, probabilities of nodes."""

from __future__ import annotations

from typing import Any

from hiclass._typing import AnyArray, FloatArray
from hiclass._wrapping import unwrap_fitted


def predict_confidence(model: Any, X: Any) -> FloatArray:
    """Return the probability of every node on the paths that a model predicts.

    Like the method ``predict_confidence`` of hierarchical classifiers, but it also works for
    pipelines and searches, which do not have that method.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one.
    X : rows
        Rows as for ``model.predict``.

    Returns
    -------
    confidence : ndarray of shape (n_samples, n_levels)
        The probability of the node that ``model.predict`` returns at each level. It never increases
        along a path and is NaN after its end. For sets of classes, the probability of every
        predicted class, in the form of the prediction.

    Raises
    ------
    TypeError
        If there is no hierarchical classifier inside.
    AttributeError
        If its local classifiers have no probabilities.

    See Also
    --------
    predict_paths : The most probable paths.
    predict_node_proba : The probability of every node.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, predict_confidence
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> X = ["a purring cat", "a barking dog", "a hooting owl"]
    >>> y = [["Mammal", "Cat"], ["Mammal", "Dog"], ["Bird", "Owl"]]
    >>> model = make_pipeline(TfidfVectorizer(), LocalClassifierPerParentNode()).fit(X, y)
    >>> predict_confidence(model, ["a small cat"]).round(2)
    array([[0.71, 0.41]])
    """
    confidence: FloatArray = _query(model, "predict_confidence", X)
    return confidence


def predict_paths(model: Any, X: Any, k: int = 5) -> tuple[AnyArray, FloatArray]:
    """Return the ``k`` most probable paths of every row.

    Like the method ``predict_paths`` of hierarchical classifiers, but it also works for pipelines
    and searches, which do not have that method.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one.
    X : rows
        Rows as for ``model.predict``.
    k : int, default=5
        Number of paths.

    Returns
    -------
    paths : ndarray of shape (n_samples, k, n_levels), or (n_samples, k) for 1-D ``y``
        The paths, starting with the most probable. If there are fewer than ``k`` paths, the rest is
        filled with missing labels. For sets of classes, an array of shape (n_samples, k) with
        labels or path tuples.
    proba : ndarray of shape (n_samples, k)
        The probability that the path of the row ends exactly there, or 0 if there are fewer paths.
        For sets of classes, the probability that the class is in the set.

    Raises
    ------
    TypeError
        If there is no hierarchical classifier inside.
    AttributeError
        If its local classifiers have no probabilities.
    ValueError
        If ``k`` is not a positive integer.

    See Also
    --------
    predict_confidence : The probability of every node on the predicted paths.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, predict_paths
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> model = make_pipeline(StandardScaler(), LocalClassifierPerParentNode()).fit(X, y)
    >>> paths, proba = predict_paths(model, [[5, 9]], k=2)
    >>> paths.tolist()
    [[['Plant', 'Fern'], ['Animal', 'Reptile']]]
    """
    found: tuple[AnyArray, FloatArray] = _query(model, "predict_paths", X, k=k)
    return found


def predict_node_proba(model: Any, X: Any) -> FloatArray:
    """Return the probability of every node of the hierarchy.

    Like the method ``predict_node_proba`` of hierarchical classifiers, but it also works for
    pipelines and searches, which do not have that method.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one.
    X : rows
        Rows as for ``model.predict``.

    Returns
    -------
    proba : ndarray of shape (n_samples, n_nodes)
        One column per node of the hierarchy of the classifier. The root has probability 1. The
        probability of a node is the sum of those of its children and of stopping at the node.

    Raises
    ------
    TypeError
        If there is no hierarchical classifier inside.
    AttributeError
        If its local classifiers have no probabilities.

    See Also
    --------
    predict_confidence : The probability of every node on the predicted paths.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, predict_node_proba
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> model = make_pipeline(StandardScaler(), LocalClassifierPerParentNode()).fit(X, y)
    >>> predict_node_proba(model, X).shape == (3, model[-1].hierarchy_.n_nodes)
    True
    """
    proba: FloatArray = _query(model, "predict_node_proba", X)
    return proba


def _query(model: Any, method: str, X: Any, **options: Any) -> Any:
    """Call a method of the classifier inside a model, on transformed rows.

    The method is looked up first, so that a missing method is an error before rows are transformed.
    """
    opened = unwrap_fitted(model)
    predict = getattr(opened.model, method)
    return predict(opened.transform(X), **options)
