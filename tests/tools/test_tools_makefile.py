"""The environments of the Makefile: a working one is kept, everything else is made anew."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def program(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(("status", "says"), [(0, "Using"), (1, "Creating")])
def test_an_environment_that_works_is_kept(tmp_path, status, says):
    venv, made = tmp_path / "venv", tmp_path / "made"
    program(venv / "bin" / "python", [f"exit {status}"])
    python = program(tmp_path / "python3", [f'[ "$1" != -m ] || echo "$@" > {made}'])
    command = ["make", f"PYTHON={python}", f"VENV={venv}", f"{venv}/.created"]
    # As from a shell: within another make, this one would also name its directory.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert result.stdout == f"{says} {venv}\n"
    assert made.exists() == (says == "Creating")
    assert (venv / ".created").exists()
