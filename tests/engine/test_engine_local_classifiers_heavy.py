"""Local classifiers from large libraries. ``make test-all`` installs them."""

import numpy as np
import pytest

pytestmark = pytest.mark.heavy


def test_xgboost_as_local_classifier(estimator_class, animals):
    xgboost = pytest.importorskip("xgboost")
    X, y = animals
    estimator = xgboost.XGBClassifier(n_estimators=5, min_child_weight=0, n_jobs=1)
    model = estimator_class(estimator).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    np.testing.assert_allclose(model.predict_proba(X)[0].sum(axis=1), 1, atol=1e-9)


def test_xgboost_takes_nan_weights_and_seeds(estimator_class, animals):
    xgboost = pytest.importorskip("xgboost")
    X, y = animals
    X[::6, 1] = np.nan
    estimator = xgboost.XGBClassifier(n_estimators=5, min_child_weight=0, subsample=0.8, n_jobs=1)
    weights = np.linspace(1, 2, len(y))
    first, again = (
        estimator_class(estimator, random_state=0).fit(X, y, sample_weight=weights)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.predict_node_proba(X), again.predict_node_proba(X))


class TorchClassifier:
    """A linear PyTorch module, wrapped by hand: fit, predict, predict_proba."""

    def fit(self, X, y):
        import torch

        torch.manual_seed(0)
        X = torch.as_tensor(X, dtype=torch.float32)
        y = torch.as_tensor(y)
        self.module = torch.nn.Linear(X[0].numel(), int(y.max()) + 1)
        optimizer = torch.optim.LBFGS(self.module.parameters(), max_iter=50)

        def loss():
            optimizer.zero_grad()
            value = torch.nn.functional.cross_entropy(self.module(X), y)
            value.backward()
            return value

        optimizer.step(loss)
        return self

    def predict_proba(self, X):
        import torch

        with torch.no_grad():
            # A copy: torch warns of arrays that it may not write into.
            X = torch.as_tensor(np.array(X), dtype=torch.float32)
            return self.module(X).softmax(dim=1).numpy()

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def test_a_pytorch_module_as_local_classifier(estimator_class, animals):
    pytest.importorskip("torch")
    X, y = animals
    model = estimator_class(TorchClassifier()).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    first = model.predict_proba(X)[0]
    assert first.dtype == np.float64
    np.testing.assert_allclose(first.sum(axis=1), 1, atol=1e-9)
