"""Guarantees, and thresholds that are chosen on rows of their own."""

import pickle
import warnings

import numpy as np
import pytest
from fakes import Soft
from model_helpers import FOREST, KINDS, make, rows_for
from samples import COUNTED, COUNTS, four_quarters
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    tune_confidence,
)

PATHS = sorted(set(map(tuple, FOREST)))


def draw(n, seed):
    """Rows around a place per path, far from separable; some paths end at inner nodes."""
    rng = np.random.default_rng(seed)
    which = rng.choice(len(PATHS), size=n, p=[0.1, 0.2, 0.15, 0.1, 0.1, 0.2, 0.15])
    places = np.random.default_rng(7).normal(size=(len(PATHS), 2)) * 2
    return places[which] + rng.normal(size=(n, 2)), [list(PATHS[i]) for i in which]


@pytest.fixture(scope="module")
def trained():
    """A model that is fitted once."""
    return LocalClassifierPerParentNode(GaussianNB()).fit(*draw(300, 0))


def starts(path, prefix):
    """Whether a path lies at or below another one."""
    return tuple(path[: len(prefix)]) == tuple(prefix)


def truth_is_covered(model, X, y):
    """Whether the true path lies in what was predicted; also the depth that was reached."""
    if model.kind == "set":
        return np.array(
            [any(starts(t, p) for p in s) for t, s in zip(y, model.predict_set(X), strict=True)]
        )
    found = [[label for label in path if label] for path in model.predict(X).tolist()]
    return np.array([starts(t, p) for t, p in zip(y, found, strict=True)])


# -- coverage ----------------------------------------------------------------------------------


def lowest_fair_mean(alpha, n_calibration, n_test, repeats):
    """Three standard errors below 1 - alpha: thresholds and test rows both vary."""
    variance = alpha * (1 - alpha) * (1 / (n_calibration + 1) + 1 / n_test)
    return 1 - alpha - 3 * np.sqrt(variance / repeats)


@pytest.mark.parametrize("alpha", [0.1, 0.3])
@pytest.mark.parametrize("kind", ["path", "set"])
def test_a_frozen_model_covers_the_truth_as_often_as_promised(trained, kind, alpha):
    covered, depth = [], []
    for seed in range(25):
        X, y = draw(59, 1000 + seed)
        model = ConformalClassifier(FrozenEstimator(trained), alpha, kind=kind).fit(X, y)
        X, y = draw(150, 2000 + seed)
        covered.append(truth_is_covered(model, X, y).mean())
        depth.append((model.predict(X) != "").sum(axis=1).mean())
    assert np.mean(covered) > lowest_fair_mean(alpha, 59, 150, 25)
    assert np.mean(depth) > 0.1  # the empty path covers everything


@pytest.mark.parametrize("kind", ["path", "set"])
def test_a_model_that_is_fitted_inside_covers_the_truth_as_often_as_promised(kind):
    covered = []
    for seed in range(15):
        model = ConformalClassifier(
            FlatClassifier(GaussianNB()), 0.2, kind=kind, calibration_size=0.4, random_state=seed
        ).fit(*draw(150, 3000 + seed))
        covered.append(truth_is_covered(model, *draw(150, 4000 + seed)).mean())
    assert np.mean(covered) > lowest_fair_mean(0.2, 60, 150, 15)


def test_smaller_alpha_gives_shorter_paths_and_larger_sets(trained):
    X, y = draw(200, 1)
    lengths, sizes = [], []
    for alpha in (0.05, 0.2, 0.5):
        path = ConformalClassifier(FrozenEstimator(trained), alpha).fit(X, y)
        lengths.append((path.predict(X) != "").sum())
        sets = ConformalClassifier(FrozenEstimator(trained), alpha, kind="set").fit(X, y)
        sizes.append(np.concatenate(sets._map_final(np.asarray(X), sets._chosen)).sum())
    assert lengths[0] < lengths[1] < lengths[2]
    assert sizes[0] > sizes[1] > sizes[2]


# -- the definitions ---------------------------------------------------------------------------


def test_the_threshold_is_the_quantile_of_the_scores_and_the_prediction_lies_above_it(trained):
    """Literally: the first wrong node of the path, the ceil((n + 1)(1 - alpha))-th smallest."""
    X, y = draw(40, 5)
    model = ConformalClassifier(FrozenEstimator(trained), 0.25).fit(X, y)
    confidence, predicted = trained.predict_confidence(X), trained.predict(X).tolist()
    scores = []
    for true, path, sure in zip(y, predicted, confidence, strict=True):
        path = [label for label in path if label]
        wrong = [j for j in range(len(path)) if not starts(true, path[: j + 1])]
        scores.append(sure[wrong[0]] if wrong else 0.0)
    assert model.threshold_ == sorted(scores)[int(np.ceil(41 * 0.75)) - 1]
    assert 0 < model.threshold_ < 1
    for path, sure, prediction in zip(
        predicted, confidence, model.predict(X).tolist(), strict=True
    ):
        length = int((sure > model.threshold_).sum())
        assert prediction == [*path[:length], *[""] * (3 - length)]
    confidence[~(confidence > model.threshold_)] = np.nan
    np.testing.assert_array_equal(model.predict_confidence(X), confidence)


def test_the_threshold_of_sets_is_the_quantile_of_one_minus_the_probability_of_the_truth(trained):
    X, y = draw(40, 5)
    model = ConformalClassifier(FrozenEstimator(trained), 0.25, kind="set").fit(X, y)
    paths, proba = trained.predict_paths(X, len(PATHS))
    scores = []
    for i, true in enumerate(y):
        own = [tuple(label for label in path if label) for path in paths[i].tolist()]
        scores.append(1 - proba[i, own.index(tuple(true))])
    assert model.threshold_ == pytest.approx(sorted(scores)[int(np.ceil(41 * 0.75)) - 1])


def shares(**counts):
    """Labels in these numbers, for a model whose probabilities are the shares of its classes."""
    return [name.split("_") for name, n in counts.items() for _ in range(n)]


def sets_at(y, threshold, kind="set"):
    """The prediction of a model that gives every class its share."""
    X = np.zeros((len(y), 1))
    model = ConformalClassifier(
        FrozenEstimator(FlatClassifier(DummyClassifier(strategy="prior")).fit(X, y)), 0.5, kind=kind
    ).fit(X, y)
    model.threshold_ = threshold
    (found,) = model.predict_set(X[:1])
    return found, [label for label in model.predict(X[:1])[0].tolist() if label]


DEEP = shares(A=2, A_x=4, A_y=2, B_z=6, B_w_s=4, B_w_t=4, C=10)  # of 32


@pytest.mark.parametrize(
    ("least", "expected", "covering"),
    [
        (10, [("C",)], ["C"]),
        (6, [("B", "z"), ("C",)], []),
        # s and t make up w, and w and z make up B. x is all alone.
        (4, [("A", "x"), ("B",), ("C",)], []),
        (2, [("A",), ("B",), ("C",)], []),
        (11, [("C",)], ["C"]),  # never empty: the best final class is always there
    ],
)
def test_sets_name_the_fewest_classes(least, expected, covering):
    assert sets_at(DEEP, 1 - least / 32) == (expected, covering)


def test_a_class_at_which_paths_end_stands_for_everything_below_it():
    y = shares(A=6, A_x=1, A_y=1, B=4)
    # To stop at A is likely, and cannot be named without what is below; x alone can.
    assert sets_at(y, 1 - 6 / 12) == ([("A",)], ["A"])
    y = shares(A=1, A_x=6, A_y=5, B=4)
    assert sets_at(y, 1 - 5 / 16) == ([("A", "x"), ("A", "y")], ["A"])
    y = shares(A_x_u=6, A_x_v=5, A_y=2, B=4)
    assert sets_at(y, 1 - 5 / 17) == ([("A", "x")], ["A", "x"])


def test_no_set_holds_a_class_and_its_ancestor_or_all_children_of_a_class(trained):
    X, y = draw(100, 6)
    sizes = set()
    for alpha in (0.02, 0.1, 0.3):
        model = ConformalClassifier(FrozenEstimator(trained), alpha, kind="set").fit(X, y)
        for found in model.predict_set(X):
            sizes.add(len(found))
            assert len(set(found)) == len(found) > 0
            assert not any(starts(a, b) for a in found for b in found if a != b)
            assert not {("a", "y", "u"), ("a", "y", "v")} <= set(found)
    assert {1, 2, 3} <= sizes


def test_the_path_of_a_set_covers_the_whole_set(trained):
    X, y = draw(100, 6)
    model = ConformalClassifier(FrozenEstimator(trained), 0.2, kind="set").fit(X, y)
    prediction, confidence = model.predict(X).tolist(), model.predict_confidence(X)
    proba = trained.predict_node_proba(X)
    lengths = set()
    for i, found in enumerate(model.predict_set(X)):
        path = tuple(label for label in prediction[i] if label)
        lengths.add(len(path))
        assert all(starts(name, path) for name in found)
        on = [trained.hierarchy_.find(path[: j + 1]) for j in range(len(path))]
        np.testing.assert_allclose(confidence[i, : len(on)], proba[i, on], atol=1e-12)
        assert np.isnan(confidence[i, len(on) :]).all()
    assert len(lengths) > 2


def test_sets_of_kind_path_are_the_end_of_the_path_or_empty(trained):
    X, y = draw(100, 6)
    model = ConformalClassifier(FrozenEstimator(trained), 0.2).fit(X, y)
    expected = [
        [tuple(filter(None, path))] if path[0] else [] for path in model.predict(X).tolist()
    ]
    assert model.predict_set(X) == expected
    assert [] in expected
    assert max(len(s[0]) for s in expected if s) > 1


@pytest.mark.parametrize("kind", ["path", "set"])
def test_single_labels_are_named_by_label(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(1, 4, size=200)
    X = y[:, None] + rng.normal(scale=0.6, size=(200, 1))
    model = ConformalClassifier(FlatClassifier(GaussianNB()), 0.2, kind=kind, random_state=0)
    model.fit(X, y)
    found = model.predict_set(X)
    assert set(map(len, found)) == ({0, 1} if kind == "path" else {1, 2})
    assert {name for names in found for name in names} == {1, 2, 3}
    assert set(model.predict(X).tolist()) == {1, 2, 3, None}


# -- rows of calibration -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["path", "set"])
def test_too_few_rows_warn_and_predict_nothing(trained, kind):
    X, y = draw(8, 1)
    message = r"8 calibration rows .* too few for alpha=0.1.*At least 9 are needed"
    with pytest.warns(UserWarning, match=message) as record:
        model = ConformalClassifier(FrozenEstimator(trained), kind=kind).fit(X, y)
    assert record[0].filename == __file__
    assert model.threshold_ == np.inf
    assert (model.predict(X) == "").all()
    assert np.isnan(model.predict_confidence(X)).all()
    assert model.predict_set(X) == [[]] * 8
    X, y = draw(9, 1)
    assert ConformalClassifier(FrozenEstimator(trained), kind=kind).fit(X, y).threshold_ <= 1


@pytest.mark.parametrize("kind", ["path", "set"])
def test_classes_that_the_model_never_saw_count_as_misses(trained, kind):
    X, y = draw(20, 1)
    usual = ConformalClassifier(FrozenEstimator(trained), 0.3, kind=kind).fit(X, y).threshold_
    unseen = [["new", "one"] if i < 10 else path for i, path in enumerate(y)]
    model = ConformalClassifier(FrozenEstimator(trained), 0.3, kind=kind).fit(X, unseen)
    scores = model._scores(X, unseen)
    if kind == "set":
        np.testing.assert_array_equal(scores[:10], 1)
    else:
        np.testing.assert_array_equal(scores[:10], trained.predict_confidence(X)[:10, 0])
    np.testing.assert_array_equal(scores[10:], model._scores(X, y)[10:])
    assert model.threshold_ > usual


def test_an_unseen_class_below_a_known_one_is_a_miss_below_it_only(trained):
    X, _ = draw(20, 1)
    model = ConformalClassifier(FrozenEstimator(trained), 0.3).fit(X, [["a", "new"]] * 20)
    scores = model._scores(X, [["a", "new"]] * 20)
    confidence, predicted = trained.predict_confidence(X), trained.predict(X)
    for score, sure, path in zip(scores, confidence, predicted.tolist(), strict=True):
        expected = sure[0] if path[0] != "a" else sure[1] if path[1] else 0.0
        assert score == expected


def test_a_part_of_the_rows_calibrates_and_the_rest_is_fitted():
    X, y = draw(41, 2)
    seen = []

    class Spy(Soft):
        def fit(self, X, y, sample_weight=None):
            seen.append(X)
            return super().fit(X, y)

    model = ConformalClassifier(FlatClassifier(Spy()), 0.3, calibration_size=0.25, random_state=3)
    model.fit(X, y)
    (fitted,) = seen
    assert len(fitted) == 41 - 11
    assert {tuple(row) for row in fitted} < {tuple(row) for row in X}
    again = clone(model).fit(X, y)
    assert again.threshold_ == model.threshold_
    np.testing.assert_array_equal(seen[1], fitted)
    clone(model).set_params(random_state=4).fit(X, y)
    assert not np.array_equal(seen[2], fitted)
    assert not hasattr(model.model, "classes_")


def test_a_frozen_model_is_used_as_it_is(trained):
    X, y = draw(40, 2)
    model = ConformalClassifier(FrozenEstimator(trained), 0.2).fit(X, y)
    assert model.model_._models is trained._models
    assert model.hierarchy_ is trained.hierarchy_
    np.testing.assert_array_equal(model.predict_node_proba(X), trained.predict_node_proba(X))
    assert [c.tolist() for c in model.classes_] == [c.tolist() for c in trained.classes_]


@pytest.mark.parametrize("kind", KINDS)
def test_takes_every_kind_of_model(kind):
    X, y = draw(80, 2)
    for what in ("path", "set"):
        model = ConformalClassifier(
            make(kind, estimator=GaussianNB()), 0.5, kind=what, random_state=0
        )
        model.fit(X, y)
        assert model.predict(X).shape == (80, 3)
        assert 0 < model.score(X, y) < 1
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_keyword_arguments_reach_the_fit_of_the_model():
    X, y = draw(40, 2)
    got = []

    class Spy(Soft):
        def fit(self, X, y, note=None):
            got.append(note)
            return super().fit(X, y)

    model = ConformalClassifier(FlatClassifier(Spy()), 0.3, random_state=0)
    model.fit(X, y, note="hello")
    assert got == ["hello"]


def test_a_restriction_comes_before_the_calibration(trained):
    X, y = draw(200, 2)
    model = ConformalClassifier(FrozenEstimator(trained), 0.2).fit(X, y)
    assert not hasattr(model, "restricted_to")
    with pytest.raises(AttributeError, match="Restrict the model first"):
        model.restricted_to([("a",)])
    of_a = [i for i, path in enumerate(y) if path[0] == "a"]
    light = ConformalClassifier(FrozenEstimator(trained.restricted_to([("a",)])), 0.2)
    light.fit(X[of_a], [y[i] for i in of_a])
    assert set(light.predict(X)[:, 0]) == {"a"}


def test_other_shares_of_classes_come_before_the_calibration(trained):
    X, y = draw(200, 2)
    model = ConformalClassifier(FrozenEstimator(trained), 0.2).fit(X, y)
    assert not hasattr(model, "adapted_to")
    with pytest.raises(AttributeError, match="Adapt the model first"):
        model.adapted_to(prior={"a": 0.9})
    light = ConformalClassifier(FrozenEstimator(trained.adapted_to(prior={"a": 1})), 0.2)
    of_a = [i for i, path in enumerate(y) if path[0] == "a"]
    light.fit(X[of_a], [y[i] for i in of_a])
    assert set(light.predict(X)[:, 0]) <= {"a", ""}


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, "'alpha' parameter"),
        ({"alpha": 1.0}, ValueError, "'alpha' parameter"),
        ({"kind": "tree"}, ValueError, "'kind' parameter"),
        ({"calibration_size": 1.0}, ValueError, "'calibration_size' parameter"),
        ({"calibration_size": 0.999}, ValueError, "leaves no row to fit the model on"),
        ({"model": LogisticRegression()}, TypeError, "got a LogisticRegression"),
        ({"model": FrozenEstimator(LogisticRegression())}, TypeError, "got a LogisticRegression"),
        ({"model": FlatClassifier(LinearSVC())}, ValueError, "The model has no probabilities"),
        ({"model": FrozenEstimator(FlatClassifier())}, NotFittedError, "not fitted"),
    ],
)
def test_wrong_parameters_are_refused(params, error, message):
    model = ConformalClassifier(**{"model": FlatClassifier(Soft()), **params})
    with pytest.raises(error, match=message):
        model.fit(rows_for(FOREST, 0), FOREST)
    assert not hasattr(model, "classes_")


def test_rows_and_labels_must_agree(trained):
    X, y = draw(20, 0)
    for model in (FrozenEstimator(trained), FlatClassifier()):
        with pytest.raises(ValueError, match="X has 20 rows but y has 19"):
            ConformalClassifier(model).fit(X, y[:-1])


@pytest.mark.parametrize("method", ["predict", "predict_set", "predict_confidence"])
def test_a_model_that_is_not_fitted_is_told_so(method):
    with pytest.raises(NotFittedError):
        getattr(ConformalClassifier(FlatClassifier()), method)([[0.0]])


# -- scikit-learn's checks ---------------------------------------------------------------------

OBJECTS = "predictions may be empty (None), so integers come as objects, of which it wants isfinite"
EXPECTED_FAILURES = {
    "check_estimators_pickle": OBJECTS,
    "check_classifier_data_not_an_array": OBJECTS,
    "check_methods_sample_order_invariance": OBJECTS,
    "check_methods_subset_invariance": OBJECTS,
    "check_fit_idempotent": OBJECTS,
    "check_classifier_multioutput": "it wants integers as predictions, ours may be empty (None)",
    "check_classifiers_train": "it takes the accuracy, which knows no empty predictions (None)",
    "check_supervised_y_2d": "it subtracts predictions, which may be empty (None)",
    "check_sample_weight_equivalence_on_dense_data": "rows are split, repeated ones too",
}


@pytest.mark.parametrize("kind", ["path", "set"])
def test_passes_the_checks_of_scikit_learn_but_for_the_listed_ones(kind):
    model = ConformalClassifier(FlatClassifier(GaussianNB()), 0.5, kind=kind, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "divide by zero encountered in log", RuntimeWarning)
        # Some checks have so few rows that there is nothing to calibrate on.
        warnings.filterwarnings("ignore", ".* calibration rows are too few", UserWarning)
        results = check_estimator(
            model, expected_failed_checks=EXPECTED_FAILURES, on_fail=None, on_skip=None
        )
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"] == []
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(EXPECTED_FAILURES)


# -- a threshold for a precision ---------------------------------------------------------------


def labels_right(predicted, y):
    """Per predicted label whether it lies on the true path."""
    return np.array(
        [
            [starts(true, path[: j + 1]) for j in range(len(path))]
            for true, path in zip(y, predicted.tolist(), strict=True)
        ]
    )


@pytest.mark.parametrize("precision", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("kind", KINDS)
def test_the_threshold_is_the_smallest_confidence_that_reaches_the_precision(kind, precision):
    model = make(kind, estimator=GaussianNB()).fit(*draw(200, 0))
    X, y = draw(60, 1)
    found = tune_confidence(model, X, y, precision)
    assert model.min_confidence == 0.0
    right, confidence = labels_right(model.predict(X), y), model.predict_confidence(X)
    candidates = np.unique(confidence[~np.isnan(confidence)])
    good = [t for t in candidates if right[confidence >= t].mean() >= precision]
    assert found == min(good)
    predicted = model.set_params(min_confidence=found).predict(X)
    assert labels_right(predicted, y)[predicted != ""].mean() >= precision


def test_the_threshold_does_not_depend_on_the_one_before(trained):
    X, y = draw(60, 1)
    expected = tune_confidence(trained, X, y, 0.8)
    cautious = pickle.loads(pickle.dumps(trained)).set_params(min_confidence=0.99)
    assert tune_confidence(cautious, X, y, 0.8) == expected
    assert tune_confidence(trained, X, y) == tune_confidence(trained, X, y, precision=0.95)


def test_labels_with_the_same_confidence_are_taken_together_or_not_at_all():
    """All rows look alike: half of the labels of the first level are right, and no others."""
    y = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]]
    X = np.zeros((4, 1))
    model = LocalClassifierPerNode(DummyClassifier(strategy="prior")).fit(X, y)
    assert tune_confidence(model, X, y, 0.5) == 0.5
    assert tune_confidence(model, X, y, 0.375) == 0.25
    with pytest.raises(ValueError, match=r"No threshold reaches a precision of 0.6; .* is 0.500"):
        tune_confidence(model, X, y, 0.6)


def test_single_labels_of_a_tree_are_judged_along_their_paths():
    tree = {"A": ["x", "w"], "B": ["z"]}
    y = ["x", "x", "w", "z"]
    X = np.zeros((4, 1))
    model = FlatClassifier(DummyClassifier(strategy="prior"), hierarchy=tree).fit(X, y)
    # A / x for all: A is right three times in four at 0.75, x twice at 0.5.
    assert tune_confidence(model, X, y, 0.7) == 0.75
    assert tune_confidence(model, X, y, 0.6) == 0.5


def test_classes_that_the_model_never_saw_are_wrong(trained):
    X, _ = draw(20, 1)
    with pytest.raises(ValueError, match=r"the best is 0\.000"):
        tune_confidence(trained, X, [["new", "one"]] * 20, 0.1)


@pytest.mark.parametrize("precision", [0, -1, 1.01, np.nan])
def test_a_precision_that_is_none_is_refused(trained, precision):
    with pytest.raises(ValueError, match="precision must be a number above 0 and at most 1"):
        tune_confidence(trained, *draw(20, 1), precision)


def test_wrong_models_and_labels_are_refused(trained):
    X, y = draw(20, 1)
    with pytest.raises(NotFittedError):
        tune_confidence(FlatClassifier(), X, y)
    with pytest.raises(TypeError, match="got a LogisticRegression"):
        tune_confidence(LogisticRegression(), X, y)
    conformal = ConformalClassifier(FrozenEstimator(trained), 0.3).fit(X, y)
    with pytest.raises(TypeError, match=r"with min_confidence.*got a ConformalClassifier"):
        tune_confidence(conformal, X, y)
    with pytest.raises(ValueError, match="X has 20 rows but y has 19"):
        tune_confidence(trained, X, y[:-1])
    undecided = make("flat", decoding=lambda proba, tree: np.zeros(len(proba), dtype=int)).fit(X, y)
    with pytest.raises(ValueError, match="only empty paths"):
        tune_confidence(undecided, X, y)


def test_sets_are_the_same_in_many_chunks(trained, limit_chunks):
    X, y = draw(400, 1)
    whole = ConformalClassifier(FrozenEstimator(trained), kind="set").fit(X, y)
    expected = whole.predict(X), whole.predict_confidence(X), whole.predict_set(X)
    limit_chunks(1, 64)
    parts = ConformalClassifier(FrozenEstimator(trained), kind="set").fit(X, y)
    assert parts.threshold_ == pytest.approx(whole.threshold_, abs=1e-12)
    np.testing.assert_array_equal(parts.predict(X), expected[0])
    np.testing.assert_allclose(parts.predict_confidence(X), expected[1], rtol=1e-12)
    assert parts.predict_set(X) == expected[2]


def test_weights_of_a_conformal_model_are_split_with_its_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), [["a", "x"], ["a", "z"], ["b", "y"]] * 20
    model = ConformalClassifier(LocalClassifierPerParentNode(GaussianNB()), random_state=0)
    model.fit(X, y, sample_weight=np.linspace(0.1, 1, 60))
    plain = ConformalClassifier(LocalClassifierPerParentNode(GaussianNB()), random_state=0)
    plain.fit(X, y)
    assert not np.allclose(model.predict_node_proba(X), plain.predict_node_proba(X))


def test_a_frozen_model_has_no_use_for_fit_parameters():
    from sklearn.frozen import FrozenEstimator

    X, y = [[0.0], [1.0]] * 10, ["a", "b"] * 10
    frozen = FrozenEstimator(FlatClassifier(GaussianNB()).fit(X, y))
    with pytest.raises(ValueError, match=r"does not accept \['sample_weight'\]"):
        ConformalClassifier(frozen).fit(X, y, sample_weight=np.ones(20))


def test_a_factory_of_classifiers_without_probabilities_is_found_out_after_fit():
    X, y = four_quarters(60)

    def factory(path):
        return LinearSVC()

    sure = LocalClassifierPerParentNode(factory)
    with pytest.raises(ValueError, match="The model 'a' has no probabilities"):
        EnsembleClassifier([("a", sure), ("b", FlatClassifier())]).fit(X, y)
    with pytest.raises(ValueError, match="The model has no probabilities"):
        ConformalClassifier(sure, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="The model has no probabilities"):
        tune_confidence(sure.fit(X, y), X, y)
    with pytest.raises(ValueError, match="leaf_only=True requires every path to end at a leaf"):
        tune_confidence(LocalClassifierPerParentNode(leaf_only=True).fit(X, y), X, y)
    assert not hasattr(ConformalClassifier(FlatClassifier(LinearSVC())), "predict_proba")


def test_sets_name_the_end_of_a_chain_of_single_children():
    X, _ = four_quarters(120)
    y = [["A", "p", "s"] if a > 0 else ["B", "q" if b > 0 else "r"] for a, b in X]
    model = ConformalClassifier(LocalClassifierPerParentNode(), 0.3, kind="set", random_state=0)
    assert model.fit(X, y).predict_set([[9.0, 0.0]]) == [[("A", "p", "s")]]


def test_weights_of_a_conformal_classifier_reach_its_model():
    X, y = four_quarters(80)
    weight = np.where(X[:, 0] > 0, 5.0, 1.0)
    model = ConformalClassifier(LocalClassifierPerParentNode(GaussianNB()), random_state=0)
    plain = model.fit(X, y).model_.local_classifiers_[()].class_prior_
    heavy = model.fit(X, y, weight).model_.local_classifiers_[()].class_prior_
    assert heavy[1] > plain[1] + 0.1


def test_a_conformal_model_keeps_to_the_model_that_it_was_calibrated_for():
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(COUNTS, COUNTED)
    safe = ConformalClassifier(FrozenEstimator(model), 0.5).fit(COUNTS, COUNTED)
    before = safe.predict(COUNTS)
    model.partial_fit(COUNTS[:1], [["A", "a0"]])
    np.testing.assert_array_equal(safe.predict(COUNTS), before)


def test_rows_of_classes_that_no_model_has_seen_are_covered_too():
    X, y = four_quarters(200)
    model = LocalClassifierPerParentNode(GaussianNB()).fit(X, y)
    new = [["C", "r"] if i % 4 == 0 else path for i, path in enumerate(y)]
    safe = ConformalClassifier(FrozenEstimator(model), 0.1, kind="set").fit(X, new)
    assert safe.threshold_ == 1
    assert safe.predict_set(X[:2]) == [[], []]
    assert (safe.predict(X[:2]) == "").all()
