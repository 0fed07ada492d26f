"""What models of sets say beside ``predict``: confidences, ranked labels, restrictions."""

import pickle

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from strategies import SETTINGS, hierarchies_with_sets
from zoo import DAG, EDGES, zoo

import hiclass
from hiclass import (
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)

KINDS = [
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    LocalClassifierPerLevel,
    FlatClassifier,
]


def fitted(y, hierarchy, kind=FlatClassifier, **options):
    X = np.random.default_rng(len(y)).normal(size=(len(y), 2))
    estimator = DecisionTreeClassifier(max_depth=2, min_samples_leaf=2, random_state=0)
    model = kind(estimator, hierarchy=hierarchy, **options)
    return model.fit(X, y), X


# -- confidences -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_confidences_stand_beside_the_predicted_labels(kind):
    X, y = zoo(40)
    model = kind(hierarchy=DAG, multi_label=True).fit(X, y)
    labels, found = model.predict(X), model.predict_confidence(X)
    proba = model.predict_node_proba(X)
    for row, (names, values) in enumerate(zip(labels, found, strict=True)):
        assert values == [proba[row, DAG.find(name)] for name in names]


@pytest.mark.parametrize("form", ["dense", "sparse", "pandas", "polars"])
def test_confidences_have_the_form_of_the_prediction(form):
    X, y = zoo(40)
    names = [DAG.labels[v] for v in range(1, DAG.n_nodes)]
    closed = DAG.indicator(y)
    values = closed.toarray()[:, 1:]
    forms = {
        "dense": closed.toarray(),
        "sparse": closed,
        "pandas": pandas.DataFrame(values, columns=names),
        "polars": polars.DataFrame(dict(zip(names, values.T, strict=True))),
    }
    model = FlatClassifier(hierarchy=DAG, multi_label=True).fit(X, forms[form])
    predicted, found = model.predict(X), model.predict_confidence(X)
    assert type(found) is type(predicted)
    if form in ("pandas", "polars"):
        assert list(found.columns) == list(predicted.columns)
    dense = [np.asarray(a.toarray() if sp.issparse(a) else a) for a in (predicted, found)]
    proba = model.predict_node_proba(X)[:, -dense[0].shape[1] :]
    np.testing.assert_array_equal(dense[1], np.where(dense[0], proba, 0))


@pytest.mark.parametrize("form", ["lists", "sparse", "pandas", "polars"])
def test_confidences_do_not_depend_on_the_rows_beside(form, monkeypatch):
    X, y = zoo(40)
    closed = DAG.indicator(y)
    names = DAG.labels[1:].tolist()
    values = dict(zip(names, closed.toarray()[:, 1:].T, strict=True))
    forms = {"lists": y, "sparse": closed, "pandas": pandas.DataFrame(values)}
    forms["polars"] = polars.DataFrame(values)
    # Trees have no sums, whose last bit depends on how rows are split.
    estimator = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = FlatClassifier(estimator, hierarchy=DAG, multi_label=True).fit(X, forms[form])

    def plain(found):
        return found.toarray() if sp.issparse(found) else np.asarray(found)

    whole = plain(model.predict_confidence(X))
    monkeypatch.setattr("hiclass._rows._CHUNK_BYTES", 1)
    monkeypatch.setattr("hiclass._rows._FEWEST_ROWS", 7)
    again = plain(model.predict_confidence(X))
    assert again.tolist() == whole.tolist()
    assert plain(model.predict_confidence(X[::-1])).tolist() == whole[::-1].tolist()


def test_one_label_in_a_dag_has_one_confidence():
    X, y = zoo(40)
    model = FlatClassifier(hierarchy=EDGES).fit(X, [row[0] for row in y])
    proba, labels = model.predict_node_proba(X), model.predict(X)
    expected = [proba[i, model.hierarchy_.find(label)] for i, label in enumerate(labels)]
    assert model.predict_confidence(X).tolist() == expected


# -- ranked labels -----------------------------------------------------------------------------


@SETTINGS
@given(hierarchies_with_sets(), st.sampled_from(KINDS), st.integers(1, 6))
def test_ranked_labels_are_the_most_probable_final_classes(drawn, kind, k):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    assume(any(y))
    model, X = fitted(y, hierarchy, kind, multi_label=True)
    labels, proba = model.predict_paths(X, k)
    nodes = model.predict_node_proba(X)
    own = hierarchy.indicator(y).toarray()
    final = [
        v
        for v in range(1, hierarchy.n_nodes)
        if any(row[v] and not row[hierarchy.children(v)].any() for row in own)
    ]
    for i in range(len(y)):
        best = sorted(final, key=lambda v: (-nodes[i, v], v))[:k]
        missing = [None] * (k - len(best))
        assert labels[i].tolist() == [hierarchy.labels[v] for v in best] + missing
        assert proba[i].tolist() == [nodes[i, v] for v in best] + [0.0] * len(missing)


def test_ranked_labels_are_paths_where_rows_are():
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = [[("a", "x"), ("b", "x")], [("b", "x")]] * 10
    labels, proba = LocalClassifierPerLevel(multi_label=True).fit(X, y).predict_paths(X, 2)
    assert labels.shape == proba.shape == (20, 2)
    assert {tuple(sorted(row)) for row in labels} == {(("a", "x"), ("b", "x"))}
    assert (np.diff(proba) <= 0).all()


def test_ranked_labels_of_a_dag_with_one_label_have_the_type_of_y():
    X, y = zoo(40)
    codes = {name: number for number, name in enumerate(DAG.labels[1:])}
    edges = [(codes[a], codes[b]) for a, b in EDGES]
    model = FlatClassifier(hierarchy=edges).fit(X, [codes[row[0]] for row in y])
    labels, _ = model.predict_paths(X, 2)
    assert labels.dtype == model.predict(X).dtype == np.dtype(int)
    padded, proba = model.predict_paths(X, 50)
    assert padded[0, -1] is None
    assert proba[0, -1] == 0


@pytest.mark.parametrize("k", [0, -1, 1.5, "2"])
def test_a_wrong_number_of_labels_is_refused(k):
    X, y = zoo(20)
    model = FlatClassifier(hierarchy=DAG, multi_label=True).fit(X, y)
    with pytest.raises(ValueError, match="k must be an integer of at least 1"):
        model.predict_paths(X, k)


def test_pipelines_and_ensembles_rank_labels_too():
    X, y = zoo(40)
    model = FlatClassifier(hierarchy=DAG, multi_label=True)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    labels, proba = hiclass.predict_paths(pipeline, X, 2)
    inner = pipeline[-1].predict_paths(pipeline[0].transform(X), 2)
    assert labels.tolist() == inner[0].tolist()
    assert proba.tolist() == inner[1].tolist()
    assert hiclass.predict_confidence(pipeline, X).shape == (40,)
    ensemble = EnsembleClassifier([("a", model), ("b", model)]).fit(X, y)
    assert ensemble.predict_paths(X, 3)[0].shape == (40, 3)
    assert ensemble.restricted_to(["pet"]).predict_node_proba(X)[:, DAG.find("lion")].max() == 0


# -- restrictions ------------------------------------------------------------------------------


@SETTINGS
@given(hierarchies_with_sets(), st.data(), st.sampled_from(KINDS))
def test_restricted_sets_stay_inside_and_are_coherent(drawn, data, kind):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    assume(any(y))
    model, X = fitted(y, hierarchy, kind, multi_label=True)
    populated = np.flatnonzero(hierarchy.indicator(y).toarray().any(axis=0))[1:]
    given_nodes = data.draw(st.lists(st.sampled_from(populated.tolist()), min_size=1, max_size=3))
    names = [hierarchy.labels[v] for v in given_nodes]
    inside = {v for u in given_nodes for v in (u, *hierarchy.descendants(u).tolist())}
    before = model.predict_node_proba(X)
    restricted = model.restricted_to(names)
    proba = restricted.predict_node_proba(X)
    for v in range(1, hierarchy.n_nodes):
        below = {v, *hierarchy.descendants(v).tolist()} & inside
        if v in inside:
            expected = before[:, v]
        else:
            expected = before[:, sorted(below)].max(axis=1) if below else np.zeros(len(y))
        np.testing.assert_array_equal(proba[:, v], expected)
        for parent in hierarchy.parents(v):
            assert (proba[:, v] <= proba[:, parent]).all()
    for row in restricted.predict(X):
        assert {hierarchy.find(label) for label in row} <= inside
    # A class above the given ones comes with them, whatever its own threshold is.
    rng = np.random.default_rng(0)
    thresholds = rng.uniform(0.1, 0.9, hierarchy.n_nodes)
    restricted.thresholds_ = thresholds
    restricted.set_params(threshold="tuned")
    for row, labels in enumerate(restricted.predict(X)):
        chosen = set()
        for v in sorted(inside):
            parents = set(hierarchy.parents(v).tolist()) & inside
            if proba[row, v] >= thresholds[v] and populated_in(v, populated) and parents <= chosen:
                chosen.add(v)
        closed = {u for v in chosen for u in (v, *hierarchy.ancestors(v).tolist())}
        specific = [
            hierarchy.labels[v]
            for v in sorted(closed - {0})
            if not closed & set(hierarchy.children(v).tolist())
        ]
        assert labels == specific


def populated_in(node, populated):
    return node in populated.tolist()


def test_restrictions_can_be_restricted_and_travel():
    X, y = zoo(40)
    model = LocalClassifierPerParentNode(hierarchy=DAG, multi_label=True).fit(X, y)
    twice = model.restricted_to(["pet"]).restricted_to(["canine"])
    once = model.restricted_to(["dog"])
    expected = once.predict_node_proba(X)
    np.testing.assert_array_equal(twice.predict_node_proba(X), expected)
    again = pickle.loads(pickle.dumps(twice))
    np.testing.assert_array_equal(again.predict_node_proba(X), expected)
    assert set(twice.predict_paths(X, 2)[0].ravel()) == {"dog", "pug"}
    assert model.predict_node_proba(X)[:, DAG.find("lion")].max() > 0
    assert list(twice.local_classifiers_) == list(model.local_classifiers_)


def test_restrictions_to_nothing_are_refused():
    X, y = zoo(40)
    model = LocalClassifierPerParentNode(hierarchy=DAG, multi_label=True).fit(X, y)
    with pytest.raises(ValueError, match="None of the given classes can be predicted"):
        model.restricted_to(["dingo"])
    with pytest.raises(ValueError, match="None of the given classes can be predicted"):
        model.restricted_to(["lion"]).restricted_to(["pug"])
    with pytest.raises(ValueError, match="classes must be a list of labels"):
        model.restricted_to("pet")
    with pytest.raises(ValueError, match="cow"):
        model.restricted_to(["cow"])


def test_a_dag_with_one_label_per_row_is_restricted():
    X, y = zoo(60)
    model = LocalClassifierPerNode(LogisticRegression(C=100), hierarchy=DAG)
    model.fit(X, [row[0] for row in y])
    assert set(model.restricted_to(["pet"]).predict(X)) <= {"cat", "dog", "pug"}


def test_jobs_do_not_change_restricted_models():
    X, y = zoo(40)
    model = GlobalClassifier(hierarchy=DAG, multi_label=True, random_state=0).fit(X, y)
    one = model.restricted_to(["pet"]).predict_confidence(X).tolist()
    model.set_params(n_jobs=2)
    assert model.restricted_to(["pet"]).predict_confidence(X).tolist() == one
    per_node = LocalClassifierPerNode(GaussianNB(), hierarchy=DAG, multi_label=True).fit(X, y)
    one = per_node.restricted_to(["pet"]).predict(X).tolist()
    assert per_node.set_params(n_jobs=2).restricted_to(["pet"]).predict(X).tolist() == one
