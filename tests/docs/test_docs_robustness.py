"""The tables of ``docs/robustness.md``: every bad input in them is tried, with every estimator.

As a program it prints the rows of a table with what their input gets now.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame
from scipy.sparse import csr_array
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from hiclass import HierarchicalKFold, LocalClassifierPerParentNode, metrics

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "robustness.md"
#: What it is, the code, and the error: its type, and its message, with an ellipsis for any text.
ROW = re.compile(r"^\| (?P<what>.+?) \| `(?P<code>.+?)` \| `(?P<type>\w+)`: (?P<message>.+) \|$")


def rows():
    found = map(ROW.match, PAGE.read_text(encoding="utf-8").splitlines())
    return [tuple(match.group("what", "code", "type", "message")) for match in found if match]


def run(code, model_class):
    """Run the code of a row; the names are those that the page explains."""
    X = [[0.0], [1.0]]

    def fit(X, y, sample_weight=None, local_classifier=None, **params):
        estimator = GaussianNB() if local_classifier is None else local_classifier
        return model_class(estimator, **params).fit(X, y, sample_weight=sample_weight)

    names = {
        "X": X, "fit": fit, "Model": model_class, "metrics": metrics, "np": np,
        "csr_array": csr_array, "DataFrame": DataFrame, "GaussianNB": GaussianNB,
        "KNeighborsClassifier": KNeighborsClassifier, "LinearSVC": LinearSVC,
        "HierarchicalKFold": HierarchicalKFold, "fitted": fit(X, [["Cat"], ["Dog"]]),
    }  # fmt: skip
    return eval(code, names)


def pattern(message):
    """A message of the page as a regular expression."""
    text = message.replace("`", "").replace(r"\|", "|")
    return ".*".join(map(re.escape, text.split("…")))


@pytest.mark.parametrize(("what", "code", "name", "message"), rows(), ids=lambda v: str(v)[:40])
def test_every_bad_input_of_the_page_gets_what_the_page_says(
    estimator_class, what, code, name, message
):
    expected = {"AttributeError": AttributeError, "TypeError": TypeError, "ValueError": ValueError,
                "NotFittedError": ValueError, "UserWarning": UserWarning}[name]  # fmt: skip
    with pytest.raises(expected) as error:  # warnings are errors here
        run(code, estimator_class)
    assert type(error.value).__name__ in (name, "InvalidParameterError")
    assert re.match(pattern(message), " ".join(str(error.value).split()))


def test_the_page_has_its_tables():
    assert len(rows()) > 50


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("error", UserWarning)
    for line in sys.stdin.read().splitlines():
        what, _, code = line.partition(" ## ")
        if not code:
            print(line)
            continue
        try:
            run(code, LocalClassifierPerParentNode)
        except (AttributeError, TypeError, ValueError, UserWarning) as error:
            name = type(error).__name__.replace("InvalidParameterError", "ValueError")
            message = " ".join(str(error).split()).replace("|", r"\|")
            print(f"| {what} | `{code}` | `{name}`: {message} |")
