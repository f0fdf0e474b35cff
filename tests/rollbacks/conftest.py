"""A namespace that is rolled back: what is said and decided there, and how it stands."""

import datetime
import uuid

import pytest
from django.db import connection
from django.utils import timezone

from memories import access, jobs, upkeep
from memories.models import Namespace
from memories.models.enums import EvictionReason

# What is believed, by what: without the times and counters of changes.
STATE = {
    "fragments": """SELECT id, content, status, superseded_by_id, archived_reason, is_pinned, importance,
        reinforcements, disputes, corroboration, compression, tier FROM memories_fragment WHERE {here}""",
    "claims": """SELECT fragment_id, position, subject, predicate, value, status, verdict, superseded_by_id, exclusive,
        slot, valid_from, valid_until, key_digest, value_digest FROM memories_claim WHERE {here}""",
    "conflicts": """SELECT id, kind, newcomer_id, newcomer_claim, existing_id, existing_claim, reason, resolution,
        resolved_by, resolved_at FROM conflicts_pendingconflict WHERE {here} AND resolution <> 'obsolete'""",
    "rulings": """SELECT id, chosen, ruled_out, authority, decided_by, replaced_by_id, valid_from, valid_until
        FROM conflicts_ruling WHERE {here}""",
    "votes": """SELECT v.id, v.fragment_id, v.owner_id, v.ballot, v.counted FROM conflicts_vote v
        JOIN memories_fragment f ON f.id = v.fragment_id WHERE f.{here}""",
    "words": """SELECT fragment_id, words::text, status FROM memories_keywords WHERE {here}""",
}


@pytest.fixture
def project(committed):
    """Of which each request is a transaction of its own: history follows these."""
    return committed


@pytest.fixture
def main(project):
    """A namespace's name."""
    return f"{project.name}:main"


@pytest.fixture
def principal(project):
    """The service."""
    return access.system_principal(project)


@pytest.fixture
def carol(project, agent_of):
    """A reviewer who administers all of the project."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def place(principal, main):
    """The namespace, once something was said in it."""

    def find():
        with access.enter(principal, why="test"):
            return Namespace.objects.get(name=main)

    return find


@pytest.fixture
def state(principal, place):
    """How the namespace stands: rows by table."""

    def look():
        with access.enter(principal, why="test"), connection.cursor() as cursor:
            found = {}
            for name, query in STATE.items():
                cursor.execute(query.format(here="namespace_id = %s") + " ORDER BY 1, 2", [place().id])
                found[name] = [tuple(map(_plain, row)) for row in cursor]
            return found

    return look


def _plain(value):
    return bytes(value) if isinstance(value, memoryview) else value


@pytest.fixture
def said(main):
    """Stores a memory; the answer."""

    def store(agent, content, *, value=None, predicate="budget", source="tool_output", **more):
        claim = {"claim": {"subject": "acme", "predicate": predicate, "value": value}} if value else {}
        body = {"namespace": main, "content": content, **claim, "provenance": {"source": source}, **more}
        answer = agent.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return store


@pytest.fixture
def decide():
    """Settles a conflict."""

    def settle(agent, conflict_id, action, **more):
        revision = agent.client.get(f"/api/v1/conflicts/{conflict_id}").json()["revision"]
        body = {"action": action, "revision": revision, **more}
        answer = agent.client.post(f"/api/v1/conflicts/{conflict_id}/resolve", body, format="json")
        assert answer.status_code == 200, answer.json()

    return settle


@pytest.fixture
def rolled(carol, principal, main):
    """Rolls back over the API and runs it here; the operation."""

    def run(to, *, code=202, agent=carol, ends="succeeded", **more):
        body = {"namespace": main, "to": to.isoformat(), **more}
        answer = agent.client.post("/api/v1/rollbacks", body, format="json")
        assert answer.status_code == code, answer.json()
        if code != 202:
            return answer.json()
        operation = jobs.run(principal, answer.json()["id"])
        assert operation.state == ends, operation.error
        return operation

    return run


@pytest.fixture
def undone(carol, principal):
    """Takes it back; the operation that did."""

    def run(operation, *, ends="succeeded"):
        answer = carol.client.post(f"/api/v1/operations/{operation.id}/undo", {}, format="json")
        assert answer.status_code == 202, answer.json()
        ended = jobs.run(principal, answer.json()["id"])
        assert ended.state == ends, ended.error
        return ended

    return run


@pytest.fixture
def done(principal):
    """Does a job of the whole project; the operation."""

    def run(kind, **options):
        wish = {"kind": kind, "namespace": None, "options": options, "now": timezone.now(), "wake_up": False}
        ended = jobs.run(principal, jobs.start(principal, **wish).id)
        assert ended.state == "succeeded", ended.error
        return ended

    return run


@pytest.fixture
def evict(principal, place):
    """Lets a memory leave, with a copy and a tombstone."""

    def leave(fragment_id):
        cause = upkeep.lifecycle.Cause(EvictionReason.LOW_WEIGHT, {"weight": 0.1})
        how = {"copied": "evicted", "operation_id": None, "now": timezone.now()}
        with access.enter(principal, why="test"):
            upkeep.lifecycle.remove_fragments(place().project_id, {uuid.UUID(fragment_id): cause}, **how)

    return leave


@pytest.fixture
def moment():
    """Now, after all that was done and before what follows."""
    return lambda: datetime.datetime.now(datetime.UTC)
