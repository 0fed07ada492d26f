"""Model files: written by ``fit``, and loaded without running code."""

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

#: The part of a model file that contains no classifiers.
_SUMMARY = "hiclass_summary.json"


@dataclass(frozen=True)
class Model:
    """A fitted pipeline of features and a classifier, and the columns of the labels.

    Attributes
    ----------
    pipeline : Pipeline
        Features, and a hierarchical classifier at the end.
    target : list of str
        The label columns, from the first level to the last.
    separator : str or None
        The separator of levels if a single column holds whole paths.
    several : Several or None
        The form of several labels per row; None if a row has one path.
    """

    pipeline: Pipeline
    target: list[str]
    separator: str | None = None
    several: Several | None = None

    @property
    def levels(self) -> list[str]:
        """The names of the levels."""
        if self.separator is None:
            return self.target
        return level_names(self.target[0], self.opened.model.hierarchy_.depth)

    @property
    def opened(self) -> Unwrapped:
        """The hierarchical classifier at the end of the pipeline, and the steps before it."""
        return unwrap(self.pipeline, through_choices=False)

    @property
    def features(self) -> TableFeatures | JoinedTexts:
        """The transformer that computes features from the columns of a file."""
        features = self.opened.before[0]
        assert isinstance(features, TableFeatures | JoinedTexts)  # checked by load_model
        return features


def save_model(model: Model, path: str) -> None:
    """Write a model to a file with skops."""
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
        # The summary is only used by commands about one path per row.
        if path != "-" and file.readable() and model.several is None:
            with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_SUMMARY, _summary_text(summary_of(model)))


@dataclass(frozen=True)
class Summary:
    """The facts about a model that do not need its classifiers.

    Attributes
    ----------
    hierarchy : Hierarchy
        The classes.
    target : list of str
        The label columns.
    separator : str or None
        The separator of levels if a single column holds whole paths.
    levels : list of str
        The names of the levels.
    features : list of str
        The columns that the model uses.
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
    """Read the classes and columns of a model from its file, if possible without the classifiers.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    Summary
        The summary, which is a separate part of newer model files. Older files are read completely.

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
    """Load a model from a file without running code from the file.

    Parameters
    ----------
    path : str
        The file.
    of_sets : bool, default=False
        Whether models with several labels per row are accepted.

    Returns
    -------
    Model

    Raises
    ------
    CommandError
        If the file is not a model, or holds types other than those of scikit-learn and this
        library.
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
                        f"{path} predicts several labels per row, but this command is for one path "
                        "per row. Such a model supports predict, evaluate, report and explain."
                    )
                return Model(pipeline, target, separator, several)
    except FileNotFoundError as error:
        raise CommandError(f"{error} Create a model with hiclass fit.") from error
    except ModelFileError as error:
        raise CommandError(f"{error.problem} Create a model with hiclass fit.") from error
    raise CommandError(f"{path} is not a model of hiclass fit. Create one with hiclass fit.")


def _are_names(names: Any) -> bool:
    some = isinstance(names, list) and len(names) > 0
    return some and all(isinstance(name, str) for name in names)


def _several(content: Any) -> Several | None:
    return Several(**content) if isinstance(content, dict) else None


def _can_separate(separator: Any, target: list[str]) -> bool:
    of_paths = isinstance(separator, str) and separator != "" and len(target) == 1
    return separator is None or of_paths


def _is_fitted(pipeline: Pipeline) -> bool:
    """Whether the pipeline starts with table features and ends with a fitted classifier."""
    opened = unwrap(pipeline, through_choices=False)
    features = opened.before[0] if opened.before else None
    reads = isinstance(features, TableFeatures | JoinedTexts) and hasattr(features, "columns_")
    return reads and is_fitted_classifier(opened.model)
