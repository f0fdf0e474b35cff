"""/api/v1/predicates: registering, reading and changing rules."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from conflicts.keys.names import naming
from conflicts.keys.predicates import SEEDS
from conflicts.models import Predicate
from memories import access
from memories.models import Claim, Namespace, RepeatedRequest

URL = "/api/v1/predicates"
SHOE = {"namespace": "acme:main", "name": "shoe_size"}


@pytest.fixture
def shoe(alice):
    """A rule of Alice's."""
    return post(alice, **SHOE)


@pytest.fixture
def claims(principal, store):
    """Claims of Robin, each with another predicate and value."""

    def keep(**said):
        kept = {}
        for predicate, value in said.items():
            fragment = store("acme:main", f"Robin: {predicate} is {value}.")
            with access.enter(principal, why="test"):
                names = naming(principal.project_id, [fragment.namespace_id])[fragment.namespace_id]
                key = names.key("Robin", predicate)
                Claim.objects.create(
                    fragment=fragment,
                    project_id=principal.project_id,
                    namespace_id=fragment.namespace_id,
                    subject="Robin",
                    predicate=predicate,
                    value=value,
                    subject_digest=key.subject,
                    predicate_digest=key.predicate,
                    key_digest=key.both,
                    value_digest=names.value(predicate, value),
                    exclusive=names.exclusive(predicate, None),
                    authority=fragment.authority,
                    status=fragment.status,
                )
            kept[predicate] = str(fragment.id)
        return kept

    return keep


@pytest.fixture
def picture(principal):
    """What a refusal must leave as it is."""

    def take():
        with access.enter(principal, why="test"):
            return [list(m.objects.order_by("pk").values()) for m in (Predicate, Claim, Namespace)]

    return take


def post(agent, **body):
    answer = agent.client.post(URL, body, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()


def patch(agent, place="", **body):
    return agent.client.patch(f"{URL}{place}", body, format="json")


def problem_of(answer):
    return answer.status_code, answer.json()["code"], [error["field"] for error in answer.json().get("errors", [])]


def test_registering_works(alice):
    body = post(
        alice, **SHOE, cardinality="many", aliases=["Size of shoes", "foot"], normaliser="number", newer_wins=True
    )
    assert uuid.UUID(body.pop("id"))
    assert body.pop("created_at") == body.pop("updated_at")
    assert body == {
        **SHOE,
        "cardinality": "many",
        "exclusive": False,
        "aliases": ["Size of shoes", "foot"],
        "normaliser": "number",
        "policy": "newest",
        "newer_wins": True,
        "revision": 1,
    }


@pytest.mark.parametrize(
    ("said", "exclusive"),
    [
        ({"exclusive": False}, False),
        ({"exclusive": True}, True),
        ({"cardinality": "many"}, False),
        ({"cardinality": "one", "exclusive": True}, True),
        ({}, True),
        ({"name": "likes"}, False),
        ({"name": "likes", "exclusive": True}, True),
    ],
)
def test_how_many_values_it_takes(said, exclusive, alice):
    body = post(alice, **{**SHOE, **said})
    assert (body["exclusive"], body["cardinality"]) == (exclusive, "one" if exclusive else "many")


def test_reading_works(alice, shoe):
    assert alice.client.get(f"{URL}/{shoe['id']}").json() == shoe


def test_the_list_is_paged_newest_first(alice):
    made = [post(alice, namespace="acme:main", name=name) for name in ("one", "two", "three")]
    post(alice, namespace="acme:side", name="other")
    first = alice.client.get(URL, {"namespace": "acme:main", "limit": 2}).json()
    assert (first["results"], first["previous"]) == ([made[2], made[1]], None)
    second = alice.client.get(first["next"]).json()
    assert (second["results"], second["next"]) == ([made[0]], None)
    assert alice.client.get(second["previous"]).json()["results"] == first["results"]
    assert [row["name"] for row in alice.client.get(URL).json()["results"]] == ["other", "three", "two", "one"]
    assert alice.client.get(URL, {"namespace": "acme:empty"}).json()["results"] == []


def test_built_in_rules_are_listed_apart(alice, shoe):
    body = alice.client.get(URL, {"builtin": "true"}).json()
    assert (body["next"], body["previous"]) == (None, None)
    assert [row["name"] for row in body["results"]] == [rule.name for rule in SEEDS]
    likes = next(row for row in body["results"] if row["name"] == "likes")
    assert "hobby" in likes.pop("aliases")
    assert likes == {
        **dict.fromkeys(("id", "namespace", "revision", "created_at", "updated_at")),
        **{"name": "likes", "cardinality": "many", "exclusive": False, "normaliser": "text"},
        **{"policy": "review", "newer_wins": False},
    }


def test_only_what_is_covered_is_seen(alice, reader, charlie, shoe):
    secret = post(alice, namespace="acme:secret", name="shoe_size")
    assert reader.client.get(URL).json()["results"] == [shoe]
    assert charlie.client.get(URL).json()["results"] == []
    for agent, place in ((reader, f"/{secret['id']}"), (charlie, f"/{shoe['id']}"), (alice, f"/{uuid.uuid4()}")):
        assert problem_of(agent.client.get(f"{URL}{place}")) == (404, "not_found", [])
    assert problem_of(reader.client.get(URL, {"namespace": "acme:secret"})) == (404, "not_found", [])


def test_changing_works_by_name_and_by_id(alice, shoe):
    body = patch(alice, namespace="acme:main", name="Shoe-Size", aliases=["foot"], revision=1).json()
    assert body == {**shoe, "aliases": ["foot"], "revision": 2, "updated_at": body["updated_at"]}
    body = patch(alice, f"/{shoe['id']}", cardinality="many", newer_wins=True, revision=2).json()
    assert (body["exclusive"], body["newer_wins"], body["aliases"], body["revision"]) == (False, True, ["foot"], 3)
    assert alice.client.get(f"{URL}/{shoe['id']}").json() == body


def test_what_is_registered_is_named_by_its_etag(alice):
    answers = [alice.client.post(URL, SHOE, format="json", headers={"Idempotency-Key": "once"}) for _ in range(2)]
    assert [(answer.status_code, answer.headers["ETag"]) for answer in answers] == [(201, '"1"')] * 2


def test_a_stale_revision_changes_nothing(alice, shoe, picture):
    patch(alice, f"/{shoe['id']}", newer_wins=True)
    before = picture()
    for place, body in ((f"/{shoe['id']}", {}), ("", SHOE)):
        assert problem_of(patch(alice, place, **body, newer_wins=False, revision=1)) == (409, "stale_revision", [])
    stale = alice.client.patch(f"{URL}/{shoe['id']}", {"newer_wins": False}, format="json", headers={"If-Match": '"1"'})
    assert problem_of(stale) == (412, "precondition_failed", [])
    assert picture() == before
    etag = {"If-Match": alice.client.get(f"{URL}/{shoe['id']}").headers["ETag"]}
    assert alice.client.patch(URL, {**SHOE, "newer_wins": False}, format="json", headers=etag).headers["ETag"] == '"3"'


def test_foreign_and_missing_ones_can_not_be_changed(alice, charlie, shoe, picture):
    before = picture()
    for agent, place, body in (
        (charlie, f"/{shoe['id']}", {}),
        (charlie, "", SHOE),
        (alice, f"/{uuid.uuid4()}", {}),
        (alice, "", {**SHOE, "name": "nothing"}),
        (alice, "", {**SHOE, "namespace": "acme:nowhere"}),
    ):
        assert problem_of(patch(agent, place, **body, newer_wins=True)) == (404, "not_found", [])
    assert picture() == before


def test_a_foreign_namespace_gets_no_rule(alice, picture):
    before = picture()
    answer = alice.client.post(URL, {**SHOE, "namespace": "elsewhere:main"}, format="json")
    assert problem_of(answer) == (404, "not_found", [])
    assert picture() == before


def test_writing_needs_admin(bob, shoe, picture):
    before = picture()
    for answer in (
        bob.client.post(URL, {**SHOE, "name": "height"}, format="json"),
        patch(bob, **SHOE, newer_wins=True),
        patch(bob, f"/{shoe['id']}", newer_wins=True),
    ):
        assert problem_of(answer) == (403, "not_permitted", [])
    assert picture() == before


BAD = {
    "no namespace": ({"namespace": None}, "namespace"),
    "bad namespace": ({"namespace": "Acme Main"}, "namespace"),
    "no name": ({"name": None}, "name"),
    "blank name": ({"name": "  "}, "name"),
    "a name of nothing": ({"name": "\u200b—_"}, "name"),
    "long name": ({"name": "x" * 101}, "name"),
    "an alias of nothing": ({"aliases": ["foot", "---"]}, "aliases[1]"),
    "blank alias": ({"aliases": [""]}, "aliases[0]"),
    "long alias": ({"aliases": ["x" * 101]}, "aliases[0]"),
    "too many aliases": ({"aliases": [f"alias {n}" for n in range(51)]}, "aliases"),
    "aliases are a text": ({"aliases": "foot"}, "aliases"),
    "contradiction": ({"exclusive": True, "cardinality": "many"}, "cardinality"),
    "other contradiction": ({"exclusive": False, "cardinality": "one"}, "cardinality"),
    "unknown cardinality": ({"cardinality": "two"}, "cardinality"),
    "exclusive is a text": ({"exclusive": "yes"}, "exclusive"),
    "unknown normaliser": ({"normaliser": "mood"}, "normaliser"),
    "newer_wins is a number": ({"newer_wins": 1}, "newer_wins"),
    "unknown field": ({"spelling_digest": "x"}, "spelling_digest"),
}


@pytest.mark.parametrize("why", BAD)
def test_bad_input_registers_nothing(why, alice, picture):
    bad, field = BAD[why]
    body = {name: value for name, value in {**SHOE, **bad}.items() if value is not None}
    before = picture()
    assert problem_of(alice.client.post(URL, body, format="json")) == (400, "validation", [field])
    assert picture() == before


@pytest.mark.parametrize("why", [why for why, (bad, _) in BAD.items() if not {"name", "namespace"} & set(bad)])
def test_bad_input_changes_nothing(why, alice, shoe, picture):
    bad, field = BAD[why]
    before = picture()
    for place, body in ((f"/{shoe['id']}", bad), ("", {**SHOE, **bad})):
        assert problem_of(patch(alice, place, **body)) == (400, "validation", [field])
    assert picture() == before


def test_a_change_names_what_changes(alice, shoe, picture):
    before = picture()
    for place, body in (("", SHOE), (f"/{shoe['id']}", {"revision": 1})):
        assert problem_of(patch(alice, place, **body)) == (400, "validation", [""])
    assert problem_of(patch(alice, f"/{shoe['id']}", name="foot")) == (400, "validation", ["name"])
    assert picture() == before


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": "ＳＨＯＥ　ＳＩＺＥ"}, "predicate_taken"),
        ({"name": "foot"}, "alias_taken"),
        ({"name": "leg", "aliases": ["FООT"]}, "alias_taken"),
        ({"name": "leg", "aliases": ["shoe-size"]}, "alias_taken"),
    ],
)
def test_one_spelling_leads_to_one_rule(body, code, alice, picture):
    post(alice, **SHOE, aliases=["foot"])
    before = picture()
    assert problem_of(alice.client.post(URL, {**SHOE, **body}, format="json")) == (409, code, [])
    assert picture() == before
    post(alice, **{**SHOE, **body, "namespace": "acme:side"})


def test_standing_claims_follow(alice, claims, principal):
    kept = claims(stays_at="Oslo")
    rule = post(alice, namespace="acme:main", name="lives_in", aliases=["stays-at"])
    with access.enter(principal, why="test"):
        names = naming(principal.project_id, [Namespace.objects.get().id])
        claim = Claim.objects.get(fragment=kept["stays_at"])
        assert bytes(claim.key_digest) == names[claim.namespace_id].key("robin", "city").both
        assert claim.exclusive
    patch(alice, f"/{rule['id']}", exclusive=False)
    with access.enter(principal, why="test"):
        assert not Claim.objects.get(fragment=kept["stays_at"]).exclusive


def test_claims_that_would_collide_are_listed_and_nothing_changes(alice, claims, picture):
    kept = claims(lives_in="Oslo", stays_at="Rome")
    before = picture()
    answer = alice.client.post(
        URL, {"namespace": "acme:main", "name": "lives_in", "aliases": ["stays_at"]}, format="json"
    )
    assert problem_of(answer) == (409, "claims_collide", ["aliases"])
    (error,) = answer.json()["errors"]
    assert all(fragment_id in error["message"] for fragment_id in kept.values())
    assert not {"Oslo", "Rome", "Robin"} & set(answer.content.decode().replace(".", " ").split())
    assert picture() == before


def test_so_are_those_of_which_only_one_could_stand(alice, claims, picture):
    rule = post(alice, namespace="acme:main", name="shoe", aliases=["boot"], exclusive=False)
    kept = claims(shoe="red", boot="blue")
    before = picture()
    answer = patch(alice, f"/{rule['id']}", cardinality="one", aliases=[], newer_wins=True)
    assert answer.status_code == 200, "apart they stand"
    answer = patch(alice, f"/{rule['id']}", aliases=["boot"])
    assert problem_of(answer) == (409, "claims_collide", ["aliases"])
    patch(alice, f"/{rule['id']}", cardinality="many", aliases=["boot"])
    answer = patch(alice, f"/{rule['id']}", exclusive=True)
    assert problem_of(answer) == (409, "claims_collide", ["exclusive"])
    assert all(fragment_id in answer.json()["errors"][0]["message"] for fragment_id in kept.values())
    assert picture()[1] == before[1]


def test_a_repeated_request_registers_once(alice, count):
    first, second = (alice.client.post(URL, SHOE, format="json", headers={"Idempotency-Key": "once"}) for _ in range(2))
    assert first.status_code == second.status_code == 201
    assert first.json() == second.json()
    assert count(Predicate) == 1


def test_a_refused_request_is_not_kept(alice, shoe, count):
    answer = alice.client.post(URL, SHOE, format="json", headers={"Idempotency-Key": "once"})
    assert problem_of(answer) == (409, "predicate_taken", [])
    assert count(RepeatedRequest) == 0


def test_of_two_registrations_of_one_alias_one_wins(committed, agent_of, service):
    agent = agent_of(committed, verbs=["admin"], requests_per_minute=0)
    barrier = threading.Barrier(2)

    def attempt(name):
        try:
            barrier.wait(timeout=60)
            body = {"namespace": f"{committed.name}:main", "name": name, "aliases": ["foot"]}
            return agent.client.post(URL, body, format="json").status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(attempt, ["shoe", "boot"])) == [201, 409]
    with access.enter(service, why="test"):
        assert Predicate.objects.within(service.project_id).count() == 1
