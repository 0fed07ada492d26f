"""The candidate models, by the kind of the rows and the size of the task, not by measured time.

Sizes are counted in operations: a linear classifier of k classes on n rows with z values each costs
n * k * z, a kernel machine with m landmarks n * m * (m + k), and forests are converted by their
measured time. The same rows and seed have the same proposals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from hiclass._compat import routing_enabled
from hiclass._engine.by_depth import ByDepth
from hiclass._estimators.flat import FlatClassifier
from hiclass._estimators.local import LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass._linear.discriminant import DiscriminantClassifier
from hiclass._linear.kernel_ridge import KernelRidgeClassifier
from hiclass._problems.index import TreeIndex, find_options
from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

#: A flat classifier that costs more than this many times all local ones is omitted.
MOST_FLAT = 10
#: The temperature of models that learn none: of margins on words, of kernel machines on few rows.
USUAL_TEMPERATURE, FEW_ROWS_TEMPERATURE = 0.125, 0.5
#: Numbers per feature of a network, and their largest total: 40 MB in files, more in memory.
_EMBEDDING, _MOST_WEIGHTS = 128, 10_000_000
#: With at most this many columns, trees consider all of them at every split, otherwise the square
#: root of their number.
_FEW_COLUMNS = 50
#: Dense rows with at least this many columns are like embeddings. With at least this many classes,
#: a discriminant analysis is used if nothing is measured. The number of landmarks, and the largest
#: number of their values.
_MANY_COLUMNS, _MANY_CLASSES, _LANDMARKS, _MOST_COEFFICIENTS = 128, 50, 1_000, 50_000_000
#: The number of rows per final class from which trees are chosen without a comparison: their leaves
#: have two.
_ROWS_FOR_TREES = 10
#: The largest size of the trees of a forest: every node of a tree has a number for each class.
_MOST_BYTES = 2e9
#: The F-score assumed by models that measure none.
USUAL_F = 0.8


@dataclass(frozen=True)
class Effort:
    """The effort of the comparison.

    Attributes
    ----------
    name : str
        The name that users write.
    n_folds : int
        The number of folds (of three) that are held out in turn; with 0, nothing is measured.
    both : bool
        Whether kernel machines and logistic regressions on dense rows are tried over all final
        classes and per parent node, instead of only one of the two.
    n_landmarks : int
        Of kernel machines, at most.
    n_trees, n_trees_held_out : int
        Of forests, and of those that are fitted without a fold: a third of the trees is enough to
        learn temperatures and weights from.
    work : float
        The most work of a single fit, in multiplications.
    n_networks : int
        Of networks on sparse rows, which differ by their seeds.
    """

    name: str
    n_folds: int
    both: bool
    n_landmarks: int
    n_trees: int
    n_trees_held_out: int
    work: float
    n_networks: int


#: Fewer rows than this are too few to measure or tune anything on.
FEWEST_ROWS = 30
EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("quick", 0, False, 2_000, 100, 100, 2e11, 0),
        Effort("balanced", 1, False, 5_000, 100, 33, 5e11, 1),
        Effort("best", 3, True, 5_000, 300, 300, 5e12, 3),
    )
}


@dataclass(frozen=True)
class Size:
    """The size of a task.

    Attributes
    ----------
    n_rows, n_columns : int
        The shape of X.
    n_numbers : float
        Numbers per row: columns, or entries of sparse rows, on average.
    n_final : int
        Final classes.
    local : float
        Rows times branches, summed over all nodes with a choice.
    n_problems : int
        Nodes with a choice.
    """

    n_rows: int
    n_columns: int
    n_numbers: float
    n_final: int
    local: float
    n_problems: int

    @property
    def flat(self) -> float:
        """Rows times final classes."""
        return float(self.n_rows) * self.n_final


@dataclass(frozen=True)
class Proposal:
    """A candidate model.

    Attributes
    ----------
    name : str
        The name of the candidate.
    model : estimator
        The unfitted hierarchical classifier.
    says : str
        A description in words.
    trial : dict
        Parameters of the model where it is fitted without a fold, which make it cheaper.
    """

    name: str
    model: Any
    says: str
    trial: dict[str, Any] = field(default_factory=dict)


@dataclass
class Proposals:
    """The candidate models, and why others are omitted."""

    chosen: list[Proposal] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """The settings of all models, from the parameters of the estimator.

    Attributes
    ----------
    effort : Effort
        The effort.
    common : dict
        Parameters of every hierarchical classifier.
    seed : int
        For the classifiers inside.
    kernel : dict
        Parameters of kernel machines.
    """

    effort: Effort
    common: dict[str, Any]
    seed: int
    kernel: dict[str, Any] = field(default_factory=dict)


def size_of(X: Any, nodes: IntArray, hierarchy: Hierarchy) -> Size:
    """The size of a task with one path per row."""
    index = TreeIndex(hierarchy, nodes)
    options = find_options(index, leaf_only=False)
    n_branches = np.diff(options.indptr)
    local = float((index.n_below * n_branches)[n_branches > 1].sum())
    n_rows, n_columns = X.shape
    n_numbers = X.nnz / max(n_rows, 1) if sp.issparse(X) else n_columns
    n_problems = int((n_branches > 1).sum())
    return Size(n_rows, n_columns, float(n_numbers), len(options.ends), local, n_problems)


def propose(X: Any, size: Size, settings: Settings) -> Proposals:
    """Models for rows of numbers with one path each.

    The first proposal is used if nothing is measured.
    """
    if sp.issparse(X):
        return _for_sparse(size, settings)
    return _for_dense(X, size, settings)


# -- sparse rows: words and the like ---------------------------------------------------------------


def _for_sparse(size: Size, settings: Settings) -> Proposals:
    effort, found = settings.effort, Proposals()
    svm = LinearSVC(dual=True, tol=0.1)
    # Deeper nodes have fewer rows, and C may be larger.
    local = _local(ByDepth(ready(svm), C=[0.5, 1, 2]), settings)
    found.chosen.append(Proposal("local", local, "a LinearSVC per parent node"))
    if not effort.n_folds:
        return found
    if not _is_shallow(size) and _flat_is_small(size, found):
        flat = _flat(ready(svm), settings)
        found.chosen.append(Proposal("flat", flat, "a LinearSVC over all final classes"))
    _propose_networks(size, settings, found)
    return found


def _propose_networks(size: Size, settings: Settings, found: Proposals) -> None:
    """A softmax over all final classes after an embedding, if PyTorch is installed."""
    work = size.n_rows * _EMBEDDING * (size.n_numbers + size.n_final) * 10
    if size.n_columns * _EMBEDDING > _MOST_WEIGHTS:
        found.left_out["network"] = f"{size.n_columns:,} features would make it very large"
    elif work > settings.effort.work:
        found.left_out["network"] = "too much work for so many rows and classes"
    elif find_spec("torch") is None:
        found.left_out["network"] = "PyTorch is not installed"
    else:
        from hiclass.torch import HierarchicalSoftmaxClassifier

        common = {k: v for k, v in settings.common.items() if k != "n_jobs"}
        for k in range(settings.effort.n_networks):
            seed = {"random_state": settings.seed + k}
            model = HierarchicalSoftmaxClassifier(loss="leaf", device="cpu", **(common | seed))
            name = f"network {k + 1}" if k else "network"
            found.chosen.append(Proposal(name, model, "a network over all final classes"))


# -- dense rows: measurements, tables, embeddings ----------------------------------------------


def _for_dense(X: FloatArray, size: Size, settings: Settings) -> Proposals:
    effort, found = settings.effort, Proposals()
    enough = size.n_rows >= _ROWS_FOR_TREES * size.n_final
    if not effort.n_folds and enough and _is_mixed(X) and _forest_fits(size, effort, Proposals()):
        # Distances are not meaningful if columns have different meanings.
        found.chosen.append(_propose_forest(size, settings, calibration=None))
        return found
    kernel = _kernel(size, settings)
    # Without a comparison, only if a kernel machine, which is better, would take too long.
    unmeasured = kernel is None and size.n_final >= _MANY_CLASSES
    if size.n_columns >= _MANY_COLUMNS and (effort.n_folds or unmeasured):
        _propose_discriminant(size, settings, found)
        if not effort.n_folds and found.chosen:
            return found
    flat_fits = _flat_is_small(size, found)
    if kernel is None:
        found.left_out["kernel"] = "too many rows for a kernel machine"
    else:
        if flat_fits:
            says = "a kernel ridge classifier over all final classes"
            flat = _flat(kernel, settings).set_params(temperature=FEW_ROWS_TEMPERATURE)
            found.chosen.append(Proposal("flat kernel", flat, says))
        if not _is_shallow(size) and (effort.both or not flat_fits):
            says = "a kernel ridge classifier per parent node"
            found.chosen.append(Proposal("local kernel", _local(kernel, settings), says))
    if not effort.n_folds and found.chosen:
        return found
    _propose_linear(size, settings, found, flat_fits)
    if not effort.n_folds:
        return found
    if size.n_columns >= _MANY_COLUMNS and not _is_mixed(X):
        found.left_out["forest"] = "single columns of embeddings say little"
    elif _forest_fits(size, effort, found):
        found.chosen.append(_propose_forest(size, settings, calibration="temperature"))
    return found


def _is_mixed(X: FloatArray) -> bool:
    """Whether there are columns of 0 and 1, such as categories, next to others."""
    binary = [bool(np.isin(column, (0, 1)).all()) for column in X.T]
    return any(binary) and not all(binary)


def _forest_fits(size: Size, effort: Effort, found: Proposals) -> bool:
    """Whether forests are affordable; the reason is stored if not."""
    if _work_of_forest(size, effort.n_trees) > effort.work / 2:
        found.left_out["forest"] = "too many rows for a forest"
    elif 8 * effort.n_trees * size.local > _MOST_BYTES:
        found.left_out["forest"] = "its trees would not fit into memory"
    return "forest" not in found.left_out


def _propose_forest(size: Size, settings: Settings, calibration: str | None) -> Proposal:
    few = size.n_columns <= _FEW_COLUMNS
    forest = ExtraTreesClassifier(
        settings.effort.n_trees, min_samples_leaf=2, max_features=None if few else "sqrt"
    )
    model = _local(ready(forest), settings, calibration)
    trial = {"local_classifier__n_estimators": settings.effort.n_trees_held_out}
    return Proposal("local forest", model, "extremely random trees per parent node", trial)


def _work_of_forest(size: Size, n_trees: int) -> float:
    """The number of multiplications that would take about as long."""
    by_rows = size.n_rows * np.log2(size.n_rows + 1) * np.sqrt(size.n_columns) * 1e3
    if size.n_columns <= _FEW_COLUMNS:  # considering all of them takes twice as long
        by_rows *= 2
    return float(n_trees * (by_rows + 2e7 * size.n_problems))


def _propose_linear(size: Size, settings: Settings, found: Proposals, flat_fits: bool) -> None:
    """A logistic regression: flat if that is affordable, otherwise per parent node, or both."""
    scaler = StandardScaler().set_output(transform="default")
    if routing_enabled():
        scaler.set_fit_request(sample_weight=False)
    logistic = make_pipeline(scaler, ready(LogisticRegression(max_iter=300, tol=1e-3)))
    n_steps = 600  # of two multiplications, as far as they go in the worst case
    most = settings.effort.work / (size.n_numbers * n_steps)
    flat = flat_fits and size.flat <= most
    if flat:
        model = _flat(logistic, settings, calibration="temperature")
        says = "a logistic regression over all final classes"
        found.chosen.append(Proposal("flat logistic", model, says))
    wanted = not flat or (settings.effort.both and not _is_shallow(size))
    if wanted and (size.local <= most or not found.chosen):
        model = _local(logistic, settings, calibration="temperature")
        says = "a logistic regression per parent node"
        found.chosen.append(Proposal("local logistic", model, says))
    elif not flat:
        found.left_out["logistic"] = "too much work for so many rows and classes"


def _propose_discriminant(size: Size, settings: Settings, found: Proposals) -> None:
    """A discriminant analysis over all final classes, which is fast for any number of classes."""
    work = settings.effort.work / size.n_rows  # per row
    if size.n_columns**2 > work:
        found.left_out["discriminant"] = "too many rows for so many columns"
        return
    fits = _LANDMARKS * (_LANDMARKS + size.n_columns) <= work
    curved = fits and _LANDMARKS * size.n_final <= _MOST_COEFFICIENTS
    classifier = DiscriminantClassifier(
        n_landmarks=_LANDMARKS if curved else 0, random_state=settings.seed
    )
    calibration = "temperature" if settings.effort.n_folds else None
    model = _flat(ready(classifier), settings, calibration=calibration)
    says = "a discriminant analysis over all final classes"
    found.chosen.append(Proposal("flat discriminant", model, says))


def _kernel(size: Size, settings: Settings) -> Any:
    """A kernel machine with as many landmarks as are affordable; None if these are too few."""
    effort = settings.effort
    # Rows times m * (m + classes) multiplications.
    n_classes = size.n_final if size.flat <= MOST_FLAT * max(size.local, 1.0) else 0
    affordable = int(np.sqrt(n_classes**2 / 4 + effort.work / size.n_rows) - n_classes / 2)
    n_landmarks = min(effort.n_landmarks, affordable)
    if n_landmarks < 1_000 and size.n_rows > 2 * n_landmarks:
        return None
    return ready(KernelRidgeClassifier(n_landmarks=n_landmarks, **settings.kernel))


# -- a classifier of the user ------------------------------------------------------------------


def propose_given(local_classifier: Any, size: Size, settings: Settings) -> Proposals:
    """Models with a given local classifier."""
    found, effort = Proposals(), settings.effort
    typical = (
        local_classifier.estimator if isinstance(local_classifier, ByDepth) else local_classifier
    )
    is_object = hasattr(typical, "fit")
    name = type(typical).__name__ if is_object else "classifier"
    by_margin = is_object and not hasattr(typical, "predict_proba")
    can_score = not is_object or not by_margin or hasattr(typical, "decision_function")
    options: dict[str, Any] = {"calibration": "joint" if by_margin else "temperature"}
    if not effort.n_folds or not can_score:
        # Its scores may have any scale, so without a measurement there is no temperature.
        options = {"calibration": None}
    local = _local(local_classifier, settings, **options)
    found.chosen.append(Proposal("local", local, f"a {name} per parent node"))
    if not effort.n_folds or _is_shallow(size):
        return found
    if not can_score:
        found.left_out["flat"] = f"{name} has neither predict_proba nor decision_function"
    elif _flat_is_small(size, found):
        flat = _flat(local_classifier, settings, **options)
        found.chosen.append(Proposal("flat", flat, f"a {name} over all final classes"))
    return found


# -- several labels per row ----------------------------------------------------------------------


def propose_sets(local_classifier: Any, common: dict[str, Any]) -> Proposal:
    """The model for sparse rows that are sets of classes, with the parameters of all estimators."""
    if local_classifier is not None:
        model = LocalClassifierPerNode(local_classifier, **common)
        return Proposal("local", model, "the given classifier per node")
    model = LocalClassifierPerNode(ready(LogisticRegression(C=10.0, solver="liblinear")), **common)
    return Proposal("local", model, "a logistic regression per node")


# -- parts -------------------------------------------------------------------------------------


def _is_shallow(size: Size) -> bool:
    """Whether only the root has several branches, so that flat and local are the same."""
    return size.n_problems <= 1


def _flat_is_small(size: Size, found: Proposals) -> bool:
    """Whether a flat classifier is affordable; the reason is stored if not."""
    if not size.local or size.flat <= MOST_FLAT * size.local:  # there may be nothing to decide
        return True
    times = size.flat / size.local
    found.left_out["flat"] = f"{times:,.0f} times the work of all local classifiers"
    return False


def _local(classifier: Any, settings: Settings, calibration: str | None = "joint") -> Any:
    return LocalClassifierPerParentNode(
        classifier,
        **_calibrated(calibration),
        decoding=_decoding(classifier, calibration),
        **settings.common,
    )


def _flat(classifier: Any, settings: Settings, calibration: str | None = "joint") -> Any:
    return FlatClassifier(classifier, **_calibrated(calibration), **settings.common)


def _calibrated(calibration: str | None) -> dict[str, Any]:
    temperature = None if calibration is None else USUAL_TEMPERATURE
    return {"calibration": calibration, "temperature": temperature}


def _decoding(classifier: Any, calibration: str | None) -> str:
    """The decoding to use until the objective is known."""
    typical = classifier.estimator if isinstance(classifier, ByDepth) else classifier
    scores = calibration is not None or hasattr(typical, "predict_proba")
    return "best_path" if scores or not hasattr(typical, "fit") else "top_down"


def ready(classifier: Any) -> Any:
    """A classifier that accepts row weights, also with metadata routing."""
    classifier = clone(classifier)
    return classifier.set_fit_request(sample_weight=True) if routing_enabled() else classifier
