"""Users behind one key: their memories never meet, at any endpoint (docs/spec.md §2.2)."""

import base64
import json
import time
import uuid

import pytest

from memories import access
from memories.models import Claim, Erasure, Fragment, Namespace

FRAGMENTS, SEARCH, CONTEXT = "/api/v1/fragments", "/api/v1/search", "/api/v1/context"
HOME = {"subject": "user", "predicate": "lives_in"}


def keep(agent, user, content, *, namespace="acme:main", expected=201, **more):
    body = {"namespace": namespace, "content": content, **({} if user is None else {"user": user}), **more}
    answer = agent.client.post(FRAGMENTS, body, format="json")
    assert answer.status_code == expected, answer.content
    return answer.json()


def find(agent, query, **more):
    answer = agent.client.post(SEARCH, {"namespace": "acme:main", "query": query, **more}, format="json")
    assert answer.status_code == 200, answer.content
    return [row["content"] for row in answer.json()["results"]]


@pytest.fixture
def homes(alice):
    """Where two users live, and what all of them may know."""
    return {
        "ann": keep(alice, "ann", "I live in Lisbon.", claim={**HOME, "value": "Lisbon"}),
        "ben": keep(alice, "ben", "I live in Oslo.", claim={**HOME, "value": "Oslo"}),
        "all": keep(alice, None, "Support answers where people live within a day."),
    }


@pytest.mark.parametrize("written", ["acme:main/ann ", " acme:main/ann", "acme:main/ann\t"])
def test_a_written_scope_is_read_trimmed(alice, homes, written):
    assert keep(alice, None, "The cat is called Tibbles.", namespace=written)["user"] == "ann"
    body = {"namespace": written, "messages": [{"role": "user", "content": "My dog is called Rex."}]}
    assert alice.client.post("/api/v1/ingest", body, format="json").status_code < 300
    assert "I live in Lisbon." in find(alice, "Where do I live?", namespace=written)
    listed = alice.client.get(FRAGMENTS, {"namespace": written}).json()["results"]
    assert {row["user"] for row in listed} == {"ann"}
    everybody = {"namespace": written, "all_users": True, "dry_run": True}
    assert alice.client.post("/api/v1/forget", everybody, format="json").status_code == 400


def test_two_users_with_other_values_of_one_key_both_stand(alice, homes):
    assert [homes[name]["status"] for name in ("ann", "ben")] == ["active", "active"]
    assert homes["ben"]["superseded"] == homes["ben"]["pending_conflicts"] == []
    assert (homes["ann"]["namespace"], homes["ann"]["user"], homes["all"]["user"]) == ("acme:main", "ann", None)


def test_equal_texts_of_two_users_are_two_memories(alice):
    one, two = (keep(alice, user, "I like walking my dog in the park.") for user in ("ann", "ben"))
    claimed = [keep(alice, user, "I live in Rome.", claim={**HOME, "value": "Rome"}) for user in ("ann", "ben")]
    assert one["id"] != two["id"]
    assert claimed[0]["id"] != claimed[1]["id"]
    assert not any(answer["deduplicated"] for answer in (one, two, *claimed))


def test_search_for_a_user_sees_theirs_and_the_namespace_never_another_users(alice, homes):
    assert find(alice, "where do people live?", user="ann") == [
        homes["ann"]["content"],
        homes["all"]["content"],
    ] or set(find(alice, "where do people live?", user="ann")) == {homes["ann"]["content"], homes["all"]["content"]}
    assert set(find(alice, "where do people live?")) == {homes["all"]["content"]}
    assert set(find(alice, "where do people live?", user="nobody yet")) == {homes["all"]["content"]}
    assert set(find(alice, "where do people live?", all_users=True)) == {row["content"] for row in homes.values()}


def test_context_for_a_user_holds_no_other_users_words(alice, homes):
    body = {"namespace": "acme:main", "query": "where do you live?", "user": "ben"}
    block = alice.client.post(CONTEXT, body, format="json").json()["prompt_prefix"]
    assert "Oslo" in block
    assert "Lisbon" not in block


def test_nearest_scope_hides_the_wider_one(alice):
    keep(alice, None, "Everybody speaks English.", claim={"subject": "user", "predicate": "locale", "value": "en"})
    keep(alice, "ann", "Ann speaks Greek.", claim={"subject": "user", "predicate": "locale", "value": "el"})
    assert find(alice, "what does one speak?", user="ann") == ["Ann speaks Greek."]
    assert find(alice, "what does one speak?", user="ben") == ["Everybody speaks English."]


def test_a_header_names_the_user_percent_encoded(alice):
    user = "zoë/1:*"
    answer = alice.client.post(
        FRAGMENTS, {"namespace": "acme:main", "content": "Tea, never coffee."}, format="json",
        headers={"X-NovaMem-User": "zo%C3%AB%2F1%3A%2A"},
    )  # fmt: skip
    assert answer.json()["user"] == user
    assert find(alice, "tea or coffee?", user=user) == ["Tea, never coffee."]
    assert find(alice, "tea or coffee?", user="zoe\u0308/1:*") == ["Tea, never coffee."]  # NFC
    assert find(alice, "tea or coffee?", user="Zoë/1:*") == []  # compared exactly


BY_ID = {
    "read": ("get", "{}", None, 200),
    "history": ("get", "{}/history", None, 200),
    "change": ("patch", "{}", {"tags": ["x"]}, 200),
    "archive": ("post", "{}/archive", {}, 200),
    "reinforce": ("post", "{}/reinforce", {}, 200),
    "dispute": ("post", "{}/dispute", {"reason": "no"}, 200),
    "tier": ("post", "{}/tier", {"from": "hot", "to": "warm"}, 200),
    "forget": ("delete", "{}", None, 204),
}


@pytest.mark.parametrize("what", BY_ID)
def test_an_id_of_another_user_is_unknown(alice, homes, principal, what):
    method, path, body, status = BY_ID[what]
    url = f"{FRAGMENTS}/{path.format(homes['ann']['id'])}"
    for query in ("?user=ben", "", "?user=nobody"):
        answer = getattr(alice.client, method)(url + query, body, format="json")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), (what, query)
    with access.enter(principal, why="test"):
        row = Fragment.objects.within(principal.project_id).get(id=homes["ann"]["id"])
        assert (row.status, row.revision, row.tier) == ("active", 1, "hot")
    assert getattr(alice.client, method)(f"{url}?user=ann", body, format="json").status_code == status


def test_a_request_for_a_user_changes_nothing_that_all_may_know(alice, homes):
    url = f"{FRAGMENTS}/{homes['all']['id']}"
    assert alice.client.get(f"{url}?user=ann").status_code == 200
    assert alice.client.delete(f"{url}?user=ann").status_code == 403
    assert alice.client.get(url).status_code == 200


@pytest.mark.parametrize(
    ("address", "body", "headers"),
    [
        ("", {"user": "ann"}, {}),
        ("?user=ann", {}, {}),
        ("", {}, {"HTTP_X_NOVAMEM_USER": "ann"}),
        ("", {"namespace": "acme:main/ann"}, {}),
    ],
)
def test_a_key_is_archived_in_the_scope_of_the_request_s_user(alice, address, body, headers):
    kept = {user: keep(alice, user, f"Tea for {user}.", key="tea") for user in ("ann", "ben", None)}
    body = {"namespace": "acme:main", "key": "tea", **body}
    answer = alice.client.post(f"{FRAGMENTS}/archive{address}", body, format="json", **headers)
    assert (answer.status_code, answer.json()["id"]) == (200, kept["ann"]["id"])
    rows = alice.client.get(f"{FRAGMENTS}?namespace=acme:main&all_users=true&status=active").json()["results"]
    assert {row["user"] for row in rows} == {"ben", None}


def test_a_key_of_another_user_is_unknown_and_two_users_are_refused(alice):
    keep(alice, "ann", "Tea for Ann.", key="tea")
    for body, status in (({"user": "ben"}, 404), ({}, 404), ({"namespace": "acme:main/ann", "user": "ben"}, 400)):
        body = {"namespace": "acme:main", "key": "tea", **body}
        assert alice.client.post(f"{FRAGMENTS}/archive", body, format="json").status_code == status
    rows = alice.client.get(f"{FRAGMENTS}?namespace=acme:main&user=ann&status=active").json()["results"]
    assert [row["key"] for row in rows] == ["tea"]


def test_lists_show_one_scope_or_with_the_right_all(alice, homes):
    def listed(query):
        return {row["content"] for row in alice.client.get(f"{FRAGMENTS}?{query}").json()["results"]}

    assert listed("namespace=acme:main") == {homes["all"]["content"]}
    assert listed("") == {homes["all"]["content"]}
    assert listed("namespace=acme:main&user=ann") == {homes["ann"]["content"]}
    assert listed("namespace=acme:main/ben") == {homes["ben"]["content"]}
    assert listed("namespace=acme:main&all_users=true") == {row["content"] for row in homes.values()}
    ids = ",".join(row["id"] for row in homes.values())
    assert listed(f"ids={ids}") == {homes["all"]["content"]}


def test_claims_of_a_user_are_asked_for_by_user(alice, homes):
    def values(query):
        return {row["value"] for row in alice.client.get(f"/api/v1/claims?subject=user{query}").json()["results"]}

    assert values("&namespace=acme:main&user=ann") == {"Lisbon"}
    assert values("&namespace=acme:main") == values("") == set()
    assert values("&namespace=acme:main&all_users=true") == {"Lisbon", "Oslo"}
    row = alice.client.get("/api/v1/claims?subject=user&namespace=acme:main&user=ann").json()["results"][0]
    assert (row["namespace"], row["user"]) == ("acme:main", "ann")


def test_a_rule_of_the_namespace_holds_for_all_its_users(alice):
    url = "/api/v1/predicates"
    one = alice.client.post(url, {"namespace": "acme:main", "name": "hobby", "cardinality": "many"}, format="json")
    assert one.status_code == 201, one.content
    for value in ("chess", "rowing"):
        stored = keep(
            alice, "ann", f"Ann's hobby: {value}.", claim={"subject": "ann", "predicate": "hobby", "value": value}
        )
        assert (stored["status"], stored["superseded"]) == ("active", [])
    refused = alice.client.post(
        url, {"namespace": "acme:main/ann", "name": "sport", "cardinality": "many"}, format="json"
    )
    assert refused.status_code == 403


def test_a_batch_names_the_user_of_each_item(alice):
    items = [{"namespace": "acme:main", "content": f"{user} likes tea.", "user": user} for user in ("ann", "ben")]
    answer = alice.client.post(f"{FRAGMENTS}/batch", {"fragments": items}, format="json")
    assert [row["user"] for row in answer.json()["results"]] == ["ann", "ben"]


def test_ingest_and_forget_stay_within_the_user(alice, principal):
    for user in ("ann", "ben"):
        turns = [{"role": "user", "content": "I am severely allergic to peanuts.", "id": "turn-1"}]
        body = {"namespace": "acme:main", "user": user, "messages": turns, "conversation_id": "c1"}
        answer = alice.client.post("/api/v1/ingest", body, format="json")
        assert [row["user"] for row in answer.json()["stored"]] == [user]
    gone = alice.client.post(
        "/api/v1/forget",
        {"namespace": "acme:main", "user": "ben", "conversation_id": "c1", "expected_count": 1},
        format="json",
    )
    assert gone.status_code == 200, gone.content
    assert find(alice, "allergic to what?", user="ann") == ["I am severely allergic to peanuts."]
    assert find(alice, "allergic to what?", user="ben") == []


@pytest.mark.parametrize(
    ("user", "reason"),
    [("", "1 to 255"), ("u" * 256, "1 to 255"), ("a\nb", "control"), ("a\u0085b", "control"), (7, "valid string")],
)
def test_a_bad_user_is_refused_and_nothing_stored(alice, count, user, reason):
    body = {"namespace": "acme:main", "content": "Tea.", "user": user}
    answer = alice.client.post(FRAGMENTS, body, format="json")
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == ["user"]
    assert reason in answer.json()["errors"][0]["message"]
    assert count(Fragment) == count(Namespace) == 0


def test_names_that_differ_are_refused(alice):
    answer = alice.client.post(
        f"{SEARCH}?user=ann", {"namespace": "acme:main", "query": "tea", "user": "ben"}, format="json"
    )
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "user")


@pytest.mark.parametrize("query", ["user=ann&user=ben", "namespace=acme:main/ann&namespace=acme:main/ben"])
def test_users_that_differ_within_one_address_are_refused(alice, count, query):
    body = {"namespace": "acme:main", "content": "Tea."}
    answers = [
        alice.client.post(f"{FRAGMENTS}?{query}", body, format="json"),
        alice.client.get(f"{FRAGMENTS}?{query}"),
    ]
    fields = ["user", query.partition("=")[0]]
    assert [(each.status_code, each.json()["errors"][0]["field"]) for each in answers] == [(400, f) for f in fields]
    assert count(Fragment) == 0
    assert alice.client.post(f"{FRAGMENTS}?user=ann&user=ann", body, format="json").json()["user"] == "ann"


@pytest.fixture
def required(agent_of, project):
    """A key that speaks for users only."""
    return agent_of(project, users="required", verbs=["read", "write", "admin"])


def test_a_key_that_requires_users_is_refused_without_one(required, count):
    asked = [
        required.client.post(FRAGMENTS, {"namespace": "acme:main", "content": "Tea."}, format="json"),
        required.client.post(SEARCH, {"namespace": "acme:main", "query": "tea"}, format="json"),
        required.client.post(CONTEXT, {"namespace": "acme:main", "query": "tea"}, format="json"),
        required.client.get(FRAGMENTS),
        required.client.get(f"{FRAGMENTS}/{uuid.uuid4()}"),
        required.client.get("/api/v1/claims"),
        required.client.post("/api/v1/ingest", {"namespace": "acme:main", "text": "Tea is drunk here."}, format="json"),
        required.client.post(
            f"{FRAGMENTS}/batch", {"fragments": [{"namespace": "acme:main", "content": "Tea."}]}, format="json"
        ),
    ]
    assert {(answer.status_code, answer.json()["code"]) for answer in asked} == {(400, "user_required")}
    assert count(Fragment) == 0
    assert keep(required, "ann", "Tea.")["user"] == "ann"


def test_a_key_for_no_users_may_name_none(agent_of, project, count):
    alone = agent_of(project, users="none")
    answer = alone.client.post(FRAGMENTS, {"namespace": "acme:main", "content": "Tea.", "user": "ann"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    everybody = alone.client.post(SEARCH, {"namespace": "acme:main", "query": "tea", "all_users": True}, format="json")
    assert (everybody.status_code, everybody.json()["code"]) == (403, "not_permitted")
    assert count(Fragment) == 0


def test_user_patterns_are_apart_from_namespace_patterns(agent_of, project, alice):
    some = agent_of(project, user_patterns=["team-*", r"star\*"])
    keep(some, "team-7", "Tea.")
    keep(some, "star*", "Tea.")
    for user in ("ann", "starx"):
        body = {"namespace": "acme:main", "content": "Tea.", "user": user}
        assert some.client.post(FRAGMENTS, body, format="json").status_code == 404
        body = {"namespace": f"acme:main/{user}", "query": "tea"}
        assert some.client.post(SEARCH, body, format="json").status_code == 404
    everybody = some.client.post(SEARCH, {"namespace": "acme:main", "query": "tea", "all_users": True}, format="json")
    assert everybody.status_code == 403


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("*", ["", "a", "a\nb"], []),
        ("a*b*c", ["abc", "aXbYc", "abbcbc"], ["ab", "abcx", "xabc", "acb"]),
        ("*a*a", ["aa", "xaya"], ["a", "aab"]),
        (r"\**\\", ["*\\", "*x\\"], ["x\\", "*"]),
        ("a.*", ["a.", "a.b"], ["ab"]),
    ],
)
def test_a_pattern_of_users_fits_what_it_says(agent_of, project, pattern, fits, fits_not):
    speaks = agent_of(project, user_patterns=[pattern]).principal.speaks_for
    assert [user for user in fits if not speaks(user)] == [user for user in fits_not if speaks(user)] == []


def test_a_pattern_of_many_stars_takes_no_time(agent_of, project):
    """Whoever issues keys of a project stops no server by it."""
    many = agent_of(project, user_patterns=["*a" * 20 + "*b"]).principal
    begun = time.process_time()
    assert not many.speaks_for("a" * 255)
    assert time.process_time() - begun < 0.5


def test_existing_memories_keep_their_place(alice, store):
    row = store("acme:main", "Before there were users.")
    assert find(alice, "before users") == [row.content]
    assert find(alice, "before users", user="ann") == [row.content]


def test_whose_scope_it_is_never_changes(alice, homes, principal):
    from django.db import DatabaseError, transaction

    with access.enter(principal, why="test"):
        mine = Namespace.objects.within(principal.project_id).get(user="ann")
        for change in ({"user": "ben2"}, {"parent": None, "user": None, "name": "acme:ann"}):
            with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
                Namespace.objects.filter(id=mine.id).update(**change)


def address(user):
    return base64.urlsafe_b64encode(user.encode()).decode().rstrip("=")


def test_users_are_listed_with_what_is_kept_of_them(alice, homes):
    rows = alice.client.get("/api/v1/users?namespace=acme:main").json()["results"]
    assert [(row["user"], row["memories"], row["namespaces"]) for row in rows] == [
        ("ann", 1, ["acme:main"]),
        ("ben", 1, ["acme:main"]),
    ]


def test_pages_of_users_lead_on_and_back(alice):
    names = ["Zoë", "ann", "b|en", "carl", "dora"]
    for name in names:
        keep(alice, name, f"{name} sails.")
    first = alice.client.get("/api/v1/users?namespace=acme:main&limit=2").json()
    second = alice.client.get(first["next"]).json()
    third = alice.client.get(second["next"]).json()
    pages = [[row["user"] for row in page["results"]] for page in (first, second, third)]
    assert pages == [names[:2], names[2:4], names[4:]]
    assert first["previous"] is third["next"] is None
    back = alice.client.get(third["previous"]).json()
    assert (back["results"], back["next"] is None) == (second["results"], False)
    begin = alice.client.get(back["previous"]).json()
    assert (begin["results"], begin["previous"]) == (first["results"], None)
    assert alice.client.get(begin["next"]).json()["results"] == second["results"]


@pytest.mark.parametrize("cursor", ["x", "YW5u", "PnxhAA"])
def test_what_is_no_cursor_of_users_is_refused(alice, cursor):
    answer = alice.client.get("/api/v1/users", {"cursor": cursor})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "cursor")


def test_export_holds_all_of_one_user_and_nothing_of_another(alice, homes):
    keep(alice, "ann", "Ann sails.", namespace="acme:other")
    answer = alice.client.get(f"/api/v1/users/{address('ann')}/export")
    assert answer.status_code == 200
    whole = answer.json()
    assert {row["content"] for row in whole["memories"]} == {"I live in Lisbon.", "Ann sails."}
    one = alice.client.get(f"/api/v1/users/{address('ann')}/export?namespace=acme:other").json()
    assert {row["content"] for row in one["memories"]} == {"Ann sails."}
    assert alice.client.get(f"/api/v1/users/{address('nobody')}/export").status_code == 404


def test_export_holds_what_is_kept_beside_memories_and_nothing_of_another(alice, bob, homes, agent_of, project):
    carol = agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "review"])
    for user in ("ann", "ben"):
        place = {"namespace": "acme:main", "user": user}
        id_, wide = homes[user]["id"], keep(alice, user, f"{user} rows.")["id"]

        def send(method, path, body, agent=alice, place=place):
            answer = getattr(agent.client, method)(f"/api/v1/{path}", {"user": place["user"], **body}, format="json")
            assert answer.status_code in (200, 201), answer.content
            return answer.json()

        send("patch", f"fragments/{wide}", {"content": f"{user} rows and rides."})
        send("post", "tasks", {**place, "id": "t1", "title": f"Move {user}", "status": "active", "summary": "Half."})
        send("post", "episodes", {**place, "title": f"The move of {user}", "ids": [id_, wide]})
        send("post", f"fragments/{wide}/dispute", {"reason": f"{user} moved."}, agent=bob)
        claim = {**HOME, "value": "Rome"}
        told = keep(bob, user, "I live in Rome.", claim=claim)
        conflict = told["pending_conflicts"][0]["id"]
        decision = {"action": "reject", "revision": 1, "note": f"I know {user}."}
        send("post", f"conflicts/{conflict}/resolve", decision, agent=carol)
    whole = alice.client.get(f"/api/v1/users/{address('ann')}/export").json()
    first, second = homes["ann"]["id"], next(row["id"] for row in whole["memories"] if "rides" in row["content"])
    former = [(row["fragment_id"], row["revision"], row["content"]) for row in whole["former_texts"]]
    assert former == [(second, 1, "ann rows.")]
    assert [(row["id"], row["namespace"], row["title"], row["summary"]) for row in whole["tasks"]] == [
        ("t1", "acme:main", "Move ann", "Half.")
    ]
    assert whole["titles"] == [{"title": "The move of ann", "fragment_ids": [first, second]}]
    notes = [(row["kind"], row["note"]) for row in whole["notes"]]
    assert notes == [("vote", "ann moved."), ("conflict", "I know ann.")]
    assert whole["notes"][0]["fragment_id"] == second
    assert "ben" not in json.dumps(whole)


def test_delete_of_a_user_erases_every_copy_and_nobody_else(alice, homes, principal):
    url = f"/api/v1/users/{address('ann')}?namespace=acme:main"
    looked = alice.client.delete(f"{url}&dry_run=true")
    assert (looked.status_code, looked.json()["count"]) == (200, 1)
    torn = alice.client.delete(f"{url}&expected_count=1&expected_count=77")
    assert (torn.status_code, torn.json()["errors"][0]["field"]) == (400, "expected_count")
    differs = alice.client.delete(f"{url}&expected_count=2")
    assert (differs.status_code, differs.json()["code"]) == (409, "count_differs")
    assert find(alice, "where does one live?", user="ann")
    done = alice.client.delete(f"{url}&expected_count=1")
    assert (done.status_code, done.json()["count"]) == (200, 1)
    assert find(alice, "where do you live?", user="ann") == [homes["all"]["content"]]
    assert alice.client.get(f"{FRAGMENTS}/{homes['ann']['id']}?user=ann").status_code == 404
    assert "I live in Oslo." in find(alice, "where do you live?", user="ben")
    with access.enter(principal, why="test"):
        assert not Namespace.objects.within(principal.project_id).filter(user="ann").exists()
        assert not Claim.objects.within(principal.project_id).filter(value="Lisbon").exists()
        assert Erasure.objects.within(principal.project_id).count() <= 1
    assert [row["user"] for row in alice.client.get("/api/v1/users").json()["results"]] == ["ben"]


@pytest.mark.parametrize(("source", "shown"), [("tool_output", "$900"), ("user_explicit", "$10")])
def test_what_a_person_ruled_for_all_is_hidden_by_nobody_weaker(project, agent_of, source, shown):
    owners = {"paper": "document", "tool": "tool_output", "carol": "user_explicit", "teller": "user_explicit"}
    agents = {
        name: agent_of(project, owner=name, ceiling=ceiling, verbs=["read", "write", "review"]).client
        for name, ceiling in owners.items()
    }

    def store(by, source, value, **more):
        claim = {"subject": "trip", "predicate": "budget", "value": value}
        body = {"namespace": "acme:main", "content": f"The budget of the trip is {value}.", "claim": claim, **more}
        answer = agents[by].post("/api/v1/fragments", body | {"provenance": {"source": source}}, format="json")
        assert answer.status_code == 201, answer.json()
        return answer.json()

    store("tool", "tool_output", "$750")
    (conflict,) = store("paper", "document", "$900")["pending_conflicts"]
    path = f"/api/v1/conflicts/{conflict['id']}"
    wish = {"action": "supersede", "revision": agents["carol"].get(path).json()["revision"]}
    assert agents["carol"].post(f"{path}/resolve", wish, format="json").status_code == 200
    store("tool" if source == "tool_output" else "teller", source, "$10", user="ann")
    question = {"namespace": "acme:main", "user": "ann", "query": "What is the budget of the trip?"}
    hits = agents["tool"].post("/api/v1/search", question, format="json").json()["results"]
    assert shown in hits[0]["content"]


def test_stats_tell_how_many_users_they_are_about(alice, homes):
    def users(**query):
        return alice.client.get("/api/v1/stats", {"namespace": "acme:main", **query}).json()["users"]

    assert (users(), users(user="ann"), users(all_users="true")) == (0, 1, 2)
