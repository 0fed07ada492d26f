"""The fitted network: files, threads, devices, and predictions in pieces."""

import copy
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from network_helpers import network
from sklearn.base import clone
from zoo import DAG, zoo

from hiclass import TRUSTED_TYPES

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("sets", [False, True], ids=["paths", "sets"])
def test_files_hold_arrays_and_predict_the_same(hard, sets, tmp_path):
    import skops.io

    X, y = hard
    model = network(hidden_layers=(8,))
    if sets:
        X, y = zoo(80)
        model.set_params(hierarchy=DAG, multi_label=True)
    model.fit(X, y)
    expected = model.predict_node_proba(X)
    content = pickle.dumps(model)
    assert b"torch.storage" not in content  # no tensor of PyTorch
    joblib.dump(model, tmp_path / "model")
    data = skops.io.dumps(model)
    assert set(skops.io.get_untrusted_types(data=data)) <= set(TRUSTED_TYPES)
    for back in (
        pickle.loads(content),
        joblib.load(tmp_path / "model"),
        skops.io.loads(data, trusted=list(TRUSTED_TYPES)),
        copy.deepcopy(model),
    ):
        np.testing.assert_array_equal(back.predict_node_proba(X), expected)
        assert all(type(w) is np.ndarray for w in back._network().weights.values())
        assert back.partial_fit(X, y).predict_node_proba(X).shape == expected.shape


def test_weights_in_a_mapped_file_predict_without_a_warning(hard, tmp_path):
    X, y = hard
    model = network(hidden_layers=(64,)).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    np.testing.assert_array_equal(mapped.predict_node_proba(X), model.predict_node_proba(X))


def test_a_model_from_another_device_predicts_here(hard):
    """As if trained on a device that this machine does not have."""
    X, y = hard
    model = network().fit(X, y)
    expected = model.predict_node_proba(X)
    model.device = model._network().device = "xpu:7"
    there = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(there.predict_node_proba(X), expected)


@pytest.mark.parametrize("sets", [False, True])
def test_an_error_about_memory_of_predictions_names_rows_and_a_remedy(hard, sets, monkeypatch):
    X, y = hard
    model = network(max_epochs=1, multi_label=sets)
    model.fit(X, [[tuple(path)] for path in y] if sets else y)
    error = RuntimeError("DefaultCPUAllocator: not enough memory: 8 TB\nmore")

    def fails(self, X, n_rows):
        raise error

    monkeypatch.setattr("hiclass.torch._network.FittedNetwork.outputs", fails)
    names = ("predict", "predict_paths", "predict_node_proba")
    for name in names if sets else (*names, "predict_proba", "predict_confidence"):
        message = rf"for {len(X)} rows do not fit.*8 TB\)\. Predict at most {len(X) // 2} rows"
        with pytest.raises(MemoryError, match=message):
            getattr(model, name)(X)
        with pytest.raises(MemoryError, match=r"for 1 rows do not fit.*8 TB\)\. For the most"):
            getattr(model, name)(X[:1])
    error = RuntimeError("else")
    with pytest.raises(RuntimeError, match=r"^else$"):
        model.predict(X)


@pytest.mark.parametrize("device", ["xpu:7", "gpu", "meta", "hpu"])
def test_a_device_that_is_not_there_is_an_error_that_names_the_remedy(hard, device):
    with pytest.raises(ValueError, match=rf"device='{device}' cannot be used here.*device='cpu'"):
        network(device=device).fit(*hard)


def test_a_device_that_is_set_after_fit_is_where_predictions_are_computed(hard):
    import torch

    X, y = hard
    model = network(device="cpu").fit(X, y)
    expected = model.predict_node_proba(X)
    some = model.restricted_to([("Animal",)])
    for fitted in (model, some):
        before = fitted.predict_node_proba(X)
        fitted.set_params(device="meta")
        with pytest.raises(ValueError, match="device='meta' cannot be used here: Cannot copy out"):
            fitted.predict(X)
        with pytest.raises(ValueError, match="device='meta' cannot be used here: Cannot copy out"):
            fitted.module_  # noqa: B018
        fitted.set_params(device="cpu:0")
        assert next(fitted.module_.parameters()).device.type == "cpu"
        np.testing.assert_array_equal(fitted.predict_node_proba(X), before)
        assert fitted._network()._on_device()[0] == torch.device("cpu:0")
        assert clone(fitted).device == "cpu:0"
    np.testing.assert_array_equal(model.predict_node_proba(X), expected)


def test_a_device_that_is_set_after_fit_is_where_partial_fit_computes(hard):
    X, y = hard
    model = network(device="cpu").partial_fit(X, y)
    model.set_params(device="cpu:0").partial_fit(X, y)
    assert str(model._trainer.device) == "cpu:0"
    assert model._network().device == "cpu:0"


@pytest.mark.parametrize(
    ("device", "message"),
    [("xpu:7", r"device='xpu:7' cannot be used here.*device='cpu'"), (3, "'device' parameter")],
)
def test_a_device_that_is_set_after_fit_and_not_there_is_refused(hard, device, message):
    X, y = hard
    model = network().fit(X, y)
    model.set_params(device=device)
    for method in (model.predict, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match=message):
            method(X)
    assert model.set_params(device="cpu").predict(X).shape == y.shape


def test_threads_may_predict_at_the_same_time(hard):
    X, y = hard
    model = pickle.loads(pickle.dumps(network(hidden_layers=(16,)).fit(X, y)))
    predict = joblib.delayed(model.predict_node_proba)
    many = joblib.Parallel(n_jobs=4, backend="threading")(predict(X) for _ in range(16))
    for proba in many:
        np.testing.assert_array_equal(proba, many[0])


def test_predict_in_pieces_gives_the_same_probabilities(hard, monkeypatch):
    X, y = hard
    model = network().fit(X, y)
    whole = model.predict_node_proba(X)
    monkeypatch.setattr("hiclass.torch._network._MOST_NUMBERS", 100)
    np.testing.assert_allclose(model.predict_node_proba(X), whole, atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("sets", [False, True], ids=["paths", "sets"])
@pytest.mark.parametrize("stream", [False, True], ids=["fraction", "stream"])
def test_rows_to_stop_on_are_scored_in_pieces(hard, stream, sets, sparse, monkeypatch):
    from hiclass.torch._train import Trainer

    X, y = hard
    model = network(max_epochs=2, hidden_layers=(8,))
    if sets:
        X, y = zoo(80)
        model.set_params(hierarchy=DAG, multi_label=True)
    n_rows = len(X)
    X = sp.csr_array(X) if sparse else X
    scored = []
    losses = Trainer._losses

    def watched(self, batch, *, training):
        if not training:
            scored.append(batch.n_rows)
        return losses(self, batch, training=training)

    monkeypatch.setattr(Trainer, "_losses", watched)

    def curve():
        scored.clear()
        if not stream:
            model.set_params(validation_fraction=0.5).fit(X, y)
            return model.validation_curve_
        weight = np.linspace(0, 1, n_rows)
        model.fit_batches([(X, y)], classes=None if sets else y, validation=(X, y, weight))
        return model.validation_curve_

    whole = curve()
    n_held_out = n_rows if stream else round(0.5 * n_rows)
    assert scored == [n_held_out] * 2
    widest = max(model._network().shape.n_outputs, 8)
    monkeypatch.setattr("hiclass.torch._network._MOST_NUMBERS", 7 * widest + 1)
    np.testing.assert_allclose(curve(), whole, rtol=1e-5)
    assert max(scored) == 7
    assert sum(scored) == 2 * n_held_out


# -- rows to outputs ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_slices_of_sparse_rows_are_those_of_the_matrix(kind):
    from hiclass.torch._network import as_tensors

    X = sp.random_array((20, 9), density=0.3, format="csr", dtype=np.float32, rng=0)
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    before = X.toarray()
    for first, last in ((0, 20), (3, 3), (3, 11), (19, 20)):
        indices, offsets, values = (t.numpy() for t in as_tensors(X, slice(first, last)))
        found = sp.csr_array((values, indices, offsets), shape=(last - first, 9))
        np.testing.assert_array_equal(found.toarray(), before[first:last])
        np.testing.assert_array_equal(
            as_tensors(before, slice(first, last))[0].numpy(), before[first:last]
        )
    np.testing.assert_array_equal(X.toarray(), before)


@pytest.mark.parametrize("sparse_gradient", [False, True])
@pytest.mark.parametrize("empty", [False, True])
def test_gradients_of_the_first_layer_are_those_of_dense_rows(empty, sparse_gradient):
    import torch

    from hiclass.torch._network import as_tensors, first_layer

    X = sp.random_array((12, 7), density=0.2, format="csr", dtype=np.float32, rng=0)
    # An entry that is stored twice counts twice.
    X = sp.csr_matrix((np.r_[X.data, 2, 3], np.r_[X.indices, 4, 4], np.r_[X.indptr, X.nnz + 2]))
    X.resize(13, 7)
    X = sp.csr_matrix(X.shape, dtype=np.float32) if empty else X
    after = torch.randn(13, 5, generator=torch.Generator().manual_seed(0))
    found = []
    for rows in (as_tensors(X), as_tensors(X.toarray())):
        weight = torch.linspace(-1, 1, 35).view(7, 5).requires_grad_()
        out = first_layer({"0.weight": weight}, rows, sparse_gradient=sparse_gradient)
        (out.square() * after).sum().backward()
        found.append((out.detach(), weight.grad.to_dense()))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)
