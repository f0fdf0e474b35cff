"""/api/docs/: the OpenAPI document as pages that need no script. It is read once in a process; views do not change."""

import functools
import json
import re
from dataclasses import dataclass, field
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

from memories.api.openapi import EVERYWHERE, WRITING

Schema = dict[str, Any]
FORMATS = {"double": "number", "date-time": "time", "date": "date", "uuid": "id", "uri": "address", "binary": "file"}
PLAIN = {"string": "text", "boolean": "true or false"}
RANGES = {"minimum": "at least {}", "maximum": "at most {}", "maxLength": "up to {} characters", "maxItems": "up to {}"}
CHOICE = re.compile(r"\s*^\* `.*$", re.MULTILINE)  # drf-spectacular repeats an enum's values in its description
SAMPLES = {"id": "00000000-0000-0000-0000-000000000000", "time": "2026-01-31T12:00:00Z", "date": "2026-01-31"}
NAMED = {"content": "Rina moved to Lisbon.", "query": "Where does Rina live?"}
LIKELY = ("demo:assistant", "draft")  # for what has a pattern: a namespace, a name


@dataclass(frozen=True, slots=True)
class Field:
    """A field, a parameter or a header: what it is called, what it may be, what it holds."""

    name: str
    kind: str
    required: bool = False
    where: str = ""
    about: str = ""
    choices: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    fields: tuple["Field", ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """A status with what comes along."""

    status: str
    about: str
    kind: str
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceEndpoint:
    """A method of a path."""

    name: str
    method: str
    path: str
    about: str
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    body_kind: str
    answers: tuple[ReferenceAnswer, ...]
    problems: tuple[ReferenceAnswer, ...]
    curl: str

    @property
    def summary(self) -> str:
        """The first sentence."""
        return re.split(r"(?<=[.!?])\s", self.about, maxsplit=1)[0]

    @property
    def lines(self) -> int:
        """How high the command is."""
        return self.curl.count("\n") + 1


@dataclass(frozen=True, slots=True)
class Group:
    """Endpoints about one thing."""

    name: str
    endpoints: list[ReferenceEndpoint] = field(default_factory=list)


class SchemaReader:
    """Reads the parts of one OpenAPI 3.0 document."""

    def __init__(self, document: Schema) -> None:
        self.document = document
        self.schemas = document["components"]["schemas"]

    def groups(self) -> dict[str, Group]:
        """Return the endpoints by their tag, by name."""
        found: dict[str, Group] = {}
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                tag = operation["tags"][0]
                found.setdefault(tag, Group(tag)).endpoints.append(self.endpoint(path, method, operation))
        return dict(sorted(found.items()))

    def endpoint(self, path: str, method: str, operation: Schema) -> ReferenceEndpoint:
        """Return one of them."""
        kind, body = self.content(operation.get("requestBody", {}))
        answers = [self.answer(status, item) for status, item in sorted(operation["responses"].items())]
        return ReferenceEndpoint(
            name=operation["operationId"],
            method=method.upper(),
            path=path,
            about=operation["description"],
            parameters=tuple(self.parameter(item) for item in operation.get("parameters", [])),
            body=self.inside(body) if body else (),
            body_kind=kind,
            answers=tuple(answer for answer in answers if answer.status < "400"),
            problems=tuple(answer for answer in answers if answer.status >= "400"),
            curl=self.curl(path, method, operation),
        )

    def answer(self, status: str, record: Schema) -> ReferenceAnswer:
        """Return a response."""
        kind, schema = self.content(record)
        about = record.get("description", "")
        return ReferenceAnswer(status, about, kind, self.inside(schema) if schema and status < "400" else ())

    def content(self, schema: Schema) -> tuple[str, Schema | None]:
        """Return the media type and the schema of a body; "" and None without one."""
        for kind, content in schema.get("content", {}).items():
            return kind, content["schema"]
        return "", None

    def parameter(self, record: Schema) -> Field:
        """Return what stands in the path, the query or a header."""
        schema = {"description": record.get("description", ""), **record["schema"]}
        return self.field(record["name"], schema, required=record.get("required", False), where=record["in"])

    def field(
        self, name: str, schema: Schema, *, required: bool = False, where: str = "", above: tuple[str, ...] = ()
    ) -> Field:
        """Return a named schema; `above`: the schemas that it stands in, which are not opened again."""
        whole = self.resolved(schema)
        about = CHOICE.sub("", whole.get("description", "")).strip()
        items = self.resolved(whole["items"]) if "items" in whole else {}
        choices = tuple(str(choice) for choice in whole.get("enum") or items.get("enum") or () if choice)
        rules = [text.format(whole[key]) for key, text in RANGES.items() if key in whole and abs(whole[key]) < 10**9]
        if "default" in whole:
            rules.append(f"default {json.dumps(whole['default'])}")
        fields = self.inside(schema, above=above)
        return Field(name, self.kind(schema), required, where, about, choices, tuple(rules), fields)

    def inside(self, schema: Schema, *, above: tuple[str, ...] = ()) -> tuple[Field, ...]:
        """Return the fields of an object, of the items of a list, of the values of a map, of either of several."""
        names = [ref_name(part) for part in (schema, *schema.get("allOf", ())) if "$ref" in part]
        if any(name in above for name in names):
            return ()
        above = (*above, *names)
        whole = self.resolved(schema)
        if "items" in whole:
            return self.inside(whole["items"], above=above)
        if isinstance(whole.get("additionalProperties"), dict) and whole["additionalProperties"]:
            return self.inside(whole["additionalProperties"], above=above)
        if "oneOf" in whole:
            return tuple(one for part in whole["oneOf"] for one in self.inside(part, above=above))
        required = whole.get("required", [])
        return tuple(
            self.field(name, part, required=name in required, above=above)
            for name, part in whole.get("properties", {}).items()
        )

    def resolved(self, schema: Schema) -> Schema:
        """Without `$ref` and `allOf` at the top; what stands beside them wins."""
        whole: Schema = {}
        for part in schema.get("allOf", ()):
            whole |= self.resolved(part)
        if "$ref" in schema:
            whole |= self.resolved(self.schemas[ref_name(schema)])
        return whole | {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}

    def kind(self, schema: Schema) -> str:
        """Return what a value may be, in words."""
        whole = self.resolved(schema)
        if "oneOf" in whole:
            kinds = dict.fromkeys(self.kind(part) for part in whole["oneOf"])
            words = " or ".join(kind for kind in kinds if kind)
        elif "items" in whole:
            words = f"list of {self.kind(whole['items'])}"
        elif "format" in whole and whole["format"] in FORMATS:
            words = FORMATS[whole["format"]]
        else:
            words = str(whole.get("type", "any"))
            words = PLAIN.get(words, words)
        return f"{words} or null" if whole.get("nullable") else words

    def curl(self, path: str, method: str, operation: Schema) -> str:
        """Return a command that asks for it, with what it cannot do without."""
        lines = [f"curl {'' if method == 'get' else f'-X {method.upper()} '}$NOVAMEM_URL{path}{self.query(operation)}"]
        lines.append('-H "Authorization: Bearer $NOVAMEM_KEY"')
        kind, schema = self.content(operation.get("requestBody", {}))
        if kind == "application/json" and schema:
            body = json.dumps(self.sample("", schema), ensure_ascii=False).replace("'", "'\\''")
            lines += ["-H 'Content-Type: application/json'", f"-d '{body}'"]
        elif schema:
            lines += [f"-F {name}=@FILE" for name in self.resolved(schema).get("required", [])]
        return " \\\n  ".join(lines)

    def query(self, operation: Schema) -> str:
        """Return the parameters that are required in the query."""
        answer = [one for one in operation.get("parameters", []) if one["in"] == "query" and one.get("required")]
        parts = [f"{one['name']}={self.sample(one['name'], one['schema'])}" for one in answer]
        return f"?{'&'.join(parts)}" if parts else ""

    def sample(self, name: str, schema: Schema) -> Any:
        """Return the least that the schema takes."""
        whole = self.resolved(schema)
        if "oneOf" in whole:
            return self.sample(name, whole["oneOf"][0])
        if "enum" in whole:
            return whole["enum"][0]
        match whole.get("type"):
            case "object":
                required = whole.get("required", [])
                return {part: self.sample(part, whole["properties"][part]) for part in required}
            case "array":
                return [self.sample(name.removesuffix("s"), whole["items"])] * whole.get("minItems", 1)
            case "integer" | "number":
                return whole.get("minimum", 1)
            case "boolean":
                return True
        if "pattern" in whole:
            return next(text for text in (*LIKELY, name) if re.search(whole["pattern"], text))
        return NAMED.get(name) or SAMPLES.get(FORMATS.get(whole.get("format", ""), ""), name or "text")


def ref_name(schema: Schema) -> str:
    """Return the name at the end of a `$ref`."""
    return str(schema["$ref"]).rsplit("/", 1)[-1]


@functools.cache
def reference() -> dict[str, Group]:
    """Return the server's own."""
    document = SchemaGenerator().get_schema(request=None, public=True)
    return SchemaReader(document).groups()


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Return every endpoint with a line, who may ask, and what may go wrong."""
    groups = reference()
    answer = {"groups": groups.values(), "problems": dict(sorted((EVERYWHERE | WRITING).items()))}
    return render(request, "reference/overview.html", answer)


@require_safe
def group(request: HttpRequest, name: str) -> HttpResponse:
    """Return the endpoints of one group, whole."""
    groups = reference()
    if name not in groups:
        raise Http404
    return render(request, "reference/group.html", {"groups": groups.values(), "group": groups[name]})
