"""Explanations of sets of classes: the terms add up to the scores, along all parents."""

import json

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from hiclass import (
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    HierarchicalClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    explain,
)

PETS = {"pet": ["cat", "dog"], "feline": ["cat", "lion"], "canine": ["dog", "wolf"]}
KINDS = [["cat"], ["lion"], ["dog"], ["wolf"], ["cat", "dog"]]
NAMES = ["tame", "meows", "barks"]
OPTIONS = {"hierarchy": PETS, "multi_label": True}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 5, 150)
    places = np.array([[5, 5, 0], [0, 5, 0], [5, 0, 5], [0, 0, 5], [5, 5, 5]], dtype=float)
    y = np.empty(150, dtype=object)
    y[:] = [KINDS[k] for k in kind]
    return places[kind] + rng.normal(scale=1.5, size=(150, 3)), y


def by_label(found):
    return {step.label: step for step in [*found.steps, *found.runners_up]}


def test_per_parent_a_shared_class_has_a_reason_below_each_parent(data):
    X, y = data
    model = LocalClassifierPerParentNode(**OPTIONS).fit(X, y)
    found = explain(model, [5.0, 5.0, 5.0], feature_names=NAMES, k=4)
    assert set(found.labels) == {"cat", "dog"}
    assert {step.label for step in found.steps} == {"pet", "feline", "canine", "cat", "dog"}
    assert {step.label for step in found.runners_up} == {"lion", "wolf"}
    classes = by_label(found)
    cat = classes["cat"]
    assert set(cat.parents) == {"pet", "feline"}
    assert {reason.note for reason in cat.reasons} == {
        f"against rows without this class, below {parent}" for parent in ("pet", "feline")
    }  # fmt: skip
    proba = model.predict_node_proba([[5.0, 5.0, 5.0]])[0]
    tree = model.hierarchy_
    for label, step in classes.items():
        assert step.probability == proba[tree.find(label)]
        above = [classes[p].probability for p in step.parents] or [1.0]
        # Below every parent the probability given that parent; the least of the products.
        given = [expit(reason.margin) for reason in step.reasons]
        order = [reason.note.rpartition(" ")[2] for reason in step.reasons]
        if step.parents:
            above = [classes[parent].probability for parent in order]
        expected = min(p * g for p, g in zip(above, given, strict=True))
        expected = min([expected, *above])
        assert step.probability == pytest.approx(expected)


@pytest.mark.parametrize("top", [0, 1, 3])
def test_per_node_the_terms_are_weights_times_values(data, top):
    X, y = data
    model = LocalClassifierPerNode(**OPTIONS).fit(X, y)
    x = np.array([4.0, 1.0, 6.0])
    found = explain(model, x, feature_names=NAMES, top=top)
    for label, step in by_label(found).items():
        (reason,) = step.reasons
        local = model.local_classifiers_[label]
        assert reason.margin == pytest.approx(local.decision_function(x[None])[0])
        assert len(reason.features) <= top
        for feature in reason.features:
            j = NAMES.index(feature.name)
            assert feature.value == x[j]
            assert feature.weight == pytest.approx(local.coef_[0, j])
            assert feature.contribution == pytest.approx(local.coef_[0, j] * x[j])


def test_scores_of_a_global_ridge_are_its_probabilities(data):
    X, y = data
    model = GlobalClassifier(Ridge(), **OPTIONS).fit(X, y)
    found = explain(model, X[0], k=10)
    for step in found.steps:
        if not step.parents:  # not limited by classes above
            assert np.clip(step.reasons[0].margin, 0, 1) == pytest.approx(step.probability)
    # A leaf is limited by its parents only; its own score is what the probability is below that.
    for step in found.steps + found.runners_up:
        above = [by_label(found)[parent].probability for parent in step.parents]
        score = np.clip(step.reasons[0].margin, 0, 1)
        assert step.probability == pytest.approx(min([score, *above]))


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (LocalClassifierPerLevel(**OPTIONS), "linear"),
        (FlatClassifier(LogisticRegression(), **OPTIONS), "linear"),
        (LocalClassifierPerParentNode(DecisionTreeClassifier(), **OPTIONS), "forest"),
        (LocalClassifierPerParentNode(KNeighborsClassifier(), **OPTIONS), "other"),
        (GlobalClassifier(**OPTIONS), "forest"),
        (LocalClassifierPerNode(**OPTIONS, calibration="isotonic"), "linear"),
        (make_pipeline(StandardScaler(), LocalClassifierPerParentNode(**OPTIONS)), "linear"),
        (HierarchicalClassifier(**OPTIONS, random_state=0), None),
    ],
    ids=["level", "flat", "trees", "neighbours", "global", "calibrated", "pipeline", "auto"],
)
def test_every_model_of_sets_is_explained(model, kind, data):
    X, y = data
    model.fit(X, y)
    found = explain(model, X[:1], feature_names=NAMES)
    assert set(found.labels) == set(model.predict(X[:1])[0])
    kinds = {reason.kind for step in found.steps for reason in step.reasons}
    assert kind is None or kind in kinds
    levels = [step.level for step in found.steps]
    assert levels == sorted(levels)
    text, page = str(found), found._repr_html_()
    for step in found.steps:
        assert f"{step.label}  {step.probability:.2f}" in text
        assert f"<strong>{step.label}</strong>" in page
    assert json.loads(json.dumps(found.to_dict()))["labels"] == found.labels


def test_members_of_an_ensemble_have_reasons_of_their_own(data):
    X, y = data
    model = EnsembleClassifier(
        [
            ("parent", LocalClassifierPerParentNode(**OPTIONS)),
            ("node", LocalClassifierPerNode(**OPTIONS)),
        ]
    ).fit(X, y)
    found = explain(model, X[:1], feature_names=NAMES)
    assert {reason.member for step in found.steps for reason in step.reasons} == {"parent", "node"}


def test_one_label_per_row_in_a_dag(data):
    X, y = data
    labels = np.array([row[0] for row in y])
    model = LocalClassifierPerParentNode(hierarchy=PETS).fit(X, labels)
    found = explain(model, X[0], feature_names=NAMES)
    assert found.labels == [model.predict(X[:1])[0]]
    assert repr(found) == f"SetExplanation('{found.labels[0]}')"


def test_a_row_without_a_class_and_an_only_child(data):
    X, y = data
    chain = {"animal": ["cat", "lion", "dog", "wolf"]}
    model = LocalClassifierPerParentNode(hierarchy=chain, multi_label=True).fit(X, y)
    found = explain(model, X[0])
    assert found.steps[0].label == "animal"
    assert "nothing to decide" in str(found)
    strict = LocalClassifierPerParentNode(**OPTIONS, threshold=1.0).fit(X, y)
    nothing = explain(strict, X[0])
    assert nothing.labels == nothing.steps == []
    assert str(nothing).startswith("(no class)")
    assert len(nothing.runners_up) == 3


def test_labels_are_escaped(data):
    X, y = data
    named = [[f"<b>{label}</b>" for label in row] for row in y]
    model = LocalClassifierPerParentNode(multi_label=True).fit(X, named)
    page = explain(model, X[0])._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
