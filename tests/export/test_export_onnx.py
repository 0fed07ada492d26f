"""ONNX Runtime predicts what Python predicts."""

import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import hiclass
from hiclass import (
    ConformalClassifier,
    FastLinearSVC,
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerParentNode,
    TableFeatures,
    to_onnx,
)
from hiclass._export import onnx, onnx_steps
from hiclass._inference.decodings import DECODINGS
from hiclass._problems.strategies import STRATEGIES

# All of them: `make test-all` measures how much of the module they run.
pytestmark = pytest.mark.heavy

TOLERANCE = 1e-5
CONVERTIBLE = pytest.mark.parametrize(
    "cls", [LocalClassifierPerParentNode, FlatClassifier], ids=["per parent node", "flat"]
)


def start(model, **options):
    ort = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    proto = to_onnx(model, **options)
    return ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


def outputs(session, X):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X}), strict=True))


def run(model, X, **options):
    return outputs(start(model, **options), X)


def assert_same(model, X, **options):
    """All four outputs are those of Python; returns them."""
    given = X.astype(options.get("dtype", np.float64))
    out = run(model, given, **options)
    proba = model.predict_node_proba(X)
    assert out["node_probabilities"].dtype == np.float64
    np.testing.assert_allclose(out["node_probabilities"], proba, rtol=0, atol=TOLERANCE)
    nodes = model._decide(X).nodes
    np.testing.assert_array_equal(out["node"], nodes)
    confidence = model.predict_confidence(X)
    np.testing.assert_allclose(out["confidence"], confidence, rtol=0, atol=TOLERANCE)
    labels = model.predict(X)
    assert out["labels"].shape == labels.shape
    return out


def wide(animals, n_rows=60):
    """Rows between the classes too, so that predictions are not all certain."""
    X, _ = animals
    rng = np.random.default_rng(1)
    mixed = (X[rng.integers(len(X), size=n_rows)] + X[rng.integers(len(X), size=n_rows)]) / 2
    # What 32 bits can hold, so that no tree sees another number.
    return np.vstack([X, mixed]).astype(np.float32).astype(np.float64)


ESTIMATORS = {
    "logistic": LogisticRegression(),
    "no intercept": LogisticRegression(fit_intercept=False),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "scaled twice": make_pipeline(
        StandardScaler(with_mean=False), StandardScaler(with_std=False), LogisticRegression()
    ),
    "between 0 and 1": make_pipeline(MinMaxScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(n_estimators=5, random_state=0),
    "extra trees": ExtraTreesClassifier(n_estimators=5, random_state=0),
    "tree": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)),
    "naive Bayes": GaussianNB(),
    "neighbours": KNeighborsClassifier(3),
    "discriminants": LinearDiscriminantAnalysis(),
}


@CONVERTIBLE
@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=list(ESTIMATORS))
def test_every_kind_of_local_classifier(cls, estimator, animals):
    model = cls(estimator).fit(*animals)
    out = assert_same(model, wide(animals))
    assert out["labels"].tolist() == model.predict(wide(animals)).tolist()


def assert_fits_no_rows(model, n_features, **options):
    """Without rows every output has its usual type and shape, with a length of 0."""
    rows = np.zeros((1, n_features), options.get("dtype", np.float64))
    session = start(model, **options)
    assert_same_without_rows(outputs(session, rows), outputs(session, rows[:0]))


def assert_same_without_rows(one, none):
    assert {name: (v.dtype, v.shape[1:]) for name, v in none.items()} == {
        name: (v.dtype, v.shape[1:]) for name, v in one.items()
    }
    assert {len(values) for values in none.values()} == {0}


@CONVERTIBLE
@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=list(ESTIMATORS))
def test_no_rows_give_no_predictions(cls, estimator, animals):
    model = cls(estimator).fit(*animals)
    assert_fits_no_rows(model, animals[0].shape[1])


@CONVERTIBLE
@pytest.mark.parametrize(
    "options",
    [
        {"decoding": "best_path", "min_confidence": 0.5},
        {"decoding": "expected_f1", "expected_f1": 0.8},
        {"calibration": "temperature", "temperature": 2.0, "decoding": "best_path"},
        {"calibration": "joint", "temperature": 2.0, "decoding": "best_path"},
    ],
    ids=["best path", "expected F1", "temperature", "joint"],
)
def test_no_rows_with_every_decision(cls, options, animals):
    model = cls(LogisticRegression(), **options).fit(*animals)
    assert_fits_no_rows(model, animals[0].shape[1], dtype=np.float32)


def test_no_rows_where_nothing_is_to_decide():
    model = LocalClassifierPerParentNode().fit([[0.0], [1.0]], [["a", "b"], ["a", "b"]])
    assert_fits_no_rows(model, 1)


def test_the_graph_has_no_labels_of_local_classifiers(animals):
    pytest.importorskip("skl2onnx")
    proto = to_onnx(FlatClassifier(GaussianNB()).fit(*animals))
    assert "ArrayFeatureExtractor" not in {node.op_type for node in proto.graph.node}


def union(*parts, **options):
    return FeatureUnion([(str(i), part) for i, part in enumerate(parts)], **options)


SCALED = StandardScaler().fit(np.random.default_rng(0).normal(size=(50, 2)))

#: Transformers of two columns, of which the second has holes where "missing" is in the name.
TRANSFORMERS = {
    "missing": SimpleImputer(),
    "missing, with flags": SimpleImputer(strategy="median", add_indicator=True),
    "missing, as a constant": SimpleImputer(strategy="constant", fill_value=0.3),
    "missing, in a column": ColumnTransformer(
        [("filled", make_pipeline(SimpleImputer(), MinMaxScaler()), [1])], remainder="passthrough"
    ),
    "another value is absent": SimpleImputer(missing_values=0.0, strategy="most_frequent"),
    "codes": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "codes of known values": OrdinalEncoder(),
    "one hot": OneHotEncoder(handle_unknown="ignore"),
    "one hot, known values": OneHotEncoder(),
    "one hot less the first": OneHotEncoder(drop="first"),
    "above a threshold": Binarizer(threshold=2),
    "quantiles": QuantileTransformer(n_quantiles=20),
    "frozen": FrozenEstimator(SCALED),
    "frozen pipeline": FrozenEstimator(make_pipeline(SCALED, MinMaxScaler().fit([[0, 0], [2, 3]]))),
    "frozen in a union": union(FrozenEstimator(SCALED), "passthrough", "drop"),
    "weights": union(SCALED, MinMaxScaler(), transformer_weights={"1": 0.5}),
    "columns by mask": ColumnTransformer(
        [("a", MinMaxScaler(), [False, True]), ("b", FrozenEstimator(SCALED), slice(0, 2))],
        transformer_weights={"a": 3.0},
    ),
    "columns from the end": ColumnTransformer(
        [("a", MinMaxScaler(), [-1]), ("gone", "drop", [0]), ("none", StandardScaler(), [])]
    ),
}


@pytest.mark.parametrize("where", ["before the model", "in the local classifiers"])
@pytest.mark.parametrize("last", [LogisticRegression(), DecisionTreeClassifier(random_state=0)])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_every_transformer_before_or_in_a_model(name, last, where):
    # All values at all nodes, so that none is unknown to a local encoder.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(160, 2)).astype(float)
    y = rng.choice(["aa", "ab", "ba", "bb"], size=160, p=[0.4, 0.2, 0.1, 0.3])
    y = [[path[0], path] for path in y.tolist()]
    if "missing" in name:
        X[::3, 1] = np.nan
    step = TRANSFORMERS[name]
    if where == "before the model":
        model = make_pipeline(step, LocalClassifierPerParentNode(last)).fit(X, y)
    else:
        model = LocalClassifierPerParentNode(make_pipeline(step, last)).fit(X, y)
    session = start(model)
    out = outputs(session, X)
    assert out["labels"].tolist() == model.predict(X).tolist()
    proba = hiclass.predict_node_proba(model, X)
    np.testing.assert_allclose(out["node_probabilities"], proba, rtol=0, atol=TOLERANCE)
    assert_same_without_rows(out, outputs(session, X[:0]))


@pytest.mark.parametrize("encoder", [OneHotEncoder, OrdinalEncoder])
def test_values_between_the_known_ones_are_unknown_to_encoders(encoder):
    X = np.repeat([[0.5], [1.0], [1.25], [2.0]], 5, axis=0)
    y = np.repeat(["a", "b", "c", "d"], 5)
    unknown = {OneHotEncoder: {"handle_unknown": "ignore"}, OrdinalEncoder: {
        "handle_unknown": "use_encoded_value", "unknown_value": -1}}[encoder]  # fmt: skip
    rows = np.array([[0.5], [1.25], [1.1], [2.9], [-7.0]])
    model = make_pipeline(encoder(**unknown), FlatClassifier()).fit(X, y)
    expected = hiclass.predict_node_proba(model, rows)
    np.testing.assert_allclose(run(model, rows)["node_probabilities"], expected, atol=TOLERANCE)
    # Where Python refuses the rows, the graph has no probabilities for them.
    strict = make_pipeline(encoder(), FlatClassifier()).fit(X, y)
    proba = run(strict, rows)["node_probabilities"][:, 1:]
    assert np.isnan(proba).all(axis=1).tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("where", ["before the model", "in the local classifiers"])
@pytest.mark.parametrize(
    "columns",
    [
        [("a", MinMaxScaler(), ["wings"]), ("b", StandardScaler(), ["legs", "wings"])],
        [("a", MinMaxScaler(), slice("wings", "tail"))],
        [("a", MinMaxScaler(), lambda frame: frame.columns[1:])],
    ],
    ids=["list", "slice", "function"],
)
@pytest.mark.parametrize("remainder", ["drop", "passthrough", StandardScaler()], ids=str)
def test_columns_that_are_chosen_by_name(columns, remainder, where, animals):
    X, y = wide(animals)[:, [0, 1, 1]], wide_targets(animals)
    X[:, 2] *= 0.5
    frame = pd.DataFrame(X, columns=["legs", "wings", "tail"])
    step = ColumnTransformer(columns, remainder=remainder)
    if where == "before the model":
        model = make_pipeline(step, LocalClassifierPerParentNode()).fit(frame, y)
    else:
        estimator = make_pipeline(step, LogisticRegression())
        model = LocalClassifierPerParentNode(estimator).fit(frame, y)
    expected = hiclass.predict_node_proba(model, frame)
    np.testing.assert_allclose(run(model, X)["node_probabilities"], expected, atol=TOLERANCE)


def wide_targets(animals):
    return list(animals[1]) + [animals[1][0]] * 60


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (OneHotEncoder(min_frequency=0.3), "OneHotEncoder groups infrequent categories"),
        (OrdinalEncoder(), "OrdinalEncoder has a missing value as a category"),
        (KNNImputer(), "KNNImputer"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_transformers_without_a_graph_are_refused_when_they_are_converted(step, reason, animals):
    pytest.importorskip("skl2onnx")
    X, y = np.round(animals[0][:, :2]), animals[1]
    if not isinstance(step, OneHotEncoder):
        X[::3, 1] = np.nan
    forest = RandomForestClassifier(2, random_state=0)
    model = make_pipeline(step, LocalClassifierPerParentNode(forest)).fit(X, y)
    with pytest.raises(ValueError, match=f"before the model, cannot be converted.*{reason}"):
        to_onnx(model)


def test_categories_that_are_texts_are_refused(animals):
    frame = pd.DataFrame({"colour": ["red", "blue"] * 18, "legs": animals[0][:, 0]})
    columns = ColumnTransformer([("a", OneHotEncoder(), ["colour"])], remainder="passthrough")
    model = make_pipeline(columns, FlatClassifier()).fit(frame, animals[1])
    with pytest.raises(ValueError, match="OneHotEncoder encodes values that are not numbers"):
        to_onnx(model)


def test_what_onnx_runtime_cannot_load_is_refused_with_its_reason(monkeypatch, animals):
    pytest.importorskip("onnxruntime")
    # As skl2onnx writes it: ONNX Runtime has no Imputer of 64 bits.
    monkeypatch.delitem(onnx_steps._BY_HAND, SimpleImputer)
    model = make_pipeline(SimpleImputer(), LocalClassifierPerParentNode()).fit(*animals)
    message = "SimpleImputer, before the model, cannot be converted to ONNX .*for Imputer"
    with pytest.raises(ValueError, match=message):
        to_onnx(model)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # to write a file it need not be there
    assert "Imputer" in {node.op_type for node in to_onnx(model).graph.node}


def test_a_search_as_local_classifier_is_the_model_that_it_chose(animals):
    estimator = GridSearchCV(LogisticRegression(), {"C": [0.5, 5.0]}, cv=2)
    y = [path[0] for path in animals[1]]
    assert_same(LocalClassifierPerParentNode(estimator).fit(animals[0], y), wide(animals))


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), RandomForestClassifier(3, random_state=0)]
)
@pytest.mark.parametrize(
    "before",
    [
        [StandardScaler()],
        [MinMaxScaler(), "passthrough", StandardScaler()],
        [ColumnTransformer([("one", MinMaxScaler(), [1]), ("both", StandardScaler(), [0, 1])])],
    ],
    ids=["scaler", "two", "columns"],
)
def test_transformers_before_the_model_are_in_the_graph(before, estimator, animals):
    X, y = animals
    model = make_pipeline(*before, LocalClassifierPerParentNode(estimator)).fit(X, y)
    rows = wide(animals)
    for wrapped in (model, FrozenEstimator(model), make_pipeline(model)):
        out = run(wrapped, rows)
        assert out["labels"].tolist() == model.predict(rows).tolist()
        proba = hiclass.predict_node_proba(model, rows)
        np.testing.assert_allclose(out["node_probabilities"], proba, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("missing", [False, True])
def test_the_features_that_the_estimator_to_start_with_makes_of_numbers(missing, animals):
    X, y = animals
    rows = wide(animals)
    if missing:
        X = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
        rows[::5, 0] = np.nan
    model = make_pipeline(TableFeatures(), FlatClassifier()).fit(X, y)
    out = run(model, rows)
    proba = hiclass.predict_node_proba(model, rows)
    np.testing.assert_allclose(out["node_probabilities"], proba, rtol=0, atol=TOLERANCE)


def test_features_are_those_that_the_first_step_reads(animals):
    X, y = animals
    frame = pd.DataFrame(X[:, :2], columns=["legs", "wings"])
    columns = ColumnTransformer([("a", StandardScaler(), [0]), ("b", MinMaxScaler(), [0, 1])])
    model = make_pipeline(columns, FlatClassifier()).fit(frame, y)
    meta = {p.key: p.value for p in to_onnx(model).metadata_props}
    assert json.loads(meta["hiclass.features"]) == ["legs", "wings"]
    assert model[-1].n_features_in_ == 3


def test_transformers_that_cannot_be_converted_are_named(animals):
    X, y = animals
    own = FunctionTransformer(np.log1p)
    model = make_pipeline(StandardScaler(), own, FlatClassifier()).fit(np.abs(X), y)
    with pytest.raises(ValueError, match="StandardScaler > FunctionTransformer, before the model"):
        to_onnx(model)
    texts = make_pipeline(TfidfVectorizer(), FlatClassifier()).fit(["a cat", "an owl"], [0, 1])
    with pytest.raises(ValueError, match="TfidfVectorizer was not fitted on a matrix"):
        to_onnx(texts)


def nested_pipelines(last):
    inner = make_pipeline(MinMaxScaler(), last)
    return [make_pipeline(StandardScaler(), inner), make_pipeline("passthrough", None, inner)]


@pytest.mark.parametrize("last", [LogisticRegression(), DecisionTreeClassifier(random_state=0)])
def test_all_steps_of_pipelines_within_pipelines_count(last, animals):
    X, y = animals
    # Far from the rows as they are, so that a step left out shows.
    for estimator in nested_pipelines(last):
        model = LocalClassifierPerParentNode(estimator).fit(1000 + 50 * X, y)
        assert_same(model, 1000 + 50 * wide(animals))


OPTIONS = [
    {},
    {"min_confidence": 0.7},
    {"min_confidence": np.float32(0.7)},
    {"min_confidence": [0.3, 0.9, 0.5]},
    {"min_confidence": {(): 0.2, ("Animal",): [0.9, 0.1, 0.8]}},
    {"decoding": "best_path"},
    {"decoding": "best_path", "min_confidence": 0.5},
    {"decoding": "expected_f1"},
    {"decoding": "expected_f1", "expected_f1": np.float32(0.6)},
    {"leaf_only": True},
    {"leaf_only": True, "decoding": "expected_f1"},
    {"calibration": "temperature"},
    {"calibration": "temperature", "decoding": "best_path", "min_confidence": 0.6},
    {"calibration": "joint"},
    {"calibration": "joint", "decoding": "expected_f1", "min_confidence": 0.3},
]


@CONVERTIBLE
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB()], ids=["linear", "not"])
def test_every_way_to_decide(cls, options, estimator, animals):
    if cls is FlatClassifier and options.get("decoding") == "best_path":
        options = {k: v for k, v in options.items() if k != "decoding"}  # it is the only way
    model = cls(estimator, **options).fit(*animals)
    X = wide(animals, 200)
    out = assert_same(model, X)
    assert len(np.unique(out["node"])) > 4


@CONVERTIBLE
@pytest.mark.parametrize(
    "estimator",
    [LinearSVC(), FastLinearSVC(), RidgeClassifier(), SGDClassifier(random_state=0)],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("calibration", ["temperature", "joint"])
def test_scores_of_linear_classifiers_are_calibrated(cls, estimator, calibration, animals):
    X, y = animals
    estimator = make_pipeline(StandardScaler(), estimator)
    assert_same(cls(estimator, calibration=calibration).fit(X, y), wide(animals))


@CONVERTIBLE
def test_coefficients_that_were_made_sparse(cls, animals):
    model = cls().fit(*animals)
    for classifier in model._models.classifiers.values():
        classifier.sparsify()
    assert_same(model, wide(animals))


def random_problem(seed, n_rows=150, n_features=4):
    """Paths of unequal length in a random tree, with single branches and stops, and rows."""
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(1, 6))
    y = [
        [
            f"{level}{rng.integers(1 + (level + seed) % 4)}"
            for level in range(rng.integers(1, depth + 1))
        ]
        for _ in range(n_rows)
    ]
    return rng.normal(size=(n_rows, n_features)), y


@pytest.mark.parametrize("seed", range(12))
def test_random_trees(seed):
    X, y = random_problem(seed)
    rng = np.random.default_rng(seed)
    cls = (LocalClassifierPerParentNode, FlatClassifier)[seed % 4 == 3]
    decoding = ("top_down", "best_path", "expected_f1")[seed % 3]
    if cls is FlatClassifier and decoding == "top_down":
        decoding = "best_path"
    model = cls(decoding=decoding, min_confidence=float(rng.choice([0, 0.3]))).fit(X, y)
    assert_same(model, X)


@CONVERTIBLE
def test_classes_without_rows_and_only_ways(cls):
    hierarchy = Hierarchy.from_paths(
        [["a", "b", "c"], ["a", "b", "d"], ["a", "e", "f"], ["g", "h", "i"], ["j"]]
    )
    y = [["a", "b", "c"], ["a", "e", "f"], ["g", "h", "i"]] * 10
    X = np.tile(np.eye(3), (10, 1))
    out = assert_same(cls(hierarchy=hierarchy).fit(X, y), X)
    assert out["node_probabilities"][:, hierarchy.find(("j",))].tolist() == [0] * 30


@CONVERTIBLE
def test_nothing_to_decide(cls):
    out = assert_same(cls().fit([[0.0], [1.0]], [["a", "b"], ["a", "b"]]), np.array([[5.0]]))
    assert out["labels"].tolist() == [["a", "b"]]
    assert out["confidence"].tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("y", "kind", "expected"),
    [
        ([[1, 10], [1, 11], [2, 20]], "i", [[1, 10], [1, 11], [2, 20]]),
        (["a", "b", "c"], "O", ["a", "b", "c"]),
        ([3, 5, 7], "i", [3, 5, 7]),
        ([["a", "x"], ["a"], ["b", "y"]], "O", [["a", "x"], ["a", ""], ["b", "y"]]),
        ([["a", None], ["b", "x"], ["b", "y"]], "O", [["a", ""], ["b", "x"], ["b", "y"]]),
        ([[1, 10], [1, None], [2, 20]], "O", [["1", "10"], ["1", ""], ["2", "20"]]),
        ([[1.0, 10.0], [1.0, np.nan], [2.0, 20.0]], "f", [[1, 10], [1, np.nan], [2, 20]]),
    ],
)
def test_labels_of_every_type(y, kind, expected):
    X = np.tile(8 * np.eye(3), (5, 1))
    out = assert_same(LocalClassifierPerParentNode().fit(X, y * 5), X)
    assert out["labels"].dtype.kind == kind
    np.testing.assert_array_equal(out["labels"][:3], np.array(expected, dtype=kind))


def test_a_confidence_of_1_is_a_number_like_any_other(animals):
    model = LocalClassifierPerParentNode(min_confidence=1).fit(*animals)
    assert assert_same(model, wide(animals))["labels"].tolist()[0] == ["", "", ""]


def test_labels_above_the_largest_signed_integer_do_not_wrap():
    X = np.tile(8 * np.eye(3), (5, 1))
    y = np.array([[1, 2**63], [1, 2**63 + 1], [2, 2**64 - 1]] * 5, dtype=np.uint64)
    model = LocalClassifierPerParentNode().fit(X, y)
    assert assert_same(model, X)["labels"].tolist() == y.tolist()


@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB()], ids=["linear", "not"])
def test_rows_of_32_bits(estimator, animals):
    X = wide(animals)
    model = LocalClassifierPerParentNode(estimator).fit(*animals)
    assert_same(model, X, dtype=np.float32)
    with pytest.raises(Exception, match="float"):
        run(model, X, dtype=np.float32)


def test_different_classifiers_at_different_nodes(animals):
    def choose(path):
        return RandomForestClassifier(5, random_state=0) if path else LogisticRegression()

    assert_same(LocalClassifierPerParentNode(choose).fit(*animals), wide(animals))


def test_a_model_that_learned_from_batches(animals):
    X, y = np.abs(animals[0]), animals[1]
    complete = [["a", "x"], ["a", "y"], ["b", "z"], ["b", "w"]] * 9
    model = LocalClassifierPerParentNode(MultinomialNB(), leaf_only=True)
    assert_same(model.partial_fit(X, complete), X)
    early = LocalClassifierPerParentNode(MultinomialNB())
    early.partial_fit(X[:12], y[:12], classes=Hierarchy.from_paths(y))
    with pytest.raises(ValueError, match="have no rows yet"):
        to_onnx(early)


def test_the_graph_of_a_thousand_leaves_is_small_and_says_what_it_is():
    y = [[f"a{i // 100}", f"b{i // 10}", f"c{i}"] for i in range(1000)]
    X = np.random.default_rng(0).normal(size=(1000, 8))
    model = LocalClassifierPerParentNode(LogisticRegression(max_iter=3, tol=1)).fit(X, y)
    assert_same(model, X[:20])
    proto = to_onnx(model)
    assert len(proto.graph.node) < 50
    # Coefficients, tables of the tree, and the text of the labels and paths.
    assert len(proto.SerializeToString()) < 400_000
    meta = {prop.key: prop.value for prop in proto.metadata_props}
    assert meta["hiclass.version"] == hiclass.__version__
    assert meta["hiclass.estimator"] == "LocalClassifierPerParentNode"
    assert (meta["hiclass.decoding"], meta["hiclass.min_confidence"]) == ("top_down", "0.0")
    assert "hiclass.expected_f1" not in meta
    proto = to_onnx(model.set_params(decoding="expected_f1", expected_f1=0.75))
    assert {p.key: p.value for p in proto.metadata_props}["hiclass.expected_f1"] == "0.75"
    paths = json.loads(meta["hiclass.paths"])
    assert paths == [list(model.hierarchy_.path(v)) for v in range(1111)]


@pytest.mark.parametrize(
    ("estimator", "options", "reason"),
    [
        (HistGradientBoostingClassifier(max_iter=2), {}, "cannot be converted to ONNX"),
        (
            GradientBoostingClassifier(n_estimators=2),
            {"calibration": "temperature"},
            "calibrated by its decision_function",
        ),
        (KNeighborsClassifier(3, weights="distance"), {}, "weights neighbours by their distance"),
        # Its parts predict with 32 and with 64 bits, which no ONNX Runtime multiplies.
        (
            CalibratedClassifierCV(DecisionTreeClassifier(), cv=2),
            {},
            "cannot be converted to ONNX .*inconsistent type",
        ),
        # Its trees would get rows of 64 bits, and decide otherwise.
        (
            BaggingClassifier(make_pipeline(StandardScaler(), DecisionTreeClassifier())),
            {},
            "cannot be converted to ONNX .*(elem type differs|inconsistent type)",
        ),
    ],
)
def test_a_local_classifier_that_cannot_be_converted_is_named(estimator, options, reason, animals):
    def choose(path):
        return estimator if path == ("Animal",) else LogisticRegression()

    pytest.importorskip("skl2onnx")
    model = LocalClassifierPerParentNode(choose, **options).fit(*animals)
    message = f"local classifier of Animal, a {type(estimator).__name__}, .*{reason}"
    with pytest.raises(ValueError, match=message):
        to_onnx(model)


def test_the_classifier_of_a_flat_model_is_named_too(animals):
    pytest.importorskip("skl2onnx")
    model = FlatClassifier(HistGradientBoostingClassifier(max_iter=2)).fit(*animals)
    with pytest.raises(ValueError, match="local classifier of all leaves, a HistGradient"):
        to_onnx(model)


def test_what_has_no_graph_is_refused_with_the_reason(animals):
    X, y = animals
    texts = LocalClassifierPerParentNode(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    fitted = LocalClassifierPerParentNode().fit(X, y)
    for model, error, message in (
        (LogisticRegression(), TypeError, "Only LocalClassifierPerParentNode and FlatClassifier"),
        (LocalClassifierPerLevel().fit(X, y), TypeError, "got LocalClassifierPerLevel"),
        (ConformalClassifier(fitted), TypeError, "got ConformalClassifier"),
        (FlatClassifier(), ValueError, "not fitted"),
        (fitted.restricted_to([("Animal",)]), ValueError, "restricted to some classes"),
        (fitted.adapted_to(prior={"Animal": 0.5}), ValueError, "adapted to other class shares"),
        (FlatClassifier(LinearSVC()).fit(X, y), ValueError, "has no probabilities"),
        (texts.fit(["red green", "blue black"], ["a", "b"]), ValueError, "not fitted on a matrix"),
    ):
        with pytest.raises(error, match=message):
            to_onnx(model)
    with pytest.raises(ValueError, match="dtype must be float64 or float32; got int64"):
        to_onnx(fitted, dtype=int)
    with pytest.raises(ValueError, match="cannot be converted to ONNX"):
        to_onnx(fitted.set_params(decoding=lambda proba, hierarchy: proba.argmax(axis=1)))
    with pytest.raises(ValueError, match="requires an expected F-score"):
        to_onnx(fitted.set_params(decoding="expected_f1"))


@CONVERTIBLE
def test_every_decoding_is_that_of_python_or_refused(cls, animals, monkeypatch):
    X, y = animals
    model = cls(expected_f1=0.8).fit(X, y)
    another = replace(DECODINGS["best_path"], name="another")
    monkeypatch.setitem(DECODINGS, "another", another)
    for name, decoding in DECODINGS.items():
        if cls is FlatClassifier and decoding.step_by_step:
            continue
        model.set_params(decoding=decoding)
        if name in onnx.DECISIONS:
            assert_same(model, X)
        else:
            with pytest.raises(ValueError, match="decoding='another' cannot be converted to ONNX"):
                to_onnx(model)
    # Neither is a namesake taken for what it is called.
    namesake = replace(another, name="best_path", fewest_labels=1)
    with pytest.raises(ValueError, match="decoding='best_path' cannot be converted"):
        to_onnx(model.set_params(decoding=namesake))


def test_a_strategy_without_a_graph_is_refused(animals):
    class PerLevel(LocalClassifierPerParentNode):
        _strategy = STRATEGIES["level"]

    with pytest.raises(ValueError, match="This PerLevel has the strategy 'level', which cannot"):
        to_onnx(PerLevel().fit(*animals))


@pytest.mark.parametrize("missing", ["onnx", "skl2onnx"])
def test_what_is_missing_says_how_to_get_it(missing, monkeypatch, animals):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError) as caught:
        to_onnx(FlatClassifier().fit(*animals))
    assert caught.value.__notes__ == ["Install them with: pip install onnx skl2onnx"]
