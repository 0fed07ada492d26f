"""``hiclass compare``."""

import pytest
from cli_helpers import HEADER, make_rows, read, write_csv


@pytest.fixture
def then(tmp_path):
    return write_csv(tmp_path / "then.csv", make_rows(200))


@pytest.fixture
def changed(tmp_path):
    """Complaints of one class only."""
    rows = [row for row in make_rows(1000) if row[1:3] == ["Loan", "Car"]]
    return write_csv(tmp_path / "now.csv", rows)


def test_the_same_rows_are_no_change(run, model, then):
    out, err = run("compare", model, then, then)
    assert out == "No significant change (200 rows then, 200 now).\n"
    assert err.count("Read ") == 2


def test_what_has_changed_is_named_and_all_tests_are_in_the_table(
    run, model, then, changed, tmp_path
):
    table = tmp_path / "compared.csv"
    out, err = run("compare", model, then, changed, "-o", table)
    lines = out.splitlines()
    assert lines[0] == "Changed (200 rows then, 200 now):"
    # A fifth of the rows of then is about cars: the others have moved.
    assert "classes of level 2, share that moved: 0 then, 0.8 now" in lines
    assert any(line.startswith("feature about engine: 0.2 then, 1 now") for line in lines)
    assert f"Wrote {table}: all comparisons" in err
    rows = read(table.read_text(encoding="utf-8"))
    assert list(rows[0]) == ["kind", "what", "then", "now", "p_value", "changed"]
    tests = [row for row in rows if row["kind"] == "test"]
    assert {row["what"] for row in tests if row["changed"] == "true"} == {
        line.split(": ")[0] for line in lines[1:]
    }
    assert {row["changed"] for row in rows if row["kind"] != "test"} == {""}
    car = next(row for row in rows if row["what"] == "Loan > Car")
    assert (car["kind"], float(car["now"])) == ("class", 1.0)


def test_a_guarantee_is_mentioned_and_false_alarms_can_be_rarer(
    run, model, then, changed, tmp_path
):
    sure = tmp_path / "sure.skops"
    run("guarantee", model, then, "--max-error", "0.1", "-o", sure)
    out, _ = run("compare", sure, then, changed, "-q")
    assert "do not rely on it" in out
    out, _ = run("compare", sure, then, changed, "--max-false-alarms", "1e-300", "-q")
    assert out.startswith("No significant change (200 rows then, 200 now). There is no evidence")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-", "-"), "Only one of the two files can be standard input."),
        (("then.csv", "then.csv", "-o", "-"), "-o needs the name of a file"),
        (("then.csv", "nothing.csv"), "nothing.csv"),
        (("then.csv", "empty.csv"), "empty.csv has a header but no rows"),
        (("then.csv", "short.csv"), "short.csv has no column 'amount'"),
        (("then.csv", "bad.csv"), "bad.csv, line 2"),
    ],
)
def test_what_is_wrong_is_said(fails, model, then, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "short.csv", [row[:4] for row in make_rows(5)], header=HEADER[:4])
    write_csv(tmp_path / "empty.csv", [])
    write_csv(tmp_path / "bad.csv", [[*row[:4], "much", row[5]] for row in make_rows(5)])
    assert message in fails("compare", model, *arguments)
