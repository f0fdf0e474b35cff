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
def test_values_arrive_as_they_were(principal: Principal, count: int) -> None:
    """By VALUES and by COPY; those that all rows have alike, and those in which they differ."""
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
                workflow_id="100 %s \\ \t'",
                extra={"all": ["%s", None, 'quo"te', "🦦"]},
                event_at=now if number else None,
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
        assert (kept.workflow_id, kept.extra, kept.event_at) == (row.workflow_id, row.extra, row.event_at)
        assert (kept.created_at, kept.sequence, kept.importance) == (now, None, 0.5)
        assert not row._state.adding


def test_a_row_made_by_its_columns_is_as_from_the_class() -> None:
    given = {"project_id": uuid.uuid4(), "agent_id": "main", "tags": ["sea"], "created_at": timezone.now()}
    one, other = Fragment(**given), Fragment.made(**given)
    for name in {field.attname for field in Fragment._meta.concrete_fields} - {"id", "updated_at"}:
        assert getattr(one, name) == getattr(other, name)
    assert one.id != other.id != Fragment.made(**given).id
    assert other._state.adding
    other.entities.append({"text": "Otter"})
    assert Fragment.made(**given).entities == []
    with pytest.raises(KeyError, match="colour"):
        Fragment.made(colour="blue")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("values", [[], [""], HARD])
def test_an_array_is_read_as_it_was(values: list[str]) -> None:
    assert fetch("SELECT %s::text[]", [array_of(values)]) == [(values,)]
