"""Models of sets of classes: what is tried, how it is weighed, and what is left."""

import dataclasses

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from zoo import DAG, EDGES, zoo

import hiclass
from hiclass import HierarchicalClassifier
from hiclass._automatic import set_proposals, set_selection
from hiclass._automatic.proposals import EFFORTS
from hiclass._automatic.set_proposals import SetSettings, propose_network, tune_ridge
from hiclass._linear.kernel_ridge import median_squared_distance
from hiclass._out_of_fold.folds import deal_sets
from hiclass._out_of_fold.rankings import Ranking
from hiclass._out_of_fold.thresholds import as_scored, tune_thresholds
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
    assert model.choices_["decoding"] == "classes by threshold (tuned)"
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


def test_quick_is_the_mean_of_forest_and_ridge_and_compares_nothing():
    X, y = make_sets()
    model = choose(effort="quick").fit(X, y)
    assert model.scores_ == {}
    assert model.choices_["weights"] == "forest 0.50, ridge 0.50"
    assert not hasattr(model, "thresholds_")
    assert model.choices_["decoding"] == "classes by threshold (0.5)"


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
    params = tune_ridge(X, target, "average_precision", 0, (fitted, held_out))
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


def tuned_on(X, target, monkeypatch, **options):
    """What ``tune_ridge`` compares, with scores; the parameters that it chooses."""
    found = []

    class Noted(Ranking):
        def score(self, pairs):
            found.append((pairs.copy(), super().score(pairs)))
            return found[-1][1]

    monkeypatch.setattr(set_proposals, "Ranking", Noted)
    return found, tune_ridge(X, target, "average_precision", 0, **options)


@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_a_row_out_takes_no_fit(monkeypatch, weighted):
    X, y = make_sets(40)
    target = encode_sets(y, hiclass.Hierarchy.from_dict(TREE))
    weights = np.random.default_rng(0).integers(1, 4, 40).astype(float) if weighted else None
    monkeypatch.setattr(set_proposals, "_WIDTHS", (1.5,))
    monkeypatch.setattr(set_proposals, "_ALPHAS", (0.3,))
    found, _ = tuned_on(X, target, monkeypatch, weights=weights)
    each = np.ones(40) if weights is None else weights
    scaled = StandardScaler().fit_transform(X)
    labels = target.closed[:, 1:].toarray().astype(float)
    share = each @ labels / each.sum()
    unit = median_squared_distance(scaled, weights, np.random.RandomState(0))
    kernel = rbf_kernel(scaled, gamma=1 / (1.5**2 * unit))
    expected = np.empty_like(labels)
    for row in range(40):
        kept = np.arange(40) != row
        inner = kernel[np.ix_(kept, kept)] + np.diag(0.3 / each[kept])
        dual = np.linalg.solve(inner, labels[kept] - share)
        expected[row] = kernel[row, kept] @ dual + share
    np.testing.assert_allclose(found[0][0].reshape(40, -1), expected, atol=1e-4)


def test_a_weight_of_two_counts_like_two_rows_when_the_ridge_is_tuned(monkeypatch):
    X, y = make_sets(60)
    tree = hiclass.Hierarchy.from_dict(TREE)
    weights = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(60), weights.astype(int))
    fold = np.arange(40), np.arange(40, 60)
    doubled = np.flatnonzero(twice < 40), np.flatnonzero(twice >= 40)
    # Columns have a spread of one in both: that of doubled rows is another one.
    monkeypatch.setattr(set_proposals, "StandardScaler", lambda **_: FunctionTransformer())
    monkeypatch.setattr(set_proposals, "_ALPHAS", (0.1, 1.0, 10.0))  # smaller ones: rounding
    heavy, one = tuned_on(X, encode_sets(y, tree), monkeypatch, fold=fold, weights=weights)
    rows = [y[i] for i in twice]
    copied, two = tuned_on(X[twice], encode_sets(rows, tree), monkeypatch, fold=doubled)
    np.testing.assert_allclose([s for _, s in heavy], [s for _, s in copied], atol=1e-3)
    assert one == two


def test_quick_tunes_the_ridge_by_groups_and_not_on_few_rows(monkeypatch):
    X, y = make_sets(60)
    seen = []
    monkeypatch.setattr(
        set_selection, "tune_ridge", lambda *args: seen.append(args) or {"alpha": 0.3}
    )
    model = choose(effort="quick").fit(X, y)
    assert model.model_.models_[1].local_classifiers_[()][-1].alpha == 0.3
    choose(effort="quick").fit(X, y, groups=np.arange(60) // 4)
    assert seen[0][4] is None
    fitted, held_out = seen[1][4]
    assert not set(fitted // 4) & set(held_out // 4)
    choose(effort="quick").fit(X, y, groups=np.arange(60) // 30)  # nothing to hold out
    choose(effort="quick").fit(X[:20], y[:20])
    assert len(seen) == 2


def test_candidates_are_compared_with_the_weights_of_rows(monkeypatch):
    X, y = make_sets()
    target = encode_sets(y, hiclass.Hierarchy.from_dict(TREE))
    weights = np.where(np.arange(160) % 2, 1.0, 1e-9)
    rows = set_selection.SetRows(X, target, np.arange(160) % 3, weights)
    given = []

    class Noted(set_selection.Ranking):
        def __init__(self, truth, weights, measure):
            given.append(weights)
            super().__init__(truth, weights, measure)

    monkeypatch.setattr(set_selection, "Ranking", Noted)
    settings = SetSettings(EFFORTS["quick"], {"n_jobs": 1, "random_state": 0, "verbose": 0})
    set_selection.are_better(rows, X, settings, "average_precision")
    held_out = np.flatnonzero(np.arange(160) % 3 == 0)
    assert [w.tolist() for w in given] == [weights[held_out].tolist()] * 2


def texts(n_rows=240, seed=0):
    """Texts of many words, of which some tell a class."""
    rng = np.random.default_rng(seed)
    y, rows = [], []
    for _ in range(n_rows):
        labels = rng.choice(NAMES, 1 + rng.integers(2), replace=False).tolist()
        own = [f"{label}word{rng.integers(8)}" for label in labels for _ in range(3)]
        rows.append(" ".join([*own, *(f"noise{k}" for k in rng.integers(3_000, size=12))]))
        y.append(labels)
    return rows, y


@pytest.mark.parametrize("effort", ["quick", "balanced"])
def test_sparse_rows_are_classified_by_similarities_as_well(effort):
    X, y = texts()
    model = choose(effort=effort).fit(X[:160], y[:160])
    assert "sparse features" in model.choices_["features"]
    if effort == "balanced":
        assert {"linear", "ridge"} <= set(model.scores_)
        assert model.choices_["no network"] == "the features are sparse"
    else:
        assert model.choices_["model"] == "ridge: a kernel ridge regression for all classes"
    assert model.score(X[160:], y[160:]) > 0.8
    few = choose(effort="quick").fit(X[:20], y[:20])
    assert few.choices_["model"] == "linear: a logistic regression per node"


def test_quick_is_linear_where_the_regression_is_not_exact(monkeypatch):
    monkeypatch.setattr(set_selection, "kernel_is_exact", lambda n_rows: n_rows <= 100)
    monkeypatch.setattr(set_selection, "tune_ridge", None)  # what is not fitted is not tuned
    X, y = texts(160)
    model = choose(effort="quick").fit(X, y)
    assert model.choices_["model"] == "linear: a logistic regression per node"


# -- thresholds ------------------------------------------------------------------------------------

LEARNED = ["tuned", "micro_f1", ("precision", 0.7), ("cost", 1, 5)]


@pytest.mark.parametrize("effort", ["quick", "balanced"])
@pytest.mark.parametrize("threshold", [0.3, ("top", 1), *LEARNED])
def test_every_threshold_selects_as_in_the_model_that_is_chosen(without_torch, effort, threshold):
    X, y = make_sets()
    model = choose(effort=effort, threshold=threshold).fit(X, y)
    assert model.choices_["decoding"] == f"classes by threshold ({threshold})"
    learned = effort == "balanced" or threshold in LEARNED
    assert hasattr(model, "thresholds_") == learned
    inner = model.model_.set_params(threshold=threshold)
    features = model._check_rows(X)
    assert model.predict(X).tolist() == inner.predict(features).tolist()
    sizes = [len(labels) for labels in model.predict(X)]
    if threshold == ("top", 1):
        assert set(sizes) == {1}
    # It is read when predicting, and the default is that of the model.
    usual = choose(effort=effort).fit(X, y)
    assert model.set_params(threshold=0.5).predict(X).tolist() == (
        usual.set_params(threshold=0.5).predict(X).tolist()
    )
    if learned:
        model.set_params(threshold="tuned").predict(X)
    else:
        with pytest.raises(ValueError, match="learned out of fold"):
            model.set_params(threshold="tuned").predict(X)


def test_the_default_threshold_is_that_of_the_effort(without_torch):
    X, y = make_sets()
    for effort, threshold in (("quick", 0.5), ("balanced", "tuned")):
        usual, given = (choose(effort=effort, threshold=t).fit(X, y) for t in (None, threshold))
        assert usual.predict(X).tolist() == given.predict(X).tolist()
        assert clone(given).threshold == threshold


def test_thresholds_of_quick_models_are_those_of_the_folds():
    X, y = make_sets()
    model = choose(effort="quick", threshold="tuned").fit(X, y)
    plain = choose(effort="quick").fit(X, y)
    np.testing.assert_array_equal(model.predict_node_proba(X), plain.predict_node_proba(X))
    target = encode_sets(y, model.hierarchy_)
    fold, proba = deal_sets(target, None), np.zeros((160, 7))
    for k in range(3):
        for part in plain.model_.models_:
            other = clone(part).fit(X[fold != k], target.closed[fold != k])
            proba[fold == k] += other.predict_node_proba(X[fold == k]) / 2
    rows = np.concatenate([np.flatnonzero(fold == k) for k in range(3)])
    found = tune_thresholds(as_scored(proba[rows].astype(np.float32), rows), target, None)
    np.testing.assert_allclose(model.thresholds_, found.thresholds, atol=1e-6)
    nothing = choose(effort="quick", threshold="tuned").fit(X[:2], y[:2])
    assert set(nothing.thresholds_) == {0.5}


def test_thresholds_of_classifiers_that_are_given():
    X, y = make_sets()
    for rows, options in (
        (X, {"local_classifier": LogisticRegression(max_iter=1000)}),
        (sp.csr_matrix(X), {"local_classifier": LogisticRegression(max_iter=1000)}),
    ):
        model = choose(threshold=("top", 2), **options).fit(rows, y)
        assert {len(labels) for labels in model.predict(rows)} == {2}
        tuned = choose(threshold="tuned", **options).fit(rows, y)
        assert model.set_params(threshold="tuned").predict(rows).tolist() == (
            tuned.predict(rows).tolist()
        )
        quick = choose(threshold=0.3, effort="quick", **options).fit(rows, y)
        with pytest.raises(ValueError, match="learned out of fold"):
            quick.set_params(threshold="tuned").predict(rows)
        quick = choose(threshold="micro_f1", effort="quick", **options)
        assert hasattr(quick.fit(rows, y, groups=np.arange(160) // 4), "thresholds_")
        with pytest.raises(ValueError, match="precision"):
            choose(threshold=("precision", 1.0), **options).fit(
                np.zeros((60, 2)), [["b"], ["c"], ["e"]] * 20
            )


@pytest.mark.parametrize("given", [None, GaussianNB()])
def test_too_few_groups_for_a_learned_threshold_name_the_one_that_was_set(given):
    X, y = make_sets(60)
    model = choose(local_classifier=given, effort="quick", threshold="micro_f1")
    message = r"^groups has 1 different group, but threshold='micro_f1' is .* to a number\.$"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, groups=np.zeros(60, dtype=int))


@pytest.mark.parametrize("effort", ["quick", "balanced"])
@pytest.mark.parametrize("threshold", [0.9, ("top", 1), "micro_f1"])
@pytest.mark.parametrize("given", [None, LogisticRegression(max_iter=1000)])
def test_no_threshold_is_the_default_again_whatever_fit_was_told(
    without_torch, effort, threshold, given
):
    X, y = make_sets(60)
    model = choose(local_classifier=given, effort=effort, threshold=threshold).fit(X, y)
    usual = choose(local_classifier=given, effort=effort).fit(X, y)
    assert model.predict(X).tolist() != usual.predict(X).tolist()
    assert model.set_params(threshold=None).predict(X).tolist() == usual.predict(X).tolist()


def test_no_threshold_is_the_default_again_after_batches():
    X, y = make_sets(60)
    model = choose(local_classifier=GaussianNB(), threshold=1.0).partial_fit(X, y)
    usual = choose(local_classifier=GaussianNB()).partial_fit(X, y)
    assert model.predict(X).tolist() != usual.predict(X).tolist()
    assert model.set_params(threshold=None).predict(X).tolist() == usual.predict(X).tolist()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("effort", ["quick", "balanced"])
def test_the_scale_of_weights_changes_nothing(without_torch, form, effort):
    X, y = make_sets(60)
    weights = np.linspace(0.5, 2, 60)
    one, many = (
        choose(effort=effort).fit(form(X), y, sample_weight=scale * weights)
        for scale in (1.0, 1024.0)  # a power of two, so that nothing is rounded
    )
    assert many.choices_ == one.choices_
    assert many.scores_ == pytest.approx(one.scores_)
    np.testing.assert_allclose(
        many.predict_node_proba(form(X)), one.predict_node_proba(form(X)), atol=1e-6
    )


@pytest.mark.parametrize("effort", ["quick", "balanced"])
@pytest.mark.parametrize("threshold", [None, 0.3, "tuned"])
def test_searches_that_are_given_get_groups_whatever_is_learned(effort, threshold):
    X, y = make_sets(90)
    search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [1.0]}, cv=GroupKFold(2))
    model = choose(local_classifier=search, effort=effort, threshold=threshold)
    assert len(model.fit(X, y, groups=np.arange(90) // 5).predict(X)) == 90


def test_thresholds_that_make_no_sense_say_what_to_use():
    X, y = make_sets(60)
    for threshold, message in (
        (1.5, "threshold"),
        ("most", "threshold must be a number above 0"),
        (("top", 0), "it takes one integer of at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            choose(effort="quick", threshold=threshold).fit(X, y)
    with pytest.raises(ValueError, match=r"No threshold reaches|precision"):
        choose(effort="quick", threshold=("precision", 1.0)).fit(
            np.zeros((60, 2)), [["b"], ["c"], ["e"]] * 20
        )
    paths = [row[0] for row in y]
    with pytest.raises(ValueError, match=r"one path per row. Use min_confidence"):
        HierarchicalClassifier(effort="quick", threshold=0.3).fit(X, paths)
    with pytest.raises(ValueError, match=r"min_confidence=0.5 .* use threshold"):
        choose(effort="quick", min_confidence=0.5).fit(X, y)
    tree = HierarchicalClassifier(effort="quick", random_state=0).fit(X, paths)
    with pytest.raises(ValueError, match=r"one path per row. Use min_confidence"):
        tree.set_params(threshold=0.3).predict(X)
    X_dag, sets = zoo(60)
    dag = HierarchicalClassifier(hierarchy=EDGES, effort="quick", threshold=("top", 2))
    with pytest.raises(ValueError, match="but here a row has one label"):
        dag.fit(X_dag, [row[0] for row in sets])
    batch = HierarchicalClassifier(GaussianNB(), threshold="tuned", multi_label=True)
    with pytest.raises(ValueError, match="is learned out of fold, which partial_fit cannot do"):
        batch.partial_fit(X, y)


def test_a_threshold_is_found_on_other_rows_and_kept_in_files(without_torch, tmp_path):
    X, y = make_sets()
    model = choose(effort="quick").fit(X, y)
    found = hiclass.tune_confidence(model, X, y, 0.9)
    assert 0 < found <= 1
    skops.io.dump(model.set_params(threshold=("top", 2)), tmp_path / "m.skops")
    again = hiclass.load(tmp_path / "m.skops")
    assert again.threshold == ("top", 2)
    assert again.predict(X).tolist() == model.predict(X).tolist()


# -- networks --------------------------------------------------------------------------------------


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
@pytest.mark.parametrize("when", ["folds", "all rows"])
def test_a_network_whose_loss_is_not_finite_is_left_out(monkeypatch, when):
    from hiclass.torch import HierarchicalSoftmaxClassifier, _epochs

    monkeypatch.setattr(set_proposals, "_HIDDEN", (32,))
    if when == "folds":
        monkeypatch.setitem(set_proposals._NETWORK, "learning_rate", 1e30)
    else:
        fit = HierarchicalSoftmaxClassifier.fit

        def diverge(self, X, y, **params):
            if len(X) == 160:
                self.learning_rate = 1e30
            return fit(self, X, y, **params)

        monkeypatch.setattr(HierarchicalSoftmaxClassifier, "fit", diverge)
        found = _epochs.Epochs(4, 1.0, np.zeros((0, 7)))
        truth = encode_sets(make_sets()[1], hiclass.Hierarchy.from_dict(TREE)).closed

        def perfect(model, X, target, weights, fold, score):
            # So that the network has weight.
            return dataclasses.replace(found, proba=truth[fold[1]].toarray().astype(float))

        monkeypatch.setattr(_epochs, "find_epochs", perfect)
    X, y = make_sets()
    with pytest.warns(RuntimeWarning, match="The network was omitted.*smaller learning_rate"):
        model = choose().fit(X, y)
    assert model.choices_["no network"] == "its loss was not finite"
    assert "network" not in model.scores_
    assert model.score(X, y) > 0.8


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
