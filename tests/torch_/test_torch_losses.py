"""Losses and probabilities equal their definitions, computed slowly."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from law_helpers import SEEDS, SHALLOW
from network_helpers import LOSSES, quick_network
from scipy.special import expit, logsumexp
from strategies import hierarchies_with_sets

from hiclass import Hierarchy
from hiclass._problems.index import TreeIndex, find_options

pytestmark = pytest.mark.heavy


class Outputs:
    """A last layer whose outputs are given."""

    def __init__(self, z):
        self.z = z

    def all(self, hidden):
        return self.z

    def some(self, hidden, outputs):
        return self.z.gather(1, outputs)


def tree_of(y):
    hierarchy = Hierarchy.from_paths(y)
    nodes = np.array([hierarchy.find(tuple(path)) for path in y])
    return hierarchy, nodes


def expected_loss(hierarchy, options, nodes, z):
    """Step by step: minus the logarithm of the probability of every step of the path."""
    owner = np.repeat(np.arange(hierarchy.n_nodes), np.diff(options.indptr))
    losses = []
    for row, node in zip(z, nodes.tolist(), strict=True):
        path = [0, *(v for v in hierarchy.ancestor_table[node].tolist() if v >= 0)]
        steps = list(pairwise(path))
        if options.can_stop[node]:
            steps.append((node, node))
        total = 0.0
        for parent, child in steps:
            group = np.flatnonzero(owner == parent)
            (taken,) = np.flatnonzero((owner == parent) & (options.indices == child))
            total += logsumexp(row[group]) - row[taken]
        losses.append(total)
    return losses


@settings(max_examples=30)
@given(y=SHALLOW, seed=SEEDS, leaf_only=st.booleans())
def test_conditional_losses_and_probabilities_are_what_they_are_defined_as(y, seed, leaf_only):
    import torch

    from hiclass.torch._layout import conditional_layout
    from hiclass.torch._losses import GroupLoss, PathLoss, make_loss
    from hiclass.torch._proba import PathProba

    hierarchy, nodes = tree_of(y)
    options = find_options(TreeIndex(hierarchy, nodes), leaf_only=leaf_only)
    layout = conditional_layout(hierarchy, options)
    cpu = torch.device("cpu")
    z = np.random.default_rng(seed).normal(scale=5, size=(len(y), layout.n_outputs))
    tensor = torch.from_numpy(z.astype(np.float32)).requires_grad_()
    target = (torch.from_numpy(layout.first[nodes]),)  # one output per row, as batches have it
    expected = expected_loss(hierarchy, options, nodes, z)
    gradients = []
    looked_up = PathLoss(layout, cpu)
    looked_up.looks_up = True
    losses = [PathLoss(layout, cpu), looked_up, GroupLoss(layout, cpu)]
    for loss in (*losses, make_loss(layout, cpu, n_hidden=3)):
        found = loss(Outputs(tensor), tensor, target)
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-4, atol=1e-4)
        gradients.append(torch.autograd.grad(found.sum(), tensor)[0].numpy())
        np.testing.assert_allclose(gradients[-1], gradients[0], atol=1e-5)
    proba = PathProba(layout, cpu)(tensor.detach()).numpy()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-9)
    exact = np.isin(nodes, options.ends)
    place = np.searchsorted(options.ends, nodes[exact])
    np.testing.assert_allclose(
        -np.log(proba[np.flatnonzero(exact), place]),
        np.array(expected)[exact],
        rtol=1e-4,
        atol=1e-4,
    )


@settings(max_examples=20)
@given(y=SHALLOW, seed=SEEDS, leaf_only=st.booleans(), recursive=st.booleans())
def test_the_loss_of_a_row_is_that_of_all_final_classes_below_it(y, seed, leaf_only, recursive):
    import torch

    from hiclass.torch._layout import leaf_layout
    from hiclass.torch._losses import LeafLoss

    hierarchy, nodes = tree_of(y)
    options = find_options(TreeIndex(hierarchy, nodes), leaf_only=leaf_only)
    layout = leaf_layout(hierarchy, options, recursive=recursive)
    z = np.random.default_rng(seed).normal(size=(len(y), layout.n_outputs))
    target = tuple(torch.from_numpy(part[nodes]) for part in (layout.first, layout.last))
    found = LeafLoss(layout)(Outputs(torch.from_numpy(z.astype(np.float32))), None, target)
    ends = options.ends
    for i, node in enumerate(nodes.tolist()):
        below = (ends >= node) & (ends < hierarchy.subtree_end[node])
        meant = ends == node if node in ends else below
        row = z[i, : len(ends)]
        assert found[i].item() == pytest.approx(logsumexp(row) - logsumexp(row[meant]), abs=1e-4)


@pytest.mark.parametrize("loss", ["conditional", "leaf"])
@pytest.mark.parametrize(
    ("y", "leaf_only", "several"),
    [
        ([["a", "x"], ["a", "y"], ["b"]], False, False),  # every row ends at a leaf
        ([["a", "x"], ["a", "y"], ["a"]], False, False),  # "stop at a" is a final class
        ([["a", "x"], ["a", "y"], ["a"]], True, True),  # the last row stands for x and y
        ([["a", "x"], ["b", "z"], ["a"]], True, False),  # the last row stands for x only
    ],
)
def test_a_batch_has_runs_of_final_classes_only_if_a_row_stands_for_several(
    loss, y, leaf_only, several
):
    import torch

    from hiclass._targets.paths import encode
    from hiclass.torch._batches import Rows
    from hiclass.torch._known import Known
    from hiclass.torch._losses import LeafLoss

    target = encode(y)
    known = Known.seen(target, leaf_only=leaf_only)
    layout = known.layout(loss, recursive=False)
    rows = Rows(np.zeros((3, 1), dtype=np.float32), target.nodes, layout, None)
    batch = rows.whole()
    several = several and loss == "leaf"
    assert len(batch.target) == (2 if several else 1)
    if loss == "leaf":
        z = torch.tensor(np.random.default_rng(0).normal(size=(3, layout.n_outputs)))
        runs = tuple(torch.from_numpy(part[target.nodes]) for part in (layout.first, layout.last))
        found = LeafLoss(layout)(Outputs(z), None, batch.target)
        torch.testing.assert_close(found, LeafLoss(layout)(Outputs(z), None, runs))
        # Other rows of the same stream may have one final class each.
        assert len(rows.some(np.array([0, 1])).whole().target) == 1


@settings(max_examples=20)
@given(drawn=hierarchies_with_sets(), loss=LOSSES, seed=SEEDS)
def test_losses_of_sets_are_what_they_are_defined_as(drawn, loss, seed):
    import torch

    from hiclass.torch._layout import set_layout
    from hiclass.torch._losses import SetLoss, SetProba

    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    assume(len(y))
    closed = np.asarray(hierarchy.indicator(y).todense()).astype(bool)
    closed[:, 0] = True
    layout = set_layout(hierarchy, np.ones(hierarchy.n_nodes, dtype=bool), loss)
    z = np.random.default_rng(seed).normal(size=(len(y), hierarchy.n_nodes - 1))
    tensor = torch.from_numpy(z.astype(np.float32))
    truth = torch.from_numpy(closed[:, 1:].astype(np.float32))
    cpu = torch.device("cpu")
    found = SetLoss(layout, cpu)(Outputs(tensor), None, (truth,)).numpy()
    proba = SetProba(layout, cpu)(tensor).numpy()
    above = np.asarray(hierarchy._closure.todense()).astype(bool)  # row: a node and all above it
    for i, row in enumerate(z):
        score = np.concatenate([[1.0], expit(row)])
        total = 0.0
        known = np.ones(hierarchy.n_nodes)
        for v in range(1, hierarchy.n_nodes):
            parents = hierarchy.parents(v)
            below = np.flatnonzero(above[:, v])
            inside = closed[i, v]
            if loss == "conditional":
                known[v] = score[v] * known[parents].min()
                if closed[i, parents].all():
                    total -= np.log(score[v] if inside else 1 - score[v])
            else:
                known[v] = score[below].max()
                meant = score[below[closed[i, below]]].max() if inside else 1 - known[v]
                total -= np.log(meant)
        assert found[i] == pytest.approx(total, abs=1e-3)
        np.testing.assert_allclose(proba[i], known[1:], atol=1e-6)


def test_one_wide_group_beside_many_small_ones_takes_no_memory_for_padding():
    import torch

    from hiclass.torch._layout import conditional_layout
    from hiclass.torch._losses import PathLoss

    small = [[f"g{i}", f"c{i} {j}"] for i in range(500) for j in range(2)]
    y = [*small, *(["wide", f"w{i}"] for i in range(3000))]
    hierarchy, nodes = tree_of(y)
    options = find_options(TreeIndex(hierarchy, nodes), leaf_only=True)
    loss = PathLoss(conditional_layout(hierarchy, options), torch.device("cpu"))
    n_numbers = sum(part.numel() for part in vars(loss).values() if torch.is_tensor(part))
    # Four for every output and level, and one for every place in the widest group.
    assert n_numbers == 4 * 2 * (501 + len(y)) + 3000
    assert loss.width == 2 * 3000


def test_looking_up_the_outputs_of_a_path_gives_the_same_training():
    """A wide tree behind a hidden layer: only the outputs on the path are computed."""
    rng = np.random.default_rng(0)
    y = [[f"{i // 40}", f"{i // 40}.{i}"] for i in range(400)] * 2
    X = rng.normal(size=(800, 10))
    fits = {}
    for cost in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hiclass.torch._losses._LOOKUP_COST", cost)
            fits[cost] = quick_network(hidden_layers=(16,)).fit(X, y)
    one, other = fits.values()
    np.testing.assert_allclose(one.loss_curve_, other.loss_curve_, rtol=1e-3)
    np.testing.assert_allclose(one.predict_node_proba(X), other.predict_node_proba(X), atol=1e-3)


def test_few_and_many_weights_are_trained_alike():
    """Without a penalty, rows of a large first layer that a batch does not touch are left alone."""
    rng = np.random.default_rng(0)
    X = sp.random(300, 5000, density=0.002, format="csr", random_state=rng)
    y = [["a", "b"], ["a", "c"], ["d"]] * 100
    scores = []
    for most in (0, 1 << 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hiclass.torch._train._MANY_WEIGHTS", most)
            model = quick_network(penalty=0.0, max_epochs=20).fit(X, y)
            scores.append(model.score(X, y))
            assert model.partial_fit(X, y).partial_fit(X, y).n_epochs_ == model.n_epochs_
    assert min(scores) > 0.9


@pytest.mark.parametrize("recursive", [False, True])
def test_the_loss_of_large_steps_and_its_gradient_are_those_of_small_ones(recursive, monkeypatch):
    import torch

    from hiclass.torch import _losses
    from hiclass.torch._layout import leaf_layout
    from hiclass.torch._network import LastLayer, Shape

    hierarchy, nodes = tree_of([["a", "x"], ["a", "y"], ["b", "z"], ["c"]])
    options = find_options(TreeIndex(hierarchy, nodes), leaf_only=False)
    layout = leaf_layout(hierarchy, options, recursive=recursive)
    shape = Shape(1, 3, (), layout.n_outputs)
    generator = torch.Generator().manual_seed(0)
    target = (torch.from_numpy(layout.first[nodes[[0, 3, 3, 1, 2]]]),)
    start = [torch.randn(size, generator=generator) for size in ((5, 3), (layout.n_outputs, 3))]
    start[0][1] *= 500  # exponentials that would overflow
    found = []
    for large in (False, True):
        monkeypatch.setattr(_losses, "_LARGE", 0 if large else 1 << 22)
        x, weight = (part.clone().requires_grad_() for part in start)
        bias = torch.linspace(-1, 1, layout.n_outputs).requires_grad_()
        last = LastLayer({"1.weight": weight, "1.bias": bias}, shape)
        loss = _losses.make_loss(layout, torch.device("cpu"), n_hidden=3)(last, x, target)
        assert type(loss.grad_fn).__name__.startswith("_LogLossInPlace") == large
        (loss * torch.arange(5)).sum().backward()
        found.append([loss.detach(), x.grad, weight.grad, bias.grad])
    for small, large in zip(*found, strict=True):
        torch.testing.assert_close(large, small)


def test_a_small_loss_of_a_large_step_keeps_its_digits():
    import torch
    import torch.nn.functional as F  # noqa: N812

    from hiclass.torch._losses import _LogLossInPlace

    x, weight = torch.tensor([[1000.0]]), torch.tensor([[1.0], [0.99], [0.985]])
    target = torch.tensor([0])
    exact = F.cross_entropy((x @ weight.T).double(), target)  # 0.00004570...
    found = _LogLossInPlace.apply(x, weight.requires_grad_(), torch.zeros(3), target)
    torch.testing.assert_close(found[0].double(), exact, rtol=5e-3, atol=0)


def test_the_loss_of_large_steps_refuses_a_second_backward_pass():
    import torch

    from hiclass.torch._losses import _LogLossInPlace

    weight = torch.ones(3, 2).requires_grad_()
    loss = _LogLossInPlace.apply(torch.ones(1, 2), weight, torch.zeros(3), torch.tensor([0]))
    loss.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="overwritten by an earlier backward pass"):
        loss.sum().backward()
