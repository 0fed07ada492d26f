"""Guarantees about the labels above a threshold, as data, and the guarantee of a model.

Model files refer to the classes of this module, so they must not be moved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hiclass._inference.confidence import as_json
from hiclass._wrapping import unwrap


@dataclass(frozen=True)
class Promise:
    """A promise about one level, for all rows or for those of one branch.

    Attributes
    ----------
    level : int
        The level, starting at 1.
    branch : tuple
        The path of the predicted class to which the promise applies. Empty for all rows, or for all
        rows to which no other promise for the level applies.
    limit : float
        The share of wrong labels, or the mean cost, that is allowed.
    threshold : float
        The smallest confidence of a predicted label of this level. Infinite if no promise is
        possible, so that no label is predicted.
    n_rows : int
        The number of calibration rows that reach the level.
    n_answered : int
        The number of these rows whose confidence reaches the threshold.
    loss : float
        The number of wrong labels among them, or their total cost.
    n_needed : int
        The smallest number of rows for a promise, if no label is wrong.
    reason : str
        Why no promise is possible. Empty if there is one.
    """

    level: int
    branch: tuple[Any, ...]
    limit: float
    threshold: float
    n_rows: int
    n_answered: int
    loss: float
    n_needed: int
    reason: str = ""

    @property
    def reached(self) -> bool:
        """Whether any labels of this level are predicted."""
        return not self.reason

    @property
    def share(self) -> float:
        """The share of the calibration rows that get a label."""
        return self.n_answered / self.n_rows if self.n_rows else 0.0

    @property
    def mean_loss(self) -> float:
        """The share of wrong labels among those predicted, or their mean cost."""
        return self.loss / self.n_answered if self.n_answered else 0.0


@dataclass(frozen=True)
class Guarantee:
    """Confidence thresholds, and a guarantee for the labels that reach them.

    Returned by :func:`guarantee_error` and :func:`guarantee_cost`. All promises hold together, with
    probability ``certainty``, for rows from the same distribution as the calibration rows.

    Parameters
    ----------
    kind : {"error", "cost"}
        Whether the share of wrong labels or their mean cost is bounded.
    certainty : float
        The probability, over the draw of the calibration rows, that every promise holds.
    n_rows : int
        The number of calibration rows.
    depth : int
        The number of levels of the hierarchy.
    decoding : str
        The decoding of the model. The promises hold for this decoding only.
    promises : tuple of Promise
        One per level, or per level and branch.

    Examples
    --------
    >>> from hiclass import Guarantee
    >>> data = {"kind": "error", "certainty": 0.95, "n_rows": 900, "depth": 2}
    >>> Guarantee.from_dict({**data, "decoding": "best_path", "promises": ()}).min_confidence
    [0.0, 0.0]
    """

    kind: str
    certainty: float
    n_rows: int
    depth: int
    decoding: str
    promises: tuple[Promise, ...]

    @property
    def min_confidence(self) -> Any:
        """The thresholds for ``set_params``: one per level, or a dict of them by branch."""
        by_branch = {}
        for branch in dict.fromkeys([(), *(promise.branch for promise in self.promises)]):
            each = [0.0] * self.depth
            for promise in self.promises:
                if promise.branch in ((), branch):
                    each[promise.level - 1] = promise.threshold
            by_branch[branch] = each
        return by_branch if len(by_branch) > 1 else by_branch[()]

    def apply(self, model: Any) -> Any:
        """Set the thresholds of a model, and its attribute ``guarantee_``.

        Parameters
        ----------
        model : estimator
            The fitted model that the guarantee was computed for, or the pipeline or search around
            it.

        Returns
        -------
        model : estimator
            The same object, with ``min_confidence`` set.
        """
        inside = unwrap(model, through_choices=False).model
        inside.set_params(min_confidence=self.min_confidence)
        inside.guarantee_ = self
        return model

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as a dict of plain data, for JSON.

        Returns
        -------
        dict
            All attributes. An infinite threshold is None, and a branch is a list.
        """
        data = asdict(self)
        for promise in data["promises"]:
            promise["threshold"] = _finite(promise["threshold"])
            promise["branch"] = list(promise["branch"])
        data["promises"] = list(data["promises"])
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """Create a guarantee from the dict that :meth:`to_dict` returns.

        Parameters
        ----------
        data : dict
            The attributes.

        Returns
        -------
        Guarantee
            The same guarantee.
        """
        promises = tuple(
            Promise(
                **{
                    **promise,
                    "threshold": math.inf if promise["threshold"] is None else promise["threshold"],
                    "branch": tuple(promise["branch"]),
                }
            )
            for promise in data["promises"]
        )
        return cls(**{**data, "promises": promises})

    def __str__(self) -> str:
        what = "wrong" if self.kind == "error" else "mean cost"
        header = ["level", "branch", f"{what} at most", "confidence at least", "labelled", what]
        rows = [_cells(promise, self.kind) for promise in self.promises]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) for r in rows]
        first = "  ".join(c.ljust(w) for c, w in zip(header, widths, strict=True))
        missing = [
            f"Level {p.level}{of_branch(p.branch)}: {p.reason}"
            for p in self.promises
            if p.reason and p.n_rows
        ]
        return "\n".join(
            [
                f"With {self.certainty:.0%} certainty, for rows with a predicted label (from "
                f"{self.n_rows:,} calibration rows):",
                first.rstrip(),
                *(line.rstrip() for line in lines),
                *missing,
                "The guarantee holds for rows from the same source, on average. It does not hold "
                "if the data change, nor for each single row.",
            ]
        )


def _cells(promise: Promise, kind: str) -> list[str]:
    of_cost = kind == "cost"
    limit = f"{promise.limit:g}" if of_cost else f"{promise.limit:.1%}"
    branch = " > ".join(map(str, promise.branch))
    if not promise.reached:
        return [str(promise.level), branch, limit, "-", "none", "-"]
    loss = f"{promise.mean_loss:.4g}" if of_cost else f"{promise.mean_loss:.1%}"
    threshold = f"{promise.threshold:.4f}"
    return [str(promise.level), branch, limit, threshold, f"{promise.share:.1%}", loss]


def of_branch(branch: tuple[Any, ...]) -> str:
    """The branch of a promise, for a message; empty for all rows."""
    return f" of {' > '.join(map(str, branch))}" if branch else ""


def guarantee_of(model: Any) -> Guarantee | None:
    """Return the guarantee that the thresholds of a model come with.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one.

    Returns
    -------
    Guarantee or None
        None if it has none, or if its ``min_confidence`` or decoding was changed afterwards.
    """
    inside = unwrap(model, through_choices=False).model
    found: Guarantee | None = vars(inside).get("guarantee_")
    if found is None or found.decoding != decoding_of(inside):
        return None
    return found if as_json(inside.min_confidence) == as_json(found.min_confidence) else None


def decoding_of(model: Any) -> str:
    """The name of a decoding, and the F-score that it assumes."""
    decoding = model._decoding
    return f"{decoding.name} {model._f_to_expect()}" if decoding.needs_f else str(decoding.name)


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
