"""What the OpenAPI document says beyond the views: the problems that every endpoint may answer, and closed inputs."""

import re
from collections.abc import Iterable
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_parameter_type
from drf_spectacular.utils import OpenApiParameter

from memories.api.vocabulary import BY_FORMAT, EXAMPLES, WORDS
from memories.rest.fields import AboutUserQuery
from memories.rest.problem_details import MEDIA_TYPE

PROBLEM = {
    "type": "object",
    "description": "What went wrong (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("field", "message", "code")},
                "required": ["field", "message", "code"],
            },
        },
        "request_id": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail", "code", "errors", "request_id"],
}
EVERYWHERE = {
    "400": "A field is invalid, or the body is no JSON",
    "401": "The key is unknown, revoked or expired",
    "403": "The grant does not allow this",
    "404": "It does not exist for this key",
    "406": "The Accept header takes no JSON",
    "429": "Over the grant's rate; see Retry-After",
    "503": "The database is away; see Retry-After",
}
WRITING = {
    "409": "Stale, in flight, already ended, or blocked by an erasure",
    "413": "The body is too large",
    "415": "The body is no JSON",
    "422": "The Idempotency-Key was used with another body",
}
# Headers of answers: of those that did what was asked, and of those that say when to come again.
ANSWERED = {
    "X-Request-Id": "Under which the log has it; the caller's own, where it gave one.",
    "RateLimit-Policy": "The key's rate in requests, and its window in seconds, as `600;w=60`. None without a rate.",
    "RateLimit-Limit": "The key's requests a minute.",
    "RateLimit-Remaining": "How many of them are left now.",
    "RateLimit-Reset": "In how many seconds all of them are there again.",
}
AGAIN = {"Retry-After": "In how many seconds to come again."}
NUMBERS = {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"}
MATCHING = {"412": "It has changed since If-Match was read"}
# What a problem of each status may say: its code, its title, its detail.
CODES = {
    "400": ("validation", "Bad Request", "The request has invalid fields."),
    "401": ("unauthenticated", "Unauthorized", "This key is not valid."),
    "403": ("not_permitted", "Not permitted", "This needs the verb write."),
    "404": ("not_found", "Not found", "There is no such thing for this key."),
    "406": ("not_acceptable", "Not Acceptable", "Answers are JSON."),
    "409": ("in_flight", "In flight", "The first request with this Idempotency-Key is still being worked on."),
    "412": ("precondition_failed", "Precondition Failed", "Somebody changed it since it was read."),
    "413": ("too_large", "Too large", "The body is over 8 MB."),
    "415": ("unsupported_media_type", "Unsupported Media Type", "Send application/json."),
    "422": ("idempotency_mismatch", "Idempotency mismatch", "This Idempotency-Key was used with another body."),
    "429": ("rate_limited", "Too Many Requests", "Over the key's rate."),
    "503": ("database_unavailable", "Service Unavailable", "The database is away; nothing was written."),
}


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the problem answers to every operation (a drf-spectacular postprocessing hook)."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    said = EVERYWHERE | WRITING | MATCHING
    result["components"]["responses"] = {status: _problem(status, text) for status, text in said.items()}
    for methods in result["paths"].values():
        for method, operation in methods.items():
            answers = EVERYWHERE if method == "get" else EVERYWHERE | WRITING
            if any(each["name"] == "If-Match" for each in operation.get("parameters", ())):
                answers = answers | MATCHING
            for status in answers:
                operation["responses"][status] = {"$ref": f"#/components/responses/{status}"}
    return result


def _problem(status: str, description: str) -> dict[str, Any]:
    schema, code = {"$ref": "#/components/schemas/Problem"}, CODES[status][0]
    return {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": schema, "examples": {code: {"value": _example(status)}}}},
    }


def _example(status: str) -> dict[str, Any]:
    code, title, detail = CODES[status]
    wrong = {"field": "content", "message": "This field may not be blank.", "code": "blank"}
    return {
        "type": f"urn:novamem:problem:{code}",
        "title": title,
        "status": int(status),
        "detail": detail,
        "code": code,
        "errors": [wrong] if status == "400" else [],
        "request_id": BY_FORMAT["uuid"],
    }


def add_words(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Say what each property and parameter means, and how it looks (a drf-spectacular postprocessing hook)."""
    for name, schema in result["components"]["schemas"].items():
        properties = schema.get("properties", {})
        for field, shape in properties.items():
            properties[field] = _described(shape, WORDS.get(f"{name}.{field}", WORDS.get(field)), field)
    for methods in result["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                field = parameter["name"]
                text = WORDS.get(f"{operation['operationId']}.{field}", WORDS.get(field))
                if text and "description" not in parameter:
                    parameter["description"] = text
                if (shown := _shown(parameter["schema"], field)) is not None:
                    parameter["example"] = shown
    return result


def _described(shape: dict[str, Any], text: str | None, field: str) -> dict[str, Any]:
    """Return a property's schema with what it means and how it looks; beside a reference nothing may stand."""
    wrapped = {"allOf": [shape]} if "$ref" in shape else shape
    described = {**wrapped, "description": text} if text and "description" not in shape else shape
    shown = _shown(shape, field)
    return described if shown is None or "example" in described else {**described, "example": shown}


def _shown(shape: dict[str, Any], field: str) -> Any:
    """Return how a value looks; None for choices, lists and objects, which show themselves."""
    kind = shape.get("type")
    if "enum" in shape or kind not in ("string", "integer", "number", "boolean"):
        return None
    if kind == "string":
        return BY_FORMAT.get(shape.get("format", ""), EXAMPLES.get(field))
    if kind == "boolean":
        return shape.get("default", True)
    return shape.get("default", shape.get("minimum", 1) if kind == "integer" else 0.5)


def add_headers(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add what every answer is, and its headers (a drf-spectacular postprocessing hook, after the problems)."""
    result["components"]["headers"] = {
        name: {"description": text, "schema": {"type": "integer" if name in NUMBERS else "string"}}
        for name, text in (ANSWERED | AGAIN).items()
    }
    for status in ("429", "503"):
        result["components"]["responses"][status]["headers"] = _referred(AGAIN)
    for methods in result["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                if status.startswith("2"):
                    response["description"] = response["description"] or _first_sentence(operation["description"])
                    response["headers"] = {**response.get("headers", {}), **_referred(ANSWERED)}
    return result


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]


def _referred(names: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


class Schema(AutoSchema):
    """How an operation is described: with what every view reads beside what is written at it."""

    def _process_override_parameters(self, direction: Any = "request") -> dict[Any, Any]:
        """The parameters written at the view; and whose memories it is about, which `principal_of` reads.

        A body or a query says so itself, as both are closed.
        """
        found: dict[Any, Any] = super()._process_override_parameters(direction)
        takes_body = self._get_request_body()
        if takes_body or any(place == OpenApiParameter.QUERY for _, place in found):
            return found
        shapes = self._map_serializer(AboutUserQuery(), "request")["properties"]
        for name, shape in shapes.items():
            parts = {"description": shape.pop("description"), "location": OpenApiParameter.QUERY}
            found[name, OpenApiParameter.QUERY] = build_parameter_type(name=name, schema=shape, **parts)
        return found


class Closed(OpenApiSerializerExtension):
    """Input refuses unknown fields; the document says so."""

    target_class = "memories.rest.fields.Strict"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> Any:
        """The usual schema, closed."""
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**schema, "additionalProperties": False}
