"""Fitted models are saved and come back the same: pickle, joblib, skops; no rows are in them."""

import copy
import inspect
import io
import pickle
import sys
import types

import joblib
import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from fakes import Untrusted
from samples import COUNTED, COUNTS
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import hiclass
from hiclass import (
    TRUSTED_TYPES,
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    HierarchicalClassifier,
    Hierarchy,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    _version,
    explain,
    trusted_types,
)
from hiclass._estimators.base import BaseHierarchicalClassifier

#: How to make the estimators that are made of models.
COMPOSITES = {
    "EnsembleClassifier": lambda estimator: EnsembleClassifier(
        [("flat", FlatClassifier(estimator)), ("local", LocalClassifierPerNode(estimator))]
    ),
    "ConformalClassifier": lambda estimator: ConformalClassifier(
        LocalClassifierPerParentNode(estimator), random_state=0
    ),
}


def public_estimators():
    """Every classifier that the package offers, whoever added it.

    But for the one that takes texts and, like neighbours, keeps its rows: it has tests of its own.
    """
    found = [getattr(hiclass, n) for n in hiclass.__all__ if n != "ClassTextClassifier"]
    return [c for c in found if inspect.isclass(c) and issubclass(c, BaseHierarchicalClassifier)]


def make(cls, estimator=None):
    if cls.__name__ in COMPOSITES:
        return COMPOSITES[cls.__name__](estimator)
    return cls() if estimator is None else cls(estimator)


@pytest.fixture(params=public_estimators(), ids=lambda cls: cls.__name__)
def public_class(request):
    return request.param


def through_pickle(model):
    return pickle.loads(pickle.dumps(model))


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file, compress=1)
    file.seek(0)
    return joblib.load(file)


def there_and_back(thing):
    content = skops.io.dumps(thing)
    trusted = [*TRUSTED_TYPES]
    # The default estimator of the one is a forest; the other may choose one.
    if isinstance(thing, GlobalClassifier | HierarchicalClassifier):
        trusted.append("sklearn.tree._tree.Tree")
    assert set(skops.io.get_untrusted_types(data=content)) <= set(trusted)
    return skops.io.loads(content, trusted=trusted)


def assert_same_predictions(model, X, save_and_load=there_and_back):
    back = save_and_load(model)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    for a, b in zip(back.predict_proba(X), model.predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)
    return back


@pytest.mark.parametrize("save_and_load", [through_pickle, through_joblib, there_and_back])
def test_every_public_estimator_gives_the_same_predictions(public_class, save_and_load, animals):
    X, y = animals
    model = make(public_class).fit(X, y)
    back = assert_same_predictions(model, X, save_and_load)
    np.testing.assert_array_equal(back.predict_node_proba(X), model.predict_node_proba(X))
    assert back.hierarchy_ == model.hierarchy_
    assert str(clone(back)) == str(clone(model))


def test_every_estimator_comes_back(estimator_class, animals):
    X, y = animals
    model = estimator_class().fit(X, y)
    back = assert_same_predictions(model, X)
    assert back.hierarchy_ == model.hierarchy_
    assert back.missing_label_ == model.missing_label_
    assert list(back.local_classifiers_) == list(model.local_classifiers_)
    assert back.get_params()["min_confidence"] == 0


def test_an_ensemble_in_a_pipeline_comes_back(animals):
    X, y = animals
    parts = [
        ("flat", FlatClassifier(LinearSVC(), calibration="temperature")),
        ("local", LocalClassifierPerParentNode(LinearSVC(), calibration="temperature")),
    ]
    ensemble = EnsembleClassifier(parts, weights="learned", decoding="expected_f1")
    model = make_pipeline(StandardScaler(), ensemble)
    back = assert_same_predictions(model.fit(X, y), X)
    assert back[-1].expected_f1_ == model[-1].expected_f1_
    assert back[-1].weights_.tolist() == model[-1].weights_.tolist()
    assert back[-1].named_models_.flat.temperature_ == model[-1].models_[0].temperature_


def test_a_conformal_model_comes_back(animals):
    X, y = animals
    model = ConformalClassifier(LocalClassifierPerParentNode()).fit(X, y)
    back = there_and_back(model)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "y",
    [
        np.array([[1, 10], [1, 11], [2, 20]] * 5),
        np.array(["a", "b", "c"] * 5),
        [["a", "x"], ["a"], ["b", "y"]] * 5,
        pd.DataFrame({"one": ["a", "a", "b"] * 5, "two": ["x", None, "y"] * 5}),
        np.array([[1.0, 10.0], [1.0, np.nan], [2.0, 20.0]] * 5),
    ],
    ids=["integers", "one level", "ragged", "frame", "floats"],
)
def test_labels_of_every_type_come_back(y):
    X = np.tile(np.eye(3), (5, 1))
    model = LocalClassifierPerNode(GaussianNB()).fit(X, y)
    back = there_and_back(model)
    assert repr(back.predict(X).tolist()) == repr(model.predict(X).tolist())
    assert back.predict(X).dtype == model.predict(X).dtype


def test_a_given_hierarchy_comes_back(animals):
    X, y = animals
    hierarchy = Hierarchy.from_paths(y)
    back = there_and_back(LocalClassifierPerParentNode(hierarchy=hierarchy).fit(X, y))
    assert back.hierarchy == hierarchy
    assert hash(back.hierarchy) == hash(hierarchy)
    with pytest.raises(AttributeError, match="is immutable"):
        back.hierarchy.labels = []
    with pytest.raises(ValueError, match="read-only"):
        back.hierarchy.levels[0] = 1


def test_a_graph_comes_back_as_a_hierarchy():
    graph = networkx.DiGraph([("a", "b"), ("a", "c"), ("d", "e")])
    X, y = np.eye(3), ["b", "c", "e"]
    model = LocalClassifierPerParentNode(GaussianNB(), hierarchy=graph).fit(X, y)
    for save_and_load in (through_pickle, there_and_back):
        back = save_and_load(model)
        assert back.hierarchy == Hierarchy.from_networkx(graph)
        assert clone(back).fit(X, y).predict(X).tolist() == y
    assert model.hierarchy is graph
    cycle = networkx.DiGraph([("a", "b"), ("b", "a")])
    again = pickle.loads(pickle.dumps(LocalClassifierPerParentNode(hierarchy=cycle)))
    assert list(again.hierarchy.edges) == list(cycle.edges)


def test_models_of_sets_of_classes_come_back(estimator_class):
    X = np.tile(np.eye(3), (4, 1))
    y = [["cat"], ["cat", "owl"], ["owl"]] * 4
    hierarchy = {"animal": ["cat", "owl"], "pet": ["cat"]}
    model = estimator_class(GaussianNB(), hierarchy=hierarchy, multi_label=True, threshold="tuned")
    back = there_and_back(model.fit(X, y))
    assert [list(row) for row in back.predict(X)] == [list(row) for row in model.predict(X)]
    np.testing.assert_array_equal(back.predict_node_proba(X), model.predict_node_proba(X))


def test_a_model_that_learns_from_batches_comes_back_and_goes_on(estimator_class, animals):
    X, y = np.abs(animals[0]), animals[1]
    model = estimator_class(MultinomialNB()).partial_fit(X, y)
    back = there_and_back(model)
    for one in (model, back):
        one.partial_fit(X, y)
    np.testing.assert_array_equal(back.predict_node_proba(X), model.predict_node_proba(X))


# -- types of other libraries ------------------------------------------------------------------


def test_the_list_for_a_model_names_what_its_local_classifiers_need(animals):
    X, y = animals
    model = make_pipeline(StandardScaler(), LocalClassifierPerParentNode(Untrusted())).fit(X, y)
    content = skops.io.dumps(model)
    with pytest.raises(skops.io.exceptions.UntrustedTypesFoundException, match="Untrusted"):
        skops.io.loads(content, trusted=list(TRUSTED_TYPES))
    names = trusted_types(model)
    assert names == [*TRUSTED_TYPES, "fakes.Untrusted"]
    back = skops.io.loads(content, trusted=names)
    for a, b in zip(back.predict_proba(X), model.predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_local_classifiers_of_scikit_learn_need_no_type_of_others(animals):
    estimator = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3))
    names = trusted_types(LocalClassifierPerParentNode(estimator).fit(*animals))
    # Which of its own types scikit-learn's trees need depends on the version of skops.
    assert all(name.startswith("sklearn.") for name in names[len(TRUSTED_TYPES) :])


def test_without_skops_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError) as caught:
        trusted_types(FlatClassifier())
    assert caught.value.__notes__ == ["Install it with: pip install skops"]


# -- versions ----------------------------------------------------------------------------------


def saved_by(version, model, monkeypatch, save=pickle.dumps):
    with monkeypatch.context() as patch:
        patch.setattr(_version, "__version__", version)
        return save(model)


def load_skops(content):
    return skops.io.loads(content, trusted=list(TRUSTED_TYPES))


BOTH = pytest.mark.parametrize(
    ("save", "load"), [(pickle.dumps, pickle.loads), (skops.io.dumps, load_skops)]
)


def test_the_version_is_in_the_saved_state_and_nowhere_else(public_class, animals):
    model = make(public_class).fit(*animals)
    assert model.__getstate__()["_hiclass_version"] == hiclass.__version__
    assert model.__getstate__()["_hiclass_format"] == _version.FORMAT == 1
    for one in (model, through_pickle(model), copy.copy(model), copy.deepcopy(model)):
        assert not {"_hiclass_version", "_hiclass_format"} & set(vars(one))


@BOTH
@pytest.mark.parametrize("number", [0, 2, None, "1"])
def test_a_model_of_another_format_is_refused(number, save, load, monkeypatch, animals):
    model = FlatClassifier().fit(*animals)
    with monkeypatch.context() as patch:
        patch.setattr(_version, "FORMAT", number)
        content = save(model)
    message = rf"FlatClassifier was written by hiclass .* in the format {number!r} of model files"
    with pytest.raises(ValueError, match=message):
        load(content)


@BOTH
@pytest.mark.parametrize("version", ["0.1.0", "0.1.0rc1", "0.1.0.dev3+local"])
def test_a_model_of_the_same_release_loads_in_silence(version, save, load, monkeypatch, animals):
    X, y = animals
    model = FlatClassifier().fit(X, y)
    back = load(saved_by(version, model, monkeypatch, save))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


@BOTH
def test_a_model_of_an_older_patch_loads_in_silence(save, load, monkeypatch, animals):
    X, y = animals
    model = FlatClassifier().fit(X, y)
    content = saved_by("0.1.0", model, monkeypatch, save)
    monkeypatch.setattr(_version, "__version__", "0.1.9")
    np.testing.assert_array_equal(load(content).predict(X), model.predict(X))


@BOTH
def test_a_model_of_a_newer_patch_loads_with_a_warning(save, load, monkeypatch, animals):
    X, y = animals
    model = FlatClassifier().fit(X, y)
    content = saved_by("0.1.12", model, monkeypatch, save)
    with pytest.warns(
        UserWarning, match=r"FlatClassifier was written by hiclass 0\.1\.12, .*newer"
    ):
        back = load(content)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_the_warning_of_a_newer_patch_points_to_the_line_that_loads(monkeypatch, animals):
    content = saved_by("0.1.12", FlatClassifier().fit(*animals), monkeypatch)
    with pytest.warns(UserWarning, match="newer") as record:
        pickle.loads(content)
    assert record[0].filename == __file__


@BOTH
@pytest.mark.parametrize(
    ("here", "theirs", "age"),
    [
        ("0.1.0", "0.2.0", "newer"),
        ("0.1.0", "1.0.0", "newer"),
        ("0.2.0", "0.1.5", "older"),
        ("2.0.0", "1.9.9", "older"),
    ],
)
def test_a_model_of_another_series_is_refused(here, theirs, age, save, load, monkeypatch, animals):
    content = saved_by(theirs, FlatClassifier().fit(*animals), monkeypatch, save)
    monkeypatch.setattr(_version, "__version__", here)
    message = f"written by hiclass {theirs}, which is {age} than hiclass {here} here.*Load it with"
    with pytest.raises(ValueError, match=message):
        load(content)


@BOTH
def test_from_version_1_on_minor_versions_read_each_other(save, load, monkeypatch, animals):
    content = saved_by("1.2.0", FlatClassifier().fit(*animals), monkeypatch, save)
    monkeypatch.setattr(_version, "__version__", "1.4.1")
    assert load(content).hierarchy_.n_nodes == 9
    monkeypatch.setattr(_version, "__version__", "1.1.0")
    with pytest.warns(UserWarning, match="newer"):
        load(content)


@pytest.mark.parametrize("stamp", [None, "", "unknown", 1])
def test_a_state_without_a_readable_version_is_refused(stamp, animals):
    model = FlatClassifier().fit(*animals)
    state = model.__getstate__()
    state["_hiclass_version"] = stamp
    with pytest.raises(ValueError, match=r"does not state which version .*Fit the model again"):
        FlatClassifier().__setstate__(state)
    del state["_hiclass_version"]
    with pytest.raises(ValueError, match=r"\(found None\)"):
        FlatClassifier().__setstate__(state)
    assert "_hiclass_version" not in state


def test_the_version_is_checked_before_the_parts_are_read(monkeypatch, animals):
    """A newer version may be made of parts that do not exist here: their names say nothing."""
    future = types.ModuleType("hiclass._future")
    part = type("Part", (), {"__module__": "hiclass._future", "__qualname__": "Part"})
    future.Part = part
    model = FlatClassifier().fit(*animals)
    model.part_ = part()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "hiclass._future", future)
        same, newer = (saved_by(v, model, monkeypatch) for v in ("0.1.0", "0.2.0"))
    with pytest.raises(ModuleNotFoundError, match="_future"):
        pickle.loads(same)
    with pytest.raises(ValueError, match=r"written by hiclass 0\.2\.0"):
        pickle.loads(newer)


# -- no training data --------------------------------------------------------------------------


class Inventory(pickle.Pickler):
    """Notes how large everything is that a pickle holds."""

    def __init__(self):
        super().__init__(io.BytesIO())
        self.sizes = []

    def persistent_id(self, thing):
        if isinstance(thing, np.ndarray) or sp.issparse(thing):
            self.sizes.extend(thing.shape)
        elif isinstance(thing, str | bytes | bytearray | list | tuple | dict | set):
            self.sizes.append(len(thing))


def sizes_inside(model):
    inventory = Inventory()
    inventory.dump(model)
    return inventory.sizes


def rows_of_animals(animals, n_rows):
    """As many rows as wanted, no two of them equal."""
    X, y = animals
    rows = np.arange(n_rows) % len(X)
    return X[rows] + np.random.default_rng(n_rows).normal(scale=0.01, size=(n_rows, X.shape[1])), (
        y[rows]
    )


def test_the_inventory_finds_rows(animals):
    X, y = rows_of_animals(animals, 330)
    model = FlatClassifier(GaussianNB()).fit(X, y)
    for kept in (X, sp.csr_array(X), y.tolist(), dict.fromkeys(range(330))):
        model.kept_ = kept
        assert 330 in sizes_inside(model)


def estimator_of_fixed_size(cls):
    """An estimator whose size does not depend on its number of rows, unlike a tree."""
    return Ridge() if cls is GlobalClassifier else GaussianNB()


def test_no_model_holds_anything_of_the_size_of_its_rows(public_class, animals):
    X, y = rows_of_animals(animals, 330)
    weights = np.random.default_rng(0).uniform(0.5, 1, 330)
    model = make(public_class, estimator_of_fixed_size(public_class))
    model.fit(X, y, sample_weight=weights)
    # Conformal prediction splits the rows: 247 and 83.
    assert not {330, 247, 83} & set(sizes_inside(model))


def test_the_size_of_a_saved_model_does_not_grow_with_its_rows(public_class, animals):
    sizes = []
    for n_rows in (360, 3600):
        model = make(public_class, estimator_of_fixed_size(public_class))
        model.fit(*rows_of_animals(animals, n_rows))
        sizes.append(len(pickle.dumps(model)))
    # Numbers are written in as few bytes as they need.
    assert abs(sizes[1] - sizes[0]) < 200


@pytest.mark.parametrize("options", [{"calibration": "temperature"}, {"decoding": "expected_f1"}])
def test_what_is_learned_out_of_fold_leaves_no_rows_behind(estimator_class, options, animals):
    X, y = rows_of_animals(animals, 330)
    model = estimator_class(GaussianNB(), **options).fit(X, y)
    assert not {330, 220, 110} & set(sizes_inside(model))


def test_models_of_sets_and_of_batches_hold_no_rows(estimator_class):
    X = np.tile(np.eye(3), (110, 1))
    y = [["cat"], ["cat", "owl"], ["owl"]] * 110
    model = estimator_class(GaussianNB(), multi_label=True, threshold="tuned").fit(X, y)
    assert 330 not in sizes_inside(model)
    paths = [["animal", "cat"], ["animal", "owl"], ["plant", "fern"]] * 110
    model = estimator_class(MultinomialNB()).partial_fit(X, paths).partial_fit(X, paths)
    assert not {330, 660} & set(sizes_inside(model))


def test_a_stream_with_gates_goes_through_skops():
    model = LocalClassifierPerNode(MultinomialNB()).partial_fit(COUNTS, COUNTED, classes=COUNTED)
    model.partial_fit(COUNTS[:1], [["C", "c1"]])
    back = skops.io.loads(skops.io.dumps(model), trusted=list(TRUSTED_TYPES))
    np.testing.assert_array_equal(back.predict_node_proba(COUNTS), model.predict_node_proba(COUNTS))
    steps = explain(model, COUNTS[:1]).to_dict()
    assert "inf" not in repr(steps)
