"""One contestant on one set, in a fresh process: fits, predicts, saves, and tells how long it took.

    PYTHON worker.py NAME SET.npz FOLDER

Runs in the environment of the contestant, with NumPy, SciPy and psutil only beside its library.
Prints a line of JSON per step, so that one that is stopped has told what it did.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
from contestants import all_contestants
from sets import load


def processor_seconds() -> float:
    """Of this process, its threads and its child processes that are alive."""
    me = psutil.Process()
    times = [me.cpu_times(), *(child.cpu_times() for child in me.children(recursive=True))]
    return sum(t.user + t.system for t in times) + times[0].children_user + times[0].children_system


def timed(step, function, *arguments):
    start, start_cpu = time.perf_counter(), processor_seconds()
    result = function(*arguments)
    report(f"{step}_s", time.perf_counter() - start)
    report(f"{step}_cpu_s", processor_seconds() - start_cpu)
    return result


def report(key, value):
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value}), flush=True)


def main(name: str, file: str, folder: str) -> None:
    warnings.simplefilter("ignore")
    to = Path(folder)
    prepared = all_contestants()[name].prepare(load(Path(file)), to)
    report("before_bytes", psutil.Process().memory_info().rss)
    model = timed("fit", prepared.fit)
    answers = timed("predict", prepared.predict, model)
    np.save(to.parent / f"{to.name}.npy", np.asarray(answers))
    prepared.save(model, to)
    report("size_bytes", sum(f.stat().st_size for f in to.rglob("*") if f.is_file()))


if __name__ == "__main__":
    main(*sys.argv[1:])
