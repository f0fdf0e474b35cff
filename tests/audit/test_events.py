"""Row history: one event per change, in its transaction, saying who and why, never what the text was."""

import contextlib

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from memories import access, erasure, ingest
from memories.access import keys
from memories.models import Fragment
from memories.models.history import event_models

CANARY = "canary-zx81"
URL = "/api/v1/fragments"


@pytest.fixture
def agent(committed, agent_of):
    """An agent that may do everything in the committed project."""
    return agent_of(committed, ceiling="user_explicit", verbs=["read", "write", "review", "admin"], owner=CANARY)


@pytest.fixture
def fragment(keep, service):
    """One stored fragment."""
    return keep("The heron nests behind the old mill.")


def history(principal):
    with access.enter(principal, why="test"):
        model = apps.get_model("memories", "FragmentEvent")
        return list(model.objects.filter(project_id=principal.project_id).order_by("pgh_id"))


def run_sql(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def store(service, fragment):
    ingest.store(service, prepared(service, 1), now=timezone.now())


def store_many(service, fragment):
    ingest.store(service, prepared(service, 120), now=timezone.now())


def prepared(service, number):
    return ingest.prepare(
        [ingest.Draft(namespace=f"{service.project}:main", content=f"Fact {n}") for n in range(number)]
    )


def revise(service, fragment):
    ingest.updates.revise(service, fragment.id, changes={"importance": 0.25}, revision=None, now=timezone.now())


def reword(service, fragment):
    ingest.updates.revise(service, fragment.id, changes={"content": "Other words."}, revision=None, now=timezone.now())


def retag(service, fragment):
    ingest.updates.revise(service, fragment.id, changes={"tags": ["bird"]}, revision=None, now=timezone.now())


def forget(service, fragment):
    erasure.forget(service, fragment.id, now=timezone.now())


def update_in_bulk(service, fragment):
    Fragment.objects.within(service.project_id).update(tier="cold")


def raw_update(service, fragment):
    run_sql("UPDATE memories_fragment SET status = 'archived' WHERE id = %s", fragment.id)


def raw_text(service, fragment):
    run_sql("UPDATE memories_fragment SET content = 'Smuggled in.' WHERE id = %s", fragment.id)


def raw_delete(service, fragment):
    run_sql("DELETE FROM memories_fragment WHERE id = %s", fragment.id)


CHANGES = {
    store: ["insert"],
    store_many: ["insert"] * 120,
    revise: ["update"],
    reword: ["update"],
    retag: ["update"],
    forget: ["delete"],
    update_in_bulk: ["update"],
    raw_update: ["update"],
    raw_text: ["update"],
    raw_delete: ["delete"],
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_every_change_leaves_one_event(change, service, fragment):
    before = len(history(service))
    with access.enter(service, why="test"):
        change(service, fragment)
    assert [event.pgh_label for event in history(service)[before:]] == CHANGES[change]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_event_goes_when_the_change_is_rolled_back(change, service, fragment):
    before = len(history(service))
    with contextlib.suppress(ZeroDivisionError), access.enter(service, why="test"):
        change(service, fragment)
        raise ZeroDivisionError
    assert len(history(service)) == before


def test_an_event_says_before_and_after(service, fragment):
    with access.enter(service, why="test"):
        update_in_bulk(service, fragment)
    before, after = history(service)[-2:]
    assert (before.tier, after.tier) == ("hot", "cold")


def test_an_event_says_who_why_and_in_which_request(agent, service):
    answer = agent.client.post(
        URL,
        {"namespace": f"{service.project}:main", "content": "The heron nests."},
        format="json",
    )
    assert answer.status_code == 201
    said = history(service)[-1].pgh_context
    assert said.pop("why")
    assert said == {
        "kind": "key",
        "owner": str(agent.principal.owner_id),
        "key": str(agent.row.id),
        "request": answer.headers["X-Request-Id"],
    }


def test_keys_and_grants_leave_events(committed, service, agent, now):
    keys.revoke(committed, agent.row.key_id, now=now)
    with access.enter(service, why="test"):
        events = apps.get_model("memories", "ApiKeyEvent").objects.filter(pgh_obj_id=agent.row.id).order_by("pgh_id")
        assert [(event.pgh_label, event.revoked_at) for event in events] == [("insert", None), ("update", now)]
        assert apps.get_model("memories", "GrantEvent").objects.filter(project=committed).count() == 1


def test_events_and_the_file_hold_no_text(agent, service, journal, seal):
    told = {
        "namespace": f"{service.project}:{CANARY}",
        "content": f"{CANARY} sang.",
        "category": CANARY,
        "source_id": CANARY,
        "workflow_id": CANARY,
        "conversation_id": CANARY,
        "tags": [CANARY],
        "topics": [CANARY],
        "entities": [{"text": CANARY, "label": "person"}],
        "extra": {CANARY: CANARY},
        "provenance": {"source": "user_explicit", "source_id": CANARY},
    }
    headers = {"Idempotency-Key": CANARY, "X-Request-Id": CANARY}
    answer = agent.client.post(URL, told, format="json", headers=headers)
    assert answer.status_code == 201, answer.content
    place = f"{URL}/{answer.json()['id']}"
    assert agent.client.patch(place, {"content": f"{CANARY} sang again."}, format="json").status_code == 200
    assert agent.client.patch(place, {"category": f"{CANARY} too"}, format="json").status_code == 200
    assert agent.client.delete(place).status_code in (200, 204)
    seal()
    assert [event.pgh_label for event in history(service)] == ["insert", "update", "update", "delete"]
    for model in event_models():
        with access.enter(service, why="test"), connection.cursor() as cursor:
            cursor.execute(f"SELECT to_jsonb(e)::text FROM {model._meta.db_table} e")
            assert not [row for (row,) in cursor if CANARY in row], model
    assert CANARY not in journal.path.read_text()
