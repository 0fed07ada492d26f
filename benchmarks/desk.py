"""The desk at 100,000 rows and 100,000 classes: how long from a key to the next row, and kills.

    PYTHON benchmarks/desk.py --json benchmarks/results/desk.json
    PYTHON benchmarks/desk.py --small    # fewer rows and classes, to try it

A model of 100,000 classes and a queue of 100,000 rows are made, whose suggestions are drawn at
random: the desk does not use the classifiers. ``hiclass review`` then runs as a user runs it, in a
process of its own whose memory is watched, and is used in three ways: in Chromium with real keys
(from the event of the key to the next row in the page, and to the frame after that), by searches
over HTTP, and by decisions over HTTP with 100 kills (SIGKILL) at random moments.
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
from _common import environment, write_json
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from hiclass import LocalClassifierPerParentNode, TableFeatures
from hiclass._cli._models import Model, load_summary, save_model
from hiclass._cli._review import model_mark
from hiclass._cli._tables import write_table
from hiclass._inspect.queues import (
    MODEL,
    REASONS,
    SOURCE,
    TAXONOMY,
    path_cell,
    probability_column,
    suggestion_column,
    taxonomy_mark,
)

#: Classes of the first level, below each of these, and below each of those.
SHAPE, SMALL = (50, 40, 50), (10, 10, 10)
TARGET = ["section", "group", "code"]


def make_words(n: int, rng: np.random.Generator) -> list[str]:
    """Different words that can be pronounced."""
    parts = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words: dict[str, None] = {}
    while len(words) < n:
        words["".join(rng.choice(parts, rng.integers(2, 5)))] = None
    return list(words)


def make_model(path: Path, shape: tuple[int, int, int], words: list[str]) -> None:
    """Fit a model on one short text per class."""
    import pandas as pd

    rng = np.random.default_rng(0)
    paths, texts = [], []
    for i in range(shape[0]):
        for j in range(shape[1]):
            for k in range(shape[2]):
                own = [
                    words[i],
                    words[shape[0] + i * shape[1] + j],
                    words[rng.integers(len(words))],
                ]
                name = f"{i:02}{j:02}{k:02} {own[1]} {own[2]}"
                paths.append([f"{i:02} {own[0]}", f"{i:02}{j:02} {own[1]}", name])
                texts.append(f"{own[0]} {own[1]} {own[2]} {words[k]}")
    frame = pd.DataFrame({"text": texts})
    model = LocalClassifierPerParentNode(
        LinearSVC(tol=0.1), calibration="temperature", temperature=1
    )
    pipeline = Pipeline([("features", TableFeatures(text=["text"])), ("classifier", model)])
    pipeline.fit(frame, np.array(paths, dtype=object))
    save_model(Model(pipeline, TARGET), str(path))


def make_queue(path: Path, model_path: Path, n_rows: int, words: list[str]) -> None:
    """Write a queue of texts of 40 words with five random suggestions each."""
    import pandas as pd

    rng = np.random.default_rng(1)
    tree = load_summary(str(model_path)).hierarchy
    leaves = np.flatnonzero(tree.is_leaf)
    columns: dict[str, list] = {
        "id": [f"c{i}" for i in range(n_rows)],
        "text": [
            " ".join(words[w] for w in rng.integers(0, len(words), 40)) for _ in range(n_rows)
        ],
    }
    for j in range(1, 6):
        nodes = rng.choice(leaves, n_rows)
        columns[suggestion_column(j)] = [path_cell(tree.path(int(v))) for v in nodes]
        columns[probability_column(j)] = [0.5 / j] * n_rows
    columns[REASONS] = [
        json.dumps({"for": "one", "against": "other", "features": [
            {"name": word, "column": "text", "word": word, "weight": 1.0 if i % 2 else -1.0}
            for i, word in enumerate(text.split()[:8])
        ]})
        for text in columns["text"]
    ]  # fmt: skip
    columns[SOURCE] = list(range(1, n_rows + 1))
    columns[MODEL] = [model_mark(str(model_path))] * n_rows
    columns[TAXONOMY] = [taxonomy_mark(tree)] * n_rows
    write_table(pd.DataFrame(columns), str(path), format="csv")


# -- the desk in a process of its own ----------------------------------------------------------


class Desk:
    """``hiclass review`` on a free port; its memory is watched until it ends."""

    def __init__(self, folder: Path) -> None:
        start = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hiclass", "review", "queue.csv", "--model", "model.skops",
             "-o", "reviewed.csv", "--port", "0"],
            cwd=folder, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.peak = 0
        threading.Thread(target=self._watch, daemon=True).start()
        line = ""
        while not (found := re.search(r"(http://127\.0\.0\.1:(\d+)/\?token=(\S+))", line)):
            line = self.process.stderr.readline()
            assert line, self.process.wait()
        self.seconds = time.perf_counter() - start
        self.address, self.port, token = found[1], int(found[2]), found[3]
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
        reply = self._send("GET", f"/?token={token}")
        self.cookie = reply[1]["set-cookie"].partition(";")[0]

    cookie = ""

    def _watch(self) -> None:
        watched = psutil.Process(self.process.pid)
        try:
            while True:
                self.peak = max(self.peak, watched.memory_info().rss)
                time.sleep(0.02)
        except psutil.Error:
            return

    def _send(self, method: str, path: str, content: dict | None = None) -> tuple:
        body = None if content is None else json.dumps({"worker": "w", **content})
        headers = {"Content-Type": "application/json", "Cookie": self.cookie}
        self.connection.request(method, path, body, headers)
        reply = self.connection.getresponse()
        return reply.status, reply.headers, reply.read()

    def get(self, path: str) -> dict:
        return json.loads(self._send("GET", path)[2])

    def post(self, path: str, content: dict) -> dict:
        return json.loads(self._send("POST", path, content)[2])

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.communicate()


def summary(seconds: list[float]) -> dict[str, float]:
    """Median, 95th percentile and maximum in milliseconds."""
    ms = 1000 * np.array(seconds)
    return {
        "n": len(ms), "median_ms": round(float(np.median(ms)), 2),
        "p95_ms": round(float(np.percentile(ms, 95)), 2), "max_ms": round(float(ms.max()), 2),
    }  # fmt: skip


#: Records the time of each key, and of the frame after the heading of the row has changed.
WATCH = """
window.keys = [];
document.addEventListener("keydown", () => { window.pressed = performance.now(); }, true);
new MutationObserver(() => {
  const pressed = window.pressed, there = performance.now() - pressed;
  requestAnimationFrame(() => setTimeout(() =>
    window.keys.push([there, performance.now() - pressed])));
}).observe(document.getElementById("row-name"), { childList: true, subtree: true });
"""


def with_keys(desk: Desk, n_keys: int) -> dict[str, dict[str, float]]:
    """Code rows with number keys in Chromium."""
    from selenium import webdriver
    from selenium.webdriver import ActionChains

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        browser.get(desk.address)
        while not browser.find_element("id", "row-name").text:
            time.sleep(0.05)
        browser.execute_script(WATCH)
        for number in range(n_keys):
            ActionChains(browser).send_keys("12345s"[number % 6]).perform()
            while browser.execute_script("return window.keys.length") <= number:
                time.sleep(0.005)
        found = browser.execute_script("return window.keys")
        names = ("in_the_page", "painted")
        return {n: summary([key[i] / 1000 for key in found]) for i, n in enumerate(names)}
    finally:
        browser.quit()


def searches(desk: Desk, words: list[str], n: int) -> dict[str, float]:
    """Search for what one has typed so far, letter by letter."""
    desk.connection.close()  # it was idle for too long; the next request opens it again
    rng = random.Random(0)
    seconds = []
    while len(seconds) < n:
        text = f"{rng.choice(words[:2050])} {rng.choice(words)[:3]}"
        for end in range(1, len(text) + 1):
            start = time.perf_counter()
            desk.get(f"/api/find?q={text[:end].replace(' ', '%20')}")
            seconds.append(time.perf_counter() - start)
    return summary(seconds)


def kills(folder: Path, n_kills: int) -> dict[str, int]:
    """Decide over HTTP, kill, start again; count what was confirmed and is not there."""
    rng = random.Random(0)
    confirmed: dict[int, int] = {}
    lost = again = n_decided = 0
    desk = Desk(folder)
    before = desk.post("/api/take", {})["progress"]
    base = before["coded"] + before["skipped"]
    for _ in range(n_kills):
        threading.Timer(rng.uniform(0.01, 0.4), desk.process.kill).start()
        try:
            row = desk.post("/api/take", {})["row"]
            while True:
                again += row["row"] in confirmed
                node = row["suggestions"][rng.randrange(5)]["path"][-1]["node"]
                reply = desk.post("/api/decide", {"row": row["row"], "node": node})
                confirmed[row["row"]] = node
                n_decided += 1
                row = reply["row"]
        except (OSError, http.client.HTTPException):
            desk.process.communicate()
        desk = Desk(folder)
        progress = desk.post("/api/take", {})["progress"]
        there = progress["coded"] + progress["skipped"] - base
        # One more may be there: written, but killed before it was confirmed.
        lost += max(len(confirmed) - there, 0)
        base += there - len(confirmed) if there > len(confirmed) else 0
    desk.end(signal.SIGTERM)
    with (folder / "reviewed.csv").open(encoding="utf-8") as file:
        import csv

        written = {
            int(r["source_row"]) - 1: json.dumps([r[c] for c in TARGET])
            for r in csv.DictReader(file)
        }
    tree = load_summary(str(folder / "model.skops")).hierarchy
    wrong = sum(
        written.get(row) != json.dumps(list(tree.path(node))) for row, node in confirmed.items()
    )
    return {
        "kills": n_kills, "decisions": n_decided, "lost": lost, "shown_again": again,
        "wrong_in_result": wrong,
    }  # fmt: skip


def main() -> None:
    """Run everything and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("build/desk"))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--keys", type=int, default=300)
    parser.add_argument("--only", choices=["keys", "kills"])
    args = parser.parse_args()
    shape, n_rows = (SMALL, 20_000) if args.small else (SHAPE, 100_000)
    args.folder.mkdir(parents=True, exist_ok=True)
    words = make_words(20_000, np.random.default_rng(2))
    model, queue = args.folder / "model.skops", args.folder / "queue.csv"
    if not queue.exists():
        make_model(model, shape, words)
        make_queue(queue, model, n_rows, words)
    for name in ("reviewed.csv", "reviewed.csv.journal"):
        (args.folder / name).unlink(missing_ok=True)
    tree = load_summary(str(model)).hierarchy
    result = {
        "rows": n_rows, "classes": int(tree.n_nodes - 1), "leaves": int(tree.is_leaf.sum()),
        "model_mb": round(model.stat().st_size / 1e6, 1),
        "queue_mb": round(queue.stat().st_size / 1e6, 1),
    }  # fmt: skip
    if args.only != "kills":
        desk = Desk(args.folder)
        result["start_s"] = round(desk.seconds, 1)
        result["key_to_row"] = with_keys(desk, args.keys)
        result["search"] = searches(desk, words, args.keys)
        steady = psutil.Process(desk.process.pid).memory_info().rss
        desk.end(signal.SIGTERM)
        result["memory_mb"] = {"steady": round(steady / 1e6), "peak": round(desk.peak / 1e6)}
        print(json.dumps(result, indent=1), flush=True)
    if args.only != "keys":
        result["kills"] = kills(args.folder, args.kills)
        print(json.dumps(result["kills"]))
    if args.json:
        write_json({"environment": environment(), **result}, args.json)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
