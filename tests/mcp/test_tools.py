"""The memory's tools over the protocol, with the real client over real HTTP."""

import datetime

import pytest

from tests.mcp.conftest import Refused, over_http
from tests.mcp.test_resources import opened, read

HERON = "The heron nests behind the old mill."
BUDGET = {"subject": "user", "predicate": "budget", "value": "$750"}


def test_each_tool_says_what_it_does_to_what_is_there(session):
    tools = session.tools()
    assert {"retain", "recall", "context", "forget", "list_conflicts", "read_graph", "create_entities"} <= set(tools)
    reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    destroying = {name for name, tool in tools.items() if tool.annotations.destructive_hint}
    assert reading == {
        *("recall", "context", "read_memory", "list_conflicts", "list_claims", "list_namespaces"),
        *("list_memories", "memory_history", "claim_timeline", "search", "fetch"),
        *("read_graph", "search_nodes", "open_nodes"),
    }
    assert destroying == {
        *("forget", "archive", "update_memory", "delete_entities", "delete_observations", "delete_relations"),
    }
    assert all(tool.description and tool.annotations.open_world_hint is False for tool in tools.values())


def _bare(schema, where):
    """Where a schema has a property that says nothing of itself."""
    for name, shape in schema.get("properties", {}).items():
        if not shape.get("description"):
            yield f"{where}.{name}"
    for name, inner in schema.get("$defs", {}).items():
        yield from _bare(inner, name)


def test_each_argument_says_what_it_is(session):
    tools = session.tools()
    assert sorted({one for name, tool in tools.items() for one in _bare(tool.input_schema, name)}) == []


def test_nothing_relevant_is_answered_by_nothing(committed_floor, session):
    session.call("retain", content=HERON)
    found = session.call("recall", query="thanks a lot")
    assert (found["results"], found["nothing_relevant"]) == ([], True)
    assert session.call("recall", query="thanks a lot", floor="auto")["nothing_relevant"] is True
    assert session.call("context", query="thanks a lot")["prompt_prefix"] == ""
    assert len(session.call("recall", query="thanks a lot", floor=0)["results"]) == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_remembers_finds_and_hands_out(web, alice, committed, agent_of, own_namespace, mode):
    session = over_http(web, alice.key, mode=mode, **{"X-NovaMem-Namespace": own_namespace})
    kept = session.call("retain", content=HERON, tags=["birds"])
    assert (kept["namespace"], kept["status"], kept["deduplicated"]) == (own_namespace, "active", False)
    (hit,) = session.call("recall", query="where does the heron nest?", tags=["birds"])["results"]
    assert (hit["id"], hit["content"], hit["source"]) == (kept["id"], HERON, "inference")
    block = session.call("context", query="where does the heron nest?", max_tokens=300)
    assert HERON in block["prompt_prefix"]
    assert block["tokens_used"] <= 300
    assert session.call("read_memory", id=kept["id"])["content"] == HERON
    told = {"namespaces": [own_namespace], "default": own_namespace}
    assert session.call("list_namespaces") == told
    assert over_http(web, agent_of(committed, namespaces=[own_namespace]).key).call("list_namespaces") == told


def test_recall_names_the_claim_that_a_weaker_text_may_contradict(session, web, committed, agent_of, own_namespace):
    model = over_http(web, agent_of(committed, owner="model", ceiling="inference").key)
    model.call("retain", content="For all of this my answer is $13.", namespace=own_namespace)
    claim = {"subject": "user", "predicate": "budget", "value": "$750"}
    session.call("retain", content="My budget for this is $750.", claim=claim, source="tool_output")
    hits = {hit["content"]: hit for hit in session.call("recall", query="What is the user's budget?")["results"]}
    assert hits["For all of this my answer is $13."]["on_record"]["value"] == "$750"
    assert hits["My budget for this is $750."]["on_record"] is None


def test_a_conversation_is_kept_as_ingestion_keeps_it(session, rows):
    turns = [{"role": "user", "content": "I planted three apple trees."}, {"role": "user", "content": "ok"}]
    report = session.call("retain_conversation", messages=turns, conversation_id="c")
    assert [skip["reason"] for skip in report["skipped"]] == ["too_short"]
    assert rows() == {"I planted three apple trees.": "active"}


def test_several_facts_of_one_text_are_retained_each_with_its_verdict(session):
    session.call("retain", content="The budget is $750.", source="tool_output", claim=BUDGET)
    dog = {"subject": "user", "predicate": "dog name", "value": "Rex"}
    told = session.call("retain", content="$0, and Rex.", source="document", claims=[{**BUDGET, "value": "$0"}, dog])
    assert (told["status"], len(told["pending_conflicts"])) == ("active", 1)
    assert [one["value"] for one in session.call("list_claims", subject="user")["claims"]] == ["Rex", "$750"]


def test_a_contradiction_waits_and_is_listed(session):
    session.call("retain", content="The budget is $750.", source="tool_output", claim=BUDGET)
    weaker = session.call("retain", content="A page says $0.", source="document", claim={**BUDGET, "value": "$0"})
    assert weaker["status"] == "quarantined"
    (waiting,) = session.call("list_conflicts")["conflicts"]
    assert waiting["id"] == weaker["pending_conflicts"][0]["id"]
    (believed,) = session.call("list_claims", subject="user")["claims"]
    assert believed["value"] == "$750"
    early = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)).isoformat()
    assert session.call("list_claims", subject="user", known_at=early)["claims"] == []


def test_what_waits_elsewhere_is_listed_only_for_there(session, committed):
    other = f"{committed.name}:other"
    session.call("retain", content="The budget is $750.", source="tool_output", claim=BUDGET, namespace=other)
    weaker = {"content": "A page says $0.", "source": "document", "claim": {**BUDGET, "value": "$0"}}
    session.call("retain", **weaker, namespace=other)
    assert session.call("list_conflicts") == {"conflicts": []}
    assert len(session.call("list_conflicts", namespace=other)["conflicts"]) == 1
    assert read(session, "novamem://conflicts") == {"conflicts": []}
    assert "$0" not in opened(session, "explain_conflicts")


def test_votes_and_the_archive(session, web, committed, agent_of, own_namespace):
    kept = session.call("retain", content=HERON)["id"]
    bob = agent_of(committed, owner="bob", namespaces=[own_namespace], requests_per_minute=0)
    team = over_http(web, bob.key)
    assert team.call("reinforce", id=kept)["reinforcements"] == 1
    assert team.call("corroborate", id=kept, source_id="a walk")["corroboration"] == 2
    assert team.call("dispute", id=kept, reason="The mill is new.")["disputes"] == 1
    assert session.call("archive", id=kept)["status"] == "archived"
    assert session.call("recall", query="heron")["results"] == []
    assert session.call("unarchive", id=kept)["status"] == "active"


def test_what_is_forgotten_is_gone_and_stays_so(session, rows):
    kept = session.call("retain", content=HERON)["id"]
    assert session.call("forget", id=kept) == {"forgotten": kept}
    assert rows() == {}
    with pytest.raises(Refused, match="not_found"):
        session.call("read_memory", id=kept)
    with pytest.raises(Refused, match="blocked_by_erasure"):
        session.call("retain", content=HERON)
    assert rows() == {}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"content": ""}, "validation: .* content: "),
        ({"content": "x" * 2001}, "validation: .* content: "),
        ({"content": "a\0b"}, "NUL"),
        ({"content": "Fine.", "colour": "red"}, "not known: colour"),
        ({"content": "Fine.", "namespace": "elsewhere:main"}, "not_found"),
        ({"content": "Fine.", "namespace": "no namespace"}, "validation: .* namespace: "),
        ({"content": "Fine.", "source": "user_explicit"}, "authority_ceiling"),
        ({"content": "Fine.", "claim": {"subject": "user", "predicate": "x"}}, "claim.value"),
        ({"content": "Fine.", "claim": {"subject": "\u200b", "predicate": "x", "value": "y"}}, "claim.subject"),
    ],
)
def test_what_the_api_refuses_is_refused_in_its_words(session, rows, arguments, why):
    with pytest.raises(Refused, match=why):
        session.call("retain", **arguments)
    assert rows() == {}


def test_without_a_namespace_the_only_one_of_the_key_is_meant(web, committed, agent_of, own_namespace):
    narrow = over_http(web, agent_of(committed, namespaces=[own_namespace]).key)
    assert narrow.call("retain", content=HERON)["namespace"] == own_namespace
    wide = over_http(web, agent_of(committed).key)
    with pytest.raises(Refused, match=rf"Name one as project:agent; this key covers {committed.name}:\*"):
        wide.call("retain", content="Something else.")


def test_a_key_that_only_reads_can_not_write(web, committed, agent_of, own_namespace, rows):
    reader = over_http(web, agent_of(committed, namespaces=[own_namespace], verbs=["read"]).key)
    assert reader.call("recall", query="heron")["results"] == []
    with pytest.raises(Refused, match="not_permitted: this needs the verb write"):
        reader.call("retain", content=HERON)
    assert rows() == {}


def test_another_project_sees_nothing(session, web, service, agent_of, neighbour):
    kept = session.call("retain", content=HERON)["id"]
    charlie = over_http(web, agent_of(neighbour).key)
    for tool in ("read_memory", "forget", "archive", "reinforce"):
        with pytest.raises(Refused, match="not_found"):
            charlie.call(tool, id=kept)
    with pytest.raises(Refused, match="not_found"):
        charlie.call("recall", query="heron", namespace=f"{service.project}:main")
    assert session.call("read_memory", id=kept)["status"] == "active"


def test_other_agents_memories_are_found_by_those_who_may_and_ask(web, session, committed, agent_of, own_namespace):
    other = f"{committed.name}:other"
    session.call("retain", content=HERON, namespace=other)
    question = {"query": "Where does the heron nest?"}
    assert session.call("recall", **question)["results"] == []
    assert session.call("context", **question)["prompt_prefix"] == ""
    for tool in ("recall", "context"):
        with pytest.raises(Refused, match="not_permitted: project_wide"):
            session.call(tool, **question, project_wide=True)
    wide = agent_of(committed, may_read_wide=True, requests_per_minute=0)
    wide = over_http(web, wide.key, **{"X-NovaMem-Namespace": own_namespace})
    assert [hit["content"] for hit in wide.call("recall", **question, project_wide=True)["results"]] == [HERON]
    assert HERON in wide.call("context", **question, project_wide=True)["prompt_prefix"]
    assert wide.call("recall", **question)["results"] == []


def test_as_many_as_the_call_asks_for(session):
    for number in range(4):
        content = f"The heron number {number} nests behind mill {number}."
        claim = {"subject": f"heron {number}", "predicate": "nest", "value": f"mill {number}"}
        session.call("retain", content=content, claim=claim)
    query = "Where do the herons nest?"
    assert len(session.call("recall", query=query, top_k=2)["results"]) == 2
    assert session.call("context", query=query, top_k=2)["memories_used"] == 2
    assert len(session.call("search_nodes", query=query, top_k=2)["entities"]) == 2
    for tool in ("recall", "context", "search_nodes"):
        with pytest.raises(Refused):
            session.call(tool, query=query, top_k=201)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("recall", {}, "query: Field required"),
        ("retain", {"content": ["a list"]}, "content: Input should be a valid string"),
        ("recall", {"query": "herons", "top_k": "many"}, "top_k: "),
    ],
)
def test_arguments_that_do_not_fit_are_told_plainly(session, name, arguments, told):
    with pytest.raises(Refused) as refused:
        session.call(name, **arguments)
    text = str(refused.value)
    assert text.startswith(f"validation: {told}")
    assert "pydantic" not in text
    assert "\n" not in text
