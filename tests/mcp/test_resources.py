"""Resources and prompts over the protocol, with the real client over real HTTP and over pipes."""

import json
from urllib.parse import quote

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tests.mcp.conftest import over_http

pytestmark = pytest.mark.examples

HERON = "The heron nests behind the old mill."
CLAIM = {"subject": "user", "predicate": "city", "value": "Vienna"}


def read(session, uri):
    """What stands at an address."""
    (content,) = session.do(lambda client: client.read_resource(uri)).contents
    assert content.mime_type == "application/json"
    return json.loads(content.text)


def opened(session, name, **arguments):
    """The text of a prompt."""
    (message,) = session.do(lambda client: client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    return message.content.text


def refusal(session, ask):
    """The error that `ask(client)` is answered, caught where it comes up."""

    async def asked(client):
        try:
            return f"answered {await ask(client)}"
        except MCPError as error:
            return str(error)

    return session.do(asked)


@pytest.mark.parametrize("way", ["session", pytest.param("piped", marks=pytest.mark.long)])
def test_documents_are_listed_and_read(request, way, own_namespace):
    session = request.getfixturevalue(way)
    kept = session.call("retain", content=HERON, claim=CLAIM)
    listed = {str(one.uri) for one in session.do(lambda client: client.list_resources()).resources}
    assert listed == {f"novamem://{name}" for name in ("namespaces", "memories", "claims", "conflicts")}
    templates = session.do(lambda client: client.list_resource_templates()).resource_templates
    assert "novamem://memories/{id}{?user}" in [one.uri_template for one in templates]
    assert all(one.title and one.description for one in templates)
    assert [row["content"] for row in read(session, "novamem://memories")["results"]] == [HERON]
    assert read(session, f"novamem://memories/{kept['id']}")["content"] == HERON
    assert read(session, f"novamem://memories/{kept['id']}/history")
    assert read(session, "novamem://namespaces")["default"] == own_namespace
    assert read(session, "novamem://claims/User")["claims"][0]["value"] == "Vienna"
    assert read(session, "novamem://claims/user/city")["results"][0]["value"] == "Vienna"
    assert read(session, "novamem://conflicts") == {"conflicts": []}


def test_a_document_is_of_a_user_or_of_another_namespace(session, committed, own_namespace):
    session.call("retain", content=HERON, user="ann b")
    other = f"{committed.name}:other"
    session.call("retain", content="The otter swims.", namespace=other)
    assert read(session, "novamem://memories")["results"] == []
    assert [row["content"] for row in read(session, "novamem://memories?user=ann%20b")["results"]] == [HERON]
    found = read(session, f"novamem://memories?namespace={other}")["results"]
    assert [row["content"] for row in found] == ["The otter swims."]


@pytest.mark.long
def test_a_list_goes_on_where_it_ended(session, own_namespace):
    for number in range(51):
        session.call("retain", content=f"Heron number {number} nests here.")
    first = read(session, "novamem://memories")
    (last,) = read(session, f"novamem://memories?cursor={quote(first['next'])}")["results"]
    assert last["content"] == "Heron number 0 nests here."


def test_the_callers_mistakes_are_not_the_servers(session):
    async def codes(client):
        found = []
        for uri in ("novamem://memories?namespace=x", "novamem://memories/bogus", "novamem://memories?usr=a"):
            try:
                await client.read_resource(uri)
            except MCPError as error:
                found.append(error.code)
        return found

    assert session.do(codes) == [INVALID_PARAMS] * 3


def test_a_subject_may_look_like_a_path(session):
    session.call("retain", content="The file holds passwords.", claim={**CLAIM, "subject": "/etc/../shadow"})
    assert len(read(session, "novamem://claims/%2Fetc%2F..%2Fshadow")["claims"]) == 1


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("novamem://memories/11111111-1111-4111-8111-111111111111", "not_found"),
        ("novamem://memories/bogus", "not_found"),
        ("novamem://colours", "Unknown resource"),
        ("novamem://memories?namespace=elsewhere:main", "not_found"),
        ("novamem://memories?namespace=no-namespace", "validation"),
        ("novamem://claims/%00", "validation"),
        ("novamem://memories?usr=ann", "validation: not known here, or given twice: usr"),
        ("novamem://memories?user=a&user=b", "validation: not known here, or given twice: user"),
        ("novamem://namespaces?namespace=a:b", "validation: not known here, or given twice: namespace"),
    ],
)
def test_what_is_not_there_is_told(session, uri, told):
    assert refusal(session, lambda client: client.read_resource(uri)).startswith(told)


def test_a_key_reads_what_it_covers(web, committed, agent_of, session):
    kept = session.call("retain", content=HERON)
    blind = over_http(web, agent_of(committed, owner="blind", verbs=["write"], requests_per_minute=0).key)
    other = over_http(web, agent_of(committed, owner="other", namespaces=[f"{committed.name}:other"]).key)
    uri = f"novamem://memories/{kept['id']}"
    for stranger, told in ((blind, "not_permitted"), (other, "not_found")):
        assert refusal(stranger, lambda client: client.read_resource(uri)).startswith(told)


@pytest.mark.parametrize("way", ["session", pytest.param("piped", marks=pytest.mark.long)])
def test_prompts_bring_along_what_is_remembered(request, way):
    session = request.getfixturevalue(way)
    session.call("retain", content=HERON, claim=CLAIM)
    prompts = {one.name: one for one in session.do(lambda client: client.list_prompts()).prompts}
    assert set(prompts) == {"answer_from_memory", "remember_conversation", "tell_what_is_known", "explain_conflicts"}
    assert all(one.title and one.description for one in prompts.values())
    asked = {one.name: one.required for one in prompts["answer_from_memory"].arguments}
    assert asked == {"question": True, "namespace": False, "user": False}
    answer = opened(session, "answer_from_memory", question="Where does the heron nest?")
    assert HERON in answer
    assert answer.endswith("Where does the heron nest?")
    assert "`retain`" in opened(session, "remember_conversation")
    assert '"value": "Vienna"' in opened(session, "tell_what_is_known")
    assert opened(session, "tell_what_is_known", subject="Bob").endswith("There is nothing.")


@pytest.mark.long
def test_a_prompt_says_that_there_is_more(session):
    claims = [{"subject": "user", "predicate": f"word {number}", "value": "so"} for number in range(201)]
    for start in range(0, 201, 20):
        session.call("retain", content=f"Words from {start} on.", claims=claims[start : start + 20])
    assert opened(session, "tell_what_is_known").endswith("There may be more: ask `list_claims`.")


def test_a_prompt_says_when_nothing_is_remembered(committed_floor, session):
    session.call("retain", content=HERON)
    assert "Nothing is remembered" in opened(session, "answer_from_memory", question="Who won the 1998 cup?")


def test_a_prompt_explains_what_waits(web, committed, agent_of, session, own_namespace):
    session.call("retain", content="I live in Vienna.", claim=CLAIM, source="tool_output")
    weak = over_http(web, agent_of(committed, owner="weak", ceiling="inference").key)
    weak.call("retain", content="The user lives in Oslo.", claim={**CLAIM, "value": "Oslo"}, namespace=own_namespace)
    assert "Oslo" in opened(session, "explain_conflicts")


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("answer_from_memory", {"question": " "}, "validation"),
        ("answer_from_memory", {}, "validation: these arguments are missing: question"),
        ("explain_conflicts", {"colour": "red"}, "validation: these arguments are not known: colour"),
        ("explain_conflicts", {"namespace": "elsewhere:main"}, "not_found"),
        ("bogus", {}, "not_found: unknown prompt bogus"),
    ],
)
def test_a_prompt_that_can_not_be_written_says_why(session, name, arguments, told):
    assert refusal(session, lambda client: client.get_prompt(name, arguments)).startswith(told)
