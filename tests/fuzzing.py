"""What the fuzz suite is made of: strategies for good and bad input, and what counts as a refusal.

A strategy draws a :class:`Case`: a value together with what must become of it. Bad values are made
from good ones by one fault each, so that the suite knows that they are bad and a model that takes
them in silence fails. Where nothing can be said beforehand (``expect=EITHER``) the model may refuse
or answer, but an answer must obey the laws all the same.
"""

import linecache
import os
import tempfile
import traceback
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import scipy.sparse as sp
import sklearn
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import Ridge
from strategies import dag_edges, pad, paths

import hiclass
from hiclass._labels.columns import is_missing, plain

GOOD, BAD, EITHER = "good", "bad", "either"


@dataclass(frozen=True)
class Case:
    """A value, what must become of it (GOOD, BAD or EITHER), and what is special about it."""

    value: Any
    expect: str
    what: str
    #: Of labels the path of every row, of a hierarchy its labels, of rows the numbers as an array.
    plain: Any = None

    def __repr__(self):
        return f"Case({self.expect}: {self.what}, {self.value!r})"


# -- refusals ----------------------------------------------------------------------------------

#: Where an error may come from. scikit-learn validates X and parameters for hiclass.
_OURS = str(Path(hiclass.__file__).parent) + os.sep
_SKLEARN = str(Path(sklearn.__file__).parent) + os.sep
_VALIDATION = tuple(_SKLEARN + name for name in ("utils" + os.sep, "base.py"))


def is_refusal(error, *, by_classifier=False):
    """Whether an exception was raised on purpose, with a message, by code that checks input.

    The last frame of its traceback must be a ``raise`` statement in hiclass or in scikit-learn's
    validation. An ``IndexError`` of NumPy, a ``KeyError`` of a dict or a ``TypeError`` of an
    operator that just happens somewhere inside is none, whatever its type. With ``by_classifier``,
    for an X that hiclass only passes on, anything that happens inside a scikit-learn classifier.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if by_classifier and any(_is_classifier(frame) for frame in frames):
        return True
    if not isinstance(error, ValueError | TypeError) or not str(error).strip():
        return False
    last = frames[-1]
    raised = linecache.getline(last.filename, last.lineno or 0).strip().startswith("raise")
    return raised and last.filename.startswith((_OURS, *_VALIDATION))


def _is_classifier(frame):
    return frame.filename.startswith(_SKLEARN) and not frame.filename.startswith(_VALIDATION)


# -- labels that were predicted ----------------------------------------------------------------


def typed(path):
    """A path in which 1, True and 1.0 differ, without the missing labels at its end."""
    labels = [plain(label) for label in path if not is_missing(label)]
    return tuple((type(label), label) for label in labels)


# -- local classifiers -------------------------------------------------------------------------


_WIDTH = 16


def numbers(X):
    """The numbers in any container of rows, as a 2-D array without NaN: text counts its letters.

    Rows that are shorter than others end in zeros.
    """
    if sp.issparse(X):
        X = X.toarray()
    elif hasattr(X, "to_numpy"):
        X = X.to_numpy()
    rows = X.tolist() if isinstance(X, np.ndarray) else list(X)
    values = np.zeros((len(rows), _WIDTH))
    for i, row in enumerate(rows):
        found = [_number(value) for value in _flat(row)][:_WIDTH]
        values[i, : len(found)] = found
    return np.clip(np.nan_to_num(values), -1e6, 1e6)


def _flat(row):
    if isinstance(row, Iterable) and not isinstance(row, str | bytes):
        return [value for part in row for value in _flat(part)]
    return [row]


def _number(value):
    if isinstance(value, int | float | np.number):
        return float(value)
    return float(len(value)) if isinstance(value, str | bytes) else 0.0


class SoftAnyRows(ClassifierMixin, BaseEstimator):
    """Takes rows in every container; probabilities fall with the distance to the class means."""

    def fit(self, X, y):
        values = numbers(X)
        self.means_ = np.stack([values[y == k].mean(axis=0) for k in range(y.max() + 1)])
        self.classes_ = np.arange(len(self.means_))
        return self

    def _scores(self, X):
        return -abs(numbers(X)[:, None] - self.means_).sum(axis=-1)

    def predict_proba(self, X):
        proba = 1 / (1 - self._scores(X))
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self._scores(X).argmax(axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


class ScoredAnyRows(SoftAnyRows):
    """The same with scores only."""

    predict_proba = property()

    def decision_function(self, X):
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class BareAnyRows:
    """Only what the paper asks for, and no estimator of scikit-learn; repeats what it was shown."""

    def fit(self, X, y):
        self.X, self.y = numbers(X), y
        return self

    def predict(self, X):
        return self.y[abs(numbers(X)[:, None] - self.X).sum(axis=-1).argmin(axis=1)]

    def predict_proba(self, X):
        return np.eye(self.y.max() + 1)[self.predict(X)]


class AsRegressor(RegressorMixin, BaseEstimator):
    """A classifier as the multi-output regressor that a global model asks.

    Its classes are the distinct rows of the target, and its prediction is their average.
    """

    def __init__(self, classifier):
        self.classifier = classifier

    def fit(self, X, y):
        self.targets_, codes = np.unique(y, axis=0, return_inverse=True)
        self.classifier_ = clone(self.classifier, safe=False).fit(X, codes.ravel())
        return self

    def predict(self, X):
        return self.classifier_.predict_proba(X) @ self.targets_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


# -- labels ------------------------------------------------------------------------------------

SPELLINGS = ("", None, float("nan"), pandas.NA)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=3)
    | st.dates()
    | st.datetimes()
    | st.timedeltas()
    | st.decimals()
    | st.fractions()
    | st.complex_numbers()
    | st.sampled_from([pandas.NA, pandas.NaT, np.int8(3), np.float32(2), np.str_("s"), object, len])
)
CHAOS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
        | st.sets(st.integers(0, 3), max_size=2)
    ),
    max_leaves=12,
)


@st.composite
def good_labels(draw, **options):
    """Paths of some rows in one of the containers that ``fit`` takes."""
    options = {"min_rows": 2, "max_rows": 12, "depth": (1, 4), "labels": "mixed", **options}
    rows = draw(paths(**options))
    what = draw(st.sampled_from(_CONTAINERS))
    kinds = {type(label) for row in rows for label in row}
    one_level = max(map(len, rows)) == 1
    if what == "single" and one_level:
        return Case([row[0] for row in rows], GOOD, "single labels", rows)
    if what == "U" and kinds == {str} and not any(_ends_in_nul(v) for row in rows for v in row):
        return Case(np.array(pad(rows, "")), GOOD, "array of str", rows)
    if what == "native" and len(kinds) == 1 and len({len(row) for row in rows}) == 1:
        array = np.array(rows)
        if array.dtype.kind in "ibf" and [list(map(type, row)) for row in array.tolist()] == [
            list(map(type, row)) for row in rows
        ]:
            return Case(array, GOOD, f"array of {array.dtype}", rows)
    if what == "polars" and kinds <= {str} and not one_level:
        frame = polars.DataFrame(pad(rows, None), schema=_names(rows), orient="row")
        return Case(frame, GOOD, "polars frame", rows)
    if what == "tuples":
        return Case(tuple(map(tuple, rows)), GOOD, "tuples", rows)
    missing = draw(st.sampled_from(SPELLINGS))
    if what == "object":
        array = np.empty((len(rows), max(map(len, rows))), dtype=object)
        for i, row in enumerate(pad(rows, missing)):
            for j, label in enumerate(row):
                array[i, j] = label
        return Case(array, GOOD, f"object array, {missing!r}", rows)
    if what == "pandas" and kinds <= {str}:
        frame = pandas.DataFrame(pad(rows, missing), columns=_names(rows))
        return Case(frame, GOOD, f"pandas frame, {missing!r}", rows)
    if what == "padded":
        return Case(pad(rows, missing), GOOD, f"lists, {missing!r}", rows)
    return Case(rows, GOOD, "ragged lists", rows)


_CONTAINERS = ("ragged", "single", "U", "native", "polars", "tuples", "object", "pandas", "padded")


def _names(rows):
    return [f"level {j}" for j in range(max(map(len, rows)))]


def _ends_in_nul(label):
    """NumPy's fixed-width strings drop trailing NULs before anyone sees them."""
    return label.endswith("\0")


@st.composite
def bad_labels(draw):
    """Paths with one fault."""
    rows = [list(row) for row in draw(paths(min_rows=2, max_rows=8, depth=(2, 4), labels="mixed"))]
    fault = draw(st.sampled_from(sorted(_FAULTS)))
    i = draw(st.integers(0, len(rows) - 1))
    return Case(_FAULTS[fault](draw, rows, i), BAD, fault)


def _gap(draw, rows, i):
    row = rows[next(k for k in range(len(rows)) if len(rows[k]) > 1)]
    row[draw(st.integers(0, len(row) - 2))] = draw(st.sampled_from(SPELLINGS))
    return rows


def _no_label(draw, rows, i):
    rows[i] = draw(st.sampled_from([[], [""], [None, None], [float("nan")]]))
    return rows


def _of_another_type(draw, rows, i):
    rows[i] = [_another(rows[(i + 1) % len(rows)][0])]
    return rows


def _another(label):
    return 7 if isinstance(label, str) else "seven"


def _label(value):
    """A fault in which one label is something that cannot be one, in a level of its own kind."""

    def put(draw, rows, i):
        for row in rows:
            row[0] = 1.0 if isinstance(value, float) else row[0]
        rows[i][0] = value
        return rows

    return put


_FAULTS = {
    "a gap": _gap,
    "a row without labels": _no_label,
    "mixed types": _of_another_type,
    "a fraction": _label(0.5),
    "an infinity": _label(float("inf")),
    "a set as label": _label({"a"}),
    "a dict as label": _label({"a": 1}),
    "a list as label": _label(["a"]),
    "an array as label": _label(np.zeros(2)),
    "labels and paths": lambda draw, rows, i: [*rows[:i], "single", *rows[i + 1 :]],
    "no rows": lambda draw, rows, i: [],
    "no columns": lambda draw, rows, i: np.empty((len(rows), 0)),
    "three dimensions": lambda draw, rows, i: np.zeros((len(rows), 2, 2), dtype=int),
    "a number": lambda draw, rows, i: 3,
    "an array without dimensions": lambda draw, rows, i: np.array(3),
    "None": lambda draw, rows, i: None,
    "a string": lambda draw, rows, i: "x" * len(rows),
    "bytes": lambda draw, rows, i: b"x" * len(rows),
    "a dict": lambda draw, rows, i: dict.fromkeys(range(len(rows)), "a"),
    "a set of labels": lambda draw, rows, i: set(map(str, range(len(rows)))),
    "a generator": lambda draw, rows, i: iter(["a"] * len(rows)),
    "a sparse matrix": lambda draw, rows, i: sp.csr_array(np.eye(len(rows))),
    "complex numbers": lambda draw, rows, i: np.arange(len(rows)) * 1j,
    "one row too many": lambda draw, rows, i: [*rows, rows[0]],
    "one row too few": lambda draw, rows, i: rows[:-1],
    "types of objects": lambda draw, rows, i: [object] * len(rows),
    "a structured array": lambda draw, rows, i: np.zeros(len(rows), dtype=[("a", int)]),
}

ANY_LABELS = (
    good_labels() | bad_labels() | CHAOS.map(lambda value: Case(value, EITHER, "anything"))
    | st.lists(SCALARS, min_size=1, max_size=5).map(lambda v: Case(v, EITHER, "any scalars"))
)  # fmt: skip


# -- hierarchies -------------------------------------------------------------------------------


@st.composite
def hierarchies(draw):
    """Something for ``hierarchy=``: edges of a tree or DAG, whole or with one fault; and a label.

    ``plain`` holds the labels that it has.
    """
    edges = draw(dag_edges(max_nodes=8))
    if draw(st.booleans()):
        edges = list({child: (parent, child) for parent, child in edges}.values())
    names = draw(st.sampled_from([lambda v: v, str, lambda v: f"n{v}", lambda v: ("t", v), float]))
    edges = [(names(p), names(c)) for p, c in edges]
    labels = sorted({label for edge in edges for label in edge})
    form = draw(st.sampled_from(["edges", "dict", "hierarchy"]))
    fault = draw(st.sampled_from([None, None, *_GRAPH_FAULTS]))
    if fault is not None:
        edges = _GRAPH_FAULTS[fault](edges)
        return Case(edges, BAD, fault, labels)
    if form == "edges":
        return Case(edges, GOOD, form, labels)
    children = {}
    for parent, child in edges:
        children.setdefault(parent, []).append(child)
    if form == "dict":
        return Case(children, GOOD, form, labels)
    return Case(hiclass.Hierarchy.from_dict(children), GOOD, form, labels)


_GRAPH_FAULTS = {
    "a cycle": lambda edges: [*edges, edges[0][::-1]],
    "a loop": lambda edges: [*edges, (edges[0][0], edges[0][0])],
    "an edge twice": lambda edges: [*edges, edges[0]],
    "a triple": lambda edges: [*edges, (*edges[0], 1)],
    "a single": lambda edges: [*edges, edges[0][:1]],
    "a number as edge": lambda edges: [*edges, 3],
    "an unhashable label": lambda edges: [*edges, (edges[0][0], ["x"])],
    "a set as label": lambda edges: [*edges, (edges[0][0], {"x"})],
    "a tuple with a list": lambda edges: [*edges, (edges[0][0], (["x"],))],
    "a missing label": lambda edges: [*edges, (edges[0][0], "")],
    "a label that is NaN": lambda edges: [*edges, (edges[0][0], float("nan"))],
    "no child": lambda edges: [*edges, (edges[0][0], None)],
    "no edges": lambda edges: [],
    "an empty dict": lambda edges: {},
    "a dict of strings": lambda edges: {"a": "bc"},
    "a dict of numbers": lambda edges: {"a": 3},
    "a dict of dicts": lambda edges: {"a": {"b": {}}},
    "a number": lambda edges: 3,
    "a string": lambda edges: "tree",
    "a type": lambda edges: dict,
}


# -- rows --------------------------------------------------------------------------------------


@st.composite
def rows(draw, n, p=2, expect=(GOOD, BAD, EITHER)):
    """Rows in some container; ``plain`` are the same numbers as a plain array."""
    seed = draw(st.integers(0, 2**16))
    # Eighths: exact in every floating type.
    base = np.random.default_rng(seed).integers(-40, 40, size=(n, p)) / 8
    kinds = [k for k, (e, _) in _ROWS.items() if e in expect]
    kind = draw(st.sampled_from(kinds))
    e, make = _ROWS[kind]
    if kind in ("int8", "uint8", "int64", "bool"):
        base = abs(base) if kind == "uint8" else base
        base = (base > 0).astype(float) if kind == "bool" else np.trunc(base)
    return Case(make(base), e, kind, base)


def _memmap(base):
    with tempfile.TemporaryDirectory() as folder:  # the map outlives the name of its file
        np.save(Path(folder, "rows.npy"), base)
        return np.load(Path(folder, "rows.npy"), mmap_mode="r")


def _read_only(base):
    base = base.copy()
    base.flags.writeable = False
    return base


def _with(value):
    def put(base):
        base = base.copy()
        base[0, -1] = value
        return base

    return put


def _matrix(base):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(base)


_ROWS = {
    "array": (GOOD, np.array),
    "Fortran order": (GOOD, np.asfortranarray),
    "float32": (GOOD, lambda b: b.astype(np.float32)),
    "float16": (GOOD, lambda b: b.astype(np.float16)),
    "longdouble": (GOOD, lambda b: b.astype(np.longdouble)),
    "big-endian": (GOOD, lambda b: b.astype(">f8")),
    "int8": (GOOD, lambda b: b.astype(np.int8)),
    "uint8": (GOOD, lambda b: b.astype(np.uint8)),
    "int64": (GOOD, lambda b: b.astype(np.int64)),
    "bool": (GOOD, lambda b: b.astype(bool)),
    "every other row": (GOOD, lambda b: np.repeat(b, 2, axis=0)[::2]),
    "every other column": (GOOD, lambda b: np.repeat(b, 2, axis=1)[:, ::2]),
    "backwards": (GOOD, lambda b: b[::-1].copy()[::-1]),
    "broadcast": (GOOD, lambda b: np.ascontiguousarray(b)[:, :, None][..., 0]),
    "read-only": (GOOD, _read_only),
    "memory map": (GOOD, _memmap),
    "lists": (GOOD, np.ndarray.tolist),
    "tuples": (GOOD, lambda b: tuple(map(tuple, b.tolist()))),
    "CSR array": (GOOD, sp.csr_array),
    "CSC array": (GOOD, sp.csc_array),
    "COO array": (GOOD, sp.coo_array),
    "LIL array": (GOOD, sp.lil_array),
    "CSR matrix": (GOOD, sp.csr_matrix),
    "CSC matrix": (GOOD, sp.csc_matrix),
    "COO matrix": (GOOD, sp.coo_matrix),
    "unsorted CSR": (GOOD, lambda b: sp.csr_array(b[:, ::-1])[:, ::-1]),
    "pandas": (GOOD, lambda b: pandas.DataFrame(b, columns=[f"f{j}" for j in range(b.shape[1])])),
    "pandas, own index": (GOOD, lambda b: pandas.DataFrame(b, index=[7] * len(b))),
    "pandas, Float64": (GOOD, lambda b: pandas.DataFrame(b).astype("Float64").add_prefix("f")),
    "polars": (GOOD, lambda b: polars.DataFrame(b, schema=[f"f{j}" for j in range(b.shape[1])])),
    "object array": (GOOD, lambda b: b.astype(object)),
    "three dimensions": (GOOD, lambda b: b[:, :, None]),
    "NaN": (EITHER, _with(np.nan)),
    "infinity": (EITHER, _with(np.inf)),
    "sparse NaN": (EITHER, lambda b: sp.csr_array(_with(np.nan)(b))),
    "text": (EITHER, lambda b: [" ".join(map(str, row)) for row in b]),
    "words": (EITHER, lambda b: np.array([["ab"] * b.shape[1]] * len(b), dtype=object)),
    "array of str": (EITHER, lambda b: np.array([["ab"] * b.shape[1]] * len(b))),
    "ragged": (EITHER, lambda b: [[1.0] * (1 + i % 2) for i in range(len(b))]),
    "text frame": (EITHER, lambda b: pandas.DataFrame({"t": ["x"] * len(b)})),
    "pandas series": (EITHER, lambda b: pandas.Series(["x" * i for i in range(len(b))])),
    "polars series": (EITHER, lambda b: polars.Series(["x" * i for i in range(len(b))])),
    "masked": (EITHER, np.ma.masked_array),
    "dicts": (EITHER, lambda b: [{"a": 1}] * len(b)),
    "dates": (EITHER, lambda b: np.full(b.shape, np.datetime64("2020-01-01"))),
    "Nones": (EITHER, lambda b: [[None] * b.shape[1]] * len(b)),
    "huge numbers": (EITHER, lambda b: [[10**30] * b.shape[1]] * len(b)),
    "one row too many": (BAD, lambda b: np.vstack([b, b[:1]])),
    "one row too few": (BAD, lambda b: b[:-1]),
    "no rows": (BAD, lambda b: b[:0]),
    "no rows, sparse": (BAD, lambda b: sp.csr_array((0, b.shape[1]))),
    "no rows, frame": (BAD, lambda b: pandas.DataFrame(b[:0])),
    "no rows, list": (BAD, lambda b: []),
    "no columns": (BAD, lambda b: b[:, :0]),
    "no columns, sparse": (BAD, lambda b: sp.csr_array((len(b), 0))),
    "no columns, frame": (BAD, lambda b: pandas.DataFrame(b).iloc[:, :0]),
    "one dimension": (BAD, lambda b: b[:, 0]),
    "numbers in a list": (BAD, lambda b: b[:, 0].tolist()),
    "no dimension": (BAD, lambda b: np.array(3.0)),
    "a number": (BAD, lambda b: 3),
    "None": (BAD, lambda b: None),
    "a text": (BAD, lambda b: "x" * len(b)),
    "bytes": (BAD, lambda b: b"x" * len(b)),
    "complex": (BAD, lambda b: b + 1j),
    "np.matrix": (BAD, _matrix),
    "a dict": (BAD, lambda b: {"a": b[:, 0]}),
    "a set": (BAD, lambda b: set(range(len(b)))),
    "a generator": (BAD, lambda b: iter(b.tolist())),
    "a function": (BAD, lambda b: len),
    "a type": (BAD, lambda b: np.ndarray),
}

# -- parameters --------------------------------------------------------------------------------

#: Of every parameter, values that are allowed (by themselves) and values that never are.
PARAMETERS = {
    "decoding": (
        ["top_down", "best_path", "expected_f1"],
        ["sideways", None, 1, b"top_down", ["top_down"], float("nan")],
    ),
    "min_confidence": (
        [0, 0.0, 0.3, 1, 1.0, np.float32(0.5), True],
        [-0.1, 1.1, "high", None, float("nan"), float("inf"), [0.5], 1j, np.array([0.5, 0.5])],
    ),
    "leaf_only": ([False, True, np.True_], ["yes", None, 2, 0.5, [], float("nan")]),
    "calibration": ([None, "temperature", "joint"], ["beta", True, 0, ["temperature"], {}]),
    "temperature": ([None, 0.5, 2], [0, -1.0, "warm", float("nan"), [1.0]]),
    "multi_label": ([False, True], ["yes", None, 3, []]),
    "threshold": (
        [0.5, 0.2, 1, 1.0, "tuned", "micro_f1", ("cost", 1, 5), ["cost", 2.5, 0]],
        [
            *(0, -1, 1.5, "best", None, float("nan"), [0.5], np.array([0.5, 0.5])),
            *(("tuned", 1), ("precision",), ("precision", 1.5), ("cost", -1, 1), ("top", 0), ()),
        ],
    ),
    "min_coef": ([0, 0.0, np.float32(0), 0.1], [-0.1, "small", None, float("nan"), [0.1]]),
    "n_jobs": ([None, 1, 2, -1, np.int64(1)], ["two", 1.5, [1], 0, float("nan")]),
    "checkpoint_dir": ([None], [3, True, ["folder"], 1.5]),
    "random_state": (
        [None, 0, 2**32 - 1, np.random.RandomState(0)],
        ["seed", -1, 1.5, 2**32, np.random.default_rng(0), [1]],
    ),
    "verbose": ([0, False], ["loud", -1, None, [1]]),
    "hierarchy": ([None], [3, "tree", [("a", "b", "c")], {}, [], {"a": "bc"}, object()]),
    "local_classifier": (
        [SoftAnyRows(), BareAnyRows(), lambda key: SoftAnyRows()],
        [3, "forest", SoftAnyRows, {"C": 1}, object(), lambda key: 3, lambda key: SoftAnyRows],
    ),
    "estimator": (
        [AsRegressor(SoftAnyRows()), AsRegressor(BareAnyRows()), Ridge()],
        [3, "forest", AsRegressor, {"C": 1}, object(), lambda key: AsRegressor(SoftAnyRows())],
    ),
    "optimize": ([None, "path", "f1"], ["most", 3, 1.5, ["path"], b"f1", float("nan")]),
    "effort": (["quick", "balanced", "best"], ["most", None, 3, ["quick"], float("nan")]),
    "level_weight": (
        [0.75, 1, 1.0, 1e-9, np.float32(0.5)],
        [0, -1, 1.5, "shallow", None, float("nan"), [0.5]],
    ),
    "binary_policy": (
        ["siblings", "inclusive", "less_inclusive", "exclusive", "less_exclusive",
         "exclusive_siblings"],
        ["cousins", None, 1, ["siblings"]],
    ),
}  # fmt: skip


@st.composite
def parameters(draw, names):
    """Keyword arguments: each parameter at its default, allowed, or (at most one) not allowed."""
    chosen = {}
    for name in sorted(draw(st.sets(st.sampled_from(sorted(names)), max_size=4))):
        chosen[name] = draw(st.sampled_from(PARAMETERS[name][0]))
    if not draw(st.booleans()):
        return Case(chosen, EITHER, "allowed one by one")
    name = draw(st.sampled_from(sorted(names)))
    chosen[name] = draw(st.sampled_from(PARAMETERS[name][1]))
    return Case(chosen, BAD, f"{name}={chosen[name]!r}")
