"""Every list goes on to its end, or says how many there are."""

import html
import re

import pytest
from django.utils import timezone

from memories import access
from memories.access import keys
from memories.console import belief_timeline, facets, memory_detail, pagination, proposal_list
from memories.models import ApiKey, Backup, Operation, Receipt, Tombstone
from memories.models.enums import CopyReason, EvictionReason
from memories.upkeep.lifecycle.removal import Cause, remove_fragments
from tests.conftest import stored
from tests.console.conftest import budget, decide, post, words


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Lists of two."""
    monkeypatch.setattr(pagination, "PAGE", 2)
    for module, name in (
        (belief_timeline, "KEYS"),
        (proposal_list, "LATELY"),
        (memory_detail, "SHOWN"),
        (facets, "MOST"),
    ):
        monkeypatch.setattr(module, name, 2)


def walked(client, path, form):
    """What each page of a list shows, to its end."""
    pages = []
    while path and len(pages) < 9:
        page = client.get(path)
        assert page.status_code == 200
        pages.append(re.findall(form, page.text.partition('id="main"')[2]))
        found = re.search(r'class="button older" href="([^"]+)"', page.text)
        path = html.unescape(found[1]) if found else ""
    return pages


def complete(pages, ids):
    """Whether the pages show each once."""
    return [len(page) for page in pages] == [2, 2, 1] and {one for page in pages for one in page} == set(ids)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/operations/", "rebuild"), ("/operations/?state=failed", "rebuild"), ("/consolidation/", "consolidate")],
)
def test_operations(adam, principal, path, kind):
    at = timezone.now()
    wish = {"project_id": principal.project_id, "kind": kind, "state": "failed", "created_at": at, "finished_at": at}
    with access.enter(principal, why="test"):
        ids = [str(Operation.objects.create(**wish).id) for _ in range(5)]
    assert complete(walked(adam, path, r'class="entry" href="/\w+/([\w-]{36})/"'), ids)


@pytest.fixture
def saved(principal):
    """So many backups of one moment."""

    def save(number):
        wish = {"project_id": principal.project_id, "policy": "full", "origin": "uploaded", "sha256": "a" * 64}
        wish |= {"created_at": timezone.now(), "policy_version": 1, "namespaces": [], "include_embeddings": False}
        with access.enter(principal, why="test"):
            return [str(Backup.objects.create(file=f"{n}.gz", size=1, **wish).id) for n in range(number)]

    return save


def test_backups(adam, saved):
    ids = saved(5)
    assert complete(walked(adam, "/backups/", r'href="/backups/([\w-]{36})/" data-row'), ids)


def test_a_list_goes_on_from_the_page_of_a_refusal(adam, saved):
    saved(3)
    page = post(adam, "/backups/upload/")
    assert page.status_code == 409
    assert re.search(r'class="button older" href="/backups/\?cursor=', page.text)


def test_tombstones(adam, store, principal):
    rows = [store("acme:main", f"The heron number {n}.", topics=["heron"]) for n in range(5)]
    with access.enter(principal, why="test"):
        causes = {row.id: Cause(EvictionReason.LOW_WEIGHT, {}) for row in rows}
        remove_fragments(principal.project_id, causes, copied=CopyReason.EVICTED, operation_id=None, now=timezone.now())
        ids = [str(i) for i in Tombstone.objects.values_list("id", flat=True)]
    assert complete(walked(adam, "/tombstones/?topic=heron", r'action="/tombstones/([\w-]{36})/restore/"'), ids)


def test_keys(adam, project, principal):
    wish = keys.KeyRequest(namespaces=["acme:*"], verbs=["read"], ceiling="document")
    for _ in range(5):
        keys.issue(project, wish, owner="robot")
    with access.enter(principal, why="test"):
        ids = list(ApiKey.objects.values_list("key_id", flat=True))
    assert complete(walked(adam, "/agents/", r'action="/agents/keys/(\w+)/rotate/"'), ids)


def test_what_was_settled(rita, challenge):
    conflicts = [challenge(f"${n}") for n in range(5)]
    for conflict in conflicts:
        assert decide(rita, conflict, "reject").status_code == 303
    pages = walked(rita, "/review/?settled=1", r'<form method="post" action="/review/([\w-]{36})/undo/"')
    assert complete(pages, [str(conflict.id) for conflict in conflicts])


def test_subjects(vera, alice):
    for n in range(3):
        stored(alice.principal, "acme:main", f"The budget of trip {n} is $1.", claim=budget("$1", f"trip {n}"))
    assert "The newest 2 of 3; name a subject" in words(vera.get("/beliefs/"))


def test_drawn_memories(vera, alice, monkeypatch):
    monkeypatch.setattr(belief_timeline, "MOST", 2)
    for n in range(3):
        stored(alice.principal, "acme:main", f"The budget is ${n}.", source="user_explicit", claim=budget(f"${n}"))
    assert "The first 2 of 3 memories are drawn." in words(vera.get("/beliefs/?subject=lisbon&predicate=budget"))


def test_namespaces_among_the_filters(vera, store):
    for name in "abc":
        store(f"acme:{name}", "The heron nests.")
    assert "The 2 fullest; 1 more" in words(vera.get("/memories/"))


def test_retrievals(vera, store, principal):
    row = store("acme:main", "The heron nests.")
    wish = {"project_id": principal.project_id, "namespace": row.namespace, "fragment_ids": [row.id], "tokens": 5}
    with access.enter(principal, why="test"):
        for _ in range(3):
            Receipt.objects.create(created_at=timezone.now(), **wish)
    assert "the newest 2 of 3:" in words(vera.get(f"/memories/{row.id}/?tab=retrievals"))


def test_proposals(rita, contradict, store):
    for n in range(3):
        row = contradict(*(store("acme:main", f"Gate {n} {is_} open.") for is_ in ("is", "is not")))
        assert post(rita, "/proposals/decide/", item=f"{row.id}:1:1", action="dismiss").status_code == 303
    assert "The newest 2 of 3;" in words(rita.get("/proposals/"))
