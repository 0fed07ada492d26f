"""Finished local models on disk: a killed fit continues, and what did not change is not refitted.

A file is named by a hash of everything that its estimator depends on: its rows of X, target and fit
parameters, its class and parameters, and the versions of hiclass and scikit-learn. So nothing is
ever reused for other data or other parameters. Files are written under another name first and then
renamed, and they carry a checksum: a file is whole, or it is not used.

The models are pickled. Reading a pickle can run code, so the directory must be trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib

_MAGIC = b"hiclass checkpoint 1\n"
_SUFFIX = ".hiclass"


def checkpoint_key(estimator: Any, X: Any, target: Any, params: dict[str, Any]) -> str:
    """Hash of all that a fitted estimator depends on."""
    seen = (type(estimator).__module__, type(estimator).__qualname__, estimator, X, target, params)
    return str(joblib.hash((_versions(), seen), hash_name="sha1", coerce_mmap=True))


def load_checkpoint(directory: str, key: str) -> Any:
    """Return the estimator that was stored under a key, or None."""
    path = Path(directory, key + _SUFFIX)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    payload = _verified(content, key)
    if payload is None:
        warnings.warn(
            f"The checkpoint {path.name} is damaged or not one of ours; its classifier is fitted "
            f"again.",
            UserWarning,
            stacklevel=2,
        )
        return None
    return pickle.loads(payload)


def save_checkpoint(directory: str, key: str, estimator: Any) -> None:
    """Store a fitted estimator; if that fails, warn and leave nothing behind."""
    payload = pickle.dumps(estimator, protocol=pickle.HIGHEST_PROTOCOL)
    header = {"key": key, "sha256": hashlib.sha256(payload).hexdigest(), **_versions()}
    content = _MAGIC + json.dumps(header).encode() + b"\n" + payload
    path = Path(directory, key + _SUFFIX)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=".", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        warnings.warn(
            f"A checkpoint could not be written ({error}); the fit goes on without it.",
            UserWarning,
            stacklevel=2,
        )


def _verified(content: bytes, key: str) -> bytes | None:
    """The payload of a file if it is whole and ours, before anything in it is believed."""
    if not content.startswith(_MAGIC):
        return None
    line, _, payload = content[len(_MAGIC) :].partition(b"\n")
    try:
        header = json.loads(line)
    except ValueError:
        return None
    expected = {"key": key, "sha256": hashlib.sha256(payload).hexdigest(), **_versions()}
    return payload if header == expected else None


def _versions() -> dict[str, str]:
    return {"hiclass": version("hiclass"), "scikit-learn": version("scikit-learn")}
