"""The demo: both parts print scores and paths; the second one on a part of its data."""

import re

from sklearn.compose import ColumnTransformer
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from hiclass import FlatClassifier, HierarchicalClassifier, datasets
from hiclass._cli import _demo


def figures(out, level):
    """The figures of a level in the table of scores."""
    return re.search(rf"^{level} .*$", out, flags=re.MULTILINE)[0].split()


def test_animals(run, tmp_path):
    out, _ = run("demo", "--only", "animals", "--report-dir", tmp_path, "--jobs", "1")
    assert "215 training rows with 192 classes, 72 test rows" in out
    overall = [float(score) for score in re.findall(r" F1 (\d\.\d+), exact match", out)]
    assert len(overall) == 2  # those of the model, then those of the flat baseline
    assert overall[0] > overall[1] > 0.6
    assert figures(out, 1)[1:3] == ["class", "12"]
    assert float(figures(out, 1)[5]) > 0.95
    assert len(re.findall(r"^    \S.* \d\.\d\d$", out, flags=re.MULTILINE)) == 10
    reports = [path.name for path in tmp_path.iterdir()]
    assert reports == ["animals.html"]
    assert re.search(r"The demo took \d+ s\.", out)


def test_the_time_to_fit_is_that_of_fit_alone(run, tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(_demo.time, "perf_counter", lambda: clock[0])

    def takes(owner, name, seconds):
        method = getattr(owner, name)

        def slow(self, *args, **options):
            clock[0] += seconds
            return method(self, *args, **options)

        monkeypatch.setattr(owner, name, slow)

    for owner, name in [
        (ColumnTransformer, "fit_transform"),
        (ColumnTransformer, "transform"),
        (HierarchicalClassifier, "predict"),
        (FlatClassifier, "predict"),
    ]:
        takes(owner, name, 1000)
    takes(HierarchicalClassifier, "fit", 7)
    # Not the type of a flat model that may have been chosen.
    monkeypatch.setattr(_demo, "make_baseline", lambda n_jobs: Baseline(LinearSVC()))
    takes(Baseline, "fit", 5)
    out, _ = run("demo", "--only", "animals", "--report-dir", tmp_path, "--jobs", "1")
    assert re.findall(r"fitted in (.*) s", out) == ["7.0", "5.0"]


class Baseline(FlatClassifier):
    """A flat model of a type of its own, whose methods can be timed alone."""


def test_diagnoses(run, tmp_path, monkeypatch):
    whole = datasets.load_icd10cm(as_frame=True)
    some = (whole.frame.index < 4000).nonzero()[0]

    def part(as_frame):
        assert as_frame
        rows = {name: whole[name].iloc[some] for name in ("data", "target", "frame")}
        arrays = {name: whole[name][some] for name in ("kind", "code", "group")}
        return Bunch(**rows, **arrays, target_names=whole.target_names)

    monkeypatch.setattr(datasets, "load_icd10cm", part)
    out, err = run("demo", "--only", "icd10cm", "--report-dir", tmp_path)
    assert re.search(r"Fitting \[#+\] (\d+)/\1, done in ", err)
    assert re.search(r" training rows with [\d,]+ classes, [\d,]+ test rows; ", out)
    assert "  model: local" in out
    assert [figures(out, level)[1] for level in (1, 2, 3)] == ["chapter", "block", "category"]
    assert float(figures(out, 2)[5]) > 0.5
    assert "    true: 1 Certain infectious and parasitic di... > " in out


def test_a_report_folder_that_is_not_there_is_refused_first(fails, tmp_path):
    assert "there is no folder" in fails("demo", "--report-dir", tmp_path / "no")


def test_a_flat_model_that_is_too_much_work_is_not_fitted(run, tmp_path, monkeypatch):
    fit = HierarchicalClassifier.fit

    def without_flat(self, X, y):
        fit(self, X, y)
        self.choices_["no flat"] = "99 times the work of all local classifiers"
        return self

    monkeypatch.setattr(HierarchicalClassifier, "fit", without_flat)
    out, _ = run("demo", "--only", "animals", "--report-dir", tmp_path, "--jobs", "1")
    assert "leaves to compare: it would be 99 times the work of all local classifiers." in out
    assert "flat baseline" not in out
