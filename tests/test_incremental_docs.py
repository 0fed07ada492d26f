"""What the page about batches shows is what happens, and so is what its example does."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "incremental.md"


def blocks():
    """Every Python block of the page, and whether it is marked as heavy."""
    text = PAGE.read_text(encoding="utf-8")
    pattern = r"^(<!-- heavy -->\n)?```python\n(.*?)^```"
    found = re.findall(pattern, text, flags=re.DOTALL | re.MULTILINE)
    return [(bool(mark), block) for mark, block in found]


def run(block, number, namespace, capsys):
    exec(compile(block, f"{PAGE.name}, Python block {number}", "exec"), namespace)
    printed = capsys.readouterr().out.splitlines()
    promised = [line[2:] for line in block.splitlines() if line.startswith("# ")]
    assert printed[: len(promised)] == promised


def test_every_light_block_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    light = [block for heavy, block in blocks() if not heavy]
    assert len(light) > 6
    for number, block in enumerate(light, start=1):
        run(block, number, namespace, capsys)


@pytest.mark.heavy
@pytest.mark.filterwarnings("default")
def test_the_block_about_ray_runs_after_those_that_it_needs(tmp_path, monkeypatch, capsys):
    ray = pytest.importorskip("ray")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    try:
        for number, (heavy, block) in enumerate(blocks(), start=1):
            if heavy:
                run(block, number, namespace, capsys)
                return
            run(block, number, namespace, capsys)
    finally:
        ray.shutdown()
    raise AssertionError("the page has no block marked as heavy")


def test_the_example_takes_up_the_class_that_appears_half_way(monkeypatch, capsys, tmp_path):
    picture = tmp_path / "curve.png"
    monkeypatch.setattr("sys.argv", ["prequential.py", str(picture)])
    runpy.run_path(str(ROOT / "examples" / "prequential.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "60 batches of 30 digits; nine appears after 900 rows" in printed
    before, first, last = (
        [float(number) for number in re.findall(r"\d\.\d{3}", line)]
        for line in printed.splitlines()[1:]
    )
    assert before[0] > 0.8
    assert first[1] < 0.7 < 0.85 < last[1]  # of the nines
    assert last[0] > 0.8
    assert picture.stat().st_size > 10_000
