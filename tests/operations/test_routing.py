"""Rebuilding entities: what is read in stored texts is read anew."""

import pytest
from django.apps import apps

from memories import access, jobs
from memories.models import Entity, Fragment


@pytest.fixture
def rebuild(principal, begin):
    """Rebuilds the entities."""

    def run():
        return jobs.run(principal, begin(principal, options={"target": "entities"}).id)

    return run


@pytest.fixture
def routed(principal):
    """What is read in a memory by now."""

    def read(row):
        with access.enter(principal, why="test"):
            return Fragment.objects.values("entities", "topics", "emotional_valence", "updated_at").get(id=row.id)

    return read


def forget_routing(principal, row):
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=row.id).update(entities=[], topics=[], emotional_valence=0)
        Entity.objects.all().delete()


def test_texts_that_were_never_read_are_read(principal, store, rebuild, routed):
    row = store("acme:main", "Gina Lopez loves her wonderful studio in Paris.")
    before = routed(row)
    assert before["entities"]
    forget_routing(principal, row)
    ended = rebuild()
    assert (ended.state, ended.report) == ("succeeded", {"target": "entities", "rebuilt": 1})
    assert routed(row) == before
    with access.enter(principal, why="test"):
        assert Entity.objects.filter(spelling__icontains="gina").exists()


def test_what_is_the_same_is_not_written(principal, store, rebuild):
    row = store("acme:main", "Gina Lopez loves her studio in Paris.")
    rebuild()
    with access.enter(principal, why="test"):
        assert apps.get_model("memories", "FragmentEvent").objects.filter(pgh_obj_id=row.id).count() == 1


def test_what_was_given_beside_the_text_is_kept(store, rebuild, routed):
    given = [{"text": "Acme", "label": "organization", "confidence": 1.0}]
    row = store("acme:main", "Gina Lopez was not happy.", entities=given, topics=["hr"], emotional_valence=1.0)
    rebuild()
    now = routed(row)
    assert [entity["text"] for entity in now["entities"]] == ["Gina Lopez", "Acme"]
    assert "hr" in now["topics"]
    assert "gina lopez" in now["topics"]
    assert now["emotional_valence"] < 0


def test_a_compacted_text_is_read_as_it_was_said(principal, store, rebuild, routed, now):
    from memories import upkeep

    row = store("acme:main", "Gina Lopez moved to Paris.", importance=0.5, source="inference")
    upkeep.lifecycle.compact_one(principal, row.id, level="hash", now=now)
    before = routed(row)["entities"]
    forget_routing(principal, row)
    rebuild()
    assert routed(row)["entities"] == before != []
