"""What the tests of the written pages share: their code blocks, and running them.

A block is between fences: three backticks and ``python``. Blocks of a page share one namespace, in
the order in which they are read. A block that starts with ``>>>`` is a doctest. In any other one, a
comment that starts a line is output: what the block prints must begin with these lines.

Comments of HTML, which a reader does not see, stand before a block where they are needed:
``<!-- heavy -->`` for one that needs the extra ``test-all``, and ``<!-- first ... -->`` with code
that makes what the block takes for granted. ``<!-- published -->`` is a block about the published
package: ``benchmarks/published_blocks.py`` runs it where that is installed.
"""

import doctest
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILT = {"auto_examples", "generated", "backreferences"}  # below docs, by `make docs`

_BLOCK = re.compile(
    r"(?P<mark>^ *<!-- (?:heavy|published) -->\n)?"
    r"(?:^ *<!-- first\n(?P<first>.*?)^ *-->\n)?"
    r"^(?P<indent> *)```(?:python|pycon)\n(?P<code>.*?)^ *```$",
    flags=re.DOTALL | re.MULTILINE,
)


@dataclass
class Block:
    """One block of code of a page."""

    where: str
    code: str
    heavy: bool
    first: str


def pages():
    """Every page that somebody wrote, the README first."""
    written = [
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if not BUILT & set(path.relative_to(ROOT).parts)
    ]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *written]


def blocks_of(page):
    """The blocks of Python of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            where=f"{page.relative_to(ROOT)}, line {text.count(chr(10), 0, found.start('code'))}",
            code=re.sub(rf"^{found['indent']}", "", found["code"], flags=re.MULTILINE),
            heavy="heavy" in (found["mark"] or ""),
            first=found["first"] or "",
        )
        for found in _BLOCK.finditer(text)
        if "published" not in (found["mark"] or "")
    ]


def run_block(block, namespace, capsys):
    """Run a block in a namespace and compare what it prints with what the page says."""
    exec(compile(block.first, f"{block.where} (before it)", "exec"), namespace)
    if block.code.startswith(">>>"):
        _run_doctest(block, namespace)
        return
    capsys.readouterr()
    exec(compile(block.code, block.where, "exec"), namespace)
    printed = capsys.readouterr().out.splitlines()
    promised = [line[2:] for line in block.code.splitlines() if re.match(r"#( |$)", line)]
    same = printed[: len(promised)] == promised
    assert same, f"{block.where} prints {printed}, the page says {promised}"


def _run_doctest(block, namespace):
    parser = doctest.DocTestParser()
    test = parser.get_doctest(block.code, namespace, block.where, block.where, 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    report = []
    runner.run(test, out=report.append, clear_globs=False)
    namespace.update(test.globs)
    assert not report, "".join(report)


def run_page(page, capsys, *, heavy=False):
    """Run the blocks of a page, the heavy ones only if asked for; return the namespace."""
    namespace = {"__name__": page.stem}
    for block in blocks_of(page):
        if heavy or not block.heavy:
            run_block(block, namespace, capsys)
    return namespace
