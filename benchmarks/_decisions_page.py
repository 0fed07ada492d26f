"""The tables of decisions.py, from its results."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from _common import table, write_section
from _decisions_data import SOURCES

DECODINGS = ("top_down", "best_path", "expected_f1")
STRATEGY_NAMES = ("per node", "per parent", "per level")


def result_file(name: str) -> Path:
    """Where the results of a set are."""
    return Path(__file__).parent / "results" / f"decisions-{name}.json"


def number(value: Any, digits: int = 4) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def interval(value: list[float]) -> str:
    """A difference in points with its interval; bold where the interval leaves zero out."""
    middle, low, high = (f"{100 * v:+.1f}" for v in value)
    text = f"{middle} [{low}, {high}]"
    return f"**{text}**" if value[1] > 0 or value[2] < 0 else text


HEADER = ("model", "calibration", "decoding", "hF", "hP", "hR", "exact", "log loss", "fit s")
HEADER += ("predict s",)


def set_table(result: dict[str, Any]) -> str:
    """The table of one set, in a fixed order, with a dash for what does not exist."""
    rows = {row["name"]: row for row in result["rows"]}
    names = ["most frequent path", "flat, none, best_path"]
    names += [f"flat, temperature, {d}" for d in DECODINGS[1:]]
    for s in [s for s in STRATEGY_NAMES if any(name.startswith(s) for name in rows)]:
        names += [f"{s}, {c}, {d}" for c in ("none", "temperature") for d in DECODINGS]
        names += [f"{s}, joint, {d}" for d in DECODINGS if f"{s}, joint, {d}" in rows]
    names += [f"flat x per parent, temperature, {d}" for d in DECODINGS[1:]]
    learned = [f"flat x per parent, learned weights, {d}" for d in DECODINGS[1:]]
    names += [name for name in learned if name in rows]
    best = max(row["hF"] for row in rows.values())
    lines = []
    for name in names:
        head = (*name.split(", "), "", "")[:3]
        row = rows.get(name)
        if row is None:
            lines.append((*head, *"-------"))
            continue
        first = number(row["hF"])
        scores = [f"**{first}**" if row["hF"] == best else first]
        scores += [number(row[k]) for k in ("hP", "hR", "exact")] + [number(row["log_loss"], 3)]
        lines.append((*head, *scores, number(row["fit_s"], 1), number(row["predict_s"], 2)))
    notes: dict[str, list[str]] = {}
    for name, row in result.get("published", {}).items():
        head = (f"published 5.0.8, {name}", "none", "top_down")
        if "failed" in row:
            notes.setdefault(row["failed"], []).append(name)
            lines.append((*head, "fails", *"------"))
        else:
            scores = [number(row[k]) for k in ("hF", "hP", "hR", "exact")]
            lines.append(
                (*head, *scores, "-", number(row["fit_s"], 1), number(row["predict_s"], 2))
            )
    clock = "processor" if result.get("clock") == "cpu" else "wall-clock"
    text = (
        f"### {result['set']}\n\nChild `{result['child']}`, {result['n_train']:,} training rows, "
        f"{result['n_test']:,} test rows, {result['n_features']:,} features; "
        f"{result['n_unseen']} test rows end where no training row does. "
        f"Seconds are {clock} time.\n\n"
    )
    text += table(HEADER, lines)
    for reason, names in notes.items():
        text += f"\n\nThe published package fails {' and '.join(names)}: `{reason}`"
    return text


def recipe_tables(results: list[dict[str, Any]]) -> str:
    """Recipes by cross-validation, and what the chosen one and the fixed one gain."""
    done = [r for r in results if "joint" in r]
    recipes = {r["set"]: r["recipes"] | r["joint"]["recipes"] for r in done}
    names = list(recipes[done[0]["set"]])
    lines = []
    for name in names:
        cv = [recipes[r["set"]][name]["cv"] for r in done]
        lines.append((name, *map(number, cv), number(float(np.mean(cv)))))
    text = "hF by cross-validation on training rows:\n\n"
    text += table(("recipe, calibrated", *(r["set"] for r in done), "mean"), lines)
    fixed = max(names, key=lambda n: np.mean([recipes[r["set"]][n]["cv"] for r in done]))
    chosen = {name: max(found, key=lambda n: found[n]["cv"]) for name, found in recipes.items()}
    for title, pick in (
        ("The recipe that cross-validation chose for each set", lambda r: chosen[r["set"]]),
        (f"One recipe for all sets, the best on average: {fixed}", lambda r: fixed),
    ):
        lines = []
        for r in done:
            recipe = recipes[r["set"]][pick(r)]
            gains = (interval(recipe["minus flat"]), interval(recipe["minus greedy"]))
            lines.append((r["set"], pick(r), number(recipe["hF"]), *gains))
        text += f"\n\n{title}, on test rows:\n\n"
        text += table(("set", "recipe", "hF", "minus flat", "minus per-parent greedy"), lines)
    text += "\n\nThe best path with a temperature minus greedy descent without:\n\n"
    lines = []
    for r in [r for r in results if "best_path minus top_down" in r]:
        gains = [r["best_path minus top_down"].get(s) for s in STRATEGY_NAMES]
        lines.append((r["set"], *("-" if g is None else interval(g) for g in gains)))
    return text + table(("set", *STRATEGY_NAMES), lines)


def joint_table(results: list[dict[str, Any]]) -> str:
    """A temperature beside the joint calibration, and equal beside learned weights."""
    pairs = (
        ("per parent", "per parent, joint"),
        ("flat x per parent", "flat x per parent, learned weights"),
    )
    lines, scores = [], []
    done = [r for r in results if "joint" in r]
    for r in done:
        rows = {row["name"]: row for row in r["rows"]}
        line, found = [r["set"]], []
        for old, new in pairs:
            for decoding in DECODINGS[1:]:
                cv = (
                    r["recipes"][f"{old}, {decoding}"]["cv"],
                    r["joint"]["recipes"][f"{new}, {decoding}"]["cv"],
                )
                found.append(cv)
                line.append(" / ".join(map(number, cv)))
            losses = [rows[f"{n}, best_path"]["log_loss"] for n in (f"{old}, temperature", new)]
            line.append(" / ".join(number(loss, 3) for loss in losses))
        line.append(" : ".join(f"{w:.2f}" for w in r["joint"]["weights"]))
        lines.append(line)
        scores.append(found)
    means = [" / ".join(map(number, pair)) for pair in np.mean(scores, axis=0)]
    lines.append(["mean", *means[:2], "", *means[2:], "", ""])
    header = ["set"]
    for model in ("per parent", "ensemble"):
        header += [f"{model}: {what}" for what in ("best path", "expected F1", "log loss")]
    return table([*header, "weights flat : local"], lines)


def groups_table(result: dict[str, Any]) -> str:
    """Folds of rows beside folds of whole groups."""
    lines = []
    for row in result["rows"]:
        head = (row["name"], row["folds"])
        scores = (number(row["expected"], 3), number(row["hF"], 3), number(row["best_path"], 3))
        gain = interval(row["gain"]) if "gain" in row else ""
        losses = (number(row["log_loss"], 3), number(row["calibration_error"], 3))
        cover = f"{100 * row['coverage']:.0f} %" if "coverage" in row else "-"
        lines.append((*head, *scores[:2], gain, scores[2], *losses, cover))
    header = ("model", "folds of", "hF expected", "hF reached", "gain", "hF of best_path")
    header += ("log loss", "calibration error", "coverage of 90 %")
    return table(header, lines)


def conformal_table(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        cover = number(row["coverage"], 3)
        if row["error"] is not None:
            cover += f" ± {row['error']:.3f}"
        size = number(row["size"], 1) if row["kind"] == "set" else "-"
        depth = number(row["depth"], 2)
        head = (row["data"], str(row["repetitions"]), f"{1 - row['alpha']:.2f}", row["kind"])
        lines.append((*head, cover, depth, size))
    header = ("data", "repetitions", "asked for", "kind", "coverage", "mean depth", "classes named")
    return table(header, lines)


def write_page(page: str) -> None:
    """Put all tables into the page."""
    files = [result_file(name) for name in SOURCES if result_file(name).exists()]
    results = [json.loads(file.read_text()) for file in files]
    write_section(page, "tables", "\n\n".join(map(set_table, results)))
    write_section(page, "recipes", recipe_tables(results))
    write_section(page, "joint", joint_table(results))
    for r in results:
        if "groups" in r:
            write_section(page, "groups", groups_table(r["groups"]))
        if "cost" in r:
            seconds = {k: f"{v:.2f} s" for k, v in r["cost"]["seconds"].items()}
            lines = [(*seconds.values(), f"{r['cost']['ratio']:.2f}")]
            write_section(page, "cost", table((*seconds, "best_path / top_down"), lines))
    if result_file("conformal").exists():
        found = json.loads(result_file("conformal").read_text())
        write_section(
            page, "conformal", conformal_table([row for rows in found.values() for row in rows])
        )
