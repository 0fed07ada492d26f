"""All tables and figures of the documentation, from the stored results.

    python benchmarks/make_pages.py            # write them
    python benchmarks/make_pages.py --check    # fail where a page differs from the results

No figure of these tables is typed by hand: what stands between ``<!-- name -->`` and
``<!-- /name -->`` is made here, or by the script whose results they are.
"""

import argparse
import difflib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "consumer_complaints"), str(HERE / "race")]

import _decisions_page  # noqa: E402
import _limits_page  # noqa: E402
import _race_page  # noqa: E402
import _taxonomy_page  # noqa: E402
import automation  # noqa: E402
import bookkeeping  # noqa: E402
import class_texts  # noqa: E402
import coding  # noqa: E402
import default_forest  # noqa: E402
import does_it_help  # noqa: E402
import embeddings  # noqa: E402
import engine  # noqa: E402
import gene_function  # noqa: E402
import gene_start  # noqa: E402
import global_models  # noqa: E402
import incremental  # noqa: E402
import kinds_of_rows  # noqa: E402
import min_coef  # noqa: E402
import network_defaults  # noqa: E402
import overview  # noqa: E402
import page as study_page  # noqa: E402
import prior_shift  # noqa: E402
import scaling  # noqa: E402
import serving  # noqa: E402
import set_calibration  # noqa: E402
import start  # noqa: E402
import temperatures  # noqa: E402
from _common import write_section  # noqa: E402

ROOT = HERE.parent
DOCS = ROOT / "docs"
RESULTS = HERE / "results"
STUDY = ["--results", str(RESULTS / "study.json")]
DECISION_PAGES = [
    "decisions",
    *(
        f"appendix/{name}"
        for name in (
            "decodings", "groups", "recipes", "six_sets", "conformal_coverage",
        )
    ),
]  # fmt: skip
RACE_PAGES = [
    "how_good",
    *(
        f"appendix/{name}"
        for name in (
            "libraries", "all_libraries", "speed_linear", "recipe_settings", "published",
            "scaling", "losses",
        )
    ),
]  # fmt: skip


def race_sections() -> dict[str, str]:
    """The generated parts of the comparison with other libraries, by name."""
    results = _race_page.load_results()
    curves = json.loads(scaling.RESULT.read_text())
    return {
        "summary": _race_page.summary_text(results),
        "quality": _race_page.quality_table(results),
        "peers": _race_page.peer_table(results),
        "peer_times": _race_page.peer_times(results),
        "margins": _race_page.margins_table(),
        "recipes": _race_page.recommended_table(),
        "pairs": _race_page.pair_table(results),
        "pair_failures": _race_page.failures(results),
        "sets": "\n\n".join(map(_race_page.race_table, results)),
        "machine": _race_page.versions_text(results),
        "losses": _race_page.losses_text(results),
        "runs": _race_page.runs_table(results),
        "scaling": scaling.show(curves),
    }


def write_start_page(page: str) -> None:
    start.write_page(page)
    write_section(page, "which", overview.which())


def write_race(page: str) -> None:
    """Write the sections that a page of the comparison has."""
    text = Path(page).read_text(encoding="utf-8")
    for name, section in race_sections().items():
        if f"<!-- {name} -->" in text:
            write_section(page, name, section)


def write_calibration(page: str) -> None:
    result = json.loads(temperatures.RESULT.read_text())
    write_section(page, "temperatures", temperatures.show(result))


def write_network(page: str) -> None:
    # Backwards: the stream on the GPU first.
    global_models.write_page(page, sorted(RESULTS.glob("global_models*.json"), reverse=True))
    network_defaults.write_page(page)


def write_performance(page: str) -> None:
    bookkeeping.write_page(page)
    min_coef.write_page(page)


def write_hierarchies(page: str) -> None:
    result = json.loads((RESULTS / "gene_start.json").read_text())
    write_section(page, "gene_start", gene_start.page(result))


def write_gene_functions(page: str) -> None:
    gene_function.write_page(page)
    result = json.loads((RESULTS / "set_calibration.json").read_text())
    write_section(page, "calibration of sets", set_calibration.page(result))


def write_serving(page: str) -> None:
    result = json.loads((RESULTS / "serving.json").read_text())
    write_section(page, "latency", serving.page(result))


def write_limits(page: str) -> None:
    result = json.loads((RESULTS / "limits.json").read_text())
    write_section(page, "limits", _limits_page.show(result))
    result = json.loads((RESULTS / "limits_hard.json").read_text())
    write_section(page, "limits_hard", _limits_page.show_hard(result))


# What writes the sections of a page, given its file.
WRITERS: dict[str, Callable[[str], None]] = {
    "README.md": start.write_page,
    "docs/guide/first_model.md": start.write_page,
    "docs/index.md": write_start_page,
    "docs/appendix/efforts.md": start.write_page,
    "docs/appendix/kinds_of_rows.md": kinds_of_rows.write_page,
    "docs/appendix/embeddings.md": embeddings.write_page,
    "docs/appendix/class_texts.md": class_texts.write_page,
    "docs/guide/class_texts.md": class_texts.write_page,
    "docs/appendix/class_frequencies.md": prior_shift.write_page,
    **{f"docs/{page}.md": _decisions_page.write_page for page in DECISION_PAGES},
    "docs/appendix/calibration.md": write_calibration,
    "docs/does_it_help.md": does_it_help.write_page,
    "docs/appendix/gene_functions.md": write_gene_functions,
    "docs/appendix/global_forest.md": default_forest.write_page,
    "docs/appendix/network.md": write_network,
    "docs/checking.md": coding.write_page,
    "docs/guarantees.md": automation.write_summary,
    "docs/appendix/automation.md": automation.write_page,
    "docs/hierarchies.md": write_hierarchies,
    **{f"docs/{page}.md": write_race for page in RACE_PAGES},
    "docs/incremental.md": incremental.write_page,
    "docs/parallel.md": engine.write_page,
    "docs/performance.md": write_performance,
    "docs/appendix/taxonomies.md": _taxonomy_page.write_page,
    "docs/persistence.md": write_serving,
    "docs/appendix/limits.md": write_limits,
    "docs/study.md": lambda page: study_page.main([*STUDY, "--markdown", page]),
}


def draw_figures() -> None:
    """The figures of the scaling curves and the study; Sphinx draws the others."""
    images = DOCS / "images"
    scaling.draw(json.loads(scaling.RESULT.read_text()), str(images / "scaling.svg"))
    study_page.main([*STUDY, "--images", str(images)])


def outdated(page: str) -> list[str]:
    """How a page differs from what the results give, line by line."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "page.md"
        shutil.copy(ROOT / page, copy)
        WRITERS[page](str(copy))
        wanted = copy.read_text(encoding="utf-8").splitlines()
    found = (ROOT / page).read_text(encoding="utf-8").splitlines()
    return list(difflib.unified_diff(found, wanted, page, "results", lineterm="", n=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only compare the pages")
    options = parser.parse_args()
    if options.check:
        wrong = [line for page in WRITERS for line in outdated(page)]
        print("\n".join(wrong) or "All tables are what the results give.")
        sys.exit(1 if wrong else 0)
    for page, write in WRITERS.items():
        write(str(ROOT / page))
    draw_figures()


if __name__ == "__main__":
    main()
