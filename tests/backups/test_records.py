"""Canonical records: every canonical table is in them, in one order, and nothing of this instance is."""

import base64
import json

import numpy as np

from conflicts.public import ClaimDraft
from memories import access
from memories.backups.bundle import records
from memories.models import Archive, Embedding, Episode, EpisodeMember, Namespace, table_spec
from memories.providers import active_model


def taken(principal, *names, **more):
    with access.enter(principal, why="test"):
        places = Namespace.objects.within(principal.project_id).order_by("name")
        places = list(places.filter(name__in=names) if names else places)
        return list(records.read(records.Selection.of(principal.project_id, places, **more)))


def of_kind(found, kind):
    return [json.loads(record.line) for record in found if record.kind == kind]


def test_a_memory_travels_with_everything_under_it(principal, alice, bob, store, link):
    draft = ClaimDraft(subject="Ada", predicate="budget", value="$750")
    row = store("acme:main", "Ada's budget is $750.", by=alice.principal, claim=draft, extra={"b": 1.5, "a": [None]})
    other = store("acme:main", "The heron nests by the mill.", by=alice.principal)
    link(row, other, kind="related")
    alice.client.get(f"/api/v1/fragments/{row.id}")
    bob.client.post(f"/api/v1/fragments/{row.id}/reinforce", {}, format="json")
    found = taken(principal)
    told = next(each for each in of_kind(found, "fragment") if each["row"]["id"] == str(row.id))
    assert told["namespace"] == "acme:main"
    assert told["row"]["content"] == "Ada's budget is $750."
    assert told["row"]["extra"] == {"b": 1.5, "a": [None]}
    assert (told["claim"]["subject"], told["claim"]["value"]) == ("Ada", "$750")
    assert [each["ballot"] for each in told["votes"]] == ["reinforce"]
    assert [each["other_id"] for each in told["links"]] == [str(other.id)]
    assert {each["row"]["name"] for each in of_kind(found, "owner")} == {"alice", "bob"}


def test_records_stand_in_one_order(principal, old, store):
    old(3, "Third.")
    old(9, "First.")
    old(5, "Second.", namespace="acme:other")
    found = taken(principal)
    assert [each["row"]["content"] for each in of_kind(found, "fragment")] == ["First.", "Second.", "Third."]
    places = [records.KINDS.index(record.kind) for record in found]
    assert places == sorted(places)
    assert taken(principal) == found


def test_only_the_namespaces_asked_for(principal, store):
    store("acme:main", "Here.")
    store("acme:other", "There.")
    found = taken(principal, "acme:main")
    assert [each["row"]["content"] for each in of_kind(found, "fragment")] == ["Here."]
    assert [each["row"]["name"] for each in of_kind(found, "namespace")] == ["acme:main"]


def test_nothing_of_this_instance_stands_in_them(principal, store, run, fill, settings):
    draft = ClaimDraft(subject="Ada", predicate="budget", value="$750")
    store("acme:main", "Ada's budget is $750.", claim=draft)
    fill(10, 400)
    settings.CAPACITY = {"all": 8, "hot": 0, "warm": 0, "cold": 0}
    run("evict", target=0.5)
    found = taken(principal)
    assert of_kind(found, "archive")
    assert of_kind(found, "tombstone")
    whole = b"\n".join(record.line for record in found).decode()
    assert str(principal.project_id) not in whole
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name="acme:main")
    assert whole.count(str(place.id)) == 1  # in its own record
    (told,) = [each for each in of_kind(found, "fragment") if each["claim"]]
    assert not {"change", "fingerprint", "details_digest", "namespace_id", "project_id"} & set(told["row"])
    assert not {"key_digest", "value_digest", "validity", "status"} & set(told["claim"])


def test_a_copy_is_the_text_that_was_kept_but_for_where_it_lives(principal, run, fill, settings):
    fill(10, 400)
    settings.CAPACITY = {"all": 8, "hot": 0, "warm": 0, "cold": 0}
    run("evict", target=0.5)
    told = of_kind(taken(principal), "archive")[0]
    with access.enter(principal, why="test"):
        held = Archive.objects.get(id=told["row"]["id"]).unpacked()
    assert told["copy"]["fragment"] == {**held["fragment"], "project_id": None, "namespace_id": None}


def test_vectors_only_on_request(principal, store):
    row = store("acme:main", "The heron nests by the mill.")
    assert "vectors" not in of_kind(taken(principal), "fragment")[0]
    ((vector,),) = [each["vectors"] for each in of_kind(taken(principal, embeddings=True), "fragment")]
    with access.enter(principal, why="test"):
        kept = Embedding.objects.vector_of(row.id, active_model())
    assert (vector["model"], vector["dim"]) == (active_model().name, len(kept))
    assert np.allclose(np.frombuffer(base64.b64decode(vector["vector"]), "<f4"), kept, atol=1e-6)


def test_episodes_made_by_hand_with_their_members(principal, store):
    row = store("acme:main", "The heron nests by the mill.")
    with access.enter(principal, why="test"):
        wish = {"project_id": principal.project_id, "namespace_id": row.namespace_id}
        times = {"began_at": row.created_at, "ended_at": row.created_at}
        hand = Episode.objects.create(**wish, **times, title="At the mill")
        Episode.objects.create(**wish, **times, conversation_id="c1")
        EpisodeMember.objects.create(project_id=principal.project_id, episode=hand, fragment=row, position=0)
    (told,) = of_kind(taken(principal), "episode")
    assert told["row"]["title"] == "At the mill"
    assert told["members"] == [{"position": 0, "fragment_id": str(row.id)}]


def test_every_canonical_table_travels():
    assert set(table_spec.records()) == set(records.KINDS) - {"user"}
    assert set(records.LISTS) == set(table_spec.parts_of_records()) - {"claim", "access"}
    assert [label for label, spec in table_spec.specs().items() if spec.kind == "canonical" and not spec.travels] == []


def test_a_choice_of_memories_brings_what_it_needs(principal, store):
    one, _ = store("acme:main", "Here."), store("acme:main", "There.")
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name="acme:main")
        chosen = records.Selection(principal.project_id, (place.id,), fragments=(one.id,))
        found = list(records.read(chosen))
    assert {record.kind for record in found} == {"namespace", "fragment"}
    assert [each["row"]["content"] for each in of_kind(found, "fragment")] == ["Here."]
