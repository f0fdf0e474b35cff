"""Whatever the API takes can be backed up, read and restored."""

import json

import pytest

from memories import access
from memories.backups.bundle import reader as bundle_reader
from memories.backups.bundle import records
from memories.models import Revision
from tests.backups.conftest import live

URL = "/api/v1/fragments"
COMMAS = {"content": "," * 1_990 + "start", "extra": {"a": "," * 65_000}}
NOISE = "\x01" * 1_999  # what JSON writes with the most characters


def stored(by, **body):
    answer = by.client.post(URL, {"namespace": "acme:main", "content": "The heron nests.", **body}, format="json")
    return answer.status_code, answer.json()


@pytest.fixture
def comes_back(back_up, restore, wipe, job, texts):
    """A backup is made, proven, and restored elsewhere: the same texts are there."""

    def check():
        row, before = back_up(), texts()
        for kind in ("verify", "drill"):
            ended = job(kind, backup_id=str(row.id))
            assert ended.state == "succeeded", ended.error
        wipe()
        restore(row)
        assert texts() == before

    return check


def test_commas_in_texts_are_no_parts(alice, comes_back):
    _, row = stored(alice, **COMMAS)
    for n in range(1, 20):
        body = {"content": "," * 1_990 + str(n), "revision": n}
        assert alice.client.patch(f"{URL}/{row['id']}", body, format="json").status_code == 200
    comes_back()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (rb'{"a": ",,,[[{{", "b": [1, 2]}', 4),
        (rb'{"a": "\",,\\", "b": [1, 2]}', 4),
        (rb'{"a": "ends nowhere,,,,', 1),
    ],
)
def test_parts_are_what_stands_outside_of_texts(line, found):
    assert records.parts(line, most=3) == found


def test_a_line_is_looked_at_no_further_than_needed():
    assert records.parts(b"[" + b'"",' * 1_000_000, most=100) == 151


@pytest.mark.long
def test_the_fullest_memory_comes_back_and_is_no_bomb(alice, principal, comes_back, monkeypatch):
    monkeypatch.setattr(bundle_reader, "FREE", 0)
    entity = {"text": NOISE[:200], "label": "person", "confidence": 0.5}
    claim = {"subject": "Ada" + NOISE[:97], "predicate": "has" + NOISE[:97], "value": "x" + NOISE[:999]}
    more = {"tags": [f"{n:02}" + NOISE[:98] for n in range(99)], "topics": [f"{n:02}" + NOISE[:98] for n in range(100)]}
    code, row = stored(
        alice,
        content="x" + NOISE,
        extra={"a": [[]] * 16_000},
        entities=[entity] * 100,
        claim=claim,
        provenance={"source": "user_explicit", "parents": []},
        **more,
    )
    assert code == 201, row
    former = json.dumps({**claim, "value_digest": "0" * 64})
    live(
        principal,
        """INSERT INTO memories_revision (id, project_id, fragment_id, revision, content, claim, recorded_at)
        SELECT gen_random_uuid(), f.project_id, f.id, n, f.content, %s::jsonb, f.created_at
        FROM memories_fragment f, generate_series(1, 600) AS n WHERE f.id = %s""",
        former,
        row["id"],
    )
    with access.enter(principal, why="test"):
        kept = Revision.objects.filter(fragment=row["id"]).values_list("revision", flat=True)
        assert sorted(kept) == list(range(101, 601))
    comes_back()


def test_more_than_a_bundle_holds_is_refused_at_once(alice):
    entity = {"text": "Ada", "label": "person"}
    assert stored(alice, entities=[entity] * 101)[0] == 400
    # The database writes 301 digits of each.
    assert stored(alice, extra={"a": [1e300] * 8_000})[0] == 400
    assert stored(alice, extra={"a": [1e300] * 200})[0] == 201


def test_the_one_that_is_too_long_is_named(alice, job, monkeypatch):
    _, row = stored(alice)
    monkeypatch.setattr(records, "LONGEST", 1_000)
    error = job("backup").error
    assert (error["code"], error["kind"], error["id"]) == ("record_too_long", "fragment", row["id"])
