"""What the README and every page of the documentation show is what happens."""

import re
import shlex

import pytest
from page_helpers import ROOT, blocks_of, pages, run_page

from hiclass._cli._main import make_parser

WITH_CODE = [page for page in pages() if blocks_of(page)]
LIGHT = [page for page in WITH_CODE if any(not block.heavy for block in blocks_of(page))]
HEAVY = [page for page in WITH_CODE if any(block.heavy for block in blocks_of(page))]
# Their own tests run them, because they look at more than what is printed.
ELSEWHERE = {ROOT / "docs" / f"{name}.md" for name in ("metrics", "displays", "report")}
# Fences that hold no Python; everything else is a misspelling that no test would run.
OTHER_FENCES = {"", "text", "sh", "console", "json", "yaml", "toml", "make", "html", "diff"}


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.fixture
def _place(tmp_path, monkeypatch):
    """Pages write files and draw: in a directory of their own, without a window."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.mark.usefixtures("_place")
@pytest.mark.parametrize("page", [page for page in LIGHT if page not in ELSEWHERE], ids=name_of)
def test_blocks_run_and_print_what_the_page_says(page, capsys):
    run_page(page, capsys)


@pytest.mark.heavy
@pytest.mark.usefixtures("_place")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", HEAVY, ids=name_of)
def test_blocks_that_need_large_libraries_run_too(page, capsys):
    try:
        run_page(page, capsys, heavy=True)
    finally:
        _stop_clusters()


def _stop_clusters():
    """End what a page may have started; a reader's program would end by itself."""
    import dask.distributed
    import ray

    ray.shutdown()
    client = dask.distributed.client._get_global_client()
    if client is not None:
        client.close()


def test_the_first_page_has_an_example():
    assert ROOT / "README.md" in LIGHT
    assert ROOT / "docs" / "index.md" in LIGHT


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_block_escapes_the_tests_by_its_name(page):
    """A fence is Python, which runs, one of those that are not run, or for Sphinx (in braces)."""
    fences = re.findall(r"^ *```+(.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for name in fences[::2]:
        known = name in {"python", "pycon"} | OTHER_FENCES
        assert known or re.match(r"\{(?!code)[a-z-]+\}", name), name


def commands(page, program):
    """Lines of a page's other blocks that call a program."""
    text = re.sub(
        r"^```(?:python|pycon)\n.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M
    )
    inside = "".join(re.findall(r"^```[a-z]*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE))
    lines = inside.replace("\\\n", " ").splitlines()
    return [
        shlex.split(line.lstrip("$ "), comments=True)[1:]
        for line in lines
        if re.match(rf"(\$ )?{program} (?![A-Z])", line)
    ]


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_command_of_a_page_is_understood(page):
    for arguments in commands(page, "hiclass"):
        assert make_parser().parse_args(arguments).command == arguments[0]
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    for arguments in commands(page, "make"):
        assert arguments[0] in targets
    for arguments in commands(page, "python"):
        if arguments[0].endswith(".py") and "/" in arguments[0]:
            assert (ROOT / arguments[0]).exists(), arguments


@pytest.mark.parametrize("name", ["command_line", "command_line_sets", "triage", "service"])
def test_every_option_of_the_command_line_pages_exists(name):
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    known = "".join(
        parser.format_help()
        for action in make_parser()._subparsers._group_actions
        for parser in action.choices.values()
    )
    for option in set(re.findall(r"--[a-z][a-z-]+", text)):
        assert option in known
