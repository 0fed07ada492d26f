"""Word counts and TF-IDF of the complaints, fitted on training rows, once for all models."""

import argparse
from pathlib import Path

import numpy as np
from _study import save_features, write_json
from prepare import LEVELS
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="what prepare.py wrote")
    parser.add_argument("--train-rows", type=int, help="use so many training rows; all by default")
    parser.add_argument("--max-features", type=int, help="keep the most frequent words only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True, help="a folder")
    args = parser.parse_args(argv)
    import pandas as pd

    frame = pd.read_parquet(args.rows)
    train, test = frame[frame["side"] == "train"], frame[frame["side"] == "test"]
    n_available = len(train)
    if args.train_rows is not None and args.train_rows < n_available:
        train = train.sample(args.train_rows, random_state=args.seed)
    vectorizer = make_pipeline(CountVectorizer(max_features=args.max_features), TfidfTransformer())
    X = vectorizer.fit_transform(train["text"])
    args.output.mkdir(parents=True, exist_ok=True)
    y, y_test = (side[LEVELS].to_numpy(dtype=object) for side in (train, test))
    save_features(args.output, "train", X, y)
    save_features(args.output, "test", vectorizer.transform(test["text"]), y_test)
    seen = {tuple(path) for path in y}
    facts = {
        "n_train": len(y),
        "n_train_available": n_available,
        "n_test": len(y_test),
        "n_features": X.shape[1],
        "n_classes": [len(np.unique(y[:, 0].astype(str))), len(seen)],
        "n_unseen": sum(tuple(path) not in seen for path in y_test),
    }
    write_json(facts, args.output / "facts.json")


if __name__ == "__main__":
    main()
