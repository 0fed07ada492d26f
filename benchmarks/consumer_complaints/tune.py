"""Search the paper's grid for the best hF by cross-validation on training rows, with Optuna.

Combinations are tried in a fixed order, the defaults first. A trial whose mean over the folds so
far is below the median of the earlier trials, after at least two folds, is stopped.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _study import GRIDS, grid_points, load_features, make_model, write_json
from sklearn.model_selection import KFold

from hiclass.metrics import f1


def fold_scores(make: Callable[[], Any], X: Any, y: np.ndarray, cv: Any) -> Iterator[float]:
    """The hF of a new model on each fold, one after the other."""
    for train, test in cv.split(X):
        model = make().fit(X[train], y[train])
        yield float(f1(y[test], model.predict(X[test])))


def search(
    score: Callable[[dict[str, Any]], Iterator[float]],
    grid: dict[str, list[Any]],
    points: list[dict[str, Any]],
    n_folds: int,
    timeout: float | None = None,
) -> list[dict[str, Any]]:
    """Try the points; params, hF of every fold, state and processor seconds of each trial."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=1, n_warmup_steps=1)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    for point in points:
        study.enqueue_trial(point)

    def objective(trial: Any) -> float:
        params = {name: trial.suggest_categorical(name, values) for name, values in grid.items()}
        start, scores = time.process_time(), []
        for step, value in enumerate(score(params)):
            scores.append(value)
            trial.set_user_attr("folds", scores)
            trial.set_user_attr("cpu", time.process_time() - start)
            trial.report(float(np.mean(scores)), step)
            if step + 1 < n_folds and trial.should_prune():
                raise optuna.TrialPruned
        return float(np.mean(scores))

    study.optimize(objective, n_trials=len(points), timeout=timeout)
    return [
        {
            "params": trial.params,
            "folds": [round(v, 4) for v in trial.user_attrs["folds"]],
            "state": trial.state.name.lower(),
            "cpu": round(trial.user_attrs["cpu"], 2),
        }
        for trial in study.trials
        if "folds" in trial.user_attrs
    ]


def best_of(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """The complete trial with the highest mean; of equal ones the one that took the least time."""
    complete = [trial for trial in trials if trial["state"] == "complete"]
    return max(complete, key=lambda t: (round(np.mean(t["folds"]), 4), -t["cpu"]))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--features", type=Path, required=True, help="what features.py wrote")
    parser.add_argument("--base", choices=GRIDS, required=True)
    parser.add_argument("--strategy", required=True)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--trials", type=int, help="combinations to try; 0: take the defaults")
    parser.add_argument("--tune-rows", type=int, help="training rows to tune on; all by default")
    parser.add_argument("--timeout", type=float, help="start no new trial after so many seconds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    X, y = load_features(args.features, "train")
    # prepare.py has shuffled the rows, so that the first are a sample.
    X, y = X[: args.tune_rows], y[: args.tune_rows]
    cv = KFold(args.folds, shuffle=True, random_state=args.seed)

    def score(params: dict[str, Any]) -> Iterator[float]:
        make = lambda: make_model(args.strategy, args.base, [params], args.seed, args.threads)  # noqa: E731
        return fold_scores(make, X, y, cv)

    points = grid_points(args.base, args.seed)
    trials: list[dict[str, Any]] = []
    found: dict[str, Any] = {"params": points[0], "hF": None}
    if args.trials != 0:
        trials = search(score, GRIDS[args.base], points[: args.trials], args.folds, args.timeout)
        best = best_of(trials)
        found = {"params": best["params"], "hF": round(float(np.mean(best["folds"])), 4)}
    found |= {
        "n_rows": len(y),
        "n_grid": len(points),
        "trials": trials,
    }
    write_json(found, args.output)


if __name__ == "__main__":
    main()
