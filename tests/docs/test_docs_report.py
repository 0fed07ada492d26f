"""The page on reports: every example runs and prints what it says, every picture exists."""

import re

from page_helpers import ROOT, run_page

from hiclass import explain

PAGE = ROOT / "docs" / "report.md"


def test_examples_run_and_print_what_they_say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = run_page(PAGE, capsys)
    assert (tmp_path / "report.html").stat().st_size > 50_000
    text = PAGE.read_text(encoding="utf-8")
    of_path, of_sets = re.findall(r"^```text\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert str(namespace["explanation"]) == of_path.rstrip()
    reasons = explain(
        namespace["several"], [5, 5, 5], feature_names=["tame", "meows", "barks"], top=1, k=1
    )
    for part in of_sets.split("...\n"):  # some classes are left out of the page
        assert part.rstrip() in str(reasons)


def test_pictures_exist_and_are_small():
    shown = re.findall(r"\]\(images/(.*?)\)", PAGE.read_text(encoding="utf-8"))
    assert len(shown) == 2
    for name in shown:
        assert (PAGE.parent / "images" / name).stat().st_size < 250_000
