"""Filters: what the search tables say passes is what the fragment rows say."""

import datetime
import uuid

import numpy as np
import pytest
from django.utils import timezone

from memories import access
from memories.models import Fragment, Namespace, vector_text
from memories.providers import active_model
from memories.retrieval import Filters
from memories.retrieval.candidate_search import Search, keyword_hits, nearest, passing
from memories.retrieval.query_features import Cues
from memories.retrieval.questions import Reach
from memories.retrieval.search_scopes import scopes_of

# Whatever a caller may name a tag: signs of the query language, of arrays, of JSON, and the sign that begins a mark.
HOSTILE = [
    "'",
    "a'b",
    "back\\slash",
    "a & !b | (c)",
    "x:*",
    "{}",
    ",",
    '"',
    "null",
    "type semantic",
    "ÄÖ ß",
    "\x01tags a",
    " ",
]


JANUARY, APRIL = (datetime.datetime(2026, month, 1, tzinfo=datetime.UTC) for month in (1, 4))


@pytest.fixture
def tagged(store):
    """A fragment for each hostile tag, and one without any."""
    return {tag: store("acme:main", "The heron flies.", tags=[tag]) for tag in HOSTILE} | {
        None: store("acme:main", "The heron sleeps.")
    }


def search(query="heron", **filters):
    now = timezone.now()
    return Search(
        query,
        vector_text(np.ones(384, np.float32) / np.sqrt(384)),
        active_model(),
        Filters(**filters),
        Reach("", now),
        Cues(),
        now,
        50,
    )


def here(principal):
    return scopes_of(Namespace.objects.within(principal.project_id).named([f"{principal.project}:main"]))


def ids(few):
    return {uuid.UUID(i) for i in few.ids.strip("{}").split(",") if i}


@pytest.mark.parametrize("tag", HOSTILE)
def test_a_tag_means_itself_alone(principal, tagged, tag):
    with access.enter(principal, why="test"):
        wanted = search(tags=[tag])
        few = passing(here(principal), wanted)
        assert ids(few) == {tagged[tag].id}
        assert set(keyword_hits(here(principal), wanted)) == {tagged[tag].id}
        assert set(keyword_hits(here(principal), wanted, among=few)) == {tagged[tag].id}


@pytest.mark.parametrize(
    "filters",
    [
        {"type": ["semantic"]},
        {"type": ["episodic", "procedural"]},
        {"type": ["semantic"], "source_type": ["document", "manual"], "tags": ["a", "b"]},
        {"agent": ["main"]},
        {"tier": ["warm"]},
        {"outcome": ["positive"]},
        {"conversation_id": "c'1", "workflow_id": "w 1"},
        {"min_weight": 0.5},
        {"min_weight": 0.5, "type": ["semantic"]},
        {"event_since": datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)},
        {"event_until": datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC), "type": ["episodic"]},
        {"since": datetime.datetime(2020, 3, 1, tzinfo=datetime.UTC), "tags": ["a"], "min_weight": 0.2},
        {"until": datetime.datetime(2020, 3, 1, tzinfo=datetime.UTC)},
    ],
    ids=str,
)
def test_marks_and_rows_agree(principal, store, filters):
    store(
        "acme:main", "The heron nests.", type="episodic", tags=["a"], outcome="positive", importance=0.9, event_at=APRIL
    )
    store(
        "acme:main",
        "The heron fishes.",
        type="semantic",
        tags=["b", "c"],
        source_type="document",
        conversation_id="c'1",
    )
    store(
        "acme:main",
        "The heron rests.",
        type="procedural",
        workflow_id="w 1",
        conversation_id="c'1",
        importance=0.1,
        event_at=JANUARY,
    )
    with access.enter(principal, why="test"):
        Fragment.objects.within(principal.project_id).filter(content="The heron rests.").update(tier="warm")
        rows = Fragment.objects.within(principal.project_id).filter(Filters(**filters).conditions())
        expected = set(rows.values_list("id", flat=True))
        wanted = search(**filters)
        few = passing(here(principal), wanted)
        for among in (few, None):
            assert set(keyword_hits(here(principal), wanted, among=among)) == expected
            assert set(nearest(here(principal), wanted, indexed={}, among=among)[0]) == expected


def test_marks_follow_the_row(principal, store):
    row = store("acme:main", "The heron nests.", tags=["a"])
    with access.enter(principal, why="test"):
        Fragment.objects.within(principal.project_id).filter(id=row.id).update(tags=["b"], type="procedural")
        assert passing(here(principal), search(tags=["a"])).ids == "{}"
        assert ids(passing(here(principal), search(tags=["b"], type=["procedural"]))) == {row.id}
        assert list(keyword_hits(here(principal), search("nests"))) == [row.id]


def test_a_mark_is_no_word(principal, store):
    store("acme:main", "The heron nests.", type="semantic", tags=["otter"])
    with access.enter(principal, why="test"):
        assert keyword_hits(here(principal), search("otter semantic type tags")) == {}
