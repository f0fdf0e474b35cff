"""Batches, feedback, entities and exports of /compat/mem0/."""

import uuid

import pytest

from conflicts.models import Vote
from memories import access
from memories.models import Fragment
from memories.models.enums import Status

HERON, OTTER = "My heron nests behind the old mill.", "My otter swims in the pond."
SHAPE = {
    "$defs": {"Diet": {"enum": ["vegan", "Vegetarian"], "type": "string"}},
    "type": "object",
    "properties": {
        "city": {"anyOf": [{"type": "string", "maxLength": 60}, {"type": "null"}], "default": None},
        "Works At": {"type": "string"},
        "age": {"type": "integer"},
        "diet": {"$ref": "#/$defs/Diet"},
        "likes": {"type": "array", "items": {"type": "string"}},
        "shoe_size": {"type": ["number", "null"], "default": 0},
        "about": {"type": "object", "properties": {"city": {"type": "string"}}},
        "memories": {"type": "array", "items": {"type": "string"}},
    },
}


@pytest.fixture
def ask(alice):
    """Ask as mem0's client does."""

    def send(method, path, body=None, status=200, client=alice.client):
        answer = getattr(client, method)(f"/compat/mem0/{path}", body, format="json")
        assert answer.status_code == status, answer.content
        return answer.json()

    return send


@pytest.fixture
def add(ask):
    """Add a memory of somebody; its id."""

    def add_one(text, **whose):
        (added,) = ask("post", "v3/memories/add/", {"messages": [{"role": "user", "content": text}], **whose})[
            "results"
        ]
        return added["id"]

    return add_one


@pytest.fixture
def rows(principal):
    """What a project holds of a model."""

    def read(model):
        with access.enter(principal, why="look"):
            return list(model.objects.within(principal.project_id))

    return read


@pytest.fixture
def two(add):
    """Ids of memories of two users."""
    return [add(HERON, user_id="ann"), add(OTTER, user_id="bob")]


def test_a_batch_changes_memories_of_several_users(ask, two):
    changes = [{"memory_id": two[0], "text": "My heron left."}, {"memory_id": two[1], "metadata": {"seen": 2}}]
    assert ask("put", "v1/batch/", {"memories": changes}) == {
        "message": "Successfully updated 2 memories",
        "waiting": [],
    }
    heron, otter = (ask("get", f"v1/memories/{one}/") for one in two)
    assert (heron["memory"], heron["user_id"], otter["memory"]) == ("My heron left.", "ann", OTTER)
    assert otter["metadata"] == {"seen": 2}
    told = [row["old_memory"] for row in ask("get", f"v1/memories/{two[0]}/history/")]
    assert told == [None, HERON]


def test_an_update_says_when_it_waits_for_a_person(ask, add, agent_of, project):
    add("My budget is $650.", user_id="ann")
    tool = agent_of(project, owner="tool").client
    said = {"messages": [{"role": "user", "content": "I live in Oslo."}], "user_id": "ann"}
    (city,) = ask("post", "v3/memories/add/", said, client=tool)["results"]
    changed = ask("put", f"v1/memories/{city['id']}/", {"text": "My budget is $700."}, client=tool)
    assert changed["status"] == "quarantined"
    again = [{"memory_id": city["id"], "text": "My budget is $800."}]
    assert ask("put", "v1/batch/", {"memories": again}, client=tool)["waiting"] == [city["id"]]
    assert ask("put", f"v1/memories/{city['id']}/", {"text": "I live in Bergen."}, client=tool)["status"] == "active"


def test_a_batch_forgets_for_good(ask, two, count):
    assert ask("delete", "v1/batch/", {"memories": [{"memory_id": one} for one in two]})["message"].endswith(
        "2 memories"
    )
    assert count(Fragment) == 0
    body = {"messages": [{"role": "user", "content": HERON}], "user_id": "ann"}
    assert ask("post", "v3/memories/add/", body)["results"][0]["status"] == "blocked_by_erasure"


@pytest.mark.parametrize("method", ["put", "delete"])
def test_a_batch_with_an_unknown_memory_changes_nothing(ask, two, count, method):
    more = {"text": "Changed."} if method == "put" else {}
    named = [{"memory_id": one, **more} for one in (two[0], str(uuid.uuid4()))]
    assert ask(method, "v1/batch/", {"memories": named}, status=404)["code"] == "not_found"
    assert ask("get", f"v1/memories/{two[0]}/")["memory"] == HERON
    assert count(Fragment) == 2


@pytest.mark.parametrize(
    ("method", "memories", "field"),
    [
        ("put", [], "memories"),
        ("put", [{"text": "x"}], "memories[0].memory_id"),
        ("put", [{"memory_id": "m1", "text": "x"}], "memories[0].memory_id"),
        ("put", [{"memory_id": str(uuid.UUID(int=1))}], ""),
        ("put", [{"memory_id": str(uuid.UUID(int=1)), "text": "x"}] * 2, "memories"),
        ("delete", [{"memory_id": str(uuid.UUID(int=1)), "text": "x"}], "memories[0].text"),
        ("delete", [{"memory_id": str(uuid.UUID(int=1))}] * 2, "memories"),
    ],
)
def test_a_batch_says_what_is_wrong_with_it(ask, method, memories, field):
    errors = ask(method, "v1/batch/", {"memories": memories}, status=400)["errors"]
    assert [error["field"] or "" for error in errors] == [field]


def test_a_batch_of_another_project_is_unknown(ask, two, charlie, count):
    for method, more in (("put", {"text": "Mine."}), ("delete", {})):
        named = {"memories": [{"memory_id": two[0], **more}]}
        ask(method, "v1/batch/", named, status=404, client=charlie.client)
    assert count(Fragment) == 2


def test_feedback_is_a_vote_that_can_be_taken_back(ask, two, bob, rows):
    """Of another owner: nobody's word about a memory of their own counts."""

    def think(**feedback):
        return ask("post", "v1/feedback/", {"memory_id": two[0], **feedback}, client=bob.client)

    assert think(feedback="POSITIVE")["counted"]
    assert think(feedback="VERY_NEGATIVE", feedback_reason="It moved.")["feedback"] == "VERY_NEGATIVE"
    (vote,) = rows(Vote)
    assert (vote.ballot, vote.reason) == ("dispute", "It moved.")
    taken_back = think(feedback=None)
    assert (taken_back["feedback"], taken_back["counted"], taken_back["disputes"]) == (None, False, 0)
    assert rows(Vote) == []
    assert ask("get", f"v1/memories/{two[0]}/")["memory"] == HERON


def test_own_feedback_does_not_count(ask, two):
    told = ask("post", "v1/feedback/", {"memory_id": two[0], "feedback": "NEGATIVE"})
    assert (told["counted"], told["reason"]) == (False, "own_memory")
    ask("post", "v1/feedback/", {"memory_id": two[0], "feedback": "FINE"}, status=400)
    ask("post", "v1/feedback/", {"memory_id": str(uuid.uuid4()), "feedback": "POSITIVE"}, status=404)


def test_entities_of_each_kind_are_told(ask, add):
    add(HERON, user_id="ann", agent_id="a1", run_id="r1")
    add(OTTER, user_id="ann", run_id="r1", app_id="app")
    add("The owl sleeps in the barn.", user_id="bob")
    found = ask("get", "v1/entities/")
    told = [(one["type"], one["name"], one["total_memories"]) for one in found["results"]]
    assert told == [("user", "ann", 2), ("user", "bob", 1), ("agent", "a1", 1), ("app", "app", 1), ("run", "r1", 2)]
    assert found["count"] == 5


def test_a_key_for_some_users_is_told_of_these(agent_of, project, ask, add):
    add(HERON, user_id="team-1", run_id="r1")
    add(OTTER, user_id="ann", run_id="r2")
    some = agent_of(project, user_patterns=["team-*"], namespaces=["acme:mem0"])
    found = ask("get", "v1/entities/", client=some.client)["results"]
    assert [(one["type"], one["name"]) for one in found] == [("user", "team-1")]


def test_an_export_has_the_shape_that_was_asked_for(ask, add):
    for text in ("I live in Vienna.", "I work at Boeing.", "I am vegetarian.", "I like chess.", "I am 41 years old."):
        add(text, user_id="ann")
    add("I live in Oslo.", user_id="bob")
    asked = ask("post", "v1/exports/", {"schema": SHAPE, "filters": {"AND": [{"user_id": "ann"}]}}, status=201)
    found = ask("post", "v1/exports/get/", {"memory_export_id": asked["id"]})
    assert (found["city"], found["Works At"], found["diet"]) == ("Vienna", "Boeing", "Vegetarian")
    assert (found["age"], found["likes"], found["shoe_size"]) == (41, ["chess"], 0)
    assert (found["about"], len(found["memories"])) == ({"city": "Vienna"}, 5)


def test_an_export_is_of_what_stands_when_it_is_fetched(ask, add):
    heron = add("I live in Vienna.", user_id="ann")
    asked = ask("post", "v1/exports/", {"schema": SHAPE, "user_id": "ann"}, status=201)
    ask("delete", f"v1/memories/{heron}/")
    found = ask("post", "v1/exports/get/", {"memory_export_id": asked["id"]})
    assert (found["city"], found["memories"]) == (None, [])


def test_without_an_id_the_memories_are_exported(ask, two):
    (row,) = ask("post", "v1/exports/get/", {"filters": {"user_id": "ann"}})["memories"]
    assert (row["id"], row["memory"]) == (two[0], HERON)


def test_an_export_needs_the_rights_of_who_fetches_it(agent_of, project, ask, two):
    asked = ask("post", "v1/exports/", {"schema": SHAPE, "user_id": "ann"}, status=201)
    some = agent_of(project, user_patterns=["team-*"], namespaces=["acme:mem0"])
    ask("post", "v1/exports/get/", {"memory_export_id": asked["id"]}, status=404, client=some.client)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("v1/exports/", {}, "schema"),
        ("v1/exports/", {"schema": "{"}, "schema"),
        ("v1/exports/", {"schema": {"type": "object"}}, "schema"),
        ("v1/exports/", {"schema": {"properties": {"a": {"minLength": "b"}}}}, "schema"),
        ("v1/exports/", {"schema": {"properties": {"a": {"minLength": -1}}}}, "schema"),
        ("v1/exports/", {"schema": SHAPE, "filters": {"colour": "red"}}, "filters.colour"),
        ("v1/exports/get/", {"memory_export_id": "550e8400-e29b-41d4-a716-446655440000"}, "memory_export_id"),
    ],
)
def test_an_export_says_what_is_wrong_with_it(ask, path, body, field):
    assert field in [error["field"] for error in ask("post", path, body, status=400)["errors"]]


def test_a_schema_that_leads_to_itself_ends(ask, add):
    add("I live in Vienna.", user_id="ann")
    deep = {"$ref": "#/$defs/Deep"}
    shape = {"$defs": {"Deep": {"type": "object", "properties": {"city": {"type": "string"}, "more": deep}}}}
    shape["properties"] = {"home": deep, "loop": {"$ref": "#/$defs/Loop"}}
    shape["$defs"]["Loop"] = {"anyOf": [{"$ref": "#/$defs/Loop"}]}
    asked = ask("post", "v1/exports/", {"schema": shape, "user_id": "ann"}, status=201)
    found = ask("post", "v1/exports/get/", {"memory_export_id": asked["id"]})
    assert (found["home"]["city"], found["loop"]) == ("Vienna", None)


def test_a_schema_that_leads_on_and_on_is_refused(ask, add):
    add("I live in Vienna.", user_id="ann")
    branch = {"type": "object", "properties": {f"p{number}": {"$ref": "#/$defs/Branch"} for number in range(20)}}
    for shape in (branch, {"anyOf": [{"$ref": "#/$defs/Branch"}] * 30}):
        schema = {"$defs": {"Branch": shape}, "properties": {"all": {"$ref": "#/$defs/Branch"}}}
        asked = ask("post", "v1/exports/", {"schema": schema, "user_id": "ann"}, status=201)
        (error,) = ask("post", "v1/exports/get/", {"memory_export_id": asked["id"]}, status=400)["errors"]
        assert "over 1000" in error["message"]


def export(ask, schema, status=200, **whose):
    """What an export of Ann's is."""
    asked = ask("post", "v1/exports/", {"schema": schema, "user_id": "ann", **whose}, status=201)
    return ask("post", "v1/exports/get/", {"memory_export_id": asked["id"]}, status=status)


def test_a_shape_is_read_as_json_schema_means_it(ask, add):
    for text in ("I live in Vienna.", "I am 41 years old.", "I like chess."):
        add(text, user_id="ann")
    found = export(
        ask,
        {
            "definitions": {"City": {"$ref": "#/definitions/Text"}, "Text": {"type": "string"}, "Any": True},
            "properties": {
                "city": {"$ref": "#/definitions/City"},
                "age": {"type": "integer", "exclusiveMinimum": 41},
                "likes": {"type": "array", "items": True, "maxItems": 0},
                "Likes": {"const": "Chess"},
                "name": {"$ref": "#/definitions/Any"},
                "home": {"type": "object", "properties": {"memories": {"type": "array"}}},
            },
        },
    )
    assert found == {
        **{"city": "Vienna", "age": None, "likes": [], "Likes": "Chess", "name": None},
        "home": {"memories": []},
    }
    root = {"$ref": "#/$defs/User", "$defs": {"User": {"properties": {"city": {"type": "string"}}}}}
    assert export(ask, root) == {"city": "Vienna"}


def test_a_number_is_one_that_json_holds(ask, alice):
    claim = {"subject": "user", "predicate": "age", "value": "1" * 400}
    body = {"namespace": "acme:mem0", "user": "ann", "content": "So old.", "claim": claim}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 201
    assert export(ask, {"properties": {"age": {"type": "integer", "default": 7}}}) == {"age": 7}


@pytest.mark.parametrize(
    "schema",
    [
        '{"properties":' * 1000,
        '{"properties":{"a":' + '{"not":' * 400 + "{}" + "}" * 402,
        '{"properties":{"a":{"type":"string","default":"\\ud800"}}}',
        '{"properties":{"z\\u0000":{"type":"string"}}}',
        '{"properties":{"a":{"type":"number","default":NaN}}}',
        {"properties": {"a": {"enum": 7}}},
        {"properties": {"a": {"anyOf": {}}}},
        {"properties": {}, "allOf": [{}] * 16_000},
        {"properties": {f"p{number}": {} for number in range(101)}},
    ],
)
def test_a_hostile_schema_is_refused(ask, schema):
    errors = ask("post", "v1/exports/", {"schema": schema}, status=400)["errors"]
    assert [error["field"].partition(".")[0] for error in errors] == ["schema"]


def test_a_definition_that_is_missing_is_told(ask, add):
    add("I live in Vienna.", user_id="ann")
    found = export(ask, {"properties": {"city": {"$ref": "#/$defs/City"}}}, status=400)
    assert "#/$defs/City" in found["errors"][0]["message"]


def test_an_export_asks_for_no_more_than_its_id_holds(ask):
    many = [{"memory_ids": [str(uuid.uuid4()) for _ in range(1000)]}] * 2
    assert ask("post", "v1/exports/", {"schema": SHAPE, "filters": {"OR": many}}, status=400)["errors"]
    asked = ask("post", "v1/exports/", {"schema": SHAPE, "user_id": "ann"}, status=201)
    body = {"memory_export_id": asked["id"], "user_id": "bob"}
    assert "beside" in ask("post", "v1/exports/get/", body, status=400)["errors"][0]["message"]


def test_an_export_takes_as_many_queries_whatever_it_asks_for(ask, add, django_assert_max_num_queries):
    add("I live in Vienna.", user_id="ann")
    for schema in (
        {"properties": {"city": {"type": "string"}}},
        {"properties": {f"p{n}": {"type": "string"} for n in range(100)}},
    ):
        asked = ask("post", "v1/exports/", {"schema": schema, "user_id": "ann"}, status=201)
        with django_assert_max_num_queries(18):
            ask("post", "v1/exports/get/", {"memory_export_id": asked["id"]})


def test_all_of_a_user_go_with_their_digest(ask, alice, add, store, count):
    """In whatever order their ids are: erasing an original erases the digest."""
    ann = alice.principal.of_user("ann")
    for attempt in range(4):
        texts = ("heron nests", "otter swims", "owl sleeps")
        ids = [add(f"The {text} behind mill number {attempt}.", user_id="ann") for text in texts]
        store(
            "acme:mem0/ann", f"Digest {attempt}.", by=ann, source_type="digest", parents=[uuid.UUID(one) for one in ids]
        )
        ask("delete", "v1/memories/?user_id=ann")
        assert count(Fragment) == 0


def test_what_is_of_no_agent_is_not_the_namespaces_agents(ask, add, agent_of, project, count):
    add(HERON, user_id="ann")
    add(OTTER, user_id="ann", app_id="app")
    admin = agent_of(project, owner="admin", verbs=["read", "write", "admin"], ceiling="user_explicit").client
    for path in ("v2/entities/agent/mem0/", "v1/memories/?agent_id=mem0"):
        assert ask("delete", path, status=400, client=admin)["errors"][0]["field"] == "agent_id"
    ask("delete", "v2/entities/app/*/", client=admin)
    assert count(Fragment) == 2
    ask("delete", "v2/entities/app/app/", client=admin)
    assert count(Fragment) == 1


def test_the_header_names_no_user(ask, two, alice):
    header = {"X-NovaMem-Namespace": "acme:mem0/bob"}
    for path in ("v3/memories/", "v3/memories/search/", "v3/memories/add/"):
        body = {"query": "heron?", "messages": [{"role": "user", "content": HERON}]}
        wanted = {"v3/memories/": {}, "v3/memories/search/": {"query": "heron?"}}.get(
            path, {"messages": body["messages"]}
        )
        answer = alice.client.post(f"/compat/mem0/{path}", wanted, format="json", headers=header)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "X-NovaMem-Namespace")


def test_a_tag_gives_no_users_memory_to_another(ask, alice, store):
    body = {"namespace": "acme:mem0", "user": "bob", "content": "Bob's heron is grey.", "tags": ["user:ann"]}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 201
    store("acme:mem0", "Ann's heron is white.", tags=["user:ann"])
    for path in ("v3/memories/", "v3/memories/search/"):
        wanted = {"filters": {"user_id": {"in": ["ann"]}}, **({"query": "which heron?"} if "search" in path else {})}
        assert [row["memory"] for row in ask("post", path, wanted)["results"]] == ["Ann's heron is white."]
        wanted["filters"] = {"user_id": {"ne": "ann"}}
        assert [row["memory"] for row in ask("post", path, wanted)["results"]] == ["Bob's heron is grey."]


def test_others_old_memories_take_no_place_in_an_answer(ask, add, store):
    for number in range(12):
        store("acme:mem0", f"The heron at the mill has {number} grey feathers.", tags=["user:bob"])
    mine = add("I saw a heron.", user_id="ann")
    body = {"query": "the heron at the mill with grey feathers", "filters": {"user_id": "ann"}, "top_k": 3}
    assert [hit["id"] for hit in ask("post", "v3/memories/search/", body)["results"]] == [mine]


def test_the_paths_of_older_clients_answer(ask, two):
    assert ask("post", "v2/memories/", {"filters": {"user_id": "ann"}})["count"] == 1
    (hit, *_) = ask("post", "v2/memories/search/", {"query": "heron?", "filters": {"user_id": "ann"}, "limit": 1})[
        "results"
    ]
    assert hit["id"] == two[0]


def test_a_batch_of_what_one_repeats_is_forgotten_whole(ask, add, rows):
    ids = [add(HERON, user_id="ann"), add(HERON, user_id="ann", run_id="r1")]
    ask("delete", "v1/batch/", {"memories": [{"memory_id": one} for one in ids]})
    assert [row for row in rows(Fragment) if row.status == Status.ACTIVE] == []
