"""What the tests of the estimator to start with share."""

import numpy as np
import pandas
import pytest

from hiclass import HierarchicalClassifier


@pytest.fixture(scope="session")
def noisy():
    """Sixty rows of six classes in three pairs, not all of which can be told apart."""
    which = np.arange(60) % 6
    rng = np.random.default_rng(0)
    X = 2 * rng.normal(size=(6, 4))[which] + rng.normal(size=(60, 4))
    y = np.array([[name[0], name] for name in ("a1", "a2", "b1", "b2", "c1", "c2")], dtype=object)
    return X, y[which]


@pytest.fixture(scope="session")
def quick(noisy):
    return HierarchicalClassifier(effort="quick", random_state=0).fit(*noisy)


@pytest.fixture(scope="session")
def balanced(noisy):
    return HierarchicalClassifier(random_state=0).fit(*noisy)


@pytest.fixture(scope="session")
def table():
    """Columns of all kinds, with a missing cell in each."""
    words = [
        ["Card", "Theft", "somebody stole my card on the street"],
        ["Card", "Charge", "a charge on the card that I never made"],
        ["Loan", "Car", "the rate of the loan for my car rises"],
        ["Loan", "House", "they refuse the loan for our house"],
    ]
    rows = [words[i % 4] for i in range(40)]
    frame = pandas.DataFrame(
        {
            "text": [f"{text} today" if i % 3 else text for i, (_, _, text) in enumerate(rows)],
            "amount": np.linspace(1, 900, 40),
            "state": ["NY", "CA", "TX", "NY", "CA"] * 8,
            "day": pandas.date_range("2024-01-01", periods=40, freq="D"),
        }
    )
    frame.loc[3, "text"] = None
    frame.loc[4, "amount"] = np.nan
    frame.loc[5, "state"] = None
    frame.loc[6, "day"] = pandas.NaT
    return frame, np.array([path[:2] for path in rows], dtype=object)
