"""Serve a model over HTTP, with the standard library only.

Fit and save a model of the animals, then serve it:

    python examples/serving.py fit animals.skops
    python examples/serving.py serve animals.skops --port 8000

and ask, from another terminal:

    curl -X POST http://127.0.0.1:8000/predict -d '{"features": {"milk": 1, "legs": 4}}'

The reply is {"path": [...], "confidence": [...]}, or, for a request that makes no sense, status 400
and {"error": "..."}. A feature that the request leaves out is 0. The model is read with skops,
which runs no code of the file; fitted models are read-only, so that all threads share one.

For a service without scikit-learn, convert the model and let ONNX Runtime answer:

    python examples/serving.py export animals.skops animals.onnx
    python examples/serving.py serve animals.onnx
"""

import argparse
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

#: Takes a matrix of one row; returns its labels and their confidences.
Predict = Callable[[np.ndarray], tuple[list[str], list[float]]]
LONGEST_REQUEST = 1_000_000
#: Far from where the arithmetic of a model ends: beyond, sums of features may be infinite.
LARGEST_NUMBER = 1e30
#: Seconds that a client may be silent in the middle of a request, before its thread goes home.
PATIENCE = 10


class Server(ThreadingHTTPServer):
    """A thread per request."""

    #: Clients that may knock at the same time; the usual 5 turn the sixth away.
    request_queue_size = 128


class BadRequestError(ValueError):
    """What a client did wrong, in a sentence."""


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
    from hiclass import to_onnx

    Path(path).write_bytes(to_onnx(_load_skops(source)).SerializeToString())


def _load_skops(path: str) -> Any:
    import skops.io

    from hiclass import TRUSTED_TYPES

    # The list is part of this program: what a file asks for plays no role.
    return skops.io.load(path, trusted=list(TRUSTED_TYPES))


def load(path: str) -> tuple[list[str], Predict]:
    """The names of the features and a function that predicts, from a skops or ONNX file."""
    if path.endswith(".onnx"):
        import onnxruntime

        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        names = json.loads(session.get_modelmeta().custom_metadata_map["hiclass.features"])

        def ask(X: np.ndarray) -> tuple[Any, Any]:
            labels, confidence = session.run(["labels", "confidence"], {"X": X})
            return labels, confidence
    else:
        import pandas as pd

        model = _load_skops(path)
        names = model.feature_names_in_.tolist()

        def ask(X: np.ndarray) -> tuple[Any, Any]:
            rows = pd.DataFrame(X, columns=names)
            return model.predict(rows), model.predict_confidence(rows)

    def predict(X: np.ndarray) -> tuple[list[str], list[float]]:
        labels, confidence = ask(X)
        given = ~np.isnan(confidence[0])  # what follows is after the end of the path
        return labels[0][given].tolist(), confidence[0][given].tolist()

    return names, predict


# -- requests ----------------------------------------------------------------------------------


def parse(body: bytes, names: list[str]) -> np.ndarray:
    """The row of a request; whatever is wrong with it is said."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:  # brackets may be nested without end
        raise BadRequestError(f"The request is no JSON: {error}.") from None
    features = request.get("features") if isinstance(request, dict) else None
    if not isinstance(features, dict):
        raise BadRequestError('Send {"features": {NAME: NUMBER, ...}}.')
    if unknown := sorted(features.keys() - set(names)):
        raise BadRequestError(f"There is no feature {unknown[0]!r}. Known: {', '.join(names)}.")
    for name, value in features.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadRequestError(f"The feature {name!r} must be a number; got {value!r}.")
        if not abs(value) <= LARGEST_NUMBER:  # NaN is not either
            limits = f"from {-LARGEST_NUMBER:g} to {LARGEST_NUMBER:g}"
            raise BadRequestError(f"The feature {name!r} must be {limits}; got {value!r:.20}.")
    return np.array([[float(features.get(name, 0)) for name in names]])


def make_server(path: str, port: int = 8000, host: str = "127.0.0.1") -> ThreadingHTTPServer:
    """A server that answers ``POST /predict``; port 0 takes any that is free."""
    names, predict = load(path)

    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE

        def do_POST(self) -> None:
            if self.path != "/predict":
                self.reply(404, {"error": "Ask for POST /predict."})
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
                row = parse(self.rfile.read(length), names)
            except BadRequestError as error:
                self.reply(400, {"error": str(error)})
                return
            labels, confidence = predict(row)
            self.reply(200, {"path": labels, "confidence": [round(p, 6) for p in confidence]})

        def do_GET(self) -> None:
            self.reply(404, {"error": "Ask for POST /predict."})

        def reply(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Say nothing: rows may be private."""

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
