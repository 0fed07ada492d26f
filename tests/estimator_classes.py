"""The estimators that tests run on: the one place to add another to.

A module of its own: there are several ``conftest.py``, of which only one can be imported by name.
"""

from hiclass import (
    FlatClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)

LOCAL_CLASSES = [LocalClassifierPerNode, LocalClassifierPerParentNode, LocalClassifierPerLevel]
ESTIMATOR_CLASSES = [*LOCAL_CLASSES, FlatClassifier]
