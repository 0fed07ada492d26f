"""Hierarchies with class texts: reading them, and the classes at which paths may end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hiclass._labels.columns import read_paths
from hiclass._problems.index import RowCounts, find_options
from hiclass._state import LabelFormat, Options
from hiclass._targets.growth import grow
from hiclass._targets.paths import as_hierarchy, can_hold, encode
from hiclass._typing import IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.hierarchy._texts import list_texts


@dataclass(frozen=True)
class TextTarget:
    """Classes with texts, and the labels of rows.

    Attributes
    ----------
    hierarchy : Hierarchy
        The tree, with texts.
    options : Options
        How a path can go on from every node: to classes that have texts or rows.
    format : LabelFormat
        How labels are written.
    nodes : ndarray of int
        The most specific node of every row.
    """

    hierarchy: Hierarchy
    options: Options
    format: LabelFormat
    nodes: IntArray

    @property
    def texts(self) -> list[str]:
        """All texts, in the order of their nodes."""
        return [text for several in self.hierarchy.texts for text in several]

    @property
    def text_nodes(self) -> IntArray:
        """The node of every text."""
        counts = [len(several) for several in self.hierarchy.texts]
        return np.repeat(np.arange(self.hierarchy.n_nodes), counts)


def encode_texted(hierarchy: Any, class_texts: Any, y: Any) -> TextTarget:
    """Put the classes, their texts and the labels of rows together.

    Parameters
    ----------
    hierarchy : Hierarchy, or what makes one, or None
        The classes. By default, those of the texts and of the rows.
    class_texts : mapping, Series, frame, Hierarchy, "labels" or None
        Texts; by default those of the hierarchy.
    y : array-like or None
        The labels of the rows.

    Returns
    -------
    TextTarget

    Raises
    ------
    ValueError
        If there are no texts, or a class of several parents.
    """
    tree = texted_hierarchy(hierarchy, class_texts, y)
    if y is None:
        nodes = np.empty(0, dtype=np.intp)
        form = _format_of(tree)
    else:
        target = encode(y, tree)
        nodes, form = target.nodes, target.format
    options = options_with_texts(tree, nodes)
    return TextTarget(tree, options, deep_enough(form, tree, options), nodes)


def deep_enough(form: LabelFormat, tree: Hierarchy, options: Options) -> LabelFormat:
    """A form of labels with a level for every final class: some may be deeper than all rows."""
    if form.ndim != 2:
        return form
    return replace(form, n_levels=max(form.n_levels, int(tree.levels[options.ends].max())))


def texted_hierarchy(hierarchy: Any, class_texts: Any, y: Any) -> Hierarchy:
    """The classes of a hierarchy, of texts and of rows, with texts."""
    if isinstance(class_texts, Hierarchy) and hierarchy is None:
        hierarchy, class_texts = class_texts, None
    if hierarchy is not None:
        tree = as_hierarchy(hierarchy)
        if isinstance(class_texts, Hierarchy):
            raise ValueError(
                "hierarchy and class_texts are both hierarchies. Give one of them, with texts."
            )
        tree = tree if class_texts is None else tree.with_texts(class_texts)
    elif class_texts is None:
        raise ValueError(
            "There are no class texts: give class_texts={path or label: text}, or a hierarchy that "
            "has texts (Hierarchy.with_texts)."
        )
    else:
        tree = _of_texts_and_rows(class_texts, y)
    if not tree.has_texts:
        raise ValueError(
            "No class of the hierarchy has a text. Give class_texts={path or label: text}, or "
            "class_texts='labels' if the labels are words."
        )
    if not tree.is_tree:
        raise ValueError(
            f"Class texts are for trees, but {tree._shared_label()!r} has several parents. Leave "
            f"out all but one of the parents, or use an estimator without class texts, such as "
            f"FlatClassifier(hierarchy=...)."
        )
    return tree


def _of_texts_and_rows(class_texts: Any, y: Any) -> Hierarchy:
    """The tree of all paths that have texts, and of all rows."""
    named = isinstance(class_texts, str)
    names = [] if named else [name for name, _ in list_texts(class_texts)]
    if not named and not names:
        raise ValueError(
            "class_texts is empty. Give the text of at least one class, or leave class_texts out."
        )
    paths = [name for name in names if isinstance(name, tuple)]
    if y is None:
        if named:
            raise ValueError(
                "class_texts='labels' needs labels, but there is no hierarchy and y is None. Give "
                "one of them."
            )
        tree = Hierarchy.from_paths(paths if paths else names)
        return tree.with_texts(class_texts)
    tree, columns = Hierarchy.from_paths(y), read_paths(y)
    if not paths and columns.ndim == 1:
        paths = [(name,) for name in names]
    if paths:
        tree, _, _ = grow(tree, read_paths([list(path) for path in paths]))
    return tree.with_texts(class_texts)


def options_with_texts(hierarchy: Hierarchy, nodes: IntArray) -> Options:
    """How a path can go on from every node: to classes with rows or with texts.

    A class without rows is final if it has a text and no class below it has a text or a row.
    """
    own = np.bincount(nodes, minlength=hierarchy.n_nodes)
    has_text = np.array([bool(several) for several in hierarchy.texts])
    known = has_text | (own > 0)
    below = RowCounts(hierarchy, known.astype(np.intp)).n_below - known
    final = (own > 0) | (has_text & (below == 0))
    return find_options(RowCounts(hierarchy, final.astype(np.intp)), leaf_only=False)


def _format_of(hierarchy: Hierarchy) -> LabelFormat:
    """How labels are written where there are no rows to tell: as paths, unless labels say it."""
    if hierarchy.identity == "label" or hierarchy.depth == 1:
        columns = read_paths(hierarchy.labels[1:].tolist())
    else:
        columns = read_paths([list(hierarchy.path(int(v))) for v in hierarchy.leaves()])
    dtype = columns.dtype
    if not can_hold(dtype, hierarchy.labels[1:]):
        dtype = np.dtype(object)
    n_levels = len(columns.codes) if columns.ndim == 2 else hierarchy.depth
    return LabelFormat(columns.ndim, n_levels, dtype, columns.missing)


# -- files -------------------------------------------------------------------------------------

#: What class texts begin with in files, which have no tuples as names and no frames.
_IN_FILES = "class texts"


def texts_for_files(class_texts: Any, hierarchy: Hierarchy | None) -> Any:
    """Class texts as files hold them: names of classes, with texts unless the hierarchy has them.

    Parameters
    ----------
    class_texts : object
        The parameter. Anything but a mapping, a Series or a frame stays as it is.
    hierarchy : Hierarchy or None
        The classes of a fitted model.

    Returns
    -------
    object
    """
    if class_texts is None or isinstance(class_texts, str | Hierarchy):
        return class_texts
    try:
        pairs = list_texts(class_texts)
    except (TypeError, ValueError):  # not fitted yet: fit refuses it
        return class_texts
    names = [list(name) if isinstance(name, tuple) else name for name, _ in pairs]
    texts = None if _has(hierarchy, pairs) else [list(several) for _, several in pairs]
    return (_IN_FILES, names, texts)


def _has(hierarchy: Hierarchy | None, pairs: list[tuple[Any, tuple[str, ...]]]) -> bool:
    """Whether a hierarchy has these texts of classes, and no others of the same classes."""
    if hierarchy is None or not hierarchy.has_texts:
        return False
    found: dict[int, dict[str, None]] = {}
    try:
        for name, several in pairs:
            found.setdefault(hierarchy.find(name), {}).update(dict.fromkeys(several))
    except (TypeError, ValueError):  # the parameter was set after fitting
        return False
    return all(tuple(texts) == tuple(hierarchy.texts[node]) for node, texts in found.items())


def texts_from_files(stored: Any, hierarchy: Hierarchy | None) -> Any:
    """What :func:`texts_for_files` was given, as a mapping."""
    if not isinstance(stored, tuple) or stored[:1] != (_IN_FILES,):
        return stored
    _, names, texts = stored
    found: dict[Any, list[str]] = {}
    for i, given in enumerate(names):
        name = tuple(given) if isinstance(given, list) else given
        if texts is not None:
            found[name] = found.get(name, []) + texts[i]
        elif hierarchy is not None:
            found[name] = list(hierarchy.texts[hierarchy.find(name)])
    return found
