"""Why a model predicts a path for one row: step by step down the tree.

Every step chooses one branch of a node. It has probabilities, those of `predict_node_proba`, and
reasons, which `reasons` finds in the local classifiers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from hiclass._estimators.class_text import ClassTextClassifier
from hiclass._inference.confidence import in_words, is_set
from hiclass._inspect.models import label_text, local_models, open_model, predicts_sets
from hiclass._inspect.reasons import Reason, ReasonFinder
from hiclass._inspect.rendering import to_html, to_text
from hiclass._inspect.set_reasons import SetExplanation, explain_set
from hiclass._inspect.words import WordsFinder
from hiclass._labels.columns import read_labels
from hiclass._targets.paths import nodes_of
from hiclass._typing import FloatArray
from hiclass.hierarchy._texts import shorten

#: Smaller probabilities of stopping are due to rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Option:
    """One branch: a label, or None for "stop here", with its probability given the node.

    ``text`` is the title of the class, if classes have texts.
    """

    label: Any
    probability: float | None
    text: str | None = None


@dataclass(frozen=True)
class Step:
    """One step of a path.

    Attributes
    ----------
    level : int
        The level that the step leads to, starting at 1.
    label : label or None
        The chosen label; None for "stop here".
    probability : float or None
        Its probability given the parent node; None for a model without probabilities.
    confidence : float or None
        The probability of the whole path so far.
    runners_up : list of Option
        The most probable other branches.
    reasons : list of Reason
        One per model of an ensemble, otherwise one.
    text : str or None
        The title of the chosen class, if classes have texts.
    """

    level: int
    label: Any
    probability: float | None
    confidence: float | None
    runners_up: list[Option]
    reasons: list[Reason]
    text: str | None = None


class Explanation:
    """Result of :func:`explain`: text with ``str``, HTML in a notebook, data with ``to_dict``.

    Attributes
    ----------
    path : tuple of labels
        The predicted path; empty if the model predicts an empty path.
    confidence : float or None
        Its probability.
    steps : list of Step
        One per label. If a path ends at an inner node, the last step is "stop here". It has no
        probability if ``min_confidence`` or a guarantee truncated the path.
    """

    def __init__(
        self, path: tuple[Any, ...], confidence: float | None, steps: list[Step], note: str
    ) -> None:
        self.path = path
        self.confidence = confidence
        self.steps = steps
        self.note = note

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists and plain values.

        Returns
        -------
        dict
            "path", "confidence", "note" and "steps", whose entries have the attributes of
            :class:`Step`.
        """
        return {
            "path": list(self.path),
            "confidence": self.confidence,
            "note": self.note,
            "steps": [asdict(step) for step in self.steps],
        }

    def __str__(self) -> str:
        return to_text(self)

    def __repr__(self) -> str:
        sure = "" if self.confidence is None else f", confidence={self.confidence:.3f}"
        return f"Explanation({label_text(self.path)!r}{sure})"

    def _repr_html_(self) -> str:
        return to_html(self)


def explain(
    model: Any, x: Any, *, feature_names: Any = None, top: int = 5, k: int = 3
) -> Explanation | SetExplanation:
    """Explain the prediction for one row: the path, the probabilities and the features.

    For a model that predicts sets of classes (several labels per row, or a DAG), the features that
    support each predicted class are shown.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one.
    x : row
        One row in the form that ``predict`` accepts: a text, an array or list of numbers, a row of
        a sparse matrix, a frame with one row, or a pandas Series.
    feature_names : sequence of str, default=None
        Names of the features of the classifier. By default, they are taken from the preceding steps
        of the pipeline, or from the frame that the classifier was fitted on.
    top : int, default=5
        The number of features to show at each step.
    k : int, default=3
        The number of runners-up to show at each step.

    Returns
    -------
    Explanation or SetExplanation
        The explanation. ``print`` shows it as text and a notebook as a table. ``to_dict()`` returns
        it as plain data.

    Raises
    ------
    ValueError
        If there is more than one row, or a number is negative.

    See Also
    --------
    make_report : Evaluate a model on many rows.

    Notes
    -----
    For a linear local classifier (with ``coef_``, or multinomial naive Bayes), the contribution of
    a feature is its value times the difference between the weights of the chosen class and of the
    runner-up. Per node, these are the weights of two binary classifiers. In a flat model, they are
    those of the most probable final classes at or below the two nodes. For a forest, the feature
    importances are shown, which are the same for every row. For a model that uses class texts, the
    nearest text of a branch and the words that the row shares with it are shown. For other
    classifiers, the explanation states that no features are available.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, explain
    >>> X = [[4, 0, 0.5], [4, 0, 1.2], [2, 2, 0.3], [0, 0, 2.5]]
    >>> y = [["Mammal", "Cat"], ["Mammal", "Dog"], ["Bird", "Owl"], ["Reptile", "Snake"]]
    >>> model = LocalClassifierPerParentNode().fit(X, y)
    >>> print(explain(model, [4, 0, 1.4], feature_names=["legs", "wings", "metres"], top=2, k=1))
    Mammal > Dog (probability 0.48)
    <BLANKLINE>
    1. Mammal  0.88
       runner-up: Bird 0.07
       LogisticRegression, against Bird:
         +3.19  legs = 4
         +0.43  metres = 1.4
         -1.16  the rest, with the intercept
    <BLANKLINE>
    2. Dog  0.55
       runner-up: Cat 0.45
       LogisticRegression, against Cat:
         +0.46  metres = 1.4
         -0.28  the rest, with the intercept
    """
    for name, number in (("top", top), ("k", k)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
            raise ValueError(f"{name} must be a non-negative integer; got {number!r}.")
    opened = open_model(model, feature_names, of_sets=True)
    X = opened.transform(_one_row(x))
    if predicts_sets(opened.model):
        return explain_set(opened.model, X, opened.names, int(top), int(k))
    return _Explainer(opened.model, X, opened.names, int(top), int(k)).run()


def _one_row(x: Any) -> Any:
    """A single row, in any form, as rows with one entry."""
    if isinstance(x, str | bytes):
        return [x]
    if hasattr(x, "to_frame") and hasattr(x, "index") and not hasattr(x, "columns"):
        # A pandas Series is a row of a frame, unless it is a column of texts with one entry.
        if len(x) == 1 and isinstance(x.iloc[0], str):
            return list(x)
        return x.to_frame().T.infer_objects()
    if isinstance(x, list | tuple) and len(x):
        numbers = all(isinstance(v, int | float | np.number) for v in x)
        x = np.asarray(x)[None] if numbers else x
    elif isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "biufc":
        x = x[None]
    n_rows = x.shape[0] if hasattr(x, "shape") and len(x.shape) else None
    if n_rows is None and hasattr(x, "__len__"):
        n_rows = len(x)
    if n_rows != 1:
        got = f"{n_rows} rows" if n_rows is not None else f"a {type(x).__name__}"
        raise ValueError(f"explain takes one row; got {got}. Pass a single one, such as X[:1].")
    return x


class _Explainer:
    """The parts of an explanation that need the model and the row."""

    def __init__(self, model: Any, X: Any, names: list[str] | None, top: int, k: int) -> None:
        self.model, self.X, self.k = model, X, k
        self.tree = model.hierarchy_
        self.proba: FloatArray | None = None
        if hasattr(model, "predict_node_proba"):
            self.proba = model.predict_node_proba(X)[0]
        self.finders: list[ReasonFinder | WordsFinder] = [
            WordsFinder(m.name, m.model, m.transform(X), top)
            if isinstance(m.model, ClassTextClassifier)
            else ReasonFinder(m.name, m.model, m.transform(X), self.proba, m.names_out(names), top)
            for m in local_models(model, words=True)
        ]

    def run(self) -> Explanation:
        nodes = self._predicted()
        steps = [self._step(above, node) for above, node in pairwise([0, *nodes])]
        last = nodes[-1] if nodes else 0
        note = "" if self.proba is not None else "The model has no probabilities."
        if len(self.tree.children(last)):
            steps.append(self._step(last, last))
            note = note or self._why_it_ends(last)
        confidence = None if self.proba is None or not nodes else float(self.proba[last])
        return Explanation(self.tree.path(last), confidence, steps, note)

    def _predicted(self) -> list[int]:
        """Nodes of the predicted path, from the top down."""
        node = int(nodes_of(read_labels(self.model.predict(self.X)), self.tree)[0])
        return [*self.tree.ancestors(node).tolist()[1:], node] if node else []

    def _why_it_ends(self, node: int) -> str:
        name = self.tree.describe(node) if node else "the top"
        if hasattr(self.model, "threshold_"):
            return f"The path ends at {name}: no class below it satisfies the guarantee."
        limit = getattr(self.model, "min_confidence", 0.0)
        if is_set(limit):
            given = f"min_confidence={limit:g}" if isinstance(limit, Real) else in_words(limit)
            return f"The path ends at {name}: the next class is below {given}."
        return f"The path ends at {name}."

    def _step(self, above: int, chosen: int) -> Step:
        """One step from a node to a child; with the node itself as goal, "stop here"."""
        options = self._options(above, chosen)
        probability = dict(options).get(chosen)
        others = [(option, p) for option, p in options if option != chosen]
        rival = others[0][0] if others and self.proba is not None else None
        # A stop without a probability was not chosen by a classifier: the path was truncated.
        truncated = self.proba is not None and probability is None
        finders = [] if truncated else self.finders
        return Step(
            level=int(self.tree.levels[above]) + 1,
            label=self._label(above, chosen),
            probability=probability,
            confidence=None if probability is None else self._reached(above) * probability,
            runners_up=[
                Option(self._label(above, v), p, self._title(above, v)) for v, p in others[: self.k]
            ],
            reasons=[finder.reason(above, chosen, rival) for finder in finders],
            text=self._title(above, chosen),
        )

    def _options(self, node: int, chosen: int) -> list[tuple[int, float | None]]:
        """Branches and their probabilities given the node, most probable first.

        The node itself stands for "stop here". Without probabilities, only the best other branch.
        """
        if self.proba is None:
            rivals = [finder.best_other(node, chosen) for finder in self.finders[:1]]
            return [(rival, None) for rival in rivals if rival is not None]
        reached = self._reached(node)
        given = {
            child: float(self.proba[child]) / reached if reached > 0 else 0.0
            for child in self.tree.children(node).tolist()
        }
        stop = 1.0 - sum(given.values())
        if stop > _ROUNDING:
            given[node] = stop
        order = sorted(given, key=lambda option: (-given[option], option))
        return [(option, given[option]) for option in order]

    def _reached(self, node: int) -> float:
        """The probability of a node."""
        assert self.proba is not None
        return float(self.proba[node])

    def _label(self, above: int, option: int) -> Any:
        return None if option == above else self.tree.labels[option]

    def _title(self, above: int, option: int) -> str | None:
        several = self.tree.texts[option] if self.tree.has_texts and option != above else ()
        return shorten(several[0]) if several else None
