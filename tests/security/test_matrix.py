"""Principals × endpoints × own, foreign and missing ids: nobody gets further than the grant says.

Every path of the API stands in the table; a path that is missing fails the last test.
"""

import re
import uuid
from functools import reduce

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from conflicts.front import ClaimDraft, Settlement, register_predicate, resolve
from conflicts.models import PendingConflict, Predicate
from memories import access
from memories.ingest import archive
from memories.models import EmbeddingModel, Fragment, Namespace, Operation
from memories.operations import start

HERON = {"content": "The heron nests behind the old mill."}
# path, method, body, the verb it needs
TABLE = [
    ("fragments", "get", {}, "read"),
    ("fragments", "post", {"namespace": "{namespace}", **HERON}, "write"),
    ("fragments/batch", "post", {"fragments": [{"namespace": "{namespace}", **HERON}]}, "write"),
    ("fragments/{fragment}", "get", {}, "read"),
    ("fragments/{fragment}", "patch", {"importance": 0.9}, "write"),
    ("fragments/{fragment}/history", "get", {}, "read"),
    ("fragments/{fragment}/reinforce", "post", {}, "write"),
    ("fragments/{fragment}/dispute", "post", {"reason": "The mill is new."}, "write"),
    ("fragments/{fragment}/corroborate", "post", {"source_id": "a walk"}, "write"),
    ("fragments/{fragment}/archive", "post", {}, "write"),
    ("fragments/{archived}/unarchive", "post", {}, "write"),
    ("conflicts", "get", {}, "read"),
    ("conflicts/{conflict}", "get", {}, "read"),
    ("conflicts/{conflict}/resolve", "post", {"action": "reject", "revision": 1}, "review"),
    ("conflicts/{settled}/undo", "post", {}, "review"),
    ("ingest", "post", {"namespace": "{namespace}", "text": "A text that is long enough."}, "write"),
    ("search", "post", {"namespace": "{namespace}", "query": "heron"}, "read"),
    ("search/batch", "post", {"searches": [{"namespace": "{namespace}", "query": "heron"}]}, "read"),
    ("context", "post", {"namespace": "{namespace}", "query": "heron"}, "read"),
    ("claims?namespace={namespace}", "get", {}, "read"),
    ("claims/timeline?namespace={namespace}&subject=user&predicate=lives_in", "get", {}, "read"),
    ("events?namespace={namespace}", "get", {}, "read"),
    ("stats?namespace={namespace}", "get", {}, "read"),
    ("namespaces", "get", {}, "read"),
    ("namespaces", "post", {"name": "{namespace}"}, "write"),
    ("predicates", "get", {}, "read"),
    ("predicates", "post", {"namespace": "{namespace}", "name": "eye_color"}, "admin"),
    ("predicates", "patch", {"namespace": "{namespace}", "name": "shoe_size", "newer_wins": True}, "admin"),
    ("predicates/{predicate}", "get", {}, "read"),
    ("predicates/{predicate}", "patch", {"newer_wins": True}, "admin"),
    ("operations", "get", {}, "read"),
    ("operations", "post", {"kind": "rebuild", "namespace": "{namespace}", "options": {"target": "keywords"}}, "admin"),
    ("operations/{operation}", "get", {}, "read"),
    ("operations/{operation}/cancel", "post", {}, "admin"),
    ("fragments/{fragment}", "delete", {}, "write"),
]
# Of the installation, not of a project.
SHARED = [
    ("models", "get", {}, "read"),
    ("models", "post", {"name": "some/model", "provider": "sentence-transformers", "dim": 384}, "admin"),
    ("models/{model}", "get", {}, "read"),
    ("models/{model}/backfill", "post", {}, "admin"),
    ("models/{model}/compare", "post", {}, "admin"),
    ("models/{model}/activate", "post", {"force": True}, "admin"),
    ("models/{model}/retire", "post", {}, "admin"),
]
OF_A_PROJECT = pytest.mark.parametrize(
    ("path", "method", "body", "verb"), TABLE, ids=[f"{m} {p}" for p, m, _, _ in TABLE]
)
TABLE = [*TABLE, *SHARED]
ROWS = pytest.mark.parametrize(("path", "method", "body", "verb"), TABLE, ids=[f"{m} {p}" for p, m, _, _ in TABLE])


def fill(value, names):
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


@pytest.fixture
def ground(store, principal, now):
    """What Alice's project holds: a fragment, a predicate and an operation in acme:main."""
    row = store("acme:main", "Something that stands already in the main room.")
    operation = start(
        principal, kind="rebuild", namespace=row.namespace, options={"target": "keywords"}, dry_run=False, now=now
    )
    predicate = register_predicate(principal, namespace="acme:main", name="shoe_size", now=now)
    archived = store("acme:main", "Something that was put away.")
    archive(principal, archived.id, now=now)
    conflict, settled = (_conflict(store, principal, subject) for subject in ("Ada", "Bea"))
    resolve(principal, settled, Settlement("reject", 1), now=now)
    names = {"namespace": "acme:main", "fragment": row.id, "archived": archived.id, "operation": operation.id}
    model = EmbeddingModel.objects.create(name="second", provider="fake", dim=384)
    return {**names, "predicate": predicate.id, "conflict": conflict, "settled": settled, "model": model.id}


def _conflict(store, principal, subject):
    """The id of a conflict between what a tool says of somebody and what an inference says."""
    store("acme:main", f"{subject} is seven.", source="tool_output", claim=ClaimDraft(subject, "age", "7"))
    weaker = store("acme:main", f"{subject} is eight.", claim=ClaimDraft(subject, "age", "8"))
    with access.enter(principal, why="test"):
        return weaker.conflicts.get().id


@pytest.fixture
def picture(count, principal):
    """What a refusal must leave as it is."""

    def take():
        with access.enter(principal, why="test"):
            fragments = list(Fragment.objects.order_by("id").values_list("id", "revision", "importance", "status"))
            operations = list(Operation.objects.order_by("id").values_list("id", "state", "cancel_requested"))
            conflicts = list(PendingConflict.objects.order_by("id").values_list("id", "revision", "resolution"))
            predicates = list(Predicate.objects.order_by("id").values_list("id", "revision", "newer_wins"))
            return (
                list(EmbeddingModel.objects.order_by("id").values_list("id", "state")),
                fragments,
                operations,
                conflicts,
                predicates,
                list(Namespace.objects.order_by("name").values_list("name")),
            )

    return take


@ROWS
def test_own(path, method, body, verb, alice, ground):
    assert call(alice.client, path, method, body, ground).status_code in (200, 201, 202, 204)


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


@OF_A_PROJECT
def test_another_project_and_another_namespace_look_missing(
    path, method, body, verb, charlie, agent_of, project, ground, picture
):
    narrow = agent_of(
        project, namespaces=["acme:side"], verbs=["read", "write", "review", "admin"], ceiling="user_explicit"
    )
    missing = {**dict.fromkeys(ground, uuid.uuid4()), "namespace": "nowhere:main"}
    before = picture()
    answers = [call(charlie.client, path, method, body, ground), call(narrow.client, path, method, body, ground)]
    answers.append(call(charlie.client, path, method, body, missing))
    if "{" in path or "{namespace}" in str(body):
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
    compared = charlie.client.post(f"/api/v1/models/{ground['model']}/compare", {}, format="json").json()
    assert (compared["queries"], compared["missing"]) == ([], 0)
    refused = charlie.client.post(f"/api/v1/models/{ground['model']}/activate", {"force": True}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "vectors_missing")
    assert picture() == before


@ROWS
def test_missing_ids_of_the_own_project(path, method, body, verb, alice, ground, picture):
    missing = dict.fromkeys(("fragment", "operation", "predicate", "model"), uuid.uuid4())
    if not any(f"{{{kind}}}" in path for kind in missing):
        return
    before = picture()
    answer = call(alice.client, path, method, body, missing)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert picture() == before


@ROWS
def test_other_methods_are_refused(path, method, body, verb, alice, ground):
    allowed = {m for p, m, _, _ in TABLE if p == path}
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
    ids = "{(fragment|operation|predicate|conflict|model)}"
    alias = {"{archived}": "{fragment}", "{settled}": "{conflict}"}
    table = [reduce(lambda path, pair: path.replace(*pair), alias.items(), path) for path, *_ in TABLE]
    known = {re.sub(ids, r"<uuid:\1_id>", path.partition("?")[0]) for path in table}
    served = {path.removeprefix("api/v1/") for path in paths(get_resolver().url_patterns) if path.startswith("api/v1/")}
    assert served == known
