"""Convert the JSON of a request to predictions as plain data; errors name their place."""

from __future__ import annotations

import difflib
import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hiclass._automatic.cells import CellError
from hiclass._inference.confidence import as_json
from hiclass._version import __version__
from hiclass._wrapping import unwrap

#: The longest value shown in a message.
_SHOWN = 60
#: The largest number of columns listed in a message.
_LISTED = 20
#: The names of JSON types, by Python type.
_JSON_TYPES = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}
#: The types of a cell for each kind of column, and their name in messages. A number may also be
#: written as text, as in a CSV file; the features check it later.
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "text": ((str,), "a text"),
    "numbers": ((int, float, bool, str), "a number"),
    "categories": ((str, int, float, bool), "a text or a number"),
    "dates": ((str, int), "a date as text, such as 2024-01-31"),
}


@dataclass(frozen=True)
class Limits:
    """Limits of a service.

    Attributes
    ----------
    max_rows : int, default=1000
        The largest number of rows in one request.
    max_bytes : int, default=10_000_000
        The largest length of one request.
    max_paths : int, default=100
        The largest ``k``.
    timeout : int, default=30
        Seconds within which a request must arrive, and within which it must be predicted.
    threads : int, default=4
        The number of requests that are predicted at the same time.
    max_waiting : int, default=64
        The number of requests that may wait for a thread.
    """

    max_rows: int = 1000
    max_bytes: int = 10_000_000
    max_paths: int = 100
    timeout: int = 30
    threads: int = 4
    max_waiting: int = 64


class RequestError(Exception):
    """An invalid request.

    Parameters
    ----------
    status : int
        The HTTP status.
    kind : str
        The error in one word, for programs.
    message : str
        The value, its place and the remedy, for people.
    row : int, default=None
        The row, starting at 1.
    column : str, default=None
        The column.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.content = {
            "error": {
                "kind": kind,
                "message": _sendable(message),
                "row": row,
                "column": None if column is None else _sendable(column),
            }
        }


class Service:
    """A fitted pipeline that predicts from plain data.

    Parameters
    ----------
    pipeline : Pipeline
        A fitted pipeline of :class:`TableFeatures` and a hierarchical classifier of paths.
    levels : list of str
        The names of the levels.
    name : str
        The name of the model.
    separator : str, default=None
        The separator of levels if a path is written as one text.
    limits : Limits, default=None
        The limits. By default, those of :class:`Limits`.
    """

    def __init__(
        self,
        pipeline: Any,
        levels: list[str],
        *,
        name: str,
        separator: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        opened = unwrap(pipeline, through_choices=False)
        self.levels, self.name, self.separator = list(levels), name, separator
        self.limits = limits or Limits()
        self.model = opened.model
        self._opened = opened
        self.columns: dict[str, str] = dict(opened.before[0].columns_)

    def describe(self) -> dict[str, Any]:
        """Describe the model, the columns of a row and the limits of a request."""
        tree = self.model.hierarchy_
        params = self.model.get_params(deep=False)
        return {
            "name": self.name,
            "hiclass": __version__,
            "model": type(self.model).__name__,
            "choices": {str(k): str(v) for k, v in getattr(self.model, "choices_", {}).items()},
            "levels": [
                {"name": name, "classes": int((tree.levels == level).sum())}
                for level, name in enumerate(self.levels, start=1)
            ],
            "classes": int(tree.n_nodes - 1),
            "leaves": int(tree.is_leaf[1:].sum()),
            "path_separator": self.separator,
            "min_confidence": as_json(params.get("min_confidence", 0.0)),
            "features": [{"name": name, "kind": kind} for name, kind in self.columns.items()],
            "limits": asdict(self.limits),
        }

    # -- input ---------------------------------------------------------------------------------

    def parse(self, body: bytes) -> tuple[list[dict[str, Any]], bool]:
        """Read the body of a request.

        Parameters
        ----------
        body : bytes
            JSON: ``{"row": {...}}`` or ``{"rows": [{...}, ...]}``.

        Returns
        -------
        rows : list of dict
            Cells by column. Every row has all columns of the model.
        single : bool
            Whether the request has a single row.

        Raises
        ------
        RequestError
            If the body has another form.
        """
        content = _parse_json(body)
        if not isinstance(content, dict) or len(content.keys() & {"row", "rows"}) != 1:
            raise RequestError(
                422,
                "wrong_request",
                f"The request is {_shape_of(content)}. Send one row as "
                f'{{"row": {{COLUMN: VALUE, ...}}}}, or several as {{"rows": [{{...}}, ...]}}.',
            )
        if other := sorted(content.keys() - {"row", "rows"}):
            raise RequestError(
                422,
                "wrong_request",
                f'The request has {other[0]!r:.{_SHOWN}} besides its rows. Send only "row" '
                f'or "rows"; set the number of paths in the address: /predict?k=5.',
            )
        single = "row" in content
        rows = [content["row"]] if single else content["rows"]
        if not isinstance(rows, list):
            raise RequestError(
                422, "wrong_request", f'"rows" is {_type_of(rows)}. Send a list of rows.'
            )
        if not rows:
            raise RequestError(422, "no_rows", '"rows" is an empty list. Send at least one row.')
        if len(rows) > self.limits.max_rows:
            raise RequestError(
                413,
                "too_many_rows",
                f"The request has {len(rows):,} rows, but at most {self.limits.max_rows:,} are "
                "allowed. Send them in several requests, or start the service with a larger "
                "--max-rows.",
            )
        return [self._check(row, number) for number, row in enumerate(rows, start=1)], single

    def _check(self, row: Any, number: int) -> dict[str, Any]:
        """Check one row; its columns must be those of the model."""
        if not isinstance(row, dict):
            raise RequestError(
                422,
                "wrong_type",
                f"Row {number} is {_type_of(row)}. Send an object {{COLUMN: VALUE, ...}} with the "
                f"columns {self._listed()}.",
                row=number,
            )
        for name in row:
            if name not in self.columns:
                raise self._unknown(name, number)
        for name, kind in self.columns.items():
            if name not in row:
                raise RequestError(
                    422,
                    "missing_column",
                    f"Row {number} has no column {name!r}. Send all columns: {self._listed()}. Use "
                    "null for an empty cell.",
                    row=number,
                    column=name,
                )
            types, needed = _TYPES[kind]
            if row[name] is not None and type(row[name]) not in types:
                raise RequestError(
                    422,
                    "wrong_type",
                    f"Row {number}: {_shown(row[name])} in the column {name!r} is "
                    f"{_type_of(row[name])}. Send {needed}, or null for an empty cell.",
                    row=number,
                    column=name,
                )
        return row

    def _unknown(self, name: str, number: int) -> RequestError:
        close = difflib.get_close_matches(name, self.columns, n=1)
        remedy = f"Did you mean {close[0]!r}? " if close else ""
        return RequestError(
            422,
            "unknown_column",
            f"Row {number} has a column {_shown(name)}, which the model does not have. "
            f"{remedy}Send exactly these columns: {self._listed()}.",
            row=number,
            column=name[:_SHOWN],
        )

    def _listed(self) -> str:
        names = list(self.columns)
        more = f" and {len(names) - _LISTED} more (GET /model)" if len(names) > _LISTED else ""
        return ", ".join(names[:_LISTED]) + more

    def paths_wanted(self, parameters: list[tuple[str, str]]) -> int | None:
        """The number of paths that a request wants in addition to the prediction, or None."""
        for name, _ in parameters:
            if name != "k":
                raise RequestError(
                    422,
                    "unknown_parameter",
                    f"The address has an unknown parameter {_shown(name)}. The only parameter is "
                    "k, the number of most probable paths: /predict?k=5.",
                )
        if not parameters:
            return None
        text = parameters[-1][1]
        most = self.limits.max_paths
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        if not 1 <= number <= most:
            raise RequestError(
                422,
                "wrong_parameter",
                f"k={text[:_SHOWN]} is not a whole number from 1 to {most}. Send such a number, as "
                "in /predict?k=5.",
            )
        return number

    # -- output --------------------------------------------------------------------------------

    def predict(self, rows: list[dict[str, Any]], k: int | None = None) -> list[dict[str, Any]]:
        """Predict rows that :meth:`parse` has returned.

        Parameters
        ----------
        rows : list of dict
            Cells by column.
        k : int, default=None
            The number of most probable paths to add. By default, none.

        Returns
        -------
        list of dict
            For every row, ``path`` and ``confidence``: a label and a probability for each level
            that the path reaches. With ``k``, also ``paths``.

        Raises
        ------
        RequestError
            If a cell does not have the kind of its column.
        """
        try:
            X = self._opened.transform(_frame(rows, self.columns))
        except CellError as error:
            raise RequestError(
                422,
                "wrong_type",
                f"Row {error.row + 1}: {error.problem}",
                row=error.row + 1,
                column=error.column,
            ) from error
        labels = np.asarray(self.model.predict(X), dtype=object)
        confidence = self.model.predict_confidence(X)
        found = [
            {"path": _path(labels[i]), "confidence": _numbers(confidence[i])}
            for i in range(len(rows))
        ]
        if k is not None:
            self._add_paths(found, X, k)
        return found

    def _add_paths(self, found: list[dict[str, Any]], X: Any, k: int) -> None:
        paths, proba = self.model.predict_paths(X, k)
        for i, entry in enumerate(found):
            entry["paths"] = [
                {"path": _path(path), "probability": round(float(p), 6)}
                for path, p in zip(paths[i], proba[i], strict=True)
                if p > 0 or len(_path(path))
            ]


def _frame(rows: list[dict[str, Any]], columns: dict[str, str]) -> Any:
    """Rows as a frame of objects, so that pandas does not infer types."""
    import pandas as pd

    return pd.DataFrame(
        {name: pd.Series([row[name] for row in rows], dtype=object) for name in columns}
    )


def _path(labels: Any) -> list[Any]:
    """The labels of a path, without missing labels after its end."""
    return [label for label in np.asarray(labels).tolist() if label is not None and label != ""]


def _numbers(confidence: Any) -> list[float]:
    return [round(float(p), 6) for p in confidence if not np.isnan(p)]


# -- JSON --------------------------------------------------------------------------------------


def _parse_json(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except RequestError:
        raise
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} is not UTF-8"
    except json.JSONDecodeError as error:
        problem = f"{error.msg}, at line {error.lineno}, column {error.colno}"
    except RecursionError:
        problem = "lists or objects are nested too deeply"
    except ValueError:
        # Python does not read integers with more digits.
        problem = f"a number has more than {sys.get_int_max_str_digits():,} digits"
    raise RequestError(
        400,
        "malformed_json",
        f"The request is not JSON: {problem}. Send, for example, "
        f'{{"row": {{COLUMN: VALUE, ...}}}} in UTF-8, with double quotes.',
    )


def _refuse_constant(name: str) -> Any:
    raise RequestError(
        400,
        "malformed_json",
        f"The request contains {name}, which is not valid JSON. Send null for an empty cell.",
    )


def _sendable(text: str) -> str:
    """The text, with everything that UTF-8 cannot encode (such as lone surrogates) replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _shown(value: Any) -> str:
    """The beginning of a value, as JSON."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _type_of(value: Any) -> str:
    return _JSON_TYPES[type(value)]


def _shape_of(content: Any) -> str:
    """What a request is, for a message about its form."""
    if not isinstance(content, dict):
        return _type_of(content)
    if {"row", "rows"} <= content.keys():
        return 'an object with both "row" and "rows"'
    return 'an object without "row" and "rows"'
