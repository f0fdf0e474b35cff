"""The graph of entities, mentions and relations: what memories speak of, as far as a default answer may show it."""

import datetime

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from conflicts.public import ClaimDraft
from memories import access, ingest
from memories.models import Entity, Mention, Relation
from memories.upkeep.graph import queries
from tests.properties.ground import examples, post, undone

TALK = [
    ("user", "My name is Ada Lovelace and I live in London."),
    ("user", "My sister Bea works at Siemens in Munich."),
    ("assistant", "How nice. Does Bea like Munich?"),
    ("user", "Bea loves Munich, but she misses London."),
    ("user", "I work at the British Library."),
    ("user", "My favourite colour is green."),
    ("assistant", "Green suits the British Library."),
    ("user", "Carl and Bea visited the Deutsches Museum last May."),
    ("user", "Carl lives in Hamburg and plays the cello."),
    ("user", "Next week Ada and Carl travel to Vienna."),
    ("user", "Vienna is where Carl studied music with Dora Klein."),
    ("user", "Dora Klein teaches at the University of Vienna."),
]


def graph(agent, entity, status=200, **more):
    answer = agent.client.get("/api/v1/graph", {"entity": entity, **more})
    assert answer.status_code == status, answer.content
    return answer.json()


def entities(agent, q, **more):
    answer = agent.client.get("/api/v1/graph/entities", {"q": q, **more})
    assert answer.status_code == 200, answer.content
    return {row["name"]: row["mentions"] for row in answer.json()["results"]}


def edges(body):
    name = {node["id"]: node["name"] for node in body["nodes"]}
    return {(name[edge["source"]], edge["predicate"], name[edge["target"]]) for edge in body["edges"]}


@pytest.fixture
def claim(store):
    """Stores a memory with a claim."""

    def store_claim(subject, predicate, value, *, namespace="acme:main", **more):
        of_claim = {key: more.pop(key) for key in ("scope", "session_id", "valid_from", "valid_until") if key in more}
        text = f"{subject} {predicate.replace('_', ' ')} {value}."
        return store(namespace, text, claim=ClaimDraft(subject, predicate, value, **of_claim), **more)

    return store_claim


@pytest.fixture
def talk(alice):
    """A real conversation."""
    told = [{"role": role, "content": text} for role, text in TALK]
    post(alice, "ingest", {"namespace": "acme:main", "conversation_id": "one", "messages": told}, 201)


def test_claims_are_edges(alice, claim, connect):
    first = claim("Ada", "lives_in", "London")
    claim("London", "lies_in", "England")
    claim("England", "borders", "Scotland")
    claim("Scotland", "borders", "The Sea")
    connect()
    body = graph(alice, "ada")
    assert edges(body) == {("Ada", "lives_in", "London")}
    assert body["edges"][0]["fragment_id"] == str(first.id)
    assert body["edges"][0]["namespace"] == "acme:main"
    assert (body["truncated"], body["fragments"]) == (False, [str(first.id)])
    assert len(edges(graph(alice, "ADA", depth=2))) == 2
    assert len(edges(graph(alice, body["entity"], depth=3))) == 3
    assert edges(graph(alice, "london")) == {("Ada", "lives_in", "London"), ("London", "lies_in", "England")}


def test_each_claim_of_a_memory_is_an_edge_of_its_own(alice, store, connect):
    claims = [
        ClaimDraft("Ada", "lives_in", "London"),
        ClaimDraft("Ada", "works_at", "Siemens"),
        ClaimDraft("Bea", "lives_in", "Rome"),
    ]
    store("acme:main", "Ada lives in London and works at Siemens, and Bea lives in Rome.", claims=claims)
    connect()
    body = graph(alice, "Ada")
    assert edges(body) == {("Ada", "lives_in", "London"), ("Ada", "works_at", "Siemens")}
    assert len({edge["fragment_id"] for edge in body["edges"]}) == 1
    assert edges(graph(alice, "Rome", depth=3)) == {("Bea", "lives_in", "Rome")}


def test_names_are_found_in_any_spelling_and_counted(alice, store, connect):
    store("acme:main", "Bea met Carl in Munich.")
    store("acme:main", "Carl likes Munich in May.")
    connect()
    assert entities(alice, "mun") == {"Munich": 2}
    assert entities(alice, "MUNICH", label="location") == {"Munich": 2}
    assert entities(alice, "MUNICH", label="person") == {}
    assert entities(alice, "nobody") == {}
    (node,) = graph(alice, "carl")["nodes"]
    assert (node["name"], node["label"], node["mentions"]) == ("Carl", "person", 2)


@pytest.mark.parametrize("status", ["superseded", "archived", "quarantined", "disputed"])
def test_what_is_not_active_draws_no_edge_at_once(alice, claim, connect, change, status):
    row = claim("Ada", "lives_in", "London")
    claim("Ada", "owns", "a cello")
    connect()
    change([row], status=status)
    assert edges(graph(alice, "Ada")) == {("Ada", "owns", "a cello")}
    assert entities(alice, "london") == {}
    assert entities(alice, "ada") == {"Ada": 1}
    graph(alice, "London", 404)
    connect()
    graph(alice, "London", 404)
    change([row], status="active")
    assert ("Ada", "lives_in", "London") in edges(graph(alice, "Ada"))


def test_a_weaker_contradiction_draws_no_edge(alice, claim, connect):
    claim("Ada", "lives_in", "London", source="tool_output")
    claim("Ada", "lives_in", "Paris")
    connect()
    assert edges(graph(alice, "Ada")) == {("Ada", "lives_in", "London")}
    graph(alice, "Paris", 404)


def test_sessions_and_other_times_are_left_out(alice, claim, connect):
    now = timezone.now()
    claim("Ada", "mood", "merry", scope="session", session_id="s1")
    claim("Ada", "studied_in", "Bonn", scope="temporal", valid_until=now - datetime.timedelta(days=1))
    claim("Ada", "moves_to", "Rome", scope="temporal", valid_from=now + datetime.timedelta(days=1))
    connect()
    graph(alice, "Ada", 404)
    assert entities(alice, "ada") == {}


def test_a_period_that_is_closed_later_ends_the_edge(alice, claim, connect, principal):
    past = timezone.now() - datetime.timedelta(days=900)
    claim("Ada", "lives_in", "Bonn", scope="temporal", valid_from=past)
    connect()
    assert edges(graph(alice, "Ada")) == {("Ada", "lives_in", "Bonn")}
    claim("Ada", "lives_in", "Rome", scope="temporal", valid_from=past + datetime.timedelta(days=90))
    assert edges_or_none(alice, "Bonn") == set()
    connect()
    assert edges(graph(alice, "Ada")) == {("Ada", "lives_in", "Rome")}


def edges_or_none(agent, entity):
    answer = agent.client.get("/api/v1/graph", {"entity": entity})
    return edges(answer.json()) if answer.status_code == 200 else set()


def test_a_new_text_is_read_anew(alice, store, connect, principal):
    row = store("acme:main", "Bea met Carl in Munich.")
    connect()
    text = "Bea met Dora in Vienna."
    ingest.updates.revise(principal, row.id, changes={"content": text}, revision=None, now=timezone.now())
    connect()
    assert entities(alice, "munich") == entities(alice, "carl") == {}
    assert entities(alice, "vienna") == {"Vienna": 1}


def test_forgetting_leaves_no_mention_and_no_name(alice, claim, store, connect, principal):
    row = claim("Ada", "lives_in", "Samarkand")
    store("acme:main", "ADA met Bea.", entities=[{"text": "ADA", "label": "person", "confidence": 0.9}])
    connect()
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    with access.enter(principal, why="test"):
        assert list(Entity.objects.values_list("spelling", flat=True)) == ["ada"]
        assert list(Mention.objects.values_list("text", flat=True)) == ["ADA"]
        assert not Relation.objects.exists()
    graph(alice, "Samarkand", 404)
    assert entities(alice, "ada") == {"ADA": 1}


def test_a_narrow_key_sees_nothing_foreign_counts_included(alice, reader, charlie, claim, store, connect):
    claim("Ada", "lives_in", "London")
    claim("Ada", "works_at", "Siemens", namespace="acme:secret")
    store("acme:secret", "ADA LOVELACE met Ada in London with Bea.")
    connect()
    connect(charlie.principal)
    assert edges(graph(reader, "Ada")) == {("Ada", "lives_in", "London")}
    assert entities(reader, "ada") == {"Ada": 1}
    assert entities(reader, "london") == {"London": 1}
    assert entities(reader, "bea") == entities(charlie, "ada") == {}
    assert len(edges(graph(alice, "Ada"))) == 2
    told = [graph(who, name, 404) for who, name in ((reader, "Siemens"), (reader, "Nobody"), (charlie, "Ada"))]
    assert len({(body["code"], body["title"]) for body in told}) == 1
    for who in (reader, charlie):
        answer = who.client.get("/api/v1/graph", {"entity": "Ada", "namespace": "acme:secret"})
        assert answer.status_code == 404


def test_too_large_a_graph_says_so(alice, claim, connect, monkeypatch):
    for place in ("London", "Paris", "Rome", "Bonn"):
        claim("Ada", f"has_seen_{place}", place)
    connect()
    monkeypatch.setattr(queries, "MOST_NODES", 3)
    body = graph(alice, "Ada")
    assert (len(body["nodes"]), len(body["edges"]), body["truncated"]) == (3, 2, True)
    monkeypatch.setattr(queries, "MOST_NODES", 200)
    monkeypatch.setattr(queries, "MOST_EDGES", 1)
    body = graph(alice, "Ada")
    assert (len(body["edges"]), body["truncated"]) == (1, True)


@pytest.mark.parametrize(
    ("path", "asked", "field"),
    [
        ("graph", {}, "entity"),
        ("graph", {"entity": "Ada", "depth": 4}, "depth"),
        ("graph", {"entity": "Ada", "depth": 0}, "depth"),
        ("graph", {"entity": "Ada", "namespace": "Acme"}, "namespace"),
        ("graph", {"entity": "Ada", "far": 1}, "far"),
        ("graph/entities", {}, "q"),
        ("graph/entities", {"q": "a", "limit": 201}, "limit"),
        ("graph/entities", {"q": "a", "label": "ship"}, "label"),
    ],
)
def test_bad_questions_are_refused(alice, path, asked, field):
    answer = alice.client.get(f"/api/v1/{path}", asked)
    assert (answer.status_code, answer.json()["code"]) == (400, "validation")
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_names_without_letters_and_long_values_have_their_place(alice, claim, connect):
    claim("Ada", "says", "!!!")
    claim("Ada", "quotes", "x" * 900 + "a")
    claim("Ada", "quotes_too", "x" * 900 + "b")
    connect()
    assert len(graph(alice, "Ada")["nodes"]) == 4
    assert len(graph(alice, "!!!")["edges"]) == 1


def graph_of(agent):
    """All that the graph says of a conversation."""
    names = ("Ada", "Bea", "Carl", "Dora Klein", "London", "Munich", "Vienna", "user", "green", "British Library")
    around = [agent.client.get("/api/v1/graph", {"entity": name, "depth": 3}).json() for name in names]
    found = [agent.client.get("/api/v1/graph/entities", {"q": letter}).json() for letter in "aeiou"]
    return [{**body, "request_id": None} for body in around], found


@pytest.mark.long
def test_a_rebuild_gives_the_same_answers(alice, talk, connect, rebuild, principal):
    connect()
    before = graph_of(alice)
    assert sum(len(body.get("edges", [])) for body in before[0]) > 0
    assert sum(len(body["results"]) for body in before[1]) > 10
    assert rebuild("graph")["rebuilt"] == len(TALK)
    assert graph_of(alice) == before
    with access.enter(principal, why="test"):
        Relation.objects.all().delete()
        Entity.objects.filter(spelling__startswith="b").delete()
        Mention.objects.update(label="misc", text="wrong")
        place = Entity.objects.all()[0]
        Entity.objects.create(
            project_id=place.project_id, namespace_id=place.namespace_id, node=place.project_id, spelling="x"
        )
    assert graph_of(alice) != before
    rebuild("graph")
    assert graph_of(alice) == before
    with access.enter(principal, why="test"):
        assert not Entity.objects.filter(spelling="x").exists()


names = st.sampled_from(["Ada", "ada ", "A_da", "Bea", "Carl", "Rome", "rome"])
facts = st.tuples(names, st.sampled_from(["knows", "lives_in", "likes"]), names, st.sampled_from(["main", "side"]))


@pytest.mark.long
@settings(examples, max_examples=20)
@given(said=st.lists(facts, min_size=1, max_size=6), gone=st.sets(st.integers(0, 5)))
def test_the_graph_is_a_function_of_what_stands(alice, claim, connect, change, rebuild, said, gone):
    with undone():
        rows = [claim(s, p, o, namespace=f"acme:{place}") for s, p, o, place in said]
        connect()
        change([row for number, row in enumerate(rows) if number in gone], status="archived")
        asked = [alice.client.get("/api/v1/graph", {"entity": name, "depth": 3}) for name in ("Ada", "Bea", "Rome")]
        before = [{**answer.json(), "request_id": None} for answer in asked]
        connect()
        rebuild("graph")
        asked = [alice.client.get("/api/v1/graph", {"entity": name, "depth": 3}) for name in ("Ada", "Bea", "Rome")]
        assert [{**answer.json(), "request_id": None} for answer in asked] == before
