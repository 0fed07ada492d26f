"""A short version of the benchmarks, in a few minutes; what ``make bench`` runs.

    python benchmarks/bench.py --output build/bench [--data DATA] [--envs build/race]

Runs the race at 2,000 rows per set, without the slowest contestants, the scaling curves up to
10,000 rows, the cost of bookkeeping and that of the metrics. Results are JSON files in the output
folder, with versions, machine and command; the stored results of the documentation are not touched.
The real sets need the folder DATA. Other libraries take part where ``benchmarks/race/race.py`` has
made their environments. The paper's study has a short version of its own:
``make study CONFIG="data=FILE rows=300 trials=0 repeats=1"``.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
# Contestants that take longer than all others together.
SLOW = ("flat LogisticRegression", "hiclass, greedy logistic", "hiclass, global forest")


def steps(output: Path, data: Path | None, envs: Path) -> dict[str, list[str]]:
    """The commands, by title."""
    published = envs / "published" / "bin" / "python"
    beside = ["--published", str(published)] if published.exists() else []
    race = ["race/race.py", "--quick", "--existing", "--time-limit", "60"]
    race += ["--envs", str(envs), "--output-folder", str(output)]
    race += [] if beside else ["--family", "peers"]
    race += ["--without", *SLOW]
    race += ["--data", str(data)] if data else ["--sets", "synthetic"]
    book = ["bookkeeping.py", "--repeat", "2", "--seconds", "0"]
    metrics = ["metrics.py", "--rows", "100000", "--repeats", "2"]
    return {
        "The race": race,
        "Scaling": ["scaling.py", "--quick", *beside, "--output", str(output / "scaling.json")],
        "Bookkeeping": [*book, "--output", str(output / "bookkeeping.json")],
        "Metrics": [*metrics, *beside, "--output", str(output / "metrics.json")],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, required=True, help="folder for the results")
    parser.add_argument("--data", type=Path, help="folder with the real sets")
    parser.add_argument("--envs", type=Path, default=Path("build/race"), help="as in race.py")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    failed = []
    for title, command in steps(options.output, options.data, options.envs.resolve()).items():
        print(f"\n== {title}", flush=True)
        start = time.monotonic()
        script, *arguments = command
        done = subprocess.run([sys.executable, "-W", "ignore", str(HERE / script), *arguments])
        print(f"({time.monotonic() - start:.0f} s)", flush=True)
        if done.returncode:
            failed.append(title)
    print(
        f"\nThe results are in {options.output}. The quick sizes show that everything runs; their"
    )
    print("figures are noisy, and those of docs/how_good.md are from the whole sets.")
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
