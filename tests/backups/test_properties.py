"""Properties of export: 3 and 4."""

import json

import numpy as np
import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from memories import access, ingest
from memories.backups.bundle import records, vectors
from memories.models import Access, Embedding, Fragment, Namespace, vector_text
from memories.models.sql import fetch
from tests.properties.ground import contents, examples, kinds, undone

pytestmark = pytest.mark.long

texts = contents.map(str.strip).filter(bool)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e300, 1e300) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
memories = st.lists(
    st.fixed_dictionaries(
        {
            "content": texts,
            "type": kinds,
            "tags": st.lists(texts.filter(lambda text: len(text) <= 100), max_size=3, unique=True),
            "source_id": st.sampled_from(["", "s1", "s2"]),
            "importance": st.floats(0, 1),
            "extra": st.dictionaries(texts, values, max_size=3),
        }
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda told: told["content"].casefold(),
)
scores = st.tuples(st.floats(0, 1), st.floats(-1, 1), st.booleans(), st.integers(0, 1000))
directions = st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=8).filter(lambda v: np.linalg.norm(v) > 0.1)
LEFT = {"_state", "change"}


def keep(alice, told, score, direction):
    """Stores memories with scores, accesses and a vector of one's choice."""
    base, valence, pinned, count = score
    drafts = [ingest.Draft(namespace="acme:main", **each) for each in told]
    ingest.store(alice.principal, ingest.prepare(drafts), now=timezone.now())
    with access.enter(alice.principal, why="test"):
        rows = Fragment.objects.within(alice.principal.project_id)
        rows.update(base_relevance=base, emotional_valence=valence, is_pinned=pinned)
        wanted = {"project_id": alice.principal.project_id, "last_accessed_at": timezone.now(), "access_count": count}
        Access.objects.bulk_create([Access(fragment=row, **wanted) for row in rows])
        vector = np.zeros(384, np.float32)
        vector[:8] = direction
        Embedding.objects.filter(project_id=alice.principal.project_id).update(vector=vector / np.linalg.norm(vector))


def held(principal):
    """Everything that is equivalent or is not: rows, accesses, vectors."""
    with access.enter(principal, why="test"):
        rows = {
            row.id: {name: value for name, value in vars(row).items() if name not in LEFT}
            for row in Fragment.objects.within(principal.project_id)
        }
        reads = Access.objects.within(principal.project_id).order_by("fragment_id")
        reads = list(reads.values_list("fragment_id", "access_count", "last_accessed_at", "stability"))
        found = Embedding.objects.filter(project_id=principal.project_id)
        return rows, reads, {row.fragment_id: np.asarray(row.vector) for row in found}


@settings(examples)
@given(told=memories, score=scores, direction=directions)
def test_property_03_export_import_round_trip(principal, alice, back_up, restore, wipe, told, score, direction):
    """Feature: hindsight-persistent-memory, Property 3: Export/import round-trip across backends"""
    with undone():
        keep(alice, told, score, direction)
        before = held(principal)
        made = back_up(include_embeddings=True)
        wipe()
        assert held(principal) == ({}, [], {})
        restore(made)
        after = held(principal)
        for row in (*before[0].values(), *after[0].values()):
            row.pop("fingerprint"), row.pop("details_digest")  # keyed with the project's salt
        assert after[:2] == before[:2]
        assert after[2].keys() == before[2].keys()
        assert all(np.allclose(after[2][key], before[2][key], atol=1e-6) for key in before[2])


@examples
@given(told=memories, score=scores, direction=directions)
def test_property_04_json_serialization_round_trip(principal, alice, told, score, direction):
    """Feature: hindsight-persistent-memory, Property 4: JSON serialization round-trip"""
    with undone():
        keep(alice, told, score, direction)
        _, _, expected = held(principal)
        with access.enter(principal, why="test"):
            places = Namespace.objects.within(principal.project_id)
            selection = records.Selection.of(principal.project_id, list(places), embeddings=True)
            lines = [record.line for record in records.read(selection) if record.kind == "fragment"]
            assert len(lines) == len(told)
            for line in lines:
                again = json.loads(json.dumps(json.loads(line)))
                ((same, same_access),) = fetch(
                    """SELECT jsonb_populate_record(f, %(row)s::jsonb) IS NOT DISTINCT FROM f,
                           jsonb_populate_record(a, %(access)s::jsonb) IS NOT DISTINCT FROM a
                       FROM memories_fragment f JOIN memories_access a ON a.fragment_id = f.id WHERE f.id = %(id)s""",
                    {
                        "id": again["row"]["id"],
                        "row": json.dumps(again["row"]),
                        "access": json.dumps(again["access"]),
                    },
                )
                assert (same, same_access) == (True, True)
                (each,) = again["vectors"]
                found = vectors.unpacked(each["vector"])
                assert any(np.allclose(found, vector, atol=1e-6) for vector in expected.values())
                assert vector_text(found).count(",") == each["dim"] - 1
