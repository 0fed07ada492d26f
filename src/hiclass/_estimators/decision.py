"""The parameters that are read when predicting: which path is chosen, and where it may end.

They can be changed after ``fit``. Here they are checked, and turned into a function that decides.
"""

from __future__ import annotations

import inspect
from numbers import Real
from typing import Any, ClassVar

from hiclass._compat import Interval, validate_parameter_constraints
from hiclass._inference.decodings import Wish, as_decoding
from hiclass.hierarchy import Hierarchy


class Decides:
    """What a hierarchical classifier knows about its decisions; a part of its base class."""

    _decision_parameters: ClassVar[tuple[str, ...]] = (
        "decoding",
        "expected_f1",
        "min_confidence",
        "threshold",
        "leaf_only",
        "n_jobs",
    )
    _instead_of_calibration: ClassVar[str] = (
        "use sklearn.calibration.CalibratedClassifierCV as local classifier"
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expected_f1": [Interval(Real, 0, 1, closed="right"), None],
        "min_confidence": [Interval(Real, 0, 1, closed="both")],
        "threshold": [Interval(Real, 0, 1, closed="right")],
    }

    decoding: Any
    expected_f1: float | None = None
    min_confidence: float
    threshold: float | str = 0.5
    multi_label: bool = False
    leaf_only: bool = False
    expected_f1_: float
    hierarchy_: Hierarchy
    _models: Any  # LocalModels, or SetModels where rows are sets of classes
    _format: Any  # LabelFormat, or SetFormat for several labels per row

    # -- what can be asked for -----------------------------------------------------------------

    def _is_about_sets(self) -> bool:
        """Whether predictions are sets of classes: several labels per row, or several parents."""
        models = self.__dict__.get("_models")
        if models is not None:
            return models.of_sets
        given = getattr(self, "hierarchy", None)
        return self.multi_label or (isinstance(given, Hierarchy) and not given.is_tree)

    def _require_paths(self, name: str) -> None:
        """Refuse, for something that needs one path per row, to serve sets of classes."""
        if self._is_about_sets():
            raise ValueError(
                f"{name} is about one path per row in a tree, but this {type(self).__name__} "
                f"predicts sets of classes (multi_label=True, or a class with several parents). "
                f"For those, choose a threshold, for example threshold='tuned'."
            )

    def _check_set_parameters(self) -> None:
        """Refuse parameters that choose or cut a single path, where predictions are sets."""
        usual = inspect.signature(type(self)).parameters["decoding"].default
        why = "the hierarchy is no tree" if not self.multi_label else "multi_label=True"
        for name, value, neutral, remedy in (
            ("decoding", self.decoding, usual, "leave it out: threshold decides"),
            ("expected_f1", self.expected_f1, None, "leave it out: threshold decides"),
            ("min_confidence", self.min_confidence, 0, "use threshold"),
            ("leaf_only", self.leaf_only, False, "leave it out: a set may end anywhere"),
            (
                "calibration",
                getattr(self, "calibration", None),
                None,
                self._instead_of_calibration,
            ),
        ):
            if value != neutral:
                raise ValueError(
                    f"{name}={value!r} is for one path per row in a tree, but {why}, so that a "
                    f"prediction is a set of classes; {remedy}."
                )

    def _check_decision_parameters(self) -> None:
        check_parameters(self, self._decision_parameters)
        if self._is_about_sets():
            self._check_set_parameters()
        elif "_models" in self.__dict__ and self.threshold != 0.5:
            self._refuse_threshold()
        if self.leaf_only and self.min_confidence > 0:
            raise ValueError(
                f"leaf_only=True wants every path to end at a leaf, but min_confidence="
                f"{self.min_confidence} ends paths earlier. Set one of the two."
            )

    def _refuse_threshold(self) -> None:
        raise ValueError(
            f"threshold={self.threshold!r} cuts sets of classes out of their probabilities, but "
            f"here a prediction is one path. Use min_confidence, or multi_label=True if rows "
            f"have several labels."
        )

    # -- deciding ------------------------------------------------------------------------------

    def _wish(self) -> Wish:
        return Wish(self.leaf_only, self._f_to_expect())

    def _width_of_decoding(self) -> int:
        """How many numbers per row deciding holds in each of a few arrays, at most."""
        return as_decoding(self.decoding).width(self._models, self._wish())

    def _decoder(self) -> Any:
        """A function that decides for a chunk of rows."""
        models, decoding, wish = self._models, as_decoding(self.decoding), self._wish()
        needed = self._needs_probabilities(models.is_direct)
        if needed and not models.has_proba:
            raise ValueError(
                f"{needed} needs probabilities, which the local classifiers of this model do not "
                f"have. Fit again with calibration='temperature' or another local classifier."
            )
        decoding.check(wish)
        return lambda X: decoding.decide(models, X, wish)

    def _needs_probabilities(self, direct: bool) -> str:
        """Which parameter, if any, needs probabilities from the local classifiers."""
        if self.min_confidence > 0:
            return f"min_confidence={self.min_confidence}"
        needed = as_decoding(self.decoding).needs_proba(direct)
        return f"decoding={self.decoding!r}" if needed else ""

    def _f_to_expect(self) -> float | None:
        """The F-score that ``decoding="expected_f1"`` goes by, given or learned, if either."""
        if self.expected_f1 is not None:
            return float(self.expected_f1)
        return self.__dict__.get("expected_f1_")

    @property
    def _learns_f(self) -> bool:
        """Whether fit has to find out which F-score is reached."""
        return as_decoding(self.decoding).needs_f and self.expected_f1 is None

    def _may_end(self) -> bool:
        """Whether a prediction may leave levels out: from parameters and training rows only."""
        fewest = as_decoding(self.decoding).fewest_labels
        if self.min_confidence > 0 or fewest == 0:
            return True
        if fewest is not None and not self.leaf_only and self._format.ndim == 2:
            return bool(fewest < self._format.n_levels) or self._ends_early()
        return self._ends_early()

    def _ends_early(self) -> bool:
        ends = self.hierarchy_.levels[self._models.options.ends]
        return self._format.ndim == 2 and bool(ends.min() < self._format.n_levels)


def check_parameters(estimator: Any, names: tuple[str, ...]) -> None:
    """Check some parameters that are read after fit, when they may have been set anew."""
    constraints = estimator._parameter_constraints
    known = [k for k in names if k in constraints and hasattr(estimator, k)]
    values = {k: getattr(estimator, k) for k in known}
    validate_parameter_constraints(constraints, values, caller_name=type(estimator).__name__)
