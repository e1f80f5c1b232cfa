"""The OpenAPI document: what FastAPI knows, with our errors, our keys and the headers that all endpoints share."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from fairlead.api.endpoint import Endpoint
from fairlead.api.problems import MEDIA_TYPE
from fairlead.api.responses import WORDS

PROBLEM = {"$ref": "#/components/schemas/ProblemDocument"}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A repeated request with the same key gets the first answer again, for a day.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
HEADERS = {
    "RateLimit": "What is left of each policy: `r` requests or jobs, `t` seconds until there is more.",
    "RateLimit-Policy": "What is allowed: `q` requests or jobs within `w` seconds.",
    "Retry-After": "Seconds to wait before the next attempt.",
}
RATE_HEADERS = ("RateLimit", "RateLimit-Policy")


def describe(api: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if api.openapi_schema is None:
        unkept = {route.path for route in api.routes if isinstance(route, Endpoint) and not route.keeps_answers}
        document = get_openapi(
            title=api.title, version=api.version, description=api.description, routes=api.routes, tags=DESCRIBED
        )
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _complete(method, operation, keeps_answers=path not in unkept)
        components = document.setdefault("components", {})
        components["headers"] = {name: _header(words) for name, words in HEADERS.items()}
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for unused in ("HTTPValidationError", "ValidationError"):
            components.get("schemas", {}).pop(unused, None)
        document["security"] = [{"key": []}]
        api.openapi_schema = document
    return api.openapi_schema


def _complete(method: str, operation: dict[str, Any], keeps_answers: bool) -> None:
    for parameter in operation.get("parameters", []):
        _without_null(parameter["schema"])
    if method == "post":
        for status in ("409", "413"):
            operation["responses"].setdefault(status, {"description": WORDS[int(status)]})
    for status, response in operation["responses"].items():
        if status >= "400":
            response["content"] = {MEDIA_TYPE: {"schema": PROBLEM}}
        named = (*RATE_HEADERS, "Retry-After") if status == "429" else RATE_HEADERS
        response.setdefault("headers", {}).update({name: {"$ref": f"#/components/headers/{name}"} for name in named})
    if method == "post" and keeps_answers:
        operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)


def _without_null(schema: dict[str, Any]) -> None:
    """A parameter that is not given is absent; there is no way to write null into an address."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) == 1:
        del schema["anyOf"]
        schema.update(kinds[0])


def _header(words: str) -> dict[str, Any]:
    return {"description": words, "schema": {"type": "string"}}


APPLICATIONS = "applications"
OPERATORS = "operators"

DESCRIBED = [
    {"name": APPLICATIONS, "description": "Submit jobs, follow them, read their results."},
    {"name": OPERATORS, "description": "Look after queues, workers, dead letters, schedules, settings and keys."},
]
