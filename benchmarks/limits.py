"""Very deep, wide, many and long: what extreme sizes take in time and memory.

Each case runs in a process of its own, whose memory is watched. Local classifiers are ``Ruler``
(tests/limits.py), which has a constant cost per class: the figures are those of hiclass.

    python benchmarks/limits.py --json benchmarks/results/limits.json
    python benchmarks/limits.py --small    # a tenth of the sizes, to try it

``--only wide`` runs the cases of one kind, and keeps the others of the file.

``--hard`` runs other cases instead, with classifiers of scikit-learn: what is hard to predict, and
which part of the time is theirs. ``--before SRC`` also runs them with the sources of another
checkout, in turns.

    python benchmarks/limits.py --hard --before OTHER/src --json benchmarks/results/limits_hard.json
"""

import argparse
import json
import os
import pickle
import sys
import time
from pathlib import Path

from _common import environment, run_child, write_json
from _limits_hard import HARD, run_hard
from _limits_page import show, show_hard

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

#: Name, what is built, the size, the estimator.
CASES = [
    ("1,000 levels, per parent node", "deep", 1_000, "LocalClassifierPerParentNode"),
    ("1,000 levels, per node", "deep", 1_000, "LocalClassifierPerNode"),
    ("1,000 levels, per level", "deep", 1_000, "LocalClassifierPerLevel"),
    ("1,000 levels, flat", "deep", 1_000, "FlatClassifier"),
    ("a class with 1,000,000 children, per parent node", "wide", 1_000_000,
     "LocalClassifierPerParentNode"),
    ("a class with 1,000,000 children, per level", "wide", 1_000_000, "LocalClassifierPerLevel"),
    ("a class with 1,000,000 children, flat", "wide", 1_000_000, "FlatClassifier"),
    ("1,000,000 labels on 3 levels, per parent node", "many", 1_000_000,
     "LocalClassifierPerParentNode"),
    ("labels of 10,000 characters, per parent node", "long", 10_000,
     "LocalClassifierPerParentNode"),
]  # fmt: skip
TIMED = ("fit", "predict", "predict_proba", "predict_paths", "score", "pickle", "json")


def run_case(kind: str, size: int, name: str) -> dict[str, float]:
    """Time every step; prediction is for 100 rows."""
    import limits
    import numpy as np

    import hiclass

    X, y = getattr(limits, kind)(size)
    model = getattr(hiclass, name)(limits.Ruler())
    rows = np.linspace(0, len(X) - 1, 100).astype(int)
    some, labels = X[rows], [y[i] for i in rows]
    actions = {
        "fit": lambda: model.fit(X, y),
        "predict": lambda: model.predict(some),
        "predict_proba": lambda: model.predict_proba(some),
        "predict_paths": lambda: model.predict_paths(some, 3),
        "score": lambda: model.score(some, labels),
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "json": lambda: hiclass.Hierarchy.from_json(model.hierarchy_.to_json()),
    }
    seconds = {}
    for step in TIMED:
        start = time.process_time()
        actions[step]()
        seconds[step] = round(time.process_time() - start, 2)
    return seconds


def compare(arguments: argparse.Namespace) -> None:
    """Run the hard cases with these sources, and with those of another checkout."""
    sources = {"after": str(ROOT / "src")}
    if arguments.before:
        sources = {"before": arguments.before, **sources}
    result = {
        "command": "python benchmarks/limits.py --hard --before OTHER/src --json "
        "benchmarks/results/limits_hard.json",
        "what": "per step CPU seconds, seconds, and the peak of memory above what was held when it "
        "began, in MiB; stopped at 8 GB",
        **environment(),
        "cases": [],
    }
    for title, kind, size in HARD:
        if arguments.only not in (None, kind):
            continue
        case = {"name": title, "kind": kind, "size": size // 10 if arguments.small else size}
        for name, source in sources.items():
            command = [sys.executable, str(Path(__file__)), "--hard-case", kind, str(case["size"])]
            env = os.environ | {"PYTHONPATH": source}
            done = run_child(command, time_limit=1800, memory_limit=8e9, env=env)
            steps = json.loads(done["lines"][-1]) if done["lines"] else None
            case[name] = steps or {"failed": done["stopped"] or done["error"]}
        result["cases"].append(case)
        print(case, flush=True)
    write_json(result, arguments.json)
    print(show_hard(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--case", nargs=3)
    parser.add_argument("--hard", action="store_true")
    parser.add_argument("--before")
    parser.add_argument("--hard-case", nargs=2)
    arguments = parser.parse_args()
    if arguments.hard_case:
        kind, size = arguments.hard_case
        print(json.dumps(run_hard(kind, int(size))))
        return
    if arguments.hard:
        compare(arguments)
        return
    if arguments.case:
        kind, size, name = arguments.case
        print(json.dumps(run_case(kind, int(size), name)))
        return
    result = {
        "command": "python benchmarks/limits.py --json benchmarks/results/limits.json",
        "what": "CPU seconds of each step, their sum, and the peak memory of the process; "
        "prediction of 100 rows",
        **environment(),
        "cases": [],
    }
    before = {}
    if arguments.only and arguments.json and Path(arguments.json).exists():
        before = {c["name"]: c for c in json.loads(Path(arguments.json).read_text())["cases"]}
    for title, kind, size, name in CASES:
        if arguments.only not in (None, kind):
            result["cases"] += [before[title]] if title in before else []
            continue
        size = size // 10 if arguments.small else size
        command = [sys.executable, str(Path(__file__)), "--case", kind, str(size), name]
        done = run_child(command, time_limit=900)
        case = {"name": title, "size": size, "estimator": name}
        if done["lines"]:
            steps = json.loads(done["lines"][-1])
            case |= {"seconds": round(sum(steps.values()), 1), "steps": steps}
        else:
            case |= {"failed": done["stopped"] or done["error"]}
        case["peak_mib"] = round(done["peak_bytes"] / 2**20)
        result["cases"].append(case)
        print(case, flush=True)
    write_json(result, arguments.json)
    print(show(result))


if __name__ == "__main__":
    main()
