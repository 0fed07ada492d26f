"""The version of this library, and what it means for models that another version has written.

Fitted models carry the version that wrote them, in a pickle and in a skops file alike. Versions
that share the first number that is not 0 read each other's models (0.1.0 and 0.1.7, 1.2.0 and
1.4.1): that is what semantic versioning promises. The inside of a model of any other version is
unknown: a guess could predict wrongly without a warning. Beside the version stands the
number of the format: what the saved state consists of. It grows when that changes.
"""

from __future__ import annotations

import re
from typing import Any

from hiclass._warnings import warn_user

__version__ = "0.1.0"

#: The format of saved models that this version writes and reads.
FORMAT = 1

#: Where the state of a model keeps the version and the format.
STAMP, FORMAT_STAMP = "_hiclass_version", "_hiclass_format"


def reduce_stamped(model: Any) -> tuple[Any, ...]:
    """What ``__reduce_ex__`` of a model returns, so that its file says who has written it.

    The version comes first, to be checked before anything else of the file is read: what another
    version calls its parts may not exist here.
    """
    state: Any = model.__getstate__()
    if isinstance(state, dict):  # that of a subclass may not say it
        state = as_stamped(state)
    return _new, (type(model), __version__, FORMAT), state


def as_stamped(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a model together with the version and the format in which it is saved."""
    return {**state, STAMP: __version__, FORMAT_STAMP: FORMAT}


def read_stamped(state: dict[str, Any], name: str) -> dict[str, Any]:
    """The state of a saved model, called ``name`` in errors, if this version reads its format."""
    state = dict(state)
    version = state.pop(STAMP, None)
    check_written_by(version, name)
    _check_format(state.pop(FORMAT_STAMP, None), version, name)
    return state


def _new(cls: type[Any], written_by: str, format: Any = None) -> Any:
    """An empty object, for a state that follows; the first thing that is read from a pickle."""
    _check_series(written_by, cls.__name__)
    _check_format(format, written_by, cls.__name__)
    return object.__new__(cls)


def check_written_by(version: Any, name: str) -> None:
    """Refuse a saved model of an incompatible version; warn of one that is newer.

    Parameters
    ----------
    version : str or None
        The version that wrote it, as it says.
    name : str
        What the model is, for the message.
    """
    _check_series(version, name)
    if _release(version, name) > _release(__version__, name):
        warn_user(
            f"This {name} was written by hiclass {version}, which is newer than hiclass "
            f"{__version__} here. It can be read, but may use what this version does not know. "
            f"Load it with hiclass {version} or newer to be sure."
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
    """The three numbers of a version; what follows them (rc1, .dev0) plays no role."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version) if isinstance(version, str) else None
    if found is None:
        raise ValueError(
            f"This {name} does not say which version of hiclass wrote it (found {version!r}), so "
            f"that it cannot be read safely. Fit the model again with hiclass {__version__}."
        )
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def _series(release: tuple[int, int, int]) -> tuple[int, ...]:
    """What compatible versions have in common."""
    return release[:1] if release[0] else release[:2]
