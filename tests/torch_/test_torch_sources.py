"""Batches from mapped arrays, Parquet files, Arrow tables and data loaders."""

import doctest
import importlib
import warnings
from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sp
from network_helpers import network

pytestmark = pytest.mark.heavy


def test_doctests():
    done = doctest.testmod(importlib.import_module("hiclass.torch._sources"))
    assert done.attempted == 13
    assert not done.failed


def numbered(n_rows, container=np.asarray):
    """Rows that tell their number, with labels and weights that do so, too."""
    X = container(np.column_stack([np.arange(n_rows), np.ones(n_rows)]).astype(np.float32))
    return X, [["a", str(i)] for i in range(n_rows)], np.arange(n_rows) / n_rows


def numbers_of(batches, n_rows):
    found = []
    for X, y, weight in batches:
        X = X.toarray() if sp.issparse(X) else X
        assert [int(path[1]) for path in y] == X[:, 0].astype(int).tolist()
        np.testing.assert_allclose(weight, X[:, 0] / n_rows)
        found.append(X[:, 0].astype(int).tolist())
    return found


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.coo_array])
def test_every_row_of_arrays_comes_once_in_another_order_in_every_epoch(container, monkeypatch):
    from hiclass.torch import ArrayBatches

    monkeypatch.setattr("hiclass.torch._sources._BLOCK", 7)
    monkeypatch.setattr("hiclass.torch._sources._MIXED", 3)
    batches = ArrayBatches(*numbered(100, container), batch_size=9, random_state=0)
    one, two = numbers_of(batches, 100), numbers_of(batches, 100)
    assert one != two
    for epoch in (one, two):
        assert sorted(chain(*epoch)) == list(range(100))
        assert max(map(len, epoch)) == 9
        # The first 27 rows are from four blocks of seven neighbours.
        assert len({i // 7 for i in chain(*epoch[:3])}) <= 5
    plain = ArrayBatches(*numbered(20, container), batch_size=9, shuffle=False)
    assert numbers_of(plain, 20) == [list(range(9)), list(range(9, 18)), [18, 19]]


def test_a_mapped_file_is_learned(hard, tmp_path):
    from hiclass.torch import ArrayBatches

    X, y = hard
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    batches = ArrayBatches(mapped, y, batch_size=40, random_state=0)
    assert all(len(batch) == 2 for batch in batches)
    assert network(max_epochs=20).fit_batches(batches, classes=y).score(X, y) > 0.7
    with pytest.raises(ValueError, match="X has 288 rows, but y has 5"):
        ArrayBatches(mapped, y[:5])
    with pytest.raises(ValueError, match="batch_size must be at least 1; got 0"):
        ArrayBatches(mapped, y, batch_size=0)


@pytest.mark.parametrize("kind", ["frame", "series", "tensor", "list"])
def test_labels_of_every_kind_are_those_of_fit(kind):
    import pandas as pd
    import torch

    from hiclass.torch import ArrayBatches

    X = np.arange(6, dtype=np.float32)[:, None]
    y = {
        "frame": pd.DataFrame({"top": list("aabbcc"), "leaf": list("uvwxyz")}),
        "series": pd.Series(list("aabbcc")),
        "tensor": torch.tensor([0, 0, 1, 1, 2, 2]),
        "list": [["a", "u"], ["a"], ["b", "w"], ["b", "x"], ["c"], ["c", "z"]],
    }[kind]
    batches = ArrayBatches(X, y, batch_size=2, shuffle=False)
    plain = y.numpy() if kind == "tensor" else y
    streamed = network(max_epochs=1).fit_batches(batches, classes=plain)
    assert streamed.hierarchy_ == network(max_epochs=1).fit(X, plain).hierarchy_


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_sparse_tensors_of_a_loader_may_be_bfloat16(layout):
    import torch

    X, y = np.eye(6, dtype=np.float32), list("aabbcc")
    dense = torch.tensor(X).bfloat16()
    rows = dense.to_sparse_csr() if layout == "csr" else dense.to_sparse()
    model = network(max_epochs=2).fit_batches([(rows, y)])
    expected = network(max_epochs=2).fit_batches([(sp.csr_matrix(X), y)])
    np.testing.assert_array_equal(model.predict_node_proba(X), expected.predict_node_proba(X))


@pytest.fixture
def parquet(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_rows = 100
    table = pa.table(
        {
            "number": np.arange(n_rows),
            "one": np.ones(n_rows, dtype=np.float32),
            "top": ["a"] * n_rows,
            "leaf": [str(i) for i in range(n_rows)],
            "weight": np.arange(n_rows) / n_rows,
            "vector": [[float(i), 1.0] for i in range(n_rows)],
        }
    )
    for part in range(2):
        some = table.slice(50 * part, 50)
        pq.write_table(some, tmp_path / f"part{part}.parquet", row_group_size=10)
    return tmp_path, table


@pytest.mark.parametrize("features", [["number", "one"], "vector"])
def test_every_row_of_parquet_files_comes_once(parquet, features, monkeypatch):
    from hiclass.torch import ArrowBatches

    monkeypatch.setattr("hiclass.torch._sources._MIXED", 3)
    folder, table = parquet
    options = {"features": features, "weight": "weight", "batch_size": 9}
    for source in (folder, [folder / "part0.parquet", folder / "part1.parquet"], table):
        batches = ArrowBatches(source, ["top", "leaf"], **options, random_state=0)
        one, two = numbers_of(batches, 100), numbers_of(batches, 100)
        assert one != two
        for epoch in (one, two):
            assert sorted(chain(*epoch)) == list(range(100))
            assert list(map(len, epoch)) == [9] * 11 + [1]
    plain = ArrowBatches(table, ["top", "leaf"], **options, shuffle=False)
    assert list(chain(*numbers_of(plain, 100))) == list(range(100))


def test_single_labels_and_all_other_columns(parquet):
    from pyarrow import dataset

    from hiclass.torch import ArrowBatches

    folder, table = parquet
    source = dataset.dataset(table.select(["number", "one", "top"]))
    ((X, y),) = ArrowBatches(source, "top", shuffle=False)
    assert X.shape == (100, 2)
    assert y.tolist() == ["a"] * 100
    with pytest.raises(ValueError, match="There is no column 'top1'; the columns are 'number', "):
        ArrowBatches(folder, "top1")
    uneven = table.append_column("uneven", [[[1.0] * (1 + i % 2) for i in range(100)]])
    with pytest.raises(ValueError, match="lists of the column 'uneven' have different lengths"):
        list(ArrowBatches(uneven, "top", "uneven"))


def test_parquet_files_are_learned(hard, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from hiclass.torch import ArrowBatches

    X, y = hard
    columns = {f"level{i}": [path[i] or None for path in y] for i in range(3)}
    pq.write_table(pa.table({"embedding": X.tolist(), **columns}), tmp_path / "rows.parquet")
    batches = ArrowBatches(
        tmp_path / "rows.parquet", list(columns), "embedding", batch_size=40, random_state=0
    )
    model = network(max_epochs=20).fit_batches(batches, classes=y)
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_data_loader_gives_tensors(hard, sparse):
    import torch

    from hiclass import Hierarchy

    X, y = hard
    leaf = np.unique(y[:, 0], return_inverse=True)[1] + 10
    rows = torch.utils.data.TensorDataset(
        torch.tensor(X, dtype=torch.float32), torch.tensor(leaf), torch.ones(len(y))
    )

    def collate(items):
        X, y, weight = torch.utils.data.default_collate(items)
        if not sparse:
            return X, y, weight
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch calls such tensors beta
            return (X.to_sparse_csr() if len(X) % 2 else X.to_sparse_coo()), y, weight

    loader = torch.utils.data.DataLoader(rows, batch_size=41, shuffle=True, collate_fn=collate)
    tree = Hierarchy.from_dict({1: [10, 11], 2: [12]})
    model = network(hierarchy=tree, max_epochs=10).fit_batches(loader)
    assert model.score(X, leaf) > 0.7
    assert model.predict(X).dtype.kind == "i"
