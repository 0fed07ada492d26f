"""Weights, early stopping, warm starts and progress of training."""

import numpy as np
import pytest
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
    with pytest.raises(ValueError, match=r"^groups has 2 different groups, but what is learned"):
        network(**options).fit(X, y, groups=groups % 2)
    with pytest.raises(ValueError, match=r"^groups has 1 different group, but whole groups"):
        network(validation_fraction=0.3).fit(X, y, groups=groups * 0)
    network(max_epochs=1).fit(X, y, groups=groups * 0)  # nothing is held out


def test_the_best_weights_are_those_of_the_best_epoch(hard):
    from hiclass.torch._batches import Rows
    from hiclass.torch._course import Course
    from hiclass.torch._fit import start

    X, y = hard
    model = network(validation_fraction=0.3, max_epochs=1, hidden_layers=(8,)).fit(X, y)
    layout = model._network().layout
    trainer = start(model, layout, Rows(X.astype(np.float32), None, layout, None), 0)
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
    with pytest.raises(ValueError, match="warm_start=True goes on with the network of the fit"):
        model.fit(X, y[:, :1])
    assert not hasattr(model, "classes_")
