"""``TextEncoder``: texts to vectors in a pipeline, each text once."""

from __future__ import annotations

import contextlib
import os
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone

from hiclass._compat import Interval, check_is_fitted, validate_parameter_constraints
from hiclass._encoders.encoding import (
    BATCH_SIZE,
    check_texts,
    encode_texts,
    fit_encoder,
    is_learned,
)
from hiclass._encoders.identity import key_of
from hiclass._encoders.store import open_store
from hiclass._typing import AnyArray
from hiclass._version import as_stamped, read_stamped, reduce_stamped


class TextEncoder(TransformerMixin, BaseEstimator):
    """Encode texts as vectors with any encoder: a language model, word vectors or a transformer.

    Every distinct text is encoded once per call or, with ``cache``, only once. The output of the
    encoder is checked.

    Parameters
    ----------
    encoder : object or function
        The encoder, which converts a list of texts to a matrix with one row per text. It is a
        function, or an object with ``encode`` (sentence-transformers, model2vec), ``embed``
        (wordllama, fastembed) or ``transform`` (scikit-learn), in this order of preference. An
        encoder with ``fit`` and ``transform`` is cloned and fitted; wrap it in
        ``sklearn.frozen.FrozenEstimator`` to prevent this. Other encoders are neither cloned nor
        fitted.
    normalize : bool, default=True
        Whether to scale vectors to unit length, which suits most classifiers. Zero vectors do not
        change.
    cache : str or path, default=None
        A folder in which vectors are stored across calls and programs, with one file per encoder,
        its weights and its settings. Several programs may use it at the same time, and an
        interrupted program does not damage it. Not available for encoders that are fitted.
    cache_key : str, default=None
        The name of the encoder in the cache, for encoders that cannot be identified by their
        content: a function, a client of a service, a frozen transformer. Change it when the encoder
        changes.
    batch_size : int, default=8192
        The maximum number of texts per call of the encoder. The vectors of each call are stored in
        the cache immediately, so that an interrupted run can resume.

    Attributes
    ----------
    encoder_ : object
        The encoder that is used: a fitted clone, or ``encoder`` itself if it is not fitted.
    n_features_out_ : int
        The length of the vectors.

    See Also
    --------
    TableFeatures : Features of tables, with TF-IDF weights for texts.
    sklearn.feature_extraction.text.TfidfVectorizer : TF-IDF weights of words.

    Notes
    -----
    A missing text is treated as an empty text. Clones made by :func:`sklearn.clone` share an
    encoder that is not fitted, so that cross-validation does not copy a language model. Pickles
    contain the encoder, but not the cache.

    Examples
    --------
    >>> from sklearn.decomposition import TruncatedSVD
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from hiclass import LocalClassifierPerParentNode, TextEncoder
    >>> texts = ["a cat sleeps", "my cat plays", "the dog barks", "a loud dog"]
    >>> y = [["pet", "cat"], ["pet", "cat"], ["pet", "dog"], ["pet", "dog"]]
    >>> encoder = make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))
    >>> model = make_pipeline(TextEncoder(encoder), LocalClassifierPerParentNode())
    >>> model.fit(texts, y).predict(["the cat"]).tolist()
    [['pet', 'cat']]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "normalize": ["boolean"],
        "cache": [str, os.PathLike, None],
        "cache_key": [str, None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        encoder: Any,
        *,
        normalize: bool = True,
        cache: Any = None,
        cache_key: str | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self.encoder = encoder
        self.normalize = normalize
        self.cache = cache
        self.cache_key = cache_key
        self.batch_size = batch_size

    def fit(self, X: Any, y: Any = None) -> TextEncoder:
        """Fit the encoder if it can be fitted, and determine the length of its vectors.

        Parameters
        ----------
        X : list, array, Series or frame of one column
            The texts.
        y : object, default=None
            Passed to an encoder that is fitted.

        Returns
        -------
        TextEncoder
            The fitted transformer.

        Raises
        ------
        TypeError
            If a row is not a text, or the encoder is invalid.
        ValueError
            If a parameter is invalid, or the encoder returns an invalid result.
        """
        texts = self._fit_encoder(X, y)
        self.n_features_out_ = self._encode(texts[:1], None).shape[1]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit the encoder if it can be fitted, and return the vectors of the texts.

        Parameters
        ----------
        X : list, array, Series or frame of one column
            The texts.
        y : object, default=None
            Passed to an encoder that is fitted.

        Returns
        -------
        ndarray or CSR matrix of shape (n_texts, n_features_out)
            The vectors.

        Raises
        ------
        TypeError
            If a row is not a text, or the encoder is invalid.
        ValueError
            If a parameter is invalid, or the encoder returns an invalid result.
        """
        vectors = self._encode(self._fit_encoder(X, y), None)
        self.n_features_out_ = vectors.shape[1]
        return vectors

    def transform(self, X: Any) -> Any:
        """Return the vectors of texts.

        Parameters
        ----------
        X : list, array, Series or frame of one column
            The texts.

        Returns
        -------
        ndarray or CSR matrix of shape (n_texts, n_features_out)
            The vectors.

        Raises
        ------
        TypeError
            If a row is not a text.
        ValueError
            If the encoder returns an invalid result, or the cache cannot be used.
        """
        check_is_fitted(self)
        return self._encode(check_texts(X), self.n_features_out_)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the features: those of the encoder, or ``textencoder0`` and so on.

        Parameters
        ----------
        input_features : object, default=None
            Ignored.

        Returns
        -------
        ndarray of str
            The names.
        """
        check_is_fitted(self)
        if hasattr(self.encoder_, "get_feature_names_out"):
            return np.asarray(self.encoder_.get_feature_names_out(), dtype=object)
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self.n_features_out_)], dtype=object)

    def _fit_encoder(self, X: Any, y: Any) -> list[str]:
        params = self.get_params(deep=False)
        validate_parameter_constraints(
            self._parameter_constraints,
            {name: params[name] for name in self._parameter_constraints},
            caller_name=type(self).__name__,
        )
        texts = check_texts(X)
        self.encoder_ = fit_encoder(self.encoder, texts, y)
        self.__dict__.pop("_key", None)
        return texts

    def _encode(self, texts: list[str], width: int | None) -> Any:
        with self._store() as store:
            return encode_texts(
                self.encoder_,
                texts,
                batch_size=self.batch_size,
                normalize=self.normalize,
                store=store,
                width=width,
            )

    def _store(self) -> Any:
        if self.cache is None:
            return contextlib.nullcontext()
        if is_learned(self.encoder):
            raise ValueError(
                f"cache={self.cache!r} requires an encoder that does not change, but a "
                f"{type(self.encoder).__name__} is fitted in every fit. Leave cache=None, or wrap "
                f"the fitted encoder in sklearn.frozen.FrozenEstimator."
            )
        if self.cache_key is None and not hasattr(self, "_key"):
            self._key = key_of(self.encoder_)  # takes a while for a large encoder
        key = self._key if self.cache_key is None else key_of(self.encoder_, self.cache_key)
        return open_store(self.cache, key)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags

    def __sklearn_clone__(self) -> TextEncoder:
        params = self.get_params(deep=False)
        if is_learned(self.encoder):
            params["encoder"] = clone(self.encoder, safe=False)
        return type(self)(**params)

    # -- state ---------------------------------------------------------------------------------

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return reduce_stamped(self)

    def __getstate__(self) -> dict[str, Any]:
        # The key of an encoder is computed again, because its library may have another version
        # elsewhere.
        return as_stamped({k: v for k, v in super().__getstate__().items() if k != "_key"})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(read_stamped(state, type(self).__name__))
