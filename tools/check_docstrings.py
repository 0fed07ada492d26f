"""Check the docstrings of everything public with numpydoc, and that the API pages name all of it.

python tools/check_docstrings.py

Every public object has to say what it does, what each parameter means, what comes back, which
errors it raises itself, and to show an example. `SKIPPED` are the checks that are not made.
"""

import ast
import importlib.util
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

API = Path(__file__).parents[1] / "docs" / "api" / "index.md"
MODULES = ["hiclass", "hiclass.metrics", "hiclass.datasets"]
# It cannot be imported without PyTorch, which is large: checked where that is installed.
if importlib.util.find_spec("torch") and importlib.util.find_spec("hiclass.torch"):
    MODULES.append("hiclass.torch")

SKIPPED = {
    "ES01": "a summary that says all needs no second paragraph",
    "GL01": "the text starts on the line of the quotes, as ruff formats it",
    "GL02": "and the quotes end where ruff puts them",
    "GL03": "blank lines are ruff's business",
    "SA01": "a section 'See Also' only where there is something to see",
    "SA04": "and its names may speak for themselves",
    "SS06": "a summary may take two lines",
    "PR08": "a description may begin with a value in code",
    "PR09": "and end with a list or a formula",
    "RT02": "a result may have a name",
    "RT04": "its description may begin with a value in code",
    "RT05": "and end with a list or a formula",
}
# Made by their builders; the constructor is nobody's to call.
PRIVATE_CONSTRUCTORS = {"hiclass.Hierarchy"}


def public_objects() -> Iterator[tuple[str, object]]:
    """Yield the dotted names of everything public that can be called, and their objects."""
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing):
                yield f"{module_name}.{name}", thing


def public_members(cls: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties that a class has from this library."""
    for name, member in inspect.getmembers(cls):
        owner = member.fget if isinstance(member, property) else member
        ours = str(getattr(owner, "__module__", "")).startswith("hiclass")
        if ours and not name.startswith("_") and not inspect.isclass(member):
            yield name, member


def problems_of(name: str, function: object, *, example: bool) -> Iterator[str]:
    """Yield what the docstring of one object lacks."""
    for code, message in validate(name)["errors"]:
        private = code == "PR01" and name in PRIVATE_CONSTRUCTORS
        if code not in SKIPPED and not private and (example or code != "EX01"):
            yield f"{name}: {code} {message}"
    if not get_doc_object(function)["Raises"] and _raises(function):
        yield f"{name}: it has a 'raise', but no section 'Raises'"


def _raises(function: object) -> bool:
    """Whether the code of a function itself, not of one that it calls, raises an error."""
    if not inspect.isfunction(function):
        return False
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) and node.exc for node in ast.walk(tree))


def missing_pages() -> Iterator[str]:
    """Yield the public names that the API pages do not list, and the other way round."""
    listed: dict[str, set[str]] = {module: set() for module in MODULES}
    module = ""
    for line in API.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"(?:   |\.\. data:: )([A-Za-z]\w*)$", line):
            listed.setdefault(module, set()).add(found[1])
    for module in MODULES:
        names = listed[module]
        public = importlib.import_module(module).__all__
        names_wanted = {n for n in public if f"{module}.{n}" not in MODULES}
        yield from (f"{API.name} lacks {module}.{n}" for n in sorted(names_wanted - names))
        yield from (f"{API.name}: no {module}.{n}" for n in sorted(names - names_wanted))


def main() -> int:
    """Print what is missing; the exit status says whether there is anything."""
    problems = list(missing_pages())
    for name, thing in public_objects():
        problems += problems_of(name, thing, example=True)
        if inspect.isclass(thing):
            for member_name, member in public_members(thing):
                problems += problems_of(f"{name}.{member_name}", member, example=False)
    print("\n".join(problems) or "All public docstrings are complete.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
