"""Whose a memory is on another machine: of a trusted bundle, the owner's of the same name who stands there."""

import json
import uuid

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, upkeep
from memories.models import Fragment, Owner
from memories.models.enums import CopyReason, EvictionReason
from memories.models.sql import execute
from tests.backups.conftest import forged

ELSEWHERE = str(uuid.UUID(int=7))


@pytest.fixture
def elsewhere(storage, alice):
    """Lets alice have had another id where a bundle comes from."""

    def moved(row):
        mine = str(alice.principal.owner_id)
        forged(storage / row.file, lambda told: json.loads(json.dumps(told).replace(mine, ELSEWHERE)))

    return moved


def budget(value):
    return {"source": "tool_output", "claim": ClaimDraft(subject="Ada", predicate="budget", value=value)}


def test_what_somebody_said_stays_theirs(
    principal, project, alice, bob, agent_of, store, back_up, restore, wipe, lines, elsewhere, another_key
):
    said = store("acme:main", "Ada's budget is $750.", by=alice.principal, **budget("$750"))
    carol = agent_of(project, owner="carol", verbs=["read", "write"])
    for who, lives in ((bob, "Oslo"), (carol, "Rome")):
        claim = ClaimDraft(subject="Ada", predicate="lives in", value=lives)
        store("acme:main", f"Ada lives in {lives}.", by=who.principal, source="tool_output", claim=claim)
    row = store("acme:main", "The heron nests by the mill.", by=bob.principal)
    left = store("acme:main", "The kingfisher dives.", by=alice.principal, extra={"owner_id": ELSEWHERE})
    other = store("acme:main", "Otters sleep.", by=bob.principal)
    for each in (row, other):
        assert alice.client.post(f"/api/v1/fragments/{each.id}/reinforce", {}, format="json").status_code == 200
    (waits,) = alice.client.get("/api/v1/conflicts?status=pending").json()["results"]
    body = {"action": "reject", "revision": waits["revision"]}
    assert alice.client.post(f"/api/v1/conflicts/{waits['id']}/resolve", body, format="json").status_code == 200
    with access.enter(principal, why="test"):
        cause = {each.id: upkeep.lifecycle.Cause(EvictionReason.LOW_WEIGHT, {}) for each in (left, other)}
        upkeep.lifecycle.remove_fragments(
            principal.project_id, cause, copied=CopyReason.EVICTED, operation_id=None, now=timezone.now()
        )
    before = back_up()
    was = lines(before)
    elsewhere(before)
    wipe()
    another_key()
    assert restore(before, dry_run=True, trust_signer=before.signer)["insert"] == 4
    assert restore(before, trust_signer=before.signer)["insert"] == 4
    assert lines(back_up()) == was
    assert restore(before, trust_signer=before.signer)["unchanged"] == 4
    told = store("acme:main", "Ada's budget is $900.", by=alice.principal, **budget("$900"))
    with access.enter(principal, why="test"):
        assert (told.status, Fragment.objects.get(id=said.id).superseded_by_id) == ("active", told.id)
        assert Owner.objects.filter(id=ELSEWHERE).count() == 0


@pytest.fixture
def owners(lines):
    """Whom a bundle names."""

    def named(row):
        told = [json.loads(line) for line in lines(row)]
        return {each["row"]["name"] for each in told if each["kind"] == "owner"}

    return named


def test_who_only_decided_comes_along(
    principal, project, alice, agent_of, store, back_up, restore, wipe, owners, lines, another_key
):
    judge = agent_of(project, owner="judge", ceiling="user_explicit", verbs=["read", "review"])
    model, anchored = (
        agent_of(project, owner=name, verbs=["read", "write", "review"]) for name in ("model", "anchored")
    )
    for by, value, source in ((alice, "$750", "tool_output"), (model, "$9", "inference")):
        store("acme:main", f"Ada's budget is {value}.", by=by.principal, **{**budget(value), "source": source})
    (waits,) = alice.client.get("/api/v1/conflicts?status=pending").json()["results"]
    body = {"action": "reject", "revision": waits["revision"]}
    assert judge.client.post(f"/api/v1/conflicts/{waits['id']}/resolve", body, format="json").status_code == 200
    store("acme:other", "Herons wade.", by=anchored.principal, is_anchor=True)
    made, was = back_up(), alice.client.get("/api/v1/rulings").json()["results"]
    assert owners(made) == {"alice", "model", "judge", "anchored"}
    assert owners(back_up(namespaces=["acme:main"])) == {"alice", "model", "judge"}
    assert owners(back_up(policy="identity")) == {"anchored"}
    with access.enter(principal, why="test"):
        execute("DELETE FROM memories_apikey WHERE owner_id = %s", [judge.principal.owner_id])
    wipe()
    another_key()
    restore(made, trust_signer=made.signer)
    assert [row["by"] for row in was] == ["judge"]
    assert alice.client.get("/api/v1/rulings").json()["results"] == was
    assert lines(back_up()) == lines(made)


def test_whose_memories_are_copies_alone_comes_along(principal, bob, store, back_up, owners):
    """What its owner said of whose it is names nobody else, and breaks nothing."""
    row = store("acme:main", "The kingfisher dives.", by=bob.principal, extra={"owner_id": "-" * 36})
    cause = {row.id: upkeep.lifecycle.Cause(EvictionReason.LOW_WEIGHT, {})}
    with access.enter(principal, why="test"):
        upkeep.lifecycle.remove_fragments(
            principal.project_id, cause, copied=CopyReason.EVICTED, operation_id=None, now=timezone.now()
        )
    assert owners(back_up()) == {"bob"}


@pytest.mark.parametrize("kind", ["person", "service"])
def test_only_of_the_same_kind(principal, alice, store, back_up, restore, wipe, storage, elsewhere, kind):
    row = store("acme:main", "The heron nests by the mill.", by=alice.principal)
    made = back_up()
    elsewhere(made)

    def be(told):
        for each in told:
            if each.get("kind") == "owner":
                each["row"]["kind"] = kind

    forged(storage / made.file, be)
    wipe()
    restore(made)
    with access.enter(principal, why="test"):
        mine = Owner.objects.get(name="alice")
        owner_id = Fragment.objects.get(id=row.id).owner_id
    assert owner_id == (mine.id if kind == mine.kind else uuid.UUID(ELSEWHERE))


def test_a_stranger_does_not_speak_as_somebody_here(
    principal, alice, store, back_up, restore, wipe, elsewhere, another_key
):
    row = store("acme:main", "The heron nests by the mill.", by=alice.principal)
    made = back_up()
    elsewhere(made)
    wipe()
    another_key()
    restore(made)
    with access.enter(principal, why="test"):
        assert Fragment.objects.get(id=row.id).owner_id is None
