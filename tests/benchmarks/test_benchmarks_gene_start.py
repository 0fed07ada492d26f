"""The benchmark of sets of classes runs on any set of its layout, nominal columns included."""

import json

import numpy as np
import pandas
import pytest
from benchmark_scripts import BENCHMARKS, importable


@pytest.fixture
def gene_start():
    with importable(BENCHMARKS):
        import gene_start

        yield gene_start


@pytest.fixture
def folder(tmp_path):
    """A small set with a nominal column and missing values."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 90)
    frame = pandas.DataFrame({"f0": rng.normal(size=90) + kind, "f1": np.array(list("abc"))[kind]})
    frame.loc[::9, "f0"] = np.nan
    frame["labels"] = [[["x", "z"], ["y"], ["x"]][k] for k in kind]
    frame["split"] = np.where(np.arange(90) % 3 == 2, "test", "train")
    frame.to_parquet(tmp_path / "small.parquet")
    edges = [["root", "x"], ["root", "y"], ["y", "z"]]
    (tmp_path / "small.hierarchy.json").write_text(json.dumps({"edges": edges}))
    return tmp_path


def test_a_set_is_found_measured_and_written_as_a_table(gene_start, folder):
    assert gene_start.find_sets(folder) == ["small"]
    row = gene_start.run_one("small", folder, "quick", 0, 1)
    assert set(row["members"]) == {"forest", "ridge"}
    assert row["aupr"] > 0.95 > row["prior"]
    lines = gene_start.page({"rows": [row, row | {"seed": 1}]}).splitlines()
    assert "small" in lines[-1]
    assert f"{row['aupr']:.3f}" in lines[-1]
