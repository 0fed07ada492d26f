"""The version of this library, and whether models of other versions can be read.

Fitted models contain the version that wrote them, in pickles and in skops files. Versions with the
same first number that is not 0 read each other's models (0.1.0 and 0.1.7, 1.2.0 and 1.4.1), as in
semantic versioning. The content of a model of any other version is unknown, and a guess could lead
to wrong predictions without a warning. Next to the version is the number of the format of the saved
state, which increases with every change.
"""

from __future__ import annotations

import re
from typing import Any

from hiclass._warnings import warn_user

__version__ = "0.1.0"

#: The format of saved models that this version writes and reads.
FORMAT = 1

#: The keys of the version and the format in the state of a model.
STAMP, FORMAT_STAMP = "_hiclass_version", "_hiclass_format"


def reduce_stamped(model: Any) -> tuple[Any, ...]:
    """The result of ``__reduce_ex__`` of a model, so that its file contains the version.

    The version comes first, so that it is checked before anything else in the file is read: types
    of another version may not exist here.
    """
    state: Any = model.__getstate__()
    if isinstance(state, dict):  # that of a subclass may lack it
        state = as_stamped(state)
    return _new, (type(model), __version__, FORMAT), state


def as_stamped(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a model together with the version and the format in which it is saved."""
    return {**state, STAMP: __version__, FORMAT_STAMP: FORMAT}


def read_stamped(state: dict[str, Any], name: str) -> dict[str, Any]:
    """The state of a saved model, named ``name`` in errors, if this version reads its format."""
    state = dict(state)
    version = state.pop(STAMP, None)
    check_written_by(version, name)
    _check_format(state.pop(FORMAT_STAMP, None), version, name)
    return state


def _new(cls: type[Any], written_by: str, format: Any = None) -> Any:
    """An empty object, for a state that follows; the first thing read from a pickle."""
    _check_series(written_by, cls.__name__)
    _check_format(format, written_by, cls.__name__)
    return object.__new__(cls)


def check_written_by(version: Any, name: str) -> None:
    """Reject a saved model of an incompatible version; warn of a newer one.

    Parameters
    ----------
    version : str or None
        The version that wrote it, as it says.
    name : str
        The name of the model in messages.
    """
    _check_series(version, name)
    if _release(version, name) > _release(__version__, name):
        warn_user(
            f"This {name} was written by hiclass {version}, which is newer than hiclass "
            f"{__version__} here. It can be read, but may use features that this version does not "
            f"have. To be safe, load it with hiclass {version} or newer."
        )


def _check_format(format: Any, version: Any, name: str) -> None:
    if format != FORMAT:
        raise ValueError(
            f"This {name} was written by hiclass {version} in the format {format!r} of model "
            f"files; hiclass {__version__} here reads the format {FORMAT}. Load it with the "
            f"version that wrote it, or fit the model again."
        )


def _check_series(version: Any, name: str) -> None:
    theirs, ours = _release(version, name), _release(__version__, name)
    if _series(theirs) != _series(ours):
        age = "newer" if theirs > ours else "older"
        raise ValueError(
            f"This {name} was written by hiclass {version}, which is {age} than hiclass "
            f"{__version__} here, and the two do not read each other's models. Load it with "
            f"hiclass {version}, or fit the model again with hiclass {__version__}."
        )


def _release(version: Any, name: str) -> tuple[int, int, int]:
    """The three numbers of a version; a suffix (rc1, .dev0) is ignored."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version) if isinstance(version, str) else None
    if found is None:
        raise ValueError(
            f"This {name} does not state which version of hiclass wrote it (found {version!r}), so "
            f"it cannot be read safely. Fit the model again with hiclass {__version__}."
        )
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def _series(release: tuple[int, int, int]) -> tuple[int, ...]:
    """What compatible versions have in common."""
    return release[:1] if release[0] else release[:2]
