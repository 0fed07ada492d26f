"""A queue as it is read: what it needs, and what is said where it is not what triage wrote."""

import numpy as np
import pytest
from desk_helpers import PATHS, REASON, TREE, queue_columns

from hiclass import Hierarchy
from hiclass._inspect.queues import MODEL, REASONS, TAXONOMY, taxonomy_mark
from hiclass._serving.desk.queue import QueueError, read_queue


def read(columns, features=("text",), tree=TREE, model="m"):
    return read_queue(columns, features, tree, model)


def test_suggestions_become_nodes():
    queue = read(queue_columns())
    assert queue.n_rows == 6
    nodes = [TREE.find(path) for path in PATHS]
    assert queue.suggestions[0].tolist() == nodes[:3]
    assert queue.suggestions[1].tolist() == [*nodes[1:3], -1]
    np.testing.assert_allclose(queue.probabilities[1], [0.5, 0.25, 0])
    assert queue.reasons.tolist() == [None, None, REASON, None, None, None]
    assert list(queue.cells) == ["id", "text", "amount", "source_row"]


def test_rows_with_the_same_features_are_identical():
    queue = read(queue_columns())
    assert [queue.identical(row) for row in (0, 2, 5)] == [[0], [2, 5], [2, 5]]
    assert read(queue_columns(), ["text", "amount"]).identical(2) == [2]


def test_reasons_may_be_left_out():
    columns = queue_columns()
    del columns[REASONS]
    assert read(columns).reasons.tolist() == [None] * 6


@pytest.mark.parametrize("name", [MODEL, TAXONOMY, "suggestion_1", "probability_1", "text"])
def test_a_missing_column_is_named(name):
    columns = queue_columns()
    del columns[name]
    with pytest.raises(QueueError, match=f"The queue has no column '{name}'. Use a file written"):
        read(columns)


def fails(change, match, row):
    columns = queue_columns()
    change(columns)
    with pytest.raises(QueueError, match=match) as error:
        read(columns)
    assert error.value.row == row


def test_a_queue_of_another_model_or_of_other_classes_is_refused():
    with pytest.raises(QueueError, match=r"from a model other than the given one \(the classes"):
        read(queue_columns(model="other"))
    more = Hierarchy.from_paths([*PATHS, ("Card", "Fee")])
    with pytest.raises(QueueError, match="from a taxonomy other than that of the model"):
        read(queue_columns(), tree=more)

    def one(columns):
        columns[MODEL][4] = "other"

    fails(one, "from a model other", 4)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        (
            "suggestion_2",
            "Loan > Car",
            "'Loan > Car' in 'suggestion_2' is not a path in the",
        ),
        ("suggestion_2", "[]", "is not a path"),
        ("suggestion_2", '["Loan", 1.5]', "is not a path"),
        ("suggestion_2", "[" * 100_000, "is not a path"),
        ("suggestion_2", '["Loan", "Boat"]', "is not a class of the model"),
        ("probability_2", "often", "'often' in 'probability_2' is not a probability"),
        ("probability_2", None, "is not a probability"),
        ("probability_2", "1.5", "is not a probability"),
        ("reasons", "because", "'because' in 'reasons' is not the format of hiclass triage"),
        ("reasons", "[1]", "is not the format of hiclass triage"),
    ],
)
def test_a_wrong_cell_is_placed(name, value, match):
    def change(columns):
        columns[name][3] = value

    fails(change, match, 3)


def test_the_mark_of_a_taxonomy_depends_on_labels_and_places_only():
    marks = {
        taxonomy_mark(Hierarchy.from_paths(paths))
        for paths in (
            PATHS,
            PATHS[:-1],
            [("Card", "Car"), *PATHS[:2], *PATHS[3:]],
            [(1, 2)],
            [("1", "2")],
        )
    }
    assert len(marks) == 5
    assert taxonomy_mark(Hierarchy.from_paths(PATHS[::-1])) == taxonomy_mark(TREE)
