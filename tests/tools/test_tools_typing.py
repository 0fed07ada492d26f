"""The wheel has type information, and mypy in strict mode accepts a program of a user."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "user_program.py"

# scikit-learn has no types of its own. Errors inside of packages are not reported to users.
CONFIG = """
[mypy]
strict = True
follow_imports = silent
[mypy-sklearn.*]
ignore_missing_imports = True
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The content of the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run_mypy(program, unpacked, folder):
    (folder / "mypy.ini").write_text(CONFIG)
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", str(program)]
    environment = {**os.environ, "MYPYPATH": str(unpacked), "MYPY_CACHE_DIR": str(folder / "cache")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.heavy
def test_mypy_accepts_a_program_in_strict_mode(unpacked, tmp_path):
    assert (unpacked / "hiclass" / "py.typed").is_file()
    done = run_mypy(PROGRAM, unpacked, tmp_path)
    assert done.returncode == 0, done.stdout
    # It does look: a wrong type is an error.
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from hiclass import Hierarchy\n\nn: str = Hierarchy.from_paths([['a']]).depth\n"
    )
    done = run_mypy(wrong, unpacked, tmp_path)
    assert "[assignment]" in done.stdout


def test_the_program_runs():
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
