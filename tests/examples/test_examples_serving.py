"""The serving example answers real requests, from a skops file and from ONNX."""

import http.client
import json
import runpy
import socket
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import hiclass
from hiclass import (
    TRUSTED_TYPES,
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._cli import main
from hiclass.datasets import load_animals

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "serving.py"))


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


FRAME = pd.DataFrame(
    {
        "text": ["a purring cat", "a barking dog", "a hooting owl"] * 8,
        "colour": ["grey", "brown", "white", "brown"] * 6,
        "weight": [4.0, 20.0, 1.5] * 8,
    }
)
PATHS = [["M", "Cat"], ["M", "Dog"], ["B", "Owl"]] * 8


def columns(encoder=None):
    return ColumnTransformer(
        [
            ("words", TfidfVectorizer(), "text"),
            ("colours", encoder or OneHotEncoder(handle_unknown="ignore"), ["colour"]),
            ("numbers", SimpleImputer(), ["weight"]),
        ]
    )


def in_pipeline():
    return make_pipeline(columns(), LocalClassifierPerParentNode())


#: Models whose texts are read somewhere inside.
OF_COLUMNS = {
    "a pipeline": in_pipeline,
    "conformal": lambda: ConformalClassifier(
        FrozenEstimator(in_pipeline().fit(FRAME, PATHS)), alpha=0.4
    ),
    "in the local classifiers": lambda: LocalClassifierPerParentNode(
        make_pipeline(columns(), LogisticRegression())
    ),
    "an ensemble": lambda: EnsembleClassifier(
        [
            ("flat", FlatClassifier(make_pipeline(columns(), LogisticRegression()))),
            ("local", LocalClassifierPerParentNode(make_pipeline(columns(), LogisticRegression()))),
        ]
    ),
}


@pytest.mark.parametrize("name", OF_COLUMNS)
def test_columns_of_texts_are_served_wherever_they_are_read(name, tmp_path):
    model = OF_COLUMNS[name]().fit(FRAME, PATHS)
    with serving(saved(model, tmp_path)) as port:
        status, reply = ask(port, json.dumps({"features": FRAME.iloc[0].to_dict()}))
        assert (status, reply["path"]) == (200, ["M", "Cat"])
        for column, cell in [("text", ""), ("colour", ""), ("weight", np.nan)]:
            row = {**FRAME.iloc[1].to_dict(), column: None}
            status, reply = ask(port, json.dumps({"features": row}))
            assert status == 200, reply
            expected = hiclass.predict_confidence(model, pd.DataFrame([{**row, column: cell}]))[0]
            expected = expected[~np.isnan(expected)]
            assert reply["confidence"] == pytest.approx(expected.tolist(), abs=1e-6)


@pytest.mark.parametrize(
    "chosen",
    [["colour"], [1], slice(1, 2), slice("colour", "colour"), [False, True, False]],
    ids=str,
)
def test_columns_may_be_chosen_in_every_way(chosen, tmp_path):
    parts = [("colours", OneHotEncoder(), chosen), ("none", StandardScaler(), [])]
    parts += [("weight", make_pipeline("passthrough"), ["weight"]), ("text", "drop", ["text"])]
    frame = FRAME.assign(colour=["grey", "", "white"] * 8, weight=0.0)
    model = make_pipeline(ColumnTransformer(parts), LocalClassifierPerParentNode())
    with serving(saved(model.fit(frame, PATHS), tmp_path)) as port:
        row = {"text": None, "weight": 0, "colour": None}
        assert ask(port, json.dumps({"features": row}))[1]["path"] == ["M", "Dog"]


def test_null_in_a_column_of_categories_that_are_numbers(tmp_path):
    parts = [("codes", OneHotEncoder(handle_unknown="ignore"), ["weight"])]
    model = make_pipeline(ColumnTransformer(parts), LocalClassifierPerParentNode())
    model.fit(FRAME[["weight"]].replace(20.0, np.nan), PATHS)
    with serving(saved(model, tmp_path)) as port:
        for cell, path in [(None, ["M", "Dog"]), (4, ["M", "Cat"])]:
            assert ask(port, json.dumps({"features": {"weight": cell}}))[1]["path"] == path


@pytest.mark.parametrize("missing", ["", None, np.nan], ids=["empty", "None", "NaN"])
def test_null_is_the_category_that_empty_cells_had_in_fit(missing, tmp_path):
    colours = pd.Series(["grey", missing, "white"] * 8, dtype=object)
    frame = FRAME.assign(text="the same", weight=1.0, colour=colours)
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(columns(encoder), LocalClassifierPerParentNode()).fit(frame, PATHS)
    with serving(saved(model, tmp_path)) as port:
        row = {"text": "the same", "weight": 1, "colour": None}
        assert ask(port, json.dumps({"features": row}))[1]["path"] == ["M", "Dog"]


def test_null_in_every_kind_of_column_of_the_command_line(tmp_path, capsys):
    frame = FRAME.assign(l1=[path[0] for path in PATHS], l2=[path[1] for path in PATHS])
    frame.loc[::3, "colour"] = ""
    frame.to_csv(tmp_path / "data.csv", index=False)
    path, out = str(tmp_path / "model.skops"), str(tmp_path / "out.csv")
    options = ["--target", "l1", "l2", "--text", "text", "--numbers", "weight"]
    options += ["--categories", "colour", "-q", "-o", path]
    assert main(["fit", str(tmp_path / "data.csv"), *options]) == 0
    cells = FRAME.iloc[0].to_dict()
    rows = [{**cells, name: None} for name in cells]
    # As objects: pandas 2.2 cannot write NaN among float32 without a warning.
    pd.DataFrame(rows, dtype=object).to_csv(tmp_path / "rows.csv", index=False)
    assert main(["predict", path, str(tmp_path / "rows.csv"), "-o", out, "-q"]) == 0
    capsys.readouterr()
    expected = pd.read_csv(out)[["confidence_l1", "confidence_l2"]].to_numpy()
    with serving(path) as port:
        for row, confidence in zip(rows, expected, strict=True):
            status, reply = ask(port, json.dumps({"features": row}))
            assert status == 200, reply
            assert reply["confidence"] == pytest.approx(confidence.tolist(), abs=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        GlobalClassifier(Ridge()),
        ConformalClassifier(FlatClassifier(), alpha=0.4, random_state=0),
        LocalClassifierPerNode(make_pipeline(StandardScaler(), LogisticRegression())),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_named_numbers_take_numbers_only(model, tmp_path):
    frame = pd.DataFrame({"x": [0.0, 5.0] * 10, "z": [1.0, 1.0] * 10})
    path = saved(model.fit(frame, ["a", "b"] * 10), tmp_path)
    with serving(path) as port:
        assert ask(port, '{"features": {"x": 5}}')[1]["path"] == ["b"]
        error = ask(port, '{"features": {"x": "five"}}')[1]["error"]
        assert error == "The feature 'x' must be a number; got 'five'."


@pytest.mark.parametrize("nothing", ["passthrough", None])
def test_a_pipeline_of_an_array_whose_first_step_does_nothing_takes_a_list(nothing, tmp_path):
    model = make_pipeline(nothing, FlatClassifier()).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    with serving(saved(model, tmp_path)) as port:
        status, reply = ask(port, '{"features": [1, 0]}')
        assert (status, reply["path"]) == (200, ["b"])


def test_a_model_of_sets_is_refused_with_what_to_do(tmp_path):
    X, y = np.eye(3), [["a"], ["b"], ["a", "b"]]
    model = make_pipeline("passthrough", FlatClassifier(multi_label=True)).fit(X, y)
    with pytest.raises(ValueError, match=r"predicts sets of classes.*predict_node_proba"):
        EXAMPLE["make_server"](saved(model, tmp_path), port=0)


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
