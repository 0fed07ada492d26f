"""Columns of text as one text per row, for models that compare texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from hiclass._automatic.cells import as_texts, split_columns
from hiclass._typing import AnyArray


class JoinedTexts(TransformerMixin, BaseEstimator):
    """One text per row, from some columns of a table.

    Parameters
    ----------
    text : list of column names
        The columns, in the order in which they are joined.

    Attributes
    ----------
    columns_ : dict
        The kind of every column: ``"text"``.
    """

    def __init__(self, text: list[str]) -> None:
        self.text = text

    def fit(self, X: Any = None, y: Any = None) -> JoinedTexts:
        """Store the columns; there is nothing else to learn.

        Parameters
        ----------
        X : table, default=None
            Rows; None where there are none.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : object
        """
        self.columns_ = dict.fromkeys(self.text, "text")
        return self

    def transform(self, X: Any) -> AnyArray:
        """Join the texts of every row; missing cells are skipped.

        Parameters
        ----------
        X : table
            With the columns.

        Returns
        -------
        ndarray of str of shape (n_rows,)
        """
        columns = split_columns(X)
        assert columns is not None  # a table is not a matrix
        parts = [as_texts(columns.read(columns.names.index(name))) for name in self.columns_]
        joined = [" ".join(filter(None, texts)) for texts in zip(*parts, strict=True)]
        return np.array(joined, dtype=object)
