"""The three local strategies of the paper: per node, per parent node, per level."""

from __future__ import annotations

from typing import Any, ClassVar

from hiclass._compat import UNUSED, StrOptions
from hiclass._estimators import fitting, incremental
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.fitted import (
    classifiers_by_level,
    local_classes,
    local_classifiers,
    stop_classifiers,
)
from hiclass._estimators.fitting import FIT_REQUESTS, LOCAL_CONSTRAINTS, local_prototype
from hiclass._inference.decodings import DECODINGS, Decoding
from hiclass._problems.policies import POLICIES, Policy, as_policy
from hiclass._problems.strategies import STRATEGIES

_LOCAL_CONSTRAINTS = {
    **LOCAL_CONSTRAINTS,
    "decoding": [StrOptions(set(DECODINGS)), callable, Decoding],
}


class LocalClassifierPerNode(BaseHierarchicalClassifier):
    """One binary classifier per node of the hierarchy.

    The classifier of a node separates its rows from other rows, which the policy selects. At a
    parent, the scores of its children are normalised to probabilities. If training rows end at an
    inner node, another binary classifier, the gate, estimates the probability of stopping there.

    Parameters
    ----------
    local_classifier : estimator, ByDepth or callable, default=None
        The classifier that is copied and fitted for every node, ``LogisticRegression()`` by
        default. ``ByDepth(classifier, C=[...])`` has other parameters at every depth. Or a callable
        that takes the path of a node, a tuple of labels (in a DAG, its label), and returns the
        classifier for it.
        A ``class_weight`` given as a dict has labels, or path tuples, as keys.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The classes, a tree or, if a class may have several parents, a DAG; read from ``y`` by
        default. Classes without training rows get probability 0.
    binary_policy : str or callable, default="siblings"
        Which rows are positive and negative for a node: ``"siblings"``, ``"exclusive_siblings"``,
        ``"inclusive"``, ``"less_inclusive"``, ``"exclusive"`` or ``"less_exclusive"``. Or a
        function of your own that selects rows, as the developer's page on extending describes.
    decoding : {"top_down", "best_path", "expected_f1"} or callable, default="top_down"
        How a path is chosen: the best child at every step; the most probable path; or the node
        with the best expected hierarchical F-score, which may stop early. A callable takes
        node probabilities and the hierarchy and returns one node per row.
    expected_f1 : float, default=None
        The hierarchical F-score that ``decoding="expected_f1"`` assumes: a class is predicted if
        its probability is above half of it. By default it is learned from three out-of-fold fits.
    min_confidence : float, sequence of float or mapping, default=0.0
        Truncates a path before its first node with a lower probability. A sequence has one number
        per level. A mapping has one number, or one per level, for a class (its path or label) and
        the classes below it, unless they are named themselves.
    leaf_only : bool, default=False
        Whether every path must end at a leaf. For a training row that ends at an inner node, the
        classes below are then unknown.
    calibration : {"temperature", "joint", "sigmoid", "isotonic"} or None, default=None
        How scores of the local classifiers become probabilities; works for classifiers that have
        only ``decision_function``. ``"temperature"``: a softmax at every node. ``"joint"``: a
        sigmoid of every score, multiplied along the paths and normalised over all of them, which
        queries all local classifiers for every row. Scores are divided by one temperature for the
        whole tree, learned from three out-of-fold fits. For sets of classes, ``"sigmoid"`` or
        ``"isotonic"`` corrects the probability of every class by its own monotonic map, learned
        from three out-of-fold fits; classes with fewer than ten positive rows share one.
    temperature : float, default=None
        The temperature of the calibration, if you know it: nothing is then learned out of fold.
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
        Number of local classifiers that are fitted, and of chunks of rows that are predicted, in
        parallel, with joblib's meaning. joblib's active backend decides where; a ``LinearSVC`` is
        fitted in threads unless one was chosen.
    checkpoint_dir : str or path, default=None
        A directory in which finished local classifiers are kept and looked for, by a hash of their
        data and parameters: a killed fit continues, and after a change only what changed is fitted
        again. Its files are pickles, so it must be trusted; you delete it.
    random_state : int, RandomState instance or None, default=None
        Seeds every local classifier that has a ``random_state``, each one differently.
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
        The fitted classifier of every node that has siblings, by path.
        Linear classifiers of a sparse X are shown as copies, with weights in a CSR matrix; dense
        where most of the columns occur in their rows.
    local_classes_ : dict
        The nodes that the classes of each of these classifiers stand for, by the same keys.
    stop_classifiers_ : mapping
        The fitted gate of every node at which paths may stop, by path.
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
    LocalClassifierPerLevel : One multi-class classifier per level.
    FlatClassifier : One classifier over all leaves.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerNode
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal", "Cat"], ["Animal", "Reptile", "Turtle"], ["Animal", "Bird"]]
    >>> model = LocalClassifierPerNode().fit(X, y)
    >>> model.predict([[3, 4]])
    array([['Animal', 'Reptile', 'Turtle']], dtype=object)
    >>> model.local_classifiers_["Animal", "Bird"]
    LogisticRegression()
    """

    _strategy = STRATEGIES["node"]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_LOCAL_CONSTRAINTS,
        "binary_policy": [StrOptions(set(POLICIES)), callable, Policy],
    }
    __metadata_request__fit: ClassVar[dict[str, Any]] = FIT_REQUESTS
    __metadata_request__partial_fit: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}
    _prototype = local_prototype
    fit = fitting.fit
    partial_fit = incremental.partial_fit
    local_classifiers_ = property(local_classifiers)
    local_classes_ = property(local_classes)
    stop_classifiers_ = property(stop_classifiers)

    def __init__(
        self,
        local_classifier: Any = None,
        *,
        hierarchy: Any = None,
        binary_policy: Any = "siblings",
        decoding: str = "top_down",
        expected_f1: float | None = None,
        min_confidence: Any = 0.0,
        leaf_only: bool = False,
        calibration: str | None = None,
        temperature: float | None = None,
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
        self.binary_policy = binary_policy
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

    def _needs_own_rows(self) -> bool:
        return as_policy(self.binary_policy).own


class LocalClassifierPerParentNode(BaseHierarchicalClassifier):
    """One multi-class classifier per parent node, which chooses among its children.

    Where training rows end at an inner node, "stop here" is one class more of its classifier.

    Parameters
    ----------
    local_classifier : estimator, ByDepth or callable, default=None
        The classifier that is copied and fitted for every parent node, ``LogisticRegression()`` by
        default. ``ByDepth(classifier, C=[...])`` has other parameters at every depth. Or a callable
        that takes the path of a parent node, a tuple of labels that is empty for the root (in a
        DAG, its label), and returns the classifier for it.
        A ``class_weight`` given as a dict has labels, or path tuples, as keys.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The classes, a tree or, if a class may have several parents, a DAG; read from ``y`` by
        default. Classes without training rows get probability 0.
    decoding : {"top_down", "best_path", "expected_f1"} or callable, default="top_down"
        How a path is chosen: the best child at every step; the most probable path; or the node
        with the best expected hierarchical F-score, which may stop early. A callable takes
        node probabilities and the hierarchy and returns one node per row.
    expected_f1 : float, default=None
        The hierarchical F-score that ``decoding="expected_f1"`` assumes: a class is predicted if
        its probability is above half of it. By default it is learned from three out-of-fold fits.
    min_confidence : float, sequence of float or mapping, default=0.0
        Truncates a path before its first node with a lower probability. A sequence has one number
        per level. A mapping has one number, or one per level, for a class (its path or label) and
        the classes below it, unless they are named themselves.
    leaf_only : bool, default=False
        Whether every path must end at a leaf. For a training row that ends at an inner node, the
        classes below are then unknown.
    calibration : {"temperature", "joint", "sigmoid", "isotonic"} or None, default=None
        How scores of the local classifiers become probabilities; works for classifiers that have
        only ``decision_function``. ``"temperature"``: a softmax at every node. ``"joint"``: a
        sigmoid of every score, multiplied along the paths and normalised over all of them, which
        queries all local classifiers for every row. Scores are divided by one temperature for the
        whole tree, learned from three out-of-fold fits. For sets of classes, ``"sigmoid"`` or
        ``"isotonic"`` corrects the probability of every class by its own monotonic map, learned
        from three out-of-fold fits; classes with fewer than ten positive rows share one.
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
        Number of local classifiers that are fitted, and of chunks of rows that are predicted, in
        parallel, with joblib's meaning. joblib's active backend decides where; a ``LinearSVC`` is
        fitted in threads unless one was chosen.
    checkpoint_dir : str or path, default=None
        A directory in which finished local classifiers are kept and looked for, by a hash of their
        data and parameters: a killed fit continues, and after a change only what changed is fitted
        again. Its files are pickles, so it must be trusted; you delete it.
    random_state : int, RandomState instance or None, default=None
        Seeds every local classifier that has a ``random_state``, each one differently.
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
        The fitted classifier of every node with several branches, by path; ``()`` is the root.
        Linear classifiers of a sparse X are shown as copies, with weights in a CSR matrix; dense
        where most of the columns occur in their rows.
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
    LocalClassifierPerNode : One binary classifier per node.
    LocalClassifierPerLevel : One multi-class classifier per level.
    FlatClassifier : One classifier over all leaves.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> model = LocalClassifierPerParentNode().fit(X, y)
    >>> model.predict([[5, 9]])
    array([['Plant', 'Fern']], dtype=object)
    >>> list(model.local_classifiers_)
    [(), ('Animal',)]
    """

    _strategy = STRATEGIES["parent"]
    _parameter_constraints: ClassVar[dict[str, Any]] = _LOCAL_CONSTRAINTS
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
        decoding: str = "top_down",
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


class LocalClassifierPerLevel(BaseHierarchicalClassifier):
    """One multi-class classifier per level of the hierarchy.

    At a node the probabilities of the next level are restricted to its children and normalised, so
    that predictions never contradict the hierarchy. Where training rows end at an inner node, "stop
    at this node" is one class more of the next level.

    Parameters
    ----------
    local_classifier : estimator, ByDepth or callable, default=None
        The classifier that is copied and fitted for every level, ``LogisticRegression()`` by
        default. ``ByDepth(classifier, C=[...])`` has other parameters at every level. Or a callable
        that takes the number of a level, from 1, and returns the classifier for it.
        A ``class_weight`` given as a dict has labels, or path tuples, as keys.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The classes, a tree or, if a class may have several parents, a DAG; read from ``y`` by
        default. Classes without training rows get probability 0.
    decoding : {"top_down", "best_path", "expected_f1"} or callable, default="top_down"
        How a path is chosen: the best child at every step; the most probable path; or the node
        with the best expected hierarchical F-score, which may stop early. A callable takes
        node probabilities and the hierarchy and returns one node per row.
    expected_f1 : float, default=None
        The hierarchical F-score that ``decoding="expected_f1"`` assumes: a class is predicted if
        its probability is above half of it. By default it is learned from three out-of-fold fits.
    min_confidence : float, sequence of float or mapping, default=0.0
        Truncates a path before its first node with a lower probability. A sequence has one number
        per level. A mapping has one number, or one per level, for a class (its path or label) and
        the classes below it, unless they are named themselves.
    leaf_only : bool, default=False
        Whether every path must end at a leaf. For a training row that ends at an inner node, the
        classes below are then unknown.
    calibration : {"temperature", "joint", "sigmoid", "isotonic"} or None, default=None
        How scores of the local classifiers become probabilities; works for classifiers that have
        only ``decision_function``. ``"temperature"``: a softmax at every node. ``"joint"``: a
        sigmoid of every score, multiplied along the paths and normalised over all of them, which
        queries all local classifiers for every row. Scores are divided by one temperature for the
        whole tree, learned from three out-of-fold fits. For sets of classes, ``"sigmoid"`` or
        ``"isotonic"`` corrects the probability of every class by its own monotonic map, learned
        from three out-of-fold fits; classes with fewer than ten positive rows share one.
    temperature : float, default=None
        The temperature of the calibration, if you know it: nothing is then learned out of fold.
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
        Number of local classifiers that are fitted, and of chunks of rows that are predicted, in
        parallel, with joblib's meaning. joblib's active backend decides where; a ``LinearSVC`` is
        fitted in threads unless one was chosen.
    checkpoint_dir : str or path, default=None
        A directory in which finished local classifiers are kept and looked for, by a hash of their
        data and parameters: a killed fit continues, and after a change only what changed is fitted
        again. Its files are pickles, so it must be trusted; you delete it.
    random_state : int, RandomState instance or None, default=None
        Seeds every local classifier that has a ``random_state``, each one differently.
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
        The fitted classifier of every level with at least two classes, by level, from 1.
        Linear classifiers of a sparse X are shown as copies, with weights in a CSR matrix; dense
        where most of the columns occur in their rows.
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
    LocalClassifierPerNode : One binary classifier per node.
    LocalClassifierPerParentNode : One multi-class classifier per parent node.
    FlatClassifier : One classifier over all leaves.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerLevel
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> model = LocalClassifierPerLevel().fit(X, y)
    >>> model.predict([[5, 9]])
    array([['Plant', 'Fern']], dtype=object)
    >>> list(model.local_classifiers_)
    [1, 2]
    """

    _strategy = STRATEGIES["level"]
    _parameter_constraints: ClassVar[dict[str, Any]] = _LOCAL_CONSTRAINTS
    __metadata_request__fit: ClassVar[dict[str, Any]] = FIT_REQUESTS
    __metadata_request__partial_fit: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}
    _prototype = local_prototype
    fit = fitting.fit
    partial_fit = incremental.partial_fit
    local_classifiers_ = property(classifiers_by_level)
    local_classes_ = property(local_classes)

    def __init__(
        self,
        local_classifier: Any = None,
        *,
        hierarchy: Any = None,
        decoding: str = "top_down",
        expected_f1: float | None = None,
        min_confidence: Any = 0.0,
        leaf_only: bool = False,
        calibration: str | None = None,
        temperature: float | None = None,
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
