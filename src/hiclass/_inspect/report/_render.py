"""One HTML file from the numbers: the template with the style, the script and the data."""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from typing import Any

#: Characters that must be escaped in a script element, or that some parsers treat as line ends.
_UNSAFE = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_SURROGATE = re.compile("[\ud800-\udfff]")


def to_json(data: dict[str, Any]) -> str:
    """JSON that can be put into an HTML script element, whatever the labels are."""
    text = json.dumps(_finite(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escaped in _UNSAFE.items():
        text = text.replace(character, escaped)
    # Lone surrogates cannot be encoded in UTF-8, but have an escape.
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _finite(value: Any) -> Any:
    """The same data with None for NaN and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


def to_html(data: dict[str, Any]) -> str:
    """The whole page."""
    page = "sets" if data.get("of_sets") else "report"
    title = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", data["title"])
    parts = {
        "TITLE": html.escape(title),
        "STYLE": _asset("report.css"),
        "DATA": to_json(data),
        "SCRIPT": _asset(f"{page}.js"),
    }
    # All at once, so that inserted text is not searched.
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda found: parts[found[1]], _asset(f"{page}.html"))


def _asset(name: str) -> str:
    return files("hiclass._inspect.report").joinpath(name).read_text(encoding="utf-8")


def inline(page: str, height: int = 900) -> str:
    """The page in an iframe, for notebooks."""
    source = html.escape(page, quote=True)
    style = f"width:100%;height:{height}px;border:1px solid #8884;border-radius:6px"
    return f'<iframe srcdoc="{source}" sandbox="allow-scripts" style="{style}"></iframe>'
