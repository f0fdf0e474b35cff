"""What the OpenAPI document says beyond the views: the problems that every endpoint may answer, and closed inputs."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema

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


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the problem answers to every operation (a drf-spectacular postprocessing hook)."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for methods in result["paths"].values():
        for method, operation in methods.items():
            answer = EVERYWHERE if method == "get" else EVERYWHERE | WRITING
            if any(each["name"] == "If-Match" for each in operation.get("parameters", ())):
                answer = answer | MATCHING
            for status, description in answer.items():
                operation["responses"][status] = {"description": description, "content": content}
    return result


def add_headers(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the headers that every answer has (a drf-spectacular postprocessing hook, after the problems)."""
    result["components"]["headers"] = {
        name: {"description": text, "schema": {"type": "integer" if name in NUMBERS else "string"}}
        for name, text in (ANSWERED | AGAIN).items()
    }
    for methods in result["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                names = ANSWERED if status.startswith("2") else AGAIN if status in ("429", "503") else ()
                found = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
                response |= {"headers": {**response.get("headers", {}), **found}} if found else {}
    return result


class Closed(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Input refuses unknown fields; the document says so."""

    target_class = "memories.rest.fields.Strict"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> Any:
        """The usual schema, closed."""
        schema = auto_schema._map_serializer(  # type: ignore[no-untyped-call]
            self.target, direction, bypass_extensions=True
        )
        return {**schema, "additionalProperties": False}
