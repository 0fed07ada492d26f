"""Check the built pages: links and anchors inside lead somewhere, nothing comes from outside.

python tools/check_links.py build/docs

Links to other sites are not followed: the build needs no network, and neither does this. But a
page may not *load* anything from elsewhere (a script, a style, a picture, a font): it must work
offline and tell no stranger that it was opened.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# The attribute by which an element loads something, or by which it only points at it.
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
POINTS = {"a": "href"}
# Relations of <link> that load nothing.
ONLY_NAMED = {"canonical", "index", "search", "next", "prev", "author", "license"}


class Page(HTMLParser):
    """The anchors of a page, what it loads and what it points at, with line numbers."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.loads: list[tuple[int, str]] = []
        self.points: list[tuple[int, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one element says."""
        values = dict(attrs)
        self.anchors.update(v for k in ("id", "name") if (v := values.get(k)))
        line = self.getpos()[0]
        if tag == "link" and values.get("rel") in ONLY_NAMED:
            return
        if target := values.get(LOADS.get(tag, "")):
            self.loads.append((line, target))
        if target := values.get(POINTS.get(tag, "")):
            self.points.append((line, target))


def check(folder: Path) -> list[str]:
    """Return one line for every link that is broken."""
    pages = {
        path.resolve(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.parts
    }
    problems = []
    for path, page in pages.items():
        where = path.relative_to(folder.resolve())
        for line, target in [*page.loads, *page.points]:
            trouble = _trouble(path, target, pages, loaded=(line, target) in page.loads)
            if trouble:
                problems.append(f"{where}:{line}: {target}: {trouble}")
    for style in folder.rglob("*.css"):
        outside = re.findall(r"url\(['\"]?((?:https?:)?//[^)'\"]+)", style.read_text("utf-8"))
        where = style.relative_to(folder)
        problems += [f"{where}: {target}: loaded from another site" for target in outside]
    return problems


def _trouble(path: Path, target: str, pages: dict[Path, Page], *, loaded: bool) -> str | None:
    """What is wrong with one link of a page, or None."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        outside = loaded and parts.scheme != "data"
        return "loaded from another site" if outside else None
    aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if aim.is_dir():
        aim /= "index.html"
    if not aim.exists():
        return "no such file"
    if parts.fragment and aim in pages and unquote(parts.fragment) not in pages[aim].anchors:
        return "no such anchor"
    return None


def main() -> int:
    """Print the problems; the exit status says whether there are any."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs")
    if not (folder / "index.html").exists():
        print(f"{folder} has no index.html. Build the pages first: make docs")
        return 2
    problems = check(folder)
    print("\n".join(problems) or f"All links inside {folder} lead somewhere.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
