"""A small model behind a service, and clients that need no server."""

import asyncio

import pytest
from serving_helpers import LIMITS, PATHS, ROWS
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from hiclass import LocalClassifierPerParentNode, TableFeatures
from hiclass._serving.app import make_app
from hiclass._serving.service import Service


@pytest.fixture(scope="session")
def pipeline():
    features = TableFeatures(text=["text"], numbers=["amount"], categories=["state"], dates=["day"])
    model = LocalClassifierPerParentNode(LogisticRegression(C=100))
    return make_pipeline(features, model).fit(ROWS, PATHS)


@pytest.fixture
def service(pipeline):
    return Service(pipeline, ["product", "kind"], name="m.skops", limits=LIMITS)


@pytest.fixture
def row():
    return dict(ROWS[0])


class Client:
    """Sends requests to an application in this process."""

    def __init__(self, app):
        self.app = app

    def send(self, method, path, **options):
        import httpx

        async def send():
            # An error inside the application is replied to, as by a server.
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as c:
                return await c.request(method, path, **options)

        return asyncio.run(send())

    def get(self, path, **options):
        return self.send("GET", path, **options)

    def post(self, path, **options):
        return self.send("POST", path, **options)

    def fails(self, *request, status, **options):
        """Send what must be refused; return the error."""
        reply = self.send(*request, **options)
        assert reply.status_code == status, reply.text
        (error,) = reply.json().values()
        assert list(error) == ["kind", "message", "row", "column"]
        return error


@pytest.fixture
def client(service):
    return Client(make_app(service))


@pytest.fixture
def make_client():
    return Client
