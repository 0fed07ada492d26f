"""The OpenAPI schema of a service, with the columns of its model."""

from __future__ import annotations

from typing import Any

from hiclass._serving.service import Service

DESCRIPTION = (
    "Paths of classes with a confidence for every level. A row has one cell for every column of "
    "the model (GET /model lists them); null is an empty cell. All errors have the same form."
)
_CELLS: dict[str, dict[str, Any]] = {
    "text": {"type": ["string", "null"]},
    "numbers": {"type": ["number", "boolean", "string", "null"]},
    "categories": {"type": ["string", "number", "boolean", "null"]},
    "dates": {"type": ["string", "integer", "null"]},
}
_LABEL = {"type": ["string", "integer"]}
_PATH = {"type": "array", "items": _LABEL, "description": "Labels from level 1 down."}
_PREDICTION = {
    "type": "object",
    "required": ["path", "confidence"],
    "properties": {
        "path": _PATH,
        "confidence": {
            "type": "array",
            "items": {"type": "number"},
            "description": "For each label, the probability that the path is correct down to it.",
        },
        "paths": {
            "type": "array",
            "description": "The k most probable paths. Only present with the parameter k.",
            "items": {
                "type": "object",
                "properties": {"path": _PATH, "probability": {"type": "number"}},
            },
        },
    },
}
_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "kind": {"type": "string", "description": "The error in one word."},
                "message": {"type": "string", "description": "Value, place and remedy."},
                "row": {"type": ["integer", "null"], "description": "The row, starting at 1."},
                "column": {"type": ["string", "null"]},
            },
        }
    },
}
_ERRORS = {
    400: "The request is not JSON",
    408: "The request did not arrive in time",
    413: "The request is too long, or has too many rows",
    415: "The Content-Type of the request is not JSON",
    422: "A row, a column or a parameter is invalid",
    503: "The service is busy, or the prediction took too long",
}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def model_schema() -> dict[int | str, dict[str, Any]]:
    """The responses to ``GET /model``."""
    names = ("name", "hiclass", "model", "levels", "features", "limits")
    schema = {"type": "object", "required": list(names)}
    return {200: {"description": "The model", "content": _json(schema)}}


def predict_operation(service: Service) -> dict[str, Any]:
    """The arguments of the FastAPI route ``POST /predict``.

    Parameters
    ----------
    service : Service
        The service, whose columns and limits are in the schema.

    Returns
    -------
    dict
        Keyword arguments for the route.
    """
    row = {
        "type": "object",
        "required": list(service.columns),
        "properties": {
            name: {**_CELLS[kind], "description": kind} for name, kind in service.columns.items()
        },
        "additionalProperties": False,
    }
    rows = {"type": "array", "items": row, "minItems": 1, "maxItems": service.limits.max_rows}
    request = {
        "oneOf": [
            {"type": "object", "required": ["row"], "properties": {"row": row}},
            {"type": "object", "required": ["rows"], "properties": {"rows": rows}},
        ]
    }
    reply = {
        "oneOf": [
            {"type": "object", "properties": {"prediction": _PREDICTION}},
            {
                "type": "object",
                "properties": {"predictions": {"type": "array", "items": _PREDICTION}},
            },
        ]
    }
    k = {
        "name": "k",
        "in": "query",
        "required": False,
        "description": "Number of most probable paths to add.",
        "schema": {"type": "integer", "minimum": 1, "maximum": service.limits.max_paths},
    }
    return {
        "openapi_extra": {
            "requestBody": {"required": True, "content": _json(request)},
            "parameters": [k],
        },
        "responses": {
            200: {"description": "The predictions", "content": _json(reply)},
            **{
                status: {"description": text, "content": _json(_ERROR)}
                for status, text in _ERRORS.items()
            },
        },
    }
