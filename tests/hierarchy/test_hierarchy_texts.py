"""Texts of classes: read from what users have, checked, kept, shown."""

import json
import pickle

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from strategies import SETTINGS, paths

import hiclass
from hiclass import FlatClassifier, Hierarchy
from hiclass._labels.columns import read_paths
from hiclass._targets.growth import grow

TEXTS = {"Mammal": "Warm-blooded animals", ("Reptile", "Snake"): ["Snakes", "Animals without legs"]}


def titles(h):
    return {str(h.labels[v]): h.texts[v] for v in range(h.n_nodes) if h.texts[v]}


EXPECTED = {
    "Mammal": ("Warm-blooded animals",),
    "Snake": ("Snakes", "Animals without legs"),
}


def test_without_texts_every_node_has_an_empty_tuple(animals):
    assert not animals.has_texts
    assert animals.texts.tolist() == [()] * animals.n_nodes
    assert animals.with_texts(None) == animals
    assert not animals.with_texts({}).has_texts


def test_texts_come_from_labels_and_paths_strings_and_lists(animals):
    h = animals.with_texts(TEXTS)
    assert h.has_texts
    assert titles(h) == EXPECTED
    assert h.texts.shape == (h.n_nodes,)
    assert h.texts[0] == ()
    assert not animals.has_texts


def test_a_text_that_is_given_twice_is_kept_once(animals):
    h = animals.with_texts({"Cat": ["Cats", "Felines", "Cats"]})
    assert titles(h) == {"Cat": ("Cats", "Felines")}


def frames():
    level1 = ["Mammal", "Reptile", "Reptile", "Mammal"]
    level2 = [None, "Snake", "Snake", "Cat"]
    text = ["Warm-blooded animals", "Snakes", "Animals without legs", None]
    columns = {"class": level1, "order": level2, "text": text}
    yield pd.DataFrame(columns)
    yield pl.DataFrame(columns)
    yield pd.DataFrame(
        {
            "label": ["Mammal", "Snake", "Cat"],
            "text": ["Warm-blooded animals", "Snakes", None],
            "text_more": [None, "Animals without legs", None],
        }
    )
    yield pd.DataFrame(
        {
            "label": ["Mammal", "Snake"],
            "text": ["Warm-blooded animals", np.array(["Snakes", "Animals without legs"])],
        }
    )
    yield pd.Series(
        ["Warm-blooded animals", "Snakes", "Animals without legs", np.nan],
        index=["Mammal", "Snake", "Snake", "Cat"],
    )


@pytest.mark.parametrize("texts", list(frames()), ids=lambda f: type(f).__module__)
def test_texts_come_from_frames_and_series_whose_missing_cells_are_left_out(animals, texts):
    assert titles(animals.with_texts(texts)) == EXPECTED


def test_labels_as_texts():
    h = Hierarchy.from_paths([["Loans", "Other"], ["Cards", "Other"]], texts="labels")
    assert h.texts.tolist() == [(), ("Cards",), ("Other",), ("Loans",), ("Other",)]
    assert Hierarchy.from_paths([7, 8], texts="labels").texts.tolist() == [(), ("7",), ("8",)]
    assert str(h) == str(h.with_texts(None))


@pytest.mark.parametrize(
    "build",
    [
        lambda texts: Hierarchy.from_paths([["all", "a"], ["all", "b"]], root="all", texts=texts),
        lambda texts: Hierarchy.from_edges([("all", "a"), ("all", "b")], root="all", texts=texts),
        lambda texts: Hierarchy.from_dict({"all": ["a", "b"]}, root="all", texts=texts),
        lambda texts: Hierarchy.from_networkx(
            networkx.DiGraph([("all", "a"), ("all", "b")]), root="all", texts=texts
        ),
    ],
)
def test_all_builders_take_texts_of_what_is_left_below_the_root(build):
    assert build({"b": "the letter b"}).texts.tolist() == [(), (), ("the letter b",)]
    with pytest.raises(ValueError, match="no class 'all'"):
        build({"all": "everything"})


def test_from_paths_returns_nodes_beside_a_hierarchy_with_texts():
    h, nodes = Hierarchy.from_paths([["a"], ["b"]], texts={"a": "x"}, return_nodes=True)
    assert h.texts[nodes[0]] == ("x",)


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ({"Cat": ""}, ValueError, "A text of 'Cat' is empty. Leave it out instead."),
        ({"Cat": ["Cats", " \n"]}, ValueError, "A text of 'Cat' is empty"),
        ({"Cat": []}, ValueError, "The list of texts of 'Cat' is empty"),
        ({"Cat": None}, TypeError, "The text of 'Cat' is a NoneType"),
        ({"Cat": 7}, TypeError, "The text of 'Cat' is a int. Use a string"),
        ({"Cat": ["Cats", 7]}, TypeError, "A text of 'Cat' is a int, not a string: 7"),
        ({"Cta": "Cats"}, ValueError, "no class 'Cta'. The nearest is 'Cat'"),
        ({("Reptile", "Cat"): "Cats"}, ValueError, "no class 'Cat' below Reptile"),
        ({(): "Everything"}, ValueError, "The root is not a class"),
        ("words", ValueError, "texts='words' is neither a mapping"),
        (7, TypeError, "texts must be a mapping of labels or paths"),
        ([("Cat", "Cats")], TypeError, "got list"),
        (pd.DataFrame({"class": ["Cat"], "title": ["Cats"]}), ValueError, "'class', 'title'"),
        (pd.DataFrame({"text": ["Cat"]}), ValueError, "columns that identify the class"),
        (
            pd.DataFrame({"a": [None], "b": ["Cat"], "text": ["Cats"]}),
            ValueError,
            "Row 0 of the frame of texts names no class: .* no label at level 1",
        ),
        (
            pd.DataFrame({"a": ["Mammal"], "b": [None], "c": ["Cat"], "text": ["Cats"]}),
            ValueError,
            "Row 0 .* has a gap",
        ),
    ],
)
def test_bad_texts_are_errors_that_name_class_and_remedy(animals, texts, error, message):
    with pytest.raises(error, match=message):
        animals.with_texts(texts)


def test_siblings_with_the_same_text_are_an_error_that_names_both(animals):
    with pytest.raises(ValueError, match="> Cat and Mammal > Wolf have the same text, 'X y'"):
        animals.with_texts({"Cat": "x  Y", "Wolf": "X y"})


def test_the_same_text_elsewhere_needs_different_texts_above():
    h = Hierarchy.from_paths([["Loans", "Other"], ["Cards", "Other"]])
    same = {("Loans", "Other"): "Other", ("Cards", "Other"): "Other"}
    with pytest.raises(ValueError, match="Cards > Other and Loans > Other have the same text"):
        h.with_texts(same)
    assert h.with_texts({**same, "Loans": "Money lent"}).has_texts


def test_a_class_may_have_the_text_of_the_class_above_it():
    h = Hierarchy.from_paths([["1", "11"]])
    assert h.with_texts({"1": "Farming", "11": "Farming"}).has_texts


def test_a_shared_synonym_is_no_error(animals):
    assert animals.with_texts({"Cat": ["Cat", "pet"], "Wolf": ["Wolf", "pet"]}).has_texts


def test_a_dag_has_texts(pets):
    h = pets.with_texts({"cat": "Cats", "lion": "Lions"})
    assert titles(h) == {"cat": ("Cats",), "lion": ("Lions",)}
    with pytest.raises(ValueError, match="have the same text"):
        Hierarchy.from_edges([("p", "a"), ("q", "a"), ("p", "b")], texts={"a": "x", "b": "x"})


def test_equal_texts_make_equal_hierarchies_and_others_different_ones(animals):
    h = animals.with_texts(TEXTS)
    assert h == animals.with_texts(dict(reversed(TEXTS.items())))
    assert hash(h) == hash(animals.with_texts(TEXTS))
    assert h != animals
    assert animals != h
    assert h != animals.with_texts({"Cat": "Cats"})
    assert h.with_texts(None) == animals
    assert h._same_classes(animals)
    assert not h._same_classes(Hierarchy.from_paths([["a"]]))


def test_texts_cannot_be_written(animals):
    for h in (animals, animals.with_texts(TEXTS), pickle.loads(pickle.dumps(animals))):
        with pytest.raises(ValueError, match="read-only"):
            h.texts[1] = ("x",)


words = st.text(st.characters(exclude_categories=[]), min_size=1).filter(str.strip)


@SETTINGS
@given(paths(), st.data())
def test_texts_survive_pickles_json_and_graphs(y, data):
    h = Hierarchy.from_paths(y)
    some = data.draw(st.lists(st.integers(1, h.n_nodes - 1), unique=True, max_size=5))
    unique = [f"{data.draw(words)} {v}" for v in some]
    h = h.with_texts({h.path(v): text for v, text in zip(some, unique, strict=True)})
    assert pickle.loads(pickle.dumps(h)) == h
    assert Hierarchy.from_json(h.to_json()) == h
    graph = h.to_networkx()
    assert [graph.nodes[h.path(v)]["texts"] for v in some] == [h.texts[v] for v in some]
    assert Hierarchy.from_networkx(graph).has_texts == bool(some)


def test_json_that_is_read_with_a_root_keeps_texts_below_it():
    h = Hierarchy.from_paths([["all", "a"], ["all", "b"]], texts={"all": "x", "b": "y"})
    assert Hierarchy.from_json(h.to_json(), root="all").texts.tolist() == [(), (), ("y",)]
    h = h.with_texts({"all": "x"})
    assert not Hierarchy.from_json(h.to_json(), root="all").has_texts


@pytest.mark.parametrize(
    "texts",
    [[[], ["x"]], [["x"], ["y"], []], [[], [7], []], [[], "xy", []], [[], [" "], []], 7, [[]] * 3],
)
def test_json_with_broken_texts_is_an_error(texts):
    data = json.loads(Hierarchy.from_paths([["a"], ["b"]]).to_json())
    with pytest.raises(ValueError, match="not a hierarchy written by to_json"):
        Hierarchy.from_json(json.dumps({**data, "texts": texts}))


def test_renderings_show_titles(animals):
    h = animals.with_texts({"Cat": "Cats " * 30, "Wolf": "Wolf", "Snake": "<b>"})
    shown = str(h)
    assert "Cat: Cats Cats" in shown
    assert max(map(len, shown.splitlines())) < 90
    assert "Wolf: " not in shown
    assert "Snake: &lt;b&gt;" in h._repr_html_()
    assert repr(h).endswith(", 3 with texts)")


def test_model_files_keep_texts(tmp_path):
    h = Hierarchy.from_paths([["a", "x"], ["b", "y"]], texts={"x": "the x", "b": "the b"})
    X, y = [[0.0], [1.0]], [["a", "x"], ["b", "y"]]
    model = FlatClassifier(hierarchy=h).fit(X, y)
    skops.io.dump(model, tmp_path / "model.skops")
    assert hiclass.load(tmp_path / "model.skops").hierarchy_ == h


def test_a_hierarchy_that_grows_keeps_its_texts():
    h = Hierarchy.from_paths([["a", "x"], ["b", "y"]], texts={"x": "the x", "b": "the b"})
    grown, _, _ = grow(h, read_paths([["a", "w"], ["c", "z"]]))
    assert grown.n_nodes == 8
    assert titles(grown) == {"x": ("the x",), "b": ("the b",)}
