"""``TableFeatures``: from a table, texts or a matrix to features for any classifier."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from hiclass._automatic import encoders
from hiclass._automatic.cells import Cells, Columns, as_numbers, split_columns, without_mask
from hiclass._automatic.kinds import KINDS, choose_kinds
from hiclass._compat import check_is_fitted, validate_data
from hiclass._typing import AnyArray, FloatArray
from hiclass._version import as_stamped, read_stamped, reduce_stamped

#: With more features of categories, the result is sparse.
_MANY = 2_000
#: The same for the total number of values.
_MOST_DENSE = 50_000_000
#: Attributes that ``fit`` does not always set.
_FITTED = ("n_features_in_", "feature_names_in_")
#: The forms of X in ``fit``, for messages.
_FORMS = {
    "frame": "a table with names of columns",
    "rows": "rows of cells without names",
    "texts": "texts, one per row",
    "matrix": "a matrix of numbers",
}


class TableFeatures(TransformerMixin, BaseEstimator):
    """Compute features of tables with texts, numbers, categories, dates and missing values.

    The kind of every column is inferred from its cells. Texts become TF-IDF weights, numbers are
    scaled to unit variance, categories are one-hot encoded, and dates are converted to numbers.
    Ids, constant columns and columns with a different value in every row are excluded. Numeric
    matrices are passed through.

    Parameters
    ----------
    text, numbers, categories, dates : list of column names or str, default=None
        Columns of a known kind. The kind of other columns is inferred.
    ignore : list of column names or str, default=None
        Columns to exclude.
    scale : bool, default=True
        Whether to scale numbers and dates to unit variance and to impute missing values, for linear
        models, nearest neighbours and networks. With False, they are not changed and may be NaN,
        for trees.

    Attributes
    ----------
    columns_ : dict
        The kind of every column that is used: ``"text"``, ``"numbers"``, ``"categories"`` or
        ``"dates"``. Empty if X is a numeric matrix.
    left_out_ : dict
        The excluded columns, with reasons.
    n_features_in_ : int
        The number of columns of X. Not set for texts.
    feature_names_in_ : ndarray of str
        Names of the columns, if all of them are strings.

    See Also
    --------
    sklearn.compose.ColumnTransformer : Apply a chosen transformer to every column.

    Notes
    -----
    X may be a pandas, polars or pyarrow table, a list of dicts, a list of rows, a 2-D array of
    objects, a list, Series or array of texts, or a numeric array or sparse matrix. Numeric matrices
    are passed through, except that missing values of a dense array are imputed.

    Columns are transformed as follows:

    * text: TF-IDF weights of words and pairs of words and, for texts of fewer than 30 words on
      average, of groups of three letters. If there are 100,000 distinct words or more, words of a
      single row are dropped. A missing text is an empty text. In a table with other columns, texts
      that are single words, such as codes and names, are reduced to 30 numbers per column by a
      singular value decomposition.
    * numbers: missing values are replaced by the median, and an additional feature indicates them.
    * categories: one-hot encoded. Categories of a single row are merged, unknown categories are
      ignored, and missing values are a separate category.
    * dates: year, month, weekday and hour, if they vary, and the seconds since 1970, all as
      wall-clock time. They are scaled like numbers.

    The result is a CSR matrix if there is a text column, or if ``fit`` has more than 2,000 features
    or 50 million values. Otherwise, it is a dense array.

    Examples
    --------
    >>> from hiclass import TableFeatures
    >>> rows = [
    ...     {"text": "the engine of my car broke", "price": 900, "paid": True, "day": "2024-05-01"},
    ...     {"text": "the bank lost my deposit", "price": None, "paid": False, "day": "2024-05-07"},
    ...     {"text": "my car has no wheels now", "price": 300, "paid": True, "day": "2024-06-01"},
    ... ]
    >>> features = TableFeatures(ignore="paid")
    >>> X = features.fit_transform(rows)
    >>> features.columns_
    {'text': 'text', 'price': 'numbers', 'day': 'dates'}
    >>> features.left_out_
    {'paid': 'ignored'}
    >>> features.get_feature_names_out()[-5:].tolist()
    ['price', 'day (month)', 'day (weekday)', 'day (seconds)', 'price (missing)']
    """

    #: Whether sparse rows are converted to dense rows.
    _makes_dense = False

    def __init__(
        self,
        *,
        text: Any = None,
        numbers: Any = None,
        categories: Any = None,
        dates: Any = None,
        ignore: Any = None,
        scale: bool = True,
    ) -> None:
        self.text = text
        self.numbers = numbers
        self.categories = categories
        self.dates = dates
        self.ignore = ignore
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> TableFeatures:
        """Learn the kinds of the columns, the vocabularies, the categories and the scales.

        Parameters
        ----------
        X : table, texts or matrix
            The rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        TableFeatures
            The fitted transformer.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to rows and return their features.

        Parameters
        ----------
        X : table, texts or matrix
            The rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features_out)
            Their features.

        Raises
        ------
        ValueError
            If no column can be used, a named column does not exist, or a cell is not of the kind
            given for its column.
        """
        X = without_mask(X)
        columns = split_columns(X)
        named = {kind: _names(getattr(self, kind), kind) for kind in KINDS}
        ignore = _names(self.ignore, "ignore")
        for name in _FITTED:  # by an earlier call
            self.__dict__.pop(name, None)
        if columns is None:
            _check_not_named({**named, "ignore": ignore})
            return self._fit_matrix(X)
        _check_rows(columns)
        choice = choose_kinds(columns, named, ignore)
        if not choice.kinds:
            raise ValueError(
                f"X has no column that can be a feature ({choice.why_none}). Name one as text, "
                f"numbers, categories or dates."
            )
        self.columns_, self.left_out_ = choice.kinds, choice.left_out
        self._form, self._names_in = columns.form, columns.names
        if columns.form != "texts":
            self.n_features_in_ = len(columns.names)
        if columns.form == "frame" and all(isinstance(name, str) for name in columns.names):
            self.feature_names_in_ = np.array(columns.names, dtype=object)
        return self._fit_table(choice.cells, columns.n_rows)

    def transform(self, X: Any) -> Any:
        """Return the features of rows.

        Parameters
        ----------
        X : table, texts or matrix
            Rows with the columns of ``fit``, in any order. Excluded columns may be missing.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features_out)
            Their features.

        Raises
        ------
        ValueError
            If a column is missing or new, or a cell is not of the kind of its column.
        """
        check_is_fitted(self)
        X = without_mask(X)
        columns = split_columns(X)
        form = "matrix" if columns is None else columns.form
        if form != self._form and (self._form != "matrix" or form == "texts"):
            raise ValueError(
                f"X is {_FORMS[form]}, but X of fit was {_FORMS[self._form]}. Give rows of the "
                f"same form, or fit again."
            )
        if columns is not None:
            _check_rows(columns)
        if self._form == "matrix":
            numbers = X if columns is None else _as_numbers(columns)
            return self._transform_matrix(self._check_matrix(numbers, reset=False))
        assert columns is not None  # by its form
        return self._transform_table(self._read(columns), columns.n_rows)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the features: words, columns, ``column=category``, ``column (part)``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, for a matrix without names.

        Returns
        -------
        ndarray of str
            The names.

        Raises
        ------
        ValueError
            If the number of names is wrong, or if they differ from those in ``fit``.
        """
        check_is_fitted(self)
        if self._form == "matrix":
            names = self._matrix_names(input_features)
            return np.array([*names, *(f"{names[j]} (missing)" for j in self._flagged())], object)
        names = [name for column in self._vectorizers for name in self._text_names(column)]
        names += [f"{column} ({part})" if part else str(column) for column, part in self._numeric]
        names += [f"{self._numeric[j][0]} (missing)" for j in self._flagged()]
        names += encoders.category_names(self._one_hot, self._of_kind("categories"))
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.dict = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # -- tables --------------------------------------------------------------------------------

    def _of_kind(self, kind: str) -> list[Any]:
        return [name for name, found in self.columns_.items() if found == kind]

    def _text_names(self, column: Any) -> list[str]:
        """Names of the features of a column of text: its words, or their directions."""
        if column in self._directions:
            return [f"{column} (direction {k + 1})" for k in range(len(self._directions[column]))]
        words = encoders.word_names(self._vectorizers[column])
        return [f"{column}: {word}" for word in words] if len(self._vectorizers) > 1 else words

    def _flagged(self) -> list[int]:
        """The numbers with an indicator of missing values."""
        return [] if self._scaling is None else self._scaling.flagged.tolist()

    def _without_flags(self) -> TableFeatures:
        """The same fitted transformer without indicators of missing values."""
        other = copy.copy(self)
        if self._scaling is not None:
            other._scaling = replace(self._scaling, flagged=self._scaling.flagged[:0])
        return other

    def _as_dense(self, n_rows: int) -> TableFeatures | None:
        """The same fitted transformer with dense features; None if there are too many."""
        width = getattr(self, "n_features_in_", 0)
        if self._form != "matrix" or width > _MANY or n_rows * width > _MOST_DENSE:
            return None
        other = copy.copy(self)
        other._makes_dense = True
        return other

    def _fit_table(self, cells: dict[Any, Cells], n_rows: int) -> Any:
        """Learn from the cells of all features, and return the features."""
        parts = []
        self._vectorizers = {}
        for name in self._of_kind("text"):
            self._vectorizers[name], weights = encoders.fit_words(cells[name], name)
            parts.append(weights)
        self._directions: dict[Any, FloatArray] = {}
        if len(self._vectorizers) < len(self.columns_) and all(
            encoders.are_codes(cells[name]) for name in self._vectorizers
        ):
            for j, name in enumerate(self._vectorizers):
                self._directions[name], parts[j] = encoders.fit_directions(parts[j])
        self._day_first = encoders.orders_of_dates(cells, self.columns_)
        self._numeric, values = encoders.select_numeric(cells, self.columns_, self._day_first)
        self._scaling = None
        if self._numeric:
            block = encoders.as_block(values, n_rows)
            if self.scale:
                columns = [column for column, _ in self._numeric]
                self._scaling = encoders.learn_scaling(block, columns, scale=True)
                block = encoders.apply_scaling(self._scaling, block, in_place=True)
            parts.append(block)
        categories = [cells[name] for name in self._of_kind("categories")]
        self._one_hot, encoded = encoders.fit_categories(categories)
        if encoded is not None:
            parts.append(encoded)
        width = sum(part.shape[1] for part in parts)
        has_words = len(self._vectorizers) > len(self._directions)
        self._is_sparse = has_words or width > _MANY or n_rows * width > _MOST_DENSE
        return encoders.side_by_side(parts, sparse=self._is_sparse)

    def _transform_table(self, cells: dict[Any, Cells], n_rows: int) -> Any:
        parts = [
            encoders.encode_words(vectorizers, cells[name], name)
            for name, vectorizers in self._vectorizers.items()
        ]
        for j, name in enumerate(self._vectorizers):
            if name in self._directions:
                parts[j] = parts[j] @ self._directions[name].T
        if self._numeric:
            chosen = set(self._numeric)
            found = encoders.numeric_columns(cells, self.columns_, self._day_first)
            columns = [values for name, part, values in found if (name, part) in chosen]
            block = encoders.as_block(columns, n_rows)
            if self._scaling is not None:
                block = encoders.apply_scaling(self._scaling, block, in_place=True)
            parts.append(block)
        if self._one_hot is not None:
            categories = [cells[name] for name in self._of_kind("categories")]
            parts.append(encoders.encode_categories(self._one_hot, categories))
        return encoders.side_by_side(parts, sparse=self._is_sparse)

    def _read(self, columns: Columns) -> dict[Any, Cells]:
        """The cells of the features; no column may be missing or new."""
        if self._form == "rows" and len(columns.names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns.names)} features, but TableFeatures is expecting "
                f"{self.n_features_in_} features as input. Pass the columns of fit."
            )
        places = {name: j for j, name in enumerate(columns.names)}
        known = set(self._names_in)
        new = [name for name in columns.names if name not in known]
        lost = [name for name in self.columns_ if name not in places]
        if new:
            raise ValueError(
                f"X has the column {new[0]!r}{_more(new)}, which was not there in fit. Leave it "
                f"out, or fit again with it."
            )
        if lost and not columns.may_lack:
            raise ValueError(
                f"X lacks the column {lost[0]!r}{_more(lost)}, which was there in fit. Add it, "
                f"with empty cells where nothing is known, or fit again without it."
            )
        empty = Cells(np.full(columns.n_rows, None, dtype=object))
        return {
            name: columns.read(places[name]) if name in places else empty for name in self.columns_
        }

    # -- matrices ------------------------------------------------------------------------------

    def _fit_matrix(self, X: Any) -> Any:
        X = self._check_matrix(X, reset=True)
        self._form, self.columns_, self.left_out_ = "matrix", {}, {}
        self._scaling = None
        if self.scale and not sp.issparse(X):
            columns = list(range(X.shape[1]))
            self._scaling = encoders.learn_scaling(X, columns, scale=False)
        return self._transform_matrix(X)

    def _transform_matrix(self, X: Any) -> Any:
        if self._scaling is None:
            return X.toarray() if self._makes_dense and sp.issparse(X) else X
        block = X.toarray() if sp.issparse(X) else X
        return encoders.apply_scaling(self._scaling, block, in_place=False)

    def _check_matrix(self, X: Any, *, reset: bool) -> Any:
        # A transformer fitted on sparse rows does not impute.
        fills = reset or not self.scale or self._scaling is not None
        finite = "allow-nan" if fills and not sp.issparse(X) else True
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
        )

    def _matrix_names(self, given: Any) -> list[str]:
        """Names of the columns of a matrix: those of fit, those given, or x0, x1, ..."""
        own = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{j}" for j in range(self.n_features_in_)] if own is None else own.tolist()
        names = [str(name) for name in given]
        if own is not None and names != own.tolist():
            raise ValueError("input_features is not equal to feature_names_in_. Leave it out.")
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}"
            )
        return names

    # -- state ---------------------------------------------------------------------------------

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return reduce_stamped(self)

    def __getstate__(self) -> dict[str, Any]:
        return as_stamped(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._directions = {}  # not in older files
        self.__dict__.update(read_stamped(state, type(self).__name__))


def _names(given: Any, parameter: str) -> list[Any]:
    """A parameter that names columns as a list, which may be a single name."""
    if given is None:
        return []
    if isinstance(given, str):
        return [given]
    try:
        return list(given)
    except TypeError:
        raise TypeError(
            f"{parameter} must name columns: a list of names, or one name; got {given!r}."
        ) from None


def _check_not_named(named: dict[str, list[Any]]) -> None:
    for parameter, names in named.items():
        if names:
            raise ValueError(
                f"{parameter} names the column {names[0]!r}, but X is a matrix of numbers, which "
                f"is passed through. Pass a frame, or leave {parameter} out."
            )


def _as_numbers(columns: Columns) -> AnyArray:
    """A table as a matrix, for a transformer that was fitted on one."""
    numbers = [as_numbers(columns.read(j), name) for j, name in enumerate(columns.names)]
    return encoders.as_block(numbers, columns.n_rows)


def _check_rows(columns: Columns) -> None:
    if not columns.n_rows:
        raise ValueError("X is empty: found array with 0 sample(s) while 1 is required.")


def _more(names: list[Any]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""
