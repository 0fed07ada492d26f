"""Which models are worth a try: the rules, at the sizes where they change."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from fakes import Centroids, OnlyPredict, Scored, Soft
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from hiclass import (
    ByDepth,
    FlatClassifier,
    Hierarchy,
    KernelRidgeClassifier,
    LocalClassifierPerParentNode,
)
from hiclass._automatic import proposals
from hiclass._automatic.proposals import (
    EFFORTS,
    USUAL_TEMPERATURE,
    Settings,
    Size,
    propose,
    propose_given,
    size_of,
)

DENSE, SPARSE = np.zeros((1, 1)), sp.csr_matrix((1, 1))
COMMON = {"n_jobs": 1, "random_state": 7, "verbose": 0}


def settings(effort="balanced", **kernel):
    return Settings(EFFORTS[effort], COMMON, 7, kernel)


def size(n_rows=1000, n_columns=10, n_final=6, local=5000.0, n_numbers=None, n_problems=4):
    n_numbers = n_columns if n_numbers is None else n_numbers
    return Size(n_rows, n_columns, float(n_numbers), n_final, local, n_problems)


def names(found):
    return [proposal.name for proposal in found.chosen]


def local_of(found, name):
    return next(p.model for p in found.chosen if p.name == name).local_classifier


# -- sizes -------------------------------------------------------------------------------------


def test_sizes_are_rows_times_branches():
    """Six rows decide between a and b; four between x, y and stopping at a; two have no choice."""
    y = [["a", "x"], ["a", "y"], ["a"], ["a", "x"], ["b", "z"], ["b", "z"]]
    hierarchy = Hierarchy.from_paths(y)
    nodes = np.array([hierarchy.find(tuple(path)) for path in y])
    found = size_of(np.zeros((6, 3)), nodes, hierarchy)
    assert found == Size(6, 3, 3.0, 4, 6 * 2 + 4 * 3, 2)
    assert found.flat == 6 * 4
    X = sp.csr_matrix(np.eye(6, 9))
    assert size_of(X, nodes, hierarchy).n_numbers == 1
    assert size_of(X, nodes, hierarchy).n_columns == 9


def test_one_class_is_no_problem():
    hierarchy = Hierarchy.from_paths([["a", "b"]])
    found = size_of(np.zeros((50, 3)), np.full(50, 2), hierarchy)
    assert (found.local, found.n_final, found.n_problems) == (0.0, 1, 0)
    assert names(propose(SPARSE, found, settings())) == ["local"]
    assert names(propose(DENSE, found, settings("quick"))) == ["flat kernel"]
    assert names(propose_given(GaussianNB(), found, settings())) == ["local"]


# -- sparse rows -------------------------------------------------------------------------------


def test_words_get_linear_machines_local_and_flat():
    found = propose(SPARSE, size(), settings())
    assert names(found) == ["local", "flat"]
    assert found.left_out == {"network": "PyTorch is not installed"}
    local, flat = (proposal.model for proposal in found.chosen)
    assert isinstance(local, LocalClassifierPerParentNode)
    assert isinstance(flat, FlatClassifier)
    assert isinstance(local.local_classifier, ByDepth)
    for model in (local, flat):
        assert (model.calibration, model.temperature) == ("joint", USUAL_TEMPERATURE)
        assert (model.n_jobs, model.random_state) == (1, 7)


def test_quick_has_the_local_half_only():
    found = propose(SPARSE, size(), settings("quick"))
    assert names(found) == ["local"]


@pytest.mark.parametrize("effort", ["balanced", "best"])
def test_a_flat_half_of_more_than_ten_times_the_work_is_left_out(effort):
    at_ten = size(n_rows=1000, n_final=50, local=5000.0)
    assert "flat" in names(propose(SPARSE, at_ten, settings(effort)))
    above = size(n_rows=1000, n_final=51, local=5000.0)
    found = propose(SPARSE, above, settings(effort))
    assert "flat" not in names(found)
    assert found.left_out["flat"] == "10 times the work of all local classifiers"
    far = propose(SPARSE, size(n_final=10_000, local=5000.0), settings(effort))
    assert far.left_out["flat"] == "2,000 times the work of all local classifiers"


def test_flat_and_local_are_the_same_where_the_only_choice_is_at_the_root():
    shallow = size(n_rows=1000, n_final=6, local=6000.0, n_problems=1)
    for effort in EFFORTS:
        assert names(propose(SPARSE, shallow, settings(effort))) == ["local"]
        assert names(propose_given(GaussianNB(), shallow, settings(effort))) == ["local"]


def test_a_tree_whose_flat_and_local_work_are_equal_is_not_shallow():
    even = size(n_rows=1000, n_final=4, local=4000.0, n_problems=3)  # two parents of two leaves
    assert even.flat == even.local
    assert names(propose(SPARSE, even, settings())) == ["local", "flat"]
    assert names(propose_given(GaussianNB(), even, settings())) == ["local", "flat"]


def test_trees_that_would_not_fit_into_memory_are_left_out():
    wide = size(n_rows=20_000, n_columns=60, n_final=5_000, local=1e8, n_problems=1)
    found = propose(DENSE, wide, settings())
    assert found.left_out["forest"] == "its trees would not fit into memory"


# -- networks ----------------------------------------------------------------------------------


def test_a_network_needs_pytorch_and_says_so():
    found = propose(SPARSE, size(), settings("best"))
    assert names(found) == ["local", "flat"]
    assert found.left_out == {"network": "PyTorch is not installed"}


def test_a_network_of_too_many_features_is_left_out():
    found = propose(SPARSE, size(n_columns=100_000), settings("best"))
    assert found.left_out == {"network": "100,000 features would make it very large"}


def test_a_network_for_too_many_rows_and_classes_is_left_out():
    large = size(n_rows=10**6, n_final=5000, local=1e9, n_numbers=100)
    found = propose(SPARSE, large, settings("best"))
    assert found.left_out == {"network": "too much work for so many rows and classes"}


def test_quick_tries_no_network(monkeypatch):
    monkeypatch.setattr(proposals, "find_spec", lambda name: 1 / 0)
    assert names(propose(SPARSE, size(), settings("quick"))) == ["local"]


@pytest.mark.heavy
def test_with_pytorch_networks_of_several_seeds_are_tried():
    pytest.importorskip("torch")
    found = propose(SPARSE, size(), settings("balanced"))
    assert names(found) == ["local", "flat", "network"]
    found = propose(SPARSE, size(), settings("best"))
    assert names(found) == ["local", "flat", "network", "network 2", "network 3"]
    networks = [proposal.model for proposal in found.chosen[2:]]
    assert {(network.loss, network.device) for network in networks} == {("leaf", "cpu")}
    assert [network.random_state for network in networks] == [7, 8, 9]


# -- dense rows --------------------------------------------------------------------------------


def test_numbers_get_kernels_a_logistic_regression_and_a_forest():
    both = ["flat kernel", "local kernel", "flat logistic", "local logistic"]
    for effort, others in {"balanced": ["flat kernel", "flat logistic"], "best": both}.items():
        found = propose(DENSE, size(), settings(effort))
        assert names(found) == [*others, "local forest"]
        assert not found.left_out
        assert isinstance(local_of(found, "flat kernel"), KernelRidgeClassifier)
        assert isinstance(local_of(found, "flat logistic")[-1], LogisticRegression)
        forest = local_of(found, "local forest")
        assert isinstance(forest, ExtraTreesClassifier)
        assert forest.n_estimators == EFFORTS[effort].n_trees


def test_without_a_fold_the_balanced_forest_has_a_third_of_the_trees_and_the_best_has_all():
    for effort, n_trees in (("balanced", 33), ("best", 300)):
        *others, forest = propose(DENSE, size(), settings(effort)).chosen
        assert forest.trial == {"local_classifier__n_estimators": n_trees}
        assert not any(other.trial for other in others)


def test_best_tries_no_local_copy_of_a_flat_model():
    found = propose(DENSE, size(local=6000.0, n_problems=1), settings("best"))
    assert names(found) == ["flat kernel", "flat logistic", "local forest"]


def test_quick_has_the_flat_kernel_machine_only():
    assert names(propose(DENSE, size(), settings("quick"))) == ["flat kernel"]
    wide = size(n_final=500, local=1000.0)
    found = propose(DENSE, wide, settings("quick"))
    assert names(found) == ["local kernel"]
    assert found.left_out == {"flat": "500 times the work of all local classifiers"}


def test_rows_of_many_columns_get_a_discriminant_analysis():
    embeddings = size(n_columns=384, n_final=50)
    for effort in ("balanced", "best"):
        found = propose(DENSE, embeddings, settings(effort))
        assert names(found)[0] == "flat discriminant"
        assert len(found.chosen) > 1
        assert found.chosen[0].model.calibration == "temperature"
    # Kernel machines are better, as long as their work allows a thousand landmarks.
    assert names(propose(DENSE, embeddings, settings("quick"))) == ["flat kernel"]
    many = size(n_rows=200_000, n_columns=384, n_final=50, local=5e6)
    found = propose(DENSE, many, settings("quick"))
    assert names(found) == ["flat discriminant"]
    assert found.chosen[0].model.calibration is None
    assert local_of(found, "flat discriminant").random_state == 7
    few = replace(many, n_final=49)
    assert "flat discriminant" not in names(propose(DENSE, few, settings("quick")))
    narrow = propose(DENSE, size(n_columns=127, n_final=50), settings())
    assert "flat discriminant" not in names(narrow)


def test_rows_of_many_columns_get_no_forest_unless_there_are_categories_among_them():
    X = np.random.default_rng(0).normal(size=(60, 128))
    found = propose(X, size(n_columns=128), settings())
    assert found.left_out["forest"] == "single columns of embeddings say little"
    assert "local forest" not in names(found)
    X[:, 0] = np.arange(60) % 2
    assert "local forest" in names(propose(X, size(n_columns=128), settings()))
    assert "local forest" in names(propose(X[:, 1:], size(n_columns=127), settings()))


def test_a_discriminant_analysis_of_many_rows_or_classes_has_straight_borders():
    """A fit may take 5e11 multiplications: landmarks 1,000 * 1,384 per row, none 384**2."""
    limit = int(5e11 / (1000 * 1384))
    for n_rows, n_final, n_landmarks in (
        (limit, 50_000, 1000),
        (limit + 1, 50_000, 0),
        (limit, 50_001, 0),
        (int(5e11 / 384**2), 50_000, 0),
    ):
        task = size(n_rows=n_rows, n_columns=384, n_final=n_final)
        found = propose(DENSE, task, settings("balanced"))
        assert local_of(found, "flat discriminant").n_landmarks == n_landmarks
    task = size(n_rows=int(5e11 / 384**2) + 1, n_columns=384, n_final=50)
    found = propose(DENSE, task, settings("balanced"))
    assert "flat discriminant" not in names(found)
    assert found.left_out["discriminant"] == "too many rows for so many columns"


def test_a_quick_model_of_numbers_and_categories_is_a_forest_that_needs_no_temperature():
    mixed = np.array([[0.5, 1.0], [2.0, 0.0]])
    found = propose(mixed, size(), settings("quick"))
    assert names(found) == ["local forest"]
    assert found.chosen[0].model.calibration is None
    assert names(propose(mixed[:, 1:], size(), settings("quick"))) == ["flat kernel"]
    large = size(n_rows=10**7, local=5.0 * 10**7)
    assert "local forest" not in names(propose(mixed, large, settings("quick")))
    few = size(n_rows=59)  # fewer than ten per class
    assert names(propose(mixed, few, settings("quick"))) == ["flat kernel"]


def test_trees_look_at_all_of_a_few_columns():
    for n_columns, seen in ((50, None), (51, "sqrt")):
        found = propose(DENSE, size(n_columns=n_columns), settings())
        assert local_of(found, "local forest").max_features == seen


def test_kernels_are_given_what_was_tuned():
    found = propose(DENSE, size(), settings(width=0.5, alpha=0.1))
    kernel = local_of(found, "flat kernel")
    assert (kernel.width, kernel.alpha) == (0.5, 0.1)
    assert kernel.n_landmarks == EFFORTS["balanced"].n_landmarks


@pytest.mark.parametrize("effort", EFFORTS)
def test_many_rows_have_fewer_landmarks_and_then_no_kernel_machine(effort):
    work = EFFORTS[effort].work
    most = int(work / (1000 * 1006))  # rows for which a thousand landmarks are affordable
    found = propose(DENSE, size(n_rows=most, local=5.0 * most), settings(effort))
    assert local_of(found, names(found)[0]).n_landmarks == 1000
    many = 2 * most
    found = propose(DENSE, size(n_rows=many, local=5.0 * many), settings(effort))
    assert found.left_out["kernel"] == "too many rows for a kernel machine"
    assert not [name for name in names(found) if "kernel" in name]
    assert found.chosen, "something is always proposed"


def test_a_flat_logistic_regression_that_is_too_much_work_is_a_local_one():
    # 600 steps of two multiplications are counted.
    large = size(n_rows=10**5, n_columns=500, n_final=100, local=10.0**6)
    assert large.flat * 500 * 600 > EFFORTS["balanced"].work >= large.local * 500 * 600
    assert "local logistic" in names(propose(DENSE, large, settings()))
    larger = size(n_rows=10**5, n_columns=5000, n_final=100, local=10.0**6)
    found = propose(DENSE, larger, settings())
    assert found.left_out["logistic"] == "too much work for so many rows and classes"


def test_something_is_proposed_whatever_the_size():
    huge = size(n_rows=10**8, n_columns=10**4, n_final=10**5, local=1e12)
    for effort in EFFORTS:
        found = propose(DENSE, huge, settings(effort))
        assert names(found) == ["local logistic"]
        assert "kernel" in found.left_out
    assert "forest" in found.left_out


def test_many_small_problems_are_too_much_for_a_forest():
    few = propose(DENSE, size(n_problems=100), settings())
    many = propose(DENSE, size(n_problems=200), settings())
    assert "local forest" in names(few)
    assert many.left_out == {"forest": "too many rows for a forest"}


# -- a classifier that is given ------------------------------------------------------------------

GIVEN = {
    "probabilities": (Soft(), "temperature"),
    "scores": (Scored(), "joint"),
    "plain object": (Centroids(), "temperature"),
    "function": (lambda path: GaussianNB(), "temperature"),
    "by depth": (ByDepth(LinearSVC(), C=[1, 2]), "joint"),
    "by depth, probabilities": (ByDepth(LogisticRegression(), C=[1, 2]), "temperature"),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_given_classifier_is_tried_local_and_flat_and_calibrated_by_what_it_has(name):
    given, calibration = GIVEN[name]
    found = propose_given(given, size(), settings())
    assert names(found) == ["local", "flat"]
    for proposal in found.chosen:
        assert proposal.model.local_classifier is given
        assert proposal.model.calibration == calibration
        assert proposal.model.temperature == USUAL_TEMPERATURE
        assert proposal.model.decoding == "best_path"


@pytest.mark.parametrize("name", GIVEN)
def test_quick_does_not_calibrate_a_given_classifier(name):
    given, calibration = GIVEN[name]
    (proposal,) = propose_given(given, size(), settings("quick")).chosen
    assert isinstance(proposal.model, LocalClassifierPerParentNode)
    assert (proposal.model.calibration, proposal.model.temperature) == (None, None)
    only_scores = calibration == "joint"
    assert proposal.model.decoding == ("top_down" if only_scores else "best_path")


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_classifier_that_only_predicts_goes_from_the_top_down(effort):
    found = propose_given(OnlyPredict(), size(), settings(effort))
    assert names(found) == ["local"]
    model = found.chosen[0].model
    assert (model.decoding, model.calibration) == ("top_down", None)
    if effort != "quick":
        assert found.left_out == {
            "flat": "OnlyPredict has neither predict_proba nor decision_function"
        }


def test_a_given_classifier_is_not_tried_flat_where_that_is_too_much():
    found = propose_given(GaussianNB(), size(n_final=10_000), settings())
    assert names(found) == ["local"]
    assert found.left_out == {"flat": "2,000 times the work of all local classifiers"}


def test_what_is_proposed_is_described():
    found = propose_given(ByDepth(LinearSVC(), C=[1]), size(), settings())
    assert [p.says for p in found.chosen] == [
        "a LinearSVC per parent node",
        "a LinearSVC over all final classes",
    ]
    found = propose_given(lambda path: GaussianNB(), size(), settings())
    assert found.chosen[0].says == "a classifier per parent node"


# -- metadata routing --------------------------------------------------------------------------


@pytest.mark.parametrize("X", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_classifiers_request_weights_where_metadata_are_routed(X):
    with sklearn.config_context(enable_metadata_routing=True):
        for proposal in propose(X, size(), settings()).chosen:
            routing = proposal.model.get_metadata_routing()
            assert routing.consumes("fit", {"sample_weight"}) == {"sample_weight"}
    assert "sample_weight" not in str(
        propose(X, size(), settings()).chosen[0].model.local_classifier
    )
