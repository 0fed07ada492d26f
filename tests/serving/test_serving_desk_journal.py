"""The journal: what was confirmed is there, whatever happened to process, file or disk."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from hiclass._serving.desk import journal as module
from hiclass._serving.desk.journal import Journal, JournalError, line_of

HEADER = {"hiclass": "review 1", "queue": "q", "taxonomy": "t"}
ENTRIES = [{"n": i, "text": "Tür \u2028 \ud800 'x'" if i % 2 else ""} for i in range(5)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.csv.journal"


def written(path, entries=ENTRIES):
    journal = Journal(path, HEADER)
    for entry in entries:
        journal.append(entry)
    journal.close()
    return path.read_bytes()


def read(path, header=HEADER):
    journal = Journal(path, header)
    journal.close()
    return journal.entries


def test_what_was_written_is_read(path):
    raw = written(path)
    assert raw.startswith(line_of(HEADER, ""))
    assert raw.count(b"\n") == 6
    assert read(path) == ENTRIES
    written(path, [{"n": 9}])
    assert read(path) == [*ENTRIES, {"n": 9}]


def test_a_file_that_ends_anywhere_has_all_lines_before_its_end(path):
    raw = written(path)
    ends = [i + 1 for i, byte in enumerate(raw) if byte == 10]
    for size in (*range(0, len(raw), 7), *ends, *(end - 1 for end in ends)):
        path.write_bytes(raw[:size])
        journal = Journal(path, HEADER)
        # A line without its line break is whole.
        n_whole = sum(end - 1 <= size for end in ends)
        assert journal.entries == ENTRIES[: max(n_whole - 1, 0)], size
        assert (journal.torn > 0) == (size not in {0, *ends, *(end - 1 for end in ends)})
        journal.append({"more": 1})
        journal.close()
        assert read(path)[-1] == {"more": 1}


def test_zeros_that_a_power_failure_leaves_are_removed(path):
    path.write_bytes(b"\0" * 100)
    assert read(path) == []
    raw = path.read_bytes()
    path.write_bytes(raw + b"\0" * 50)
    assert read(path) == []
    assert path.read_bytes() == raw


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [*lines[:3], lines[3].replace(b'"n":2', b'"n":7'), *lines[4:]], 4),
        (lambda lines: lines[:3] + lines[4:], 4),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], 3),
        (lambda lines: [*lines[:2], b"", *lines[2:]], 3),
        (lambda lines: [line + b"\r" for line in lines[:-1]] + [b""], 1),
        (lambda lines: [*lines[:-2], b"x" + lines[-2], b""], 6),
    ],
    ids=["changed", "removed", "swapped", "empty", "line ends", "last"],
)
def test_a_changed_journal_is_refused_and_left_alone(path, change, line):
    raw = b"\n".join(change(written(path).split(b"\n")))
    path.write_bytes(raw)
    with pytest.raises(JournalError) as error:
        Journal(path, HEADER)
    message = str(error.value)
    assert message.startswith(str(path))
    if line == 1:
        assert "is not a journal of hiclass, or its first line was changed" in message
    else:
        assert f", line {line}: this line was changed" in message
        assert f"The {line - 2} entries before it are valid. Restore the file" in message
    assert path.read_bytes() == raw


@pytest.mark.parametrize("content", [b"my own notes", b"0123456789abcdef {", b"a\nb\n"])
def test_a_file_of_another_kind_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(JournalError, match="is not a journal of hiclass"):
        Journal(path, HEADER)
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["queue", "taxonomy"])
def test_the_journal_of_something_else_is_refused_and_left_alone(path, name):
    raw = written(path)
    with pytest.raises(JournalError, match=f"is the journal of another {name}. Choose another"):
        Journal(path, HEADER | {name: "other"})
    assert path.read_bytes() == raw
    assert read(path) == ENTRIES


def test_only_one_process_has_it(path):
    journal = Journal(path, HEADER)
    with pytest.raises(JournalError, match=r"already being reviewed. Use the address"):
        Journal(path, HEADER)
    journal.close()
    assert read(path) == []


def test_on_a_full_disk_nothing_changes_and_later_it_goes_on(path, monkeypatch):
    journal = Journal(path, HEADER)
    journal.append(ENTRIES[0])
    before = path.read_bytes()
    write = os.write

    def full(file, content):
        if len(content) > 5:
            return write(file, content[:5])  # some of it fits
        raise OSError(errno.ENOSPC, "No space left on device")

    for broken in (full, lambda file: (_ for _ in ()).throw(OSError(errno.EIO, "broken"))):
        name = "write" if broken is full else "fsync"
        with monkeypatch.context() as patch:
            patch.setattr(module.os, name, broken)
            with pytest.raises(OSError, match=r"No space|broken"):
                journal.append(ENTRIES[1] | {"long": "x" * 6})
        assert path.read_bytes() == before
    journal.append(ENTRIES[1])
    journal.close()
    assert read(path) == ENTRIES[:2]


WRITER = """
import sys
from pathlib import Path
from hiclass._serving.desk.journal import Journal
journal = Journal(Path(sys.argv[1]), {"queue": "q"})
number = len(journal.entries)
while True:
    journal.append({"n": number, "text": "x" * (number % 3000)})
    number += 1
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def test_no_confirmed_entry_is_lost_by_kills(path):
    confirmed = 0
    for turn in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        first = writer.stdout.readline()
        assert int(first) > confirmed
        time.sleep(0.003 * turn)
        writer.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        said, _ = writer.communicate()
        confirmed = int([first, *said.split("\n")[:-1]][-1])
        entries = read(path, {"queue": "q"})
        assert len(entries) in (confirmed, confirmed + 1)
        assert [entry["n"] for entry in entries] == list(range(len(entries)))


def test_lines_are_plain_json_after_the_checksum(path):
    lines = written(path).decode().splitlines()
    assert [json.loads(line[17:]) for line in lines] == [HEADER, *ENTRIES]
