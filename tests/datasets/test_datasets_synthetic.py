"""The generator of data with a hierarchy."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse as sp
from sklearn.naive_bayes import GaussianNB

from hiclass import Hierarchy, LocalClassifierPerParentNode
from hiclass.datasets import make_hierarchical_classification


def test_shapes_follow_the_parameters():
    bunch = make_hierarchical_classification(50, 7, branching=[2, 4], depth=2, random_state=0)
    assert bunch.data.shape == (50, 7)
    assert bunch.target.shape == (50, 2)
    assert len(bunch.feature_names) == 7
    assert bunch.target_names == ["level_1", "level_2"]
    assert [len(nodes) for nodes in bunch.hierarchy.nodes_by_level] == [1, 2, 8]


def test_a_seed_gives_the_same_data_and_another_one_others():
    first, again, other = (
        make_hierarchical_classification(20, random_state=seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.data, again.data)
    np.testing.assert_array_equal(first.target, again.target)
    assert not np.array_equal(first.data, other.data)


@given(
    n_samples=st.integers(1, 30),
    branching=st.integers(1, 3),
    depth=st.integers(2, 3),
    ragged=st.sampled_from([0.0, 0.4, 1.0]),
    homonyms=st.booleans(),
)
def test_every_path_exists_in_the_hierarchy(n_samples, branching, depth, ragged, homonyms):
    bunch = make_hierarchical_classification(
        n_samples, 3, branching=branching, depth=depth, ragged=ragged, homonyms=homonyms
    )
    assert bunch.target.shape == (n_samples, depth)
    lengths = (bunch.target != "").sum(axis=1)
    assert (lengths < depth).sum() == round(ragged * n_samples)
    assert lengths.min() >= 1
    for path, length in zip(bunch.target.tolist(), lengths, strict=True):
        assert bunch.hierarchy.path(bunch.hierarchy.find(tuple(path[:length])))


def test_homonyms_repeat_labels_under_different_parents():
    bunch = make_hierarchical_classification(200, branching=2, depth=2, homonyms=True)
    assert set(bunch.target[:, 1]) == {"1", "2"}
    assert bunch.hierarchy == Hierarchy.from_paths([["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]])
    distinct = make_hierarchical_classification(200, branching=2, depth=2)
    assert set(distinct.target[:, 1]) == {"1.1", "1.2", "2.1", "2.2"}


def test_a_dag_has_nodes_with_two_parents_and_lists_of_labels():
    bunch = make_hierarchical_classification(40, branching=3, depth=3, dag=0.5, random_state=0)
    hierarchy = bunch.hierarchy
    n_parents = np.diff(hierarchy.parent_indptr)
    assert not hierarchy.is_tree
    assert (n_parents == 2).sum() == 18  # half of 9 + 27 classes below the first level
    assert all(len(labels) == 1 for labels in bunch.target)
    assert all(hierarchy.is_leaf[hierarchy.find(labels[0])] for labels in bunch.target)


def test_a_dag_without_a_second_candidate_stays_a_tree():
    assert make_hierarchical_classification(5, branching=1, depth=2, dag=1.0).hierarchy.is_tree


@pytest.mark.parametrize("ragged", [0.0, 0.5])
def test_rows_with_several_labels_hold_no_label_above_another(ragged):
    bunch = make_hierarchical_classification(
        200, branching=2, depth=3, multi_label=True, max_labels=4, ragged=ragged, random_state=0
    )
    hierarchy = bunch.hierarchy
    assert {len(labels) for labels in bunch.target} == {1, 2, 3, 4}
    for labels in bunch.target:
        nodes = {hierarchy.find(label) for label in labels}
        assert len(nodes) == len(labels)
        assert not nodes & {a for v in nodes for a in hierarchy.ancestors(v).tolist()}


def test_homonyms_with_several_labels_are_path_tuples():
    bunch = make_hierarchical_classification(
        20, branching=2, depth=2, homonyms=True, multi_label=True, random_state=0
    )
    assert all(len(path) == 2 for labels in bunch.target for path in labels)
    assert bunch.hierarchy.find(bunch.target[0][0])


def test_sparse_data_are_mostly_zero_and_never_dense():
    X, y = make_hierarchical_classification(100, 200, sparse=True, random_state=0, return_X_y=True)
    assert sp.issparse(X)
    assert 0.05 < X.nnz / np.prod(X.shape) < 0.4
    assert LocalClassifierPerParentNode().fit(X, y).score(X, y) > 0.9


def test_noise_makes_it_harder():
    scores = []
    for noise in (0.01, 1.0, 10.0):
        X, y = make_hierarchical_classification(400, noise=noise, random_state=0, return_X_y=True)
        model = LocalClassifierPerParentNode(GaussianNB()).fit(X[:300], y[:300])
        scores.append(model.score(X[300:], y[300:]))
    assert scores[0] > 0.99
    assert scores[0] > scores[1] > scores[2]


def test_frames():
    bunch = make_hierarchical_classification(10, 3, as_frame=True, random_state=0)
    assert list(bunch.frame) == [
        "feature_0", "feature_1", "feature_2", "level_1", "level_2", "level_3"
    ]  # fmt: skip
    X, y = make_hierarchical_classification(
        10, 3, sparse=True, multi_label=True, as_frame=True, return_X_y=True, random_state=0
    )
    assert isinstance(X.dtypes.iloc[0], pd.SparseDtype)
    assert isinstance(y, pd.Series)
    assert isinstance(y[0], list)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer of at least 1; got 0"),
        ({"n_features": 2.5}, "n_features must be an integer of at least 1; got 2.5"),
        ({"ragged": 1.5}, "ragged must be a share from 0 to 1; got 1.5"),
        ({"dag": -1}, "dag must be a share from 0 to 1; got -1"),
        ({"noise": -1}, r"noise must be a number from 0 to 1e\+100; got -1"),
        ({"noise": float("nan")}, r"noise must be a number from 0 to 1e\+100; got nan"),
        ({"noise": float("inf")}, r"noise must be a number from 0 to 1e\+100; got inf"),
        ({"noise": 1e308}, r"noise must be a number from 0 to 1e\+100; got 1e\+308"),
        ({"noise": 10**400}, r"noise must be a number from 0 to 1e\+100; got 1000"),
        ({"noise": np.float32("inf")}, r"noise must be a number from 0 to 1e\+100; got .*inf"),
        ({"noise": True}, r"noise must be a number from 0 to 1e\+100; got True"),
        ({"noise": "1"}, r"noise must be a number from 0 to 1e\+100; got '1'"),
        ({"n_samples": True}, "n_samples must be an integer of at least 1; got True"),
        ({"n_features": True}, "n_features must be an integer of at least 1; got True"),
        ({"depth": True}, "depth must be an integer of at least 1; got True"),
        ({"max_labels": True}, "max_labels must be an integer of at least 1; got True"),
        ({"ragged": True}, "ragged must be a share from 0 to 1; got True"),
        ({"ragged": float("inf")}, "ragged must be a share from 0 to 1; got inf"),
        ({"dag": True}, "dag must be a share from 0 to 1; got True"),
        ({"branching": True}, "branching must be an integer of at least 1, .*; got True"),
        ({"branching": None}, "branching must be an integer of at least 1, .*; got None"),
        ({"branching": 2.5}, "branching must be an integer of at least 1, .*; got 2.5"),
        ({"branching": [True, 2, 2]}, r"branching must be an integer .*; got \[True, 2, 2\]"),
        ({"homonyms": "no"}, "homonyms must be True or False; got 'no'"),
        ({"multi_label": 2}, "multi_label must be True or False; got 2"),
        ({"sparse": None}, "sparse must be True or False; got None"),
        ({"as_frame": "no"}, "as_frame must be True or False; got 'no'"),
        ({"return_X_y": 1}, "return_X_y must be True or False; got 1"),
        ({"branching": [2, 2]}, r"branching must .* or 3 of them, one per level; got \[2, 2\]"),
        ({"branching": 0}, "branching must be an integer of at least 1"),
        ({"depth": 1, "ragged": 0.5}, "Use a depth of at least 2"),
        ({"dag": 0.5, "homonyms": True}, "dag and homonyms cannot be combined"),
        ({"max_labels": 0}, "max_labels must be an integer of at least 1; got 0"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_hierarchical_classification(**parameters)


def test_the_largest_noise_is_finite_and_numpy_numbers_are_numbers():
    sizes = {"n_samples": np.int64(5), "branching": np.array([2, 2]), "depth": np.int8(2)}
    X, y = make_hierarchical_classification(
        **sizes, noise=np.float64(1e100), sparse=np.False_, random_state=0, return_X_y=True
    )
    assert np.isfinite(X).all()
    assert y.shape == (5, 2)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.int8])
def test_noise_of_any_numeric_type_is_the_same_noise(kind):
    sizes = {"n_samples": 5, "random_state": 0, "return_X_y": True}
    X, _ = make_hierarchical_classification(noise=kind(1), **sizes)
    np.testing.assert_array_equal(X, make_hierarchical_classification(noise=1.0, **sizes)[0])
    with pytest.raises(ValueError, match="noise must be a number from 0"):
        make_hierarchical_classification(noise=kind(-1), **sizes)
