"""The page on reports: every example runs and prints what it says, every picture exists."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "report.md"


def test_examples_run_and_print_what_they_say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    namespace = {"__name__": "report"}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"report.md, Python block {number}", "exec"), namespace)
        printed = capsys.readouterr().out.splitlines()
        promised = [line[2:] for line in block.splitlines() if re.match(r"#( |$)", line)]
        assert printed[: len(promised)] == promised
    assert (tmp_path / "report.html").stat().st_size > 50_000
    (shown,) = re.findall(r"^```text\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert str(namespace["explanation"]) == shown.rstrip()


def test_pictures_exist_and_are_small():
    shown = re.findall(r"\]\(images/(.*?)\)", PAGE.read_text(encoding="utf-8"))
    assert len(shown) == 2
    for name in shown:
        assert (PAGE.parent / "images" / name).stat().st_size < 250_000
