"""Learning from batches: partial_fit, streams, and the thread that reads them."""

import _thread
import copy
import pickle
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from network_helpers import network
from zoo import DAG, zoo

from hiclass import Hierarchy

pytestmark = pytest.mark.heavy


def parts_of(X, y, n=6):
    return [(X[i::n], y[i::n]) for i in range(n)]


def test_partial_fit_learns_and_knows_the_announced_classes(hard):
    X, y = hard
    model = network()
    for i in range(10):
        for X_part, y_part in parts_of(X, y):
            model.partial_fit(X_part, y_part, classes=y if i == 0 else None)
    assert model.score(X, y) > 0.7
    assert len(model.loss_curve_) == model.n_epochs_ == 60
    given = network(hierarchy=model.hierarchy_).partial_fit(X[:1], y[:1])
    assert given.hierarchy_ == model.hierarchy_
    assert given.predict(X).tolist() == [y[0].tolist()] * len(X)  # all that it has seen
    again = given.partial_fit(X, y)
    assert len({tuple(path) for path in again.predict(X).tolist()}) > 2


@pytest.fixture
def tiny():
    """Rows of unit length, divided by a hundred: nothing is learned unless they are scaled."""
    rng = np.random.default_rng(0)
    leaf = rng.integers(6, size=1500)
    X = rng.normal(size=(6, 20))[leaf] + 0.7 * rng.normal(size=(1500, 20))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True) / 100).astype(np.float32)
    return X, np.array([[f"p{i // 2}", f"c{i}"] for i in leaf], dtype=object)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loaded", [False, True])
def test_calls_with_one_row_learn_as_much_as_calls_with_many(tiny, sparse, loaded):
    X, y = tiny
    X = sp.csr_matrix(np.maximum(X, 0)) if sparse else X
    one, many = network(learning_rate="auto"), network(learning_rate="auto")
    for i in range(500):
        one.partial_fit(X[i : i + 1], y[i : i + 1], classes=y)
        if loaded and i % 100 == 50:
            one = pickle.loads(pickle.dumps(one))
    for i in range(0, 500, 20):
        many.partial_fit(X[i : i + 20], y[i : i + 20], classes=y)
    assert many.score(X[500:], y[500:]) > 0.75
    assert one.score(X[500:], y[500:]) > many.score(X[500:], y[500:]) - 0.03


@pytest.mark.parametrize("params", [{"embedding_dim": 16}, {"hidden_layers": (32,)}])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_unit_of_features_does_not_matter_after_a_call_with_one_row(tiny, params, sparse):
    """Its features have not varied: their first weights must not follow a guessed scale."""
    X, y = tiny
    scores = []
    for scale in (1e-3, 1, 1e3):
        rows = scale * X
        if sparse:
            rows = np.maximum(rows, 0)
            rows[0] = 0
            rows = sp.csr_matrix(rows)
        model = network(learning_rate="auto", **params)
        model.partial_fit(rows[:1], y[:1], classes=y)
        for i in range(1, 1000, 64):
            model.partial_fit(rows[i : i + 64], y[i : i + 64])
        scores.append(model.score(rows[1000:], y[1000:]))
    assert min(scores) > max(scores) - 0.02


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("first", ["one row", "weights of zero", "other kind"])
def test_the_first_batch_of_a_stream_need_not_tell_the_scale(tiny, first, sparse):
    X, y = tiny
    X = sp.csr_matrix(np.maximum(X, 0)) if sparse else X
    ones = np.ones(20)
    parts = [(X[i : i + 20], y[i : i + 20], ones) for i in range(0, 1000, 20)]
    begin = {
        "one row": (X[:1], y[:1], ones[:1]),
        "weights of zero": (1e6 * X[:20], y[:20], 0 * ones),
        "other kind": (parts[0][0].toarray() if sparse else sp.csr_matrix(X[:20]), y[:20], ones),
    }[first]
    params = {"learning_rate": "auto", "max_epochs": 5, "embedding_dim": None}
    expected = network(**params).fit_batches(parts, classes=y).score(X[1000:], y[1000:])
    found = network(**params).fit_batches([begin, *parts], classes=y).score(X[1000:], y[1000:])
    assert expected > 0.85
    assert found > expected - 0.02


def test_enough_rows_are_measured_before_a_stream_begins_and_no_more(tiny, monkeypatch):
    X, y = tiny
    read = []

    def batches():
        for i in range(0, 1500, 100):
            read.append(i)
            yield X[i : i + 100], y[i : i + 100]

    from hiclass.torch import _stream

    seen, start = [], _stream.start
    monkeypatch.setattr(
        _stream, "start", lambda *args: seen.append((len(args[3]), len(read))) or start(*args)
    )
    network(max_epochs=1).fit_batches(batches, classes=y)
    assert seen == [(1100, 11)]
    assert len(read) == 15  # every batch once


def test_partial_fit_learns_a_batch_as_a_whole_or_not_at_all(hard):
    X, y = hard
    model = network().partial_fit(X, y)
    before = model.predict_node_proba(X)
    with pytest.raises(ValueError, match="Unicorn") as error:
        model.partial_fit(X[:1], [["Animal", "Unicorn", ""]])
    assert "pass them with classes= or hierarchy=" in error.value.__notes__[-1]
    with pytest.raises(ValueError, match="y holds single labels, but the rows before"):
        network(hierarchy={"a": ["b"]}).partial_fit([[1.0]], [["a", "b"]]).partial_fit(
            [[1.0]], ["b"]
        )
    with pytest.raises(ValueError, match="inconsistent numbers of"):
        model.partial_fit(X[:2], y[:1])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    np.testing.assert_array_equal(model.predict_node_proba(X), before)
    fitted = network().fit(X, y)
    shallow = network(max_epochs=1).fit(X, np.where(y == "Fern", "", y))
    with pytest.raises(ValueError, match="After fit, partial_fit supports only classes"):
        network(hierarchy=fitted.hierarchy_).fit(X[:6], y[:6]).partial_fit(X, y)
    assert fitted.partial_fit(X, y).score(X, y) > 0.7
    assert shallow.n_epochs_ == 1


def test_partial_fit_goes_on_where_it_was_and_leaves_copies_alone(hard):
    X, y = hard
    one, two = (network(embedding_dim=8, dropout=0.1) for _ in range(2))
    one.partial_fit(X, y)
    two.partial_fit(X, y)
    light = copy.copy(two)
    before = light.predict_node_proba(X)
    np.testing.assert_array_equal(before, one.predict_node_proba(X))
    one.partial_fit(X, y)
    two.partial_fit(X, y)
    np.testing.assert_array_equal(one.predict_node_proba(X), two.predict_node_proba(X))
    np.testing.assert_array_equal(light.predict_node_proba(X), before)
    fresh = pickle.loads(pickle.dumps(one))  # without the state of the optimiser
    assert "_trainer" not in vars(fresh)
    assert fresh.partial_fit(X, y).loss_curve_[-1] < one.loss_curve_[0]


def test_partial_fit_follows_parameters_that_are_set_between_calls(hard):
    X, y = hard
    model = network().partial_fit(X, y)
    before = model.predict_node_proba(X)
    model.set_params(learning_rate=1e-20).partial_fit(X, y)
    np.testing.assert_allclose(model.predict_node_proba(X), before, atol=1e-12)
    trainer = model._trainer
    assert model.partial_fit(X, y)._trainer.settings == trainer.settings
    assert model._trainer._optimisers[0].state_dict()["state"][0]["step"] > 1  # goes on


def test_partial_fit_refuses_classes_that_come_too_late(hard):
    X, y = hard
    model = network().partial_fit(X, y, classes=y)
    model.partial_fit(X, y, classes=y).partial_fit(X, y, classes=model.hierarchy_)
    model.partial_fit(X, y, classes=model.hierarchy_.with_texts("labels"))  # the same classes
    for late in ([["Fungus", "", ""]], Hierarchy.from_paths([["Fungus"]])):
        with pytest.raises(ValueError, match=r"Fungus|1 class") as error:
            model.partial_fit(X, y, classes=late)
        assert "before the first batch" in error.value.__notes__[-1]
    with pytest.raises(ValueError, match="no class 'q'"):
        network(hierarchy={"a": ["b"]}).partial_fit([[0.0]], ["b"], classes=["q"])
    with pytest.raises(ValueError, match="unicorn"):
        network(hierarchy=DAG, multi_label=True).partial_fit([[0.0]], [["cat"]], ["unicorn"])


def test_negative_weights_are_refused(hard):
    X, y = hard
    weights = np.where(np.arange(len(X)) == 3, -0.5, 1.0)
    for learn in (network().fit, network().partial_fit):
        with pytest.raises(ValueError, match=r"must not be negative; row 3 has -0\.5"):
            learn(X, y, sample_weight=weights)


def test_partial_fit_of_sets_and_what_it_refuses():
    X, y = zoo(80)
    model = network(hierarchy=DAG, multi_label=True)
    for _ in range(60):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.predict_node_proba(X)[:, DAG.find("dingo")].max() == 0
    fitted = network(hierarchy=DAG, multi_label=True).fit(X, y)
    with pytest.raises(ValueError, match="no output for the class dingo"):
        fitted.partial_fit(X[:1], [["dingo"]])
    paths = network(multi_label=True).partial_fit(
        X[:2], [[("a", "b")], []], classes=[("a", "b"), ("c",)]
    )
    assert paths.hierarchy_.n_nodes == 4
    with pytest.raises(ValueError, match="threshold='tuned' is learned from out-of-fold"):
        network(multi_label=True, threshold="tuned").partial_fit(X, y)
    message = r"decoding='expected_f1' requires an expected F-score.*, set expected_f1"
    with pytest.raises(ValueError, match=message):
        network(decoding="expected_f1").partial_fit(X, [row[0] for row in y])


def test_leaf_only_in_a_stream_takes_all_final_classes_below_a_path_that_ends_early():
    model = network(leaf_only=True, hierarchy=Hierarchy.from_paths([["a", "b"], ["a", "c"], ["d"]]))
    model.partial_fit([[0.0], [1.0]] * 20, [["a"], ["d"]] * 20)
    assert {tuple(path) for path in model.predict([[0.0], [1.0]]).tolist()} <= {
        ("a", ""),
        ("d", ""),
    }
    np.testing.assert_allclose(model.predict_node_proba([[0.0]])[:, [1, 4]].sum(), 1)


@pytest.mark.parametrize("kind", ["function", "list"])
def test_batches_from_a_stream_are_learned_like_rows_in_memory(hard, kind):
    X, y = hard
    X = sp.csr_matrix(X)
    parts = parts_of(X, y, 20)
    batches = (lambda: iter(parts)) if kind == "function" else parts
    model = network(max_epochs=10, embedding_dim=8).fit_batches(batches, classes=y)
    assert model.score(X, y) > 0.7
    assert model.n_epochs_ == 10
    assert model.hierarchy_ == network().fit(X, y).hierarchy_
    assert model.predict(X[:3]).shape == (3, 3)


def test_a_stream_with_weights_and_validation_rows(hard):
    X, y = hard
    weights = np.where(y[:, 0] == "Animal", 1.0, 0.0)
    parts = [(X[i::9], y[i::9], weights[i::9]) for i in range(9)]
    model = network(max_epochs=100, patience=2, tol=1.0)
    model.fit_batches(parts, classes=Hierarchy.from_paths(y), validation=(X, y))
    assert model.n_epochs_ < 100
    assert len(model.validation_curve_) == model.n_epochs_
    assert (model.predict(X)[:, 0] == "Animal").mean() > 0.85


@pytest.mark.parametrize("kind", [np.int32, object, str])
def test_a_stream_of_single_labels_finds_integers_at_once_and_names_unknown_ones(kind):
    rng = np.random.default_rng(0)
    labels = np.repeat([10, 11, 20], 30)
    X = np.eye(3)[np.searchsorted([10, 11, 20], labels)]
    X = X + rng.normal(scale=0.1, size=X.shape)
    y = labels.astype(kind)
    above, below = (np.array(part).astype(kind).tolist() for part in ([1, 2], [10, 11, 20]))
    tree = Hierarchy.from_dict({above[0]: below[:2], above[1]: below[2:]})
    model = network(hierarchy=tree, max_epochs=20).fit_batches(
        [(X[::2], y[::2]), (X[1::2], y[1::2])]
    )
    assert model.predict(X).tolist() == y.tolist()
    assert {type(label) for label in model.predict(X).tolist()} == {type(y.tolist()[0])}
    unknown = np.array([77]).astype(kind)
    with pytest.raises(ValueError, match="77"):
        network(hierarchy=tree).fit_batches([(X, y), (X[:1], unknown)])


def test_a_stream_of_sets():
    X, y = zoo(80)
    model = network(hierarchy=DAG, multi_label=True, max_epochs=100, learning_rate=0.05, tol=0.0)
    assert model.fit_batches(parts_of(X, y), None).score(X, y) > 0.9


def test_what_goes_wrong_in_the_thread_that_reads_batches_comes_out(hard):
    X, y = hard

    def breaks():
        yield X, y
        raise OSError("the file is gone")

    n_threads = threading.active_count()
    with pytest.raises(OSError, match="the file is gone"):
        network(max_epochs=1).fit_batches(breaks)
    with pytest.raises(ValueError, match="Unicorn"):
        network().fit_batches([(X, y), (X[:1], [["Unicorn", "", ""]]), *[(X, y)] * 20], classes=y)
    with pytest.raises(ValueError, match=r"A batch is a tuple \(X, y\).*got ndarray"):
        network().fit_batches([X])
    with pytest.raises(ValueError, match="got tuple of length 1"):
        network().fit_batches([(X, y), (X,)])
    with pytest.raises(ValueError, match="there is nothing to learn"):
        network().fit_batches([])
    with pytest.raises(ValueError, match="for one epoch only, but max_epochs is 'auto'"):
        network().fit_batches(iter([(X, y)]))
    with pytest.raises(ValueError, match=r"pass validation rows with validation=\(X, y\)"):
        network(validation_fraction=0.1).fit_batches([(X, y)])
    assert threading.active_count() == n_threads
    assert network(max_epochs=1).fit_batches(iter([(X, y)])).n_epochs_ == 1


@pytest.fixture
def interruptible():
    """Have interrupts raise, also where the tests run in the background, which ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_keeps_what_was_learned_and_ends_the_reader(hard):
    X, y = hard
    n_threads = threading.active_count()

    def interrupted(in_reader):
        for _ in range(9):  # the reader is at most five batches ahead
            yield hard
        if in_reader:
            raise KeyboardInterrupt
        _thread.interrupt_main()  # as Ctrl-C does; steps take long, so it is within one
        for _ in range(200):
            yield hard

    for in_reader in (True, False):
        model = network(max_epochs=1, hidden_layers=(1500, 1500))
        with pytest.warns(UserWarning, match=r"interrupted in epoch 1 of at most 1\. The model"):
            model.fit_batches(interrupted(in_reader), classes=y)
        assert threading.active_count() == n_threads
        assert model.score(X, y) > 0.3
        assert model.loss_curve_ == []


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_before_anything_was_learned_is_raised():
    def interrupted():
        raise KeyboardInterrupt
        yield

    model = network()
    with pytest.raises(KeyboardInterrupt):
        model.fit_batches(interrupted)
    assert not hasattr(model, "hierarchy_")


def test_steps_never_turn_back_where_later_epochs_have_more_batches(hard):
    X, y = hard
    made = []

    def grows():
        made.append(1)
        return iter([(X, y)] * (2 if len(made) == 1 else 30))

    model = network(max_epochs=3, patience=9).fit_batches(grows)
    assert model.loss_curve_ == sorted(model.loss_curve_, reverse=True)


def test_an_iterator_that_is_used_up_is_no_epoch(hard):
    same = iter([hard] * 3)
    with pytest.raises(ValueError, match="nothing in epoch 2: it can be used for 1 epoch only"):
        network(max_epochs=3).fit_batches(lambda: same)


def test_a_reader_that_is_left_early_ends():
    from hiclass.torch._feed import prefetched

    import torch  # isort: skip

    class Item:
        def to(self, device):
            return self

    made = []

    def endless():
        while True:
            made.append(Item())
            yield made[-1]

    n_threads = threading.active_count()
    batches = prefetched(endless(), torch.device("cpu"))
    next(batches)
    batches.close()
    assert threading.active_count() == n_threads
    assert len(made) < 20
