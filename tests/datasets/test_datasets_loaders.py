"""The built-in tables, the texts from a package, and the newsgroups."""

import codecs
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import Bunch

import hiclass
from hiclass import HierarchicalKFold, Hierarchy, LocalClassifierPerParentNode
from hiclass.datasets import fetch_20newsgroups, load_animals, load_icd10cm


@pytest.fixture(scope="module")
def animals():
    return load_animals(as_frame=True).frame


@pytest.fixture(scope="module")
def icd():
    return load_icd10cm(as_frame=True)


def one_to_one(frame, few, many):
    """Whether every value of `many` goes with one value of `few`."""
    return (frame.groupby(many)[few].nunique() == 1).all()


class TestAnimals:
    def test_there_are_many_species_and_about_twenty_facts(self, animals):
        bunch = load_animals(as_frame=True)
        assert len(animals) >= 120
        assert 18 <= bunch.data.shape[1] <= 25
        assert bunch.target_names == ["class", "order", "family"]
        assert bunch.target.shape == (len(animals), 3)
        assert all(name in bunch.DESCR for name in bunch.feature_names)

    def test_every_species_is_there_once(self, animals):
        assert animals["name"].is_unique
        assert animals["scientific_name"].is_unique
        assert animals["scientific_name"].str.fullmatch(r"[A-Z][a-z]+ [a-z]+").all()

    def test_nothing_is_missing(self, animals):
        assert not animals.isna().any(axis=None)
        assert not (animals == "").any(axis=None)

    def test_the_target_is_a_tree_of_distinct_names(self, animals):
        assert one_to_one(animals, "order", "family")
        assert one_to_one(animals, "class", "order")
        hierarchy = Hierarchy.from_paths(load_animals().target)
        assert len(set(hierarchy.labels[1:].tolist())) == hierarchy.n_nodes - 1

    def test_a_genus_belongs_to_one_family(self, animals):
        genus = animals["scientific_name"].str.split().str[0]
        assert one_to_one(animals.assign(genus=genus), "family", "genus")

    def test_most_families_have_several_species(self, animals):
        assert (animals["family"].value_counts() > 1).mean() > 0.7

    @pytest.mark.parametrize(
        ("fact", "classes"),
        [
            ("milk", {"Mammalia"}),
            ("feathers", {"Aves"}),
            ("warm_blooded", {"Mammalia", "Aves"}),
        ],
    )
    def test_facts_that_name_a_class_hold_for_it_alone(self, animals, fact, classes):
        assert (animals[fact].astype(bool) == animals["class"].isin(classes)).all()

    def test_facts_are_zoologically_consistent(self, animals):
        by_class = animals.groupby("class")
        assert set(by_class["legs"].get_group("Insecta")) == {6}
        assert set(by_class["legs"].get_group("Arachnida")) == {8}
        assert set(by_class["legs"].get_group("Aves")) == {2}
        assert set(by_class["legs"].get_group("Malacostraca")) == {10, 14}
        fish = animals[animals["class"].isin(["Actinopterygii", "Chondrichthyes"])]
        assert (fish["legs"] == 0).all()
        assert (fish["gills"] == 1).all()
        vertebrates = {"Mammalia", "Aves", "Reptilia", "Amphibia", *fish["class"]}
        assert (animals["backbone"].astype(bool) == animals["class"].isin(vertebrates)).all()
        assert (animals.loc[animals["flies"] == 1, "wings"] > 0).all()
        assert set(animals.loc[animals["wings"] == 4, "class"]) == {"Insecta"}
        laying = (animals["eggs"] == 1) & (animals["class"] == "Mammalia")
        assert set(animals.loc[laying, "order"]) == {"Monotremata"}
        hoofed = animals.loc[animals["hooves"] == 1, "order"]
        assert set(hoofed) == {"Artiodactyla", "Perissodactyla"}
        flying = animals[(animals["flies"] == 1) & (animals["class"] == "Mammalia")]
        assert set(flying["order"]) == {"Chiroptera"}

    def test_sizes_are_plausible(self, animals):
        assert (animals[["length_cm", "weight_kg"]] > 0).all(axis=None)
        # A body of water of this length has no more than half the volume of a cube.
        assert (animals["weight_kg"] < 0.5 * animals["length_cm"] ** 3 / 1000).all()

    def test_numbers_and_frame_say_the_same(self, animals):
        bunch = load_animals()
        assert bunch.data.dtype == float
        assert bunch.frame is None
        column = dict(zip(bunch.feature_names, bunch.data.T, strict=True))
        assert (column["legs"] == animals["legs"]).all()
        assert (column["diet=nectar feeder"] == (animals["diet"] == "nectar feeder")).all()
        X, y = load_animals(return_X_y=True)
        np.testing.assert_array_equal(X, bunch.data)
        np.testing.assert_array_equal(y, bunch.target)
        X_frame, y_frame = load_animals(return_X_y=True, as_frame=True)
        assert list(y_frame.columns) == ["class", "order", "family"]
        assert X_frame["habitat"].tolist() == animals["habitat"].tolist()

    def test_classes_can_be_learned_from_the_facts(self):
        X, y = load_animals(return_X_y=True)
        X[:, -2:] = np.log(X[:, -2:])
        test = np.arange(len(X)) % 4 == 0
        model = LocalClassifierPerParentNode(RandomForestClassifier(20, random_state=0)).fit(
            X[~test], y[~test]
        )
        assert (model.predict(X[test])[:, 0] == y[test, 0]).mean() > 0.95
        assert model.score(X[test], y[test]) > 0.75

    @pytest.mark.parametrize("return_X_y", [False, True])
    def test_without_pandas_a_frame_is_refused_with_the_remedy(self, monkeypatch, return_X_y):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match=r"pip install pandas\. Or use as_frame=False"):
            load_animals(as_frame=True, return_X_y=return_X_y)
        assert load_animals().data.shape[0] > 120


class TestICD10CM:
    def test_paths_are_chapter_block_and_category(self, icd):
        assert icd.target_names == ["chapter", "block", "category"]
        hierarchy = Hierarchy.from_paths(icd.target)
        assert len(hierarchy.nodes_by_level[1]) == 22
        assert hierarchy.n_nodes > 2000
        row = icd.frame[icd.code == "A00.0"].iloc[0]
        assert row[["text", "chapter", "block", "category", "kind"]].tolist() == [
            "Cholera due to Vibrio cholerae 01, biovar cholerae",
            "1 Certain infectious and parasitic diseases",
            "A00-A09 Intestinal infectious diseases",
            "A00 Cholera",
            "title",
        ]

    def test_kinds_split_titles_and_inclusion_terms(self, icd):
        assert set(icd.kind) == {"title", "inclusion term"}
        titles = icd.code[icd.kind == "title"]
        assert len(set(titles)) == len(titles)
        assert "Classical cholera" in icd.data[icd.kind == "inclusion term"].tolist()
        # Every class of a test row has been seen in training.
        train = {tuple(path) for path in icd.target[icd.kind == "title"].to_numpy()}
        test = {tuple(path) for path in icd.target[icd.kind != "title"].to_numpy()}
        assert test <= train

    def test_rows_with_the_same_text_and_path_share_a_group_and_no_others_do(self, icd):
        pairs = list(zip(icd.data, *(icd.target[level] for level in icd.target), strict=True))
        assert len(pairs) - len(set(pairs)) > 700
        assert len(set(zip(pairs, icd.group, strict=True))) == len(set(pairs))
        assert len(set(icd.group)) == len(set(pairs))
        assert icd.frame["group"].tolist() == icd.group.tolist()

    def test_no_pair_of_text_and_path_is_on_both_sides_of_a_split(self, icd):
        y = icd.target.to_numpy()
        pairs = np.array([" | ".join(row) for row in icd.frame.iloc[:, :4].to_numpy()])
        titles = icd.kind == "title"
        by_kind = titles, ~titles & ~np.isin(icd.group, icd.group[titles])
        for train, test in [by_kind, *HierarchicalKFold(5).split(y, y, groups=icd.group)]:
            assert not np.isin(pairs[test], pairs[train]).any()
        without = next(HierarchicalKFold(5).split(y, y))
        assert np.isin(pairs[without[1]], pairs[without[0]]).any()

    def test_groups_follow_the_levels(self, icd):
        deep = load_icd10cm(7)
        assert len(set(deep.group)) == len(deep.data)
        assert len(set(load_icd10cm(1).group)) < len(set(icd.group))

    def test_codes_that_only_add_a_seventh_character_are_left_out(self, icd):
        assert "S72.001" in set(icd.code)
        assert "S72.001A" not in set(icd.code)

    def test_a_block_of_one_category_has_the_same_name(self, icd):
        path = icd.target[icd.code == "B20"].iloc[0].tolist()
        assert path[1:] == ["B20 Human immunodeficiency virus [HIV] disease"] * 2

    def test_labels_do_not_repeat_the_range_of_codes(self, icd):
        for level in ("chapter", "block"):
            assert not icd.target[level].str.contains(r"\([A-Z]\d").any()

    def test_other_depths(self, icd):
        X, y = load_icd10cm(1, return_X_y=True)
        assert X.shape == (len(icd.data),)
        assert y.shape == (len(icd.data), 1)
        deep = load_icd10cm(levels=4)
        assert deep.target_names[-1] == "subcategory"
        np.testing.assert_array_equal(deep.target[:, :3], icd.target.to_numpy())
        assert deep.target[0].tolist()[2:] == ["A00 Cholera", ""]
        assert deep.target[1, 3].startswith("A00.0 Cholera due to")

    @pytest.mark.parametrize("levels", [0, 8, 2.5, "3", True])
    def test_bad_levels_are_refused(self, levels):
        with pytest.raises(ValueError, match=f"from 1 to 7; got {re.escape(repr(levels))}"):
            load_icd10cm(levels)

    def test_without_the_package_the_remedy_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "simple_icd_10_cm", None)
        with pytest.raises(ImportError, match=r"pip install simple-icd-10-cm"):
            load_icd10cm()


class TestNewsgroups:
    GROUPS = ("alt.atheism", "comp.sys.mac.hardware", "rec.autos", "rec.sport.hockey")

    @pytest.fixture
    def data_home(self, tmp_path):
        """The cache of scikit-learn, as its own loader writes it."""
        names = list(self.GROUPS)
        parts = {
            subset: Bunch(
                data=[f"From: someone\n\npost {i} for {subset}" for i in range(8)],
                filenames=np.array([f"{i}" for i in range(8)]),
                target=np.arange(8) % 4,
                target_names=names,
            )
            for subset in ("train", "test")
        }
        packed = codecs.encode(pickle.dumps(parts), "zlib_codec")
        (tmp_path / "20news-bydate_py3.pkz").write_bytes(packed)
        return tmp_path

    def test_dots_of_the_names_are_the_hierarchy(self, data_home):
        bunch = fetch_20newsgroups(data_home=data_home, download_if_missing=False)
        assert len(bunch.data) == 8
        assert bunch.target.shape == (8, 4)
        assert bunch.target_names == ["level_1", "level_2", "level_3", "level_4"]
        paths = {
            group: path.tolist() for group, path in zip(bunch.group, bunch.target, strict=True)
        }
        assert paths == {
            "alt.atheism": ["alt", "atheism", "", ""],
            "comp.sys.mac.hardware": ["comp", "sys", "mac", "hardware"],
            "rec.autos": ["rec", "autos", "", ""],
            "rec.sport.hockey": ["rec", "sport", "hockey", ""],
        }
        for text, group in zip(bunch.data, bunch.group, strict=True):
            number = int(re.search(r"post (\d)", text)[1])
            assert group == self.GROUPS[number % 4]

    def test_options_reach_the_loader_of_scikit_learn(self, data_home):
        X, y = fetch_20newsgroups(
            data_home=data_home,
            subset="all",
            remove=("headers",),
            as_frame=True,
            return_X_y=True,
            random_state=0,
        )
        assert isinstance(X, pd.Series)
        assert len(X) == len(y) == 16
        assert X.str.startswith("post").all()

    def test_nothing_is_downloaded_if_not_allowed(self, tmp_path):
        with pytest.raises(OSError, match="not found"):
            fetch_20newsgroups(data_home=tmp_path, download_if_missing=False)


def test_importing_the_library_loads_no_network_code():
    script = """
import sys
import sklearn.linear_model
before = set(sys.modules)
import hiclass
loaded = set(sys.modules) - before
print(sorted(loaded & {"http.client", "urllib.request", "socket", "ssl", "sklearn.datasets"}))
"""
    source = str(Path(hiclass.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout == "[]\n"
