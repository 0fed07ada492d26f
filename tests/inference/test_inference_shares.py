"""Shares of classes: in training, given, estimated; and the probabilities that follow from them."""

import numpy as np
import pytest
from fakes import Proba, Scores
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

from hiclass import Hierarchy
from hiclass._inference.paths import final_proba, node_proba
from hiclass._inference.restrictions import restrict
from hiclass._inference.shares import (
    ShareTree,
    adapt,
    estimate,
    given_shares,
    training_shares,
)


def up_the_tree(hierarchy, ends, final):
    """By brute force: for every node the sum over the final classes at or below it."""
    under = [[e in below(hierarchy, v) for e in ends] for v in range(hierarchy.n_nodes)]
    return np.column_stack([final[:, u].sum(axis=1) for u in under])


def drawn_shares(data, n, least=0.0):
    shares = np.array(data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), dtype=float)
    return shares / shares.sum()


# Nodes: 1 A, 2 A/x, 3 A/y, 4 B, 5 B/z, 6 C. All but none may be final; shares as in a training set.
WEIGHT = np.array([0.0, 10, 20, 10, 5, 15, 40])


def tables(**fields):
    return models_of(
        "parent",
        TREE,
        {0: Proba([0.5, 0.3, 0.2]), 1: Proba([0.2, 0.2, 0.6]), 4: Proba([0.25, 0.75])},
        own_weight=WEIGHT,
        **fields,
    )


# -- probabilities -----------------------------------------------------------------------------


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(y=PATHS, seed=SEEDS, data=st.data())
def test_equals_reweighting_by_brute_force(kind, calibration, y, seed, data):
    model = make(kind, calibration).fit(rows_for(y, seed), y)
    X = rows_for(y, seed + 1)
    tree, ends = model.hierarchy_, nodes_where_rows_end(model, y)
    shares = drawn_shares(data, len(ends))
    light = model.adapted_to(prior=up_the_tree(tree, ends, shares[None])[0])
    at = [tree.find(tuple(path)) for path in y]
    training = np.array([at.count(v) for v in ends]) / len(y)
    final = np.maximum(probability_of_final(model, X, ends), 0) * shares / training
    final /= final.sum(axis=1, keepdims=True)
    nodes = up_the_tree(tree, ends, final)
    proba = light.predict_node_proba(X)
    np.testing.assert_allclose(proba, nodes, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(light.prior_, up_the_tree(tree, ends, shares[None])[0], atol=1e-12)
    # Every path, and one more than there are.
    _, found = light.predict_paths(X, len(ends) + 1)
    np.testing.assert_allclose(found[:, :-1], -np.sort(-final, axis=1), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found[:, -1], 0)
    for decoding in ("best_path", "expected_f1", *["top_down"] * (kind != "flat")):
        light.set_params(decoding=decoding, expected_f1=0.7)
        confidence, predicted = light.predict_confidence(X), light.predict(X).tolist()
        for i, path in enumerate(predicted):
            path = tuple(label for label in path if label)
            on = [tree.find(path[: j + 1]) for j in range(len(path))]
            np.testing.assert_allclose(confidence[i, : len(on)], nodes[i, on], rtol=0, atol=1e-9)
            last = on[-1] if on else 0
            if decoding == "best_path":
                best = final[i].max()
                assert final[i, ends.index(last)] == pytest.approx(best, abs=1e-9)
            if decoding == "top_down":
                for above, chosen in zip([0, *on], on, strict=False):
                    children = tree.children(above)
                    assert nodes[i, chosen] >= nodes[i, children].max() - 1e-9
            if decoding == "expected_f1":
                value = [
                    nodes[i, tree._paths[v][tree._paths[v] >= 0]] - 0.35
                    for v in range(1, len(proba[0]))
                ]
                assert sum(nodes[i, on] - 0.35) == pytest.approx(max(map(sum, value)), abs=1e-9)


def test_by_hand():
    models = tables()
    # Final classes: A .3, A/x .1, A/y .1, B .225, B/z .075, C .2; A with all below it becomes half
    # as frequent: .4 in training, .2 now, so that the rest has the weight 8 / 6.
    training = training_shares(models)
    np.testing.assert_allclose(training, [0.1, 0.2, 0.1, 0.05, 0.15, 0.4])
    shares = given_shares(models, {"A": 0.2}, training)
    np.testing.assert_allclose(shares, [0.05, 0.1, 0.05, 1 / 15, 0.2, 8 / 15])
    light = adapt(models, shares, training)
    total = 0.25 + 0.5 * 8 / 6
    expected = np.array([0.15, 0.05, 0.05, 0.3, 0.1, 0.8 / 3]) / total
    np.testing.assert_allclose(final_proba(light, np.zeros((1, 1))), [expected])


def test_a_share_of_zero_is_a_probability_of_zero():
    models = tables()
    training = training_shares(models)
    light = adapt(models, given_shares(models, {"A": 0, ("B", "z"): 0}, training), training)
    proba = node_proba(light, np.zeros((1, 1)))[0]
    np.testing.assert_array_equal(proba[[1, 2, 3, 5]], 0)
    assert proba[0] == 1


def test_where_all_that_is_possible_has_a_share_of_zero_only_the_shares_are_known():
    models = models_of("flat", TREE, {0: Proba([1, 0, 0, 0, 0, 0])}, own_weight=WEIGHT)
    training = training_shares(models)
    light = adapt(models, given_shares(models, {"A": 0}, training), training)
    np.testing.assert_allclose(
        final_proba(light, np.zeros((1, 1))), [[0, 0, 0, 5 / 60, 15 / 60, 40 / 60]]
    )


def test_the_best_of_final_classes_that_a_joint_model_finds_impossible_is_still_the_best():
    score = np.array([9.0, -8.0, 0.0, 0.0, 0.0, -8.01])
    models = models_of(
        "flat", TREE, {0: Scores(score)}, soft=False, temperature=0.01, joint=True,
        own_weight=np.ones(7),
    )  # fmt: skip
    training = training_shares(models)
    light = adapt(models, np.array([0, 0.5, 0, 0, 0, 0.5]), training)
    expected = final_proba(restrict(models, np.isin(np.arange(7), [2, 6])), np.zeros((1, 1)))
    np.testing.assert_allclose(final_proba(light, np.zeros((1, 1)))[:, [1, 5]], expected)


def test_ties_go_to_the_lowest_node():
    y = [["a"], ["b"], ["c"]]
    models = models_of(
        "flat", y, {0: Proba([0.5, 0.25, 0.25])}, own_weight=np.array([0, 2.0, 1, 1])
    )
    model = make("flat").fit(np.zeros((6, 1)), y * 2)
    training = training_shares(models)
    model._models = adapt(models, np.full(3, 1 / 3), training)
    np.testing.assert_allclose(model.predict_node_proba(np.zeros((1, 1))), [[1, *[1 / 3] * 3]])
    model._models = adapt(models, np.array([0.5, 0.25, 0.25]), training)
    assert model.predict_paths(np.zeros((1, 1)), 3)[0].ravel().tolist() == ["a", "b", "c"]


# -- shares that are given -----------------------------------------------------------------------


def share_by_hand(tree, ends, training, named, node):
    """Literally: the nearest named class at or above, less what is named below, in proportion."""

    def nearest(v):
        while v and v not in named:
            v = int(tree.parent[v])
        return v

    top = nearest(node)
    inside = [v for v in named if v != top and nearest(int(tree.parent[v])) == top]
    rest = (named[top] if top else 1.0) - sum(named[v] for v in inside)
    weights = {v: t for v, t in zip(ends, training, strict=True) if nearest(v) == top}
    return rest * weights[node] / sum(weights.values())


@EXAMPLES
@given(y=PATHS, data=st.data())
def test_given_shares_of_classes_at_any_level_by_brute_force(y, data):
    model = make("parent").fit(rows_for(y, 0), y)
    models, tree = model._models, model.hierarchy_
    ends = models.options.ends.tolist()
    training = training_shares(models)
    nodes = up_the_tree(tree, ends, drawn_shares(data, len(ends))[None])[0]
    chosen = data.draw(st.sets(st.integers(1, tree.n_nodes - 1)))
    named = {v: nodes[v] for v in chosen}
    found = given_shares(models, {tree.path(v): s for v, s in named.items()}, training)
    expected = [share_by_hand(tree, ends, training, named, v) for v in ends]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (
            {"A": 0.7, "B": 0.4},
            "in prior sum to 1.1, which is more than 1, the share of all classes",
        ),
        ({"A": 0.2, ("A", "x"): 0.3}, "below A sum to 0.3, which is more than 0.2, the share of A"),
        ({"A": 0.2, "B": 0.2, "C": 0.2}, "cover all classes, but they sum to 0.6 instead of 1"),
        ({"A": 0, "B": 0, "C": 0}, "cover all classes, but they sum to 0 instead of 1"),
        ({"D": 0.1}, "no class 'D'"),
        ({"A": -0.1}, "share of A in prior must be between 0 and 1; got -0.1"),
        ({"A": 1.5}, "between 0 and 1; got 1.5"),
        ({"A": float("nan")}, "between 0 and 1; got nan"),
        ({"A": "half"}, "between 0 and 1; got 'half'"),
        ({"A": True}, "between 0 and 1; got True"),
        ({"A": 0.1, ("A",): 0.1}, "names A twice"),
        ({(): 1.0}, "whose share is always 1"),
        ("A", "prior must be a dict"),
        ([0.5, 0.5], "prior must be a dict"),
        (np.ones(3), r"shape \(7,\), as prior_ has; got shape \(3,\)"),
    ],
)
def test_shares_that_cannot_be_are_refused(prior, message):
    models = tables()
    with pytest.raises(ValueError, match=message):
        given_shares(models, prior, training_shares(models))


def test_classes_without_training_rows_can_have_no_share():
    tree = Hierarchy.from_paths([*TREE, ["D"], ["B", "w"]])
    y = [path for path in TREE for _ in range(2)]
    model = make("parent", hierarchy=tree).fit(rows_for(y, 0), y)
    with pytest.raises(ValueError, match=r"gives D a share of 0\.1, but the class has no"):
        model.adapted_to(prior={"D": 0.1})
    with pytest.raises(ValueError, match=r"gives B > w a share of 0\.1"):
        model.adapted_to(prior={"B": 0.5, ("B", "w"): 0.1})
    assert model.adapted_to(prior={"D": 0, "A": 1}).prior_[1] == 1
    restricted = model.restricted_to([("B", "z"), "A"])
    with pytest.raises(ValueError, match=r"below B, but they sum to 0\.4 instead of 0\.5"):
        restricted.adapted_to(prior={"B": 0.5, ("B", "z"): 0.4})


def test_training_rows_without_weight_can_have_no_share():
    models = models_of("flat", [["a"], ["b"]], {}, own_weight=np.array([0.0, 3, 0]))
    training = training_shares(models)
    np.testing.assert_array_equal(training, [1, 0])
    with pytest.raises(ValueError, match="training rows of b have weight 0"):
        adapt(models, np.array([0.5, 0.5]), training)
    light = adapt(models, np.array([1.0, 0.0]), training)
    np.testing.assert_array_equal(light.log_weights, [0, -np.inf])


# -- shares in training --------------------------------------------------------------------------


def test_with_leaf_only_rows_that_end_early_are_shared_by_what_is_below_except_in_a_flat_model():
    # Two rows of A/x, one of A/y, three that end at A, and two of B.
    y = [["A", "x"]] * 2 + [["A", "y"]] + [["A"]] * 3 + [["B"]] * 2
    X = rows_for(y, 0)
    shares = {
        kind: make(kind, leaf_only=True).fit(X, y).prior_ for kind in ("node", "parent", "flat")
    }
    np.testing.assert_allclose(shares["flat"], [1, 0.6, 0.4, 0.2, 0.4])
    np.testing.assert_allclose(shares["parent"], [1, 0.75, 0.5, 0.25, 0.25])
    np.testing.assert_allclose(shares["node"], shares["parent"])


def test_negative_weights_count_as_none_and_without_any_weight_nothing_is_known():
    y = [["a"], ["b"]]
    some = models_of("flat", y, {}, own_weight=np.array([0.0, -1, 2]))
    np.testing.assert_array_equal(training_shares(some), [0, 1])
    assert training_shares(models_of("flat", y, {}, own_weight=np.zeros(3))) is None
    assert training_shares(models_of("flat", y, {})) is None


# -- shares that are estimated -------------------------------------------------------------------


def run(models, final, old, strength):
    """Until nothing changes any more."""
    return estimate(models, final, old, strength=strength, max_iter=1000)


def random_tree(seed):
    """Paths of a small tree at random, some of which end early."""
    rng = np.random.default_rng(seed)
    y = [["abc"[k] for k in rng.integers(0, 3, size=rng.integers(1, 4))] for _ in range(14)]
    models = models_of("parent", y, {})
    n = len(models.options.ends)
    return models, rng.dirichlet(np.ones(n)), rng.dirichlet(np.full(n, 0.3), size=40)


@pytest.mark.parametrize("seed", range(5))
def test_without_strength_it_is_the_algorithm_of_saerens(seed):
    models, old, final = random_tree(seed)
    found = run(models, final.copy(), old, 0.0)
    new = old
    for _ in range(found.n_iter):
        weighted = final * new / old
        new = (weighted / weighted.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(found.ratios, new / old, rtol=1e-9)
    assert 1 < found.n_iter < 1000
    np.testing.assert_allclose(found.objective[0], 0, atol=1e-12)  # probabilities sum to one


def literal_step(models, counts, old, strength):
    """Node by node: the expected rows of every branch, and as many more as the strength says."""
    tree, ends = models.hierarchy, models.options.ends.tolist()
    shares = dict.fromkeys(ends, 1.0)
    for node in range(tree.n_nodes):
        inside = {
            branch: [e for e in ends if (e == node if branch == node else e in below(tree, branch))]
            for branch in (*tree.children(node).tolist(), node)
        }
        inside = {branch: some for branch, some in inside.items() if some}
        if not len(tree.children(node)):
            continue
        total = {b: sum(counts[ends.index(e)] for e in some) for b, some in inside.items()}
        before = {b: sum(old[ends.index(e)] for e in some) for b, some in inside.items()}
        for b, some in inside.items():
            centre = before[b] / sum(before.values())
            given = (total[b] + strength * centre) / (sum(total.values()) + strength)
            for e in some:
                shares[e] *= given
    return np.array([shares[e] for e in ends])


@pytest.mark.parametrize("strength", [0.5, 7.0])
@pytest.mark.parametrize("seed", range(5))
def test_with_strength_every_node_has_so_many_more_rows(seed, strength):
    models, old, final = random_tree(seed)
    found = run(models, final.copy(), old, strength)
    new = old
    for _ in range(found.n_iter):
        weighted = final * new / old
        counts = (weighted / weighted.sum(axis=1, keepdims=True)).sum(axis=0)
        new = literal_step(models, counts, old, strength)
    np.testing.assert_allclose(found.ratios, new / old, rtol=1e-9)
    assert 1 < found.n_iter < 1000


@pytest.mark.parametrize("strength", [0.0, 3.0, 100.0])
def test_every_iteration_raises_what_is_maximised_and_the_last_one_hardly(strength):
    models, old, final = random_tree(9)
    rises = np.diff(run(models, final, old, strength).objective)
    assert (rises[:-1] >= 1e-6).all()
    assert -1e-12 < rises[-1] < 1e-6


def test_the_stronger_the_nearer_to_training():
    models, old, final = random_tree(3)
    away = [
        np.abs(run(models, final.copy(), old, s).ratios * old - old).sum()
        for s in (0, 1, 10, 100, 1e6)
    ]
    assert away == sorted(away, reverse=True)
    assert away[-1] < 1e-3


def test_rows_that_are_as_expected_change_nothing():
    models, _, final = random_tree(1)
    found = run(models, final.copy(), final.mean(axis=0), 0.0)
    np.testing.assert_allclose(found.ratios, 1)
    assert found.n_iter == 1


def test_rows_for_which_nothing_is_possible_say_nothing():
    models, old, final = random_tree(2)
    old[0], final[:, 0] = 0.0, 0.0
    old, final = old / old.sum(), final / final.sum(axis=1, keepdims=True)
    expected = run(models, final.copy(), old, 1.0)
    impossible = np.zeros((5, final.shape[1]))
    impossible[:, 0] = 1.0
    found = run(models, np.vstack([impossible, final]), old, 1.0)
    np.testing.assert_allclose(found.ratios, expected.ratios)
    assert found.ratios[0] == 0
    alone = run(models, impossible, old, 1.0)
    np.testing.assert_allclose(alone.ratios[1:], 1)


def test_a_limit_of_iterations_is_kept():
    models, old, final = random_tree(4)
    found = estimate(models, final, old, strength=0.0, max_iter=2)
    assert found.n_iter == 2


def test_a_tree_of_shares_is_taken_apart_and_put_together():
    models = tables()
    tree, shares = ShareTree(models), training_shares(models)
    np.testing.assert_allclose(tree.nodes(shares), [1, 0.4, 0.2, 0.1, 0.2, 0.15, 0.4])
    # The branches of the root, of A (x, y, stop) and of B (z, stop).
    np.testing.assert_allclose(
        tree.given_source(shares), [0.4, 0.2, 0.4, 0.5, 0.25, 0.25, 0.75, 0.25]
    )
    np.testing.assert_allclose(tree.multiplied(tree.given_source(shares)), shares)


def test_models_of_all_kinds_know_the_shares_in_training():
    X = rows_for(FOREST, 0)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(FOREST))
    for kind in KINDS:
        model = make(kind).fit(X, FOREST, sample_weight=weights)
        expected = np.zeros(model.hierarchy_.n_nodes)
        for path, weight in zip(FOREST, weights, strict=True):
            for depth in range(len(path) + 1):
                expected[model.hierarchy_.find(tuple(path[:depth])) if depth else 0] += weight
        np.testing.assert_allclose(model.prior_, expected / weights.sum())
