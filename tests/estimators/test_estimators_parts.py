"""Parts that are given as objects of the tables act as they do by name."""

import pickle

import numpy as np
import pytest

from hiclass import (
    FlatClassifier,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    make_report,
)
from hiclass._inference.decodings import DECODINGS
from hiclass._problems.policies import POLICIES

X = np.random.default_rng(0).normal(size=(40, 3))
Y = [["a", "x"], ["a", "y"], ["b", "z"], ["b", "w"]] * 10
OBJECTS = [
    *((LocalClassifierPerParentNode, "decoding", d) for d in DECODINGS.values()),
    *((LocalClassifierPerNode, "binary_policy", p) for p in POLICIES.values()),
]


@pytest.mark.filterwarnings("ignore:No training row ends at an inner node")
@pytest.mark.parametrize(("cls", "parameter", "part"), OBJECTS, ids=lambda p: getattr(p, "name", p))
def test_an_object_is_its_name(cls, parameter, part):
    assert not callable(part)
    assert repr(part) == repr(part.name)
    by_name = cls(expected_f1=0.8, **{parameter: part.name}).fit(X, Y)
    by_object = cls(expected_f1=0.8, **{parameter: part}).fit(X, Y)
    assert repr(by_object) in (repr(by_name), repr(by_name)[:-1] + f", {parameter}={part!r})")
    copy = pickle.loads(pickle.dumps(by_object))
    assert getattr(copy, parameter) == part
    for model in (by_object, copy):
        assert model.predict(X).tolist() == by_name.predict(X).tolist()
    shown = dict(make_report(by_object, X, Y).data["model"]["parameters"])
    assert shown[parameter] == part.name


def test_a_flat_classifier_refuses_steps_in_both_forms():
    model = FlatClassifier().fit(X, Y)
    for given in ("top_down", DECODINGS["top_down"]):
        with pytest.raises(ValueError, match="decoding"):
            FlatClassifier(decoding=given).fit(X, Y)
        with pytest.raises(ValueError, match="decoding"):
            model.set_params(decoding=given).predict(X)
    message = r"decoding='top_down' descends the tree step by step, but FlatClassifier"
    with pytest.raises(ValueError, match=message):
        model.predict(X)
    assert model.set_params(decoding=DECODINGS["best_path"]).predict(X).shape == (40, 2)
