"""Vectors on disk: nothing is encoded twice, and nothing is half-written."""

import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from hiclass._encoders import store as store_module
from hiclass._encoders.encoding import encode_texts
from hiclass._encoders.store import open_store

KEY = "0" * 32


class Counting:
    """An encoder that counts the texts that it gets, and fails at some."""

    def __init__(self, dtype=np.float32, width=2, fails_at=None):
        self.seen = []
        self.dtype, self.width, self.fails_at = dtype, width, fails_at

    def encode(self, texts):
        if self.fails_at in texts:
            raise RuntimeError("out of memory")
        self.seen += texts
        return np.array([[len(t)] * self.width for t in texts], dtype=self.dtype)


def encoded(folder, encoder, texts, **settings):
    with open_store(folder, KEY) as store:
        return encode_texts(encoder, texts, store=store, **settings)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_text_is_encoded_once_for_all_calls(tmp_path, dtype):
    first, second = Counting(dtype), Counting(dtype)
    found = encoded(tmp_path, first, ["a", "bb", "a"])
    assert first.seen == ["a", "bb"]
    again = encoded(tmp_path, second, ["ccc", "bb", "a", "ccc"])
    assert second.seen == ["ccc"]
    assert found.tolist() == [[1, 1], [2, 2], [1, 1]]
    assert again.tolist() == [[3, 3], [2, 2], [1, 1], [3, 3]]
    assert again.dtype == found.dtype == dtype
    third = Counting(dtype)
    known = encoded(tmp_path, third, ["bb"], normalize=True)
    assert third.seen == []
    np.testing.assert_allclose(known, [[0.5**0.5] * 2], rtol=1e-6)


def test_many_texts_are_looked_up_in_several_queries(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_AT_ONCE", 3)
    texts = [f"{i}" * (i % 7 + 1) for i in range(20)]
    expected = encode_texts(Counting(), texts)
    encoded(tmp_path, Counting(), texts[::2])
    np.testing.assert_array_equal(encoded(tmp_path, Counting(), texts), expected)


def test_what_was_complete_survives_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="out of memory"):
        encoded(tmp_path, Counting(fails_at="ccc"), ["a", "bb", "ccc"], batch_size=1)
    encoder = Counting()
    encoded(tmp_path, encoder, ["a", "bb", "ccc"])
    assert encoder.seen == ["ccc"]


KILLED = """
import os, signal, sys
import numpy as np
from hiclass._encoders.encoding import encode_texts
from hiclass._encoders.store import open_store

def encode(texts):
    if texts == ["text 5"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.ones((len(texts), 2), dtype=np.float32)

with open_store(sys.argv[1], "0" * 32) as store:
    encode_texts(encode, [f"text {i}" for i in range(10)], batch_size=1, store=store)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_program_leaves_what_was_complete(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -9
    encoder = Counting()
    encoded(tmp_path, encoder, [f"text {i}" for i in range(10)])
    assert encoder.seen == [f"text {i}" for i in range(5, 10)]


def test_several_threads_write_into_one_file(tmp_path):
    texts = [f"{i}" for i in range(40)]
    errors = []

    def work(offset):
        try:
            encoded(tmp_path, Counting(), texts[offset:] + texts[:offset], batch_size=5)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i * 7,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    encoder = Counting()
    assert encoded(tmp_path, encoder, texts).shape == (40, 2)
    assert encoder.seen == []


def test_vectors_of_another_width_or_precision_are_refused(tmp_path):
    encoded(tmp_path, Counting(), ["a"])
    with pytest.raises(ValueError, match="vectors of 3 numbers, but of 2 numbers before"):
        encoded(tmp_path, Counting(width=3), ["a", "b"])
    with pytest.raises(ValueError, match=r"has vectors of 2 numbers \(<f4\).*3 \(<f4\)"):
        encoded(tmp_path, Counting(width=3), ["b"])
    with pytest.raises(ValueError, match="another cache_key"):
        encoded(tmp_path, Counting(np.float64), ["b"])


def test_sparse_vectors_are_not_kept(tmp_path):
    with pytest.raises(ValueError, match="Leave cache=None"):
        encoded(tmp_path, lambda texts: sp.eye(len(texts), format="csr"), ["a", "b"])


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / f"{KEY}.sqlite").write_bytes(b"this is not a database" * 100)
    with pytest.raises(ValueError, match=r"000\.sqlite is damaged.*Delete the file"):
        encoded(tmp_path, Counting(), ["a"])


def test_a_file_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / f"{KEY}.sqlite").mkdir()
    with pytest.raises(ValueError, match=r"000\.sqlite cannot be used"):
        encoded(tmp_path, Counting(), ["a"])


def test_the_file_holds_no_texts(tmp_path):
    encoded(tmp_path, Counting(), ["a very secret text", "\ud800 half a pair"])
    assert b"secret" not in (tmp_path / f"{KEY}.sqlite").read_bytes()
    with sqlite3.connect(tmp_path / f"{KEY}.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (2,)
    connection.close()
