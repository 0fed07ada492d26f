"""The tables of decisions.py, from its results."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _common import table, write_section
from _decisions_data import SOURCES

DECODINGS = ("top_down", "best_path", "expected_f1")
STRATEGY_NAMES = ("per node", "per parent", "per level")


def unseen(n_rows: int) -> str:
    """How many test rows no model can predict completely, as a sentence."""
    if not n_rows:
        return "Every class of the test rows has training rows."
    return f"{n_rows} test rows have a class without training rows."


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
        head = (f"hiclass 5.0.8, {name}", "none", "top_down")
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
        f"## {result['set']}\n\nLocal classifier `{result['child']}`, "
        f"{result['n_train']:,} training rows, {result['n_test']:,} test rows, "
        f"{result['n_features']:,} features. {unseen(result['n_unseen'])} "
        f"Seconds are {clock} time.\n\n"
    )
    text += table(HEADER, lines)
    for reason, names in notes.items():
        text += f"\n\nhiclass 5.0.8 fails {' and '.join(names)}: `{reason}`"
    return text


def recipes_of(results: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any], str]:
    """The sets with all recipes, the recipes of each, and the one that is best on average."""
    done = [r for r in results if "joint" in r]
    recipes = {r["set"]: r["recipes"] | r["joint"]["recipes"] for r in done}
    names = list(recipes[done[0]["set"]])
    fixed = max(names, key=lambda n: np.mean([recipes[r["set"]][n]["cv"] for r in done]))
    return done, recipes, fixed


def gains_table(results: list[dict[str, Any]]) -> str:
    """What the recipe that is best on average gains on test rows."""
    done, recipes, fixed = recipes_of(results)
    lines = []
    for r in done:
        recipe = recipes[r["set"]][fixed]
        gains = (interval(recipe["minus flat"]), interval(recipe["minus greedy"]))
        lines.append((r["set"], number(recipe["hF"]), *gains))
    return table(("set", "hF", "gain over flat", "gain over greedy"), lines)


def recipe_tables(results: list[dict[str, Any]]) -> str:
    """Recipes by cross-validation, what the chosen ones gain, and what searching gains."""
    done, recipes, fixed = recipes_of(results)
    lines = []
    for name in recipes[done[0]["set"]]:
        cv = [recipes[r["set"]][name]["cv"] for r in done]
        mean = number(float(np.mean(cv)))
        lines.append((name, *map(number, cv), f"**{mean}**" if name == fixed else mean))
    text = "hF by cross-validation on training rows:\n\n"
    text += table(("recipe, calibrated", *(r["set"] for r in done), "mean"), lines)
    lines = []
    for r in done:
        found = recipes[r["set"]]
        chosen = max(found, key=lambda n: found[n]["cv"])
        recipe = found[chosen]
        gains = (interval(recipe["minus flat"]), interval(recipe["minus greedy"]))
        lines.append((r["set"], chosen, number(recipe["hF"]), *gains))
    text += "\n\nThe recipe that cross-validation chose for each set, on test rows:\n\n"
    text += table(("set", "recipe", "hF", "gain over flat", "gain over greedy"), lines)
    text += f"\n\nThe best recipe on average is: {fixed}. [What it gains](../decisions.md).\n\n"
    text += "The most probable path with a temperature, minus greedy descent without one:\n\n"
    lines = []
    for r in [r for r in results if "best_path minus top_down" in r]:
        gains = [r["best_path minus top_down"].get(s) for s in STRATEGY_NAMES]
        lines.append((r["set"], *("-" if g is None else interval(g) for g in gains)))
    return text + table(("set", *STRATEGY_NAMES), lines)


PAIRS = (
    ("per parent", "per parent, joint"),
    ("flat x per parent", "flat x per parent, learned weights"),
)


def joint_table(results: list[dict[str, Any]]) -> str:
    """A temperature and the joint calibration, equal and learned weights, out of fold."""
    lines, scores = [], []
    for r in [r for r in results if "joint" in r]:
        found = []
        for old, new in PAIRS:
            found.append(r["recipes"][f"{old}, expected_f1"]["cv"])
            found.append(r["joint"]["recipes"][f"{new}, expected_f1"]["cv"])
        lines.append((r["set"], *map(number, found)))
        scores.append(found)
    lines.append(("mean", *map(number, np.mean(scores, axis=0))))
    header = ("set", "per parent: temperature", "joint", "ensemble: equal weights", "learned")
    return table(header, lines)


def joint_losses(results: list[dict[str, Any]]) -> str:
    """The same by log loss, and the weights."""
    lines = []
    for r in [r for r in results if "joint" in r]:
        rows = {row["name"]: row for row in r["rows"]}
        names = [n for old, new in PAIRS for n in (f"{old}, temperature", new)]
        losses = [number(rows[f"{name}, best_path"]["log_loss"], 3) for name in names]
        weights = " : ".join(f"{w:.2f}" for w in r["joint"]["weights"])
        lines.append((r["set"], *losses, weights))
    header = ("set", "per parent: temperature", "joint", "ensemble: equal weights", "learned")
    return table((*header, "flat : local"), lines)


def groups_table(result: dict[str, Any]) -> str:
    """Folds of rows and folds of whole groups: F-scores."""
    lines = []
    for row in result["rows"]:
        gain = interval(row["gain"]) if "gain" in row else ""
        lines.append(
            (row["name"], row["folds"], number(row["expected"], 3), number(row["hF"], 3), gain)
        )
    return table(("model", "folds of", "hF expected", "hF reached", "gain"), lines)


def groups_calibration(result: dict[str, Any]) -> str:
    """Folds of rows and folds of whole groups: probabilities."""
    lines = []
    for row in result["rows"]:
        losses = (number(row["log_loss"], 3), number(row["calibration_error"], 3))
        cover = f"{100 * row['coverage']:.0f} %" if "coverage" in row else "-"
        lines.append((row["name"], row["folds"], number(row["best_path"], 3), *losses, cover))
    header = ("model", "folds of", "hF of best_path", "log loss", "calibration error")
    return table((*header, "coverage of 90 %"), lines)


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
    header = ("data", "repetitions", "target", "kind", "coverage", "mean depth", "classes in set")
    return table(header, lines)


def write_page(page: str) -> None:
    """Put the tables of a page into it; which they are, its sections say."""
    files = [result_file(name) for name in SOURCES if result_file(name).exists()]
    results = [json.loads(file.read_text()) for file in files]
    text = Path(page).read_text(encoding="utf-8")
    for name, make in SECTIONS.items():
        if f"<!-- {name} -->" in text:
            write_section(page, name, make(results))


def _cost(results: list[dict[str, Any]]) -> str:
    cost = next(r["cost"] for r in results if "cost" in r)
    seconds = {k: f"{v:.2f} s" for k, v in cost["seconds"].items()}
    return table((*seconds, "best_path / top_down"), [(*seconds.values(), f"{cost['ratio']:.2f}")])


def _conformal(results: list[dict[str, Any]]) -> str:
    found = json.loads(result_file("conformal").read_text())
    return conformal_table([row for rows in found.values() for row in rows])


def _groups(results: list[dict[str, Any]]) -> dict[str, Any]:
    return next(r["groups"] for r in results if "groups" in r)


SECTIONS: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    "gains": gains_table,
    "tables": lambda results: "\n\n".join(map(set_table, results)),
    "recipes": recipe_tables,
    "joint": joint_table,
    "joint_losses": joint_losses,
    "groups": lambda results: groups_table(_groups(results)),
    "groups_calibration": lambda results: groups_calibration(_groups(results)),
    "cost": _cost,
    "conformal": _conformal,
}
