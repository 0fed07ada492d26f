"""The hooks of pre-commit are the commands of ``make lint``, in the same order."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def lint_commands():
    """The commands of the target, as it writes them."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE)
    return [line.strip().removeprefix("@") for line in recipe[1].splitlines()]


def test_hooks_and_make_lint_are_equal():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    hooks = re.findall(r"^ +entry: (.*)$", text, flags=re.MULTILINE)
    # The environment of make is .venv unless somebody asks for another one.
    assert "VENV := .venv\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert hooks == [command.replace("$(BIN)", ".venv/bin") for command in lint_commands()]
    assert len(hooks) >= 6
    # All of them look at the whole checkout, whatever files a commit has.
    assert text.count("pass_filenames: false") == text.count("- id: ") == len(hooks)
