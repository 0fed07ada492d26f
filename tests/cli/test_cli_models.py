"""Model files: what is saved comes back, and nothing in a file is run."""

import os
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import skops.io
from fakes import Evil
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler

from hiclass import TRUSTED_TYPES, FlatClassifier
from hiclass._cli._errors import CommandError
from hiclass._cli._models import load_model


def test_what_was_saved_comes_back(model):
    loaded = load_model(model)
    assert loaded.target == ["product", "sub_product"]
    assert loaded.opened.model.hierarchy_.n_nodes == 8


def test_what_predicts_is_found_inside_nested_and_frozen_pipelines(model):
    plain = load_model(model)
    inner = Pipeline([("scale", MaxAbsScaler()), ("model", plain.opened.model)])
    row = pd.DataFrame({"narrative": ["bank"], "amount": [1.0], "state": ["BY"]})
    inner[0].fit(plain.opened.transform(row))
    steps = [
        ("features", plain.opened.before[0]),
        ("same", "passthrough"),
        ("rest", FrozenEstimator(inner)),
    ]
    nested = replace(plain, pipeline=Pipeline(steps))
    assert nested.opened.model is plain.opened.model
    assert nested.opened.model.hierarchy_ is plain.opened.model.hierarchy_
    assert nested.opened.before[0] is plain.opened.before[0]
    expected = inner[0].transform(plain.opened.transform(row))
    np.testing.assert_array_equal(nested.opened.transform(row).toarray(), expected.toarray())


def test_a_strange_type_is_refused_and_not_run(tmp_path):
    marker, path = str(tmp_path / "was-run"), str(tmp_path / "m.skops")
    skops.io.dump({"format": "hiclass model", "pipeline": Evil(marker)}, path)
    with pytest.raises(
        CommandError, match=r"holds .*Evil, which is not a type that hiclass trusts.*hiclass fit"
    ):
        load_model(path)
    assert os.listdir(tmp_path) == ["m.skops"]


def test_a_pickle_is_no_model_and_not_run(tmp_path):
    marker, path = str(tmp_path / "was-run"), tmp_path / "m.skops"
    path.write_bytes(pickle.dumps(Evil(marker)))
    with pytest.raises(
        CommandError, match=r"is not a skops file\. Create a model with hiclass fit"
    ):
        load_model(str(path))
    assert os.listdir(tmp_path) == ["m.skops"]


@pytest.mark.parametrize(
    "content",
    [
        {"format": "another"},
        {"format": "hiclass model", "version": 2},
        [1, 2],
        LogisticRegression(),
        {"format": "hiclass model", "version": 2, "pipeline": 1, "target": []},
        {
            "format": "hiclass model",
            "version": 2,
            "pipeline": Pipeline([("a", LogisticRegression())]),
            "target": [],
        },
    ],
    ids=str,
)
def test_another_skops_file_is_refused(tmp_path, content):
    path = str(tmp_path / "m.skops")
    skops.io.dump(content, path)
    with pytest.raises(CommandError, match="is not a model of hiclass fit"):
        load_model(path)


def replaced(model, key, value):
    """What a model file holds, with something else under one key."""
    content = skops.io.load(model, trusted=list(TRUSTED_TYPES))
    return {**content, key: value}


def no_steps(steps):
    pipeline = Pipeline([("a", LogisticRegression())])
    pipeline.steps = steps
    return pipeline


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pipeline", no_steps([])),
        ("pipeline", no_steps(None)),
        ("pipeline", Pipeline([("a", LogisticRegression())])),
        ("pipeline", Pipeline([("a", FlatClassifier())])),
        ("target", [1, 2]),
        ("target", []),
        ("pipeline", Pipeline([("a", MaxAbsScaler()), ("b", FlatClassifier())])),
    ],
    ids=str,
)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_every_command_refuses_a_file_with_a_part_that_is_not_a_model(
    key, value, command, model, train, tmp_path, fails
):
    path = str(tmp_path / "m.skops")
    skops.io.dump(replaced(model, key, value), path)
    assert fails(command, path, train).startswith(f"{path} is not a model of hiclass fit.")


def test_a_file_of_another_version_is_refused(tmp_path):
    path = str(tmp_path / "m.skops")
    skops.io.dump({"format": "hiclass model", "version": 99, "hiclass": "9.9"}, path)
    with pytest.raises(CommandError, match=r"written by hiclass 9\.9, in a format"):
        load_model(path)


def test_a_damaged_file_is_refused(tmp_path, model):
    with zipfile.ZipFile(model) as source, zipfile.ZipFile(tmp_path / "m.skops", "w") as copy:
        for name in source.namelist():
            content = b"damaged" if name.endswith(".npy") else source.read(name)
            copy.writestr(name, content)
    with pytest.raises(CommandError, match=r"cannot be loaded \(.*hiclass fit"):
        load_model(str(tmp_path / "m.skops"))


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "no", tmp_path):
        with pytest.raises(CommandError, match="does not exist"):
            load_model(str(path))


def test_a_summary_is_read_without_the_classifiers(model, monkeypatch):
    from hiclass._cli import _models

    expected = _models.summary_of(_models.load_model(model))
    assert expected.target == ["product", "sub_product"]
    with monkeypatch.context() as patch:
        patch.setattr(_models, "load_model", None)
        assert _models.load_summary(model) == expected


@pytest.mark.parametrize("damage", ["none", "no hierarchy", "not JSON"])
def test_a_file_without_a_summary_is_read_whole(model, tmp_path, damage):
    from hiclass._cli import _models

    copy = tmp_path / "m.skops"
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            if name != _models._SUMMARY:
                new.writestr(name, old.read(name))
        if damage != "none":
            new.writestr(_models._SUMMARY, "{}" if damage == "no hierarchy" else "x")
    assert _models.load_summary(str(copy)) == _models.load_summary(model)
