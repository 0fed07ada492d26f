"""Guarantees: what is promised, where it is set and stored, and what is refused."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import hiclass
from hiclass import (
    ConformalClassifier,
    FlatClassifier,
    Guarantee,
    HierarchicalClassifier,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    guarantee_cost,
    guarantee_error,
)
from hiclass._estimators.guarantees import guarantee_of
from hiclass._out_of_fold.selective import rows_needed, walk_errors
from hiclass.datasets import make_hierarchical_classification


@pytest.fixture(scope="module")
def data():
    X, y = make_hierarchical_classification(
        3000, branching=[3, 2], depth=2, noise=1.6, random_state=1, return_X_y=True
    )
    return (X[:800], y[:800]), (X[800:2200], y[800:2200]), (X[2200:], y[2200:])


@pytest.fixture(scope="module")
def fitted(data):
    return LocalClassifierPerParentNode(decoding="best_path").fit(*data[0])


@pytest.fixture
def model(fitted):
    return copy.copy(fitted)


def shares(y, predicted, level):
    """Which rows are answered at a level, and which share of these is wrong."""
    answered = predicted[:, level - 1] != ""
    wrong = (predicted[:, :level] != y[:, :level]).any(axis=1)
    return answered, wrong


def test_one_level_is_the_walk_over_its_confidences(model, data):
    X, y = data[1]
    confidence = model.predict_confidence(X)[:, 1]
    wrong = (model.predict(X) != y).any(axis=1)
    walk = walk_errors(confidence, wrong, 0.1, 0.05)
    found = guarantee_error(model, X, y, 0.1, levels=2)
    assert found.min_confidence == [0.0, walk.threshold]
    (promise,) = found.promises
    assert (promise.level, promise.branch, promise.limit) == (2, (), 0.1)
    assert (promise.n_answered, promise.loss) == (walk.n_answered, walk.total)
    assert promise.n_needed == 29
    assert promise.reached
    assert promise.share == walk.n_answered / len(y)
    assert promise.mean_loss == walk.total / walk.n_answered < 0.1


def test_predictions_are_answered_as_the_promise_says_and_keep_it_on_other_rows(model, data):
    found = guarantee_error(model, *data[1], 0.1)
    assert [p.level for p in found.promises] == [1, 2]
    found.apply(model)
    for promise in found.promises:
        X, y = data[1]
        answered, wrong = shares(y, model.predict(X), promise.level)
        assert answered.sum() == promise.n_answered
        assert wrong[answered].sum() == promise.loss
        X, y = data[2]
        answered, wrong = shares(y, model.predict(X), promise.level)
        assert answered.mean() == pytest.approx(promise.share, abs=0.05)
        assert wrong[answered].mean() <= 0.1


def test_all_levels_share_the_risk_and_deeper_ones_are_never_more_lax(model, data):
    X, y = data[1]
    both = guarantee_error(model, X, y, [0.01, 0.3], certainty=0.9)
    one = guarantee_error(model, X, y, 0.01, certainty=0.95, levels=1)
    assert both.min_confidence[0] == one.min_confidence[0]
    deeper = guarantee_error(model, X, y, 0.3, certainty=0.95, levels=[2]).min_confidence[1]
    assert deeper < both.min_confidence[0] == both.min_confidence[1]


def test_every_branch_with_rows_enough_has_its_own_promise(model, data):
    X, y = data[1]
    found = guarantee_error(model, X, y, 0.25, branch_level=1, levels=2)
    tree = model.hierarchy_
    branches = [tree.path(v) for v in tree.children(0)]
    assert [p.branch for p in found.promises] == [(), *branches]
    assert found.promises[0].n_rows == 0  # there are no other branches
    assert not found.promises[0].reached
    assert list(found.min_confidence) == [(), *branches]
    first = model.predict(X)[:, 0]
    found.apply(model)
    predicted = model.predict(X)
    for promise in found.promises[1:]:
        here = first == promise.branch[0]
        assert promise.n_rows == here.sum()
        answered, wrong = shares(y[here], predicted[here], 2)
        assert (answered.sum(), wrong[answered].sum()) == (promise.n_answered, promise.loss)
        assert promise.n_needed == rows_needed(0.25, 0.05 / 3)


def test_branches_with_few_rows_have_one_promise_together(model, data):
    X, y = data[1]
    first = model.predict(X)[:, 0]
    common = sorted(set(first))[0]
    keep = (first == common) | (np.cumsum(first != common) <= 30)
    found = guarantee_error(model, X[keep], y[keep], 0.3, branch_level=1)
    branches = {p.branch for p in found.promises if p.level == 2}
    assert branches == {(), (common,)}
    rest = next(p for p in found.promises if p.branch == () and p.level == 2)
    assert rest.n_rows == 30


def test_what_has_no_promise_is_not_answered_and_says_why(model, data):
    X, y = data[1]
    with pytest.warns(UserWarning, match=r"Level 2: .* wrong labels among the most confident 80 "):
        found = guarantee_error(model, X[:800], y[:800], [0.2, 1e-2], certainty=0.05, levels=[1, 2])
    assert found.min_confidence == [found.promises[0].threshold, math.inf]
    assert not found.promises[1].reached
    assert found.promises[1].share == found.promises[1].mean_loss == 0
    assert (found.apply(model).predict(X)[:, 1] == "").all()
    assert "Level 2:" in str(found)
    assert "does not hold if the data change" in str(found)


def test_a_level_below_one_without_a_promise_has_none(model, data):
    X, y = data[1]
    with pytest.raises(ValueError, match="Level 2: no promise is possible for a level above"):
        guarantee_error(model, X, y, [1e-3, 0.4])


def test_too_few_rows_are_refused_with_the_number_needed(model, data):
    X, y = data[1]
    with pytest.raises(ValueError, match=r"58 calibration rows are too few; at least 59 are"):
        guarantee_error(model, X[:58], y[:58], levels=1)
    with pytest.raises(ValueError, match=r"too few; at least"):
        guarantee_cost(model, X[:20], y[:20], 0.1, costs={}, levels=1)


def test_a_limit_out_of_reach_is_refused_with_what_was_found(model, data):
    X, y = data[1]
    with pytest.raises(
        ValueError, match=r"Level 2: \d+\.\d% wrong labels among the most confident"
    ):
        guarantee_error(model, X, y[::-1], 0.1, levels=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_error": 0}, "max_error must be above 0"),
        ({"max_error": 1.0}, "max_error must be above 0"),
        ({"max_error": [0.1]}, "has 1 numbers for 2 levels"),
        ({"certainty": 1}, "certainty must be above 0"),
        ({"levels": 3}, "Use numbers from 1 to 2"),
        ({"levels": [1, 1]}, "no level twice"),
        ({"levels": []}, "at least one level"),
        ({"levels": True}, "Use numbers from 1 to 2"),
        ({"branch_level": 2, "levels": 1}, "branch_level must be a level from 1 to 1"),
        ({"branch_level": "a"}, "branch_level must be a level from 1 to 2"),
    ],
)
def test_bad_parameters_are_refused(model, data, options, message):
    with pytest.raises(ValueError, match=message):
        guarantee_error(model, *data[1], **{"max_error": 0.1, **options})


def test_numbers_as_texts_are_refused(model, data):
    with pytest.raises(ValueError, match="max_error must be above 0 and below 1; got '5'"):
        guarantee_error(model, *data[1], "5")
    with pytest.raises(ValueError, match="max_error must be above 0 and below 1; got None"):
        guarantee_error(model, *data[1], None)
    with pytest.raises(
        TypeError, match="costs must be a mapping from classes to costs or a matrix"
    ):
        guarantee_cost(model, *data[1], 0.1, costs="x", levels=1)


def test_models_without_thresholds_are_refused(data):
    (X, y), rows = data[0], data[1]
    conformal = ConformalClassifier(LocalClassifierPerParentNode(), random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="must be a hierarchical classifier with min_confidence"):
        guarantee_error(conformal, *rows)
    with pytest.raises(ValueError, match="no probabilities"):
        guarantee_error(LocalClassifierPerNode(LinearSVC()).fit(X, y), *rows)
    with pytest.raises(ValueError, match="leaf_only=True requires"):
        guarantee_error(FlatClassifier(leaf_only=True).fit(X, y), *rows)


# -- costs -------------------------------------------------------------------------------------


def test_costs_per_class_and_as_a_matrix_that_say_the_same_agree(model, data):
    X, y = data[1]
    tree = model.hierarchy_
    nodes = tree.nodes_by_level[1]
    expensive = tree.path(nodes[0])
    by_class = guarantee_cost(model, X, y, 0.15, costs={expensive: 4.0}, levels=1)
    matrix = np.ones((len(nodes), len(nodes)))
    matrix[0] = 4.0
    np.fill_diagonal(matrix, 0)
    by_pair = guarantee_cost(model, X, y, 0.15, costs=matrix, levels=1)
    assert by_class == by_pair
    (promise,) = by_class.promises
    assert by_class.kind == "cost"
    answered, wrong = shares(y, by_class.apply(model).predict(X), 1)
    cost = np.where(y[:, 0] == expensive[0], 4.0, 1.0) * wrong
    assert promise.loss == pytest.approx(cost[answered].sum())
    assert promise.mean_loss == pytest.approx(cost[answered].mean())
    assert 0.05 < promise.mean_loss < 0.15
    assert "mean cost" in str(by_class)


def test_unknown_classes_cost_the_most(model, data):
    X, y = data[1]
    y = y.copy()
    y[:5] = ["new", "newer"]
    n = len(model.hierarchy_.nodes_by_level[1])
    for costs in ({tuple(y[9, :1]): 3.0}, 3.0 * (1 - np.eye(n))):
        found = guarantee_cost(model, X, y, 1.0, costs=costs, levels=1)
        predicted = found.apply(copy.copy(model)).predict(X)
        answered, _ = shares(y, predicted, 1)
        assert found.promises[0].loss >= 3 * answered[:5].sum()


@pytest.mark.parametrize(
    ("max_cost", "costs", "levels", "message"),
    [
        (0, {}, 1, "max_cost must be above 0 and below the highest cost, 1"),
        (1, {}, 1, "max_cost must be above 0 and below the highest cost, 1"),
        (0.1, np.ones((2, 2)), 1, r"the shape \(3, 3\), for the 3 classes of level 1"),
        (0.1, -np.ones((3, 3)), 1, "finite and not negative"),
        (0.1, np.full((3, 3), math.inf), 1, "finite and not negative"),
        (0.1, {"1": -3}, 1, "^costs has -3 for '1'. Use numbers of at least 0.$"),
        (0.1, {"1": [1, 2, 3]}, 1, "^costs has 3 numbers, but the hierarchy has 2 levels"),
        (0.1, np.ones((3, 3)), None, "for one level"),
        (0.1, {(): math.inf}, 1, "infinite cost"),
    ],
)
def test_bad_costs_are_refused(model, data, max_cost, costs, levels, message):
    with pytest.raises(ValueError, match=message):
        guarantee_cost(model, *data[1], max_cost, costs=costs, levels=levels)


# -- where it is kept --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def branched(fitted, data):
    return guarantee_error(fitted, *data[1], 0.25, branch_level=1, levels=2)


def test_it_can_be_written_as_json_and_read_again(branched):
    data = json.loads(json.dumps(branched.to_dict(), allow_nan=False))
    assert Guarantee.from_dict(data) == branched


@pytest.mark.parametrize("how", ["pickle", "skops"])
def test_model_files_keep_thresholds_and_guarantee(branched, model, data, how):
    model = branched.apply(model)
    if how == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        skops = pytest.importorskip("skops.io")
        again = skops.loads(skops.dumps(model), trusted=list(hiclass.TRUSTED_TYPES))
    assert again.min_confidence == branched.min_confidence
    assert guarantee_of(again) == branched
    X = data[2][0]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_guarantee_is_lost_with_the_model_or_the_thresholds_that_it_is_about(
    branched, model, data
):
    assert guarantee_of(model) is None
    branched.apply(model)
    assert guarantee_of(model) == branched == model.guarantee_
    assert guarantee_of(copy.copy(model).set_params(min_confidence=0.5)) is None
    assert guarantee_of(copy.copy(model).set_params(min_confidence=np.ones(2))) is None
    assert guarantee_of(copy.copy(model).set_params(decoding="top_down")) is None
    first = model.hierarchy_.path(1)
    assert guarantee_of(model.restricted_to([first])) is None
    assert guarantee_of(model.adapted_to(prior={first: 1.0})) is None
    assert guarantee_of(copy.copy(model).fit(*data[0])) is None


def test_a_guarantee_is_about_the_f_score_that_paths_were_chosen_by(fitted, data):
    model = copy.copy(fitted).set_params(decoding="expected_f1", expected_f1=0.8)
    found = guarantee_error(model, *data[1], 0.2)
    assert guarantee_of(found.apply(model)) == found
    assert guarantee_of(model.set_params(expected_f1=0.5)) is None
    assert guarantee_of(model.set_params(expected_f1=0.8)) == found


def test_it_reaches_the_classifier_inside_pipelines_and_searches(data):
    (X, y), rows, (X_new, _) = data
    pipeline = make_pipeline(StandardScaler(), LocalClassifierPerParentNode())
    search = GridSearchCV(
        pipeline, {"localclassifierperparentnode__local_classifier__C": [1.0]}, cv=2
    )
    search.set_params(
        estimator__localclassifierperparentnode__local_classifier=LogisticRegression()
    )
    for outer in (pipeline.fit(X, y), search.fit(X, y)):
        found = guarantee_error(outer, *rows, 0.1)
        assert found.apply(outer) is outer
        assert guarantee_of(outer) == found
        assert (outer.predict(X_new)[:, 1] == "").any()


def test_a_classifier_that_chooses_by_itself_takes_it(data):
    (X, y), rows, (X_new, _) = data
    model = HierarchicalClassifier(LogisticRegression(), effort="quick").fit(X, y)
    found = guarantee_error(model, *rows, 0.1)
    assert guarantee_of(found.apply(model)) == found
    predicted = model.predict(X_new)
    assert (predicted[:, 1] == "").any()
    np.testing.assert_array_equal(predicted, pickle.loads(pickle.dumps(model)).predict(X_new))


def test_a_batch_that_is_learned_ends_the_guarantee(data):
    (X, y), calibration, _ = data
    # The batch brings no class that is new, so that nothing but the local classifiers changes.
    model = LocalClassifierPerParentNode(GaussianNB()).partial_fit(X, y)
    guarantee_error(model, *calibration, 0.3, levels=1).apply(model)
    assert guarantee_of(model) is not None
    assert guarantee_of(model.partial_fit(X, y)) is None
