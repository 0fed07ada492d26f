"""Words of classes beside rows: few rows per class, none, and classes held out as a whole.

    python benchmarks/class_texts.py --data DATA               # writes results/class_texts.json
    python benchmarks/class_texts.py --data DATA --sets naics --rows 0 1 --test 500   # a part
    python benchmarks/class_texts.py --data DATA --sets naics --rows   # only the unseen classes
    python benchmarks/class_texts.py --data DATA --defaults    # what serves without learning

Taxonomies with words: NAICS 2022 (titles, and descriptions of 2017; index entries are rows), ESCO
occupations on four ISCO levels (preferred labels and descriptions; alternative labels are rows),
ICD-10-CM on three levels (titles of codes; inclusion terms are rows). On training rows of these,
defaults were chosen. On two more nothing was: questions of CLINC150 and complaints of the CFPB,
whose classes have nothing but short names. 70 % of the rows are for training, of which so many per
class are used; the same test rows for all. Everyone has the same texts and all classes as
candidates. The embedding is the table of wordllama, which its package holds. Pipelines that are
fitted twice on the same rows are fitted once, but not where times are measured. ``--defaults``
looks at training rows only. One process, one thread. Needs pandas, pyarrow, wordllama and simple-
icd-10-cm.
"""

import argparse
import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from _common import environment, table, write_json, write_section
from _paired import bootstrap, count, exact, f1, right_paths
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
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
from hiclass._estimators.ensemble_texts import fit_ensemble
from hiclass._estimators.texted import encode_texted
from hiclass._inference.class_texts import FEATURE, OF_MEANINGS, OF_WORDS, as_vectors
from hiclass._inference.paths import final_proba
from hiclass._out_of_fold.mixtures import learn_mixture
from hiclass._out_of_fold.words_and_rows import MEANINGS, STARTS, WORDS, hold_rows, mixture_of
from hiclass._out_of_fold.words_and_rows import ROWS as ROWS_KIND

RESULT = Path(__file__).parent / "results" / "class_texts.json"
ALL = 10**6
ROWS = (0, 1, 2, 4, 16, ALL)
#: How often the cost of fit is measured; the shortest time counts.
REPEATS = 4
#: Of nearest neighbours, whose similarities are no probabilities: what a product needs.
TEMPERATURE = 0.05
OURS, OURS_EMBEDDED = "words and rows", "words and rows, embedded"
NO_TEXTS, PLAIN = "SVM", "SVM, weights out of fold"


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


def clinc(data):
    """Questions to an assistant; the names of intents and domains are all that describes them."""
    import pandas as pd

    frame = pd.read_parquet(data / "clinc150.parquet")
    frame = frame[frame.intent != ""]
    paths = frame[["domain", "intent"]].to_numpy(object)
    return frame.text.to_numpy(object), paths, names_of(paths)


def cfpb(data):
    """Complaints since the products of 2017; the names of products are all that describes them."""
    import pandas as pd

    frame = pd.read_parquet(data / "cfpb_complaints.parquet")
    frame = frame[(frame.date >= "2017-04-24") & (frame["sub_product"].fillna("") != "")]
    paths = frame[["product", "sub_product"]].to_numpy(object)
    return frame.text.to_numpy(object), paths, names_of(paths)


def names_of(paths):
    """The names of all classes as their texts."""
    classes = {tuple(p[: k + 1]) for p in paths for k in range(paths.shape[1])}
    return {path: [path[-1].replace("_", " ")] for path in sorted(classes)}


#: Taxonomies whose training rows the starting weights were learned from, and others.
TUNED = {"naics": naics, "esco": esco, "icd10cm": icd}
SETS = {**TUNED, "clinc150": clinc, "cfpb": cfpb}


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


def svm(tree=None, cached=True):
    """A flat linear SVM on words and parts of words."""
    vectors = make_union(
        TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b"),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True),
    )
    pipeline = make_pipeline(vectors, FastLinearSVC())
    pipeline = FittedOnce(pipeline) if cached else pipeline
    return FlatClassifier(pipeline, hierarchy=tree, calibration="joint", temperature=0.25)


class FittedOnce(ClassifierMixin, BaseEstimator):
    """A pipeline that remembers what it was fitted on, so that it is fitted on it once."""

    known: ClassVar[dict] = {}

    def __init__(self, pipeline):
        self.pipeline = pipeline

    def fit(self, X, y):
        """Fit, or find what was fitted."""
        text = "\0".join(X) + "\0".join(map(str, np.asarray(y).tolist()))
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self.known:
            self.known[key] = clone(self.pipeline).fit(list(X), y)
        self.pipeline_, self.classes_ = self.known[key], self.known[key].classes_
        return self

    def decision_function(self, X):
        """The margins of all classes."""
        return self.pipeline_.decision_function(list(X))

    def predict(self, X):
        """The class with the largest margin."""
        return self.pipeline_.predict(list(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


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
        self.found, self.sure, self.costs = {}, {}, {}

    def ours(self, name, model, rows):
        """Fit and query one of our models."""
        X, y = (None, None) if not len(rows) else (list(self.X[rows]), self.y[rows])
        model.fit(X, y)
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
            self.cost(X, y)
        FittedOnce.known.clear()
        return self

    def cost(self, X, y):
        """Processor seconds of fits with and without texts, in turns."""
        flat = [("svm", svm(self.tree, cached=False))]
        models = {
            PLAIN: EnsembleClassifier(flat, weights="learned"),
            OURS: EnsembleClassifier([("svm", svm(cached=False))], class_texts=self.tree),
        }
        times = {name: [] for name in models}
        for _ in range(REPEATS):
            for name, model in models.items():
                start = time.process_time()
                clone(model).fit(X, y)
                times[name].append(time.process_time() - start)
        self.costs = {name: round(min(each), 2) for name, each in times.items()}
        self.costs["ratio"] = round(self.costs[OURS] / self.costs[PLAIN], 2)


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


def honesty(run, hidden):
    """Confidences of all rows together, and of rows for which a class without rows is predicted.

    A row does not show whether its class is hidden; its prediction does.
    """
    found = {}
    for name in (NO_TEXTS, OURS, OURS_EMBEDDED):
        predicted, sure = run.found[name], run.sure[name]
        right = (predicted == run.y[run.test]).all(axis=1)
        unseen = np.array([tuple(p) in hidden for p in predicted])
        found[name] = {}
        for part, rows in (("all", unseen | True), ("unseen", unseen), ("seen", ~unseen)):
            if rows.any():
                entry = {"right": right[rows].mean(), "confidence": sure[rows].mean()}
                entry |= confidence(sure[rows], right[rows])
                found[name][part] = {k: round(float(v), 4) for k, v in entry.items()}
                found[name][part]["rows"] = int(rows.sum())
    return found


def run_set(name, options, result):
    """Some numbers of rows, and classes held out as a whole; what is known is written at once.

    What earlier runs have measured of other numbers of rows stays.
    """
    X, y, tree = read(name, options.data)
    train, test = split(X, y, 0, options.test)
    encoder = embedding()
    entry = result["sets"].setdefault(name, {})
    entry |= {
        "classes": len({tuple(p) for p in y}),
        "rows": len(train),
        "test": len(test),
        "texts": sum(map(len, tree.texts)),
    }
    entry.setdefault("few", {})
    if options.costs:
        run = Recorder(X, y, tree, encoder, test)
        run.cost(list(X[train]), y[train])
        entry["fit_cpu_s"] = run.costs
        print(f"{name}: fit, processor seconds: {run.costs}", flush=True)
        write_json(result, options.output)
        return
    for n_rows in options.rows:
        started = time.process_time()
        rows = few(y, train, n_rows)
        run = Recorder(X, y, tree, encoder, test).run(rows, costs=n_rows == ALL)
        key = _key(n_rows)
        entry["few"][key] = {"models": measure(run)}
        if run.costs:
            entry["fit_cpu_s"] = run.costs
        show(f"{name}, {key} rows ({time.process_time() - started:.0f} s)", entry["few"][key])
        if run.costs:
            print(f"  fit, processor seconds: {run.costs}", flush=True)
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
        entry["confidence"] = honesty(run, hidden)
        print(f"{name}, confidences: {json.dumps(entry['confidence'], indent=1)}")
        for part, models in entry["held_out"].items():
            show(f"{name}, {part} classes", {"models": models})
        write_json(result, options.output)


# -- what serves where nothing is learned ----------------------------------------------------------


def learn_defaults(options):
    """Learn what serves where nothing is learned, from training rows of all sets together.

    300 training rows are scored by models that know so many of the others, or all of the others but
    those of an eighth of the classes. Every number of rows of every set counts the same.
    """
    alone = {WORDS: OF_WORDS, MEANINGS: OF_MEANINGS}
    parts = {kind: [] for kind in (*alone, *STARTS)}
    for name in options.sets:
        X, y, tree = read(name, options.data)
        train, _ = split(X, y, 0, 0)
        train = np.random.default_rng(5).permutation(train)
        out, rest = train[:300], train[300:]
        kept, hidden = hide(y, rest, 1 / 8, 3)
        unseen = np.array([i for i in rest if tuple(y[i]) in hidden])[:20]
        tasks = [(few(y, rest, n), out) for n in ROWS] + [(kept, np.concatenate([out, unseen]))]
        for rows, scored in tasks:
            for kind, found in held_by_kind(X, y, tree, rows, scored).items():
                parts[kind].extend(found)
        print(name, "done", flush=True)
    for kind, found in parts.items():
        if kind in alone:
            learned = learn_mixture(found, FEATURE, alone[kind], 10.0)
            print(kind, "alone", learned.round(1).tolist())
            continue
        mixture = mixture_of([ROWS_KIND, *sorted(kind)])
        learned = learn_mixture(found, mixture.feature, mixture.start, 10.0)
        for i, one in enumerate(mixture.kinds):
            print(sorted(kind), one, learned[mixture.own(i)].round(1).tolist(), flush=True)


def held_by_kind(X, y, tree, rows, scored):
    """What the scores of some rows are made of, for all kinds of models."""
    flat = ("svm", svm())
    words = ("tfidf", ClassTextClassifier(hierarchy=tree))
    embedded = ("embedding", ClassTextClassifier(embedding(), hierarchy=tree))
    given = (list(X[rows]), y[rows]) if len(rows) else (None, None)
    found = fit_ensemble(
        [flat, words, embedded],
        None,
        *given,
        None,
        None,
        learn=False,
        on_all=True,
        check=lambda _: None,
    )
    texts = list(X[scored])
    nodes = encode_texted(tree, None, y[scored]).nodes
    joint, places = found.joint, {ROWS_KIND: 0, WORDS: 1, MEANINGS: 2}
    vectors = [None, *(as_vectors(member, texts) for member in joint.members[1:])]
    everyone = np.flatnonzero(np.isin(nodes, joint.options.ends))
    every = nodes, everyone, np.ones(len(everyone)), found.rows.target.nodes
    parts = {}
    for kinds in STARTS:
        mixture = mixture_of([ROWS_KIND, *sorted(kinds)])
        chosen = [places[kind] for kind in mixture.kinds]
        some = replace(joint, members=tuple(joint.members[i] for i in chosen))
        known = [vectors[i] for i in chosen]
        parts[kinds] = hold_rows(some, mixture, texts, known, *every)
        if len(kinds) == 1:
            (kind,) = kinds
            parts[kind] = [part.of(mixture.own(1)) for part in parts[kinds]]
    return parts


def tables(sets):
    """Exact matches and hF of every set, one row per model, as Markdown."""
    names = (NO_TEXTS, "SVM, texts as rows", "nearest, TF-IDF", "nearest, embedding", "product")
    names = (*names, "zero-shot words", "zero-shot words, embedded", OURS, OURS_EMBEDDED)
    parts = []
    for name, entry in sets.items():
        order = [key for key in map(_key, ROWS) if key in entry["few"]]
        tasks = {_rows(key): entry["few"][key]["models"] for key in order}
        tasks |= {f"{part} classes": found for part, found in entry.get("held_out", {}).items()}
        rows = [
            (model, *(_scores(models.get(model)) for models in tasks.values())) for model in names
        ]
        parts.append(f"## {name}\n\n{table(('model', *tasks), rows)}")
    return "\n\n".join(parts)


def _key(n_rows):
    return "all" if n_rows == ALL else str(n_rows)


def _rows(key):
    return "1 row" if key == "1" else f"{key} rows"


def _scores(found):
    return f"{found['exact']:.3f} / {found['hF']:.3f}" if found else "-"


def gains(sets):
    """Exact matches without texts, with texts, and with embeddings: one row per class, and all."""
    rows = []
    for name, entry in sets.items():
        for key in ("1", "all"):
            if key not in entry["few"]:
                continue
            models = entry["few"][key]["models"]
            cells = [f"{models[m]['exact']:.3f}" for m in (NO_TEXTS, OURS, OURS_EMBEDDED)]
            rows.append((name, key, *cells))
    head = ("taxonomy", "rows per class", "without texts", "with texts", "with word vectors, too")
    return table(head, rows)


def limits(sets):
    """Classes without rows beside a model that has seen no rows, calibration errors, and costs."""
    rows = []
    for name, entry in sets.items():
        if "held_out" not in entry:
            continue
        seen, unseen = entry["held_out"]["seen"], entry["held_out"]["unseen"]
        for ours, alone in (
            (OURS, "zero-shot words"),
            (OURS_EMBEDDED, "zero-shot words, embedded"),
        ):
            shares = [f"{unseen[ours][m] / unseen[alone][m]:.2f}" for m in ("exact", "hF")]
            gain = 100 * (seen[ours]["exact"] - seen[NO_TEXTS]["exact"])
            few = [entry["few"].get(key, {}).get("models") for key in ("1", "all")]
            errors = [
                f"{found[ours]['calibration_error']:.2f}" if found else "-"
                for found in (*few, unseen)
            ]
            known = ours == OURS and "fit_cpu_s" in entry
            cost = f"{entry['fit_cpu_s']['ratio']:.2f}" if known else "-"
            rows.append((name, ours, " / ".join(shares), f"{gain:+.1f}", " / ".join(errors), cost))
    head = (
        "taxonomy",
        "model",
        "unseen classes, share of zero-shot",
        "seen classes, gain",
        "calibration errors",
        "cost of fit",
    )
    return table(head, rows)


def confidences(sets):
    """Shares automated; confidences of rows for which a class without rows is predicted."""
    rows = []
    for name, entry in sets.items():
        for model, found in entry.get("confidence", {}).items():
            unseen = found.get("unseen")
            cells = "-", "-"
            if unseen:
                cells = str(unseen["rows"]), f"{unseen['confidence']:.2f} / {unseen['right']:.2f}"
            error = f"{found['all']['calibration_error']:.2f}"
            rows.append((name, model, f"{found['all']['automated']:.2f}", error, *cells))
    head = (
        "taxonomy",
        "model",
        "automated at 5 % error",
        "calibration error",
        "rows predicted as unseen",
        "their confidence / share right",
    )
    return table(head, rows)


def losses(sets):
    """Baselines that are significantly better than our models: where, and by how many points."""
    rows = []
    for name, entry in sets.items():
        tasks = {key: entry["few"][key]["models"] for key in map(_key, ROWS) if key in entry["few"]}
        tasks |= entry.get("held_out", {})
        for ours in (OURS, OURS_EMBEDDED):
            for model in ("SVM, texts as rows", "nearest, TF-IDF", "nearest, embedding", "product"):
                found = {}
                for task, models in tasks.items():
                    for measure in ("exact", "hF"):
                        difference, _, largest = models[model][f"{measure}, {ours} less this"]
                        if largest < 0:
                            found.setdefault(task, []).append(f"{100 * difference:.1f} {measure}")
                where = "; ".join(f"{task}: {', '.join(each)}" for task, each in found.items())
                if where:
                    rows.append((name, ours, model, where))
    return table(("taxonomy", "model", "better", "rows per class: points"), rows)


def write_page(page):
    """Write the tables of the stored results into a page that has places for them."""
    sets = json.loads(RESULT.read_text())["sets"]
    text = Path(page).read_text(encoding="utf-8")
    sections = {
        "class_texts": tables,
        "class_texts_gain": gains,
        "class_texts_limits": limits,
        "class_texts_confidence": confidences,
        "class_texts_losses": losses,
    }
    for name, make in sections.items():
        if f"<!-- {name} -->" in text:
            write_section(page, name, make(sets))


def show(title, entry):
    """Print what was measured."""
    print(title)
    for name, found in entry["models"].items():
        more = " ".join(
            f"{key} {found[key]:.3f}" for key in ("calibration_error", "automated") if key in found
        )
        print(f"  {name:26s} exact {found['exact']:.3f}  hF {found['hF']:.3f}  {more}")
    print(flush=True)


def main():
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", choices=list(SETS))
    parser.add_argument("--rows", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--test", type=int, default=3000)
    parser.add_argument("--no-unseen", dest="unseen", action="store_false")
    parser.add_argument("--costs", action="store_true", help="measure only the cost of fit")
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("--defaults", action="store_true", help="learn what serves without rows")
    parser.add_argument("--table", action="store_true", help="print the tables of the appendix")
    options = parser.parse_args()
    options.sets = options.sets or list(TUNED if options.defaults else SETS)
    if options.defaults:
        learn_defaults(options)
        return
    if options.table:
        print(tables(json.loads(options.output.read_text())["sets"]))
        return
    known = json.loads(options.output.read_text())["sets"] if options.output.exists() else {}
    result = {**environment(), "sets": known}
    for name in options.sets:
        run_set(name, options, result)


if __name__ == "__main__":
    main()
