"""Rows that people have reviewed, for ``hiclass fit --add``: read, join and describe them."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._automatic.kinds import KINDS
from hiclass._cli import _screen
from hiclass._cli._errors import CommandError
from hiclass._cli._features import by_kind, placed, prepare
from hiclass._cli._inputs import read_unprotected
from hiclass._cli._labels import like, read_labels
from hiclass._cli._models import Model, load_model, save_model
from hiclass._cli._recipe import DEFAULT_MODEL, set_jobs
from hiclass._cli._review import ACCEPTED, CORRECTED, REVIEW, SKIP
from hiclass._cli._tables import Table
from hiclass.hierarchy import Hierarchy

#: The largest number of changed classes that are named.
_MOST_SHOWN = 5


def read_added(args: argparse.Namespace) -> tuple[Table, Any]:
    """Read the rows of ``--add`` that have labels, and their paths; skipped rows are ignored."""
    table = read_unprotected(args, args.add)
    for name in args.target:
        table.column(name)  # which must exist
    if REVIEW in table.frame.columns:
        skipped = table.column(REVIEW) == SKIP
        if skipped.all():
            raise CommandError(
                f"{table.name}: all rows were skipped, so there is nothing to add. Review some "
                "rows, or leave --add out."
            )
        table = table.take(np.flatnonzero(~skipped))
    return read_labels(
        table,
        list(args.target),
        separator=args.path_separator,
        truncate_gaps=args.truncate_gaps,
        skip_unlabelled=args.skip_unlabelled,
    )


@dataclass(frozen=True)
class Joined:
    """The places of rows from two files, for messages."""

    first: Table
    second: Table

    @property
    def name(self) -> str:
        """The names of the two files."""
        return f"{self.first.name} and {self.second.name}"

    def place(self, row: int) -> str:
        """The place of a row."""
        n_first = len(self.first.frame)
        if row < n_first:
            return self.first.place(row)
        return self.second.place(row - n_first)


def join_rows(
    table: Table, y: Any, added: Table, y_added: Any, names: list[str]
) -> tuple[Any, Any]:
    """The columns of two tables one after the other, and their paths.

    Parameters
    ----------
    table, added : Table
        The rows.
    y, y_added : ndarray of shape (n_rows, n_levels)
        Their paths.
    names : list of str
        The columns, which both must have.

    Returns
    -------
    frame : DataFrame
        The columns of all rows.
    y : ndarray
        Their paths, as deep as the deeper ones.
    """
    import pandas as pd

    frame = pd.concat([prepare(table, names), prepare(added, names)], ignore_index=True)
    n_levels = max(y.shape[1], y_added.shape[1])
    paths = [
        np.hstack([part, np.full((len(part), n_levels - part.shape[1]), None, dtype=object)])
        for part in (y, y_added)
    ]
    both = np.vstack(paths)
    has_texts_only = all(isinstance(label, str) for label in both.ravel() if label is not None)
    both[np.frompyfunc(lambda label: label is None or label == "", 1, 1)(both).astype(bool)] = (
        "" if has_texts_only else None
    )
    return frame.astype(object), both


def describe_added(args: argparse.Namespace, added: Table, y_added: Any, y: Any) -> None:
    """Write how many rows people added, how often they corrected the model, and new classes."""
    _screen.note(f"Added {_screen.count(len(y_added), 'reviewed row')}", args.quiet)
    if REVIEW in added.frame.columns:
        kinds = Counter(added.column(REVIEW).tolist())
        right, wrong = kinds[ACCEPTED], kinds[CORRECTED]
        share = f" ({right / (right + wrong):.0%})" if right + wrong else ""
        _screen.note(
            f"  the first suggestion was correct for {right:,}{share}; {wrong:,} were corrected",
            args.quiet,
        )
    before = {path for path, _ in _counts(y)}
    new = [(path, n) for path, n in _counts(y_added) if path not in before]
    if new:
        shown = "; ".join(
            f"{_screen.path_text(path)} ({_screen.count(n, 'row')})"
            for path, n in new[:_MOST_SHOWN]
        )
        more = f" and {len(new) - _MOST_SHOWN:,} more" if len(new) > _MOST_SHOWN else ""
        _screen.note(f"  new classes, which had no rows before: {shown}{more}", args.quiet)


def _counts(y: Any) -> list[tuple[tuple[Any, ...], int]]:
    """The distinct paths, most frequent first."""
    paths = (tuple(label for label in path if label not in (None, "")) for path in y.tolist())
    return Counter(paths).most_common()


def update(args: argparse.Namespace) -> bool:
    """Update a model with the rows of ``--add`` only, and save it.

    Parameters
    ----------
    args : Namespace
        The arguments of ``hiclass fit``.

    Returns
    -------
    bool
        False if the model cannot learn from single batches, which is said; nothing has changed.
    """
    model = load_model(args.update)
    classifier = model.opened.model
    _check_same_labels(args, model)
    if not hasattr(classifier, "partial_fit"):
        _screen.note(
            f"{args.update} cannot learn from single batches (--model batches can): fitting "
            f"--model {args.model or DEFAULT_MODEL} on all rows",
            args.quiet,
        )
        return False
    _check_not_ignored(args, model)
    set_jobs(classifier, args.jobs)
    if args.min_confidence is not None:
        classifier.set_params(min_confidence=args.min_confidence)
    added, y = read_added(args)
    y = like(y, classifier.hierarchy_, model.levels, added)
    X = prepare(added, model.features.columns_)
    known = _known_paths(classifier.hierarchy_)
    with placed(added):
        rows = model.opened.transform(X)
        before = np.asarray(classifier.predict(rows), dtype=object)
        classifier.partial_fit(rows, y)
    describe_added(args, added, y, known)
    after = np.asarray(classifier.predict(rows), dtype=object)
    _screen.note(
        f"  share of these rows predicted correctly: {_share_right(before, y):.0%} before the "
        f"update, {_share_right(after, y):.0%} after it",
        args.quiet,
    )
    set_jobs(classifier, None)
    save_model(Model(model.pipeline, model.target, model.separator), args.output)
    _screen.note(f"Wrote {args.output}: {args.update}, updated with these rows", args.quiet)
    return True


def _check_same_labels(args: argparse.Namespace, model: Model) -> None:
    """Reject labels that differ from those of the model; its own separator is used."""
    if list(args.target) != list(model.target):
        raise CommandError(
            f"--target is {' '.join(args.target)}, but that of {args.update} is "
            f"{' '.join(model.target)}. Use the same columns, or leave --update out."
        )
    if args.path_separator not in (None, model.separator):
        own = "none" if model.separator is None else repr(model.separator)
        raise CommandError(
            f"--path-separator is {args.path_separator!r}, but that of {args.update} is {own}. "
            f"Leave it out, or leave --update out."
        )
    args.path_separator = model.separator


def _check_not_ignored(args: argparse.Namespace, model: Model) -> None:
    """Reject options that only a new fit could follow."""
    for option, value in (
        ("--optimize", args.optimize),
        ("--effort", args.effort),
        ("--seed", args.seed),
        ("--cv", args.cv),
        ("--model", None if args.model == "batches" else args.model),
    ):
        if value is not None:
            raise CommandError(
                f"{option} is for a new fit on FILE, but {args.update} learns the rows of --add "
                f"alone. Leave one of {option} and --update out."
            )
    columns = model.features.columns_
    read = {kind: sorted(names) for kind, names in by_kind(columns).items()}
    named = {kind: sorted(getattr(args, kind) or []) for kind in KINDS}
    if any(named.values()) and named != read:
        own = "; ".join(f"--{kind} {' '.join(names)}" for kind, names in read.items() if names)
        raise CommandError(
            f"The features of {args.update} are: {own}. An update cannot change them. Leave these "
            f"options out, or leave --update out."
        )
    read_all = sorted(set(args.ignore or []) & set(columns))
    if read_all:
        raise CommandError(
            f"--ignore names {read_all[0]!r}, which is a feature of {args.update}. An update "
            f"cannot change that. Leave one of --ignore and --update out."
        )


def _known_paths(hierarchy: Hierarchy) -> Any:
    """All classes of a hierarchy as paths."""
    paths = np.full((hierarchy.n_nodes - 1, hierarchy.depth), None, dtype=object)
    for node in range(1, hierarchy.n_nodes):
        path = hierarchy.path(node)
        paths[node - 1, : len(path)] = path
    return paths


def _share_right(predicted: Any, y: Any) -> float:
    width = min(predicted.shape[1], y.shape[1])
    return float((predicted[:, :width] == y[:, :width]).all(axis=1).mean())
