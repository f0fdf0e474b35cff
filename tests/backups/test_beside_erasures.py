"""What lives beside an erasure of the same text in a backup comes back; what was forgotten does not."""

import pytest
from django.utils import timezone

from memories import access, upkeep
from memories.models import Fragment, Namespace
from memories.models.enums import CopyReason, EvictionReason

pytestmark = pytest.mark.long

SAID = "The vault code is kept by Mrs Smith."


@pytest.fixture
def told_twice(principal, alice, store, job):
    """A text that stands twice, the second time as it is said; what keeps it, what is to be forgotten, where."""

    def store_two(how):
        kept = store("acme:main", SAID, by=alice.principal)
        with access.enter(principal, why="test"):
            place = Namespace.objects.get(name="acme:main")
        if how == "digest":
            for text in ("Otters swim.", "Herons nest."):
                store("acme:main", text, by=alice.principal)
            body = {"ids": [str(row.id) for row in standing(principal, "acme:main")], "method": "extractive"}
            assert alice.client.post("/api/v1/digests", body, format="json").status_code == 201
        if how in ("fork", "digest"):
            assert job("fork", place=place, target="acme:other").state == "succeeded"
            (gone,) = [row for row in standing(principal, "acme:other") if row.content == SAID]
            return kept, gone
        return kept, store("acme:main" if how == "one namespace" else "acme:other", SAID, by=alice.principal)

    return store_two


def standing(principal, name):
    with access.enter(principal, why="test"):
        return list(
            Fragment.objects.filter(namespace__name=name).select_related("namespace").order_by("created_at", "id")
        )


@pytest.mark.parametrize("how", ["fork", "digest", "two namespaces", "one namespace"])
@pytest.mark.parametrize("forgotten", ["the copy", "the first"])
def test_what_lives_beside_an_erasure_of_its_text_comes_back(
    alice, told_twice, back_up, restore, wipe, lines, job, how, forgotten
):
    """What one side forgets the other keeps, on a new machine too."""
    kept, gone = told_twice(how)[:: 1 if forgotten == "the copy" else -1]
    assert alice.client.delete(f"/api/v1/fragments/{gone.id}").status_code == 204
    made = back_up()
    assert job("drill", backup_id=str(made.id)).state == "succeeded"
    wipe()
    report = restore(made)
    assert (report["blocked_by_erasure"], report["rejected"]) == (0, {})
    assert alice.client.get(f"/api/v1/fragments/{kept.id}").json()["content"] == SAID
    assert lines(back_up()) == lines(made)
    # Once more over itself; what is forgotten stays so, by its words too.
    assert restore(made)["blocked_by_erasure"] == 0
    assert alice.client.get(f"/api/v1/fragments/{gone.id}").status_code == 404
    body = {"namespace": gone.namespace.name, "content": SAID}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 409


@pytest.mark.parametrize("left", ["evicted", "changed", "changed and evicted"])
def test_so_do_copies_and_former_texts(principal, alice, told_twice, back_up, restore, wipe, lines, job, left):
    kept, gone = told_twice("two namespaces")
    if "changed" in left:
        body = {"content": "Nothing to see here.", "revision": 1}
        assert alice.client.patch(f"/api/v1/fragments/{kept.id}", body, format="json").status_code == 200
    if "evicted" in left:
        with access.enter(principal, why="test"):
            cause = {kept.id: upkeep.lifecycle.Cause(EvictionReason.LOW_WEIGHT, {})}
            at = {"copied": CopyReason.EVICTED, "operation_id": None, "now": timezone.now()}
            upkeep.lifecycle.remove_fragments(principal.project_id, cause, **at)
    assert alice.client.delete(f"/api/v1/fragments/{gone.id}").status_code == 204
    made = back_up()
    assert job("drill", backup_id=str(made.id)).state == "succeeded"
    wipe()
    restore(made)
    assert lines(back_up()) == lines(made)


def test_what_was_forgotten_here_since_does_not(alice, told_twice, back_up, restore, wipe, texts):
    """Of an erasure that the bundle does not know, the words count."""
    kept, gone = told_twice("two namespaces")
    assert alice.client.delete(f"/api/v1/fragments/{gone.id}").status_code == 204
    made = back_up()
    assert alice.client.delete(f"/api/v1/fragments/{kept.id}").status_code == 204
    later = back_up()
    wipe()
    assert restore(later)["insert"] == 0
    assert restore(made)["blocked_by_erasure"] == 1
    assert texts() == []


def test_nor_what_a_stranger_kept_beside_it(alice, told_twice, back_up, restore, wipe, texts, another_key):
    kept, gone = told_twice("two namespaces")
    assert alice.client.delete(f"/api/v1/fragments/{gone.id}").status_code == 204
    made = back_up()
    assert alice.client.delete(f"/api/v1/fragments/{kept.id}").status_code == 204
    another_key()
    assert restore(made)["blocked_by_erasure"] == 1
    assert texts() == []
