"""The commands that use a model: predict, evaluate, explain, report, tune; and tree."""

from __future__ import annotations

import argparse
import html
import json
import sys
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from hiclass import metrics
from hiclass._cli import _screen
from hiclass._cli._class_texts import hierarchy_with_texts
from hiclass._cli._early import count_early
from hiclass._cli._errors import CommandError
from hiclass._cli._features import placed, prepare, texts
from hiclass._cli._inputs import (
    features_of,
    labelled_for,
    labelled_rows,
    name_levels,
    read_rows,
    refuse_threshold,
)
from hiclass._cli._label_errors import errors_in
from hiclass._cli._labels import check_types
from hiclass._cli._models import Model, load_model, save_model
from hiclass._cli._paths import check_separator, join_paths
from hiclass._cli._recipe import make_baseline, set_jobs
from hiclass._cli._set_commands import (
    evaluate_sets,
    labelled_sets_for,
    predicted_columns,
    refuse_checks,
    set_up,
)
from hiclass._cli._sets import join_labels, read_label_sets, several_of
from hiclass._cli._tables import (
    Table,
    check_output,
    format_of,
    open_output,
    plain_cell,
    write_table,
)
from hiclass._estimators.tuning import tune_confidence
from hiclass._inspect.use import compare_use


def predict(args: argparse.Namespace) -> None:
    """Predict the rows of a file: a label and a confidence per level."""
    check_output(args.output, args.model_file, args.file)
    format = format_of(args.output, args.output_format, output=True)
    model = load_model(args.model_file, of_sets=True)
    table = read_rows(args)
    features = features_of(model, table)
    keep = list(table.frame.columns) if args.keep is None else list(args.keep)
    result = {name: table.column(name) for name in keep}
    if model.several is not None:
        added = predicted_columns(args, model, features)
    else:
        predicted = _predict(args, model, features)
        confidence = model.opened.model.predict_confidence(features).round(6)
        added = added_columns(model, predicted, confidence)
    for column, cells in added.items():
        if column in result:
            raise CommandError(
                f"{table.name} already has a column {column!r}. Leave it out with --keep."
            )
        result[column] = cells
    import pandas as pd

    # Cells as objects and confidences as numbers, so that pandas does not infer types.
    frame = pd.DataFrame({n: pd.Series(cells, dtype=cells.dtype) for n, cells in result.items()})
    write_table(frame, args.output, format=format, as_they_are=args.unprotected)
    if args.output != "-":
        _screen.note(f"Wrote {args.output}: {_screen.count(len(frame), 'row')}", args.quiet)


def added_columns(model: Model, predicted: Any, confidence: Any) -> dict[str, Any]:
    """The columns that predictions add, in the form of the labels that were learned."""
    added = {}
    if model.separator is not None:
        added[f"predicted_{model.target[0]}"] = join_paths(predicted, model.separator)
    for level, name in enumerate(model.levels):
        if model.separator is None:
            added[f"predicted_{name}"] = predicted[:, level]
        added[f"confidence_{name}"] = confidence[:, level]
    return added


def _predict(args: argparse.Namespace, model: Model, features: Any) -> Any:
    """Predicted labels, with one column per level."""
    classifier = model.opened.model
    _set_up(args, classifier)
    return np.asarray(classifier.predict(features), dtype=object)


def _set_up(args: argparse.Namespace, classifier: Any) -> None:
    """Apply the options of a command to the predictions of a model."""
    refuse_threshold(args)
    set_jobs(classifier, args.jobs)
    if args.min_confidence is not None:
        classifier.set_params(min_confidence=args.min_confidence)


# -- scores ------------------------------------------------------------------------------------


def evaluate(args: argparse.Namespace) -> None:
    """Score a model on a labelled file, optionally with a baseline or the report."""
    if args.report == "-":
        raise CommandError(
            "--report needs the name of a file, because standard output has the scores."
        )
    if args.report is not None:
        check_output(args.report, args.model_file, args.file, args.baseline, args.compare)
    for option, value in (
        ("--examples", args.examples),
        ("--label-errors", args.label_errors or None),
        ("--compare", args.compare),
    ):
        if value is not None and args.report is None:
            raise CommandError(f"{option} is for the report. Add --report FILE.")
    if args.baseline == "-":
        raise CommandError("--baseline needs the name of a file, not standard input.")
    model = load_model(args.model_file, of_sets=True)
    if model.several is not None:
        refuse_checks(args)
        table, features, y = evaluate_sets(args, model)
        if args.report is not None:
            examples = None if args.examples is None else texts(table, args.examples)
            write_report(
                model.opened.model, features, y, args.report, title=Path(table.name).name,
                names=model.opened.names_out(None), examples=examples,
            )  # fmt: skip
            _screen.note(f"Wrote {args.report}", args.quiet)
        return
    table, y, levels = labelled_for(args, model)
    examples = None if args.examples is None else texts(table, args.examples)
    features = features_of(model, table)
    then = _rows_of_then(args, model)
    baseline = None if args.baseline is None else _fit_baseline(args, model)
    predicted = _predict(args, model, features)
    _screen.write_scores(y, predicted, levels)
    if baseline is not None:
        _write_baseline(y, predicted, np.asarray(baseline.predict(features), dtype=object))
    _screen.write(str(count_early(model.opened.model, features, predicted)))
    if args.report is not None:
        checks = _checked(args, model, table, features, y, then)
        write_report(
            model.opened.model, features, y, args.report, title=Path(table.name).name,
            names=model.opened.names_out(None), examples=examples, **checks,
        )  # fmt: skip
        _screen.note(f"Wrote {args.report}", args.quiet)


def _fit_baseline(args: argparse.Namespace, model: Model) -> Any:
    """Fit a flat model on the features of the model and the rows of another file."""
    table, y, _ = labelled_for(args, model, args.baseline)
    features = features_of(model, table)
    _screen.note("Fitting a flat model over all leaves, to compare", args.quiet)
    with placed(table):
        return make_baseline(n_jobs=args.jobs).fit(features, y)


def _write_baseline(y: Any, predicted: Any, flat: Any) -> None:
    _screen.write(f"flat baseline:   {_screen.overall_text(y, flat)}")
    ours, theirs = (
        (metrics.f1(y, found, zero_division=0.0), metrics.exact_match(y, found))
        for found in (predicted, flat)
    )
    gains = [f"{ours[i] - theirs[i]:+.3f}" for i in range(2)]
    _screen.write(f"model minus flat baseline: F1 {gains[0]}, exact match {gains[1]}")


def report(args: argparse.Namespace) -> None:
    """Write the report on a model and a labelled file."""
    if args.output == "-":
        raise CommandError("-o needs the name of a file, such as report.html.")
    check_output(args.output, args.model_file, args.file, args.compare)
    model = load_model(args.model_file, of_sets=True)
    if model.several is not None:
        _report_sets(args, model)
        return
    table, y, _ = labelled_for(args, model)
    examples = None if args.examples is None else texts(table, args.examples)
    features = features_of(model, table)
    then = _rows_of_then(args, model)
    classifier = model.opened.model
    _set_up(args, classifier)
    checks = _checked(args, model, table, features, y, then)
    write_report(
        classifier, features, y, args.output, title=args.title or Path(table.name).name,
        names=model.opened.names_out(None), examples=examples, **checks,
    )  # fmt: skip
    _screen.note(f"Wrote {args.output}", args.quiet)


def _rows_of_then(args: argparse.Namespace, model: Model) -> Any:
    """The rows of ``--compare`` as features; None without this option."""
    if args.compare == "-":
        raise CommandError("--compare needs the name of a file, not standard input.")
    return None if args.compare is None else features_of(model, read_rows(args, args.compare))


def _checked(
    args: argparse.Namespace, model: Model, table: Table, features: Any, y: Any, then: Any
) -> dict[str, Any]:
    """The label errors and changes that a report shows, according to the options."""
    classifier, errors, use = model.opened.model, None, None
    if args.label_errors:
        _screen.note("Fitting copies of the model on folds of these rows", args.quiet)
        errors = errors_in(table, classifier, features, y)
        # The row numbers of the file, even if rows without labels are ignored.
        errors = replace(errors, rows=table.frame.index.to_numpy()[errors.rows])
    if then is not None:
        names = model.opened.names_out(None)
        use = compare_use(classifier, then, features, feature_names=names)
    return {"label_errors": errors, "use": use}


def _report_sets(args: argparse.Namespace, model: Model) -> None:
    """Write the report on a model of several labels per row."""
    refuse_checks(args)
    classifier = set_up(args, model)
    table, y = labelled_sets_for(args, model)
    examples = None if args.examples is None else texts(table, args.examples)
    write_report(
        classifier, features_of(model, table), y, args.output,
        title=args.title or Path(table.name).name, names=model.opened.names_out(None),
        examples=examples,
    )  # fmt: skip
    _screen.note(f"Wrote {args.output}", args.quiet)


def write_report(
    classifier: Any,
    X: Any,
    y: Any,
    path: str,
    *,
    title: str,
    names: list[str] | None,
    **shown: Any,
) -> None:
    """Write the report on a classifier to a file: completely or not at all."""
    from hiclass._inspect.report import make_report

    made = make_report(classifier, X, y, title=title, feature_names=names, **shown)
    is_card = Path(path).suffix.lower() == ".md"
    with open_output(path) as file:
        file.write((made.to_markdown() if is_card else made.html).encode("utf-8"))


# -- one row -----------------------------------------------------------------------------------

_PAGE = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font-family: system-ui, sans-serif; margin: 2em auto; max-width: 48em; padding: 0 1em }}
</style></head>
<body><h1 style="font-size: 1.2em">{title}</h1>{true}{content}</body>
</html>
"""


def explain(args: argparse.Namespace) -> None:
    """Explain the prediction of one row of a file."""
    from hiclass._inspect import explain as inspect

    check_output(args.output, args.model_file, args.file)
    model = load_model(args.model_file, of_sets=True)
    table = read_rows(args)
    if args.row > len(table.frame):
        raise CommandError(
            f"--row {args.row} does not exist: {table.name} has "
            f"{_screen.count(len(table.frame), 'row')}. Use a number from 1 to {len(table.frame)}."
        )
    row = table.take([args.row - 1])
    X = prepare(row, model.features.columns_)
    with placed(row):
        found = inspect.explain(model.pipeline, X, top=args.top, k=args.runners_up)
    with open_output(args.output) as file:
        file.write(_explained(found, args, model, row).encode("utf-8", errors="replace"))
    if args.output != "-":
        _screen.note(f"Wrote {args.output}", args.quiet)


def _explained(found: Any, args: argparse.Namespace, model: Model, row: Table) -> str:
    """An explanation in the format given by the name of the output."""
    place, true = row.place(0), _true_path(model, row)
    suffix = Path(args.output).suffix.lower()
    if suffix == ".json":
        content = {"place": place, "true": true, **found.to_dict()}
        return f"{json.dumps(plain_cell(content), ensure_ascii=False, indent=2)}\n"
    shown = "" if true is None else f"true: {_screen.path_text(true)}"
    if true is not None and model.several is not None:
        shown = f"true: {join_labels(true, ', ', model.separator) or '(no class)'}"
    if suffix in (".html", ".htm"):
        line = f"<p>{html.escape(shown)}</p>" if shown else ""
        return _PAGE.format(title=html.escape(place), true=line, content=found._repr_html_())
    lines = [place, *([shown] if shown else []), *str(found).split("\n")]
    # Labels and words are not trusted.
    return "".join(f"{_screen.one_line(line)}\n" for line in lines)


def _true_path(model: Model, row: Table) -> list[Any] | None:
    """The labels of a row, if the file has them."""
    if not set(model.target) <= set(row.frame.columns):
        return None
    if model.several is not None:
        if all(row.column(name)[0] is None for name in model.target):
            return None
        read = read_label_sets(
            row, model.target, model.several, path_separator=model.separator, skip_unlabelled=False
        )
        return list(read[1][0])
    cells = [row.column(name)[0] for name in model.target]
    if model.separator is not None and isinstance(cells[0], str):
        cells = [part.strip() for part in cells[0].split(model.separator)]
    path = [cell for cell in cells if cell is not None]
    return path or None


# -- confidence thresholds -----------------------------------------------------------------------


def tune(args: argparse.Namespace) -> None:
    """Choose ``min_confidence`` on a labelled file, and save the model with it."""
    check_output(args.output, args.file)
    model = load_model(args.model_file)
    table, y, _ = labelled_for(args, model)
    classifier = model.opened.model
    features = features_of(model, table)
    set_jobs(classifier, args.jobs)
    before = classifier.get_params(deep=False).get("min_confidence")
    try:
        limit = tune_confidence(classifier, features, y, args.precision)
    except (ValueError, TypeError) as error:
        raise CommandError(f"{table.name}: {error}") from error
    whole = classifier.set_params(min_confidence=0.0).predict(features)
    if metrics.precision(y, whole, zero_division=0.0) >= args.precision:
        # Otherwise, paths that are less confident than all of these would stop, although they may
        # be correct.
        limit = 0.0
    rows = []
    for name, value in (("before", before), ("tuned", limit)):
        predicted = np.asarray(
            classifier.set_params(min_confidence=value).predict(features), dtype=object
        )
        shown = f"{value:.4g}" if isinstance(value, Real) else "several"
        rows.append([name, shown, *_measured(classifier, features, y, predicted)])
    header = ["", "min_confidence", "precision", "recall", "F1", "exact match", "stop early"]
    _screen.write_table(header, rows)
    set_jobs(classifier, None)
    save_model(model, args.output)
    if args.output != "-":
        found = "" if limit else ", whose paths reach the precision without it"
        _screen.note(
            f"Wrote {args.output}: min_confidence {limit:.4g}, chosen on "
            f"{_screen.count(len(y), 'row')}{found}. Evaluate it on other rows.",
            args.quiet,
        )


def _measured(classifier: Any, X: Any, y: Any, predicted: Any) -> list[str]:
    early = count_early(classifier, X, predicted)
    stop = early.by_confidence + early.like_training + early.by_decoding
    scores = [
        metrics.precision(y, predicted, zero_division=0.0),
        metrics.recall(y, predicted, zero_division=0.0),
        metrics.f1(y, predicted, zero_division=0.0),
        metrics.exact_match(y, predicted),
    ]
    return [*(f"{score:.3f}" for score in scores), f"{stop / len(y):.0%}"]


# -- labels ------------------------------------------------------------------------------------


def tree(args: argparse.Namespace) -> None:
    """Show the hierarchy of a file, with the number of rows of every class."""
    several = several_of(args)
    if several is not None:
        from hiclass._cli._fit_sets import tree_of_sets

        tree_of_sets(args, several)
        return
    check_separator(args.path_separator, args.target)
    table, y = labelled_rows(args, read_rows(args), args.target, args.path_separator)
    check_types(table, args.target, y)
    name_levels(args, table, y)
    hierarchy = hierarchy_with_texts(args, y)
    own = np.zeros(hierarchy.n_nodes, dtype=int)
    for path in y.tolist():
        own[hierarchy.find(tuple(label for label in path if label not in (None, "")))] += 1
    counts = np.array([own[v : hierarchy.subtree_end[v]].sum() for v in range(hierarchy.n_nodes)])
    for line in _screen.tree_lines(hierarchy, counts, args.depth):
        _screen.write(line)
    early = int(own[~hierarchy.is_leaf].sum())
    end = "ends" if early == 1 else "end"
    ends = f"; {_screen.count(early, 'row')} {end} at an inner class" if early else ""
    summary = f"{_screen.count(len(y), 'row')}, {_screen.shape_text(hierarchy)}{ends}"
    _screen.write(_screen.paint(summary, "bold", sys.stdout))
