"""What was fitted, by names: the local classifiers of a model, and what their classes mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hiclass._engine.packed import shown
from hiclass._inference.batches import known_options
from hiclass._inference.paths import unrestricted
from hiclass._labels.columns import plain
from hiclass._state import Options, Packed
from hiclass._typing import IntArray
from hiclass.hierarchy import Hierarchy


class LevelClassifiers(Mapping[Any, Any]):
    """The local classifiers of a fitted model by level, starting at 1.

    Parameters
    ----------
    estimators : dict
        Fitted estimators by level.
    """

    def __init__(self, estimators: dict[int, Any]) -> None:
        self._estimators = estimators

    def __getitem__(self, key: Any) -> Any:
        return shown(self.stored(key))

    def stored(self, key: Any) -> Any:
        """The classifier as stored in the model, packed or not."""
        return self._estimators[key]

    def __contains__(self, key: object) -> bool:
        return key in self._estimators

    def __iter__(self) -> Iterator[Any]:
        return iter(self._estimators)

    def __len__(self) -> int:
        return len(self._estimators)

    def __repr__(self) -> str:
        return repr({level: _inside(fitted) for level, fitted in self._estimators.items()})

    def names_of_types(self) -> list[str]:
        """The names of the types of classifiers."""
        # If there is one clone per class, the name of what was cloned.
        inside = (_inside(fitted) for fitted in self._estimators.values())
        names = (type(getattr(each, "stands_for", each)).__name__ for each in inside)
        return list(dict.fromkeys(names))


class LocalClassifiers(LevelClassifiers):
    """The same for classifiers of nodes, by path or label.

    Parameters
    ----------
    estimators : dict
        Fitted estimators by node number.
    hierarchy : Hierarchy
        The hierarchy, to find nodes.
    """

    def __init__(self, estimators: dict[int, Any], hierarchy: Hierarchy) -> None:
        super().__init__(estimators)
        self._hierarchy = hierarchy

    def stored(self, key: Any) -> Any:
        """The classifier as stored in the model, packed or not."""
        try:
            node = self._hierarchy.find(key)
        except ValueError as error:
            raise KeyError(str(error)) from None
        if node not in self._estimators:
            raise KeyError(
                f"{self._hierarchy.describe(node)} has no classifier, because there was nothing to "
                f"decide."
            )
        return self._estimators[node]

    def __contains__(self, key: object) -> bool:
        try:
            return self._hierarchy.find(key) in self._estimators
        except ValueError:
            return False

    def __iter__(self) -> Iterator[Any]:
        return (
            plain(self._hierarchy.labels[node])
            if self._hierarchy.identity == "label" and node
            else self._hierarchy.path(node)
            for node in self._estimators
        )

    def __repr__(self) -> str:
        return f"LocalClassifiers({len(self)} classifiers)"


def _inside(fitted: Any) -> Any:
    """The classifier inside a packed one, which has fewer columns but the same parameters."""
    return fitted.estimator if isinstance(fitted, Packed) else fitted


def local_classifiers(model: Any) -> LocalClassifiers:
    """The fitted local classifiers, with paths or labels as keys."""
    return LocalClassifiers(_models_of(model).classifiers, model._models.hierarchy)


def stop_classifiers(model: Any) -> LocalClassifiers:
    """The fitted gates, with paths as keys."""
    return LocalClassifiers(_models_of(model).gates, model._models.hierarchy)


def classifiers_by_level(model: Any) -> LevelClassifiers:
    """The fitted classifiers, with levels as keys, starting at 1."""
    return LevelClassifiers(_models_of(model).classifiers)


def _models_of(model: Any) -> Any:
    if "_models" not in model.__dict__:
        raise AttributeError(f"This {type(model).__name__} is not fitted yet.")
    return unrestricted(model._models)


def local_classes(model: Any) -> dict[Any, IntArray]:
    """The nodes that the classes of every local classifier stand for.

    The keys are those of ``local_classifiers_``. Entry ``j`` is the node of ``hierarchy_`` that
    class ``j`` stands for. The node of the classifier itself (per level: a node of the level
    above) stands for "stop here". In ``LocalClassifierPerNode``, -1 stands for "not this node".
    A restricted model omits the classifiers that it never queries.
    """
    keys, models = list(model.local_classifiers_), _models_of(model)
    if models.of_sets:
        return {k: models.classes[v] for k, v in zip(keys, models.classifiers, strict=True)}

    def classes(owner: int, options: Options) -> IntArray:
        found: IntArray = model._strategy.classes(owner, options, models.hierarchy)
        return found

    return {
        key: classes(owner, known_options(models))
        for key, owner in zip(keys, models.classifiers, strict=True)
        if len(classes(owner, models.options))
    }
