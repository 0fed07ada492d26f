"""The options ``--min-confidence`` and ``--threshold``.

The first is one number, one per level, or a JSON file with one number per class. The second is a
number, or the name of a selection and its arguments, separated by colons.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from hiclass._inference.confidence import check_min_confidence
from hiclass._inference.selections import SELECTIONS, read_threshold

_NEEDED = (
    "a number from 0 to 1 is needed, one per level with commas between them, or a JSON file with "
    "one per class"
)


def read_min_confidence(text: str) -> Any:
    """Read the value of the option.

    Parameters
    ----------
    text : str
        The value of the option: ``0.8``, ``0.5,0.7,0.9``, or the name of a file that ends with
        ``.json``. The file holds an object of labels and thresholds, or a list of
        ``{"class": [...], "threshold": ...}``, as ``hiclass guarantee`` writes it; a threshold is
        a number or a list with one per level, and null for "never".

    Returns
    -------
    float, list or dict
        The value of ``min_confidence``.

    Raises
    ------
    argparse.ArgumentTypeError
        If it is nothing of that.
    """
    if text.lower().endswith(".json"):
        return _read_file(text)
    parts = text.split(",")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = [math.nan]
    single = len(parts) == 1
    if not all(0 <= number <= (1 if single else math.inf) for number in numbers):
        raise argparse.ArgumentTypeError(f"{_NEEDED}, not {text!r}")
    return numbers[0] if single else numbers


def read_set_threshold(text: str) -> Any:
    """Read the value of ``--threshold``.

    Parameters
    ----------
    text : str
        The value of the option: ``0.3``, ``micro_f1``, ``precision:0.9``, ``cost:1:5``, ``top:3``.

    Returns
    -------
    float, str or tuple
        The value of ``threshold``.

    Raises
    ------
    argparse.ArgumentTypeError
        If it is nothing of that.
    """
    name, *arguments = text.split(":")
    try:
        numbers = [int(each) if each.isdecimal() else float(each) for each in arguments]
        found: Any = (name, *numbers) if numbers else name
        found = found if name in SELECTIONS else float(text)
        read_threshold(found)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"a number above 0 and up to 1 is needed, or tuned, micro_f1, precision:0.9, cost:1:5 "
            f"or top:3 (numbers are examples), not {text!r}"
        ) from error
    return found


def _read_file(path: str) -> Any:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        found = from_json(content)
        check_min_confidence(found)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise argparse.ArgumentTypeError(f"{_NEEDED}; {path}: {error}") from error
    return found


def from_json(content: Any) -> Any:
    """The inverse of ``as_json`` for thresholds.

    Parameters
    ----------
    content : object
        A number, null, a list of them, an object of labels and thresholds, or a list of objects.

    Returns
    -------
    float, list or dict
        The value of ``min_confidence``.
    """
    if isinstance(content, dict):
        return {label: from_json(value) for label, value in content.items()}
    if isinstance(content, list) and content and all(isinstance(each, dict) for each in content):
        return {_as_class(each["class"]): from_json(each["threshold"]) for each in content}
    if isinstance(content, list):
        return [from_json(each) for each in content]
    return math.inf if content is None else content


def _as_class(name: Any) -> Any:
    return tuple(name) if isinstance(name, list) else name
