"""The nine tools of the reference memory server, on claims."""

import pytest

from tests.mcp.conftest import Refused, over_http

ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea", "speaks French"]}
ACME = {"name": "Acme", "entityType": "company", "observations": []}
WORK = {"from": "Ada", "to": "Acme", "relationType": "works_at"}


@pytest.fixture
def graph(session):
    """Ada, who works at Acme."""
    assert session.call("create_entities", entities=[ADA, ACME]) == {"entities": [ADA, ACME]}
    assert session.call("create_relations", relations=[WORK]) == {"relations": [WORK]}
    return session


def drawn(session):
    return session.call("read_graph")


def test_what_was_created_is_read_back(graph):
    assert drawn(graph) == {"entities": [ADA, ACME], "relations": [WORK], "truncated": False}


def test_the_graph_is_made_of_claims(graph):
    said = {(c["subject"], c["predicate"], c["value"]) for c in graph.call("list_claims")["claims"]}
    assert said == {
        *(("Ada", "entity_type", "person"), ("Ada", "observation", "likes tea"), ("Ada", "works_at", "Acme")),
        *(("Ada", "observation", "speaks French"), ("Acme", "entity_type", "company")),
    }


def test_what_others_claim_is_in_the_graph(session):
    session.call(
        "retain", content="Ada lives in Oslo.", claim={"subject": "Ada", "predicate": "lives_in", "value": "Oslo"}
    )
    graph = drawn(session)
    assert graph["entities"] == [{"name": "Ada", "entityType": "unknown", "observations": []}]
    assert graph["relations"] == [{"from": "Ada", "to": "Oslo", "relationType": "lives_in"}]


def test_creating_again_changes_nothing(graph, rows):
    before = rows()
    again = {**ADA, "name": "ada", "entityType": "robot"}
    assert graph.call("create_entities", entities=[again, {**ADA, "entityType": "robot"}]) == {"entities": []}
    assert graph.call("create_relations", relations=[WORK]) == {"relations": []}
    assert rows() == before


def test_observations_are_added_once_and_only_to_what_exists(graph, rows):
    more = [{"entityName": "Ada", "contents": ["likes tea", "plays chess"]}]
    assert graph.call("add_observations", observations=more) == {
        "results": [{"entityName": "Ada", "addedObservations": ["plays chess"]}]
    }
    before = rows()
    with pytest.raises(Refused, match="There is no entity named Bea"):
        graph.call("add_observations", observations=[*more, {"entityName": "Bea", "contents": ["swims"]}])
    assert rows() == before


def test_opening_and_searching(graph):
    opened = graph.call("open_nodes", names=["acme", "nobody"])
    assert opened == {"entities": [ACME], "relations": [WORK]}
    found = graph.call("search_nodes", query="who speaks French?")
    assert ADA in found["entities"]
    assert found["relations"] == [WORK]


def test_no_names_open_nothing(graph):
    assert graph.call("open_nodes", names=[]) == {"entities": [], "relations": []}


def test_entities_stand_in_the_order_that_was_asked_for(graph):
    for names in (["Acme", "Ada"], ["Ada", "Acme"]):
        assert [one["name"] for one in graph.call("open_nodes", names=names)["entities"]] == names


def test_deleting_archives(graph, rows):
    assert graph.call("delete_observations", deletions=[{"entityName": "Ada", "observations": ["likes tea"]}])[
        "success"
    ]
    assert rows()["Ada: likes tea"] == "archived"
    assert graph.call("delete_relations", relations=[WORK])["message"] == "1 claims archived"
    assert drawn(graph)["relations"] == []
    assert graph.call("create_relations", relations=[WORK]) == {"relations": [WORK]}
    graph.call("delete_entities", entityNames=["Acme"])
    left = {**ADA, "observations": ["speaks French"]}
    assert drawn(graph) == {"entities": [left], "relations": [], "truncated": False}
    graph.call("delete_entities", entityNames=["Ada", "nobody"])
    assert drawn(graph)["entities"] == []
    assert set(rows().values()) == {"archived"}


def test_what_gave_way_is_not_told_as_created(session):
    homes = [{"from": "Ada", "to": city, "relationType": "lives_in"} for city in ("Oslo", "Rome")]
    assert session.call("create_relations", relations=homes) == {"relations": homes[1:]}
    assert drawn(session)["relations"] == homes[1:]


def test_what_is_said_again_with_more_authority_is_not_told_as_created(graph, rows):
    assert graph.call("create_relations", relations=[WORK], source="tool_output") == {"relations": []}
    bolt = {**WORK, "to": "Bolt"}
    told = graph.call("create_relations", relations=[bolt], source="tool_output")
    assert told == {"relations": [bolt]}
    assert drawn(graph)["relations"] == [bolt]


def test_what_was_forgotten_is_not_told_as_created(session):
    kept = session.call("retain", content="Pat likes rain a lot.")
    session.call("forget", id=kept["id"])
    pat = {"name": "Pat", "entityType": "person", "observations": ["Pat likes rain a lot.", "naps at noon"]}
    told = session.call("create_entities", entities=[pat])
    assert told == {"entities": [{**pat, "observations": ["naps at noon"]}], "blocked_by_erasure": 1}
    assert session.call("open_nodes", names=["Pat"])["entities"] == told["entities"]


def test_what_a_stronger_source_said_stays(graph, web, committed, agent_of, own_namespace, rows):
    graph.call("create_relations", relations=[{**WORK, "relationType": "founded"}], source="tool_output")
    weak = over_http(web, agent_of(committed, namespaces=[own_namespace], ceiling="inference").key)
    told = weak.call("delete_relations", relations=[{**WORK, "relationType": "founded"}])
    assert (told["success"], len(told["refused"])) == (False, 1)
    assert rows()["Ada founded Acme"] == "active"
    other = weak.call("create_relations", relations=[{"from": "Ada", "to": "Bolt", "relationType": "works_at"}])
    assert other["relations"] == []
    assert len(other["pending_conflicts"]) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("create_entities", {"entities": [{"name": "Ada"}]}, "entityType"),
        ("create_entities", {"entities": [{**ADA, "mood": "good"}]}, "mood"),
        ("create_entities", {"entities": [{**ADA, "name": "x" * 101}]}, "subject"),
        ("create_relations", {"relations": [{"from": "Ada", "to": "Acme"}]}, "relationType"),
        ("open_nodes", {"names": ["x"] * 101}, "names"),
    ],
)
def test_bad_input_is_refused_whole(session, rows, tool, arguments, why):
    with pytest.raises(Refused, match=why):
        session.call(tool, **arguments)
    assert rows() == {}
