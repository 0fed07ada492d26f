"""Checkpoints: a training that was killed continues from its last state.

A file is named by a hash of everything that training depends on: rows, labels, parameters. It is
written as a whole or not at all, and carries a checksum. It holds tensors and plain data only, and
is read without running code. Problems with files lead to warnings, never to errors.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from hiclass._engine.checkpoints import checkpoint_key
from hiclass._files import write_whole
from hiclass._warnings import warn_user

_MAGIC = b"hiclass training 2\n"
_SUFFIX = ".hiclass-training"
#: Parameters that training does not depend on.
_NOT_OF_TRAINING = (
    "calibration",
    "checkpoint_dir",
    "decoding",
    "device",
    "expected_f1",
    "min_confidence",
    "threshold",
    "verbose",
)


class Checkpoint:
    """The file of one training.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    state : dict or None
        What was stored there, when this object was made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.state = self._read()

    def _read(self) -> dict[str, Any] | None:
        try:
            content = self._path.read_bytes()
        except OSError:
            return None
        head, payload = content[: len(_MAGIC) + 32], content[len(_MAGIC) + 32 :]
        if head != _MAGIC + hashlib.sha256(payload).digest():
            warn_user(
                f"The checkpoint {self._path.name} is damaged, or was written by another version. "
                f"Training starts again."
            )
            return None
        found: dict[str, Any] = torch.load(
            io.BytesIO(payload), map_location="cpu", weights_only=True
        )
        return found

    def save(self, state: dict[str, Any]) -> None:
        """Replace the stored state."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        payload = buffer.getvalue()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with write_whole(self._path) as file:
                file.write(_MAGIC + hashlib.sha256(payload).digest())
                file.write(payload)
        except OSError as error:
            warn_user(
                f"Checkpoints cannot be written to {self._path.parent} "
                f"({error.strerror or error}). Training continues without them."
            )


def open_checkpoint(estimator: Any, X: Any, target: Any, what: dict[str, Any]) -> Checkpoint | None:
    """The checkpoint for these rows and parameters; None without ``checkpoint_dir``."""
    if estimator.checkpoint_dir is None:
        return None
    params = estimator.get_params(deep=False)
    params = {name: value for name, value in params.items() if name not in _NOT_OF_TRAINING}
    if params["random_state"] is not None and not isinstance(params["random_state"], int):
        params["random_state"] = "drawn"  # a generator moves on: the seed is in the file
    remarks: list[str] = []
    key = checkpoint_key(params, X, target, what, remarks)
    for remark in remarks:
        warn_user(remark)
    return None if key is None else Checkpoint(Path(estimator.checkpoint_dir, key + _SUFFIX))


class Digests:
    """Hashes of the batches of the first epoch of a stream, each with all batches before it.

    A checkpoint must not be used for other rows, but its name cannot depend on rows that have not
    been read yet.
    """

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._found: list[str] = []

    def add(self, rows: Any) -> None:
        """Note a batch, in the order of the stream."""
        for part in (rows.X, rows.target, rows.weight):
            parts = (part.data, part.indices, part.indptr) if sp.issparse(part) else (part,)
            for array in parts:
                if array is not None:
                    self._hash.update(np.ascontiguousarray(array).data)
        self._found.append(self._hash.hexdigest())

    def of(self, n_batches: int | None = None) -> tuple[int, str]:
        """The number of batches, at most ``n_batches``, and their hash."""
        n = len(self._found[:n_batches])
        return n, self._found[n - 1] if n else ""

    def check(self, stored: tuple[int, str], folder: Any) -> None:
        """Refuse batches unless they are those of a checkpoint, no more and no fewer."""
        if self.of() != tuple(stored):
            raise ValueError(
                f"The checkpoint in {folder} is of other batches than these, although the first "
                f"batch and the parameters are the same. Pass the same batches in the same order "
                f"to continue, or another checkpoint_dir to start again."
            )
