"""What makes an estimator of a network: its layers, its training on some rows, its contract."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from hiclass._compat import check_is_fitted, check_parameters, validate_data
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._rows import check_weights
from hiclass._state import SetModels
from hiclass._targets.paths import Target
from hiclass._targets.sets import SetTarget
from hiclass._typing import AnyArray, IntArray
from hiclass.torch._batches import Rows
from hiclass.torch._known import Known, on_device
from hiclass.torch._layout import Layout, SetLayout, same_layout
from hiclass.torch._network import FittedNetwork, Shape, as_arrays, find_device, first_weights
from hiclass.torch._train import Course, Settings, Trainer, mean_squared_length, train_in_memory

_EMBEDDING = 128
#: Without a number of epochs: enough to see so many rows, and between these. Hidden layers need
#: more.
_SEEN, _EPOCHS = 20_000, (3, 100)
_SEEN_HIDDEN, _EPOCHS_HIDDEN = 100_000, (10, 100)
#: Without a learning rate: by what is between features and outputs.
_RATES = {"nothing": 0.1, "embedding": 0.03, "hidden": 0.003}


class NetworkClassifier(BaseHierarchicalClassifier):
    """Base of the classifiers that are a network; not for direct use."""

    loss: str
    hidden_layers: tuple[int, ...]
    embedding_dim: int | str | None
    dropout: float
    penalty: float
    recursive: bool
    learning_rate: float | str
    batch_size: int | str
    max_epochs: int | str
    validation_fraction: float
    patience: int
    tol: float
    device: str
    random_state: Any
    verbose: int
    _known: Known
    _trainer: Trainer

    # -- training ------------------------------------------------------------------------------

    def _fit_network(
        self,
        X: Any,
        target: Target | SetTarget,
        weights: AnyArray | None,
        rows: IntArray | None,
        before: FittedNetwork | None,
    ) -> tuple[Any, Known, Course]:
        """Train a network on some of the rows."""
        if rows is not None:
            X, target = X[rows], _some_rows(target, rows)
            weights = None if weights is None else weights[rows]
        known = Known.seen(target, leaf_only=self.leaf_only)
        layout = known.layout(self.loss, recursive=self.recursive)
        data = as_data(X, target, layout, weights)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        rng = np.random.default_rng(seed)
        held_out = None
        if self.validation_fraction:
            data, held_out = self._hold_out(data, rng)
        trainer = self._trainer_for(layout, data.X, seed, before)
        size = self._batch_size(len(data))
        course = self._course(len(data))
        train_in_memory(trainer, data, held_out, size, course, rng, verbose=self.verbose > 0)
        network = self._as_network(trainer)
        return known.models(network, leaf_only=self.leaf_only), known, course

    def _hold_out(self, data: Rows, rng: Any) -> tuple[Rows, Rows]:
        """Rows to train on, and rows to stop on."""
        order = rng.permutation(len(data))
        n = max(1, round(self.validation_fraction * len(data)))
        if n >= len(data):
            raise ValueError(
                f"validation_fraction={self.validation_fraction} holds out all {len(data)} rows "
                f"and leaves none to train on. Use a smaller one, or 0."
            )
        return data.some(np.sort(order[n:])), data.some(np.sort(order[:n]))

    def _trainer_for(
        self, layout: Layout, X: Any, seed: int, before: FittedNetwork | None = None
    ) -> Trainer:
        """A network before training, or as another one has left it."""
        shape = self._shape(X, layout)
        if before is not None:
            if before.shape != shape or not same_layout(before.layout, layout):
                raise ValueError(
                    "warm_start=True goes on with the network of the fit before, but now the "
                    "classes, the features or the layers are others. Use warm_start=False, or "
                    "give all classes with hierarchy= and rows of each of them."
                )
            return self._resume(before, seed)
        device = find_device(self.device)
        generator = torch.Generator().manual_seed(seed)
        weights = first_weights(shape, mean_squared_length(X), generator)
        return Trainer(shape, layout, weights, self._settings(shape), device, seed)

    def _resume(self, before: FittedNetwork, seed: int) -> Trainer:
        """A network as another one has left it."""
        weights = {name: torch.tensor(value) for name, value in before.weights.items()}
        settings, device = self._settings(before.shape), find_device(self.device)
        return Trainer(before.shape, before.layout, weights, settings, device, seed)

    def _is_current(self, trainer: Trainer) -> bool:
        """Whether a trainer goes on as the parameters say now."""
        settings, device = self._settings(trainer.shape), find_device(self.device)
        return trainer.settings == settings and trainer.device == device

    def _shape(self, X: Any, layout: Layout) -> Shape:
        widths: Any = self.hidden_layers
        if any(not isinstance(width, Integral) or width < 1 for width in widths):
            raise ValueError(
                f"hidden_layers must be positive widths, integers; got {self.hidden_layers!r}."
            )
        hidden = tuple(int(width) for width in widths)
        embedding = self.embedding_dim
        if embedding == "auto":
            embedding = _EMBEDDING if sp.issparse(X) and not hidden else None
        return Shape(X.shape[1], int(embedding or 0), hidden, layout.n_outputs)

    def _settings(self, shape: Shape) -> Settings:
        rate = self.learning_rate
        if rate == "auto":
            between = "nothing" if shape.is_linear else "hidden" if shape.hidden else "embedding"
            rate = _RATES[between]
        return Settings(float(rate), float(self.penalty), self.recursive, float(self.dropout))

    def _batch_size(self, n_rows: int) -> int:
        if self.batch_size != "auto":
            return int(self.batch_size)
        few, many = min(max(n_rows // 20, 8), 384), min(n_rows // 256, 4096)
        return max(few, many)

    def _course(self, n_rows: int | None) -> Course:
        """How long to train; nobody knows how many rows a stream has."""
        epochs = self.max_epochs
        if epochs == "auto":
            hidden = len(self.hidden_layers) > 0
            seen, bounds = (_SEEN_HIDDEN, _EPOCHS_HIDDEN) if hidden else (_SEEN, _EPOCHS)
            epochs = bounds[0] if n_rows is None else int(np.clip(-(-seen // n_rows), *bounds))
        return Course(int(epochs), self.patience, self.tol)

    def _as_network(self, trainer: Trainer) -> FittedNetwork:
        arrays = as_arrays(trainer.weights)
        return FittedNetwork(trainer.shape, trainer.layout, arrays, self.device)

    def _note(self, course: Course) -> None:
        self.loss_curve_ = course.losses
        self.validation_curve_ = course.validation
        self.n_epochs_ = len(course.losses)

    def _remember_network(self, known: Known, trainer: Trainer, format: Any) -> None:
        models = known.models(self._as_network(trainer), leaf_only=self.leaf_only)
        self._known = known
        if isinstance(models, SetModels):
            self._remember_sets(models, format)
        else:
            self._remember(models, format, None)

    # -- the rest of the contract --------------------------------------------------------------

    def _network(self) -> FittedNetwork | None:
        """The fitted network, if there is one."""
        models = self.__dict__.get("_models")
        return None if models is None else models.classifiers.get(0)

    def _check_parameters(self) -> None:
        check_parameters(self, tuple(self._parameter_constraints))
        self._check_decision_parameters()

    def _as_rows(self, X: Any, *, reset: bool) -> Any:
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float32)

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        self._follow_device()
        return self._as_rows(X, reset=False)

    def _follow_device(self) -> None:
        """Let the network answer where ``device`` says now, if that was set after ``fit``."""
        network = self._network()
        if network is None or network.device == self.device:
            return
        check_parameters(self, ("device",))
        find_device(self.device)  # which says so where there is no such device
        self._models = on_device(self._models, self.device)

    def _input_tags(self) -> Any:
        tags = BaseEstimator.__sklearn_tags__(self)
        tags.input_tags.sparse = True
        return tags

    def _forget(self) -> None:
        super()._forget()
        for name in ("_known", "_trainer"):
            self.__dict__.pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_trainer", None)
        return state


def _some_rows(target: Target | SetTarget, rows: IntArray) -> Target | SetTarget:
    if isinstance(target, Target):
        return replace(target, nodes=target.nodes[rows])
    return replace(target, closed=target.closed[rows], own=target.own[rows])


def as_data(X: Any, target: Target | SetTarget, layout: Layout, sample_weight: Any) -> Rows:
    """Rows with their targets, as the network wants them."""
    weights = check_weights(sample_weight, X)
    if weights is not None:
        weights = weights.astype(np.float32)
    if isinstance(layout, SetLayout):
        return Rows(X, target.closed[:, layout.nodes], layout, weights)  # type: ignore[union-attr]
    return Rows(X, target.nodes, layout, weights)  # type: ignore[union-attr]
