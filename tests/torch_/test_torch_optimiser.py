"""Adam whose gradients are divided by one number per output."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from network_helpers import network

pytestmark = pytest.mark.heavy

torch = pytest.importorskip("torch")
from hiclass.torch._optimiser import OutputAdam  # noqa: E402


def _literal(weights, gradients, rate, decay):
    """Adam by its formulas, with the mean of squares over the first axis of a matrix."""
    weights = weights.astype(float)
    mean, square = np.zeros_like(weights), np.zeros(weights.shape[-1])
    for i, gradient in enumerate(gradients, start=1):
        gradient = gradient + decay * weights
        own = gradient**2 if weights.ndim == 1 else (gradient**2).mean(axis=0)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * own
        size = np.sqrt(square / (1 - 0.999**i)) + 1e-8
        weights = weights - rate * mean / (1 - 0.9**i) / size
    return weights


@pytest.mark.parametrize("shape", [(5, 3), (3,)])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_are_those_of_the_formulas(shape, decay):
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=shape), rng.normal(size=(4, *shape))
    weight = torch.tensor(start, dtype=torch.float32, requires_grad=True)
    optimiser = OutputAdam([{"params": [weight], "weight_decay": decay}], 0.1)
    for gradient in gradients:
        weight.grad = torch.tensor(gradient, dtype=torch.float32)
        optimiser.step()
    expected = _literal(start, gradients, 0.1, decay)
    np.testing.assert_allclose(weight.detach().numpy(), expected, atol=1e-5)


def test_a_gradient_keeps_its_direction_and_outputs_are_independent():
    weight = torch.zeros((3, 2), requires_grad=True)
    optimiser = OutputAdam([{"params": [weight]}], 0.1)
    weight.grad = torch.tensor([[3.0, 3e6], [0.0, 0.0], [-1.0, -1e6]])
    optimiser.step()
    first, second = weight.detach().numpy().T
    np.testing.assert_allclose(first / first[0], [1, 0, -1 / 3], atol=1e-6)
    np.testing.assert_allclose(first, second, rtol=1e-5)


def test_a_weight_without_a_gradient_does_not_move():
    weight = torch.ones((3, 2), requires_grad=True)
    optimiser = OutputAdam([{"params": [weight], "weight_decay": 1.0}], 0.1)
    optimiser.step()
    assert (weight == 1).all()
    assert optimiser.state[weight]["n_steps"] == 0


def test_a_step_can_be_recorded_it_reads_no_value_and_keeps_its_memory():
    """Tensors without values: reading one, as a host that waits for a GPU does, is an error."""
    weight = torch.zeros((4, 3), device="meta", requires_grad=True)
    rate = torch.tensor(0.1, device="meta")
    optimiser = OutputAdam([{"params": [weight], "weight_decay": 0.1}], rate)
    before = dict(optimiser.state[weight])
    weight.grad = torch.zeros((4, 3), device="meta")
    optimiser.step()
    with pytest.raises(RuntimeError, match="meta"):
        rate.item()
    for name, tensor in optimiser.state[weight].items():
        assert tensor is before[name]
        assert tensor.device.type == "meta"


def test_a_loaded_state_continues_as_if_nothing_had_happened():
    rng = np.random.default_rng(0)
    gradients = torch.tensor(rng.normal(size=(6, 4, 3)), dtype=torch.float32)

    def run(weight, optimiser, some):
        for gradient in some:
            weight.grad = gradient.clone()
            optimiser.step()

    one = torch.zeros((4, 3), requires_grad=True)
    whole = OutputAdam([{"params": [one]}], 0.1)
    run(one, whole, gradients[:3])
    other = one.detach().clone().requires_grad_()
    resumed = OutputAdam([{"params": [other]}], 0.1)
    resumed.load_state_dict(copy.deepcopy(whole.state_dict()))
    run(one, whole, gradients[3:])
    run(other, resumed, gradients[3:])
    assert torch.equal(one, other)


@pytest.fixture
def trainers(monkeypatch):
    """The networks whose training is begun."""
    from hiclass.torch import _fit

    found, init = [], _fit.Trainer.__init__

    def remembering(self, *args):
        init(self, *args)
        found.append(self)

    monkeypatch.setattr(_fit.Trainer, "__init__", remembering)
    return found


@pytest.mark.parametrize(
    ("params", "by_output"),
    [
        ({}, True),
        ({"loss": "conditional"}, True),
        ({"warm_start": True}, True),
        ({"sparse": True}, False),
        ({"embedding_dim": 4}, False),
        ({"hidden_layers": (4,)}, False),
        ({"standardize": False}, False),
        ({"multi_label": True}, False),
    ],
)
def test_linear_models_of_standardised_rows_use_them(hard, trainers, params, by_output):
    X, y = hard
    params = dict(params)
    if params.pop("sparse", False):
        X = sp.csr_matrix(X)
    if params.get("multi_label"):
        y = [[tuple(name for name in path if name)] for path in y]
    model = network(max_epochs=1, learning_rate="auto", **params).fit(X, y)
    if params.get("warm_start"):
        model.fit(X, y)
    for trainer in trainers:
        optimiser = trainer._optimisers[0]
        assert isinstance(optimiser, OutputAdam) == by_output
        assert (trainer.settings.learning_rate == 0.15) == by_output
    assert len(trainers) == (2 if params.get("warm_start") else 1)


@pytest.mark.parametrize("calls", [False, True])
def test_a_stream_does_not_use_them_its_first_batch_may_say_nothing_about_a_feature(
    trainers, calls
):
    """A feature that is zero at first is much larger than the others later."""
    rng = np.random.default_rng(0)
    leaf = rng.integers(4, size=6000)
    X = 2 * rng.normal(size=(4, 10))[leaf] + 0.7 * rng.normal(size=(6000, 10))
    X = np.hstack([X, 300 * rng.normal(size=(6000, 1))])
    X[:200, -1] = 0
    y = np.array([[str(i // 2), str(i)] for i in leaf], dtype=object)
    batches = [(X[i : i + 200], y[i : i + 200]) for i in range(0, 5000, 200)]
    model = network(learning_rate="auto")
    if calls:
        for batch in batches:
            model.partial_fit(*batch, classes=y)
    else:
        model.fit_batches(batches, classes=y)
    assert not any(isinstance(t._optimisers[0], OutputAdam) for t in trainers)
    assert model.score(X[5000:], y[5000:]) > 0.9


def test_noise_is_learned_later_than_by_adam(monkeypatch):
    """What they are for: 300 of 310 features say nothing, and classes have 20 rows each."""
    from hiclass.torch import _train

    rng = np.random.default_rng(0)
    centre = rng.normal(size=(20, 10))
    leaf = rng.integers(20, size=1400)
    X = np.hstack([centre[leaf] + 0.7 * rng.normal(size=(1400, 10)), rng.normal(size=(1400, 300))])
    y = np.array([[str(i // 5), str(i)] for i in leaf], dtype=object)
    train, test = slice(0, 400), slice(400, None)

    def score():
        models = [network(learning_rate=0.15, random_state=i) for i in range(3)]
        return np.mean([m.fit(X[train], y[train]).score(X[test], y[test]) for m in models])

    ours = score()
    monkeypatch.setattr(_train, "OutputAdam", torch.optim.Adam)
    assert ours > score() + 0.02
