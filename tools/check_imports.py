"""Check what the layers of import-linter cannot say: one line per violation, exit status 1 if any.

* Optional libraries are imported inside the function that needs them, so that `import hiclass`
  costs what `import sklearn.linear_model` costs. `hiclass.torch` is the exception: it is built on
  PyTorch, and `import hiclass` leaves it alone.
* Private names of scikit-learn and joblib appear in `_compat.py` only.
* Nothing inside imports names from the root `hiclass`: a room is imported by its own name.

The rooms themselves, and who may import whom, are in pyproject.toml (`lint-imports`).
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "hiclass"

OPTIONAL = {
    "dask", "fastapi", "matplotlib", "networkx", "numba", "onnx", "onnxruntime", "pandas", "polars",
    "pyarrow", "ray", "simple_icd_10_cm", "skl2onnx", "skops", "starlette", "torch", "uvicorn",
}  # fmt: skip
#: Packages that need an optional library as a whole, and that `import hiclass` leaves alone.
BUILT_ON = {"torch": {"torch"}}
#: The one door to names of scikit-learn and joblib that may move.
DOOR = "_compat"
#: What may be imported from the root: public packages of their own.
PUBLIC = {"datasets", "metrics"}

# scikit-learn itself loads pandas where it is installed: only what hiclass asks for counts.
PROBE = f"""
import sys
import sklearn.linear_model
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in {OPTIONAL}:
            print(name)
sys.meta_path.insert(0, Watch())
from hiclass import *
"""


def imports(tree: ast.AST, at_import: bool = True) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield each import statement and whether it runs when the module is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, at_import
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports(node, at_import=False)
        else:
            in_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from imports(node, at_import and not in_function)


def is_private(dotted: str) -> bool:
    """Whether a part of a dotted name starts with an underscore (`__version__` is public)."""
    return any(part.startswith("_") and not part.endswith("__") for part in dotted.split("."))


def violation(owner: str, dotted: str, at_import: bool) -> str | None:
    """Say what is wrong, if anything, when a room of hiclass imports `dotted`."""
    library, *rest = dotted.split(".")
    if library in OPTIONAL - BUILT_ON.get(owner, set()) and at_import:
        return f"{library} is optional: import it inside the function that needs it"
    private = is_private(dotted) or dotted.startswith("joblib.externals.")
    if library in ("sklearn", "joblib") and private and owner != DOOR:
        return f"{dotted} is private to {library}: only {DOOR}.py may import it"
    if dotted == "hiclass" or (library == "hiclass" and len(rest) == 1 and rest[0] not in PUBLIC):
        return f"{dotted} comes from the root: import it from its room"
    return None


def check(path: Path) -> Iterator[str]:
    """Yield the violations of one file."""
    place = path.relative_to(ROOT)
    owner = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if owner == "__init__":
        return
    for statement, at_import in imports(ast.parse(path.read_text(encoding="utf-8"))):
        prefix = ""
        if isinstance(statement, ast.ImportFrom):
            prefix = f"{statement.module}."
        for alias in statement.names:
            if message := violation(owner, prefix + alias.name, at_import):
                yield f"{place}:{statement.lineno}: {message}"


def main() -> int:
    """Print every violation; return the exit status."""
    found = [line for path in sorted(PACKAGE.rglob("*.py")) for line in check(path)]
    if (init := PACKAGE / "__init__.py").exists():
        environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
        command = [sys.executable, "-c", PROBE]
        loaded = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
        found += [f"{init.relative_to(ROOT)}:1: loads {name}" for name in loaded.stdout.split()]
        if loaded.returncode:
            found.append(f"{init.relative_to(ROOT)}:1: import hiclass fails, see above")
    print("\n".join(found) if found else "Imports keep to their places.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
