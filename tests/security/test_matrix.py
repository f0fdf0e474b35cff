"""Principals × endpoints × own, foreign and missing ids: nobody gets further than the grant says.

Every path of the API stands in the table; a path that is missing fails the last test.
"""

import re
import uuid
from functools import reduce

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.security.endpoints import OF_A_PROJECT, OPERATORS, ROWS, TABLE

pytestmark = pytest.mark.examples


def fill(value, names):
    if isinstance(value, str) and value.startswith("#"):
        number = value[1:].format(**names)
        return int(number) if number.isdigit() else 1
    if isinstance(value, str):
        return value.format(**names)
    if isinstance(value, dict):
        return {key: fill(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill(inner, names) for inner in value]
    return value


def call(client, path, method, body, names):
    data = fill(body, names)
    extra = {"format": "json"} if method != "get" else {}
    return getattr(client, method)(f"/api/v1/{fill(path, names)}", data or None, **extra)


@ROWS
def test_own(path, method, body, verb, alice, ground):
    answer = call(alice.client, path, method, body, ground)
    assert answer.status_code in (200, 201, 202, 204)
    b"".join(getattr(answer, "streaming_content", ()))  # read to its end, a file is closed


@ROWS
def test_nobody(path, method, body, verb, anonymous, ground, picture):
    before = picture()
    answer = anonymous.generic(method.upper(), f"/api/v1/{fill(path, ground)}", b"{}", content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert picture() == before


@ROWS
def test_without_the_verb(path, method, body, verb, agent_of, project, ground, picture):
    others = [v for v in ("read", "write", "review", "admin") if v != verb]
    before = picture()
    answer = call(agent_of(project, verbs=others, ceiling="user_explicit").client, path, method, body, ground)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert picture() == before


@pytest.mark.parametrize(("path", "method"), [(row[0], row[1]) for row in TABLE if row[1] == "get"])
def test_more_parameters_than_anybody_needs_are_a_problem(path, method, alice, ground):
    address = fill(path, ground)
    many = "&".join(f"a{n}=1" for n in range(1001))
    answer = alice.client.get(f"/api/v1/{address}{'&' if '?' in address else '?'}{many}")
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")


@OF_A_PROJECT
def test_another_project_and_another_namespace_look_missing(
    path, method, body, verb, charlie, agent_of, project, ground, picture
):
    narrow = agent_of(
        project, namespaces=["acme:elsewhere"], verbs=["read", "write", "review", "admin"], ceiling="user_explicit"
    )
    missing = {**{name: uuid.uuid4() for name in ground}, "namespace": "nowhere:main"}
    missing |= {"side": "nowhere:side", "moment": ground["moment"]}
    before = picture()
    answers = [call(charlie.client, path, method, body, ground), call(narrow.client, path, method, body, ground)]
    answers.append(call(charlie.client, path, method, body, missing))
    if "{" in path or any(
        named in str(body) for named in ("{namespace}", "{fragment}", "{backup}", "{forgotten}", "{key}")
    ):
        told = [{k: v for k, v in answer.json().items() if k not in ("request_id", "detail")} for answer in answers]
        assert [answer.status_code for answer in answers] == [404, 404, 404]
        assert told[0] == told[1] == told[2]
    else:
        assert [answer.status_code for answer in answers] == [200, 200, 200]
        assert all(not answer.json()["results"] for answer in answers)
    assert picture() == before


def test_models_are_everybodys_but_tell_nothing_of_other_projects(charlie, ground, picture):
    before = picture()
    told = charlie.client.get(f"/api/v1/models/{ground['model']}").json()
    assert (told["fragments"], told["missing"]) == (0, 0)
    assert picture() == before


@pytest.mark.parametrize(("path", "body"), OPERATORS)
def test_what_is_the_operators_no_key_may_do(path, body, alice, ground, picture):
    before = picture()
    answer = call(alice.client, path, "post", body, ground)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert picture() == before


@ROWS
def test_missing_ids_of_the_own_project(path, method, body, verb, alice, ground, picture):
    kinds = (
        "fragment",
        "operation",
        "predicate",
        "model",
        "run",
        "pack",
        "tombstone",
        "episode",
        "cluster",
        "backup",
        "proposal",
        "decided",
        "check",
        "webhook",
        "case",
        "settled_case",
        "case_revision",
        "case_value",
    )
    missing = dict.fromkeys(kinds, uuid.uuid4())
    if not any(f"{{{kind}}}" in path for kind in missing):
        return
    before = picture()
    answer = call(alice.client, path, method, body, missing)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert picture() == before


@ROWS
def test_other_methods_are_refused(path, method, body, verb, alice, ground):
    allowed = {m for p, m, _, _ in TABLE if p == path} | {"post" for p, _ in OPERATORS if p == path}
    for other in {"get", "post", "put", "patch", "delete"} - allowed:
        answer = call(alice.client, path, other, {}, ground)
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def paths(patterns, prefix=""):
    for entry in patterns:
        here = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from paths(entry.url_patterns, here)
        elif isinstance(entry, URLPattern):
            yield here


def test_every_path_stands_in_the_table():
    rows = "fragment|operation|predicate|backup|conflict|proposal|model|tombstone|episode|cluster|check"
    ids = f"{{({rows}|containment|webhook)}}"
    alias = {
        "{namespace}": "<str:name>",
        "{side}": "<str:name>",
        "{project}": "<str:name>",
        "{archived}": "{fragment}",
        "{replaced}": "{fragment}",
        "{settled}": "{conflict}",
        "{decided}": "{proposal}",
        "{run}": "{operation}",
        "{pack}": "{operation}",
        "{user}": "<str:address>",
        "{case}": "<str:case_id>",
        "{settled_case}": "<str:case_id>",
    }
    table = [reduce(lambda path, pair: path.replace(*pair), alias.items(), path) for path, *_ in [*TABLE, *OPERATORS]]
    known = {re.sub(ids, r"<uuid:\1_id>", path.partition("?")[0]) for path in table}
    served = {path.removeprefix("api/v1/") for path in paths(get_resolver().url_patterns) if path.startswith("api/v1/")}
    assert served == known
