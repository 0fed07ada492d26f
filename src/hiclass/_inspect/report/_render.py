"""One HTML file from the numbers: the template with the style, the script and the data inside."""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from typing import Any

#: What may not stand in a script element as it is, or what some parsers take for a line end.
_UNSAFE = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_SURROGATE = re.compile("[\ud800-\udfff]")


def to_json(data: dict[str, Any]) -> str:
    """JSON that can stand in an HTML script element, whatever the labels are."""
    text = json.dumps(_finite(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escaped in _UNSAFE.items():
        text = text.replace(character, escaped)
    # Half a character has no place in UTF-8, but an escape of its own.
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _finite(value: Any) -> Any:
    """The same with None for NaN and infinities, which JSON does not have."""
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
    # All at once, so that nothing is looked for inside what was put in.
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda found: parts[found[1]], _asset(f"{page}.html"))


def _asset(name: str) -> str:
    return files("hiclass._inspect.report").joinpath(name).read_text(encoding="utf-8")


def inline(page: str, height: int = 900) -> str:
    """The page inside a frame of its own, for notebooks."""
    source = html.escape(page, quote=True)
    style = f"width:100%;height:{height}px;border:1px solid #8884;border-radius:6px"
    return f'<iframe srcdoc="{source}" sandbox="allow-scripts" style="{style}"></iframe>'
