"""The tables and figures of the comparison with other libraries, from its results."""

import json
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from statistics import geometric_mean, mean, median
from typing import Any

from _common import table
from _decisions_page import interval, unseen

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "race"))

from contestants import (  # noqa: E402
    CALIBRATED,
    FAST,
    QUICK,
    RECOMMENDED,
    pairs,
    peers,
)
from margins import CALIBRATIONS, DECODINGS, FACTORS, TEMPERATURES, name_of  # noqa: E402

RESULTS = HERE / "results"
SETS = ("cfpb", "naics", "clinc150", "greengenes", "synthetic")
RECIPES = (FAST, QUICK, CALIBRATED)
PUBLISHED = "hiclass 5.0.8"
OURS = "hiclass, "  # how the names of our contestants begin
PEERS = ("PECOS XLinear", "napkinXC PLT", "napkinXC HSM")
FLAT, GREEDY_LOGISTIC = "flat LinearSVC", "hiclass, greedy logistic"
BASELINE = "most frequent path"
ONE_PROCESS = "sklearn-hierarchical-classification"
SHOWN = {  # packages whose versions the page names
    "hiclass", "scikit-learn", "numpy", "libpecos", "napkinxc", "omikuji", "libmultilabel",
    "fasttext-wheel", "sklearn-hierarchical-classification", "liblinear-multicore",
}  # fmt: skip
SHOWN_BELOW = 0.15
NOBODY_BETTER = "No library is significantly better on any set."
LIMIT_PUBLISHED, LIMIT_PEERS = 1.05, 2.5


def margins_table() -> str:
    """What cross-validation on training rows says about C and the reading of margins."""
    result = json.loads((RESULTS / "race-margins.json").read_text())
    rows = []
    for factor, calibration, decoding in product(FACTORS, CALIBRATIONS, DECODINGS):
        row = [growth(factor), calibration, decoding]
        for temperature in TEMPERATURES:
            key = name_of(factor, calibration, decoding, temperature)
            score = f"{result['mean'][key]:.4f}"
            row.append(f"**{score}**" if key == result["chosen"] else score)
        rows.append(row)
    header = ("C", "calibration", "decoding", *(f"T = {t:g}" for t in TEMPERATURES))
    tolerance = result["tolerance"]
    means = [f"{score:.4f} with {tol}" for tol, score in tolerance["mean"].items()]
    return (
        f"{table(header, rows)}\n\nThe tolerance was then raised as long as this mean fell by "
        f"less than 0.2 points: {listed(means)}. The choice is {tolerance['chosen']:g}."
    )


def recommended_table() -> str:
    """What cross-validation on training rows says about the recommended recipe."""
    result = json.loads((RESULTS / "race-margins.json").read_text())["recommended"]
    names = list(result["sets"])
    rows = []
    for key, average in result["mean"].items():
        factor, flat, local = key.split(", ")
        score = f"**{average:.4f}**" if key == result["chosen"] else f"{average:.4f}"
        scores = [f"{result['sets'][name][key]:.4f}" for name in names]
        rows.append((flat, local, growth(float(factor)), *scores, score))
    return table(("flat", "per parent", "its C", *names, "mean"), rows)


def growth(factor: float) -> str:
    return "1" if factor == 1 else f"0.5 x {factor:g}^depth"


def load_results() -> list[dict[str, Any]]:
    """The stored results, in the order of the page."""
    files = [RESULTS / f"race-{name}.json" for name in SETS]
    return [json.loads(file.read_text()) for file in files if file.exists()]


def middle(entry: dict[str, Any], key: str) -> float | None:
    """The median of the runs of a contestant, None where it did not get that far."""
    values = [run[key] for run in entry.get("runs", ()) if key in run] if "hF" in entry else []
    return median(values) if values else None


def shown(value: float | None, form: str = ".2f", unit: float = 1) -> str:
    return "-" if value is None else format(value / unit, form)


def race_table(result: dict[str, Any]) -> str:
    """The table of one set, the highest hF first."""
    peers = result["peers"]
    done = {name: entry for name, entry in peers.items() if "hF" in entry}
    fast = middle(peers[FAST], "fit_s")
    best = max(entry["hF"] for entry in done.values())
    rows = []
    for name, entry in sorted(done.items(), key=lambda item: -item[1]["hF"]):
        fit = middle(entry, "fit_s")
        cpu = sum(middle(entry, f"{step}_cpu_s") or 0 for step in ("fit", "predict"))
        score = f"{entry['hF']:.4f}"
        row = [name, entry["tree"], f"**{score}**" if entry["hF"] == best else score]
        row += [f"{entry['exact']:.4f}", shown(fit), shown(middle(entry, "predict_s"))]
        row += [f"{cpu:.1f}", "-" if not (fit and fast) else f"{fit / fast:.1f}x"]
        row += [shown(middle(entry, "peak_bytes"), ",.0f", 1e6)]
        row += [shown(middle(entry, "size_bytes"), ",.1f", 1e6), str(len(entry["runs"]))]
        difference = entry.get("recommended_minus")
        row.append("-" if difference is None else interval(difference))
        rows.append(row)
    failures = [f"{n}: {e['failed']}" for n, e in peers.items() if "failed" in e]
    header = [
        "model",
        "tree",
        "hF",
        "exact",
        "fit s",
        "predict s",
        "CPU s",
        "fit / greedy SVC",
    ]
    header += ["peak MB", "model MB", "runs", "recommended minus it"]
    size = result["size"]
    kind = "sparse" if size["sparse"] else "dense"
    text = (
        f"## {result['set']}\n\n{size['rows']:,} training rows, {size['test_rows']:,} test rows, "
    )
    text += f"{size['features']:,} {kind} features, {size['leaves']:,} classes, {size['nodes']:,} "
    text += f"nodes, depth {size['depth']}. {unseen(size['unseen_test_rows'])}\n\n"
    text += table(header, rows)
    if failures:
        text += "\n\nNo result: " + "; ".join(f"`{failure}`" for failure in failures) + "."
    return text


def summary_text(results: list[dict[str, Any]]) -> str:
    """The findings in a few lines, counted from the results."""
    first, below = [], []
    for result in results:
        peers = {n: e for n, e in result["peers"].items() if "hF" in e}
        if peers[RECOMMENDED]["hF"] == max(e["hF"] for e in peers.values()):
            first.append(result["set"])
        below += [
            f"{name} on {result['set']}"
            for name, entry in peers.items()
            if entry.get("recommended_minus", [0, 0, 0])[2] < 0
        ]
    lines = [
        f"- **Quality.** The recommended recipe has the highest hF of all models on "
        f"{len(first)} of {len(results)} sets ({listed(first)}). "
        + (f"Significantly better: {listed(below)}." if below else NOBODY_BETTER)
    ]
    parts = [
        f"{span(ratios(results, QUICK, peer, 'fit_s'))} times as long as {peer}" for peer in PEERS
    ]
    ahead = [
        f"{peer} on {listed(names)}"
        for peer in PEERS
        if (names := [r["set"] for r in results if lower(r, QUICK, peer)])
    ]
    lines.append(
        f"- **Speed.** To fit, our quick recipe needs {listed(parts)}. It has a lower hF than "
        f"{'; '.join(ahead) or 'none of them on any set'}."
    )
    both = list(pairs_of(results))
    cpu = {where: value_of(o, "cpu") / value_of(t, "cpu") for where, o, t in both}
    times = list(cpu.values())
    slower = [where for where, ratio in cpu.items() if ratio > LIMIT_PUBLISHED]
    worse = [where for where, ours, theirs in both if ours["hF"] < theirs["hF"]]
    more = [w for w, o, t in both if middle(o, "peak_bytes") > middle(t, "peak_bytes")]
    lines.append(
        f"- **hiclass 5.0.8.** In {len(both)} comparisons with the same local classifier, ours "
        f"needs {min(times):.2f} to {max(times):.2f} times its processor time (median "
        f"{median(times):.2f}). {sentence('is never slower', 'is slower', slower)} "
        f"{sentence('never has a lower hF', 'has a lower hF', worse)} "
        f"{sentence('never needs more memory', 'needs more memory', more)}"
    )
    gains = {
        r["set"]: 100 * (r["peers"][FLAT]["hF"] - r["peers"][FAST]["hF"])
        for r in results
        if "hF" in r["peers"].get(FLAT, {})
    }
    flat_wins = [f"{name} ({gain:+.1f} points)" for name, gain in gains.items() if gain > 0]
    lines.append(
        f"- **Flat models.** A {FLAT} has a higher hF than our greedy SVC on {listed(flat_wins)}."
    )
    return "\n".join(lines)


def sentence(never: str, worse: str, where: list[str]) -> str:
    """A sentence on where our model is worse, or that it never is."""
    return f"Ours {worse} on {listed(where)}." if where else f"Ours {never}."


def lower(result: dict[str, Any], ours: str, other: str) -> bool:
    """Whether one contestant has a lower hF than another on a set."""
    entries = [result["peers"].get(name, {}) for name in (ours, other)]
    return all("hF" in e for e in entries) and entries[0]["hF"] < entries[1]["hF"]


def ratios(results: list[dict[str, Any]], ours: str, other: str, key: str) -> list[float]:
    """Medians of one contestant divided by those of another, on the sets that both finished."""
    found = [[middle(r["peers"].get(n, {}), key) for n in (ours, other)] for r in results]
    return [a / b for a, b in found if a is not None and b]


def span(values: list[float], form: str = ".1f") -> str:
    """Smallest to largest, or a dash."""
    ends = [format(value, form) for value in (min(values), max(values))] if values else ["-"]
    return " to ".join(dict.fromkeys(ends))


def losses_text(results: list[dict[str, Any]]) -> str:
    """Where our recipes are behind, counted from the results."""
    behind_all: list[str] = []
    slower: list[str] = []
    for peer in PEERS:
        behind, late = [], []
        for result in results:
            entries = result["peers"]
            theirs = entries.get(peer, {})
            if "hF" not in theirs:
                continue
            equal = [n for n in RECIPES if entries[n]["hF"] >= theirs["hF"]]
            times = [middle(entries[n], "fit_s") / middle(theirs, "fit_s") for n in equal]
            if not equal:
                behind.append(result["set"])
            elif min(times) > LIMIT_PEERS:
                late.append(f"{result['set']} ({min(times):.1f}x)")
        behind_all += [f"{peer} on {listed(behind)}"] if behind else []
        slower += [f"{peer} on {listed(late)}"] if late else []
    slow = ratios(results, RECOMMENDED, FAST, "fit_s")
    sizes = [
        f"  - {peer}: {span(ratios(results, FAST, peer, 'peak_bytes'))} times its memory, "
        f"{span(ratios(results, FAST, peer, 'size_bytes'))} times its disk space"
        for peer in ("PECOS XLinear", "napkinXC PLT", "omikuji")
    ]
    one = [
        f"{span(ratios(results, ONE_PROCESS, GREEDY_LOGISTIC, key))} times the {what}"
        for key, what in (
            ("fit_cpu_s", "processor time in fit"),
            ("predict_cpu_s", "processor time in predict"),
            ("peak_bytes", "memory"),
        )
    ]
    predicts = {
        w: value_of(o, "predict_s") / value_of(t, "predict_s") for w, o, t in pairs_of(results)
    }
    longer = [f"  - {w}: {r:.1f}x" for w, r in predicts.items() if r > LIMIT_PUBLISHED]
    late_text = f"at most {LIMIT_PEERS} times the time of each library"
    if slower:
        late_text += f". The exception is {'; '.join(slower)}"
    return "\n".join(
        [
            f"- All three linear recipes have a lower hF than "
            f"{'; '.join(behind_all) or 'none of PECOS, napkinXC PLT and HSM'}.",
            f"- On the other sets, the fastest recipe with at least the same hF fits in "
            f"{late_text}.",
            f"- The recommended recipe takes {span(slow)} times as long to fit as greedy SVC.",
            "- Greedy SVC needs more memory or disk space than three libraries:",
            *sizes,
            "- With the same local classifier, `predict` alone is slower than in 5.0.8 in these "
            "cases:"
            if longer
            else "- `predict` alone is never slower than in 5.0.8.",
            *longer,
            f"- {ONE_PROCESS} needs {listed(one)} of our greedy logistic.",
        ]
    )


def runs_table(results: list[dict[str, Any]]) -> str:
    """How often, and on how busy a machine, everything ran; and what did not run."""
    rows: list[tuple[str, ...]] = []
    for result, (family, wanted) in product(results, (("peers", peers()), ("pairs", pairs()))):
        entries = result[family]
        done = [entry["runs"] for entry in entries.values() if "hF" in entry]
        loads = [r["load_at_start"] for runs in done for r in runs]
        missing = dict.fromkeys(c.pair or c.name for c in wanted if c.name not in entries)
        rows.append(
            (
                result["set"],
                {"peers": "all libraries", "pairs": "hiclass 5.0.8"}[family],
                span([len(runs) for runs in done], "d"),
                span(loads),
                "; ".join(missing) if entries else "all",
            )
        )
    header: tuple[str, ...] = ("set", "what", "runs of each", "load", "not run")
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    moves = []
    for result, (name, entry) in ((r, item) for r in results for item in r["peers"].items()):
        scores = [run["hF"] for run in entry["runs"] if "hF" in run]
        if scores:
            moves.append((100 * (max(scores) - min(scores)), f"{name} on {result['set']}"))
    ours = [move for move in moves if move[1].startswith(OURS)]
    (most, where), (most_ours, where_ours) = max(moves), max(ours)
    return (
        f"{table(header, rows)}\n\nhF varied "
        f"between runs by at most {most:.1f} points ({where}); for our models by {most_ours:.1f} "
        f"({where_ours})."
    )


def listed(names: list[str]) -> str:
    """a, b and c; or none."""
    if len(names) < 2:
        return "".join(names) or "none"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def pairs_of(results: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The comparisons with the published package that both sides finished."""
    for result in results:
        for pair in dict.fromkeys(entry["pair"] for entry in result["pairs"].values()):
            ours = result["pairs"].get(f"hiclass: {pair}", {})
            theirs = result["pairs"].get(f"{PUBLISHED}: {pair}", {})
            if "hF" in ours and "hF" in theirs:
                yield f"{result['set']}: {pair}", ours, theirs


def peer_table(results: list[dict[str, Any]]) -> str:
    """hF of our linear recipes and of the libraries that were given the same tree."""
    rows = []
    for result, peer in product(results, PEERS):
        peers = result["peers"]
        if "hF" not in peers.get(peer, {}):
            continue
        row = [result["set"], peer, f"{peers[peer]['hF']:.4f}"]
        row += [f"{peers[ours]['hF']:.4f}" for ours in RECIPES]
        difference = peers[peer].get("quick_minus")
        row.append("-" if difference is None else interval(difference))
        rows.append(row)
    header = ["set", "library", "hF", *(ours.partition(", ")[2] for ours in RECIPES)]
    return table([*header, "quick SVC minus it"], rows)


def peer_times(results: list[dict[str, Any]]) -> str:
    """Fit times of our linear recipes, as multiples of those of the same libraries."""
    rows = []
    for result, peer in product(results, PEERS):
        peers = result["peers"]
        if "hF" not in peers.get(peer, {}):
            continue
        fit, cpu = (middle(peers[peer], key) for key in ("fit_s", "fit_cpu_s"))
        row = [result["set"], peer, f"{shown(fit)} / {shown(cpu)}"]
        reached = []
        for ours in RECIPES:
            ratio = middle(peers[ours], "fit_s") / fit
            busy = middle(peers[ours], "fit_cpu_s") / cpu
            row.append(f"{ratio:.1f}x / {busy:.1f}x")
            if peers[ours]["hF"] >= peers[peer]["hF"] and ratio <= LIMIT_PEERS:
                reached.append(ours.partition(", ")[2])
        row.append(" and ".join(reached) or "none")
        rows.append(row)
    header = ["set", "library", "fit s / CPU s", *(ours.partition(", ")[2] for ours in RECIPES)]
    return table([*header, "goal reached by"], rows)


def quality_table(results: list[dict[str, Any]]) -> str:
    """The recommended recipe beside the best of all others on each set."""
    rows = []
    for result in results:
        peers = result["peers"]
        others = {n: e for n, e in peers.items() if "hF" in e and not n.startswith(OURS)}
        best = max(others, key=lambda name: others[name]["hF"])
        row = [result["set"], f"{peers[RECOMMENDED]['hF']:.4f}", best]
        row += [f"{others[best]['hF']:.4f}", interval(others[best]["recommended_minus"])]
        rows.append(row)
    header = ["set", "hF, recommended", "best other library", "its hF", "difference in points"]
    return table(header, rows)


def pair_table(results: list[dict[str, Any]]) -> str:
    """The same work in hiclass and in the published package."""
    rows = []
    for result in results:
        names = dict.fromkeys(entry["pair"] for entry in result["pairs"].values())
        for pair in names:
            ours = result["pairs"].get(f"hiclass: {pair}")
            theirs = result["pairs"].get(f"{PUBLISHED}: {pair}")
            if ours is None or theirs is None:
                continue
            row = [result["set"], pair]
            for key, form, unit in (
                ("hF", ".4f", 1),
                ("fit_s", ".2f", 1),
                ("predict_s", ".2f", 1),
                ("cpu", ".2f", 1),
                ("peak_bytes", ",.0f", 1e6),
            ):
                values = [value_of(entry, key) for entry in (ours, theirs)]
                row.append(" / ".join(shown(v, form, unit) for v in values))
            for measure in (total, partial(value_of, key="cpu")):
                times = [measure(entry) for entry in (ours, theirs)]
                both = None not in times
                row.append(f"{times[0] / times[1]:.2f}" if both else outcome(ours, theirs))
            rows.append(row)
    header = ["set", "model", "hF", "fit s", "predict s", "CPU s", "peak MB", "seconds, ratio"]
    header.append("CPU s, ratio")
    return table(header, rows)


def value_of(entry: dict[str, Any], key: str) -> float | None:
    if key == "hF":
        return entry.get("hF")
    if key == "cpu":
        steps = [middle(entry, f"{step}_cpu_s") for step in ("fit", "predict")]
        return None if None in steps else sum(steps)
    return middle(entry, key)


def total(entry: dict[str, Any]) -> float | None:
    """Median seconds of fit and predict together."""
    times = [r["fit_s"] + r["predict_s"] for r in entry["runs"] if "predict_s" in r]
    return median(times) if times and "hF" in entry else None


def outcome(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """How a pair without a ratio ended, in a few words."""
    name, entry = ("5.0.8", theirs) if "failed" in theirs else ("hiclass", ours)
    late = "time limit" in entry.get("failed", "")
    return f"{name} over the time limit" if late else f"{name} fails"


def failures(results: list[dict[str, Any]]) -> str:
    """What the published package said where it failed for another reason than time."""
    lines: dict[str, list[str]] = {}
    for result in results:
        for name, entry in result["pairs"].items():
            reason = entry.get("failed", "")
            if reason and "time limit" not in reason and name.startswith(PUBLISHED):
                lines.setdefault(reason, []).append(f"{result['set']}: {entry['pair']}")
    found = [f"- `{reason}` ({'; '.join(where)})" for reason, where in lines.items()]
    return "\n".join(found) or "None, apart from the time limit."


def versions_text(results: list[dict[str, Any]]) -> str:
    """Machine and the versions that matter, by environment."""
    environments: dict[str, dict[str, str]] = {}
    for result in results:
        environments |= result["environments"]
    rows = [
        (name, ", ".join(f"{k} {v}" for k, v in packages.items() if k.lower() in SHOWN))
        for name, packages in environments.items()
    ]
    m = results[0]["machine"]
    machine = f"{m['processor']}, {m['cpus']} CPUs, {m['memory_gib']} GiB, {m['system']}"
    machine += f", Python {results[0]['versions']['python']}."
    return f"{machine}\n\n{table(('environment', 'versions'), rows)}"


def mean_points(results: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Geometric mean of the fit seconds, and mean hF, of what has a result on every set."""
    points = {}
    for name in results[0]["peers"]:
        entries = [result["peers"].get(name, {}) for result in results]
        if name != BASELINE and all("hF" in entry for entry in entries):
            seconds = [middle(entry, "fit_s") or 0.0 for entry in entries]
            points[name] = (geometric_mean(seconds), mean(entry["hF"] for entry in entries))
    return points


def set_points(result: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Fit seconds and hF of everything that has a result on a set."""
    return {
        name: (middle(entry, "fit_s") or 0.0, entry["hF"])
        for name, entry in result["peers"].items()
        if "hF" in entry and name != BASELINE
    }


def near_best(points: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The points that are at most 15 points of hF below the best."""
    best = max(score for _, score in points.values())
    return {name: p for name, p in points.items() if p[1] >= best - SHOWN_BELOW}


def frontier(points: dict[str, tuple[float, float]]) -> list[str]:
    """Names of the points that no point as fast is better than, the fastest first."""
    names: list[str] = []
    best = -1.0
    for name, (_, score) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if score > best:
            names.append(name)
            best = score
    return names
