"""Callbacks of scikit-learn for a fit, and for the fits of its local classifiers.

They exist since scikit-learn 1.9 and are experimental there. Older versions have no
``set_callbacks``, and nothing of this runs. Callbacks see a tree of tasks: a fit, the local
classifiers that it fits at a time, and each of these. Callbacks that support nested estimators are
passed to local classifiers that accept them, if these are fitted one after the other in this
process.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from hiclass._compat import manage_callbacks


@contextmanager
def telling_callbacks(model: Any, X: Any = None, y: Any = None) -> Iterator[None]:
    """Tell the callbacks of a model, including inherited ones, that its fit begins and ends.

    Parameters
    ----------
    model : estimator
        The model.
    X, y : rows and labels, default=None
        The training data, for callbacks that request it.
    """
    with manage_callbacks(model):
        context = model._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=model, X=X, y=y)
        yield
        # The model is fitted: a copy of it is the state if fit stopped now.
        context.call_on_fit_task_end(estimator=model, X=X, y=y, reconstruction_attributes={})


@contextmanager
def handing_callbacks_on(model: Any, member: Any, name: str) -> Iterator[None]:
    """Pass the callbacks of a model to one of its parts while that part is fitted.

    Parameters
    ----------
    model : estimator
        The model, which is being fitted.
    member : estimator
        The model that is fitted within.
    name : str
        The name of this task in callbacks.
    """
    above = getattr(model, "_callback_fit_ctx", None)
    if above is None:
        yield
        return
    context = above.subcontext(task_name=name)
    with context.propagate_callback_context(member):
        context.call_on_fit_task_begin(estimator=model)
        yield
        context.call_on_fit_task_end(estimator=model)


class LocalFits:
    """Tells callbacks about the fits of local classifiers.

    Parameters
    ----------
    model : estimator
        The model, which is being fitted.
    title : str
        The name of all these fits in callbacks.
    n_fits : int
        The number of fits.
    hand_on : bool
        Whether to hand callbacks to the local classifiers: they are fitted in this process, one
        after the other.
    """

    def __init__(self, model: Any, title: str, n_fits: int, *, hand_on: bool) -> None:
        self._model, self._hand_on = model, hand_on
        above = model._callback_fit_ctx
        self._context = above.subcontext(task_name=title, max_subtasks=n_fits)
        self._context.call_on_fit_task_begin(estimator=model)
        self._open: dict[Hashable, tuple[Any, ExitStack]] = {}

    def __enter__(self) -> LocalFits:
        return self

    def begin(self, key: Hashable, name: Callable[[], str], estimator: Any) -> None:
        """Record that a fit begins; engines may call this from another thread."""
        context = self._context.subcontext(task_name=name())
        handed = ExitStack()
        if self._hand_on and hasattr(estimator, "set_callbacks"):
            handed.enter_context(context.propagate_callback_context(estimator))
        context.call_on_fit_task_begin(estimator=self._model)
        self._open[key] = context, handed

    def finish(self, key: Hashable) -> None:
        """Record that a fit has ended."""
        context, handed = self._open.pop(key)
        handed.close()
        context.call_on_fit_task_end(estimator=self._model)

    def __exit__(self, *exc: object) -> None:
        for _, handed in self._open.values():  # of fits that failed or never began
            handed.close()
        if exc[0] is None:
            self._context.call_on_fit_task_end(estimator=self._model)
