"""Sets of classes that are learned from batches."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from strategies import SETTINGS, hierarchies_with_sets
from zoo import DAG, EDGES, zoo

from hiclass import (
    FlatClassifier,
    GlobalClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._problems.policies import POLICIES

KINDS = [
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    LocalClassifierPerLevel,
    FlatClassifier,
]
VARIANTS = [(kind, {}) for kind in KINDS]
VARIANTS += [(LocalClassifierPerNode, {"binary_policy": policy}) for policy in POLICIES]


@SETTINGS
@given(
    hierarchies_with_sets(), st.sampled_from(VARIANTS), st.integers(1, 4), st.booleans(), st.data()
)
@pytest.mark.filterwarnings("ignore:No training row ends at an inner node")
@pytest.mark.filterwarnings("ignore:Rows end at inner nodes for the first time")
def test_batches_of_what_is_counted_are_learned_like_all_rows(drawn, variant, n, one_label, data):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    if one_label:
        assume(not hierarchy.is_tree)
        y = [row[0] for row in y if row]
    assume(any(y))
    # How a policy is read is decided by the first batch: it must have what all rows have.
    own = hierarchy.indicator([[row] for row in y] if one_label else y).toarray()
    early = [
        i
        for i, row in enumerate(own)
        if any(
            row[v] and not row[hierarchy.children(v)].any()
            for v in range(hierarchy.n_nodes)
            if not hierarchy.is_leaf[v]
        )
    ]
    order = data.draw(st.permutations(range(len(y))))
    order = sorted(order, key=lambda i: i not in early[:1])
    X = np.random.default_rng(len(y)).integers(0, 2, size=(len(y), 3))
    X, y = X[order], [y[i] for i in order]
    kind, options = variant
    options = {**options, "hierarchy": hierarchy, "multi_label": not one_label}
    try:
        whole = kind(BernoulliNB(), **options).fit(X, y)
    except ValueError as error:  # a policy may leave a class without positive rows
        assume("training rows under binary_policy" not in str(error))
        raise
    model = kind(BernoulliNB(), **options)
    for rows in np.array_split(np.arange(len(y)), n):
        if len(rows):
            model.partial_fit(X[rows], [y[i] for i in rows])
    expected = whole.predict_node_proba(X)
    np.testing.assert_allclose(model.predict_node_proba(X), expected, atol=1e-12)
    assert model.predict(X).tolist() == whole.predict(X).tolist()
    assert model.classes_.tolist() == whole.classes_.tolist()
    assert model.predict_paths(X, 2)[0].tolist() == whole.predict_paths(X, 2)[0].tolist()
    again = pickle.loads(pickle.dumps(model)).partial_fit(X, y)
    assert again.predict(X).shape == model.predict(X).shape


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_is_learned(kind):
    X, y = zoo(1200)
    model = kind(SGDClassifier(loss="log_loss", random_state=0), hierarchy=DAG, multi_label=True)
    for start in range(0, 1000, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    assert model.score(X[1000:], y[1000:]) > 0.95
    proba = model.predict_node_proba(X)
    assert (proba[:, DAG.find("dingo")] == 0).all()
    for v in range(1, DAG.n_nodes):
        assert all((proba[:, v] <= proba[:, u]).all() for u in DAG.parents(v))


@pytest.mark.parametrize("kind", KINDS)
def test_one_label_in_a_dag_is_learned_from_batches(kind):
    X, y = zoo(600)
    labels = [row[0] for row in y]
    model = kind(SGDClassifier(loss="log_loss", random_state=0), hierarchy=EDGES)
    for start in range(0, 600, 100):
        model.partial_fit(X[start : start + 100], labels[start : start + 100])
    assert model.predict(X).shape == (600,)
    assert model.score(X, labels) > 0.7


def test_sparse_rows_weights_and_indicators():
    X, y = zoo(60)
    X, closed = np.abs(X), DAG.indicator(y)
    weights = np.arange(60) % 3
    model = FlatClassifier(MultinomialNB(), hierarchy=DAG, multi_label=True)
    for rows in (slice(0, 30), slice(30, 60)):
        model.partial_fit(sp.csr_matrix(X)[rows], closed[rows], sample_weight=weights[rows])
    whole = FlatClassifier(MultinomialNB(), hierarchy=DAG, multi_label=True)
    whole.fit(X, closed, sample_weight=weights)
    np.testing.assert_allclose(
        model.predict_node_proba(sp.csr_matrix(X)), whole.predict_node_proba(X), atol=1e-12
    )
    assert sp.issparse(model.predict(sp.csr_matrix(X)))


def test_classes_are_announced_by_the_first_call():
    X = np.random.default_rng(0).integers(0, 2, size=(4, 3))
    classes = [("a", "x"), ("a", "y"), ("b",)]
    model = LocalClassifierPerParentNode(BernoulliNB(), multi_label=True)
    model.partial_fit(X[:2], [[("a", "x")], [("b",)]], classes=classes)
    assert model.hierarchy_.n_nodes == 5
    model.partial_fit(X[2:], [[("a", "y"), ("b",)], []], classes=classes)
    assert model.classes_.tolist() == [("a",), ("a", "x"), ("a", "y"), ("b",)]
    before = model.predict_node_proba(X)
    with pytest.raises(ValueError, match=r"Row 0 of y.*needs all classes in the first batch"):
        model.partial_fit(X[:1], [[("c",)]])
    np.testing.assert_array_equal(model.predict_node_proba(X), before)
    other = Hierarchy.from_dict({"q": ["r"]})
    with pytest.raises(ValueError, match="classes differs from the hierarchy"):
        model.partial_fit(X[:1], [[("b",)]], classes=other)
    same = LocalClassifierPerParentNode(BernoulliNB(), multi_label=True)
    same.partial_fit(X[:2], [[("a", "x")], [("b",)]], classes=model.hierarchy_)
    assert same.hierarchy_ == model.hierarchy_


def test_a_failed_batch_leaves_the_model_as_it_was():
    X, y = zoo(40)
    model = FlatClassifier(BernoulliNB(), hierarchy=DAG, multi_label=True)
    model.partial_fit(X[:20], y[:20])
    before = model.predict_node_proba(X)
    for bad in ((X[20:, :3], y[20:]), (X[20:], y[:3]), (X[20:], [["cow"]] * 20)):
        with pytest.raises(ValueError):  # noqa: PT011  (three kinds of errors)
            model.partial_fit(*bad)
        np.testing.assert_array_equal(model.predict_node_proba(X), before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibration": "sigmoid"}, "calibration='sigmoid' is supported by fit"),
        ({"min_coef": 0.1}, r"min_coef=0\.1 is supported by fit"),
        ({"checkpoint_dir": "somewhere"}, "checkpoint_dir='somewhere' is supported by fit"),
        ({"threshold": "tuned"}, "threshold='tuned' is learned out of fold.*tune_confidence"),
        ({"decoding": "best_path"}, "threshold selects"),
    ],
)
def test_what_batches_cannot_serve_is_refused(options, message):
    X, y = zoo(20)
    model = LocalClassifierPerNode(BernoulliNB(), hierarchy=DAG, multi_label=True, **options)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y)


def test_streams_of_sets_begin_with_the_first_batch_and_keep_their_policy():
    X, y = zoo(40)
    model = LocalClassifierPerNode(BernoulliNB(), hierarchy=DAG, multi_label=True).fit(X, y)
    with pytest.raises(ValueError, match=r"This model was fitted with fit.*Clone the model"):
        model.partial_fit(X, y)
    model = LocalClassifierPerNode(BernoulliNB(), hierarchy=DAG, multi_label=True)
    light = model.partial_fit(X, y).restricted_to(["pet"])
    with pytest.raises(ValueError, match="fitted with fit, or derived from another model"):
        light.partial_fit(X, y)
    with pytest.raises(ValueError, match="binary_policy must not change"):
        model.set_params(binary_policy="inclusive").partial_fit(X, y)
    with pytest.raises(AttributeError, match="LogisticRegression, has none"):
        FlatClassifier(LogisticRegression(), multi_label=True).partial_fit(X, y)
    assert not hasattr(GlobalClassifier(multi_label=True), "partial_fit")


def test_rows_that_end_early_too_late_are_warned_of():
    X = np.random.default_rng(0).integers(0, 2, size=(8, 3))
    leaves = [["cat"], ["lion"], ["wolf"], ["pug"]]
    model = LocalClassifierPerNode(
        BernoulliNB(), hierarchy=DAG, multi_label=True, binary_policy="exclusive"
    )
    with pytest.warns(UserWarning, match="No training row ends at an inner node"):
        model.partial_fit(X[:4], leaves)
    with pytest.warns(UserWarning, match="Rows end at inner nodes for the first time"):
        model.partial_fit(X[4:], [["pet"], *leaves[1:]])


def test_a_callable_makes_the_classifier_of_each_class():
    X, y = zoo(40)
    given = []

    def make(label):
        given.append(label)
        return BernoulliNB()

    model = LocalClassifierPerNode(make, hierarchy=DAG, multi_label=True).partial_fit(X, y)
    assert "pug" in given
    assert model.partial_fit(X, y).score(X, y) > 0
    bad = LocalClassifierPerNode(
        lambda label: LogisticRegression(), hierarchy=DAG, multi_label=True
    )
    with pytest.raises(ValueError, match="LogisticRegression, has none"):
        bad.partial_fit(X, y)
