"""A temperature without folds: margins of SVMs, as if a row had been left out."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, normalize
from sklearn.svm import LinearSVC

from hiclass import (
    TRUSTED_TYPES,
    ByDepth,
    EnsembleClassifier,
    FastLinearSVC,
    FlatClassifier,
    HierarchicalClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    metrics,
)
from hiclass._inference.paths import joint_evidence, joint_scores
from hiclass._out_of_fold import leave_one_out, temperatures
from hiclass._out_of_fold.leave_one_out import (
    _final_scores,
    _lowest,
    estimate_temperature,
    find_steps,
    seen_margins,
    unseen_margins,
)

SVM = LinearSVC(dual=True, tol=1e-4, random_state=0)


def words(n_rows, seed=0, n_words=400, n_drawn=12, wrong=0.0):
    """Documents of nine classes below three: some words of each, most of neither.

    Some labels may be ``wrong``.
    """
    rng = np.random.default_rng(seed)
    top, leaf = rng.integers(3, size=n_rows), rng.integers(3, size=n_rows)
    own = (7 * top)[:, None] + rng.integers(7, size=(n_rows, 2))
    own_leaf = 21 + (9 * top + 3 * leaf)[:, None] + rng.integers(3, size=(n_rows, 1))
    noise = rng.integers(48, n_words, size=(n_rows, n_drawn))
    columns = np.hstack([own, own_leaf, noise])
    rows = np.repeat(np.arange(n_rows), columns.shape[1])
    X = sp.csr_matrix((np.ones(columns.size), (rows, columns.ravel())), shape=(n_rows, n_words))
    mistaken = rng.random(n_rows) < wrong
    top = np.where(mistaken, rng.integers(3, size=n_rows), top)
    leaf = np.where(mistaken, rng.integers(3, size=n_rows), leaf)
    y = np.array([[f"t{t}", f"t{t}.{k}"] for t, k in zip(top, leaf, strict=True)], dtype=object)
    return normalize(X), y


def joint(svm=SVM, **params):
    """A joint model per parent node."""
    return LocalClassifierPerParentNode(svm, calibration="joint", **params)


def unseen_evidence(models, *args):
    """Margins of unseen rows by node, a column per branch."""
    steps = find_steps(models)
    margins = unseen_margins(models, steps, *args)
    return {
        node: margins[steps.start[node] : steps.start[node + 1]].T
        for node in np.flatnonzero(np.diff(steps.start))
    }


def nodes_of(model, y):
    """The most specific node of every row."""
    return np.array([model.hierarchy_.find(list(path)) for path in y])


# -- margins -----------------------------------------------------------------------------------


def test_margins_on_the_true_path_shrink_by_the_formula_and_others_stay():
    X, y = words(60)
    model = joint(ByDepth(SVM, C=[0.5, 2]), temperature=1.0).fit(X, y)
    models, nodes, rows = model._models, nodes_of(model, y), np.arange(0, 60, 7)
    weights = np.linspace(0.5, 2, 60)
    found = unseen_evidence(models, X, nodes, rows, weights)
    seen = dict(joint_evidence(models, X[rows]))
    mean = X.toarray().mean(axis=0)
    paths = model.hierarchy_._paths[nodes[rows]]
    for node, before in seen.items():
        if before.shape[1] < 2:
            continue
        level = model.hierarchy_.levels[node]
        n_below = 60 if node == 0 else (model.hierarchy_._paths[nodes] == node).any(axis=1).sum()
        n_columns = len(models.classifiers[node].columns)
        assert n_columns > n_below  # so that the leverage is no limit here
        children = model.hierarchy_.children(node)
        for i, row in enumerate(rows):
            if level and paths[i, level - 1] != node:
                assert found[node][i] == pytest.approx(before[i], abs=1e-12)
                continue
            side = np.where(np.array(children) == paths[i, level], 1, -1)
            beyond = ((X[row].toarray()[0] - mean) ** 2).sum()
            gain = [0.5, 2][level] * weights[row] * beyond
            expected = before[i] - side * np.maximum(0, 1 - side * before[i]) * gain
            assert found[node][i] == pytest.approx(expected, abs=1e-10)


def test_rows_of_few_columns_are_explained_by_the_others():
    X, y = words(300, n_words=60)
    X = X[:, :20].toarray()
    model = joint(temperature=1.0).fit(X, y)
    rows = np.arange(5)
    found = unseen_evidence(model._models, X, nodes_of(model, y), rows, np.ones(len(X)))[0]
    ((_, before), *_) = joint_evidence(model._models, X[rows])
    leverage = 20 / 300
    taken = model.hierarchy_._paths[nodes_of(model, y)[rows]][:, [0]]
    side = np.where(taken == np.array(model.hierarchy_.children(0)), 1, -1)
    beyond = ((X[rows] - X.mean(axis=0)) ** 2).sum(axis=1)[:, None]
    gain = np.minimum(beyond, leverage / (1 - leverage))
    assert (gain == leverage / (1 - leverage)).any()
    expected = before - side * np.maximum(0, 1 - side * before) * gain
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dense", [False, True])
def test_estimated_margins_are_close_to_those_of_models_that_have_not_seen_the_row(dense):
    X, y = words(150)
    X = X.toarray() if dense else X
    model = joint(temperature=1.0).fit(X, y)
    rows, nodes = np.arange(0, 150, 10), nodes_of(model, y)
    guess = unseen_evidence(model._models, X, nodes, rows, np.ones(150))[0]
    (_, seen), *_ = joint_evidence(model._models, X[rows])
    truth = []
    for row in rows:
        others = np.arange(150) != row
        left = clone(model).set_params(hierarchy=model.hierarchy_).fit(X[others], y[others])
        truth.append(next(joint_evidence(left._models, X[[row]]))[1][0])
    error = np.abs(guess - np.array(truth)).mean()
    assert error < 0.5 * np.abs(seen - np.array(truth)).mean()


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("make", [LocalClassifierPerParentNode, FlatClassifier])
def test_scores_of_all_nodes_at_once_are_those_of_predict(make, dense):
    X, y = words(200)
    y[:40, 1], y[y[:, 0] == "t1", 1] = "", "only"
    X = X.toarray() if dense else X
    model = make(SVM, calibration="joint", temperature=0.3).fit(X, y)
    models, steps, some = model._models, find_steps(model._models), X[::9]
    margins = seen_margins(models, steps, some)
    expected = joint_scores(models, joint_evidence(models, some), some.shape[0], 0.3)
    assert pytest.approx(expected, abs=1e-10) == _final_scores(steps, margins, 0.3).T


# -- the temperature ---------------------------------------------------------------------------


@pytest.mark.parametrize("lowest", [-3.8, -2.3, -1.6, -0.2])
def test_a_parabola_has_its_lowest_point_where_it_was_put(lowest):
    assert _lowest(lambda x: (x - lowest) ** 2) == pytest.approx(lowest)


def test_without_a_valley_the_end_is_the_lowest_point():
    assert _lowest(lambda x: x) == -4
    assert _lowest(lambda x: -x) == 0
    assert _lowest(lambda x: 1.0) == -3


@pytest.mark.parametrize("svm", [SVM, FastLinearSVC(random_state=0)], ids=["liblinear", "fast"])
@pytest.mark.parametrize("make", [LocalClassifierPerParentNode, FlatClassifier])
def test_the_estimate_is_near_what_folds_tell(make, svm):
    X, y = words(600, wrong=0.3)
    folds = make(svm, calibration="joint", decoding="expected_f1").fit(X, y)
    model = make(svm, calibration="joint", decoding="expected_f1", temperature="estimated")
    model.fit(X, y)
    assert model.temperature == "estimated"
    assert 0.7 < model.temperature_ / folds.temperature_ < 1.4
    assert abs(model.expected_f1_ - folds.expected_f1_) < 0.1
    X_test, y_test = words(600, seed=1, wrong=0.3)
    reached = [metrics.f1(y_test, m.predict(X_test)) for m in (model, folds)]
    assert reached[0] > reached[1] - 0.01


def test_nothing_is_fitted_twice_and_threads_do_not_matter():
    X, y = words(200)
    one = joint(temperature="estimated", n_jobs=1).fit(X, y)
    two = joint(temperature="estimated", n_jobs=2).fit(X, y)
    given = joint(temperature=one.temperature_).fit(X, y)
    assert one.temperature_ == two.temperature_ == given.temperature_
    proba = one.predict_node_proba(X)
    assert np.array_equal(proba, two.predict_node_proba(X))
    assert np.array_equal(proba, given.predict_node_proba(X))


def test_weights_are_weights_of_rows_in_the_loss():
    X, y = words(200)
    model = joint(temperature=1.0).fit(X, y)
    nodes = nodes_of(model, y)
    assert estimate_temperature(model._models, X, nodes, None) == estimate_temperature(
        model._models, X, nodes, np.ones(200)
    )
    assert estimate_temperature(model._models, X, nodes, np.zeros(200)) == (1.0, 1.0)


def test_small_weights_are_dropped_after_the_estimate():
    X, y = words(200)
    whole = joint(temperature="estimated").fit(X, y)
    model = joint(temperature="estimated", min_coef=0.2).fit(X, y)
    dropped = joint(temperature=whole.temperature_, min_coef=0.2).fit(X, y)
    assert model.temperature_ == whole.temperature_
    assert np.array_equal(model.predict_node_proba(X), dropped.predict_node_proba(X))
    assert not np.array_equal(model.predict_node_proba(X), whole.predict_node_proba(X))
    dense = joint(temperature="estimated", min_coef=0.2).fit(X.toarray(), y)
    assert np.array_equal(dense.predict(X.toarray()), model.predict(X))
    for packed in dense._models.classifiers.values():
        weights = packed.estimator.coef_
        assert np.abs(weights.data if sp.issparse(weights) else weights[weights != 0]).min() >= 0.2


def test_leaves_only_and_paths_that_end_early():
    X, y = words(200)
    y[:40, 1] = ""
    ends = joint(temperature="estimated", decoding="best_path").fit(X, y)
    assert 0 < ends.temperature_ < 1
    leaves = joint(temperature="estimated", leaf_only=True, decoding="best_path").fit(X, y)
    assert 0 < leaves.temperature_ < 1
    assert (leaves.predict(X) != "").all()


def test_one_class_leaves_nothing_to_estimate():
    X, _ = words(20)
    model = joint(temperature="estimated").fit(X, np.array([["a", "b"]] * 20, dtype=object))
    assert (model.temperature_, model.expected_f1_) == (1.0, 1.0)


def test_an_ensemble_fits_its_folds_with_the_estimated_temperature():
    X, y = words(150)
    members = [(f"C={c}", joint(LinearSVC(C=c), temperature="estimated")) for c in (1, 4)]
    model = EnsembleClassifier(members, weights="learned").fit(X, y)
    assert model.predict(X).shape == (150, 2)


def test_the_quick_effort_estimates_its_temperature_unless_rows_come_in_groups():
    X, y = words(200)
    model = HierarchicalClassifier(effort="quick", optimize="f1", random_state=0).fit(X, y)
    assert model.model_.temperature == "estimated"
    assert model.expected_f1_ == model.model_.expected_f1_
    grouped = HierarchicalClassifier(effort="quick", optimize="f1", random_state=0)
    grouped.fit(X, y, groups=np.arange(200) // 4)
    assert grouped.model_.temperature == 0.125
    assert grouped.expected_f1_ == 0.8


# -- what cannot be estimated ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("svm", "reason"),
    [
        (LogisticRegression(), "LogisticRegression is not a LinearSVC"),
        (make_pipeline(MaxAbsScaler(), LinearSVC()), "Pipeline is not a LinearSVC"),
        (LinearSVC(loss="hinge"), "another loss"),
        (LinearSVC(penalty="l1", dual=False), "another penalty"),
        (LinearSVC(tol=0.5), "LinearSVC has tol=0.5, above 0.1"),
        (LinearSVC(class_weight="balanced"), "class_weight='balanced'"),
        (lambda path: LogisticRegression(), "LogisticRegression is not a LinearSVC"),
    ],
)
def test_other_classifiers_are_refused(svm, reason):
    X, y = words(60)
    with pytest.raises(ValueError, match=f"{reason}.*Leave temperature out"):
        joint(svm, temperature="estimated").fit(X, y)


@pytest.mark.parametrize("make", [LocalClassifierPerNode, LocalClassifierPerLevel])
def test_other_strategies_are_refused(make):
    X, y = words(60)
    with pytest.raises(ValueError, match="is for LocalClassifierPerParentNode and FlatClassifier"):
        make(SVM, calibration="joint", temperature="estimated").fit(X, y)


def test_other_calibrations_groups_and_sets_are_refused():
    X, y = words(60)
    with pytest.raises(ValueError, match="not for calibration='temperature'"):
        joint(temperature="estimated").set_params(calibration="temperature").fit(X, y)
    with pytest.raises(ValueError, match="folds of whole groups"):
        joint(temperature="estimated").fit(X, y, groups=np.arange(60) // 3)
    with pytest.raises(ValueError, match="'temperature' parameter"):
        joint(temperature="guessed").fit(X, y)
    with pytest.raises(ValueError, match="calibration"):
        joint(temperature="estimated", multi_label=True).fit(X, [[tuple(path)] for path in y])


@pytest.mark.parametrize("strategy", [LocalClassifierPerParentNode, FlatClassifier])
@pytest.mark.parametrize("svm", [SVM, FastLinearSVC(random_state=0)])
def test_what_is_estimated_is_saved_with_the_model(strategy, svm):
    X, y = words(200)
    model = strategy(svm, calibration="joint", temperature="estimated").fit(X, y)
    data = skops.io.dumps(model)
    for loaded in (
        pickle.loads(pickle.dumps(model)),
        skops.io.loads(data, trusted=list(TRUSTED_TYPES)),
    ):
        assert loaded.temperature == "estimated"
        assert loaded.temperature_ == model.temperature_
        np.testing.assert_allclose(
            loaded.predict_node_proba(X), model.predict_node_proba(X), atol=1e-6
        )
        assert clone(loaded).fit(X, y).temperature_ == model.temperature_


@pytest.mark.parametrize("temperature", ["estimated", None])
def test_temperatures_are_those_of_all_classes_where_classes_take_turns(temperature, monkeypatch):
    """Every second row is of an easy class; the other classes are mistaken for each other."""
    monkeypatch.setattr(leave_one_out, "_NUMBERS", 3_300)
    monkeypatch.setattr(temperatures, "_JOINT_NUMBERS", 3_300)
    rng = np.random.default_rng(0)
    numbers = np.arange(1200) % 8
    shown = np.where(numbers % 2, np.where(rng.random(1200) < 0.5, numbers, 7), numbers)
    X = np.eye(20)[shown] + 0.3 * rng.random((1200, 20))
    y = np.array([[f"a{k // 4}", f"b{k}"] for k in numbers])
    found = [
        joint(temperature=temperature).fit(X[order], y[order])._models.temperature
        for order in (np.arange(1200), np.argsort(numbers, kind="stable"))
    ]
    assert found[0] == pytest.approx(found[1], rel=0.25)
