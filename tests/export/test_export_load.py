"""`hiclass.load`: models from skops files, of the command line and of skops.io.dump."""

import os
import pickle
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from fakes import Evil, Untrusted
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch

import hiclass
from hiclass import (
    ConformalClassifier,
    FlatClassifier,
    LocalClassifierPerParentNode,
    load,
    trusted_types,
)
from hiclass._cli import main

TEXTS = ["purring cat", "barking dog", "hooting owl", "quacking duck"] * 6
Y = [["Mammal", "Cat"], ["Mammal", "Dog"], ["Bird", "Owl"], ["Bird", "Duck"]] * 6


def text_pipeline():
    return make_pipeline(TfidfVectorizer(), LocalClassifierPerParentNode(LogisticRegression(C=10)))


def frozen():
    fitted = FrozenEstimator(text_pipeline().fit(TEXTS, Y))
    return ConformalClassifier(fitted, alpha=0.2)


def search():
    grid = {"localclassifierperparentnode__local_classifier__C": [1.0]}
    return GridSearchCV(text_pipeline(), grid, cv=2)


@pytest.mark.parametrize("make", [text_pipeline, frozen, search])
def test_what_skops_has_saved_comes_back(make, tmp_path):
    model = make().fit(TEXTS, Y)
    skops.io.dump(model, tmp_path / "model.skops")
    # A search holds its scorer and its folds, whatever these are.
    names = trusted_types(model) if make is search else ()
    back = load(tmp_path / "model.skops", trusted=names)
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.predict(TEXTS), model.predict(TEXTS))
    np.testing.assert_allclose(
        hiclass.predict_confidence(back, TEXTS),
        hiclass.predict_confidence(model, TEXTS),
        atol=1e-6,
    )


def test_a_file_of_the_command_line_gives_its_pipeline(tmp_path, capsys):
    frame = pd.DataFrame(
        {
            "text": [f"{text} number {i}" for i, text in enumerate(TEXTS)],
            "weight": np.arange(24.0) % 5,
            "class": [path[0] for path in Y],
            "order": [path[1] for path in Y],
        }
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    path = str(tmp_path / "model.skops")
    options = ["--target", "class", "order", "--text", "text", "--numbers", "weight"]
    assert main(["fit", str(tmp_path / "data.csv"), *options, "-o", path, "-q"]) == 0
    out = str(tmp_path / "out.csv")
    assert main(["predict", path, str(tmp_path / "data.csv"), "-o", out, "-q"]) == 0
    capsys.readouterr()
    model = load(path)
    assert isinstance(model, Pipeline)
    assert model.feature_names_in_.tolist() == ["text", "weight"]
    expected = pd.read_csv(out)
    rows = frame[["text", "weight"]]
    np.testing.assert_array_equal(
        model.predict(rows), expected[["predicted_class", "predicted_order"]].to_numpy()
    )
    np.testing.assert_allclose(
        hiclass.predict_confidence(model, rows),
        expected[["confidence_class", "confidence_order"]].to_numpy(),
        atol=1e-6,
    )


@pytest.mark.parametrize("dump", ["pickle", "joblib", "joblib, compressed"])
def test_a_pickle_is_never_loaded(dump, tmp_path):
    path, marker = tmp_path / "model.skops", str(tmp_path / "was-run")
    if dump == "pickle":
        path.write_bytes(pickle.dumps(Evil(marker)))
    else:
        joblib.dump(Evil(marker), path, compress=0 if dump == "joblib" else 3)
    with pytest.raises(ValueError, match=r"is not a skops file\. .* A pickle .* can run any code"):
        load(path)
    assert os.listdir(tmp_path) == ["model.skops"]


def test_a_type_that_is_not_trusted_is_named_and_not_built(tmp_path):
    path = tmp_path / "model.skops"
    skops.io.dump(Evil(str(tmp_path / "was-run")), path)
    with pytest.raises(ValueError, match=r"holds .*\.Evil, which is not a type.*trusted=\['"):
        load(path)
    assert os.listdir(tmp_path) == ["model.skops"]


def test_more_types_can_be_trusted_by_name(tmp_path):
    X = np.arange(4.0)[:, None]
    model = FlatClassifier(Untrusted()).fit(X, ["a", "b", "a", "b"])
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(ValueError, match="Untrusted, which is not a type that hiclass trusts"):
        load(tmp_path / "m.skops")
    back = load(tmp_path / "m.skops", trusted=["fakes.Untrusted"])
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


@pytest.mark.parametrize("trusted", [(), ["sklearn.tree._tree.Tree"]], ids=["checked", "trusted"])
def test_a_tree_needs_no_list_of_types(trusted, tmp_path):
    X = np.arange(4.0)[:, None]
    model = FlatClassifier(DecisionTreeClassifier()).fit(X, ["a", "b", "a", "b"])
    skops.io.dump(model, tmp_path / "m.skops")
    back = load(tmp_path / "m.skops", trusted=trusted)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def without_steps(steps):
    model = Pipeline([("only", StandardScaler())])
    model.steps = steps
    return model


def flagged(hierarchy):
    """A classifier of scikit-learn with the attribute that fitted hierarchical ones have."""
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.hierarchy_ = hierarchy
    return model


HIERARCHY = hiclass.Hierarchy.from_paths(Y)


@pytest.mark.parametrize(
    "content",
    [
        {"a": 1},
        {"format": np.array(["hiclass model", "other"])},
        without_steps([]),
        without_steps(None),
        without_steps([("only",)]),
        Bunch(hierarchy_=1),
        Bunch(hierarchy_=HIERARCHY, predict=1),
        flagged(5),
        flagged(HIERARCHY),
        make_pipeline(StandardScaler(), flagged(HIERARCHY)),
        {"format": "hiclass model", "version": 2},
        make_pipeline(StandardScaler(), LogisticRegression()).fit([[0.0], [1.0]], [0, 1]),
        LocalClassifierPerParentNode(),
    ],
    ids=[
        "a dict",
        "an array as format",
        "no steps",
        "None as steps",
        "half a step",
        "a Bunch",
        "a Bunch with a hierarchy",
        "a number as hierarchy",
        "no methods",
        "no methods, in a pipeline",
        "half a file",
        "another model",
        "not fitted",
    ],
)
def test_what_is_no_fitted_model_is_named(content, tmp_path):
    skops.io.dump(content, tmp_path / "m.skops")
    with pytest.raises(ValueError, match=r"m\.skops holds a \w+, which is neither a fitted hier"):
        load(tmp_path / "m.skops")


@pytest.mark.parametrize("version", [99, "1", np.array([1, 2])], ids=["99", "text", "array"])
def test_another_format_of_the_command_line_names_the_version_and_the_remedy(version, tmp_path):
    content = {"format": "hiclass model", "version": version, "hiclass": "9.9"}
    skops.io.dump(content, tmp_path / "m.skops")
    with pytest.raises(ValueError, match=r"written by hiclass 9\.9, .*hiclass fit"):
        load(tmp_path / "m.skops")


def test_a_missing_file_a_folder_and_a_bad_list(tmp_path):
    for path in (tmp_path / "no", tmp_path):
        with pytest.raises(FileNotFoundError, match="does not exist, or is not a file"):
            load(path)
    with pytest.raises(TypeError, match="trusted must be a list of names of types; got 'a'"):
        load(tmp_path, trusted="a")


def test_without_skops_the_message_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError) as caught:
        load(tmp_path / "m.skops")
    assert caught.value.__notes__ == ["Install it with: pip install skops"]
