"""Models of sets of classes: what is tried, how it is weighed, and what is left."""

import numpy as np
import pandas
import pytest
import skops.io
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import average_precision_score
from zoo import DAG, EDGES, zoo

import hiclass
from hiclass import HierarchicalClassifier
from hiclass._automatic import set_proposals, set_selection
from hiclass._automatic.proposals import EFFORTS
from hiclass._automatic.set_proposals import SetSettings, propose_network, tune_ridge
from hiclass._targets.sets import encode_sets

TREE = {"a": ["b", "c"], "d": ["e", "f"]}
NAMES = np.array(["b", "c", "e", "f"])


@pytest.fixture
def without_torch(monkeypatch):
    """As where PyTorch is not installed."""
    monkeypatch.setattr(set_proposals, "find_spec", lambda name: None)


def make_sets(n_rows=160, seed=0):
    X, Y = make_multilabel_classification(
        n_rows, 12, n_classes=4, n_labels=2, random_state=seed, allow_unlabeled=False
    )
    return X, [NAMES[row.astype(bool)].tolist() for row in Y]


def choose(**options):
    return HierarchicalClassifier(
        hierarchy=TREE, multi_label=True, random_state=0, **({"effort": "balanced"} | options)
    )


# -- what is chosen ------------------------------------------------------------------------------


def test_forest_and_ridge_are_weighed_out_of_fold_where_there_is_no_pytorch(without_torch):
    X, y = make_sets()
    model = choose().fit(X, y)
    assert model.choices_["no network"] == "PyTorch is not installed"
    assert {"forest", "ridge"} <= set(model.scores_)
    best = max(model.scores_["forest"], model.scores_["ridge"])
    assert list(model.scores_.values())[-1] >= best - 0.02
    assert model.thresholds_.shape == (7,)
    assert model.threshold == "tuned"
    new, wanted = make_sets(seed=0)
    assert model.score(new, wanted) > 0.8
    proba = model.predict_node_proba(X)
    for node in range(1, 7):
        assert (proba[:, node] <= proba[:, model.hierarchy_.parents(node)[0]] + 1e-12).all()


def test_the_mixture_is_the_mean_of_the_models_with_the_weights_that_are_told(without_torch):
    X, y = make_sets()
    model = choose().fit(X, y)
    if not hasattr(model.model_, "models_"):
        pytest.fail("one model has all the weight; the test needs other rows")
    parts = [member.predict_node_proba(X) for member in model.model_.models_]
    expected = sum(w * part for w, part in zip(model.model_.weights_, parts, strict=True))
    np.testing.assert_allclose(model.predict_node_proba(X), expected)
    told = ", ".join(
        f"{name} {weight:.2f}"
        for name, weight in zip(model.model_.named_models_, model.model_.weights_, strict=True)
    )
    assert model.choices_["weights"] == told


def test_quick_is_the_mean_of_forest_and_ridge_and_measures_nothing():
    X, y = make_sets()
    model = choose(effort="quick").fit(X, y)
    assert model.scores_ == {}
    assert model.choices_["weights"] == "forest 0.50, ridge 0.50"
    assert not hasattr(model, "thresholds_")
    assert model.threshold == 0.5


def test_the_f1_can_be_wanted_and_is_what_scores_tell(without_torch):
    X, y = make_sets()
    by_area = choose(optimize="average_precision").fit(X, y)
    assert by_area.scores_ == choose().fit(X, y).scores_
    by_f = choose(optimize="f1").fit(X, y)
    assert by_f.scores_["forest"] != by_area.scores_["forest"]


def test_the_same_seed_gives_the_same_model_and_files_keep_it(without_torch, tmp_path):
    X, y = make_sets()
    one, two = (choose().fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict_node_proba(X), two.predict_node_proba(X))
    skops.io.dump(one, tmp_path / "model.skops")
    again = hiclass.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_node_proba(X), one.predict_node_proba(X))
    assert again.predict(X).tolist() == one.predict(X).tolist()


def test_one_label_per_row_in_a_dag_keeps_its_form(without_torch):
    X, y = zoo(120)
    first = [row[0] for row in y]
    model = HierarchicalClassifier(hierarchy=EDGES, random_state=0).fit(X, first)
    assert model.predict(X).shape == (120,)
    assert set(model.predict(X)) <= set(DAG.labels)
    assert model.score(X, first) > 0.6


# -- rows of all kinds -----------------------------------------------------------------------------


def test_tables_with_missing_values_and_categories(without_torch):
    X, y = make_sets()
    frame = pandas.DataFrame(X, columns=[f"x{k}" for k in range(12)])
    frame.loc[::5, "x1"] = np.nan
    frame["kind"] = np.where(X[:, 0] > 3, "red", "blue")
    frame.loc[::7, "kind"] = None
    model = choose().fit(frame, y)
    assert model.score(frame, y) > 0.7
    with_nan = X.copy()
    with_nan[::4, 2] = np.nan
    assert choose().fit(with_nan, y).score(with_nan, y) > 0.7


def test_few_rows_one_class_and_no_labels(without_torch):
    X, y = make_sets(36)
    assert np.isfinite(choose().fit(X, y).predict_node_proba(X)).all()
    few = choose().fit(X[:10], y[:10])
    assert few.choices_["effort"].startswith("quick: 10 rows")
    same = choose().fit(X, [["b"]] * 36)
    assert same.predict(X[:2]).tolist() == [["b"], ["b"]]
    nothing = choose().fit(X, [[]] * 36)
    assert nothing.predict(X[:2]).tolist() == [[], []]


def test_weights_and_groups(without_torch):
    X, y = make_sets()
    weight = np.where(np.arange(160) % 4 == 0, 0.0, 1.5)
    model = choose().fit(X, y, sample_weight=weight)
    assert model.score(X, y) > 0.7
    grouped = choose().fit(X, y, groups=np.arange(160) // 4)
    assert grouped.scores_ != choose().fit(X, y).scores_


# -- parts -----------------------------------------------------------------------------------------


def test_ridge_is_tuned_by_what_it_reaches_on_rows_held_out():
    X, y = make_sets(300)
    target = encode_sets(y, hiclass.Hierarchy.from_dict(TREE))
    fitted, held_out = np.arange(200), np.arange(200, 300)
    params = tune_ridge(X, target, fitted, held_out, "average_precision", 0)
    truth = target.closed[:, 1:].toarray()

    def reached(**given):
        settings = SetSettings(EFFORTS["quick"], {"n_jobs": 1, "random_state": 0, "verbose": 0})
        model = set_proposals.propose_ridge(settings, given).model
        model.set_params(hierarchy=target.hierarchy).fit(X[fitted], target.closed[fitted])
        proba = model.predict_node_proba(X[held_out])[:, 1:]
        return average_precision_score(truth[held_out], proba, average="micro")

    best = reached(**params)
    for other in ({"alpha": 0.003, "width": 0.5}, {"alpha": 10.0, "width": 4.0}, {}):
        assert best >= reached(**other) - 0.01


def test_networks_are_smaller_for_more_work_and_left_out_beyond_it():
    pytest.importorskip("torch")
    settings = SetSettings(EFFORTS["balanced"], {"n_jobs": 1, "random_state": 0, "verbose": 0})
    widths = [
        propose_network(settings, n_rows, 100, 500).model.hidden_layers[0]
        for n_rows in (1_000, 10_000, 20_000)
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == 1000 > widths[-1]
    # Few rows do not pay for a wide one, however little work it is.
    assert propose_network(settings, 60, 4, 8).model.hidden_layers == (250, 250)
    too_much = propose_network(settings, 10_000_000, 100, 500)
    assert too_much == "too much work for so many rows and classes"


@pytest.mark.heavy
def test_networks_join_where_pytorch_is_there(monkeypatch):
    monkeypatch.setattr(set_proposals, "_HIDDEN", (32,))
    X, y = make_sets()
    for effort, seed in (("balanced", 0), ("best", 2**32 - 1)):  # the largest one has successors
        model = choose(effort=effort).set_params(random_state=seed).fit(X, y)
        assert "network" in model.scores_
        assert list(model.scores_.values())[-1] >= max(model.scores_.values()) - 0.02
        assert model.score(X, y) > 0.8
    says = next(part for part in model.choices_["model"].split("; ") if "network" in part)
    assert says.startswith("network: 3 networks, each a network with two hidden layers of 32")


def test_a_fold_of_few_rows_is_not_alone(monkeypatch):
    X, y = make_sets()
    target = encode_sets(y, hiclass.Hierarchy.from_dict(TREE))
    fold = np.arange(160) % 3
    rows = set_selection.SetRows(X, target, fold, None)
    assert len(set_selection._make_folds(rows, 1)) == 3
    monkeypatch.setattr(set_selection, "_ENOUGH_HELD_OUT", 50)
    (found,) = set_selection._make_folds(rows, 1)
    assert [len(part) for part in found] == [106, 54]
