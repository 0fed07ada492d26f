"""Whatever comes in: an answer that obeys the laws, or a refusal that was meant.

Every test draws cases (``fuzzing``), runs them, and checks the outcome: *answered*, where the laws
are checked, or *refused*, where the error must be one that hiclass or scikit-learn's validation
raises on purpose (``fuzzing.is_refusal``). Anything else fails, and so does bad input that is
answered, good input that is refused, and a case that takes longer than ``SECONDS_PER_CASE``.

``make test`` runs a small, fixed choice. ``make fuzz`` runs ``HICLASS_FUZZ`` new random cases in
all and prints how many there were of each outcome.
"""

import faulthandler
import os
import pickle
import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from estimator_classes import ESTIMATOR_CLASSES
from fuzzing import (
    ANY_LABELS,
    BAD,
    CHAOS,
    EITHER,
    GOOD,
    PARAMETERS,
    AsRegressor,
    BareAnyRows,
    ScoredAnyRows,
    SoftAnyRows,
    good_labels,
    hierarchies,
    is_refusal,
    parameters,
    rows,
    typed,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from law_helpers import assert_coherent_proba
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from strategies import hierarchies_with_sets

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    HierarchicalClassifier,
    HierarchicalKFold,
    Hierarchy,
    LocalClassifierPerParentNode,
    metrics,
    truncate_at_gap,
)
from hiclass._labels.columns import is_missing

#: Cases in all, over the tests below; 0 for the small choice of ``make test``.
CASES = int(os.environ.get("HICLASS_FUZZ", "0"))
N_TESTS = 10
SECONDS_PER_CASE = 120
ANSWERED, REFUSED = "answered", "refused"


def fuzz(strategy, check, *, small, name, outcomes=(ANSWERED, REFUSED)):
    """Run a check on many cases; it returns the outcome. All expected outcomes must occur."""
    seen = Counter()

    @settings(
        max_examples=max(CASES // N_TESTS, 1) if CASES else small,
        derandomize=not CASES,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(case):
        with watched():
            seen[check(case)] += 1

    run()
    if CASES:
        print(f"\nfuzzed {name}: {seen.total()} cases, {dict(seen)}", file=sys.__stdout__)
    assert set(seen) == set(outcomes)


@contextmanager
def watched():
    """End the process, with a traceback, if a case hangs; let expected warnings pass."""
    faulthandler.dump_traceback_later(SECONDS_PER_CASE, exit=True, file=sys.__stderr__)
    try:
        with warnings.catch_warnings():
            for message in (
                "Some classes with the same parent differ only by case",
                "No training row ends at an inner node",
                "A row of y_pred",
                r"\d+ calibration rows",
                "F1 is ill-defined for the data without labels",
            ):
                warnings.filterwarnings("ignore", message)
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def outcome(expect, action, *, by_classifier=False):
    """Call something: (ANSWERED, result) or (REFUSED, error); fail where it must be the other."""
    try:
        result = action()
    except Exception as error:
        if not is_refusal(error, by_classifier=by_classifier) or expect == GOOD:
            error.add_note(f"{expect} input got this")
            raise
        return REFUSED, error
    assert expect != BAD, f"bad input is answered: {result!r}"
    return ANSWERED, result


def ensemble(estimator, **params):
    members = [
        ("flat", FlatClassifier(estimator)),
        ("local", LocalClassifierPerParentNode(estimator)),
    ]
    return EnsembleClassifier(members, **params)


def global_model(estimator, **params):
    return GlobalClassifier(AsRegressor(estimator), **params)


def automatic(estimator, leaf_only=False, **params):
    """It has no such parameter as ``leaf_only``, and makes features of X by itself."""
    return HierarchicalClassifier(estimator, random_state=0, **params)


#: What is fuzzed: a function of a local classifier and keyword parameters each. A new estimator of
#: ``estimator_classes.ESTIMATOR_CLASSES`` is fuzzed as well.
SIMPLE_MODELS = {c.__name__: c for c in ESTIMATOR_CLASSES} | {"GlobalClassifier": global_model}
MODELS = SIMPLE_MODELS | {"EnsembleClassifier": ensemble}
simple_model_names = st.sampled_from(sorted(SIMPLE_MODELS))
model_names = st.sampled_from(sorted(MODELS))
#: The same for rows of plain numbers.
MODELS_OF_NUMBERS = MODELS | {"HierarchicalClassifier": automatic}
all_model_names = st.sampled_from(sorted(MODELS_OF_NUMBERS))


# -- the laws ----------------------------------------------------------------------------------


def assert_lawful(model, X, n_rows, y):
    """Laws of a fitted model of paths: for rows, and the training labels as lists of paths."""
    known = {typed(path) for path in y}
    prefixes = {path[:j] for path in known for j in range(len(path) + 1)}
    tree = model.hierarchy_
    predicted = model.predict(X)
    one_level = model._format.ndim == 1
    assert predicted.shape == ((n_rows,) if one_level else (n_rows, model._format.n_levels))
    as_paths = [[p] for p in predicted.tolist()] if one_level else predicted.tolist()
    for path in as_paths:
        assert typed(path) in known
        assert [is_missing(v) for v in path] == sorted(is_missing(v) for v in path)
    if not hasattr(model, "predict_proba"):
        return
    ends = {tree.find(tuple(path)) for path in y}
    proba = model.predict_node_proba(X)
    assert proba.shape == (n_rows, tree.n_nodes)
    assert_coherent_proba(tree, proba, ends)
    levels = model.predict_proba(X)
    classes = [model.classes_] if one_level else model.classes_
    for labels, here in zip(classes, [levels] if one_level else levels, strict=True):
        assert here.shape == (n_rows, len(labels))
        assert (here >= 0).all()
        np.testing.assert_allclose(here.sum(axis=1), 1, atol=1e-9)
    paths, best = model.predict_paths(X, 3)
    assert paths.shape[:2] == best.shape == (n_rows, 3)
    assert (np.diff(best, axis=1) <= 1e-12).all()
    flat = paths.reshape(n_rows * 3, -1).tolist()
    assert all(typed(path) in prefixes for path in flat)
    final = len(ends)
    assert all(typed(path) in known for path, p in zip(flat, best.ravel(), strict=True) if p > 0)
    if final <= 3:
        np.testing.assert_allclose(best.sum(axis=1), 1, atol=1e-9)
    confidence = model.predict_confidence(X)
    assert confidence.shape == (n_rows, model._format.n_levels)
    for path, sure in zip(as_paths, confidence, strict=True):
        assert np.isnan(sure).sum() == len(sure) - len(typed(path))
    again = pickle.loads(pickle.dumps(model)).predict(X)
    assert list(map(repr, again.ravel().tolist())) == list(map(repr, predicted.ravel().tolist()))


def typed_rows(predicted):
    """Predictions as typed paths, whatever their number of dimensions."""
    listed = predicted.tolist()
    return [typed(p if isinstance(p, list) else [p]) for p in listed]


def one_hot(y):
    """Rows that are far apart, equal paths at the same place."""
    order = {path: i for i, path in enumerate(dict.fromkeys(typed(path) for path in y))}
    return 100.0 * np.eye(len(order))[[order[typed(path)] for path in y]]


# -- labels ------------------------------------------------------------------------------------


def paths_of(y):
    """What was read: the path of every row, by the reader of labels itself."""
    tree, nodes = Hierarchy.from_paths(y, return_nodes=True)
    return [list(tree.path(int(v))) for v in nodes]


def test_labels_come_back_or_are_refused():
    def check(case):
        labels, name, leaf_only = case
        n = len(labels.plain) if labels.plain is not None else _length(labels.value)
        X = one_hot(labels.plain) if labels.plain is not None else np.eye(max(n, 1))
        if labels.what in ("one row too many", "one row too few"):
            X = X[:-1] if labels.what == "one row too few" else np.vstack([X, X[:1]])
        params = {} if name == "EnsembleClassifier" else leaf_only
        model = MODELS_OF_NUMBERS[name](BareAnyRows(), **params)
        what, _ = outcome(labels.expect, lambda: model.fit(X, labels.value))
        if what == REFUSED:
            with pytest.raises(NotFittedError):
                model.predict(X)
            return what
        y = labels.plain if labels.plain is not None else paths_of(labels.value)
        if not model.leaf_only:
            assert_lawful(model, X, len(y), y)
            assert typed_rows(model.predict(X)) == [typed(path) for path in y]
            assert model.score(X, labels.value) == pytest.approx(1)
        return what

    flags = st.fixed_dictionaries({"leaf_only": st.booleans()})
    fuzz(st.tuples(ANY_LABELS, all_model_names, flags), check, small=35, name="labels")


def _length(value):
    try:
        return len(value)
    except TypeError:
        return 1


# -- hierarchies -------------------------------------------------------------------------------


@st.composite
def _hierarchy_cases(draw):
    graph = draw(hierarchies())
    known = graph.plain
    y = [draw(st.sampled_from(known)) for _ in range(draw(st.integers(2, 8)))]
    stranger = draw(st.booleans())
    if stranger:
        y[0] = draw(st.sampled_from(["stranger", -99, 2.0**60, True, ("t", -1), b"n"]))
    return graph, y, stranger, draw(all_model_names), draw(st.integers(0, 99))


def test_hierarchies_are_used_or_refused():
    def check(case):
        graph, y, stranger, name, seed = case
        single = np.empty(len(y), dtype=object)
        single[:] = y
        expect = BAD if graph.expect == BAD or stranger else EITHER
        if name == "EnsembleClassifier":
            members = [
                (c.__name__, c(SoftAnyRows(), hierarchy=graph.value))
                for c in (FlatClassifier, LocalClassifierPerParentNode)
            ]
            model = EnsembleClassifier(members)
        else:
            model = MODELS_OF_NUMBERS[name](SoftAnyRows(), hierarchy=graph.value)
        X = np.random.default_rng(seed).normal(size=(len(y), 2))
        what, error = outcome(expect, lambda: model.fit(X, single))
        if what == REFUSED:
            # The one reason to refuse a good graph: labels that are tuples read as paths.
            assert expect == BAD or isinstance(y[0], tuple), error
            return what
        tree = model.hierarchy_
        assert {(type(v), v) for v in tree.labels[1:]} == {(type(v), v) for v in graph.plain}
        assert tree.n_nodes == len(graph.plain) + 1
        proba = model.predict_node_proba(X)
        assert ((proba >= 0) & (proba <= 1 + 1e-9)).all()
        for v in range(1, tree.n_nodes):
            for p in tree.parents(v).tolist():
                assert (proba[:, v] <= proba[:, p] + 1e-9).all()
        if not isinstance(y[0], tuple):
            assert {(type(v), v) for v in model.predict(X).tolist()} <= {
                (type(v), v) for v in [*tree.labels.tolist()[1:], model.missing_label_]
            }
        assert_same_after_a_round_trip(tree)
        return what

    fuzz(_hierarchy_cases(), check, small=25, name="hierarchies")


def assert_same_after_a_round_trip(tree):
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert all([str(tree), repr(tree), tree._repr_html_()])
    what, text = outcome(EITHER, tree.to_json)
    if what == ANSWERED:
        assert Hierarchy.from_json(text) == tree
    if tree.identity == "label":
        edges = tree.to_edges()
        assert Hierarchy.from_edges(edges) == tree


# -- X -----------------------------------------------------------------------------------------

TREE_PATHS = [["a", "x"], ["a", "y"], ["b"], ["a", "x"], ["b", "z"], ["a", "y"], ["b"]]
ESTIMATORS = {"Soft": SoftAnyRows, "Bare": BareAnyRows, "GaussianNB": GaussianNB}


@st.composite
def _row_cases(draw):
    train = draw(rows(len(TREE_PATHS)))
    return train, draw(rows(5)), draw(model_names), draw(st.sampled_from(sorted(ESTIMATORS)))


#: scikit-learn computes with the type that it gets: rounding, and in 16 bits even NaN.
OTHER_FLOATS = ("float16", "float32", "longdouble")


def expected_of(case, estimator, *, at_predict=False):
    if estimator == "GaussianNB" and (case.what == "three dimensions" or sp.issparse(case.value)):
        return BAD
    if at_predict and case.what in ("one row too many", "one row too few"):
        return GOOD  # any number of rows can be predicted
    if estimator == "GaussianNB" and case.what == "float16":
        return EITHER
    return case.expect


def test_rows_in_every_container_are_used_or_refused():
    reference = {}

    def predictions_for(name, estimator, base):
        """Answers of the same model, fitted on a plain array of the same numbers."""
        key = name, estimator, base.tobytes()
        if key not in reference:
            reference[key] = MODELS[name](ESTIMATORS[estimator]()).fit(base, TREE_PATHS)
        return reference[key]

    def check(case):
        train, test, name, estimator = case
        expect = expected_of(train, estimator)
        model = MODELS[name](ESTIMATORS[estimator]())
        with quiet_classifiers():
            what, _ = outcome(
                expect, lambda: model.fit(train.value, TREE_PATHS), by_classifier=True
            )
            if what == REFUSED:
                return what
            if train.expect == GOOD and not (
                estimator == "GaussianNB" and train.what in OTHER_FLOATS
            ):
                plain = predictions_for(name, estimator, train.plain)
                np.testing.assert_allclose(
                    model.predict_node_proba(train.value),
                    plain.predict_node_proba(train.plain),
                    atol=1e-9,
                )
            elif estimator != "GaussianNB":
                assert_lawful(model, train.value, len(TREE_PATHS), TREE_PATHS)
            expect = expected_of(test, estimator, at_predict=True)
            same = {train.what, test.what} <= {"array", "lists", "float32", "int64", "read-only"}
            # Other containers than in fit may be refused (names of features, other classifiers).
            if not same and expect == GOOD:
                expect = EITHER
            if expect == BAD and train.expect == EITHER:
                expect = EITHER  # a model of texts knows no number of features
            what, predicted = outcome(expect, lambda: model.predict(test.value), by_classifier=True)
        if what == ANSWERED:
            assert len(predicted) == _rows_in(test.value)
            assert {typed(path) for path in predicted.tolist()} <= {typed(p) for p in TREE_PATHS}
        return what

    fuzz(_row_cases(), check, small=40, name="X")


def test_the_estimator_to_start_with_uses_or_refuses_whatever_rows_there_are():
    """It judges columns by their cells, so that what it makes of bad ones cannot be said."""

    def check(case):
        train, test, form = case
        model = HierarchicalClassifier(effort="quick", random_state=0)
        if form == "given":
            model.set_params(local_classifier=SoftAnyRows())
        what, _ = outcome(EITHER, lambda: model.fit(train.value, TREE_PATHS))
        if what == REFUSED:
            assert train.expect != GOOD or train.what == "three dimensions"
            return what
        assert_lawful(model, train.value, len(TREE_PATHS), TREE_PATHS)
        what, predicted = outcome(EITHER, lambda: model.predict(test.value))
        if what == ANSWERED:
            assert len(predicted) == _rows_in(test.value)
        return what

    forms = st.sampled_from(["given", "chosen"])
    cases = st.tuples(rows(len(TREE_PATHS)), rows(5), forms)
    fuzz(cases, check, small=25, name="X of the estimator to start with")


def _rows_in(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


@contextmanager
def quiet_classifiers():
    """Naive Bayes says much about extreme numbers; that is its business."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"sklearn\.")
        warnings.filterwarnings("ignore", "X (has|does not have) (valid )?feature names")
        yield


# -- parameters --------------------------------------------------------------------------------


@st.composite
def _parameter_cases(draw):
    model_class = draw(
        st.sampled_from([*ESTIMATOR_CLASSES, GlobalClassifier, HierarchicalClassifier])
    )
    names = set(PARAMETERS) & set(model_class().get_params())
    if model_class is GlobalClassifier:
        estimator = {
            "estimator": draw(
                st.sampled_from([AsRegressor(SoftAnyRows()), AsRegressor(BareAnyRows()), Ridge()])
            )
        }
    else:
        estimator = {
            "local_classifier": draw(st.sampled_from([SoftAnyRows, ScoredAnyRows, BareAnyRows]))()
        }
    return model_class, draw(parameters(names)), estimator, draw(st.booleans())


def test_parameters_are_used_or_refused():
    X = np.random.default_rng(0).normal(size=(12, 2))
    tree = [["a", "x"], ["a", "y"], ["b"], ["b", "z"]] * 3

    def check(case):
        model_class, params, estimator, late = case
        chosen = {**estimator, **params.value}
        y = [[tuple(path)] for path in tree] if chosen.get("multi_label") is True else tree
        if late:  # decisions may be set after fit
            return check_late(model_class, params, chosen, y)
        model = model_class(**chosen)
        before = repr(model.get_params())
        what, _ = outcome(params.expect, lambda: model.fit(X, y))
        assert repr(model.get_params()) == before
        if what == ANSWERED:
            what, predicted = outcome(EITHER, lambda: model.predict(X))
            if what == ANSWERED:
                assert len(predicted) == len(X)
        return what

    def check_late(model_class, params, chosen, y):
        decisions = ("decoding", "min_confidence", "threshold", "optimize")
        now = {k: v for k, v in chosen.items() if k not in decisions}
        later = {k: v for k, v in chosen.items() if k in decisions}
        what, model = outcome(EITHER, lambda: model_class(**now).fit(X, y))
        if what == REFUSED:
            return what
        model.set_params(**later)
        # A decision that does not suit is refused, whether or not it is allowed by itself.
        bad = params.expect == BAD and params.what.partition("=")[0] in later
        return outcome(BAD if bad else EITHER, lambda: model.predict(X))[0]

    fuzz(_parameter_cases(), check, small=40, name="parameters")


# -- the order of calls and their arguments ----------------------------------------------------

ACTIONS = (
    "predict", "predict_proba", "predict_log_proba", "predict_node_proba", "predict_confidence",
    "predict_paths", "score", "restricted_to", "partial_fit", "fit", "clone", "set_params",
)  # fmt: skip


@st.composite
def _call_cases(draw):
    y = draw(good_labels(min_rows=4, depth=(1, 3), labels=("letters", "int"), ragged=True))
    steps = []
    for action in draw(st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=5)):
        argument = {
            "predict_paths": st.sampled_from(
                [1, 3, 50, np.int64(2), 0, -1, 1.5, "two", None, True]
            ),
            "restricted_to": st.lists(st.sampled_from([*y.plain, ["?"], []]), max_size=3) | CHAOS,
            "score": st.sampled_from(["same", "other", "short", "none", "weights", "bad weights"]),
            "partial_fit": st.sampled_from(["same", "new", "other form", "short"]),
            "set_params": st.sampled_from(
                [{"min_confidence": 0.5}, {"decoding": "best_path"}, {"decoding": "expected_f1"}]
            ),
        }.get(action, st.none())
        steps.append((action, draw(argument)))
    name = draw(simple_model_names)
    estimators = (
        [SoftAnyRows, GaussianNB]
        if name == "GlobalClassifier"
        else [SoftAnyRows, ScoredAnyRows, GaussianNB]
    )
    estimator = draw(st.sampled_from(estimators))
    return MODELS[name](estimator()), y, steps, draw(st.booleans())


def test_calls_in_any_order_are_answered_or_refused():
    def check(case):
        model, y, steps, fitted = case
        n = len(y.plain)
        X = np.random.default_rng(n).normal(size=(n, 2))
        if fitted:
            model.fit(X, y.value)
        last = ANSWERED
        for action, argument in steps:
            with quiet_classifiers():
                last, model = call(model, action, argument, X, y)
        return last

    fuzz(_call_cases(), check, small=40, name="calls")


def call(model, action, argument, X, y):
    """Do one step; return the outcome and the model to go on with."""
    n = len(y.plain)
    fitted = "_models" in vars(model)
    if action == "clone":
        from sklearn.base import clone

        return ANSWERED, clone(model)
    if action == "set_params":
        return ANSWERED, model.set_params(**argument)
    if action == "fit":
        what, _ = outcome(EITHER, lambda: model.fit(X, y.value))
        assert ("_models" in vars(model)) == (what == ANSWERED)
        return what, model
    if not hasattr(model, action):  # honest: what is not offered says why
        with pytest.raises(AttributeError, match=r"\w"):
            getattr(model, action)
        return REFUSED, model
    if action == "partial_fit":
        return call_partial_fit(model, argument, X, y)
    if action == "restricted_to":
        what, narrow = outcome(EITHER if fitted else BAD, lambda: model.restricted_to(argument))
        if what == REFUSED:
            return what, model
        proba = narrow.predict_node_proba(X)
        np.testing.assert_allclose(proba[:, 0], 1, atol=1e-9)
        allowed = {narrow.hierarchy_.find(tuple(c) if isinstance(c, list) else c) for c in argument}
        ends = narrow.hierarchy_.subtree_end
        outside = [
            v
            for v in range(narrow.hierarchy_.n_nodes)
            if not any(a <= v < ends[a] or v <= a < ends[v] for a in allowed)
        ]
        assert not proba[:, outside].any()
        return what, narrow
    if action == "score":
        return call_score(model, argument, X, y), model
    args = (X, argument) if action == "predict_paths" else (X,)
    expect = EITHER if fitted else BAD
    if action == "predict_paths" and fitted:
        good_k = isinstance(argument, int | np.integer) and argument >= 1
        expect = GOOD if good_k else BAD
    what, result = outcome(expect, lambda: getattr(model, action)(*args))
    if what == ANSWERED:
        parts = result if isinstance(result, list | tuple) else [result]
        assert all(len(part) == n for part in parts)
    return what, model


def call_score(model, argument, X, y):
    fitted = "_models" in vars(model)
    options = {
        "same": (GOOD, y.value, None),
        "other": (EITHER, [["q"]] * len(X), None),
        "short": (BAD, y.plain[:-1], None),
        "none": (BAD, None, None),
        "weights": (GOOD, y.value, np.ones(len(X))),
        "bad weights": (BAD, y.value, np.full(len(X), np.nan)),
    }
    expect, labels, weights = options[argument]
    # Decisions that were set after fit may not suit the model.
    expect = (EITHER if expect == GOOD else expect) if fitted else BAD
    what, score = outcome(expect, lambda: model.score(X, labels, weights))
    if what == ANSWERED:
        assert -1e-12 <= score <= 1 + 1e-12
    return what


def call_partial_fit(model, argument, X, y):
    labels = {
        "same": y.value,
        "new": [["new"]] * len(X),
        "other form": ["single"] * len(X),
        "short": y.plain[:-1],
    }[argument]
    before = pickle.dumps(model)
    what, _ = outcome(BAD if argument == "short" else EITHER, lambda: model.partial_fit(X, labels))
    if what == REFUSED:  # a batch is learned as a whole or not at all
        assert pickle.dumps(model) == before
    else:
        proba = model.predict_node_proba(X)
        np.testing.assert_allclose(proba[:, 0], 1, atol=1e-9)
        assert (proba >= -1e-12).all()
    return what, model


# -- metrics and folds -------------------------------------------------------------------------

BOUNDED = {
    "exact_match": metrics.exact_match,
    "f1": metrics.f1,
    "precision": metrics.precision,
    "recall": metrics.recall,
    "lca_f1": metrics.lca_f1,
    "lca_precision": metrics.lca_precision,
    "lca_recall": metrics.lca_recall,
    "h_loss": metrics.h_loss,
    "tree_distance": metrics.tree_distance,
    "severity": metrics.severity,
}
NO_UPPER_BOUND = ("h_loss", "tree_distance", "severity")
PERFECT = {name: 0 if name in NO_UPPER_BOUND else 1 for name in BOUNDED}


@st.composite
def _metric_cases(draw):
    kind = draw(st.sampled_from(["same", "reversed", "any"]))
    true = draw(ANY_LABELS if kind == "any" else good_labels())
    if kind == "reversed":
        pred = replace(true, value=true.plain[::-1], plain=true.plain[::-1])
    else:
        pred = true if kind == "same" else draw(ANY_LABELS)
    weights = draw(
        st.none()
        | st.just(np.ones(len(true.plain or [1])))
        | st.lists(st.floats(0, 10), min_size=1, max_size=12)
        | st.sampled_from([[-1.0], "w", [float("nan")] * 3, 3, [[1.0]]])
    )
    return true, pred, draw(st.sampled_from(sorted(BOUNDED))), weights


def test_metrics_are_in_bounds_or_refuse():
    def check(case):
        true, pred, name, weights = case
        what, score = outcome(
            EITHER, lambda: BOUNDED[name](true.value, pred.value, sample_weight=weights)
        )
        same = true is pred and true.expect == GOOD
        assert not (same and weights is None and what == REFUSED), score
        if what == ANSWERED:
            assert np.isfinite(score)
            assert -1e-12 <= score <= (np.inf if name in NO_UPPER_BOUND else 1 + 1e-12)
            if same:
                assert score == pytest.approx(PERFECT[name])
            if true.expect == GOOD == pred.expect:
                assert len(true.plain) == len(pred.plain)
        return what

    fuzz(_metric_cases(), check, small=35, name="metrics")


def test_folds_are_a_partition_or_refused():
    def check(case):
        labels, n_splits, shuffle = case
        splitter = HierarchicalKFold(n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
        n = None if labels.plain is None else len(labels.plain)
        good = labels.expect == GOOD and isinstance(n_splits, int) and 2 <= n_splits <= n
        bad = labels.expect == BAD and "too" not in labels.what
        expect = GOOD if good else (BAD if bad or not isinstance(n_splits, int) else EITHER)
        X = None
        what, folds = outcome(expect, lambda: list(splitter.split(X, labels.value)))
        if what == ANSWERED:
            everyone = np.sort(np.concatenate([test for _, test in folds]))
            np.testing.assert_array_equal(everyone, np.arange(len(everyone)))
            for train, test in folds:
                assert len(np.intersect1d(train, test)) == 0
                assert len(train) + len(test) == len(everyone)
            sizes = [len(test) for _, test in folds]
            assert max(sizes) - min(sizes) <= 1
        what, truncated = outcome(EITHER, lambda: truncate_at_gap(labels.value))
        if what == ANSWERED and labels.expect == GOOD:
            assert paths_of(truncated) == paths_of(labels.value)
        return what

    splits = st.integers(2, 6) | st.sampled_from([0, 1, -1, 1.5, "two", None, 10**9])
    fuzz(st.tuples(ANY_LABELS, splits, st.booleans()), check, small=35, name="folds")


# -- several labels per row --------------------------------------------------------------------


@st.composite
def _set_cases(draw):
    edges, y = draw(hierarchies_with_sets(max_nodes=8, max_rows=8))
    form = draw(
        st.sampled_from(["bad", "lists", "chaos", "sparse", "bad", "dense", "frame", "sets"])
    )
    fault = draw(st.sampled_from(sorted(_SET_FAULTS)))
    return edges, y, form, fault, draw(CHAOS), draw(model_names), draw(st.floats(0.01, 1))


_SET_FAULTS = {
    "an unknown label": lambda y: [*y[:-1], [-5]],
    "a missing label": lambda y: [*y[:-1], [None]],
    "an empty text": lambda y: [*y[:-1], [""]],
    "a label and no list": lambda y: [*y[:-1], 3],
    "an unhashable label": lambda y: [*y[:-1], [{}]],
    "a nested list": lambda y: [*y[:-1], [[0]]],
    "a tuple": lambda y: [*y[:-1], (0, 1)],
    "paths and labels": lambda y: [*y[:-1], [(0,), 1]],
    "an indicator of other width": lambda y: sp.csr_array((len(y), 99)),
    "an indicator with twos": lambda y: sp.csr_array(np.full((len(y), 3), 2)),
    "None": lambda y: None,
    "no rows": lambda y: [],
    "one row too many": lambda y: [*y, []],
    "a number": lambda y: 3,
    "a frame of numbers": lambda y: pandas.DataFrame({0: [0.5] * len(y)}),
}


def test_sets_of_labels_are_closed_or_refused():
    def check(case):
        edges, y, form, fault, chaos, name, threshold = case
        tree = Hierarchy.from_edges(edges)
        indicator = tree.indicator(y)
        given_ = {
            "lists": y,
            "sets": [set(row) for row in y],
            "sparse": indicator,
            "dense": indicator.toarray(),
            "frame": pandas.DataFrame(
                indicator.toarray()[:, 1:], columns=pandas.Index(tree.labels[1:].tolist())
            ),
            "bad": _SET_FAULTS[fault](y),
            "chaos": chaos,
        }[form]
        options = {"hierarchy": tree, "multi_label": True}
        if name == "EnsembleClassifier":
            members = [("a", FlatClassifier(SoftAnyRows(), **options))]
            model = EnsembleClassifier(members, threshold=threshold)
        else:
            model = MODELS[name](SoftAnyRows(), threshold=threshold, **options)
        X = np.random.default_rng(len(y)).normal(size=(len(y), 2))
        expect = {"bad": BAD, "chaos": EITHER}.get(form, EITHER)
        what, error = outcome(expect, lambda: model.fit(X, given_))
        if what == REFUSED:
            # The only reasons: nothing to learn from, or a policy without rows.
            assert form in ("bad", "chaos") or not any(y), error
            return what
        proba = model.predict_node_proba(X)
        assert ((proba >= 0) & (proba <= 1 + 1e-9)).all()
        for v in range(1, tree.n_nodes):
            for p in tree.parents(v).tolist():
                assert (proba[:, v] <= proba[:, p] + 1e-9).all()
        predicted = model.predict(X)
        assert _rows_in(predicted) == len(X)
        if form in ("sparse", "dense"):
            closed = np.asarray(predicted.todense() if form == "sparse" else predicted)
            expected = proba >= threshold
            np.testing.assert_array_equal(closed[:, 1:], expected[:, 1:])
        if form in ("lists", "sets"):
            for row, sure in zip(predicted, proba, strict=True):
                want = {v for v in range(1, tree.n_nodes) if sure[v] >= threshold}
                closed = set()
                for label in row:
                    node = tree.find(label)
                    closed |= {node, *tree.ancestors(node).tolist()}
                assert closed - {0} == want
        assert 0 <= model.score(X, given_) <= 1
        return what

    fuzz(_set_cases(), check, small=25, name="sets")


# -- the wrapper with a guarantee --------------------------------------------------------------


@st.composite
def _conformal_cases(draw):
    y = draw(good_labels(min_rows=6, max_rows=14, labels=("letters", "int"), depth=(1, 3)))
    confidence = draw(
        st.floats(0.05, 0.95) | st.sampled_from([0, 1, -1, 2, "sure", None, float("nan")])
    )
    return y, confidence, draw(simple_model_names), draw(st.integers(0, 9))


def test_guarantees_cover_or_are_refused():
    def check(case):
        y, confidence, name, seed = case
        X = np.random.default_rng(seed).normal(size=(len(y.plain), 2))
        model = ConformalClassifier(
            MODELS[name](SoftAnyRows()), alpha=confidence, random_state=seed
        )
        expect = EITHER if isinstance(confidence, float) and 0 < confidence < 1 else BAD
        what, _ = outcome(expect, lambda: model.fit(X, y.value))
        if what == ANSWERED:
            known = {typed(path)[:j] for path in y.plain for j in range(len(path) + 1)}
            assert set(typed_rows(model.predict(X))) <= known
            assert len(model.predict_set(X)) == len(X)
        return what

    fuzz(_conformal_cases(), check, small=12, name="conformal")


# -- the suite itself --------------------------------------------------------------------------


def test_the_number_of_tests_is_right():
    """The cases of HICLASS_FUZZ are dealt out to this many tests."""
    tests = [f for name, f in globals().items() if name.startswith("test_")]
    assert sum("fuzz" in test.__code__.co_names for test in tests) == N_TESTS


def _slip(index):
    return [1, 2][index]


@pytest.mark.parametrize("slip", [lambda: _slip(5), lambda: {}["x"], lambda: 1 + "a", lambda: 1 / 0,
                                  lambda: int("x"), lambda: np.zeros(2)[3]])  # fmt: skip
def test_an_accident_is_no_refusal(slip):
    with pytest.raises(Exception, match=r".") as error:
        slip()
    assert not is_refusal(error.value)


def test_what_validation_says_is_a_refusal():
    for action in (
        lambda: FlatClassifier().fit([[0.0]], [""]),
        lambda: FlatClassifier().fit([[np.nan], [1.0]], ["a", "b"]),
        lambda: FlatClassifier(decoding="sideways").fit([[0.0], [1.0]], ["a", "b"]),
        lambda: FlatClassifier().predict([[0.0]]),
    ):
        with pytest.raises(ValueError, match=r".") as error:
            action()
        assert is_refusal(error.value)
