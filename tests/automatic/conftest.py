"""What the tests of the estimator to start with share."""

import pytest

from hiclass._automatic import proposals


@pytest.fixture(autouse=True)
def _without_networks(request, monkeypatch):
    """As if PyTorch were missing: what is chosen does not depend on what is installed."""
    if "heavy" not in request.keywords:
        monkeypatch.setattr(proposals, "find_spec", lambda name: None)
