"""Files of models with packed classifiers: about as large as the weights, with 32 bits each."""

import copy
import pickle
import warnings
from zipfile import ZIP_DEFLATED

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from estimator_classes import ESTIMATOR_CLASSES
from packed_helpers import (
    N_FEATURES,
    NEW,
    SGD,
    SVC,
    X,
    Y,
    assert_same,
    end_early,
    make_rows,
    packed_in,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

import hiclass
from hiclass import (
    EnsembleClassifier,
    FastLinearSVC,
    FlatClassifier,
    LocalClassifierPerParentNode,
    explain,
    to_onnx,
)
from hiclass._engine.packed import dense_narrow

ESTIMATORS = {
    "svc": SVC,
    "sgd": SGD,
    "average": SGDClassifier(loss="log_loss", max_iter=5, tol=None, average=True, random_state=0),
    "perceptron": Perceptron(random_state=0),
    "logistic": LogisticRegression(),
    "ridge": RidgeClassifier(),
    "pipeline": make_pipeline(MaxAbsScaler(), SGD),
    "scaled": make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
    "calibrated": CalibratedClassifierCV(SVC, cv=2),
}
#: By how much probabilities may change when a model is saved; the documentation says so.
PROMISED = 1e-6

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(name="svc", estimator_class=LocalClassifierPerParentNode, rows=X, y=Y, **params):
    """A model with probabilities."""
    estimator = ESTIMATORS[name]
    calibration = None if hasattr(estimator, "predict_proba") else "temperature"
    params = {"calibration": calibration, "temperature": 1.0 if calibration else None} | params
    return estimator_class(estimator, **params).fit(rows, y)


def through_skops(model, folder, **params):
    file = folder / "model.skops"
    skops.io.dump(model, file, **params)
    inside = hiclass.trusted_types(model)[len(hiclass.TRUSTED_TYPES) :]
    assert all(kind.startswith("sklearn.calibration.") for kind in inside)
    return hiclass.load(file, trusted=inside)


def through_joblib(model, folder, mmap_mode=None):
    file = (
        folder / f"{len(list(folder.iterdir()))}.joblib"
    )  # what is mapped must not be overwritten
    joblib.dump(model, file)
    return joblib.load(file, mmap_mode=mmap_mode)


WAYS = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "joblib": through_joblib,
    "mapped": lambda model, folder: through_joblib(model, folder, "r"),
    "skops": through_skops,
    "compressed": lambda model, folder: through_skops(model, folder, compression=ZIP_DEFLATED),
}


# -- there and back --------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize("name", ESTIMATORS)
def test_probabilities_change_by_less_than_promised(name, way, tmp_path):
    model = fitted(name, y=end_early(Y))
    back = way(model, tmp_path)
    assert len(packed_in(back)) == len(packed_in(model)) > 0
    for rows in (NEW, NEW.toarray(), NEW.astype(np.float32), NEW[:1]):
        assert_same(back, model, rows, atol=PROMISED)


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
@pytest.mark.parametrize("min_coef", [0, 0.2])
def test_every_estimator_comes_back(estimator_class, min_coef, way, tmp_path):
    model = fitted(estimator_class=estimator_class, y=end_early(Y), min_coef=min_coef)
    back = way(model, tmp_path)
    assert_same(back, model, atol=PROMISED)
    assert back.get_params()["min_coef"] == min_coef
    for mine, theirs in zip(packed_in(back), packed_in(model), strict=True):
        np.testing.assert_array_equal(mine.columns, theirs.columns)
        assert mine.columns.dtype == theirs.columns.dtype == np.int32
    for key, mine in back.local_classifiers_.items():
        theirs = model.local_classifiers_[key]
        assert mine.n_features_in_ == N_FEATURES
        assert mine.coef_.dtype == np.float64
        assert vars(mine).keys() == vars(theirs).keys()
        np.testing.assert_allclose(mine.coef_.toarray(), theirs.coef_.toarray(), rtol=1e-7)
        np.testing.assert_array_equal(mine.intercept_, theirs.intercept_)
        np.testing.assert_array_equal(mine.classes_, theirs.classes_)


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
def test_ensembles_sets_and_restricted_models_come_back(way, tmp_path):
    members = [("local", LocalClassifierPerParentNode(SGD)), ("flat", FlatClassifier(SGD))]
    model = EnsembleClassifier(members).fit(X, Y)
    assert_same(way(model, tmp_path), model, atol=PROMISED)
    restricted = fitted("sgd").restricted_to([("a0",), ("a1", "b0")])
    assert_same(way(restricted, tmp_path), restricted, atol=PROMISED)
    several = [[tuple(path), tuple(Y[i // 2])] for i, path in enumerate(Y)]
    sets = LocalClassifierPerParentNode(SGD, multi_label=True).fit(X, several)
    back = way(sets, tmp_path)
    proba = sets.predict_node_proba(NEW)
    np.testing.assert_allclose(back.predict_node_proba(NEW), proba, atol=PROMISED)


@pytest.mark.parametrize("min_coef", [0, 0.2])
def test_what_was_saved_once_does_not_change_any_more(min_coef, tmp_path):
    once = through_joblib(fitted(min_coef=min_coef), tmp_path, "r")
    for name, way in WAYS.items():
        # skops does not trust memory maps by itself.
        first = through_joblib(once, tmp_path) if name in ("skops", "compressed") else once
        again = way(first, tmp_path)
        assert_same(again, once, atol=1e-15)
        for mine, theirs in zip(packed_in(again), packed_in(once), strict=True):
            np.testing.assert_array_equal(dense_narrow(mine).coef_, dense_narrow(theirs).coef_)


def test_copies_are_exact_and_independent():
    model = fitted(min_coef=0.2)
    for duplicate in (copy.deepcopy(model), copy.copy(model)):
        assert_same(duplicate, model)
    duplicate = copy.deepcopy(model)
    for mine, theirs in zip(packed_in(duplicate), packed_in(model), strict=True):
        assert not np.shares_memory(mine.estimator.intercept_, theirs.estimator.intercept_)


def test_classifiers_of_several_types_in_one_model(tmp_path):
    def choose(path):
        return [SVC, RidgeClassifier(), make_pipeline(MaxAbsScaler(), SVC), SVC][len(path)]

    model = LocalClassifierPerParentNode(choose, calibration="temperature", temperature=1.0)
    model.fit(X, Y)
    model.set_params(local_classifier=None)  # skops saves no functions
    for way in WAYS.values():
        back = way(model, tmp_path)
        assert_same(back, model, atol=PROMISED)
        kinds = [type(c).__name__ for c in model.local_classifiers_.values()]
        assert [type(c).__name__ for c in back.local_classifiers_.values()] == kinds
        assert len(set(kinds)) == 3


def test_parameters_that_differ_by_node_come_back(tmp_path):
    model = LocalClassifierPerParentNode(
        lambda path: LinearSVC(C=2.0 ** len(path), dual=True, class_weight={"a0": 2.0 + len(path)}),
        random_state=0,
    ).fit(X, Y)
    model.set_params(local_classifier=None)
    for way in WAYS.values():
        back = way(model, tmp_path)
        for key, theirs in model.local_classifiers_.items():
            mine = back.local_classifiers_[key]
            assert mine.get_params() == theirs.get_params()
            assert type(mine.random_state) is int
            assert type(mine.n_iter_) is int


# -- 64 bits where 32 are not enough ---------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1, 1e3, 1e6])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_promise_holds_for_rows_of_any_size(name, scale):
    estimator = ESTIMATORS[name]
    needs = not hasattr(estimator, "predict_proba")
    for temperature in (0.1, 10.0) if needs else (None,):
        model = LocalClassifierPerParentNode(
            estimator, calibration="temperature" if needs else None, temperature=temperature
        )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(scale * X, Y)
                proba = model.predict_node_proba(scale * NEW)
            except ValueError:  # of SGD, whose weights are no longer finite
                continue
            back = pickle.loads(pickle.dumps(model)).predict_node_proba(scale * NEW)
        np.testing.assert_allclose(back, proba, atol=PROMISED)


def test_a_column_of_large_values_keeps_all_bits():
    """Numbers that are not scaled: two large products that cancel out are a small score."""
    rng = np.random.default_rng(0)
    large = sp.csr_matrix(1e5 * rng.random((X.shape[0], 1)))
    rows = sp.hstack([X, large]).tocsr()
    model = LocalClassifierPerParentNode(LogisticRegression(max_iter=30)).fit(rows, Y)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_node_proba(rows), back.predict_node_proba(rows))


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
def test_large_weights_keep_their_bits(way, tmp_path):
    """Those of rows that are not scaled: scores are so large that rounding would show."""
    rows, new = 1000 * X, 1000 * NEW
    model = fitted("perceptron", rows=rows)
    assert max(np.abs(p.estimator.coef_).max() for p in packed_in(model)) > 1000
    assert_same(way(model, tmp_path), model, new)


def test_weights_of_32_bits_stay_as_they_are(tmp_path):
    rows, new = X.astype(np.float32), NEW.astype(np.float32)
    model = fitted("sgd", rows=rows)
    assert {p.estimator.coef_.dtype for p in packed_in(model)} == {np.dtype(np.float32)}
    for way in WAYS.values():
        back = way(model, tmp_path)
        assert_same(back, model, new)
        back.partial_fit(rows, Y)


# -- sizes -----------------------------------------------------------------------------------------


def n_weights(model):
    return sum(p.estimator.coef_.size for p in packed_in(model))


def test_a_file_is_about_as_large_as_its_weights(tmp_path):
    rng = np.random.default_rng(0)
    rows = sp.random(2000, 20_000, density=0.001, random_state=0, format="csr")
    y = [[f"a{i % 5}", f"b{j}"] for i, j in enumerate(rng.integers(0, 10, 2000))]
    model = LocalClassifierPerParentNode(SVC).fit(rows, y)
    assert len(packed_in(model)) == 6
    expected = 4 * n_weights(model)
    joblib.dump(model, tmp_path / "model.joblib")
    skops.io.dump(model, tmp_path / "model.skops")
    for size in (
        len(pickle.dumps(model)),
        (tmp_path / "model.joblib").stat().st_size,
        (tmp_path / "model.skops").stat().st_size,
    ):
        assert expected < size < 1.2 * expected + 100_000


def test_many_small_classifiers_take_no_more_than_one_block():
    """A classifier in a pickle by itself takes over 1,000 bytes besides its weights."""
    rows, y = make_rows(1200)
    words = [[*path, f"d{i % 40}"] for i, path in enumerate(y)]
    model = LocalClassifierPerParentNode(SVC).fit(rows, words)
    classifiers = packed_in(model)
    assert len(classifiers) == 22
    weights = 4 * n_weights(model) + sum(2 * len(p.columns) for p in classifiers)
    alone = LocalClassifierPerParentNode(SVC).fit(rows[:20], [path[:1] for path in words[:20]])
    assert len(pickle.dumps(model)) - weights < len(pickle.dumps(alone)) + 22 * 300 + 20_000


@pytest.mark.parametrize("rows", [X, X.toarray()], ids=["sparse", "dense"])
@pytest.mark.parametrize("min_coef", [0.1, 0.4])
def test_dropped_weights_take_no_room(min_coef, rows):
    sizes = [len(pickle.dumps(fitted(rows=rows, min_coef=m))) for m in (0, min_coef)]
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize("min_coef", [0.05, 0.3])
@pytest.mark.parametrize("rows", [X, X.toarray()], ids=["sparse", "dense"])
def test_files_have_only_the_weights_that_are_left_with_32_bits(rows, min_coef, tmp_path):
    """Dense ones with a bit for every weight, sparse ones with a byte for the class."""
    model = LocalClassifierPerParentNode(FastLinearSVC(random_state=0), min_coef=min_coef)
    model.fit(rows, Y)
    expected = 5_000
    for packed in packed_in(model):
        weights = packed.estimator.coef_.astype(np.float32)
        if sp.issparse(weights):
            expected += 5 * weights.nnz + 2 * len(packed.columns)
            weights = weights.astype(np.float64)
        else:
            expected += 4 * np.count_nonzero(weights) + weights.size / 8
        packed.estimator.coef_ = weights
        expected += 2 * len(packed.columns) + 200
    assert len(pickle.dumps(model._models.__getstate__()["classifiers"])) < expected
    for way in WAYS.values():
        back = way(model, tmp_path)
        for mine, theirs in zip(packed_in(back), packed_in(model), strict=True):
            np.testing.assert_array_equal(
                *(sp.csr_matrix(p.estimator.coef_).toarray() for p in (mine, theirs))
            )
            assert mine.estimator.coef_.dtype == theirs.estimator.coef_.dtype
            assert mine.dropped


# -- memory maps -----------------------------------------------------------------------------------


def is_mapped(array):
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


@pytest.mark.parametrize(
    ("name", "dtype"), [("svc", np.float32), ("pipeline", np.float64), ("calibrated", np.float64)]
)
def test_weights_stay_in_a_file_that_is_mapped(name, dtype, tmp_path):
    """Behind a scaler, or before a calibration that may be steep, with all bits."""
    model = fitted(name)
    back = through_joblib(model, tmp_path, "r")
    found = 0
    for packed in packed_in(back):
        parts = [packed.estimator]
        if name == "pipeline":
            parts = [packed.estimator[-1]]
        elif name == "calibrated":
            parts = [pair.estimator for pair in packed.estimator.calibrated_classifiers_]
        for part in parts:
            assert is_mapped(part.coef_)
            assert part.coef_.dtype == dtype
            assert not part.coef_.flags.writeable
            found += 1
    assert found >= 10
    names = [f"word {j}" for j in range(N_FEATURES)]
    if name != "calibrated":
        assert explain(back, NEW[0], feature_names=names).to_dict()
    with joblib.parallel_config(backend="threading"):
        assert_same(back.set_params(n_jobs=2), model, atol=PROMISED)


def test_a_mapped_model_goes_on_learning(tmp_path):
    model = fitted("sgd")
    back = through_joblib(model, tmp_path, "r")
    rows, y = make_rows(48, seed=2)
    for one in (model, back):
        one.partial_fit(rows, y)
    np.testing.assert_allclose(
        back.predict_node_proba(NEW), model.predict_node_proba(NEW), atol=1e-5
    )


# -- ONNX ------------------------------------------------------------------------------------------


def run_onnx(model, rows):
    import onnxruntime

    content = to_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    outputs = session.run(["labels", "node_probabilities"], {"X": rows.toarray()})
    return content, *outputs


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["svc", "sgd", "logistic", "pipeline", "scaled", "calibrated"])
@pytest.mark.parametrize("estimator_class", [LocalClassifierPerParentNode, FlatClassifier])
@pytest.mark.parametrize("min_coef", [0, 0.2])
def test_onnx(estimator_class, name, min_coef):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    y = Y if estimator_class is FlatClassifier else end_early(Y)
    model = fitted(name, estimator_class, y=y, min_coef=min_coef)
    assert packed_in(model)
    _, labels, proba = run_onnx(model, NEW)
    np.testing.assert_allclose(proba, model.predict_node_proba(NEW), atol=1e-5)
    assert labels.tolist() == model.predict(NEW).tolist()


@pytest.mark.heavy
def test_onnx_of_a_mapped_model(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    for name in ("svc", "pipeline"):
        model = through_joblib(fitted(name), tmp_path, "r")
        _, _, proba = run_onnx(model, NEW)
        np.testing.assert_allclose(proba, model.predict_node_proba(NEW), atol=1e-5)


@pytest.mark.heavy
def test_an_onnx_graph_has_the_weights_that_are_kept():
    pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    wide = sp.hstack([X, sp.csr_matrix((X.shape[0], 20_000))]).tocsr()
    model = fitted(rows=wide)
    content, _, proba = run_onnx(model, wide[:5])
    assert len(content) < 10 * n_weights(model) + 40_000
    np.testing.assert_allclose(proba, model.predict_node_proba(wide[:5]), atol=1e-9)


@pytest.mark.parametrize("tol", [0.1, 1e-4])
def test_weights_of_fast_svcs_keep_their_bits(tol, tmp_path):
    """They have as many as they need: rounded ones would be multiplied in single precision."""
    params = {"calibration": "temperature", "temperature": 1.0}
    svc = FastLinearSVC(tol=tol, random_state=0, max_iter=10_000)
    model = LocalClassifierPerParentNode(svc, **params).fit(X, Y)
    joblib.dump(model, tmp_path / "model.joblib")
    for mode in (None, "r"):
        again = joblib.load(tmp_path / "model.joblib", mmap_mode=mode)
        for mine, theirs in zip(packed_in(again), packed_in(model), strict=True):
            assert mine.estimator.coef_.dtype == theirs.estimator.coef_.dtype
        np.testing.assert_allclose(
            again.predict_node_proba(NEW), model.predict_node_proba(NEW), rtol=0, atol=1e-12
        )
