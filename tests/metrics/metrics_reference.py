"""Slow, literal implementations of the metrics, on sets of paths. No hierarchy, no arrays.

A node is the tuple of labels that leads to it. A row is (true path, predicted path, weight).
"""

import math
from collections import defaultdict

import numpy as np
from hypothesis import strategies as st

LEVELS = 3


@st.composite
def labelled_rows(draw, *, weighted=False, min_pred=0):
    """Rows over few labels, so that homonyms, equal paths and near misses all happen."""
    label = st.sampled_from(["a", "b", "c"])
    true = st.lists(label, min_size=1, max_size=LEVELS).map(tuple)
    pred = st.lists(label, min_size=min_pred, max_size=LEVELS).map(tuple)
    # A prediction is often a variation of the truth.
    near = true.flatmap(
        lambda t: st.tuples(
            st.just(t), st.integers(min_pred, len(t)).flatmap(lambda k: _extended(t[:k], label))
        )
    )
    weight = st.integers(0, 3) if weighted else st.just(1)
    pair = st.one_of(st.tuples(true, pred), near)
    rows = draw(
        st.lists(st.tuples(pair, weight), min_size=1, max_size=12).filter(
            lambda rows: any(w for _, w in rows)
        )
    )
    return [(t, p, w) for (t, p), w in rows]


def _extended(path, label):
    return st.lists(label, max_size=LEVELS - len(path)).map(lambda more: path + tuple(more))


def padded(paths):
    """Paths as an object array with None where they are over."""
    array = np.full((len(paths), LEVELS), None, dtype=object)
    for i, path in enumerate(paths):
        array[i, : len(path)] = path
    return array


def as_input(rows):
    """y_true, y_pred and sample_weight of rows."""
    true, pred, weight = zip(*rows, strict=True)
    return padded(true), padded(pred), list(weight)


def repeated(rows, *columns):
    """Every row as often as its weight says, with further columns likewise."""
    times = [w for *_, w in rows]
    flat = [row for row in rows for _ in range(row[2])]
    return flat, *(np.repeat(np.asarray(c), times, axis=0) for c in columns)


def closed(path):
    return {path[:i] for i in range(1, len(path) + 1)}


def common(a, b):
    """The lowest common ancestor."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]


def weighted_mean(pairs):
    known = [(x, w) for x, w in pairs if not math.isnan(x)]
    total = sum(w for _, w in known)
    return sum(x * w for x, w in known) / total if total else math.nan


def _f(tp, pred, true, beta, fill):
    if beta == math.inf:
        top, bottom = tp, true
    else:
        top, bottom = (1 + beta**2) * tp, beta**2 * true + pred
    return top / bottom if bottom else fill


def set_score(rows, beta, average, fill):
    rows = [row for row in rows if row[2]]
    if average == "micro":
        tp = sum(w * len(closed(t) & closed(p)) for t, p, w in rows)
        pred = sum(w * len(closed(p)) for t, p, w in rows)
        true = sum(w * len(closed(t)) for t, p, w in rows)
        return _f(tp, pred, true, beta, fill)
    if average == "samples":
        return weighted_mean(
            (_f(len(closed(t) & closed(p)), len(closed(p)), len(closed(t)), beta, fill), w)
            for t, p, w in rows
        )
    nodes = sorted(set().union(*(closed(t) | closed(p) for t, p, _ in rows)))
    scores, supports = {}, {}
    for v in nodes:
        tp = sum(w for t, p, w in rows if v in closed(t) and v in closed(p))
        pred = sum(w for t, p, w in rows if v in closed(p))
        true = sum(w for t, p, w in rows if v in closed(t))
        scores[v], supports[v] = _f(tp, pred, true, beta, fill), true
    if average is None:
        return scores
    return weighted_mean((scores[v], supports[v] if average == "weighted" else 1) for v in nodes)


def tree_distance(rows):
    return weighted_mean(
        (len(closed(t) ^ closed(p)), w) for t, p, w in rows
    )  # one edge above every node that only one of them has


def all_nodes(rows):
    return {()}.union(*(closed(t) | closed(p) for t, p, _ in rows))


def severity(rows, mistakes_only):
    nodes = all_nodes(rows)

    def height(v):
        return max(len(u) - len(v) for u in nodes if u[: len(v)] == v)

    scored = [(height(common(t, p)) if t != p else 0, w) for t, p, w in rows if w]
    if mistakes_only:
        wrong = [(height(common(t, p)), w) for t, p, w in rows if t != p and w]
        scored = wrong or scored
    return weighted_mean(scored)


def h_loss(rows, costs):
    nodes = all_nodes(rows)

    def cost(v):
        if costs == "uniform" or v == ():
            return 1.0
        n_siblings = sum(len(u) == len(v) and u[:-1] == v[:-1] for u in nodes)
        return cost(v[:-1]) / n_siblings

    def loss(t, p):
        total = 0.0
        for v in nodes - {()}:
            wrong = (v in closed(t)) != (v in closed(p))
            above_right = all((u in closed(t)) == (u in closed(p)) for u in closed(v) - {v})
            total += cost(v) if wrong and above_right else 0.0
        return total

    return weighted_mean((loss(t, p), w) for t, p, w in rows)


def lca(rows, which):
    def score(t, p):
        meet = common(t, p)
        up_t = {t[:i] for i in range(len(meet), len(t) + 1)}
        up_p = {p[:i] for i in range(len(meet), len(p) + 1)}
        a, b = len(up_t & up_p) / len(up_p), len(up_t & up_p) / len(up_t)
        return {"precision": a, "recall": b, "f1": 2 * a * b / (a + b)}[which]

    return weighted_mean((score(t, p), w) for t, p, w in rows)


def level_labels(rows, level):
    """Nodes at a level, None where a path is over, and weights."""
    return [
        (t[:level] if len(t) >= level else None, p[:level] if len(p) >= level else None, w)
        for t, p, w in rows
        if w
    ]


def level_score(rows, level, average, beta, fill):
    labels = level_labels(rows, level)
    classes = sorted({c for t, p, _ in labels for c in (t, p)}, key=lambda c: c or ())
    scores = []
    for c in classes:
        tp = sum(w for t, p, w in labels if t == c == p)
        pred = sum(w for t, p, w in labels if p == c)
        true = sum(w for t, p, w in labels if t == c)
        scores.append((_f(tp, pred, true, beta, fill), true if average == "weighted" else 1))
    return weighted_mean(scores)


def errors(rows):
    """Per node the weight of rows that are right down to it and wrong below."""
    total = defaultdict(float)
    for t, p, w in rows:
        if t != p:
            total[common(t, p)] += w
    return total
