"""The study of consumer complaints: its steps run, and its page shows the results that are kept."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from benchmark_scripts import BENCHMARKS, importable
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier

from hiclass import FlatClassifier, LocalClassifierPerParentNode
from hiclass.metrics import f1

ROOT = Path(__file__).parents[2]
FOLDER = BENCHMARKS / "consumer_complaints"
STEPS = ("_study", "prepare", "features", "tune", "train", "predict", "measure", "page")
WORDS = {
    ("Loan", "Student"): "school",
    ("Loan", "Car"): "engine",
    ("Card", "Credit"): "limit",
    ("Card", "Other"): "fee",
}


@pytest.fixture(scope="module")
def study():
    """The scripts as modules; they find one another by the path, as when they are run."""
    with importable(FOLDER):
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in STEPS})


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """A file in the format of the bureau: 100 complaints, three of them not complete or too old."""
    rng = np.random.default_rng(0)
    paths = [list(WORDS)[i % 4] for i in range(100)]
    frame = pd.DataFrame(paths, columns=["Product", "Sub-product"])
    noise = [f"my w{a} w{b}" for a, b in rng.integers(30, size=(100, 2))]
    right = rng.random(100) < 0.9
    frame["Consumer complaint narrative"] = [
        f"{text} {WORDS[path] if keep else 'bank'} {path[0]}"
        for text, path, keep in zip(noise, paths, right, strict=True)
    ]
    frame["Date received"] = "2020-01-01"
    frame.loc[3, "Sub-product"] = None
    frame.loc[5, "Consumer complaint narrative"] = " "
    frame.loc[7, "Date received"] = "2016-12-31"
    file = tmp_path_factory.mktemp("data") / "complaints.csv"
    frame.to_csv(file, index=False)
    return file


def run(step, **options):
    """Call a script as from the command line."""
    step.main([part for name, value in options.items() for part in (f"--{name}", str(value))])


@pytest.fixture(scope="module")
def work(study, complaints, tmp_path_factory):
    """All steps but the search, for two models."""
    folder = tmp_path_factory.mktemp("work")
    rows, features = folder / "rows.parquet", folder / "logistic_regression"
    run(study.prepare, data=complaints, since="2017-04-24", rows=90, output=rows)
    run(study.features, rows=rows, **{"train-rows": 50}, output=features)
    for strategy in ("flat", "per_parent_node"):
        own = features / strategy
        trial = {"params": {"solver": "lbfgs"}, "folds": [0.5], "state": "complete", "cpu": 0.1}
        tuned = {"params": trial["params"], "hF": 0.5, "n_rows": 50, "n_grid": 5}
        study._study.write_json(tuned | {"trials": [trial]}, own / "tuned.json")
        given = {"features": features, "repeats": 1, "model": own / "model.joblib"}
        kind = {"base": "logistic_regression", "strategy": strategy}
        run(study.train, **given, **kind, params=own / "tuned.json", output=own / "train.json")
        files = {"predictions": own / "predictions.json", "output": own / "predict.json"}
        run(study.predict, **given, **files)
    run(study.measure, work=folder, untuned=folder, output=folder / "study.json")
    return folder


def test_incomplete_and_old_complaints_are_left_out_and_the_rest_is_split(study, complaints):
    prepare = study.prepare
    frame = prepare.clean(prepare.read(str(complaints)), "2017-04-24")
    assert len(frame) == 97
    split = prepare.split(frame, 90, 0.3, seed=0)
    assert split["side"].value_counts().to_dict() == {"train": 63, "test": 27}
    assert list(prepare.split(frame, None, 0.3, seed=0)["side"]).count("train") == 67


def test_newest_complaints_are_the_test_rows_of_a_split_by_date(study):
    days = [f"2020-01-{day:02}" for day in range(1, 11)]
    frame = pd.DataFrame({"date": days[::-1]})
    split = study.prepare.split(frame, None, 0.3, seed=0, by="date")
    assert sorted(split["date"][split["side"] == "test"]) == days[7:]
    assert list(split["date"]) not in (days, days[::-1])


def test_file_with_other_columns_is_refused(study, tmp_path):
    pd.DataFrame({"text": ["a"]}).to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(ValueError, match=r"other\.csv has no column 'product'"):
        study.prepare.read(str(tmp_path / "other.csv"))


def test_features_are_fitted_on_the_training_rows_that_are_used(study, work):
    facts = study._study.read_json(work / "logistic_regression" / "facts.json")
    X, y = study._study.load_features(work / "logistic_regression", "train")
    assert (facts["n_train"], facts["n_train_available"], facts["n_test"]) == (50, 63, 27)
    assert X.shape == (50, facts["n_features"])
    assert y.shape == (50, 2)
    assert (X.sum(axis=0) > 0).all()


def test_result_holds_the_scores_of_the_fitted_models_and_their_costs(study, work):
    result = json.loads((work / "study.json").read_text())
    (entry,) = result["bases"]
    assert [row["strategy"] for row in entry["rows"]] == ["flat", "per_parent_node"]
    X, y = study._study.load_features(work / "logistic_regression", "train")
    X_test, y_test = study._study.load_features(work / "logistic_regression", "test")
    kinds = (FlatClassifier, LocalClassifierPerParentNode)
    for row, kind in zip(entry["rows"], kinds, strict=True):
        model = kind(LogisticRegression(random_state=0), random_state=0).fit(X, y)
        y_pred = model.predict(X_test)
        assert row["hF"] == round(f1(y_test, y_pred), 4)
        hits = (y_pred == y_test).all(axis=1)
        assert row["exact"] == row["levels"]["accuracy"][1] == round(hits.mean(), 4)
        assert 0 < row["fit_bytes_before"] <= row["fit_peak_bytes"]
        assert row["fit_cpu"] > 0
        assert row["model_bytes"] > 1000
    gain = entry["rows"][1]["minus_flat"]
    assert gain[0] == pytest.approx(entry["rows"][1]["hF"] - entry["rows"][0]["hF"], abs=2e-4)
    assert gain[1] <= gain[0] <= gain[2]


def test_tables_and_figures_come_from_the_result(study, work):
    run(study.page, results=work / "study.json", tables=work / "tables.md", images=work)
    tables = (work / "tables.md").read_text()
    assert "50 of 63" in tables
    # Findings (twice), quality, cost, tuning, the run without it, three figures of the paper.
    assert tables.count("per parent node") == 9
    for name in ("study_models.svg", "study_gain.svg"):
        assert (work / name).read_bytes().startswith(b"<?xml")


def test_failure_in_a_process_is_reported(study, tmp_path):
    script = tmp_path / "step.py"
    script.write_text("raise ValueError('no such model')")
    with pytest.raises(RuntimeError, match=r"step\.py failed: ValueError: no such model"):
        study._study.run_measured(str(script), [], threads=1)


def test_unknown_model_is_refused(study):
    with pytest.raises(ValueError, match=r"strategy='no' is unknown\. Use one of flat, per_node"):
        study._study.make_model("no", "random_forest", [{}], seed=0)
    with pytest.raises(ValueError, match=r"base='no' is unknown\. Use one of lightgbm"):
        study._study.make_base("no", {}, seed=0)


def test_grids_are_those_of_the_paper_with_the_defaults_first(study):
    points = study._study.grid_points
    assert {base: len(points(base, 0)) for base in study._study.GRIDS} == {
        "lightgbm": 8,
        "logistic_regression": 5,
        "random_forest": 6,
    }
    assert points("random_forest", 3)[0] == {"n_estimators": 100, "criterion": "gini"}
    assert sorted(p["solver"] for p in points("logistic_regression", 1)) == [
        "lbfgs",
        "liblinear",
        "newton-cg",
        "sag",
        "saga",
    ]


def test_liblinear_is_one_against_the_rest(study):
    estimator = study._study.make_base("logistic_regression", {"solver": "liblinear"}, seed=0)
    assert isinstance(estimator, OneVsRestClassifier)
    estimator.fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    assert len(estimator.estimators_) == 3


@pytest.mark.parametrize("base", ["lightgbm", "logistic_regression", "random_forest"])
def test_ensemble_takes_the_hyper_parameters_of_its_members(study, base):
    name = "max_iter" if base == "logistic_regression" else "n_estimators"
    model = study._study.make_model("ensemble", base, [{name: 3}, {name: 4}], seed=0)
    found = [getattr(member.local_classifier, name) for _, member in model.models]
    assert found == [3, 4]
    assert study._study.tuned_strategies("ensemble") == ("flat", "per_parent_node")


# LightGBM names features that old versions of scikit-learn then miss in an array.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("base", ["lightgbm", "logistic_regression", "random_forest"])
def test_every_model_of_the_study_fits_and_predicts_known_pairs(study, work, base):
    X, y = study._study.load_features(work / "logistic_regression", "train")
    params = {"max_iter": 50} if base == "logistic_regression" else {"n_estimators": 3}
    assert study._study.strategies()[-1] == "global"
    for strategy in study._study.strategies():
        own = [params] * len(study._study.tuned_strategies(strategy))
        model = study._study.make_model(strategy, base, own, seed=0).fit(X, y)
        # The ensemble may end a path early.
        known = {path[:depth] for path in WORDS for depth in range(3)}
        assert {tuple(filter(None, path)) for path in model.predict(X)} <= known


def test_folds_are_scored_one_by_one_on_rows_that_were_not_fitted(study, work):
    X, y = study._study.load_features(work / "logistic_regression", "train")
    X = X.toarray()
    cv = KFold(2)
    found = list(study.tune.fold_scores(FlatClassifier, X, y, cv))
    expected = [
        f1(y[test], FlatClassifier().fit(X[train], y[train]).predict(X[test]))
        for train, test in cv.split(X)
    ]
    assert found == expected


def test_no_trials_means_the_defaults(study, work):
    features, output = work / "logistic_regression", work / "defaults.json"
    kind = {"base": "logistic_regression", "strategy": "flat"}
    run(study.tune, features=features, **kind, trials=0, output=output)
    found = json.loads(output.read_text())
    assert (found["params"]["solver"], found["trials"]) == ("lbfgs", [])


def test_best_trial_is_complete_and_of_equal_ones_the_fastest(study):
    trials = [
        {"folds": [0.9], "state": "pruned", "cpu": 1},
        {"folds": [0.5, 0.7], "state": "complete", "cpu": 3},
        {"folds": [0.7, 0.5], "state": "complete", "cpu": 2},
        {"folds": [0.5, 0.5], "state": "complete", "cpu": 1},
    ]
    assert study.tune.best_of(trials) is trials[2]


@pytest.mark.heavy
def test_search_stops_trials_that_fall_behind(study):
    pytest.importorskip("optuna")
    scores = {"a": [0.5, 0.5, 0.5], "b": [0.4, 0.4, 0.9], "c": [0.1, 0.9, 0.9]}
    points = [{"x": name} for name in scores]
    trials = study.tune.search(lambda p: iter(scores[p["x"]]), {"x": list(scores)}, points, 3)
    assert [trial["params"]["x"] for trial in trials] == ["a", "b", "c"]
    assert [trial["state"] for trial in trials] == ["complete", "pruned", "complete"]
    assert [len(trial["folds"]) for trial in trials] == [3, 2, 3]


@pytest.mark.heavy
def test_pipeline_has_every_step_for_every_model(complaints, tmp_path):
    pytest.importorskip("snakemake")
    command = [sys.executable, "-m", "snakemake", "-s", str(FOLDER / "Snakefile"), "-n"]
    command += ["--cores", "1", "--directory", str(tmp_path), "--config", f"data={complaints}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", done.stdout + done.stderr, flags=re.MULTILINE))
    # The ensemble is trained, but takes the hyper-parameters of its members.
    assert (int(jobs["train"]) - int(jobs["tune"]), jobs["features"]) == (3, "3")


def test_page_shows_the_figures(study):
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    for name in study.page.FIGURES:
        assert f"images/{name}" in page
        assert (ROOT / "docs" / "images" / name).exists()
