"""Models that know for sure: it is one of these classes."""

import pickle

import numpy as np
import pytest
from fakes import Proba, Scores, Soft
from hypothesis import given
from hypothesis import strategies as st
from model_helpers import (
    CALIBRATIONS,
    EXAMPLES,
    FOREST,
    KINDS,
    PATHS,
    SEEDS,
    TREE,
    below,
    make,
    models_of,
    nodes_where_rows_end,
    probability_of_final,
    rows_for,
)
from scipy.special import expit
from sklearn.exceptions import NotFittedError

from hiclass import LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._inference.paths import node_proba
from hiclass._inference.restrictions import restrict
from hiclass._problems.index import branches


def conditional(model, X, ends, allowed):
    """By brute force: the final classes that are allowed, normalised, summed up the tree."""
    final = np.maximum(probability_of_final(model, X, ends), 0)
    final[:, [v not in allowed for v in ends]] = 0
    final /= final.sum(axis=1, keepdims=True)
    nodes = range(model.hierarchy_.n_nodes)
    under = [[e in below(model.hierarchy_, v) for e in ends] for v in nodes]
    return final, np.column_stack([final[:, u].sum(axis=1) for u in under])


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(y=PATHS, seed=SEEDS, data=st.data())
def test_equals_conditioning_by_brute_force(kind, calibration, y, seed, data):
    model = make(kind, calibration).fit(rows_for(y, seed), y)
    X = rows_for(y, seed + 1)
    tree, ends = model.hierarchy_, nodes_where_rows_end(model, y)
    chosen = data.draw(st.sets(st.integers(1, tree.n_nodes - 1), min_size=1))
    allowed = set().union(*(below(tree, v) for v in chosen))
    light = model.restricted_to([tree.path(v) for v in chosen])
    final, nodes = conditional(model, X, ends, allowed)
    np.testing.assert_allclose(light.predict_node_proba(X), nodes, rtol=1e-9, atol=1e-9)
    # What is not allowed is exactly impossible.
    impossible = [v for v in range(tree.n_nodes) if not below(tree, v) & allowed & set(ends)]
    np.testing.assert_array_equal(light.predict_node_proba(X)[:, impossible], 0)
    # The k best paths, and one more than there are.
    n = sum(v in allowed for v in ends)
    paths, proba = light.predict_paths(X, n + 1)
    largest = -np.sort(-final, axis=1)[:, :n]
    np.testing.assert_allclose(proba[:, :n], largest, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(proba[:, n], 0)
    assert (paths[:, n] == "").all()
    # Every decoding stays within the classes, and confidences are node probabilities.
    for decoding in ("best_path", *["top_down"] * (kind != "flat")):
        light.set_params(decoding=decoding)
        confidence = light.predict_confidence(X)
        for i, path in enumerate(light.predict(X).tolist()):
            path = tuple(label for label in path if label)
            assert tree.find(path) in allowed
            on = [tree.find(path[: j + 1]) for j in range(len(path))]
            np.testing.assert_allclose(confidence[i, : len(on)], nodes[i, on], rtol=0, atol=1e-9)


# Nodes: 1 A, 2 A/x, 3 A/y, 4 B, 5 B/z, 6 C.
TABLES = {0: [0.5, 0.3, 0.2], 1: [0.2, 0.2, 0.6], 4: [0.25, 0.75]}


def test_by_hand():
    models = models_of("parent", TREE, {v: Proba(p) for v, p in TABLES.items()})
    allowed = np.zeros(7, dtype=bool)
    allowed[[2, 4, 5]] = True  # A/x, and B with what is below it
    light = restrict(models, allowed)
    # 0.5 * 0.2 = 0.1 for A/x; 0.3 for B, of which a quarter goes on.
    np.testing.assert_allclose(
        node_proba(light, np.zeros((1, 1))), [[1, 0.25, 0.25, 0, 0.75, 0.1875, 0]]
    )
    assert light.options.ends.tolist() == [2, 4, 5]
    assert branches(light.options, 0).tolist() == [1, 4]
    assert branches(light.options, 1).tolist() == [2]  # to stop at A is not allowed
    assert branches(light.options, 4).tolist() == [5, 4]
    assert branches(light.options, 6).tolist() == []


@pytest.mark.parametrize("how", [{}, {"temperature": 1.0, "joint": True}], ids=["usual", "joint"])
def test_classifiers_that_cannot_matter_are_not_asked(how):
    tables = {v: Proba(p) for v, p in TABLES.items()}
    models = models_of("parent", TREE, tables, **how)
    allowed = np.zeros(7, dtype=bool)
    allowed[[2, 6]] = True  # A/x and C
    node_proba(restrict(models, allowed), np.zeros((1, 1)))
    assert {v: table.calls for v, table in tables.items()} == {0: 1, 1: 1, 4: 0}


def test_where_the_classes_have_probability_zero_they_share_it_equally():
    models = models_of("flat", TREE, {0: Proba([1, 0, 0, 0, 0, 0])})
    allowed = np.zeros(7, dtype=bool)
    allowed[[2, 6]] = True
    np.testing.assert_array_equal(
        node_proba(restrict(models, allowed), np.zeros((1, 1))), [[1, 0.5, 0.5, 0, 0, 0, 0.5]]
    )


def test_the_best_of_final_classes_that_a_joint_model_finds_impossible_is_still_the_best():
    score = np.array([9.0, -8.0, 0.0, 0.0, 0.0, -8.01])
    models = models_of("flat", TREE, {0: Scores(score)}, soft=False, temperature=0.01, joint=True)
    assert node_proba(models, np.zeros((1, 1)))[0, [2, 6]].tolist() == [0, 0]
    allowed = np.zeros(7, dtype=bool)
    allowed[[2, 6]] = True
    found = node_proba(restrict(models, allowed), np.zeros((1, 1)))[0, [2, 6]]
    np.testing.assert_allclose(found, expit([1.0, -1.0]))


@pytest.mark.parametrize("kind", KINDS)
def test_shares_the_classifiers_and_leaves_the_original_alone(kind):
    X = rows_for(FOREST, 0)
    model = make(kind).fit(X, FOREST)
    before = model.predict_node_proba(X)
    light = model.restricted_to([("a", "y"), ("c",)])
    assert type(light) is type(model)
    assert light is not model
    light.set_params(min_confidence=0.9)
    assert model.min_confidence == 0.0
    np.testing.assert_array_equal(model.predict_node_proba(X), before)
    if kind in ("ensemble", "learned"):
        assert light.models_ is model.models_
        return
    assert dict(light.local_classifiers_) == dict(model.local_classifiers_)
    for path, classifier in model.local_classifiers_.items():
        assert light.local_classifiers_[path] is classifier


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_probabilities_stay_and_other_classes_get_zero(kind):
    X = rows_for(FOREST, 0)
    model = make(kind).fit(X, FOREST)
    light = model.restricted_to([("a", "y")])
    assert [c.tolist() for c in light.classes_] == [c.tolist() for c in model.classes_]
    first, second, third = light.predict_proba(X)
    np.testing.assert_allclose(first, [[1, 0, 0]] * len(X), atol=1e-15)
    np.testing.assert_allclose(second, [[0, 1, 0]] * len(X), atol=1e-15)
    np.testing.assert_allclose(third.sum(axis=1), 1)
    ratio = model.predict_proba(X)[2][:, :2]
    np.testing.assert_allclose(third[:, :2], ratio / ratio.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(third[:, 2], 0, atol=1e-15)


def test_homonyms_are_told_apart_by_path():
    X = rows_for(FOREST, 0)
    model = make("parent").fit(X, FOREST)
    assert {tuple(p[:2]) for p in model.restricted_to([("b", "x")]).predict(X)} == {("b", "x")}
    assert {tuple(p[:2]) for p in model.restricted_to([("a", "x")]).predict(X)} == {("a", "x")}
    with pytest.raises(ValueError, match="'x'"):
        model.restricted_to(["x"])


def test_labels_that_are_unique_name_a_class():
    X = rows_for(FOREST, 0)
    model = make("parent").fit(X, FOREST)
    by_label, by_path = model.restricted_to(["y", "c"]), model.restricted_to([("a", "y"), ("c",)])
    np.testing.assert_array_equal(by_label.predict_node_proba(X), by_path.predict_node_proba(X))


@pytest.mark.parametrize("kind", KINDS)
def test_single_labels(kind):
    y = np.array([3, 1, 2] * 4)
    X = rows_for(y, 0)
    model = make(kind).fit(X, y)
    light = model.restricted_to([1, 3])
    proba = model.predict_proba(X)[:, [0, 2]]
    expected = proba / proba.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(light.predict_proba(X)[:, [0, 2]], expected, rtol=1e-12)
    np.testing.assert_array_equal(light.predict_proba(X)[:, 1], 0)
    np.testing.assert_array_equal(light.predict(X), np.array([1, 3])[expected.argmax(axis=1)])


@pytest.mark.parametrize("kind", KINDS)
def test_restrictions_add_up(kind):
    X = rows_for(FOREST, 0)
    model = make(kind).fit(X, FOREST)
    twice = model.restricted_to([("a",), ("c",)]).restricted_to([("a", "y"), ("c",)])
    once = model.restricted_to([("a", "y"), ("c",)])
    np.testing.assert_allclose(twice.predict_node_proba(X), once.predict_node_proba(X), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_all_classes_are_no_restriction(kind):
    X = rows_for(FOREST, 0)
    model = make(kind).fit(X, FOREST)
    light = model.restricted_to(iter([("a",), ("b",), ("c",)]))
    np.testing.assert_allclose(light.predict_node_proba(X), model.predict_node_proba(X), atol=1e-12)


def test_pickles_and_scores():
    X = rows_for(FOREST, 0)
    light = make("node").fit(X, FOREST).restricted_to([("b",)])
    again = pickle.loads(pickle.dumps(light))
    np.testing.assert_array_equal(again.predict(X), light.predict(X))
    of_b = [i for i, path in enumerate(FOREST) if path[0] == "b"]
    assert light.score(X[of_b], [FOREST[i] for i in of_b]) > 0.5


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ("a", "classes must be a list of labels or paths; got 'a'"),
        ([], r"^classes is empty\. Pass at least one label or path\.$"),
        ([("a", "nowhere")], "nowhere"),
        (["nowhere"], "nowhere"),
    ],
)
def test_wrong_classes_are_refused(classes, message):
    model = make("parent").fit(rows_for(FOREST, 0), FOREST)
    with pytest.raises(ValueError, match=message):
        model.restricted_to(classes)


def test_classes_without_rows_alone_are_refused_and_with_others_have_probability_zero():
    y = ["A", "x", "x", "B"] * 3
    X = rows_for(y, 0)
    model = LocalClassifierPerParentNode(Soft(), hierarchy={"A": ["x"], "B": ["z"]}).fit(X, y)
    with pytest.raises(ValueError, match="they have no training rows, or the model is restricted"):
        model.restricted_to(["z"])
    with pytest.raises(ValueError, match="or the model is restricted to other classes"):
        model.restricted_to(["A"]).restricted_to(["B"])
    light = model.restricted_to(["z", "x"])
    assert set(light.predict(X)) == {"x"}
    np.testing.assert_array_equal(light.predict_node_proba(X)[:, model.hierarchy_.find("z")], 0)


def test_a_model_that_is_not_fitted_is_told_so():
    with pytest.raises(NotFittedError):
        make("parent").restricted_to(["a"])


def test_a_restricted_model_shows_the_classifiers_of_the_whole_one():
    model = LocalClassifierPerNode(Soft()).fit(rows_for(FOREST, 0), FOREST)
    part = model.restricted_to([("a",)])
    assert list(model.stop_classifiers_)
    assert dict(part.stop_classifiers_) == dict(model.stop_classifiers_)
    assert dict(part.local_classifiers_) == dict(model.local_classifiers_)
