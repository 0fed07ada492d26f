"""The key of an encoder: the same for the same content, another for another."""

import functools
import subprocess
import sys
import threading
import types

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator

from hiclass._encoders.identity import key_of


class Table:
    """An encoder by content."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def encode(self, texts, prompt=""):
        raise NotImplementedError


class Unlike(Table):
    pass


class Restless:
    """A copy of it differs."""

    def __deepcopy__(self, memo):
        found = Restless()
        found.copied = True
        return found


def encode(texts):
    raise NotImplementedError


def test_the_key_depends_on_content_and_type():
    same = key_of(Table([1.0, 2.0]))
    assert len(same) == 32
    assert same == key_of(Table([1.0, 2.0]))
    others = [
        Table([1.0, 3.0]),
        Unlike([1.0, 2.0]),
        Table([1.0, 2.0]).encode,
        functools.partial(Table([1.0, 2.0]).encode, prompt="query: "),
        functools.partial(Table([1.0, 2.0]).encode, prompt="text: "),
    ]
    assert len({same, *map(key_of, others)}) == 1 + len(others)


def test_the_version_of_the_library_is_part_of_the_key(monkeypatch):
    before = key_of(Table([1.0]))
    monkeypatch.setattr(sys.modules[__name__], "__version__", "99.0", raising=False)
    assert key_of(Table([1.0])) != before


PROGRAM = """
import types
from hiclass._encoders.identity import key_of
print(key_of(types.SimpleNamespace(words={"the", "an", "a"}, table={"x": 1.0, "y": [2]})))
"""


def test_the_key_is_the_same_in_another_process_whatever_the_hash_seed():
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (encode, "A function cannot be identified"),
        (functools.partial(functools.partial(encode)), "A function cannot be identified"),
        (Table(threading.Lock()), "a Table, cannot be read"),
        (types.SimpleNamespace(encode=lambda texts: texts), "cannot be read"),
        (FrozenEstimator(TfidfVectorizer().fit(["a cat"])), "in the same form by every program"),
        (TfidfVectorizer().fit(["a cat"]).transform, "in the same form by every program"),
        (Restless(), "a copy of it differs"),
    ],
)
def test_an_encoder_without_a_key_needs_one_from_the_user(encoder, message):
    with pytest.raises(ValueError, match=message) as caught:
        key_of(encoder)
    assert "cache_key" in str(caught.value)
    assert key_of(encoder, "mine, 1") == key_of(encoder, "mine, 1") != key_of(encoder, "mine, 2")


@pytest.mark.heavy
def test_the_key_of_a_network_depends_on_weights_and_settings():
    torch = pytest.importorskip("torch")

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)
            self.prompts = {"query": "query: "}
            self.options = [1, (2.0, None)]
            self.max_seq_length = 128
            self._cache = {}
            self.handle = object()
            torch.nn.init.ones_(self.layer.weight)
            torch.nn.init.zeros_(self.layer.bias)

    network = Encoder()
    key = key_of(network)
    network.eval()
    network._cache["x"] = 1
    assert key_of(network) == key == key_of(Encoder())
    network.prompts["query"] = ""
    assert key_of(network) != key
    shorter = Encoder()
    shorter.max_seq_length = 64
    assert key_of(shorter) != key
    trained = Encoder()
    with torch.no_grad():
        trained.layer.weight[0, 0] = 2
    assert key_of(trained) != key
    assert key_of(Encoder().to(torch.bfloat16)) != key
