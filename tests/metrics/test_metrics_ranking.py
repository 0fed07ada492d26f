"""Coverage error, ranking loss and Jaccard index of sets: by hand, literally, scikit-learn."""

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from strategies import SETTINGS, hierarchies_with_sets

from hiclass import Hierarchy
from hiclass.metrics import coverage_error, jaccard, ranking_loss

DAG = Hierarchy.from_edges([("pet", "cat"), ("feline", "cat"), ("feline", "lion"), ("pet", "dog")])
TRUE = [["cat"], ["lion", "dog"], ["pet"], []]
PRED = [["cat", "dog"], ["lion"], [], ["dog"]]
OPTIONS = {"hierarchy": DAG, "multi_label": True}


def proba_of(**by_label):
    """Node probabilities from lists by label."""
    columns = [by_label.get(label, [1.0] * 4) for label in DAG.labels.tolist()[1:]]
    return np.column_stack([np.ones(4), *columns])


PROBA = proba_of(
    feline=[0.9, 0.8, 0.2, 0.1],
    lion=[0.1, 0.5, 0.1, 0.0],
    pet=[0.8, 0.6, 0.9, 0.2],
    cat=[0.7, 0.6, 0.1, 0.1],
    dog=[0.7, 0.3, 0.3, 0.2],
)


def test_coverage_error_by_hand():
    # cat, pet, feline: the last is cat with .7, and dog has .7 too: 4. lion, dog, pet, feline:
    # the last is dog with .3: 5. pet: 1. No label: 0.
    assert coverage_error(TRUE, PROBA, **OPTIONS) == (4 + 5 + 1 + 0) / 4
    assert coverage_error(TRUE, PROBA, sample_weight=[1, 2, 0, 1], **OPTIONS) == (4 + 10) / 4
    assert coverage_error(TRUE, PROBA, exclude=["dog"], **OPTIONS) == (3 + 4 + 1 + 0) / 4


def test_ranking_loss_by_hand():
    # Row 1: cat, pet, feline against lion, dog: cat = dog is wrong: 1/6. Row 2: lion, dog, pet,
    # feline against cat (.6): lion, dog and pet (equal) are wrong: 3/4. Rows 3 and 4: 0.
    assert ranking_loss(TRUE, PROBA, **OPTIONS) == pytest.approx((1 / 6 + 3 / 4) / 4)
    all_true = [["cat", "lion", "dog"]] * 4
    assert ranking_loss(all_true, PROBA, **OPTIONS) == 0


def test_jaccard_by_hand():
    # {cat pet feline} {lion feline dog pet} {pet} {} against {cat pet feline dog} {lion feline} {}
    # {dog pet}: 3/4, 2/4, 0/1, 0/2; 5 of 11 in all.
    assert jaccard(TRUE, PRED, **OPTIONS) == (3 / 4 + 2 / 4) / 4
    assert jaccard(TRUE, PRED, "micro", **OPTIONS) == 5 / 11
    with pytest.warns(sklearn.exceptions.UndefinedMetricWarning, match=r"Jaccard index .* 1 row"):
        assert jaccard([[], ["cat"]], [[], ["cat"]], **OPTIONS) == 1 / 2
    assert jaccard([[], ["cat"]], [[], ["cat"]], zero_division=1.0, **OPTIONS) == 1


@st.composite
def ranked_sets(draw):
    edges, y = draw(hierarchies_with_sets(max_rows=8).filter(lambda drawn: any(drawn[1])))
    hierarchy = Hierarchy.from_edges(edges)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    scores = rng.integers(0, 6, (len(y), hierarchy.n_nodes)) / 5
    return hierarchy, y, scores, rng.integers(1, 4, len(y)).astype(float)


def literal(truth, scores, weight):
    """Coverage error and ranking loss, by counting classes and pairs."""
    coverage = loss = 0.0
    for true, score, w in zip(truth, scores, weight, strict=True):
        positive = [v for v in range(len(true)) if true[v]]
        negative = [v for v in range(len(true)) if not true[v]]
        deepest = [sum(other >= score[v] for other in score) for v in positive]
        coverage += w * max(deepest, default=0)
        wrong = sum(score[a] <= score[b] for a in positive for b in negative)
        loss += w * wrong / max(1, len(positive) * len(negative))
    return coverage / sum(weight), loss / sum(weight)


@SETTINGS
@given(ranked_sets())
def test_rankings_equal_the_literal_ones_and_those_of_scikit_learn(case):
    hierarchy, y, scores, weight = case
    options = {"hierarchy": hierarchy, "multi_label": True, "sample_weight": weight}
    truth = hierarchy.indicator(y).toarray()[:, 1:]
    found = coverage_error(y, scores, **options), ranking_loss(y, scores, **options)
    assert found == pytest.approx(literal(truth.tolist(), scores[:, 1:].tolist(), weight.tolist()))
    if truth.shape[1] > 1:  # scikit-learn takes a single column for another kind of target
        both = sklearn.metrics.coverage_error, sklearn.metrics.label_ranking_loss
        theirs = [each(truth, scores[:, 1:], sample_weight=weight) for each in both]
        assert found == pytest.approx(theirs)


@SETTINGS
@given(hierarchies_with_sets(max_rows=8).filter(lambda drawn: any(drawn[1])))
def test_jaccard_equals_that_of_scikit_learn_on_closed_indicators(drawn):
    edges, y = drawn
    hierarchy, pred = Hierarchy.from_edges(edges), y[1:] + y[:1]
    a, b = (hierarchy.indicator(s).toarray()[:, 1:] for s in (y, pred))
    options = {"hierarchy": hierarchy, "multi_label": True, "zero_division": 0.0}
    for average in ("micro", "samples", "weighted"):
        expected = sklearn.metrics.jaccard_score(a, b, average=average, zero_division=0)
        assert jaccard(y, pred, average=average, **options) == pytest.approx(expected)
    each = jaccard(y, pred, average=None, **options)[1:]
    present = (a | b).any(axis=0)
    expected = sklearn.metrics.jaccard_score(a, b, average=None, zero_division=0)
    np.testing.assert_allclose(each[present], expected[present])
    assert np.isnan(each[~present]).all()


def test_bad_input_is_refused():
    for metric in (coverage_error, ranking_loss):
        with pytest.raises(ValueError, match=r"node_proba has shape \(4, 5\); expected \(4, 6\)"):
            metric(TRUE, PROBA[:, 1:], **OPTIONS)
        with pytest.raises(ValueError, match="exclude='dog' must be a list"):
            metric(TRUE, PROBA, exclude="dog", **OPTIONS)
        with pytest.raises(
            ValueError, match="exclude contains every node that is true in some row"
        ):
            metric([["pet"]], PROBA[:1], exclude=["pet"], **OPTIONS)
