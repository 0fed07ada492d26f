"""Check the import contract of src/hiclass: one line per violation, exit status 1 if there is any.

The contract, which CONTRIBUTING.md explains:
* A module imports only from lower layers (`LAYERS`, `SAME_LAYER_ALLOWED`).
* The modules of `PUBLIC_ONLY` use the library as a user does, through its public names (`SHARED`
  says which helpers of their own they share).
* Optional libraries are imported inside the function that needs them, so that `import hiclass`
  costs what `import sklearn.linear_model` costs.
* Private names of scikit-learn appear in `_validation.py` and `_liblinear.py` only.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "hiclass"

LAYERS = [  # from top to bottom
    {"_onnx", "_persistence", "_queries"},
    {"_local", "_flat", "_global", "_ensemble", "_conformal", "torch"},
    {"_incremental"},
    {"_children"},
    {"_set_fit"},
    {"_base", "_calibration", "_thresholds", "_weights"},
    {"_decision"},
    {"_chunks", "_decode", "_levels", "_restrict"},
    {"_search"},
    {"_fit", "_predict", "_set_predict", "metrics", "model_selection"},
    {"_checkpoint", "_forest", "_liblinear", "_linear", "_progress", "_ray"},
    {"_class_weight", "_columns", "_set_problems", "_stream"},
    {"_problems"},
    {"_growth", "_set_targets"},
    {"_targets"},
    {"hierarchy"},
    {"_builders", "_exchange", "_nodes"},
    {"_graph", "_onnx_graph", "_set_labels", "_validation", "_views"},
    {"_closure", "_lookup"},
    {"_labels", "_version", "_wrapping"},
]
DEPTH = {module: depth for depth, layer in enumerate(LAYERS) for module in layer}
SAME_LAYER_ALLOWED: dict[str, set[str]] = {}
PUBLIC_ONLY = {
    "_cli", "_explain", "_explain_text", "_inspection", "_reasons", "_report", "datasets"
}  # fmt: skip
#: What these may share all the same: helpers that keep to the same rule.
SHARED = {
    "_cli": {"_persistence"},
    "_explain": {"_explain_text", "_inspection", "_reasons"},
    "_explain_text": {"_inspection"},
    "_inspection": {"_wrapping"},
    "_reasons": {"_inspection"},
    "_report": {"_inspection"},
}
# What users enter through: these may import every module of the package.
ENTRIES = {"__init__", "__main__"}
OPTIONAL = {
    "dask", "matplotlib", "networkx", "onnx", "onnxruntime", "pandas", "polars", "pyarrow", "ray",
    "simple_icd_10_cm", "skl2onnx", "skops", "torch",
}  # fmt: skip

#: Packages that need an optional library as a whole, and that `import hiclass` leaves alone.
BUILT_ON = {"torch": {"torch"}}
#: Who may use private names of scikit-learn: `_liblinear` does without them where they change.
PRIVATE_SKLEARN = {"_liblinear", "_validation"}

# scikit-learn itself loads pandas where it is installed: only what hiclass asks for counts.
PROBE = f"""
import sys
import sklearn.linear_model
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in {OPTIONAL}:
            print(name)
sys.meta_path.insert(0, Watch())
import hiclass
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
    """Say what is wrong, if anything, when the module `owner` of hiclass imports `dotted`."""
    library, module, *_ = [*dotted.split("."), ""]
    if library in OPTIONAL - BUILT_ON.get(owner, set()) and at_import:
        return f"{library} is optional: import it inside the function that needs it"
    if library == "sklearn" and is_private(dotted) and owner not in PRIVATE_SKLEARN:
        return f"{dotted} is private to scikit-learn: only _validation.py may use it"
    if library != "hiclass" or owner in {*ENTRIES, module}:
        return None
    if module in SHARED.get(owner, ()):
        return None
    if owner in PUBLIC_ONLY:
        return f"{owner} may not use {dotted}: it is not public" if is_private(dotted) else None
    if DEPTH.get(module, -1) > DEPTH[owner] or module in SAME_LAYER_ALLOWED.get(owner, ()):
        return None
    return f"{owner} may not import {dotted}: it is not in a lower layer"


def check(path: Path) -> Iterator[str]:
    """Yield the violations of one file."""
    place = path.relative_to(ROOT)
    owner = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if owner not in DEPTH.keys() | PUBLIC_ONLY | ENTRIES:
        yield f"{place}:1: {owner} is in no layer: give it a place in tools/check_imports.py"
        return
    for statement, at_import in imports(ast.parse(path.read_text(encoding="utf-8"))):
        prefix = ""
        if isinstance(statement, ast.ImportFrom):
            if statement.level:
                yield f"{place}:{statement.lineno}: relative import: write the full name"
                continue
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
    print("\n".join(found) if found else "The import contract holds.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
