"""Going on with a network: partial_fit after fit, many calls, copies, and what must not change."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from network_helpers import network
from zoo import DAG, zoo

from hiclass import Hierarchy

pytestmark = pytest.mark.heavy


def words(n_rows, seed=0, n_classes=24, n_words=1200):
    """Sparse rows of ten words; most words are rare, and two kinds of them tell the class."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(n_classes, size=n_rows)
    own = n_classes * rng.integers(8, size=(n_rows, 3)) + leaf[:, None]
    other = rng.integers(8 * n_classes, n_words, size=(n_rows, 5))
    wrong = rng.integers(8 * n_classes, size=(n_rows, 2))
    columns = np.hstack([own, other, wrong]).ravel()
    rows = np.repeat(np.arange(n_rows), 10)
    X = sp.csr_matrix((np.full(len(rows), 10**-0.5), (rows, columns)), (n_rows, n_words))
    return X, np.column_stack([leaf // 4, leaf]).astype(str)


@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
def test_rows_like_those_before_change_a_fitted_model_by_less_than_half_a_point(dense):
    X, y = words(4000)
    X_new, y_new = words(2000, seed=1)
    if dense:
        project = np.random.default_rng(2).normal(size=(X.shape[1], 48))
        X, X_new = X @ project, X_new @ project
    X_test, y_test, X_new, y_new = X_new[1000:], y_new[1000:], X_new[:1000], y_new[:1000]
    fitted = network().fit(X, y)
    before = fitted.score(X_test, y_test)
    assert before > 0.6
    for model in (fitted, pickle.loads(pickle.dumps(fitted))):
        for n_rows in (384, 20, 1):
            one = copy.deepcopy(model).partial_fit(X_new[:n_rows], y_new[:n_rows])
            assert one.score(X_test, y_test) > before - 0.005
        for start in range(0, 400, 20):
            model.partial_fit(X_new[start : start + 20], y_new[start : start + 20])
            assert model.score(X_test, y_test) > before - 0.005


def test_calls_of_partial_fit_lead_as_far_as_fit_batches():
    X, y = words(4000)
    X_test, y_test = words(1000, seed=1)
    for size, n_passes in ((384, 1), (384, 5), (50, 1)):
        parts = [(X[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]
        stream = network(max_epochs=n_passes).fit_batches(parts, classes=y)
        calls = network()
        for _ in range(n_passes):
            for X_part, y_part in parts:
                calls.partial_fit(X_part, y_part, classes=y)
        assert calls.score(X_test, y_test) > stream.score(X_test, y_test) - 0.01


def test_weights_of_features_that_a_batch_does_not_have_stay():
    X, y = words(1000)
    model = network().fit(X, y)
    before = model._network().weights["0.weight"]
    after = model.partial_fit(X[:1], y[:1])._network().weights["0.weight"]
    changed = (after != before).any(axis=1)
    assert set(np.flatnonzero(changed)) <= set(X[:1].indices)
    assert changed.any()


def test_dense_rows_without_a_penalty_and_many_weights(monkeypatch):
    """Of sparse rows few weights have a gradient, of dense ones all have."""
    monkeypatch.setattr("hiclass.torch._train._MANY_WEIGHTS", 8)
    X, y = words(300)
    dense = X.toarray()
    params = {"penalty": 0.0, "embedding_dim": 8, "max_epochs": 3}
    assert network(**params).fit(dense, y).score(dense, y) > 0.5
    model = network(**params).partial_fit(X, y).partial_fit(dense, y).partial_fit(X, y)
    assert model.predict(X).shape == y.shape
    model = network(**params).partial_fit(dense, y).partial_fit(X, y)
    np.testing.assert_allclose(
        model.predict_node_proba(X), model.predict_node_proba(dense), atol=1e-5
    )
    assert network(**params, clip_norm=0.5).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "conditional"),
        ("hidden_layers", (4,)),
        ("embedding_dim", 3),
        ("multi_label", True),
        ("leaf_only", True),
        ("recursive", True),
        ("standardize", False),
    ],
)
def test_parameters_of_the_network_that_are_set_between_calls_are_refused(hard, name, value):
    X, y = hard
    model = network().partial_fit(X, y)
    before = model.predict_node_proba(X)
    was = model.get_params()[name]
    model.set_params(**{name: value})
    message = rf"^{name} is .*, but the network was created with .* Call fit to"
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y)
    model.set_params(**{name: was})
    np.testing.assert_array_equal(model.predict_node_proba(X), before)
    model.partial_fit(X, y)


def test_another_hierarchy_between_calls_is_refused(hard):
    X, y = hard
    model = network().partial_fit(X, y)
    model.set_params(hierarchy=model.hierarchy_).partial_fit(X, y)
    model.set_params(hierarchy=Hierarchy.from_paths([["a"], ["b"]]))
    with pytest.raises(ValueError, match=r"^hierarchy is .*, but the network has the classes"):
        model.partial_fit(X, y)


def test_a_deep_copy_learns_on_as_the_original_does(hard):
    X, y = hard
    model = network(embedding_dim=8, dropout=0.2).partial_fit(X, y).partial_fit(X, y)
    other = copy.deepcopy(model)
    assert other._trainer is not model._trainer
    model.partial_fit(X, y)
    other.partial_fit(X, y)
    np.testing.assert_array_equal(other.predict_node_proba(X), model.predict_node_proba(X))


def test_other_settings_between_calls_keep_the_optimiser(hard):
    X, y = hard
    model = network().partial_fit(X, y)
    n_steps = model._trainer._optimisers[0].state_dict()["state"][0]["step"]
    model.set_params(penalty=1e-3, learning_rate=0.01).partial_fit(X, y)
    assert model._trainer.settings.penalty == 1e-3
    assert model._trainer._optimisers[0].state_dict()["state"][0]["step"] > n_steps


def test_a_batch_whose_weights_are_zero_is_passed_over(hard):
    X, y = hard
    nothing = (X[:50], y[:50], np.zeros(50))
    parts = [(X[i::5], y[i::5], np.ones(len(y[i::5]))) for i in range(5)]
    with_void = network(max_epochs=2).fit_batches([parts[0], nothing, *parts[1:]], classes=y)
    assert with_void.n_epochs_ == 2
    assert with_void.score(X, y) > 0.6
    first = network(max_epochs=2).fit_batches([nothing, *parts], classes=y)
    assert first.score(X, y) > 0.6
    model = network().fit(X, y)
    before = model.predict_node_proba(X)
    model.partial_fit(*nothing[:2], sample_weight=nothing[2])
    np.testing.assert_allclose(model.predict_node_proba(X), before, atol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("standardize", [False, True])
def test_rows_of_weight_zero_do_not_set_scales(hard, container, standardize):
    X, y = hard
    far = np.vstack([X, 1e4 * X[:40]])
    weights = np.repeat([1.0, 0.0], [len(y), 40])
    params = {"hidden_layers": (8,), "batch_size": 10_000, "standardize": standardize}
    params |= {"max_epochs": 1, "learning_rate": 1e-9}
    model = network(**params).fit(container(far), np.vstack([y, y[:40]]), sample_weight=weights)
    expected = network(**params).fit(container(X), y)
    np.testing.assert_allclose(
        model._network().weights["0.weight"], expected._network().weights["0.weight"], rtol=1e-4
    )


def test_sets_learn_on(hard):
    X, y = zoo(80)
    model = network(hierarchy=DAG, multi_label=True).fit(X, y)
    before = model.score(X, y)
    assert model.partial_fit(X[:40], y[:40]).score(X, y) > before - 0.02
