"""ONNX Runtime predicts the sets of classes that Python predicts."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from hiclass import FlatClassifier, LocalClassifierPerNode, LocalClassifierPerParentNode, to_onnx
from hiclass._estimators.sets import rule_of

pytestmark = pytest.mark.heavy

PETS = {"pet": ["cat", "dog"], "feline": ["cat", "lion"], "canine": ["dog", "wolf"], "robot": []}
KINDS = [["cat"], ["lion"], ["dog"], ["wolf"], ["cat", "dog"]]
OPTIONS = {"hierarchy": PETS, "multi_label": True}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 5, 200)
    places = np.array([[5, 5, 0], [0, 5, 0], [5, 0, 5], [0, 0, 5], [5, 5, 5]], dtype=float)
    return places[kind] + rng.normal(scale=2, size=(200, 3)), [KINDS[k] for k in kind]


def run(content, X):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(
        content.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


@pytest.mark.parametrize("threshold", [0.5, 0.8, "tuned", "micro_f1", ("cost", 1, 2)])
@pytest.mark.parametrize("cls", [LocalClassifierPerParentNode, FlatClassifier])
@pytest.mark.parametrize(
    "local",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression(C=10.0)),
        GaussianNB(),
    ],
    ids=["logistic", "scaled", "bayes"],
)
def test_the_graph_predicts_what_python_predicts(data, cls, local, threshold):
    X, y = data
    model = cls(local, threshold=threshold, **OPTIONS).fit(X[:120], y[:120])
    found = run(to_onnx(model), X[120:])
    proba = model.predict_node_proba(X[120:])
    np.testing.assert_allclose(found["node_probabilities"], proba, atol=1e-5)
    closed = model.hierarchy_.indicator(model.predict(X[120:])).toarray().astype(bool)
    limits = rule_of(model).thresholds
    # A probability at its threshold may fall on either side by rounding.
    clear = (np.abs(proba - limits) > 1e-5).all(axis=1)
    assert clear.sum() > 60
    np.testing.assert_array_equal(found["predicted"][clear, 1:], closed[clear, 1:])
    assert found["predicted"][:, 0].all()
    assert run(to_onnx(model), X[:0])["predicted"].shape == (0, model.hierarchy_.n_nodes)


def test_a_pipeline_and_the_names_of_the_nodes(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), LocalClassifierPerParentNode(**OPTIONS)).fit(X, y)
    content = to_onnx(pipeline, dtype=np.float32)
    found = run(content, X.astype(np.float32))
    expected = pipeline[-1].predict_node_proba(pipeline[0].transform(X))
    np.testing.assert_allclose(found["node_probabilities"], expected, atol=1e-5)
    names = {prop.key: prop.value for prop in content.metadata_props}
    labels = pipeline[-1].hierarchy_.labels.tolist()
    assert json.loads(names["hiclass.paths"]) == [[], *([label] for label in labels[1:])]
    assert names["hiclass.threshold"] == "0.5"


def test_paths_name_the_nodes_of_a_tree(data):
    X, y = data
    paths = [[("animal", label) for label in row] for row in y]
    model = FlatClassifier(LogisticRegression(), multi_label=True)
    model.fit(X, [*paths[:-1], [("plant",)]])
    content = to_onnx(model)
    names = {prop.key: prop.value for prop in content.metadata_props}
    assert ["animal", "cat"] in json.loads(names["hiclass.paths"])
    np.testing.assert_allclose(
        run(content, X)["node_probabilities"], model.predict_node_proba(X), atol=1e-9
    )


def test_what_has_no_graph_is_refused_with_the_remedy(data):
    X, y = data
    first = [row[0] for row in y]
    fitted = LocalClassifierPerParentNode(**OPTIONS).fit(X, y)
    for model, error, message in (
        (LocalClassifierPerNode(**OPTIONS).fit(X, y), TypeError, "Only LocalClassifierPerParent"),
        (LocalClassifierPerParentNode(hierarchy=PETS).fit(X, first), ValueError,
         "Fit it with multi_label=True"),
        (LocalClassifierPerParentNode(DecisionTreeClassifier(), **OPTIONS).fit(X, y), ValueError,
         "that handles several labels per row itself"),
        (LocalClassifierPerParentNode(calibration="isotonic", **OPTIONS).fit(X, y), ValueError,
         "is calibrated, restricted or learned from batches"),
        (fitted.restricted_to(["cat", "dog"]), ValueError, "save it with skops"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            to_onnx(model)
