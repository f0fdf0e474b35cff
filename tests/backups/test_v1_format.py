"""The V1 envelope: a small backup as one JSON document, out and in; what comes in as one is a stranger's."""

import copy
import datetime
import io
import json
import uuid

import pytest
from django.core.management import CommandError, call_command

from conflicts.public import ClaimDraft
from memories import access, audit, backups
from memories.backups.bundle import v1_format
from memories.backups.bundle.reader import BundleReader
from memories.models import Claim, Fragment, PendingEmbedding

CHUNK = {
    "id": "5b0d6ad0-3f3e-4d43-9f29-6a2b8f6a3c11",
    "content": "The heron nests by the mill.",
    "createdAt": 1_770_000_000_123,
    "updatedAt": "2026-02-03T04:05:06.000007+01:00",
}
ENVELOPE = {"schemaVersion": 1, "exportedAtMs": 1_770_000_100_000, "selection": {}, "counts": {}, "chunks": [CHUNK]}


@pytest.fixture
def take_in(principal, job, now):
    """Takes an envelope in and restores it; the operation."""

    def upload(told, **more):
        allow = more.get("allow_version", False)
        file = io.BytesIO(told if isinstance(told, bytes) else json.dumps(told).encode())
        row = backups.import_bundle(principal, file, now=now, allow_version=allow)
        return job("restore", backup_id=str(row.id), **more)

    return upload


@pytest.fixture
def kept(principal):
    """Every fragment, by id."""

    def read():
        with access.enter(principal, why="test"):
            rows = Fragment.objects.within(principal.project_id).select_related("namespace")
            return {str(row.id): row for row in rows}

    return read


@pytest.fixture
def spoken(principal):
    """What a memory claims, in order."""

    def read(row):
        with access.enter(principal, why="test"):
            rows = Claim.objects.filter(fragment=row).order_by("position")
            return list(rows.values_list("subject", "predicate", "value"))

    return read


def with_chunk(**more):
    return {**copy.deepcopy(ENVELOPE), "chunks": [{**CHUNK, **more}]}


def test_a_backup_as_an_envelope(alice, store, back_up):
    row = store("acme:main", "The heron nests by the mill.", by=alice.principal, tags=["mill"], extra={"n": 1})
    made = back_up(include_embeddings=True)
    answer = alice.client.get(f"/api/v1/backups/{made.id}/download?format=json")
    assert answer.status_code == 200
    told = answer.json()
    assert told.keys() == {"schemaVersion", "exportedAtMs", "selection", "counts", "chunks"}
    assert told["selection"] == {
        "policy": "full",
        "policyVersion": made.policy_version,
        "namespaces": ["acme:main"],
        "embeddings": True,
    }
    (chunk,) = told["chunks"]
    assert (chunk["id"], chunk["content"]) == (str(row.id), row.content)
    assert datetime.datetime.fromisoformat(chunk["createdAt"]) == row.created_at
    assert (chunk["metadata"]["namespace"], chunk["metadata"]["extra"]) == ("acme:main", {"n": 1})
    assert len(chunk["embedding"]) == 384
    assert chunk["embeddingModelId"] == "fake"


def test_a_memory_of_several_claims_is_one_chunk(alice, store, back_up, wipe, take_in, kept, spoken):
    claims = [ClaimDraft("Ada", "lives in", "Oslo"), ClaimDraft("Ada", "dog name", "Rex")]
    row = store("acme:main", "Ada of Oslo has Rex.", by=alice.principal, claims=claims)
    told = alice.client.get(f"/api/v1/backups/{back_up().id}/download?format=json").json()
    assert [chunk["id"] for chunk in told["chunks"]] == [str(row.id)]
    wipe()
    assert take_in(told).report["insert"] == 1
    assert kept()[str(row.id)].content == "Ada of Oslo has Rex."
    assert spoken(kept()[str(row.id)]) == [("Ada", "lives in", "Oslo"), ("Ada", "dog name", "Rex")]


def test_an_empty_backup_is_an_envelope_too(alice, store, back_up):
    told = alice.client.get(f"/api/v1/backups/{back_up().id}/download?format=json").json()
    assert (told["schemaVersion"], told["chunks"]) == (1, [])


def test_out_and_in_again_keeps_ids_times_and_texts(alice, principal, store, back_up, wipe, take_in, kept, anonymous):
    for n in range(3):
        store("acme:main", f"Heron {n} nests.", by=alice.principal, tags=["mill"], importance=0.25, extra={"source": n})
    before = kept()
    told = alice.client.get(f"/api/v1/backups/{back_up(include_embeddings=True).id}/download?format=json").json()
    wipe()
    assert take_in(told).report["insert"] == 3
    after = kept()
    assert after.keys() == before.keys()
    for name in ("content", "created_at", "updated_at", "tags", "importance", "extra", "type", "agent_id", "status"):
        assert {key: getattr(row, name) for key, row in after.items()} == {
            key: getattr(row, name) for key, row in before.items()
        }, name
    with access.enter(principal, why="test"):
        # A stranger's vectors are not believed: they are computed anew.
        assert PendingEmbedding.objects.filter(project_id=principal.project_id).count() == 3


def test_what_comes_in_as_one_is_a_strangers(take_in, kept):
    ended = take_in(with_chunk(metadata={"source": "user_explicit", "mood": "calm"}))
    assert (ended.report["foreign"], ended.report["insert"]) == (True, 1)
    row = kept()[CHUNK["id"]]
    assert (row.authority, row.source, row.namespace.name, row.extra) == (2, "document", "acme:main", {"mood": "calm"})
    assert row.created_at.isoformat() == "2026-02-02T02:40:00.123000+00:00"
    assert row.updated_at.isoformat() == "2026-02-03T03:05:06.000007+00:00"


def test_there_is_no_signer_whom_anybody_could_trust(principal, job, kept, settings, now):
    file = io.BytesIO(json.dumps(with_chunk(metadata={"source": "user_explicit"})).encode())
    row = backups.import_bundle(principal, file, now=now)
    with backups.storage.open_file(row.file) as stored:
        signed_with = audit.fingerprint(BundleReader(stored, now=now).manifest.key)
    assert row.signer == ""
    refused = job("restore", backup_id=str(row.id), trust_signer=signed_with)
    assert (refused.state, refused.error["code"]) == ("failed", "wrong_signer")
    settings.TRUSTED_SIGNERS = [signed_with]
    assert job("restore", backup_id=str(row.id)).report["foreign"] is True
    assert kept()[CHUNK["id"]].source == "document"


def test_a_vector_without_a_model_has_its_dimensions_for_a_name(storage, principal, now):
    file = io.BytesIO(json.dumps(with_chunk(embedding=[3.0, 4.0])).encode())
    bundle = v1_format.bundle_of(file, project="acme", now=now)
    told = [record for record in backups.bundle.records_of(bundle, now=now) if record["kind"] == "fragment"]
    assert [(each["model"], each["dim"]) for each in told[0]["vectors"]] == [("legacy_2", 2)]


BROKEN = {
    "text": (b"{hello", "this is no envelope"),
    "other fields": ({**ENVELOPE, "surprise": 1}, "an envelope has"),
    "no chunks": ({**ENVELOPE, "chunks": None}, "an envelope has"),
    "time of the export": ({**ENVELOPE, "exportedAtMs": 0}, "exportedAtMs"),
    "nan": (json.dumps(with_chunk(embedding=[float("nan")])).encode(), "NaN is not a JSON number"),
    "infinite": (b'{"schemaVersion": 1e999}', "too large"),
    "no chunk": ({**ENVELOPE, "chunks": [7]}, "chunks[0]"),
    "unknown field": (with_chunk(surprise=1), "chunks[0]"),
    "id": (with_chunk(id="seven"), "no UUID"),
    "text missing": (with_chunk(content=None), "chunks[0].content"),
    "born at zero": (with_chunk(createdAt=0), "chunks[0].createdAt"),
    "born before": (with_chunk(createdAt=-5), "chunks[0].createdAt"),
    "born tomorrow": (with_chunk(createdAt="2999-01-01T00:00:00Z"), "chunks[0].createdAt"),
    "born nowhere": (with_chunk(createdAt="2026-01-01T00:00:00"), "zone"),
    "no vector": (with_chunk(embedding=[]), "chunks[0]"),
    "nothing of a vector": (with_chunk(embedding=[0.0, 0.0]), "no direction"),
    "too many dimensions": (with_chunk(embedding=[0.5] * 9000), "dimensions"),
    "another project": (with_chunk(metadata={"namespace": "elsewhere:main"}), "another project's"),
    "a form that is none": (with_chunk(metadata={"tags": "mill"}), "tags"),
    "no source": (with_chunk(metadata={"source": []}), "chunks[0].metadata.source"),
    "no extra": (with_chunk(metadata={"extra": 7}), "chunks[0].metadata.extra"),
    "a number too large": (json.dumps(with_chunk(embedding=[10**400, 1])).encode(), "too large"),
    "twice": ({**ENVELOPE, "chunks": [CHUNK, CHUNK]}, "chunks[1]"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_one_names_its_chunk_and_changes_nothing(take_in, texts, storage, name):
    told, why = BROKEN[name]
    with pytest.raises(backups.bundle.BrokenBundle) as raised:
        take_in(told)
    assert why in str(raised.value)
    assert (texts(), list(storage.glob("*"))) == ([], [])


CLAIM = {"subject": "Ada", "predicate": "age", "value": "6"}
WRONG = {
    "id": {"id": "seven"},
    "content": {"content": " "},
    "createdAt": {"createdAt": "2999-01-01T00:00:00Z"},
    "updatedAt": {"updatedAt": "2026-01-01T00:00:00"},
    "embedding": {"embedding": [0.5] * 9000},
    "metadata.namespace": {"metadata": {"namespace": "acme:Two words"}},
    "metadata.status": {"metadata": {"status": "holy"}},
    "metadata.type": {"metadata": {"type": ""}},
    "metadata.tags": {"metadata": {"tags": ["x" * 200]}},
    "metadata.memorySubtype": {"metadata": {"memorySubtype": 7}},
    "metadata.importance": {"metadata": {"importance": 7}},
    "metadata.revision": {"metadata": {"revision": 2**40}},
    "metadata.conversationId": {"metadata": {"conversationId": "x" * 300}},
    "metadata.claim.subject": {"metadata": {"claim": {**CLAIM, "subject": "x" * 300}}},
    "metadata.claims[0].verdict": {"metadata": {"claim": CLAIM, "claims": [{**CLAIM, "verdict": "odd"}]}},
    "metadata.claim.validUntil": {
        "metadata": {"claim": {**CLAIM, "validFrom": "2026-02-01T00:00:00Z", "validUntil": "2026-01-01T00:00:00Z"}}
    },
}


@pytest.mark.parametrize("path", WRONG)
def test_what_is_wrong_is_named_by_its_path_and_changes_nothing(alice, texts, storage, path):
    later = {**CHUNK, "id": str(uuid.uuid4()), "createdAt": CHUNK["createdAt"] + 1000}
    told = {**ENVELOPE, "chunks": [later, {**CHUNK, **WRONG[path]}]}
    file = io.BytesIO(json.dumps(told).encode())
    file.name = "memories.json"
    answer = alice.client.post("/api/v1/restores", {"upload": file, "dry_run": "true"}, format="multipart")
    assert (answer.status_code, answer.json()["code"]) == (400, "broken_bundle"), answer.json()
    (error,) = answer.json()["errors"]
    assert error["field"] == f"chunks[1].{path}"
    assert answer.json()["detail"] == f"{error['field']}: {error['message']}"
    assert (texts(), list(storage.glob("*"))) == ([], [])


def test_unknown_versions_are_refused_unless_allowed(take_in, texts):
    with pytest.raises(backups.bundle.UnknownVersion):
        take_in({**ENVELOPE, "schemaVersion": 999})
    assert texts() == []
    assert take_in({**ENVELOPE, "schemaVersion": 999}, allow_version=True).report["insert"] == 1


def test_what_was_forgotten_does_not_come_back_in_one(alice, principal, store, take_in, texts):
    row = store("acme:main", CHUNK["content"], by=alice.principal)
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    assert take_in(ENVELOPE).report["blocked_by_erasure"] == 1
    assert texts() == []


def test_a_large_backup_is_no_envelope(alice, store, back_up, monkeypatch):
    store("acme:main", "The heron nests by the mill.")
    made = back_up()
    monkeypatch.setattr(v1_format, "LONGEST", v1_format.SPARE + 100)
    answer = alice.client.get(f"/api/v1/backups/{made.id}/download?format=json")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_it_can_be_uploaded(alice, storage, texts):
    file = io.BytesIO(json.dumps(ENVELOPE).encode())
    file.name = "memories.json"
    answer = alice.client.post("/api/v1/restores", {"upload": file, "dry_run": "true"}, format="multipart")
    assert answer.status_code == 202, answer.content


def test_the_command_asks_of_which_project_it_is(tmp_path, storage, kept, project):
    file = tmp_path / f"{uuid.uuid4()}.json"
    file.write_text(json.dumps(ENVELOPE))
    with pytest.raises(CommandError, match="--project"):
        call_command("restore", str(file))
    call_command("restore", str(file), project="acme")
    assert list(kept()) == [CHUNK["id"]]


def test_an_increment_is_no_envelope(alice, store, back_up):
    store("acme:main", "The heron nests by the mill.")
    made = back_up(base=str(back_up().id))
    answer = alice.client.get(f"/api/v1/backups/{made.id}/download?format=json")
    assert (answer.status_code, answer.json()["code"]) == (409, "increment")


TOLD = {
    "eventAt": "2026-01-05T09:00:00+01:00",
    "conversationId": "c-1",
    "sequence": 7,
    "entities": [{"text": "Gina", "label": "person", "confidence": 0.9}],
    "topics": ["mill"],
    "emotionalValence": -0.5,
}


def test_what_was_said_when_and_where_comes_back(alice, store, back_up, wipe, take_in, kept, spoken):
    said = {"event_at": datetime.datetime(2026, 1, 5, 8, tzinfo=datetime.UTC), "conversation_id": "c-1", "sequence": 7}
    said |= {"entities": TOLD["entities"], "topics": ["mill"], "emotional_valence": -0.5}
    claim = ClaimDraft("Gina", "owns", "mill", valid_from=said["event_at"])
    row = store("acme:main", "Gina has the mill.", by=alice.principal, claims=[claim], **said)
    told = alice.client.get(f"/api/v1/backups/{back_up().id}/download?format=json").json()
    assert told["chunks"][0]["metadata"]["claim"]["validFrom"] == "2026-01-05T08:00:00+00:00"
    wipe()
    assert take_in(told).report["insert"] == 1
    after = kept()[str(row.id)]
    assert {name: getattr(after, name) for name in said} == said
    assert spoken(after) == [("Gina", "owns", "mill")]
    assert after.extra == {}


def test_an_older_one_is_read_in_its_texts(take_in, kept):
    take_in(with_chunk(content="Gina Lopez loves her wonderful studio in Paris."))
    row = kept()[CHUNK["id"]]
    assert "Gina Lopez" in [entity["text"] for entity in row.entities]
    assert "gina lopez" in row.topics
    assert row.emotional_valence > 0


ODD = {
    "eventAt": "some day",
    "conversationId": 5,
    "sequence": "first",
    "entities": ["Gina"],
    "topics": "mill",
    "emotionalValence": 7,
    "claim": {"subject": "Gina"},
    "claims": [],
}


@pytest.mark.examples
@pytest.mark.parametrize("name", ODD)
def test_what_somebody_else_means_by_a_name_stays_beside(name, take_in, kept):
    assert take_in(with_chunk(metadata={name: ODD[name]})).report["insert"] == 1
    assert kept()[CHUNK["id"]].extra == {name: ODD[name]}
