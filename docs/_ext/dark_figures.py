"""A dark version of every SVG figure: the same hues, light and dark exchanged.

Figures are drawn once, in colours for a light page. After the build, each gets a copy whose colours
are changed in Oklab, where a change of lightness does not change the hue. Pages show the copy in
dark mode.
"""

import re
from pathlib import Path

import numpy as np

_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
#: Lightness of what was black and of what was white: that of the text and the background of a page.
_BLACK, _WHITE = 0.93, 0.205
#: The background of a dark page, which is slightly blue.
_BACKGROUND = "#14181e"
#: Colours with more chroma than this carry a meaning and must stand out from the background.
_COLOURFUL, _LEAST_LIGHT = 0.07, 0.64
#: Shades of a colour stay apart: the darker one is below this lightness, the lighter it becomes.
_LIGHT_SHADE, _SPREAD = 0.74, 0.4
#: Pale fills must stand out, too.
_LEAST_PALE = 0.31
_COLOUR = re.compile(r"#[0-9a-f]{6}\b", flags=re.IGNORECASE)
#: A quoted value may contain `>`: the titles of figures are their alternative texts.
_REST = r'(?:[^">]|"[^"]*")*'
_IMAGE = re.compile(rf'<img\b{_REST}\bsrc="[^"]*_images/[^"]+\.svg"{_REST}>')


def darken(colour):
    """Return the colour of a dark page for one of a light page, both as ``#rrggbb``.

    Examples
    --------
    >>> darken("#ffffff"), darken("#000000")
    ('#14181e', '#e8e8e8')
    """
    if colour.lower() == "#ffffff":
        return _BACKGROUND
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lightness, *chroma = _TO_LAB @ np.cbrt(_TO_LMS @ linear)
    chroma = np.array(chroma)
    dark = _BLACK + (_WHITE - _BLACK) * lightness
    if np.hypot(*chroma) > _COLOURFUL:
        dark = _LEAST_LIGHT + max(0.0, _SPREAD * (_LIGHT_SHADE - lightness))
    elif lightness < 0.75:
        dark = max(dark, _LEAST_LIGHT)  # grey letters and lines
    elif lightness < 0.99:
        dark, chroma = max(dark, _LEAST_PALE), 1.8 * chroma  # pale fills keep their hue
    lms = np.linalg.solve(_TO_LAB, np.array([dark, *chroma])) ** 3
    linear = np.clip(np.linalg.solve(_TO_LMS, lms), 0, 1)
    rgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * float(v)):02x}" for v in rgb)


def darken_svg(text):
    """Return the text of an SVG file with the colours of a dark page.

    Examples
    --------
    >>> darken_svg('<svg><g style="fill: #000000"/></svg>')
    '<svg style="fill: #e8e8e8"><g style="fill: #e8e8e8"/></svg>'
    """
    text = _COLOUR.sub(lambda found: darken(found[0]), text)
    # Black is the default, so it is not written; bitmaps are turned round as a whole.
    text = re.sub(r"<svg\b", f'<svg style="fill: {darken("#000000")}"', text, count=1)
    return re.sub(r"<image\b", '<image style="filter: invert(0.9) hue-rotate(180deg)"', text)


def show_both(app, pagename, templatename, context, doctree):
    """Show a figure in light mode and its copy in dark mode."""
    if "body" in context:
        context["body"] = _IMAGE.sub(lambda found: _pair(found[0]), context["body"])


def _pair(tag):
    light = _with_class(tag, "only-light")
    dark = _with_class(re.sub(r"\.svg\b", ".dark.svg", tag), "only-dark")
    return light + dark


def _with_class(tag, name):
    if found := re.search(r'\bclass\s*=\s*"', tag):  # the gallery writes spaces
        return f'{tag[: found.start()]}class="{name} {tag[found.end() :]}'
    return tag.replace("<img", f'<img class="{name}"', 1)


def write_dark(app, exception):
    """Write the copies, once everything else is there."""
    if exception is not None or app.builder.format != "html":
        return
    for file in Path(app.outdir, "_images").glob("*.svg"):
        if not file.name.endswith(".dark.svg"):
            dark = darken_svg(file.read_text(encoding="utf-8"))
            file.with_suffix(".dark.svg").write_text(dark, encoding="utf-8")


def setup(app):
    """Connect to Sphinx."""
    app.connect("html-page-context", show_both)
    app.connect("build-finished", write_dark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
