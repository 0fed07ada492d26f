"""The checks of the pages find what they are there to find."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load(name):
    """Import a script of the folder tools."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path):
    """Two pages that link to each other, and a style."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "a.css").write_text("p { background: url(b.png) }")
    head = '<link rel="stylesheet" href="_static/a.css">'
    (tmp_path / "index.html").write_text(f'{head}<h1 id="top">A</h1><a href="sub/#part">B</a>')
    (tmp_path / "sub" / "index.html").write_text(
        '<p id="part"></p><a href="../index.html#top">A</a>'
    )
    return tmp_path


def add(site, html):
    page = site / "index.html"
    page.write_text(page.read_text() + html)


def test_links_that_lead_somewhere_are_fine(site):
    add(site, '<a href="https://example.org/">elsewhere</a> <img src="data:image/png;base64,AA">')
    assert load("check_links").check(site) == []


@pytest.mark.parametrize(
    ("html", "trouble"),
    [
        ('<a href="gone.html">', "no such file"),
        ('<a href="sub/#gone">', "no such anchor"),
        ('<a href="#gone">', "no such anchor"),
        ('<img src="gone.png">', "no such file"),
        ('<script src="https://example.org/a.js">', "loaded from another site"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "loaded from another site"),
    ],
)
def test_a_broken_link_is_named_with_its_page(site, html, trouble):
    add(site, html)
    (problem,) = load("check_links").check(site)
    assert problem.startswith("index.html:1: ")
    assert problem.endswith(trouble)


@pytest.mark.parametrize("address", ["https://example.org/f", "//example.org/f"])
def test_a_style_that_loads_a_font_from_elsewhere_is_named(site, address):
    (site / "_static" / "a.css").write_text(f"@font-face {{ src: url('{address}') }}")
    (problem,) = load("check_links").check(site)
    assert f": {address}: loaded from another site" in problem


def test_pages_that_were_not_built_are_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["check_links.py", str(tmp_path)])
    assert load("check_links").main() == 2
    assert "make docs" in capsys.readouterr().out
