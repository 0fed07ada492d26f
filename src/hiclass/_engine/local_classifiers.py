"""Local classifiers as objects: valid types, clones, tags, seeds and arguments."""

from __future__ import annotations

import inspect
from collections.abc import Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from hiclass._compat import BaseComposition, MetadataRouter, MethodMapping, routing_enabled
from hiclass._engine.by_depth import ByDepth
from hiclass._wrapping import name_for_fit, name_for_groups, unwrap

_PLAIN = (type(None), bool, int, float, str)


@dataclass(frozen=True)
class Prototype:
    """The estimator that is cloned and fitted for every local problem.

    Attributes
    ----------
    given : estimator, ByDepth or callable
        The estimator, one by depth, or a callable that takes the key of a problem and returns one.
    parameter : str
        The parameter of the hierarchical classifier that holds the estimator.
    default : str
        The default, as a user writes it.
    kinds : str
        The valid types, for error messages.
    may_vary : bool, default=True
        Whether it may be a callable or a ``ByDepth``, which differ between problems.
    """

    given: Any
    parameter: str
    default: str
    kinds: str
    may_vary: bool = True

    @property
    def is_factory(self) -> bool:
        """Whether it is a callable that creates estimators."""
        given = self.given
        if not self.may_vary or hasattr(given, "fit"):
            return False
        return callable(given) and not isinstance(given, type)

    @property
    def _varies_by_depth(self) -> bool:
        return self.may_vary and isinstance(self.given, ByDepth)

    @property
    def typical(self) -> Any:
        """The estimator with the methods and tags of all estimators; None for a callable."""
        if self._varies_by_depth:
            return self.given.estimator
        return None if self.is_factory else self.given

    def by_depth(self) -> tuple[Any, ...]:
        """The checked estimators by depth, starting at 0; the last is used for deeper problems.

        Usually there is one for all depths, and none for a callable.
        """
        if self.is_factory:
            return ()
        given = self.given.estimators() if self._varies_by_depth else (self.given,)
        return tuple(self._checked(estimator, self.parameter) for estimator in given)

    def tags(self) -> Any:
        """Tags of the estimator; None if any X is accepted."""
        return None if self.is_factory else estimator_tags(self.typical)

    def promises_proba(self, calibrated: bool) -> bool:
        """Whether fitted clones will have probabilities; a callable is assumed to provide them."""
        names = ("predict_proba", "decision_function") if calibrated else ("predict_proba",)
        given = self.by_depth() if self._varies_by_depth else (self.typical,)
        return self.is_factory or all(any(hasattr(e, name) for name in names) for e in given)

    def of(self, key: Any) -> Any:
        """The checked estimator that the callable creates for the problem with this key."""
        return self._checked(self.given(key), f"{self.parameter}({key!r})")

    def _checked(self, estimator: Any, name: str) -> Any:
        if inspect.isclass(estimator):
            kind = estimator.__name__
            raise TypeError(f"{name} is the class {kind}. Pass an instance: {kind}().")
        if not hasattr(estimator, "fit"):
            raise TypeError(f"{name}={estimator!r} has no fit method. Pass {self.kinds}.")
        return estimator

    def routing(self, owner: Any) -> MetadataRouter:
        """The metadata that the methods of the hierarchical classifier pass to the estimator."""
        router = MetadataRouter(owner=owner).add_self_request(owner)
        if not self.is_factory:
            mapping = MethodMapping()
            for method in ("fit", "partial_fit"):
                if hasattr(type(owner), method):
                    mapping.add(caller=method, callee=method)
            router.add(**{self.parameter: self.typical}, method_mapping=mapping)
        return router

    def check_inner_params(self, params: dict[str, Any], given: Any, owner: Any) -> None:
        """Reject parameters of the inner estimator if it has no parameters."""
        inside = params.get(self.parameter, given)
        inner = next((key for key in params if key.startswith(f"{self.parameter}__")), None)
        if inner is not None and not hasattr(inside, "set_params"):
            meaning = f", which stands for {self.default}," if inside is None else ""
            raise ValueError(
                f"{inner!r} cannot be set, because {self.parameter}={inside!r}{meaning} has no "
                "parameters. Pass an estimator with this parameter, for example "
                f"{type(owner).__name__}({self.default})."
            )


def copy_estimator(estimator: Any) -> Any:
    """Return an unfitted copy; a deep copy for objects that are not scikit-learn estimators."""
    if not is_plain(estimator):
        return clone(estimator, safe=False)
    again = object.__new__(type(estimator))
    vars(again).update(vars(estimator))
    return again


def is_plain(estimator: Any) -> bool:
    """Whether an estimator is defined by its parameters, whose values clones can share.

    This is usual for the classifiers of scikit-learn. It avoids ``clone`` and ``get_params``, which
    read the signature of the constructor and take as long as a small fit.
    """
    kind: Any = type(estimator)
    names = _names_of_parameters(kind)
    return (
        names is not None
        and vars(estimator).keys() == names
        and all(type(value) in _PLAIN for value in vars(estimator).values())
    )


@lru_cache(maxsize=64)
def _names_of_parameters(kind: type) -> Set[str] | None:
    """The parameters of a class of scikit-learn or hiclass; constructors only store them."""
    ours = ("sklearn.", "hiclass._linear.")
    if not kind.__module__.startswith(ours) or not issubclass(kind, BaseEstimator):
        return None
    return inspect.signature(kind).parameters.keys()


def may_name_classes(estimator: Any) -> bool:
    """Whether an estimator may have parameters that refer to classes, such as ``class_weight``.

    A quick check, because most estimators have none: only then is ``read_class_weights`` needed.
    """
    if not hasattr(estimator, "get_params"):
        return False
    return not is_plain(estimator) or type(estimator).__name__ == "DummyClassifier"


def estimator_tags(estimator: Any) -> Any:
    """Tags of an estimator; None for an object without tags, for which any X is accepted."""
    if not isinstance(estimator, BaseEstimator):
        return None
    tags = get_tags(estimator)
    # Not get_params, which takes long for a single row.
    params = (value for name, value in vars(estimator).items() if not name.endswith("_"))
    if isinstance(estimator, BaseComposition) or any(hasattr(value, "fit") for value in params):
        # Tags of pipelines and other composites do not include those of their parts.
        tags.input_tags.allow_nan = True
    return tags


def set_random_state(estimator: Any, seed: int) -> None:
    """Set every parameter of an estimator that is named ``random_state``."""
    if is_plain(estimator):
        if hasattr(estimator, "random_state"):
            estimator.random_state = seed
        return
    if not hasattr(estimator, "get_params"):
        return
    names = [n for n in estimator.get_params() if n.rpartition("__")[2] == "random_state"]
    if names:
        estimator.set_params(**dict.fromkeys(names, seed))


def check_accepts_weights(estimator: Any, name: str, method: str = "fit") -> None:
    """Reject sample weights for an estimator whose ``fit`` does not accept them.

    Weights are passed through pipelines and searches; other parameters are for the estimator
    itself.
    """
    if name == "sample_weight":
        estimator = unwrap(estimator).model
    try:
        parameters = inspect.signature(getattr(estimator, method)).parameters
    except (AttributeError, TypeError, ValueError):
        return  # a builtin without a signature, or an invalid step: its fit raises the error
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if name not in parameters and not takes_any:
        raise ValueError(
            f"{name} was given but {type(estimator).__name__}.{method} does not take it. Leave it "
            f"out, or use a local classifier that supports it."
        )


def named_for_fit(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments for the ``fit`` of an estimator.

    Sample weights get the name under which a pipeline, or a search over one, passes them to its
    last step. With metadata routing enabled, this is automatic.
    """
    if "sample_weight" not in params or routing_enabled():
        return params
    name = name_for_fit(estimator, "sample_weight")
    return {(name if key == "sample_weight" else key): value for key, value in params.items()}


def with_groups(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments with the groups of rows if the estimator accepts them."""
    if "groups" not in params:
        return params
    name = name_for_groups(estimator)
    if name is None:
        return {key: value for key, value in params.items() if key != "groups"}
    return {(name if key == "groups" else key): value for key, value in params.items()}
