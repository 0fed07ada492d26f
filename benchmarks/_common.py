"""Shared by the benchmarks: what they ran on, interleaved timing, peak memory of a child."""

import gc
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "scipy", "scikit-learn", "joblib")


def environment() -> dict[str, Any]:
    """Versions and machine, without names of hosts or paths."""
    import psutil

    import hiclass

    versions = {"python": platform.python_version(), "hiclass": hiclass.__version__}
    versions |= {name: metadata.version(name) for name in LIBRARIES}
    machine = {
        "system": platform.system(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "load_at_start": round(psutil.getloadavg()[0], 2),
    }
    return {"versions": versions, "machine": machine}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def interleaved(
    functions: dict[str, Callable[[], Any]], repeat: int, at_least: float = 0
) -> dict[str, dict[str, list[float]]]:
    """Time ``repeat`` runs of each function, in turns so that noise hits all alike.

    Short functions are run more often, until ``at_least`` seconds have passed. Returns seconds by
    clock ("wall", and "cpu": processor time of this process) and function.
    """
    clocks = {"wall": time.perf_counter, "cpu": time.process_time}
    seconds = {clock: {name: [] for name in functions} for clock in clocks}
    begin = time.perf_counter()
    for turn in count():
        if turn >= repeat and time.perf_counter() - begin >= at_least:
            break
        names = list(functions)
        for name in names if turn % 2 == 0 else reversed(names):
            gc.collect()
            start = {clock: now() for clock, now in clocks.items()}
            functions[name]()
            for clock, now in clocks.items():
                seconds[clock][name].append(now() - start[clock])
    return seconds


def run_child(
    command: Sequence[str],
    *,
    time_limit: float,
    memory_limit: float = 16e9,
    env: dict[str, str] | None = None,
    poll: float = 0.02,
    until: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Run a command and watch the memory of its process tree, every ``poll`` seconds.

    Where ``until`` becomes true, it is killed. Returns a dict: ``lines`` (its output),
    ``peak_bytes`` (largest sum of resident memory over the tree, polled), ``stopped`` ("time
    limit", "memory limit", "until" or None) and, if it failed, ``error``.
    """
    import psutil

    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = psutil.Popen(command, stdout=out, stderr=err, env=env)
        start, peak, stopped = time.monotonic(), 0, None
        while child.poll() is None:
            peak = max(peak, _tree_memory(child))
            if time.monotonic() - start > time_limit:
                stopped = "time limit"
            elif peak > memory_limit:
                stopped = "memory limit"
            elif until():
                stopped = "until"
            if stopped:
                _kill_tree(child)
                break
            time.sleep(poll)
        child.wait()
        out.seek(0)
        err.seek(0)
        result = {"lines": out.read().splitlines(), "peak_bytes": peak, "stopped": stopped}
        if child.returncode and not stopped:
            result["error"] = (err.read().strip().splitlines() or ["no message"])[-1]
        return result


def _tree_memory(process: Any) -> int:
    import psutil

    total = 0
    for member in [process, *_children(process)]:
        try:
            total += member.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def _children(process: Any) -> Iterable[Any]:
    import psutil

    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _kill_tree(process: Any) -> None:
    import psutil

    for member in [*_children(process), process]:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue


def clean_env(**changes: str) -> dict[str, str]:
    """The environment for a child without PYTHONPATH, for an interpreter of its own."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | changes


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with aligned columns, which reads well in a terminal, too."""
    rows = [tuple(header), *map(tuple, rows)]
    widths = [max(len(row[j]) for row in rows) for j in range(len(header))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |" for r in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def write_json(result: dict[str, Any], path: str | None) -> None:
    """Write a result where a path is given."""
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(json.dumps(result, indent=1) + "\n")


def save_svg(figure: Any, file: Any) -> None:
    """Write a figure; the same figure gives the same file."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "hiclass"}):
        figure.savefig(file, format="svg", metadata={"Date": None})


def write_section(page: str, name: str, text: str) -> None:
    """Put a text between ``<!-- name -->`` and ``<!-- /name -->`` of a page."""
    old = Path(page).read_text()
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, found, rest = old.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"{page} has no section {begin.strip()} ... {end}.")
    Path(page).write_text(f"{before}{begin}{text}\n{end}{after}")
