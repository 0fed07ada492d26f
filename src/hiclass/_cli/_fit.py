"""The command ``fit``: columns, labels, folds, a model, a file."""

from __future__ import annotations

import argparse
import sys
import time
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from hiclass._automatic.kinds import KINDS
from hiclass._cli import _screen
from hiclass._cli._add import Joined, describe_added, join_rows, read_added, update
from hiclass._cli._class_texts import (
    check_class_texts,
    hierarchy_with_texts,
    text_columns,
    text_columns_without_rows,
)
from hiclass._cli._columns import Choice, choose_columns, find_given_away
from hiclass._cli._errors import CommandError
from hiclass._cli._features import make_features, placed, prepare
from hiclass._cli._inputs import labelled_rows, name_levels, read_rows, refuse_threshold
from hiclass._cli._labels import check_types, like
from hiclass._cli._models import Model, save_model
from hiclass._cli._paths import check_separator, level_names
from hiclass._cli._recipe import DEFAULT_MODEL, make_model, set_jobs
from hiclass._cli._tables import Table, check_output
from hiclass._out_of_fold.folds import N_FOLDS
from hiclass.hierarchy import Hierarchy
from hiclass.model_selection import HierarchicalKFold

#: The largest number of features with the same reason that are named.
_MOST_SHOWN = 20


def fit(args: argparse.Namespace) -> None:
    """Fit a model on a file and save it."""
    check_output(args.output, args.file, args.add, args.class_texts)
    check_separator(args.path_separator, args.target)
    refuse_threshold(args)
    _check_added(args)
    check_class_texts(args)
    if args.update is not None and update(args):
        return
    # Not defaults of the parser, because an update must know whether they were given.
    args.model = args.model or DEFAULT_MODEL
    args.seed = args.seed or 0
    classifier = make_model(
        args.model,
        optimize=args.optimize,
        effort=args.effort,
        n_jobs=args.jobs,
        min_confidence=args.min_confidence or 0.0,
        random_state=args.seed,
        verbose=int(not args.quiet and sys.stderr.isatty()),
    )
    if args.file is None:
        _fit_without_rows(args, classifier)
        return
    # From here on, only rows with labels: the other rows may contain anything.
    table, y = labelled_rows(args, read_rows(args), args.target, args.path_separator)
    check_types(table, args.target, y)
    levels = name_levels(args, table, y)
    added = None if args.add is None else read_added(args)
    groups = read_group_column(args, table)
    named = {kind: list(getattr(args, kind) or []) for kind in KINDS}
    choice = choose_columns(table, args.target, named, reserved_columns(args))
    features: Any = None
    if args.class_texts is not None:
        features, choice = text_columns(choice, table)
    columns = choice.columns
    X = prepare(table, chain.from_iterable(columns.values()))
    n_before = len(X)
    places: Table | Joined = table
    if added is not None:
        rows_added, y_added = added
        y_added = like(y_added, Hierarchy.from_paths(y), levels, rows_added)
        describe_added(args, rows_added, y_added, y)
        places = Joined(table, rows_added)
        X, y = join_rows(table, y, rows_added, y_added, list(X.columns))
        levels = levels if y.shape[1] == len(levels) else level_names(args.target[0], y.shape[1])
    features = make_features(columns) if features is None else features
    with placed(places):
        rows = features.fit_transform(X)
    describe_columns(args, choice)
    if choice.reasons:
        warn_of_given_away(args, table, choice, y[:n_before], levels)
    hierarchy = hierarchy_with_texts(args, y)
    if args.class_texts is not None:
        classifier.set_params(hierarchy=hierarchy)
    elif len({tuple(path) for path in y.tolist()}) == 1:
        raise CommandError(
            f"{table.name}: every row has the same labels, so there is nothing to learn. Add rows "
            "of other classes, or name other --target columns."
        )
    pipeline = Pipeline([("features", features), ("classifier", classifier)])
    if args.cv is not None:
        _cross_validate(args, pipeline, X, y, groups, levels, n_before)
    start = time.perf_counter()
    classifier.fit(rows, y, **({} if groups is None else {"groups": groups}))
    _finish(args, pipeline, hierarchy, len(X), time.perf_counter() - start)


def _fit_without_rows(args: argparse.Namespace, classifier: Any) -> None:
    """Fit a model on class texts alone, and save it."""
    hierarchy = hierarchy_with_texts(args, None)
    features = text_columns_without_rows(args)
    _screen.note(
        f"No training rows. Texts to predict are read from {', '.join(features.text)}",
        args.quiet,
    )
    start = time.perf_counter()
    classifier.set_params(hierarchy=hierarchy).fit(None, None)
    pipeline = Pipeline([("features", features), ("classifier", classifier)])
    _finish(args, pipeline, hierarchy, 0, time.perf_counter() - start)


def _finish(
    args: argparse.Namespace, pipeline: Pipeline, hierarchy: Hierarchy, n_rows: int, seconds: float
) -> None:
    """Describe the fitted model, and save it."""
    classifier = pipeline[-1]
    texts = f", {_screen.count(sum(map(len, hierarchy.texts)), 'text')} of classes"
    _screen.note(
        f"Fitted {args.model} on {_screen.count(n_rows, 'row')}"
        f"{texts if args.class_texts is not None else ''} in {seconds:.1f} s: "
        f"{_screen.shape_text(hierarchy)}",
        args.quiet,
    )
    for line in _screen.choice_lines(getattr(classifier, "choices_", {})):
        _screen.note(line, args.quiet)
    set_jobs(classifier, None)
    save_model(Model(pipeline, list(args.target), args.path_separator), args.output)
    if args.output != "-":
        size = _screen.size_text(Path(args.output).stat().st_size)
        _screen.note(f"Wrote {args.output} ({size})", args.quiet)


def _check_added(args: argparse.Namespace) -> None:
    """Reject options that conflict with reviewed rows or require them."""
    if args.update is not None and args.add is None:
        raise CommandError("--update adds the rows of --add to a model. Add --add FILE.")
    if args.add is not None and args.groups is not None:
        raise CommandError(
            "--groups and --add cannot be combined: reviewed rows have no group. Leave one out."
        )


def read_group_column(args: argparse.Namespace, table: Table) -> Any:
    """The group of every row as a number; None without ``--groups``."""
    if args.groups is None:
        return None
    if args.groups in args.target:
        raise CommandError(
            f"The column {args.groups!r} is named with --target and with --groups. Name it once."
        )
    values = table.column(args.groups)
    codes: dict[str, int] = {}
    groups = np.empty(len(values), dtype=np.intp)
    for row, value in enumerate(values):
        if value is None:
            raise CommandError(
                f"{table.place(row)}: no group in {args.groups!r}. Fill it in. A row that belongs "
                "to no group needs a unique value."
            )
        groups[row] = codes.setdefault(str(value), len(codes))
    if len(codes) < 2:
        raise CommandError(
            f"{table.name}: all rows have the same value in {args.groups!r}, so none of them can "
            "be held out. Name another column, or leave --groups out."
        )
    text = f"{_screen.count(len(codes), 'group')} of rows by {args.groups}"
    _screen.note(f"Keeping together {text}", args.quiet)
    return groups


def reserved_columns(args: argparse.Namespace) -> dict[str, str]:
    """Columns that are not features, and the option that names them."""
    reserved = dict.fromkeys(args.ignore or [], "--ignore")
    return reserved if args.groups is None else reserved | {args.groups: "--groups"}


def describe_columns(args: argparse.Namespace, choice: Choice) -> None:
    """Write which columns are features, and why, so that the user notices wrong choices."""
    if choice.reasons:
        _screen.note(
            "No column is named as a feature, so features are chosen automatically. Use --ignore "
            "to exclude columns, or name all features with --text, --numbers, --categories or "
            "--dates.",
            args.quiet,
        )
    for kind, names in choice.columns.items():
        if names:
            listed = _listed(names, choice.reasons, most=_MOST_SHOWN)
            _screen.note(f"Features, {kind}: {listed}", args.quiet)
    if choice.left_out:
        # All of them: columns that are not listed here must be features.
        _screen.note(f"Left out: {_listed(list(choice.left_out), choice.left_out)}", args.quiet)


def _listed(names: list[str], reasons: dict[str, str], most: int | None = None) -> str:
    """Names grouped by their reason, with a limited number of names per reason."""
    groups: dict[str | None, list[str]] = {}
    for name in names:
        groups.setdefault(reasons.get(name), []).append(name)
    parts = []
    for reason, members in groups.items():
        shown = members[:most]
        more = f" and {len(members) - len(shown):,} more" if len(shown) < len(members) else ""
        parts.append(", ".join(shown) + more + ("" if reason is None else f" ({reason})"))
    return "; ".join(parts)


def warn_of_given_away(
    args: argparse.Namespace, table: Table, choice: Choice, y: Any, levels: list[str]
) -> None:
    """Name the features that alone almost determine the target, because they may contain it."""
    for found in find_given_away(table, choice.columns, y):
        level = levels[found.level]
        _screen.warning(
            f"{found.column!r} alone predicts {level!r} correctly for {found.share:.0%} of the "
            f"rows that have a {level!r} and a value in this column (the most frequent label is "
            f"correct for {found.commonest:.0%}). If the column is not known at the time of "
            f"prediction, exclude it with --ignore. Otherwise, scores are too good.",
            args.quiet,
        )


def _cross_validate(
    args: argparse.Namespace,
    pipeline: Pipeline,
    X: Any,
    y: Any,
    groups: Any,
    levels: list[str],
    n_before: int,
) -> None:
    """Predict every row by a model that has not seen it, and write the scores.

    Reviewed rows, which come after the others, are in every training set and are never predicted.
    The scores without them are written, too.
    """
    if args.cv > n_before:
        raise CommandError(f"--cv {args.cv} is more than the {n_before} rows. Use fewer folds.")
    if groups is not None:
        n_groups = int(groups.max()) + 1
        if args.cv > n_groups:
            raise CommandError(
                f"--cv {args.cv} is more than the {n_groups} groups of {args.groups!r}. Use fewer "
                f"folds."
            )
        # Out-of-fold learning needs three groups among those that are not held out.
        if n_groups - -(-n_groups // args.cv) < N_FOLDS:
            raise CommandError(
                f"--cv {args.cv} leaves too few of the {n_groups} groups of {args.groups!r} for "
                f"training: {N_FOLDS} are needed. Use more folds, or leave --cv out."
            )
    folds = HierarchicalKFold(args.cv, shuffle=True, random_state=args.seed)
    splits = list(folds.split(X.iloc[:n_before], y[:n_before], groups))
    reviewed = np.arange(n_before, len(X))

    def out_of_fold(added: Any) -> Any:
        """Predict each row by a model that was fitted on the other folds and added rows."""
        predicted = np.full((n_before, y.shape[1]), None, dtype=object)
        for number, (train, test) in enumerate(splits, start=1):
            _screen.note(f"Fold {number} of {args.cv}", args.quiet)
            rows = np.concatenate([train, added])
            model = clone(pipeline).fit(X.iloc[rows], y[rows], **_of_rows(groups, rows))
            found = model.predict(X.iloc[test])
            # The depth of folds may differ if only a few rows have deep paths.
            predicted[test, : found.shape[1]] = found
        if all(isinstance(label, str) for label in y.ravel()):
            predicted[predicted == None] = ""  # noqa: E711
        return predicted

    predicted = out_of_fold(reviewed)
    _screen.heading(f"Scores out of fold, {args.cv} folds")
    _screen.write_scores(y[:n_before], predicted, levels)
    if len(reviewed):
        without = _screen.overall_text(y[:n_before], out_of_fold(reviewed[:0]))
        _screen.write(f"without the {len(reviewed):,} reviewed rows: {without}")


def _of_rows(groups: Any, rows: Any) -> dict[str, Any]:
    """The arguments of ``fit`` of the pipeline besides rows and labels."""
    return {} if groups is None else {"classifier__groups": groups[rows]}
