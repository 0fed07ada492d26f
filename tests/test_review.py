"""Cases that once went wrong between two modules, each with the rule that it broke."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalKFold,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    metrics,
)


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
