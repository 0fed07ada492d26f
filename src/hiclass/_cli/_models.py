"""Model files: written by ``fit``, read without running code."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from hiclass import TRUSTED_TYPES, Hierarchy, __version__
from hiclass._cli._errors import CommandError
from hiclass._cli._features import KINDS, Columns
from hiclass._cli._tables import open_output

FORMAT, VERSION = "hiclass model", 1
#: The list of columns that a ColumnTransformer leaves out: a type of its own in scikit-learn 1.6,
#: which skops does not know.
TRUSTED = (*TRUSTED_TYPES, "sklearn.compose._column_transformer._RemainderColsList")


@dataclass(frozen=True)
class Model:
    """A fitted pipeline, and the columns that it was fitted on."""

    pipeline: Pipeline
    target: list[str]
    columns: Columns

    @property
    def classifier(self) -> Any:
        """The hierarchical classifier at the end of the pipeline."""
        return self.pipeline[-1]

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy of the classes."""
        hierarchy: Hierarchy = self.classifier.hierarchy_
        return hierarchy


def save_model(model: Model, path: str) -> None:
    """Write a model to a file, with skops."""
    import skops.io

    content = {
        "format": FORMAT,
        "version": VERSION,
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
        If the file is no model, or holds something else than scikit-learn and this library make.
    """
    import skops.io

    if not Path(path).is_file():
        raise CommandError(f"{path} does not exist. Make a model with: hiclass fit.")
    foreign = CommandError(f"{path} is no model of hiclass. Make one with: hiclass fit.")
    try:
        types = skops.io.get_untrusted_types(file=path)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}.") from error
    except Exception as error:
        # Whatever a file that is no model makes skops stumble over.
        raise foreign from error
    if strange := sorted(set(types) - set(TRUSTED)):
        raise CommandError(
            f"{path} holds {strange[0]}, which is no part of a model of hiclass, and was not "
            f"loaded. Make the model again with: hiclass fit."
        )
    try:
        content = skops.io.load(path, trusted=[name for name in TRUSTED if name in types])
    except Exception as error:
        raise CommandError(
            f"{path} cannot be loaded ({type(error).__name__}: {' '.join(str(error).split())}). It "
            f"may come from other versions: make it again with: hiclass fit."
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise foreign
    if content.get("version") != VERSION:
        raise CommandError(
            f"{path} was written by hiclass {content.get('hiclass')}, whose files this version "
            f"does not read. Make it again with: hiclass fit."
        )
    model = Model(content["pipeline"], content["target"], content["columns"])
    if not isinstance(model.pipeline, Pipeline) or set(model.columns) != set(KINDS):
        raise foreign
    return model
