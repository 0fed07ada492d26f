"""The parts that the page about extending adds work as a reader would use them in the library."""

import pickle
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
import skops.io
from page_helpers import ROOT, run_page
from sklearn.naive_bayes import MultinomialNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from hiclass import Hierarchy, LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._engine.fit import ENGINES
from hiclass._export.persistence import TRUSTED_TYPES
from hiclass._problems.strategies import STRATEGIES

#: Paths of integers: 1 has the children 11 and 12, 2 has 21 and 22.
Y = np.array([[1, 11], [1, 12], [2, 21], [2, 22]])


@pytest.fixture
def page(capsys):
    yield run_page(ROOT / "docs" / "developer" / "extending.md", capsys)
    STRATEGIES.pop("grandparent")
    ENGINES.pop("futures")


def counts_of(model):
    return {path: c.class_count_.tolist() for path, c in model.local_classifiers_.items()}


@pytest.mark.parametrize("first", [[0, 1, 2, 3], [0, 1, 0, 1], [0, 0, 0, 0]])
def test_the_policy_has_the_rows_of_fit_in_every_batch(page, first):
    """Rows below another parent are negative ones, also where a batch has no others."""
    rows = np.array([*first, 2, 3, 3, 1])
    X, y = np.eye(4)[rows] + 0.1, Y[rows]
    once = LocalClassifierPerNode(MultinomialNB(), binary_policy=page["same_level"]).fit(X, y)
    often = LocalClassifierPerNode(MultinomialNB(), binary_policy=page["same_level"])
    for start in range(0, 8, 2):
        often.partial_fit(X[start : start + 2], y[start : start + 2], classes=Y)
    if 2 in rows and 0 in rows:
        n = {leaf: int((y[:, 1] == leaf).sum()) for leaf in (11, 12, 21, 22)}
        expected = {
            **{(leaf // 10, leaf): [8 - n[leaf], n[leaf]] for leaf in n},
            (1,): [n[21] + n[22], n[11] + n[12]],
            (2,): [n[11] + n[12], n[21] + n[22]],
        }
        assert counts_of(often) == expected == counts_of(once)
    np.testing.assert_allclose(often.predict_node_proba(X), once.predict_node_proba(X))
    assert often.predict(X).tolist() == once.predict(X).tolist()


@pytest.mark.parametrize("name", ["majority", "decoding"])
def test_the_decoding_ends_early_with_integer_labels(page, estimator_class, name):
    """Nobody can tell the classes apart: none is more probable than all others together."""
    rows = np.random.default_rng(0).permutation(np.repeat(range(4), 50))
    X = np.random.default_rng(1).poisson(3, size=(200, 3))
    estimator = MultinomialNB()
    fitted = estimator_class(estimator, decoding=page[name]).fit(X, Y[rows])
    streamed = estimator_class(estimator, decoding=page[name])
    for start in range(0, 200, 50):
        streamed.partial_fit(X[start : start + 50], Y[rows][start : start + 50], classes=Y)
    for model in (fitted, streamed):
        predicted, proba = model.predict(X), model.predict_node_proba(X)
        assert predicted.dtype == object
        for row, sure in zip(predicted.tolist(), proba > 0.5, strict=True):
            path = [int(label) for label in model.hierarchy_.labels[1:][sure[1:]]]
            assert row == path + [None] * (2 - len(path))
        assert None in predicted[:, 1].tolist()


def test_a_decoding_that_breaks_its_promise_is_refused_and_never_invents_labels(page):
    decoding = replace(page["decoding"], fewest_labels=None)
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = LocalClassifierPerParentNode(decoding=decoding, leaf_only=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"The path of row \d ends at .*fewest_labels"):
        model.predict(X)


def test_the_decoding_is_refused_where_it_stops_although_every_path_must_end_at_a_leaf(page):
    X = np.zeros((4, 1))
    for decoding in (page["majority"], page["decoding"]):
        model = LocalClassifierPerParentNode(decoding=decoding, leaf_only=True).fit(X, Y)
        with pytest.raises(ValueError, match="returned the root, at which no path of this model"):
            model.predict(X)


def test_the_policy_serves_sets_and_dags(page):
    dag = Hierarchy.from_edges([(1, 11), (1, 12), (2, 12), (2, 21)])
    X, y = np.repeat(np.eye(3), 4, axis=0), [[11]] * 4 + [[12]] * 4 + [[21]] * 4
    for policy in (page["same_level"], page["policy"]):
        model = LocalClassifierPerNode(binary_policy=policy, hierarchy=dag, multi_label=True)
        assert model.fit(X, y).predict(X).tolist() == y


def test_the_strategy_serves_integer_labels_several_labels_and_says_who_failed(page):
    cls = page["LocalClassifierPerGrandparent"]
    X = np.repeat(np.arange(4.0), 5)[:, None]
    model = cls(DecisionTreeClassifier()).fit(X, np.repeat(Y, 5, axis=0))
    assert model.predict(X).tolist() == np.repeat(Y, 5, axis=0).tolist()
    assert [classes.tolist() for classes in model.local_classes_.values()] == [[1, 4], [2, 3, 5, 6]]
    sets = cls(DecisionTreeClassifier(), multi_label=True)
    several = [[(1, 11), (2, 21)]] * 10 + [[(2, 22)]] * 10
    assert sets.fit(X, several).predict(X).tolist() == several
    for multi_label, y in ((False, Y[[0, 1, 2, 3] * 5]), (True, several)):
        with pytest.raises(ValueError, match="max_depth") as caught:
            cls(DecisionTreeClassifier(max_depth=-1), multi_label=multi_label).fit(X, y)
        assert caught.value.__notes__ == ["while fitting the classifier of group 0"]


@pytest.mark.parametrize("ends_early", [False, True])
def test_the_strategy_learns_from_batches_what_it_learns_at_once(page, ends_early):
    cls = page["LocalClassifierPerGrandparent"]
    rows = np.random.default_rng(0).integers(4, size=40)
    X, y = np.eye(4)[rows] + 0.1, Y[rows].astype(object)
    if ends_early:
        y[::5, 1] = None
    once, often = cls(MultinomialNB()).fit(X, y), cls(MultinomialNB())
    for start in range(0, 40, 8):
        often.partial_fit(X[start : start + 8], y[start : start + 8], classes=y)
    assert often.predict(X).tolist() == once.predict(X).tolist()
    counts = {0: [2], 1: [6 if ends_early else 4]}
    for model in (once, often):
        for group, classifier in model.local_classifiers_.items():
            used = classifier.class_count_[classifier.class_count_ > 0]
            assert [len(used)] == counts[group]
            assert used.sum() == 40
    with pytest.raises(AttributeError, match="DecisionTreeClassifier, has none"):
        cls(DecisionTreeClassifier()).partial_fit(X, y)


def test_the_strategy_serves_dags_and_several_labels_by_its_own_groups(page):
    cls = page["LocalClassifierPerGrandparent"]
    dag = Hierarchy.from_edges([(1, 11), (1, 12), (2, 12), (2, 21), (12, 121)])
    X, y = np.repeat(np.eye(4), 4, axis=0), [[11]] * 4 + [[12]] * 4 + [[21]] * 4 + [[121]] * 4
    model = cls(DecisionTreeClassifier(), hierarchy=dag, multi_label=True).fit(X, y)
    assert model.predict(X).tolist() == y
    labels = {k: set(dag.labels[nodes]) for k, nodes in model.local_classes_.items()}
    assert list(labels.values()) == [{1, 2}, {11, 12, 21}, {121}]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_strategy_passes_the_checks_and_survives_its_file(page, monkeypatch):
    # Files name the module of the class, which a page is not.
    monkeypatch.setitem(sys.modules, "extending", SimpleNamespace(**page))
    cls = page["LocalClassifierPerGrandparent"]
    results = check_estimator(cls(), on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    X, y = np.repeat(np.eye(4), 4, axis=0), np.repeat(Y, 4, axis=0)
    model = cls(n_jobs=2).fit(X, y)
    trusted = [*TRUSTED_TYPES, "extending.LocalClassifierPerGrandparent"]
    for copy in (
        pickle.loads(pickle.dumps(model)),
        skops.io.loads(skops.io.dumps(model), trusted=trusted),
    ):
        assert copy.predict(X).tolist() == y.tolist()


def test_a_new_part_takes_less_than_thirty_lines(page):
    text = (ROOT / "docs" / "developer" / "extending.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        blocks = re.findall(r"^```python\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)
        lines = [line for block in blocks for line in block.splitlines() if line.strip()]
        shown = [line for line in lines if not line.startswith(("#", "print("))]
        assert 0 < len(shown) < 30, section.splitlines()[0]


def test_the_engine_runs_where_its_backend_is_active_and_says_who_failed(page, monkeypatch):
    X, used = np.arange(4.0)[:, None], []

    def run(*args):
        used.append(args[-1])
        yield from page["run_on_futures"](*args)

    monkeypatch.setitem(ENGINES, "futures", replace(ENGINES["futures"], run=run))
    serial = LocalClassifierPerParentNode(DecisionTreeClassifier()).fit(X, Y)
    assert used == []
    with joblib.parallel_config("futures", n_jobs=2):
        model = LocalClassifierPerParentNode(DecisionTreeClassifier()).fit(X, Y)
        assert used == [2]
        assert list(model.local_classifiers_) == list(serial.local_classifiers_)
        assert model.predict(X).tolist() == serial.predict(X).tolist() == Y.tolist()
        with pytest.raises(ValueError, match="max_depth") as caught:
            model.set_params(local_classifier__max_depth=-1).fit(X, Y)
    assert caught.value.__notes__ == ["while fitting the classifier of the root"]
