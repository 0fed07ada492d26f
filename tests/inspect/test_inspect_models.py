"""Taking models and local classifiers out of what they are wrapped into."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FastLinearSVC,
    FlatClassifier,
    HierarchicalKFold,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._inspect.models import local_models, open_estimator, open_model, strongest

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [4.0, 0.0], [5.0, 2.0]])
Y = [["A", "x"], ["A", "y"], ["A", "y"], ["B", "z"], ["B", "z"], ["C"]]


# -- what the classes of local classifiers stand for -------------------------------------------


@pytest.mark.parametrize("name", ["LocalClassifierPerParentNode", "LocalClassifierPerLevel"])
def test_local_classes_of_multi_class_strategies_name_a_node_per_class(name, animals):
    X, y = animals
    model = {
        "LocalClassifierPerParentNode": LocalClassifierPerParentNode,
        "LocalClassifierPerLevel": LocalClassifierPerLevel,
    }[name]().fit(X, y)
    tree = model.hierarchy_
    names = {k: [tree.path(v) for v in c.tolist()] for k, c in model.local_classes_.items()}
    bird, mammal = ("Animal", "Bird"), ("Animal", "Mammal")
    fern, plant = ("Plant", "Fern"), ("Plant",)
    cat, dog = (*mammal, "Cat"), (*mammal, "Dog")
    if name == "LocalClassifierPerLevel":
        assert names == {
            1: [("Animal",), plant, ("Rock",)],
            2: [bird, mammal, fern, plant],  # Plant itself: stop there
            3: [cat, dog],
        }
    else:
        assert names == {
            (): [("Animal",), plant, ("Rock",)],
            ("Animal",): [bird, mammal],
            mammal: [cat, dog],
            plant: [fern, plant],
        }


def test_local_classes_per_node_and_flat(animals):
    X, y = animals
    per_node = LocalClassifierPerNode().fit(X, y)
    assert all(
        classes.tolist() == [-1, per_node.hierarchy_.find(path)]
        for path, classes in per_node.local_classes_.items()
    )
    assert list(per_node.local_classes_) == list(per_node.local_classifiers_)
    flat = FlatClassifier().fit(X, y)
    (classes,) = flat.local_classes_.values()
    paths = [flat.hierarchy_.path(v) for v in classes.tolist()]
    assert ("Plant",) in paths
    assert ("Animal",) not in paths


def test_local_classes_predict_what_the_model_predicts(animals, local_class):
    """The meaning is right: the classifier at the top decides as the model."""
    X, y = animals
    model = local_class().fit(X, y)
    if local_class is LocalClassifierPerNode:
        tops = [("Animal",), ("Plant",), ("Rock",)]
        proba = np.column_stack(
            [model.local_classifiers_[path].predict_proba(X)[:, 1] for path in tops]
        )
        assert [tops[j][0] for j in proba.argmax(axis=1)] == model.predict(X)[:, 0].tolist()
        return
    key = 1 if local_class is LocalClassifierPerLevel else ()
    nodes = model.local_classes_[key][model.local_classifiers_[key].predict(X)]
    assert model.hierarchy_.labels[nodes].tolist() == model.predict(X)[:, 0].tolist()


def test_local_classes_leave_out_classes_without_rows_and_what_a_restriction_never_asks():
    hierarchy = {"top": ["A", "B", "empty"], "A": ["x", "y"], "B": ["u", "v"]}
    y = ["x", "y", "u", "v"]
    X = np.eye(4)
    model = LocalClassifierPerParentNode(hierarchy=hierarchy).fit(X, y)
    tree = model.hierarchy_
    assert [tree.labels[v] for v in model.local_classes_["top"]] == ["A", "B"]
    restricted = model.restricted_to(["A"])
    assert list(restricted.local_classes_) == ["top", "A"]
    assert [tree.labels[v] for v in restricted.local_classes_["A"]] == ["x", "y"]
    twice = restricted.restricted_to(["A"])
    assert list(twice.local_classes_) == ["top", "A"]


def test_from_paths_returns_the_node_of_every_row():
    from hiclass import Hierarchy

    y = [["all", "B", "z"], ["all", "A"], ["all", "B", "z"], ["all", "B"]]
    tree, nodes = Hierarchy.from_paths(y, return_nodes=True)
    assert [tree.path(v) for v in nodes.tolist()] == [tuple(path) for path in y]
    tree, nodes = Hierarchy.from_paths(y, root="all", return_nodes=True)
    assert [tree.path(v) for v in nodes.tolist()] == [tuple(path[1:]) for path in y]


# -- models ------------------------------------------------------------------------------------


def test_a_pipeline_gives_transformers_and_names():
    docs = ["red cat", "red dog", "blue dog", "blue fish", "green fish", "grey stone"]
    pipeline = make_pipeline(TfidfVectorizer(), LocalClassifierPerParentNode()).fit(docs, Y)
    opened = open_model(pipeline)
    assert isinstance(opened.model, LocalClassifierPerParentNode)
    assert opened.names == ["blue", "cat", "dog", "fish", "green", "grey", "red", "stone"]
    assert (opened.transform(docs) != pipeline[:-1].transform(docs)).nnz == 0


def test_a_pipeline_of_one_step_and_pipelines_in_pipelines():
    inner = make_pipeline(StandardScaler(), LocalClassifierPerParentNode())
    outer = make_pipeline(StandardScaler(), inner).fit(X, Y)
    assert open_model(outer).names == ["x0", "x1"]
    np.testing.assert_allclose(open_model(outer).transform(X).mean(axis=0), 0, atol=1e-12)
    alone = make_pipeline(LocalClassifierPerParentNode()).fit(X, Y)
    assert open_model(alone).transform(X) is X
    assert open_model(alone).names is None


def test_names_are_none_where_a_transformer_does_not_say():
    model = make_pipeline(FunctionTransformer(np.log1p), LocalClassifierPerParentNode()).fit(X, Y)
    assert open_model(model).names is None


def test_names_of_frames_are_those_of_the_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["legs", "wings"])
    model = LocalClassifierPerParentNode().fit(frame, Y)
    assert open_model(model).names == ["legs", "wings"]
    assert open_model(model, ["a", "b"]).names == ["a", "b"]


def test_a_search_gives_its_best_model():
    search = GridSearchCV(
        LocalClassifierPerParentNode(),
        {"local_classifier": [LogisticRegression(), LogisticRegression(C=2.0)]},
        cv=HierarchicalKFold(n_splits=2),
    ).fit(np.vstack([X, X]), Y + Y)
    assert open_model(search).model is search.best_estimator_


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["a"], ValueError, "feature_names has 1 names, but the classifier has 2 features"),
        ("ab", TypeError, "feature_names must be a list of names; got 'ab'"),
        (3, TypeError, "got 3"),
    ],
)
def test_bad_feature_names_are_refused(names, error, message):
    model = LocalClassifierPerParentNode().fit(X, Y)
    with pytest.raises(error, match=message):
        open_model(model, names)


def test_what_is_no_fitted_hierarchical_model_is_refused():
    with pytest.raises(TypeError, match="got a LogisticRegression"):
        open_model(LogisticRegression().fit(X, [0, 0, 0, 1, 1, 1]))
    with pytest.raises(TypeError, match=r"got a Pipeline, which ends in a LogisticRegression"):
        open_model(make_pipeline(StandardScaler(), LogisticRegression()))
    with pytest.raises(TypeError, match="got a str"):
        open_model("model")
    with pytest.raises(NotFittedError):
        open_model(LocalClassifierPerParentNode())


def test_a_model_of_a_dag_is_refused():
    edges = [("pet", "cat"), ("feline", "cat"), ("pet", "dog")]
    model = FlatClassifier(hierarchy=edges, multi_label=True)
    with pytest.raises(ValueError, match="fitted on a DAG"):
        open_model(model.fit([[0.0], [1.0]], [["cat"], ["dog"]]))


def test_members_of_ensembles_have_names():
    flat, local = FlatClassifier(), LocalClassifierPerParentNode()
    inner = EnsembleClassifier([("one", flat), ("two", local)])
    outer = EnsembleClassifier([("in", inner), ("level", LocalClassifierPerLevel())]).fit(X, Y)
    assert [member.name for member in local_models(outer)] == ["in / one", "in / two", "level"]
    safe = ConformalClassifier(local, alpha=0.5, random_state=0).fit(
        np.vstack([X, X, X]), Y + Y + Y
    )
    assert [(m.name, type(m.model)) for m in local_models(safe)] == [
        ("", LocalClassifierPerParentNode)
    ]


# -- local classifiers ------------------------------------------------------------------------


THREE = np.array([0, 1, 2, 0, 1, 2])
TWO = np.array([0, 0, 1, 0, 1, 1])


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        LinearSVC(),
        FastLinearSVC(),
        SGDClassifier(random_state=0),
        MultinomialNB(),
    ],
    ids=lambda c: type(c).__name__,
)
@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
def test_linear_scores_are_those_of_the_classifier(estimator, target):
    n = len(np.unique(target))
    opened = open_estimator(estimator.fit(X, target), n)
    assert opened.kind == "linear"
    scores = X @ opened.weights.T + opened.intercepts
    if isinstance(estimator, MultinomialNB):
        np.testing.assert_allclose(scores, estimator.predict_joint_log_proba(X))
    elif n == 2:
        np.testing.assert_allclose(scores[:, 1] - scores[:, 0], estimator.decision_function(X))
    else:
        np.testing.assert_allclose(scores, estimator.decision_function(X))


def test_complement_naive_bayes_and_sparse_weights_are_linear():
    estimator = ComplementNB().fit(X, THREE)
    opened = open_estimator(estimator, 3)
    np.testing.assert_allclose(X @ opened.weights.T, estimator.predict_joint_log_proba(X))
    estimator = SGDClassifier(penalty="l1", random_state=0).fit(X, THREE).sparsify()
    assert sp.issparse(estimator.coef_)
    assert open_estimator(estimator, 3).weights.shape == (3, 2)


def test_wrapped_local_classifiers_are_unwrapped():
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, TWO)
    opened = open_estimator(scaled, 2)
    x = opened.transform(X)
    np.testing.assert_allclose(
        x @ (opened.weights[1] - opened.weights[0]) + scaled[-1].intercept_,
        scaled.decision_function(X),
    )
    assert opened.names(["a", "b"]) == ["a", "b"]
    assert opened.names(None) == ["x0", "x1"]
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2).fit(X, TWO)
    assert open_estimator(search, 2).model is search.best_estimator_
    assert open_estimator(make_pipeline(LogisticRegression()).fit(X, TWO), 2).before == []


def test_names_that_do_not_fit_are_replaced_by_numbers():
    opened = open_estimator(LogisticRegression().fit(X, TWO), 2)
    assert opened.names(["only one"]) == ["x0", "x1"]


def test_forests_have_importances_and_others_nothing():
    forest = RandomForestClassifier(5, random_state=0).fit(X, TWO)
    opened = open_estimator(forest, 2)
    assert opened.kind == "forest"
    np.testing.assert_array_equal(opened.importances, forest.feature_importances_)
    other = open_estimator(CalibratedClassifierCV(cv=2).fit(X, TWO), 2)
    assert other.kind == "other"
    assert other.names(["a", "b"]) == []


def test_weights_that_are_not_per_class_are_not_shown():
    pairs = SVC(kernel="linear").fit(X, THREE)
    assert pairs.coef_.shape == (3, 2)  # three pairs, not three classes
    assert open_estimator(pairs, 3).kind == "other"
    assert open_estimator(LinearRegression().fit(X, THREE), 3).kind == "other"


def test_strongest_orders_by_size_and_leaves_out_what_is_next_to_nothing():
    values = np.array([0.5, -3.0, 0.0, 1.0, 0.001])
    assert strongest(values, 10).tolist() == [1, 3, 0]
    assert strongest(values, 2).tolist() == [1, 3]
    assert strongest(values, 0).tolist() == []
    assert strongest(np.zeros(3), 2).tolist() == []


def test_weights_are_read_in_the_order_of_the_classes():
    X, y = [[0.0], [1.0], [2.0], [0.1], [1.1], [2.1]], [0, 1, 2, 0, 1, 2]
    usual, reverse = LogisticRegression().fit(X, y), LogisticRegression().fit(X, y)
    reverse.coef_, reverse.intercept_ = usual.coef_[::-1], usual.intercept_[::-1]
    reverse.classes_ = usual.classes_[::-1]
    found, expected = open_estimator(reverse, 3), open_estimator(usual, 3)
    np.testing.assert_array_equal(found.weights, expected.weights)
    np.testing.assert_array_equal(found.intercepts, expected.intercepts)
    assert expected.weights is usual.coef_
