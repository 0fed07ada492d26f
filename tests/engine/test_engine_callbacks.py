"""scikit-learn's callbacks hear of our fits and of those of local classifiers (from 1.9 on)."""

import io
import pickle
from contextlib import redirect_stdout

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalClassifier,
    LocalClassifierPerParentNode,
)

callback = pytest.importorskip("sklearn.callback")

X = np.array([[float(i % 4), float(i // 4 % 3)] for i in range(48)])
Y = [
    ["A", "a"] if a < 1 else ["A", "b"] if a < 2 else ["B", "c"] if a < 3 else ["B", "d"]
    for a, _ in X
]


class Plain:
    """Notes what it is told; it stays with the estimator that it was given to."""

    def __init__(self):
        self.told = []

    def _note(self, what, estimator, context):
        self.told.append((what, type(estimator).__name__, context.task_name))

    def setup(self, estimator, context):
        self._note("setup", estimator, context)

    def teardown(self, estimator, context):
        self._note("teardown", estimator, context)

    def on_fit_task_begin(self, estimator, context):
        self._note("begin", estimator, context)

    def on_fit_task_end(self, estimator, context):
        self._note("end", estimator, context)


class Nested(Plain):
    """Wants to reach estimators within estimators."""

    max_propagation_depth = None

    def _note(self, what, estimator, context):
        self.told.append((what, type(estimator).__name__, context.source_task_name))


class Broken(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise ValueError("not today")


def test_a_fit_and_its_local_fits_are_told():
    noted = Plain()
    LocalClassifierPerParentNode(GaussianNB()).set_callbacks(noted).fit(X, Y)
    name = "LocalClassifierPerParentNode"
    local = [("begin", name, n) for n in ("the root", "A", "B")]
    assert sorted(noted.told) == sorted(
        [
            *((what, name, "fit") for what in ("setup", "begin", "end", "teardown")),
            *((what, name, "Fitting") for what in ("begin", "end")),
            *local,
            *(("end", *rest) for _, *rest in local),
        ]
    )
    assert noted.told[0][0] == "setup"
    assert noted.told[-2:] == [("end", name, "fit"), ("teardown", name, "fit")]


@pytest.mark.parametrize("sparse", [False, True])
def test_local_classifiers_that_take_callbacks_get_them(sparse):
    import scipy.sparse as sp

    noted, rows = Nested(), sp.csr_array(X) if sparse else X
    model = LocalClassifierPerParentNode(LogisticRegression()).set_callbacks(noted).fit(rows, Y)
    local = {t for t in noted.told if t[:2] == ("begin", "LogisticRegression") and t[2]}
    assert local == {("begin", "LogisticRegression", n) for n in ("the root", "A", "B")}
    assert (
        sum(t[0] == "setup" for t in noted.told) == sum(t[0] == "teardown" for t in noted.told) == 1
    )
    # Nothing of it stays, and the model is the same as without.
    assert not any(
        "callback" in name for c in model.local_classifiers_.values() for name in vars(c)
    )
    assert "_callback_fit_ctx" not in vars(model)
    plain = LocalClassifierPerParentNode(LogisticRegression()).fit(rows, Y)
    np.testing.assert_array_equal(model.predict_node_proba(rows), plain.predict_node_proba(rows))
    pickle.loads(pickle.dumps(model.set_callbacks()))


@pytest.mark.parametrize("where", ["jobs", "checkpoints"])
def test_elsewhere_local_fits_are_told_but_not_reached(where, tmp_path):
    noted = Nested()
    options = {"n_jobs": 2} if where == "jobs" else {"checkpoint_dir": str(tmp_path)}
    model = LocalClassifierPerParentNode(LogisticRegression(), **options)
    model.set_callbacks(noted).fit(X, Y)
    name = "LocalClassifierPerParentNode"
    assert {t[1] for t in noted.told} == {name}
    assert sum(t[0] == "begin" for t in noted.told) == sum(t[0] == "end" for t in noted.told) == 5


def test_models_of_models_hand_them_on():
    members = [("flat", FlatClassifier(GaussianNB())), ("local", LocalClassifierPerParentNode())]
    for model, inside in (
        (EnsembleClassifier(members), {"flat", "local"}),
        (ConformalClassifier(LocalClassifierPerParentNode(), random_state=0), {"model"}),
    ):
        noted = Nested()
        model.set_callbacks(noted).fit(X, Y)
        assert inside <= {t[2] for t in noted.told}
    noted = Nested()
    HierarchicalClassifier(effort="quick", random_state=0).set_callbacks(noted).fit(X, Y)
    assert {t[1] for t in noted.told} > {"HierarchicalClassifier"}


def test_models_of_sets_that_are_chosen_get_them(monkeypatch):
    from hiclass._automatic import set_proposals

    monkeypatch.setattr(set_proposals, "find_spec", lambda name: None)  # no network
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    sets = [[label for label, x in zip("abc", row, strict=True) if x > 0] for row in rows]
    for X_, options, inside in (
        (rows, {}, {"forest", "ridge"}),
        (rows, {"effort": "quick"}, {"forest", "ridge"}),
        (rows, {"local_classifier": GaussianNB()}, {"local"}),
    ):
        noted = Nested()
        model = HierarchicalClassifier(multi_label=True, random_state=0, **options)
        model.set_callbacks(noted).fit(X_, sets)
        assert inside <= {t[2] for t in noted.told}
        assert {t[1] for t in noted.told} > {"HierarchicalClassifier"}


def test_a_fit_that_fails_is_torn_down():
    noted = Nested()
    model = LocalClassifierPerParentNode(Broken()).set_callbacks(noted)
    with pytest.raises(ValueError, match="not today"):
        model.fit(X, Y)
    assert noted.told[-1][0] == "teardown"
    assert ("end", "LocalClassifierPerParentNode", None) not in noted.told
    assert "_callback_fit_ctx" not in vars(model)


def test_the_callbacks_of_scikit_learn_work():
    monitor = callback.ScoringMonitor(scoring="accuracy")
    labels = [path[1] for path in Y]
    FlatClassifier(GaussianNB()).set_callbacks(monitor).fit(X, labels)
    log = monitor.get_logs()
    assert log.estimator_name == "FlatClassifier"
    assert [row["accuracy"] for row in log.data] == [1.0]
    shown = io.StringIO()
    with redirect_stdout(shown):
        model = make_pipeline(StandardScaler(), LocalClassifierPerParentNode(LogisticRegression()))
        model.set_callbacks(callback.ProgressBar()).fit(X, Y)
    assert "LocalClassifierPerParentNode" in shown.getvalue()
