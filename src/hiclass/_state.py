"""Plain data in model files: what ``fit`` learns, as frozen dataclasses.

Files of fitted models (skops, pickle) refer to types by module and name. This module, the public
estimators and ``Hierarchy`` must therefore never move; a test pins their names. Functions on this
data are in the rooms above.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if

from hiclass._blocks import as_blocks, from_blocks
from hiclass._rows import select_columns
from hiclass._typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class LabelFormat:
    """The format of the labels in ``y``, in which predictions are returned.

    Attributes
    ----------
    ndim : {1, 2}
        Single labels or paths.
    n_levels : int
        Number of columns of a path.
    dtype : dtype
        Type of an array of complete labels.
    missing : object
        The value of a missing label.
    """

    ndim: int
    n_levels: int
    dtype: np.dtype[Any]
    missing: Any

    of_sets: ClassVar[Literal[False]] = False

    def reaching(self, depth: int) -> LabelFormat:
        """The same format, for paths of at least some length."""
        if self.ndim == 1:
            return self
        return replace(self, n_levels=max(self.n_levels, depth))


@dataclass(frozen=True)
class SetFormat:
    """The format of several labels per row in ``y``, in which predictions are returned.

    Attributes
    ----------
    kind : {"lists", "dense", "sparse", "frame"}
        Lists of names; a matrix with a column per node; a frame with a column per name.
    as_paths : bool
        Whether names are path tuples.
    columns : tuple
        The names of the columns of a frame.
    library : str
        The library of the frame, "pandas" or "polars".
    missing : object
        The value of a missing label, which does not occur.
    """

    kind: str
    as_paths: bool = False
    columns: tuple[Any, ...] = ()
    library: str = ""
    missing: Any = None

    of_sets: ClassVar[Literal[True]] = True

    def reaching(self, depth: int) -> SetFormat:
        """The same format, which supports paths of any length."""
        return self


@dataclass(frozen=True)
class Options:
    """The branches of every node of a tree.

    Attributes
    ----------
    indptr, indices : ndarray of int
        CSR: the options of node ``v`` are ``indices[indptr[v]:indptr[v + 1]]``: the children that
        have training rows and, last, ``v`` itself if a path may stop there.
    can_stop : ndarray of bool
        Whether a path may end at this inner node.
    ends : ndarray of int
        All nodes at which a path may end, in ascending order.
    """

    indptr: IntArray
    indices: IntArray
    can_stop: AnyArray
    ends: IntArray


def _has(method: str) -> Callable[[Any], bool]:
    return lambda packed: hasattr(packed.estimator, method)


@dataclass(frozen=True, eq=False)
class Packed:
    """A linear classifier that was fitted on some of the columns, for rows with all columns.

    It replaces the classifier in queries. ``_engine.packed`` creates it, and widens it to all
    columns of X for users.

    Attributes
    ----------
    estimator : object
        The narrow classifier.
    columns : ndarray of int32
        Its columns among those of X, in ascending order.
    n_features : int
        The number of columns of X.
    double : bool
        Whether its rows need 64 bits: its weights are sparse, or were rounded to 32 bits in a file
        that is mapped to memory.
    norm : float
        The largest norm of a training row; infinite where scores do not follow from weights and
        rows alone, so that files have all bits of the weights.
    dropped : bool
        Whether small weights were dropped, so that files leave out what is 0.
    """

    estimator: Any
    columns: IntArray
    n_features: int
    double: bool = False
    norm: float = np.inf
    dropped: bool = False

    @property
    def classes_(self) -> AnyArray:
        """The classes of the classifier."""
        return np.asarray(self.estimator.classes_)

    def narrow(self, X: Any) -> Any:
        """The columns of the classifier, from rows with all columns."""
        rows = X if len(self.columns) == self.n_features else select_columns(X, self.columns)
        return rows.astype(np.float64, copy=False) if self.double else rows

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> AnyArray:
        """Scores of rows."""
        return np.asarray(self.estimator.decision_function(self.narrow(X)))

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> AnyArray:
        """Probabilities of classes."""
        return np.asarray(self.estimator.predict_proba(self.narrow(X)))

    def predict(self, X: Any) -> AnyArray:
        """The class of every row."""
        return np.asarray(self.estimator.predict(self.narrow(X)))


class _InBlocks:
    """Models with packed classifiers, which files store as a few large arrays."""

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        for name in ("classifiers", "gates"):
            packed = {k: fitted for k, fitted in state[name].items() if isinstance(fitted, Packed)}
            if packed:
                state[name] = {k: v for k, v in state[name].items() if k not in packed}
                blocks = as_blocks(list(packed.values()), state.get("temperature") or 1.0)
                state[f"packed_{name}"] = {"owners": np.array(list(packed)), "blocks": blocks}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        for name in ("classifiers", "gates"):
            stored = state.pop(f"packed_{name}", None)
            if stored is not None:
                owners = stored["owners"].tolist()
                packed = dict(zip(owners, from_blocks(stored["blocks"]), strict=True))
                state[name] = dict(sorted({**state[name], **packed}.items()))
        vars(self).update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        # Not the state of files, whose weights are rounded.
        copy = memo[id(self)] = object.__new__(type(self))
        vars(copy).update(deepcopy(vars(self), memo))
        return copy


@dataclass(frozen=True)
class LocalModels(_InBlocks):
    """Everything that prediction needs.

    Attributes
    ----------
    strategy : str
        The name of the strategy, which defines the local problems.
    hierarchy : Hierarchy
        The tree.
    options : Options
        The branches of every node.
    classifiers : dict
        Fitted classifiers by node or level; where they were fitted on some of the columns,
        ``Packed``.
    gates : dict
        Fitted binary classifiers "stop here?" by node; per node only.
    soft : bool
        Whether all of them have ``predict_proba``.
    temperature : float or None
        The temperature of calibrated models.
    joint : bool
        Whether probabilities are normalised over all final classes, and not at every node.
    is_direct : bool
        Whether the probabilities of all final classes are known at once: those of a joint model,
        or of one classifier that decides about all of them.
    own_weight : ndarray of shape (n_nodes,) or None
        The weight of the training rows that end at each node; None in older files.
    expected_own : ndarray of shape (n_nodes,) or None
        The probability of ending at each node, summed over rows that the models were not fitted on;
        None where nothing was learned out of fold.
    """

    strategy: str
    hierarchy: Any
    options: Options
    classifiers: dict[int, Any]
    gates: dict[int, Any]
    soft: bool
    temperature: float | None = None
    joint: bool = False
    is_direct: bool = False
    own_weight: FloatArray | None = None
    expected_own: FloatArray | None = None

    of_sets = False

    @property
    def has_proba(self) -> bool:
        """Whether there are probabilities."""
        return self.soft or self.temperature is not None


@dataclass(frozen=True, kw_only=True)
class BatchModels(LocalModels):
    """Local models that have learned from batches.

    Attributes
    ----------
    layout : Options
        What the classifiers can tell apart, at least the options: they know their classes before
        there are rows of all of them.
    n_own : ndarray of int
        The number of rows so far that ended at each node.
    one_sided : dict
        Binary classifiers, by node or for a gate by ``~node``, that have seen rows of one class
        only, and which class: they are of classes added later, and cannot be queried yet.
    learned : dict
        For each classifier the rows learned by class; see ``_problems.batches.Guard``.
    """

    layout: Options
    n_own: IntArray
    one_sided: dict[int, int] = field(default_factory=dict)
    learned: dict[int, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True)
class EnsembleModels:
    """Several models of the same final classes, whose probabilities are combined.

    Attributes
    ----------
    hierarchy : Hierarchy
        The tree.
    options : Options
        The branches of every node.
    members : tuple
        The models.
    weights : tuple of float
        Their weights.
    voting : {"product", "mean"}
        How they are combined.
    expected_own : ndarray of shape (n_nodes,) or None
        As in ``LocalModels``.
    class_weights : ndarray of shape (n_members, n_final) or None
        The weights of a product in which they depend on the class: with class texts.
    class_bias : ndarray of shape (n_final,) or None
        The terms that are added to the logarithms.
    """

    hierarchy: Any
    options: Options
    members: tuple[Any, ...]
    weights: tuple[float, ...]
    voting: str = "product"
    expected_own: FloatArray | None = None
    class_weights: FloatArray | None = None
    class_bias: FloatArray | None = None

    of_sets = False
    temperature = None
    is_direct = has_proba = True


@dataclass(frozen=True)
class TextModels:
    """Class texts: texts and rows as vectors, and the weights of similarities.

    Attributes
    ----------
    hierarchy : Hierarchy
        The tree, whose classes have texts.
    options : Options
        The branches of every node.
    encoder : object or None
        What makes vectors of texts; None where rows are vectors already.
    texts, rows : matrix of shape (n_texts, n_features) and (n_rows, n_features)
        Vectors of unit length, ordered by node.
    text_nodes, row_nodes : ndarray of int
        The nodes that they belong to, ascending.
    parameters : ndarray
        What was learned, or what serves where nothing was.
    weights : ndarray of shape (n_similarities, n_final)
        The weight of every kind of similarity for every final class.
    bias : ndarray of shape (n_final,)
        What is added for every final class.
    row_numbers : ndarray of int
        The number of every row among the training rows.
    own_weight : ndarray of shape (n_nodes,) or None
        As in ``LocalModels``; None without rows.
    same : float
        What is added to the score of a class that has a text or a row equal to the row to classify.
    """

    hierarchy: Any
    options: Options
    encoder: Any
    texts: Any
    text_nodes: IntArray
    rows: Any
    row_nodes: IntArray
    parameters: FloatArray
    weights: FloatArray
    bias: FloatArray
    row_numbers: IntArray
    own_weight: FloatArray | None = None
    same: float = 0.0

    of_sets = False
    temperature = expected_own = None
    is_direct = has_proba = True
    joint = False

    @property
    def classifiers(self) -> dict[int, Any]:
        """There are no local classifiers."""
        return {}

    gates = classifiers

    def __getstate__(self) -> dict[str, Any]:
        # Without values that are computed during prediction; sparse vectors as plain arrays.
        state = {name: value for name, value in vars(self).items() if name != "_profiles"}
        for name in ("texts", "rows"):
            if sp.issparse(state[name]):
                X = state.pop(name)
                parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
                state[f"sparse_{name}"] = {**parts, "width": X.shape[1]}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        for name in ("texts", "rows"):
            stored = state.pop(f"sparse_{name}", None)
            if stored is not None:
                parts = stored["data"], stored["indices"], stored["indptr"]
                shape = (len(parts[2]) - 1, stored["width"])
                state[name] = sp.csr_matrix(parts, shape=shape)
        vars(self).update(state)


@dataclass(frozen=True)
class RestrictedModels:
    """A model that is conditional on some classes.

    Attributes
    ----------
    hierarchy : Hierarchy
        The tree.
    options : Options
        The branches of every node, within these classes.
    base : LocalModels or EnsembleModels
        The model that it was made from.
    """

    hierarchy: Any
    options: Options
    base: Any

    of_sets = False
    temperature = None
    is_direct = has_proba = True


@dataclass(frozen=True)
class AdaptedModels:
    """A model for rows whose class shares differ from those of the training rows.

    Attributes
    ----------
    hierarchy : Hierarchy
        The tree.
    options : Options
        The branches of every node, as in ``base``.
    base : LocalModels, EnsembleModels or RestrictedModels
        The model that it was made from.
    shares : ndarray of shape (n_final,)
        The shares of the final classes, ``options.ends``.
    log_weights : ndarray of shape (n_final,)
        The logarithms of these shares divided by those in training.
    n_iter : int
        The number of iterations in which the shares were estimated; 0 if they were given.
    """

    hierarchy: Any
    options: Options
    base: Any
    shares: FloatArray
    log_weights: FloatArray
    n_iter: int = 0

    of_sets = False
    temperature = None
    is_direct = has_proba = True


@dataclass(frozen=True)
class SetModels(_InBlocks):
    """Everything that the prediction of sets needs.

    Attributes
    ----------
    strategy : str
        The name of the strategy, which defines the local problems.
    hierarchy : Hierarchy
        A tree or a DAG.
    classifiers : dict
        Fitted classifiers by node or level.
    classes : dict
        The nodes that each of them decides about.
    gates : dict
        Fitted binary classifiers "does it end here?" by node; per node, inside the parents only.
    populated : ndarray of bool
        Whether a node has training rows; the others have probability 0.
    ends : ndarray of int
        The nodes that are a most specific one of some training row.
    inside_parent : bool
        Whether probabilities are conditional on the parents of a node.
    of_final : bool
        Whether they are of rows that end at a node, which is then as likely as the likeliest
        below it.
    """

    strategy: str
    hierarchy: Any
    classifiers: dict[int, Any]
    classes: dict[int, IntArray]
    populated: AnyArray
    ends: IntArray
    inside_parent: bool = False
    gates: dict[int, Any] = field(default_factory=dict)
    of_final: bool = False

    of_sets = has_proba = is_direct = True
    temperature = None


@dataclass(frozen=True, kw_only=True)
class SetBatchModels(SetModels):
    """Models of sets that have learned from batches.

    Attributes
    ----------
    everywhere : tuple of int
        The owners of the classifiers that learn from all rows.
    policy : str or callable
        The policy as it was read in the first batch, by name or as it was given; empty but per
        node.
    given_policy : str
        The name of the policy that was given.
    n_own, n_below : ndarray of int
        How many rows so far had each node as a most specific one, and were in it.
    """

    everywhere: tuple[int, ...]
    policy: Any
    given_policy: str
    n_own: IntArray
    n_below: IntArray


@dataclass(frozen=True)
class SetEnsembleModels:
    """Several models of sets of classes, whose probabilities are combined.

    Attributes
    ----------
    hierarchy : Hierarchy
        A tree or a DAG.
    populated, ends : ndarray
        As those of the members.
    members, weights, voting
        As in ``EnsembleModels``.
    """

    hierarchy: Any
    populated: AnyArray
    ends: IntArray
    members: tuple[Any, ...]
    weights: tuple[float, ...]
    voting: str = "product"

    of_sets = has_proba = is_direct = True
    temperature = None


@dataclass(frozen=True)
class RestrictedSetModels:
    """A model of sets in which all labels are among some classes.

    Attributes
    ----------
    hierarchy : Hierarchy
        A tree or a DAG.
    populated : ndarray of bool
        The nodes that can be predicted: those inside that have training rows, and all above them.
    ends : ndarray of int
        As in ``SetModels``, within these classes.
    base : SetModels, SetEnsembleModels or RestrictedSetModels
        The model that it was made from.
    inside : ndarray of bool
        The given classes and everything below them.
    """

    hierarchy: Any
    populated: AnyArray
    ends: IntArray
    base: Any
    inside: AnyArray

    of_sets = has_proba = is_direct = True
    temperature = None


@dataclass(frozen=True)
class CalibratedSetModels:
    """A model of sets whose probabilities are corrected class by class.

    Attributes
    ----------
    hierarchy, populated, ends
        As those of the model that it was made from.
    base : SetModels
        That model.
    method : str
        The name of the calibration.
    maps : ndarray of shape (n_maps, n_parameters)
        The parameters of its maps.
    map_of : ndarray of int of shape (n_nodes,)
        The map of every node.
    """

    hierarchy: Any
    populated: AnyArray
    ends: IntArray
    base: Any
    method: str
    maps: FloatArray
    map_of: IntArray

    of_sets = has_proba = is_direct = True
    temperature = None


#: Fitted models by what they predict: one path per row, or sets of classes.
PathModels = LocalModels | EnsembleModels | TextModels | RestrictedModels | AdaptedModels
AnySetModels = SetModels | SetEnsembleModels | RestrictedSetModels | CalibratedSetModels


@dataclass(frozen=True)
class LevelColumns:
    """The columns of the classifiers per level.

    Attributes
    ----------
    classes : list of ndarray
        Per level, starting at 1, the meaning of its columns.
    child, stop : ndarray of int
        By node: its column among the classes of its level, and the column of stopping at it among
        those of the next level.
    """

    classes: list[IntArray]
    child: IntArray
    stop: IntArray


@dataclass(frozen=True)
class Stream:
    """What a model stores between batches, besides its classifiers.

    Attributes
    ----------
    layout : Options
        The classes that the classifiers can distinguish.
    columns : LevelColumns or None
        The same for classifiers per level.
    complete : bool
        Whether the layout holds the whole hierarchy and, unless ``leaf_only``, all stops.
    policy : str or callable
        The policy as it is read from the beginning, by name or as it was given; empty but per node.
    settings : tuple
        The parameters that must not change between batches.
    ended_early : bool
        Whether there have been rows that end at an inner node; per node.
    """

    layout: Options
    columns: LevelColumns | None
    complete: bool
    policy: Any
    settings: tuple[Any, ...]
    ended_early: bool


@dataclass(frozen=True)
class Scaling:
    """How numbers are scaled and missing numbers imputed.

    Attributes
    ----------
    fill : ndarray of shape (n_numbers,)
        The value that replaces a missing number.
    flagged : ndarray of int
        The numbers of which a feature of their own says whether they are missing.
    mean, scale : ndarray of shape (n_numbers,) or (0,)
        The values that are subtracted, and the divisors; empty if numbers are not scaled.
    """

    fill: FloatArray
    flagged: IntArray
    mean: FloatArray
    scale: FloatArray
