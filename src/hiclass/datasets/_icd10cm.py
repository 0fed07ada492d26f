"""ICD-10-CM: the titles and inclusion terms of diagnosis codes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from hiclass.datasets._bunch import is_integer, make_bunch, paths_to_array

LEVELS = ("chapter", "block", "category", "subcategory", "level_5", "level_6", "level_7")
DESCRIPTION = """\
ICD-10-CM, the International Classification of Diseases, Clinical Modification (United States), as
the package simple-icd-10-cm holds it. A row is a text: the title of a code, or one of its inclusion
terms (other names and examples of what the code covers). The target is the path of the code, as
chapter / block / category. Codes that only add a seventh character are left out: they repeat the
title of another code. Rows with the same text and the same path have the same group.
"""


def load_icd10cm(levels: int = 3, *, as_frame: bool = False, return_X_y: bool = False) -> Any:
    """Load ICD-10-CM: texts of diagnoses with chapter, block and category.

    It requires the package ``simple-icd-10-cm`` (the extra ``demo``), which contains the
    classification. Nothing is downloaded.

    Parameters
    ----------
    levels : int, default=3
        The depth of the paths, from 1 (chapter) to 7. Level 3 is the category. Shorter paths are
        filled with ``""``.
    as_frame : bool, default=False
        Whether to return pandas objects. ``data`` is then a Series of texts.
    return_X_y : bool, default=False
        Whether to return only ``data`` and ``target``.

    Returns
    -------
    Bunch
        ``data`` (texts), ``target`` (paths of labels such as ``"A00 Cholera"``), ``kind``
        (``"title"`` or ``"inclusion term"``), ``code``, ``group`` (rows with the same text and path
        have the same number), ``feature_names``, ``target_names`` (the names of the levels),
        ``frame`` (all columns, with ``as_frame=True``) and ``DESCR``. With ``return_X_y=True``, the
        tuple ``(data, target)``.

    Raises
    ------
    ImportError
        If ``simple-icd-10-cm`` is not installed.

    Notes
    -----
    Codes of one category may share a text: of 59,450 rows, 752 repeat a text and a path of three
    levels. To keep duplicates out of the test rows, pass ``group`` to a splitter
    (``HierarchicalKFold().split(X, y, groups=icd.group)``), or remove test rows whose group occurs
    in the training rows, as below.

    Examples
    --------
    Train on the titles, test on the inclusion terms:

    >>> import numpy as np
    >>> from hiclass.datasets import load_icd10cm
    >>> icd = load_icd10cm()
    >>> train = icd.kind == "title"
    >>> test = ~train & ~np.isin(icd.group, icd.group[train])
    >>> X_train, y_train = icd.data[train], icd.target[train]
    >>> print(X_train[1], *y_train[1], sep="; ")
    Cholera due to Vibrio cholerae 01, biovar cholerae;
    1 Certain infectious and parasitic diseases; A00-A09 Intestinal infectious diseases; A00 Cholera
    """
    if not is_integer(levels) or not 1 <= levels <= len(LEVELS):
        raise ValueError(f"levels must be an integer from 1 to {len(LEVELS)}; got {levels!r}.")
    try:
        with warnings.catch_warnings():
            # On Python 3.11 and 3.12, the package reads its data with a deprecated function.
            warnings.simplefilter("ignore", DeprecationWarning)
            import simple_icd_10_cm as icd
    except ImportError as error:
        raise ImportError(
            "load_icd10cm requires the package simple-icd-10-cm. Install it with: pip install "
            "simple-icd-10-cm."
        ) from error

    texts: list[str] = []
    paths: list[list[str]] = []
    kinds: list[str] = []
    codes: list[str] = []
    # A block with one category has the name of the category and is listed twice.
    for code in dict.fromkeys(icd.get_all_codes()):
        if not icd.is_category_or_subcategory(code) or icd.is_extended_subcategory(code):
            continue
        path = _path(icd, code)[: int(levels)]
        title, terms = icd.get_description(code), icd.get_inclusion_term(code)
        for text, kind in [(title, "title"), *((term, "inclusion term") for term in terms)]:
            texts.append(text)
            paths.append(path)
            kinds.append(kind)
            codes.append(code)
    return make_bunch(
        np.array(texts, dtype=object),
        paths_to_array(paths),
        feature_names=["text"],
        target_names=LEVELS[: int(levels)],
        description=DESCRIPTION,
        as_frame=as_frame,
        return_X_y=return_X_y,
        per_row={
            "kind": np.array(kinds, dtype=object),
            "code": np.array(codes, dtype=object),
            "group": _groups(texts, paths),
        },
    )


def _groups(texts: list[str], paths: list[list[str]]) -> npt.NDArray[np.intp]:
    """A number per row, the same for rows with the same text and path."""
    numbers: dict[tuple[str, ...], int] = {}
    pairs = zip(texts, paths, strict=True)
    return np.array([numbers.setdefault((text, *path), len(numbers)) for text, path in pairs])


def _path(icd: Any, code: str) -> list[str]:
    """The labels from the chapter to a code, each with its code and title."""
    items = [*reversed(icd.get_ancestors(code)), code]
    # A block with one category has its code, so the level distinguishes them.
    return [
        _label(item, icd.get_description(item, prioritize_blocks=level < 2))
        for level, item in enumerate(items)
    ]


def _label(code: str, title: str) -> str:
    """Code and title; titles of chapters and blocks end with their range of codes."""
    if title.endswith(")"):
        head, _, span = title.removesuffix(")").rpartition(" (")
        if span == code or ("-" in span and span.replace("-", "").isalnum()):
            title = head
    return f"{code} {title}"
