"""Why a row got its path: probabilities, runners-up and contributions that add up."""

import json
import re
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from fakes import OnlyPredict
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    explain,
)

MODELS = [
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    LocalClassifierPerLevel,
    FlatClassifier,
]


@pytest.fixture(params=MODELS, ids=lambda c: c.__name__)
def any_model(request):
    return request.param


def steps_of(explanation):
    return [(step.label, step.probability) for step in explanation.steps]


# -- path and probabilities --------------------------------------------------------------------


def test_path_and_probabilities_are_those_of_the_model(any_model, animals):
    X, y = animals
    model = any_model().fit(X, y)
    for row in range(0, len(X), 5):
        found = explain(model, X[row])
        predicted = model.predict(X[row : row + 1])[0]
        confidence = model.predict_confidence(X[row : row + 1])[0]
        assert found.path == tuple(label for label in predicted if label)
        last = confidence[~np.isnan(confidence)][-1]
        assert found.confidence == pytest.approx(last)
        product = 1.0
        for step, sure in zip(found.steps, confidence[~np.isnan(confidence)], strict=False):
            product *= step.probability
            assert step.confidence == pytest.approx(product)
            assert step.confidence == pytest.approx(sure)


def test_options_of_a_step_sum_to_one(any_model, animals):
    X, y = animals
    found = explain(any_model().fit(X, y), X[14], k=10)
    for step in found.steps:
        total = step.probability + sum(option.probability for option in step.runners_up)
        assert total == pytest.approx(1.0)
        ordered = [option.probability for option in step.runners_up]
        assert ordered == sorted(ordered, reverse=True)


def test_k_and_top_limit_what_is_shown(animals):
    X, y = animals
    model = LocalClassifierPerParentNode().fit(X, y)
    found = explain(model, X[0], k=1, top=2)
    assert max(len(step.runners_up) for step in found.steps) == 1
    assert max(len(r.features) for step in found.steps for r in step.reasons) == 2
    nothing = explain(model, X[0], k=0, top=0)
    assert all(not step.runners_up for step in nothing.steps)
    assert all(not r.features for step in nothing.steps for r in step.reasons)


def test_a_path_that_ends_at_an_inner_node_has_a_last_step(any_model, animals):
    X, y = animals
    row = 19  # Plant, without Fern
    found = explain(any_model().fit(X, y), X[row])
    assert found.path == ("Plant",)
    assert found.note == "The path ends at Plant."
    last = found.steps[-1]
    assert last.label is None
    assert last.probability > 0.5
    assert [option.label for option in last.runners_up] == ["Fern"]
    (reason,) = last.reasons
    assert reason.kind == "linear"
    assert reason.margin > 0
    expected = "continuing" if any_model is LocalClassifierPerNode else "Fern"
    assert reason.note == f"against {expected}"


def test_a_path_that_stops_early_says_why(animals):
    X, y = animals
    model = LocalClassifierPerParentNode(min_confidence=0.999).fit(X, y)
    found = explain(model, X[8] / 4)
    assert len(found.path) < 3
    assert "below min_confidence=0.999" in found.note
    last = found.steps[-1]
    assert last.label is None
    assert last.probability is None
    assert last.reasons == []
    assert "not followed: " in str(found)
    empty = explain(model.set_params(min_confidence=1.0), X[8] / 4)
    assert empty.path == ()
    assert empty.confidence is None
    assert str(empty).startswith("(no class)\nThe path ends at the top")


def test_a_conformal_model_explains_the_model_inside(animals):
    X, y = animals
    X, y = np.vstack([X] * 4), np.vstack([y] * 4)
    model = ConformalClassifier(
        LocalClassifierPerParentNode(LogisticRegression(C=0.001)), alpha=0.05, random_state=0
    ).fit(X, y)
    model.threshold_ = 0.5  # as if calibration had been strict
    found = explain(model, X[8])
    assert found.path == tuple(label for label in model.predict(X[8:9])[0] if label)
    assert "no class below it satisfies the guarantee" in found.note


def test_a_restricted_model_is_explained_with_what_is_left(animals):
    X, y = animals
    model = LocalClassifierPerParentNode().fit(X, y).restricted_to([("Animal", "Mammal"), "Rock"])
    found = explain(model, X[0], k=5)
    assert found.path[0] in ("Animal", "Rock")
    assert found.steps[0].runners_up[-1].probability == pytest.approx(0.0)


# -- contributions -----------------------------------------------------------------------------


@pytest.mark.parametrize("model_class", MODELS[1:], ids=lambda c: c.__name__)
def test_contributions_and_intercepts_add_up_to_the_difference_of_log_probabilities(
    model_class, animals
):
    """Of a multinomial logistic regression: the margin is the log of the odds."""
    X, y = animals
    X, y = X[y[:, 1] != ""], y[y[:, 1] != ""]
    model = model_class().fit(X, y)
    x = X[3]
    found = explain(model, x, top=100)
    for step in found.steps:
        (reason,) = step.reasons
        total = sum(feature.contribution for feature in reason.features)
        for feature in reason.features:
            assert feature.contribution == pytest.approx(feature.weight * feature.value)
            assert feature.value == x[int(feature.name[1:])]
        assert abs(reason.margin - total) < 5
        if reason.kind == "linear" and model_class is not FlatClassifier:
            odds = step.probability / step.runners_up[0].probability
            assert reason.margin == pytest.approx(np.log(odds))
            assert reason.note == f"against {step.runners_up[0].label}"


def test_margin_of_a_flat_model_compares_the_likeliest_final_classes(animals):
    X, y = animals
    model = FlatClassifier().fit(X, y)
    found = explain(model, X[8])
    paths, proba = model.predict_paths(X[8:9], k=10)
    by_top = {}
    for path, p in zip(paths[0].tolist(), proba[0], strict=True):
        by_top.setdefault(path[0], p)
    first = found.steps[0]
    rival = first.runners_up[0].label
    expected = np.log(by_top[first.label] / by_top[rival])
    assert first.reasons[0].margin == pytest.approx(expected)


def test_margin_per_node_is_the_difference_of_two_decision_functions(animals):
    X, y = animals
    model = LocalClassifierPerNode().fit(X, y)
    found = explain(model, X[0], top=100)
    step = found.steps[0]
    chosen, rival = ((label,) for label in (step.label, step.runners_up[0].label))
    scores = [
        model.local_classifiers_[path].decision_function(X[:1])[0] for path in (chosen, rival)
    ]
    assert step.reasons[0].margin == pytest.approx(scores[0] - scores[1])


def test_gate_of_a_node_speaks_against_stopping(animals):
    X, y = animals
    model = LocalClassifierPerNode().fit(X, y)
    found = explain(model, X[25])
    assert found.path == ("Plant", "Fern")
    reason = found.steps[1].reasons[0]
    gate = model.stop_classifiers_["Plant",].decision_function(X[25:26])[0]
    assert reason.note == "against stopping here"
    assert reason.margin == pytest.approx(-gate)


def test_an_only_child_decides_nothing():
    X = np.array([[-10.0], [10.0], [20.0]])
    y = [["A", "only"], ["B", "x"], ["B", "z"]]
    for model_class in MODELS[:2]:
        found = explain(model_class().fit(X, y), [-10.0])
        (reason,) = found.steps[1].reasons
        assert (reason.kind, reason.classifier) == ("none", "")
        assert reason.note.startswith("nothing to decide")
        assert found.steps[1].probability == pytest.approx(1.0)


def test_an_only_child_or_the_end_is_decided_by_the_gate():
    X = np.array([[-10.0], [-9.0], [10.0], [20.0]])
    y = [["A"], ["A", "only"], ["B"], ["B"]]
    model = LocalClassifierPerNode(LogisticRegression(C=1e6)).fit(X, y)
    for x, chosen, note in (
        (X[1], "only", "against stopping here"),
        (X[0], None, "against continuing"),
    ):
        step = explain(model, x).steps[1]
        assert step.label == chosen
        assert step.reasons[0].note == note
        assert step.reasons[0].margin > 0


def test_a_forest_as_gate_scores_an_only_child():
    X = np.array([[-10.0], [-9.0], [10.0], [20.0]] * 5)
    y = [["A"], ["A", "only"], ["B"], ["B"]] * 5
    model = LocalClassifierPerNode(RandomForestClassifier(10, random_state=0)).fit(X, y)
    step = explain(model, X[1]).steps[1]
    assert (step.label, step.probability) == ("only", 1.0)
    assert step.reasons[0].kind == "forest"


def test_a_member_that_has_no_say_between_two_branches_compares_what_it_has(animals):
    """Restricted to one class, the classifier of a parent has no rival left."""
    X, y = animals
    for model_class in MODELS:
        model = model_class().fit(X, y).restricted_to([("Animal", "Mammal", "Cat")])
        found = explain(model, X[0], k=1)
        assert found.path == ("Animal", "Mammal", "Cat")
        assert all(step.probability == pytest.approx(1.0) for step in found.steps)


def test_per_level_an_only_child_decides_nothing_either():
    X = np.array([[-10.0], [10.0], [20.0]])
    y = [["A", "only"], ["B", "x"], ["B", "z"]]
    for model_class in (LocalClassifierPerLevel, FlatClassifier):
        reason = explain(model_class().fit(X, y), [-10.0]).steps[1].reasons[0]
        assert reason.kind == "none"


def test_a_model_with_one_path_decides_nothing(any_model):
    model = any_model().fit([[0.0], [1.0]], [["A", "x"], ["A", "x"]])
    found = explain(model, [0.5])
    assert found.path == ("A", "x")
    assert {r.kind for step in found.steps for r in step.reasons} == {"none"}


def test_forests_show_importances_and_say_that_they_are_global(animals):
    X, y = animals
    model = LocalClassifierPerParentNode(RandomForestClassifier(10, random_state=0)).fit(X, y)
    one, other = explain(model, X[0]), explain(model, X[1])
    reason = one.steps[0].reasons[0]
    assert reason.kind == "forest"
    assert "the same for every row" in reason.note
    assert reason.features == other.steps[0].reasons[0].features
    importances = model.local_classifiers_[()].feature_importances_
    assert reason.features[0].weight == importances.max()
    assert reason.features[0].value is None
    assert reason.margin is None


def test_other_classifiers_say_that_they_show_nothing(animals):
    X, y = animals
    model = LocalClassifierPerParentNode(KNeighborsClassifier(3)).fit(X, y)
    text = str(explain(model, X[0]))
    assert "KNeighborsClassifier, has neither weights nor feature importances" in text


@pytest.mark.parametrize("model_class", MODELS, ids=lambda c: c.__name__)
def test_models_without_probabilities_compare_scores(model_class, animals):
    X, y = animals
    model = model_class(LinearSVC(random_state=0)).fit(X, y)
    found = explain(model, X[8])
    assert found.path == tuple(label for label in model.predict(X[8:9])[0] if label)
    assert found.confidence is None
    assert found.note == "The model has no probabilities."
    first = found.steps[0]
    assert first.probability is None
    assert first.reasons[0].kind == "linear"
    assert first.reasons[0].margin > 0
    assert first.runners_up[0].probability is None
    assert "runner-up: " in str(found)
    if model_class is FlatClassifier:
        scores = model.local_classifiers_[()].decision_function(X[8:9])[0]
        tops = [model.hierarchy_.path(v)[0] for v in model.local_classes_[()].tolist()]
        rival = max(s for s, top in zip(scores, tops, strict=True) if top != "Animal")
        assert first.reasons[0].margin == pytest.approx(scores.max() - rival)


def test_models_without_probabilities_or_weights_still_have_a_path(animals):
    X, y = animals
    found = explain(LocalClassifierPerParentNode(OnlyPredict()).fit(X, y), X[19])
    assert found.path == ("Plant",)
    assert found.steps[0].runners_up == []
    assert found.steps[0].reasons[0].kind == "other"


def test_a_flat_model_without_probabilities_or_weights_has_a_path(animals):
    X, y = animals
    found = explain(FlatClassifier(OnlyPredict()).fit(X, y), X[8])
    assert found.path == ("Animal", "Mammal", "Cat")
    assert {step.reasons[0].kind for step in found.steps} == {"other"}


def test_a_class_without_rows_is_no_rival():
    tree = {"top": ["A", "B", "empty"], "A": ["x", "y"], "B": ["u", "v"], "empty": ["p", "q"]}
    X = np.eye(4)
    for model_class in MODELS:
        found = explain(model_class(hierarchy=tree).fit(X, ["x", "y", "u", "v"]), X[0], k=5)
        assert found.path == ("top", "A", "x")
        assert found.steps[1].runners_up[-1].label == "empty"
        assert found.steps[1].reasons[0].note == "against B"


def test_missing_labels_that_are_no_number_end_a_path():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([[1.0, 10.0], [1.0, 11.0], [2.0, np.nan], [2.0, np.nan]])
    found = explain(LocalClassifierPerParentNode(LinearSVC()).fit(X, y), [3.0])
    assert found.path == (2.0,)


# -- members and wrappers ----------------------------------------------------------------------


def test_an_ensemble_has_a_reason_per_member(animals):
    X, y = animals
    model = EnsembleClassifier(
        [
            ("flat", FlatClassifier()),
            ("wood", LocalClassifierPerParentNode(RandomForestClassifier(5, random_state=0))),
        ]
    ).fit(X, y)
    found = explain(model, X[0])
    for step in found.steps[:2]:
        assert [(r.member, r.kind) for r in step.reasons] == [
            ("flat", "linear"),
            ("wood", "forest"),
        ]
    assert "[flat] LogisticRegression" in str(found)


def test_local_classifiers_that_are_pipelines_are_explained_with_what_they_see(animals):
    X, y = animals
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    model = LocalClassifierPerParentNode(estimator).fit(X, y)
    found = explain(model, X[0], feature_names=list("abcdef"), top=1)
    step = found.steps[0]
    feature = step.reasons[0].features[0]
    scaler = model.local_classifiers_[()][0]
    j = "abcdef".index(feature.name)
    assert feature.value == pytest.approx(scaler.transform(X[:1])[0, j])
    odds = step.probability / step.runners_up[0].probability
    assert step.reasons[0].margin == pytest.approx(np.log(odds))


def test_local_classifiers_per_node_with_features_of_their_own_are_not_compared(animals):
    X, y = animals
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    model = LocalClassifierPerNode(estimator).fit(X, y)
    reason = explain(model, X[0]).steps[0].reasons[0]
    assert reason.note == "against its siblings"
    own = model.local_classifiers_["Animal",].decision_function(X[:1])[0]
    assert reason.margin == pytest.approx(own)


# -- rows in every form ------------------------------------------------------------------------


def test_one_row_in_every_form_gives_the_same(animals):
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, y = animals
    model = LocalClassifierPerParentNode().fit(X, y)
    expected = str(explain(model, X[:1]))
    for x in (X[0], X[0].tolist(), [X[0].tolist()], sp.csr_array(X[:1]), tuple(X[0].tolist())):
        assert str(explain(model, x)) == expected
    names = list("abcdef")
    frame = pd.DataFrame(X, columns=names)
    framed = LocalClassifierPerParentNode().fit(frame, y)
    named = str(explain(framed, frame.iloc[[0]]))
    assert named == re.sub(r"x(\d) =", lambda found: f"{names[int(found[1])]} =", expected)
    assert str(explain(framed, frame.iloc[0])) == named
    polar = LocalClassifierPerParentNode().fit(pl.DataFrame(frame), y)
    assert str(explain(polar, pl.DataFrame(frame)[:1])) == named


def test_texts(any_model):
    pd = pytest.importorskip("pandas")
    docs = ["red cat fur", "red dog fur", "blue fish fin", "blue whale fin"]
    y = [["land", "cat"], ["land", "dog"], ["sea", "fish"], ["sea", "whale"]]
    model = make_pipeline(TfidfVectorizer(), any_model()).fit(docs, y)
    found = explain(model, "a blue whale")
    assert found.path == ("sea", "whale")
    assert found.steps[1].reasons[0].features[0].name == "whale"
    for x in (["a blue whale"], np.array(["a blue whale"]), pd.Series(["a blue whale"])):
        assert explain(model, x).to_dict() == found.to_dict()


def test_columns_of_a_frame_that_no_pipeline_renames_are_the_names(animals):
    pd = pytest.importorskip("pandas")
    X, y = animals
    # Fitted without names, queried with them: scikit-learn would warn, so a pipeline hands them on.
    keep = make_pipeline("passthrough", LocalClassifierPerParentNode())
    keep.fit(pd.DataFrame(X, columns=list("abcdef")), y)
    found = explain(keep, pd.DataFrame(X[:1], columns=list("abcdef")))
    assert found.steps[0].reasons[0].features[0].name in "abcdef"


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[1.0] * 6, [2.0] * 6], "got 2 rows"),
        (np.zeros((3, 6)), "got 3 rows"),
        (["one text", "two texts"], "got 2 rows"),
        ([], "got 0 rows"),
        (3.0, "got a float"),
        (sp.csr_array((2, 6)), "got 2 rows"),
    ],
)
def test_anything_but_one_row_is_refused(x, message, animals):
    X, y = animals
    model = LocalClassifierPerParentNode().fit(X, y)
    with pytest.raises(ValueError, match=f"explain takes one row; {message}"):
        explain(model, x)


@pytest.mark.parametrize("bad", [-1, 1.5, True, "3"])
@pytest.mark.parametrize("name", ["top", "k"])
def test_bad_numbers_are_refused(name, bad, animals):
    X, y = animals
    model = LocalClassifierPerParentNode().fit(X, y)
    with pytest.raises(ValueError, match=f"{name} must be a non-negative integer"):
        explain(model, X[0], **{name: bad})


def test_single_labels_with_a_hierarchy():
    tree = {"A": ["x", "y"], "B": ["u", "v"]}
    X = np.eye(4)
    for model_class in MODELS:
        model = model_class(hierarchy=tree).fit(X, ["x", "y", "u", "v"])
        found = explain(model, X[2])
        assert found.path == ("B", "u")
        assert found.steps[0].reasons[0].kind == "linear"


# -- rendering -------------------------------------------------------------------------------


def test_text_shows_all_parts():
    X = np.array([[4, 0], [4, 1], [0, 0], [0, 1]])
    y = [["Mammal", "Cat"], ["Mammal", "Dog"], ["Fish", "Eel"], ["Fish", "Ray"]]
    model = LocalClassifierPerParentNode(MultinomialNB()).fit(X, y)
    lines = str(explain(model, [4, 0], feature_names=["legs", "fins"], k=1)).splitlines()
    assert lines[0].startswith("Mammal > Cat (probability 0.")
    assert lines[2].startswith("1. Mammal  0.")
    assert lines[3].startswith("   runner-up: Fish 0.")
    assert lines[4] == "   MultinomialNB, against Fish:"
    assert lines[5].endswith("  legs = 4")


def test_lines_of_a_reason_add_up_to_its_margin(animals):
    X, y = animals
    found = explain(LocalClassifierPerParentNode().fit(X, y), X[0], top=2)
    text = str(found)
    block = text.split("against")[1].split("\n\n")[0].splitlines()[1:]
    assert len(block) == 3
    assert block[2].endswith("the rest, with the intercept")
    total = sum(float(line.split()[0]) for line in block)
    assert total == pytest.approx(found.steps[0].reasons[0].margin, abs=0.02)


def test_dict_is_plain(animals):
    X, y = animals
    found = explain(LocalClassifierPerParentNode().fit(X, y), X[0])
    data = found.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["path"] == list(found.path)
    assert repr(found).startswith("Explanation('Animal > Bird', confidence=0.")


def test_html_escapes_every_name():
    evil = ["<b>x</b>", "<script>y</script>"]
    X = np.eye(2)
    model = LocalClassifierPerParentNode(min_confidence=0.9).fit(X, [[evil[0]], [evil[1]]])
    page = explain(model, X[0], feature_names=evil)._repr_html_()
    model.set_params(min_confidence=0.0)
    page += explain(model, X[0], feature_names=evil)._repr_html_()
    assert "<b>" not in page
    assert "<script" not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert page.count("<table") == 1


def test_nothing_shown_is_no_table(animals):
    X, y = animals
    found = explain(LocalClassifierPerParentNode().fit(X, y), X[0], top=0, k=0)
    assert "<table" not in found._repr_html_()
    assert "runner" not in found._repr_html_()
    assert str(found).count("\n\n") == len(found.steps)


def test_html_of_members_and_of_nothing_to_compare(animals):
    X, y = animals
    svm = explain(LocalClassifierPerParentNode(LinearSVC(random_state=0)).fit(X, y), X[0])
    assert "The model has no probabilities." in svm._repr_html_()
    wood = LocalClassifierPerParentNode(RandomForestClassifier(5, random_state=0)).fit(X, y)
    page = explain(wood, X[0])._repr_html_()
    assert "feature importances" in page


def test_no_weights_are_copied_per_branch():
    """One classifier scores all branches of a flat model: its weights are read where they are."""
    X = np.random.default_rng(0).normal(size=(120, 500))
    y = [[f"a{i // 10}", f"b{i}"] for i in range(120)]
    model = FlatClassifier(SGDClassifier(loss="log_loss", max_iter=1, tol=None)).fit(X, y)
    explain(model, X[0])
    tracemalloc.start()
    explain(model, X[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < model.local_classifiers_[()].coef_.nbytes
