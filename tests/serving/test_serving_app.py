"""The web application without a server: routes, limits, errors, the schema."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from serving_helpers import LIMITS

import hiclass
from hiclass._serving.app import make_app
from hiclass._serving.schema import predict_operation
from hiclass._serving.service import Service
from hiclass._serving.web import LOCAL_NAMES


def test_it_is_up(client):
    assert client.get("/health").json() == {"status": "ok", "hiclass": hiclass.__version__}


def test_the_model_is_described(client, service):
    assert client.get("/model").json() == service.describe()


def test_one_row(client, service, row):
    reply = client.post("/predict", json={"row": row})
    assert reply.status_code == 200
    assert reply.json() == {"prediction": service.predict([row])[0]}


def test_several_rows_with_the_most_probable_paths(client, service, row):
    rows = [row, row | {"text": "house and house"}]
    reply = client.post("/predict?k=2", json={"rows": rows})
    assert reply.json() == {"predictions": service.predict(rows, 2)}
    assert [len(entry["paths"]) for entry in reply.json()["predictions"]] == [2, 2]


@pytest.mark.parametrize(
    ("request_", "status", "kind", "message"),
    [
        (("GET", "/"), 404, "not_found", "There is nothing at /. Use POST /predict, GET /model"),
        (("POST", "/predict/"), 404, "not_found", "There is nothing at /predict/."),
        (("GET", "/docs"), 404, "not_found", "There is nothing at /docs"),
        (("GET", "/predict"), 405, "wrong_method", "/predict does not support GET, only POST. Use"),
        (("DELETE", "/model"), 405, "wrong_method", "/model does not support DELETE, only GET."),
    ],
)
def test_what_does_not_exist_is_said(client, request_, status, kind, message):
    error = client.fails(*request_, status=status)
    assert error["kind"] == kind
    assert message in error["message"]


@pytest.mark.parametrize(
    ("options", "status", "kind"),
    [
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 400, "malformed_json"),
        ({"data": {"row": "1"}}, 415, "wrong_content_type"),
        ({"content": b"{}"}, 415, "wrong_content_type"),
        ({"json": {"row": {}}}, 422, "missing_column"),
        ({"json": {"rows": [1] * 6}}, 413, "too_many_rows"),
        ({"json": {"row": "x" * 2000}}, 413, "too_long"),
        ({"json": {}, "params": {"k": "0"}}, 422, "wrong_parameter"),
        ({"json": {}, "params": {"K": "1"}}, 422, "unknown_parameter"),
    ],
)
def test_bad_requests_are_refused(client, options, status, kind):
    assert client.fails("POST", "/predict", status=status, **options)["kind"] == kind


def test_a_type_of_content_may_have_parameters(client, row):
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    content = json.dumps({"row": row})
    assert client.post("/predict", content=content, headers=headers).status_code == 200


def test_a_long_request_without_its_length_is_refused_on_the_way(client):
    async def parts():
        for _ in range(10):
            yield b"x" * 500

    headers = {"content-type": "application/json"}
    error = client.fails("POST", "/predict", status=413, content=parts(), headers=headers)
    assert "longer than 2,000 bytes. Send its rows in several requests" in error["message"]


def scope(path="/predict"):
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
    }  # fmt: skip


def reply_to(app, receive):
    """The status and error of a request whose parts come from a function."""
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope(), receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])["error"]["kind"]


def test_a_request_that_does_not_arrive_or_breaks_off(pipeline):
    limits = replace(LIMITS, timeout=0.05)
    app = make_app(Service(pipeline, ["a", "b"], name="m", limits=limits))

    async def slow():
        await asyncio.sleep(60)

    async def gone():
        return {"type": "http.disconnect"}

    assert reply_to(app, slow) == (408, "timeout")
    assert reply_to(app, gone) == (400, "disconnected")


def test_a_prediction_that_takes_too_long_is_given_up(pipeline, row, monkeypatch, make_client):
    go_on = threading.Event()
    monkeypatch.setattr(Service, "predict", lambda *arguments: go_on.wait(30))
    limits = replace(LIMITS, timeout=0.05)
    client = make_client(make_app(Service(pipeline, ["a", "b"], name="m", limits=limits)))
    reply = client.post("/predict", json={"row": row})
    go_on.set()
    assert (reply.status_code, reply.json()["error"]["kind"]) == (503, "timeout")
    assert reply.headers["retry-after"] == "1"


def test_more_requests_than_may_wait_are_turned_away(service, row, monkeypatch):
    import httpx

    go_on = threading.Event()

    def predict(self, rows, k):
        go_on.wait(30)
        return [{"path": []}]

    monkeypatch.setattr(Service, "predict", predict)
    app = make_app(service)

    async def send():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            first = [
                asyncio.create_task(client.post("/predict", json={"row": row})) for _ in range(4)
            ]
            await asyncio.sleep(0.2)
            late = await client.post("/predict", json={"row": row})
            health = await client.get("/health")
            go_on.set()
            return [reply.status_code for reply in await asyncio.gather(*first)], late, health

    served, late, health = asyncio.run(send())
    assert served == [200] * 4  # two are worked on, two wait
    assert late.status_code == 503
    assert (
        "4 requests are already waiting. Try again in a moment" in late.json()["error"]["message"]
    )
    assert health.status_code == 200


def test_requests_at_the_same_time_get_their_own_replies(pipeline, row, make_client):
    service = Service(pipeline, ["product", "kind"], name="m")
    client = make_client(make_app(service))
    rows = [row | {"text": word} for word in ("wheels", "house", "card")] * 10
    expected = [service.predict([one])[0] for one in rows]

    def send(one):
        return client.post("/predict", json={"row": one}).json()["prediction"]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(send, rows)) == expected


def test_an_error_inside_is_not_shown_to_clients(client, row, monkeypatch):
    def broken(*arguments):
        raise RuntimeError("a secret")

    monkeypatch.setattr(Service, "predict", broken)
    error = client.fails("POST", "/predict", status=500, json={"row": row})
    assert error["kind"] == "internal"
    assert "RuntimeError" in error["message"]
    assert "secret" not in error["message"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8000", "[::1]:80", "[::1]", "LOCALHOST"])
def test_the_names_of_this_machine_are_taken(service, host, make_client):
    client = make_client(make_app(service, hosts=LOCAL_NAMES))
    assert client.get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil", "", "::1"])
def test_other_names_are_refused(service, host, make_client):
    client = make_client(make_app(service, hosts=LOCAL_NAMES))
    error = client.fails("GET", "/health", status=421, headers={"host": host})
    assert "this service accepts only 127.0.0.1, localhost, [::1]. Use one of" in error["message"]


def test_the_threads_end_with_the_application(service):
    app = make_app(service, hosts=LOCAL_NAMES)

    async def live():
        async with app.router.lifespan_context(app):
            pass

    asyncio.run(live())


class TestSchema:
    def test_it_has_the_columns_and_limits_of_the_model(self, client):
        schema = client.get("/openapi.json").json()
        assert set(schema["paths"]) == {"/health", "/model", "/predict"}
        assert schema["info"]["version"] == hiclass.__version__
        operation = schema["paths"]["/predict"]["post"]
        one, several = operation["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
        row = one["properties"]["row"]
        assert row["required"] == ["text", "amount", "state", "day"]
        assert row["additionalProperties"] is False
        assert several["properties"]["rows"]["maxItems"] == 5
        assert operation["parameters"][0]["schema"] == {
            "type": "integer", "minimum": 1, "maximum": 4,
        }  # fmt: skip
        assert set(operation["responses"]) == {"200", "400", "408", "413", "415", "422", "503"}

    def test_every_kind_of_column_has_a_type(self, service):
        operation = predict_operation(service)["openapi_extra"]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]["oneOf"][0]
        for name, kind in service.columns.items():
            cell = schema["properties"]["row"]["properties"][name]
            assert cell["description"] == kind
            assert "null" in cell["type"]
