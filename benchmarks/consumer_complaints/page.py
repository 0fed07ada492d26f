"""Tables and figures of the study, from its result file.

    python page.py --results ../results/study.json --markdown ../../docs/study.md \\
        --images ../../docs/images
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _study import LOCAL, read_json

# After _study, which makes what all benchmarks share importable.
# isort: split
from _common import table, write_section
from _decisions_page import interval, number

BASES = {
    "lightgbm": "LightGBM",
    "logistic_regression": "logistic regression",
    "random_forest": "random forest",
}
MODELS = {
    "flat": "flat",
    "per_node": "per node",
    "per_parent_node": "per parent node",
    "per_level": "per level",
    "ensemble": "ensemble",
    "global": "global",
}
MB = 1e6
# What the paper reports in words (section 5): classifier, model, measure, change against flat.
PAPER = [
    ("lightgbm", "per_node", "hF", 1.13),
    ("logistic_regression", "per_node", "fit_cpu", -0.93),
    ("logistic_regression", "per_parent_node", "fit_cpu", -0.44),
    ("random_forest", "per_node", "fit_peak_bytes", -0.66),
    ("random_forest", "per_parent_node", "fit_peak_bytes", -0.70),
    ("random_forest", "per_node", "model_bytes", -0.67),
    ("random_forest", "per_parent_node", "model_bytes", -0.70),
]
MEASURES = {
    "hF": "hF",
    "fit_cpu": "training time",
    "fit_peak_bytes": "memory",
    "model_bytes": "size on disk",
}


def rows_of(result: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Classifier, row and the flat row to compare with, in the order of the tables."""
    found = {entry["base"]: entry for entry in result["bases"]}
    out = []
    for entry in [found[name] for name in BASES if name in found]:
        rows = {row["strategy"]: row for row in entry["rows"]}
        out += [(entry, rows[name], rows["flat"]) for name in MODELS if name in rows]
    return out


def heads(entry: dict[str, Any], row: dict[str, Any]) -> tuple[str, str]:
    """The two cells that name a row; the classifier only once."""
    return (BASES[entry["base"]] if row["strategy"] == "flat" else "", MODELS[row["strategy"]])


def data_table(result: dict[str, Any]) -> str:
    header = ("classifier", "training rows", "test rows", "features", "products, pairs", "unseen")
    lines = []
    for entry in [e for e, row, _ in rows_of(result) if row["strategy"] == "flat"]:
        used, available = f"{entry['n_train']:,}", f"{entry['n_train_available']:,}"
        rows = used if used == available else f"{used} of {available}"
        sizes = (f"{entry['n_test']:,}", f"{entry['n_features']:,}")
        classes = ", ".join(map(str, entry["n_classes"]))
        lines.append((BASES[entry["base"]], rows, *sizes, classes, str(entry["n_unseen"])))
    return table(header, lines)


def quality_table(result: dict[str, Any]) -> str:
    header = ("classifier", "model", "hP", "hR", "hF", "hF minus flat, points", "exact")
    header += ("product: accuracy", "macro F1", "pair: accuracy", "macro F1")
    lines = []
    for entry, row, _ in rows_of(result):
        best = max(other["hF"] for other in entry["rows"])
        scores = [number(row[name], 3) for name in ("hP", "hR")]
        value = number(row["hF"], 3)
        scores.append(f"**{value}**" if row["hF"] == best else value)
        scores.append(interval(row["minus_flat"]) if "minus_flat" in row else "-")
        scores.append(number(row["exact"], 3))
        levels = zip(row["levels"]["accuracy"], row["levels"]["f1"], strict=True)
        scores += [number(value, 3) for level in levels for value in level]
        lines.append((*heads(entry, row), *scores))
    return table(header, lines)


def cost_table(result: dict[str, Any]) -> str:
    header = ("classifier", "model", "fit, CPU s", "ratio to flat", "fit, wall s", "peak MB")
    header += ("added by fit", "on disk MB", "ratio to flat", "predict, CPU s")
    lines = []
    for entry, row, flat in rows_of(result):
        times = [number(row["fit_cpu"], 2), ratio(row, flat, "fit_cpu"), number(row["fit_wall"], 2)]
        sizes = [number(value / MB, 0) for value in (row["fit_peak_bytes"], added(row))]
        sizes += [number(row["model_bytes"] / MB, 1), ratio(row, flat, "model_bytes")]
        lines.append((*heads(entry, row), *times, *sizes, number(row["predict_cpu"], 2)))
    return table(header, lines)


def ratio(row: dict[str, Any], flat: dict[str, Any], name: str) -> str:
    return f"{row[name] / flat[name]:.2f}"


def tuning_table(result: dict[str, Any]) -> str:
    header = ("classifier", "model", "chosen", "hF by cross-validation", "combinations tried")
    header += ("stopped early", "rows", "CPU s")
    lines = []
    for entry, row, _ in rows_of(result):
        if len(row["tuning"]) > 1:
            continue
        found = row["tuning"][0]
        chosen = ", ".join(f"`{k}={v}`" for k, v in found["params"].items())
        tried = f"{found['n_trials']} of {found['n_grid']}"
        counts = (tried, str(found["n_pruned"]), f"{found['n_rows']:,}", number(found["cpu"], 0))
        lines.append((*heads(entry, row), chosen, number(found["hF"], 3), *counts))
    return table(header, lines)


def short_table(result: dict[str, Any]) -> str:
    """Quality and cost in brief, for a run beside the main one."""
    header = ("classifier", "model", "hF", "hF minus flat, points", "fit, CPU s", "ratio to flat")
    header += ("added by fit, MB", "on disk MB")
    lines = []
    for entry, row, flat in rows_of(result):
        gain = interval(row["minus_flat"]) if "minus_flat" in row else "-"
        times = (number(row["fit_cpu"], 2), ratio(row, flat, "fit_cpu"))
        sizes = (number(added(row) / MB, 0), number(row["model_bytes"] / MB, 1))
        lines.append((*heads(entry, row), number(row["hF"], 3), gain, *times, *sizes))
    return table(header, lines)


def paper_table(result: dict[str, Any]) -> str:
    runs = [result, result.get("untuned", {"bases": []})]
    found = [
        {(e["base"], row["strategy"]): (row, flat) for e, row, flat in rows_of(r)} for r in runs
    ]
    lines = []
    for base, strategy, name, change in PAPER:
        cells = []
        for rows in found:
            row, flat = rows.get((base, strategy), (None, None))
            cells.append("-" if row is None else change_of(row[name], flat[name]))
            if row is not None and name == "fit_peak_bytes":
                cells[-1] += f" (what fit adds: {change_of(added(row), added(flat))})"
        head = (f"{MEASURES[name]}, {BASES[base]}", MODELS[strategy])
        lines.append((*head, f"{100 * change:+.0f} %", *cells))
    header = ("measure", "model", "paper, compared with flat", "here", "here, without tuning")
    return table(header, lines)


def findings(result: dict[str, Any]) -> str:
    """What the tables say in a few lines, counted from the results."""
    rows = [(entry, row, flat) for entry, row, flat in rows_of(result) if row is not flat]
    lines = []
    local = [found for found in rows if found[1]["strategy"] in LOCAL]
    gains = [100 * row["minus_flat"][0] for _, row, _ in local if row["minus_flat"][1] > 0]
    others = [
        f"{MODELS[row['strategy']]} with {BASES[entry['base']]} ({100 * row['minus_flat'][0]:+.1f})"
        for entry, row, _ in local
        if row["minus_flat"][1] <= 0
    ]
    gained = f", by {span(gains)} points" if gains else ""
    lines.append(
        f"- **hF.** {len(gains)} of {len(local)} local models are significantly better than the "
        f"flat model with the same classifier{gained}."
        + (f" The exception: {', '.join(others)}." if others else "")
    )
    for level, name in enumerate(("product", "pair")):
        moved = [difference(row, flat, level) for _, row, flat in local]
        lines.append(
            f"- **Accuracy of the {name}**, local minus flat: {span(moved, '+.1f')} points."
        )
    cells = {
        (row["strategy"], entry["base"]): f"{100 * row['minus_flat'][0]:+.1f}, "
        f"{ratio(row, flat, 'fit_cpu')}x, {ratio(row, flat, 'fit_peak_bytes')}x"
        for entry, row, flat in rows
    }
    bases = dict.fromkeys(base for _, base in cells)
    models = [name for name in MODELS if any(name == strategy for strategy, _ in cells)]
    header = ("compared with flat: hF, CPU s, peak memory", *(BASES[base] for base in bases))
    body = [(MODELS[name], *(cells.get((name, b), "-") for b in bases)) for name in models]
    return "\n".join(lines) + f"\n\n{table(header, body)}"


def difference(row: dict[str, Any], flat: dict[str, Any], level: int) -> float:
    """Accuracy of a level less that of the flat model, in points."""
    return 100 * (row["levels"]["accuracy"][level] - flat["levels"]["accuracy"][level])


def span(values: list[float], form: str = ".1f") -> str:
    return f"{min(values):{form}} to {max(values):{form}}"


def change_of(value: float, flat: float) -> str:
    return f"{100 * (value / flat - 1):+.0f} %"


def added(row: dict[str, Any]) -> int:
    """Memory beyond what Python, the libraries and the features take."""
    return row["fit_peak_bytes"] - row["fit_bytes_before"]


SECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "findings": findings,
    "data": data_table,
    "quality": quality_table,
    "cost": cost_table,
    "tuning": tuning_table,
    "untuned": lambda result: short_table(result["untuned"]),
    "by_date": lambda result: short_table(result["by_date"]),
    "paper": paper_table,
}


def sections(result: dict[str, Any]) -> dict[str, str]:
    """The tables of a result by name; those of runs beside the main one where there are any."""
    left_out = {"untuned", "by_date"} - set(result)
    return {name: make(result) for name, make in SECTIONS.items() if name not in left_out}


# -- figures -----------------------------------------------------------------------------------

# One colour for the baseline, one for the models that are compared with it.
FLAT, OURS = "#9aa3ad", "#2f6db3"
PANELS = {
    "hierarchical F-score": lambda row: row["hF"],
    "fit, CPU seconds": lambda row: row["fit_cpu"],
    "memory that fit adds, MB": lambda row: added(row) / MB,
    "size on disk, MB": lambda row: row["model_bytes"] / MB,
}


def draw_models(result: dict[str, Any], path: Path) -> None:
    """All measures of all models: a column per classifier, a row of bars per measure."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "hiclass"  # the same figure gives the same file

    rows = rows_of(result)
    bases = [name for name in BASES if any(entry["base"] == name for entry, _, _ in rows)]
    shape = (len(PANELS), len(bases))
    figure, axes = plt.subplots(*shape, figsize=(3.6 * len(bases), 8.4), squeeze=False)
    # Where all columns have the same bars, their names stand once.
    same = len({tuple(r["strategy"] for r in e["rows"]) for e in result["bases"]}) == 1
    for j, base in enumerate(bases):
        own = [row for entry, row, _ in rows if entry["base"] == base]
        names = [MODELS[row["strategy"]] for row in own]
        colours = [FLAT if row["strategy"] == "flat" else OURS for row in own]
        for i, (title, value) in enumerate(PANELS.items()):
            axis = axes[i, j]
            bars = axis.barh(names, [value(row) for row in own], color=colours)
            axis.bar_label(bars, fmt=label_of, padding=3, fontsize=8)
            axis.margins(x=0.22)
            axis.invert_yaxis()
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(labelsize=8)
            axis.set_xlabel(title, fontsize=8)
            if j and same:
                axis.set_yticklabels([])
        axes[0, j].set_title(BASES[base], fontsize=11)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def label_of(value: float) -> str:
    """Three digits at least, no more decimals than that needs."""
    return f"{value:.3f}" if value < 1 else f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def draw_gain(result: dict[str, Any], path: Path) -> None:
    """hF minus that of flat, with intervals."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "hiclass"

    rows = [(entry, row) for entry, row, _ in rows_of(result) if "minus_flat" in row]
    figure, axis = plt.subplots(figsize=(7.2, 0.8 + 0.3 * len(rows)))
    names = [f"{BASES[entry['base']]}, {MODELS[row['strategy']]}" for entry, row in rows]
    for position, (_, row) in enumerate(rows):
        middle, low, high = (100 * value for value in row["minus_flat"])
        sure = low > 0 or high < 0
        axis.plot([low, high], [position] * 2, color=OURS if sure else FLAT, linewidth=2)
        axis.plot(middle, position, "o", color=OURS if sure else FLAT)
    axis.axvline(0, color="black", linewidth=0.8)
    axis.set_yticks(range(len(rows)), names, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel(
        "hF minus flat, in points, with 95 % interval (grey: the interval holds zero)", fontsize=8
    )
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


FIGURES = {"study_models.svg": draw_models, "study_gain.svg": draw_gain}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", type=Path, required=True, help="what measure.py wrote")
    parser.add_argument("--markdown", metavar="PAGE", help="a page whose sections are replaced")
    parser.add_argument("--tables", type=Path, help="a file for the tables alone")
    parser.add_argument("--images", type=Path, help="a folder for the figures")
    args = parser.parse_args(argv)
    result = read_json(args.results)
    texts = sections(result)
    if args.tables:
        args.tables.write_text("\n\n".join(texts.values()) + "\n", encoding="utf-8")
    for name, text in texts.items() if args.markdown else ():
        write_section(args.markdown, name, text)
    if args.images:
        import matplotlib as mpl

        mpl.use("Agg")
        args.images.mkdir(parents=True, exist_ok=True)
        for name, draw in FIGURES.items():
            draw(result, args.images / name)


if __name__ == "__main__":
    main()
