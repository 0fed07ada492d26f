"""The commands ``fit`` and ``tree`` for rows with several labels."""

from __future__ import annotations

import argparse
import sys
import time
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import Pipeline

from hiclass._automatic.kinds import KINDS
from hiclass._cli import _screen
from hiclass._cli._columns import choose_columns
from hiclass._cli._errors import CommandError
from hiclass._cli._features import make_features, placed, prepare
from hiclass._cli._fit import (
    describe_columns,
    read_group_column,
    reserved_columns,
    warn_of_given_away,
)
from hiclass._cli._hierarchy_file import read_hierarchy
from hiclass._cli._inputs import read_rows
from hiclass._cli._models import Model, save_model
from hiclass._cli._recipe import DEFAULT_MODEL, make_set_model, set_jobs
from hiclass._cli._set_scores import write_set_scores
from hiclass._cli._sets import (
    Several,
    check_separable,
    join_labels,
    read_label_sets,
    warn_of_separator,
)
from hiclass._cli._tables import Table, check_output
from hiclass._inference.selections import read_threshold
from hiclass._out_of_fold.folds import N_FOLDS
from hiclass._targets.sets import encode_sets
from hiclass.hierarchy import Hierarchy


def fit_sets(args: argparse.Namespace, several: Several) -> None:
    """Fit a model of several labels per row on a file, and save it."""
    if args.class_texts is not None:
        raise CommandError(
            "--class-texts is for one path per row. Leave it, or --label-separator and "
            "--multi-label, out."
        )
    check_output(args.output, args.file, args.hierarchy)
    _refuse(args)
    args.model, args.seed = args.model or DEFAULT_MODEL, args.seed or 0
    classifier = make_set_model(
        args.model,
        optimize=args.optimize,
        effort=args.effort,
        threshold=args.threshold,
        n_jobs=args.jobs,
        random_state=args.seed,
        verbose=int(not args.quiet and sys.stderr.isatty()),
    )
    table, y, hierarchy = labelled_sets(args, several)
    if len({frozenset(labels) for labels in y}) == 1:
        raise CommandError(
            f"{table.name}: every row has the same labels, so there is nothing to learn. Add rows "
            "of other classes, or name other --target columns."
        )
    classifier.set_params(hierarchy=hierarchy)
    groups = read_group_column(args, table)
    named = {kind: list(getattr(args, kind) or []) for kind in KINDS}
    choice = choose_columns(table, args.target, named, reserved_columns(args))
    X = prepare(table, chain.from_iterable(choice.columns.values()))
    features = make_features(choice.columns)
    with placed(table):
        rows = features.fit_transform(X)
    describe_columns(args, choice)
    if choice.reasons:
        # A column that determines the whole set of labels determines every label.
        texts = [[join_labels(sorted(labels, key=str), "; ", args.path_separator)] for labels in y]
        level = args.target[0] if several.kind == "separator" else "labels"
        warn_of_given_away(args, table, choice, np.array(texts, dtype=object), [level])
    pipeline = Pipeline([("features", features), ("classifier", classifier)])
    if args.cv is not None:
        _cross_validate(args, pipeline, X, y, groups, hierarchy)
    start = time.perf_counter()
    with placed(table):
        classifier.fit(rows, y, **_given(classifier, groups))
    seconds = time.perf_counter() - start
    _screen.note(
        f"Fitted {args.model} on {_screen.count(len(X), 'row')} in {seconds:.1f} s: "
        f"{_screen.shape_text(hierarchy)}",
        args.quiet,
    )
    for line in _screen.choice_lines(getattr(classifier, "choices_", {})):
        _screen.note(line, args.quiet)
    set_jobs(classifier, None)
    model = Model(pipeline, list(args.target), args.path_separator, several)
    save_model(model, args.output)
    if args.output != "-":
        size = _screen.size_text(Path(args.output).stat().st_size)
        _screen.note(f"Wrote {args.output} ({size})", args.quiet)


def _refuse(args: argparse.Namespace) -> None:
    """Reject options that do not apply to several labels per row."""
    if args.add is not None or args.update is not None:
        raise CommandError(
            "--add and --update learn reviewed rows, which have one path per row. Leave them out, "
            "and fit on a file with all rows."
        )
    if args.min_confidence is not None:
        raise CommandError(
            "--min-confidence is for one path per row, but here a row has several labels. Use "
            "--threshold, the smallest probability of a predicted class."
        )


def labelled_sets(args: argparse.Namespace, several: Several) -> tuple[Table, Any, Hierarchy]:
    """The labelled rows of a file, their labels, and the hierarchy of the labels."""
    given = None if args.hierarchy is None else read_hierarchy(args.hierarchy, args.encoding)
    if given is not None:
        check_separable(given, several, args.hierarchy)
    table = read_rows(args)
    labelled, y = read_label_sets(
        table,
        list(args.target),
        several,
        path_separator=args.path_separator,
        hierarchy=given,
        skip_unlabelled=args.skip_unlabelled,
    )
    warn_of_separator(labelled, args.target[0], several, y, args.path_separator, args.quiet)
    lost = len(table.frame) - len(labelled.frame)
    if lost:
        _screen.note(f"Left out {_screen.count(lost, 'row')} without labels", args.quiet)
    if given is None and several.kind == "indicator" and args.path_separator is None:
        # Every class has a column, with or without rows.
        given = Hierarchy.from_edges([(None, name) for name in args.target])
    with placed(labelled):
        return labelled, y, encode_sets(y, given).hierarchy


def _cross_validate(
    args: argparse.Namespace,
    pipeline: Pipeline,
    X: Any,
    y: Any,
    groups: Any,
    hierarchy: Hierarchy,
) -> None:
    """Predict every row by a model that has not seen it, and write the scores."""
    most = len(X) if groups is None else len(set(groups.tolist()))
    if args.cv > most:
        what = "rows" if groups is None else f"groups of {args.groups!r}"
        raise CommandError(f"--cv {args.cv} is more than the {most} {what}. Use fewer folds.")
    splitter = (
        KFold(args.cv, shuffle=True, random_state=args.seed)
        if groups is None
        else GroupKFold(args.cv, shuffle=True, random_state=args.seed)
    )
    folds = list(splitter.split(X, groups=groups))
    _check_groups(args, pipeline[-1], groups, [train for train, _ in folds])
    predicted = np.empty(len(y), dtype=object)
    proba = np.zeros((len(y), hierarchy.n_nodes))
    for number, (train, test) in enumerate(folds, start=1):
        _screen.note(f"Fold {number} of {args.cv}", args.quiet)
        model = clone(pipeline)
        given = _given(model[-1], None if groups is None else groups[train])
        model.fit(X.iloc[train], y[train], **{f"classifier__{k}": v for k, v in given.items()})
        rows = model[:-1].transform(X.iloc[test])
        predicted[test] = model[-1].predict(rows)
        proba[test] = model[-1].predict_node_proba(rows)
    _screen.heading(f"Scores out of fold, {args.cv} folds")
    write_set_scores(y, predicted, proba, hierarchy)


def _check_groups(
    args: argparse.Namespace, classifier: Any, groups: Any, fitted: list[Any]
) -> None:
    """Reject folds that leave too few groups for out-of-fold learning."""
    measures = getattr(classifier, "effort", "quick") != "quick"
    if groups is None or not (measures or read_threshold(classifier._threshold).is_learned):
        return
    fewest = min(len(np.unique(groups[rows])) for rows in fitted)
    if fewest < N_FOLDS:
        raise CommandError(
            f"--cv {args.cv} leaves {fewest} of the {len(np.unique(groups))} groups of "
            f"{args.groups!r} for training, but {N_FOLDS} are needed. Use more folds, or leave "
            "--cv out."
        )


def _given(classifier: Any, groups: Any) -> dict[str, Any]:
    """The arguments of ``fit`` of the classifier besides rows and labels."""
    return {} if groups is None else {"groups": groups}


def tree_of_sets(args: argparse.Namespace, several: Several) -> None:
    """Show the hierarchy of a file, with the number of rows of every class."""
    if args.class_texts is not None:
        raise CommandError(
            "--class-texts is for one path per row, but here a row has several labels. Leave it "
            "out."
        )
    _, y, hierarchy = labelled_sets(args, several)
    closed = encode_sets(y, hierarchy).closed
    counts = np.asarray(closed.sum(axis=0)).ravel()
    for line in _screen.tree_lines(hierarchy, counts, args.depth):
        _screen.write(line)
    n_labels = sum(map(len, y))
    per_row = f"{n_labels / len(y):.1f} labels per row"
    unused = int((counts[1:] == 0).sum())
    rest = f"; {_screen.count(unused, 'class').replace('classs', 'classes')} without rows"
    shared = int((np.diff(hierarchy.parent_indptr) > 1).sum())
    parents = f"; {shared:,} with several parents" if shared else ""
    summary = (
        f"{_screen.count(len(y), 'row')}, {per_row}, {_screen.shape_text(hierarchy)}"
        f"{parents}{rest if unused else ''}"
    )
    _screen.write(_screen.paint(summary, "bold", sys.stdout))
