"""Fit a model with its tuned hyper-parameters, each time in a process of its own.

Processor and wall-clock seconds are those of ``fit`` alone: features are read before. Peak memory
is that of the whole process tree, so what the process held before ``fit`` is noted, too. Short
fits are repeated.
"""

import argparse
import gc
import json
from pathlib import Path

import joblib
from _study import (
    clocks,
    load_features,
    make_model,
    read_json,
    resident_bytes,
    run_measured,
    write_json,
)


def fit_once(args: argparse.Namespace) -> dict[str, float]:
    """What one fit took; the model goes to disk."""
    X, y = load_features(args.features, "train")
    params = [read_json(path)["params"] for path in args.params]
    model = make_model(args.strategy, args.base, params, args.seed, args.threads)
    gc.collect()
    before, start = resident_bytes(), clocks()
    model.fit(X, y)
    end = clocks()
    joblib.dump(model, args.model)
    return {name: end[name] - start[name] for name in start} | {"bytes_before": before}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--features", type=Path, required=True, help="what features.py wrote")
    parser.add_argument("--base", required=True)
    parser.add_argument("--strategy", required=True)
    parser.add_argument("--params", type=Path, nargs="+", required=True, help="from tune.py")
    parser.add_argument("--repeats", type=int, default=3, help="fit so often at most")
    parser.add_argument("--enough", type=float, help="do not repeat after so many seconds of fits")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", type=Path, required=True, help="where the model goes")
    parser.add_argument("--output", type=Path, help="where the measurements go")
    parser.add_argument("--once", action="store_true", help="fit here and print what it took")
    args = parser.parse_args(argv)
    args.model.parent.mkdir(parents=True, exist_ok=True)
    if args.once:
        print(json.dumps(fit_once(args)))
        return
    runs: list[dict[str, float]] = []
    enough = float("inf") if args.enough is None else args.enough
    while len(runs) < args.repeats and sum(run["wall"] for run in runs) < enough:
        runs.append(run_measured(__file__, argv, args.threads))
    write_json({"runs": runs, "model_bytes": args.model.stat().st_size}, args.output)


if __name__ == "__main__":
    main()
