"""Words of classes together with what learns from rows."""

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import hiclass
from hiclass import (
    ClassTextClassifier,
    EnsembleClassifier,
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerParentNode,
)
from hiclass._estimators import ensemble_texts
from hiclass._inference.paths import final_proba
from hiclass._out_of_fold import words_and_rows
from hiclass._problems.index import RowCounts, find_options

WORDS = {
    "cat": "purr meow feline whiskers",
    "dog": "bark wolf canine fetch",
    "cow": "moo milk cattle udder",
    "fern": "frond spore moss green",
    "oak": "trunk acorn leaf bark2",
    "rose": "thorn petal scent red",
}
PATHS = {name: ["animal" if name in ("cat", "dog", "cow") else "plant", name] for name in WORDS}
TREE = Hierarchy.from_paths(
    list(PATHS.values()), texts={tuple(PATHS[n]): [n, words] for n, words in WORDS.items()}
)


def sample(names, n, seed=0):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for name in names:
        for _ in range(n):
            X.append(" ".join(rng.choice(WORDS[name].split(), 2, replace=False)) + " thing")
            y.append(PATHS[name])
    return X, y


def flat():
    return FlatClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)))


SEEN = ["cat", "dog", "cow", "fern", "oak"]


@pytest.fixture(scope="module")
def model():
    return EnsembleClassifier([("flat", flat())], class_texts=TREE).fit(*sample(SEEN, 8))


def test_a_class_without_rows_is_predicted(model):
    assert model.predict(["a petal and a thorn", "moo moo"])[:, 1].tolist() == ["rose", "cow"]
    assert model.classes_[1].tolist() == sorted(WORDS)
    proba = model.predict_node_proba(["petal", "purr"])
    np.testing.assert_allclose(proba[:, TREE.leaves()].sum(axis=1), 1)


def test_the_models_and_their_weights_have_names(model):
    assert list(model.named_models_) == ["flat", "class_texts"]
    assert model.class_weights_.shape == (2, 6)
    np.testing.assert_allclose(model.weights_, model.class_weights_.mean(axis=1))
    assert (model.class_weights_ >= 0).all()
    rose = TREE.find("rose")
    column = model._models.options.ends.tolist().index(rose)
    others = np.delete(np.arange(6), column)
    # Classes with equal numbers of rows, and of siblings' rows, have equal weights.
    assert np.ptp(model.class_weights_[:, others[:3]], axis=1).max() < 1e-12
    assert not np.allclose(model.class_weights_[:, column], model.class_weights_[:, others[0]])


def test_the_weights_follow_from_parameters_and_counts(model):
    members = model._models.members
    logs = np.stack([np.log(np.maximum(final_proba(m, ["petal"]), 1e-9)) for m in members])
    # What similarities are worth is learned together with the weight of the other model.
    assert (model.class_weights_[1] == 1).all()
    scores = (logs * model.class_weights_[:, None]).sum(axis=0) + model._models.class_bias
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = model.predict_node_proba(["petal"])[:, TREE.leaves()]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_without_rows_and_with_one_row_per_class():
    none = EnsembleClassifier([("flat", flat())], class_texts=TREE).fit(None, None)
    one = clone(none).fit(*sample(SEEN, 1))
    for fitted in (none, one):
        found = fitted.predict(list(WORDS.values()))
        assert found[:, 1].tolist() == list(WORDS)


def test_a_model_by_words_may_be_among_the_models():
    words = ClassTextClassifier(TfidfVectorizer(), hierarchy=TREE)
    both = EnsembleClassifier([("flat", flat()), ("words", words)]).fit(*sample(SEEN, 4))
    assert list(both.named_models_) == ["flat", "words"]
    assert both.predict(["petal thorn"])[0, 1] == "rose"
    mapping = {tuple(PATHS[n]): words for n, words in WORDS.items()}
    words = ClassTextClassifier(class_texts=mapping)
    both = EnsembleClassifier([("words", words), ("flat", flat())]).fit(*sample(SEEN, 4))
    assert both.predict(["petal thorn"])[0, 1] == "rose"


def test_local_models_weights_groups_and_the_f_score():
    X, y = sample(SEEN, 8)
    local = LocalClassifierPerParentNode(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    ensemble = EnsembleClassifier(
        [("local", local)], class_texts=TREE, decoding="expected_f1", weights="learned"
    )
    ensemble.fit(X, y, groups=np.arange(len(X)) % 5)
    assert 0 < ensemble.expected_f1_ <= 1
    assert ensemble.predict(["moo"])[0, 0] == "animal"
    assert clone(ensemble).fit(None, None).expected_f1_ == 0.5
    weighted = EnsembleClassifier([("flat", _weighted())], class_texts=TREE)
    assert weighted.fit(X, y, np.ones(len(X))).predict(["petal"])[0, 1] == "rose"


def _weighted():
    return FlatClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()))


def test_weights_may_be_given():
    ensemble = EnsembleClassifier([("flat", flat())], class_texts=TREE, weights=[1, 3])
    ensemble.fit(*sample(SEEN, 3))
    assert ensemble.weights_.tolist() == [0.25, 0.75]
    assert not hasattr(ensemble, "class_weights_")
    with pytest.raises(ValueError, match="weights must be 2 numbers"):
        EnsembleClassifier([("flat", flat())], class_texts=TREE, weights=[1]).fit([], [])


@pytest.mark.parametrize(
    ("parameters", "params", "message"),
    [
        ({"voting": "mean"}, {}, "require voting='product'"),
        ({}, {"extra": 1}, "but not 'extra'"),
        ({"models": [("sets", FlatClassifier(multi_label=True))]}, {}, "one path per row"),
    ],
)
def test_what_does_not_go_together_is_an_error(parameters, params, message):
    given = {"models": [("flat", flat())], "class_texts": TREE, **parameters}
    with pytest.raises(ValueError, match=message):
        EnsembleClassifier(**given).fit(*sample(SEEN, 2), **params)


def test_numbers_are_refused():
    with pytest.raises((TypeError, ValueError), match="X"):
        EnsembleClassifier([("flat", flat())], class_texts=TREE).fit(
            np.ones((2, 3)), ["cat", "dog"]
        )


def test_files_hold_texts_once_and_predict_as_before(model, tmp_path):
    mapping = {tuple(PATHS[n]): words for n, words in WORDS.items()}
    fitted = clone(model).set_params(class_texts=mapping).fit(*sample(SEEN, 4))
    skops.io.dump(fitted, tmp_path / "model.skops")
    again = hiclass.load(tmp_path / "model.skops")
    X = list(WORDS.values())
    np.testing.assert_allclose(again.predict_node_proba(X), fitted.predict_node_proba(X), atol=1e-6)
    assert again.class_texts == {name: [words] for name, words in mapping.items()}


def test_an_ensemble_with_words_is_fitted_on_other_rows(model):
    X, y = sample(["cat", "dog"], 3)
    part = model._refit(X, y, model.hierarchy_, {})
    assert part.class_weights is not None
    assert part.hierarchy == model.hierarchy_


def test_weights_are_learned_from_some_classes_where_there_are_many_rows(monkeypatch):
    monkeypatch.setattr(ensemble_texts, "_ENOUGH_ROWS", 10)
    monkeypatch.setattr(ensemble_texts, "_ENOUGH_CLASSES", 2)
    fitted = []

    def refit(self, X, y, tree, params):
        fitted.append({path[1] for path in y})
        return kept(self, X, y, tree, params)

    kept = FlatClassifier._refit
    monkeypatch.setattr(FlatClassifier, "_refit", refit)
    X, y = sample(SEEN, 8)
    some = EnsembleClassifier([("flat", flat())], class_texts=TREE).fit(X, y)
    # Whole groups of siblings, their texts among the rows, and no others.
    assert all(classes <= {"cat", "dog", "cow"} for classes in fitted)
    assert fitted
    assert some.predict(["petal thorn", "moo", "acorn"])[:, 1].tolist() == ["rose", "cow", "oak"]
    fitted.clear()
    # The F-score is that of all classes.
    EnsembleClassifier([("flat", flat())], class_texts=TREE, decoding="expected_f1").fit(X, y)
    assert all("rose" in classes for classes in fitted)
    fitted.clear()
    clone(some).fit(X, y, groups=np.arange(len(X)) % 4)
    assert all("rose" in classes for classes in fitted)


def test_classes_that_weights_are_learned_from_may_have_no_texts(monkeypatch):
    monkeypatch.setattr(ensemble_texts, "_ENOUGH_ROWS", 4)
    monkeypatch.setattr(ensemble_texts, "_ENOUGH_CLASSES", 1)
    X, y = sample(list(WORDS), 4)
    held = []

    def hold_rows(joint, *args):
        held.append(len(joint.members[1].text_nodes))
        return words_and_rows_hold(joint, *args)

    words_and_rows_hold = words_and_rows.hold_rows
    monkeypatch.setattr(words_and_rows, "hold_rows", hold_rows)
    for name in ("cat", "rose"):  # of the two parents, one is learned from
        texts = {tuple(PATHS[name]): WORDS[name]}
        fitted = EnsembleClassifier([("flat", flat())], class_texts=texts).fit(X, y)
        assert fitted.predict(X).tolist() == y
    assert 0 in held


def test_a_fold_compares_with_the_texts_of_its_classes_and_of_those_above():
    texts = {("animal",): "beasts", **{tuple(PATHS[n]): [n, words] for n, words in WORDS.items()}}
    fitted = ClassTextClassifier(class_texts=texts).fit(*sample(SEEN, 2))
    models = fitted._models
    cats = np.array([TREE.find("cat")])
    counts = RowCounts(models.hierarchy, np.bincount(cats, minlength=TREE.n_nodes))
    part = ensemble_texts._without(models, np.arange(4), find_options(counts, leaf_only=False))
    shown = {models.hierarchy.labels[v] for v in part.text_nodes.tolist()}
    assert shown == {"animal", "cat"}
    assert part.texts.shape[0] == 3
    assert sorted(part.row_numbers.tolist()) == [0, 1, 2, 3]


def test_classes_of_one_row_are_learned_from_as_if_they_had_none(monkeypatch):
    monkeypatch.setattr(ensemble_texts, "_ENOUGH_ROWS", 2)
    monkeypatch.setattr(ensemble_texts, "_ENOUGH_CLASSES", 2)
    held = []

    def hold_rows(joint, mixture, X, vectors, nodes, rows, weights, rest):
        held.append((len(joint.options.ends), len(rows), len(rest)))
        return kept(joint, mixture, X, vectors, nodes, rows, weights, rest)

    kept = words_and_rows.hold_rows
    monkeypatch.setattr(words_and_rows, "hold_rows", hold_rows)
    EnsembleClassifier([("flat", flat())], class_texts=TREE).fit(*sample(SEEN, 1))
    # The last are the three rows of a part of the classes, by models that know none of them.
    assert held[-1] == (3, 3, 0)


def test_texts_without_words_are_an_error_of_texts():
    texts = {("a", "x"): "?!", ("b", "y"): ".."}
    with pytest.raises(ValueError, match="No text has a letter or a digit"):
        EnsembleClassifier([("flat", flat())], class_texts=texts).fit(["!", "-"], list(texts))


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("rows", [["a", "ax"], ["a", "b", "b"], ["ax", "axd", "b", "ax", "axd"]])
def test_folds_of_all_models_have_the_same_final_classes(local, rows, monkeypatch):
    # An inner class has texts and, in some folds, no rows; some classes are deeper than all rows.
    paths = {"a": ["a"], "ax": ["a", "x"], "axd": ["a", "x", "d"], "ay": ["a", "y"], "b": ["b"]}
    tree = Hierarchy.from_paths(list(paths.values()))
    tree = tree.with_texts({tuple(path): f"text {name}" for name, path in paths.items()})
    seen = []

    def refit(*args):
        joint = kept(*args)
        seen.extend(m.options.ends.tolist() == joint.options.ends.tolist() for m in joint.members)
        return joint

    kept = ensemble_texts._refit
    monkeypatch.setattr(ensemble_texts, "_refit", refit)
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    member = (LocalClassifierPerParentNode if local else FlatClassifier)(learner)
    ensemble = EnsembleClassifier([("rows", member)], class_texts=tree)
    ensemble.fit([f"row {name}" for name in rows], [paths[name] for name in rows])
    assert seen
    assert all(seen)
    assert ensemble.predict(["text axd"]).tolist() == [["a", "x", "d"]]


def test_the_order_of_rows_does_not_matter():
    X, y = sample(SEEN, 8)
    order = np.random.default_rng(1).permutation(len(X))
    one, two = (
        EnsembleClassifier([("flat", flat())], class_texts=TREE).fit(
            [X[i] for i in some], [y[i] for i in some]
        )
        for some in (range(len(X)), order)
    )
    # What is left is how exactly the logistic regression is solved.
    np.testing.assert_allclose(two.predict_node_proba(X), one.predict_node_proba(X), atol=2e-4)


def test_rows_with_equal_texts_are_counted_in_all_classes():
    rows, nodes = ["A b", "a  B", "c", "d", "e"], np.array([1, 2, 1, 2, 2])
    texts, of_texts = ["C", "d", "D", "f"], np.array([1, 2, 1, 1])
    # "a b" belongs to two classes; "c" and "d" are texts of their class, too; "e" is alone.
    found = words_and_rows.count_equal(rows, nodes, np.ones(5), texts, of_texts)
    assert found == (4.0, 2.0)
    weights = np.array([2.0, 2.0, 2.0, 4.0, 0.0])  # on average 2
    assert words_and_rows.count_equal(rows, nodes, weights, texts, of_texts) == (5.0, 3.0)


def test_rows_of_one_group_are_not_counted_as_equal():
    rows, nodes, groups = ["a", "a", "b", "b", "c"], np.array([1, 1, 1, 1, 2]), [0, 0, 0, 1, 1]
    texts, of_texts = ["c", "d"], np.array([2, 2])
    given = rows, nodes, np.ones(5), texts, of_texts
    assert words_and_rows.count_equal(*given, np.array(groups)) == (3.0, 3.0)
    assert words_and_rows.count_equal(*given) == (5.0, 5.0)


def test_equal_rows_of_one_group_do_not_make_equal_texts_worth_more(monkeypatch):
    seen = []
    count = words_and_rows.count_equal

    def counted(*given):
        seen.append(count(*given))
        return seen[-1]

    monkeypatch.setattr(ensemble_texts, "count_equal", counted)
    X, y = sample(SEEN, 6)
    X = [f"{x} {i // 2}" for i, x in enumerate(X)]
    X[1::2] = X[::2]  # every row twice, in one group
    EnsembleClassifier([("flat", flat())], class_texts=TREE).fit(
        X, y, groups=np.arange(len(X)) // 2
    )
    assert seen == [(0.0, 0.0)]


def test_the_order_of_equal_rows_with_different_weights_does_not_matter(monkeypatch):
    X, y = sample(SEEN, 6)
    X, y, weights = X * 3, y * 3, np.repeat([5.0, 1.0, 2.0], len(X))
    order = np.random.default_rng(1).permutation(len(X))
    found = []
    refit = ensemble_texts._refit

    def seen(fitted, rows, joint, some, *more):
        found.append([(rows.X[i], rows.nodes[i], rows.weights[i]) for i in some])
        return refit(fitted, rows, joint, some, *more)

    monkeypatch.setattr(ensemble_texts, "_refit", seen)
    for some in (range(len(X)), order):
        EnsembleClassifier([("flat", _weighted())], class_texts=TREE).fit(
            [X[i] for i in some], [y[i] for i in some], weights[some]
        )
    half = len(found) // 2
    assert half
    assert found[:half] == found[half:]
