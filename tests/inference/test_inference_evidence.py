"""Columns of probabilities and scores: whose they are, by what a local classifier says and does."""

import numpy as np
import pytest
from samples import four_quarters
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from zoo import DAG, zoo

from hiclass import (
    FlatClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._inference.evidence import check_scores, column_order

PAIRS = "decision_function has a column per pair of classes; .*decision_function_shape='ovr'"


class Ordered(ClassifierMixin, BaseEstimator):
    """The class with the nearest mean; its classes may be in descending order."""

    def __init__(self, reverse=True):
        self.reverse = reverse

    def fit(self, X, y):
        self.classes_ = np.unique(y)[:: -1 if self.reverse else 1]
        self.means_ = np.stack([X[y == c].mean(axis=0) for c in self.classes_])
        return self

    def _closeness(self, X):
        return -((X[:, None] - self.means_) ** 2).sum(axis=-1) / 10

    def predict(self, X):
        return self.classes_[self._closeness(X).argmax(axis=1)]


class OrderedSoft(Ordered):
    def predict_proba(self, X):
        return softmax(self._closeness(X), axis=1)


class OrderedScored(Ordered):
    def decision_function(self, X):
        score = self._closeness(X)
        return score if score.shape[1] > 2 else score[:, 1] - score[:, 0]


@pytest.fixture(scope="module")
def blobs():
    X, kind = make_blobs(150, centers=5, random_state=3)
    paths = np.array([["A", "x"], ["A", "y"], ["A", "z"], ["B", "x"], ["B", "y"]])
    return X, paths[kind]


# -- the order of classes ----------------------------------------------------------------------


@pytest.mark.parametrize("fake_class", [OrderedSoft, OrderedScored])
@pytest.mark.parametrize("calibration", [None, "temperature", "joint"])
def test_classes_in_another_order_predict_as_in_the_usual_one(
    estimator_class, blobs, fake_class, calibration
):
    X, y = blobs
    temperature = None if calibration is None else 1.0
    reverse, usual = (
        estimator_class(estimator, calibration=calibration, temperature=temperature).fit(X, y)
        for estimator in (fake_class(), fake_class(reverse=False))
    )
    np.testing.assert_array_equal(reverse.predict(X), usual.predict(X))
    assert np.mean(usual.predict(X) == y) > 0.8
    if fake_class is OrderedSoft or calibration is not None:
        found, expected = (model.predict_node_proba(X) for model in (reverse, usual))
        # Of two classes the first is a multiple of the second, by any order the same odds.
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_model_agrees_with_the_predict_of_its_own_classifier(blobs):
    X, y = blobs
    flat = FlatClassifier(OrderedSoft()).fit(X, y)
    (estimator,) = flat.local_classifiers_.values()
    expected = flat.hierarchy_.labels[flat.local_classes_[()][estimator.predict(X)]]
    assert flat.predict(X)[:, 1].tolist() == expected.tolist()


def test_where_rows_are_sets_the_order_counts_as_well(local_class):
    X, y = zoo()
    found, expected = (
        local_class(estimator, hierarchy=DAG, multi_label=True).fit(X, y).predict_node_proba(X)
        for estimator in (OrderedSoft(), OrderedSoft(reverse=False))
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


class Several(ClassifierMixin, BaseEstimator):
    """Takes several outputs, and has their classes in descending order."""

    def __init__(self, reverse=True):
        self.reverse = reverse

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X, y):
        step = -1 if self.reverse else 1
        self.inner_ = RandomForestClassifier(5, random_state=0).fit(X, y)
        classes = self.inner_.classes_
        several = isinstance(classes, list)
        self.classes_ = [c[::step] for c in classes] if several else classes[::step]
        return self

    def predict_proba(self, X):
        step = -1 if self.reverse else 1
        found = self.inner_.predict_proba(X)
        several = isinstance(found, list)
        return [p[:, ::step] for p in found] if several else found[:, ::step]


def test_so_does_that_of_every_output_of_a_classifier_that_has_several():
    X, y = zoo()
    found, expected = (
        FlatClassifier(estimator, hierarchy=DAG, multi_label=True).fit(X, y).predict_node_proba(X)
        for estimator in (Several(), Several(reverse=False))
    )
    np.testing.assert_array_equal(found, expected)


def test_classes_that_fit_was_not_given_are_refused(estimator_class):
    class Renamed(GaussianNB):
        def predict_proba(self, X):
            self.classes_ = self.classes_ + 10
            return super().predict_proba(X)

    model = estimator_class(Renamed()).fit([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])
    with pytest.raises(ValueError, match=r"Renamed.classes_ is \[10 11\], .* 0 to 1, in any order"):
        model.predict([[0.0]])


@pytest.mark.parametrize(
    ("classes", "order"),
    [
        (None, None),
        ([0, 1, 2], None),
        (np.array([0.0, 1.0, 2.0]), None),
        ([2, 0, 1], [1, 2, 0]),
        (np.array([1, 0, 2], dtype=object), [1, 0, 2]),
    ],
)
def test_the_column_of_every_class_is_found(classes, order):
    found = column_order(classes, 3, "Fake")
    assert (None if found is None else found.tolist()) == order


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 1], [1, 2, 3], ["0", "1", "2"], [[0, 1, 2]]])
def test_classes_that_are_others_are_refused(classes):
    with pytest.raises(ValueError, match=r"Fake\.classes_ is .*0 to 2"):
        column_order(classes, 3, "Fake")


def test_a_binary_score_may_have_two_columns(blobs):
    class Two(OrderedScored):
        def decision_function(self, X):
            return self._closeness(X)

    class Three(OrderedScored):
        def decision_function(self, X):
            return np.zeros((len(X), 3))

    X, y = blobs
    two, one = (
        LocalClassifierPerNode(estimator()).fit(X, y).predict(X)
        for estimator in (Two, OrderedScored)
    )
    np.testing.assert_array_equal(two, one)
    model = LocalClassifierPerNode(Three()).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(150, 3\) for 150 rows and 2 classes"):
        model.predict(X)


# -- scores of pairs ---------------------------------------------------------------------------


class Fought(ClassifierMixin, BaseEstimator):
    """Scores pairs of classes without saying so."""

    def __init__(self, sign=1):
        self.sign = sign

    def fit(self, X, y):
        self.inner_ = SVC(decision_function_shape="ovo").fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def decision_function(self, X):
        return self.sign * self.inner_.decision_function(X)

    def predict(self, X):
        return self.inner_.predict(X)


PAIRED = [
    SVC(decision_function_shape="ovo"),
    NuSVC(decision_function_shape="ovo"),
    make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")),
    GridSearchCV(make_pipeline(SVC(decision_function_shape="ovo")), {"svc__C": [1.0]}, cv=2),
    Fought(),
    Fought(sign=-1),
]


@pytest.mark.parametrize("estimator", PAIRED, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize(
    ("kind", "calibration"),
    [
        (LocalClassifierPerLevel, None),
        (LocalClassifierPerLevel, "temperature"),
        (LocalClassifierPerParentNode, "temperature"),
        (LocalClassifierPerParentNode, "joint"),
        (FlatClassifier, "temperature"),
        (FlatClassifier, "joint"),
    ],
)
def test_scores_of_three_pairs_are_refused(estimator, kind, calibration):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=PAIRS) as caught:
        kind(estimator, calibration=calibration).fit(X, y)
    assert any(note.startswith("in ") for note in caught.value.__notes__)


def test_wrapped_scores_of_pairs_are_found_by_what_they_do():
    X, y = load_iris(return_X_y=True)
    estimator = BaggingClassifier(SVC(decision_function_shape="ovo"), 2, random_state=0)
    with pytest.raises(ValueError, match=PAIRS):
        FlatClassifier(estimator, calibration="temperature").fit(X, y)


@pytest.mark.parametrize("kind", [LocalClassifierPerParentNode, FlatClassifier])
def test_the_choice_of_a_classifier_of_pairs_serves_where_no_scores_are_needed(kind):
    X, y = load_iris(return_X_y=True)
    estimator = SVC(decision_function_shape="ovo")
    assert (kind(estimator).fit(X, y).predict(X) == estimator.fit(X, y).predict(X)).all()


def test_a_single_pair_is_a_score_of_two_classes():
    X, y = load_iris(return_X_y=True)
    estimator = SVC(decision_function_shape="ovo")
    for model in (
        LocalClassifierPerNode(estimator),
        LocalClassifierPerParentNode(estimator, calibration="temperature"),
    ):
        here = y if model.calibration is None else np.minimum(y, 1)
        assert model.fit(X, here).score(X, here) > 0.9


def test_probabilities_are_used_in_spite_of_scores_of_pairs():
    X, y = load_iris(return_X_y=True)

    class Both(Fought):
        def predict_proba(self, X):
            return np.eye(3)[self.predict(X)]

    assert LocalClassifierPerLevel(Both()).fit(X, y).score(X, y) > 0.9
    assert FlatClassifier(Both(), calibration="joint").fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    "estimator",
    [SVC(), SVC(break_ties=True), NuSVC(), SVC(kernel="poly", C=0.01), make_pipeline(SVC(gamma=9))],
    ids=str,
)
def test_scores_of_three_classes_are_fine_also_where_ties_are_broken_otherwise(estimator):
    X, y = load_iris(return_X_y=True)
    for noise in (0, 1):
        rows = X[:, :2] + noise * np.random.default_rng(0).normal(size=(150, 2))
        check_scores(estimator.fit(rows, y), 3, rows, lambda: np.arange(150))


@pytest.mark.parametrize(
    ("estimator", "seed"),
    [
        (SVC(kernel="linear"), 7),
        (make_pipeline(SVC(kernel="linear")), 7),
        (BaggingClassifier(LinearSVC(), 5, random_state=0), 11),
        (BaggingClassifier(SVC(kernel="linear"), 5, random_state=0), 8),
        (OneVsRestClassifier(SVC(decision_function_shape="ovo")), 7),
    ],
    ids=["SVC", "pipeline", "bagged LinearSVC", "bagged SVC", "one vs rest of ovo"],
)
@pytest.mark.parametrize(
    "kind", [LocalClassifierPerLevel, LocalClassifierPerParentNode, FlatClassifier]
)
def test_scores_of_classes_pass_where_some_predictions_look_like_those_of_pairs(
    estimator, seed, kind
):
    rng = np.random.RandomState(seed)
    X, y = rng.normal(size=(60, 2)), rng.randint(0, 3, 60)
    model = kind(estimator, calibration="temperature").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


class Told(ClassifierMixin, BaseEstimator):
    """Has the scores and predictions that it is given, per row; notes which rows it predicts."""

    def __init__(self, score=(), predicted=(), decision_function_shape=None):
        self.score = score
        self.predicted = predicted
        self.decision_function_shape = decision_function_shape

    def fit(self, X, y):
        self.classes_, self.rows_ = np.unique(y), set()
        return self

    def decision_function(self, X):
        return np.array(self.score)[X[:, 0]]

    def predict(self, X):
        self.rows_ |= set(X[:, 0].tolist())
        return np.array(self.predicted)[X[:, 0]]


#: Read as classes they say 0, 2 and 0; read as pairs 0, 1 and 2.
SCORES = [[2.0, 1.0, 0.1], [-1.0, 0.1, 2.0], [-0.1, -1.0, -2.0]]


@pytest.mark.parametrize(
    ("as_pairs", "as_classes", "refused"),
    [(64, 0, True), (58, 6, True), (57, 7, False), (40, 24, False), (15, 0, False), (16, 0, True)],
)
def test_without_a_word_only_clear_behaviour_is_refused(as_pairs, as_classes, refused):
    # So many rows are predicted as the second row of scores reads as pairs, or as classes.
    predicted = [1] * as_pairs + [2] * as_classes
    X = np.arange(len(predicted))[:, None]
    estimator = Told([SCORES[1]] * len(predicted), predicted).fit(X, [0, 1, 2])
    if refused:
        with pytest.raises(ValueError, match=PAIRS):
            check_scores(estimator, 3, X, lambda: X[:, 0])
    else:
        check_scores(estimator, 3, X, lambda: X[:, 0])


def test_what_a_classifier_says_of_its_scores_wins_over_how_it_behaves():
    X = np.arange(64)[:, None]
    pairs, classes = np.arange(64) % 3, np.array([0, 2, 0])[np.arange(64) % 3]
    scores = np.array(SCORES)[np.arange(64) % 3]
    check_scores(Told(scores, pairs, "ovr").fit(X, pairs), 3, X, lambda: X[:, 0])
    with pytest.raises(ValueError, match=PAIRS):
        check_scores(Told(scores, classes, "ovo").fit(X, pairs), 3, X, lambda: X[:, 0])


def test_a_suspect_inside_is_refused_by_weaker_evidence():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(60, 2)), rng.randint(0, 3, 60)
    estimator = BaggingClassifier(SVC(kernel="linear", decision_function_shape="ovo"), 2)
    for seed in range(5):
        estimator.set_params(random_state=seed)
        with pytest.raises(ValueError, match=PAIRS):
            FlatClassifier(estimator, calibration="temperature").fit(X, y)


def test_behaviour_is_judged_by_rows_of_the_own_classes_of_a_classifier():
    y = [["A", "x"]] * 10 + [["A", "y"]] * 10 + [["A", "z"]] * 10 + [["B", "x"], ["B", "y"]] * 10
    X = np.arange(50)[:, None]
    score = np.eye(3)[[0] * 10 + [1] * 10 + [2] * 10 + [0] * 20]
    estimators = {}

    def make(path):
        if path != ("A",):
            return GaussianNB()
        return estimators.setdefault(path, Told(score, score.argmax(axis=1)))

    model = LocalClassifierPerParentNode(make, calibration="temperature", temperature=1.0)
    model.fit(X, y)
    assert model.local_classifiers_["A",].rows_ == set(range(30))


@pytest.mark.parametrize(
    "kind", [LocalClassifierPerLevel, LocalClassifierPerParentNode, FlatClassifier]
)
def test_a_stream_refuses_scores_of_pairs_with_the_first_batch_that_shows_them(kind):
    class Streamed(Fought):
        def partial_fit(self, X, y, classes=None):
            return self.fit(X, y)

    X, y = load_iris(return_X_y=True)
    model = kind(Streamed())
    with pytest.raises(ValueError, match=PAIRS):
        model.partial_fit(X, y)
    assert not hasattr(model, "classes_")


class Lost(GaussianNB):
    """Scores that are no numbers."""

    def decision_function(self, X):
        return np.full(len(X), np.nan)


@pytest.mark.parametrize("kind", [LocalClassifierPerNode, LocalClassifierPerParentNode])
def test_scores_that_are_no_numbers_are_an_error(kind):
    X, y = four_quarters(40)
    with pytest.raises(ValueError, match="returned a score of NaN"):
        kind(Lost(), calibration="temperature").fit(X, y)
