"""Features of tables: what comes in, what comes out, and what is refused."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from hiclass import TRUSTED_TYPES, LocalClassifierPerParentNode, TableFeatures

N = 40


@pytest.fixture(scope="module")
def frame():
    """A table with a column of every kind, some cells missing, and an id."""
    rng = np.random.default_rng(0)
    hours = pd.date_range("2020-01-01", periods=N, freq="31h")
    found = pd.DataFrame(
        {
            "text": [f"word{i % 3} is a very nice thing number {i % 7}" for i in range(N)],
            "amount": rng.normal(size=N),
            "state": rng.choice(list("abc"), N),
            "paid": rng.random(N) > 0.5,
            "sent": hours,
            "number": range(N),
            "written": [f"{i % 28 + 1}.3.2020 10:{i:02d}" for i in range(N)],
            "took": pd.to_timedelta(rng.random(N), unit="h"),
            "size": pd.Categorical(rng.choice(list("xyz"), N)),
            "here": hours.tz_localize("Europe/Berlin"),
            "day": [datetime.date(2020, 1, 1 + i % 20) for i in range(N)],
            "zip": rng.choice([1000, 2000], N),
        }
    )
    found.loc[3, ["text", "amount", "state", "sent"]] = None
    return found


KINDS = {
    "text": "text", "amount": "numbers", "state": "categories", "paid": "numbers",
    "sent": "dates", "written": "dates", "took": "numbers", "size": "categories", "here": "dates",
    "day": "dates", "zip": "categories",
}  # fmt: skip


def dense(X):
    return X.toarray() if sp.issparse(X) else X


FORMS = {
    "pandas": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "pyarrow types": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "objects": lambda frame: frame.astype(object),
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "dicts": lambda frame: frame.to_dict("records"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_table_gives_the_same_features_in_every_form(frame, form):
    expected = dense(TableFeatures(categories="zip").fit_transform(frame))
    X = FORMS[form](frame)
    features = TableFeatures(categories=["zip"])
    np.testing.assert_allclose(dense(features.fit_transform(X)), expected)
    np.testing.assert_allclose(dense(features.transform(X)), expected)
    assert features.columns_ == KINDS | ({"size": "categories"})
    assert features.left_out_ == {"number": "it numbers the rows"}
    assert features.feature_names_in_.tolist() == list(frame.columns)
    assert len(features.get_feature_names_out()) == expected.shape[1]


def test_features_by_hand():
    X = pd.DataFrame({"n": [1.0, 3.0, None, 2.0], "c": ["u", "v", "u", None]})
    features = TableFeatures()
    # The median is 2, and the mean with it; the deviation is the root of a half.
    root = np.sqrt(0.5)
    expected = [
        [-1 / root, 0, 1, 0],
        [1 / root, 0, 0, 1],
        [0, 1, 1, 0],
        [0, 0, 0, 1],
    ]
    found = features.fit_transform(X)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, expected)
    names = features.get_feature_names_out().tolist()
    assert names == ["n", "n (missing)", "c=u", "c (rare)"]
    new = pd.DataFrame({"c": ["w", "v"], "n": [2.0, None]})
    np.testing.assert_allclose(features.transform(new), [[0, 0, 0, 0], [0, 1, 0, 1]])


def test_without_scale_numbers_stay_as_they_are():
    X = pd.DataFrame({"n": [1.0, 3.0, None], "d": ["2020-01-01", None, "2020-01-02 01:00"]})
    features = TableFeatures(scale=False)
    found = features.fit_transform(X)
    names = features.get_feature_names_out().tolist()
    assert names == ["n", "d (weekday)", "d (hour)", "d (seconds)"]
    day = 1577836800
    expected = [
        [1, 2, 0, day],
        [3, np.nan, np.nan, np.nan],
        [np.nan, 3, 1, day + 25 * 3600],
    ]
    np.testing.assert_array_equal(found, expected)
    array = np.array([[1.0, np.nan]])
    np.testing.assert_array_equal(TableFeatures(scale=False).fit_transform(array), array)


@pytest.mark.parametrize(
    "texts",
    [
        ["a cat sleeps", None, "the dog"],
        pd.Series(["a cat sleeps", None, "the dog"]),
        np.array(["a cat sleeps", "", "the dog"]),
        np.array(["a cat sleeps", np.nan, "the dog"], dtype=object),
        pl.Series(["a cat sleeps", None, "the dog"]),
        pa.chunked_array([["a cat sleeps", None, "the dog"]]),
    ],
    ids=["list", "Series", "array", "objects", "polars", "pyarrow"],
)
def test_texts_need_no_table(texts):
    features = TableFeatures()
    X = features.fit_transform(texts)
    assert features.columns_ == {"text": "text"}
    assert not hasattr(features, "n_features_in_")
    names = ["cat", "cat sleeps", "dog", "sleeps", "the", "the dog"]
    assert features.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal((X > 0).sum(axis=1).ravel(), [[3, 0, 3]])
    assert features.transform(["a dog"]).nnz == 1


def test_parts_of_words_help_where_texts_are_short():
    features = TableFeatures()
    features.fit(["rice farming", "corn farmers", "farms"])
    names = features.get_feature_names_out().tolist()
    assert {"farming", "rice farming", "fa…", "…arm…"} <= set(names)
    assert features.transform(["farmland"]).nnz == 3
    long = TableFeatures().fit(["rice farming " * 20, "corn farmers " * 20])
    assert not any("…" in name for name in long.get_feature_names_out())


def test_matrices_pass_through():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 3)).astype(np.float32)
    features = TableFeatures()
    assert features.fit_transform(X) is X
    assert features.transform(X).dtype == np.float32
    assert (features.columns_, features.left_out_) == ({}, {})
    assert features.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    assert features.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="length equal to number of features"):
        features.get_feature_names_out(["a"])
    sparse = sp.coo_matrix(X)
    assert features.fit_transform(sparse).format == "csr"
    # What was missing in fit has a feature of its own; what is missing later, a number.
    gaps = np.array([[1.0, 2.0, np.nan], [3.0, 4.0, np.nan], [8.0, np.nan, np.nan]])
    assert features.fit_transform(gaps).tolist() == [
        [1, 2, 0, 0, 1], [3, 4, 0, 0, 1], [8, 3, 0, 1, 1],
    ]  # fmt: skip
    assert features.transform([[np.nan, 1, 1]]).tolist() == [[4, 1, 1, 0, 0]]
    names = ["x0", "x1", "x2", "x1 (missing)", "x2 (missing)"]
    assert features.get_feature_names_out().tolist() == names


def test_rows_without_names():
    rows = [["a", 1.0], ["b", 2.0], ["a", None], ["b", 3.5]]
    features = TableFeatures()
    X = features.fit_transform(rows)
    assert features.columns_ == {"x0": "categories", "x1": "numbers"}
    np.testing.assert_array_equal(features.transform(np.array(rows, dtype=object)), X)
    with pytest.raises(ValueError, match="has 1 features, but TableFeatures is expecting 2"):
        features.transform([["a"]])
    days = np.array([["2020-01-01"], ["2020-02-01"], ["NaT"]], dtype="datetime64[D]")
    assert TableFeatures().fit(days).columns_ == {"x0": "dates"}


def test_many_categories_are_sparse_and_few_are_not():
    values = [f"c{i % 2001}" for i in range(4500)]
    assert sp.issparse(TableFeatures().fit_transform(pd.DataFrame({"c": values})))
    assert not sp.issparse(TableFeatures().fit_transform(pd.DataFrame({"c": values[:50] * 9})))


def test_a_number_is_the_same_category_beside_a_missing_one():
    features = TableFeatures(categories="zip").fit(pd.DataFrame({"zip": [1, 2, 1, 2]}))
    found = features.transform(pd.DataFrame({"zip": [1.0, None]}))
    np.testing.assert_array_equal(found, [[1, 0], [0, 0]])


def test_two_columns_of_text_name_their_words():
    frame = pd.DataFrame({"a": ["red green", "blue"], "b": ["one two", "three"]})
    names = TableFeatures(text=["a", "b"]).fit(frame).get_feature_names_out()
    assert {"a: red", "b: three"} <= set(names)


def test_names_of_columns_need_not_be_texts():
    frame = pd.DataFrame({0: [1.5, 2.0, 1.0], 1: ["a", "b", "a"]})
    features = TableFeatures(ignore=[1]).fit(frame)
    assert features.left_out_ == {1: "ignored"}
    assert not hasattr(features, "feature_names_in_")
    assert features.get_feature_names_out().tolist() == ["0"]


def test_what_was_left_out_need_not_be_there(frame):
    features = TableFeatures().fit(frame)
    some = frame.drop(columns="number")[list(features.columns_)[::-1]]
    np.testing.assert_allclose(dense(features.transform(some)), dense(features.transform(frame)))


def test_dicts_may_lack_what_is_empty():
    features = TableFeatures().fit([{"n": 1, "c": "u"}, {"n": 2, "c": "v"}, {"c": "u"}, {"c": "v"}])
    np.testing.assert_allclose(features.transform([{"c": "u"}]), [[0, 1, 1, 0]])


FITTED = pd.DataFrame(
    {"text": ["one two three four", "five six seven eight"], "n": [1.5, 2.0], "d": ["1/2/20"] * 2}
)
TYPED = {"numbers": "n", "dates": "d"}
BAD = {
    "missing": (FITTED[["text", "d"]], r"X lacks the column 'n', which was there in fit\. Add it"),
    "new": (FITTED.assign(a=1, b=2), r"X has the column 'a' and 1 more, which was not there in"),
    "no number": (FITTED.assign(n=["1", "x"]), r"Row 1: 'x' in the column 'n' is not a number\. C"),
    "infinite": (FITTED.assign(n=[1, np.inf]), r"Row 1: 'inf' in the column 'n' is not a finite"),
    "dates": (FITTED.assign(n=pd.Timestamp("2020")), "column 'n' holds dates instead of numbers"),
    "no text": (FITTED.assign(text=[1, 2]), "'text' holds numbers instead of text. Correct it"),
    "no date": (FITTED.assign(d=["1/2/20", "x"]), r"Row 1: 'x' in the column 'd' is not a date"),
    "texts": (["a"], "^X is texts, one per row, but X of fit was a table with names of"),
    "numbers": (
        np.ones((2, 3)),
        "^X is a matrix of numbers, but X of fit was a table with names of",
    ),
    "no rows": (FITTED[:0], r"0 sample\(s\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_rows_that_differ_from_those_of_fit_are_named_with_the_remedy(case):
    features = TableFeatures(**TYPED).fit(FITTED)
    X, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        features.transform(X)


REFUSED = {
    "one text": ("x", {}, TypeError, "a single text. Pass a list of texts"),
    "a lazy frame": (pl.LazyFrame({"a": [1, 2]}), {}, TypeError, r"LazyFrame.* Pass X.collect"),
    "a dict": ({"a": [1]}, {}, TypeError, r"X is a dict.* pandas\.DataFrame\(X\)"),
    "ragged": ([["a"], ["b", 1]], {}, ValueError, "from 1 to 2 cells"),
    "mixed": ([{"a": 1}, 1], {}, TypeError, "Row 1 of X is a int among dicts"),
    "empty dicts": ([{}], {}, ValueError, r"0 feature\(s\)"),
    "empty rows": (np.empty((2, 0), object), {}, ValueError, r"0 feature\(s\)"),
    "numbers in a row": (pd.Series([1, 2]), {}, ValueError, "Expected 2D array, got 1D array"),
    "no texts": (["", None], {}, ValueError, "'text' contains no word of two or more letters"),
    "same names": (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, ValueError, "2 columns with"),
    "nothing": (
        pd.DataFrame({"a": ["x1", "x2"]}), {}, ValueError,
        r"no column that can be a feature \(a: a different value in every row\)",
    ),
    "unknown": (FITTED, {"text": "x"}, ValueError, "text names the column 'x', which X does not"),
    "twice": (FITTED, {"text": "n", "ignore": "n"}, ValueError, "'n' is named twice, as text and"),
    "no name": (FITTED, {"text": 1}, TypeError, "text must name columns: a list of names"),
    "a matrix": (np.ones((2, 2)), {"text": "x"}, ValueError, "but X is a matrix of numbers"),
    "no number": (
        pd.DataFrame({"a": [None, "NA"]}), {"numbers": "a"}, ValueError, "'a' contains no number",
    ),
    "no date": (pd.DataFrame({"a": [None]}), {"dates": "a"}, ValueError, "'a' contains no date"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_features_is_refused(case):
    X, params, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        TableFeatures(**params).fit(X)


def test_fit_again_forgets(frame):
    features = TableFeatures().fit(frame).fit(["one two", "three"])
    assert not hasattr(features, "feature_names_in_")
    assert not hasattr(features, "n_features_in_")


def test_files_and_copies_give_the_same_features(frame, tmp_path):
    features = TableFeatures(text="text").fit(frame)
    expected = dense(features.transform(frame))
    skops.io.dump(features, tmp_path / "f.skops")
    loaded = skops.io.load(tmp_path / "f.skops", trusted=list(TRUSTED_TYPES))
    for other in (pickle.loads(pickle.dumps(features)), loaded, clone(features).fit(frame)):
        np.testing.assert_array_equal(dense(other.transform(frame)), expected)
    assert repr(clone(features)) == "TableFeatures(text='text')"


def test_the_input_is_left_as_it_is(frame):
    before = frame.copy(deep=True)
    features = TableFeatures()
    features.fit_transform(frame)
    features.transform(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_it_stands_before_a_model(frame):
    y = [["A", "a"] if paid else ["B", "b"] for paid in frame["paid"]]
    model = make_pipeline(TableFeatures(), LocalClassifierPerParentNode()).fit(frame, y)
    assert (model.predict(frame)[:, 0] == [path[0] for path in y]).mean() > 0.9


def test_passes_the_checks_of_scikit_learn():
    checks = check_estimator(TableFeatures(), on_fail=None, on_skip=None)
    failed = {check["check_name"] for check in checks if check["status"] not in ("passed",)}
    assert failed <= {"check_array_api_input"}  # which runs only where SCIPY_ARRAY_API=1 is set


# -- codes -------------------------------------------------------------------------------------


def codes(n=300):
    rng = np.random.default_rng(0)
    heads, tails = ["AB", "CD", "EF", "GH"], ["xx", "yy", "zz"]
    drawn = [f"{rng.choice(heads)}{rng.integers(90)}{rng.choice(tails)}" for _ in range(n)]
    return pd.DataFrame({"code": drawn, "size": rng.normal(size=n)})


def test_codes_beside_other_columns_become_a_few_dense_numbers():
    frame = codes()
    features = TableFeatures()
    found = features.fit_transform(frame)
    assert features.columns_ == {"code": "text", "size": "numbers"}
    assert isinstance(found, np.ndarray)
    assert found.shape == (300, 31)
    names = features.get_feature_names_out().tolist()
    assert names == [*(f"code (direction {k})" for k in range(1, 31)), "size"]
    np.testing.assert_allclose(features.transform(frame), found)
    # Along the directions, codes are as similar as by their words and parts.
    words = TableFeatures(ignore="size").fit_transform(frame).toarray()
    assert found[:, :30].var() == pytest.approx(words.var(axis=0).sum() / 30, rel=0.75)
    ours, theirs = (np.corrcoef(rows)[np.triu_indices(300, 1)] for rows in (found[:, :30], words))
    assert np.corrcoef(ours, theirs)[0, 1] > 0.7


def test_codes_alone_or_beside_texts_stay_words():
    frame = codes()
    assert sp.issparse(TableFeatures().fit_transform(frame[["code"]]))
    frame["text"] = "a text of several words here"
    frame.loc[::2, "text"] = "another one of a few words"
    features = TableFeatures()
    assert sp.issparse(features.fit_transform(frame))
    assert "code: ab" not in features.get_feature_names_out()
    assert any(name.startswith("code: ") for name in features.get_feature_names_out())


def test_codes_have_no_more_directions_than_words_and_rows():
    frame = pd.DataFrame({"code": ["ab", "cd"] * 3, "size": range(6)})
    features = TableFeatures(text="code", numbers="size")
    assert features.fit_transform(frame).shape == (6, 7)  # two words with two parts each
    assert features.fit_transform(frame[:4]).shape == (4, 5)


def test_codes_survive_a_round_trip():
    frame = codes()
    features = TableFeatures().fit(frame)
    again = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(again.transform(frame), features.transform(frame))


def test_masked_cells_are_missing():
    numbers = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
    mask = [[False, False], [True, False], [False, False]]
    masked = np.ma.masked_array(numbers, mask=mask)
    missing = np.where(mask, np.nan, numbers)
    features = TableFeatures()
    wanted = features.fit_transform(missing)
    np.testing.assert_array_equal(TableFeatures().fit_transform(masked), wanted)
    np.testing.assert_array_equal(features.transform(masked), wanted)
    whole = np.ma.masked_array(numbers.astype(int), mask=mask)
    np.testing.assert_array_equal(TableFeatures().fit_transform(whole), wanted)
    texts = np.array([["a", "u"], ["b", "u"], ["a", "v"]])
    hidden = np.ma.masked_array(texts, mask=mask)
    told = TableFeatures().fit_transform([["a", "u"], [None, "u"], ["a", "v"]])
    np.testing.assert_array_equal(TableFeatures().fit_transform(hidden), told)
