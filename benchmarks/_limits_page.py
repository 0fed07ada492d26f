"""The table of extreme sizes in ``docs/robustness.md``, from the result of ``limits.py``."""

from typing import Any

from _common import table

SHOWN = ("fit", "predict", "predict_proba", "predict_paths")


def show(result: dict[str, Any]) -> str:
    """CPU seconds of some steps and of all, and the peak memory, by case."""
    rows = [
        (
            case["name"],
            *(f"{case['steps'][step]:.1f}" for step in SHOWN),
            f"{case['seconds']:.1f}",
            f"{case['peak_mib']:,}",
        )
        for case in result["cases"]
        if "steps" in case
    ]
    return table(("size", *SHOWN, "all steps", "peak MiB"), rows)
