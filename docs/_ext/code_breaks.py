"""Code in a line may break after punctuation, but not inside a word."""

import re

_CODE = re.compile(r'(?<=<span class="pre">)[^<]{12,}(?=</span>)')


def with_breaks(code):
    """Return code as HTML with places where a line may end.

    Examples
    --------
    >>> with_breaks("LocalClassifierPerNode(policy=&quot;siblings&quot;)")
    'LocalClassifierPerNode(<wbr>policy=<wbr>&quot;siblings&quot;)'
    """
    return re.sub(r"(?<=[\w\])(])([(\[=/_.,])(?=[^\s)\]])", r"\1<wbr>", code)


def add_breaks(app, pagename, templatename, context, doctree):
    """Mark these places in the code of a page."""
    if "body" in context:
        context["body"] = _CODE.sub(lambda found: with_breaks(found[0]), context["body"])


def setup(app):
    """Connect to Sphinx."""
    app.connect("html-page-context", add_breaks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
