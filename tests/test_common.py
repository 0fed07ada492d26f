"""The scikit-learn contract: its own checks, and the tools that build on it."""

import ast
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas
import pytest
import sklearn
from estimator_classes import LOCAL_CLASSES
from fakes import Recorder
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_checks, estimator_html_repr, get_tags
from sklearn.utils.estimator_checks import check_estimator
from zoo import DAG, zoo

import hiclass
from hiclass import (
    ClassTextClassifier,
    FlatClassifier,
    GlobalClassifier,
    HierarchicalClassifier,
    HierarchicalKFold,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass.metrics import f1

# -- scikit-learn's checks ---------------------------------------------------------------------

ESTIMATORS = {
    "default": None,
    "LinearSVC": LinearSVC(random_state=0),
    "forest": RandomForestClassifier(n_estimators=5, random_state=0),
    "GaussianNB": GaussianNB(),
}

BOOTSTRAP = "rows are drawn by number: a row of weight 2 and two equal rows give other samples"
EXPECTED_FAILURES = {
    "forest": {
        "check_sample_weight_equivalence_on_dense_data": BOOTSTRAP,
        "check_sample_weight_equivalence_on_sparse_data": BOOTSTRAP,
        "check_classifier_multioutput": (
            "it wants the most probable label of every level, which need not lie on one path"
        ),
    }
}
# The checks that scikit-learn itself leaves out, and why.
EXPECTED_SKIPS = {"check_array_api_input": "runs only where SCIPY_ARRAY_API=1 is set at start"}


def run_checks(model, expected_failures):
    with warnings.catch_warnings():
        # What classifiers warn of in the checks: too few iterations, a class of weight 0.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "divide by zero encountered in log", RuntimeWarning)
        return check_estimator(
            model, expected_failed_checks=expected_failures, on_fail=None, on_skip=None
        )


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_passes_the_checks_of_scikit_learn_but_for_the_listed_ones(estimator_class, estimator):
    assert_passes(estimator_class(ESTIMATORS[estimator]), EXPECTED_FAILURES.get(estimator, {}))


@pytest.mark.parametrize("estimator", [ExtraTreesRegressor(5), Ridge()], ids=["trees", "Ridge"])
def test_a_global_model_passes_the_checks_but_for_the_listed_ones(estimator):
    listed = EXPECTED_FAILURES["forest"]["check_classifier_multioutput"]
    is_forest = isinstance(estimator, ExtraTreesRegressor)  # whose predictions need no normalising
    expected = {} if is_forest else {"check_classifier_multioutput": listed}
    assert_passes(GlobalClassifier(estimator), expected)


ORDER = "the order in which a linear SVM visits rows depends on their number"


@pytest.mark.parametrize("local_classifier", [None, GaussianNB()], ids=["chosen", "GaussianNB"])
def test_the_estimator_to_start_with_passes_the_checks_but_for_the_listed_ones(local_classifier):
    if local_classifier is None:  # for sparse rows a linear SVM is chosen
        model = HierarchicalClassifier(effort="quick")
        expected = {"check_sample_weight_equivalence_on_sparse_data": ORDER}
    else:
        model = HierarchicalClassifier(local_classifier)
        expected = {"check_fit_score_takes_y": "it calls partial_fit after fit, which calibrates"}
    assert_passes(model, expected)


def assert_passes(model, expected):
    results = run_checks(model, expected)
    names = {result["check_name"] for result in results}
    assert {"check_classifiers_train", "check_classifiers_classes"} <= names  # as classifiers
    by_status = {status: {} for status in ("passed", "failed", "xfail", "skipped")}
    for result in results:
        by_status[result["status"]][result["check_name"]] = result["exception"]
    assert by_status["failed"] == {}
    assert set(by_status["skipped"]) <= set(EXPECTED_SKIPS)
    # A listed check that passes is listed in error.
    assert set(by_status["passed"]) & set(expected) == set()


TEXTS = {("a", "b"): "cats and felines", ("a", "c"): "dogs that bark", ("d", "e"): "green ferns"}
#: Checks of scikit-learn that give no rows of numbers to the estimator.
ANY_INPUT = [
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_valid_tag_types,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
    estimator_checks.check_mixin_order,
]


@pytest.mark.parametrize("check", ANY_INPUT, ids=lambda check: check.__name__)
def test_a_model_by_words_passes_the_checks_that_need_no_numbers(check):
    """scikit-learn leaves out all checks with rows where an estimator takes texts only."""
    check("ClassTextClassifier", ClassTextClassifier(class_texts=TEXTS))


def test_a_model_by_words_passes_the_checks_with_rows_on_texts():
    """The same checks as scikit-learn makes with numbers, on texts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Can't test estimator")
        results = check_estimator(ClassTextClassifier(class_texts=TEXTS), on_fail=None)
    assert {result["status"] for result in results} == {"passed"}
    X = ["a feline", "it barks", "ferns", "cats", "a dog", "green"] * 4
    y = [["a", "b"], ["a", "c"], ["d", "e"]] * 8
    model = ClassTextClassifier(class_texts=TEXTS)
    before = dict(vars(model))
    assert model.fit(X, y) is model
    assert {name: vars(model)[name] for name in before} == before  # fit sets no parameter
    proba = model.predict_node_proba(X)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_node_proba(X), proba)
    np.testing.assert_array_equal(model.fit(X, y).predict_node_proba(X), proba)
    one_by_one = np.vstack([model.predict_node_proba([x]) for x in X])
    np.testing.assert_allclose(one_by_one, proba, atol=1e-6)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(
        model.predict_node_proba([X[i] for i in order]), proba[order], atol=1e-6
    )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_node_proba(X), proba)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        clone(model).predict(X)
    with pytest.raises(ValueError, match="empty: it holds 0 texts"):
        model.predict([])
    assert cross_val_score(model, X, y, cv=HierarchicalKFold(3)).shape == (3,)


def test_a_forest_alone_fails_the_weight_checks_that_are_listed_for_it():
    listed = {k: v for k, v in EXPECTED_FAILURES["forest"].items() if v is BOOTSTRAP}
    results = run_checks(ESTIMATORS["forest"], listed)
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(listed)


# -- tags --------------------------------------------------------------------------------------


def test_is_a_classifier(estimator_class):
    tags = get_tags(estimator_class())
    assert is_classifier(estimator_class())
    assert tags.estimator_type == "classifier"
    assert tags.classifier_tags is not None
    assert tags.target_tags.required
    assert tags.target_tags.multi_output


TAGGED = {
    "LogisticRegression": LogisticRegression(),
    "GaussianNB": GaussianNB(),
    "MultinomialNB": MultinomialNB(),
    "HistGradientBoosting": HistGradientBoostingClassifier(),
    "pipeline": make_pipeline(StandardScaler(), GaussianNB()),
}


@pytest.mark.parametrize("estimator", TAGGED)
def test_tags_of_the_input_are_those_of_the_local_classifier(estimator_class, estimator):
    names = ("sparse", "allow_nan", "positive_only", "string", "categorical")
    found, expected = (
        {name: getattr(get_tags(model).input_tags, name) for name in names}
        for model in (estimator_class(TAGGED[estimator]), TAGGED[estimator])
    )
    # A composite does not say whether its parts take NaN, so that it is left to decide.
    expected["allow_nan"] |= estimator == "pipeline"
    assert found == expected
    # These are the same in every version of scikit-learn.
    assert found["allow_nan"] == (estimator in ("HistGradientBoosting", "pipeline"))
    assert found["positive_only"] == (estimator == "MultinomialNB")


def test_tags_without_a_local_classifier_are_those_of_the_default(estimator_class):
    default = get_tags(estimator_class(LogisticRegression()))
    assert get_tags(estimator_class()) == default


def test_a_local_classifier_with_a_poor_score_makes_a_poor_score(estimator_class):
    assert get_tags(estimator_class(DummyClassifier())).classifier_tags.poor_score
    assert not get_tags(estimator_class()).classifier_tags.poor_score


def test_a_local_classifier_without_tags_is_trusted_with_sparse_rows_and_nan(estimator_class):
    class Plain:
        def fit(self, X, y):
            return self

    tags = get_tags(estimator_class(Plain())).input_tags
    assert (tags.sparse, tags.allow_nan) == (True, True)


# -- the paper ---------------------------------------------------------------------------------

LISTING = """\
from hiclass import LocalClassifierPerNode
from hiclass.metrics import f1
from sklearn.ensemble import RandomForestClassifier

# define mock data
X_train = X_test = [[1, 2], [3, 4]]
Y_train = Y_test = [
    ["Animal", "Mammal", "Cat"],
    ["Animal", "Reptile", "Turtle"],
]

# Use random forest classifiers for every node
rf = RandomForestClassifier()
lcpn = LocalClassifierPerNode(local_classifier=rf)
lcpn.fit(X_train, Y_train)  # Train model
predictions = lcpn.predict(X_test)  # Predict test data

# Print hierarchical F-score
print(f"f1: {f1(y_true=Y_test, y_pred=predictions)}")
"""


def test_the_listing_of_the_paper_prints_a_perfect_score(capsys):
    exec(compile(LISTING, "listing", "exec"), {})
    assert capsys.readouterr().out == "f1: 1.0\n"


def test_the_listing_runs_with_every_other_estimator(estimator_class, capsys):
    listing = LISTING.replace("LocalClassifierPerNode", estimator_class.__name__)
    exec(compile(listing, "listing", "exec"), {})
    assert capsys.readouterr().out == "f1: 1.0\n"


# -- tools of scikit-learn ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris():
    X, species = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    paths = np.array([["small", "setosa"], ["large", "versicolor"], ["large", "virginica"]])
    return X, paths[species]


def test_works_at_the_end_of_a_pipeline(estimator_class, iris):
    X, y = iris
    pipeline = make_pipeline(MinMaxScaler(), estimator_class()).fit(X, y)
    scaled = MinMaxScaler().fit_transform(X)
    alone = estimator_class().fit(scaled, y)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(scaled))
    assert pipeline.score(X, y) == f1(y, alone.predict(scaled)) > 0.9


def test_grid_search_needs_no_scorer_and_finds_the_better_local_classifier(estimator_class, iris):
    X, y = iris
    search = GridSearchCV(
        estimator_class(LogisticRegression()),
        {"local_classifier__C": [1e-6, 1.0]},
        cv=HierarchicalKFold(3),
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_ == {"local_classifier__C": 1.0}
    assert search.best_score_ > 0.9
    assert search.score(X, y) == f1(y, search.predict(X))


def test_grid_search_over_policies(iris):
    X, y = iris
    policies = ["siblings", "inclusive", "less_inclusive"]
    search = GridSearchCV(
        LocalClassifierPerNode(GaussianNB()),
        {"binary_policy": policies},
        cv=HierarchicalKFold(3),
        error_score="raise",
    ).fit(X, y)
    for i, policy in enumerate(policies):
        model = LocalClassifierPerNode(GaussianNB(), binary_policy=policy)
        expected = cross_val_score(model, X, y, cv=HierarchicalKFold(3))
        assert search.cv_results_["mean_test_score"][i] == pytest.approx(expected.mean())


def test_cross_val_score_is_the_f_score_of_every_fold(estimator_class, iris):
    X, y = iris
    folds = HierarchicalKFold(3)
    scores = cross_val_score(estimator_class(GaussianNB()), X, y, cv=folds, error_score="raise")
    expected = [
        f1(y[test], estimator_class(GaussianNB()).fit(X[train], y[train]).predict(X[test]))
        for train, test in folds.split(X, y)
    ]
    assert scores.tolist() == expected


def test_cross_val_score_with_an_integer_cv(estimator_class, iris):
    X, y = iris
    order = np.random.default_rng(0).permutation(len(y))
    model = estimator_class(GaussianNB())
    scores = cross_val_score(model, X[order], y[order], cv=3, error_score="raise")
    assert scores.min() > 0.9


def test_cross_val_predict_returns_paths(estimator_class, iris):
    X, y = iris
    predicted = cross_val_predict(estimator_class(GaussianNB()), X, y, cv=HierarchicalKFold(3))
    assert predicted.shape == y.shape
    assert predicted.dtype == y.dtype
    assert f1(y, predicted) > 0.9


def test_cross_val_predict_of_probabilities_for_single_labels(estimator_class, iris):
    X, y = iris
    folds = HierarchicalKFold(3)
    proba = cross_val_predict(
        estimator_class(GaussianNB()), X, y[:, 1], cv=folds, method="predict_proba"
    )
    expected = np.empty((150, 3))
    for train, test in folds.split(X, y):
        model = estimator_class(GaussianNB()).fit(X[train], y[train, 1])
        expected[test] = model.predict_proba(X[test])
    np.testing.assert_allclose(proba, expected, rtol=1e-12)


def test_cross_val_predict_of_probabilities_for_complete_paths(estimator_class, iris):
    """Per level one array, as for every multi-output classifier of scikit-learn."""
    X, y = iris
    proba = cross_val_predict(
        estimator_class(GaussianNB()), X, y, cv=HierarchicalKFold(3), method="predict_proba"
    )
    assert [p.shape for p in proba] == [(150, 2), (150, 3)]
    np.testing.assert_allclose(proba[0][:, 0], proba[1][:, 1:].sum(axis=1), atol=1e-12)


def test_clone_copies_every_parameter_and_nothing_fitted(estimator_class, animals):
    X, y = animals
    model = estimator_class(GaussianNB(var_smoothing=1e-3), min_confidence=0.25, random_state=7)
    copy = clone(model.fit(X, y))
    assert repr(copy) == repr(model)
    assert copy.local_classifier is not model.local_classifier
    assert not [name for name in vars(copy) if name.endswith("_")]
    np.testing.assert_array_equal(copy.fit(X, y).predict(X), model.predict(X))


def test_a_fitted_model_survives_pickle_and_joblib(estimator_class, animals, tmp_path):
    X, y = animals
    model = estimator_class(GaussianNB()).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        np.testing.assert_array_equal(copy.predict_node_proba(X), model.predict_node_proba(X))
        assert copy.hierarchy_ == model.hierarchy_
        assert list(copy.local_classifiers_) == list(model.local_classifiers_)


def test_html_repr_shows_the_model_and_its_local_classifier(estimator_class, animals):
    model = estimator_class(GaussianNB())
    for shown in (model._repr_html_(), estimator_html_repr(model.fit(*animals))):
        assert estimator_class.__name__ in shown
        assert "GaussianNB" in shown


def test_repr_shows_what_differs_from_the_defaults(estimator_class):
    assert repr(estimator_class()) == f"{estimator_class.__name__}()"
    name = estimator_class.__name__
    assert repr(estimator_class(leaf_only=True)) == f"{name}(leaf_only=True)"


def test_set_params_reaches_the_local_classifier(estimator_class):
    model = estimator_class(LogisticRegression()).set_params(local_classifier__C=3.0)
    assert model.local_classifier.C == 3.0
    assert model.get_params()["local_classifier__C"] == 3.0


def test_fit_returns_the_model_and_leaves_its_parameters_alone(estimator_class, animals):
    estimator = GaussianNB()
    model = estimator_class(estimator)
    before = dict(vars(model))
    assert model.fit(*animals) is model
    assert model.local_classifier is estimator
    assert {name: getattr(model, name) for name in before} == before
    assert not hasattr(estimator, "classes_")


def test_min_confidence_is_read_at_predict_time(estimator_class, animals):
    X, y = animals
    model = estimator_class(GaussianNB()).fit(X, y)
    other = estimator_class(GaussianNB(), min_confidence=1.0).fit(X, y)
    between = (X[:1] + X[-1:]) / 2  # an animal or a stone
    np.testing.assert_array_equal(
        model.set_params(min_confidence=1.0).predict(between), other.predict(between)
    )
    assert other.set_params(min_confidence=0.0).predict(X).tolist() == y.tolist()


class Process(DecisionTreeClassifier):
    """Remembers where it was fitted."""

    def fit(self, X, y, sample_weight=None):
        self.process_ = os.getpid()
        return super().fit(X, y, sample_weight)


@pytest.fixture
def many(animals):
    """More rows than the library fits in its own process in any case."""
    X, y = animals
    noise = np.random.default_rng(5).normal(size=(40 * len(y), X.shape[1]))
    return np.tile(X, (40, 1)) + 2 * noise, np.tile(y, (40, 1))


def test_n_jobs_uses_other_processes_and_changes_nothing(many):
    # All in one test: the processes of joblib take seconds to start, then they stay.
    X, y = many
    weights = np.linspace(1, 2, len(y))
    estimator = Process(max_features=1)
    for local_class in LOCAL_CLASSES:
        serial = local_class(estimator, random_state=0).fit(X, y, sample_weight=weights)
        assert {c.process_ for c in serial.local_classifiers_.values()} == {os.getpid()}
        for n_jobs in (2, -1):
            model = local_class(estimator, random_state=0, n_jobs=n_jobs)
            model.fit(X, y, sample_weight=weights)
            assert os.getpid() not in {c.process_ for c in model.local_classifiers_.values()}
            assert list(model.local_classifiers_) == list(serial.local_classifiers_)
            np.testing.assert_array_equal(model.predict_node_proba(X), serial.predict_node_proba(X))
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    serial = LocalClassifierPerNode(estimator, random_state=0).fit(frame, y)
    parallel = LocalClassifierPerNode(estimator, random_state=0, n_jobs=2).fit(frame, y)
    np.testing.assert_array_equal(parallel.predict(frame), serial.predict(frame))


def test_n_jobs_with_threads_changes_nothing(local_class, many):
    X, y = many
    serial = local_class(GaussianNB()).fit(X, y)
    with joblib.parallel_config(backend="threading"):
        threads = local_class(GaussianNB(), n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(threads.predict_node_proba(X), serial.predict_node_proba(X))


def test_fitting_again_forgets_the_first_fit(estimator_class, animals):
    X, y = animals
    model = estimator_class(GaussianNB()).fit(X, y).fit(X[:, :2], ["a", "b"] * 18)
    assert model.n_features_in_ == 2
    assert model.classes_.tolist() == ["a", "b"]
    assert set(model.predict(X[:, :2])) <= {"a", "b"}


def test_fitting_again_on_rows_without_columns_forgets_the_columns(estimator_class, animals):
    X, y = animals
    model = estimator_class(DummyClassifier(), calibration="temperature")
    model.fit(pandas.DataFrame(X, columns=list("abcdef")), y)
    first = {name for name in vars(model) if name.endswith("_")}
    assert {"n_features_in_", "feature_names_in_", "temperature_"} <= first
    model.set_params(calibration=None).fit(["some", "documents"], ["a", "b"])
    second = {name for name in vars(model) if name.endswith("_")}
    assert first - second == {"n_features_in_", "feature_names_in_", "temperature_"} | (
        first & {"expected_f1_"}
    )


# -- sample weights ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "tolerance"),
    [
        (GaussianNB(var_smoothing=1e-12), 1e-8),
        (LogisticRegression(tol=1e-10, max_iter=10_000), 1e-4),
    ],
    ids=["GaussianNB", "LogisticRegression"],
)
def test_a_weight_counts_as_so_many_equal_rows(estimator_class, animals, estimator, tolerance):
    X, y = animals
    X = X / 8  # close enough that weights matter everywhere
    X += np.random.default_rng(1).normal(size=X.shape)
    times = np.random.default_rng(2).integers(1, 4, size=len(y))
    weighted = estimator_class(estimator).fit(X, y, sample_weight=times)
    repeated = estimator_class(estimator).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times, axis=0)
    )
    unweighted = estimator_class(estimator).fit(X, y)
    expected = repeated.predict_node_proba(X)
    np.testing.assert_allclose(weighted.predict_node_proba(X), expected, atol=tolerance)
    assert abs(unweighted.predict_node_proba(X) - expected).max() > 100 * tolerance


def test_weights_are_sliced_with_the_rows(estimator_class, animals):
    X, y = animals
    weights = np.arange(1.0, len(y) + 1)
    model = estimator_class(Recorder()).fit(X, y, sample_weight=weights)
    for classifier in model.local_classifiers_.values():
        rows, _, given, _ = classifier.seen_
        expected = [weights[(row == X).all(axis=1)].item() for row in rows]
        assert given.tolist() == expected


def test_weights_go_by_keyword(estimator_class, animals):
    """The second argument after y of SGDClassifier.fit is coef_init."""
    X, y = animals
    estimator = SGDClassifier(random_state=0, loss="log_loss")
    model = estimator_class(estimator).fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(model.predict(X), estimator_class(estimator).fit(X, y).predict(X))


def test_a_local_classifier_without_weights_is_refused_by_name_only_if_there_are_weights(
    estimator_class, animals
):
    X, y = animals
    model = estimator_class(KNeighborsClassifier(n_neighbors=1))
    assert model.fit(X, y).score(X, y) == 1.0
    message = r"sample_weight was given but KNeighborsClassifier\.fit does not take it"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=np.ones(len(y)))


def in_a_pipeline(estimator):
    return make_pipeline(FunctionTransformer(), estimator)


WRAPPINGS = {
    "pipeline": in_a_pipeline,
    "nested": lambda estimator: in_a_pipeline(in_a_pipeline(estimator)),
    "search": lambda estimator: GridSearchCV(estimator, {}, cv=2),
    "search over a pipeline": lambda estimator: GridSearchCV(in_a_pipeline(estimator), {}, cv=2),
    "search in a pipeline": lambda estimator: in_a_pipeline(
        GridSearchCV(in_a_pipeline(in_a_pipeline(estimator)), {}, cv=2)
    ),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("factory", [False, True])
def test_weights_pass_through_pipelines_and_searches(estimator_class, animals, wrapping, factory):
    X, y = (np.repeat(part, 2, axis=0) for part in animals)
    weights = np.random.default_rng(0).uniform(0.1, 5, size=len(y))
    estimator = WRAPPINGS[wrapping](GaussianNB())
    model = estimator_class((lambda key: estimator) if factory else estimator)
    found = model.fit(X, y, sample_weight=weights)
    bare = estimator_class(GaussianNB()).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(found.predict_node_proba(X), bare.predict_node_proba(X), atol=1e-9)


def test_so_they_do_where_rows_are_sets_and_in_global_models(estimator_class):
    X, y = zoo()
    weights = np.random.default_rng(0).uniform(0.1, 5, size=len(y))
    for kind, estimator, params in (
        (estimator_class, GaussianNB(), {}),
        (GlobalClassifier, Ridge(), {}),
        (GlobalClassifier, DecisionTreeClassifier(random_state=0), {"level_weight": 1}),
    ):
        found, bare = (
            kind(inside, hierarchy=DAG, multi_label=True, **params)
            .fit(X, y, sample_weight=weights)
            .predict_node_proba(X)
            for inside in (in_a_pipeline(estimator), estimator)
        )
        np.testing.assert_allclose(found, bare, atol=1e-9)


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_the_last_step_has_to_take_weights(estimator_class, animals, wrapping):
    estimator = WRAPPINGS[wrapping](KNeighborsClassifier(n_neighbors=1))
    message = r"sample_weight was given but KNeighborsClassifier\.fit does not take it"
    with pytest.raises(ValueError, match=message):
        estimator_class(estimator).fit(*animals, sample_weight=np.ones(len(animals[1])))


def test_a_class_without_weight_is_refused_for_a_linear_svm_inside_a_pipeline(local_class):
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match="All rows of one of the classes have a sample weight"):
        local_class(in_a_pipeline(LinearSVC())).fit(X, y, sample_weight=[1, 1, 0, 0])


def test_more_fit_parameters_are_handed_on_and_sliced(estimator_class, animals):
    X, y = animals
    marks = np.arange(len(y))
    model = estimator_class(Recorder()).fit(X, y, marks=marks)
    for classifier in model.local_classifiers_.values():
        rows, *_, given = classifier.seen_
        assert given.tolist() == [marks[(row == X).all(axis=1)].item() for row in rows]


def test_an_unknown_fit_parameter_is_refused_by_name(estimator_class, animals):
    with pytest.raises(ValueError, match=r"colour was given but GaussianNB.fit does not take it"):
        estimator_class(GaussianNB()).fit(*animals, colour="red")


@pytest.mark.parametrize("weights", [np.ones(5), np.ones((36, 2))], ids=["short", "two columns"])
def test_weights_of_another_shape_are_refused(estimator_class, animals, weights):
    with pytest.raises(ValueError, match=r"ample_weight|Sample weights"):
        estimator_class().fit(*animals, sample_weight=weights)


def test_weights_count_in_the_score(estimator_class):
    X, y = np.array([[0.0], [1.0], [0.0]]), ["a", "b", "b"]
    model = estimator_class(GaussianNB()).fit(X[:2], y[:2])
    assert model.score(X, y) == pytest.approx(2 / 3)
    assert model.score(X, y, sample_weight=[1, 1, 2]) == pytest.approx(2 / 4)


# -- metadata routing --------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def weighted(animals):
    X, y = animals
    X = X + np.random.default_rng(1).normal(scale=4, size=X.shape)
    return X, y, np.random.default_rng(2).uniform(0.1, 5, size=len(y))


@pytest.mark.usefixtures("routing")
def test_routing_hands_weights_to_a_local_classifier_that_requested_them(estimator_class, weighted):
    X, y, weights = weighted
    estimator = GaussianNB().set_fit_request(sample_weight=True)
    routed = estimator_class(estimator).fit(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=False):
        plain = estimator_class(GaussianNB()).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(routed.predict_node_proba(X), plain.predict_node_proba(X))


@pytest.mark.usefixtures("routing")
def test_routing_refuses_weights_that_the_local_classifier_declined(estimator_class, weighted):
    """As scikit-learn's MultiOutputClassifier does."""
    X, y, weights = weighted
    model = estimator_class(GaussianNB().set_fit_request(sample_weight=False))
    with pytest.raises(TypeError, match=r"\{'sample_weight'\}, which are not routed to any object"):
        model.fit(X, y, sample_weight=weights)
    unweighted = estimator_class(GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(
        model.fit(X, y).predict_node_proba(X), unweighted.predict_node_proba(X)
    )


@pytest.mark.usefixtures("routing")
def test_routing_wants_an_explicit_request(estimator_class, weighted):
    X, y, weights = weighted
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        estimator_class(GaussianNB()).fit(X, y, sample_weight=weights)


@pytest.mark.usefixtures("routing")
def test_routing_hands_weights_to_the_default_local_classifier(estimator_class, weighted):
    X, y, weights = weighted
    default = estimator_class().fit(X / 8, y, sample_weight=weights)
    estimator = LogisticRegression().set_fit_request(sample_weight=True)
    explicit = estimator_class(estimator).fit(X / 8, y, sample_weight=weights)
    np.testing.assert_array_equal(default.predict_node_proba(X), explicit.predict_node_proba(X))


@pytest.mark.usefixtures("routing")
def test_routing_reaches_a_step_of_a_pipeline_local_classifier(estimator_class, weighted):
    X, y, weights = weighted
    step = GaussianNB().set_fit_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    routed = estimator_class(make_pipeline(scaler, step)).fit(X, y, sample_weight=weights)
    ignored = estimator_class(make_pipeline(StandardScaler(), GaussianNB())).fit(X, y)
    assert abs(routed.predict_node_proba(X) - ignored.predict_node_proba(X)).max() > 1e-3


@pytest.mark.usefixtures("routing")
def test_routing_of_weights_through_a_grid_search_to_fit_and_score(estimator_class, weighted):
    X, y, weights = weighted
    model = estimator_class(GaussianNB().set_fit_request(sample_weight=True))
    folds = HierarchicalKFold(2)
    search = GridSearchCV(
        model.set_score_request(sample_weight=True),
        {"local_classifier__var_smoothing": [1e-9, 1e-3]},
        cv=folds,
        error_score="raise",
    ).fit(X, y, sample_weight=weights)
    expected = []
    for train, test in folds.split(X, y):
        fitted = clone(model).fit(X[train], y[train], sample_weight=weights[train])
        expected.append(f1(y[test], fitted.predict(X[test]), sample_weight=weights[test]))
    assert search.cv_results_["split0_test_score"][0] == expected[0]
    assert search.cv_results_["split1_test_score"][0] == expected[1]


@pytest.mark.usefixtures("routing")
def test_routing_of_other_metadata_than_weights(estimator_class, animals):
    X, y = animals
    estimator = Recorder().set_fit_request(marks=True)
    model = estimator_class(estimator).fit(X, y, marks=np.arange(len(y)))
    for classifier in model.local_classifiers_.values():
        rows, *_, given = classifier.seen_
        assert given.tolist() == [np.flatnonzero((row == X).all(axis=1)).item() for row in rows]


@pytest.mark.usefixtures("routing")
def test_routing_with_different_local_classifiers_per_node(estimator_class, weighted):
    X, y, weights = weighted

    def choose(_):
        return GaussianNB().set_fit_request(sample_weight=True)

    chosen = estimator_class(choose).fit(X, y, sample_weight=weights)
    same = estimator_class(choose(())).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(chosen.predict_node_proba(X), same.predict_node_proba(X))


# -- the process -------------------------------------------------------------------------------


def run_python(code):
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_import_leaves_logging_alone_and_loads_no_optional_library():
    code = (
        "import logging, sys\n"
        "before = (logging.root.level, list(logging.root.handlers), logging.root.disabled)\n"
        "import sklearn.linear_model, sklearn.model_selection\n"  # may load pandas by itself
        "loaded = set(sys.modules)\n"
        "import hiclass\n"
        "[getattr(hiclass, name) for name in hiclass.__all__]\n"
        "hiclass.model_selection\n"
        "assert before == (logging.root.level, logging.root.handlers, logging.root.disabled)\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - loaded}\n"
        "optional = {'networkx', 'matplotlib', 'pandas', 'polars', 'ray', 'dask', 'torch'}\n"
        "print(sorted(new & optional), 'hiclass' in new)\n"
    )
    assert run_python(code) == "[] True\n"


def test_importing_hiclass_imports_a_part_only_where_it_is_used():
    code = (
        "import sys, hiclass\n"
        "watched = ('hiclass', 'sklearn', 'numpy')\n"
        "print(sorted(name for name in sys.modules if name.startswith(watched)))\n"
        "hiclass.truncate_at_gap, hiclass.truncate_at_gap\n"
        "print('hiclass._labels.gaps' in sys.modules, 'hiclass._estimators' in sys.modules)\n"
    )
    first, second = run_python(code).splitlines()
    assert first == "['hiclass', 'hiclass._version', 'hiclass._warnings']"
    assert second == "True False"


def test_type_checkers_see_the_names_that_are_imported_when_they_are_used():
    tree = ast.parse(Path(hiclass.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {alias.asname: node.module for node in block.body for alias in node.names}
    modules = {name for name, home in homes.items() if home == "hiclass"}
    assert modules == {"datasets", "metrics", "model_selection"}
    assert {n: h for n, h in homes.items() if n not in modules} == hiclass._HOMES
    assert set(hiclass.__all__) <= set(dir(hiclass))


def test_unknown_names_are_missing_as_in_every_module():
    with pytest.raises(AttributeError, match="module 'hiclass' has no attribute 'Klassifier'"):
        hiclass.Klassifier  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Klassifier'"):
        from hiclass import Klassifier  # noqa: F401


def test_the_default_local_classifier_is_not_shared(animals):
    X, y = animals
    first, second = FlatClassifier().fit(X, y), FlatClassifier().fit(X, y)
    assert first.local_classifiers_[()] is not second.local_classifiers_[()]
    assert first.local_classifier is None
    estimator = LocalClassifierPerParentNode().fit(X, y).local_classifiers_[()]
    assert type(estimator) is LogisticRegression
