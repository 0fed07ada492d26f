"""``hiclass compare-flat``."""

import re

from cli_helpers import TARGET, make_rows, write_csv


def test_one_command_says_whether_the_hierarchy_helps(run, tmp_path):
    path = write_csv(tmp_path / "rows.csv", make_rows(120))
    out, err = run("compare-flat", path, "--target", *TARGET)
    assert "Does the hierarchy help? 3 folds, 120 rows" in out
    assert [line.split()[0] for line in out.splitlines() if re.match(r"(flat|local|both) ", line)]
    assert "local minus flat: exact match" in out
    assert "significant" in out or "The hierarchy" in out.splitlines()[-1]
    assert "Fold 3 of 3" in err
    assert "narrative" in err


def test_groups_stay_together_and_are_not_features(run, tmp_path):
    path = write_csv(tmp_path / "rows.csv", make_rows(120))
    _, err = run("compare-flat", path, "--target", *TARGET, "--groups", "id", "--text", "narrative")
    assert "120 groups of rows by id" in err


def test_one_level_is_refused_with_the_name_of_the_file(fails, tmp_path):
    path = write_csv(tmp_path / "rows.csv", make_rows(60))
    message = fails("compare-flat", path, "--target", "product")
    assert "rows.csv: y has one level" in message
