"""The network with probabilities that are corrected class by class, where predictions are sets."""

import pickle

import numpy as np
import pytest
import skops.io
from network_helpers import network, quick_network
from sklearn.base import clone
from zoo import DAG, zoo

import hiclass
from hiclass import EnsembleClassifier, metrics
from hiclass._inference.set_calibrations import SET_CALIBRATIONS, Counts, calibrated, learn_maps
from hiclass._out_of_fold.folds import deal_sets
from hiclass._state import CalibratedSetModels
from hiclass._targets.sets import encode_sets
from hiclass.datasets import make_hierarchical_classification

pytestmark = pytest.mark.heavy
METHODS = list(SET_CALIBRATIONS)


def sets(**params):
    return quick_network(hierarchy=DAG, multi_label=True, **params)


@pytest.mark.parametrize("method", METHODS)
def test_maps_are_those_of_three_networks_that_have_not_seen_the_rows(method):
    X, y = zoo(90)
    X = X.astype(np.float32)
    model = sets(calibration=method).fit(X, y)
    target = encode_sets(y, DAG)
    fold, counts = deal_sets(target, None), Counts(DAG.n_nodes)
    for k in range(3):
        other = sets().fit(X[fold != k], target.closed[fold != k])
        held_out = np.flatnonzero(fold == k)
        truth = target.closed[held_out].toarray()
        counts.add(other.predict_node_proba(X[held_out]), truth, np.ones(len(held_out)))
    maps, map_of = learn_maps(SET_CALIBRATIONS[method], counts)
    raw = sets().fit(X, y)
    expected = calibrated(raw.predict_node_proba(X), raw._models, method, maps, map_of)
    np.testing.assert_allclose(model.predict_node_proba(X), expected, atol=1e-9)
    for node in range(1, DAG.n_nodes):  # coherent
        for parent in DAG.parents(node):
            assert (expected[:, node] <= expected[:, parent]).all()


@pytest.mark.parametrize("method", METHODS)
def test_it_lowers_the_log_loss_of_a_network_that_has_learned_by_heart(method):
    data = make_hierarchical_classification(
        900, 12, branching=[2, 3, 2], dag=0.2, multi_label=True, ragged=0.1, random_state=0
    )
    X = data.data + np.random.default_rng(0).normal(scale=2.0, size=data.data.shape)
    y, tree = np.array(data.target, dtype=object), data.hierarchy
    options = {"hidden_layers": (128,), "penalty": 0.0, "max_epochs": 200, "patience": 200}
    plain = network(hierarchy=tree, multi_label=True, **options)
    losses = []
    for model in (plain, clone(plain).set_params(calibration=method)):
        proba = model.fit(X[:600], y[:600]).predict_node_proba(X[600:])
        losses.append(metrics.node_log_loss(y[600:], proba, hierarchy=tree, multi_label=True))
    assert losses[1] < 0.9 * losses[0]


@pytest.mark.parametrize("method", METHODS)
def test_predictions_follow_and_survive_files_copies_and_devices(method, tmp_path):
    X, y = zoo(90)
    model = sets(calibration=method, threshold="micro_f1").fit(X, y)
    assert isinstance(model._models, CalibratedSetModels)
    proba = model.predict_node_proba(X)
    assert len(model.predict(X)) == 90
    assert (
        model.predict_paths(X, 2)[1][:, 0].tolist() == proba[:, model._models.ends].max(1).tolist()
    )
    skops.io.dump(model, tmp_path / "m.skops")
    for other in (pickle.loads(pickle.dumps(model)), hiclass.load(tmp_path / "m.skops")):
        np.testing.assert_array_equal(other.predict_node_proba(X), proba)
        assert other.predict(X).tolist() == model.predict(X).tolist()
    again = clone(model)
    assert again.calibration == method
    np.testing.assert_array_equal(again.fit(X, y).predict_node_proba(X), proba)
    some = model.restricted_to(["pet"])
    for other in (model, some):
        before = other.predict_node_proba(X)
        other.set_params(device="cpu")
        np.testing.assert_array_equal(other.predict_node_proba(X), before)


def test_the_module_is_the_network_without_the_calibration():
    import torch

    X, y = zoo(90)
    X = X.astype(np.float32)
    model = sets(calibration="sigmoid").fit(X, y)
    module, plain = model.module_, sets().fit(X, y)
    with torch.inference_mode():
        outputs = module(torch.tensor(X, device=next(module.parameters()).device))
        proba = module.head.predict_node_proba(outputs).cpu().numpy()
    np.testing.assert_allclose(proba, plain.predict_node_proba(X), atol=1e-6)


def test_one_label_in_a_dag_members_of_ensembles_and_going_on():
    X, y = zoo(90)
    single = [row[0] for row in y]
    model = quick_network(hierarchy=DAG, calibration="isotonic").fit(X, single)
    assert model.predict(X).shape == (90,)
    member = sets(calibration="sigmoid")
    together = EnsembleClassifier([("a", member), ("b", clone(member))], voting="mean").fit(X, y)
    alone = clone(member).fit(X, y).predict_node_proba(X)
    np.testing.assert_allclose(together.predict_node_proba(X), alone, atol=1e-9)
    warm = sets(calibration="sigmoid", warm_start=True).fit(X, y)
    first = warm.loss_curve_[-1]
    assert warm.fit(X, y).loss_curve_[0] < first


def test_what_it_refuses_says_what_to_use():
    X, y = zoo(60)
    paths = [row[0] for row in y]
    with pytest.raises(ValueError, match=r"is for sets of classes.*one path per row. Leave it out"):
        network(calibration="sigmoid").fit(X, paths)
    with pytest.raises(ValueError, match="calibration"):
        network(calibration="temperature").fit(X, paths)
    for learn in ("partial_fit", "fit_batches"):
        rows = (X, y) if learn == "partial_fit" else ([(X, y)],)
        with pytest.raises(ValueError, match=r"out-of-fold scores.*calibration=None"):
            getattr(sets(calibration="sigmoid"), learn)(*rows)
    fitted = sets(calibration="sigmoid").fit(X, y).set_params(calibration=None)
    with pytest.raises(ValueError, match=r"out-of-fold scores.*calibration=None"):
        fitted.partial_fit(X, y)
    with pytest.raises(ValueError, match="restricted to some classes cannot be updated"):
        sets().fit(X, y).restricted_to(["pet"]).partial_fit(X, y)
