"""The report: one self-contained HTML file about a model.

The numbers are collected in a dict (`_data`, `_features`, `_choices`), which is put into a template
together with a style and a script (`_render`). The page needs no network.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np

from hiclass._estimators.held_out import without_thresholds
from hiclass._files import write_whole
from hiclass._inference.confidence import is_set
from hiclass._inference.decodings import Decoding
from hiclass._inspect.models import OpenModel, local_models, open_model, predicts_sets
from hiclass._inspect.report import _data, _sets
from hiclass._inspect.report._automation import collect_automation
from hiclass._inspect.report._card import to_markdown
from hiclass._inspect.report._choices import collect_choices
from hiclass._inspect.report._features import collect_features
from hiclass._inspect.report._render import inline, to_html
from hiclass._inspect.report._suspects import collect_suspects
from hiclass._inspect.report._use import collect_use
from hiclass._problems.policies import Policy
from hiclass._version import __version__

__all__ = ["Report", "make_report"]


class Report:
    """Result of :func:`make_report`: a page that can be saved or shown in a notebook.

    Attributes
    ----------
    data : dict
        The numbers that the page shows.
    html : str
        The page.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.html = to_html(data)

    def to_markdown(self) -> str:
        """Return the report as a model card in Markdown.

        Returns
        -------
        str
            Scores, errors, the share of rows that can be automated and the guarantee, with a YAML
            header for model registries. Facts that only the author knows are left to fill in.
        """
        return to_markdown(self.data)

    def save(self, path: Any) -> None:
        """Write the page to a file, in UTF-8; the model card if its name ends with ``.md``.

        The file appears under its name when it is complete; if something fails, what was there
        before stays.

        Parameters
        ----------
        path : str or path
            The file.
        """
        path = Path(path).resolve()
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"The folder {str(path.parent)!r} does not exist; create it first."
            )
        with write_whole(path) as file:
            is_card = path.suffix.lower() == ".md"
            file.write((self.to_markdown() if is_card else self.html).encode("utf-8"))

    def __repr__(self) -> str:
        scores = self.data["scores"]
        size = len(self.html.encode("utf-8")) / 1000
        return f"Report({self.data['title']!r}, f1={scores['f1']:.3f}, {size:.0f} kB)"

    def _repr_html_(self) -> str:
        return inline(self.html)


def make_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    title: str | None = None,
    feature_names: Any = None,
    examples: Any = None,
    sample_weight: Any = None,
    label_errors: Any = None,
    use: Any = None,
) -> Report:
    """Create an HTML report of the performance of a model on some rows, node by node.

    For models that predict sets of classes (several labels per row, or a DAG), the report shows the
    graph of classes, precision-recall curves, and which classes occur together or are confused.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one.
    X : rows
        Rows that the model was not fitted on, in the form that its ``predict`` accepts.
    y : array-like
        Their true labels. Paths may contain classes that were not seen in ``fit``. If the model was
        given a hierarchy and predicts single labels, every label must be in that hierarchy.
    title : str, default=None
        The title of the report.
    feature_names : sequence of str, default=None
        Names of the features of the classifier. By default, they are taken from the preceding steps
        of the pipeline, or from the frame that the classifier was fitted on.
    examples : sequence of str, default=None
        One text per row. If given, the report shows some rows that the model classifies wrongly. By
        default, the file contains no rows of the data, only totals and the names of classes and
        features.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    label_errors : LabelErrors, default=None
        The result of :func:`find_label_errors`, for these rows or for the training rows. If given,
        the report shows the numbers and labels of the 50 rows with the most suspicious labels.
    use : UseComparison, default=None
        The result of :func:`compare_use`. If given, the report shows what has changed.

    Returns
    -------
    Report
        The report. ``save(path)`` writes it to a file, ``to_markdown()`` returns a model card, and
        a notebook shows it inline.

    Raises
    ------
    TypeError
        If ``title``, ``examples``, ``label_errors`` or ``use`` has the wrong type.
    ValueError
        If there is not one example per row, or if ``label_errors`` or ``use`` is given for a model
        that predicts sets of classes.

    See Also
    --------
    explain : Explain the prediction for one row.
    hiclass.metrics.classification_report : The scores as text or dict.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, make_report
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> report = make_report(LocalClassifierPerParentNode().fit(X, y), X, y, title="Living things")
    >>> report.data["scores"]["f1"]
    1.0
    >>> report.save("report.html")  # doctest: +SKIP
    """
    opened = open_model(model, feature_names, of_sets=True)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a string; got {title!r}.")
    suspects, compared = collect_suspects(label_errors), collect_use(use)
    X_seen = opened.transform(X)
    if predicts_sets(opened.model):
        _refuse_paths(label_errors, use)
        return _report_on_sets(model, opened, X_seen, y, title, examples, sample_weight)
    y_pred = opened.model.predict(X_seen)
    texts = _check_examples(examples, len(y_pred))
    soft = hasattr(opened.model, "predict_confidence")
    confidence = opened.model.predict_confidence(X_seen) if soft else None
    tree = opened.model.hierarchy_
    # Single labels need the hierarchy for their ancestors; paths contain them.
    hierarchy = tree if y_pred.ndim == 1 and tree.depth > 1 else None
    rows = _data.read_rows(tree, y, y_pred, confidence, sample_weight)
    data = {
        "title": title or "Hierarchical classification report",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": __version__,
        "model": _describe(opened),
        "choices": collect_choices(model),
        "rows": len(rows.true),
        "weight": float(rows.weight.sum()),
        "scores": _data.overall(y, y_pred, hierarchy, sample_weight),
        "levels": _data.by_level(y, y_pred, confidence, hierarchy, sample_weight, rows),
        "depths": _data.depths(rows),
        "nodes": _data.node_columns(rows),
        "unseen": rows.unseen.tolist(),
        "steps": _data.wrong_steps(rows),
        "destinations": _data.destinations(rows),
        "sources": _data.sources(rows),
        "reliability": _data.reliability(rows) if soft else None,
        "thresholds": _data.thresholds(rows) if soft else None,
        "automation": _automation(model, opened, X_seen, y, rows) if soft else None,
        "label_errors": suspects,
        "use": compared,
        "features": collect_features(opened, rows.hierarchy),
        "examples": None,
    }
    if texts is not None:
        kept = [texts[i] for i in np.flatnonzero(rows.keep).tolist()]
        data["examples"] = _data.pick_examples(rows, kept)
    return Report(data)


def _refuse_paths(label_errors: Any, use: Any) -> None:
    """Reject arguments that require one path per row."""
    for name, given in (("label_errors", label_errors), ("use", use)):
        if given is not None:
            raise ValueError(
                f"{name} requires one path per row, but this model predicts sets of classes. Leave "
                f"it out."
            )


def _report_on_sets(
    model: Any,
    opened: OpenModel,
    X_seen: Any,
    y: Any,
    title: str | None,
    examples: Any,
    sample_weight: Any,
) -> Report:
    """The page about several labels per row, or about classes with several parents."""
    y_pred = opened.model.predict(X_seen)
    texts = _check_examples(examples, y_pred.shape[0])
    soft = hasattr(opened.model, "predict_node_proba")
    proba = opened.model.predict_node_proba(X_seen) if soft else None
    rows = _sets.read_set_rows(opened.model, y, y_pred, proba, sample_weight)
    data = {
        "of_sets": True,
        "title": title or "Hierarchical classification report",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": __version__,
        "model": _describe(opened),
        "choices": collect_choices(model),
        "rows": len(rows.pair.weight),
        "weight": float(rows.pair.weight.sum()),
        **_sets.collect_sets(rows),
        "examples": None,
    }
    if texts is not None:
        kept = [texts[i] for i in np.flatnonzero(rows.pair.keep).tolist()]
        data["examples"] = _sets.pick_set_examples(rows, kept)
    return Report(data)


def _automation(
    model: Any, opened: OpenModel, X_seen: Any, y: Any, rows: _data.Rows
) -> dict[str, Any]:
    """Curves without thresholds, because those of the model would end the curves early."""
    truncated = is_set(getattr(opened.model, "min_confidence", 0.0))
    if truncated:
        whole = without_thresholds(opened.model)
        y_pred, confidence = whole.predict(X_seen), whole.predict_confidence(X_seen)
        # Weights are not used here, but rows with weight 0 are ignored.
        weight = rows.keep.astype(np.float64)
        rows = _data.read_rows(opened.model.hierarchy_, y, y_pred, confidence, weight)
    return {**collect_automation(model, rows), "truncated": truncated}


def _check_examples(examples: Any, n_rows: int) -> list[str] | None:
    if examples is None:
        return None
    if isinstance(examples, str) or hasattr(examples, "columns") or np.ndim(examples) > 1:
        raise TypeError(
            f"examples must be a sequence with one text per row, for example a column of the "
            f"frame; got a {type(examples).__name__}."
        )
    texts = [str(text) for text in examples]
    if len(texts) != n_rows:
        raise ValueError(
            f"examples has {len(texts)} entries but X has {n_rows} rows. Pass one text per row."
        )
    return texts


def _describe(opened: OpenModel) -> dict[str, Any]:
    """The description of the model: names, and parameters that differ from the default."""
    model = opened.model
    members = list(local_models(model))
    classifiers = {
        name: None
        for member in members
        for name in member.model.local_classifiers_.names_of_types()
    }
    # The transformers before the model, and those inside it.
    before = [*opened.before, *(members[0].before if len(members) == 1 else [])]
    of_paths = ("decoding", "min_confidence", "leaf_only")
    shown = ("threshold",) if predicts_sets(model) else of_paths
    names = (*shown, "calibration", "binary_policy", "voting", "alpha", "kind", "expected_f1")
    given = model.get_params(deep=False)
    params = {name: given[name] for name in names if name in given}
    if params.get("expected_f1", 0) is None:
        del params["expected_f1"]
    if "threshold" in params:  # for a model that chooses it, the choice
        params["threshold"] = model._threshold
    return {
        "name": type(model).__name__,
        "steps": [type(step).__name__ for step in before],
        "members": [f"{m.name}: {type(m.model).__name__}" for m in members if m.name],
        "local_classifiers": list(classifiers)[:4],
        "parameters": [[name, _text(value)] for name, value in params.items()],
    }


def _text(value: Any) -> str:
    if isinstance(value, Decoding | Policy):
        return value.name
    if callable(value):
        return str(getattr(value, "__name__", "function"))
    return str(round(value, 4) if isinstance(value, float) else value)
