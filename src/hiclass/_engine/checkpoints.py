"""Finished local models on disk, so that an interrupted fit resumes and nothing is refitted.

A file is named by a hash of everything that its estimator depends on: its rows of X, target and fit
parameters, its class and parameters, and the versions of hiclass and scikit-learn. A file is
therefore never used for other data or parameters. Files are written under another name and then
renamed, and they have a checksum: a file is complete, or it is not used.

``joblib.Memory`` is not used, because it has no checksums and no versions of libraries in its keys,
and it empties its folder when the source of the cached function changes.

Problems with checkpoints never stop a fit. The engine collects remarks about them from the workers
and converts them to warnings. The models are pickled. Loading a pickle can run code, so the
directory must be trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
import sklearn

from hiclass._version import __version__

_MAGIC = b"hiclass checkpoint 1\n"
_SUFFIX = ".hiclass"


def checkpoint_key(
    estimator: Any, X: Any, target: Any, params: dict[str, Any], remarks: list[str]
) -> str | None:
    """Hash of everything that a fitted estimator depends on; None if something has no hash."""
    try:
        if not isinstance(X, np.ndarray) and not sp.issparse(X):
            # The memory layout of a frame changes when it is sent to a worker.
            X = pickle.loads(pickle.dumps(X, protocol=pickle.HIGHEST_PROTOCOL))
        kind = type(estimator)
        seen = (kind.__module__, kind.__qualname__, estimator, X, target, params)
        return str(joblib.hash((_versions(), seen), hash_name="sha1", coerce_mmap=True))
    except Exception as error:  # pickling may raise any exception
        remarks.append(_no_pickle(estimator, error))
        return None


def load_checkpoint(directory: str, key: str | None, remarks: list[str]) -> Any:
    """Return the estimator stored under a key, or None."""
    if key is None:
        return None
    path = Path(directory, key + _SUFFIX)
    try:
        payload = _verified(path.read_bytes(), key)
        return pickle.loads(payload)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Exception as error:  # unpickling may raise any exception
        remarks.append(
            f"The checkpoint {path.name} cannot be used ({_reason(error)}); its classifier is "
            f"fitted again."
        )
        return None


def save_checkpoint(directory: str, key: str | None, estimator: Any, remarks: list[str]) -> None:
    """Store a fitted estimator; if this fails, add a remark and leave no file."""
    if key is None:
        return
    temporary = None
    try:
        payload = pickle.dumps(estimator, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        remarks.append(_no_pickle(estimator, error))
        return
    try:
        os.makedirs(directory, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=".", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + json.dumps(_header(key, payload)).encode() + b"\n")
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, Path(directory, key + _SUFFIX))
        temporary = None
    except OSError as error:
        remarks.append(
            f"Checkpoints cannot be written to {directory} ({error.strerror or error}); the fit "
            "continues without them."
        )
    finally:
        # Also after Ctrl+C. Only a killed process leaves a file, which is never read.
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _verified(content: bytes, key: str) -> bytes:
    """The payload of a file, after checking that it is complete and written by hiclass."""
    if not content.startswith(_MAGIC):
        raise ValueError("not a checkpoint of hiclass")
    line, _, payload = content[len(_MAGIC) :].partition(b"\n")
    if line != json.dumps(_header(key, payload)).encode():
        raise ValueError("damaged, or written for something else")
    return payload


def _header(key: str, payload: bytes) -> dict[str, str]:
    return {"key": key, "sha256": hashlib.sha256(payload).hexdigest(), **_versions()}


def _versions() -> dict[str, str]:
    # Not importlib.metadata, because a checkout on the path has no metadata but needs checkpoints,
    # too.
    return {"hiclass": __version__, "scikit-learn": sklearn.__version__}


def _no_pickle(estimator: Any, error: Exception) -> str:
    return (
        f"{type(estimator).__name__} cannot be pickled ({_reason(error)}), so there is no "
        f"checkpoint of it."
    )


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).partition("\n")[0]
