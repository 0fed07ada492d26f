"""Cases that once went wrong between two modules, each with the rule that it broke."""

import ctypes
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from hiclass import (
    TRUSTED_TYPES,
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalKFold,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    explain,
    metrics,
    tune_confidence,
)
from hiclass._inference.search import width_of_search


class Thin(ClassifierMixin, BaseEstimator):
    """Nearly uniform probabilities with a clear, tiny, maximum at the class that x names."""

    def fit(self, X, y):
        """Remember the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Give the right class twice the probability of any other."""
        proba = np.ones((len(X), len(self.classes_)))
        proba[np.arange(len(X)), X[:, 0].astype(int)] = 2
        return proba / proba.sum(axis=1, keepdims=True)


def test_a_temperature_never_changes_which_of_many_thin_probabilities_is_largest():
    y = np.arange(2000)
    X = y[:, None].astype(float)
    model = FlatClassifier(Thin()).fit(X, y)
    assert model.score(X, y) == 1
    for temperature in (0.2, 1.0, 5.0):
        object.__setattr__(model._models, "temperature", temperature)
        assert model.score(X, y) == 1


@pytest.mark.parametrize(
    "child",
    [
        make_pipeline(SimpleImputer(), LogisticRegression()),
        GridSearchCV(
            HistGradientBoostingClassifier(max_iter=2), {"max_depth": [1]}, cv=2, scoring="accuracy"
        ),
    ],
    ids=["pipeline", "search"],
)
def test_nan_reaches_a_composite_child_that_can_deal_with_it(child):
    X = np.array([[0.0, np.nan], [1.0, 0.0], [np.nan, 1.0], [3.0, 1.0]] * 5)
    y = [["a", "x"], ["a", "z"], ["b", "y"], ["b", "y"]] * 5
    model = LocalClassifierPerParentNode(child).fit(X, y)
    assert model.predict(X).shape == (20, 2)


@pytest.mark.parametrize("wrapped", ["ensemble", "conformal"])
def test_score_of_a_wrapper_is_the_hierarchical_f_score_for_single_labels_too(wrapped):
    rng = np.random.default_rng(0)
    y = rng.choice(["x", "y", "z", "u"], size=200)
    X = np.array([[ord(label), rng.normal()] for label in y]) + rng.normal(size=(200, 2))
    hierarchy = {"a": ["x", "y"], "b": ["z", "u"]}
    base = FlatClassifier(GaussianNB(), hierarchy=hierarchy)
    model = (
        EnsembleClassifier([("only", base)])
        if wrapped == "ensemble"
        else ConformalClassifier(base, random_state=0)
    ).fit(X, y)
    expected = metrics.f1(y, model.predict(X), hierarchy=hierarchy)
    assert model.score(X, y) == expected
    if wrapped == "ensemble":
        assert expected == base.fit(X, y).score(X, y)


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
    with pytest.raises(ValueError, match=r"no use for \['sample_weight'\]"):
        ConformalClassifier(frozen).fit(X, y, sample_weight=np.ones(20))


def test_an_ensemble_refuses_a_member_whose_guarantee_it_would_lose():
    members = [("safe", ConformalClassifier(FlatClassifier()))]
    with pytest.raises(TypeError, match="Put the ensemble into the ConformalClassifier"):
        EnsembleClassifier(members).fit([[0.0], [1.0]], ["a", "b"])


def test_an_ensemble_of_leaf_only_models_ends_at_leaves():
    X = np.arange(12.0)[:, None]
    y = [["a", "x"], ["a", "z"], ["b", "y"], ["a"]] * 3
    members = [
        ("flat", FlatClassifier(GaussianNB(), leaf_only=True)),
        ("node", LocalClassifierPerNode(GaussianNB(), leaf_only=True)),
    ]
    model = EnsembleClassifier(members, decoding="expected_f1").fit(X, y)
    assert model.leaf_only
    assert "" not in model.predict(X)[:, 1]
    assert 0 < model.expected_f1_ <= 1
    with pytest.raises(ValueError, match="leaf_only=True wants every path to end at a leaf"):
        model.set_params(min_confidence=0.5).predict(X)


def test_a_number_of_numpy_is_a_fit_parameter_and_no_rows():
    class Noted(GaussianNB):
        def fit(self, X, y, factor=None):
            """Keep the factor."""
            self.factor_ = factor
            return super().fit(X, y)

    model = LocalClassifierPerParentNode(Noted()).fit(
        [[0.0], [1.0]], ["a", "b"], factor=np.int64(3)
    )
    assert model.local_classifiers_[()].factor_ == 3


def test_folds_refuse_a_random_state_that_would_do_nothing():
    with pytest.raises(ValueError, match="random_state=3 has no effect without shuffle=True"):
        next(HierarchicalKFold(2, random_state=3).split([[0], [1]], ["a", "b"]))


def test_classes_whose_joined_names_are_equal_get_different_seeds():
    seeds = {}

    class Seeded(GaussianNB):
        def __init__(self, random_state=None):
            super().__init__()
            self.random_state = random_state

    y = [["a > b", "x"], ["a > b", "y"], ["a", "b", "x"], ["a", "b", "y"]]
    model = LocalClassifierPerParentNode(Seeded(), random_state=0).fit(np.eye(4), y)
    seeds = [child.random_state for child in model.local_classifiers_.values()]
    assert len(set(seeds)) == len(seeds) == 3


def test_threads_that_predict_leave_the_warning_filters_alone():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    model = FlatClassifier(GaussianNB(), n_jobs=2).fit(X, y)
    before = list(warnings.filters)
    for _ in range(5):
        model.predict(X)
    assert list(warnings.filters) == before


def four_quarters(n, seed=0):
    """Points of the plane and the quarter that they lie in, as two levels."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, [["AB"[int(a > 0)], "pq"[int(b > 0)]] for a, b in X]


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_liblinear_gives_the_same_model_with_several_jobs():
    X = sp.csr_matrix(np.random.default_rng(0).normal(size=(1200, 20)))
    y = [[f"a{i % 5}", f"b{i // 5 % 6}"] for i in range(1200)]
    child = LinearSVC(dual=True, max_iter=5)
    one, two = (
        LocalClassifierPerParentNode(child, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2)
    )
    for key, fitted in one.local_classifiers_.items():
        np.testing.assert_allclose(two.local_classifiers_[key].coef_, fitted.coef_, atol=1e-9)


class Scaled(LogisticRegression):
    """Scores on another scale."""

    def decision_function(self, X):
        return 1e5 * super().decision_function(X)

    def predict_proba(self, X):
        raise AssertionError("the scores are what counts")


def test_a_temperature_undoes_any_scale_of_the_scores():
    X, y = four_quarters(200)
    y = [["AB"[int(a > 0)], path[1]] for a, path in zip(X[::-1, 0] + X[:, 0], y, strict=True)]
    usual = FlatClassifier(LogisticRegression(), calibration="temperature").fit(X, y)
    scaled = FlatClassifier(Scaled(), calibration="temperature").fit(X, y)
    assert scaled.temperature_ == pytest.approx(1e5 * usual.temperature_, rel=0.01)
    np.testing.assert_allclose(scaled.predict_node_proba(X), usual.predict_node_proba(X), atol=0.01)


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
    with pytest.raises(ValueError, match="leaf_only=True wants every path to end at a leaf"):
        tune_confidence(LocalClassifierPerParentNode(leaf_only=True).fit(X, y), X, y)
    assert not hasattr(ConformalClassifier(FlatClassifier(LinearSVC())), "predict_proba")


@pytest.mark.parametrize("policy", ["exclusive", "less_exclusive", "exclusive_siblings"])
def test_one_row_at_an_inner_class_is_enough_for_folds(policy):
    y = [["A", "x"]] * 6 + [["A", "z"]] * 6 + [["A"]] + [["B", "u"]] * 6 + [["B"]] * 4
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    model = LocalClassifierPerNode(binary_policy=policy, calibration="temperature").fit(X, y)
    assert model.temperature_ > 0
    assert 0 < model.expected_f1_ <= 1


def test_sparse_rows_whose_indices_are_not_sorted_can_be_predicted():
    X, y = four_quarters(40)
    turned = sp.csr_matrix(X)
    turned.indices = turned.indices.reshape(-1, 2)[:, ::-1].ravel().copy()
    turned.data = turned.data.reshape(-1, 2)[:, ::-1].ravel().copy()
    turned.has_sorted_indices = False
    before = turned.indices.copy()
    model = FlatClassifier(SVC()).fit(turned, y)
    np.testing.assert_array_equal(model.predict(turned), model.predict(sp.csr_matrix(X)))
    np.testing.assert_array_equal(turned.indices, before)


@pytest.mark.parametrize("decoding", ["best_path", "function", "leaves"])
def test_chunks_are_small_where_a_decoding_needs_many_numbers_per_row(monkeypatch, decoding):
    X, _ = four_quarters(640)
    y = [[f"a{i % 8}", f"b{i // 8 % 8}"] for i in range(640)]
    model = LocalClassifierPerParentNode(GaussianNB(), leaf_only=decoding == "leaves")
    model.set_params(decoding="expected_f1" if decoding == "leaves" else "top_down").fit(X, y)
    sizes = []

    def leaf(proba, hierarchy):
        return np.full(len(proba), hierarchy.n_nodes - 1)

    def spy(out, function, X, width, *, everywhere=False):
        sizes.append(width)
        for whole, part in zip(out, function(X), strict=True):
            whole[:] = part

    monkeypatch.setattr(model, "_fill", spy)
    if decoding != "leaves":
        model.set_params(decoding=leaf if decoding == "function" else decoding)
    model.predict(X)
    n_nodes, depth = model.hierarchy_.n_nodes, model.hierarchy_.depth
    searched = width_of_search(model._models, 1) + depth
    assert searched < n_nodes / 2
    assert sizes == [searched if decoding == "best_path" else n_nodes]


class Pointer(GaussianNB):
    """Something that pickle refuses with a ValueError."""

    def fit(self, X, y):
        self.pointer_ = ctypes.pointer(ctypes.c_int(1))
        return super().fit(X, y)


def test_whatever_pickle_raises_a_checkpoint_is_no_reason_to_fail(tmp_path):
    X, y = four_quarters(40)
    with pytest.warns(UserWarning, match="Pointer cannot be pickled"):
        model = LocalClassifierPerParentNode(Pointer(), checkpoint_dir=tmp_path).fit(X, y)
    assert model.score(X, y) > 0.8
    assert list(tmp_path.iterdir()) == []


def test_ensembles_and_conformal_models_predict_with_the_jobs_of_their_models():
    flat = FlatClassifier(n_jobs=2)
    ensemble = EnsembleClassifier([("local", LocalClassifierPerParentNode()), ("flat", flat)])
    assert ensemble.n_jobs == 2
    assert ConformalClassifier(ensemble).n_jobs == 2
    assert ConformalClassifier(LocalClassifierPerParentNode()).n_jobs is None


class Lost(GaussianNB):
    """Scores that are no numbers."""

    def decision_function(self, X):
        return np.full(len(X), np.nan)


@pytest.mark.parametrize("kind", [LocalClassifierPerNode, LocalClassifierPerParentNode])
def test_scores_that_are_no_numbers_are_an_error(kind):
    X, y = four_quarters(40)
    with pytest.raises(ValueError, match="returned a score that is not a number"):
        kind(Lost(), calibration="temperature").fit(X, y)


class Known(GaussianNB):
    """Probabilities that are tiny for two classes of four, and still say which is likelier."""

    def predict_proba(self, X):
        return np.tile([0.9, 0.1 - 1e-6, 9e-7, 1e-7], (len(X), 1))[:, : len(self.classes_)]


def test_per_level_a_temperature_sees_siblings_by_themselves():
    y = [["A", "p"], ["A", "q"], ["B", "p"], ["B", "q"]] * 3
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = LocalClassifierPerLevel(Known(), calibration="temperature").fit(X, y)
    object.__setattr__(model._models, "temperature", 1.0)
    proba = model.predict_node_proba(X[:1])[0]
    b = model.hierarchy_.find(("B",))
    shares = proba[model.hierarchy_.children(b)] / proba[b]
    np.testing.assert_allclose(shares, [0.9, 0.1], atol=0.005)


class OddError(Exception):
    """Cannot be pickled, not even with the help of tblib, which Dask brings."""

    def __init__(self, a, b):
        super().__init__(f"{a} {b}")

    def __reduce__(self):
        raise TypeError("not this one")


class Failing(GaussianNB):
    """Always fails."""

    def fit(self, X, y):
        raise OddError(1, 2)


def test_an_error_that_cannot_be_sent_keeps_its_message_and_its_node():
    X, y = four_quarters(1200)
    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match="OddError: 1 2") as caught:
            LocalClassifierPerParentNode(Failing(), n_jobs=n_jobs).fit(X, y)
        assert any("while fitting the classifier of" in note for note in caught.value.__notes__)


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


COUNTS = np.random.default_rng(0).poisson(2, (40, 5)).astype(float)
PATHS = [["A", "a1"], ["A", "a2"], ["B", "b1"], ["B", "b2"]] * 10


def test_a_conformal_model_keeps_to_the_model_that_it_was_calibrated_for():
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(COUNTS, PATHS)
    safe = ConformalClassifier(FrozenEstimator(model), 0.5).fit(COUNTS, PATHS)
    before = safe.predict(COUNTS)
    model.partial_fit(COUNTS[:1], [["A", "a0"]])
    np.testing.assert_array_equal(safe.predict(COUNTS), before)


@pytest.mark.parametrize("kind", [LocalClassifierPerParentNode, LocalClassifierPerLevel])
def test_local_classes_of_a_stream_are_those_that_its_classifiers_know(kind):
    model = kind(MultinomialNB()).partial_fit(COUNTS, PATHS, classes=[*PATHS, ["A", "a0"]])
    for key, classes in model.local_classes_.items():
        assert len(classes) == len(model.local_classifiers_[key].classes_)
    found = explain(model, COUNTS[:1]).to_dict()
    assert "inf" not in repr(found)


def test_local_classes_of_sets_name_a_node_per_column():
    model = LocalClassifierPerParentNode(
        GaussianNB(), hierarchy={"A": ["a", "b"], "C": ["b"]}, multi_label=True
    ).fit(COUNTS[:4], [["a"], ["b"], ["a", "b"], ["C"]])
    names = {key: model.hierarchy_.labels[v].tolist() for key, v in model.local_classes_.items()}
    assert sorted(names["A"]) == ["a", "b"]


def test_a_stream_with_gates_goes_through_skops():
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(COUNTS, PATHS, classes=PATHS)
    model.partial_fit(COUNTS[:1], [["C", "c1"]])
    back = skops.io.loads(skops.io.dumps(model), trusted=list(TRUSTED_TYPES))
    np.testing.assert_array_equal(back.predict_node_proba(COUNTS), model.predict_node_proba(COUNTS))
    steps = explain(model, COUNTS[:1]).to_dict()
    assert "inf" not in repr(steps)


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


@pytest.mark.parametrize(
    "display", [metrics.HierarchyDisplay, metrics.ConfusionByLevelDisplay], ids=lambda d: d.__name__
)
def test_displays_refuse_models_of_sets(display):
    y = [["sport"], ["sport", "politics"], ["news"], ["politics", "sport"]] * 10
    model = LocalClassifierPerParentNode(multi_label=True, threshold=0.2).fit(COUNTS, y)
    with pytest.raises(ValueError, match="compares one path per row"):
        display.from_estimator(model, COUNTS, y)


def test_a_child_for_several_labels_only_is_told_where_one_question_is():
    y = [["A"], ["B"], ["A", "B"], ["B"]] * 10
    child = ClassifierChain(LogisticRegression())
    with pytest.raises(ValueError, match="ClassifierChain takes several labels per row only"):
        LocalClassifierPerNode(child, multi_label=True).fit(COUNTS, y)


def test_pruning_goes_by_the_least_threshold_of_a_class():
    asked = []

    class Asked(LogisticRegression):
        def predict_proba(self, X):
            asked.append(len(X))
            return super().predict_proba(X)

    X = 5 * np.eye(4)[np.arange(40) % 4]
    y = [[label] for label in "abxz"] * 10
    model = LocalClassifierPerNode(
        Asked(C=100), hierarchy={"A": ["a", "b"], "B": ["x", "z"]}, multi_label=True
    ).fit(X, y)
    model.set_params(threshold=0.5).predict(X)
    pruned = sum(asked)
    model.set_params(threshold="tuned").fit(X, y)
    asked.clear()
    model.predict(X)
    assert sum(asked) == pruned < 40 * 6


def test_rows_of_classes_that_no_model_has_seen_are_covered_too():
    X, y = four_quarters(200)
    model = LocalClassifierPerParentNode(GaussianNB()).fit(X, y)
    new = [["C", "r"] if i % 4 == 0 else path for i, path in enumerate(y)]
    safe = ConformalClassifier(FrozenEstimator(model), 0.1, kind="set").fit(X, new)
    assert safe.threshold_ == 1
    assert safe.predict_set(X[:2]) == [[], []]
    assert (safe.predict(X[:2]) == "").all()
