"""Users behind one connection: no tool shows or changes what is another's (docs/spec.md §2.2)."""

import sys
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp import Client, StdioServerParameters

from memories import access
from memories.models import Fragment
from tests.mcp.conftest import Refused, Session, over_http

ALLERGY = "I am severely allergic to peanuts."
HOME = {"subject": "user", "predicate": "lives_in"}
ZOE = "zoë/1:*"


@pytest.fixture
def scopes(service):
    """What the project holds: {(user, content): status}."""

    def read():
        with access.enter(service, why="test"):
            rows = Fragment.objects.within(service.project_id)
            return {
                (user, text): status for user, text, status in rows.values_list("namespace__user", "content", "status")
            }

    return read


def test_each_tool_takes_a_user(session):
    assert all("user" in tool.input_schema["properties"] for tool in session.tools().values())


def test_memories_of_two_users_are_apart_in_every_tool(session, scopes):
    kept = session.call("retain", content="I live in Lisbon.", claim={**HOME, "value": "Lisbon"}, user=ZOE)
    other = session.call("retain", content="I live in Oslo.", claim={**HOME, "value": "Oslo"}, user="ben")
    assert other["superseded"] == other["pending_conflicts"] == []
    for user, mine, theirs in ((ZOE, "Lisbon", "Oslo"), ("ben", "Oslo", "Lisbon")):
        found = session.call("recall", query="where do I live?", user=user)["results"]
        assert [hit["content"] for hit in found] == [f"I live in {mine}."]
        block = session.call("context", query="where do I live?", user=user)["prompt_prefix"]
        assert mine in block
        assert theirs not in block
        assert [claim["value"] for claim in session.call("list_claims", subject="user", user=user)["claims"]] == [mine]
    assert session.call("recall", query="where do I live?")["results"] == []
    for tool in ("read_memory", "forget", "archive", "reinforce"):
        for user in ({"user": "ben"}, {}):
            with pytest.raises(Refused, match="not_found"):
                session.call(tool, id=kept["id"], **user)
    assert session.call("read_memory", id=kept["id"], user=ZOE)["content"] == "I live in Lisbon."
    session.call("forget", id=kept["id"], user=ZOE)
    assert scopes() == {("ben", "I live in Oslo."): "active"}


@pytest.mark.parametrize("user", ["null", "true", "[1]", '{"a": 1}'])
def test_a_user_whose_name_reads_like_json_is_one(session, scopes, user):
    assert session.call("retain", content=ALLERGY, user=user)["user"] == user
    assert [hit["content"] for hit in session.call("recall", query="peanuts", user=user)["results"]] == [ALLERGY]
    assert session.call("recall", query="peanuts")["results"] == []
    assert scopes() == {(user, ALLERGY): "active"}


def test_a_text_that_reads_like_json_is_kept_as_it_is(session):
    kept = session.call("retain", content="The heron nests behind the mill.")
    changed = session.call("update_memory", id=kept["id"], content='{"city": "Oslo"}', tags='["birds"]')
    assert (changed["content"], "birds" in changed["tags"]) == ('{"city": "Oslo"}', True)


def test_null_is_nothing_everywhere_else(session):
    nothing = {"type": "null", "source": "null", "namespace": "null", "event_at": "null", "tags": "null"}
    session.call("retain", content="The heron nests behind the mill.", **nothing)
    asked = {"query": "Where does the heron nest?", "type": "null", "as_of": "null", "session_id": "null"}
    assert len(session.call("recall", **asked)["results"]) == 1
    assert len(session.call("list_memories", status="null", cursor="null", tag="null")["results"]) == 1


def test_claims_are_those_of_the_nearest_scope(session):
    session.call("retain", content="People here live in Oslo.", claim={**HOME, "value": "Oslo"})
    session.call("retain", content="I live in Lisbon.", claim={**HOME, "value": "Lisbon"}, user=ZOE)
    for user, value in ((ZOE, "Lisbon"), ("ben", "Oslo")):
        assert [claim["value"] for claim in session.call("list_claims", user=user)["claims"]] == [value]


def test_answers_name_the_user_of_a_memory_that_belongs_to_one(session):
    memory = {"content": "The heron nests behind the old mill.", "claim": {**HOME, "value": "Lisbon"}}
    for whose in ({"user": ZOE}, {}):
        named = whose.get("user")
        kept = session.call("retain", **memory, **whose)
        hit = session.call("recall", query="Where does the heron nest?", **whose)["results"][0]
        (listed,) = session.call("list_memories", **whose)["results"]
        changed = session.call("update_memory", id=kept["id"], tags=["birds"], **whose)
        about = session.call("fetch", id=kept["id"], **whose)["metadata"]
        told = session.call("retain_conversation", messages=[{"role": "user", "content": "I keep two geese."}], **whose)
        for row in (kept, hit, listed, changed, about, told["stored"][0]):
            assert row.get("user") == named
        session.call("forget", id=kept["id"], **whose)


@pytest.mark.parametrize(
    ("tool", "more"), [("update_memory", {"tags": ["x"]}), ("archive", {}), ("reinforce", {}), ("forget", {})]
)
def test_for_a_user_what_is_for_all_is_only_read(session, scopes, tool, more):
    def read(**whose):
        memory = session.call("read_memory", id=kept["id"], **whose)
        return {name: memory[name] for name in memory.keys() - {"relevance_score", "effective_weight"}}  # which fade

    kept = session.call("retain", content=ALLERGY)
    before = read()
    with pytest.raises(Refused, match="not_permitted: a request for a user changes that user's memories alone"):
        session.call(tool, id=kept["id"], user="ben", **more)
    assert read(user="ben") == before
    session.call(tool, id=kept["id"], **more)


def test_graphs_of_two_users_are_apart(session):
    ada = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    session.call("create_entities", entities=[ada], user=ZOE)
    assert session.call("read_graph", user=ZOE)["entities"] == [ada]
    for user in ({"user": "ben"}, {}):
        assert session.call("read_graph", **user)["entities"] == []
        assert session.call("search_nodes", query="Ada", **user)["entities"] == []
        session.call("delete_entities", entityNames=["Ada"], **user)
    assert session.call("open_nodes", names=["Ada"], user=ZOE)["entities"] == [ada]
    assert session.call("search_nodes", query="Who is Ada?", user=ZOE)["entities"] == [ada]


def test_what_a_namespace_believes_changes_nothing_in_a_users_graph(session):
    """A search weighs both against each other; a graph would show both."""
    moe = {"name": "Moe", "entityType": "cat", "observations": ["likes tea"]}
    session.call("create_entities", entities=[moe], user=ZOE, source="tool_output")
    session.call("create_entities", entities=[{**moe, "entityType": "dog"}], source="document")
    for tool, more in (
        ("read_graph", {}),
        ("open_nodes", {"names": ["Moe"]}),
        ("search_nodes", {"query": "Who is Moe?"}),
    ):
        assert session.call(tool, user=ZOE, **more)["entities"] == [moe], tool


def test_a_connection_names_the_user_of_calls_that_name_none(web, alice, own_namespace, session, scopes):
    mine = over_http(web, alice.key, **{"X-NovaMem-Namespace": own_namespace, "X-NovaMem-User": "zo%C3%AB%2F1%3A%2A"})
    mine.call("retain", content=ALLERGY)
    mine.call("retain", content="I keep two geese.", user="ben")
    assert set(scopes()) == {(ZOE, ALLERGY), ("ben", "I keep two geese.")}
    assert session.call("recall", query="allergic to what?", user=ZOE)["results"][0]["content"] == ALLERGY


def test_two_headers_name_nobody(web, alice):
    def ask(*users):
        headers = [("Authorization", f"Bearer {alice.key}"), ("Accept", "application/json, text/event-stream")]
        headers += [("X-NovaMem-User", user) for user in users]
        wish = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        return httpx2.post(f"{web}/mcp", json=wish, headers=headers, trust_env=False)

    refused = ask("ann", "bob")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "user")
    assert ask("ann", "ann").status_code == 400
    assert ask("a%2Cb").status_code != 400


@pytest.mark.long
def test_a_process_is_told_the_user_by_its_environment(web_environment, alice, own_namespace, scopes):
    @asynccontextmanager
    async def connect():
        more = {"NOVAMEM_KEY": alice.key, "NOVAMEM_NAMESPACE": own_namespace, "NOVAMEM_USER": ZOE}
        environment = {**web_environment, **more}
        server = StdioServerParameters(command=sys.executable, args=["manage.py", "mcp"], env=environment, cwd=".")
        async with Client(server) as client:
            yield client

    Session(connect).call("retain", content=ALLERGY)
    assert set(scopes()) == {(ZOE, ALLERGY)}


def test_a_key_that_requires_users_is_refused_without_one(web, committed, agent_of, own_namespace, scopes):
    key = agent_of(committed, users="required", requests_per_minute=0).key
    strict = over_http(web, key, **{"X-NovaMem-Namespace": own_namespace})
    for tool, given in {
        "retain": {"content": ALLERGY},
        "recall": {"query": "allergic?"},
        "context": {"query": "allergic?"},
        "read_graph": {},
        "list_namespaces": {},
    }.items():
        with pytest.raises(Refused, match="user_required"):
            strict.call(tool, **given)
    assert scopes() == {}
    assert strict.call("retain", content=ALLERGY, user="ben")["status"] == "active"


@pytest.mark.parametrize(
    ("wish", "user", "code"),
    [
        ({}, "", "validation"),
        ({}, "a\nb", "validation"),
        ({"users": "none"}, "ben", "not_permitted"),
        ({"user_patterns": ["team-*"]}, "ben", "not_found"),
    ],
)
def test_a_user_that_is_none_or_not_the_keys_is_refused(
    web, committed, agent_of, own_namespace, scopes, wish, user, code
):
    key = agent_of(committed, requests_per_minute=0, **wish).key
    with pytest.raises(Refused, match=f": {code}: "):
        over_http(web, key, **{"X-NovaMem-Namespace": own_namespace}).call("retain", content=ALLERGY, user=user)
    assert scopes() == {}
