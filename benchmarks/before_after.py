"""Does a change cost time or memory? Two checkouts, in pairs of fresh processes that take turns.

    PYTHON benchmarks/before_after.py --before OTHER/src --output FILE
    PYTHON benchmarks/before_after.py --before OTHER/src --data DATA --only quick --output FILE

The work is that of bookkeeping.py (GaussianNB on 10 x 10 x 10 classes, every strategy) and the
quick recipe of the race on text; with ``--only``, also the network. The two processes of a pair run
every step by turns, so that what else the machine does hits both alike; the lowest processor time
of each counts. Shown are the median ratio over the pairs and its 95 % interval over resampled
pairs. Without ``--data`` the text is synthetic. Needs psutil.
"""

import argparse
import gc
import math
import os
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from _common import environment, table, write_json
from bookkeeping import ROWS, STRATEGIES, make_data, make_model
from sklearn.naive_bayes import GaussianNB

ROOT = Path(__file__).resolve().parents[1]
RACE = Path(__file__).parent / "race"
STEPS = ("fit", "predict")
FEWEST_TURNS, AT_LEAST = 5, 1.5  # per step and pair; seconds of processor time of both
SMALL = 10_000  # rows for strategies whose local classifiers have very many classes
#: The network on dense and on sparse rows; both need PyTorch in both checkouts.
NETWORKS = ("network", "sparse network")
CASES = (*STRATEGIES, "quick", *NETWORKS)


def work(case, file):
    """Run the steps that are asked for, and tell the processor seconds of each."""
    if case == "quick":
        sys.path.insert(0, str(RACE))
        from contestants import QUICK, all_contestants
        from sets import load

        # One job: threads that share the generator of liblinear do not do the same work twice.
        prepare = partial(all_contestants()[QUICK].prepare, n_jobs=1)
        ready = prepare(load(Path(file)), Path())
        fit, predict = ready.fit, ready.predict
    elif case in NETWORKS:
        fit, predict = network_steps(sparse=case != "network")
    else:
        rows = SMALL if case in ("level", "flat") else ROWS
        X, y = make_data(rows, (10, 10, 10))
        X_new, _ = make_data(SMALL, (10, 10, 10), seed=1)

        def fit():
            return make_model(case, GaussianNB()).fit(X, y)

        def predict(model):
            return model.predict(X_new)

    model = fit()
    predict(model)
    for line in sys.stdin:  # the name of a step
        gc.collect()
        start = time.process_time()
        if line.strip() == "fit":
            model = fit()
        else:
            predict(model)
        print(time.process_time() - start, flush=True)
    print(peak_memory(), flush=True)


def network_steps(*, sparse):
    """The same training in both checkouts: what rules decide is given."""
    import scipy.sparse as sp

    from hiclass.torch import HierarchicalSoftmaxClassifier

    X, y = make_data(SMALL // 4, (10, 10, 10))
    X = X.astype(np.float32)
    if sparse:
        X = sp.csr_matrix(np.where(np.quantile(X, 0.8) < X, X, 0))
    given = {"loss": "leaf", "penalty": 1e-6, "learning_rate": 0.01, "batch_size": 256}
    model = HierarchicalSoftmaxClassifier(
        **given, max_epochs=2, decoding="top_down", device="cpu", random_state=0
    )
    return partial(model.fit, X, y), lambda fitted: fitted.predict(X)


def peak_memory():
    """The peak of resident memory of this process in bytes.

    Where the system tells it in a file: getrusage also counts the process that this one came from.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return 1024 * int(peak.split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Worker:
    """A process with the sources of one checkout, which runs a step whenever it is told to."""

    def __init__(self, case, source, file):
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", case, str(file)],
            env=os.environ | one_thread | {"PYTHONPATH": source},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.seconds = dict.fromkeys(STEPS, math.inf)

    def run(self, step):
        """Run a step and keep its lowest time."""
        self.process.stdin.write(f"{step}\n")
        self.process.stdin.flush()
        seconds = float(self.process.stdout.readline())
        self.seconds[step] = min(seconds, self.seconds[step])
        return seconds

    def finish(self):
        """The lowest time of every step, and the peak of memory in bytes."""
        output, _ = self.process.communicate()
        return self.seconds | {"memory": int(output)}


def compare(case, sources, file, pairs):
    """The samples of one case."""
    samples = {name: [] for name in sources}
    for pair in range(pairs):
        workers = {name: Worker(case, source, file) for name, source in sources.items()}
        for worker in workers.values():  # both are ready before a clock runs
            worker.run("predict")
        for step in STEPS:
            total = turn = 0
            while turn < FEWEST_TURNS or total < AT_LEAST:
                turn += 1
                names = list(workers) if (turn + pair) % 2 else reversed(workers)
                total += sum(workers[name].run(step) for name in names)
        for name, worker in workers.items():
            samples[name].append(worker.finish())
    return samples


def interval(ratios):
    """The median, and its 95 % interval over resampled pairs."""
    rng = np.random.default_rng(0)
    draws = np.median(ratios[rng.integers(0, len(ratios), (20_000, len(ratios)))], axis=1)
    return [float(v) for v in (np.median(ratios), *np.percentile(draws, [2.5, 97.5]))]


def show(result):
    """One row per case and step."""
    rows = []
    for case, samples in result["cases"].items():
        for key in (*STEPS, "memory"):
            before, after = (np.array([s[key] for s in samples[n]]) for n in ("before", "after"))
            unit = 1e6 if key == "memory" else 1
            middle, low, high = interval(after / before)
            rows.append([case, key, f"{np.median(before) / unit:.3f}"])
            rows[-1] += [f"{np.median(after) / unit:.3f}", f"{middle:.3f}", f"{low:.3f}-{high:.3f}"]
    return table(["case", "CPU s, or MB", "before", "after", "median ratio", "95 %"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", metavar="SRC", help="the sources of another checkout")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--only", nargs="+", choices=CASES, default=(*STRATEGIES, "quick"))
    parser.add_argument("--data", type=Path, help="folder of the data sets: complaints for quick")
    parser.add_argument("--sets", type=Path, default=Path("race_sets"), help="prepared sets")
    parser.add_argument("--output", metavar="FILE", help="where the results go, as JSON")
    parser.add_argument("--worker", nargs=2, metavar=("CASE", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(*arguments.worker)
        return
    if not arguments.before:
        parser.error("--before is needed: the folder src of the checkout to compare with")
    sys.path.insert(0, str(RACE))
    from sets import prepare

    name = "synthetic" if arguments.data is None else "cfpb"
    file = prepare(name, arguments.data, arguments.sets, quick=False)
    sources = {"before": arguments.before, "after": str(ROOT / "src")}
    result = {"pairs": arguments.pairs, "text": name} | environment() | {"cases": {}}
    for case in arguments.only:
        print(f"{case} ...", file=sys.stderr)
        result["cases"][case] = compare(case, sources, file, arguments.pairs)
        write_json(result, arguments.output)
    print(show(result))


if __name__ == "__main__":
    main()
