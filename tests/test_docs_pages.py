"""What the pages on data sets and on the command line show is what happens."""

import re
from pathlib import Path

import pytest

from hiclass._cli._main import make_parser

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["command_line.md", "datasets.md"])
def test_python_blocks_run_and_print_what_they_say(page, capsys):
    """Blocks share one namespace; a comment that starts a line is the beginning of the output."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks
    namespace = {"__name__": page}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"{page}, Python block {number}", "exec"), namespace)
        printed = capsys.readouterr().out.splitlines()
        promised = [line[2:] for line in block.splitlines() if line.startswith("# ")]
        assert printed[: len(promised)] == promised


def test_every_command_of_the_page_is_understood():
    text = (DOCS / "command_line.md").read_text(encoding="utf-8")
    commands = re.findall(r"^hiclass (?!COMMAND)(.*)$", text, flags=re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        assert make_parser().parse_args(command.split()).command == command.split()[0]


def test_every_option_of_the_page_exists():
    text = (DOCS / "command_line.md").read_text(encoding="utf-8")
    known = "".join(
        parser.format_help()
        for action in make_parser()._subparsers._group_actions
        for parser in action.choices.values()
    )
    for option in set(re.findall(r"--[a-z][a-z-]+", text)):
        assert option in known
