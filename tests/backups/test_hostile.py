"""Rightly signed, and hostile: a field that the product never writes is refused while it is read, with its line."""

import copy

import pytest

from memories.backups.restoration import pipeline as restoration
from tests.backups.conftest import forged
from tests.properties.ground import undone

TIMES = (
    "infinity",
    "-infinity",
    "20000-01-01T00:00:00+00:00",
    "0044-03-15T00:00:00+00:00 BC",
    "0000-01-01T00:00:00+00:00",
)
NO_COPY = ("x", 7, [1], {}, None, {"fragment": 7}, {"fragment": {}}, {"fragment": [{"a": 1}]})
CASES = [
    *(("fragment.row.event_at", value) for value in TIMES),
    *(("fragment.claim.valid_from", value) for value in TIMES),
    *(("fragment.claim.valid_until", value) for value in TIMES),
    *(("episode.row.began_at", value) for value in TIMES),
    *(("episode.row.ended_at", value) for value in TIMES),
    *(("archive.row.expires_at", value) for value in TIMES),
    *(("tombstone.row.approximate_date", value) for value in ("infinity", "20000-01-01", "0044-03-15 BC")),
    *(("fragment.row.entities", value) for value in (7, "x", None, {"a": 1}, [1], [{}], [{"text": 7}])),
    ("fragment.row.entities", [{"text": "Ada", "label": "person", "confidence": 7}]),
    *(("fragment.row.extra", value) for value in (7, "x", None, [1])),
    *(("fragment.revisions.claim", value) for value in (7, "x", [1], {"a": 1})),
    *(("conflict.row.before", value) for value in (7, "x", [1], {"a": 1})),
    *(("conflict.row.statement", value) for value in (7, "x", [1], {"a": 1})),
    *(("conflict.row.new_trust", value) for value in ("NaN", "Infinity", "1")),
    *(("tombstone.row.reason_details", value) for value in (7, "x", [1], None, {"a": {"b": 1}})),
    *(("archive.copy", value) for value in NO_COPY),
    *(("archive.copy.fragment.status", value) for value in ("holy", 7)),
    *(("archive.copy.fragment.event_at", value) for value in TIMES),
    ("archive.copy.fragment.id", "f" * 8 + "-ffff-ffff-ffff-" + "f" * 12),
    ("archive.copy.fragment.importance", 7),
    *(("archive.copy.claims", value) for value in (7, {}, [], [7], [{}])),
    *(("archive.copy.replaced", value) for value in (7, ["x"], [7])),
    *(("gone.ids", value) for value in (["x"], [7], [], "x", None)),
]


@pytest.fixture
def bundle(lived, storage, back_up, wipe):
    """A backup of a project in which everything has happened; where it came from is wiped."""
    row = back_up()
    wipe()
    return row, (storage / row.file).read_bytes()


def spoilt(told, path, value):
    """Puts a value where the path says, in the first record that has that place; the record."""
    kind, *steps = path.split(".")
    if kind == "gone":
        told.insert(len(told) - 1, {"kind": "gone", "ids": value})
        return told[-2]
    for record in told:
        if record.get("kind") != kind:
            continue
        *before, last = steps
        at = record
        for step in before:
            at = at and at.get(step)
            at = at[0] if isinstance(at, list) else at
        if isinstance(at, dict) and last in at and not (path.startswith("archive.copy.") and "made" in record["copy"]):
            at[last] = copy.deepcopy(value)
            return record
    raise AssertionError(f"no {path} in the bundle")


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_a_field_that_is_never_written_is_refused_with_its_line(bundle, storage, job, texts, part):
    row, data = bundle
    for path, value in CASES[part::4]:
        (storage / row.file).write_bytes(data)
        places = []
        forged(storage / row.file, lambda told, p=path, v=value, at=places: at.append(told.index(spoilt(told, p, v))))
        with undone():
            ended = job("restore", backup_id=str(row.id))
            assert (ended.state, (ended.error or {}).get("code")) == ("failed", "broken_bundle"), (path, value)
            assert ended.error["line"] == places[0] + 1, (path, value, ended.error)
            assert texts() == []


def test_what_was_done_before_it_failed_is_told(alice, store, back_up, wipe, job, texts, monkeypatch):
    for place in ("acme:main", "acme:other"):
        store(place, f"Otters sleep in {place}.", by=alice.principal)
    row = back_up()
    wipe()
    apply = restoration.auxiliary_tables.insert_auxiliary_rows

    def fail(project_id, **places):
        if len(texts()) > 1:
            raise ZeroDivisionError
        return apply(project_id, **places)

    monkeypatch.setattr(restoration.auxiliary_tables, "insert_auxiliary_rows", fail)
    with undone():
        ended = job("restore", backup_id=str(row.id))
        assert (ended.state, ended.error["code"]) == ("failed", "internal")
        assert [place for place, *_ in texts()] == ["acme:main"]
        assert (list(ended.report["namespaces"]), ended.report["insert"]) == (["acme:main"], 1)
