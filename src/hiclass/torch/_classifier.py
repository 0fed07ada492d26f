"""``HierarchicalSoftmaxClassifier``: the public estimator, thin.

A fitted network is one more kind of local model, one that knows all endings at once, as a flat
classifier does. So everything about labels, decisions and probabilities is inherited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from hiclass._base import BaseHierarchicalClassifier
from hiclass._calibration import fit_out_of_fold
from hiclass._labels import AnyArray, IntArray
from hiclass._set_predict import SetModels
from hiclass._set_targets import SetTarget, encode_sets
from hiclass._targets import Target, as_hierarchy, encode
from hiclass._thresholds import tune_thresholds
from hiclass._validation import (
    Interval,
    StrOptions,
    as_weights,
    check_is_fitted,
    check_parameters,
    validate_data,
)
from hiclass.hierarchy import Hierarchy
from hiclass.torch._batches import Batch, Rows
from hiclass.torch._known import Known
from hiclass.torch._layout import Layout, SetLayout, same_layout
from hiclass.torch._network import FittedNetwork, Shape, as_arrays, find_device, first_weights
from hiclass.torch._train import Course, Settings, Trainer, mean_squared_length, train_in_memory

_EMBEDDING = 128
#: Without a number of epochs: enough to see so many rows, and between these.
_SEEN, _EPOCHS = 20_000, (3, 100)
#: Without a learning rate: by what is between features and outputs.
_RATES = {"nothing": 0.1, "embedding": 0.03, "hidden": 0.003}


class HierarchicalSoftmaxClassifier(BaseHierarchicalClassifier):
    """One network for the whole hierarchy, trained jointly with PyTorch.

    Rows go through an embedding or hidden layers, which all classes share, to one output per way to
    go on from a node. A softmax among siblings at every inner node makes these outputs
    probabilities. Sparse rows are never made dense. With several labels per row, or several parents
    per class, there is a sigmoid per class, and no class is more probable than one above it.

    Parameters
    ----------
    hierarchy : Hierarchy, DiGraph, dict or edges, default=None
        The classes. By default they are read from the paths in ``y``.
    loss : {"conditional", "leaf"}, default="conditional"
        What is learned. "conditional": a softmax among siblings at every inner node. "leaf": one
        softmax over all endings, summed up the tree. For sets of classes, "conditional": how
        probable a class is given its parents; "leaf": a class is as probable as the most probable
        one at or below it.
    hidden_layers : tuple of int, default=()
        Widths of hidden layers with a ReLU.
    embedding_dim : int, None or "auto", default="auto"
        Width of a first layer without an activation, so that features and classes share so many
        dimensions. "auto": 128 for sparse rows without hidden layers, otherwise none. With None and
        no hidden layers, the model is linear.
    dropout : float, default=0.0
        Share of the entries of embedding and hidden layers that are left out at random in training.
    penalty : float, default=1e-5
        Strength of the L2 penalty on all weights; ``1 / (C * n_samples)`` is the ``C`` of
        ``LogisticRegression``.
    recursive : bool, default=False
        Whether the penalty pulls the weights of a class towards those of its parent instead of zero
        (recursive regularisation, Gopal and Yang 2013).
    learning_rate : float or "auto", default="auto"
        Step size of Adam at the start; it falls to zero over the epochs of ``fit``. "auto": 0.03
        with an embedding, 0.003 with hidden layers, 0.1 for a linear model.
    batch_size : int or "auto", default="auto"
        Rows per step. "auto": 384, fewer for fewer than 7,680 rows, more for more than 98,304.
    max_epochs : int or "auto", default="auto"
        The most passes over the rows. "auto": enough to see 20,000 rows, but between 3 and 100.
    validation_fraction : float, default=0.0
        Share of the rows that are held out to stop early, on their loss, and to keep the best
        weights. With 0, training stops early on the loss of the training rows.
    patience : int, default=3
        Training stops after so many epochs without progress.
    tol : float, default=1e-4
        What counts as progress: a loss that is lower by this much.
    device : str, default="auto"
        Where to compute: "cpu", "cuda", another name that PyTorch knows, or "auto" for a GPU if
        there is one. On CUDA, products are computed in bfloat16 (mixed precision). A model that was
        trained on a GPU answers on the processor where there is none.
    decoding : {"best_path", "top_down", "expected_f1"} or callable, default="best_path"
        How a path is chosen: the most probable path; the best child at every step; or the node with
        the best expected hierarchical F-score, which may end a path early. A callable takes node
        probabilities and the hierarchy and returns one node per row.
    min_confidence : float, default=0.0
        Cuts a path after its deepest node with at least this probability.
    leaf_only : bool, default=False
        Whether every predicted path ends at a leaf; a row that ends earlier then says nothing about
        what is below it.
    multi_label : bool, default=False
        Whether a row may have several labels.
    threshold : float or "tuned", default=0.5
        The probability from which on a class is predicted, where predictions are sets of classes;
        "tuned": per class, learned out of fold.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the weights of the fit before, on the same classes.
    random_state : int, RandomState instance or None, default=None
        For the first weights, the order of the rows and what is left out. On the processor an
        integer makes training repeatable.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The hierarchy of classes.
    classes_ : ndarray, or list of ndarray
        The labels, for paths per level.
    missing_label_ : object
        What stands for a missing label in predictions.
    loss_curve_ : list of float
        The mean loss of the training rows in every epoch.
    validation_curve_ : list of float
        The mean loss of the rows held out after every epoch; empty without such rows.
    n_epochs_ : int
        Number of epochs.
    expected_f1_ : float
        The hierarchical F-score that ``decoding="expected_f1"`` reaches out of fold; only with that
        decoding.
    thresholds_ : ndarray of shape (n_nodes,)
        The threshold of every node; only with ``threshold="tuned"``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where X has names.

    See Also
    --------
    hiclass.LocalClassifierPerParentNode : One multi-class classifier per parent node.
    hiclass.FlatClassifier : One classifier over all leaves.

    Notes
    -----
    Dense features should be on one scale, for example by ``StandardScaler``. Files of a model hold
    its weights, not the state of the optimiser: ``partial_fit`` of a model from a file goes on with
    a fresh one.

    Examples
    --------
    >>> from hiclass.torch import HierarchicalSoftmaxClassifier
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> model = HierarchicalSoftmaxClassifier(random_state=0)
    >>> model.fit(X, y).predict([[5, 9]])
    array([['Plant', 'Fern']], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHierarchicalClassifier._parameter_constraints,
        "hierarchy": "no_validation",
        "loss": [StrOptions({"conditional", "leaf"})],
        "hidden_layers": ["array-like"],
        "embedding_dim": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "recursive": ["boolean"],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "device": [str],
        "decoding": [StrOptions({"best_path", "top_down", "expected_f1"}), callable],
        "leaf_only": ["boolean"],
        "multi_label": ["boolean"],
        "threshold": [Interval(Real, 0, 1, closed="right"), StrOptions({"tuned"})],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        hierarchy: Any = None,
        loss: str = "conditional",
        hidden_layers: tuple[int, ...] = (),
        embedding_dim: int | str | None = "auto",
        dropout: float = 0.0,
        penalty: float = 1e-5,
        recursive: bool = False,
        learning_rate: float | str = "auto",
        batch_size: int | str = "auto",
        max_epochs: int | str = "auto",
        validation_fraction: float = 0.0,
        patience: int = 3,
        tol: float = 1e-4,
        device: str = "auto",
        decoding: Any = "best_path",
        min_confidence: float = 0.0,
        leaf_only: bool = False,
        multi_label: bool = False,
        threshold: float | str = 0.5,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.hierarchy = hierarchy
        self.loss = loss
        self.hidden_layers = hidden_layers
        self.embedding_dim = embedding_dim
        self.dropout = dropout
        self.penalty = penalty
        self.recursive = recursive
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tol = tol
        self.device = device
        self.decoding = decoding
        self.min_confidence = min_confidence
        self.leaf_only = leaf_only
        self.multi_label = multi_label
        self.threshold = threshold
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    # -- fit -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train the network on rows in memory.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            Numbers. Sparse rows stay sparse.
        y : array-like of shape (n_samples,) or (n_samples, n_levels), frame or list of lists
            One label per row, or one path per row from the top of the hierarchy down. Labels may be
            missing at the end of a path, written as ``""``, ``None``, ``NaN``, ``pandas.NA`` or by
            a shorter list. With ``multi_label=True``, lists of labels or an indicator.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Only their ratios count.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        before = self._network() if self.warm_start else None
        self._forget()
        try:
            self._fit(X, y, sample_weight, before)
        except BaseException:
            self._forget()
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, before: FittedNetwork | None) -> None:
        self._check_parameters()
        X = self._as_rows(X, reset=True)
        target = self._encode(y)
        self._check_target(target, X.shape[0])
        weights = _mean_one(as_weights(sample_weight, X))

        def fit_some(rows: IntArray | None = None, before: FittedNetwork | None = None) -> Any:
            return self._fit_network(X, target, weights, rows, before)

        models, known, course = fit_some(before=before)
        if isinstance(target, SetTarget):
            if self.threshold == "tuned":
                self.thresholds_ = tune_thresholds(
                    lambda rows: fit_some(rows)[0], X, target, weights
                )
            self._remember_sets(models, target.format)
        else:
            f = None
            if self.decoding == "expected_f1":
                _, f = fit_out_of_fold(
                    lambda rows: fit_some(rows)[0],
                    X,
                    target.nodes,
                    target.hierarchy,
                    weights,
                    calibrate=False,
                    leaf_only=self.leaf_only,
                )
            self._remember(models, target.format, f)
        self._known = known
        self._note(course)

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
        data = _as_data(X, target, layout, weights)
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
        device = find_device(self.device)
        shape = self._shape(X, layout)
        if before is None:
            generator = torch.Generator().manual_seed(seed)
            weights = first_weights(shape, mean_squared_length(X), generator)
        else:
            if before.shape != shape or not same_layout(before.layout, layout):
                raise ValueError(
                    "warm_start=True goes on with the network of the fit before, but now the "
                    "classes, the features or the layers are others. Use warm_start=False, or "
                    "give all classes with hierarchy= and rows of each of them."
                )
            weights = {name: torch.tensor(value) for name, value in before.weights.items()}
        return Trainer(shape, layout, weights, self._settings(shape), device, seed)

    def _shape(self, X: Any, layout: Layout) -> Shape:
        hidden = tuple(int(width) for width in self.hidden_layers)
        if any(width < 1 for width in hidden):
            raise ValueError(f"hidden_layers must be positive widths; got {self.hidden_layers!r}.")
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

    def _course(self, n_rows: int) -> Course:
        epochs = self.max_epochs
        if epochs == "auto":
            epochs = int(np.clip(-(-_SEEN // n_rows), *_EPOCHS))
        return Course(int(epochs), self.patience, self.tol)

    def _as_network(self, trainer: Trainer) -> FittedNetwork:
        arrays = as_arrays(trainer.weights)
        return FittedNetwork(trainer.shape, trainer.layout, arrays, self.device)

    def _note(self, course: Course) -> None:
        self.loss_curve_ = course.losses
        self.validation_curve_ = course.validation
        self.n_epochs_ = len(course.losses)

    # -- batches -------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn some rows, once, and keep what was learned before.

        The rows are learned in steps of ``batch_size`` rows with a constant learning rate. They are
        learned as a whole or, where something is wrong with them, not at all. For many batches
        :meth:`fit_batches` is faster: it leaves out the copy that this costs.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            As in ``fit``, with the same features in every call.
        y : array-like
            As in ``fit``, in the same form in every call.
        classes : array-like of labels or paths, or Hierarchy, default=None
            All classes that there will be, for the first call; ``hierarchy=`` does the same. By
            default the classes of these rows. Paths may stop at every inner node of these classes
            unless ``leaf_only`` is set.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The updated estimator.
        """
        before = self.__dict__.copy()
        try:
            self._learn(X, y, classes, sample_weight)
        except BaseException:
            # Nothing is changed in place, so these are the attributes as they were.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        self._check_parameters()
        self._check_stream()
        X = self._as_rows(X, reset="_models" not in self.__dict__)
        known, target = self._read_batch(self.__dict__.get("_known"), y, classes)
        self._check_target(target, X.shape[0])
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        trainer: Trainer | None = self.__dict__.get("_trainer")
        if trainer is None:
            layout = known.layout(self.loss, recursive=self.recursive)
            trainer = self._trainer_for(layout, X, seed, self._network())
        else:
            trainer = trainer.copy()
        data = _as_data(X, target, trainer.layout, sample_weight)
        order = np.random.default_rng(seed).permutation(len(data))
        batches = data.batches(order, self._batch_size(len(data)))
        loss = trainer.epoch(trainer.on_device(batches, thread=False), lambda step: 1.0)
        format = self.__dict__.get("_format", target.format)
        self._remember_network(known.after(target), trainer, format)
        self._trainer = trainer
        self.loss_curve_ = [*self.__dict__.get("loss_curve_", []), loss]
        self.validation_curve_ = self.__dict__.get("validation_curve_", [])
        self.n_epochs_ = len(self.loss_curve_)

    def fit_batches(self, batches: Any, classes: Any = None, validation: Any = None) -> Any:
        """Train the network on batches that are read or made while it learns.

        Every batch is one step. Batches are prepared in a thread of their own while the ones before
        them are learned.

        Parameters
        ----------
        batches : callable, or iterable
            Called, or iterated over, once per epoch: gives pairs ``(X, y)`` or triples ``(X, y,
            sample_weight)``, as for ``fit``. A generator serves for one epoch only.
        classes : array-like of labels or paths, or Hierarchy, default=None
            All classes; may be left out where ``hierarchy=`` is given. Paths may stop at every
            inner node of these classes unless ``leaf_only`` is set.
        validation : tuple, default=None
            Rows to stop early on, ``(X, y)`` or ``(X, y, sample_weight)``.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from hiclass.torch import HierarchicalSoftmaxClassifier
        >>> def batches():
        ...     rng = np.random.default_rng(0)
        ...     for _ in range(50):
        ...         X = rng.normal(size=(20, 2))
        ...         yield (
        ...             X,
        ...             [["Up" if b > 0 else "Down", "Right" if a > 0 else "Left"] for a, b in X],
        ...         )
        >>> model = HierarchicalSoftmaxClassifier(max_epochs=2, random_state=0)
        >>> paths = [["Up", "Left"], ["Up", "Right"], ["Down", "Left"], ["Down", "Right"]]
        >>> model.fit_batches(batches, classes=paths).predict([[1, 2]])
        array([['Up', 'Right']], dtype=object)
        """
        self._forget()
        try:
            self._fit_batches(batches, classes, validation)
        except BaseException:
            self._forget()
            raise
        return self

    def _fit_batches(self, batches: Any, classes: Any, validation: Any) -> None:
        self._check_parameters()
        self._check_stream()
        course = self._course(_SEEN)
        items_of = self._items(batches, course.max_epochs)
        items = items_of()
        first = next(items, None)
        if first is None:
            raise ValueError("batches has no batch: there is nothing to learn.")
        X, y, _ = _read_item(first)
        X = self._as_rows(X, reset=True)
        known, target = self._read_batch(None, y, classes)
        layout = known.layout(self.loss, recursive=self.recursive)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        trainer = self._trainer_for(layout, X, seed)
        # Read in a thread, one after the other; complete when an epoch is over.
        seen = [known]
        n_steps = [0]

        def read(items: Iterable[Any], *, is_first: bool) -> Iterator[Batch]:
            for item in items:
                X, y, sample_weight = _read_item(item)
                X = self._as_rows(X, reset=False)
                _, target = self._read_batch(known, y, None)
                self._check_target(target, X.shape[0])
                if is_first:
                    seen[0] = seen[0].after(target)
                    n_steps[0] += 1
                yield _as_data(X, target, layout, sample_weight).whole()

        def epoch(i: int) -> float:
            again = chain([first], items) if i == 0 else items_of()
            on_device = trainer.on_device(read(again, is_first=i == 0), thread=True)
            # How far an epoch has come is known from the second one on.
            done = (lambda step: 0.0) if i == 0 else (lambda step: step / n_steps[0])
            return trainer.epoch(on_device, lambda step: 1 - (i + done(step)) / course.max_epochs)

        validate = None
        if validation is not None:
            held_out = list(read([validation], is_first=False))
            validate = lambda: trainer.validate(b.to(trainer.device) for b in held_out)  # noqa: E731
        course.run(trainer, epoch, validate, verbose=self.verbose > 0)
        self._remember_network(seen[0], trainer, target.format)
        self._note(course)

    def _items(self, batches: Any, n_epochs: int) -> Callable[[], Iterator[Any]]:
        """A function that gives the batches of an epoch."""
        if self.validation_fraction:
            raise ValueError(
                "validation_fraction holds out rows of fit, which are all in memory. For batches, "
                "give the rows to stop on with validation=(X, y)."
            )
        if callable(batches):
            return lambda: iter(batches())
        if iter(batches) is batches and n_epochs > 1:
            raise ValueError(
                f"batches is an iterator, which serves for one epoch, but max_epochs="
                f"{self.max_epochs!r} asks for {n_epochs}. Give a function that makes a new one "
                f"for every epoch, or set max_epochs=1."
            )
        return lambda: iter(batches)

    def _check_stream(self) -> None:
        """Refuse what batches cannot serve."""
        models = self.__dict__.get("_models")
        for name, value, learned, what in (
            ("decoding", "expected_f1", "expected_f1_", "the F-score that is reached"),
            ("threshold", "tuned", "thresholds_", "thresholds that are learned"),
        ):
            if getattr(self, name) == value and learned not in self.__dict__:
                raise ValueError(
                    f"{name}={value!r} needs {what} out of fold, which a stream cannot tell. Call "
                    f"fit on a part of the rows before partial_fit, or use another {name}."
                )
        if models is not None and models.strategy != "flat":
            raise ValueError(
                "A model that is restricted to some classes does not learn: call partial_fit of "
                "the model that it was made from."
            )

    def _read_batch(
        self, known: Known | None, y: Any, classes: Any
    ) -> tuple[Known, Target | SetTarget]:
        """What the network knows, and the labels of a batch."""
        if known is None:
            hierarchy = self._announced(y, classes)
            sets = self.multi_label or not hierarchy.is_tree
            target = self._encode(y, hierarchy)
            if isinstance(target, Target) and target.format.ndim == 2:
                # Paths of this batch may be shorter than those to come.
                n_levels = max(target.format.n_levels, hierarchy.depth)
                target = replace(target, format=replace(target.format, n_levels=n_levels))
            return Known.announced(hierarchy, sets=sets, leaf_only=self.leaf_only), target
        try:
            target = self._encode(y, known.hierarchy)
        except ValueError as error:
            error.add_note(
                "All classes must be known before the first batch: give them with classes= or "
                "hierarchy=."
            )
            raise
        known.check(target, leaf_only=self.leaf_only)
        before = self.__dict__.get("_format", target.format)
        if getattr(before, "ndim", None) != getattr(target.format, "ndim", None):
            raise ValueError(
                "Labels are written in another way than before: single labels and paths do not go "
                "together. Write y in the same form in every batch."
            )
        return known, target

    def _announced(self, y: Any, classes: Any) -> Hierarchy:
        """The hierarchy that a stream begins with."""
        if self.hierarchy is not None:
            return as_hierarchy(self.hierarchy)
        if isinstance(classes, Hierarchy):
            return classes
        if self.multi_label:
            return encode_sets(y if classes is None else [[c] for c in classes]).hierarchy
        return encode(y if classes is None else classes).hierarchy

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
        return self._as_rows(X, reset=False)

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


def _read_item(item: Any) -> tuple[Any, Any, Any]:
    """Rows, labels and weights of a batch."""
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise ValueError(
            f"A batch is a tuple (X, y) or (X, y, sample_weight); got {type(item).__name__}"
            f"{f' of length {len(item)}' if isinstance(item, tuple | list) else ''}."
        )
    return (*item, None) if len(item) == 2 else tuple(item)


def _mean_one(weights: AnyArray | None) -> AnyArray | None:
    """Weights with a mean of one, so that only their ratios count."""
    if weights is None:
        return None
    mean = weights.mean()
    if not mean > 0:
        raise ValueError("All sample weights are zero: there is nothing to learn.")
    return (weights / mean).astype(np.float32)


def _some_rows(target: Target | SetTarget, rows: IntArray) -> Target | SetTarget:
    if isinstance(target, Target):
        return replace(target, nodes=target.nodes[rows])
    return replace(target, closed=target.closed[rows], own=target.own[rows])


def _as_data(X: Any, target: Target | SetTarget, layout: Layout, sample_weight: Any) -> Rows:
    """Rows with their targets, as the network wants them."""
    weights = as_weights(sample_weight, X)
    if weights is not None:
        weights = weights.astype(np.float32)
    if isinstance(layout, SetLayout):
        return Rows(X, target.closed[:, layout.nodes], layout, weights)  # type: ignore[union-attr]
    return Rows(X, target.nodes, layout, weights)  # type: ignore[union-attr]
