"""The 20 newsgroups, with a hierarchy from their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hiclass.datasets._bunch import make_bunch, paths_to_array


def fetch_20newsgroups(
    *,
    data_home: Any = None,
    subset: str = "train",
    remove: Sequence[str] = (),
    random_state: Any = 42,
    download_if_missing: bool = True,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Any:
    """Fetch the 20 newsgroups data set, with a hierarchy from the names of the groups.

    ``rec.sport.hockey`` becomes the path *rec / sport / hockey*. The posts come from
    :func:`sklearn.datasets.fetch_20newsgroups`, which downloads them (14 MB) on the first call.

    Parameters
    ----------
    data_home : str or path, default=None
        The data folder of scikit-learn. By default, ``~/scikit_learn_data``.
    subset : {"train", "test", "all"}, default="train"
        The posts to return. Test posts are later than training posts.
    remove : tuple of {"headers", "footers", "quotes"}, default=()
        Parts to remove from the posts, so that a model cannot learn from metadata.
    random_state : int, RandomState instance or None, default=42
        Controls the order of the rows.
    download_if_missing : bool, default=True
        Whether to download the posts if they are missing. Otherwise, an ``OSError`` is raised.
    as_frame : bool, default=False
        Whether to return pandas objects. ``data`` is then a Series of texts.
    return_X_y : bool, default=False
        Whether to return only ``data`` and ``target``.

    Returns
    -------
    Bunch
        ``data`` (texts), ``target`` (paths of up to five levels, filled with ``""``), ``group``
        (the full name of the newsgroup), ``feature_names``, ``target_names`` (the names of the
        levels), ``frame`` (all columns, with ``as_frame=True``) and ``DESCR``. With
        ``return_X_y=True``, the tuple ``(data, target)``.

    Raises
    ------
    OSError
        If the posts are missing and ``download_if_missing`` is False.

    Examples
    --------
    >>> from hiclass.datasets import fetch_20newsgroups
    >>> posts = fetch_20newsgroups(remove=("headers", "footers", "quotes"))  # doctest: +SKIP
    >>> posts.group[0], posts.target[0].tolist()  # doctest: +SKIP
    ('rec.autos', ['rec', 'autos', '', '', ''])
    """
    # Not imported with the module, because it is large and contains network code.
    from sklearn import datasets

    posts = datasets.fetch_20newsgroups(
        data_home=data_home,
        subset=subset,
        remove=tuple(remove),
        random_state=random_state,
        download_if_missing=download_if_missing,
    )
    target = paths_to_array([name.split(".") for name in posts.target_names])[posts.target]
    return make_bunch(
        np.array(posts.data, dtype=object),
        target,
        feature_names=["text"],
        target_names=[f"level_{level}" for level in range(1, target.shape[1] + 1)],
        description=posts.DESCR,
        as_frame=as_frame,
        return_X_y=return_X_y,
        per_row={"group": np.array(posts.target_names, dtype=object)[posts.target]},
    )
