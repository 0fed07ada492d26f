"""The flat baseline: one classifier over all final classes, probabilities summed up the tree."""

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
    """One multi-class classifier over all leaves, which knows nothing of the hierarchy.

    The baseline that every hierarchical model should be compared with. It predicts the most
    probable leaf, or inner node where training rows end at one, and the path that leads there;
    probabilities of inner nodes are sums over the leaves.

    Parameters
    ----------
    local_classifier : estimator, ByDepth or callable, default=None
        The classifier, ``LogisticRegression()`` by default; it is copied. Of a ``ByDepth``, that of
        depth 0. Or a callable that takes the empty path ``()`` and returns it.
        A ``class_weight`` given as a dict has labels, or path tuples, as keys.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The classes, a tree or, if a class may have several parents, a DAG; read from ``y`` by
        default. Classes without training rows get probability 0.
    decoding : {"best_path", "expected_f1"} or callable, default="best_path"
        How a path is chosen: the most probable final class, or the node with the best expected
        hierarchical F-score, which may stop early. A callable takes node probabilities and
        the hierarchy and returns one node per row.
    expected_f1 : float, default=None
        The hierarchical F-score that ``decoding="expected_f1"`` assumes: a class is predicted if
        its probability is above half of it. By default it is learned from three out-of-fold fits.
    min_confidence : float, sequence of float or mapping, default=0.0
        Truncates a path before its first node with a lower probability. A sequence has one number
        per level. A mapping has one number, or one per level, for a class (its path or label) and
        the classes below it, unless they are named themselves.
    leaf_only : bool, default=False
        Whether every path must end at a leaf. Training rows that end at an inner node are then left
        out.
    calibration : {"temperature", "joint", "sigmoid", "isotonic"} or None, default=None
        How scores of the classifier become probabilities; works for classifiers that have only
        ``decision_function``. ``"temperature"``: a softmax. ``"joint"``: a sigmoid of every score,
        normalised. Scores are divided by a temperature that is learned from three out-of-fold fits.
        For sets of classes, ``"sigmoid"`` or ``"isotonic"`` corrects the probability of every class
        by its own monotonic map, learned from three out-of-fold fits; classes with fewer than ten
        positive rows share one.
    temperature : float or "estimated", default=None
        The temperature of the calibration, if you know it: nothing is then learned out of fold.
        ``"estimated"``, with ``calibration="joint"`` and ``LinearSVC`` or ``FastLinearSVC`` with a
        ``tol`` of at most 0.1: from margins of the training rows as if each had been left out, at a
        small part of the cost of folds; so is the expected F-score.
    multi_label : bool, default=False
        Whether a row may have several labels. Then ``y`` holds a list of labels, or of path tuples,
        for every row, or is an indicator; see the page on hierarchies. Every class is a separate
        binary problem, and a prediction is a set of classes.
    threshold : float, str or tuple, default=0.5
        Which classes are predicted, with ``multi_label=True`` or if a class has several parents:
        those with at least this probability. Or, learned from three out-of-fold fits, ``"tuned"``:
        the threshold of every class with the best F1; ``"micro_f1"``: one threshold for all with
        the best F1 of all classes together; ``("precision", 0.9)``: the lowest one with which this
        share of the predicted classes is right; ``("cost", 1, 5)``: the cheapest one if a wrong
        class costs 1 and a missed one 5. ``("top", 3)``: the three most probable final classes.
        After a fit with one of them, all of them can be set.
    min_coef : float, default=0.0
        Weights (``coef_``) of linear local classifiers whose absolute value is smaller are dropped
        after each fit, which makes models of sparse rows smaller; an error for other classifiers
        and dense rows. 0.1 suits ``LinearSVC`` on TF-IDF; see the page on large data.
    n_jobs : int, default=None
        Number of chunks of rows that are predicted in parallel, with joblib's meaning. There is one
        classifier to fit.
    checkpoint_dir : str or path, default=None
        A directory in which the finished classifier is kept and looked for, by a hash of its data
        and parameters. Its files are pickles: it must be trusted.
    random_state : int, RandomState instance or None, default=None
        Seeds the classifier if it has a ``random_state``.
    verbose : int, default=0
        With 1, a progress bar on stderr.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The hierarchy of classes.
    classes_ : ndarray, or list of ndarray
        The labels, for paths per level.
    missing_label_ : object
        The value of a missing label in predictions.
    prior_ : ndarray of shape (n_nodes,)
        The share of every node among the training rows, or the share set by ``adapted_to``.
    local_classifiers_ : mapping
        The fitted classifier, by the path of the root, ``()``.
        A linear classifier of a sparse X is shown as a copy, with weights in a CSR matrix; dense
        where most of the columns occur in X.
    local_classes_ : dict
        The nodes that the classes of each of these classifiers stand for, by the same keys.
    temperature_ : float
        The temperature; only with a calibration.
    expected_f1_ : float
        The out-of-fold hierarchical F-score of ``decoding="expected_f1"``; only if it is learned,
        with that decoding or together with a temperature.
    thresholds_ : ndarray of shape (n_nodes,)
        The threshold of every node with the best F1; only where ``threshold`` is learned.
    threshold_curve_ : ndarray of shape (n_points, 3)
        What one threshold for all classes reaches out of fold: the threshold, the share of the true
        classes that are predicted, and the number of predicted classes for every true one; only
        where ``threshold`` is learned.
    n_features_in_ : int
        Number of features, where X has columns.
    feature_names_in_ : ndarray of str
        Names of the features, where X has names.

    See Also
    --------
    LocalClassifierPerParentNode : One multi-class classifier per parent node.
    GlobalClassifier : One estimator that predicts all classes, not only about leaves.

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
                f"decoding={given!r} goes down the tree step by step, which FlatClassifier does "
                f"not: it predicts final classes at once. Use another decoding, such as "
                f"'best_path'."
            )
