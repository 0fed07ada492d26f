"""Which of some models serve: worked out by hand, with classifiers whose predictions are known."""

from dataclasses import replace

import numpy as np
import pytest
from fakes import Fixed, Nearest, OnlyPredict, Scored, Soft, counting
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from hiclass import EnsembleClassifier, FlatClassifier, Hierarchy, LocalClassifierPerParentNode
from hiclass._automatic import known, selection
from hiclass._automatic.objectives import Objective
from hiclass._automatic.proposals import USUAL_F, Proposal
from hiclass._automatic.selection import (
    Candidate,
    Rows,
    fit_candidate,
    select,
    with_state,
)
from hiclass.metrics import exact_match, f1

PATH, F1 = Objective(("best_path",)), Objective(("expected_f1",))
CONSTANT = Objective(("best_path",), lambda model, X, y: 0.5)
# Four places that are far apart, one for each path.
PATHS = [["a", "x"], ["a", "y"], ["b", "z"], ["b", "w"]]
PLACES = 100.0 * np.eye(4)


class FixedWeighted(Fixed):
    def fit(self, X, y, sample_weight=None):
        return self


class Shifted(Nearest):
    """Always predicts another class than that of the nearest row."""

    def predict(self, X):
        return (super().predict(X) + 1) % (self.y.max() + 1)


def rows(n=24, weights=None, n_folds=3, noise=1.0, **given):
    which = np.arange(n) % 4
    X = PLACES[which] + np.random.default_rng(0).normal(scale=noise, size=(n, 4))
    y = [PATHS[k] for k in which]
    hierarchy = Hierarchy.from_paths(PATHS)
    nodes = np.array([hierarchy.find(tuple(path)) for path in y])
    params = {} if weights is None else {"sample_weight": np.asarray(weights, float)}
    return Rows(X, y, nodes, hierarchy, np.arange(n) // 4 % n_folds, params, **given)


def local(classifier, name="local", **params):
    model = LocalClassifierPerParentNode(classifier, decoding="best_path", **params)
    return Proposal(name, model, f"{name} in words")


def flat(classifier, name="flat", **params):
    return Proposal(name, FlatClassifier(classifier, **params), f"{name} in words")


# -- choosing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("objective", [PATH, F1], ids=["path", "f1"])
def test_of_right_and_wrong_the_right_one_is_chosen(order, objective):
    proposals = [local(Nearest(), "right"), local(Shifted(), "wrong")][::order]
    candidate, scores = select(proposals, rows(), 3, objective)
    assert candidate.name == "right"
    assert (scores["right"], candidate.score) == (1.0, 1.0)
    # The floor of what an F-score may be expected to be.
    assert scores["wrong"] == (0.0 if objective is PATH else pytest.approx(0.1))
    assert candidate.parts == (proposals[0 if order == 1 else 1],)
    assert candidate.weights == (1.0,)


def test_of_equal_ones_the_product_is_chosen_and_without_one_the_first():
    first, second = local(Nearest(), "one"), local(Nearest(), "two")
    candidate, scores = select([first, second], rows(), 3, PATH)
    assert candidate.name == "one and two"
    assert scores == {"one": 1.0, "two": 1.0, "one and two": 1.0}
    proposals = [local(Shifted(), "wrong"), local(Nearest(), "right"), local(Shifted(), "bad")]
    candidate, scores = select(proposals, rows(), 3, CONSTANT)
    assert scores == {"wrong": 0.5, "right": 0.5, "bad": 0.5}
    assert candidate.name == "wrong"


@pytest.mark.parametrize(("better_by", "chosen"), [(0.06, "one and two"), (0.07, "two")])
def test_a_single_model_has_to_be_better_than_the_product_by_more_than_chance(better_by, chosen):
    """Of 24 rows, sqrt(0.1 / 24) = 0.0645."""
    candidates = [
        Candidate((flat(Soft(), "one"),), (1.0,), "best_path", score=0.5),
        Candidate((flat(Soft(), "two"),), (1.0,), "best_path", score=0.5 + better_by),
        Candidate((flat(Soft(), "one"), flat(Soft(), "two")), (1, 1), "best_path", score=0.5),
    ]
    assert selection._best(candidates, 24).name == chosen
    # Of a scorer nothing is known.
    assert selection._best(candidates, np.inf).name == "two"


def test_one_proposal_is_measured_and_not_combined():
    candidate, scores = select([local(Nearest(), "only")], rows(), 3, PATH)
    assert scores == {"only": 1.0}
    assert candidate.decoding == "best_path"


def test_the_score_is_the_share_of_right_paths_of_rows_held_out():
    """A flat model that always predicts a > x: a quarter of the paths, half of the first labels."""
    always = flat(FixedWeighted(0.7, 0.1, 0.1, 0.1), "always")
    _, scores = select([always], rows(), 3, PATH)
    assert scores == {"always": 0.25}
    weights = np.where(np.arange(24) % 4 == 0, 3.0, 1.0)  # half of all weight
    _, scores = select([always], rows(weights=weights), 3, PATH)
    assert scores["always"] == pytest.approx(0.5)


def test_only_the_first_folds_are_held_out():
    fits = []
    select([local(counting(Soft, fits))], rows(n=24, n_folds=3), 1, PATH)
    # The root has the rows of two folds, each of its children half of them.
    assert fits == [16, 8, 8]
    fits.clear()
    select([local(counting(Soft, fits))], rows(n=24, n_folds=3), 3, PATH)
    assert fits == [16, 8, 8] * 3


def test_what_makes_a_trial_cheaper_is_not_part_of_the_model():
    proposal = flat(GaussianNB(var_smoothing=0.1))
    proposal = replace(proposal, trial={"local_classifier__var_smoothing": 0.5})
    ((held, _), *_) = selection._hold_out(proposal, rows(), 3)
    assert held.local_classifier.var_smoothing == 0.5
    candidate, _ = select([proposal], rows(), 3, PATH)
    assert fit_candidate(candidate, rows()).local_classifier.var_smoothing == 0.1


def test_rows_of_no_fold_are_in_every_training_set():
    fits = []
    data = rows()
    data = replace(data, fold=np.where(np.arange(24) < 12, -1, data.fold))
    select([flat(counting(Soft, fits))], data, 3, PATH)
    assert fits == [20, 20, 20]  # of the twelve rows in folds four are held out each time


@pytest.mark.parametrize("objective", [PATH, F1], ids=["path", "f1"])
def test_it_makes_no_difference_whether_predictions_are_kept(objective, monkeypatch):
    def chosen():
        proposals = [local(GaussianNB()), flat(LogisticRegression(C=1e-4))]
        return select(proposals, rows(noise=70.0), 3, objective)

    kept, scores = chosen()
    monkeypatch.setattr(known, "_MOST_NUMBERS", 0)
    queried, others = chosen()
    assert scores == pytest.approx(others)
    assert kept.weights == pytest.approx(queried.weights)
    assert kept.expected_f1 == pytest.approx(queried.expected_f1)
    assert kept.name == queried.name


def test_rows_are_queried_once(monkeypatch):
    """Three folds of two models: six calls to know them, none of a local classifier after that."""
    calls = []

    def know_and_count(models, X, some):
        calls.append(len(some))
        return known.know(models, X, some)

    monkeypatch.setattr(selection, "know", know_and_count)
    select([local(Nearest()), flat(Nearest())], rows(), 3, PATH)
    assert calls == [8] * 6
    select([local(Nearest())], rows(), 3, CONSTANT)  # a scorer sees rows
    assert calls == [8] * 6


# -- temperatures ------------------------------------------------------------------------------


def test_a_temperature_is_learned_where_a_model_has_one():
    proposal = local(Soft(), calibration="temperature", temperature=0.125)
    candidate, _ = select([proposal], rows(noise=60.0), 3, PATH)
    learned = candidate.parts[0].model.temperature
    assert learned != 0.125
    assert proposal.model.temperature == 0.125  # the proposal stays as it is
    again = LocalClassifierPerParentNode(Soft(), calibration="temperature")
    data = rows(noise=60.0)
    again.fit(data.X, data.y)
    assert learned == pytest.approx(again.temperature_, rel=0.3)


def test_a_light_copy_has_another_state():
    data = rows()
    model = FlatClassifier(Soft(), calibration="temperature", temperature=2.0).fit(data.X, data.y)
    other = with_state(model, replace(model._models, temperature=5.0))
    assert (other._models.temperature, model._models.temperature) == (5.0, 2.0)


# -- products ----------------------------------------------------------------------------------


class Half(Nearest):
    """Knows some classes only, and is undecided between the others."""

    known = (0, 1)

    def predict_proba(self, X):
        right = self.predict(X)
        sure = np.where(np.eye(4)[right] > 0, 0.97, 0.01)
        return np.where(np.isin(right, self.known)[:, None], sure, 0.25)


class OtherHalf(Half):
    known = (2, 3)


def test_two_halves_are_better_together():
    proposals = [flat(Half(), "one"), flat(OtherHalf(), "other")]
    candidate, scores = select(proposals, rows(), 3, PATH)
    assert candidate.name == "one and other"
    assert scores["one and other"] == 1.0
    # Of undecided rows the first class is predicted.
    assert (scores["one"], scores["other"]) == (0.5, 0.75)
    one, other = candidate.weights
    assert one == pytest.approx(other, rel=0.01)


def test_a_model_without_weight_is_no_part_of_the_product():
    proposals = [flat(Half(), "one"), flat(Shifted(), "wrong"), flat(OtherHalf(), "other")]
    candidate, scores = select(proposals, rows(), 3, PATH)
    assert candidate.name == "one and other"
    assert list(scores) == ["one", "wrong", "other", "one and other"]


def test_where_one_model_has_all_the_weight_there_is_no_product():
    proposals = [flat(Nearest(), "right"), flat(Shifted(), "wrong")]
    _, scores = select(proposals, rows(), 3, PATH)
    assert list(scores) == ["right", "wrong"]


# -- scorers -----------------------------------------------------------------------------------


def test_a_scorer_decides():
    """Whoever is wrong is wanted here."""
    objective = Objective(("best_path",), lambda model, X, y: -exact_match(y, model.predict(X)))
    proposals = [local(Nearest(), "right"), local(Shifted(), "wrong")]
    candidate, scores = select(proposals, rows(), 3, objective)
    assert candidate.name == "wrong"
    assert (scores["right"], scores["wrong"]) == (-1.0, 0.0)


def test_a_scorer_is_asked_fold_by_fold_for_every_decoding():
    seen = []

    def scorer(model, X, y):
        seen.append((model.decoding, model.expected_f1, len(X), len(y)))
        return f1(y, model.predict(X))

    objective = Objective(("best_path", "expected_f1"), scorer)
    candidate, _ = select([local(Nearest())], rows(), 3, objective)
    assert [(decoding, n, m) for decoding, _, n, m in seen] == [
        *[("best_path", 8, 8)] * 3,
        *[("expected_f1", 8, 8)] * 3,
    ]
    assert {f for _, f, _, _ in seen} == {candidate.expected_f1} == {1.0}
    assert candidate.decoding == "best_path"  # of equal ones the first


def test_a_scorer_chooses_the_decoding():
    def scorer(model, X, y):
        return float(model.decoding == "expected_f1")

    candidate, _ = select(
        [local(Nearest())], rows(), 3, Objective(("best_path", "expected_f1"), scorer)
    )
    assert (candidate.decoding, candidate.score) == ("expected_f1", 1.0)


def test_what_has_no_score_comes_last():
    def scorer(model, X, y):
        share = exact_match(y, model.predict(X))
        return np.nan if share == 1 else share

    proposals = [local(Nearest(), "right"), local(Shifted(), "wrong")]
    candidate, scores = select(proposals, rows(), 3, Objective(("best_path",), scorer))
    assert candidate.name == "wrong"
    assert scores["right"] == -np.inf


def test_a_model_without_probabilities_goes_from_the_top_down():
    proposal = Proposal("plain", LocalClassifierPerParentNode(OnlyPredict()), "words")
    for objective in (PATH, F1, Objective(("best_path",), lambda m, X, y: 0.5)):
        candidate, scores = select([proposal], rows(), 3, objective)
        assert (candidate.decoding, candidate.expected_f1) == ("top_down", USUAL_F)
        assert scores["plain"] == (0.5 if objective.scorer else 1.0)


# -- the end -----------------------------------------------------------------------------------


def test_the_candidate_is_fitted_on_all_rows_with_its_decoding():
    fits = []
    data = rows(weights=np.ones(24))
    candidate = Candidate((flat(counting(Soft, fits)),), (1.0,), "expected_f1", 0.9)
    model = fit_candidate(candidate, data)
    assert fits == [24]
    assert (model.decoding, model.expected_f1) == ("expected_f1", 0.9)
    assert model.hierarchy_ == data.hierarchy


def test_a_product_is_fitted_as_an_ensemble_with_its_weights():
    data = rows()
    parts = (flat(Soft(), "flat kernel"), local(Soft(), "local kernel"))
    model = fit_candidate(Candidate(parts, (0.25, 0.75), "best_path"), data)
    assert isinstance(model, EnsembleClassifier)
    assert list(model.named_models_) == ["flat_kernel", "local_kernel"]
    assert model.weights_.tolist() == [0.25, 0.75]
    assert model.n_features_in_ == 4
    one, two = (part.model.set_params(hierarchy=data.hierarchy) for part in parts)
    joint = EnsembleClassifier([("a", one), ("b", two)], weights=[0.25, 0.75]).fit(data.X, data.y)
    np.testing.assert_allclose(
        model.predict_node_proba(data.X), joint.predict_node_proba(data.X), atol=1e-12
    )


# -- rows --------------------------------------------------------------------------------------


def test_some_rows_keep_what_belongs_to_them():
    data = rows(weights=np.arange(24.0), groups=np.arange(24) // 2)
    some = data.some(np.array([0, 1, 22]))
    assert some.X.shape == (3, 4)
    assert some.y == [data.y[0], data.y[1], data.y[22]]
    assert some.weights.tolist() == [0, 1, 22]
    assert some.nodes.tolist() == data.nodes[[0, 1, 22]].tolist()
    assert some.groups.tolist() == [0, 0, 1]  # numbered anew
    assert (some.n_groups, data.n_groups) == (2, 12)


def test_rows_without_weights_and_groups_are_on_their_own():
    data = rows()
    assert data.weights.tolist() == [1.0] * 24
    assert data.n_groups == 24
    assert data.some(np.arange(5)).n_groups == 5


@pytest.mark.parametrize(
    ("fold", "n_folds", "can"),
    [([-1, -1], 3, False), ([-1, 2], 2, False), ([-1, 2], 3, True), ([0, 1], 0, False)],
)
def test_whether_rows_can_be_held_out(fold, n_folds, can):
    data = replace(rows(n=2), fold=np.array(fold))
    assert data.can_be_held_out(n_folds) is can


def test_scores_are_those_of_margins_too():
    candidate, scores = select(
        [local(Scored(), calibration="joint", temperature=1.0)], rows(), 3, PATH
    )
    assert scores == {"local": 1.0}
    assert candidate.parts[0].model.calibration == "joint"
