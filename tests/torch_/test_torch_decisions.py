"""Decisions that are computed where the outputs of a network are, against those of the host."""

import subprocess
import sys
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from law_helpers import PATHS, SEEDS, rows_for
from network_helpers import LOSSES, network, quick_network
from strategies import hierarchies_with_sets
from zoo import DAG, zoo

from hiclass import Hierarchy
from hiclass._inference.decodings import DECODINGS

pytestmark = pytest.mark.heavy

EXAMPLES = settings(max_examples=25)


@pytest.fixture(autouse=True, scope="module")
def every_decoding_here():
    """On the processor, too, where the host is faster for one of them."""
    with mock.patch("hiclass.torch._deciders._MOST_NODES_ON_HOST", new=0):
        yield


@contextmanager
def on_host():
    """Let the host decide, from probabilities that are copied to it."""
    with (
        mock.patch("hiclass._inference.decodings.decider_of", return_value=None),
        mock.patch("hiclass._inference.sets.decider_of", return_value=None),
    ):
        yield


def with_random_weights(model, seed):
    """The model with other weights, so large that most probabilities are close to 0 or 1."""
    rng = np.random.default_rng(seed)
    fitted = model._network()
    fitted.weights = {n: rng.normal(scale=2, size=w.shape) for n, w in fitted.weights.items()}
    fitted.weights = {n: w.astype(np.float32) for n, w in fitted.weights.items()}
    fitted.__post_init__()
    return model


def assert_decides_as_the_host(model, X):
    for only_nodes in (False, True):
        found = model._decide(X, only_nodes=only_nodes)
        with on_host():
            expected = model._decide(X, only_nodes=only_nodes)
        np.testing.assert_array_equal(found.nodes, expected.nodes)
        np.testing.assert_allclose(found.confidence, expected.confidence, atol=1e-9)


def variants(model, y, X, seed):
    """The model, the same restricted to some classes, for other shares of classes, and both."""
    rng = np.random.default_rng(seed)
    some = [tuple(path[: rng.integers(1, len(path) + 1)]) for path in y[: 1 + len(y) // 2]]
    yield model
    yield model.restricted_to(some)
    yield model.adapted_to(X, reference=X, strength=1.0)
    yield model.adapted_to(X, reference=X, strength=1.0).restricted_to(some).restricted_to(some[:1])


@EXAMPLES
@given(y=PATHS, seed=SEEDS, loss=LOSSES, leaf_only=st.booleans(), f=st.floats(0.05, 1))
def test_every_decoding_decides_as_on_the_host(y, seed, loss, leaf_only, f):
    X = rows_for(y, seed)
    model = quick_network(loss=loss, leaf_only=leaf_only, expected_f1=f, max_epochs=1).fit(X, y)
    with_random_weights(model, seed)
    for some in variants(model, y, X, seed):
        for decoding in DECODINGS:
            some.set_params(decoding=decoding, min_confidence=0.0)
            assert_decides_as_the_host(some, X)
            if not leaf_only:
                assert_decides_as_the_host(some.set_params(min_confidence=0.6), X)


@EXAMPLES
@given(y=PATHS, seed=SEEDS, loss=LOSSES, leaf_only=st.booleans(), n_seen=st.integers(1, 5))
def test_classes_of_a_stream_without_rows_are_left_out_as_on_the_host(
    y, seed, loss, leaf_only, n_seen
):
    X = rows_for(y, seed)
    model = quick_network(loss=loss, leaf_only=leaf_only, expected_f1=0.7)
    model.partial_fit(X[:n_seen], y[:n_seen], classes=y)
    with_random_weights(model, seed)
    for decoding in DECODINGS:
        assert_decides_as_the_host(model.set_params(decoding=decoding), X)


@EXAMPLES
@given(y=PATHS, seed=SEEDS, loss=LOSSES, k=st.integers(1, 20))
def test_the_most_probable_paths_are_those_of_the_host(y, seed, loss, k):
    X = rows_for(y, seed)
    model = with_random_weights(quick_network(loss=loss, max_epochs=1).fit(X, y), seed)
    paths, proba = model.predict_paths(X, k)
    with on_host():
        expected, expected_proba = model.predict_paths(X, k)
    np.testing.assert_allclose(proba, expected_proba, atol=1e-12)
    far = np.abs(np.diff(expected_proba, axis=1, append=-1)) > 1e-9
    far[:, 1:] &= far[:, :-1]  # unlike the path before and the one after it
    assert [str(p) for p in paths[far]] == [str(p) for p in expected[far]]


@EXAMPLES
@given(data=hierarchies_with_sets(), seed=SEEDS, loss=LOSSES, tuned=st.booleans())
def test_sets_are_those_of_the_host(data, seed, loss, tuned):
    hierarchy, y = data
    assume(any(y))
    X = rows_for(y, seed)
    model = quick_network(hierarchy=hierarchy, multi_label=True, loss=loss, max_epochs=1).fit(X, y)
    with_random_weights(model, seed)
    if tuned:
        rng = np.random.default_rng(seed)
        model.thresholds_ = rng.uniform(0.01, 1, size=model.hierarchy_.n_nodes)
        model.set_params(threshold="tuned")
    found = model.predict(X)
    with on_host():
        expected = model.predict(X)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("loss", ["conditional", "leaf"])
def test_one_label_in_a_dag_is_that_of_the_host(loss):
    X, y = zoo(80)
    labels = [row[0] for row in y]
    model = network(hierarchy=DAG, loss=loss, max_epochs=2).fit(X, labels)
    found = model.predict(X)
    with on_host():
        np.testing.assert_array_equal(found, model.predict(X))
    assert len(set(found.tolist())) > 1


@pytest.mark.parametrize("loss", ["conditional", "leaf"])
def test_of_equal_scores_the_lowest_node_is_taken(loss):
    """All classes of a level are equally probable, and sums are rounded differently."""
    y = [[f"a{i}", f"b{j}", f"c{k}"] for i in range(7) for j in range(3) for k in range(11)]
    X = np.ones((len(y), 2))
    model = quick_network(loss=loss, expected_f1=0.01, max_epochs=1).fit(X, y)
    fitted = model._network()
    fitted.weights = {n: np.zeros_like(w) for n, w in fitted.weights.items()}
    fitted.__post_init__()
    for decoding, expected in [
        ("top_down", ["a0", "b0", "c0"]),
        ("best_path", ["a0", "b0", "c0"]),
        ("expected_f1", ["a0", "b0", ""]),  # 1/231 is less than half of 0.01
    ]:
        model.set_params(decoding=decoding)
        assert model.predict(X[:2]).tolist() == [expected] * 2
    for k in (3, 20):
        paths, proba = model.predict_paths(X[:1], k)
        assert paths[0].tolist() == sorted(y)[:k]
        np.testing.assert_allclose(proba, 1 / len(y))


def test_a_path_that_may_stop_stops_on_a_tie():
    y = [["a"], ["a", "b"], ["a", "c"]]
    X = np.ones((3, 2))
    for loss in ("conditional", "leaf"):
        model = quick_network(loss=loss, max_epochs=1, decoding="top_down").fit(X, y)
        fitted = model._network()
        fitted.weights = {n: np.zeros_like(w) for n, w in fitted.weights.items()}
        fitted.__post_init__()
        assert model.predict(X[:1]).tolist() == [["a", ""]]
        np.testing.assert_allclose(model.predict_confidence(X[:1]), [[1.0, np.nan]])


def test_confidences_never_rise_where_running_sums_fall_by_a_rounding():
    """A sum that is computed in parallel may: here that of "a" is below that of its first child."""
    import torch

    from hiclass.torch._deciders import NetworkPaths

    X, y = np.eye(3), [["a", "x"], ["a", "y"], ["b", "z"]]
    model = quick_network(loss="leaf", max_epochs=1).fit(X, y)
    decider = NetworkPaths(model._network(), model._models)
    falls = np.nextafter(0.6, 0.0)
    running = torch.tensor([[0.6, falls, 1.0]], dtype=torch.float64)
    nodes, reached = decider._decisions.walk.on_sums(running)
    assert model.hierarchy_.path(int(nodes[0])) == ("a", "x")
    assert reached.tolist() == [[falls, falls]]


def test_rows_go_through_in_pieces_that_keep_within_a_budget(hard, monkeypatch):
    X, y = hard
    model = network(max_epochs=2, expected_f1=0.8).fit(X, y)
    whole = {d: model.set_params(decoding=d)._decide(X) for d in DECODINGS}
    paths = model.predict_paths(X, 3)
    monkeypatch.setattr("hiclass.torch._network._MOST_BYTES", 1)  # one row at a time, at least
    model._network().__post_init__()
    seen = []
    outputs = type(model._network()).outputs
    monkeypatch.setattr(
        "hiclass.torch._network.FittedNetwork.outputs",
        lambda self, X, n: seen.append(n) or outputs(self, X, n),
    )
    for decoding, expected in whole.items():
        found = model.set_params(decoding=decoding)._decide(X)
        np.testing.assert_array_equal(found.nodes, expected.nodes)
        np.testing.assert_allclose(found.confidence, expected.confidence, atol=1e-6)
    np.testing.assert_array_equal(model.predict_paths(X, 3)[0], paths[0])
    assert set(seen) == {1}


@pytest.mark.parametrize("loss", ["conditional", "leaf"])
def test_the_host_computes_expected_f_scores_of_few_classes_only(hard, loss, monkeypatch):
    """It needs up to six times as long for the other decodings."""
    X, y = hard
    model = network(max_epochs=1, loss=loss, expected_f1=0.8).fit(X, y)
    n_nodes = model.hierarchy_.n_nodes
    proba, on_the_host = type(model._network()).predict_proba, []
    monkeypatch.setattr(
        "hiclass.torch._network.FittedNetwork.predict_proba",
        lambda self, X: on_the_host.append(model.decoding) or proba(self, X),
    )
    for most, expected in ((n_nodes, {"expected_f1"}), (n_nodes - 1, set())):
        monkeypatch.setattr("hiclass.torch._deciders._MOST_NODES_ON_HOST", most)
        on_the_host.clear()
        for decoding in DECODINGS:
            model.set_params(decoding=decoding)
            model.predict(X)
            model.predict_confidence(X)
            model.predict_paths(X)
        assert set(on_the_host) == expected


def test_a_decoding_of_the_user_sees_probabilities_on_the_host(hard):
    X, y = hard
    model = network(max_epochs=2).fit(X, y)

    def deepest_sure(proba, hierarchy):
        return np.where(proba > 0.5, np.arange(hierarchy.n_nodes), 0).max(axis=1)

    model.set_params(decoding=deepest_sure)
    proba = model.predict_node_proba(X)
    np.testing.assert_array_equal(model._decide(X).nodes, deepest_sure(proba, model.hierarchy_))


@pytest.mark.parametrize("loss", ["conditional", "leaf"])
def test_probabilities_that_are_not_numbers_are_refused(hard, loss):
    X, y = hard
    model = network(max_epochs=1, loss=loss).fit(X, y)
    fitted = model._network()
    fitted.weights = {n: np.full_like(w, np.nan) for n, w in fitted.weights.items()}
    fitted.__post_init__()
    for decoding in DECODINGS:
        model.set_params(decoding=decoding, expected_f1=0.5)
        for method in (model.predict, model.predict_confidence, model.predict_paths):
            with pytest.raises(ValueError, match="a probability of NaN"):
                method(X)


def test_what_decides_is_kept_for_the_last_models_that_share_a_network(hard):
    X, y = hard
    model = network(max_epochs=1).fit(X, y)
    some = [
        model.restricted_to([path]) for path in sorted({tuple(filter(None, path)) for path in y})
    ]
    for _ in range(2):
        for restricted in (model, *some):
            restricted.predict(X)
    assert len(model._network()._kept) == 4


def test_a_hierarchy_of_one_class_has_one_answer():
    model = quick_network().fit([[0.0], [1.0]], ["a", "a"])
    assert model.predict([[3.0]]).tolist() == ["a"]
    assert model.predict_confidence([[3.0]]).tolist() == [[1.0]]
    assert isinstance(model.hierarchy_, Hierarchy)


MEMORY = """
import numpy as np
from hiclass.torch import HierarchicalSoftmaxClassifier


def peak():  # ru_maxrss would start at the peak of the parent process
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1])


rng = np.random.default_rng(0)
labels = [f"leaf {i % 1000}" for i in range(2000)]
model = HierarchicalSoftmaxClassifier(max_epochs=1, random_state=0, device="cpu")
model.fit(rng.normal(size=(2000, 8)), labels)
X = rng.normal(size=(250_000, 8)).astype(np.float32)
model.predict(X[:10_000])
before = peak()
model.predict(X)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc/self/status")
def test_memory_of_predictions_does_not_grow_with_the_number_of_rows():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    # All probabilities would be two million kilobytes.
    assert int(done.stdout) < 400_000
