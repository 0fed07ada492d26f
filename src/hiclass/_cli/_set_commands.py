"""The commands ``predict`` and ``evaluate`` for models with several labels per row."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from hiclass._cli import _screen
from hiclass._cli._errors import CommandError
from hiclass._cli._inputs import features_of, read_rows
from hiclass._cli._models import Model
from hiclass._cli._recipe import set_jobs
from hiclass._cli._set_scores import write_set_scores
from hiclass._cli._sets import join_labels, read_label_sets, refuse_gaps
from hiclass._cli._tables import Table
from hiclass._estimators.sets import rule_of


def set_up(args: argparse.Namespace, model: Model) -> Any:
    """Apply the options of a command to the predictions; return the classifier."""
    classifier = model.opened.model
    if args.min_confidence is not None:
        raise CommandError(
            "--min-confidence is for one path per row, but this model predicts several labels per "
            "row. Use --threshold, the smallest probability of a predicted class."
        )
    set_jobs(classifier, args.jobs)
    if args.threshold is not None:
        set_threshold(classifier, args.threshold)
    return classifier


def refuse_checks(args: argparse.Namespace) -> None:
    """Reject the parts of a report that are about one path per row."""
    for option, given in (("--label-errors", args.label_errors), ("--compare", args.compare)):
        if given:
            raise CommandError(
                f"{option} is for one path per row, but this model predicts several labels per "
                "row. Leave it out."
            )


def set_threshold(classifier: Any, threshold: Any) -> None:
    """Set the selection of classes; reject selections that the model has not learned."""
    if "threshold" not in classifier.get_params(deep=False):
        raise CommandError("--threshold cannot be set: this model has no threshold. Leave it out.")
    classifier.set_params(threshold=threshold)
    try:
        rule_of(classifier)
    except ValueError as error:
        raise CommandError(f"--threshold: {error}") from error


def labelled_sets_for(
    args: argparse.Namespace, model: Model, path: str | None = None
) -> tuple[Table, Any]:
    """Labelled rows for a model: the rows, and their labels in the form of the model."""
    assert model.several is not None
    refuse_gaps(args)
    table = read_rows(args, path)
    labelled, y = read_label_sets(
        table,
        model.target,
        model.several,
        path_separator=model.separator,
        hierarchy=model.opened.model.hierarchy_,
        skip_unlabelled=args.skip_unlabelled,
    )
    lost = len(table.frame) - len(labelled.frame)
    if lost:
        _screen.note(f"Left out {_screen.count(lost, 'row')} without labels", args.quiet)
    return labelled, y


def evaluate_sets(args: argparse.Namespace, model: Model) -> tuple[Table, Any, Any]:
    """Score a model of sets; return the rows, their features and their labels."""
    if args.baseline is not None:
        raise CommandError(
            "--baseline compares one path per row, but this model predicts several labels per row. "
            "Fit the other model with --model flat, and evaluate both."
        )
    classifier = set_up(args, model)
    table, y = labelled_sets_for(args, model)
    features = features_of(model, table)
    proba = classifier.predict_node_proba(features)
    write_set_scores(y, classifier.predict(features), proba, classifier.hierarchy_)
    return table, features, y


def predicted_columns(args: argparse.Namespace, model: Model, features: Any) -> dict[str, Any]:
    """The columns that predictions add, in the form of the labels that were learned."""
    assert model.several is not None
    classifier, several = set_up(args, model), model.several
    labels = classifier.predict(features)
    if several.kind == "indicator":
        tree = classifier.hierarchy_
        closed = tree.indicator(labels).tocsc()
        proba = classifier.predict_node_proba(features)
        added = {}
        for name in model.target:
            path = name if model.separator is None else _path(name, model.separator)
            node = tree.find(path)
            added[f"predicted_{name}"] = closed[:, [node]].toarray().ravel().astype(np.int64)
            added[f"confidence_{name}"] = proba[:, node].round(6)
        return added
    ranked = [
        sorted(zip(chances, range(len(found)), found, strict=True), key=lambda each: -each[0])
        for found, chances in zip(labels, classifier.predict_confidence(features), strict=True)
    ]
    if several.kind == "separator":
        assert several.separator is not None
        name, between = model.target[0], several.separator
        texts, confidences = np.full((2, len(ranked)), None, dtype=object)
        for row, found in enumerate(ranked):
            if found:
                names = [label for _, _, label in found]
                texts[row] = join_labels(names, between, model.separator)
                confidences[row] = between.join(f"{chance:.6g}" for chance, _, _ in found)
        return {f"predicted_{name}": texts, f"confidence_{name}": confidences}
    width = max([len(model.target), *map(len, ranked)])
    cells = np.full((width, len(ranked)), None, dtype=object)
    chances = np.full((width, len(ranked)), np.nan)
    for row, found in enumerate(ranked):
        for place, (chance, _, label) in enumerate(found):
            is_path = isinstance(label, tuple)
            cells[place, row] = join_labels([label], "", model.separator) if is_path else label
            chances[place, row] = round(chance, 6)
    added = {}
    for place in range(width):
        added[f"predicted_{place + 1}"] = cells[place]
        added[f"confidence_{place + 1}"] = chances[place]
    return added


def _path(name: str, separator: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in name.split(separator))
