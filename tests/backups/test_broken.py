"""Whatever the file is: a broken bundle changes nothing, the error names the line, and nothing falls over."""

import base64
import gzip
import hashlib
import json
import random
import zlib

import pytest

from conflicts.public import ClaimDraft
from memories.backups.bundle import reader as bundle_reader
from memories.backups.bundle import records
from memories.backups.bundle.manifest import Footer
from tests.backups.conftest import forged
from tests.properties.ground import undone

pytestmark = pytest.mark.long

CODES = {"broken_bundle", "unknown_version", "wrong_project", "base_missing"}


@pytest.fixture
def bundle(principal, alice, store, back_up, wipe):
    """A backup of what is wiped by now: whatever is applied shows."""
    store("acme:main", "The heron nests by the mill.", by=alice.principal, extra={"a": [1.5, "é"]})
    store("acme:main", "Otters sleep.", by=alice.principal)
    store("acme:other", "Ada drinks tea.", by=alice.principal)
    row = back_up(include_embeddings=True)
    wipe()
    return row


@pytest.fixture
def refused(bundle, storage, job, texts, places):
    """Restores other bytes in the bundle's place: they are refused, and nothing is there; the error."""

    def check(data, **more):
        (storage / bundle.file).write_bytes(data)
        with undone():  # or the temporary tables of hundreds of tries would keep their locks
            ended = job("restore", backup_id=str(bundle.id), **more)
            assert ended.state == "failed"
            assert ended.error["code"] in CODES, ended.error
            assert (texts(), places()) == ([], [])
        return ended.error

    return check


def packed(lines):
    return gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0)


def signed(lines):
    """A bundle of these lines, with a footer that fits."""
    digest = hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()
    return packed([*lines, Footer.of(len(lines) - 1, digest).line()])


def whole(storage, bundle):
    return gzip.decompress((storage / bundle.file).read_bytes()).splitlines()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"{}\n",
        gzip.compress(b"", mtime=0),
        gzip.compress(b"{}\n", mtime=0),
        gzip.compress(b"\n\n", mtime=0),
        gzip.compress(b"\xff\n", mtime=0),
    ],
    ids=["empty", "text", "json", "nothing", "object", "lines", "bytes"],
)
def test_not_a_bundle(refused, data):
    assert refused(data)["line"] == 1


def test_cut_off_at_every_record_and_beside_it(refused, bundle, storage):
    text = gzip.decompress((storage / bundle.file).read_bytes())
    ends = [place for place, byte in enumerate(text) if byte == 10]
    for end in ends:
        for cut in (end, end + 1, end + 2):
            if cut < len(text):
                refused(gzip.compress(text[:cut], mtime=0))


def test_a_file_cut_off(refused, bundle, storage):
    data = (storage / bundle.file).read_bytes()
    for cut in (1, 10, len(data) // 2, len(data) - 8, len(data) - 1):
        refused(data[:cut])


def test_a_line_that_is_taken_out_doubled_or_moved(refused, bundle, storage):
    head, *body, foot = whole(storage, bundle)
    for n in range(len(body)):
        refused(packed([head, *body[:n], *body[n + 1 :], foot]))
        refused(signed([head, *body[: n + 1], *body[n:]]))
    refused(signed([head, *reversed(body)]))


HOSTILE = {
    "nan": (b'"importance": 0.8', b'"importance": NaN'),
    "infinity": (b'"importance": 0.8', b'"importance": 1e999'),
    "text for a number": (b'"importance": 0.8', b'"importance": "0.8"x'),
    "over the limit": (b'"importance": 0.8', b'"importance": 7'),
    "nul": (b"The heron", b"The \\u0000heron"),
    "lone surrogate": (b"The heron", b"The \\ud800heron"),
    "too long": (b"The heron", b"h" * 3000),
    "not trimmed": (b"The heron", b" The heron"),
    "twice": (b'"revision": 1', b'"revision": 1, "revision": 2'),
    "unknown field": (b'"revision": 1', b'"revision": 1, "surprise": 2'),
    "missing field": (b'"revision": 1, ', b""),
    "deep": (b'"extra": {', b'"extra": {"x": ' + b"[" * 150 + b"]" * 150 + b", "),
    "very deep": (b'"extra": {', b'"extra": {"x": ' + b"[" * 50_000 + b"]" * 50_000 + b", "),
    "unknown status": (b'"status": "active"', b'"status": "holy"'),
    "unknown kind": (b'"kind": "fragment"', b'"kind": "soul"'),
    "other namespace": (b'"namespace": "acme:main"', b'"namespace": "acme:none"'),
    "wrong dimension": (b'"dim": 384', b'"dim": 383'),
    "no base64": (b'"vector": "', b'"vector": "!'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_fields_with_valid_digests_name_their_line(refused, bundle, storage, name):
    old, new = HOSTILE[name]
    lines = whole(storage, bundle)[:-1]
    (place,) = [n for n, line in enumerate(lines) if b"The heron" in line]
    assert old in lines[place]
    lines[place] = lines[place].replace(old, new, 1)
    assert refused(signed(lines))["line"] == place + 1


def test_a_vector_of_nothing_or_nan(refused, bundle, storage):
    lines = whole(storage, bundle)[:-1]
    (place,) = [n for n, line in enumerate(lines) if b"The heron" in line]
    told = json.loads(lines[place])
    for numbers in (b"\0\0\0\0" * 384, b"\0\0\xc0\x7f" * 384):
        told["vectors"][0]["vector"] = base64.b64encode(numbers).decode()
        lines[place] = json.dumps(told).encode()
        assert refused(signed(lines))["line"] == place + 1


def test_mem_vers_1_unknown_versions_are_refused_unless_allowed(refused, bundle, storage, restore):
    """I-MEM-VERS-1: import rejects unknown major versions unless explicitly allowed."""
    head, *body, _ = whole(storage, bundle)
    data = signed([head.replace(b'"schemaVersion":3', b'"schemaVersion":999'), *body])
    error = refused(data)
    assert (error["code"], error["line"]) == ("unknown_version", 1)
    assert restore(bundle, allow_version=True)["insert"] == 3


def test_mem_vers_2_nothing_is_applied_in_part_without_a_word(refused, bundle, storage):
    """I-MEM-VERS-2: restore does not partially apply without reporting."""
    head, *body, foot = whole(storage, bundle)
    assert refused(packed([head, *body[:-1], foot]))["code"] == "broken_bundle"


def test_a_forged_signature(refused, bundle, storage):
    *lines, foot = whole(storage, bundle)
    told = json.loads(foot)
    told["signature"] = "00" * 64
    assert "signature" in refused(packed([*lines, json.dumps(told).encode()]))["detail"]


def test_another_key_in_the_manifest(refused, bundle, storage):
    lines = whole(storage, bundle)
    head = json.loads(lines[0])
    head["publicKey"] = "11" * 32
    refused(packed([json.dumps(head).encode(), *lines[1:]]))


def test_another_projects_bundle(refused, bundle, storage):
    head, *body, _ = whole(storage, bundle)
    told = json.loads(head)
    told["project"] = "elsewhere"
    told["namespaces"] = [name.replace("acme", "elsewhere") for name in told["namespaces"]]
    assert refused(signed([json.dumps(told).encode(), *body]))["code"] == "wrong_project"


def test_a_bomb_is_stopped(refused, monkeypatch):
    monkeypatch.setattr(bundle_reader, "CHUNK", 1024)
    monkeypatch.setattr(bundle_reader, "FREE", 1024 * 1024)
    assert "unpacks" in refused(gzip.compress(b"\0" * 50_000_000, mtime=0))["detail"]


def test_a_line_without_an_end_is_stopped(refused, monkeypatch):
    monkeypatch.setattr(records, "LONGEST", 100_000)
    noise = random.Random(1).randbytes(3_000_000).hex().encode()
    assert "longer" in refused(gzip.compress(noise, mtime=0))["detail"]


def test_a_line_of_too_many_values_is_refused(refused, bundle, storage):
    lines = whole(storage, bundle)[:-1]
    (place,) = [n for n, line in enumerate(lines) if b"The heron" in line]
    many = b",".join(b'"%x": 0.5' % n for n in range(records.PARTS))
    lines[place] = lines[place].replace(b'"extra": {', b'"extra": {' + many + b", ", 1)
    error = refused(signed(lines))
    assert (error["line"], "too many parts" in error["detail"]) == (place + 1, True)


def test_nothing_is_read_beside_a_heavy_batch():
    lines = [
        bundle_reader.BundleLine(n, "fragment", {}, b"x" * size, size)
        for n, size in enumerate((bundle_reader.WEIGHT, 10, 10))
    ]
    read = []

    def made():
        for line in lines:
            read.append(line.number)
            yield [line]

    batches = bundle_reader.prefetch_batches(made())
    heavy = next(batches)
    assert (len(heavy), read) == (1, [0])
    assert next(batches)[0].number == 1
    assert heavy == []


def test_what_follows_the_end(refused, bundle, storage):
    data = (storage / bundle.file).read_bytes()
    refused(data + b"more")
    refused(data + data)
    refused(zlib.compress(data))


def unpacked(data):
    """What a file says, or None when it says nothing whole."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return None


def test_flipped_bits_are_found(refused, bundle, storage):
    """A fuzz in small: some 200 mutations of the file and of its lines."""
    data, chance = (storage / bundle.file).read_bytes(), random.Random(7)
    text = gzip.decompress(data)
    for _ in range(100):
        changed = bytearray(data)
        place = chance.randrange(10, len(data))
        changed[place] ^= 1 << chance.randrange(8)
        if unpacked(bytes(changed)) != text:  # the bits that fill deflate's last byte say nothing
            refused(bytes(changed))
    for _ in range(100):
        changed = bytearray(text)
        changed[chance.randrange(len(text))] ^= 1 << chance.randrange(8)
        refused(gzip.compress(bytes(changed), 1, mtime=0))


def test_the_same_bundle_is_taken_after_all(bundle, restore, texts):
    assert restore(bundle)["insert"] == 3
    assert len(texts()) == 3


def test_two_that_could_not_both_stand_do_not(alice, store, back_up, restore, wipe, storage, texts, another_key):
    for n, value in enumerate(("$750", "$900")):
        claim = ClaimDraft(subject=f"Ada {n}", predicate="budget", value=value)
        store("acme:main", f"The budget is {value}.", by=alice.principal, claim=claim)
    row = back_up()
    wipe()

    def same(told):
        for each in told:
            if each.get("claim"):
                each["claim"]["subject"] = "Ada"

    forged(storage / row.file, same)
    report = restore(row)
    assert sum(report["namespaces"]["acme:main"]["through_the_gate"].values()) == 2
    assert len([status for _, _, status in texts() if status == "active"]) == 1
