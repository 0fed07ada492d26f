"""Groups of rows in ``fit``: whole groups are held out, and whoever takes groups is given them."""

import re

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse as sp
from estimator_classes import ESTIMATOR_CLASSES
from fakes import Smooth, Soft
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from hiclass import (
    ByDepth,
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._state import Packed

N = 90
#: Every row has a number; three rows that follow one another are of one group, and nearly alike.
GROUPS = np.arange(N) // 3
Y = [[("a", "x"), ("a", "y"), ("b", "z"), ("b", "w")][g % 4] for g in GROUPS]
_PLACES = {"x": (0, 0), "y": (0, 1), "z": (1, 0), "w": (1, 1)}
_NOISE = np.random.default_rng(0).normal(scale=1.5, size=(N // 3, 2))
_POINTS = [_PLACES[y[1]] + _NOISE[g] for y, g in zip(Y, GROUPS, strict=True)]
X = np.column_stack([np.arange(N) / 1000, _POINTS])
SETS = [["x", "y"] if g % 5 == 0 else [y[1]] for y, g in zip(Y, GROUPS, strict=True)]


def watching(kind, seen, method="predict_proba"):
    """An estimator that notes the rows that it was fitted on with those that it predicts."""

    class Watching(kind):
        def fit(self, X, y):
            self.rows_ = rows_of(X)
            return super().fit(X, y)

    def predict(self, X):
        seen.append((self.rows_, rows_of(X)))
        return getattr(super(Watching, self), method)(X)

    setattr(Watching, method, predict)
    return Watching()


def watching_regressor(seen):
    return watching(Smooth, seen, "predict")


def rows_of(X):
    return np.rint(1000 * X[:, 0]).astype(int)


def shares_groups(seen):
    """Whether a group was on both sides, for anything that was fitted and predicted."""
    assert seen
    return any(np.intersect1d(GROUPS[a], GROUPS[b]).size for a, b in seen)


LEARNERS = {
    "temperature": lambda seen: FlatClassifier(watching(Soft, seen), calibration="temperature"),
    "joint": lambda seen: LocalClassifierPerNode(watching(Soft, seen), calibration="joint"),
    "per parent": lambda seen: LocalClassifierPerParentNode(
        watching(Soft, seen), calibration="temperature"
    ),
    "expected_f1": lambda seen: LocalClassifierPerLevel(
        watching(Soft, seen), decoding="expected_f1"
    ),
    "global": lambda seen: GlobalClassifier(watching_regressor(seen), calibration="temperature"),
    "weights": lambda seen: EnsembleClassifier(
        [
            ("a", FlatClassifier(watching(Soft, seen))),
            ("b", EnsembleClassifier([("c", FlatClassifier(watching(Soft, seen)))])),
        ],
        weights="learned",
        decoding="expected_f1",
    ),
    "members": lambda seen: EnsembleClassifier(
        [("a", FlatClassifier(watching(Soft, seen), calibration="temperature"))]
    ),
}


@pytest.mark.parametrize("learner", LEARNERS)
def test_no_group_is_on_both_sides_of_a_fold(learner):
    seen = []
    LEARNERS[learner](seen).fit(X, Y, groups=GROUPS)
    assert not shares_groups(seen)
    seen.clear()
    LEARNERS[learner](seen).fit(X, Y)
    assert shares_groups(seen)


@pytest.mark.parametrize("estimator_class", [*ESTIMATOR_CLASSES, GlobalClassifier])
def test_tuned_thresholds_have_folds_of_whole_groups(estimator_class):
    for groups in (GROUPS, None):
        seen = []
        is_global = estimator_class is GlobalClassifier
        inner = watching_regressor(seen) if is_global else watching(Soft, seen)
        model = estimator_class(inner, multi_label=True, threshold="tuned")
        model.fit(X, SETS, groups=groups)
        assert shares_groups(seen) == (groups is None)


@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_a_temperature_with_groups_is_less_sure_of_rows_that_are_alike(estimator_class):
    nearest = LogisticRegression(C=1e4, max_iter=10_000)
    alone = estimator_class(nearest, calibration="temperature").fit(X, Y)
    together = clone(alone).fit(X, Y, groups=GROUPS)
    assert together.temperature_ > alone.temperature_
    assert together.expected_f1_ < alone.expected_f1_


@pytest.mark.parametrize("estimator_class", [*ESTIMATOR_CLASSES, GlobalClassifier])
def test_groups_have_no_effect_where_nothing_is_learned_out_of_fold(estimator_class):
    model = estimator_class(random_state=0).fit(X, Y, groups=["all"] * N)
    plain = estimator_class(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_node_proba(X), plain.predict_node_proba(X))
    known = {"calibration": "temperature", "temperature": 2.0, "expected_f1": 0.5}
    estimator_class(random_state=0, **known).fit(X, Y, groups=["all"] * N)


@pytest.mark.parametrize(
    "groups",
    [
        GROUPS.tolist(),
        [f"patient {g}" for g in GROUPS],
        GROUPS * 0.5,
        pd.Series(GROUPS, index=range(N, 0, -1)),
        pd.Series([f"p{g}" for g in GROUPS], dtype="category"),
        polars.Series([f"p{g}" for g in GROUPS]),
    ],
    ids=["list", "strings", "floats", "pandas", "categories", "polars"],
)
def test_groups_come_in_every_container(groups):
    model = EnsembleClassifier(
        [("flat", FlatClassifier(GaussianNB(), calibration="temperature"))], weights="learned"
    )
    expected = model.fit(X, Y, groups=GROUPS).predict_node_proba(X)
    again = clone(model).fit(X, Y, groups=groups)
    np.testing.assert_array_equal(again.predict_node_proba(X), expected)


def test_jobs_change_nothing():
    model = LocalClassifierPerNode(GaussianNB(), calibration="temperature")
    alone = model.fit(X, Y, groups=GROUPS).predict_node_proba(X)
    several = clone(model).set_params(n_jobs=2).fit(X, Y, groups=GROUPS)
    np.testing.assert_array_equal(several.predict_node_proba(X), alone)


ANY = [
    *(cls(GaussianNB()) for cls in ESTIMATOR_CLASSES),
    GlobalClassifier(),
    EnsembleClassifier([("flat", FlatClassifier())]),
    ConformalClassifier(FlatClassifier()),
]


@pytest.mark.parametrize("model", ANY, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:-1], "groups has 89 entries but y has 90 rows"),
        ([*GROUPS[:-1], None], "Row 89 of groups is missing"),
        ([*GROUPS[:-1], float("nan")], "Row 89 of groups is missing"),
        (GROUPS[:, None], "groups must hold one group per row"),
    ],
    ids=["length", "None", "NaN", "two dimensions"],
)
def test_bad_groups_are_refused_also_where_they_have_no_use(model, groups, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        clone(model).fit(X, Y, groups=groups)


@pytest.mark.parametrize(
    ("model", "learned", "instead"),
    [
        (
            FlatClassifier(calibration="temperature"),
            "calibration='temperature' is",
            "set temperature",
        ),
        (
            LocalClassifierPerNode(decoding="expected_f1"),
            "decoding='expected_f1' is",
            "set expected_f1",
        ),
        (
            GlobalClassifier(calibration="temperature", decoding="expected_f1"),
            "calibration='temperature' and decoding='expected_f1' are",
            "set temperature and set expected_f1",
        ),
        (
            EnsembleClassifier([("flat", FlatClassifier())], weights="learned"),
            "weights='learned' is",
            "set weights to numbers",
        ),
        (
            EnsembleClassifier([("flat", FlatClassifier())], decoding="expected_f1"),
            "decoding='expected_f1' is",
            "set expected_f1",
        ),
        (
            FlatClassifier(multi_label=True, threshold="tuned"),
            "threshold='tuned' is",
            "set threshold to a number",
        ),
        (
            FlatClassifier(multi_label=True, calibration="sigmoid"),
            "calibration='sigmoid' is",
            "set calibration=None",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_too_few_groups_are_refused_before_anything_is_fitted(model, learned, instead):
    message = (
        f"groups has 2 different groups, but {learned} learned from 3 folds of whole groups. Pass "
        f"rows of at least 3 groups, leave groups out, or {instead}."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.fit(X, SETS if getattr(model, "multi_label", False) else Y, groups=GROUPS % 2)
    assert not hasattr(model, "models_")


# -- classes and groups ------------------------------------------------------------------------


@pytest.mark.parametrize("estimator_class", [*ESTIMATOR_CLASSES, GlobalClassifier])
def test_a_class_all_of_whose_rows_are_in_one_group(estimator_class):
    y = [("c", "rare") if g == 7 else path for path, g in zip(Y, GROUPS, strict=True)]
    model = estimator_class(random_state=0, calibration="temperature", decoding="expected_f1")
    model.fit(X, y, groups=GROUPS)
    assert ("c", "rare") in {tuple(path) for path in y}
    assert model.predict_node_proba(X)[:, model.hierarchy_.find(("c", "rare"))].max() > 0


def test_groups_that_are_classes_are_warned_of():
    y = [f"class {g % 3}" for g in GROUPS]
    with pytest.warns(UserWarning, match="all rows of a class are in one fold"):
        model = FlatClassifier(calibration="temperature").fit(X, y, groups=GROUPS % 3)
    assert model.temperature_ == 1.0


@pytest.mark.parametrize("policy", ["exclusive", "less_exclusive", "exclusive_siblings"])
def test_policies_of_own_rows_have_some_in_every_fold(policy):
    """The rows that end at "a" are all in group 4, so that it is never held out."""
    early = {4: ("a",), 6: ("b",), 10: ("b",), 14: ("b",)}
    y = [early.get(g, path) for path, g in zip(Y, GROUPS, strict=True)]
    seen = []
    model = LocalClassifierPerNode(
        watching(Soft, seen), binary_policy=policy, calibration="temperature"
    )
    model.fit(X, y, groups=GROUPS)
    assert not shares_groups(seen)
    assert not any((GROUPS[rows] == 4).any() for _, rows in seen)
    seen.clear()
    EnsembleClassifier([("a", clone(model))], weights="learned").fit(X, y, groups=GROUPS)
    assert not any((GROUPS[rows] == 4).any() for _, rows in seen)


# -- local classifiers that take groups --------------------------------------------------------


class Marked(GaussianNB):
    """Remembers the groups that it was given."""

    def fit(self, X, y, sample_weight=None, groups=None):
        self.given_ = None if groups is None else np.asarray(groups)
        self.rows_ = rows_of(X)
        return super().fit(X, y, sample_weight)


def check_marked(classifiers):
    assert classifiers
    for classifier in classifiers:
        np.testing.assert_array_equal(classifier.given_, GROUPS[classifier.rows_])


@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
@pytest.mark.parametrize(
    "local_classifier",
    [Marked(), ByDepth(Marked(), var_smoothing=[1e-9, 1e-8]), lambda key: Marked()],
    ids=["estimator", "by depth", "callable"],
)
def test_groups_reach_a_local_classifier_whose_fit_names_them(estimator_class, local_classifier):
    model = estimator_class(local_classifier, calibration="temperature")
    check_marked(model.fit(X, Y, groups=GROUPS).local_classifiers_.values())


def test_groups_reach_the_last_step_of_a_pipeline():
    model = FlatClassifier(make_pipeline(make_pipeline(Marked()))).fit(X, Y, groups=GROUPS)
    check_marked([model.local_classifiers_[()][0][0]])


@pytest.mark.parametrize("local_classifier", [Marked(), lambda key: Marked()])
def test_groups_reach_the_copies_of_a_binary_classifier(local_classifier):
    model = FlatClassifier(local_classifier, multi_label=True).fit(X, SETS, groups=GROUPS)
    check_marked(model.local_classifiers_[()].estimators_)


def test_groups_reach_the_estimator_of_a_global_model():
    class MarkedRegressor(Smooth):
        def fit(self, X, y, groups=None):
            self.given_, self.rows_ = groups, rows_of(X)
            return super().fit(X, y)

    check_marked([GlobalClassifier(MarkedRegressor()).fit(X, Y, groups=GROUPS).estimator_])


def grouped_search(**options):
    return GridSearchCV(
        GaussianNB(),
        {"var_smoothing": [1e-9, 0.5]},
        cv=GroupKFold(3),
        error_score="raise",
        **options,
    )


@pytest.mark.parametrize("as_callable", [False, True])
def test_a_local_search_has_folds_of_whole_groups(as_callable):
    """Which fails without groups."""
    local = (lambda key: grouped_search()) if as_callable else grouped_search()
    model = FlatClassifier(local, calibration="temperature").fit(X, Y, groups=GROUPS)
    leaves = [y[1] for y in Y]
    expected = grouped_search().fit(X, leaves, groups=GROUPS).cv_results_["mean_test_score"]
    found = model.local_classifiers_[()].cv_results_["mean_test_score"]
    np.testing.assert_allclose(found, expected)
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        FlatClassifier(local).fit(X, Y)


@pytest.mark.parametrize("local", [LinearSVC(), lambda key: LinearSVC()], ids=["one", "callable"])
def test_groups_leave_other_local_classifiers_alone(local, tmp_path):
    """Which are packed, kept as checkpoints and fitted in threads as without groups."""
    rows = sp.csr_matrix(np.hstack([X, np.zeros((N, 6))]))
    options = {"n_jobs": 2, "checkpoint_dir": tmp_path}
    plain = LocalClassifierPerParentNode(local, **options).fit(rows, Y)
    files = sorted(tmp_path.iterdir())
    model = clone(plain).fit(rows, Y, groups=GROUPS)
    assert all(isinstance(c, Packed) for c in model._models.classifiers.values())
    assert sorted(tmp_path.iterdir()) == files
    assert model.predict(rows).tolist() == plain.predict(rows).tolist()


# -- metadata routing --------------------------------------------------------------------------


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def calibrated(kind=FlatClassifier, **options):
    return kind(GaussianNB(), calibration="temperature", **options)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("model", ANY, ids=lambda model: type(model).__name__)
def test_groups_are_requested_unless_declined(model):
    assert model._get_metadata_request().fit.requests["groups"] is True
    declined = clone(model).set_fit_request(groups=False)
    assert declined._get_metadata_request().fit.requests["groups"] is False


@pytest.mark.usefixtures("routing")
def test_a_pipeline_routes_groups():
    expected = calibrated().fit(X, Y, groups=GROUPS).temperature_
    assert make_pipeline("passthrough", calibrated()).fit(X, Y, groups=GROUPS)[-1].temperature_ == (
        expected
    )
    asked = calibrated().set_fit_request(groups="patients")
    assert make_pipeline(asked).fit(X, Y, patients=GROUPS)[-1].temperature_ == expected
    ensemble = EnsembleClassifier([("a", calibrated()), ("b", asked.set_fit_request(groups=False))])
    ensemble = make_pipeline(ensemble).fit(X, Y, groups=GROUPS)[-1]
    assert ensemble.models_[0].temperature_ == expected
    assert ensemble.models_[1].temperature_ == calibrated().fit(X, Y).temperature_


@pytest.mark.usefixtures("routing")
def test_cross_validation_and_searches_route_the_groups_of_their_training_rows():
    cv = GroupKFold(3)
    scores = cross_validate(
        calibrated(), X, Y, cv=cv, params={"groups": GROUPS}, return_estimator=True
    )
    for model, (train, _) in zip(scores["estimator"], cv.split(X, Y, GROUPS), strict=True):
        part = [Y[i] for i in train]
        expected = calibrated().fit(X[train], part, groups=GROUPS[train])
        assert model.temperature_ == expected.temperature_
    search = GridSearchCV(calibrated(), {"leaf_only": [False]}, cv=cv, error_score="raise")
    search.fit(X, Y, groups=GROUPS)
    expected = calibrated().fit(X, Y, groups=GROUPS)
    assert search.best_estimator_.temperature_ == expected.temperature_


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("as_callable", [False, True])
def test_routing_hands_groups_to_local_classifiers_that_request_them(as_callable):
    for wanted in (Marked().set_fit_request(groups=True), grouped_search()):
        local = (lambda key, wanted=wanted: clone(wanted)) if as_callable else wanted
        model = FlatClassifier(local).fit(X, Y, groups=GROUPS)
        if isinstance(wanted, Marked):
            check_marked(model.local_classifiers_.values())
    declined = Marked().set_fit_request(groups=False)
    local = (lambda key: clone(declined)) if as_callable else declined
    assert FlatClassifier(local).fit(X, Y, groups=GROUPS).local_classifiers_[()].given_ is None


def test_without_routing_groups_are_named_for_the_step_and_for_the_folds():
    expected = calibrated().fit(X, Y, groups=GROUPS).temperature_
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), calibrated())
    fitted = pipeline.fit(X, Y, flatclassifier__groups=GROUPS)
    assert fitted[-1].temperature_ == expected
    found = cross_validate(
        calibrated(),
        X,
        Y,
        cv=GroupKFold(2),
        groups=GROUPS,
        params={"groups": GROUPS},
        return_estimator=True,
    )
    train, _ = next(GroupKFold(2).split(X, Y, GROUPS))
    first = calibrated().fit(X[train], [Y[i] for i in train], groups=GROUPS[train])
    assert found["estimator"][0].temperature_ == first.temperature_


# -- guarantees --------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda model: model, make_pipeline])
def test_a_conformal_model_calibrates_on_whole_groups(wrap):
    seen = []
    inner = FlatClassifier(watching(Soft, seen), calibration="temperature")
    model = ConformalClassifier(wrap(inner), random_state=0).fit(X, Y, groups=GROUPS)
    assert not shares_groups(seen)
    assert len(seen[-1][1]) + len(seen[-1][0]) == N  # all others calibrate
    assert abs(len(seen[-1][1]) - N / 4) <= 2
    assert model.threshold_ <= 1


@pytest.mark.usefixtures("routing")
def test_routing_hands_groups_to_the_model_of_a_conformal_one():
    declined = make_pipeline(calibrated().set_fit_request(groups=False))
    for model in (calibrated(), make_pipeline(calibrated()), declined):
        ConformalClassifier(model, random_state=0).fit(X, Y, groups=GROUPS)


def test_a_conformal_model_needs_two_groups_unless_it_is_frozen():
    with pytest.raises(ValueError, match=r"^groups has 1 different group, but whole groups are"):
        ConformalClassifier(FlatClassifier()).fit(X, Y, groups=["one"] * N)
    frozen = FrozenEstimator(FlatClassifier().fit(X, Y))
    model = ConformalClassifier(frozen).fit(X, Y, groups=["one"] * N)
    assert model.threshold_ == ConformalClassifier(frozen).fit(X, Y).threshold_
