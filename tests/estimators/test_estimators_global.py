"""The global model: its target, its predictions, its estimators, and what it is used with.

Several tests use ``DummyRegressor()`` as estimator. It predicts the means of the columns of its
target, so that all probabilities can be worked out by hand.
"""

import pickle

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import sklearn
import skops.io
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from hiclass import (
    TRUSTED_TYPES,
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    HierarchicalKFold,
    Hierarchy,
    explain,
    make_report,
    metrics,
    tune_confidence,
)

FOREST = ExtraTreesRegressor(10, random_state=0)
NEAREST = KNeighborsRegressor(1)
PATHS = [["a", "x"], ["a", "y"], ["a", "y", "u"], ["b"]]
X4 = np.arange(4.0)[:, None]

DAG = Hierarchy.from_edges([("pet", "cat"), ("feline", "cat"), ("feline", "lion"), ("pet", "dog")])
SETS = [["cat"], ["lion"], ["dog"], ["cat", "dog"], ["pet"], ["lion", "dog"]]
X6 = np.arange(6.0)[:, None]


class TargetRecorder(RegressorMixin, BaseEstimator):
    """Remembers its target, and predicts the row that it is given."""

    def __init__(self, prediction=None):
        self.prediction = prediction

    def fit(self, X, y, sample_weight=None):
        self.target_, self.weight_ = y, sample_weight
        return self

    def predict(self, X):
        return np.tile(self.prediction, (len(X), 1))


def proba_of(model, *paths, X=((0.0,),)):
    proba = model.predict_node_proba(X)[0]
    return [proba[model.hierarchy_.find(path)] for path in paths]


# -- the target --------------------------------------------------------------------------------


def test_the_target_is_the_closed_matrix_with_a_column_for_every_stop():
    model = GlobalClassifier(TargetRecorder(), level_weight=1).fit(X4, PATHS)
    find = model.hierarchy_.find
    columns = model.local_classes_[()].tolist()
    branches = [find(p) for p in (("a",), ("b",), ("a", "x"), ("a", "y"), ("a", "y", "u"))]
    assert sorted(columns) == sorted([*branches, ~find(("a", "y"))])
    target = dict(zip(columns, model.estimator_.target_.T.tolist(), strict=True))
    assert target[branches[0]] == [1, 1, 1, 0]
    assert target[branches[1]] == [0, 0, 0, 1]
    assert target[branches[2]] == [1, 0, 0, 0]
    assert target[branches[3]] == [0, 1, 1, 0]
    assert target[branches[4]] == [0, 0, 1, 0]
    assert target[~find(("a", "y"))] == [0, 1, 0, 0]


def test_columns_are_scaled_by_the_roots_of_the_weights_of_their_levels():
    model = GlobalClassifier(TargetRecorder(), level_weight=0.25).fit(X4, PATHS)
    height = model.estimator_.target_.max(axis=0)
    columns = model.local_classes_[()]
    # A stop is a virtual leaf, one level below its node.
    levels = model.hierarchy_.levels[np.where(columns < 0, ~columns, columns)] + (columns < 0)
    np.testing.assert_allclose(height, 0.5 ** (levels - 1))
    assert sorted(levels) == [1, 1, 2, 2, 3, 3]


def test_with_leaf_only_there_is_no_column_for_stops():
    model = GlobalClassifier(TargetRecorder(), leaf_only=True).fit(X4, PATHS)
    assert (model.local_classes_[()] > 0).all()
    assert model.estimator_.target_.shape == (4, 5)


def test_a_class_of_all_rows_is_no_column_and_certain():
    y = [["top", "a"], ["top", "a"], ["top", "b"]]
    estimator = MultiOutputClassifier(LogisticRegression())  # refuses columns with one value
    model = GlobalClassifier(estimator, level_weight=1).fit([[0.0], [0.0], [9.0]], y)
    assert model.predict([[9.0]]).tolist() == [["top", "b"]]
    assert proba_of(model, ("top",)) == [1]
    assert len(model.local_classes_[()]) == 2


def test_where_there_is_one_path_only_nothing_is_fitted():
    model = GlobalClassifier().fit(X4, [["a", "x"]] * 4)
    assert model.predict(X4).tolist() == [["a", "x"]] * 4
    assert len(model.local_classifiers_) == 0
    assert model.local_classes_ == {}
    with pytest.raises(AttributeError, match="nothing to decide"):
        _ = model.estimator_


def test_a_dag_has_a_column_per_class_and_no_stops():
    model = GlobalClassifier(TargetRecorder(), hierarchy=DAG, multi_label=True, level_weight=1)
    model.fit(X6, SETS)
    columns = model.local_classes_[()]
    assert DAG.labels[columns].tolist() == [n for n in DAG.labels.tolist() if n is not None]
    expected = DAG.indicator(SETS).toarray()[:, columns]
    np.testing.assert_array_equal(model.estimator_.target_, expected)


def test_weights_of_levels_decide_which_split_a_tree_takes_first():
    """The first feature tells the two top classes, the second what is below the larger one."""
    rng = np.random.default_rng(0)
    rare, deep = rng.random(400) < 0.1, rng.random(400) < 0.5
    X = np.column_stack([rare, deep]) + rng.normal(scale=0.01, size=(400, 2))
    y = [["b"] if r else ["a", f"x{d}", f"y{d}"] for r, d in zip(rare, deep, strict=True)]
    first = {}
    for weight in (1.0, 0.01):
        stump = ExtraTreesRegressor(1, max_depth=1, random_state=0)
        model = GlobalClassifier(stump, level_weight=weight).fit(X, y)
        first[weight] = int(model.estimator_.estimators_[0].tree_.feature[0])
    assert first == {1.0: 1, 0.01: 0}


# -- from predictions to probabilities -------------------------------------------------------


def test_means_of_the_columns_are_the_shares_of_the_classes():
    model = GlobalClassifier(DummyRegressor()).fit(X4, PATHS)
    shares = proba_of(model, ("a",), ("b",), ("a", "x"), ("a", "y"), ("a", "y", "u"))
    assert shares == pytest.approx([3 / 4, 1 / 4, 1 / 4, 2 / 4, 1 / 4])


def test_predictions_that_contradict_each_other_are_normalised_at_every_node():
    model = GlobalClassifier(TargetRecorder(), level_weight=1).fit(X4, PATHS)
    find = model.hierarchy_.find
    says = {
        find(("a",)): 0.9,
        find(("b",)): 0.6,
        find(("a", "x")): -0.5,  # clipped at 0
        find(("a", "y")): 1.5,  # clipped at 1
        find(("a", "y", "u")): 0.3,
        ~find(("a", "y")): 0.1,
    }
    model.estimator_.prediction = [says[c] for c in model.local_classes_[()].tolist()]
    found = proba_of(model, ("a",), ("b",), ("a", "x"), ("a", "y"), ("a", "y", "u"))
    assert found == pytest.approx([0.6, 0.4, 0, 0.6, 0.45])
    assert model.predict([[0.0]]).tolist() == [["a", "y", "u"]]
    np.testing.assert_allclose(model.predict_confidence([[0.0]]), [[0.6, 0.6, 0.45]])


def test_where_no_branch_has_any_evidence_all_are_as_good():
    model = GlobalClassifier(TargetRecorder(np.zeros(6))).fit(X4, PATHS)
    found = proba_of(model, ("a",), ("b",), ("a", "x"), ("a", "y"), ("a", "y", "u"))
    assert found == pytest.approx([1 / 2, 1 / 2, 1 / 4, 1 / 4, 1 / 8])


def test_a_forest_of_regression_trees_keeps_its_predictions(animals):
    X, y = animals
    model = GlobalClassifier(FOREST, level_weight=0.5).fit(X, y)
    between = (X[:5] + X[-5:]) / 2
    columns = model.local_classes_[()]
    nodes = columns[columns > 0]
    levels = model.hierarchy_.levels[nodes]
    predictions = model.estimator_.predict(between)[:, columns > 0] / 0.5 ** ((levels - 1) / 2)
    np.testing.assert_allclose(model.predict_node_proba(between)[:, nodes], predictions, atol=1e-12)


def test_sets_are_limited_by_the_least_parent_and_not_normalised():
    model = GlobalClassifier(TargetRecorder(), hierarchy=DAG, multi_label=True, level_weight=0.25)
    model.fit(X6, SETS)
    says = {"pet": 0.7, "feline": 0.4, "cat": 0.6, "lion": 0.1, "dog": 0.8}
    height = {"pet": 1, "feline": 1, "cat": 0.5, "lion": 0.5, "dog": 0.5}
    names = DAG.labels[model.local_classes_[()]].tolist()
    model.estimator_.prediction = [says[n] * height[n] for n in names]
    found = dict(zip(DAG.labels.tolist(), model.predict_node_proba(X6)[0], strict=True))
    assert found["cat"] == pytest.approx(0.4)
    assert found["dog"] == pytest.approx(0.7)
    assert found["lion"] == pytest.approx(0.1)
    assert model.predict(X6)[0] == ["dog"]


@pytest.mark.parametrize("leaf_only", [False, True])
@pytest.mark.parametrize("decoding", ["best_path", "top_down", "expected_f1"])
@pytest.mark.parametrize("estimator", [FOREST, Ridge()], ids=["forest", "ridge"])
def test_clean_data_is_learned_with_every_decoding(animals, estimator, decoding, leaf_only):
    X, y = animals
    keep = np.ones(len(y), dtype=bool) if not leaf_only else (y[:, 1] != "") | (y[:, 0] == "Rock")
    model = GlobalClassifier(estimator, decoding=decoding, leaf_only=leaf_only).fit(X, y)
    assert model.predict(X[keep]).tolist() == y[keep].tolist()
    paths, proba = model.predict_paths(X, k=2)
    assert paths.shape == (36, 2, 3)
    assert (proba[:, 0] >= proba[:, 1]).all()
    only_plants = model.restricted_to(["Plant"])
    assert set(only_plants.predict(X)[:, 0]) == {"Plant"}
    np.testing.assert_allclose(only_plants.predict_node_proba(X)[:, 0], 1)


def test_a_decoding_of_the_users_own(animals):
    X, y = animals
    model = GlobalClassifier(FOREST, decoding=lambda proba, tree: proba[:, 1:].argmax(axis=1) + 1)
    assert set(model.fit(X, y).predict(X)[:, 0]) == {"Animal", "Plant", "Rock"}
    assert set(model.predict(X)[:, 2]) == {""}


def test_a_temperature_sharpens_or_flattens_all_paths_alike(animals):
    X, y = animals
    X = X + np.random.default_rng(0).normal(scale=3, size=X.shape)
    plain = GlobalClassifier(KNeighborsRegressor(7)).fit(X, y)
    model = GlobalClassifier(KNeighborsRegressor(7), calibration="temperature").fit(X, y)
    assert model.temperature_ != 1
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    _, before = plain.predict_paths(X, k=6)
    _, after = model.predict_paths(X, k=6)
    floor = 1e-2 / 6  # as for every model: logarithms are never infinite
    expected = (before + floor) ** (1 / model.temperature_)
    np.testing.assert_allclose(after, expected / expected.sum(axis=1, keepdims=True))


# -- estimators --------------------------------------------------------------------------------


def test_the_default_is_a_forest_of_pure_leaves_for_paths_and_of_shares_for_sets(animals):
    paths = GlobalClassifier(random_state=0).fit(*animals)
    assert type(paths.estimator_) is ExtraTreesRegressor
    assert (paths.estimator_.n_estimators, paths.estimator_.min_samples_leaf) == (100, 1)
    assert paths.predict(animals[0]).tolist() == animals[1].tolist()
    sets = GlobalClassifier(hierarchy=DAG, multi_label=True).fit(X6, SETS)
    assert (sets.estimator_.min_samples_leaf, sets.estimator_.max_leaf_nodes) == (5, None)
    assert GlobalClassifier(n_jobs=3)._prototype().given.n_jobs == 3


@pytest.mark.parametrize(
    "estimator",
    [
        ExtraTreesClassifier(10, random_state=0),
        KNeighborsClassifier(1),
        MultiOutputClassifier(LogisticRegression()),
        make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
    ],
    ids=["trees", "neighbours", "multi-output", "pipeline"],
)
def test_classifiers_predict_with_their_probabilities(animals, estimator):
    X, y = animals
    model = GlobalClassifier(estimator, level_weight=1, random_state=0).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    sets = GlobalClassifier(estimator, level_weight=1, hierarchy=DAG, multi_label=True)
    assert sets.fit(10 * X6, SETS).predict_node_proba(X6).shape == (6, DAG.n_nodes)


def test_one_question_only_for_an_estimator_of_several_outputs_only():
    """The top class is in all rows, the other one in half of them."""
    y = [["a"], ["b"], ["a"], ["b"]]
    for estimator, weight in (
        (MultiOutputClassifier(LogisticRegression()), 1),
        (MultiOutputRegressor(LinearRegression()), 0.5),
        (LinearRegression(), 0.5),
    ):
        model = GlobalClassifier(estimator, hierarchy={"a": ["b"]}, multi_label=True,
                                 level_weight=weight)  # fmt: skip
        found = model.fit([[0.0], [1.0], [0.0], [1.0]], y).predict_node_proba([[0.0], [1.0]])
        assert found[:, 1].tolist() == [1, 1]
        assert found[0, 2] < 0.5 < found[1, 2]


def test_objects_that_do_not_say_what_they_are_predict_as_they_can():
    class Plain:
        def fit(self, X, y):
            self.share = y.mean(axis=0)
            return self

        def predict(self, X):
            return np.tile(self.share, (len(X), 1))

    class Soft(Plain):
        predict_proba = Plain.predict

    class Tagged(Soft, BaseEstimator):
        pass

    expected = GlobalClassifier(DummyRegressor()).fit(X4, PATHS).predict_node_proba(X4)
    for estimator, weight in ((Plain(), 0.5), (Soft(), 1), (Tagged(), 1)):
        found = (
            GlobalClassifier(estimator, level_weight=weight).fit(X4, PATHS).predict_node_proba(X4)
        )
        np.testing.assert_allclose(found, expected)
        if weight == 1:
            with pytest.raises(ValueError, match="is a classifier"):
                GlobalClassifier(estimator).fit(X4, PATHS)


def test_a_classifier_and_a_weight_of_levels_contradict_each_other():
    message = r"level_weight=0.75 sets .* but KNeighborsClassifier is a classifier.*level_weight=1"
    with pytest.raises(ValueError, match=message):
        GlobalClassifier(KNeighborsClassifier()).fit(X4, PATHS)


def test_a_classifier_without_probabilities_is_refused():
    message = "needs probabilities, but RidgeClassifier has no predict_proba.*ExtraTreesRegressor"
    with pytest.raises(ValueError, match=message):
        GlobalClassifier(RidgeClassifier(), level_weight=1).fit(X4, PATHS)


@pytest.mark.parametrize(
    ("estimator", "weight"), [(SVR(), 0.75), (LogisticRegression(), 1)], ids=["SVR", "logistic"]
)
def test_an_estimator_of_one_output_is_told_what_it_takes(estimator, weight):
    with pytest.raises(ValueError, match="should be a 1d array") as error:
        GlobalClassifier(estimator, level_weight=weight).fit(X4, PATHS)
    first, second = error.value.__notes__
    assert first.startswith(f"{type(estimator).__name__} does not support several outputs")
    assert "MultiOutputRegressor" in first
    assert second == "while fitting the classifier of all classes"


def test_other_errors_of_an_estimator_get_no_such_note():
    with pytest.raises(ValueError, match="n_neighbors") as error:
        GlobalClassifier(KNeighborsRegressor(0)).fit(X4, PATHS)
    assert error.value.__notes__ == ["while fitting the classifier of all classes"]


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (3, "estimator=3 has no fit method. Pass a regressor, or a classifier with predict_proba"),
        (lambda path: Ridge(), "has no fit method"),
        (Ridge, r"estimator is the class Ridge. Pass an instance: Ridge\(\)"),
    ],
    ids=["number", "callable", "class"],
)
def test_what_is_no_estimator_is_refused(estimator, message):
    with pytest.raises(TypeError, match=message):
        GlobalClassifier(estimator).fit(X4, PATHS)


def test_an_estimator_that_cannot_predict_is_refused():
    class OnlyFit:
        def fit(self, X, y):
            return self

    with pytest.raises(
        ValueError, match="GlobalClassifier needs predict; OnlyFit has no such method"
    ):
        GlobalClassifier(OnlyFit()).fit(X4, PATHS)


@pytest.mark.parametrize("weight", [0, -1, 1.5, "deep", None])
def test_a_weight_out_of_bounds_is_refused(weight):
    with pytest.raises(ValueError, match=r"'level_weight' parameter of GlobalClassifier must be"):
        GlobalClassifier(level_weight=weight).fit(X4, PATHS)


def test_a_tiny_weight_divides_nothing_by_zero():
    model = GlobalClassifier(NEAREST, level_weight=1e-300).fit(X4, PATHS)
    assert np.isfinite(model.predict_node_proba(X4)).all()


def test_predictions_that_are_no_numbers_or_too_few_are_refused():
    model = GlobalClassifier(TargetRecorder([np.nan] * 6)).fit(X4, PATHS)
    with pytest.raises(ValueError, match="TargetRecorder returned NaN"):
        model.predict(X4)
    model.estimator_.prediction = [0.5] * 5
    with pytest.raises(ValueError, match=r"shape \(4, 5\); expected \(4, 6\)"):
        model.predict(X4)


def test_partial_fit_is_not_offered():
    assert not hasattr(GlobalClassifier(), "partial_fit")


# -- sets --------------------------------------------------------------------------------------


def zoo(n=120, seed=0):
    rng = np.random.default_rng(seed)
    names = ["cat", "lion", "dog"]
    y = [sorted(rng.choice(names, size=1 + i % 2, replace=False).tolist()) for i in range(n)]
    X = np.array([[float(name in row) for name in names] for row in y])
    return X + rng.normal(scale=0.1, size=X.shape), y


def test_several_labels_per_row_are_learned_on_a_dag():
    X, y = zoo()
    model = GlobalClassifier(FOREST, hierarchy=DAG, multi_label=True).fit(X, y)
    assert model.score(X, y) > 0.99
    assert not hasattr(model, "predict_proba")
    indicator = GlobalClassifier(FOREST, hierarchy=DAG, multi_label=True).fit(X, DAG.indicator(y))
    np.testing.assert_array_equal(indicator.predict_node_proba(X), model.predict_node_proba(X))
    tuned = GlobalClassifier(NEAREST, hierarchy=DAG, multi_label=True, threshold="tuned").fit(X, y)
    assert tuned.thresholds_.shape == (DAG.n_nodes,)
    assert tuned.score(X, y) > 0.99


def test_several_paths_per_row_in_a_tree():
    y = [[("a", "x")], [("a", "x"), ("b", "z")], [("b", "z")], [("a", "y")]] * 6
    X = np.tile(np.eye(4), (6, 1))
    model = GlobalClassifier(FOREST, multi_label=True).fit(X, y)
    assert [sorted(row) for row in model.predict(X)] == [sorted(row) for row in y]


def test_a_dag_with_one_label_per_row():
    X, y = zoo()
    X, y = X[::2], [row[0] for row in y[::2]]
    model = GlobalClassifier(FOREST, hierarchy=DAG.to_edges()).fit(X, y)
    assert model.predict(X).tolist() == y


@pytest.mark.parametrize(
    "options",
    [{"decoding": "top_down"}, {"min_confidence": 0.5}, {"leaf_only": True},
     {"calibration": "temperature"}],
    ids=str,
)  # fmt: skip
def test_parameters_of_single_paths_are_refused_for_sets(options):
    model = GlobalClassifier(hierarchy=DAG, multi_label=True, **options)
    with pytest.raises(ValueError, match="is for one path per row in a tree") as error:
        model.fit(X6, SETS)
    assert "local classifier" not in str(error.value)


def test_a_threshold_is_refused_for_single_paths():
    with pytest.raises(ValueError, match=r"threshold=0.3 selects sets .* Use min_confidence"):
        GlobalClassifier(NEAREST, threshold=0.3).fit(X4, PATHS)


# -- rows, weights, jobs -----------------------------------------------------------------------


def test_sparse_rows_and_frames_with_missing_values(animals):
    X, y = animals
    dense = GlobalClassifier(FOREST).fit(X, y)
    sparse = GlobalClassifier(FOREST).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        sparse.predict_node_proba(sp.csr_array(X)), dense.predict_node_proba(X), atol=1e-12
    )
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    frame.iloc[::7, 1] = np.nan
    model = GlobalClassifier(FOREST).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.score(frame, y) > 0.9
    holes = X.copy()
    holes[::7, 1] = np.nan
    np.testing.assert_array_equal(
        GlobalClassifier(FOREST).fit(holes, y).predict(holes), model.predict(frame)
    )


def test_a_weight_counts_as_so_many_equal_rows(animals):
    X, y = animals
    times = np.random.default_rng(2).integers(1, 4, size=len(y))
    weighted = GlobalClassifier(Ridge()).fit(X, y, sample_weight=times)
    again = GlobalClassifier(Ridge()).fit(np.repeat(X, times, axis=0), np.repeat(y, times, axis=0))
    unweighted = GlobalClassifier(Ridge()).fit(X, y)
    expected = again.predict_node_proba(X)
    np.testing.assert_allclose(weighted.predict_node_proba(X), expected, atol=1e-9)
    assert abs(unweighted.predict_node_proba(X) - expected).max() > 1e-4


def test_weights_are_refused_for_an_estimator_without_them():
    message = r"sample_weight was given but KNeighborsRegressor\.fit does not take it"
    with pytest.raises(ValueError, match=message):
        GlobalClassifier(NEAREST).fit(X4, PATHS, sample_weight=np.ones(4))


@pytest.mark.parametrize("estimator", [None, Ridge(), ExtraTreesClassifier(5)], ids=str)
def test_negative_weights_are_refused_in_fit(estimator):
    model = GlobalClassifier(estimator, level_weight=1)
    with pytest.raises(ValueError, match=r"must not be negative; row 1 has -1\.0\. Use 0"):
        model.fit(X4, PATHS, sample_weight=[1, -1, 1, 1])
    assert not hasattr(model, "hierarchy_")


def test_routing_of_weights_to_the_estimator(animals):
    X, y = animals
    weights = np.arange(1.0, 37)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = GlobalClassifier(TargetRecorder().set_fit_request(sample_weight=True))
        default = GlobalClassifier(random_state=0).fit(X, y, sample_weight=weights)
        assert routed.fit(X, y, sample_weight=weights).estimator_.weight_.tolist() == (
            weights.tolist()
        )
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            GlobalClassifier(TargetRecorder()).fit(X, y, sample_weight=weights)
    plain = GlobalClassifier(random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(default.predict_node_proba(X), plain.predict_node_proba(X))


def test_whatever_is_around_a_global_model_routes_weights_to_its_estimator(animals):
    """The model itself requests none: only its estimator does."""
    X, y = animals
    weights = np.arange(1.0, 37)
    requests = GlobalClassifier()._get_metadata_request().fit.requests
    assert requests == {"groups": True}
    with sklearn.config_context(enable_metadata_routing=True):
        model = GlobalClassifier(TargetRecorder().set_fit_request(sample_weight=True))
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(X, y, sample_weight=weights)
        ensemble = EnsembleClassifier([("one", model)]).fit(X, y, sample_weight=weights)
    for fitted in (pipeline[-1], ensemble.models_[0]):
        assert fitted.estimator_.weight_.tolist() == weights.tolist()


def test_jobs_and_threads_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = [[f"a{i % 2}", f"b{i % 6}"] for i in range(600)]
    alone = GlobalClassifier(FOREST).fit(X, y).predict_node_proba(X)
    forest = ExtraTreesRegressor(10, random_state=0, n_jobs=2)
    for n_jobs in (2, -1):
        model = GlobalClassifier(forest, n_jobs=n_jobs).fit(X, y)
        np.testing.assert_array_equal(model.predict_node_proba(X), alone)


def test_a_seed_makes_the_same_model_again(animals):
    X, y = animals
    X = X + np.random.default_rng(0).normal(scale=4, size=X.shape)
    forest = ExtraTreesRegressor(3)
    one, same, other = (
        GlobalClassifier(forest, random_state=seed).fit(X, y).predict_node_proba(X + 1)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_progress_is_shown_on_demand(capsys):
    GlobalClassifier(NEAREST, verbose=1).fit(X4, PATHS)
    assert "Fitting" in capsys.readouterr().err


# -- together with the rest --------------------------------------------------------------------


def test_a_search_over_levels_and_parameters_of_the_estimator(animals):
    X, y = animals
    search = GridSearchCV(
        GlobalClassifier(KNeighborsRegressor()),
        {"level_weight": [0.5, 1.0], "estimator__n_neighbors": [1, 20]},
        cv=HierarchicalKFold(3),
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_["estimator__n_neighbors"] == 1
    assert search.best_score_ == 1
    sets = GridSearchCV(
        GlobalClassifier(NEAREST, hierarchy=DAG, multi_label=True),
        {"threshold": [0.5, 0.9]},
        cv=KFold(2),
        error_score="raise",
    )
    X, y = zoo()
    assert sets.fit(X, DAG.indicator(y)).best_score_ > 0.99


def test_a_member_of_an_ensemble(animals):
    X, y = animals
    members = [("global", GlobalClassifier(FOREST)), ("flat", FlatClassifier())]
    ensemble = EnsembleClassifier(members, decoding="expected_f1").fit(X, y)
    assert ensemble.predict(X).tolist() == y.tolist()
    assert 0.9 < ensemble.expected_f1_ <= 1
    X, y = zoo()
    members = [
        ("forest", GlobalClassifier(FOREST, hierarchy=DAG, multi_label=True)),
        ("near", GlobalClassifier(NEAREST, hierarchy=DAG, multi_label=True)),
    ]
    mean = EnsembleClassifier(members, voting="mean").fit(X, y)
    first, second = (m.predict_node_proba(X) for m in mean.models_)
    np.testing.assert_allclose(mean.predict_node_proba(X), (first + second) / 2)


def test_inside_a_conformal_classifier_and_with_tuned_confidence(animals):
    X, y = np.tile(animals[0], (4, 1)), np.tile(animals[1], (4, 1))
    model = ConformalClassifier(GlobalClassifier(FOREST), alpha=0.2, random_state=0).fit(X, y)
    assert metrics.f1(y, model.predict(X)) > 0.7
    limit = tune_confidence(GlobalClassifier(FOREST).fit(X, y), X, y, precision=0.9)
    assert 0 <= limit <= 1


def test_fitted_models_survive_pickle_and_skops(animals):
    X, y = animals
    tree = GlobalClassifier(FOREST, calibration="temperature").fit(X, y)
    X_sets, y_sets = zoo(30)
    sets = GlobalClassifier(FOREST, hierarchy=DAG, multi_label=True).fit(X_sets, y_sets)
    for model, rows in ((tree, X), (sets, X_sets)):
        content = skops.io.dumps(model)
        # Trees are scikit-learn's, and skops leaves it to the user whether to trust them.
        trusted = [*TRUSTED_TYPES, "sklearn.tree._tree.Tree"]
        assert set(skops.io.get_untrusted_types(data=content)) <= set(trusted)
        for back in (
            pickle.loads(pickle.dumps(model)),
            skops.io.loads(content, trusted=trusted),
        ):
            np.testing.assert_array_equal(
                back.predict_node_proba(rows), model.predict_node_proba(rows)
            )
            assert list(back.local_classifiers_) == [()]


def test_a_forest_explains_itself_with_importances(animals):
    X, y = animals
    model = GlobalClassifier(FOREST).fit(X, y)
    found = explain(model, X[6])
    assert found.path == ("Animal", "Mammal", "Cat")
    assert [reason.kind for step in found.steps for reason in step.reasons] == ["forest"] * 3
    strongest = found.steps[0].reasons[0].features[0]
    importances = model.estimator_.feature_importances_
    assert strongest.name == f"x{importances.argmax()}"
    assert strongest.weight == importances.max()
    stop = explain(model, X[18])  # a plant and no more
    assert (stop.path, stop.steps[-1].reasons[0].kind) == (("Plant",), "forest")


def test_contributions_of_a_linear_estimator_add_up_to_the_difference_of_predictions(animals):
    X, y = animals
    model = GlobalClassifier(Ridge(), level_weight=0.5).fit(X, y)
    tree, columns = model.hierarchy_, model.local_classes_[()].tolist()
    predictions = model.estimator_.predict(X[[6]])[0]
    cat, dog = (columns.index(tree.find(("Animal", "Mammal", name))) for name in ("Cat", "Dog"))
    step = explain(model, X[6]).steps[2]
    assert step.reasons[0].note == "against Dog"
    # The columns of level 3 are half as high: 0.5 ** ((3 - 1) / 2).
    assert step.reasons[0].margin == pytest.approx((predictions[cat] - predictions[dog]) / 0.5)
    (stop,) = explain(model, X[18]).steps[-1].reasons
    plant, fern = tree.find(("Plant",)), tree.find(("Plant", "Fern"))
    predictions = model.estimator_.predict(X[[18]])[0]
    margin = (predictions[columns.index(~plant)] - predictions[columns.index(fern)]) / 0.5**0.5
    assert (stop.note, stop.margin) == ("against Fern", pytest.approx(margin))


def test_a_weight_of_levels_that_is_set_after_fit_changes_no_reasons(animals):
    X, y = animals
    model = GlobalClassifier(Ridge(), level_weight=0.5).fit(X, y)
    margins = [step.reasons[0].margin for step in explain(model, X[6]).steps]
    features = make_report(model, X, y).data["features"]
    scales = model.column_scales_
    model.set_params(level_weight=1)
    assert [step.reasons[0].margin for step in explain(model, X[6]).steps] == margins
    assert make_report(model, X, y).data["features"] == features
    np.testing.assert_array_equal(model.column_scales_, scales)
    levels = model.hierarchy_.levels[np.maximum(model.local_classes_[()], 0)]
    assert set(scales[levels == 3].tolist()) == {0.5}
    with pytest.raises(AttributeError, match="there was nothing to decide"):
        _ = GlobalClassifier(Ridge()).fit([[0.0]], ["a"]).column_scales_


def test_reports_show_importances_or_weights_of_every_class(animals):
    X, y = animals
    forest = GlobalClassifier(FOREST).fit(X, y)
    features = make_report(forest, X, y).data["features"]
    (only,) = features["sets"]
    assert features["classifiers"][only["by"]]["classifier"] == "ExtraTreesRegressor"
    assert len(features["node"]) == forest.hierarchy_.n_nodes - 1
    ridge = GlobalClassifier(Ridge(), level_weight=0.5).fit(X, y)
    features = make_report(ridge, X, y).data["features"]
    columns, tree = ridge.local_classes_[()].tolist(), ridge.hierarchy_
    cat, dog = (tree.find(("Animal", "Mammal", name)) for name in ("Cat", "Dog"))
    weights = ridge.estimator_.coef_
    expected = (weights[columns.index(cat)] - weights[columns.index(dog)]) / 0.5
    found = features["sets"][features["node"][cat][0]]
    assert features["names"][found["feature"][0]] == f"x{expected.argmax()}"
    assert found["value"][0] == pytest.approx(expected.max(), rel=0.01)
    assert tree.find(("Plant", "Fern")) not in features["node"]  # an only child
