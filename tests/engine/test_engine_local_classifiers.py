"""Any classifier can be the local classifier, and X reaches it as it was given."""

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
import sklearn
from fakes import Centroids, OnlyPredict, counting
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from hiclass import (
    FlatClassifier,
    GlobalClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._engine.local_classifiers import copy_estimator, set_random_state

SCORED = (LocalClassifierPerNode, LocalClassifierPerLevel)  # compare scores of classifiers


# -- kinds of classifiers ----------------------------------------------------------------------

ESTIMATORS = [
    LGBMClassifier(n_estimators=5, min_child_samples=1, n_jobs=1, verbose=-1),
    make_imblearn_pipeline(RandomOverSampler(random_state=0), LogisticRegression()),
    Centroids(),
    KNeighborsClassifier(n_neighbors=2),
    GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, cv=2),
    CalibratedClassifierCV(LinearSVC(random_state=0), cv=2),
    make_pipeline(StandardScaler(), LogisticRegression()),
    OneVsRestClassifier(LogisticRegression()),
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(n_estimators=5, random_state=0),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=3, random_state=0),
    HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=1),
    RidgeClassifier(),
    LinearSVC(random_state=0),
    SVC(kernel="linear"),
    SGDClassifier(random_state=0),
    Perceptron(random_state=0),
]


# Some versions of LightGBM invent feature names and then miss them.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names, but LGBMClassifier")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_learns_separable_classes_with_any_local_classifier(estimator_class, animals, estimator):
    X, y = animals
    model = estimator_class(estimator).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert not hasattr(estimator, "classes_")  # a copy was fitted


def test_a_grid_search_as_local_classifier_searches_anew_for_every_problem(animals):
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearchCV(tree, {"min_samples_leaf": [100, 1]}, cv=folds)
    model = LocalClassifierPerParentNode(search).fit(*animals)
    assert len(model.local_classifiers_) == 4
    for estimator in model.local_classifiers_.values():
        assert estimator.best_params_ == {"min_samples_leaf": 1}


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer:sklearn.exceptions.ConvergenceWarning")
def test_a_neural_network_as_local_classifier(estimator_class, animals):
    X, y = animals
    estimator = MLPClassifier((8,), max_iter=200, learning_rate_init=0.05, random_state=0)
    assert estimator_class(estimator).fit(X, y).score(X, y) == 1.0


def test_a_dummy_as_local_classifier_always_gives_the_most_frequent_path(estimator_class):
    y = [["a", "x"]] * 5 + [["a", "y"]] * 1 + [["b", "z"]] * 2
    model = estimator_class(DummyClassifier()).fit(np.zeros((8, 1)), y)
    assert model.predict(np.ones((3, 1))).tolist() == [["a", "x"]] * 3


def test_a_dummy_needs_no_columns_in_x(estimator_class):
    model = estimator_class(DummyClassifier()).fit(["some", "rows", "here"], ["b", "a", "b"])
    assert model.predict(["more"]).tolist() == ["b"]


def test_a_plain_object_is_copied_for_every_problem(local_class, animals):
    estimator = Centroids()
    model = local_class(estimator).fit(*animals)
    fitted = list(model.local_classifiers_.values())
    assert len(fitted) > 1
    assert all(type(c) is Centroids for c in fitted)
    assert len({id(c) for c in [estimator, *fitted]}) == len(fitted) + 1
    assert not hasattr(estimator, "means")


def test_a_local_classifier_with_only_predict_serves_per_parent_and_flat():
    X = np.array([[0.0], [1.0], [5.0], [9.0]])
    y = [["a", "x"], ["a", "y"], ["b", "x"], ["b", ""]]
    for model in (LocalClassifierPerParentNode(OnlyPredict()), FlatClassifier(OnlyPredict())):
        assert model.fit(X, y).predict(X).tolist() == y
        assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("scored_class", SCORED)
def test_a_local_classifier_with_only_predict_is_refused_before_any_fit_where_scores_are_compared(
    scored_class,
):
    fits = []
    message = f"{scored_class.__name__} needs predict_proba or decision_function; Counting has"
    with pytest.raises(ValueError, match=message):
        scored_class(counting(OnlyPredict, fits)).fit([[0.0], [1.0]], ["a", "b"])
    assert fits == []


def test_a_local_classifier_that_cannot_predict_at_all_is_refused_before_any_fit(estimator_class):
    class OnlyFit:
        fits = 0

        def fit(self, X, y):
            OnlyFit.fits += 1
            return self

    with pytest.raises(ValueError, match=f"{estimator_class.__name__} needs .*; OnlyFit has"):
        estimator_class(OnlyFit()).fit([[0.0], [1.0]], ["a", "b"])
    assert OnlyFit.fits == 0


def test_scores_of_several_columns_per_pair_of_classes_are_refused_with_a_remedy():
    y = ["a", "b", "c", "d"]
    model = LocalClassifierPerLevel(SVC(decision_function_shape="ovo"))
    with pytest.raises(ValueError, match=r"column per pair of classes; .*'ovr'"):
        model.fit(np.eye(4), y)


def test_probabilities_of_another_shape_are_refused(estimator_class):
    class Wide(Centroids):
        def predict_proba(self, X):
            return np.full((len(X), 7), 1 / 7)

    model = estimator_class(Wide()).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"Wide.predict_proba returned an array of shape \(1, 7\)"):
        model.predict([[0.0]])


def test_probabilities_that_are_not_numbers_are_refused(estimator_class):
    class Lost(Centroids):
        def predict_proba(self, X):
            return super().predict_proba(X) * np.nan

    model = estimator_class(Lost()).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    with pytest.raises(ValueError, match="probability of NaN"):
        model.predict([[0.0]])


def test_the_default_local_classifier_is_a_logistic_regression(estimator_class, animals):
    model = estimator_class().fit(*animals)
    assert {type(c) for c in model.local_classifiers_.values()} == {LogisticRegression}


def test_parameters_of_the_default_local_classifier_cannot_be_set_and_the_error_says_what_to_pass(
    estimator_class, animals
):
    message = (
        r"'local_classifier__C' cannot be set, because local_classifier=None, which stands for "
        rf"LogisticRegression\(\), .* for example {estimator_class.__name__}\(LogisticRegression"
    )
    with pytest.raises(ValueError, match=message):
        estimator_class().set_params(local_classifier__C=1.0)
    with pytest.raises(ValueError, match=message):
        GridSearchCV(estimator_class(), {"local_classifier__C": [1.0]}, cv=2).fit(*animals)
    with pytest.raises(ValueError, match=r"because local_classifier=<function choose .*> has no"):
        estimator_class(choose).set_params(local_classifier__C=1.0)
    both = estimator_class().set_params(
        local_classifier=LogisticRegression(), local_classifier__C=2.0
    )
    assert both.local_classifier.C == 2.0
    message = r"'estimator__n_jobs' .* estimator=None, which stands for ExtraTreesRegressor\(\)"
    with pytest.raises(ValueError, match=message):
        GlobalClassifier().set_params(estimator__n_jobs=1)


def choose(key):
    return GaussianNB()


# -- a callable gives different classifiers ----------------------------------------------------


@pytest.mark.parametrize("node_class", [LocalClassifierPerNode, LocalClassifierPerParentNode])
def test_a_callable_is_given_the_path_of_every_node(node_class, animals):
    paths = []

    def choose(path):
        paths.append(path)
        return GaussianNB() if len(path) < 2 else DecisionTreeClassifier(random_state=0)

    X, y = animals
    model = node_class(choose).fit(X, y)
    assert model.score(X, y) == 1.0
    # Per node, the gate of Plant calls a second time.
    assert set(paths) == set(model.local_classifiers_)
    assert len(paths) == len(model.local_classifiers_) + (node_class is LocalClassifierPerNode)
    assert {len(path): type(c) for path, c in model.local_classifiers_.items()} == {
        LocalClassifierPerNode: {
            1: GaussianNB,
            2: DecisionTreeClassifier,
            3: DecisionTreeClassifier,
        },
        LocalClassifierPerParentNode: {0: GaussianNB, 1: GaussianNB, 2: DecisionTreeClassifier},
    }[node_class]


def test_a_callable_is_given_the_number_of_every_level(animals):
    estimators = {1: GaussianNB(), 2: DecisionTreeClassifier(), 3: LogisticRegression()}
    model = LocalClassifierPerLevel(estimators.get).fit(*animals)
    assert {k: type(c) for k, c in model.local_classifiers_.items()} == {
        k: type(c) for k, c in estimators.items()
    }


def test_a_callable_is_given_the_empty_path_by_the_flat_model(animals):
    estimators = {(): GaussianNB()}
    model = FlatClassifier(estimators.get).fit(*animals)
    assert type(model.local_classifiers_[()]) is GaussianNB


def test_a_callable_may_use_other_features_at_every_node():
    X = np.array([[0.0, 9.0], [0.0, -9.0], [5.0, 1.0], [5.0, -1.0]] * 3)
    y = [["a", "x"], ["a", "y"], ["b", ""], ["b", ""]] * 3

    def choose(path):
        columns = {(): [0], ("a",): [1]}[path]
        return make_pipeline(make_column_transformer(("passthrough", columns)), GaussianNB())

    model = LocalClassifierPerParentNode(choose).fit(X, y)
    assert model.predict(X).tolist() == y
    assert model.local_classifiers_["a"][-1].n_features_in_ == 1


def test_what_a_callable_returns_is_copied(estimator_class, animals):
    estimator = GaussianNB()
    estimator_class(lambda _: estimator).fit(*animals)
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize("scored_class", SCORED)
def test_a_callable_may_mix_local_classifiers_with_probabilities_and_with_scores(
    scored_class, animals
):
    """One without predict_proba takes the probabilities away, but predict still works."""
    X, y = animals
    made = []

    def choose(_):
        made.append(GaussianNB() if len(made) % 2 == 0 else LinearSVC(random_state=0))
        return made[-1]

    model = scored_class(choose).fit(X, y)
    assert {type(c) for c in model.local_classifiers_.values()} == {GaussianNB, LinearSVC}
    assert not hasattr(model, "predict_proba")
    assert set(map(tuple, model.predict(X))) <= set(map(tuple, y))


def test_a_callable_that_returns_no_classifier_is_an_error_that_names_the_node(estimator_class):
    key = "1" if estimator_class is LocalClassifierPerLevel else r"\("
    with pytest.raises(TypeError, match=rf"local_classifier\({key}.*=None has no fit method"):
        estimator_class(lambda _: None).fit([[0.0], [1.0]], ["a", "b"])


# -- seeds -------------------------------------------------------------------------------------


def seeds(model):
    return {k: c.random_state for k, c in model.local_classifiers_.items()}


def test_random_state_is_repeatable_and_different_for_every_classifier(local_class, animals):
    X, y = animals
    estimator = ExtraTreesClassifier(n_estimators=2)
    first, again = (local_class(estimator, random_state=0).fit(X, y) for _ in range(2))
    other = local_class(estimator, random_state=1).fit(X, y)
    assert len(set(seeds(first).values())) == len(first.local_classifiers_) > 1
    assert seeds(first) == seeds(again)
    assert set(seeds(first).values()).isdisjoint(seeds(other).values())
    np.testing.assert_array_equal(first.predict_node_proba(X), again.predict_node_proba(X))
    assert estimator.random_state is None


@pytest.mark.parametrize("node_class", [LocalClassifierPerNode, LocalClassifierPerParentNode])
def test_a_new_class_leaves_the_seeds_of_the_other_classifiers_alone(node_class, animals):
    X, y = animals
    known = y[:, 0] != "Animal"  # the first by name: all others get other numbers
    estimator = DecisionTreeClassifier()
    some = seeds(node_class(estimator, random_state=0).fit(X[known], y[known]))
    all_of_them = seeds(node_class(estimator, random_state=0).fit(X, y))
    assert some.items() <= all_of_them.items()


def test_without_random_state_the_local_classifier_keeps_its_own(estimator_class, animals):
    model = estimator_class(DecisionTreeClassifier(random_state=5)).fit(*animals)
    assert set(seeds(model).values()) == {5}


def test_random_state_reaches_every_step_of_a_pipeline(local_class, animals):
    estimator = make_imblearn_pipeline(RandomOverSampler(), DecisionTreeClassifier())
    model = local_class(estimator, random_state=0).fit(*animals)
    found = [(c[0].random_state, c[1].random_state) for c in model.local_classifiers_.values()]
    assert all(isinstance(a, int) and isinstance(b, int) for a, b in found)
    assert len({a for a, _ in found}) == len(found)


def test_random_state_may_be_an_instance(local_class, animals):
    estimator = DecisionTreeClassifier()
    a, b = (
        local_class(estimator, random_state=np.random.RandomState(3)).fit(*animals)
        for _ in range(2)
    )
    assert seeds(a) == seeds(b)


def test_random_state_is_no_matter_for_a_local_classifier_without_seeds(estimator_class, animals):
    X, y = animals
    assert estimator_class(Centroids(), random_state=0).fit(X, y).score(X, y) == 1.0


# -- X passes through --------------------------------------------------------------------------

DOCUMENTS = [
    "the cat purrs and sleeps",
    "a cat purrs on the sofa",
    "the dog barks and runs",
    "a dog barks at night",
    "ferns grow in the shade",
    "a fern grows slowly",
]
DOCUMENT_PATHS = [["animal", "cat"]] * 2 + [["animal", "dog"]] * 2 + [["plant", "fern"]] * 2


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, lambda d: np.array(d, dtype=object), pandas.Series, polars.Series],
    ids=["list", "tuple", "fixed-width", "object", "pandas", "polars"],
)
def test_documents_go_to_a_text_pipeline(estimator_class, container):
    estimator = make_pipeline(TfidfVectorizer(), LogisticRegression(C=100))
    X = container(DOCUMENTS)
    model = estimator_class(estimator).fit(X, DOCUMENT_PATHS)
    assert model.predict(X).tolist() == DOCUMENT_PATHS
    assert model.predict(container(["my cat purrs"])).tolist() == [["animal", "cat"]]
    assert not hasattr(model, "n_features_in_")


MIXED = {
    "size": [0.1, 0.2, 5.0, 6.0, 0.1, 5.0],
    "colour": ["red", "red", "red", "red", "green", "green"],
    "note": ["x", None, "y", "x", None, "z"],
}
MIXED_PATHS = [["r", "small"], ["r", "small"], ["r", "big"], ["r", "big"], ["g", ""], ["g", ""]]


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_frames_of_numbers_and_text_go_to_a_column_transformer(estimator_class, frame):
    X = frame(MIXED)
    columns = make_column_transformer(
        (StandardScaler(), ["size"]), (OneHotEncoder(handle_unknown="ignore"), ["colour"])
    )
    model = estimator_class(make_pipeline(columns, LogisticRegression(C=100))).fit(X, MIXED_PATHS)
    assert model.predict(X).tolist() == MIXED_PATHS
    assert model.predict_proba(X)[1].shape == (6, 3)
    assert model.feature_names_in_.tolist() == ["size", "colour", "note"]
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_frames_stay_frames_on_their_way_to_the_local_classifier(estimator_class, frame):
    class Seer:
        seen = set()  # noqa: RUF012

        def fit(self, X, y):
            self.seen.add((type(X), tuple(X.columns)))
            self.n_classes = y.max() + 1
            return self

        def predict_proba(self, X):
            self.seen.add((type(X), tuple(X.columns)))
            return np.full((len(X), self.n_classes), 1 / self.n_classes)

        predict = None

    model = estimator_class(Seer()).fit(frame(MIXED), MIXED_PATHS)
    model.predict(frame(MIXED))
    assert Seer.seen == {(frame, ("size", "colour", "note"))}


def test_nan_goes_to_a_local_classifier_that_takes_it(estimator_class, animals):
    X, y = animals
    X[::6, 1] = np.nan
    estimator = HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=1)
    model = estimator_class(estimator).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="contains NaN"):
        estimator_class(GaussianNB()).fit(X, y)


class Flattened(ClassifierMixin, BaseEstimator):
    """Takes rows of any shape."""

    def fit(self, X, y):
        assert X.ndim == 3
        self.model_ = GaussianNB().fit(X.reshape(len(X), -1), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X.reshape(len(X), -1))

    def predict_proba(self, X):
        assert X.ndim == 3
        return self.model_.predict_proba(X.reshape(len(X), -1))


def test_arrays_of_three_dimensions_keep_them(estimator_class, animals):
    X, y = animals
    images = np.stack([X, X * 2], axis=2)
    model = estimator_class(Flattened()).fit(images, y)
    assert model.predict(images).tolist() == y.tolist()
    assert model.predict_node_proba(images).shape == (36, 9)


@pytest.mark.parametrize(
    "container", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix], ids=lambda c: c.__name__
)
def test_sparse_rows_reach_the_local_classifier_as_csr(estimator_class, animals, container):
    class Sparse(LogisticRegression):
        formats = set()  # noqa: RUF012

        def fit(self, X, y):
            self.formats.add(X.format)
            return super().fit(X, y)

        def predict_proba(self, X):
            self.formats.add(X.format)
            return super().predict_proba(X)

    X, y = animals
    model = estimator_class(Sparse()).fit(container(X), y)
    dense = estimator_class(LogisticRegression()).fit(X, y)
    np.testing.assert_allclose(
        model.predict_node_proba(container(X)), dense.predict_node_proba(X), atol=1e-4
    )
    assert Sparse.formats == {"csr"}


def test_sparse_rows_are_refused_for_a_local_classifier_that_does_not_take_them(
    estimator_class, animals
):
    X, y = animals
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        estimator_class(GaussianNB()).fit(sp.csr_array(X), y)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_numbers_keep_their_type_on_the_way_to_the_local_classifier(estimator_class, dtype):
    class Typed(Centroids):
        seen = set()  # noqa: RUF012

        def fit(self, X, y):
            self.seen.add(X.dtype)
            return super().fit(X.astype(float), y)

        def predict_proba(self, X):
            self.seen.add(X.dtype)
            return super().predict_proba(X.astype(float))

    X = np.array([[0, 0], [1, 0], [1, 1]], dtype=dtype)
    y = [["a", "x"], ["b", "x"], ["b", "y"]]
    assert estimator_class(Typed()).fit(X, y).predict(X).tolist() == y
    assert Typed.seen == {np.dtype(dtype)}


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows_with_large_indices_are_taken_by_local_classifiers_that_want_small_ones(
    kind, animals
):
    """SVC refuses 64-bit indices, which some ways to stack matrices leave behind."""
    X, y = animals
    rows = kind(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    for estimator_class in (FlatClassifier, LocalClassifierPerParentNode):
        model = estimator_class(SVC(kernel="linear")).fit(rows, y)
        np.testing.assert_array_equal(model.predict(rows), model.predict(kind(X)))
    assert rows.indices.dtype == rows.indptr.dtype == np.int64


# -- local classifiers that write into X -------------------------------------------------------


class Scribbler(GaussianNB):
    """Erases its rows after fit; they belong to others, too."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        if sp.issparse(X):
            X.data[:] = 0
        elif hasattr(X, "iloc"):
            X.iloc[:, :] = 0.0
        else:
            X[:] = 0
        y[:] = 0
        if sample_weight is not None:
            sample_weight[:] = 0
        return self


@pytest.mark.parametrize("container", [np.array, pandas.DataFrame], ids=["array", "pandas"])
def test_a_local_classifier_that_writes_into_its_rows_in_fit_harms_nobody(
    estimator_class, animals, container
):
    X, y = animals
    X, weights = container(X), np.linspace(1, 2, len(y))
    copies = X.copy(), y.copy(), weights.copy()
    harmed = estimator_class(Scribbler()).fit(X, y, sample_weight=weights)
    for given, copy in zip((X, y, weights), copies, strict=True):
        np.testing.assert_array_equal(given, copy)
    spared = estimator_class(GaussianNB()).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(harmed.predict_node_proba(X), spared.predict_node_proba(X))


def test_a_local_classifier_that_writes_into_sparse_rows_in_fit_harms_nobody(
    estimator_class, animals
):
    class SparseScribbler(LogisticRegression):
        def fit(self, X, y):
            super().fit(X, y)
            X.data[:] = 0
            X.indices[:] = 0
            return self

    X, y = sp.csr_array(animals[0]), animals[1]
    before = X.toarray()
    harmed = estimator_class(SparseScribbler()).fit(X, y)
    np.testing.assert_array_equal(X.toarray(), before)
    spared = estimator_class(LogisticRegression()).fit(X, y)
    np.testing.assert_array_equal(harmed.predict_node_proba(X), spared.predict_node_proba(X))


def test_a_local_classifier_that_writes_into_its_rows_in_predict_is_stopped_by_numpy(
    estimator_class, animals
):
    class LateScribbler(GaussianNB):
        def predict_proba(self, X):
            X[:] = 0
            return super().predict_proba(X)

    X, y = animals
    before = X.copy()
    model = estimator_class(LateScribbler()).fit(X, y)
    with pytest.raises(ValueError, match="read-only"):
        model.predict(X)
    np.testing.assert_array_equal(X, before)


def test_a_local_classifier_that_writes_into_a_frame_in_predict_harms_nobody(
    estimator_class, animals
):
    class LateScribbler(GaussianNB):
        def predict_proba(self, X):
            proba = super().predict_proba(X)
            X.iloc[:, :] = 0.0
            return proba

    X, y = pandas.DataFrame(animals[0]), animals[1]
    before = X.copy()
    harmed = estimator_class(LateScribbler()).fit(X, y).predict_node_proba(X)
    pandas.testing.assert_frame_equal(X, before)
    spared = estimator_class(GaussianNB()).fit(X, y).predict_node_proba(X)
    np.testing.assert_array_equal(harmed, spared)


def test_rows_that_are_read_only_are_fine(estimator_class, animals):
    X, y = animals
    X.flags.writeable = False
    y.flags.writeable = False
    assert estimator_class(GaussianNB()).fit(X, y).score(X, y) == 1.0


# -- errors inside a local classifier ---------------------------------------------------------


def test_a_local_classifier_that_cannot_cope_with_a_rare_class_says_where(estimator_class):
    y = [["a", "x"]] * 4 + [["a", "y"]] * 4 + [["b", "z"]] * 4 + [["b", "rare"]]
    estimator = CalibratedClassifierCV(LinearSVC(), cv=2)
    X = np.arange(13.0)[:, None]
    with pytest.raises(ValueError, match="Requesting 2-fold") as error:
        estimator_class(estimator).fit(X, y)
    place = {
        LocalClassifierPerNode: "b > rare",
        LocalClassifierPerParentNode: "b",
        LocalClassifierPerLevel: "level 2",
        FlatClassifier: "all leaves",
    }[estimator_class]
    assert error.value.__notes__ == [f"while fitting the classifier of {place}"]


# -- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(C=2),
        LinearSVC(tol=0.1).fit([[0.0], [1.0]], [0, 1]),
        LogisticRegression(random_state=1),
        GaussianNB(),
        KNeighborsClassifier(),
        SGDClassifier(),
        MLPClassifier(),
        RandomForestClassifier(),
        HistGradientBoostingClassifier(),
        make_pipeline(StandardScaler(), LinearSVC()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_copy_is_a_clone(estimator):
    before = repr(vars(estimator))
    copy, cloned = copy_estimator(estimator), clone(estimator)
    assert type(copy) is type(cloned)
    assert list(vars(copy)) == list(vars(cloned))
    assert repr(copy) == repr(cloned)
    set_random_state(copy, 7)
    seeds = [name for name in cloned.get_params() if name.endswith("random_state")]
    assert repr(copy) == repr(cloned.set_params(**dict.fromkeys(seeds, 7)))
    assert repr(vars(estimator)) == before


def test_copies_share_nothing_that_can_change():
    draws, weights = np.random.RandomState(0), {0: 2.0}
    estimator = LinearSVC(class_weight=weights, random_state=draws)
    copy = copy_estimator(estimator)
    assert copy.class_weight == weights
    assert copy.class_weight is not weights
    assert copy.random_state is not draws


def test_a_copy_keeps_what_clone_keeps():
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LinearSVC().set_fit_request(sample_weight=True)
        requests = copy_estimator(estimator).get_metadata_routing().fit.requests
    assert requests == {"sample_weight": True}


def test_the_constructor_of_a_class_of_others_is_called():
    class Counted(GaussianNB):
        made = 0

        def __init__(self, priors=None):
            super().__init__(priors=priors)
            type(self).made += 1

    estimator = Counted()
    copy_estimator(estimator)
    assert Counted.made == 2


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(SimpleImputer(), LogisticRegression()),
        GridSearchCV(
            HistGradientBoostingClassifier(max_iter=2), {"max_depth": [1]}, cv=2, scoring="accuracy"
        ),
    ],
    ids=["pipeline", "search"],
)
def test_nan_reaches_a_composite_local_classifier_that_can_deal_with_it(estimator):
    X = np.array([[0.0, np.nan], [1.0, 0.0], [np.nan, 1.0], [3.0, 1.0]] * 5)
    y = [["a", "x"], ["a", "z"], ["b", "y"], ["b", "y"]] * 5
    model = LocalClassifierPerParentNode(estimator).fit(X, y)
    assert model.predict(X).shape == (20, 2)


def test_classes_whose_joined_names_are_equal_get_different_seeds():
    seeds = {}

    class Seeded(GaussianNB):
        def __init__(self, random_state=None):
            super().__init__()
            self.random_state = random_state

    y = [["a > b", "x"], ["a > b", "y"], ["a", "b", "x"], ["a", "b", "y"]]
    model = LocalClassifierPerParentNode(Seeded(), random_state=0).fit(np.eye(4), y)
    seeds = [estimator.random_state for estimator in model.local_classifiers_.values()]
    assert len(set(seeds)) == len(seeds) == 3
