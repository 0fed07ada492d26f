"""What all tests share: the estimators, a small data set, the settings of hypothesis.

With ``HICLASS_NO_SKIP=1`` a skipped test fails. A test that needs a large library skips itself
where the library is missing (``pytest.importorskip``), which is convenient at the desk and
dangerous in continuous integration: a broken installation would look like success. ``make
test-all`` installs everything and sets the variable, so that there every test really runs. Expected
failures (xfail) are not skips and stay as they are.
"""

import os

import numpy as np
import pytest
from estimator_classes import ESTIMATOR_CLASSES, LOCAL_CLASSES
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from hiclass import GlobalClassifier

# The helpers that assert, so that a failure shows the values there too.
pytest.register_assert_rewrite(
    "hierarchy_helpers", "law_helpers", "model_helpers", "page_helpers", "problem_helpers"
)

# They hold no doctests, and two of one name cannot both be collected.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]

# The same examples in every run, and no time limit on a shared machine.
settings.register_profile(
    "hiclass",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("hiclass")


def _fail_if_skipped(report):
    skipped = report.skipped and not hasattr(report, "wasxfail")
    if skipped and os.environ.get("HICLASS_NO_SKIP") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"HICLASS_NO_SKIP=1 allows no skipped test, but: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """A module that skips itself as a whole is never run: it is caught here."""
    return _fail_if_skipped((yield))


@pytest.fixture(autouse=True)
def _no_networks(request, monkeypatch):
    """Choose models as where PyTorch is missing, unless a test is about large libraries."""
    if request.node.get_closest_marker("heavy") is None:
        monkeypatch.setattr("hiclass._automatic.proposals.find_spec", lambda name: None)


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """On arrays this small a second thread of BLAS or OpenMP only gets in the way of xdist."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="session", params=ESTIMATOR_CLASSES, ids=lambda c: c.__name__)
def estimator_class(request):
    """Each of the four estimators."""
    return request.param


@pytest.fixture(
    scope="session", params=[*ESTIMATOR_CLASSES, GlobalClassifier], ids=lambda c: c.__name__
)
def any_class(request):
    """Each of the four and the global one, which takes other estimators."""
    return request.param


@pytest.fixture(scope="session", params=LOCAL_CLASSES, ids=lambda c: c.__name__)
def local_class(request):
    """Each of the three local estimators."""
    return request.param


@pytest.fixture
def limit_chunks(monkeypatch):
    """A function that lets predictions take so many bytes, and at least so many rows, at a time."""

    def limit(n_bytes, fewest_rows):
        monkeypatch.setattr("hiclass._rows._CHUNK_BYTES", n_bytes)
        monkeypatch.setattr("hiclass._rows._FEWEST_ROWS", fewest_rows)

    return limit


@pytest.fixture
def animals():
    """Six classes of six rows: unequal depths, and one that ends at an inner node.

    Every class has a feature of its own, which is near 8 in its rows and near 0 in all others: any
    group of classes can be told from the rest by a line.
    """
    paths = [
        ("Animal", "Bird", ""),
        ("Animal", "Mammal", "Cat"),
        ("Animal", "Mammal", "Dog"),
        ("Plant", "", ""),
        ("Plant", "Fern", ""),
        ("Rock", "", ""),
    ]
    y = np.array([path for path in paths for _ in range(6)], dtype=object)
    noise = np.random.default_rng(0).normal(scale=0.3, size=(len(y), len(paths)))
    return 8 * np.repeat(np.eye(len(paths)), 6, axis=0) + noise, y
