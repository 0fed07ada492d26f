"""From the columns of a file to features: text, numbers and categories."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hiclass._cli._errors import CommandError
from hiclass._cli._tables import Table

KINDS = ("text", "numbers", "categories")
Columns = dict[str, list[str]]

# Spellings of a missing number; a label or a category may be called so.
_NO_NUMBER = {"", "na", "n/a", "nan", "null", "none", "-", "?"}


def to_number(value: Any) -> float | None:
    """A cell as a number: NaN if it is missing, None if it is not a number."""
    if value is None:
        return np.nan
    if isinstance(value, str):
        if value.strip().lower() in _NO_NUMBER:
            return np.nan
        try:
            number = float(value)
        except ValueError:
            return None
        # float reads "1_000", which no spreadsheet writes, and "inf".
        return number if np.isfinite(number) and "_" not in value else None
    if isinstance(value, int | float | bool | Decimal | np.number | np.bool_):
        try:
            number = float(value)
        except OverflowError:  # an integer of JSON may have hundreds of digits
            return None
        return number if np.isfinite(number) else None
    return None


def prepare(table: Table, columns: Columns) -> Any:
    """Return the features of all rows as a frame, every column in the form of its kind."""
    import pandas as pd

    prepared = {}
    for kind in KINDS:
        for name in columns[kind]:
            prepared[name] = _numbers(table, name) if kind == "numbers" else texts(table, name)
    return pd.DataFrame(prepared)


def texts(table: Table, name: str) -> Any:
    """Return a column as texts; a missing cell is an empty one."""
    cells = table.column(name)
    found = np.empty(len(cells), dtype=object)
    # Half a character, which JSON can spell, becomes a question mark: no model file has it.
    found[:] = [
        "" if cell is None else str(cell).encode("utf-8", "replace").decode("utf-8")
        for cell in cells
    ]
    return found


def _numbers(table: Table, name: str) -> Any:
    cells = table.column(name)
    numbers = np.empty(len(cells))
    for row, cell in enumerate(cells):
        number = to_number(cell)
        if number is None:
            problem = "is too large a number" if isinstance(cell, int) else "is not a number"
            raise CommandError(
                f"{table.place(row)}: {str(cell)[:50]!r} in the column {name!r} {problem}. "
                f"Correct it, or leave the cell empty."
            )
        numbers[row] = number
    return numbers


def check_features(frame: Any, columns: Columns, name: str) -> None:
    """Refuse training columns that hold nothing to learn from."""
    for column in columns["numbers"]:
        if np.isnan(frame[column]).all():
            raise CommandError(f"{name}: the column {column!r} holds no number. Leave it out.")
    words = TfidfVectorizer().build_analyzer()
    for column in columns["text"]:
        if not any(words(text) for text in frame[column]):
            raise CommandError(
                f"{name}: the column {column!r} holds no word of two letters or more. Leave it out."
            )


def make_features(columns: Columns) -> ColumnTransformer:
    """Make the preprocessing: TF-IDF, imputation and scaling, one-hot encoding."""
    steps: list[tuple[str, Any, Any]] = [
        (f"text_{i}", TfidfVectorizer(sublinear_tf=True), name)
        for i, name in enumerate(columns["text"], start=1)
    ]
    if columns["numbers"]:
        numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        steps.append(("numbers", numbers, columns["numbers"]))
    if columns["categories"]:
        categories = OneHotEncoder(handle_unknown="ignore")
        steps.append(("categories", categories, columns["categories"]))
    return ColumnTransformer(steps)


def feature_names(features: ColumnTransformer, columns: Columns) -> list[str]:
    """Names of the features for a person: a word, a column, column=value."""
    names: list[str] = []
    for step, transformer, _ in features.transformers_:
        if step.startswith("text_"):
            column = columns["text"][int(step.removeprefix("text_")) - 1]
            prefix = f"{column}: " if len(columns["text"]) > 1 else ""
            names.extend(f"{prefix}{word}" for word in transformer.get_feature_names_out())
        elif step == "numbers":
            names.extend(columns["numbers"])
        elif step == "categories":
            pairs = zip(columns["categories"], transformer.categories_, strict=True)
            names.extend(f"{name}={value}" for name, values in pairs for value in values)
    return names
