"""Scorers in cross_validate and GridSearchCV, with every form of labels."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from hiclass import Hierarchy, LocalClassifierPerParentNode, metrics

SCORERS = {
    "f1": (metrics.f1_scorer, metrics.f1),
    "precision": (metrics.precision_scorer, metrics.precision),
    "recall": (metrics.recall_scorer, metrics.recall),
    "exact_match": (metrics.exact_match_scorer, metrics.exact_match),
}
SET_SCORERS = [
    (metrics.jaccard_scorer, metrics.jaccard, False, 1),
    (metrics.average_precision_scorer, metrics.average_precision, True, 1),
    (metrics.f_max_scorer, metrics.f_max, True, 1),
    (metrics.coverage_error_scorer, metrics.coverage_error, True, -1),
    (metrics.ranking_loss_scorer, metrics.ranking_loss, True, -1),
]
PATHS = [["A", "x"], ["A", "y"], ["B", "x"], ["C", ""]]
TREE = {"A": ["x", "y"], "B": ["z"]}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(4), 15)
    X = rng.normal(scale=1.2, size=(60, 3)) + np.eye(4, 3)[kind] * 3
    order = rng.permutation(60)
    return X[order], kind[order]


@pytest.mark.parametrize(
    "spell",
    [
        lambda y: y,
        lambda y: [[label or None for label in path] for path in y],
        lambda y: pd.DataFrame(y).replace("", np.nan),
        lambda y: [[label for label in path if label] for path in y],
    ],
    ids=["empty", "None", "NaN", "ragged"],
)
def test_cross_validate_with_paths(data, spell):
    X, kind = data
    y = spell([PATHS[k] for k in kind])
    cv = KFold(3)
    result = cross_validate(
        LocalClassifierPerParentNode(),
        X,
        y,
        cv=cv,
        scoring={name: scorer for name, (scorer, _) in SCORERS.items()},
        return_estimator=True,
        error_score="raise",
    )
    rows = y.to_numpy() if hasattr(y, "to_numpy") else y
    for i, (_, test) in enumerate(cv.split(X)):
        y_pred = result["estimator"][i].predict(X[test])
        for name, (_, metric) in SCORERS.items():
            expected = metric([list(rows[j]) for j in test], y_pred)
            assert result[f"test_{name}"][i] == expected


def test_grid_search_maximises(data):
    X, kind = data
    y = np.array(PATHS, dtype=object)[kind]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LocalClassifierPerParentNode(LogisticRegression())),
        {"localclassifierperparentnode__local_classifier__C": [1e-6, 1.0]},
        scoring=metrics.f1_scorer,
        cv=KFold(3),
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_ == {"localclassifierperparentnode__local_classifier__C": 1.0}
    assert search.score(X, y) == metrics.f1(y, search.predict(X))


@pytest.mark.parametrize(
    "hierarchy", [TREE, Hierarchy.from_paths([["A", "x"], ["A", "y"], ["B", "z"]])]
)
def test_a_given_hierarchy_is_used(data, hierarchy):
    X, kind = data
    y = np.array(["x", "z", "z", "y"], dtype=object)[kind]
    model = LocalClassifierPerParentNode(hierarchy=hierarchy).fit(X, y)
    expected = metrics.f1(y, model.predict(X), hierarchy=hierarchy)
    assert expected > metrics.f1(y, model.predict(X))
    assert metrics.f1_scorer(model, X, y) == model.score(X, y) == expected
    piped = make_pipeline(StandardScaler(), LocalClassifierPerParentNode(hierarchy=hierarchy))
    search = GridSearchCV(piped, {}, scoring=metrics.f1_scorer, cv=KFold(3)).fit(X, y)
    assert metrics.f1_scorer(search, X, y) == metrics.f1(y, search.predict(X), hierarchy=hierarchy)


def test_labels_that_were_not_seen_in_training_are_scored(data):
    X, kind = data
    y = np.array(PATHS, dtype=object)[kind]
    model = LocalClassifierPerParentNode().fit(X[kind != 2], y[kind != 2])
    assert 0 < metrics.f1_scorer(model, X, y) < 1


def test_weights(data):
    X, kind = data
    y = np.array(PATHS, dtype=object)[kind]
    weight = np.random.default_rng(0).random(len(y))
    model = LocalClassifierPerParentNode().fit(X, y)
    expected = metrics.f1(y, model.predict(X), sample_weight=weight)
    assert metrics.f1_scorer(model, X, y, sample_weight=weight) == expected


def test_weights_are_routed_on_request(data):
    X, y = data
    weight = np.random.default_rng(0).random(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        tree = DecisionTreeClassifier(max_depth=2).set_fit_request(sample_weight=False)
        scorer = metrics.exact_match_scorer.set_score_request(sample_weight=True)
        kwargs = {"cv": KFold(3), "return_estimator": True, "error_score": "raise"}
        result = cross_validate(
            tree, X, y, scoring=scorer, params={"sample_weight": weight}, **kwargs
        )
        for i, (_, test) in enumerate(KFold(3).split(X)):
            y_pred = result["estimator"][i].predict(X[test])
            expected = metrics.exact_match(y[test], y_pred, sample_weight=weight[test])
            assert result["test_score"][i] == expected
        # The scorer that everyone imports has not changed, and does not guess.
        with pytest.raises(ValueError, match="sample_weight"):
            cross_validate(
                tree,
                X,
                y,
                scoring=metrics.exact_match_scorer,
                params={"sample_weight": weight},
                **kwargs,
            )


def test_scorers_have_names_and_can_be_sent_to_workers():
    assert repr(metrics.f1_scorer) == "f1_scorer"
    assert pickle.loads(pickle.dumps(metrics.recall_scorer)).metric is metrics.recall


def name_of(value):
    return getattr(value, "__name__", str(value))  # addresses differ by worker


@pytest.mark.parametrize(("scorer", "metric", "of_proba", "sign"), SET_SCORERS, ids=name_of)
def test_scorers_of_sets(data, scorer, metric, of_proba, sign):
    X, kind = data
    y = np.empty(len(kind), dtype=object)
    y[:] = [[["x"], ["x", "z"], ["z"], ["y"]][k] for k in kind]
    weight = np.random.default_rng(0).random(len(y))
    model = make_pipeline(
        StandardScaler(), LocalClassifierPerParentNode(hierarchy=TREE, multi_label=True)
    ).fit(X, y)
    scaled = model[0].transform(X)
    found = model[-1].predict_node_proba(scaled) if of_proba else model.predict(X)
    options = {"hierarchy": TREE, "multi_label": True, "sample_weight": weight}
    assert scorer(model, X, y, sample_weight=weight) == sign * metric(y, found, **options)
    assert repr(scorer) == f"{metric.__name__}_scorer"
    scores = cross_validate(
        model, X, y, scoring=scorer, cv=KFold(3), error_score="raise", return_estimator=True
    )
    _, test = next(iter(KFold(3).split(X)))
    assert scores["test_score"][0] == scorer(scores["estimator"][0], X[test], y[test])


def test_scorers_of_probabilities_take_paths_too(data):
    X, kind = data
    y = [PATHS[k] for k in kind]
    model = LocalClassifierPerParentNode().fit(X, y)
    expected = metrics.average_precision(y, model.predict_node_proba(X), hierarchy=model.hierarchy_)
    assert metrics.average_precision_scorer(model, X, y) == expected
