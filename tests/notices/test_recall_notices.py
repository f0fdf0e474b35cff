"""GET /api/v1/notices: who was told what, and what became of it."""

import uuid

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, erasure, ingest, retrieval
from memories.access import keys
from memories.models import Claim, Fragment, RecallNotice, Receipt
from memories.models.enums import EvictionReason
from memories.upkeep.lifecycle.removal import Cause, remove_fragments
from tests.conftest import stored

URL = "/api/v1/notices"


@pytest.fixture
def tell(principal, alice):
    """Leaves a receipt of an answer that carried these."""

    def receipt(*fragments, by=alice, at=None, namespace=None):
        with access.enter(principal, why="test"):
            return Receipt.objects.create(
                project_id=principal.project_id,
                namespace_id=(namespace or fragments[0]).namespace_id,
                fragment_ids=[each.id for each in fragments],
                tokens=1,
                key_id=by.principal.key_id,
                created_at=at or timezone.now(),
            )

    return receipt


@pytest.fixture
def change(principal):
    """Changes memories in one statement."""

    def update(*fragments, **values):
        with access.enter(principal, why="test"):
            Fragment.objects.filter(id__in=[each.id for each in fragments]).update(**values)

    return update


@pytest.fixture
def row(store):
    """A memory."""
    return store("acme:main", "The mill turns.")


def notices(agent, code=200, **query):
    answer = agent.client.get(URL, query)
    assert answer.status_code == code, answer.json()
    return answer.json()["results"] if code == 200 else answer.json()


def reasons(agent, **query):
    """Oldest first."""
    return [each["reason"] for each in notices(agent, **query)][::-1]


def test_whoever_was_told_what_was_superseded_is_told_so(alice, row, store, tell, change):
    new = store("acme:main", "The mill stands still.")
    receipt = tell(row)
    change(row, status="superseded", superseded_by=new.id)
    (found,) = notices(alice)
    assert found.pop("created_at")
    assert uuid.UUID(found.pop("id"))
    assert found == {
        "reason": "superseded",
        "fragment_id": str(row.id),
        "claim_id": None,
        "superseded_by": str(new.id),
        "status": "superseded",
        "receipt_id": str(receipt.id),
        "namespace": "acme:main",
        "user": None,
        "key_id": str(alice.principal.key_id),
        "told_at": receipt.created_at.isoformat().replace("+00:00", "Z"),
    }


@pytest.mark.parametrize(
    ("status", "why", "reason"),
    [
        ("disputed", "", "disputed"),
        ("quarantined", "", "ruled_out"),
        ("quarantined", "contained", "contained"),
        ("archived", "by_hand", "ruled_out"),
        ("archived", "by_person", "ruled_out"),
        ("archived", "rejected", "ruled_out"),
        ("archived", "edited", "ruled_out"),
        ("archived", "precedent_rejected", "ruled_out"),
        ("archived", "undone", "ruled_out"),
        ("archived", "rolled_back", "ruled_out"),
        ("archived", "decayed", None),
        ("archived", "digested", None),
        ("archived", "disputed", None),
        ("archived", "superseded", None),
    ],
)
def test_what_became_of_it_has_a_reason_and_upkeep_is_none(status, why, reason, alice, row, tell, change):
    tell(row)
    change(row, status=status, archived_reason=why)
    assert reasons(alice) == [reason] * bool(reason)


def test_other_changes_and_other_receipts_are_no_news(alice, row, store, tell, change):
    tell(store("acme:main", "Something else."))
    change(row, status="superseded")
    tell(row)
    change(row, importance=0.9)
    change(row, status="archived", archived_reason="superseded")
    assert notices(alice) == []


def test_what_stands_again_is_told_to_whom_the_contrary_was(alice, row, tell, change):
    first = tell(row)
    change(row, status="superseded")
    tell(row)
    change(row, status="active")
    assert reasons(alice) == ["superseded", "restored"]
    assert {each["receipt_id"] for each in notices(alice)} == {str(first.id)}
    assert notices(alice)[0]["status"] == "active"


def test_the_same_is_not_said_twice_in_a_row(alice, row, tell, change):
    tell(row)
    for _ in range(2):
        change(row, status="disputed")
        change(row, status="archived", archived_reason="decayed")
    change(row, status="active")
    change(row, status="disputed")
    assert reasons(alice) == ["disputed", "restored", "disputed"]


def test_one_statement_tells_each_receipt_of_each_memory(alice, store, tell, change):
    rows = [store("acme:main", f"Thing {n}.") for n in range(3)]
    tell(*rows)
    tell(rows[0])
    change(*rows, status="disputed")
    assert len(notices(alice)) == 4


@pytest.fixture
def rivals(principal, tell):
    """A document's text with two claims, which an answer carried, and what a person says against one of them."""
    claims = [ClaimDraft("ada", "age", "41"), ClaimDraft("ada", "lives_in", "Rome")]
    text = "Ada is 41 and lives in Rome."
    row = stored(principal, "acme:main", text, source="document", claims=claims)
    tell(row)
    return row, lambda: stored(
        principal, "acme:main", "Ada is 42.", source="tool_output", claim=ClaimDraft("ada", "age", "42")
    )


def test_of_several_claims_the_one_that_falls_is_told_and_that_it_returns(alice, principal, rivals, now):
    row, oppose = rivals
    new = oppose()
    with access.enter(principal, why="test"):
        fallen = Claim.objects.get(fragment=row, predicate="age")
        assert Fragment.objects.get(id=row.id).status == "active"
    (found,) = notices(alice)
    assert (found["reason"], found["fragment_id"], found["claim_id"]) == ("superseded", str(row.id), str(fallen.id))
    assert (found["superseded_by"], found["status"]) == (str(new.id), "active")
    erasure.forget(principal, new.id, now=now)
    assert reasons(alice) == ["superseded", "restored"]
    assert {each["claim_id"] for each in notices(alice)} == {str(fallen.id)}


def test_a_memory_that_falls_with_its_only_claim_is_told_once(alice, principal, tell):
    old, new = [
        (principal, "acme:main", f"Ada is {age}.", source, ClaimDraft("ada", "age", age))
        for age, source in (("41", "document"), ("42", "tool_output"))
    ]
    old = stored(*old[:3], source=old[3], claim=old[4])
    tell(old)
    new = stored(*new[:3], source=new[3], claim=new[4])
    (found,) = notices(alice)
    assert (found["reason"], found["claim_id"], found["superseded_by"]) == ("superseded", None, str(new.id))


def test_what_an_answer_of_context_carried_is_told_when_it_is_archived(alice):
    body = {"namespace": "acme:main", "content": "The heron nests behind the old mill."}
    stored_id = alice.client.post("/api/v1/fragments", body, format="json").json()["id"]
    asked = {"namespace": "acme:main", "query": "heron nests"}
    receipt = alice.client.post("/api/v1/context", asked, format="json").json()["receipt_id"]
    assert alice.client.post(f"/api/v1/fragments/{stored_id}/archive", {}, format="json").status_code == 200
    (found,) = notices(alice, mine="true")
    assert (found["receipt_id"], found["reason"], found["status"]) == (receipt, "ruled_out", "archived")


def test_receipts_of_another_project_hear_nothing(alice, charlie, row, change, tell):
    elsewhere = access.system_principal(keys.ensure_project("elsewhere"))
    theirs = stored(elsewhere, "elsewhere:main", "The mill turns.")
    with access.enter(elsewhere, why="test"):
        Receipt.objects.create(
            project_id=elsewhere.project_id, namespace_id=theirs.namespace_id, fragment_ids=[row.id], tokens=1
        )
    change(row, status="disputed")
    assert notices(charlie) == notices(alice) == []
    tell(row)
    change(row, status="superseded")
    assert (len(notices(alice)), notices(charlie)) == (1, [])


def test_notices_go_with_their_receipts(alice, row, tell, change, principal, now, settings):
    settings.RECEIPT_DAYS = 30
    tell(row, at=now - timezone.timedelta(days=31))
    kept = tell(row)
    change(row, status="disputed")
    retrieval.context.expire_receipts(principal, now=now)
    assert [each["receipt_id"] for each in notices(alice)] == [str(kept.id)]
    change(row, status="superseded")
    assert {each["receipt_id"] for each in notices(alice)} == {str(kept.id)}


def test_users_hear_of_their_own_answers_alone(alice, principal, tell, change, agent_of, project):
    rows = {user: stored(principal.of_user(user), "acme:main", f"{user} swims.") for user in ("ann", "ben")}
    for user, row in rows.items():
        tell(row)
        change(row, status="disputed")
        (found,) = notices(alice, user=user)
        assert (found["fragment_id"], found["user"], found["namespace"]) == (str(row.id), user, "acme:main")
    assert notices(alice) == []
    assert len(notices(alice, all_users="true")) == 2
    anns = agent_of(project, users="required", user_patterns=["ann"])
    assert [each["user"] for each in notices(anns, user="ann")] == ["ann"]
    assert notices(anns, 404, user="ben")["code"] == "not_found"
    assert notices(anns, 400)["code"] == "user_required"


def test_a_key_sees_the_namespaces_that_it_covers(alice, reader, store, tell, change):
    for room in ("main", "side", "shared"):
        row = store(f"acme:{room}", f"In {room}.")
        tell(row)
        change(row, status="disputed")
    assert {each["namespace"] for each in notices(alice)} == {"acme:main", "acme:side", "acme:shared"}
    assert {each["namespace"] for each in notices(reader)} == {"acme:main", "acme:shared"}
    assert notices(reader, 404, namespace="acme:side")["code"] == "not_found"
    assert [each["namespace"] for each in notices(alice, namespace="acme:side")] == ["acme:side"]


def test_a_forgotten_memory_has_no_notices_and_superseded_nothing(alice, principal, row, store, tell, change, now):
    new = store("acme:main", "The mill stands still.")
    tell(row, new)
    change(row, status="superseded", superseded_by=new.id)
    change(new, status="disputed")
    erasure.forget(principal, new.id, now=now)
    assert {each["fragment_id"] for each in notices(alice)} == {str(row.id)}
    assert {each["superseded_by"] for each in notices(alice)} == {None}
    erasure.forget(principal, row.id, now=now)
    assert notices(alice) == []


def test_a_forgotten_user_has_no_notices(alice, principal, tell, change, count, now):
    row = stored(principal.of_user("ann"), "acme:main", "Ann swims.")
    tell(row)
    change(row, status="disputed")
    assert count(RecallNotice) == 1
    erasure.erase_user(principal, "ann", None, expected=1, now=now)
    assert count(RecallNotice) == 0


def test_of_an_evicted_memory_nobody_knows_the_status(alice, principal, row, tell, change, now):
    tell(row)
    change(row, status="archived", archived_reason="by_hand")
    with access.enter(principal, why="evict"):
        cause = Cause(EvictionReason.LOW_WEIGHT, {})
        remove_fragments(principal.project_id, {row.id: cause}, copied="evicted", operation_id=None, now=now)
    assert [(each["reason"], each["status"]) for each in notices(alice)] == [("ruled_out", None)]
    erasure.forget(principal, row.id, now=now)
    assert notices(alice) == []


def test_filters(alice, bob, store, tell, change):
    one, two = (store("acme:main", f"Thing {n}.") for n in (1, 2))
    mine, his = tell(one), tell(one, two, by=bob)
    change(one, two, status="disputed")
    change(two, status="superseded")
    assert len(notices(alice)) == 4
    assert [each["receipt_id"] for each in notices(alice, mine="true")] == [str(mine.id)]
    assert len(notices(bob, mine="true")) == 3
    assert len(notices(alice, receipt_id=his.id)) == 3
    assert len(notices(alice, fragment_id=one.id)) == 2
    assert [each["fragment_id"] for each in notices(alice, reason="superseded")] == [str(two.id)]


def test_pages_follow_each_other(alice, store, tell, change):
    rows = [store("acme:main", f"Thing {n}.") for n in range(5)]
    tell(*rows)
    for row in rows:
        change(row, status="disputed")
    url, seen = f"{URL}?limit=2", []
    while url:
        page = alice.client.get(url).json()
        seen += [each["fragment_id"] for each in page["results"]]
        url = page["next"]
    assert seen == [str(row.id) for row in rows][::-1]


@pytest.mark.parametrize(("query", "field"), [({"since": "x"}, "since"), ({"cursor": "x"}, "cursor"), ({"x": 1}, "x")])
def test_bad_queries_are_named(query, field, alice):
    assert [error["field"] for error in notices(alice, 400, **query)["errors"]] == [field]


def test_the_app_can_neither_write_nor_change_notices(principal, row, tell, change):
    tell(row)
    change(row, status="disputed")
    statements = [
        "INSERT INTO memories_recallnotice (id) VALUES (gen_random_uuid())",
        "UPDATE memories_recallnotice SET reason = 'restored'",
        "SELECT nova_tell_receipts(gen_random_uuid(), '{}', '{}', '{}', '{}')",
    ]
    for statement in statements:
        with (
            access.enter(principal, why="test"),
            pytest.raises(DatabaseError, match="permission denied"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)


def test_reading_on_from_a_bookmark_tells_what_is_new(committed, service, agent_of):
    agent = agent_of(committed, owner="ada")
    place = f"{committed.name}:main"
    rows = [ingest.store(service, ingest.prepare([draft]), now=timezone.now())[0].fragment
            for draft in (ingest.Draft(namespace=place, content=f"Note {n}.") for n in range(2))]  # fmt: skip
    with access.enter(service, why="test"):
        Receipt.objects.create(
            project_id=service.project_id, namespace=rows[0].namespace, tokens=1, fragment_ids=[row.id for row in rows]
        )
    for row in rows:
        bookmark = agent.client.get(URL).json()["bookmark"]
        with access.enter(service, why="test"):
            Fragment.objects.filter(id=row.id).update(status="disputed")
        assert str(row.id) in [each["fragment_id"] for each in notices(agent, since=bookmark)]
    assert len(notices(agent)) == 2
    assert notices(agent, since="now") == []
