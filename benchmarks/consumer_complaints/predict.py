"""Predict the test rows with a model from disk, in a process of its own, and time it."""

import argparse
import gc
import json
from pathlib import Path

import joblib
from _study import clocks, load_features, run_measured, write_json


def predict(args: argparse.Namespace) -> dict[str, list[float]]:
    """What each call took; the predictions go to disk."""
    X, _ = load_features(args.features, "test")
    model = joblib.load(args.model)
    seconds: dict[str, list[float]] = {"cpu": [], "wall": []}
    for _ in range(args.repeats):
        gc.collect()
        start = clocks()
        y_pred = model.predict(X)
        end = clocks()
        for name, values in seconds.items():
            values.append(end[name] - start[name])
    write_json(y_pred.tolist(), args.predictions)
    return seconds


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True, help="what features.py wrote")
    parser.add_argument("--model", type=Path, required=True, help="what train.py wrote")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--predictions", type=Path, required=True)
    parser.add_argument("--output", type=Path, help="where the measurements go")
    parser.add_argument("--once", action="store_true", help="predict here and print what it took")
    args = parser.parse_args(argv)
    if args.once:
        print(json.dumps(predict(args)))
        return
    write_json(run_measured(__file__, argv, args.threads), args.output)


if __name__ == "__main__":
    main()
