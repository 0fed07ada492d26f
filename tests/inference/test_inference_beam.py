"""The beam: what it finds is right, and it knows what it may have missed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiclass._inference.beam import best_final, search_beam
from hiclass._state import Options


def random_tree(rng, n_nodes):
    """Options of a random tree, in which paths may end at some inner nodes."""
    parent = np.concatenate([[-1], [rng.integers(max(node, 1)) for node in range(1, n_nodes)]])
    indptr, indices, can_stop = [0], [], np.zeros(n_nodes, dtype=bool)
    for node in range(n_nodes):
        children = np.flatnonzero(parent == node).tolist()
        can_stop[node] = bool(children) and node > 0 and rng.random() < 0.3
        indices += children + [node] * int(can_stop[node])
        indptr.append(len(indices))
    n_options = np.diff(indptr)
    ends = np.flatnonzero((n_options == 0) | can_stop)
    return Options(np.array(indptr), np.array(indices, dtype=int), can_stop, ends)


def random_shares(rng, options, n_rows):
    """For every node, logarithms of shares of all rows, which need not sum to one."""
    widths = np.diff(options.indptr)
    return [np.log(rng.random((n_rows, width))) for width in widths]


def all_scores(options, shares, n_rows):
    """By brute force: the score of every final class."""
    scores = {}
    of = np.split(options.indices, options.indptr[1:-1])

    def go(node, so_far):
        for j, option in enumerate(of[node].tolist()):
            score = so_far + shares[node][:, j]
            if option == node or not len(of[option]):
                scores[option] = score
            else:
                go(option, score)

    go(0, np.zeros(n_rows))
    return np.array(sorted(scores)), np.column_stack([scores[node] for node in sorted(scores)])


def setup(seed, n_nodes, n_rows):
    rng = np.random.default_rng(seed)
    options = random_tree(rng, n_nodes)
    shares = random_shares(rng, options, n_rows)
    X = np.arange(n_rows).reshape(-1, 1)
    return options, X, lambda node, rows: shares[node][rows[:, 0]], shares


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 6), st.integers(1, 4))
def test_what_scores_above_the_bound_is_exactly_the_best(seed, n_nodes, n_rows, width):
    options, X, log_shares, shares = setup(seed, n_nodes, n_rows)
    ends, scores = all_scores(options, shares, n_rows)
    beam = search_beam(options, X, log_shares, width)
    for row in range(n_rows):
        ranking = sorted(zip(-scores[row], ends, strict=True))
        above = [(-s, e) for s, e in ranking if -s > beam.bound[row]]
        mine = list(zip(beam.scores[row], beam.nodes[row], strict=True))
        for (score, end), (my_score, my_end) in zip(above, mine, strict=False):
            assert end == my_end
            assert score == pytest.approx(my_score)
        assert len(above) <= width


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 6), st.integers(1, 3))
def test_the_best_final_class_is_exact(seed, n_nodes, n_rows, width):
    options, X, log_shares, shares = setup(seed, n_nodes, n_rows)
    ends, scores = all_scores(options, shares, n_rows)
    nodes, best = best_final(options, X, log_shares, width)
    np.testing.assert_array_equal(nodes, ends[scores.argmax(axis=1)])
    np.testing.assert_allclose(best, scores.max(axis=1))


def test_a_wide_beam_finds_all():
    options, X, log_shares, shares = setup(3, 30, 5)
    ends, scores = all_scores(options, shares, 5)
    beam = search_beam(options, X, log_shares, 30)
    assert (beam.bound == -np.inf).all()
    for row in range(5):
        order = np.argsort(-scores[row])
        np.testing.assert_array_equal(beam.nodes[row, : len(ends)], ends[order])
        assert (beam.nodes[row, len(ends) :] == -1).all()


def test_a_classifier_is_called_once_per_node_with_its_rows():
    options, X, log_shares, _ = setup(1, 50, 20)
    calls = []

    def watched(node, rows):
        calls.append((node, len(rows)))
        return log_shares(node, rows)

    search_beam(options, X, watched, 2)
    assert len({node for node, _ in calls}) == len(calls)
    assert calls[0] == (0, 20)


def test_no_rows():
    options, X, log_shares, _ = setup(1, 10, 3)
    beam = search_beam(options, X[:0], log_shares, 2)
    assert beam.nodes.shape == (0, 2)
