"""Features inside a network: what is measured, and that it is folded into the weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from network_helpers import network

pytestmark = pytest.mark.heavy


def test_dense_features_get_one_spread_and_rows_a_mean_squared_length_of_one():
    from hiclass.torch._inputs import measure_inputs

    X = np.random.default_rng(0).normal([1, 50, -3], [0.1, 20, 1], size=(500, 3))
    inputs = measure_inputs(X.astype(np.float32), None, hidden=False)
    inside = (X - inputs.mean) * inputs.factor
    np.testing.assert_allclose(inside.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(inside.var(axis=0), 1 / 3, rtol=1e-4)
    np.testing.assert_allclose((inside**2).sum(axis=1).mean(), 1, rtol=1e-4)
    hidden = measure_inputs(X.astype(np.float32), None, hidden=True)
    np.testing.assert_allclose(((X - hidden.mean) * hidden.factor).std(axis=0), 1, rtol=1e-4)


def test_weights_of_rows_count():
    from hiclass.torch._inputs import mean_squared_length, measure_inputs

    X = np.array([[0.0, 2.0], [4.0, 6.0], [1e6, 1e6]], dtype=np.float32)
    inputs = measure_inputs(X, np.array([1.0, 3.0, 0.0]), hidden=True)
    np.testing.assert_allclose(inputs.mean, [3, 5])
    np.testing.assert_allclose(1 / inputs.factor, [3**0.5, 3**0.5])
    assert mean_squared_length(X, np.array([1.0, 3.0, 0.0])) == pytest.approx((4 + 3 * 52) / 4)
    sparse = sp.csr_matrix(X)
    assert mean_squared_length(sparse, np.array([1.0, 3.0, 0.0])) == pytest.approx(40)
    found = measure_inputs(sparse, np.array([1.0, 3.0, 0.0]), hidden=False)
    assert found.mean is None
    assert found.factor == pytest.approx(40**-0.5)


def test_features_that_do_not_vary_count_as_usual_ones():
    from hiclass.torch._inputs import measure_inputs

    X = np.array([[7.0, 0.0, 1e8], [7.0, 6.0, 1e8]], dtype=np.float32)
    np.testing.assert_allclose(measure_inputs(X, None, hidden=True).factor, 1 / 3)
    alone = measure_inputs(X[:1], None, hidden=True)
    np.testing.assert_allclose(alone.factor, 1)
    empty = measure_inputs(sp.csr_matrix((3, 5), dtype=np.float32), None, hidden=False)
    assert empty.factor == 1


def test_features_that_never_vary_do_not_make_the_others_smaller():
    from hiclass.torch._inputs import measure_inputs

    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    wide = np.hstack([X, np.ones((50, 200), dtype=np.float32)])
    expected = measure_inputs(X, None, hidden=False).factor
    np.testing.assert_allclose(measure_inputs(wide, None, hidden=False).factor[:3], expected)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_measured_in_parts_are_measured_as_a_whole(container, weighted):
    from hiclass.torch._inputs import Moments

    rng = np.random.default_rng(0)
    X = container(rng.normal([0, 5, 1e4], [1, 0.1, 30], size=(60, 3)).astype(np.float32))
    weights = rng.integers(0, 3, size=60).astype(float) if weighted else None
    weights = None if weights is None else np.where(np.arange(60) < 20, 0, weights)
    parts = [slice(0, 1), slice(1, 20), slice(20, 60)]
    some = [Moments.of(X[p], None if weights is None else weights[p]) for p in parts]
    found, whole = some[0].plus(some[1]).plus(some[2]), Moments.of(X, weights)
    assert (found.n_rows, found.weight) == (whole.n_rows, whole.weight)
    assert found.n_rows == (60 if weights is None else np.count_nonzero(weights))
    np.testing.assert_allclose(found.square, whole.square, rtol=1e-6)
    if container is np.asarray:
        np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-9)


def test_many_rows_are_measured_on_some(monkeypatch):
    from hiclass.torch import _inputs

    monkeypatch.setattr(_inputs, "_MEASURED", 3)
    X = np.arange(5, dtype=np.float32)[:, None]
    np.testing.assert_allclose(_inputs.measure_inputs(X, None, hidden=True).mean, [2])


@pytest.mark.parametrize(
    "params",
    [{}, {"embedding_dim": 4}, {"hidden_layers": (6,)}, {"embedding_dim": 4, "hidden_layers": [5]}],
    ids=["linear", "embedding", "hidden", "both"],
)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_fitted_network_takes_rows_as_they_are(hard, params, sparse):
    """What the trainer computes from rows as they are is what the folded weights give."""
    import torch

    from hiclass.torch._batches import make_rows
    from hiclass.torch._network import LastLayer, hidden_layers

    X, y = hard
    X = (X * [1, 10, 100, 0.1, 1, 1] + 5).astype(np.float32)
    X = sp.csr_matrix(X) if sparse else X
    model = network(**params).partial_fit(X, y)
    trainer, fitted = model._trainer, model._network()
    for rows in (X, sp.csr_matrix(X), X.toarray() if sparse else X):
        batch = make_rows(rows, None, _AnyLayout(), None).whole()
        with torch.no_grad():
            x = trainer._first_layer(batch, sparse_gradient=False)
            x = hidden_layers(trainer.weights, trainer.shape, x)
            inside = LastLayer(trainer.weights, trainer.shape).all(x).numpy()
        weights = {name: torch.tensor(value) for name, value in fitted.weights.items()}
        with torch.no_grad():
            x = torch.tensor(X.toarray() if sparse else X) @ weights["0.weight"]
            x = x + weights.get("0.bias", 0)
            x = hidden_layers(weights, fitted.shape, x)
            outside = LastLayer(weights, fitted.shape).all(x).numpy()
        np.testing.assert_allclose(outside, inside, atol=2e-3)
    again = trainer.inputs.unfold(trainer.shape, weights)
    for name, value in again.items():
        np.testing.assert_allclose(value, trainer.weights[name].detach(), atol=1e-3, rtol=1e-3)


class _AnyLayout:
    """Labels do not matter here."""

    def select(self, target):
        return np.zeros(10_000, dtype=int)

    def compared(self, nodes):
        return (nodes,)


def test_the_scale_of_features_does_not_matter(hard):
    X, y = hard
    expected = network().fit(X, y).predict_node_proba(X)
    scale = np.array([1, 1e3, 1e-3, 7, 1, 1])
    found = network().fit(X * scale + 3 * scale, y).predict_node_proba(X * scale + 3 * scale)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    sparse = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0))
    expected = network().fit(sparse, y).predict_node_proba(sparse)
    found = network().fit(sparse * 100, y).predict_node_proba(sparse * 100)
    np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("wrapped", [False, True])
def test_rows_in_reverse_order_are_read_without_a_copy_by_the_user(
    hard, wrapped, many, monkeypatch
):
    class Wrapped:
        def __init__(self, rows):
            self.rows, self.shape = rows, rows.shape

        def __array__(self, dtype=None, copy=None):
            return self.rows

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, some):
            return Wrapped(self.rows[some])

    if many:
        monkeypatch.setattr("hiclass.torch._batches._MANY", 1)
    X, y = hard
    X = X.astype(np.float32)
    for turned, labels in ((X[::-1], y[::-1]), (X[:, ::-1], y), (np.flip(X), y[::-1])):
        plain = turned.copy()
        expected = network(max_epochs=2).fit(plain, labels)
        turned = Wrapped(turned) if wrapped else turned
        model = network(max_epochs=2).fit(turned, labels)
        np.testing.assert_array_equal(model.predict(turned), expected.predict(plain))
        np.testing.assert_array_equal(model.predict(turned[:1]), expected.predict(plain[:1]))
        assert model.partial_fit(turned, labels).n_epochs_ == 3


@pytest.mark.parametrize("params", [{}, {"embedding_dim": 4}, {"hidden_layers": (6,)}])
@pytest.mark.parametrize("sparse", [False, True])
def test_another_scale_changes_nothing_but_the_numbers_inside(hard, params, sparse):
    from hiclass.torch._inputs import measure_inputs

    X, y = hard
    X = sp.csr_matrix(np.where(X > 0, X, 0)) if sparse else X
    model = network(**params).partial_fit(X[:50], y[:50], classes=y)
    trainer = model._trainer
    before = {name: value.clone() for name, value in trainer.weights.items()}
    fitted = {name: value.clone() for name, value in trainer.fitted_weights().items()}
    varied = np.ones(1 if sparse else X.shape[1], dtype=bool)
    trainer.rescale(measure_inputs(100 * X, None, hidden=bool(trainer.shape.hidden)), varied)
    for name, value in trainer.fitted_weights().items():
        np.testing.assert_allclose(value, fitted[name], atol=1e-5)
    first = trainer.weights["0.weight"].detach()
    assert abs(first).max() > 10 * abs(before["0.weight"]).max()
