"""Configuration of the documentation: `make docs` builds it, without network."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "src"), str(HERE / "_ext")]

import hiclass  # noqa: E402  (found through the line above)

project = "hiclass"
author = "the hiclass developers"
copyright = author
version = release = hiclass.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "code_breaks",
    "dark_figures",
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_templates", "figures", "images"]
templates_path = ["_templates"]
default_role = "code"
smartquotes = False
toc_object_entries_show_parents = "hide"
nitpicky = True
# scikit-learn's inventory would have to be fetched; tables of attributes name what `fit` sets.
nitpick_ignore_regex = [(r"py:.*", r"sklearn\..*"), (r"py:obj", r"[a-z0-9_]+_")]

# The pages are Markdown that also reads well as plain files: headings are link targets there.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

# One page per public object. Types are in the docstrings, where they can be read.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

# Figures are drawn when the pages are built, by code that the reader can see.
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False
plot_formats = [("svg", 72)]
plot_rcparams = {"figure.autolayout": True, "savefig.bbox": "tight"}

# Vector graphics, so that every figure gets a dark version; see `_ext/dark_figures.py`.
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples" / "gallery"),
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("hiclass",),
    "image_scrapers": ("gallery_figures.scraper",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 60,
    "plot_gallery": True,
    "show_memory": False,
    "show_signature": False,
    # The page of times would load scripts from elsewhere, and times say little here.
    "write_computation_times": False,
    "within_subsection_order": "gallery_order.GalleryOrder",
}
if not (ROOT / "examples" / "gallery").is_dir():
    extensions.remove("sphinx_gallery.gen_gallery")

WIDE = [
    f"appendix/{name}"
    for name in (
        "all_libraries", "calibration", "class_frequencies", "class_texts", "efforts", "embeddings",
        "kinds_of_rows", "published", "scaling", "six_sets",
    )
]  # fmt: skip
html_theme = "pydata_sphinx_theme"
html_title = f"hiclass {version}"
html_static_path = ["_static"]
html_favicon = "_static/logo.svg"
html_css_files = ["hiclass.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {
        "text": "hiclass",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    # Tables of measurements have many columns: they get the width of the page.
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in WIDE}},
    "footer_start": ["last-updated"],
    "footer_end": [],
}
# Pages without others below them have nothing to navigate.
html_sidebars = {page: [] for page in ["index", "walkthrough", "coming_from_hiclass5", *WIDE]}
suppress_warnings = ["config.cache"]


def skip_fields(app, what, name, obj, skip, options):
    """Leave out the fields of named tuples: they are the parameters, which have been described."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app):
    """Register what this file adds to Sphinx."""
    app.connect("autodoc-skip-member", skip_fields)
