"""``FastLinearSVC``: the model of ``LinearSVC``, with and without numba.

Most tests run the solver as plain Python, so that they need no numba. Those that are marked
``heavy`` run it as numba compiles it.
"""

import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from linear_helpers import objective, problem
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from hiclass import TRUSTED_TYPES, FastLinearSVC, LocalClassifierPerParentNode
from hiclass._engine.liblinear import alone, fits_in_threads
from hiclass._engine.packed import KINDS, fit_packed, unpacked, widened
from hiclass._linear import fast_svc
from hiclass._linear.fast_svc import fit_checked, has_own_generator
from hiclass._linear.kernel import compiled, solve_problems

N_FEATURES = 300


@pytest.fixture
def plain(monkeypatch):
    """The solver as plain Python."""
    monkeypatch.setattr(fast_svc, "compiled", lambda: solve_problems)


@pytest.fixture
def without_numba(monkeypatch):
    monkeypatch.setattr(fast_svc, "compiled", lambda: None)


def wide_problem(n_rows=60, n_classes=4, seed=0):
    """Rows with few of the columns."""
    X, target = problem(n_rows, n_classes, seed, n_features=30)
    places = np.sort(np.random.default_rng(seed).choice(N_FEATURES, 30, replace=False))
    return sp.csr_matrix((X.data, places[X.indices], X.indptr), (n_rows, N_FEATURES)), target


# -- the model ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "hinge", "C": 0.5},
        {"fit_intercept": False},
        {"intercept_scaling": 3.0, "C": 2.0},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0}},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_is_the_model_of_linear_svc(params, n_classes, weighted):
    X, target = problem(25, n_classes)
    target = np.maximum(target - (np.arange(25) % 5 == 0), 0)  # classes of unequal size
    weight = np.random.default_rng(1).uniform(0.5, 2, 25) if weighted else None
    mine = FastLinearSVC(tol=1e-2, random_state=0, **params).fit(X, target, weight)
    given = dict(params)
    if given.get("class_weight") == "balanced":  # which scikit-learn may multiply by the weights
        count = np.bincount(target)
        given["class_weight"] = dict(enumerate(len(target) / (n_classes * count)))
    theirs = LinearSVC(dual=True, tol=1e-7, max_iter=100_000, random_state=0, **given)
    theirs.fit(X, target, weight)
    assert mine.solver_ == "numba"
    assert mine.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=0.02)
    intercept = np.broadcast_to(theirs.intercept_, len(mine.coef_))
    np.testing.assert_allclose(mine.intercept_, intercept, atol=0.02)
    np.testing.assert_array_equal(mine.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(mine.classes_, theirs.classes_)


@pytest.mark.usefixtures("plain")
def test_labels_are_kept_and_may_have_weights():
    X, target = problem(24, 3)
    labels = np.array(["pear", "apple", "fig"])[target]
    model = FastLinearSVC(random_state=0, class_weight={"apple": 2.0}).fit(X, labels)
    assert model.classes_.tolist() == ["apple", "fig", "pear"]
    assert set(model.predict(X)) <= set(labels)
    assert model.score(X, labels) > 0.7
    other = FastLinearSVC(random_state=0).fit(X, labels)
    assert (model.coef_[0] != other.coef_[0]).any()
    with pytest.raises(ValueError, match="not in class_weight"):
        FastLinearSVC(class_weight={"plum": 2.0}).fit(X, labels)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("seed", [0, np.int64(3), np.random.RandomState(4)], ids=str)
def test_random_state_decides_on_the_order_of_the_rows(seed):
    X, target = problem(24, 3)
    states = [seed if not hasattr(seed, "randint") else np.random.RandomState(4) for _ in "ab"]
    first, again = (FastLinearSVC(random_state=s, tol=0.5).fit(X, target) for s in states)
    np.testing.assert_array_equal(first.coef_, again.coef_)
    other = FastLinearSVC(random_state=99, tol=0.5).fit(X, target)
    assert (first.coef_ != other.coef_).any()
    FastLinearSVC(random_state=None).fit(X, target)


@pytest.mark.usefixtures("plain")
def test_dense_and_sparse_rows_of_all_kinds_give_the_same():
    X, target = problem(24, 3)
    fit = FastLinearSVC(random_state=0, tol=1e-4).fit
    expected = fit(X, target).coef_.copy()
    assert expected.dtype == np.float64
    long = X.copy()
    long.indices, long.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    twice = sp.csr_matrix(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    for rows in (X.toarray(), X.tocsc(), sp.csr_array(X), X.tocoo(), long, twice):
        before = rows.copy()
        np.testing.assert_allclose(fit(rows, target).coef_, expected, atol=1e-12)
        assert (before != rows).sum() == 0
    single = fit(X.astype(np.float32), target).coef_
    np.testing.assert_allclose(single, expected, atol=1e-3)


@pytest.mark.usefixtures("plain")
def test_single_precision_where_the_tolerance_allows_it():
    X, target = problem(24, 3)
    fine, coarse = (FastLinearSVC(random_state=0, tol=tol).fit(X, target) for tol in (1e-4, 1e-2))
    assert (fine.coef_.dtype, coarse.coef_.dtype) == (np.float64, np.float32)
    assert FastLinearSVC(tol=1e-2).fit(X.toarray(), target).coef_.dtype == np.float32
    sign = np.where(target == 0, 1, -1)
    gap = [objective(m.coef_[0], m.intercept_[0], X, sign, True, 1.0) for m in (fine, coarse)]
    assert gap[1] <= gap[0] * 1.001


@pytest.mark.usefixtures("plain")
def test_warns_where_passes_are_not_enough():
    X, target = problem(24, 3)
    with pytest.warns(ConvergenceWarning, match="max_iter=3 passes") as found:
        model = FastLinearSVC(tol=1e-9, max_iter=3).fit(X, target)
    assert model.n_iter_ == 3
    assert found[0].filename == __file__


@pytest.mark.usefixtures("plain")
def test_a_class_without_weight_is_refused():
    X, target = problem(24, 3)
    weight = (target != 1).astype(float)
    with pytest.raises(ValueError, match="All rows of the class 1 have a sample weight of 0"):
        FastLinearSVC().fit(X, target, weight)


@pytest.mark.usefixtures("plain")
def test_rows_without_weight_are_left_out():
    X, target = problem(24, 3)
    weight = np.arange(24) % 3 / 2
    kept = weight > 0
    some, alone = (
        FastLinearSVC(random_state=0).fit(X[rows], target[rows], weight[rows]).coef_
        for rows in (slice(None), kept)
    )
    np.testing.assert_array_equal(some, alone)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_no_row_counts_as_one_of_a_class_of_weight_0(loss):
    X, target = problem(24, 3)
    model = FastLinearSVC(class_weight={1: 0.0}, loss=loss, random_state=0).fit(X, target)
    assert model.decision_function(X)[:, 1].max() < 0


@pytest.mark.usefixtures("plain")
def test_rows_that_cannot_be_written_stay_as_they_are():
    X, target = problem(24, 3)
    expected = FastLinearSVC(random_state=0).fit(X, target).coef_
    for values in (X.data, X.indices, X.indptr):
        values.flags.writeable = False
    np.testing.assert_array_equal(FastLinearSVC(random_state=0).fit(X, target).coef_, expected)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "'C' parameter"),
        ({"loss": "logistic"}, "'loss' parameter"),
        ({"tol": -1}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"solver": "cuda"}, "'solver' parameter"),
    ],
)
def test_invalid_parameters_are_refused(params, message):
    X, target = problem(20, 3)
    with pytest.raises(ValueError, match=message):
        FastLinearSVC(**params).fit(X, target)
    assert not fit_checked(FastLinearSVC(**params), X, target, {})


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least two classes; there is only one class, 'a'"):
        FastLinearSVC().fit([[1.0], [2.0]], ["a", "a"])


@pytest.mark.usefixtures("plain")
def test_copies_pickles_and_files():
    X, target = problem(24, 3)
    model = FastLinearSVC(random_state=0).fit(X, target)
    assert not hasattr(clone(model), "coef_")
    assert repr(clone(model)) == "FastLinearSVC(random_state=0)"
    for again in (
        pickle.loads(pickle.dumps(model)),
        skops.io.loads(skops.io.dumps(model), trusted=list(TRUSTED_TYPES)),
    ):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.sparsify().decision_function(X), scores, rtol=1e-6)
    assert sp.issparse(model.coef_)


# -- without numba -----------------------------------------------------------------------------


@pytest.mark.usefixtures("without_numba")
@pytest.mark.parametrize("weighted", [False, True])
def test_liblinear_solves_it_where_numba_is_missing(weighted):
    X, target = problem(24, 3)
    weight = np.linspace(1, 2, 24) if weighted else None
    for solver in ("auto", "liblinear"):
        model = FastLinearSVC(C=2.0, random_state=0, solver=solver).fit(X, target, weight)
        same = LinearSVC(C=2.0, dual=True, tol=0.1, random_state=0).fit(X, target, weight)
        assert model.solver_ == "liblinear"
        np.testing.assert_array_equal(model.coef_, same.coef_)
        np.testing.assert_array_equal(model.intercept_, same.intercept_)
        assert model.n_iter_ == same.n_iter_
    long = X.copy()
    long.indices, long.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    np.testing.assert_array_equal(clone(model).fit(long, target, weight).coef_, model.coef_)
    without = FastLinearSVC(fit_intercept=False).fit(X, target)
    assert without.intercept_.tolist() == [0, 0, 0]
    assert not has_own_generator(model)


@pytest.mark.usefixtures("without_numba")
def test_to_ask_for_numba_where_it_is_missing_is_an_error():
    with pytest.raises(ImportError, match="pip install numba"):
        FastLinearSVC(solver="numba").fit(*problem(20, 2))


#: A process in which numba cannot be imported.
BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numba":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""
FIT = """
import scipy.sparse as sp
from hiclass import FastLinearSVC
X = sp.eye(6, format="csr")
model = FastLinearSVC(random_state=0).fit(X, [0, 1, 2, 0, 1, 2])
print(model.solver_, model.predict(X).tolist(), "numba" in sys.modules)
"""


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    return done.stdout.split("\n")[0]


def test_fits_in_a_process_that_has_no_numba():
    assert run(BLOCKED + FIT) == "liblinear [0, 1, 2, 0, 1, 2] False"


def test_numba_is_imported_by_fit_only():
    program = "import sys\nimport hiclass\nhiclass.FastLinearSVC()\nprint('numba' in sys.modules)"
    assert run(program) == "False"


# -- local classifiers -------------------------------------------------------------------------


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("tol", [0.1, 1e-4])
def test_is_packed_to_the_last_bit(n_classes, loss, tol):
    X, target = wide_problem(n_classes=n_classes)
    whole = FastLinearSVC(loss=loss, tol=tol, random_state=0)
    narrow = clone(whole)
    packed = fit_packed(narrow, X, lambda rows: narrow.fit(rows, target))
    assert packed is not None
    assert packed.estimator.coef_.shape[1] < N_FEATURES / 2
    whole.fit(X, target)
    wide = widened(packed)
    assert vars(wide).keys() == vars(whole).keys()
    np.testing.assert_array_equal(wide.coef_.toarray(), whole.coef_)
    np.testing.assert_array_equal(wide.intercept_, whole.intercept_)
    assert wide.n_features_in_ == N_FEATURES
    assert wide.n_iter_ == whole.n_iter_
    assert unpacked(packed).coef_.dtype == whole.coef_.dtype
    np.testing.assert_array_equal(packed.predict(X), whole.predict(X))


@pytest.mark.usefixtures("plain")
def test_inside_a_pipeline_or_calibrated_it_is_packed_too():
    X, target = wide_problem()
    for model in (
        make_pipeline(MaxAbsScaler(), FastLinearSVC(random_state=0)),
        CalibratedClassifierCV(FastLinearSVC(random_state=0), cv=2),
    ):
        whole = clone(model).fit(X, target)
        packed = fit_packed(model, X, lambda rows, model=model: model.fit(rows, target))
        np.testing.assert_array_equal(packed.predict(X), whole.predict(X))
    assert not KINDS[FastLinearSVC].by_column


@pytest.mark.usefixtures("plain")
def test_without_checks_it_is_the_same_fit():
    X, target = problem(24, 3)
    quick, slow = FastLinearSVC(random_state=0), FastLinearSVC(random_state=0).fit(X, target)
    assert fit_checked(quick, X, target, {})
    assert vars(quick).keys() == vars(slow).keys()
    np.testing.assert_array_equal(quick.coef_, slow.coef_)
    np.testing.assert_array_equal(quick.classes_, slow.classes_)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    "change",
    [
        lambda X, target: (X.toarray(), target),
        lambda X, target: (X * np.nan, target),
        lambda X, target: (X, np.where(target == 1, 2, target)),
        lambda X, target: (X, 0 * target),
        lambda X, target: (X.astype(int), target),
    ],
    ids=["dense", "nan", "no class 1", "one class", "integers"],
)
def test_unusual_rows_are_left_to_fit(change):
    assert not fit_checked(FastLinearSVC(), *change(*problem(30, 3)), {})


@pytest.mark.usefixtures("plain")
def test_threads_are_chosen_where_it_has_a_generator_of_its_own(monkeypatch):
    X, _ = problem(30, 3)
    assert fits_in_threads(FastLinearSVC(), X, {})
    assert not fits_in_threads(FastLinearSVC(solver="liblinear"), X, {})
    inside = make_pipeline(MaxAbsScaler(), FastLinearSVC())
    assert isinstance(alone(inside), nullcontext)
    monkeypatch.setattr(fast_svc, "compiled", lambda: None)
    assert not fits_in_threads(FastLinearSVC(), X, {})
    assert not isinstance(alone(inside), nullcontext)  # liblinear's, which threads share


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_as_a_local_classifier(n_jobs):
    X, target = wide_problem(n_classes=6)
    y = np.column_stack([target // 3, target])
    weight = np.linspace(1, 2, len(y))
    for given in ({}, {"sample_weight": weight}):
        model = LocalClassifierPerParentNode(
            FastLinearSVC(random_state=0), n_jobs=n_jobs, calibration="joint", temperature=0.5
        ).fit(X, y, **given)
        same = LocalClassifierPerParentNode(
            LinearSVC(dual=True, tol=1e-5, random_state=0), calibration="joint", temperature=0.5
        ).fit(X, y, **given)
        np.testing.assert_array_equal(model.predict(X), same.predict(X))
        np.testing.assert_allclose(
            model.predict_node_proba(X), same.predict_node_proba(X), atol=0.05
        )
        top = model.local_classifiers_[()]
        assert type(top) is FastLinearSVC
        assert top.n_features_in_ == N_FEATURES


# -- compiled ----------------------------------------------------------------------------------


@pytest.fixture
def numba():
    return pytest.importorskip("numba")


def listed_checks():
    """The checks that scikit-learn expects ``LinearSVC`` to fail, too."""
    reason = "rows of weight 2 and two equal rows are visited in other orders"
    return dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        reason,
    )


def assert_passes_the_checks(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = check_estimator(
            model, expected_failed_checks=listed_checks(), on_fail=None, on_skip=None
        )
    assert {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"} == {}


def test_passes_the_checks_of_scikit_learn_by_liblinear():
    assert_passes_the_checks(FastLinearSVC(random_state=0, solver="liblinear"))


@pytest.mark.heavy
@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("params", [{}, {"loss": "hinge", "tol": 1e-4}], ids=str)
def test_passes_the_checks_of_scikit_learn(params):
    assert has_own_generator(FastLinearSVC())
    assert_passes_the_checks(FastLinearSVC(random_state=0, **params))


@pytest.mark.heavy
@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("n_classes", [2, 3, 11])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_what_is_compiled_does_as_the_plain_code(n_classes, loss, monkeypatch):
    X, target = problem(4 * n_classes, n_classes, n_features=25)
    model = FastLinearSVC(loss=loss, tol=1e-2, random_state=0)
    quick = clone(model).fit(X, target)
    monkeypatch.setattr(fast_svc, "compiled", lambda: solve_problems)
    plain = clone(model).fit(X, target)
    np.testing.assert_allclose(quick.coef_, plain.coef_, atol=1e-3)
    np.testing.assert_allclose(quick.intercept_, plain.intercept_, atol=1e-3)


@pytest.mark.heavy
@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("n_classes", [2, 5, 70])
@pytest.mark.parametrize("tol", [0.1, 1e-4])
def test_compiled_it_is_packed_to_the_last_bit(n_classes, tol):
    X, target = wide_problem(400, n_classes)
    whole = FastLinearSVC(tol=tol, random_state=0).fit(X, target)
    narrow = clone(whole)
    packed = fit_packed(narrow, X, lambda rows: narrow.fit(rows, target))
    np.testing.assert_array_equal(widened(packed).coef_.toarray(), whole.coef_)
    np.testing.assert_array_equal(widened(packed).intercept_, whole.intercept_)


@pytest.mark.heavy
@pytest.mark.usefixtures("numba")
def test_threads_do_not_matter():
    sets = [problem(300, 5, seed) for seed in range(12)]

    def fit(data):
        return FastLinearSVC(random_state=0).fit(*data).coef_

    alone = [fit(data) for data in sets]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fit, sets))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.heavy
@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("tol", [0.1, 1e-4])
def test_the_objective_is_no_higher_than_that_of_linear_svc(seed, scale, tol):
    X, target = problem(300, 6, seed, n_features=100)
    columns = scale ** np.random.default_rng(seed).uniform(-1, 1, 100)
    X = sp.csr_matrix(X @ sp.diags(columns))
    params = {"tol": tol, "random_state": 0, "max_iter": 20_000}
    mine = FastLinearSVC(**params).fit(X, target)
    theirs = LinearSVC(dual=True, **params).fit(X, target)
    for k in range(6):
        sign = np.where(target == k, 1, -1)
        found, expected = (
            objective(m.coef_[k].astype(float), m.intercept_[k], X, sign, True, 1.0)
            for m in (mine, theirs)
        )
        assert found <= expected * (1 + 0.05 * tol) + 1e-9


@pytest.mark.heavy
@pytest.mark.usefixtures("numba")
def test_machine_code_is_kept_where_a_folder_can_be_written(tmp_path):
    assert run("import sys\n" + FIT, NUMBA_CACHE_DIR=str(tmp_path)).startswith("numba")
    assert list(tmp_path.rglob("*.nbi"))


@pytest.mark.heavy
@pytest.mark.usefixtures("numba")
def test_fits_where_no_folder_can_be_written():
    program = (
        "import sys\nfrom numba.core import caching\ncaching.CacheImpl._locator_classes = []\n"
    )
    assert run(program + FIT) == "numba [0, 1, 2, 0, 1, 2] True"


def test_the_compiled_solver_is_made_once():
    assert compiled() is compiled()
