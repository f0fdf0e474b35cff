"""A fork copies all that its namespace holds; then neither side sees what the other writes."""

from dataclasses import replace

import pytest
from django.utils import timezone

from conflicts.models import PendingConflict, Predicate
from conflicts.public import ClaimDraft
from conflicts.registry import register_predicate
from conflicts.resolution import Settlement, resolve
from memories import access, erasure, jobs, namespaces, upkeep
from memories.errors import BranchTaken
from memories.models import (
    Claim,
    Embedding,
    Entity,
    Episode,
    EpisodeMember,
    Fragment,
    Keywords,
    Link,
    Namespace,
    Origin,
)
from memories.upkeep.graph import create_episode
from tests.namespaces.conftest import MAIN, SIDE


@pytest.fixture
def full(store, alice, bob, principal, now):
    """A namespace with one of everything."""
    born = ClaimDraft("Ada", "born in", "Oslo")
    kept = store(MAIN, "Ada was born in Oslo.", by=alice.principal, source="tool_output", claim=born, source_id="a1")
    waits = store(MAIN, "Ada was born in Rome.", by=bob.principal, claim=ClaimDraft("Ada", "born in", "Rome"))
    child = store(MAIN, "Ada is Norwegian.", by=alice.principal, parents=[kept.id], source_id="a2")
    old = store(MAIN, "Ada is six.", by=alice.principal, claim=ClaimDraft("Ada", "age", "6"))
    new = store(MAIN, "Ada is seven.", by=alice.principal, claim=ClaimDraft("Ada", "age", "7"))
    bob.client.post(f"/api/v1/fragments/{kept.id}/corroborate", {"source_id": "a letter"}, format="json")
    alice.client.post("/api/v1/context", {"namespace": MAIN, "query": "Ada"}, format="json")
    with access.enter(principal, why="test"):
        Link.objects.create(project_id=principal.project_id, fragment=child, other=new, kind="related", similarity=1)
        create_episode(alice.principal, ids=[kept.id, new.id], namespace=MAIN, title="Ada")
    register_predicate(alice.principal, namespace=MAIN, name="shoe size", policy="newest", now=now)
    return {"kept": kept, "waits": waits, "child": child, "old": old, "new": new}


def test_everything_stands_in_the_branch_under_new_ids(fork, full, rows, place_of, principal):
    ended = fork()
    assert (ended.state, ended.error) == ("succeeded", None)
    counts = {"copied": 5, "blocked_by_erasure": 0, "contained": 0}
    assert ended.report == {"namespace": SIDE, "forked_from": MAIN, **counts}
    main, side = rows(MAIN), rows(SIDE)
    same = ("content", "status", "authority", "source_id", "created_at", "updated_at", "revision", "corroboration")
    assert [[getattr(row, name) for name in same] for row in main] == [
        [getattr(row, name) for name in same] for row in side
    ]
    assert not {row.id for row in main} & {row.id for row in side}
    new_of = {old.id: new.id for old, new in zip(main, side, strict=True)}
    with access.enter(principal, why="test"):
        mine = {"namespace": place_of(SIDE)}
        assert Claim.objects.filter(**mine).count() == 4
        assert Embedding.objects.filter(**mine).count() == Keywords.objects.filter(**mine).count() == 5
        assert Predicate.objects.filter(**mine).count() == 1
        conflict = PendingConflict.objects.get(**mine)
        assert (conflict.newcomer_id, conflict.existing_id) == (new_of[full["waits"].id], new_of[full["kept"].id])
        by_id = {row.id: row for row in side}
        assert by_id[new_of[full["old"].id]].superseded_by_id == new_of[full["new"].id]
        assert by_id[new_of[full["child"].id]].parents == [new_of[full["kept"].id]]
        assert by_id[new_of[full["child"].id]].roots == [new_of[full["kept"].id]]
        links = set(Link.objects.filter(fragment__namespace__name=SIDE).values_list("kind", flat=True))
        assert links == {"related", "supersedes"}
        members = EpisodeMember.objects.filter(episode=Episode.objects.get(**mine)).values_list(
            "fragment_id", flat=True
        )
        assert set(members) == {new_of[full["kept"].id], new_of[full["new"].id]}
        origins = dict(Origin.objects.filter(**mine).values_list("fragment_id", "origin_id"))
        assert origins == {new: old for old, new in new_of.items()}
        assert place_of(SIDE).forked_from_id == place_of(MAIN).id


def test_the_canonical_digest_of_the_source_stays(fork, full, digest):
    before = digest(MAIN)
    fork()
    assert digest(MAIN) == before


def test_neither_side_sees_the_others_writes(fork, full, alice, store, texts):
    fork()
    store(MAIN, "The otter sleeps at noon.", by=alice.principal)
    store(SIDE, "The badger digs at night.", by=alice.principal)
    for place, own, other in ((MAIN, "otter", "badger"), (SIDE, "badger", "otter")):
        for wide in (True, False):
            body = {"namespace": place, "query": "otter badger", "project_wide": wide, "top_k": 50}
            found = alice.client.post("/api/v1/search", body, format="json").json()["results"]
            said = " ".join(row["content"] for row in found)
            assert own in said
            assert other not in said
            assert {row["namespace"] for row in found} == {place}


def test_others_are_not_flooded_with_branches(fork, full, alice, store):
    fork()
    store("acme:third", "Ada likes tea.", by=alice.principal)
    body = {"namespace": "acme:third", "query": "Ada", "project_wide": True, "top_k": 50}
    found = alice.client.post("/api/v1/search", body, format="json").json()["results"]
    assert {row["namespace"] for row in found} == {"acme:third", MAIN}


def test_what_one_side_forgets_the_other_keeps(fork, full, alice, texts, now):
    fork()
    erasure.forget(alice.principal, full["child"].id, now=now)
    assert "Ada is Norwegian." in texts(SIDE)
    assert "Ada is Norwegian." not in texts(MAIN)


def test_what_was_forgotten_everywhere_is_not_copied(fork, full, store, alice, rows, now):
    twin = store("acme:other", "Ada is Norwegian.", by=alice.principal)
    erasure.forget(alice.principal, twin.id, everywhere=True, now=now)
    told = fork().report
    assert (told["copied"], told["blocked_by_erasure"]) == (4, 1)
    assert "Ada is Norwegian." not in {row.content for row in rows(SIDE)}


def test_a_fork_of_a_fork(fork, full, principal, rows):
    fork()
    assert fork(SIDE, "acme:deep").report["copied"] == 5
    with access.enter(principal, why="test"):
        roots = set(Origin.objects.filter(namespace__name="acme:deep").values_list("root_id", flat=True))
    assert roots == {row.id for row in rows(MAIN)}


def test_an_empty_namespace_may_become_a_branch_and_a_full_one_may_not(fork, full, store, alice, texts, count):
    with access.enter(alice.principal, why="test"):
        access.writable(alice.principal, SIDE)
    assert fork().state == "succeeded"
    before = count(Fragment)
    for source, target in ((MAIN, SIDE), (MAIN, MAIN)):
        with pytest.raises(BranchTaken):
            fork(source, target)
    assert count(Fragment) == before


@pytest.mark.parametrize("target", ["side", "acme:shared", "Acme:x", 3, None])
def test_a_target_that_is_none_is_refused(fork, full, target):
    with pytest.raises(jobs.BadOptions):
        fork(MAIN, target)


def test_what_is_decided_in_the_branch_stays_there(fork, full, alice, principal, rows):
    fork()
    reviewer = replace(principal, kind="person")
    with access.enter(principal, why="test"):
        conflict = PendingConflict.objects.get(namespace__name=SIDE)
    resolve(reviewer, conflict.id, Settlement(action="supersede", revision=conflict.revision), now=timezone.now())
    assert [row.status for row in rows(SIDE)].count("quarantined") == 0
    assert [row.status for row in rows(MAIN)].count("quarantined") == 1


def test_a_branch_is_connected_like_any_namespace(fork, full, principal, now):
    fork()
    upkeep.graph.refresh_graph(principal, now=now)
    with access.enter(principal, why="test"):
        entities = Entity.objects.filter(namespace__name=SIDE)
        assert entities.count() == Entity.objects.filter(namespace__name=MAIN).count() > 0


def test_a_fork_whose_target_was_filled_meanwhile_says_so(full, place_of, store, principal, count, now):
    wish = {"kind": "fork", "namespace": place_of("acme:main"), "options": {"target": "acme:later"}}
    waiting = jobs.start(principal, **wish, now=now, wake_up=False)
    store("acme:later", "Somebody was quicker.")
    before = count(Fragment)
    ended = jobs.run(principal, waiting.id)
    assert (ended.state, ended.error["code"]) == ("failed", "branch_taken")
    assert count(Fragment) == before


def test_a_fork_begun_again_after_its_end_does_nothing(fork, full, operation_of, principal, count):
    ended = operation_of(fork())
    before = count(Fragment)
    assert namespaces.fork(principal, ended, None) == ended.report
    assert count(Fragment) == before


def test_a_namespace_that_becomes_a_branch_of_its_branch_is_no_longer_its_source(
    fork, store, alice, place_of, principal
):
    """Or neither would stand in a tree, nor go into a backup in an order in which they can be made."""
    store(MAIN, "The heron nests by the mill.", by=alice.principal)
    fork()
    fork(SIDE, "acme:far")
    with access.enter(principal, why="test"):
        Fragment.objects.filter(namespace__name=MAIN).delete()
    assert fork("acme:far", MAIN).state == "succeeded"
    with access.enter(principal, why="test"):
        above = {row.name: row.forked_from and row.forked_from.name for row in Namespace.objects.all()}
    assert above == {MAIN: "acme:far", "acme:far": SIDE, SIDE: None}
