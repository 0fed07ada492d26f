"""Model files: written by ``fit``, read without running code."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from hiclass._automatic.features import TableFeatures
from hiclass._automatic.joined_texts import JoinedTexts
from hiclass._cli._errors import CommandError
from hiclass._cli._paths import level_names
from hiclass._cli._sets import Several
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
from hiclass.hierarchy import Hierarchy

#: The part of a model file that has no classifiers in it.
_SUMMARY = "hiclass_summary.json"


@dataclass(frozen=True)
class Model:
    """A fitted pipeline of features and a classifier, and the columns of the labels.

    Attributes
    ----------
    pipeline : Pipeline
        Features, and a hierarchical classifier at the end.
    target : list of str
        The columns of the labels, from the first level to the last.
    separator : str or None
        What separates the levels if a single column holds whole paths.
    several : Several or None
        How several labels per row are written; None if a row has one path.
    """

    pipeline: Pipeline
    target: list[str]
    separator: str | None = None
    several: Several | None = None

    @property
    def levels(self) -> list[str]:
        """What the levels are called."""
        if self.separator is None:
            return self.target
        return level_names(self.target[0], self.opened.model.hierarchy_.depth)

    @property
    def opened(self) -> Unwrapped:
        """The hierarchical classifier at the end of the pipeline, and what is before it."""
        return unwrap(self.pipeline, through_choices=False)

    @property
    def features(self) -> TableFeatures | JoinedTexts:
        """What makes features of the columns of a file."""
        features = self.opened.before[0]
        assert isinstance(features, TableFeatures | JoinedTexts)  # as load_model has found
        return features


def save_model(model: Model, path: str) -> None:
    """Write a model to a file, with skops."""
    import skops.io

    content = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "hiclass": __version__,
        "pipeline": model.pipeline,
        "target": model.target,
        "separator": model.separator,
    }
    if model.several is not None:
        content["several"] = model.several.to_dict()
    with open_output(path) as file:
        skops.io.dump(content, file, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
        # The summary is for people who choose one path per row.
        if path != "-" and file.readable() and model.several is None:
            with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_SUMMARY, _summary_text(summary_of(model)))


@dataclass(frozen=True)
class Summary:
    """What there is to know about a model without its classifiers.

    Attributes
    ----------
    hierarchy : Hierarchy
        Its classes.
    target : list of str
        The columns of the labels.
    separator : str or None
        What separates the levels if a single column holds whole paths.
    levels : list of str
        What the levels are called.
    features : list of str
        The columns that it reads.
    """

    hierarchy: Hierarchy
    target: list[str]
    separator: str | None
    levels: list[str]
    features: list[str]


def summary_of(model: Model) -> Summary:
    """The summary of a model."""
    return Summary(
        hierarchy=model.opened.model.hierarchy_,
        target=model.target,
        separator=model.separator,
        levels=model.levels,
        features=list(model.features.columns_),
    )


def _summary_text(summary: Summary) -> str:
    content = vars(summary) | {"hierarchy": json.loads(summary.hierarchy.to_json())}
    return json.dumps(content)


def load_summary(path: str) -> Summary:
    """Read the classes and columns of a model from its file, and nothing else if possible.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    Summary
        A model file has it as a part of its own. Of one that has not, all is read.

    Raises
    ------
    CommandError
        If the file is not a model.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            content = json.loads(archive.read(_SUMMARY))
        content["hierarchy"] = Hierarchy.from_json(json.dumps(content["hierarchy"]))
        return Summary(**content)
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile):
        return summary_of(load_model(path))


def load_model(path: str, *, of_sets: bool = False) -> Model:
    """Read a model from a file; nothing in it is run.

    Parameters
    ----------
    path : str
        The file.
    of_sets : bool, default=False
        Whether a model of several labels per row will do.

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
            pipeline, target = content.get("pipeline"), content.get("target")
            separator = content.get("separator")  # not in files of layout 2
            several = _several(content.get("several"))
            read = _are_names(target) and (several or _can_separate(separator, target))
            if read and isinstance(pipeline, Pipeline) and _is_fitted(pipeline):
                if several is not None and not of_sets:
                    raise CommandError(
                        f"{path} predicts several labels per row, and this command is about one "
                        f"path per row. With such a model, use: predict, evaluate, report, explain."
                    )
                return Model(pipeline, target, separator, several)
    except FileNotFoundError as error:
        raise CommandError(f"{error} Make a model with: hiclass fit.") from error
    except ModelFileError as error:
        raise CommandError(f"{error.problem} Make a model with: hiclass fit.") from error
    raise CommandError(f"{path} is not a model of hiclass fit. Make one with: hiclass fit.")


def _are_names(names: Any) -> bool:
    some = isinstance(names, list) and len(names) > 0
    return some and all(isinstance(name, str) for name in names)


def _several(content: Any) -> Several | None:
    return Several(**content) if isinstance(content, dict) else None


def _can_separate(separator: Any, target: list[str]) -> bool:
    of_paths = isinstance(separator, str) and separator != "" and len(target) == 1
    return separator is None or of_paths


def _is_fitted(pipeline: Pipeline) -> bool:
    """Whether features of columns are at the beginning, and a fitted classifier at the end."""
    opened = unwrap(pipeline, through_choices=False)
    features = opened.before[0] if opened.before else None
    reads = isinstance(features, TableFeatures | JoinedTexts) and hasattr(features, "columns_")
    return reads and is_fitted_classifier(opened.model)
