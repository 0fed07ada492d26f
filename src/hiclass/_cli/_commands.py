"""What the sub-commands do: fit, predict, evaluate, tree."""

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
from hiclass._cli._columns import Choice, choose_columns, find_given_away
from hiclass._cli._errors import CommandError
from hiclass._cli._features import make_features, placed, prepare, texts
from hiclass._cli._labels import check_types, like, read_labels
from hiclass._cli._models import Model, load_model, save_model
from hiclass._cli._recipe import make_model, set_jobs
from hiclass._cli._tables import (
    Table,
    check_output,
    format_of,
    open_output,
    read_table,
    write_table,
)
from hiclass.hierarchy import Hierarchy
from hiclass.model_selection import HierarchicalKFold

#: So many features with the same reason are named.
_MOST_SHOWN = 20


def fit(args: argparse.Namespace) -> None:
    """Fit a model on a file and save it."""
    check_output(args.output)
    table = _read(args)
    # From here on, only rows with labels: the others may hold anything.
    table, y = _labels(args, table, args.target)
    check_types(table, args.target, y)
    named = {kind: list(getattr(args, kind) or []) for kind in KINDS}
    choice = choose_columns(table, args.target, named, args.ignore or [])
    columns = choice.columns
    X = prepare(table, chain.from_iterable(columns.values()))
    features = make_features(columns)
    with placed(table):
        rows = features.fit_transform(X)
    _describe(args, choice)
    if choice.reasons:
        _warn_of_given_away(args, table, choice, y)
    hierarchy = Hierarchy.from_paths(y)
    if len({tuple(path) for path in y.tolist()}) == 1:
        raise CommandError(
            f"{table.name}: every row has the same labels, so there is nothing to learn. Give rows "
            f"of other classes, or other --target columns."
        )
    classifier = make_model(
        args.model,
        n_jobs=args.jobs,
        min_confidence=args.min_confidence or 0.0,
        random_state=args.seed,
        verbose=int(not args.quiet and sys.stderr.isatty()),
    )
    pipeline = Pipeline([("features", features), ("classifier", classifier)])
    if args.cv is not None:
        _cross_validate(args, pipeline, X, y)
    start = time.perf_counter()
    classifier.fit(rows, y)
    seconds = time.perf_counter() - start
    _screen.note(
        f"Fitted {args.model} on {_screen.count(len(X), 'row')} in {seconds:.1f} s: "
        f"{_shape(hierarchy)}",
        args.quiet,
    )
    set_jobs(classifier, None)
    save_model(Model(pipeline, list(args.target)), args.output)
    if args.output != "-":
        size = _screen.size_text(Path(args.output).stat().st_size)
        _screen.note(f"Wrote {args.output} ({size})", args.quiet)


def predict(args: argparse.Namespace) -> None:
    """Predict the rows of a file: a label and a confidence per level."""
    check_output(args.output)
    format = format_of(args.output, args.output_format, output=True)
    model = load_model(args.model_file)
    table = _read(args)
    features = _features(model, table)
    keep = list(table.frame.columns) if args.keep is None else list(args.keep)
    result = {name: table.column(name) for name in keep}
    predicted = _predict(args, model, features)
    confidence = model.opened.model.predict_confidence(features).round(6)
    for level, name in enumerate(model.target):
        for prefix, values in (("predicted", predicted), ("confidence", confidence)):
            column = f"{prefix}_{name}"
            if column in result:
                raise CommandError(
                    f"{table.name} already has a column {column!r}. Leave it out with --keep."
                )
            result[column] = values[:, level]
    import pandas as pd

    # Cells are objects, confidences numbers: pandas would guess types otherwise.
    frame = pd.DataFrame({n: pd.Series(cells, dtype=cells.dtype) for n, cells in result.items()})
    write_table(frame, args.output, format=format, as_they_are=args.unprotected)
    if args.output != "-":
        _screen.note(f"Wrote {args.output}: {_screen.count(len(frame), 'row')}", args.quiet)


def _features(model: Model, table: Table) -> Any:
    """The rows of a file as the classifier sees them."""
    X = prepare(table, model.features.columns_)
    with placed(table):
        return model.opened.transform(X)


def _predict(args: argparse.Namespace, model: Model, features: Any) -> Any:
    """Predicted labels, with one column per level."""
    classifier = model.opened.model
    set_jobs(classifier, args.jobs)
    if args.min_confidence is not None:
        classifier.set_params(min_confidence=args.min_confidence)
    return np.asarray(classifier.predict(features), dtype=object)


def evaluate(args: argparse.Namespace) -> None:
    """Score a model on a labelled file; optionally write the report."""
    if args.report == "-":
        raise CommandError("--report needs the name of a file: standard output has the scores.")
    if args.report is not None:
        check_output(args.report)
    elif args.examples is not None:
        raise CommandError("--examples puts rows into the report. Give --report FILE as well.")
    model = load_model(args.model_file)
    table = _read(args)
    table, y = _labels(args, table, model.target)
    examples = None if args.examples is None else texts(table, args.examples)
    y = like(y, model.opened.model.hierarchy_, model.target, table)
    features = _features(model, table)
    predicted = _predict(args, model, features)
    _screen.write_scores(y, predicted, model.target)
    if args.report is not None:
        write_report(
            model.opened.model,
            features,
            y,
            args.report,
            title=Path(table.name).name,
            names=model.opened.names_out(None),
            examples=examples,
        )
        _screen.note(f"Wrote {args.report}", args.quiet)


def write_report(
    classifier: Any,
    X: Any,
    y: Any,
    path: str,
    *,
    title: str,
    names: list[str] | None,
    examples: Any = None,
) -> None:
    """Write the report on a classifier to a file, whole or not at all."""
    from hiclass._inspect.report import make_report

    report = make_report(classifier, X, y, title=title, feature_names=names, examples=examples)
    with open_output(path) as file:
        file.write(report.html.encode("utf-8"))


def tree(args: argparse.Namespace) -> None:
    """Show the hierarchy of a file, with the number of rows of every class."""
    table = _read(args)
    table, y = _labels(args, table, args.target)
    check_types(table, args.target, y)
    hierarchy = Hierarchy.from_paths(y)
    own = np.zeros(hierarchy.n_nodes, dtype=int)
    for path in y.tolist():
        own[hierarchy.find(tuple(label for label in path if label not in (None, "")))] += 1
    counts = np.array([own[v : hierarchy.subtree_end[v]].sum() for v in range(hierarchy.n_nodes)])
    for line in _screen.tree_lines(hierarchy, counts, args.depth):
        _screen.write(line)
    early = int(own[~hierarchy.is_leaf].sum())
    end = "ends" if early == 1 else "end"
    ends = f"; {_screen.count(early, 'row')} {end} at an inner class" if early else ""
    summary = f"{_screen.count(len(y), 'row')}, {_shape(hierarchy)}{ends}"
    _screen.write(_screen.paint(summary, "bold", sys.stdout))


# -- what they share ---------------------------------------------------------------------------


def _shape(hierarchy: Hierarchy) -> str:
    """How many classes, levels and leaves there are."""
    return repr(hierarchy).removeprefix("Hierarchy(tree, ").removesuffix(")")


def _read(args: argparse.Namespace) -> Table:
    table = read_table(
        args.file, format=args.format, encoding=args.encoding, separator=args.separator
    )
    n_rows, n_columns = table.frame.shape
    shape = f"{_screen.count(n_rows, 'row')}, {_screen.count(n_columns, 'column')}"
    _screen.note(f"Read {table.name}: {shape}", args.quiet)
    return table


def _labels(args: argparse.Namespace, table: Table, target: list[str]) -> tuple[Table, Any]:
    """The rows that have labels, and their paths."""
    labelled, y = read_labels(
        table,
        list(target),
        truncate_gaps=args.truncate_gaps,
        skip_unlabelled=args.skip_unlabelled,
    )
    lost = len(table.frame) - len(labelled.frame)
    if lost:
        _screen.note(f"Left out {_screen.count(lost, 'row')} without labels", args.quiet)
    return labelled, y


def _describe(args: argparse.Namespace, choice: Choice) -> None:
    """Write which columns are features, and why: a guess must not go unnoticed."""
    if choice.reasons:
        _screen.note(
            "No column is named as a feature, so the features are chosen by their cells. --ignore "
            "leaves columns out; with --text, --numbers, --categories or --dates you name all "
            "features.",
            args.quiet,
        )
    for kind, names in choice.columns.items():
        if names:
            listed = _listed(names, choice.reasons, most=_MOST_SHOWN)
            _screen.note(f"Features, {kind}: {listed}", args.quiet)
    if choice.left_out:
        # All of them: what is missing here must be a feature.
        _screen.note(f"Left out: {_listed(list(choice.left_out), choice.left_out)}", args.quiet)


def _listed(names: list[str], reasons: dict[str, str], most: int | None = None) -> str:
    """Names by their reason, which stands behind them; at most so many names of each reason."""
    groups: dict[str | None, list[str]] = {}
    for name in names:
        groups.setdefault(reasons.get(name), []).append(name)
    parts = []
    for reason, members in groups.items():
        shown = members[:most]
        more = f" and {len(members) - len(shown):,} more" if len(shown) < len(members) else ""
        parts.append(", ".join(shown) + more + ("" if reason is None else f" ({reason})"))
    return "; ".join(parts)


def _warn_of_given_away(args: argparse.Namespace, table: Table, choice: Choice, y: Any) -> None:
    """Name the features that alone nearly determine the target: they may contain it."""
    for found in find_given_away(table, choice.columns, y):
        level = args.target[found.level]
        _screen.warning(
            f"{found.column!r} alone gives the right {level!r} for {found.share:.0%} of the rows "
            f"that have a {level!r} and a value in this column (the commonest label is right for "
            f"{found.commonest:.0%}). If it is not known yet when the model predicts, leave it out "
            f"with --ignore: otherwise scores look better than predictions will be.",
            args.quiet,
        )


def _cross_validate(args: argparse.Namespace, pipeline: Pipeline, X: Any, y: Any) -> None:
    """Predict every row by a model that has not seen it, and write the scores."""
    if args.cv > len(X):
        raise CommandError(f"--cv {args.cv} is more than the {len(X)} rows. Use fewer folds.")
    folds = HierarchicalKFold(args.cv, shuffle=True, random_state=args.seed)
    predicted = np.full(y.shape, None, dtype=object)
    for number, (train, test) in enumerate(folds.split(X, y), start=1):
        _screen.note(f"Fold {number} of {args.cv}", args.quiet)
        model = clone(pipeline).fit(X.iloc[train], y[train])
        found = model.predict(X.iloc[test])
        # Folds may differ in depth where only a few rows go deep.
        predicted[test, : found.shape[1]] = found
    if all(isinstance(label, str) for label in y.ravel()):
        predicted[predicted == None] = ""  # noqa: E711
    _screen.heading(f"Scores out of fold, {args.cv} folds")
    _screen.write_scores(y, predicted, list(args.target))
