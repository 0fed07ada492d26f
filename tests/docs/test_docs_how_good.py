"""The pages of figures, "How good is it?" first: their tables are what the results give."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmark_scripts import BENCHMARKS, importable

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages():
    """The module that writes the pages."""
    with importable(BENCHMARKS, BENCHMARKS / "race"):
        import make_pages

        yield make_pages


PAGES = [
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "appendix/all_libraries", "appendix/automation",
            "appendix/calibration", "appendix/class_frequencies",
            "appendix/class_texts", "appendix/conformal_coverage", "appendix/decodings",
            "appendix/efforts", "appendix/embeddings", "appendix/kinds_of_rows",
            "appendix/gene_functions", "appendix/global_forest", "appendix/groups",
            "appendix/libraries", "appendix/limits", "appendix/losses", "appendix/network",
            "appendix/published",
            "appendix/recipe_settings", "appendix/recipes", "appendix/scaling",
            "appendix/six_sets", "appendix/speed_linear", "appendix/taxonomies",
            "checking", "decisions", "does_it_help",
            "guarantees", "guide/class_texts", "guide/first_model",
            "hierarchies", "how_good", "incremental", "index", "parallel", "performance",
            "persistence", "study",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_every_table_is_what_the_results_give(pages, page):
    assert sorted(pages.WRITERS) == sorted(PAGES)
    assert pages.outdated(page) == [], "run benchmarks/make_pages.py"


def sections(names):
    """The generated sections of some pages."""
    texts = [(ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in names]
    return re.findall(r"^<!-- (\w+) -->$", "\n".join(texts), flags=re.MULTILINE)


def test_every_section_of_the_pages_is_made_once(pages):
    assert sorted(sections(pages.RACE_PAGES)) == sorted(pages.race_sections())
    made = pages._decisions_page.SECTIONS
    assert sorted(sections(pages.DECISION_PAGES)) == sorted(made)


@pytest.mark.parametrize("name", ["decisions", "how_good"])
def test_the_summaries_are_short(name):
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 800
    tables = [line for line in text.splitlines() if re.match(r"^\|-", line)]
    assert len(tables) == 1
    assert tables[0].count("|") - 1 <= 5
    assert text.count(".. plot::") == 1


def test_the_frontier_has_what_nothing_as_fast_beats(pages):
    points = {"a": (1.0, 0.5), "b": (2.0, 0.4), "c": (3.0, 0.7), "d": (3.0, 0.6), "e": (9.0, 0.7)}
    assert pages._race_page.frontier(points) == ["a", "c"]


def test_a_changed_result_is_noticed(pages, tmp_path, monkeypatch):
    for file in (BENCHMARKS / "results").glob("race-*.json"):
        text = file.read_text()
        if file.name == "race-naics.json":
            result = json.loads(text)
            result["peers"]["PECOS XLinear"]["hF"] = 0.1234
            text = json.dumps(result)
        (tmp_path / file.name).write_text(text)
    monkeypatch.setattr(pages._race_page, "RESULTS", tmp_path)
    for name in ("speed_linear", "all_libraries"):
        wrong = pages.outdated(f"docs/appendix/{name}.md")
        assert sum("0.1234" in line for line in wrong) == 1


def test_every_contestant_of_ours_is_explained(pages):
    import contestants

    page = ROOT / "docs" / "appendix" / "libraries.md"
    head = page.read_text(encoding="utf-8").partition("<!-- machine -->")[0]
    names = [c.name for c in contestants.peers() if c.name.startswith("hiclass")]
    assert len(names) > 4
    for name in names:
        assert f"| {name} |" in head


def test_intervals_belong_to_the_scores_that_are_shown(pages):
    import race

    n_seen = 0
    for result in pages._race_page.load_results():
        entries = result["peers"]
        for entry in entries.values():
            if "recommended_minus" in entry:
                assert race.belongs(entries[race.RECOMMENDED], entry, "recommended_minus")
                n_seen += 1
    assert n_seen > 50


def test_all_sets_were_raced_with_the_same_versions(pages):
    seen: dict[str, dict[str, str]] = {}
    for result in pages._race_page.load_results():
        for name, versions in result["environments"].items():
            shown = {k: v for k, v in versions.items() if k.lower() in pages._race_page.SHOWN}
            assert seen.setdefault(name, shown) == shown


def test_the_recipes_are_those_that_were_chosen(pages):
    from contestants import C_FACTOR, QUICK_READING, RECOMMENDED_RECIPE, TOLERANCE
    from margins import COST, name_of, name_of_recipe

    result = json.loads((BENCHMARKS / "results" / "race-margins.json").read_text())
    assert result["chosen"] == max(result["mean"], key=result["mean"].get)
    reading = [QUICK_READING[name] for name in ("calibration", "decoding", "temperature")]
    assert name_of(C_FACTOR, *reading) == result["chosen"]
    mean = result["tolerance"]["mean"]
    good = [float(tol) for tol, score in mean.items() if mean["0.1"] - score < COST]
    assert max(good) == result["tolerance"]["chosen"] == TOLERANCE
    recommended = result["recommended"]
    assert recommended["chosen"] == max(recommended["mean"], key=recommended["mean"].get)
    assert name_of_recipe(*RECOMMENDED_RECIPE) == recommended["chosen"]


def test_pictures_exist_and_are_small():
    page = ROOT / "docs" / "appendix" / "scaling.md"
    (name,) = re.findall(r"\]\(\.\./images/(.*?)\)", page.read_text(encoding="utf-8"))
    assert 10_000 < (ROOT / "docs" / "images" / name).stat().st_size < 250_000


def test_results_name_their_command_and_no_paths(pages):
    files = [*(BENCHMARKS / "results").glob("race-*.json"), pages.scaling.RESULT]
    assert len(files) == 8
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


def test_intervals_come_from_answers_of_this_race_only(pages, tmp_path):
    import race

    y = np.array([["a", "b"], ["a", "c"], ["d", "e"], ["d", "f"]])
    (tmp_path / "sets").mkdir()
    np.savez(tmp_path / "sets" / "tiny.npz", paths_test=y)
    folder = tmp_path / "answers" / "sets" / "tiny"
    folder.mkdir(parents=True)
    half = np.where(y == "b", "x", y)  # one of eight labels is wrong
    answers = {race.RECOMMENDED: y, "same": half, "another race": half}
    for name, found in answers.items():
        np.save(folder / f"{name}.npy", found)
    scores = {race.RECOMMENDED: 1.0, "same": 0.875, "another race": 0.5, "no answers": 0.25}
    result = {"peers": {name: {"hF": score} for name, score in scores.items()}}
    result["peers"]["another race"]["recommended_minus"] = [0.1, 0, 0.2]
    result["peers"]["no answers"]["recommended_minus"] = [0.75, 0.7, 0.8]
    race.compare(tmp_path / "sets" / "tiny.npz", result, SimpleNamespace(envs=tmp_path))
    found = {n: e.get("recommended_minus") for n, e in result["peers"].items()}
    assert found["same"][0] == 0.125
    assert found["no answers"] == [0.75, 0.7, 0.8]
    assert found["another race"] is found[race.RECOMMENDED] is None


def test_a_call_for_some_contestants_goes_on_with_the_stored_result(pages, tmp_path):
    import race

    stored = {"set": "tiny", "peers": {"other": {"hF": 0.5}}, "pairs": {}}
    (tmp_path / "race-tiny.json").write_text(json.dumps(stored))
    everything = {"output_folder": tmp_path, "quick": False, "more": False, "time_limit": 9}
    everything |= {"only": None, "without": [], "family": "all"}
    some = [{"only": ["a"]}, {"without": ["a"]}, {"family": "pairs"}, {"more": True}]
    for change in some:
        assert race.stored_result("tiny", SimpleNamespace(**everything | change)) == stored
    for change in ({}, {"more": True, "quick": True}, {"more": True, "output_folder": None}):
        assert race.stored_result("tiny", SimpleNamespace(**everything | change)) is None


@pytest.mark.heavy
def test_a_quick_race_runs(tmp_path):
    command = [sys.executable, str(BENCHMARKS / "race" / "race.py"), "--existing"]
    command += [
        "--sets",
        "synthetic",
        "--envs",
        str(tmp_path),
        "--family",
        "peers",
        "--repeat",
        "1",
    ]
    command += ["--output-folder", str(tmp_path), "--quick", "--only"]
    names = ["most frequent path", "hiclass, greedy SVC"]
    subprocess.run([*command, *names], check=True, capture_output=True)
    result = json.loads((tmp_path / "race-synthetic.json").read_text())
    assert list(result["peers"]) == names
    ours = result["peers"][names[1]]
    assert ours["hF"] > 0.3 > result["peers"][names[0]]["hF"]
    assert {"fit_s", "fit_cpu_s", "predict_s", "size_bytes", "peak_bytes"} <= set(ours["runs"][0])
