"""The sources of the gallery and of the figures: `make docs` runs them, here they are read."""

import ast
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "gallery").glob("*.py"))
FIGURES = sorted((ROOT / "docs" / "figures").glob("*.py"))
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))


def name_of(path):
    return path.stem


@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_an_example_has_a_title_a_story_and_a_picture(path):
    assert path.name.startswith("plot_")  # the others are not run
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, path.name)
    title, line, *story = (ast.get_docstring(tree) or "").splitlines()
    assert title
    assert line == "=" * len(title)
    assert "".join(story).strip()
    assert text.count("\n# %%\n") >= 2
    assert "plt.show()" in text


@pytest.mark.parametrize("path", EXAMPLES + FIGURES, ids=name_of)
def test_names_that_are_imported_from_hiclass_exist(path):
    import hiclass

    tree = ast.parse(path.read_text(encoding="utf-8"), path.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {
            "hiclass",
            "hiclass.datasets",
            "hiclass.metrics",
        }:
            module = hiclass
            for part in node.module.split(".")[1:]:
                module = getattr(module, part)
            assert {alias.name for alias in node.names} <= set(module.__all__)


def test_every_example_has_its_place_in_the_gallery():
    names = runpy.run_path(str(ROOT / "docs" / "_ext" / "gallery_order.py"))
    assert sorted(f"plot_{name}" for name in names["ORDER"]) == [path.stem for path in EXAMPLES]


def test_every_figure_is_shown_and_every_shown_figure_exists():
    pages = (ROOT / "docs").rglob("*.md")
    shown = set()
    for page in pages:
        shown |= set(re.findall(r"plot:: figures/(\w+)\.py", page.read_text(encoding="utf-8")))
    drawn = {path.stem for path in FIGURES if not path.name.startswith("_")}
    assert shown == drawn


@pytest.mark.parametrize("page", [page for page in GUIDE if page.name != "index.md"], ids=name_of)
def test_a_page_of_the_guide_has_a_figure_with_words_for_it(page):
    text = page.read_text(encoding="utf-8")
    assert re.search(r"plot:: figures/\w+\.py\n +:alt: .{20}", text)
    index = (ROOT / "docs" / "guide" / "index.md").read_text(encoding="utf-8")
    assert f"\n{page.stem}\n" in index


@pytest.mark.parametrize("page", GUIDE, ids=name_of)
def test_links_of_the_guide_lead_to_examples_that_exist(page):
    names = re.findall(r"auto_examples/(\w+)\.rst", page.read_text(encoding="utf-8"))
    for name in names:
        assert name == "index" or (ROOT / "examples" / "gallery" / f"{name}.py").exists()
