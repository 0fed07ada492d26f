"""What the demo shows is what happens."""

import re
import runpy
from pathlib import Path

import pytest
import sklearn.datasets

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_demo_runs_on_a_part_of_its_data(monkeypatch, capsys):
    images, digits = sklearn.datasets.load_digits(return_X_y=True)
    monkeypatch.setattr(
        sklearn.datasets, "load_digits", lambda **_: (images[:200, 16:48], digits[:200])
    )
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "f1: 1.0\n" in printed
    assert "Trained on 140 images, tested on 60" in printed
    names = ("PerNode", "PerParentNode", "PerLevel")
    scores = [
        float(re.search(rf"^{name}( +[\d.]+){{5}}$", printed, flags=re.MULTILINE)[0].split()[4])
        for name in (*(f"LocalClassifier{kind}" for kind in names), "FlatClassifier")
    ]
    assert min(scores) > 0.6
