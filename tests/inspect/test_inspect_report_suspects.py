"""What the report shows of labels that are probably wrong: only if it is given them."""

import numpy as np
import pytest

from hiclass import LocalClassifierPerParentNode, find_label_errors, make_report
from hiclass.datasets import make_hierarchical_classification


@pytest.fixture(scope="module")
def data():
    X, y = make_hierarchical_classification(
        200, branching=[3, 2], depth=2, noise=0.6, random_state=0, return_X_y=True
    )
    y[3] = y[next(i for i in range(200) if y[i, 0] != y[3, 0])]
    return X, y


@pytest.fixture(scope="module")
def model(data):
    return LocalClassifierPerParentNode().fit(*data)


@pytest.fixture(scope="module")
def found(model, data):
    return find_label_errors(model, *data, cv=3)


def test_the_most_suspicious_rows_are_shown_in_their_order(model, data, found):
    report = make_report(model, *data, label_errors=found)
    shown = report.data["label_errors"]
    assert (shown["rows"], shown["likely"]) == (200, (found.probability > 0.5).sum())
    assert shown["shares"] == pytest.approx(found.shares, abs=1e-4)
    table = shown["table"]
    assert [row["row"] for row in table] == found.rows[:50].tolist()
    place = table.index(next(row for row in table if row["row"] == 3))
    assert place < 5
    row = table[place]
    assert row["given"] == data[1][3].tolist()
    assert (row["level"], len(row["suggested"])) == (1, 1)
    assert row["suggested"] != row["given"][:1]
    assert row["probability"] == pytest.approx(found.probability[place], abs=1e-4)
    assert row["confidence"] == pytest.approx(found.confidence[place], abs=1e-4)
    assert report.html.count('id="label-errors"') == 1


def test_without_them_there_are_none_and_few_rows_are_all_shown(model, data):
    assert make_report(model, *data).data["label_errors"] is None
    few = np.r_[0:40]
    found = find_label_errors(model, data[0][few], data[1][few], cv=2)
    shown = make_report(model, *data, label_errors=found).data["label_errors"]
    assert len(shown["table"]) == shown["rows"] == 40


def test_something_else_is_refused(model, data):
    with pytest.raises(TypeError, match=r"the result of find_label_errors; got a list"):
        make_report(model, *data, label_errors=[1, 2])
