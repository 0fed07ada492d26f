"""Several processes that train one network, over gloo on the processor."""

import os
import subprocess
import sys

import numpy as np
import pytest
from network_helpers import network

pytestmark = pytest.mark.heavy

CODE = """
import sys, numpy as np, torch
from hiclass.torch import HierarchicalSoftmaxClassifier
torch.set_num_threads(1)
rank, folder = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2
)
with np.load(f"{folder}/data.npz", allow_pickle=True) as data:
    X, y = data["X"], data["y"]
common = dict(distributed=True, random_state=0)
found = {}
for name, params in (
    ("linear", {"batch_size": 37, "max_epochs": 5}),
    ("recursive", {"recursive": True, "penalty": 1e-3, "max_epochs": 2, "clip_norm": 0.1}),
    ("hidden", {"hidden_layers": (8,), "max_epochs": 3, "validation_fraction": 0.2}),
):
    model = HierarchicalSoftmaxClassifier(**common, **params).fit(X, y)
    found[name] = model.predict_node_proba(X)
    found[name + " losses"] = model.loss_curve_
n_parts = 3 if rank else 5  # one process has fewer batches
parts = [(X[rank::2][i::n_parts], y[rank::2][i::n_parts]) for i in range(n_parts)]
model = HierarchicalSoftmaxClassifier(**common, max_epochs=20).fit_batches(parts, classes=y)
found["stream"], found["prior"] = model.predict_node_proba(X), model.prior_
found["score"] = model.score(X, y)
np.savez(f"{folder}/found{rank}.npz", **found)
torch.distributed.destroy_process_group()
"""


def run_two(code, folder, X, y):
    """Run code in two processes; it finds the rows in a folder."""
    np.savez(folder / "data.npz", X=X, y=y)
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    commands = [[sys.executable, "-c", code, str(rank), str(folder)] for rank in range(2)]
    processes = [subprocess.Popen(command, env=env) for command in commands]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]


def test_two_processes_train_the_network_that_one_trains(hard, tmp_path):
    X, y = hard
    run_two(CODE, tmp_path, X, y)
    one, other = (np.load(tmp_path / f"found{rank}.npz") for rank in range(2))
    for name in one.files:
        np.testing.assert_allclose(one[name], other[name], atol=1e-6, err_msg=name)
    alone = network(batch_size=37, max_epochs=5).fit(X, y)
    np.testing.assert_allclose(one["linear"], alone.predict_node_proba(X), atol=1e-4)
    np.testing.assert_allclose(one["linear losses"], alone.loss_curve_, rtol=1e-4)
    recursive = network(recursive=True, penalty=1e-3, max_epochs=2, clip_norm=0.1).fit(X, y)
    np.testing.assert_allclose(one["recursive"], recursive.predict_node_proba(X), atol=1e-4)
    np.testing.assert_allclose(one["prior"], alone.prior_, atol=1e-9)
    assert one["score"] > 0.65


@pytest.fixture
def group(tmp_path):
    """A process group of this process alone."""
    import torch

    place = f"file://{tmp_path}/meet"
    torch.distributed.init_process_group("gloo", init_method=place, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


RESUMED = """
import sys, numpy as np, torch
from hiclass.torch import HierarchicalSoftmaxClassifier, _course
from hiclass.torch._train import Trainer
torch.set_num_threads(1)
_course._PAUSE = 0.0
rank, folder = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2
)
with np.load(f"{folder}/data.npz", allow_pickle=True) as data:
    X, y = data["X"], data["y"]
learn = Trainer._learn


def train(kind, checkpoint_dir=None, stop=None):
    left = [stop]

    def counted(self, *args):
        if left[0] is not None:
            left[0] -= 1
            if left[0] < 0:  # in both processes after the same step
                raise OSError("killed")
        return learn(self, *args)

    Trainer._learn = counted
    model = HierarchicalSoftmaxClassifier(
        distributed=True, max_epochs=4, batch_size=60, tol=0, random_state=0,
        checkpoint_dir=checkpoint_dir,
    )
    if kind == "fit":
        return model.fit(X, y)
    mine = [(X[rank::2][i::3], y[rank::2][i::3]) for i in range(3)]
    return model.fit_batches(mine, classes=y)


for kind, stop in (("fit", 12), ("batches", 8)):
    whole = train(kind)
    try:
        train(kind, f"{folder}/{kind}", stop)
        raise AssertionError
    except OSError:
        pass
    for name in ("resumed", "complete"):  # the second time nothing is left to learn
        model = train(kind, f"{folder}/{kind}", None if name == "resumed" else 0)
        np.testing.assert_allclose(
            model.predict_node_proba(X), whole.predict_node_proba(X), atol=1e-6
        )
        np.testing.assert_allclose(model.loss_curve_, whole.loss_curve_, rtol=1e-5)
Trainer._learn = learn
# Without a seed, the first process draws it for both.
model = HierarchicalSoftmaxClassifier(distributed=True, embedding_dim=5)
model.partial_fit(X[:60], y[:60], classes=y)
found = [model.predict_node_proba(X)]
torch.distributed.broadcast_object_list(found, src=0)
np.testing.assert_allclose(model.predict_node_proba(X), found[0], atol=1e-6)
torch.distributed.destroy_process_group()
"""


def test_two_processes_continue_from_a_checkpoint_of_the_first(hard, tmp_path):
    run_two(RESUMED, tmp_path, *hard)


def test_a_team_adds_up_and_shares_over_its_group(group):
    import torch

    from hiclass.torch._team import ALONE, Team, find_team

    assert find_team(True) == ALONE == find_team(False)
    team, some = Team(0, 2), torch.arange(3.0)
    team.add_up(some)  # over the one process that there is
    assert some.tolist() == [0.0, 1.0, 2.0]
    assert team.share({"a": 1}) == {"a": 1}


def test_without_a_process_group_the_remedy_is_named(hard):
    with pytest.raises(ValueError, match=r"distributed=True needs a process group.*torchrun"):
        network(distributed=True).fit(*hard)
