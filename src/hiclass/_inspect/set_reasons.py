"""Why a model predicts a set of classes for one row: class by class, along all parents.

Every class is a binary problem. A linear local classifier scores it by a sum over the features;
these terms are the reasons. With classifiers per parent node, a class with several parents is
scored below each of them and has a reason for each.
"""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hiclass._engine.packed import widened
from hiclass._estimators.outputs import NodeOutputs, has_classes
from hiclass._estimators.set_fitting import OneVsRest
from hiclass._inspect.models import OpenEstimator, local_models, open_estimator, strongest
from hiclass._inspect.reasons import Feature, Reason, dense_row
from hiclass._inspect.rendering import reason_html, reason_text
from hiclass._problems.strategies import STRATEGIES
from hiclass._state import Packed, SetModels
from hiclass._typing import FloatArray


@dataclass(frozen=True)
class ClassReasons:
    """One predicted class, or one that was almost predicted.

    Attributes
    ----------
    label : label
        The class.
    level : int
        The level of the class, starting at 1.
    parents : list of labels
        All parents; empty for a class of level 1.
    probability : float
        Its probability.
    reasons : list of Reason
        One reason per local classifier that decides about the class.
    """

    label: Any
    level: int
    parents: list[Any]
    probability: float
    reasons: list[Reason]


@dataclass(frozen=True)
class SetExplanation:
    """Why one row gets a set of classes; returned by :func:`hiclass.explain` for such models.

    Attributes
    ----------
    labels : list
        The most specific predicted classes, most probable first.
    steps : list of ClassReasons
        All predicted classes, including ancestors, from the top down.
    runners_up : list of ClassReasons
        The most probable classes that were not predicted although all of their parents were.
    """

    labels: list[Any]
    steps: list[ClassReasons]
    runners_up: list[ClassReasons]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data.

        Returns
        -------
        dict
            "labels", "steps" and "runners_up", whose entries have the attributes of
            :class:`ClassReasons`.
        """
        return asdict(self)

    def __str__(self) -> str:
        lines = [_names(self.labels)]
        for title, found in (("", self.steps), ("not predicted", self.runners_up)):
            if title and found:
                lines += ["", f"{title}:"]
            for step in found:
                lines += ["", f"{step.label}  {step.probability:.2f}{_below(step)}"]
                for reason in step.reasons:
                    lines += reason_text(reason)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"SetExplanation({_names(self.labels)!r})"

    def _repr_html_(self) -> str:
        parts = [
            "<div style='font-size:14px;line-height:1.5;max-width:46em'>",
            f"<p style='margin:0'><strong>{html.escape(_names(self.labels))}</strong></p>",
        ]
        for title, found in (("", self.steps), ("Not predicted", self.runners_up)):
            if title and found:
                parts.append(f"<p style='margin:1.4em 0 0;opacity:.7'>{title}:</p>")
            for step in found:
                name, below = html.escape(str(step.label)), html.escape(_below(step))
                parts.append(
                    f"<p style='margin:.9em 0 0'><strong>{name}</strong> {step.probability:.2f}"
                    f"<span style='opacity:.7'>{below}</span></p>"
                )
                parts += [reason_html(reason) for reason in step.reasons]
        return "".join([*parts, "</div>"])


def _names(labels: list[Any]) -> str:
    return ", ".join(map(str, labels)) if labels else "(no class)"


def _below(step: ClassReasons) -> str:
    return f"  below {' and '.join(map(str, step.parents))}" if step.parents else ""


def explain_set(model: Any, X: Any, names: list[str] | None, top: int, k: int) -> SetExplanation:
    """Explain the set of classes that a model predicts for one row.

    Parameters
    ----------
    model : estimator
        A fitted model that predicts sets of classes.
    X : rows
        The single row.
    names : list of str or None
        Names of the features.
    top, k : int
        The number of features per class, and of other classes, to show.

    Returns
    -------
    SetExplanation
    """
    graph, proba = model.hierarchy_, model.predict_node_proba(X)[0]
    closed = _predicted(model, X)
    members = [(m.name, m, m.transform(X)) for m in local_models(model)]
    finders = [_SetReasons(name, m.model, rows, names, top) for name, m, rows in members]

    def about(node: int) -> ClassReasons:
        parents = [graph.labels[p] for p in graph.parents(node).tolist() if p > 0]
        reasons = [reason for finder in finders for reason in finder.reasons(node)]
        return ClassReasons(
            graph.labels[node], int(graph.levels[node]), parents, float(proba[node]), reasons
        )

    chosen = sorted(np.flatnonzero(closed[1:]) + 1, key=lambda v: (graph.levels[v], -proba[v], v))
    is_inner = np.zeros(graph.n_nodes, dtype=bool)
    for v in chosen:
        is_inner[graph.parents(v)] = True
    ends = sorted((v for v in chosen if not is_inner[v]), key=lambda v: (-proba[v], v))
    within = [
        v
        for v in range(1, graph.n_nodes)
        if not closed[v] and all(p == 0 or closed[p] for p in graph.parents(v).tolist())
    ]
    others = sorted(within, key=lambda v: (-proba[v], v))[:k]
    labels = [graph.labels[v] for v in ends]
    return SetExplanation(labels, [about(int(v)) for v in chosen], [about(v) for v in others])


def _predicted(model: Any, X: Any) -> Any:
    """The predicted nodes, as one row of booleans."""
    graph, found = model.hierarchy_, model.predict(X)
    if model._set_options() is None:  # one label per row
        return graph._closure[[graph.find(found[0])]].toarray().ravel().astype(bool)
    return graph.indicator(found).toarray().ravel().astype(bool)


class _SetReasons:
    """Finds the reasons of one model of sets for one row."""

    def __init__(self, name: str, model: Any, X: Any, names: list[str] | None, top: int) -> None:
        self.name, self.X, self.names, self.top = name, X, names, top
        self.models, self.graph = _innermost(model._models), model.hierarchy_

    def reasons(self, node: int) -> list[Reason]:
        """The reasons of the local classifiers that decide about a node."""
        found = []
        strategy = STRATEGIES[self.models.strategy]
        per_parent = not strategy.shared and not strategy.is_direct
        for owner, fitted in self.models.classifiers.items():
            nodes = self.models.classes[owner].tolist()
            if strategy.is_binary:
                if owner == node:
                    found.append(self._reason(open_estimator(fitted, 2), None, node))
            elif node in nodes:
                below = owner if per_parent else None
                opened, column = _open_column(fitted, nodes.index(node), len(nodes))
                found.append(self._reason(opened, column, node, below))
        if not found:
            note = "nothing to decide: all training rows of its parents belong to it, or none"
            return [Reason(self.name, "", "none", note, None, [])]
        return found

    def _reason(
        self, estimator: OpenEstimator, column: int | None, node: int, below: int | None = None
    ) -> Reason:
        """The terms of the score of a class, as a binary problem."""
        place = f", below {self.graph.labels[below]}" if below else ""
        where = f"against rows without this class{place}"
        classifier, names = type(estimator.model).__name__, estimator.names(self.names)
        if estimator.weights is not None:
            weights, intercepts = estimator.weights, estimator.intercepts
            line, constant = (
                (weights[1] - weights[0], intercepts[1] - intercepts[0])
                if column is None
                else (weights[column], intercepts[column])
            )
            x = dense_row(estimator.transform(self.X))
            terms: FloatArray = line * x
            features = [
                Feature(names[j], float(x[j]), float(line[j]), float(terms[j]))
                for j in strongest(terms, self.top).tolist()
            ]
            margin = float(terms.sum() + constant)
            return Reason(self.name, classifier, "linear", where, margin, features)
        if estimator.importances is not None:
            note = f"feature importances{place}, the same for every row and class"
            features = [
                Feature(names[j], None, float(estimator.importances[j]), None)
                for j in strongest(estimator.importances, self.top).tolist()
            ]
            return Reason(self.name, classifier, "forest", note, None, features)
        note = "has neither weights nor feature importances"
        return Reason(self.name, classifier, "other", note, None, [])


def _innermost(models: Any) -> SetModels:
    """The fitted estimator, without calibration or restriction."""
    while not isinstance(models, SetModels):
        models = models.base
    return models


def _open_column(fitted: Any, column: int, n_columns: int) -> tuple[OpenEstimator, int | None]:
    """The classifier of one column; the column is None if the classifier is binary."""
    estimator = widened(fitted) if isinstance(fitted, Packed) else fitted
    if isinstance(estimator, OneVsRest):
        return open_estimator(estimator.estimators_[column], 2), None
    if isinstance(estimator, NodeOutputs):
        # Constant columns are not learned.
        learned = int(estimator.varies_.sum())
        opened = open_estimator(estimator.estimator_, learned)
        if not estimator.varies_[column] or learned < 2:
            return replace(opened, weights=None), None
        if opened.weights is not None and not has_classes(estimator.estimator_):
            scales = estimator.scales()
            lines = opened.weights / scales[:, None], opened.intercepts / scales
            opened = replace(opened, weights=lines[0], intercepts=lines[1])
        return opened, int(estimator.varies_[:column].sum())
    if n_columns == 1:
        return open_estimator(estimator, 2), None
    return open_estimator(estimator, n_columns), column
