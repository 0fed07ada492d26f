"""Warnings that show the line of the user's code, wherever in the package they occur."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_PACKAGE = __name__.partition(".")[0]


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the package.

    Parameters
    ----------
    message : str
        The message.
    category : type, default=UserWarning
        The type of the warning.
    """
    frame: FrameType | None = sys._getframe()
    level = users_level = 1
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
            users_level = level + 1
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=users_level)
