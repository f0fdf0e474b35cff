"""Many rows at once: what is written as text arrives as it was."""

import uuid
from typing import Any

import pytest
from django.db import DataError, transaction
from django.utils import timezone

from memories import access
from memories.access import Principal
from memories.models import Fragment
from memories.models.bulk import COPY_FROM, insert
from memories.models.sql import array_of, fetch

HARD = ["plain", "", 'quo"te', "back\\slash", "\\N", "a,b {c}", "NULL", " edge ", "tab\tline\nend", "naïve 🦦", "%s"]


def otter(principal: Principal, number: int, **columns: Any) -> Fragment:
    given = {
        "project_id": principal.project_id,
        "namespace": access.writable(principal, "acme:main"),
        "agent_id": "main",
        "type": "semantic",
        "content": f"Otter {number} swims.",
        "source_type": "manual",
        "importance": 0.5,
        "source": "inference",
        "authority": 1,
    }
    return Fragment(**given | columns)


@pytest.mark.parametrize("count", [1, 2, COPY_FROM])
def test_values_arrive_as_they_were(principal: Principal, count: int) -> None:
    """By VALUES and by COPY; those that all rows have alike, and those in which they differ."""
    now, parents = timezone.now(), [uuid.uuid4(), uuid.uuid4()]
    with access.enter(principal, why="test"):
        rows = [
            otter(
                principal,
                number,
                tags=HARD,
                topics=[] if number else HARD[::-1],
                parents=parents,
                key=f"otter-{number}",
                workflow_id="100 %s \\ \t'",
                extra={"all": ["%s", None, 'quo"te', "🦦"]},
                event_at=now if number else None,
                created_at=now,
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


@pytest.mark.parametrize("count", [1, COPY_FROM])
@pytest.mark.parametrize(
    ("column", "value"), [("agent_id", "a" * 64), ("archived_reason", "a" * 65), ("tags", ["a" * 101])]
)
def test_a_text_that_is_too_long_is_refused_and_never_cut(
    principal: Principal, count: int, column: str, value: Any
) -> None:
    with access.enter(principal, why="test"):
        rows = [otter(principal, number, **{column: value}) for number in range(count)]
        with pytest.raises(DataError, match="too long"), transaction.atomic():
            insert(rows)


def test_what_goes_wrong_in_a_copy_is_an_error_of_the_database(principal: Principal) -> None:
    """The driver's own errors are known to nobody: a lost connection would be answered 500."""
    with access.enter(principal, why="test"):
        rows = [otter(principal, number, content=f"Otter {number}\0.") for number in range(COPY_FROM)]
        with pytest.raises(DataError, match="NUL"), transaction.atomic():
            insert(rows)


def test_numbers_that_are_equal_keep_their_signs(principal: Principal) -> None:
    with access.enter(principal, why="test"):
        rows = [otter(principal, number, emotional_valence=-0.0 if number % 2 else 0.0) for number in range(COPY_FROM)]
        insert(rows)
        found = Fragment.objects.within(principal.project_id).in_bulk([row.id for row in rows])
    assert [str(found[row.id].emotional_valence) for row in rows] == ["0.0", "-0.0"] * (COPY_FROM // 2)


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
