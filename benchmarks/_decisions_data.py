"""The sets of decisions.py: how they are read, their features and children, their splits."""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

SPLITS = Path(__file__).parent / "decisions_splits.json"


@dataclass
class Task:
    """One set: features, label paths with "" where they end, the split, the child."""

    name: str
    X: Any
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    child: Any
    groups: np.ndarray | None = None
    official: np.ndarray | None = None


@dataclass(frozen=True)
class Source:
    """How a set is read: its file, its rows, its labels, its features, its child."""

    file: str
    labels: Callable[[Any], Any]
    features: Callable[[Any, np.ndarray], Any]
    child: Any
    keep: Callable[[Any], Any] | None = None
    groups: str | None = None


def words(column: str, **options: Any) -> Callable[[Any, np.ndarray], Any]:
    """TF-IDF of a column of text, fitted on training rows."""

    def features(frame: Any, train: np.ndarray) -> Any:
        text = frame[column].astype(str).to_numpy(dtype=object)
        return TfidfVectorizer(sublinear_tf=True, **options).fit(text[train]).transform(text)

    return features


def kmers(frame: Any, train: np.ndarray) -> Any:
    """Hashed counts of the 6-mers of a sequence, with a length of one."""
    hashed = HashingVectorizer(
        analyzer="char",
        ngram_range=(6, 6),
        lowercase=False,
        n_features=1024,
        alternate_sign=False,
        dtype=np.float32,
    )
    # Most entries are filled, and dense is what is fast for ridge regression.
    return hashed.transform(frame["sequence"]).toarray()


def numbers(prefix: str) -> Callable[[Any, np.ndarray], Any]:
    """All columns whose name starts like this."""
    return lambda frame, train: frame[[c for c in frame if c.startswith(prefix)]].to_numpy()


def columns(*names: str) -> Callable[[Any], Any]:
    """Labels that are columns, one per level."""
    return lambda frame: frame[list(names)].fillna("")


def slashed(frame: Any) -> list[list[str]]:
    """Labels like 2/1/3, as the nodes from the top down."""
    parts = [labels[0].split("/") for labels in frame["labels"]]
    return [["/".join(p[: i + 1]) for i in range(len(p))] for p in parts]


SVC = LinearSVC(tol=0.01, random_state=0)
TREES = ExtraTreesClassifier(n_estimators=50, min_samples_leaf=2, random_state=0)
SOURCES = {
    "cfpb": Source(
        "cfpb_complaints",
        columns("product", "sub_product"),
        words("text", min_df=5),
        SVC,
        keep=lambda frame: frame["date"] >= "2017-04-24",
    ),
    "naics": Source(
        "naics2022_index",
        columns("sector", "subsector", "group", "industry", "national"),
        words("text"),
        SVC,
    ),
    "clinc150": Source(
        "clinc150",
        columns("domain", "intent"),
        words("text", min_df=2, dtype=np.float32),
        LogisticRegression(C=10, tol=0.001),
    ),
    "anuran": Source(
        "anuran_mfcc",
        columns("Family", "Genus", "Species"),
        numbers("MFCC"),
        TREES,
        groups="RecordID",
    ),
    "ImCLEF07A": Source("ImCLEF07A", slashed, numbers("f"), TREES),
    "greengenes": Source(
        "greengenes16s_20k",
        columns("kingdom", "phylum", "class", "order", "family"),
        kmers,
        RidgeClassifier(alpha=0.1),
    ),
}


def load(name: str, folder: Path) -> Task | None:
    """Read a set and its split; None where the file is not there."""
    import pandas as pd

    source = SOURCES[name]
    file = folder / f"{source.file}.parquet"
    if not file.exists():
        print(f"{name}: {file.name} is not in the data folder; left out")
        return None
    split = json.loads(SPLITS.read_text())[name]
    if hashlib.sha256(file.read_bytes()).hexdigest() != split["sha256"]:
        print(f"{name}: not the file the split was made for; left out")
        return None
    frame = pd.read_parquet(file)
    side = unpack(split["train"], len(frame)) + 2 * unpack(split["test"], len(frame))
    frame, side = frame[side > 0].reset_index(drop=True), side[side > 0]
    train, test = np.flatnonzero(side == 1), np.flatnonzero(side == 2)
    paths = [list(p) for p in np.asarray(source.labels(frame), dtype=object)]
    y = np.full((len(paths), max(map(len, paths))), "", dtype=object)
    for i, path in enumerate(paths):
        y[i, : len(path)] = path
    X = source.features(frame, train)
    groups = None if source.groups is None else frame[source.groups].to_numpy()
    official = frame["split"].to_numpy() if "split" in frame else None
    return Task(name, X, y, train, test, source.child, groups, official)


def unpack(text: str, n: int) -> np.ndarray:
    """A mask of rows from its base64 form."""
    bits = np.frombuffer(base64.b64decode(text), dtype=np.uint8)
    return np.unpackbits(bits)[:n].astype(int)


def make_splits(folder: Path) -> None:
    """Draw the splits, once: official ones as they are, groups kept together, else 70 to 30."""
    import pandas as pd

    splits = {}
    for name, source in SOURCES.items():
        file = folder / f"{source.file}.parquet"
        frame = pd.read_parquet(file)
        rng = np.random.default_rng(0)
        keep = np.ones(len(frame), dtype=bool)
        if source.keep is not None:
            keep = np.asarray(source.keep(frame), dtype=bool)
        if name == "greengenes":
            keep = np.isin(np.arange(len(frame)), rng.permutation(len(frame))[:5000])
        if "split" in frame:
            test = (frame["split"] == "test").to_numpy()
        elif source.groups is not None:
            # A third of the groups of every class.
            records = frame.groupby(frame[source.groups])["Species"].first()
            chosen: list[Any] = []
            for _, ids in sorted(records.groupby(records).groups.items()):
                chosen.extend(rng.permutation(np.asarray(ids))[: -(-len(ids) // 3)])
            test = frame[source.groups].isin(chosen).to_numpy()
        else:
            test = rng.random(len(frame)) < 0.3
        splits[name] = {
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "n_train": int((keep & ~test).sum()),
            "n_test": int((keep & test).sum()),
            "train": base64.b64encode(np.packbits(keep & ~test).tobytes()).decode(),
            "test": base64.b64encode(np.packbits(keep & test).tobytes()).decode(),
        }
    SPLITS.write_text(json.dumps(splits, indent=1) + "\n")
