"""What the package depends on, what it contains, and what its code never does."""

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hiclass"
MODULES = sorted(PACKAGE.rglob("*.py"))
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

REQUIRED = {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"}
IMPORT_NAMES = {"scikit-learn": "sklearn"}

#: Calls that run text as code, start a program or build objects that a file asks for.
FORBIDDEN = {
    "eval", "exec", "compile", "__import__",
    "os.system", "os.popen", "os.startfile", "os.execv", "os.execvp", "os.spawnv",
    "pickle.load", "pickle.loads", "pickle.Unpickler", "joblib.load", "marshal.load",
    "marshal.loads", "shelve.open", "dill.load", "dill.loads", "cloudpickle.load",
    "cloudpickle.loads", "pandas.read_pickle", "yaml.load", "torch.load", "torch.hub.load",
    "importlib.import_module", "tempfile.mktemp",
}  # fmt: skip
FORBIDDEN_IMPORTS = {"subprocess", "ctypes", "pty", "telnetlib", "ftplib", "xmlrpc", "marshal"}
#: The exceptions: (file, call) and why it is safe.
ALLOWED = {
    ("__init__.py", "importlib.import_module"): "modules of hiclass, from a fixed table",
    (
        "_engine/checkpoints.py",
        "pickle.loads",
    ): "the user's own, see SECURITY.md; and a copy",
    ("_engine/fit.py", "pickle.loads"): "what the same line pickled, to see whether it can be",
}
#: The only modules that open connections, when a user asks for a data set or for a service.
NETWORK = {
    "datasets/_download.py", "_serving/app.py", "_serving/desk/app.py", "_serving/server.py",
    "_serving/web.py",
}  # fmt: skip
NETWORK_IMPORTS = {"urllib", "http", "socket", "ssl", "requests", "fastapi", "starlette", "uvicorn"}


def dotted(node):
    """``a.b.c`` of an expression, or an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        above = dotted(node.value)
        return f"{above}.{node.attr}" if above else ""
    return ""


def imported_names(tree):
    """What local names stand for: ``loads`` for ``pickle.loads`` after ``from pickle import``."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def calls(tree):
    """The full name of everything that is called, with the call."""
    names = imported_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            first, dot, rest = dotted(node.func).partition(".")
            yield names.get(first, first) + dot + rest, node


def reads_only_tensors(name, call):
    """Whether PyTorch reads a file without building objects that it asks for."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    value = getattr(given.get("weights_only"), "value", None)
    return name == "torch.load" and value is True


def violations(path, source):
    tree = ast.parse(source)
    libraries = {name.partition(".")[0] for name in imported_names(tree).values()}
    found = [f"imports {name}" for name in libraries & FORBIDDEN_IMPORTS]
    if path not in NETWORK:
        found += [f"imports {name}" for name in libraries & NETWORK_IMPORTS]
    for name, call in calls(tree):
        if name in FORBIDDEN and (path, name) not in ALLOWED and not reads_only_tensors(name, call):
            found.append(f"line {call.lineno} calls {name}")
        for keyword in call.keywords:
            if keyword.arg in ("shell", "allow_pickle") and not (
                isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            ):
                found.append(f"line {call.lineno} sets {keyword.arg}")
            if keyword.arg == "trusted" and isinstance(keyword.value, ast.Constant):
                found.append(f"line {call.lineno} trusts {keyword.value.value!r}")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_no_module_runs_text_or_files_as_code(path):
    name = path.relative_to(PACKAGE).as_posix()
    assert violations(name, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "eval('1')",
        "import os; os.system('ls')",
        "from os import system as run; run('ls')",
        "import pickle as p; p.loads(b'')",
        "from pickle import load; load(f)",
        "import joblib; joblib.load('m')",
        "import torch; torch.load('m')",
        "import torch; torch.load('m', weights_only=False)",
        "import torch; torch.load('m', weights_only=as_given)",
        "import subprocess",
        "from subprocess import run",
        "f(shell=True)",
        "import numpy as np; np.load('x', allow_pickle=True)",
        "import urllib.request",
        "skops.io.load(f, trusted=True)",
    ],
)
def test_the_scan_finds_what_it_looks_for(source):
    assert violations("some.py", source)


def test_files_of_tensors_may_be_read():
    assert violations("some.py", "import torch; torch.load('m', weights_only=True)") == []


def test_every_exception_is_still_needed():
    for path, name in ALLOWED:
        tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
        assert name in {called for called, _ in calls(tree)}


# -- dependencies ------------------------------------------------------------------------------


def requirements(lines):
    return {re.match(r"[A-Za-z0-9._-]+", line).group(): line for line in lines}


def test_there_are_five_dependencies_and_all_are_used():
    found = requirements(CONFIG["project"]["dependencies"])
    assert set(found) == REQUIRED
    used = set()
    for path in MODULES:
        names = imported_names(ast.parse(path.read_text(encoding="utf-8"))).values()
        used |= {name.partition(".")[0] for name in names}
    assert {IMPORT_NAMES.get(name, name) for name in REQUIRED} <= used


#: scikit-learn imports pandas and others by itself where they are installed.
BLOCK = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {names}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
"""
EXTRAS = {"pandas", "polars", "pyarrow", "networkx", "matplotlib", "skops", "torch", "ray", "onnx",
          "onnxruntime", "skl2onnx", "simple_icd_10_cm", "lightgbm", "imblearn",
          "numba", "fastapi", "starlette", "uvicorn"}  # fmt: skip


def test_the_core_works_where_only_the_five_are_installed():
    program = BLOCK.format(names=EXTRAS) + (
        "from sklearn.tree import DecisionTreeClassifier\n"
        "from hiclass import LocalClassifierPerParentNode\n"
        "model = LocalClassifierPerParentNode(DecisionTreeClassifier())"
        ".fit([[0.0], [1.0], [2.0]], "
        "[['a', 'x'], ['a', 'y'], ['b']])\n"
        "print(model.predict([[2.0]]).tolist(), model.score([[2.0]], [['b']]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "[['b', '']] 1.0\n"


def lower_bounds(names):
    """The lower bounds of some lists of requirements, ``name -> version``."""
    extras = CONFIG["project"]["optional-dependencies"]
    lines = [line for name in names for line in (extras[name] if name else [])]
    if "" in names:
        lines += CONFIG["project"]["dependencies"]
    bounds = (re.match(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", line) for line in lines)
    return {found[1]: found[2] for found in bounds if found}


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("oldest.txt", [""]),
        ("oldest-extras.txt", ["cli", "demo", "graph", "plot", "serve", "test"]),
    ],
)
def test_the_oldest_versions_that_are_tested_are_those_that_are_promised(file, names):
    lines = (ROOT / "tools" / file).read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    bounds = lower_bounds(names)
    assert set(bounds) <= set(pinned)
    for name, version in bounds.items():
        width = version.count(".") + 1
        assert pinned[name].split(".")[:width] == version.split("."), name
        assert set(pinned[name].split(".")[width:]) <= {"0"}, name


# -- what is shipped ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source archive, as a release would build them."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def test_the_wheel_holds_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = wheel.namelist()
        info = next(name for name in names if name.endswith("/METADATA")).rpartition("/")[0]
        metadata = wheel.read(f"{info}/METADATA").decode()
    package = {f"hiclass/{p.relative_to(PACKAGE).as_posix()}" for p in PACKAGE.rglob("*")
               if p.is_file() and "__pycache__" not in p.parts}  # fmt: skip
    about = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt",
                                           "licenses/LICENSE")}  # fmt: skip
    assert set(names) == package | about
    needed = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)[^\n;]*$", metadata, re.MULTILINE)
    assert set(needed) == REQUIRED


def test_the_source_archive_holds_what_a_packager_needs_and_no_rubbish(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "SECURITY.md", "Makefile"} <= names
    assert {"src/hiclass/__init__.py", "tests/conftest.py", "tools/oldest.txt"} <= names
    rubbish = re.compile(r"__pycache__|\.(pyc|egg-info|so|pkl|skops)$|\.(venv|hypothesis)")
    # Golden files are meant to be there.
    assert not [n for n in names if rubbish.search(n) and not n.startswith("tests/golden/")]


def test_the_policy_says_what_to_trust():
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for word in ("Supported versions", "Report", "pickle", "checkpoint_dir", "skops"):
        assert word in policy
