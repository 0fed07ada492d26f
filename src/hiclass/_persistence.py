"""Which types a model file may hold: fitted models are saved with skops, which runs no code.

``skops.io.load`` builds only objects of types that it is told to trust. It trusts most of
scikit-learn's and NumPy's by itself; :data:`TRUSTED_TYPES` adds what fitted models of this library
are made of. None of these types runs anything that a file says when it is built.
:func:`trusted_types` adds what the local classifiers of a particular model are made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from hiclass._conformal import ConformalClassifier
from hiclass._ensemble import EnsembleClassifier
from hiclass._flat import FlatClassifier
from hiclass._global import EndingOutputs, GlobalClassifier, NodeOutputs
from hiclass._incremental import Stream
from hiclass._local import (
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._predict import LocalModels
from hiclass._problems import Options
from hiclass._set_fit import OneVsRest
from hiclass._set_labels import SetFormat
from hiclass._set_predict import SetModels
from hiclass._stream import LevelColumns
from hiclass._targets import LabelFormat
from hiclass.hierarchy import Hierarchy

_TYPES: tuple[type[Any], ...] = (
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    LocalClassifierPerLevel,
    FlatClassifier,
    GlobalClassifier,
    EnsembleClassifier,
    ConformalClassifier,
    LocalModels,
    Options,
    # The estimator of a global model, as it is asked.
    NodeOutputs,
    EndingOutputs,
    LabelFormat,
    Hierarchy,
    # Sets of classes per row.
    SetModels,
    SetFormat,
    OneVsRest,
    # What a model that learns from batches has seen.
    Stream,
    LevelColumns,
    # The type of the labels, and the models of an ensemble by name.
    np.dtype,
    Bunch,
)

#: The same for networks, by name: their modules need PyTorch, which may be missing.
_OF_NETWORKS = (
    "hiclass.torch._classifier.HierarchicalSoftmaxClassifier",
    "hiclass.torch._known.Known",
    "hiclass.torch._layout.SetLayout",
    "hiclass.torch._layout.TreeLayout",
    "hiclass.torch._network.FittedNetwork",
    "hiclass.torch._network.Shape",
)

#: Names of the types that a fitted model consists of, for ``skops.io.load(..., trusted=...)``.
TRUSTED_TYPES: tuple[str, ...] = (
    *(f"{t.__module__}.{t.__qualname__}" for t in _TYPES),
    *_OF_NETWORKS,
)


def trusted_types(model: Any) -> list[str]:
    """List the types that a model consists of and that skops does not trust by itself.

    These are :data:`TRUSTED_TYPES` and what else the local classifiers consist of: types of
    another library than scikit-learn, or its trees. Ask it of a model that you have fitted, look at
    the list, and keep it with your code: a list that is made from a file trusts whatever the file
    says.

    Parameters
    ----------
    model : object
        Anything that skops saves: a fitted model, a pipeline that ends in one.

    Returns
    -------
    list of str
        Names for ``skops.io.load(..., trusted=...)``: first ``TRUSTED_TYPES``, then what else the
        model needs, sorted.

    Raises
    ------
    ImportError
        If skops is not installed.

    Examples
    --------
    >>> from hiclass import TRUSTED_TYPES, LocalClassifierPerParentNode, trusted_types
    >>> model = LocalClassifierPerParentNode().fit([[0], [1]], [["a", "b"], ["a", "c"]])
    >>> trusted_types(model) == list(TRUSTED_TYPES)
    True
    """
    try:
        import skops.io
    except ImportError as error:
        error.add_note("Install it with: pip install skops")
        raise
    content = skops.io.dumps(model)
    needed = set(skops.io.get_untrusted_types(data=content))
    return [*TRUSTED_TYPES, *sorted(needed.difference(TRUSTED_TYPES))]
