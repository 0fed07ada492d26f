"""``ByDepth``: parameters of local classifiers by the depth of their nodes, as plain data."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import get_tags

import hiclass
from hiclass import (
    ByDepth,
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    HierarchicalKFold,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._problems.strategies import grouped

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
# Level 3 is below a-x only; some rows end at b.
PATHS = [["a", "x", "p"], ["a", "x", "q"], ["a", "y", ""], ["b", "z", ""], ["b", "w", ""], ["b"]]
Y = [PATHS[i] for i in RNG.integers(len(PATHS), size=len(X))]
Y_FULL = [["a", "x"], ["a", "y"], ["b", "z"], ["b", "w"]] * 30
C = [0.25, 1.0, 4.0]


def strengths(model):
    return {key: c.C for key, c in model.local_classifiers_.items()}


# -- depths --------------------------------------------------------------------------------------


def test_per_parent_node_the_depth_is_the_length_of_the_path():
    model = LocalClassifierPerParentNode(ByDepth(LogisticRegression(), C=C)).fit(X, Y)
    assert strengths(model) == {(): 0.25, ("a",): 1.0, ("a", "x"): 4.0, ("b",): 1.0}


def test_the_last_value_goes_on_for_deeper_nodes():
    model = LocalClassifierPerParentNode(ByDepth(LogisticRegression(), C=C[:2])).fit(X, Y)
    assert strengths(model) == {(): 0.25, ("a",): 1.0, ("a", "x"): 1.0, ("b",): 1.0}


def test_per_node_it_is_that_of_the_parent_and_for_gates_that_of_the_node():
    model = LocalClassifierPerNode(ByDepth(LogisticRegression(), C=C)).fit(X, Y)
    assert strengths(model) == {path: C[len(path) - 1] for path in model.local_classifiers_}
    assert {len(path) for path in model.local_classifiers_} == {1, 2, 3}
    assert {path: gate.C for path, gate in model.stop_classifiers_.items()} == {("b",): 1.0}


def test_per_level_it_is_the_level_above_and_flat_it_is_zero():
    by_depth = ByDepth(LogisticRegression(), C=C)
    assert strengths(LocalClassifierPerLevel(by_depth).fit(X, Y)) == {1: 0.25, 2: 1.0, 3: 4.0}
    assert strengths(FlatClassifier(by_depth).fit(X, Y)) == {(): 0.25}


def test_in_a_dag_it_is_the_longest_distance_to_the_root():
    """Class y is below a, b and x, so that it is three steps away."""
    dag = Hierarchy.from_edges([("a", "x"), ("a", "y"), ("b", "y"), ("x", "y"), ("y", "z")])
    assert [dag.levels[dag.find(label)] for label in "abxyz"] == [1, 1, 2, 3, 4]
    y = [["x"], ["z"], ["b"], ["y"], ["a"], ["y", "b"]] * 20
    by_depth = ByDepth(LogisticRegression(), C=[1.0, 2.0, 3.0, 4.0])
    options = {"hierarchy": dag, "multi_label": True}
    per_node = LocalClassifierPerNode(by_depth, **options).fit(X, y)
    assert strengths(per_node) == {"a": 1.0, "b": 1.0, "y": 3.0}  # x and z have no siblings
    per_parent = LocalClassifierPerParentNode(by_depth, **options).fit(X, y)
    inside = {k: getattr(c, "estimator", c).C for k, c in per_parent.local_classifiers_.items()}
    assert inside == {(): 1.0, "a": 2.0, "b": 2.0, "x": 3.0, "y": 4.0}


def test_a_group_of_nodes_has_the_smallest_depth_of_its_nodes():
    class Halves(LocalClassifierPerParentNode):
        _strategy = grouped(
            "halves",
            lambda hierarchy, nodes: np.minimum(nodes, 1),
            lambda hierarchy, owner: np.arange(1, hierarchy.n_nodes) if owner else np.array([0]),
        )

    hierarchy = Hierarchy.from_paths(Y_FULL)
    problem = type("Problem", (), {"gate": False})
    problem.owner = 1
    assert Halves._strategy.depth(problem, hierarchy) == 1


@pytest.mark.parametrize(
    "estimator_class",
    [LocalClassifierPerNode, LocalClassifierPerParentNode, LocalClassifierPerLevel, FlatClassifier],
)
def test_it_fits_the_same_as_a_function_that_returns_these_classifiers(estimator_class):
    rows = sp.csr_array(np.where(abs(X) > 0.5, X, 0))
    offset = estimator_class in (LocalClassifierPerNode, LocalClassifierPerLevel)

    def choose(key):
        depth = (key if isinstance(key, int) else len(key)) - offset
        return LinearSVC(C=C[depth], dual=True, tol=0.1, random_state=0)

    by_depth = ByDepth(LinearSVC(dual=True, tol=0.1, random_state=0), C=C)
    options = {"calibration": "temperature", "decoding": "best_path"}
    one = estimator_class(by_depth, **options).fit(rows, Y_FULL)
    other = estimator_class(choose, **options).fit(rows, Y_FULL)
    assert one.temperature_ == other.temperature_
    np.testing.assert_array_equal(one.predict_node_proba(rows), other.predict_node_proba(rows))


# -- parameters ----------------------------------------------------------------------------------


def test_parameters_are_the_estimator_and_the_lists():
    svm = LinearSVC(tol=0.1)
    by_depth = ByDepth(svm, C=C)
    assert by_depth.get_params(deep=False) == {"estimator": svm, "C": C}
    assert by_depth.get_params()["estimator__tol"] == 0.1
    assert repr(by_depth) == "ByDepth(C=[0.25, 1.0, 4.0], estimator=LinearSVC(tol=0.1))"
    assert "LinearSVC" in LocalClassifierPerParentNode(by_depth)._repr_html_()
    assert "ByDepth" in by_depth._repr_html_()


def test_clones_have_equal_parameters_and_share_nothing():
    by_depth = ByDepth(LinearSVC(), C=[1.0])
    again = clone(by_depth)
    assert repr(again) == repr(by_depth)
    again.set_params(C=[2.0], estimator__tol=0.5)
    again.values["C"].append(3.0)
    assert by_depth.values == {"C": [1.0]}
    assert by_depth.estimator.tol == 1e-4


def test_set_params_reaches_lists_and_the_estimator():
    model = LocalClassifierPerParentNode(ByDepth(LogisticRegression(), C=[1.0]))
    model.set_params(
        local_classifier__C=C,
        local_classifier__estimator__tol=0.01,
        local_classifier__fit_intercept=(True, False),
    )
    assert strengths(model.fit(X, Y)) == {(): 0.25, ("a",): 1.0, ("a", "x"): 4.0, ("b",): 1.0}
    assert [c.fit_intercept for c in model.local_classifiers_.values()] == [True, *[False] * 3]
    assert {c.tol for c in model.local_classifiers_.values()} == {0.01}


def test_steps_of_pipelines_have_their_own_lists():
    pipeline = make_pipeline(MaxAbsScaler(), LinearSVC(random_state=0))
    by_depth = ByDepth(pipeline, linearsvc__C=C)
    model = LocalClassifierPerParentNode(clone(by_depth)).fit(X, Y)
    assert {path: c[-1].C for path, c in model.local_classifiers_.items()} == {
        path: C[len(path)] for path in model.local_classifiers_
    }
    model.set_params(local_classifier__linearsvc__C=[3.0])
    assert {c[-1].C for c in model.fit(X, Y).local_classifiers_.values()} == {3.0}


def test_a_list_wins_over_a_parameter_of_the_estimator_with_the_same_name():
    """``estimator__C`` of a wrapper is a parameter of what it wraps."""
    by_depth = ByDepth(CalibratedClassifierCV(LinearSVC(), cv=2), estimator__C=[1.0, 2.0])
    by_depth.set_params(estimator__C=[3.0, 4.0], estimator__cv=3)
    assert [(e.estimator.C, e.cv) for e in by_depth.estimators()] == [(3.0, 3), (4.0, 3)]


def test_searches_choose_lists_and_parameters_of_the_estimator():
    by_depth = ByDepth(LinearSVC(random_state=0), C=[1.0])
    grid = {
        "local_classifier__C": [[1e-6], [0.5, 2.0], C],
        "local_classifier__estimator__tol": [1e-2, 1e-3],
    }
    rows = np.eye(4)[np.arange(120) % 4] + 0.1 * X
    search = GridSearchCV(
        LocalClassifierPerParentNode(by_depth), grid, cv=HierarchicalKFold(3), error_score="raise"
    )
    search.fit(rows, Y_FULL)
    assert len(search.cv_results_["params"]) == 6
    assert search.best_params_["local_classifier__C"] in grid["local_classifier__C"]
    assert search.best_score_ > 0.9


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: ByDepth(GaussianNB(), smoothing=[1]),
            ValueError,
            "'smoothing' is not a parameter of GaussianNB, the estimator of ByDepth. Its "
            "parameters are priors, var_smoothing.",
        ),
        (
            lambda: ByDepth(GaussianNB()).set_params(smoothing=[1]),
            ValueError,
            "'smoothing' is not a parameter of GaussianNB",
        ),
        (
            lambda: ByDepth(LinearSVC(), C=[1]).set_params(estimator=GaussianNB()),
            ValueError,
            "'C' is not a parameter of GaussianNB",
        ),
        (
            lambda: ByDepth(LinearSVC()).set_params(estimator__c=1),
            ValueError,
            "Invalid parameter 'c' for estimator LinearSVC()",
        ),
        (
            lambda: ByDepth(LinearSVC(), C=1.0),
            TypeError,
            "C=1.0 of ByDepth is not a list. Use one value per depth, starting at the root; "
            "C=[1.0] uses the same value at every depth.",
        ),
        (lambda: ByDepth(LinearSVC(), C=[]), ValueError, "C=[] of ByDepth is empty."),
        (
            lambda: ByDepth(LinearSVC),
            TypeError,
            "The estimator of ByDepth is the class LinearSVC. Pass an instance: LinearSVC().",
        ),
        (
            lambda: ByDepth(lambda path: LinearSVC(), C=[1]),
            TypeError,
            "has no parameters that could depend on the depth. Pass a classifier with fit",
        ),
        (
            lambda: LocalClassifierPerNode(ByDepth(LinearSVC())).set_params(
                local_classifier__c=[1]
            ),
            ValueError,
            "'c' is not a parameter of LinearSVC",
        ),
        (
            lambda: GlobalClassifier(ByDepth(LinearSVC())).fit(X, Y),
            TypeError,
            "has no fit method. Pass a regressor",
        ),
    ],
    ids=[
        "unknown",
        "unknown later",
        "other estimator",
        "unknown inside",
        "no list",
        "empty",
        "class",
        "callable",
        "through the model",
        "global",
    ],
)
def test_what_it_refuses(make, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make()


# -- all that holds for a plain local classifier ---------------------------------------------------


@pytest.mark.parametrize("estimator", [LinearSVC(), GaussianNB(), SGDClassifier()])
def test_tags_and_methods_are_those_of_the_estimator(estimator):
    plain, by_depth = (LocalClassifierPerParentNode(e) for e in (estimator, ByDepth(estimator)))
    assert get_tags(plain) == get_tags(by_depth)
    for name in ("predict_proba", "partial_fit", "predict_paths"):
        assert hasattr(plain, name) == hasattr(by_depth, name)
    plain, by_depth = (m.set_params(calibration="temperature") for m in (plain, by_depth))
    assert hasattr(plain, "predict_proba")
    assert hasattr(by_depth, "predict_proba")


def test_probabilities_are_promised_where_every_depth_has_them():
    every = ByDepth(SGDClassifier(), loss=["log_loss", "modified_huber"])
    some = ByDepth(SGDClassifier(), loss=["log_loss", "hinge"])
    assert hasattr(FlatClassifier(every), "predict_proba")
    assert not hasattr(FlatClassifier(some), "predict_proba")
    with pytest.raises(ValueError, match=r"min_confidence=0.5 needs probabilities"):
        LocalClassifierPerParentNode(some, min_confidence=0.5).fit(X, Y)
    sets = LocalClassifierPerNode(some, multi_label=True)
    with pytest.raises(ValueError, match="SGDClassifier has no predict_proba"):
        sets.fit(X, [["a"], ["b"]] * 60)


def test_a_missing_method_is_named_as_of_the_estimator():
    with pytest.raises(AttributeError, match="its local classifier, LinearSVC, has none"):
        _ = FlatClassifier(ByDepth(LinearSVC())).partial_fit
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.fit does not take it"):
        FlatClassifier(ByDepth(KNeighborsClassifier())).fit(X, Y, sample_weight=np.ones(len(X)))


def test_it_learns_from_batches():
    alpha = [1e-4, 1e-2]
    by_depth = ByDepth(SGDClassifier(loss="log_loss", random_state=0), alpha=alpha)
    model = LocalClassifierPerParentNode(by_depth)
    for start in (0, 60):
        model.partial_fit(X[start : start + 60], Y_FULL[start : start + 60])
    assert {path: c.alpha for path, c in model.local_classifiers_.items()} == {
        (): 1e-4,
        ("a",): 1e-2,
        ("b",): 1e-2,
    }


def test_class_weights_are_translated_at_every_depth():
    by_depth = ByDepth(LinearSVC(), class_weight=[{"a": 3.0}, {"z": 5.0}, "balanced"])
    model = LocalClassifierPerParentNode(by_depth).fit(X, Y)
    weights = {path: c.class_weight for path, c in model.local_classifiers_.items()}
    assert weights[()] == {0: 3.0, 1: 1.0}
    assert sorted(weights[("b",)].values()) == [1.0, 1.0, 5.0]
    assert weights["a", "x"] == "balanced"


def test_seeds_are_set_by_name_as_without_it():
    plain, by_depth = LinearSVC(), ByDepth(LinearSVC(), C=C)
    models = [LocalClassifierPerNode(e, random_state=3).fit(X, Y) for e in (plain, by_depth)]
    seeds = [{p: c.random_state for p, c in m.local_classifiers_.items()} for m in models]
    assert seeds[0] == seeds[1]


def test_sample_weights_are_routed_to_the_estimator():
    weights = np.arange(len(X)) % 3
    rows = [X, Y_FULL]
    expected = LocalClassifierPerParentNode(ByDepth(LogisticRegression(), C=C))
    expected.fit(*rows, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        local = LogisticRegression().set_fit_request(sample_weight=True)
        model = LocalClassifierPerParentNode(ByDepth(local, C=C))
        model.set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"local_classifier__C": [C]}, cv=HierarchicalKFold(2))
        search.fit(*rows, sample_weight=weights)
    for path, classifier in expected.local_classifiers_.items():
        again = search.best_estimator_.local_classifiers_[path]
        np.testing.assert_array_equal(again.coef_, classifier.coef_)


@pytest.mark.parametrize("way", ["skops", "pickle"])
def test_files_hold_it(way, tmp_path):
    rows = sp.csr_array(np.where(abs(X) > 0.5, X, 0))
    local = LocalClassifierPerParentNode(
        ByDepth(LinearSVC(dual=True, tol=0.1, random_state=0), C=C),
        calibration="joint",
        min_coef=0.01,
    )
    model = EnsembleClassifier([("flat", FlatClassifier()), ("local", local)]).fit(rows, Y)
    if way == "skops":
        skops.io.dump(model, tmp_path / "model.skops")
        again = hiclass.load(tmp_path / "model.skops")
        assert hiclass.trusted_types(model) == list(hiclass.TRUSTED_TYPES)
    else:
        again = pickle.loads(pickle.dumps(model))
    assert again.models_[1].local_classifier.values == {"C": C}
    # Files keep single precision of packed weights.
    np.testing.assert_allclose(
        again.predict_node_proba(rows), model.predict_node_proba(rows), atol=1e-6
    )
    assert (clone(again).fit(rows, Y).predict(rows) == model.predict(rows)).all()


def test_several_jobs_fit_the_same():
    by_depth = ByDepth(LinearSVC(dual=True, tol=0.1, random_state=0), C=C)
    one, two = (LocalClassifierPerNode(by_depth, n_jobs=n).fit(X, Y) for n in (1, 2))
    assert (one.predict(X) == two.predict(X)).all()


def test_any_parameter_may_vary():
    model = LocalClassifierPerParentNode(ByDepth(SVC(random_state=0), kernel=["linear", "rbf"]))
    kernels = [c.kernel for c in model.fit(X, Y_FULL).local_classifiers_.values()]
    assert kernels == ["linear", "rbf", "rbf"]
