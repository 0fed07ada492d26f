"""The tables of large taxonomies, from their results."""

import json
import statistics
from pathlib import Path
from typing import Any

from _common import table, write_section

RESULTS = Path(__file__).parent / "results"
PECOS = "PECOS XLinear"
COLUMNS = {
    "fit_cpu_s": "fit, CPU s",
    "fit_s": "fit, s",
    "predict_cpu_s": "predict, CPU s",
    "predict_s": "predict, s",
    "peak_bytes": "peak memory, MB",
    "size_bytes": "file, MB",
    "hF": "hF",
}


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of every measure; None where a run failed."""
    if any("failed" in run for run in runs):
        return dict.fromkeys(COLUMNS)
    return {key: statistics.median(run[key] for run in runs) for key in COLUMNS}


def ratios(runs: list[dict[str, Any]], to: list[dict[str, Any]], key: str) -> float | None:
    """The median over the turns of the ratio of two libraries."""
    pairs = [(a.get(key), b.get(key)) for a, b in zip(runs, to, strict=False)]
    found = [a / b for a, b in pairs if a is not None and b]
    return statistics.median(found) if found else None


def shown(key: str, value: float | None) -> str:
    """A measure as it stands in the table."""
    if value is None:
        return "failed"
    if key.endswith("_bytes"):
        return f"{value / 1e6:,.1f}"
    return f"{value:.4f}" if key == "hF" else f"{value:.2f}"


def set_table(found: dict[str, Any]) -> str:
    """One set: medians, and in brackets the ratio to PECOS."""
    rows = []
    peer = found["runs"].get(PECOS)
    for name, runs in found["runs"].items():
        values = medians(runs)
        cells = []
        for key in COLUMNS:
            cell = shown(key, values[key])
            if peer and name != PECOS and key != "hF" and values[key] is not None:
                ratio = ratios(runs, peer, key)
                cell += f" ({ratio:.2f}x)" if ratio else ""
            cells.append(cell)
        rows.append([name, *cells])
    return table(["", *COLUMNS.values()], rows)


def all_tables(result: dict[str, Any]) -> str:
    """A table per set."""
    parts = []
    for name, found in result["sets"].items():
        size = found["size"]
        turns = max(map(len, found["runs"].values()))
        parts.append(
            f"**{name}**: {size['rows']:,} rows, {size['features']:,} features, {size['leaves']:,} "
            f"leaves, {size['test_rows']:,} rows to predict. Medians of {turns} runs, with the "
            f"median ratio to PECOS in brackets:\n\n{set_table(found)}"
        )
    return "\n\n".join(parts)


def scale_table(result: dict[str, Any]) -> str:
    """The runs on more and more rows and leaves, the slopes, and the resumed fit."""
    rows = []
    for run in result["runs"]:
        cells = [shown(key, run.get(key)) for key in COLUMNS]
        rows.append([f"{run['rows']:,}", f"{run['leaves']:,}", *cells])
    text = table(["rows", "leaves", *COLUMNS.values()], rows)
    slopes = [
        [COLUMNS[step], f"{by['rows']:.2f}", f"{by['leaves']:.2f}"]
        for step, by in result["slopes"].items()
    ]
    text += "\n\n" + table(["", "slope in rows", "slope in leaves"], slopes)
    resumed = result["resumed"]
    equal = "the same" if resumed["same"] else "different"
    return (
        f"{text}\n\nIn another run, the last fit was killed when {resumed['checkpoints']:,} of its "
        f"{resumed['classifiers']:,} classifiers were stored. The fit that continued took "
        f"{resumed['fit_s']:.0f} s and at most {resumed['peak_bytes'] / 1e6:,.0f} MB, and gave "
        f"{equal} predictions."
    )


def machine(result: dict[str, Any]) -> str:
    """What it ran on."""
    m, versions = result["machine"], result["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{named}; {m['processor']}, {m['cpus']} CPUs, {m['memory_gib']} GiB."


def load(name: str) -> dict[str, Any]:
    """Read one file of results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def write_page(page: str) -> None:
    """Put the tables of the stored results into a page."""
    result = load("taxonomy")
    write_section(page, "taxonomy", f"\n{all_tables(result)}\n\n{machine(result)}\n")
    result = load("taxonomy_scale")
    write_section(page, "taxonomy_scale", f"\n{scale_table(result)}\n\n{machine(result)}\n")
