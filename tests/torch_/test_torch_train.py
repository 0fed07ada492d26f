"""Weights, early stopping, warm starts and progress of training."""

import numpy as np
import pytest
import scipy.sparse as sp
from network_helpers import network

pytestmark = pytest.mark.heavy


def test_weights_count_and_only_their_ratios_do(hard):
    X, y = hard
    weights = np.where(y[:, 0] == "Animal", 1.0, 0.0)
    model = network().fit(X, y, sample_weight=weights)
    assert (model.predict(X)[:, 0] == "Animal").mean() > 0.95
    assert (network().fit(X, y).predict(X)[:, 0] == "Animal").mean() < 0.8
    ten = network().fit(X, y, sample_weight=10 * weights)
    np.testing.assert_allclose(ten.predict_node_proba(X), model.predict_node_proba(X), atol=1e-4)
    with pytest.raises(ValueError, match="ample weights"):
        network().fit(X, y, sample_weight=0 * weights)


def test_training_stops_early_on_rows_held_out_and_keeps_the_best_weights(hard):
    X, y = hard
    model = network(
        validation_fraction=0.3, max_epochs=200, patience=5, hidden_layers=(64,), penalty=0.0,
        learning_rate=0.03,
    )  # fmt: skip
    model.fit(X, y)
    assert model.n_epochs_ < 200
    assert len(model.validation_curve_) == model.n_epochs_
    best = int(np.argmin(model.validation_curve_))
    assert model.n_epochs_ - 1 - best >= 5
    # As far as that epoch, training went the same way: with the weights of then.
    with pytest.raises(ValueError, match=r"holds out all 1 rows and leaves none"):
        network(validation_fraction=0.5).fit(X[:1], y[:1])


def test_whole_groups_are_held_out(hard, monkeypatch):
    """To stop early on, and for what is learned out of fold, where both happen in every fold."""
    from hiclass.torch import _fit

    X, y = hard
    X = np.column_stack([np.arange(len(X)), X])
    groups = np.arange(len(X)) // 9  # 32 of them
    parts = []
    hold_out = _fit._hold_out

    def noting(rows, fraction, *others):
        parts.append(hold_out(rows, fraction, *others))
        return parts[-1]

    monkeypatch.setattr(_fit, "_hold_out", noting)
    options = {"validation_fraction": 0.3, "max_epochs": 1, "decoding": "expected_f1"}
    network(**options).fit(X, y, groups=groups)
    assert len(parts) == 4
    numbers = [[groups[rows.X[:, 0].astype(int)] for rows in part] for part in parts]
    for train, held_out in numbers:
        assert not set(train) & set(held_out)
        assert abs(len(held_out) - 0.3 * (len(train) + len(held_out))) <= 9
    for k in range(1, 4):  # the groups of a fold are in neither part
        both = np.concatenate(numbers[k])
        assert (np.unique(both, return_counts=True)[1] == 9).all()
        assert 0.6 < len(both) / len(X) < 0.75
    with pytest.raises(ValueError, match=r"^groups has 2 different groups, but decoding='expec"):
        network(**options).fit(X, y, groups=groups % 2)
    with pytest.raises(ValueError, match=r"^groups has 1 different group, but whole groups"):
        network(validation_fraction=0.3).fit(X, y, groups=groups * 0)
    network(max_epochs=1).fit(X, y, groups=groups * 0)  # nothing is held out


def test_the_best_weights_are_those_of_the_best_epoch(hard):
    from hiclass.torch._batches import Rows
    from hiclass.torch._course import Course
    from hiclass.torch._fit import settings_of, start

    X, y = hard
    model = network(validation_fraction=0.3, max_epochs=1, hidden_layers=(8,)).fit(X, y)
    layout, shape = model._network().layout, model._network().shape
    rows = Rows(X.astype(np.float32), None, layout, None)
    trainer = start(model, shape, layout, rows, 0, settings_of(model, shape, len(rows)))
    losses = iter([3.0, 1.0, 2.0, 2.0])
    kept = []

    def epoch(i, begun, after_step):
        trainer.weights["0.bias"].data.fill_(float(i))
        return 0.0

    def validate(rows):
        kept.append(trainer.weights["0.bias"].detach().numpy().copy())
        return next(losses)

    trainer.validate = validate
    course = Course(10, 2, 1e-4)
    course.run(trainer, epoch, held_out="rows", verbose=False)
    assert course.validation == [3.0, 1.0, 2.0, 2.0]
    np.testing.assert_array_equal(trainer.weights["0.bias"].detach().numpy(), kept[1])


def test_training_stops_on_its_own_loss_without_rows_held_out(hard):
    X, y = hard
    model = network(max_epochs=50, tol=10.0, patience=2).fit(X, y)
    assert model.n_epochs_ == 3
    assert model.validation_curve_ == []


def test_progress_is_shown_within_epochs(hard, capsys, monkeypatch):
    monkeypatch.setattr("hiclass._engine.progress._PAUSE_BY_LINE", 0.0)
    X, y = hard
    network(max_epochs=2, batch_size=100, verbose=1, validation_fraction=0.2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert any("0/2: epoch 1, 100 rows, loss" in line for line in lines)
    assert any("epoch 2, 200 rows, loss" in line and "validation loss" in line for line in lines)


def test_an_interrupt_of_fit_keeps_what_was_learned(hard, monkeypatch):
    from hiclass.torch._train import Trainer

    X, y = hard
    step, n_steps = Trainer.step, [0]

    def interrupted(self, *args):
        n_steps[0] += 1
        if n_steps[0] == 30:
            raise KeyboardInterrupt
        return step(self, *args)

    monkeypatch.setattr(Trainer, "step", interrupted)
    model = network(batch_size=50)
    with pytest.warns(UserWarning, match=r"interrupted in epoch 5 of at most 70\. The model keeps"):
        model.fit(X, y)
    assert model.n_epochs_ == 4
    assert model.score(X, y) > 0.6
    # Where more is learned out of fold, it would go on with that.
    n_steps[0] = 0
    with pytest.raises(KeyboardInterrupt):
        network(batch_size=50, decoding="expected_f1").fit(X, y)


def test_an_error_about_memory_names_a_batch_size(hard, monkeypatch):
    import torch

    from hiclass.torch._train import Trainer

    X, y = hard
    lacks = (
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 TB\nmore"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 TB."),
        MemoryError(),
    )
    for error in lacks:

        def fails(self, *args, error=error):
            raise error

        monkeypatch.setattr(Trainer, "step", fails)
        with pytest.raises(MemoryError, match=r"100 rows of a step do not.*batch_size=50,"):
            network(batch_size=100).fit(X, y)
    # Larger steps are computed in parts, so only steps that are smaller than a part need less.
    monkeypatch.setattr(Trainer, "_rows_at_once", lambda self: 10)
    with pytest.raises(MemoryError, match=r"10 rows of a step do not.*batch_size=5,"):
        network(batch_size=100).fit(X, y)
    monkeypatch.setattr(Trainer, "_rows_at_once", lambda self: 1)
    with pytest.raises(MemoryError, match=r"Try a small embedding_dim\.$"):
        network(batch_size=100).fit(X, y)
    with pytest.raises(MemoryError, match=r"Try smaller hidden_layers\.$"):
        network(batch_size=100, hidden_layers=(4,)).fit(X, y)
    monkeypatch.setattr(Trainer, "step", lambda *args: (_ for _ in ()).throw(RuntimeError("else")))
    with pytest.raises(RuntimeError, match=r"^else$"):
        network().fit(X, y)


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_about_memory_of_validation_names_its_rows(hard, stream, monkeypatch):
    import torch

    from hiclass.torch._train import Trainer

    X, y = hard
    losses, at_once = Trainer._losses, [10]

    def fails(self, batch, *, training):
        if training:
            return losses(self, batch, training=training)
        raise torch.OutOfMemoryError("CUDA out of memory")

    def fit():
        model = network(max_epochs=1, **({} if stream else {"validation_fraction": 0.25}))
        return model.fit_batches([(X, y)], y, (X, y)) if stream else model.fit(X, y)

    monkeypatch.setattr(Trainer, "_losses", fails)
    monkeypatch.setattr(Trainer, "_rows_at_once", lambda self: at_once[0])
    n = len(X) if stream else len(X) // 4
    message = rf"^10 of {n} validation rows do not fit.*\(CUDA out of memory\)\. Try at most 5 of"
    with pytest.raises(MemoryError, match=message):
        fit()
    at_once[0] = 1
    with pytest.raises(MemoryError, match=r"^1 of .*\. Try a small embedding_dim\.$"):
        fit()


def test_half_precision_and_clipped_gradients_learn_the_same_roughly(hard):
    X, y = hard
    plain = network().fit(X, y).predict_node_proba(X)
    half = network(precision="bfloat16").fit(X, y).predict_node_proba(X)
    assert 1e-6 < abs(half - plain).max() < 0.1
    clipped = network(clip_norm=1e-3).fit(X, y).predict_node_proba(X)
    assert abs(clipped - plain).max() > 1e-3
    np.testing.assert_array_equal(network(clip_norm=1e6).fit(X, y).predict_node_proba(X), plain)


@pytest.mark.parametrize("params", [{}, {"embedding_dim": 4, "penalty": 0.0}])
def test_a_gradient_is_shortened_to_its_greatest_length(hard, params, monkeypatch):
    import torch

    monkeypatch.setattr("hiclass.torch._train._MANY_WEIGHTS", 8)
    from hiclass.torch._train import _clip

    weights = [torch.zeros(3, 2, requires_grad=True), torch.zeros(2, requires_grad=True)]
    weights[0].grad = torch.tensor([[3.0, 0], [0, 0], [0, 4.0]])
    weights[1].grad = torch.tensor([0.0, 12.0])
    if params:
        weights[0].grad = weights[0].grad.to_sparse(1)
    _clip(weights, 1.3)
    dense = weights[0].grad.to_dense() if params else weights[0].grad
    np.testing.assert_allclose(dense, [[0.3, 0], [0, 0], [0, 0.4]], rtol=1e-6)
    np.testing.assert_allclose(weights[1].grad, [0, 1.2], rtol=1e-6)


def test_progress_is_shown_if_asked_for(hard, capsys):
    X, y = hard
    network(max_epochs=2, verbose=1, validation_fraction=0.2).fit(X, y)
    assert "Training [####################] 2/2" in capsys.readouterr().err
    network(max_epochs=2).fit(X, y)
    assert capsys.readouterr().err == ""


def test_warm_start_goes_on_and_refuses_other_classes(hard):
    X, y = hard
    model = network(max_epochs=3, warm_start=True).fit(X, y)
    first = model.loss_curve_
    assert model.fit(X, y).loss_curve_[0] < 0.9 * first[0]
    cold = network(max_epochs=3).fit(X, y)
    assert cold.fit(X, y).loss_curve_ == first
    with pytest.raises(
        ValueError, match="warm_start=True continues with the network of the previous fit"
    ):
        model.fit(X, y[:, :1])
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("embedding", "hidden", "n_outputs", "expected"),
    [
        (0, (), 10, 0.3 / 10 / 500),
        (128, (), 150, 1.5 / 500),
        (128, (), 1000, 1.5 / 5 / 500),
        (0, (32,), 80, 1 / 500),
        (0, (32,), 400, 1 / 4 / 500),
    ],
)
def test_the_penalty_is_weaker_the_more_rows_and_classes(embedding, hidden, n_outputs, expected):
    from hiclass.torch._fit import penalty_of
    from hiclass.torch._network import Shape

    shape = Shape(20, embedding, hidden, n_outputs)
    assert penalty_of(network(penalty="auto"), shape, 500) == pytest.approx(expected)
    assert penalty_of(network(penalty=0.25), shape, 500) == 0.25


@pytest.mark.parametrize(("n_leaves", "width"), [(200, 96), (201, 128)])
def test_the_embedding_of_sparse_rows_is_wider_for_many_outputs(n_leaves, width):
    X = sp.eye_array(n_leaves, format="csr", dtype=np.float32)
    y = [f"leaf {i}" for i in range(n_leaves)]
    model = network(max_epochs=1).fit(X, y)
    assert model._network().shape.embedding == width
    assert network(max_epochs=1).fit(X.toarray(), y)._network().shape.embedding == 0


@pytest.mark.parametrize(
    ("n_rows", "embedded", "plain"),
    [(40, 8, 8), (2_000, 100, 100), (20_000, 448, 384), (120_000, 468, 468), (10**8, 4096, 4096)],
)
def test_the_number_of_rows_per_step_grows_with_the_rows(n_rows, embedded, plain):
    from hiclass.torch._fit import batch_size_of
    from hiclass.torch._network import Shape

    for shape, expected in ((Shape(5, 4, (), 3), embedded), (Shape(5, 0, (), 3), plain)):
        assert batch_size_of(network(batch_size="auto"), shape, n_rows) == expected
        assert batch_size_of(network(batch_size=7), shape, n_rows) == 7


def test_steps_of_a_stream_are_whole_at_first_and_then_smaller_and_smaller():
    from hiclass.torch._fit import _SETTLED, settled, settling

    n = _SETTLED
    assert [settling(k * n) for k in (0, 0.5, 1, 2, 10)] == [1, 1, 1, 0.5, 0.1]
    # After training with steps that fall to zero, they have a tenth at most.
    assert settling(settled(0)) == 0.1
    assert settling(settled(100 * n)) == 0.01


@pytest.mark.parametrize("kind", ["dense", "sparse", "sets", "runs"])
def test_steps_with_many_outputs_are_computed_in_parts(kind, hard, monkeypatch):
    from hiclass.torch import _losses, _train

    X, y = hard
    weights = np.random.default_rng(0).random(len(y))
    params = {"max_epochs": 3, "batch_size": 64}
    if kind == "sparse":
        X = sp.csr_matrix(np.where(X > 0, X, 0))
    elif kind == "runs":
        y = y.copy()
        y[::7, 1:] = ""
        params["leaf_only"] = True
    elif kind == "sets":
        y, params["multi_label"] = [[tuple(path)] for path in y.tolist()], True
    whole = network(**params).fit(X, y, sample_weight=weights)
    seen = []
    losses = _train.Trainer._losses

    def counting(self, batch, *, training):
        seen.append(batch.n_rows)
        return losses(self, batch, training=training)

    monkeypatch.setattr(_train.Trainer, "_losses", counting)
    monkeypatch.setattr(_train.Trainer, "_rows_at_once", lambda self: 10)
    monkeypatch.setattr(_losses, "_LARGE", 0)
    parts = network(**params).fit(X, y, sample_weight=weights)
    assert max(seen) < 20
    np.testing.assert_allclose(parts.loss_curve_, whole.loss_curve_, rtol=1e-4)
    a, b = (model.predict_node_proba(X) for model in (whole, parts))
    np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("hidden", [(), (3,)])
def test_parts_of_a_step_are_as_large_as_the_weights_of_the_last_layer(hidden):
    from hiclass import Hierarchy

    leaves = [f"leaf {i}" for i in range(10_000)]
    hierarchy = Hierarchy.from_paths([[f"group {i // 100}", leaf] for i, leaf in enumerate(leaves)])
    X, y = np.eye(40, 5, dtype=np.float32), [["group 0", leaf] for leaf in leaves[:40]]
    params = {"hierarchy": hierarchy, "hidden_layers": hidden, "leaf_only": True}
    found = []
    for loss in ("leaf", "conditional"):
        trainer = network(loss=loss, **params).partial_fit(X, y)._trainer
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hiclass.torch._train._MOST_NUMBERS", 40_000)
            found.append((trainer._rows_at_once(), trainer.shape.n_outputs))
    (leaf, n_leaf), (conditional, n_conditional) = found
    assert (n_leaf, n_conditional) == (10_000, 10_100)
    if not hidden:  # five weights per output are more than 40,000 numbers
        assert (leaf, conditional) == (5, 5)
    else:  # the two groups on a path, padded to 100 outputs, with three weights each
        assert (leaf, conditional) == (4, 40_000 // (2 * 100 * 3))


@pytest.mark.parametrize("loss", ["leaf", "conditional"])
def test_parts_of_sets_are_smaller_where_their_loss_gathers_pairs(loss):
    X = np.eye(6, dtype=np.float32)
    deep = [[tuple("abcdef"[: i + 1])] for i in range(6)]  # a chain: 21 pairs of six outputs
    trainer = network(multi_label=True, loss=loss, max_epochs=1).partial_fit(X, deep)._trainer
    assert trainer._loss.n_numbers == (42 if loss == "leaf" else 6)


@pytest.mark.parametrize(("loss", "n_numbers"), [("conditional", 12), ("leaf", 38), ("each", 7)])
def test_parts_of_sets_are_smaller_where_classes_have_several_parents(loss, n_numbers):
    from hiclass.torch._decisions import SetDecisions

    edges = [(parent, child) for parent in "abcd" for child in "xyz"]  # 12, and 7 classes
    X, y = np.eye(3, dtype=np.float32), [["x"], ["y"], ["z"]]
    model = network(multi_label=True, hierarchy=edges, loss=loss).partial_fit(X, y)
    assert model._trainer._loss.n_numbers == n_numbers
    layout = model._network().layout
    decisions = SetDecisions(model._models, layout, model._trainer.device)
    n_gathered = {"conditional": 12 + 4, "leaf": 12 + 7, "each": 12 + 4}[loss]
    assert decisions.bytes_per_row == 8 * (4 * 7 + 2 * n_gathered + 2 * 3)


def test_rows_to_validate_on_are_scored_in_parts_too(hard, monkeypatch):
    from hiclass.torch._train import Trainer

    X, y = hard
    whole = network(validation_fraction=0.3, max_epochs=2).fit(X, y).validation_curve_
    monkeypatch.setattr(Trainer, "_rows_at_once", lambda self: 10)
    seen, losses = [], Trainer._losses
    monkeypatch.setattr(
        Trainer,
        "_losses",
        lambda self, batch, *, training: (
            seen.append(batch.n_rows) or losses(self, batch, training=training)
        ),
    )
    parts = network(validation_fraction=0.3, max_epochs=2).fit(X, y).validation_curve_
    assert max(seen) == 10
    np.testing.assert_allclose(parts, whole, rtol=1e-4)
