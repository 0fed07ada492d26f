"""The extensions of the documentation: dark figures, and breaks in code."""

import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

EXTENSIONS = Path(__file__).parents[2] / "docs" / "_ext"


@pytest.fixture(scope="module")
def extensions():
    sys.path.insert(0, str(EXTENSIONS))
    import code_breaks
    import dark_figures

    yield dark_figures, code_breaks
    sys.path.remove(str(EXTENSIONS))


def lightness(colour):
    return sum(int(colour[i : i + 2], 16) for i in (1, 3, 5)) / 3 / 255


def test_light_and_dark_change_places_and_hues_stay(extensions):
    darken = extensions[0].darken
    assert darken("#000000") == "#e8e8e8"
    assert darken("#ffffff") == "#14181e"
    # Blue stays blue, orange orange: the order of the channels is the same.
    for colour in ("#3b76b8", "#e07b39", "#3a9d7a"):
        channels = [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (colour, darken(colour))]
        assert sorted(range(3), key=lambda i: channels[0][i]) == sorted(
            range(3), key=lambda i: channels[1][i]
        )
        assert lightness(darken(colour)) > 0.4
    assert lightness(darken("#dbe8f6")) < 0.4
    # Shades of one colour stay apart, and change places as light and dark do.
    shades = [lightness(darken(colour)) for colour in ("#1f4e84", "#3b76b8", "#7fb0e0")]
    assert min(a - b for a, b in pairwise(shades)) > 0.03


def test_a_figure_is_shown_in_two_versions(extensions):
    dark_figures = extensions[0]
    context = {"body": '<p><img alt="x" class="plot" src="../_images/a.svg" /></p>'}
    dark_figures.show_both(None, "page", "page.html", context, None)
    assert context["body"] == (
        '<p><img alt="x" class="only-light plot" src="../_images/a.svg" />'
        '<img alt="x" class="only-dark plot" src="../_images/a.dark.svg" /></p>'
    )
    # A title may contain the sign that ends a tag; the gallery writes spaces around "=".
    titled = {"body": '<img src="_images/a.svg" alt="a > b" class = "c"/>'}
    dark_figures.show_both(None, "page", "page.html", titled, None)
    assert titled["body"] == (
        '<img src="_images/a.svg" alt="a > b" class="only-light c"/>'
        '<img src="_images/a.dark.svg" alt="a > b" class="only-dark c"/>'
    )
    untouched = {"body": '<img src="_images/screen.png" />'}
    dark_figures.show_both(None, "page", "page.html", untouched, None)
    assert untouched["body"] == '<img src="_images/screen.png" />'


def test_black_that_is_not_written_becomes_light(extensions):
    dark = extensions[0].darken_svg('<svg width="1"><path style="stroke: #ffffff"/></svg>')
    assert dark == '<svg style="fill: #e8e8e8" width="1"><path style="stroke: #14181e"/></svg>'


def test_code_breaks_after_punctuation_only(extensions):
    breaks = extensions[1].with_breaks
    code = "LocalClassifierPerParentNode(calibration=&quot;joint&quot;)"
    assert re.sub("<wbr>", "", breaks(code)) == code
    assert breaks(code).split("<wbr>") == [
        "LocalClassifierPerParentNode(",
        "calibration=",
        "&quot;joint&quot;)",
    ]
    assert breaks("min_confidence") == "min_<wbr>confidence"


def test_long_words_of_a_paragraph_break_after_punctuation(extensions):
    text = "<p>Use method='predict_node_proba' or min_confidence</p>"
    context = {"body": text + "<pre>a_long_name_in_a_block"}
    extensions[1].add_breaks(None, "page", "page.html", context, None)
    assert context["body"] == (
        "<p>Use method=<wbr>'predict_<wbr>node_<wbr>proba' or min_confidence</p>"
        "<pre>a_long_name_in_a_block"
    )
