"""Probabilities: worked out by hand, and the laws that hold for every model and calibration."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
from fakes import Choice, Proba, Scores
from hypothesis import given, settings
from hypothesis import strategies as st
from model_helpers import (
    CALIBRATIONS,
    EXAMPLES,
    FOREST,
    KINDS,
    LOCAL,
    PATHS,
    SEEDS,
    TREE,
    X2,
    assert_nodes,
    make,
    mix,
    models_of,
    nodes_where_rows_end,
    probability_of_final,
    rows_for,
)
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from hiclass import FlatClassifier, Hierarchy, LocalClassifierPerLevel
from hiclass._inference.decodings import DECODINGS, as_decoding
from hiclass._inference.paths import direct_final_proba, final_proba, node_proba, nodes_to_final
from hiclass._problems.index import TreeIndex, find_options
from hiclass._state import LocalModels

# -- what the tests of probabilities and decisions share ---------------------------------------


# -- by hand -----------------------------------------------------------------------------------


def test_per_parent_multiplies_along_the_path_and_stop_is_the_last_class():
    tables = {0: Proba([0.5, 0.3, 0.2]), 1: Proba([0.2, 0.2, 0.6]), 4: Proba([0.25, 0.75])}
    assert_nodes(models_of("parent", TREE, tables), [1, 0.5, 0.1, 0.1, 0.3, 0.075, 0.2])


def test_per_node_normalises_siblings_and_shares_what_the_gate_leaves():
    tables = {v: Proba([1 - p, p]) for v, p in {1: 0.6, 4: 0.3, 6: 0.3, 2: 0.2, 3: 0.6}.items()}
    gates = {1: Proba([0.6, 0.4]), 4: Proba([0.25, 0.75])}
    # A: 0.6 / 1.2. Below it 1 - 0.4 is shared 1 to 3. Below B, z takes all of 1 - 0.75.
    expected = [1, 0.5, 0.5 * 0.6 * 0.25, 0.5 * 0.6 * 0.75, 0.25, 0.25 * 0.25, 0.25]
    assert_nodes(models_of("node", TREE, tables, gates), expected)


def test_per_level_restricts_to_the_children_and_normalises():
    # Level 2 has the classes A/x, A/y, stop at A, B/z, stop at B.
    tables = {1: Proba([0.5, 0.3, 0.2]), 2: Proba([0.1, 0.1, 0.2, 0.45, 0.15])}
    expected = [1, 0.5, 0.125, 0.125, 0.3, 0.225, 0.2]
    assert_nodes(models_of("level", TREE, tables), expected)


def test_flat_sums_the_final_classes_up_the_tree():
    tables = {0: Proba([0.1, 0.2, 0.05, 0.3, 0.15, 0.2])}
    assert_nodes(models_of("flat", TREE, tables), [1, 0.35, 0.2, 0.05, 0.45, 0.15, 0.2])


def test_predictions_that_are_all_zero_become_uniform():
    parent = {0: Proba([0, 0, 0]), 1: Proba([0.2, 0.2, 0.6]), 4: Proba([0, 0])}
    third = 1 / 3
    expected = [1, third, third * 0.2, third * 0.2, third, third * 0.5, third]
    assert_nodes(models_of("parent", TREE, parent), expected)
    node = {v: Proba([1, 0]) for v in (1, 2, 3, 4, 6)}
    gates = {1: Proba([0.5, 0.5]), 4: Proba([1, 0])}
    expected = [1, third, third / 4, third / 4, third, third, third]
    assert_nodes(models_of("node", TREE, node, gates), expected)
    level = {1: Proba([0.5, 0.5, 0]), 2: Proba([0, 0, 0, 0.5, 0.5])}
    expected = [1, 0.5, 0.5 / 3, 0.5 / 3, 0.5, 0.25, 0]
    assert_nodes(models_of("level", TREE, level), expected)
    sixth = 1 / 6
    expected = [1, 3 * sixth, sixth, sixth, 2 * sixth, sixth, sixth]
    assert_nodes(models_of("flat", TREE, {0: Proba([0] * 6)}), expected)


def test_a_class_without_rows_has_probability_zero_and_leaf_only_has_no_stop():
    """A row at A says nothing about what is below; B has nothing below and ends there."""
    hierarchy = Hierarchy.from_paths([*TREE, ["A", "w"]])  # 1 A, 2 w, 3 x, 4 y, 5 B, 6 z, 7 C
    nodes = np.array([hierarchy.find(("A",)), 3, 4, 5, 7])
    options = find_options(TreeIndex(hierarchy, nodes), leaf_only=True)
    assert options.ends.tolist() == [3, 4, 5, 7]
    tables = {0: Proba([0.5, 0.3, 0.2]), 1: Proba([0.2, 0.8])}
    models = LocalModels("parent", hierarchy, options, tables, {}, soft=True)
    np.testing.assert_allclose(node_proba(models, X2)[0], [1, 0.5, 0, 0.1, 0.4, 0.3, 0, 0.2])
    np.testing.assert_allclose(final_proba(models, X2)[0], [0.1, 0.4, 0.3, 0.2])
    binary = {v: Proba([1 - p, p]) for v, p in {1: 0.5, 5: 0.3, 7: 0.2, 3: 0.2, 4: 0.8}.items()}
    models = LocalModels("node", hierarchy, options, binary, {}, soft=True)
    np.testing.assert_allclose(node_proba(models, X2)[0], [1, 0.5, 0, 0.1, 0.4, 0.3, 0, 0.2])


def test_temperature_is_a_softmax_of_scores_over_the_children_and_the_stop():
    top, at_a = np.array([3.0, 1.0, -1.0]), np.array([0.5, 0.0, 2.0])
    tables = {0: Scores(top), 1: Scores(at_a), 4: Scores([1.5])}
    models = models_of("parent", TREE, tables, soft=False, temperature=2.0)
    a, b, c = softmax(top / 2)
    x, y, _ = softmax(at_a / 2)
    # The score of a binary problem is for its second class: stop.
    assert_nodes(models, [1, a, a * x, a * y, b, b * expit(-0.75), c])


def test_temperature_per_node_is_a_softmax_of_the_siblings_and_a_sigmoid_for_the_gate():
    score = {1: 3.0, 4: 1.0, 6: -1.0, 2: 0.5, 3: 0.0}
    tables = {v: Scores([s]) for v, s in score.items()}
    gates = {1: Scores([2.0]), 4: Scores([-1.0])}
    models = models_of("node", TREE, tables, gates, soft=False, temperature=2.0)
    a, b, c = softmax(np.array([3.0, 1.0, -1.0]) / 2)
    x, y = softmax(np.array([0.5, 0.0]) / 2) * expit(-1.0)
    assert_nodes(models, [1, a, a * x, a * y, b, b * expit(0.5), c])


def test_temperature_per_level_and_flat():
    top, below = np.array([3.0, 1.0, -1.0]), np.array([0.5, 0.0, 2.0, 7.0, 8.0])
    tables = {1: Scores(top), 2: Scores(below)}
    models = models_of("level", TREE, tables, soft=False, temperature=2.0)
    a, b, c = softmax(top / 2)
    x, y, _ = softmax(below[:3] / 2)
    assert_nodes(models, [1, a, a * x, a * y, b, b * expit(-0.5), c])
    score = np.array([1.0, 2.0, 0.0, -1.0, 3.0, 0.5])
    models = models_of("flat", TREE, {0: Scores(score)}, soft=False, temperature=2.0)
    p = softmax(score / 2)
    assert_nodes(models, [1, p[:3].sum(), p[1], p[2], p[3:5].sum(), p[4], p[5]])


def test_temperature_takes_log_p_and_logits_where_there_are_no_scores():
    """With T = 1 the probabilities come back; with T = 2 their square roots, normalised."""
    parent = {0: Proba([0.5, 0.3, 0.2]), 1: Proba([0.2, 0.2, 0.6]), 4: Proba([0.25, 0.75])}
    (a, b, c), (x, y, _), (z, _) = mix(0.5, 0.3, 0.2), mix(0.2, 0.2, 0.6), mix(0.25, 0.75)
    models = models_of("parent", TREE, parent, temperature=1.0)
    assert_nodes(models, [1, a, a * x, a * y, b, b * z, c])
    models = models_of("parent", TREE, parent, temperature=2.0)
    roots = [np.sqrt(p) for p in (mix(0.5, 0.3, 0.2), mix(0.2, 0.2, 0.6), mix(0.25, 0.75))]
    (a, b, c), (x, y, _), (z, _) = (p / p.sum() for p in roots)
    assert_nodes(models, [1, a, a * x, a * y, b, b * z, c])
    binary = {v: Proba([1 - p, p]) for v, p in {1: 0.6, 4: 0.5, 6: 0.2, 2: 0.2, 3: 0.5}.items()}
    gates = {1: Proba([0.6, 0.4]), 4: Proba([0.25, 0.75])}
    models = models_of("node", TREE, binary, gates, temperature=1.0)
    odds = {p: np.divide(*mix(p, 1 - p)) for p in (0.6, 0.5, 0.2)}
    a, b, c = np.array([odds[0.6], odds[0.5], odds[0.2]]) / (odds[0.6] + odds[0.5] + odds[0.2])
    x = odds[0.2] / (odds[0.2] + odds[0.5])
    on_a, on_b = mix(0.6, 0.4)[0], mix(0.25, 0.75)[0]
    assert_nodes(models, [1, a, a * on_a * x, a * on_a * (1 - x), b, b * on_b, c])


def test_probabilities_of_zero_and_one_stay_finite_under_a_temperature():
    tables = {0: Proba([1, 0, 0]), 1: Proba([0, 0, 1]), 4: Proba([1, 0])}
    proba = node_proba(models_of("parent", TREE, tables, temperature=0.5), X2)
    assert np.isfinite(proba).all()
    # One in a hundred is shared out evenly; a temperature of one half squares the odds.
    odds = (0.01 / 3 / (1 + 0.01 / 3)) ** 2
    assert proba[0, 1] == pytest.approx(1 / (1 + 2 * odds), rel=1e-12)
    assert proba[0, 4] == pytest.approx(odds / (1 + 2 * odds), rel=1e-12)
    binary = {v: Proba([0, 1]) for v in (1, 2, 3, 4, 6)}
    gates = {v: Proba([1, 0]) for v in (1, 4)}
    proba = node_proba(models_of("node", TREE, binary, gates, temperature=1.0), X2)
    on = 1.005 / 1.01
    expected = [1, 1 / 3, on / 6, on / 6, 1 / 3, on / 3, 1 / 3]
    np.testing.assert_allclose(proba[0], expected, rtol=1e-12)


def test_local_classifiers_without_probabilities_predict_with_certainty():
    parent = {0: Choice([1]), 1: Choice([2]), 4: Choice([0])}
    models = models_of("parent", TREE, parent, soft=False)
    np.testing.assert_array_equal(node_proba(models, X2)[0], [1, 0, 0, 0, 1, 1, 0])
    models = models_of("flat", TREE, {0: Choice([2])}, soft=False)
    np.testing.assert_array_equal(direct_final_proba(models, X2)[0], [0, 0, 1, 0, 0, 0])
    score = {1: 0.5, 4: -3.0, 6: 0.4, 2: -2.0, 3: -1.0}
    tables = {v: Scores([s]) for v, s in score.items()}
    for gate, expected in ((0.1, [1, 1, 0, 0, 0, 0, 0]), (-0.1, [1, 1, 0, 1, 0, 0, 0])):
        models = models_of("node", TREE, tables, {1: Scores([gate]), 4: Scores([1])}, soft=False)
        np.testing.assert_array_equal(node_proba(models, X2)[0], expected)
    level = {1: Scores([0, 1, 0]), 2: Scores([9, 9, 9, 1, 2])}
    models = models_of("level", TREE, level, soft=False)
    np.testing.assert_array_equal(node_proba(models, X2)[0], [1, 0, 0, 0, 1, 0, 0])


def test_a_level_that_mixes_scores_and_probabilities_takes_each_as_it_is():
    level = {1: Proba([0.2, 0.5, 0.3]), 2: Scores([9, 9, 9, 1, 2])}
    models = models_of("level", TREE, level, soft=False)
    np.testing.assert_array_equal(node_proba(models, X2)[0], [1, 0, 0, 0, 1, 0, 0])


def test_a_tree_without_a_question_is_certain():
    for strategy in LOCAL:
        models = models_of(strategy, [["A", "x"]] * 2, {})
        np.testing.assert_array_equal(node_proba(models, X2), [[1, 1, 1]] * 2)


def test_rounding_never_makes_a_final_class_negative():
    models = models_of("parent", [["A"], ["A", "x"], ["A", "y"]], {})
    proba = np.array([[1.0, 0.3, 0.1, 0.2]])  # 0.1 + 0.2 is above 0.3
    assert nodes_to_final(models, proba).tolist() == [[0.0, 0.1, 0.2]]


def test_a_decision_function_of_another_shape_is_refused_with_a_remedy():
    models = models_of("flat", TREE, {0: Scores([1, 2, 3])}, soft=False, temperature=1.0)
    message = r"Scores.decision_function returned .* \(2, 3\) for 2 rows and 6 classes.*'ovr'"
    with pytest.raises(ValueError, match=message):
        node_proba(models, X2)


def test_probabilities_of_another_shape_or_that_are_not_numbers_are_refused():
    models = models_of("flat", TREE, {0: Proba([0.5, 0.5])})
    with pytest.raises(ValueError, match=r"shape \(2, 2\) for 2 rows and 6 classes"):
        node_proba(models, X2)
    models = models_of("flat", TREE, {0: Proba([np.nan] * 6)})
    with pytest.raises(ValueError, match="a probability of NaN"):
        node_proba(models, X2)


# -- labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_columns_sum_homonyms_put_missing_last_and_sum_to_one(kind):
    y = [["L", "o"], ["L", "p"], ["K", "o"], ["K"], ["M"]] * 3
    X = rows_for(y, 0)
    model = make(kind).fit(X, y)
    assert [list(c) for c in model.classes_] == [["K", "L", "M"], ["o", "p", ""]]
    proba, (first, second) = model.predict_node_proba(X), model.predict_proba(X)
    node = {path: model.hierarchy_.find(path) for path in [("K",), ("K", "o"), ("L", "o")]}
    np.testing.assert_allclose(first.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(second.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(first[:, 0], proba[:, node["K",]])
    expected = proba[:, node["K", "o"]] + proba[:, node["L", "o"]]
    np.testing.assert_allclose(second[:, 0], expected, rtol=1e-13)
    stop = proba[:, node["K",]] - proba[:, node["K", "o"]] + first[:, 2]
    np.testing.assert_allclose(second[:, 2], stop, atol=1e-14)
    for one, other in zip(model.predict_log_proba(X), (first, second), strict=True):
        np.testing.assert_array_equal(one, np.log(other))


@pytest.mark.parametrize("kind", KINDS)
def test_single_labels_have_one_array_of_the_probabilities_of_final_classes(kind):
    y = np.array(["b", "a", "c"] * 4)
    X = rows_for(y, 1)
    model = make(kind).fit(X, y)
    proba = model.predict_proba(X)
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(proba, model.predict_node_proba(X)[:, 1:])
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(proba))


@pytest.mark.parametrize("kind", ["node", "parent", "level", "flat"])
def test_single_labels_of_a_deep_hierarchy_have_the_probability_of_ending_there(kind):
    y = ["A", "x", "w", "B", "x", "w"] * 2
    X = rows_for(y, 1)
    model = make(kind, hierarchy={"A": ["x", "w"], "B": ["z"]}).fit(X, y)
    assert model.classes_.tolist() == ["A", "B", "w", "x"]  # no row says z
    nodes = model.predict_node_proba(X)
    a, w, x, b, z = (nodes[:, model.hierarchy_.find(name)] for name in "AwxBz")
    np.testing.assert_allclose(model.predict_proba(X), np.column_stack([a - w - x, b, w, x]))
    np.testing.assert_array_equal(z, 0)


# -- laws --------------------------------------------------------------------------------------


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(y=PATHS, seed=SEEDS, leaf_only=st.booleans())
def test_children_and_stop_sum_to_their_parent_and_all_final_classes_to_one(
    kind, calibration, y, seed, leaf_only
):
    model = make(kind, calibration, leaf_only=leaf_only).fit(rows_for(y, seed), y)
    X = rows_for(y, seed + 1)
    ends = nodes_where_rows_end(model, y, leaf_only)
    proba = model.predict_node_proba(X)
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba[:, 0], 1, atol=1e-9)
    for node in set(range(model.hierarchy_.n_nodes)) - set(ends):
        below = proba[:, model.hierarchy_.children(node)].sum(axis=1)
        np.testing.assert_allclose(below, proba[:, node], atol=1e-9)
    final = probability_of_final(model, X, ends)
    assert (final >= -1e-9).all()
    np.testing.assert_allclose(final.sum(axis=1), 1, atol=1e-9)


def deepest_likely(proba, hierarchy):
    """A decision of a user: the highest node number with at least one half."""
    return hierarchy.n_nodes - 1 - (proba[:, ::-1] >= 0.5).argmax(axis=1)


def everything(model, X):
    """All that a model says, under every decoding."""
    found = {"nodes": model.predict_node_proba(X)}
    found.update({f"level {i}": p for i, p in enumerate(model.predict_proba(X))})
    found["k paths"], found["k proba"] = model.predict_paths(X, 3)
    for decoding, known in {**DECODINGS, "callable": as_decoding(deepest_likely)}.items():
        if known.step_by_step and isinstance(model, FlatClassifier):
            continue
        model.set_params(decoding=decoding if decoding in DECODINGS else deepest_likely)
        found[f"{decoding} path"] = model.predict(X)
        found[f"{decoding} confidence"] = model.predict_confidence(X)
    return found


def assert_same(one, other, atol=1e-12):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(value, other[name], rtol=0, atol=atol, err_msg=name)
        else:
            np.testing.assert_array_equal(value, other[name], err_msg=name)


def fitted(kind, calibration, y, seed):
    model = make(kind, calibration, decoding="expected_f1")
    return model.fit(rows_for(y, seed), y)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5)
@given(y=PATHS, seed=SEEDS)
def test_a_row_is_predicted_alone_as_among_others_and_in_any_order(kind, calibration, y, seed):
    model = fitted(kind, calibration, y, seed)
    X = rows_for(y, seed + 1)
    whole = everything(model, X)
    order = np.random.default_rng(seed).permutation(len(X))
    assert_same(everything(model, X[order]), {k: v[order] for k, v in whole.items()})
    for i in {0, len(X) // 2, len(X) - 1}:
        assert_same(everything(model, X[[i]]), {k: v[[i]] for k, v in whole.items()})


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_jobs_in_parallel_change_nothing(kind, calibration):
    X = rows_for(FOREST, 0)
    serial = fitted(kind, calibration, FOREST, 0)
    with joblib.parallel_config("threading"):
        parallel = make(kind, calibration, decoding="expected_f1")
        jobs = [name for name in parallel.get_params() if name.split("__")[-1] == "n_jobs"]
        parallel.set_params(**dict.fromkeys(jobs, 2)).fit(X, FOREST)
        assert parallel.n_jobs == 2
        assert_same(everything(parallel, X), everything(serial, X), atol=0)
    assert parallel.expected_f1_ == serial.expected_f1_
    assert getattr(parallel, "temperature_", None) == getattr(serial, "temperature_", None)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_size_of_chunks_changes_nothing(kind, calibration, limit_chunks):
    y = FOREST * 7
    X = rows_for(y, 0)
    assert len(X) > 3 * 64  # the smallest chunk has 64 rows
    whole = fitted(kind, calibration, y, 0)
    expected = everything(whole, X)
    limit_chunks(1, 64)
    pieces = fitted(kind, calibration, y, 0)
    assert_same(everything(whole, X), expected, atol=0)
    # Sums over blocks may round otherwise in the search for a temperature.
    assert_same(everything(pieces, X), expected, atol=1e-9 if calibration else 0)


SCRIPT = """
import numpy as np
from sklearn.naive_bayes import GaussianNB
from hiclass import *
X = np.random.default_rng(0).normal(size=(40, 3))
names = ["ash", "birch", "cedar", "fir", "oak", "yew"]
y = [[names[i % 2], names[i % 3 + 2], names[i % 5 + 1]][: 1 + i % 7 % 3] for i in range(40)]
def local(c):
    return c(GaussianNB(), calibration="temperature", decoding="expected_f1")
kinds = (LocalClassifierPerNode, LocalClassifierPerParentNode, LocalClassifierPerLevel)
models = [local(c) for c in kinds] + [
    EnsembleClassifier([("f", local(FlatClassifier)), ("n", local(LocalClassifierPerNode))]),
    ConformalClassifier(local(FlatClassifier), 0.4, kind="set", random_state=0),
]
for model in models:
    model.fit(X, y)
    print(model.predict(X).tolist(), model.predict_node_proba(X).tolist())
    print([a.tolist() for a in model.predict_paths(X)], [c.tolist() for c in model.classes_])
print(models[-1].predict_set(X), "end")
"""


def test_the_hash_seed_changes_nothing():
    outputs = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        )
        outputs.append(done.stdout)
    assert outputs[0].endswith("end\n")
    assert outputs[0] == outputs[1]


# -- stopping ----------------------------------------------------------------------------------


def half_stop(seed, informative):
    """Half of the rows of a parent with a single child stop there; the second feature tells."""
    rng = np.random.default_rng(seed)
    stops = np.arange(240) % 2 == 0
    other = np.arange(240) % 3 == 0
    y = [["B", "y"] if o else ["A"] if s else ["A", "x"] for o, s in zip(other, stops, strict=True)]
    X = rng.normal(scale=0.5, size=(240, 2))
    X[:, 0] += np.where(other, 3.0, -3.0)
    X[:, 1] += informative * np.where(stops, 3.0, -3.0)
    return X, y


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_stops_are_recalled_where_a_feature_tells_them(kind, calibration):
    model = make(kind, calibration, estimator=LogisticRegression()).fit(*half_stop(0, True))
    X, y = half_stop(1, True)
    found = [[label for label in path if label] for path in model.predict(X).tolist()]
    stopped = [f == t for f, t in zip(found, y, strict=True) if t == ["A"]]
    went_on = [f == t for f, t in zip(found, y, strict=True) if t == ["A", "x"]]
    assert len(stopped) == len(went_on) == 80
    assert np.mean(stopped) > 0.98
    assert np.mean(went_on) > 0.98


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_where_nothing_tells_stopping_has_probability_one_half(kind, calibration):
    model = make(kind, calibration, estimator=LogisticRegression()).fit(*half_stop(0, False))
    X, y = half_stop(1, False)
    proba = model.predict_node_proba(X)[[path[0] == "A" for path in y]]
    stop = 1 - proba[:, model.hierarchy_.find(("A", "x"))] / proba[:, model.hierarchy_.find(("A",))]
    assert stop.mean() == pytest.approx(0.5, abs=0.03)
    assert np.abs(stop - 0.5).max() < 0.25


# -- who has probabilities ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", LOCAL)
def test_predict_proba_exists_for_scores_exactly_with_a_calibration(kind):
    X = rows_for(FOREST, 0)
    plain = make(kind, estimator=LinearSVC())
    calibrated = make(kind, "temperature", estimator=LinearSVC())
    for name in ("predict_proba", "predict_log_proba", "predict_node_proba", "predict_paths",
                 "predict_confidence", "restricted_to"):  # fmt: skip
        assert not hasattr(plain, name)
        assert hasattr(calibrated, name)
    plain.fit(X, FOREST)
    calibrated.fit(X, FOREST)
    assert not hasattr(plain, "predict_proba")
    assert hasattr(calibrated, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        plain.predict_proba(X)
    assert "Use calibration='temperature'" in str(caught.value)
    for proba in calibrated.predict_proba(X):
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)


class Thin(ClassifierMixin, BaseEstimator):
    """Nearly uniform probabilities with a clear, tiny, maximum at the class that x names."""

    def fit(self, X, y):
        """Remember the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Give the right class twice the probability of any other."""
        proba = np.ones((len(X), len(self.classes_)))
        proba[np.arange(len(X)), X[:, 0].astype(int)] = 2
        return proba / proba.sum(axis=1, keepdims=True)


def test_a_temperature_never_changes_which_of_many_thin_probabilities_is_largest():
    y = np.arange(2000)
    X = y[:, None].astype(float)
    model = FlatClassifier(Thin()).fit(X, y)
    assert model.score(X, y) == 1
    for temperature in (0.2, 1.0, 5.0):
        object.__setattr__(model._models, "temperature", temperature)
        assert model.score(X, y) == 1


class Known(GaussianNB):
    """Probabilities that are tiny for two classes of four, and still say which is likelier."""

    def predict_proba(self, X):
        return np.tile([0.9, 0.1 - 1e-6, 9e-7, 1e-7], (len(X), 1))[:, : len(self.classes_)]


def test_per_level_a_temperature_sees_siblings_by_themselves():
    y = [["A", "p"], ["A", "q"], ["B", "p"], ["B", "q"]] * 3
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = LocalClassifierPerLevel(Known(), calibration="temperature").fit(X, y)
    object.__setattr__(model._models, "temperature", 1.0)
    proba = model.predict_node_proba(X[:1])[0]
    b = model.hierarchy_.find(("B",))
    shares = proba[model.hierarchy_.children(b)] / proba[b]
    np.testing.assert_allclose(shares, [0.9, 0.1], atol=0.005)
