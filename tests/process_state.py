"""What a library might change for the whole process; a process of its own imports it too."""

import logging
import os
import random
import sys
import threading
import warnings

import joblib
import numpy as np
from sklearn import get_config
from threadpoolctl import threadpool_info


def global_state():
    """What a library might change for the whole process."""
    root = logging.getLogger()
    return {
        "logging": (root.level, list(root.handlers), logging.root.manager.disable),
        "loggers": sorted(n for n in logging.root.manager.loggerDict if n.startswith("hiclass")),
        "warnings": list(warnings.filters),
        "NumPy's generator": joblib.hash(np.random.get_state()),  # noqa: NPY002
        "Python's generator": random.getstate(),
        "environment": dict(os.environ),
        "NumPy's errors": np.geterr(),
        "NumPy's printing": np.get_printoptions(),
        "scikit-learn": get_config(),
        "recursion limit": sys.getrecursionlimit(),
        "folder": os.getcwd(),
        "threads of BLAS": sorted((i["filepath"], i["num_threads"]) for i in threadpool_info()),
        "threads": threading.active_count(),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook),
    }
