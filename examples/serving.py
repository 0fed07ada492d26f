"""Serve a model over HTTP with the server of the standard library.

Fit and save a model of the animals, then serve it:

    python examples/serving.py fit animals.skops
    python examples/serving.py serve animals.skops --port 8000

and send, from another terminal:

    curl -X POST http://127.0.0.1:8000/predict -d '{"features": {"milk": 1, "legs": 4}}'

The reply is {"path": [...], "confidence": [...]}; for an invalid request, {"error": "..."} with
status 400. The model is read with `hiclass.load`, which runs no code from the file. Prediction does
not change a model, so all threads share it.

Any skops file with a model that predicts paths with probabilities works, also one of `hiclass fit`.
The request depends on the model:

- features with names: {"features": {NAME: NUMBER, ...}}. A feature that is left out is 0.
- features without names: {"features": [NUMBER, ...]}.
- a pipeline of named columns: {"features": {NAME: NUMBER, TEXT or null, ...}} with all columns.
  null is an empty cell: "" in a text or category, otherwise NaN.
- texts: {"text": "..."}.

For a service without scikit-learn, convert the model and let ONNX Runtime predict:

    python examples/serving.py export animals.skops animals.onnx
    python examples/serving.py serve animals.onnx
"""

import argparse
import json
from collections.abc import Callable, Container, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

#: Takes the row of a request; returns its labels and their confidences.
Predict = Callable[[Any], tuple[list[Any], list[float]]]
#: Takes a parsed request; returns its row.
Read = Callable[[dict[str, Any]], Any]
LONGEST_REQUEST = 1_000_000
#: With larger numbers, sums of features could become infinite.
LARGEST_NUMBER = 1e30
#: Seconds to wait for the next bytes of a request, before its thread ends.
PATIENCE = 10


class Server(ThreadingHTTPServer):
    """A thread per request."""

    #: Connections that may wait at the same time; the default is 5.
    request_queue_size = 128


class BadRequestError(ValueError):
    """An invalid request; the message says what is wrong."""


# -- the model ---------------------------------------------------------------------------------


def fit(path: str) -> None:
    import pandas as pd
    import skops.io
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from hiclass import LocalClassifierPerParentNode
    from hiclass.datasets import load_animals

    animals = load_animals()
    X = pd.DataFrame(animals.data, columns=animals.feature_names)  # requests name features
    child = make_pipeline(StandardScaler(), LogisticRegression())
    model = LocalClassifierPerParentNode(child, calibration="temperature").fit(X, animals.target)
    skops.io.dump(model, path)


def export(source: str, path: str) -> None:
    import hiclass

    Path(path).write_bytes(hiclass.to_onnx(hiclass.load(source)).SerializeToString())


def load(path: str) -> tuple[Read, Predict]:
    """Return functions that read the row of a request and predict it, for a skops or ONNX file."""
    return _load_onnx(path) if path.endswith(".onnx") else _load_skops(path)


def _load_onnx(path: str) -> tuple[Read, Predict]:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = json.loads(session.get_modelmeta().custom_metadata_map["hiclass.features"])
    n_features = session.get_inputs()[0].shape[1]

    def predict(row: list[float]) -> tuple[list[Any], list[float]]:
        labels, confidence = session.run(["labels", "confidence"], {"X": np.array([row])})
        return _path(labels[0], confidence[0])

    return (named_numbers(names) if names else listed_numbers(n_features)), predict


def _load_skops(path: str) -> tuple[Read, Predict]:
    import hiclass

    model = hiclass.load(path)
    _check_model(model, path)
    readers = list(_readers(model))
    # A pipeline has what its first step has; a step that reads texts has neither.
    names = _first_known([model, *readers], "feature_names_in_")
    n_features = _first_known([model, *readers], "n_features_in_")
    empty = _empty_cells(readers)

    def predict(row: Any) -> tuple[list[Any], list[float]]:
        rows = [row] if names is None else _frame(row, names, empty)
        return _path(model.predict(rows)[0], hiclass.predict_confidence(model, rows)[0])

    if names is None:
        return (text if n_features is None else listed_numbers(n_features)), predict
    if hasattr(model, "steps") or any(_may_read_texts(reader) for reader in readers):
        return named_columns(names.tolist(), empty), predict
    return named_numbers(names.tolist()), predict


def _check_model(model: Any, path: str) -> None:
    """Raise an error for models that do not predict a path with confidences."""
    classifier = model
    while (inside := _wrapped(classifier)) is not None:
        classifier = inside
    if getattr(classifier, "multi_label", False) or not classifier.hierarchy_.is_tree:
        raise ValueError(
            f"{path} predicts sets of classes; this example serves one path per row. For sets, "
            f"reply with predict, and hiclass.predict_node_proba."
        )
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{path} has no probabilities. Fit it with calibration='temperature'.")


def _wrapped(model: Any) -> Any:
    """Return the model at the end of a pipeline or inside a search or `FrozenEstimator`, if any."""
    if hasattr(model, "steps"):
        return model.steps[-1][1]
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_
    return model.estimator if type(model).__name__ == "FrozenEstimator" else None


# -- what a model reads ------------------------------------------------------------------------


def _readers(model: Any) -> Iterator[Any]:
    """Yield the first steps of nested pipelines: they read the columns of a row."""
    if hasattr(model, "steps"):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        for step in steps[:1]:
            yield from _readers(step)
    elif hasattr(model, "model_"):  # of a ConformalClassifier
        yield from _readers(model.model_)
    elif (inside := _wrapped(model)) is not None:
        yield from _readers(inside)
    elif hasattr(model, "models_"):  # of an EnsembleClassifier
        for member in model.models_:
            yield from _readers(member)
    elif hasattr(model, "estimator_"):  # of a GlobalClassifier
        yield from _readers(model.estimator_)
    elif len(local := getattr(model, "local_classifiers_", ())):
        for classifier in local.values():
            yield from _readers(classifier)
    else:
        yield model


def _first_known(models: list[Any], attribute: str) -> Any:
    return next((getattr(m, attribute) for m in models if hasattr(m, attribute)), None)


def _may_read_texts(reader: Any) -> bool:
    """Return whether cells may be texts: not if the tags of scikit-learn require numbers."""
    from sklearn.utils import get_tags

    if hasattr(reader, "transformers_"):  # of a ColumnTransformer
        parts = [part for _, part, _ in reader.transformers_ if not isinstance(part, str)]
        return any(_may_read_texts(first) for part in parts for first in _readers(part))
    if type(reader).__module__.split(".")[0] not in ("sklearn", "hiclass"):
        return True
    tags = get_tags(reader)
    reads = tags.input_tags.string or tags.input_tags.categorical or tags.no_validation
    return bool(reads)


def _empty_cells(readers: list[Any]) -> dict[str, Any]:
    """Return the value of an empty cell in columns of texts and categories, as in ``fit``."""
    empty: dict[str, Any] = {}
    for reader in readers:
        for _, part, columns in getattr(reader, "transformers_", []):
            names = enumerate(_column_names(columns, reader))
            for first in () if isinstance(part, str) else _readers(part):
                if hasattr(first, "build_analyzer"):
                    empty |= {name: "" for _, name in names}
                elif hasattr(first, "categories_"):
                    for place, name in names:
                        categories = first.categories_[place]
                        if categories.dtype.kind in "OU":  # texts
                            found = _empty_category(categories)
                            empty[name] = found if found != "" else empty.get(name, "")
    return empty


def _column_names(columns: Any, reader: Any) -> list[str]:
    """Return the names of the columns that a part of a ColumnTransformer reads."""
    import pandas as pd

    frame = pd.DataFrame(columns=getattr(reader, "feature_names_in_", []))
    if not len(frame.columns):
        return []
    ends = [columns.start, columns.stop] if isinstance(columns, slice) else np.atleast_1d(columns)
    by_name = any(isinstance(column, str) for column in ends)
    found = frame.loc[:, columns] if by_name else frame.iloc[:, columns]
    return [found.name] if found.ndim == 1 else list(found.columns)


def _empty_category(categories: Any) -> Any:
    """Return the category of cells that were empty in ``fit``, or ""."""
    return next((c for c in categories if c is None or c != c), "")


def _frame(row: list[Any], names: Any, of_texts: Container[str]) -> Any:
    import pandas as pd

    cells = zip(names, row, strict=True)
    # A missing text alone would make a column of numbers.
    return pd.DataFrame(
        {
            name: pd.Series([cell], dtype=object if name in of_texts else None)
            for name, cell in cells
        }
    )


def _path(labels: Any, confidence: Any) -> tuple[list[Any], list[float]]:
    """Return the labels and confidences of a path, without the levels after its end."""
    given = ~np.isnan(confidence)
    return np.atleast_1d(labels)[given[: np.size(labels)]].tolist(), confidence[given].tolist()


# -- requests ----------------------------------------------------------------------------------


def parse(body: bytes, read: Read) -> Any:
    """Return the row of a request, or raise an error that says what is wrong."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:  # brackets may be nested too deeply
        raise BadRequestError(f"The request is not JSON: {error}.") from None
    return read(request if isinstance(request, dict) else {})


def text(request: dict[str, Any]) -> str:
    """Return the row for a model of texts."""
    if not isinstance(request.get("text"), str):
        raise BadRequestError('Send {"text": "..."}.')
    return str(request["text"])


def listed_numbers(n_features: int) -> Read:
    """Return a function that reads rows of numbers without names."""

    def read(request: dict[str, Any]) -> list[float]:
        values = request.get("features")
        if not isinstance(values, list) or len(values) != n_features:
            raise BadRequestError(f'Send {{"features": [...]}} with {n_features} numbers.')
        return [_number(place, value) for place, value in enumerate(values, start=1)]

    return read


def named_numbers(names: list[str]) -> Read:
    """Return a function that reads rows of named numbers; missing ones are 0."""

    def read(request: dict[str, Any]) -> list[float]:
        features = _named(request, names)
        return [_number(name, features.get(name, 0)) for name in names]

    return read


def named_columns(names: list[str], empty: dict[str, Any]) -> Read:
    """Return a function that reads rows of named numbers or texts; null is an empty cell."""

    def read(request: dict[str, Any]) -> list[Any]:
        features = _named(request, names)
        if missing := [name for name in names if name not in features]:
            raise BadRequestError(f"The feature {missing[0]!r} is missing.")
        return [_cell(name, features[name], empty.get(name, np.nan)) for name in names]

    return read


def _cell(name: str, value: Any, empty: Any) -> Any:
    if value is None:
        return empty
    return value if isinstance(value, str) else _number(name, value, ", a text or null")


def _named(request: dict[str, Any], names: list[str]) -> dict[str, Any]:
    features = request.get("features")
    if not isinstance(features, dict):
        raise BadRequestError('Send {"features": {NAME: VALUE, ...}}.')
    if unknown := sorted(features.keys() - set(names)):
        raise BadRequestError(f"There is no feature {unknown[0]!r}. Known: {', '.join(names)}.")
    return features


def _number(name: Any, value: Any, other: str = "") -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRequestError(f"The feature {name!r} must be a number{other}; got {value!r:.80}.")
    if not abs(value) <= LARGEST_NUMBER:  # NaN is not either
        limits = f"from {-LARGEST_NUMBER:g} to {LARGEST_NUMBER:g}"
        raise BadRequestError(f"The feature {name!r} must be {limits}; got {value!r:.20}.")
    return float(value)


def make_server(path: str, port: int = 8000, host: str = "127.0.0.1") -> ThreadingHTTPServer:
    """Return a server with ``POST /predict``; port 0 means any free port."""
    read, predict = load(path)

    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE

        def do_POST(self) -> None:
            if self.path != "/predict":
                self.reply(404, {"error": "Use POST /predict."})
                return
            try:
                length = int(self.headers.get("Content-Length", ""))
            except ValueError:
                self.reply(411, {"error": "Say how long the request is: Content-Length."})
                return
            if not 0 <= length <= LONGEST_REQUEST:
                self.reply(413, {"error": f"At most {LONGEST_REQUEST} bytes, please."})
                return
            try:
                row = parse(self.rfile.read(length), read)
                labels, confidence = predict(row)
            except BadRequestError as error:
                self.reply(400, {"error": str(error)})
                return
            except (TypeError, ValueError, AttributeError) as error:
                # A text in a column of numbers, or the other way round.
                self.reply(400, {"error": f"The model does not take this row: {error}"})
                return
            self.reply(200, {"path": labels, "confidence": [round(p, 6) for p in confidence]})

        def do_GET(self) -> None:
            self.reply(404, {"error": "Use POST /predict."})

        def reply(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Write no log: rows may be private."""

    return Server((host, port), Handler)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fit", help="fit and save a model of the animals").add_argument("model")
    convert = commands.add_parser("export", help="convert a saved model to ONNX")
    convert.add_argument("model")
    convert.add_argument("onnx")
    serve = commands.add_parser("serve", help="serve a model, skops or ONNX")
    serve.add_argument("model")
    serve.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    if options.command == "fit":
        fit(options.model)
    elif options.command == "export":
        export(options.model, options.onnx)
    else:
        with make_server(options.model, options.port) as server:
            print(f"POST http://127.0.0.1:{server.server_port}/predict")
            server.serve_forever()


if __name__ == "__main__":
    main()
