"""Files that appear whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from hiclass._files import write_whole


def test_a_file_appears_when_all_of_it_is_written(tmp_path):
    target = tmp_path / "model.skops"
    with write_whole(target) as file:
        file.write(b"new")
        assert not target.exists()
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["model.skops"]


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path):
    target = tmp_path / "model.skops"
    target.write_bytes(b"old")

    def interrupted():
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), write_whole(target) as file:
        file.writelines(interrupted())
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["model.skops"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_mode_of_a_file_stays_and_a_new_one_has_the_usual_mode(tmp_path):
    private, usual, new = (tmp_path / name for name in ("private", "usual", "new"))
    private.touch(mode=0o600)
    usual.touch()
    for target in (private, new):
        with write_whole(target) as file:
            file.write(b"text")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert new.stat().st_mode == usual.stat().st_mode


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    target = tmp_path / ("x" * 250)
    with write_whole(target) as file:
        file.write(b"text")
    assert target.read_bytes() == b"text"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such device")
def test_a_device_is_written_to_and_stays():
    device = Path(os.devnull)
    with write_whole(device) as file:
        file.write(b"text")
    assert stat.S_ISCHR(device.stat().st_mode)
