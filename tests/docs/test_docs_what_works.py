"""``docs/what_works.md``: everything that is public, tried on trees, DAGs and sets of classes.

Every cell of its tables is the outcome of a call: "yes", or the number of the sentence that refuses
it. As a program it writes the page anew. The network has a part of the page to itself, which needs
PyTorch: without it, the rest is written and compared.
"""

import copy
import importlib.util
import inspect
import re
import sys
import tempfile
import warnings
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import hiclass
from hiclass import (
    ByDepth,
    ClassTextClassifier,
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalKFold,
    Hierarchy,
    metrics,
)
from hiclass._estimators.base import BaseHierarchicalClassifier

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "what_works.md"
KINDS = ("tree", "DAG", "sets, tree", "sets, DAG")
TREE = Hierarchy.from_dict({"feline": ["cat", "lion"], "canine": ["dog", "wolf"]})
DAG = Hierarchy.from_dict(
    {"pet": ["cat", "dog"], "feline": ["cat", "lion"], "canine": ["dog", "wolf"]}
)
LEAVES = ["cat", "lion", "dog", "wolf"]
WORDS = {"cat": "purrs at home", "lion": "roars", "dog": "barks at home", "wolf": "howls"}
#: A refusal must say what to use, to pass or to do.
REMEDY = re.compile(
    r"\b(use|give|pass|set|leave|call|wrap|change|choose|clone|put|save|restrict|adapt|must be)\b",
    re.IGNORECASE,
)


# -- data and models ---------------------------------------------------------------------------


@cache
def data(kind):
    """Rows, labels, the hierarchy and whether a row has several labels."""
    rng = np.random.default_rng(0)
    first = np.arange(80) % 4
    second = np.where(np.arange(80) % 3 == 0, rng.integers(4, size=80), first)
    X = np.eye(4)[first] + np.eye(4)[second] + rng.normal(scale=0.2, size=(80, 4))
    several = kind.startswith("sets")
    tree = DAG if kind.endswith("DAG") else TREE
    labels = [LEAVES[i] for i in first]
    if several:
        y = [sorted({LEAVES[i], LEAVES[j]}) for i, j in zip(first, second, strict=True)]
    else:
        y = labels if kind == "DAG" else [list(tree.path(tree.find(label))) for label in labels]
    return X, y, tree, several


def texts(kind):
    X, _, _, _ = data(kind)
    return [WORDS[LEAVES[i]] for i in np.arange(len(X)) % 4]


def estimators():
    """The public estimators, by name."""
    found = {}
    for name in hiclass.__all__:
        kind = getattr(hiclass, name)
        if inspect.isclass(kind) and issubclass(kind, BaseHierarchicalClassifier):
            found[name] = kind
    return found


NETWORK = "HierarchicalSoftmaxClassifier"


def network():
    """The estimators that need PyTorch, by name."""
    from hiclass.torch import HierarchicalSoftmaxClassifier

    return {NETWORK: HierarchicalSoftmaxClassifier}


def class_of(name):
    return (network() if name == NETWORK else estimators())[name]


def make(name, column, options):
    """An estimator for a kind of labels."""
    kind = column
    kind_of, (_, _, tree, several) = class_of(name), data(kind)
    common = {"hierarchy": None if kind == "tree" else tree, "multi_label": several}
    if kind_of is EnsembleClassifier:
        members = [(n, FlatClassifier(GaussianNB(), **common)) for n in "ab"]
        return kind_of(**{"models": members, **options})
    if kind_of is ConformalClassifier:
        risk = "path" if kind == "tree" else "false_negatives"
        inner = FlatClassifier(GaussianNB(), **common)
        defaults = {"model": inner, "alpha": 0.3, "kind": risk, "random_state": 0}
        return kind_of(**{**defaults, **options})
    if kind_of is ClassTextClassifier:
        with_texts = (TREE if kind == "tree" else tree).with_texts(WORDS)
        given = {"hierarchy": with_texts, "encoder": HashingVectorizer(n_features=64)}
        return kind_of(**{**given, **options})
    defaults = {"random_state": 0}
    if name == NETWORK:
        defaults["max_epochs"] = 2
    if "effort" in inspect.signature(kind_of).parameters:
        defaults["effort"] = "quick"
    if "local_classifier" in inspect.signature(kind_of).parameters:
        defaults["local_classifier"] = GaussianNB()
    return kind_of(**{**common, **defaults, **options})


#: Why a call cannot even be written down.
NO_SETS = (
    "There is no multi_label: it is about one path per row. For sets of classes, use another "
    "estimator, such as FlatClassifier(multi_label=True)."
)


def cannot_say(name, kind):
    """Whether an estimator has no way to say that rows have several labels."""
    return kind.startswith("sets") and name == "ClassTextClassifier"


def rows(name, kind):
    X, y, _, _ = data(kind)
    return (texts(kind) if name == "ClassTextClassifier" else X), y


# -- trying ------------------------------------------------------------------------------------


def attempt(function, name=""):
    """The outcome of a call: "yes", or the sentence that refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function()
        except (ValueError, TypeError, AttributeError) as error:
            sentence = " ".join(str(error).split())
            for known in (*estimators(), NETWORK):
                sentence = re.sub(rf"\b{known}\b(?!\()", "…", sentence)
            # A set has no order.
            return re.sub(
                r"\{(.*?)\}", lambda m: ", ".join(sorted(m.group(1).split(", "))), sentence
            )
    return "yes"


@cache
def fitted(name, kind):
    X, y = rows(name, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(name, kind, {}).fit(X, y)


def on_fitted(name, kind, call):
    """Try something on a fitted model; what cannot be fitted says so."""
    X, y = rows(name, kind)
    return attempt(lambda: call(fitted(name, kind), X, y))


METHODS = {
    "fit": None,
    "partial_fit": None,
    "predict": lambda m, X, y: m.predict(X),
    "predict_set": lambda m, X, y: m.predict_set(X),
    "predict_confidence": lambda m, X, y: m.predict_confidence(X),
    "predict_proba": lambda m, X, y: m.predict_proba(X),
    "predict_log_proba": lambda m, X, y: m.predict_log_proba(X),
    "predict_node_proba": lambda m, X, y: m.predict_node_proba(X),
    "predict_paths": lambda m, X, y: m.predict_paths(X, 2),
    "restricted_to": lambda m, X, y: m.restricted_to(["canine"]).predict(X),
    "adapted_to": lambda m, X, y: m.adapted_to(prior={"canine": 0.3, "feline": 0.7}).predict(X),
    "score": lambda m, X, y: m.score(X, y),
    "explain": lambda m, X, y: m.explain(X[0]),
}
NETWORK_METHODS = {
    "fit_batches": lambda m, X, y: sklearn.clone(m).fit_batches([(X, y)], classes_of(m)),
    "module_": lambda m, X, y: m.module_,
}
#: Methods that have nothing to do with labels.
PLAIN_METHODS = {"get_params", "set_params", "set_callbacks", "get_metadata_routing"}


def try_method(method, name, kind):
    if cannot_say(name, kind):
        return NO_SETS
    X, y = rows(name, kind)
    if method == "fit":
        return attempt(lambda: make(name, kind, {}).fit(X, y))
    if method == "partial_fit":

        def learn():
            model = make(name, kind, {})
            model.partial_fit(X[:40], y[:40])
            model.partial_fit(X[40:], y[40:]).predict(X)

        return attempt(learn)
    return on_fitted(name, kind, {**METHODS, **NETWORK_METHODS}[method])


def classes_of(model):
    """All classes, as batches announce them."""
    return None if model.hierarchy is not None else model.hierarchy_


def method_rows(methods, classes):
    for method in methods:
        found = {}
        for name, cls in classes.items():
            offered = hasattr(cls, method) or method in dir(cls)
            if offered:
                found[name] = tuple(try_method(method, name, kind) for kind in KINDS)
        yield from grouped(f"`{method}`", found)


#: A value of every parameter that is not its default; a name stands for several rows.
PARAMETERS = {
    "local_classifier": [LogisticRegression(), ByDepth(GaussianNB(), var_smoothing=[1e-9, 1e-2])],
    "estimator": [None],
    "encoder": [HashingVectorizer(n_features=32)],
    "hierarchy": ["given"],
    "binary_policy": ["inclusive"],
    "level_weight": [0.5],
    "decoding": ["best_path", "expected_f1"],
    "expected_f1": [0.8],
    "min_confidence": [0.6],
    "leaf_only": [True],
    "calibration": ["temperature", "joint", "sigmoid", "isotonic"],
    "temperature": [2.0],
    "multi_label": ["given"],
    "threshold": [0.3, "tuned", "micro_f1", ("precision", 0.5), ("cost", 1, 5), ("top", 1)],
    "min_coef": [0.0],
    "n_jobs": [2],
    "checkpoint_dir": ["folder"],
    "random_state": [1],
    "verbose": [0],
    "models": ["given"],
    "voting": ["mean"],
    "weights": ["learned", [2, 1]],
    "class_texts": [WORDS],
    "model": ["given"],
    "alpha": [0.4],
    "kind": ["path", "set", "false_negatives", "false_discoveries"],
    "certainty": [0.8],
    "calibration_size": [0.5],
    "optimize": ["f1", "path"],
    "effort": ["quick", "balanced"],
}
#: The same for those that only the network has.
NETWORK_PARAMETERS = {
    "loss": ["conditional", "leaf", "each"],
    "hidden_layers": [(8,)],
    "embedding_dim": [4],
    "dropout": [0.2],
    "standardize": [False],
    "penalty": [0.01],
    "recursive": [True],
    "learning_rate": [0.01],
    "decay": [False],
    "batch_size": [16],
    "max_epochs": [1],
    "validation_fraction": [0.3],
    "patience": [1],
    "tol": [0.1],
    "clip_norm": [1.0],
    "precision": ["bfloat16"],
    "device": ["cpu"],
    "distributed": [True],
    "warm_start": [True],
}


def try_parameter(parameter, value, name, kind):
    if cannot_say(name, kind):
        return NO_SETS
    X, y = rows(name, kind)
    X = texts(kind) if parameter == "class_texts" else X
    options = {} if value == "given" else {parameter: value}
    if parameter == "temperature":
        options["calibration"] = "temperature"
    if parameter == "certainty":
        options["kind"] = "set" if kind == "tree" else "false_discoveries"
    if parameter == "class_texts" and name == "EnsembleClassifier":
        inner = [("a", FlatClassifier(text_model(), **labels_of(kind)))]
        options["models"] = inner
    if parameter == "class_texts" and name == "HierarchicalClassifier":
        options["local_classifier"] = None

    def run():
        group = alone_in_a_group() if parameter == "distributed" else nullcontext()
        with tempfile.TemporaryDirectory() as folder, group:
            if parameter == "checkpoint_dir":
                options["checkpoint_dir"] = folder
            make(name, kind, options).fit(X, y).predict(X)

    return attempt(run)


@contextmanager
def alone_in_a_group():
    """A group of processes of ``torch.distributed`` with this one only."""
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def text_model():
    from sklearn.pipeline import make_pipeline

    return make_pipeline(HashingVectorizer(n_features=64), LogisticRegression())


def labels_of(kind):
    _, _, tree, several = data(kind)
    return {"hierarchy": None if kind == "tree" else tree, "multi_label": several}


def parameter_rows(parameters, classes):
    for parameter, values in parameters.items():
        for value in values:
            found = {}
            for name, cls in classes.items():
                if parameter in inspect.signature(cls).parameters:
                    found[name] = tuple(
                        try_parameter(parameter, value, name, kind) for kind in KINDS
                    )
            plain = len(values) == 1 or isinstance(value, ByDepth)
            shown = "ByDepth(...)" if isinstance(value, ByDepth) else repr(value)
            title = f"`{parameter}`" if plain and shown[0] != "B" else f"`{parameter}={shown}`"
            yield from grouped(title, found)


COSTS = {"canine": 2.0}
FUNCTIONS = {
    "predict_confidence": lambda m, X, y: hiclass.predict_confidence(m, X),
    "predict_node_proba": lambda m, X, y: hiclass.predict_node_proba(m, X),
    "predict_paths": lambda m, X, y: hiclass.predict_paths(m, X, 2),
    "tune_confidence": lambda m, X, y: hiclass.tune_confidence(m, X, y, 0.5),
    "guarantee_error": lambda m, X, y: hiclass.guarantee_error(m, X, y, 0.2),
    "guarantee_cost": lambda m, X, y: hiclass.guarantee_cost(m, X, y, 1.5, costs=COSTS),
    "make_report": lambda m, X, y: hiclass.make_report(m, X, y),
    "explain": lambda m, X, y: hiclass.explain(explained(m), X[0]),
    "find_label_errors": lambda m, X, y: hiclass.find_label_errors(m, X, y, cv=2),
    "choose_for_review": lambda m, X, y: hiclass.choose_for_review(m, X, 3),
    "compare_use": lambda m, X, y: hiclass.compare_use(m, X[:40], X[40:]),
    "outside_score": lambda m, X, y: hiclass.outside_score(m, X),
    "triage": lambda m, X, y: hiclass.triage(with_confidence(explained(m)), X),
    "trusted_types": lambda m, X, y: hiclass.trusted_types(m),
    "load": lambda m, X, y: stored(m),
    "to_onnx": lambda m, X, y: hiclass.to_onnx(explained(m)),
}
#: Functions of labels and texts, without a model.
WITHOUT_MODEL = {
    "compare_flat": lambda kind: hiclass.compare_flat(
        *data(kind)[:2], local_classifier=GaussianNB(), cv=2
    ),
    "add_class_texts": lambda kind: hiclass.add_class_texts(
        texts(kind), data(kind)[1], WORDS, hierarchy=data(kind)[2]
    ),
    "truncate_at_gap": lambda kind: hiclass.truncate_at_gap(data(kind)[1]),
    "HierarchicalKFold": lambda kind: list(
        HierarchicalKFold(2, multi_label=data(kind)[3], hierarchy=data(kind)[2]).split(
            *(data(kind)[:2])
        )
    ),
}
#: Why a cell is empty where nothing refuses: lists of labels would be read as something else.
EMPTY = {
    "truncate_at_gap": "It is about gaps in paths, which sets of labels do not have: leave it out.",
    "compare_flat": "It compares models of paths, one per row. For sets of classes, use "
    "cross_val_score with FlatClassifier(multi_label=True) and LocalClassifierPerParentNode("
    "multi_label=True).",
    "add_class_texts": "It adds one row per text, with one path. For sets of classes, give such "
    "rows yourself, with a list of one label.",
}


def with_confidence(model):
    """With a threshold where predictions are paths; sets have none."""
    return model if model._is_about_sets() else model.set_params(min_confidence=0.5)


def explained(model):
    """The same model with classifiers that can be explained and exported; networks as they are."""
    if type(model).__name__ == NETWORK:
        return copy.deepcopy(model)
    X, y = model_rows[id(model)]
    options = {"hierarchy": model.hierarchy, "multi_label": model.multi_label}
    return FlatClassifier(LogisticRegression(), **options).fit(X, y)


model_rows = {}


def stored(model):
    import skops.io

    with tempfile.TemporaryDirectory() as folder:
        skops.io.dump(model, Path(folder) / "m.skops")
        hiclass.load(Path(folder) / "m.skops")


def function_rows(model):
    for name, call in FUNCTIONS.items():
        cells = []
        for kind in KINDS:
            model_rows[id(fitted(model, kind))] = rows(model, kind)
            cells.append(on_fitted(model, kind, call))
        yield f"`{name}`", "", tuple(cells)


def rows_without_model():
    for name, call in WITHOUT_MODEL.items():
        cells = [attempt(lambda kind=kind, call=call: call(kind)) for kind in KINDS]
        if name in EMPTY:
            cells = [
                EMPTY[name] if kind.startswith("sets") else cell
                for cell, kind in zip(cells, KINDS, strict=True)
            ]
        yield f"`{name}`", "", tuple(cells)


#: Metrics without ``multi_label``: what serves sets instead.
INSTEAD = {
    "confidence": "It is about the confidence of one path per row. For sets of classes, use "
    "node_brier_score, node_log_loss or precision_recall_curve with multi_label=True.",
    "y_pred": "It compares one path with another. For sets of classes, use f1, jaccard or "
    "exact_match with multi_label=True.",
}


def try_metric(name, kind):
    X, y, _, several = data(kind)
    function = getattr(metrics, name)
    if inspect.isclass(function):
        function = function.from_predictions
    model = fitted("FlatClassifier", kind)
    parameters = inspect.signature(function).parameters
    if "estimator" in parameters:
        return attempt(lambda: function(model, X, y))
    given = {
        "y": y,
        "y_true": y,
        "y_pred": model.predict(X),
        "node_proba": model.predict_node_proba(X),
        "confidence": model.predict_confidence(X),
        "beta": 2.0,
    }
    options = {k: v for k, v in given.items() if k in parameters}
    options["hierarchy"] = model.hierarchy_
    if several and "multi_label" not in parameters:
        return INSTEAD["confidence" if "confidence" in parameters else "y_pred"]
    if several:
        options["multi_label"] = True
    if "information" in parameters and parameters["information"].default is inspect.Parameter.empty:
        options["information"] = np.ones(model.hierarchy_.n_nodes)
    return attempt(lambda: function(**options))


def metric_rows():
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")
    for name in metrics.__all__:
        found = getattr(metrics, name)
        if inspect.isclass(found) and not hasattr(found, "from_predictions"):
            continue  # what a function returns
        yield f"`metrics.{name}`", "", tuple(try_metric(name, kind) for kind in KINDS)
        plt.close("all")


# -- the page ----------------------------------------------------------------------------------


def grouped(title, found):
    """Rows of estimators that have the same cells."""
    groups = {}
    for name, cells in found.items():
        groups.setdefault(cells, []).append(name)
    largest = max(groups.values(), key=len, default=[])
    for cells, names in groups.items():
        shown = ", ".join(f"`{name}`" for name in names)
        if len(names) > 2 and names is largest:
            shown = "all others that have it" if len(groups) > 1 else "all that have it"
        yield title, shown, cells


def sections():
    return {
        "Methods": list(method_rows(METHODS, estimators())),
        "Parameters": list(parameter_rows(PARAMETERS, estimators())),
        "Functions": [*function_rows("FlatClassifier"), *rows_without_model()],
        "Metrics": list(metric_rows()),
    }


def network_sections():
    found = {
        "Methods": method_rows({**METHODS, **NETWORK_METHODS}, network()),
        "Parameters": parameter_rows({**PARAMETERS, **NETWORK_PARAMETERS}, network()),
        "Functions": [*function_rows(NETWORK), *members()],
    }
    return {
        f"Network: {title.lower()}": [(what, "", cells) for what, _, cells in rows]
        for title, rows in found.items()
    }


def members():
    """The network within other estimators."""
    for name, make_outer in (
        ("EnsembleClassifier", lambda m: EnsembleClassifier([("a", m)])),
        ("ConformalClassifier", conformal),
    ):
        cells = []
        for kind in KINDS:
            X, y = rows(NETWORK, kind)
            outer = make_outer(make(NETWORK, kind, {}))
            cells.append(attempt(lambda X=X, y=y, m=outer: m.fit(X, y).predict(X)))
        yield f"`{name}` of it", "", tuple(cells)


def conformal(model):
    risk = "false_negatives" if model._is_about_sets() else "path"
    return ConformalClassifier(model, 0.3, kind=risk, random_state=0)


INTRODUCTION = """# What works with what

Which methods, parameters, functions and metrics work with which labels? The columns are:

- **tree**: one path per row in a tree;
- **DAG**: one label per row in a DAG, in which a class may have several parents;
- **sets, tree** and **sets, DAG**: several labels per row (`multi_label=True`).

"yes" means that the call works. A number links to the error message in the [notes](#notes), which
names the alternative. In messages, "…" stands for the name of an estimator.

The tables are the results of real calls: `python tests/docs/test_docs_what_works.py` writes this
page, and a test compares it with the library. The network of `hiclass.torch`, which needs
PyTorch, has [tables of its own](#the-network).
"""
NETWORK_INTRODUCTION = """## The network

The same for `hiclass.torch.HierarchicalSoftmaxClassifier`. Above, `explain`, `triage` and `to_onnx`
are called with a logistic regression; here, with the network itself.
"""


def write():
    """The text of the page, but for the network."""
    return as_text(INTRODUCTION, sections(), "Notes", "##")


def write_network():
    """The text of the page about the network."""
    return as_text(NETWORK_INTRODUCTION, network_sections(), "Notes on the network", "###")


def as_text(introduction, tables, heading, level):
    notes, lines = {}, [introduction]
    place = heading.lower().replace(" ", "-")

    def cell(outcome):
        if outcome == "yes":
            return outcome
        return f"[{notes.setdefault(outcome, len(notes) + 1)}](#{place})"

    for title, found in tables.items():
        with_names = any(names for _, names, _ in found)
        header = [title.split()[-1].removesuffix("s").lower(), *KINDS]
        if with_names:
            header.insert(1, "of")
        lines += [f"{level} {title}", "", "| " + " | ".join(header) + " |"]
        lines.append("|" + "---|" * len(header))
        for what, names, cells in found:
            parts = [what, *([names] if with_names else []), *map(cell, cells)]
            lines.append("| " + " | ".join(parts) + " |")
        lines.append("")
    lines += [f"{level} {heading}", ""]
    lines += [f"{number}. {escaped(sentence)}" for sentence, number in notes.items()]
    return "\n".join(lines) + "\n"


def escaped(sentence):
    return sentence.replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_").replace("|", r"\|")


# -- tests -------------------------------------------------------------------------------------

needed = pytest.mark.skipif(
    any(importlib.util.find_spec(n) is None for n in ("skops", "matplotlib", "onnx", "skl2onnx")),
    reason="needs all extras",
)


def page_parts():
    """The page in two: without the network, and about it."""
    text, heading, of_network = PAGE.read_text(encoding="utf-8").partition("\n## The network")
    return text, heading[1:] + of_network


def check_sentences(page):
    sentences = [line for line in page.partition("# Notes")[2].splitlines() if line[:1].isdigit()]
    assert sentences
    assert not [line for line in sentences if not REMEDY.search(line)]


@needed
def test_the_page_is_what_happens_now_and_every_refusal_says_what_to_do():
    page = write()
    check_sentences(page)
    assert page_parts()[0] == page, f"run python {Path(__file__).name}"


@pytest.mark.heavy
def test_the_same_holds_for_the_network():
    page = write_network()
    check_sentences(page)
    assert page_parts()[1] == page, f"run python {Path(__file__).name}"


@pytest.mark.heavy
def test_everything_public_of_the_network_is_in_its_tables():
    cls = network()[NETWORK]
    known = {**PARAMETERS, **NETWORK_PARAMETERS}
    assert set(inspect.signature(cls).parameters) <= set(known)
    methods = {m for m in dir(cls) if not m.startswith("_") and callable(getattr(cls, m, None))}
    methods = {m for m in methods if not m.endswith("_request")} - PLAIN_METHODS
    assert methods <= {*METHODS, *NETWORK_METHODS}


def test_everything_that_is_public_is_in_the_tables():
    for name, cls in estimators().items():
        missing = set(inspect.signature(cls).parameters) - set(PARAMETERS)
        assert not missing, f"{name}: add {missing} to PARAMETERS"
        methods = {m for m in dir(cls) if not m.startswith("_") and callable(getattr(cls, m, None))}
        missing = {m for m in methods if not m.endswith("_request")} - set(METHODS) - PLAIN_METHODS
        assert not missing, f"{name}: add {missing} to METHODS"
    functions = {n for n in hiclass.__all__ if inspect.isfunction(getattr(hiclass, n))}
    missing = functions - set(FUNCTIONS) - set(WITHOUT_MODEL)
    assert not missing, f"add {missing} to FUNCTIONS"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    about_network = page_parts()[1]
    if importlib.util.find_spec("torch") is not None:
        about_network = write_network()
    PAGE.write_text(f"{write()}\n{about_network}", encoding="utf-8")
