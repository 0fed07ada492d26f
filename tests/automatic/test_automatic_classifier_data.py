"""``HierarchicalClassifier``: labels and rows of all kinds, and what it does after ``fit``."""

import pickle

import networkx
import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse as sp
import sklearn
from fakes import Centroids, Fixed, Nearest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from zoo import DAG, EDGES, zoo

from hiclass import (
    ByDepth,
    HierarchicalClassifier,
    Hierarchy,
    LocalClassifierPerParentNode,
    TableFeatures,
)
from hiclass.metrics import f1

QUICK = {"effort": "quick", "random_state": 0}


# -- labels ------------------------------------------------------------------------------------


def test_single_labels_with_and_without_a_hierarchy(noisy):
    X, y = noisy
    labels = y[:, 1]
    plain = HierarchicalClassifier(**QUICK).fit(X, labels)
    assert plain.predict(X).shape == (60,)
    assert plain.predict_proba(X).shape == (60, 6)
    children = {letter: [f"{letter}1", f"{letter}2"] for letter in "abc"}
    edges = [(parent, child) for parent in children for child in children[parent]]
    for hierarchy in (
        Hierarchy.from_dict(children),
        Hierarchy.from_paths(y),
        children,
        edges,
        networkx.DiGraph(edges),
    ):
        model = HierarchicalClassifier(hierarchy=hierarchy, **QUICK).fit(X, labels)
        assert model.hierarchy_.depth == 2
        assert model.predict(X).tolist() == plain.predict(X).tolist()
        assert model.predict_confidence(X).shape == (60, 2)
        paths = HierarchicalClassifier(hierarchy=hierarchy, **QUICK).fit(X, y)
        assert paths.predict(X)[:, 1].tolist() == plain.predict(X).tolist()


def test_classes_of_a_given_hierarchy_without_rows_have_no_probability(noisy):
    X, y = noisy
    hierarchy = Hierarchy.from_paths([*y, ["a", "a3"], ["d", "d1"]])
    model = HierarchicalClassifier(GaussianNB(), hierarchy=hierarchy, random_state=0).fit(X, y)
    assert model.hierarchy_ == hierarchy
    new = [hierarchy.find(("a", "a3")), hierarchy.find(("d",))]
    assert (model.predict_node_proba(X)[:, new] == 0).all()


def test_integers_stay_integers_unless_a_path_may_stop(noisy):
    X, _ = noisy
    y = np.array([[1, 10], [1, 11], [2, 20]])[np.arange(60) % 3]
    model = HierarchicalClassifier(**QUICK).fit(X, y)
    assert model.predict(X).dtype == np.int64
    assert model.set_params(optimize="f1").predict(X).dtype == object


@pytest.mark.parametrize("effort", ["quick", "balanced"])
def test_paths_that_end_early(noisy, effort):
    X, y = noisy
    ragged = [[path[0]] if path[1] == "a1" else list(path) for path in y.tolist()]
    model = HierarchicalClassifier(Nearest(), effort=effort, random_state=0).fit(X, ragged)
    assert model.score(X, ragged) == 1.0
    assert model.predict(X)[0].tolist() == ["a", ""]


@pytest.mark.parametrize(
    "form",
    [
        lambda y: y.tolist(),
        lambda y: pandas.DataFrame(y, columns=["one", "two"]),
        lambda y: polars.DataFrame(y.tolist(), schema=["one", "two"], orient="row"),
    ],
    ids=["lists", "pandas", "polars"],
)
def test_labels_in_all_forms_are_dealt_to_folds(noisy, form):
    X, y = noisy
    plain = HierarchicalClassifier(GaussianNB(), random_state=0).fit(X, y)
    model = HierarchicalClassifier(GaussianNB(), random_state=0).fit(X, form(y))
    assert model.scores_ == plain.scores_
    assert model.predict(X).tolist() == plain.predict(X).tolist()


def test_another_number_of_labels_is_refused(noisy):
    X, y = noisy
    with pytest.raises(ValueError, match="X has 60 rows but y has 5"):
        HierarchicalClassifier().fit(X, y[:5])


# -- sets of classes ---------------------------------------------------------------------------


def wide(X):
    """A sparse matrix of so many columns that it stays sparse."""
    return sp.csr_matrix((X.shape[0], 2_001)) + sp.csr_matrix(np.pad(X, ((0, 0), (0, 1_996))))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, wide], ids=["dense", "few", "many"])
@pytest.mark.parametrize("effort", ["quick", "balanced"])
def test_several_labels_per_row(form, effort):
    X, y = zoo()
    X = form(X)
    model = HierarchicalClassifier(hierarchy=DAG, multi_label=True, effort=effort, random_state=0)
    model.fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.predict(X).shape == (60,)
    assert model.predict_node_proba(X).shape == (60, DAG.n_nodes)
    assert not hasattr(model, "predict_proba")
    assert hasattr(model, "thresholds_") == (effort == "balanced")
    threshold = "tuned" if effort == "balanced" else 0.5
    assert model.choices_["decoding"] == f"classes by threshold ({threshold})"
    parts = [part.partition(":")[0] for part in model.choices_["model"].split("; ")]
    possible = {"linear", "ridge"} if form is wide else {"forest", "ridge", "network"}
    assert set(parts) <= possible
    if effort == "quick":
        assert parts == (["ridge"] if form is wide else ["forest", "ridge"])
    assert model.choices_["effort"] == effort
    tried = {"linear" if form is wide else "forest", "ridge"}
    assert (tried <= set(model.scores_)) == (effort == "balanced")
    kind = "sparse" if form is wide else "dense"
    assert model.choices_["features"].startswith(f"{X.shape[1]:,} {kind} features")
    if form is sp.csr_matrix:
        dense, _ = zoo()
        again = clone(model).fit(dense, y)
        np.testing.assert_allclose(
            model.predict_node_proba(X), again.predict_node_proba(dense), atol=1e-6
        )
        assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == model.predict(X).tolist()


def test_a_dag_with_one_label_per_row():
    X, y = zoo()
    for hierarchy in (DAG, EDGES):
        model = HierarchicalClassifier(hierarchy=hierarchy, **QUICK).fit(X, [row[0] for row in y])
        assert not model.hierarchy_.is_tree
        assert set(model.predict(X)) <= set(DAG.labels)


@pytest.mark.parametrize("kind", ["dense", "sparse", "frame"])
def test_indicators(kind):
    X, y = zoo()
    wanted = DAG.indicator(y)
    given = {
        "dense": lambda: wanted.toarray().astype(bool),
        "sparse": lambda: sp.csr_matrix(wanted),
        "frame": lambda: pandas.DataFrame(
            wanted.toarray()[:, 1:].astype(bool), columns=DAG.labels[1:]
        ),
    }[kind]()
    model = HierarchicalClassifier(hierarchy=DAG, multi_label=True, **QUICK).fit(X, given)
    assert model.predict(X).shape == given.shape
    assert model.score(X, given) > 0.9


def test_a_given_classifier_for_sets():
    X, y = zoo()
    model = HierarchicalClassifier(GaussianNB(), hierarchy=DAG, multi_label=True, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.9
    assert model.choices_["model"] == "local: the given classifier per node"


def test_what_is_about_paths_is_refused_for_sets():
    X, y = zoo()
    single = [row[0] for row in y]
    for params, labels in (({"multi_label": True}, y), ({"hierarchy": EDGES}, single)):
        for optimize in ("path", "accuracy", f1):
            model = HierarchicalClassifier(optimize=optimize, **params)
            with pytest.raises(
                ValueError, match="is for whole paths, but here predictions are sets"
            ):
                model.fit(X, labels)
    model = HierarchicalClassifier(optimize="f1", multi_label=True, **QUICK).fit(X, y)
    with pytest.raises(ValueError, match=r"optimize='path' is for whole paths.*or 'f1'"):
        model.set_params(optimize="path").predict(X)
    model.set_params(optimize=None, min_confidence=0.5)
    with pytest.raises(ValueError, match=r"min_confidence=0.5 is for one path .*; use threshold"):
        model.predict(X)


# -- rows of all kinds -------------------------------------------------------------------------

TABLES = {
    "pandas": lambda frame: frame,
    "polars": polars.from_pandas,
    "pyarrow": pyarrow.Table.from_pandas,
    "dicts": lambda frame: frame.to_dict("records"),
    "rows": lambda frame: frame.to_numpy(dtype=object),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_all_libraries(table, name):
    frame, y = table
    rows = TABLES[name](frame)
    model = HierarchicalClassifier(random_state=0).fit(rows, y)
    assert model.score(rows, y) == 1.0
    assert model.choices_["features"].endswith(
        "sparse features of categories, dates, numbers, text"
    )
    assert model.n_features_in_ == 4
    if name != "rows":
        assert model.feature_names_in_.tolist() == list(frame.columns)
    else:
        assert not hasattr(model, "feature_names_in_")


def test_columns_are_found_by_name(table):
    frame, y = table
    model = HierarchicalClassifier(**QUICK).fit(frame, y)
    expected = model.predict_node_proba(frame)
    turned = frame[frame.columns[::-1]]
    np.testing.assert_array_equal(model.predict_node_proba(turned), expected)
    np.testing.assert_array_equal(model.predict_node_proba(polars.from_pandas(turned)), expected)
    with pytest.raises(ValueError, match="X lacks the column 'amount' and 2 more"):
        model.predict(frame[["text"]])
    with pytest.raises(ValueError, match="X has the column 'new', which was not there in fit"):
        model.predict(frame.assign(new=1))
    with pytest.raises(ValueError, match=r"^X is texts.*, but X of fit was a table"):
        model.predict(frame["text"].fillna("").tolist())


def test_a_table_without_texts_is_dense_where_that_is_small(table, monkeypatch):
    frame, y = table
    frame = frame.drop(columns="text")
    assert "dense" in HierarchicalClassifier(**QUICK).fit(frame, y).choices_["features"]
    many = frame.assign(many=[f"k{i // 2}" for i in range(40)])
    model = HierarchicalClassifier(**QUICK).fit(many, y)
    assert "dense" in model.choices_["features"]
    after = make_pipeline(TableFeatures(), HierarchicalClassifier(**QUICK)).fit(many, y)
    assert type(after[-1].model_) is type(model.model_)  # before or inside makes no difference
    monkeypatch.setattr("hiclass._automatic.features._MOST_DENSE", 10)
    # Rows to predict are few: what counts is what fit has seen.
    assert model.predict(many[:3]).shape == (3, 2)
    model.fit(many, y)
    assert "sparse" in model.choices_["features"]
    assert model.predict(many[:1]).shape == (1, 2)


@pytest.mark.parametrize(
    "form",
    [list, pandas.Series, polars.Series, lambda texts: np.array(texts, dtype=object)],
    ids=["list", "pandas", "polars", "array"],
)
def test_texts(table, form):
    frame, y = table
    texts = frame["text"].fillna("").tolist()
    model = HierarchicalClassifier(**QUICK).fit(form(texts), y)
    assert model.predict(["my car"]).tolist() == [["Loan", "Car"]]
    assert not hasattr(model, "n_features_in_")
    assert model.choices_["features"].endswith("sparse features of text")


def test_missing_numbers_are_filled_in(noisy):
    X, y = noisy
    gaps = np.where(X > 2.5, np.nan, X)
    model = HierarchicalClassifier(**QUICK).fit(gaps, y)
    assert model.n_features_in_ == 4
    assert model.score(gaps, y) > 0.9
    assert int(model.choices_["features"].split()[0]) > 4  # what was missing is a feature, too
    with pytest.raises(ValueError, match="contains infinity"):
        model.predict(np.full((1, 4), np.inf))
    with pytest.raises(ValueError, match=r"Column 0 of X has numbers as large as .*e\+200"):
        HierarchicalClassifier(**QUICK).fit(1e200 * X, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_matrix])
def test_sparse_rows_of_all_kinds(noisy, dtype, kind):
    X, y = noisy
    rows = kind((3 * np.abs(X)).astype(dtype))
    model = HierarchicalClassifier(MultinomialNB(), **QUICK).fit(rows, y)
    dense = HierarchicalClassifier(MultinomialNB(), **QUICK).fit(rows.toarray(), y)
    np.testing.assert_allclose(
        model.predict_node_proba(rows), dense.predict_node_proba(rows.toarray()), rtol=1e-5
    )


def test_sparse_rows_with_long_indices(noisy):
    X, y = noisy
    rows = sp.csr_matrix(X.astype(np.float32))
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    model = HierarchicalClassifier(random_state=0).fit(rows, y)
    short = HierarchicalClassifier(random_state=0).fit(sp.csr_matrix(X.astype(np.float32)), y)
    np.testing.assert_array_equal(model.predict_node_proba(rows), short.predict_node_proba(rows))
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(sp.csr_matrix([[np.nan, 0, 0, 0]]))


def test_rows_of_another_container_than_in_fit(noisy):
    X, y = noisy
    for units in (1, [1, 1000, 1, 0.001]):
        rows = X * units
        model = HierarchicalClassifier(**QUICK).fit(rows, y)
        for other in (sp.csr_matrix(rows), pandas.DataFrame(rows), rows.tolist()):
            np.testing.assert_allclose(
                model.predict_node_proba(other), model.predict_node_proba(rows), atol=1e-12
            )
    model = HierarchicalClassifier(**QUICK).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(
        model.predict_node_proba(X), model.predict_node_proba(sp.csr_matrix(X)), atol=1e-12
    )
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(np.full((1, 4), np.nan))
    batches = HierarchicalClassifier(SGDClassifier(), **QUICK).partial_fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        batches.predict(np.full((1, 4), np.nan))


def test_other_rows_than_in_fit_are_refused(noisy, quick):
    X, _ = noisy
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        quick.predict(X[:, :3])
    for bad, message in (
        (X[:0], "0 sample"),
        (X[0], "Expected 2D array"),
        (X[None], "dim 3"),
        ("one text", "X is a single text"),
        (polars.LazyFrame({"a": [1, 2]}), "X is a polars LazyFrame, .* Pass X.collect"),
        ({"a": [1.0]}, "which is not a sequence of rows"),
        (iter(X), "X is a .*, which does not contain rows of cells"),
        (["one text", "another"], "^X is texts.*, but X of fit was a matrix of numbers"),
        ([{"a": "one"}], "is not a number"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            quick.predict(bad)
    with pytest.raises(NotFittedError):
        HierarchicalClassifier().predict(X)


def test_a_row_is_predicted_alone_as_among_others(noisy, balanced):
    X, _ = noisy
    whole = balanced.predict_node_proba(X)
    alone = np.vstack([balanced.predict_node_proba(X[i : i + 1]) for i in range(0, 60, 7)])
    np.testing.assert_allclose(alone, whole[::7], atol=1e-12)
    turned = balanced.predict_node_proba(X[::-1])[::-1]
    np.testing.assert_allclose(turned, whole, atol=1e-12)


# -- after fit ---------------------------------------------------------------------------------


def test_probabilities_paths_and_confidences_belong_together(noisy, balanced):
    X, y = noisy
    paths, proba = balanced.predict_paths(X, k=6)
    np.testing.assert_array_equal(paths[:, 0], balanced.predict(X))
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(balanced.predict_confidence(X)[:, 1], proba[:, 0])
    levels = balanced.predict_proba(X)
    assert [level.shape for level in levels] == [(60, 3), (60, 6)]
    for level in levels:
        np.testing.assert_allclose(level.sum(axis=1), 1)
    assert balanced.score(X, y) == f1(y, balanced.predict(X))
    weights = np.arange(1, 61)
    assert balanced.score(X, y, weights) == f1(y, balanced.predict(X), sample_weight=weights)


def test_restricted_to_some_classes(noisy, balanced):
    X, _ = noisy
    model = balanced.restricted_to([("a",), ("b", "b1")])
    assert {tuple(path) for path in model.predict(X)} <= {("a", "a1"), ("a", "a2"), ("b", "b1")}
    assert set(balanced.predict(X)[:, 0]) == {"a", "b", "c"}
    with pytest.raises(ValueError, match="The hierarchy has no class 'z'"):
        balanced.restricted_to([("z",)])


def test_adapted_to_other_shares(noisy, balanced):
    X, y = noisy
    rows = X[y[:, 0] == "a"]
    adapted = balanced.adapted_to(rows)
    assert (
        adapted.predict_node_proba(rows)[:, 1].sum()
        >= balanced.predict_node_proba(rows)[:, 1].sum()
    )
    assert type(adapted) is HierarchicalClassifier


# -- the same again ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_the_same_rows_and_seed_give_the_same_model(noisy, form):
    X, y = form(noisy[0]), noisy[1]
    first, again, two = (
        HierarchicalClassifier(random_state=3, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (None, None, 2)
    )
    assert first.choices_ == again.choices_ == two.choices_
    assert first.scores_ == again.scores_ == two.scores_
    for other in (again, two):
        np.testing.assert_array_equal(first.predict_node_proba(X), other.predict_node_proba(X))


def test_a_random_state_is_drawn_from(noisy):
    X, y = noisy
    for state in (np.random.RandomState(0), None, np.int64(3)):
        HierarchicalClassifier(SGDClassifier(), effort="quick", random_state=state).fit(X, y)


def test_a_failed_fit_leaves_nothing(noisy):
    X, y = noisy
    model = HierarchicalClassifier(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match="rows"):
        model.fit(X, y[:5])
    assert [name for name in vars(model) if name.startswith("_") or name.endswith("_")] == []
    model.set_params(local_classifier=Fixed(0.5, 0.5)).fit(X, y[:, :1] == "a")
    model.set_params(local_classifier=LinearSVC(C=-1))
    with pytest.raises(ValueError, match="C"):
        model.fit(X, y)
    assert [name for name in vars(model) if name.startswith("_") or name.endswith("_")] == []


def test_fitting_again_forgets_the_first_fit(noisy, table):
    X, y = noisy
    model = HierarchicalClassifier(**QUICK).fit(*table).fit(X, y)
    assert model.n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_")
    sets, labels = zoo()
    model.set_params(multi_label=True, effort="balanced").fit(sets, labels)
    assert hasattr(model, "thresholds_")
    assert not hasattr(model, "expected_f1_")
    model.set_params(multi_label=False).fit(X, y)
    assert not hasattr(model, "thresholds_")


def test_what_becomes_of_the_rows_after_fit_changes_nothing(noisy):
    X, y = noisy[0].copy(), noisy[1].copy()
    model = HierarchicalClassifier(**QUICK).fit(X, y)
    expected = model.predict_node_proba(noisy[0])
    np.testing.assert_array_equal(X, noisy[0])
    X[:], y[:] = 0, "z"
    np.testing.assert_array_equal(model.predict_node_proba(noisy[0]), expected)


# -- batches -----------------------------------------------------------------------------------


def test_batches_need_a_given_classifier_that_learns_them(noisy):
    for given in (None, LinearSVC(), ByDepth(LinearSVC(), C=[1]), Centroids()):
        model = HierarchicalClassifier(given)
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError, match=r"requires a local_classifier with partial_"):
            model.partial_fit(*noisy)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_batches_are_learned_as_by_the_model_itself(noisy, form):
    X, y = np.abs(noisy[0]), noisy[1]
    model = HierarchicalClassifier(MultinomialNB(), random_state=0)
    same = LocalClassifierPerParentNode(MultinomialNB(), decoding="best_path", random_state=0)
    for part in (slice(0, 20), slice(20, 60)):
        assert model.partial_fit(form(X[part]), y[part], classes=y) is model
        same.partial_fit(form(X[part]), y[part], classes=y)
    np.testing.assert_array_equal(
        model.predict_node_proba(form(X)), same.predict_node_proba(form(X))
    )
    np.testing.assert_array_equal(model.predict(form(X)), same.predict(form(X)))
    assert model.choices_["model"].endswith("learned in batches")
    assert (model.n_features_in_, model.scores_) == (4, {})
    model.set_params(optimize="f1").predict(form(X))
    with pytest.raises(ValueError, match="X has 2 features"):
        model.partial_fit(form(X[:, :2]), y)


def test_weights_and_names_of_columns_in_batches(noisy):
    X, y = noisy
    frame = pandas.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="Batches must be matrices of numbers"):
        HierarchicalClassifier(GaussianNB()).partial_fit(frame, y)
    model = HierarchicalClassifier(GaussianNB(), random_state=0)
    model.partial_fit(X, y, sample_weight=np.ones(60))
    assert model.score(X, y) > 0.8
    only_scores = HierarchicalClassifier(SGDClassifier(), random_state=0).partial_fit(X, y)
    assert only_scores.decoding == "top_down"


def test_a_first_batch_that_fails_leaves_nothing(noisy):
    X, y = noisy
    model = HierarchicalClassifier(GaussianNB())
    for bad in (
        (X, y[:5]),
        (["one text", "another"], ["a", "b"]),
        (np.full((2, 2), np.nan), y[:2]),
    ):
        with pytest.raises(ValueError, match=r"."):
            model.partial_fit(*bad)
        assert [name for name in vars(model) if name.endswith("_")] == []


def test_batches_after_fit(noisy):
    X, y = noisy
    model = HierarchicalClassifier(GaussianNB(), **QUICK).fit(X, y).partial_fit(X[:5], y[:5])
    assert model.score(X, y) > 0.8
    restricted = model.restricted_to([("a",)])
    with pytest.raises(ValueError, match="restricted to some classes cannot be updated"):
        restricted.partial_fit(X, y)
    for effort in ("balanced", "best"):
        model = HierarchicalClassifier(GaussianNB(), effort=effort, random_state=0).fit(X, y)
        with pytest.raises(ValueError, match=r"fit has chosen a model that cannot learn more rows"):
            model.partial_fit(X, y)


def test_sets_are_selected_by_the_thresholds_that_were_tuned():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 120)
    X = np.eye(3)[kind] + rng.normal(scale=0.6, size=(120, 3))
    y = [[["a"], ["b"], ["a", "c"]][k] for k in kind]
    model = HierarchicalClassifier(multi_label=True, random_state=0).fit(X, y)
    assert model.threshold is None
    assert model.model_.threshold == "tuned"
    closed = model.predict_node_proba(X) >= model.thresholds_
    sizes = [len(labels) for labels in model.predict(X)]
    assert sizes == closed[:, 1:].sum(axis=1).tolist()


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("effort", ["quick", "balanced"])
def test_the_configured_output_of_transformers_changes_nothing(noisy, output, effort):
    X, y = noisy
    table = pandas.DataFrame({"a": X[:, 0], "b": 100 * X[:, 1], "c": y[:, 0]})
    texts = [f"{a} of {b} said so" for a, b in y]
    model = HierarchicalClassifier(effort=effort, random_state=0)
    for rows in (table, texts, 100 * X * [1, 2, 30, 400]):
        wanted = clone(model).fit(rows, y).predict_node_proba(rows)
        with sklearn.config_context(transform_output=output):
            found = clone(model).fit(rows, y).predict_node_proba(rows)
        np.testing.assert_array_equal(found, wanted)
    sets = [list(path) for path in y.tolist()]
    several = clone(model).set_params(multi_label=True, effort="quick")
    wanted = clone(several).fit(table, sets).predict_node_proba(table)
    with sklearn.config_context(transform_output=output):
        found = clone(several).fit(table, sets).predict_node_proba(table)
    np.testing.assert_array_equal(found, wanted)


def test_columns_that_are_left_out_are_told_with_their_reasons(noisy):
    X, y = noisy
    table = pandas.DataFrame(X, columns=list("abcd"))
    model = HierarchicalClassifier(**QUICK).fit(table, y)
    assert "left out" not in model.choices_
    table["e"] = np.arange(60)
    model.fit(table.assign(f=1), y)
    assert model.choices_["left out"] == "e: it numbers the rows; f: the same value in every row"
    wide = table.assign(**{f"f{j}": 1 for j in range(30)})
    told = model.fit(wide, y).choices_["left out"]
    assert told.startswith("e: it numbers the rows; f0: the same")
    assert told.endswith("in every row; and 21 more columns, in features_.left_out_")
