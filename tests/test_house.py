"""The architecture, as far as it can be counted: walks, inheritance, tables, tests of types.

The walks are those of ``docs/developer/index.md``: the files that run in a second call.
"""

import ast
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import hiclass
from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._inference.decodings import DECODINGS
from hiclass._inference.selections import SELECTIONS
from hiclass._problems.policies import POLICIES
from hiclass._problems.strategies import STRATEGIES

SOURCES = Path(hiclass.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "developer" / "index.md"
LOCAL = [
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    LocalClassifierPerLevel,
    FlatClassifier,
]
X = np.random.default_rng(0).normal(size=(60, 3))
Y = [["a", "x"], ["a", "y"], ["b", "z"], ["b", "w"]] * 15


def walk(function):
    """The files of the package that a call enters, in this order."""
    entered = {}

    def note(frame, event, argument):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCES)):
            entered[Path(path).relative_to(SOURCES).as_posix()] = None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return list(entered)


def walks(estimator_class):
    """The walks of ``fit`` and ``predict``, each of a second call."""
    model = estimator_class().fit(X, Y)
    model.predict(X)
    fit = walk(lambda: estimator_class().fit(X, Y))
    return fit, walk(lambda: model.predict(X))


@pytest.mark.parametrize("estimator_class", LOCAL)
def test_fit_enters_twelve_files_and_predict_seven_at_most(estimator_class):
    fit, predict = walks(estimator_class)
    assert len(fit) <= 12, fit
    assert len(predict) <= 7, predict
    assert not [path for path in predict if path.startswith("_engine/")]


def test_the_page_for_developers_has_the_walks_of_the_estimator_per_parent_node():
    page = PAGE.read_text(encoding="utf-8")
    for name, entered in zip(("fit", "predict"), walks(LocalClassifierPerParentNode), strict=True):
        rows = page.split(f"### Files of `{name}`")[1].split("###")[0].split("\n")
        shown = [row.split("`")[1] for row in rows if row.startswith("| `")]
        assert shown == entered


def test_the_map_of_the_code_has_every_module_below_its_folder():
    """A new module needs a row in the table of its folder in CONTRIBUTING.md."""
    page = (PAGE.parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    parts = page.split("## Which folder does what")[1].split("\n## ")[0].split("\n### ")[1:]
    shown = {part.partition("\n")[0]: set(re.findall(r"`(\w+\.py)`", part)) for part in parts}
    folders = [path for path in SOURCES.iterdir() if (path / "__init__.py").exists()]
    for folder in [SOURCES, *folders]:
        names = ["Foundation", ".py"] if folder == SOURCES else [f"`{folder.name}/`"]
        heads = [head for head in shown if any(name in head for name in names)]
        modules = {path.name for path in folder.glob("*.py")} - {"__init__.py", "__main__.py"}
        assert modules <= set().union(*(shown[head] for head in heads)), folder.name


@pytest.mark.parametrize(
    ("local_classifier", "params", "expected"),
    [
        (LogisticRegression(), {}, set()),
        (LogisticRegression(), {"verbose": 1}, {"_engine/progress.py"}),
        (LogisticRegression(class_weight={"x": 2.0}), {}, {"_engine/class_weights.py"}),
        (LinearSVC(), {}, {"_engine/liblinear.py", "_engine/copies.py"}),
    ],
    ids=["plain", "verbose", "class_weight", "LinearSVC"],
)
def test_parts_of_the_engine_are_entered_only_where_they_are_needed(
    local_classifier, params, expected
):
    model = LocalClassifierPerParentNode(local_classifier, **params).fit(X, Y)
    entered = {path for path in walk(lambda: model.fit(X, Y)) if path.startswith("_engine/")}
    assert entered == {"_engine/fit.py", "_engine/local_classifiers.py"} | expected


def test_linear_classifiers_of_sparse_rows_are_packed_in_one_file_of_the_engine():
    rows = sp.csr_matrix(np.hstack([X, np.zeros((len(X), 4))]))
    model = LocalClassifierPerParentNode().fit(rows, Y)
    entered = {path for path in walk(lambda: model.fit(rows, Y)) if path.startswith("_engine/")}
    assert entered == {"_engine/fit.py", "_engine/local_classifiers.py", "_engine/packed.py"}
    predict = walk(lambda: model.predict(rows))
    assert "_state.py" in predict  # where a packed classifier selects its columns
    assert "_engine/packed.py" not in predict


@pytest.mark.parametrize(
    "estimator_class", [*LOCAL, GlobalClassifier, EnsembleClassifier, ConformalClassifier]
)
def test_estimators_inherit_from_one_class_of_ours(estimator_class):
    # hiclass._compat has an empty class in place of those that an old scikit-learn lacks.
    ours = [
        c
        for c in estimator_class.__mro__[1:]
        if c.__module__.startswith("hiclass") and c.__module__ != "hiclass._compat"
    ]
    assert [c.__name__ for c in ours] == ["BaseHierarchicalClassifier"]
    assert issubclass(estimator_class, BaseEstimator)


def trees():
    for path in sorted(SOURCES.rglob("*.py")):
        yield path.relative_to(SOURCES).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_no_name_of_a_strategy_policy_decoding_or_selection_is_compared_outside_its_table():
    tables = {
        "strategy": ("_problems/strategies.py", STRATEGIES),
        "policy": ("_problems/policies.py", POLICIES),
        "decoding": ("_inference/decodings.py", DECODINGS),
        "threshold": ("_inference/selections.py", SELECTIONS),
    }
    found = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Compare):
                continue
            sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
            for axis, (table, names) in tables.items():
                literal = any(repr(name) in side for name in names for side in sides)
                if path != table and literal and any(axis in side for side in sides):
                    found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    assert not found


def test_three_tests_of_types_at_most_tell_paths_from_sets():
    kinds = {"SetTarget", "Target", "SetFormat", "LabelFormat", "SetModels", "SetEnsembleModels"}
    found = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                named = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                if named & kinds:
                    found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    assert len(found) <= 3, found


def test_no_more_places_than_now_check_whether_something_is_of_sets():
    """A new one belongs behind the protocol that paths and sets share. This may only fall."""
    found = [
        f"{path}:{node.lineno}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "of_sets"
    ]
    assert len(found) <= 30, found


def test_no_test_imports_from_another_test_module():
    tests = Path(__file__).parent
    imported = {
        f"{path.relative_to(tests)}: {name}"
        for path in tests.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported(node)
        if name.rpartition(".")[2].startswith("test_")
    }
    assert imported == set()


def _imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
