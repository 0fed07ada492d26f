"""Collect scores, times, memory and sizes of all models in one result file."""

import argparse
import json
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from _study import GRIDS, load_features, read_json, strategies, tuned_strategies, write_json

from hiclass.metrics import exact_match, f1, level_scores, precision, recall

# After _study, which makes what all benchmarks share importable.
# isort: split
from _common import environment
from _paired import bootstrap, count

TOOLS = ("lightgbm", "optuna", "snakemake", "pandas")


def scores(y_true: np.ndarray, y_pred: np.ndarray) -> dict[str, Any]:
    """hP, hR, hF and exact match; accuracy and macro F1 of each level."""
    by_level = level_scores(y_true, y_pred, zero_division=0)
    found = {
        "hP": precision(y_true, y_pred),
        "hR": recall(y_true, y_pred),
        "hF": f1(y_true, y_pred),
        "exact": exact_match(y_true, y_pred),
    }
    rounded = {name: round(float(value), 4) for name, value in found.items()}
    levels = {name: np.round(by_level[name], 4).tolist() for name in ("accuracy", "f1")}
    return rounded | {"levels": levels}


def median(values: list[float]) -> float:
    return round(float(np.median(values)), 3)


def costs(train: dict[str, Any], predict: dict[str, Any]) -> dict[str, Any]:
    """Medians of seconds, the largest peak, sizes; every single run beside them."""
    runs = train["runs"]
    return {
        "fit_cpu": median([run["cpu"] for run in runs]),
        "fit_wall": median([run["wall"] for run in runs]),
        "fit_cpu_runs": [round(run["cpu"], 3) for run in runs],
        "fit_peak_bytes": max(run["peak_bytes"] for run in runs),
        "fit_bytes_before": int(np.median([run["bytes_before"] for run in runs])),
        "model_bytes": train["model_bytes"],
        "predict_cpu": median(predict["cpu"]),
        "predict_wall": median(predict["wall"]),
        "predict_peak_bytes": predict["peak_bytes"],
    }


def tuning(work: Path, base: str, strategy: str) -> list[dict[str, Any]]:
    """What was tuned for a model, without the single trials."""
    out = []
    for name in tuned_strategies(strategy):
        found = read_json(work / base / name / "tuned.json")
        states = [trial["state"] for trial in found["trials"]]
        kept = {key: found[key] for key in ("params", "hF", "n_rows", "n_grid")}
        kept |= {"strategy": name, "n_trials": len(states), "n_pruned": states.count("pruned")}
        out.append(kept | {"cpu": round(sum(trial["cpu"] for trial in found["trials"]), 1)})
    return out


def collect(work: Path) -> list[dict[str, Any]]:
    """One entry per classifier with a row per model; what has not been run is left out."""
    out = []
    for base in [name for name in GRIDS if (work / name / "facts.json").exists()]:
        _, y_true = load_features(work / base, "test")
        counts: dict[str, np.ndarray] = {}
        rows = []
        for strategy in strategies():
            folder = work / base / strategy
            if not (folder / "predict.json").exists():
                continue
            y_pred = np.array(read_json(folder / "predictions.json"), dtype=object)
            counts[strategy] = count(y_true, y_pred)
            row = {"strategy": strategy} | scores(y_true, y_pred)
            if strategy != "flat" and "flat" in counts:
                row["minus_flat"] = bootstrap(counts[strategy], counts["flat"])
            row |= costs(read_json(folder / "train.json"), read_json(folder / "predict.json"))
            rows.append(row | {"tuning": tuning(work, base, strategy)})
        out.append({"base": base} | read_json(work / base / "facts.json") | {"rows": rows})
    return out


def versions() -> dict[str, Any]:
    found = environment()
    for name in TOOLS:
        try:
            found["versions"][name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="the folder of all steps")
    parser.add_argument("--untuned", type=Path, help="the folder of a run with trials=0, if any")
    parser.add_argument("--by-date", type=Path, help="the folder of a run with split=date, if any")
    parser.add_argument("--config", default="{}", help="settings to keep with it, as JSON")
    parser.add_argument("--command", default="", help="the command to keep with the results")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args(argv)
    config = json.loads(args.config)
    result = {"command": args.command, "config": config, "environment": versions()}
    result["bases"] = collect(args.work)
    for name in ("untuned", "by_date"):
        if getattr(args, name) is not None:
            result[name] = {"bases": collect(getattr(args, name))}
    write_json(result, args.output)


if __name__ == "__main__":
    main()
