"""PECOS for automation.py: its twenty best endings of every test row, and their scores.

    PYTHON _automation_pecos.py SET.npz OUTPUT.npz

Runs in the environment of PECOS. Its own score of a path is what it is judged by.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "race"))
from contestants import THREADS, as_sparse, cluster_chain, one_hot
from sets import load

N_BEST = 20


def main(file: str, output: str) -> None:
    from pecos.utils.cluster_util import ClusterChain
    from pecos.xmc.xlinear.model import XLinearModel

    race = load(Path(file))
    X, X_test = (as_sparse(rows, np.float32) for rows in (race.X, race.X_test))
    chain = ClusterChain(cluster_chain(race))
    model = XLinearModel.train(X, one_hot(race, np.float32).tocsc(), C=chain, threads=THREADS)
    found = model.predict(X_test, only_topk=N_BEST, threads=THREADS).tocsr()
    endings = np.full((X_test.shape[0], N_BEST), -1)
    scores = np.zeros(endings.shape)
    for row in range(X_test.shape[0]):
        here = slice(found.indptr[row], found.indptr[row + 1])
        best = np.argsort(-found.data[here], kind="stable")
        endings[row, : len(best)] = found.indices[here][best]
        scores[row, : len(best)] = found.data[here][best]
    np.savez(output, endings=endings, scores=scores)


if __name__ == "__main__":
    main(*sys.argv[1:])
