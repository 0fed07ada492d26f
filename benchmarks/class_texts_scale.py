"""Many classes by their words: seconds and memory for 100,000 classes and 100,000 rows.

    python benchmarks/class_texts_scale.py                         # writes results
    python benchmarks/class_texts_scale.py --rows 1000             # the rate on fewer rows

A simulated taxonomy: every class has a title of four words, some of which its siblings have, too; a
row has three words of its class and two others. Prints rows per second and the peak of memory.
``--dimensions`` compares dense vectors of so many numbers (a fixed random table of words) instead
of TF-IDF. One process; threads of the linear algebra as set.
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
from _common import environment, write_json

from hiclass import ClassTextClassifier, Hierarchy

RESULT = Path(__file__).parent / "results" / "class_texts_scale.json"


def taxonomy(n_classes, rng):
    """A tree of three levels with titles, and the words of every class."""
    words = [f"w{i:05d}" for i in range(50_000)]
    top, middle = 100, 1000
    of_middle = rng.integers(0, len(words), (middle, 2))
    own = rng.integers(0, len(words), (n_classes, 3))
    paths, texts, of_class = [], {}, []
    for i in range(n_classes):
        group = i % middle
        path = (f"a{group % top}", f"b{group}", f"c{i}")
        chosen = [*own[i].tolist(), int(of_middle[group, 0])]
        paths.append(list(path))
        of_class.append(chosen)
        texts[path] = " ".join(words[j] for j in chosen)
    return Hierarchy.from_paths(paths).with_texts(texts), paths, of_class, words


def rows_of(n_rows, of_class, words, rng):
    """Texts with three words of a class and two others, and the classes."""
    classes = rng.integers(0, len(of_class), n_rows)
    noise = rng.integers(0, len(words), (n_rows, 2))
    picked = [[*of_class[c][:3], *noise[i].tolist()] for i, c in enumerate(classes)]
    return [" ".join(words[j] for j in row) for row in picked], classes


class Table:
    """The mean of fixed random vectors of words."""

    def __init__(self, dimensions):
        self.dimensions = dimensions
        self.vectors = np.random.default_rng(1).normal(size=(50_000, dimensions)).astype(np.float32)

    def encode(self, texts):
        """One vector for each text."""
        places = [[int(word[1:]) for word in text.split()] for text in texts]
        return np.stack([self.vectors[place].mean(axis=0) for place in places])


def main():
    """Fit on titles, predict rows, print the rate and the memory."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--classes", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=None)
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    tree, paths, of_class, words = taxonomy(options.classes, rng)
    X, classes = rows_of(options.rows, of_class, words, rng)
    encoder = None if options.dimensions is None else Table(options.dimensions)
    start = time.perf_counter()
    model = ClassTextClassifier(encoder, hierarchy=tree).fit(None, None)
    fit_s, started, cpu = time.perf_counter() - start, time.perf_counter(), time.process_time()
    found = model.predict(X)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    right = np.mean([tuple(f) == tuple(paths[c]) for f, c in zip(found, classes, strict=True)])
    entry = {
        "classes": options.classes,
        "rows": options.rows,
        "encoder": "TF-IDF" if encoder is None else f"{options.dimensions} numbers",
        "fit_s": round(fit_s, 1),
        "predict_s": round(seconds, 1),
        "predict_cpu_s": round(cpu, 1),
        "rows_per_second": round(options.rows / seconds, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        "exact": round(float(right), 4),
    }
    print(entry, flush=True)
    write_json({**environment(), "runs": [entry]}, options.output)


if __name__ == "__main__":
    main()
