"""Predictions that are made once are those of the model, and are learned from alike."""

import numpy as np
import pytest
from fakes import OnlyPredict
from sklearn.naive_bayes import GaussianNB

from hiclass import EnsembleClassifier, FlatClassifier, LocalClassifierPerParentNode
from hiclass._automatic import known
from hiclass._automatic.known import can_be_known, know, row_numbers
from hiclass._inference.decodings import best_path, expected_f1
from hiclass._inference.paths import final_proba
from hiclass._out_of_fold.temperatures import reached_f

MODELS = {
    "local": LocalClassifierPerParentNode(GaussianNB(), decoding="best_path"),
    "flat": FlatClassifier(GaussianNB()),
    "both": EnsembleClassifier(
        [("a", FlatClassifier(GaussianNB())), ("b", LocalClassifierPerParentNode(GaussianNB()))]
    ),
}


def fitted(name):
    """A model of a tree in which some rows end early, and its rows."""
    rng = np.random.default_rng(0)
    paths = [["a", "x"], ["a", "y"], ["b", "z"], ["b", "w"], ["a"], ["c"]]
    which = np.arange(120) % 6
    X = 2 * np.eye(6)[which] + rng.normal(size=(120, 6))
    y = [paths[k] for k in which]
    model = MODELS[name].fit(X, y)
    nodes = np.array([model.hierarchy_.find(tuple(path)) for path in y])
    return model._models, X, nodes


@pytest.mark.parametrize("name", MODELS)
def test_what_is_known_is_what_the_model_predicts(name):
    models, X, _ = fitted(name)
    rows = np.arange(3, 120, 2)
    found = know(models, X, rows)
    np.testing.assert_allclose(found.final, final_proba(models, X[rows]))
    # Any of the rows, in any order, by their numbers.
    some = np.array([[9], [3], [119]])
    np.testing.assert_allclose(final_proba(found, some), final_proba(models, X[some[:, 0]]))


@pytest.mark.parametrize("name", MODELS)
def test_decisions_and_the_f_score_are_the_same(name):
    models, X, nodes = fitted(name)
    rows = np.arange(0, 120, 3)
    found, numbers = know(models, X, rows), row_numbers(120)
    assert (
        best_path(found, numbers[rows]).nodes.tolist() == best_path(models, X[rows]).nodes.tolist()
    )
    a = expected_f1(found, numbers[rows], 0.7, False)
    b = expected_f1(models, X[rows], 0.7, False)
    assert a.nodes.tolist() == b.nodes.tolist()
    weights = np.ones(120)
    once = reached_f([(found, rows)], numbers, nodes, weights)[0]
    assert once == pytest.approx(reached_f([(models, rows)], X, nodes, weights)[0])


def test_only_probabilities_that_are_few_enough_are_kept(monkeypatch):
    models, _, _ = fitted("flat")
    monkeypatch.setattr(known, "_MOST_NUMBERS", 120)
    assert can_be_known(models, 20)  # of six final classes
    assert not can_be_known(models, 21)


def test_a_model_without_probabilities_cannot_be_known():
    model = LocalClassifierPerParentNode(OnlyPredict()).fit([[0.0], [1.0]], [["a"], ["b"]])
    assert not can_be_known(model._models, 1)
