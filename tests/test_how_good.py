"""The page "How good is it?": its tables are what the committed results give."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how_good.md"
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def pages():
    """The module that writes the page; benchmarks are scripts, not a package."""
    sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "race")]
    try:
        import make_pages

        yield make_pages
    finally:
        del sys.path[:2]


def test_every_table_is_what_the_results_give(pages):
    text = PAGE.read_text(encoding="utf-8")
    wanted = pages.sections()
    assert set(re.findall(r"^<!-- (\w+) -->$", text, flags=re.MULTILINE)) == set(wanted)
    for name, section in wanted.items():
        assert pages.read_section(text, name) == section, f"run benchmarks/make_pages.py ({name})"


def test_a_changed_result_is_noticed(pages, tmp_path, monkeypatch):
    for file in (BENCHMARKS / "results").glob("race-*.json"):
        text = file.read_text()
        if file.name == "race-naics.json":
            result = json.loads(text)
            result["peers"]["PECOS XLinear"]["hF"] = 0.1234
            text = json.dumps(result)
        (tmp_path / file.name).write_text(text)
    monkeypatch.setattr(pages._race_page, "RESULTS", tmp_path)
    assert {"peers", "sets"} <= set(pages.outdated())


def test_pictures_exist_and_are_small():
    shown = re.findall(r"\]\(images/(.*?)\)", PAGE.read_text(encoding="utf-8"))
    assert len(shown) == 2
    for name in shown:
        assert 10_000 < (PAGE.parent / "images" / name).stat().st_size < 250_000


def test_links_lead_to_pages():
    for name in re.findall(r"\]\(([a-z_]+\.md)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / name).exists()


def test_results_name_their_command_and_no_paths(pages):
    files = [*(BENCHMARKS / "results").glob("race-*.json"), pages.scaling.RESULT]
    assert len(files) == 7
    for file in files:
        text = file.read_text()
        assert json.loads(text)["command"].startswith("python benchmarks/")
        assert not re.search(r"/(home|root|tmp|work|Users)/", text)


def test_endings_at_inner_nodes_get_leaves_of_their_own(pages):
    import sets

    endings = np.array([["a", ""], ["a", "b"], ["a", "c"], ["d", ""]])
    parent, leaf_node = sets.build_tree(endings)
    # a, a > b, a > c, d, and "stop at a"
    assert parent.tolist() == [-1, 0, 1, 1, 0, 1]
    assert leaf_node.tolist() == [5, 2, 3, 4]


def test_the_cluster_chain_draws_short_paths_out(pages):
    import contestants
    import sets

    endings = np.array([["a", "b"], ["a", "c"], ["d", ""]])
    parent, leaf_node = sets.build_tree(endings)
    race = sets.Race(None, None, None, None, endings, parent, leaf_node)
    chain = [matrix.toarray().tolist() for matrix in contestants.cluster_chain(race)]
    assert chain == [[[1], [1]], [[1, 0], [1, 0], [0, 1]]]
