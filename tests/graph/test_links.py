"""Similar links: each memory's nearest five, both ways, whatever the order of arrival."""

import random

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from conflicts.public import ClaimDraft
from memories import access, ingest, tasks, upkeep
from memories.models import Embedding, EmbeddingModel, Fragment, Link, PendingConnection
from memories.models.enums import ModelState
from memories.upkeep.graph import refresh, vectors
from tests.graph.conftest import at
from tests.properties.ground import examples, undone


def pairs(*joined):
    """Both directions of these rows."""
    return {way for one, other in joined for way in ((one.id, other.id), (other.id, one.id))}


def test_the_nearest_are_linked_both_ways(alice, plant, connect, linked):
    one, other, far = plant(at(0), at(30), at(90))
    assert connect() == 3
    assert linked().keys() == pairs((one, other))
    shown = alice.client.get(f"/api/v1/fragments/{other.id}").json()["links"]
    assert [(link["id"], link["kind"]) for link in shown] == [(str(one.id), "similar")]
    assert shown[0]["similarity"] == pytest.approx(0.866, abs=1e-3)
    assert alice.client.get(f"/api/v1/fragments/{far.id}").json()["links"] == []


def test_from_a_cosine_of_seven_tenths_on(plant, connect, linked):
    plant(at(0), at(45.8))
    connect()
    assert linked() == {}
    one, other = plant(at(0, 5), at(45.4, 5))
    connect()
    assert linked().keys() == pairs((one, other))


def test_each_chooses_five_and_may_be_chosen_by_any_number(plant, connect, linked, principal):
    rows = plant(at(0), *[at(10 + 0.01 * n) for n in range(8)], *[at(-10 - 0.01 * n) for n in range(8)])
    connect()
    with access.enter(principal, why="test"):
        chosen = Link.objects.filter(chosen=True).values_list("fragment_id", flat=True)
        assert all(list(chosen).count(row.id) == 5 for row in rows)
    hub = [other for one, other in linked() if one == rows[0].id]
    assert len(hub) >= 5


def test_a_nearer_newcomer_takes_the_place_of_the_farthest(plant, connect, linked):
    middle, *ring = plant(at(0), *[at(30 + n) for n in range(5)])
    connect()
    assert (middle.id, ring[-1].id) in linked()
    before = linked()
    (near,) = plant(at(1))
    connect()
    assert (middle.id, near.id) in linked()
    # The ring goes on choosing the middle's fellows; what the middle let go and nobody else chose is gone.
    assert linked().keys() - before.keys() >= pairs((middle, near))


@pytest.mark.parametrize("status", ["superseded", "archived", "quarantined", "disputed"])
def test_what_is_not_active_is_not_linked_and_is_hidden_at_once(alice, plant, connect, linked, change, status):
    one, other, third = plant(at(0), at(10), at(20))
    connect()
    before = linked()
    change([other], status=status)
    links = alice.client.get(f"/api/v1/fragments/{one.id}").json()["links"]
    assert [link["id"] for link in links] == [str(third.id)]
    assert alice.client.get(f"/api/v1/fragments/{other.id}").json()["links"] == []
    connect()
    assert linked().keys() == pairs((one, third))
    change([other], status="active")
    connect()
    assert linked() == before


def test_forgetting_leaves_no_link_and_others_choose_anew(alice, plant, connect, linked):
    middle, *ring = plant(at(0), *[at(sign * (20 + n)) for n in range(3) for sign in (1, -1)])
    connect()
    others = {other for one, other in linked() if one == middle.id}
    assert alice.client.delete(f"/api/v1/fragments/{ring[0].id}").status_code == 204
    assert ring[0].id not in {end for pair in linked() for end in pair}
    connect()
    assert {other for one, other in linked() if one == middle.id} >= others - {ring[0].id}
    assert len({other for one, other in linked() if one == middle.id}) == 5


def test_a_new_text_is_linked_anew(store, principal, connect, linked, now):
    one = store("acme:main", "The heron nests behind the old mill.")
    other = store("acme:main", "The heron nests behind the old mill today.")
    third = store("acme:main", "Otters sleep until noon on Fridays.")
    connect()
    assert linked().keys() == pairs((one, other))
    text = "Otters sleep until noon on Fridays, mostly."
    ingest.updates.revise(principal, other.id, changes={"content": text}, revision=None, now=now)
    connect()
    assert linked().keys() == pairs((other, third))


def test_namespaces_and_sessions_are_kept_apart(plant, connect, linked, store):
    plant(at(0))
    plant(at(0), name="side")
    claim = ClaimDraft("heron", "nests_in", "reeds", scope="session", session_id="s1")
    store("acme:talk", "The heron nests in the reeds.", claim=claim)
    store("acme:talk", "The heron nests in the reeds now.")
    connect()
    assert linked() == {}


def test_projects_are_kept_apart(plant, connect, linked, charlie):
    (mine,) = plant(at(0))
    plant(at(0), by=charlie.principal)
    connect()
    connect(charlie.principal)
    assert linked() == linked(charlie.principal) == {}


def oracle(rows):
    """What the definition says, by brute force over what is stored."""
    vector = {
        row.fragment_id: np.array(row.vector, dtype=np.float16).astype(float) for row in rows if row.status == "active"
    }
    joined = {}
    for one in vector:
        alike = {other: min(1.0, float(vector[one] @ vector[other])) for other in vector if other != one}
        near = sorted((-value, other) for other, value in alike.items() if value >= vectors.NEAR)[: vectors.NEAREST]
        joined |= {pair: -value for value, other in near for pair in ((one, other), (other, one))}
    return joined


# Few angles, so that many are equally near.
angles = st.lists(st.integers(0, 11).map(lambda n: 15 * n), min_size=1, max_size=9)


@pytest.mark.long
@settings(examples, max_examples=20)
@given(told=st.lists(angles, min_size=1, max_size=3), gone=st.randoms(use_true_random=False), size=st.integers(1, 9))
def test_links_are_a_function_of_the_active_vectors(
    plant, connect, linked, change, rebuild, principal, told, gone, size
):
    with undone(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(refresh, "BATCH", size)
        stored = []
        for arrived in told:
            stored += plant(*[at(angle) for angle in arrived])
            change(gone.sample(stored, len(stored) // 4), status="archived")
            change(gone.sample(stored, len(stored) // 4), status="active")
            if gone.random() < 0.5:
                connect()
            with access.enter(principal, why="test"):
                victim = gone.choice(stored)
                Fragment.objects.filter(id=victim.id).delete()
            stored.remove(victim)
        connect()
        with access.enter(principal, why="test"):
            assert linked() == oracle(Embedding.objects.within(principal.project_id))
        before = linked()
        rebuild("links")
        assert linked() == before
        with access.enter(principal, why="test"):
            assert not PendingConnection.objects.exists()


def test_a_rebuild_brings_lost_links_back_and_takes_wrong_ones_away(plant, connect, linked, rebuild, principal, alice):
    rows = plant(*[at(7 * n) for n in range(12)])
    connect()
    before = linked()
    shown = [alice.client.get(f"/api/v1/fragments/{row.id}").json()["links"] for row in rows]
    with access.enter(principal, why="test"):
        Link.objects.filter(fragment__in=rows[:6]).delete()
        Link.objects.filter(other__in=rows[8:9]).update(similarity=0.99)
        Link.objects.create(project_id=principal.project_id, fragment=rows[0], other=rows[11], kind="similar")
        keep = Link.objects.create(project_id=principal.project_id, fragment=rows[0], other=rows[11], kind="related")
    assert rebuild("links") == {"target": "links", "rebuilt": 12}
    assert linked() == before
    with access.enter(principal, why="test"):
        keep.delete()
    assert [alice.client.get(f"/api/v1/fragments/{row.id}").json()["links"] for row in rows] == shown


def test_under_another_model_links_are_made_anew(plant, connect, linked, principal):
    one, other, third = plant(at(0), at(10), at(90))
    connect()
    former = EmbeddingModel.objects.get(state=ModelState.ACTIVE)
    second = EmbeddingModel.objects.create(name="second", provider="fake", dim=384)
    with access.enter(principal, why="test"):
        for row, vector in ((one, at(0)), (other, at(90)), (third, at(10))):
            mine = Embedding.objects.get(fragment=row, model=former)
            Embedding.objects.create(
                project_id=mine.project_id,
                root_id=mine.root_id,
                namespace_id=mine.namespace_id,
                fragment=row,
                model=second,
                status="active",
                vector=vector,
            )
    EmbeddingModel.objects.filter(id=former.id).update(state=ModelState.READY)
    EmbeddingModel.objects.filter(id=second.id).update(state=ModelState.ACTIVE)
    connect()
    assert linked().keys() == pairs((one, third))


def test_a_batch_takes_the_same_number_of_statements_whatever_its_size(plant, connect, principal):
    counts = []
    rng = random.Random(4)
    for number in (60, 100, 200):
        plant(*[at(rng.uniform(0, 90), plane=n % 7) for n in range(number)])
        with CaptureQueriesContext(connection) as queries:
            connect()
        counts.append(len(queries))
    assert counts[1] == counts[2]


def test_one_worker_at_a_time(plant, principal, now, monkeypatch):
    plant(at(0), at(1))
    monkeypatch.setattr(refresh, "lock_connections", lambda project_id: False)
    assert upkeep.graph.refresh_graph(principal, now=now) == 0
    with access.enter(principal, why="test"):
        assert PendingConnection.objects.exists()


def test_the_task_connects_every_project(plant, linked, charlie):
    mine, theirs = plant(at(0), at(1)), plant(at(0), at(1), by=charlie.principal)
    tasks.keep_connections()
    assert linked().keys() == pairs(mine)
    assert linked(charlie.principal).keys() == pairs(theirs)
