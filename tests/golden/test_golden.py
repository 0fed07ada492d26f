"""Model files that were written once are read from then on, and predict what they did."""

import json
import warnings
from pathlib import Path

import pytest
from sklearn.exceptions import InconsistentVersionWarning
from write_golden import rows_of

import hiclass

FOLDER = Path(__file__).parent
PREDICTIONS = json.loads((FOLDER / "predictions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(PREDICTIONS))
def test_a_file_of_every_kind_of_model_loads_and_predicts_as_it_did(name):
    with warnings.catch_warnings():
        # scikit-learn warns where another version of it wrote the local classifiers.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = hiclass.load(FOLDER / f"{name}.skops")
    assert model.predict(rows_of(name)).tolist() == PREDICTIONS[name]


def test_there_is_a_file_for_every_prediction_and_no_other():
    assert {path.stem for path in FOLDER.glob("*.skops")} == PREDICTIONS.keys()


def test_the_types_that_files_consist_of_keep_their_names():
    """These names are in files out there: a module or a class that moves can no longer be read."""
    assert set(hiclass.TRUSTED_TYPES) == {
        "hiclass._engine.by_depth.ByDepth",
        "hiclass._automatic.classifier.HierarchicalClassifier",
        "hiclass._automatic.features.TableFeatures",
        "hiclass._automatic.joined_texts.JoinedTexts",
        "hiclass._encoders.text_encoder.TextEncoder",
        "hiclass._estimators.class_text.ClassTextClassifier",
        "hiclass._estimators.conformal.ConformalClassifier",
        "hiclass._estimators.ensemble.EnsembleClassifier",
        "hiclass._estimators.flat.FlatClassifier",
        "hiclass._estimators.global_.GlobalClassifier",
        "hiclass._estimators.guarantees.Guarantee",
        "hiclass._estimators.guarantees.Promise",
        "hiclass._estimators.incremental_sets.ColumnLearners",
        "hiclass._estimators.label_forest.MultiLabelForestClassifier",
        "hiclass._estimators.local.LocalClassifierPerLevel",
        "hiclass._estimators.local.LocalClassifierPerNode",
        "hiclass._estimators.local.LocalClassifierPerParentNode",
        "hiclass._estimators.outputs.FinalOutputs",
        "hiclass._estimators.outputs.NodeOutputs",
        "hiclass._estimators.set_fitting.OneVsRest",
        "hiclass._linear.discriminant.DiscriminantClassifier",
        "hiclass._linear.fast_svc.FastLinearSVC",
        "hiclass._linear.kernel_ridge.KernelRidgeClassifier",
        "hiclass._linear.label_ridge.MultiLabelKernelRidgeClassifier",
        "hiclass._state.AdaptedModels",
        "hiclass._state.BatchModels",
        "hiclass._state.CalibratedSetModels",
        "hiclass._state.EnsembleModels",
        "hiclass._state.LabelFormat",
        "hiclass._state.LevelColumns",
        "hiclass._state.LocalModels",
        "hiclass._state.Options",
        "hiclass._state.Packed",
        "hiclass._state.RestrictedModels",
        "hiclass._state.RestrictedSetModels",
        "hiclass._state.Scaling",
        "hiclass._state.SetBatchModels",
        "hiclass._state.SetEnsembleModels",
        "hiclass._state.SetFormat",
        "hiclass._state.SetModels",
        "hiclass._state.Stream",
        "hiclass._state.TextModels",
        "hiclass.hierarchy._hierarchy.Hierarchy",
        "hiclass.torch._classifier.HierarchicalSoftmaxClassifier",
        "hiclass.torch._known.Known",
        "hiclass.torch._layout.SetLayout",
        "hiclass.torch._layout.TreeLayout",
        "hiclass.torch._network.FittedNetwork",
        "hiclass.torch._network.Shape",
        "numpy.dtype",
        "sklearn.utils._bunch.Bunch",
    }
