"""Decision trees in model files: sound ones load without a word, no other is loaded."""

import json
import zipfile
from contextlib import suppress

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from hiclass import (
    FlatClassifier,
    GlobalClassifier,
    LocalClassifierPerParentNode,
    load,
    trusted_types,
)
from hiclass._cli._errors import CommandError
from hiclass._cli._models import load_model
from hiclass._compat import Tree
from hiclass._export.persistence import ModelFileError, read_model_file
from hiclass._export.trees import TREE, find_fault

X = np.random.default_rng(0).normal(size=(30, 3))
Y = [["a", "x"], ["a", "y"], ["b", "z"]] * 10
REMEDY = r"was not loaded: .*If you trust the source of the file, use trusted=\['sklearn"


def saved(model, folder):
    skops.io.dump(model, folder / "m.skops")
    return folder / "m.skops"


# -- sound trees -------------------------------------------------------------------------------

SOUND = {
    "tree": DecisionTreeClassifier(random_state=0),
    "best first": DecisionTreeClassifier(max_leaf_nodes=6, random_state=0),
    "one leaf": DecisionTreeClassifier(max_depth=1, min_samples_leaf=29, random_state=0),
    "extra tree": ExtraTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(3, random_state=0),
    "extra trees": ExtraTreesClassifier(3, random_state=0),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 3, random_state=0),
    "boosting": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3),
    "embedding": make_pipeline(RandomTreesEmbedding(3, random_state=0), DecisionTreeClassifier()),
}


@pytest.mark.parametrize("name", SOUND)
def test_models_with_trees_are_loaded_without_a_list_of_types(name, tmp_path):
    model = LocalClassifierPerParentNode(SOUND[name], random_state=0).fit(X, Y)
    back = load(saved(model, tmp_path))
    np.testing.assert_array_equal(back.predict_node_proba(X), model.predict_node_proba(X))


def test_so_is_the_forest_of_a_global_model(tmp_path):
    model = GlobalClassifier(random_state=0).fit(X, Y)
    back = load(saved(model, tmp_path))
    np.testing.assert_array_equal(back.predict_node_proba(X), model.predict_node_proba(X))


def test_a_tree_that_is_not_fitted_is_sound(tmp_path):
    assert find_fault([DecisionTreeClassifier(), RandomForestClassifier()]) is None
    model = LocalClassifierPerParentNode(DecisionTreeClassifier()).fit(X, Y)
    assert find_fault(model) is None


# -- wrong numbers -----------------------------------------------------------------------------


def changed_tree(tree, n_features=None, **state):
    """A copy of a tree with other numbers."""
    kind, (features, n_classes, n_outputs), now = tree.__reduce__()
    again = kind(features if n_features is None else n_features, n_classes, n_outputs)
    again.__setstate__({**now, **state})
    return again


def with_nodes(field, node, value):
    def change(tree):
        nodes = tree.__getstate__()["nodes"].copy()
        nodes[field][node] = value
        return changed_tree(tree, nodes=nodes)

    return change


def with_value(tree):
    values = tree.__getstate__()["values"].copy()
    values[0] = np.inf
    return changed_tree(tree, values=values)


WRONG = {
    "child too far": (with_nodes("left_child", 0, 10**9), "does not exist"),
    "child before all": (with_nodes("right_child", 0, -5), "comes before its parent"),
    "child is parent": (with_nodes("right_child", 0, 0), "comes before its parent"),
    "two parents": (with_nodes("right_child", 0, 1), "no parent, or several"),
    "one child": (with_nodes("right_child", -1, 3), "a node has one child"),
    "no right child": (with_nodes("right_child", 0, -1), "comes before its parent"),
    "feature too far": (with_nodes("feature", 0, 3), "a feature that does not exist"),
    "feature below 0": (with_nodes("feature", 0, -2), "a feature that does not exist"),
    "infinite": (with_value, "numbers that are not finite"),
    "deeper": (lambda tree: changed_tree(tree, max_depth=1), "deeper than it claims"),
    "other width": (lambda tree: changed_tree(tree, n_features=1000), "that it does not check"),
    "no nodes": (
        lambda tree: Tree(tree.n_features, tree.n_classes, tree.n_outputs),
        "has 0 nodes but claims 0",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_tree_with_wrong_numbers_is_refused(name, tmp_path):
    change, message = WRONG[name]
    model = FlatClassifier(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    classifier = model.local_classifiers_[()]
    assert classifier.tree_.max_depth > 2
    classifier.tree_ = change(classifier.tree_)
    path = saved(model, tmp_path)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert "an invalid decision tree" in str(caught.value)
    with pytest.raises(ModelFileError, match=REMEDY):
        read_model_file(path)
    with pytest.raises(CommandError, match=message):
        load_model(str(path))


def edit_schema(path, change):
    """Write a skops file anew with another description of every tree."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    schema = json.loads(parts["schema.json"])

    def visit(node):
        if isinstance(node, dict):
            if node.get("__loader__") == "TreeNode":
                change(node)
            for value in list(node.values()):
                visit(value)
        elif isinstance(node, list):
            for value in node:
                visit(value)

    visit(schema)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, json.dumps(schema) if name == "schema.json" else content)


def with_count(path, count):
    def change(node):
        node["content"]["content"]["node_count"] |= {"content": str(count), "__id__": 1}

    edit_schema(path, change)
    return path


@pytest.mark.parametrize("count", [0, 1, -1])
def test_another_number_of_nodes_than_there_are_is_refused(count, tmp_path):
    path = saved(FlatClassifier(DecisionTreeClassifier()).fit(X, Y), tmp_path)
    with pytest.raises(ModelFileError, match=rf"it has \d+ nodes but claims {count}"):
        load(with_count(path, count))


def test_more_nodes_than_there_are_are_not_read(tmp_path):
    """Whether scikit-learn sets the number right by itself depends on its version."""
    model = FlatClassifier(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    path = with_count(saved(model, tmp_path), 10**9)
    with suppress(ModelFileError):
        np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


@pytest.mark.parametrize(("place", "value"), [(2, 5), (2, -1), (0, "null")])
def test_other_sizes_are_refused_by_scikit_learn(place, value, tmp_path):
    path = saved(FlatClassifier(DecisionTreeClassifier()).fit(X, Y), tmp_path)

    def change(node):
        size = node["__reduce__"]["args"]["content"][place]
        size |= {"content": str(value), "__id__": 1}

    edit_schema(path, change)
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        load(path)


# -- trees in wrong places ---------------------------------------------------------------------


def refused(model, message, folder):
    path = saved(model, folder)
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_a_forest_has_to_check_the_features_that_its_trees_read(tmp_path):
    model = FlatClassifier(ExtraTreesClassifier(2, random_state=0)).fit(X, Y)
    forest = model.local_classifiers_[()]
    forest.n_features_in_ = 1
    refused(model, "features that its forest does not check", tmp_path)
    del forest.n_features_in_
    refused(model, "features that its forest does not check", tmp_path)


def test_what_is_no_tree_is_refused_in_the_place_of_one(tmp_path):
    model = FlatClassifier(ExtraTreesClassifier(2, random_state=0)).fit(X, Y)
    forest = model.local_classifiers_[()]
    whole = forest.estimators_
    forest.estimators_ = [*whole, GlobalClassifier()]
    refused(model, "a GlobalClassifier is in its place", tmp_path)
    forest.estimators_ = {"a": whole[0]}
    refused(model, "a dict is in its place", tmp_path)
    forest.estimators_ = whole
    whole[0].tree_ = "no tree"
    refused(model, "its place|that its forest does not check", tmp_path)
    model = FlatClassifier(DecisionTreeClassifier()).fit(X, Y)
    model.local_classifiers_[()].tree_ = "no tree"
    refused(model, "a str is in its place", tmp_path)


@pytest.mark.parametrize(
    "hide",
    [lambda tree: [tree], lambda tree: {"a": (tree,)}, lambda tree: np.array([tree, None])],
    ids=["list", "dict", "array"],
)
def test_a_tree_without_its_estimator_is_found_wherever_it_is(hide, tmp_path):
    model = FlatClassifier(DecisionTreeClassifier()).fit(X, Y)
    model.hidden_ = hide(model.local_classifiers_[()].tree_)
    refused(model, "not part of a decision tree of scikit-learn", tmp_path)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreesClassifier])
def test_a_method_that_was_replaced_is_refused(kind, tmp_path):
    model = FlatClassifier(kind(random_state=0)).fit(X, Y)
    model.local_classifiers_[()]._validate_X_predict = np.maximum
    refused(model, "_validate_X_predict.* was replaced", tmp_path)


def test_trees_of_other_ensembles_are_for_users_to_trust(tmp_path):
    boosted = FlatClassifier(GradientBoostingClassifier(n_estimators=2)).fit(X, Y)
    isolated = FlatClassifier(DecisionTreeClassifier()).fit(X, Y)
    isolated.inside_ = IsolationForest(n_estimators=2).fit(X)
    for model in (boosted, isolated):
        names = set(trusted_types(model)) - {TREE}
        path = saved(model, tmp_path)
        with pytest.raises(ModelFileError, match="which hiclass does not check"):
            load(path, trusted=names)
        back = load(path, trusted=[*names, TREE])
        np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_regressors_are_checked_like_classifiers():
    tree = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0])
    assert find_fault(tree) is None
    tree.tree_ = with_nodes("left_child", 0, 10**6)(tree.tree_)
    assert find_fault({"deep": [tree]}) == "a child comes before its parent, or does not exist"
