"""The demo: both parts print scores and paths; the second one on a part of its data."""

import re

from sklearn.utils import Bunch

from hiclass import datasets


def figures(out, level):
    """The figures of a level in the table of scores."""
    return re.search(rf"^{level} .*$", out, flags=re.MULTILINE)[0].split()


def test_animals(run, tmp_path):
    out, _ = run("demo", "--only", "animals", "--report-dir", tmp_path, "--jobs", "1")
    assert "215 rows to learn from, 72 to test on, 19" in out
    assert figures(out, 1)[1:3] == ["class", "12"]
    assert float(figures(out, 1)[5]) > 0.95
    assert len(re.findall(r"^    \S.* \d\.\d\d$", out, flags=re.MULTILINE)) == 10
    reports = [path.name for path in tmp_path.iterdir()]
    assert reports == ["animals.html"]
    assert re.search(r"The demo took \d+ s\.", out)


def test_diagnoses(run, tmp_path, monkeypatch):
    whole = datasets.load_icd10cm(as_frame=True)
    some = (whole.frame.index < 4000).nonzero()[0]

    def part(as_frame):
        assert as_frame
        rows = {name: whole[name].iloc[some] for name in ("data", "target", "frame")}
        arrays = {name: whole[name][some] for name in ("kind", "code", "group")}
        return Bunch(**rows, **arrays, target_names=whole.target_names)

    monkeypatch.setattr(datasets, "load_icd10cm", part)
    out, _ = run("demo", "--only", "icd10cm", "--report-dir", tmp_path)
    assert [figures(out, level)[1] for level in (1, 2, 3)] == ["chapter", "block", "category"]
    assert float(figures(out, 2)[5]) > 0.5
    assert "    true: 1 Certain infectious and parasitic di... > " in out


def test_a_report_folder_that_is_not_there_is_refused_first(fails, tmp_path):
    assert "there is no folder" in fails("demo", "--report-dir", tmp_path / "no")
