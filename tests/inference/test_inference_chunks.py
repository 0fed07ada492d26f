"""Chunks of rows, and whether threads pay for them."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from limits import Ruler, many
from samples import four_quarters
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from hiclass import FlatClassifier, LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._inference import chunks
from hiclass._inference.search import width_of_search


class Watched(Ruler):
    """Remembers the threads in which it was called, and about how many rows."""

    seen: list = []  # noqa: RUF012  # of all copies

    def predict_proba(self, X):
        self.seen.append((threading.current_thread() is threading.main_thread(), len(X)))
        return super().predict_proba(X)


@pytest.fixture
def seconds(monkeypatch):
    """Says how long a call takes: a price of 1, and so much for every row."""
    per_row = {"s": 0.0}

    def measured(query, X, repeat):
        query(X)
        return 1 + per_row["s"] * (len(X) - 1)

    monkeypatch.setattr("hiclass._inference.chunks._seconds", measured)
    monkeypatch.setattr("hiclass._inference.chunks.cpu_count", lambda: 2)
    Watched.seen.clear()
    return per_row


def fitted(model_class):
    X, y = many(125)
    return model_class(Watched()).fit(X, y)


ROWS = np.random.default_rng(0).uniform(0, 125, size=(1000, 1))


@pytest.mark.parametrize("model_class", [LocalClassifierPerNode, LocalClassifierPerParentNode])
@pytest.mark.parametrize("method", ["predict", "predict_node_proba", "predict_paths"])
def test_calls_whose_price_outweighs_their_rows_are_not_made_in_threads(
    model_class, method, seconds
):
    model = fitted(model_class)
    expected = getattr(model, method)(ROWS)
    for per_row, in_main_thread in ((0.0, True), (100.0, False)):
        seconds["s"] = per_row
        Watched.seen.clear()
        found = getattr(model.set_params(n_jobs=2), method)(ROWS)
        # The first two calls are the measurement, about one row and about a few.
        assert Watched.seen[:2] == [(True, 1), (True, 31)]
        assert {main for main, _ in Watched.seen[2:]} == {in_main_thread}
        assert Watched.seen[2][1] == (1000 if in_main_thread else 500)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("price_per_row", "everywhere", "pays"),
    [
        # 31 parent nodes, 3 levels: of 1000 rows a call has 97, with two threads worth 2 prices.
        (0.020, False, False),
        (0.022, False, True),
        # All 1000 rows in every call.
        (0.0019, True, False),
        (0.0022, True, True),
    ],
)
def test_threads_pay_where_the_rows_of_a_call_cost_more_than_its_price_in_all_of_them(
    price_per_row, everywhere, pays, seconds
):
    model = fitted(LocalClassifierPerParentNode)
    seconds["s"] = price_per_row
    assert chunks._threads_pay(ROWS, model._models, 5, 2, everywhere) == pays


def test_a_few_calls_are_not_measured(seconds):
    model = FlatClassifier(Watched(), n_jobs=2).fit(*many(125))
    model.predict(ROWS)
    assert Watched.seen == [(False, 500)] * 2


def test_a_restricted_model_queries_all_that_is_left_about_all_rows(seconds):
    model = fitted(LocalClassifierPerParentNode).set_params(n_jobs=2)
    model = model.restricted_to([("0-1",), ("0-2",), ("0-3",)])
    for per_row, pays in ((0.0019, False), (0.0022, True)):
        seconds["s"] = per_row
        Watched.seen.clear()
        model.predict(ROWS)
        assert {main for main, _ in Watched.seen[2:]} == {not pays}


def test_sparse_rows_whose_indices_are_not_sorted_can_be_predicted():
    X, y = four_quarters(40)
    turned = sp.csr_matrix(X)
    turned.indices = turned.indices.reshape(-1, 2)[:, ::-1].ravel().copy()
    turned.data = turned.data.reshape(-1, 2)[:, ::-1].ravel().copy()
    turned.has_sorted_indices = False
    before = turned.indices.copy()
    model = FlatClassifier(SVC()).fit(turned, y)
    np.testing.assert_array_equal(model.predict(turned), model.predict(sp.csr_matrix(X)))
    np.testing.assert_array_equal(turned.indices, before)


@pytest.mark.parametrize("decoding", ["best_path", "function", "leaves"])
def test_chunks_are_small_where_a_decoding_needs_many_numbers_per_row(monkeypatch, decoding):
    X, _ = four_quarters(640)
    y = [[f"a{i % 8}", f"b{i // 8 % 8}"] for i in range(640)]
    model = LocalClassifierPerParentNode(GaussianNB(), leaf_only=decoding == "leaves")
    model.set_params(decoding="expected_f1" if decoding == "leaves" else "top_down").fit(X, y)
    sizes = []

    def leaf(proba, hierarchy):
        return np.full(len(proba), hierarchy.n_nodes - 1)

    def spy(out, function, X, width, *, everywhere=False):
        sizes.append(width)
        for whole, part in zip(out, function(X), strict=True):
            whole[:] = part

    monkeypatch.setattr(model, "_fill", spy)
    if decoding != "leaves":
        model.set_params(decoding=leaf if decoding == "function" else decoding)
    model.predict(X)
    n_nodes, depth = model.hierarchy_.n_nodes, model.hierarchy_.depth
    searched = width_of_search(model._models, 1) + depth
    assert searched < n_nodes / 2
    assert sizes == [searched if decoding == "best_path" else n_nodes]
