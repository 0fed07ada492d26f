"""How long imports take: ours beside that of ``sklearn.linear_model``, in fresh processes.

    python benchmarks/import_time.py --output benchmarks/results/import_time.json

The statements take turns, so that a busy machine slows all of them alike. The time is that of the
statement, measured inside the process, without the start of the interpreter.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

from _common import environment, write_json

STATEMENTS = {
    "hiclass": "import hiclass",
    "first estimator": "from hiclass import LocalClassifierPerParentNode",
    "sklearn.linear_model": "import sklearn.linear_model",
}
PROGRAM = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def measure(repeat: int) -> dict[str, list[float]]:
    """Seconds of every statement, turn by turn."""
    seconds: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for turn in range(-1, repeat):  # the first turn fills the caches of the file system
        for name, statement in STATEMENTS.items():
            program = [sys.executable, "-c", PROGRAM.format(statement)]
            found = float(
                subprocess.run(program, capture_output=True, text=True, check=True).stdout
            )
            if turn >= 0:
                seconds[name].append(found)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=21)
    parser.add_argument("--output")
    args = parser.parse_args()
    seconds = measure(args.repeat)
    medians = {name: median(values) for name, values in seconds.items()}
    base = medians["sklearn.linear_model"]
    ratios = {name: value / base for name, value in medians.items()}
    for name in STATEMENTS:
        print(f"{name:22} {1000 * medians[name]:7.1f} ms  {ratios[name]:.3f}")
    found = {"repeat": args.repeat, "median_s": medians, "ratio_to_sklearn": ratios}
    if args.output is not None:
        write_json(found | {"environment": environment()}, args.output)


if __name__ == "__main__":
    main()
