"""How many rows models can answer by themselves, and whether guarantees of errors hold.

    python benchmarks/automation.py --data FOLDER --environments FOLDER [--draws 1000]

Every model is fitted on the training rows of a set; the test rows are held out. First table: the
share of the test rows that each model answers at a level if at most 3, 5 or 10 % of the answers may
be wrong (the threshold is the best one for these rows), with intervals of the differences over
1,000 paired resamples. Second table: the test rows are the population; rows of calibration are
drawn from them with replacement again and again, a threshold is chosen on each draw, and the
population says how many of its answers are wrong. Writes results/automation.json.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import bdtr

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "race"))

from _automation_scores import from_endings, judge  # noqa: E402, F401
from _common import environment, table, write_section  # noqa: E402
from environments import InstallError, python_of  # noqa: E402
from sets import load, prepare  # noqa: E402

from hiclass._out_of_fold.selective import walk_errors  # noqa: E402

RESULT = HERE / "results" / "automation.json"
SETS = ("naics", "cfpb", "clinc150", "greengenes", "anuran", "ImCLEF07A")
MODELS = ("hiclass", "flat", "neighbours", "PECOS")
LIMITS = (0.03, 0.05, 0.10)
RISK = 0.05
N_RESAMPLES = 1000


# -- scores ------------------------------------------------------------------------------------


def scores(name: str, model: str, file: Path, to: Path, environments: Path) -> Any:
    """Confidence and errors of a model on the test rows, by level; made once."""
    kept = to / f"{name}-{model}.npz"
    if model == "PECOS":
        raw = to / f"{name}-pecosraw.npz"
        if not raw.exists():
            try:
                python = python_of("pecos", environments)
            except InstallError as error:
                print(f"{name}: no PECOS ({error})", file=sys.stderr)
                return None
            run([str(python), str(HERE / "_automation_pecos.py"), str(file), str(raw)])
        race, y, found = load(file), np.load(file)["paths_test"], np.load(raw)
        return from_endings(race, y, found["endings"], found["scores"])
    if not kept.exists():
        run([sys.executable, str(HERE / "_automation_scores.py"), str(file), model, str(kept)])
    return np.load(kept)


def run(command: list[str]) -> None:
    subprocess.run(command, check=True)


# -- shares at an error ------------------------------------------------------------------------


def share_at(confidence: np.ndarray, wrong: np.ndarray, limit: float) -> float:
    """The largest share of all rows that a threshold answers with at most so many errors."""
    order = np.argsort(-confidence, kind="stable")
    ordered = confidence[order]
    n_wrong = np.cumsum(wrong[order])
    size = np.arange(1, len(order) + 1)
    ends = np.append(ordered[1:] != ordered[:-1], True) & (ordered >= 0)
    good = np.flatnonzero(ends & (n_wrong <= limit * size))
    return float(size[good[-1]] / len(order)) if len(good) else 0.0


def answered(found: Any, level: int) -> tuple[np.ndarray, np.ndarray]:
    """Confidence at a level, -1 where there is no label, and errors."""
    return np.nan_to_num(found["confidence"][:, level], nan=-1.0), found["wrong"][:, level]


def compare(found: dict[str, Any], level: int, groups: np.ndarray | None) -> dict[str, Any]:
    """Shares of all models at a level, and how they differ from ours over resampled rows."""
    columns = {name: answered(one, level) for name, one in found.items()}
    shares = {n: {str(x): share_at(*c, x) for x in LIMITS} for n, c in columns.items()}
    rng, n = np.random.default_rng(0), len(next(iter(columns.values()))[0])
    unit = np.arange(n) if groups is None else groups
    members = [np.flatnonzero(unit == u) for u in np.unique(unit)] if groups is not None else None
    resampled: dict[str, list[list[float]]] = {name: [] for name in columns}
    for _ in range(N_RESAMPLES):
        rows = rng.integers(0, n, n)
        if members is not None:
            rows = np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])
        for name, (confidence, wrong) in columns.items():
            resampled[name].append([share_at(confidence[rows], wrong[rows], x) for x in LIMITS])
    ours = np.array(resampled["hiclass"])
    differences = {}
    for name, values in resampled.items():
        if name != "hiclass":
            low, high = np.percentile(ours - np.array(values), [2.5, 97.5], axis=0)
            differences[name] = {
                str(x): [shares["hiclass"][str(x)] - shares[name][str(x)], low[i], high[i]]
                for i, x in enumerate(LIMITS)
            }
    return {"shares": shares, "ours_minus": differences}


# -- guarantees --------------------------------------------------------------------------------


def search_with_union_bound(
    confidence: np.ndarray, wrong: np.ndarray, limit: float, risk: float
) -> float:
    """The other method: binary search for the threshold, with the risk divided by its steps.

    Selection with guaranteed risk, Geifman and El-Yaniv 2017, with the exact binomial bound.
    """
    order = np.argsort(-confidence, kind="stable")
    ordered, n_wrong = confidence[order], np.cumsum(wrong[order])
    sizes = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) + 1
    n_steps = int(np.ceil(np.log2(len(order))))
    low, high, found = 0, len(sizes) - 1, np.inf
    for _ in range(n_steps):
        if low > high:
            break
        middle = (low + high) // 2
        size = sizes[middle]
        if bdtr(n_wrong[size - 1], size, limit) <= risk / n_steps:
            found, low = float(ordered[size - 1]), middle + 1
        else:
            high = middle - 1
    return found


METHODS = {
    "fixed sequence": lambda *given: walk_errors(*given).threshold,
    "binary search": search_with_union_bound,
}


class Population:
    """Rows that are drawn from, and what each threshold means for all of them."""

    def __init__(self, confidence: np.ndarray, wrong: np.ndarray) -> None:
        keep = confidence >= 0
        self.confidence, self.wrong, self.n = confidence[keep], wrong[keep], len(confidence)
        order = np.argsort(-self.confidence, kind="stable")
        self._ordered = -self.confidence[order]
        self._n_wrong = np.concatenate([[0], np.cumsum(self.wrong[order])])

    def outcome(self, threshold: float) -> tuple[float, float]:
        """The share of all rows that is answered, and the share of wrong ones among these."""
        size = int(np.searchsorted(self._ordered, -threshold, side="right"))
        return size / self.n, self._n_wrong[size] / size if size else 0.0


def draw(
    confidence: np.ndarray, wrong: np.ndarray, limit: float, n_rows: int, n_draws: int
) -> dict[str, Any]:
    """How often the error exceeds the limit, and how much is answered, over many draws."""
    population, rng = Population(confidence, wrong), np.random.default_rng(0)
    outcomes: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
    for _ in range(n_draws):
        rows = rng.integers(0, len(population.confidence), n_rows)
        given = population.confidence[rows], population.wrong[rows]
        for name, choose in METHODS.items():
            outcomes[name].append(population.outcome(choose(*given, limit, RISK)))
    result: dict[str, Any] = {"oracle": share_at(confidence, wrong, 0.8 * limit)}
    for name, found in outcomes.items():
        shares, errors = np.array(found).T
        result[name] = {
            "exceeds": float((errors > limit).mean()),
            "share": float(shares.mean()),
            "none": float((shares == 0).mean()),
        }
    return result


def simulated(kind: str, n: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Made-up populations: calibrated, overconfident, with ties, and with errors at the top."""
    rng = np.random.default_rng(7)
    confidence = rng.beta(2.5, 0.6, n)
    right = {"overconfident": confidence**1.5}.get(kind, confidence)
    wrong = rng.random(n) > right
    if kind == "ties":
        confidence = confidence.round(2)
    if kind == "errors at the top":
        # The surest rows are wrong more often than the limit, those below them are not.
        wrong[np.argsort(-confidence)[: n // 25]] = rng.random(n // 25) < 0.08
    return confidence, wrong


#: The population in which the error crosses the limit more than once.
CROSSES_TWICE = "simulated, errors at the top"
SIMULATED = ("calibrated", "overconfident", "ties", "errors at the top")


def hold(populations: dict[str, Any], n_draws: int) -> list[dict[str, Any]]:
    """The second table."""
    found = []
    for (name, level, ties), (confidence, wrong) in populations.items():
        for limit in (0.05, 0.10):
            for n_rows in (500, 5000):
                result = draw(confidence, wrong, limit, n_rows, n_draws)
                row = {"set": name, "level": level, "ties": ties, "limit": limit, "rows": n_rows}
                found.append({**row, **result})
                print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    return found


# -- the page ----------------------------------------------------------------------------------


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def automation_table(result: dict[str, Any]) -> str:
    rows = []
    for name, of in result["sets"].items():
        for limit in map(str, LIMITS):
            cells = [name, f"{float(limit):.0%}", percent(of["shares"]["hiclass"][limit])]
            for model in MODELS[1:]:
                if model not in of["ours_minus"]:
                    cells += ["-", "-"]
                    continue
                difference, low, high = (100 * x for x in of["ours_minus"][model][limit])
                text = f"{difference:+.1f} ({low:+.1f}, {high:+.1f})"
                cells += [
                    percent(of["shares"][model][limit]),
                    f"**{text}**" if low > 0 or high < 0 else text,
                ]
            rows.append(cells)
    header = ["set, deepest level", "wrong at most", "hiclass, %"]
    for model in MODELS[1:]:
        header += [f"{model}, %", f"hiclass minus {model}"]
    return table(header, rows)


def guarantee_table(result: dict[str, Any]) -> str:
    rows = []
    for of in result["guarantees"]:
        fixed, search = of["fixed sequence"], of["binary search"]
        rows.append(
            [
                of["set"] + (", ties" if of["ties"] else ""),
                str(of["level"]),
                f"{of['limit']:.0%}",
                f"{of['rows']:,}",
                percent(fixed["exceeds"]),
                percent(fixed["share"]),
                percent(search["exceeds"]),
                percent(search["share"]),
                percent(of["oracle"]),
            ]
        )
    header = ["population", "level", "limit", "rows", "exceeds, %", "labelled, %"]
    header += ["search: exceeds, %", "search: labelled, %", "oracle at 4/5 of the limit, %"]
    return table(header, rows)


def write_page(page: str) -> None:
    """Write the tables into the page of the appendix."""
    result = json.loads(RESULT.read_text())
    write_section(page, "automation", automation_table(result))
    write_section(page, "guarantees", guarantee_table(result))


def write_summary(page: str) -> None:
    """Write the summary into the page on guarantees."""
    write_section(page, "guarantees_summary", summary(json.loads(RESULT.read_text())))


def summary(result: dict[str, Any]) -> str:
    """The worst of everything, in words."""
    rows = result["guarantees"]
    worst = max(of["fixed sequence"]["exceeds"] for of in rows)
    many = [of for of in rows if of["rows"] == 5000]
    enough = [of for of in many if 5000 * of["oracle"] >= answers_needed(of["limit"])]
    usual = [of for of in enough if of["set"] != CROSSES_TWICE]
    gaps = [100 * (of["fixed sequence"]["share"] - of["oracle"]) for of in usual]
    few = [of for of in many if of not in enough]
    lost = [100 * (of["fixed sequence"]["share"] - of["oracle"]) for of in few]
    better = sum(of["fixed sequence"]["share"] >= of["binary search"]["share"] for of in rows)
    return "\n".join(
        [
            f"Calibration rows were drawn {result['draws']:,} times in each of {len(rows)} cases "
            "(data set, level, limit and number of rows):",
            "",
            f"- **Yes.** The error exceeded the limit in at most {100 * worst:.1f} % of the draws.",
            f"- With 5,000 calibration rows, the share of labelled rows minus that of an oracle at "
            f"four fifths of the limit is {min(gaps):+.1f} to {max(gaps):+.1f} points, in the "
            f"{len(usual)} cases with enough rows. An exact test with 95 % certainty needs about "
            f"{answers_needed(0.05):,} labelled rows at a limit of 5 %, and "
            f"{answers_needed(0.1):,} at 10 %, to distinguish four fifths of the limit from the "
            "limit.",
            f"- In the {len(few)} cases with fewer rows, the share of labelled rows is "
            f"{min(map(abs, lost)):.1f} to {max(map(abs, lost)):.1f} points below that of the "
            "oracle.",
            "- If the most confident rows are wrong more often than the limit, the assumption of "
            "one crossing is violated. The guarantee still held, but few rows got a label.",
            f"- A binary search for the threshold labels more rows in only {len(rows) - better} of "
            f"{len(rows)} cases.",
        ]
    )


def answers_needed(limit: float) -> int:
    """How many answers tell an error of four fifths of the limit from the limit, half the time."""
    return int(np.ceil(1.645**2 * (1 - limit) / (0.2**2 * limit)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the Parquet files")
    parser.add_argument("--environments", type=Path, default=Path("build/environments"))
    parser.add_argument("--to", type=Path, default=Path("build/automation"))
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    sets: dict[str, Any] = {}
    populations: dict[tuple[str, int, bool], Any] = {}
    for name in options.sets:
        file = prepare(name, options.data, options.to / "sets", quick=False)
        if file is None:
            continue
        found = {m: scores(name, m, file, options.to, options.environments) for m in MODELS}
        found = {model: one for model, one in found.items() if one is not None}
        depth = found["hiclass"]["confidence"].shape[1]
        groups = np.load(file).get("groups_test")
        sets[name] = compare(found, depth - 1, groups)
        if name in ("naics", "cfpb", "clinc150"):
            for level in range(depth):
                confidence, wrong = answered(found["hiclass"], level)
                populations[name, level + 1, False] = confidence, wrong
                populations[name, level + 1, True] = confidence.round(2), wrong
    for kind in SIMULATED:
        populations[f"simulated, {kind}", 1, False] = simulated(kind)
    result = {
        **environment(),
        "draws": options.draws,
        "sets": sets,
        "guarantees": hold(populations, options.draws),
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(automation_table(result), guarantee_table(result), summary(result), sep="\n\n")


if __name__ == "__main__":
    main()
