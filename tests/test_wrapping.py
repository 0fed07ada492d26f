"""Models in pipelines, searches and FrozenEstimator serve wherever a model is taken."""

import pickle

import numpy as np
import pytest
import sklearn
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import Pipeline as SamplingPipeline
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import hiclass
from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalKFold,
    LocalClassifierPerParentNode,
    explain,
    make_report,
    tune_confidence,
)
from hiclass._wrapping import (
    detached,
    is_fitted_classifier,
    name_for_fit,
    name_for_groups,
    unwrap,
    unwrap_fitted,
)
from hiclass.metrics import ReliabilityDisplay, RiskCoverageDisplay, f1_scorer

WORDS = {
    ("Mammal", "Cat"): ["purring cat", "cat with fur", "small cat", "grey cat with whiskers"],
    ("Mammal", "Dog"): ["barking dog", "dog with fur", "large dog", "grey dog on a lead"],
    ("Bird", "Owl"): ["hooting owl", "owl with feathers", "grey owl", "owl at night"],
    ("Bird", "Duck"): ["quacking duck", "duck with feathers", "white duck", "duck on a pond"],
}
TEXTS = [text for texts in WORDS.values() for text in texts] * 3
Y = [list(path) for path, texts in WORDS.items() for _ in texts] * 3


def plain():
    return LocalClassifierPerParentNode(LogisticRegression(C=10))


def pipeline():
    return make_pipeline(TfidfVectorizer(), plain())


def search(model, name="local_classifier__C"):
    return GridSearchCV(model, {name: [10.0]}, cv=HierarchicalKFold(2))


def as_nested(model):
    return search(Pipeline([("words", TfidfVectorizer()), ("rest", make_pipeline(model))]),
                  "rest__localclassifierperparentnode__local_classifier__C")  # fmt: skip


#: Every way to wrap the same model behind the same features.
WRAPPED = {
    "pipeline": pipeline,
    "with a step that does nothing": lambda: make_pipeline(
        TfidfVectorizer(), "passthrough", None, plain()
    ),
    "pipeline in a pipeline": lambda: make_pipeline(TfidfVectorizer(), make_pipeline(plain())),
    "search of a pipeline": lambda: search(
        pipeline(), "localclassifierperparentnode__local_classifier__C"
    ),
    "search in a pipeline": lambda: make_pipeline(TfidfVectorizer(), search(plain())),
    "pipeline in a pipeline in a search": lambda: as_nested(plain()),
}


@pytest.fixture(scope="module")
def reference():
    """Features and a model by hand."""
    words = TfidfVectorizer().fit(TEXTS)
    return words, plain().fit(words.transform(TEXTS), Y)


@pytest.fixture(scope="module", params=[*WRAPPED, "frozen pipeline"])
def wrapped(request):
    if request.param == "frozen pipeline":
        return FrozenEstimator(pipeline().fit(TEXTS, Y))
    return WRAPPED[request.param]().fit(TEXTS, Y)


# -- the functions -----------------------------------------------------------------------------


def test_functions_give_what_the_methods_give_by_hand(wrapped, reference):
    words, model = reference
    X = words.transform(TEXTS)
    np.testing.assert_array_equal(
        hiclass.predict_confidence(wrapped, TEXTS), model.predict_confidence(X)
    )
    np.testing.assert_array_equal(
        hiclass.predict_node_proba(wrapped, TEXTS), model.predict_node_proba(X)
    )
    paths, proba = hiclass.predict_paths(wrapped, TEXTS, k=3)
    expected_paths, expected = model.predict_paths(X, k=3)
    np.testing.assert_array_equal(paths, expected_paths)
    np.testing.assert_array_equal(proba, expected)


def test_functions_take_a_plain_model_and_five_paths_by_default(reference):
    words, model = reference
    X = words.transform(TEXTS)
    np.testing.assert_array_equal(hiclass.predict_confidence(model, X), model.predict_confidence(X))
    paths, proba = hiclass.predict_paths(model, X)
    assert paths.shape == (48, 5, 2)  # four final classes, and a fifth place that stays empty
    np.testing.assert_array_equal(proba[:, 4], 0)


def test_steps_that_resample_are_left_out():
    y = np.array(["cat", "cat", "cat", "owl"])
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    model = SamplingPipeline(
        [
            ("scale", StandardScaler()),
            ("sample", RandomOverSampler(random_state=0)),
            ("model", FlatClassifier()),
        ]
    ).fit(X, y)
    expected = model[-1].predict_confidence(model[0].transform(X))
    np.testing.assert_array_equal(hiclass.predict_confidence(model, X), expected)


@pytest.mark.parametrize(
    "function", [hiclass.predict_confidence, hiclass.predict_paths, hiclass.predict_node_proba]
)
class TestRefused:
    def test_what_is_no_hierarchical_model_is_named(self, function):
        X = [[0.0], [1.0]]
        other = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, [0, 1])
        with pytest.raises(TypeError, match="got a Pipeline, which ends in a LogisticRegression"):
            function(other, X)
        with pytest.raises(TypeError, match="got a str"):
            function("model", X)

    def test_what_is_not_fitted(self, function):
        for model in (plain(), pipeline(), search(plain())):
            with pytest.raises(NotFittedError):
                function(model, TEXTS)

    def test_a_search_without_a_fitted_model_says_refit(self, function):
        grid = {"localclassifierperparentnode__local_classifier__C": [10.0]}
        no_model = GridSearchCV(pipeline(), grid, cv=HierarchicalKFold(2), refit=False)
        no_model.fit(TEXTS, Y)
        with pytest.raises(
            ValueError, match=r"GridSearchCV was fitted with refit=False.*refit=True"
        ):
            function(no_model, TEXTS)

    def test_a_model_without_probabilities(self, function):
        model = make_pipeline(TfidfVectorizer(), LocalClassifierPerParentNode(LinearSVC()))
        with pytest.raises(AttributeError):
            function(model.fit(TEXTS, Y), TEXTS)


# -- where models are taken --------------------------------------------------------------------


def test_tune_confidence_gives_the_same_threshold(wrapped, reference):
    words, model = reference
    y = [*Y[1:], Y[0]]  # some of it wrong, so that there is something to choose
    expected = tune_confidence(model, words.transform(TEXTS), y, precision=0.8)
    assert 0 < expected < 1
    assert tune_confidence(wrapped, TEXTS, y, precision=0.8) == expected


def test_tune_confidence_leaves_the_model_as_it_is():
    model = pipeline().fit(TEXTS, Y)
    model[-1].set_params(min_confidence=0.3)
    tune_confidence(model, TEXTS, Y)
    assert model[-1].min_confidence == 0.3


@pytest.mark.parametrize("kind", ["path", "set"])
def test_conformal_on_a_frozen_wrapping_equals_one_on_its_features(wrapped, reference, kind):
    words, model = reference
    X = words.transform(TEXTS)
    by_hand = ConformalClassifier(FrozenEstimator(model), alpha=0.2, kind=kind).fit(X, Y)
    frozen = wrapped if isinstance(wrapped, FrozenEstimator) else FrozenEstimator(wrapped)
    safe = ConformalClassifier(frozen, alpha=0.2, kind=kind).fit(TEXTS, Y)
    assert safe.threshold_ == by_hand.threshold_
    assert safe.hierarchy_ == by_hand.hierarchy_
    np.testing.assert_array_equal(safe.predict(TEXTS), by_hand.predict(X))
    np.testing.assert_array_equal(safe.predict_confidence(TEXTS), by_hand.predict_confidence(X))
    np.testing.assert_array_equal(safe.predict_node_proba(TEXTS), by_hand.predict_node_proba(X))
    for a, b in zip(safe.predict_proba(TEXTS), by_hand.predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(safe.predict_paths(TEXTS), by_hand.predict_paths(X), strict=True):
        np.testing.assert_array_equal(a, b)
    assert safe.predict_set(TEXTS) == by_hand.predict_set(X)
    again = pickle.loads(pickle.dumps(safe))
    # Weights of linear classifiers have 32 bits in files: see docs/persistence.md.
    np.testing.assert_allclose(
        again.predict_confidence(TEXTS), safe.predict_confidence(TEXTS), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("name", WRAPPED)
def test_conformal_fits_a_wrapping_on_a_part_of_the_rows(name):
    model = WRAPPED[name]()
    safe = ConformalClassifier(model, alpha=0.2, random_state=0).fit(TEXTS, Y)
    assert safe.score(TEXTS, Y) > 0.5
    with pytest.raises(NotFittedError):  # the one that was given was cloned
        unwrap_fitted(model)
    np.testing.assert_array_equal(
        hiclass.predict_confidence(safe, TEXTS), safe.predict_confidence(TEXTS)
    )


def test_conformal_stays_as_it_is_when_the_frozen_pipeline_is_fitted_again():
    model = pipeline().fit(TEXTS, Y)
    safe = ConformalClassifier(FrozenEstimator(model), alpha=0.2).fit(TEXTS, Y)
    before = safe.predict_confidence(TEXTS)
    model.fit([f"other words {text}" for text in TEXTS], [["Rock", "Basalt"], *Y[1:]])
    np.testing.assert_array_equal(safe.predict_confidence(TEXTS), before)


class Weighed(BaseEstimator):
    """Predicts classes by the weight of their rows."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = np.ones(len(codes)) if sample_weight is None else sample_weight
        self.share_ = np.bincount(codes, weight) / np.sum(weight)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[self.share_.argmax()], len(X))

    def predict_proba(self, X):
        return np.tile(self.share_, (len(X), 1))


@pytest.mark.parametrize("wrap", ["pipeline", "search", "nested"])
def test_conformal_hands_weights_to_the_model_in_a_wrapping(wrap):
    X = np.arange(40.0)[:, None]
    y = np.array(["cat", "owl"] * 20)
    weights = np.where(y == "cat", 3.0, 1.0)
    model = FlatClassifier(Weighed())
    inside = {
        "pipeline": make_pipeline(StandardScaler(), model),
        "search": GridSearchCV(model, {"decoding": ["best_path"]}, cv=2),
        "nested": make_pipeline(StandardScaler(), make_pipeline(clone(model))),
    }[wrap]
    safe = ConformalClassifier(inside, random_state=0).fit(X, y, sample_weight=weights)
    train, _ = safe._split(40)
    share = weights[train][y[train] == "cat"].sum() / weights[train].sum()
    np.testing.assert_allclose(safe.predict_proba(X)[0], [share, 1 - share])


def test_conformal_of_a_search_waits_for_the_search_to_choose_probabilities():
    model = make_pipeline(TfidfVectorizer(), LocalClassifierPerParentNode(LinearSVC()))
    with pytest.raises(ValueError, match="no probabilities"):
        ConformalClassifier(model).fit(TEXTS, Y)
    chosen = search(model, "localclassifierperparentnode__calibration")
    chosen.set_params(param_grid={"localclassifierperparentnode__calibration": ["temperature"]})
    safe = ConformalClassifier(chosen, random_state=0).fit(TEXTS, Y)
    assert np.isfinite(safe.predict_node_proba(TEXTS)).all()


def test_conformal_names_what_it_refuses():
    other = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(TypeError, match="got a Pipeline, which ends in a LogisticRegression"):
        ConformalClassifier(other).fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(NotFittedError):
        ConformalClassifier(FrozenEstimator(pipeline())).fit(TEXTS, Y)


def test_tune_confidence_names_what_it_refuses():
    other = make_pipeline(StandardScaler(), LogisticRegression()).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="got a Pipeline, which ends in a LogisticRegression"):
        tune_confidence(other, [[0.0]], [0])
    safe = ConformalClassifier(pipeline(), random_state=0).fit(TEXTS, Y)
    with pytest.raises(TypeError, match=r"min_confidence.*got a ConformalClassifier\."):
        tune_confidence(safe, TEXTS, Y)


def test_explain_and_report_take_every_wrapping(wrapped, reference):
    words, model = reference
    expected = explain(
        model, words.transform(["small cat"]), feature_names=words.get_feature_names_out()
    )
    assert explain(wrapped, "small cat").to_dict() == expected.to_dict()
    report = make_report(wrapped, TEXTS, Y)
    assert report.data["model"]["steps"] == ["TfidfVectorizer"]
    assert "cat" in report.data["features"]["names"]


def test_explain_and_report_see_the_features_of_a_pipeline_inside_a_conformal_model(reference):
    words, model = reference
    safe = ConformalClassifier(FrozenEstimator(pipeline().fit(TEXTS, Y)), alpha=0.2).fit(TEXTS, Y)
    expected = explain(
        model, words.transform(["small cat"]), feature_names=words.get_feature_names_out()
    )
    steps = explain(safe, "small cat").steps
    assert [step.reasons for step in steps] == [step.reasons for step in expected.steps]
    report = make_report(safe, TEXTS, Y)
    assert report.data["model"]["steps"] == ["TfidfVectorizer"]
    assert "cat" in report.data["features"]["names"]


def test_scorers_and_displays_take_every_wrapping(wrapped, reference):
    plt = pytest.importorskip("matplotlib.pyplot")
    words, model = reference
    X = words.transform(TEXTS)
    assert f1_scorer(wrapped, TEXTS, Y) == model.score(X, Y)
    for display in (ReliabilityDisplay, RiskCoverageDisplay):
        drawn = display.from_estimator(wrapped, TEXTS, Y)
        by_hand = display.from_estimator(model, X, Y)
        if display is ReliabilityDisplay:
            assert [a.tolist() for a in drawn.accuracy] == [a.tolist() for a in by_hand.accuracy]
        else:
            assert drawn.curve.area == by_hand.curve.area
    plt.close("all")


def test_an_ensemble_says_where_the_transformation_belongs():
    members = [("flat", make_pipeline(TfidfVectorizer(), FlatClassifier())), ("local", plain())]
    with pytest.raises(TypeError, match=r"'flat' is a Pipeline.*before the ensemble"):
        EnsembleClassifier(members).fit(TEXTS, Y)


# -- taking apart ------------------------------------------------------------------------------


def test_only_searches_are_searches():
    for other in (LogisticRegressionCV(), TunedThresholdClassifierCV(LogisticRegression())):
        assert unwrap(other).model is other
    inner = LogisticRegression()
    assert unwrap(GridSearchCV(inner, {})).model is inner


@pytest.mark.parametrize("steps", [[], None, [("only",)]])
def test_a_pipeline_without_steps_is_not_a_wrapping(steps):
    model = Pipeline([("only", plain())])
    model.steps = steps
    assert unwrap(model).model is model
    assert name_for_fit(model, "w") == "w"
    assert detached(model).steps == steps
    for take in (hiclass.predict_confidence, make_report, explain):
        with pytest.raises(TypeError, match=r"must be a fitted hierarchical.*got a Pipeline\."):
            take(*([model, TEXTS, Y] if take is make_report else [model, TEXTS]))


def test_an_attribute_hierarchy_does_not_make_a_classifier_hierarchical(reference):
    other = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    for hierarchy in (5, reference[1].hierarchy_):
        other.hierarchy_ = hierarchy
        with pytest.raises(TypeError, match=r"must be a fitted hierarchical.*got a LogisticReg"):
            hiclass.predict_node_proba(other, [[0.0]])
    assert is_fitted_classifier(reference[1])
    assert not is_fitted_classifier(make_pipeline(reference[1]))


def test_names_of_parameters_lead_to_the_last_step():
    model = plain()
    assert name_for_fit(model, "sample_weight") == "sample_weight"
    assert name_for_fit(search(model), "w") == "w"
    nested = Pipeline([("a", StandardScaler()), ("b", search(Pipeline([("c", model)])))])
    assert name_for_fit(nested, "w") == "b__c__w"


def test_groups_are_for_searches_and_for_whatever_names_them():
    assert name_for_groups(plain()) == "groups"
    assert name_for_groups(LogisticRegression()) is None
    assert name_for_groups(search(LogisticRegression())) == "groups"
    nested = Pipeline([("a", StandardScaler()), ("b", Pipeline([("c", search(plain()))]))])
    assert name_for_groups(nested) == "b__c__groups"
    assert name_for_groups(Pipeline([("a", "passthrough")])) is None
    with sklearn.config_context(enable_metadata_routing=True):
        assert name_for_groups(nested) == name_for_groups(plain()) == "groups"
        assert name_for_groups(LogisticRegression()) is None
        assert name_for_groups(object()) is None


def test_a_detached_copy_is_not_frozen_and_shares_no_step():
    model = pipeline().fit(TEXTS, Y)
    copied = detached(FrozenEstimator(model))
    assert isinstance(copied, Pipeline)
    assert copied[0] is not model[0]
    assert copied[-1] is not model[-1]
    np.testing.assert_array_equal(copied.predict(TEXTS), model.predict(TEXTS))
