"""Decisions of joint models by search: always those of the full computation, from fewer queries."""

import numpy as np
import pytest
import scipy.sparse as sp
from fakes import Scores
from hypothesis import given, settings
from hypothesis import strategies as st
from model_helpers import SEEDS, TREE, models_of, peak_of
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC
from strategies import paths

from hiclass import LocalClassifierPerLevel, LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._inference import joint_search
from hiclass._inference.candidates import confidence_along
from hiclass._inference.decodings import DECODINGS, Wish, truncate
from hiclass._inference.joint_search import search_joint
from hiclass._inference.paths import direct_final_proba

MODULE = "hiclass._inference.joint_search"
ROWS = 9
X = np.arange(ROWS, dtype=float).reshape(-1, 1)
TREES = paths(min_rows=2, max_rows=40, depth=(1, 5), width=5)


class OfRow:
    """Has scores for every row, by its number in the first column."""

    def __init__(self, scores):
        self.scores = scores
        self.rows = []

    def decision_function(self, X):
        number = X[:, 0].astype(int)
        self.rows.extend(number.tolist())
        return self.scores[number]


def random_models(strategy, y, seed, *, scale, temperature, decimals=None, leaf_only=False):
    """A joint model with random scores; rounded, so that there are ties, on demand."""
    rng = np.random.default_rng(seed)

    def scores(*shape):
        drawn = rng.normal(-0.5, 1, size=(ROWS, *shape))
        return OfRow(scale * (drawn if decimals is None else drawn.round(decimals)))

    models = models_of(
        strategy, y, {}, leaf_only=leaf_only, soft=False, temperature=temperature, joint=True
    )
    for node, width in enumerate(np.diff(models.options.indptr).tolist()):
        if strategy == "parent" and width > 1:
            models.classifiers[node] = scores(*([] if width == 2 else [width]))
        elif strategy == "node" and width:
            children = models.hierarchy.children(node)
            models.classifiers.update({int(child): scores() for child in children})
            if models.options.can_stop[node]:
                models.gates[node] = scores()
    return models


@pytest.fixture(autouse=True)
def _search_all(monkeypatch):
    """Search also where the full computation is faster."""
    monkeypatch.setattr(f"{MODULE}._FEWEST_FOR_BEST", 0)
    monkeypatch.setattr(f"{MODULE}._FEWEST_FOR_MASS", 0)
    monkeypatch.setattr(f"{MODULE}._LARGEST_PART", 2)
    monkeypatch.setattr(f"{MODULE}._LARGEST_PART_AGAIN", 2)


def both(models, name, X=X, **wish):
    """The nodes that a decoding chooses, by search and by the full computation."""
    decoding = DECODINGS[name]
    found = []
    for only_nodes in (True, False):
        wanted = Wish(f=0.7, only_nodes=only_nodes, **wish)
        assert decoding.searches(models, wanted) == only_nodes
        decision = decoding.apply(models, X, wanted)
        decision = truncate(decision, models.hierarchy, wanted.min_confidence)
        found.append(decision.nodes)
    return found


# -- exact ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DECODINGS)
@pytest.mark.parametrize("strategy", ["parent", "node"])
@settings(max_examples=40)
@given(
    y=TREES,
    seed=SEEDS,
    scale=st.sampled_from([0.01, 1.0, 1000.0]),
    temperature=st.sampled_from([0.01, 0.125, 1.0, 100.0]),
    decimals=st.sampled_from([None, 0, 1]),
    min_confidence=st.sampled_from([0.0, 0.3, 0.9]),
    leaf_only=st.booleans(),
)
def test_the_search_decides_as_the_full_computation_ties_included(
    strategy, name, y, seed, scale, temperature, decimals, min_confidence, leaf_only
):
    models = random_models(
        strategy,
        y,
        seed,
        scale=scale,
        temperature=temperature,
        decimals=decimals,
        leaf_only=leaf_only,
    )
    searched, full = both(models, name, min_confidence=min_confidence)
    np.testing.assert_array_equal(searched, full)


@settings(max_examples=60)
@given(
    y=TREES,
    seed=SEEDS,
    temperature=st.sampled_from([0.01, 0.125, 1.0, 100.0]),
    least=st.sampled_from([1e-4, 0.01, 0.5]),
)
def test_what_was_missed_is_not_more_than_is_said(y, seed, temperature, least):
    models = random_models("parent", y, seed, scale=1.0, temperature=temperature)
    found = search_joint(models, X, False, least=least)
    proba = direct_final_proba(models, X)
    ends, final = models.options.ends, found.final
    places = np.searchsorted(ends, final.nodes)
    seen = np.bincount(final.rows, proba[final.rows, places], minlength=ROWS)
    assert (1 - seen <= found.missed * seen + 1e-9).all()
    np.testing.assert_allclose(final.proba, proba[final.rows, places] / seen[final.rows], 1e-6)
    # Also for every node: no probability is off by more.
    for at in found.levels:
        exact = [
            proba[row, (ends >= node) & (ends < models.hierarchy.subtree_end[node])].sum()
            for row, node in zip(at.rows, at.nodes, strict=True)
        ]
        assert (np.abs(at.proba - exact) <= found.missed[at.rows] + 1e-9).all()


@settings(max_examples=40)
@given(y=TREES, seed=SEEDS, temperature=st.sampled_from([0.125, 1.0]))
def test_what_is_called_proven_is_right(y, seed, temperature):
    """Without the full computation behind it."""
    models = random_models("node", y, seed, scale=1.0, temperature=temperature, decimals=1)
    goes_on = np.diff(models.options.indptr) > 0
    for name, propose in (
        ("best_path", joint_search.propose_best),
        ("expected_f1", lambda found: joint_search.propose_expected_f1(found, 0.7)),
        ("top_down", lambda found: joint_search.propose_top_down(found, goes_on)),
    ):
        nodes, proven = propose(search_joint(models, X, name == "best_path"))
        full = DECODINGS[name].decide(models, X, Wish(f=0.7)).nodes
        np.testing.assert_array_equal(nodes[proven], full[proven])


def test_one_class_and_one_child():
    for y in ([["a"]], [["a", "b", "c"]], [["a"], ["a", "b"]]):
        models = random_models("parent", y, 0, scale=1.0, temperature=1.0)
        for name in DECODINGS:
            searched, full = both(models, name)
            np.testing.assert_array_equal(searched, full)


def test_classes_that_tie_get_the_full_computation():
    """A and B score alike, to the last bit: none is proven, and the lower number wins."""
    tables = {0: Scores([2.0, 2.0, -1.0]), 1: Scores([1.0, 1.0, -5.0]), 4: Scores([-1.0])}
    models = models_of("parent", TREE, tables, soft=False, temperature=0.5, joint=True)
    _, proven = joint_search.propose_best(search_joint(models, X, True))
    assert not proven.any()
    searched, full = both(models, "best_path")
    np.testing.assert_array_equal(searched, full)
    assert set(full.tolist()) == {2}


@pytest.mark.parametrize("only_best", [False, True])
def test_scores_that_are_infinitely_low_prove_nothing(only_best):
    tables = {0: Scores([-1e300] * 3), 1: Scores([-1e300] * 3), 4: Scores([-1.0])}
    models = models_of("parent", TREE, tables, soft=False, temperature=1e-10, joint=True)
    found = search_joint(models, X, only_best)
    goes_on = np.diff(models.options.indptr) > 0
    for _, proven in (
        joint_search.propose_best(found),
        joint_search.propose_expected_f1(found, 0.8),
        joint_search.propose_top_down(found, goes_on),
    ):
        assert not proven.any()
    nodes = np.zeros(ROWS, dtype=int)
    assert np.isnan(confidence_along(models.hierarchy, nodes, found.levels)).all()


# -- which models and decisions are searched -----------------------------------------------------


def sure_models():
    """Three branches, of which the first is sure; below each are two, of which one is sure."""
    y = [[a, b, c] for a in "ABC" for b in "xy" for c in "uvw"]
    tables = {0: Scores([2.0, -2.0, -2.0])}
    models = models_of("parent", y, tables, soft=False, temperature=0.125, joint=True)
    for node, width in enumerate(np.diff(models.options.indptr).tolist()):
        if node and width:
            tables[node] = Scores([-2.0] if width == 2 else [2.0, -2.0, -2.0])
    return models, tables


@pytest.mark.parametrize("name", DECODINGS)
def test_the_classifiers_of_improbable_branches_are_not_queried(name):
    models, tables = sure_models()
    calls = {}
    for only_nodes in (True, False):
        for table in tables.values():
            table.calls = 0
        DECODINGS[name].apply(models, X, Wish(f=0.8, only_nodes=only_nodes))
        calls[only_nodes] = sum(table.calls for table in tables.values())
    assert calls == {True: 3, False: 10}


def test_rows_that_are_not_proven_are_searched_again_before_all_is_computed(monkeypatch):
    """Six branches below A of which two are close: what is left out at first could turn it."""
    y = [[a, b, c] for a in "ABCDEF" for b in "uvwxyz" for c in "ab"]
    tables = {}
    models = models_of("parent", y, tables, soft=False, temperature=1.0, joint=True)
    for node, width in enumerate(np.diff(models.options.indptr).tolist()):
        if width == 6:
            tables[node] = Scores([4.0, -1.0, -6.0, -6.0, -6.0, -6.0])
        elif width:
            tables[node] = Scores([0.03])
    wish = Wish(f=0.7, only_nodes=True)
    calls = {}
    for part in (0.0, 2.0):
        monkeypatch.setattr(f"{MODULE}._LARGEST_PART_AGAIN", part)
        for table in tables.values():
            table.calls = 0
        nodes = DECODINGS["top_down"].apply(models, X, wish).nodes
        calls[part] = sum(table.calls for table in tables.values())
        np.testing.assert_array_equal(nodes, both(models, "top_down")[1])
    assert calls[2.0] < calls[0.0]


@pytest.mark.parametrize(("lead", "n_searches"), [(3.0, 1), (1e-3, 3), (1e-6, 6)])
def test_the_closer_a_decision_the_smaller_what_is_left_out(lead, n_searches, monkeypatch):
    """A and B have so close scores that C to F, and all below them, have to be known well."""
    y = [[a, b, c] for a in "ABCDEF" for b in "uvwxyz" for c in "stuvwxyz"]
    tables = {}
    models = models_of("parent", y, tables, soft=False, temperature=1.0, joint=True)
    for node, width in enumerate(np.diff(models.options.indptr).tolist()):
        if width:
            tables[node] = Scores([9.0] + [-9.0] * (width - 1))
    tables[0] = Scores([lead, 0.0, -9.0, -9.0, -9.0, -9.0])
    searched = []
    search = joint_search.search_joint

    def counted(models, rows, only_best, most_held, least):
        searched.append(least)
        return search(models, rows, only_best, most_held, least)

    monkeypatch.setattr(f"{MODULE}.search_joint", counted)
    nodes, full = both(models, "top_down")
    np.testing.assert_array_equal(nodes, full)
    assert models.hierarchy.labels[nodes[0]] == "s"
    steps = list(dict.fromkeys(searched))  # where memory is short, halves of the rows
    assert steps == [10.0**-digits for digits in range(2, 2 + n_searches)]


def test_rows_that_tie_are_not_searched_once_all_is_known(monkeypatch):
    """Everything has to be opened at once here, so that smaller parts would add nothing."""
    models, tables = sure_models()
    for table in tables.values():
        table.prediction[:] = 0.0
    steps = []
    search = joint_search.search_joint

    def counted(models, rows, only_best, most_held, least):
        steps.append(least)
        return search(models, rows, only_best, most_held, least)

    monkeypatch.setattr(f"{MODULE}.search_joint", counted)
    nodes, full = both(models, "top_down")
    np.testing.assert_array_equal(nodes, full)
    assert steps == [1e-2]


def test_a_classifier_is_queried_about_a_row_once():
    y = [[a, b, c] for a in "ABC" for b in "xyz" for c in "uvw"]
    models = random_models("parent", y, 0, scale=1.0, temperature=0.5)
    assert search_joint(models, X, False) is not None
    assert models.classifiers[0].rows == list(range(ROWS))
    for classifier in models.classifiers.values():
        assert len(set(classifier.rows)) == len(classifier.rows)


def test_where_nothing_can_be_left_out_all_is_computed_and_nothing_more(monkeypatch):
    monkeypatch.setattr(f"{MODULE}._LARGEST_PART", 1 / 4)
    models, tables = sure_models()
    for table in tables.values():
        table.prediction[:] = 0.0
    assert search_joint(models, X, False) is None
    searched, full = both(models, "expected_f1")
    np.testing.assert_array_equal(searched, full)


def test_probabilities_and_leaves_that_must_be_reached_are_computed_in_full():
    models, _ = sure_models()
    for name, decoding in DECODINGS.items():
        assert not decoding.searches(models, Wish(f=0.8))
        forced = decoding.searches(models, Wish(f=0.8, leaf_only=True, only_nodes=True))
        assert forced == (name != "expected_f1")


def fitted(model_class, **params):
    rng = np.random.default_rng(0)
    y = np.array([[f"{a}", f"{a}{b}", f"{a}{b}{c}"] for a in "ABC" for b in "xy" for c in "uv"])
    y = np.repeat(y, 6, axis=0)
    rows = rng.normal(size=(len(y), 5))
    return model_class(LinearSVC(), **params).fit(rows, y), rows


def test_models_that_are_not_queried_node_by_node_are_not_searched():
    wish = Wish(f=0.8, only_nodes=True)
    local, rows = fitted(LocalClassifierPerParentNode, calibration="joint", temperature=0.5)
    level, _ = fitted(LocalClassifierPerLevel, calibration="joint", temperature=0.5)
    step, _ = fitted(LocalClassifierPerParentNode, calibration="temperature", temperature=0.5)
    part = local.restricted_to([("A",), ("B",)])
    assert DECODINGS["top_down"].searches(local._models, wish)
    for model in (level, step, part):
        assert not DECODINGS["top_down"].searches(model._models, wish)
        assert len(model.predict(rows)) == len(rows)


def test_small_trees_are_not_searched(monkeypatch):
    monkeypatch.setattr(f"{MODULE}._FEWEST_FOR_BEST", 16)
    monkeypatch.setattr(f"{MODULE}._FEWEST_FOR_MASS", 64)
    model, _ = fitted(LocalClassifierPerParentNode, calibration="joint", temperature=0.5)
    for decoding in DECODINGS.values():
        assert not decoding.searches(model._models, Wish(f=0.8, only_nodes=True))


# -- whole models, and memory ------------------------------------------------------------------


def large(n_rows=3000, branching=(9, 9, 4)):
    """A tree with 91 classifiers, and rows that are near the middles of their classes."""
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, width, n_rows) for width in branching])
    names = np.char.add(np.char.add(codes.astype(str), "-"), np.arange(3).astype(str))
    middles = [rng.normal(size=(width, 40)) for width in np.cumprod(branching)]
    place = [codes[:, 0], codes[:, 0] * 9 + codes[:, 1], codes @ [36, 4, 1]]
    rows = sum(m[p] for m, p in zip(middles, place, strict=True))
    return rows + 0.3 * rng.normal(size=rows.shape), names.astype(object)


@pytest.fixture(scope="module")
def large_model():
    rows, y = large()
    model = LocalClassifierPerParentNode(
        RidgeClassifier(), calibration="joint", temperature=0.2, expected_f1=0.8
    )
    return model.fit(rows, y), rows


@pytest.mark.parametrize("name", DECODINGS)
@pytest.mark.parametrize("min_confidence", [0.0, 0.5])
def test_predictions_do_not_depend_on_the_search(
    large_model, name, min_confidence, monkeypatch, limit_chunks
):
    model, rows = large_model
    model.set_params(decoding=name, min_confidence=min_confidence, n_jobs=None)
    searched = model.predict(rows)
    with monkeypatch.context() as patch:
        patch.setattr("hiclass._inference.decodings.can_search", lambda *args: False)
        full = model.predict(rows)
    np.testing.assert_array_equal(searched, full)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).predict(rows), full)
    model.set_params(n_jobs=None)
    for block, n_paths in ((1, 4), (64, 4), (1 << 17, 1)):
        monkeypatch.setattr(f"{MODULE}._BLOCK", block)
        monkeypatch.setattr(f"{MODULE}._N_PATHS", n_paths)
        np.testing.assert_array_equal(model.predict(rows[:300]), full[:300])
    limit_chunks(1, 1)  # one row at a time
    np.testing.assert_array_equal(model.predict(rows[:30]), full[:30])


def test_the_confidence_belongs_to_the_path_that_is_predicted(large_model):
    model, rows = large_model
    for name in DECODINGS:
        model.set_params(decoding=name, min_confidence=0.0)
        known = model.predict(rows) != ""
        np.testing.assert_array_equal(np.isnan(model.predict_confidence(rows)), ~known)


@pytest.mark.parametrize("model_class", [LocalClassifierPerParentNode, LocalClassifierPerNode])
def test_sparse_rows(model_class):
    rows, y = large(1500)
    rows = sp.csr_matrix(np.where(np.abs(rows) > 1, rows, 0))
    model = model_class(
        LinearSVC(tol=0.1, dual=True, random_state=0), calibration="joint", temperature=0.2
    ).fit(rows, y)
    for name in ("best_path", "top_down"):
        searched = model.set_params(decoding=name).predict(rows)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hiclass._inference.decodings.can_search", lambda *args: False)
            np.testing.assert_array_equal(searched, model.predict(rows))


@pytest.mark.parametrize("scale", [1.0, 0.0], ids=["sure", "unsure"])
def test_memory_is_bounded_whatever_the_scores(large_model, scale, monkeypatch, limit_chunks):
    """A row has 414 nodes; where all have to be looked at, the full computation has its chunks."""
    monkeypatch.setattr(f"{MODULE}._LARGEST_PART", 1 / 4)
    model, rows = large_model
    rows = np.tile(rows, (3, 1)) * scale
    model.set_params(decoding="expected_f1", min_confidence=0.0)
    limit_chunks(1 << 20, 1)
    monkeypatch.setattr(f"{MODULE}._BLOCK", 1 << 12)
    model.predict(rows[:10])
    peak, _ = peak_of(model.predict, rows)
    assert peak < 4 * (1 << 20)  # an array of all nodes would take 30 MB
