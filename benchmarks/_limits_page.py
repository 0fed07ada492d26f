"""The table of extreme sizes in ``docs/appendix/limits.md``, from the result of ``limits.py``."""

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


def show_hard(result: dict[str, Any]) -> str:
    """CPU seconds and memory of the hard cases, before and after."""
    rows = []
    for case in result["cases"]:
        for step, after in case["after"].items():
            before = case.get("before", {})
            clock, form = ("wall", ".2f") if "n_jobs" in step else ("cpu", ".1f")
            old = before.get(step) or {}
            stopped = "stopped" if "failed" in before else ""
            rows.append(
                (
                    case["name"],
                    step,
                    f"{old[clock]:{form}}" if old else stopped,
                    f"{after[clock]:{form}}",
                    f"{old['mib']:,}" if old else stopped and "8,000",
                    f"{after['mib']:,}",
                )
            )
    header = ("case", "step", "s before", "s", "MiB before", "MiB")
    return table(header, rows)
