"""Libraries around scikit-learn, each with our estimators inside: skrub, skore, MLflow."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from hiclass import Hierarchy, LocalClassifierPerParentNode, metrics

pytestmark = pytest.mark.heavy

WORDS = ["train", "bus", "plane"]


@pytest.fixture(scope="module")
def table():
    """A mixed table, and paths that its columns determine."""
    rng = np.random.default_rng(0)
    words, color = rng.choice(WORDS, 120), rng.choice(["red", "green"], 120)
    frame = pd.DataFrame(
        {
            "amount": rng.normal(size=120),
            "color": color,
            "note": [f"the {word} was late" for word in words],
        }
    )
    return frame, pd.DataFrame({"kind": np.where(color == "red", "A", "B"), "sub": words})


def make_model():
    skrub = pytest.importorskip("skrub")
    return make_pipeline(
        skrub.TableVectorizer(), LocalClassifierPerParentNode(LogisticRegression())
    )


@pytest.mark.filterwarnings("default")
def test_skrub_vectorizes_a_table_for_us(table):
    X, y = table
    model = make_model().fit(X[:80], y[:80])
    assert metrics.exact_match(y[80:], model.predict(X[80:])) == 1


@pytest.mark.filterwarnings("default")
def test_we_are_a_step_of_skrubs_data_ops(table):
    skrub = pytest.importorskip("skrub")
    X, y = table
    data = skrub.var("data", X.assign(**y))
    rows, paths = data[list(X.columns)].skb.mark_as_X(), data[list(y.columns)].skb.mark_as_y()
    features = rows.skb.apply(skrub.TableVectorizer())
    predicted = features.skb.apply(LocalClassifierPerParentNode(LogisticRegression()), y=paths)
    learner = predicted.skb.make_learner(fitted=True)
    found = learner.predict({"data": X})
    assert metrics.exact_match(y, found) == 1
    scores = predicted.skb.cross_validate(cv=3)["test_score"]
    assert (scores == 1).all()


@pytest.mark.filterwarnings("default")
def test_skore_reports_on_single_labels_of_a_hierarchy(table):
    skore = pytest.importorskip("skore")
    X, y = table
    labels = (y["kind"] + "-" + y["sub"]).to_numpy()
    tree = Hierarchy.from_paths([[kind, f"{kind}-{word}"] for kind in "AB" for word in WORDS])
    model = make_model().set_params(localclassifierperparentnode__hierarchy=tree)
    report = skore.EstimatorReport(
        model, X_train=X[:80], y_train=labels[:80], X_test=X[80:], y_test=labels[80:]
    )
    assert report.metrics.accuracy() == 1
    summary = report.metrics.summarize().frame()
    assert summary["accuracy"] == 1
    assert summary["log_loss"] > 0


@pytest.mark.filterwarnings("default")
def test_mlflow_logs_a_model_with_its_signature(table, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.sklearn")
    X, y = table
    model = make_model().fit(X, y)
    mlflow.set_tracking_uri(f"file://{tmp_path / 'runs'}")
    with mlflow.start_run():
        signature = mlflow.models.infer_signature(X, model.predict(X))
        mlflow.log_metric("f1", metrics.f1(y, model.predict(X)))
        logged = mlflow.sklearn.log_model(
            model, name="model", signature=signature, serialization_format="cloudpickle"
        )
    assert {column.name for column in logged.signature.inputs} == set(X.columns)
    loaded = mlflow.sklearn.load_model(logged.model_uri)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    served = mlflow.pyfunc.load_model(logged.model_uri)
    np.testing.assert_array_equal(served.predict(X), model.predict(X))
