"""Learning from batches: ``partial_fit``, and ``fit_batches`` for streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from hiclass._inference.decodings import as_decoding
from hiclass._labels.columns import check_paths, read_labels
from hiclass._state import LabelFormat, RestrictedModels
from hiclass._targets.paths import Target, as_hierarchy, encode, nodes_of
from hiclass._targets.sets import SetTarget, check_n_labels, encode_sets
from hiclass.hierarchy import Hierarchy
from hiclass.torch._batches import Batch, Rows
from hiclass.torch._estimator import NetworkClassifier, as_data
from hiclass.torch._known import Known


class StreamingClassifier(NetworkClassifier):
    """Base of the networks that learn from batches; not for direct use."""

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
            default the classes of these rows. Later calls need none, and take no new ones. Paths
            may stop at every inner node of these classes unless ``leaf_only`` is set.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, none of them negative.

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
        check_n_labels(target, X.shape[0])
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        network = self._network()
        if "_trainer" in self.__dict__ and self._is_current(self._trainer):
            trainer = self._trainer.copy()
        elif network is not None:
            trainer = self._resume(network, seed)
        else:
            layout = known.layout(self.loss, recursive=self.recursive)
            trainer = self._trainer_for(layout, X, seed)
        data = as_data(X, target, trainer.layout, sample_weight)
        order = np.random.default_rng(seed).permutation(len(data))
        batches = data.batches(order, self._batch_size(len(data)))
        with trainer.on_device(batches, thread=False) as on_device:
            loss = trainer.epoch(on_device, lambda step: 1.0)
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
            Rows to stop early on, ``(X, y)`` or ``(X, y, sample_weight)``. They are scored in
            pieces: any number of them needs little memory beside ``X``.

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
        course = self._course(None)
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
        self._format = target.format
        lookup = IntegerLabels(known)
        # Read in a thread, one after the other; complete when an epoch is over.
        seen = [known]
        n_steps = [0]

        def rows_of(item: Any) -> tuple[Rows, Target | SetTarget]:
            X, y, sample_weight = _read_item(item)
            X = self._as_rows(X, reset=False)
            _, target = self._read_batch(known, y, None, lookup)
            check_n_labels(target, X.shape[0])
            return as_data(X, target, layout, sample_weight), target

        def read(items: Iterable[Any], *, is_first: bool) -> Iterator[Batch]:
            for item in items:
                rows, target = rows_of(item)
                if is_first:
                    seen[0] = seen[0].after(target)
                    n_steps[0] += 1
                yield rows.whole()

        def epoch(i: int) -> float:
            again = chain([first], items) if i == 0 else _not_empty(items_of(), i)

            def rate(step: int) -> float:
                # How far an epoch has come is known from the second one on, unless it has more
                # batches than the first one: steps must not become negative.
                done = min(step / n_steps[0], 1.0) if i else 0.0
                return 1 - (i + done) / course.max_epochs

            with trainer.on_device(read(again, is_first=i == 0), thread=True) as on_device:
                return trainer.epoch(on_device, rate)

        validate = None
        if validation is not None:
            validate = partial(trainer.validate, rows_of(validation)[0])
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
        if as_decoding(self.decoding).needs_f and self._f_to_expect() is None:
            self._refuse_to_learn(
                "decoding", "the F-score that is reached", ", say which to expect (expected_f1=0.8)"
            )
        if self.threshold == "tuned" and "thresholds_" not in self.__dict__:
            self._refuse_to_learn("threshold", "thresholds that are learned")
        if isinstance(models, RestrictedModels):
            raise ValueError(
                "A model that is restricted to some classes does not learn: call partial_fit of "
                "the model that it was made from."
            )

    def _refuse_to_learn(self, name: str, what: str, instead: str = "") -> None:
        raise ValueError(
            f"{name}={getattr(self, name)!r} needs {what} out of fold, which a stream cannot tell. "
            f"Call fit on a part of the rows before partial_fit{instead}, or use another {name}."
        )

    def _read_batch(
        self, known: Known | None, y: Any, classes: Any, lookup: IntegerLabels | None = None
    ) -> tuple[Known, Target | SetTarget]:
        """What the network knows, and the labels of a batch."""
        if known is None:
            hierarchy = self._announced(y, classes)
            sets = self.multi_label or not hierarchy.is_tree
            if self.hierarchy is not None:
                self._check_classes(classes, hierarchy)
            target = self._encode(y, hierarchy)
            if isinstance(target, Target) and target.format.ndim == 2:
                # Paths of this batch may be shorter than those to come.
                n_levels = max(target.format.n_levels, hierarchy.depth)
                target = replace(target, format=replace(target.format, n_levels=n_levels))
            return Known.announced(hierarchy, sets=sets, leaf_only=self.leaf_only), target
        try:
            self._check_classes(classes, known.hierarchy)
            target = self._encode_again(y, known, lookup)
        except ValueError as error:
            error.add_note(
                "All classes must be known before the first batch: give them with classes= or "
                "hierarchy=."
            )
            raise
        known.check(target, leaf_only=self.leaf_only)
        return known, target

    def _encode_again(
        self, y: Any, known: Known, lookup: IntegerLabels | None
    ) -> Target | SetTarget:
        """Labels of a batch that is not the first: how they are written is known by now."""
        if known.options is None:
            return self._encode(y, known.hierarchy)
        found = None if lookup is None or self._format.ndim != 1 else lookup.find(y)
        if found is not None:
            return Target(known.hierarchy, found, self._format)
        columns = read_labels(y)
        check_paths(columns)
        nodes = nodes_of(columns, known.hierarchy)
        format = self.__dict__.get("_format")
        if format is None:
            format = LabelFormat(columns.ndim, len(columns.codes), columns.dtype, columns.missing)
        elif columns.ndim != format.ndim:
            now, before = ("single labels", "paths")[:: 1 if columns.ndim == 1 else -1]
            raise ValueError(
                f"y holds {now}, but the rows before this batch had {before}. Write y in the same "
                f"form in every batch."
            )
        return Target(known.hierarchy, nodes, format)

    def _check_classes(self, classes: Any, hierarchy: Hierarchy) -> None:
        """Refuse classes that are announced although others are known already."""
        if classes is None:
            return
        if isinstance(classes, Hierarchy):
            if classes != hierarchy:
                raise ValueError(
                    f"classes is {classes!r}, but the network has the classes of {hierarchy!r}."
                )
        elif self.multi_label:
            encode_sets([[c] for c in classes], hierarchy)
        else:
            encode(classes, hierarchy)

    def _announced(self, y: Any, classes: Any) -> Hierarchy:
        """The hierarchy that a stream begins with."""
        if self.hierarchy is not None:
            return as_hierarchy(self.hierarchy)
        if isinstance(classes, Hierarchy):
            return classes
        if self.multi_label:
            return encode_sets(y if classes is None else [[c] for c in classes]).hierarchy
        return encode(y if classes is None else classes).hierarchy


class IntegerLabels:
    """Finds nodes by single labels that are integers, all at once: for streams with many rows.

    Parameters
    ----------
    known : Known
        The classes.
    """

    def __init__(self, known: Known) -> None:
        labels = known.hierarchy.labels[1:].tolist()
        usable = all(type(label) is int and abs(label) < 2**63 for label in labels)
        self._order: Any = None
        if usable and len(set(labels)) == len(labels):
            self._order = np.argsort(labels)
            self._labels = np.array(labels, dtype=np.int64)[self._order]

    def find(self, y: Any) -> Any:
        """The node of every label; None where that is not for here, or a label is unknown."""
        integers = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind == "i" and len(y)
        if self._order is None or not integers:
            return None
        place = np.minimum(np.searchsorted(self._labels, y), len(self._labels) - 1)
        return 1 + self._order[place] if (self._labels[place] == y).all() else None


def _not_empty(items: Iterator[Any], i: int) -> Iterator[Any]:
    """The batches of epoch ``i``, which must have some."""
    first = next(items, None)
    if first is None:
        raise ValueError(
            f"batches gave nothing in epoch {i + 1}: it serves for {i} epoch{'s' if i > 1 else ''} "
            f"only. Give a function that makes a new iterator in every call, or set max_epochs={i}."
        )
    return chain([first], items)


def _read_item(item: Any) -> tuple[Any, Any, Any]:
    """Rows, labels and weights of a batch."""
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise ValueError(
            f"A batch is a tuple (X, y) or (X, y, sample_weight); got {type(item).__name__}"
            f"{f' of length {len(item)}' if isinstance(item, tuple | list) else ''}."
        )
    return (*item, None) if len(item) == 2 else tuple(item)
