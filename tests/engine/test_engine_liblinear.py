"""A LinearSVC that the engine fits is, to the last bit, the one that its own fit gives."""

import io
import pickle
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from engine_helpers import end_early, make_data
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from hiclass import (
    FlatClassifier,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._engine import liblinear as _liblinear
from hiclass._engine.copies import Copies
from hiclass._engine.liblinear import fit_quickly


class Plain(LinearSVC):
    """A LinearSVC whose own fit is called, since it is another one."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight)


class SoftLinearSVC(LinearSVC):
    """A subclass that leaves fit as it is."""

    def predict_proba(self, X):
        scores = np.exp(self.decision_function(X))
        return scores / scores.sum(axis=1, keepdims=True)


def rows(n_classes=3, n_rows=40, kind="sparse"):
    """Rows with some zeros, and all codes in an order that is not sorted."""
    rng = np.random.default_rng(n_classes)
    target = rng.permutation(np.arange(n_rows) % n_classes)
    X = rng.normal(size=(n_rows, 6)) * (rng.random((n_rows, 6)) < 0.7) + target[:, None] * 0.3
    return (sp.csr_matrix(X) if kind == "sparse" else X), target


def assert_same(mine, theirs):
    """The same attributes in the same order, of the same types, equal to the last bit."""
    assert list(vars(mine)) == list(vars(theirs))
    for name, value in vars(theirs).items():
        other = vars(mine)[name]
        assert type(other) is type(value), name
        if isinstance(value, np.ndarray):
            assert (other.dtype, other.shape, other.strides) == (
                value.dtype,
                value.shape,
                value.strides,
            )
            assert other.tobytes() == value.tobytes(), name
        elif name != "random_state":
            assert other == value, name


def assert_same_models(mine, theirs):
    for a, b in (
        (mine._models.classifiers, theirs._models.classifiers),
        (mine._models.gates, theirs._models.gates),
    ):
        assert list(a) == list(b)
        for owner, fitted in a.items():
            assert_same(
                *(getattr(c, "estimator", c) for c in (fitted, b[owner]))
            )  # of a packed one


@pytest.fixture
def unchecked(monkeypatch):
    """As in a process that has not fitted anything yet."""
    monkeypatch.setattr(_liblinear, "_works", None)


@pytest.fixture
def off(monkeypatch):
    """As in a process where the check has failed."""
    return lambda: monkeypatch.setattr(_liblinear, "_works", False)


@pytest.fixture
def global_state():
    """What ``random_state=None`` stands for, with a seed, and put back in the end."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    yield np.random.get_state
    np.random.set_state(before)  # noqa: NPY002


# -- the result of LinearSVC.fit ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize(
    ("loss", "penalty", "dual"),
    [
        ("squared_hinge", "l2", True),
        ("squared_hinge", "l2", False),
        ("squared_hinge", "l2", "auto"),
        ("squared_hinge", "l1", False),
        ("squared_hinge", "l1", "auto"),
        ("hinge", "l2", True),
        ("hinge", "l2", "auto"),
    ],
)
def test_every_solver_gives_what_fit_gives(kind, n_classes, loss, penalty, dual):
    for n_rows in (n_classes + 1, 40):  # with dual="auto" it matters which is larger
        X, target = rows(n_classes, n_rows, kind)
        for weights, cost in product((None, np.linspace(0, 2, n_rows)), (1, 0.1)):
            svc = LinearSVC(loss=loss, penalty=penalty, dual=dual, C=cost)
            svc.set_params(tol=0.01, max_iter=5000, random_state=7)
            params = {} if weights is None else {"sample_weight": weights}
            mine = clone(svc)
            assert fit_quickly(mine, X, target, params)
            assert_same(mine, svc.fit(X, target, **params))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "params",
    [
        {"fit_intercept": False},
        {"intercept_scaling": 3},
        {"intercept_scaling": 0.5, "loss": "squared_hinge", "dual": False},
        {"tol": 1},
        {"class_weight": "balanced"},
        {"C": np.float64(0.3), "max_iter": np.int64(500)},
        {"random_state": 2**32 - 1},
    ],
    ids=str,
)
def test_every_parameter_reaches_liblinear(params, n_classes):
    X, target = rows(n_classes)
    target = np.where(np.arange(40) < 10, 0, target)  # not balanced
    usual = {"loss": "hinge", "random_state": 0, "tol": 0.1}
    svc = LinearSVC(**usual | params)
    mine = clone(svc)
    assert fit_quickly(mine, X, target, {})
    assert_same(mine, svc.fit(X, target))
    # The parameter matters here.
    assert not np.array_equal(mine.coef_, LinearSVC(**usual).fit(X, target).coef_)


def test_other_containers_and_codes_give_what_fit_gives():
    X, target = rows()
    for given, codes in (
        (sp.csr_array(X), target),
        (X, target.astype(np.int32)),
        (X, target.astype(np.int8)),
        (sp.csr_matrix((X.data, X.indices, X.indptr), X.shape), target),
    ):
        svc = LinearSVC(tol=0.1, random_state=0)
        mine = clone(svc)
        assert fit_quickly(mine, given, codes, {"sample_weight": None})
        assert_same(mine, svc.fit(given, codes))
        assert mine.classes_.dtype == codes.dtype


def test_the_numbers_that_are_drawn_are_those_of_fit(global_state):
    X, target = rows(4)

    def fits(fit, random_state):
        svc = LinearSVC(loss="hinge", tol=0.5, random_state=random_state)
        for _ in range(3):
            svc = clone(svc).set_params(random_state=random_state)
            fit(svc, X, target)
            yield svc

    def quickly(svc, X, target):
        assert fit_quickly(svc, X, target, {})

    found = []
    state = global_state()
    for fit in (quickly, LinearSVC.fit):
        np.random.set_state(state)  # noqa: NPY002
        own = np.random.RandomState(6)
        models = [*fits(fit, None), *fits(fit, own)]
        found.append((models, global_state()[2], own.get_state()[2]))
    (mine, *after), (theirs, *after_fit) = found
    assert after == after_fit
    for a, b in zip(mine, theirs, strict=True):
        assert_same(a, b)
    assert not np.array_equal(mine[0].coef_, mine[1].coef_)  # every fit draws another number


def test_a_subclass_with_the_same_fit_is_fitted_as_by_its_fit():
    X, target = rows()
    mine, theirs = SoftLinearSVC(tol=0.1, random_state=0), SoftLinearSVC(tol=0.1, random_state=0)
    assert fit_quickly(mine, X, target, {})
    assert_same(mine, theirs.fit(X, target))


def test_a_request_for_weights_stays():
    X, target = rows()
    with sklearn.config_context(enable_metadata_routing=True):
        svc = LinearSVC(tol=0.1, random_state=0).set_fit_request(sample_weight=True)
        weights = np.linspace(1, 2, 40)
        assert fit_quickly(svc, X, target, {"sample_weight": weights})
        assert svc.get_metadata_routing().fit.requests == {"sample_weight": True}
    theirs = LinearSVC(tol=0.1, random_state=0).fit(X, target, sample_weight=weights)
    np.testing.assert_array_equal(svc.coef_, theirs.coef_)


@pytest.mark.parametrize("kind", ["sparse", "dense", "weights", "early", "seed"])
def test_models_are_the_same_with_and_without(estimator_class, kind, unchecked):
    X, y = make_data()
    y = end_early(y) if kind == "early" else y
    X = sp.csr_matrix(np.where(X > 0.5, X, 0)) if kind == "sparse" else X
    weights = np.linspace(1, 2, len(y)) if kind == "weights" else None
    params = {"random_state": 3} if kind == "seed" else {}
    found = [
        estimator_class(estimator(tol=0.1, random_state=0), **params).fit(
            X, y, sample_weight=weights
        )
        for estimator in (LinearSVC, Plain)
    ]
    assert_same_models(*found)
    assert _liblinear._works  # it was used
    np.testing.assert_array_equal(found[0].predict(X), found[1].predict(X))


def test_a_fitted_local_classifier_is_a_plain_linear_svc():
    X, y = make_data()
    model = LocalClassifierPerParentNode(LinearSVC(tol=0.1)).fit(X, y)
    for estimator in model.local_classifiers_.values():
        assert type(estimator) is LinearSVC
        assert b"hiclass" not in pickle.dumps(estimator)


# -- what is left to fit -------------------------------------------------------------------------


def _frame(X):
    return pd.DataFrame(X.toarray())


def _large_indices(X):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _with(value):
    def change(X):
        X = X.copy()
        X.data[3] = value
        return X

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(np.float32),
        lambda X: X.toarray().astype(np.float32),
        lambda X: X.toarray().round().astype(int),
        lambda X: X.toarray().astype(">f8"),
        lambda X: np.asfortranarray(X.toarray()),
        lambda X: X.toarray()[:, ::2],
        lambda X: np.ma.masked_array(X.toarray()),
        lambda X: X.toarray().tolist(),
        lambda X: X.toarray()[:, :, None],
        lambda X: X.tocsc(),
        _large_indices,
        _frame,
        _with(np.nan),
        _with(np.inf),
    ],
    ids=[
        "sparse float32", "float32", "integers", "bytes", "Fortran", "strided", "masked", "list",
        "3-D", "CSC", "int64 indices", "frame", "NaN", "infinity",
    ],
)  # fmt: skip
def test_rows_that_fit_would_convert_or_refuse_are_left_to_it(change):
    X, target = rows()
    svc = LinearSVC(tol=0.1, random_state=0)
    before = dict(vars(svc))
    assert not fit_quickly(svc, change(X), target, {})
    assert vars(svc) == before


@pytest.mark.parametrize(
    "target",
    [
        np.zeros(40, int),
        np.repeat([0, 2], 20),
        np.repeat([1, 2], 20),
        np.repeat([-1, 0], 20),
        np.repeat([0.0, 1.0], 20),
        np.repeat([0, 1], 10),
        np.eye(40, 3, dtype=int),
        np.arange(40) * 10**9,
    ],
    ids=["one class", "gap", "from one", "negative", "floats", "short", "matrix", "far"],
)
def test_targets_that_are_no_codes_are_left_to_fit(target):
    assert not fit_quickly(LinearSVC(), rows()[0], target, {})


@pytest.mark.parametrize(
    "params",
    [
        {"C": -1.0},
        {"C": "much"},
        {"loss": "log"},
        {"loss": "hinge", "dual": False},
        {"penalty": "l1", "dual": True},
        {"fit_intercept": 1},
        {"max_iter": 10.0},
        {"intercept_scaling": 0},
        {"random_state": -1},
        {"random_state": 2**32},
        {"random_state": "seed"},
        {"verbose": 1},
        {"multi_class": "crammer_singer"},
        {"class_weight": {0: 2.0}},
        {"class_weight": "heavy"},
    ],
    ids=str,
)
def test_unusual_parameters_are_left_to_fit(params):
    # Once valid, then not: 1 and True, 10 and 10.0 are equal but not the same.
    assert fit_quickly(LinearSVC(tol=0.1, max_iter=10), *rows(), {})
    assert not fit_quickly(LinearSVC(tol=0.1).set_params(**params), *rows(), {})


def test_other_estimators_are_left_to_their_fit():
    class Strict(LinearSVC):
        _parameter_constraints = LinearSVC._parameter_constraints | {"C": [str]}

    fitted = LinearSVC(tol=0.1).fit(*rows())
    for estimator in (Plain(), Strict(), fitted, SimpleNamespace(fit=None)):
        assert not fit_quickly(estimator, *rows(), {})


def test_other_parameters_of_fit_are_left_to_it():
    X, target = rows()
    assert not fit_quickly(LinearSVC(), X, target, {"colour": 1})
    weighted = LinearSVC(class_weight="balanced")
    assert not fit_quickly(weighted, X, target, {"sample_weight": np.ones(40)})


def test_single_precision_gives_the_model_of_fit():
    X, y = make_data()
    found = [
        LocalClassifierPerParentNode(estimator(tol=0.1, random_state=0)).fit(
            X.astype(np.float32), y
        )
        for estimator in (LinearSVC, Plain)
    ]
    assert_same_models(*found)


# -- errors and warnings -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": -1.0}, "The 'C' parameter of LinearSVC must be"),
        ({"loss": "log"}, "The 'loss' parameter of LinearSVC must be"),
        ({"random_state": -1}, "The 'random_state' parameter of LinearSVC must be"),
        ({"penalty": "l1", "loss": "hinge"}, "penalty='l1' and loss='hinge' is not supported"),
    ],
    ids=str,
)
def test_errors_of_parameters_are_those_of_scikit_learn(params, message):
    with pytest.raises(ValueError, match=message) as caught:
        LocalClassifierPerParentNode(LinearSVC(**params)).fit(*make_data())
    assert any("while fitting the classifier of" in note for note in caught.value.__notes__)


def test_rows_that_nobody_has_checked_are_still_refused():
    X, y = make_data()
    X[5, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        LocalClassifierPerParentNode(lambda path: LinearSVC()).fit(X, y)


@pytest.mark.parametrize(
    "weights",
    [np.full(40, np.nan), np.ones(39), np.ones((40, 2)), np.zeros(40)],
    ids=["NaN", "short", "matrix", "zeros"],
)
def test_weights_are_refused_as_by_fit(weights):
    X, target = rows()
    with pytest.raises(ValueError) as theirs:  # noqa: PT011  # it says which is the right one
        LinearSVC().fit(X, target, weights)
    with pytest.raises(ValueError, match=f"^{re.escape(str(theirs.value))}$"):
        fit_quickly(LinearSVC(), X, target, {"sample_weight": weights})


def test_a_fit_that_does_not_converge_warns_as_scikit_learn_does():
    X, target = rows()
    found = []
    for estimator in (Plain, LinearSVC):
        svc = estimator(tol=1e-9, max_iter=2, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if not fit_quickly(svc, X, target, {}):
                svc.fit(X, target)
        (warning,) = caught
        found.append((warning.category, str(warning.message), warning.filename, warning.lineno))
        assert svc.n_iter_ == 2
    assert found[0] == found[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module=r"sklearn\.svm")
        assert fit_quickly(LinearSVC(tol=1e-9, max_iter=2), X, target, {})


def test_a_warning_needs_no_source_of_scikit_learn(monkeypatch):
    monkeypatch.setattr("linecache.getlines", lambda filename: [])
    assert _liblinear._warning_line.__wrapped__() == 1


def test_a_warning_that_is_an_error_names_the_classifier():
    with pytest.raises(ConvergenceWarning) as caught:
        LocalClassifierPerParentNode(LinearSVC(tol=1e-9, max_iter=2)).fit(*make_data())
    assert any("while fitting the classifier of" in note for note in caught.value.__notes__)


# -- the check -----------------------------------------------------------------------------------


def _wrong_result(*args):
    raw, n_iter = _real.train_wrap(*args)
    return np.nextafter(raw, 1), n_iter


def _wrong_type(*args):
    raw, n_iter = _real.train_wrap(*args)
    return raw.astype(np.float32), n_iter


def _another_seed(*args):
    return _real.train_wrap(*args[:9], args[9] + 1, *args[10:])


def _no_weights(*args):
    return _real.train_wrap(*args[:11], np.ones_like(args[11]))


def _broken(*args):
    raise RuntimeError("changed")


def _fewer_arguments(X, y):
    return None


_real = _liblinear.svm_liblinear


@pytest.mark.parametrize(
    "train",
    [None, _wrong_result, _wrong_type, _another_seed, _no_weights, _broken, _fewer_arguments],
)
def test_where_the_check_fails_fit_is_used(train, unchecked, monkeypatch):
    low = None
    if train is not None:
        low = SimpleNamespace(train_wrap=train, set_verbosity_wrap=_real.set_verbosity_wrap)
    monkeypatch.setattr(_liblinear, "_modules", Copies(low))
    X, y = make_data()
    model = LocalClassifierPerParentNode(LinearSVC(tol=0.1, random_state=0)).fit(X, y)
    assert _liblinear._works is False
    plain = LocalClassifierPerParentNode(Plain(tol=0.1, random_state=0)).fit(X, y)
    assert_same_models(model, plain)


def test_the_check_is_made_once_whoever_comes_first(unchecked, monkeypatch):
    calls = []
    agrees = _liblinear._agrees
    monkeypatch.setattr(_liblinear, "_agrees", lambda: calls.append(1) or agrees())
    X, target = rows()
    with ThreadPoolExecutor(8) as pool:
        done = pool.map(lambda i: fit_quickly(LinearSVC(tol=0.1), X, target, {}), range(16))
    assert all(done)
    assert len(calls) == 1


def test_the_check_leaves_no_trace(unchecked, global_state, capfd):
    _, before, position, *_ = global_state()
    assert _liblinear._is_as_fit()
    _, after, position_after, *_ = global_state()
    np.testing.assert_array_equal(after, before)
    assert position_after == position
    assert capfd.readouterr() == ("", "")


# -- checkpoints ---------------------------------------------------------------------------------


def test_checkpoints_are_the_same_with_and_without(tmp_path, off):
    X, y = make_data()
    model = LocalClassifierPerNode(LinearSVC(tol=0.1, random_state=0))
    model.set_params(checkpoint_dir=tmp_path / "with").fit(X, y)
    off()
    model.set_params(checkpoint_dir=tmp_path / "without").fit(X, y)
    found = [
        {file.name: joblib.hash(file.read_bytes()) for file in (tmp_path / name).iterdir()}
        for name in ("with", "without")
    ]
    assert len(found[0]) == len(model.local_classifiers_)
    assert found[0] == found[1]


def test_joblib_can_dump_what_was_fitted():
    X, target = rows()
    svc = LinearSVC(tol=0.1, random_state=0)
    assert fit_quickly(svc, X, target, {})
    file = io.BytesIO()
    joblib.dump(svc, file)
    file.seek(0)
    np.testing.assert_array_equal(joblib.load(file).predict(X), svc.predict(X))


# -- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "cls", [FlatClassifier, LocalClassifierPerNode, LocalClassifierPerParentNode]
)
def test_a_class_without_weight_is_refused(cls, n_jobs):
    """LinearSVC leaves its rows out, and then takes the remaining classes for others."""
    X, target = rows(5, 1200)
    y = np.column_stack([np.full(1200, "a"), target.astype(str)])
    weights = (target != 2).astype(float)
    model = cls(LinearSVC(tol=0.1, random_state=0), n_jobs=n_jobs)
    with pytest.raises(ValueError, match=r"weight of 0\. LinearSVC .* Remove these rows"):
        model.fit(X, y, sample_weight=weights)
    weights[np.flatnonzero(target == 2)[0]] = 1e-3
    assert model.fit(X, y, sample_weight=weights).score(X, y) > 0.3
