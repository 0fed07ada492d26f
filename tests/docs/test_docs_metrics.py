"""The pages on metrics: every example runs and shows what it says, every picture exists."""

import doctest
import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from hiclass import metrics

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / f"{name}.md" for name in ("metrics", "probability_metrics", "displays")]


def run_page(page):
    """Run the examples in order, in one namespace; pictures go to the working directory."""
    mpl.use("Agg")
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        if not block.startswith(">>>"):
            exec(block, namespace)
            continue
        test = doctest.DocTestParser().get_doctest(block, namespace, page.name, None, 0)
        runner = doctest.DocTestRunner(verbose=False)
        report = []
        runner.run(test, out=report.append, clear_globs=False)
        assert not report, "".join(report)
        namespace.update(test.globs)
    plt.close("all")
    return namespace


def test_examples_print_the_report():
    page = DOCS / "metrics.md"
    (report,) = re.findall(r"```text\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert run_page(page)["report"] == report.rstrip()


def test_examples_of_probabilities_run():
    assert run_page(DOCS / "probability_metrics.md")["curve"].share.tolist() == [0.6, 0.8, 1.0]


def test_examples_draw_the_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = DOCS / "displays.md"
    run_page(page)
    drawn = {path.name for path in tmp_path.iterdir()}
    shown = set(re.findall(r"\]\(images/(.*?)\)", page.read_text(encoding="utf-8")))
    assert drawn == shown
    for name in shown:
        assert (DOCS / "images" / name).stat().st_size < 300_000


def test_every_public_name_is_explained():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [name for name in metrics.__all__ if name not in text]
    assert not missing


if __name__ == "__main__":
    # Draw the pictures anew: run this file in docs/images.
    run_page(DOCS / "displays.md")
