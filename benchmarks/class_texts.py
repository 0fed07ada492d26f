"""Words of classes beside rows: few rows per class, none, and classes held out as a whole.

    python benchmarks/class_texts.py --data DATA               # writes results/class_texts.json
    python benchmarks/class_texts.py --data DATA --sets naics --rows 0 1 --test 500   # a part

Three taxonomies with words: NAICS 2022 (titles, and descriptions of 2017; index entries are rows),
ESCO occupations on four ISCO levels (preferred labels and descriptions; alternative labels are
rows), ICD-10-CM on three levels (titles of codes; inclusion terms are rows). 70 % of the rows are
for training, of which so many per class are used; the same test rows for all. Everyone has the same
texts and all classes as candidates. The embedding is the table of wordllama, which its package
holds. One process, one thread. Needs pandas, pyarrow, wordllama and simple-icd-10-cm.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from _common import environment, write_json
from _paired import bootstrap, count, exact, f1, right_paths
from scipy.special import log_softmax
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union

from hiclass import (
    ClassTextClassifier,
    EnsembleClassifier,
    FastLinearSVC,
    FlatClassifier,
    Hierarchy,
    add_class_texts,
)
from hiclass._encoders.encoding import encode_texts, fit_encoder
from hiclass._estimators.class_text import default_encoder
from hiclass._inference.paths import final_proba

RESULT = Path(__file__).parent / "results" / "class_texts.json"
ALL = 10**6
ROWS = (0, 1, 2, 4, 16, ALL)
#: Of nearest neighbours, whose similarities are no probabilities: what a product needs.
TEMPERATURE = 0.05
OURS, OURS_EMBEDDED = "words and rows", "words and rows, embedded"
NO_TEXTS = "SVM"


# -- data ----------------------------------------------------------------------------------------


def naics(data):
    """Index entries of NAICS 2022; titles, and descriptions of the classes that 2017 had, too."""
    import pandas as pd

    index = pd.read_parquet(data / "naics2022_index.parquet")
    paths = index[["sector", "subsector", "group", "industry", "national"]].to_numpy(object)
    title = pd.read_parquet(data / "naics2022_titles.parquet").set_index("code").title
    old = pd.read_parquet(data / "naics2017_classes.parquet").set_index("code")
    texts = {}
    for path in {tuple(p[: k + 1]) for p in paths for k in range(paths.shape[1])}:
        code = path[-1]
        found = [title.get(code), *(old.loc[code] if code in old.index else ())]
        texts[path] = [t.strip() for t in found if isinstance(t, str) and t.strip()]
    return index.text.to_numpy(object), paths, texts


def esco(data):
    """Alternative labels of occupations; the occupations themselves describe their ISCO unit."""
    import pandas as pd

    frame = pd.read_parquet(data / "esco_occupations.parquet")
    paths = frame[[f"isco_level_{k}" for k in range(1, 5)]].to_numpy(object)
    rows, labels, texts = [], [], {}
    for path, row in zip(map(tuple, paths), frame.itertuples(), strict=True):
        texts.setdefault(path, []).extend([row.preferred_label, row.description])
        rows.extend(row.alt_labels)
        labels.extend([path] * len(row.alt_labels))
    return np.array(rows, object), np.array(labels, object), texts


def icd(data):
    """Inclusion terms of ICD-10-CM; titles of categories and of all codes below them are texts."""
    from hiclass.datasets import load_icd10cm

    codes = load_icd10cm()
    is_row = codes.kind == "inclusion term"
    texts = {}
    for text, path in zip(codes.data[~is_row], codes.target[~is_row], strict=True):
        texts.setdefault(tuple(path), []).append(text)
        for k in (1, 2):
            texts.setdefault(tuple(path[:k]), [path[k - 1].partition(" ")[2]])
    return codes.data[is_row], codes.target[is_row], texts


SETS = {"naics": naics, "esco": esco, "icd10cm": icd}


def read(name, data):
    """Rows, paths, and the hierarchy of all classes with texts."""
    X, y, texts = SETS[name](data)
    texts = {path: several for path, several in texts.items() if several}
    everything = {tuple(p) for p in y} | set(texts)
    # Classes that no words tell apart: the second keeps its rows and loses its texts.
    tree = Hierarchy.from_paths([list(p) for p in sorted(everything)])
    return X, y, distinguishable(tree, texts)


def distinguishable(tree, texts):
    """The hierarchy with texts; where two classes have the same ones, the path tells them apart."""
    while True:
        try:
            return tree.with_texts(texts)
        except ValueError as error:
            one = str(error).partition(" have the same text")[0].partition(" and ")[2]
            path = next(p for p in texts if " > ".join(p) == one)
            texts[path] = [*texts[path], " ".join(path)]


def split(X, y, seed, n_test):
    """Training and test rows."""
    order = np.random.default_rng(seed).permutation(len(X))
    cut = int(0.3 * len(X))
    return order[cut:], order[:cut][:n_test]


def few(y, train, n_rows):
    """Up to so many training rows of every class."""
    seen, chosen = {}, []
    for i in train:
        path = tuple(y[i])
        seen[path] = seen.get(path, 0) + 1
        if seen[path] <= n_rows:
            chosen.append(i)
    return np.array(chosen, dtype=int)


def hide(y, train, share, seed):
    """The rows without those of some classes, and these classes."""
    classes = sorted({tuple(p) for p in y})
    rng = np.random.default_rng(seed)
    hidden = {classes[i] for i in rng.permutation(len(classes))[: int(share * len(classes))]}
    return np.array([i for i in train if tuple(y[i]) not in hidden]), hidden


# -- models --------------------------------------------------------------------------------------


def svm(tree=None):
    """A flat linear SVM on words and parts of words."""
    vectors = make_union(
        TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b"),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True),
    )
    pipeline = make_pipeline(vectors, FastLinearSVC())
    return FlatClassifier(pipeline, hierarchy=tree, calibration="joint", temperature=0.25)


def embedding():
    """The table of word vectors of wordllama."""
    import wordllama

    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


class Nearest:
    """Nearest neighbour among texts and rows: the class of the most similar one."""

    def __init__(self, encoder, tree):
        self.encoder, self.tree = encoder, tree

    def fit(self, X, y):
        """Encode texts and rows."""
        texts, paths, _ = add_class_texts(X, y, hierarchy=self.tree)
        self.paths = sorted({tuple(p) for p in paths})
        number = {path: i for i, path in enumerate(self.paths)}
        self.fitted = fit_encoder(self.encoder, texts)
        self.vectors = encode_texts(self.fitted, texts, normalize=True)
        self.classes = np.array([number[tuple(p)] for p in paths])
        return self

    def scores(self, X):
        """The largest similarity of rows and classes."""
        found = np.full((len(X), len(self.paths)), -1.0)
        for start in range(0, len(X), 500):
            part = slice(start, start + 500)
            each = encode_texts(self.fitted, list(X[part]), normalize=True) @ self.vectors.T
            each = each.toarray() if hasattr(each, "toarray") else each
            np.maximum.at(found[part].T, self.classes, each.T)
        return found

    def predict(self, X):
        """The nearest."""
        paths = np.array(self.paths, dtype=object)
        return paths[self.scores(X).argmax(axis=1)]


def final_paths(model):
    """The paths of the final classes of a fitted model."""
    tree = model.hierarchy_
    return [tree.path(int(v)) for v in model._models.options.ends]


class Recorder:
    """Runs models on one task and keeps what they predict."""

    def __init__(self, X, y, tree, encoder, test):
        self.X, self.y, self.tree, self.encoder, self.test = X, y, tree, encoder, test
        self.found, self.sure, self.seconds = {}, {}, {}

    def ours(self, name, model, rows):
        """Fit and query one of our models."""
        X, y = (None, None) if not len(rows) else (list(self.X[rows]), self.y[rows])
        start = time.process_time()
        model.fit(X, y)
        self.seconds[name] = time.process_time() - start
        texts = list(self.X[self.test])
        self.found[name] = model.predict(texts)
        self.sure[name] = np.nanmin(model.predict_confidence(texts), axis=1)
        return model

    def run(self, rows, costs=False):
        """Everybody, on some training rows."""
        X = list(self.X[rows]) if len(rows) else None
        y = self.y[rows] if len(rows) else None
        texts = list(self.X[self.test])
        if len(rows):
            self.ours(NO_TEXTS, svm(self.tree), rows)
        more, labels, _ = add_class_texts(X, y, hierarchy=self.tree)
        titled = svm(self.tree).fit(more, labels)
        self.found["SVM, texts as rows"] = titled.predict(texts)
        self.found["nearest, TF-IDF"] = (
            Nearest(default_encoder(), self.tree).fit(X, y).predict(texts)
        )
        near = Nearest(self.encoder, self.tree).fit(X, y)
        scores = near.scores(texts)
        paths = np.array(near.paths, dtype=object)
        self.found["nearest, embedding"] = paths[scores.argmax(axis=1)]
        place = {path: i for i, path in enumerate(near.paths)}
        column = [place[path] for path in final_paths(titled)]
        logs = np.log(final_proba(titled._models, texts) + 1e-12)
        joint = logs + log_softmax(scores / TEMPERATURE, axis=1)[:, column]
        self.found["product"] = np.array(final_paths(titled), dtype=object)[joint.argmax(axis=1)]
        self.ours("words", ClassTextClassifier(hierarchy=self.tree), rows)
        flat = ("svm", svm())
        self.ours(OURS, EnsembleClassifier([flat], class_texts=self.tree), rows)
        words = ("tfidf", ClassTextClassifier(hierarchy=self.tree))
        embedded = ("embedding", ClassTextClassifier(self.encoder, hierarchy=self.tree))
        self.ours(OURS_EMBEDDED, EnsembleClassifier([flat, words, embedded]), rows)
        if costs:
            plain = EnsembleClassifier([("svm", svm(self.tree))], weights="learned")
            start = time.process_time()
            plain.fit(X, y)
            self.seconds["SVM, weights out of fold"] = time.process_time() - start
        return self


# -- measures --------------------------------------------------------------------------------------


def measure(run, rows=None):
    """The measures of all models on some test rows, with differences to ours."""
    y = run.y[run.test]
    rows = np.arange(len(y)) if rows is None else rows
    counts = {name: count(y[rows], found[rows]) for name, found in run.found.items()}
    out = {}
    for name, counted in counts.items():
        entry = {"exact": exact(right_paths(counted).sum(0)), "hF": f1(counted.sum(0))}
        for ours in (OURS, OURS_EMBEDDED):
            if name != ours:
                both = counts[ours], counted
                entry[f"hF, {ours} less this"] = bootstrap(*both)
                paths = tuple(map(right_paths, both))
                entry[f"exact, {ours} less this"] = bootstrap(*paths, score=exact)
        if name in run.sure:
            right = (y[rows] == run.found[name][rows]).all(axis=1)
            entry |= confidence(run.sure[name][rows], right)
        out[name] = {k: v if isinstance(v, list) else round(float(v), 4) for k, v in entry.items()}
    return out


def confidence(sure, right):
    """Calibration error in ten bins, and the share of rows that have 5 % of errors together."""
    bins = np.minimum((sure * 10).astype(int), 9)
    error = sum(
        abs(sure[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean()
        for b in np.unique(bins)
    )
    errors = np.cumsum(~right[np.argsort(-sure, kind="stable")])
    good = np.flatnonzero(errors <= 0.05 * np.arange(1, len(right) + 1))
    return {
        "calibration_error": error,
        "automated": (good[-1] + 1) / len(right) if len(good) else 0,
    }


def run_set(name, options, result):
    """All numbers of rows, and classes held out as a whole; what is known is written at once."""
    X, y, tree = read(name, options.data)
    train, test = split(X, y, 0, options.test)
    encoder = embedding()
    entry = {
        "classes": len({tuple(p) for p in y}),
        "rows": len(train),
        "test": len(test),
        "few": {},
    }
    entry["texts"] = sum(map(len, tree.texts))
    result["sets"][name] = entry
    for n_rows in options.rows:
        started = time.process_time()
        rows = few(y, train, n_rows)
        run = Recorder(X, y, tree, encoder, test).run(rows, costs=n_rows == ALL)
        key = "all" if n_rows == ALL else str(n_rows)
        entry["few"][key] = {"models": measure(run), "fit_cpu_s": run.seconds}
        show(f"{name}, {key} rows ({time.process_time() - started:.0f} s)", entry["few"][key])
        write_json(result, options.output)
    if options.unseen:
        kept, hidden = hide(y, train, 1 / 8, 1)
        run = Recorder(X, y, tree, encoder, test)
        run.run(kept)
        for label, texted in (("words", None), ("words, embedded", encoder)):
            model = ClassTextClassifier(texted, hierarchy=tree).fit(None, None)
            run.found[f"zero-shot {label}"] = model.predict(list(X[test]))
        is_hidden = np.array([tuple(p) in hidden for p in y[test]])
        entry["held_out"] = {
            "seen": measure(run, np.flatnonzero(~is_hidden)),
            "unseen": measure(run, np.flatnonzero(is_hidden)),
        }
        for part, models in entry["held_out"].items():
            show(f"{name}, {part} classes", {"models": models})
        write_json(result, options.output)


def show(title, entry):
    """Print what was measured."""
    print(title)
    for name, found in entry["models"].items():
        more = " ".join(
            f"{key} {found[key]:.3f}" for key in ("calibration_error", "automated") if key in found
        )
        print(f"  {name:26s} exact {found['exact']:.3f}  hF {found['hF']:.3f}  {more}")
    seconds = {name: round(value, 1) for name, value in entry.get("fit_cpu_s", {}).items()}
    print(f"  fit, processor seconds: {seconds}", flush=True)


def main():
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--rows", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--test", type=int, default=3000)
    parser.add_argument("--no-unseen", dest="unseen", action="store_false")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    result = {**environment(), "sets": {}}
    for name in options.sets:
        run_set(name, options, result)


if __name__ == "__main__":
    main()
