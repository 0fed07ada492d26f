"""Consumer complaints, as published by the Consumer Financial Protection Bureau."""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hiclass.datasets._bunch import check_flags, is_integer, make_bunch

URL = "https://files.consumerfinance.gov/ccdb/complaints.csv.zip"
TEXT = "Consumer complaint narrative"
#: The errors of reading a damaged file, or a file of another kind.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, IndexError, UnicodeDecodeError, csv.Error)
TARGETS = {"product": ("Product", "Sub-product"), "issue": ("Issue", "Sub-issue")}
DESCRIPTION = """\
The Consumer Complaint Database of the Consumer Financial Protection Bureau (United States, public
domain): complaints about financial products in the words of consumers. Only complaints with a
narrative are rows. The target is product / sub-product, or issue / sub-issue; the second label may
be missing. The bureau updates the file daily, so figures depend on the day of the download.
"""


def fetch_consumer_complaints(
    *,
    data_home: Any = None,
    url: str = URL,
    target: str = "product",
    max_rows: int | None = None,
    sha256: str | None = None,
    download_if_missing: bool = True,
    n_retries: int = 3,
    delay: float = 1.0,
    timeout: float = 30.0,
    progress: bool | None = None,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Any:
    """Fetch consumer complaints (US): narratives with product and sub-product.

    The first call downloads the public file, which is larger than one gigabyte, and stores it. An
    interrupted download resumes where it stopped.

    Parameters
    ----------
    data_home : str or path, default=None
        The data folder of scikit-learn. By default, ``~/scikit_learn_data``. The file is stored in
        its subfolder ``hiclass``, with one file per ``url``.
    url : str, default=URL
        The address of the zipped CSV file.
    target : {"product", "issue"}, default="product"
        The columns of the path: product and sub-product, or issue and sub-issue.
    max_rows : int, default=None
        Number of complaints to read from the start of the file. By default, all complaints.
    sha256 : str, default=None
        The expected checksum of the zipped file.
    download_if_missing : bool, default=True
        Whether to download the file if it is missing. Otherwise, an ``OSError`` is raised.
    n_retries : int, default=3
        Number of retries if a download fails.
    delay : float, default=1.0
        Seconds before the first retry. The delay doubles for every further retry.
    timeout : float, default=30.0
        Seconds without data after which an attempt fails.
    progress : bool, default=None
        Whether to show progress on standard error. By default, only in a terminal.
    as_frame : bool, default=False
        Whether to return pandas objects. ``data`` is then a Series of texts.
    return_X_y : bool, default=False
        Whether to return only ``data`` and ``target``.

    Returns
    -------
    Bunch
        ``data`` (texts), ``target`` (paths of two levels, ``""`` if the second is missing),
        ``date`` and ``complaint_id`` of every row, ``feature_names``, ``target_names`` (the names
        of the levels), ``frame`` (all columns, with ``as_frame=True``) and ``DESCR``. With
        ``return_X_y=True``, the tuple ``(data, target)``.

    Raises
    ------
    OSError
        If the download fails, or if the file is missing and ``download_if_missing`` is False.
    ValueError
        If the file does not contain complaints.

    Examples
    --------
    >>> from hiclass.datasets import fetch_consumer_complaints
    >>> complaints = fetch_consumer_complaints(max_rows=1000)  # doctest: +SKIP
    >>> complaints.target.shape  # doctest: +SKIP
    (1000, 2)
    """
    check_flags(download_if_missing=download_if_missing, as_frame=as_frame, return_X_y=return_X_y)
    if target not in TARGETS:
        raise ValueError(f"target must be 'product' or 'issue'; got {target!r}.")
    if max_rows is not None and (not is_integer(max_rows) or max_rows < 1):
        raise ValueError(f"max_rows must be an integer of at least 1, or None; got {max_rows!r}.")
    from sklearn.datasets import get_data_home

    path = Path(get_data_home(data_home)) / "hiclass" / _file_name(url)
    if path.exists() and sha256 is not None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256.lower():
            raise OSError(
                f"{path} has the SHA-256 checksum {found}, not {sha256}: it is a different "
                "version. Delete it to download it again."
            )
    if not path.exists():
        if not download_if_missing:
            raise OSError(
                f"{path} does not exist. Use download_if_missing=True, or put the file there."
            )
        # Network code is imported only when needed.
        from hiclass.datasets._download import download

        download(
            url,
            path,
            sha256=sha256,
            n_retries=n_retries,
            delay=delay,
            timeout=timeout,
            progress=progress,
        )
    rows = list(islice(_rows(path, TARGETS[target]), max_rows))
    texts, dates, numbers = (
        np.array([row[name] for row in rows], dtype=object)
        for name in (TEXT, "Date received", "Complaint ID")
    )
    paths = [[row[name].strip() for name in TARGETS[target]] for row in rows]
    return make_bunch(
        texts,
        np.array(paths, dtype=object).reshape(-1, 2),
        feature_names=["text"],
        target_names=[name.lower().replace("-", "_") for name in TARGETS[target]],
        description=DESCRIPTION,
        as_frame=as_frame,
        return_X_y=return_X_y,
        per_row={"date": dates, "complaint_id": numbers},
    )


def _file_name(url: str) -> str:
    """The name of the stored file, which differs for every address."""
    mark = "" if url == URL else f"_{hashlib.sha256(url.encode()).hexdigest()[:12]}"
    return f"consumer_complaints{mark}.csv.zip"


def _rows(path: Path, target: tuple[str, str]) -> Iterator[dict[str, str]]:
    """Yield the complaints with a narrative and a label, from the zipped file."""
    # A narrative may be longer than the default limit of the csv module.
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 24))
    try:
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as raw:
            reader = csv.DictReader(io.TextIOWrapper(raw, encoding="utf-8", newline=""))
            wanted = {TEXT, *target, "Date received", "Complaint ID"}
            if missing := sorted(wanted - set(reader.fieldnames or ())):
                raise ValueError(
                    f"{path} has no column {missing[0]!r}: it does not contain the complaints of "
                    "the bureau. Delete it to download it again."
                )
            for row in reader:
                if None in row.values():
                    raise EOFError("a row is incomplete")
                if row[TEXT].strip() and row[target[0]].strip():
                    # The other columns would only need memory.
                    yield {name: row[name] for name in wanted}
    except _DAMAGED as error:
        raise ValueError(
            f"{path} is not a zipped CSV file, or it is damaged ({error}). Delete it to download "
            "it again."
        ) from error
