"""Many rows at once: what is written as text arrives as it was."""

import uuid

import pytest
from django.utils import timezone

from memories import access
from memories.access import Principal
from memories.models import Fragment
from memories.models.bulk import COPY_FROM, insert
from memories.models.sql import array_of, fetch

HARD = ["plain", "", 'quo"te', "back\\slash", "\\N", "a,b {c}", "NULL", " edge ", "tab\tline\nend", "naïve 🦦", "%s"]


@pytest.mark.parametrize("count", [1, 2, COPY_FROM])
def test_lists_arrive_as_they_were(principal: Principal, count: int) -> None:
    """By VALUES and by COPY."""
    now, parents = timezone.now(), [uuid.uuid4(), uuid.uuid4()]
    with access.enter(principal, why="test"):
        space = access.writable(principal, "acme:main")
        rows = [
            Fragment(
                project_id=principal.project_id,
                namespace=space,
                agent_id="main",
                type="semantic",
                content=f"Otter {number} swims.",
                source_type="manual",
                tags=HARD,
                topics=[] if number else HARD[::-1],
                parents=parents,
                key=f"otter-{number}",
                importance=0.5,
                source="inference",
                authority=1,
                created_at=now,
                updated_at=now,
            )
            for number in range(count)
        ]
        insert(rows)
        found = Fragment.objects.within(principal.project_id).in_bulk([row.id for row in rows])
    assert len(found) == count
    for row in rows:
        kept = found[row.id]
        assert (kept.tags, kept.topics, kept.parents, kept.key) == (HARD, row.topics, parents, row.key)
        assert not row._state.adding


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("values", [[], [""], HARD])
def test_an_array_is_read_as_it_was(values: list[str]) -> None:
    assert fetch("SELECT %s::text[]", [array_of(values)]) == [(values,)]
