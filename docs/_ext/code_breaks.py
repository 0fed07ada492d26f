"""Code in a line may break after punctuation, but not inside a word."""

import re

_CODE = re.compile(r'(?<=<span class="pre">)[^<]{12,}(?=</span>)')
#: The beginning of a paragraph, and in it what no phone has room for: code that is not marked up.
_PARAGRAPH = re.compile(r"(?<=<p>)[^<]+")
_LONG = re.compile(r"[^\s<]{24,}")


def with_breaks(code):
    """Return code as HTML with places where a line may end.

    Examples
    --------
    >>> with_breaks("LocalClassifierPerNode(policy=&quot;siblings&quot;)")
    'LocalClassifierPerNode(<wbr>policy=<wbr>&quot;siblings&quot;)'
    """
    return re.sub(r"(?<=[\w\])(])([(\[=/_.,])(?=[^\s)\].])", r"\1<wbr>", code)


def break_long_words(text):
    """Return a text with places where a line may end in very long words.

    Examples
    --------
    >>> break_long_words("Use short_one or method='predict_node_proba', which is long")
    "Use short_one or method=<wbr>'predict_<wbr>node_<wbr>proba', which is long"
    """
    return _LONG.sub(lambda found: with_breaks(found[0]), text)


def add_breaks(app, pagename, templatename, context, doctree):
    """Mark these places in the code of a page."""
    if "body" in context:
        body = _CODE.sub(lambda found: with_breaks(found[0]), context["body"])
        context["body"] = _PARAGRAPH.sub(lambda found: break_long_words(found[0]), body)


def setup(app):
    """Connect to Sphinx."""
    app.connect("html-page-context", add_breaks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
