"""One virtual environment for each library of the race, made on demand with venv and pip."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

# The calls of pip, in order, for each environment. Dependencies that a library pins to versions
# without wheels for this Python, or that the race does not use, are left out with --no-deps.
INSTALLS: dict[str, list[list[str]]] = {
    "hiclass": [["psutil", "--editable", f"{REPOSITORY}[fast]"]],
    "published": [["hiclass==5.0.8", "psutil"]],
    "sklearn-hierarchical": [["sklearn-hierarchical-classification", "psutil"]],
    "pecos": [
        ["numpy<2", "scipy<1.14", "scikit-learn<1.7", "psutil"],
        ["--no-deps", "libpecos"],
    ],
    "napkinxc": [["napkinxc", "psutil"]],
    "omikuji": [["omikuji", "scipy", "psutil"]],
    "libmultilabel": [
        ["--no-deps", "libmultilabel"],
        ["liblinear-multicore", "scikit-learn", "scipy", "pandas", "pyyaml", "tqdm", "psutil"],
        ["sparsekmeans"],
    ],
    "fasttext": [["fasttext-wheel", "numpy<2", "scipy", "psutil"]],
}


class InstallError(RuntimeError):
    """An environment could not be made; the message is the last line of what pip said."""


def python_of(name: str, folder: Path, *, make: bool = True) -> Path:
    """The interpreter of an environment, which is made if it is not there.

    Raises ``InstallError`` where that fails, or where it is not there and ``make`` is false. Only
    for hiclass itself the interpreter that runs this will do, too.
    """
    home = folder / name
    python = home / "bin" / "python"
    done = home / "installed.json"
    if done.exists() and json.loads(done.read_text()) == recorded(name):
        return python
    if not make and name == "hiclass":
        return Path(sys.executable)
    if not make:
        raise InstallError("no environment; run without --existing to make it")
    print(f"making the environment {name} ...", file=sys.stderr, flush=True)
    shutil.rmtree(home, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(home)])
    for arguments in INSTALLS[name]:
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        run([*pip, *arguments])
    done.write_text(json.dumps(recorded(name)))
    return python


def recorded(name: str) -> list[list[str]]:
    """What was installed, without the place of this checkout."""
    return [[part.replace(str(REPOSITORY), ".") for part in call] for call in INSTALLS[name]]


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines()]
        errors = [line for line in lines if line.lower().startswith("error")]
        raise InstallError((errors or lines or ["no message"])[-1])


def versions(python: Path) -> dict[str, str]:
    """All packages of an environment with their versions."""
    command = [str(python), "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    skipped = {"pip", "setuptools", "wheel"}
    return {p["name"]: p["version"] for p in json.loads(out) if p["name"] not in skipped}


if __name__ == "__main__":
    for env in sys.argv[2:] or INSTALLS:
        try:
            print(env, python_of(env, Path(sys.argv[1]).resolve()), flush=True)
        except InstallError as error:
            print(env, "failed:", error, flush=True)
