"""What the example of the page about batches does is what the page says."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_takes_up_the_class_that_appears_half_way(monkeypatch, capsys, tmp_path):
    picture = tmp_path / "curve.svg"
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
