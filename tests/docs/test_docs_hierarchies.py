"""The page on hierarchies and the examples: every block and every script runs."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_genes_of_the_example_are_recognised(capsys):
    names = runpy.run_path(str(ROOT / "examples" / "gene_function.py"))
    make, forest = names["make_genes"], names["ExtraTreesClassifier"]
    names["main"].__globals__["make_genes"] = lambda h: make(h, 300)
    names["main"].__globals__["ExtraTreesClassifier"] = lambda *_, **__: forest(
        20, min_samples_leaf=2, random_state=0
    )
    names["main"]()
    printed = capsys.readouterr().out
    assert "Parents of 'ion pump': ['ATPase', 'ion transport']" in printed
    row = next(line for line in printed.splitlines() if line.startswith("FlatClassifier"))
    area, usual, tuned = map(float, row.split()[1:])
    assert area > 0.5
    assert tuned > usual


def test_documents_of_the_example_get_their_subjects(capsys):
    names = runpy.run_path(str(ROOT / "examples" / "documents_multi_label.py"))
    make = names["make_documents"]
    names["main"].__globals__["make_documents"] = lambda: make(300)
    names["main"]()
    printed = capsys.readouterr().out.splitlines()
    scores = [float(line.split()[-1]) for line in printed if ": hF" in line]
    assert len(scores) == 2
    assert min(scores) > 0.6
    best = [line for line in printed if "Society > Economy" in line and "." in line]
    assert best


def test_a_new_class_leaves_other_classifiers_as_they_are(capsys):
    runpy.run_path(str(ROOT / "examples" / "add_a_class.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "7 classifiers, 7 of them new" in printed
    assert "7 classifiers, 0 of them new" in printed
    assert "7 classifiers, 3 of them new" in printed
    assert int(printed.rpartition(" ")[2].strip("%\n")) > 80
