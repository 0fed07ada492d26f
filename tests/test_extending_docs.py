"""The parts that the page about extending adds work as a reader would use them in the library."""

import numpy as np
import pytest
from page_helpers import ROOT, run_page
from sklearn.naive_bayes import MultinomialNB

from hiclass import (
    FlatClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass import _decision as decision
from hiclass import _problems as problems
from hiclass._compat import StrOptions

#: Paths of integers: 1 has the children 11 and 12, 2 has 21 and 22.
Y = np.array([[1, 11], [1, 12], [2, 21], [2, 22]])


@pytest.fixture
def page(capsys):
    return run_page(ROOT / "docs" / "developer" / "extending.md", capsys)


@pytest.fixture
def _same_level(page, monkeypatch):
    """The policy of the page, entered where the page says."""
    monkeypatch.setitem(problems._POLICY_SETS, "same_level", page["same_level"])
    constraints = LocalClassifierPerNode._parameter_constraints
    monkeypatch.setitem(constraints, "binary_policy", [StrOptions({"same_level"})])


@pytest.fixture
def _majority(page, monkeypatch):
    """The decoding of the page, entered where the page says."""
    monkeypatch.setitem(decision.DECODINGS, "majority", page["majority"])
    for cls in (
        LocalClassifierPerNode,
        LocalClassifierPerParentNode,
        LocalClassifierPerLevel,
        FlatClassifier,
    ):
        monkeypatch.setitem(cls._parameter_constraints, "decoding", [StrOptions({"majority"})])


def counts_of(model):
    return {path: c.class_count_.tolist() for path, c in model.local_classifiers_.items()}


@pytest.mark.usefixtures("_same_level")
@pytest.mark.parametrize("first", [[0, 1, 2, 3], [0, 1, 0, 1], [0, 0, 0, 0]])
def test_the_policy_has_the_rows_of_fit_in_every_batch(first):
    """Rows below another parent are negative ones, also where a batch has no others."""
    rows = np.array([*first, 2, 3, 3, 1])
    X, y = np.eye(4)[rows] + 0.1, Y[rows]
    once = LocalClassifierPerNode(MultinomialNB(), binary_policy="same_level").fit(X, y)
    often = LocalClassifierPerNode(MultinomialNB(), binary_policy="same_level")
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


@pytest.mark.usefixtures("_majority")
def test_the_decoding_ends_early_with_integer_labels(estimator_class):
    """Nobody can tell the classes apart: none is more probable than all others together."""
    rows = np.random.default_rng(0).permutation(np.repeat(range(4), 50))
    X = np.random.default_rng(1).poisson(3, size=(200, 3))
    child = MultinomialNB()
    fitted = estimator_class(child, decoding="majority").fit(X, Y[rows])
    streamed = estimator_class(child, decoding="majority")
    for start in range(0, 200, 50):
        streamed.partial_fit(X[start : start + 50], Y[rows][start : start + 50], classes=Y)
    for model in (fitted, streamed):
        predicted, proba = model.predict(X), model.predict_node_proba(X)
        assert predicted.dtype == object
        for row, sure in zip(predicted.tolist(), proba > 0.5, strict=True):
            path = [int(label) for label in model.hierarchy_.labels[1:][sure[1:]]]
            assert row == path + [None] * (2 - len(path))
        assert None in predicted[:, 1].tolist()


@pytest.mark.usefixtures("_majority")
def test_a_decoding_that_breaks_its_promise_is_refused_and_never_invents_labels(monkeypatch):
    monkeypatch.setattr(decision, "FULL_LENGTH", ("majority",))
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = LocalClassifierPerParentNode(decoding="majority", leaf_only=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"The path of row \d ends at .*FULL_LENGTH"):
        model.predict(X)
