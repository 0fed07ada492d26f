"""The demo: two built-in hierarchies, from data to scores, predicted paths and reports.

The animals take seconds. ICD-10-CM learns from the titles of 46,881 diagnosis codes and is tested
on their inclusion terms, which are other names that the model has not seen: three levels, 2,225
classes. Both use the model of ``hiclass fit --optimize f1``; the animals use ``--effort quick``,
which is fast.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hiclass import datasets
from hiclass._cli import _screen
from hiclass._cli._commands import write_report
from hiclass._cli._features import Columns, make_features
from hiclass._cli._recipe import make_baseline, make_model
from hiclass._cli._tables import check_output
from hiclass.model_selection import HierarchicalKFold

Rows = tuple[Any, Any]


@dataclass(frozen=True)
class Part:
    """The data and the model of one part of the demo.

    Attributes
    ----------
    name : str
        The name of the report.
    columns : dict
        The features by kind.
    levels : list of str
        The names of the levels.
    model : estimator
        The hierarchical classifier.
    train, test : pair of frame and ndarray
        Rows and paths.
    titles : ndarray of str
        The names of the test rows.
    """

    name: str
    columns: Columns
    levels: list[str]
    model: Any
    train: Rows
    test: Rows
    titles: Any


def demo(args: argparse.Namespace) -> None:
    """Run the chosen parts of the demo."""
    parts = {"animals": animals, "icd10cm": icd10cm}
    chosen = [args.only] if args.only else list(parts)
    for name in chosen:
        check_output(str(Path(args.report_dir) / f"{name}.html"))
    start = time.perf_counter()
    for name in chosen:
        _show(args, parts[name](args))
    _screen.heading(f"The demo took {time.perf_counter() - start:.0f} s.")


def animals(args: argparse.Namespace) -> Part:
    """Class, order and family of animals from plain facts."""
    data = datasets.load_animals(as_frame=True)
    numbers = list(data.data.select_dtypes("number"))
    categories = list(data.data.select_dtypes(exclude="number"))
    y = data.target.to_numpy(dtype=object)
    train, test = next(HierarchicalKFold(4, shuffle=True, random_state=0).split(y, y))
    _screen.heading("Animals: plain facts, and class / order / family")
    return Part(
        name="animals",
        columns=Columns(text=[], numbers=numbers, categories=categories),
        levels=list(data.target_names),
        model=make_model("auto", optimize="f1", effort="quick", n_jobs=args.jobs),
        train=(data.data.iloc[train], y[train]),
        test=(data.data.iloc[test], y[test]),
        titles=data.name[test],
    )


def icd10cm(args: argparse.Namespace) -> Part:
    """Chapter, block and category of diagnoses: titles to learn from, inclusion terms to test."""
    icd = datasets.load_icd10cm(as_frame=True)
    train = icd.kind == "title"
    # A few inclusion terms repeat a title of their category, which is in the training rows.
    other = ~train & ~np.isin(icd.group, icd.group[train])
    X, y = icd.frame[["text"]], icd.target.to_numpy(dtype=object)
    _screen.heading("ICD-10-CM: titles of diagnoses, and chapter / block / category")
    return Part(
        name="icd10cm",
        columns=Columns(text=["text"], numbers=[], categories=[]),
        levels=list(icd.target_names),
        model=make_model("auto", optimize="f1", n_jobs=args.jobs, verbose=int(not args.quiet)),
        train=(X[train], y[train]),
        test=(X[other], y[other]),
        titles=icd.data[other].to_numpy(),
    )


def _show(args: argparse.Namespace, part: Part) -> None:
    """Fit, score and compare with a flat model, predict, and write a report."""
    model = part.model
    features = make_features(part.columns)
    X_train, (X_test, y) = features.fit_transform(part.train[0]), part.test
    X_test = features.transform(X_test)
    # Both models use the same features, so the times are those of the models alone.
    start = time.perf_counter()
    model.fit(X_train, part.train[1])
    seconds = time.perf_counter() - start
    _screen.write(
        f"{len(part.train[1]):,} training rows with {model.hierarchy_.n_nodes - 1:,} classes, "
        f"{len(y):,} test rows; fitted in {seconds:.1f} s"
    )
    for line in _screen.choice_lines(model.choices_):
        _screen.write(line)
    _screen.write()
    predicted, confidence = model.predict(X_test), model.predict_confidence(X_test)
    _screen.write_scores(y, predicted, part.levels)
    _compare(args, part, X_train, X_test)
    _write_paths(part, predicted, confidence)
    _screen.note("Writing the report", args.quiet)
    path = Path(args.report_dir) / f"{part.name}.html"
    names = features.get_feature_names_out().tolist()
    write_report(model, X_test, y, str(path), title=part.name, names=names)
    _screen.write(f"\nReport: {path}")
    _screen.write()


def _compare(args: argparse.Namespace, part: Part, X_train: Any, X_test: Any) -> None:
    """Score a flat model on the same features, unless this is too expensive."""
    leaves = f"{int(part.model.hierarchy_.is_leaf.sum()):,} leaves"
    if why := part.model.choices_.get("no flat"):
        _screen.write(f"No flat model over all {leaves} to compare: it would be {why}.")
        return
    _screen.note(f"Fitting a flat model over all {leaves}, to compare", args.quiet)
    start = time.perf_counter()
    flat = make_baseline(n_jobs=args.jobs).fit(X_train, part.train[1])
    seconds = time.perf_counter() - start
    scores = _screen.overall_text(part.test[1], flat.predict(X_test))
    _screen.write(f"flat baseline:   {scores}; fitted in {seconds:.1f} s")
    _screen.write(
        "The flat model always predicts a leaf; this model stops early if it is uncertain."
    )


def _write_paths(part: Part, predicted: Any, confidence: Any) -> None:
    """Write some rows, the same ones in every run, from confident to uncertain."""
    _screen.write("\nSome predicted paths, with the confidence of every step:\n")
    order = np.argsort(-np.nan_to_num(confidence).sum(axis=1), kind="stable")
    for row in order[np.linspace(0, len(order) - 1, 10).astype(int)].tolist():
        _screen.write(f"  {part.titles[row]}")
        _screen.write(f"    {_screen.path_text(predicted[row], confidence[row])}")
        if not np.array_equal(predicted[row], part.test[1][row]):
            _screen.write(f"    true: {_screen.path_text(part.test[1][row])}")
