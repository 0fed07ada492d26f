"""All tables and figures of the documentation, from the stored results.

    python benchmarks/make_pages.py            # write them
    python benchmarks/make_pages.py --check    # fail where a page differs from the results

No figure of these pages is typed by hand: what stands between ``<!-- name -->`` and
``<!-- /name -->`` is made here, or by the script whose results they are.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import _race_page
import scaling
from _common import write_section

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
PAGE = DOCS / "how_good.md"
# Pages whose scripts write their tables themselves.
OTHERS = {
    "decisions.md": [["decisions.py", "--markdown"]],
    "parallel.md": [["engine.py", "--markdown"]],
    "performance.md": [["bookkeeping.py", "--markdown"]],
    "incremental.md": [["incremental.py", "--markdown"]],
}


def sections() -> dict[str, str]:
    """The generated parts of the page "How good is it?", by name."""
    results = _race_page.load_results()
    curves = json.loads(scaling.RESULT.read_text())
    return {
        "summary": _race_page.summary_text(results),
        "quality": _race_page.quality_table(results),
        "peers": _race_page.peer_table(results),
        "margins": _race_page.margins_table(),
        "pairs": _race_page.pair_table(results),
        "pair_failures": _race_page.failures(results),
        "sets": "\n\n".join(map(_race_page.race_table, results)),
        "machine": _race_page.versions_text(results),
        "scaling": scaling.show(curves),
    }


def read_section(text: str, name: str) -> str | None:
    """What stands between the marks of a section, None without them."""
    _, found, rest = text.partition(f"<!-- {name} -->\n")
    inside, found_end, _ = rest.partition(f"\n<!-- /{name} -->")
    return inside if found and found_end else None


def outdated() -> list[str]:
    """The sections of the page that are not what the results give."""
    text = PAGE.read_text(encoding="utf-8")
    return [name for name, wanted in sections().items() if read_section(text, name) != wanted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only compare how_good.md")
    options = parser.parse_args()
    if options.check:
        if outdated():
            sys.exit(f"{PAGE.name} is not what the results give: {', '.join(outdated())}")
        return
    for name, text in sections().items():
        write_section(str(PAGE), name, text)
    _race_page.draw(_race_page.load_results(), str(DOCS / "images" / "race.png"))
    scaling.draw(json.loads(scaling.RESULT.read_text()), str(DOCS / "images" / "scaling.png"))
    for page, commands in OTHERS.items():
        for script, option in commands:
            command = [sys.executable, str(HERE / script), option, str(DOCS / page)]
            subprocess.run(command, check=True)
    # README.md and docs/index.md.
    subprocess.run([sys.executable, str(HERE / "overview.py")], check=True)


if __name__ == "__main__":
    main()
