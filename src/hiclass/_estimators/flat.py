"""The flat baseline: one classifier over all final classes, with sums up the tree."""

from __future__ import annotations

from typing import Any, ClassVar

from hiclass._compat import UNUSED, StrOptions
from hiclass._estimators import fitting, incremental
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.fitted import local_classes, local_classifiers
from hiclass._estimators.fitting import FIT_REQUESTS, LOCAL_CONSTRAINTS, local_prototype
from hiclass._inference.decodings import DECODINGS, Decoding
from hiclass._problems.strategies import STRATEGIES


class FlatClassifier(BaseHierarchicalClassifier):
    """One multi-class classifier over all leaves, without using the hierarchy.

    This is the baseline for every hierarchical model. It predicts the most probable final class and
    the path to it. A final class is a leaf, or an inner node at which training rows end. The
    probability of an inner node is the sum over the final classes at or below it.

    Parameters
    ----------
    local_classifier : estimator, ByDepth or callable, default=None
        The classifier, which is cloned. By default, ``LogisticRegression()``. Of a ``ByDepth``, the
        classifier of depth 0 is used. A callable takes the empty path ``()`` and returns a
        classifier. The keys of a ``class_weight`` dict are labels or path tuples.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of classes, a tree or a DAG. By default, it is read from ``y``. Classes
        without training rows get probability 0.
    decoding : {"best_path", "expected_f1"} or callable, default="best_path"
        How a path is chosen. "best_path": the most probable final class. "expected_f1": the node
        with the best expected hierarchical F-score, so that paths may stop early. A callable takes
        node probabilities and the hierarchy and returns one node per row.
    expected_f1 : float, default=None
        The hierarchical F-score that ``decoding="expected_f1"`` assumes. A class is predicted if
        its probability exceeds half of this value. By default, it is estimated from three
        out-of-fold fits.
    min_confidence : float, sequence of float or mapping, default=0.0
        Stops a path before its first node with a lower probability. A sequence holds one value per
        level. A mapping has classes (paths or labels) as keys, and one value, or one value per
        level, for each. An entry applies to a class and its descendants, unless they have their own
        entry.
    leaf_only : bool, default=False
        Whether every path must end at a leaf. Training rows that end at an inner node are then
        ignored.
    calibration : {"temperature", "joint", "sigmoid", "isotonic"} or None, default=None
        How scores of the classifier are converted to probabilities. It also works for classifiers
        that have only ``decision_function``.

        * ``"temperature"``: a softmax.
        * ``"joint"``: a sigmoid of every score, normalised over all classes.
        * ``"sigmoid"`` or ``"isotonic"``, for sets of classes only: a monotonic function per class.
          Classes with fewer than ten positive rows share one function.

        With the first two, scores are divided by a temperature. The temperature or the functions
        are learned from three out-of-fold fits.
    temperature : float or "estimated", default=None
        A fixed temperature for the calibration, which then needs no out-of-fold fits.
        ``"estimated"`` computes the temperature and the expected F-score from approximate
        leave-one-out margins of the training rows, at a small part of the cost of folds. It
        requires ``calibration="joint"`` and ``LinearSVC`` or ``FastLinearSVC`` with ``tol`` of at
        most 0.1.
    multi_label : bool, default=False
        Whether a row may have several labels. ``y`` then holds a list of labels or path tuples for
        every row, or is an indicator matrix. Every class is a separate binary problem, and the
        prediction for a row is a set of classes.
    threshold : float, str or tuple, default=0.5
        Which classes are predicted with ``multi_label=True`` or in a DAG.

        * A float: the classes with at least this probability.
        * ``"tuned"``: one threshold per class, the one with the best F1.
        * ``"micro_f1"``: the common threshold with the best micro-averaged F1.
        * ``("precision", 0.9)``: the lowest common threshold at which 90 % of the predicted classes
          are correct.
        * ``("cost", 1, 5)``: the common threshold with the lowest cost, if a wrong class costs 1
          and a missed class costs 5.
        * ``("top", 3)``: the three most probable final classes.

        Thresholds other than a float and "top" are learned from three out-of-fold fits. After such
        a fit, ``set_params`` can switch between all of them. "precision" and "top" require
        ``multi_label=True``.
    min_coef : float, default=0.0
        Weights (``coef_``) of linear local classifiers with a smaller absolute value are set to
        zero after each fit, which makes files of models smaller. A value of 0.1 suits ``LinearSVC``
        on TF-IDF features. Other classifiers, and rows that are not a matrix, raise an error.
    n_jobs : int, default=None
        Number of parallel jobs for predicting chunks of rows, with the same meaning as in joblib.
        Fitting the single classifier is not parallel.
    checkpoint_dir : str or path, default=None
        A directory that stores the fitted classifier by a hash of its data and parameters, to be
        reused by later fits. The files are pickles, so the directory must be trusted.
    random_state : int, RandomState instance or None, default=None
        Seeds the classifier if it has a ``random_state``.
    verbose : int, default=0
        1 shows a progress bar on stderr.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The hierarchy of classes.
    classes_ : ndarray, or list of ndarray
        The labels. For paths, one array per level.
    missing_label_ : object
        The value of a missing label in predictions.
    prior_ : ndarray of shape (n_nodes,)
        The share of every node among the training rows, or the share set by ``adapted_to``.
    local_classifiers_ : mapping
        The fitted classifier, with the path of the root, ``()``, as key. A linear classifier fitted
        on sparse rows is returned as a copy. Its weights are a CSR matrix, or dense if most columns
        occur in X.
    local_classes_ : dict
        The nodes that the classes of each local classifier stand for, under the same keys.
    temperature_ : float
        The temperature. Only set with ``calibration="temperature"`` or ``"joint"``.
    expected_f1_ : float
        The out-of-fold hierarchical F-score of ``decoding="expected_f1"``. Only set if it is
        learned, which happens with that decoding or together with a temperature.
    thresholds_ : ndarray of shape (n_nodes,)
        The threshold with the best F1 for every node. Only set if ``threshold`` is learned.
    threshold_curve_ : ndarray of shape (n_points, 3)
        Out-of-fold results of common thresholds. The columns are the threshold, the share of the
        true classes that are predicted, and the number of predicted classes per true class. Only
        set if ``threshold`` is learned.
    n_features_in_ : int
        The number of features, if X has columns.
    feature_names_in_ : ndarray of str
        Names of the features, if X has column names.

    See Also
    --------
    LocalClassifierPerParentNode : One multi-class classifier per parent node.
    GlobalClassifier : One estimator that predicts all classes.

    Examples
    --------
    >>> from hiclass import FlatClassifier
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> FlatClassifier().fit(X, y).predict([[5, 9]])
    array([['Plant', 'Fern']], dtype=object)
    """

    _strategy = STRATEGIES["flat"]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LOCAL_CONSTRAINTS,
        "decoding": [
            StrOptions({d.name for d in DECODINGS.values() if not d.step_by_step}),
            callable,
            Decoding,
        ],
    }
    __metadata_request__fit: ClassVar[dict[str, Any]] = FIT_REQUESTS
    __metadata_request__partial_fit: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}
    _prototype = local_prototype
    fit = fitting.fit
    partial_fit = incremental.partial_fit
    local_classifiers_ = property(local_classifiers)
    local_classes_ = property(local_classes)

    def __init__(
        self,
        local_classifier: Any = None,
        *,
        hierarchy: Any = None,
        decoding: str = "best_path",
        expected_f1: float | None = None,
        min_confidence: Any = 0.0,
        leaf_only: bool = False,
        calibration: str | None = None,
        temperature: float | str | None = None,
        multi_label: bool = False,
        threshold: Any = 0.5,
        min_coef: float = 0.0,
        n_jobs: int | None = None,
        checkpoint_dir: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.local_classifier = local_classifier
        self.hierarchy = hierarchy
        self.decoding = decoding
        self.expected_f1 = expected_f1
        self.min_confidence = min_confidence
        self.leaf_only = leaf_only
        self.calibration = calibration
        self.temperature = temperature
        self.multi_label = multi_label
        self.threshold = threshold
        self.min_coef = min_coef
        self.n_jobs = n_jobs
        self.checkpoint_dir = checkpoint_dir
        self.random_state = random_state
        self.verbose = verbose

    def _check_decision_parameters(self) -> None:
        super()._check_decision_parameters()
        given = self.decoding
        if isinstance(given, Decoding) and given.step_by_step:  # names are in the constraints
            raise ValueError(
                f"decoding={given!r} descends the tree step by step, but FlatClassifier predicts "
                f"final classes directly. Use another decoding, such as 'best_path'."
            )
