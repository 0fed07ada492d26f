"""``HierarchicalSoftmaxClassifier``: the public estimator, thin.

A fitted network is one more kind of local model, one that knows all final classes at once, as a
flat classifier does. So everything about labels, decisions and probabilities is inherited. What
learns are functions: ``_fit`` for rows in memory, ``_stream`` for batches.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from hiclass._compat import Interval, StrOptions, validate_data
from hiclass._estimators.base import BaseHierarchicalClassifier, check_parameters
from hiclass._estimators.fitting import encode_labels, fitting, fold_of_rows, learn_out_of_fold
from hiclass._estimators.incremental import learning
from hiclass._estimators.streams import check_learns
from hiclass._inference.decodings import DECODINGS, Decoding
from hiclass._inference.paths import unrestricted
from hiclass._inference.selections import read_threshold
from hiclass._inference.set_calibrations import SET_CALIBRATIONS
from hiclass._rows import check_weights
from hiclass._state import CalibratedSetModels
from hiclass._targets.paths import check_n_labels
from hiclass.model_selection import read_groups
from hiclass.torch._batches import as_array, batch_weights, forwards, is_plain, surely_finite
from hiclass.torch._continue import beginning, check_same_network
from hiclass.torch._feed import Sending
from hiclass.torch._fit import Trained, as_models, fit_fold, fit_network, learn_rows, mean_one
from hiclass.torch._known import on_device
from hiclass.torch._memory import explaining_lack_of_memory
from hiclass.torch._module import as_module
from hiclass.torch._network import FittedNetwork, find_device
from hiclass.torch._stream import fit_stream, open_batches, read_batch


class HierarchicalSoftmaxClassifier(BaseHierarchicalClassifier):
    """Neural network for the whole hierarchy, trained with PyTorch.

    An embedding or hidden layers, shared by all classes, are followed by one output per branch of
    every node. The outputs become probabilities by a softmax, or, for several labels per row and
    DAGs, by one sigmoid per class; no class is then more probable than its ancestors. Sparse rows
    are never converted to dense rows.

    Parameters
    ----------
    hierarchy : Hierarchy, DiGraph, dict or edges, default=None
        The hierarchy of classes. By default, it is read from the paths in ``y``.
    loss : {"auto", "conditional", "leaf", "each"}, default="auto"
        The loss function. For one path per row:

        * "conditional": a softmax among siblings at every inner node.
        * "leaf": one softmax over all final classes, summed up the tree.
        * "auto": "leaf" for up to 131,072 final classes, otherwise "conditional".

        For sets of classes:

        * "conditional": the probability of a class given its parents. The choice of "auto".
        * "leaf": a class is as probable as the most probable class at or below it (the maximum
          constraint of C-HMCNN).
        * "each": one independent sigmoid per class; predicted probabilities are limited by those of
          the ancestors. About as good as the others, and faster with many classes.
    hidden_layers : tuple of int, default=()
        Widths of the hidden layers, each with a ReLU.
    embedding_dim : int, None or "auto", default="auto"
        Width of a first layer without activation, an embedding. "auto": for sparse rows without
        hidden layers, 96 with up to 200 outputs and 128 with more; otherwise no embedding. With
        None and no hidden layers, the model is linear.
    dropout : float, default=0.0
        Dropout rate of the embedding and the hidden layers.
    standardize : bool, default=True
        Whether to scale features inside the network, so that learning rate and penalty do not
        depend on their units. Dense features are scaled to mean 0 and equal variance: with hidden
        layers to variance 1, otherwise so that rows have a mean squared norm of 1. Sparse rows are
        divided by one number. The scales are computed from the rows of ``fit`` or of the first
        batch.
    penalty : float or "auto", default="auto"
        Strength of the L2 penalty on all weights. For a linear model with ``standardize=False``,
        ``1 / (C * n_samples)`` corresponds to ``C`` of ``LogisticRegression`` with three or more
        classes, and ``2 / (C * n_samples)`` with two classes. "auto": for a linear model
        ``0.3 / (n_samples * n_outputs)``, with an embedding
        ``1.5 / (n_samples * max(1, n_outputs / 200))``, with hidden layers
        ``1 / (n_samples * max(1, n_outputs / 100))``.
    recursive : bool, default=False
        Whether the penalty draws the weights of a class towards those of its parent instead of
        towards zero (recursive regularisation, Gopal and Yang 2013).
    learning_rate : float or "auto", default="auto"
        Initial learning rate of Adam. "auto": 0.03 with an embedding, 0.003 with hidden layers, 0.2
        for a linear model.
    decay : bool, default=True
        Whether the learning rate decreases to zero over the epochs of ``fit``. With False, it is
        constant.
    batch_size : int or "auto", default="auto"
        Number of rows per step. "auto": 384, with an embedding 448; less with fewer than 20 times
        as many rows, and more with over 256 times as many; 384 in ``partial_fit``.
    max_epochs : int or "auto", default="auto"
        The maximum number of passes over the rows. "auto": as many as process 20,000 rows, between
        6 and 100 (with an embedding, between 5 and 100); with hidden layers, as many as process
        100,000 rows, between 10 and 100. For streams: 6, with an embedding 5, with hidden layers
        10.
    validation_fraction : float, default=0.0
        Share of the rows held out for early stopping, which keeps the weights with the lowest loss.
        With ``groups`` in ``fit``, whole groups are held out. With 0, early stopping uses the loss
        of the training rows.
    patience : int, default=3
        Number of epochs without improvement after which training stops.
    tol : float, default=1e-4
        The smallest decrease of the loss that counts as improvement.
    clip_norm : float, default=None
        The maximum norm of the gradient of a step. Larger gradients are scaled down.
    precision : {"auto", "float32", "bfloat16"}, default="auto"
        The precision of matrix products in training. Weights are float32. "auto": "bfloat16" on
        CUDA, otherwise "float32".
    device : str, default="auto"
        The device: "cpu", "cuda", another device name of PyTorch, or "auto" for a GPU if there is
        one. It may be changed after ``fit``. A model that was trained on a GPU and loaded on a
        machine without one predicts on the CPU.
    distributed : bool, default=False
        Whether the processes of the ``torch.distributed`` process group train one network together.
        The group must be initialised before. All processes call ``fit`` with the same rows, and
        each computes its share of every step; or ``fit_batches``, each with its own batches.
    checkpoint_dir : str or path, default=None
        A folder in which the state of training is saved about every 20 seconds. If ``fit`` or
        ``fit_batches`` is called again with the same rows and parameters, an interrupted training
        resumes from there.
    decoding : {"best_path", "top_down", "expected_f1"} or callable, default="best_path"
        How a path is chosen. "best_path": the most probable path. "top_down": the best child at
        every step. "expected_f1": the node with the best expected hierarchical F-score, so that
        paths may stop early. A callable takes node probabilities and the hierarchy and returns one
        node per row.
    expected_f1 : float, default=None
        The hierarchical F-score that ``decoding="expected_f1"`` assumes. A class is predicted if
        its probability exceeds half of this value. By default, it is estimated from three
        out-of-fold fits.
    min_confidence : float, sequence of float or mapping, default=0.0
        Stops a path before its first node with a lower probability. A sequence holds one value per
        level. A mapping has classes (paths or labels) as keys, and one value, or one value per
        level, for each. An entry applies to a class and its descendants, unless they have their own
        entry.
    leaf_only : bool, default=False
        Whether every predicted path must end at a leaf. For a training row that ends at an inner
        node, the class below is then treated as unknown.
    multi_label : bool, default=False
        Whether a row may have several labels.
    threshold : float, str or tuple, default=0.5
        For sets of classes, the smallest probability of a predicted class, or any other form that
        :class:`~hiclass.FlatClassifier` accepts, such as "tuned" and ("top", 3).
    calibration : {"sigmoid", "isotonic"} or None, default=None
        For sets of classes, calibrates the probability of every class by a monotonic map that is
        learned from three out-of-fold fits; see :class:`~hiclass.FlatClassifier`.
    warm_start : bool, default=False
        Whether ``fit`` continues from the weights of the previous fit on the same classes.
    random_state : int, RandomState instance or None, default=None
        Controls the initial weights, the order of the rows and the dropout. On the CPU, an integer
        makes training reproducible, bit by bit with the same number of threads.
    verbose : int, default=0
        1 shows a progress bar on stderr.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The hierarchy of classes.
    classes_ : ndarray, or list of ndarray
        The labels. For paths, one array per level.
    missing_label_ : object
        The value of a missing label in predictions.
    prior_ : ndarray of shape (n_nodes,)
        The share of every node among the training rows, or the share set by ``adapted_to``.
    loss_curve_ : list of float
        The mean loss of the training rows in every epoch.
    validation_curve_ : list of float
        The mean loss of the held-out rows after every epoch. Empty without held-out rows.
    n_epochs_ : int
        Number of epochs.
    expected_f1_ : float
        The out-of-fold hierarchical F-score of ``decoding="expected_f1"``. Only set if it is
        learned, which happens with that decoding.
    thresholds_ : ndarray of shape (n_nodes,)
        The threshold with the best F1 for every node. Only set if ``threshold`` is learned.
    threshold_curve_ : ndarray of shape (n_points, 3)
        Out-of-fold results of common thresholds. The columns are the threshold, the share of the
        true classes that are predicted, and the number of predicted classes per true class. Only
        set if ``threshold`` is learned.
    module_ : torch.nn.Module
        A copy of the network: ``encoder``, and ``head``, a :class:`HierarchicalHead`. Every access
        creates a new copy with the fitted weights. To train it further, keep it in a variable; this
        classifier does not change. Its probabilities are not calibrated.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has column names.

    See Also
    --------
    hiclass.LocalClassifierPerParentNode : One multi-class classifier per parent node.
    hiclass.FlatClassifier : One classifier over all leaves.

    Notes
    -----
    A saved model contains its weights, but not the state of the optimiser; ``partial_fit`` of a
    loaded model starts with a new optimiser. An interrupt (Ctrl+C) stops ``fit`` and
    ``fit_batches`` with a warning, and the model keeps its current weights. The interrupt is raised
    instead, and the model is not fitted, before the first step, with several processes, and
    whenever ``fit`` also learns from out-of-fold fits: the expected F-score of
    ``decoding="expected_f1"``, thresholds or a calibration.

    Examples
    --------
    >>> from hiclass.torch import HierarchicalSoftmaxClassifier
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> model = HierarchicalSoftmaxClassifier(random_state=0)
    >>> model.fit(X, y).predict([[5, 9]])
    array([['Plant', 'Fern']], dtype=object)
    """

    _private: ClassVar[tuple[str, ...]] = ("_models", "_format", "_known", "_past", "_trainer")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHierarchicalClassifier._parameter_constraints,
        "hierarchy": "no_validation",
        "loss": [StrOptions({"auto", "conditional", "leaf", "each"})],
        "hidden_layers": ["array-like"],
        "embedding_dim": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "standardize": ["boolean"],
        "penalty": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "recursive": ["boolean"],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "decay": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
        "precision": [StrOptions({"auto", "float32", "bfloat16"})],
        "device": [str],
        "distributed": ["boolean"],
        "checkpoint_dir": [str, PathLike, None],
        "decoding": [StrOptions(set(DECODINGS)), callable, Decoding],
        "leaf_only": ["boolean"],
        "multi_label": ["boolean"],
        "threshold": [Interval(Real, 0, 1, closed="right"), str, tuple, list],
        "calibration": [StrOptions(set(SET_CALIBRATIONS)), None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    #: Groups are requested by default, as by scikit-learn's group splitters.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}

    def __init__(
        self,
        *,
        hierarchy: Any = None,
        loss: str = "auto",
        hidden_layers: tuple[int, ...] = (),
        embedding_dim: int | str | None = "auto",
        dropout: float = 0.0,
        standardize: bool = True,
        penalty: float | str = "auto",
        recursive: bool = False,
        learning_rate: float | str = "auto",
        decay: bool = True,
        batch_size: int | str = "auto",
        max_epochs: int | str = "auto",
        validation_fraction: float = 0.0,
        patience: int = 3,
        tol: float = 1e-4,
        clip_norm: float | None = None,
        precision: str = "auto",
        device: str = "auto",
        distributed: bool = False,
        checkpoint_dir: Any = None,
        decoding: Any = "best_path",
        expected_f1: float | None = None,
        min_confidence: Any = 0.0,
        leaf_only: bool = False,
        multi_label: bool = False,
        threshold: Any = 0.5,
        calibration: str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.hierarchy = hierarchy
        self.loss = loss
        self.hidden_layers = hidden_layers
        self.embedding_dim = embedding_dim
        self.dropout = dropout
        self.standardize = standardize
        self.penalty = penalty
        self.recursive = recursive
        self.learning_rate = learning_rate
        self.decay = decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tol = tol
        self.clip_norm = clip_norm
        self.precision = precision
        self.device = device
        self.distributed = distributed
        self.checkpoint_dir = checkpoint_dir
        self.decoding = decoding
        self.expected_f1 = expected_f1
        self.min_confidence = min_confidence
        self.leaf_only = leaf_only
        self.multi_label = multi_label
        self.threshold = threshold
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        """Train the network on rows in memory.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            Numeric rows. Sparse rows stay sparse.
        y : array-like of shape (n_samples,) or (n_samples, n_levels), frame or list of lists
            One label per row, or one path per row from level 1 down. Labels at the end of a path
            may be missing: ``""``, ``None``, ``NaN``, ``pandas.NA`` or a shorter list. With
            ``multi_label=True``, lists of labels or an indicator matrix.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. Only their ratios matter.
        groups : array-like of shape (n_samples,), default=None
            The group of every row, such as a patient or a recording. Whole groups are held out, for
            ``validation_fraction`` and for out-of-fold fits (expected F-score, thresholds,
            calibration), which require at least three groups.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        before = self._network() if self.warm_start else None
        with fitting(self):
            self._check_parameters()
            X = self._as_rows(X, reset=True)
            # Labels are read while rows are copied to a GPU.
            with self._sending(X) as sent:
                target = encode_labels(self, y)
                check_n_labels(target.n_rows, X.shape[0])
                weights = mean_one(check_weights(sample_weight, X))
                unit = None if groups is None else read_groups(groups, X.shape[0])
                fold = fold_of_rows(self, target, unit)
                trained = fit_network(
                    self,
                    X,
                    target,
                    weights,
                    unit,
                    before,
                    keep_on_interrupt=fold is None,
                    sent=sent,
                )
            models = as_models(self, trained.known, trained.trainer)
            fit_some = partial(fit_fold, self, X, target, weights, unit)
            models, learned = learn_out_of_fold(self, fit_some, models, X, target, weights, fold)
            self._remember(models, target.format, **learned)
            self._remember_training(trained)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Update the network with one pass over some rows.

        The rows are processed in steps of ``batch_size`` rows. The learning rate decreases with the
        number of rows seen before, and is smaller for steps with fewer rows. Many calls give about
        the same result as :meth:`fit_batches` with the same number of passes over the rows. If an
        error occurs, the model remains unchanged; the copy that this needs makes it slower than
        :meth:`fit_batches`.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            As in ``fit``, with the same features in every call.
        y : array-like
            As in ``fit``, in the same form in every call.
        classes : array-like of labels or paths, or Hierarchy, default=None
            All classes that will ever occur, for the first call. ``hierarchy=`` has the same
            effect. By default, the classes of these rows. Later calls cannot add classes. Unless
            ``leaf_only`` is set, paths may stop at every inner node.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows.

        Returns
        -------
        self : object
            The updated estimator.
        """
        with learning(self):
            self._check_parameters()
            self._check_stream()
            X = self._as_rows(X, reset="_models" not in vars(self))
            check_same_network(self)
            known, target = read_batch(y, classes, self)
            check_n_labels(target.n_rows, X.shape[0])
            trained = learn_rows(self, known, X, target, sample_weight)
            known = known.after(target, batch_weights(sample_weight, X))
            format = vars(self).get("_format", target.format)
            before = vars(self).get("loss_curve_", []), vars(self).get("validation_curve_", [])
            self._remember(as_models(self, known, trained.trainer), format)
            self._remember_training(replace(trained, known=known), *before)
            self._trainer = trained.trainer
        return self

    def fit_batches(self, batches: Any, classes: Any = None, validation: Any = None) -> Any:
        """Train the network on batches that are read or generated during training.

        Every batch is one step. A separate thread prepares the next batches.

        Parameters
        ----------
        batches : callable, or iterable
            Called, or iterated over, once per epoch. It yields ``(X, y)`` or ``(X, y,
            sample_weight)``, as for ``fit``. A generator can only be used for one epoch.
        classes : array-like of labels or paths, or Hierarchy, default=None
            All classes. Not needed if ``hierarchy=`` is given. Unless ``leaf_only`` is set, paths
            may stop at every inner node.
        validation : tuple, default=None
            Validation rows for early stopping, ``(X, y)`` or ``(X, y, sample_weight)``. They are
            scored in chunks.

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
        with fitting(self):
            self._check_parameters()
            self._check_stream()
            (X, y, weight), items_of = open_batches(batches, self)
            X = self._as_rows(X, reset=True)
            known, target = read_batch(y, classes, self)
            check_n_labels(target.n_rows, X.shape[0])
            first = X, target, batch_weights(weight, X)
            trained = fit_stream(self, known, target.format, first, items_of, validation)
            self._remember(as_models(self, trained.known, trained.trainer), target.format)
            self._remember_training(trained)
        return self

    def _remember_training(
        self, trained: Trained, losses: Sequence[float] = (), validation: Sequence[float] = ()
    ) -> None:
        """Set classes, losses, and what later training needs."""
        self._known = trained.known
        self._past = beginning(self, trained)
        self.loss_curve_ = [*losses, *trained.course.losses]
        self.validation_curve_ = [*validation, *trained.course.validation]
        self.n_epochs_ = len(self.loss_curve_)

    # -- checks --------------------------------------------------------------------------------

    def _check_stream(self) -> None:
        """Refuse parameters that do not work with batches."""
        check_learns(self)
        was_calibrated = isinstance(vars(self).get("_models"), CalibratedSetModels)
        if self.calibration is not None or was_calibrated:
            raise ValueError(
                "fit learns a calibration from out-of-fold scores of all rows; further batches "
                "would invalidate it. Use calibration=None, in fit as well as before batches."
            )
        if read_threshold(self.threshold).is_learned and "thresholds_" not in vars(self):
            raise ValueError(
                f"threshold={self.threshold!r} is learned from out-of-fold scores, which a stream "
                f"does not have. Call fit on a part of the rows before partial_fit, or use "
                f"another threshold."
            )

    def _as_rows(self, X: Any, *, reset: bool) -> Any:
        X = as_array(X)
        known = not reset and "feature_names_in_" not in vars(self)
        if known and is_plain(X, self.n_features_in_):
            return X  # as most batches of a stream: no conversion needed
        checked = {"reset": reset, "accept_sparse": "csr", "dtype": np.float32}
        return forwards(validate_data(self, X, ensure_all_finite=not surely_finite(X), **checked))

    def _sending(self, X: Any) -> Sending:
        """Start copying rows to a GPU, if all of them are needed there."""
        device = "cpu" if self.validation_fraction or self.multi_label else self.device
        return Sending(X, find_device(device))

    def _check_rows(self, X: Any) -> Any:
        self._check_fitted()
        self._follow_device()
        return self._as_rows(X, reset=False)

    def _map_chunks(self, function: Any, X: Any, width: int, everywhere: bool) -> list[Any]:
        with explaining_lack_of_memory(lambda: _fewer_rows(X.shape[0])):
            return super()._map_chunks(function, X, width, everywhere)

    # -- the rest of the contract --------------------------------------------------------------

    @property
    def module_(self) -> Any:
        """A new copy of the network as a ``torch.nn.Module``: ``encoder``, then ``head``."""
        self._check_fitted()
        self._follow_device()
        models = self._models
        if isinstance(models, CalibratedSetModels):
            models = models.base
        return as_module(models, multi_label=self.multi_label)

    def _network(self) -> FittedNetwork | None:
        """The fitted network, if there is one."""
        models = self.__dict__.get("_models")
        return None if models is None else unrestricted(models).classifiers.get(0)

    def _follow_device(self) -> None:
        """Let the network predict on the ``device`` that is set now, also after ``fit``."""
        network = self._network()
        if network is None or network.device == self.device:
            return
        check_parameters(self, ("device",))
        find_device(self.device)  # an error where there is no such device
        self._models = on_device(self._models, self.device)

    def _input_tags(self) -> Any:
        tags = BaseEstimator.__sklearn_tags__(self)
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_trainer", None)
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy with the state of the optimiser, which a file does not have."""
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        for name, value in vars(self).items():
            is_trainer = name == "_trainer"
            other.__dict__[name] = value.copy() if is_trainer else copy.deepcopy(value, memo)
        return other


def _fewer_rows(n_rows: int) -> tuple[str, str]:
    """Advice where predictions do not fit into memory."""
    fewer = f"Predict at most {n_rows // 2:,} rows at a time. " if n_rows > 1 else ""
    return (
        f"The predictions for {n_rows:,} rows do not fit into memory",
        f"{fewer}For the most probable classes only, use predict_paths.",
    )
