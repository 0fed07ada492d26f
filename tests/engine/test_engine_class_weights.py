"""``class_weight`` is given by label, and every local classifier gets it by its own codes."""

import copy

import numpy as np
import pytest
import skops.io
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from zoo import DAG, zoo

from hiclass import (
    TRUSTED_TYPES,
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)

#: Rows end at an inner class, and two classes are called "x".
PATHS = [["A", "x"], ["A", "y"], ["A"], ["B", "x"], ["B", "z"]]


class KeepsWeights(ClassifierMixin, BaseEstimator):
    """Keeps the weights that it was given; knows nothing."""

    def __init__(self, class_weight=None):
        self.class_weight = class_weight

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def partial_fit(self, X, y, classes=None):
        self.classes_ = self.classes_ if classes is None else classes
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def weights_of(model):
    return {key: estimator.class_weight for key, estimator in model.local_classifiers_.items()}


def rows_of(paths):
    return np.arange(float(len(paths)))[:, None]


def fitted(kind, weights, paths=PATHS, **params):
    return kind(KeepsWeights(weights), **params).fit(rows_of(paths), paths)


# -- the translation, by hand ------------------------------------------------------------------


def test_per_parent_a_child_weighs_by_its_label_and_stopping_weighs_one():
    model = fitted(LocalClassifierPerParentNode, {"A": 2, "x": 3, ("B", "x"): 5.0})
    assert weights_of(model) == {
        (): {0: 2.0, 1: 1.0},
        ("A",): {0: 3.0, 1: 1.0, 2: 1.0},  # x, y, stop at A: the weight of A is for A among B
        ("B",): {0: 5.0, 1: 1.0},  # a path is more specific than a label
    }


def test_per_node_the_positives_of_a_class_weigh_and_gates_do_not():
    model = fitted(LocalClassifierPerNode, {("B", "x"): 5.0, "x": 3, "A": 2})
    assert weights_of(model) == {
        ("A",): {0: 1.0, 1: 2.0},
        ("A", "x"): {0: 1.0, 1: 3.0},
        ("A", "y"): {0: 1.0, 1: 1.0},
        ("B",): {0: 1.0, 1: 1.0},
        ("B", "x"): {0: 1.0, 1: 5.0},
        ("B", "z"): {0: 1.0, 1: 1.0},
    }
    assert model.stop_classifiers_["A"].class_weight == {0: 1.0, 1: 1.0}


def test_per_level_all_classes_of_the_level_weigh_and_stopping_weighs_one():
    model = fitted(LocalClassifierPerLevel, {"A": 2, "x": 3, ("B", "x"): 5.0})
    assert weights_of(model) == {
        1: {0: 2.0, 1: 1.0},
        2: {0: 3.0, 1: 1.0, 2: 1.0, 3: 5.0, 4: 1.0},  # A x, A y, stop at A, B x, B z
    }


def test_flat_final_classes_weigh_also_inner_ones():
    model = fitted(FlatClassifier, {"A": 2, "x": 3, ("B", "x"): 5.0})
    # A, A x, A y, B x, B z: A is a final class here, since a row ends there.
    assert weights_of(model) == {(): {0: 2.0, 1: 3.0, 2: 1.0, 3: 5.0, 4: 1.0}}


def test_flat_a_weight_for_a_class_at_which_no_row_ends_is_said_to_have_no_effect():
    with pytest.warns(UserWarning, match="a weight for B, at which no training row ends"):
        model = fitted(FlatClassifier, {"B": 2, "z": 3})
    assert weights_of(model) == {(): {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0, 4: 3.0}}


@pytest.mark.parametrize("factory", [False, True])
@pytest.mark.parametrize("calibration", [None, "temperature"])
def test_that_is_said_once_at_the_line_of_the_user_also_where_folds_are_fitted(
    factory, calibration
):
    estimator = KeepsWeights({"B": 2, "z": 3})
    model = FlatClassifier(
        (lambda path: estimator) if factory else estimator, calibration=calibration
    )
    paths = [path for path in PATHS for _ in range(3)]
    with pytest.warns(UserWarning, match="a weight for B, at which no") as caught:
        model.fit(rows_of(paths), paths)
    assert [w.filename for w in caught] == [__file__]


def test_in_a_stream_it_is_said_by_the_batch_that_makes_the_classifier():
    model = FlatClassifier(KeepsWeights({"B": 2}), leaf_only=True)
    batch = [[0.0], [1.0], [2.0]], [["A"], ["B", "x"], ["B", "z"]]
    with pytest.warns(UserWarning, match="a weight for B, at which no") as caught:
        model.partial_fit(*batch).partial_fit(*batch)
    assert [w.filename for w in caught] == [__file__]


def test_a_tuple_may_be_a_label():
    tree = Hierarchy.from_edges([("A", ("x", 1)), ("A", ("x", 2))])
    paths = [["A", ("x", 1)], ["A", ("x", 2)]]
    model = LocalClassifierPerParentNode(KeepsWeights({("x", 2): 4}), hierarchy=tree)
    model.fit(rows_of(paths), paths)
    assert weights_of(model) == {"A": {0: 1.0, 1: 4.0}}


def test_a_class_without_rows_may_have_a_weight_if_the_hierarchy_has_it():
    tree = Hierarchy.from_paths([*PATHS, ["B", "never"]])
    model = fitted(LocalClassifierPerParentNode, {"never": 9}, hierarchy=tree)
    assert weights_of(model)["B",] == {0: 1.0, 1: 1.0}


def test_what_a_callable_returns_is_translated_as_well():
    def choose(path):
        return KeepsWeights({"x": 7}) if path == ("B",) else KeepsWeights("balanced")

    model = LocalClassifierPerParentNode(choose).fit(rows_of(PATHS), PATHS)
    assert weights_of(model) == {(): "balanced", ("A",): "balanced", ("B",): {0: 7.0, 1: 1.0}}


def test_a_batch_brings_weights_for_the_classifiers_that_it_makes():
    model = LocalClassifierPerNode(KeepsWeights({"y": 4}))
    model.partial_fit([[0.0], [1.0]], [["A", "x"], ["A", "y"]])
    model.partial_fit([[2.0]], [["A", "z"]])
    assert weights_of(model) == {
        ("A", "x"): {0: 1.0, 1: 1.0},
        ("A", "y"): {0: 1.0, 1: 4.0},
        ("A", "z"): {0: 1.0, 1: 1.0},
    }
    model = LocalClassifierPerParentNode(KeepsWeights({"y": 4}))
    model.partial_fit([[0.0]], [["A", "x"]], classes=[["A", "x"], ["A", "y"]])
    assert weights_of(model) == {("A",): {0: 1.0, 1: 4.0, 2: 1.0}}


def test_members_of_an_ensemble_have_weights_of_their_own():
    members = [
        ("parent", LocalClassifierPerParentNode(KeepsWeights({"A": 2}))),
        ("flat", FlatClassifier(KeepsWeights({"z": 3}))),
    ]
    model = EnsembleClassifier(members).fit(rows_of(PATHS), PATHS)
    assert weights_of(model.named_models_["parent"])[()] == {0: 2.0, 1: 1.0}
    assert weights_of(model.named_models_["flat"])[()][4] == 3.0


# -- sets of classes ---------------------------------------------------------------------------


def test_of_sets_every_class_is_a_question_in_which_its_positives_weigh():
    X, y = zoo()
    weights = {"cat": 4, "feline": 2}
    model = LocalClassifierPerNode(KeepsWeights(weights), hierarchy=DAG, multi_label=True).fit(X, y)
    found = weights_of(model)
    assert found["cat"] == {0: 1.0, 1: 4.0}
    assert found["feline"] == {0: 1.0, 1: 2.0}
    assert found["dog"] == {0: 1.0, 1: 1.0}
    model = LocalClassifierPerParentNode(KeepsWeights(weights), hierarchy=DAG, multi_label=True)
    feline = model.fit(X, y).local_classifiers_["feline"]
    assert [e.class_weight[1] for e in feline.estimators_] == [
        {"cat": 4.0}.get(DAG.labels[v], 1.0) for v in model.local_classes_["feline"]
    ]
    assert sorted(e.class_weight[1] for e in feline.estimators_) == [1.0, 4.0]
    for kind in (LocalClassifierPerLevel, FlatClassifier):
        model = kind(KeepsWeights(weights), hierarchy=DAG, multi_label=True).fit(X, y)
        for key, classifier in model.local_classifiers_.items():
            labels = DAG.labels[model.local_classes_[key]]
            expected = [{0: 1.0, 1: float(weights.get(label, 1))} for label in labels]
            parts = getattr(classifier, "estimators_", [classifier])
            assert [e.class_weight for e in parts] == expected


def test_a_single_question_about_sets_is_binary():
    X, y = [[0.0], [1.0], [2.0]], [["A", "x"], ["A"], ["A", "x"]]
    tree = Hierarchy.from_dict({"A": ["x"]})
    model = LocalClassifierPerParentNode(KeepsWeights({"x": 6}), hierarchy=tree, multi_label=True)
    assert weights_of(model.fit(X, y)) == {"A": {0: 1.0, 1: 6.0}}


def test_a_forest_that_takes_sets_gets_a_dict_per_column():
    X, y = zoo()
    forest = make_pipeline(
        StandardScaler(), RandomForestClassifier(3, random_state=0, class_weight={"cat": 4})
    )
    model = FlatClassifier(forest, hierarchy=DAG, multi_label=True).fit(X, y)
    labels = DAG.labels[model.local_classes_[()]]
    found = model.local_classifiers_[()][-1].class_weight
    assert found == [{0: 1.0, 1: 4.0 if label == "cat" else 1.0} for label in labels]


def test_a_global_classifier_gets_a_dict_per_column_that_is_not_constant():
    # The class A is in all rows, so there is no column for it.
    paths = [["A", "x"], ["A", "y"], ["A"], ["A", "y"]]
    tree = DecisionTreeClassifier(class_weight={"y": 3, "A": 9})
    model = GlobalClassifier(tree, level_weight=1).fit(rows_of(paths), paths)
    assert model.local_classes_[()].tolist() == [2, 3, ~1]  # x, y, stop at A
    assert model.estimator_.class_weight == [{0: 1.0, 1: w} for w in (1.0, 3.0, 1.0)]
    sets = [["A"], ["A", "y"], ["A", "y"]]
    model = GlobalClassifier(
        tree, level_weight=1, multi_label=True, hierarchy=Hierarchy.from_dict({"A": ["y"]})
    ).fit(rows_of(sets), sets)
    assert model.estimator_.class_weight == {0: 1.0, 1: 3.0}


# -- real classifiers --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def coin():
    """Two classes that nothing tells apart."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 2)), rng.integers(1, 3, 200)


@pytest.mark.parametrize("name", [int, "class {}".format])
def test_a_heavy_class_is_predicted_as_by_the_classifier_alone(coin, estimator_class, name):
    X, y = coin[0], np.array([name(label) for label in coin[1]])
    estimator = LogisticRegression(class_weight={name(1): 50.0})
    before = copy.deepcopy(vars(estimator))
    assert (estimator.fit(X, y).predict(X) == name(1)).mean() > 0.95
    estimator = LogisticRegression(class_weight={name(1): 50.0})
    assert (estimator_class(estimator).fit(X, y).predict(X) == name(1)).mean() > 0.95
    assert vars(estimator) == before  # it is not changed, and not fitted


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression(class_weight={"h": 50.0})),
        GridSearchCV(
            make_pipeline(StandardScaler(), LogisticRegression(class_weight={"h": 50.0})),
            {"logisticregression__C": [0.1, 1.0]},
            cv=StratifiedKFold(2),
        ),
        BaggingClassifier(DecisionTreeClassifier(max_depth=1, class_weight={"h": 50.0}), 3),
        LinearSVC(class_weight={"h": 50.0}),
        RidgeClassifier(class_weight={"h": 50.0}),
        SGDClassifier(class_weight={"h": 50.0}, random_state=0),
        LGBMClassifier(class_weight={"h": 50.0}, n_estimators=3, verbose=-1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names, but LGBMClassifier")
def test_weights_reach_classifiers_of_every_kind(coin, local_class, estimator):
    X = coin[0]
    y = np.array([["top", "l" if label == 1 else "h"] for label in coin[1]])
    model = local_class(estimator, random_state=0).fit(X, y)
    assert (model.predict(X)[:, 1] == "h").mean() > 0.9


def test_a_weight_is_as_good_as_sample_weights():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = np.array([[["A", "x"], ["A", "y"], ["B", "x"], ["B", "z"]][i % 4] for i in range(120)])
    heavy = {("A",): 3.0, ("B", "z"): 5.0}
    model = LocalClassifierPerParentNode(LogisticRegression(class_weight=heavy)).fit(X, y)
    bare = LogisticRegression().fit(X, y[:, 0], sample_weight=np.where(y[:, 0] == "A", 3.0, 1.0))
    proba = model.predict_node_proba(X)
    np.testing.assert_allclose(proba[:, 1], bare.predict_proba(X)[:, 0], rtol=1e-6)


def test_a_search_around_the_model_chooses_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b", "b"], 20)
    search = GridSearchCV(
        FlatClassifier(LogisticRegression()),
        {"local_classifier__class_weight": [{"a": 100.0}, {"b": 100.0}]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"local_classifier__class_weight": {"b": 100.0}}


# -- refused -----------------------------------------------------------------------------------


def test_a_key_that_is_no_class_is_an_error_with_the_nearest_names(estimator_class):
    with pytest.raises(ValueError, match=r"weight for 'Catt'. .* no class 'Catt'. .* is 'Cat'"):
        estimator_class(LogisticRegression(class_weight={"Catt": 2})).fit(
            [[0.0], [1.0]], ["Cat", "Dog"]
        )


def test_the_nearest_names_are_found_whatever_their_case():
    model = FlatClassifier(LogisticRegression(class_weight={"C1": 5}))
    with pytest.raises(ValueError, match=r"no class 'C1'\. The nearest is 'c1'\."):
        model.fit([[0.0], [1.0]], ["c1", "other"])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({1: 2}, r"no class 1. The nearest is '1'. There is '1', of the type str"),
        ({("A", "1", "x"): 2}, r"no class 'x' below A > 1"),
        ({(): 2}, r"the root, which is not a class"),
        ({"A": -1}, r"has the weight -1 for 'A'; weights must be finite and not negative"),
        ({"A": "much"}, r"has the weight 'much' for 'A'"),
        ({"A": float("nan")}, r"has the weight nan for 'A'"),
        ([{0: 1}], r"class_weight of KeepsWeights is a list"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    paths = [["A", "1"], ["A", "2"], ["B", "1"]]
    with pytest.raises(ValueError, match=message):
        LocalClassifierPerNode(KeepsWeights(weights)).fit(rows_of(paths), paths)


def test_numbers_of_another_type_are_named():
    with pytest.raises(ValueError, match=r"no class 1\. There is 1\.0, of the type float"):
        FlatClassifier(KeepsWeights({1: 2})).fit([[0.0], [1.0]], [1.0, 2.0])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            GridSearchCV(LogisticRegression(), {"class_weight": [{"a": 2}, None]}),
            r"param_grid of GridSearchCV sets 'class_weight' .*'local_classifier__class_weight'",
        ),
        (
            GridSearchCV(
                make_pipeline(LogisticRegression()),
                [{}, {"logisticregression": [LogisticRegression(class_weight={"a": 2})]}],
            ),
            r"param_grid of GridSearchCV sets 'logisticregression'",
        ),
        (
            make_pipeline(
                RandomizedSearchCV(GaussianNB(), {"priors": [[0.5, 0.5]], "var_smoothing": [1.0]})
            ),
            r"param_distributions of RandomizedSearchCV sets 'priors'",
        ),
        (GaussianNB(priors=[0.5, 0.5]), r"priors of GaussianNB refers to classes"),
        (MultinomialNB(class_prior=[0.5, 0.5]), r"class_prior of MultinomialNB refers to classes"),
        (DummyClassifier(strategy="constant", constant=1), r"constant of DummyClassifier"),
        (
            make_imblearn_pipeline(
                RandomOverSampler(sampling_strategy={"a": 9}), LogisticRegression()
            ),
            r"sampling_strategy of RandomOverSampler refers to classes",
        ),
        (
            OneVsRestClassifier(LogisticRegression(class_weight={"a": 2})),
            r"OneVsRestClassifier gives LogisticRegression binary problems",
        ),
        (
            make_pipeline(MultiOutputClassifier(LogisticRegression(class_weight={"a": 2}))),
            r"MultiOutputClassifier gives LogisticRegression binary problems",
        ),
    ],
)
@pytest.mark.parametrize("factory", [False, True])
def test_what_refers_to_classes_in_another_way_is_refused(local_class, estimator, message, factory):
    model = local_class((lambda path: estimator) if factory else estimator)
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0]], ["a", "b"])


def test_a_grid_without_classes_is_fine(local_class):
    grid = {"C": [0.1, 1.0], "class_weight": [None, "balanced"]}
    estimator = GridSearchCV(LogisticRegression(), grid, cv=StratifiedKFold(2))
    X, y = [[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"]
    assert local_class(estimator).fit(X, y).predict(X).tolist() == y


def test_a_new_class_has_to_be_declared_before_it_can_have_a_weight():
    model = LocalClassifierPerNode(KeepsWeights({"later": 2}))
    rows, paths = [[0.0], [1.0]], [["A"], ["B"]]
    with pytest.raises(ValueError, match=r"no class 'later'.*in partial_fit, in classes="):
        model.partial_fit(rows, paths)
    model.partial_fit(rows, paths, classes=[["A"], ["B"], ["later"]])
    model.partial_fit([[2.0]], [["later"]])
    assert weights_of(model)["later",] == {0: 1.0, 1: 2.0}


@pytest.mark.parametrize("weights", [{"x": 3.0}, {("A", "x"): 3.0}])
def test_a_model_with_weights_can_be_written_with_skops(weights):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.array([["A", "x"], ["A", "y"], ["B", "x"], ["B", "z"]] * 10)
    model = LocalClassifierPerNode(LogisticRegression(class_weight=weights)).fit(X, y)
    if ("A", "x") in weights:  # as the page on persistence says
        model.set_params(local_classifier__class_weight=None)
    again = skops.io.loads(skops.io.dumps(model), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(again.predict_node_proba(X), model.predict_node_proba(X))
    assert again.local_classifiers_["A", "x"].class_weight == {0: 1.0, 1: 3.0}
