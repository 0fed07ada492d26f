"""The page on metrics: every example runs and shows what it says, every picture exists."""

import doctest
import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from hiclass import metrics

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def run_page():
    """Run the examples in order, in one namespace; pictures go to the working directory."""
    mpl.use("Agg")
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        if not block.startswith(">>>"):
            exec(block, namespace)
            continue
        test = doctest.DocTestParser().get_doctest(block, namespace, PAGE.name, None, 0)
        runner = doctest.DocTestRunner(verbose=False)
        report = []
        runner.run(test, out=report.append, clear_globs=False)
        assert not report, "".join(report)
        namespace.update(test.globs)
    plt.close("all")
    return namespace


def test_examples_run_and_draw_the_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    namespace = run_page()
    (report,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    assert namespace["report"] == report.rstrip()
    drawn = {path.name for path in tmp_path.iterdir()}
    shown = set(re.findall(r"\]\(images/(.*?)\)", text))
    assert drawn == shown
    for name in shown:
        kept = PAGE.parent / "images" / name
        assert kept.stat().st_size < 300_000


def test_every_public_name_is_explained():
    text = PAGE.read_text(encoding="utf-8")
    missing = [name for name in metrics.__all__ if name not in text]
    assert not missing


if __name__ == "__main__":
    # Draw the pictures anew: run this file in docs/images.
    run_page()
