"""The benchmark on gene functions: how its data are read."""

import json

import numpy as np
import pandas
import pytest
from benchmark_scripts import BENCHMARKS, importable


@pytest.fixture(scope="module")
def script():
    with importable(BENCHMARKS):
        import gene_function

        yield gene_function


def test_nominal_columns_become_columns_of_zeros_and_ones(script, tmp_path):
    frame = pandas.DataFrame(
        {
            "split": ["train", "valid", "test"],
            "f0": pandas.Series(["n", "s", "n"], dtype="category"),
            "f1": [0.5, np.nan, 2.0],
            "f2": ["w", "r", "w"],
            "labels": [["a"], ["a", "b"], ["b"]],
        }
    )
    frame.to_parquet(tmp_path / "toy.parquet")
    edges = {"edges": [["root", "a"], ["root", "b"]]}
    (tmp_path / "toy.hierarchy.json").write_text(json.dumps(edges))
    X, labels, hierarchy, train, exclude = script.load("toy", tmp_path)
    # f1, then f0 = n and s, then f2 = r and w
    expected = [[0.5, 1, 0, 0, 1], [np.nan, 0, 1, 1, 0], [2, 1, 0, 0, 1]]
    np.testing.assert_array_equal(X, expected)
    assert labels == [["a"], ["a", "b"], ["b"]]
    assert hierarchy.labels[1:].tolist() == ["a", "b"]
    assert train.tolist() == [True, True, False]
    assert exclude == []
    assert script.load("missing", tmp_path) is None


def test_the_forest_of_the_benchmark_looks_at_some_binary_features_only(script):
    X = np.random.default_rng(0).integers(0, 2, size=(200, 30)).astype(float)
    y = X[:, :3]
    for features, expected in ((X, "sqrt"), (X + np.random.default_rng(1).normal(size=X.shape), 1)):
        model = script.make_estimator("trees", {"trees": {"n_estimators": 5}}, n_jobs=1)
        assert model.fit(features, y).forest_.max_features == expected
