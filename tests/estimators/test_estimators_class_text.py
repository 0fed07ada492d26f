"""A classifier by the words of classes: with rows, with few, and with none."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import hiclass
from hiclass import ClassTextClassifier, Hierarchy
from hiclass._inference.class_texts import Profiles, as_vectors, factors_of, profiles_of
from hiclass._inference.mixing import sum_scores

TEXTS = {
    ("Animal",): "animals and beasts",
    ("Animal", "Cat"): ["cats", "small felines that purr"],
    ("Animal", "Dog"): ["dogs", "wolves and their relatives that bark"],
    ("Plant", "Fern"): ["ferns", "green plants with fronds and spores"],
    ("Plant", "Tree"): "trees with trunks and leaves",
}
X = ["my cat purrs", "a barking dog", "fronds with spores", "the trunk of an oak", "a feline"] * 3
Y = [["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Fern"], ["Plant", "Tree"], ["Animal", "Cat"]]
Y = Y * 3


@pytest.fixture
def zero_shot():
    return ClassTextClassifier(class_texts=TEXTS).fit(None, None)


@pytest.fixture
def model():
    return ClassTextClassifier(class_texts=TEXTS).fit(X, Y)


def test_without_rows_words_decide(zero_shot):
    found = zero_shot.predict(["something that purrs", "wolves", "spores", "leaves of trees"])
    assert found[:, 1].tolist() == ["Cat", "Dog", "Fern", "Tree"]
    assert zero_shot.fit().predict(["spores"]).tolist() == [["Plant", "Fern"]]


def test_probabilities_are_coherent_and_do_not_depend_on_other_rows(zero_shot, model):
    for fitted in (zero_shot, model):
        rows = ["purring wolves", "spores and leaves", "nothing known", ""]
        proba = fitted.predict_node_proba(rows)
        tree = fitted.hierarchy_
        np.testing.assert_allclose(proba[:, tree.children(0)].sum(axis=1), 1)
        for v in tree.children(0).tolist():
            below = proba[:, tree.children(v)].sum(axis=1)
            np.testing.assert_allclose(below, proba[:, v], atol=1e-12)
        alone = np.vstack([fitted.predict_node_proba([row]) for row in rows])
        np.testing.assert_allclose(alone, proba, atol=1e-6)
        paths, found = fitted.predict_paths(rows, k=9)
        assert paths.shape == (4, 9, 2)
        np.testing.assert_allclose(found.sum(axis=1), 1)


def test_the_texts_above_a_class_tell_its_branch():
    texts = {
        ("a",): "vehicles on roads",
        ("b",): "ships at sea",
        ("a", "x"): "maintenance of roads",
        ("a", "y"): "other",
        ("b", "z"): "other",
    }
    model = ClassTextClassifier(class_texts=texts).fit()
    assert model.predict(["other sea", "other roads"]).tolist() == [["b", "z"], ["a", "y"]]


def test_rows_add_words_that_texts_do_not_have(zero_shot, model):
    assert model.predict(["an oak"])[0].tolist() == ["Plant", "Tree"]
    assert model.predict_confidence(["an oak"])[0, 1] > 1 / 4


def test_classes_without_rows_are_predicted_and_in_classes(model):
    rows = [(x, y) for x, y in zip(X, Y, strict=True) if y[1] != "Dog"]
    some = ClassTextClassifier(class_texts=TEXTS).fit(*map(list, zip(*rows, strict=True)))
    assert some.predict(["wolves that bark"]).tolist() == [["Animal", "Dog"]]
    assert some.classes_[1].tolist() == ["Cat", "Dog", "Fern", "Tree"]
    assert some.hierarchy_ == model.hierarchy_


def test_rows_of_classes_without_texts_are_learned():
    model = ClassTextClassifier(class_texts={"Cat": "cats"})
    model.fit(["purr cats", "bark", "bark loud", "wuff bark"], ["Cat", "Dog", "Dog", "Dog"])
    assert model.predict(["bark", "cats"]).tolist() == ["Dog", "Cat"]


def test_labels_without_rows_come_back_as_they_are():
    model = ClassTextClassifier(class_texts={1: "one apple", 2: "two pears"}).fit()
    assert model.predict(["pears"]).tolist() == [2]
    tree = Hierarchy.from_dict({"a": ["b", "c"]}, texts={"b": "bees", "c": "cows"})
    assert ClassTextClassifier(hierarchy=tree).fit().predict(["cows"]).tolist() == ["c"]
    ragged = ClassTextClassifier(class_texts={("a", "b"): "bees", ("c",): "cows"}).fit()
    assert ragged.predict(["cows"]).tolist() == [["c", ""]]


def test_the_hierarchy_may_have_the_texts():
    tree = Hierarchy.from_paths([list(path) for path in TEXTS], texts=TEXTS)
    one = ClassTextClassifier(hierarchy=tree).fit(X, Y)
    two = ClassTextClassifier(class_texts=tree).fit(X, Y)
    three = ClassTextClassifier(hierarchy=tree.with_texts(None), class_texts=TEXTS).fit(X, Y)
    expected = one.predict_node_proba(X)
    for other in (two, three):
        np.testing.assert_array_equal(other.predict_node_proba(X), expected)


def test_labels_may_be_the_words():
    y = [["cats and felines"], ["dogs that bark"]]
    model = ClassTextClassifier(class_texts="labels").fit(["purr", "wuff"], y)
    assert model.predict(["felines"]).tolist() == [y[0]]


def test_a_class_above_is_final_where_nothing_below_is_known():
    tree = Hierarchy.from_paths([["a", "b"], ["c", "d"]], texts={"a": "apples", "c": "cows"})
    model = ClassTextClassifier(hierarchy=tree).fit()
    assert model.predict(["cows"]).tolist() == [["c", ""]]


def encode(texts):
    return np.array([[len(t), t.count("a") + 1.0, t.count("e")] for t in texts])


@pytest.mark.parametrize(
    "encoder",
    [
        TfidfVectorizer(),
        CountVectorizer(analyzer="char"),
        encode,
        type("E", (), {"encode": staticmethod(encode)})(),
    ],
    ids=["words", "characters", "function", "object"],
)
def test_encoders_of_all_kinds_serve(encoder):
    model = ClassTextClassifier(encoder, class_texts=TEXTS).fit(X, Y)
    assert model.predict(X).shape == (15, 2)


def test_with_an_encoder_rows_may_be_vectors():
    model = ClassTextClassifier(encode, class_texts=TEXTS)
    by_text = model.fit(X, Y).predict_node_proba(X)
    by_vector = clone(model).fit(encode(X), Y).predict_node_proba(encode(X))
    np.testing.assert_allclose(by_vector, by_text)


class Changing:
    """An encoder that does something wrong from the second call on."""

    def __init__(self, wrong):
        self.calls, self.wrong = 0, wrong

    def encode(self, texts):
        self.calls += 1
        return encode(texts) if self.calls == 1 else self.wrong(encode(texts))


def test_encoders_that_go_wrong_are_errors():
    def fitted(wrong):
        return ClassTextClassifier(Changing(wrong), class_texts=TEXTS).fit(X, Y)

    for wrong, message in (
        (lambda v: v * np.nan, "NaN for the text 'x'"),
        (lambda v: v[1:], r"0 vector\(s\) for 1 text"),
        (lambda v: np.hstack([v, v]), "6 numbers, but of 3 numbers before"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(wrong).predict(["x"])
        with pytest.raises(ValueError, match=message):
            fitted(wrong).partial_fit(["x"], Y[:1])

    def never_right(texts):
        return encode(texts)[1:]

    with pytest.raises(ValueError, match=r"vector\(s\) for"):
        ClassTextClassifier(never_right, class_texts=TEXTS).fit(X, Y)
    with pytest.raises(ValueError, match="NaN for the text 'animals and beasts'"):
        ClassTextClassifier(lambda t: encode(t) * np.nan, class_texts=TEXTS).fit()


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (np.ones((15, 3)), Y, TypeError, "X holds numbers, but the default encoder compares texts"),
        (X, None, ValueError, "X is given, but y is None"),
        (None, Y, ValueError, "y is given, but X is None"),
        (X[:3], Y, ValueError, "X has 3 rows but y has 15"),
        ("a text", [Y[0]] * 6, TypeError, "single text"),
        ([1, 2], Y[:2], TypeError, "Row 0 of X is 1"),
    ],
)
def test_bad_rows_are_errors(X, y, error, message):
    with pytest.raises(error, match=message):
        ClassTextClassifier(class_texts=TEXTS).fit(X, y)


def test_vectors_of_another_width_are_an_error(zero_shot):
    model = ClassTextClassifier(encode, class_texts=TEXTS)
    with pytest.raises(ValueError, match="X has 4 columns, but the encoder returns vectors of 3"):
        model.fit(np.ones((15, 4)), Y)
    with pytest.raises(TypeError, match="X holds numbers"):
        zero_shot.predict(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({}, None, "There are no class texts"),
        ({"hierarchy": {"a": ["b"]}}, None, "No class of the hierarchy has a text"),
        ({"class_texts": "labels"}, None, "there is no hierarchy and y is None"),
        ({"class_texts": {"Cta": "cats"}}, Y, "no class 'Cta'. The nearest is 'Cat'"),
        ({"class_texts": {"Cat": ""}}, None, "A text of 'Cat' is empty"),
        (
            {"class_texts": {("a", "b"): "x", ("a", "c"): "x"}},
            None,
            "a > b and a > c have the same text",
        ),
        (
            {"hierarchy": Hierarchy.from_edges([("a", "x"), ("b", "x")], texts={"x": "y"})},
            None,
            "for trees, but 'x' has several parents",
        ),
        (
            {
                "hierarchy": Hierarchy.from_paths(["a"]),
                "class_texts": Hierarchy.from_paths(["a"], texts={"a": "b"}),
            },
            None,
            "both hierarchies",
        ),
    ],
)
def test_bad_texts_are_errors(parameters, y, message):
    with pytest.raises(ValueError, match=message):
        ClassTextClassifier(**parameters).fit(None if y is None else X, y)


def test_batches_are_learned_one_after_the_other(model):
    batches = ClassTextClassifier(class_texts=TEXTS)
    batches.partial_fit(X[:10], Y[:10]).partial_fit(X[10:], Y[10:])
    assert batches.predict(X).tolist() == model.predict(X).tolist()
    # The first batch is all that the encoder knows, so that rows of a class have another order.
    assert sorted(batches._models.row_numbers.tolist()) == list(range(15))
    assert batches._models.row_nodes.tolist() == model._models.row_nodes.tolist()
    late = ClassTextClassifier(class_texts=TEXTS).fit().partial_fit(X, Y, np.ones(15))
    assert late.predict(["my cat purrs"]).tolist() == [["Animal", "Cat"]]
    with pytest.raises(ValueError, match="no class 'Cow'"):
        batches.partial_fit(["moo"], [["Animal", "Cow"]])


def test_a_later_batch_may_have_deeper_classes():
    tree = Hierarchy.from_paths([["a", "b", "c"], ["a", "d"], ["e", "f"]])
    tree = tree.with_texts({"d": "green pear", "f": "blue car"})
    model = ClassTextClassifier(hierarchy=tree)
    model.partial_fit(["green pear", "fast car"] * 2, [["a", "d"], ["e", "f"]] * 2)
    assert model.predict(["green pear"]).tolist() == [["a", "d"]]
    model.partial_fit(["violet pear"] * 3, [["a", "b", "c"]] * 3)
    found = [["a", "b", "c"], ["e", "f", ""]]
    assert model.predict(["violet pear", "blue car"]).tolist() == found


def test_weights_and_groups_are_taken(model):
    some = [0.0 if y[1] == "Cat" else 1.0 for y in Y]
    weighted = clone(model).fit(X, Y, some)
    assert not np.allclose(weighted._models.parameters, model._models.parameters)
    grouped = clone(model).fit(X, Y, groups=np.arange(15) // 5)
    assert grouped.predict(X[:1]).tolist() == [Y[0]]
    with pytest.raises(ValueError, match="must not be negative"):
        clone(model).fit(X, Y, [-1.0] * 15)


def test_explain_names_words_texts_and_rows(model):
    found = model.explain("a cat that purrs")
    assert found["path"] == ("Animal", "Cat")
    assert 0 < found["probability"] <= 1
    assert found["texts"][0][0] == "small felines that purr"
    assert {number for number, _ in found["rows"]} <= {0, 4, 5, 9, 10, 14}
    assert any("cat" in word for word, _ in found["words"])
    assert len(model.explain("a cat", k=1)["words"]) == 1
    with pytest.raises(TypeError, match="one text; got a list"):
        model.explain(["a"])
    dense = ClassTextClassifier(encode, class_texts=TEXTS).fit()
    assert set(dense.explain("cats")) == {"path", "probability", "texts", "rows"}


def test_models_are_decided_restricted_copied_and_saved(model, tmp_path):
    only = model.restricted_to([("Plant",)])
    assert set(only.predict(X)[:, 0]) == {"Plant"}
    unsure = clone(model).set_params(min_confidence=0.999).fit(X, Y)
    assert unsure.predict([""]).tolist() == [["", ""]]
    early = clone(model).set_params(decoding="expected_f1").fit(X, Y)
    assert early.predict(X[:1])[0, 0] == "Animal"
    model.predict(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_node_proba(X), model.predict_node_proba(X))
    skops.io.dump(model, tmp_path / "model.skops")
    loaded = hiclass.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_node_proba(X), model.predict_node_proba(X))
    assert "_profiles" not in model._models.__getstate__()


def test_texts_in_frames_and_arrays_are_rows(model):
    expected = model.predict(X).tolist()
    for rows in (np.array(X), pd.Series(X), pd.DataFrame({"text": X})):
        assert model.predict(rows).tolist() == expected


def test_probabilities_are_bounded_in_memory(monkeypatch, model):
    expected = model.predict_node_proba(X)
    monkeypatch.setattr("hiclass._inference.class_texts._NUMBERS_AT_A_TIME", 1)
    np.testing.assert_allclose(model.predict_node_proba(X), expected, atol=1e-12)


def test_tags_say_that_rows_are_texts():
    tags = ClassTextClassifier().__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        TEXTS,
        pd.DataFrame(
            {
                "one": ["Animal", "Animal", "Plant", "Plant"],
                "two": ["Cat", "Cat", "Fern", "Tree"],
                "text": ["cats", "felines", "ferns", "trees"],
            }
        ),
    ],
)
def test_parameters_survive_files(given, fitted, tmp_path):
    model = ClassTextClassifier(class_texts=given)
    if fitted:
        model.fit(None, None)
    skops.io.dump(model, tmp_path / "model.skops")
    loaded = skops.io.load(tmp_path / "model.skops", trusted=hiclass.TRUSTED_TYPES)
    texts = TEXTS
    if given is not TEXTS:
        texts = {
            ("Animal", "Cat"): ["cats", "felines"],
            ("Plant", "Fern"): ["ferns"],
            ("Plant", "Tree"): ["trees"],
        }
    expected = {name: [t] if isinstance(t, str) else t for name, t in texts.items()}
    for again in (loaded, pickle.loads(pickle.dumps(model))):
        assert again.hierarchy is None
        assert again.class_texts == expected
        # New labels are new classes, as before.
        more = clone(again).fit(["a fungus"], [["Fungus", "Yeast"]])
        assert more.hierarchy_.find("Yeast")


def test_texts_that_were_set_after_fitting_survive_files(zero_shot):
    zero_shot.set_params(class_texts={("Animal", "Cat"): ["cats"]})
    assert pickle.loads(pickle.dumps(zero_shot)).class_texts == {("Animal", "Cat"): ["cats"]}
    zero_shot.set_params(class_texts={("Fungus",): ["mushrooms"]})
    assert pickle.loads(pickle.dumps(zero_shot)).class_texts == {("Fungus",): ["mushrooms"]}
    zero_shot.set_params(class_texts=[1])
    assert pickle.loads(pickle.dumps(zero_shot)).class_texts == [1]


def test_texts_without_words_are_an_error():
    with pytest.raises(ValueError, match=r"No text has a letter or a digit.*'\?!'.*an encoder"):
        ClassTextClassifier(class_texts={"a": "?!", "b": "..."}).fit(None, None)
    # One of several is not.
    model = ClassTextClassifier(class_texts={"a": "?!", "b": "words"}).fit(None, None)
    assert model.predict(["words"]).tolist() == ["b"]


def test_only_ratios_of_sample_weights_count():
    weights = np.linspace(1, 2, len(X))
    one = ClassTextClassifier(class_texts=TEXTS).fit(X, Y, weights)
    many = ClassTextClassifier(class_texts=TEXTS).fit(X, Y, 1000 * weights)
    np.testing.assert_allclose(one._models.parameters, many._models.parameters)


@pytest.mark.parametrize("rows", [(None, None), (X, Y)])
def test_no_texts_are_an_error(rows):
    with pytest.raises(ValueError, match="class_texts is empty"):
        ClassTextClassifier(class_texts={}).fit(*rows)
    with pytest.raises(ValueError, match="No class of the hierarchy has a text"):
        ClassTextClassifier(hierarchy=Hierarchy.from_paths(Y), class_texts={}).fit(*rows)


@pytest.mark.parametrize("with_rows", [False, True])
@pytest.mark.parametrize("encoder", [None, encode])
def test_scores_are_sums_of_weighted_similarities(with_rows, encoder):
    # One class has rows and no text, others have texts and no rows; a class above has a text.
    texts = {name: text for name, text in TEXTS.items() if name != ("Plant", "Tree")}
    y = [["Animal", "Cat"], ["Plant", "Tree"]]
    tree = Hierarchy.from_paths([list(name) for name in TEXTS], texts=texts)
    model = ClassTextClassifier(encoder, hierarchy=tree)
    model.fit(*((["my cat", "an oak"], y) if with_rows else (None, None)))
    models = model._models
    profiles, vectors = profiles_of(models), as_vectors(models, ["purring cats", "oaks", ""])
    similar = profiles.similarities(vectors)
    assert similar.shape == (5, 3, len(models.options.ends))
    assert similar[2].any()
    assert similar[3].any() == with_rows
    rng = np.random.default_rng(0)
    weights, bias = rng.random(models.weights.shape), rng.random(len(models.bias))
    weights[1] = 0
    expected = sum_scores(similar, weights, bias)
    models = replace(models, weights=weights, bias=bias)
    np.testing.assert_allclose(profiles.scores(vectors, models), expected, rtol=1e-6)


def test_what_parameters_are_multiplied_by():
    found = factors_of(np.array([0, 4]), np.array([4, 0]))
    few, alike, some = np.array([1, 0.5]), np.array([2 / 5, 1]), np.array([0, 1])
    expected = [few, few * alike, few, 1 - few, (1 - few) * alike, 1 - few]
    expected += [few * some] * 2 + [(1 - few) * some] * 2
    expected += [1 - some, [0, 1], few * np.log([5, 1]), [0.5, 0]]
    np.testing.assert_allclose(found, expected)


def test_equal_texts_change_the_score_of_their_class_alone():
    model = ClassTextClassifier(class_texts={"a": "green pear", "b": "blue car"}).fit()
    models = replace(model._models, same=-2.0)
    vectors = as_vectors(models, ["Green  PEAR", "pear"])
    less = Profiles(models).scores(vectors, models) - Profiles(models).scores(
        vectors, model._models
    )
    np.testing.assert_allclose(less, [[-2, 0], [0, 0]], atol=1e-12)


def test_names_of_several_classes_are_less_certain_than_names_of_one():
    # Every row of the first taxonomy is the name of another class; in the second, of its own.
    names = [f"name{k}" for k in range(12)]
    texts = {name: [f"{name} {name}{k}" for k in range(3)] for name in names}
    several = {name: texts[name] + [f"{other} title"] for name, other in pairwise_round(names)}
    own = {name: texts[name] + [f"{name} title"] for name in names}
    X, y = [f"{name} title" for name in names], names
    found = [ClassTextClassifier(class_texts=given).fit(X, y) for given in (several, own)]
    assert found[0]._models.same < -1
    assert found[1]._models.same > 0


def pairwise_round(names):
    """Every name, and the next one."""
    return zip(names, names[1:] + names[:1], strict=True)


@pytest.mark.parametrize("as_matrix", [False, True])
def test_the_order_of_rows_does_not_matter(as_matrix):
    order = np.random.default_rng(0).permutation(len(X))
    encoder = encode if as_matrix else None
    rows = encode(X) if as_matrix else np.array(X, dtype=object)
    given = [rows, rows[order]] if as_matrix else [rows.tolist(), rows[order].tolist()]
    one = ClassTextClassifier(encoder, class_texts=TEXTS).fit(given[0], Y)
    two = ClassTextClassifier(encoder, class_texts=TEXTS).fit(given[1], [Y[i] for i in order])
    np.testing.assert_allclose(
        two.predict_node_proba(given[0]), one.predict_node_proba(given[0]), rtol=1e-6, atol=1e-9
    )


def test_the_order_of_equal_rows_with_different_weights_does_not_matter():
    rows, y, weights = X * 4, Y * 4, np.repeat([5.0, 1.0, 0.0, 2.0], len(X))
    order = np.random.default_rng(0).permutation(len(rows))
    one = ClassTextClassifier(class_texts=TEXTS).fit(rows, y, weights)
    two = ClassTextClassifier(class_texts=TEXTS).fit(
        [rows[i] for i in order], [y[i] for i in order], weights[order]
    )
    # Folds are dealt in this order.
    sorted_weights = weights[one._models.row_numbers].tolist()
    assert weights[order][two._models.row_numbers].tolist() == sorted_weights
    np.testing.assert_allclose(two._models.parameters, one._models.parameters)
