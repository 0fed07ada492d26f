"""A local classifier whose parameters depend on the depth of its node, as plain data.

A function of the path can do the same and more, but it cannot be saved in a file or tuned in a
search.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, clone


class ByDepth(BaseEstimator):
    """Local classifier with different parameters at every depth of the hierarchy.

    It can be used wherever an estimator accepts a ``local_classifier``. The depth of a local
    classifier is the level of the node whose children it separates. Depth 0 is therefore the
    classifier of the root (per parent node), those of the classes of level 1 (per node), that of
    level 1 (per level), or the whole model (flat). A gate has the depth of its own node. Unlike a
    callable, a ``ByDepth`` can be saved with skops and tuned in a search.

    Parameters
    ----------
    estimator : estimator
        The classifier whose parameters depend on the depth.
    **values : dict of list
        For each parameter of the estimator that varies, a list with one value per depth, starting
        at the root. The last value is used for all deeper nodes. Parameters of a step of a pipeline
        are named ``step__parameter``.

    Raises
    ------
    TypeError
        If ``estimator`` is not an estimator with parameters, or values are not in a list.
    ValueError
        If the estimator does not have such a parameter, or a list is empty.

    See Also
    --------
    LocalClassifierPerParentNode : One multi-class classifier per parent node.

    Notes
    -----
    In a search, ``local_classifier__C`` is the list of values of ``C``, and
    ``local_classifier__estimator__C`` is the parameter of the estimator itself, which is used if
    there is no list.

    Examples
    --------
    Use weaker regularisation below the root:

    >>> from sklearn.svm import LinearSVC
    >>> from hiclass import ByDepth, LocalClassifierPerParentNode
    >>> X = [[1, 2], [3, 4], [5, 9], [6, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"], ["Plant", "Moss"]]
    >>> model = LocalClassifierPerParentNode(ByDepth(LinearSVC(), C=[0.5, 2]))
    >>> for path, classifier in model.fit(X, y).local_classifiers_.items():
    ...     print(path, classifier)
    () LinearSVC(C=0.5)
    ('Animal',) LinearSVC(C=2)
    ('Plant',) LinearSVC(C=2)
    """

    def __init__(self, estimator: Any, **values: list[Any]) -> None:
        _check(estimator, values)
        self.estimator = estimator
        self.values = values

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters: the estimator and the lists of values.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the estimator as ``estimator__parameter``.

        Returns
        -------
        dict
            The parameters by name.
        """
        return {**super().get_params(deep), **self.values}

    def set_params(self, **params: Any) -> ByDepth:
        """Set the estimator, its parameters, or lists of values.

        Parameters
        ----------
        **params : dict
            ``estimator``, ``estimator__parameter``, or the name of a parameter of the estimator
            with a list of values, one per depth.

        Returns
        -------
        self : object
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            In the same cases as the constructor.
        """
        inner = {name: value for name, value in params.items() if self._is_inner(name)}
        super().set_params(**inner)
        values = {**self.values, **{n: v for n, v in params.items() if n not in inner}}
        _check(self.estimator, values)
        self.values = values
        return self

    def _is_inner(self, name: str) -> bool:
        return name not in self.values and name.partition("__")[0] == "estimator"

    def estimators(self) -> tuple[Any, ...]:
        """Create the estimators of all depths.

        Returns
        -------
        tuple of estimator
            Unfitted clones, starting at depth 0. The last one is used for all deeper nodes.
        """
        n_depths = max(map(len, self.values.values()), default=1)
        return tuple(clone(self.estimator).set_params(**self._at(d)) for d in range(n_depths))

    def _at(self, depth: int) -> dict[str, Any]:
        return {name: given[min(depth, len(given) - 1)] for name, given in self.values.items()}


def _check(estimator: Any, values: dict[str, Any]) -> None:
    """Reject objects that are not estimators, unknown parameters, and values that are not lists."""
    if isinstance(estimator, type):
        kind = estimator.__name__
        raise TypeError(
            f"The estimator of ByDepth is the class {kind}. Pass an instance: {kind}()."
        )
    if not all(hasattr(estimator, name) for name in ("fit", "get_params", "set_params")):
        raise TypeError(
            f"The estimator of ByDepth, {estimator!r}, has no parameters that could depend on the "
            "depth. Pass a classifier with fit, get_params and set_params."
        )
    known = estimator.get_params(deep=True)
    for name, given in values.items():
        if name not in known:
            raise ValueError(
                f"{name!r} is not a parameter of {type(estimator).__name__}, the estimator of "
                f"ByDepth. Its parameters are {', '.join(sorted(known))}."
            )
        if not isinstance(given, list | tuple):
            raise TypeError(
                f"{name}={given!r} of ByDepth is not a list. Use one value per depth, starting at "
                f"the root; {name}=[{given!r}] uses the same value at every depth."
            )
        if not given:
            raise ValueError(
                f"{name}={given!r} of ByDepth is empty. Use one value per depth, starting at the "
                f"root, or leave {name} out."
            )
