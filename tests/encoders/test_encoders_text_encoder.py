"""The transformer: pipelines, copies, files, caches, and a real encoder."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import (
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_set_params,
)

from hiclass import TRUSTED_TYPES, LocalClassifierPerParentNode, TextEncoder

TEXTS = ["a cat sleeps", "my cat plays", "the dog barks", "a loud dog", "the snake", "a snake"]
Y = [["mammal", "cat"]] * 2 + [["mammal", "dog"]] * 2 + [["reptile", "snake"]] * 2


class Letters:
    """How often some letters are in a text; counts its texts."""

    def __init__(self, letters="acdkgs", scale=1.0):
        self.letters, self.scale = letters, scale
        self.seen = []

    def encode(self, texts):
        self.seen += texts
        counts = [[text.count(letter) for letter in self.letters] for text in texts]
        return self.scale * np.array(counts, dtype=np.float32)

    def __getstate__(self):
        return {"letters": self.letters, "scale": self.scale, "seen": []}


def svd():
    return make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))


def test_vectors_have_unit_length_unless_told_otherwise():
    found = TextEncoder(Letters()).fit_transform(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)
    plain = TextEncoder(Letters(), normalize=False).fit_transform(TEXTS)
    np.testing.assert_array_equal(plain, Letters().encode(TEXTS))


def test_fit_encodes_one_text_and_fit_transform_every_text_once():
    encoder = Letters()
    TextEncoder(encoder).fit(TEXTS * 2)
    assert encoder.seen == TEXTS[:1]
    transformer = TextEncoder(encoder)
    transformer.fit_transform(TEXTS * 2)
    assert encoder.seen == TEXTS[:1] + TEXTS
    assert transformer.n_features_out_ == 6
    assert transformer.encoder_ is encoder


def test_an_encoder_that_learns_is_copied_unless_it_is_frozen():
    encoder = svd()
    transformer = TextEncoder(encoder).fit(TEXTS)
    assert transformer.encoder_ is not encoder
    assert not hasattr(encoder[0], "vocabulary_")
    frozen = FrozenEstimator(CountVectorizer().fit(["cat dog"]))
    assert TextEncoder(frozen).fit_transform(TEXTS).shape == (6, 2)


def test_it_stands_in_pipelines_searches_and_column_transformers():
    model = make_pipeline(TextEncoder(Letters()), LocalClassifierPerParentNode(GaussianNB()))
    assert model.fit(TEXTS, Y).predict(["cat"]).tolist() == [["mammal", "cat"]]
    labels = ["cat", "cat", "dog", "dog", "snake", "snake"]
    nb = make_pipeline(TextEncoder(svd()), GaussianNB())
    search = GridSearchCV(nb, {"textencoder__encoder__truncatedsvd__n_components": [1, 3]}, cv=2)
    assert search.fit(TEXTS, labels).best_score_ >= 0
    assert len(cross_val_score(nb, np.array(TEXTS), labels, cv=2)) == 2
    frame = pd.DataFrame({"text": TEXTS, "n": range(6)})
    columns = make_column_transformer((TextEncoder(Letters()), "text"), ("passthrough", ["n"]))
    assert columns.fit_transform(frame).shape == (6, 7)
    assert columns.get_feature_names_out().tolist()[:2] == [
        "textencoder__textencoder0",
        "textencoder__textencoder1",
    ]


def test_names_are_those_of_the_encoder_where_it_has_some():
    transformer = TextEncoder(CountVectorizer()).fit(["dog cat"])
    assert transformer.get_feature_names_out().tolist() == ["cat", "dog"]
    named = TextEncoder(svd()).set_output(transform="pandas").fit_transform(TEXTS)
    assert list(named.columns) == ["truncatedsvd0", "truncatedsvd1", "truncatedsvd2"]


def test_copies_share_an_encoder_that_does_not_learn():
    encoder = Letters()
    transformer = TextEncoder(encoder, normalize=False, cache_key="k").fit(TEXTS)
    copy = clone(transformer)
    assert copy.encoder is encoder
    assert not hasattr(copy, "encoder_")
    assert copy.get_params()["cache_key"] == "k"
    learner = TextEncoder(svd())
    assert clone(learner).encoder is not learner.encoder


def test_files_give_the_same_vectors(tmp_path):
    transformer = TextEncoder(svd()).fit(TEXTS)
    expected = transformer.transform(TEXTS)
    skops.io.dump(transformer, tmp_path / "t.skops")
    loaded = skops.io.load(tmp_path / "t.skops", trusted=list(TRUSTED_TYPES))
    for other in (loaded, pickle.loads(pickle.dumps(transformer))):
        np.testing.assert_array_equal(other.transform(TEXTS), expected)
    letters = TextEncoder(Letters()).fit(TEXTS)
    again = pickle.loads(pickle.dumps(letters))
    np.testing.assert_array_equal(again.transform(TEXTS), letters.transform(TEXTS))


def test_a_cache_serves_the_same_encoder_and_no_other(tmp_path):
    first, same, other = Letters(), Letters(), Letters(scale=2.0)
    folder = tmp_path / "new" / "folder"
    for encoder in (first, same, other):
        transformer = TextEncoder(encoder, cache=folder, normalize=False)
        found = transformer.fit_transform(TEXTS)
        np.testing.assert_array_equal(found, Letters(scale=encoder.scale).encode(TEXTS))
    assert (len(first.seen), len(same.seen), len(other.seen)) == (6, 0, 6)
    assert len(list(folder.glob("*.sqlite"))) == 2


def test_the_cache_is_read_at_every_call(tmp_path):
    encoder = Letters()
    transformer = TextEncoder(encoder).fit(TEXTS)
    transformer.set_params(cache=str(tmp_path)).transform(TEXTS)
    before = len(encoder.seen)
    transformer.transform(TEXTS)
    assert len(encoder.seen) == before
    transformer.set_params(cache=None).transform(TEXTS)
    assert len(encoder.seen) == before + 6


def test_fitting_again_finds_out_again_which_encoder_it_is(tmp_path):
    transformer = TextEncoder(Letters(), cache=tmp_path, normalize=False).fit(TEXTS)
    transformer.set_params(encoder=Letters(scale=3.0)).fit(TEXTS)
    assert transformer.transform(["a"])[0, 0] == 3


def test_a_loaded_one_does_not_take_vectors_of_another_version(tmp_path, monkeypatch):
    transformer = TextEncoder(Letters(), cache=tmp_path).fit(TEXTS)
    stored = pickle.dumps(transformer)
    library = sys.modules[Letters.__module__.partition(".")[0]]
    monkeypatch.setattr(library, "__version__", "2", raising=False)
    pickle.loads(stored).transform(TEXTS)
    assert len(list(tmp_path.glob("*.sqlite"))) == 2


def test_a_function_needs_a_name_in_the_cache(tmp_path):
    def encode(texts):
        return [[len(text)] for text in texts]

    with pytest.raises(ValueError, match="cache_key"):
        TextEncoder(encode, cache=tmp_path).fit(TEXTS)
    transformer = TextEncoder(encode, cache=Path(tmp_path), cache_key="lengths 1", normalize=False)
    assert transformer.fit_transform(["abc"]).tolist() == [[3]]


def test_an_encoder_that_is_fitted_is_not_cached_unless_it_is_frozen(tmp_path):
    with pytest.raises(ValueError, match="a Pipeline is fitted in every fit"):
        TextEncoder(svd(), cache=tmp_path, cache_key="words 1").fit(TEXTS)
    frozen = FrozenEstimator(svd().fit(TEXTS))
    transformer = TextEncoder(frozen, cache=tmp_path, cache_key="words 1")
    found = transformer.fit_transform(TEXTS)
    np.testing.assert_array_equal(clone(transformer).fit(TEXTS).transform(TEXTS), found)


def test_a_width_other_than_in_fit_is_an_error():
    encoder = Letters()
    transformer = TextEncoder(encoder).fit(TEXTS)
    encoder.letters = "ab"
    with pytest.raises(ValueError, match="vectors of 2 numbers, but of 6 numbers before"):
        transformer.transform(TEXTS)


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"batch_size": 0}, ValueError),
        ({"normalize": "yes"}, ValueError),
        ({"cache": 5}, ValueError),
        ({"cache_key": 5}, ValueError),
        ({"encoder": "a name"}, TypeError),
        ({"encoder": None}, TypeError),
    ],
)
def test_invalid_parameters_are_refused(params, error):
    with pytest.raises(error, match=f"{next(iter(params))}"):
        TextEncoder(**{"encoder": Letters(), **params}).fit(TEXTS)


def test_it_has_to_be_fitted_and_takes_texts_only():
    with pytest.raises(NotFittedError):
        TextEncoder(Letters()).transform(TEXTS)
    with pytest.raises(NotFittedError):
        TextEncoder(Letters()).get_feature_names_out()
    with pytest.raises(ValueError, match="one text per row"):
        TextEncoder(Letters()).fit(np.zeros((3, 2)))


@pytest.mark.parametrize(
    "check", [check_get_params_invariance, check_no_attributes_set_in_init, check_set_params]
)
def test_it_passes_the_checks_of_scikit_learn_for_what_has_no_matrix(check):
    check("TextEncoder", TextEncoder(TfidfVectorizer()))


@pytest.mark.heavy
def test_a_real_encoder_with_its_own_table_of_words(tmp_path):
    wordllama = pytest.importorskip("wordllama")
    # Both files are in its package, where its own search does not look for the second.
    folder = Path(wordllama.__file__).parent
    encoder = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    transformer = TextEncoder(encoder, cache=tmp_path)
    found = transformer.fit_transform(TEXTS)
    assert found.shape == (6, 256)
    assert found.dtype == np.float32
    again = pickle.loads(pickle.dumps(transformer))
    np.testing.assert_array_equal(again.transform(TEXTS), found)
    other = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    assert clone(transformer).set_params(encoder=other).fit(TEXTS)._key == transformer._key
    assert len(list(tmp_path.glob("*.sqlite"))) == 1
    assert found[0] @ found[1] > found[0] @ found[4]  # two cats, and a snake
    model = make_pipeline(transformer, LocalClassifierPerParentNode()).fit(TEXTS, Y)
    assert model.predict(["the kitten sleeps"]).tolist() == [["mammal", "cat"]]
