"""The serving example answers real requests, from a skops file and from ONNX."""

import http.client
import json
import runpy
import socket
import threading
from pathlib import Path

import pytest
import skops.io
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import hiclass
from hiclass import TRUSTED_TYPES, FlatClassifier, LocalClassifierPerParentNode
from hiclass._cli import main
from hiclass.datasets import load_animals

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "serving.py"))


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("serving") / "animals.skops"
    EXAMPLE["fit"](str(path))
    return str(path)


@pytest.fixture(scope="module")
def port(model_file):
    with serving(model_file) as number:
        yield number


class serving:  # noqa: N801  # a context manager
    """A server in a thread, on a free port."""

    def __init__(self, path):
        self.server = EXAMPLE["make_server"](path, port=0)
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self.server.server_port

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def ask(port, body, path="/predict", method="POST", headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        if headers is None:
            connection.request(method, path, body)
        else:
            connection.putrequest(method, path)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def tiger():
    animals = load_animals()
    row = animals.data[list(animals.name).index("Tiger")]
    return json.dumps({"features": dict(zip(animals.feature_names, row.tolist(), strict=True))})


def test_a_row_gets_its_path_and_confidences(port, model_file):
    status, reply = ask(port, tiger())
    assert status == 200
    assert reply["path"] == ["Mammalia", "Carnivora", "Felidae"]
    model = skops.io.load(model_file, trusted=list(TRUSTED_TYPES))
    row = [json.loads(tiger())["features"][name] for name in model.feature_names_in_]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        confidence = model.predict_confidence([row])[0]
    assert reply["confidence"] == pytest.approx(confidence.tolist(), abs=1e-6)


def test_features_that_are_left_out_are_zero(port):
    some = {"legs": 4, "milk": 1}
    all_of_them = {**dict.fromkeys(load_animals().feature_names, 0), **some}
    assert ask(port, json.dumps({"features": some})) == ask(
        port, json.dumps({"features": all_of_them})
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("[1, 2]", "Send {"),
        ('{"features": [1, 2]}', "Send {"),
        ('{"features": {"mulk": 1}}', "no feature 'mulk'"),
        ('{"features": {"milk": "yes"}}', "'milk' must be a number; got 'yes'"),
        ('{"features": {"milk": true}}', "'milk' must be a number; got True"),
        ('{"features": {"milk": NaN}}', "'milk' must be from -1e+30 to 1e+30; got nan"),
        ('{"features": {"milk": 1e999}}', "'milk' must be from -1e+30 to 1e+30; got inf"),
        ('{"features": {"milk": -1e308}}', "'milk' must be from -1e+30 to 1e+30; got -1e+308"),
        (
            '{"features": {"milk": 1' + 400 * "0" + "}}",
            "'milk' must be from -1e+30 to 1e+30; got 1000",
        ),
        (200_000 * "[", "not JSON"),
    ],
)
def test_a_request_that_makes_no_sense_is_a_400_that_says_why(port, body, message):
    status, reply = ask(port, body)
    assert status == 400
    assert message in reply["error"]


@pytest.mark.parametrize(
    ("path", "method", "headers", "expected"),
    [
        ("/", "POST", None, 404),
        ("/predict", "GET", None, 404),
        ("/predict", "POST", {}, 411),
        ("/predict", "POST", {"Content-Length": "-1"}, 413),
        ("/predict", "POST", {"Content-Length": "10000000"}, 413),
    ],
)
def test_other_requests_are_refused(port, path, method, headers, expected):
    status, reply = ask(port, tiger() if headers is None else None, path, method, headers)
    assert status == expected
    assert reply["error"]


def test_a_client_that_falls_silent_is_not_waited_for(model_file, monkeypatch):
    monkeypatch.setitem(EXAMPLE["make_server"].__globals__, "PATIENCE", 0.1)
    with serving(model_file) as port, socket.create_connection(("127.0.0.1", port), 30) as client:
        client.sendall(b"POST /predict HTTP/1.1\r\nContent-Length: 10\r\n\r\n{")
        assert client.recv(1) == b""  # closed


def test_threads_get_the_answers_of_their_own_rows(port):
    # More at a time than the usual queue of the standard library holds.
    rows = [json.dumps({"features": {"legs": i % 9, "wings": i % 2}}) for i in range(45)]
    alone = [ask(port, row) for row in rows]
    together = [None] * len(rows)

    def work(i):
        together[i] = ask(port, rows[i])

    threads = [threading.Thread(target=work, args=[i]) for i in range(len(rows))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    assert len({tuple(reply["path"]) for _, reply in alone}) > 1


# -- other models ------------------------------------------------------------------------------


def saved(model, folder):
    path = str(folder / "model.skops")
    skops.io.dump(model, path)
    return path


def test_a_pipeline_of_texts_takes_a_text(tmp_path):
    texts = ["a purring cat", "a barking dog", "a hooting owl"]
    y = [["Mammal", "Cat"], ["Mammal", "Dog"], ["Bird", "Owl"]]
    model = make_pipeline(TfidfVectorizer(), LocalClassifierPerParentNode()).fit(texts, y)
    with serving(saved(model, tmp_path)) as port:
        status, reply = ask(port, '{"text": "a small cat"}')
        assert (status, reply["path"]) == (200, ["Mammal", "Cat"])
        expected = hiclass.predict_confidence(model, ["a small cat"])[0]
        assert reply["confidence"] == pytest.approx(expected.tolist(), abs=1e-6)
        for body in ('{"features": {"a": 1}}', '{"text": 3}', "[]"):
            assert ask(port, body) == (400, {"error": 'Send {"text": "..."}.'})


def test_a_model_of_the_command_line_takes_its_columns(tmp_path, capsys):
    lines = [
        f"{text} number {i},{i % 5},{y}"
        for i, (text, y) in enumerate(
            [("purring cat", "M,Cat"), ("barking dog", "M,Dog"), ("hooting owl", "B,Owl")] * 8
        )
    ]
    (tmp_path / "data.csv").write_text("\n".join(["text,weight,class,order", *lines]))
    path = str(tmp_path / "model.skops")
    options = ["--target", "class", "order", "--text", "text", "--numbers", "weight", "-q"]
    assert main(["fit", str(tmp_path / "data.csv"), *options, "-o", path]) == 0
    with serving(path) as port:
        for weight in ("2", "null"):
            body = f'{{"features": {{"text": "a purring cat", "weight": {weight}}}}}'
            status, reply = ask(port, body)
            assert (status, reply["path"]) == (200, ["M", "Cat"])
        for body, message in [
            ('{"features": {"text": "cat"}}', "The feature 'weight' is missing."),
            ('{"features": {"text": "cat", "weight": "much"}}', "does not take this row"),
            ('{"features": {"text": 3, "weight": 2}}', "does not take this row"),
            ('{"features": {"text": [], "weight": 2}}', "must be a number, a text or null; got []"),
            ('{"text": "cat"}', "Send {"),
        ]:
            status, reply = ask(port, body)
            assert status == 400
            assert message in reply["error"]


def test_a_model_of_an_array_takes_a_list(tmp_path):
    model = FlatClassifier().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    with serving(saved(model, tmp_path)) as port:
        status, reply = ask(port, '{"features": [1, 0]}')
        assert (status, reply["path"]) == (200, ["b"])
        for body in ('{"features": [1]}', '{"features": {"x": 1}}'):
            assert ask(port, body) == (400, {"error": 'Send {"features": [...]} with 2 numbers.'})
        assert ask(port, '{"features": [1, "x"]}')[1]["error"].startswith("The feature 2 must be")


def test_a_model_without_probabilities_is_not_served(tmp_path):
    model = FlatClassifier(LinearSVC()).fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="has no probabilities"):
        EXAMPLE["make_server"](saved(model, tmp_path), port=0)


@pytest.mark.heavy
def test_onnx_runtime_gives_the_same_replies(port, model_file, tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    path = str(tmp_path / "animals.onnx")
    EXAMPLE["export"](model_file, path)
    with serving(path) as onnx_port:
        for body in (tiger(), '{"features": {"legs": 6}}', '{"features": {"mulk": 1}}'):
            status, reply = ask(onnx_port, body)
            expected_status, expected = ask(port, body)
            assert (status, reply.get("path")) == (expected_status, expected.get("path"))
            assert reply.get("confidence") == pytest.approx(expected.get("confidence"), abs=1e-5)
            assert reply.get("error") == expected.get("error")
