"""Vectors of texts on disk, in one SQLite file for each encoder.

A batch of vectors is one transaction: if a program is killed, complete batches remain, and several
programs may use the same file. Texts are identified by their hashes; the file contains no texts.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hiclass._typing import AnyArray, IntArray

if TYPE_CHECKING:
    import sqlite3

#: The largest number of texts per query; some builds of SQLite accept at most 999.
_AT_ONCE = 500
#: Seconds to wait for another program that is writing.
_PATIENCE = 60.0
_TABLES = """
CREATE TABLE IF NOT EXISTS about (dtype TEXT NOT NULL, width INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL);
"""


class VectorStore:
    """The vectors of one encoder, by text.

    Parameters
    ----------
    connection : sqlite3.Connection
        To the file, which has its tables.
    path : Path
        The file, for messages.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def read(self, texts: list[str]) -> tuple[IntArray, AnyArray]:
        """Look up the vectors of different texts.

        Parameters
        ----------
        texts : list of str
            The texts.

        Returns
        -------
        known : ndarray of int
            The positions of the stored texts, in ascending order.
        vectors : ndarray of shape (n_known, width)
            Their vectors.
        """
        about = self._about()
        if about is None:
            return np.zeros(0, dtype=np.intp), np.zeros((0, 0))
        dtype, width = about
        known: list[int] = []
        blobs: list[bytes] = []
        for start in range(0, len(texts), _AT_ONCE):
            hashes = [_hash(text) for text in texts[start : start + _AT_ONCE]]
            marks = ",".join("?" * len(hashes))
            query = f"SELECT text, vector FROM vectors WHERE text IN ({marks})"
            found = dict(self._connection.execute(query, hashes).fetchall())
            for i, key in enumerate(hashes, start):
                if key in found:
                    known.append(i)
                    blobs.append(found[key])
        vectors = np.frombuffer(bytearray().join(blobs), dtype=dtype).reshape(len(known), width)
        return np.array(known, dtype=np.intp), vectors

    def write(self, texts: list[str], vectors: AnyArray) -> None:
        """Store the vectors of texts, all or none.

        Parameters
        ----------
        texts : list of str
            The texts.
        vectors : ndarray of shape (n_texts, width)
            Their vectors.

        Raises
        ------
        ValueError
            If the file has vectors of another width or precision.
        """
        given = vectors.dtype.newbyteorder("<").str, vectors.shape[1]
        rows = np.ascontiguousarray(vectors, dtype=given[0])
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            about = self._about()
            if about is None:
                self._connection.execute("INSERT INTO about VALUES (?, ?)", given)
            elif about != given:
                raise ValueError(
                    f"The cache {self._path} has vectors of {about[1]} numbers ({about[0]}), but "
                    f"the encoder returned {given[1]} ({given[0]}). Delete the file, or use "
                    "another cache_key for this encoder."
                )
            pairs = [(_hash(t), row.tobytes()) for t, row in zip(texts, rows, strict=True)]
            self._connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", pairs)

    def _about(self) -> tuple[str, int] | None:
        found = self._connection.execute("SELECT dtype, width FROM about").fetchone()
        return None if found is None else (found[0], found[1])


@contextlib.contextmanager
def open_store(folder: Any, key: str) -> Iterator[VectorStore]:
    """Open the vectors of an encoder.

    Parameters
    ----------
    folder : str or path
        The folder of the files. It is created if it does not exist.
    key : str
        The key of the encoder.

    Yields
    ------
    VectorStore
        To read from and to write into.

    Raises
    ------
    ValueError
        If the file is damaged, or cannot be read or written.
    """
    import sqlite3  # some builds of Python have none

    path = Path(folder).expanduser() / f"{key}.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(path, _PATIENCE, isolation_level=None)) as found:
            found.executescript(_TABLES)
            yield VectorStore(found, path)
    except sqlite3.OperationalError as error:
        raise ValueError(
            f"The cache {path} cannot be used: {error}. Use another cache=, or cache=None."
        ) from error
    except sqlite3.DatabaseError as error:
        raise ValueError(f"The cache {path} is damaged: {error}. Delete the file.") from error


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
