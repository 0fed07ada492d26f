"""The identity of an encoder: a key that changes with the content of the encoder.

Vectors on disk must not be those of another encoder. The key consists of the type of the encoder,
the version of its library, and its content: parameters, vocabularies, weights.
"""

from __future__ import annotations

import copy
import functools
import pickle
import sys
from types import FunctionType, MethodType
from typing import Any

import joblib

_PLAIN = (str, int, float, bool, type(None))
_REMEDY = "Set cache_key='name and version', any text that changes with the encoder"


def key_of(encoder: Any, cache_key: str | None = None) -> str:
    """Return a key of an encoder, for the name of a file.

    Parameters
    ----------
    encoder : object
        The encoder, fitted if it learns.
    cache_key : str, default=None
        The user's own name for it, which replaces all that.

    Returns
    -------
    str
        32 hexadecimal digits.

    Raises
    ------
    ValueError
        If its content cannot be read, or is not the same in a copy, and there is no ``cache_key``.
    """
    if cache_key is not None:
        return str(joblib.hash(cache_key))
    kind = type(encoder)
    library = sys.modules.get(kind.__module__.partition(".")[0])
    version = str(getattr(library, "__version__", ""))
    return str(joblib.hash((kind.__module__, kind.__qualname__, version, _content_of(encoder))))


def _content_of(encoder: Any) -> str:
    """A hash of the content of an encoder."""
    parts: tuple[Any, ...]
    if isinstance(encoder, functools.partial):
        parts = _content_of(encoder.func), encoder.args, encoder.keywords
    elif isinstance(encoder, MethodType):
        parts = _content_of(encoder.__self__), encoder.__name__
    elif hasattr(encoder, "state_dict") and hasattr(encoder, "named_modules"):
        parts = _content_of_network(encoder)
    elif isinstance(encoder, FunctionType):
        raise ValueError(f"A function cannot be identified by its content. {_REMEDY}.")
    elif hasattr(encoder, "get_params"):
        raise ValueError(
            f"What a {type(encoder).__name__} has learned is not saved in the same form by every "
            f"program. {_REMEDY}."
        )
    else:
        parts = (_content_of_object(encoder),)
    return str(joblib.hash(parts))


def _content_of_object(encoder: Any) -> str:
    """A hash of the pickle of an object, if that of a copy is the same."""
    try:
        found, again = joblib.hash(encoder), joblib.hash(copy.deepcopy(encoder))
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise ValueError(
            f"The content of the encoder, a {type(encoder).__name__}, cannot be read ({error}). "
            f"{_REMEDY}."
        ) from error
    if found != again:
        raise ValueError(
            f"The content of the encoder, a {type(encoder).__name__}, has no fixed form: a copy of "
            f"it differs. {_REMEDY}."
        )
    return str(found)


def _content_of_network(network: Any) -> tuple[Any, ...]:
    """Weights and settings of a PyTorch network, whose pickle differs from run to run."""
    weights = [
        (name, str(tensor.dtype), tensor.detach().cpu().float().numpy())
        for name, tensor in network.state_dict().items()
    ]
    settings = [
        (name, type(module).__qualname__, _settings_of(module))
        for name, module in network.named_modules()
    ]
    return weights, settings, getattr(network, "max_seq_length", None)


def _settings_of(module: Any) -> dict[str, Any]:
    """The public attributes of a module that are plain data, except the training mode."""
    return {
        name: value
        for name, value in sorted(vars(module).items())
        if name[0] != "_" and name != "training" and _is_plain(value)
    }


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(item) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    return isinstance(value, _PLAIN)
