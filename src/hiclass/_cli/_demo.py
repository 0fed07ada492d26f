"""The demo: two built-in hierarchies from data to scores, predicted paths and reports.

Animals take seconds. ICD-10-CM learns from the titles of 46,881 diagnosis codes and is tested on
their inclusion terms, other names that the model has not seen: three levels, 2,225 classes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from hiclass import HierarchicalKFold, datasets
from hiclass._cli import _screen
from hiclass._cli._commands import write_report
from hiclass._cli._features import Columns, feature_names, make_features
from hiclass._cli._recipe import make_model
from hiclass._cli._scores import write_scores
from hiclass._cli._tables import check_output


def demo(args: argparse.Namespace) -> None:
    """Run the parts of the demo that are asked for."""
    parts = {"animals": show_animals, "icd10cm": show_icd10cm}
    chosen = [args.only] if args.only else list(parts)
    for name in chosen:
        check_output(str(Path(args.report_dir) / f"{name}.html"))
    start = time.perf_counter()
    for name in chosen:
        parts[name](args)
    _screen.heading(f"The demo took {time.perf_counter() - start:.0f} s.")


def show_animals(args: argparse.Namespace) -> None:
    """Learn class, order and family of animals from plain facts."""
    animals = datasets.load_animals(as_frame=True)
    categories = [name for name in animals.data if not _is_numeric(animals.data[name])]
    numbers = [name for name in animals.data if name not in categories]
    y = animals.target.to_numpy(dtype=object)
    train, test = next(HierarchicalKFold(4, shuffle=True, random_state=0).split(y, y))
    _screen.heading("Animals: plain facts, and class / order / family")
    _show(
        args,
        "animals",
        Columns(text=[], numbers=numbers, categories=categories),
        make_model("recommended", n_jobs=args.jobs),
        (animals.data.iloc[train], y[train]),
        (animals.data.iloc[test], y[test]),
        list(animals.target_names),
        animals.name[test],
    )


def _is_numeric(column: Any) -> bool:
    return bool(np.issubdtype(np.asarray(column).dtype, np.number))


def show_icd10cm(args: argparse.Namespace) -> None:
    """Learn chapter, block and category of diagnoses from titles; predict inclusion terms."""
    icd = datasets.load_icd10cm(as_frame=True)
    train = icd.kind == "title"
    # A few inclusion terms repeat a title of their category: they would test what was learned.
    test = ~train & ~np.isin(icd.group, icd.group[train])
    X, y = icd.frame[["text"]], icd.target.to_numpy(dtype=object)
    _screen.heading("ICD-10-CM: titles of diagnoses, and chapter / block / category")
    # The flat part of the recommended model would take ten minutes or more with so many classes.
    model = make_model("parent", n_jobs=args.jobs).set_params(decoding="expected_f1")
    _show(
        args,
        "icd10cm",
        Columns(text=["text"], numbers=[], categories=[]),
        model,
        (X[train], y[train]),
        (X[test], y[test]),
        list(icd.target_names),
        icd.data[test].to_numpy(),
    )


def _show(
    args: argparse.Namespace,
    name: str,
    columns: Columns,
    model: Any,
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    levels: list[str],
    titles: Any,
) -> None:
    """Fit, score, predict, report."""
    pipeline = Pipeline([("features", make_features(columns)), ("classifier", model)])
    start = time.perf_counter()
    pipeline.fit(*train)
    seconds = time.perf_counter() - start
    _screen.write(
        f"{len(train[1]):,} rows to learn from, {len(test[1]):,} to test on, "
        f"{model.hierarchy_.n_nodes - 1:,} classes; fitted in {seconds:.1f} s\n"
    )
    X, y = pipeline[:-1].transform(test[0]), test[1]
    predicted, confidence = model.predict(X), model.predict_confidence(X)
    write_scores(y, predicted, levels)
    _screen.write("\nSome predicted paths, with the confidence of every step:\n")
    # The same rows in every run, from sure to unsure.
    order = np.argsort(-np.nan_to_num(confidence).sum(axis=1), kind="stable")
    for row in order[np.linspace(0, len(order) - 1, 10).astype(int)].tolist():
        _screen.write(f"  {titles[row]}")
        _screen.write(f"    {_screen.path_text(predicted[row], confidence[row])}")
        if not np.array_equal(predicted[row], y[row]):
            _screen.write(f"    true: {_screen.path_text(y[row])}")
    path = Path(args.report_dir) / f"{name}.html"
    names = feature_names(pipeline[0], columns)
    write_report(model, X, y, str(path), title=name, names=names)
    _screen.write(f"\nReport: {path}")
    _screen.write()
