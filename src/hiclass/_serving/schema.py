"""The OpenAPI schema of a service: that of its own columns, not of any table."""

from __future__ import annotations

from typing import Any

from hiclass._serving.service import Service

DESCRIPTION = (
    "Paths of classes with a confidence for every level. A row has a cell for every column of the "
    "model (GET /model lists them); null is an empty cell. Every error has the same form."
)
_CELLS: dict[str, dict[str, Any]] = {
    "text": {"type": ["string", "null"]},
    "numbers": {"type": ["number", "boolean", "string", "null"]},
    "categories": {"type": ["string", "number", "boolean", "null"]},
    "dates": {"type": ["string", "integer", "null"]},
}
_LABEL = {"type": ["string", "integer"]}
_PATH = {"type": "array", "items": _LABEL, "description": "Labels from the first level down."}
_PREDICTION = {
    "type": "object",
    "required": ["path", "confidence"],
    "properties": {
        "path": _PATH,
        "confidence": {
            "type": "array",
            "items": {"type": "number"},
            "description": "The probability that the path is right down to each of its labels.",
        },
        "paths": {
            "type": "array",
            "description": "The most probable paths, only with k.",
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
                "row": {"type": ["integer", "null"], "description": "The row, from 1."},
                "column": {"type": ["string", "null"]},
            },
        }
    },
}
_ERRORS = {
    400: "The request is not JSON",
    408: "The request did not arrive in time",
    413: "The request is too long, or has too many rows",
    415: "The request is not declared as JSON",
    422: "A row, a column or a parameter is wrong",
    503: "The service is busy, or the prediction took too long",
}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def model_schema() -> dict[int | str, dict[str, Any]]:
    """The responses of ``GET /model``."""
    names = ("name", "hiclass", "model", "levels", "features", "limits")
    schema = {"type": "object", "required": list(names)}
    return {200: {"description": "The model", "content": _json(schema)}}


def predict_operation(service: Service) -> dict[str, Any]:
    """What FastAPI is told about ``POST /predict``.

    Parameters
    ----------
    service : Service
        Its columns and limits are in the schema.

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
        "description": "Add so many of the most probable paths.",
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
