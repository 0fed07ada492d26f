"""What is no Python code travels with the package."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = [
    "_inspect/report/report.css",
    "_inspect/report/report.html",
    "_inspect/report/report.js",
    "_inspect/report/sets.html",
    "_inspect/report/sets.js",
    "_serving/desk/page/desk.css",
    "_serving/desk/page/desk.html",
    "_serving/desk/page/desk.js",
    "_serving/desk/page/desk.svg",
    "_serving/desk/page/door.html",
    "datasets/animals.csv",
    "py.typed",
]


@pytest.mark.parametrize("name", DATA)
def test_files_beside_the_code_are_found_through_the_package(name):
    assert files("hiclass").joinpath(name).is_file()


def test_the_wheel_takes_the_whole_package():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert config["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/hiclass"]}
    assert not {"include", "exclude", "only-include"} & set(config["tool"]["hatch"]["build"])


def test_no_file_beside_the_code_is_forgotten_here():
    package = ROOT / "src" / "hiclass"
    found = [path for path in package.rglob("[!.]*") if path.is_file()]
    others = [path for path in found if path.suffix != ".py" and "__pycache__" not in path.parts]
    assert sorted(path.relative_to(package).as_posix() for path in others) == DATA


# -- the name on PyPI belongs to another package -----------------------------------------------

#: A command or a requirement that would fetch that package: an installer followed by the name, or
#: the name with extras. `pip install ".[cli]"` is of the checkout.
FETCHES = re.compile(
    r"(?:\b(?:pip3?|uv|pipx|conda|mamba|poetry)\b[^\n`]*?\b(?:install|add)\b[^\n`]*?"
    r"(?<![\w./\[-])hiclass(?![\w.-]))"
    r"|(?<![\w./-])hiclass\[[a-z$]",
)
#: What a user reads. Extras of `pyproject.toml` name the project itself; the benchmarks compare
#: with the other package, and install it on purpose.
READ_BY_USERS = (
    "README.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "Makefile",
    "src",
    "docs",
    "examples",
)


def files_for_users():
    for name in READ_BY_USERS:
        path = ROOT / name
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (f for f in found if f.suffix in {".md", ".py", ".rst", ".html", ".js", ""})


@pytest.mark.parametrize(
    ("line", "fetches"),
    [
        ('pip install "hiclass[cli]"', True),
        ("pip install 'hiclass[torch]'", True),
        ("python -m pip install --upgrade hiclass", True),
        ("pip install hiclass", True),
        ("uv pip install numpy hiclass", True),
        ("conda install -c conda-forge hiclass", True),
        ("the extra `hiclass[skops]`", True),
        ('pip install ".[cli]"', False),
        ("pip install .", False),
        ("pip install pandas pyarrow skops", False),
        ('`pip install ".[cli]"` installs the command `hiclass`', False),
    ],
)
def test_the_search_for_commands_finds_those_that_fetch_the_other_package(line, fetches):
    assert bool(FETCHES.search(line)) is fetches


def test_nothing_tells_a_user_to_install_the_other_package():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files_for_users()
        if path.is_file()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if FETCHES.search(line)
    ]
    assert found == []
