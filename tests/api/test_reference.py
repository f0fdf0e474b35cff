"""/api/docs/: pages of the OpenAPI document, for people."""

import json
import shlex

import pytest
from jsonschema import Draft4Validator

from memories.api.reference import SchemaReader, reference
from tests.openapi_document import DOCUMENT

METHODS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]


def test_every_endpoint_stands_on_the_overview_and_on_its_group(client):
    shown = {(endpoint.path, endpoint.method.lower()) for group in reference().values() for endpoint in group.endpoints}
    assert shown == set(METHODS)
    overview = client.get("/api/docs/").text
    for name, group in reference().items():
        page = client.get(f"/api/docs/{name}/")
        assert page.status_code == 200
        for endpoint in group.endpoints:
            assert f'href="/api/docs/{name}/#{endpoint.name}"' in overview
            assert f'<article id="{endpoint.name}"' in page.text


def test_no_page_is_linked_that_is_closed_to_whoever_reads(client):
    page = client.get("/api/docs/").text
    assert "an admin’s page “Agents and keys”" in page
    assert 'href="/agents/"' not in page.partition("<h1>")[2]


def test_there_is_no_such_group(client):
    assert client.get("/api/docs/nothing/").status_code == 404


def test_pages_run_no_foreign_script(client):
    page = client.get("/api/docs/")
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize(("path", "method"), METHODS)
def test_an_example_is_taken_by_its_schema(path, method):
    reader = SchemaReader(DOCUMENT)
    operation = DOCUMENT["paths"][path][method]
    kind, schema = reader.content(operation.get("requestBody", {}))
    words = shlex.split(reader.curl(path, method, operation))
    assert words[0] == "curl"
    assert f"$NOVAMEM_URL{path}" in " ".join(words)
    if kind == "application/json":
        body = json.loads(words[words.index("-d") + 1])
        Draft4Validator({**schema, "components": DOCUMENT["components"]}).validate(body)


DEEP = {
    "components": {
        "schemas": {
            "Node": {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/x/Node"}}},
            "Kind": {"type": "string", "enum": ["a", "b"], "description": "* `a` - A\n* `b` - B"},
        }
    }
}


@pytest.mark.parametrize(
    ("schema", "kind", "choices", "rules", "fields"),
    [
        ({"type": "string", "maxLength": 5}, "text", (), ("up to 5 characters",), []),
        ({"type": "string", "format": "date-time", "nullable": True}, "time or null", (), (), []),
        ({"type": "array", "items": {"$ref": "#/x/Kind"}, "maxItems": 3}, "list of text", ("a", "b"), ("up to 3",), []),
        ({"allOf": [{"$ref": "#/x/Kind"}], "default": "a"}, "text", ("a", "b"), ('default "a"',), []),
        ({"type": "integer", "minimum": 1, "maximum": 2**63}, "integer", (), ("at least 1",), []),
        ({"$ref": "#/x/Node"}, "object", (), (), ["name", "next"]),
        ({"type": "object", "additionalProperties": {"$ref": "#/x/Node"}}, "object", (), (), ["name", "next"]),
        ({"oneOf": [{"type": "integer"}, {"$ref": "#/x/Node"}]}, "integer or object", (), (), ["name", "next"]),
        ({}, "any", (), (), []),
    ],
)
def test_a_schema_in_words(schema, kind, choices, rules, fields):
    found = SchemaReader(DEEP).field("it", schema)
    assert (found.kind, found.choices, found.rules) == (kind, choices, rules)
    assert [one.name for one in found.fields] == fields
    assert found.about == ""


def test_a_schema_within_itself_is_opened_once():
    (_, following) = SchemaReader(DEEP).field("it", {"$ref": "#/x/Node"}).fields
    assert (following.name, following.fields) == ("next", ())
