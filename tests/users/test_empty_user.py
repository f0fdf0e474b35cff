"""The empty user, at every endpoint that the API's document says takes one: 400 with the field, never the namespace."""

import uuid

import pytest

from memories.models import Fragment
from tests.openapi_document import DOCUMENT

METHODS = ("get", "post", "put", "patch", "delete")
LENGTH = "Give a user of 1 to 255 characters."
ITEMS = {
    "/api/v1/fragments/batch": ("fragments", {"namespace": "acme:main", "content": "Tea."}),
    "/api/v1/search/batch": ("searches", {"namespace": "acme:main", "query": "tea"}),
}


def schema_of(operation):
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    reference = content.get("schema", {}).get("$ref", "")
    return DOCUMENT["components"]["schemas"].get(reference.rsplit("/", 1)[-1], {}).get("properties", {})


def operations():
    for path, methods in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in methods:
                yield path, method, methods[method]


def in_address(operation):
    return any((given["name"], given["in"]) == ("user", "query") for given in operation.get("parameters", []))


QUERIES = [(method, path) for path, method, told in operations() if in_address(told)]
BODIES = [(method, path) for path, method, told in operations() if "user" in schema_of(told)]


@pytest.fixture
def ask(agent_of, project):
    """Asks as somebody who may do everything; the problem's fields and messages."""
    everything = agent_of(project, verbs=["read", "write", "review", "admin"], ceiling="user_explicit")

    def send(method, path, body=None, query=""):
        whole = f"{path.format_map(Filled())}{query}"
        answer = getattr(everything.client, method)(whole, body, format="json" if body is not None else None)
        assert (answer.status_code, answer.json().get("code")) == (400, "validation"), answer.content
        return [(error["field"], error["message"]) for error in answer.json()["errors"]]

    return send


class Filled(dict):
    """Any id."""

    def __missing__(self, name):
        return str(uuid.uuid4())


def test_the_document_names_endpoints_that_take_users():
    assert (len(QUERIES) > 15, len(BODIES) > 15) == (True, True)
    assert set(ITEMS) <= {path for _, path in BODIES}


@pytest.mark.parametrize(("method", "path"), QUERIES)
def test_in_an_address(ask, method, path):
    assert ("user", LENGTH) in ask(method, path, query="?user=")


@pytest.mark.parametrize(("method", "path"), BODIES)
def test_in_a_body(ask, count, method, path):
    assert ("user", LENGTH) in ask(method, path, {"user": ""})
    assert count(Fragment) == 0


@pytest.mark.parametrize("path", ITEMS)
def test_in_an_item(ask, count, path):
    parts, item = ITEMS[path]
    assert ask("post", path, {parts: [item, {**item, "user": ""}]}) == [(f"{parts}[1].user", LENGTH)]
    assert ask("post", path, {parts: [{**item, "user": ""}]}) == [(f"{parts}[0].user", LENGTH)]
    assert ask("post", path, {parts: [{**item, "user": ""}, {**item, "user": "ann"}]})[0][0].endswith("user")
    assert count(Fragment) == 0


def test_a_search_of_a_batch_names_one_user_or_all(ask):
    item = {"namespace": "acme:main", "query": "tea", "user": "ann", "all_users": True}
    assert ask("post", "/api/v1/search/batch", {"searches": [item]}) == [
        ("searches[0].user", "Name one user or all of them.")
    ]


@pytest.mark.parametrize("user", ["", "a\nb"])
def test_in_a_path(agent_of, project, user):
    """An address of a user that is none is a path that leads nowhere."""
    everything = agent_of(project, verbs=["read", "write", "review", "admin"], ceiling="user_explicit")
    address = {"": "=", "a\nb": "YQpi"}[user]
    for answer in (
        everything.client.get(f"/api/v1/users/{address}/export"),
        everything.client.delete(f"/api/v1/users/{address}"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
