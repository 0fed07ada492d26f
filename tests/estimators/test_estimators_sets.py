"""The four estimators on DAGs and with several labels per row."""

from contextlib import suppress

import joblib
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from estimator_classes import ESTIMATOR_CLASSES
from fakes import recording
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from samples import COUNTS
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from strategies import hierarchies_with_sets
from zoo import DAG, EDGES, NAMES, zoo

from hiclass import (
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    metrics,
)
from hiclass._estimators.set_fitting import OneVsRest
from hiclass._problems.policies import POLICIES

PRIOR = DummyClassifier(strategy="prior")


class Shares:
    """Predicts the share of positive training rows, and takes one label only."""

    def fit(self, X, y, sample_weight=None):
        assert y.ndim == 1
        self.share = np.average(y, weights=sample_weight)
        return self

    def predict_proba(self, X):
        return np.tile([1 - self.share, self.share], (len(X), 1))


# -- laws --------------------------------------------------------------------------------------


def variants():
    for kind in ESTIMATOR_CLASSES[1:]:
        yield kind, {}
    yield GlobalClassifier, {"level_weight": 1}
    for policy in POLICIES:
        yield LocalClassifierPerNode, {"binary_policy": policy}


VARIANTS = st.sampled_from(list(variants()))


@settings(max_examples=60)
@given(hierarchies_with_sets(), VARIANTS, st.sampled_from([0.3, 0.5, 1.0]), st.booleans())
@pytest.mark.filterwarnings("ignore:No training row ends at an inner node")
def test_sets_are_closed_and_probabilities_never_rise(drawn, variant, threshold, one_label):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    assume(any(y))
    if one_label and not hierarchy.is_tree:
        y = [row[0] for row in y if row]
    elif one_label:
        return
    kind, options = variant
    X = np.random.default_rng(len(y)).normal(size=(len(y), 2))
    model = kind(
        KNeighborsClassifier(1),
        hierarchy=hierarchy,
        multi_label=not one_label,
        threshold=threshold,
        **options,
    )
    with suppress(ValueError):  # a policy may leave a class without positive rows
        model.fit(X, y)
    assume(hasattr(model, "hierarchy_"))
    proba = model.predict_node_proba(X)
    assert proba.shape == (len(y), hierarchy.n_nodes)
    assert (proba[:, 0] == 1).all()
    assert (proba >= 0).all()
    assert (proba <= 1).all()
    for node in range(1, hierarchy.n_nodes):
        for parent in hierarchy.parents(node):
            assert (proba[:, node] <= proba[:, parent]).all()
    # What is predicted has training rows, and is said for every row by itself.
    predicted = model.predict(X)
    if one_label:
        assert set(predicted.tolist()) <= set(y)
        assert [model.predict(X[[i]])[0] for i in range(len(y))] == predicted.tolist()
        return
    closed = hierarchy.indicator(predicted).toarray()
    reached = proba >= threshold
    reached[:, hierarchy.indicator(y).toarray().sum(axis=0) == 0] = False
    reached[:, 0] = True
    np.testing.assert_array_equal(closed, reached)
    assert [model.predict(X[[i]])[0] for i in range(len(y))] == predicted.tolist()


@pytest.mark.parametrize("kind", ESTIMATOR_CLASSES)
def test_clean_data_is_learned_on_a_dag(kind):
    X, y = zoo(200)
    model = kind(LogisticRegression(C=100), hierarchy=DAG, multi_label=True).fit(X, y)
    # The policy "siblings" never sees a dog beside a lion as negative; the others learn it all.
    assert model.score(X, y) > 0.95
    assert model.classes_.tolist() == [n for n in DAG.labels[1:].tolist() if n != "dingo"]
    column = DAG.find("dingo")
    assert (model.predict_node_proba(X)[:, column] == 0).all()


def test_a_dag_with_one_label_per_row_predicts_one_label_per_row(estimator_class):
    X, y = zoo(100)
    X, y = X[::2], [row[0] for row in y[::2]]
    for source in (DAG, EDGES, DAG.to_networkx()):
        model = estimator_class(LogisticRegression(C=100), hierarchy=source).fit(X, y)
        assert model.predict(X).tolist() == y
    assert model.classes_.tolist() == [n for n in DAG.labels.tolist() if n in set(y)]
    assert model.score(X, y) == 1.0
    assert model.predict_node_proba(X).shape == (50, DAG.n_nodes)
    for name in ("predict_proba", "adapted_to", "prior_"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="change the threshold"):
        model.adapted_to(prior={})
    integers = np.array([NAMES.index(name) for name in y])
    numbered = [(NAMES.index(a) if a in NAMES else a, NAMES.index(b) if b in NAMES else b)
                for a, b in EDGES]  # fmt: skip
    assert (
        estimator_class(GaussianNB(), hierarchy=numbered).fit(X, integers).predict(X)[0]
        == (integers[0])
    )


# -- the combination of probabilities, by hand -----------------------------------------------


def proba_by_label(model, X):
    return dict(zip(DAG.labels.tolist(), model.predict_node_proba(X)[0].tolist(), strict=True))


Y = [["cat"], ["lion"], ["dog"], ["pug"], ["cat", "wolf"], ["pet"], ["wolf"], ["lion", "dog"]]
X8 = np.zeros((8, 1))


def test_per_node_multiplies_the_probability_with_the_least_parent_inside_parents():
    p = proba_by_label(LocalClassifierPerNode(Shares(), hierarchy=DAG, multi_label=True)
                       .fit(X8, Y), X8)  # fmt: skip
    # Rows of pet: 0 2 3 4 5 7; of feline: 0 1 4 7; of canine: 2 3 4 6 7. All eight are in one.
    assert p["pet"] == pytest.approx(6 / 8)
    assert p["feline"] == pytest.approx(4 / 8)
    assert p["canine"] == pytest.approx(5 / 8)
    # cat: rows 0 4 against those of dog and lion: 1 2 3 7. Of the rows of pet one ends there.
    assert p["cat"] == pytest.approx(2 / 6 * min(6 / 8 * 5 / 6, 4 / 8))
    # dog: rows 2 3 7 against cat and wolf: 0 4 6.
    assert p["dog"] == pytest.approx(3 / 6 * min(6 / 8 * 5 / 6, 5 / 8))
    # pug has no siblings, so it is certain where a row of dog goes on: 1 of 3.
    assert p["pug"] == pytest.approx(p["dog"] / 3)
    assert p["dingo"] == 0


def test_per_node_is_limited_by_the_least_parent_for_policies_over_all_rows():
    model = LocalClassifierPerNode(
        Shares(), hierarchy=DAG, multi_label=True, binary_policy="less_inclusive"
    )
    p = proba_by_label(model.fit(X8, Y), X8)
    assert p["cat"] == pytest.approx(2 / 8)
    assert p["dog"] == pytest.approx(3 / 8)
    model.set_params(binary_policy="inclusive")
    p = proba_by_label(model.fit(X8, Y), X8)
    assert p["cat"] == pytest.approx(2 / 7)  # the row that ends at pet says nothing of cats
    assert p["pug"] == pytest.approx(1 / 5)  # nor do those that end at dog or pet of pugs


def test_per_parent_node_takes_the_least_product_over_the_parents():
    model = LocalClassifierPerParentNode(Shares(), hierarchy=DAG, multi_label=True).fit(X8, Y)
    p = proba_by_label(model, X8)
    assert p["pet"] == pytest.approx(6 / 8)
    assert p["cat"] == pytest.approx(min(6 / 8 * 2 / 6, 4 / 8 * 2 / 4))
    assert p["dog"] == pytest.approx(min(6 / 8 * 3 / 6, 5 / 8 * 3 / 5))
    assert p["pug"] == pytest.approx(p["dog"] / 3)
    assert isinstance(model.local_classifiers_["pet"], OneVsRest)
    assert isinstance(model.local_classifiers_["dog"], Shares)
    assert set(model.local_classifiers_) == {(), "pet", "feline", "canine", "dog"}


def test_per_level_is_limited_by_the_least_parent():
    model = LocalClassifierPerLevel(Shares(), hierarchy=DAG, multi_label=True).fit(X8, Y)
    p = proba_by_label(model, X8)
    assert p["cat"] == pytest.approx(2 / 8)
    assert p["pug"] == pytest.approx(1 / 8)
    assert list(model.local_classifiers_) == [1, 2, 3]
    # A probability above that of the parent is limited.
    model.local_classifiers_[3].share = 0.9
    assert proba_by_label(model, X8)["pug"] == p["dog"] == pytest.approx(3 / 8)


def test_flat_queries_one_classifier_for_all_classes_and_is_limited_by_the_least_parent():
    model = FlatClassifier(Shares(), hierarchy=DAG, multi_label=True).fit(X8, Y)
    p = proba_by_label(model, X8)
    assert p["pug"] == pytest.approx(1 / 8)
    assert p["pet"] == pytest.approx(6 / 8)
    copies = model.local_classifiers_[()].estimators_
    assert len(copies) == DAG.n_nodes - 2  # all but the root and dingo
    copies[DAG.find("dog") - 1 - (DAG.find("dog") > DAG.find("dingo"))].share = 0.05
    assert proba_by_label(model, X8)["pug"] == 0.05


def test_a_class_of_all_rows_is_certain(estimator_class):
    y = [["cat"], ["cat", "dog"], ["cat"]]
    model = estimator_class(Shares(), hierarchy=DAG, multi_label=True).fit(np.zeros((3, 1)), y)
    p = proba_by_label(model, np.zeros((1, 1)))
    assert p["cat"] == p["pet"] == p["feline"] == 1


def test_one_class_alone_needs_no_classifier(estimator_class):
    model = estimator_class(hierarchy=DAG, multi_label=True).fit(np.zeros((2, 1)), [["pug"]] * 2)
    assert len(model.local_classifiers_) == 0
    assert model.predict(np.zeros((1, 1))).tolist() == [["pug"]]


def test_rows_without_labels_are_negative_everywhere(estimator_class):
    X, y = zoo(80)
    X, y = np.vstack([X, np.full((20, 5), -1.0)]), [*y, *[[]] * 20]
    estimator = ExtraTreesClassifier(10, random_state=0)
    model = estimator_class(estimator, hierarchy=DAG, multi_label=True).fit(X, y)
    assert model.predict(X[-3:]).tolist() == [[], [], []]
    assert model.score(X, y) == 1.0


# -- local classifiers ------------------------------------------------------------------------

ESTIMATORS = [
    LogisticRegression(),
    GaussianNB(),
    ExtraTreesClassifier(5, random_state=0),
    DecisionTreeClassifier(random_state=0),
    KNeighborsClassifier(3),
    MLPClassifier(5, max_iter=500, solver="lbfgs", random_state=0),
    PRIOR,
    MultiOutputClassifier(GaussianNB()),
    ClassifierChain(LogisticRegression()),
    make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    make_pipeline(StandardScaler(), LogisticRegression()),
    Shares(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("kind", ESTIMATOR_CLASSES)
def test_local_classifiers_that_take_sets_get_them_and_others_are_copied_per_class(kind, estimator):
    X, y = zoo(40)
    model = kind(estimator, hierarchy=DAG, multi_label=True)
    if type(estimator) in (MultiOutputClassifier, ClassifierChain):
        if kind is LocalClassifierPerNode:
            return  # it takes nothing but sets
        # "dog" has one class only, which such a local classifier does not take.
        X, y = X[[("pug" not in row) for row in y]], [row for row in y if "pug" not in row]
    model.fit(X, y)
    used = {type(c) for c in model.local_classifiers_.values()}
    single = type(estimator) in (LogisticRegression, GaussianNB, Shares) or (
        "logisticregression" in getattr(estimator, "named_steps", {})
    )
    if kind is LocalClassifierPerNode:
        assert used == {type(estimator)}
    else:
        assert OneVsRest in used if single else used == {type(estimator)}
    proba = model.predict_node_proba(X)
    assert np.isfinite(proba).all()
    assert model.score(X, y) >= 0


def test_native_predictions_equal_those_of_copies_for_trees_of_one_feature(estimator_class):
    X, y = zoo(40)
    estimator = KNeighborsClassifier(3)
    native = estimator_class(estimator, hierarchy=DAG, multi_label=True).fit(X, y)
    copies = estimator_class(lambda _: OneVsRestOrOne(estimator), hierarchy=DAG, multi_label=True)
    np.testing.assert_allclose(
        native.predict_node_proba(X), copies.fit(X, y).predict_node_proba(X), atol=1e-12
    )


class OneVsRestOrOne:
    """Hides from a local classifier that it would take several labels."""

    def __init__(self, estimator):
        self.estimator = clone(estimator)

    def fit(self, X, y):
        assert y.ndim == 1
        self.estimator.fit(X, y)
        return self

    def predict_proba(self, X):
        return self.estimator.predict_proba(X)


class Vandal(Shares):
    """Writes into its rows, and returns nothing from fit."""

    def fit(self, X, y):
        assert X.max() > 0
        X[:] = 0
        super().fit(X, y)


def test_copies_for_single_classes_do_not_disturb_each_other(estimator_class):
    X, y = zoo(20)
    before = X.copy()
    estimator_class(Vandal(), hierarchy=DAG, multi_label=True).fit(X, y)
    np.testing.assert_array_equal(X, before)


def test_a_callable_is_given_the_label_of_a_class_with_several_paths():
    queried = []

    def make(key):
        queried.append(key)
        return PRIOR

    X, y = zoo(20)
    LocalClassifierPerParentNode(make, hierarchy=DAG, multi_label=True).fit(X, y)
    assert set(queried) == {(), "pet", "feline", "canine", "dog"}


def test_random_state_seeds_classes_by_name(estimator_class):
    X, y = zoo(40)
    estimator = ExtraTreesClassifier(3)
    make = lambda: estimator_class(estimator, hierarchy=DAG, multi_label=True, random_state=3)  # noqa: E731
    first, second = (make().fit(X, y).predict_node_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


class Odd:
    """Predicts what it is given."""

    def __init__(self, prediction):
        self.prediction = prediction

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return self.prediction(len(X))


class OddSets(Odd, ClassifierMixin, BaseEstimator):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        (lambda n: np.zeros((n, 3)), r"OddSets.predict_proba returned an array of shape \(8, 3\)"),
        (lambda n: [np.zeros((n, 2))], "a list of 1"),
        (lambda n: [np.zeros((n, 3))] * 2, "for output 0"),
        (lambda n: np.full((n, 2), np.nan), "a probability of NaN"),
    ],
)
def test_predictions_that_make_no_sense_are_refused(prediction, message):
    y = [["a"], ["b"]] * 4
    model = LocalClassifierPerLevel(OddSets(prediction), multi_label=True).fit(X8, y)
    with pytest.raises(ValueError, match=message):
        model.predict(X8)
    one = LocalClassifierPerNode(Odd(lambda n: np.zeros((n, 1))), multi_label=True).fit(X8, y)
    with pytest.raises(ValueError, match=r"Odd.predict_proba returned .* \(8, 1\)"):
        one.predict(X8)


def test_outputs_of_one_class_and_stacked_outputs_are_understood():
    y = [["a"], ["b"]] * 4
    estimator = OddSets(lambda n: [np.ones((n, 1)), np.tile([0.75, 0.25], (n, 1))])
    estimator.classes_ = [np.array([1]), np.array([0, 1])]
    model = LocalClassifierPerLevel(estimator, multi_label=True).fit(X8, y)
    model.local_classifiers_[1].classes_ = estimator.classes_
    assert model.predict_node_proba(X8[:1]).tolist() == [[1, 1, 0.25]]
    stacked = OddSets(lambda n: np.tile([0.75, 0.25], (2, n, 1)))
    model = LocalClassifierPerLevel(stacked, multi_label=True).fit(X8, y)
    assert model.predict_node_proba(X8[:1]).tolist() == [[1, 0.25, 0.25]]


# -- the engine --------------------------------------------------------------------------------


def test_jobs_do_not_change_the_predictions(estimator_class):
    X, y = zoo(1100)
    model = estimator_class(GaussianNB(), hierarchy=DAG, multi_label=True)
    one = clone(model).fit(X, y)
    with joblib.parallel_config("threading", n_jobs=2):
        two = clone(model).fit(X, y)
        np.testing.assert_array_equal(one.predict_node_proba(X), two.predict_node_proba(X))
        assert one.predict(X).tolist() == two.predict(X).tolist()


def test_sets_travel_to_other_processes():
    X, y = zoo(1100)
    model = LocalClassifierPerParentNode(GaussianNB(), hierarchy=DAG, multi_label=True)
    one, two = (clone(model).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_node_proba(X), two.predict_node_proba(X))


def test_sample_weights_count_rows(estimator_class):
    weight = np.arange(1.0, 9.0)
    twice = [i for i in range(8) for _ in range(int(weight[i]))]
    model = estimator_class(Shares(), hierarchy=DAG, multi_label=True)
    weighted = clone(model).fit(X8, Y, sample_weight=weight).predict_node_proba(X8[:1])
    repeated = model.fit(X8[twice], [Y[i] for i in twice]).predict_node_proba(X8[:1])
    np.testing.assert_allclose(weighted, repeated)
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\.fit does not take it"):
        model.set_params(local_classifier=KNeighborsClassifier()).fit(X8, Y, sample_weight=weight)


def test_checkpoints_are_reused_and_only_what_changed_is_fitted(tmp_path):
    X, y = zoo(60)
    model = LocalClassifierPerParentNode(
        GaussianNB(), hierarchy=DAG, multi_label=True, checkpoint_dir=tmp_path
    )
    first = model.fit(X, y).predict_node_proba(X)
    files = set(tmp_path.iterdir())
    assert len(files) == len(model.local_classifiers_)
    np.testing.assert_array_equal(model.fit(X, y).predict_node_proba(X), first)
    assert set(tmp_path.iterdir()) == files
    row = y.index(["pug"])
    model.fit(X, [*y[:row], ["dog"], *y[row + 1 :]])  # only the question below dog changes
    assert len(set(tmp_path.iterdir()) - files) == 1


def test_sparse_rows_pass_through(estimator_class):
    X, y = zoo(40)
    model = estimator_class(LogisticRegression(), hierarchy=DAG, multi_label=True)
    dense = model.fit(X, y).predict_node_proba(X)
    thin = model.fit(sp.csr_array(X), y).predict_node_proba(sp.csr_array(X))
    np.testing.assert_allclose(dense, thin, atol=1e-4)


# -- forms of labels, scores -------------------------------------------------------------------


def test_predictions_have_the_form_of_y_and_are_the_same_sets(estimator_class):
    X, y = zoo(60)
    estimator = ExtraTreesClassifier(10, random_state=0)
    make = lambda: estimator_class(estimator, hierarchy=DAG, multi_label=True)  # noqa: E731
    closed = DAG.indicator(y)
    frame = pandas.DataFrame(closed.toarray()[:, 1:], columns=DAG.labels[1:].tolist())
    lists = make().fit(X, y)
    for form, kind in ((closed, sp.csr_array), (closed.toarray(), np.ndarray)):
        model = make().fit(X, form)
        found = model.predict(X)
        assert isinstance(found, kind)
        assert found.dtype == bool
        assert (DAG.indicator(found) != DAG.indicator(lists.predict(X))).nnz == 0
        assert model.score(X, form) == lists.score(X, y) == 1.0
    model = make().fit(X, frame)
    assert model.predict(X).columns.tolist() == frame.columns.tolist()
    assert model.score(X, frame) == 1.0


def test_paths_with_homonyms_need_no_hierarchy_and_new_ones_may_be_scored(estimator_class):
    y = [[("Loans", "Other")], [("Cards", "Other"), ("Loans", "Car")], [("Cards",)]] * 5
    X = np.tile(np.eye(3), (5, 1))
    model = estimator_class(KNeighborsClassifier(1), multi_label=True).fit(X, y)
    assert model.predict(np.eye(3)).tolist() == [sorted(row) for row in y[:3]]
    assert model.classes_.tolist() == [
        ("Cards",), ("Cards", "Other"), ("Loans",), ("Loans", "Car"), ("Loans", "Other")
    ]  # fmt: skip
    new = [[("Loans", "Boat")], *y[1:3]]
    assert model.score(np.eye(3), new) == pytest.approx(2 * 6 / (7 + 7))


def test_labels_side_by_side_need_no_hierarchy(estimator_class):
    X, y = zoo(30)
    model = estimator_class(KNeighborsClassifier(1), multi_label=True).fit(X, y)
    assert model.predict(X).tolist() == y
    assert model.score(X[:1], [["new"]]) == 0


def test_scorers_and_searches_compare_sets(estimator_class):
    X, y = zoo(60)
    model = estimator_class(KNeighborsClassifier(1), hierarchy=DAG, multi_label=True).fit(X, y)
    assert metrics.f1_scorer(model, X, y) == model.score(X, y) == 1.0
    assert metrics.exact_match_scorer(model, X, y) == 1.0
    search = GridSearchCV(
        model, {"threshold": [0.3, 0.6]}, cv=KFold(2), scoring=metrics.recall_scorer
    )
    labels = np.empty(len(y), dtype=object)
    labels[:] = y
    search.fit(X, labels)
    assert metrics.recall_scorer(search, X, labels) == 1.0


# -- thresholds --------------------------------------------------------------------------------


def test_threshold_is_read_when_predicting(estimator_class):
    model = estimator_class(Shares(), hierarchy=DAG, multi_label=True).fit(X8, Y)
    none = model.set_params(threshold=1.0).predict(X8[:1])
    everything = model.set_params(threshold=0.01).predict(X8[:1])
    assert none.tolist() == [[]]
    assert set(everything[0]) == {"cat", "lion", "wolf", "pug"}
    with pytest.raises(ValueError, match=r"Fit the model again"):
        model.set_params(threshold="tuned").predict(X8)


def test_tuned_thresholds_give_closed_sets_with_a_better_f1(estimator_class):
    rng = np.random.default_rng(1)
    X, y = zoo(300)
    X = X + rng.normal(scale=0.8, size=X.shape)
    train, test = slice(0, 200), slice(200, None)
    model = estimator_class(
        LogisticRegression(), hierarchy=DAG, multi_label=True, threshold="tuned"
    ).fit(X[train], y[train])
    assert model.thresholds_.shape == (DAG.n_nodes,)
    found = model.predict(X[test])
    closed = DAG.indicator(found).toarray()
    passed = model.predict_node_proba(X[test]) >= model.thresholds_
    assert (closed[:, 1:] <= passed[:, 1:]).all()
    for node in range(1, DAG.n_nodes):
        if node != DAG.find("dingo"):
            above = closed[:, DAG.parents(node)].all(axis=1)
            np.testing.assert_array_equal(closed[:, node], passed[:, node] & above)
    tuned = model.score(X[test], y[test])
    usual = model.set_params(threshold=0.5).score(X[test], y[test])
    assert tuned > usual


def test_tuning_follows_weights_and_seeds(estimator_class):
    X, y = zoo(60)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=60)
    fits = [
        estimator_class(GaussianNB(), hierarchy=DAG, multi_label=True, threshold="tuned")
        .fit(X, y, sample_weight=weight)
        .thresholds_
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*fits)


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decoding": "expected_f1"}, "decoding='expected_f1' is for one path per row.*threshold"),
        ({"min_confidence": 0.5}, "min_confidence=0.5 is for one path per row.*use threshold"),
        ({"leaf_only": True}, "leaf_only=True is for one path per row"),
        ({"calibration": "temperature"}, "calibration='temperature' .*use one of 'sigmoid', 'isot"),
        ({"local_classifier": LinearSVC()}, "LinearSVC has no predict_proba.*CalibratedClassif"),
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": "best"}, "threshold"),
        ({"multi_label": 2}, "multi_label"),
    ],
)
def test_parameters_for_single_paths_are_refused(estimator_class, options, message):
    X, y = zoo(10)
    given = {"hierarchy": DAG, "multi_label": True, **options}
    with pytest.raises(ValueError, match=message):
        estimator_class(**given).fit(X, y)
    if "multi_label" not in options and "threshold" not in options:
        given = {"hierarchy": EDGES, **options}
        with pytest.raises(ValueError, match=message):
            estimator_class(**given).fit(X, [row[0] for row in y])


def test_a_threshold_is_refused_where_predictions_are_paths(estimator_class):
    X, y = zoo(10)
    y = [row[0] for row in y]
    with pytest.raises(ValueError, match=r"threshold=0.3 .* one path per row. Use min_confidence"):
        estimator_class(threshold=0.3).fit(X, y)
    model = estimator_class().fit(X, y).set_params(threshold=0.3)
    with pytest.raises(ValueError, match="Use min_confidence"):
        model.predict(X)


def test_methods_for_single_paths_are_not_offered(estimator_class):
    model = estimator_class(multi_label=True)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError) as caught:
            getattr(model, name)
        assert "Use predict_node_proba" in str(caught.value)
    assert hasattr(model, "predict_node_proba")
    assert not hasattr(estimator_class(hierarchy=DAG), "predict_proba")
    assert hasattr(estimator_class(), "predict_proba")
    assert model.__sklearn_tags__().classifier_tags.multi_label
    assert not estimator_class().__sklearn_tags__().classifier_tags.multi_label


def test_rows_of_x_and_y_must_agree(estimator_class):
    with pytest.raises(ValueError, match="X has 3 rows but y has 2"):
        estimator_class(multi_label=True).fit(np.zeros((3, 1)), [["a"], ["b"]])


def test_a_failing_fit_leaves_nothing_behind(estimator_class):
    X, y = zoo(10)
    model = estimator_class(hierarchy=DAG, multi_label=True).fit(X, y)
    with pytest.raises(ValueError, match="no class 'cow'"):
        model.fit(X, [["cow"]] * 10)
    assert not hasattr(model, "hierarchy_")


# -- ensembles ---------------------------------------------------------------------------------


def members(**options):
    return [
        ("flat", FlatClassifier(GaussianNB(), hierarchy=DAG, multi_label=True, **options)),
        ("level", LocalClassifierPerLevel(PRIOR, hierarchy=DAG, multi_label=True, **options)),
    ]


@pytest.mark.parametrize("voting", ["mean", "product"])
def test_ensembles_average_the_probabilities_of_nodes(voting):
    X, y = zoo(60)
    model = EnsembleClassifier(members(), voting=voting, weights=[3, 1]).fit(X, y)
    flat, level = (m.predict_node_proba(X) for m in model.models_)
    mean = 0.75 * flat + 0.25 * level if voting == "mean" else flat**0.75 * level**0.25
    found = model.predict_node_proba(X)
    np.testing.assert_allclose(found, mean, atol=1e-12)
    closed = DAG.indicator(model.set_params(threshold=0.4).predict(X)).toarray()
    np.testing.assert_array_equal(closed, (found >= 0.4))
    assert 0.3 < model.score(X, y) <= 1
    assert not hasattr(model, "predict_proba")


def test_ensembles_refuse_members_that_do_not_fit_together():
    X, y = zoo(60)
    mixed = [members()[0], ("tree", FlatClassifier(GaussianNB()))]
    with pytest.raises(ValueError, match=r"'flat' and 'tree' .* multi_label"):
        EnsembleClassifier(mixed).fit(X, y)
    with pytest.raises(ValueError, match="decoding='expected_f1' is for one path per row"):
        EnsembleClassifier(members(), decoding="expected_f1").fit(X, y)
    other = FlatClassifier(GaussianNB(), multi_label=True)
    with pytest.raises(ValueError, match="different hierarchies"):
        EnsembleClassifier([members()[0], ("other", other)]).fit(X, y)


def test_local_classes_of_sets_name_a_node_per_column():
    model = LocalClassifierPerParentNode(
        GaussianNB(), hierarchy={"A": ["a", "b"], "C": ["b"]}, multi_label=True
    ).fit(COUNTS[:4], [["a"], ["b"], ["a", "b"], ["C"]])
    names = {key: model.hierarchy_.labels[v].tolist() for key, v in model.local_classes_.items()}
    assert sorted(names["A"]) == ["a", "b"]


@pytest.mark.parametrize("policy", ["exclusive", "less_exclusive"])
def test_sets_below_an_inner_class_with_rows_of_its_own_are_found(policy):
    X = 5 * np.eye(6)[np.arange(60) % 6]
    y = [[label] for label in ["A", "a", "b", "B", "x", "z"]] * 10
    model = LocalClassifierPerNode(
        LogisticRegression(C=100),
        hierarchy={"A": ["a", "b"], "B": ["x", "z"]},
        multi_label=True,
        binary_policy=policy,
    ).fit(X, y)
    assert model.score(X, y) == 1
    proba, tree = model.predict_node_proba(X), model.hierarchy_
    assert (proba[:, 1:] <= proba[:, tree.parent[1:]]).all()


def test_a_local_classifier_for_several_labels_only_is_told_where_one_question_is():
    y = [["A"], ["B"], ["A", "B"], ["B"]] * 10
    estimator = ClassifierChain(LogisticRegression())
    with pytest.raises(ValueError, match="ClassifierChain supports only several labels per row"):
        LocalClassifierPerNode(estimator, multi_label=True).fit(COUNTS, y)


def test_pruning_goes_by_the_least_threshold_of_a_class():
    queries = []
    X = 5 * np.eye(4)[np.arange(40) % 4]
    y = [[label] for label in "abxz"] * 10
    model = LocalClassifierPerNode(
        recording(LogisticRegression, queries, C=100),
        hierarchy={"A": ["a", "b"], "B": ["x", "z"]},
        multi_label=True,
    ).fit(X, y)
    model.set_params(threshold=0.5).predict(X)
    pruned = sum(map(len, queries))
    model.set_params(threshold="tuned").fit(X, y)
    queries.clear()
    model.predict(X)
    assert sum(map(len, queries)) == pruned < 40 * 6
