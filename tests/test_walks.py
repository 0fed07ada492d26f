"""How many files of the package a call enters: nobody has to open more of them to follow it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import hiclass

PACKAGE = Path(hiclass.__file__).parent
X = np.random.default_rng(0).normal(size=(60, 3))
Y = [["a", "x"], ["a", "y"], ["b", "z"], ["b", "w"]] * 15


def files_entered(call):
    """The files of the package whose functions a call runs; the second call, since some warm up."""
    call()
    seen = set()

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            seen.add(path.relative_to(PACKAGE).as_posix())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen


def test_fit_enters_at_most_twelve_files_and_predict_seven(local_class):
    model = local_class().fit(X, Y)
    entered = files_entered(lambda: local_class().fit(X, Y))
    assert len(entered) <= 12, entered
    assert {name for name in entered if name.startswith("_engine/")} == {
        "_engine/fit.py",
        "_engine/local_classifiers.py",
    }
    entered = files_entered(lambda: model.predict(X))
    assert len(entered) <= 7, entered
    assert not [name for name in entered if name.startswith("_engine/")]


@pytest.mark.parametrize(
    ("local_classifier", "params", "expected"),
    [
        (LogisticRegression(), {}, set()),
        (LogisticRegression(), {"verbose": 1}, {"_engine/progress.py"}),
        (LogisticRegression(class_weight={"x": 2.0}), {}, {"_engine/class_weights.py"}),
        (LinearSVC(), {}, {"_engine/liblinear.py"}),
    ],
    ids=["plain", "verbose", "class_weight", "LinearSVC"],
)
def test_parts_of_the_engine_are_entered_only_where_they_are_needed(
    local_classifier, params, expected
):
    model = hiclass.LocalClassifierPerParentNode(local_classifier, **params)
    always = {"_engine/fit.py", "_engine/local_classifiers.py"}
    entered = files_entered(lambda: model.fit(X, Y))
    assert {name for name in entered if name.startswith("_engine/")} == always | expected
