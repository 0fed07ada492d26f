"""Displays: what is drawn is what the metrics say, in every layout, on given and on new axes."""

import matplotlib as mpl

mpl.use("Agg")


import matplotlib.pyplot as plt
import numpy as np
import pytest
from samples import COUNTS
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import Hierarchy, LocalClassifierPerParentNode, metrics
from hiclass.metrics import (
    ConfusionByLevelDisplay,
    HierarchyDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
)

TRUE = [["A", "x"]] * 4 + [["A", "y"]] * 2 + [["B", "x"]] * 3 + [["B", ""]]
PRED = (
    [["A", "x"]] * 3 + [["A", "y"]] + [["A", "x"], ["A", ""]] + [["B", "x"]] * 2 + [["A", "y"]] * 2
)
CONFIDENCE = np.where(np.array(PRED) == "", np.nan, np.linspace(0.3, 1, 10)[:, None])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = np.array(TRUE * 6, dtype=object)
    X = rng.normal(size=(60, 2)) + np.array([[ord(b or "-") % 7, 3 * (a == "B")] for a, b in y])
    return LocalClassifierPerParentNode().fit(X, y), X, y


def large():
    rng = np.random.default_rng(0)
    leaf = rng.integers(0, 2000, 6000)
    guess = np.where(rng.random(6000) < 0.7, leaf, rng.integers(0, 2000, 6000))
    return [[(f"S{v // 200}", f"G{v // 20}", f"C{v}") for v in y.tolist()] for y in (leaf, guess)]


def texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("score", ["f1", "precision", "recall"])
def test_tree_shows_names_scores_and_support(score):
    display = HierarchyDisplay.from_predictions(TRUE, PRED, score=score)
    expected = getattr(metrics, score)(TRUE, PRED, average=None, zero_division=np.nan)
    np.testing.assert_array_equal(display.scores, expected)
    np.testing.assert_array_equal(display.support, [10, 6, 4, 2, 4, 3])
    h = display.hierarchy
    assert texts(display.ax_) == [f"{h.labels[v]}  {expected[v]:.2f}" for v in range(1, 6)]
    (dots,) = (c for c in display.ax_.collections if type(c).__name__ == "PathCollection")
    assert np.argmax(dots.get_sizes()) == 0
    display.figure_.canvas.draw()


def test_classes_without_a_score_are_grey():
    h = Hierarchy.from_paths([["A", "x"], ["A", "y"], ["B", "x"], ["C"]])
    display = HierarchyDisplay.from_predictions(TRUE, PRED, hierarchy=h)
    assert texts(display.ax_)[-1] == "C"
    (dots,) = (c for c in display.ax_.collections if type(c).__name__ == "PathCollection")
    np.testing.assert_allclose(dots.get_facecolors()[-1], [0.85, 0.85, 0.85, 1])


def test_2000_classes_become_an_icicle_with_names_that_fit():
    display = HierarchyDisplay.from_predictions(*large())
    names = texts(display.ax_)
    assert [name for name in names if name[0] == "S"] == [f"S{i}" for i in range(10)]
    assert 10 < len(names) < 120
    (boxes,) = (c for c in display.ax_.collections if type(c).__name__ == "PolyCollection")
    assert len(boxes.get_paths()) == np.count_nonzero(display.support[1:])
    # A rectangle is as high as its support and lies beside that of its parent.
    tree = display.hierarchy
    nodes = np.flatnonzero(display.support)[1:].tolist()
    boxes = {v: p.vertices for v, p in zip(nodes, boxes.get_paths(), strict=True)}
    for v, box in boxes.items():
        assert np.ptp(box[:, 1]) == display.support[v]
        assert box[:, 0].max() == tree.levels[v]
        if tree.parent[v]:
            parent = boxes[tree.parent[v]]
            assert parent[:, 1].min() <= box[:, 1].min() <= box[:, 1].max() <= parent[:, 1].max()


def test_long_names_are_truncated_to_the_room_of_an_icicle():
    y = [["a name that is much too long for its rectangle", "z"]]
    display = HierarchyDisplay.from_predictions(y, y, layout="icicle")
    assert texts(display.ax_)[0].startswith("a name")
    assert texts(display.ax_)[0].endswith("…")
    _, ax = plt.subplots(figsize=(0.3, 3))
    assert texts(HierarchyDisplay.from_predictions(y, y, layout="icicle", ax=ax).ax_) == []


@pytest.mark.parametrize("layout", ["tree", "icicle"])
def test_hierarchy_on_given_axes(layout):
    figure, (_, ax) = plt.subplots(1, 2)
    display = HierarchyDisplay.from_predictions(TRUE, PRED, ax=ax, layout=layout, cmap="viridis")
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_confusion_counts_nodes_by_level():
    display = ConfusionByLevelDisplay.from_predictions(TRUE, PRED, normalize=None)
    first, second = display.matrices
    np.testing.assert_array_equal(first, [[6, 0], [2, 2]])
    assert display.labels == [["A", "B"], ["A > x", "y", "B > x", "(end)"]]
    np.testing.assert_array_equal(second, [[3, 1, 0, 0], [1, 0, 0, 1], [0, 1, 2, 0], [0, 1, 0, 0]])
    np.testing.assert_array_equal(display.groups[1], [1, 1, 4, -1])
    assert [ax.get_title() for ax in display.axes_] == ["Level 1", "Level 2"]
    assert texts(display.axes_[0]) == ["6", "2", "2"]


@pytest.mark.parametrize(
    ("normalize", "expected"),
    [
        ("true", [[1, 0], [0.5, 0.5]]),
        ("pred", [[0.75, 0], [0.25, 1]]),
        ("all", [[0.6, 0], [0.2, 0.2]]),
    ],
)
def test_confusion_is_normalised(normalize, expected):
    display = ConfusionByLevelDisplay.from_predictions(TRUE, PRED, normalize=normalize, levels=[1])
    np.testing.assert_allclose(display.matrices[0], expected)
    assert len(display.axes_) == 1


def test_many_classes_are_put_together():
    display = ConfusionByLevelDisplay.from_predictions(*large(), max_classes=20, normalize=None)
    assert [len(names) for names in display.labels] == [10, 21, 21]
    assert display.labels[1][-1] == "(80 others)"
    for matrix in display.matrices:
        assert matrix.sum() == 6000


def test_classes_with_the_most_mistakes_are_kept():
    y_true = ["a"] * 9 + ["b"] * 2 + ["c"]
    y_pred = ["a"] * 9 + ["c"] * 2 + ["c"]
    display = ConfusionByLevelDisplay.from_predictions(y_true, y_pred, max_classes=2)
    assert display.labels == [["b", "c", "(1 others)"]]


def test_confusion_on_given_axes():
    figure, axes = plt.subplots(1, 2)
    display = ConfusionByLevelDisplay.from_predictions(TRUE, PRED, ax=axes)
    assert list(display.axes_) == list(axes)
    figure, ax = plt.subplots()
    display = ConfusionByLevelDisplay.from_predictions(TRUE, PRED, ax=ax, values_format=".1f")
    assert len(display.axes_) == 2
    assert display.figure_ is figure
    figure, axes = plt.subplots(1, 3)
    with pytest.raises(ValueError, match="ax holds 3 Axes for 2 levels"):
        display.plot(axes)


def test_long_class_names_are_truncated_in_a_confusion_matrix():
    name = "a name that is much too long for a tick"
    display = ConfusionByLevelDisplay.from_predictions([name], [name])
    (label,) = display.axes_[0].get_xticklabels()
    assert label.get_text() == "a name that is much too…"


def test_reliability_shows_the_calibration_error():
    display = ReliabilityDisplay.from_predictions(TRUE, PRED, CONFIDENCE, n_bins=4, lw=3)
    errors = metrics.calibration_error(TRUE, PRED, CONFIDENCE, n_bins=4)
    assert [line.get_label() for line in display.lines_] == [
        f"level {i} (error {error:.3f})" for i, error in enumerate(errors, start=1)
    ]
    assert display.lines_[0].get_linewidth() == 3
    for line, p, accuracy in zip(display.lines_, display.confidence, display.accuracy, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([p, accuracy]))
    one = ReliabilityDisplay.from_predictions(
        TRUE, PRED, CONFIDENCE, levels=[2], strategy="quantile", ax=display.ax_
    )
    assert one.levels == [2]
    assert one.ax_ is display.ax_


def test_reliability_leaves_out_levels_without_predictions():
    display = ReliabilityDisplay.from_predictions([["A", "x"]], [["A"]], [[0.5, np.nan]])
    assert display.levels == [1]


def test_risk_coverage_curve():
    display = RiskCoverageDisplay.from_predictions(TRUE, PRED, CONFIDENCE)
    expected = metrics.risk_coverage(TRUE, PRED, CONFIDENCE)
    np.testing.assert_array_equal(display.line_.get_xdata()[1:], expected.coverage)
    np.testing.assert_array_equal(display.line_.get_ydata()[1:], expected.risk)
    assert display.line_.get_label() == f"area {expected.area:.3f}"
    named = RiskCoverageDisplay.from_predictions(
        TRUE, PRED, CONFIDENCE, name="mine", loss="f1", ax=display.ax_, color="k"
    )
    assert named.line_.get_label().startswith("mine (area ")
    assert named.line_.get_color() == "k"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        lambda model: make_pipeline(model),
        lambda model: make_pipeline(StandardScaler(), model),
        lambda model: GridSearchCV(make_pipeline(StandardScaler(), model), {}, cv=KFold(3)),
    ],
    ids=["model", "pipeline of one", "pipeline", "search"],
)
def test_from_estimator(fitted, wrap):
    _, X, y = fitted
    model = wrap(LocalClassifierPerParentNode()).fit(X, y)
    y_pred = model.predict(X)
    shown = HierarchyDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(shown.scores, metrics.f1(y, y_pred, average=None))
    shown = ConfusionByLevelDisplay.from_estimator(model, X, y, normalize=None)
    assert shown.matrices[0].sum() == len(y)
    reliability = ReliabilityDisplay.from_estimator(model, X, y)
    assert len(reliability.lines_) == 2
    curve = RiskCoverageDisplay.from_estimator(model, X, y)
    assert curve.line_.get_label().startswith(type(model).__name__)
    assert curve.curve.risk[-1] == pytest.approx(1 - metrics.exact_match(y, y_pred))


def test_from_estimator_uses_the_given_hierarchy(fitted):
    _, X, y = fitted
    labels = [b or a for a, b in y]
    edges = {"A": ["y"], "B": [], "C": ["x"]}
    model = LocalClassifierPerParentNode(hierarchy=edges).fit(X, labels)
    display = HierarchyDisplay.from_estimator(model, X, labels)
    assert display.hierarchy.n_nodes == 6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HierarchyDisplay.from_predictions(TRUE, PRED, score="ap"), "score='ap'"),
        (lambda: HierarchyDisplay.from_predictions(TRUE, PRED, layout="pie"), "layout='pie'"),
        (
            lambda: HierarchyDisplay.from_predictions(
                ["z"], ["z"], hierarchy=[("p", "z"), ("q", "z")]
            ),
            "HierarchyDisplay is defined on trees",
        ),
        (
            lambda: ConfusionByLevelDisplay.from_predictions(TRUE, PRED, normalize="rows"),
            "normalize='rows'",
        ),
        (
            lambda: ConfusionByLevelDisplay.from_predictions(TRUE, PRED, max_classes=0),
            "max_classes=0",
        ),
        (
            lambda: ConfusionByLevelDisplay.from_predictions(TRUE, PRED, levels=[3]),
            r"levels=\[3\]: levels are the numbers 1 to 2",
        ),
        (
            lambda: ReliabilityDisplay.from_predictions(TRUE, PRED, CONFIDENCE, levels=[]),
            r"levels=\[\]",
        ),
    ],
)
def test_bad_options_are_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "display", [metrics.HierarchyDisplay, metrics.ConfusionByLevelDisplay], ids=lambda d: d.__name__
)
def test_displays_refuse_models_of_sets(display):
    y = [["sport"], ["sport", "politics"], ["news"], ["politics", "sport"]] * 10
    model = LocalClassifierPerParentNode(multi_label=True, threshold=0.2).fit(COUNTS, y)
    with pytest.raises(ValueError, match="compares one path per row"):
        display.from_estimator(model, COUNTS, y)
