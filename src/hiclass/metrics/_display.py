"""The base class of all displays: creation from an estimator, and the axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self

from hiclass._wrapping import unwrap
from hiclass.metrics._scorers import given_hierarchy, refuse_sets


class Display(ABC):
    """Base of all displays; not for direct use."""

    #: Whether the display takes the confidence of the predictions as its third argument.
    _of_confidence: ClassVar[bool] = False

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **kwargs: Any) -> Self:
        """Create and draw the display from the predictions of an estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier, or a pipeline or search that ends in one. Displays of confidence
            need a classifier with ``predict_confidence``.
        X : array-like
            The rows.
        y : array-like
            Their true labels.
        **kwargs : dict
            Passed to ``from_predictions``. By default, these include the hierarchy of the
            estimator and, for displays with a legend, its name.

        Returns
        -------
        display : same type
            The drawn display.
        """
        kwargs = {**cls._defaults(estimator), **kwargs}
        if not cls._of_confidence:
            refuse_sets(estimator, cls.__name__)
            return cls.from_predictions(y, estimator.predict(X), **kwargs)
        # Searches and pipelines have no predict_confidence.
        opened = unwrap(estimator)
        rows = opened.transform(X)
        predicted = opened.model.predict(rows), opened.model.predict_confidence(rows)
        return cls.from_predictions(y, *predicted, **kwargs)

    @classmethod
    def _defaults(cls, estimator: Any) -> dict[str, Any]:
        """Arguments of ``from_predictions`` that are taken from an estimator."""
        return {"hierarchy": given_hierarchy(estimator)}

    @classmethod
    @abstractmethod
    def from_predictions(cls, y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Self:
        """Create and draw the display from predictions."""


def check_levels(levels: Iterable[int] | None, depth: int) -> list[int]:
    """Return the chosen levels, all by default."""
    chosen = list(range(1, depth + 1)) if levels is None else [int(level) for level in levels]
    bad = [level for level in chosen if not 1 <= level <= depth]
    if bad or not chosen:
        raise ValueError(f"levels={chosen!r}: levels are the numbers 1 to {depth}.")
    return chosen


def axes_of(ax: Any, size: tuple[float, float]) -> Any:
    """The given Axes, or those of a new figure of this size."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]
