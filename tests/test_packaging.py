"""What is no Python code travels with the package."""

import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = [
    "_report/report.css",
    "_report/report.html",
    "_report/report.js",
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
    others = [path for path in found if path.suffix not in (".py", ".pyc")]
    assert sorted(path.relative_to(package).as_posix() for path in others) == DATA
