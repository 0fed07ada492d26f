"""Texts to vectors: each text once, and what an encoder must not return."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from hiclass._encoders.encoding import check_texts, encode_texts, fit_encoder, is_encoder

TEXTS = ["a cat", "dogs bark", "a cat", "", "dogs bark", "snake"]


def lengths(texts):
    """The number of characters of a text, and of its letters a."""
    return np.array([[len(text), text.count("a")] for text in texts], dtype=np.float32)


class WithEncode:
    """An encoder that notes what it is called with."""

    def __init__(self, answer=lengths):
        self.calls = []
        self.answer = answer

    def encode(self, texts):
        self.calls.append(texts)
        return self.answer(texts)


class WithEmbed:
    def embed(self, texts):
        return lengths(texts)


class WithAll(WithEncode):
    def embed(self, texts):
        raise AssertionError

    def transform(self, texts):
        raise AssertionError


@pytest.mark.parametrize("encoder", [lengths, WithEncode(), WithEmbed(), WithAll()])
def test_vectors_come_in_the_order_of_the_rows(encoder):
    found = encode_texts(encoder, TEXTS)
    assert found.dtype == np.float32
    assert found.tolist() == [[5, 2], [9, 1], [5, 2], [0, 0], [9, 1], [5, 1]]


def test_every_distinct_text_is_encoded_once_in_batches():
    encoder = WithEncode()
    encode_texts(encoder, TEXTS, batch_size=3)
    assert encoder.calls == [["a cat", "dogs bark", ""], ["snake"]]


def test_unit_length_leaves_zeros_and_the_matrix_of_the_encoder_alone():
    kept = np.array([[3.0, 4.0], [0.0, 0.0]])
    found = encode_texts(lambda texts: kept, ["x", "y"], normalize=True)
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0]])
    assert kept[0, 0] == 3


def test_a_transformer_is_copied_and_fitted_and_may_be_sparse():
    vectorizer = TfidfVectorizer()
    fitted = fit_encoder(vectorizer, TEXTS)
    assert not hasattr(vectorizer, "vocabulary_")
    found = encode_texts(fitted, TEXTS, batch_size=2)
    assert sp.issparse(found)
    assert found.format == "csr"
    np.testing.assert_allclose(found.toarray(), fitted.transform(TEXTS).toarray())


def test_a_pipeline_is_an_encoder_and_learns_from_y_where_it_wants_to():
    pipeline = make_pipeline(CountVectorizer(), TruncatedSVD(2, random_state=0))
    found = encode_texts(fit_encoder(pipeline, TEXTS), TEXTS)
    np.testing.assert_allclose(found, pipeline.fit_transform(TEXTS), atol=1e-12)

    class Supervised:
        def fit(self, texts, y):
            self.y_ = y
            return self

        def transform(self, texts):
            return lengths(texts)

    assert fit_encoder(Supervised(), TEXTS, "labels").y_ == "labels"


def test_an_encoder_that_does_not_learn_is_not_copied():
    encoder = WithEncode()
    assert fit_encoder(encoder, TEXTS) is encoder


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda texts: np.ones((len(texts), 2), dtype=np.float16), np.float32),
        (lambda texts: np.ones((len(texts), 2), dtype=np.int8), np.float32),
        (lambda texts: np.ones((len(texts), 2), dtype=np.int64), np.float64),
        (lambda texts: np.ones((len(texts), 2), dtype=bool), np.float32),
        (lambda texts: [[1, 1.0] for _ in texts], np.float64),
        (lambda texts: (np.ones(2) for _ in texts), np.float64),
        (lambda texts: pd.DataFrame(np.ones((len(texts), 2))), np.float64),
        (lambda texts: sp.coo_matrix(np.ones((len(texts), 2), dtype=np.int64)), np.float64),
    ],
)
def test_whatever_holds_numbers_becomes_a_matrix_of_floats(answer, expected):
    found = encode_texts(answer, ["x", "y"])
    assert found.dtype == expected
    assert found.shape == (2, 2)
    assert found.sum() == 4


class Tensor:
    """As much of a tensor of PyTorch as matters here."""

    def __init__(self, values, dtype):
        self.values, self.dtype = values, dtype

    def detach(self):
        return self

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.values, "torch.float32")

    def numpy(self):
        assert self.dtype == "torch.float32"
        return self.values


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_tensors_are_brought_to_this_memory(dtype):
    found = encode_texts(lambda texts: Tensor(lengths(texts), dtype), ["aa"])
    assert found.tolist() == [[2, 2]]


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda t: np.ones((1, 2)), ValueError, r"1 vector\(s\) for 2 text\(s\)"),
        (lambda t: np.ones(2), ValueError, r"shape \(2,\) for 2 text\(s\)"),
        (lambda t: np.ones((2, 3, 4)), ValueError, r"shape \(2, 3, 4\)"),
        (lambda t: np.ones((2, 0)), ValueError, "without numbers"),
        (lambda t: [[1.0], [1.0, 2.0]], ValueError, "different lengths"),
        (lambda t: np.array([["x"], ["y"]]), TypeError, "instead of numbers"),
        (lambda t: None, ValueError, "shape"),
        (lambda t: [[1.0], [np.nan]], ValueError, "NaN for the text 'second'"),
        (lambda t: [[-np.inf], [1.0]], ValueError, "an infinite number for the text 'first'"),
        (lambda t: sp.csr_matrix([[1.0], [np.nan]]), ValueError, "NaN for the text 'second'"),
    ],
)
def test_what_an_encoder_must_not_return_is_named(answer, error, message):
    with pytest.raises(error, match=message):
        encode_texts(answer, ["first", "second"])


def test_a_width_that_changes_is_an_error():
    def growing(texts):
        return np.ones((1, len(texts[0])))

    with pytest.raises(ValueError, match="vectors of 2 numbers, but of 1 numbers before"):
        encode_texts(growing, ["a", "bb"], batch_size=1)
    with pytest.raises(ValueError, match="vectors of 1 numbers, but of 3 numbers before"):
        encode_texts(growing, ["a"], width=3)


def test_large_numbers_whose_sum_is_infinite_are_fine():
    large = np.full((1, 4), 1e308)
    assert np.isfinite(encode_texts(lambda texts: large, ["x"])).all()


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        ("all-MiniLM", "Load the model"),
        (TfidfVectorizer, "the class TfidfVectorizer"),
        (None, "got None"),
        (b"x", "got b'x'"),
    ],
)
def test_what_is_not_an_encoder_is_refused(encoder, message):
    assert not is_encoder(encoder)
    with pytest.raises(TypeError, match=message):
        encode_texts(encoder, ["x"])


def test_a_long_text_is_shortened_in_messages():
    with pytest.raises(ValueError, match=r"for the text 'x+\.\.\.\. Remove"):
        encode_texts(lambda texts: [[np.nan]], ["x" * 1000])


@pytest.mark.parametrize(
    "texts",
    [
        ["a", "", "b"],
        ("a", None, "b"),
        np.array(["a", "", "b"]),
        np.array(["a", np.nan, "b"], dtype=object),
        np.array([["a"], ["" ], ["b"]]),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", pd.NA, "b"], index=[5, 5, 5], dtype="string"),
        pd.DataFrame({"t": ["a", None, "b"]}),
        pl.Series(["a", None, "b"]),
        pl.DataFrame({"t": ["a", None, "b"]}),
        pa.array(["a", None, "b"]),
        pa.table({"t": ["a", None, "b"]}),
    ],
)  # fmt: skip
def test_texts_come_in_many_forms_and_missing_ones_are_empty(texts):
    assert check_texts(texts) == ["a", "", "b"]


def test_the_list_of_the_caller_stays_as_it_is():
    texts = ["a", None]
    check_texts(texts)
    assert texts == ["a", None]


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("one text", TypeError, "single text"),
        ([], ValueError, "0 texts"),
        (["a", 5], TypeError, r"Row 1 of X is 5 \(of the type int\)"),
        ([b"a"], TypeError, "of the type bytes"),
        ([b""], TypeError, "of the type bytes"),
        (np.zeros((2, 3)), ValueError, r"shape \(2, 3\)"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), ValueError, "Select the column"),
        (sp.csr_matrix([[1.0]]), ValueError, "shape"),
        ({"a": 1}, TypeError, "X is a dict"),
    ],
)
def test_what_is_not_texts_is_refused(texts, error, message):
    with pytest.raises(error, match=message):
        check_texts(texts)
