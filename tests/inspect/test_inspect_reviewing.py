"""choose_for_review: the order by hand, turns of classes, and a law for every order."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import LocalClassifierPerParentNode, choose_for_review
from hiclass._inspect.reviewing import _taking_turns
from hiclass.datasets import make_hierarchical_classification


@pytest.fixture(scope="module")
def fitted():
    X, y = make_hierarchical_classification(
        300, 5, branching=[2, 3], depth=2, random_state=0, return_X_y=True
    )
    return LocalClassifierPerParentNode().fit(X[:150], y[:150]), X[150:], y[:150], X[:150]


def test_the_orders_by_their_definition(fitted):
    model, X, _, _ = fitted
    _, proba = model.predict_paths(X, k=2)
    order = choose_for_review(model, X, by="uncertainty")
    assert (np.diff(proba[order, 0]) >= 0).all()
    order = choose_for_review(model, X, by="margin")
    margin = (proba[:, 0] - proba[:, 1])[order]
    assert (np.diff(margin) >= -1e-3).all()
    assert sorted(order.tolist()) == list(range(len(X)))


def test_classes_take_turns(fitted):
    model, X, _, _ = fitted
    order = choose_for_review(model, X)
    predicted = ["/".join(path) for path in model.predict_paths(X, k=1)[0][:, 0]]
    n_classes = len(set(predicted))
    assert len({predicted[i] for i in order[:n_classes]}) == n_classes
    assert choose_for_review(model, X, 3).tolist() == order[:3].tolist()


def test_turns_by_hand():
    order, classes = np.array([4, 0, 1, 2, 3]), np.array([7, 7, 8, 8, 7])
    # In order the classes are 7 7 7 8 8.
    assert _taking_turns(order, classes).tolist() == [4, 2, 0, 3, 1]


def test_pipelines_and_single_labels(fitted):
    _, X, y, X_train = fitted
    pipeline = make_pipeline(StandardScaler(), LocalClassifierPerParentNode())
    labels = y[:, 0]
    assert len(choose_for_review(pipeline.fit(X_train, labels), X, 5)) == 5


def test_an_unknown_order_is_refused(fitted):
    with pytest.raises(ValueError, match="by='random' is unknown"):
        choose_for_review(fitted[0], fitted[1], by="random")


@pytest.mark.parametrize("n_rows", [-1, 0, 2.5, True, "3", float("nan")])
def test_a_number_that_is_no_number_of_rows_is_refused(fitted, n_rows):
    with pytest.raises(ValueError, match="n_rows must be an integer of at least 1, or None; got"):
        choose_for_review(fitted[0], fitted[1], n_rows)


def test_more_than_all_rows_are_all_rows(fitted):
    model, X, _, _ = fitted
    assert len(choose_for_review(model, X, np.int64(1000))) == len(X)
