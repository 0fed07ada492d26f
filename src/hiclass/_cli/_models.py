"""Model files: written by ``fit``, read without running code."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from hiclass._cli._errors import CommandError
from hiclass._cli._features import KINDS, Columns
from hiclass._cli._tables import open_output
from hiclass._export.persistence import (
    FORMAT,
    FORMAT_VERSION,
    ModelFileError,
    check_format_version,
    is_command_line_file,
    read_model_file,
)
from hiclass._version import __version__
from hiclass._wrapping import Unwrapped, is_fitted_classifier, unwrap


@dataclass(frozen=True)
class Model:
    """A fitted pipeline, and the columns that it was fitted on."""

    pipeline: Pipeline
    target: list[str]
    columns: Columns

    @property
    def opened(self) -> Unwrapped:
        """The hierarchical classifier at the end of the pipeline, and what is before it."""
        return unwrap(self.pipeline)


def save_model(model: Model, path: str) -> None:
    """Write a model to a file, with skops."""
    import skops.io

    content = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "hiclass": __version__,
        "pipeline": model.pipeline,
        "target": model.target,
        "columns": model.columns,
    }
    with open_output(path) as file:
        skops.io.dump(content, file, compression=zipfile.ZIP_DEFLATED, compresslevel=1)


def load_model(path: str) -> Model:
    """Read a model from a file; nothing in it is run.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    Model

    Raises
    ------
    CommandError
        If the file is not a model, or holds something else than scikit-learn and this library make.
    """
    try:
        content = read_model_file(path)
        if is_command_line_file(content):
            check_format_version(content, path)
            pipeline, columns = content.get("pipeline"), content.get("columns")
            target = content.get("target")
            fitted = isinstance(pipeline, Pipeline) and is_fitted_classifier(unwrap(pipeline).model)
            if fitted and target and _are_names(target) and _are_columns(columns):
                return Model(pipeline, target, columns)
    except FileNotFoundError as error:
        raise CommandError(f"{error} Make a model with: hiclass fit.") from error
    except ModelFileError as error:
        raise CommandError(f"{error.problem} Make a model with: hiclass fit.") from error
    raise CommandError(f"{path} is not a model of hiclass fit. Make one with: hiclass fit.")


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _are_columns(columns: Any) -> bool:
    known = isinstance(columns, dict) and set(columns) == set(KINDS)
    return known and all(_are_names(names) for names in columns.values())
