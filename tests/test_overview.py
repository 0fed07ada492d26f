"""The figures of the first pages are those of the committed results."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def overview():
    """The script that writes the tables; it lies beside its helpers."""
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location("overview", f"{folder}/overview.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


@pytest.mark.parametrize(("page", "name"), [("README.md", "why"), ("docs/index.md", "which")])
def test_the_table_of_the_page_is_what_the_results_say(overview, page, name):
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = text.partition(f"<!-- {name} -->\n")[2].partition(f"\n<!-- /{name} -->")[0]
    assert shown == getattr(overview, name)()
