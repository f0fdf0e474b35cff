"""Export, wipe, restore, export: the record lines are the same, byte for byte."""

import pytest

from memories import access, upkeep
from memories.backups.bundle.records import KINDS
from memories.models import Namespace
from memories.upkeep import digest


def kinds(lines):
    return {kind for kind in KINDS if any(f'"kind": "{kind}"'.encode() in line for line in lines)}


@pytest.fixture
def digests(principal, monkeypatch):
    """The canonical digests; of copies the order of keys is nobody's memory."""
    monkeypatch.setattr(digest, "PARTS", {k: v for k, v in digest.PARTS.items() if k != "archive"})

    def take():
        with access.enter(principal, why="test"):
            places = list(Namespace.objects.within(principal.project_id).order_by("name"))
            return [upkeep.canonical_digest(place) for place in places]

    return take


@pytest.mark.parametrize("vectors", [False, True])
def test_record_lines_are_the_same_bytes(digests, lived, back_up, restore, wipe, lines, vectors):
    first = back_up(include_embeddings=vectors)
    before = digests()
    assert kinds(lines(first)) == set(KINDS)
    wipe()
    report = restore(first)
    assert report["rejected"] == {}
    assert report["foreign"] is False
    second = back_up(include_embeddings=vectors)
    assert lines(second) == lines(first)
    assert digests() == before


def test_restoring_where_all_is_there_changes_nothing(principal, lived, back_up, restore, lines):
    first = back_up()
    report = restore(first)
    assert (report["insert"], report["update"], report["conflict"]) == (0, 0, 0)
    assert report["unchanged"] == sum(b'"kind": "fragment"' in line for line in lines(first))
    assert lines(back_up()) == lines(first)


def test_on_another_machine_once_the_signer_is_trusted(lived, back_up, restore, wipe, lines, another_key):
    first = back_up()
    another_key()
    wipe()
    report = restore(first, trust_signer=first.signer)
    assert report["foreign"] is False
    assert lines(back_up()) == lines(first)


def test_what_came_back_is_found(alice, lived, back_up, restore, wipe):
    first = back_up()
    wipe()
    restore(first)
    body = {"namespace": "acme:main", "query": "heron"}
    hits = alice.client.post("/api/v1/search", body, format="json").json()["results"]
    assert str(lived.id) in [hit["fragment"]["id"] if "fragment" in hit else hit["id"] for hit in hits]
