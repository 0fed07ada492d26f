"""Fitted models go through skops and come back, with the types that are announced."""

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from hiclass import (
    TRUSTED_TYPES,
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)


def there_and_back(thing):
    content = skops.io.dumps(thing)
    assert set(skops.io.get_untrusted_types(data=content)) <= set(TRUSTED_TYPES)
    return skops.io.loads(content, trusted=list(TRUSTED_TYPES))


def assert_same_answers(model, X):
    back = there_and_back(model)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    for a, b in zip(back.predict_proba(X), model.predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)
    return back


def test_every_estimator_comes_back(estimator_class, animals):
    X, y = animals
    model = estimator_class().fit(X, y)
    back = assert_same_answers(model, X)
    assert back.hierarchy_ == model.hierarchy_
    assert back.missing_label_ == model.missing_label_
    assert list(back.local_classifiers_) == list(model.local_classifiers_)
    assert back.get_params()["min_confidence"] == 0


def test_an_ensemble_in_a_pipeline_comes_back(animals):
    X, y = animals
    parts = [
        ("flat", FlatClassifier(LinearSVC(), calibration="temperature")),
        ("local", LocalClassifierPerParentNode(LinearSVC(), calibration="temperature")),
    ]
    model = make_pipeline(StandardScaler(), EnsembleClassifier(parts, decoding="expected_f1"))
    back = assert_same_answers(model.fit(X, y), X)
    assert back[-1].expected_f1_ == model[-1].expected_f1_
    assert back[-1].named_models_.flat.temperature_ == model[-1].models_[0].temperature_


def test_a_conformal_model_comes_back(animals):
    X, y = animals
    model = ConformalClassifier(LocalClassifierPerParentNode()).fit(X, y)
    back = there_and_back(model)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "y",
    [
        np.array([[1, 10], [1, 11], [2, 20]] * 5),
        np.array(["a", "b", "c"] * 5),
        [["a", "x"], ["a"], ["b", "y"]] * 5,
        pd.DataFrame({"one": ["a", "a", "b"] * 5, "two": ["x", None, "y"] * 5}),
        np.array([[1.0, 10.0], [1.0, np.nan], [2.0, 20.0]] * 5),
    ],
    ids=["integers", "one level", "ragged", "frame", "floats"],
)
def test_labels_of_every_type_come_back(y):
    X = np.tile(np.eye(3), (5, 1))
    model = LocalClassifierPerNode(GaussianNB()).fit(X, y)
    back = there_and_back(model)
    assert repr(back.predict(X).tolist()) == repr(model.predict(X).tolist())
    assert back.predict(X).dtype == model.predict(X).dtype


def test_a_given_hierarchy_comes_back(animals):
    X, y = animals
    hierarchy = Hierarchy.from_paths(y)
    back = there_and_back(LocalClassifierPerParentNode(hierarchy=hierarchy).fit(X, y))
    assert back.hierarchy == hierarchy
    assert hash(back.hierarchy) == hash(hierarchy)
    with pytest.raises(AttributeError, match="never changes"):
        back.hierarchy.labels = []
    with pytest.raises(ValueError, match="read-only"):
        back.hierarchy.levels[0] = 1


def test_models_of_sets_of_classes_come_back(estimator_class):
    X = np.tile(np.eye(3), (4, 1))
    y = [["cat"], ["cat", "owl"], ["owl"]] * 4
    hierarchy = {"animal": ["cat", "owl"], "pet": ["cat"]}
    model = estimator_class(GaussianNB(), hierarchy=hierarchy, multi_label=True, threshold="tuned")
    back = there_and_back(model.fit(X, y))
    assert [list(row) for row in back.predict(X)] == [list(row) for row in model.predict(X)]
    np.testing.assert_array_equal(back.predict_node_proba(X), model.predict_node_proba(X))


def test_a_model_that_learns_from_batches_comes_back_and_goes_on(estimator_class, animals):
    X, y = np.abs(animals[0]), animals[1]
    model = estimator_class(MultinomialNB()).partial_fit(X, y)
    back = there_and_back(model)
    for one in (model, back):
        one.partial_fit(X, y)
    np.testing.assert_array_equal(back.predict_node_proba(X), model.predict_node_proba(X))
