"""Read complaints, drop rows with empty cells, draw a sample, split it.

The rows come from the public file of the Consumer Financial Protection Bureau, which is downloaded
once, or from a file: Parquet or CSV (zipped, too) with the columns of the bureau or with
``text``, ``product``, ``sub_product`` and ``date``.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from hiclass.datasets import fetch_consumer_complaints

COLUMNS = {
    "Consumer complaint narrative": "text",
    "Product": "product",
    "Sub-product": "sub_product",
    "Date received": "date",
}
LEVELS = ["product", "sub_product"]


def read(data: str | None) -> Any:
    """All complaints as a frame with the columns text, product, sub_product and date."""
    import pandas as pd

    if data is None:
        bunch = fetch_consumer_complaints()
        frame = pd.DataFrame(bunch.target, columns=LEVELS)
        return frame.assign(text=bunch.data, date=bunch.date)
    parquet = data.endswith(".parquet")
    frame = pd.read_parquet(data) if parquet else pd.read_csv(data, dtype=str)
    frame = frame.rename(columns=COLUMNS)
    wanted = list(COLUMNS.values())
    if missing := [name for name in wanted if name not in frame]:
        raise ValueError(
            f"{data} has no column {missing[0]!r}. Give a file with the columns "
            f"{', '.join(wanted)}, or one in the format of the bureau."
        )
    return frame[wanted]


def clean(frame: Any, since: str | None) -> Any:
    """Rows without an empty cell, received on this day or later."""
    frame = frame.astype(object).where(frame.notna(), "").astype(str)
    full = np.logical_and.reduce([frame[name].str.strip() != "" for name in frame])
    if since is not None:
        full &= (frame["date"] >= since).to_numpy()
    if not full.any():
        raise ValueError(f"No complaint has text, product and sub-product since {since}.")
    return frame[full]


def split(frame: Any, rows: int | None, test_size: float, seed: int, by: str = "random") -> Any:
    """A sample of the rows, in random order, with a column ``side``: train or test.

    The test rows are drawn at random, or, with ``by="date"``, they are the newest.
    """
    n_rows = len(frame) if rows is None else min(rows, len(frame))
    frame = frame.sample(n_rows, random_state=seed)
    order = np.arange(n_rows) if by == "random" else np.argsort(frame["date"], kind="stable")
    train, _ = train_test_split(
        np.asarray(order),
        test_size=test_size,
        shuffle=by == "random",
        random_state=seed if by == "random" else None,
    )
    side = np.full(n_rows, "test", dtype=object)
    side[train] = "train"
    return frame.assign(side=side).reset_index(drop=True)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="a file; without, the public file is downloaded")
    parser.add_argument("--since", help="the oldest day, like 2017-04-24")
    parser.add_argument("--rows", type=int, help="size of the sample; all by default")
    parser.add_argument("--test-size", type=float, default=0.3)
    parser.add_argument("--split", choices=("random", "date"), default="random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args(argv)
    frame = clean(read(args.data), args.since)
    frame = split(frame, args.rows, args.test_size, args.seed, args.split)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(args.output)


if __name__ == "__main__":
    main()
