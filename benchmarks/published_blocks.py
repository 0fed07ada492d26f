"""Run what a page says about the published package, in an environment that has it.

    PYTHON benchmarks/published_blocks.py docs/coming_from_hiclass5.md

`PYTHON` is an interpreter with `hiclass==5.0.8`. Blocks after ``<!-- both -->`` and
``<!-- published -->`` are run in order, in one namespace; comments that start a line are what they
must print.
"""

import contextlib
import importlib.metadata
import io
import re
import sys
import warnings
from pathlib import Path

BLOCK = r"^<!-- (?:both|published) -->\n```python\n(.*?)^```"


def main(page):
    """Run the blocks of a page; return the number of those that print something else."""
    warnings.simplefilter("ignore")
    print("hiclass", importlib.metadata.version("hiclass"))
    text = Path(page).read_text(encoding="utf-8")
    namespace, wrong = {"__name__": "page"}, 0
    blocks = re.findall(BLOCK, text, flags=re.DOTALL | re.MULTILINE)
    for number, block in enumerate(blocks, start=1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, f"{page}, block {number}", "exec"), namespace)
        promised = re.findall(r"^# (.*)$", block, flags=re.MULTILINE)
        if out.getvalue().splitlines() != promised:
            wrong += 1
            print(f"Block {number} prints\n{out.getvalue()}instead of\n{chr(10).join(promised)}\n")
    print(f"{len(blocks)} blocks, {wrong} of them wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
