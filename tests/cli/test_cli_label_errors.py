"""``hiclass label-errors``."""

import pytest
from cli_helpers import HEADER, make_rows, read, write_csv


@pytest.fixture
def noisy(tmp_path):
    rows = make_rows(120)
    wrong = next(i for i, row in enumerate(rows) if i > 20 and row[1:3] == ["Loan", "Car"])
    rows[wrong][1:3] = ["Card", "Debit"]
    return write_csv(tmp_path / "noisy.csv", rows), rows[wrong][0]


def test_the_wrong_row_comes_first_with_its_level(run, model, noisy, tmp_path):
    path, wrong = noisy
    out, err = run("label-errors", model, path, "--cv", "3", "--rows", "10")
    rows = read(out)
    assert len(rows) == 10
    assert wrong in [row["id"] for row in rows]
    found = next(row for row in rows if row["id"] == wrong)
    assert (found["label_error_level"], found["suggested"]) == ("1", "Loan")
    assert "Estimated share of wrong labels:" in err


def test_a_column_that_is_there_already_is_refused(fails, model, tmp_path):
    path = write_csv(tmp_path / "row.csv", make_rows(60), header=["row", *HEADER[1:]])
    message = fails("label-errors", model, path, "--cv", "2")
    assert "row.csv already has a column 'row'. Rename it." in message


def test_rows_have_their_numbers_in_the_file(run, model, tmp_path):
    rows = make_rows(60)
    rows[4][1:3] = rows[9][1:3] = ["", ""]
    path = write_csv(tmp_path / "gaps.csv", rows)
    out, _ = run("label-errors", model, path, "--cv", "2", "--skip-unlabelled")
    found = read(out)
    assert len(found) == 58
    assert all(rows[int(row["row"]) - 1][0] == row["id"] for row in found)


def test_more_folds_than_rows_are_refused(fails, model, tmp_path):
    path = write_csv(tmp_path / "few.csv", make_rows(3))
    assert "--cv 5 is more than the 3 rows. Use fewer folds." in fails("label-errors", model, path)
