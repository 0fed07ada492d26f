"""The estimators as a user meets them: labels, paths that end early, probabilities, confidences.

Many tests use ``DummyClassifier(strategy="prior")`` as estimator. It predicts the shares of the
classes in its training rows, so that all probabilities can be worked out by hand.
"""

import datetime
import warnings

import networkx
import numpy as np
import pandas
import polars
import pytest
from fakes import Fixed, Recorder
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from hiclass import (
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)

NEAREST = KNeighborsClassifier(n_neighbors=1)
PRIOR = DummyClassifier(strategy="prior")


def rows(y):
    """X with one feature, the number of the row."""
    return np.arange(float(len(y)))[:, None]


def sides(classifier):
    """The numbers of the positive and of the negative training rows of a Recorder."""
    X, y, *_ = classifier.seen_
    return tuple(sorted(X[y == side, 0].astype(int).tolist()) for side in (1, 0))


def nearest(estimator_class, y, **params):
    """A model that repeats the labels of its training rows."""
    return estimator_class(NEAREST, **params).fit(rows(y), y)


def proba_of(model, *paths, X=((0.0,),)):
    """Probabilities of some nodes for the first row."""
    proba = model.predict_node_proba(X)[0]
    return [proba[model.hierarchy_.find(path)] for path in paths]


# -- policies ----------------------------------------------------------------------------------

WOLF_CLASSES = ["Reptile", "Snake", "Lizard", "Mammal", "Cat", "Wolf", "Dog"]
WOLF_PATHS = [
    ["Reptile"],
    ["Reptile", "Snake"],
    ["Reptile", "Lizard"],
    ["Mammal"],
    ["Mammal", "Cat"],
    ["Mammal", "Wolf"],
    ["Mammal", "Wolf", "Dog"],
]


@pytest.mark.parametrize(
    ("policy", "positive", "negative"),
    [
        ("exclusive", "Wolf", "Reptile Snake Lizard Mammal Cat Dog"),
        ("less_exclusive", "Wolf", "Reptile Snake Lizard Mammal Cat"),
        ("less_inclusive", "Wolf Dog", "Reptile Snake Lizard Mammal Cat"),
        ("inclusive", "Wolf Dog", "Reptile Snake Lizard Cat"),
        ("siblings", "Wolf Dog", "Cat"),
        ("exclusive_siblings", "Wolf", "Cat"),
    ],
)
def test_the_wolf_is_trained_on_the_rows_of_the_papers_table(policy, positive, negative):
    model = LocalClassifierPerNode(Recorder(), binary_policy=policy)
    wolf = model.fit(rows(WOLF_PATHS), WOLF_PATHS).local_classifiers_["Mammal", "Wolf"]
    for found, expected in zip(sides(wolf), (positive, negative), strict=True):
        assert [WOLF_CLASSES[row] for row in found] == sorted(
            expected.split(), key=WOLF_CLASSES.index
        )


@pytest.mark.parametrize(
    ("policy", "same"),
    [
        ("exclusive", "less_inclusive"),
        ("less_exclusive", "less_inclusive"),
        ("exclusive_siblings", "siblings"),
    ],
)
def test_without_rows_at_inner_nodes_a_policy_equals_another_and_warns_once(policy, same):
    y = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "z"], ["b", "z"]]
    model = LocalClassifierPerNode(Recorder(), binary_policy=policy)
    with pytest.warns(
        UserWarning, match=f"binary_policy='{policy}' is the same as '{same}'"
    ) as log:
        model.fit(rows(y), y)
    assert len(log) == 1
    other = LocalClassifierPerNode(Recorder(), binary_policy=same).fit(rows(y), y)
    for path, classifier in other.local_classifiers_.items():
        assert sides(model.local_classifiers_[path]) == sides(classifier)


def test_a_policy_without_positive_rows_names_the_class_and_the_way_out():
    y = [["a", "x"], ["b", "y"], ["b", "z"], ["b"]]  # no row ends at a
    model = LocalClassifierPerNode(GaussianNB(), binary_policy="exclusive")
    message = r"class a has no positive training rows under binary_policy='exclusive'.*'siblings'"
    with pytest.raises(ValueError, match=message):
        model.fit(rows(y), y)


# -- which local classifiers there are ---------------------------------------------------------

FOREST = [["a", "x"], ["a", "y"], ["a", "z"], ["b", "x"], ["b", "w"], ["c", "x"]]


def test_per_node_fits_one_classifier_for_every_node_with_siblings():
    model = LocalClassifierPerNode(Recorder()).fit(rows(FOREST), FOREST)
    assert {path: sides(c) for path, c in model.local_classifiers_.items()} == {
        ("a",): ([0, 1, 2], [3, 4, 5]),
        ("b",): ([3, 4], [0, 1, 2, 5]),
        ("c",): ([5], [0, 1, 2, 3, 4]),
        ("a", "x"): ([0], [1, 2]),
        ("a", "y"): ([1], [0, 2]),
        ("a", "z"): ([2], [0, 1]),
        ("b", "w"): ([4], [3]),
        ("b", "x"): ([3], [4]),
    }
    assert dict(model.stop_classifiers_) == {}


def test_per_parent_fits_one_classifier_for_every_node_with_several_children():
    model = LocalClassifierPerParentNode(Recorder()).fit(rows(FOREST), FOREST)
    fitted = {
        path: (len(c.seen_[1]), c.classes_.tolist()) for path, c in model.local_classifiers_.items()
    }
    assert fitted == {(): (6, [0, 1, 2]), ("a",): (3, [0, 1, 2]), ("b",): (2, [0, 1])}


def test_per_level_fits_one_classifier_for_every_level():
    model = LocalClassifierPerLevel(Recorder()).fit(rows(FOREST), FOREST)
    fitted = {
        level: (len(c.seen_[1]), len(c.classes_)) for level, c in model.local_classifiers_.items()
    }
    assert fitted == {1: (6, 3), 2: (6, 6)}


def test_flat_fits_one_classifier_for_all_leaves():
    model = FlatClassifier(Recorder()).fit(rows(FOREST), FOREST)
    assert list(model.local_classifiers_) == [()]
    assert model.local_classifiers_[()].classes_.tolist() == [0, 1, 2, 3, 4, 5]


def test_local_targets_count_from_zero_in_every_problem(estimator_class, animals):
    model = estimator_class(GaussianNB()).fit(*animals)
    for estimator in model.local_classifiers_.values():
        assert estimator.classes_.tolist() == list(range(len(estimator.classes_)))


def test_a_classifier_is_found_by_path_or_by_a_label_that_is_unique():
    model = LocalClassifierPerNode(GaussianNB()).fit(rows(FOREST), FOREST)
    found = model.local_classifiers_
    assert found["a", "y"] is found["y"]
    assert len(found) == 8
    with pytest.raises(KeyError, match="3 classes are called 'x'"):
        found["x"]
    with pytest.raises(
        KeyError, match="c > x has no classifier, because there was nothing to decide"
    ):
        found["c", "x"]
    with pytest.raises(KeyError, match="nowhere"):
        found["nowhere"]


def test_the_gates_of_the_per_node_model_are_found_by_path(animals):
    model = LocalClassifierPerNode(GaussianNB()).fit(*animals)
    assert list(model.stop_classifiers_) == [("Plant",)]


def test_the_local_classifiers_of_an_unfitted_model_do_not_exist(estimator_class):
    assert not hasattr(estimator_class(), "local_classifiers_")
    assert not hasattr(LocalClassifierPerNode(), "stop_classifiers_")


# -- paths that end early ----------------------------------------------------------------------

# 4 rows A > x, 2 rows A > y, 2 rows A, 2 rows B.
SHARES = [["A", "x"]] * 4 + [["A", "y"]] * 2 + [["A", ""]] * 2 + [["B", ""]] * 2


def test_stopping_is_one_option_more_and_all_strategies_agree_on_shares(estimator_class):
    model = estimator_class(PRIOR).fit(rows(SHARES), SHARES)
    expected = [0.8, 0.4, 0.2, 0.2]
    assert proba_of(model, ["A"], ["A", "x"], ["A", "y"], ["B"]) == pytest.approx(expected)
    first, second = model.predict_proba([[0.0]])
    assert first[0] == pytest.approx([0.8, 0.2])  # A, B
    assert second[0] == pytest.approx([0.4, 0.2, 0.4])  # x, y, and over: A 0.2, B 0.2
    assert [c.tolist() for c in model.classes_] == [["A", "B"], ["x", "y", ""]]


def test_per_node_the_gate_takes_its_share_before_the_normalised_children():
    predictions = {("A",): Fixed(0.1, 0.9), ("B",): Fixed(0.7, 0.3)}
    predictions |= {("A", "x"): Fixed(0.4, 0.6), ("A", "y"): Fixed(0.8, 0.2)}
    calls = []

    def choose(path):
        calls.append(path)
        # A's own classifier is made first, then its gate.
        return Fixed(0.75, 0.25) if calls.count(path) == 2 else predictions[path]

    model = LocalClassifierPerNode(choose).fit(rows(SHARES), SHARES)
    assert calls.count(("A",)) == 2
    # P(A) = 0.9 / 1.2; given A stop 0.25, x 0.75 * 0.6 / 0.8, y 0.75 * 0.2 / 0.8.
    proba = proba_of(model, ["A"], ["B"], ["A", "x"], ["A", "y"])
    assert proba == pytest.approx([0.75, 0.25, 0.75 * 0.5625, 0.75 * 0.1875])


def test_per_level_probabilities_are_restricted_to_the_children_and_normalised():
    y = [["A", "x"], ["A", "y"], ["B", "z"], ["B", "w"]]
    predictions = {1: Fixed(0.6, 0.4), 2: Fixed(0.1, 0.3, 0.2, 0.4)}  # A B; A>x A>y B>w B>z
    model = LocalClassifierPerLevel(predictions.get).fit(rows(y), y)
    proba = proba_of(model, ["A", "x"], ["A", "y"], ["B", "w"], ["B", "z"])
    assert proba == pytest.approx([0.6 * 0.25, 0.6 * 0.75, 0.4 / 3, 0.8 / 3])
    # Top-down goes by the first level, although B > z has the largest probability on the second.
    assert model.predict([[0.0]]).tolist() == [["A", "y"]]


def test_flat_predicts_the_most_probable_leaf_and_not_top_down():
    y = [["A", "x"], ["A", "y"], ["B", "z"]]
    model = FlatClassifier(Fixed(0.3, 0.3, 0.4)).fit(rows(y), y)
    assert proba_of(model, ["A"], ["B"]) == pytest.approx([0.6, 0.4])
    assert model.predict([[0.0]]).tolist() == [["B", "z"]]
    top_down = LocalClassifierPerLevel({1: Fixed(0.6, 0.4), 2: Fixed(0.3, 0.3, 0.4)}.get)
    assert top_down.fit(rows(y), y).predict([[0.0]]).tolist() == [["A", "x"]]


def test_predictions_that_are_all_zero_become_uniform_over_children_with_rows():
    tree = {"r": ["a", "b", "c"]}
    model = LocalClassifierPerNode(Fixed(1.0, 0.0), hierarchy=tree)
    model.fit(rows("aabb"), list("aabb"))
    assert proba_of(model, "a", "b", "c") == [0.5, 0.5, 0.0]
    y = [["A", "x"], ["A", "y"], ["B", "z"]]
    level = LocalClassifierPerLevel({1: Fixed(0.5, 0.5), 2: Fixed(0.0, 0.0, 1.0)}.get)
    proba = proba_of(level.fit(rows(y), y), ["A", "x"], ["A", "y"], ["B", "z"])
    assert proba == [0.25, 0.25, 0.5]


def test_ties_go_to_the_class_that_sorts_first(estimator_class):
    y = ["b", "c", "a"]
    model = estimator_class(PRIOR).fit(rows(y), y)
    assert model.predict([[0.0], [1.0], [2.0]]).tolist() == ["a", "a", "a"]


@pytest.mark.parametrize(
    "estimator", [GaussianNB(), LogisticRegression(), LinearSVC(), NEAREST], ids=lambda c: str(c)
)
def test_half_of_the_rows_of_a_single_child_parent_stop_and_that_is_learned(
    estimator_class, estimator
):
    side = np.tile([-1.0, 1.0], 20)
    X = np.column_stack([np.repeat([0.0, 5.0], 20), side])
    X += np.random.default_rng(0).normal(scale=0.1, size=X.shape)
    y = np.full((40, 2), "", dtype=object)
    y[:20, 0], y[20:, 0] = "A", "B"
    y[:20, 1][side[:20] > 0] = "x"  # A > x, or A: B is a leaf
    model = estimator_class(estimator).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("estimator", [GaussianNB(), LinearSVC(), NEAREST], ids=lambda c: str(c))
def test_unequal_depths_and_stops_come_back(estimator_class, animals, estimator):
    X, y = animals
    assert estimator_class(estimator).fit(X, y).predict(X).tolist() == y.tolist()


def test_leaf_only_predicts_leaves_alone(estimator_class, animals):
    X, y = animals
    model = estimator_class(GaussianNB(), leaf_only=True).fit(X, y)
    predicted = model.predict(X)
    ends = {tuple(label for label in path if label) for path in predicted}
    leaves = [("Animal", "Bird"), ("Animal", "Mammal", "Cat"), ("Animal", "Mammal", "Dog")]
    assert ends == {*leaves, ("Plant", "Fern"), ("Rock",)}
    known = y[:, 0] != "Plant"
    assert predicted[known].tolist() == y[known].tolist()


def test_leaf_only_rows_that_end_early_train_their_ancestors_alone(estimator_class):
    model = estimator_class(PRIOR, leaf_only=True).fit(rows(SHARES), SHARES)
    flat = estimator_class is FlatClassifier  # leaves these rows out
    expected = [6 / 8, 4 / 8, 2 / 8] if flat else [0.8, 0.8 * 4 / 6, 0.8 * 2 / 6]
    assert proba_of(model, ["A"], ["A", "x"], ["A", "y"]) == pytest.approx(expected)


def test_single_child_chains_need_no_classifier(estimator_class):
    y = [["r", "s", "t", "a"], ["r", "s", "t", "b"]]
    model = nearest(estimator_class, y)
    assert len(model.local_classifiers_) == (2 if estimator_class is LocalClassifierPerNode else 1)
    assert model.predict([[0.1], [0.9]]).tolist() == y
    assert proba_of(model, ["r", "s", "t"]) == [1.0]


def test_a_single_class_is_certain_and_fits_nothing(estimator_class):
    for y in (["a", "a"], [["a", "b"], ["a", "b"]]):
        model = nearest(estimator_class, y)
        assert len(model.local_classifiers_) == 0
        np.testing.assert_array_equal(model.predict([[7.0]]), np.array(y[:1]))
        assert model.predict_confidence([[7.0]]).tolist() == [[1.0] * (len(y[0]))]


def test_one_row_in_total(estimator_class):
    model = estimator_class().fit([[1.0, 2.0]], [["a", "b", "c"]])
    assert model.predict([[5.0, 5.0], [1.0, 2.0]]).tolist() == [["a", "b", "c"]] * 2
    assert [p.tolist() for p in model.predict_proba([[5.0, 5.0]])] == [[[1.0]]] * 3
    assert model.score([[1.0, 2.0]], [["a", "b", "c"]]) == 1.0


def test_a_class_with_one_row_is_learned(estimator_class):
    y = [["a", "x"], ["a", "x"], ["a", "x"], ["b", "only"], ["a", "y"]]
    assert nearest(estimator_class, y).predict(rows(y)).tolist() == y


def test_paths_of_one_level_behave_as_single_labels(estimator_class, animals):
    X, y = animals
    flat = estimator_class(GaussianNB()).fit(X, y[:, 0])
    paths = estimator_class(GaussianNB()).fit(X, y[:, :1])
    assert flat.predict(X).shape == (36,)
    assert paths.predict(X).tolist() == flat.predict(X)[:, None].tolist()
    np.testing.assert_array_equal(paths.predict_proba(X)[0], flat.predict_proba(X))


def test_a_column_without_any_label_stays_empty(estimator_class):
    model = nearest(estimator_class, [["a", ""], ["b", ""]])
    assert model.predict([[0.0]]).tolist() == [["a", ""]]
    assert [c.tolist() for c in model.classes_] == [["a", "b"], [""]]
    assert [p.tolist() for p in model.predict_proba([[0.0]])] == [[[1.0, 0.0]], [[1.0]]]


# -- a hierarchy as argument -------------------------------------------------------------------

TREE = {"Animal": ["Bird", "Mammal"], "Mammal": ["Cat", "Dog", "Yeti"], "Plant": ["Fern", "Moss"]}
EDGES = [(parent, child) for parent, children in TREE.items() for child in children]
SPECIFIC = ["Bird", "Cat", "Dog", "Fern", "Mammal"]  # no Yeti, no Moss; Mammal is an inner node
SPECIFIC_PATHS = [
    ["Animal", "Bird", None],
    ["Animal", "Mammal", "Cat"],
    ["Animal", "Mammal", "Dog"],
    ["Plant", "Fern", None],
    ["Animal", "Mammal", None],
]


@pytest.mark.parametrize(
    "hierarchy",
    [TREE, EDGES, networkx.DiGraph(EDGES), Hierarchy.from_dict(TREE)],
    ids=["dict", "edges", "networkx", "Hierarchy"],
)
def test_a_given_hierarchy_takes_most_specific_labels_and_paths(estimator_class, hierarchy):
    X = rows(SPECIFIC)
    single = nearest(estimator_class, SPECIFIC, hierarchy=hierarchy)
    paths = nearest(estimator_class, SPECIFIC_PATHS, hierarchy=hierarchy)
    assert single.predict(X).tolist() == SPECIFIC
    assert paths.predict(X).tolist() == SPECIFIC_PATHS
    assert single.hierarchy_ == paths.hierarchy_ == Hierarchy.from_dict(TREE)
    np.testing.assert_array_equal(single.predict_node_proba(X), paths.predict_node_proba(X))
    assert single.score(X, SPECIFIC) == paths.score(X, SPECIFIC_PATHS) == 1.0


def test_classes_without_rows_have_probability_zero(estimator_class):
    model = estimator_class(PRIOR, hierarchy=TREE).fit(rows(SPECIFIC), SPECIFIC)
    assert proba_of(model, "Yeti", "Moss") == [0.0, 0.0]
    assert proba_of(model, "Animal", "Plant", "Fern") == pytest.approx([0.8, 0.2, 0.2])
    assert "Yeti" not in model.classes_
    assert model.predict_proba([[0.0]]).sum() == pytest.approx(1.0)


def test_classes_without_rows_need_no_classifier_of_their_own():
    model = LocalClassifierPerNode(PRIOR, hierarchy=TREE).fit(rows(SPECIFIC), SPECIFIC)
    # Fern's only sibling, Moss, has no rows, so that Fern is certain below Plant.
    assert set(model.local_classifiers_) == {"Animal", "Plant", "Bird", "Mammal", "Cat", "Dog"}
    assert set(model.stop_classifiers_) == {"Mammal"}


def test_a_root_that_is_no_class_is_left_out_of_paths(estimator_class):
    tree = Hierarchy.from_dict({"Thing": ["a", "b"], "a": ["x", "y"]}, root="Thing")
    y = [["a", "x"], ["a", "y"], ["b", ""]]
    assert nearest(estimator_class, y, hierarchy=tree).predict(rows(y)).tolist() == y


def test_a_given_hierarchy_deeper_than_any_row(estimator_class):
    y = ["Animal", "Plant"]
    model = nearest(estimator_class, y, hierarchy=TREE)
    assert model.predict([[0.0], [1.0]]).tolist() == y
    assert model.predict_confidence([[0.0]]).tolist()[0][0] == 1.0
    assert np.isnan(model.predict_confidence([[0.0]])[0, 1:]).all()


def test_a_given_hierarchy_may_tell_homonyms_apart_by_path(estimator_class):
    paths = [["Cards", "Other"], ["Loans", "Car"], ["Loans", "Other"], ["Loans", "House"]]
    tree = Hierarchy.from_paths(paths)
    model = nearest(estimator_class, paths[:3], hierarchy=tree)
    assert model.predict(rows(paths[:3])).tolist() == paths[:3]
    with pytest.raises(ValueError, match=r"Row 1 of y: 2 classes are called 'Other'.*whole path"):
        nearest(estimator_class, ["Car", "Other"], hierarchy=tree)


def test_integers_of_a_given_hierarchy_stay_integers_even_if_the_type_of_y_is_too_small(
    estimator_class,
):
    tree = {1: [], 2: [], 1000: []}
    wide = nearest(estimator_class, np.array([1, 2]), hierarchy=tree).predict([[0.0], [1.0]])
    assert wide.dtype == np.array([1, 2]).dtype
    small = nearest(estimator_class, np.array([1, 2], dtype=np.int8), hierarchy=tree)
    for predicted in (wide, small.predict([[0.0], [1.0]])):
        assert predicted.tolist() == [1, 2]
        assert [type(label) for label in predicted.tolist()] == [int, int]


# -- labels come back as they were -------------------------------------------------------------

COMPLETE = [
    np.array([[1, 10], [2, 10], [2, 20]]),
    np.array([[1, 10], [2, 10], [2, 20]], dtype=np.int8),
    np.array([[1, 10], [2, 10], [2, 20]], dtype=np.uint16),
    np.array([[1.0, 10.0], [2.0, 10.0], [2.0, 20.0]]),
    np.array([[True, False], [False, False], [True, True]]),
    np.array([["a", "long label"], ["b", "x"], ["b", "long label"]]),
    np.array([["a", "x"], ["b", "x"], ["b", "y"]], dtype=object),
    np.array([1, 5, 3]),
    np.array([1.0, 5.0, 3.0]),
    np.array([True, False, True]),
    np.array(["cat", "dog", "cat"]),
    np.array(["cat", "dog", "cat"], dtype=object),
]


@pytest.mark.parametrize("y", COMPLETE, ids=lambda y: f"{y.dtype}-{y.ndim}d")
def test_complete_labels_keep_their_type_and_shape(estimator_class, y):
    model = nearest(estimator_class, y)
    predicted = model.predict(rows(y))
    assert predicted.dtype == y.dtype
    assert predicted.tolist() == y.tolist()
    assert model.score(rows(y), y) == 1.0
    classes = model.classes_ if y.ndim == 2 else [model.classes_]
    assert [c.dtype for c in classes] == [y.dtype] * len(classes)
    assert [c.tolist() for c in classes] == [
        sorted(set(column)) for column in (y.T.tolist() if y.ndim == 2 else [y.tolist()])
    ]


NAN = float("nan")


@pytest.mark.parametrize(
    ("y", "missing"),
    [
        ([["a", "x"], ["b", ""]], ""),
        ([["a", "x"], ["b", None]], None),
        ([["a", "x"], ["b", NAN]], NAN),
        ([["a", "x"], ["b", pandas.NA]], pandas.NA),
        ([["a", "x"], ["b"]], ""),
        ([[1, 2], [3]], None),
        ([[1, 2], [3, None]], None),
        ([[1, 2], [3, NAN]], NAN),
        ([[1.0, 2.0], [3.0]], NAN),
        ([[True, False], [False]], None),
        (
            [[datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], [datetime.date(2021, 1, 1)]],
            None,
        ),
        (np.array([[1.0, 2.0], [3.0, NAN]]), NAN),
        (np.array([["a", "x"], ["b", ""]]), ""),
        (pandas.DataFrame({"one": ["a", "b"], "two": ["x", None]}), None),
        (
            pandas.DataFrame({"one": [1, 3], "two": pandas.array([2, None], dtype="Int64")}),
            pandas.NA,
        ),
        (polars.DataFrame({"one": ["a", "b"], "two": ["x", None]}), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_missing_labels_come_back_in_their_spelling(estimator_class, y, missing):
    model = nearest(estimator_class, y)
    first, second = model.predict([[0.0], [1.0]]).tolist()
    given = y.to_numpy().tolist() if hasattr(y, "to_numpy") else list(map(list, y))
    assert (first, second[0]) == (given[0], given[1][0])
    for end in (second[1], model.missing_label_):
        if isinstance(y, pandas.DataFrame) and missing is None:
            assert pandas.isna(end)  # pandas decides how it stores None
        else:
            assert end is missing or (type(end) is float and end != end and missing != missing)


def test_the_first_spelling_of_missing_wins(estimator_class):
    model = nearest(estimator_class, [["a", "x"], ["b", None], ["c", ""]])
    assert model.predict([[1.0], [2.0]]).tolist() == [["b", None], ["c", None]]


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (np.array([[1.0, 2.0], [3.0, NAN]]), "f"),
        (np.array([["a", "x"], ["b", ""]]), "U"),
        ([[1, 2], [3]], "O"),
        ([["a", "x"], ["b"]], "O"),
        ([[True, False], [False]], "O"),
    ],
    ids=["float", "fixed-width", "int", "str", "bool"],
)
def test_the_type_of_predictions_does_not_depend_on_the_rows_of_a_call(estimator_class, y, kind):
    model = nearest(estimator_class, y)
    calls = ([[0.0]], [[1.0]], [[0.0], [1.0]])
    assert [model.predict(X).dtype.kind for X in calls] == [kind] * 3


def test_integers_come_as_objects_exactly_where_a_path_can_end_early(estimator_class):
    y = np.array([[1, 10], [1, 20], [2, 30]])
    model = nearest(estimator_class, y)
    assert model.predict([[0.0]]).dtype == y.dtype
    sure = model.set_params(min_confidence=0.5).predict([[0.0]])
    assert sure.dtype == object
    assert sure.tolist() == [[1, 10]]
    assert model.missing_label_ is None


def test_leaf_only_keeps_integers_where_all_leaves_are_at_the_same_depth(estimator_class):
    y = [[1, 10], [1, 20], [1, None], [2, 30]]
    assert nearest(estimator_class, y).predict([[0.0]]).dtype == object
    complete = nearest(estimator_class, y, leaf_only=True).predict([[0.0], [3.0]])
    assert complete.dtype.kind == "i"
    assert complete.tolist() == [[1, 10], [2, 30]]


def test_one_two_and_true_stay_different_labels_on_different_levels(estimator_class):
    y = [[True, 1, 1.0], [False, 1, 0.0], [False, 0, 1.0]]
    predicted = nearest(estimator_class, y).predict(rows(y)).tolist()
    assert predicted == y
    assert [[type(v) for v in path] for path in predicted] == [[bool, int, float]] * 3


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_frames_of_labels_give_arrays(estimator_class, frame):
    y = frame({"level 1": ["a", "a", "b"], "level 2": ["x", "y", "x"]})
    predicted = nearest(estimator_class, y).predict([[0.0], [1.0], [2.0]])
    assert type(predicted) is np.ndarray
    assert predicted.tolist() == [["a", "x"], ["a", "y"], ["b", "x"]]


def test_series_of_labels_give_one_dimension(estimator_class):
    for y in (
        pandas.Series(["a", "b", "b"], index=[7, 8, 9]),
        pandas.Series(["a", "b", "b"], dtype="category"),
        polars.Series(["a", "b", "b"]),
    ):
        assert nearest(estimator_class, y).predict([[0.0], [2.0]]).tolist() == ["a", "b"]


# -- homonyms ----------------------------------------------------------------------------------

HOMONYMS = [["Cards", "Fee"], ["Cards", "Other"], ["Loans", "Fee"], ["Loans", "Other"]]


def test_homonyms_are_different_classes_that_share_a_column_of_probabilities(estimator_class):
    y = [HOMONYMS[0]] * 1 + [HOMONYMS[1]] * 2 + [HOMONYMS[2]] * 3 + [HOMONYMS[3]] * 4
    model = estimator_class(PRIOR).fit(rows(y), y)
    assert proba_of(model, *HOMONYMS) == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert [c.tolist() for c in model.classes_] == [["Cards", "Loans"], ["Fee", "Other"]]
    first, second = model.predict_proba([[0.0]])
    assert first[0] == pytest.approx([0.3, 0.7])
    assert second[0] == pytest.approx([0.4, 0.6])
    assert nearest(estimator_class, HOMONYMS).predict(rows(HOMONYMS)).tolist() == HOMONYMS


def test_the_wrong_homonym_is_no_hit(estimator_class):
    model = nearest(estimator_class, HOMONYMS)
    assert model.score([[1.0]], [["Cards", "Other"]]) == 1.0
    assert model.score([[1.0]], [["Loans", "Other"]]) == 0.0


def test_a_label_may_repeat_along_its_path(estimator_class):
    y = [["a", "a", "a"], ["a", "a", "b"], ["b", "a", "b"]]
    assert nearest(estimator_class, y).predict(rows(y)).tolist() == y


# -- probabilities and confidences -------------------------------------------------------------


def test_predict_proba_of_single_labels_is_one_array_with_the_columns_of_classes(estimator_class):
    y = ["b", "a", "b", "b"]
    model = estimator_class(PRIOR).fit(rows(y), y)
    assert model.classes_.tolist() == ["a", "b"]
    np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]]), [[0.25, 0.75]] * 2)
    np.testing.assert_allclose(model.predict_log_proba([[0.0]]), np.log([[0.25, 0.75]]))


def test_predict_log_proba_of_paths_is_a_list_and_zero_gives_minus_infinity(estimator_class):
    y = [["a", "x"], ["b", "y"]]
    logs = nearest(estimator_class, y).predict_log_proba([[0.0]])
    assert [p.tolist() for p in logs] == [[[0.0, -np.inf]]] * 2


def test_per_level_probabilities_sum_to_one_on_unequal_depths(estimator_class, animals):
    X, y = animals
    model = estimator_class(GaussianNB()).fit(X, y)
    proba = model.predict_proba(X)
    assert [p.shape[1] for p in proba] == [len(c) for c in model.classes_] == [3, 4, 3]
    for level in proba:
        np.testing.assert_allclose(level.sum(axis=1), 1, atol=1e-12)
    # Rock is a leaf of level 1, so below it the path is over.
    rock = y[:, 0] == "Rock"
    np.testing.assert_allclose([level[rock, -1] for level in proba], 1, atol=1e-9)


def test_confidence_is_the_node_probability_along_the_path_and_never_rises(
    estimator_class, animals
):
    X, y = animals
    X = X + np.random.default_rng(3).normal(scale=3, size=X.shape)
    model = estimator_class(GaussianNB()).fit(X, y)
    confidence, proba = model.predict_confidence(X), model.predict_node_proba(X)
    for i, path in enumerate(model.predict(X).tolist()):
        path = [label for label in path if label]
        nodes = [model.hierarchy_.find(path[: j + 1]) for j in range(len(path))]
        np.testing.assert_allclose(confidence[i, : len(path)], proba[i, nodes], atol=1e-12)
        assert np.isnan(confidence[i, len(path) :]).all()
        assert (np.diff(confidence[i, : len(path)]) <= 1e-12).all()
    assert confidence.shape == (36, 3)


@pytest.mark.parametrize(
    ("min_confidence", "path", "confidence"),
    [
        (0.0, ["A", "x"], [0.8, 0.8 * 4 / 6]),
        (0.5, ["A", "x"], [0.8, 0.8 * 4 / 6]),
        (0.6, ["A", ""], [0.8, NAN]),
        (0.79, ["A", ""], [0.8, NAN]),
        (0.81, ["", ""], [NAN, NAN]),
        (1.0, ["", ""], [NAN, NAN]),
    ],
)
def test_min_confidence_stops_at_the_deepest_sure_node(
    estimator_class, min_confidence, path, confidence
):
    y = [["A", "x"]] * 8 + [["A", "y"]] * 4 + [["B", "z"]] * 3  # 12/15, of it 8/12
    model = estimator_class(PRIOR, min_confidence=min_confidence).fit(rows(y), y)
    assert model.predict([[0.0], [1.0]]).tolist() == [path] * 2
    np.testing.assert_allclose(model.predict_confidence([[0.0]])[0], confidence, rtol=1e-12)


def test_min_confidence_is_reached_by_an_equal_probability(estimator_class):
    y = ["a", "a", "a", "b"]
    model = estimator_class(PRIOR, min_confidence=0.75).fit(rows(y), y)
    assert model.predict([[0.0]]).tolist() == ["a"]


def test_min_confidence_with_single_labels_backs_off_to_a_parent(estimator_class):
    y = ["Cat", "Cat", "Dog", "Bird", "Fern"]
    model = estimator_class(PRIOR, hierarchy=TREE, min_confidence=0.6).fit(rows(y), y)
    assert model.predict([[0.0]]).tolist() == ["Mammal"]
    assert model.set_params(min_confidence=0.8).predict([[0.0]]).tolist() == ["Animal"]
    assert model.set_params(min_confidence=0.9).predict([[0.0]]).tolist() == [""]
    assert model.set_params(min_confidence=0.0).predict([[0.0]]).tolist() == ["Cat"]


def test_score_counts_what_was_truncated_as_missed(estimator_class):
    y = [["A", "x"]] * 8 + [["A", "y"]] * 4 + [["B", "z"]] * 3
    model = estimator_class(PRIOR, min_confidence=0.6).fit(rows(y), y)
    # ["A", ""] against ["A", "x"]: 1 hit of 1 predicted and of 2 true nodes.
    assert model.score([[0.0]], [["A", "x"]]) == pytest.approx(2 * 1 / (1 + 2))
    model.set_params(min_confidence=1.0)
    assert model.score([[0.0]], [["A", "x"]]) == 0.0


def test_score_takes_classes_that_were_not_seen(estimator_class):
    model = nearest(estimator_class, [["a", "x"], ["b", "y"]])
    assert model.score([[0.0], [1.0]], [["a", "x"], ["new", "newer"]]) == 0.5


def test_predict_proba_exists_exactly_where_the_local_classifiers_have_it(estimator_class, animals):
    methods = ("predict_proba", "predict_log_proba", "predict_confidence", "predict_node_proba")
    for estimator, expected in ((LinearSVC(), False), (GaussianNB(), True), (None, True)):
        model = estimator_class(estimator)
        assert [hasattr(model, name) for name in methods] == [expected] * 4
        model.fit(*animals)
        assert [hasattr(model, name) for name in methods] == [expected] * 4


def test_asking_for_probabilities_that_do_not_exist_says_what_to_do(estimator_class, animals):
    model = estimator_class(LinearSVC()).fit(*animals)
    with pytest.raises(AttributeError, match="predict_proba") as error:
        model.predict_proba(animals[0])
    assert "local classifier has no predict_proba" in str(error.value)


# -- what users of the published package stumble over ------------------------------------------


def test_probabilities_do_not_depend_on_the_other_rows_of_the_call(estimator_class, animals):
    X, y = animals
    model = estimator_class(GaussianNB()).fit(X, y)
    whole = model.predict_node_proba(X)
    one_by_one = np.vstack([model.predict_node_proba(X[[i]]) for i in range(len(X))])
    np.testing.assert_allclose(one_by_one, whole, atol=1e-12)


def test_leaves_above_the_last_level_get_their_probability(estimator_class):
    y = [["a", "x"], ["a", "y"], ["b", ""], ["b", ""]]
    model = estimator_class(PRIOR).fit(rows(y), y)
    assert proba_of(model, ["b"]) == pytest.approx([0.5])
    assert model.predict_proba([[0.0]])[1][0] == pytest.approx([0.25, 0.25, 0.5])


def test_single_strings_are_labels_and_not_letters(estimator_class):
    model = nearest(estimator_class, ["cat", "dog"])
    assert model.predict([[0.0], [1.0]]).tolist() == ["cat", "dog"]
    assert model.hierarchy_.n_nodes == 3


@pytest.mark.parametrize("y", [[1, 2], [1.0, 2.0], [True, False]], ids=["int", "float", "bool"])
def test_a_perfect_model_on_labels_that_are_no_strings_scores_one(estimator_class, y):
    model = nearest(estimator_class, y)
    assert model.score(rows(y), y) == 1.0
    assert [type(label) for label in model.predict(rows(y)).tolist()] == [type(y[0])] * 2


def test_none_is_missing_and_no_class(estimator_class):
    model = nearest(estimator_class, [["a", "x"], ["b", None]])
    assert "None" not in model.hierarchy_.labels
    assert model.hierarchy_.n_nodes == 4


def test_nan_in_y_is_a_missing_label(estimator_class):
    model = nearest(estimator_class, np.array([["a", "x"], ["b", NAN]], dtype=object))
    assert model.hierarchy_.n_nodes == 4


def test_ragged_lists_are_taken(estimator_class):
    y = [["a"], ["b", "x", "y"], ["b", "z"]]
    predicted = nearest(estimator_class, y).predict(rows(y)).tolist()
    assert predicted == [["a", "", ""], ["b", "x", "y"], ["b", "z", ""]]


def test_a_prediction_can_end_at_an_inner_node(estimator_class):
    y = [["a", "x"], ["a", ""], ["a", "y"]]
    assert nearest(estimator_class, y).predict([[1.0]]).tolist() == [["a", ""]]


def test_no_label_is_reserved_and_nothing_is_a_separator(estimator_class):
    odd = [
        "::HiClass::Separator::",
        "hiclass::root",
        "a::b",
        "/",
        "a/b",
        "\x00",
        " > ",
        "None",
        "nan",
    ]
    y = [[a, b] for a in odd[:2] for b in odd]
    assert nearest(estimator_class, y).predict(rows(y)).tolist() == y


def test_the_order_of_labels_in_a_path_matters(estimator_class):
    y = [["x", "y"], ["y", "x"]]
    model = nearest(estimator_class, y)
    assert model.hierarchy_.n_nodes == 5
    assert model.score(rows(y), y) == 1.0
    assert model.score(rows(y), y[::-1]) == 0.0


def test_no_warning_per_row_anywhere(estimator_class, animals):
    X, y = animals
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        model = estimator_class(GaussianNB()).fit(X, y)
        model.score(X, y)
        model.predict_proba(X)
    assert log == []


def test_look_alike_siblings_warn_and_stay_apart(estimator_class):
    y = [["a", "Cat"], ["a", "cat "], ["b", "cat"]]
    with pytest.warns(UserWarning, match="differ only by case, .*: 'Cat' and 'cat '"):
        model = nearest(estimator_class, y)
    assert model.predict(rows(y)).tolist() == y
