"""Read and write tables: CSV, TSV, Parquet and JSON lines, also compressed with gzip.

Cells keep their text: in CSV files, nothing is interpreted as missing or as a number, so that a
label "NA" is not lost. Every row has its place in the file, for messages. Output files appear
completely or not at all.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import gzip
import io
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from hiclass._cli._errors import CommandError, other_separator, unknown_column
from hiclass._cli._screen import count
from hiclass._files import write_whole

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_GZIP = b"\x1f\x8b"
# Deeper values exhaust the stack of the interpreter while reading or writing.
_DEEPEST = 100
# A spreadsheet may run a cell that starts like this as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True)
class Table:
    """Rows of a file: a frame of objects with ``None`` for missing cells.

    Attributes
    ----------
    frame : DataFrame
        The cells; in CSV, all of them are texts. Its index numbers the rows of the file.
    name : str
        The name of the file in messages.
    lines : list of int or None
        The line of every row of the file; None if it has no lines, so that rows are counted.
    """

    frame: Any
    name: str
    lines: list[int] | None

    def place(self, row: int) -> str:
        """The place of a row, for a message."""
        number = int(self.frame.index[row])
        if self.lines is None:
            return f"{self.name}, row {number + 1}"
        return f"{self.name}, line {self.lines[number]}"

    def take(self, rows: Any) -> Table:
        """Return some of the rows, with their places."""
        return replace(self, frame=self.frame.iloc[rows])

    def column(self, name: str) -> Any:
        """Return one column as an array of objects."""
        if name not in self.frame.columns:
            raise unknown_column(name, self.frame.columns, self.name)
        return self.frame[name].to_numpy(dtype=object)


def format_of(path: str, given: str | None, *, output: bool = False, option: bool = True) -> str:
    """The format of a file: as given, or from its name (ignoring ``.gz``); CSV for a stream.

    An output without an extension is CSV, too. ``option=False``: the command has no option for the
    format.
    """
    if given is not None:
        return given
    suffix = Path(path.lower().removesuffix(".gz")).suffix
    if path == "-" or (output and not suffix):
        return "csv"
    if suffix not in FORMATS:
        name = "--output-format" if output else "--format"
        remedy = f"Use {name} csv, tsv, parquet or jsonl."
        if not option:
            remedy = "Use a name that ends with .csv, .tsv, .parquet or .jsonl."
        raise CommandError(f"{path}: the name does not show the format. {remedy}")
    return FORMATS[suffix]


def read_table(
    path: str, *, format: str | None = None, encoding: str = "utf-8", separator: str | None = None
) -> Table:
    """Read a table; files compressed with gzip are recognised by their content.

    Parameters
    ----------
    path : str
        The file, ``"-"`` for standard input.
    format : {"csv", "tsv", "parquet", "jsonl"} or None, default=None
        The format; by default, by the name of the file.
    encoding : str, default="utf-8"
        The encoding of text files.
    separator : str, default=None
        The separator of cells. By default, a comma, or a tab in TSV files.

    Returns
    -------
    Table

    Raises
    ------
    CommandError
        If the file cannot be read or holds no rows.
    """
    if path != "-" and Path(path).is_dir():
        raise CommandError(f"{path} is a folder. Use the name of a file.")
    kind = format_of(path, format)
    name = "standard input" if path == "-" else path
    raw = _unpack(_read_bytes(path, name), name)
    if not raw.strip():
        raise CommandError(f"{name} is empty. It needs a header and at least one row.")
    if kind == "parquet":
        table = Table(_parse_parquet(raw, name), name, None)
    else:
        text = _decode(raw, encoding, name)
        if kind == "jsonl":
            table = _parse_jsonl(text, name)
        else:
            table = _parse_csv(text, name, separator or ("\t" if kind == "tsv" else ","))
    if not len(table.frame):
        raise CommandError(f"{name} has a header but no rows. It needs at least one row.")
    return table


def _read_bytes(path: str, name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}. Check its name.") from error


def _unpack(raw: bytes, name: str) -> bytes:
    if not raw.startswith(_GZIP):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise CommandError(
            f"{name} is compressed with gzip, but damaged or incomplete. Download or compress it "
            "again."
        ) from error


def _decode(raw: bytes, encoding: str, name: str) -> str:
    try:
        # A byte order mark is not part of the name of the first column.
        return raw.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise CommandError(f"The encoding {encoding!r} is unknown. Try --encoding utf-8.") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        remedy = (
            "Use the encoding of the file, for example --encoding cp1252 (Windows) or utf-16."
            if encoding == "utf-8"
            else "Use another --encoding."
        )
        raise CommandError(
            f"{name}, line {line}: the byte 0x{raw[error.start]:02x} is not {encoding}. {remedy}"
        ) from None


def _parse_csv(text: str, name: str, separator: str) -> Table:
    import pandas as pd

    if len(separator) != 1:
        raise CommandError(f"--separator must be one character; got {separator!r}.")
    # A text may be longer than the default limit of the csv module.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    reader = csv.reader(_lines(text), delimiter=separator, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    end = 0
    try:
        header = next((row for row in reader if row), None)
        if header is None:
            raise CommandError(f"{name} is empty. It needs a header and at least one row.")
        if len(set(header)) < len(header):
            twice = min(column for column in header if header.count(column) > 1)
            raise CommandError(
                f"{name} has {header.count(twice)} columns with the name {twice!r}. Rename them."
            )
        end = reader.line_num
        for row in reader:
            start, end = end + 1, reader.line_num
            if not row:
                continue
            if len(row) != len(header):
                remedy = other_separator(header) or (
                    "Put quotes around cells that contain the separator or a line break."
                )
                raise CommandError(
                    f"{name}, line {start}: {count(len(row), 'cell')}, but the header has "
                    f"{len(header)}. {remedy}"
                )
            rows.append(row)
            lines.append(start)
    except csv.Error as error:
        if reader.line_num > end + 1:  # a quote took all lines from there on
            raise CommandError(
                f"{name}, line {end + 1}: a quote is opened in this line and not closed. Close it, "
                f"or write two quotes where one belongs to the text."
            ) from None
        raise CommandError(
            f"{name}, line {reader.line_num}: {error}. Check the quotes in this line."
        ) from None
    cells = np.empty((len(rows), len(header)), dtype=object)
    cells[:] = rows or cells
    cells[cells == ""] = None
    return Table(pd.DataFrame(cells, columns=header, dtype=object), name, lines)


def _lines(text: str) -> Iterator[str]:
    """The lines of a text with their line ends, unchanged."""
    if text.count("\r") != text.count("\r\n"):
        # Some lines end with a carriage return alone; this needs four bytes per character.
        yield from io.StringIO(text, newline="")
        return
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _parse_jsonl(text: str, name: str) -> Table:
    import pandas as pd

    records: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        records.append(_parse_record(line, f"{name}, line {number}"))
        lines.append(number)
    frame = pd.DataFrame(records, index=range(len(records)), dtype=object)
    return Table(frame.mask(frame.map(_is_missing), None), name, lines)


def _parse_record(line: str, place: str) -> dict[str, Any]:
    """One line of JSON, which must be an object."""
    too_deep = CommandError(
        f"{place}: lists or objects are nested more than {_DEEPEST} levels deep. Remove this line, "
        "or write its columns without nesting."
    )
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise CommandError(f"{place}: not JSON ({error}). Every line must be one object.") from None
    except RecursionError:
        raise too_deep from None
    except ValueError:
        # Python does not read integers with more digits.
        raise CommandError(
            f"{place}: a number has more than {sys.get_int_max_str_digits():,} digits. Write it as "
            "text, in quotes."
        ) from None
    if not isinstance(record, dict):
        raise CommandError(f'{place}: an object such as {{"column": "value"}} is needed.')
    if not _is_shallow(record):
        raise too_deep
    return record


def _is_shallow(record: dict[str, Any]) -> bool:
    """Whether no value is nested too deeply; checked level by level, without recursion."""
    level: list[Any] = [record]
    for _ in range(_DEEPEST):
        inside = (value.values() if isinstance(value, dict) else value for value in level)
        level = [cell for cells in inside for cell in cells if isinstance(cell, dict | list)]
        if not level:
            return True
    return False


def _parse_parquet(raw: bytes, name: str) -> Any:
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(raw), dtype_backend="numpy_nullable")
    except (OSError, ValueError) as error:
        raise CommandError(
            f"{name} is not a Parquet file, or it is damaged. Write it again, or name another file."
        ) from error
    # A named index is a column; an index that only numbers the rows is not.
    frame = frame.reset_index(drop=frame.index.names == [None])
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1).astype(object)
    return frame.mask(frame.isna() | frame.map(_is_missing), None)


def _is_missing(value: Any) -> bool:
    # Not value == "": a cell of a list column of Parquet is an array.
    if isinstance(value, str):
        return not value
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))


# -- output ------------------------------------------------------------------------------------


def check_output(path: str, *inputs: str | None) -> None:
    """Reject an output that cannot be written or would replace an input, before any work is done.

    Parameters
    ----------
    path : str
        The output, ``"-"`` for standard output.
    *inputs : str or None
        The files that the command reads and that must stay; None for those that are not given.
    """
    if path == "-":
        return
    target = Path(path)
    place = target.resolve()  # a file may have several names
    if any(other not in (None, "-") and Path(other).resolve() == place for other in inputs):
        raise CommandError(
            f"{path} is an input of this command and would be replaced by its result. Use another "
            "name for the output."
        )
    folder = target.parent
    if target.is_dir():
        raise CommandError(f"{path} is a folder. Use the name of a file.")
    if not folder.is_dir():
        raise CommandError(
            f"{path} cannot be written: there is no folder {folder}. Create it first."
        )
    # The file is written in the same folder and renamed, so the folder must be writable, too.
    writable = not target.exists() or os.access(target, os.W_OK)
    if not target.exists() or target.is_file():
        writable = writable and os.access(target.resolve().parent, os.W_OK)
    if not writable:
        raise CommandError(f"{path} cannot be written: permission denied. Choose another place.")


def cannot_write(path: Any, error: OSError) -> CommandError:
    """The error for an output that cannot be written, with its remedy."""
    remedy = "Free some space" if error.errno == errno.ENOSPC else "Check the place"
    return CommandError(
        f"{path} cannot be written: {error.strerror or error}. {remedy}, or choose another one."
    )


@contextlib.contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """Open an output; the file gets its name only when it is complete.

    Parameters
    ----------
    path : str
        The file, ``"-"`` for standard output.

    Yields
    ------
    file : binary file
        The open file.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with write_whole(Path(path).resolve()) as file:
            yield file
    except OSError as error:
        raise cannot_write(path, error) from error


def write_table(frame: Any, path: str, *, format: str, as_they_are: bool = False) -> None:
    """Write a frame.

    Parameters
    ----------
    frame : DataFrame
        Cells; ``None`` and NaN are missing.
    path : str
        The file, ``"-"`` for standard output; compressed with gzip if its name ends with ``.gz``.
    format : {"csv", "tsv", "parquet", "jsonl"}
        The format.
    as_they_are : bool, default=False
        Whether cells that start a formula stay as they are in CSV and TSV. By default they get an
        apostrophe in front, which makes them texts for a spreadsheet.
    """
    write = {"parquet": _write_parquet, "jsonl": _write_jsonl}.get(format)
    with open_output(path) as raw, _pack(raw, path) as file:
        if write is not None:
            write(frame, file)
        else:
            protect = str if as_they_are else safe_cell
            _write_csv(frame, file, "\t" if format == "tsv" else ",", protect)


@contextlib.contextmanager
def _pack(file: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    """Compress the output if its name ends with ``.gz``."""
    if not path.lower().endswith(".gz"):
        yield file
        return
    # Neither name nor time, so that the same rows give the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        yield cast(IO[bytes], packed)


def safe_cell(value: Any) -> str:
    """A cell as text that no spreadsheet runs as a formula; numbers are unchanged."""
    text = str(value)
    return f"'{text}" if isinstance(value, str) and _needs_apostrophe(text) else text


def original_cell(cell: Any) -> Any:
    """The inverse of :func:`safe_cell`."""
    is_safe = isinstance(cell, str) and cell.startswith("'") and _needs_apostrophe(cell)
    return cell[1:] if is_safe else cell


def _needs_apostrophe(text: str) -> bool:
    """Whether a text is a formula, possibly after apostrophes: protection is reversible."""
    bare = text.lstrip("'")
    return bare.startswith(_FORMULA) and not _is_number(bare)


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text))) and text.strip() == text
    except ValueError:
        return False


def _write_csv(frame: Any, file: IO[bytes], separator: str, protect: Callable[[Any], str]) -> None:
    # Lone surrogates, which JSON can express, become question marks.
    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
    try:
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        writer.writerow([protect(str(name)) for name in frame.columns])
        columns = [frame[name].to_numpy(dtype=object) for name in frame.columns]
        for row in zip(*columns, strict=True):
            writer.writerow(["" if _is_missing(cell) else protect(cell) for cell in row])
    finally:
        text.detach()


def _write_jsonl(frame: Any, file: IO[bytes]) -> None:
    columns = [frame[name].to_numpy(dtype=object) for name in frame.columns]
    names = [str(name) for name in frame.columns]
    for row in zip(*columns, strict=True):
        cells = [None if _is_missing(cell) else plain_cell(cell) for cell in row]
        record = dict(zip(names, cells, strict=True))
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        file.write(line.encode("utf-8", errors="replace") + b"\n")


def plain_cell(value: Any) -> Any:
    """A cell as JSON data: no NaN, no infinity, no NumPy types; dates become texts."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Decimal):
        whole = value.is_finite() and value.as_integer_ratio()[1] == 1
        value = int(value) if whole else float(value)
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [plain_cell(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain_cell(item) for key, item in value.items()}
    return value if value is None or isinstance(value, str | int) else str(value)


def _as_parquet(column: Any) -> Any:
    """A column with the type of its cells: 1.0 stays a floating point number."""
    if column.dtype == np.float64 or {type(cell) for cell in column.dropna()} == {float}:
        return column.astype(np.float64)
    return column.convert_dtypes()


def _write_parquet(frame: Any, file: IO[bytes]) -> None:
    import pandas as pd
    import pyarrow as pa

    try:
        typed = pd.DataFrame({name: _as_parquet(frame[name]) for name in frame.columns})
        typed.to_parquet(file, index=False)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        # pyarrow does not handle too large integers and lone surrogates with its own errors.
        raise CommandError(
            f"These columns cannot be written as Parquet ({' '.join(str(error).split())}). Write "
            "CSV or JSON lines, or choose the columns with --keep."
        ) from error
