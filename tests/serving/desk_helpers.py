"""A small queue, its classes and a desk, without files of models."""

import numpy as np

from hiclass import Hierarchy
from hiclass._inspect.queues import (
    MODEL,
    REASONS,
    SOURCE,
    TAXONOMY,
    path_cell,
    probability_column,
    suggestion_column,
    taxonomy_mark,
)
from hiclass._serving.desk.desk import Desk
from hiclass._serving.desk.journal import Journal
from hiclass._serving.desk.queue import read_queue

PATHS = [
    ("Card", "Charge"),
    ("Card", "Theft"),
    ("Loan", "Car"),
    ("Loan", "House"),
    ("Loan", "Student"),
]
TREE = Hierarchy.from_paths(
    PATHS,
    texts={
        ("Loan", "Car"): ["Car loan", "money for a vehicle or automobile"],
        ("Loan", "House"): ["Mortgage"],
        ("Card", "Theft"): "stolen Tür",
    },
)
#: The texts of the rows; the suggestions of row i start with path i.
TEXTS = ["charged twice", "card stolen", "car engine", "house", "student", "car engine"]
REASON = (
    '{"for": "Car", "against": "House", "features": '
    '[{"name": "engine", "column": "text", "word": "engine", "weight": 1.5}]}'
)


def objects(values):
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def queue_columns(texts=TEXTS, model="m", tree=TREE, paths=PATHS, reason=REASON):
    """The columns of a queue as they are read from a file."""
    n_rows, n_paths = len(texts), len(paths)
    columns = {
        "id": [f"c{i}" for i in range(n_rows)],
        "text": texts,
        "amount": [None if i % 2 else str(i) for i in range(n_rows)],
    }
    for j in (1, 2, 3):
        columns[suggestion_column(j)] = [
            None if i == 1 and j == 3 else path_cell(paths[(i + j - 1) % n_paths])
            for i in range(n_rows)
        ]
        columns[probability_column(j)] = [
            None if i == 1 and j == 3 else str(0.5 / j) for i in range(n_rows)
        ]
    columns[REASONS] = [reason if i == 2 else None for i in range(n_rows)]
    columns[SOURCE] = [str(i + 1) for i in range(n_rows)]
    columns[MODEL] = [model] * n_rows
    columns[TAXONOMY] = [taxonomy_mark(tree)] * n_rows
    return {name: objects(values) for name, values in columns.items()}


def make_desk(path, clock=None, tree=TREE, **options):
    queue = read_queue(queue_columns(tree=tree, **options), ["text"], tree, "m")
    journal = Journal(path, {"queue": "q"})
    more = {} if clock is None else {"clock": clock}
    return Desk(queue, tree, journal, levels=["product", "kind"], title="queue.csv", **more)
