"""Hints for newcomers: paths in one column, labels among the features."""

import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hiclass import HierarchicalClassifier, Hierarchy

TEXTS = ["car loan rate", "house loan refused", "card stolen", "charged twice"] * 5
PATHS = ["Loan > Car", "Loan > House", "Card > Theft", "Card > Charge"] * 5


def model(**options):
    return HierarchicalClassifier(effort="quick", random_state=0, **options)


def test_labels_that_look_like_paths_are_named_with_the_remedy():
    with pytest.warns(UserWarning, match=r"such as 'Card > Charge'.*label\.split\(' > '\)"):
        model().fit(TEXTS, PATHS)


def test_split_labels_other_labels_and_a_hierarchy_give_no_hint():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model().fit(TEXTS, [p.split(" > ") for p in PATHS]).hierarchy_.levels.max() == 2
        model().fit(TEXTS, [p.replace(" > ", " ") for p in PATHS])
        model(hierarchy=Hierarchy.from_edges([("all", p) for p in PATHS[:4]])).fit(TEXTS, PATHS)


def test_a_column_of_an_arrow_table_is_named():
    table = pd.DataFrame({"text": TEXTS, "detail": PATHS})
    with pytest.warns(UserWarning, match="label columns: 'detail'"):
        model().fit(pa.table(table), table[["detail"]])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_labels_among_the_features_are_named(frame):
    table = frame({"text": TEXTS, "product": [p[:4] for p in PATHS], "detail": PATHS})
    with pytest.warns(UserWarning, match="label columns: 'product', 'detail'. .* remove them"):
        model().fit(table, table[["product", "detail"]])
    with pytest.warns(UserWarning, match="label columns: 'product'"):
        model().fit(table[["text", "product"]], table["product"])


def test_columns_without_names_give_no_hint():
    X, y = pd.DataFrame([[t] for t in TEXTS]), pd.DataFrame([p.split(" > ") for p in PATHS])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model().fit(X, y)
        model().fit(pd.DataFrame({"None": TEXTS}), y.to_numpy())
