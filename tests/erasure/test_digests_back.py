"""What a digest quotes comes back through no door, once one of its originals is forgotten."""

import uuid

import pytest

from memories import access, jobs
from memories.models import Archive, Erasure, Fragment, Namespace, Tombstone
from tests.erasure.conftest import MAIN, SIDE

pytestmark = pytest.mark.usefixtures("storage")
SECRET = "xyzzyplugh"


@pytest.fixture
def three(alice, store):
    """Stores three memories that can be digested; their ids."""

    def keep(name=MAIN, first=0):
        said = [f"The code of safe {n} is {SECRET}{n}." for n in range(first, first + 3)]
        return [store(name, text, by=alice.principal).id for text in said]

    return keep


@pytest.fixture
def digest(alice):
    """Makes a digest of memories; its id."""

    def make(ids):
        body = {"ids": [str(i) for i in ids], "method": "extractive"}
        answer = alice.client.post("/api/v1/digests", body, format="json")
        assert answer.status_code == 201, answer.content
        return uuid.UUID(answer.json()["id"])

    return make


@pytest.fixture
def forget(alice):
    """Forgets one memory, in its namespace or everywhere."""

    def away(fragment_id, *, everywhere=False):
        path = f"/api/v1/fragments/{fragment_id}?everywhere={everywhere}"
        assert alice.client.delete(path).status_code == 204

    return away


@pytest.fixture
def status(alice):
    """What the door of tombstones answers: the status and the code."""

    def ask(fragment_id):
        answer = alice.client.post(f"/api/v1/tombstones/{fragment_id}/restore", format="json")
        return answer.status_code, answer.json().get("code")

    return ask


@pytest.fixture
def namespace_of(principal):
    """A namespace by name."""

    def named(name=MAIN):
        with access.enter(principal, why="test"):
            return Namespace.objects.get(name=name)

    return named


@pytest.fixture
def texts_naming(principal):
    """The texts of a namespace that name the secret with this number."""

    def texts(number, name=MAIN):
        with access.enter(principal, why="test"):
            rows = Fragment.objects.filter(namespace__name=name, content__contains=f"{SECRET}{number}")
            return list(rows.values_list("content", flat=True))

    return texts


def test_an_evicted_digest_is_forgotten_with_its_original(three, digest, evict, forget, status, sweep, principal):
    ids = three()
    made = digest(ids)
    evict(made)
    forget(ids[0])
    assert status(made) == (404, "not_found")
    assert sweep(f"{SECRET}0") == []
    with access.enter(principal, why="test"):
        assert not Tombstone.objects.filter(original_id=made).exists()
        # Its own words are known again.
        assert Erasure.objects.filter(fragment_id=made).exists()


def test_an_evicted_digest_of_digests_too(three, digest, evict, forget, sweep, store, alice):
    ids = three()
    inner = digest(ids)
    outer = store(MAIN, f"Safe 0: {SECRET}0.", by=alice.principal, source_type="digest", parents=[inner]).id
    evict(inner, outer)
    forget(ids[0])
    assert sweep(f"{SECRET}0") == []


def test_a_digest_of_a_digest_of_which_nothing_is_left(
    three, digest, evict, forget, texts_naming, store, alice, principal
):
    ids = three()
    inner = digest(ids)
    outer = store(MAIN, f"Safe 0: {SECRET}0.", by=alice.principal, source_type="digest", parents=[inner]).id
    evict(inner)
    with access.enter(principal, why="test"):
        Archive.objects.filter(fragment_id=inner).delete()
        assert Fragment.objects.filter(id=outer).exists()
    forget(ids[0])
    assert texts_naming(0) == []


@pytest.mark.parametrize("before", ["stands", "evicted"])
def test_a_restore_brings_no_digest(before, three, digest, evict, forget, run, texts_naming, sweep, principal):
    ids = three()
    made = digest(ids)
    if before == "evicted":
        evict(made)
    backup = run("backup")["backup_id"]
    with access.enter(principal, why="test"):
        # As an undo leaves it: nothing here knows of the digest.
        Fragment.objects.filter(id=made).delete()
        Archive.objects.filter(fragment_id=made).delete()
        Tombstone.objects.filter(original_id=made).delete()
    forget(ids[0])
    plan = run("restore", backup_id=backup, dry_run=True)
    done = run("restore", backup_id=backup)
    assert plan["blocked_by_erasure"] == done["blocked_by_erasure"] == (2 if before == "stands" else 1)
    assert texts_naming(0) == []
    assert sweep(f"{SECRET}0") == []
    with access.enter(principal, why="test"):
        assert not Tombstone.objects.filter(original_id=made).exists()


def test_a_restore_brings_no_digest_of_a_text_that_was_forgotten_elsewhere(
    three, digest, evict, forget, run, texts_naming, principal
):
    """The original is barred by its words alone, its digest by the original."""
    ids = three()
    digest(ids)
    backup = run("backup")["backup_id"]
    (twin, *_) = three("acme:other")
    with access.enter(principal, why="test"):
        Namespace.objects.filter(name=MAIN).delete()
    forget(twin, everywhere=True)
    assert run("restore", backup_id=backup)["blocked_by_erasure"] == 2
    assert texts_naming(0) == []


def test_a_merge_brings_no_digest(three, digest, forget, run, texts_naming, namespace_of, principal):
    ids = three()
    run("fork", namespace_of(), target=SIDE)
    with access.enter(principal, why="test"):
        side = list(Fragment.objects.filter(namespace__name=SIDE).values_list("id", flat=True))
    digest(side)
    forget(ids[0])
    assert len(texts_naming(0, SIDE)) == 2  # what one side forgets the other keeps
    report = run("merge", namespace_of(), source=SIDE)
    assert (report["counts"]["blocked_by_erasure"], report["counts"]["added"]) == (2, 0)
    assert texts_naming(0) == []


def test_a_fork_copies_no_digest(three, digest, forget, run, texts_naming, namespace_of, principal):
    ids = three()
    run("fork", namespace_of(), target=SIDE)
    with access.enter(principal, why="test"):
        side = list(Fragment.objects.filter(namespace__name=SIDE).values_list("id", flat=True))
    digest(side)
    forget(ids[0], everywhere=True)
    assert run("fork", namespace_of(SIDE), target="acme:deep")["blocked_by_erasure"] == 2
    assert texts_naming(0, "acme:deep") == []


def test_a_digest_that_came_by_a_merge_is_forgotten_with_its_original_here(
    three, digest, forget, run, texts_naming, namespace_of, store, principal
):
    """It names its originals as they are called in the branch."""
    store(MAIN, "The heron nests.")
    run("fork", namespace_of(), target=SIDE)
    digest(three(SIDE))
    run("merge", namespace_of(), source=SIDE)
    with access.enter(principal, why="test"):
        here = Fragment.objects.get(namespace__name=MAIN, content__contains=f"{SECRET}0", source_type="manual")
    assert len(texts_naming(0)) == 2
    forget(here.id)
    assert texts_naming(0) == []
    assert len(texts_naming(0, SIDE)) == 2


def test_the_tombstone_of_a_branch_brings_no_digest_of_what_was_forgotten(
    three, digest, evict, forget, run, status, namespace_of, texts_naming, principal
):
    """Of whose original nothing stands here any more, while the memory that it was copied from was forgotten."""
    ids = three()
    run("fork", namespace_of(), target=SIDE)
    with access.enter(principal, why="test"):
        side = {row.content[-2]: row.id for row in Fragment.objects.filter(namespace__name=SIDE)}
    made = digest(side.values())
    evict(made, side["0"])
    forget(ids[0])
    assert status(made) == (409, "blocked_by_erasure")
    assert texts_naming(0, SIDE) == []


def test_undo_brings_no_evicted_digest_of_what_was_forgotten(
    three, digest, evict, forget, principal, texts_naming, run, namespace_of, now
):
    ids = three()
    run("fork", namespace_of(), target=SIDE)
    with access.enter(principal, why="test"):
        side = {row.content[-2]: row.id for row in Fragment.objects.filter(namespace__name=SIDE)}
    evicted = evict(digest(side.values()), side["0"])
    forget(ids[0], everywhere=True)
    undone = jobs.run(principal, jobs.start_undo(principal, evicted.id, now=now, wake_up=False).id)
    assert undone.report["blocked_by_erasure"] == 2
    assert texts_naming(0, SIDE) == []
