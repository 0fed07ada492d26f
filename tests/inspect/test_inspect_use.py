"""compare_use and outside_score: changes are seen, chance is not, and a guarantee is mentioned."""

import copy
import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom, chi2_contingency, fisher_exact, ks_2samp
from sklearn.compose import ColumnTransformer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from hiclass import (
    Hierarchy,
    LocalClassifierPerParentNode,
    compare_use,
    guarantee_error,
    outside_score,
)
from hiclass._inspect.shifts import Shift, compare_features, compare_numbers
from hiclass._inspect.use import OUTSIDE, UseComparison, _classes
from hiclass.datasets import make_hierarchical_classification


@pytest.fixture(scope="module")
def data():
    X, y = make_hierarchical_classification(
        3000, 6, branching=[3, 2], depth=2, noise=1.2, random_state=0, return_X_y=True
    )
    return X, y


@pytest.fixture(scope="module")
def model(data):
    X, y = data
    return LocalClassifierPerParentNode(min_confidence=[0, 0.8]).fit(X[:500], y[:500])


def test_what_is_compared_by_hand(model, data):
    X = data[0]
    then, now = X[500:900], X[900:1200] + 0.2
    found = compare_use(model, then, now)
    by_name = {shift.what: shift for shift in found.shifts}
    a, b = (model.predict_confidence(part)[:, 0] for part in (then, now))
    shift = by_name["confidence at level 1"]
    assert (shift.then, shift.now) == (pytest.approx(a.mean()), pytest.approx(b.mean()))
    assert shift.p_value == pytest.approx(ks_2samp(a, b, method="asymp").pvalue)
    n = [int((model.predict(part)[:, 1] != "").sum()) for part in (then, now)]
    shift = by_name["share of rows labelled at level 2"]
    assert (shift.then, shift.now) == (n[0] / 400, n[1] / 300)
    expected = fisher_exact([[n[0], 400 - n[0]], [n[1], 300 - n[1]]])[1]
    assert shift.p_value == pytest.approx(expected)
    assert "classes of level 1, share that moved" in by_name
    a, b = (outside_score(model, part) for part in (then, now))
    shift = by_name[OUTSIDE]
    assert (shift.then, shift.now) == (pytest.approx(a.mean()), pytest.approx(b.mean()))
    assert shift.p_value == pytest.approx(ks_2samp(a, b, method="asymp").pvalue)
    first = model.predict(then)[:, 0]
    for shift in found.classes:
        assert 0 <= shift.p_value <= 1
        if " > " not in shift.what:
            assert shift.then == pytest.approx((first == shift.what).mean())
    assert len(found.features) == 6
    assert (found.n_then, found.n_now) == (400, 300)


def test_where_nothing_has_changed_alarms_are_rare(model, data):
    X, rng = data[0][500:], np.random.default_rng(0)
    alarms = 0
    for _ in range(60):
        rows = rng.permutation(len(X))[:400]
        alarms += compare_use(model, X[rows[:200]], X[rows[200:]], max_false_alarms=0.05).alarm
    assert alarms <= binom.ppf(0.99, 60, 0.05)


@pytest.mark.parametrize("change", ["features", "classes", "confidence"])
def test_changes_are_seen_and_named(model, data, change):
    X, y = data
    then, now, labels = X[500:1500], X[1500:2500], y[1500:2500]
    if change == "features":
        now = now + 0.5
    elif change == "classes":
        now = now[labels[:, 0] == labels[0, 0]]
    else:
        now = now.mean(axis=0) + 0.3 * (now - now.mean(axis=0))
    found = compare_use(model, then, now)
    assert found.alarm
    assert str(found).startswith(f"Changed (1,000 rows then, {len(now):,} now):")
    if change == "classes":
        assert any(shift.what.startswith("classes of level 1") for shift in found.alarms)


def test_sparse_features_pipelines_and_names(data):
    X, y = data
    words = sp.csr_array((X > 0.5).astype(float))
    model = LocalClassifierPerParentNode().fit(words[:500], y[:500])
    now = words[1500:2500].copy().toarray()
    now[:, 2] = 0
    found = compare_use(model, words[500:1500], sp.csr_array(now))
    assert found.features[0].what == "feature 2"
    assert found.features[0].now == 0
    names = [f"word {j}" for j in range(words.shape[1])]
    found = compare_use(model, words[500:1500], sp.csr_array(now), feature_names=names)
    assert found.features[0].what == "feature word 2"
    with pytest.raises(ValueError, match="feature_names has 1 names"):
        compare_use(model, words[500:1500], words[1500:], feature_names=["a"])
    pipeline = make_pipeline(StandardScaler(), LocalClassifierPerParentNode()).fit(X[:500], y[:500])
    assert not compare_use(pipeline, X[500:900], X[900:1300]).alarm
    assert "No significant change" in str(compare_use(pipeline, X[500:900], X[900:1300]))


def test_a_share_of_missing_values_that_changes_is_seen():
    X = np.array([[np.nan if i >= 30 else 1.0, i % 2] for i in range(60)])
    y = [["a"] if i % 2 else ["b"] for i in range(60)]
    model = LocalClassifierPerParentNode(DecisionTreeClassifier()).fit(X, y)
    found = compare_use(model, X[:30], X[30:])
    # By hand: of all ways to choose 30 of 60 rows, one has the 30 missing values in them, twice
    # for both tails, times two tests: of missing values, and of the second column.
    first = found.features[0]
    assert (first.what, first.then, first.now) == ("feature 0, share missing", 0, 1)
    assert first.p_value == pytest.approx(2 * 2 / math.comb(60, 30))
    assert first in found.alarms
    assert [shift.what for shift in found.features[1:]] == ["feature 1"]


def test_frames_of_several_types_are_compared_column_by_column():
    pd = pytest.importorskip("pandas")

    def table(n, color, words, day, seed):
        rng = np.random.default_rng(seed)
        return pd.DataFrame(
            {
                "amount": rng.normal(size=n),
                "color": rng.choice(["red", "green"], size=n, p=[color, 1 - color]),
                "note": [
                    f"the {rng.choice(words)} was late again {rng.integers(9)}" for _ in range(n)
                ],
                "bought": pd.Timestamp("2024-01-01")
                + pd.to_timedelta(day + rng.integers(90, size=n), "D"),
                "code": [f"{seed}-{i}" for i in range(n)],
                "size": [None if i % 2 else "large" for i in range(n)],
            }
        )

    then = table(300, 0.5, ["train", "bus"], 0, 0)
    found, left_out = compare_features(then, table(200, 0.5, ["train", "bus"], 0, 1), None)
    assert found[0].p_value > 0.01
    assert {s.what.split(",")[0].split(":")[0] for s in found} == {
        "feature amount", "feature color", "feature note", "feature bought", "feature size",
    }  # fmt: skip
    assert "feature size, share missing" in {shift.what for shift in found}
    assert [text.split(" ")[0] for text in left_out] == ["code"]
    for change, what in (
        ((0.9, ["train", "bus"], 0), "feature color, share that moved"),
        ((0.5, ["plane"], 0), "feature note: plane"),
        ((0.5, ["train", "bus"], 60), "feature bought"),
    ):
        found, _ = compare_features(then, table(200, *change, 2), None)
        assert found[0].what == what
        assert found[0].p_value < 1e-6


def test_a_change_of_a_category_by_hand():
    pd = pytest.importorskip("pandas")
    then = pd.DataFrame({"color": ["red"] * 30 + ["green"] * 10})
    now = pd.DataFrame({"color": ["red"] * 10 + ["green"] * 30 + [None]})
    (moved, missing), _ = compare_features(then, now, None)
    assert (moved.then, moved.now) == (0, pytest.approx(0.5))
    expected = chi2_contingency([[30, 10], [10, 30]])[1]
    assert moved.p_value == pytest.approx(2 * expected)
    assert (missing.then, missing.now) == (0, 1 / 41)
    assert missing.p_value == 1


def test_lists_of_texts_and_of_rows_are_compared_too():
    found, _ = compare_features(["a cat"] * 20, ["a dog"] * 20, None)
    assert {shift.what for shift in found} == {"feature text: cat", "feature text: dog"}
    found, _ = compare_features([[0.0, 1]] * 60, [[5.0, 1]] * 60, None)
    assert found[0].what == "feature 0"
    assert compare_features(["some words"], ["others"], None) == ([], [])


def test_what_was_not_compared_is_said():
    found = UseComparison(
        9, 9, (), (), (), 0.01, not_compared=tuple(f"c{i} (id)" for i in range(7))
    )
    assert str(found).endswith(
        "Not compared: c0 (id); c1 (id); c2 (id); c3 (id); c4 (id); and 2 more"
    )
    frame = {"id": [f"x{i}" for i in range(80)], "amount": [float(i % 7) for i in range(80)]}
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(frame)
    local = make_pipeline(
        ColumnTransformer([("n", "passthrough", ["amount"])]), DecisionTreeClassifier()
    )
    y = [["a" if v > 3 else "b"] for v in X.amount]
    model = LocalClassifierPerParentNode(local).fit(X, y)
    found = compare_use(model, X[:40], X[40:])
    assert [text.split(" ")[0] for text in found.not_compared] == ["id"]


def test_what_it_means_for_a_guarantee(model, data):
    X, y = data
    model = copy.copy(model)
    guarantee_error(model, X[500:1500], y[500:1500], 0.1, levels=1).apply(model)
    calm = compare_use(model, X[500:1500], X[1500:2500])
    assert "There is no evidence against the guarantee" in str(calm)
    assert "do not rely on it" in str(compare_use(model, X[500:1500], X[1500:2500] + 1))


def test_holm_names_all_that_is_clear():
    shifts = tuple(Shift(str(i), 0, 1, p) for i, p in enumerate([0.2, 0.002, 0.004, 0.0001]))
    found = UseComparison(10, 10, shifts, (), (), 0.01)
    assert [shift.what for shift in found.alarms] == ["3", "1", "2"]
    everything = UseComparison(10, 10, shifts[1:2], (), (), 0.01)
    assert len(everything.alarms) == 1


def test_bad_parameters(model, data):
    X = data[0]
    with pytest.raises(ValueError, match="max_false_alarms must be above 0"):
        compare_use(model, X, X, max_false_alarms=0)
    with pytest.raises(ValueError, match=r"no rows to compare|0 sample"):
        compare_use(model, X, X[:0])


def test_rows_between_all_classes_look_like_none(model, data):
    X = data[0]
    score = outside_score(model, X[500:600])
    assert score.shape == (100,)
    assert ((score >= 0) & (score <= 1 + 1e-9)).all()
    middle = np.tile(X[:500].mean(axis=0), (20, 1))
    both = np.concatenate([score, outside_score(model, middle)])
    assert roc_auc_score([0] * 100 + [1] * 20, both) > 0.9


def test_few_rows_are_compared_exactly():
    # By hand: 2 of the 20 ways to choose three of six rows separate the samples; one row beyond a
    # hundred others is first or last among 101; two rows can only differ.
    assert compare_numbers("", np.arange(3.0), np.arange(3.0, 6)).p_value == pytest.approx(2 / 20)
    assert compare_numbers("", np.arange(100.0), np.array([200.0])).p_value == pytest.approx(
        2 / 101
    )
    assert compare_numbers("", np.array([1.0]), np.array([2.0])).p_value == 1


def test_one_row_of_a_rare_class_is_no_alarm():
    # Of 10,023 rows, 3 are of a third class, and one of them is among the 20 of now: that happens
    # in 0.6 % of such samples, and says nothing about the shares of the two large classes.
    tree = Hierarchy.from_paths([["a"], ["b"], ["c"]])
    then = np.repeat([1, 2, 3], [5000, 5000, 3])
    now = np.repeat([1, 2, 3], [10, 9, 1])
    assert _classes(tree, 1, then, now)[0].p_value > 0.5
    # A change of the large classes is still seen.
    assert _classes(tree, 1, then, np.repeat([1, 3], [19, 1]))[0].p_value < 0.001


def test_columns_of_frames_are_compared_like_those_of_matrices(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = LocalClassifierPerParentNode().fit(frame[:500], y[:500])
    found = compare_use(model, frame[500:900], frame[900:1200])
    same = compare_use(
        LocalClassifierPerParentNode().fit(X[:500], y[:500]),
        X[500:900],
        X[900:1200],
        feature_names=list("abcdef"),
    )
    assert found.features == same.features
    assert len(found.features) == 6
    assert found.features[0] in found.shifts


def test_no_rows_have_no_outside_scores_and_a_text_is_no_probability(model, data):
    assert outside_score(model, data[0][:0]).shape == (0,)
    with pytest.raises(ValueError, match="max_false_alarms must be above 0 and below 1; got '1'"):
        compare_use(model, data[0], data[0], max_false_alarms="1")
