"""Writes the methods and types of the Python and the JavaScript client from the server's OpenAPI document.

    .venv/bin/python clients/generate.py

Nothing of it is written by hand: `tests/clients/test_generated.py` sees that it is what this writes.
"""

import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
DOCUMENT = HERE.parent / "tests/api/openapi.yaml"
WIDTH = 120
NOTICE = "Made by clients/generate.py of the server's OpenAPI document. Not to be edited."
USER = "address"  # a path's name for a user, who stands in it as base64url
OF_STREAMS = ("Last-Event-ID",)  # which the clients don't read
ONLY_READ = ("search", "search_batch", "context")  # by POST
Schema = dict[str, Any]


@dataclass(frozen=True)
class Argument:
    """A value that a call takes beside its body: where it goes, and under which name."""

    name: str
    schema: Schema
    wire: str
    place: str
    required: bool


@dataclass(frozen=True)
class Call:
    """An operation of the API as a method; `group` is empty for one of the client itself."""

    id: str
    group: str
    name: str
    method: str
    path: str
    text: str
    arguments: list[Argument]
    body: Schema | None
    needs_body: bool
    answer: Schema | None
    media: str
    row: Schema | None
    once: bool
    repeatable: bool

    @property
    def query(self) -> Schema | None:
        """Return what is asked for in the address as an object's schema; None for nothing."""
        named = self.placed("query")
        required = [one.wire for one in named if one.required]
        return {"properties": {one.wire: one.schema for one in named}, "required": required} if named else None

    def placed(self, place: str) -> list[Argument]:
        """Return the arguments that go there."""
        return [one for one in self.arguments if one.place == place]


@dataclass
class Document:
    """The operations and the types of an API."""

    calls: list[Call] = field(default_factory=list)
    types: dict[str, Schema] = field(default_factory=dict)

    def groups(self) -> dict[str, list[Call]]:
        """Return the calls by the group that they belong to, those of the client itself under the empty name."""
        found = defaultdict(list)
        for call in self.calls:
            found[call.group].append(call)
        return dict(sorted(found.items()))


def read(document: Schema) -> Document:
    """Return what an OpenAPI document describes."""
    found = Document(types=document["components"]["schemas"])
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if isinstance(operation, dict) and "operationId" in operation
    ]
    bare = {operation["operationId"] for _, _, operation in operations}
    for path, method, operation in operations:
        found.calls.append(_call(path, method, operation, found.types, bare))
    return found


def _call(path: str, method: str, operation: Schema, types: dict[str, Schema], bare: set[str]) -> Call:
    name, tag = operation["operationId"], operation["tags"][0].replace("-", "_")
    group = "" if tag in bare or not name.startswith(f"{tag}_") else tag
    answer, media = _answer(operation)
    properties = _properties(answer, types)
    row = properties["results"]["items"] if {"results", "next"} <= set(properties) else None
    names = {one["name"] for one in operation.get("parameters", ())}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return Call(
        id=name,
        group=group,
        name=snake(name.removeprefix(f"{group}_") if group else name),
        method=method.upper(),
        path=path,
        text=operation.get("description", ""),
        arguments=[_argument(one) for one in operation.get("parameters", ()) if one["name"] not in OF_STREAMS],
        body=body,
        needs_body=bool(operation.get("requestBody", {}).get("required")),
        answer=answer,
        media=media,
        row=row if "cursor" in names else None,
        once="Idempotency-Key" in names,
        repeatable=method == "get" or name in ONLY_READ,
    )


def _answer(operation: Schema) -> tuple[Schema | None, str]:
    """Return the schema of all that may be answered, and its media type."""
    found: list[tuple[str, Schema]] = [
        (media, content.get("schema") or {})
        for status, response in sorted(operation["responses"].items())
        if status.startswith("2")
        for media, content in list((response.get("content") or {}).items())[:1]
    ]
    schemas = [schema for place, (_, schema) in enumerate(found) if schema not in [one for _, one in found[:place]]]
    if not schemas:
        return None, ""
    return schemas[0] if len(schemas) == 1 else {"oneOf": schemas}, found[0][0]


def _properties(schema: Schema | None, types: dict[str, Schema]) -> dict[str, Schema]:
    if schema and "$ref" in schema:
        schema = types[referred(schema)]
    several = [_properties(one, types) for one in (schema or {}).get("oneOf", ())]
    return {name: inner for one in several for name, inner in one.items()} | (schema or {}).get("properties", {})


def _argument(parameter: Schema) -> Argument:
    name = "user" if parameter["name"] == USER else snake(parameter["name"])
    return Argument(
        name, parameter.get("schema", {}), parameter["name"], parameter["in"], bool(parameter.get("required"))
    )


def snake(name: str) -> str:
    """Return a name as Python takes it."""
    plain = re.sub(r"\W", "_", name).lower()
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def referred(schema: Schema) -> str:
    """Return the name of the type that a schema refers to."""
    return str(schema["$ref"]).rpartition("/")[2]


def pages(call: Call) -> str:
    """Return the name of the method that reads page after page."""
    return "all" if call.name == "list" else f"{call.name}_all"


# Python


def python_type(schema: Schema | None, prefix: str = "m.") -> str:
    """Return a schema as a type of Python."""
    if not schema:
        return "Any"
    plain = _python_type(schema, prefix)
    return f"{plain} | None" if schema.get("nullable") and plain != "Any" else plain


def _python_type(schema: Schema, prefix: str) -> str:
    if "$ref" in schema:
        return prefix + referred(schema)
    for joined in ("allOf", "oneOf", "anyOf"):
        if joined in schema:
            return " | ".join(dict.fromkeys(python_type(one, prefix) for one in schema[joined]))
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(one) if one is not None else 'None' for one in schema['enum'])}]"
    kind = schema.get("type")
    if kind == "array":
        return f"List[{python_type(schema.get('items'), prefix)}]"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"Dict[str, {python_type(inner, prefix) if isinstance(inner, dict) else 'Any'}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(kind or "", "Any")


def _wrapped(text: str, indent: str) -> Iterator[str]:
    for paragraph in text.split("\n"):
        yield from textwrap.wrap(paragraph, WIDTH - len(indent)) or [""]


def _docstring(text: str, indent: str) -> list[str]:
    lines = list(_wrapped(text.strip().replace("\\", "\\\\").replace('"""', "'''") or "No description.", indent))
    if len(lines) == 1 and len(lines[0]) < WIDTH - len(indent) - 6:
        return [f'{indent}"""{lines[0]}"""']
    return [f'{indent}"""{lines[0]}', *(f"{indent}{line}".rstrip() for line in lines[1:]), f'{indent}"""']


def python_models(document: Document) -> str:
    """Return the module of types."""
    lines = [f'"""Types of what the API takes and answers.\n\n{NOTICE}\n"""', ""]
    lines += ["from __future__ import annotations", ""]
    lines += ["from typing import Any, Dict, List, Literal, NotRequired, TypeAlias, TypedDict"]
    for name, schema in sorted(document.types.items(), key=lambda one: "enum" not in one[1]):
        lines += ["", *_python_model(name, schema)]
    for call in document.calls:
        if call.query:
            lines += ["", *_python_model(query_name(call), call.query)]
    return "\n".join(lines) + "\n"


def _python_model(name: str, schema: Schema) -> list[str]:
    properties = schema.get("properties")
    if properties is None:
        return [f"{name}: TypeAlias = {_quoted(python_type(schema, ''))}", ""]
    required = set(schema.get("required", ()))
    fields = {
        one: python_type(inner, "") if one in required else f"NotRequired[{python_type(inner, '')}]"
        for one, inner in properties.items()
    }
    if any(keyword.iskeyword(one) or not one.isidentifier() for one in fields):
        written = ", ".join(f'"{one}": {json.dumps(kind)}' for one, kind in fields.items())
        return [f'{name} = TypedDict("{name}", {{{written}}})', ""]
    text = [*_docstring(schema["description"], "    "), ""] if schema.get("description") else []
    return [f"class {name}(TypedDict):", *text, *(f"    {one}: {kind}" for one, kind in fields.items()), ""]


def _quoted(kind: str) -> str:
    """Return a type as an expression; names that come later are read by type checkers alone."""
    return kind if kind.startswith("Literal[") else json.dumps(kind)


def python_api(document: Document, *, is_async: bool) -> str:
    """Return the module of methods."""
    transport = "AsyncTransport" if is_async else "Transport"
    which = "Methods that wait for answers" if is_async else "Methods"
    lines = [f'"""{which} of the API, by what they are about.\n\n{NOTICE}\n"""', ""]
    lines += ["from __future__ import annotations", ""]
    iterator = "AsyncIterator" if is_async else "Iterator"
    lines += [f"from collections.abc import {iterator}", "from typing import Unpack", ""]
    lines += ["from novamem_client import models as m", f"from novamem_client.transport import {transport}", ""]
    groups = document.groups()
    prefix = "Async" if is_async else ""
    for group, calls in groups.items():
        name = f"{prefix}{camel(group)}Calls" if group else f"{prefix}Api"
        about = f"What is asked of {group.replace('_', ' ')}." if group else "All of the API."
        lines += ["", f"class {name}:", f'    """{about}"""', ""]
        lines += [f"    def __init__(self, transport: {transport}) -> None:", "        self._transport = transport"]
        if not group:
            lines += [f"        self.{one} = {prefix}{camel(one)}Calls(transport)" for one in groups if one]
        for call in calls:
            lines += ["", *_python_method(call, is_async=is_async)]
            if call.row:
                lines += ["", *_python_pages(call, is_async=is_async)]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def camel(name: str) -> str:
    """Return a name as classes have it."""
    return "".join(part.capitalize() for part in name.split("_"))


def _signature(call: Call, name: str, answer: str, *, is_async: bool) -> str:
    places = [f"{one.name}: {python_type(one.schema)}" for one in call.placed("path")]
    options = [f"{one.name}: str | None = None" for one in call.placed("header") if name == call.name]
    more = [f"**body: Unpack[{python_type(call.body)}]"] if call.body else []
    more += [f"**query: Unpack[m.{query_name(call)}]"] if call.query else []
    parts = ["self", *places, *(["/"] if places else []), *(["*", *options] if options else []), *more]
    return f"    {'async ' if is_async else ''}def {name}({', '.join(parts)}) -> {answer}:"


def query_name(call: Call) -> str:
    """Return the name of the type of what a call asks for in its address."""
    return f"{camel(call.id)}Query"


def _python_method(call: Call, *, is_async: bool) -> list[str]:
    raw = call.media and "json" not in call.media
    answer = "bytes" if raw else python_type(call.answer) if call.answer else "None"
    request = [f'"{call.method}"', f'"{call.path}"']
    if call.placed("path"):
        values = ", ".join(f'"{one.wire}": {one.name}' for one in call.placed("path"))
        request.append(f"places={{{values}}}")
    request += ["query=dict(query)"] if call.query else []
    request += ["body=dict(body)"] if call.body else []
    request += [f"{one.name}={one.name}" for one in call.placed("header")]
    request += ["once=True"] if call.once else ["repeatable=True"] if call.repeatable else []
    request += ["raw=True"] if raw else []
    sent = f"{'await ' if is_async else ''}self._transport.request({', '.join(request)})"
    lines = [_signature(call, call.name, answer, is_async=is_async), *_docstring(call.text, "        ")]
    if answer in ("None", "Any"):
        return [*lines, f"        {'return ' if answer == 'Any' else ''}{sent}"]
    return [*lines, f"        answer: {answer} = {sent}", "        return answer"]


def _python_pages(call: Call, *, is_async: bool) -> list[str]:
    iterator = "AsyncIterator" if is_async else "Iterator"
    return [
        _signature(call, pages(call), f"{iterator}[{python_type(call.row)}]", is_async=is_async),
        f'        """Each row of `{call.name}`, page after page."""',
        f'        {"async for" if is_async else "for"} row in self._transport.rows("{call.path}", dict(query)):',
        "            yield row",
    ]


# JavaScript


def javascript_calls(document: Document) -> str:
    """Return the module of what each method sends."""
    table: dict[str, Any] = {}
    for call in document.calls:
        one: dict[str, Any] = {"method": call.method, "path": call.path}
        one |= {"places": [[place.name, place.wire] for place in call.placed("path")]} if call.placed("path") else {}
        one |= {"query": [one.wire for one in call.placed("query")]} if call.placed("query") else {}
        one |= {"body": True} if call.body else {}
        one |= {"once": True} if call.once else {}
        one |= {"repeatable": True} if call.repeatable else {}
        one |= {"raw": True} if call.media and "json" not in call.media else {}
        one |= {"rows": True} if call.row else {}
        table[f"{camel_case(call.group)}.{camel_case(call.name)}" if call.group else camel_case(call.name)] = one
    lines = [f"  {json.dumps(name)}: {json.dumps(one)}," for name, one in table.items()]
    return "\n".join([f"// {NOTICE}", "export const CALLS = {", *lines, "};", ""])


def camel_case(name: str) -> str:
    """Return a name as JavaScript has it."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


def javascript_type(schema: Schema | None) -> str:
    """Return a schema as a type of TypeScript."""
    if not schema:
        return "unknown"
    plain = _javascript_type(schema)
    return f"{plain} | null" if schema.get("nullable") and plain != "unknown" else plain


def _javascript_type(schema: Schema) -> str:
    if "$ref" in schema:
        return referred(schema)
    if "allOf" in schema:
        return " & ".join(javascript_type(one) for one in schema["allOf"])
    for joined in ("oneOf", "anyOf"):
        if joined in schema:
            return " | ".join(dict.fromkeys(javascript_type(one) for one in schema[joined]))
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return f"Array<{javascript_type(schema.get('items'))}>"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"Record<string, {javascript_type(inner) if isinstance(inner, dict) else 'unknown'}>"
    return {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}.get(
        kind or "", "unknown"
    )


def javascript_types(document: Document) -> str:
    """Return the declarations of types and methods."""
    lines = [f"// {NOTICE}", ""]
    for name, schema in sorted(document.types.items()):
        text = "" if "enum" in schema else schema.get("description", "")  # which only names the values
        lines += [*_comment(text, ""), *_javascript_model(name, schema)]
    for group, calls in document.groups().items():
        lines += [f"export interface {camel(group) or 'Api'}{'Calls' if group else ''} {{"]
        if not group:
            lines += [f"  {camel_case(one)}: {camel(one)}Calls;" for one in document.groups() if one]
        for call in calls:
            lines += [
                *_comment(call.text, "  "),
                f"  {camel_case(call.name)}({_takes(call)}): Promise<{_gives(call)}>;",
            ]
            if call.row:
                row = javascript_type(call.row)
                lines += [f"  {camel_case(pages(call))}({_takes(call)}): AsyncGenerator<{row}, void, undefined>;"]
        lines += ["}", ""]
    return "\n".join(lines)


def _javascript_model(name: str, schema: Schema) -> list[str]:
    properties = schema.get("properties")
    if properties is None:
        return [f"export type {name} = {javascript_type(schema)};", ""]
    required = set(schema.get("required", ()))
    fields = [
        f"  {one if one.isidentifier() else json.dumps(one)}{'' if one in required else '?'}: {javascript_type(inner)};"
        for one, inner in properties.items()
    ]
    return [f"export interface {name} {{", *fields, "}", ""]


def _takes(call: Call) -> str:
    """Return the arguments of a method: its places, and an object of all else."""
    places = [f"{camel_case(one.name)}: {javascript_type(one.schema)}" for one in call.placed("path")]
    query = [f"{one.wire}{'' if one.required else '?'}: {javascript_type(one.schema)}" for one in call.placed("query")]
    parts = [javascript_type(call.body)] if call.body else []
    parts += [f"{{ {'; '.join(query)} }}"] if query else []
    must = call.needs_body or any(one.required for one in call.placed("query"))
    values = [f"values{'' if must else '?'}: {' & '.join(parts)}"] if parts else []
    return ", ".join([*places, *values, "options?: CallOptions"])


def _gives(call: Call) -> str:
    if call.media and "json" not in call.media:
        return "ArrayBuffer"
    return javascript_type(call.answer) if call.answer else "void"


def _comment(text: str, indent: str) -> list[str]:
    lines = list(_wrapped(text.strip().replace("*/", "* /"), indent + "   ")) if text.strip() else []
    if len(lines) <= 1:
        return [f"{indent}/** {lines[0]} */"] if lines else []
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]


def formatted(text: str) -> str:
    """Return a module as `ruff format` has it."""
    settings = ["--isolated", "--line-length", str(WIDTH), "--config", "format.skip-magic-trailing-comma=true"]
    ruff = [sys.executable, "-m", "ruff", "format", *settings, "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout


def files() -> dict[Path, str]:
    """Return what is to stand where."""
    document = read(yaml.safe_load(DOCUMENT.read_text()))
    python, javascript = HERE / "python/novamem_client", HERE / "javascript"
    options = "export interface CallOptions { ifMatch?: string; idempotencyKey?: string; signal?: AbortSignal }\n\n"
    return {
        python / "models.py": formatted(python_models(document)),
        python / "api.py": formatted(python_api(document, is_async=False)),
        python / "async_api.py": formatted(python_api(document, is_async=True)),
        javascript / "calls.js": javascript_calls(document),
        javascript / "api.d.ts": javascript_types(document).replace("\n\n", f"\n\n{options}", 1),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
